"""The shape of a model that a person is looking at: a published one, and every size changed since.

What `ffn_core.scenario` is to a network, this is to a ModelShape: a session holds it, a link carries it, and undo and
the comparison with the start replay it. The context length, and whether attention is causal, are how one looks at a
shape and no part of it.

In a link the edits are statements, each closed by `~`, so that a link cut short shows where:

    d_ff.4096~  gated.1~  norm.rmsnorm~    d_ff = 4096, gated = True, norm = "rmsnorm"
    t~ ... u~                              the statements between are one gesture
"""

import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any
from urllib.parse import urlencode

import numpy as np

from ffn_core.counting import MODELS, NORM_VECTORS, ModelShape, model
from ffn_core.scenario import MAX_LINK, Edit, EditError

DEFAULT_MODEL = "gpt2-small"
MAX_EDITS = 1000

BOUNDS: dict[str, tuple[int, int]] = {
    "n_layers": (1, 10_000),
    "d_model": (1, 1_000_000),
    "d_ff": (1, 4_000_000),
    "n_heads": (1, 10_000),
    "n_kv_heads": (1, 10_000),
    "d_head": (1, 100_000),
    "vocab_size": (0, 10_000_000),
    "n_positions": (0, 10_000_000),
    "n_token_types": (0, 1000),
    "n_experts": (1, 10_000),
    "top_k": (1, 10_000),
    "n_norms": (0, 10),
    "n_decoder_layers": (0, 10_000),
}
"""The sizes that an edit may change, with the least and the greatest value of each."""
CHOICES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(
        ("gated", "ffn_bias", "attention_bias", "tied", "final_norm", "embedding_norm", "pooler"),
        (False, True),
    ),
    "norm": tuple(NORM_VECTORS),
}
"""The other fields that an edit may change, with their values."""
FIELDS = (*BOUNDS, *CHOICES)

_STATEMENT = re.compile(r"([a-z_]{1,20})\.([a-z0-9]{1,12})")
_MAX_TEXT = 100_000
_NAMED_LOSSES = 5


@dataclass(frozen=True, kw_only=True)
class ShapeScenario:
    """A model of MODELS and the edits made since, oldest first.

    An edit is (field, (), value), for one of FIELDS; or ("together", (), (edit, edit, ...)), made and undone as one,
    the way to change sizes that must fit each other. Until an edit sets it, `n_kv_heads` follows `n_heads` in a model
    where they are equal, and `d_head` stays d_model / n_heads where it is that. Raises EditError for an edit that is
    none or gives no sound shape, ValueError for an unknown base.
    """

    base: str = DEFAULT_MODEL
    edits: tuple[Edit, ...] = ()

    def __post_init__(self) -> None:
        """Replay the edits, which checks them."""
        replay = _Replay(self.base)
        edits = tuple(replay.apply(edit) for edit in self.edits)
        if (n := _count(edits)) > MAX_EDITS:
            raise EditError(f"a scenario has at most {MAX_EDITS:,} edits, got {n:,}; compact() it first")
        object.__setattr__(self, "edits", edits)
        object.__setattr__(self, "_replay", replay)

    def build(self) -> ModelShape:
        """The shape; its title and source say so where it is no longer the published one."""
        return self._built

    @cached_property
    def _built(self) -> ModelShape:
        start = model(self.base)
        shape: ModelShape = self.__dict__["_replay"].shape
        if shape == start:
            return start
        return replace(shape, title=f"{start.title}, changed", source=f"Changed from: {start.source}")

    def edit(self, *edits: Edit | tuple[Any, ...]) -> "ShapeScenario":
        """With these edits made as well."""
        return self._with((*self.edits, *edits))

    def undo(self) -> "ShapeScenario":
        """Without the last edit; itself where there is none."""
        return self._with(self.edits[:-1]) if self.edits else self

    def start(self) -> "ShapeScenario":
        """Without any edit."""
        return self._with(())

    def changes(self) -> dict[str, bool]:
        """For each of FIELDS, whether it differs from the start."""
        now, before = self.build(), model(self.base)
        return {field: getattr(now, field) != getattr(before, field) for field in FIELDS}

    def compact(self) -> "ShapeScenario":
        """The same shape in at most one edit."""
        now, before = self.__dict__["_replay"].fields, _Replay(self.base).fields
        steps = [(field, (), now[field]) for field in now if now[field] != before.get(field)]
        return self._with([("together", (), steps)] if steps else [])

    def to_query(self) -> dict[str, str]:
        """The parameters of a link to exactly this scenario; none for the default one.

        `m` the model's name, `e` the edits in the module's grammar.
        """
        return dict(self._query)

    @cached_property
    def _query(self) -> dict[str, str]:
        query = {} if self.base == DEFAULT_MODEL else {"m": self.base}
        return query | ({"e": "".join(map(_statement, self.edits))} if self.edits else {})

    def link_query(self) -> dict[str, str]:
        """`to_query()` if it fits a link, else that of `compact()`, which always does."""
        return self.to_query() if len(urlencode(self._query)) <= MAX_LINK else self.compact().to_query()

    @classmethod
    def from_query(cls, query: Mapping[str, Any]) -> tuple["ShapeScenario", list[str]]:
        """The scenario that a link's parameters describe, and a sentence for each thing that was dropped.

        Never raises. Values may be lists, as `urllib.parse.parse_qs` gives them: the first counts. Other parameters
        are the page's own.
        """
        losses: list[str] = []
        base = _first(query, "m")
        if base is not None and base not in MODELS:
            losses.append(f"There is no model {base[:40]!r}: {MODELS[DEFAULT_MODEL].title} is used.")
        base = base if base in MODELS else DEFAULT_MODEL
        edits = _edits_of(_first(query, "e"), base, losses)
        if len(losses) > _NAMED_LOSSES:
            losses[_NAMED_LOSSES:] = [f"And {len(losses) - _NAMED_LOSSES} more such losses."]
        return cls(base=base, edits=tuple(edits)), losses

    def _with(self, edits: Iterable[Edit | tuple[Any, ...]]) -> "ShapeScenario":
        return ShapeScenario(base=self.base, edits=tuple(edits))  # type: ignore[arg-type]


class _Replay:
    """The fields while edits are replayed; one edit is checked fully before it changes anything."""

    def __init__(self, base: str) -> None:
        self.start = self.shape = model(base)
        self.fields: dict[str, Any] = {field: getattr(self.start, field) for field in FIELDS}
        # What is left out follows from the other fields, as ModelShape has it.
        if self.start.n_kv_heads == self.start.n_heads:
            del self.fields["n_kv_heads"]
        if self.start.n_heads * self.start.d_head == self.start.d_model:
            del self.fields["d_head"]

    def apply(self, edit: Any) -> Edit:
        """Make one edit of any form and return it in the form that ShapeScenario keeps."""
        field, value = _parts(edit)
        if field != "together":
            kept = _checked(field, value)
            self._set([kept])
            return kept
        if not isinstance(value, (tuple, list)) or not value:
            raise EditError(
                f"edits made together are ('together', (), (edit, edit, ...)), got {_short(value)}"
            )
        made = tuple(_checked(*_parts(part)) for part in value)
        self._set(made)
        return Edit("together", (), made)

    def _set(self, edits: Iterable[Edit]) -> None:
        fields = self.fields | {edit.array: edit.value for edit in edits}
        start = self.start
        try:
            shape = ModelShape(name=start.name, title=start.title, source=start.source, **fields)
        except ValueError as error:
            raise EditError(str(error)) from None
        self.fields, self.shape = fields, shape


def _parts(edit: Any) -> tuple[str, Any]:
    if not isinstance(edit, (tuple, list)) or len(edit) != 3 or not isinstance(edit[0], str):
        raise EditError(f"an edit is (field, (), value), as in ('d_ff', (), 4096); got {_short(edit)}")
    field, index, value = edit
    if not isinstance(index, (tuple, list)) or len(index):
        raise EditError(f"an edit of a shape takes no index, as in ('d_ff', (), 4096); got {_short(index)}")
    return field, value


def _checked(field: str, value: Any) -> Edit:
    """The edit with its value as a plain Python one, if it is within the field's own limits."""
    if field in BOUNDS:
        low, high = BOUNDS[field]
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise EditError(f"{field} must be an integer, got {_short(value)}")
        number = operator.index(value)
        if not low <= number <= high:
            raise EditError(f"{field} must be from {low:,} to {high:,}, got {_short(number)}")
        return Edit(field, (), number)
    if field in CHOICES:
        value = bool(value) if isinstance(value, np.bool_) else value
        kind = str if field == "norm" else bool
        if not isinstance(value, kind) or value not in CHOICES[field]:
            raise EditError(f"{field} must be {' or '.join(map(str, CHOICES[field]))}, got {_short(value)}")
        return Edit(field, (), value)
    if field == "together":
        raise EditError("edits made together cannot hold others made together; list them in one tuple")
    raise EditError(f"an edit begins with one of {', '.join(FIELDS)}, together; got {_short(field)}")


def _count(edits: Iterable[Edit]) -> int:
    return sum(len(edit.value) if edit.array == "together" else 1 for edit in edits)


def _short(value: Any) -> str:
    """`value` for an error message: what came may be huge."""
    if isinstance(value, int) and value.bit_length() > 100:
        return "an integer of more than 30 digits"
    if isinstance(value, (tuple, list)) and len(value) > 4:
        return f"{len(value)} items"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _statement(edit: Edit) -> str:
    if edit.array == "together":
        return f"t~{''.join(map(_statement, edit.value))}u~"
    value = int(edit.value) if isinstance(edit.value, bool) else edit.value
    return f"{edit.array}.{value}~"


def _read(statement: str) -> tuple[str, tuple[()], Any] | None:
    match = _STATEMENT.fullmatch(statement)
    if match is None:
        return None
    field, text = match.groups()
    if field == "norm":
        return field, (), text
    if not text.isdecimal():
        return None
    number = int(text)
    return field, (), bool(number) if field in CHOICES and number in (0, 1) else number


def _gestures(text: str, losses: list[str]) -> Iterator[Any]:
    """The edits that can be read; a gesture, once it is closed or the text ends, as edits made together."""
    *statements, rest = text[:_MAX_TEXT].split("~")
    gesture: list[Any] | None = None
    for statement in statements:
        if statement == "t" and gesture is None:
            gesture = []
        elif statement == "u" and gesture is not None:
            if gesture:
                yield "together", (), gesture
            gesture = None
        elif (edit := _read(statement)) is None:
            losses.append(f"An edit cannot be read: {statement[:20]!r}.")
        elif gesture is None:
            yield edit
        else:
            try:
                gesture.append(_checked(edit[0], edit[2]))
            except EditError as error:
                losses.append(f"An edit was dropped: {error}.")
    if rest or len(text) > _MAX_TEXT:
        losses.append("The link is cut short: its last edit is lost.")
    if gesture is not None:
        losses.append("The link is cut short within a group of edits: the rest of the group is lost.")
        if gesture:
            yield "together", (), gesture


def _edits_of(text: str | None, base: str, losses: list[str]) -> list[Edit]:
    edits: list[Edit] = []
    replay, room = _Replay(base), MAX_EDITS
    for edit in _gestures(text or "", losses):
        n = len(edit[2]) if edit[0] == "together" else 1
        if n > room:
            losses.append(f"A scenario has at most {MAX_EDITS:,} edits: those after them are dropped.")
            break
        room -= n  # whether it fits or not: a hostile link must not keep a server busy
        try:
            edits.append(replay.apply(edit))
        except EditError as error:
            losses.append(f"An edit was dropped: {error}.")
    return edits


def _first(query: Mapping[str, Any], key: str) -> str | None:
    value = query.get(key)
    if isinstance(value, (list, tuple)):
        value = value[0] if value else None
    return value if isinstance(value, str) else None
