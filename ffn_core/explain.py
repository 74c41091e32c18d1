"""One number of a trace as its formula with the numbers plugged in, in the manner of the lessons.

hidden[0][0] = 0.1*1.0 + 0.2*0.5 + 0.3*(-0.3) + 0.4*0.8 + 0 = 0.43
"""

import operator
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, NamedTuple

import numpy as np

from ffn_core.activations import Array, activation, factor, short
from ffn_core.dense import BlockTrace, Position, Trace
from ffn_core.gated import GatedTrace
from ffn_core.moe import MoETrace

Stage = Literal["hidden", "up", "activated", "router_logits", "output", "residual"]

# What each product is of: the matrix, the vector that its rows meet, and the bias, if any.
_PRODUCTS: dict[type[BlockTrace], dict[Stage, tuple[str, str, str | None]]] = {
    Trace: {"hidden": ("w1", "x", "b1"), "output": ("w2", "activated", "b2")},
    GatedTrace: {
        "hidden": ("w_gate", "x", "b_gate"),
        "up": ("w_up", "x", "b_up"),
        "output": ("w_down", "activated", "b_down"),
    },
    MoETrace: {"router_logits": ("router", "x", None)},
}
_STAGES: dict[type[BlockTrace], tuple[Stage, ...]] = {
    Trace: ("hidden", "activated", "output", "residual"),
    GatedTrace: ("hidden", "up", "activated", "output", "residual"),
    MoETrace: ("router_logits", "output", "residual"),
}

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

    `value` is the trace's own number. Where it is a row of a matrix times a vector, and for the output of a mixture of
    experts, the products of all `terms` and `bias` add up to it, for residual those of x and output, to rounding;
    activated has one term, whose factor is hidden, for a gated network gate and up, and whose product is the value.
    `bias` is 0 where there is none. `name` is the place of the number in the trace, "hidden[0][0]". `text` and `latex`
    write the line.
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


class _Steps(NamedTuple):
    """The terms, the bias, and the formulas that stand between the name and the total."""

    terms: tuple[Term, ...]
    bias: float
    formulas: list[str]


def stages_of(trace: Trace | GatedTrace | MoETrace) -> tuple[Stage, ...]:
    """The stages that `explain` takes for this kind of trace."""
    return _STAGES[type(trace)]


def explain(
    trace: Trace | GatedTrace | MoETrace, stage: Stage, position: Position, index: int
) -> Explanation:
    """How coordinate or neuron `index` of `stage` came about at `position` (see `BlockTrace.at`).

    For router_logits `index` is an expert. The insides of an expert are explained by its own trace. A ValueError says
    which stages, positions and indices there are.
    """
    stages = stages_of(trace)
    if stage not in stages:
        raise ValueError(f"stage must be one of {', '.join(stages)}, got {stage!r}")
    at = trace.at(position)
    numbers: Array = getattr(trace, stage)[at]
    index = _checked_index(index, numbers.size, stage)
    value = float(numbers[index])
    name = place(stage, *at, index)
    total = whole(short(value))
    if stage in _PRODUCTS[type(trace)]:
        steps = _of_a_product(trace, stage, at, index)
    elif stage == "residual":
        steps = _of_the_residual(trace, at, index)
        total = _to_the_digits_of(value, *(term.product for term in steps.terms))
    elif isinstance(trace, MoETrace):
        steps = _of_the_experts(trace, at, index)
    else:
        steps = _of_the_nonlinearity(trace, at, index)
    # tanh(0.43) has no further step, and the identity's step is its result.
    text = " = ".join(dict.fromkeys([name, *steps.formulas, total]))
    return Explanation(
        stage=stage,
        position=at,
        index=index,
        name=name,
        terms=steps.terms,
        bias=steps.bias,
        value=value,
        text=text,
        latex=_latex(text),
    )


def _of_a_product(
    trace: Trace | GatedTrace | MoETrace, stage: Stage, at: tuple[int, ...], index: int
) -> _Steps:
    matrix, vector, bias_name = _PRODUCTS[type(trace)][stage]
    network = trace.moe if isinstance(trace, MoETrace) else trace.ffn
    pairs = zip(getattr(network, matrix)[index].tolist(), getattr(trace, vector)[at].tolist(), strict=True)
    terms = tuple(
        Term(labels=(place(matrix, index, i), place(vector, *at, i)), factors=(w, v), product=w * v)
        for i, (w, v) in enumerate(pairs)
    )
    biases: Array | None = None if bias_name is None else getattr(network, bias_name)
    if biases is None:
        return _Steps(terms, 0.0, [sum_of(terms)])
    bias = float(biases[index])
    return _Steps(terms, bias, [f"{sum_of(terms)} + {whole(factor(bias))}"])


def _of_the_nonlinearity(trace: Trace | GatedTrace, at: tuple[int, ...], index: int) -> _Steps:
    hidden, activated = float(trace.hidden[at][index]), float(trace.activated[at][index])
    function = activation(trace.ffn.activation)
    called = f"{function.label.split()[0]}({short(hidden)})"
    if isinstance(trace, Trace):
        term = Term(labels=(place("hidden", *at, index),), factors=(hidden,), product=activated)
        return _Steps((term,), 0.0, [called, function.steps(hidden)])
    factors = float(trace.gate[at][index]), float(trace.up[at][index])
    labels = place("gate", *at, index), place("up", *at, index)
    term = Term(labels=labels, factors=factors, product=activated)
    return _Steps((term,), 0.0, [f"{called}*{factor(factors[1])}", "*".join(map(factor, factors))])


def _of_the_residual(trace: BlockTrace, at: tuple[int, ...], index: int) -> _Steps:
    addends = (("x", float(trace.x[at][index])), ("output", float(trace.output[at][index])))
    terms = tuple(Term(labels=(place(of, *at, index),), factors=(n,), product=n) for of, n in addends)
    return _Steps(terms, 0.0, [f"{short(terms[0].product)} + {factor(terms[1].product)}"])


def _of_the_experts(trace: MoETrace, at: tuple[int, ...], index: int) -> _Steps:
    """A term for each expert that computed the position, weight times output, and one for the shared expert."""
    terms = []
    for slot, part in enumerate(trace.mix(at)):
        row = trace.row_of(part.expert, at)
        if row is not None:
            number = float(part.output[index])
            labels = (
                place("routing_weights", *at, slot),
                place(f"experts[{part.expert}].output", row, index),
            )
            product = part.weight * number if part.weight else 0.0
            terms.append(Term(labels=labels, factors=(part.weight, number), product=product))
    if trace.shared is not None:
        number = float(trace.shared.output[at][index])
        terms.append(Term(labels=(place("shared.output", *at, index),), factors=(number,), product=number))
    # Where the shared expert is alone, its number is the output, and where there is none, the output is 0.
    formulas = [sum_of(tuple(terms))] if any(len(term.factors) > 1 for term in terms) else []
    return _Steps(tuple(terms), 0.0, formulas)


def _checked_index(index: int, size: int, stage: Stage) -> int:
    try:
        number = operator.index(index)
    except TypeError:
        number = -1
    if not 0 <= number < size:
        raise ValueError(f"index must be an integer from 0 to {size - 1} for {stage}, got {index!r}")
    return number


def place(array: str, *indices: int) -> str:
    """The name of an entry: w1[3][0]."""
    return array + "".join(f"[{i}]" for i in indices)


def sum_of(terms: tuple[Term, ...]) -> str:
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


def whole(number: str) -> str:
    """`number` without the decimal point of a whole one: 0, (-1), 0.43."""
    return re.sub(r"\.0(?=\)?$)", "", number)


def _to_the_digits_of(value: float, *addends: float) -> str:
    """`value` in the decimal places that its addends are written in, so that 1.0 + 0.4215 = 1.4215."""
    places = max(len(f"{Decimal(short(addend)):f}".partition(".")[2]) for addend in addends)
    return whole(repr(float(f"{round(value, places):.5g}")))


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
