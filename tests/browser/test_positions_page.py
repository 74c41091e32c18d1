"""One position at a time: "The cat sat" as three columns through one FFN, and no column looks at another."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, expect

from ffn_core.positionwise import shuffle_order
from ffn_core.scenario import Scenario
from tests.browser.visitor import Visit, Visitor, query

pytestmark = pytest.mark.browser

STAGES = ("x [3, 8]", "hidden [3, 16]", "activated [3, 16]", "output [3, 8]")


@pytest.fixture
def cat(visit: Visit) -> Visitor:
    return visit("/positions?ex=cat")


def figure(visitor: Visitor, name: str) -> Locator:
    """A figure by the beginning of its text alternative."""
    return visitor.page.locator(f'[role="figure"][aria-label^="{name}"]')


def says(visitor: Visitor, name: str, text: str) -> None:
    expect(figure(visitor, name)).to_have_attribute("aria-label", re.compile(re.escape(text)))


def test_at_first_every_position_says_difference_0(cat: Visitor):
    for stage in STAGES:
        says(cat, stage, "Greatest difference from the start: The 0, cat 0, sat 0.")
        expect(figure(cat, stage).locator(".xtick text")).to_have_text(
            ["Thedifference0", "catdifference0", "satdifference0"]
        )


def test_editing_a_token_changes_its_column_alone_and_mixing_would_reach_every_later_one(cat: Visitor):
    cat.button("Position 1: cat").click()
    cat.edit("x[1][0]", "1")  # 'cat' is now a determiner as well: the first key finds 1 where it found 0
    says(cat, "x [3, 8]", "The 0, cat 1, sat 0.")
    says(cat, "hidden", "The 0, cat 1, sat 0.")
    # The first neuron's value writes GELU(1) = 0.841 to "wants a noun", and nothing changes more than that.
    says(cat, "output [3, 8]", "The 0, cat 0.841, sat 0.")
    expect(figure(cat, "output [3, 8]").locator(".xtick text")).to_have_text(
        ["Thedifference0", "catdifference0.841", "satdifference0"]
    )
    expect(cat.page.get_by_text("x was changed at cat, and only there")).to_be_visible()
    says(cat, "Greatest difference of the output", "FFN alone: The 0, cat 0.841, sat 0.")
    mixed = figure(cat, "Greatest difference of the output")
    expect(mixed).to_have_attribute(
        "aria-label", re.compile(r"average, then FFN: The 0, cat 0\.\d+, sat 0\.\d+\.")
    )


def test_the_page_offers_an_edit_and_takes_it_back(cat: Visitor):
    cat.button("Add 1 to x[0][0] of “The”").click()
    says(cat, "x [3, 8]", "The 1, cat 0, sat 0.")
    cat.holds("x[0][0]", "2")
    cat.wait_for_link(lambda scenario: [tuple(edit) for edit in scenario.edits] == [("x", (0, 0), 2.0)])
    cat.button("Undo").click()
    says(cat, "x [3, 8]", "The 0, cat 0, sat 0.")
    expect(cat.button("Add 1 to x[0][0] of “The”")).to_be_visible()


def test_a_press_on_a_column_chooses_its_position(cat: Visitor):
    expect(cat.button("Position 0: The")).to_have_attribute("aria-pressed", "true")
    figure(cat, "hidden").locator(".nsewdrag").click()  # in the middle
    expect(cat.button("Position 1: cat")).to_have_attribute("aria-pressed", "true")
    cat.page.wait_for_url("**p=1*")


def test_the_outputs_shuffle_with_the_positions_and_each_press_gives_another_order_that_the_link_keeps(
    cat: Visitor,
):
    columns = figure(cat, "output of the shuffled x").locator(".xtick text")
    expect(columns).to_have_text(["sat", "The", "cat"])
    alerts = cat.page.get_by_test_id("stAlert")
    expect(alerts.first).to_contain_text("outputs of the shuffled x: greatest difference")
    expect(alerts.first).to_contain_text("within the tolerance of")
    expect(alerts.first).to_contain_text("the same to rounding")
    order = ["sat", "The", "cat"]
    for _ in range(3):
        cat.button("Shuffle").click()
        expect(columns).not_to_have_text(order)
        order = columns.all_text_contents()
        assert sorted(order) == ["The", "cat", "sat"]
        expect(cat.page.get_by_text(f"The new order is {', '.join(order)}, positions")).to_be_visible()

    def keeps_the_order(address: str) -> bool:
        seed = parse_qs(urlsplit(address).query).get("o", ["0"])[0]
        return [("The", "cat", "sat")[p] for p in shuffle_order(3, int(seed))] == order

    cat.page.wait_for_url(keeps_the_order)
    cat.page.reload()
    expect(columns).to_have_text(order)


def test_the_numbers_of_the_columns_are_white_on_the_mid_blues_of_dark_paper(visit: Visit):
    visitor = visit("/positions?ex=cat", color_scheme="dark")
    cells = figure(visitor, "x [3, 8]").locator(".textpoint text")
    expect(cells).to_have_count(24)
    inks = cells.evaluate_all("(cells) => cells.map((cell) => getComputedStyle(cell).fill)")
    # 1 stands on a mid blue and 0 on the paper.
    assert set(inks) == {"rgb(255, 255, 255)"}


def test_the_convolutions_of_kernel_1_give_the_same_with_a_tolerance_that_is_said(cat: Visitor):
    verdict = cat.page.get_by_test_id("stAlert").nth(1)
    expect(verdict).to_contain_text(
        re.compile(r"The FFN and the convolutions: greatest difference \S+, within the tolerance of \S+e-1\d")
    )
    expect(cat.page.get_by_text("W1 as a kernel [16, 8, 1]")).to_be_visible()


def test_changed_weights_are_told_apart_from_changed_positions(cat: Visitor):
    cat.edit("b2[0]", "0.5")
    says(cat, "output [3, 8]", "The 0.5, cat 0.5, sat 0.5.")
    expect(cat.page.get_by_text("All positions share them")).to_be_visible()
    cat.edit("x[0][0]", "3")
    says(cat, "x [3, 8]", "The 2, cat 0, sat 0.")
    cat.page.get_by_text("Compare with the weights as they are now").click()
    expect(figure(cat, "output [3, 8]")).to_have_attribute(
        "aria-label", re.compile(r"The \S+, cat 0, sat 0\.$")
    )
    expect(cat.page.get_by_text("x was changed at The, and only there")).to_be_visible()

    cat.page.get_by_role("link", name="Weights").click()
    expect(cat.page.get_by_text("Before and after")).to_be_visible()
    cat.page.get_by_role("link", name="One position at a time").click()
    expect(cat.page.get_by_role("switch")).to_be_checked()
    expect(cat.page.get_by_text("x was changed at The, and only there")).to_be_visible()


def test_one_position_alone_is_told_how_to_get_company(visit: Visit):
    visitor = visit("/positions?ex=memories")
    expect(visitor.page.get_by_text("Here is one position only")).to_be_visible()
    expect(visitor.button("Shuffle")).to_have_count(0)
    visitor.button("Add a position").click()
    says(visitor, "x [2, 2]", "token 0 0, token 1 0.")
    expect(visitor.page.get_by_text("Of two positions there is only one other order")).to_be_visible()
    visitor.button("Open “The cat sat”").click()
    says(visitor, "x [3, 8]", "The 0, cat 0, sat 0.")
    expect(visitor.button("Open “The cat sat”")).to_have_count(0)
    visitor.button("Undo").click()
    says(visitor, "x [2, 2]", "token 0 0, token 1 0.")


def test_16_positions_of_128_to_512_are_pooled_and_still_change_alone(visit: Visit):
    visitor = visit(None)
    visitor.page.goto(visitor.address + "/positions?ex=random")
    says(visitor, "hidden [16, 512]", "512 neurons in 64 blocks, each its greatest.")
    expect(figure(visitor, "hidden [16, 512]").locator(".gtitle")).to_contain_text("512 neurons in 64 blocks")
    visitor.edit("x[0][0]", "9")
    others = ", ".join(f"token {p} 0" for p in range(1, 16))
    for stage in ("x [16, 128]", "hidden [16, 512]", "activated [16, 512]", "output [16, 128]"):
        expect(figure(visitor, stage)).to_have_attribute(
            "aria-label",
            re.compile(rf"start: token 0 [^0,]\S*, {others}\.$|start: token 0 0\.\d+, {others}\.$"),
        )
    mixed = figure(visitor, "Greatest difference of the output")
    expect(mixed).to_have_attribute("aria-label", re.compile(r"average, then FFN: .*token 15 0\.\d+\.$"))
    alerts = visitor.page.get_by_test_id("stAlert")
    expect(alerts).to_have_count(2)
    for alert in alerts.all():
        expect(alert).to_contain_text("the same to rounding")


def test_a_phone_shows_the_columns_below_each_other_without_sideways_scrolling(visit: Visit):
    phone = visit("/positions?ex=cat", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    tops = []
    for stage in STAGES:
        expect(figure(phone, stage).locator(".xtick text").first).to_be_visible()
        box = figure(phone, stage).bounding_box()
        assert box is not None
        assert 0 <= box["x"] < box["x"] + box["width"] <= 390
        tops.append(box["y"])
    assert tops == sorted(set(tops))
    wider = phone.page.evaluate(
        """() => [document.documentElement, document.querySelector('[data-testid="stMain"]')]
            .map((e) => e.scrollWidth - e.clientWidth)"""
    )
    assert wider == [0, 0]


@pytest.mark.parametrize("page", ["positions", "curves", "memories"])
def test_a_hostile_word_in_a_link_is_shown_as_it_stands(visit: Visit, page: str):
    words = ("[a](//e.vl)", "https://e.vl/a", "<a href='//e.vl'>")
    named = Scenario(base="cat").edit(*(("word", (p,), word) for p, word in enumerate(words)))
    visitor = visit(None)
    visitor.page.goto(f"{visitor.address}/{page}{query(named)}")
    expect(visitor.page.locator(".hourglass-plot .main-svg").first).to_be_visible()
    text = {"positions": "The frame follows", "curves": "[a](//e", "memories": "Who fires where"}[page]
    expect(visitor.page.get_by_text(text).first).to_be_visible()
    expect(visitor.page.locator('a[href*="e.vl"], a[*|href*="e.vl"]')).to_have_count(0)
