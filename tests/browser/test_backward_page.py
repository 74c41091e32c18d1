"""Backward: press a number and read its formula, take a step and undo it, move h, and come back to the same."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.visitor import Visit, Visitor

pytestmark = pytest.mark.browser

FIRST, SECOND, SLOPES, ERRORS = (
    "First half",
    "Second half",
    "Slope of the nonlinearity",
    "How wrong the difference quotient is",
)


class BackwardVisitor(Visitor):
    """A visitor of the page, in the words of its charts."""

    def ready(self) -> "BackwardVisitor":
        for title in (FIRST, SECOND, SLOPES, ERRORS):
            self.drawn(title)
        return self

    def drawn(self, title: str) -> Locator:
        expect(self.chart(title).locator(".main-svg").first).to_be_visible()
        return self.chart(title)

    def press_cell(self, title: str, axis: int, row: int, column: int) -> None:
        """Press a cell of the heatmap on the axes of that number."""
        chart = self.drawn(title)
        chart.scroll_into_view_if_needed()
        at = chart.evaluate(
            """(chart, [axis, row, column]) => {
                const box = chart.getBoundingClientRect();
                const { [`xaxis${axis}`]: x, [`yaxis${axis}`]: y } = chart._fullLayout;
                return [box.left + x._offset + x.l2p(column), box.top + y._offset + y.l2p(row)];
            }""",
            [axis, row, column],
        )
        self.page.mouse.move(*at)
        expect(chart.locator(".hoverlayer")).to_contain_text(f"[{row}]")
        self.page.mouse.click(*at)

    def explains(self, text: str) -> None:
        expect(self.page.get_by_test_id("stCode")).to_contain_text(text)

    def metric(self, label: str) -> Locator:
        return self.page.get_by_test_id("stMetric").filter(has_text=label).get_by_test_id("stMetricValue")


@pytest.fixture
def backward(visit: Visit):
    def open_page(view: str = "", **options: Any) -> BackwardVisitor:
        plain = visit(None, **options)
        visitor = BackwardVisitor(plain.page, plain.address)
        visitor.open(f"/backward?{view}")
        return visitor

    return open_page


# The main action


def test_a_press_on_a_gradient_shows_its_formula_and_a_reload_keeps_it(backward):
    visitor = backward("d=ones&act=relu")
    visitor.press_cell(FIRST, 4, 2, 1)  # dW1
    # All hidden are above 0, so d_hidden is 0.6 everywhere; x[0][1] is 0.5.
    visitor.explains("dW1[2][1] = 0.6*0.5 + 0.0*(-0.4) = 0.3")
    visitor.page.wait_for_url(re.compile(r"[?&]g=w1\.2\.1\b"))
    visitor.page.reload()
    visitor.ready().explains("dW1[2][1] = 0.6*0.5 + 0.0*(-0.4) = 0.3")
    expect(visitor.page.get_by_label("row, 0 to 7")).to_have_value("2")


def test_a_press_on_the_other_half_shows_its_formula(backward):
    visitor = backward("d=ones")
    visitor.press_cell(SECOND, 2, 3, 0)  # d_activated
    visitor.explains("d_activated[0][3] = ")


def test_an_entry_is_chosen_by_keyboard_alone(backward):
    visitor = backward("d=ones&g=w1.0.0")
    row = visitor.page.get_by_label("row, 0 to 7")
    row.focus()
    visitor.keyboard.press("ArrowUp")
    visitor.keyboard.press("Enter")
    visitor.explains("dW1[1][0] = ")
    visitor.page.wait_for_url(re.compile(r"[?&]g=w1\.1\.0\b"))


def test_another_nonlinearity_changes_the_gradients_on_the_same_weights(backward):
    visitor = backward("d=ones&p=1&g=hidden.2")
    visitor.explains("d_hidden[1][2] = d_activated[1][2]*GELU'(hidden[1][2]) = 0.6*GELU'(-0.02) = ")
    visitor.button("ReLU").click()
    visitor.explains("= 0.6*ReLU'(-0.02) = 0.6*0.0 = 0")
    expect(visitor.page.get_by_text("2 of 8: neuron 2, 5").first).to_be_visible()
    expect(visitor.chart(SLOPES)).to_contain_text("ReLU: exactly 0, no gradient passes")


# A target


def test_a_target_is_kept_in_the_link_and_by_a_reload(backward):
    visitor = backward()
    box = visitor.page.get_by_label("target[1]")
    box.fill("1.5")
    box.press("Enter")
    visitor.page.wait_for_url(re.compile(r"[?&]y=0\.0,1\.5\b"))
    # (0.4215² + 1.0855² + 0.4249² + 0.4111²) / 4
    expect(visitor.page.get_by_text("at position 0 = 0.426")).to_be_visible()
    visitor.page.reload()
    visitor.ready()
    expect(visitor.page.get_by_label("target[1]")).to_have_value("1.5")
    expect(visitor.page.get_by_text("at position 0 = 0.426")).to_be_visible()


# One step


def test_a_gradient_step_lowers_the_loss_and_is_undone(backward):
    visitor = backward("y=1")
    before, after = visitor.metric("Loss now"), visitor.metric("Loss after the step")
    expect(before).to_have_text("0.214")
    foretold = after.inner_text()
    visitor.button("Take the step").click()
    expect(before).to_have_text(foretold)
    visitor.wait_for_link(lambda scenario: [edit.array for edit in scenario.edits] == ["together"])
    visitor.button("Undo").click()
    expect(before).to_have_text("0.214")
    visitor.wait_for_link(lambda scenario: scenario.edits == ())


def test_steps_go_on_and_a_reload_keeps_them(backward):
    visitor = backward("y=1")
    before, after = visitor.metric("Loss now"), visitor.metric("Loss after the step")
    for n in (1, 2):
        foretold = after.inner_text()
        visitor.button("Take the step").click()
        expect(before).to_have_text(foretold)
        visitor.wait_for_link(lambda scenario, n=n: len(scenario.edits) == n)
    visitor.page.reload()
    expect(visitor.ready().metric("Loss now")).to_have_text(foretold)


# The check


def test_the_slider_of_h_moves_the_mark_on_the_curve(backward):
    visitor = backward("y=1")
    expect(visitor.chart(ERRORS)).to_contain_text("h = 1e−6")
    slider = visitor.page.locator(".st-key-backward_h").get_by_role("slider")
    slider.focus()
    visitor.keyboard.press("ArrowRight")
    expect(visitor.chart(ERRORS)).to_contain_text("h = 3.16e−6")


# For everyone


@pytest.mark.parametrize("look", ["light", "dark"])
def test_axe_finds_no_violation(backward, look):
    visitor = backward("g=w1.2.1&act=relu&p=1", bypass_csp=True, color_scheme=look)
    visitor.page.mouse.move(0, 0)  # Streamlit writes what is pointed at in its own colour
    assert visitor.violations() == []


@pytest.mark.parametrize("view", ["g=w1.2.1", "ex=random&g=w2.5.300"])
def test_a_phone_shows_the_page_without_sideways_scrolling(backward, view):
    phone = backward(view, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    for chart in phone.page.locator(".hourglass-plot").all():
        box = chart.bounding_box()
        assert 0 <= box["x"] < box["x"] + box["width"] <= 390
    wider = phone.page.evaluate(
        """() => [document.documentElement, document.body, document.querySelector('[data-testid="stMain"]')]
            .map((e) => e.scrollWidth - e.clientWidth)"""
    )
    assert wider == [0, 0, 0]


def test_numbers_stand_in_the_cells_where_there_is_room_and_not_on_a_phone(backward):
    wide = backward("d=ones")
    expect(wide.chart(FIRST).locator(".heatmap-label").first).to_be_visible()
    phone = backward("d=ones", viewport={"width": 390, "height": 844})
    expect(phone.chart(FIRST).locator(".heatmap-label").first).to_be_hidden()


def test_the_digits_in_the_cells_are_large_where_the_page_is_wide(backward):
    digits = (
        backward("d=ones", viewport={"width": 1280, "height": 900})
        .chart(FIRST)
        .locator(".heatmap-label text")
        .first
    )
    expect(digits).to_have_css("font-size", "13px")


def test_on_a_phone_no_name_is_cut_and_no_arrow_lies_on_a_cell(backward):
    phone = backward("d=ones", viewport={"width": 390, "height": 844})
    for title in (FIRST, SECOND):
        chart = phone.drawn(title)
        box = chart.bounding_box()
        cells = [cell.bounding_box() for cell in chart.locator(".hm").all()]
        assert len(cells) == 8
        for note in chart.locator(".annotation-text").all():
            at = note.bounding_box()
            assert box["x"] <= at["x"] < at["x"] + at["width"] <= box["x"] + box["width"]
            if note.text_content() in "→←":
                assert not any(
                    at["x"] < cell["x"] + cell["width"] and cell["x"] < at["x"] + at["width"]
                    for cell in cells
                )


def test_the_second_axis_of_the_slopes_is_named_beside_the_first_plot_and_not_on_it(backward):
    phone = backward("d=ones", viewport={"width": 390, "height": 844})
    chart = phone.drawn(SLOPES)
    edge = chart.evaluate(
        "chart => chart.getBoundingClientRect().left + chart._fullLayout.xaxis._offset + chart._fullLayout.xaxis._length"
    )
    assert edge <= chart.locator(".y2title").bounding_box()["x"]
