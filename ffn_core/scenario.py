"""What a person is looking at: a starting point and every edit made to it.

A session holds a Scenario, a link and a file carry one, and undo and the comparison with the start replay
it. Nothing changes in place: each step gives a new Scenario. Each is sound, since an edit that does not fit
the arrays as they are at its turn is an EditError when the Scenario is made.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

import numpy as np
import numpy.typing as npt

from ffn_core.activations import activation
from ffn_core.bases import (
    MAX_D_FF,
    MAX_D_MODEL,
    MAX_EDITED,
    MAX_EXPERT_D_FF,
    MAX_EXPERTS,
    MAX_POSITIONS,
    Base,
    RandomBase,
    start_of,
)
from ffn_core.checks import MAX_WORD, EditError, check_word
from ffn_core.examples import example
from ffn_core.families import KINDS, MAX_CAPACITY, Family, Kind, Layer, activation_of
from ffn_core.link import MAX_EDIT_TEXT, decode, encode, plain_text
from ffn_core.replay import MAX_EDITS, MAX_STRENGTH, MAX_WORK, Array, Edit, State, steps_to

__all__ = [
    "ARRAYS",
    "AXES",
    "DEFAULT_BASE",
    "LINK_VERSION",
    "MAX_CAPACITY",
    "MAX_D_FF",
    "MAX_D_MODEL",
    "MAX_EDITED",
    "MAX_EDITS",
    "MAX_EXPERTS",
    "MAX_EXPERT_D_FF",
    "MAX_LINK",
    "MAX_POSITIONS",
    "MAX_STRENGTH",
    "MAX_WORD",
    "MAX_WORK",
    "Array",
    "Edit",
    "EditError",
    "RandomBase",
    "Scenario",
    "check_word",
]

AXES = KINDS["dense"].axes
ARRAYS = KINDS["dense"].arrays
"""The arrays of a dense scenario; those of any are `Scenario.arrays`."""

MAX_LINK = 8000
"""Characters of an encoded query that browsers, servers and chat programs all pass on."""

DEFAULT_BASE = "lesson"
LINK_VERSION = "1"
_NAMED_LOSSES = 5


@dataclass(frozen=True, eq=False, kw_only=True)
class Scenario:
    """A base, a nonlinearity and the edits made since, oldest first.

    `base` is the name of an example or a RandomBase. `activation` is any name that `ffn_core.activation`
    knows, kept as the table's own; None stands for the base's, and is never kept. `edits` takes tuples and
    lists in the forms of `Edit`, NumPy's numbers among them, and keeps them as Edits: numbers as floats,
    indexes, seeds and widths as ints. Raises EditError for an edit that does not fit, ValueError for an
    unknown base or activation.
    """

    base: Base = DEFAULT_BASE
    activation: str | None = None
    edits: tuple[Edit, ...] = ()
    words: tuple[str, ...] = field(init=False)
    """One word for each position, after the edits."""
    before: InitVar["Scenario | None"] = None

    def __post_init__(self, before: "Scenario | None") -> None:
        """Replay the edits, which checks them; after `before`, only those that follow its own."""
        state: State = State(self.base) if before is None else before.__dict__["_state"].copy()
        made = () if before is None else before.edits
        edits = (*made, *(state.apply(edit) for edit in self.edits[len(made) :]))
        if (n := _count(edits)) > MAX_EDITS:
            raise EditError(f"a scenario has at most {MAX_EDITS:,} edits, got {n:,}; compact() it first")
        name = _own_activation(self.base) if self.activation is None else activation(self.activation).name
        for array in state.arrays.values():
            array.setflags(write=False)
        object.__setattr__(self, "activation", name)
        object.__setattr__(self, "edits", edits)
        object.__setattr__(self, "words", tuple(state.words))
        object.__setattr__(self, "_state", state)
        object.__setattr__(self, "_built", (state.layer(name), state.arrays["x"]))

    def build(self) -> tuple[Any, Array]:
        """The layer and x [positions, d_model], float64 and read-only; the same objects at each call.

        The layer is an FFN, a GatedFFN or an MoE, as `family` says: dense, gated or experts. Its w2 (or w_down) has the
        interventions in it: column j is the column as edited, times `strengths[j]`.
        """
        built: tuple[Layer, Array] = self.__dict__["_built"]
        return built

    @property
    def kind(self) -> Kind:
        """What arrays and options the scenario has; that of its base."""
        kind: Kind = self.__dict__["_state"].kind
        return kind

    @property
    def family(self) -> Family:
        """What `build` gives: "dense" an FFN, "gated" a GatedFFN, "experts" an MoE."""
        return self.kind.family

    @property
    def arrays(self) -> dict[str, Array]:
        """Every array that can be edited by name, x first, as edited: w2 (or w_down) without the interventions.

        Those of a mixture's experts are stacked: its w1 is [n_experts, d_ff, d_model].
        """
        return dict(self.__dict__["_state"].arrays)

    @property
    def options(self) -> dict[str, float | int]:
        """Of a mixture top_k, renormalize (0 or 1) and capacity (a factor, 0 for no limit); of others none."""
        return dict(self.__dict__["_state"].options)

    @property
    def strengths(self) -> dict[int, float]:
        """The factor of each neuron that is intervened on, in the neurons' order; one at 1 is none."""
        return dict(sorted(self.__dict__["_state"].strengths.items()))

    def without_strengths(self) -> "Scenario":
        """The same edits without the interventions: what the network is before them; itself where there are none."""
        edits = tuple(_without_strengths(self.edits))
        return self if edits == self.edits else self._with(edits)

    def edit(self, *edits: Edit | tuple[Any, ...]) -> "Scenario":
        """With these edits made as well."""
        together = (*self.edits, *edits)
        return Scenario(base=self.base, activation=self.activation, edits=together, before=self)  # type: ignore[arg-type]

    def undo(self) -> "Scenario":
        """Without the last edit; itself where there is none."""
        return self._with(self.edits[:-1]) if self.edits else self

    def start(self) -> "Scenario":
        """Without any edit; base and activation stay."""
        return self._with(())

    def with_activation(self, name: str) -> "Scenario":
        """With another nonlinearity, by any name that `ffn_core.activation` knows."""
        return Scenario(base=self.base, activation=name, edits=self.edits, before=self)

    def holding(
        self, layer: Layer, x: npt.ArrayLike | None = None, words: Iterable[str] | None = None
    ) -> "Scenario":
        """With one more edit that makes this scenario hold `layer`, x [positions, d_model] and the words.

        None keeps x as far as it fits, and the words. The layer's values are taken as they are, so every strength is
        taken back. The activation becomes the layer's; it is no edit, and undo does not bring the old one back. Raises
        EditError where the layer is of another kind, or its arrays are larger than edits may make them: a scenario on
        a RandomBase of its kind and size holds it.
        """
        parts = State(self.base)
        for edit in self.edits:
            parts.apply(edit)
        steps = list(steps_to(parts, layer, x, words))
        scenario = self.with_activation(activation_of(layer))
        return scenario.edit(("together", (), steps)) if steps else scenario

    def compact(self) -> "Scenario":
        """The same network, x and words in at most one edit, which holds only what differs from the start.

        Interventions stay interventions.
        """
        layer, x = self.without_strengths().build()
        held = self.start().holding(layer, x, self.words).edits
        steps = [step for gesture in held for step in gesture.value]
        steps += [("strength", (neuron,), factor) for neuron, factor in self.strengths.items()]
        return self._with([("together", (), steps)] if steps else [])

    def changes(self) -> dict[str, npt.NDArray[np.bool_] | None]:
        """For each of `arrays`, which entries of it in `build` differ from the start; None where the shape does."""
        return {
            name: now != before if now.shape == before.shape else None
            for (name, now), before in zip(
                self._built_arrays().items(), self.start()._built_arrays().values(), strict=True
            )
        }

    def _built_arrays(self) -> dict[str, npt.NDArray[Any]]:
        layer, x = self.build()
        return {"x": x, **self.kind.weights(layer)}

    def to_query(self) -> dict[str, str]:
        """The parameters of a link to exactly this scenario; none for the default one.

        `ex` the example's name, or `r` as `RandomBase.text`; `act` the activation where it is not
        the base's; `v` the version and `e` the text of the edits (see `ffn_core.link`).
        """
        return dict(self._query)

    @cached_property
    def _query(self) -> dict[str, str]:
        query = {}
        if isinstance(self.base, RandomBase):
            query["r"] = self.base.text
        elif self.base != DEFAULT_BASE:
            query["ex"] = self.base
        if self.activation and self.activation != _own_activation(self.base):
            query["act"] = self.activation
        if self.edits:
            query |= {"v": LINK_VERSION, "e": encode(self.edits)}
        return query

    def link_query(self) -> dict[str, str] | None:
        """`to_query()` if it fits a link, else that of `compact()`; None if neither does: offer a file."""
        if self._fits_a_link():
            return self.to_query()
        compact = self.compact()
        return compact.to_query() if compact._fits_a_link() else None

    def _fits_a_link(self) -> bool:
        return len(urlencode(self._query)) <= MAX_LINK and len(plain_text(self.edits)) <= MAX_EDIT_TEXT

    @classmethod
    def from_query(
        cls, query: Mapping[str, Any], default: str = DEFAULT_BASE
    ) -> tuple["Scenario", list[str]]:
        """The scenario that a link's parameters describe, and a sentence for each thing that was dropped.

        Never raises: what is unknown, damaged or out of range is left out, and the rest still holds. Values
        may be lists, as `urllib.parse.parse_qs` gives them: the first counts. `r` goes before `ex`; the example
        `default` is used where neither says what. Other parameters are the pages' own.
        """
        losses: list[str] = []
        base = _base_of(query, losses, default)
        name = _first(query, "act")
        if name is not None:
            try:
                name = activation(name).name
            except ValueError:
                losses.append(f"There is no activation {name[:40]!r}: the example's own is used.")
                name = None
        edits = _edits_of(query, base, losses)
        if len(losses) > _NAMED_LOSSES:
            losses[_NAMED_LOSSES:] = [f"And {len(losses) - _NAMED_LOSSES} more such losses."]
        return cls(base=base, activation=name, edits=tuple(edits)), losses

    def _with(self, edits: Iterable[Edit | tuple[Any, ...]]) -> "Scenario":
        return Scenario(base=self.base, activation=self.activation, edits=tuple(edits))  # type: ignore[arg-type]


def _own_activation(base: Base) -> str:
    return activation_of(start_of(base).ffn)


def _without_strengths(edits: Iterable[Edit]) -> Iterator[Edit]:
    for edit in edits:
        if edit.array == "together":
            if kept := tuple(_without_strengths(edit.value)):
                yield edit._replace(value=kept)
        elif edit.array != "strength":
            yield edit


def _count(edits: Iterable[Edit]) -> int:
    return sum(len(edit.value) if edit.array == "together" else 1 for edit in edits)


def _first(query: Mapping[str, Any], key: str) -> str | None:
    value = query.get(key)
    if isinstance(value, (list, tuple)):
        value = value[0] if value else None
    return value if isinstance(value, str) else None


def _base_of(query: Mapping[str, Any], losses: list[str], default: str) -> Base:
    title = f"“{example(default).title}”"
    briefly, fully = (
        ("the lesson's", "The lesson's example")
        if default == DEFAULT_BASE
        else (title, f"The example {title}")
    )
    drawn, name = _first(query, "r"), _first(query, "ex")
    if drawn is not None:
        try:
            return RandomBase.from_text(drawn)
        except ValueError as error:
            losses.append(f"There are no such random weights: {error}. {fully} is used.")
    if name is not None:
        try:
            return example(name).name
        except ValueError:
            losses.append(f"There is no example {name[:40]!r}: {briefly} is used.")
    return default


def _edits_of(query: Mapping[str, Any], base: Base, losses: list[str]) -> list[Edit]:
    text = _first(query, "e")
    if text is None:
        return []
    if _first(query, "v") not in (None, LINK_VERSION):
        losses.append("The link was made by another version of Hourglass: its edits are left out.")
        return []
    raw, damage = decode(text)
    losses.extend(damage)
    state = State(base)
    edits: list[Edit] = []
    room = MAX_EDITS
    for name, index, value in raw:
        if room <= 0:
            losses.append(f"A scenario has at most {MAX_EDITS:,} edits: those after them are dropped.")
            break
        edit = state.apply_what_fits((name, index, value[:room] if name == "together" else value), losses)
        if edit is not None:
            edits.append(edit)
            room -= _count([edit])
    return edits
