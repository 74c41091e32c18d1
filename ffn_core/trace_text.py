"""A whole trace as text, every number worked out, in the manner of the lesson."""

from collections.abc import Iterator, Sequence

import numpy as np

from ffn_core.activations import Array, activation
from ffn_core.dense import Trace
from ffn_core.examples import Printed, lesson_differences
from ffn_core.explain import Stage, explain

# A trace with more hidden numbers is summarised: four pages of formulas teach nobody.
_MOST_FORMULAS = 200

_STAGES: tuple[tuple[Stage, str], ...] = (
    ("hidden", "w1 · x + b1"),
    ("activated", "the nonlinearity of hidden"),
    ("output", "w2 · activated + b2"),
    ("residual", "x + output"),
)


def arrays_of(trace: Trace) -> dict[str, Array]:
    """Every array of a trace by name: x, the weights, and the four stages."""
    ffn = trace.ffn
    weights = {"w1": ffn.w1, "b1": ffn.b1, "w2": ffn.w2, "b2": ffn.b2}
    return {"x": trace.x, **weights, **{stage: getattr(trace, stage) for stage, _ in _STAGES}}


def trace_lines(trace: Trace, words: Sequence[str]) -> Iterator[str]:
    """The weights, then each position's stages term by term, then the stages as arrays.

    `words` has one entry for each position of x [positions, d_model]. A large trace is shortened, and says so.
    """
    ffn, arrays = trace.ffn, arrays_of(trace)
    named = activation(ffn.activation)
    yield f"output = w2 · act(w1 · x + b1) + b2, act = {named.label} ({named.name})"
    yield f"d_model = {ffn.d_model}, d_ff = {ffn.d_ff}, {ffn.n_parameters:,} parameters"
    for name in ("w1", "b1", "w2", "b2", "x"):
        yield ""
        yield f"{name} {list(arrays[name].shape)}"
        yield _written(arrays[name])
    whole = trace.hidden.size <= _MOST_FORMULAS
    positions = range(len(words)) if whole else range(1)
    if not whole:
        yield ""
        yield f"There are {trace.hidden.size:,} hidden numbers; here is the first of each stage."
    for position in positions:
        for stage, formula in _STAGES:
            yield ""
            yield f"{stage} = {formula}, position {position}, {words[position]!r}"
            width = arrays[stage].shape[-1] if whole else 1
            yield from (explain(trace, stage, position, index).text for index in range(width))
    for stage, _ in _STAGES:
        yield ""
        yield f"{stage} {list(arrays[stage].shape)}"
        yield _written(arrays[stage])


def difference_lines() -> Iterator[str]:
    """Where the first lesson prints other numbers than those that are right."""
    yield "Where the lesson prints other numbers"
    for row in lesson_differences():
        yield ""
        yield f"{row.where}: {row.note}"
        yield f"  printed {', '.join(row.printed)}"
        yield f"  right   {', '.join(right_numbers(row))}"


def right_numbers(row: Printed) -> list[str]:
    """The right numbers with as many decimals as the lesson prints, or four, where that shows more."""
    pairs = zip(row.right, row.printed, strict=True)
    return [f"{right:.{max(4, len(printed.partition('.')[2]))}f}" for right, printed in pairs]


def _written(array: Array) -> str:
    return np.array2string(
        array, precision=4, suppress_small=True, threshold=_MOST_FORMULAS, max_line_width=100
    )
