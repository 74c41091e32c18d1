// How a mark is shown: passed or not, what went wrong, and the case that shows it.

import { make } from "../board/dom.js";

const row = (name, text) => (text === null || text === undefined ? [] : [make("dt", {}, name), make("dd", {}, make("code", {}, text))]);

export class VerdictView {
  constructor() {
    this.element = make("div", { class: "verdict", role: "status" });
  }

  clear() {
    this.element.className = "verdict";
    this.element.replaceChildren();
  }

  /** Say that something is going on. */
  wait(text) {
    this.clear();
    this.element.append(make("p", {}, text));
  }

  /** `more` is put below, such as a button to what is next. */
  show({ passed, diagnosis = null, message, where, got, expected, case: shown, n_passed: nPassed, n_cases: nCases }, ...more) {
    this.element.className = `verdict ${passed ? "right" : "wrong"}`;
    this.element.replaceChildren(
      make("p", { class: "mark" }, passed ? "✓ Passed" : "✗ Not yet"),
      make("p", {}, message),
    );
    if (!passed && nCases) this.element.append(make("p", {}, `${nPassed} of ${nCases} cases are right.`));
    const rows = [...row("Case", shown), ...row("Where", where), ...row("Expected", expected), ...row("Yours", got)];
    if (rows.length) this.element.append(make("dl", {}, ...rows));
    if (diagnosis) this.element.append(make("p", { class: "help" }, `diagnosis: ${diagnosis}`));
    this.element.append(...more.filter(Boolean));
  }
}
