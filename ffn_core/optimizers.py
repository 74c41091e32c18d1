"""How parameters are moved against their gradient: one plain step, SGD with momentum, Adam."""

import math
from collections.abc import Iterable
from typing import Protocol

import numpy as np

from ffn_core.activations import Array
from ffn_core.parameters import AnyGradients, AnyLayer, check_names, parameters, with_parameters

OPTIMIZERS = ("adam", "sgd")


def gradient_step(
    ffn: AnyLayer, gradients: AnyGradients, learning_rate: float, names: Iterable[str] | None = None
) -> AnyLayer:
    """`ffn` with learning_rate · gradient taken off its arrays `names` (see `ffn_core.parameters`), None for all.

    `ffn` is an FFN, a GatedFFN or an MoE, `gradients` what its trace's `backward` gave. Arrays keep their dtype.
    """
    check_learning_rate(learning_rate)
    arrays, slopes = parameters(ffn), parameters(gradients)
    chosen = list(arrays) if names is None else list(names)
    check_names(chosen, arrays)
    after = {
        name: moved(arrays[name], slopes[name].astype(arrays[name].dtype, copy=False), learning_rate)
        for name in chosen
    }
    return with_parameters(ffn, after)


def moved(array: Array, direction: Array, learning_rate: float, weight_decay: float = 0.0) -> Array:
    """array - learning_rate · (direction + weight_decay · array), a new array.

    The decay is decoupled: it is no part of the gradient, and neither momentum nor Adam's scaling sees it (Loshchilov
    and Hutter 2019, arXiv:1711.05101).
    """
    with np.errstate(all="ignore"):
        return array - learning_rate * (direction + weight_decay * array if weight_decay else direction)


class Optimizer(Protocol):
    """What turns each step's gradient into the direction that is taken off the parameters."""

    def direction(self, gradient: Array) -> Array:
        """The direction after this gradient; it remembers what it needs of it."""


class SGD:
    """Gradient descent with momentum: velocity = momentum · velocity + gradient, from 0; 0 is plain descent."""

    def __init__(self, momentum: float = 0.9) -> None:
        """Stand still; `momentum` is from 0 to below 1."""
        if not 0 <= momentum < 1:
            raise ValueError(f"momentum must be from 0 to below 1, got {momentum!r}")
        self.momentum = momentum
        self.velocity: Array | None = None

    def direction(self, gradient: Array) -> Array:
        """The velocity."""
        if self.velocity is None:
            self.velocity = np.zeros_like(gradient)
        with np.errstate(all="ignore"):
            self.velocity = self.momentum * self.velocity + gradient
        return self.velocity


class Adam:
    """Adam with its paper's defaults and bias correction (Kingma and Ba 2015, arXiv:1412.6980, algorithm 1)."""

    def __init__(self, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8) -> None:
        """Remember nothing."""
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self.step = 0
        self.mean: Array | None = None
        self.square: Array | None = None

    def direction(self, gradient: Array) -> Array:
        """The corrected running mean of the gradients over the root of that of their squares."""
        if self.mean is None or self.square is None:
            self.mean, self.square = np.zeros_like(gradient), np.zeros_like(gradient)
        self.step += 1
        with np.errstate(all="ignore"):
            self.mean = self.beta1 * self.mean + (1 - self.beta1) * gradient
            self.square = self.beta2 * self.square + (1 - self.beta2) * (gradient * gradient)
            mean = self.mean / (1 - self.beta1**self.step)
            square = self.square / (1 - self.beta2**self.step)
            direction: Array = mean / (np.sqrt(square) + self.epsilon)
        return direction


def optimizer_called(name: str, momentum: float) -> Optimizer:
    """A new optimizer; `momentum` is SGD's. A ValueError says which there are."""
    sgd = SGD(momentum)  # refuses a wrong momentum for Adam, too, rather than leave it unseen
    if name not in OPTIMIZERS:
        raise ValueError(f"no optimizer is called {name!r}; there are {', '.join(OPTIMIZERS)}")
    return Adam() if name == "adam" else sgd


def check_learning_rate(learning_rate: float) -> None:
    """Raise a ValueError unless it is a finite number above 0."""
    if not (math.isfinite(learning_rate) and learning_rate > 0):
        raise ValueError(f"learning_rate must be a finite number above 0, got {learning_rate!r}")
