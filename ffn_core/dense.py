"""The feed-forward network: output = w2 · act(w1 · x + b1) + b2, the same weights at every position.

`FFN` holds the weights, `FFN.forward` gives a `Trace` of every number on the way, `Trace.backward` the
gradients. Words and shapes are those of the glossary in `ffn_core`.
"""

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ffn_core.activations import Array, as_numbers, computing_dtype
from ffn_core.activations import activation as activation_called

Layout = Literal["out_in", "in_out"]
Position = int | tuple[int, ...]

# The axes of every array in the layout "out_in"; the first array says how long they are.
_AXES = {"w1": ("d_ff", "d_model"), "w2": ("d_model", "d_ff"), "b1": ("d_ff",), "b2": ("d_model",)}


@dataclass(frozen=True, eq=False, kw_only=True, init=False)
class FFN:
    """A feed-forward network's weights.

    w1 [d_ff, d_model], b1 [d_ff], w2 [d_model, d_ff], b2 [d_model]: real numbers, infinities and NaN
    included. They are kept as read-only copies in one dtype, the widest of their `computing_dtype`s.
    `activation` is any name that `ffn_core.activation` knows, kept as the table's. A ValueError says which
    shape was expected.
    """

    w1: Array
    b1: Array
    w2: Array
    b2: Array
    activation: str = "gelu_tanh"

    def __init__(
        self, *, w1: ArrayLike, b1: ArrayLike, w2: ArrayLike, b2: ArrayLike, activation: str = "gelu_tanh"
    ) -> None:
        """Check the shapes and keep read-only copies. Lists do as well, which a generated __init__ denies."""
        weights = checked_weights({"w1": w1, "b1": b1, "w2": w2, "b2": b2}, _AXES)
        for name, array in weights.items():
            object.__setattr__(self, name, array)
        object.__setattr__(self, "activation", activation_called(activation).name)

    @classmethod
    def random(
        cls,
        d_model: int,
        d_ff: int | None = None,
        seed: int = 0,
        activation: str = "gelu_tanh",
        dtype: DTypeLike = np.float64,
    ) -> "FFN":
        """A random network, the same for the same arguments; `d_ff` None means 4·d_model.

        Weights are normal with standard deviation 1/sqrt(fan_in), so that a standard normal x gives hidden
        values of about unit size; biases are normal with standard deviation 0.1, so that no bias is an
        unseen 0.
        """
        d_ff = 4 * d_model if d_ff is None else d_ff
        check_widths(d_model=d_model, d_ff=d_ff)
        rng = np.random.default_rng(seed)
        weights = {
            "w1": rng.standard_normal((d_ff, d_model)) / math.sqrt(d_model),
            "b1": rng.standard_normal(d_ff) * 0.1,
            "w2": rng.standard_normal((d_model, d_ff)) / math.sqrt(d_ff),
            "b2": rng.standard_normal(d_model) * 0.1,
        }
        to = computing_dtype(dtype)
        return cls(**{name: array.astype(to) for name, array in weights.items()}, activation=activation)

    @classmethod
    def from_arrays(
        cls,
        w1: ArrayLike,
        b1: ArrayLike,
        w2: ArrayLike,
        b2: ArrayLike,
        *,
        layout: Layout,
        activation: str = "gelu_tanh",
    ) -> "FFN":
        """A network from stored arrays whose orientation is said, never guessed: a square matrix fits both.

        `layout="out_in"` is W @ x, as here and in `torch.nn.Linear`: w1 [d_ff, d_model], w2 [d_model, d_ff].
        `layout="in_out"` is x @ W, as in GPT-2's checkpoints: w1 [d_model, d_ff], w2 [d_ff, d_model].
        """
        weights = checked_weights({"w1": w1, "b1": b1, "w2": w2, "b2": b2}, _AXES, layout)
        return cls(**weights, activation=activation)

    @classmethod
    def _trusted(cls, w1: Array, b1: Array, w2: Array, b2: Array, activation: str) -> "FFN":
        """A network of arrays and an activation's name that are already as __init__ would leave them.

        Without its checks and copies, for the core's own loops: nothing may ever write to the arrays' memory.
        """
        ffn = cls.__new__(cls)
        for name, value in (("w1", w1), ("b1", b1), ("w2", w2), ("b2", b2), ("activation", activation)):
            object.__setattr__(ffn, name, value)
        return ffn

    @property
    def d_model(self) -> int:
        """Width of the residual stream, and so of x and output."""
        return int(self.w1.shape[1])

    @property
    def d_ff(self) -> int:
        """Width of the hidden layer: the number of neurons."""
        return int(self.w1.shape[0])

    @property
    def n_parameters(self) -> int:
        """How many numbers the weights and biases are."""
        return 2 * self.d_ff * self.d_model + self.d_ff + self.d_model

    def forward(self, x: ArrayLike) -> "Trace":
        """The trace for x [..., d_model] with any leading axes, none and empty ones included."""
        x = checked_x(x, self.w1)
        rows = x.reshape(-1, self.d_model)  # one matrix product for all positions
        with np.errstate(all="ignore"):  # weights may be infinite, and then so are the sums
            hidden = rows @ self.w1.T
            hidden += self.b1
            activated = activation_called(self.activation)(hidden)
            output = activated @ self.w2.T
            output += self.b2
        return Trace(ffn=self, x=x, hidden=hidden, activated=activated, output=output)


class HasValues(Protocol):
    """A network whose neurons write values: column j of w2 [d_model, d_ff] is value j."""

    @property
    def w2(self) -> Array:
        """The values."""


@dataclass(frozen=True, eq=False, kw_only=True)
class BlockTrace:
    """What every trace has, whatever the network does between x and output [..., d_model]."""

    x: Array
    output: Array

    def __post_init__(self) -> None:
        """Give each stage the leading axes of x and make it read-only."""
        for name, value in list(vars(self).items()):
            if isinstance(value, np.ndarray) and name != "x":
                value.setflags(write=False)
                object.__setattr__(self, name, value.reshape(*self.x.shape[:-1], value.shape[-1]))

    @property
    def residual(self) -> Array:
        """What the block passes on, x + output [..., d_model]."""
        with np.errstate(all="ignore"):
            return self.x + self.output

    def at(self, position: Position) -> tuple[int, ...]:
        """`position` as one index for each leading axis of x; a ValueError says what would be in range.

        An int stands for a tuple of one; the position of an x without leading axes is (). Negative positions
        are refused: they are more often a slip than a count from the end.
        """
        lead = self.x.shape[:-1]
        try:
            index = tuple(map(operator.index, position if isinstance(position, tuple) else (position,)))
            if len(index) == len(lead) and all(0 <= i < n for i, n in zip(index, lead, strict=True)):
                return index
        except TypeError:
            pass
        raise ValueError(
            f"position must be {_positions(lead)} for x of shape {list(self.x.shape)}, got {position!r}"
        )

    def checked_d_output(self, d_output: ArrayLike) -> Array:
        """`d_output` in output's dtype; a ValueError unless it has output's shape."""
        d_output = as_numbers("d_output", d_output)
        if d_output.shape != self.output.shape:
            raise ValueError(
                f"d_output must have output's shape {list(self.output.shape)}, got {list(d_output.shape)}"
            )
        return d_output.astype(self.output.dtype, copy=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class MemoryTrace(BlockTrace):
    """A trace whose output is made of neurons' contributions: `output == activated @ w2.T + b2`."""

    ffn: HasValues
    activated: Array

    def contributions(self, position: Position) -> Array:
        """What each neuron adds to the output at `position`: row j is activated_j · value_j, [d_ff, d_model].

        The rows and b2 add up to the output there.
        """
        with np.errstate(all="ignore"):
            rows: Array = self.activated[self.at(position)][:, np.newaxis] * self.ffn.w2.T
        return rows


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace(MemoryTrace):
    """Every number of one forward pass: x and output [..., d_model], hidden and activated [..., d_ff].

    `output == activated @ w2.T + b2`. Made by `FFN.forward`.
    """

    ffn: FFN
    hidden: Array

    def backward(self, d_output: ArrayLike) -> "Gradients":
        """The gradients of a loss whose gradient with respect to output is `d_output` [..., d_model].

        Those of the weights are sums over all positions. They come in the trace's dtype.
        """
        d_output = self.checked_d_output(d_output)
        ffn = self.ffn
        with np.errstate(all="ignore"):
            d_activated = d_output @ ffn.w2
            d_hidden = d_activated * activation_called(ffn.activation).derivative(self.hidden)
            d_x = d_hidden @ ffn.w1
            d_hidden_rows, d_output_rows = d_hidden.reshape(-1, ffn.d_ff), d_output.reshape(-1, ffn.d_model)
            return Gradients(
                x=d_x,
                w1=d_hidden_rows.T @ self.x.reshape(-1, ffn.d_model),
                b1=d_hidden_rows.sum(axis=0),
                w2=d_output_rows.T @ self.activated.reshape(-1, ffn.d_ff),
                b2=d_output_rows.sum(axis=0),
                hidden=d_hidden,
                activated=d_activated,
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class Gradients:
    """The gradients of a loss, each named after and shaped like the array that it is the gradient of."""

    x: Array
    w1: Array
    b1: Array
    w2: Array
    b2: Array
    hidden: Array
    activated: Array

    def __post_init__(self) -> None:
        """Make every array read-only."""
        for array in vars(self).values():
            array.setflags(write=False)


def read_only(array: Array) -> Array:
    """`array` itself where nothing can write to its memory, a read-only copy otherwise."""
    if array.flags.owndata and not array.flags.writeable:
        return array
    array = array.copy()
    array.setflags(write=False)
    return array


def _positions(lead: tuple[int, ...]) -> str:
    """What a position may be for leading axes `lead`, in words."""
    ranges = [f"0 to {n - 1}" if n else "nothing, the axis is empty" for n in lead]
    if len(lead) == 1:
        return f"one index ({ranges[0]})"
    return f"a tuple of {len(lead)} indices ({', '.join(ranges)})" if lead else "() alone"


def check_widths(**widths: int) -> None:
    """Raise a ValueError that names the first of `widths` that is no integer or below 1."""
    for name, width in widths.items():
        try:
            if operator.index(width) >= 1:
                continue
        except TypeError:
            pass
        raise ValueError(f"{name} must be at least 1 and an integer, got {width!r}")


def checked_x(x: ArrayLike, w_in: Array) -> Array:
    """x [..., d_model] for a network whose first matrix is `w_in` [any, d_model], read-only.

    It comes in the wider of the two dtypes. A ValueError says which width was expected.
    """
    x, d_model = as_numbers("x", x), w_in.shape[1]
    if x.shape[-1:] != (d_model,):
        raise ValueError(
            f"x must be [..., d_model] = [..., {d_model}], got {list(x.shape)}; "
            "a position is a row of x: transpose x if its positions are columns"
        )
    return read_only(x.astype(np.result_type(x, w_in), copy=False))


def checked_weights(
    given: Mapping[str, ArrayLike], axes: Mapping[str, tuple[str, ...]], layout: Layout = "out_in"
) -> dict[str, Array]:
    """`given`, stored in `layout`, as read-only [out, in] copies in one dtype, the widest of theirs.

    `axes` names each array's axes as in "out_in"; its first entry is a matrix, and says how long they are. A
    ValueError says which shape was expected of which array.
    """
    if layout not in ("out_in", "in_out"):
        raise ValueError(f'layout must be "out_in" (W @ x) or "in_out" (x @ W), got {layout!r}')
    weights = {name: as_numbers(name, value) for name, value in given.items()}
    stored = {name: of if layout == "out_in" else of[::-1] for name, of in axes.items() if name in weights}
    _check_shapes(weights, stored, layout)
    dtype = np.result_type(*weights.values())
    oriented = weights if layout == "out_in" else {name: array.T for name, array in weights.items()}
    return {name: read_only(array.astype(dtype, copy=False)) for name, array in oriented.items()}


def _check_shapes(weights: dict[str, Array], stored: dict[str, tuple[str, ...]], layout: Layout) -> None:
    """Raise a ValueError unless the arrays have the axes of `stored`, whose first entry says how long they are."""
    first, *others = stored
    if weights[first].ndim != 2 or 0 in weights[first].shape:
        raise ValueError(
            f"{first} must be a matrix [{', '.join(stored[first])}] without an empty axis, "
            f"got {list(weights[first].shape)}"
        )
    size = dict(zip(stored[first], weights[first].shape, strict=True))
    for name in others:
        expected, got = [size[axis] for axis in stored[name]], list(weights[name].shape)
        if got == expected:
            continue
        is_matrix, way_out = len(expected) == 2, ""
        if (is_matrix and got == expected[::-1]) or (stored[name] == ("d_ff",) and got == [size["d_model"]]):
            other, order = ("in_out", "(in, out)") if layout == "out_in" else ("out_in", "(out, in)")
            way_out = f'; weights stored {order} load with layout="{other}"'
        elif not is_matrix and math.prod(got) == expected[0]:
            way_out = f"; {name}.reshape(-1) has that shape"
        raise ValueError(f"{name} must be [{', '.join(stored[name])}] = {expected}, got {got}{way_out}")
