// A short way to make elements. Text always goes in as text, never as HTML.

const SVG = "http://www.w3.org/2000/svg";

function apply(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const make = (tag, attributes = {}, ...children) => apply(document.createElement(tag), attributes, children);
export const draw = (tag, attributes = {}, ...children) => apply(document.createElementNS(SVG, tag), attributes, children);

/** Change an element's text only where it differs, so that nothing is repainted or read out twice. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setAttribute(element, name, value) {
  if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

export function place(element, { x, y, width, height }) {
  element.style.left = `${x}px`;
  element.style.top = `${y}px`;
  if (width !== undefined) element.style.width = `${width}px`;
  if (height !== undefined) element.style.height = `${height}px`;
}

const sheets = new Map();

/** Load a style sheet once, and hand it to each shadow root that asks. */
export async function stylesheet(address) {
  if (!sheets.has(address)) {
    const response = await fetch(address);
    if (!response.ok) throw new Error(`could not load ${address}: ${response.status}`);
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(await response.text());
    sheets.set(address, sheet);
  }
  return sheets.get(address);
}
