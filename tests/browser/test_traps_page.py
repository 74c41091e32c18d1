"""Traps in a browser: predict, reveal, try other numbers, with the mouse and by keyboard alone."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from ffn_core.traps import NAMES
from tests.browser.visitor import Visit, Visitor

pytestmark = pytest.mark.browser


class TrapsVisitor(Visitor):
    """A visitor of a page without a board."""

    def ready(self) -> "TrapsVisitor":
        expect(self.button("Just show me")).to_be_visible()
        return self

    def shows_text(self, text: str | re.Pattern[str]) -> None:
        expect(self.page.get_by_text(text).first).to_be_visible()

    def figure(self, name: str) -> Locator:
        """A figure by a part of its text alternative."""
        return self.page.locator(f'[role="figure"][aria-label*="{name}"]')

    def reveal_all(self) -> None:
        notice = self.page.get_by_role("heading", name="How to notice it")
        shown = self.button("Just show me")
        expect(shown.or_(notice)).to_be_visible()
        answers = self.page.get_by_text(re.compile("^The answer: "))
        while not notice.is_visible():
            before = answers.count()
            shown.click()
            expect(answers).to_have_count(before + 1)
            expect(shown.or_(notice)).to_be_visible()


@pytest.fixture
def traps(visit: Visit) -> Any:
    def go(name: str = "", **options: Any) -> Any:
        visitor = visit(None, **options)
        return TrapsVisitor(visitor.page, visitor.address).open(f"/traps{f'?trap={name}' * bool(name)}")

    return go


def test_a_class_predicts_then_sees_both_products_and_tries_another_matrix(traps):
    visitor = traps()
    expect(visitor.page.get_by_text("hidden[0] = ")).to_have_count(0)
    visitor.page.get_by_text("Other numbers come out, and nothing complains").click()
    visitor.button("Check my prediction").click()
    visitor.shows_text(re.compile("^You predicted Other numbers .* that is right"))
    visitor.shows_text(re.compile(re.escape("≠ hidden[1] = 2.0*1.0 + 4.0*2.0 + 0 = 10")))
    visitor.page.get_by_label("W, one row a line").first.fill("0 1\n2 0")
    visitor.page.get_by_label("x, one row").first.focus()
    visitor.shows_text(re.compile(re.escape("hidden[0] is 4, not 2; hidden[1] is 1, not 2")))


def test_by_keyboard_alone_a_number_is_predicted_and_x_is_moved(traps):
    visitor = traps("after")
    visitor.page.get_by_label("Your prediction, a number").focus()
    visitor.keyboard.type("0")
    visitor.keyboard.press("Enter")
    visitor.shows_text(re.compile("^You predicted 0; it is 1"))
    slider = visitor.page.get_by_role("slider", name="x[0]")
    slider.focus()
    visitor.keyboard.press("ArrowRight")
    visitor.shows_text(re.compile(re.escape("≠ residual[0] = 1.25 + 0.0 = 1.25")))
    expect(visitor.figure("where x is 1.25: x + FFN(x) is 0 right, 1.25 with")).to_be_visible()


def test_enter_without_a_prediction_reveals_nothing(traps):
    visitor = traps("after")
    visitor.page.get_by_label("Your prediction, a number").focus()
    visitor.keyboard.press("Enter")
    visitor.shows_text(re.compile("^There is no prediction yet"))
    expect(visitor.page.get_by_role("heading", name="How to notice it")).to_have_count(0)


def test_a_prediction_is_remembered_on_the_way_to_another_trap_and_back(traps):
    visitor = traps("none")
    visitor.page.get_by_label("Your prediction, a number").fill("0")
    visitor.button("Check my prediction").click()
    visitor.shows_text(re.compile("^You predicted 0, and that is right"))
    visitor.button("Next trap").click()
    expect(visitor.page.get_by_role("heading", name="An activation before W1")).to_be_visible()
    visitor.page.wait_for_url(re.compile("trap=before"))
    visitor.page.get_by_text("No activation", exact=True).click()
    visitor.shows_text(re.compile("^You predicted 0, and that is right"))
    visitor.page.wait_for_url(re.compile("trap=none"))


def test_the_frames_of_the_flat_list_move_with_the_row(traps):
    visitor = traps("stride")
    visitor.reveal_all()
    chart = visitor.figure("The code reads elements 2, 3, 4: 3, 4, 5. Not the same.")
    expect(chart.locator(".main-svg").first).to_be_visible()
    visitor.page.get_by_label("Row", exact=True).last.fill("0")
    visitor.keyboard.press("Enter")
    expect(visitor.figure("The code reads elements 0, 1, 2: 1, 2, 3. The same.")).to_be_visible()


def test_the_line_of_the_two_gelus_is_moved_from_the_slider(traps):
    visitor = traps("form")
    visitor.reveal_all()
    visitor.shows_text(re.compile(r"^At x = 1 they differ by 0\.000153"))
    visitor.page.get_by_role("slider").focus()
    visitor.keyboard.press("ArrowRight")
    visitor.shows_text(re.compile(r"^At x = 1\.1 they differ"))


@pytest.mark.parametrize("look", ["light", "dark"])
@pytest.mark.parametrize("trap", ["stride", "after", "top_k"])
def test_axe_finds_no_violation(traps, trap, look):
    visitor = traps(trap, bypass_csp=True, color_scheme=look)
    visitor.reveal_all()
    expect(visitor.page.locator(".main-svg").first).to_be_visible()
    visitor.page.mouse.move(0, 0)  # Streamlit writes what is pointed at in its own colour
    assert visitor.violations() == []


def test_a_phone_shows_every_trap_without_sideways_scrolling(traps):
    phone = traps(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    for at, _ in enumerate(NAMES):
        phone.reveal_all()
        wider = phone.page.evaluate(
            """() => [document.documentElement, document.querySelector('[data-testid="stMain"]')]
                .map((e) => e.scrollWidth - e.clientWidth)"""
        )
        assert wider == [0, 0]
        for chart in phone.page.locator(".hourglass-plot").all():
            box = chart.bounding_box()
            assert 0 <= box["x"] < box["x"] + box["width"] <= 390
        if at < len(NAMES) - 1:
            phone.button("Next trap").click()
            phone.shows_text(f"Trap {at + 2} of {len(NAMES)}")
            phone.ready()
