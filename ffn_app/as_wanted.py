"""Examples that are made to give a certain output: what is wanted at each position, and what the network gives now."""

from typing import Any

import numpy as np

from ffn_core.activations import Array
from ffn_core.dense import Trace
from ffn_core.examples import example
from ffn_core.matrix_text import short_number
from ffn_core.scenario import Scenario

RIGHT = "right"
CLOSE = 1e-9
"""What rounding may leave between a number and the one that is wanted."""


def rows(scenario: Scenario, trace: Trace) -> list[dict[str, Any]]:
    """A row for each position at which x is still the example's: what is wanted there, what is given, and how far off.

    None for an example that is not made to give a certain output, and once positions or widths were changed.
    """
    if not isinstance(scenario.base, str):
        return []
    made = example(scenario.base)
    if made.wanted is None or made.x.shape != trace.x.shape:
        return []
    read, written = _coordinates(made.x), _coordinates(made.wanted)
    names = made.features
    return [
        {
            ", ".join(names[i] for i in read): _listed(made.x[p, read]),
            f"{', '.join(names[i] for i in written)}, wanted": _listed(made.wanted[p, written]),
            "given now": _listed(trace.output[p, written]),
            "": _verdict(made.wanted[p], trace.output[p]),
        }
        for p in range(len(made.x))
        if np.array_equal(trace.x[p], made.x[p])
    ]


def told(found: list[dict[str, Any]]) -> str:
    """How many of the rows are right, and what a class can do about it."""
    n_right = sum(row[""] == RIGHT for row in found)
    if n_right == len(found):
        return (
            "Every output is as wanted. Break it: type another weight or bias on the board, choose another "
            "nonlinearity above, or give a neuron another strength below."
        )
    return f"{n_right} of {len(found)} outputs are as wanted. Can it be mended by one number, and by which? (↶ undoes.)"


def _coordinates(numbers: Array) -> list[int]:
    """The coordinates that are not 0 at every position."""
    return np.flatnonzero(numbers.any(axis=0)).tolist()


def _listed(numbers: Array) -> str:
    return ", ".join(short_number(float(number)) for number in numbers)


def _verdict(wanted: Array, given: Array) -> str:
    off = float(np.max(np.abs(given - wanted)))
    return RIGHT if off <= CLOSE else f"off by {short_number(off)}"
