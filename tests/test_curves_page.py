"""The page "GELU and ReLU" as Streamlit runs it, without a browser: what is set on it is kept, and said in the link."""

from dataclasses import replace

import pytest

from ffn_app.session import apply, open_session
from ffn_app.view import VIEW_FIELDS, View
from tests.test_pages import labelled, session, visit

# The link


def test_a_link_keeps_what_is_set_on_the_page():
    view = View(
        curves=("silu", "gelu_tanh"), span=(-2.5, 3.0), pair=("silu", "relu"), falling=True, reading=-0.5
    )
    query = view.to_query()
    assert query == {"x": "-0.5", "f": "silu,gelu_tanh", "a": "-2.5,3", "k": "silu,relu", "b": "1"}
    assert View.from_query(query) == view
    assert view.lost(query) == []
    assert View().to_query() == {}, "what is as usual needs no words"


def test_a_link_keeps_that_no_curve_is_chosen():
    view = View(curves=())
    assert View.from_query(view.to_query()) == view
    assert view.lost(view.to_query()) == []


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (
            {"f": "relu,mouse"},
            "choice of curves 'relu,mouse' makes no sense here: relu,gelu is taken instead.",
        ),
        ({"f": "silu,silu"}, "choice of curves 'silu,silu' makes no sense here: relu,gelu is taken instead."),
        ({"f": ""}, "choice of curves '' makes no sense here: relu,gelu is taken instead."),
        ({"a": "4,-4"}, "range of x '4,-4' makes no sense here: -4,4 is taken instead."),
        ({"a": "1,1"}, "range of x '1,1' makes no sense here: -4,4 is taken instead."),
        ({"a": "0,1000"}, "range of x '0,1000' makes no sense here: -4,4 is taken instead."),
        ({"a": "0,1,2"}, "range of x '0,1,2' makes no sense here: -4,4 is taken instead."),
        ({"a": "nan,1"}, "range of x 'nan,1' makes no sense here: -4,4 is taken instead."),
        ({"k": "gelu"}, "pair of curves 'gelu' makes no sense here: gelu,gelu_tanh is taken instead."),
        ({"b": "7"}, "order of the bars '7' makes no sense here: 0 is taken instead."),
    ],
)
def test_a_damaged_setting_is_told_and_the_rest_of_the_link_kept(query, told):
    opened = open_session({"x": "2", "n": "3"} | query)
    assert opened.notices == (f"The link's {told}",)
    assert opened.view == View(reading=2.0, neuron=3)


def test_another_spelling_of_a_range_is_no_damage():
    assert open_session({"a": "-1.50,2.0", "f": "relu,gelu", "b": "0"}).notices == ()


def test_minus_zero_is_zero_in_a_link():
    view = View.from_query({"x": "-0", "a": "-0,1"})
    assert (view.to_query()["x"], view.to_query()["a"]) == ("0", "0,1")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("curves", ["relu"]), ("curves", ("mouse",)), ("curves", ("relu", "relu")), ("pair", ("relu",)),
        ("pair", "gelu"), ("span", (2.0, 1.0)), ("span", (0.0, 101.0)), ("span", (0.0, "1")), ("falling", 1),
    ],
)  # fmt: skip
def test_what_is_no_setting_of_the_page_is_refused(field, value):
    assert not VIEW_FIELDS[field](value)
    assert VIEW_FIELDS[field](getattr(View(), field))


def test_the_settings_of_the_page_stay_when_another_example_is_chosen():
    start = open_session({})
    session = replace(start, view=View(curves=("silu",), reading=2.5, span=(0.0, 5.0), neuron=3))
    there = apply(session, {"kind": "base", "name": "cat"})
    assert there.present.base == "cat"
    assert there.view == View(curves=("silu",), reading=2.5, span=(0.0, 5.0))


# The page


def opened(**query):
    visitor = visit("curves", query)
    assert [error.value for error in visitor.exception] == []
    return visitor


def numbers(visitor):
    return {field.label: field.value for field in visitor.number_input}


def test_the_page_opens_as_the_link_says():
    visitor = opened(f="silu", a="-2,3", k="silu,relu", b="1", x="-0.5")
    assert labelled(visitor.multiselect, "Curves").value == ["silu"]
    assert numbers(visitor) == {"Read at x =": -0.5, "x from": -2, "to": 3}
    assert labelled(visitor.selectbox, "Difference of").value == "silu"
    assert labelled(visitor.selectbox, "and").value == "relu"
    assert visitor.session_state["curves_order"] == "largest first"


def test_what_is_set_on_the_page_goes_into_the_link():
    visitor = opened()
    labelled(visitor.multiselect, "Curves").set_value(["tanh", "gelu"]).run()
    labelled(visitor.number_input, "x from").set_value(-1.5).run()
    labelled(visitor.number_input, "to").set_value(2.0).run()
    labelled(visitor.selectbox, "Difference of").set_value("relu").run()
    assert session(visitor).view.to_query() == {"f": "tanh,gelu", "a": "-1.5,2", "k": "relu,gelu_tanh"}


@pytest.mark.parametrize("label", ["Read at x =", "x from", "to"])
def test_an_emptied_field_shows_its_last_number_again(label):
    visitor = opened(x="1.5", a="-2,3")
    before = numbers(visitor)
    labelled(visitor.number_input, label).set_value(None).run()
    assert numbers(visitor) == before
    assert session(visitor).view.to_query() == {"x": "1.5", "a": "-2,3"}


def test_minus_zero_is_read_as_zero():
    visitor = opened()
    labelled(visitor.number_input, "Read at x =").set_value(-0.0).run()
    assert session(visitor).view.to_query() == {"x": "0"}
    assert "**All curves at x = 0**" in [text.value for text in visitor.markdown]


def test_the_heading_has_the_minus_of_all_numbers():
    assert "**All curves at x = −2.69894**" in [text.value for text in opened(x="-2.69894").markdown]


def test_a_reading_outside_of_the_range_is_told_with_the_way_out():
    visitor = opened(a="50,60")
    [told] = [info.value for info in visitor.info]
    assert told.startswith(
        "x = 1 lies outside of the plot, which runs from 50 to 60: read at an x between them"
    )
    labelled(visitor.number_input, "Read at x =").set_value(55.0).run()
    assert len(visitor.info) == 0


def test_a_refused_range_is_told_and_mended_by_the_other_end():
    visitor = opened(a="-2,4")
    labelled(visitor.number_input, "x from").set_value(5.0).run()
    [told] = [error.value for error in visitor.error]
    assert told == "x must run from a smaller number to a larger one; −2 to 4 is still drawn."
    assert numbers(visitor)["x from"] == 5, "what was typed is there to be mended"
    assert session(visitor).view.span == (-2, 4)
    labelled(visitor.number_input, "to").set_value(8.0).run()
    assert len(visitor.error) == 0
    assert session(visitor).view.span == (5, 8)


def test_gelu_is_worked_out_in_sight_at_the_reading():
    assert any("GELU(−1) = −1 × 0.1587 = −0.1587" in text.value for text in opened(x="-1").markdown)


def test_without_a_chosen_curve_the_tables_hold_the_networks_own():
    readings, landmarks, *_ = opened(f="none", act="silu").table
    assert list(readings.value["curve"]) == ["SiLU (this network's)", "GELU − GELU tanh"]
    assert list(landmarks.value["curve"]) == ["SiLU (this network's)"]


def test_identity_is_not_offered_where_it_is_chosen():
    texts = [text.value for text in opened(act="identity").markdown]
    assert any(text.endswith("This network is so now.") for text in texts)
    assert not any("Choose identity" in text for text in texts)
