"""The Weights page: size, fill, files, and every array beside what it was."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.visitor import Visit, Visitor

pytestmark = pytest.mark.browser


@pytest.fixture
def weights(visit: Visit) -> Visitor:
    return visit("/weights")


def test_a_wider_hidden_layer_keeps_what_fits(weights: Visitor):
    weights.edit("w1[0][0]", "0.9")
    weights.page.get_by_role("button", name="Size", exact=True).click()
    width = weights.page.get_by_label("d_ff, the width of")
    width.fill("9")
    width.press("Enter")
    expect(weights.cells("w1")).to_have_count(36)
    weights.shows("hidden", "1.23 0.37 0.63 0.57 0.51 0.61 0.39 0.49 0")  # the new neuron has no weights yet
    assert weights.numbers("w1")[-8:] == [0.4, 0.2, 0.3, 0.1, 0, 0, 0, 0]
    assert [weights.number(f"w2[0][{j}]") for j in range(9)] == [0.1, 0.2, 0.1, 0.2, 0.1, 0.2, 0.1, 0.2, 0]
    weights.wait_for_link(lambda scenario: scenario.build()[0].d_ff == 9)


def test_the_same_seed_fills_in_the_same_numbers_for_everybody(weights: Visitor, visit):
    filled = []
    for visitor in (weights, visit("/weights")):
        before = visitor.numbers("w1")
        visitor.page.get_by_role("button", name="Fill").click()
        seed = visitor.page.get_by_label("Seed", exact=True)
        seed.fill("7")
        seed.press("Enter")
        visitor.page.get_by_role("button", name="Randomize").click()
        visitor.wait_for_link(
            lambda scenario: [tuple(edit) for edit in scenario.edits] == [("randomize", ("w1",), 7)]
        )
        expect(visitor.cell("w1[0][0]")).not_to_have_attribute(
            "aria-label", "W1 row 0, column 0, w1[0][0]: 0.1"
        )
        after = visitor.numbers("w1")
        assert len(set(after)) == 32
        assert set(after).isdisjoint(before)
        filled.append(after)
    assert filled[0] == filled[1]


def test_a_saved_file_brings_everything_back(weights: Visitor, tmp_path: Path):
    weights.edit("w1[0][0]", "0.9")
    weights.edit("x[0][3]", "-0.25")
    # 0.9 + 0.1 - 0.09 - 0.1 and so on: the last product of each key is now with -0.25.
    edited = "0.81 0.055 0.42 0.465 0.09 0.295 0.18 0.385"
    weights.shows("hidden", edited)
    weights.page.get_by_role("button", name="Save to a file").click()
    with weights.page.expect_download() as download:
        weights.page.get_by_role("button", name="JSON, everything").click()
    path = tmp_path / "mine.json"
    download.value.save_as(path)
    assert json.loads(path.read_text(encoding="utf-8"))["w1"][0][0] == 0.9
    weights.keyboard.press("Escape")

    weights.button("Back to the starting point").click()
    weights.shows("hidden", "0.43 0.37 0.63 0.57 0.51 0.61 0.39 0.49")
    weights.page.get_by_role("button", name="Open a file").click()
    weights.page.locator("input[type=file]").set_input_files(path)
    weights.page.get_by_role("button", name="Open it").click()
    weights.shows("hidden", edited)


def test_a_file_that_is_none_is_refused_with_a_reason(weights: Visitor, tmp_path: Path):
    path = tmp_path / "broken.json"
    path.write_text("[" * 100_000, encoding="utf-8")
    weights.page.get_by_role("button", name="Open a file").click()
    weights.page.locator("input[type=file]").set_input_files(path)
    expect(weights.page.get_by_test_id("stAlert")).to_be_visible()
    weights.shows("hidden", "0.43 0.37 0.63 0.57 0.51 0.61 0.39 0.49")


def test_the_difference_to_the_starting_point_is_drawn(weights: Visitor):
    weights.edit("w1[0][0]", "0.35")
    weights.shows("hidden", "0.68 0.37 0.63 0.57 0.51 0.61 0.39 0.49")
    comparison = Visitor(weights.page, weights.address)
    comparison.board = weights.page.locator(".board").nth(1)
    comparison.shows("hidden", "0.25 0 0 0 0 0 0 0")  # the weight times x[0][0] = 1
    assert comparison.numbers("w1") == pytest.approx([0.25, *[0.0] * 31])
    weights.page.get_by_text("Starting point", exact=True).click()
    comparison.shows("hidden", "0.43 0.37 0.63 0.57 0.51 0.61 0.39 0.49")
    assert comparison.number("w1[0][0]") == 0.1
    weights.shows("hidden", "0.68 0.37 0.63 0.57 0.51 0.61 0.39 0.49")
