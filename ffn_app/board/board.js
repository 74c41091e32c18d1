// The live board: draws the arrays that Python computed, and reports what a person does to them.
// It computes nothing of the FFN.

import { divergingColour, isDark } from "./colours.js";
import { draw, make, place, setAttribute, setText, stylesheet } from "./dom.js";
import { Editor } from "./editor.js";
import { Grid, keyOf } from "./grid.js";
import { Heat } from "./heat.js";
import { layout } from "./layout.js";
import { chosenSince, push, watchChoices } from "./queue.js";
import { FOLLOWED, sources, STEPS } from "./sources.js";
import { onTextSize, textSize } from "./text_size.js";

const sheet = await stylesheet(new URL("./board.css", import.meta.url));
const TALLEST_STAGE = 760; // a drawing that fills a tall screen is no easier to read
const SETTLE_MS = [150, 600, 1500];
const MOST_CHIPS = 8; // more positions than this are chosen from a list
const LOOK_DELAY_MS = 60; // a pointer on its way across cells asks for nothing
const CHOSEN_HERE = ["neuron", "expert", "step"]; // of the view, what the board shows before Python answers

/** A cell's index within what is drawn: without the position or expert in front. */
const within = (cell) => cell.grid.indexOf(cell).slice(cell.grid.spec.lead);

let acting = null; // the board of the page that a person last did something on

class Board {
  constructor(root, name) {
    this.name = name;
    this.grids = new Map();
    this.overrides = new Map(); // numbers on their way to Python, by cell
    this.stageHeight = 0;
    root.adoptedStyleSheets = [sheet];
    this.steps = make("div", { class: "steps", role: "toolbar", "aria-label": "Walk through the FFN" });
    this.compare = make("button", { class: "toggle", type: "button", onclick: () => this.#toggleCompare() });
    this.positions = make("div", { class: "positions", role: "group", "aria-label": "Positions" });
    this.legend = make("div", { class: "legend" });
    this.bar = make("div", { class: "bar" }, this.steps, this.compare, this.legend, this.positions);
    this.bands = draw("svg", { class: "bands", "aria-hidden": "true" });
    this.stage = make("div", { class: "stage" }, this.bands);
    this.told = make("p", { class: "told" });
    this.panel = make("section", { class: "panel", "aria-label": "Explanation", tabindex: "0" });
    this.live = make("div", { class: "sr-only", "aria-live": "polite" });
    this.element = make("div", { class: "board" }, this.bar, this.told, this.stage, this.panel, this.live);
    root.append(this.element);
    this.picker = make("input", { type: "number", min: "0", step: "1", "aria-label": "Neuron shown large", onchange: () => this.#pick() });
    this.noteText = make("span", {});
    this.note = make("div", { class: "pooled-note", hidden: true }, make("label", {}, "Neuron shown large:", this.picker), " ", this.noteText);
    this.stage.append(this.note);
    this.rings = new Map();
    this.headings = new Map();
    this.captions = new Map();
    this.neuronLabels = [];
    this.valueLabels = [];
    this.editor = new Editor(this.stage, this);
    for (const kind of ["pointerdown", "focusin"]) this.element.addEventListener(kind, () => (acting = this));
    this.stage.addEventListener("pointerover", (event) => this.#hover(event));
    this.stage.addEventListener("pointermove", (event) => this.#hoverHeat(event));
    this.stage.addEventListener("pointerleave", () => this.look(null));
    this.stage.addEventListener("focusin", (event) => event.target.closest(".cell") && this.look(event.target.closest(".cell")));
    this.stage.addEventListener("click", (event) => {
      if (event.target.heat) push({ kind: "select", ...event.target.heat.blockAt(event.clientX, event.clientY) });
    });
    this.steps.addEventListener("keydown", (event) => this.#stepKey(event));
    this.observer = new ResizeObserver(() => this.#resized());
    this.observer.observe(this.element);
    this.onWindow = () => this.#resized(true);
    window.addEventListener("resize", this.onWindow);
    // While a page loads, what stands above comes in late: fit the room again, once it has.
    this.settling = SETTLE_MS.map((wait) => setTimeout(() => this.data && !this.editor.cell && Math.abs(this.#room() - this.laidRoom) > 4 && this.#resized(true), wait));
    this.stopTextSize = onTextSize(() => this.#resized(true));
    this.stopWatching = watchChoices((choice) => this.#heard(choice));
  }

  destroy() {
    this.settling.forEach(clearTimeout);
    this.observer.disconnect();
    window.removeEventListener("resize", this.onWindow);
    this.stopTextSize();
    this.stopWatching();
    if (acting === this) acting = null;
    this.element.remove();
  }

  // ------------------------------------------------------------------ from Python

  update(data) {
    this.data = data;
    const since = chosenSince();
    for (const field of CHOSEN_HERE) if (field in since) data[field] = since[field];
    for (const [key, waiting] of this.overrides) {
      if (!data.log || waiting.seq <= data.log.applied) this.overrides.delete(key);
    }
    const dark = isDark(this.element);
    this.element.classList.toggle("dark", dark);
    for (const [concept, [light, onDark]] of Object.entries(data.concepts)) {
      this.element.style.setProperty(`--${concept}`, dark ? onDark : light);
    }
    this.paint = {
      overrides: this.overrides,
      stops: dark ? data.stops.dark : data.stops.light,
      spans: data.spans,
      look: dark ? "dark" : "light",
    };
    this.#arrays(data.arrays);
    this.#bar(data);
    this.told.hidden = !data.note;
    setText(this.told, data.note);
    const shape = JSON.stringify([data.drawn, data.columns, data.dims, data.arrays.map((a) => [a.id, a.rows, a.columns, !!a.pooled]), data.positions.length, data.compact]);
    if (shape !== this.shape) {
      this.shape = shape;
      this.#lay();
    }
    this.#headings();
    this.#curve();
    this.#slim();
    this.#lines();
    this.#labels();
    this.#note();
    this.#highlight();
    this.#panel();
    this.editor.refresh();
    if (data.problem && data.problem.number !== this.problemSeen) {
      this.problemSeen = data.problem.number;
      if (acting ? acting === this : data.leads) this.say(data.problem.text);
    }
  }

  #arrays(specs) {
    const seen = new Set();
    for (const spec of specs) {
      seen.add(spec.id);
      const kind = spec.pooled ? Heat : Grid;
      let grid = this.grids.get(spec.id);
      if (grid && !(grid instanceof kind)) {
        grid.element.remove();
        grid = null;
      }
      if (!grid) {
        grid = new kind(spec.id);
        this.grids.set(spec.id, grid);
        this.stage.insertBefore(grid.element, this.editor.input);
      }
      grid.update(spec, this.paint);
    }
    for (const [id, grid] of this.grids) {
      if (seen.has(id)) continue;
      grid.element.remove();
      this.grids.delete(id);
      this.headings.get(id)?.remove();
      this.headings.delete(id);
    }
    // Reading order is the order of the computation, whatever was added when.
    let before = null;
    for (const spec of specs) {
      const { element } = this.grids.get(spec.id);
      if (before && before.nextElementSibling !== element && !element.contains(this.stage.getRootNode().activeElement)) before.after(element);
      before = element;
    }
  }

  // ------------------------------------------------------------------ places

  #resized(force = false) {
    const width = this.element.clientWidth;
    if (!this.data || !width || (!force && width === this.laidWidth)) return;
    this.#lay();
    this.#curve();
    this.#slim();
    this.#lines();
    this.#labels();
    this.#highlight();
  }

  #room() {
    const scroller = this.element.getRootNode().host?.closest('[data-testid="stMain"]');
    // A board further down the page has a screen of its own.
    const top = this.data.leads ? this.stage.getBoundingClientRect().top + (scroller?.scrollTop ?? window.scrollY) : 120;
    return Math.min(window.innerHeight - top - (this.panel.offsetHeight / textSize() || 120) - 18, TALLEST_STAGE);
  }

  #lay() {
    const { dims, zoom, compact } = this.data;
    const text = textSize();
    this.laidWidth = this.element.clientWidth;
    this.laidRoom = this.#room();
    this.element.style.setProperty("--text", text);
    const strips = zoom ? zoom.strips : [];
    const noteLines = zoom?.note && this.laidWidth < 640 ? 4 : 1;
    const noteHeight = zoom ? (28 + 18 * (noteLines - 1)) * text : 0;
    const stripCell = Math.max(this.laidWidth < 640 ? 5 : 8, Math.min(52, (this.laidWidth - 4) / (strips[0]?.columns ?? 16)));
    const stripRow = stripCell < 30 ? 18 : 24;
    const stripHeight = (strip) => strip.rows * stripRow + 20 * text;
    const zoomHeight = strips.reduce((sum, strip) => sum + stripHeight(strip), noteHeight);
    const height = compact ? 300 : Math.max(this.laidRoom - zoomHeight, 240);
    const plan = layout({ width: this.laidWidth, height }, {
      drawn: this.data.drawn, columns: this.data.columns, dModel: dims.d_model, dFf: dims.lines, positions: this.data.positions.length,
      compare: Boolean(this.data.compare), residual: this.data.leads || compact, names: this.data.line_labels && Math.max(...this.data.line_labels.map(({ name }) => name.length)), text,
    });
    this.plan = plan;
    for (const [id, grid] of this.grids) {
      const block = plan.blocks[id];
      if (block) grid.place(block, text);
    }
    let y = plan.height;
    const strip = (id, x, top, rows, columns, cellWidth, cellHeight) => {
      const block = { x, y: top, rows, columns, cellWidth, cellHeight, width: columns * cellWidth, height: rows * cellHeight };
      plan.blocks[id] = block;
      this.grids.get(id).place(block, text);
    };
    if (zoom) {
      place(this.note, { x: 0, y, width: this.laidWidth - (this.grids.has("zoom_b1") ? 130 : 0) });
      if (this.grids.has("zoom_b1")) strip("zoom_b1", this.laidWidth - 62, y, 1, 1, 60, 24);
      y += noteHeight;
    }
    for (const { id, rows, columns } of strips) {
      strip(id, 0, y + 18 * text, rows, columns, stripCell, stripRow);
      y += stripHeight({ rows });
    }
    this.stage.style.height = `${y + 4}px`;
    this.bands.setAttribute("viewBox", `0 0 ${this.laidWidth} ${y}`);
    this.bands.style.height = `${y}px`;
    this.#bandShapes();
    this.#headings();
    this.#captions();
    this.editor.place();
  }

  #bandShapes() {
    const shapes = this.plan.bands.map(({ concept, from, fromSpan, to, toSpan }) =>
      draw("polygon", { class: "band", style: `fill: var(--${concept})`, points: `${from},${fromSpan[0]} ${to},${toSpan[0]} ${to},${toSpan[1]} ${from},${fromSpan[1]}` }));
    this.curveShape = draw("g", { class: "curve" });
    this.slimShape = draw("g", {});
    this.lineShape = draw("g", {});
    this.bands.replaceChildren(...shapes, this.lineShape, this.curveShape, this.slimShape);
  }

  #headings() {
    for (const [id, grid] of this.grids) {
      const block = this.plan?.blocks[id];
      if (!block) continue;
      let heading = this.headings.get(id);
      if (!heading) {
        heading = make("div", { class: "heading" }, make("div", { class: "name" }), make("div", { class: "shape" }));
        this.headings.set(id, heading);
        this.stage.append(heading);
      }
      const strip = grid.spec.strip;
      heading.classList.toggle("strip", Boolean(strip));
      heading.style.color = `var(--${grid.spec.concept})`;
      // Where the whole heading has no room, the name of the matrix is enough.
      const whole = grid.spec.heading;
      const room = Math.max(block.width, 74 * textSize()) + 24;
      setText(heading.children[0], strip || whole.length * 6.8 <= room ? whole : whole.split(" · ")[0]);
      setText(heading.children[1], grid.spec.shape_text);
      if (id === "zoom_b1") place(heading, { x: block.x - 62, y: block.y + 3, width: 60 });
      else if (strip) place(heading, { x: block.x, y: block.y - 18 * textSize(), width: this.laidWidth });
      else if (block.named === "beside") {
        heading.classList.add("beside");
        place(heading, { x: block.x - 136, y: block.y + block.height / 2 - 10 * textSize(), width: 130 });
      } else if (block.across) place(heading, { x: block.x, y: block.y - this.plan.header, width: block.width });
      else {
        const width = Math.max(block.width, 74 * textSize());
        place(heading, { x: block.x + (block.width - width) / 2, y: block.y - this.plan.header, width });
      }
    }
  }

  #captions() {
    const names = new Set();
    for (const caption of this.plan.captions) {
      names.add(caption.name);
      let element = this.captions.get(caption.name);
      if (!element) {
        element = make("div", { class: `caption ${caption.name}` });
        this.captions.set(caption.name, element);
        this.stage.append(element);
      }
      element.style.color = `var(--${caption.concept})`;
      setText(element, this.data.captions[caption.name]);
      place(element, caption);
    }
    for (const [name, element] of this.captions) element.hidden = !names.has(name);
  }

  #curve() {
    const block = this.plan?.blocks.curve;
    const { curve } = this.data;
    for (const [name, element] of this.captions) setText(element, this.data.captions[name]);
    if (!block || !curve) return;
    const { x, y, x_low, x_high, y_low, y_high, dot } = curve;
    const left = (value) => block.x + 3 + ((Math.max(x_low, Math.min(x_high, value)) - x_low) / (x_high - x_low)) * (block.width - 6);
    const top = (value) => block.y + block.height - 4 - ((Math.max(y_low, Math.min(y_high, value)) - y_low) / (y_high - y_low)) * (block.height - 8);
    const shapes = [
      draw("rect", { class: "paper", x: block.x, y: block.y, width: block.width, height: block.height, rx: 4 }),
      draw("line", { class: "axis", x1: left(x_low), x2: left(x_high), y1: top(0), y2: top(0) }),
      draw("line", { class: "axis", x1: left(0), x2: left(0), y1: top(y_low), y2: top(y_high) }),
      draw("polyline", { class: "line", points: x.map((value, i) => `${left(value)},${top(y[i])}`).join(" ") }),
    ];
    if (curve.other) shapes.push(draw("polyline", { class: "line other", points: x.map((value, i) => `${left(value)},${top(curve.other[i])}`).join(" ") }));
    if (dot) shapes.push(draw("circle", { class: "dot", cx: left(dot[0]), cy: top(dot[1]), r: 4.5 }));
    this.curveShape.replaceChildren(...shapes);
  }

  /** Behind each neuron's line its light: how hard it fires; on it its point on the curve and what it adds. */
  #lines() {
    const { lines, sum } = this.plan ?? {};
    const { contributions, curve } = this.data;
    if (!lines) return;
    const most = Math.max(...(contributions ?? []).map(Math.abs)) || 1;
    const inside = (value, low, high) => (Math.max(low, Math.min(high, value)) - low) / (high - low);
    const shapes = [];
    const light = (line, size, j) => {
      const top = line.y + j * line.step;
      const strength = Math.abs(size) / most;
      const colour = size < 0 ? this.paint.stops[0] : this.paint.stops.at(-1);
      shapes.push(draw("rect", { x: line.x, y: top, width: line.width, height: line.step - 1, rx: 4, fill: "var(--values)", opacity: (0.26 * strength).toFixed(3) }));
      if (curve && line.curveWidth > 0 && line.step >= 16) {
        const { x, y, x_low, x_high, y_low, y_high, heights } = curve;
        const left = (value) => line.curveX + inside(value, x_low, x_high) * line.curveWidth;
        const high = (value) => top + line.step - 3 - inside(value, y_low, y_high) * (line.step - 6);
        shapes.push(
          draw("line", { class: "axis", x1: left(x_low), x2: left(x_high), y1: high(0), y2: high(0) }),
          draw("polyline", { class: "line", points: x.map((value, i) => `${left(value).toFixed(1)},${high(y[i]).toFixed(1)}`).join(" ") }),
          draw("circle", { class: "dot", cx: left(this.grids.get("hidden").spec.values[j]), cy: high(heights[j]), r: Math.min(4.5, line.step / 5) }),
        );
      }
      if (line.barWidth > 0) {
        shapes.push(draw("rect", { x: line.barX, y: top + line.step * 0.22, width: Math.max(1, strength * line.barWidth), height: line.step * 0.56, rx: 2, fill: colour }));
      }
    };
    for (const line of lines) contributions?.forEach((size, j) => light(line, size, j));
    shapes.push(draw("line", { class: "sum", x1: sum.x, x2: sum.x + sum.width, y1: sum.y, y2: sum.y }));
    this.lineShape.setAttribute("class", "curve");
    this.lineShape.replaceChildren(...shapes);
  }

  /** The numbers of the neurons, beside the keys and under the values; a press follows that neuron. */
  #labels() {
    const { lines: count } = this.data.dims;
    const { neuronLabels, valueLabels } = this.plan;
    const { follows, line_labels: names, compact } = this.data;
    const followed = this.data[follows];
    const wanted = neuronLabels[0].step >= 13 && !compact ? count * neuronLabels.length : 0;
    while (this.neuronLabels.length < wanted) {
      const at = this.neuronLabels.length;
      const label = make("button", { class: "neuron-label", type: "button", onclick: () => this.#follow(at % this.data.dims.lines) });
      this.neuronLabels.push(label);
      this.stage.append(label);
    }
    this.neuronLabels.forEach((label, at) => {
      label.hidden = at >= wanted;
      if (label.hidden) return;
      const j = at % count;
      const part = Math.floor(at / count);
      const { x, y, width, step } = neuronLabels[part];
      const { name, note } = names?.[j] ?? {};
      place(label, { x, y: y + j * step, width, height: step });
      label.classList.toggle("named", Boolean(names));
      const roomy = names && width > 60;
      const shown = [roomy && name ? `${j} ${name}` : String(j), roomy ? note : ""];
      if (label.children.length !== 2) label.replaceChildren(make("span", {}), make("small", {}));
      shown.forEach((text, k) => setText(label.children[k], text));
      setAttribute(label, "aria-label", names ? `Choose expert ${j}${name ? ` (${name})` : ""}, ${note}` : `Follow neuron ${j}`);
      // Of several parts the first is enough for the keyboard and the screen reader.
      setAttribute(label, "aria-hidden", part ? "true" : null);
      label.tabIndex = part ? -1 : 0;
      setAttribute(label, "aria-pressed", String(followed === j));
    });
    const below = valueLabels.step >= 14 ? count : 0;
    while (this.valueLabels.length < below) {
      const label = make("div", { class: "value-label", "aria-hidden": "true" }, String(this.valueLabels.length));
      this.valueLabels.push(label);
      this.stage.append(label);
    }
    this.valueLabels.forEach((label, j) => {
      label.hidden = j >= below;
      if (j < below) place(label, { x: valueLabels.x + j * valueLabels.step, y: valueLabels.y, width: valueLabels.step, height: valueLabels.height });
      label.classList.toggle("chosen", this.data.neuron === j);
    });
  }

  #pick() {
    const neuron = Math.max(0, Math.min(Number(this.picker.max), Math.round(Number(this.picker.value) || 0)));
    this.picker.value = neuron;
    this.#see({ neuron });
  }

  #note() {
    const { zoom, dims, neuron } = this.data;
    this.note.hidden = !zoom;
    if (!zoom) return;
    this.picker.max = dims.lines - 1;
    if (this.stage.getRootNode().activeElement !== this.picker) this.picker.value = neuron ?? 0;
    setText(this.noteText, zoom.note);
  }

  // ------------------------------------------------------------------ highlights

  #highlight() {
    const { follows, step } = this.data;
    const target = this.looking ? sources(this.looking.array, this.looking.within) : [];
    const lit = (array, index) => target.some(([name, wanted]) => name === array && wanted.every((w, axis) => w === null || w === index[axis]));
    const inStep = step === null || step === undefined ? null : new Set(STEPS[step]);
    for (const [id, grid] of this.grids) {
      const array = grid.spec.array;
      grid.element.classList.toggle("aside", inStep !== null && !inStep.has(array));
      if (!grid.cells) continue;
      for (const cell of grid.cells) cell.classList.toggle("lit", target.length > 0 && lit(array, within(cell)));
    }
    this.#ring(this.data[follows]);
  }

  /** Frames around a neuron's keys, bias, hidden, activated and value, or around all that is an expert's. */
  #ring(neuron) {
    const value = this.data.drawn === "neurons" ? "row" : "column";
    const pieces = { w1: "row", w_gate: "row", w_up: "row", router: "row", b1: "row", w2: value, w_down: value };
    for (const id of FOLLOWED) pieces[id] = "row";
    for (const [id, kind] of Object.entries(pieces)) {
      const block = this.plan.blocks[id];
      let ring = this.rings.get(id);
      if (neuron === null || neuron === undefined || !block || !this.grids.has(id)) {
        if (ring) ring.hidden = true;
        continue;
      }
      if (!ring) {
        ring = make("div", { class: "ring" });
        this.rings.set(id, ring);
        this.stage.append(ring);
      }
      ring.hidden = false;
      const { lines: count } = this.data.dims;
      if (kind === "row") place(ring, { x: block.x - 2, y: block.y + (neuron / count) * block.height - 2, width: block.width + 4, height: Math.max(block.height / count, 2) + 4 });
      else place(ring, { x: block.x + (neuron / count) * block.width - 2, y: block.y - 2, width: Math.max(block.width / count, 2) + 4, height: block.height + 4 });
    }
  }

  // ------------------------------------------------------------------ the bar

  #bar(data) {
    this.#legend(data);
    const { compact, leads } = data;
    this.steps.hidden = compact || !leads;
    this.compare.hidden = compact || !data.compare_offer;
    this.positions.hidden = compact || !leads;
    if (compact) return;
    const labels = ["‹ Back", ...data.steps.map((step, k) => `${k + 1} ${step.name}`), "Next ›"];
    if (this.steps.children.length !== labels.length) {
      this.steps.replaceChildren(...labels.map((label, at) => make("button", { type: "button", class: at === 0 || at === labels.length - 1 ? "walk" : "step", tabindex: at === 1 ? "0" : "-1", onclick: () => this.#pressStep(at, labels.length) }, label)));
    }
    [...this.steps.children].forEach((button, at) => {
      if (button.className === "step") setAttribute(button, "aria-pressed", String(data.step === at - 1));
    });
    setText(this.compare, `${data.compare_offer} beside`);
    setAttribute(this.compare, "aria-label", `Show ${data.compare_offer} beside`);
    setAttribute(this.compare, "title", `What the same weights give under ${data.compare_offer}`);
    setAttribute(this.compare, "aria-pressed", String(Boolean(data.compare)));
    if (leads) this.#positionChips(data);
  }

  /** Which number has which colour: one scale for the weights, one for the numbers that flow. */
  #legend({ legend, fitted, log, leads }) {
    const signature = JSON.stringify([legend, fitted, this.paint.look]);
    if (signature === this.legendSignature) return;
    this.legendSignature = signature;
    const scale = (name, [low, high], stops = this.paint.stops) =>
      make("span", { class: "scale", title: "Blue is positive, orange negative. The scale stays while you edit; numbers beyond it have its full colour." },
        `${name} ${low}`, make("i", { style: `background: linear-gradient(to right, ${stops.join(", ")})` }), high);
    const fit = log && leads && make("button", { type: "button", "aria-pressed": String(fitted), "aria-label": "Fit colours", title: "Set the colour scales by the numbers as they are now, or back to those of the starting point", onclick: () => push({ kind: "fit", on: !fitted }) }, "fit");
    const focused = this.legend.contains(this.stage.getRootNode().activeElement);
    this.legend.replaceChildren(...[scale("weights", legend.weight), scale("others", legend.signal), legend.share && scale("shares", legend.share, this.paint.stops.slice(2)), fit].filter(Boolean));
    if (focused) this.legend.lastElementChild.focus();
  }

  #pressStep(at, length) {
    const { step, steps } = this.data;
    if (at === 0) this.#toStep(step === null ? steps.length - 1 : step - 1);
    else if (at === length - 1) this.#toStep(step === null ? 0 : step + 1);
    else this.#toStep(step === at - 1 ? null : at - 1);
  }

  #toStep(step) {
    const next = step === null || step < 0 || step >= this.data.steps.length ? null : step;
    this.#see({ step: next }); // shown at once; Python hears of it for the link
    this.#bar(this.data);
    this.#highlight();
    this.#panel();
    this.live.textContent = next === null ? "All steps" : this.data.steps[next].sentence;
  }

  #stepKey(event) {
    const buttons = [...this.steps.children];
    const at = buttons.indexOf(event.target);
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!move || at < 0) return;
    event.preventDefault();
    const { step, steps } = this.data;
    if (step === null) this.#toStep(move > 0 ? 0 : steps.length - 1);
    else this.#toStep(step + move);
    const focus = this.data.step === null ? buttons[1] : buttons[this.data.step + 1];
    buttons.forEach((button) => (button.tabIndex = button === focus ? 0 : -1));
    focus.focus();
  }

  #toggleCompare() {
    push({ kind: "view", compare: !this.data.compare });
  }

  #positionChips({ positions, position, can_add: canAdd, log }) {
    const { activeElement } = this.stage.getRootNode();
    if (this.renaming && this.positions.contains(activeElement)) return;
    const choose = make("select", { "aria-label": "Position", onchange: () => push({ kind: "view", position: Number(choose.value) }) },
      ...positions.map((word, p) => make("option", { value: p, selected: p === position }, `${p}: ${word}`)));
    const chips = positions.length > MOST_CHIPS ? [choose] : positions.map((word, p) =>
      make("button", { type: "button", class: "chip", "aria-pressed": String(p === position), "aria-label": `Position ${p}: ${word}`, title: p === position ? "Press again to rename" : "", onclick: () => (p === this.data.position ? this.#rename(p) : push({ kind: "view", position: p })) }, word));
    const tools = log ? [
      make("button", { type: "button", class: "chip tool", "aria-label": "Add a position", title: "Add a position", onclick: () => push({ kind: "insert", at: position + 1 }) }, "+"),
      make("button", { type: "button", class: "chip tool", "aria-label": `Remove position ${position}`, title: "Remove this position", onclick: () => push({ kind: "remove", at: position }) }, "−"),
    ] : [];
    if (log) {
      tools[0].disabled = !canAdd;
      tools[1].disabled = positions.length < 2;
    }
    const signature = JSON.stringify([positions, position, canAdd]);
    if (signature === this.chipSignature) return;
    const focused = [...this.positions.children].indexOf(activeElement);
    this.chipSignature = signature;
    this.positions.replaceChildren(make("span", { class: "chips-name" }, "position"), ...chips, ...tools);
    if (focused >= 0) this.positions.children[Math.min(focused, this.positions.children.length - 1)].focus();
  }

  #rename(p) {
    const chip = this.positions.children[p + 1];
    const input = make("input", { class: "rename", type: "text", maxlength: "24", "aria-label": `Word of position ${p}` });
    input.value = this.data.positions[p];
    this.renaming = true;
    const end = (take) => {
      if (!this.renaming) return;
      this.renaming = false;
      this.chipSignature = null;
      const word = input.value.trim();
      if (take && word && word !== this.data.positions[p]) push({ kind: "rename", at: p, word });
      this.#positionChips(this.data);
      this.positions.children[p + 1]?.focus();
    };
    input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.preventDefault(); // else Enter would press the chip that gets the focus
      end(event.key === "Enter");
    });
    input.addEventListener("blur", () => end(true));
    chip.replaceWith(input);
    input.select();
  }

  /** All positions as slim columns beside x, the large one marked; a press makes another one large. */
  #slim() {
    const block = this.plan?.blocks.slim;
    const { slim, position, positions } = this.data;
    if (!block || !block.width || !slim) {
      this.slimShape?.replaceChildren();
      return;
    }
    const columns = slim.map((values, p) =>
      draw("g", { class: p === position ? "slim current" : "slim", onclick: () => push({ kind: "view", position: p }) },
        draw("title", {}, positions[p]),
        ...values.map((value, i) => draw("rect", {
          x: block.x + p * block.cellWidth, y: block.y + (i / values.length) * block.height,
          width: Math.max(block.cellWidth - 2, 2), height: block.height / values.length,
          fill: divergingColour(value, this.paint.spans.signal, this.paint.stops),
        })),
        draw("rect", { class: "outline", x: block.x + p * block.cellWidth - 1, y: block.y - 1, width: Math.max(block.cellWidth, 4), height: block.height + 2 })));
    this.slimShape.replaceChildren(...columns);
  }

  // ------------------------------------------------------------------ the panel

  #panel() {
    const { panel, steps, step, compact } = this.data;
    this.panel.hidden = compact;
    this.panel.classList.toggle("tall", this.data.arrays.some(({ array }) => array === "w_up")); // two keys, two sums
    if (compact) return;
    const children = [];
    if (step !== null && step !== undefined) {
      children.push(make("p", { class: "sentence" }, make("b", {}, `${step + 1} ${steps[step].name}. `), steps[step].sentence));
    }
    // How to begin is no news to who walks through the steps.
    const begins = panel.idle && !children.length;
    this.panel.classList.toggle("idle", begins);
    if (begins || !panel.idle) children.push(make("p", { class: "panel-title" }, panel.title), ...panel.lines.map(({ concept, text }) => make("p", { class: "formula", style: `color: var(--${concept})` }, text)));
    if (panel.remark && (begins || !panel.idle)) children.push(make("p", { class: "remark" }, panel.remark));
    const signature = JSON.stringify([step, steps[step]?.sentence, panel]);
    if (signature === this.panelSignature) return;
    this.panelSignature = signature;
    this.panel.replaceChildren(...children);
  }

  say(text, cell = null) {
    this.live.textContent = text;
    this.toast?.remove();
    this.toast = make("div", { class: "message floating", role: "alert" }, text);
    this.stage.append(this.toast);
    const place_ = cell ? { x: Math.max(0, Math.min(cell.grid.element.offsetLeft + cell.offsetLeft, this.stage.clientWidth - 260)), y: cell.grid.element.offsetTop + cell.offsetTop + cell.offsetHeight + 4 } : { x: 8, y: 8 };
    place(this.toast, place_);
    cell?.classList.add("refused");
    const toast = this.toast;
    setTimeout(() => {
      toast.remove();
      cell?.classList.remove("refused");
    }, 6000);
  }

  // ------------------------------------------------------------------ what the editor asks and does

  spanOf(cell) {
    return this.data.spans[cell.grid.spec.span];
  }

  change(cell, value, gesture) {
    const index = cell.grid.indexOf(cell);
    const { array } = cell.grid.spec;
    if (value === cell.grid.valueOf(cell)) return;
    const event = { kind: "edit", array, index, value };
    if (gesture) event.gesture = gesture;
    const seq = push(event);
    this.overrides.set(keyOf(array, index), { seq, value });
    for (const grid of this.grids.values()) {
      if (grid.spec.array !== array || !grid.cells) continue;
      for (const other of grid.cells) if (grid.keyOf(other) === keyOf(array, index)) grid.repaintCell(other);
    }
  }

  paste(cell, text) {
    push({ kind: "paste", array: cell.grid.spec.array, index: cell.grid.indexOf(cell), text: text.slice(0, 1_000_001) });
  }

  act(kind) {
    push({ kind });
  }

  /** The cell so many rows and columns on, in the same array. */
  step(cell, rows, columns) {
    const { grid } = cell;
    const { spec } = grid;
    // A vector answers both pairs of arrows, however it lies.
    const along = spec.columns === 1 || spec.rows === 1;
    if (along) return grid.cells[cell.at + rows + columns];
    const row = grid.rowOf(cell) + rows;
    const column = grid.columnOf(cell) + columns;
    return row < 0 || column < 0 || row >= spec.rows || column >= spec.columns ? undefined : grid.at(row, column);
  }

  /** The next editable cell: on in the array, then in the next array. */
  following(cell, direction) {
    const within_ = cell.grid.cells[cell.at + direction];
    if (within_) return within_;
    const order = this.data.arrays.map((spec) => this.grids.get(spec.id)).filter((grid) => grid.cells && grid.spec.editable);
    const next = order[order.indexOf(cell.grid) + direction];
    return next && next.cells[direction > 0 ? 0 : next.cells.length - 1];
  }

  /** A cell whose neuron is to be followed (pressed again, no longer); null lets go. */
  choose(cell) {
    if (!cell) {
      if (this.data.follows === "neuron" && this.data.neuron !== null) this.#follow(this.data.neuron);
      return;
    }
    if (FOLLOWED.has(cell.grid.spec.array)) this.#follow(within(cell)[0]);
  }

  #follow(j) {
    const { follows } = this.data;
    const next = follows === "neuron" && this.data.neuron === j ? null : j; // an expert is always chosen
    this.#see({ [follows]: next });
    this.#ring(next);
    this.#labels();
  }

  /** Change the view here and in Python. */
  #see(fields) {
    Object.assign(this.data, fields);
    push({ kind: "view", ...fields });
  }

  /** Mark what was chosen elsewhere on the page. */
  #heard(choice) {
    const { follows, [follows]: before } = this.data ?? {};
    const next = choice[follows];
    if (!this.plan || next === undefined || next === before) return;
    this.data[follows] = next;
    this.#ring(next);
    this.#labels();
  }

  // ------------------------------------------------------------------ looking at a number

  #hover(event) {
    const cell = event.target.closest?.(".cell");
    if (cell) this.look(cell);
  }

  #hoverHeat(event) {
    const { heat } = event.target;
    if (!heat) return;
    const { array, block } = heat.blockAt(event.clientX, event.clientY);
    const key = `${array}:${block}`;
    if (key === this.lookKey) return;
    this.lookKey = key;
    this.looking = null;
    this.#ask({ kind: "look", array, block });
  }

  look(cell) {
    // When the pointer leaves, what has the focus is explained again.
    const target = cell ?? this.editor.cell ?? this.stage.getRootNode().activeElement?.closest?.(".cell") ?? null;
    const key = target ? target.grid.keyOf(target) : null;
    if (key === this.lookKey) return;
    this.lookKey = key;
    this.looking = target ? { array: target.grid.spec.array, index: target.grid.indexOf(target), within: within(target) } : null;
    this.#highlight();
    this.#ask({ kind: "look", array: this.looking?.array ?? null, index: this.looking?.index });
  }

  #ask(event) {
    if (!this.data.log) return;
    clearTimeout(this.lookTimer);
    this.lookTimer = setTimeout(() => push(event), LOOK_DELAY_MS);
  }
}

const boards = new WeakMap();

export default function render({ data, parentElement, key }) {
  let board = boards.get(parentElement);
  if (!board) {
    board = new Board(parentElement, key);
    boards.set(parentElement, board);
  }
  board.update(data.board);
  return () => {
    boards.get(parentElement)?.destroy();
    boards.delete(parentElement);
  };
}
