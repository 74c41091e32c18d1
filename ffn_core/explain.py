"""One number of a trace as its formula with the numbers plugged in, in the manner of the lessons.

hidden[0][0] = 0.1*1.0 + 0.2*0.5 + 0.3*(-0.3) + 0.4*0.8 + 0 = 0.43
"""

import operator
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, get_args

import numpy as np

from ffn_core.activations import Array, activation, factor, short
from ffn_core.dense import Position, Trace

Stage = Literal["hidden", "activated", "output", "residual"]

# A sum of more than _LONG products is cut, in the text, to the _KEPT greatest.
_LONG = 16
_KEPT = 6


@dataclass(frozen=True, eq=False, kw_only=True)
class Term:
    """One addend: `product` is that of `factors`, and `labels` says where each factor stands, "w1[0][2]"."""

    labels: tuple[str, ...]
    factors: tuple[float, ...]
    product: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Explanation:
    """How one number of a trace came about.

    `value` is the trace's own number. For hidden and output the products of all `terms` and `bias` add up
    to it, for residual those of x and output, to rounding; activated has one term whose factor is hidden
    and whose product is the value. `name` is the place of the number in the trace, "hidden[0][0]". `text`
    and `latex` write the line.
    """

    stage: Stage
    position: tuple[int, ...]
    index: int
    name: str
    terms: tuple[Term, ...]
    bias: float
    value: float
    text: str
    latex: str


def explain(trace: Trace, stage: Stage, position: Position, index: int) -> Explanation:
    """How coordinate or neuron `index` of `stage` came about at `position` (see `Trace.at`).

    A ValueError says which stages, positions and indices there are.
    """
    if stage not in get_args(Stage):
        raise ValueError(f"stage must be one of {', '.join(get_args(Stage))}, got {stage!r}")
    at = trace.at(position)
    numbers: Array = getattr(trace, stage)[at]
    index = _checked_index(index, numbers.size, stage)
    value = float(numbers[index])
    name = _place(stage, *at, index)
    terms: tuple[Term, ...]
    bias, total = 0.0, _whole(short(value))
    if stage == "hidden":
        terms = _products(trace, "w1", index, "x", at)
        bias = float(trace.ffn.b1[index])
        formulas = [f"{_sum(terms)} + {_whole(factor(bias))}"]
    elif stage == "output":
        terms = _products(trace, "w2", index, "activated", at)
        bias = float(trace.ffn.b2[index])
        formulas = [f"{_sum(terms)} + {_whole(factor(bias))}"]
    elif stage == "activated":
        hidden = float(trace.hidden[at][index])
        terms = (Term(labels=(_place("hidden", *at, index),), factors=(hidden,), product=value),)
        function = activation(trace.ffn.activation)
        formulas = [f"{function.label.split()[0]}({short(hidden)})", function.steps(hidden)]
    else:
        addends = (("x", float(trace.x[at][index])), ("output", float(trace.output[at][index])))
        terms = tuple(Term(labels=(_place(of, *at, index),), factors=(n,), product=n) for of, n in addends)
        formulas = [" + ".join([short(terms[0].product), factor(terms[1].product)])]
        total = _to_the_digits_of(value, *(term.product for term in terms))
    # tanh(0.43) has no further step, and the identity's step is its result.
    text = " = ".join(dict.fromkeys([name, *formulas, total]))
    return Explanation(
        stage=stage,
        position=at,
        index=index,
        name=name,
        terms=terms,
        bias=bias,
        value=value,
        text=text,
        latex=_latex(text),
    )


def _checked_index(index: int, size: int, stage: Stage) -> int:
    try:
        number = operator.index(index)
    except TypeError:
        number = -1
    if not 0 <= number < size:
        raise ValueError(f"index must be an integer from 0 to {size - 1} for {stage}, got {index!r}")
    return number


def _place(array: str, *indices: int) -> str:
    return array + "".join(f"[{i}]" for i in indices)


def _products(trace: Trace, matrix: str, row: int, vector: str, at: tuple[int, ...]) -> tuple[Term, ...]:
    """The terms of the product of one row of an FFN's matrix with a vector of the trace."""
    pairs = zip(getattr(trace.ffn, matrix)[row].tolist(), getattr(trace, vector)[at].tolist(), strict=True)
    return tuple(
        Term(labels=(_place(matrix, row, i), _place(vector, *at, i)), factors=(w, v), product=w * v)
        for i, (w, v) in enumerate(pairs)
    )


def _sum(terms: tuple[Term, ...]) -> str:
    """The products written out: all of a short sum, the greatest and the rest's sum of a long one."""
    kept = list(range(len(terms)))
    if len(terms) > _LONG:
        # NaN counts as greatest: it decides the sum.
        sizes = np.nan_to_num([abs(term.product) for term in terms], nan=np.inf)
        kept = sorted(np.argsort(-sizes, kind="stable")[:_KEPT].tolist())
    written = ["*".join(map(factor, terms[i].factors)) for i in kept]
    if left_out := [term.product for i, term in enumerate(terms) if i not in kept]:
        written.append(f"[{len(left_out)} smaller terms: {short(sum(left_out))}]")
    return " + ".join(written)


def _whole(number: str) -> str:
    """`number` without the decimal point of a whole one: 0, (-1), 0.43."""
    return re.sub(r"\.0(?=\)?$)", "", number)


def _to_the_digits_of(value: float, *addends: float) -> str:
    """`value` in the decimal places that its addends are written in, so that 1.0 + 0.4215 = 1.4215."""
    places = max(len(f"{Decimal(short(addend)):f}".partition(".")[2]) for addend in addends)
    return _whole(repr(float(f"{round(value, places):.5g}")))


_LATEX_TOKEN = re.compile(
    r"(?P<array>[a-z]\w*)(?P<indices>(?:\[\d+\])+)|(?P<digits>[\d.]+)e(?P<exponent>[+-]\d+)"
    r"|(?P<words>[A-Za-z]+²?(?: [a-z]+)*)|(?P<times>\*)"
)
_LATEX_WORDS = {"tanh": r"\tanh", "exp": r"\exp", "max": r"\max", "Phi": r"\Phi", "sigmoid": r"\sigma"} | {
    "inf": r"\infty",
    "nan": r"\mathrm{NaN}",
    "ReLU²": r"\mathrm{ReLU}^2",
}


def _latex(text: str) -> str:
    def token(match: re.Match[str]) -> str:
        if match["array"]:
            indices = ",".join(re.findall(r"\d+", match["indices"]))
            return rf"\mathrm{{{match['array']}}}_{{{indices}}}"
        if match["digits"]:
            return rf"{match['digits']} \cdot 10^{{{int(match['exponent'])}}}"
        if match["words"]:
            return _LATEX_WORDS.get(match["words"], rf"\text{{{match['words']}}}")
        return r" \cdot "

    return _LATEX_TOKEN.sub(token, text)
