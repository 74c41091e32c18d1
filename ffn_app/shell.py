"""What every page begins with: the visitor's session, and the frame around the page."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from ffn_app import frame
from ffn_app.board.names import names_of
from ffn_app.session import Session, apply, can_reset, link, moved, open_session, receive, token
from ffn_core.activations import ACTIVATIONS
from ffn_core.examples import EXAMPLES
from ffn_core.scenario import Scenario
from ffn_core.weight_files import FileError, save_json

SESSION = "hourglass"
MOST_CHIPS = 8
"""More positions than this are chosen from a list."""
FEATURED = ("gelu", "gelu_tanh", "relu", "silu", "identity")


def current() -> Session:
    """This visitor's session: from the address the first time, then what they made of it."""
    if SESSION not in st.session_state:
        st.session_state[SESSION] = open_session({name: st.query_params[name] for name in st.query_params})
    session: Session = st.session_state[SESSION]
    return session


def keep(session: Session) -> None:
    """Make this the visitor's session."""
    st.session_state[SESSION] = session


def change(edit: Callable[[Scenario], Scenario]) -> None:
    """Let a widget's callback change the scenario, undoable; an error in it is shown, and nothing lost."""
    session = current()
    try:
        keep(moved(session, edit(session.present)))
    except ValueError as error:
        keep(replace(session, problem=str(error), problem_number=session.problem_number + 1))


def look_at(**fields: Any) -> None:
    """Let a widget's callback change the view: position, neuron, reading."""
    keep(apply(current(), {"kind": "view", **fields}))


def choose_position(session: Session) -> None:
    """A row of the positions' words, for pages whose board does not show it."""
    key = "choose_position"
    st.session_state[key] = session.view.position
    words = session.present.words
    places = range(len(words))

    def chosen() -> None:
        look_at(position=st.session_state[key] or 0)

    def labelled(p: int) -> str:
        return f"{p}: {words[p]}"

    if len(words) <= MOST_CHIPS:
        st.segmented_control("Position", places, format_func=labelled, key=key, on_change=chosen)
    else:
        st.selectbox("Position", places, format_func=labelled, key=key, on_change=chosen)


def choose_neuron(session: Session) -> None:
    """The neuron that is followed, from a list that the keyboard reaches."""
    key = "choose_neuron"
    ffn, _ = session.present.build()
    st.session_state[key] = session.view.neuron
    st.selectbox(
        "Neuron",
        range(ffn.d_ff),
        index=None,
        placeholder="none chosen",
        format_func=names_of(session.present).neuron,
        key=key,
        on_change=lambda: look_at(neuron=st.session_state[key]),
    )


def open_page(title: str) -> Session:
    """Restore the session, take in what the browser sent, and draw the frame. Returns the session."""
    session = receive(current(), _message(st.session_state.get(frame.KEY)))
    keep(session)
    message = frame.render_frame(_frame_data(title, session))
    # In a new server session the browser's message is known only once the frame is drawn.
    late = receive(session, message)
    if late is not session:
        keep(late)
        st.rerun()
    return session


def _message(state: Any) -> Any:
    return state.get("log") if state is not None and hasattr(state, "get") else None


def _frame_data(title: str, session: Session) -> dict[str, Any]:
    scenario = session.present
    ffn, x = scenario.build()
    sizes = scenario.kind.sizes(ffn)
    query, too_long = link(session)
    base = scenario.base if isinstance(scenario.base, str) else "other"
    examples = [(name, example.title) for name, example in EXAMPLES.items()]
    if base == "other":
        examples.append((base, "Random weights"))
    keeps = {"name": token(scenario), "wants": session.wants} if too_long else None
    file = None
    if session.give:  # asked for by the browser, and given once
        try:
            text = save_json(ffn, x, scenario.words)
        except FileError as error:
            session = replace(session, notices=(*session.notices, str(error)))
        else:
            if session.give == "keep" and keeps:
                keeps |= {"text": text}
            elif session.give == "file":
                file = {"number": session.gives, "name": "hourglass.json", "text": text}
        keep(replace(session, give=None))
    return {
        "title": title,
        "size": f"d_model {sizes['d_model']} → d_ff {sizes['d_ff']} → d_model {sizes['d_model']}",
        "log": {"client": session.client, "applied": session.applied, "token": token(scenario)},
        "query": query,
        "too_long": too_long,
        "keep": keeps,
        "file": file,
        "examples": examples,
        "example": base,
        "activations": [(name, activation.label) for name, activation in ACTIVATIONS.items()],
        "featured": FEATURED,
        "activation": scenario.activation,
        "can_undo": bool(session.past or scenario.edits),
        "can_redo": bool(session.future),
        "can_reset": can_reset(session),
        "notices": list(session.notices),
    }
