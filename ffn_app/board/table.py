"""What has changed since the starting point, array by array."""

import numpy as np

from ffn_app.board.arrays import KINDS, arrays_of
from ffn_app.look import Array
from ffn_core.matrix_text import short_number
from ffn_core.scenario import Scenario


def change_table(scenario: Scenario) -> list[dict[str, str]]:
    """A row for each array: its shape, how many numbers differ from the start, and the greatest difference."""
    now, start = _all_arrays(scenario), _all_arrays(scenario.start())
    rows = []
    for name, array in now.items():
        before = start[name]
        row = {"array": KINDS[name].label, "shape": " × ".join(map(str, array.shape))}
        if before.shape != array.shape:
            row |= {
                "changed": "size",
                "greatest change": f"was {' × '.join(map(str, before.shape))}",
                "where": "",
            }
        else:
            difference = array - before
            at = np.unravel_index(int(np.argmax(np.abs(difference))), difference.shape)
            count = int(np.count_nonzero(difference))
            row |= {
                "changed": f"{count} of {array.size}",
                "greatest change": short_number(float(difference[at])),
                "where": f"{name}{''.join(f'[{i}]' for i in at)}" if count else "",
            }
        rows.append(row)
    return rows


def _all_arrays(scenario: Scenario) -> dict[str, Array]:
    """Those of the board, and of a mixture its experts' weights, stacked, after the routing."""
    layer, x = scenario.build()
    arrays = arrays_of(layer.forward(x))
    if not scenario.kind.mixes:
        return arrays
    stacks = scenario.kind.weights(layer)
    outcome = {name: arrays.pop(name) for name in ("output_of_expert", "output", "residual")}
    return arrays | {name: stack for name, stack in stacks.items() if name not in arrays} | outcome
