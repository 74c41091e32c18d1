"""The sheets that solutions are marked by: cases, what is right, and what each known mistake gives.

Each is made by `ffn_core` from networks of which some are to be read and others, drawn with a seed, are kept back.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ffn_core.activations import ACTIVATIONS, Array
from ffn_core.dense import FFN
from ffn_core.exercises import slips
from ffn_core.exercises.exercise import Sheet
from ffn_core.gated import GatedFFN

TOLERANCE = 1e-6
"""Absolute and relative: rounding passes, and GELU's tanh form, up to 5e-4 away, does not."""


_HIDDEN_LENGTH = "hidden has H entries, and each needs D products"


class _Net(NamedTuple):
    """A network and one x [d_model] for a case."""

    name: str
    layer: Any
    x: Array
    shown: bool = True


def forward_sheet(activation: str) -> Callable[[int], Sheet]:
    """Sheets of `ffn_forward(x, W1, b1, W2, b2, D, H)`, which returns output."""
    mistakes = slips.DENSE_MISTAKES | slips.activation_mistakes(activation)

    def case(net: _Net) -> dict[str, Any]:
        trace = net.layer.forward(net.x)
        wrong = ((slip.name, slip.output) for slip in slips.dense_slips(trace))
        return _case_of(net, _dense_args(net), trace.output.tolist(), wrong, mistakes)

    lengths = f"{_HIDDEN_LENGTH}; output has D, and each needs H."
    return lambda seed: _sheet(mistakes, map(case, _dense_nets(activation, seed)), lengths=lengths)


def hidden_sheet(seed: int) -> Sheet:
    """The sheet of `hidden_layer(x, W1, b1, D, H)`, which returns hidden."""
    mistakes = slips.HIDDEN_MISTAKES

    def case(net: _Net) -> dict[str, Any]:
        trace = net.layer.forward(net.x)
        wrong = ((slip.name, slip.hidden) for slip in slips.dense_slips(trace) if slip.name in mistakes)
        x, w1, b1, _, _, d, h = _dense_args(net)
        return _case_of(net, [x, w1, b1, d, h], trace.hidden.tolist(), wrong, mistakes)

    return _sheet(mistakes, map(case, _dense_nets("relu", seed)), lengths=f"{_HIDDEN_LENGTH}.")


def gelu_sheet(seed: int) -> Sheet:
    """The sheet of `gelu(z)`, which returns a number."""
    mistakes = slips.GELU_MISTAKES | slips.activation_mistakes("gelu")
    drawn = np.random.default_rng(seed).uniform(-3, 3, 4).round(2).tolist()

    def case(z: float, shown: bool) -> dict[str, Any]:
        wrong = _alternatives(slips.gelu_slips(z), mistakes)
        name = f"gelu({z:g})" if shown else "kept back"
        return _case(name, [z], float(ACTIVATIONS["gelu"](z)), wrong, shown=shown)

    shown = (case(z, True) for z in (0.0, 1.0, -1.0, 2.7, -3.0, -8.0, 30.0, -40.0))
    return _sheet(mistakes, [*shown, *(case(z, False) for z in drawn)])


def gated_sheet(seed: int) -> Sheet:
    """The sheet of `gated_ffn(x, Wgate, Wup, Wdown, D, H)`, SiLU, which returns output."""
    mistakes = slips.GATED_MISTAKES | slips.activation_mistakes("silu")

    def case(net: _Net) -> dict[str, Any]:
        ffn, trace = net.layer, net.layer.forward(net.x)
        args = [*_flat(net.x, ffn.w_gate, ffn.w_up, ffn.w_down), ffn.d_model, ffn.d_ff]
        return _case_of(net, args, trace.output.tolist(), slips.gated_slips(trace), mistakes)

    lengths = "gate and up have H entries, and each needs D products; output has D, and each needs H."
    return _sheet(mistakes, map(case, _gated_nets(seed)), lengths=lengths)


def top2_sheet(seed: int) -> Sheet:
    """The sheet of `top2_weights(logits)`, which returns a weight for each expert."""
    rng = np.random.default_rng(seed)
    shown: dict[str, list[float]] = {
        "four experts": [2, 1, 0, -1],
        "the best two come last": [-1, 0.5, 1.5, 3],
        "the second place is a tie": [1, 2, 1, 0, 1],
        "all are equal": [0.5, 0.5, 0.5],
        "two experts": [-1, 0.5],
        "all are negative": [-3, -1, -2, -5],
        "large logits": [1000, 999, 0],
    }
    drawn = {
        f"kept back, {n} experts": rng.permutation(_tenths(rng, n) + np.arange(n) / 50).tolist()
        for n in (3, 5, 8)
    }

    def case(name: str, logits: list[float]) -> dict[str, Any]:
        logits = [float(logit) for logit in logits]
        wrong = _alternatives(slips.top2_slips(logits), slips.TOP2_MISTAKES)
        return _case(name, [logits], slips.weights_of_top(logits, 2).tolist(), wrong, shown=name in shown)

    return _sheet(slips.TOP2_MISTAKES, [case(*item) for item in (shown | drawn).items()])


def backward_sheet(seed: int) -> Sheet:
    """The sheet of `ffn_backward(x, W1, b1, W2, b2, D, H, dy)`, ReLU, which returns five gradients."""
    rng = np.random.default_rng(seed)
    mistakes = slips.BACKWARD_MISTAKES

    def case(net: _Net) -> dict[str, Any]:
        ffn = net.layer
        d_output = np.linspace(1, -0.5, ffn.d_model) if net.shown else _tenths(rng, ffn.d_model)
        trace = ffn.forward(net.x)
        expected = _flat(*slips.in_order(trace.backward(d_output)))
        args = [*_dense_args(net), d_output.tolist()]
        return _case_of(net, args, expected, slips.backward_slips(trace, d_output), mistakes)

    nets = [*_dense_nets("relu", seed), _on_the_corner()]
    lengths = "dx has D entries, dW1 H*D, db1 H, dW2 D*H and db2 D."
    return _sheet(mistakes, map(case, nets), parts=["dx", "dW1", "db1", "dW2", "db2"], lengths=lengths)


def _sheet(
    mistakes: slips.Mistakes,
    cases: Iterable[dict[str, Any]],
    parts: list[str] | None = None,
    lengths: str | None = None,
) -> Sheet:
    """What `marking` needs but for the function's name, which the exercise adds."""
    return {
        "tolerance": TOLERANCE,
        "parts": parts,
        "lengths": lengths,
        "mistakes": {name: {"code": code, "message": text} for name, (code, text) in mistakes.items()},
        "cases": list(cases),
    }


def _case_of(
    net: _Net,
    args: list[Any],
    expected: list[Any],
    wrong: Iterable[tuple[str, Array | None]],
    mistakes: slips.Mistakes,
) -> dict[str, Any]:
    square = net.layer.d_model == net.layer.d_ff
    return _case(net.name, args, expected, _alternatives(wrong, mistakes), shown=net.shown, square=square)


def _case(
    name: str,
    args: list[Any],
    expected: Any,
    wrong: Mapping[str, list[list[float] | None]],
    *,
    shown: bool,
    square: bool | None = None,
) -> dict[str, Any]:
    return {
        "name": name,
        "args": args,
        "expected": expected,
        "wrong": wrong,
        "shown": shown,
        "square": square,
    }


def _alternatives(
    wrong: Iterable[tuple[str, Array | None]], mistakes: slips.Mistakes
) -> dict[str, list[list[float] | None]]:
    """What each mistake gives, each way to make it in a row of numbers; None reads beyond a list's end."""
    every: dict[str, list[list[float] | None]] = {name: [] for name in mistakes}
    for name, numbers in wrong:
        given = None if numbers is None else numbers.reshape(-1).tolist()
        if given not in every[name]:
            every[name].append(given)
    return every


def _flat(*arrays: Array) -> list[list[float]]:
    """Each array as a flat row-major list."""
    return [array.reshape(-1).tolist() for array in arrays]


def _dense_args(net: _Net) -> list[Any]:
    ffn = net.layer
    return [*_flat(net.x, ffn.w1, ffn.b1, ffn.w2, ffn.b2), ffn.d_model, ffn.d_ff]


def _tenths(rng: np.random.Generator, *shape: int) -> Array:
    """Random numbers that can be read: tenths from -1.5 to 1.5, none of them 0."""
    numbers: Array = rng.integers(1, 16, shape) * rng.choice([-1, 1], shape) / 10
    return numbers


def _dense_nets(activation: str, seed: int) -> Iterator[_Net]:
    for name, (w1, b1, w2, b2, x) in _SHOWN.items():
        ffn = FFN(w1=w1, b1=b1, w2=w2, b2=b2, activation=activation)
        yield _Net(name, ffn, np.array(x, np.float64))
    rng = np.random.default_rng(seed)
    for d_model, d_ff in ((3, 3), (3, 5), (5, 2), (1, 4), (4, 1), (2, 8)):
        # Drawn anew until a neuron fires and an output is negative: else some mistakes would not be seen.
        while True:
            w1, b1 = _tenths(rng, d_ff, d_model), _tenths(rng, d_ff)
            w2, b2, x = _tenths(rng, d_model, d_ff), _tenths(rng, d_model), _tenths(rng, d_model)
            ffn = FFN(w1=w1, b1=b1, w2=w2, b2=b2, activation=activation)
            trace = ffn.forward(x)
            if trace.hidden.max() > 0.1 and trace.output.min() < -0.1:
                break
        yield _Net(f"kept back, {d_model} to {d_ff}", ffn, x, shown=False)


def _on_the_corner() -> _Net:
    """Neuron 0 stands exactly at 0, where ReLU's derivative is taken to be 0."""
    ffn = FFN(w1=[[1, -1], [2, 1]], b1=[0, 0.5], w2=[[2, -1], [1, 1]], b2=[0, 0], activation="relu")
    return _Net("a hidden value of exactly 0", ffn, np.array([0.5, 0.5]))


# w1, b1, w2, b2, x
_SHOWN: dict[str, tuple[Any, Any, Any, Any, Any]] = {
    "two inputs, three neurons": (
        [[1, 2], [-1, 1], [0.5, -2]], [0, 0.5, -1], [[1, -1, 2], [0.5, 1, -3]], [0.1, -0.2], [1, 0.5],
    ),
    "the lesson's two memories": ([[1, 1], [1, -1]], [0, 0], [[1, 0], [0, 1]], [0, 0], [1, -1]),
    "the output goes down": ([[1, 0], [0, 1]], [0, 0], [[-1, 2], [1, 1]], [0, 0], [1, -1]),
    "every hidden value is negative": (
        [[-1, 0.5, -2], [0.5, -1, -1]], [-0.5, -1], [[1, 2], [-3, 0.5], [1, 1]], [0.3, -0.4, 1], [1, 0.5, 1],
    ),
    "length 1": ([[0.5]], [1], [[-3]], [0.5], [2]),
    "more inputs than neurons": (
        [[1, -1, 0.5, 2], [0.5, 1, 1, -1]], [0.2, -0.1], [[1, 2], [-1, 0.5], [0.5, -2], [3, 1]],
        [0.1, 0.2, -0.3, 0.4], [1, -0.5, 2, 0.5],
    ),
}  # fmt: skip


def _gated_nets(seed: int) -> Iterator[_Net]:
    def net(name: str, w_gate: Any, w_up: Any, w_down: Any, x: Any) -> _Net:
        return _Net(name, GatedFFN(w_gate=w_gate, w_up=w_up, w_down=w_down), np.array(x, np.float64))

    yield net("a gate of 1 and an up of -2", [[1, 0], [0, 1]], [[0, 1], [1, 1]], [[1, 0], [0, 1]], [1, -2])
    yield net("two inputs, three neurons", [[1, 2], [-1, 1], [0.5, -2]], [[1, 0], [2, 1], [-1, 1]],
              [[1, -1, 2], [0.5, 1, -3]], [1, 0.5])  # fmt: skip
    yield net("length 1", [[-1]], [[1]], [[2]], [-1])
    yield net("every gate is below 0", [[-1, 0.5, -2], [0.5, -1, -1]], [[1, 1, 0], [0, 2, -1]], [[1, 2], [-3, 0.5], [1, 1]],
              [1, 0.5, 1])  # fmt: skip
    rng = np.random.default_rng(seed)
    for d_model, d_ff in ((3, 3), (3, 5), (5, 2), (1, 4), (4, 1), (2, 8)):
        w_gate, w_up, w_down = (
            _tenths(rng, *shape) for shape in ((d_ff, d_model), (d_ff, d_model), (d_model, d_ff))
        )
        name = f"kept back, {d_model} to {d_ff}"
        yield net(name, w_gate, w_up, w_down, _tenths(rng, d_model))._replace(shown=False)
