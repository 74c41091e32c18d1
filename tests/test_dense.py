"""The forward pass: shapes, dtypes, what is refused and what is kept."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from ffn_core import FFN

rng = np.random.default_rng(7)


def make(d_model: int = 4, d_ff: int = 8, **changes: Any) -> FFN:
    arrays: dict[str, Any] = {
        "w1": rng.standard_normal((d_ff, d_model)),
        "b1": rng.standard_normal(d_ff),
        "w2": rng.standard_normal((d_model, d_ff)),
        "b2": rng.standard_normal(d_model),
    }
    return FFN(**arrays | changes)


def test_a_matrix_multiplies_a_column_from_the_left():
    # Case S1: [[1, 2], [3, 4]] @ [1, 2]. The shapes would not tell a transpose: x @ W is [7, 10].
    ffn = FFN(w1=[[1, 2], [3, 4]], b1=[0, 0], w2=np.identity(2), b2=[0, 0], activation="identity")
    assert ffn.forward([1, 2]).output.tolist() == [5, 11]


def test_two_memories_by_hand():
    # Lesson 2: key [1, 1] is silent at x = [1, -1], key [1, -1] fires with strength 2.
    ffn = FFN(w1=[[1, 1], [1, -1]], b1=[0, 0], w2=[[1, 0], [0, 1]], b2=[0, 0], activation="relu")
    trace = ffn.forward([1, -1])
    assert trace.hidden.tolist() == trace.activated.tolist() == trace.output.tolist() == [0, 2]
    assert trace.residual.tolist() == [1, 1]


def test_the_nonlinearity_is_between_the_matrices_so_the_output_keeps_its_sign():
    # Case S10: clamping after w2 instead would give [0, 0].
    ffn = FFN(w1=np.identity(2), b1=[0, 0], w2=[[-1, 2], [1, 1]], b2=[0, 0], activation="relu")
    trace = ffn.forward([1, -1])
    assert trace.activated.tolist() == [1, 0]
    assert trace.output.tolist() == [-1, 1]


def test_biases_are_added_before_the_nonlinearity_and_after_w2():
    ffn = FFN(w1=[[2]], b1=[-5], w2=[[3]], b2=[10], activation="relu")
    assert ffn.forward([[1], [4]]).output.tolist() == [[10], [19]]  # 3·relu(2 - 5) + 10, 3·relu(8 - 5) + 10


@pytest.mark.parametrize("lead", [(), (1,), (2,), (2, 3), (0,), (3, 0), (1, 2, 2)])
def test_leading_axes_come_back_on_every_stage(lead):
    # Case S3 among them: an empty sequence is a sequence.
    ffn = make()
    trace = ffn.forward(np.ones((*lead, 4)))
    assert trace.hidden.shape == trace.activated.shape == (*lead, 8)
    assert trace.output.shape == trace.residual.shape == trace.x.shape == (*lead, 4)


def test_output_is_activated_times_w2_plus_b2():
    ffn = make()
    trace = ffn.forward(rng.standard_normal((2, 3, 4)))
    np.testing.assert_allclose(trace.output, trace.activated @ ffn.w2.T + ffn.b2, rtol=1e-13)


def test_positions_do_not_see_each_other():
    # Case S11.
    ffn = make()
    x = rng.standard_normal((3, 4))
    changed = x.copy()
    changed[1] += 1
    before, after = ffn.forward(x).output, ffn.forward(changed).output
    np.testing.assert_array_equal(after[[0, 2]], before[[0, 2]])
    assert (after[1] != before[1]).all()


def test_a_position_alone_equals_the_same_position_in_a_batch_to_rounding():
    # Case N9: not bitwise, because BLAS sums a matrix and a vector in different orders.
    ffn = FFN.random(768, 3072, dtype=np.float32)
    x = rng.standard_normal((16, 768), dtype=np.float32)
    np.testing.assert_allclose(ffn.forward(x[5]).output, ffn.forward(x).output[5], atol=5e-6)


def test_contributions_and_b2_add_up_to_the_output():
    ffn = make()
    trace = ffn.forward(rng.standard_normal((3, 4)))
    contributions = trace.contributions(1)
    assert contributions.shape == (8, 4)
    np.testing.assert_allclose(contributions.sum(axis=0) + ffn.b2, trace.output[1], rtol=1e-12)


def test_a_contribution_is_activated_times_its_column_of_w2():
    ffn = FFN(w1=[[1], [1]], b1=[1, 2], w2=[[5, 7]], b2=[0], activation="relu")
    assert ffn.forward([[3]]).contributions(0).tolist() == [[4 * 5], [5 * 7]]


@pytest.mark.parametrize(("lead", "position"), [((3,), 2), ((3,), (2,)), ((2, 3), (1, 2)), ((), ())])
def test_a_position_has_one_index_for_each_leading_axis(lead, position):
    assert make().forward(np.ones((*lead, 4))).contributions(position).shape == (8, 4)


@pytest.mark.parametrize(
    ("lead", "position", "rule"),
    [
        ((3,), 3, r"one index \(0 to 2\)"),
        ((3,), -1, r"one index \(0 to 2\)"),
        ((3,), 0.5, r"one index \(0 to 2\)"),
        ((3,), (0, 0), r"one index \(0 to 2\)"),
        ((2, 3), 1, r"tuple of 2 indices \(0 to 1, 0 to 2\)"),
        ((2, 3), (1, 3), r"tuple of 2 indices"),
        ((), 0, r"\(\) alone"),
        ((0,), 0, "the axis is empty"),
    ],
)
def test_a_position_that_there_is_not_is_answered_with_those_that_there_are(lead, position, rule):
    trace = make().forward(np.ones((*lead, 4)))
    with pytest.raises(ValueError, match=rule):
        trace.contributions(position)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"w2": np.ones((8, 4))},
            "w2 must be [d_model, d_ff] = [4, 8], got [8, 4]; "
            'weights stored (in, out) load with layout="in_out"',
        ),
        # Case S2: NumPy would add the column to every column.
        ({"b1": np.ones((8, 1))}, "b1 must be [d_ff] = [8], got [8, 1]; b1.reshape(-1) has that shape"),
        ({"b2": np.ones(8)}, "b2 must be [d_model] = [4], got [8]"),
        ({"b2": 0.0}, "b2 must be [d_model] = [4], got []"),
        ({"w1": np.ones(8)}, "w1 must be a matrix [d_ff, d_model] without an empty axis, got [8]"),
        ({"w1": np.ones((0, 4))}, "w1 must be a matrix [d_ff, d_model] without an empty axis, got [0, 4]"),
        (
            {"w1": np.ones((4, 8)), "w2": np.ones((8, 4))},
            'b1 must be [d_ff] = [4], got [8]; weights stored (in, out) load with layout="in_out"',
        ),
        ({"w1": [["a"] * 4] * 8}, "w1 is not an array of numbers"),
        ({"b1": [1j] * 8}, "b1 is not an array of numbers"),
        ({"activation": "gleu"}, "no activation is called 'gleu'"),
    ],
)
def test_weights_that_do_not_fit_are_refused_with_the_shape_that_would(changes, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        make(**changes)
    assert message in str(caught.value)


@pytest.mark.parametrize("shape", [(), (8,), (4, 2), (2, 4, 3)])
def test_an_x_of_another_width_is_refused(shape):
    with pytest.raises(ValueError, match=r"x must be \[\.\.\., d_model\] = \[\.\.\., 4\], got .*transpose"):
        make().forward(np.ones(shape))


def test_both_layouts_load_the_same_network():
    ffn = make()
    x = rng.standard_normal((2, 4))
    stored = FFN.from_arrays(ffn.w1.T, ffn.b1, ffn.w2.T, ffn.b2, layout="in_out", activation="relu")
    plain = FFN.from_arrays(ffn.w1, ffn.b1, ffn.w2, ffn.b2, layout="out_in", activation="relu")
    np.testing.assert_array_equal(stored.w1, ffn.w1)
    np.testing.assert_array_equal(stored.forward(x).output, plain.forward(x).output)


def test_the_layout_of_square_weights_is_said_and_not_guessed():
    w = np.array([[1, 2], [3, 4]])
    arrays = (w, [0, 0], np.identity(2), [0, 0])
    as_stored = FFN.from_arrays(*arrays, layout="out_in", activation="identity")
    transposed = FFN.from_arrays(*arrays, layout="in_out", activation="identity")
    assert as_stored.forward([1, 2]).output.tolist() == [5, 11]
    assert transposed.forward([1, 2]).output.tolist() == [7, 10]
    with pytest.raises(TypeError, match="layout"):
        FFN.from_arrays(*arrays)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match='layout must be "out_in"'):
        FFN.from_arrays(*arrays, layout="torch")  # type: ignore[arg-type]


def test_an_error_about_stored_weights_speaks_in_their_own_layout():
    ffn = make()
    with pytest.raises(ValueError, match=r'b1 must be \[d_ff\] = \[4\], got \[8\]; .* layout="out_in"'):
        FFN.from_arrays(ffn.w1, ffn.b1, ffn.w2, ffn.b2, layout="in_out")
    with pytest.raises(ValueError, match=r"w2 must be \[d_ff, d_model\] = \[8, 4\], got \[8, 5\]"):
        FFN.from_arrays(ffn.w1.T, ffn.b1, np.ones((8, 5)), ffn.b2, layout="in_out")


def test_float16_weights_are_computed_in_float32():
    # Case N4: the sum is beyond float16's 65504.
    ffn = FFN(
        w1=np.array([[128, 131]], np.float16),
        b1=np.zeros(1, np.float16),
        w2=np.ones((2, 1), np.float16),
        b2=np.zeros(2, np.float16),
        activation="identity",
    )
    trace = ffn.forward(np.array([256, 256], np.float16))
    assert trace.hidden.tolist() == [66304]
    assert trace.output.dtype == np.float32


def test_integer_weights_become_float64():
    ffn = FFN(w1=[[1]], b1=[0], w2=[[1]], b2=[0], activation="gelu")
    assert ffn.w1.dtype == np.float64
    assert ffn.forward([1]).output[0] == pytest.approx(0.841344746069)


def test_mixed_dtypes_are_computed_in_the_widest():
    weights = {name: getattr(make(), name).astype(np.float32) for name in ("w1", "b1", "w2", "b2")}
    narrow, mixed = FFN(**weights), FFN(**weights | {"b2": np.zeros(4)})
    assert {narrow.w1.dtype, narrow.forward(np.ones(4, np.float32)).output.dtype} == {np.dtype(np.float32)}
    assert {mixed.w1.dtype, mixed.forward(np.ones(4, np.float32)).output.dtype} == {np.dtype(np.float64)}
    assert narrow.forward(np.ones(4)).hidden.dtype == np.float64


def test_infinite_weights_run_without_a_warning():
    w1 = np.full((8, 4), np.inf)
    trace = make(w1=w1).forward([[1.0, 1.0, 1.0, 1.0], [0.0, 1.0, -1.0, 2.0]])
    assert np.isposinf(trace.hidden[0]).all()
    assert np.isnan(trace.hidden[1]).all()
    trace.backward(np.ones((2, 4)))


def test_nothing_in_a_network_or_a_trace_can_be_written_to():
    ffn = make()
    trace = ffn.forward(np.ones((2, 4)))
    gradients = trace.backward(np.ones((2, 4)))
    for holder in (ffn, trace, gradients):
        for name, value in vars(holder).items():
            if isinstance(value, np.ndarray):
                with pytest.raises(ValueError, match="read-only"):
                    value[...] = 0
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(holder, name, value)


def test_a_callers_arrays_stay_writable_and_changing_them_changes_nothing():
    w1, x = np.ones((8, 4)), np.ones((2, 4))
    trace = make(w1=w1).forward(x)
    w1[...], x[...] = 5, 5
    assert (trace.ffn.w1 == 1).all()
    assert (trace.x == 1).all()


def test_a_view_that_only_looks_read_only_is_copied():
    base = np.ones((8, 4))
    view = base[:]
    view.setflags(write=False)
    ffn = make(w1=view)
    base[...] = 5
    assert (ffn.w1 == 1).all()


def test_a_random_network_is_the_same_for_the_same_seed_and_defaults_to_four_times_the_width():
    ffn = FFN.random(6)
    assert (ffn.d_model, ffn.d_ff, ffn.activation) == (6, 24, "gelu_tanh")
    np.testing.assert_array_equal(ffn.w1, FFN.random(6, 24, seed=0).w1)
    assert (ffn.w1 != FFN.random(6, seed=1).w1).any()
    np.testing.assert_array_equal(FFN.random(6, dtype=np.float32).w1, ffn.w1.astype(np.float32))


def test_a_random_network_keeps_the_size_of_what_passes_through():
    ffn = FFN.random(400, 900)
    assert ffn.w1.std() == pytest.approx(1 / 20, rel=0.01)
    assert ffn.w2.std() == pytest.approx(1 / 30, rel=0.01)
    assert ffn.b1.std() == pytest.approx(0.1, rel=0.1)


@pytest.mark.parametrize("widths", [(0, 4), (4, 0), (-1, 4)])
def test_a_network_without_width_is_refused(widths):
    with pytest.raises(ValueError, match="must be at least 1"):
        FFN.random(*widths)


def test_parameters_are_counted_as_the_lesson_counts_them():
    # Case C1: 66,048 + 65,664, in Python integers.
    ffn = FFN.random(128, 512)
    assert ffn.n_parameters == 131_712
    assert type(ffn.n_parameters) is type(ffn.d_model) is type(ffn.d_ff) is int


def test_an_activation_is_kept_under_the_tables_name():
    assert make(activation="gelu_new").activation == "gelu_tanh"
