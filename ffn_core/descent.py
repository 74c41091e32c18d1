"""What the backward pass starts from, a number to be made smaller, and one gradient step on a scenario towards it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from ffn_core.activations import Array
from ffn_core.dense import FFN, Trace
from ffn_core.losses import squared_error
from ffn_core.matrix_text import MAX_MAGNITUDE
from ffn_core.memories import with_strengths
from ffn_core.optimizers import gradient_step
from ffn_core.parameters import parameters, with_parameters
from ffn_core.replay import Edit
from ffn_core.scenario import Scenario

Start = Literal["target", "ones", "one"]
STARTS: tuple[Start, ...] = get_args(Start)


def padded(target: Sequence[float], d_model: int) -> tuple[float, ...]:
    """`target` with one number for each coordinate: cut to d_model numbers, or filled up with 0."""
    return (*target[:d_model], *(0.0 for _ in range(d_model - len(target))))


@dataclass(frozen=True, kw_only=True)
class Objective:
    """A number that one position's output makes, and that gradient descent makes smaller.

    `start` is "target", the squared error to `target` (`ffn_core.losses.squared_error`; missing numbers are 0); "ones",
    the sum of the output's coordinates; or "one", its coordinate `coordinate` alone. `position` is an index into x
    [positions, d_model]; no other position counts, so that their gradients are exactly 0.
    """

    start: Start = "target"
    position: int = 0
    coordinate: int = 0
    target: tuple[float, ...] = ()

    def loss(self, trace: Trace) -> float:
        """The number."""
        return self._loss_and_slope(trace)[0]

    def d_output(self, trace: Trace) -> Array:
        """Its gradient with respect to output, [positions, d_model]."""
        d_output = np.zeros_like(trace.output)
        d_output[self.position] = self._loss_and_slope(trace)[1]
        return d_output

    def _loss_and_slope(self, trace: Trace) -> tuple[float, Array]:
        """The number, and its gradient with respect to the output at the position, [d_model]."""
        output = trace.output[self.position]
        if self.start == "target":
            return squared_error(output, padded(self.target, len(output)))
        slope = np.ones_like(output)
        if self.start == "one":
            slope = np.zeros_like(output)
            slope[self.coordinate] = 1
        chosen = output[slope == 1]
        with np.errstate(all="ignore"):
            return float(chosen.sum()), slope


@dataclass(frozen=True, eq=False, kw_only=True)
class OneStep:
    """One gradient step: the loss before and after it, and what the gradient alone promises.

    `arrays` are the moved arrays by name. `predicted` is -learning_rate · |gradient|², the change of the loss if it
    were as straight as its tangent.
    """

    arrays: dict[str, Array]
    before: float
    after: float
    predicted: float

    @property
    def change(self) -> float:
        """How much the loss changes."""
        with np.errstate(all="ignore"):
            return float(np.float64(self.after) - self.before)

    def edit(self) -> Edit:
        """The step as one edit of the scenario."""
        writes = (Edit(name, (0,) * array.ndim, array.tolist()) for name, array in self.arrays.items())
        return Edit("together", (), tuple(writes))


def one_step(
    scenario: Scenario, objective: Objective, learning_rate: float, names: Iterable[str] | None = None
) -> OneStep:
    """A step on the arrays `names` (w1, b1, w2, b2; None for all) of a dense scenario.

    What is moved are the arrays as edited. The interventions stay: an output that has strength · value j in it moves
    value j by strength times the gradient of w2's column, and the value of a neuron that is switched off not at all.
    A ValueError says when a number would leave the range of edits, or what does not fit.
    """
    network, x = scenario.build()
    trace: Trace = network.forward(x)
    gradients = trace.backward(objective.d_output(trace))
    strength = np.ones(network.d_ff)
    strength[list(scenario.strengths)] = list(scenario.strengths.values())
    with np.errstate(all="ignore"):
        gradients = replace(gradients, w2=gradients.w2 * strength)
    own: FFN = with_parameters(network, {"w2": scenario.arrays["w2"]})
    after = gradient_step(own, gradients, learning_rate, names)
    chosen = list(parameters(own)) if names is None else list(names)
    arrays = {name: parameters(after)[name] for name in chosen}
    for name, array in arrays.items():
        if not (np.abs(array) <= MAX_MAGNITUDE).all():
            raise ValueError(
                f"this step would take {name} beyond ±{MAX_MAGNITUDE:g}, the largest number there is room for; "
                "choose a smaller learning rate"
            )
    slopes = parameters(gradients)
    with np.errstate(all="ignore"):
        squares = sum(float((slopes[name] * slopes[name]).sum()) for name in chosen)
    moved = with_strengths(after, scenario.strengths) if scenario.strengths else after
    return OneStep(
        arrays=arrays,
        before=objective.loss(trace),
        after=objective.loss(moved.forward(x)),
        predicted=-learning_rate * squares,
    )
