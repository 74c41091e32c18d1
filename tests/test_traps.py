"""Each trap gives the wrong number that the cases name, and the right one beside it."""

from typing import Any

import numpy as np
import pytest

from ffn_core import FFN, activation, traps
from ffn_core.curves import linear_map

S10 = FFN(w1=np.identity(2), b1=[0, 0], w2=[[-1, 2], [1, 1]], b2=[0, 0], activation="relu")


def numbers(computed: traps.Computed) -> Any:
    assert computed.values is not None, computed.error
    return computed.values.tolist()


def texts(lines):
    return [line.text for line in lines]


# Orientation


def test_a_square_matrix_hides_a_transpose():
    right, wrong = traps.orientations([[1, 2], [3, 4]], [1, 2])  # case S1
    assert (numbers(right), numbers(wrong)) == ([5, 11], [7, 10])
    assert texts(wrong.lines) == [
        "hidden[0] = 1.0*1.0 + 3.0*2.0 + 0 = 7",
        "hidden[1] = 2.0*1.0 + 4.0*2.0 + 0 = 10",
    ]
    assert traps.marks(right.lines, wrong.lines) == ("≠", "≠")


def test_a_symmetric_matrix_hides_it_altogether():
    right, wrong = traps.orientations([[0.1, 0.2], [0.2, 0.3]], [3, 7])
    assert traps.marks(right.lines, wrong.lines) == ("", "")


def test_a_tall_matrix_fails_from_the_right_in_numpys_own_words():
    right, wrong = traps.orientations([[1, 2], [3, 4], [5, 6]], [1, 2])
    assert numbers(right) == [5, 11, 17]
    assert wrong.values is None
    assert "size 3 is different from 2" in wrong.error


def test_a_wide_matrix_fails_from_the_left():
    right, wrong = traps.orientations([[1, 2, 3], [4, 5, 6]], [1, 2])
    assert (right.values, numbers(wrong)) == (None, [9, 12, 15])
    assert "size 2 is different from 3" in right.error


def test_a_unit_vector_asks_for_a_column_or_for_a_row():
    right, wrong = traps.orientations([[1, 2], [3, 4]], [1, 0])
    assert (numbers(right), numbers(wrong)) == ([1, 3], [1, 2])


# One stride


def test_rows_of_a_flat_list_begin_a_rows_length_apart():
    assert traps.rows_read(2, 3, 3).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert traps.rows_read(2, 3, 2).tolist() == [[0, 1, 2], [2, 3, 4]]


def test_one_stride_is_right_on_a_square_case():
    ffn = traps.counted_layer(2, 2)
    assert traps.as_meant(ffn, [1, 1]).output.tolist() == [17, 37]  # hidden 3 and 7
    assert traps.one_stride(ffn, [1, 1], 2).output.tolist() == [17, 37]


def test_one_stride_is_silently_wrong_on_two_by_three():
    ffn = traps.counted_layer(2, 3)  # hidden 3, 7 and 11
    assert traps.as_meant(ffn, [1, 1]).output.tolist() == [50, 4 * 3 + 5 * 7 + 6 * 11]
    assert traps.one_stride(ffn, [1, 1], 2).output.tolist() == [50, 3 * 3 + 4 * 7 + 5 * 11]


def test_the_longer_stride_runs_off_the_end():
    with pytest.raises(
        ValueError, match=r"row 2 of w1 must lie within .* 0 to 5; from 2·3 on .* 6, 7; use the stride 2"
    ):
        traps.one_stride(traps.counted_layer(2, 3), [1, 1], 3)


# The nonlinearity in the wrong place


def test_between_the_matrices_the_residual_falls():
    way = traps.as_meant(S10, [1, -1])  # case S10
    assert (way.output.tolist(), way.residual.tolist()) == ([-1, 1], [0, 0])


def test_after_w2_it_cannot_fall():
    way = traps.activation_after(S10, [1, -1])
    assert (way.output.tolist(), way.residual.tolist()) == ([0, 0], [1, -1])
    assert "ReLU(output)[0] = ReLU(-3.0) = max(0, -3.0) = 0" in texts(way.lines)


def test_after_w2_as_well_it_clamps_what_was_right():
    way = traps.activation_twice(S10, [1, -1])
    assert (way.output.tolist(), way.residual.tolist()) == ([0, 1], [1, 0])


@pytest.mark.parametrize("layer", [traps.activation_after, traps.activation_twice])
def test_no_x_falls_below_itself_with_a_relu_at_the_end(layer):
    ffn = FFN.random(6, 24, seed=3, activation="relu")
    way = layer(ffn, np.random.default_rng(1).standard_normal((200, 6)))
    assert (way.residual >= way.x).all()
    assert (traps.as_meant(ffn, way.x).residual < way.x).any()


def test_without_a_nonlinearity_two_matrices_are_one():
    ffn = FFN.random(5, 20, seed=2, activation="relu")
    one = linear_map(ffn)
    x = np.random.default_rng(0).standard_normal((7, 5))
    assert traps.no_activation(ffn, x).output == pytest.approx(x @ one.matrix.T + one.bias)


def test_before_w1_the_negative_numbers_of_x_are_never_seen():
    opposed = FFN(
        w1=[[1, 1], [1, -1]], b1=[0, 0], w2=np.identity(2), b2=[0, 0], activation="relu"
    )  # lesson 2
    assert traps.as_meant(opposed, [1, -1]).output.tolist() == [0, 2]
    assert traps.activation_before(opposed, [1, -1]).output.tolist() == [1, 1]
    assert traps.activation_before(opposed, [1, -9]).output.tolist() == [1, 1]
    assert traps.activation_before(opposed, [1, 2]).output.tolist() == [3, -1]  # and none is left behind W1


def test_lines_tell_another_number_from_a_step_too_many():
    right, wrong = traps.as_meant(S10, [1, -1]).lines, traps.activation_after(S10, [1, -1]).lines
    assert dict(zip((line.name for line in wrong), traps.marks(right, wrong), strict=True)) == {
        "hidden[0]": "", "hidden[1]": "", "output[0]": "≠", "output[1]": "≠",
        "ReLU(output)[0]": "+", "ReLU(output)[1]": "+", "residual[0]": "≠", "residual[1]": "≠",
    }  # fmt: skip


def test_a_sweep_moves_one_coordinate_alone():
    way = traps.swept(traps.as_meant, S10, np.array([1.0, -1.0]), 0, np.array([-2.0, 0.0, 2.0]))
    assert way.x.tolist() == [[-2, -1], [0, -1], [2, -1]]
    assert way.output.tolist() == [[0, 0], [0, 0], [-2, 2]]


# Biases


@pytest.mark.parametrize(
    ("layer", "output"),
    [
        (traps.as_meant, [0.5, 0]),
        (traps.without_b1, [0.5, 1]),
        (traps.without_b2, [0, 0]),
        (traps.without_biases, [0, 1]),
    ],
)
def test_a_forgotten_bias_changes_the_output(layer, output):
    ffn = FFN(w1=[[1, 1]], b1=[-1], w2=[[0], [1]], b2=[0.5, 0], activation="relu")
    assert layer(ffn, [1, 0]).output.tolist() == output


def test_a_column_is_stretched_over_the_wrong_axis():
    right, wrong = traps.with_bias([[1, 2], [3, 4]], [10, 20])  # case S2
    assert numbers(right) == [[11, 22], [13, 24]]
    assert numbers(wrong) == [[11, 12], [23, 24]]


def test_a_column_makes_two_positions_of_one():
    _, wrong = traps.with_bias([[1, 2]], [10, 20])
    assert numbers(wrong) == [[11, 12], [21, 22]]


def test_three_positions_and_a_column_of_two_are_refused_by_numpy():
    right, wrong = traps.with_bias([[1, 2], [3, 4], [5, 6]], [10, 20])
    assert (numbers(right), wrong.values) == ([[11, 22], [13, 24], [15, 26]], None)
    assert "(3,2) (2,1)" in wrong.error


def test_the_layer_itself_refuses_a_column():
    assert (
        traps.column_refused(np.array([10.0, 20.0]))
        == "b1 must be [d_ff] = [2], got [2, 1]; b1.reshape(-1) has that shape"
    )


# Two forms


def test_the_two_forms_of_gelu_differ_where_the_case_says():
    one = FFN(w1=[[1]], b1=[0], w2=[[1]], b2=[0], activation="relu")
    x = [[1], [-1], [-3]]  # case N1
    right, wrong = traps.exact_gelu(one, x), traps.tanh_gelu(one, x)
    assert right.output[:, 0] == pytest.approx([0.841344746069, -0.158655253931, -0.004049694095], abs=1e-12)
    assert wrong.output[:, 0] == pytest.approx([0.841191990608, -0.158808009392, -0.003637392082], abs=1e-12)
    assert traps.greatest_gap(right, wrong) == pytest.approx(0.000412302013, abs=1e-11)


def test_softmax_after_and_before_top_k():
    (after, right), (before, wrong) = traps.routings(np.array([2.0, 1, 0, -1]), 2)  # case S8
    assert after.routing_weights == pytest.approx([0.731059, 0.268941], abs=1e-6)
    assert before.routing_weights == pytest.approx([0.643914, 0.236883], abs=1e-6)
    assert (right[-1].value, wrong[-1].value) == pytest.approx((1, 0.880797), abs=1e-6)
    assert right[0].text == "weight of expert 0 = exp(2.0) / (exp(2.0) + exp(1.0)) = 0.7311"
    assert (
        wrong[0].text
        == "weight of expert 0 = exp(2.0) / (exp(2.0) + exp(1.0) + exp(0.0) + exp(-1.0)) = 0.6439"
    )


@pytest.mark.parametrize(
    ("gate", "up", "values"),
    # Cases S4 and S5.
    [(1, -2, (-1.462117, -0.238406, -0.238406)), (-1, -1, (0.268941, 0.268941, 0.731059))],
)
def test_gate_and_up_swapped_and_the_silu_of_their_product(gate, up, values):
    assert [line.value for line in traps.gate_ways(gate, up)] == pytest.approx(values, abs=1e-6)


def test_a_layer_keeps_its_own_nonlinearity_in_the_wrong_place():
    ffn = FFN.random(4, 8, seed=5, activation="silu")
    x = np.random.default_rng(3).standard_normal(4)
    linear = ffn.w2 @ (ffn.w1 @ x + ffn.b1) + ffn.b2
    assert traps.activation_after(ffn, x).output == pytest.approx(activation("silu")(linear))
