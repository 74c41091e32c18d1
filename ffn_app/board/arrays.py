"""The board's arrays as plain data: which there are, how each is headed, and its numbers or its pooled blocks.

The browser finds the entry that a cell shows as `start + row · row_unit + column · column_unit`, so that a
vector, a matrix and a strip of a matrix are edited in the same way.
"""

import base64
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ffn_app.look import ARRAYS, PLAIN, VALUES, WEIGHTS, AnyTrace, Array, array_of
from ffn_core.dense import FFN, Trace
from ffn_core.gated import GatedFFN, GatedTrace
from ffn_core.pooling import pool

Spec = dict[str, Any]

EDITABLE = ("x", *WEIGHTS)

SHARES = ("router_probs", "weight_of_expert")
"""Numbers from 0 to 1, whatever the others are."""

POOL_FROM = 64
"""A wider or longer array is pooled: beyond what people can resize to."""
POOL_TO = (128, 128)
STRIP, LONG_STRIP = 16, 64
"""Cells in a line of a strip."""


@dataclass(frozen=True)
class Kind:
    """What a reader sees above an array, what a screen reader says, and whose colour it has."""

    heading: str
    label: str
    concept: str


KINDS = {
    "x": Kind("x", "x", "input"),
    "w1": Kind("W1 · keys", "W1", "keys"),
    "b1": Kind("b1", "b1", "keys"),
    "w_gate": Kind("W_gate · gate keys", "W_gate", "keys"),
    "hidden": Kind("hidden", "hidden", "hidden"),
    "w_up": Kind("W_up · up keys", "W_up", "keys"),
    "up": Kind("up", "up", "hidden"),
    "activated": Kind("activated", "activated", "activated"),
    "activated_other": Kind("activated", "activated", "activated"),
    "w2": Kind("W2 · values", "W2", "values"),
    "b2": Kind("b2", "b2", "values"),
    "w_down": Kind("W_down · values", "W_down", "values"),
    "router": Kind("router", "router", "keys"),
    "router_logits": Kind("logits", "router_logits", "hidden"),
    "router_probs": Kind("probs", "router_probs", "hidden"),
    "weight_of_expert": Kind("weight", "routing weight", "activated"),
    "output_of_expert": Kind("expert's output", "expert's output", "values"),
    "output": Kind("output", "output", "output"),
    "output_other": Kind("output", "output", "output"),
    "residual": Kind("x + output", "x + output", "output"),
}


def arrays_of(trace: AnyTrace, other: AnyTrace | None = None) -> dict[str, Array]:
    """Every array of the board by name, in the order of the computation.

    `other` is the trace of the same weights under another nonlinearity, drawn beside.
    """
    again = {plain: name for name, plain in PLAIN.items()} if other is not None else {}
    arrays = {}
    for name in ARRAYS[type(trace)]:
        arrays[name] = _known(trace, name)
        if other is not None and name in again:
            arrays[again[name]] = _known(other, name)
    return arrays


def _known(trace: AnyTrace, name: str) -> Array:
    array = array_of(trace, name)
    assert array is not None
    return array


def round_span(arrays: Iterable[Array]) -> float:
    """A range for a colour scale: the greatest magnitude, rounded up to 1, 2 or 5 times a power of ten."""
    greatest = max((float(np.max(np.abs(array))) for array in arrays if array.size), default=0.0)
    if not 0 < greatest < math.inf:
        return 1.0
    power = 10.0 ** math.floor(math.log10(greatest))
    return next(step * power for step in (1, 2, 5, 10) if greatest <= step * power * (1 + 1e-12))


def spans(*several: Mapping[str, Array]) -> dict[str, float]:
    """The ranges of the colour scales: of the weights, of the numbers that flow, and of those that are shares of 1."""
    named = [pair for arrays in several for pair in arrays.items()]
    ranges = {
        "weight": round_span(array for name, array in named if name in WEIGHTS),
        "signal": round_span(array for name, array in named if name not in WEIGHTS),
    }
    return ranges | ({"share": 1.0} if any(name in SHARES for name, _ in named) else {})


def _before(name: str, position: int, expert: int | None) -> list[int]:
    """The indices before those that are drawn: of a stage the position, of an expert's weight the expert."""
    if name not in WEIGHTS:
        return [position]
    return [] if expert is None else [expert]


def _by(shape: Iterable[int]) -> str:
    return " by ".join(str(size) for size in shape)


def array_spec(
    name: str,
    array: Array,
    *,
    position: int,
    scales: Mapping[str, float],
    changed: Array | None,
    live: bool,
    turned: bool = False,
    expert: int | None = None,
) -> Spec:
    """One array for the board: whole, or pooled where its cells could not be seen.

    Args:
        name: a key of KINDS.
        array: a weight, or a stage [positions, d] of which `position` is drawn.
        position: index into the sequence.
        scales: of `spans`.
        changed: which entries differ from the starting point, like `array`; None for not known.
        live: whether it may be edited.
        turned: drawn transposed: a matrix with its columns as rows, a vector across.
        expert: the one that it is of: a mixture's weights have it as their first index.
    """
    kind = KINDS[name]
    before = _before(name, position, expert)
    shown = array if name in WEIGHTS else array[position]
    marks = changed if changed is None or name in WEIGHTS else changed[position]
    down, across = [*(0 for _ in before), 1, 0], [*(0 for _ in before), 0, 1]
    n_axes = len(before) + shown.ndim
    units = [down[:n_axes], across[:n_axes]]
    span = "weight" if name in WEIGHTS else "share" if name in SHARES else "signal"
    matrix, mask = (
        None if part is None else part.reshape(len(part), -1).T if turned else part.reshape(len(part), -1)
        for part in (shown, marks)
    )
    assert matrix is not None
    spec: Spec = {
        "id": name,
        "array": name,
        "name": name,
        "heading": kind.heading,
        "label": kind.label,
        "concept": kind.concept,
        "shape_text": f"[{', '.join(str(size) for size in shown.shape)}]"
        + (", transposed" if turned and shown.ndim == 2 else ""),
        "describe": f"{kind.label}, {_by(shown.shape)} numbers"
        + ("" if name in WEIGHTS else f", position {position}"),
        "rows": matrix.shape[0],
        "columns": matrix.shape[1],
        "editable": live and name in EDITABLE,
        "span": span,
        "lead": len(before),
        "start": [*before, *(0 for _ in shown.shape)],
        "row_unit": units[turned],
        "column_unit": units[not turned],
    }
    if max(matrix.shape) > POOL_FROM:
        return spec | _pooled(matrix, scales[span], spec["describe"])
    return spec | {
        "values": matrix.ravel().tolist(),
        "changed": [] if mask is None else np.flatnonzero(mask).tolist(),
    }


def _pooled(matrix: Array, span: float, describe: str) -> Spec:
    """The part of a spec that a pooled array has in place of its numbers: a byte a block, 127 for the full span."""
    pooled = pool(matrix, *POOL_TO)
    rows, columns = pooled.values.shape
    levels = np.clip(np.round(pooled.values / span * 127), -127, 127).astype(np.int8)
    return {
        "editable": False,
        "values": [],
        "describe": f"{describe}, drawn as {rows} by {columns} blocks; each shows its entry of greatest magnitude",
        "pooled": {
            "rows": rows,
            "columns": columns,
            "row_edges": pooled.row_edges.tolist(),
            "column_edges": pooled.column_edges.tolist(),
            "data": base64.b64encode(levels.tobytes()).decode(),
        },
    }


def wants_zoom(ffn: FFN | GatedFFN) -> bool:
    """Whether the board's cells are too small for numbers, so that one neuron is shown large below it."""
    return ffn.d_ff >= 20 or ffn.d_model >= 12


ZOOMED: dict[type[AnyTrace], dict[str, str]] = {
    Trace: {
        "x": "x at position {p}",
        "w1": "key {j}: row {j} of W1",
        "b1": "b1[{j}]",
        "w2": "value {j}: column {j} of W2",
    },
    GatedTrace: {
        "x": "x at position {p}",
        "w_gate": "gate key {j}: row {j} of W_gate",
        "w_up": "up key {j}: row {j} of W_up",
        "w_down": "value {j}: column {j} of W_down",
    },
}
"""What of one neuron is shown large, each with its heading."""


def zoom_specs(
    trace: Trace | GatedTrace,
    position: int,
    neuron: int,
    changed: Mapping[str, Array | None],
    expert: int | None = None,
) -> list[Spec]:
    """One neuron, large and editable: x, its keys under the x that they meet, its bias, its value."""
    return [
        _strip(
            name,
            _known(trace, name),
            heading=heading.format(p=position, j=neuron),
            at=position if name == "x" else neuron,
            marks=changed.get(name),
            expert=expert,
        )
        for name, heading in ZOOMED[type(trace)].items()
    ]


def _strip(
    name: str, whole: Array, *, heading: str, at: int, marks: Array | None, expert: int | None
) -> Spec:
    """Line `at` of an array, large: row `at`, of values column `at`, of a bias its entry."""
    index: tuple[Any, ...] = (slice(None), at) if name in VALUES else (at,)
    values = np.atleast_1d(whole[index])
    columns = min(len(values), STRIP if len(values) <= 2 * STRIP else LONG_STRIP)
    start, unit = ([0, at], [1, 0]) if name in VALUES else ([at, 0], [0, 1])
    if whole.ndim == 1:
        start, unit = [at], [1]
    before = [] if expert is None or name == "x" else [expert]
    unit = [*(0 for _ in before), *unit]
    return {
        "id": f"zoom_{name}",
        "array": name,
        "name": name,
        "heading": heading,
        "label": heading,
        "concept": KINDS[name].concept,
        "shape_text": "",
        "describe": f"{heading}, {len(values)} numbers",
        "strip": True,
        "rows": math.ceil(len(values) / columns),
        "columns": columns,
        "values": values.tolist(),
        "changed": [] if marks is None else np.flatnonzero(marks[index]).tolist(),
        "editable": True,
        "span": "weight" if name in WEIGHTS else "signal",
        "lead": 1 if name == "x" else len(before),
        "start": [*before, *start],
        "row_unit": [columns * step for step in unit],
        "column_unit": unit,
    }
