"""Gradients against central differences: what the check finds, what it skips, and that it tells."""

from dataclasses import replace

import numpy as np
import pytest

from ffn_core import ACTIVATIONS, FFN, GLU_KINDS, GatedFFN, MoE, Trace, error_by_step, relative_errors
from ffn_core.gradcheck import Checked, check

rng = np.random.default_rng(11)


def one_neuron(w=1.0, b=0.0, **changes):
    """output = act(w·x + b), for one number."""
    return FFN(**{"w1": [[w]], "b1": [b], "w2": [[1]], "b2": [0], "activation": "relu"} | changes)


# Right gradients pass


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("lead", [(), (3,), (2, 2)])
def test_a_dense_networks_gradients_pass(name, lead):
    x, d_output = rng.standard_normal((*lead, 3)), rng.standard_normal((*lead, 3))
    errors = relative_errors(FFN.random(3, 5, seed=2, activation=name), x, d_output)
    assert list(errors) == ["x", "w1", "b1", "w2", "b2"]
    assert max(errors.values()) < 1e-7


@pytest.mark.parametrize("kind", GLU_KINDS)
def test_a_gated_networks_gradients_pass_with_the_biases_that_it_has(kind):
    ffn = GatedFFN.random(3, 5, seed=1, activation=GLU_KINDS[kind].activation)
    x, d_output = rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
    errors = relative_errors(ffn, x, d_output)
    assert list(errors) == ["x", "w_gate", "w_up", "w_down"]
    biased = replace(ffn, b_gate=rng.standard_normal(5), b_down=rng.standard_normal(3))
    errors |= relative_errors(biased, x, d_output)
    assert list(errors) == ["x", "w_gate", "w_up", "w_down", "b_gate", "b_down"]
    assert max(errors.values()) < 1e-7


@pytest.mark.parametrize("top_k", [1, 2])
@pytest.mark.parametrize("renormalize", [True, False])
@pytest.mark.parametrize("gated", [True, False])
def test_a_mixtures_gradients_pass_under_flat_names(top_k, renormalize, gated):
    moe = MoE.random(3, 4, 3, top_k, seed=5, renormalize=renormalize, gated=gated, shared=True)
    errors = relative_errors(moe, rng.standard_normal((4, 3)), rng.standard_normal((4, 3)))
    names = ("w_gate", "w_up", "w_down") if gated else ("w1", "b1", "w2", "b2")
    holders = ("experts[0]", "experts[1]", "experts[2]", "shared")
    assert list(errors) == ["x", "router", *(f"{holder}.{name}" for holder in holders for name in names)]
    assert max(errors.values()) < 1e-7


def test_a_mixture_that_drops_tokens_passes():
    moe = MoE.random(3, 4, 3, 2, seed=5, capacity=2)
    x = rng.standard_normal((5, 3))
    assert moe.forward(x).dropped.any()
    assert max(relative_errors(moe, x, rng.standard_normal((5, 3))).values()) < 1e-7


def test_float32_weights_are_checked_in_float64():
    # Case N8: in float32 this h gives 1.043.
    for dtype in (np.float32, np.float64):
        ffn = one_neuron(w=np.array(1, dtype), activation="gelu_tanh")
        (result,) = check(ffn, np.ones((1, 1), dtype), np.ones((1, 1), dtype), names=["x"]).values()
        assert result.numeric.dtype == result.analytic.dtype == np.float64
        assert result.numeric[0, 0] == pytest.approx(1.082964084, abs=1e-8)
        assert result.analytic[0, 0] == pytest.approx(1.082964084, abs=1e-9)


@pytest.mark.parametrize("lead", [(0,), (3, 0)])
def test_an_empty_sequence_has_nothing_to_be_wrong_about(lead):
    errors = relative_errors(FFN.random(3, 5), np.ones((*lead, 3)), np.ones((*lead, 3)))
    assert set(errors.values()) == {0}


# Wrong gradients do not


@pytest.mark.parametrize("array", ["x", "w1", "b1", "w2", "b2"])
def test_one_wrong_entry_is_found_in_its_array_alone(array, monkeypatch):
    right = Trace.backward

    def wrong(self, d_output):
        gradients = right(self, d_output)
        values = getattr(gradients, array).copy()
        values.flat[0] *= 1.01
        return replace(gradients, **{array: values})

    monkeypatch.setattr(Trace, "backward", wrong)
    errors = relative_errors(FFN.random(2, 3, seed=4), [[1.0, -0.5]], [[1.0, 2.0]])
    assert errors.pop(array) > 1e-4
    assert max(errors.values()) < 1e-7


def test_the_error_is_relative_to_the_greatest_entry_of_the_array():
    result = Checked(
        analytic=np.array([4.0, 1e-9, 0.0]), numeric=np.array([4.0, 0.0, 0.02]), skipped=np.zeros(3, bool)
    )
    assert result.relative_error == 0.005
    assert result.n_skipped == 0


def test_what_is_skipped_counts_neither_as_error_nor_as_measure():
    result = Checked(
        analytic=np.array([100.0, 1.0]), numeric=np.array([0.0, 1.5]), skipped=np.array([True, False])
    )
    assert result.relative_error == 0.5 / 1.5
    assert result.n_skipped == 1


def test_a_gradient_that_is_no_number_is_no_small_error():
    errors = relative_errors(one_neuron(w=np.inf), [[1.0]], [[1.0]])
    assert np.isnan(errors["x"])


# Corners are skipped, and it is told


def test_relus_corner_is_no_false_alarm():
    # Case N7. By hand: moving x or b1 moves hidden off 0; moving w1 moves nothing, since x is 0.
    result = check(one_neuron(), [[0.0]], [[1.0]])
    for name in ("x", "b1"):
        assert result[name].analytic.item() == 0
        assert result[name].numeric.item() == pytest.approx(0.5)
        assert result[name].skipped.tolist() == ([[True]] if name == "x" else [True])
        assert result[name].relative_error == 0
    assert [result[name].n_skipped for name in ("x", "w1", "b1", "w2", "b2")] == [1, 0, 1, 0, 0]
    assert set(relative_errors(one_neuron(), [[0.0]], [[1.0]]).values()) == {0}


@pytest.mark.parametrize(("hidden", "crosses"), [(5e-7, True), (-5e-7, True), (2e-6, False), (-2e-6, False)])
def test_a_corner_within_reach_of_h_is_skipped_and_one_beyond_is_not(hidden, crosses):
    result = check(one_neuron(b=hidden), [[0.0]], [[1.0]], h=1e-6)
    assert bool(result["x"].n_skipped) is crosses
    assert result["x"].relative_error < 1e-7


@pytest.mark.parametrize("name", [name for name in ACTIVATIONS if name != "relu"])
def test_only_relu_has_a_corner(name):
    result = check(one_neuron(activation=name), [[0.0]], [[1.0]])
    assert not any(one.n_skipped for one in result.values())
    np.testing.assert_allclose(result["x"].numeric, result["x"].analytic, atol=1e-6)


def test_only_the_entries_that_reach_the_corner_are_skipped():
    ffn = FFN(w1=[[1, 0], [0, 1]], b1=[0, 0], w2=[[1, 1], [1, -1]], b2=[0, 0], activation="relu")
    result = check(ffn, [[0.0, 1.0]], [[1.0, 2.0]])  # hidden is [0, 1]
    assert result["x"].skipped.tolist() == [[True, False]]
    assert result["b1"].skipped.tolist() == [True, False]
    assert result["w1"].skipped.tolist() == [
        [False, True],
        [False, False],
    ]  # its other weight meets an x of 0
    assert max(one.relative_error for one in result.values()) < 1e-7


def test_a_gates_corner_is_skipped_too_but_not_its_other_branch():
    ffn = GatedFFN(w_gate=[[1.0]], w_up=[[1.0]], w_down=[[1.0]], b_gate=[-1], activation="relu")
    result = check(ffn, [[1.0]], [[1.0]])  # gate 0, up 1
    assert {name: one.n_skipped for name, one in result.items()} == {
        "x": 1, "w_gate": 1, "w_up": 0, "w_down": 0, "b_gate": 1,
    }  # fmt: skip


@pytest.mark.parametrize("renormalize", [True, False])
def test_a_change_of_expert_is_skipped(renormalize):
    # A tie: the router's least change sends the token to the other expert, which puts out 9 where this puts out 1.
    experts = [FFN(w1=[[0.0]], b1=[0.0], w2=[[0.0]], b2=[b2]) for b2 in (1.0, 9.0)]
    tied = MoE(router=[[1.0], [1.0]], experts=experts, top_k=1, renormalize=renormalize)
    result = check(tied, [[1.0]], [[1.0]])
    assert result["router"].skipped.all()
    assert np.abs(result["router"].numeric).max() > 1e5
    assert not result["x"].skipped.any(), "moves both logits alike"
    assert max(one.relative_error for one in result.values()) < 1e-7
    both = replace(tied, top_k=2)
    assert not check(both, [[1.0]], [[1.0]])["router"].skipped.any(), "in another order, but the same experts"
    assert relative_errors(both, [[1.0]], [[1.0]])["router"] < 1e-7


def test_a_corner_within_an_expert_is_skipped():
    silent = one_neuron(w2=[[2.0]])
    moe = MoE(router=[[0.0]], experts=[silent], top_k=1, shared=one_neuron(b=1.0))
    result = check(moe, [[0.0]], [[1.0]])
    assert result["experts[0].b1"].n_skipped == 1
    assert result["shared.b1"].n_skipped == 0
    swapped = check(replace(moe, experts=(one_neuron(b=1.0),), shared=silent), [[0.0]], [[1.0]])
    assert swapped["experts[0].b1"].n_skipped == 0
    assert swapped["shared.b1"].n_skipped == 1


# The step


def test_truncation_falls_with_the_square_of_h_and_rounding_rises_as_h_falls():
    ffn, x, d_output = FFN.random(3, 5, seed=2, activation="gelu"), np.ones((2, 3)), np.ones((2, 3))
    large, smaller, best, tiny = error_by_step(ffn, x, d_output, [1e-1, 1e-2, 1e-5, 1e-12])
    assert large / smaller == pytest.approx(100, rel=0.05)
    assert best < 1e-9
    assert tiny > 1e-6


def test_the_error_of_a_step_is_the_greatest_of_its_relative_errors():
    ffn, x, d_output = FFN.random(3, 5, seed=2), np.ones((2, 3)), np.ones((2, 3))
    assert error_by_step(ffn, x, d_output, [1e-3]).tolist() == [
        max(relative_errors(ffn, x, d_output, 1e-3).values())
    ]
    (only_b2,) = error_by_step(ffn, x, d_output, [1e-1], names=["b2"])
    assert only_b2 < 1e-12, "the output is linear in b2"
    assert error_by_step(ffn, x, d_output, []).shape == (0,)


# A few entries of many


def test_a_bound_tries_so_many_entries_of_each_array_and_compares_no_other():
    ffn, x = FFN.random(4, 16, seed=1), np.array([[0.5, -1.0, 2.0, 0.25]])
    result = check(ffn, x, np.ones((1, 4)), most=10)
    assert {name: int(one.tried.sum()) for name, one in result.items()} == {
        "x": 4, "w1": 10, "b1": 10, "w2": 10, "b2": 4,
    }  # fmt: skip
    w1 = result["w1"]
    assert not w1.numeric[~w1.tried].any()
    assert w1.tried.any(axis=0).all(), "they are spread over all columns"
    assert w1.tried[13:].any(), "and over the rows, to the last ones"
    assert w1.relative_error < 1e-7
    assert not result["x"].skipped.any()


# What is refused


@pytest.mark.parametrize("h", [0, -1e-6, np.nan, np.inf])
def test_a_step_that_is_none_is_refused(h):
    with pytest.raises(ValueError, match="h must be a finite number above 0, got"):
        relative_errors(FFN.random(2), np.ones((1, 2)), np.ones((1, 2)), h)


def test_an_array_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="no array is called 'w3'; there are x, w1, b1, w2, b2"):
        check(FFN.random(2), np.ones((1, 2)), np.ones((1, 2)), names=["w3"])


def test_a_gradient_of_another_shape_than_output_is_refused():
    with pytest.raises(ValueError, match=r"d_output must have output's shape \[2, 2\], got \[2\]"):
        relative_errors(FFN.random(2), np.ones((2, 2)), np.ones(2))
