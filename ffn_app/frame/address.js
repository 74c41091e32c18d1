// The address bar holds the link to what is on the page. Entries of the history are replaced, not added:
// Back leaves the page, undo takes back an edit.

const MOST = 60; // Safari refuses more than 100 in 30 seconds
const WINDOW_MS = 30_000;
let times = [];
let waiting = null;
let timer = 0;

function write() {
  clearTimeout(timer);
  if (waiting === null) return;
  const query = waiting;
  waiting = null;
  const address = window.location.pathname + (query ? `?${query}` : "") + window.location.hash;
  if (address === window.location.pathname + window.location.search + window.location.hash) return;
  times.push(Date.now());
  window.history.replaceState(window.history.state, "", address);
}

export function setAddress(query) {
  waiting = query;
  times = times.filter((time) => time > Date.now() - WINDOW_MS);
  clearTimeout(timer);
  if (times.length < MOST) write();
  else timer = setTimeout(write, 1000);
}

window.addEventListener("pagehide", write);
