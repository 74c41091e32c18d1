"""The parts of the page "GELU and ReLU" that a reader sets: the curves, and the neurons on them."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from ffn_app import curve_tables as tables
from ffn_app.board.names import names_of
from ffn_app.figures.curves import bell, curve_panels, gelu_as_product, shown_names
from ffn_app.figures.neurons import before_and_after, neurons_on_curve
from ffn_app.live_plot import live_plot
from ffn_app.session import Session
from ffn_app.shell import choose_neuron, choose_position, current, drawn_first, look_at
from ffn_app.view import View
from ffn_core.activations import ACTIVATIONS
from ffn_core.curves import FARTHEST
from ffn_core.matrix_text import significant

DIGITS = 6
"""So many of a typed number are kept in the link."""


@drawn_first()
def curve_lab(session: Session) -> None:
    """The curves over the range that the reader sets, read at one x."""
    view, own = session.view, session.present.activation
    low, high = view.span
    _choose_curves(view)
    plot, beside = st.columns([5, 2])
    with plot:
        panels = curve_panels(view.curves, low=low, high=high, pair=view.pair, reading=view.reading, own=own)
        live_plot(panels, key="curves")
        _choose_range_and_pair(view)
    with beside:
        st.markdown(f"**All curves at x = {significant(view.reading, DIGITS)}**")
        st.table(tables.reading_rows(view.curves, view.pair, view.reading, own), hide_index=True)
        st.write("To read elsewhere, drag the brown line, press on a curve, or type x above.")
        st.markdown(f"**GELU is x times a probability**  \n{gelu_as_product(view.reading)}")
        live_plot(bell(view.reading), key="bell")
        st.caption("Φ(x), the shaded area, is the chance that a standard normal number is below x.")
    st.table(tables.landmark_rows(shown_names(view.curves, own), own), hide_index=True)


def _choose_curves(view: View) -> None:
    """The curves that are drawn beside the network's own, and the x at which all are read."""
    chosen, read = st.columns([4, 1])
    _show("curves_chosen", list(view.curves))
    chosen.multiselect(
        "Curves",
        ACTIVATIONS,
        format_func=_label,
        placeholder="Choose curves to draw beside this network's own",
        key="curves_chosen",
        on_change=lambda: look_at(curves=tuple(st.session_state["curves_chosen"])),
    )
    with read:
        _number("Read at x =", "reading", view.reading, _read_at, step=0.1)
    low, high = view.span
    if not low <= view.reading <= high:
        at, start, end = (significant(x, DIGITS) for x in (view.reading, low, high))
        st.info(
            f"x = {at} lies outside of the plot, which runs from {start} to {end}: read at an x between them, "
            "or change the range below the plot."
        )


def _choose_range_and_pair(view: View) -> None:
    """The range that is drawn, and the two curves whose difference is."""
    start, end, one, other = st.columns(4)
    low, high = view.span
    typed_low, typed_high = _typed_range(view)
    refused = typed_low >= typed_high
    for column, label, key, value in (
        (start, "x from", "curves_low", low),
        (end, "to", "curves_high", high),
    ):
        with column:
            _number(label, key, value, _range_typed, step=0.5, shown=not refused)
    for column, label, key, name in (
        (one, "Difference of", "curves_one", view.pair[0]),
        (other, "and", "curves_other", view.pair[1]),
    ):
        _show(key, name)
        column.selectbox(label, ACTIVATIONS, format_func=_label, key=key, on_change=_pair_chosen)
    if refused:
        drawn = " to ".join(significant(x, DIGITS) for x in view.span)
        st.error(f"x must run from a smaller number to a larger one; {drawn} is still drawn.")


def _number(
    label: str, key: str, value: float, on_change: Callable[[], None], *, step: float, shown: bool = True
) -> None:
    """A field for an x, which shows `value`, or with `shown` False what somebody typed.

    With value=None an emptied field gives None, and not the least number; then it shows `value` again.
    """
    if shown:
        _show(key, value)
    st.number_input(
        label,
        -FARTHEST,
        FARTHEST,
        value=None,
        step=step,
        format=f"%.{DIGITS}g",
        key=key,
        on_change=on_change,
    )


def _show(key: str, value: Any) -> None:
    """Let a widget show what the view holds; not where it does, or it would take back what is typed meanwhile."""
    if st.session_state.get(key) != value:
        st.session_state[key] = value


def _read_at() -> None:
    typed = st.session_state["reading"]
    if typed is not None:
        look_at(reading=typed + 0.0)  # which makes -0.0 a plain 0.0


def _typed_range(view: View) -> tuple[float, float]:
    """What stands in the fields of the range; where nothing does, what is drawn."""
    typed = (st.session_state.get(key) for key in ("curves_low", "curves_high"))
    low, high = (now if end is None else end + 0.0 for end, now in zip(typed, view.span, strict=True))
    return low, high


def _range_typed() -> None:
    low, high = _typed_range(current().view)
    if low < high:  # else the page says so beside the fields
        look_at(span=(low, high))


def _pair_chosen() -> None:
    look_at(pair=(st.session_state["curves_one"], st.session_state["curves_other"]))


@drawn_first(hears="bars")
def neurons_of_the_network(session: Session) -> None:
    """The scenario's neurons on the curve, and as bars before and after it."""
    view, names = session.view, names_of(session.present)
    ffn, x = session.present.build()
    trace = ffn.forward(x)
    with st.container(horizontal=True):
        choose_position(session)
        choose_neuron(session)
        _choose_order(view)
    points = neurons_on_curve(trace, view.position, neuron=view.neuron, names=names)
    live_plot(points, key="neurons")
    bars = before_and_after(trace, view.position, ordered=view.falling, neuron=view.neuron, names=names)
    live_plot(bars, key="bars", hears_views=True)


def _choose_order(view: View) -> None:
    """Whether the bars are in order, or sorted with the largest hidden first."""
    orders = ["in order", "largest first"]
    _show("curves_order", orders[view.falling])
    st.segmented_control(
        "Bars",
        orders,
        key="curves_order",
        required=True,
        on_change=lambda: look_at(falling=st.session_state["curves_order"] == orders[1]),
    )


def _label(name: str) -> str:
    return ACTIVATIONS[name].label
