"""Gates: edit what opens a gate and see the output follow; follow a neuron; change the kind of gate."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.visitor import Visit, Visitor

pytestmark = pytest.mark.browser

EXAMPLES = pytest.mark.parametrize("example", ["gates", "gated_random"])
CURVE, BRANCHES, KEYS, WRITTEN, HEATMAP, PUBLISHED = (
    "How far each gate opens",
    "products are below 0",
    "asks x two questions",
    "times value",
    "Which memories fire",
    "Published quality",
)


class GatesVisitor(Visitor):
    """A visitor of the page, in the words of its charts."""

    def ready(self) -> "GatesVisitor":
        super().ready()
        for title in (CURVE, BRANCHES, HEATMAP, PUBLISHED):
            self.drawn(title)
        return self

    def drawn(self, title: str) -> Locator:
        expect(self.chart(title).locator(".main-svg").first).to_be_visible()
        return self.chart(title)

    def press_bar(self, neuron: int) -> None:
        """Press in the lowest panel, at the height of 0, where the neuron's bar begins."""
        chart = self.drawn(BRANCHES)
        chart.scroll_into_view_if_needed()
        at = chart.evaluate(
            """(chart, neuron) => {
                const box = chart.getBoundingClientRect(), { xaxis: x, yaxis3: y } = chart._fullLayout;
                return [box.left + x._offset + x.l2p(neuron), box.top + y._offset + y.l2p(0)];
            }""",
            neuron,
        )
        self.page.mouse.move(*at)
        expect(chart.locator(".hoverlayer")).to_contain_text(f"Neuron {neuron}")
        self.page.mouse.click(*at)

    @property
    def listed(self) -> Locator:
        """The list of neurons; for a moment the one that it replaces is there as well, after it."""
        return self.page.get_by_label("Neuron", exact=True).first

    def follows(self, neuron: int) -> None:
        """Wait until the list, the charts and the link all follow this neuron."""
        expect(self.listed).to_have_value(re.compile(rf"^Neuron {neuron}\b"))
        expect(self.chart(KEYS).locator(".gtitle")).to_contain_text(f"Neuron {neuron} asks")
        expect(self.chart(WRITTEN).locator(".gtitle")).to_contain_text(f"times value {neuron}")
        expect(self.chart(CURVE)).to_contain_text(f"neuron {neuron}")
        self.page.wait_for_url(re.compile(rf"[?&]n={neuron}\b"))

    def written(self) -> str:
        return self.chart(WRITTEN).get_attribute("aria-label") or ""


@pytest.fixture
def gates(visit: Visit):
    def open_example(example: str = "gates", view: str = "", **options: Any) -> GatesVisitor:
        plain = visit(None, **options)
        visitor = GatesVisitor(plain.page, plain.address)
        visitor.open(f"/gates?ex={example}{view}")
        return visitor

    return open_example


# The main action


def test_an_edit_of_the_gate_moves_the_output_and_the_branches_and_a_reload_keeps_it(gates):
    visitor = gates(view="&p=1&n=0")
    visitor.shows("output", "0 -0.134 -1.46 0.477")
    # Hidden falls from 1 to 1 - 2: SiLU(-1) = -0.2689, times -2 is 0.538; minus times minus.
    visitor.edit("w_gate[0][1]", "1")
    visitor.shows("output", "0 -0.134 0.538 0.477")
    expect(visitor.chart("0 of 3 products are below 0")).to_be_visible()
    expect(visitor.page.get_by_text("neuron 0 fires weakly, positively: minus times minus")).to_be_visible()
    visitor.wait_for_link(lambda scenario: [tuple(e) for e in scenario.edits] == [("w_gate", (0, 1), 1.0)])
    visitor.page.reload()
    visitor.ready().shows("output", "0 -0.134 0.538 0.477")
    expect(visitor.chart("0 of 3 products are below 0")).to_be_visible()
    visitor.button("Undo").click()
    visitor.shows("output", "0 -0.134 -1.46 0.477")
    expect(visitor.chart("1 of 3 products are below 0")).to_be_visible()


def test_128_to_352_is_edited_through_the_neuron_that_is_large(gates):
    visitor = gates("gated_random", "&n=300")
    before = visitor.written()
    visitor.edit("w_gate[300][0]", "5")
    visitor.wait_for_link(lambda scenario: [tuple(e) for e in scenario.edits] == [("w_gate", (300, 0), 5.0)])
    expect(visitor.chart(WRITTEN)).not_to_have_attribute("aria-label", before)
    expect(visitor.cell("w_up[300][0]")).to_be_visible()
    expect(visitor.cell("w_down[0][300]")).to_be_visible()


# A neuron followed


@pytest.mark.parametrize(("example", "neuron"), [("gates", 2), ("gated_random", 200)])
def test_a_press_on_a_bar_follows_its_neuron_everywhere(gates, example, neuron):
    visitor = gates(example)
    expect(visitor.page.get_by_text("Choose a neuron above, on the board")).to_be_visible()
    visitor.press_bar(neuron)
    visitor.follows(neuron)


@pytest.mark.parametrize(("example", "neuron"), [("gates", 1), ("gated_random", 317)])
def test_the_list_follows_a_neuron_by_keyboard_alone_and_a_reload_keeps_it(gates, example, neuron):
    visitor = gates(example)
    visitor.listed.focus()
    visitor.keyboard.type(f"Neuron {neuron}")
    expect(visitor.page.get_by_role("option")).to_have_count(1)
    visitor.keyboard.press("Enter")
    visitor.follows(neuron)
    visitor.page.reload()
    visitor.ready().follows(neuron)


def test_a_click_on_hidden_follows_its_neuron(gates):
    visitor = gates()
    visitor.cell("hidden[0][2]").click()
    visitor.follows(2)


# The kinds


def test_another_kind_of_gate_changes_the_output_and_the_link_and_undo_takes_it_back(gates):
    visitor = gates(view="&p=1&n=0")
    visitor.page.get_by_role("radio", name="ReGLU").click()
    # ReLU(1) · -2, and the other two gates are 0.
    visitor.shows("output", "0 0 -2 0")
    expect(visitor.chart(CURVE).locator(".gtitle")).to_contain_text("ReLU")
    expect(visitor.page.get_by_text("ReGLU: gate = ReLU(hidden).")).to_be_visible()
    visitor.wait_for_link(lambda scenario: scenario.activation == "relu")
    visitor.button("Undo").click()
    visitor.shows("output", "0 -0.134 -1.46 0.477")
    expect(visitor.page.get_by_role("radio", name="SwiGLU")).to_have_attribute("aria-checked", "true")


# Matched parameters


def test_the_boxes_give_llamas_width(gates):
    visitor = gates()
    for label, value in (("d_model", "4096"), ("multiple_of", "256")):
        box = visitor.page.get_by_label(label, exact=True)
        box.fill(value)
        box.press("Enter")
    expect(visitor.page.get_by_text("So d_ff = 11,008.")).to_be_visible()  # case S7
    expect(visitor.page.get_by_text("Gated, matched: 135,266,304 parameters")).to_be_visible()  # case C5
    expect(visitor.page.get_by_text("Dense: 134,217,728 parameters")).to_be_visible()


# For everyone


@pytest.mark.parametrize("look", ["light", "dark"])
def test_axe_finds_no_violation(gates, look):
    visitor = gates(view="&n=2", bypass_csp=True, color_scheme=look)
    visitor.drawn(WRITTEN)
    visitor.page.mouse.move(0, 0)  # Streamlit writes what is pointed at in its own colour
    assert visitor.violations() == []


@EXAMPLES
def test_a_phone_shows_the_page_without_sideways_scrolling(gates, example):
    phone = gates(example, "&n=2", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    phone.drawn(WRITTEN)
    for chart in phone.page.locator(".hourglass-plot").all():
        box = chart.bounding_box()
        assert 0 <= box["x"] < box["x"] + box["width"] <= 390
    wider = phone.page.evaluate(
        """() => [document.documentElement, document.body, document.querySelector('[data-testid="stMain"]')]
            .map((e) => e.scrollWidth - e.clientWidth)"""
    )
    assert wider == [0, 0, 0]
