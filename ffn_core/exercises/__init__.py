"""Exercises on feed-forward networks, in teaching order, and how each is marked.

A number is worked out by hand, a scenario is set until it does what was asked, a function is written. What is right, and what
each known mistake would give, comes from `ffn_core`; `marking` compares, here and in the student's browser.
"""

from ffn_core.exercises import by_hand, to_set, to_write
from ffn_core.exercises.exercise import (
    CodeExercise,
    Exercise,
    Mistake,
    NumberExercise,
    NumberTask,
    ScenarioExercise,
    Sheet,
    Verdict,
)

__all__ = [
    "EXERCISES",
    "CodeExercise",
    "Exercise",
    "Mistake",
    "NumberExercise",
    "NumberTask",
    "ScenarioExercise",
    "Sheet",
    "Verdict",
]

_ALL: tuple[Exercise, ...] = (
    by_hand.HIDDEN,
    to_write.HIDDEN,
    by_hand.ACTIVATED,
    by_hand.CONTRIBUTION,
    to_set.CAT,
    to_set.WRITE,
    by_hand.OUTPUT,
    to_write.FORWARD,
    by_hand.DEAD,
    to_set.DEAD,
    to_set.AND,
    to_set.NOT,
    to_set.ZERO,
    to_set.COPY,
    to_write.GELU,
    to_write.FORWARD_GELU,
    by_hand.PARAMETERS,
    by_hand.GATED,
    by_hand.D_FF,
    to_write.GATED,
    by_hand.TOP2,
    to_write.TOP2,
    to_write.BACKWARD,
)

EXERCISES: dict[str, Exercise] = {exercise.name: exercise for exercise in _ALL}
"""Every exercise by its name, in teaching order."""
