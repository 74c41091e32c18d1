"""Traps of shapes: which way round a matrix is, where its rows begin in a flat list, a bias that is a column."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from ffn_app.figures.traps import flat_reads
from ffn_app.live_plot import live_plot
from ffn_app.session import Session
from ffn_app.traps.form import Question, Trap, chosen, side_by_side, typed_matrix
from ffn_core.activations import Array
from ffn_core.matrix_text import short_number
from ffn_core.traps import (
    Computed,
    as_meant,
    column_refused,
    counted_layer,
    one_stride,
    orientations,
    rows_read,
    with_bias,
)

SAME, SILENT, ERROR = (
    "The same numbers come out",
    "Other numbers come out, and nothing complains",
    "NumPy raises an error",
)


# ---------------------------------------------------------------- orientation


def _square(_: Session) -> None:
    _two_products("square", "1 2\n3 4")


def _oblong(_: Session) -> None:
    _two_products("oblong", "1 2\n3 4\n5 6")
    st.markdown(
        "**What NumPy means:** in `(n?,k),(k,m?)->(n?,m?)` the letter k is the axis that both must share: the "
        "columns of what stands left of @, the rows of what stands right of it. “size 3 is different from 2” names "
        "their two lengths."
    )


def _two_products(name: str, start: str) -> None:
    st.markdown("**Try other numbers.** Change W or x, also their sizes, and see both products.")
    matrix, row = st.columns(2)
    with matrix:
        w = typed_matrix("W, one row a line", f"{name}_w", start)
    with row:
        x = typed_matrix("x, one row", f"{name}_x", "1 2", one_row=True)
    right, wrong = orientations(w, x)
    titles = ("`W @ x`: row j of W times x, bias 0", "`x @ W`: column j of W times x, bias 0")
    if right.values is not None and wrong.values is not None:
        side_by_side(titles[0], right.lines, titles[1], wrong.lines)
        if len(right.values) != len(wrong.values):
            st.markdown("The two do not even have the same length.")
        return
    for column, heading, title, computed in zip(
        st.columns(2), ("Right", "The trap"), titles, (right, wrong), strict=True
    ):
        column.markdown(f"**{heading}:** {title}")
        column.code(_outcome(computed), language=None, wrap_lines=True)
    st.markdown(
        f"**What differs:** W is {w.shape[0]} by {w.shape[1]} and x has {len(x)} numbers. {_who_fails(right, wrong)}"
    )


def _outcome(computed: Computed) -> str:
    if computed.values is None:
        return f"≠ ValueError: {computed.error}"
    return "\n".join(line.text for line in computed.lines)


def _who_fails(right: Computed, wrong: Computed) -> str:
    if right.values is None and wrong.values is None:
        return "Neither product exists: x has as many numbers as W has neither columns nor rows."
    if wrong.values is None:
        return (
            "W @ x needs as many columns as x has numbers, and has them; x @ W needs as many rows, and fails."
        )
    return (
        "Here x @ W is the one that runs, and W @ x fails: so a matrix would be stored (in, out), as GPT-2's are. "
        "Then transpose it once, when it is loaded."
    )


ORIENTATION = Trap(
    name="orientation",
    label="Orientation",
    title="W @ x or x @ W?",
    story="A layer multiplies a matrix and a vector. Papers and programs write it both ways round: with W as [out, "
    "in] it is W @ x, with W as [in, out] it is x @ W. What if the matrix is of one kind, and the code of the "
    "other?",
    questions=(
        Question(
            name="orientation_square",
            given="x = [1, 2]      W = [[1, 2],\n"
            "                     [3, 4]]\n"
            "W @ x = [1·1 + 2·2, 3·1 + 4·2] = [5, 11]",
            ask="The layer means **W @ x**, each row of W times x. Somebody writes **x @ W** instead. What happens?",
            choices=(SAME, SILENT, ERROR),
            answer=SILENT,
            because="A square matrix fits both ways: x @ W takes columns where rows were meant, [7, 10] for [5, 11].",
            reveal=_square,
        ),
        Question(
            name="orientation_oblong",
            given="x = [1, 2]      W = [[1, 2],\n                     [3, 4],\n                     [5, 6]]",
            ask="Now d_ff = 3 is not d_model = 2. W @ x works as before. What does **x @ W** do?",
            choices=(SAME, SILENT, ERROR),
            answer=ERROR,
            because="x has 2 numbers and a column of W has 3. W @ x is fine: [5, 11, 17].",
            reveal=_oblong,
        ),
    ),
    notice="""
- **Test with d_ff ≠ d_model.** A square toy example hides the bug, any other size shows it.
- **Ask for one column.** With x = [1, 0], W @ x is column 0 of W, [1, 3]; x @ W is row 0, [1, 2]. Try it in the first
  experiment.
- A **symmetric** W, such as [[1, 2], [2, 1]], hides even that: both products are equal. Random weights are never
  symmetric.
- Positions are usually rows of x. Then the right way is written `x @ W.T`: for each row it is the same as W @ x.
- Say it when loading: Hourglass asks for `layout="out_in"` or `"in_out"`, since a square matrix cannot tell.
""",
)


# ---------------------------------------------------------------- one stride


def _stride_square(_: Session) -> None:
    _flat_lists("stride_square", 2, 2, 1)


def _stride_oblong(_: Session) -> None:
    _flat_lists("stride_oblong", 2, 3, 1)


def _flat_lists(name: str, d_model: int, d_ff: int, row: int) -> None:
    st.markdown("**Try other sizes**, the other list, another row, and H as the one stride.")
    columns = st.columns(5)
    d_model = _count(columns[0], "D = d_model", f"{name}_d", d_model)
    d_ff = _count(columns[1], "H = d_ff", f"{name}_h", d_ff)
    with columns[2]:
        which = chosen("List", ["W2", "W1"], f"{name}_list")
    with columns[3]:
        by = chosen("The one stride", ["D", "H"], f"{name}_by")
    ffn = counted_layer(d_model, d_ff)
    matrix, stride = ffn.w2 if which == "W2" else ffn.w1, d_model if by == "D" else d_ff
    row = _row(columns[4], f"{name}_row", len(matrix), row)
    live_plot(flat_reads(which, matrix, row, stride), key=f"traps_{name}_reads")
    st.caption(
        "Both lists hold 1, 2, 3, … so that a number says where it stands. Thin frames: the matrix's rows. Solid "
        "frame: the row that is meant. Dotted frame: what the code reads."
    )
    _what_the_stride_does(which, matrix, row, stride, by)
    x = np.ones(d_model)
    st.markdown(f"**The whole layer** for x = {_written(x)}, ReLU, biases 0:")
    right = as_meant(ffn, x)
    titles = ("row i of W1 from i·D, row i of W2 from i·H", f"row i of both from i·{by}")
    try:
        wrong = one_stride(ffn, x, stride)
    except ValueError as error:
        left, beside = st.columns(2)
        left.markdown(f"**Right:** {titles[0]}")
        left.code("\n".join(line.text for line in right.lines), language=None, wrap_lines=True)
        beside.markdown(f"**The trap:** {titles[1]}")
        beside.code(f"≠ IndexError: list index out of range\n{error}", language=None, wrap_lines=True)
        beside.caption(
            "A Python slice would not complain: W1[6:8] of six elements is an empty list, and a sum over it is too "
            "short."
        )
    else:
        side_by_side(titles[0], right.lines, titles[1], wrong.lines)


def _count(column: st.delta_generator.DeltaGenerator, label: str, name: str, start: int) -> int:
    key = f"traps_{name}"
    st.session_state.setdefault(key, start)
    return int(column.number_input(label, 1, 4, key=key, persist_state="session"))


def _row(column: st.delta_generator.DeltaGenerator, name: str, n_rows: int, start: int) -> int:
    key = f"traps_{name}"
    st.session_state[key] = min(st.session_state.get(key, start), n_rows - 1)
    return int(column.number_input("Row", 0, n_rows - 1, key=key, persist_state="session"))


def _what_the_stride_does(name: str, matrix: Array, row: int, stride: int, by: str) -> None:
    width = matrix.shape[1]
    right, wrong = (rows_read(len(matrix), width, step)[row].tolist() for step in (width, stride))
    flat = matrix.reshape(-1).tolist()
    meant, read = (
        ", ".join(short_number(flat[place]) if place < len(flat) else "beyond the end" for place in places)
        for places in (right, wrong)
    )
    same = "the same" if right == wrong else "**≠ other elements**"
    st.markdown(
        f"Row {row} of {name} is {meant}: elements {row}·{width} to {row}·{width} + {width - 1}. With the stride "
        f"{by} = {stride} the code reads {read}: {same}."
    )


def _written(numbers: Sequence[float] | Array) -> str:
    return f"[{', '.join(map(short_number, np.asarray(numbers).tolist()))}]"


STRIDE = Trap(
    name="stride",
    label="One stride",
    title="One stride for both flat lists",
    story="A matrix often comes as one flat list, row after row. To find row i you start at i times the length of "
    "a row, the **stride**. With D = d_model and H = d_ff, W1 is H by D: its rows have D numbers, and row i starts "
    "at i·D. W2 is D by H: its rows have H numbers, and row i starts at i·H. Somebody uses **i·D for both**.",
    questions=(
        Question(
            name="stride_square",
            given="D = 2   H = 2\n"
            "W1 = [1, 2, 3, 4]   row i begins at i·D\n"
            "W2 = [1, 2, 3, 4]   row i begins at i·H",
            ask="First a square case. The code takes row i of both lists from i·D on. Which rows does it read wrongly?",
            choices=("None", "Row 1 of W2", "Row 1 of both"),
            answer="None",
            because="Where D = H, i·D and i·H are the same number: the test passes, and the bug stays.",
            reveal=_stride_square,
        ),
        Question(
            name="stride_oblong",
            given="D = 2   H = 3\nW2 = [1, 2, 3, 4, 5, 6]",
            ask="Now H is not D: W2 has D = 2 rows of H = 3 numbers. The code starts row i at i·D and takes H numbers. "
            "What does it take for row 1?",
            choices=("4, 5, 6", "3, 4, 5", "5, 6, and then an error"),
            answer="3, 4, 5",
            because="It starts at 1·2 = 2, in the middle of row 0. Nothing complains: all three elements exist.",
            reveal=_stride_oblong,
        ),
    ),
    notice="""
- **Test with H ≠ D**, both H > D and H < D: the one reads other numbers in silence, the other runs off the end of a
  list.
- Row 0 is always right, since 0 times anything is 0. **Look at the last row.**
- **Do not trust the lengths.** Both lists have H·D numbers, so comparing them tells nothing. The wrong stride makes rows
  overlap, or read beyond the end.
- Name the length of a row once, `row_length = len(W2) // n_rows`, and use that name for the stride.
""",
)


# ---------------------------------------------------------------- a bias as a column


def _column_square(_: Session) -> None:
    _two_sums("column_square", "1 2\n3 4")


def _column_single(_: Session) -> None:
    _two_sums("column_single", "1 2")


def _two_sums(name: str, start: str) -> None:
    st.markdown("**Try other numbers.** One line of hidden is one position; b has a number for each neuron.")
    left, beside = st.columns(2)
    with left:
        numbers = typed_matrix("hidden before the bias, one position a line", f"{name}_z", start)
    with beside:
        bias = typed_matrix("b, one row", f"{name}_b", "10 20", one_row=True)
    if numbers.shape[1] != len(bias):
        st.error(
            f"b must have a number for each of the {numbers.shape[1]} columns, got {len(bias)}: change one of the "
            "two."
        )
        return
    right, wrong = with_bias(numbers, bias)
    left, beside = st.columns(2)
    left.markdown(f"**Right:** b has the shape [{len(bias)}], and each position gets it")
    left.code(_rows_of(right), language=None)
    beside.markdown(f"**The trap:** b has the shape [{len(bias)}, 1]")
    beside.code(_rows_of(wrong, right), language=None, wrap_lines=True)
    st.markdown(f"**What differs:** {_what_a_column_does(right, wrong)}")
    st.markdown("**What Hourglass says to such a bias**, instead of stretching it:")
    st.code(column_refused(bias), language=None, wrap_lines=True)


def _rows_of(computed: Computed, beside: Computed | None = None) -> str:
    """The numbers as they are added, a line a position; with a "≠" where the other has no such line."""
    if computed.values is None:
        return f"≠ ValueError: {computed.error}"
    lines = []
    for t, row in enumerate(computed.values):
        same = beside is None or (
            beside.values is not None and t < len(beside.values) and np.array_equal(row, beside.values[t])
        )
        mark = "" if beside is None else "  " if same else "≠ "
        lines.append(f"{mark}position {t}: {_written(row)}")
    return "\n".join(lines)


def _what_a_column_does(right: Computed, wrong: Computed) -> str:
    if right.values is None or wrong.values is None:
        return "with this many positions NumPy cannot stretch the column, and says so. That is the good case."
    if len(wrong.values) != len(right.values):
        return (
            f"{len(right.values)} position goes in, {len(wrong.values)} come out: NumPy stretched the numbers over "
            "the rows of the column."
        )
    if np.array_equal(right.values, wrong.values):
        return "nothing, with these numbers. The trap is silent here."
    return "each number of b went to a position, where it was meant for a neuron: number 0 to all of position 0, and so on."


COLUMN = Trap(
    name="column",
    label="Bias as a column",
    title="A bias that is a column",
    story="A bias has one number for each neuron, the shape [d_ff]. Read from a file it is sometimes a column, "
    "[d_ff, 1]. NumPy **broadcasts**: an axis of length 1 is repeated until the shapes fit.",
    questions=(
        Question(
            name="column_square",
            given="hidden = [[1, 2],      b = [10, 20]\n"
            "          [3, 4]]\n"
            "hidden + b = [[11, 22],\n"
            "              [13, 24]]",
            ask="Two positions (rows) by two neurons (columns). Now b comes as the column [[10], [20]]. What happens?",
            choices=(SAME, SILENT, ERROR),
            answer=SILENT,
            because="The column is repeated across: position 0 gets 10 everywhere and position 1 gets 20, [[11, "
            "12], [23, 24]].",
            reveal=_column_square,
        ),
        Question(
            name="column_single",
            given="hidden = [[1, 2]]    shape [1, 2]\nb = [[10],\n     [20]]           shape [2, 1]",
            ask="Now a single position goes in. How many positions come out?",
            answer=2.0,
            because="Both are stretched, to 2 by 2: a position that nobody put in appears.",
            reveal=_column_single,
        ),
    ),
    notice="""
- **Check the shape, not only that it runs**: `assert hidden.shape == (T, d_ff)` after each line.
- Test with a number of positions T that is neither 1 nor d_ff, such as 3 positions for 2 neurons: then NumPy refuses.
- `b.reshape(-1)` makes a bias of a column.
""",
)
