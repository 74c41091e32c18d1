// What an editor can take back. Letters typed one after the other are one step, up to the next space or line.

const MOST = 500;

/** One more letter of the same word, at the cursor. */
function continues(before, now) {
  const typed = now.text.length - before.text.length === 1 && now.end === before.end + 1;
  return typed && !/\s/.test(now.text[now.end - 1]) && now.text.slice(0, now.end - 1) === before.text.slice(0, before.end);
}

/** Steps of {text, start, end}: the text and the selection in it. */
export class History {
  constructor(step) {
    this.steps = [step];
    this.at = 0;
    this.typing = false;
  }

  /** Remember where the selection is now, so that undo comes back to it. */
  moved(step) {
    if (step.text === this.steps[this.at].text && step.end !== this.steps[this.at].end) {
      this.steps[this.at] = step;
      this.typing = false;
    }
  }

  add(step) {
    const before = this.steps[this.at];
    if (step.text === before.text) return;
    const typing = continues(before, step);
    if (typing && this.typing) this.steps[this.at] = step;
    else {
      this.steps = [...this.steps.slice(Math.max(0, this.at + 2 - MOST), this.at + 1), step];
      this.at = this.steps.length - 1;
    }
    this.typing = typing;
  }

  /** The step before (by = -1) or after (by = 1), or null. */
  go(by) {
    this.typing = false;
    if (!this.steps[this.at + by]) return null;
    this.at += by;
    return this.steps[this.at];
  }
}
