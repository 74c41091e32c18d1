"""How much learning costs beyond its matrix products: `python benchmarks/training.py`.

A run of 2,000 full-batch steps on 256 points with d_ff 64, against the six bare products of so many steps: two forward,
four backward. The runs take turns, so that a busy moment of the machine falls on all of them, and the medians are
compared.

The aim of 2 is not met. With d_model 1 or 2 the products of a step take some 65 microseconds on the machine that this was
written on. ReLU's five passes over hidden (add the bias, cut, slope, multiply, sum) take another 40, and each of the
hundred or so NumPy calls on short arrays (the loss, Adam, checks, traces) about 1; for any other nonlinearity one
exponential a hidden number costs more than all six products.
"""

import platform
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # run from a checkout

from ffn_core.training import TASKS, Task, fit, initial

D_FF, STEPS, EVERY = 64, 2_000, 10
TURNS = 5
AIM = 2.0
NETWORKS = [(task, name) for task in ("sine", "xor") for name in ("relu", "gelu_tanh")]


def products(task: Task) -> None:
    """The matrix products of a run, and nothing else."""
    ffn = initial(task, D_FF, "relu", seed=0)
    x, w1, w2 = task.x, ffn.w1, ffn.w2
    hidden, d_output = x @ w1.T, np.ones_like(x)
    for _ in range(STEPS):
        _ = x @ w1.T, hidden @ w2.T
        _ = d_output @ w2, hidden @ w1, hidden.T @ x, d_output.T @ hidden


def learn(task: Task, activation: str) -> None:
    """A run of `fit`, looked at every 10 steps."""
    for _ in fit(
        task, d_ff=D_FF, activation=activation, learning_rate=0.01, steps=STEPS, seed=0, every=EVERY
    ):
        pass


def medians(variants: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Median seconds of each variant over `TURNS` turns, after one turn to warm up."""
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for turn in range(TURNS + 1):
        for name, run in variants.items():
            start = time.perf_counter()
            run()
            if turn:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def main() -> None:
    """Print milliseconds and ratios."""
    bare = {name: f"products, {name}" for name in ("sine", "xor")}
    variants: dict[str, Callable[[], object]] = {
        label: partial(products, TASKS[name]) for name, label in bare.items()
    }
    variants |= {f"fit, {task}, {name}": partial(learn, TASKS[task], name) for task, name in NETWORKS}
    result = medians(variants)
    print(f"{STEPS:,} full-batch steps on 256 points, d_ff {D_FF}, float64, Adam; medians of {TURNS} turns")
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}")
    for task, label in bare.items():
        print(f"{label:22} {result[label] * 1e3:7.1f} ms, d_model {TASKS[task].d_model}")
    for task, name in NETWORKS:
        seconds = result[f"fit, {task}, {name}"]
        aim = f" (aim: at most {AIM:g})" if name == "relu" else ""
        print(
            f"fit, {task}, {name:12} {seconds * 1e3:7.1f} ms, {seconds / result[bare[task]]:5.2f} times the products{aim}"
        )


if __name__ == "__main__":
    main()
