"""Losses of an output, each with its gradient: the d_output that `backward` takes."""

import numpy as np
from numpy.typing import ArrayLike

from ffn_core.activations import ACTIVATIONS, Array, as_numbers


def squared_error(output: ArrayLike, target: ArrayLike) -> tuple[float, Array]:
    """The mean of (output - target)² over all entries, without a half, and its gradient 2·(output - target)/n.

    `target` has output's shape, and so has the gradient. Of no entries the loss is 0.
    """
    output, target = _alike("output", output, "target", target)
    with np.errstate(all="ignore"):
        error = output - target
        share = 1 / max(1, error.size)
        return float((error * error).sum()) * share, (2 * share) * error


def logistic(logits: ArrayLike, classes: ArrayLike) -> tuple[float, Array]:
    """The mean of -log(the probability of the class that it is), and its gradient with respect to the logits.

    The probability of class 1 is sigmoid(logit). `classes` are 0 or 1, in the shape of `logits`; the gradient has it,
    too. It is written as log(1 + exp(-margin)), the margin being the logit towards the right class, which neither
    overflows nor loses a small loss to rounding. Of no entries the loss is 0.
    """
    logits, classes = _alike("logits", logits, "classes", classes)
    with np.errstate(all="ignore"):
        sign = 2 * classes - 1
        if not (np.abs(sign) == 1).all():
            raise ValueError("classes must be 0 or 1 each")
        wrong_by = -sign * logits
        share = 1 / max(1, logits.size)
        loss = float(np.logaddexp(0, wrong_by).sum()) * share
        return loss, -share * sign * ACTIVATIONS["sigmoid"](wrong_by)


def accuracy(logits: ArrayLike, classes: ArrayLike) -> float:
    """The share of `logits` on the side of their class, 0 to 1: above 0 is class 1, everything else class 0."""
    logits, classes = _alike("logits", logits, "classes", classes)
    return float(((logits > 0) == (classes == 1)).sum()) / max(1, logits.size)


def _alike(name: str, values: ArrayLike, other: str, others: ArrayLike) -> tuple[Array, Array]:
    """Both as numbers; a ValueError unless they have one shape, since [n] and [n, 1] would broadcast into nonsense."""
    a, b = as_numbers(name, values), as_numbers(other, others)
    if a.shape != b.shape:
        raise ValueError(f"{other} must have the shape of {name}, {list(a.shape)}, got {list(b.shape)}")
    return a, b
