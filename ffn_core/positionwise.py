"""Position-wise: the same weights at every position, and no position looks at another.

Three ways to see it: change one position and no other output changes; shuffle the positions and the outputs
shuffle with them; compute it all as convolutions of kernel 1 along the sequence. `causal_average` is the
opposite, a mixing of positions as attention does it.

Two right ways of adding up the same numbers round differently, so equal means within a tolerance here, and
`tolerances` says which, for each position.
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
    """Whether two computations of one output agree; true where they do at every position.

    `difference` is the greatest |difference| at a position, and `tolerance` what rounding may make of it there (see
    `tolerances`): of the positions beyond their tolerance if there are any, else of all.
    """

    difference: float
    tolerance: float
    dtype: str
    n_terms: int
    """How many numbers are added up on the way from x to one output."""

    def __bool__(self) -> bool:
        """Equal to rounding. Where no finite tolerance is known, only the same numbers are equal."""
        return bool(_within(self.difference, self.tolerance))

    @property
    def text(self) -> str:
        """The result in words, with the tolerance and what it depends on."""
        return (
            f"{'greatest difference' if self else 'a difference of'} {self.difference:.2g}, "
            f"{'within' if self else 'more than'} the tolerance of "
            f"{self.tolerance:.2g} at its position, for sums of {self.n_terms:,} numbers in {self.dtype}: "
            f"{'the same to rounding' if self else 'not the same'}"
        )


def same(trace: Trace, output: ArrayLike) -> Comparison:
    """Compare `trace.output` with another computation of it, of the same shape, each position by its own tolerance."""
    other = as_numbers("output", output)
    if other.shape != trace.output.shape:
        raise ValueError(
            f"output must have the shape of the trace's, {list(trace.output.shape)}, got {list(other.shape)}"
        )
    differences = np.ravel(_differences(trace.output, other).max(axis=-1, initial=0))
    allowed = np.ravel(tolerances(trace)["output"])
    beyond = ~_within(differences, allowed)
    told = (
        int(np.argmax(np.where(beyond, differences, -1) if beyond.any() else differences))
        if differences.size
        else None
    )
    return Comparison(
        difference=0.0 if told is None else float(differences[told]),
        tolerance=0.0 if told is None else float(allowed[told]),
        dtype=trace.output.dtype.name,
        n_terms=trace.ffn.d_model + trace.ffn.d_ff,
    )


def _within(difference: ArrayLike, tolerance: ArrayLike) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.equal(difference, 0) | (
        np.less_equal(difference, tolerance) & np.less(tolerance, math.inf)
    )
    return found


def tolerances(trace: Trace) -> dict[str, Array]:
    """For each of STAGES, at every position, the greatest difference that rounding may make between two computations.

    Each is of x's leading axes: large numbers at one position make nothing coarser at another. What hidden is off by
    goes on through the slope of the nonlinearity and through w2. x is given and not computed: 0.
    """
    ffn, eps = trace.ffn, float(np.finfo(trace.output.dtype).eps)
    # In float64, where the squares of all float32 have room.
    x, w1, b1, hidden, activated, w2, b2, output = (
        array.astype(np.float64, copy=False)
        for array in (trace.x, ffn.w1, ffn.b1, trace.hidden, trace.activated, ffn.w2, ffn.b2, trace.output)
    )
    with np.errstate(all="ignore"):
        hidden_off = _rounding(eps, x, w1, b1, hidden)
        # The steepest slope that hidden may be at: near a kink it is not that of hidden itself.
        derivative = activation(ffn.activation).derivative
        slopes = np.stack([derivative(hidden + step) for step in (0, hidden_off, -hidden_off)])
        activated_off = np.abs(slopes).max(axis=0) * hidden_off + 4 * eps * np.abs(activated)
        # Neurons round independently of each other, so their squares add up; like neurons round alike.
        passed_on = np.maximum(
            _root_of_squares(activated_off, w2), np.abs(np.copysign(activated_off, slopes[0]) @ w2.T)
        )
        output_off = np.hypot(passed_on, _rounding(eps, activated, w2, b2, output))
    stages = {"hidden": hidden_off, "activated": activated_off, "output": output_off}
    return {"x": np.zeros(x.shape[:-1])} | {name: off.max(axis=-1, initial=0) for name, off in stages.items()}


_CAUTION = 2
"""Of sums of 4 to 5,000 numbers, random, of one sign, badly scaled or cancelling, none was off by more than a third of
the tolerance, and of equal numbers none by more than half of it."""
_ALIKE = 16
"""Processors keep about so many sums going at once, so that a run of equal products is as much shorter."""
_RUNS = 8


def _rounding(eps: float, x: Array, w: Array, b: Array, total: Array) -> Array:
    """What total = w · x + b [..., d_out] may be off by, for x [..., d_in], w [d_out, d_in] and b [d_out].

    Each addition rounds its partial sum by up to eps / 2, at random (Higham and Mary 2019, doi:10.1137/18M1226312): over
    n additions that is eps · sqrt(n) times a typical partial sum. Products of random signs keep partial sums near the
    root of the sum of their squares, however small the sum itself comes out; products of one sign make them grow. And
    where the products are equal all roundings go one way: then partial sums are sqrt(n) times that root, and the
    second term grows by about as much.
    """
    spread = np.hypot(_root_of_squares(x, w), b)
    partial = _partial_sums(x, w, total)
    partial = partial * (1 + np.where(spread == 0, 0, partial / spread) / _ALIKE)
    off: Array = _CAUTION * eps * math.sqrt(w.shape[1] + 1) * np.hypot(spread, partial)
    return off


def _root_of_squares(x: Array, w: Array) -> Array:
    """The root of the sum of the squares of the products in w · x [..., d_out], scaled so that no square overflows."""
    sizes = [np.abs(array).max(axis=-1, keepdims=True) for array in (x, w)]
    (x_size, w_size) = (np.where(size == 0, 1, size) for size in sizes)
    root: Array = np.sqrt((x / x_size) ** 2 @ ((w / w_size) ** 2).T) * x_size * w_size[:, 0]
    return root


def _partial_sums(x: Array, w: Array, total: Array) -> Array:
    """How large partial sums of w · x get on the way to `total` [..., d_out]: where runs of the products cancel, larger.

    Runs of neighbours, as where one half is positive and the other negative, and of every 8th product: processors
    keep several sums going at once, each of every so many.
    """
    n = w.shape[1]
    neighbours = [slice(n * k // _RUNS, n * (k + 1) // _RUNS) for k in range(_RUNS)]
    every_8th = [slice(k, None, _RUNS) for k in range(_RUNS)]
    largest = np.abs(total)
    for runs in (neighbours, every_8th):
        # Half is positive and half negative where the total is 0.
        apart = sum((np.abs(x[..., run] @ w[:, run].T) for run in runs), start=np.zeros_like(largest))
        largest = np.maximum(largest, apart / 2)
    return largest


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

    What is within rounding (`tolerances`, of x's leading axes as well) counts as 0, but nothing of x does.
    """

    x: Array
    hidden: Array
    activated: Array
    output: Array
    tolerances: dict[str, Array]

    @property
    def last_changed(self) -> NDArray[np.intp]:
        """At every position the place in STAGES of the last stage that changed, -1 where none did."""
        changed = np.stack([getattr(self, name) != 0 for name in STAGES])
        last: NDArray[np.intp] = np.where(
            changed, np.arange(len(STAGES))[:, *[np.newaxis] * self.x.ndim], -1
        ).max(axis=0)
        return last


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
    allowed = {name: np.maximum(one[name], other[name]) for name in STAGES}
    found = {}
    for name in STAGES:
        greatest = _differences(getattr(before, name), getattr(after, name)).max(axis=-1, initial=0)
        found[name] = np.where(_within(greatest, allowed[name]), 0, greatest)
    return Effect(**found, tolerances=allowed)


def telling_coordinate(ffn: FFN, x: ArrayLike, position: int) -> int:
    """The first coordinate of x [positions, d_model] at which adding 1 at `position` changes the output; 0 if none does.

    Only the first 16 are tried.
    """
    x = as_numbers("x", x)
    steps = np.identity(ffn.d_model, dtype=x.dtype)[:16]
    before = ffn.forward(np.zeros_like(steps) + x[position])
    return int(np.argmax(effect_of(before, ffn.forward(x[position] + steps)).output != 0))


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


def another_shuffle(n_positions: int, seed: int, n_seeds: int) -> int:
    """The next seed below `n_seeds`, from `seed` on and around, whose order of the positions is another one.

    Two positions have one order besides their own, so there no seed gives another: then `seed` itself.
    """
    shown = shuffle_order(n_positions, seed)
    if n_positions == 2:
        return seed
    later = ((seed + k) % n_seeds for k in range(1, n_seeds))
    return next(
        (other for other in later if not np.array_equal(shuffle_order(n_positions, other), shown)), seed
    )


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
