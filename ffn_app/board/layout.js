// Where everything on the board stands: a pure function from sizes to rectangles.
//
// Wide: the hourglass from left to right. Row j of W1 is level with hidden_j, row i of W2 with output_i.
// Narrow (a phone held upright): x as a row over the keys that it meets, one line a neuron, and below it
// W2 with the output, one line a coordinate.

const HEADER = 38; // name and shape above a block
const CAPTION = 22; // operation below a block
const TALLEST = 60;
const EDGE = 16; // beside the last column, whose name is wider than it

const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
const whole = (size) => (size >= 8 ? Math.floor(size) : size);

function block(x, y, rows, columns, cellWidth, cellHeight, more = {}) {
  return { x, y, rows, columns, cellWidth, cellHeight, width: columns * cellWidth, height: rows * cellHeight, ...more };
}

/**
 * @param size {width, height} room in pixels (height is what fits without scrolling)
 * @param dims {dModel, dFf, positions, compare, text} text is the text-size factor
 * @returns {blocks: {name: block}, bands: [...], captions: [...], height, header}
 */
export function layout(size, dims) {
  if (dims.drawn === "neurons") return lines(size, dims);
  return size.width < 640 ? narrow(size, dims) : wide(size, dims);
}

function wide({ width, height }, { dModel, dFf, positions, compare, text }) {
  const header = HEADER * text;
  const caption = CAPTION * text;
  const room = Math.max(180, height - HEADER - 2 * CAPTION);
  const big = Math.max(dModel, dFf);
  const small = Math.min(dModel, dFf);
  // A larger text makes the rows higher, and the page longer: the width is what it is.
  const bigRow = whole(Math.min(room / big, TALLEST) * text);
  // The waist is narrower than the bulge, yet as easy to read as the room allows.
  const smallRow = whole(clamp((room * 0.62 * text) / small, bigRow, Math.min(TALLEST * text, (bigRow * big) / small)));
  const ffRow = dFf >= dModel ? bigRow : smallRow;
  const modelRow = dFf >= dModel ? smallRow : bigRow;
  const bulge = Math.max(dFf * ffRow, dModel * modelRow);
  const middle = header + bulge / 2;
  const ffTop = middle - (dFf * ffRow) / 2;
  const modelTop = middle - (dModel * modelRow) / 2;

  const vector = clamp(width * 0.0455, 56, 92) * Math.sqrt(text);
  const second = compare ? vector + 6 : 0;
  const slim = positions > 1 ? clamp(84 / positions, 5, 13) : 0;
  const slimWidth = positions > 1 ? positions * slim + 10 : 0;
  const labels = 24 * text;
  const gap = clamp(width * 0.018, 10, 26);
  const curve = clamp(width * 0.055, 46, 76);
  const plus = 34 * Math.sqrt(text);
  // What is left after the columns of fixed width is shared by all columns of weights.
  const fixed = slimWidth + labels + 5 * vector + 2 * second + 4 * gap + curve + plus + 4 * 6;
  const shared = width - fixed - EDGE;
  const narrowest = 34; // of a bias, whose column is never pooled away
  const equal = shared / (dModel + dFf + 2);
  const cell = whole(clamp(equal >= narrowest ? equal : (shared - 2 * narrowest) / (dModel + dFf), 0.2, vector));
  const bias = Math.max(cell, narrowest);
  const spare = shared - cell * (dModel + dFf) - 2 * bias;
  const stretch = clamp(spare / 6, 0, 60);

  let x = clamp(spare / 8, 3, 12);
  const at = (advance) => {
    const here = x;
    x += advance;
    return here;
  };
  const blocks = {};
  blocks.slim = block(at(slimWidth), modelTop, dModel, positions, slim, modelRow);
  blocks.x = block(at(vector + gap + stretch), modelTop, dModel, 1, vector, modelRow);
  const labelX = at(labels);
  blocks.w1 = block(at(dModel * cell + 6), ffTop, dFf, dModel, cell, ffRow);
  blocks.b1 = block(at(bias + gap + stretch), ffTop, dFf, 1, bias, ffRow);
  blocks.hidden = block(at(vector + 6), ffTop, dFf, 1, vector, ffRow);
  blocks.curve = { x: at(curve + stretch), y: middle - Math.min(curve, bulge) / 2 - 4, width: curve + stretch - 6, height: Math.min(curve + 8, bulge + 8) };
  blocks.activated = block(at(vector), ffTop, dFf, 1, vector, ffRow);
  if (compare) blocks.activated_other = block((x += 6, at(vector)), ffTop, dFf, 1, vector, ffRow);
  x += gap + stretch;
  blocks.w2 = block(at(dFf * cell + 6), modelTop, dModel, dFf, cell, modelRow);
  blocks.b2 = block(at(bias + gap + stretch), modelTop, dModel, 1, bias, modelRow);
  blocks.output = block(at(vector), modelTop, dModel, 1, vector, modelRow);
  if (compare) blocks.output_other = block((x += 6, at(vector)), modelTop, dModel, 1, vector, modelRow);
  const plusX = at(plus);
  blocks.residual = block(at(vector), modelTop, dModel, 1, vector, modelRow);

  const end = (b) => b.x + b.width;
  const span = (b) => [b.y, b.y + b.height];
  const lastActivated = blocks.activated_other ?? blocks.activated;
  const captions = [
    { name: "expand", concept: "keys", x: blocks.w1.x - labels, y: ffTop + dFf * ffRow + 4, width: blocks.hidden.x - blocks.w1.x + labels },
    { name: "activate", concept: "activated", x: blocks.curve.x - 24, y: blocks.curve.y - 20 * text, width: blocks.curve.width + 48 },
    { name: "contract", concept: "values", x: blocks.w2.x - 4, y: modelTop + dModel * modelRow + 18 * text, width: Math.max(blocks.output.x - blocks.w2.x, 120) },
    { name: "add", concept: "input", x: plusX, y: middle - 12 * text, width: plus },
  ];
  return {
    wide: true,
    header,
    blocks,
    bands: [
      { concept: "keys", from: end(blocks.x), fromSpan: span(blocks.x), to: blocks.hidden.x, toSpan: span(blocks.hidden) },
      { concept: "activated", from: end(blocks.hidden), fromSpan: span(blocks.hidden), to: blocks.activated.x, toSpan: span(blocks.activated) },
      { concept: "values", from: end(lastActivated), fromSpan: span(lastActivated), to: blocks.output.x, toSpan: span(blocks.output) },
    ],
    captions,
    neuronLabels: { x: labelX, y: ffTop, width: labels - 4, step: ffRow },
    valueLabels: { x: blocks.w2.x, y: modelTop + dModel * modelRow + 2, step: cell, height: 16 * text },
    height: Math.max(header + bulge, ...captions.map(({ y }) => y + caption)) + 4,
  };
}

/** Neuron by neuron: a line each, its key under x on the left, its value and what it adds on the right. */
function lines({ width, height }, { dModel, dFf, compare, text }) {
  const header = HEADER * text;
  const roomy = width >= 640;
  const tall = clamp((height - 2 * HEADER) / (dFf + 5), 26, 36) * text;
  const row = clamp((height - 2 * HEADER - (compare ? 5 : 4) * (tall / text + 3) - 24) / dFf, 16, 44) * text;
  const labels = 24 * text;
  const vector = roomy ? 62 * Math.sqrt(text) : 46;
  const second = compare ? vector + 4 : 0;
  const bias = roomy ? 40 : 30;
  const curve = roomy ? 96 : 0;
  const bars = roomy ? clamp(width * 0.13, 90, 190) : 0;
  const gap = roomy ? clamp(width * 0.02, 12, 30) : 4;
  const fixed = labels + bias + 2 * vector + second + curve + bars + 4 * gap + EDGE;
  const cell = whole(clamp((width - fixed) / (2 * dModel), 5, 62 * text));
  const xTop = header;
  const top = xTop + tall + header + 4;
  const bottom = top + dFf * row;
  const blocks = {};
  let x = labels;
  const at = (advance) => {
    const here = x;
    x += advance;
    return here;
  };
  const keys = at(dModel * cell + 4);
  blocks.x = block(keys, xTop, 1, dModel, cell, tall, { across: true });
  blocks.w1 = block(keys, top, dFf, dModel, cell, row);
  blocks.b1 = block(at(bias + gap), top, dFf, 1, bias, row);
  blocks.hidden = block(at(vector + 4), top, dFf, 1, vector, row);
  const curveX = at(curve + 4);
  blocks.activated = block(at(vector + 4), top, dFf, 1, vector, row);
  if (compare) blocks.activated_other = block(at(vector + 4), top, dFf, 1, vector, row);
  x += gap;
  const values = at(dModel * cell + gap);
  blocks.w2 = block(values, top, dFf, dModel, cell, row);
  const foot = bottom + 10;
  blocks.b2 = block(values, foot, 1, dModel, cell, tall, { named: "beside" });
  blocks.output = block(values, foot + tall + 3, 1, dModel, cell, tall, { named: "beside" });
  let last = foot + 2 * tall + 6;
  if (compare) {
    blocks.output_other = block(values, last - 3, 1, dModel, cell, tall, { named: "beside" });
    last += tall + 3;
  }
  blocks.residual = block(values, last, 1, dModel, cell, tall, { named: "beside" });
  return {
    wide: roomy,
    header,
    blocks,
    bands: [],
    captions: [
      ...(roomy
        ? [
            { name: "match", concept: "keys", x: blocks.b1.x + 4, y: xTop + tall / 2 - 8 * text, width: 220 * text },
            { name: "value", concept: "values", x: values, y: top - header - 20 * text, width: 360 * text },
            { name: "contribution", concept: "output", x, y: top - header * 0.6, width: bars },
          ]
        : []),
    ],
    lines: { x: 0, y: top, width: width - EDGE / 2, step: row, curveX, curveWidth: curve - 8, barX: x, barWidth: bars },
    sum: { x: values, y: bottom + 5, width: dModel * cell },
    neuronLabels: { x: 0, y: top, width: labels - 4, step: row },
    valueLabels: { x: 0, y: 0, step: 0, height: 0 },
    height: last + tall + 6,
  };
}

function narrow({ width }, { dModel, dFf, compare, text }) {
  const header = HEADER * text;
  const caption = CAPTION * text;
  const labels = 22 * text;
  const many = 1 + (compare ? 1 : 0);
  const row = dFf > 64 ? 300 / dFf : dFf > 32 ? 16 : 36;
  const row2 = dModel > 64 ? 200 / dModel : 36;
  const bias1 = 36;
  const vector1 = 58;
  const cell1 = whole(clamp((width - labels - 12 - bias1 - vector1 * (1 + many)) / dModel, 0.2, 48));
  const blocks = {};
  const x0 = labels;
  blocks.x = block(x0, header, 1, dModel, cell1, 36, { across: true });
  const top = header + 36 + header + 4;
  blocks.w1 = block(x0, top, dFf, dModel, cell1, row);
  blocks.b1 = block(x0 + dModel * cell1 + 3, top, dFf, 1, bias1, row);
  let x = blocks.b1.x + bias1 + 3;
  blocks.hidden = block(x, top, dFf, 1, vector1 - 2, row);
  blocks.activated = block((x += vector1 + 1), top, dFf, 1, vector1 - 2, row);
  if (compare) blocks.activated_other = block((x += vector1 + 1), top, dFf, 1, vector1 - 2, row);
  const below = top + dFf * row + caption + header + 6;
  const bias = 34;
  const vector2 = 50;
  const cell2 = whole(clamp((width - 12 - bias - vector2 * (1 + many)) / dFf, 0.2, 44));
  blocks.w2 = block(0, below, dModel, dFf, cell2, row2);
  blocks.b2 = block(dFf * cell2 + 3, below, dModel, 1, bias, row2);
  x = blocks.b2.x + bias + 3;
  blocks.output = block(x, below, dModel, 1, vector2 - 2, row2);
  if (compare) blocks.output_other = block((x += vector2), below, dModel, 1, vector2 - 2, row2);
  blocks.residual = block((x += vector2), below, dModel, 1, vector2 - 2, row2);
  const foot = below + dModel * row2;
  return {
    wide: false,
    header,
    blocks,
    bands: [],
    captions: [
      { name: "expand", concept: "keys", x: 0, y: top + dFf * row + 2, width },
      { name: "contract", concept: "values", x: 0, y: foot + 18 * text, width },
    ],
    neuronLabels: { x: 0, y: top, width: labels - 4, step: row },
    valueLabels: { x: 0, y: foot + 2, step: cell2, height: 16 * text },
    height: foot + 20 * text + caption,
  };
}
