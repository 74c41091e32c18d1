"""The traces of the app in a terminal: `python -m ffn_core --help`."""

import argparse
import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn
from urllib.parse import parse_qs, urlsplit

import numpy as np

from ffn_core.activations import ACTIVATIONS
from ffn_core.count_text import count_json, count_lines
from ffn_core.counting import MAX_CONTEXT, MODELS, model
from ffn_core.examples import EXAMPLES, VARIANTS, example
from ffn_core.exercises import command as exercises
from ffn_core.optimizers import OPTIMIZERS
from ffn_core.parameters import parameters
from ffn_core.scenario import Scenario
from ffn_core.trace_text import arrays_of, difference_lines, trace_lines
from ffn_core.training import TASKS, FitState, Task, fit, task_called


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line, without the usage that --help prints."""
        self.exit(2, f"{self.prog}: error: {message} (see --help)\n")


@dataclass(frozen=True, eq=False, kw_only=True)
class _Shown:
    """What a command prints: a scenario, what it is, and whether it is the lesson's own."""

    title: str
    about: str
    scenario: Scenario
    is_linked: bool = False

    @property
    def is_lesson(self) -> bool:
        """Whether the lesson's numbers can stand beside."""
        return not self.is_linked and self.scenario.to_query() == {}

    @property
    def trace(self) -> Any:
        """Every number of the scenario."""
        layer, x = self.scenario.build()
        return layer.forward(x)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status: 0, 1 for a solution that is refused; misuse exits with 2."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    command = _COMMANDS.get(arguments[0]) if arguments else None
    answer = _trace(arguments) if command is None else command(arguments[1:])
    text, passed = (answer, True) if isinstance(answer, str) else answer
    print(text)
    return 0 if passed else 1


def _trace(argv: Sequence[str]) -> str:
    parser = _Parser(
        prog="python -m ffn_core",
        description="Print every number of a feed-forward network.",
        epilog=f"Another command comes first: {', '.join(_COMMANDS)}, with a --help of its own.",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--example", metavar="NAME", default="lesson", help=f"one of {', '.join((*EXAMPLES, *VARIANTS))}"
    )
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
            shown = replace(shown, scenario=shown.scenario.with_activation(arguments.activation))
    except ValueError as error:
        parser.error(str(error))
    return json.dumps(_as_json(shown), allow_nan=False) if arguments.json else "\n".join(_as_lesson(shown))


def _count(argv: Sequence[str]) -> str:
    parser = _Parser(
        prog="python -m ffn_core count",
        description="Print what a model's FFNs cost, in parameters, FLOPs and bytes, beside its attention.",
    )
    parser.add_argument("model", metavar="NAME", help=f"one of {', '.join(MODELS)}")
    parser.add_argument(
        "--context", metavar="N", type=int, default=1024, help="tokens in the context; 1024 if not said"
    )
    parser.add_argument(
        "--causal", action="store_true", help="no token sees those after it: the mean over the context"
    )
    parser.add_argument("--json", action="store_true", help="machine-readable")
    arguments = parser.parse_args(argv)
    try:
        shape, context, causal = model(arguments.model), arguments.context, arguments.causal
        if not 1 <= context <= MAX_CONTEXT:
            raise ValueError(f"--context must be from 1 to {MAX_CONTEXT:,}, got {arguments.context}")
    except ValueError as error:
        parser.error(str(error))
    if arguments.json:
        return json.dumps(count_json(shape, context, causal))
    return "\n".join(count_lines(shape, context, causal))


def _learn(argv: Sequence[str]) -> str:
    parser = _Parser(
        prog="python -m ffn_core learn",
        description="Fit an FFN to a small task, and print its loss on the way.",
    )
    parser.add_argument("task", metavar="TASK", help=f"one of {', '.join(TASKS)}")
    add = partial(parser.add_argument, metavar="N", type=int)
    add("--d-ff", default=16, help="neurons; 16 if not said")
    add("--steps", default=2000, help="updates; 2000 if not said")
    add("--seed", default=0, help="of the initial weights and the batches; 0 if not said")
    add("--every", default=200, help="print every so many steps; 200 if not said")
    add("--batch-size", help="points a step; all if not said")
    parser.add_argument(
        "--activation",
        metavar="NAME",
        default="relu",
        help=f"one of {', '.join(ACTIVATIONS)}; relu if not said",
    )
    parser.add_argument(
        "--optimizer",
        metavar="NAME",
        default="adam",
        help=f"one of {', '.join(OPTIMIZERS)}; adam if not said",
    )
    parser.add_argument("--learning-rate", metavar="X", type=float, default=0.01, help="0.01 if not said")
    parser.add_argument(
        "--json",
        action="store_true",
        help="machine-readable, with the last weights; infinities and NaN as text",
    )
    arguments = vars(parser.parse_args(argv))
    as_json = arguments.pop("json")
    try:
        task = task_called(arguments.pop("task"))
        states = list(fit(task, **arguments))
    except ValueError as error:
        parser.error(str(error))
    if as_json:
        return json.dumps(_fit_json(task, arguments, states), allow_nan=False)
    return "\n".join(_fit_lines(task, arguments, states))


def _exercise(argv: Sequence[str]) -> str | tuple[str, bool]:
    """What to print and, for a solution, whether it passed."""
    parser = _Parser(
        prog="python -m ffn_core exercise",
        description="Practise on feed-forward networks: exercises, and what went wrong in a solution.",
        epilog="mark exits with 0 if the solution passed, 1 if it is refused, 2 where it is misused.",
    )
    actions = parser.add_subparsers(dest="action", metavar="list | show NAME | mark NAME FILE", required=True)
    actions.add_parser("list", help="every exercise, in teaching order")
    show = actions.add_parser("show", help="what is asked")
    mark = actions.add_parser("mark", help="mark a solution: a Python file, a number or a link, in a file")
    for action in (show, mark):
        action.add_argument("name", metavar="NAME", help="a name from the list")
        action.add_argument(
            "--seed", metavar="N", type=int, default=0, help="for other numbers; 0 if not said"
        )
    show.add_argument("--hints", action="store_true", help="with the hints")
    mark.add_argument("file", metavar="FILE", help="the solution; see what show says")
    asked = parser.parse_args(argv)
    if asked.action == "list":
        return "\n".join(exercises.list_lines())
    try:
        if asked.seed < 0:
            raise ValueError(f"--seed must be 0 or more, got {asked.seed}")
        exercise = exercises.exercise(asked.name)
        if asked.action == "show":
            return "\n".join(exercises.show_lines(exercise, asked.seed, asked.hints))
        return exercises.mark(exercise, asked.file, asked.seed, lambda link: _linked(link).scenario)
    except ValueError as error:
        parser.error(str(error))


_Command = Callable[[Sequence[str]], str | tuple[str, bool]]
_COMMANDS: dict[str, _Command] = {"count": _count, "learn": _learn, "exercise": _exercise}


def _fit_lines(task: Task, asked: dict[str, Any], states: list[FitState]) -> Iterator[str]:
    last = states[-1]
    yield task.title
    yield (
        f"{len(task.x)} points, d_model {task.d_model}, d_ff {last.ffn.d_ff}, {last.ffn.activation}, "
        f"{asked['optimizer']}, learning rate {asked['learning_rate']:g}, seed {asked['seed']}"
    )
    yield ""
    for state in states:
        right = "" if state.accuracy is None else f"  accuracy {state.accuracy:.1%}"
        yield f"step {state.step:<6}  loss {state.loss:.6g}{right}"
    if last.diverged:
        yield "It diverged: the loss or a weight is no longer finite. Try a smaller --learning-rate."


def _fit_json(task: Task, asked: dict[str, Any], states: list[FitState]) -> dict[str, Any]:
    ffn = states[-1].ffn
    return {
        "task": task.name,
        "title": task.title,
        "kind": task.kind,
        **asked,
        "activation": ffn.activation,
        "states": [
            {
                "step": each.step,
                "loss": _strict(each.loss),
                "accuracy": each.accuracy,
                "diverged": each.diverged,
            }
            for each in states
        ],
        **{name: _strict(array.tolist()) for name, array in parameters(ffn).items()},
    }


def _example(name: str) -> _Shown:
    chosen = example(name)
    return _Shown(
        title=chosen.title,
        about=f"{chosen.description}\nSource: {chosen.source}",
        scenario=Scenario(base=name),
    )


def _linked(url: str) -> _Shown:
    query = urlsplit(url).query if "?" in url or "://" in url else url
    scenario, warnings = Scenario.from_query(parse_qs(query, keep_blank_values=True))
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return _Shown(
        title="A scenario from a link",
        about="Its base with its edits applied.",
        scenario=scenario,
        is_linked=True,
    )


def _as_json(shown: _Shown) -> dict[str, Any]:
    scenario, arrays = shown.scenario, arrays_of(shown.trace)
    layer, _ = scenario.build()
    return {
        "title": shown.title,
        "words": scenario.words,
        "activation": scenario.activation,
        **scenario.kind.sizes(layer),
        **scenario.options,
        "n_parameters": layer.n_parameters,
        "shapes": {name: array.shape for name, array in arrays.items()},
        **{name: _strict(array.tolist()) for name, array in arrays.items()},
    }


def _strict(numbers: Any) -> Any:
    """Nested lists of floats with what JSON has no number for as text, which float() and NumPy read back."""
    if isinstance(numbers, list):
        return [_strict(number) for number in numbers]
    return numbers if np.isfinite(numbers) else str(numbers)


def _as_lesson(shown: _Shown) -> Iterator[str]:
    yield shown.title
    yield shown.about
    yield ""
    yield from trace_lines(shown.trace, shown.scenario.words)
    if shown.is_lesson:
        yield ""
        yield from difference_lines()


if __name__ == "__main__":
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(
            errors="backslashreplace"
        )  # a console without the signs of a word still shows it
    sys.exit(main())
