"""What every page begins with: the visitor's session, and the frame around the page."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import streamlit as st

from ffn_app import frame
from ffn_app.board.names import names_of
from ffn_app.markdown import literal
from ffn_app.session import (
    Family,
    Session,
    apply,
    can_reset,
    link,
    open_session,
    placed,
    receive,
    token,
    turned_to,
)
from ffn_core.activations import ACTIVATIONS
from ffn_core.counting import MODELS
from ffn_core.examples import EXAMPLES, VARIANTS
from ffn_core.families import kind_of
from ffn_core.scenario import Scenario
from ffn_core.weight_files import FileError, save_json

SESSION = "hourglass"
ROOT = Path(__file__).parent.parent
HOMES: dict[Family, str] = {
    "dense": "pages/hourglass.py",
    "gated": "pages/gates.py",
    "experts": "pages/experts.py",
    "shape": "pages/counting.py",
}
MOST_CHIPS = 8
"""More positions than this are chosen from a list."""
FEATURED = ("gelu", "gelu_tanh", "relu", "silu", "identity")


def current(family: Family = "dense") -> Session:
    """This visitor's session: from the address the first time, on a page of that family; then what they made of it."""
    if SESSION not in st.session_state:
        query = {name: st.query_params[name] for name in st.query_params}
        st.session_state[SESSION] = open_session(query, family)
    session: Session = st.session_state[SESSION]
    return session


def keep(session: Session) -> None:
    """Make this the visitor's session."""
    st.session_state[SESSION] = session


def change(edit: Callable[[Any], Any]) -> None:
    """Let a widget's callback change the scenario, undoable; an error in it is shown, and nothing lost."""
    session = current()
    try:
        keep(placed(session, edit(session.present)))
    except ValueError as error:
        keep(replace(session, problem=str(error), problem_number=session.problem_number + 1))


def received(message: Any) -> Session:
    """The visitor's session after what the browser sent through a part of the page."""
    session = receive(current(), message)
    keep(session)
    return session


def look_at(**fields: Any) -> None:
    """Let a widget's callback change the view: position, neuron, reading."""
    keep(apply(current(), {"kind": "view", **fields}))


def choose_position(session: Session) -> None:
    """A row of the positions' words, for pages whose board does not show it."""
    words, position = session.present.words, session.view.position
    key = key_showing("choose_position", position)

    def chosen() -> None:
        if replaced("choose_position", key):
            return
        there = st.session_state[key]
        remember_shown("choose_position", there)
        look_at(position=there or 0)

    places, labels = range(len(words)), [f"{p}: {word}" for p, word in enumerate(words)]
    if len(words) <= MOST_CHIPS:
        in_markdown = [f"{p}: {literal(word)}" for p, word in enumerate(words)]
        st.segmented_control(
            "Position",
            places,
            default=position,
            format_func=in_markdown.__getitem__,
            key=key,
            on_change=chosen,
        )
    else:
        st.selectbox(
            "Position", places, index=position, format_func=labels.__getitem__, key=key, on_change=chosen
        )


def choose_neuron(session: Session) -> None:
    """The neuron that is followed, from a list that the keyboard reaches."""
    neuron = session.view.neuron
    key = key_showing("choose_neuron", neuron)

    def chosen() -> None:
        if replaced("choose_neuron", key):
            return
        remember_shown("choose_neuron", st.session_state[key])
        look_at(neuron=st.session_state[key])

    st.selectbox(
        "Neuron",
        range(session.present.build()[0].d_ff),
        index=neuron,
        placeholder="none chosen",
        format_func=names_of(session.present).neuron,
        key=key,
        on_change=chosen,
    )


def key_showing(name: str, value: float | None) -> str:
    """A key for a widget that shows `value`, which is changed elsewhere on the page as well: then it is a new widget.

    A message that left the browser before it knew of the change still holds the old widget's value, and of the same
    widget Streamlit would take that for a choice.
    """
    number, shown = st.session_state.get(name, (0, value))
    if shown != value:
        number += 1
    st.session_state[name] = (number, value)
    return f"{name}_{number}"


def replaced(name: str, key: str) -> bool:
    """Whether another widget has taken the place of this one of `key_showing`: then nobody has set it.

    The browser may still send the old one's value, and Streamlit, which has forgotten that, takes it for a choice.
    """
    number, _ = st.session_state[name]
    return key != f"{name}_{number}"


def remember_shown(name: str, value: float | None) -> None:
    """Note that a person has set the widget of `key_showing`, which goes on as it is."""
    number, _ = st.session_state[name]
    st.session_state[name] = (number, value)


def open_page(title: str, family: Family = "dense", *, own_network: bool = False) -> Session:
    """Restore the session, take in what the browser sent, and draw the frame. Returns the session.

    With `own_network` the page shows a network of its own, and the frame has no controls for the scenario, which is not
    in sight.

    Its `present` is a scenario of that family; each family has its own, which waits while other pages are open. A link
    with a scenario of another family leads to that family's page.
    """
    is_new = SESSION not in st.session_state
    if is_new and (there := current(family).family) != family:
        st.switch_page(str(ROOT / HOMES[there]))
    keep(turned_to(current(family), family))
    session = received(sent_through(frame.KEY))
    message = frame.render_frame(_frame_data(title, session, own_network))
    # In a new server session the browser's message is known only once the frame is drawn.
    late = receive(session, message)
    if late is not session:
        keep(late)
        st.rerun()
    return session


DRAWING = 0.2
"""Seconds for the browser to draw what a person acts on: the rest of the page, sent at once, would take its time."""

Part = Callable[[Session], None]


def drawn_first(*, hears: str | None = None) -> Callable[[Part], Part]:
    """Make a fragment of a part of a page: what is done in it is drawn there first, and then in the rest of the page.

    With `hears` the part draws a `live_plot` of that key with `hears_views`, so that a neuron or position chosen
    anywhere on the page is drawn there first as well.
    """

    def as_fragment(part: Part) -> Part:
        @st.fragment
        @wraps(part)
        def drawn(shown: Session) -> None:
            session = received(sent_through(hears)) if hears else current()
            part(session)
            if _seen(session) != _seen(shown):
                time.sleep(DRAWING)
                st.rerun()

        return drawn

    return as_fragment


def _seen(session: Session) -> tuple[Any, ...]:
    return session.present, session.view, session.applied, session.problem_number


def sent_through(key: str) -> Any:
    """The last message of the browser through the component `key`, or None."""
    state = st.session_state.get(key)
    return state.get("log") if state is not None and hasattr(state, "get") else None


def _frame_data(title: str, session: Session, own_network: bool) -> dict[str, Any]:
    scenario = session.present
    query, too_long = link(session)
    base, examples = _examples(session)
    keeps = {"name": token(scenario), "wants": session.wants} if too_long else None
    file = None
    if session.give:  # asked for by the browser, and given once
        layer, x = scenario.build()
        try:
            text = save_json(layer, x, scenario.words)
        except FileError as error:
            session = replace(session, notices=(*session.notices, str(error)))
        else:
            if session.give == "keep" and keeps:
                keeps |= {"text": text}
            elif session.give == "file":
                file = {"number": session.gives, "name": "hourglass.json", "text": text}
        keep(replace(session, give=None))
    acts = isinstance(scenario, Scenario) and not own_network
    return {
        "title": title,
        "own_network": own_network,
        "size": _size(session),
        "log": {
            "client": session.client,
            "applied": session.applied,
            "token": token(scenario),
            "family": session.family,
        },
        "query": query,
        "too_long": too_long,
        "keep": keeps,
        "file": file,
        "examples": examples,
        "example": base,
        "activations": [(name, activation.label) for name, activation in ACTIVATIONS.items()] if acts else [],
        "featured": FEATURED if acts else [],
        "activation": scenario.activation if acts else "",
        "can_undo": bool(session.past or scenario.edits),
        "can_redo": bool(session.future),
        "can_reset": can_reset(session),
        "notices": list(session.notices),
    }


def _examples(session: Session) -> tuple[str, list[tuple[str, str]]]:
    """The name of the present example, and the names and titles of those to choose from."""
    base = session.present.base
    if session.family == "shape":
        return base, [(name, shape.title) for name, shape in MODELS.items()]
    choices = [
        (name, example.title)
        for name, example in (EXAMPLES | VARIANTS).items()
        if kind_of(example.ffn).family == session.family
    ]
    return (base, choices) if isinstance(base, str) else ("other", [*choices, ("other", "Random weights")])


def _size(session: Session) -> str:
    built = session.present.build()
    if session.family == "shape":
        return (
            f"{built.n_layers} layer{'s' * (built.n_layers != 1)}, d_model {built.d_model}, d_ff {built.d_ff}"
        )
    sizes = session.present.kind.sizes(built[0])
    experts = f"{sizes['n_experts']} experts, " if "n_experts" in sizes else ""
    return f"{experts}d_model {sizes['d_model']} → d_ff {sizes['d_ff']} → d_model {sizes['d_model']}"
