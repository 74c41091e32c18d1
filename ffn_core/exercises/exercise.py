"""What an exercise is: three kinds, each marked in its own way."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from ffn_core.scenario import Scenario

Sheet = dict[str, Any]
"""What `marking.mark` needs, as JSON."""


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """A number that a known slip gives, its diagnosis (one of `marking.CODES`), and a sentence that helps."""

    value: float
    code: str
    message: str


@dataclass(frozen=True, kw_only=True)
class NumberTask:
    """A question whose answer is a number: `prompt` is Markdown, `decimals` what the answer is asked to.

    A typed number is right within `tolerance` of `answer`. `otherwise` is said of a number that no known slip gives.
    """

    prompt: str
    answer: float
    decimals: int
    mistakes: tuple[Mistake, ...]
    otherwise: str = "Go through the hints once more."

    @property
    def tolerance(self) -> float:
        """A little over half a unit of the last decimal, for numbers rounded on the way; whole numbers must be exact."""
        return float(0.6 * 10.0**-self.decimals) if self.decimals else 0.0

    def as_json(self) -> dict[str, Any]:
        """What `marking.mark_number` needs."""
        return asdict(self) | {"tolerance": self.tolerance}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether a scenario does what was asked; if not, `message` says what is still wrong."""

    passed: bool
    message: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Exercise:
    """`statement(seed)` is Markdown; `seeded` says whether the seed changes it. Hints are read one by one."""

    name: str
    title: str
    statement: Callable[[int], str]
    hints: tuple[str, ...]
    seeded: bool
    kind: ClassVar[Literal["numbers", "scenario", "code"]]


@dataclass(frozen=True, eq=False, kw_only=True)
class NumberExercise(Exercise):
    """A number to work out by hand, marked by `marking.mark_number(ask(seed).as_json(), text)`."""

    ask: Callable[[int], NumberTask]
    kind = "numbers"


@dataclass(frozen=True, eq=False, kw_only=True)
class ScenarioExercise(Exercise):
    """A network to set, from `start(seed)` on, until `check` passes."""

    start: Callable[[int], Scenario]
    check: Callable[[Scenario], Verdict]
    kind = "scenario"


@dataclass(frozen=True, eq=False, kw_only=True)
class CodeExercise(Exercise):
    """A function to write, marked by `marking.mark(function, sheet(seed))`."""

    function: str
    signature: str
    starter: str
    sheet: Callable[[int], Sheet]
    kind = "code"
