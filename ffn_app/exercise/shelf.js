// The list of exercises, with what is passed; the file for a teacher; and the way to begin anew.

import { isDark } from "../board/colours.js";
import { make, setAttribute, setText, stylesheet } from "../board/dom.js";
import { push } from "../board/queue.js";
import { onTextSize, textSize } from "../board/text_size.js";
import { asFile, forgetAll, isRefused, keptOf, onProgress } from "./progress.js";

const sheet = await stylesheet(new URL("./exercise.css", import.meta.url));
const WIDE = window.matchMedia("(min-width: 901px)");

/** What is said beside an exercise: how it went, or else what is to be done. */
function state({ passed, attempts = 0 }, kind) {
  if (passed) return "✓ passed";
  if (attempts) return attempts === 1 ? "tried once" : `tried ${attempts} times`;
  return kind;
}

class Shelf {
  constructor(root) {
    root.adoptedStyleSheets = [sheet];
    this.count = make("summary", {});
    this.list = make("ol", { class: "list" });
    const button = (text, onclick) => make("button", { type: "button", onclick }, text);
    this.save = button("Save for a teacher", () => this.#save());
    this.clear = button("Delete all…", () => this.#ask(true));
    this.yes = button("Delete marks and answers", () => this.#forget());
    this.no = button("Keep them", () => this.#ask(false));
    this.question = make("div", { class: "question", role: "group", "aria-label": "Delete all?", hidden: true },
      make("span", {}, "All marks and all that you have typed here will be gone from this browser."), this.yes, this.no);
    this.note = make("p", { class: "help" });
    this.all = make("details", {}, this.count, this.list,
      make("div", { class: "tools" }, this.save, this.clear), this.question, this.note);
    this.element = make("nav", { class: "shelf", "aria-label": "Exercises" }, this.all);
    root.append(this.element);
    this.stops = [onProgress(() => this.#draw()), onTextSize(() => this.#draw())];
  }

  destroy() {
    for (const stop of this.stops) stop();
    this.element.remove();
  }

  update(data) {
    // Who comes with a link to one exercise wants to see that, and not the list.
    if (!this.data) this.all.open = WIDE.matches && data.open === data.exercises[0].name;
    this.data = data;
    this.#draw();
  }

  #draw() {
    const { exercises, open } = this.data;
    this.element.classList.toggle("dark", isDark(this.element));
    this.element.style.setProperty("--text", textSize());
    const passed = exercises.filter(({ name }) => keptOf(name).passed).length;
    setText(this.count, `Exercises: ${passed} of ${exercises.length} passed`);
    if (this.list.children.length !== exercises.length) {
      this.list.replaceChildren(...exercises.map(({ name, title, kind }, i) => make("li", {},
        make("button", { type: "button", "data-name": name, "data-kind": kind, onclick: () => this.#choose(name) },
          make("span", { class: "title" }, `${i + 1}. ${title}`), make("span", { class: "state" })))));
    }
    for (const button of this.list.querySelectorAll("button")) {
      const known = keptOf(button.dataset.name);
      setAttribute(button, "aria-current", button.dataset.name === open ? "true" : null);
      setText(button.lastChild, state(known, button.dataset.kind));
      button.classList.toggle("passed", Boolean(known.passed));
    }
    setText(this.note, isRefused()
      ? "This browser keeps nothing: your marks are gone when you close the page. Save them first."
      : "Your marks and answers are kept in this browser and are sent nowhere. The file for a teacher holds no names.");
  }

  #choose(name) {
    push({ kind: "view", exercise: name });
    this.all.open = false; // the exercise is below it
    this.count.focus();
  }

  #save() {
    const address = URL.createObjectURL(new Blob([asFile(this.data.exercises, this.data.seed)], { type: "application/json" }));
    make("a", { href: address, download: "hourglass-exercises.json" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }

  #ask(asking) {
    this.question.hidden = !asking;
    (asking ? this.no : this.clear).focus();
  }

  #forget() {
    forgetAll(this.data.network);
    this.#ask(false);
  }
}

const shelves = new WeakMap();

export default function render({ data, parentElement }) {
  let shelf = shelves.get(parentElement);
  if (!shelf) {
    shelf = new Shelf(parentElement);
    shelves.set(parentElement, shelf);
  }
  shelf.update(data.shelf);
  return () => {
    shelves.get(parentElement)?.destroy();
    shelves.delete(parentElement);
  };
}
