"""Exercises on feed-forward networks, in teaching order, and how each is marked.

A number is worked out by hand, a scenario is set until it does what was asked, a function is written. What is right, and what
each known mistake would give, comes from `ffn_core`; `marking` compares, here and in the student's browser.
"""

from ffn_core.exercises import to_write
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
    to_write.HIDDEN,
    to_write.FORWARD,
    to_write.GELU,
    to_write.FORWARD_GELU,
    to_write.GATED,
    to_write.TOP2,
    to_write.BACKWARD,
)

EXERCISES: dict[str, Exercise] = {exercise.name: exercise for exercise in _ALL}
