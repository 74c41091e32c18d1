"""How much the forward pass costs beyond its two matrix products: `python benchmarks/forward.py`.

GPT-2 small's width, 1,024 positions, float32, every activation. The variants take turns, so that a busy moment
of the machine falls on all of them, and the medians of one run are compared.
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

from ffn_core import ACTIVATIONS, FFN
from ffn_core.activations import Array

POSITIONS, D_MODEL, D_FF = 1024, 768, 3072
ROUNDS = 15
AIM = 1.25
BARE, LESSON, TORCH = "the two bare products", "the lesson's formulation", "PyTorch, gelu_tanh"


def lesson_gelu(x: Array) -> Array:
    """The tanh-form GELU as the lesson computes it, to compare with."""
    inner: Array = np.float32(np.sqrt(2 / np.pi)) * (x + np.float32(0.044715) * np.power(x, 3))
    result: Array = np.float32(0.5) * x * (1 + np.tanh(inner))
    return result


def torch_forward(ffn: FFN, x: Array) -> Callable[[], object] | None:
    """The same forward pass in PyTorch, None where that is not installed."""
    try:
        import torch  # an option: the project does without it
    except ImportError:
        return None
    tensors = [torch.from_numpy(a.copy()) for a in (x, ffn.w1, ffn.b1, ffn.w2, ffn.b2)]

    def run() -> object:
        tx, w1, b1, w2, b2 = tensors
        linear = torch.nn.functional.linear
        with torch.inference_mode():
            return linear(torch.nn.functional.gelu(linear(tx, w1, b1), approximate="tanh"), w2, b2)

    return run


def medians(variants: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Median seconds of each variant over `ROUNDS` turns, after one turn to warm up."""
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for turn in range(ROUNDS + 1):
        for name, run in variants.items():
            start = time.perf_counter()
            run()
            if turn:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def main() -> None:
    """Print milliseconds and ratios."""
    x = np.random.default_rng(0).standard_normal((POSITIONS, D_MODEL), dtype=np.float32)
    ffns = {name: FFN.random(D_MODEL, D_FF, activation=name, dtype=np.float32) for name in ACTIVATIONS}
    ffn = ffns["gelu_tanh"]
    variants: dict[str, Callable[[], object]] = {
        BARE: lambda: (x @ ffn.w1.T) @ ffn.w2.T,
        LESSON: lambda: lesson_gelu(x @ ffn.w1.T + ffn.b1) @ ffn.w2.T + ffn.b2,
    }
    if torch := torch_forward(ffn, x):
        variants[TORCH] = torch
    for name, network in ffns.items():
        variants[f"ffn_core, {name}"] = partial(network.forward, x)
    result = medians(variants)
    bare, lesson, ours = (result[name] for name in (BARE, LESSON, "ffn_core, gelu_tanh"))
    print(f"{POSITIONS:,} positions, {D_MODEL} to {D_FF}, float32; medians of {ROUNDS} turns")
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}")
    for name, seconds in result.items():
        print(f"{name:26} {seconds * 1e3:7.1f} ms, {seconds / bare:5.2f} times the products")
    print(f"gelu_tanh: {ours / bare:.2f} times the products (aim: at most {AIM})")
    print(f"gelu_tanh: {ours / lesson:.2f} times the lesson's formulation")
    print(f"gelu_tanh: {ours / result[TORCH]:.2f} times PyTorch" if torch else "PyTorch is not installed")


if __name__ == "__main__":
    main()
