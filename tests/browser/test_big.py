"""128 to 512: more numbers than pixels, so arrays are pooled, and one neuron is large and editable."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.visitor import Visit, Visitor

pytestmark = pytest.mark.browser


@pytest.fixture
def big(visit: Visit) -> Visitor:
    visitor = visit(None)
    visitor.page.goto(visitor.address + "/?ex=random")
    expect(visitor.cell("w1[0][0]")).to_be_visible()
    return visitor


def picture(visitor: Visitor, name: str) -> str:
    data: str = visitor.board.locator(f'canvas[data-array="{name}"]').evaluate("canvas => canvas.toDataURL()")
    return data


REPAINTED = """(canvas, before) => new Promise((done) => {
    let frames = 0;
    const look = () => {
        const repainted = canvas.toDataURL() !== before;
        if (repainted || (frames += 1) > 600) done(repainted);
        else requestAnimationFrame(look);
    };
    look();
})"""


def test_pooled_arrays_say_that_they_are_pooled_and_how(big: Visitor):
    for name, shape in (("w1", "512 by 128"), ("w2", "128 by 512"), ("hidden", "512")):
        label = big.board.locator(f'canvas[data-array="{name}"]').get_attribute("aria-label") or ""
        assert shape in label
        assert "each shows its entry of greatest magnitude" in label
    expect(big.board.locator(".pooled-note")).to_contain_text("greatest magnitude")


def test_a_click_on_a_block_follows_a_neuron_of_that_block(big: Visitor):
    canvas = big.board.locator('canvas[data-array="hidden"]')
    box = canvas.bounding_box()
    assert box is not None
    canvas.click(position={"x": box["width"] / 2, "y": box["height"] * 0.75})
    picker = big.page.get_by_label("Neuron shown large")
    expect(picker).not_to_have_value("0")
    neuron = int(picker.input_value())
    assert abs(neuron - 0.75 * 512) <= 512 / 32  # a block is a few neurons high
    expect(big.cell(f"w1[{neuron}][0]")).to_be_visible()
    expect(big.cell(f"w2[0][{neuron}]")).to_be_visible()
    big.page.wait_for_url(f"**n={neuron}")


def test_a_neuron_can_be_called_by_its_number(big: Visitor):
    picker = big.page.get_by_label("Neuron shown large")
    picker.fill("300")
    picker.press("Enter")
    for name in ("w1[300][0]", "w1[300][127]", "b1[300]", "w2[0][300]", "w2[127][300]"):
        expect(big.cell(name)).to_be_visible()
    expect(big.board.locator(".heading", has_text="key 300: row 300 of W1")).to_be_visible()
    picker.fill("100000")  # there are 512
    picker.press("Enter")
    expect(big.cell("w1[511][0]")).to_be_visible()
    expect(picker).to_have_value("511")


def test_editing_the_large_neuron_changes_the_numbers_and_the_picture(big: Visitor):
    x = big.number("x[0][0]")
    hidden = picture(big, "hidden")
    big.edit("w1[0][0]", "5")
    big.wait_for_link(lambda scenario: scenario.build()[0].w1[0, 0] == 5)
    big.cell("w1[0][0]").focus()
    expect(big.board.locator(".panel")).to_contain_text(f"adds {5 * x:.3g} to hidden")
    big.edit("b1[0]", "9")
    big.wait_for_link(lambda scenario: len(scenario.edits) == 2)
    expect(big.cell("b1[0]")).to_have_attribute("aria-label", re.compile(": 9, changed$"))
    assert big.board.locator('canvas[data-array="hidden"]').evaluate(REPAINTED, hidden)
