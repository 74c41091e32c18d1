"""Steps against the gradient, worked out by hand."""

from typing import Any

import numpy as np
import pytest

from ffn_core import FFN, GatedFFN, MoE, gradient_step
from ffn_core.losses import squared_error
from ffn_core.optimizers import SGD, Adam, moved, optimizer_called
from ffn_core.parameters import parameters, with_parameters


def test_one_step_takes_the_rate_times_the_gradient_off():
    ffn = FFN(w1=[[2.0]], b1=[1.0], w2=[[3.0]], b2=[0.0], activation="identity")
    # x = 1: hidden = activated = 3, output 9. d_output 1: w2 gets 3, b2 1, w1 and b1 3 each.
    after = gradient_step(ffn, ffn.forward([[1.0]]).backward([[1.0]]), 0.5)
    assert (after.w1.item(), after.b1.item(), after.w2.item(), after.b2.item()) == (0.5, -0.5, 1.5, -0.5)
    assert after.activation == "identity"
    assert ffn.w1.item() == 2, "the network that was stepped from is as it was"


def test_only_the_arrays_that_are_named_move():
    ffn = FFN.random(2, 3)
    gradients = ffn.forward(np.ones((1, 2))).backward(np.ones((1, 2)))
    after = gradient_step(ffn, gradients, 0.1, names=["w2"])
    assert (after.w2 != ffn.w2).any()
    for name in ("w1", "b1", "b2"):
        assert (getattr(after, name) == getattr(ffn, name)).all()
    with pytest.raises(ValueError, match="no array is called 'x'; there are w1, b1, w2, b2"):
        gradient_step(ffn, gradients, 0.1, names=["x"])


@pytest.mark.parametrize(
    "layer",
    [FFN.random(2, 3), GatedFFN.random(2, 3), MoE.random(2, 3, 3, 2, shared=True)],
    ids=lambda x: type(x).__name__,
)
def test_a_small_step_lowers_the_loss_of_any_layer(layer):
    x, target = np.array([[1.0, -0.5], [0.2, 0.7]]), np.ones((2, 2))
    trace = layer.forward(x)
    before, d_output = squared_error(trace.output, target)
    after = gradient_step(layer, trace.backward(d_output), 0.01)
    assert type(after) is type(layer)
    assert squared_error(after.forward(x).output, target)[0] < before


def test_float32_weights_stay_float32():
    ffn = FFN.random(2, 3, dtype=np.float32)
    after = gradient_step(ffn, ffn.forward(np.ones((1, 2))).backward(np.ones((1, 2))), 0.1)
    assert after.w1.dtype == np.float32


def test_a_mixtures_parameters_come_back_under_their_names():
    moe = MoE.random(2, 3, 2, 1, shared=True, gated=True)
    changed = {name: array + i for i, (name, array) in enumerate(parameters(moe).items(), start=1)}
    after = with_parameters(moe, changed)
    holders, names = ("experts[0]", "experts[1]", "shared"), ("w_gate", "w_up", "w_down")
    assert list(changed) == ["router", *(f"{holder}.{name}" for holder in holders for name in names)]
    assert (after.router == changed["router"]).all()
    assert (after.experts[1].w_up == changed["experts[1].w_up"]).all()  # type: ignore[union-attr]
    assert (after.shared.w_down == changed["shared.w_down"]).all()  # type: ignore[union-attr]
    one = with_parameters(moe, {"experts[0].w_up": np.zeros((3, 2))})
    assert not one.experts[0].w_up.any()  # type: ignore[union-attr]
    assert one.experts[1] is moe.experts[1]


@pytest.mark.parametrize("rate", [0, -0.1, np.nan, np.inf])
def test_a_learning_rate_that_is_none_is_refused(rate):
    ffn = FFN.random(2)
    gradients = ffn.forward(np.ones(2)).backward(np.ones(2))
    with pytest.raises(ValueError, match="learning_rate must be a finite number above 0, got"):
        gradient_step(ffn, gradients, rate)


# Directions


def test_momentum_adds_up_past_gradients():
    sgd = SGD(momentum=0.5)
    assert [sgd.direction(np.array([g])).item() for g in (4.0, 0.0, 1.0)] == [4, 2, 2]
    plain = SGD(momentum=0)
    assert [plain.direction(np.array([g])).item() for g in (4.0, 0.0, 1.0)] == [4, 0, 1]


def test_adams_first_step_is_the_sign_and_its_second_by_hand():
    adam = Adam()
    np.testing.assert_allclose(adam.direction(np.array([1.0, -3e-4, 0.0])), [1, -1, 0], rtol=1e-4)
    # Gradients 1, then -2. m = 0.9·0.1 - 0.2 = -0.11, over 1 - 0.81; v = 0.000999 + 0.004, over 1 - 0.998001.
    second = adam.direction(np.array([-2.0, 0.0, 0.0]))
    assert second[0] == pytest.approx((-0.11 / 0.19) / np.sqrt(0.004999 / 0.001999), rel=1e-6)
    assert second[0] == pytest.approx(-0.366103, abs=1e-6)
    assert second[2] == 0


def test_weight_decay_is_decoupled_from_the_direction():
    # 10 - 0.1·(2 + 0.5·10)
    assert moved(np.array([10.0]), np.array([2.0]), 0.1, 0.5).tolist() == [9.3]
    assert moved(np.array([10.0]), np.array([2.0]), 0.1).tolist() == [9.8]


def test_overflow_is_infinite_without_a_warning():
    huge: Any = np.array([1e200])
    assert np.isfinite(Adam().direction(huge)).all()
    assert SGD().direction(huge * 1e100).tolist() == [1e300]
    assert moved(huge, huge * 1e100, 1e10).tolist() == [-np.inf]


@pytest.mark.parametrize("momentum", [-0.1, 1, np.nan])
def test_a_momentum_that_would_never_stop_is_refused(momentum):
    with pytest.raises(ValueError, match="momentum must be from 0 to below 1, got"):
        optimizer_called("sgd", momentum)


def test_an_optimizer_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="no optimizer is called 'lion'; there are adam, sgd"):
        optimizer_called("lion", 0.9)
