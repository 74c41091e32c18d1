"""The page "Traps": which trap is open, and the way to the next one."""

import streamlit as st

from ffn_app.session import Session
from ffn_app.shell import key_showing, look_at, remember_shown, replaced
from ffn_app.traps import choices, layers, matrices
from ffn_app.traps.form import Trap, draw_trap, is_right, predictions

TRAPS: dict[str, Trap] = {
    trap.name: trap
    for trap in (
        matrices.ORIENTATION,
        matrices.STRIDE,
        layers.AFTER,
        layers.NONE,
        layers.BEFORE,
        layers.BIAS,
        matrices.COLUMN,
        choices.FORM,
        choices.TOP_K,
        choices.GATE,
    )
}

WHAT_IT_IS = (
    "Ten mistakes that people really make in this network. Each runs without a complaint, at least sometimes. "
    "**Predict first, then look**: a wrong guess is what makes it stick."
)


def choose_trap(session: Session) -> None:
    """All traps by name; the link keeps which one is open."""
    names = list(TRAPS)
    key = key_showing("choose_trap", names.index(session.view.trap))

    def chosen() -> None:
        if replaced("choose_trap", key):
            return
        name = st.session_state[key]
        remember_shown("choose_trap", names.index(name))
        look_at(trap=name)

    st.segmented_control(
        "Trap",
        names,
        default=session.view.trap,
        format_func=lambda name: TRAPS[name].label,
        key=key,
        on_change=chosen,
        required=True,
    )


def step_through(session: Session) -> None:
    """To the trap before and the one after."""
    names = list(TRAPS)
    at = names.index(session.view.trap)
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, there in (("Previous trap", at - 1), ("Next trap", at + 1)):
            inside = 0 <= there < len(names)
            st.button(
                label,
                on_click=look_at,
                kwargs={"trap": names[there]} if inside else {},
                disabled=not inside,
                key=f"traps_step_{label}",
            )
        st.caption(f"Trap {at + 1} of {len(names)}")


@st.fragment  # a press repaints this trap alone
def open_trap(session: Session) -> None:
    """The trap that is open, and how many the visitor has answered."""
    draw_trap(session, TRAPS[session.view.trap])
    made = predictions()
    questions = [question for trap in TRAPS.values() for question in trap.questions]
    right = sum(question.name in made and is_right(question, made[question.name]) for question in questions)
    st.caption(
        f"On this page you have answered {len(made)} of {len(questions)} experiments, {right} of them as you predicted."
    )
