"""The tables of the page on curves, as rows of text."""

from functools import cache

import numpy as np

from ffn_app.figures.curves import LANDMARK_DIGITS, curve_label, difference_label, landmarks, shown_names
from ffn_core.activations import Array, activation
from ffn_core.curves import LinearMap, properties
from ffn_core.dense import FFN
from ffn_core.examples import Printed, lesson_numbers
from ffn_core.matrix_text import full_number, short_number, significant

Rows = list[dict[str, str]]
_WITHOUT = (
    "Without a nonlinearity between them the two layers are one: W2 · (W1 · x + b1) + b2 is "
    "(W2 · W1) · x + (W2 · b1 + b2). Expanding to d_ff then buys nothing, and a stack of such layers is one matrix still."
)
_IS_SO, _CHOOSE = "This network is so now.", "Choose identity above to see the whole network so."
LESSON_POINTS = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)


def without_nonlinearity(ffn: FFN) -> str:
    """What is left of two layers without a nonlinearity between them, and whether `ffn` has none."""
    return f"{_WITHOUT} {_IS_SO if ffn.activation == 'identity' else _CHOOSE}"


def reading_rows(names: tuple[str, ...], pair: tuple[str, str], x: float, own: str | None = None) -> Rows:
    """Every curve of `names` and the network's `own` read at x, and the difference of the `pair` there.

    In four digits: three tell GELU from its tanh form at hardly any x.
    """
    rows = [
        {
            "curve": curve_label(name, own),
            "value": significant(float(activation(name)(x))),
            "slope": significant(float(activation(name).derivative(x))),
        }
        for name in shown_names(names, own)
    ]
    one, other = (activation(name) for name in pair)
    return [
        *rows,
        {
            "curve": difference_label(pair),
            "value": significant(float(one(x) - other(x))),
            "slope": significant(float(one.derivative(x) - other.derivative(x))),
        },
    ]


@cache
def landmark_rows(names: tuple[str, ...], own: str | None = None) -> Rows:
    """Where each curve of `names` is lowest and steepest, and what it does at 0."""

    def digits(value: float) -> str:
        return significant(value, LANDMARK_DIGITS)

    rows = []
    for name in names:
        dip, _, steepest = landmarks(name)
        rows.append(
            {
                "curve": curve_label(name, own),
                "lowest": f"{digits(dip[1])} at x = {digits(dip[0])}" if dip else "no dip",
                "at 0": properties(name)[1].computed.replace("-", "−"),
                "steepest": f"slope {digits(steepest[1])} at x = {digits(steepest[0])}"
                if steepest
                else "at no one place",
            }
        )
    return rows


@cache
def lesson_rows() -> Rows:
    """The first lesson's table of GELU and ReLU, as printed and as computed; ≠ marks what rounds to another number."""
    tanh, exact, relu = _lesson_columns()
    return [
        {
            "x": significant(x),
            "lesson: GELU": exact.printed[i].replace("-", "−"),
            "GELU tanh": _computed(tanh, i),
            "GELU": _computed(exact, i),
            "lesson: ReLU": relu.printed[i],
            "ReLU": _computed(relu, i),
        }
        for i, x in enumerate(LESSON_POINTS)
    ]


@cache
def lesson_words() -> str:
    """What the signs in the lesson's table mean, and which of its numbers differ."""
    differ = [
        f"{activation(column.where).label}({significant(LESSON_POINTS[i])}) rounds to "
        f"{_rounded(column.right[i], column.printed[i])}, not to {column.printed[i].replace('-', '−')}"
        for column in _lesson_columns()
        for i in column.wrong
    ]
    return (
        "First what the lesson prints, then what is computed. ≠ marks a computed number that rounds to another than the "
        f"printed one: {'; '.join(differ)}. The lesson prints the tanh form of GELU."
    )


def _lesson_columns() -> tuple[Printed, ...]:
    """GELU tanh, GELU and ReLU at the lesson's points: as the lesson prints them, and as computed."""
    printed = {row.where: row.printed for row in lesson_numbers()}
    gelu, relu = printed["table of GELU(x)"], printed["table of ReLU(x)"]
    return tuple(
        Printed(where=name, printed=shown, right=tuple(activation(name)(LESSON_POINTS).tolist()), note="")
        for name, shown in (("gelu_tanh", gelu), ("gelu", gelu), ("relu", relu))
    )


def _computed(column: Printed, i: int) -> str:
    number = significant(column.right[i])
    return f"**≠\u00a0{number}**" if i in column.wrong else number


@cache
def property_rows() -> Rows:
    """The first lesson's table of properties, as printed and as computed; what is too simple stands in asterisks."""
    return [
        {
            "property": f"{activation(name).label}: {row.name}",
            "the lesson prints": f"*{row.printed}*" if row.note else row.printed,
            "computed": row.computed.replace("-", "−"),
            "what the lesson leaves out": row.note,
        }
        for rows in zip(*(properties(name) for name in ("gelu", "relu")), strict=True)
        for name, row in zip(("gelu", "relu"), rows, strict=True)
    ]


def without_rows(ffn: FFN, x: Array, linear: LinearMap) -> Rows:
    """What is left of `ffn` without its nonlinearity, and how far off that is for x [positions, d_model]."""
    twice, once = _both_ways(ffn, x, linear)
    about = (
        ("size of W2 · W1", f"{ffn.d_model} by {ffn.d_model}"),
        ("numbers in it", f"{linear.matrix.size:,}; W1 and W2 have {2 * ffn.w1.size:,}"),
        ("its rank, the dimensions that come through", f"{linear.rank} of at most {min(ffn.w1.shape)}"),
        ("greatest difference of the outputs, all positions", short_number(_apart(twice, once))),
        ("greatest output, to compare", short_number(_apart(twice))),
    )
    return [{"without a nonlinearity": what, "number": number} for what, number in about]


def both_ways_rows(ffn: FFN, x: Array, linear: LinearMap, position: int) -> Rows:
    """The output at a position without the nonlinearity: in two steps, and by the one matrix, in all digits."""
    return [
        {
            "output": str(i),
            "W2 · (W1 · x + b1) + b2": full_number(float(twice)),
            "(W2 · W1) · x + (W2 · b1 + b2)": full_number(float(once)),
        }
        for i, (twice, once) in enumerate(zip(*_both_ways(ffn, x[position], linear), strict=True))
    ]


def _both_ways(ffn: FFN, x: Array, linear: LinearMap) -> tuple[Array, Array]:
    """The outputs [..., d_model] of the two linear layers one after the other, and of the one matrix."""
    plain = FFN(w1=ffn.w1, b1=ffn.b1, w2=ffn.w2, b2=ffn.b2, activation="identity")
    return plain.forward(x).output, x @ linear.matrix.T + linear.bias


def _apart(a: Array, b: Array | float = 0.0) -> float:
    return float(np.abs(a - b).max(initial=0))


def _rounded(value: float, like: str) -> str:
    """`value` with as many decimals as `like` has."""
    return f"{value:.{len(like.partition('.')[2])}f}".replace("-", "−")
