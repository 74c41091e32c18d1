"""The parts of the page "One position at a time", each a question that the numbers answer."""

from collections.abc import Sequence

import streamlit as st

from ffn_app.board.arrays import arrays_of, spans
from ffn_app.board.names import names_of
from ffn_app.figures.positions import columns, reach
from ffn_app.live_plot import live_plot
from ffn_app.markdown import literal
from ffn_app.session import Session, apply
from ffn_app.shell import change, current, drawn_first, keep, look_at
from ffn_app.view import MOST_SEED
from ffn_core.activations import Array
from ffn_core.dense import Trace
from ffn_core.examples import EXAMPLES
from ffn_core.matrix_text import short_number
from ffn_core.positionwise import (
    STAGES,
    Comparison,
    Effect,
    another_shuffle,
    as_convolution,
    causal_average,
    effect_of,
    same,
    shuffle_order,
    shuffled,
    starting_point,
    telling_coordinate,
)
from ffn_core.scenario import Edit, Scenario

SUGGESTED = "cat"
KEEP_WEIGHTS = "positions_keep_weights"
MOST_TOLD = 8
"""Of more words than that a sentence does not list those that nothing happened to."""
WHY_NO_FURTHER = (
    "no key reads that change.",
    "the nonlinearity gives the same for both.",
    "no value writes what changed, or the values cancel.",
)
"""Why a change may go no further than x, hidden or activated."""


def suggest_example(session: Session) -> None:
    """Offer the sentence that the page is best read with, where another example is open."""
    if session.present.base == SUGGESTED:
        return
    name, _, size = EXAMPLES[SUGGESTED].title.partition(",")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(f"Open “{name}”", help=f"Three words, {size.strip()}.", on_click=_open_suggested)
        if len(session.present.words) == 1:
            st.write(
                "Here is one position only. Add another with the **+** beside it on the board, or open this."
            )


def _open_suggested() -> None:
    keep(apply(current(), {"kind": "base", "name": SUGGESTED}))


def changed_columns(session: Session) -> None:
    """Every stage with a column for each position, and at each how far it is from the starting point."""
    scenario, words = session.present, session.present.words
    before, after = _before(scenario), _trace(scenario)
    effect = effect_of(before, after)
    own_weights = _weights_changed(scenario) and not _keeps_weights()
    _say_what_changed(session, words, effect, own_weights)
    if _weights_changed(scenario):
        st.toggle(
            "Compare with the weights as they are now, so that only changes of x count",
            key=KEEP_WEIGHTS,
            persist_state="session",
        )
    span = _span(session)
    for column, stage in zip(st.columns(len(STAGES)), STAGES, strict=True):
        with column:
            drawing = columns(
                stage, getattr(after, stage), words, span=span, differences=getattr(effect, stage)
            )
            live_plot(drawing, key=f"columns_{stage}")
    st.caption(
        f"Colours as on the board: orange to −{short_number(span)}, blue to {short_number(span)}. A frame marks a "
        f"column that changed. Differences of the output {_rounding(effect.tolerances['output'])} are rounding and "
        "count as 0."
    )


def _rounding(tolerances: Array) -> str:
    """The tolerances of all positions in words."""
    least, most = f"{tolerances.min():.1g}", f"{tolerances.max():.1g}"
    return f"up to {most}" if least == most else f"of at most {least} to {most}, depending on the position,"


def _say_what_changed(session: Session, words: Sequence[str], effect: Effect, own_weights: bool) -> None:
    changed = [word for word, difference in zip(words, effect.x, strict=True) if difference]
    kept = [word for word, difference in zip(words, effect.x, strict=True) if not difference]
    if len(kept) > MOST_TOLD:
        kept = [f"All {len(kept)} others"]
    if own_weights:
        st.write(
            "The **weights** were changed. All positions share them, so every position may change at once; "
            "which x is at another position still makes no difference."
        )
    elif changed:
        others = f" **{_listed(kept)}**: difference 0, in every stage." if kept else ""
        if effect.last_changed.max() == 0:
            st.write(f"x was changed at **{_listed(changed)}**.{others}")
        else:
            st.write(
                f"x was changed at **{_listed(changed)}**, and only there do the numbers change.{others}"
            )
        for stage, why in enumerate(WHY_NO_FURTHER):
            stopped = [
                word
                for word, last, x in zip(words, effect.last_changed, effect.x, strict=True)
                if x and last == stage
            ]
            if stopped:
                st.write(
                    f"At **{_listed(stopped)}** {STAGES[stage]} changed, but {STAGES[stage + 1]} did not "
                    f"(within rounding): {why}"
                )
    else:
        p, i = _to_add(session.present, session.view.position)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.write("Nothing is changed yet. Type another number into x on the board, or:")
            st.button(
                f"Add 1 to x[{p}][{i}] of “{literal(words[p])}”",
                help=names_of(session.present).feature(i).capitalize(),
                on_click=_add_one,
                args=(p, i),
            )


def _to_add(scenario: Scenario, position: int) -> tuple[int, int]:
    """The place in x of the change that the page offers: at that position a coordinate that its output tells of."""
    return position, telling_coordinate(*scenario.build(), position)


def _plus_one(scenario: Scenario, place: tuple[int, int]) -> Scenario:
    _, x = scenario.build()
    return scenario.edit(Edit("x", place, float(x[place]) + 1))


def _add_one(position: int, coordinate: int) -> None:
    change(lambda scenario: _plus_one(scenario, (position, coordinate)))


@drawn_first()
def shuffling(session: Session) -> None:
    """The outputs beside those of the shuffled sequence."""
    ffn, x = session.present.build()
    words, seed, followed = session.present.words, session.view.shuffle, session.view.position
    order = shuffle_order(len(words), seed)
    mixed = shuffled(ffn, x, order)
    new_words = [words[p] for p in order]
    if len(words) > 2:
        st.button("Shuffle", on_click=_shuffle, help="Another order than the one shown. The link keeps it.")
    else:
        st.write("Of two positions there is only one other order.")
    told = f"**{_listed(new_words)}**, " if len(words) <= MOST_TOLD else ""
    st.write(
        f"The new order is {told}positions {_listed([str(p) for p in order])}. "
        "Each word keeps its output, wherever it stands: the FFN does not know the order. "
        f"The frame follows **{literal(words[followed])}**."
    )
    _side_by_side(
        session,
        ("output, in order", ffn.forward(x).output, words, followed),
        ("output of the shuffled x", mixed.trace.output, new_words, order.tolist().index(followed)),
        key="shuffle",
    )
    _verdict("The outputs shuffled, and the outputs of the shuffled x", mixed.comparison)


def _shuffle() -> None:
    session = current()
    look_at(shuffle=another_shuffle(len(session.present.words), session.view.shuffle, MOST_SEED + 1))


def convolving(session: Session) -> None:
    """The outputs beside those of two convolutions."""
    ffn, x = session.present.build()
    words = session.present.words
    trace, convolved = ffn.forward(x), as_convolution(ffn, x)
    st.write(
        "A convolution slides one kernel along the sequence. Its width says how many neighbours it sees, and at "
        f"width 1 it sees none: W1 as a kernel [{ffn.d_ff}, {ffn.d_model}, 1], the nonlinearity, then W2 as a kernel "
        f"[{ffn.d_model}, {ffn.d_ff}, 1]."
    )
    _side_by_side(
        session,
        ("output of the FFN", trace.output, words, None),
        ("output of the convolutions", convolved, words, None),
        key="convolution",
    )
    _verdict("The FFN and the convolutions", same(trace, convolved))


def mixing(session: Session) -> None:
    """What would change if positions were mixed first, as attention mixes them; before any change, what one would do."""
    scenario, words = session.present, session.present.words
    before, after = _before(scenario), _trace(scenario)
    st.write(
        "Attention is where positions look at each other. Its simplest form: each position becomes the **average** of "
        "itself and all before it, and then goes through the same FFN. Then one edit reaches every later position."
    )
    title = "How far the change reaches"
    own_weights = _weights_changed(scenario) and not _keeps_weights()
    effect = effect_of(before, after)
    if own_weights:
        st.write(
            "The **weights** were changed, which all positions share: differences that come of that are no mixing."
        )
    elif not effect.x.any():
        # At the last position an average would have nothing to reach.
        p, i = _to_add(scenario, min(session.view.position, len(words) - 2))
        title = f"How far adding 1 to x[{p}][{i}] of “{words[p]}” would reach"
        st.write("Nothing is changed yet: this is what **would** happen.")
        before, after = after, _trace(_plus_one(scenario, (p, i)))
        effect = effect_of(before, after)
    mixed = effect_of(*(trace.ffn.forward(causal_average(trace.x)) for trace in (before, after)))
    differences = {"FFN alone": effect.output, "average, then FFN": mixed.output}
    if not own_weights:
        reached = [f"{way}: **{_listed(_reached(words, values))}**" for way, values in differences.items()]
        st.write(f"Outputs that change. {'; '.join(reached)}.")
        if not effect.output.any():
            st.write("x changed, but no output of the FFN alone did (within rounding).")
    live_plot(reach(differences, words, title), key="reach")


def _reached(words: Sequence[str], differences: Array) -> list[str]:
    found = [word for word, difference in zip(words, differences, strict=True) if difference]
    return found if 0 < len(found) <= MOST_TOLD else [f"{len(found)} of {len(words)} positions"]


def _side_by_side(session: Session, *stages: tuple[str, Array, Sequence[str], int | None], key: str) -> None:
    span = _span(session)
    for column, (title, values, words, followed) in zip(st.columns(len(stages)), stages, strict=True):
        with column:
            drawing = columns("output", values, words, span=span, title=title, followed=followed)
            live_plot(drawing, key=f"{key}_{title}")


def _verdict(what: str, comparison: Comparison) -> None:
    say = st.success if comparison else st.error
    say(f"{what}: {comparison.text}.")


def _trace(scenario: Scenario) -> Trace:
    ffn, x = scenario.build()
    trace: Trace = ffn.forward(x)
    return trace


def _before(scenario: Scenario) -> Trace:
    return _trace(starting_point(scenario, keep_weights=_keeps_weights()))


def _keeps_weights() -> bool:
    return bool(st.session_state.get(KEEP_WEIGHTS))


def _weights_changed(scenario: Scenario) -> bool:
    return starting_point(scenario).edits != starting_point(scenario, keep_weights=True).edits


def _span(session: Session) -> float:
    """The range of the board's colours, so that a number has one colour on the page."""
    fitted = session.colours_of or Scenario(base=session.present.base)
    return spans(arrays_of(_trace(fitted)))["signal"]


def _listed(words: Sequence[str]) -> str:
    """Words in a row, as they stand: what is written with them is Markdown."""
    return ", ".join(map(literal, words))
