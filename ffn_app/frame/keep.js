// What is too long for a link is kept in this tab, so that a reload or a server restart still finds it.
// The link then holds only a name (kept=...); Python asks for the contents when it does not know them.

const STORE = "hourglass-kept";
const SETTLED_MS = 700;
let timer = 0;
let offered = null;

function kept(name) {
  try {
    const stored = JSON.parse(sessionStorage.getItem(STORE));
    return stored && stored.name === name ? stored.text : null;
  } catch {
    return null;
  }
}

/** Answer what Python wants, store what it gives, and ask for it once edits have settled. */
export function keep({ keep: wish }, push) {
  clearTimeout(timer);
  if (!wish) return;
  if (wish.wants && offered !== wish.wants) {
    offered = wish.wants;
    push({ kind: "kept", name: wish.wants, text: kept(wish.wants) });
  } else if (wish.text) {
    try {
      sessionStorage.setItem(STORE, JSON.stringify({ name: wish.name, text: wish.text }));
    } catch {
      // Full or refused: the file is the way to keep it.
    }
  } else if (wish.name && kept(wish.name) === null) {
    timer = setTimeout(() => push({ kind: "keep" }), SETTLED_MS);
  }
}
