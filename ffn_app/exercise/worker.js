// The student's Python, in a worker of its own: one for each run, so that nothing is left over from the last.
//
// The server sends this file with a policy of its own (security.py, WORKER_POLICY): text that the page hands over
// may become code here, as Brython needs it, and nothing can be loaded or asked from anywhere. What a worker can
// reach without the network, such as stored databases, is taken away before any student's code runs.

const MOST_OUTPUT = 20_000; // characters
const LONGEST = 10_000_000; // entries of a list
const DEEPEST = 300; // calls within calls; a browser's own stack ends at some 400 to 900
const MOST_CALLS = 12; // that a traceback shows
const FLUSH_MS = 50;
const MAIN = "__main__";

// What stays: the language itself, and what Brython needs. Everything else that a worker is given goes.
const LANGUAGE =
  "Object Function Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol Date Promise RegExp Error AggregateError EvalError RangeError " +
  "ReferenceError SyntaxError TypeError URIError globalThis JSON Math Intl ArrayBuffer Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array " +
  "BigUint64Array BigInt64Array Uint8ClampedArray Float32Array Float64Array DataView Map BigInt Set Iterator WeakMap WeakSet Proxy Reflect FinalizationRegistry " +
  "WeakRef decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape eval isFinite isNaN constructor";
const NEEDED = "console self location performance crypto setTimeout clearTimeout setInterval clearInterval queueMicrotask structuredClone TextEncoder TextDecoder URL Event CustomEvent DedicatedWorkerGlobalScope";
const ONLY_TO_LOAD = ["navigator", "WorkerNavigator", "WorkerGlobalScope", "importScripts"]; // how Brython sees that it is in a worker
const KEPT = new Set([...LANGUAGE.split(" "), ...NEEDED.split(" "), ...ONLY_TO_LOAD]);

const send = self.postMessage.bind(self);
let python = null;
let marking = null;
let fromJson = null; // as Python reads it: 1.0 stays a float, which JavaScript would make 1

function takeAway(isKept) {
  for (let owner = self; owner && owner !== Object.prototype; owner = Object.getPrototypeOf(owner)) {
    for (const name of Object.getOwnPropertyNames(owner)) if (!isKept(name)) delete owner[name];
  }
}

/** What Brython asks for modules and files that are not there: it answers that they are not there. */
class NoSuchFile {
  open() {}
  abort() {}
  overrideMimeType() {}
  send() {
    this.readyState = 4;
    this.status = 404;
    this.onreadystatechange?.();
  }
}

function load({ library, parts }) {
  takeAway((name) => KEPT.has(name));
  self.XMLHttpRequest = NoSuchFile;
  python = self.__BRYTHON__ = self.$B = {}; // under the names by which it finds itself
  (0, eval)(library);
  takeAway((name) => !ONLY_TO_LOAD.includes(name));
  for (const name of ["log", "info", "debug", "warn", "error"]) console[name] = () => {}; // Brython's own notes
  python.loadBrythonPackage(parts.modules);
  python.brython({ debug: 1 });
  python.show_error = () => {}; // the page shows it
  const { builtins } = python;
  self.prompt = () => python.RAISE(builtins.EOFError, "there is no input() here: everything is in the arguments");
  console.printed = print;
  stream = python.$io.$factory("printed");
  for (const name of ["stdout", "stderr"]) python.module_setattr(python.imported._sys, name, stream);
  python.max_array_size = LONGEST;
  python.recursion_limit = DEEPEST;
  const { set_exc: raise } = python;
  python.set_exc = (error, frame) => raise(asRecursion(error), frame);
  const { $list: asList } = python;
  python.$list = (entries) => {
    if (entries?.length > LONGEST) python.RAISE(builtins.MemoryError, "a list of more than 10 million entries");
    return asList(entries);
  };
  fromJson = python.module_getattr(python.importModule("_json"), "loads");
  marking = python.runPythonSource(parts.marking, "marking");
}

// ---------------------------------------------------------------- limits

let stream = null;
let room = MOST_OUTPUT;
let waiting = "";
let sentAt = -Infinity;

/** Take what the code prints, as much of it as there is room for; the page gets it in a few pieces. */
function print(text) {
  if (room === 0) return;
  waiting += text.slice(0, room);
  room -= Math.min(room, text.length);
  if (room === 0 || performance.now() - sentAt > FLUSH_MS) flush();
}

function flush() {
  if (waiting) send({ kind: "output", text: waiting, cut: room === 0 });
  waiting = "";
  sentAt = performance.now();
}

// ---------------------------------------------------------------- running

let lines = []; // of the student's code

/** Where the browser's own stack ends before DEEPEST calls, that is what Python calls it. */
function asRecursion(error) {
  if (error.ob_type === undefined && /call stack size|too much recursion/.test(error.message)) {
    error.ob_type = python.builtins.RecursionError;
    error.args = python.builtins.tuple.$factory(["maximum recursion depth exceeded"]);
  }
  return error;
}

/** A frame of a traceback under the student's line. Brython may show the expression that was worked out before. */
function ownFrame(frame) {
  const [head, ...shown] = frame.trimEnd().split("\n");
  const line = lines[Number(head.match(/line (\d+)/)?.[1]) - 1]?.trim();
  const own = head.replace(/^ {2}File "[^"]*"/, '  File "your code"');
  const rest = shown.filter((each) => !each.startsWith("   "));
  const right = !line || shown.some((each) => each.trim() === line);
  return `${[own, ...(right ? shown : [`    ${line}`, ...rest])].join("\n")}\n`;
}

/** A traceback without what is not the student's own: the files of the marking and of this worker. */
function traceback(error) {
  const text = python.error_trace(python.exception(error));
  const [head, ...frames] = text.split(/^(?= {2}File ")/m);
  const last = frames.length - 1;
  const own = frames.map((frame, i) => {
    if (frame.includes(`#${MAIN}"`)) return ownFrame(frame);
    return i === last ? frame.split("\n").slice(1).filter((line) => line && !line.startsWith("   ")).join("\n") : "";
  });
  const calls = own.filter(Boolean);
  const left = calls.length - MOST_CALLS;
  if (left > 0) calls.splice(MOST_CALLS / 2, left, `  ... ${left} more calls ...\n`);
  return (head + calls.join("")).trim();
}

/** The line of the student's code that an error came from, null if it is not known. */
function lineOf(trace) {
  const lines = [...trace.matchAll(/File "your code", line (\d+)/g)];
  return lines.length ? Number(lines.at(-1)[1]) : null;
}

const call = (name, ...args) => python.$call(python.module_getattr(marking, name), ...args);

/** What Python raises for a slip that was found in the code (slips.js). */
function slipError({ error, text, line }) {
  const { builtins } = python;
  const shown = lines[line - 1];
  const place = [`#${MAIN}`, line, shown.length - shown.trimStart().length + 1, shown];
  return python.$call(builtins[error], text, builtins.tuple.$factory(place));
}

/** The module that the code makes. Of what cannot be read, a slip says more than Brython where that says little. */
function read(code, slip) {
  if (slip?.error === "TabError") throw slipError(slip); // Brython reads that, otherwise than Python
  try {
    return python.runPythonSource(code, MAIN);
  } catch (thrown) {
    const error = python.exception(thrown);
    const vague = python.is_exc(error, [python.builtins.IndentationError]) || (python.is_exc(error, [python.builtins.SyntaxError]) && error.msg === "invalid syntax");
    throw slip && vague ? slipError(slip) : error;
  }
}

/** `said` is a sentence about the error, null if there is none. */
function run({ code, sheet, slip }) {
  let error = null;
  let said = null;
  let main = null;
  lines = code.split("\n");
  try {
    main = read(code, slip);
  } catch (thrown) {
    error = traceback(thrown);
    said = call("raised", thrown);
  }
  let verdict = null;
  if (sheet !== null) {
    const given = python.$call(fromJson, sheet);
    if (error === null) {
      const name = python.$getitem(given, "function");
      const solution = python.module_getattr(main, name, python.builtins.None);
      verdict = call("mark", solution, given, traceback);
    } else verdict = call("refusal", "error", said, given, error);
    verdict = python.pyobj2structuredclone(verdict);
    error = verdict.traceback;
  }
  return { verdict, error, said, line: error === null ? null : lineOf(error) };
}

const JOBS = {
  load: (message) => {
    load(message);
    return { kind: "ready" };
  },
  run: (message) => {
    const result = run(message);
    python.$io.tp_funcs.flush(stream); // what was written without an end of line
    flush();
    return { kind: "done", ...result };
  },
  number: ({ task, text }) => ({ kind: "done", verdict: python.pyobj2structuredclone(call("mark_number", python.$call(fromJson, task), text)) }),
};

self.onmessage = ({ data }) => send(JOBS[data.kind](data));
