"""Facts about the nonlinearities, each computed from the table's own functions; and the FFN without one.

Places are found on a grid over -10 to 10, or over the range asked for, and refined to about 1e-10.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import optimize, special

from ffn_core.activations import Array, activation, short
from ffn_core.dense import FFN
from ffn_core.matrix_text import significant

_REACH = 10.0  # every dip and every steepest place of the table is well within
_GRID = 20_001
FARTHEST = 100.0
"""The |x| up to which curves are looked at: over a wider range the grid would step over a dip."""

_Function = Callable[[Array], Array]


def minimum(name: str) -> tuple[float, float] | None:
    """(x, f(x)) at the bottom of the dip of the activation `name`; None for one without, as ReLU and tanh."""
    function = activation(name)
    return _dip(function, function.derivative)


def steepest(name: str) -> tuple[float, float] | None:
    """(x, f'(x)) where the activation `name` rises most steeply; GELU's slope there is above 1.

    None where no one place is steepest: the slope of ReLU and of the identity is 1 all along, and that of ReLU² has
    no end.
    """
    slope = activation(name).derivative
    found = _dip(lambda x: -slope(x), lambda x: -_change(slope, x))
    return None if found is None else (found[0], -found[1])


def greatest_difference(a: str, b: str, low: float, high: float) -> tuple[float, float]:
    """(x, |a(x) - b(x)|) where two activations differ most from `low` to `high`, both within -100 to 100.

    Of two places with the same difference it is the one to the right.
    """
    if not -FARTHEST <= low < high <= FARTHEST:
        raise ValueError(f"low must be below high, both within -100 to 100, got {low!r} and {high!r}")
    one, other = activation(a), activation(b)

    def closeness(x: Array) -> Array:
        return -np.abs(one(x) - other(x))

    def slope(x: Array) -> Array:
        return -np.sign(one(x) - other(x)) * (one.derivative(x) - other.derivative(x))

    x = np.linspace(low, high, _GRID)
    y = closeness(x)
    # The same but for rounding is the same: even differences have one place on each side of 0.
    last = int(np.flatnonzero(y <= y.min() * (1 - 1e-9))[-1])
    place, least = _lowest_near(last, x, closeness, slope)
    return place, -least


def chance_below(x: float) -> float:
    """Φ(x), the chance that a standard normal number is below x: exact GELU is x times that."""
    return float(special.ndtr(x))


@dataclass(frozen=True, eq=False, kw_only=True)
class Property:
    """One row of the lesson's table of properties, worked out for one activation.

    `computed` says it in words and `numbers` are those behind the words. `printed` is what the first lesson prints,
    for GELU and ReLU; `note` says in what way that is too simple, and is empty where it is not.
    """

    name: str
    computed: str
    numbers: tuple[float, ...]
    printed: str = ""
    note: str = ""


def properties(name: str) -> tuple[Property, ...]:
    """The lesson's four properties of the activation `name`, in its order.

    The numbers are: the most that a negative input is let through as, |f(x)|, inf where there is no most; the slopes
    just left and right of 0; the least and the greatest slope for x < 0; and none.
    """
    name = activation(name).name
    rows = (_below_zero(name), _at_zero(name), _slope_below_zero(name), _as_probability(name))
    printed = _PRINTED.get(name, (("", ""),) * 4)
    return tuple(
        Property(name=of, computed=text, numbers=numbers, printed=says, note=note)
        for (of, text, numbers), (says, note) in zip(rows, printed, strict=True)
    )


class LinearMap(NamedTuple):
    """matrix · x + bias: matrix [d_model, d_model], bias [d_model], and the matrix's rank."""

    matrix: Array
    bias: Array
    rank: int


def linear_map(ffn: FFN) -> LinearMap:
    """What `ffn` is without its nonlinearity: the one matrix w2 · w1 and the bias w2 · b1 + b2.

    The rank, how many dimensions of x come through, is at most d_ff and d_model; singular values that could be rounding
    count as 0. The weights must be finite.
    """
    with np.errstate(all="ignore"):
        matrix: Array = ffn.w2 @ ffn.w1
        bias: Array = ffn.w2 @ ffn.b1 + ffn.b2
    if not np.isfinite(matrix).all():
        raise ValueError("w2 · w1 must be finite to have a rank; make the weights smaller")
    return LinearMap(matrix, bias, int(np.linalg.matrix_rank(matrix)))


# What the first lesson prints of each property, and why that is too simple.
_PRINTED = {
    "gelu": (
        ("Small values pass through", ""),
        ("Smooth everywhere", ""),
        (
            "Non-zero",
            "It is zero at the bottom of the dip, negative to the left of it, and fades to zero far out.",
        ),
        (
            "Input × probability of being positive",
            "The probability is that of a standard normal number being below x, not of x being positive.",
        ),
    ),
    "relu": (
        ("Completely blocked (0)", ""),
        ("Sharp corner at 0", ""),
        ("Zero (dead neurons)", "A neuron is dead only where every position's hidden value is 0 or below."),
        ("None", ""),
    ),
}

_Row = tuple[str, str, tuple[float, ...]]


def _below_zero(name: str) -> _Row:
    function, dip = activation(name), minimum(name)
    ends = np.abs(function(np.array([-np.inf, 0.0])))
    most = float(max(*ends, abs(dip[1]) if dip else 0.0))
    if most == 0:
        text = "blocked: every one comes out as 0"
    elif most == np.inf:
        text = "pass through, however large"
    elif dip:
        text = f"pass through as at most {significant(most)} in magnitude, from x = {short(dip[0])}"
    else:
        text = f"pass through as less than {short(most)} in magnitude"
    return "negative inputs", text, (most,)


def _at_zero(name: str) -> _Row:
    slope, h = activation(name).derivative, 1e-6
    left, right = (round(float(slope(x)), 5) for x in (-h, h))
    left_bend, right_bend = (abs(float(slope(x) - slope(0.0))) / h for x in (-h, h))
    if left != right:
        text = f"a corner at 0: slope {short(left)} on the left, {short(right)} on the right"
    elif abs(left_bend - right_bend) > 0.1:
        text = f"no corner at 0, slope {short(left)} on both sides, but the slope itself has one"
    else:
        text = f"smooth, slope {short(left)} at 0"
    return "smoothness", text, (left, right)


def _slope_below_zero(name: str) -> _Row:
    slope, dip = activation(name).derivative, minimum(name)
    slopes = slope(np.linspace(-_REACH, -1e-9, _GRID))
    least, greatest = float(slopes.min()), float(slopes.max())
    if least == greatest == 0:
        text = "0 for all of them"
    elif dip:
        text = f"0 at x = {short(dip[0])} alone, negative to the left of it, positive to the right"
    else:
        text = "positive for all of them"
    if least != greatest and slope(-np.inf) == 0:
        text += "; it fades to 0 far out"
    return "gradient for x < 0", text, (least, greatest)


def _as_probability(name: str) -> _Row:
    text = "x times the probability that a standard normal number is below x" if name == "gelu" else "none"
    return "as a probability", text, ()


def _dip(function: _Function, slope: _Function) -> tuple[float, float] | None:
    """Where `function` is least and higher on both sides, and its value there."""
    x = np.linspace(-_REACH, _REACH, _GRID)
    y = function(x)
    i = int(y.argmin())
    if not 0 < i < _GRID - 1 or not y[i - 1] > y[i] < y[i + 1]:
        return None
    return _lowest_near(i, x, function, slope)


def _lowest_near(i: int, x: Array, function: _Function, slope: _Function) -> tuple[float, float]:
    """The lowest place of `function` between the neighbours of x[i], the grid's lowest, and its value there."""
    low, high = x[max(i - 1, 0)], x[min(i + 1, len(x) - 1)]
    places = [x[i]]  # at an end, and exactly at a corner of the grid
    if slope(low) < 0 < slope(high):
        # A root of the slope is found to the last digits, where the lowest value is flat for half of them.
        places.append(optimize.brentq(slope, low, high, xtol=1e-13))
    place = min(places, key=function)
    return float(place), float(function(place))


def _change(function: _Function, x: Array, h: float = 1e-3) -> Array:
    """The derivative of `function` at x from five points, good to about 1e-12."""
    change: Array = 8 * (function(x + h) - function(x - h)) - (function(x + 2 * h) - function(x - 2 * h))
    return change / (12 * h)
