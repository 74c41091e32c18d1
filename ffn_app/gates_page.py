"""The parts of the page "Gates": the kinds of gate, both branches meeting, matched parameters, published quality."""

import streamlit as st

from ffn_app.board.names import names_of
from ffn_app.board.table import change_table
from ffn_app.figures.gates import (
    branches,
    gate_curve,
    in_words,
    matched,
    matched_shapes,
    published,
    sign_cases,
    two_keys,
    written,
)
from ffn_app.live_plot import live_plot
from ffn_app.session import Session
from ffn_app.shell import (
    change,
    choose_neuron,
    choose_position,
    drawn_first,
    key_showing,
    remember_shown,
    replaced,
)
from ffn_core.activations import activation
from ffn_core.count_text import parameter_lines
from ffn_core.explain import explain
from ffn_core.gated import GLU_KINDS, SHAZEER_2020_SOURCE, GatedTrace, llama_d_ff
from ffn_core.shape_scenario import BOUNDS

BRANCHES = "branches"
KINDS = tuple(GLU_KINDS.values())
TWO_QUESTIONS = (
    r"Each neuron asks two questions of x. By the first its gate opens; the second gives size and sign: "
    r"$y = W_{down} \cdot (\mathrm{act}(W_{gate} \cdot x) \odot W_{up} \cdot x)$, where $\odot$ multiplies neuron by neuron."
)


@drawn_first(hears=BRANCHES)
def gates_at_work(session: Session) -> None:
    """The kind of gate, both branches at the chosen position, and one neuron in numbers."""
    _kinds(session)
    ffn, x = session.present.build()
    trace = ffn.forward(x)
    st.header("Both branches meet")
    with st.container(horizontal=True):
        choose_position(session)
        choose_neuron(session)
        ordered = st.segmented_control(
            "Bars", ["in order", "largest first"], default="in order", required=True, key="gates_order",
            persist_state="session",
        )  # fmt: skip
    position, neuron, names = session.view.position, session.view.neuron, names_of(session.present)
    curve, panels = st.columns([2, 3])
    with curve:
        live_plot(gate_curve(trace, position, neuron=neuron, names=names), key="gate_curve")
    with panels:
        bars = branches(trace, position, ordered=ordered == "largest first", neuron=neuron, names=names)
        live_plot(bars, key=BRANCHES, hears_views=True)
    st.table(sign_cases(trace, position, neuron), hide_index=True)
    _one_neuron(session, trace)


def _kinds(session: Session) -> None:
    """A row of the published kinds, which sets the nonlinearity, and the formula and source of the one that is set."""
    name = session.present.activation
    present = next((k for k, kind in enumerate(KINDS) if kind.activation == name), None)
    key = key_showing("gates_kind", present)

    def chosen() -> None:
        kind = st.session_state[key]
        if kind is not None and not replaced("gates_kind", key):
            remember_shown("gates_kind", kind)
            change(lambda scenario: scenario.with_activation(KINDS[kind].activation))

    st.segmented_control(
        "Kind of gate", range(len(KINDS)), default=present, required=True, key=key, on_change=chosen,
        format_func=lambda kind: KINDS[kind].label,
        help="Named after the nonlinearity that makes the gate. Undo takes the choice back, and the link carries it.",
    )  # fmt: skip
    act = activation(name or "silu")
    formula = f"gate = {act.label}(hidden). {act.label} of a number $x$ is ${act.latex}$."
    if present is None:
        st.write(f"None of the five: {formula}")
    else:
        bare = " That is no curve: nothing closes, and what is below 0 passes in full." * (
            act.name == "identity"
        )
        st.write(f"**{KINDS[present].label}**: {formula}{bare} Source: {KINDS[present].source}.")
    every = st.expander("All five formulas and sources", key="gates_every_kind", on_change="rerun")
    if every.open:
        every.table(kind_rows(), hide_index=True)


def kind_rows() -> list[dict[str, str]]:
    """The five kinds as rows of Markdown."""
    return [
        {
            "kind": kind.label,
            "gate": activation(kind.activation).label,
            "act(x)": f"${activation(kind.activation).latex}$",
            "source": kind.source,
        }
        for kind in KINDS
    ]


def _one_neuron(session: Session, trace: GatedTrace) -> None:
    with st.container():  # its place is kept, so that the charts below are not made anew
        st.header("One neuron: two keys, one value")
        position, neuron = session.view.position, session.view.neuron
        if neuron is None:
            st.write("Choose a neuron above, on the board, or by pressing its point or bar.")
            return
        hidden, up = (explain(trace, stage, position, neuron) for stage in ("hidden", "up"))
        activated = explain(trace, "activated", position, neuron)
        st.code("\n".join(number.text for number in (hidden, up, activated)), language=None, wrap_lines=True)
        st.markdown(f"**{in_words(trace, position, neuron)}**")
        keys, value = st.columns([3, 2])
        with keys:
            live_plot(two_keys(trace, position, neuron), key="two_keys")
        with value:
            live_plot(written(trace, position, neuron, names_of(session.present)), key="written")


@st.fragment  # its boxes change nothing else on the page
def matched_parameters(session: Session) -> None:
    """How wide a gated network is that has as many parameters as the dense one of 4 · d_model."""
    st.header("As many parameters: 8/3 in place of 4")
    st.write(
        "A gated FFN has three matrices where a dense one has two. With 2/3 of the neurons, 8/3 · d_model in place of "
        "4 · d_model, it has as many parameters. Llama then rounds d_ff up to a number that suits its hardware."
    )
    d_model_here = session.present.build()[0].d_model
    width, times, step = st.columns(3)
    d_model = width.number_input(
        "d_model", *BOUNDS["d_model"], d_model_here, key=f"gates_d_model_{d_model_here}", persist_state="session",
        help="Starts at this network's. Llama 2 7B has 4096.",
    )  # fmt: skip
    multiplier = times.number_input(
        "multiplier", 0.1, 10.0, 1.0, 0.1, format="%g", key="gates_multiplier", persist_state="session",
        help="A factor on 8/3 · d_model: 1 leaves it. Llama 2 70B has 1.3.",
    )  # fmt: skip
    multiple_of = step.number_input(
        "multiple_of", 1, 65_536, 1, key="gates_multiple_of", persist_state="session",
        help="d_ff is rounded up to a multiple of it. Llama 2 7B has 256, Llama 2 70B 4096.",
    )  # fmt: skip
    multiplier = round(multiplier, 6)  # as the box shows it: eight steps of 0.1 add up to 0.7999999999999999
    try:
        shapes = matched_shapes(d_model, multiplier, multiple_of)
    except ValueError as error:
        st.error(str(error))
        return
    st.write(width_in_words(d_model, multiplier, multiple_of))
    live_plot(matched(shapes), key="matched")
    for column, name in zip(st.columns(2), ("dense", "gated, matched"), strict=True):
        *lines, _ = parameter_lines(shapes[name])["ffn"]  # the last line is for several layers
        with column:
            st.markdown(f"**{name[0].upper()}{name[1:]}**: {shapes[name].parameters().ffn:,} parameters")
            st.code("\n".join(lines), language=None, wrap_lines=True)
    st.write(difference_in_words(shapes["dense"].parameters().ffn, shapes["gated, matched"].parameters().ffn))


def difference_in_words(dense: int, gated: int) -> str:
    """How far the gated network's count is from the dense one's, and why it is not 0."""
    if dense == gated:
        return "They have exactly as many parameters."
    more = "more" if gated > dense else "fewer"
    return (
        f"The gated one has {abs(gated - dense):,} parameters {more}, {(gated - dense) / dense:+.2%}: d_ff is a whole number, "
        "rounded as said above."
    )


def width_in_words(d_model: int, multiplier: float, multiple_of: int) -> str:
    """How d_ff comes about, step by step."""
    steps = [f"8 · {d_model:,} / 3, without its fraction: {llama_d_ff(d_model, multiple_of=1):,}"]
    if multiplier != 1:
        steps.append(
            f"times {multiplier:g}, without its fraction: {llama_d_ff(d_model, multiplier, multiple_of=1):,}"
        )
    if multiple_of > 1:
        steps.append(
            f"rounded up to a multiple of {multiple_of:,}: {llama_d_ff(d_model, multiplier, multiple_of):,}"
        )
    return f"{'; '.join(steps)}. So **d_ff = {llama_d_ff(d_model, multiplier, multiple_of):,}**."


def published_quality() -> None:
    """The table of Shazeer 2020 as a plot, with its source and what it does not say."""
    st.header("Is it worth it?")
    st.write(
        "Log-perplexity says how surprised a language model is by text that it has not seen: lower is better. These are "
        "one run each, of one size of model, with the same number of parameters. "
        + f"Source: {SHAZEER_2020_SOURCE}."
    )
    live_plot(published(), key="published")


def what_changed(session: Session) -> None:
    """What differs from the starting point, array by array, one click away."""
    changed = st.expander("What changed since the start", key="gates_changed", on_change="rerun")
    if changed.open:
        with changed:
            st.dataframe(change_table(session.present), hide_index=True)
