"""A matrix with more entries than there are pixels shows, for each block, the entry that stands out most."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ffn_core.pooling import pool


def test_each_block_shows_its_greatest_magnitude_with_its_sign():
    array = np.array(
        [
            [1.0, -5.0, 0.0, 0.0],
            [2.0, 3.0, 0.0, 0.25],
        ]
    )
    pooled = pool(array, rows=1, columns=2)
    np.testing.assert_array_equal(pooled.values, [[-5.0, 0.25]])
    np.testing.assert_array_equal(pooled.index[0], [[0, 1]])
    np.testing.assert_array_equal(pooled.index[1], [[1, 3]])


def test_blocks_are_as_equal_as_integers_allow():
    pooled = pool(np.zeros((7, 10)), rows=2, columns=4)
    np.testing.assert_array_equal(pooled.row_edges, [0, 3, 7])
    np.testing.assert_array_equal(pooled.column_edges, [0, 2, 5, 7, 10])


def test_an_array_that_fits_is_kept_entry_by_entry():
    array = np.array([[0.0, -1.0], [2.0, 3.0]])
    pooled = pool(array, rows=10, columns=2)
    np.testing.assert_array_equal(pooled.values, array)
    np.testing.assert_array_equal(pooled.row_edges, [0, 1, 2])


def test_the_first_of_equal_magnitudes_stands_for_the_block():
    # Row-major: -2 at (0, 2) comes before 2 at (1, 0), though its column is later.
    pooled = pool(np.array([[0.0, 0.0, -2.0], [2.0, 0.0, 0.0]]), rows=1, columns=1)
    assert pooled.values[0, 0] == -2.0
    assert (pooled.index[0][0, 0], pooled.index[1][0, 0]) == (0, 2)


def test_nan_wins_even_over_infinity():
    pooled = pool(np.array([[-np.inf, 0.0, 1.0], [0.0, np.nan, np.inf]]), rows=1, columns=3)
    np.testing.assert_array_equal(pooled.values, [[-np.inf, np.nan, np.inf]])
    assert math.isnan(pool(np.array([[np.inf, np.nan]]), 1, 1).values[0, 0])


def test_a_vector_is_a_column():
    pooled = pool(np.array([1.0, -3.0, 2.0, 0.0]), rows=2, columns=5)
    np.testing.assert_array_equal(pooled.values, [[-3.0], [2.0]])
    np.testing.assert_array_equal(pooled.index[0], [[1], [2]])


@pytest.mark.parametrize(("shape", "pooled_shape"), [((0,), (0, 1)), ((0, 4), (0, 2)), ((3, 0), (2, 0))])
def test_an_empty_array_has_empty_blocks(shape, pooled_shape):
    pooled = pool(np.zeros(shape), rows=2, columns=2)
    assert pooled.values.shape == pooled_shape
    assert pooled.index[0].shape == pooled_shape


def test_only_what_can_be_drawn_is_pooled():
    with pytest.raises(ValueError, match=r"1 or 2 dimensions .* got shape \(2, 2, 2\)"):
        pool(np.zeros((2, 2, 2)), 1, 1)
    with pytest.raises(ValueError, match="at least 1 by 1 blocks, got 0 by 3"):
        pool(np.zeros((2, 2)), 0, 3)


@given(
    array=hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=9),
        elements=st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, math.inf, -math.inf, math.nan]),
    ),
    rows=st.integers(1, 10),
    columns=st.integers(1, 10),
)
@settings(derandomize=True, deadline=None, max_examples=200)
def test_pooling_agrees_with_looking_through_every_block(array, rows, columns):
    pooled = pool(array, rows, columns)
    for r, (top, bottom) in enumerate(zip(pooled.row_edges, pooled.row_edges[1:], strict=False)):
        for c, (left, right) in enumerate(zip(pooled.column_edges, pooled.column_edges[1:], strict=False)):
            places = [(i, j) for i in range(top, bottom) for j in range(left, right)]
            best = max(
                places, key=lambda at: math.inf if math.isnan(array[at]) else min(abs(array[at]), 1e308)
            )
            assert (pooled.index[0][r, c], pooled.index[1][r, c]) == best
            np.testing.assert_array_equal(pooled.values[r, c], array[best])
