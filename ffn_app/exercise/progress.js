// What this browser keeps of the exercises: which are passed, and what was typed. It holds no names, and is sent nowhere.

const STORE = "hourglass-exercises";
const MOST_CLASSES = 30; // of one exercise; what was typed for those before them is forgotten
const listeners = new Set();

function stored() {
  try {
    const found = JSON.parse(localStorage.getItem(STORE));
    if (found?.version === 1 && found.exercises && typeof found.exercises === "object") return found;
  } catch {
    // None yet, refused, or not ours: begin anew.
  }
  return { exercises: {} };
}

/** All that is kept: {exercise: {passed, attempts, seed, date, solution, typed}}; `typed` as [class number, text] pairs for numbers. */
export const kept = () => stored().exercises;

export const keptOf = (name) => {
  const exercises = kept();
  return Object.hasOwn(exercises, name) && typeof exercises[name] === "object" ? exercises[name] : {};
};

let refused = false;

/** Whether this browser keeps nothing (a private window may refuse, or be full). */
export const isRefused = () => refused;

function write(exercises, forgotten) {
  try {
    localStorage.setItem(STORE, JSON.stringify({ version: 1, exercises, forgotten }));
    refused = false;
  } catch {
    refused = true;
  }
  for (const listener of listeners) listener();
}

export function keep(name, changes) {
  write({ ...kept(), [name]: { ...keptOf(name), ...changes } }, stored().forgotten);
}

/** Forget all marks and answers, also that of the network that is open, until it is another one. */
export const forgetAll = (network) => write({}, network);

/** Whether the mark of the network that is open was deleted. Another network ends that: what follows counts again. */
export function isForgotten(network) {
  const { exercises, forgotten } = stored();
  if (forgotten === undefined || forgotten === network) return forgotten === network;
  write(exercises);
  return false;
}

const pairs = (name) => {
  const { typed } = keptOf(name);
  return Array.isArray(typed) ? typed.filter(Array.isArray) : [];
};

/** What was typed for a class number, "" if nothing was. */
export const typedFor = (name, seed) => String(pairs(name).find(([known]) => known === seed)?.[1] ?? "");

export function keepTyped(name, seed, text) {
  const others = pairs(name).filter(([known]) => known !== seed);
  keep(name, { typed: [...others.slice(1 - MOST_CLASSES), [seed, text]] });
}

/** Note a try: what was handed in, and whether it was right. What is passed stays passed, with the solution. */
export function keepTry(name, { passed, seed, answer }) {
  const before = keptOf(name);
  const now = { attempts: (before.attempts ?? 0) + 1, seed, date: new Date().toISOString() };
  if (passed) keep(name, { ...now, passed: true, solution: answer });
  else keep(name, before.passed ? { attempts: now.attempts } : now);
}

/** The text of the file for a teacher, in the exercises' own order. */
export function asFile(exercises, seed) {
  const rows = exercises.map(({ name, title }) => {
    const { passed = false, attempts = 0, seed: tried = null, date = null, typed = null, solution = null } = keptOf(name);
    const last = Array.isArray(typed) ? typedFor(name, tried) || null : typed;
    return { exercise: name, title, passed, attempts, class_number: tried, date, answer: solution ?? last };
  });
  return JSON.stringify({ what: "Hourglass exercises", version: 1, saved: new Date().toISOString(), class_number: seed, exercises: rows }, null, 2);
}

/** Hear of every change, also of one in another tab. Returns the function that ends it. */
export function onProgress(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

window.addEventListener("storage", (event) => {
  if (event.key === STORE || event.key === null) for (const listener of listeners) listener();
});
