// The frame of every page: title, example, nonlinearity, undo, redo, reset, share, text size.
// It also keeps the link in the address bar current, and carries the log of actions to Python.

import { isDark } from "../board/colours.js";
import { make, setAttribute, setText, stylesheet } from "../board/dom.js";
import { arrive, connect, push, receive } from "../board/queue.js";
import { setTextSize, SIZES, textSize } from "../board/text_size.js";
import { keep } from "./keep.js";
import { setAddress } from "./address.js";

const sheet = await stylesheet(new URL("./frame.css", import.meta.url));
document.adoptedStyleSheets.push(await stylesheet(new URL("./page.css", import.meta.url)));

const TYPED = "input:not([type=range], [type=checkbox], [type=radio], [type=button]), textarea, [contenteditable]";

class Frame {
  constructor(root) {
    root.adoptedStyleSheets = [sheet];
    const button = (label, text, onclick, more = {}) => make("button", { type: "button", "aria-label": label, title: label, onclick, ...more }, text);
    this.title = make("h1", {});
    this.example = make("select", { "aria-label": "Example", onchange: () => push({ kind: "base", name: this.example.value }) });
    this.size = make("span", { class: "size" });
    this.pills = make("div", { class: "pills", role: "group", "aria-label": "Nonlinearity" });
    this.more = make("select", { class: "more", "aria-label": "Nonlinearity", onchange: () => this.more.value && push({ kind: "activation", name: this.more.value }) });
    this.undo = button("Undo (Ctrl+Z)", "↶", () => push({ kind: "undo" }));
    this.redo = button("Redo (Ctrl+Y)", "↷", () => push({ kind: "redo" }));
    this.reset = button("Back to the starting point", "Reset", () => push({ kind: "reset" }));
    this.history = make("div", { class: "history" }, this.undo, this.redo, this.reset);
    this.share = button("Share a link to what is on the page", "Share", () => this.#toggleShare(), { "aria-expanded": "false" });
    this.text = button("Text size", "A⁺", () => {
      setTextSize(SIZES[(SIZES.indexOf(textSize()) + 1) % SIZES.length]);
      this.#textSize();
    });
    this.link = make("input", { type: "text", readonly: true, "aria-label": "Link" });
    this.copy = make("button", { type: "button", onclick: () => this.#copy() }, "Copy link");
    this.file = make("button", { type: "button", onclick: () => push({ kind: "file" }) }, "Save as a file");
    this.shareText = make("p", {});
    this.sharing = make("div", { class: "sharing", hidden: true }, this.shareText, this.link, this.copy, this.file);
    this.notices = make("div", { class: "notices", role: "status" });
    this.element = make(
      "header", { class: "frame" },
      make("div", { class: "what" }, this.title, make("div", { class: "which" }, this.example, this.size)),
      make("div", { class: "tools" }, this.pills, this.more, this.history, this.share, this.text),
      this.sharing,
      this.notices,
    );
    root.append(this.element);
    this.onKey = (event) => this.#keys(event);
    document.addEventListener("keydown", this.onKey);
    this.#textSize();
    this.wide = window.matchMedia("(min-width: 901px)");
    this.onWide = () => this.#rest(this.data);
    this.wide.addEventListener("change", this.onWide);
  }

  destroy() {
    this.wide.removeEventListener("change", this.onWide);
    document.removeEventListener("keydown", this.onKey);
    this.element.remove();
  }

  update(data, send) {
    this.data = data;
    // The address first: what Python has applied is in it, so the log may then forget it.
    setAddress(data.query);
    connect(send);
    receive(data.log);
    keep(data, push);
    this.element.classList.toggle("dark", isDark(this.element));
    setText(this.title, data.title);
    setText(this.size, data.size);
    this.#options(this.example, data.examples, data.example);
    for (const part of [this.example, this.size, this.history]) part.hidden = data.own_network;
    this.#rest(data);
    this.#pills(data);
    this.undo.disabled = !data.can_undo;
    this.redo.disabled = !data.can_redo;
    this.reset.disabled = !data.can_reset;
    this.#sharing();
    this.#notices(data.notices);
    if (data.file && data.file.number !== this.fileSeen) {
      this.fileSeen = data.file.number;
      const address = URL.createObjectURL(new Blob([data.file.text], { type: "application/json" }));
      make("a", { href: address, download: data.file.name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
    }
  }

  #options(select, options, chosen) {
    const signature = JSON.stringify(options);
    if (select.dataset.signature !== signature) {
      select.dataset.signature = signature;
      select.replaceChildren(...options.map(([name, label]) => make("option", { value: name }, label)));
    }
    if (select.value !== chosen) select.value = chosen;
  }

  /** Beside the pills the list holds the rest; where there is no room for pills it holds all. */
  #rest({ activations, featured, activation }) {
    this.more.hidden = !activations.length;
    if (!this.wide.matches) return this.#options(this.more, activations, activation);
    const rest = activations.filter(([name]) => !featured.includes(name));
    const chosen = featured.includes(activation) ? "" : activation;
    return this.#options(this.more, [["", "more…"], ...rest], chosen);
  }

  #pills({ activations, featured, activation }) {
    if (this.pills.children.length !== featured.length) {
      const labels = new Map(activations);
      this.pills.replaceChildren(...featured.map((name) => make("button", { type: "button", "data-name": name, onclick: () => push({ kind: "activation", name }) }, labels.get(name))));
    }
    for (const pill of this.pills.children) setAttribute(pill, "aria-pressed", String(pill.dataset.name === activation));
  }

  #toggleShare() {
    this.sharing.hidden = !this.sharing.hidden;
    this.share.setAttribute("aria-expanded", String(!this.sharing.hidden));
    this.#sharing();
    if (!this.sharing.hidden && !this.link.hidden) {
      this.link.focus();
      this.link.select();
    }
  }

  #sharing() {
    if (this.sharing.hidden) return;
    const { too_long: tooLong } = this.data;
    this.link.hidden = this.copy.hidden = tooLong;
    this.link.value = window.location.href;
    setText(this.shareText, tooLong
      ? "This is too much for a link. Save it as a file; whoever has the file can open it on the Weights page."
      : "Whoever opens this link sees what you see, every change included, and gets a copy of their own.");
  }

  async #copy() {
    try {
      await navigator.clipboard.writeText(window.location.href);
      setText(this.copy, "Copied");
    } catch {
      this.link.select();
      setText(this.copy, "Press Ctrl+C");
    }
    setTimeout(() => setText(this.copy, "Copy link"), 2500);
  }

  #notices(notices) {
    const signature = JSON.stringify(notices);
    if (signature === this.noticeSignature) return;
    this.noticeSignature = signature;
    this.notices.replaceChildren(...notices.map((text) => make("p", {}, text)));
    if (notices.length) {
      this.notices.append(make("button", { type: "button", onclick: () => push({ kind: "seen" }) }, "Dismiss"));
    }
  }

  #textSize() {
    this.element.style.setProperty("--text", textSize());
    this.text.setAttribute("aria-label", `Text size: ${Math.round(textSize() * 100)}%`);
  }

  #keys(event) {
    // Wherever the focus is, but for what undoes its own typing, and for the board, which has taken the key already.
    if (this.data.own_network || !(event.ctrlKey || event.metaKey) || event.defaultPrevented || event.composedPath()[0].matches?.(TYPED)) return;
    const key = event.key.toLowerCase();
    const kind = key === "y" || (key === "z" && event.shiftKey) ? "redo" : key === "z" ? "undo" : null;
    if (!kind) return;
    event.preventDefault();
    push({ kind });
  }
}

const frames = new WeakMap();

export default function render({ data, parentElement, setStateValue }) {
  let frame = frames.get(parentElement);
  if (!frame) {
    frame = new Frame(parentElement);
    frames.set(parentElement, frame);
    arrive();
  }
  frame.update(data.frame, (log) => setStateValue("log", log));
  return () => {
    connect(null);
    frames.get(parentElement)?.destroy();
    frames.delete(parentElement);
  };
}
