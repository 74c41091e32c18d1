"""The page "GELU and ReLU" as Streamlit runs it, without a browser: what is set on it is kept, and said in the link."""

from dataclasses import replace

import pytest

from ffn_app.session import apply, open_session
from ffn_app.view import VIEW_FIELDS, View

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
