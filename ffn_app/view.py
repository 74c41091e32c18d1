"""How a scenario is looked at: what is chosen on the pages, and what a link says of it besides the scenario itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ffn_app.learning_run import Settings
from ffn_core.activations import ACTIVATIONS
from ffn_core.bases import MAX_D_MODEL
from ffn_core.counting import MAX_CONTEXT
from ffn_core.curves import FARTHEST
from ffn_core.descent import STARTS as OBJECTIVES
from ffn_core.descent import Objective, Start
from ffn_core.exercises import EXERCISES
from ffn_core.explain_backward import read_entry
from ffn_core.matrix_text import parse_number
from ffn_core.scenario import Scenario
from ffn_core.shape_scenario import ShapeScenario
from ffn_core.traps import NAMES as TRAPS

Looked = Scenario | ShapeScenario
"""What a person looks at."""

MOST_SEED = 9999
MOST_TARGET = 1000.0
NO_CURVES = "none"
"""How a link says that no curve is chosen."""


@dataclass(frozen=True, kw_only=True)
class View:
    """How the scenario is looked at: what a link says besides the scenario itself.

    `compare` shows another nonlinearity beside; `reading` is the x at which the curves are read; `expert` the one that
    is looked into; `length` the context length for which costs are counted, and `causal` how. `start`, `coordinate` and
    `target` say what the backward pass starts from (`ffn_core.descent.Objective`), and `entry` of which entry the
    gradient is explained (`ffn_core.explain_backward.Entry.text`). `trap` is the one that is open. `learning` is
    the text of the settings of the page "Learning" (`ffn_app.learning_run.Settings.text`), which reads it with care.
    `exercise` is the one that is open, and `seed` the class number that its numbers are drawn with. `shuffle` is the
    seed of the order in which positions are shuffled. `curves` are the nonlinearities that are drawn beside each other,
    from one x to another of `span`; `pair` are the two whose difference is, and `falling` says whether the bars of the
    neurons are sorted, largest first.
    """

    position: int = 0
    neuron: int | None = None
    step: int | None = None
    compare: bool = False
    reading: float = 1.0
    expert: int = 0
    length: int = 1024
    causal: bool = False
    start: Start = "target"
    coordinate: int = 0
    target: tuple[float, ...] = ()
    entry: str | None = None
    trap: str = TRAPS[0]
    learning: str = ""
    exercise: str = next(iter(EXERCISES))
    seed: int = 0
    shuffle: int = 0
    curves: tuple[str, ...] = ("relu", "gelu")
    span: tuple[float, float] = (-4.0, 4.0)
    pair: tuple[str, str] = ("gelu", "gelu_tanh")
    falling: bool = False

    @property
    def objective(self) -> Objective:
        """What the backward pass starts from, at the chosen position."""
        return Objective(
            start=self.start, position=self.position, coordinate=self.coordinate, target=self.target
        )

    def to_query(self) -> dict[str, str]:
        """The parts that are not the default, as link parameters."""
        query = {
            "p": self.position or None,
            "n": self.neuron,
            "s": self.step,
            "c": 1 if self.compare else None,
            "x": None if self.reading == View.reading else f"{self.reading:g}",
            "q": self.expert or None,
            "t": None if self.length == View.length else self.length,
            "h": 1 if self.causal else None,
            "d": None if self.start == View.start else self.start,
            "i": self.coordinate or None,
            "y": ",".join(str(number) for number in self.target) or None,
            "g": self.entry,
            "trap": None if self.trap == View.trap else self.trap,
            "l": self.learning or None,
            "task": None if self.exercise == View.exercise else self.exercise,
            "class": self.seed or None,
            "o": self.shuffle or None,
            "f": None if self.curves == View.curves else ",".join(self.curves) or NO_CURVES,
            "a": None if self.span == View.span else ",".join(f"{end:g}" for end in self.span),
            "k": None if self.pair == View.pair else ",".join(self.pair),
            "b": 1 if self.falling else None,
        }
        return {name: str(value) for name, value in query.items() if value is not None}

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "View":
        """Read the parameters that `to_query` writes; what makes no sense is left at its default."""

        def number(name: str) -> int | None:
            text = query.get(name, "")
            return int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else None

        try:
            reading = parse_number(query.get("x", ""))
        except ValueError:
            reading = cls.reading
        return cls(
            position=number("p") or 0,
            neuron=number("n"),
            step=number("s"),
            compare=number("c") == 1,
            reading=max(-FARTHEST, min(FARTHEST, reading)) + 0.0,  # which makes -0.0 a plain 0.0
            expert=number("q") or 0,
            length=max(1, min(MAX_CONTEXT, number("t") or cls.length)),
            causal=number("h") == 1,
            start=next((start for start in OBJECTIVES if start == query.get("d")), cls.start),
            coordinate=number("i") or 0,
            target=_target_of(query.get("y", "")),
            entry=query.get("g", "")[:40] or None,
            trap=query["trap"] if query.get("trap") in TRAPS else cls.trap,
            learning=Settings.from_text(query.get("l", "")).text,
            exercise=query["task"] if query.get("task") in EXERCISES else cls.exercise,
            seed=min(MOST_SEED, number("class") or 0),
            shuffle=min(MOST_SEED, number("o") or 0),
            curves=_curves_of(query.get("f", "")),
            span=_span_of(query.get("a", "")),
            pair=_pair_of(query.get("k", "")),
            falling=number("b") == 1,
        )

    def lost(self, query: Mapping[str, str]) -> list[str]:
        """What the link said about the view in vain, as sentences: all that is not so in this one, and what is instead."""
        taken = View().to_query() | _UNSAID | self.to_query()
        return [
            f"The link's {word} {_briefly(query[name])!r} makes no sense here"
            + (f": {_briefly(taken[name])} is taken instead." if taken[name] else " and was left out.")
            for name, word in _VIEW_WORDS.items()
            if name in query and not _says_the_same(query[name], taken[name])
        ]

    def within(self, scenario: Looked) -> "View":
        """The same view with position, neuron, expert and step inside the scenario's bounds."""
        if isinstance(scenario, ShapeScenario):
            return self
        layer, x = scenario.build()
        sizes = scenario.kind.sizes(layer)
        inside = self.neuron is not None and self.neuron < sizes["d_ff"]
        return replace(
            self,
            position=min(self.position, len(x) - 1),
            neuron=self.neuron if inside else None,
            step=self.step if self.step in range(4) else None,
            expert=min(self.expert, sizes.get("n_experts", 1) - 1),
            coordinate=min(self.coordinate, sizes["d_model"] - 1),
            target=_without_trailing_zeros(self.target[: sizes["d_model"]]),
            entry=self.entry if self.entry and _is_entry(self.entry, scenario) else None,
        )


_VIEW_WORDS = {
    "p": "position", "n": "neuron", "s": "step", "x": "x", "q": "expert", "t": "context length",
    "d": "start of the backward pass", "i": "coordinate", "y": "target", "g": "entry", "trap": "trap",
    "l": "setting for Learning",
    "task": "exercise", "class": "class number", "o": "shuffle",
    "f": "choice of curves", "a": "range of x", "k": "pair of curves", "b": "order of the bars",
}  # fmt: skip
"""What a link says of the view, in words."""
_UNSAID = {
    "p": "0", "n": "", "s": "", "x": "1", "q": "0", "t": str(View.length),
    "d": View.start, "i": "0", "y": "", "g": "", "trap": View.trap, "l": "",
    "task": View.exercise, "class": "0", "o": "0",
    "f": ",".join(View.curves), "a": "-4,4", "k": ",".join(View.pair), "b": "0",
}  # fmt: skip
"""What it means that a link does not say it."""


def _briefly(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:20]}…"


def _says_the_same(text: str, other: str) -> bool:
    """Whether two parameters mean the same: as texts, or as lists of numbers, in which trailing zeros count for nothing."""
    if text == other:
        return True
    try:
        numbers = [tuple(parse_number(number) for number in said.split(",")) for said in (text, other)]
    except ValueError:
        return False
    return _without_trailing_zeros(numbers[0]) == _without_trailing_zeros(numbers[1])


def _target_of(text: str) -> tuple[float, ...]:
    """The numbers of a target in a link; none of them where one makes no sense."""
    if not text or text.count(",") >= MAX_D_MODEL:
        return ()
    try:
        target = tuple(parse_number(number) for number in text.split(","))
    except ValueError:
        return ()
    return target if _is_target(target) else ()


def _is_target(value: Any) -> bool:
    return (
        type(value) is tuple
        and len(value) <= MAX_D_MODEL
        and all(type(number) is float and abs(number) <= MOST_TARGET for number in value)
    )


def _without_trailing_zeros(target: tuple[float, ...]) -> tuple[float, ...]:
    """The same target, in which missing numbers are 0, in its shortest form."""
    n = len(target)
    while n and target[n - 1] == 0:
        n -= 1
    return target[:n]


def _curves_of(text: str) -> tuple[str, ...]:
    """The nonlinearities of a list in a link; the usual ones where one is unknown or comes twice."""
    if text == NO_CURVES:
        return ()
    names = tuple(text.split(","))
    return names if _are_curves(names) else View.curves


def _pair_of(text: str) -> tuple[str, str]:
    names = tuple(text.split(","))
    return (names[0], names[1]) if _is_pair(names) else View.pair


def _span_of(text: str) -> tuple[float, float]:
    """The two ends of a range in a link; the usual ones where that is none."""
    try:
        ends = tuple(parse_number(end) + 0.0 for end in text.split(",", 2))
    except ValueError:
        return View.span
    return (ends[0], ends[1]) if _is_span(ends) else View.span


def _are_curves(value: Any) -> bool:
    return type(value) is tuple and set(value) <= ACTIVATIONS.keys() and len(set(value)) == len(value)


def _is_pair(value: Any) -> bool:
    return type(value) is tuple and len(value) == 2 and set(value) <= ACTIVATIONS.keys()


def _is_span(value: Any) -> bool:
    return (
        type(value) is tuple
        and len(value) == 2
        and all(type(end) in (int, float) and abs(end) <= FARTHEST for end in value)
        and value[0] < value[1]
    )


def _is_entry(text: str, scenario: Scenario) -> bool:
    """Whether a dense scenario has that entry; gradients of other networks are not drawn."""
    return scenario.family == "dense" and read_entry(text, scenario.build()[0]) is not None


def is_count(value: Any) -> bool:
    """Whether a value from a visitor is an integer from 0 on."""
    return type(value) is int and value >= 0


VIEW_FIELDS: dict[str, Callable[[Any], bool]] = {
    "position": is_count,
    "neuron": lambda value: value is None or is_count(value),
    "step": lambda value: value is None or is_count(value),
    "compare": lambda value: type(value) is bool,
    "reading": lambda value: type(value) in (int, float) and abs(value) <= FARTHEST,
    "expert": is_count,
    "length": lambda value: is_count(value) and 1 <= value <= MAX_CONTEXT,
    "causal": lambda value: type(value) is bool,
    "start": lambda value: value in OBJECTIVES,
    "coordinate": is_count,
    "target": _is_target,
    "entry": lambda value: value is None or (type(value) is str and len(value) <= 40),
    "trap": lambda value: value in TRAPS,
    "exercise": lambda value: value in EXERCISES,
    "seed": lambda value: is_count(value) and value <= MOST_SEED,
    "shuffle": lambda value: is_count(value) and value <= MOST_SEED,
    "curves": _are_curves,
    "span": _is_span,
    "pair": _is_pair,
    "falling": lambda value: type(value) is bool,
}
"""What a visitor may set of a View, each with what is a sound value of it."""

NOT_OF_THE_EXAMPLE = (
    "compare",
    "length",
    "causal",
    "start",
    "trap",
    "exercise",
    "seed",
    "shuffle",
    "learning",
    "reading",
    "curves",
    "span",
    "pair",
    "falling",
)
"""What stays of a view when another example is chosen."""
