"""What a person is looking at: a starting point and every edit made to it.

A session holds a Scenario, a link and a file carry one, and undo and the comparison with the start replay
it. Nothing changes in place: each step gives a new Scenario. Each is sound, since an edit that does not fit
the arrays as they are at its turn is an EditError when the Scenario is made.
"""

import operator
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from numbers import Integral, Real
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np
import numpy.typing as npt

from ffn_core.activations import activation
from ffn_core.dense import FFN
from ffn_core.examples import EXAMPLES, Example, example, random_example
from ffn_core.link import MAX_EDIT_TEXT, RawEdit, decode, encode, plain_text
from ffn_core.matrix_text import MAX_MAGNITUDE
from ffn_core.memories import with_strengths

Array = npt.NDArray[np.float64]

ARRAYS = ("x", "w1", "b1", "w2", "b2")
AXES = {
    "x": ("positions", "d_model"),
    "w1": ("d_ff", "d_model"),
    "b1": ("d_ff",),
    "w2": ("d_model", "d_ff"),
    "b2": ("d_model",),
}

# What a base or a file may hold ...
MAX_D_MODEL = 256
MAX_D_FF = 1024
MAX_POSITIONS = 64
# ... and how far edits may enlarge a smaller one.
MAX_EDITED = {"d_model": 16, "d_ff": 64, "positions": 32}
MAX_STRENGTH = 100.0
MAX_WORD = 24
MAX_EDITS = 5000
MAX_WORK = 10_000_000
"""Random numbers drawn while edits are replayed; in ordinary use a second's work at most."""
MAX_LINK = 8000
"""Characters of an encoded query that browsers, servers and chat programs all pass on."""

DEFAULT_BASE = "lesson"
LINK_VERSION = "1"
_NAMED_LOSSES = 5


class EditError(ValueError):
    """An edit that does not fit the arrays it would change, or that is none."""


class Edit(NamedTuple):
    """One event: (array, index, value), an ordinary tuple.

    =================  ==================  =======================================================
    array              index               value
    =================  ==================  =======================================================
    x w1 b1 w2 b2      full, as (0, 2)     a number: that entry
    the same           ()                  a number: every entry
    the same           full                a tuple of rows (of numbers for b1 and b2): pasted with
                                           its corner there, and it must fit
    randomize          (array name,)       a seed: the array as `FFN.random` draws it, x standard normal
    identity           (array name,)       1.0: 1 on the diagonal, 0 elsewhere; the array must be square
    d_model, d_ff      ()                  the new width; what fits is kept, new entries are 0
    insert_position    (i,)                the word of a new row i of zeros in x
    remove_position    (i,)                ""
    word               (i,)                the new word of position i
    strength           (j,)                a factor from -100 to 100: an intervention on neuron j
    together           ()                  a tuple of edits made, and undone, as one; not nested
    =================  ==================  =======================================================

    A strength multiplies value j in what `Scenario.build` gives; the column of w2 itself stays, and edits of w2 write
    to that. The last one for a neuron holds, 1.0 takes it back, and a d_ff that cuts the neuron off drops it.
    """

    array: str
    index: tuple[Any, ...]  # type: ignore[assignment]  # hides tuple.index, which no edit needs
    value: Any


@dataclass(frozen=True)
class RandomBase:
    """Random weights to start from: `random_example(d_model, d_ff, n_positions, seed)`."""

    d_model: int
    d_ff: int
    n_positions: int
    seed: int

    def __post_init__(self) -> None:
        """Raise a ValueError that names the number which is out of range."""
        for name, low, high in (
            ("d_model", 1, MAX_D_MODEL),
            ("d_ff", 1, MAX_D_FF),
            ("n_positions", 1, MAX_POSITIONS),
            ("seed", 0, 2**32 - 1),
        ):
            object.__setattr__(self, name, _integer(name, getattr(self, name), low, high))


@dataclass(frozen=True, eq=False, kw_only=True)
class Scenario:
    """A base, a nonlinearity and the edits made since, oldest first.

    `base` is the name of an example or a RandomBase. `activation` is any name that `ffn_core.activation`
    knows, kept as the table's own; None stands for the base's, and is never kept. `edits` takes tuples and
    lists in the forms of `Edit`, NumPy's numbers among them, and keeps them as Edits: numbers as floats,
    indexes, seeds and widths as ints. Raises EditError for an edit that does not fit, ValueError for an
    unknown base or activation.
    """

    base: str | RandomBase = DEFAULT_BASE
    activation: str | None = None
    edits: tuple[Edit, ...] = ()
    words: tuple[str, ...] = field(init=False)
    """One word for each position, after the edits."""
    before: InitVar["Scenario | None"] = None

    def __post_init__(self, before: "Scenario | None") -> None:
        """Replay the edits, which checks them; after `before`, only those that follow its own."""
        start = _start(self.base)
        state = _State(start) if before is None else before.__dict__["_state"].copy()
        made = () if before is None else before.edits
        edits = (*made, *(state.apply(edit) for edit in self.edits[len(made) :]))
        if (n := _count(edits)) > MAX_EDITS:
            raise EditError(f"a scenario has at most {MAX_EDITS:,} edits, got {n:,}; compact() it first")
        name = activation(start.ffn.activation if self.activation is None else self.activation).name
        for array in state.arrays.values():
            array.setflags(write=False)
        weights = {array: state.arrays[array] for array in ARRAYS if array != "x"}
        ffn = FFN(**weights, activation=name)
        if state.strengths:
            ffn = with_strengths(ffn, state.strengths)
        object.__setattr__(self, "activation", name)
        object.__setattr__(self, "edits", edits)
        object.__setattr__(self, "words", tuple(state.words))
        object.__setattr__(self, "_state", state)
        object.__setattr__(self, "_built", (ffn, state.arrays["x"]))

    def build(self) -> tuple[FFN, Array]:
        """The network and x [positions, d_model], float64 and read-only; the same objects at each call.

        Its w2 has the interventions in it: column j is the column as edited, times `strengths[j]`.
        """
        built: tuple[FFN, Array] = self.__dict__["_built"]
        return built

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
        self, ffn: FFN, x: npt.ArrayLike | None = None, words: Iterable[str] | None = None
    ) -> "Scenario":
        """With one more edit that makes this scenario hold `ffn`, x [positions, d_model] and the words.

        None keeps x as far as it fits, and the words. `ffn`'s values are taken as they are, so every strength is
        taken back. The activation becomes `ffn`'s; it is no edit, and undo
        does not bring the old one back. Raises EditError where the arrays are larger than edits may make
        them: a scenario on `RandomBase(d_model, d_ff, n_positions, 0)` holds larger ones.
        """
        parts = _State(_start(self.base))
        for edit in self.edits:
            parts.apply(edit)
        steps = list(_steps(parts, ffn, x, words))
        scenario = self.with_activation(ffn.activation)
        return scenario.edit(("together", (), steps)) if steps else scenario

    def compact(self) -> "Scenario":
        """The same network, x and words in at most one edit, which holds only what differs from the start.

        Interventions stay interventions.
        """
        ffn, x = self.without_strengths().build()
        held = self.start().holding(ffn, x, self.words).edits
        steps = [step for gesture in held for step in gesture.value]
        steps += [("strength", (neuron,), factor) for neuron, factor in self.strengths.items()]
        return self._with([("together", (), steps)] if steps else [])

    def changes(self) -> dict[str, npt.NDArray[np.bool_] | None]:
        """For each of ARRAYS, which entries differ from the start; None where the shape does."""
        return {
            name: now != before if now.shape == before.shape else None
            for (name, now), before in zip(
                _arrays(*self.build()).items(), _arrays(*self.start().build()).values(), strict=True
            )
        }

    def to_query(self) -> dict[str, str]:
        """The parameters of a link to exactly this scenario; none for the default one.

        `ex` the example's name, or `r` as d_model-d_ff-n_positions-seed; `act` the activation where it is not
        the base's; `v` the version and `e` the text of the edits (see `ffn_core.link`).
        """
        return dict(self._query)

    @cached_property
    def _query(self) -> dict[str, str]:
        query = {}
        if isinstance(self.base, RandomBase):
            base = self.base
            query["r"] = f"{base.d_model}-{base.d_ff}-{base.n_positions}-{base.seed}"
        elif self.base != DEFAULT_BASE:
            query["ex"] = self.base
        if self.activation and self.activation != _start(self.base).ffn.activation:
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
    def from_query(cls, query: Mapping[str, Any]) -> tuple["Scenario", list[str]]:
        """The scenario that a link's parameters describe, and a sentence for each thing that was dropped.

        Never raises: what is unknown, damaged or out of range is left out, and the rest still holds. Values
        may be lists, as `urllib.parse.parse_qs` gives them: the first counts. `r` goes before `ex`. Other
        parameters are the pages' own.
        """
        losses: list[str] = []
        base = _base_of(query, losses)
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


def check_word(word: Any) -> str:
    """`word`, if it can label a position: at most MAX_WORD characters, no controls and no line breaks."""
    if not isinstance(word, str):
        raise EditError(f"a word must be text, got {_short(word)}")
    if len(word) > MAX_WORD:
        raise EditError(f"a word has at most {MAX_WORD} characters, got {len(word)}; shorten {_short(word)}")
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in word):
        raise EditError(
            f"a word has no control characters and no line breaks, got {_short(word)}; leave them out"
        )
    return word


def _start(base: str | RandomBase) -> Example:
    if isinstance(base, RandomBase):
        return random_example(base.d_model, base.d_ff, base.n_positions, base.seed)
    return example(base)


def _arrays(ffn: FFN, x: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    return {"x": x, "w1": ffn.w1, "b1": ffn.b1, "w2": ffn.w2, "b2": ffn.b2}


def _without_strengths(edits: Iterable[Edit]) -> Iterator[Edit]:
    for edit in edits:
        if edit.array == "together":
            if kept := tuple(_without_strengths(edit.value)):
                yield edit._replace(value=kept)
        elif edit.array != "strength":
            yield edit


def _count(edits: Iterable[Edit]) -> int:
    return sum(len(edit.value) if edit.array == "together" else 1 for edit in edits)


class _State:
    """The arrays and words while edits are replayed; one edit is checked fully before it changes anything."""

    def __init__(self, start: Example) -> None:
        self.arrays: dict[str, Array] = {
            name: np.array(array, dtype=np.float64) for name, array in _arrays(start.ffn, start.x).items()
        }
        self.words = list(start.words)
        self.strengths: dict[int, float] = {}
        self.work = 0.0
        self.most = {axis: max(most, self.size(axis)) for axis, most in MAX_EDITED.items()}

    def copy(self) -> "_State":
        """The same, to be edited apart from it."""
        other = copy(self)
        other.arrays = {name: array.copy() for name, array in self.arrays.items()}
        other.words, other.strengths = list(self.words), dict(self.strengths)
        return other

    def size(self, axis: str) -> int:
        return len(self.arrays[{"positions": "x", "d_model": "b2", "d_ff": "b1"}[axis]])

    def take_time(self, share: float, overhead: int = 0) -> None:
        """Count the work on all entries, or a share of it; a hostile link must not keep a server busy."""
        self.work += share * sum(array.size for array in self.arrays.values()) + overhead
        if self.work > MAX_WORK:
            raise EditError(
                "so many edits of such large arrays take too long to replay; compact() them first"
            )

    def apply(self, edit: Any) -> Edit:
        """Make one edit of any form and return it in the form that Scenario keeps."""
        name, index, value = _parts(edit)
        if name == "together":
            return self._together(index, value)
        if name in ARRAYS:
            return self._write(name, index, value)
        if name in _OPERATIONS:
            return _OPERATIONS[name](self, name, index, value)
        known = ", ".join((*ARRAYS, *_OPERATIONS, "together"))
        raise EditError(f"an edit begins with one of {known}; got {_short(name)}")

    def apply_what_fits(self, edit: Any, losses: list[str]) -> Edit | None:
        """Like `apply`, but leave out what does not fit, of a gesture only those of its edits, and say so."""
        try:
            name, _, value = _parts(edit)
            if name != "together":
                return self.apply(edit)
            made = (self.apply_what_fits(part, losses) for part in value if part[0] != "together")
            kept = tuple(part for part in made if part is not None)
            return Edit("together", (), kept) if kept else None
        except EditError as error:
            losses.append(f"An edit was dropped: {error}.")
            return None

    def _together(self, index: tuple[Any, ...], value: Any) -> Edit:
        if index != () or not isinstance(value, (tuple, list)) or not value:
            raise EditError(
                f"edits made together are ('together', (), (edit, edit, ...)), got {_short(value)}"
            )
        made = []
        for edit in value:
            if _parts(edit)[0] == "together":
                raise EditError(
                    "edits made together cannot hold others made together; list them in one tuple"
                )
            made.append(self.apply(edit))
        return Edit("together", (), tuple(made))

    def _write(self, name: str, index: tuple[Any, ...], value: Any) -> Edit:
        array = self.arrays[name]
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if index == () and not isinstance(value, (tuple, list)):
            number = _number(name, value)
            array[...] = number
            return Edit(name, (), number)
        if len(index) != array.ndim:
            raise EditError(
                f"{_shape(name, array)}, so an index has {array.ndim} numbers, or none for all entries;"
                f" got {_short(index)}"
            )
        at = tuple(_integer(f"an index into {name}", i) for i in index)
        if not all(0 <= i < n for i, n in zip(at, array.shape, strict=True)):
            raise EditError(f"{_shape(name, array)}; indexes count from 0 and stay below, got {_short(at)}")
        if not isinstance(value, (tuple, list)):
            number = _number(f"{name}{list(at)}", value)
            array[at] = number
            return Edit(name, at, number)
        block = _block(name, array.ndim, value)
        size = (len(block),) if array.ndim == 1 else (len(block), len(block[0]))
        if any(i + n > m for i, n, m in zip(at, size, array.shape, strict=True)):
            room = [m - i for i, m in zip(at, array.shape, strict=True)]
            raise EditError(
                f"{_shape(name, array)}, so from {list(at)} on it has room for {room}, got {list(size)};"
                " paste less, or resize first"
            )
        array[tuple(slice(i, i + n) for i, n in zip(at, size, strict=True))] = block
        return Edit(name, at, block)

    def _named_array(self, name: str, index: tuple[Any, ...]) -> str:
        if len(index) != 1 or index[0] not in ARRAYS:
            raise EditError(
                f"{name} takes the name of an array, as in ({name!r}, ('w1',), 1); got {_short(index)}"
            )
        return str(index[0])

    def _randomize(self, name: str, index: tuple[Any, ...], value: Any) -> Edit:
        array = self._named_array(name, index)
        seed = _integer("the seed of randomize", value, 0, 2**32 - 1)
        self.take_time(1, overhead=4000)
        # The draw of a random base of this size and seed, so that the scale has one formula.
        drawn = random_example(self.size("d_model"), self.size("d_ff"), self.size("positions"), seed)
        self.arrays[array] = np.array(_arrays(drawn.ffn, drawn.x)[array])
        return Edit(name, (array,), seed)

    def _identity(self, name: str, index: tuple[Any, ...], value: Any) -> Edit:
        array = self._named_array(name, index)
        shape = self.arrays[array].shape
        if len(shape) != 2 or shape[0] != shape[1]:
            raise EditError(
                f"the identity is square, and {array} is {list(shape)}; make its widths equal first"
            )
        if _number(name, value) != 1:
            raise EditError(f"the value of identity is 1.0, got {_short(value)}")
        self.arrays[array] = np.identity(shape[0])
        return Edit(name, (array,), 1.0)

    def _resize(self, name: str, index: tuple[Any, ...], value: Any) -> Edit:
        if index != ():
            raise EditError(f"{name} takes no index, as in ({name!r}, (), 8); got {_short(index)}")
        width = _integer(name, value, 1, self.most[name])
        self.take_time(0.1)
        for array in ARRAYS:
            old = self.arrays[array]
            new = np.zeros(
                [width if axis == name else n for axis, n in zip(AXES[array], old.shape, strict=True)]
            )
            kept = tuple(slice(min(m, n)) for m, n in zip(old.shape, new.shape, strict=True))
            new[kept] = old[kept]
            self.arrays[array] = new
        self.strengths = {j: factor for j, factor in self.strengths.items() if j < self.size("d_ff")}
        return Edit(name, (), width)

    def _strength(self, name: str, index: tuple[Any, ...], value: Any) -> Edit:
        if len(index) != 1:
            raise EditError(f"{name} takes one neuron, as in ({name!r}, (0,), 0.5); got {_short(index)}")
        neuron = _integer(f"the neuron of {name}", index[0])
        if not 0 <= neuron < self.size("d_ff"):
            raise EditError(
                f"the neuron of {name} must be from 0 to {self.size('d_ff') - 1}, got {_short(neuron)}"
            )
        factor = _number(name, value)
        if abs(factor) > MAX_STRENGTH:
            raise EditError(f"a strength must be from -100 to 100, got {_short(value)}; edit w2 for more")
        self.strengths.pop(neuron, None)
        if factor != 1:
            self.strengths[neuron] = factor
        return Edit(name, (neuron,), factor)

    def _position(self, name: str, index: tuple[Any, ...], n: int) -> int:
        if len(index) != 1:
            raise EditError(f"{name} takes one position, as in ({name!r}, (0,), 'word'); got {_short(index)}")
        position = _integer(f"the position of {name}", index[0])
        if not 0 <= position < n:
            raise EditError(f"the position of {name} must be from 0 to {n - 1}, got {_short(position)}")
        return position

    def _insert_position(self, name: str, index: tuple[Any, ...], value: Any) -> Edit:
        n = len(self.words)
        position = self._position(name, index, n + 1)
        word = check_word(value)
        if n >= self.most["positions"]:
            raise EditError(f"there can be at most {self.most['positions']} positions; remove one first")
        self.arrays["x"] = np.insert(self.arrays["x"], position, 0.0, axis=0)
        self.words.insert(position, word)
        return Edit(name, (position,), word)

    def _remove_position(self, name: str, index: tuple[Any, ...], value: Any) -> Edit:
        position = self._position(name, index, len(self.words))
        if value != "":
            raise EditError(f"the value of remove_position is '', got {_short(value)}")
        if len(self.words) == 1:
            raise EditError("the last position stays, since an FFN needs an input; insert another first")
        self.arrays["x"] = np.delete(self.arrays["x"], position, axis=0)
        del self.words[position]
        return Edit(name, (position,), "")

    def _rename(self, name: str, index: tuple[Any, ...], value: Any) -> Edit:
        position = self._position(name, index, len(self.words))
        self.words[position] = check_word(value)
        return Edit(name, (position,), self.words[position])


_OPERATIONS: dict[str, Callable[[_State, str, tuple[Any, ...], Any], Edit]] = {
    "randomize": _State._randomize,
    "identity": _State._identity,
    "d_model": _State._resize,
    "d_ff": _State._resize,
    "insert_position": _State._insert_position,
    "remove_position": _State._remove_position,
    "word": _State._rename,
    "strength": _State._strength,
}


def _parts(edit: Any) -> tuple[str, tuple[Any, ...], Any]:
    if not isinstance(edit, (tuple, list)) or len(edit) != 3 or not isinstance(edit[0], str):
        raise EditError(
            f"an edit is (array name, index, value), as in ('w1', (0, 2), 0.5); got {_short(edit)}"
        )
    name, index, value = edit
    return name, tuple(index) if isinstance(index, (tuple, list)) else (index,), value


def _shape(name: str, array: Array) -> str:
    return f"{name} is [{', '.join(AXES[name])}] = {list(array.shape)}"


def _number(name: str, value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)):
        raise EditError(f"{name} takes a number, got {_short(value)}")
    try:
        number = float(value) + 0.0  # there is one zero: -0.0 + 0.0 is 0.0
    except OverflowError:
        number = np.inf
    if not abs(number) <= MAX_MAGNITUDE:
        raise EditError(f"{name} must be finite, between -1e30 and 1e30, got {_short(value)}")
    return number


def _integer(name: str, value: Any, low: int | None = None, high: int | None = None) -> int:
    if not isinstance(value, Integral) or isinstance(value, (bool, np.bool_)):
        raise EditError(f"{name} must be an integer, got {_short(value)}")
    number = operator.index(value)
    if low is not None and high is not None and not low <= number <= high:
        raise EditError(f"{name} must be from {low} to {high}, got {_short(number)}")
    return number


def _block(name: str, ndim: int, value: tuple[Any, ...] | list[Any]) -> tuple[Any, ...]:
    if ndim == 1:
        row = tuple(_number(f"a block for {name}", number) for number in value)
        if not row:
            raise EditError(f"a block for {name} needs at least one number")
        return row
    if not value or not all(isinstance(row, (tuple, list)) for row in value) or not value[0]:
        raise EditError(
            f"a block for {name} is a tuple of rows, as in ((1.0, 2.0), (3.0, 4.0)); got {_short(value)}"
        )
    if any(len(row) != len(value[0]) for row in value):
        raise EditError(
            f"the rows of a block for {name} must be equally long, got {sorted(set(map(len, value)))[:4]}"
        )
    return tuple(tuple(_number(f"a block for {name}", number) for number in row) for row in value)


def _short(value: Any) -> str:
    """`value` for an error message: what came may be huge."""
    if isinstance(value, int) and value.bit_length() > 100:
        return "an integer of more than 30 digits"
    if isinstance(value, (tuple, list)) and len(value) > 4:
        return f"{len(value)} items, {', '.join(map(_short, value[:2]))}, ..."
    text = repr(value) if isinstance(value, (str, float, int, bool, type(None))) else f"{value!s}"
    return text if len(text) <= 60 else f"{text[:59]}…"


def _steps(state: _State, ffn: FFN, x: npt.ArrayLike | None, words: Iterable[str] | None) -> Iterator[Edit]:
    """The edits that lead from `state` to the given arrays; each is made on `state` when it is taken."""

    def step(*edit: Any) -> Edit:
        return state.apply(edit)

    for neuron in sorted(state.strengths):
        yield step("strength", (neuron,), 1.0)
    for axis, width in (("d_model", ffn.d_model), ("d_ff", ffn.d_ff)):
        if width > state.most[axis]:
            raise EditError(
                f"{axis} can be edited up to {state.most[axis]} here, and the arrays have {width};"
                f" start from RandomBase({ffn.d_model}, {ffn.d_ff}, n_positions, seed)"
            )
        if width != state.size(axis):
            yield step(axis, (), width)
    x = state.arrays["x"] if x is None else np.asarray(x, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] != ffn.d_model or not len(x):
        raise EditError(f"x must be [positions, d_model] = [1 or more, {ffn.d_model}], got {list(x.shape)}")
    words = state.words[: len(x)] if words is None else list(words)
    words += [f"token {i}" for i in range(len(words), len(x))]
    if len(words) != len(x):
        raise EditError(f"every position has one word: x has {len(x)}, and there are {len(words)} words")
    while len(state.words) > len(x):
        yield step("remove_position", (len(state.words) - 1,), "")
    for i, word in enumerate(words):
        if i == len(state.words):
            yield step("insert_position", (i,), word)
        elif word != state.words[i]:
            yield step("word", (i,), word)
    for name, wanted in _arrays(ffn, x).items():
        for edit in _writes(name, state.arrays[name], wanted):
            yield step(*edit)


def _writes(name: str, have: Array, wanted: npt.NDArray[Any]) -> list[RawEdit]:
    """Few and short edits that turn `have` into `wanted`, of the same shape."""
    places = np.argwhere(have != wanted)
    if not len(places):
        return []
    if len(places) > 1 and (wanted == wanted.flat[0]).all():
        return [(name, (), float(wanted.flat[0]))]
    low, high = places.min(axis=0), places.max(axis=0) + 1
    box = wanted[tuple(map(slice, low, high))]
    if len(places) == 1 or (2 * len(places) <= box.size and len(places) <= MAX_EDITS // 8):
        return [(name, tuple(place), float(wanted[tuple(place)])) for place in places.tolist()]
    return [(name, tuple(low.tolist()), box.tolist())]


def _first(query: Mapping[str, Any], key: str) -> str | None:
    value = query.get(key)
    if isinstance(value, (list, tuple)):
        value = value[0] if value else None
    return value if isinstance(value, str) else None


def _base_of(query: Mapping[str, Any], losses: list[str]) -> str | RandomBase:
    drawn, name = _first(query, "r"), _first(query, "ex")
    if drawn is not None:
        numbers = re.fullmatch(r"([0-9]{1,4})-([0-9]{1,4})-([0-9]{1,4})-([0-9]{1,10})", drawn)
        try:
            return RandomBase(*map(int, numbers.groups())) if numbers else _unreadable(drawn)
        except ValueError as error:
            losses.append(f"There are no such random weights: {error}. The lesson's example is used.")
    if name is not None:
        if name in EXAMPLES:
            return name
        losses.append(f"There is no example {name[:40]!r}: the lesson's is used.")
    return DEFAULT_BASE


def _unreadable(drawn: str) -> RandomBase:
    raise ValueError(f"r must be d_model-d_ff-positions-seed, as in 8-32-3-0, got {_short(drawn)}")


def _edits_of(query: Mapping[str, Any], base: str | RandomBase, losses: list[str]) -> list[Edit]:
    text = _first(query, "e")
    if text is None:
        return []
    if _first(query, "v") not in (None, LINK_VERSION):
        losses.append("The link was made by another version of Hourglass: its edits are left out.")
        return []
    raw, damage = decode(text)
    losses.extend(damage)
    state = _State(_start(base))
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
