"""A number that a visitor points at, and which entry of which array that is."""

from dataclasses import dataclass

import numpy as np

from ffn_core.dense import Trace

OF_POSITION = ("x", "hidden", "activated", "output", "residual")


@dataclass(frozen=True, kw_only=True)
class Look:
    """A number that is pointed at: its array and index, or a block of a pooled array.

    `block` is (row, end row, column, end column), without the position.
    """

    array: str
    index: tuple[int, ...] = ()
    block: tuple[int, int, int, int] | None = None


def array_of(trace: Trace, name: str) -> np.ndarray | None:
    """The array of that name, or None."""
    if name in ("w1", "b1", "w2", "b2"):
        weights: np.ndarray = getattr(trace.ffn, name)
        return weights
    if name in OF_POSITION:
        stage: np.ndarray = getattr(trace, name)
        return stage
    return None


def settle(look: Look, trace: Trace, position: int) -> tuple[str, tuple[int, ...]] | None:
    """The array and index that a look means, or None where there is no such entry.

    A block of a pooled array means its entry of greatest magnitude, the one whose colour is seen.
    """
    name = {"activated_other": "activated", "output_other": "output"}.get(look.array, look.array)
    array = array_of(trace, name)
    if array is None:
        return None
    if look.block is None:
        inside = len(look.index) == array.ndim and all(
            0 <= i < n for i, n in zip(look.index, array.shape, strict=True)
        )
        return (name, look.index) if inside else None
    shown = array[position] if name in OF_POSITION else array
    flat = shown.ndim == 1
    matrix = shown[:, np.newaxis] if flat else shown
    row, end_row, column, end_column = look.block
    block = matrix[row:end_row, column:end_column]
    if min(look.block) < 0 or not block.size:
        return None
    i, j = np.unravel_index(np.argmax(np.abs(block)), block.shape)
    index = (row + int(i),) if flat else (row + int(i), column + int(j))
    return name, ((position, *index) if name in OF_POSITION else index)
