"""What the page "Learning" holds of one visitor: the settings, a run that goes on as long as it is asked to, its history.

Nothing here knows Streamlit. A run lives in its visitor's session, computes only within `advance`, which is bounded, and
shares nothing with anyone.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffn_core.activations import ACTIVATIONS, Array, activation
from ffn_core.matrix_text import parse_matrix, short_number
from ffn_core.memories import dead
from ffn_core.optimizers import OPTIMIZERS
from ffn_core.scenario import RandomBase, Scenario
from ffn_core.training import TASKS, FitState, Task, fit, task_called

MOST_STEPS = 20_000
MOST_D_FF = 64
BUDGET = 0.04
"""Seconds that one `advance` may compute, and then the step that it is at."""
MOST_KEPT = 200
"""States of a run that are kept, at steps evenly apart; the greatest network's are half a megabyte."""
MOST_POINTS_TEXT = 20_000
N_OPENED = 8
"""Points of a task that a scenario takes along."""

CHOICES: dict[str, Sequence[Any]] = {
    "task": tuple(TASKS),
    "activation": tuple(ACTIVATIONS),
    "d_ff": range(1, MOST_D_FF + 1),
    "optimizer": OPTIMIZERS,
    "learning_rate": (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
    "momentum": (0.0, 0.5, 0.9, 0.99),
    "batch_size": (0, 1, 8, 32, 128),
    "weight_decay": (0.0, 0.001, 0.01, 0.1, 1.0),
    "seed": range(2**32),
    "beside": (False, True),
}
"""What each setting can be."""
PACES = (1, 5, 25, 100)
MOST_LINK = 1500
"""Characters that a link gives to the settings; of more points than have room there it holds none."""

_PAIR_A_LINE = "".join(
    f"{x:g}, {y:g}\n" for x, y in zip(TASKS["points"].x[:, 0], TASKS["points"].target, strict=True)
)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a run follows from: the same settings give the same run, to the last bit.

    `points` is text, a line "x, y" for each point, and counts for the task "points" alone; `momentum` is SGD's. A
    `batch_size` 0 means all points at each step. `beside` runs the identity in step with the nonlinearity.
    """

    task: str = "sine"
    points: str = _PAIR_A_LINE
    activation: str = "relu"
    d_ff: int = 16
    optimizer: str = OPTIMIZERS[0]
    learning_rate: float = 0.01
    momentum: float = 0.9
    batch_size: int = 0
    weight_decay: float = 0.0
    seed: int = 0
    beside: bool = False

    def that_count(self) -> "Settings":
        """The same with those at their default that change nothing: they make no new run."""
        first = Settings()
        return replace(
            self,
            points=self.points if self.task == "points" else first.points,
            momentum=self.momentum if self.optimizer == "sgd" else first.momentum,
            beside=self.beside and self.activation != "identity",
        )

    def made(self) -> Task:
        """The task; a ValueError says which of its points cannot be read."""
        return points_of(self.points) if self.task == "points" else task_called(self.task)

    @property
    def text(self) -> str:
        """What differs from the default, for a link: `task~xor,d_ff~8`, and of points `points~0.5~1.2~...`."""
        pairs = {name: getattr(self, name) for name in CHOICES}
        parts = [f"{name}~{value}" for name, value in pairs.items() if value != getattr(Settings, name)]
        if self.task == "points" and self.points != Settings.points:
            with suppress(ValueError):
                task = self.made()
                numbers = np.column_stack([task.x, task.target]).ravel().tolist()
                parts.append("~".join(["points", *(f"{number:g}" for number in numbers)]))
        return text if len(text := ",".join(parts)) <= MOST_LINK else ",".join(parts[:-1])

    @classmethod
    def from_text(cls, text: str) -> "Settings":
        """Read what `text` writes; what makes no sense is left at its default."""
        found: dict[str, Any] = {}
        for name, _, value in (part.partition("~") for part in text[:MOST_LINK].split(",")):
            if name == "points":
                numbers = value.split("~")
                lines = "".join(f"{x}, {y}\n" for x, y in zip(numbers[::2], numbers[1::2], strict=False))
                with suppress(ValueError):
                    points_of(lines)
                    found["points"] = lines
            elif name in ("d_ff", "seed"):
                if value.isascii() and value.isdigit() and len(value) <= 10 and int(value) in CHOICES[name]:
                    found[name] = int(value)
            elif name in CHOICES:
                found.update((name, choice) for choice in CHOICES[name] if str(choice) == value)
        return cls(**found)

    def changes(self, other: "Settings") -> str:
        """What `other` sets anew, in words: "d_ff 16 → 32, seed 0 → 1"."""
        told = []
        for name in (field.name for field in fields(self)):
            old, new = getattr(self, name), getattr(other, name)
            if old != new:
                told.append(
                    "points" if name == "points" else f"{WORDS[name]} {shown(name, old)} → {shown(name, new)}"
                )
        return ", ".join(told)


WORDS = {
    "task": "task",
    "activation": "nonlinearity",
    "d_ff": "d_ff",
    "optimizer": "optimizer",
    "learning_rate": "learning rate",
    "momentum": "momentum",
    "batch_size": "points a step",
    "weight_decay": "weight decay",
    "seed": "seed",
    "beside": "identity beside",
}
"""What the settings are called in a sentence."""


def shown(name: str, value: object) -> str:
    """The value of a setting as the page writes it."""
    match name, value:
        case "task", str():
            return task_called(value).title
        case "activation", str():
            return activation(value).label
        case "optimizer", _:
            return {"adam": "Adam", "sgd": "SGD"}[str(value)]
        case "batch_size", 0:
            return "all"
        case "beside", _:
            return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


def points_of(text: str) -> Task:
    """The curve through points that are written a line "x, y" each, or pasted from a spreadsheet.

    A line is a point, and so in `1,2` the comma parts two numbers. A ValueError names the line.
    """
    text = text.strip()
    if not text:
        raise ValueError("there are no points; write a line for each, x and y, as in 0.5, 1.2")
    lines = text.splitlines()
    pairs = all(line.count(",") == 1 and len(line.split()) == 1 and ";" not in line for line in lines)
    return Task.points(parse_matrix(text, "," if pairs else None))


class Track:
    """One network on its way through a run, from `Run.advance` alone."""

    def __init__(self, task: Task, settings: Settings, activation: str) -> None:
        """Stand at step 0, at the weights that follow from the seed."""
        self._states: Iterator[FitState] = fit(
            task,
            d_ff=settings.d_ff,
            activation=activation,
            optimizer=settings.optimizer,
            learning_rate=settings.learning_rate,
            momentum=settings.momentum,
            weight_decay=settings.weight_decay,
            batch_size=settings.batch_size or None,
            seed=settings.seed,
            steps=MOST_STEPS,
            every=1,
        )
        self.state = next(self._states)
        self._kept = [self.state]
        self._apart = 1

    @property
    def ended(self) -> bool:
        """Whether there is no further step: the last was made, or the loss is no longer finite."""
        return self.state.diverged or self.state.step >= MOST_STEPS

    @property
    def history(self) -> list[FitState]:
        """States from step 0 to the present one, at most MOST_KEPT + 1, evenly apart but for the last."""
        return self._kept if self._kept[-1] is self.state else [*self._kept, self.state]

    def step(self) -> None:
        """One step on; which states are kept follows from their steps alone, not from how fast they came."""
        if self.ended:
            return
        self.state = next(self._states)
        if self.state.step % self._apart == 0:
            self._kept.append(self.state)
        if len(self._kept) > MOST_KEPT:
            self._apart *= 2
            self._kept = [state for state in self._kept if state.step % self._apart == 0]


class Run:
    """A network that learns a task, with `settings.beside` the identity from the same weights beside it."""

    def __init__(self, settings: Settings) -> None:
        """Stand at step 0. A ValueError says which setting does not fit."""
        self.settings = settings
        self.task = settings.made()
        self.main = Track(self.task, settings, settings.activation)
        beside = settings.beside and settings.activation != "identity"
        self.beside = Track(self.task, settings, "identity") if beside else None

    @property
    def ended(self) -> bool:
        """Whether the network learns no further; the identity then stops with it."""
        return self.main.ended

    def advance(
        self, steps: int, *, clock: Callable[[], float] = time.perf_counter, budget: float = BUDGET
    ) -> None:
        """Make up to `steps` steps, at least one, and none after `budget` seconds of `clock` have passed."""
        until = clock() + budget
        for _ in range(steps):
            self.main.step()
            if self.beside:
                self.beside.step()
            if self.ended or clock() >= until:
                return


def silent(run: Run) -> NDArray[np.bool_]:
    """Which neurons are dead: exactly 0 at every point of the task, booleans [d_ff]."""
    return dead(run.main.state.ffn.forward(run.task.x).activated)


def opened(run: Run) -> Scenario:
    """The network as it is, as a scenario whose positions are points of the task.

    A ValueError says why not, for weights that have diverged.
    """
    if run.main.state.diverged:
        raise ValueError(
            "these weights are no longer finite numbers; press Reset, and choose a smaller learning rate"
        )
    x, words = _positions(run.task)
    base = RandomBase(run.task.d_model, run.settings.d_ff, len(x), 0)
    return Scenario(base=base).holding(run.main.state.ffn, x, words)


def _positions(task: Task) -> tuple[Array, list[str]]:
    """Up to N_OPENED points of a task, evenly from its range or half of each class, with a word for each."""
    if task.kind == "curve":
        order = np.argsort(task.x[:, 0], kind="stable")
        rows = order[evenly(len(order), N_OPENED)]
        return task.x[rows], [f"x = {short_number(x)}" for x in task.x[rows, 0]]
    classes = [np.flatnonzero(task.target == c) for c in (0, 1)]
    rows = np.concatenate([places[evenly(len(places), N_OPENED // 2)] for places in classes])
    # Two decimals: a word is short, and the numbers themselves are in x.
    words = [
        f"({a:.2f}, {b:.2f}) class {c:.0f}" for (a, b), c in zip(task.x[rows], task.target[rows], strict=True)
    ]
    return task.x[rows], [word.replace("-", "−") for word in words]


def evenly(n: int, most: int) -> NDArray[np.intp]:
    """At most `most` of 0 to n-1, the first and the last among them."""
    return np.linspace(0, n - 1, min(n, most)).round().astype(np.intp)
