"""How every trap is told: a question, a prediction, and only then what happens, right and wrong side by side."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from ffn_app.session import Session
from ffn_core.activations import Array
from ffn_core.matrix_text import parse_matrix, parse_number, short_number
from ffn_core.traps import Layer, Line, as_meant, greatest_gap, marks

PREDICTIONS = "traps_predictions"
SHOWN = "shown without a prediction"
MOST_ROWS = 6
"""As many rows and columns as a matrix may have that is typed on this page."""
MOST_COORDINATES = 8

LEGEND = "≠ another number than the right way has; + a step that the right way does not have."


@dataclass(frozen=True, kw_only=True)
class Question:
    """One experiment: what is asked, the right answer, and what is shown once a person has predicted.

    `given` are the numbers that it is about. With `choices` the answer is one of them, without it a number. `because` follows the
    verdict. `reveal` draws the rest.
    """

    name: str
    given: str
    ask: str
    answer: str | float
    because: str
    reveal: Callable[[Session], None]
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Trap:
    """A mistake that people make, as one or more questions: the next is asked once the one before is answered."""

    name: str
    label: str
    title: str
    story: str
    questions: tuple[Question, ...]
    notice: str


def predictions() -> dict[str, str | float]:
    """What this visitor has predicted, by the question's name; SHOWN where they went on without."""
    found: dict[str, str | float] = st.session_state.get(PREDICTIONS, {})
    return found


def draw_trap(session: Session, trap: Trap) -> None:
    """The trap as far as it is answered, and how to notice it once it is answered whole."""
    st.header(trap.title)
    st.markdown(trap.story)
    for number, question in enumerate(trap.questions, start=1):
        if len(trap.questions) > 1:
            st.subheader(f"Experiment {number} of {len(trap.questions)}")
        st.code(question.given, language=None)
        st.markdown(question.ask)
        if question.name not in predictions():
            _ask(question)
            return
        _verdict(question)
        question.reveal(session)
    st.subheader("How to notice it")
    st.markdown(trap.notice)
    st.button(
        "Hide the answers and predict again", on_click=_forget, args=(trap,), key=f"traps_{trap.name}_again"
    )


# ---------------------------------------------------------------- predicting


def _ask(question: Question) -> None:
    key = f"traps_{question.name}_guess"
    with st.form(f"traps_{question.name}_form"):
        if question.choices:
            st.radio("Your prediction", question.choices, index=None, key=key)
        else:
            st.text_input("Your prediction, a number", key=key, placeholder="such as −0.5", max_chars=40)
        with st.container(horizontal=True):
            st.form_submit_button(
                "Check my prediction",
                type="primary",
                on_click=_predict,
                args=(question,),
                key=f"traps_{question.name}_check",
            )
            st.form_submit_button(
                "Just show me",
                type="tertiary",
                on_click=_remember,
                args=(question, SHOWN),
                key=f"traps_{question.name}_show",
                help="For a class that has already voted, or to go on without a prediction.",
            )
    if problem := st.session_state.pop(f"traps_{question.name}_problem", None):
        st.warning(problem)


def _predict(question: Question) -> None:
    given = st.session_state[f"traps_{question.name}_guess"]
    try:
        if question.choices:
            if given is None:
                raise ValueError("choose one of the answers")
            _remember(question, given)
        else:
            _remember(question, parse_number(given))
    except ValueError as error:
        st.session_state[f"traps_{question.name}_problem"] = (
            f"There is no prediction yet: {error}. “Just show me” goes on without one."
        )


def _remember(question: Question, prediction: str | float) -> None:
    st.session_state[PREDICTIONS] = predictions() | {question.name: prediction}


def _forget(trap: Trap) -> None:
    asked = {question.name for question in trap.questions}
    st.session_state[PREDICTIONS] = {name: kept for name, kept in predictions().items() if name not in asked}


def is_right(question: Question, prediction: str | float) -> bool:
    """Whether a prediction is the answer; a number counts to two decimals."""
    if isinstance(question.answer, str) or isinstance(prediction, str):
        return prediction == question.answer
    return abs(prediction - question.answer) <= 0.006


def _verdict(question: Question) -> None:
    prediction = predictions()[question.name]
    answer = _said(question.answer)
    if prediction == SHOWN:
        st.info(f"The answer: **{answer}**. {question.because}")
    elif is_right(question, prediction):
        st.success(f"You predicted **{_said(prediction)}**, and that is right. {question.because}")
    else:
        st.info(f"You predicted **{_said(prediction)}**; it is **{answer}**. {question.because}")


def _said(answer: str | float) -> str:
    return answer if isinstance(answer, str) else short_number(answer)


# ---------------------------------------------------------------- what is shown


def side_by_side(right_title: str, right: Sequence[Line], wrong_title: str, wrong: Sequence[Line]) -> None:
    """Both ways line by line, the wrong one marked where it differs, and what differs as a sentence."""
    found = marks(right, wrong)
    left, beside = st.columns(2)
    left.markdown(f"**Right:** {right_title}")
    left.code("\n".join(line.text for line in right), language=None, wrap_lines=True)
    beside.markdown(f"**The trap:** {wrong_title}")
    beside.code(
        "\n".join(f"{mark or ' '} {line.text}" for mark, line in zip(found, wrong, strict=True)),
        language=None,
        wrap_lines=True,
    )
    before = {line.name: line.value for line in right}
    changed = [
        f"{line.name} is {_apart(line.value, before[line.name])}"
        for mark, line in zip(found, wrong, strict=True)
        if mark == "≠"
    ]
    if changed:
        st.markdown(f"**What differs:** {'; '.join(changed)}.")
    else:
        st.markdown(
            "**What differs:** no number of the right way, with these numbers. The trap is silent here."
        )
    if any(found):
        st.caption(LEGEND)


def _apart(value: float, other: float) -> str:
    """`7, not 5`, in as many digits as tell the two apart."""
    texts = short_number(value), short_number(other)
    if texts[0] == texts[1]:
        texts = f"{value:.6g}", f"{other:.6g}"
    return ", not ".join(texts).replace("-", "−")


def typed_matrix(
    label: str, name: str, start: str, *, one_row: bool = False, help: str | None = None
) -> Array:
    """A small matrix from a text that a person types, [rows, columns], or one row of it [columns].

    What cannot be read is said below the text, and the last good one stays.
    """
    key = f"traps_{name}"
    st.session_state.setdefault(key, start)
    if one_row:
        st.text_input(label, key=key, persist_state="session", help=help, max_chars=400)
    else:
        st.text_area(label, key=key, persist_state="session", help=help, height=110, max_chars=400)
    good = f"{key}_good"
    try:
        matrix = parse_matrix(st.session_state[key])
        _check_size(matrix, one_row)
        st.session_state[good] = matrix
    except ValueError as error:
        matrix = st.session_state.get(good, parse_matrix(start))
        st.error(f"{label} cannot be used: {error}. The last good one is still shown.")
    row: Array = matrix[0] if one_row else matrix
    return row


def _check_size(matrix: Array, one_row: bool) -> None:
    if one_row and len(matrix) != 1:
        raise ValueError(f"it must be one row, got {len(matrix)}")
    if max(matrix.shape) > MOST_ROWS:
        raise ValueError(
            f"this page takes up to {MOST_ROWS} by {MOST_ROWS}, got {matrix.shape[0]} by {matrix.shape[1]}"
        )


def sliders(
    name: str, labels: Sequence[str], start: Sequence[float], reach: float, step: float = 0.25
) -> Array:
    """A slider for each of some numbers, from -reach to reach."""
    values = []
    for i, (column, label) in enumerate(zip(st.columns(len(labels)), labels, strict=True)):
        key = f"traps_{name}_{i}"
        st.session_state.setdefault(key, float(start[i]))
        values.append(column.slider(label, -reach, reach, step=step, key=key, persist_state="session"))
    return np.array(values)


def chosen(label: str, options: Sequence[str], name: str) -> str:
    """One of a few words, the first unless another was chosen."""
    key = f"traps_{name}"
    st.session_state.setdefault(key, options[0])
    return str(st.segmented_control(label, options, key=key, persist_state="session", required=True))


def on_the_open_network(session: Session, trap: str, wrong: Layer, right: Layer = as_meant) -> None:
    """The same mistake on the dense network that is open on the other pages, at the chosen position."""
    part = st.expander(
        "The same mistake on the network chosen at the top of the page",
        key=f"traps_{trap}_open",
        on_change="rerun",
    )
    if not part.open:
        return
    ffn, x = session.present.build()
    position, ways = session.view.position, {"right": right(ffn, x), "the trap": wrong(ffn, x)}
    with part:
        word, width = session.present.words[position], min(ffn.d_model, MOST_COORDINATES)
        rows = {name: way.output[position] for name, way in ways.items()}
        rows["the trap minus right"] = rows["the trap"] - rows["right"]
        st.dataframe(
            [
                {"output": name} | {str(i): short_number(float(numbers[i])) for i in range(width)}
                for name, numbers in rows.items()
            ],
            hide_index=True,
        )
        st.text(
            f"FFN(x) for position {position}, “{word}”, of d_model {ffn.d_model} → d_ff {ffn.d_ff}"
            f"{f'; the first {width} coordinates' if width < ffn.d_model else ''}. The greatest difference over all {len(x)} "
            f"positions and all coordinates is {short_number(greatest_gap(ways['right'], ways['the trap']))}."
        )
