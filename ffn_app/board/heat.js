// A big array, pooled to the room there is, on a canvas. Each block shows its entry of greatest magnitude.

import { divergingColour } from "./colours.js";
import { make, place, setAttribute } from "./dom.js";
import { pool } from "./pool.js";

/** Bytes of int8, 127 standing for the full span, as Python sends them. */
function decode(text) {
  const raw = atob(text);
  const values = new Array(raw.length);
  for (let i = 0; i < raw.length; i++) values[i] = ((raw.charCodeAt(i) << 24) >> 24) / 127;
  return values;
}

export class Heat {
  constructor(name) {
    this.name = name;
    this.element = make("canvas", { class: "heat", role: "img" });
    this.element.heat = this;
  }

  update(spec, paint) {
    this.spec = spec;
    this.paint = paint;
    setAttribute(this.element, "aria-label", spec.describe);
    this.element.dataset.array = spec.array;
    const look = `${spec.pooled.rows},${spec.pooled.columns},${paint.look}:${spec.pooled.data}`;
    if (look === this.look) return; // most arrays do not change with an edit
    this.look = look;
    this.values = decode(spec.pooled.data);
    this.#render();
  }

  place(block) {
    this.block = block;
    place(this.element, block);
    this.#render();
  }

  #render() {
    if (!this.block || !this.values) return;
    const { pooled } = this.spec;
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(1, Math.round(this.block.width));
    const height = Math.max(1, Math.round(this.block.height));
    this.shown = pool(this.values, pooled.rows, pooled.columns, Math.floor(height / 2) || 1, Math.floor(width / 2) || 1);
    const canvas = this.element;
    if (canvas.width !== width * ratio || canvas.height !== height * ratio) {
      canvas.width = width * ratio;
      canvas.height = height * ratio;
    }
    const { rows, columns, values } = this.shown;
    // One pixel a block, then scaled up without smoothing: one call however big the array.
    const pixels = new ImageData(columns, rows);
    values.forEach((value, at) => {
      const colour = divergingColour(value, 1, this.paint.stops);
      pixels.data.set([1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16)), at * 4);
      pixels.data[at * 4 + 3] = 255;
    });
    const small = new OffscreenCanvas(columns, rows);
    small.getContext("2d").putImageData(pixels, 0, 0);
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, 0, canvas.width, canvas.height);
  }

  /** The block of the whole array under a point: {array, block: [row, endRow, column, endColumn]}. */
  blockAt(clientX, clientY) {
    const box = this.element.getBoundingClientRect();
    const { rowEdges, columnEdges, rows, columns } = this.shown;
    const { row_edges, column_edges } = this.spec.pooled;
    const r = Math.max(0, Math.min(rows - 1, Math.floor(((clientY - box.top) / box.height) * rows)));
    const c = Math.max(0, Math.min(columns - 1, Math.floor(((clientX - box.left) / box.width) * columns)));
    return {
      array: this.spec.array,
      block: [row_edges[rowEdges[r]], row_edges[rowEdges[r + 1]], column_edges[columnEdges[c]], column_edges[columnEdges[c + 1]]],
    };
  }
}
