"""axe, the accessibility checker, finds nothing to object to, in any look and with an edit under way."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("look", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/weights"])
def test_axe_finds_no_violation(visit, path: str, look: str):
    # The app's own policy would keep the checker's script out.
    visitor = visit(path, bypass_csp=True, color_scheme=look)
    assert visitor.violations() == []

    visitor.page.get_by_role("button", name=re.compile("ReLU beside")).click()
    visitor.board.get_by_role("button", name="Next ›").click()
    visitor.button("Follow neuron 2").click()
    visitor.edit("w1[0][0]", "-0.4")
    expect(visitor.array("activated_other")).to_be_visible()
    visitor.cell("w1[1][1]").click()
    expect(visitor.editor).to_be_visible()
    assert visitor.violations() == [], "with the editor open, ReLU beside, a step and a neuron"

    visitor.keyboard.type("abc")
    visitor.keyboard.press("Enter")
    expect(visitor.board.get_by_role("alert")).to_be_visible()
    assert visitor.violations() == [], "with a refusal shown"


def test_axe_sees_the_inside_of_the_board(visit):
    visitor = visit("/", bypass_csp=True)
    visitor.cells("x").first.evaluate(
        "cell => cell.removeAttribute('aria-label') || cell.setAttribute('role', 'img')"
    )
    assert any("role-img-alt" in fault for fault in visitor.violations())


def test_the_big_board_has_no_violation_either(visit):
    visitor = visit(None, bypass_csp=True)
    visitor.page.goto(visitor.address + "/?ex=random")
    expect(visitor.cell("w1[0][0]")).to_be_visible()
    assert visitor.violations() == []


@pytest.mark.parametrize("size", [1, 2], ids=["120%", "145%"])
def test_the_text_size_switch_makes_the_board_larger_and_keeps_it_in_sight(visit, size: int):
    visitor = visit("/", locale="en-US")  # a browser of its own: the size is remembered
    before = visitor.board.locator(".heading .name").first.evaluate(
        "e => parseFloat(getComputedStyle(e).fontSize)"
    )
    for _ in range(size):
        visitor.button(re.compile("^Text size")).click()
    expect(visitor.button("Text size: 120%" if size == 1 else "Text size: 145%")).to_be_visible()
    after = visitor.board.locator(".heading .name").first.evaluate(
        "e => parseFloat(getComputedStyle(e).fontSize)"
    )
    assert after > before
    assert visitor.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for name in ("x", "w1", "hidden", "activated", "w2", "output", "residual"):
        box = visitor.array(name).bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 1280, name
