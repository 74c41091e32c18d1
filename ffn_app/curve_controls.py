"""The controls above the curves: which ones, over which range, which difference, and where to read them."""

from typing import Any, NamedTuple, cast

import streamlit as st

from ffn_app.session import MOST_READING
from ffn_app.shell import look_at
from ffn_core.activations import ACTIVATIONS

START: dict[str, Any] = {
    "set_curves": ["relu", "gelu"],
    "set_range": (-4.0, 4.0),
    "set_one": "gelu",
    "set_other": "gelu_tanh",
}


class Choice(NamedTuple):
    """What a reader has set."""

    curves: tuple[str, ...]
    low: float
    high: float
    pair: tuple[str, str]


def curve_controls(reading: float) -> Choice:
    """Draw the controls. `reading` is the x that the curves are read at now."""
    state = st.session_state
    for key, value in START.items():
        state.setdefault(key, value)
    state["reading"] = float(reading)
    chosen, spanned, one, other, read = st.columns([4, 3, 2, 2, 2])
    curves = chosen.multiselect("Curves", ACTIVATIONS, format_func=_label, key="set_curves")
    # That it has two ends is known from the session's state.
    span = spanned.slider("Range of x", -10.0, 10.0, step=0.5, format="%g", key="set_range")
    low, high = cast(tuple[float, float], span)
    pair = (
        one.selectbox("Difference of", ACTIVATIONS, format_func=_label, key="set_one"),
        other.selectbox("and", ACTIVATIONS, format_func=_label, key="set_other"),
    )
    read.number_input(
        "Read at x =",
        -MOST_READING,
        MOST_READING,
        step=0.1,
        format="%.6g",
        key="reading",
        on_change=lambda: look_at(reading=state["reading"]),
    )
    if low == high:
        spanned.error("A range needs two ends: move them apart. The last one is still drawn.")
        low, high = state.get("set_drawn", START["set_range"])
    state["set_drawn"] = (low, high)
    return Choice(tuple(curves), low, high, pair)


def choose_order() -> bool:
    """Whether the bars are sorted, largest hidden first."""
    orders = ["in order", "largest first"]
    st.session_state.setdefault("set_order", orders[0])
    return st.segmented_control("Bars", orders, key="set_order", required=True) == orders[1]


def _label(name: str) -> str:
    return ACTIVATIONS[name].label
