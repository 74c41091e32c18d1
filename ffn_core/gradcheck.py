"""Gradients checked against what they mean: how much the loss moves when one number is moved a little.

    numeric = (loss(w + h) - loss(w - h)) / (2·h),   loss = sum(d_output * output)

The central difference is off by about h² from truncation and by about 1e-16/h from rounding, so it is best near
h = 1e-5, at 1e-10 or so. All is computed in float64, whatever the layer's dtype: in float32 an h of 1e-6 is lost in
rounding.

Arrays are named as in `ffn_core.parameters`, x first: x, w1, b1, w2, b2; of a mixture x, router, experts[0].w1 ...
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ffn_core.activations import Array, activation, as_numbers
from ffn_core.families import Layer
from ffn_core.moe import MoETrace
from ffn_core.parameters import check_names, parameters, with_parameters


@dataclass(frozen=True, eq=False, kw_only=True)
class Checked:
    """One array's gradient from `backward`, `analytic`, and from central differences, `numeric`, both of its shape.

    `skipped`, of that shape, marks the entries whose difference says nothing: moving them by h takes some hidden value
    from one side of a corner of the nonlinearity to the other, or some token to another expert. At ReLU's corner the
    derivative is 0 by convention and the difference quotient is 0.5, and both are right. `tried` marks those that were
    moved at all, True for every one; the numeric gradient of the others is 0.
    """

    analytic: Array
    numeric: Array
    skipped: NDArray[np.bool_]
    tried: NDArray[np.bool_] = field(default_factory=lambda: np.array(True))

    def __post_init__(self) -> None:
        """Make every array read-only."""
        for array in vars(self).values():
            array.setflags(write=False)

    @property
    def n_skipped(self) -> int:
        """How many entries were tried, but are not compared."""
        return int(self.skipped.sum())

    @property
    def compared(self) -> NDArray[np.bool_]:
        """Which entries are compared."""
        return self.tried & ~self.skipped

    @property
    def relative_error(self) -> float:
        """The greatest |analytic - numeric|, over the greatest magnitude of either gradient in this array.

        The whole array is the measure, not each entry: the rounding of the loss is equally large in all entries, so an
        entry near 0 would be called wrong for nothing. It is 0 where both are 0 and where nothing is left to compare,
        and NaN where a gradient is.
        """
        analytic, numeric = self.analytic[self.compared], self.numeric[self.compared]
        with np.errstate(all="ignore"):
            error = np.abs(analytic - numeric).max(initial=0.0)
            scale = np.maximum(np.abs(analytic), np.abs(numeric)).max(initial=0.0)
            return float(error / scale) if scale != 0 else 0.0


def check(
    ffn: Layer,
    x: ArrayLike,
    d_output: ArrayLike,
    h: float = 1e-6,
    names: Iterable[str] | None = None,
    *,
    most: int | None = None,
) -> dict[str, Checked]:
    """The gradients of sum(d_output * output) from `backward` and from central differences, by array.

    `ffn` is an FFN, a GatedFFN or an MoE, x [..., d_model], d_output of output's shape. `names` chooses arrays, None
    all of them. Every entry takes two forward passes: `most` bounds how many of each array are tried, spread evenly over
    it. A ValueError says which name, shape or h does not fit.
    """
    if not (math.isfinite(h) and h > 0):
        raise ValueError(f"h must be a finite number above 0, got {h!r}")
    layer = with_parameters(ffn, {name: _double(array) for name, array in parameters(ffn).items()})
    x = _double(as_numbers("x", x))
    trace = layer.forward(x)
    d_output = _double(trace.checked_d_output(d_output))
    gradients = trace.backward(d_output)
    analytic: Mapping[str, Array] = {"x": gradients.x} | parameters(gradients)
    arrays = {"x": trace.x} | parameters(layer)
    chosen = list(arrays) if names is None else list(names)
    check_names(chosen, arrays)

    def moved(name: str, index: tuple[int, ...], by: float) -> Any:
        values = arrays[name].copy()
        values[index] += by
        return layer.forward(values) if name == "x" else with_parameters(layer, {name: values}).forward(x)

    checked = {}
    for name in chosen:
        numeric = np.zeros(arrays[name].shape)
        skipped, tried = np.zeros_like(numeric, np.bool_), np.zeros_like(numeric, np.bool_)
        for index in _spread(numeric.shape, most):
            tried[index] = True
            up, down = moved(name, index, h), moved(name, index, -h)
            with np.errstate(all="ignore"):
                numeric[index] = (d_output * (up.output - down.output)).sum() / (2 * h)
            skipped[index] = not _same_branch(up, down)
        checked[name] = Checked(analytic=analytic[name], numeric=numeric, skipped=skipped, tried=tried)
    return checked


def relative_errors(
    ffn: Layer,
    x: ArrayLike,
    d_output: ArrayLike,
    h: float = 1e-6,
    names: Iterable[str] | None = None,
    *,
    most: int | None = None,
) -> dict[str, float]:
    """`Checked.relative_error` for x and each parameter array of `ffn`; arguments as in `check`.

    Right gradients of values of about unit size give some 1e-9 at the usual h, wrong ones 1e-3 or more.
    """
    return {name: one.relative_error for name, one in check(ffn, x, d_output, h, names, most=most).items()}


def error_by_step(
    ffn: Layer,
    x: ArrayLike,
    d_output: ArrayLike,
    steps: Iterable[float],
    names: Iterable[str] | None = None,
    *,
    most: int | None = None,
) -> Array:
    """The greatest of `relative_errors` for each h of `steps`, such as np.logspace(-12, -1, 23): [n_steps].

    On log axes it is a V: rounding error falls with h, truncation error rises with h². A larger h reaches more corners,
    and so leaves fewer entries to compare.
    """
    names = None if names is None else list(names)
    errors = [list(relative_errors(ffn, x, d_output, h, names, most=most).values()) for h in steps]
    return np.array([np.max(each, initial=0.0) for each in errors])


def _spread(shape: tuple[int, ...], most: int | None) -> Iterator[tuple[int, ...]]:
    """The indices of an array of that shape, at most `most` of them, spread evenly in row-major order."""
    size = math.prod(shape)
    n = size if most is None else min(most, size)
    return (tuple(int(i) for i in np.unravel_index(k * size // n, shape)) for k in range(n))


def _double(array: Array) -> Array:
    return array.astype(np.float64, copy=False)


def _same_branch(a: Any, b: Any) -> bool:
    """Whether two traces of one layer lie on one smooth piece of it: the same experts chosen, no corner between."""
    if isinstance(a, MoETrace):
        return (
            np.array_equal(np.sort(a.chosen), np.sort(b.chosen))
            and all(np.array_equal(one, other) for one, other in zip(a.tokens, b.tokens, strict=True))
            and all(_same_branch(one, other) for one, other in zip(a.experts, b.experts, strict=True))
            and (a.shared is None or _same_branch(a.shared, b.shared))
        )
    corners = activation(a.ffn.activation).corners
    return all(np.array_equal(a.hidden > corner, b.hidden > corner) for corner in corners)
