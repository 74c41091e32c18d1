"""The traces of the app in a terminal: `python -m ffn_core --help`."""

import argparse
import io
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn
from urllib.parse import parse_qs, urlsplit

import numpy as np

from ffn_core.activations import ACTIVATIONS, Array, activation
from ffn_core.dense import Trace
from ffn_core.examples import EXAMPLES, example, lesson_differences
from ffn_core.explain import Stage, explain
from ffn_core.scenario import Scenario

# A trace with more hidden numbers is summarised: four pages of formulas teach nobody.
_MOST_FORMULAS = 200

_STAGES: tuple[tuple[Stage, str], ...] = (
    ("hidden", "w1 · x + b1"),
    ("activated", "the nonlinearity of hidden"),
    ("output", "w2 · activated + b2"),
    ("residual", "x + output"),
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line, without the usage that --help prints."""
        self.exit(2, f"{self.prog}: error: {message} (see --help)\n")


@dataclass(frozen=True, eq=False, kw_only=True)
class _Shown:
    """What a command prints: a trace, what it is of, and whether it is the lesson's own."""

    title: str
    about: str
    words: tuple[str, ...]
    trace: Trace
    is_lesson: bool


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status; misuse exits with 2."""
    parser = _Parser(prog="python -m ffn_core", description="Print every number of a feed-forward network.")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--example", metavar="NAME", default="lesson", help=f"one of {', '.join(EXAMPLES)}")
    source.add_argument(
        "--link", metavar="URL", help="the scenario of a link from the app, or of its query string"
    )
    parser.add_argument(
        "--activation", metavar="NAME", help=f"one of {', '.join(ACTIVATIONS)}, or a config's name"
    )
    parser.add_argument(
        "--json", action="store_true", help='machine-readable; infinities and NaN as "inf", "nan"'
    )
    arguments = parser.parse_args(argv)
    try:
        shown = _linked(arguments.link) if arguments.link is not None else _example(arguments.example)
        if arguments.activation is not None:
            shown = _with_activation(shown, arguments.activation)
    except ValueError as error:
        parser.error(str(error))
    if arguments.json:
        print(json.dumps(_as_json(shown), allow_nan=False))
    else:
        print("\n".join(_as_lesson(shown)))
    return 0


def _example(name: str) -> _Shown:
    chosen = example(name)
    return _Shown(
        title=chosen.title,
        about=f"{chosen.description}\nSource: {chosen.source}",
        words=chosen.words,
        trace=chosen.ffn.forward(chosen.x),
        is_lesson=name == "lesson",
    )


def _linked(url: str) -> _Shown:
    query = urlsplit(url).query if "?" in url or "://" in url else url
    scenario, warnings = Scenario.from_query(parse_qs(query, keep_blank_values=True))
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    ffn, x = scenario.build()
    return _Shown(
        title="A scenario from a link",
        about="Its base with its edits applied.",
        words=tuple(scenario.words),
        trace=ffn.forward(x),
        is_lesson=False,
    )


def _with_activation(shown: _Shown, name: str) -> _Shown:
    ffn = replace(shown.trace.ffn, activation=name)
    same = ffn.activation == shown.trace.ffn.activation
    return replace(shown, trace=ffn.forward(shown.trace.x), is_lesson=shown.is_lesson and same)


def _arrays(trace: Trace) -> dict[str, Array]:
    ffn = trace.ffn
    weights = {"w1": ffn.w1, "b1": ffn.b1, "w2": ffn.w2, "b2": ffn.b2}
    return {"x": trace.x, **weights, **{stage: getattr(trace, stage) for stage, _ in _STAGES}}


def _as_json(shown: _Shown) -> dict[str, Any]:
    ffn, arrays = shown.trace.ffn, _arrays(shown.trace)
    return {
        "title": shown.title,
        "words": shown.words,
        "activation": ffn.activation,
        "d_model": ffn.d_model,
        "d_ff": ffn.d_ff,
        "n_parameters": ffn.n_parameters,
        "shapes": {name: array.shape for name, array in arrays.items()},
        **{name: _strict(array.tolist()) for name, array in arrays.items()},
    }


def _strict(numbers: Any) -> Any:
    """Nested lists of floats with what JSON has no number for as text, which float() and NumPy read back."""
    if isinstance(numbers, list):
        return [_strict(number) for number in numbers]
    return numbers if np.isfinite(numbers) else str(numbers)


def _as_lesson(shown: _Shown) -> Iterator[str]:
    trace = shown.trace
    ffn, arrays = trace.ffn, _arrays(trace)
    named = activation(ffn.activation)
    yield shown.title
    yield shown.about
    yield ""
    yield f"output = w2 · act(w1 · x + b1) + b2, act = {named.label} ({named.name})"
    yield f"d_model = {ffn.d_model}, d_ff = {ffn.d_ff}, {ffn.n_parameters:,} parameters"
    for name in ("w1", "b1", "w2", "b2", "x"):
        yield ""
        yield f"{name} {list(arrays[name].shape)}"
        yield _written(arrays[name])
    whole = trace.hidden.size <= _MOST_FORMULAS
    positions = range(len(shown.words)) if whole else range(1)
    if not whole:
        yield ""
        yield f"There are {trace.hidden.size:,} hidden numbers; here is the first of each stage."
    for position in positions:
        for stage, formula in _STAGES:
            yield ""
            yield f"{stage} = {formula}, position {position}, {shown.words[position]!r}"
            width = arrays[stage].shape[-1] if whole else 1
            yield from (explain(trace, stage, position, index).text for index in range(width))
    for stage, _ in _STAGES:
        yield ""
        yield f"{stage} {list(arrays[stage].shape)}"
        yield _written(arrays[stage])
    if shown.is_lesson:
        yield ""
        yield "Where the lesson prints other numbers"
        for row in lesson_differences():
            yield ""
            yield f"{row.where}: {row.note}"
            yield f"  printed {', '.join(row.printed)}"
            yield f"  right   {', '.join(map(_right, row.right, row.printed))}"


def _right(right: float, printed: str) -> str:
    """`right` with as many decimals as the lesson prints, or four, where that shows more."""
    return f"{right:.{max(4, len(printed.partition('.')[2]))}f}"


def _written(array: Array) -> str:
    return np.array2string(
        array, precision=4, suppress_small=True, threshold=_MOST_FORMULAS, max_line_width=100
    )


if __name__ == "__main__":
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(
            errors="backslashreplace"
        )  # a console without the signs of a word still shows it
    sys.exit(main())
