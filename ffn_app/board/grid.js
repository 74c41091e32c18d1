// One array as a grid of heat cells. Nodes are made once for a shape and then only repainted.

import { divergingColour, inkOn } from "./colours.js";
import { make, place, setAttribute, setText } from "./dom.js";
import { fullNumber, shortNumber } from "./numbers.js";

const SMALLEST_FONT = 9.5;
const LARGEST_FONT = 18;
const LEAST_READABLE = 0.7; // with fewer of its numbers readable, an array shows none
const DIGITS = [3, 2, 1];
const WIDTH_OF_CHARACTER = 0.57; // of the font size, for tabular figures and the minus sign

/** A computed number in 12 digits: the last few of a float64 are what rounding left there. */
const withoutDust = (value) => Number(value.toPrecision(12));

export const keyOf = (array, index) => `${array}:${index.join(",")}`;

export class Grid {
  constructor(name) {
    this.name = name;
    this.element = make("div", { class: "grid", role: "grid" });
    this.cells = [];
  }

  /** Take new numbers; cells are rebuilt only if the shape is another one. */
  update(spec, paint) {
    const shape = `${spec.rows}x${spec.columns}:${spec.values.length}`;
    if (shape !== this.shape) this.#build(spec);
    this.shape = shape;
    this.spec = spec;
    this.element.dataset.array = spec.array;
    setAttribute(this.element, "aria-label", spec.describe);
    setAttribute(this.element, "aria-readonly", spec.editable ? "false" : "true");
    this.element.classList.toggle("editable", spec.editable);
    this.changed = new Set(spec.changed ?? []);
    this.hushed = new Set(spec.hushed ?? []);
    this.paint = paint;
    this.repaint();
  }

  #build(spec) {
    this.cells = [];
    const rows = [];
    for (let r = 0; r < spec.rows; r++) {
      const row = make("div", { class: "row", role: "row" });
      for (let c = 0; c < spec.columns && r * spec.columns + c < spec.values.length; c++) {
        const cell = make("div", { class: "cell", role: "gridcell", tabindex: "-1" });
        cell.grid = this;
        cell.at = r * spec.columns + c;
        row.append(cell);
        this.cells.push(cell);
      }
      rows.push(row);
    }
    this.element.replaceChildren(...rows);
    if (this.cells.length) this.cells[0].tabIndex = 0;
  }

  rowOf(cell) {
    return Math.floor(cell.at / this.spec.columns);
  }

  columnOf(cell) {
    return cell.at % this.spec.columns;
  }

  /** The entry of the whole array that a cell shows. */
  indexOf(cell) {
    const { start, row_unit, column_unit } = this.spec;
    const r = this.rowOf(cell);
    const c = this.columnOf(cell);
    return start.map((first, axis) => first + r * row_unit[axis] + c * column_unit[axis]);
  }

  keyOf(cell) {
    return keyOf(this.spec.array, this.indexOf(cell));
  }

  valueOf(cell) {
    const waiting = this.paint.overrides.get(this.keyOf(cell));
    return waiting === undefined ? this.spec.values[cell.at] : waiting.value;
  }

  nameOf(cell) {
    return this.spec.name + this.indexOf(cell).map((i) => `[${i}]`).join("");
  }

  at(row, column) {
    return this.cells[row * this.spec.columns + column];
  }

  /** Where the layout wants it. */
  place(block, text) {
    this.block = block;
    this.text = text;
    place(this.element, block);
    this.element.style.gridTemplateColumns = `repeat(${block.columns}, ${block.cellWidth}px)`;
    this.element.style.gridAutoRows = `${block.cellHeight}px`;
    this.element.classList.toggle("tight", Math.min(block.cellWidth, block.cellHeight) < 14);
    this.#fit();
  }

  /**
   * A number is written as large as its cell allows: without the 0 before the point and then with fewer digits where
   * that makes it readable, and not at all where it could not be read.
   */
  #fit() {
    if (!this.block || !this.spec) return;
    const { cellWidth, cellHeight } = this.block;
    const wanted = Math.min(LARGEST_FONT * this.text, cellHeight * 0.42, cellWidth * 0.4 * this.text);
    this.element.style.fontSize = `${Math.max(wanted, SMALLEST_FONT)}px`;
    const sizeFor = (text) => (cellWidth - 4) / (text.length * WIDTH_OF_CHARACTER);
    const fits = (text) => sizeFor(text) >= SMALLEST_FONT;
    const shortened = ({ written }) => {
      if (fits(written(3))) return written(3);
      const shorter = DIGITS.map((digits) => written(digits).replace(/^(\D*)0\./, "$1."));
      return shorter.find(fits) ?? shorter[0];
    };
    const texts = this.cells.map(shortened);
    const readable = texts.map((text) => cellHeight >= SMALLEST_FONT + 3 && fits(text));
    // A few numbers among many blanks would say that those cells are special.
    const wanting = texts.filter(Boolean).length;
    const few = texts.filter((text, at) => text && readable[at]).length < LEAST_READABLE * wanting;
    this.cells.forEach((cell, at) => {
      const shown = readable[at] && !few;
      setText(cell, shown ? texts[at] : "");
      cell.style.fontSize = shown && sizeFor(texts[at]) < wanted ? `${sizeFor(texts[at])}px` : "";
    });
  }

  repaint() {
    let longer = false;
    for (const cell of this.cells) longer = this.#paintCell(cell) || longer;
    if (longer) this.#fit();
  }

  repaintCell(cell) {
    if (this.#paintCell(cell)) this.#fit();
  }

  #paintCell(cell) {
    const { spec, paint } = this;
    const value = this.valueOf(cell);
    const changed = this.changed.has(cell.at) || paint.overrides.has(this.keyOf(cell));
    const where = spec.columns > 1 || spec.rows === 1 ? `row ${this.rowOf(cell)}, column ${this.columnOf(cell)}` : `row ${this.rowOf(cell)}`;
    const note = spec.notes?.[cell.at] ? `, ${spec.notes[cell.at]}` : "";
    setAttribute(cell, "aria-label", `${spec.label} ${where}${note}, ${this.nameOf(cell)}: ${fullNumber(spec.editable ? value : withoutDust(value))}${changed ? ", changed" : ""}`);
    cell.classList.toggle("changed", changed);
    // What takes no part is greyed and hatched; `signs` stand before the number.
    const hushed = this.hushed.has(cell.at);
    const sign = spec.signs?.[cell.at] ?? "";
    const look = `${value}|${paint.look}|${paint.spans[spec.span]}|${hushed}|${sign}`;
    if (cell.look === look) return false;
    cell.look = look;
    cell.classList.toggle("hushed", hushed);
    const colour = divergingColour(value, paint.spans[spec.span], paint.stops);
    cell.style.backgroundColor = hushed ? "" : colour;
    cell.style.color = hushed ? "" : inkOn(colour);
    cell.written = hushed && spec.blank ? () => "" : (digits) => sign + shortNumber(value, digits);
    return true;
  }
}
