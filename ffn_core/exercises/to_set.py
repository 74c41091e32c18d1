"""The exercises in which a network is set until it does what was asked; the checks say what is still wrong."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ffn_core.activations import ACTIVATIONS, Array
from ffn_core.bases import name_of
from ffn_core.exercises.exercise import ScenarioExercise, Verdict
from ffn_core.matrix_text import short_number
from ffn_core.memories import dead
from ffn_core.replay import Edit
from ffn_core.scenario import Scenario

_EXACT = 1e-9
"""How far a number may be from what is asked: the rounding of a few sums."""

Faults = Iterator[str]


def _exercise(
    name: str,
    title: str,
    *,
    start: Scenario,
    may_edit: tuple[str, ...],
    faults: Callable[[Scenario], Faults],
    done: str,
    text: str,
    hints: tuple[str, ...],
) -> ScenarioExercise:
    """`faults` yields what is still wrong, the first first; `done` is said where nothing is."""

    def check(scenario: Scenario) -> Verdict:
        for found in (_off_the_ground(scenario, start, may_edit), faults(scenario)):
            for message in found:
                return Verdict(passed=False, message=message)
        return Verdict(passed=True, message=done)

    return ScenarioExercise(
        name=name,
        title=title,
        statement=lambda seed: text.strip(),
        hints=hints,
        seeded=False,
        start=lambda seed: start,
        check=check,
    )


def _off_the_ground(scenario: Scenario, start: Scenario, may_edit: tuple[str, ...]) -> Faults:
    """What was changed that the exercise holds fixed."""
    if scenario.base != start.base:
        yield f"This is another network than the exercise's. Start it anew, from {name_of(start.base)}."
        return
    if scenario.activation != start.activation:
        label = ACTIVATIONS[str(start.activation)].label
        yield f"Leave the nonlinearity as it was, {label}: the weights alone are to do it."
    if scenario.strengths:
        yield "A neuron is held by an intervention. Take it back, and change the weights."
    if scenario.words != start.words:
        yield "Leave the words as they were."
    for name, array in start.arrays.items():
        now = scenario.arrays[name]
        if now.shape != array.shape:
            yield f"{name} has another size now, {list(now.shape)} instead of {list(array.shape)}. Undo that."
        elif name not in may_edit and (now != array).any():
            yield f"Leave {name} as it was. Here you may change {' and '.join(may_edit)}. Undo that, or start anew."


def _dead_faults(scenario: Scenario) -> Faults:
    trace, before = _trace(scenario), _trace(_DEAD_START)
    if not dead(trace.activated)[_DEAD]:
        at = int(np.argmax(trace.activated[:, _DEAD]))
        fires = short_number(trace.activated[at, _DEAD])
        yield f"Neuron {_DEAD} still fires at “{scenario.words[at]}”, with {fires}. Its hidden must not be above 0 there."
    changed = (trace.activated != before.activated).any(axis=0)
    changed[_DEAD] = False
    if changed.any():
        yield f"Neuron {int(np.argmax(changed))} has changed as well. Only neuron {_DEAD} is to fall silent."


_DEAD = 1
_DEAD_START = Scenario(base="lesson", activation="relu")

DEAD = _exercise(
    "dead-neuron",
    "Make a neuron dead",
    start=_DEAD_START,
    may_edit=("w1", "b1"),
    faults=_dead_faults,
    done="Neuron 1 is 0 at both positions, and no gradient reaches its key any more.",
    text="""
The lesson's network, with ReLU. Make **neuron 1 dead**: 0 at both positions. The other neurons stay as they are. Change `w1`
or `b1`.
""",
    hints=(
        "ReLU gives 0 where hidden is not above 0.",
        "A bias that is negative enough brings hidden below 0 at both positions.",
    ),
)


def _cat_faults(scenario: Scenario) -> Faults:
    activated = _trace(scenario).activated[:, _CAT_NEURON]
    fires = dict(zip(scenario.words, activated.tolist(), strict=True))
    others = [word for word, strength in fires.items() if strength > 0 and word != "cat"]
    if others:
        strengths = " and ".join(f"“{word}” with {short_number(fires[word])}" for word in others)
        also = "also fires" if fires["cat"] > 0 else "fires"
        yield f"Neuron {_CAT_NEURON} {also} for {strengths}. What has “cat” that they do not have?"
    if fires["cat"] <= 0:
        yield f"Neuron {_CAT_NEURON} does not fire for “cat” yet: hidden must be above 0 there."
    if fires["cat"] < 0.1:
        yield f"It fires for “cat” with only {short_number(fires['cat'])}. Make that at least 0.1."
    for name in ("w1", "b1"):
        changed = scenario.arrays[name] != _CAT_START.arrays[name]
        rows = np.flatnonzero(changed.reshape(len(changed), -1).any(axis=1))
        for row in rows[rows != _CAT_NEURON]:
            yield f"Neuron {row} has another {name} now. Only neuron {_CAT_NEURON} is to change: its row of w1 and its b1."


_CAT_NEURON = 2
# The others that fire for “cat” alone are emptied too: no key can be copied, and the example as it stands is no answer.
_CAT_START = Scenario(
    base="cat",
    activation="relu",
    edits=(
        *(Edit("w1", (neuron, 0), ((0.0,) * 8,)) for neuron in (1, _CAT_NEURON, 12)),
        Edit("b1", (_CAT_NEURON,), 0.0),
    ),
)

CAT = _exercise(
    "fires-for-cat",
    "A neuron for one word",
    start=_CAT_START,
    may_edit=("w1", "b1"),
    faults=_cat_faults,
    done="Neuron 2 fires for “cat” and for no other word.",
    text="""
“The cat sat”, with ReLU. The keys of neurons 1, 2 and 12 are empty. Set row 2 of `w1`, and if you like its bias in `b1`, so
that **neuron 2 fires only for the word “cat”**, with at least 0.1, and is 0 for “The” and “sat”. Leave the other neurons.
""",
    hints=(
        "Look at x: in which coordinates is “cat” greater than the other two?",
        "A key of 1 on “noun” alone will do. A key on “animal” needs a bias too: “sat” has some of it.",
    ),
)


def _write_faults(scenario: Scenario) -> Faults:
    trace = _trace(scenario)
    output, strength = trace.output[0], trace.activated[0, 1]
    if abs(output[0]) > _EXACT:
        yield f"output[0] is {short_number(output[0])} now, and should stay 0: the value of neuron 1 is column 1 of w2."
    if abs(output[1] - 3 * strength) <= _EXACT:
        yield (
            f"output[1] is {short_number(output[1])}: neuron 1 fires with {short_number(strength)}, and its value is "
            "multiplied by that."
        )
    if abs(output[1] - 2) <= _EXACT:
        yield "output[1] is 2, as before. Which number of w2 does the neuron that fires write there?"
    if output[1] < 0:
        yield f"output[1] is {short_number(output[1])}. The strength is positive, so the value needs a plus."
    if abs(output[1] - 3) > _EXACT:
        yield f"output[1] is {short_number(output[1])}, and should be 3."
    silent = scenario.arrays["w2"][:, 0] != _WRITE_START.arrays["w2"][:, 0]
    if silent.any():
        yield "The value of neuron 0 has changed. It is silent here, and would write that elsewhere: put it back."


_WRITE_START = Scenario(base="memories")

WRITE = _exercise(
    "write-a-value",
    "Write 3 into a coordinate",
    start=_WRITE_START,
    may_edit=("w2",),
    faults=_write_faults,
    done="Neuron 1 fires with 2 and its value has 1.5 there: 2 · 1.5 = 3.",
    text="""
The lesson's two memories, x = [1, −1]. Neuron 0 is silent, neuron 1 fires. Change `w2` so that the output has **3 in coordinate
1**, without changing coordinate 0. Leave the value of the silent neuron as it is.
""",
    hints=(
        "The value of neuron 1 is column 1 of w2.",
        "How strongly does neuron 1 fire? Its value is multiplied by that.",
    ),
)


def _truth_faults(scenario: Scenario, wanted: dict[str, float]) -> Faults:
    output = _trace(scenario).output
    for word, row in zip(scenario.words, output, strict=True):
        for i in (0, 1):
            if abs(row[i]) > _EXACT:
                yield f"At “{word}” coordinate {i} gets {short_number(row[i])}. Only coordinate 2 is to be written."
    answers = dict(zip(scenario.words, output[:, 2].tolist(), strict=True))
    wrong = [word for word in wanted if abs(answers[word] - wanted[word]) > _EXACT]
    if wrong:
        said = ", ".join(
            f"“{word}” gives {short_number(answers[word])} instead of {short_number(wanted[word])}"
            for word in wrong
        )
        yield f"{len(wanted) - len(wrong)} of 4 are right: {said}."


# Another key than the example's, which is an AND gate as it stands: to open that one is no answer.
_COUNTS_TWICE = Scenario(
    base="and_gate", edits=(Edit("w1", (0, 0), ((2.0, 2.0, 0.0),)), Edit("b1", (0,), 0.0))
)
_COUNTS = Scenario(base="and_gate", edits=(Edit("b1", (0,), 0.0),))

AND = _exercise(
    "and-gate",
    "An AND gate from one neuron",
    start=_COUNTS_TWICE,
    may_edit=("b1", "w2", "b2"),
    faults=lambda scenario: _truth_faults(scenario, {"0 0": 0, "0 1": 0, "1 0": 0, "1 1": 1}),
    done="The bias asks for more than one of the two.",
    text="""
One neuron, with ReLU. Coordinates 0 and 1 are a and b, each 0 or 1. At present the neuron fires with 2 for each that is 1 and
writes that into coordinate 2. Make it an **AND gate**: coordinate 2 gets 1 at “1 1” and 0 at the other three, coordinates 0 and
1 get nothing. Leave the key, `w1`, as it is.
""",
    hints=(
        "With one of the two at 1, hidden must not be above 0.",
        "The key gives 2 for one of them and 4 for both. What must the bias take away?",
        "What is left at “1 1” is multiplied by the value, w2, and should give 1.",
    ),
)

NOT = _exercise(
    "not-gate",
    "A NOT gate from one neuron",
    start=_COUNTS,
    may_edit=("w1", "b1", "w2", "b2"),
    faults=lambda scenario: _truth_faults(scenario, {"0 0": 1, "0 1": 1, "1 0": 0, "1 1": 0}),
    done="Without any input the biases give 1, and a takes that away.",
    text="""
The neuron of the AND gate again, now with the key [1, 1, 0]: it counts how many are 1. Make it a **NOT gate for a**:
coordinate 2 gets 1 where a is 0 (“0 0” and “0 1”), and 0 where a is 1. b has no effect, and coordinates 0 and 1 get nothing.
""",
    hints=(
        "It has to fire without any input: what else can bring hidden above 0?",
        "A key of -1 on a takes it back below.",
    ),
)


def _probes(d_model: int) -> Array:
    """Inputs of every kind [positions, d_model]: the axes either way, small and large."""
    axes = np.concatenate([np.eye(d_model), -np.eye(d_model)])
    drawn = np.random.default_rng(0).standard_normal((24, d_model)).round(1)
    return np.concatenate([np.zeros((1, d_model)), axes, drawn, 1000 * drawn])


def _zero_faults(scenario: Scenario) -> Faults:
    layer, x = scenario.build()
    tried = np.concatenate([x, _probes(layer.d_model)])
    output = layer.forward(tried).output
    writes = np.flatnonzero(layer.w2.any(axis=0))
    if not writes.size:
        for coordinate in np.flatnonzero(layer.b2):
            always = short_number(layer.b2[coordinate])
            yield f"The output no longer depends on x, but output[{coordinate}] is always {always}: b2 is added too."
        return
    is_zero = np.abs(output) <= _EXACT
    if is_zero.all():
        # No two neurons share an edge here, so none undoes what another writes: the values themselves must be 0.
        yield (
            f"It is 0 for each x that was tried, but not for every x: the value of neuron {writes[0]} is not 0, and an x "
            "that is large enough along its key makes it fire."
        )
        return
    at = int(np.argmin(is_zero.all(axis=1)))
    i = int(np.argmin(is_zero[at]))
    got = f"for x = {_row(tried[at])} output[{i}] is {short_number(output[at, i])}"
    if at >= len(x):
        yield f"It is 0 for the two positions here, but not for every x: {got}."
    elif is_zero.all(axis=0).any():
        zero = ", ".join(map(str, np.flatnonzero(is_zero.all(axis=0))))
        yield f"Of the coordinates {zero} is 0 for each x that was tried, but not yet the others: {got}."
    elif (output == output[0]).all():
        yield f"For each x that was tried the output is the same, and not yet 0: {got}."
    else:
        yield f"The output still depends on x: {got}."


ZERO = _exercise(
    "silent-network",
    "Silence the network",
    start=Scenario(base="lesson", activation="relu", edits=(Edit("b2", (), 0.5),)),
    may_edit=("b1", "w2", "b2"),
    faults=_zero_faults,
    done="The neurons may fire as they like: their values are 0, and so is b2.",
    text="""
The lesson's network, with ReLU and a `b2` of 0.5. Make the **output 0 whatever x is**, without touching `w1`. The block then
passes x on unchanged.
""",
    hints=(
        "What do the neurons write? Column j of w2 is what neuron j writes.",
        "What is left of the output when no neuron writes anything?",
    ),
)


def _copy_faults(scenario: Scenario) -> Faults:
    layer, _ = scenario.build()
    tried = _probes(layer.d_model)
    trace = layer.forward(tried)
    off = np.abs(trace.output - tried) > _EXACT * (1 + np.abs(tried))
    if not off.any():
        if bend := _bend(layer):
            neuron, edge = bend
            yield (
                f"It is x for each x that was tried, but not for every x: neuron {neuron} begins to fire at x = {_row(edge)}, "
                "and no other neuron makes up for that there."
            )
        return
    at = int(np.argmax(off.any(axis=1)))
    got = f"for x = {_row(tried[at])} the output is {_row(trace.output[at])}"
    if not at:
        yield f"At x = [0, 0] the output is {_row(trace.output[0])}: without an input the biases must add up to 0."
    elif not off[:, 0].any() or not off[:, 1].any():
        yield f"Coordinate {int(off[:, 0].any())} is right for each x that was tried, the other is not yet: {got}."
    elif not (off & (tried >= 0).all(axis=1, keepdims=True)).any():
        yield f"Right where no coordinate is negative, but {got}. Another neuron has to fire for what is below 0."
    else:
        yield f"Not yet: {got}."


def _bend(layer: Any) -> tuple[int, Array] | None:
    """A neuron at whose edge, where hidden is 0, the output of a ReLU network bends, and an x there; None if there is none.

    The slope changes there by the neuron's value times its key's length, summed over all neurons with the same edge, on
    whichever side they fire. Where it bends nowhere the output is one affine map, and a few x tell which.
    """
    length = np.linalg.norm(layer.w1, axis=1)
    has_edge = length > 0
    edges = np.column_stack([layer.w1, layer.b1]) / np.where(has_edge, length, 1)[:, np.newaxis]
    apart = [np.abs(edges + sign * edges[:, np.newaxis]).max(axis=2) for sign in (-1, 1)]
    same = np.minimum(*apart) <= _EXACT * (1 + np.abs(edges[:, -1]))
    changes = layer.w2.T * length[:, np.newaxis]
    left = np.abs(same @ changes) > _EXACT * (1 + same @ np.abs(changes))
    bends = np.flatnonzero(has_edge & left.any(axis=1))
    if not bends.size:
        return None
    neuron = int(bends[0])
    return neuron, -edges[neuron, -1] * edges[neuron, :-1]


COPY = _exercise(
    "copy-through-relu",
    "Copy x through a ReLU",
    start=Scenario(base="memories", edits=(Edit("d_ff", (), 4), Edit("w1", (), 0.0), Edit("w2", (), 0.0))),
    may_edit=("w1", "b1", "w2", "b2"),
    faults=_copy_faults,
    done="The neurons work in pairs: where one falls silent its opposite takes over, as in relu(z) − relu(−z) = z.",
    text="""
Two coordinates and four empty neurons, with ReLU. Set the weights so that the **output is x itself, for every x**, negative
coordinates too.
""",
    hints=(
        "A neuron with the key [1, 0] fires with x0 where that is above 0. Which key fires where x0 is below 0?",
        "The second neuron of a coordinate has the key turned round, and its value as well.",
    ),
)


def _trace(scenario: Scenario) -> Any:
    layer, x = scenario.build()
    return layer.forward(x)


def _row(numbers: Array) -> str:
    return f"[{', '.join(map(short_number, numbers.tolist()))}]"
