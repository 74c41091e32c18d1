"""One number of a gradient as its formula with the numbers plugged in, step by step against the forward pass.

d_hidden[0][3] = d_activated[0][3]*GELU'(hidden[0][3]) = 0.06*GELU'(0.57) = 0.06*0.9 = 0.054
"""

import re
from dataclasses import dataclass

import numpy as np

from ffn_core.activations import Array, activation, factor, short
from ffn_core.dense import FFN, Gradients, Trace
from ffn_core.descent import Objective, padded
from ffn_core.explain import Term, place, sum_of, whole

BACKWARD = ("output", "w2", "b2", "activated", "hidden", "w1", "b1", "x")
"""The arrays that have a gradient, in the order in which the backward pass reaches them."""

FEW_POSITIONS = 3
"""So many positions are written out one by one."""

STAGES = ("output", "activated", "hidden", "x")
"""Those with a row for each position; the others are parameters."""


def gradient_name(array: str) -> str:
    """As in the lessons: dW1 for a parameter, d_hidden for what flows."""
    return f"d_{array}" if array in STAGES else f"d{array.replace('w', 'W')}"


RULES = {
    "w2": "dW2[i][j] = the sum over positions p of d_output[p][i] * activated[p][j]",
    "b2": "db2[i] = the sum over positions p of d_output[p][i]",
    "activated": "d_activated[p][j] = the sum over i of d_output[p][i] * w2[i][j]",
    "hidden": "d_hidden[p][j] = d_activated[p][j] * act'(hidden[p][j])",
    "w1": "dW1[j][i] = the sum over positions p of d_hidden[p][j] * x[p][i]",
    "b1": "db1[j] = the sum over positions p of d_hidden[p][j]",
    "x": "d_x[p][i] = the sum over j of d_hidden[p][j] * w1[j][i]",
}
_STARTS = {
    "target": "d_output[p][i] = 2 * (output[p][i] - target[i]) / d_model",
    "ones": "d_output[p][i] = 1: the loss is the sum of all coordinates",
    "one": "d_output[p][i] = 1 at the chosen coordinate, and 0 at all others",
}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One entry of an array that has a gradient; of a stage at the chosen position, so without its index."""

    array: str
    index: tuple[int, ...]

    @property
    def text(self) -> str:
        """As in a link: w1.3.0."""
        return ".".join((self.array, *map(str, self.index)))


_ENTRY = re.compile(r"([a-z]+[12]?)((?:\.[0-9]{1,4}){1,2})")


def read_entry(text: str, ffn: FFN) -> Entry | None:
    """The entry that `Entry.text` wrote, or None where this network has no such one."""
    match = _ENTRY.fullmatch(text)
    if match is None or match[1] not in BACKWARD:
        return None
    index = tuple(map(int, match[2].split(".")[1:]))
    shape = shape_of(ffn, match[1])
    if len(index) != len(shape) or not all(i < n for i, n in zip(index, shape, strict=True)):
        return None
    return Entry(array=match[1], index=index)


def shape_of(ffn: FFN, array: str) -> tuple[int, ...]:
    """The shape of an array of BACKWARD, of a stage that of one position."""
    if array in STAGES:
        return (ffn.d_ff,) if array in ("activated", "hidden") else (ffn.d_model,)
    weights: Array = getattr(ffn, array)
    return weights.shape


@dataclass(frozen=True, eq=False, kw_only=True)
class GradientExplanation:
    """How one number of a gradient came about.

    `rule` is the formula in letters, `text` with the numbers, `value` the gradient's own number, to which the products
    of `terms` add up. `sources` are the entries that it is made of, forward ones by their array's name, those of
    gradients as d_output, d_activated and d_hidden; of a stage at the objective's position.
    """

    rule: str
    text: str
    value: float
    terms: tuple[Term, ...]
    sources: dict[str, tuple[tuple[int, ...], ...]]


def explain_gradient(
    trace: Trace, gradients: Gradients, objective: Objective, entry: Entry
) -> GradientExplanation:
    """How the gradient of `entry` came about, `gradients` being those of `objective` at this trace."""
    d_output = objective.d_output(trace)
    given = {"d_output": d_output, "d_activated": gradients.activated, "d_hidden": gradients.hidden}
    at, array, index = objective.position, entry.array, entry.index
    if array == "output":
        return _of_the_loss(trace, objective, index[0])
    if array == "hidden":
        return _of_the_nonlinearity(trace, gradients, at, index[0])

    def number(name: str, *where: int) -> float:
        source = given.get(name)
        return float((getattr(_holder(trace, name), name) if source is None else source)[where])

    # Each factor of each addend: the array, and where in it.
    n_positions = len(trace.x)
    factors: list[tuple[tuple[str, tuple[int, ...]], ...]]
    if array == "activated":
        (j,) = index
        factors = [(("d_output", (at, i)), ("w2", (i, j))) for i in range(trace.ffn.d_model)]
    elif array == "x":
        (i,) = index
        factors = [(("d_hidden", (at, j)), ("w1", (j, i))) for j in range(trace.ffn.d_ff)]
    else:
        upper, lower = ("d_output", "activated") if array in ("w2", "b2") else ("d_hidden", "x")
        factors = [
            ((upper, (p, index[0])), *(((lower, (p, index[1])),) if len(index) == 2 else ()))
            for p in range(n_positions)
        ]
    terms = []
    for addend in factors:
        numbers = tuple(number(name, *where) for name, where in addend)
        with np.errstate(all="ignore"):
            product = float(np.prod(numbers))
        labels = tuple(place(name, *where) for name, where in addend)
        terms.append(Term(labels=labels, factors=numbers, product=product))
    flow = {*given, "x", "activated"}
    sources: dict[str, tuple[tuple[int, ...], ...]] = {}
    for addend in factors:
        for name, where in addend:
            if name not in flow:
                sources[name] = (*sources.get(name, ()), where)
            elif where[0] == at:
                sources[name] = (*sources.get(name, ()), where[1:])
    holder = getattr(gradients, array)
    value = float(holder[(at, *index)] if array in STAGES else holder[index])
    name = place(gradient_name(array), *((at,) if array in STAGES else ()), *index)
    lines = dict.fromkeys([name, _written(terms, at, array), whole(short(value))])
    return GradientExplanation(
        rule=RULES[array], text=" = ".join(lines), value=value, terms=tuple(terms), sources=sources
    )


def _written(terms: list[Term], at: int, array: str) -> str:
    """The sum in numbers; of a long sum over positions only that of the objective, since the others are exactly 0."""
    if len(terms) == 1 and len(terms[0].factors) == 1:  # the number itself
        return whole(sum_of(tuple(terms)))
    if array in STAGES or len(terms) <= FEW_POSITIONS:
        return sum_of(tuple(terms))
    return f"{sum_of((terms[at],))} + [{len(terms) - 1} other positions: 0]"


def _holder(trace: Trace, name: str) -> Trace | FFN:
    return trace.ffn if name in ("w1", "w2") else trace


def _of_the_nonlinearity(trace: Trace, gradients: Gradients, at: int, j: int) -> GradientExplanation:
    arrives, hidden = float(gradients.activated[at, j]), float(trace.hidden[at, j])
    curve = activation(trace.ffn.activation)
    slope = float(curve.derivative(hidden))
    value = float(gradients.hidden[at, j])
    called = f"{curve.label.split()[0]}'"
    labels = (place("d_activated", at, j), f"{called}({place('hidden', at, j)})")
    steps = (
        place("d_hidden", at, j),
        "*".join(labels),
        f"{factor(arrives)}*{called}({short(hidden)})",
        f"{factor(arrives)}*{factor(slope)}",
        whole(short(value)),
    )
    return GradientExplanation(
        rule=RULES["hidden"].replace("act'", called),
        text=" = ".join(steps),
        value=value,
        terms=(Term(labels=labels, factors=(arrives, slope), product=value),),
        sources={"d_activated": ((j,),), "hidden": ((j,),)},
    )


def _of_the_loss(trace: Trace, objective: Objective, i: int) -> GradientExplanation:
    at, d_model = objective.position, trace.ffn.d_model
    value = float(objective.d_output(trace)[at, i])
    written = [place("d_output", at, i), whole(short(value))]
    sources: dict[str, tuple[tuple[int, ...], ...]] = {}
    if objective.start == "target":
        output, target = float(trace.output[at, i]), padded(objective.target, d_model)[i]
        written.insert(1, f"2*({short(output)} - {factor(target)})/{d_model}")
        sources = {"output": ((i,),)}
    return GradientExplanation(
        rule=_STARTS[objective.start],
        text=" = ".join(written),
        value=value,
        terms=(Term(labels=(written[0],), factors=(value,), product=value),),
        sources=sources,
    )


def blocked(trace: Trace) -> np.ndarray:
    """Where the nonlinearity is exactly flat, so that no gradient passes: [positions, d_ff] of bool."""
    flat: np.ndarray = activation(trace.ffn.activation).derivative(trace.hidden) == 0
    return flat
