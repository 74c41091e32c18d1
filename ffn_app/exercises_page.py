"""The parts of the page "Exercises": the shelf, what one asks, and the place to work on it."""

import json
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from ffn_app.assets import python_addresses
from ffn_app.board.component import render_board
from ffn_app.board.data import fits_neuron_lines, live_board
from ffn_app.exercise.component import render_shelf, render_work
from ffn_app.session import Session, token
from ffn_app.shell import change, key_showing, look_at, remember_shown, replaced
from ffn_app.view import MOST_SEED
from ffn_core.exercises import EXERCISES, CodeExercise, Exercise, NumberExercise, ScenarioExercise
from ffn_core.exercises.marking import CODES

KINDS = {"numbers": "by hand", "scenario": "network", "code": "Python"}
NAMES = list(EXERCISES)


def opened(session: Session) -> Exercise:
    """The exercise that is open."""
    return EXERCISES[session.view.exercise]


def shelf(session: Session) -> None:
    """All exercises with their marks, and the class number."""
    render_shelf(
        {
            "exercises": [
                {"name": exercise.name, "title": exercise.title, "kind": KINDS[exercise.kind]}
                for exercise in EXERCISES.values()
            ],
            "open": session.view.exercise,
            "seed": session.view.seed,
            "network": token(session.present),
        }
    )


def _class_number(session: Session) -> None:
    seed = session.view.seed
    key = key_showing("exercises_seed", seed)

    def chosen() -> None:
        if replaced("exercises_seed", key):
            return
        remember_shown("exercises_seed", st.session_state[key])
        look_at(seed=st.session_state[key])

    st.number_input(
        "Class number", 0, MOST_SEED, seed, key=key, on_change=chosen, width=160,
        help="Another number, from 0 to 9999, gives other numbers to work with. All who open the same link, or type the same "
        "number, have the same ones.",
    )  # fmt: skip


def statement(session: Session) -> None:
    """What is to be done."""
    exercise = opened(session)
    st.header(f"{NAMES.index(exercise.name) + 1}. {exercise.title}")
    st.markdown(exercise.statement(session.view.seed))
    if exercise.seeded:
        _class_number(session)


def hints(session: Session) -> None:
    """The hints, to be opened one by one."""
    exercise = opened(session)
    for number, hint in enumerate(exercise.hints, start=1):
        with st.expander(f"Hint {number}", key=f"hint_{exercise.name}_{number}"):
            st.markdown(hint)


def work(session: Session) -> None:
    """The place to work on it."""
    exercise = opened(session)
    data = _common(session, exercise)
    if isinstance(exercise, CodeExercise):
        render_work(data | _code(exercise, session.view.seed))
        st.caption(
            "Your code runs in this browser alone, with a Python made for browsers (Brython). It can import math, itertools, "
            "operator, functools, typing and sys. A run is stopped after 5 seconds."
        )
    elif isinstance(exercise, NumberExercise):
        render_work(data | {"task": _task(exercise, session.view.seed)})
    elif isinstance(exercise, ScenarioExercise):
        _set_the_network(session, exercise, data)


def _common(session: Session, exercise: Exercise) -> dict[str, Any]:
    after = NAMES[NAMES.index(exercise.name) + 1 :]
    return {
        "name": exercise.name,
        "kind": exercise.kind,
        "title": exercise.title,
        "seed": session.view.seed,
        "next": {"name": after[0], "title": EXERCISES[after[0]].title} if after else None,
        "python": python_addresses(str(st.get_option("server.baseUrlPath") or "")),
    }


@lru_cache(maxsize=64)
def _sheet(name: str, seed: int) -> str:
    exercise = EXERCISES[name]
    assert isinstance(exercise, CodeExercise)
    return json.dumps(exercise.sheet(seed))


def _code(exercise: CodeExercise, seed: int) -> dict[str, Any]:
    return {
        "starter": exercise.starter,
        # As text, in which 1.0 differs from 1.
        "sheet": _sheet(exercise.name, seed),
        "timeout": {"passed": False, "diagnosis": "timeout", "message": CODES["timeout"]},
    }


def _task(exercise: NumberExercise, seed: int) -> str:
    return json.dumps(exercise.ask(seed).as_json())


def _set_the_network(session: Session, exercise: ScenarioExercise, data: dict[str, Any]) -> None:
    start = exercise.start(session.view.seed)
    scenario = session.present
    begun = scenario.base == start.base
    st.button(
        "Start again" if begun else "Open the exercise's network",
        type="secondary" if begun else "primary",
        key=f"start_{exercise.name}",
        disabled=begun and scenario.to_query() == start.to_query(),
        on_click=change,
        args=(lambda _: start,),
    )
    if not begun:  # another network's numbers would only mislead
        st.caption(
            "It takes the place of the network that is open on the other pages. Undo brings that back."
        )
        return
    verdict = exercise.check(scenario)
    render_work(
        data
        | {
            "verdict": {"passed": verdict.passed, "message": verdict.message},
            "edited": scenario.to_query() != start.to_query(),
            "network": token(scenario),
            "link": urlencode(scenario.to_query() | session.view.to_query(), safe=",.~-_"),
        }
    )
    render_board(live_board(session, "neurons" if fits_neuron_lines(scenario) else "hourglass"), key="board")
