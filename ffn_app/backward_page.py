"""The parts of the page "Backward": where it starts, the gradients, a step, flat slopes, and the check."""

from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from ffn_app.board.arrays import KINDS, round_span
from ffn_app.board.data import other_name
from ffn_app.board.names import names_of
from ffn_app.figures.backward import HALVES, flow, forward_spans, gradients_of, half_width
from ffn_app.figures.backward_checks import MOST_LISTED, checked_rows, entry_rows, error_curve, slopes
from ffn_app.live_plot import live_plot
from ffn_app.session import Session, token
from ffn_app.shell import (
    change,
    choose_position,
    current,
    drawn_first,
    key_showing,
    look_at,
    remember_shown,
    replaced,
)
from ffn_app.view import MOST_TARGET
from ffn_core.activations import ACTIVATIONS, Array, activation
from ffn_core.dense import FFN, Trace
from ffn_core.descent import STARTS, OneStep, Start, one_step, padded
from ffn_core.explain_backward import (
    BACKWARD,
    Entry,
    blocked,
    explain_gradient,
    gradient_name,
    read_entry,
    shape_of,
)
from ffn_core.gradcheck import Checked, check, error_by_step
from ffn_core.matrix_text import parse_matrix, short_number
from ffn_core.scenario import Scenario

HEARS = "backward_first"
KINDS_OF_START: dict[Start, str] = {
    "target": "error to a target",
    "ones": "all ones",
    "one": "one coordinate",
}
MOST_BOXES = 16
"""A longer target is typed as one line."""
PARAMETERS = ("w1", "b1", "w2", "b2")
CHECKABLE = ("x", *PARAMETERS)
STEPS = np.logspace(-12, -1, 12)
STRAIGHT = ("relu", "identity")
NONE = "–"
"""Stands for the numbers of a step that cannot be taken."""
FAR_BEYOND = 10
"""An array that grew to more than so many times its colours' range gets a new range."""
MOST_HELD = 2_000_000
"""Numbers that the edits of a scenario may hold before no further step is taken: each one is remembered for undo."""


def trace_of(session: Session) -> Trace:
    """The forward pass of the scenario as edited, its interventions in it."""
    ffn, x = session.present.build()
    trace: Trace = ffn.forward(x)
    return trace


@drawn_first(hears=HEARS)
def gradients(session: Session) -> None:
    """Where the backward pass starts, every array over its gradient, and one entry in numbers."""
    _choose_start(session)
    trace, objective = trace_of(session), session.view.objective
    found = trace.backward(objective.d_output(trace))
    entry = read_entry(session.view.entry, trace.ffn) if session.view.entry else None
    explained = None if entry is None else explain_gradient(trace, found, objective, entry)
    named = gradients_of(found, objective.d_output(trace))
    st.header("Forward, and under it backward")
    st.write(
        "Read the upper row from left to right and the lower one from right to left: "
        "d_output → d_activated → d_hidden → d_x. A gradient says how fast the loss grows when that number grows. "
        "Each has the shape of the array above it, and its own colours: blue above 0, orange below."
    )
    ranges = _ranges(session, trace, named)
    columns = st.container(key="backward_flow").columns([half_width(trace.ffn, half) + 2 for half in HALVES])
    for half, column in zip(HALVES, columns, strict=True):
        drawing = flow(
            trace, named, objective.position, half, spans_of=ranges, chosen=entry, explained=explained
        )
        with column:
            live_plot(drawing, key=f"backward_{half}", hears_views=half == "first")
    with st.container():  # its place is kept, so that the charts below are not made anew
        _choose_entry(session, trace.ffn, entry)
        if explained is None:
            st.caption(
                "Press on any number above, or choose one here: its formula is shown with the numbers."
            )
        else:
            st.code(f"{explained.rule}\n{explained.text}", language=None, wrap_lines=True)
    n_others = len(trace.x) - 1
    if n_others:
        st.caption(
            f"The loss looks at position {objective.position} alone. No other position's x can change it, so their "
            f"gradients (d_x and all before it) are exactly 0, and they add nothing to dW1, db1, dW2, db2."
        )


def _ranges(session: Session, now: Trace, gradients: dict[str, Array]) -> dict[str, float]:
    """The ranges of the colours: those of the starting point, or of the moment to which the board's were fitted.

    So while a person edits or takes steps, colour changes only with value. A gradient that is 0 there has its own, and
    so has what grew to more than FAR_BEYOND times its range: all of it would be one colour.
    """
    scenario = session.colours_of or Scenario(base=session.present.base)
    view = session.view.within(scenario)
    ffn, x = scenario.build()
    trace = ffn.forward(x)
    start = gradients_of(trace.backward(view.objective.d_output(trace)), view.objective.d_output(trace))
    kept = forward_spans(trace) | {
        name: round_span((array if array.any() else gradients[name],)) for name, array in start.items()
    }
    own = forward_spans(now) | {name: round_span((array,)) for name, array in gradients.items()}
    return {name: own[name] if own[name] > FAR_BEYOND * span else span for name, span in kept.items()}


def _choose_start(session: Session) -> None:
    """What the loss is, and so d_output."""
    view, trace = session.view, trace_of(session)
    key = key_showing("backward_start", STARTS.index(view.start))

    def chosen() -> None:
        if not replaced("backward_start", key):
            start = st.session_state[key]
            remember_shown("backward_start", STARTS.index(start))
            look_at(start=start)

    with st.container(horizontal=True):
        choose_position(session)
        st.segmented_control(
            "d_output is the gradient of", STARTS, default=view.start, required=True, key=key, on_change=chosen,
            format_func=KINDS_OF_START.__getitem__,
            help="The backward pass starts from d_output: how the loss changes with each coordinate of the output. "
            "The loss is what is to become smaller: the squared error to a target, the sum of the output (then d_output "
            "is 1 everywhere), or one of its coordinates.",
        )  # fmt: skip
        if view.start == "one":
            _choose_coordinate(session)
    if view.start == "target":
        _choose_target(session)
    loss = short_number(view.objective.loss(trace))
    said = {
        "target": f"Loss = the mean of (output − target)² at position {view.position} = **{loss}**",
        "ones": f"Loss = the sum of the output at position {view.position} = **{loss}**",
        "one": f"Loss = output[{view.position}][{view.coordinate}] = **{loss}**",
    }
    st.markdown(said[view.start])


def _choose_coordinate(session: Session) -> None:
    names, d_model = names_of(session.present), session.present.build()[0].d_model
    key = key_showing("backward_coordinate", session.view.coordinate)

    def chosen() -> None:
        if not replaced("backward_coordinate", key):
            remember_shown("backward_coordinate", st.session_state[key])
            look_at(coordinate=st.session_state[key])

    st.selectbox(
        "Coordinate of the output", range(d_model), index=session.view.coordinate, key=key, on_change=chosen,
        format_func=names.feature,
    )  # fmt: skip


def _choose_target(session: Session) -> None:
    """A box a coordinate, or for a wide output one line of numbers."""
    d_model = session.present.build()[0].d_model
    target = padded(session.view.target, d_model)
    if d_model > MOST_BOXES:
        _type_target(target)
        return
    with st.container(horizontal=True):
        for i, number in enumerate(target):
            _target_box(i, number)


def _target_box(i: int, number: float) -> None:
    name = f"backward_target_{i}"
    key = key_showing(name, number)

    def chosen() -> None:
        if replaced(name, key):
            return
        typed = float(f"{st.session_state[key]:.6g}")  # as the box shows it: 0.1 + 0.1 + 0.1 is 0.3
        remember_shown(name, typed)
        session = current()
        target = list(padded(session.view.target, session.present.build()[0].d_model))
        target[i] = typed
        look_at(target=tuple(target))

    st.number_input(
        f"target[{i}]", -MOST_TARGET, MOST_TARGET, number, 0.1, format="%.6g", key=key, on_change=chosen, width=120
    )  # fmt: skip


def _type_target(target: tuple[float, ...]) -> None:
    key = "backward_target_line"
    d_model = len(target)

    def chosen() -> None:
        try:
            typed = parse_matrix(st.session_state[key]).ravel()
            if len(typed) > d_model:
                raise ValueError(f"the target has {d_model} numbers, and these are {len(typed)}")
            if np.abs(typed).max() > MOST_TARGET:
                raise ValueError(f"a target's numbers lie between -{MOST_TARGET:g} and {MOST_TARGET:g}")
        except ValueError as error:
            st.session_state["backward_target_problem"] = str(error)
        else:
            st.session_state.pop("backward_target_problem", None)
            look_at(target=tuple(typed.tolist()))

    shown = " ".join(f"{number:g}" for number in target).rstrip(" 0") or "0"
    st.text_input(
        f"Target: up to {d_model} numbers, with spaces between; those left out are 0", key=key, on_change=chosen,
        placeholder=shown[:60],
    )  # fmt: skip
    if problem := st.session_state.get("backward_target_problem"):
        st.error(problem)


def _choose_entry(session: Session, ffn: FFN, entry: Entry | None) -> None:
    """The entry whose formula is shown, from lists that the keyboard reaches."""
    key = key_showing("backward_entry", _number_of(entry))

    def chosen() -> None:
        if replaced("backward_entry", key):
            return
        array = st.session_state[f"{key}_array"]
        if array is None:
            look_at(entry=None)
            return
        shape = shape_of(ffn, array)
        given = (st.session_state.get(f"{key}_{axis}", 0) for axis in range(len(shape)))
        index = tuple(min(int(i), n - 1) for i, n in zip(given, shape, strict=True))
        wanted = Entry(array=array, index=index)
        if entry is not None and array == entry.array:  # the same boxes go on; another array has others
            remember_shown("backward_entry", _number_of(wanted))
        look_at(entry=wanted.text)

    with st.container(horizontal=True):
        st.selectbox(
            "Gradient", BACKWARD, index=None if entry is None else BACKWARD.index(entry.array), format_func=gradient_name,
            placeholder="none chosen", key=f"{key}_array", on_change=chosen, width=180,
        )  # fmt: skip
        if entry is not None:
            labels = ("row", "column") if len(entry.index) == 2 else ("entry",)
            sizes = shape_of(ffn, entry.array)
            for axis, (label, size, i) in enumerate(zip(labels, sizes, entry.index, strict=True)):
                st.number_input(
                    f"{label}, 0 to {size - 1}",
                    0,
                    size - 1,
                    i,
                    key=f"{key}_{axis}",
                    on_change=chosen,
                    width=150,
                )


def _number_of(entry: Entry | None) -> int | None:
    """A number that tells entries apart, within this process."""
    return None if entry is None else hash(entry.text)


# ---------------------------------------------------------------- one step


@drawn_first()
def one_gradient_step(session: Session) -> None:
    """A gradient step: what it promises, what it does, and a button that takes it."""
    st.header("One step down")
    st.write(
        "A step moves every number a little against its gradient: w becomes w − learning rate · dw. "
        "The step is an edit: undo takes it back, and the link carries it."
    )
    with st.container(horizontal=True):
        rate = st.number_input(
            "Learning rate", 0.0, 1e6, 0.1, 0.05, format="%.6g", key="backward_rate", persist_state="session", width=160,
            help="How far a step goes. Too small, and little happens; too large, and the loss grows instead.",
        )  # fmt: skip
        names = st.pills(
            "Arrays that move", PARAMETERS, default=PARAMETERS, selection_mode="multi", key="backward_arrays",
            persist_state="session", format_func=lambda name: KINDS[name].label,
        )  # fmt: skip
    step, problem = _prepared(session, rate, tuple(names))
    told = st.columns(4)
    now = step.before if step is not None else session.view.objective.loss(trace_of(session))
    told[0].metric("Loss now", short_number(now))
    told[1].metric("Loss after the step", NONE if step is None else short_number(step.after))
    told[2].metric("Change", NONE if step is None else short_number(step.change))
    told[3].metric(
        "Change that the gradient promises", NONE if step is None else short_number(step.predicted),
        help="−learning rate · |gradient|², the sum of the squares of all gradients of the arrays that move. It would be "
        "exact if the loss were a straight slope; the smaller the learning rate, the nearer the two are.",
    )  # fmt: skip
    st.button(
        "Take the step", type="primary", disabled=step is None, on_click=_take,
        args=(rate, tuple(names)), help="Press again to go on.",
    )  # fmt: skip
    for text in (problem, session.problem):
        if text:
            st.error(text)
    if step is not None and step.after > step.before:
        st.warning(
            "The loss would grow: the step is so long that it goes past the valley. Lower the learning rate."
        )
    if session.view.start != "target":
        st.caption(
            "What becomes smaller here is the sum of d_output · output. It has no lowest value: the steps never end. "
            "An error to a target has one."
        )
    if session.present.strengths:
        st.caption(
            "Strengths stay as they are: value j moves by its strength times its gradient, and the value of a neuron that is "
            "switched off not at all."
        )


def _prepared(session: Session, rate: float, names: tuple[str, ...]) -> tuple[OneStep | None, str | None]:
    """The step, or why there is none."""
    if not names:
        return None, "Choose at least one array to move."
    if not rate > 0:
        return None, "Choose a learning rate above 0."
    if _numbers_held(session.present.edits) > MOST_HELD:
        return None, (
            "So many steps of so large a network are more than undo can remember. Undo some, move fewer arrays, "
            "or save the network as a file and go on from there."
        )
    try:
        return one_step(session.present, session.view.objective, rate, names), None
    except ValueError as error:
        return None, f"Not possible: {error}. Nothing was changed."


def _numbers_held(edits: Any) -> int:
    """How many numbers these edits are made of."""
    total = 0
    for array, _, value in edits:
        if array == "together":
            total += _numbers_held(value)
        elif isinstance(value, tuple):
            total += sum(len(row) if isinstance(row, tuple) else 1 for row in value)
        else:
            total += 1
    return total


def _take(rate: float, names: tuple[str, ...]) -> None:
    step, _ = _prepared(current(), rate, names)
    if step is not None:
        change(lambda scenario: scenario.edit(step.edit()))


# ---------------------------------------------------------------- flat slopes


@st.fragment  # its list changes nothing else on the page
def who_learns(session: Session) -> None:
    """The slope of the nonlinearity at each neuron, under another one beside."""
    st.header("Why ReLU neurons die and GELU's do not")
    st.write(
        "d_hidden = d_activated · slope of the nonlinearity at hidden. Where the slope is exactly 0, nothing comes through: "
        "the neuron's key and bias get no gradient and stay as they are. ReLU is flat below 0. GELU's slope is small there, "
        "but not 0, so that the neuron can find its way back."
    )
    trace, position = trace_of(session), session.view.position
    usual = other_name(session.present)
    others = [name for name in ACTIVATIONS if name != trace.ffn.activation]
    beside = st.selectbox(
        "The same weights under", others, index=others.index(usual), format_func=lambda name: ACTIVATIONS[name].label,
        key=f"backward_beside_{trace.ffn.activation}", persist_state="session", width=240,
    )  # fmt: skip
    other: Trace = replace(trace.ffn, activation=beside).forward(trace.x)
    live_plot(slopes(trace, other, position, names=names_of(session.present)), key="backward_slopes")
    st.table([_blocked_row(session, each) for each in (trace, other)], hide_index=True)


def _blocked_row(session: Session, trace: Trace) -> dict[str, str]:
    """Which neurons get no gradient under a nonlinearity: here, and at no position of this sequence."""
    position, objective = session.view.position, session.view.objective
    flat = blocked(trace)
    found = trace.backward(objective.d_output(trace))
    silent = (found.hidden[position] == 0) & ~flat[position]
    return {
        "nonlinearity": activation(trace.ffn.activation).label,
        f"slope exactly 0 at position {position}": _listed(flat[position]),
        "gradient 0 though the slope is not": _listed(silent),
        "slope exactly 0 at every position: dead for this sequence": _listed(np.logical_and.reduce(flat)),
    }


def _listed(mask: np.ndarray) -> str:
    """`2 of 8: 2, 5`; of many neurons the first ones."""
    which = np.flatnonzero(mask).tolist()
    if not which:
        return f"none of {mask.size}"
    more = ", …" if len(which) > 12 else ""
    return f"{len(which)} of {mask.size}: neuron {', '.join(map(str, which[:12]))}{more}"


# ---------------------------------------------------------------- the check


@st.fragment  # its slider and its list change nothing else on the page
def check_it(session: Session) -> None:
    """Central differences beside the gradients, and how their error depends on h."""
    st.header("Check it")
    st.write(
        "Is a gradient right? Move one number w up and down by a small h and see how the loss changes: "
        "(loss(w + h) − loss(w − h)) / (2h) must be dw. All is computed in double precision (16 digits): the two losses "
        "differ only in their last digits, and in single precision (7 digits) most of that difference would be lost. "
        "The loss here is the sum of d_output · output with d_output held still, which has the same gradient."
    )
    ffn = session.present.build()[0]
    with st.container(horizontal=True):
        chosen = st.segmented_control(
            "Gradient of", ("all", *CHECKABLE), default="all", required=True, key="backward_checked", persist_state="session",
            format_func=lambda name: KINDS[name].label if name in KINDS else name,
        )  # fmt: skip
        h = st.select_slider(
            "h", [float(f"{step:.3g}") for step in np.logspace(-12, -1, 23)], 1e-6, key="backward_h", persist_state="session",
            format_func=short_number, width=420,
            help="How far each number is moved either way. Large steps miss the curve's bend (truncation), tiny ones drown in "
            "the last digits (rounding).",
        )  # fmt: skip
    names = CHECKABLE if chosen == "all" else (str(chosen),)
    most = 200 if ffn.n_parameters <= 5000 else 30
    checked = _checked(_key(session), session, h, names, most)
    table, plot = st.columns([2, 3])
    with table:
        st.table(checked_rows(checked), hide_index=True)
        st.caption(
            "The relative error is the greatest difference in an array over its greatest gradient. Right gradients give "
            "about 1e−9 at the best h, wrong ones 1e−3 or more."
        )
        if any(int(one.tried.sum()) < one.analytic.size for one in checked.values()):
            st.caption(
                f"Every entry takes two forward passes, so of a large array {most} entries are tried, spread evenly over it."
            )
        _say_skipped(checked)
    with plot:
        per_array = max(2, (24 if ffn.n_parameters <= 5000 else 12) // len(names))
        errors = _errors(_key(session), session, names, per_array)
        live_plot(error_curve(STEPS, errors, h), key="backward_errors")
        st.caption(
            f"Up to {per_array} entries of each chosen array are tried for this curve."
            + " This nonlinearity is straight beside its corner, so that there is no truncation error to be seen."
            * (ffn.activation in STRAIGHT)
        )
    entries = st.expander("Entry by entry", key="backward_entries", on_change="rerun")
    if entries.open:
        with entries:
            st.dataframe(entry_rows(checked), hide_index=True)
            st.caption(
                f"The first {MOST_LISTED} entries that were tried at most, with nine digits, so that they can be told apart."
            )


def _say_skipped(checked: dict[str, Checked]) -> None:
    skipped = sum(one.n_skipped for one in checked.values())
    if skipped:
        st.caption(
            f"{skipped} entries are skipped: moving them by h takes a neuron across the corner of its nonlinearity. At ReLU's "
            "corner, hidden exactly 0, the slope is 0 by convention and the difference quotient 0.5. Both are right, and "
            "comparing them would be a false alarm."
        )


def _key(session: Session) -> str:
    """What the check depends on, as a short text: Streamlit would hash only a sample of large arrays."""
    return f"{token(session.present)} {session.view.objective}"


@st.cache_data(max_entries=200, show_spinner=False)
def _checked(key: str, _session: Session, h: float, names: tuple[str, ...], most: int) -> dict[str, Checked]:
    return check(*_at_the_position(_session), h, names, most=most)


@st.cache_data(max_entries=200, show_spinner=False)
def _errors(key: str, _session: Session, names: tuple[str, ...], most: int) -> Array:
    return error_by_step(*_at_the_position(_session), STEPS, names, most=most)


def _at_the_position(session: Session) -> tuple[FFN, Array, Array]:
    """The network with x and d_output of the chosen position, [d_model]: the others have no part in the loss."""
    trace, objective = trace_of(session), session.view.objective
    return trace.ffn, trace.x[objective.position], objective.d_output(trace)[objective.position]
