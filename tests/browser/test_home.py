"""The home page on a projector: the worked example of the first lesson, every number right and in sight."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.visitor import Visitor

pytestmark = pytest.mark.browser


def test_the_worked_example_is_there_with_the_right_numbers(visitor: Visitor):
    # Each hidden value can be checked by hand: the first is 0.1*1.0 + 0.2*0.5 + 0.3*(-0.3) + 0.4*0.8.
    visitor.shows("x", "1 0.5 -0.3 0.8")
    visitor.shows("hidden", "0.43 0.37 0.63 0.57 0.51 0.61 0.39 0.49")
    visitor.shows("activated", "0.287 0.238 0.463 0.408 0.354 0.445 0.254 0.337")
    # The lesson prints 0.498 0.492 0.489 0.501 here; W2 times its own activated values gives less.
    visitor.shows("output", "0.421 0.415 0.425 0.411")
    visitor.shows("residual", "1.42 0.915 0.125 1.21")


def test_labels_have_more_digits_than_cells(visitor: Visitor):
    assert visitor.numbers("output") == pytest.approx([0.4215, 0.4145, 0.4249, 0.4111], abs=5e-5)
    activated = [0.2865, 0.2384, 0.4634, 0.4079, 0.3544, 0.4447, 0.2542, 0.3371]
    assert visitor.numbers("activated") == pytest.approx(activated, abs=5e-5)


def test_two_neurons_of_the_second_position_go_negative_and_come_through_gelu(visitor: Visitor):
    visitor.button("Position 1: token 1").click()
    # The lesson prints eight positive values and so hides what GELU does to negative ones.
    visitor.shows("hidden", "0.16 0.27 -0.02 0.09 0.06 -0.03 0.28 0.19")
    activated = visitor.numbers("activated")
    assert (activated[2], activated[5]) == pytest.approx((-0.0098, -0.0146), abs=5e-5)
    assert visitor.numbers("output") == pytest.approx([0.0896, 0.0872, 0.0908, 0.0860], abs=5e-5)


def test_the_whole_board_fits_a_projector_without_scrolling(visitor: Visitor):
    panel = visitor.board.locator(".panel").bounding_box()
    assert panel is not None
    assert panel["y"] + panel["height"] <= 720
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 1280
    for name in ("x", "w1", "b1", "hidden", "activated", "w2", "b2", "output", "residual"):
        box = visitor.array(name).bounding_box()
        assert box is not None
        assert 0 <= box["x"] < box["x"] + box["width"] <= 1280, name
        assert 0 <= box["y"] < box["y"] + box["height"] <= panel["y"], name


def test_every_heading_bears_the_shape_of_its_array(visitor: Visitor):
    shapes = visitor.board.locator(".heading").evaluate_all(
        "all => Object.fromEntries(all.map((h) => [h.children[0].textContent, h.children[1].textContent]))"
    )
    assert shapes["W1 · keys"] == "[8, 4]"
    assert shapes["W2 · values"] == "[4, 8]"
    assert (shapes["x"], shapes["hidden"], shapes["output"]) == ("[4]", "[8]", "[4]")


def test_pointing_at_a_number_explains_it_as_the_lesson_does(visitor: Visitor):
    visitor.cells("hidden").first.hover()
    panel = visitor.board.locator(".panel")
    expect(panel).to_contain_text("hidden[0][0] = 0.1*1.0 + 0.2*0.5 + 0.3*(-0.3) + 0.4*0.8 + 0 = 0.43")


@pytest.mark.parametrize("keys", [False, True], ids=["by button", "by arrow keys"])
def test_the_walk_goes_four_steps_forward_and_back_with_a_sentence_each(visitor: Visitor, keys: bool):
    board = visitor.board
    if keys:
        board.get_by_role("button", name="1 Expand").focus()

    def walk(forward: bool) -> None:
        if keys:
            visitor.keyboard.press("ArrowRight" if forward else "ArrowLeft")
        else:
            board.get_by_role("button", name="Next ›" if forward else "‹ Back").click()

    sentence = board.locator(".panel .sentence")
    names = ("1 Expand", "2 Activate", "3 Contract", "4 Add back")
    said = []
    for name in names:
        walk(forward=True)
        expect(board.locator('.step[aria-pressed="true"]')).to_have_text(name)
        expect(sentence).to_have_count(1)
        said.append(sentence.inner_text())
    for name, text in zip(names, said, strict=True):
        assert text.startswith(f"{name}. ")
        assert text.endswith(".")
        assert ". " not in text.removeprefix(f"{name}. "), "one sentence, not two"
    for name, text in list(zip(names, said, strict=True))[-2::-1]:
        walk(forward=False)
        expect(board.locator('.step[aria-pressed="true"]')).to_have_text(name)
        expect(sentence).to_have_text(text)
    walk(forward=False)  # back from the first step: the walk is over
    expect(board.locator('.step[aria-pressed="true"]')).to_have_count(0)
    expect(sentence).to_have_count(0)


def test_following_a_neuron_is_in_the_link(visitor: Visitor, visit):
    visitor.button("Follow neuron 5").click()
    visitor.page.wait_for_url("**/?n=5")
    other = visit("/?n=5")
    expect(other.button("Follow neuron 5")).to_have_attribute("aria-pressed", "true")


def test_relu_silences_the_neurons_whose_hidden_value_is_negative(visitor: Visitor):
    visitor.button("Position 1: token 1").click()
    visitor.shows("hidden", "0.16 0.27 -0.02 0.09 0.06 -0.03 0.28 0.19")
    visitor.page.get_by_role("button", name="ReLU", exact=True).click()
    visitor.shows("activated", "0.16 0.27 0 0.09 0.06 0 0.28 0.19")
    # output[0] = 0.1*0.16 + 0.2*0.27 + 0.2*0.09 + 0.1*0.06 + 0.1*0.28 + 0.2*0.19 = 0.16, and so on.
    visitor.shows("output", "0.16 0.155 0.161 0.154")
    visitor.shows("hidden", "0.16 0.27 -0.02 0.09 0.06 -0.03 0.28 0.19")  # the weights are the same


def test_relu_can_stand_beside_gelu_on_the_same_weights(visitor: Visitor):
    visitor.button("Position 1: token 1").click()
    visitor.shows("hidden", "0.16 0.27 -0.02 0.09 0.06 -0.03 0.28 0.19")
    beside = visitor.button(re.compile("ReLU beside"))
    beside.click()
    visitor.shows("activated_other", "0.16 0.27 0 0.09 0.06 0 0.28 0.19")
    visitor.shows("output_other", "0.16 0.155 0.161 0.154")
    assert visitor.numbers("output") == pytest.approx([0.0896, 0.0872, 0.0908, 0.0860], abs=5e-5)
    beside.click()
    expect(visitor.array("activated_other")).to_have_count(0)


def test_positions_are_added_named_and_removed(visitor: Visitor):
    chips = visitor.board.locator(".chip:not(.tool)")
    visitor.button("Add a position").click()
    expect(chips).to_have_count(3)
    visitor.shows("x", "0 0 0 0")  # the new position is the large one
    chips.nth(1).click()  # pressed again: rename
    visitor.board.locator("input.rename").fill("cat")
    visitor.keyboard.press("Enter")
    expect(chips).to_have_text(["token 0", "cat", "token 1"])
    visitor.wait_for_link(lambda scenario: scenario.words == ("token 0", "cat", "token 1"))
    visitor.button(name="Remove position 1").click()
    expect(chips).to_have_text(["token 0", "token 1"])
    visitor.button(name="Remove position 1").click()
    expect(chips).to_have_text(["token 0"])
    visitor.shows("hidden", "0.43 0.37 0.63 0.57 0.51 0.61 0.39 0.49")
    expect(visitor.button("Remove position 0")).to_be_disabled()  # one has to stay


def test_a_page_that_nobody_has_touched_says_how_to_begin_until_the_walk_does(visitor: Visitor):
    panel = visitor.board.locator(".panel")
    expect(panel).to_contain_text("Click x or any weight to type another value")
    visitor.button("1 Expand").click()
    expect(panel).to_contain_text("1 Expand.")
    expect(panel).not_to_contain_text("Click x or any weight")
