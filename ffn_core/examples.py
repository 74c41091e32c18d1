"""Networks and inputs to look at, and the numbers that the first lesson prints beside the right ones."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ffn_core.activations import Array, as_numbers
from ffn_core.dense import FFN

_LESSON_1 = "lesson 1, Feed-Forward Network: Step-by-Step Numeric Example"
_LESSON_2 = "lesson 2, Feed-Forward Network: match a pattern, write back a value"


@dataclass(frozen=True, eq=False, kw_only=True)
class Example:
    """A network and an input x [positions, d_model], with one word for each position.

    `features` names the coordinates of x and `neurons` the job of each neuron, where they have a meaning.
    """

    name: str
    title: str
    description: str
    source: str
    ffn: FFN
    x: Array
    words: tuple[str, ...]
    features: tuple[str, ...] = ()
    neurons: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Keep a read-only copy of x."""
        x = as_numbers("x", self.x).copy()
        x.setflags(write=False)
        object.__setattr__(self, "x", x)


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
            "Key [1, 1] looks for two equal coordinates and stays silent; key [1, -1] looks for opposite "
            "ones and fires. W2 is the identity, so the output lists how hard each fired."
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
        neurons=("x1 and x2 alike", "x1 and x2 opposed"),
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
            "Attention has gathered before: 'cat' is definite and a noun was wanted, because 'The' came before "
            "it; 'sat' knows of the animal that sits. A real model's features are not so tidy."
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


@lru_cache(maxsize=8)
def random_example(d_model: int, d_ff: int, n_positions: int, seed: int) -> Example:
    """`FFN.random(d_model, d_ff, seed)` with a standard normal x; the same example for the same arguments."""
    if n_positions < 1:
        raise ValueError(f"n_positions must be at least 1, got {n_positions}")
    return Example(
        name="random",
        title=f"Random weights, {d_model} to {d_ff} to {d_model}",
        description=f"Normal weights as a network has them before training, drawn with seed {seed}.",
        source=f"FFN.random({d_model}, {d_ff}, seed={seed})",
        ffn=FFN.random(d_model, d_ff, seed=seed),
        x=np.random.default_rng([seed, 1]).standard_normal((n_positions, d_model)),
        words=tuple(f"token {i}" for i in range(n_positions)),
    )


EXAMPLES: dict[str, Example] = {
    entry.name: entry for entry in (_lesson(), _memories(), _cat(), random_example(128, 512, 16, 0))
}


def example(name: str) -> Example:
    """The example called `name`; a ValueError lists those that there are."""
    try:
        return EXAMPLES[name]
    except (KeyError, TypeError):
        raise ValueError(f"no example is called {name!r}; there are {', '.join(EXAMPLES)}") from None
