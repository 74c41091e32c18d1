"""What a value from a visitor must be: numbers, counts and words, each refused with the rule and what came."""

import operator
import unicodedata
from numbers import Integral, Real
from typing import Any

import numpy as np

from ffn_core.matrix_text import MAX_MAGNITUDE

MAX_WORD = 24


class EditError(ValueError):
    """An edit that does not fit the arrays it would change, or that is none."""


def check_number(name: str, value: Any) -> float:
    """`value` as a float: a finite number of a size that arithmetic holds."""
    if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)):
        raise EditError(f"{name} takes a number, got {short(value)}")
    try:
        taken = float(value) + 0.0  # there is one zero: -0.0 + 0.0 is 0.0
    except OverflowError:
        taken = np.inf
    if not abs(taken) <= MAX_MAGNITUDE:
        raise EditError(f"{name} must be finite, between -1e30 and 1e30, got {short(value)}")
    return taken


def check_integer(name: str, value: Any, low: int | None = None, high: int | None = None) -> int:
    """`value` as an int, within the limits where they are given."""
    if not isinstance(value, Integral) or isinstance(value, (bool, np.bool_)):
        raise EditError(f"{name} must be an integer, got {short(value)}")
    taken = operator.index(value)
    if low is not None and high is not None and not low <= taken <= high:
        raise EditError(f"{name} must be from {low} to {high}, got {short(taken)}")
    return taken


def check_word(word: Any) -> str:
    """`word`, if it can label a position: at most MAX_WORD characters, no controls and no line breaks."""
    if not isinstance(word, str):
        raise EditError(f"a word must be text, got {short(word)}")
    if len(word) > MAX_WORD:
        raise EditError(f"a word has at most {MAX_WORD} characters, got {len(word)}; shorten {short(word)}")
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in word):
        raise EditError(
            f"a word has no control characters and no line breaks, got {short(word)}; leave them out"
        )
    return word


def short(value: Any) -> str:
    """`value` for an error message: what came may be huge."""
    if isinstance(value, int) and value.bit_length() > 100:
        return "an integer of more than 30 digits"
    if isinstance(value, (tuple, list)) and len(value) > 4:
        return f"{len(value)} items, {', '.join(map(short, value[:2]))}, ..."
    text = repr(value) if isinstance(value, (str, float, int, bool, type(None))) else f"{value!s}"
    return text if len(text) <= 60 else f"{text[:59]}…"
