"""What the curves of the nonlinearities do: GELU dips, ReLU has a corner, and without either there is one matrix."""

import math

import numpy as np
import pytest

from ffn_core import ACTIVATIONS, FFN, activation, example
from ffn_core.curves import (
    chance_below,
    greatest_difference,
    linear_map,
    minimum,
    properties,
    steepest,
)

EVERY = pytest.mark.parametrize("name", ACTIVATIONS)


def there(found):
    assert found is not None
    return found


def by_name(name):
    return {row.name: row for row in properties(name)}


# Case N10.
@pytest.mark.parametrize(
    ("name", "x", "least"),
    [
        ("gelu", -0.7517915247, -0.1699712075),
        ("gelu_tanh", -0.7524614, -0.1700407506),
        ("silu", -1.2784645, -0.2784645),
    ],
)
def test_the_dip_of_gelu_and_its_relatives_is_where_the_cases_say(name, x, least):
    at, value = there(minimum(name))
    assert at == pytest.approx(x, abs=6e-8 if name != "gelu" else 6e-11)
    assert value == pytest.approx(least, abs=6e-8 if name == "silu" else 6e-11)


def test_the_dip_of_silu_lies_as_deep_as_it_lies_left_by_one():
    # There x·sigmoid(x) has slope 0, which is where its value is x + 1.
    at, value = there(minimum("silu"))
    assert value == pytest.approx(at + 1, abs=1e-10)


@pytest.mark.parametrize("name", ["relu", "relu2", "sigmoid", "tanh", "identity"])
def test_what_never_falls_has_no_dip(name):
    assert minimum(name) is None


def test_gelu_is_steepest_at_the_square_root_of_two_where_its_slope_exceeds_one():
    # Case N11: the slope is Phi(x) + x·phi(x), whose derivative (2 - x²)·phi(x) is 0 at sqrt 2.
    x, slope = there(steepest("gelu"))
    assert x == pytest.approx(math.sqrt(2), abs=1e-10)
    assert slope == pytest.approx(1.128904145, abs=6e-10)


@pytest.mark.parametrize(("name", "slope"), [("sigmoid", 0.25), ("tanh", 1.0)])
def test_sigmoid_and_tanh_are_steepest_at_zero(name, slope):
    assert steepest(name) == (0.0, slope)


def test_quick_gelu_is_silu_narrower_and_so_just_as_steep():
    # x·sigmoid(cx) is SiLU(cx)/c: the same slopes, at places c times nearer.
    (quick_x, quick_slope), (x, slope) = there(steepest("gelu_quick")), there(steepest("silu"))
    assert quick_slope == pytest.approx(slope, abs=1e-12)
    assert quick_x * 1.702 == pytest.approx(x, abs=1e-9)


@pytest.mark.parametrize("name", ["relu", "identity", "relu2"])
def test_what_is_as_steep_all_along_or_ever_steeper_has_no_steepest_place(name):
    assert steepest(name) is None


# Cases N1 and N2.
@pytest.mark.parametrize(
    ("other", "x", "difference", "digit"),
    [("gelu_tanh", 2.69894, 4.732355e-4, 6e-11), ("gelu_quick", 2.27040, 0.0203349, 6e-8)],
)
def test_the_approximations_differ_most_from_gelu_where_the_cases_say(other, x, difference, digit):
    at, apart = greatest_difference("gelu", other, -6, 6)
    assert at == pytest.approx(x, abs=6e-6), "of the two places, the one to the right"
    assert apart == pytest.approx(difference, abs=digit)
    left, same = greatest_difference("gelu", other, -6, 0)
    assert left == pytest.approx(-at, abs=1e-9)
    assert same == pytest.approx(apart, abs=1e-12)


def test_a_greatest_difference_may_stand_at_an_end_at_a_corner_or_nowhere():
    assert greatest_difference("relu", "identity", -3, 5) == (-3, 3)
    # sigmoid - ReLU rises to 1/2 at ReLU's corner, and falls from there at first.
    assert greatest_difference("relu", "sigmoid", -0.9, 0.9) == (0, 0.5)
    assert greatest_difference("relu", "relu", -1, 2)[1] == 0


def test_relu_differs_most_from_gelu_by_the_depth_of_the_dip():
    # Left of 0 ReLU is 0, and the difference is GELU itself; right of 0 it is the mirror image.
    x, apart = greatest_difference("relu", "gelu", -3, 3)
    assert x == pytest.approx(0.7517915247, abs=6e-11)
    assert apart == pytest.approx(0.1699712075, abs=6e-11)


@pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 1), (-101, 0), (0, math.inf), (math.nan, 1)])
def test_a_range_to_search_is_short_and_runs_upwards(low, high):
    with pytest.raises(ValueError, match="low must be below high, both within -100 to 100"):
        greatest_difference("relu", "gelu", low, high)


def test_names_from_published_configs_are_understood():
    assert minimum("gelu_new") == minimum("gelu_tanh")
    assert [row.computed for row in properties("swish")] == [row.computed for row in properties("silu")]
    with pytest.raises(ValueError, match="no activation is called 'gleu'"):
        minimum("gleu")


def test_gelu_is_its_input_times_the_chance_of_being_below_it():
    assert chance_below(0.0) == 0.5
    assert chance_below(1.0) == pytest.approx(0.841344746069, abs=1e-12)  # case N1
    assert -3 * chance_below(-3.0) == pytest.approx(-0.004049694095, abs=1e-12)


# The lesson's table of properties


def test_gelu_lets_a_little_of_a_negative_input_through_and_relu_nothing():
    assert by_name("gelu")["negative inputs"].numbers == pytest.approx([0.1699712075], abs=6e-11)
    assert by_name("relu")["negative inputs"].numbers == (0,)
    assert by_name("sigmoid")["negative inputs"].numbers == (0.5,)
    assert by_name("tanh")["negative inputs"].numbers == (1,)
    assert by_name("identity")["negative inputs"].numbers == (math.inf,)


def test_relu_alone_has_a_corner():
    # Two slopes at 0 are a corner: ReLU's are 0 and 1.
    corners = {name for name in ACTIVATIONS if len(set(by_name(name)["smoothness"].numbers)) > 1}
    assert corners == {"relu"}
    assert by_name("relu")["smoothness"].numbers == (0, 1)
    assert "corner at 0: slope 0.0 on the left, 1.0 on the right" in by_name("relu")["smoothness"].computed


def test_the_square_of_relu_is_not_called_smooth():
    # Its slope, 2·max(0, x), has the corner.
    assert "slope itself has one" in by_name("relu2")["smoothness"].computed
    smooth = {name for name in ACTIVATIONS if "smooth," in by_name(name)["smoothness"].computed}
    assert smooth == set(ACTIVATIONS) - {"relu", "relu2"}


def test_the_gradient_below_zero_is_zero_everywhere_for_relu_and_at_one_place_for_gelu():
    assert by_name("relu")["gradient for x < 0"].numbers == (0, 0)
    # GELU's slope is Phi + x·phi: 1/2 at 0, and least at -sqrt 2, where it is 1 less the greatest.
    assert by_name("gelu")["gradient for x < 0"].numbers == pytest.approx([1 - 1.128904145, 0.5], abs=1e-7)
    assert "0 at x = -0.7518 alone" in by_name("gelu")["gradient for x < 0"].computed
    assert by_name("identity")["gradient for x < 0"].computed == "positive for all of them"
    assert "fades to 0 far out" in by_name("tanh")["gradient for x < 0"].computed


def test_only_exact_gelu_is_an_input_times_a_probability():
    told = {name for name in ACTIVATIONS if "probability" in by_name(name)["as a probability"].computed}
    assert told == {"gelu"}
    # What it says, checked by counting: of many standard normal numbers, how many are below 0.7?
    below = (np.random.default_rng(0).standard_normal(1_000_000) < 0.7).mean()
    assert activation("gelu")(0.7) == pytest.approx(0.7 * below, abs=2e-3)


def test_what_the_lesson_prints_stands_beside_and_is_flagged_where_too_simple():
    flagged = {(name, row.name) for name in ("gelu", "relu") for row in properties(name) if row.note}
    assert flagged == {
        ("gelu", "gradient for x < 0"),  # "Non-zero", and it is zero at the bottom of the dip
        ("gelu", "as a probability"),  # of the input "being positive", and it is of a normal number below it
        ("relu", "gradient for x < 0"),  # "dead neurons", which takes every position
    }
    assert by_name("gelu")["gradient for x < 0"].printed == "Non-zero"
    assert all(row.printed for name in ("gelu", "relu") for row in properties(name))
    assert not any(row.printed or row.note for row in properties("silu"))


@EVERY
def test_every_activation_has_the_lessons_four_properties(name):
    rows = properties(name)
    assert [row.name for row in rows] == [row.name for row in properties("gelu")]
    assert all(row.computed for row in rows)


# Without a nonlinearity


def test_without_a_nonlinearity_the_network_is_one_matrix():
    ffn = FFN.random(8, 32, seed=3, activation="identity")
    x = np.random.default_rng(4).standard_normal((5, 8))
    matrix, bias, rank = linear_map(ffn)
    np.testing.assert_allclose(x @ matrix.T + bias, ffn.forward(x).output, rtol=1e-12, atol=1e-12)
    assert (matrix.shape, bias.shape, rank) == ((8, 8), (8,), 8)


def test_the_one_matrix_of_a_network_can_be_checked_by_hand():
    ffn = FFN(w1=[[1, 2], [3, 4]], b1=[1, 1], w2=[[1, 0], [1, 1]], b2=[0, 5])
    matrix, bias, rank = linear_map(ffn)
    np.testing.assert_array_equal(matrix, [[1, 2], [4, 6]])  # the rows: the first; the sum of both
    np.testing.assert_array_equal(bias, [1, 7])
    assert rank == 2


def test_no_more_dimensions_come_through_than_there_are_neurons():
    assert linear_map(FFN.random(8, 3)).rank == 3
    assert linear_map(FFN(w1=[[1, 1]], b1=[0], w2=[[1], [2]], b2=[0, 0])).rank == 1


def test_the_worked_examples_one_matrix_lets_two_dimensions_through():
    # W2's columns come twice, so W1's rows meet as sums of two: [.2 .5 .5 .8], [.4 .5 .5 .6], [.6 .5 .5 .4] and
    # [.8 .5 .5 .2], each as far from the next. Two of them make the others.
    ffn = example("lesson").ffn
    np.testing.assert_array_equal(ffn.w2[:, :4], ffn.w2[:, 4:])
    steps = np.diff(ffn.w1[:4] + ffn.w1[4:], axis=0)
    np.testing.assert_allclose(steps, [[0.2, 0, 0, -0.2]] * 3, atol=1e-15)
    assert linear_map(ffn).rank == 2


def test_weights_without_a_finite_product_have_no_rank():
    with pytest.raises(ValueError, match="must be finite to have a rank"):
        linear_map(FFN(w1=[[1e300]], b1=[0], w2=[[1e300]], b2=[0]))
