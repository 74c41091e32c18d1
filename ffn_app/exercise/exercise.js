// The place to work on one exercise: code in an editor, a number, or the verdict on the network above.

import { isDark } from "../board/colours.js";
import { make, setText, stylesheet } from "../board/dom.js";
import { push } from "../board/queue.js";
import { onTextSize, textSize } from "../board/text_size.js";
import { Editor } from "./editor.js";
import { isForgotten, keep, keepTry, keepTyped, keptOf, onProgress, typedFor } from "./progress.js";
import { Runner } from "./runner.js";
import { slipOf, writtenLine } from "./slips.js";
import { VerdictView } from "./verdict.js";

const sheet = await stylesheet(new URL("./exercise.css", import.meta.url));

const button = (text, onclick, more = {}) => make("button", { type: "button", onclick, ...more }, text);

/** What stands in the place of a verdict where a run had none. */
const stoppedText = { time: "Your code was stopped after 5 seconds. Look for a loop that never ends.", asked: "Stopped." };

class Work {
  constructor(root, data) {
    root.adoptedStyleSheets = [sheet];
    this.data = data;
    this.verdict = new VerdictView();
    this.element = make("section", { class: "work", "aria-label": data.title });
    root.append(this.element);
    this.stops = [onTextSize(() => this.#look())];
    this.#look();
  }

  destroy() {
    for (const stop of this.stops) stop();
    this.element.remove();
  }

  update(data) {
    this.data = data;
    this.#look();
  }

  #look() {
    this.element.classList.toggle("dark", isDark(this.element));
    this.element.style.setProperty("--text", textSize());
  }

  /** Show a verdict, and note it among the marks. */
  judge(verdict, answer, ...more) {
    const { name, seed, next } = this.data;
    keepTry(name, { passed: verdict.passed, seed, answer });
    this.verdict.show(verdict, ...more, verdict.passed && next && button(`Next: ${next.title}`, () => push({ kind: "view", exercise: next.name })));
  }

  /** A Python to run things with, and a note for as long as it is not there. */
  python() {
    this.loading = make("p", { class: "help loading" }, "Python is loading…");
    return new Runner(this.data.python, () => this.loading.remove());
  }

  cannot(error) {
    this.loading.remove();
    this.verdict.wait(`Python could not be started in this browser: ${error.message}`);
  }
}

class Code extends Work {
  constructor(root, data) {
    super(root, data);
    this.runner = this.python();
    const known = keptOf(data.name);
    this.editor = new Editor({
      label: `Your code for ${data.title}`,
      text: typeof known.typed === "string" ? known.typed : data.starter,
      onInput: (text) => keep(this.data.name, { typed: text }),
      onCheck: () => this.#run(true),
    });
    this.check = button("Check", () => this.#run(true), { class: "first" });
    this.go = button("Run", () => this.#run(false), { title: "Run your code without marking it" });
    this.halt = button("Stop", () => this.runner.stop(), { hidden: true });
    this.output = make("pre", { class: "output", tabindex: "0", role: "region", "aria-label": "What your code printed" });
    this.cut = make("p", { class: "help", hidden: true }, "There was more: only the first 20,000 characters are kept.");
    this.printed = make("div", { hidden: true }, make("h3", {}, "What your code printed"), this.output, this.cut);
    this.trace = make("pre", { class: "trace", tabindex: "0", role: "region", "aria-label": "Traceback" });
    this.toLine = button("", () => this.editor.goTo(this.line), { hidden: true });
    this.failed = make("div", { hidden: true }, make("h3", {}, "Traceback"), this.trace, this.toLine);
    this.element.append(
      make("div", { class: "tools" }, this.check, this.go, this.halt,
        button("Undo", () => this.editor.undo()), button("Redo", () => this.editor.redo()),
        button("Start again", () => this.editor.replaceAll(this.data.starter), { title: "Put back what was given; Undo brings yours back" })),
      this.loading, this.editor.element, this.editor.help, this.verdict.element, this.failed, this.printed,
    );
    this.stops.push(onProgress(() => this.#afterForgetting()));
  }

  destroy() {
    this.runner.destroy();
    super.destroy();
  }

  /** When all marks are deleted, what was typed goes as well. */
  #afterForgetting() {
    if (keptOf(this.data.name).typed !== undefined || this.editor.text === this.data.starter) return;
    this.editor.area.value = this.data.starter;
    this.editor.area.dispatchEvent(new Event("input"));
    this.verdict.clear();
  }

  async #run(marked) {
    if (this.busy) return;
    this.#setBusy(true);
    this.verdict.wait(marked ? "Checking…" : "Running…");
    setText(this.output, "");
    this.printed.hidden = this.cut.hidden = true;
    this.#showError(null, null);
    const code = this.editor.text;
    try {
      const job = { kind: "run", code, sheet: marked ? this.data.sheet : null, slip: slipOf(code) };
      const result = await this.runner.run(job, (output) => this.#print(output));
      this.#show(result, marked, code);
    } catch (error) {
      this.cannot(error);
    }
    this.#setBusy(false);
  }

  #setBusy(busy) {
    this.busy = busy;
    this.check.disabled = this.go.disabled = busy;
    this.halt.hidden = !busy;
  }

  #print({ text, cut }) {
    this.printed.hidden = false;
    this.output.append(text);
    this.cut.hidden = !cut;
  }

  #show({ stopped, verdict, error, said, line }, marked, code) {
    if (stopped === "time" && marked) return this.judge(this.data.timeout, code);
    if (stopped) return this.verdict.wait(stoppedText[stopped]);
    this.#showError(error, line && writtenLine(code, line));
    if (verdict) return this.judge(verdict, code);
    return this.verdict.wait(said ?? "It ran to the end. Check marks it.");
  }

  #showError(error, line) {
    this.failed.hidden = error === null;
    setText(this.trace, error ?? "");
    this.line = line;
    this.editor.markLine(line);
    this.toLine.hidden = line === null;
    setText(this.toLine, `Go to line ${line}`);
  }
}

class Numbers extends Work {
  constructor(root, data) {
    super(root, data);
    this.runner = this.python();
    this.input = make("input", { type: "text", inputmode: "text", autocomplete: "off", "aria-label": "Your answer", size: "14", oninput: () => keepTyped(this.data.name, this.data.seed, this.input.value) });
    this.element.append(
      make("form", { class: "tools", onsubmit: (event) => this.#check(event) }, make("label", {}, "Your answer ", this.input), make("button", { type: "submit", class: "first" }, "Check")),
      this.loading, this.verdict.element,
    );
    this.stops.push(onProgress(() => keptOf(this.data.name).typed === undefined && this.#begin()));
    this.#begin();
  }

  destroy() {
    this.runner.destroy();
    super.destroy();
  }

  update(data) {
    const another = data.seed !== this.data.seed;
    super.update(data);
    if (another) this.#begin();
  }

  /** What was typed belongs to the numbers that it was typed for. */
  #begin() {
    this.input.value = typedFor(this.data.name, this.data.seed);
    this.verdict.clear();
  }

  async #check(event) {
    event.preventDefault();
    const text = this.input.value;
    const { seed } = this.data;
    try {
      const { verdict, stopped } = await this.runner.run({ kind: "number", task: this.data.task, text });
      if (stopped || seed !== this.data.seed) return;
      this.judge(verdict, text);
    } catch (error) {
      this.cannot(error);
    }
  }
}

/** The network is checked where it is: by the server, at each edit. Here the verdict is shown and kept. */
class Setting extends Work {
  constructor(root, data) {
    super(root, data);
    this.element.append(this.verdict.element);
    this.stops.push(onProgress(() => this.#show()));
    this.#show();
  }

  update(data) {
    super.update(data);
    this.#show();
  }

  #show() {
    const { verdict, edited, link, name, network } = this.data;
    const forgotten = isForgotten(network);
    const said = JSON.stringify([verdict, edited, forgotten]);
    if (said === this.said) return;
    this.said = said;
    if (forgotten && verdict.passed) this.verdict.wait("The mark of this network was deleted. Begin with “Start again”, or change a number: it is then marked anew.");
    else if (edited && verdict.passed && !keptOf(name).passed) this.judge(verdict, link);
    else this.verdict.show(verdict);
  }
}

const KINDS = { code: Code, numbers: Numbers, scenario: Setting };
const works = new WeakMap();

export default function render({ data, parentElement }) {
  let work = works.get(parentElement);
  if (work) work.update(data.work);
  else {
    work = new KINDS[data.work.kind](parentElement, data.work);
    works.set(parentElement, work);
  }
  return () => {
    works.get(parentElement)?.destroy();
    works.delete(parentElement);
  };
}
