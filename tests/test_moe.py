"""The mixture of experts: who is chosen, who has room, what is mixed, and what the router learns."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from ffn_core.activations import Array
from ffn_core.dense import FFN, Gradients
from ffn_core.gated import GatedFFN, GatedGradients
from ffn_core.moe import MoE, expert_capacity, route
from tests.differences import central_difference

INF = np.inf


def adding(*number: float) -> FFN:
    """An expert that puts out `number` whatever it gets."""
    d = len(number)
    return FFN(w1=np.zeros((1, d)), b1=[0], w2=np.zeros((d, 1)), b2=number)


def sending(capacity: Any = None, **changes: Any) -> MoE:
    """Two experts, which put out [1, 0] and [0, 1]; the logits are x itself."""
    given: dict[str, Any] = {"router": np.identity(2), "experts": [adding(1, 0), adding(0, 1)], "top_k": 1}
    return MoE(**given | {"capacity": capacity} | changes)


# Routing


def test_the_weights_are_the_softmax_of_the_chosen_or_of_all():
    # Case S8.
    renormalized, raw = route([2, 1, 0, -1], 2), route([2, 1, 0, -1], 2, renormalize=False)
    assert renormalized.chosen.tolist() == raw.chosen.tolist() == [0, 1]
    np.testing.assert_allclose(renormalized.routing_weights, [0.731059, 0.268941], atol=5e-7)
    np.testing.assert_allclose(raw.routing_weights, [0.643914, 0.236883], atol=5e-7)
    assert raw.routing_weights.sum() == pytest.approx(0.880797, abs=5e-7)
    np.testing.assert_array_equal(renormalized.probs, raw.probs)
    assert raw.probs.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("logits", "chosen"),
    [
        ([0, 0, 0, 0], [0, 1]),
        ([1, 2, 2, 2], [1, 2]),
        ([2, 1, 2, 1], [0, 2]),
        ([-0.0, 0.0, -1, 0.0], [0, 1]),
        ([1000, 1001, 999, 0], [1, 0]),
        ([-800, 0, -801, -802], [1, 0]),  # the probabilities of three are 0 alike, the logits are not
    ],
)
def test_the_greatest_logits_are_chosen_and_ties_go_to_the_lowest_index(logits, chosen):
    assert route(logits, 2).chosen.tolist() == chosen


def test_ties_among_many_experts_still_go_to_the_lowest():
    # An unstable sort, which NumPy uses for more than 16, would mix them.
    assert route(np.tile([0, 1], 100), 5).chosen.tolist() == [1, 3, 5, 7, 9]


def test_leading_axes_stay():
    routing = route(np.zeros((2, 0, 3)), 2)
    assert routing.chosen.shape == routing.routing_weights.shape == (2, 0, 2)
    assert routing.probs.shape == (2, 0, 3)
    assert route(np.zeros(3), 3).chosen.tolist() == [0, 1, 2]


@pytest.mark.parametrize("renormalize", [True, False])
@pytest.mark.parametrize(
    ("logits", "chosen", "weights", "probs"),
    [
        ([-INF, 5, -INF], [1, 0], [1, 0], [0, 1, 0]),
        ([-INF, -INF, -INF], [0, 1], [0, 0], [0, 0, 0]),
        ([0, INF, 5], [1, 2], [1, 0], [0, 1, 0]),
        ([INF, 0, INF], [0, 2], [0.5, 0.5], [0.5, 0, 0.5]),
        ([INF, -INF, -INF], [0, 1], [1, 0], [1, 0, 0]),
        ([3, 1, np.nan], [2, 0], [np.nan] * 2, [np.nan] * 3),
        ([-INF, np.nan, np.nan], [1, 2], [np.nan] * 2, [np.nan] * 3),
        ([1e308, -1e308, 0], [0, 2], [1, 0], [1, 0, 0]),
    ],
)
def test_logits_without_end_are_taken_in_the_limit(logits, chosen, weights, probs, renormalize):
    routing = route(logits, 2, renormalize)
    assert routing.chosen.tolist() == chosen
    np.testing.assert_array_equal(routing.routing_weights, weights)
    np.testing.assert_array_equal(routing.probs, probs)


@pytest.mark.parametrize("top_k", [0, 4, -1, 1.0, True, None])
def test_top_k_is_from_one_to_the_number_of_experts(top_k):
    with pytest.raises(ValueError, match="top_k must be an integer from 1 to n_experts = 3"):
        route([1, 2, 3], top_k)
    with pytest.raises(ValueError, match="top_k must be an integer from 1 to n_experts = 2"):
        sending(top_k=top_k if top_k != 4 else 3)
    with pytest.raises(ValueError, match="top_k must be an integer"):
        expert_capacity(5, 3, top_k, 1.0)


@pytest.mark.parametrize("logits", [1.0, [], np.zeros((3, 0))])
def test_logits_are_of_at_least_one_expert(logits):
    with pytest.raises(ValueError, match=r"logits must be \[\.\.\., n_experts\]"):
        route(logits, 1)


# Capacity


@pytest.mark.parametrize(
    ("arguments", "capacity"),
    [
        ((8, 4, 2, 1.0), 4),
        ((8, 4, 2, 1.25), 5),
        ((5, 4, 1, 1.0), 2),  # 1.25
        ((100, 2, 1, 1.1), 55),  # floats make it 55.00000000000001, and so 56
        ((100, 2, 1, np.float32(1.1)), 55),
        ((0, 4, 2, 1.5), 0),
        ((5, 4, 1, 0), 0),
        ((10**30, 3, 3, 1), 10**30),
    ],
)
def test_capacity_is_the_even_share_times_the_factor_rounded_up(arguments, capacity):
    assert expert_capacity(*arguments) == capacity
    assert type(expert_capacity(*arguments)) is int


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ((-1, 4, 1, 1.0), "n_tokens must be an integer, 0 or more"),
        ((1.5, 4, 1, 1.0), "n_tokens must be an integer"),
        ((4, 0, 1, 1.0), "n_experts must be at least 1"),
        ((4, 2, 1, -0.5), "factor must be a finite number, 0 or more"),
        ((4, 2, 1, INF), "factor must be a finite number"),
        ((4, 2, 1, True), "factor must be a finite number"),
    ],
)
def test_a_capacity_of_what_there_is_not_is_refused(arguments, rule):
    with pytest.raises(ValueError, match=rule):
        expert_capacity(*arguments)


def test_the_least_probable_tokens_are_dropped_and_put_out_nothing():
    # Expert 0 takes two of four: those of the greatest margins, 6 and 4, wherever they stand.
    trace = sending(2).forward([[2, 0], [6, 0], [1, 0], [4, 0], [0, 9]])
    assert trace.dropped.tolist() == [[True], [False], [True], [False], [False]]
    assert trace.routing_weights.tolist() == [[0], [1], [0], [1], [1]]
    assert trace.output.tolist() == [[0, 0], [1, 0], [0, 0], [1, 0], [0, 1]]
    assert trace.residual[0].tolist() == [2, 0], "a token that every expert dropped passes on as it came"
    assert [those.tolist() for those in trace.tokens] == [[1, 3], [4]]
    assert trace.experts[0].x.tolist() == [[6, 0], [4, 0]]
    assert trace.counts.tolist() == [4, 1]
    assert trace.kept.tolist() == [2, 1]
    np.testing.assert_allclose(trace.load, [0.8, 0.2])


def test_of_equally_probable_tokens_the_first_are_kept():
    trace = sending(2).forward([[1, 0], [2, 1], [1, 0], [5, 0]])
    assert trace.dropped[:, 0].tolist() == [False, True, True, False]


def test_what_one_expert_drops_the_other_does_not_make_up_for():
    # Both go to both. Expert 0 keeps the first, with 0.731059, and expert 1 the second, with 0.5.
    trace = sending(1, top_k=2).forward([[1, 0], [0, 0]])
    np.testing.assert_allclose(trace.output, [[0.731059, 0], [0, 0.5]], atol=5e-7)
    assert trace.chosen.tolist() == [[0, 1], [0, 1]]
    assert trace.dropped.tolist() == [[False, True], [True, False]]


def test_capacity_is_a_number_of_tokens_or_a_factor_or_none():
    x = np.tile([1.0, 0.0], (8, 1))
    for capacity, kept in (
        (None, 8),
        (1, 1),
        (1.0, 4),
        (1.25, 5),
        (0, 0),
        (99, 8),
        (np.int64(3), 3),
        (np.float32(0.5), 2),
    ):
        assert sending(capacity).forward(x).kept.tolist() == [kept, 0], capacity
    assert sending(1.25).tokens_per_expert(8) == 5
    assert sending(3).tokens_per_expert(8) == 3
    assert sending().tokens_per_expert(8) is None


@pytest.mark.parametrize("capacity", [True, False, -1, -0.5, np.nan, INF, "2", np.True_])
def test_a_capacity_that_says_nothing_is_refused(capacity):
    with pytest.raises(ValueError, match="capacity must be"):
        sending(capacity)


# Mixing


@pytest.mark.parametrize("expert", [FFN.random(4, 6), GatedFFN.random(4, 6)])
@pytest.mark.parametrize("renormalize", [True, False])
def test_one_expert_with_top_1_is_that_expert(expert, renormalize):
    x = np.random.default_rng(0).standard_normal((2, 3, 4))
    moe = MoE(router=np.ones((1, 4)), experts=[expert], top_k=1, renormalize=renormalize)
    trace, alone = moe.forward(x), expert.forward(x)
    np.testing.assert_array_equal(trace.output, alone.output)
    assert (trace.routing_weights == 1).all()
    gradients, d_output = trace.backward(np.ones_like(x)), alone.backward(np.ones_like(x))
    np.testing.assert_allclose(gradients.x, d_output.x, rtol=1e-12)
    assert not gradients.router.any(), "a router without a choice learns nothing"


def test_the_output_is_the_weighted_sum_over_the_chosen():
    moe = sending(experts=[adding(10, 0), adding(0, 100)], top_k=2)
    trace = moe.forward([[1, 0], [0, 1]])
    np.testing.assert_allclose(trace.output, [[7.31059, 26.8941], [2.68941, 73.1059]], atol=5e-5)
    first, second = trace.mix(1)
    assert (first.expert, first.dropped, first.output.tolist()) == (1, False, [0, 100])
    assert first.weight == pytest.approx(0.731059, abs=5e-7)
    assert (second.expert, second.dropped, second.output.tolist()) == (0, False, [10, 0])


@pytest.mark.parametrize(("lead", "positions"), [((5,), (0, 4)), ((2, 3), ((0, 2), (1, 1))), ((), ((),))])
def test_a_mix_adds_up_to_the_output_at_every_position(lead, positions):
    moe = MoE.random(4, 6, 5, 3, seed=1, capacity=2)
    trace = moe.forward(np.random.default_rng(1).standard_normal((*lead, 4)))
    assert trace.dropped.any() == (lead != ())
    for position in positions:
        total = sum(part.weight * part.output for part in trace.mix(position))
        np.testing.assert_allclose(total, trace.output[position], atol=1e-15)
        assert [part.expert for part in trace.mix(position)] == trace.chosen[position].tolist()
        assert [part.dropped for part in trace.mix(position)] == trace.dropped[position].tolist()


def test_each_expert_computes_only_the_tokens_that_it_was_given():
    moe = MoE.random(4, 6, 3, 2, seed=3)
    x = np.random.default_rng(2).standard_normal((2, 5, 4))
    trace = moe.forward(x)
    for expert, (those, own) in enumerate(zip(trace.tokens, trace.experts, strict=True)):
        assert those.tolist() == np.flatnonzero((trace.chosen == expert).any(axis=-1)).tolist()
        np.testing.assert_array_equal(own.x, x.reshape(-1, 4)[those])
        alone = moe.experts[expert].forward(x).output.reshape(-1, 4)[those]
        np.testing.assert_allclose(own.output, alone, rtol=1e-12)


def test_the_shared_expert_is_added_for_every_token_dropped_ones_too():
    trace = sending(0, shared=adding(5, 7)).forward([[1, 0], [0, 1]])
    assert trace.output.tolist() == [[5, 7], [5, 7]]
    assert trace.shared is not None
    assert trace.shared.output.tolist() == [[5, 7], [5, 7]]
    assert sending().forward([[1, 0]]).shared is None


def test_an_expert_that_nobody_chose_adds_0_and_has_load_0():
    # Case S9; its weights are infinite, and would make anything NaN.
    broken = FFN(w1=np.full((1, 2), INF), b1=[-INF], w2=np.full((2, 1), INF), b2=[0, 0])
    trace = sending(experts=[adding(1, 0), broken]).forward([[1, 0], [2, 0]])
    assert trace.output.tolist() == [[1, 0], [1, 0]]
    assert trace.counts.tolist() == [2, 0]
    assert trace.load.tolist() == [1, 0]
    assert trace.experts[1].output.shape == (0, 2)
    assert not trace.backward(np.ones((2, 2))).experts[1].x.size


def test_a_weight_of_0_adds_nothing_even_from_an_infinite_expert():
    # Both are chosen; the router's -inf leaves the second without any probability.
    infinite = adding(INF, INF)
    moe = sending(router=[[1, 1], [-INF, -INF]], experts=[adding(1, 2), infinite], top_k=2)
    trace = moe.forward([[1, 1]])
    assert trace.chosen.tolist() == [[0, 1]]
    assert trace.output.tolist() == [[1, 2]]
    assert np.isfinite(trace.backward([[1, 1]]).router_logits).all()


@pytest.mark.parametrize("lead", [(0,), (3, 0)])
@pytest.mark.parametrize("capacity", [None, 2, 1.0])
def test_an_empty_sequence_has_no_load_and_no_loss(lead, capacity):
    # Cases S3 and S9.
    moe = MoE.random(4, 6, 3, 2, capacity=capacity, shared=True)
    trace = moe.forward(np.ones((*lead, 4)))
    assert trace.output.shape == trace.residual.shape == (*lead, 4)
    assert trace.router_probs.shape == (*lead, 3)
    assert trace.chosen.shape == trace.dropped.shape == trace.routing_weights.shape == (*lead, 2)
    for numbers in (trace.counts, trace.kept, trace.load, trace.importance):
        assert numbers.tolist() == [0, 0, 0]
    assert trace.balance_loss == 0
    gradients = trace.backward(np.ones((*lead, 4)))
    assert gradients.x.shape == (*lead, 4)
    assert not gradients.router.any()


def test_x_without_leading_axes_is_one_token():
    trace = MoE.random(4, 6, 3, 2).forward(np.ones(4))
    assert trace.output.shape == (4,)
    assert trace.chosen.shape == (2,)
    assert trace.load.sum() == 1
    assert len(trace.mix(())) == 2


# Balance


def test_the_balance_loss_is_1_when_even_and_n_experts_when_all_go_to_one():
    even = sending().forward([[1, 0], [0, 1]])
    assert even.load.tolist() == even.importance.tolist() == [0.5, 0.5]
    assert even.balance_loss == 1
    assert sending().forward([[900, 0], [900, 0]]).balance_loss == 2


def test_the_balance_loss_by_hand_for_two_of_three_experts():
    # Probabilities [1/2, 1/3, 1/6] and [1/4, 1/4, 1/2]; chosen 0, 1 and 2, 0.
    moe = MoE(router=np.identity(3), experts=[adding(0, 0, 0)] * 3, top_k=2)
    trace = moe.forward(np.log([[3, 2, 1], [1, 1, 2]]))
    assert trace.counts.tolist() == [2, 1, 1]
    np.testing.assert_allclose(trace.load, [0.5, 0.25, 0.25])
    np.testing.assert_allclose(trace.importance, [3 / 8, 7 / 24, 1 / 3])
    assert trace.balance_loss == pytest.approx(3 * (3 / 16 + 7 / 96 + 1 / 12))


# Backward


def test_the_routers_gradient_by_hand():
    # w = softmax of x = [0, 0], so d logits = w0 w1 (y0 - y1) · d_output = 1/4 · (10 - 100).
    moe = sending(experts=[adding(10, 0), adding(100, 0)], top_k=2)
    gradients = moe.forward([[0, 0], [0, 0]]).backward([[1, 0], [0, 1]])
    assert gradients.router_logits.tolist() == [[-22.5, 22.5], [0, 0]]
    assert gradients.x.tolist() == [[-22.5, 22.5], [0, 0]]
    first = gradients.experts[0]
    assert isinstance(first, Gradients)
    assert first.b2.tolist() == [0.5, 0.5]


def test_with_top_1_only_raw_probabilities_teach_the_router():
    x, d_output = [[1.0, 0.0]], [[1.0, 1.0]]
    assert not sending().forward(x).backward(d_output).router.any()
    raw = sending(renormalize=False).forward(x).backward(d_output)
    # p0 = 0.731059, d logits = p0 · (1 - p0) · 1.
    np.testing.assert_allclose(raw.router_logits, [[0.196612, -0.196612]], atol=5e-7)


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("renormalize", [True, False])
@pytest.mark.parametrize(
    ("options", "lead"),
    [
        ({"top_k": 1}, (5,)),
        ({"top_k": 2, "shared": True}, (2, 3)),
        ({"top_k": 2, "capacity": 2}, (5,)),
        ({"top_k": 3, "capacity": 1.0, "shared": True}, (2, 3)),
        ({"top_k": 1, "capacity": 1}, (5,)),
    ],
)
def test_every_gradient_is_a_central_difference_of_the_loss(gated, renormalize, options, lead):
    moe = MoE.random(3, 2, 4, seed=6, gated=gated, activation="gelu", renormalize=renormalize, **options)
    local = np.random.default_rng(8)
    x, d_output = local.standard_normal((*lead, 3)), local.standard_normal((*lead, 3))
    trace = moe.forward(x)
    assert np.diff(np.sort(trace.router_probs, axis=-1)).min() > 1e-3, "another choice within reach of h"
    assert np.diff(np.sort(trace.router_probs.reshape(-1, 4), axis=0), axis=0).min() > 1e-5, "another drop"
    assert trace.dropped.any() == ("capacity" in options)

    def loss(network: MoE, argument: Array) -> float:
        return float((network.forward(argument).output * d_output).sum())

    def check(gradient: Array, of: Any, array: Array) -> None:
        expected = central_difference(of, array, h=1e-6)
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-8)

    gradients = trace.backward(d_output)
    check(gradients.x, lambda values: loss(moe, values), x)
    check(gradients.router, lambda values: loss(dataclasses.replace(moe, router=values), x), moe.router)
    names = ("w_gate", "w_up", "w_down") if gated else ("w1", "b1", "w2", "b2")
    for name in names:
        for index, expert in enumerate(moe.experts):

            def of_expert(values: Array, index: int = index, expert: Any = expert, name: str = name) -> float:
                changed = dataclasses.replace(expert, **{name: values})
                experts = tuple(changed if i == index else other for i, other in enumerate(moe.experts))
                return loss(dataclasses.replace(moe, experts=experts), x)

            check(getattr(gradients.experts[index], name), of_expert, getattr(expert, name))
        if moe.shared is not None:

            def of_shared(values: Array, name: str = name) -> float:
                changed: Any = dataclasses.replace(moe.shared, **{name: values})  # type: ignore[type-var]
                return loss(dataclasses.replace(moe, shared=changed), x)

            check(getattr(gradients.shared, name), of_shared, getattr(moe.shared, name))
    assert (gradients.shared is None) == ("shared" not in options)


def test_the_gradient_of_the_logits_is_what_moving_one_tokens_logits_does():
    # The router is the identity, so a token's logits are x; its experts put out constants.
    moe = MoE(router=np.identity(3), experts=[adding(1, 0, 0), adding(0, 4, 0), adding(0, 0, 9)], top_k=2)
    x, d_output = np.array([[0.3, -0.1, -2.0]]), np.array([[1.0, -1.0, 2.0]])
    gradients = moe.forward(x).backward(d_output)
    expected = central_difference(lambda a: float((moe.forward(a).output * d_output).sum()), x)
    np.testing.assert_allclose(gradients.router_logits, expected, atol=1e-9)
    assert gradients.router_logits[0, 2] == 0, "the third was not chosen"


def test_an_unused_experts_gradients_are_zeros_of_its_shapes():
    moe = sending(experts=[FFN.random(2, 3), GatedFFN.random(2, 5)])
    dense, gated = moe.forward([[1, 0]]).backward([[1, 1]]).experts
    assert isinstance(dense, Gradients)
    assert isinstance(gated, GatedGradients)
    assert dense.w1.any()
    assert gated.w_gate.shape == (5, 2)
    assert not gated.w_gate.any()


# What is refused and what is kept


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        (
            {"router": np.ones(2)},
            r"router must be a matrix \[n_experts, d_model\] without an empty axis, got \[2\]",
        ),
        ({"router": np.ones((0, 2)), "experts": []}, "router must be a matrix"),
        ({"router": np.ones((3, 2))}, r"router must have a row for each of the 2 experts, got \[3, 2\]"),
        ({"router": np.ones((2, 3))}, "every expert must have the router's d_model = 3, got one of 2"),
        ({"shared": FFN.random(3)}, "every expert must have the router's d_model = 2, got one of 3"),
        ({"experts": [adding(0, 0), np.ones((2, 2))]}, "an expert must be an FFN or a GatedFFN, got ndarray"),
        ({"router": [["a", "b"]] * 2}, "router is not an array of numbers"),
    ],
)
def test_experts_that_do_not_fit_are_refused(changes, rule):
    with pytest.raises(ValueError, match=rule):
        sending(**changes)


def test_an_x_of_another_width_and_a_position_that_is_not_there_are_refused():
    with pytest.raises(ValueError, match=r"x must be \[\.\.\., d_model\] = \[\.\.\., 2\], got \[3\]"):
        sending().forward(np.ones(3))
    trace = sending().forward(np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"position must be one index \(0 to 1\)"):
        trace.mix(2)
    with pytest.raises(ValueError, match=r"d_output must have output's shape \[2, 2\], got \[2\]"):
        trace.backward(np.ones(2))


def test_nothing_in_it_can_be_written_to_and_a_callers_router_stays_his():
    router = np.identity(2)
    moe = sending(router=router)
    trace = moe.forward(np.ones((2, 2)))
    router[...] = 5
    assert moe.router.tolist() == [[1, 0], [0, 1]]
    arrays = [moe.router, *trace.tokens, *vars(route([1, 2], 1)).values()]
    for holder in (trace, trace.backward(np.ones((2, 2)))):
        arrays += [value for value in vars(holder).values() if isinstance(value, np.ndarray)]
    assert len(arrays) == 1 + 2 + 3 + 7 + 3
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_float32_is_kept_and_the_widest_wins():
    narrow = MoE.random(4, 6, 3, 2, dtype=np.float32)
    trace = narrow.forward(np.ones((2, 4), np.float32))
    for stage in ("router_logits", "router_probs", "routing_weights", "output"):
        assert getattr(trace, stage).dtype == np.float32
    assert trace.backward(np.ones((2, 4))).x.dtype == np.float32
    mixed = dataclasses.replace(narrow, experts=MoE.random(4, 6, 3, 2).experts)
    assert mixed.forward(np.ones((2, 4), np.float32)).output.dtype == np.float64


def test_large_values_in_float32_stay_finite():
    trace = MoE.random(4, 6, 3, 2, dtype=np.float32, gated=True).forward(np.full((2, 4), 1e15, np.float32))
    gradients = trace.backward(np.ones((2, 4)))
    for array in (trace.router_probs, trace.output, gradients.x, gradients.router):
        assert np.isfinite(array).all()


def test_a_random_mixture_is_the_same_for_the_same_seed_and_its_experts_differ():
    moe, again = (MoE.random(4, None, 3, 2, seed=5, shared=True) for _ in range(2))
    np.testing.assert_array_equal(moe.forward(np.ones(4)).output, again.forward(np.ones(4)).output)
    assert isinstance(moe.experts[0], FFN)
    assert moe.experts[0].d_ff == 16
    first = {expert.w2[0, 0] for expert in (*moe.experts, moe.shared) if expert is not None}
    assert len(first) == 4
    assert (moe.router != MoE.random(4, None, 3, 2, seed=6).router).all()
    assert isinstance(MoE.random(4, 6, 3, 2, gated=True).experts[2], GatedFFN)


def test_parameters_are_counted_in_all_and_as_a_token_meets_them():
    # Experts of 2·4·6 + 6 + 4 = 58, a router of 3·4.
    moe = MoE.random(4, 6, 3, 2)
    assert (moe.n_parameters, moe.n_active_parameters) == (12 + 3 * 58, 12 + 2 * 58)
    shared = MoE.random(4, 6, 3, 2, shared=True)
    assert (shared.n_parameters, shared.n_active_parameters) == (12 + 4 * 58, 12 + 3 * 58)
    assert type(moe.n_parameters) is type(moe.n_active_parameters) is int
