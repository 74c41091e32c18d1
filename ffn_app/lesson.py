"""Below the hourglass: every number worked out as text, and where the lesson prints other ones."""

from functools import cache

import streamlit as st

from ffn_core.examples import lesson_differences
from ffn_core.scenario import DEFAULT_BASE, Scenario
from ffn_core.trace_text import right_numbers, trace_lines


def worked_out(scenario: Scenario) -> None:
    """The trace in the manner of the lesson, one click away; its text is made only when it is asked for."""
    if st.toggle("Every number, worked out as text", key="worked_out"):
        ffn, x = scenario.build()
        st.code("\n".join(trace_lines(ffn.forward(x), scenario.words)), language=None, height=420)


def lesson_notes(scenario: Scenario) -> None:
    """For the lesson's own example: which of its printed numbers are not what its weights give."""
    if scenario.base != DEFAULT_BASE:
        return
    with st.expander("Where the lesson prints other numbers"):
        st.write(
            "The worked example of the lesson prints some numbers that its own weights do not give. "
            "Hourglass computes all of them; these are the rows that differ."
        )
        st.markdown(difference_table())


@cache
def difference_table() -> str:
    """A Markdown table with a row for each place where the lesson is wrong; its wrong numbers in bold."""
    rows = [
        (
            f"`{row.where}`",
            ", ".join(f"**{text}**" if i in row.wrong else text for i, text in enumerate(row.printed)),
            ", ".join(right_numbers(row)),
            row.note,
        )
        for row in lesson_differences()
    ]
    head = ("where", "the lesson prints (wrong in bold)", "right", "what happened")
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ("---",) * len(head), *rows))
