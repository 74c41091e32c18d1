// A Plotly chart that is made once and then moved with Plotly.react. It draws what Python sends and reports
// presses and drags to the log.

import { isDark } from "../board/colours.js";
import { make, setAttribute } from "../board/dom.js";
import { announce, chosenSince, connectViews, push, watchChoices } from "../board/queue.js";
import { onTextSize, textSize } from "../board/text_size.js";

const TOUCH = window.matchMedia("(pointer: coarse)"); // the buttons would stand on the title

const MARKS = new Set(["shapes", "annotations", "title"]);

let library = null;

/** Plotly from the installed package, loaded once a page. */
function plotly(address) {
  library ??= new Promise((resolve, reject) => {
    const script = make("script", { src: new URL(address, window.location.origin).href });
    script.addEventListener("load", () => resolve(window.Plotly));
    script.addEventListener("error", () => {
      library = null;
      reject(new Error("could not load the charts' library"));
    });
    document.head.append(script);
  });
  return library;
}

/** A figure for dark paper: each of the theme's colours for light paper is replaced by its twin. */
function darkened(value, twins) {
  if (typeof value === "string") return twins[value] ?? value;
  // Long arrays of numbers are passed on as they are; a stop of a colour scale is a number and a colour.
  if (Array.isArray(value)) return typeof value.at(-1) === "number" ? value : value.map((item) => darkened(item, twins));
  if (value && typeof value === "object" && value.bdata === undefined) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, darkened(item, twins)]));
  }
  return value; // numbers, and Plotly's typed arrays
}

/** The parts of a layout that are not as before. */
function changes(before, now) {
  const keys = new Set([...Object.keys(before), ...Object.keys(now)]);
  return Object.fromEntries([...keys].filter((key) => JSON.stringify(before[key]) !== JSON.stringify(now[key])).map((key) => [key, now[key] ?? null]));
}

/**
 * The layout with its first shape at the neuron and position that are followed, and a shape named "neuron" at that
 * neuron; `columns` holds each neuron's place.
 */
function marked({ shapes: [mark, ...others], ...layout }, columns, { neuron, position }) {
  const at = columns[neuron];
  const across = at === undefined ? { visible: false } : { visible: true, x0: at - 0.5, x1: at + 0.5 };
  const moved = others.map((shape) => (shape.name === "neuron" ? { ...shape, ...across } : shape));
  return { ...layout, shapes: [{ ...mark, ...across, y0: position - 0.5, y1: position + 0.5 }, ...moved] };
}

/** Where a dragged handle comes to stand: at a whole number of steps, and within the range that is drawn. */
function snapped(x, { step, within: [low, high] }) {
  const at = Number((Math.round(x / step) * step).toPrecision(6));
  return Math.min(high, Math.max(low, at));
}

class Plot {
  constructor(root) {
    this.root = root;
    this.choice = {}; // the neuron and position that were chosen after Python sent the figure
    this.chart = make("div", { class: "hourglass-plot", role: "figure" });
    root.append(this.chart);
    this.stop = onTextSize(() => this.#draw());
    this.stopWatching = watchChoices((choice) => {
      this.choice = { ...this.choice, ...choice };
      if (this.ready && this.figure.layout.meta?.columns) this.#draw();
    });
    this.observer = new ResizeObserver(() => this.ready && window.Plotly.Plots.resize(this.chart));
    this.observer.observe(root);
  }

  destroy() {
    clearTimeout(this.timer);
    this.stop();
    this.stopWatching();
    this.observer.disconnect();
    if (this.ready) window.Plotly.purge(this.chart);
    this.chart.remove();
  }

  async update(data, ask) {
    clearTimeout(this.timer);
    this.data = data;
    setAttribute(this.chart, "aria-label", data.text);
    const figure = JSON.parse(data.figure);
    if (!this.ready) this.chart.style.height = `${figure.layout.height}px`; // the room is kept while it loads
    this.figure = figure;
    this.choice = chosenSince();
    const { neuron, position } = figure.layout.meta ?? {};
    if (neuron !== undefined) announce({ neuron, position });
    await plotly(data.library);
    if (this.figure !== figure || !this.chart.isConnected) return;
    await this.#draw();
    // Only once the picture is there: a slow browser then has fewer pictures, and is never behind with its answers.
    if (data.again && this.data === data && this.chart.isConnected) this.timer = setTimeout(ask, data.again * 1000);
  }

  /** Whoever leaves the page while a chart is being drawn takes it from under Plotly's hands. */
  #unlessGone = (error) => {
    if (this.chart.isConnected) throw error;
  };

  async #draw() {
    if (!this.figure || !window.Plotly) return;
    const dark = isDark(this.root);
    const style = getComputedStyle(this.root);
    const ink = style.getPropertyValue("--st-text-color").trim();
    const line = dark ? "rgba(255,255,255,0.22)" : "rgba(0,0,0,0.16)";
    const { data: traces, layout: drawn } = dark ? darkened(this.figure, this.data.dark_twins) : structuredClone(this.figure);
    const { meta, ...plain } = drawn;
    const layout = meta?.columns ? marked(plain, meta.columns, { ...meta, ...this.choice }) : plain;
    const axis = { gridcolor: line, zerolinecolor: dark ? "rgba(255,255,255,0.5)" : "rgba(0,0,0,0.45)", linecolor: line, tickcolor: ink };
    for (const name of Object.keys(layout)) if (/^[xy]axis/.test(name)) layout[name] = { ...axis, automargin: true, ...layout[name] };
    const full = {
      ...layout,
      autosize: true,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: style.getPropertyValue("--st-font").trim(), color: ink, size: 13 * textSize(), ...layout.font },
    };
    const config = { displaylogo: false, responsive: false, displayModeBar: TOUCH.matches ? false : "hover", modeBarButtons: [["zoom2d", "pan2d", "resetScale2d", "toImage"]], edits: { shapePosition: Boolean(meta?.drag) } };
    const source = JSON.stringify([dark, this.figure.data]);
    const moved = source === this.source && changes(this.layout, full);
    this.source = source;
    this.layout = structuredClone(full); // Plotly writes into what it is given
    // Numbers that stay are not drawn again: a mark that moves over a large heatmap costs next to nothing.
    if (moved && Object.keys(moved).every((key) => MARKS.has(key))) await (Object.keys(moved).length && window.Plotly.relayout(this.chart, moved));
    else await window.Plotly.react(this.chart, traces, full, config).catch(this.#unlessGone);
    if (this.ready) return;
    this.ready = true;
    this.chart.style.height = "";
    this.chart.on("plotly_click", ({ points }) => {
      const [point] = points;
      const fields = point?.data.meta?.press;
      if (!fields || point.customdata === undefined) return;
      // A heatmap's comes as a typed array.
      const values = typeof point.customdata === "object" ? Array.from(point.customdata) : [point.customdata];
      push({ kind: "view", ...Object.fromEntries(fields.map((field, i) => [field, values[i]])) });
    });
    this.chart.on("plotly_relayout", (change) => {
      const { drag, ...where } = this.figure.layout.meta ?? {};
      const x = change["shapes[0].x0"];
      if (!drag || !Number.isFinite(x)) return;
      const at = snapped(x, where);
      push({ kind: "view", [drag]: at });
      // Also where that is no news to Python, which then would not put the handle back.
      const [handle, ...others] = this.layout.shapes;
      window.Plotly.relayout(this.chart, { shapes: structuredClone([{ ...handle, x0: at, x1: at }, ...others]) }).catch(this.#unlessGone);
    });
  }
}

const plots = new WeakMap();

export default function render({ data, parentElement, setStateValue }) {
  let plot = plots.get(parentElement);
  if (!plot) {
    plot = new Plot(parentElement);
    plots.set(parentElement, plot);
  }
  plot.update(data.plot, () => setStateValue("again", performance.now()));
  if (data.plot.hears_views) connectViews((log) => setStateValue("log", log));
  return () => {
    if (data.plot.hears_views) connectViews(null);
    plots.get(parentElement)?.destroy();
    plots.delete(parentElement);
  };
}
