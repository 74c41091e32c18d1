"""The usual mistakes in writing a feed-forward network, each worked out beside the right way.

The right way is always the core's own. A wrong one is the core's arithmetic on what the mistake makes of the network: a
transposed matrix, another nonlinearity, a bias of 0, rows taken from the wrong places of a flat list. So no formula stands
here a second time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ffn_core.activations import Activation, Array, activation, as_numbers, factor, short
from ffn_core.dense import FFN, BlockTrace, Trace
from ffn_core.explain import Explanation, Stage, explain
from ffn_core.gated import GatedFFN
from ffn_core.moe import Routing, route

NAMES = ("orientation", "stride", "after", "none", "before", "bias", "column", "form", "top_k", "gate")
"""The traps, in the order of the page; links and sessions hold these names."""


class Line(NamedTuple):
    """One number with its formula: `text` is "output[0] = 1.0*2.0 + 0 = 2", `name` its "output[0]"."""

    name: str
    text: str
    value: float


def marks(right: Sequence[Line], wrong: Sequence[Line]) -> tuple[str, ...]:
    """For each line of the wrong way "≠" where the right one has another number, "+" where it has no such line, else ""."""
    known = {line.name: line.value for line in right}
    return tuple(
        "+" if line.name not in known else "" if _same(known[line.name], line.value) else "≠"
        for line in wrong
    )


def _same(one: ArrayLike, other: ArrayLike) -> bool:
    """Whether they are equal to rounding."""
    return bool(np.isclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True).all())


# ---------------------------------------------------------------- a whole layer


@dataclass(frozen=True, eq=False, kw_only=True)
class Way:
    """One way from x to an output, both [..., d_model].

    `trace` is the pass of the network that is really computed. `first` is a nonlinearity that x goes through before it,
    `last` one that its output goes through after it.
    """

    x: Array
    trace: Trace
    first: Activation | None = None
    last: Activation | None = None

    @property
    def output(self) -> Array:
        """What this way gives for FFN(x)."""
        return self.trace.output if self.last is None else self.last(self.trace.output)

    @property
    def residual(self) -> Array:
        """What the block then passes on, x + output."""
        return BlockTrace(x=self.x, output=self.output).residual

    @property
    def lines(self) -> tuple[Line, ...]:
        """Every number on the way for an x without leading axes, with the numbers plugged in."""
        trace = self.trace
        found: list[Line] = []
        if self.first is not None:
            found += _applied(self.first, self.x, "x")
        linear = trace.ffn.activation == "identity"
        stages: tuple[Stage, ...] = ("hidden", "output") if linear else ("hidden", "activated", "output")
        for stage in stages:
            found += [_line(explain(trace, stage, (), i)) for i in range(getattr(trace, stage).size)]
        if self.last is not None:
            found += _applied(self.last, trace.output, "output")
        whole = replace(trace, x=self.x, output=self.output)
        return (*found, *(_line(explain(whole, "residual", (), i)) for i in range(self.x.size)))


def _line(explanation: Explanation) -> Line:
    return Line(explanation.name, explanation.text, explanation.value)


def _applied(function: Activation, numbers: Array, name: str) -> list[Line]:
    """A line for each of `numbers` [n], called `name`, that a nonlinearity is applied to."""
    ffn = FFN(w1=np.identity(numbers.size), b1=np.zeros(numbers.size), w2=np.identity(numbers.size),
              b2=np.zeros(numbers.size), activation=function.name)  # fmt: skip
    trace, called = ffn.forward(numbers), f"{function.label}({name})"
    lines = [_line(explain(trace, "activated", (), i)) for i in range(numbers.size)]
    return [
        Line(line.name.replace("activated", called), line.text.replace("activated", called, 1), line.value)
        for line in lines
    ]


Layer = Callable[[FFN, ArrayLike], Way]
"""A way to compute a layer for x [..., d_model]."""


def as_meant(ffn: FFN, x: ArrayLike) -> Way:
    """The right way: w2 · act(w1 · x + b1) + b2."""
    trace = ffn.forward(x)
    return Way(x=trace.x, trace=trace)


def activation_after(ffn: FFN, x: ArrayLike) -> Way:
    """The nonlinearity after w2 instead of between the two: act(w2 · (w1 · x + b1) + b2)."""
    return replace(no_activation(ffn, x), last=activation(ffn.activation))


def activation_twice(ffn: FFN, x: ArrayLike) -> Way:
    """The nonlinearity between the two matrices, as meant, and after w2 as well."""
    return replace(as_meant(ffn, x), last=activation(ffn.activation))


def no_activation(ffn: FFN, x: ArrayLike) -> Way:
    """No nonlinearity: w2 · (w1 · x + b1) + b2, which is one matrix (`curves.linear_map`)."""
    return as_meant(replace(ffn, activation="identity"), x)


def activation_before(ffn: FFN, x: ArrayLike) -> Way:
    """The nonlinearity before w1 instead of after it: w2 · (w1 · act(x) + b1) + b2."""
    act, given = activation(ffn.activation), ffn.forward(x).x
    return replace(no_activation(ffn, act(given)), x=given, first=act)


def without_b1(ffn: FFN, x: ArrayLike) -> Way:
    """The first bias forgotten: w2 · act(w1 · x) + b2."""
    return as_meant(replace(ffn, b1=np.zeros_like(ffn.b1)), x)


def without_b2(ffn: FFN, x: ArrayLike) -> Way:
    """The second bias forgotten: w2 · act(w1 · x + b1)."""
    return as_meant(replace(ffn, b2=np.zeros_like(ffn.b2)), x)


def without_biases(ffn: FFN, x: ArrayLike) -> Way:
    """Both biases forgotten."""
    return without_b1(replace(ffn, b2=np.zeros_like(ffn.b2)), x)


def exact_gelu(ffn: FFN, x: ArrayLike) -> Way:
    """The layer with GELU in its exact form, whatever its own nonlinearity is."""
    return as_meant(replace(ffn, activation="gelu"), x)


def tanh_gelu(ffn: FFN, x: ArrayLike) -> Way:
    """The layer with GELU in its tanh form, whatever its own nonlinearity is."""
    return as_meant(replace(ffn, activation="gelu_tanh"), x)


def swept(layer: Layer, ffn: FFN, x: Array, coordinate: int, grid: Array) -> Way:
    """`layer` at x [d_model] with one coordinate set to each number of `grid` [n]: its output is [n, d_model]."""
    points = np.tile(x, (len(grid), 1))
    points[:, coordinate] = grid
    return layer(ffn, points)


def greatest_gap(right: Way, wrong: Way) -> float:
    """The greatest difference between two outputs, over all positions and coordinates."""
    with np.errstate(all="ignore"):
        return float(np.abs(right.output - wrong.output).max(initial=0))


# ---------------------------------------------------------------- orientation


@dataclass(frozen=True, eq=False, kw_only=True)
class Computed:
    """What a line of NumPy gives: its numbers with their formulas, or `error`, NumPy's own words where it refuses."""

    values: Array | None = None
    lines: tuple[Line, ...] = ()
    error: str = ""


def orientations(w: ArrayLike, x: ArrayLike) -> tuple[Computed, Computed]:
    """W @ x and x @ W for a matrix w [m, n] and a vector x: dot products with W's rows, and with its columns."""
    w, x = as_numbers("w", w), as_numbers("x", x)
    if w.ndim != 2 or x.ndim != 1 or not w.size:
        raise ValueError(f"w must be a matrix and x one row, got {list(w.shape)} and {list(x.shape)}")
    return _product(w, x, lambda: np.matmul(w, x)), _product(w.T, x, lambda: np.matmul(x, w))


def _product(rows: Array, x: Array, as_written: Callable[[], object]) -> Computed:
    """The dot products of x with `rows`, as the core computes and explains them; NumPy's words if it refuses."""
    try:
        as_written()
    except ValueError as error:
        return Computed(error=str(error))
    n_out, n_in = rows.shape
    layer = FFN(
        w1=rows, b1=np.zeros(n_out), w2=np.zeros((n_in, n_out)), b2=np.zeros(n_in), activation="identity"
    )
    trace = layer.forward(x)
    return Computed(
        values=trace.hidden, lines=tuple(_line(explain(trace, "hidden", (), j)) for j in range(n_out))
    )


# ---------------------------------------------------------------- flat lists


def rows_read(n_rows: int, width: int, stride: int) -> NDArray[np.intp]:
    """Which elements of a flat list are taken for each row, [n_rows, width], where row i is thought to start at i·stride.

    Right for a row-major matrix [n_rows, width] is stride = width.
    """
    return np.arange(n_rows)[:, np.newaxis] * stride + np.arange(width)


def counted_layer(d_model: int, d_ff: int) -> FFN:
    """A ReLU layer without biases whose matrices hold 1, 2, 3, ... row by row, so that each number says where it stands."""
    numbers = np.arange(1.0, d_model * d_ff + 1)
    return FFN(
        w1=numbers.reshape(d_ff, d_model), b1=np.zeros(d_ff), w2=numbers.reshape(d_model, d_ff), b2=np.zeros(d_model),
        activation="relu",
    )  # fmt: skip


def one_stride(ffn: FFN, x: ArrayLike, stride: int) -> Way:
    """The layer as code computes it that takes row i of both flat matrices from i·stride on.

    A ValueError says which row would be read beyond the end of its list.
    """
    w1, w2 = (_taken(name, matrix, stride) for name, matrix in (("w1", ffn.w1), ("w2", ffn.w2)))
    return as_meant(replace(ffn, w1=w1, w2=w2), x)


def _taken(name: str, matrix: Array, stride: int) -> Array:
    n_rows, width = matrix.shape
    reads = rows_read(n_rows, width, stride)
    if beyond := np.flatnonzero((reads >= matrix.size).any(axis=1)).tolist():
        row = beyond[0]
        raise ValueError(
            f"row {row} of {name} must lie within the flat list, elements 0 to {matrix.size - 1}; from {row}·{stride} on it "
            f"would take {', '.join(map(str, reads[row].tolist()))}; use the stride {width}, the row's length"
        )
    taken: Array = matrix.reshape(-1)[reads]
    return taken


# ---------------------------------------------------------------- a bias as a column


def with_bias(numbers: ArrayLike, bias: ArrayLike) -> tuple[Computed, Computed]:
    """numbers [T, d] plus a bias, as meant of shape [d], and as a column [d, 1], which NumPy stretches over the columns."""
    numbers, bias = as_numbers("numbers", numbers), as_numbers("bias", bias)
    size = bias.size
    layer = FFN(w1=np.identity(size), b1=bias, w2=np.identity(size), b2=np.zeros(size), activation="identity")
    right = layer.forward(numbers).hidden
    try:
        wrong = Computed(values=np.add(numbers, bias[:, np.newaxis]))
    except ValueError as error:
        wrong = Computed(error=str(error))
    return Computed(values=right), wrong


def column_refused(bias: Array) -> str:
    """What FFN says to a bias [d] that comes as a column [d, 1]."""
    size = bias.size
    try:
        FFN(w1=np.identity(size), b1=bias[:, np.newaxis], w2=np.identity(size), b2=np.zeros(size))
    except ValueError as error:
        return str(error)
    raise AssertionError("a column must be refused")


# ---------------------------------------------------------------- softmax and top-k, gate and up


def routings(
    logits: Array, top_k: int
) -> tuple[tuple[Routing, tuple[Line, ...]], tuple[Routing, tuple[Line, ...]]]:
    """The weights of one token's `top_k` experts from logits [n_experts]: softmax after top-k, and before it.

    Each with a line for a chosen expert and one for the sum.
    """
    return _routed(logits, top_k, renormalize=True), _routed(logits, top_k, renormalize=False)


def _routed(logits: Array, top_k: int, *, renormalize: bool) -> tuple[Routing, tuple[Line, ...]]:
    routing = route(logits, top_k, renormalize)
    over = logits[routing.chosen] if renormalize else logits
    bottom = " + ".join(f"exp({short(z)})" for z in over.tolist())
    weights = routing.routing_weights.tolist()
    lines = [
        Line(
            f"weight of expert {expert}",
            f"weight of expert {expert} = exp({short(float(logits[expert]))}) / ({bottom}) = {short(weight)}",
            weight,
        )
        for expert, weight in zip(routing.chosen.tolist(), weights, strict=True)
    ]
    total = float(routing.routing_weights.sum())
    lines.append(
        Line("sum", f"sum = {' + '.join(map(factor, map(_shortened, weights)))} = {short(total)}", total)
    )
    return routing, tuple(lines)


def _shortened(value: float) -> float:
    return float(short(value))


class GateWays(NamedTuple):
    """What one gated neuron fires with, as meant and two ways that are not, each with its formula."""

    as_meant: Line
    swapped: Line
    of_the_product: Line


def gate_ways(gate: float, up: float) -> GateWays:
    """SiLU(gate) · up for two numbers; with their roles swapped; and SiLU of their product."""
    one = np.ones((1, 1))

    def gated(first: float, second: float) -> Line:
        layer = GatedFFN(w_gate=[[first]], w_up=[[second]], w_down=one, activation="silu")
        return _line(explain(layer.forward([1.0]), "activated", (), 0))

    product = FFN(w1=[[gate * up]], b1=[0], w2=one, b2=[0], activation="silu").forward([1.0])
    return GateWays(gated(gate, up), gated(up, gate), _line(explain(product, "activated", (), 0)))
