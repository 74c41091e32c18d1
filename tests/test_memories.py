"""Key-value memories: which neurons fire, what each one writes, and what is left without some of them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffn_core import FFN, example
from ffn_core.memories import (
    ablate,
    always_on,
    carriers,
    contribution_norms,
    dead,
    detects,
    matches,
    neuron_order,
    partial_sum,
    scale,
    sparsity,
    top_neurons,
    with_strengths,
)

# Four neurons that copy x: activated is x itself. Values of length 5, 1, 2 and 0.
FOUR = FFN(
    w1=np.identity(4),
    b1=np.zeros(4),
    w2=[[3, 1, 0, 0], [4, 0, 2, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
    b2=[10, 20, 30, 40],
    activation="identity",
)
# The contributions' lengths are 5, 4, 6, 0 at position 0, and 0 everywhere at position 1.
TRACE = FOUR.forward([[1, -4, 3, 9], [0, 0, 0, 0]])


# Which neurons count most


def test_a_neuron_counts_by_what_it_adds_not_by_how_hard_it_fires():
    # Neuron 3 fires hardest and writes nothing.
    assert top_neurons(TRACE, 0, 4) == (2, 0, 1, 3)
    assert top_neurons(TRACE, 0, 4, by="activated") == (3, 1, 2, 0)
    assert contribution_norms(TRACE).tolist() == [[5, 4, 6, 0], [0, 0, 0, 0]]


def test_the_first_k_are_the_beginning_of_all():
    assert top_neurons(TRACE, 0, 2) == (2, 0)
    assert top_neurons(TRACE, 0, 0) == ()


def test_of_equal_neurons_the_lower_index_goes_first():
    assert top_neurons(TRACE, 1, 4) == (0, 1, 2, 3)
    assert top_neurons(TRACE, 1, 4, by="activated") == (0, 1, 2, 3)


def test_contribution_norms_are_the_lengths_of_the_contributions():
    chosen = example("cat")
    trace = chosen.ffn.forward(chosen.x)
    for position in range(3):
        lengths = np.sqrt((trace.contributions(position) ** 2).sum(axis=1))
        np.testing.assert_allclose(contribution_norms(trace)[position], lengths, rtol=1e-12)


def test_positions_of_several_axes_are_tuples_as_in_the_trace():
    trace = FOUR.forward(np.ones((2, 3, 4)))
    assert contribution_norms(trace).shape == (2, 3, 4)
    assert top_neurons(trace, (1, 2), 1) == (0,)
    with pytest.raises(ValueError, match="position must be a tuple of 2 indices"):
        top_neurons(trace, 1, 1)


def test_an_empty_sequence_has_no_norms():
    # Case S3.
    assert contribution_norms(FOUR.forward(np.zeros((0, 4)))).shape == (0, 4)
    assert contribution_norms(FOUR.forward(np.zeros((3, 0, 4)))).shape == (3, 0, 4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lengths_hold_for_very_large_and_very_small_values(dtype):
    # 3-4-5 again: the squares of these do not fit the dtype.
    for size in (1e30, 1e-30) if dtype == np.float32 else (1e300, 1e-300):
        w2 = np.array([[3 * size], [4 * size]], dtype=dtype)
        ffn = FFN(w1=dtype([[1, 0]]), b1=dtype([0]), w2=w2, b2=dtype([0, 0]), activation="relu")
        norms = contribution_norms(ffn.forward(dtype([1, 0])))
        assert norms.dtype == dtype
        assert norms[0] / size == pytest.approx(5, rel=1e-6)


def test_a_neuron_that_is_not_a_number_is_seen_first():
    ffn = FFN(w1=[[9.0], [np.nan], [5.0]], b1=[0, 0, 0], w2=[[1, 1, 1]], b2=[0], activation="relu")
    trace = ffn.forward([1])
    assert top_neurons(trace, (), 3) == (1, 0, 2)
    assert top_neurons(trace, (), 3, by="activated") == (1, 0, 2)
    assert carriers(trace, ()) == (1,)
    assert neuron_order(trace.activated[np.newaxis], "strength").tolist() == [1, 0, 2]


@pytest.mark.parametrize("k", [-1, 5, 1.0, True, None])
def test_k_counts_neurons(k):
    for take in (top_neurons, partial_sum):
        with pytest.raises(ValueError, match="k must be an integer from 0 to d_ff = 4"):
            take(TRACE, 0, k)


def test_misuse_says_what_there_is():
    with pytest.raises(ValueError, match='by must be "contribution" or "activated", got \'norm\''):
        top_neurons(TRACE, 0, 1, by="norm")  # type: ignore[arg-type]
    for take in (lambda: carriers(TRACE, 2), lambda: partial_sum(TRACE, -1, 1)):
        with pytest.raises(ValueError, match=r"position must be one index \(0 to 1\)"):
            take()


# The output as a sum


def test_a_partial_sum_begins_with_the_bias_and_ends_with_the_output():
    assert partial_sum(TRACE, 0, 0).tolist() == [10, 20, 30, 40]
    assert partial_sum(TRACE, 0, 1).tolist() == [10, 26, 30, 40]  # + 3·[0, 2, 0, 0]
    assert partial_sum(TRACE, 0, 2).tolist() == [13, 30, 30, 40]  # + 1·[3, 4, 0, 0]
    np.testing.assert_array_equal(partial_sum(TRACE, 0, 4), TRACE.output[0])


def test_all_contributions_of_a_large_network_add_up_to_its_output():
    chosen = example("random")
    trace = chosen.ffn.forward(chosen.x)
    np.testing.assert_allclose(partial_sum(trace, 3, 512), trace.output[3], rtol=0, atol=1e-13)


def test_carriers_are_the_fewest_that_reach_the_share():
    # Lengths 6, 5, 4 of 15: 6 is 40%, 11 is 73.3%.
    assert carriers(TRACE, 0, 0.4) == (2,)
    assert carriers(TRACE, 0, 0.41) == (2, 0)
    assert carriers(TRACE, 0, 0.74) == (2, 0, 1)
    assert carriers(TRACE, 0) == (2, 0, 1)
    assert carriers(TRACE, 0, 1) == (2, 0, 1), "a neuron that adds nothing carries nothing"
    assert carriers(TRACE, 0, 0) == ()


def test_eight_of_ten_equal_neurons_carry_eighty_percent():
    # Added up, eight times 0.7 is 5.6000000000000005, and 0.8 of ten times 0.7 is 5.600000000000001.
    ffn = FFN(w1=np.ones((10, 1)), b1=np.zeros(10), w2=np.full((1, 10), 0.7), b2=[0], activation="relu")
    assert carriers(ffn.forward([1]), (), 0.8) == tuple(range(8))


def test_where_nothing_is_contributed_there_are_no_carriers():
    assert carriers(TRACE, 1) == ()


@pytest.mark.parametrize("share", [-0.1, 1.1, 90, np.nan])
def test_a_share_is_not_a_percentage(share):
    with pytest.raises(ValueError, match="share must be from 0 to 1"):
        carriers(TRACE, 0, share)


# Intervening


def test_ablating_a_neuron_takes_exactly_its_contribution_away():
    before, after = TRACE, ablate(FOUR, 0).forward(TRACE.x)
    np.testing.assert_array_equal(after.output[0], before.output[0] - [3, 4, 0, 0])
    np.testing.assert_array_equal(after.activated, before.activated)  # its key still matches


def test_several_neurons_are_ablated_at_once_and_none_changes_nothing():
    without = ablate(FOUR, (n for n in [0, 2, 2])).w2
    assert without.tolist() == [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    np.testing.assert_array_equal(ablate(FOUR, []).w2, FOUR.w2)
    np.testing.assert_array_equal(ablate(FOUR, np.flatnonzero([True, False, True, False])).w2, without)
    assert FOUR.w2[0, 0] == 3, "the network given stays as it was"


def test_an_infinite_value_is_ablated_too():
    ffn = FFN(w1=[[1]], b1=[0], w2=[[np.inf]], b2=[1], activation="relu")
    assert ablate(ffn, 0).forward([2]).output.tolist() == [1]


def test_scaling_a_neuron_multiplies_what_it_adds():
    after = scale(FOUR, 0, -0.5).forward(TRACE.x)
    np.testing.assert_array_equal(after.contributions(0)[0], [-1.5, -2, 0, 0])
    np.testing.assert_array_equal(after.contributions(0)[1:], TRACE.contributions(0)[1:])
    np.testing.assert_array_equal(scale(FOUR, 0, 1).w2, FOUR.w2)


def test_several_neurons_have_each_their_own_strength():
    assert with_strengths(FOUR, {2: 3, 0: 0.0}).w2.tolist() == [[0, 1, 0, 0], [0, 0, 6, 0], [0] * 4, [0] * 4]


def test_interventions_keep_the_dtype_and_the_activation():
    ffn = FFN.random(3, 5, dtype=np.float32, activation="relu")
    for changed in (ablate(ffn, 1), scale(ffn, 1, 0.3)):
        assert changed.w2.dtype == np.float32
        assert changed.activation == "relu"


@pytest.mark.parametrize("neuron", [-1, 4, 1.0, True, "0"])
def test_only_an_index_of_a_neuron_names_one(neuron):
    for change in (lambda: ablate(FOUR, [neuron]), lambda: scale(FOUR, neuron, 2)):
        with pytest.raises(ValueError, match="a neuron is an integer from 0 to 3, got"):
            change()


def test_a_mask_is_no_list_of_neurons():
    with pytest.raises(ValueError, match=r"np\.flatnonzero turns a mask into indices"):
        ablate(FOUR, dead(TRACE.activated))


@pytest.mark.parametrize("factor", [np.nan, np.inf, "2"])
def test_a_factor_is_a_finite_number(factor):
    with pytest.raises(ValueError, match="factors"):
        scale(FOUR, 0, factor)


# Two memories to break and mend


def test_the_and_gate_writes_its_answer_for_each_row_of_the_truth_table():
    gate = example("and_gate")
    assert gate.words == ("0 0", "0 1", "1 0", "1 1")
    trace = gate.ffn.forward(gate.x)
    assert trace.hidden.tolist() == [[-1], [0], [0], [1]]
    answers = trace.residual[:, gate.features.index("a and b")]
    for word, answer in zip(gate.words, answers, strict=True):
        a, b = map(int, word.split())
        assert answer == (a and b)
    np.testing.assert_array_equal(trace.residual[:, :2], gate.x[:, :2])  # a and b themselves pass unchanged


def test_the_and_gate_is_broken_by_its_bias_and_by_its_strength():
    gate = example("and_gate")
    counting = replace(gate.ffn, b1=np.zeros(1)).forward(gate.x)
    assert counting.output[:, 2].tolist() == [0, 1, 1, 2]
    assert not ablate(gate.ffn, 0).forward(gate.x).output.any()
    # What the description says of GELU: GELU(1) and GELU(-1), case N1.
    smooth = replace(gate.ffn, activation="gelu").forward(gate.x).output[:, 2]
    np.testing.assert_allclose(smooth, [-0.158655253931, 0, 0, 0.841344746069], atol=1e-12)


def test_the_second_lessons_memories_fire_as_they_are_named():
    memories = example("memories")
    assert [matches(memories.ffn, j, memories.features) for j in range(2)] == ["x1 + x2 > 0", "x1 > x2"]
    up_down, both_up, both_down, down_up = memories.ffn.forward(
        [[1, -1], [1, 1], [-1, -1], [-1, 1]]
    ).activated
    assert up_down.tolist() == [0, 2]  # the lesson's own x
    assert both_up.tolist() == [2, 0]
    # Alike and opposed as well, yet both are silent: a key looks for its own direction, not for the reverse.
    assert both_down.tolist() == down_up.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("key", "bias", "text"),
    [
        ([1, 1, 0], -1, "a + b > 1"),
        ([1, 1, 0], -0.5, "a + b > 0.5"),
        ([1, 1, 0], 0, "a + b > 0"),
        ([1, 1, 0], 1, "a + b > −1"),
        ([1, -1, 0], 0, "a > b"),
        ([1, -1, 0], -0.5, "a > 0.5 + b"),
        ([1, -1, 0], 0.5, "a + 0.5 > b"),
        ([-1, 0, 0], 0.5, "a < 0.5"),
        ([-1, -2, 0], 0, "a + 2·b < 0"),
        ([0.5, 0, -2], 0, "0.5·a > 2·x[2]"),
        ([0, 0, 0], 0.5, "always"),
        ([0, 0, 0], 0, "never"),  # hidden is 0, which is not above 0
        ([0, 0, 0], -3, "never"),
        ([np.nan, 1, 0], 3, "never"),
        ([np.inf, 0, 0], 0, "inf·a > 0"),
    ],
)
def test_what_a_key_matches_is_read_off_its_weights(key, bias, text):
    ffn = FFN(w1=[key], b1=[bias], w2=[[0]] * 3, b2=[0] * 3, activation="relu")
    assert matches(ffn, 0, ("a", "b")) == text


@pytest.mark.parametrize(
    ("activation", "bias", "text"),
    [
        ("relu", -1, "fires where a > 1"),
        ("relu2", -1, "fires where a > 1"),
        ("gelu", -1, "is positive where a > 1"),
        ("identity", -1, "is positive where a > 1"),
        ("sigmoid", -1, "is above 0.5 where a > 1"),
    ],
)
def test_what_a_neuron_detects_is_said_as_its_nonlinearity_has_it(activation, bias, text):
    ffn = FFN(w1=[[1]], b1=[bias], w2=[[1]], b2=[0], activation=activation)
    assert detects(ffn, 0, ("a",)) == text
    blind = replace(ffn, w1=np.zeros((1, 1)))
    assert "where" not in detects(blind, 0)
    assert "never" in detects(blind, 0)
    assert "always" in detects(replace(blind, b1=np.ones(1)), 0)


def test_of_a_long_key_the_greatest_weights_are_written_in_order_and_the_rest_is_counted():
    key = [[1, 9, -8, 7, 6, 0, 5, 4, 2]]
    ffn = FFN(w1=key, b1=[0], w2=[[0]] * 9, b2=[0] * 9, activation="relu")
    assert matches(ffn, 0) == "9·x[1] + 7·x[3] + 6·x[4] + 5·x[6] + 4·x[7] + ... (2 more) > 8·x[2]"


@given(st.integers(0, 2**32 - 1))
def test_it_holds_where_hidden_is_above_0_and_nowhere_else(seed):
    rng = np.random.default_rng(seed)
    key, bias, x = rng.integers(-2, 3, 3), rng.integers(-2, 3), rng.integers(-2, 3, 3)
    ffn = FFN(w1=[key], b1=[bias], w2=[[0]] * 3, b2=[0] * 3, activation="relu")
    text = matches(ffn, 0, ("a", "b", "c"))
    said = {"always": "0 < 1", "never": "1 < 0"}.get(text, text).replace("−", "-").replace("·", "*")
    holds = eval(said, {}, dict(zip("abc", x.tolist(), strict=True)))
    assert holds == bool(ffn.forward(x).hidden[0] > 0), text


@pytest.mark.parametrize(
    ("function", "arguments", "says"),
    [
        (carriers, (TRACE, 0, None), "share must be from 0 to 1, got None"),
        (sparsity, ([1.0], "x"), "threshold must be 0 or more, .* got 'x'"),
        (scale, (FOUR, 0, np.array([2.0, 3.0])), "factors must be single numbers, got array"),
        (ablate, (FOUR, "ab"), "a neuron is an integer from 0 to 3, got 'a'"),
    ],
)
def test_what_is_no_number_is_refused_with_the_rule(function, arguments, says):
    with pytest.raises(ValueError, match=says):
        function(*arguments)


@pytest.mark.parametrize("ask", [contribution_norms, carriers, top_neurons, partial_sum, ablate, matches])
def test_a_mixture_is_refused_with_where_its_neurons_are(ask):
    mixture = example("experts")
    whole = mixture.ffn if ask in (ablate, matches) else mixture.ffn.forward(mixture.x)
    more = () if ask is contribution_norms else (0,) if ask in (carriers, ablate, matches) else (0, 1)
    with pytest.raises(ValueError, match="experts\\[e\\]"):
        ask(whole, *more)


def test_a_neuron_may_come_as_any_kind_of_integer():
    ways: tuple[Any, ...] = (2, np.int64(2), np.array(2), [2], np.array([2]), {2}, iter((2,)))
    for neuron in ways:
        assert ablate(FOUR, neuron).w2[:, 2].tolist() == [0, 0, 0, 0]


# Sparse, dead, always on


def test_sparsity_says_what_it_counts():
    # Case S13: exactly 0 are two of six, -0 among them; within 0.001 three. Below 0.001 would be four.
    activated = [0, -0.0, 1e-9, -0.1, 0.5, 2]
    assert sparsity(activated) == 2 / 6
    assert sparsity(activated, 1e-3) == 3 / 6
    assert sparsity([[0, 5], [0, 0]]) == 0.75
    assert sparsity([0.5, -0.5, 0.6], 0.5) == 2 / 3, "the threshold itself counts as small"


def test_sparsity_of_nothing_is_zero_and_no_nan():
    assert sparsity(np.zeros((0, 4))) == 0.0


def test_what_is_not_a_number_is_not_small():
    assert sparsity([np.nan, 0.0, np.inf], 1.0) == 1 / 3


def test_a_threshold_beyond_float32_takes_in_every_number():
    assert sparsity(np.array([1, 2], dtype=np.float32), 1e300) == 1.0


@pytest.mark.parametrize("threshold", [-1e-3, np.nan])
def test_a_threshold_is_a_magnitude(threshold):
    with pytest.raises(ValueError, match="threshold must be 0 or more"):
        sparsity([1.0], threshold)


def test_dead_is_silent_at_every_position_and_not_the_same_as_sparse():
    # Case S12: tokens by neurons; two thirds of the entries are 0, and one neuron of three is dead.
    activated = [[0, 0, 1], [0, 2, 0], [0, 0, 3]]
    assert dead(activated).tolist() == [True, False, False]
    assert sparsity(activated) == pytest.approx(0.667, abs=5e-4)


def test_a_neuron_of_gelu_that_only_whispers_is_not_dead():
    assert dead([[-1e-12], [0.0]]).tolist() == [False]


def test_always_on_is_above_zero_at_every_position():
    assert always_on([[1, 0.1, 0], [2, -0.1, 3]]).tolist() == [True, False, False]


@pytest.mark.parametrize("flag", [dead, always_on])
def test_flags_are_by_neuron_whatever_the_axes_before(flag):
    assert flag(np.zeros((2, 3, 5))).shape == (5,)
    assert flag(np.zeros(5)).shape == (5,)  # one position
    assert not flag(np.zeros((0, 5))).any(), "an empty sequence shows nothing"
    assert flag(np.zeros((3, 0, 5))).tolist() == [False] * 5
    with pytest.raises(ValueError, match=r"activated must be \[\.\.\., d_ff\]"):
        flag(1.0)


# Orders for a heatmap

HEAT = np.array([[1.0, -5.0, 1.1, 0.0, -4.9], [0.0, 0.0, 0.2, 0.0, 0.1]])


def test_by_index_nothing_moves():
    assert neuron_order(HEAT).tolist() == [0, 1, 2, 3, 4]


def test_by_strength_the_greatest_magnitude_at_any_position_comes_first():
    assert neuron_order(HEAT, "strength").tolist() == [1, 4, 2, 0, 3]
    assert neuron_order([[1, -1, 1, 2]], "strength").tolist() == [3, 0, 1, 2]


def test_clustered_neurons_that_are_alike_stand_together():
    order = neuron_order(HEAT, "cluster").tolist()
    place = {neuron: i for i, neuron in enumerate(order)}
    assert abs(place[1] - place[4]) == 1
    assert abs(place[0] - place[2]) == 1


def test_two_kinds_of_neurons_shuffled_come_apart():
    rng = np.random.default_rng(0)
    kind = rng.permutation(np.repeat([0, 1], 50))
    patterns = np.array([[1.0, 0, 1, 0], [0, 1, 0, 1]])
    values = patterns[kind].T + rng.normal(0, 0.1, (4, 100))
    assert np.count_nonzero(np.diff(kind[neuron_order(values, "cluster")])) == 1


@pytest.mark.parametrize("by", ["index", "strength", "cluster"])
@pytest.mark.parametrize("shape", [(0, 3), (2, 1), (1, 0), (0, 0)])
def test_there_is_an_order_of_few_or_none(by, shape):
    assert neuron_order(np.zeros(shape), by).tolist() == list(range(shape[1]))


@pytest.mark.parametrize("by", ["strength", "cluster"])
def test_infinities_and_nan_have_a_place_in_the_order(by):
    values = [[1.0, np.inf, np.nan, -1e308], [0.0, 1e308, 2.0, -np.inf]]
    assert sorted(neuron_order(values, by).tolist()) == [0, 1, 2, 3]


@given(
    st.integers(0, 3).flatmap(
        lambda n: st.lists(
            st.lists(st.sampled_from([0.0, 1.0, -2.5, 1e-300]), min_size=n, max_size=n), min_size=1
        )
    ),
    st.sampled_from(["index", "strength", "cluster"]),
)
@settings(derandomize=True, deadline=None, max_examples=100)
def test_every_order_has_each_neuron_once_and_is_the_same_again(columns, by):
    values = np.array(columns).T
    order = neuron_order(values, by).tolist()
    assert sorted(order) == list(range(values.shape[1]))
    assert neuron_order(values, by).tolist() == order


def test_an_order_is_one_of_three_for_a_matrix():
    with pytest.raises(ValueError, match='by must be "index", "strength" or "cluster", got \'size\''):
        neuron_order(HEAT, "size")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"values must be \[positions, d_ff\], got \[3\]"):
        neuron_order([1, 2, 3])
