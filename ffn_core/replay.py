"""Edits, and the arrays while they are replayed: each edit is checked fully before it changes anything."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ffn_core.bases import MAX_EDITED, MAX_EXPERTS, Base, name_of, start_of
from ffn_core.checks import EditError, check_integer, check_number, check_word, short
from ffn_core.examples import random_example
from ffn_core.families import OPTIONS, Kind, Layer, check_option, kind_of
from ffn_core.link import RawEdit
from ffn_core.memories import with_strengths

Array = npt.NDArray[np.float64]

MAX_STRENGTH = 100.0
MAX_EDITS = 5000
MAX_WORK = 10_000_000
"""Random numbers drawn while edits are replayed; in ordinary use a second's work at most."""


class Edit(NamedTuple):
    """One event: (array, index, value), an ordinary tuple.

    =================  ==================  =======================================================
    array              index               value
    =================  ==================  =======================================================
    x w1 b1 w2 b2      full, as (0, 2)     a number: that entry
    the same           ()                  a number: every entry
    the same           full                a tuple of rows (of numbers for an array with one axis): pasted
                                           with its corner there, and it must fit
    randomize          (array name,)       a seed: the array as `FFN.random` draws it, x standard normal
    identity           (array name,)       1.0: 1 on the diagonal, 0 elsewhere; the array must be square
    d_model, d_ff      ()                  the new width; what fits is kept, new entries are 0
    insert_position    (i,)                the word of a new row i of zeros in x
    remove_position    (i,)                ""
    word               (i,)                the new word of position i
    strength           (j,)                a factor from -100 to 100: an intervention on neuron j
    together           ()                  a tuple of edits made, and undone, as one; not nested
    =================  ==================  =======================================================

    The arrays are those of the scenario's kind (`ffn_core.families`): x, w_gate, w_up and w_down of a gated FFN; x,
    router and the stacked arrays of a mixture of experts, whose indexes begin with the expert, as (3, 0, 2) into
    its w1. A block is pasted within one expert, but into its stacked biases, a matrix, across experts. A mixture has
    no strengths, and these edits as well:

    =================  ==================  =======================================================
    n_experts          ()                  their number, 1 to 16; what fits is kept, and a new expert is
                                           random, the same for the same base, widths and place
    top_k              ()                  how many experts each position is sent to, 1 to n_experts; fewer
                                           experts than that lower it
    renormalize        ()                  1: the weights of the chosen experts sum to 1; 0: they do not
    capacity           ()                  `ffn_core.moe.expert_capacity`'s factor, up to 100; 0: no limit
    =================  ==================  =======================================================

    A strength multiplies value j in what `Scenario.build` gives; the column of w2 (or w_down) itself stays, and edits
    write to that. The last one for a neuron holds, 1.0 takes it back, and a d_ff that cuts the neuron off drops it.
    """

    array: str
    index: tuple[Any, ...]  # type: ignore[assignment]  # hides tuple.index, which no edit needs
    value: Any


class State:
    """A base's arrays, options and words, and what edits make of them."""

    def __init__(self, base: Base) -> None:
        """What the base holds, before any edit."""
        start = start_of(base)
        self.base = base
        self.kind = kind_of(start.ffn)
        given = {"x": start.x, **self.kind.weights(start.ffn)}
        self.arrays: dict[str, Array] = {name: np.array(array, np.float64) for name, array in given.items()}
        self.options = self.kind.options(start.ffn)
        self.words = list(start.words)
        self.strengths: dict[int, float] = {}
        self.work = 0
        most = MAX_EDITED | ({"n_experts": MAX_EXPERTS} if self.kind.mixes else {})
        self.most = {axis: max(limit, self.size(axis)) for axis, limit in most.items()}

    def copy(self) -> "State":
        """The same, to be edited apart from it."""
        other = copy(self)
        other.arrays = {name: array.copy() for name, array in self.arrays.items()}
        other.options = dict(self.options)
        other.words, other.strengths = list(self.words), dict(self.strengths)
        return other

    def layer(self, activation: str) -> Layer:
        """The layer as the edits have made it, the interventions in it."""
        weights = {name: array for name, array in self.arrays.items() if name != "x"}
        layer: Any = self.kind.build(weights, activation, self.options)
        built: Layer = with_strengths(layer, self.strengths) if self.strengths else layer
        return built

    def size(self, axis: str) -> int:
        """How long an axis of the kind's arrays is."""
        return next(
            int(self.arrays[name].shape[axes.index(axis)])
            for name, axes in self.kind.axes.items()
            if axis in axes
        )

    def take_time(self, numbers: int) -> None:
        """Count work on so many numbers; a hostile link must not keep a server busy."""
        self.work += numbers
        if self.work > MAX_WORK:
            raise EditError(
                "so many edits of such large arrays take too long to replay; compact() them first"
            )

    @property
    def n_numbers(self) -> int:
        """How many numbers the arrays have."""
        return sum(array.size for array in self.arrays.values())

    def apply(self, edit: Any) -> Edit:
        """Make one edit of any form and return it in the form that Scenario keeps."""
        name, index, value = _parts(edit)
        if name == "together":
            return self._together(index, value)
        if name in self.kind.arrays:
            return self._write(name, index, value)
        if name in _OPERATIONS:
            return _OPERATIONS[name](self, name, index, value)
        operations = [name for name in _OPERATIONS if self.kind.mixes or name not in _OF_MIXTURES]
        known = ", ".join((*self.kind.arrays, *operations, "together"))
        raise EditError(f"an edit begins with one of {known}; got {short(name)}")

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
                f"edits made together are ('together', (), (edit, edit, ...)), got {short(value)}"
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
            number = check_number(name, value)
            array[...] = number
            return Edit(name, (), number)
        if len(index) != array.ndim:
            raise EditError(
                f"{self._shape(name)}, so an index has {array.ndim} numbers, or none for all entries;"
                f" got {short(index)}"
            )
        at = tuple(check_integer(f"an index into {name}", i) for i in index)
        if not all(0 <= i < n for i, n in zip(at, array.shape, strict=True)):
            raise EditError(f"{self._shape(name)}; indexes count from 0 and stay below, got {short(at)}")
        if not isinstance(value, (tuple, list)):
            number = check_number(f"{name}{list(at)}", value)
            array[at] = number
            return Edit(name, at, number)
        n_axes = min(array.ndim, 2)
        block = _block(name, n_axes, value)
        size = (len(block),) if n_axes == 1 else (len(block), len(block[0]))
        target, corner = array[at[:-n_axes]], at[-n_axes:]
        room = [m - i for i, m in zip(corner, target.shape, strict=True)]
        if any(n > m for n, m in zip(size, room, strict=True)):
            raise EditError(
                f"{self._shape(name)}, so from {list(at)} on it has room for {room}, got {list(size)};"
                " paste less, or resize first"
            )
        target[tuple(slice(i, i + n) for i, n in zip(corner, size, strict=True))] = block
        return Edit(name, at, block)

    def _shape(self, name: str) -> str:
        return f"{name} is [{', '.join(self.kind.axes[name])}] = {list(self.arrays[name].shape)}"

    def _named_array(self, name: str, index: tuple[Any, ...]) -> str:
        if len(index) != 1 or index[0] not in self.kind.arrays:
            raise EditError(
                f"{name} takes the name of an array, as in ({name!r}, ('{self.kind.arrays[1]}',), 1); got {short(index)}"
            )
        return str(index[0])

    def _randomize(self, name: str, index: tuple[Any, ...], value: Any) -> Edit:
        array = self._named_array(name, index)
        seed = check_integer("the seed of randomize", value, 0, 2**32 - 1)
        self.take_time(self.n_numbers + 4000)
        self.arrays[array] = self._drawn(array, seed)
        return Edit(name, (array,), seed)

    def _identity(self, name: str, index: tuple[Any, ...], value: Any) -> Edit:
        array = self._named_array(name, index)
        shape = self.arrays[array].shape
        if len(shape) != 2 or shape[0] != shape[1]:
            raise EditError(
                f"the identity is square, and {array} is {list(shape)}; make its widths equal first"
            )
        if check_number(name, value) != 1:
            raise EditError(f"the value of identity is 1.0, got {short(value)}")
        self.arrays[array] = np.identity(shape[0])
        return Edit(name, (array,), 1.0)

    def _drawn(self, array: str, seed: int) -> Array:
        """The array in the draw of a random base of this size and seed, so that the scale has one formula."""
        n_experts = self.size("n_experts") if self.kind.mixes else 0
        widths = (self.size(axis) for axis in ("d_model", "d_ff", "positions"))
        drawn = random_example(*widths, seed, kind=self.kind.name, n_experts=n_experts)
        return np.array(drawn.x if array == "x" else self.kind.weights(drawn.ffn)[array], np.float64)

    def _resize(self, name: str, index: tuple[Any, ...], value: Any) -> Edit:
        self._check_place(name, index)
        width = check_integer(name, value, 1, self.most[name])
        before = self.size(name)
        self.take_time(self.n_numbers // 10)
        for array, axes in self.kind.axes.items():
            old = self.arrays[array]
            new = np.zeros([width if axis == name else n for axis, n in zip(axes, old.shape, strict=True)])
            kept = tuple(slice(min(m, n)) for m, n in zip(old.shape, new.shape, strict=True))
            new[kept] = old[kept]
            self.arrays[array] = new
        if name == "n_experts":
            for place in range(before, width):
                self._draw_expert(place)
            self.options["top_k"] = min(self.options["top_k"], width)
        self.strengths = {j: factor for j, factor in self.strengths.items() if j < self.size("d_ff")}
        return Edit(name, (), width)

    def _draw_expert(self, place: int) -> None:
        """Fill an expert and its row of the router, which a mixture of it alone has too."""
        self.take_time(self.n_numbers // self.size("n_experts") + 4000)
        seed = zlib.crc32(f"{name_of(self.base)} {place}".encode())
        alone = self.kind.random(self.size("d_model"), self.size("d_ff"), seed, 1)
        for array, drawn in self.kind.weights(alone).items():
            self.arrays[array][place] = drawn[0]

    def _option(self, name: str, index: tuple[Any, ...], value: Any) -> Edit:
        self._check_place(name, index)
        self.options[name] = check_option(name, value, self.size("n_experts"))
        return Edit(name, (), self.options[name])

    def _check_place(self, name: str, index: tuple[Any, ...]) -> None:
        """What belongs to the whole layer has no index, and some of it belongs to a mixture."""
        if name in _OF_MIXTURES and not self.kind.mixes:
            raise EditError(f"{name} is for a mixture of experts, and this network is {self.kind.family}")
        if index != ():
            raise EditError(f"{name} takes no index, as in ({name!r}, (), 1); got {short(index)}")

    def _strength(self, name: str, index: tuple[Any, ...], value: Any) -> Edit:
        if self.kind.mixes:
            raise EditError("a mixture of experts has no strengths; edit an expert's values instead")
        if len(index) != 1:
            raise EditError(f"{name} takes one neuron, as in ({name!r}, (0,), 0.5); got {short(index)}")
        neuron = check_integer(f"the neuron of {name}", index[0])
        if not 0 <= neuron < self.size("d_ff"):
            raise EditError(
                f"the neuron of {name} must be from 0 to {self.size('d_ff') - 1}, got {short(neuron)}"
            )
        factor = check_number(name, value)
        if abs(factor) > MAX_STRENGTH:
            raise EditError(
                f"a strength must be from -100 to 100, got {short(value)}; edit {self.kind.values} for more"
            )
        self.strengths.pop(neuron, None)
        if factor != 1:
            self.strengths[neuron] = factor
        return Edit(name, (neuron,), factor)

    def _position(self, name: str, index: tuple[Any, ...], n: int) -> int:
        if len(index) != 1:
            raise EditError(f"{name} takes one position, as in ({name!r}, (0,), 'word'); got {short(index)}")
        position = check_integer(f"the position of {name}", index[0])
        if not 0 <= position < n:
            raise EditError(f"the position of {name} must be from 0 to {n - 1}, got {short(position)}")
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
            raise EditError(f"the value of remove_position is '', got {short(value)}")
        if len(self.words) == 1:
            raise EditError("the last position stays, since an FFN needs an input; insert another first")
        self.arrays["x"] = np.delete(self.arrays["x"], position, axis=0)
        del self.words[position]
        return Edit(name, (position,), "")

    def _rename(self, name: str, index: tuple[Any, ...], value: Any) -> Edit:
        position = self._position(name, index, len(self.words))
        self.words[position] = check_word(value)
        return Edit(name, (position,), self.words[position])


_OPERATIONS: dict[str, Callable[[State, str, tuple[Any, ...], Any], Edit]] = {
    "randomize": State._randomize,
    "identity": State._identity,
    "d_model": State._resize,
    "d_ff": State._resize,
    "insert_position": State._insert_position,
    "remove_position": State._remove_position,
    "word": State._rename,
    "strength": State._strength,
    "n_experts": State._resize,
    **dict.fromkeys(OPTIONS, State._option),
}
_OF_MIXTURES = ("n_experts", *OPTIONS)


def _parts(edit: Any) -> tuple[str, tuple[Any, ...], Any]:
    if not isinstance(edit, (tuple, list)) or len(edit) != 3 or not isinstance(edit[0], str):
        raise EditError(
            f"an edit is (array name, index, value), as in ('w1', (0, 2), 0.5); got {short(edit)}"
        )
    name, index, value = edit
    return name, tuple(index) if isinstance(index, (tuple, list)) else (index,), value


def _block(name: str, ndim: int, value: tuple[Any, ...] | list[Any]) -> tuple[Any, ...]:
    if ndim == 1:
        row = tuple(check_number(f"a block for {name}", number) for number in value)
        if not row:
            raise EditError(f"a block for {name} needs at least one number")
        return row
    if not value or not all(isinstance(row, (tuple, list)) for row in value) or not value[0]:
        raise EditError(
            f"a block for {name} is a tuple of rows, as in ((1.0, 2.0), (3.0, 4.0)); got {short(value)}"
        )
    if any(len(row) != len(value[0]) for row in value):
        raise EditError(
            f"the rows of a block for {name} must be equally long, got {sorted(set(map(len, value)))[:4]}"
        )
    return tuple(tuple(check_number(f"a block for {name}", number) for number in row) for row in value)


def steps_to(
    state: State, layer: Layer, x: npt.ArrayLike | None, words: Iterable[str] | None
) -> Iterator[Edit]:
    """The edits that lead from `state` to the given arrays; each is made on `state` when it is taken."""

    def step(*edit: Any) -> Edit:
        return state.apply(edit)

    kind = kind_of(layer)
    weights = kind.weights(layer)
    wanted = kind.sizes(layer)
    if kind is not state.kind:
        raise EditError(
            f"this scenario is {state.kind.name}, and the network {kind.name}; start from {_random_base(kind, wanted)}"
        )
    for neuron in sorted(state.strengths):
        yield step("strength", (neuron,), 1.0)
    for axis in ("d_model", "d_ff", "n_experts"):
        if axis not in wanted:
            continue
        width = wanted[axis]
        if width > state.most[axis]:
            raise EditError(
                f"{axis} can be edited up to {state.most[axis]} here, and the arrays have {width};"
                f" start from {_random_base(kind, wanted)}"
            )
        if width != state.size(axis):
            yield step(axis, (), width)
    for option, value in kind.options(layer).items():
        if value != state.options[option]:
            yield step(option, (), value)
    x = state.arrays["x"] if x is None else np.asarray(x, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] != layer.d_model or not len(x):
        raise EditError(f"x must be [positions, d_model] = [1 or more, {layer.d_model}], got {list(x.shape)}")
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
    for name, array in {"x": x, **weights}.items():
        for edit in _writes(name, state.arrays[name], array):
            yield step(*edit)


def _random_base(kind: Kind, sizes: dict[str, int]) -> str:
    """How to make a base of this kind and size, for a message."""
    experts = f", n_experts={sizes['n_experts']}" if kind.mixes else ""
    more = "" if kind.name == "dense" else f", kind={kind.name!r}{experts}"
    return f"RandomBase({sizes['d_model']}, {sizes['d_ff']}, n_positions, seed{more})"


def _writes(name: str, have: Array, wanted: npt.NDArray[Any]) -> list[RawEdit]:
    """Few and short edits that turn `have` into `wanted`, of the same shape."""
    places = np.argwhere(have != wanted)
    if not len(places):
        return []
    if len(places) > 1 and (wanted == wanted.flat[0]).all():
        return [(name, (), float(wanted.flat[0]))]
    few = len(places) <= MAX_EDITS // 8
    edits: list[RawEdit] = []
    for lead in np.ndindex(have.shape[:-2]):  # each expert of a stack; () once for a matrix or a vector
        part = wanted[lead]
        places = np.argwhere(have[lead] != part)
        if not len(places):
            continue
        low, high = places.min(axis=0), places.max(axis=0) + 1
        box = part[tuple(map(slice, low, high))]
        if len(places) == 1 or (few and 2 * len(places) <= box.size):
            edits += [(name, (*lead, *place), float(part[tuple(place)])) for place in places.tolist()]
        else:
            edits.append((name, (*lead, *low.tolist()), box.tolist()))
    return edits
