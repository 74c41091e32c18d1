"""Solutions of the exercises, right and wrong, each wrong one with its diagnosis: what the marker is held to."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ffn_core.exercises import EXERCISES


def exercise(name):
    """An exercise of whatever kind."""
    return EXERCISES[name]


class Wrong(NamedTuple):
    """A plausible wrong function, the diagnosis it must get, and words of the sentence that must come with it."""

    function: Callable[..., Any]
    code: str
    says: str


class Solutions:
    """The functions that one exercise is held to."""

    def __init__(self, name):
        self.exercise = name
        self.right_ones: list[Callable[..., Any]] = []
        self.wrong_ones: list[Wrong] = []

    def right(self, function):
        self.right_ones.append(function)
        return function

    def wrong(self, code, says):
        def keep(function):
            self.wrong_ones.append(Wrong(function, code, says))
            return function

        return keep
