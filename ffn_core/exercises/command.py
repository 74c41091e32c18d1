"""The exercises in a terminal: what `python -m ffn_core exercise` prints."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from ffn_core.exercises import EXERCISES
from ffn_core.exercises.exercise import CodeExercise, Exercise, NumberExercise, ScenarioExercise, Sheet
from ffn_core.exercises.marking import mark_number
from ffn_core.exercises.offline import mark_file
from ffn_core.scenario import Scenario

MAX_FILE = 1_000_000

_IN_THE_FILE = {
    "code": "FILE is your Python file with the function",
    "numbers": "FILE holds the number",
    "scenario": "FILE holds the link (the app's address) of the network as you have set it",
}


def exercise(name: str) -> Exercise:
    """The exercise called `name`; a ValueError lists those that there are."""
    if name not in EXERCISES:
        raise ValueError(f"no exercise is called {name!r}; there are {', '.join(EXERCISES)}")
    return EXERCISES[name]


def list_lines() -> Iterator[str]:
    """A line for each exercise: its name, how it is done, its title."""
    width = max(map(len, EXERCISES))
    for each in EXERCISES.values():
        yield f"{each.name:{width}}  {each.kind:8}  {each.title}"


def show_lines(shown: Exercise, seed: int, hints: bool) -> Iterator[str]:
    """What is asked, where to begin, and how it is marked."""
    yield shown.title
    yield ""
    yield shown.statement(seed)
    if isinstance(shown, CodeExercise):
        yield "\nBegin with:\n"
        yield shown.starter.rstrip()
    if isinstance(shown, ScenarioExercise):
        yield f"\nBegin with: ?{urlencode(shown.start(seed).to_query())} after the app's address"
    if hints:
        yield ""
        yield from (f"Hint: {hint}" for hint in shown.hints)
    seeded = f" --seed {seed}" if shown.seeded and seed else ""
    yield f"\nMark it: python -m ffn_core exercise mark {shown.name} FILE{seeded}"
    yield f"{_IN_THE_FILE[shown.kind]}."


def mark(marked: Exercise, file: str, seed: int, scenario_of: Callable[[str], Scenario]) -> tuple[str, bool]:
    """What to print on the solution in `file`, and whether it passed; a ValueError says why there is none to mark.

    `scenario_of` reads a link.
    """
    text = _text_of(file)
    if isinstance(marked, CodeExercise):
        sheet = marked.sheet(seed)
        verdict, printed = mark_file(file, sheet)
        return "\n".join(_code_lines(marked, sheet, verdict, printed)), verdict["passed"]
    if isinstance(marked, NumberExercise):
        number = mark_number(marked.ask(seed).as_json(), text)
        return _said(marked, number["diagnosis"], number["message"]), number["passed"]
    assert isinstance(marked, ScenarioExercise)
    found = marked.check(scenario_of(text.strip()))
    return _said(marked, None if found.passed else "wrong-values", found.message), found.passed


def _text_of(file: str) -> str:
    """The text of `file`; a ValueError unless it can be read and is not too long."""
    try:
        if not Path(file).is_file():
            raise ValueError(f"FILE must be a file, and there is none at {file!r}")
        with Path(file).open("rb") as stream:
            text = stream.read(MAX_FILE + 1)
    except OSError as error:
        raise ValueError(f"{file!r} cannot be read: {error.strerror}") from None
    if len(text) > MAX_FILE:
        raise ValueError(f"FILE has at most {MAX_FILE:,} bytes, got more in {file!r}")
    return text.decode("utf-8", "replace")


def _said(marked: Exercise, diagnosis: str | None, message: str) -> str:
    if diagnosis is None:
        return f"Passed: {marked.name}. {message}"
    return f"Refused: {marked.name}.\ndiagnosis: {diagnosis}\n{message}"


def _code_lines(marked: CodeExercise, sheet: Sheet, verdict: dict[str, Any], printed: str) -> Iterator[str]:
    if printed:
        yield f"Your code printed:\n{printed.rstrip()}\n"
    if verdict["passed"]:
        yield _said(marked, None, verdict["message"])
        return
    named = {case["name"]: case for case in sheet["cases"]}
    case = named.get(verdict["case"])
    if case is None:
        yield f"Refused: {marked.name}."
    else:
        yield f"Refused: {marked.name}. {verdict['n_passed']} of {verdict['n_cases']} cases are right."
        yield f"case      {case['name']}"
        if case["shown"]:
            yield f"call      {marked.function}({', '.join(map(repr, case['args']))})"
        yield f"got       {verdict['got']}"
        yield f"expected  {verdict['expected']}"
        if verdict["where"] is not None:
            yield f"differs   {verdict['where']}"
    if verdict["traceback"]:
        yield verdict["traceback"].rstrip()
    yield f"diagnosis: {verdict['diagnosis']}"
    yield verdict["message"]
