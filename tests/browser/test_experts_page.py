"""Experts in a browser: the router's numbers and settings send tokens elsewhere, and the link keeps them there."""

import re

import pytest
from playwright.sync_api import Locator, expect

from ffn_core.scenario import Scenario
from tests.browser.visitor import Visit, Visitor, query

pytestmark = pytest.mark.browser

ROUTED = "Heatmap of router probabilities"
MIXED = "The output for"
LOADED = "Tokens computed by each expert"


@pytest.fixture
def visitor(visit: Visit) -> Visitor:
    return visit("/experts")


def figure(visitor: Visitor, name: str) -> Locator:
    """A figure by the beginning of its text alternative."""
    return visitor.page.locator(f'[role="figure"][aria-label^="{name}"]')


def says(visitor: Visitor, name: str, text: str) -> None:
    expect(figure(visitor, name)).to_have_attribute("aria-label", re.compile(re.escape(text)))


def move(visitor: Visitor, slider: str, key: str) -> None:
    visitor.page.get_by_role("slider", name=slider).first.focus()
    visitor.keyboard.press(key)


def last_edit(visitor: Visitor, *edit: object) -> None:
    visitor.wait_for_link(lambda scenario: [tuple(made) for made in scenario.edits[-1:]] == [edit])


def test_every_word_goes_first_to_the_expert_of_its_class(visitor: Visitor):
    says(visitor, ROUTED, "The: 1st determiners with 0.881, 2nd nouns with 0.119.")
    says(visitor, ROUTED, "cat: 1st nouns with 0.937, 2nd verbs with 0.063.")
    expect(figure(visitor, ROUTED).locator(".xtick text")).to_have_text(
        ["0: determiners", "1: nouns", "2: verbs", "3: prepositions"]
    )


def test_top_k_moved_sends_each_token_to_more_experts_and_undo_takes_it_back(visitor: Visitor):
    move(visitor, "Top-k", "ArrowLeft")
    says(visitor, ROUTED, "cat: 1st nouns with 1.")
    says(visitor, LOADED, "determiners 2, nouns 2, verbs 1, prepositions 1.")
    last_edit(visitor, "top_k", (), 1)
    expect(visitor.page.get_by_role("slider", name="Top-k")).to_have_value("1")
    visitor.button("Undo").click()
    says(visitor, ROUTED, "cat: 1st nouns with 0.937, 2nd verbs with 0.063.")
    expect(visitor.page.get_by_role("slider", name="Top-k")).to_have_value("2")


def test_a_weight_of_the_router_moves_a_token_to_another_expert(visitor: Visitor):
    visitor.button(re.compile("^Position 1: cat")).click()
    # Verbs score x · [0, 1, 3, 0, 0, 0, 0, 1] = 1 for 'cat', nouns 3.7: with 5 on "noun" verbs have 5.
    visitor.edit("router[2][1]", "5")
    says(visitor, ROUTED, "cat: 1st verbs with 0.786, 2nd nouns with 0.214.")
    says(visitor, MIXED, "0.786 · verbs + 0.214 · nouns")
    last_edit(visitor, "router", (2, 1), 5.0)
    visitor.undo()
    says(visitor, ROUTED, "cat: 1st nouns with 0.937, 2nd verbs with 0.063.")


def test_a_capacity_drops_the_least_probable_token_and_a_reload_keeps_it(visitor: Visitor):
    visitor.page.get_by_text("Limit tokens per expert").click()
    # ceil(6 · 2 / 4 · 1) = 3 tokens an expert, and nouns have 4.
    says(visitor, LOADED, "capacity 3: determiners 3, nouns 3 and 1 dropped, verbs 3, prepositions 2.")
    says(visitor, ROUTED, "The: 1st determiners with 0.881, 2nd nouns, dropped.")
    expect(figure(visitor, ROUTED).locator(".shape-label", has_text="×")).to_have_count(1)
    last_edit(visitor, "capacity", (), 1.0)
    visitor.page.reload()
    visitor.ready()
    says(visitor, LOADED, "capacity 3: determiners 3, nouns 3 and 1 dropped, verbs 3, prepositions 2.")
    expect(visitor.page.get_by_role("switch", name="Limit tokens per expert")).to_be_checked()


def press(visitor: Visitor, chart: Locator, column: int, row: int) -> None:
    expect(chart.locator(".nsewdrag")).to_be_attached()
    x, y = visitor.place(chart, column, row)
    visitor.page.mouse.move(x, y)
    expect(chart.locator(".hoverlayer .hovertext").first).to_be_visible()
    visitor.page.mouse.click(x, y)


def test_a_press_on_a_cell_chooses_its_token_and_its_expert(visitor: Visitor):
    says(visitor, MIXED, "The output for The is")
    press(visitor, figure(visitor, ROUTED), 2, 5)
    says(visitor, MIXED, "The output for mat is 0.943 · nouns + 0.0573 · verbs.")
    visitor.page.wait_for_url(re.compile(r"p=5.*q=2|q=2.*p=5"))
    expect(visitor.page.get_by_text("verbs computes 3 of 6 tokens")).to_be_visible()


def test_the_lessons_network_as_one_expert_gives_the_lessons_output(visitor: Visitor):
    visitor.button("Open “One expert, the lesson's network”").click()
    visitor.shows("output", "0.421 0.415 0.425 0.411")
    expect(visitor.page.get_by_text("over all 2 tokens and 4 coordinates, is 0.")).to_be_visible()


def test_random_experts_follow_settings_and_the_router_alike(visit: Visit):
    visitor = visit("/experts?ex=experts_random")
    says(visitor, ROUTED, "token 0: 1st expert 5 with 0.528, 2nd expert 2 with 0.472.")
    move(visitor, "Top-k", "ArrowRight")
    says(visitor, ROUTED, "3rd expert")
    last_edit(visitor, "top_k", (), 3)
    visitor.edit("router[3][0]", "40")  # token 0 has 0.103 there: the logit of expert 3 grows by 4
    says(visitor, ROUTED, "token 0: 1st expert 3 with")
    says(visitor, MIXED, "· expert 3 + ")


def test_an_expert_can_be_added(visit: Visit):
    visitor = visit("/experts" + query(Scenario(base="experts")))
    move(visitor, "Experts", "ArrowRight")
    last_edit(visitor, "n_experts", (), 5)
    expect(figure(visitor, ROUTED).locator(".xtick text")).to_have_text(
        ["0: determiners", "1: nouns", "2: verbs", "3: prepositions", "4"]
    )


def test_a_phone_shows_all_of_it_without_sideways_scrolling(visit: Visit):
    phone = visit(
        "/experts?ex=experts_random", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    for name in (ROUTED, MIXED, LOADED):
        expect(figure(phone, name).locator(".xtick text").first).to_be_visible()
        box = figure(phone, name).bounding_box()
        assert box is not None
        assert 0 <= box["x"] < box["x"] + box["width"] <= 390
    wider = phone.page.evaluate(
        """() => [document.documentElement, document.querySelector('[data-testid="stMain"]')]
            .map((e) => e.scrollWidth - e.clientWidth)"""
    )
    assert wider == [0, 0]
