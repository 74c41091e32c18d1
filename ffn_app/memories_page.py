"""The parts of the page "Memories": who fires, one neuron's card, the output as a sum, interventions."""

from collections.abc import Callable
from functools import wraps
from typing import get_args

import streamlit as st

from ffn_app.board.arrays import round_span
from ffn_app.board.names import names_of
from ffn_app.figures.memories import (
    MEASURES,
    Measure,
    heatmap,
    intervention,
    measured,
    neuron_card,
    output_sum,
)
from ffn_app.live_plot import live_plot
from ffn_app.session import Session
from ffn_app.shell import change, choose_neuron, drawn_first, key_showing, remember_shown, replaced
from ffn_core.dense import Trace
from ffn_core.memories import AnyTrace, Order, carriers, dead, sparsity
from ffn_core.scenario import Edit, Scenario

ORDERS: dict[Order, str] = dict(
    zip(get_args(Order), ("in order", "strongest first", "alike side by side"), strict=True)
)


CARD = "card"

Part = Callable[[Session, Trace], None]


def _in_its_place(part: Part) -> Part:
    """Keep the place of a part that shows now more, now less, so that the charts below it are not made anew."""

    @wraps(part)
    def placed(session: Session, trace: Trace) -> None:
        with st.container():
            part(session, trace)

    return placed


@st.fragment  # its controls change the heatmap alone
def who_fires(session: Session, trace: AnyTrace) -> None:
    """The heatmap with its controls, and how sparse it is, each number with its definition."""
    st.header("Who fires where")
    columns = st.columns(3)
    measure = columns[0].segmented_control(
        "Colour shows",
        list(MEASURES),
        format_func=MEASURES.__getitem__,
        default="activated",
        required=True,
        key="memories_measure",
        persist_state="session",
    )
    order = columns[1].segmented_control(
        "Neurons",
        list(ORDERS),
        format_func=ORDERS.__getitem__,
        default="index",
        required=True,
        key="memories_order",
        persist_state="session",
    )
    threshold = columns[2].number_input(
        "Nearly zero: within … of zero, 0 to 1",
        0.0,
        1.0,
        0.001,
        format="%g",
        key="memories_threshold",
        persist_state="session",
    )
    position, neuron = session.view.position, session.view.neuron
    drawing = heatmap(
        trace,
        session.present.words,
        measure=measure,
        order=order,
        span=_span(session, measure),
        position=position,
        neuron=neuron,
    )
    live_plot(drawing, key="heatmap")
    activated = trace.activated
    n_carriers = len(carriers(trace, position))
    gauges = st.columns(4)
    gauges[0].metric(
        "Exactly zero",
        f"{sparsity(activated):.1%}",
        help="Share of all numbers of activated that are exactly 0.",
    )
    gauges[1].metric(
        f"Within {threshold:g} of zero", f"{sparsity(activated, threshold):.1%}",
        help="Share of all numbers of activated that are as near to zero as you set, or nearer; the sign does not matter.",
    )  # fmt: skip
    gauges[2].metric(
        "Dead neurons", f"{int(dead(activated).sum())} of {trace.ffn.d_ff}",
        help="Exactly 0 at every position of this sequence. Other inputs may wake them.",
    )  # fmt: skip
    gauges[3].metric(
        "Carry 90% here", f"{n_carriers} of {trace.ffn.d_ff}",
        help="The fewest neurons whose contributions' lengths add up to 90% of all lengths at the chosen position.",
    )  # fmt: skip


def _span(session: Session, measure: Measure) -> float:
    """The range of the heatmap's colours: the starting point's, or of the moment to which the board's were fitted.

    So while a person edits, colour changes only with value.
    """
    ffn, x = (session.colours_of or Scenario(base=session.present.base)).build()
    return round_span((measured(ffn.forward(x), measure),))


@drawn_first(hears=CARD)
def in_detail(session: Session) -> None:
    """One neuron, interventions, and the output as a sum."""
    ffn, x = session.present.build()
    trace = ffn.forward(x)
    _one_neuron(session, trace)
    _what_changed(session, trace)
    as_a_sum(session, trace)


@_in_its_place
def _one_neuron(session: Session, trace: Trace) -> None:
    """The card of the neuron that is followed, and its strength."""
    st.header("One neuron")
    choose_neuron(session)
    neuron = session.view.neuron
    if neuron is None:
        st.caption(
            "Choose a neuron here, on the board, or in the heatmap; it is then marked everywhere on the page."
        )
        return
    card = neuron_card(trace, session.view.position, neuron, names_of(session.present))
    live_plot(card, key=CARD, hears_views=True)
    _strength(session, neuron)


def _strength(session: Session, neuron: int) -> None:
    strength = session.present.strengths.get(neuron, 1.0)
    name, reached = f"memories_strength_{neuron}", min(2.0, max(-1.0, strength))
    key = key_showing(name, reached)

    def moved() -> None:
        if not replaced(name, key):
            remember_shown(name, st.session_state[key])
            _intervene(neuron, st.session_state[key])

    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.slider(
            f"Strength of neuron {neuron}", -1.0, 2.0, reached, 0.05, key=key, on_change=moved,
            help="1 leaves the neuron as it is, 0 switches it off: its value column is multiplied by it. It is an edit: undo "
            "takes it back, and the link carries it.",
        )  # fmt: skip
        if strength != reached:
            st.caption(f"Its strength is {strength:g}, which the slider does not reach.")
        st.button("Switch it off", on_click=_intervene, args=(neuron, 0.0), disabled=strength == 0)
        st.button("As it was", on_click=_intervene, args=(neuron, 1.0), disabled=strength == 1)


def _intervene(neuron: int, strength: float) -> None:
    change(lambda scenario: scenario.edit(Edit("strength", (neuron,), strength)))


@st.fragment  # its slider moves nothing else on the page, so nothing else is run again
def as_a_sum(session: Session, trace: AnyTrace) -> None:
    """The output as a sum of contributions, with a slider for how many are kept."""
    st.header("The output is a sum")
    d_ff = trace.ffn.d_ff
    kept = st.slider(
        "Neurons kept, largest contribution first", 0, d_ff, min(3, d_ff), key=f"memories_kept_{d_ff}", persist_state="session",
        help="With 0 only the bias is left, if there is one; all of them give the output.",
    )  # fmt: skip
    view = session.view
    drawing = output_sum(trace, view.position, kept, names_of(session.present), neuron=view.neuron)
    live_plot(drawing, key="sum")


@_in_its_place
def _what_changed(session: Session, trace: Trace) -> None:
    """The output before and after the interventions, if there are any."""
    scenario = session.present
    if not scenario.strengths:
        return
    st.header("Interventions")
    names = names_of(scenario)
    told = "; ".join(f"{names.neuron(j)} at {strength:g}" for j, strength in scenario.strengths.items())
    st.write(f"Strengths that are not 1: {told}.")
    st.button("Take all of them back", on_click=_take_back, args=(tuple(scenario.strengths),))
    ffn, x = scenario.without_strengths().build()
    drawing = intervention(ffn.forward(x), trace, session.view.position, names)
    live_plot(drawing, key="intervention")


def _take_back(neurons: tuple[int, ...]) -> None:
    edits = tuple(Edit("strength", (j,), 1.0) for j in neurons)
    change(lambda scenario: scenario.edit(Edit("together", (), edits)))
