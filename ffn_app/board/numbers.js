// Reading and writing single numbers; the twin of ffn_core/matrix_text.py (a browser test compares
// the two on the same cases). Whole matrices are read by Python.

const MINUS = /[\u2212\u2012\u2013\ufe63\uff0d]/g;
const NUMBER = /^[+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?$/;
export const MAX_MAGNITUDE = 1e30;
const MAX_LENGTH = 40;

/** A typed number as {value}, or {problem} in words when it is none. */
export function parseNumber(text) {
  const trimmed = String(text).trim();
  if (trimmed === "") return { problem: "The cell is empty; type a number, or Escape to keep the old one." };
  if (trimmed.length > MAX_LENGTH) return { problem: `A number has at most ${MAX_LENGTH} characters.` };
  const plain = trimmed.replace(MINUS, "-");
  if (!NUMBER.test(plain)) return { problem: `“${trimmed.slice(0, 20)}” is not a number; write it like −0.5, .07, 1e-3 or 1,5.` };
  const value = Number(plain.replace(",", "."));
  if (!Number.isFinite(value) || Math.abs(value) > MAX_MAGNITUDE) {
    return { problem: `“${trimmed.slice(0, 20)}” is too large; at most 1e30 either way.` };
  }
  return { value: value + 0 };
}

const withMinus = (text) => text.replace(/-/g, "\u2212");

/** Three significant digits, for a cell, or fewer; whole numbers of four digits keep all four. */
export function shortNumber(value, digits = 3) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "\u2212inf";
  const size = Math.abs(value);
  if (size === 0) return "0";
  const text = size >= 999.5 && size < 9999.5 ? value.toFixed(0) : size < 1e-4 ? value.toExponential(digits - 1) : value.toPrecision(digits);
  const [mantissa, exponent] = text.split("e");
  const trimmed = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
  return withMinus(exponent === undefined ? trimmed : `${trimmed}e${Number(exponent)}`);
}

/** Every digit of a number: the shortest text that reads back as the same number. */
export const fullNumber = (value) => withMinus(String(value));
