// The ordered log of what a person did, on its way from this tab to Python.
//
// Every action is an event with a number. Events stay in the log, and in sessionStorage, until Python
// says that it has applied them, so a slow server, a dropped connection, a page change or a reload
// loses none; Python skips numbers it has seen, so none is applied twice. One message is under way at a
// time: what is typed meanwhile goes with the next. Modules are loaded once a page, so the board and
// the frame share this log, and their actions keep their order.
//
// A reload opens the address of the moment in which it began. What Python applied while the old page was still there is
// not in that address, and no longer in the log: so what was applied last is stored for a while, too.

const STORE = "hourglass-log";
const RESEND_AFTER_MS = 2000;
const LEAVING_MS = 10_000;
const RECENT_MS = 10_000;
const CHOICE = new Set(["kind", "family", "position", "neuron", "expert"]);
const LATEST_ONLY = new Set(["look", "view"]);

const newClient = () => Array.from(crypto.getRandomValues(new Uint8Array(9)), (b) => b.toString(36)).join("");

function restored() {
  try {
    const stored = JSON.parse(sessionStorage.getItem(STORE));
    if (stored && Array.isArray(stored.log) && Array.isArray(stored.recent)) return stored;
  } catch {
    // No storage (a private window may refuse it), or not ours: begin anew.
  }
  return null;
}

const state = {
  client: newClient(),
  seq: 0,
  log: [],
  recent: [], // what was applied last, each with the token of the scenario before: { from, events, at }
  token: null, // the scenario, as Python names it, that the log follows
  family: null, // the family of scenarios that the open page shows: an event is meant for its own
  send: null,
  sendViews: null,
  busy: false,
  timer: 0,
  leaving: 0,
  fromStore: restored(),
};

function persist() {
  try {
    state.recent = state.recent.filter(({ at }) => at > Date.now() - RECENT_MS);
    if (!state.log.length && !state.recent.length) sessionStorage.removeItem(STORE);
    else sessionStorage.setItem(STORE, JSON.stringify({ token: state.token, log: state.log.map((e) => e.event), recent: state.recent }));
  } catch {
    // Full or refused: the log still lives in this page.
  }
}

function flush() {
  if (!state.send || state.busy || state.leaving || !state.log.length) return;
  state.busy = true;
  for (const entry of state.log) entry.sent = true;
  clearTimeout(state.timer);
  // Should no answer come, send all again; Python skips what it has seen.
  state.timer = setTimeout(() => {
    state.busy = false;
    flush();
  }, RESEND_AFTER_MS);
  // What only chooses a neuron or a position may go to a part of the page that is drawn again by itself, before the rest.
  const choices = state.log.every(({ event }) => event.kind === "view" && Object.keys(event).every((field) => CHOICE.has(field)));
  const send = (choices && state.sendViews) || state.send;
  send({
    client: state.client,
    token: state.token,
    events: state.log.map((entry) => ({ ...entry.event, seq: entry.seq })),
  });
}

// Whatever is sent between the press on a page's link and the new page would ask for the old page again, and the
// press would be lost. So the log waits for the new page's frame, or a while, should none come.

let path = window.location.pathname; // of the page that is open

function leaveFor(pathname) {
  if (pathname === path) return;
  clearTimeout(state.leaving);
  state.leaving = setTimeout(arrive, LEAVING_MS);
}

/** A page's frame is there: what waited may be sent. */
export function arrive() {
  clearTimeout(state.leaving);
  state.leaving = 0;
  path = window.location.pathname;
  flush();
}

document.addEventListener(
  "click",
  (event) => {
    const link = event.composedPath().find((element) => element.matches?.('a[data-testid$="NavLink"]'));
    const opensElsewhere = event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0;
    if (link && !opensElsewhere) leaveFor(new URL(link.href).pathname);
  },
  true,
);
window.addEventListener("popstate", () => leaveFor(window.location.pathname));

/** Add an event; returns its number. A nudge or drag (same gesture) replaces its own unsent event. */
export function push(done) {
  const event = { ...done, family: state.family };
  const last = state.log[state.log.length - 1];
  const replaces =
    last && !last.sent && last.event.kind === event.kind && last.event.family === event.family &&
    (LATEST_ONLY.has(event.kind) || (event.gesture !== undefined && last.event.gesture === event.gesture));
  if (replaces) {
    last.event = event.kind === "view" ? { ...last.event, ...event } : event;
  } else {
    state.seq += 1;
    state.log.push({ seq: state.seq, event, sent: false });
  }
  persist();
  flush();
  if (event.kind === "view") announce({});
  return state.seq;
}

// What marks the neuron or position that is followed moves at once; what Python computes of it comes later.

const watchers = new Set();

/** Call `watcher` with each choice as soon as the browser knows of it; returns a function that ends that. */
export function watchChoices(watcher) {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

/** Tell all of a choice that came from Python, before what a person has chosen since. */
export function announce(choice) {
  for (const watcher of watchers) watcher({ ...choice, ...chosenSince() });
}

/** The fields of the view that a person has chosen for this page's scenario, and Python has not yet applied. */
export function chosenSince() {
  const views = state.log.filter(({ event }) => event.kind === "view" && event.family === state.family);
  return Object.assign({}, ...views.map(({ event }) => event));
}

/** What the page before this one had still to send when it went, for a page that begins with the scenario `token`. */
function unfinished(token) {
  const { token: last, log, recent } = state.fromStore;
  if (last === token) return log;
  if (performance.getEntriesByType("navigation")[0]?.type !== "reload") return [];
  const first = recent.findIndex(({ from, at }) => from === token && at > Date.now() - RECENT_MS);
  return first < 0 ? [] : [...recent.slice(first).flatMap(({ events }) => events), ...log];
}

/** Called with each message from Python: which client it knows, and the last number it applied. */
export function receive({ client, applied, token, family }) {
  const before = state.token;
  state.token = token;
  state.family = family;
  if (before === null && state.fromStore) {
    // What a reload caught under way, if this is still the scenario that it was meant for.
    for (const event of unfinished(token)) {
      state.seq += 1;
      state.log.unshift({ seq: state.seq, event, sent: false });
    }
    state.log.sort((a, b) => a.seq - b.seq);
    state.fromStore = null;
  }
  if (client === state.client) {
    const events = state.log.filter((entry) => entry.seq <= applied).map((entry) => entry.event);
    if (events.length) state.recent.push({ from: before, events, at: Date.now() });
    state.log = state.log.filter((entry) => entry.seq > applied);
    if (!state.log.some((entry) => entry.sent)) state.busy = false;
  } else {
    // A new server session, that took the scenario from the address: give it the rest.
    for (const entry of state.log) entry.sent = false;
    state.busy = false;
  }
  if (!state.busy) clearTimeout(state.timer);
  persist();
  flush();
}

/** Take the function that sends a component state to Python. */
export function connect(send) {
  state.send = send;
  flush();
}

/** Take the function of a part of the page to which the choice of a neuron or position is sent, or null when it goes. */
export function connectViews(send) {
  state.sendViews = send;
}

/** Whether anything waits to be applied. */
export const pending = () => state.log.length > 0;
