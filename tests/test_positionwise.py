"""Position-wise: no position looks at another, said with a tolerance; and what mixing positions would do.

The small network here is the second lesson's, which can be followed by hand: key 0 adds x's two numbers, key 1
subtracts them, ReLU, and w2 is the identity, so that output is activated.
"""

import numpy as np
import pytest

from ffn_core.dense import FFN
from ffn_core.examples import EXAMPLES
from ffn_core.positionwise import (
    another_shuffle,
    as_convolution,
    causal_average,
    convolution,
    effect_of,
    same,
    shuffle_order,
    shuffled,
    starting_point,
    telling_coordinate,
    tolerances,
)
from ffn_core.scenario import RandomBase, Scenario

SMALL = EXAMPLES["memories"].ffn
X = np.array([[1.0, -1.0], [2.0, 1.0], [0.0, 3.0]])
OUTPUT = np.array([[0.0, 2.0], [3.0, 1.0], [3.0, 0.0]])  # relu of [0, 2], [3, 1] and [3, -3]


def trace_of(scenario: Scenario):
    ffn, x = scenario.build()
    return ffn.forward(x)


# Change one position


def test_changing_token_2_of_three_leaves_the_outputs_of_1_and_3_as_they_are():
    after = X.copy()
    after[1] = [2.0, 2.0]  # hidden [3, 1] becomes [4, 0]
    effect = effect_of(SMALL.forward(X), SMALL.forward(after))
    for stage in (effect.x, effect.hidden, effect.activated, effect.output):
        assert stage.tolist() == [0, 1, 0]


def test_the_effect_at_a_position_is_the_greatest_difference_of_its_numbers():
    after = X.copy()
    after[2] = [-4.0, 3.5]  # hidden [3, -3] becomes [-0.5, -7.5], so output [3, 0] becomes [0, 0]
    effect = effect_of(SMALL.forward(X), SMALL.forward(after))
    assert effect.x.tolist() == [0, 0, 4]
    assert effect.hidden.tolist() == [0, 0, 4.5]
    assert effect.activated.tolist() == [0, 0, 3]
    assert effect.output.tolist() == [0, 0, 3]


def test_a_changed_weight_changes_every_position_since_all_share_it():
    before = Scenario(base="cat")
    effect = effect_of(trace_of(before), trace_of(before.edit(("b2", (0,), 0.25))))
    assert effect.x.tolist() == effect.hidden.tolist() == effect.activated.tolist() == [0, 0, 0]
    assert effect.output == pytest.approx([0.25, 0.25, 0.25])


def test_a_difference_within_rounding_counts_as_0_but_never_one_of_x():
    before, nudged = SMALL.forward(X), SMALL.forward(X + np.array([[0, 0], [1e-17, 4e-16], [0, 0]]))
    assert np.any(before.hidden != nudged.hidden)
    effect = effect_of(before, nudged)
    assert effect.hidden.tolist() == effect.output.tolist() == [0, 0, 0]
    assert effect.x[1] > 0


def test_traces_of_different_shapes_are_not_compared():
    with pytest.raises(ValueError, match=r"same shapes .* x \[3, 2\] before and \[2, 2\] after"):
        effect_of(SMALL.forward(X), SMALL.forward(X[:2]))


# Equal means within a tolerance (case N9)


def network_of_case_n9():
    ffn = FFN.random(768, 3072, dtype=np.float32)
    return ffn.forward(np.random.default_rng(0).standard_normal((16, 768)).astype(np.float32))


def test_a_position_alone_and_in_a_batch_agree_in_float32_to_a_few_millionths_but_not_by_equality():
    together = network_of_case_n9()
    alone = np.concatenate([together.ffn.forward(row[np.newaxis]).output for row in together.x])
    comparison = same(together, alone)
    assert comparison
    assert comparison.difference < 1e-5  # about 2e-6, and whether it is 0 depends on the machine
    assert same(together, as_convolution(together.ffn, together.x))


@pytest.mark.parametrize("position", range(16))
def test_a_ten_thousandth_added_to_one_number_of_768_to_3072_is_no_rounding(position):
    trace = network_of_case_n9()
    other = trace.output.copy()
    other[position, 100] += np.float32(1e-4)
    comparison = same(trace, other)
    assert not comparison
    assert comparison.difference == pytest.approx(1e-4, rel=0.01)
    assert comparison.text.startswith("a difference of 0.0001, more than the tolerance of ")


def halves(n):
    return np.where(np.arange(n) < n // 2, 1.0, -1.0)


def alternating(n):
    return np.where(np.arange(n) % 2 == 0, 1.0, -1.0)


KINDS = {
    "random": lambda w1, w2, x: (w1, w2, x),
    "of one sign": lambda w1, w2, x: (abs(w1), abs(w2), abs(x)),
    "badly scaled": lambda w1, w2, x: (w1 * 10.0 ** (np.arange(len(w1)) % 7 - 3)[:, None], w2, x),
    "cancelling by halves": lambda w1, w2, x: (abs(w1), abs(w2) * halves(len(w1)), abs(x)),
    "cancelling in turn": lambda w1, w2, x: (abs(w1), abs(w2) * alternating(len(w1)), abs(x)),
    "cancelling in hidden": lambda w1, w2, x: (1e6 * abs(w1) * halves(w1.shape[1]), w2, abs(x)),
    "one number": lambda w1, w2, x: (np.full_like(w1, 0.1), np.full_like(w2, 0.1), np.full_like(x, 1.1)),
    "one number, by halves": lambda w1, w2, x: (
        np.full_like(w1, 0.7),
        np.full_like(w2, 0.3) * halves(len(w1)),
        abs(x),
    ),
    "like neurons that cancel in hidden": lambda w1, w2, x: (
        np.full_like(w1, 0.1),
        np.full_like(w2, 0.1),
        x - x.mean(axis=1, keepdims=True),
    ),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", [(8, 32), (128, 512), (3, 5000)])
@pytest.mark.parametrize("activation", ["gelu", "relu2"])
@pytest.mark.parametrize("kind", KINDS)
def test_rounding_is_never_taken_for_a_change(kind, activation, sizes, dtype):
    d_model, d_ff = sizes
    random = FFN.random(d_model, d_ff)
    x = np.random.default_rng(0).standard_normal((6, d_model))
    w1, w2, x = KINDS[kind](random.w1, random.w2, x)
    weights = {"w1": w1, "b1": np.zeros(d_ff), "w2": w2, "b2": np.zeros(d_model)}
    ffn = FFN(**{name: array.astype(dtype) for name, array in weights.items()}, activation=activation)
    x = x.astype(dtype)
    trace = ffn.forward(x)
    assert same(trace, np.concatenate([ffn.forward(row[np.newaxis]).output for row in x]))
    assert same(trace, as_convolution(ffn, x))
    assert shuffled(ffn, x, [5, 2, 0, 1, 4, 3]).comparison
    if dtype == np.float32:
        exact = FFN(**{name: getattr(ffn, name).astype(float) for name in weights}, activation=activation)
        assert same(trace, exact.forward(x.astype(float)).output)


def test_huge_numbers_at_one_position_do_not_hide_a_change_at_another():
    x = EXAMPLES["cat"].x.copy()
    x[0, 0] = 1e16
    ffn, before = EXAMPLES["cat"].ffn, x.copy()
    x[1, 0] += 0.5
    effect = effect_of(ffn.forward(before), ffn.forward(x))
    for values in (effect.hidden, effect.activated, effect.output):
        assert (values != 0).tolist() == [False, True, False]
    for stage in ("hidden", "activated", "output"):
        assert effect.tolerances[stage].shape == (3,)
        assert effect.tolerances[stage][0] > 1
        assert effect.tolerances[stage][1] < 1e-12


def test_a_comparison_tells_of_the_position_that_is_beyond_its_tolerance_though_another_differs_more():
    trace = SMALL.forward([[1e16, 1.0], [1.0, 1.0]])
    other = trace.output + np.array([[4.0, 0.0], [0.5, 0.0]])  # 4 is rounding of 1e16, 0.5 none of 2
    comparison = same(trace, other)
    assert not comparison
    assert comparison.difference == 0.5
    assert comparison.tolerance < 1e-14
    agreeing = same(trace, trace.output + np.array([[4.0, 0.0], [0.0, 0.0]]))
    assert agreeing
    assert (agreeing.difference, agreeing.tolerance > 4) == (4, True)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_no_square_overflows_or_is_lost_in_a_tolerance(size):
    trace = FFN(w1=[[1.0]], b1=[0], w2=[[1.0]], b2=[0], activation="relu").forward([[size]])
    assert 1e-16 < tolerances(trace)["output"].item() / size < 1e-14


def test_no_positions_agree():
    assert same(SMALL.forward(np.ones((0, 2))), np.ones((0, 2)))


def test_the_tolerance_is_as_much_coarser_as_the_precision():
    wide = SMALL.forward(X)
    weights = {name: getattr(SMALL, name).astype(np.float32) for name in ("w1", "b1", "w2", "b2")}
    narrow = FFN(**weights, activation="relu").forward(X.astype(np.float32))
    assert tolerances(narrow)["output"] / tolerances(wide)["output"] == pytest.approx(2**29, rel=1e-5)


def test_the_tolerance_follows_the_numbers_that_are_added_up_and_not_their_sum():
    # 1e10 - 1e10: a rounding of either is about 1e-6, although the output is 0.
    ffn = FFN(w1=[[1.0], [1.0]], b1=[0, 0], w2=[[1e10, -1e10]], b2=[0], activation="relu")
    trace = ffn.forward([[1.0]])
    assert trace.output.item() == 0
    assert same(trace, [[1e-6]])
    assert not same(trace, [[1.0]])


def test_each_stage_has_the_tolerance_of_its_own_sum_and_of_those_before():
    # hidden = 3 · 2 + 1 = 7, activated = 7² = 49 with slope 14, output = 2 · 49 - 3 = 95, each a sum of two numbers.
    def own(total, root):
        return 2 * 2**0.5 * np.hypot(root, total * (1 + total / root / 16))

    trace = FFN(w1=[[3.0]], b1=[1.0], w2=[[2.0]], b2=[-3.0], activation="relu2").forward([[2.0]])
    found = {stage: tolerance.item() / 2.0**-52 for stage, tolerance in tolerances(trace).items()}
    assert found["x"] == 0  # given, not computed
    assert found["hidden"] == pytest.approx(own(7, np.hypot(6, 1)))
    assert found["activated"] == pytest.approx(14 * found["hidden"] + 4 * 49)
    assert found["output"] == pytest.approx(np.hypot(2 * found["activated"], own(95, np.hypot(98, 3))))


def test_what_cancels_in_hidden_is_rounded_in_the_output_too():
    ffn = FFN(w1=[[1.0, -1.0]], b1=[0], w2=[[1.0], [0.0]], b2=[0, 0], activation="identity")
    trace = ffn.forward([[1e10, 1e10]])
    assert trace.output.tolist() == [[0, 0]]
    assert same(trace, [[1e-6, 0]])


def test_neurons_that_are_alike_round_alike_and_their_roundings_add_up():
    # activated is 0, so all that the output may be off by comes of hidden, 100 times the same.
    ffn = FFN(w1=[[1.0, -1.0]] * 100, b1=[0] * 100, w2=np.ones((2, 100)), b2=[0, 0], activation="identity")
    found = tolerances(ffn.forward([[1e8, 1e8]]))
    assert found["output"].item() == pytest.approx(100 * found["hidden"].item())


def test_a_comparison_says_its_tolerance_and_what_that_depends_on():
    text = same(SMALL.forward(X), OUTPUT).text
    assert "greatest difference 0, within the tolerance of " in text
    assert text.endswith("for sums of 4 numbers in float64: the same to rounding")
    assert same(SMALL.forward(X), OUTPUT + 1).text.endswith("not the same")


def test_the_same_infinity_is_no_difference_and_a_lone_nan_is_an_infinite_one():
    ffn = FFN(w1=[[np.inf], [1.0]], b1=[0, 0], w2=np.identity(2)[:1], b2=[0], activation="relu")
    trace = ffn.forward([[1.0]])
    assert trace.output.item() == np.inf
    assert same(trace, [[np.inf]])
    assert same(trace, [[np.nan]]).difference == np.inf
    assert not same(trace, [[np.nan]])


def test_outputs_of_another_shape_are_not_compared():
    with pytest.raises(ValueError, match=r"shape of the trace's, \[3, 2\], got \[2, 2\]"):
        same(SMALL.forward(X), OUTPUT[:2])


# Shuffle


def test_the_outputs_shuffle_with_the_positions():
    result = shuffled(SMALL, X, [2, 0, 1])
    assert result.trace.x.tolist() == [[0, 3], [1, -1], [2, 1]]
    assert result.output.tolist() == result.trace.output.tolist() == [[3, 0], [0, 2], [3, 1]]
    assert result.comparison
    assert result.comparison.difference == 0


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 3], [-1, 0, 1], [0.5, 1, 2]])
def test_an_order_that_is_no_permutation_is_refused(order):
    with pytest.raises(ValueError, match="each position from 0 to 2 once"):
        shuffled(SMALL, X, order)


def test_only_one_sequence_is_shuffled():
    with pytest.raises(ValueError, match=r"\[positions, d_model\] to be shuffled, got \[1, 3, 2\]"):
        shuffled(SMALL, X[np.newaxis], [0])


def test_a_seed_gives_one_order_and_never_the_order_as_it_is():
    orders = [shuffle_order(3, seed).tolist() for seed in range(40)]
    assert orders == [shuffle_order(3, seed).tolist() for seed in range(40)]
    assert {tuple(order) for order in orders} == {(0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)}
    assert shuffle_order(2, 0).tolist() == shuffle_order(2, 1).tolist() == [1, 0]


@pytest.mark.parametrize("n_positions", [3, 4, 16])
def test_another_shuffle_is_another_order_every_time_and_comes_around(n_positions):
    seed = 0
    for _ in range(30):
        after = another_shuffle(n_positions, seed, n_seeds=20)
        assert 0 <= after < 20
        assert shuffle_order(n_positions, after).tolist() != shuffle_order(n_positions, seed).tolist()
        seed = after


def test_two_positions_have_no_other_order_than_one():
    assert another_shuffle(2, 5, n_seeds=20) == 5


def test_one_position_cannot_be_shuffled():
    with pytest.raises(ValueError, match="at least 2"):
        shuffle_order(1, 0)


# The same as a convolution of kernel 1


def test_a_convolution_of_width_2_sees_its_neighbour_and_one_of_width_1_does_not():
    signal = [[1.0], [2.0], [4.0]]
    wide = convolution(signal, [[[1.0, 10.0]]], [0.5])
    assert wide.tolist() == [[21.5], [42.5]]  # 1 + 10 · 2 + 0.5, and 2 + 10 · 4 + 0.5
    assert convolution(signal, [[[10.0]]], [0.5]).tolist() == [[10.5], [20.5], [40.5]]


def test_the_kernel_is_out_by_in_by_width():
    # Two numbers come in at each position and three go out: 2·x0, 3·x1 and x0 + x1.
    kernel = [[[2.0], [0.0]], [[0.0], [3.0]], [[1.0], [1.0]]]
    assert convolution([[1.0, 10.0]], kernel, [0, 0, 0]).tolist() == [[2, 30, 11]]


def test_the_worked_example_is_two_convolutions_of_kernel_1(monkeypatch):
    lesson = EXAMPLES["lesson"]
    monkeypatch.setattr(FFN, "forward", None)  # it must not be the same computation
    output = as_convolution(lesson.ffn, lesson.x)
    np.testing.assert_allclose(
        output, [[0.4215, 0.4145, 0.4249, 0.4111], [0.0896, 0.0872, 0.0908, 0.0860]], atol=5e-5
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_the_same_as_its_convolutions(name):
    example = EXAMPLES[name]
    assert same(example.ffn.forward(example.x), as_convolution(example.ffn, example.x))


@pytest.mark.parametrize("shape", [(0, 2), (3, 0, 2), (2, 3, 2)])
def test_empty_and_stacked_sequences_are_convolved_too(shape):
    assert as_convolution(SMALL, np.ones(shape)).shape == shape
    assert np.all(as_convolution(SMALL, np.ones(shape)) == [2, 0])


def test_a_kernel_wider_than_the_sequence_fits_nowhere():
    assert convolution(np.ones((1, 1)), np.ones((1, 1, 3)), [0.0]).shape == (0, 1)


def test_float32_is_convolved_in_float32():
    ffn = FFN.random(4, 8, dtype=np.float32)
    assert as_convolution(ffn, np.ones((2, 4), np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("signal", "kernel", "bias", "message"),
    [
        (np.ones((3, 2)), np.ones((2, 2)), np.ones(2), r"kernel must be \[d_out, d_in, width\]"),
        (np.ones((3, 2)), np.ones((2, 2, 1)), np.ones(3), r"bias \[d_out\], got \[2, 2, 1\] and \[3\]"),
        (np.ones((3, 4)), np.ones((2, 2, 1)), np.ones(2), r"\[..., positions, 2\], got \[3, 4\]"),
        (np.ones(2), np.ones((2, 2, 1)), np.ones(2), r"\[..., positions, 2\], got \[2\]"),
    ],
)
def test_a_kernel_that_does_not_fit_is_refused(signal, kernel, bias, message):
    with pytest.raises(ValueError, match=message):
        convolution(signal, kernel, bias)


# What mixing would look like


def test_the_causal_average_is_the_mean_of_a_position_and_those_before():
    assert causal_average([[2.0, 0.0], [4.0, 6.0], [0.0, 0.0]]).tolist() == [[2, 0], [3, 3], [2, 2]]


def test_each_sequence_is_averaged_by_itself_in_its_own_precision():
    x = np.array([[[2], [4]], [[10], [0]]], np.float32)
    assert causal_average(x).tolist() == [[[2], [3]], [[10], [5]]]
    assert causal_average(x).dtype == np.float32
    assert causal_average(np.ones((0, 2))).shape == (0, 2)


def test_with_mixing_an_edit_reaches_every_later_position_and_no_earlier_one():
    after = X.copy()
    after[1, 0] += 6  # reaches position 1 as 6 / 2 and position 2 as 6 / 3
    before_mixed, after_mixed = (SMALL.forward(causal_average(x)) for x in (X, after))
    effect = effect_of(before_mixed, after_mixed)
    assert effect.x == pytest.approx([0, 3, 2])
    # Key 0 is positive throughout and passes that on; key 1 rises from 1.5 to 4.5, and from 0 to 2.
    assert effect.output == pytest.approx([0, 3, 2])
    assert effect.output[0] == 0
    assert effect_of(SMALL.forward(X), SMALL.forward(after)).output.tolist() == [0, 6, 0]


def test_a_vector_has_no_positions_to_average():
    with pytest.raises(ValueError, match=r"x must be \[..., positions, d_model\], got \[2\]"):
        causal_average([1.0, 2.0])


# How far a change goes


def test_the_last_stage_that_changed_is_told_for_every_position():
    # Key 0 reads the first number, and its value is 0; key 1 reads the second and fires above 9; none reads the third.
    ffn = FFN(
        w1=[[1, 0, 0], [0, 1, 0]],
        b1=[0, -9],
        w2=[[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]],
        b2=[0, 0, 0],
        activation="relu",
    )
    x = np.ones((5, 3))
    after = x + np.array([[0, 0, 0], [0, 0, 5], [0, 1, 0], [1, 0, 0], [0, 20, 0]])
    effect = effect_of(ffn.forward(x), ffn.forward(after))
    assert effect.last_changed.tolist() == [-1, 0, 1, 2, 3]


def test_the_telling_coordinate_is_the_first_that_reaches_the_output():
    ffn = FFN(
        w1=[[0.0, 1.0, 1.0]], b1=[0], w2=[[1.0], [0.0], [0.0]], b2=[0, 0, 0], activation="relu"
    )  # no key reads the first
    assert telling_coordinate(ffn, [[1.0, 1.0, 1.0]], 0) == 1
    assert telling_coordinate(ffn, [[1.0, 1.0, 1.0], [0.0, -9.0, 0.0]], 1) == 0  # there ReLU stops every one


# The scenario before x was edited


def test_the_starting_point_is_the_start_where_only_numbers_were_edited():
    scenario = Scenario(base="cat").edit(("x", (1, 0), 1.0), ("w1", (0, 0), 3.0), ("strength", (2,), 0.0))
    assert starting_point(scenario).edits == ()
    assert starting_point(scenario).activation == scenario.activation
    assert starting_point(scenario.with_activation("relu")).activation == "relu"


def test_the_starting_point_has_the_positions_that_were_added_with_x_0():
    scenario = (
        Scenario(base="memories")
        .edit(("insert_position", (0,), "new"))
        .edit(("x", (0, 0), 5.0), ("x", (1, 1), 7.0), ("d_ff", (), 3))
    )
    before = starting_point(scenario)
    assert before.words == scenario.words == ("new", "token 0")
    assert before.build()[1].tolist() == [[0, 0], [1, -1]]
    assert before.build()[0].d_ff == 3
    assert effect_of(trace_of(before), trace_of(scenario)).x.tolist() == [5, 8]


def test_edits_made_as_one_are_taken_apart():
    parts = (("insert_position", (1,), "new"), ("x", (1, 0), 4.0), ("w1", (0, 0), 2.0))
    scenario = Scenario(base="memories").edit(("together", (), parts))
    ffn, x = starting_point(scenario).build()
    assert (x.tolist(), ffn.w1[0, 0]) == ([[1, -1], [0, 0]], 1)
    ffn, x = starting_point(scenario, keep_weights=True).build()
    assert (x.tolist(), ffn.w1[0, 0]) == ([[1, -1], [0, 0]], 2)


def test_the_weights_can_stay_so_that_only_x_is_what_it_was():
    edits = (("strength", (1,), 0.5), ("identity", ("w1",), 1.0), ("randomize", ("x",), 3), ("b2", (0,), 1.0))
    scenario = Scenario(base="memories").edit(*edits)
    before = starting_point(scenario, keep_weights=True)
    assert before.build()[1].tolist() == [[1, -1]]
    for name in ("w1", "b1", "w2", "b2"):
        np.testing.assert_array_equal(getattr(before.build()[0], name), getattr(scenario.build()[0], name))


def test_random_networks_start_from_their_own_seed():
    scenario = Scenario(base=RandomBase(4, 8, 3, 5)).edit(("x", (0, 0), 1.0))
    assert starting_point(scenario).base == scenario.base


def test_infinite_weights_are_compared_without_a_warning():
    """Then no tolerance is known, and only the very same numbers are equal."""
    ffn = FFN(w1=[[np.inf, -np.inf]], b1=[0], w2=[[np.inf], [1.0]], b2=[0, 0], activation="gelu")
    x = np.array([[1.0, 1.0], [0.0, 2.0]])
    trace = ffn.forward(x)
    assert effect_of(trace, trace).output.tolist() == [0, 0]
    assert effect_of(trace, ffn.forward(x + 1)).x.tolist() == [1, 1]
    one = FFN(w1=[[np.inf]], b1=[0], w2=[[1.0]], b2=[0], activation="relu")  # inf for 1, 0 for -1
    assert effect_of(one.forward([[1], [1]]), one.forward([[1], [-1]])).output.tolist() == [0, np.inf]
    assert shuffled(ffn, x, [1, 0]).comparison
    assert same(trace, as_convolution(ffn, x))
