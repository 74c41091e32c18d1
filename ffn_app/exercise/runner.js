// Runs Python in a worker, and stops it. The page stays usable meanwhile, and the server is asked nothing.
//
// Each run has a worker of its own, so that it starts clean and gives all its memory back; the next one is made
// ready at once. After the page has loaded, all that a new worker needs is here or in the browser's cache.

export const LIMIT_MS = 5000;
const FIRST_LOAD_MS = 60_000;

const loaded = new Map();

/** A file's contents, asked for once a page. */
function once(address, read) {
  if (!loaded.has(address)) {
    const asked = fetch(new URL(address, window.location.origin)).then((response) => {
      if (!response.ok) throw new Error(`could not load ${address}: ${response.status}`);
      return read(response);
    });
    asked.catch(() => loaded.delete(address)); // so that the next try asks again
    loaded.set(address, asked);
  }
  return loaded.get(address);
}

/** A worker that has loaded its Python. */
async function worker(addresses) {
  const [library, parts] = await Promise.all([once(addresses.library, (file) => file.text()), once(addresses.parts, (file) => file.json())]);
  const made = new Worker(new URL(addresses.worker, window.location.origin));
  return new Promise((resolve, reject) => {
    const fail = (reason) => {
      made.terminate();
      reject(new Error(reason));
    };
    const timer = setTimeout(() => fail("Python took too long to start"), FIRST_LOAD_MS);
    made.onerror = (event) => {
      clearTimeout(timer);
      fail(event.message || "Python could not be started");
    };
    made.onmessage = () => {
      clearTimeout(timer);
      resolve(made);
    };
    made.postMessage({ kind: "load", library, parts });
  });
}

export class Runner {
  /** `onReady` is called once there is a Python: from then on no network is needed. */
  constructor(addresses, onReady) {
    this.addresses = addresses;
    this.next = null;
    this.stop = () => {};
    this.prepare();
    this.next.then(onReady, () => {});
  }

  prepare() {
    this.next ??= worker(this.addresses);
    this.next.catch(() => {
      this.next = null; // the next run tries again, and says what is wrong
    });
  }

  /** Do a job in a worker; resolves to its result, or to {stopped: "time" | "asked"}. */
  async run(job, onOutput = () => {}) {
    this.prepare();
    const ready = this.next;
    const python = await ready;
    this.next = null;
    try {
      return await new Promise((resolve, reject) => {
        const timer = setTimeout(() => resolve({ stopped: "time" }), LIMIT_MS);
        this.stop = () => {
          clearTimeout(timer);
          resolve({ stopped: "asked" });
        };
        python.onerror = (event) => reject(new Error(event.message));
        python.onmessage = ({ data }) => {
          if (data.kind === "output") return onOutput(data);
          clearTimeout(timer);
          return resolve(data);
        };
        python.postMessage(job);
      });
    } finally {
      this.stop = () => {};
      python.terminate();
      this.prepare();
    }
  }

  destroy() {
    this.next?.then((python) => python.terminate(), () => {});
    this.next = null;
    this.stop();
  }
}
