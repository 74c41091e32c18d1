"""Position-wise: the same weights at every position, and no position looks at another.

Three ways to see it: change one position and no other output changes; shuffle the positions and the outputs
shuffle with them; compute it all as convolutions of kernel 1 along the sequence. `causal_average` is the
opposite, a mixing of positions as attention does it.

Two right ways of adding up the same numbers round differently, so equal means within a tolerance here, and
`tolerances` says which.
"""

import math
import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ffn_core.activations import Array, activation, as_numbers
from ffn_core.dense import FFN, Trace
from ffn_core.scenario import Edit, Scenario

STAGES = ("x", "hidden", "activated", "output")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Whether two computations of one output agree; true where they do.

    `difference` is their greatest |difference|, `tolerance` what rounding may make of it: see `tolerances`.
    """

    difference: float
    tolerance: float
    dtype: str
    n_terms: int
    """How many numbers are added up on the way from x to one output."""

    def __bool__(self) -> bool:
        """Equal to rounding. Where no finite tolerance is known, only the same numbers are equal."""
        return self.difference == 0 or self.difference <= self.tolerance < math.inf

    @property
    def text(self) -> str:
        """The result in words, with the tolerance and what it depends on."""
        return (
            f"greatest difference {self.difference:.2g}, {'within' if self else 'more than'} the tolerance of "
            f"{self.tolerance:.2g} for sums of {self.n_terms:,} numbers in {self.dtype}: "
            f"{'the same to rounding' if self else 'not the same'}"
        )


def same(trace: Trace, output: ArrayLike) -> Comparison:
    """Compare `trace.output` with another computation of it, of the same shape."""
    other = as_numbers("output", output)
    if other.shape != trace.output.shape:
        raise ValueError(
            f"output must have the shape of the trace's, {list(trace.output.shape)}, got {list(other.shape)}"
        )
    return Comparison(
        difference=float(_differences(trace.output, other).max(initial=0)),
        tolerance=tolerances(trace)["output"],
        dtype=trace.output.dtype.name,
        n_terms=trace.ffn.d_model + trace.ffn.d_ff,
    )


def tolerances(trace: Trace) -> dict[str, float]:
    """For each of STAGES the greatest difference that rounding may make between two computations of it.

    A sum of n numbers is rounded to about eps · sqrt(n) times the sum of their magnitudes (Higham and Mary 2019,
    doi:10.1137/18M1226312), however small the sum itself comes out. So the tolerance grows with the precision's
    eps, with the widths and with the numbers. What hidden is off by goes on through the slope of the nonlinearity
    and through w2. x is given and not computed: 0.
    """
    ffn, eps = trace.ffn, float(np.finfo(trace.output.dtype).eps)
    with np.errstate(all="ignore"):
        off = _rounding(eps, trace.x, ffn.w1, ffn.b1)
        hidden = off.max(initial=0)
        off *= np.abs(activation(ffn.activation).derivative(trace.hidden))
        off += 4 * eps * np.abs(trace.activated)
        activated = off.max(initial=0)
        # The neurons round independently of each other, so their squares add up.
        passed_on = np.sqrt(off**2 @ (ffn.w2**2).T)
        output = (passed_on + _rounding(eps, trace.activated, ffn.w2, ffn.b2)).max(initial=0)
    return {"x": 0.0, "hidden": float(hidden), "activated": float(activated), "output": float(output)}


def _rounding(eps: float, x: Array, w: Array, b: Array) -> Array:
    off: Array = eps * math.sqrt(w.shape[1] + 1) * (np.abs(x) @ np.abs(w).T + np.abs(b))
    return off


def _differences(one: Array, other: Array) -> Array:
    """|one - other|, where the same infinities or NaN twice differ by 0, and NaN once by infinity."""
    with np.errstate(all="ignore"):
        difference: Array = np.abs(one - other)
    difference[(one == other) | (np.isnan(one) & np.isnan(other))] = 0
    difference[np.isnan(difference)] = np.inf
    return difference


# ---------------------------------------------------------------- change one position


@dataclass(frozen=True, eq=False, kw_only=True)
class Effect:
    """At every position the greatest |difference| between two traces, for each of STAGES: x's leading axes each.

    What is within rounding (`tolerances`) counts as 0.
    """

    x: Array
    hidden: Array
    activated: Array
    output: Array
    tolerances: dict[str, float]


def effect_of(before: Trace, after: Trace) -> Effect:
    """What a change of x, or of the weights, did at every position. Both traces have the same shapes."""
    for name in STAGES:
        old, new = getattr(before, name), getattr(after, name)
        if old.shape != new.shape:
            raise ValueError(
                f"both traces must have the same shapes to be compared, got {name} {list(old.shape)} before and "
                f"{list(new.shape)} after; resize the one before as well"
            )
    one, other = tolerances(before), tolerances(after)
    allowed = {name: max(one[name], other[name]) for name in STAGES}
    found = {}
    for name in STAGES:
        greatest = _differences(getattr(before, name), getattr(after, name)).max(axis=-1, initial=0)
        found[name] = np.where((greatest <= allowed[name]) & (allowed[name] < math.inf), 0, greatest)
    return Effect(**found, tolerances=allowed)


def starting_point(scenario: Scenario, *, keep_weights: bool = False) -> Scenario:
    """The scenario before x was edited, with as many positions and the same widths: `scenario.start()`, resized.

    Added positions are there with x = 0, removed ones are not. The weights are those of the start, or with
    `keep_weights` those of now.
    """
    edits = tuple(_without_numbers(scenario.edits, ("x",) if keep_weights else scenario.kind.arrays))
    return Scenario(base=scenario.base, activation=scenario.activation, edits=edits)


def _without_numbers(edits: Iterable[Edit], arrays: tuple[str, ...]) -> Iterator[Edit]:
    for edit in edits:
        if edit.array == "together":
            if kept := tuple(_without_numbers(edit.value, arrays)):
                yield edit._replace(value=kept)
            continue
        written = edit.index[0] if edit.array in ("randomize", "identity") else edit.array
        if written not in arrays and not (written == "strength" and len(arrays) > 1):
            yield edit


# ---------------------------------------------------------------- shuffle


class Shuffled(NamedTuple):
    """The trace of the shuffled x, the outputs of x shuffled in the same way [positions, d_model], and both compared."""

    trace: Trace
    output: Array
    comparison: Comparison


def shuffled(ffn: FFN, x: ArrayLike, order: ArrayLike) -> Shuffled:
    """Compare forward(x[order]) with forward(x)[order], for x [positions, d_model] and a permutation `order`."""
    x = as_numbers("x", x)
    if x.ndim != 2:
        raise ValueError(
            f"x must be [positions, d_model] to be shuffled, got {list(x.shape)}; take one sequence"
        )
    places = np.asarray(order)
    if not np.array_equal(np.sort(places, axis=None), np.arange(len(x))):
        raise ValueError(f"order must hold each position from 0 to {len(x) - 1} once, got {places.tolist()}")
    places = places.astype(np.intp)  # an empty list comes as floats
    trace, output = ffn.forward(x[places]), ffn.forward(x).output[places]
    return Shuffled(trace, output, same(trace, output))


def shuffle_order(n_positions: int, seed: int) -> NDArray[np.intp]:
    """A random order of the positions [n_positions], the same for the same seed; never the order they are in."""
    if operator.index(n_positions) < 2:
        raise ValueError(f"n_positions must be at least 2 to be shuffled, got {n_positions}")
    rng, as_it_is = np.random.default_rng(seed), np.arange(n_positions, dtype=np.intp)
    while np.array_equal(order := rng.permutation(as_it_is), as_it_is):
        pass
    return order


# ---------------------------------------------------------------- convolution, and mixing


def convolution(signal: ArrayLike, kernel: ArrayLike, bias: ArrayLike) -> Array:
    """Slide `kernel` [d_out, d_in, width] along the sequence `signal` [..., positions, d_in], without padding.

    Position t of the result [..., positions - width + 1, d_out] is made of the `width` positions from t on, plus
    `bias` [d_out]. This is what `torch.nn.Conv1d` computes, there with positions on the last axis.
    """
    signal, kernel = as_numbers("signal", signal), as_numbers("kernel", kernel)
    bias = as_numbers("bias", bias)
    if kernel.ndim != 3 or bias.shape != kernel.shape[:1]:
        raise ValueError(
            f"kernel must be [d_out, d_in, width] and bias [d_out], got {list(kernel.shape)} and {list(bias.shape)}"
        )
    if signal.ndim < 2 or signal.shape[-1] != kernel.shape[1]:
        raise ValueError(
            f"signal must be [..., positions, d_in] = [..., positions, {kernel.shape[1]}], got {list(signal.shape)}"
        )
    width = kernel.shape[2]
    n = max(signal.shape[-2] - width + 1, 0)
    result: Array = np.zeros((*signal.shape[:-2], n, len(kernel)), np.result_type(signal, kernel, bias))
    with np.errstate(all="ignore"):
        for offset in range(width):
            # einsum's own loops: a matrix product would be `FFN.forward` under another name.
            result += np.einsum("...ti,oi->...to", signal[..., offset : offset + n, :], kernel[:, :, offset])
        result += bias
    return result


def as_convolution(ffn: FFN, x: ArrayLike) -> Array:
    """The output [..., positions, d_model] of the FFN as two convolutions of kernel 1, w1 [d_ff, d_model, 1] and
    w2 [d_model, d_ff, 1], along the sequence x [..., positions, d_model]."""
    hidden = convolution(x, ffn.w1[:, :, np.newaxis], ffn.b1)
    return convolution(activation(ffn.activation)(hidden), ffn.w2[:, :, np.newaxis], ffn.b2)


def causal_average(x: ArrayLike) -> Array:
    """Each position as the mean of itself and all before it, for x [..., positions, d_model].

    What attention does when it attends to all of them alike: a change at one position reaches every later one.
    """
    x = as_numbers("x", x)
    if x.ndim < 2:
        raise ValueError(
            f"x must be [..., positions, d_model], got {list(x.shape)}; x[np.newaxis] is one position"
        )
    counts = np.arange(1, x.shape[-2] + 1, dtype=x.dtype)[:, np.newaxis]
    with np.errstate(all="ignore"):
        mean: Array = np.cumsum(x, axis=-2) / counts
    return mean
