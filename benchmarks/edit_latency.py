"""How soon an edit is seen: `python benchmarks/edit_latency.py [edits]`.

From the Enter key in Chromium to the frame in which the output stands painted anew, with a server of its own:
a weight of the lesson's example, 4 to 8 to 4, whose outputs are cells, and one of the 128 to 512 network's
neuron shown large, whose output is a pooled canvas. After each edit comes a bare round trip, an event
that changes nothing: what Streamlit, the websocket and a frame cost by themselves, at the same moment.
"""

import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))  # run from a checkout

from ffn_core import Scenario
from tests.browser.chromium import launch
from tests.browser.server import Server

EDITS = 40
WARM_UP = 5
SETTLE_MS = 250  # what the last action still has under way (a look at the next cell) is over by then

# `seen(start)` gives milliseconds from `start` to after the next paint: a message that is posted in an animation
# frame is handled once that frame is drawn. Cells of the output change their label, the canvas its data, only when
# Python has sent other numbers.
MEASURE = """
async () => {
  const board = [...document.querySelectorAll("*")].map((e) => e.shadowRoot?.querySelector(".board")).find(Boolean);
  const address = performance.getEntriesByType("resource").map((e) => e.name).find((name) => name.endsWith("/board/queue.js"));
  const { push, pending } = await import(address);
  const frame = () => new Promise(requestAnimationFrame);
  const seen = (start) => new Promise((resolve) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => resolve(performance.now() - start);
    channel.port2.postMessage(null);
  }));
  let drawn = () => {};
  const drawImage = CanvasRenderingContext2D.prototype.drawImage;
  CanvasRenderingContext2D.prototype.drawImage = function (...all) {
    drawImage.apply(this, all);
    if (this.canvas.dataset.array === "output") drawn(this.canvas);
  };
  window.edit = () => new Promise((resolve) => {
    const output = board.querySelector('[data-array="output"]');
    const before = output.heat?.spec.pooled.data;
    let start = null;
    const changed = () => {
      observer.disconnect();
      drawn = () => {};
      seen(start).then(resolve);
    };
    const observer = new MutationObserver(changed);
    if (!output.heat) observer.observe(output, { subtree: true, attributeFilter: ["aria-label"] });
    if (output.heat) drawn = (canvas) => canvas.heat.spec.pooled.data !== before && changed();
    const enter = (event) => {
      if (event.key !== "Enter") return;
      start = performance.now();
      window.removeEventListener("keydown", enter, true);
    };
    window.addEventListener("keydown", enter, true);
  });
  window.roundTrip = async () => {
    const start = performance.now();
    push({ kind: "seen" });
    while (pending()) await frame();
    return seen(start);
  };
}
"""


def open_page(page: Page, address: str) -> None:
    """Open the home page and put the measuring functions into it."""
    page.goto(address)
    page.locator('.board [data-array="residual"]').first.wait_for()
    page.wait_for_timeout(1000)
    page.evaluate(MEASURE)


def measured(page: Page, cell: str, values: Iterator[str], edits: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each edit of the cell (its entry's name), and of a bare round trip after each."""
    seen, bare = [], []
    for turn in range(edits + WARM_UP):
        page.locator(f'.cell[aria-label*=" {cell}: "]').first.click()
        page.keyboard.press("Control+A")
        page.keyboard.type(next(values))
        page.wait_for_timeout(SETTLE_MS)
        page.evaluate("window.result = window.edit(), null")
        page.keyboard.press("Enter")
        of_edit = page.evaluate("window.result")
        page.wait_for_timeout(SETTLE_MS)
        of_round_trip = page.evaluate("window.roundTrip()")
        if turn >= WARM_UP:
            seen.append(of_edit)
            bare.append(of_round_trip)
    return seen, bare


def weights(small: float) -> Iterator[str]:
    """Weights far from each other, never the same twice: the output changes visibly each time."""
    k = 0
    while True:
        yield str(40 + k)
        yield str(small + k / 1000)
        k += 1


def report(name: str, aim: int, seen: list[float], bare: list[float]) -> None:
    """Print one network's medians and 95th percentiles."""
    of_edit, of_bare = statistics.median(seen), statistics.median(bare)
    p95 = statistics.quantiles(seen, n=20)[-1]
    print(
        f"{name:14} {len(seen)} edits: median {of_edit:6.1f} ms (aim {aim}), p95 {p95:6.1f} ms; "
        f"bare round trip {of_bare:6.1f} ms; ratio {of_edit / of_bare:.2f}"
    )


def main() -> None:
    """Measure both networks in one browser and print a line for each."""
    edits = int(sys.argv[1]) if len(sys.argv) > 1 else EDITS
    _, x = Scenario(base="random").build()
    column = int(x[0].argmax())  # where a large weight surely makes the neuron fire
    server = Server()
    server.start()
    try:
        with sync_playwright() as playwright:
            browser = launch(playwright)
            page = browser.new_page(viewport={"width": 1280, "height": 720})
            for name, query, cell, aim in (
                ("4 to 8 to 4", "", "w1[0][0]", 50),
                ("128 to 512", "?ex=random", f"w1[0][{column}]", 150),
            ):
                open_page(page, f"{server.address}/{query}")
                report(name, aim, *measured(page, cell, weights(0.1), edits))
            browser.close()
    finally:
        server.stop()


if __name__ == "__main__":
    main()
