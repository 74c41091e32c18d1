"""The page "One position at a time" without a browser: what it says of a change, and the order of the shuffle."""

import itertools
import re

import pytest
from streamlit.testing.v1 import AppTest

from ffn_app.view import View
from ffn_core.scenario import Scenario
from tests.test_pages import FRAME, component, session, visit

AND = {"ex": "and_gate", "v": "1"}


def opened(**query: str) -> AppTest:
    visitor = visit("positions", query)
    assert [error.value for error in visitor.exception] == []
    return visitor


def said(visitor: AppTest) -> str:
    return "\n".join(element.value for element in visitor.markdown)


def plot(visitor: AppTest, key: str) -> str:
    """The text alternative of a figure."""
    text: str = component(visitor, key)["text"]
    return text


# What a change does, told by x


def test_a_change_that_no_key_reads_is_a_change_and_stops_before_hidden():
    told = said(opened(**AND, e="px0.2_5z"))
    assert "x was changed at **0 0**." in told
    assert "At **0 0** x changed, but hidden did not (within rounding): no key reads that change." in told
    assert "x changed, but no output of the FFN alone did (within rounding)." in told
    assert "Nothing is changed yet" not in told
    assert "only there do the numbers change" not in told


def test_a_change_that_the_nonlinearity_flattens_stops_before_activated():
    told = said(opened(**AND, e="px0.0_.5z"))  # hidden goes from -1 to -0.5, and ReLU gives 0 for both
    assert "At **0 0** hidden changed, but activated did not" in told


def test_a_change_whose_value_is_0_stops_before_output():
    query = Scenario(base="and_gate").edit(("w2", (2, 0), 0.0), ("x", (3, 0), 4.0)).to_query()
    assert "The **weights** were changed" in said(opened(**query))
    visitor = visit("positions", query, {"positions_keep_weights": True})
    assert "At **1 1** activated changed, but output did not (within rounding)" in said(visitor)


def test_a_change_that_goes_all_the_way_says_no_more():
    told = said(opened(ex="cat", v="1", e="px1.0_1z"))
    assert (
        "x was changed at **cat**, and only there do the numbers change. **The, sat**: difference 0" in told
    )
    assert "did not (within rounding)" not in told


def test_a_huge_number_at_one_position_hides_no_change_at_another():
    visitor = opened(ex="cat", v="1", e="px0.0_1e16zx1.0_.5z")
    for stage in ("hidden", "activated", "output"):
        assert re.search(r"The \S+, cat 0\.[1-9]\d*, sat 0\.$", plot(visitor, f"columns_{stage}"))
    [caption] = [element.value for element in visitor.caption if "count as 0" in element.value]
    assert "depending on the position" in caption


# Mixing


def test_before_any_change_mixing_shows_what_adding_1_would_do():
    visitor = opened(ex="cat")
    told = said(visitor)
    assert "Nothing is changed yet: this is what **would** happen." in told
    assert "FFN alone: **The**; average, then FFN: **The, cat, sat**." in told
    text = plot(visitor, "reach")
    assert "How far adding 1 to x[0][0] of “The” would reach" in text
    assert re.search(r"FFN alone: The [1-9.]+, cat 0, sat 0\.", text)
    assert re.search(r"average, then FFN: The [0-9.]+, cat 0\.\d+, sat 0\.\d+\.", text)


def test_what_would_happen_is_what_happens():
    before = plot(opened(ex="cat"), "reach")
    after = plot(opened(ex="cat", v="1", e="px0.0_2z"), "reach")
    assert before.partition(" would reach. ")[2] == after.partition("How far the change reaches. ")[2] != ""


def test_from_the_last_position_mixing_still_shows_a_change_that_reaches_a_later_one():
    assert "How far adding 1 to x[1][0] of “cat” would reach" in plot(opened(ex="cat", p="2"), "reach")


# The order of the shuffle


def order(visitor: AppTest) -> str:
    [found] = re.findall(r"The new order is .*positions ([\d, ]+)\.", said(visitor))
    return str(found)


def shuffle(visitor: AppTest) -> AppTest:
    [button] = [element for element in visitor.button if element.label == "Shuffle"]
    return button.click().run()


def test_the_button_always_gives_another_order():
    visitor = opened(ex="cat")
    shown = [order(visitor)]
    for _ in range(6):
        shown.append(order(shuffle(visitor)))
    assert all(one != other for one, other in itertools.pairwise(shown))
    assert "0, 1, 2" not in shown


def test_a_link_and_a_reload_keep_the_order():
    visitor = shuffle(opened(ex="cat"))
    seed = session(visitor).view.shuffle
    assert f"o={seed}" in component(visitor, FRAME)["query"].split("&")
    again = opened(ex="cat", o=str(seed))
    assert order(again) == order(visitor)
    assert View.from_query(View(shuffle=seed).to_query()).shuffle == seed


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("many", ["The link's shuffle 'many' makes no sense here: 0 is taken instead."]),
        ("123456", ["The link's shuffle '123456' makes no sense here: 9999 is taken instead."]),
        ("0", []),
    ],
)
def test_a_damaged_order_in_a_link_is_told(text, told):
    assert list(session(opened(ex="cat", o=text)).notices) == told


def test_after_the_last_order_comes_the_first():
    assert session(shuffle(opened(ex="cat", o="9999"))).view.shuffle < 9


def test_of_two_positions_there_is_one_other_order_and_no_button():
    visitor = opened()  # the worked example
    assert "Of two positions there is only one other order." in said(visitor)
    assert "Shuffle" not in [button.label for button in visitor.button]
    assert order(visitor) == "1, 0"


def test_the_frame_follows_the_chosen_position_in_both_orders():
    visitor = opened(ex="cat", p="1")
    assert "The frame follows **cat**" in said(visitor)
    places = [int(place) for place in order(visitor).split(", ")]
    for title, place in (("output, in order", 1), ("output of the shuffled x", places.index(1))):
        figure = component(visitor, f"shuffle_{title}")["figure"]
        assert f'"x0": {place - 0.48}' in figure
