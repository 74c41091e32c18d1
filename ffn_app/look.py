"""A number that a visitor points at, and which entry of which array that is.

Here is also the table of what there is to point at: the arrays of each kind of trace.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffn_core.dense import Trace
from ffn_core.gated import GatedTrace
from ffn_core.moe import MoETrace

Array = NDArray[Any]
AnyTrace = Trace | GatedTrace | MoETrace

ARRAYS: dict[type[AnyTrace], tuple[str, ...]] = {
    Trace: ("x", "w1", "b1", "hidden", "activated", "w2", "b2", "output", "residual"),
    GatedTrace: ("x", "w_gate", "hidden", "w_up", "up", "activated", "w_down", "output", "residual"),
    MoETrace: (
        "x", "router", "router_logits", "router_probs", "weight_of_expert", "output_of_expert", "output", "residual",
    ),
}  # fmt: skip
"""What a board shows of each kind of trace, in the order of the computation."""

WEIGHTS = ("w1", "b1", "w2", "b2", "w_gate", "w_up", "w_down", "router")
"""The weights among them; all others have the position as their first index."""

VALUES = ("w2", "w_down")
"""The weights whose columns are the values, and not their rows the keys."""

OF_NEURON = ("w1", "b1", "hidden", "w_gate", "w_up", "up", "activated", *VALUES)
OF_EXPERT = ("router", "router_logits", "router_probs", "weight_of_expert", "output_of_expert")
"""The arrays with an entry or a line for each neuron, and for each expert."""

PLAIN = {"activated_other": "activated", "output_other": "output"}
"""The stages that are drawn a second time, under another nonlinearity."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """A number that is pointed at: its array and index, or a block of a pooled array.

    `block` is (row, end row, column, end column), without the position.
    """

    array: str
    index: tuple[int, ...] = ()
    block: tuple[int, int, int, int] | None = None


def weight_of_expert(trace: MoETrace) -> Array:
    """What each expert's output is multiplied by at each position, 0 where not chosen: [positions, n_experts]."""
    weights = np.zeros_like(trace.router_probs)
    np.put_along_axis(weights, trace.chosen, trace.routing_weights, axis=-1)
    return weights


def output_of_expert(trace: MoETrace) -> Array:
    """What each expert computed at each position, 0 where it did not: [positions, n_experts, d_model]."""
    outputs = np.zeros((*trace.router_probs.shape, trace.x.shape[-1]), trace.output.dtype)
    for expert, (tokens, own) in enumerate(zip(trace.tokens, trace.experts, strict=True)):
        outputs[tokens, expert] = own.output
    return outputs


_SPREAD: dict[str, Callable[[MoETrace], Array]] = {
    "weight_of_expert": weight_of_expert,
    "output_of_expert": output_of_expert,
}


def array_of(trace: AnyTrace, name: str) -> Array | None:
    """The array of that name, or None."""
    if name not in ARRAYS[type(trace)]:
        return None
    if isinstance(trace, MoETrace) and name in _SPREAD:
        return _SPREAD[name](trace)
    holder = trace if name not in WEIGHTS else trace.moe if isinstance(trace, MoETrace) else trace.ffn
    array: Array = getattr(holder, name)
    return array


def settle(look: Look, trace: AnyTrace, position: int) -> tuple[str, tuple[int, ...]] | None:
    """The array and index that a look means, or None where there is no such entry.

    A block of a pooled array means its entry of greatest magnitude, the one whose colour is seen.
    """
    name = PLAIN.get(look.array, look.array)
    array = array_of(trace, name)
    if array is None:
        return None
    if look.block is None:
        inside = len(look.index) == array.ndim and all(
            0 <= i < n for i, n in zip(look.index, array.shape, strict=True)
        )
        return (name, look.index) if inside else None
    shown = array if name in WEIGHTS else array[position]
    flat = shown.ndim == 1
    matrix = shown[:, np.newaxis] if flat else shown
    row, end_row, column, end_column = look.block
    block = matrix[row:end_row, column:end_column]
    if min(look.block) < 0 or not block.size:
        return None
    i, j = np.unravel_index(np.argmax(np.abs(block)), block.shape)
    index = (row + int(i),) if flat else (row + int(i), column + int(j))
    return name, index if name in WEIGHTS else (position, *index)


def within_expert(look: Look, expert: int) -> Look | None:
    """What a look on the board of one expert means in that expert's own trace; None for one that is not in it.

    There the weights have the expert as their first index, and its output is not the mixture's.
    """
    if look.array in ("output", "residual"):
        return None
    array = look.array.removeprefix("expert_")
    if array not in WEIGHTS or look.block is not None:
        return Look(array=array, index=look.index, block=look.block)
    return Look(array=array, index=look.index[1:]) if look.index[:1] == (expert,) else None


def chosen_by(look: Look, layer: Any, x: Array, *, position: int, expert: int) -> dict[str, int]:
    """The field of a View, neuron or expert, that a press there sets, and to what; {} for a number of neither.

    Neurons of a mixture are those of `expert`.
    """
    trace = layer.forward(x)
    found = settle(look, trace, position)
    if found is not None and isinstance(trace, MoETrace):
        name, index = found
        return {"expert": index[0 if name in WEIGHTS else 1]} if name in OF_EXPERT else {}
    if found is None and isinstance(trace, MoETrace) and (own := within_expert(look, expert)) is not None:
        found = settle(own, layer.experts[expert].forward(x), position)
    if found is None or found[0] not in OF_NEURON:
        return {}
    name, index = found
    return {"neuron": index[0 if name in WEIGHTS and name not in VALUES else 1]}
