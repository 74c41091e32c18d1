"""A whole trace as text, every number worked out, in the manner of the lesson."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ffn_core.activations import activation
from ffn_core.dense import FFN, Trace
from ffn_core.examples import Printed, lesson_differences
from ffn_core.explain import Stage, explain
from ffn_core.gated import GatedFFN, GatedTrace
from ffn_core.moe import MoE, MoETrace

# A trace with more numbers in its first stage is summarised: four pages of formulas teach nobody.
_MOST_FORMULAS = 200


class _Written(NamedTuple):
    """How a kind of network is written: its formula, its weights, each stage with its own formula, and what else its
    trace has.
    """

    formula: str
    weights: tuple[str, ...]
    stages: tuple[tuple[Stage, str], ...]
    others: tuple[str, ...] = ()


_DENSE = _Written(
    "output = w2 · act(w1 · x + b1) + b2",
    ("w1", "b1", "w2", "b2"),
    (
        ("hidden", "w1 · x + b1"),
        ("activated", "the nonlinearity of hidden"),
        ("output", "w2 · activated + b2"),
        ("residual", "x + output"),
    ),
)
_GATED = _Written(
    "output = w_down · (act(w_gate · x) * (w_up · x)), biases where there are any",
    ("w_gate", "b_gate", "w_up", "b_up", "w_down", "b_down"),
    (
        ("hidden", "w_gate · x"),
        ("up", "w_up · x"),
        ("activated", "the nonlinearity of hidden, times up"),
        ("output", "w_down · activated"),
        ("residual", "x + output"),
    ),
    ("gate",),
)
_MIXED = _Written(
    "output = the sum of routing weight · expert(x) over the chosen experts, plus the shared expert's, if any",
    ("router",),
    (
        ("router_logits", "router · x"),
        ("output", "the sum of routing weight · expert"),
        ("residual", "x + output"),
    ),
    ("router_probs", "chosen", "routing_weights", "dropped"),
)


def arrays_of(trace: Trace | GatedTrace | MoETrace) -> dict[str, NDArray[Any]]:
    """Every array of a trace by name: x, the weights that there are, and the stages.

    Those of an expert are named after it, "experts[0].w1", "shared.w1"; its own trace is not among them.
    """
    network = _network(trace)
    arrays: dict[str, NDArray[Any]] = {"x": trace.x} | _weights(network)
    if isinstance(network, MoE):
        for index, expert in enumerate(network.experts):
            arrays |= _weights(expert, f"experts[{index}].")
        if network.shared is not None:
            arrays |= _weights(network.shared, "shared.")
    written = _written_as(network)
    return arrays | {name: getattr(trace, name) for name in (*dict(written.stages), *written.others)}


def trace_lines(trace: Trace | GatedTrace | MoETrace, words: Sequence[str]) -> Iterator[str]:
    """The weights, then each position's stages term by term, then the stages as arrays.

    `words` has one entry for each position of x [positions, d_model]. A large trace is shortened, and says so. Of a
    mixture of experts the experts' own stages are not written: `trace.experts` holds a trace for each.
    """
    network, arrays = _network(trace), arrays_of(trace)
    written = _written_as(network)
    stages = dict(written.stages)
    computed = (*stages, *written.others)
    yield from _head(network)
    for name in (*(name for name in arrays if name not in {*computed, "x"}), "x"):
        yield from _array(name, arrays[name])
    first = arrays[next(iter(stages))]
    whole = first.size <= _MOST_FORMULAS
    positions = range(len(words)) if whole else range(1)
    if not whole:
        yield ""
        yield f"There are {first.size:,} {next(iter(stages))} numbers; here is the first of each stage."
    for position in positions:
        for stage, formula in stages.items():
            yield ""
            yield f"{stage} = {formula}, position {position}, {words[position]!r}"
            width = arrays[stage].shape[-1] if whole else 1
            yield from (explain(trace, stage, position, index).text for index in range(width))
    for name in computed:
        yield from _array(name, arrays[name])


def _network(trace: Trace | GatedTrace | MoETrace) -> FFN | GatedFFN | MoE:
    return trace.moe if isinstance(trace, MoETrace) else trace.ffn


def _written_as(network: FFN | GatedFFN | MoE) -> _Written:
    if isinstance(network, MoE):
        return _MIXED
    return _GATED if isinstance(network, GatedFFN) else _DENSE


def _weights(network: FFN | GatedFFN | MoE, before: str = "") -> dict[str, NDArray[Any]]:
    """The weights that the network has, by name; of a mixture of experts the router's."""
    given = {f"{before}{name}": getattr(network, name) for name in _written_as(network).weights}
    return {name: array for name, array in given.items() if array is not None}


def _head(network: FFN | GatedFFN | MoE) -> Iterator[str]:
    formula = _written_as(network).formula
    if isinstance(network, MoE):
        yield formula
        sizes = (
            f"{network.n_experts} experts, top {network.top_k}, {network.n_active_parameters:,} active of "
        )
    else:
        named = activation(network.activation)
        yield f"{formula}, act = {named.label} ({named.name})"
        sizes = f"d_ff = {network.d_ff}, "
    yield f"d_model = {network.d_model}, {sizes}{network.n_parameters:,} parameters"


def _array(name: str, array: NDArray[Any]) -> Iterator[str]:
    yield ""
    yield f"{name} {list(array.shape)}"
    yield _digits(array)


def difference_lines() -> Iterator[str]:
    """Where the first lesson prints other numbers than those that are right."""
    yield "Where the lesson prints other numbers"
    for row in lesson_differences():
        yield ""
        yield f"{row.where}: {row.note}"
        yield f"  printed {', '.join(row.printed)}"
        yield f"  right   {', '.join(right_numbers(row))}"


def right_numbers(row: Printed) -> list[str]:
    """The right numbers with as many decimals as the lesson prints, or four, where that shows more."""
    pairs = zip(row.right, row.printed, strict=True)
    return [f"{right:.{max(4, len(printed.partition('.')[2]))}f}" for right, printed in pairs]


def _digits(array: NDArray[Any]) -> str:
    return np.array2string(
        array, precision=4, suppress_small=True, threshold=_MOST_FORMULAS, max_line_width=100
    )
