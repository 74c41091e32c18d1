// What this browser keeps of the exercises: which are passed, and what was typed. It holds no names, and is sent nowhere.

const STORE = "hourglass-exercises";
const listeners = new Set();

/** All that is kept: {exercise: {passed, attempts, seed, date, solution, typed, typed_for}}. */
export function kept() {
  try {
    const stored = JSON.parse(localStorage.getItem(STORE));
    if (stored?.version === 1 && stored.exercises && typeof stored.exercises === "object") return stored.exercises;
  } catch {
    // None yet, refused, or not ours: begin anew.
  }
  return {};
}

export const keptOf = (name) => {
  const exercises = kept();
  return Object.hasOwn(exercises, name) && typeof exercises[name] === "object" ? exercises[name] : {};
};

let refused = false;

/** Whether this browser keeps nothing (a private window may refuse, or be full). */
export const isRefused = () => refused;

function write(exercises) {
  try {
    if (exercises === null) localStorage.removeItem(STORE);
    else localStorage.setItem(STORE, JSON.stringify({ version: 1, exercises }));
    refused = false;
  } catch {
    refused = true;
  }
  for (const listener of listeners) listener();
}

export function keep(name, changes) {
  write({ ...kept(), [name]: { ...keptOf(name), ...changes } });
}

export const forgetAll = () => write(null);

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
    return { exercise: name, title, passed, attempts, class_number: tried, date, answer: solution ?? typed };
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
