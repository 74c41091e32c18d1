"""The exercises in which a function is written: their cases, with what is right and what each mistake gives."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ffn_core.activations import Array
from ffn_core.dense import FFN, Trace
from ffn_core.exercises.exercise import CodeExercise, Sheet
from ffn_core.exercises.slips import DENSE_MISTAKES, activation_mistakes, dense_slips

TOLERANCE = 1e-6
"""Absolute and relative: rounding passes, and GELU's tanh form, up to 5e-4 away, does not."""

Mistakes = Mapping[str, tuple[str, str]]
Alternatives = list[list[float] | None]


class _Net(NamedTuple):
    """A network and one x [d_model] for a case."""

    name: str
    ffn: FFN
    x: Array
    shown: bool = True


def _case(
    name: str,
    args: list[Any],
    expected: Any,
    wrong: Mapping[str, Alternatives],
    *,
    shown: bool = True,
    square: bool | None = None,
) -> dict[str, Any]:
    return {
        "name": name,
        "args": args,
        "expected": expected,
        "wrong": dict(wrong),
        "shown": shown,
        "square": square,
    }


def _sheet(
    function: str,
    signature: str,
    mistakes: Mistakes,
    cases: Iterable[dict[str, Any]],
    parts: list[str] | None = None,
) -> Sheet:
    return {
        "function": function,
        "signature": signature,
        "tolerance": TOLERANCE,
        "parts": parts,
        "mistakes": {name: {"code": code, "message": text} for name, (code, text) in mistakes.items()},
        "cases": list(cases),
    }


def _tenths(rng: np.random.Generator, *shape: int) -> Array:
    """Random numbers that can be read: tenths from -1.5 to 1.5, none of them 0."""
    numbers: Array = rng.integers(1, 16, shape) * rng.choice([-1, 1], shape) / 10
    return numbers


def _nets(activation: str, seed: int) -> Iterator[_Net]:
    """The cases of a dense network: some to read, some kept back and drawn with `seed`."""

    def net(name: str, w1: Any, b1: Any, w2: Any, b2: Any, x: Any) -> _Net:
        return _Net(name, FFN(w1=w1, b1=b1, w2=w2, b2=b2, activation=activation), np.array(x, np.float64))

    yield net("two inputs, three neurons", [[1, 2], [-1, 1], [0.5, -2]], [0, 0.5, -1], [[1, -1, 2], [0.5, 1, -3]],
              [0.1, -0.2], [1, 0.5])  # fmt: skip
    yield net("the lesson's two memories", [[1, 1], [1, -1]], [0, 0], [[1, 0], [0, 1]], [0, 0], [1, -1])
    yield net("the output goes down", [[1, 0], [0, 1]], [0, 0], [[-1, 2], [1, 1]], [0, 0], [1, -1])
    yield net("every hidden value is negative", [[-1, 0.5, -2], [0.5, -1, -1]], [-0.5, -1], [[1, 2], [-3, 0.5], [1, 1]],
              [0.3, -0.4, 1], [1, 0.5, 1])  # fmt: skip
    yield net("length 1", [[0.5]], [1], [[-3]], [0.5], [2])
    yield net("more inputs than neurons", [[1, -1, 0.5, 2], [0.5, 1, 1, -1]], [0.2, -0.1], [[1, 2], [-1, 0.5], [0.5, -2], [3, 1]],
              [0.1, 0.2, -0.3, 0.4], [1, -0.5, 2, 0.5])  # fmt: skip
    rng = np.random.default_rng(seed)
    for d_model, d_ff in ((3, 3), (3, 5), (5, 2), (1, 4), (4, 1), (2, 8)):
        # Drawn anew until a neuron fires and an output is negative: else some mistakes would not be seen.
        while True:
            w1, b1 = _tenths(rng, d_ff, d_model), _tenths(rng, d_ff)
            w2, b2, x = _tenths(rng, d_model, d_ff), _tenths(rng, d_model), _tenths(rng, d_model)
            drawn = net(f"kept back, {d_model} to {d_ff}", w1, b1, w2, b2, x)._replace(shown=False)
            trace = drawn.ffn.forward(drawn.x)
            if trace.hidden.max() > 0.1 and trace.output.min() < -0.1:
                break
        yield drawn


def _flat(*arrays: Array) -> list[list[float]]:
    """Each array as a flat row-major list."""
    return [array.reshape(-1).tolist() for array in arrays]


def _forward_case(net: _Net, mistakes: Mistakes) -> dict[str, Any]:
    ffn, trace = net.ffn, net.ffn.forward(net.x)
    wrong: dict[str, Alternatives] = {name: [] for name in mistakes}
    for slip in dense_slips(trace):
        wrong[slip.name].append(None if slip.output is None else slip.output.tolist())
    args = [*_flat(net.x, ffn.w1, ffn.b1, ffn.w2, ffn.b2), ffn.d_model, ffn.d_ff]
    return _case(
        net.name, args, trace.output.tolist(), wrong, shown=net.shown, square=ffn.d_model == ffn.d_ff
    )


_FORWARD = "ffn_forward(x, W1, b1, W2, b2, D, H)"


def _forward_sheet(activation: str) -> Callable[[int], Sheet]:
    mistakes = DENSE_MISTAKES | activation_mistakes(activation)

    def sheet(seed: int) -> Sheet:
        cases = (_forward_case(net, mistakes) for net in _nets(activation, seed))
        return _sheet("ffn_forward", _FORWARD, mistakes, cases)

    return sheet


_LISTS = """
- `x` has D numbers, `b1` has H, `b2` has D.
- `W1` is H by D, `W2` is D by H. Both come as **flat row-major lists**: one row after the other, so that you index
  them yourself.
- Return a list of D numbers. Leave the lists that you are given as they are.
"""

FORWARD = CodeExercise(
    name="ffn-forward",
    title="The forward pass, with ReLU",
    statement=lambda seed: (
        f"Write one forward pass: **y = W2 · relu(W1 · x + b1) + b2**, as `{_FORWARD}`.\n{_LISTS}"
    ),
    hints=(
        "Two loops, one after the other: the first makes the H hidden values, the second the D outputs.",
        "Row i of W1 starts at i*D, because each row has D numbers. How many numbers has a row of W2?",
        "relu(z) is max(0.0, z). It goes between the two matrices, and nowhere else.",
    ),
    seeded=False,
    function="ffn_forward",
    signature=_FORWARD,
    starter=f"def {_FORWARD}:\n    hidden = []\n    # one entry for each of the H neurons\n\n    output = []\n"
    "    # one entry for each of the D coordinates\n\n    return output\n",
    sheet=_forward_sheet("relu"),
)
