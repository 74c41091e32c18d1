"""The gated feed-forward network: output = w_down · (act(w_gate · x) * (w_up · x)), biases optional.

Each neuron has two keys, a row of w_gate and a row of w_up, and one value, a column of w_down: it fires with the
product of the two matches, so also negatively. `GatedFFN`, `GatedTrace` and `GatedGradients` are to it what `FFN`,
`Trace` and `Gradients` are to the dense network.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ffn_core.activations import Array, computing_dtype
from ffn_core.activations import activation as activation_called
from ffn_core.dense import Layout, MemoryTrace, check_widths, checked_weights, checked_x, read_only

_AXES = {
    "w_gate": ("d_ff", "d_model"),
    "w_up": ("d_ff", "d_model"),
    "w_down": ("d_model", "d_ff"),
    "b_gate": ("d_ff",),
    "b_up": ("d_ff",),
    "b_down": ("d_model",),
}


@dataclass(frozen=True, eq=False, kw_only=True, init=False)
class GatedFFN:
    """A gated feed-forward network's weights.

    w_gate and w_up [d_ff, d_model], w_down [d_model, d_ff]; b_gate and b_up [d_ff], b_down [d_model], each None
    where the layer has none, as in Llama. Otherwise as `FFN`: real numbers, kept as read-only copies in one dtype,
    and a ValueError that says which shape was expected.
    """

    w_gate: Array
    w_up: Array
    w_down: Array
    b_gate: Array | None = None
    b_up: Array | None = None
    b_down: Array | None = None
    activation: str = "silu"

    def __init__(
        self,
        *,
        w_gate: ArrayLike,
        w_up: ArrayLike,
        w_down: ArrayLike,
        b_gate: ArrayLike | None = None,
        b_up: ArrayLike | None = None,
        b_down: ArrayLike | None = None,
        activation: str = "silu",
    ) -> None:
        """Check the shapes and keep read-only copies."""
        given: dict[str, ArrayLike] = {"w_gate": w_gate, "w_up": w_up, "w_down": w_down}
        weights = checked_weights(given | _present(b_gate=b_gate, b_up=b_up, b_down=b_down), _AXES)
        for name in _AXES:
            object.__setattr__(self, name, weights.get(name))
        object.__setattr__(self, "activation", activation_called(activation).name)

    @classmethod
    def random(
        cls,
        d_model: int,
        d_ff: int | None = None,
        seed: int = 0,
        activation: str = "silu",
        dtype: DTypeLike = np.float64,
    ) -> "GatedFFN":
        """A random network without biases, the same for the same arguments.

        `d_ff` None means `llama_d_ff(d_model, multiple_of=1)`, 8/3·d_model: as many parameters as a dense network of
        4·d_model. Weights are normal with standard deviation 1/sqrt(fan_in), as in `FFN.random`.
        """
        d_ff = llama_d_ff(d_model, multiple_of=1) if d_ff is None else d_ff
        check_widths(d_model=d_model, d_ff=d_ff)
        rng = np.random.default_rng(seed)
        weights = {
            "w_gate": rng.standard_normal((d_ff, d_model)) / math.sqrt(d_model),
            "w_up": rng.standard_normal((d_ff, d_model)) / math.sqrt(d_model),
            "w_down": rng.standard_normal((d_model, d_ff)) / math.sqrt(d_ff),
        }
        to = computing_dtype(dtype)
        return cls(**{name: array.astype(to) for name, array in weights.items()}, activation=activation)

    @classmethod
    def from_arrays(
        cls,
        w_gate: ArrayLike,
        w_up: ArrayLike,
        w_down: ArrayLike,
        *,
        layout: Layout,
        b_gate: ArrayLike | None = None,
        b_up: ArrayLike | None = None,
        b_down: ArrayLike | None = None,
        activation: str = "silu",
    ) -> "GatedFFN":
        """A network from stored arrays whose orientation is said, as in `FFN.from_arrays`.

        `layout="out_in"`: w_gate and w_up [d_ff, d_model], w_down [d_model, d_ff], as in Llama's checkpoints.
        `layout="in_out"`: w_gate and w_up [d_model, d_ff], w_down [d_ff, d_model].
        """
        given: dict[str, ArrayLike] = {"w_gate": w_gate, "w_up": w_up, "w_down": w_down}
        biases = _present(b_gate=b_gate, b_up=b_up, b_down=b_down)
        return cls(**checked_weights(given | biases, _AXES, layout), activation=activation)

    @property
    def d_model(self) -> int:
        """Width of the residual stream, and so of x and output."""
        return int(self.w_gate.shape[1])

    @property
    def d_ff(self) -> int:
        """Width of the hidden layer: the number of neurons."""
        return int(self.w_gate.shape[0])

    @property
    def n_parameters(self) -> int:
        """How many numbers the weights and those biases that there are."""
        arrays = (getattr(self, name) for name in _AXES)
        return sum(array.size for array in arrays if array is not None)

    @property
    def w2(self) -> Array:
        """The values, w_down [d_model, d_ff], by the name that they have in a dense network."""
        return self.w_down

    @property
    def b2(self) -> Array:
        """What is added to every output [d_model]: b_down, zeros where there is none."""
        return read_only(np.zeros_like(self.w_down[:, 0])) if self.b_down is None else self.b_down

    def forward(self, x: ArrayLike) -> "GatedTrace":
        """The trace for x [..., d_model] with any leading axes, none and empty ones included."""
        x = checked_x(x, self.w_gate)
        rows = x.reshape(-1, self.d_model)
        with np.errstate(all="ignore"):  # weights may be infinite, and then so are the sums
            hidden = _affine(rows, self.w_gate, self.b_gate)
            gate = activation_called(self.activation)(hidden)
            up = _affine(rows, self.w_up, self.b_up)
            activated = gate * up
            output = _affine(activated, self.w_down, self.b_down)
        return GatedTrace(ffn=self, x=x, hidden=hidden, gate=gate, up=up, activated=activated, output=output)


@dataclass(frozen=True, eq=False, kw_only=True)
class GatedTrace(MemoryTrace):
    """Every number of one forward pass: x and output [..., d_model], all between them [..., d_ff].

    `hidden` is the gate's pre-activation, `gate == act(hidden)`, `up` the linear branch, `activated == gate * up`, and
    `output == activated @ w_down.T + b_down`. Made by `GatedFFN.forward`.
    """

    ffn: GatedFFN
    hidden: Array
    gate: Array
    up: Array

    def backward(self, d_output: ArrayLike) -> "GatedGradients":
        """The gradients of a loss whose gradient with respect to output is `d_output` [..., d_model].

        Those of the weights are sums over all positions. They come in the trace's dtype.
        """
        d_output = self.checked_d_output(d_output)
        ffn = self.ffn
        with np.errstate(all="ignore"):
            d_activated = d_output @ ffn.w_down
            d_up = d_activated * self.gate
            # up times slope first: a slope of 0 is 0 however large the other two are together.
            d_hidden = d_activated * (self.up * activation_called(ffn.activation).derivative(self.hidden))
            d_x = d_hidden @ ffn.w_gate + d_up @ ffn.w_up
            x, activated = self.x.reshape(-1, ffn.d_model), self.activated.reshape(-1, ffn.d_ff)
            d_hidden_rows, d_up_rows = d_hidden.reshape(-1, ffn.d_ff), d_up.reshape(-1, ffn.d_ff)
            d_output_rows = d_output.reshape(-1, ffn.d_model)
            return GatedGradients(
                x=d_x,
                w_gate=d_hidden_rows.T @ x,
                w_up=d_up_rows.T @ x,
                w_down=d_output_rows.T @ activated,
                b_gate=None if ffn.b_gate is None else d_hidden_rows.sum(axis=0),
                b_up=None if ffn.b_up is None else d_up_rows.sum(axis=0),
                b_down=None if ffn.b_down is None else d_output_rows.sum(axis=0),
                hidden=d_hidden,
                up=d_up,
                activated=d_activated,
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class GatedGradients:
    """The gradients of a loss, each named after and shaped like the array that it is the gradient of.

    The gradient of a bias that the layer does not have is None.
    """

    x: Array
    w_gate: Array
    w_up: Array
    w_down: Array
    b_gate: Array | None
    b_up: Array | None
    b_down: Array | None
    hidden: Array
    up: Array
    activated: Array

    def __post_init__(self) -> None:
        """Make every array read-only."""
        for array in vars(self).values():
            if array is not None:
                array.setflags(write=False)


@dataclass(frozen=True, kw_only=True)
class GLUKind:
    """One gated network by its published name: its label, its activation's name in the table, its source."""

    name: str
    label: str
    activation: str
    source: str


_SHAZEER = "Shazeer 2020, GLU Variants Improve Transformer, arXiv:2002.05202"

GLU_KINDS: dict[str, GLUKind] = {
    label.lower(): GLUKind(name=label.lower(), label=label, activation=activation, source=source)
    for label, activation, source in (
        ("SwiGLU", "silu", _SHAZEER),
        ("GeGLU", "gelu", _SHAZEER),
        ("ReGLU", "relu", _SHAZEER),
        ("GLU", "sigmoid", f"{_SHAZEER}; as a layer in Dauphin et al. 2016, arXiv:1612.08083"),
        ("bilinear", "identity", _SHAZEER),
    )
}

SHAZEER_2020: tuple[tuple[str, float], ...] = (
    ("ReLU", 1.677),
    ("GELU", 1.679),
    ("Swish", 1.683),
    ("GLU", 1.663),
    ("Bilinear", 1.648),
    ("ReGLU", 1.645),
    ("SwiGLU", 1.636),
    ("GEGLU", 1.633),
)
"""(name, log-perplexity) of each network, dense and then gated, with the same number of parameters: lower is better."""

SHAZEER_2020_SOURCE = f"{_SHAZEER}, Table 1: log-perplexity on held-out text after 524,288 steps"


def llama_d_ff(d_model: int, multiplier: float | None = None, multiple_of: int = 256) -> int:
    """The d_ff that Llama gives a gated network: 8/3·d_model, times `multiplier`, rounded up to `multiple_of`.

    As in Llama's `FeedForward`, 8/3·d_model and its product with `multiplier` are each cut to an integer first. Both
    are worked out in fractions, and a multiplier means the decimal that it is written as: 1.15 times 100 is 115,
    where floats make it 114.99999999999999 and so 114.
    """
    check_widths(d_model=d_model, multiple_of=multiple_of)
    neurons = 8 * int(d_model) // 3
    if multiplier is not None:
        neurons = math.floor(as_written("multiplier", multiplier) * neurons)
        if neurons < 1:
            raise ValueError(f"multiplier must leave a neuron of {8 * d_model // 3}, got {multiplier!r}")
    return -(-neurons // int(multiple_of)) * int(multiple_of)


def as_written(name: str, number: float) -> Fraction:
    """`number` as the decimal that it is written as, 1.1 as 11/10; a ValueError unless finite and not below 0."""
    try:
        exact = Fraction(-1 if isinstance(number, bool | np.bool_) else str(number))
    except ValueError:
        exact = Fraction(-1)
    if exact < 0:
        raise ValueError(f"{name} must be a finite number, 0 or more, got {number!r}")
    return exact


def _affine(rows: Array, matrix: Array, bias: Array | None) -> Array:
    result: Array = rows @ matrix.T
    if bias is not None:
        result += bias
    return result


def _present(**biases: ArrayLike | None) -> dict[str, ArrayLike]:
    """Those biases that the layer has."""
    return {name: bias for name, bias in biases.items() if bias is not None}
