"""The backward pass: by hand for two neurons, then against central differences for everything."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from ffn_core import ACTIVATIONS, FFN
from ffn_core.activations import Array
from tests.differences import central_difference

ARRAYS = ("w1", "b1", "w2", "b2")


def test_a_two_by_two_network_by_hand():
    """x = [1, -1], keys [1, 1] and [1, -1]: the first neuron is silent, and learns nothing."""
    ffn = FFN(w1=[[1, 1], [1, -1]], b1=[-1, 0], w2=[[1, 2], [3, 4]], b2=[0, 0], activation="relu")
    trace = ffn.forward([[1, -1]])
    assert trace.hidden.tolist() == [[-1, 2]]
    gradients = trace.backward([[1, 10]])
    assert gradients.activated.tolist() == [
        [1 * 1 + 10 * 3, 1 * 2 + 10 * 4]
    ]  # the columns of w2 meet d_output
    assert gradients.hidden.tolist() == [[0, 42]]  # the silent neuron's is blocked
    assert gradients.x.tolist() == [[42, -42]]  # 42 times key [1, -1]
    assert gradients.w1.tolist() == [[0, 0], [42, -42]]  # 42 times x
    assert gradients.b1.tolist() == [0, 42]
    assert gradients.w2.tolist() == [[0, 2], [0, 20]]  # d_output times activated [0, 2]
    assert gradients.b2.tolist() == [1, 10]


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("lead", [(), (3,), (2, 2)])
def test_every_gradient_is_a_central_difference_of_the_loss(name, lead):
    rng = np.random.default_rng(3)
    ffn = FFN.random(3, 5, seed=2, activation=name)
    x, d_output = rng.standard_normal((*lead, 3)), rng.standard_normal((*lead, 3))
    trace = ffn.forward(x)
    assert np.abs(trace.hidden).min() > 1e-3, "a kink within reach of h would be a false alarm (case N7)"

    def loss(network: FFN, argument: Array) -> float:
        return float((network.forward(argument).output * d_output).sum())

    gradients = trace.backward(d_output)
    np.testing.assert_allclose(gradients.x, central_difference(lambda a: loss(ffn, a), x), atol=1e-8)
    for array in ARRAYS:

        def of_weights(values: Array, array: str = array) -> float:
            changed: dict[str, Any] = {array: values}
            return loss(dataclasses.replace(ffn, **changed), x)

        expected = central_difference(of_weights, getattr(ffn, array))
        np.testing.assert_allclose(getattr(gradients, array), expected, atol=1e-8)


def test_the_inner_gradients_are_central_differences_too():
    ffn = FFN.random(3, 5, seed=4)
    trace = ffn.forward(np.ones((2, 3)))
    d_output = np.array([[1.0, -2.0, 0.5], [0.0, 1.0, 3.0]])
    gradients = trace.backward(d_output)

    def after_hidden(hidden: Array) -> float:
        return float(((ACTIVATIONS[ffn.activation](hidden) @ ffn.w2.T) * d_output).sum())

    np.testing.assert_allclose(gradients.hidden, central_difference(after_hidden, trace.hidden), atol=1e-8)
    np.testing.assert_allclose(
        gradients.activated,
        central_difference(lambda a: float(((a @ ffn.w2.T) * d_output).sum()), trace.activated),
        atol=1e-8,
    )


def test_gradients_of_the_weights_add_up_over_positions():
    ffn = FFN.random(3, 5)
    x = np.random.default_rng(0).standard_normal((2, 3))
    both = ffn.forward(x).backward(np.ones((2, 3)))
    alone = [ffn.forward(row).backward(np.ones(3)) for row in x]
    for array in ARRAYS:
        np.testing.assert_allclose(getattr(both, array), sum(getattr(g, array) for g in alone), atol=1e-14)


@pytest.mark.parametrize("lead", [(0,), (3, 0)])
def test_an_empty_sequence_teaches_nothing(lead):
    gradients = FFN.random(3, 5).forward(np.ones((*lead, 3))).backward(np.ones((*lead, 3)))
    assert gradients.x.shape == (*lead, 3)
    for array in ARRAYS:
        assert not getattr(gradients, array).any()


def test_each_gradient_has_the_shape_and_dtype_of_its_array():
    ffn = FFN.random(3, 5, dtype=np.float32)
    trace = ffn.forward(np.ones((2, 4, 3), np.float32))
    gradients = trace.backward(np.ones((2, 4, 3)))
    for holder, names in ((ffn, ARRAYS), (trace, ("x", "hidden", "activated"))):
        for name in names:
            assert getattr(gradients, name).shape == getattr(holder, name).shape
            assert getattr(gradients, name).dtype == np.float32


@pytest.mark.parametrize("shape", [(3,), (1, 3), (2, 5), ()])
def test_a_gradient_of_another_shape_than_output_is_refused(shape):
    with pytest.raises(ValueError, match=r"d_output must have output's shape \[2, 3\], got"):
        FFN.random(3, 5).forward(np.ones((2, 3))).backward(np.ones(shape))
