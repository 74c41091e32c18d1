"""Losses by hand, and their gradients by central differences."""

import numpy as np
import pytest

from ffn_core.losses import accuracy, logistic, squared_error
from tests.differences import central_difference


def test_the_squared_error_is_a_mean_over_all_entries_without_a_half():
    loss, d_output = squared_error([[1, 2], [3, 4]], [[1, 0], [0, 4]])
    assert loss == (4 + 9) / 4
    assert d_output.tolist() == [[0, 1], [1.5, 0]]


def test_the_logistic_loss_is_the_mean_surprise_at_the_right_class():
    loss, d_logits = logistic([0.0, np.log(3)], [1, 0])  # probabilities of class 1: 1/2 and 3/4
    assert loss == pytest.approx((np.log(2) + np.log(4)) / 2)
    np.testing.assert_allclose(d_logits, [-0.5 / 2, 0.75 / 2])


def test_far_out_the_logistic_loss_neither_overflows_nor_loses_what_is_left():
    assert logistic([1000.0], [0])[0] == 1000
    assert logistic([1000.0], [0])[1].tolist() == [1]
    loss, d_logits = logistic([40.0, -40.0], [1, 0])
    assert loss == pytest.approx(np.exp(-40))
    np.testing.assert_allclose(d_logits, [-np.exp(-40) / 2, np.exp(-40) / 2])
    assert logistic([np.inf, -np.inf], [1, 0])[0] == 0
    assert logistic([np.inf], [0])[0] == np.inf


@pytest.mark.parametrize(
    ("loss", "target"),
    [(squared_error, [0.5, -2.0, 0.0]), (logistic, [0, 1, 1])],
    ids=["squared", "logistic"],
)
def test_each_gradient_is_a_central_difference_of_its_loss(loss, target):
    at = np.array([0.3, -1.0, 2.0])
    expected = central_difference(lambda values: loss(values, target)[0], at)
    np.testing.assert_allclose(loss(at, target)[1], expected, atol=1e-9)


def test_infinite_outputs_have_a_loss_and_no_warning():
    assert squared_error([1e300, np.inf], [0, 0])[0] == np.inf
    assert np.isnan(squared_error([np.inf], [np.inf])[0])


def test_no_entries_lose_nothing():
    for loss in (squared_error, logistic):
        value, gradient = loss(np.ones((0, 3)), np.ones((0, 3)))
        assert value == 0
        assert gradient.shape == (0, 3)
    assert accuracy([], []) == 0


def test_a_logit_above_0_is_class_1_and_0_itself_is_not():
    assert accuracy([0.1, -0.1, 0.0, 5.0], [1, 0, 0, 0]) == 0.75


def test_shapes_that_would_broadcast_into_nonsense_are_refused():
    with pytest.raises(ValueError, match=r"target must have the shape of output, \[3, 1\], got \[3\]"):
        squared_error(np.ones((3, 1)), np.ones(3))
    with pytest.raises(ValueError, match=r"classes must have the shape of logits, \[3\], got \[2\]"):
        logistic(np.ones(3), np.ones(2))


@pytest.mark.parametrize("classes", [[2], [-1], [0.5], [np.nan]])
def test_a_class_other_than_0_and_1_is_refused(classes):
    with pytest.raises(ValueError, match="classes must be 0 or 1 each"):
        logistic([1.0], classes)
