"""How soon the charts follow: `python benchmarks/repaint.py [turns]`.

From the key or mouse event in Chromium to the frame in which the chart stands drawn anew with other numbers or marks,
with a server of its own, on the random networks with 16 positions, the dense one 128 to 512. Of the charts that an
action changes the last in the part of the page that is drawn first is waited for, and in lines of their own the mark
elsewhere on the page. A page, an action and its chart are one line of ACTIONS.
"""

import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Locator, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))  # run from a checkout

from tests.browser.chromium import launch
from tests.browser.server import Server

TURNS = 20
WARM_UP = 3
SETTLE_MS = 500  # what the last action still has under way is over by then
AIM_MS = 300

# Resolves to milliseconds from the next event of that type to after the paint that follows the drawing: a message
# that is posted in an animation frame is handled once that frame is drawn.
MEASURE = """
(chart, type) => {
  const DRAWN = ["plotly_afterplot", "plotly_relayout"]; // the second where only a mark moves
  const shown = () => JSON.stringify([chart.getAttribute("aria-label"), chart.data, chart.layout.shapes]);
  const before = shown();
  window.result = new Promise((resolve, reject) => {
    let start = null;
    setTimeout(() => reject(new Error("the chart has not changed")), 20000);
    window.addEventListener(type, () => (start = performance.now()), { capture: true, once: true });
    const drawn = () => {
      if (start === null || shown() === before) return;
      for (const name of DRAWN) chart.removeListener(name, drawn);
      requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => resolve(performance.now() - start);
        channel.port2.postMessage(null);
      });
    };
    for (const name of DRAWN) chart.on(name, drawn);
  });
}
"""


@dataclass(frozen=True)
class Action:
    """What is done on a page, once a turn.

    `prepare` does what is not measured and returns the act whose `event` starts the clock; `chart` is part of the
    title of the chart that is waited for.
    """

    page: str
    name: str
    prepare: Callable[[Page, int], Callable[[], None]]
    event: str
    chart: str


def chart_of(page: Page, title: str) -> Locator:
    return page.locator(".hourglass-plot", has=page.locator(".gtitle", has_text=title))


def choose_from_list(page: Page, turn: int) -> Callable[[], None]:
    neurons = page.get_by_label("Neuron", exact=True).first
    neurons.focus()
    neurons.fill(f"Neuron {100 + turn}")
    page.get_by_role("option").first.wait_for()
    return lambda: page.keyboard.press("Enter")


def press_heatmap(page: Page, turn: int) -> Callable[[], None]:
    chart = chart_of(page, "Which memories fire")
    chart.scroll_into_view_if_needed()
    x, y = chart.evaluate(
        """(chart, [x, y]) => {
          const box = chart.getBoundingClientRect(), { xaxis, yaxis } = chart._fullLayout;
          return [box.left + xaxis._offset + xaxis.l2p(x), box.top + yaxis._offset + yaxis.l2p(y)];
        }""",
        [100 + 10 * turn, (turn + 1) % 16],  # another position each time, so that the sum changes as well
    )
    page.mouse.move(x, y)
    chart.locator(".hoverlayer .hovertext").first.wait_for()
    return lambda: page.mouse.click(x, y)


def move_slider(label: str) -> Callable[[Page, int], Callable[[], None]]:
    def prepare(page: Page, turn: int) -> Callable[[], None]:
        page.get_by_role("slider", name=label).focus()
        return lambda: page.keyboard.press("ArrowLeft" if turn % 2 else "ArrowRight")

    return prepare


def step_number(label: str) -> Callable[[Page, int], Callable[[], None]]:
    def prepare(page: Page, turn: int) -> Callable[[], None]:
        page.get_by_role("spinbutton", name=label).focus()
        return lambda: page.keyboard.press("ArrowDown" if turn % 2 else "ArrowUp")

    return prepare


def press_button(name: str) -> Callable[[Page, int], Callable[[], None]]:
    def prepare(page: Page, turn: int) -> Callable[[], None]:
        page.get_by_role("button", name=name, exact=True).focus()
        return lambda: page.keyboard.press("Enter")

    return prepare


MEMORIES = "/memories?ex=random&n=2"
GATES, EXPERTS, COUNTING = "/gates?ex=gated_random&n=2", "/experts?ex=experts_random", "/counting"
BACKWARD = "/backward?ex=cat"
CURVES, POSITIONS = "/curves?ex=random&n=2", "/positions?ex=random"
STRENGTH, KEPT = move_slider("Strength of neuron 2"), move_slider("Neurons kept")
ACTIONS = (
    Action(MEMORIES, "neuron chosen from the list", choose_from_list, "keydown", ": hidden"),
    Action(MEMORIES, "the same, its mark elsewhere", choose_from_list, "keydown", "Which memories fire"),
    Action(MEMORIES, "cell of the heatmap pressed", press_heatmap, "mouseup", "as a sum"),
    Action(MEMORIES, "the same, its mark", press_heatmap, "mouseup", "Which memories fire"),
    Action(MEMORIES, "strength moved", STRENGTH, "keydown", "as a sum"),
    Action(MEMORIES, "number kept moved", KEPT, "keydown", "as a sum"),
    Action(CURVES, "neuron chosen from the list", choose_from_list, "keydown", "Before and after"),
    Action(CURVES, "x moved", step_number("Read at x ="), "keydown", "Curves, their slopes"),
    Action(
        POSITIONS,
        "another shuffle",
        press_button("Shuffle"),
        "keydown",
        "output of the shuffled x",
    ),
    Action(GATES, "neuron chosen from the list", choose_from_list, "keydown", "asks x two questions"),
    Action(EXPERTS, "top-k moved", move_slider("Top-k"), "keydown", "Load"),
    Action(
        COUNTING, "context length moved", move_slider("Your context length"), "keydown", "One token's cost"
    ),
    Action(COUNTING, "d_ff stepped", step_number("d_ff"), "keydown", "Where the parameters live"),
    Action(BACKWARD, "h moved", move_slider("h"), "keydown", "How wrong the difference quotient is"),
    Action(BACKWARD, "target stepped", step_number("target[0]"), "keydown", "First half"),
)


def measured(page: Page, address: str, action: Action, turns: int) -> list[float]:
    """Milliseconds of each turn of the action."""
    page.goto(address + action.page)
    chart_of(page, action.chart).locator(".main-svg").first.wait_for()
    page.wait_for_timeout(1000)
    times = []
    for turn in range(turns + WARM_UP):
        act = action.prepare(page, turn)
        page.wait_for_timeout(SETTLE_MS)
        chart_of(page, action.chart).evaluate(MEASURE, action.event)
        act()
        took: float = page.evaluate("window.result")
        if turn >= WARM_UP:
            times.append(took)
        page.wait_for_timeout(SETTLE_MS)
    return times


def main() -> None:
    """Measure every action in one browser and print a line for each."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else TURNS
    server = Server()
    server.start()
    try:
        with sync_playwright() as playwright:
            browser = launch(playwright)
            page = browser.new_page(viewport={"width": 1280, "height": 720})
            for action in ACTIONS:
                times = measured(page, server.address, action, turns)
                p95 = statistics.quantiles(times, n=20)[-1]
                print(
                    f"{action.page:24} {action.name:28} {turns} turns: "
                    f"median {statistics.median(times):6.1f} ms (aim {AIM_MS}), p95 {p95:6.1f} ms"
                )
            browser.close()
    finally:
        server.stop()


if __name__ == "__main__":
    main()
