"""The parts of the page "Learning": the settings, the run's buttons, and what is drawn of it while it goes on.

The run is in this visitor's session, and computes only in `_watch`, a bounded piece each time that the visitor's own
browser has drawn the last picture and asks for the next. When the page is left or the browser closed, nothing goes on.
"""

import time
from dataclasses import fields, replace
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from ffn_app.figures import learning as figures
from ffn_app.learning_run import (
    CHOICES,
    MOST_POINTS_TEXT,
    MOST_STEPS,
    PACES,
    Run,
    Settings,
    opened,
    shown,
    silent,
)
from ffn_app.live_plot import live_plot
from ffn_app.session import Session, turned_to
from ffn_app.shell import change, current, keep
from ffn_core.matrix_text import short_number

RUN, RUNNING, TOLD, BEFORE, STEP = (
    f"learning_{name}" for name in ("run", "running", "told", "before", "step")
)
GAP, EVERY = 0.1, 1.0
"""Seconds from a picture of the fit to the asking for the next while it runs, and from one of the charts below to the next."""
CLOCK = time.perf_counter
OPEN_IN = {"Hourglass": "hourglass", "Weights": "weights", "Memories": "memories"}
ROOT = Path(__file__).parent.parent


class _Before(NamedTuple):
    """The loss curve of the run that a change of settings has ended."""

    settings: Settings
    curve: figures.Curve


def learning_lab(session: Session) -> None:
    """The whole page: the run beside its settings, and what it is made of below."""
    if STEP not in st.session_state:  # Streamlit forgets the buttons of a page that was left
        st.session_state[RUNNING] = False
    stage, side = st.columns([5, 2], gap="medium")
    with side:
        run = _run_of(_settings(session))
    with stage:
        _buttons(run)
        _watch()
    with side:
        _open_elsewhere()
    st.fragment(run_every=EVERY if st.session_state[RUNNING] else None)(_made_of)()


# ---------------------------------------------------------------- settings

_HELP = {
    "points": "Typed, or pasted from a spreadsheet. x and y of about unit size are learned best.",
    "task": "What is to be learned: the y of a curve at each x, or which of two classes a point of the plane is of.",
    "activation": "The nonlinearity between W1 and W2. With identity there is none, and only a straight line comes out.",
    "d_ff": "How many neurons the hidden layer has.",
    "optimizer": "How a gradient becomes a step. SGD: against the gradient, with momentum. Adam: scaled for each weight.",
    "learning_rate": "How far a step goes. Too small is slow, too large and the loss jumps or grows without end.",
    "momentum": "The share of the last step's direction that goes into the next. Adam has its own.",
    "batch_size": "How many of the points each step sees. Fewer make the loss noisy.",
    "weight_decay": "Each step takes learning rate times this share off every weight and bias.",
    "seed": "Another seed, other weights to begin with. The same settings always give the same run.",
    "beside": "The same network from the same weights without a nonlinearity, learning in step; beside identity itself nothing.",
}


def note_settings() -> None:
    """Put what a person has just set into the view, so that the link holds it."""
    if _key("task") in st.session_state:
        session = turned_to(current(), "dense")
        keep(replace(session, view=replace(session.view, learning=_readable(_chosen())[0].text)))


def _key(name: str) -> str:
    return f"learning_{name}"


def _chosen() -> Settings:
    """The settings as the widgets have them now."""
    return Settings(
        **{each.name: st.session_state[_key(each.name)] for each in fields(Settings)}
    ).that_count()


def _readable(chosen: Settings) -> tuple[Settings, str]:
    """The same settings; with points that cannot be read the last good ones in their place, and what is wrong with them."""
    try:
        chosen.made()
    except ValueError as error:
        held: Run | None = st.session_state.get(RUN)
        return replace(chosen, points=held.settings.points if held else Settings.points), str(error)
    return chosen, ""


def _settings(session: Session) -> Settings:
    """Draw the settings, and read them; points that cannot be read are told, and the last good ones stay."""
    state, linked = st.session_state, Settings.from_text(session.view.learning)
    for each in fields(Settings):
        state.setdefault(_key(each.name), getattr(linked, each.name))
    _choose("task", "Task")
    if state[_key("task")] == "points":
        st.text_area(
            "Points, a line “x, y” for each", height=110, max_chars=MOST_POINTS_TEXT, help=_HELP["points"],
            key=_key("points"), persist_state="session",
        )  # fmt: skip
    left, right = st.columns(2, gap="small")
    with left:
        _choose("activation", "Nonlinearity")
        _choose("optimizer", "Optimizer")
        _choose("batch_size", "Points a step")
        _choose("weight_decay", "Weight decay")
    with right:
        _number("d_ff", "d_ff, neurons")
        _choose("learning_rate", "Learning rate")
        _choose("momentum", "Momentum of SGD")
        _number("seed", "Seed")
    st.toggle("Identity beside", key=_key("beside"), persist_state="session", help=_HELP["beside"])
    settings, wrong = _readable(_chosen())
    if wrong:
        st.error(f"{_sentence(wrong)} The last points that could be read are still learned.")
    return settings


def _sentence(error: str) -> str:
    return f"{error[:1].upper()}{error[1:]}."


def _choose(name: str, label: str) -> None:
    st.selectbox(
        label, CHOICES[name], format_func=lambda value: shown(name, value), key=_key(name), persist_state="session",
        help=_HELP[name],
    )  # fmt: skip


def _number(name: str, label: str) -> None:
    low, high = CHOICES[name][0], CHOICES[name][-1]
    st.number_input(label, low, high, key=_key(name), persist_state="session", help=_HELP[name])


def _run_of(settings: Settings) -> Run:
    """The run of these settings: the one that there is, or, once one of them has changed, a new one."""
    old: Run | None = st.session_state.get(RUN)
    if old is None:
        st.session_state[RUN] = old = Run(settings)
    elif old.settings != settings:
        told = f"New run: {old.settings.changes(settings)}."
        if step := old.main.state.step:
            told += f" The run before had loss {short_number(old.main.state.loss)} at step {step:,}."
            st.session_state[BEFORE] = _Before(
                old.settings, figures.Curve.of("the run before", old.main.history)
            )
        old = Run(settings)
        for name, value in ((RUN, old), (RUNNING, False), (TOLD, told)):
            st.session_state[name] = value
    return old


# ---------------------------------------------------------------- the run


def _buttons(run: Run) -> None:
    running = st.session_state[RUNNING]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Pause" if running else "Start", key="learning_start", type="primary", on_click=_go, args=(not running,),
            disabled=run.ended and not running, width=92,
        )  # fmt: skip
        st.button("Step", key=STEP, on_click=_one_step, disabled=run.ended, help="One update of the weights.")
        st.button(
            "Reset",
            key="learning_reset",
            on_click=_reset,
            help="Back to step 0, to the same initial weights.",
        )
        st.selectbox(
            "Steps a picture", PACES, index=2, key="learning_pace", persist_state="session", width=190,
            label_visibility="collapsed", format_func=lambda pace: f"{pace} step{'s' * (pace > 1)} a picture",
            help="How many steps are made from picture to picture, as long as there is time.",
        )  # fmt: skip


def _go(on: bool) -> None:
    st.session_state[RUNNING] = on
    st.session_state[TOLD] = ""


def _one_step() -> None:
    _go(False)
    st.session_state[RUN].advance(1)


def _reset() -> None:
    _go(False)
    st.session_state[RUN] = Run(st.session_state[RUN].settings)


@st.fragment
def _watch() -> None:
    """A bounded piece of the run, where it stands, and what it has learned; while it runs, the chart asks for the next."""
    run: Run = st.session_state[RUN]
    if st.session_state[RUNNING]:
        run.advance(st.session_state.learning_pace, clock=CLOCK)
        if run.ended:
            st.session_state[RUNNING] = False
            st.rerun()  # the buttons change
    state = run.main.state
    st.write(_where(run))
    with st.container(horizontal=True):  # on a phone two beside each other
        _gauge("Step", f"{state.step:,}", f"Updates of the weights so far, of at most {MOST_STEPS:,}.")
        _gauge("Loss", short_number(state.loss), f"{_loss_name(run)}, over all points.")
        if state.accuracy is not None:
            _gauge(
                "Points right",
                f"{state.accuracy:.1%}",
                "Points on the right side of the cut, where it says 50%.",
            )
        elif run.beside:
            _gauge("Loss, identity", short_number(run.beside.state.loss), _HELP["beside"])
        _gauge(
            "Dead neurons",
            "—" if state.diverged else f"{int(silent(run).sum())} of {state.ffn.d_ff}",
            "Exactly 0 at every point of the task: no gradient of these points moves them.",
        )
    live_plot(
        figures.fit(run.task, state, run.beside.state if run.beside else None),
        key="learning_fit",
        again=GAP if st.session_state[RUNNING] else None,
    )


def _gauge(label: str, value: str, help: str) -> None:
    st.metric(label, value, help=help, width=160)


def _where(run: Run) -> str:
    """Where the run stands, in a sentence."""
    state = run.main.state
    if state.diverged:
        return f"It diverged at step {state.step:,}: a number is no longer finite. Choose a smaller learning rate."
    if run.ended:
        return f"All {MOST_STEPS:,} steps are made: a run has no more. Reset begins it anew."
    if st.session_state[RUNNING]:
        return "Running: each picture is some steps on."
    if told := st.session_state.get(TOLD):
        return str(told)
    return f"Paused at step {state.step:,}." if state.step else "At the initial weights. Press Start."


def _loss_name(run: Run) -> str:
    return (
        "Mean squared error"
        if run.task.kind == "curve"
        else "Logistic loss, −log(probability of the right class)"
    )


_SUM_OF = {
    "curve": "Each thin line is one neuron: activated_j · value_j. Where ReLU does not fire it is flat, and from its kink at "
    "−b1/w1 on it slopes; GELU bends there softly. All of them and b2 add up to the thick line, the fit.",
    "classes": "Each tile is the whole plane of x, as one neuron sees it: it adds to the logit on one side of its line, and on "
    "the other ReLU adds nothing. All tiles and b2 add up to the logit; above 0 it is class 1.",
    "identity": "Without a nonlinearity each neuron adds something straight, and however many are added up, the sum is straight.",
}


def _made_of() -> None:
    """The neurons' contributions, the loss and the weights over time."""
    run: Run = st.session_state[RUN]
    live_plot(figures.neurons(run.task, run.main.state), key="learning_neurons")
    st.write(_SUM_OF["identity" if run.settings.activation == "identity" else run.task.kind])
    curves = [figures.Curve.of(shown("activation", run.settings.activation), run.main.history)]
    if run.beside:
        curves.append(figures.Curve.of("identity", run.beside.history))
    before: _Before | None = st.session_state.get(BEFORE)
    if before and (before.settings.task, before.settings.points) == (run.settings.task, run.settings.points):
        curves.append(before.curve)
    one, other = st.columns([2, 3])
    with one:
        live_plot(figures.loss_curves(curves, _loss_name(run).partition(",")[0]), key="learning_loss")
    with other:
        live_plot(figures.weights(run.main.history), key="learning_weights")


# ---------------------------------------------------------------- onwards


def _open_elsewhere() -> None:
    """Put the network on the desk of the other pages, with points of the task as its positions."""
    st.write("Open the network as it is now, with some of the task’s points as positions, on the page:")
    with st.container(horizontal=True):
        for title, page in OPEN_IN.items():
            if st.button(
                title, key=f"learning_open_{page}", help="Undo there brings back what was open before."
            ):
                _open(page)


def _open(page: str) -> None:
    run: Run = st.session_state[RUN]
    change(lambda _: opened(run))
    if told := current().problem:
        st.error(_sentence(told))
    else:
        state = run.main.state
        told = (
            f"Learned on the page “Learning”: {run.task.title}, step {state.step:,}, loss {short_number(state.loss)}. "
            "Undo brings back what was open before."
        )
        keep(replace(current(), notices=(*current().notices, told)))
        st.switch_page(str(ROOT / "pages" / f"{page}.py"))
