// The text size for a projector: kept in this browser, shared by the frame and the board.

const STORE = "hourglass-text-size";
export const SIZES = [1, 1.2, 1.45];
const listeners = new Set();

function stored() {
  try {
    const size = Number(localStorage.getItem(STORE));
    return SIZES.includes(size) ? size : 1;
  } catch {
    return 1;
  }
}

let current = stored();

export const textSize = () => current;

export function setTextSize(size) {
  current = size;
  try {
    localStorage.setItem(STORE, String(size));
  } catch {
    // Refused: it holds for this page.
  }
  for (const listener of listeners) listener();
}

export function onTextSize(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
