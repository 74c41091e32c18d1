"""Learning: start it, hold it, take one step, begin again, and take the network along to another page."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.visitor import Visit, Visitor

pytestmark = pytest.mark.browser

FIT = re.compile("^(The fit|Where it decides)")
CHARTS = (FIT, "A sum of fired values", "Loss", "Weights")


class LearningVisitor(Visitor):
    """A visitor of the page, in the words of its buttons, numbers and charts."""

    def ready(self) -> "LearningVisitor":
        for title in CHARTS:
            expect(self.chart(title).locator(".main-svg").first).to_be_visible()
        return self

    def gauge(self, label: str) -> Locator:
        metric = self.page.get_by_test_id("stMetric").filter(has_text=re.compile(f"^{label}"))
        return metric.get_by_test_id("stMetricValue")

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    @property
    def step(self) -> int:
        return int(self.gauge("Step").inner_text().replace(",", ""))

    @property
    def loss(self) -> float:
        return float(self.gauge("Loss").first.inner_text().replace("−", "-"))

    def wait_for_step(self, least: int) -> None:
        self.page.wait_for_function(
            """(least) => [...document.querySelectorAll('[data-testid="stMetric"]')].some((metric) =>
                metric.textContent.startsWith("Step")
                && Number(metric.querySelector('[data-testid="stMetricValue"]').textContent.replace(",", "")) >= least)""",
            arg=least,
        )

    def run_to(self, step: int) -> None:
        """Start, let it run on to that step, and pause."""
        self.press("Start")
        self.wait_for_step(step)
        self.press("Pause")
        self.paused()

    def paused(self) -> None:
        """Wait until it says so, and the chart has drawn that step."""
        expect(self.page.get_by_text(re.compile(r"^Paused at step [\d,]+\.$"))).to_be_visible()
        expect(self.chart(f"at step {self.step}")).to_be_visible()

    def drawn(self, name: str, panel: str = "y") -> list[float]:
        """The heights of a line of the fit."""
        found: list[float] = self.chart(FIT).evaluate(
            "(chart, [name, panel]) => Array.from(chart._fullData.find((t) => t.name === name && t.yaxis === panel).y)",
            [name, panel],
        )
        return found


@pytest.fixture
def learning(visit: Visit):
    def open_settings(settings: str = "", **options: Any) -> LearningVisitor:
        plain = visit(None, **options)
        visitor = LearningVisitor(plain.page, plain.address)
        visitor.open("/learning" + (f"?l={settings}" if settings else ""))
        return visitor

    return open_settings


def test_start_lowers_the_loss_and_pause_holds_it(learning):
    visitor = learning()
    first = visitor.loss
    visitor.run_to(100)
    held, loss = visitor.step, visitor.loss
    assert loss < first / 2
    # What would have moved it has had its turn once a press has gone to the server and back.
    visitor.page.get_by_text("The numbers of this figure").first.click()
    expect(visitor.page.get_by_test_id("stDataFrame")).to_be_visible()
    assert (visitor.step, visitor.loss) == (held, loss)


def test_it_runs_on_from_where_it_was_paused(learning):
    visitor = learning()
    visitor.run_to(25)
    held = visitor.step
    visitor.run_to(held + 25)
    assert visitor.step > held


def test_step_is_one_update_and_reset_leads_to_the_same_weights_and_loss(learning):
    visitor = learning("task~moons")
    first = visitor.gauge("Loss").inner_text()
    visitor.press("Step")
    expect(visitor.gauge("Step")).to_have_text("1")
    visitor.press("Step")
    expect(visitor.gauge("Step")).to_have_text("2")
    assert visitor.gauge("Loss").inner_text() != first
    visitor.press("Reset")
    expect(visitor.gauge("Step")).to_have_text("0")
    expect(visitor.gauge("Loss")).to_have_text(first)


def test_reset_while_it_runs_stands_at_step_0(learning):
    visitor = learning()
    visitor.press("Start")
    visitor.wait_for_step(25)
    visitor.press("Reset")
    expect(visitor.page.get_by_text("At the initial weights. Press Start.")).to_be_visible()
    expect(visitor.gauge("Step")).to_have_text("0")


def test_it_is_started_and_paused_by_keyboard_without_losing_the_place(learning):
    visitor = learning()
    visitor.page.get_by_role("button", name="Start", exact=True).focus()
    visitor.keyboard.press("Enter")
    visitor.wait_for_step(25)
    expect(visitor.page.get_by_role("button", name="Pause", exact=True)).to_be_focused()
    visitor.keyboard.press("Enter")
    visitor.paused()


def test_a_setting_changed_while_it_runs_begins_a_new_run_that_waits(learning):
    visitor = learning()
    visitor.press("Start")
    visitor.wait_for_step(25)
    visitor.page.get_by_label("d_ff, neurons", exact=True).fill("5")
    visitor.keyboard.press("Enter")
    expect(
        visitor.page.get_by_text(
            re.compile(r"^New run: d_ff 16 → 5\. The run before had loss .* at step \d+\.$")
        )
    ).to_be_visible()
    expect(visitor.gauge("Step")).to_have_text("0")
    expect(visitor.gauge("Dead neurons")).to_have_text(re.compile("of 5$"))
    visitor.page.wait_for_url(re.compile(r"[?&]l=d_ff~5\b"))


def test_the_charts_are_the_same_and_nothing_jumps_while_it_runs(learning):
    visitor = learning()
    places = "charts => charts.map((c) => [c.getBoundingClientRect().top, c.getBoundingClientRect().height])"
    charts = visitor.page.locator(".hourglass-plot")
    before = charts.evaluate_all(places)
    charts.evaluate_all("charts => charts.forEach((chart) => { chart.known = true; })")
    visitor.run_to(100)
    assert charts.evaluate_all(places) == before
    assert charts.evaluate_all("charts => charts.map((chart) => chart.known)") == [True] * 4


def test_without_a_nonlinearity_the_fit_stays_a_straight_line_beside_relus(learning):
    visitor = learning("beside~True,d_ff~64")
    visitor.run_to(100)
    line, bent = visitor.drawn("output", "y2"), visitor.drawn("output")
    bends = [abs(a - 2 * b + c) for a, b, c in zip(line, line[1:], line[2:], strict=False)]
    assert max(bends) < 1e-5
    assert max(abs(a - b) for a, b in zip(bent, line, strict=False)) > 0.1
    assert visitor.loss < float(visitor.gauge("Loss, identity").inner_text())


def test_without_a_nonlinearity_xor_has_one_straight_cut_however_wide(learning):
    visitor = learning("task~xor,activation~identity,d_ff~64")
    visitor.run_to(100)
    share = float(visitor.gauge("Points right").inner_text().rstrip("%"))
    assert share <= 75
    # A plane: along a row and along a column of the surface each step is as high as the last.
    rows = visitor.chart(FIT).evaluate("chart => Array.from(chart._fullData[0].z, (row) => Array.from(row))")
    for line in (rows[0], rows[40], [row[7] for row in rows]):
        assert max(abs(a - 2 * b + c) for a, b, c in zip(line, line[1:], line[2:], strict=False)) < 1e-4


def test_points_that_are_typed_are_learned_and_an_error_names_the_cell(learning):
    visitor = learning("task~points")
    box = visitor.page.get_by_role("textbox", name="Points, a line")
    box.fill("0, 1\n1, oops")
    visitor.keyboard.press("Control+Enter")
    expect(visitor.page.get_by_text("row 2, column 2 is not a number: 'oops'")).to_be_visible()
    box.fill("0, 1\n1, 3\n2,5")
    visitor.keyboard.press("Control+Enter")
    expect(visitor.page.get_by_text("is not a number")).to_have_count(0)
    expect(visitor.page.get_by_text("New run: points.")).to_be_visible()
    assert visitor.drawn("target") == [1, 3, 5]


def test_the_network_opens_in_the_hourglass_and_undo_brings_back_the_lesson(learning):
    visitor = learning("d_ff~8")
    visitor.run_to(25)
    visitor.press("Hourglass")
    board = Visitor(visitor.page, visitor.address).ready()
    expect(board.cells("hidden")).to_have_count(8)
    expect(board.cells("x")).to_have_count(1)
    board.holds("x[0][0]", "-3.141592653589793")
    expect(board.button(re.compile("^Position 0: x = −3.14"))).to_be_visible()
    board.wait_for_link(lambda scenario: scenario.activation == "relu" and len(scenario.words) == 8)
    board.button("Undo").click()
    expect(board.cells("x")).to_have_count(4)
    board.shows("output", "0.421 0.415 0.425 0.411")


def test_a_run_waits_while_another_page_is_open(learning):
    visitor = learning("task~circles")
    visitor.press("Start")
    visitor.wait_for_step(25)
    visitor.page.get_by_role("link", name="Memories", exact=True).click()
    Visitor(visitor.page, visitor.address).ready()
    visitor.page.get_by_role("link", name="Learning", exact=True).click()
    visitor.ready()
    visitor.paused()
    assert visitor.step >= 25
    visitor.page.wait_for_url(re.compile(r"[?&]l=task~circles"))


def test_one_visitors_run_leaves_another_visitor_alone(learning, visit):
    runs = learning("task~spiral,d_ff~64,activation~gelu")
    runs.press("Start")
    runs.wait_for_step(25)
    other = visit("/")
    other.edit("b2[0]", "1")
    other.shows("output", "1.42 0.415 0.425 0.411")
    runs.wait_for_step(runs.step + 25)
    runs.press("Pause")
    runs.paused()


def test_the_controls_and_the_fit_are_in_sight_together_on_a_projector(learning):
    visitor = learning("beside~True")
    things = [
        visitor.page.get_by_role("button", name=name, exact=True)
        for name in ("Start", "Step", "Reset", "Hourglass")
    ]
    things += [
        visitor.page.get_by_label("Task"),
        visitor.page.get_by_label("Seed", exact=True),
        visitor.chart(FIT),
    ]
    for thing in things:
        box = thing.first.bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 720


def test_a_phone_shows_the_page_without_sideways_scrolling(learning):
    phone = learning("beside~True", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    phone.run_to(25)
    for chart in phone.page.locator(".hourglass-plot").all():
        box = chart.bounding_box()
        assert 0 <= box["x"] < box["x"] + box["width"] <= 390
    wider = phone.page.evaluate(
        """() => [document.documentElement, document.body, document.querySelector('[data-testid="stMain"]')]
            .map((e) => e.scrollWidth - e.clientWidth)"""
    )
    assert wider == [0, 0, 0]


@pytest.mark.parametrize("look", ["light", "dark"])
def test_axe_finds_no_violation(learning, look):
    visitor = learning("task~xor,beside~True", bypass_csp=True, color_scheme=look)
    visitor.press("Step")
    visitor.paused()
    visitor.page.mouse.move(0, 0)
    expect(visitor.page.get_by_role("tooltip")).to_have_count(0)
    assert visitor.violations() == []
