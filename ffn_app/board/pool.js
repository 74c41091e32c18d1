// Pooling by the entry of greatest magnitude; the twin of ffn_core/pooling.py.

const edges = (n, blocks) => Array.from({ length: blocks + 1 }, (_, b) => Math.floor((b * n) / blocks));

/**
 * Shrink a row-major matrix to at most rows × columns blocks, each keeping its entry of greatest
 * magnitude with its sign (the first of equals, row by row).
 * Returns {rows, columns, values, index, rowEdges, columnEdges}; index holds flat positions in the input.
 */
export function pool(values, nRows, nColumns, rows, columns) {
  const r = Math.min(rows, nRows);
  const c = Math.min(columns, nColumns);
  const rowEdges = edges(nRows, r);
  const columnEdges = edges(nColumns, c);
  const pooled = new Array(r * c);
  const index = new Array(r * c);
  for (let i = 0; i < r; i++) {
    for (let j = 0; j < c; j++) {
      let best = rowEdges[i] * nColumns + columnEdges[j];
      for (let row = rowEdges[i]; row < rowEdges[i + 1]; row++) {
        for (let at = row * nColumns + columnEdges[j]; at < row * nColumns + columnEdges[j + 1]; at++) {
          if (Number.isNaN(values[best])) break;
          if (Number.isNaN(values[at]) || Math.abs(values[at]) > Math.abs(values[best])) best = at;
        }
      }
      pooled[i * c + j] = values[best];
      index[i * c + j] = best;
    }
  }
  return { rows: r, columns: c, values: pooled, index, rowEdges, columnEdges };
}
