"""Networks and inputs to look at, and the numbers that the first lesson prints beside the right ones."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ffn_core.activations import Array, activation, as_numbers
from ffn_core.dense import FFN
from ffn_core.families import KINDS
from ffn_core.gated import GatedFFN, llama_d_ff
from ffn_core.moe import MoE

_LESSON_1 = "lesson 1, Feed-Forward Network: Step-by-Step Numeric Example"
_LESSON_2 = "lesson 2, Feed-Forward Network: match a pattern, write back a value"


@dataclass(frozen=True, eq=False, kw_only=True)
class Example:
    """A network and an input x [positions, d_model], with one word for each position.

    `ffn` is an FFN, a GatedFFN or an MoE. `features` names the coordinates of x, `neurons` the job of each neuron and
    `experts` that of each expert, where they have a meaning; the neurons of a mixture come expert by expert. `wanted` is
    the output [positions, d_model] of an example that is made to give a certain one, for a class to break and mend.
    """

    name: str
    title: str
    description: str
    source: str
    ffn: Any
    x: Array
    words: tuple[str, ...]
    features: tuple[str, ...] = ()
    neurons: tuple[str, ...] = ()
    experts: tuple[str, ...] = ()
    wanted: Array | None = None

    def __post_init__(self) -> None:
        """Keep read-only copies of x and of the output that is wanted."""
        for name in ("x", "wanted"):
            if (given := getattr(self, name)) is not None:
                array = as_numbers(name, given).copy()
                array.setflags(write=False)
                object.__setattr__(self, name, array)


def _lesson() -> Example:
    return Example(
        name="lesson",
        title="The lesson's worked example, 4 to 8 to 4",
        description="Two positions and eight neurons: small enough to check every product by hand.",
        source=_LESSON_1,
        ffn=FFN.from_arrays(
            w1=[
                [0.1, 0.2, 0.3, 0.4],
                [0.2, 0.1, 0.4, 0.3],
                [0.3, 0.4, 0.1, 0.2],
                [0.4, 0.3, 0.2, 0.1],
                [0.1, 0.3, 0.2, 0.4],
                [0.2, 0.4, 0.1, 0.3],
                [0.3, 0.1, 0.4, 0.2],
                [0.4, 0.2, 0.3, 0.1],
            ],
            b1=np.zeros(8),
            w2=[
                [0.1, 0.2, 0.1, 0.2, 0.1, 0.2, 0.1, 0.2],
                [0.2, 0.1, 0.2, 0.1, 0.2, 0.1, 0.2, 0.1],
                [0.1, 0.1, 0.2, 0.2, 0.1, 0.1, 0.2, 0.2],
                [0.2, 0.2, 0.1, 0.1, 0.2, 0.2, 0.1, 0.1],
            ],
            b2=np.zeros(4),
            layout="out_in",
            activation="gelu_tanh",
        ),
        x=np.array([[1.0, 0.5, -0.3, 0.8], [0.2, -0.4, 0.6, 0.1]]),
        words=("token 0", "token 1"),
    )


def _memories() -> Example:
    return Example(
        name="memories",
        title="Two memories, 2 to 2",
        description=(
            "Key [1, 1] adds x1 and x2: pushing the same way, up, they would make it fire; here they oppose each "
            "other and it stays silent. Key [1, -1] subtracts, and fires. W2 is the identity, so the output lists "
            "how hard each fired."
        ),
        source=_LESSON_2,
        ffn=FFN.from_arrays(
            w1=[[1, 1], [1, -1]],
            b1=np.zeros(2),
            w2=np.identity(2),
            b2=np.zeros(2),
            layout="out_in",
            activation="relu",
        ),
        x=np.array([[1.0, -1.0]]),
        words=("token 0",),
        features=("x1", "x2"),
        wanted=np.array([[0.0, 2.0]]),  # as the lesson traces it
    )


def _and_gate() -> Example:
    return Example(
        name="and_gate",
        title="An AND gate, 3 to 1 to 3",
        description=(
            "One memory that computes with its bias: the key adds a and b, the bias -1 asks for more than one of "
            "them, and the value writes the answer to a feature of its own. The four positions are the truth table. "
            "With bias 0 it counts instead; with GELU it is 0.84 sure, and says a little less than no to 0 0."
        ),
        source="made for Hourglass, after Geva et al. 2021, arXiv:2012.14913",
        ffn=FFN.from_arrays(
            w1=[[1, 1, 0]],
            b1=[-1],
            w2=[[0], [0], [1]],
            b2=np.zeros(3),
            layout="out_in",
            activation="relu",
        ),
        x=np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]], dtype=np.float64),
        words=("0 0", "0 1", "1 0", "1 1"),
        features=("a", "b", "a and b"),
        wanted=np.array([[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]], dtype=np.float64),
    )


def _cat() -> Example:
    features = ("determiner", "noun", "verb", "animal", "definite", "past", "wants a noun", "wants a verb")
    # One line a neuron: job, key, bias, value. A key reads the features, a value writes to them.
    # fmt: off
    memories: tuple[tuple[str, list[float], float, list[float]], ...] = (
        ("determiner: noun follows", [ 1,  0,  0,  0,  0,  0,  0,  0],   0, [ 0,  0,  0,  0,  0,  0,  1,  0]),
        ("noun: verb follows",       [ 0,  1,  0,  0,  0,  0,  0,  0],   0, [ 0,  0,  0,  0,  0,  0,  0,  1]),
        ("noun, and one was wanted", [ 0,  1,  0,  0,  0,  0,  1,  0], -.5, [ 0,  0,  0,  0,  0,  0, -1,  0]),
        ("verb, and one was wanted", [ 0,  0,  1,  0,  0,  0,  0,  1], -.5, [ 0,  0,  0,  0,  0,  0,  0, -1]),
        ("animal: it is a noun",     [ 0,  0,  0,  1,  0,  0,  0,  0],   0, [ 0, .5,  0,  0,  0,  0,  0,  0]),
        ("a known animal",           [ 0, .5,  0,  1,  1,  0,  0,  0],  -1, [ 0,  0,  0, .5, .5,  0,  0,  0]),
        ("an unknown animal",        [ 0,  0,  0,  1, -1,  0,  0,  0],   0, [ 0,  0,  0,  0,-.5,  0,  0,  0]),
        ("past verb: tells a story", [ 0,  0,  1,  0,  0,  1,  0,  0], -.5, [ 0,  0,  0,  0,  0, .5,  0,  0]),
        ("present verb",             [ 0,  0,  1,  0,  0, -1,  0,  0],   0, [ 0,  0,  0,  0,  0,-.5,  0,  0]),
        ("verb of an animal: lives", [ 0,  0,  1,  1,  0,  0,  0,  0],  -1, [ 0,  0, .5, .5,  0,  0,  0,  0]),
        ("determiner is definite",   [ 1,  0,  0,  0,  1,  0,  0,  0], -.5, [ 0,  0,  0,  0, .5,  0,  0,  0]),
        ("determiner, so no verb",   [ 1,  0, -1,  0,  0,  0,  0,  0],   0, [ 0,  0,-.5,  0,  0,  0,  0,-.5]),
        ("noun, so no verb",         [ 0,  1, -1,  0,  0,  0,  0,  0],   0, [ 0,  0,-.5,  0,  0,  0,  0,  0]),
        ("verb, so no noun",         [ 0, -1,  1,  0,  0,  0,  0,  0],   0, [ 0,-.5,  0,  0,  0,  0,  0,  0]),
        ("verb: place may follow",   [ 0,  0,  1,  0,  0, .5,  0,  0],   0, [.5,  0,  0,  0,  0,  0, .5,  0]),
        ("nothing known",            [-1, -1, -1,  0,  0,  0,  0,  0],  .5, [.5, .5, .5,  0,  0,  0,  0,  0]),
    )
    # fmt: on
    neurons, keys, biases, values = zip(*memories, strict=True)
    return Example(
        name="cat",
        title="The cat sat, 8 to 16 to 8",
        description=(
            "Hand-made weights that can be read: each coordinate is a feature of a word, each neuron a rule. "
            "Attention has gathered before: 'cat' is definite and a noun was wanted, because 'The' came "
            "before it; 'sat' knows of the animal that sits. A real model's features are not so tidy."
        ),
        source="made for Hourglass, after Geva et al. 2021, arXiv:2012.14913",
        ffn=FFN.from_arrays(
            w1=keys,
            b1=biases,
            w2=np.transpose(values),  # value j is column j
            b2=np.zeros(8),
            layout="out_in",
            activation="gelu",
        ),
        x=np.array(
            [
                [1.0, 0.0, 0.0, 0.0, 0.9, 0.0, 0.0, 0.0],
                [0.0, 1.0, 0.0, 0.9, 0.6, 0.0, 0.7, 0.0],
                [0.0, 0.0, 1.0, 0.4, 0.0, 0.8, 0.0, 0.6],
            ]
        ),
        words=("The", "cat", "sat"),
        features=features,
        neurons=neurons,
    )


def _gates() -> Example:
    return Example(
        name="gates",
        title="Two keys, one value, 4 to 3 to 4",
        description=(
            "The gate key asks whether, the up key how much and with which sign; their product falls on one value. "
            "At 'cue, up' neuron 0 writes +1.46. At 'cue, down' its gate is as far open and up is -2: it fires "
            "negatively, and writes -1.46. At 'no cue' its gate is nearly shut, and neuron 2, whose gate key is the "
            "opposite, fires instead. At 'both below 0' gate and up are -1, and neuron 0 fires with +0.27: minus "
            "times minus. Neuron 1 has one key twice, so it never fires negatively."
        ),
        source="made for Hourglass, after Shazeer 2020, arXiv:2002.05202",
        ffn=GatedFFN.from_arrays(
            w_gate=[[1, 0, 0, 0], [0, 1, 0, 0], [-1, 0, 0, 0]],
            w_up=[[0, 1, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0]],
            w_down=[[0.0, 0.0, 0.0], [0.0, 0.0, -0.25], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
            layout="out_in",
            activation="silu",
        ),
        x=np.array([[1, 2, 0, 0], [1, -2, 0, 0], [-4, 2, 0, 0], [-1, -1, 0, 0]], dtype=np.float64),
        words=("cue, up", "cue, down", "no cue", "both below 0"),
        features=("cue", "amount", "written", "size"),
        neurons=("cue: write the amount", "amount by amount: its size", "no cue: take the amount away"),
    )


def _cat_gated() -> Example:
    cat = EXAMPLES["cat"]
    # One line a neuron: job, gate key, up key, value. The gate says whether, up how much and with which sign.
    # fmt: off
    memories: tuple[tuple[str, list[float], list[float], list[float]], ...] = (
        ("determiner: noun follows",      [2, 0, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, .5, 0]),
        ("noun: verb follows",            [0, 2, 0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, .5]),
        ("noun: as far as one was wanted", [0, 2, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 0,-.5, 0]),
        ("verb: as far as one was wanted", [0, 0, 2, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 0,-.5]),
        ("animal: it is a noun",          [0, 0, 0, 2, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0, 0], [0,.25, 0, 0, 0, 0, 0, 0]),
        ("noun: how definite it is",      [0, 2, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 0,.25, 0, 0, 0]),
        ("verb: how past it is",          [0, 0, 2, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0,.25, 0, 0]),
        ("verb of an animal: lives",      [0, 0, 2, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0, 0], [0, 0,.25,.25, 0, 0, 0, 0]),
        ("determiner: how definite it is", [2, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 0,.25, 0, 0, 0]),
        ("determiner or noun, so no verb", [2, 2, 0, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 0, 0], [0, 0,-.25, 0, 0, 0, 0, 0]),
        ("verb: place may follow",        [0, 0, 2, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0, 0, 0], [.25, 0, 0, 0, 0, 0,.25, 0]),
    )
    # fmt: on
    neurons, gates, ups, values = zip(*memories, strict=True)
    return Example(
        name="cat_gated",
        title="The cat sat, gated, 8 to 11 to 8",
        description=(
            "The words of 'The cat sat' through a SwiGLU. The gate key finds the word, the up key reads how much of "
            "something it has, and with which sign: 'how past it is' does alone what a dense network has 'past "
            "verb' and 'present verb' for. 11 neurons with three vectors each, two thirds of the 16 with two, "
            "are 264 numbers where the dense network has 280."
        ),
        source="made for Hourglass, after Shazeer 2020, arXiv:2002.05202",
        ffn=GatedFFN.from_arrays(
            w_gate=gates,
            w_up=ups,
            w_down=np.transpose(values),  # value j is column j
            layout="out_in",
            activation="silu",
        ),
        x=cat.x,
        words=cat.words,
        features=cat.features,
        neurons=neurons,
    )


def _experts() -> Example:
    features = (
        "determiner", "noun", "verb", "preposition", "animal", "definite", "wants a noun", "wants a verb",
    )  # fmt: skip
    # One block an expert, one line a neuron: job, key, bias, value, as in 'The cat sat'.
    # fmt: off
    rules: tuple[tuple[str, tuple[tuple[str, list[float], float, list[float]], ...]], ...] = (
        ("determiners", (
            ("a noun follows",             [1, 0, 0, 0, 0, 0, 0, 0],  0, [0, 0, 0, 0, 0, 0, 1, 0]),
            ("definite",                   [1, 0, 0, 0, 0, 1, 0, 0], -1, [0, 0, 0, 0, 0,.5, 0, 0]),
            ("indefinite",                 [1, 0, 0, 0, 0,-1, 0, 0], -1, [0, 0, 0, 0, 0,-.5, 0, 0]),
            ("preposition: one is next",   [0, 0, 0, 1, 0, 0, 0, 0],  0, [.5, 0, 0, 0, 0, 0, 0, 0]),
        )),
        ("nouns", (
            ("a verb follows",             [0, 1, 0, 0, 0, 0, 0, 0],  0, [0, 0, 0, 0, 0, 0, 0, 1]),
            ("one was wanted",             [0, 1, 0, 0, 0, 0, 1, 0], -1, [0, 0, 0, 0, 0, 0,-1, 0]),
            ("an animal",                  [0, 1, 0, 0, 1, 0, 0, 0], -1, [0, 0, 0, 0,.5, 0, 0, 0]),
            ("determiner: one is next",    [1, 0, 0, 0, 0, 0, 0, 0],  0, [0,.5, 0, 0, 0, 0, 0, 0]),
        )),
        ("verbs", (
            ("a place may follow",         [0, 0, 1, 0, 0, 0, 0, 0],  0, [0, 0, 0, 1, 0, 0, 0, 0]),
            ("one was wanted",             [0, 0, 1, 0, 0, 0, 0, 1], -1, [0, 0, 0, 0, 0, 0, 0,-1]),
            ("an animal does it",          [0, 0, 1, 0, 1, 0, 0, 0], -1, [0, 0, 0, 0,.5, 0, 0, 0]),
            ("noun: one is next",          [0, 1, 0, 0, 0, 0, 0, 0],  0, [0, 0,.5, 0, 0, 0, 0, 0]),
        )),
        ("prepositions", (
            ("a noun follows",             [0, 0, 0, 1, 0, 0, 0, 0],  0, [0, 0, 0, 0, 0, 0, 1, 0]),
            ("no verb follows",            [0, 0, 0, 1, 0, 0, 0, 0],  0, [0, 0, 0, 0, 0, 0, 0,-.5]),
            ("a place is no animal",       [0, 0, 0, 1, 0, 0, 0, 0],  0, [0, 0, 0, 0,-.5, 0, 0, 0]),
            ("verb: one is next",          [0, 0, 1, 0, 0, 0, 0, 0],  0, [0, 0, 0,.5, 0, 0, 0, 0]),
        )),
    )
    # fmt: on
    experts = []
    for _, neurons in rules:
        _, keys, biases, values = zip(*neurons, strict=True)
        experts.append(FFN(w1=keys, b1=biases, w2=np.transpose(values), b2=np.zeros(8), activation="relu"))
    return Example(
        name="experts",
        title="Four experts, two for each word, 8 to 4 to 8",
        description=(
            "Hand-made: one expert for each class of words. A row of the router weighs its own class with 3, the class "
            "that comes before with 1, and with 1 that such a word is wanted. So each word goes first to the expert of "
            "its class, and second to that of the class that tends to follow: 'cat' to nouns with 0.94 and to verbs "
            "with 0.06. Three of an expert's neurons serve its own class, the fourth the class before. Of the 12 "
            "places nouns take 4 and prepositions 2."
        ),
        source="made for Hourglass, after Jiang et al. 2024, arXiv:2401.04088",
        ffn=MoE(
            router=[
                [3, 0, 0, 1, 0, 0, 0, 0],
                [1, 3, 0, 0, 0, 0, 1, 0],
                [0, 1, 3, 0, 0, 0, 0, 1],
                [0, 0, 1, 3, 0, 0, 0, 0],
            ],
            experts=experts,
            top_k=2,
        ),
        x=np.array(
            [
                [1.0, 0.0, 0.0, 0.0, 0.0, 0.9, 0.0, 0.0],
                [0.0, 1.0, 0.0, 0.0, 0.9, 0.6, 0.7, 0.0],
                [0.0, 0.0, 1.0, 0.0, 0.4, 0.0, 0.0, 0.6],
                [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
                [1.0, 0.0, 0.0, 0.0, 0.0, -0.5, 0.5, 0.0],
                [0.0, 1.0, 0.0, 0.0, 0.0, -0.3, 0.8, 0.0],
            ]
        ),
        words=("The", "cat", "sat", "on", "a", "mat"),
        features=features,
        neurons=tuple(f"{expert}: {job}" for expert, neurons in rules for job, *_ in neurons),
        experts=tuple(expert for expert, _ in rules),
    )


def _one_expert() -> Example:
    lesson = EXAMPLES["lesson"]
    return Example(
        name="one_expert",
        title="One expert, the lesson's network, 4 to 8 to 4",
        description=(
            "A mixture of a single expert sends every position to it with weight 1, whatever the router holds, and so is "
            "the dense network. Add experts to see it become a mixture."
        ),
        source=lesson.source,
        ffn=MoE(router=np.zeros((1, 4)), experts=[lesson.ffn], top_k=1),
        x=lesson.x,
        words=lesson.words,
    )


@lru_cache(maxsize=8)
def random_example(
    d_model: int, d_ff: int, n_positions: int, seed: int, *, kind: str = "dense", n_experts: int = 0
) -> Example:
    """A random layer of one of `ffn_core.families.KINDS` with a standard normal x.

    The same example for the same arguments. d_ff is that of each expert, where there are `n_experts`.
    """
    if n_positions < 1:
        raise ValueError(f"n_positions must be at least 1, got {n_positions}")
    made_by, numbers = KINDS[kind].network.__name__, f"{d_model}, {d_ff}"
    if KINDS[kind].mixes:
        made_by, numbers = "MoE", f"{d_model}, {d_ff}, {n_experts}, {min(2, n_experts)}"
    what = {"dense": "weights", "gated": "gated weights"}.get(kind, f"weights of {n_experts} experts")
    gated = ", gated=True" if kind == "experts_gated" else ""
    return Example(
        name="random",
        title=f"Random {what}, {d_model} to {d_ff} to {d_model}",
        description=f"Normal weights as a network has them before training, drawn with seed {seed}.",
        source=f"{made_by}.random({numbers}, seed={seed}{gated})",
        ffn=KINDS[kind].random(d_model, d_ff, seed, n_experts),
        x=np.random.default_rng([seed, 1]).standard_normal((n_positions, d_model)),
        words=tuple(f"token {i}" for i in range(n_positions)),
    )


EXAMPLES: dict[str, Example] = {
    entry.name: entry
    for entry in (_lesson(), _memories(), _cat(), random_example(128, 512, 16, 0), _and_gate())
}
"""Dense networks."""

VARIANTS: dict[str, Example] = {
    entry.name: entry
    for entry in (
        _gates(),
        _cat_gated(),
        replace(
            random_example(128, llama_d_ff(128, multiple_of=16), 16, 0, kind="gated"), name="gated_random"
        ),
        _experts(),
        replace(random_example(16, 32, 16, 0, kind="experts_gated", n_experts=8), name="experts_random"),
        _one_expert(),
    )
}
"""Gated networks and mixtures of experts."""


def example(name: str) -> Example:
    """The example called `name`, of EXAMPLES or VARIANTS; a ValueError lists those that there are."""
    try:
        return EXAMPLES[name] if name in EXAMPLES else VARIANTS[name]
    except (KeyError, TypeError):
        known = ", ".join((*EXAMPLES, *VARIANTS))
        raise ValueError(f"no example is called {name!r}; there are {known}") from None


@dataclass(frozen=True, eq=False, kw_only=True)
class Printed:
    """Numbers that the first lesson prints at `where`, as it prints them, beside `right`, what they should
    be.

    `note` says in what way the printed ones go wrong, and is empty where none does.
    """

    where: str
    printed: tuple[str, ...]
    right: tuple[float, ...]
    note: str

    @property
    def wrong(self) -> tuple[int, ...]:
        """Which of the numbers differ from the right ones at the digits that the lesson prints."""
        pairs = enumerate(zip(self.printed, self.right, strict=True))
        return tuple(
            i for i, (text, right) in pairs if float(text) != round(right, len(text.partition(".")[2]))
        )


@lru_cache(maxsize=1)
def lesson_numbers() -> tuple[Printed, ...]:
    """Every number that the first lesson works out, in its order; the right ones are computed here.

    What it prints twice is listed once. Its GELU is the tanh form throughout: the exact one would round to
    -0.046 at -2 and to 1.954 at 2.
    """
    lesson, counted = EXAMPLES["lesson"], EXAMPLES["random"].ffn
    trace = lesson.ffn.forward(lesson.x)
    hidden, activated, output = trace.hidden, trace.activated, trace.output
    table = np.array([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0])
    u = math.sqrt(2 / math.pi) * (0.43 + 0.044715 * 0.43**3)
    n_linear_1, n_linear_2 = counted.w1.size + counted.b1.size, counted.w2.size + counted.b2.size
    n_attention = 4 * (counted.d_model**2 + counted.d_model)

    def row(where: str, printed: str, right: ArrayLike, note: str = "") -> Printed:
        numbers = tuple(np.atleast_1d(right).astype(float).tolist())
        return Printed(where=where, printed=tuple(printed.split()), right=numbers, note=note)

    gelu, relu = activation("gelu_tanh"), activation("relu")
    return (
        row("table of GELU(x)", "-0.045 -0.159 -0.154 0.0 0.346 0.841 1.955", gelu(table)),
        row("table of ReLU(x)", "0.0 0.0 0.0 0.0 0.5 1.0 2.0", relu(table)),
        row("hidden[0]", "0.43 0.37 0.63 0.57 0.51 0.61 0.39 0.49", hidden[0]),
        row(
            "hidden[1]",
            "0.17 0.21 0.23 0.19 0.20 0.22 0.29 0.23",
            hidden[1],
            "None is a row of W1 times x[1]. Two neurons really go negative, so GELU's dip is in use.",
        ),
        row("gelu(0.43): sqrt(2/pi)", "0.7979", math.sqrt(2 / math.pi)),
        row(
            "gelu(0.43): argument of tanh",
            "0.3465",
            u,
            "A slip in the fourth digit, too small to change what follows.",
        ),
        row("gelu(0.43): tanh", "0.333", np.tanh(u)),
        row("gelu(0.43)", "0.287", gelu(0.43)),
        row(
            "activated[0]",
            "0.287 0.241 0.452 0.400 0.344 0.432 0.257 0.328",
            activated[0],
            "Only the first, which the lesson works out, is the GELU of its hidden value.",
        ),
        row(
            "activated[1]",
            "0.098 0.126 0.140 0.113 0.121 0.134 0.182 0.139",
            activated[1],
            "They follow the wrong hidden[1], and are not quite its GELU either. Two come out negative.",
        ),
        row(
            "output[0]",
            "0.498 0.492 0.489 0.501",
            output[0],
            "About a fifth too large: W2 times activated[0] gives less, with the printed values too.",
        ),
        row(
            "output[1]",
            "0.187 0.184 0.182 0.189",
            output[1],
            "They follow the wrong activated[1], and are too large even for that.",
        ),
        row(
            "summary: after GELU",
            "0.29 0.24 0.45 0.40 0.34 0.43 0.26 0.33",
            activated[0],
            "The activated[0] above, rounded; from the third on they are wrong in these digits as well.",
        ),
        row("summary: output", "0.50 0.49 0.49 0.50", output[0], "The output[0] above, rounded."),
        row("parameters of linear 1", "66048", n_linear_1),
        row("parameters of linear 2", "65664", n_linear_2),
        row("parameters of the FFN", "131712", counted.n_parameters),
        row("parameters of attention", "66048", n_attention),
        row("FFN's parameters over attention's", "2", counted.n_parameters / n_attention),
    )


def lesson_differences() -> tuple[Printed, ...]:
    """The rows of `lesson_numbers` in which a printed number is wrong."""
    return tuple(row for row in lesson_numbers() if row.wrong)
