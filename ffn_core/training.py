"""An FFN that learns: small tasks, and the loop that fits a network to one of them, state by state.

A task is points x [n, d_model] with a target [n]. What is compared with the target is the output's first coordinate,
output[:, 0], and the network is the FFN alone, without the residual:

    a curve    d_model 1: the output is y itself; the loss is the mean squared error
    classes    d_model 2: the output's first coordinate is the logit of class 1, and the loss is the logistic one; the
               second coordinate is asked for nothing: its row of w2 and its b2 start at 0, get no gradient and stay 0

All is float64. The loop is `FFN.forward`, `Trace.backward` and an optimizer, and nothing else.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ffn_core import losses
from ffn_core.activations import Array, as_numbers
from ffn_core.dense import FFN, Gradients, MemoryTrace, Trace
from ffn_core.memories import as_index
from ffn_core.optimizers import check_learning_rate, moved, optimizer_called
from ffn_core.parameters import parameters

Kind = Literal["curve", "classes"]

N_POINTS = 256
MAX_POINTS = 1_000
_POINTS_TITLE = "Points of your own"


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """Something to learn: x [n, d_model] and target [n], the y of a curve or the class, 0 or 1, of each point.

    `kind` is "curve", with d_model 1, or "classes", with d_model 2. The arrays are kept as read-only float64 copies; a
    ValueError says what does not fit.
    """

    name: str
    title: str
    kind: Kind
    x: Array
    target: Array

    def __post_init__(self) -> None:
        """Check the arrays and keep copies."""
        if self.kind not in _D_MODEL:
            raise ValueError(f"kind must be curve or classes, got {self.kind!r}")
        x, target = (as_numbers(name, getattr(self, name)).astype(np.float64) for name in ("x", "target"))
        if x.ndim != 2 or not len(x) or x.shape[1] != _D_MODEL[self.kind]:
            raise ValueError(
                f"x must be [n, {_D_MODEL[self.kind]}] for a task of kind {self.kind}, with n at least 1, got {list(x.shape)}"
            )
        if target.shape != x.shape[:1]:
            raise ValueError(
                f"target must be [{len(x)}], a number for each row of x, got {list(target.shape)}"
            )
        if not (np.isfinite(x).all() and np.isfinite(target).all()):
            raise ValueError("x and target must be finite; leave out the points that are not")
        if self.kind == "classes" and not ((target == 0) | (target == 1)).all():
            raise ValueError("the target of a task of kind classes must be 0 or 1 for each point")
        for name, array in (("x", x), ("target", target)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def points(cls, table: ArrayLike) -> "Task":
        """The curve through the reader's own `table` of (x, y) points, [n, 2], in any order, 1 to 1,000 of them.

        They are taken as they are: x and y of about unit size are learned best.
        """
        points = as_numbers("points", table)
        if points.ndim != 2 or points.shape[1] != 2 or not 1 <= len(points) <= MAX_POINTS:
            raise ValueError(
                f"points must be a table [n, 2], a row (x, y) for each of 1 to {MAX_POINTS:,} points, got {list(points.shape)}"
            )
        return cls(name="points", title=_POINTS_TITLE, kind="curve", x=points[:, :1], target=points[:, 1])

    @property
    def d_model(self) -> int:
        """Width of x and output: 1 for a curve, 2 for classes."""
        return int(self.x.shape[1])

    def loss(self, output: ArrayLike) -> tuple[float, Array]:
        """The loss of `output` [n, d_model] at all points, and its gradient, the d_output that `backward` takes."""
        return _loss(self.kind, as_numbers("output", output), self.target)

    def accuracy(self, output: ArrayLike) -> float | None:
        """The share of points on the right side, 0 to 1, a logit above 0 being class 1; None for a curve."""
        if self.kind == "curve":
            return None
        return losses.accuracy(as_numbers("output", output)[:, 0], self.target)


_D_MODEL: dict[Kind, int] = {"curve": 1, "classes": 2}

_Points = tuple[Array, Array]


def make_task(name: str, seed: int = 0) -> Task:
    """The task called `name` with points of this seed: 256, but for the few that "points" starts with.

    Curves have no noise, and are the same for every seed. Classes have 128 points each.
    """
    try:
        title, kind, make = _MAKERS[name]
    except (KeyError, TypeError):
        raise ValueError(f"no task is called {name!r}; there are {', '.join(_MAKERS)}") from None
    x, target = make(np.random.default_rng(seed))
    return Task(name=name, title=title, kind=kind, x=x, target=target)


def _curve(f: Callable[[Array], Array], reach: float) -> Callable[[np.random.Generator], _Points]:
    x = np.linspace(-reach, reach, N_POINTS)
    return lambda rng: (x[:, np.newaxis], f(x))


def _classes(zero: Array, one: Array, noise: Array) -> _Points:
    """The points of class 0 and those of class 1, each [n, 2], moved by `noise` [2n, 2]."""
    return np.concatenate([zero, one]) + noise, np.repeat([0.0, 1.0], len(zero))


def _circle(angle: Array) -> Array:
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def _moons(rng: np.random.Generator) -> _Points:
    upper = _circle(np.linspace(0, np.pi, N_POINTS // 2)) - [0.5, 0.25]
    return _classes(upper, -upper, rng.normal(0, 0.1, (N_POINTS, 2)))


def _circles(rng: np.random.Generator) -> _Points:
    circle = _circle(np.linspace(0, 2 * np.pi, N_POINTS // 2, endpoint=False))
    return _classes(circle, 0.4 * circle, rng.normal(0, 0.08, (N_POINTS, 2)))


def _xor(rng: np.random.Generator) -> _Points:
    """Four equal squares around (±1, ±1), class 1 where the signs differ.

    The squares reach 0.4 from their middles, less than half of the way to the axes. The lines from square to square
    across then always cross, so one cut gets at most three of any four points right, and so at most 75% of all.
    """
    same = np.tile([[1.0, 1.0], [-1.0, -1.0]], (N_POINTS // 4, 1))
    return _classes(same, same * [1, -1], rng.uniform(-0.4, 0.4, (N_POINTS, 2)))


def _spiral(rng: np.random.Generator) -> _Points:
    along = np.linspace(0, 1, N_POINTS // 2)
    arm = (0.2 + 1.8 * along[:, np.newaxis]) * _circle(3 * np.pi * along)
    return _classes(arm, -arm, rng.normal(0, 0.04, (N_POINTS, 2)))


_START_POINTS = np.array([[-2.0, 1.0], [-1.0, -0.5], [0.0, 0.0], [1.0, 1.5], [2.0, -1.0]])

_MAKERS: dict[str, tuple[str, Kind, Callable[[np.random.Generator], _Points]]] = {
    "sine": ("One period of a sine", "curve", _curve(np.sin, np.pi)),
    "step": ("A step from 0 to 1", "curve", _curve(lambda x: np.heaviside(x, 0.5), 3.0)),
    "bump": ("A bump, exp(-2x²)", "curve", _curve(lambda x: np.exp(-2 * x * x), 3.0)),
    "moons": ("Two moons", "classes", _moons),
    "circles": ("A circle in a circle", "classes", _circles),
    "xor": ("XOR: class 1 where the signs differ", "classes", _xor),
    "spiral": ("Two spiral arms", "classes", _spiral),
    "points": (_POINTS_TITLE, "curve", lambda rng: (_START_POINTS[:, :1], _START_POINTS[:, 1])),
}

TASKS: dict[str, Task] = {name: make_task(name) for name in _MAKERS}


@dataclass(frozen=True, eq=False, kw_only=True)
class FitState:
    """Where the fit is after `step` updates: the network, its loss over all points and, for classes, its accuracy.

    `diverged` says that the loss or a weight is no longer finite, which a smaller learning rate avoids.
    """

    step: int
    loss: float
    ffn: FFN
    accuracy: float | None = None
    diverged: bool = False


def fit(
    task: str | Task,
    *,
    d_ff: int,
    activation: str,
    optimizer: str = "adam",
    learning_rate: float,
    steps: int,
    seed: int,
    batch_size: int | None = None,
    every: int = 10,
    momentum: float = 0.9,
    weight_decay: float = 0.0,
) -> Iterator[FitState]:
    """Fit a network of d_ff neurons to `task`, one of TASKS or a Task, and give the states on the way.

    They are step 0, the network of `initial`, then each `every`-th step and the last; where the fit diverges, the last
    is the one that says so. Nothing runs ahead of the caller, who stops by asking no more. The same arguments give the
    same states to the last bit on one machine.

    `optimizer` is "adam" or "sgd"; `momentum` is SGD's. Each step sees all points, or, with a `batch_size`, the next so
    many of them in an order that is drawn anew for each pass; the last batch of a pass may be smaller. `weight_decay` is
    decoupled (see `moved` in `ffn_core.optimizers`) and falls on all parameters, the biases too. A ValueError says
    which argument does not fit, at the call.
    """
    task = task if isinstance(task, Task) else task_called(task)
    _check_integer("steps", steps, least=0)
    _check_integer("every", every, least=1)
    if batch_size is not None:
        _check_integer("batch_size", batch_size, least=1)
    check_learning_rate(learning_rate)
    if not (math.isfinite(weight_decay) and weight_decay >= 0):
        raise ValueError(f"weight_decay must be a finite number, 0 or more, got {weight_decay!r}")
    moving = optimizer_called(optimizer, momentum)
    start = initial(task, d_ff, activation, seed)
    batches = _batches(task, batch_size, np.random.default_rng([seed, 2]))

    def states() -> Iterator[FitState]:
        ffn, flat = start, _flat(start)
        for step in range(steps + 1):
            x, target = next(batches)
            trace = ffn.forward(x)
            loss, d_output = _loss(task.kind, trace.output, target)
            if step % every == 0 or step == steps or not math.isfinite(loss):
                yield (state := _state(task, step, trace))
                if state.diverged:
                    return
            if step < steps:
                direction = moving.direction(_flat(trace.backward(d_output)))
                flat = moved(flat, direction, learning_rate, weight_decay)
                ffn = _network(flat, ffn)

    return states()


def task_called(name: str) -> Task:
    """The entry of TASKS; a ValueError says which there are."""
    if name not in TASKS:
        raise ValueError(f"no task is called {name!r}; there are {', '.join(TASKS)}")
    return TASKS[name]


def initial(task: Task, d_ff: int, activation: str, seed: int) -> FFN:
    """The network that `fit` starts from, the same for the same arguments.

    w1 and w2 are those of `FFN.random`, b2 is 0. Each b1 is such that its neuron's hidden value is 0 at a point of the
    task, drawn at random: ReLU's corners then start among the points, where they can bend the fit, and not all near 0.
    For classes w2's second row is 0 (see this module's head).
    """
    _check_integer("seed", seed, least=0)
    ffn = FFN.random(task.d_model, d_ff, seed=seed, activation=activation)
    through = task.x[np.random.default_rng([seed, 1]).integers(len(task.x), size=d_ff)]
    w2 = ffn.w2.copy()
    w2[1:] = 0
    return replace(ffn, b1=-(ffn.w1 * through).sum(axis=1), w2=w2, b2=np.zeros(task.d_model))


def kinks(ffn: FFN) -> Array:
    """Where each neuron's hidden value is 0 in a network of d_model 1, x = -b1/w1: [d_ff].

    There a ReLU network's line bends, by w2 · |w1|. It is NaN where w1 is 0: that neuron's hidden value is constant.
    """
    if ffn.d_model != 1:
        raise ValueError(f"kinks are points on a line, for d_model 1, got d_model {ffn.d_model}")
    slope = ffn.w1[:, 0]
    with np.errstate(all="ignore"):
        return np.where(slope == 0, np.nan, -ffn.b1 / slope)


def kink_lines(ffn: FFN, reach: float) -> Array:
    """The same in the plane, for d_model 2: the line where each neuron's hidden value is 0, within |x_i| <= reach.

    [d_ff, 2, 2]: two ends, each (x_0, x_1). They are NaN where the line misses the square, or where w1's row is 0.
    """
    if ffn.d_model != 2:
        raise ValueError(f"kink lines are lines in a plane, for d_model 2, got d_model {ffn.d_model}")
    with np.errstate(all="ignore"):
        length = np.hypot(ffn.w1[:, 0], ffn.w1[:, 1])[:, np.newaxis]
        across = ffn.w1 / length
        along = np.stack([-across[:, 1], across[:, 0]], axis=1)
        nearest = -ffn.b1[:, np.newaxis] / length * across  # the line's point that is nearest to the origin
        sides = (
            np.array([[[-reach]], [[reach]]]) - nearest
        ) / along  # where each axis' range begins and ends
        enter, leave = sides.min(axis=0).max(axis=1), sides.max(axis=0).min(axis=1)
        ends = (
            nearest[:, np.newaxis] + np.stack([enter, leave], axis=1)[:, :, np.newaxis] * along[:, np.newaxis]
        )
        return np.where((enter < leave)[:, np.newaxis, np.newaxis], ends, np.nan)


def neuron_curves(trace: MemoryTrace, coordinate: int = 0) -> Array:
    """What each neuron adds to one coordinate of the output at each position: activated_j · w2[coordinate, j], [..., d_ff].

    Summed over the neurons, with b2[coordinate], they are output[..., coordinate].
    """
    with np.errstate(all="ignore"):
        curves: Array = trace.activated * trace.ffn.w2[coordinate]
    return curves


def _loss(kind: Kind, output: Array, target: Array) -> tuple[float, Array]:
    """The loss of output [n, d_model] for target [n], and its gradient, which is 0 in all but the first coordinate."""
    measure = losses.squared_error if kind == "curve" else losses.logistic
    loss, d_first = measure(output[:, 0], target)
    d_output = np.zeros_like(output)
    d_output[:, 0] = d_first
    return loss, d_output


def _state(task: Task, step: int, trace: Trace) -> FitState:
    ffn = trace.ffn
    output = (trace if trace.x is task.x else ffn.forward(task.x)).output
    loss, _ = task.loss(output)
    is_finite = math.isfinite(loss) and all(np.isfinite(array).all() for array in parameters(ffn).values())
    return FitState(step=step, loss=loss, ffn=ffn, accuracy=task.accuracy(output), diverged=not is_finite)


def _batches(task: Task, batch_size: int | None, rng: np.random.Generator) -> Iterator[_Points]:
    """x and target of each step, without end."""
    n = len(task.x)
    while batch_size is None or batch_size >= n:
        yield task.x, task.target
    while True:
        order = rng.permutation(n)
        for start in range(0, n, batch_size):
            rows = order[start : start + batch_size]
            yield task.x[rows], task.target[rows]


def _check_integer(name: str, value: int, least: int) -> None:
    if as_index(value) < least:
        raise ValueError(f"{name} must be an integer, {least} or more, got {value!r}")


# All parameters in one vector, so that a step's arithmetic is a few NumPy calls and not a few for each array.


def _flat(of: FFN | Gradients) -> Array:
    return np.concatenate([of.w1.reshape(-1), of.b1, of.w2.reshape(-1), of.b2])


def _network(flat: Array, like: FFN) -> FFN:
    """The network whose parameters `flat` holds, in the shapes and with the activation of `like`; it keeps the memory."""
    flat.setflags(write=False)
    d_ff, d_model = like.w1.shape
    size = d_ff * d_model
    return FFN._trusted(
        w1=flat[:size].reshape(d_ff, d_model),
        b1=flat[size : size + d_ff],
        w2=flat[size + d_ff : -d_model].reshape(d_model, d_ff),
        b2=flat[-d_model:],
        activation=like.activation,
    )
