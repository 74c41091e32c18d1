"""Arrays larger than the screen, pooled to the cells there is room for.

A mean would hide what one looks for: the rare large weight, the one neuron that fires. So each block
shows its entry of greatest magnitude, with its sign, and says where in the full array it stands.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False, kw_only=True)
class Pooled:
    """`pool`'s result for an array [m, n] in r by c blocks; block i, j covers these entries of it:

    `array[row_edges[i]:row_edges[i + 1], column_edges[j]:column_edges[j + 1]]`.
    """

    values: npt.NDArray[Any]
    """[r, c]: each block's entry of greatest magnitude, sign kept."""
    index: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]
    """Row and column of that entry in the array, each [r, c]: `values == array[index]`."""
    row_edges: npt.NDArray[np.intp]
    """[r + 1], from 0 to m."""
    column_edges: npt.NDArray[np.intp]
    """[c + 1], from 0 to n."""


def pool(array: npt.NDArray[Any], rows: int, columns: int) -> Pooled:
    """Pool `array` [m, n] (or [m]: one column) to at most `rows` by `columns` blocks.

    Blocks are as equal as integers allow, and an array with room for each entry keeps them all. Among
    entries of equal magnitude the first in row-major order stands for the block; NaN wins over everything,
    since it is what a person has to see.
    """
    if array.ndim not in (1, 2):
        raise ValueError(
            f"only arrays of 1 or 2 dimensions are pooled, got shape {array.shape}; take a slice"
        )
    if rows < 1 or columns < 1:
        raise ValueError(f"pooling needs room for at least 1 by 1 blocks, got {rows} by {columns}")
    if array.ndim == 1:
        array = array[:, np.newaxis]
    m, n = array.shape
    row_edges = _edges(m, rows)
    column_edges = _edges(n, columns)
    if not array.size:
        none = np.zeros((len(row_edges) - 1, len(column_edges) - 1), dtype=np.intp)
        return Pooled(
            values=none.astype(array.dtype),
            index=(none, none),
            row_edges=row_edges,
            column_edges=column_edges,
        )

    # Along the rows first: of each row of a block only its greatest magnitude matters until the block's row
    # is known, and then one row of each block is searched for the column.
    magnitude = np.abs(array)
    by_row = np.maximum.reduceat(magnitude, column_edges[:-1], axis=1)
    greatest = np.maximum.reduceat(by_row, row_edges[:-1], axis=0)  # NaN where the block has one
    stands_out = (by_row == np.repeat(greatest, np.diff(row_edges), axis=0)) | np.isnan(by_row)
    i = np.minimum.reduceat(np.where(stands_out, np.arange(m)[:, None], m), row_edges[:-1], axis=0)

    block_row = magnitude[i.repeat(np.diff(column_edges), axis=1), np.arange(n)]  # [r, n]
    stands_out = (block_row == np.repeat(greatest, np.diff(column_edges), axis=1)) | np.isnan(block_row)
    j = np.minimum.reduceat(np.where(stands_out, np.arange(n), n), column_edges[:-1], axis=1)
    return Pooled(values=array[i, j], index=(i, j), row_edges=row_edges, column_edges=column_edges)


def _edges(n: int, blocks: int) -> npt.NDArray[np.intp]:
    blocks = min(n, blocks)
    return np.arange(blocks + 1, dtype=np.intp) * n // max(blocks, 1)
