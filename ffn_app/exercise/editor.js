// A small editor for Python: a textarea with line numbers. It has an undo of its own, since a browser's loses what
// Tab, Enter and "Start again" do.

import { make, setAttribute } from "../board/dom.js";
import { History } from "./history.js";

const STEP = "    ";
const LEAVES_BLOCK = /^\s*(return|pass|break|continue|raise)\b/;
let editors = 0;

/** The white space at the beginning of a line. */
const indentOf = (line) => line.match(/^[ \t]*/)[0];

/** How a line is indented after Enter: as the one before, deeper after a colon, less deep after return and the like. */
export function indentAfter(line) {
  const indent = indentOf(line);
  if (/:\s*(#.*)?$/.test(line)) return indent + STEP;
  return LEAVES_BLOCK.test(line) ? indent.slice(0, Math.max(0, indent.length - STEP.length)) : indent;
}

const outdented = (line) => line.replace(/^(\t| {1,4})/, "");

export class Editor {
  constructor({ label, text, onInput, onCheck }) {
    this.onInput = onInput;
    this.onCheck = onCheck;
    this.leaving = false; // Escape has been pressed: the next Tab leaves
    this.gutter = make("div", { class: "gutter", "aria-hidden": "true" });
    this.mark = make("div", { class: "mark", hidden: true });
    editors += 1;
    const help = `editor-help-${editors}`;
    this.area = make("textarea", {
      "aria-label": label, "aria-describedby": help, spellcheck: "false", autocapitalize: "off", autocomplete: "off", autocorrect: "off", wrap: "off",
      oninput: () => this.#changed(), onkeydown: (event) => this.#key(event), onblur: () => (this.leaving = false),
      onbeforeinput: (event) => this.#before(event),
    });
    this.help = make("p", { class: "help", id: help }, "Tab indents and Shift+Tab takes it back; Escape, then Tab, leaves the editor. Ctrl+Enter checks.");
    this.element = make("div", { class: "editor" }, this.gutter, make("div", { class: "lines" }, this.mark, this.area));
    this.area.value = text;
    this.area.setSelectionRange(0, 0);
    this.history = new History(this.#step());
    this.#layout();
  }

  get text() {
    return this.area.value;
  }

  focus() {
    this.area.focus();
  }

  /** Put another text in place of the whole one; undo brings it back. */
  replaceAll(text) {
    this.area.focus();
    this.area.select();
    this.#type(text);
    this.area.setSelectionRange(0, 0);
  }

  undo() {
    this.#go(-1);
  }

  redo() {
    this.#go(1);
  }

  /** Mark a line (counted from 1) as the one where an error is; null takes the mark away. */
  markLine(line) {
    const lines = this.gutter.children;
    this.marked = line !== null && line >= 1 && line <= lines.length ? line : null;
    this.mark.hidden = this.marked === null;
    setAttribute(this.area, "aria-invalid", this.marked === null ? null : "true");
    [...lines].forEach((number, i) => number.classList.toggle("wrong", i + 1 === this.marked));
    if (this.marked !== null) this.mark.style.setProperty("--line-number", this.marked - 1);
  }

  /** Put the cursor at the beginning of a line's text. */
  goTo(line) {
    const lines = this.text.split("\n");
    const before = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
    const at = before + indentOf(lines[line - 1] ?? "").length;
    this.area.focus();
    this.area.setSelectionRange(at, at);
    this.gutter.children[line - 1]?.scrollIntoView({ block: "nearest" });
  }

  #step() {
    return { text: this.area.value, start: this.area.selectionStart, end: this.area.selectionEnd };
  }

  #type(text) {
    this.history.moved(this.#step());
    this.area.setRangeText(text, this.area.selectionStart, this.area.selectionEnd, "end");
    this.#changed();
  }

  #go(by) {
    this.area.focus();
    const step = this.history.go(by);
    if (!step) return;
    this.area.value = step.text;
    this.area.setSelectionRange(step.start, step.end);
    this.#changed();
  }

  /** Undo and redo from a menu or a phone; and where the cursor is before something is typed. */
  #before(event) {
    const by = { historyUndo: -1, historyRedo: 1 }[event.inputType];
    if (!by) return this.history.moved(this.#step());
    event.preventDefault();
    return this.#go(by);
  }

  #changed() {
    this.history.add(this.#step());
    if (this.marked) this.markLine(null);
    this.#layout();
    this.onInput(this.text);
  }

  /** As many numbers as lines, and a textarea as large as its text: the box around both scrolls. */
  #layout() {
    const lines = this.text.split("\n");
    while (this.gutter.children.length < lines.length) this.gutter.append(make("span", {}, String(this.gutter.children.length + 1)));
    while (this.gutter.children.length > lines.length) this.gutter.lastChild.remove();
    const widest = Math.max(...lines.map((line) => line.length + 3 * (line.split("\t").length - 1)));
    this.area.style.height = `calc(var(--row) * ${Math.max(lines.length, 8)} + var(--pad) * 2)`;
    this.area.style.width = `max(100%, calc(${widest + 2}ch + 20px))`;
  }

  #key(event) {
    const plain = !(event.ctrlKey || event.metaKey || event.altKey);
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.onCheck();
    } else if ((event.ctrlKey || event.metaKey) && !event.altKey && /^[yz]$/i.test(event.key)) {
      event.preventDefault();
      this.#go(event.key.toLowerCase() === "y" || event.shiftKey ? 1 : -1);
    } else if (event.key === "Escape") {
      this.leaving = true;
      return;
    } else if (event.key === "Tab" && plain && !this.leaving) {
      event.preventDefault();
      if (event.shiftKey) this.#lines(outdented);
      else if (this.area.selectionStart === this.area.selectionEnd) this.#indentHere();
      else this.#lines((line) => (line ? STEP + line : line));
    } else if (event.key === "Enter" && plain && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      const { line, column } = this.#here();
      this.#type(`\n${indentAfter(line.slice(0, column))}`);
    } else if (event.key === "Backspace" && plain && this.#atIndent()) {
      event.preventDefault();
      const { column } = this.#here();
      this.area.setSelectionRange(this.area.selectionStart - (column % STEP.length || STEP.length), this.area.selectionStart);
      this.#type("");
    }
    if (event.key !== "Shift") this.leaving = false;
  }

  /** The line that the cursor is in, and where in it. */
  #here() {
    const start = this.text.lastIndexOf("\n", this.area.selectionStart - 1) + 1;
    const end = this.text.indexOf("\n", start);
    return { line: this.text.slice(start, end < 0 ? undefined : end), column: this.area.selectionStart - start, start };
  }

  /** Whether nothing is selected and a whole step of spaces stands before the cursor, and nothing else. */
  #atIndent() {
    const { line, column } = this.#here();
    const step = column % STEP.length || STEP.length;
    return this.area.selectionStart === this.area.selectionEnd && column >= step && /^ +$/.test(line.slice(0, column));
  }

  #indentHere() {
    const { column } = this.#here();
    this.#type(" ".repeat(STEP.length - (column % STEP.length)));
  }

  /** Change every line that the selection touches; it stays selected. */
  #lines(change) {
    const { selectionStart, selectionEnd } = this.area;
    const { start } = this.#here();
    const last = selectionEnd > selectionStart && this.text[selectionEnd - 1] === "\n" ? selectionEnd - 1 : selectionEnd;
    const newline = this.text.indexOf("\n", last);
    const end = newline < 0 ? this.text.length : newline;
    const before = this.text.slice(start, end);
    const after = before.split("\n").map(change).join("\n");
    if (after === before) return;
    this.area.setSelectionRange(start, end);
    this.#type(after);
    if (selectionStart === selectionEnd) {
      const at = Math.max(start, selectionStart + after.length - before.length);
      this.area.setSelectionRange(at, at);
    } else this.area.setSelectionRange(start, start + after.length);
  }
}
