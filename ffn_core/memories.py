"""The network as key-value memories: which neurons fire, what each one writes, and the output without some.

Row j of w1 is key j, a pattern; column j of w2 is value j, what is written back where the pattern matches; neuron j
adds activated_j · value_j to the output, its contribution (Geva et al. 2021, arXiv:2012.14913). "By contribution"
means by its length |activated_j| · norm(value_j), the Euclidean norm.

A gated network is read in the same way: a neuron has two keys, the rows of w_gate and w_up, and one value, column j of
w_down, which goes by the name w2 as well.

Where one is the greatest, NaN counts as infinite, since it decides every sum that it is in.
"""

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster import hierarchy

from ffn_core.activations import Array, activation, as_numbers
from ffn_core.dense import FFN, Position, Trace
from ffn_core.gated import GatedFFN, GatedTrace
from ffn_core.matrix_text import short_number

AnyTrace = Trace | GatedTrace
Network = TypeVar("Network", FFN, GatedFFN)
Measure = Literal["contribution", "activated"]
Order = Literal["index", "strength", "cluster"]

# Turning a tree's branches so that neighbours are most alike takes 10 ms for 64 columns and 0.4 s for 512.
_MOST_TURNED = 64
_MOST_TERMS = 6
"""So many terms of a key are read at a glance."""


def contribution_norms(trace: AnyTrace) -> Array:
    """The length of every neuron's contribution at every position, [..., d_ff].

    It is |activated_j| · norm(value_j), so that [..., d_ff, d_model] is never held.
    """
    _refuse_mixtures(trace)
    return _norms(trace.activated, trace.ffn.w2)


def top_neurons(trace: AnyTrace, position: Position, k: int, by: Measure = "contribution") -> tuple[int, ...]:
    """The k neurons that count most at `position` (see `Trace.at`), greatest first.

    `by` is "contribution", the length of what a neuron adds to the output there, or "activated", how hard it
    fires, |activated_j|. Of equals the lower index goes first. 0 <= k <= d_ff.
    """
    if by not in ("contribution", "activated"):
        raise ValueError(f'by must be "contribution" or "activated", got {by!r}')
    _refuse_mixtures(trace)
    at, d_ff = trace.at(position), trace.ffn.d_ff
    if not 0 <= (number := as_index(k)) <= d_ff:
        raise ValueError(f"k must be an integer from 0 to d_ff = {d_ff}, got {k!r}")
    sizes = np.abs(trace.activated[at]) if by == "activated" else _norms(trace.activated[at], trace.ffn.w2)
    return tuple(greatest_first(sizes)[:number].tolist())


def carriers(trace: AnyTrace, position: Position, share: float = 0.9) -> tuple[int, ...]:
    """The fewest neurons that carry `share` of the output at `position`, greatest first.

    They are the first of `top_neurons` whose contributions' lengths add up to that share (0 to 1, to rounding) of all
    the lengths. Lengths do not cancel as the contributions themselves may, and b2 is not counted. () where no neuron
    contributes.
    """
    if not _is_number(share) or not 0 <= share <= 1:
        raise ValueError(f"share must be from 0 to 1, got {share!r}; 0.9 is 90%")
    _refuse_mixtures(trace)
    norms = _nan_as_infinite(_norms(trace.activated[trace.at(position)], trace.ffn.w2))
    order = greatest_first(norms)
    with np.errstate(over="ignore"):
        reached = np.cumsum(norms[order], dtype=np.float64)
    if share == 0 or reached[-1] == 0:
        return ()
    # A sum of n terms is good to n roundings: nine of ten equal neurons carry 90%.
    wanted = share * reached[-1] * (1 - len(norms) * np.finfo(np.float64).eps)
    return tuple(order[: int(np.argmax(reached >= wanted)) + 1].tolist())


def partial_sums(trace: AnyTrace, position: Position) -> Array:
    """The output at `position` from b2 and the k greatest contributions alone, for k = 0 to d_ff: [d_ff + 1, d_model].

    Row 0 is b2, the last the output itself, to rounding.
    """
    _refuse_mixtures(trace)
    order = list(top_neurons(trace, position, trace.ffn.d_ff))
    with np.errstate(all="ignore"):
        return np.cumsum(np.vstack([trace.ffn.b2, trace.contributions(position)[order]]), axis=0)


def partial_sum(trace: AnyTrace, position: Position, k: int) -> Array:
    """The output at `position` from b2 and the k greatest contributions alone, [d_model].

    k = 0 gives b2, k = d_ff the output itself, to rounding.
    """
    sums: Array = partial_sums(trace, position)[len(top_neurons(trace, position, k))]
    return sums


def with_strengths(ffn: Network, strengths: Mapping[int, float]) -> Network:
    """`ffn` with value j multiplied by `strengths[j]`, for each neuron j in it; keys stay.

    So each contribution is multiplied by it. Factors are finite; 0 makes a value exactly 0, an infinite one too.
    """
    neurons = _neurons(ffn, strengths)
    for factor in strengths.values():
        if not _is_number(factor):
            raise ValueError(f"factors must be single numbers, got {factor!r}; 0 switches a neuron off")
    factors = as_numbers("factors", list(strengths.values()))
    if not np.isfinite(factors).all():
        raise ValueError(f"factors must be finite, got {factors.tolist()}; 0 switches a neuron off")
    w2 = ffn.w2.copy()
    with np.errstate(all="ignore"):
        w2[:, neurons] = np.where(factors == 0, 0, w2[:, neurons] * factors) + 0.0  # no -0
    changed: dict[str, Any] = {"w2" if isinstance(ffn, FFN) else "w_down": w2}
    return replace(ffn, **changed)


def scale(ffn: Network, neuron: int, factor: float) -> Network:
    """`ffn` with the value of one neuron multiplied by `factor`: see `with_strengths`."""
    return with_strengths(ffn, {neuron: factor})


def ablate(ffn: Network, neurons: int | Iterable[int]) -> Network:
    """`ffn` without what these neurons, one or several, contribute: their values are 0.

    Their keys stay, so that hidden and activated still show where they match. A ValueError names an index that no
    neuron has.
    """
    several = np.atleast_1d(neurons) if isinstance(neurons, np.ndarray) else neurons
    several = several if isinstance(several, Iterable) else (several,)
    return with_strengths(ffn, dict.fromkeys(_neurons(ffn, several), 0.0))


def matches(ffn: FFN, neuron: int, features: Sequence[str] = ()) -> str:
    """Which x the key of `neuron` matches, those that make hidden greater than 0, read off its weights: "a + b > 1".

    `features` are words for the coordinates of x, which are x[0], x[1], ... without. Of a key with many terms those
    with the greatest weights are written out and the rest are counted. "always" or "never" where x makes no difference.
    """
    (j,) = _neurons(ffn, (neuron,))
    key, bias = ffn.w1[j].astype(np.float64), float(ffn.b1[j])
    nonzero = np.flatnonzero(key)
    if math.isnan(bias) or np.isnan(key).any():
        return "never"  # NaN is not greater than 0
    if not nonzero.size:
        return "always" if bias > 0 else "never"
    written = np.sort(nonzero[greatest_first(np.abs(key[nonzero]))[:_MOST_TERMS]])

    def side(sign: int) -> list[str]:
        """The terms of that sign, as they stand on their side of the > with a plus."""
        terms = [(abs(key[i]), _feature(features, int(i))) for i in written if np.sign(key[i]) == sign]
        return [name if weight == 1 else f"{short_number(weight)}·{name}" for weight, name in terms]

    left, right = side(1), side(-1)
    if rest := len(nonzero) - len(written):
        left.append(f"... ({rest} more)")
    if not left:  # - a + 0.5 > 0 reads better as a < 0.5
        return f"{' + '.join(right)} < {short_number(bias)}"
    if bias > 0 and right:
        left.append(short_number(bias))
    elif bias or not right:
        # In front of the terms, a negative number needs no brackets.
        right.insert(0, short_number(-bias))
    return f"{' + '.join(left)} > {' + '.join(right)}"


def detects(ffn: FFN, neuron: int, features: Sequence[str] = ()) -> str:
    """What a neuron detects, in words, from its weights and the nonlinearity: "fires where a + b > 1".

    ReLU is silent elsewhere; GELU is not, and so "is positive" there, and the sigmoid "is above 0.5". See `matches`.
    """
    where, curve = matches(ffn, neuron, features), activation(ffn.activation)
    always = where if where in ("always", "never") else ""
    if curve(-1.0) == 0:
        text = f"{always} fires" if always else "fires"
    else:
        above = "positive" if curve(0.0) == 0 else f"above {short_number(float(curve(0.0)))}"
        text = f"is {always} {above}" if always else f"is {above}"
    return text if always else f"{text} where {where}"


def _feature(features: Sequence[str], i: int) -> str:
    return features[i] if i < len(features) else f"x[{i}]"


def sparsity(activated: ArrayLike, threshold: float = 0.0) -> float:
    """The share of the entries of `activated` (any shape) whose magnitude is at most `threshold`, from 0 to 1.

    With 0 it counts what is exactly 0, which ReLU gives and GELU hardly ever does. It is a magnitude: of
    [0, -0, 1e-9, -0.1, 0.5, 2] two are exactly 0 and three are within 0.001, while four are *below* 0.001, -0.1
    among them. 0.0 where there are no entries. Many zeros are no dead neurons: see `dead`.
    """
    activated = as_numbers("activated", activated)
    if not _is_number(threshold) or not threshold >= 0:
        raise ValueError(
            f"threshold must be 0 or more, since magnitudes are compared with it, got {threshold!r}"
        )
    if not activated.size:
        return 0.0
    with np.errstate(over="ignore"):  # a threshold beyond float32 is infinite there
        return float(np.mean(np.abs(activated) <= float(threshold)))


def dead(activated: ArrayLike) -> NDArray[np.bool_]:
    """Which neurons are exactly 0 at every position of `activated` [..., d_ff], as booleans [d_ff].

    Dead for these positions, that is: others may wake them. An empty sequence shows nothing, so none is dead.
    """
    activated = _by_neuron(activated)
    return _everywhere(activated == 0)


def always_on(activated: ArrayLike) -> NDArray[np.bool_]:
    """Which neurons are above 0 at every position of `activated` [..., d_ff], as booleans [d_ff].

    An empty sequence shows nothing, so none is always on.
    """
    activated = _by_neuron(activated)
    return _everywhere(activated > 0)


def neuron_order(values: ArrayLike, by: Order = "index") -> NDArray[np.intp]:
    """An order for the columns of `values` [positions, d_ff] in a heatmap, as indices [d_ff].

    "index" leaves them; "strength" puts the column with the greatest magnitude first, of equals the lower index;
    "cluster" puts columns that are alike side by side: the leaves of average linkage on their Euclidean distances.
    That takes memory and time in proportion to d_ff², 10 ms for 512.
    """
    values = as_numbers("values", values)
    if values.ndim != 2:
        raise ValueError(f"values must be [positions, d_ff], got {list(values.shape)}")
    n_positions, d_ff = values.shape
    if by == "strength":
        return greatest_first(np.abs(values).max(axis=0, initial=0))
    if by not in ("index", "cluster"):
        raise ValueError(f'by must be "index", "strength" or "cluster", got {by!r}')
    if by == "index" or d_ff < 2 or not n_positions:
        return np.arange(d_ff)
    columns = np.nan_to_num(values.T.astype(np.float64))  # distances need finite numbers ...
    columns /= np.abs(columns).max() or 1  # ... whose squares are finite, too
    tree = hierarchy.linkage(columns, "average", optimal_ordering=d_ff <= _MOST_TURNED)
    leaves: NDArray[np.intp] = hierarchy.leaves_list(tree).astype(np.intp)
    return leaves


def _norms(activated: Array, w2: Array) -> Array:
    """|activated_j| · norm(column j of w2): [..., d_ff]."""
    with np.errstate(all="ignore"):
        # In units of each column's greatest entry, so that squares neither overflow nor vanish.
        greatest = np.abs(w2).max(axis=0)
        unit = np.where((greatest > 0) & (greatest < np.inf), greatest, 1)
        norms: Array = np.abs(activated) * (unit * np.linalg.norm(w2 / unit, axis=0))
    return norms


def _nan_as_infinite(sizes: Array) -> Array:
    return np.where(np.isnan(sizes), np.inf, sizes)


def greatest_first(sizes: Array) -> NDArray[np.intp]:
    """The order of the last axis of `sizes` from the greatest down, of equals the lower index first, NaN as infinite."""
    return np.argsort(-_nan_as_infinite(sizes), kind="stable")


def _by_neuron(activated: ArrayLike) -> Array:
    activated = as_numbers("activated", activated)
    if not activated.ndim:
        raise ValueError("activated must be [..., d_ff], got a single number")
    return activated


def _everywhere(holds: NDArray[np.bool_]) -> NDArray[np.bool_]:
    positions = tuple(range(holds.ndim - 1))
    if not math.prod(holds.shape[:-1]):
        return np.zeros(holds.shape[-1], dtype=np.bool_)
    return np.asarray(holds.all(axis=positions))


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def as_index(number: object) -> int:
    """`number` as an index, -1 where it is none: a mask's True is no neuron 1."""
    try:
        return -1 if isinstance(number, bool) else operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        return -1


def _refuse_mixtures(whole: object) -> None:
    if hasattr(whole, "experts"):  # its module is built upon this one
        raise ValueError(
            "a mixture of experts has no neurons of its own, each expert has some; "
            "take one expert's network or trace, experts[e]"
        )


def _neurons(ffn: FFN | GatedFFN, neurons: Iterable[int]) -> list[int]:
    _refuse_mixtures(ffn)
    indices = []
    for neuron in neurons:
        if not 0 <= (index := as_index(neuron)) < ffn.d_ff:
            raise ValueError(
                f"a neuron is an integer from 0 to {ffn.d_ff - 1}, got {neuron!r}; "
                "np.flatnonzero turns a mask into indices"
            )
        indices.append(index)
    return indices
