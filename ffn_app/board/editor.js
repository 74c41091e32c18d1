// Editing in place: one input that stands over the cell being edited.
//
// A cell that has the focus answers arrows; typing, Enter, F2, a click or a tap opens the input over it.
// The input takes only numbers that parseNumber takes: anything else is marked and named, and the last
// good value stays.

import { make, place, setAttribute, setText } from "./dom.js";
import { fullNumber, parseNumber } from "./numbers.js";

const DRAG_FROM = 6; // pixels before a press becomes a drag
const DRAG_STEP = 4; // pixels a quantum
const SEVERAL_NUMBERS = /[\t\n;]|\S\s+\S|\[|,.*,/;

let gestures = 0;
const newGesture = () => `${Date.now().toString(36)}-${(gestures += 1)}`;

/** The step of a nudge: a power of ten that is a fiftieth to a fifth of a hundredth of the scale. */
function quantumOf(span) {
  return 10 ** Math.floor(Math.log10(span / 20));
}

const tidy = (value, quantum) => Number(value.toFixed(Math.max(0, -Math.floor(Math.log10(quantum)))));

export class Editor {
  /**
   * @param stage the element that the cells stand in
   * @param board takes what is done: change(cell, value, gesture), paste(cell, text), act(kind),
   *   step(cell, rows, columns) and following(cell, direction) give the next cell, spanOf(cell), say(text)
   */
  constructor(stage, board) {
    this.stage = stage;
    this.board = board;
    this.cell = null;
    this.input = make("input", {
      class: "editor", type: "text", inputmode: "text", enterkeyhint: "next", autocomplete: "off",
      autocapitalize: "off", spellcheck: "false", maxlength: "2000000", hidden: true,
    });
    this.message = make("div", { class: "message", role: "alert", hidden: true });
    stage.append(this.input, this.message);
    this.input.addEventListener("keydown", (event) => this.#keyInInput(event));
    this.input.addEventListener("input", () => {
      this.dirty = true;
      this.#refuse(null);
    });
    this.input.addEventListener("blur", () => this.#left());
    stage.addEventListener("keydown", (event) => this.#keyOnCell(event));
    stage.addEventListener("paste", (event) => this.#paste(event));
    stage.addEventListener("copy", (event) => this.#copy(event));
    stage.addEventListener("pointerdown", (event) => this.#press(event));
    stage.addEventListener("click", (event) => this.#click(event));
  }

  /** Stand over a cell, its whole number selected. */
  open(cell, { empty = false } = {}) {
    if (this.cell && this.cell !== cell) this.#commit();
    const refused = this.input.hidden ? null : document.activeElement;
    this.cell = cell;
    this.moving = true;
    if (refused) this.input.blur(); // so that a screen reader reads the new label
    this.input.hidden = false;
    this.stage.parentElement.classList.add("editing");
    this.place();
    this.input.value = empty ? "" : fullNumber(cell.grid.valueOf(cell));
    setAttribute(this.input, "aria-label", `Edit ${cell.getAttribute("aria-label")}`);
    this.dirty = empty;
    this.#refuse(null);
    this.input.focus({ preventScroll: true });
    this.input.select();
    this.moving = false;
    cell.scrollIntoView({ block: "nearest", inline: "nearest" });
    this.board.look(cell);
  }

  /** Stand over the cell where it is now. */
  place() {
    const { cell } = this;
    if (!cell) return;
    const text = cell.grid.block?.text ?? 1;
    const width = Math.max(cell.offsetWidth, 76);
    const height = Math.max(cell.offsetHeight, 32);
    const left = cell.grid.element.offsetLeft + cell.offsetLeft + (cell.offsetWidth - width) / 2;
    place(this.input, {
      x: Math.max(0, Math.min(left, this.stage.clientWidth - width)),
      y: cell.grid.element.offsetTop + cell.offsetTop + (cell.offsetHeight - height) / 2,
      width, height,
    });
    this.input.style.fontSize = `${16 * text}px`; // iOS zooms in on anything smaller
  }

  close({ focusCell = true } = {}) {
    const cell = this.cell;
    if (!cell) return;
    this.cell = null;
    this.moving = true;
    this.stage.parentElement.classList.remove("editing");
    this.input.hidden = true;
    this.#refuse(null);
    this.moving = false;
    if (focusCell) this.focus(cell);
  }

  focus(cell) {
    for (const other of cell.grid.cells) if (other.tabIndex === 0) other.tabIndex = -1;
    cell.tabIndex = 0;
    cell.focus({ preventScroll: true });
    cell.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** The numbers under the input were replaced (undo, another example): show the new one. */
  refresh() {
    if (this.cell && !this.cell.isConnected) this.close({ focusCell: false });
    if (this.cell && !this.dirty) {
      const text = fullNumber(this.cell.grid.valueOf(this.cell));
      if (this.input.value !== text) {
        this.input.value = text;
        if (this.input.matches(":focus")) this.input.select();
      }
    }
  }

  #refuse(problem) {
    setAttribute(this.input, "aria-invalid", problem ? "true" : null);
    this.message.hidden = !problem;
    if (!problem) return;
    setText(this.message, problem);
    place(this.message, {
      x: Math.max(0, Math.min(this.input.offsetLeft, this.stage.clientWidth - 250)),
      y: this.input.offsetTop + this.input.offsetHeight + 4,
    });
  }

  /** Take what was typed; false if it is no number. */
  #commit() {
    if (!this.cell || !this.dirty) return true;
    const { value, problem } = parseNumber(this.input.value);
    if (problem) {
      this.#refuse(problem);
      return false;
    }
    this.dirty = false;
    this.board.change(this.cell, value);
    return true;
  }

  #left() {
    if (this.moving || !this.cell) return;
    const cell = this.cell;
    if (!this.#commit()) {
      const { problem } = parseNumber(this.input.value);
      this.board.say(`${problem} ${cell.grid.nameOf(cell)} keeps ${fullNumber(cell.grid.valueOf(cell))}.`, cell);
    }
    this.close({ focusCell: false });
  }

  #go(to) {
    if (to && to.grid.spec.editable) this.open(to);
    else {
      this.close({ focusCell: !to });
      if (to) this.focus(to);
    }
  }

  #keyInInput(event) {
    const { key } = event;
    const cell = this.cell;
    if (!cell || event.isComposing) return;
    event.stopPropagation();
    const caretFree = this.dirty;
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (event.altKey && (key === "ArrowUp" || key === "ArrowDown")) {
      event.preventDefault();
      if (this.#commit()) this.#nudge(cell, event);
    } else if (key === "Enter") {
      event.preventDefault();
      if (this.#commit()) this.#go(this.board.step(cell, event.shiftKey ? -1 : 1, 0) ?? cell);
    } else if (key === "Tab") {
      const to = this.board.following(cell, event.shiftKey ? -1 : 1);
      if (!this.#commit()) event.preventDefault();
      else if (to) {
        event.preventDefault();
        this.#go(to);
      } else {
        this.close(); // the last cell: the browser goes on from it
      }
    } else if (key === "Escape") {
      event.preventDefault();
      this.dirty = false;
      this.close();
    } else if (steps[key] && !(caretFree && (key === "ArrowLeft" || key === "ArrowRight")) && !event.shiftKey && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      if (this.#commit()) this.#go(this.board.step(cell, ...steps[key]) ?? cell);
    } else if (!this.dirty) {
      this.#history(event);
    }
  }

  #history(event) {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return false;
    const key = event.key.toLowerCase();
    const kind = key === "y" || (key === "z" && event.shiftKey) ? "redo" : key === "z" ? "undo" : null;
    if (!kind) return false;
    event.preventDefault();
    this.board.act(kind);
    return true;
  }

  #keyOnCell(event) {
    if (this.#history(event)) return;
    const cell = event.target.closest?.(".cell");
    if (!cell) return;
    const { key } = event;
    const { grid } = cell;
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (event.altKey && (key === "ArrowUp" || key === "ArrowDown") && grid.spec.editable) {
      event.preventDefault();
      this.#nudge(cell, event);
    } else if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    } else if (steps[key]) {
      event.preventDefault();
      const to = this.board.step(cell, ...steps[key]);
      if (to) this.focus(to);
    } else if (key === "Home" || key === "End") {
      event.preventDefault();
      this.focus(grid.cells[key === "Home" ? 0 : grid.cells.length - 1]);
    } else if (key === "Escape") {
      this.board.choose(null);
    } else if (!grid.spec.editable) {
      if (key === "Enter" || key === " ") {
        event.preventDefault();
        this.board.choose(cell);
      }
    } else if (key === "Enter" || key === "F2") {
      event.preventDefault();
      this.open(cell);
    } else if (key === "Delete" || key === "Backspace") {
      event.preventDefault();
      this.board.change(cell, 0);
    } else if (/^[0-9.,+\-\u2212a-zA-Z]$/.test(key)) {
      this.open(cell, { empty: true }); // the character itself goes into the input that now has the focus
    }
  }

  /** Alt with an arrow: a small step up or down; Shift makes it ten times as big. */
  #nudge(cell, event) {
    const quantum = quantumOf(this.board.spanOf(cell)) * (event.shiftKey ? 10 : 1);
    const value = tidy(cell.grid.valueOf(cell) + (event.key === "ArrowUp" ? quantum : -quantum), quantum);
    // Nudges of one cell without another action between them are one edit.
    if (this.nudged !== cell) this.gesture = newGesture();
    this.nudged = cell;
    this.board.change(cell, value, this.gesture);
    this.refresh();
  }

  #press(event) {
    const cell = event.target.closest?.(".cell");
    this.dragged = false;
    this.nudged = null;
    if (!cell || event.button !== 0 || !cell.grid.spec.editable) return;
    const startX = event.clientX;
    const startY = event.clientY;
    const startValue = cell.grid.valueOf(cell);
    const gesture = newGesture();
    const touch = event.pointerType === "touch";
    const span = this.board.spanOf(cell);
    const onMove = (move) => {
      const across = move.clientX - startX;
      const up = touch ? 0 : startY - move.clientY; // on a touch screen, up and down scroll the page
      const distance = across + up;
      if (!this.dragged) {
        // A thumb that moves up or down scrolls, however it slants: only a clearly level one nudges.
        const level = !touch || Math.abs(across) > 2 * Math.abs(move.clientY - startY);
        const far = Math.max(Math.abs(across), Math.abs(up)) >= (touch ? 2 * DRAG_FROM : DRAG_FROM);
        if (touch && !level) return onEnd();
        if (!far) return;
      }
      if (!this.dragged) {
        this.dragged = true;
        cell.setPointerCapture(event.pointerId);
        this.close({ focusCell: false });
        this.focus(cell);
        cell.classList.add("dragging");
      }
      const quantum = quantumOf(span) * (move.shiftKey ? 10 : 1);
      const value = tidy(startValue + Math.round(distance / DRAG_STEP) * quantum, quantum);
      if (value !== cell.grid.valueOf(cell)) this.board.change(cell, value, gesture);
    };
    const onCancel = () => {
      if (this.dragged) this.board.change(cell, startValue, gesture); // the browser took it for a scroll
      onEnd();
    };
    const onEnd = () => {
      cell.removeEventListener("pointermove", onMove);
      cell.removeEventListener("pointerup", onEnd);
      cell.removeEventListener("pointercancel", onCancel);
      cell.classList.remove("dragging");
    };
    cell.addEventListener("pointermove", onMove);
    cell.addEventListener("pointerup", onEnd);
    cell.addEventListener("pointercancel", onCancel);
    // Moves that leave the cell before the drag has begun still belong to it.
    if (!touch) cell.setPointerCapture(event.pointerId);
  }

  #click(event) {
    const cell = event.target.closest?.(".cell");
    if (!cell || this.dragged) return;
    if (cell.grid.spec.editable) this.open(cell);
    else {
      this.focus(cell);
      this.board.choose(cell);
    }
  }

  #paste(event) {
    const cell = this.cell ?? event.target.closest?.(".cell");
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (!cell || !cell.grid.spec.editable) return;
    const single = !SEVERAL_NUMBERS.test(text.trim());
    if (single && this.cell) return; // an ordinary paste into the input
    event.preventDefault();
    if (single) {
      const { value, problem } = parseNumber(text);
      if (problem) this.board.say(`${problem} ${cell.grid.nameOf(cell)} keeps ${fullNumber(cell.grid.valueOf(cell))}.`, cell);
      else this.board.change(cell, value);
      return;
    }
    this.dirty = false;
    this.close();
    this.board.paste(cell, text);
  }

  #copy(event) {
    const cell = event.target.closest?.(".cell");
    if (!cell) return;
    event.preventDefault();
    event.clipboardData.setData("text/plain", String(cell.grid.valueOf(cell)));
  }
}
