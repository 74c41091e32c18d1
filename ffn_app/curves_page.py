"""The parts of the page "GELU and ReLU" that a reader sets: the curves, and the neurons on them."""

from typing import Any, NamedTuple

import streamlit as st

from ffn_app import curve_tables as tables
from ffn_app.board.names import names_of
from ffn_app.figures.curves import bell, curve_panels
from ffn_app.figures.neurons import before_and_after, neurons_on_curve
from ffn_app.live_plot import live_plot
from ffn_app.session import Session
from ffn_app.shell import choose_neuron, choose_position, drawn_first, look_at
from ffn_app.view import MOST_READING
from ffn_core.activations import ACTIVATIONS

START: dict[str, Any] = {
    "curves_curves": ["relu", "gelu"],
    "curves_low": -4.0,
    "curves_high": 4.0,
    "curves_one": "gelu",
    "curves_other": "gelu_tanh",
}


class Choice(NamedTuple):
    """What a reader has set."""

    curves: tuple[str, ...]
    low: float
    high: float
    pair: tuple[str, str]


def _controls(reading: float) -> Choice:
    """Draw the controls. `reading` is the x that the curves are read at now."""
    state = st.session_state
    for key, value in START.items():
        state.setdefault(key, value)
    state["reading"] = float(reading)
    chosen, start, end, one, other, read = st.columns([8, 3, 3, 4, 4, 4])
    curves = chosen.multiselect(
        "Curves", ACTIVATIONS, format_func=_label, key="curves_curves", persist_state="session"
    )
    low = start.number_input(
        "x from",
        -MOST_READING,
        MOST_READING,
        step=0.5,
        format="%.6g",
        key="curves_low",
        persist_state="session",
    )
    high = end.number_input(
        "to", -MOST_READING, MOST_READING, step=0.5, format="%.6g", key="curves_high", persist_state="session"
    )
    pair = (
        one.selectbox(
            "Difference of", ACTIVATIONS, format_func=_label, key="curves_one", persist_state="session"
        ),
        other.selectbox("and", ACTIVATIONS, format_func=_label, key="curves_other", persist_state="session"),
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
    if low >= high:
        low, high = state.get("curves_drawn", (START["curves_low"], START["curves_high"]))
        start.error(f"x must run from a smaller number to a larger one; {low:g} to {high:g} is still drawn.")
    state["curves_drawn"] = (low, high)
    return Choice(tuple(curves), low, high, pair)


@drawn_first()
def curve_lab(session: Session) -> None:
    """The curves over the range that the reader sets, read at one x."""
    reading = session.view.reading
    curves, low, high, pair = _controls(reading)
    plot, beside = st.columns([5, 2])
    with plot:
        live_plot(curve_panels(curves, low=low, high=high, pair=pair, reading=reading), key="curves")
    with beside:
        st.markdown(f"**All curves at x = {reading:g}**")
        st.table(tables.reading_rows(curves, pair, reading), hide_index=True)
        st.write("To read elsewhere, drag the brown line, press on a curve, or type x above.")
        st.markdown("**GELU is x times a probability**")
        live_plot(bell(reading), key="bell")
    st.table(tables.landmark_rows(curves), hide_index=True)


@drawn_first(hears="bars")
def neurons_of_the_network(session: Session) -> None:
    """The scenario's neurons on the curve, and as bars before and after it."""
    view, names = session.view, names_of(session.present)
    ffn, x = session.present.build()
    trace = ffn.forward(x)
    with st.container(horizontal=True):
        choose_position(session)
        choose_neuron(session)
        ordered = _choose_order()
    points = neurons_on_curve(trace, view.position, neuron=view.neuron, names=names)
    live_plot(points, key="neurons")
    bars = before_and_after(trace, view.position, ordered=ordered, neuron=view.neuron, names=names)
    live_plot(bars, key="bars", hears_views=True)


def _choose_order() -> bool:
    """Whether the bars are sorted, largest hidden first."""
    orders = ["in order", "largest first"]
    st.session_state.setdefault("curves_order", orders[0])
    return (
        st.segmented_control("Bars", orders, key="curves_order", persist_state="session", required=True)
        == orders[1]
    )


def _label(name: str) -> str:
    return ACTIVATIONS[name].label
