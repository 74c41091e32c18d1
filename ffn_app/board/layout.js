// Where everything on the board stands: a pure function from sizes to rectangles.
//
// Wide: the hourglass from left to right. Row j of W1 is level with hidden_j, row i of W2 with output_i.
// Narrow (a phone held upright): x as a row over the keys that it meets, one line a neuron, and below it
// W2 with the output, one line a coordinate.
// Lines: one for each neuron, or for each expert, from left to right or, where there is no room, in stripes one below
// the other.
//
// The tables say what each drawing holds, for each kind of network; the functions draw any of them.

const HEADER = 38; // name and shape above a block
const CAPTION = 22; // operation below a block
const TALLEST = 60;
const EDGE = 16; // beside the last column, whose name is wider than it
const PAD = 6;
const LEAST_CELL = 10; // lines with cells narrower than this are broken into stripes
const FOOT_NAMES = 84; // room for the names of the rows at the foot, and for those of the lines
const LINE_NAMES = 98;

/** What an array has along its rows, and along its columns: `model` or `ff`; a bias is a narrow column. */
const SHAPES = {
  x: { rows: "model" },
  w1: { rows: "ff", across: "model" }, w_gate: { rows: "ff", across: "model" }, w_up: { rows: "ff", across: "model" },
  router: { rows: "ff", across: "model" }, output_of_expert: { rows: "ff", across: "model" },
  w2: { rows: "model", across: "ff" }, w_down: { rows: "model", across: "ff" },
  b1: { rows: "ff", bias: true }, b2: { rows: "model", bias: true },
  hidden: { rows: "ff" }, up: { rows: "ff" }, activated: { rows: "ff" }, activated_other: { rows: "ff" },
  router_logits: { rows: "ff" }, router_probs: { rows: "ff" }, weight_of_expert: { rows: "ff" },
  output: { rows: "model" }, output_other: { rows: "model" }, residual: { rows: "model" },
};

/** From left to right. */
const HOURGLASS = {
  dense: "x gap labels w1 pad b1 gap hidden pad curve activated activated_other gap w2 pad b2 gap output output_other plus residual".split(" "),
  gated: "x gap labels w_gate gap hidden pad curve w_up gap up gap activated activated_other gap w_down pad gap output output_other plus residual".split(" "),
};

/** On a phone: parts one below the other, a line a neuron in each; and below them the values, a line a coordinate. */
const NARROW = {
  dense: { parts: [["w1", "b1", "hidden", "activated", "activated_other"]], values: ["w2", "b2", "output", "output_other", "residual"] },
  gated: { parts: [["w_gate", "hidden"], ["w_up", "up", "activated", "activated_other"]], values: ["w_down", "output", "output_other", "residual"] },
};

/**
 * Groups of columns with a gap after each, the values last; `stripes` are those that stay side by side where there is
 * little room. `over` is drawn over a matrix that it meets, `foot` under the values; captions stand beside what they name.
 * `slender`: three matrices take most of the width.
 */
const LINES = {
  dense: {
    groups: [["w1", "b1"], ["hidden", "curve", "activated", "activated_other"], ["w2"]],
    stripes: [[0, 1, 2]],
    over: { w1: "x" },
    foot: ["b2", "output", "output_other", "residual"],
    captions: { match: "b1" },
  },
  gated: {
    groups: [["w_gate", "hidden", "curve"], ["w_up", "up"], ["activated", "activated_other"], ["w_down"]],
    stripes: [[0], [1, 2], [3]],
    over: { w_gate: "x", w_up: "x_again" },
    foot: ["output", "output_other", "residual"],
    captions: { match: "hidden", match_up: "up" },
    slender: true,
  },
  experts: {
    groups: [["router", "router_logits", "router_probs", "weight_of_expert"], ["output_of_expert"]],
    stripes: [[0], [1]],
    over: { router: "x" },
    foot: ["output", "residual"],
    captions: { match: "router_logits" },
  },
};

const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
const whole = (size) => (size >= 8 ? Math.floor(size) : size);
const count = (list, what) => list.filter(what).length;

function block(x, y, rows, columns, cellWidth, cellHeight, more = {}) {
  return { x, y, rows, columns, cellWidth, cellHeight, width: columns * cellWidth, height: rows * cellHeight, ...more };
}

/**
 * @param size {width, height} room in pixels (height is what fits without scrolling)
 * @param dims {drawn, columns, dModel, dFf, positions, compare, residual, names, text}: columns is the kind of network,
 *   dFf the number of lines, names the letters of the longest name of a line, text the text-size factor
 * @returns {blocks: {name: block}, bands: [...], captions: [...], height, header}
 */
export function layout(size, dims) {
  const drawn = (id) => (dims.compare || !id.endsWith("_other")) && (dims.residual || (id !== "plus" && id !== "residual"));
  if (dims.drawn !== "hourglass") return lines(size, dims, drawn);
  return size.width < 640 ? narrow(size, dims, drawn) : wide(size, dims, drawn);
}

function wide({ width, height }, { columns, dModel, dFf, positions, text }, drawn) {
  const ids = HOURGLASS[columns].filter(drawn);
  const header = HEADER * text;
  const caption = CAPTION * text;
  const room = Math.max(180, height - HEADER - 2 * CAPTION);
  const big = Math.max(dModel, dFf);
  const small = Math.min(dModel, dFf);
  // A larger text makes the rows higher, and the page longer: the width is what it is.
  const bigRow = whole(Math.min(room / big, TALLEST) * text);
  // The waist is narrower than the bulge, yet as easy to read as the room allows.
  const smallRow = whole(clamp((room * 0.62 * text) / small, bigRow, Math.min(TALLEST * text, (bigRow * big) / small)));
  const rowOf = dFf >= dModel ? { ff: bigRow, model: smallRow } : { ff: smallRow, model: bigRow };
  const n = { ff: dFf, model: dModel };
  const bulge = Math.max(dFf * rowOf.ff, dModel * rowOf.model);
  const middle = header + bulge / 2;
  const topOf = { ff: middle - (dFf * rowOf.ff) / 2, model: middle - (dModel * rowOf.model) / 2 };
  const foot = { ff: topOf.ff + dFf * rowOf.ff, model: topOf.model + dModel * rowOf.model };

  const vector = clamp(width * 0.0455, 56, 92) * Math.sqrt(text);
  const slim = positions > 1 ? clamp(84 / positions, 5, 13) : 0;
  const slimWidth = positions > 1 ? positions * slim + 10 : 0;
  const labels = 24 * text;
  const gap = clamp(width * 0.018, 10, 26);
  const curve = clamp(width * 0.055, 46, 76);
  const plus = 34 * Math.sqrt(text);
  // What is left after the columns of fixed width is shared by all columns of weights.
  const shapes = ids.filter((id) => id in SHAPES).map((id) => SHAPES[id]);
  const gaps = count(ids, (id) => id === "gap");
  const biases = count(shapes, ({ bias }) => bias);
  const vectors = count(shapes, ({ across, bias }) => !across && !bias);
  const others = count(ids, (id) => id.endsWith("_other"));
  const cells = shapes.reduce((sum, { across }) => sum + (across ? n[across] : 0), 0);
  const fixed = slimWidth + labels + vectors * vector + gaps * gap + curve + (ids.includes("plus") ? plus : 0) + (count(ids, (id) => id === "pad") + 1 + others) * PAD;
  const shared = width - fixed - EDGE;
  const narrowest = 34; // of a bias, whose column is never pooled away
  const equal = shared / (cells + biases);
  const cell = whole(clamp(equal >= narrowest ? equal : (shared - biases * narrowest) / cells, 0.2, vector));
  const bias = Math.max(cell, narrowest);
  const spare = shared - cell * cells - biases * bias;
  const stretch = clamp(spare / (gaps + 2), 0, 60);

  let x = clamp(spare / 8, 3, 12);
  const at = (advance) => {
    const here = x;
    x += advance;
    return here;
  };
  const blocks = {};
  blocks.slim = block(at(slimWidth), topOf.model, dModel, positions, slim, rowOf.model);
  let labelX = 0;
  let plusX = 0;
  for (const id of ids) {
    if (id === "gap") at(gap + stretch);
    else if (id === "pad") at(PAD);
    else if (id === "labels") labelX = at(labels);
    else if (id === "plus") plusX = at(plus);
    else if (id === "curve") {
      blocks.curve = { x: at(curve + stretch), y: middle - Math.min(curve, bulge) / 2 - 4, width: curve + stretch - 6, height: Math.min(curve + 8, bulge + 8) };
    } else {
      const { rows, across, bias: isBias } = SHAPES[id];
      if (id.endsWith("_other")) at(PAD);
      const cellWidth = across ? cell : isBias ? bias : vector;
      const columnsOf = across ? n[across] : 1;
      blocks[id] = block(at(columnsOf * cellWidth), topOf[rows], n[rows], columnsOf, cellWidth, rowOf[rows]);
    }
  }

  const end = (b) => b.x + b.width;
  const span = (b) => [b.y, b.y + b.height];
  const band = (concept, from, to) => ({ concept, from: end(from), fromSpan: span(from), to: to.x, toSpan: span(to) });
  const keys = blocks.w1 ?? blocks.w_gate;
  const values = blocks.w2 ?? blocks.w_down;
  const captions = [
    { name: "expand", concept: "keys", x: keys.x - labels, y: foot.ff + 4, width: (blocks.w_up ?? blocks.hidden).x - keys.x + labels },
    { name: "activate", concept: "activated", x: blocks.curve.x - 24, y: blocks.curve.y - 20 * text, width: blocks.curve.width + 48 },
    { name: "contract", concept: "values", x: values.x - 4, y: foot.model + 18 * text, width: Math.max(blocks.output.x - values.x, 120) },
  ];
  const bands = [band("keys", blocks.x, blocks.hidden)];
  if (blocks.w_up) {
    captions.push({ name: "expand_up", concept: "keys", x: blocks.w_up.x, y: foot.ff + 4, width: end(blocks.up) - blocks.w_up.x });
    captions.push({ name: "meet", concept: "activated", x: blocks.activated.x - 30, y: foot.ff + 4, width: blocks.activated.width + 60 });
    bands.push({ ...band("keys", blocks.w_up, blocks.up), from: blocks.w_up.x });
    bands.push(band("activated", blocks.hidden, blocks.w_up));
  }
  bands.push(band("activated", blocks.up ?? blocks.hidden, blocks.activated));
  bands.push(band("values", blocks.activated_other ?? blocks.activated, blocks.output));
  if (blocks.residual) captions.push({ name: "add", concept: "input", x: plusX, y: middle - 12 * text, width: plus });
  return {
    wide: true,
    header,
    blocks,
    bands,
    captions,
    neuronLabels: [{ x: labelX, y: topOf.ff, width: labels - 4, step: rowOf.ff }],
    valueLabels: { x: values.x, y: foot.model + 2, step: cell, height: 16 * text },
    height: Math.max(header + bulge, ...captions.map(({ y }) => y + caption)) + 4,
  };
}

/** A line each: its keys under x on the left, its value and what it adds on the right. */
function lines({ width, height }, { columns, dModel, dFf, names, text }, drawn) {
  const { groups: all, stripes, over, foot: below, captions, slender } = LINES[columns];
  const groups = all.map((group) => group.filter(drawn));
  const foot = below.filter(drawn);
  const header = HEADER * text;
  const roomy = width >= 640;
  const tall = clamp((height - 2 * HEADER) / (dFf + 5), 26, 36) * text;
  const leastRow = names === null ? 16 : 34; // a name has a second line below it
  const row = clamp((height - 2 * HEADER - (foot.length + 1) * (tall / text + 3) - 24) / dFf, leastRow, 44) * text;
  const gap = roomy ? clamp(width * 0.02, 12, 30) : 4;
  const bars = roomy ? clamp(width * (slender ? 0.08 : 0.13), 90, 190) : 0;
  const fixedWidths = { vector: roomy ? (slender ? 56 : 62) * Math.sqrt(text) : 46, bias: roomy ? 40 : 30, curve: roomy ? (slender ? 72 : 96) : 0 };
  const kindOf = (id) => (id === "curve" ? "curve" : SHAPES[id].bias ? "bias" : id in over || SHAPES[id].across ? "matrix" : "vector");
  const padAfter = (id) => (kindOf(id) === "bias" || (kindOf(id) === "matrix" && !(id in over)) ? 0 : 4);
  const plainLabels = (names === null ? 24 : roomy ? clamp(names * 7.5 + 22, 96, 190) : 24) * text;

  const cellOf = (stripe, labels, bars_) => {
    const ids = stripe.flat();
    const others = count(ids, (id) => id.endsWith("_other"));
    const fixed = ids.reduce((sum, id) => sum + (fixedWidths[kindOf(id)] ?? 0), 0) + 4 * others;
    const matrices = count(ids, (id) => kindOf(id) === "matrix");
    return whole(clamp((width - labels - fixed - bars_ - (stripe.length + 1) * gap - EDGE) / (matrices * dModel), 5, 62 * text));
  };
  const aside = roomy && cellOf(groups, plainLabels, bars) >= LEAST_CELL;
  const parts = aside ? [groups] : stripes.map((places) => places.map((at) => groups[at]));

  const plan = { wide: roomy, header, blocks: {}, bands: [], captions: [], neuronLabels: [], lines: [], valueLabels: { x: 0, y: 0, step: 0, height: 0 } };
  const { blocks } = plan;
  let y = 0;
  parts.forEach((stripe, part) => {
    const last = part === parts.length - 1;
    const ids = stripe.flat();
    const meets = ids.some((id) => id in over);
    const xTop = y + header;
    const top = meets ? xTop + tall + header + 4 : xTop;
    const labels = last && part > 0 ? Math.max(plainLabels, (names === null ? FOOT_NAMES : LINE_NAMES) * text) : plainLabels;
    const barWidth = last ? bars : 0;
    const cell = cellOf(stripe, labels, barWidth);
    const line = { x: 0, y: top, width: width - EDGE / 2, step: row, curveWidth: 0, barWidth };
    let x = labels;
    for (const group of stripe) {
      for (const id of group) {
        const kind = kindOf(id);
        if (kind === "curve") [line.curveX, line.curveWidth] = [x, fixedWidths.curve - 8];
        else if (kind === "matrix") {
          blocks[id] = block(x, top, dFf, dModel, cell, row);
          if (id in over) blocks[over[id]] = block(x, xTop, 1, dModel, cell, tall, { across: true });
        } else blocks[id] = block(x, top, dFf, 1, fixedWidths[kind], row);
        x += (kind === "matrix" ? dModel * cell : fixedWidths[kind]) + padAfter(id);
      }
      x += gap;
    }
    line.barX = x;
    plan.lines.push(line);
    plan.neuronLabels.push({ x: 0, y: top, width: labels - 4, step: row });
    y = top + dFf * row;
    if (roomy) {
      for (const [name, id] of Object.entries(captions)) {
        if (ids.includes(id)) plan.captions.push({ name, concept: "keys", x: blocks[id].x + 4, y: xTop + tall / 2 - 8 * text, width: 220 * text });
      }
    }
    if (!last) y += CAPTION;
  });
  const values = blocks[groups.at(-1)[0]];
  const barLine = plan.lines.at(-1);
  if (roomy) {
    plan.captions.push(
      { name: "value", concept: "values", x: values.x, y: values.y - header - 20 * text, width: 360 * text },
      { name: "contribution", concept: "output", x: barLine.barX, y: values.y - header * 0.6, width: bars },
    );
  }
  plan.sum = { x: values.x, y: y + 5, width: values.width };
  y += 10;
  for (const id of foot) {
    const close = id.endsWith("_other") ? 3 : 0; // to what it is beside
    blocks[id] = block(values.x, y - close, 1, dModel, values.cellWidth, tall, { named: "beside" });
    y += tall + 3;
  }
  plan.height = y + 3;
  return plan;
}

function narrow({ width }, { columns, dModel, dFf, text }, drawn) {
  const { parts, values } = NARROW[columns];
  const header = HEADER * text;
  const caption = CAPTION * text;
  const labels = 22 * text;
  const row = dFf > 64 ? 300 / dFf : dFf > 32 ? 16 : 36;
  const row2 = dModel > 64 ? 200 / dModel : 36;
  const blocks = {};
  const captions = [];
  const neuronLabels = [];
  const isBias = (id) => SHAPES[id].bias;

  /** A matrix and beside it its bias and vectors. */
  const side = (ids, x, y, { rows, across, height, bias, vector, step, widest }) => {
    const [matrix, ...rest] = ids.filter(drawn);
    const fixed = rest.reduce((sum, id) => sum + (isBias(id) ? bias : vector), 0);
    const cell = whole(clamp((width - x - 12 - fixed) / across, 0.2, widest));
    blocks[matrix] = block(x, y, rows, across, cell, height);
    let at = x + across * cell + 3;
    for (const id of rest) {
      const own = isBias(id) ? bias : vector - 2;
      blocks[id] = block(at, y, rows, 1, own, height);
      at += isBias(id) ? bias + 3 : step;
    }
    return cell;
  };

  let top = header + 36 + header + 4;
  parts.forEach((part, at) => {
    const cell = side(part, labels, top, { rows: dFf, across: dModel, height: row, bias: 36, vector: 58, step: 59, widest: 48 });
    if (at === 0) blocks.x = block(labels, header, 1, dModel, cell, 36, { across: true });
    neuronLabels.push({ x: 0, y: top, width: labels - 4, step: row });
    captions.push({ name: at === 0 ? "expand" : "expand_up", concept: "keys", x: 0, y: top + dFf * row + 2, width });
    top += dFf * row + caption + header + 6;
  });
  const cell = side(values, 0, top, { rows: dModel, across: dFf, height: row2, bias: 34, vector: 50, step: 50, widest: 44 });
  const foot = top + dModel * row2;
  captions.push({ name: "contract", concept: "values", x: 0, y: foot + 18 * text, width });
  return {
    wide: false,
    header,
    blocks,
    bands: [],
    captions,
    neuronLabels,
    valueLabels: { x: 0, y: foot + 2, step: cell, height: 16 * text },
    height: foot + 20 * text + caption,
  };
}
