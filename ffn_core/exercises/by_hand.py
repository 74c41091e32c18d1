"""The exercises in which a number is worked out by hand. Their numbers are drawn with a seed, so each can have others."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import special

from ffn_core.activations import ACTIVATIONS, Array
from ffn_core.dense import FFN
from ffn_core.exercises.exercise import Mistake, NumberExercise, NumberTask
from ffn_core.exercises.slips import dense_slips
from ffn_core.explain import explain
from ffn_core.gated import GatedFFN, llama_d_ff
from ffn_core.matrix_text import short_number
from ffn_core.memories import always_on, dead
from ffn_core.moe import route

Draw = Callable[[np.random.Generator], NumberTask]


def _exercise(name: str, title: str, draw: Draw, *hints: str, otherwise: str) -> NumberExercise:
    """`otherwise` is what is said of a number that comes from no known slip."""

    @lru_cache(maxsize=64)
    def ask(seed: int) -> NumberTask:
        # Drawn anew until every slip leads to a number of its own: else a slip would pass, or be taken for another.
        tasks = (draw(np.random.default_rng([seed, attempt])) for attempt in itertools.count())
        return replace(next(task for task in tasks if _told_apart(task)), otherwise=otherwise)

    return NumberExercise(
        name=name,
        title=title,
        statement=lambda seed: ask(seed).prompt,
        hints=hints,
        seeded=True,
        ask=ask,
    )


def _told_apart(task: NumberTask) -> bool:
    numbers = sorted([task.answer, *(mistake.value for mistake in task.mistakes)])
    return bool(np.diff(numbers).min() > 2 * task.tolerance)


def _task(
    prompt: str, answer: float, decimals: int, *mistakes: tuple[float | np.floating[Any], str, str]
) -> NumberTask:
    named = (Mistake(value=float(value), code=code, message=text) for value, code, text in mistakes)
    asked = "an exact whole number" if decimals == 0 else f"to {decimals} decimals"
    text = f"{prompt.strip()}\n\nAnswer {asked}."
    return NumberTask(prompt=text, answer=float(answer), decimals=decimals, mistakes=tuple(named))


def _given(**arrays: Array) -> str:
    """The arrays as a block of Markdown, a matrix row below row."""
    width = max(map(len, arrays))
    lines = []
    for name, array in arrays.items():
        rows = [f"[{', '.join(map(short_number, row))}]" for row in np.atleast_2d(array).tolist()]
        if array.ndim == 1:
            lines.append(f"{name:{width}} = {rows[0]}")
        else:
            between = ",\n" + " " * (width + 4)
            lines.append(f"{name:{width}} = [{between.join(rows)}]")
    return "```text\n" + "\n".join(lines) + "\n```"


def _tenths(rng: np.random.Generator, *shape: int) -> Array:
    numbers: Array = rng.integers(1, 16, shape) * rng.choice([-1, 1], shape) / 10
    return numbers


def _hidden(rng: np.random.Generator) -> NumberTask:
    ffn = FFN(w1=_tenths(rng, 3, 3), b1=_tenths(rng, 3), w2=np.eye(3), b2=np.zeros(3), activation="identity")
    trace, neuron = ffn.forward(_tenths(rng, 3)), int(rng.integers(1, 3))
    terms = explain(trace, "hidden", (), neuron)
    return _task(
        f"""
Three inputs, three neurons. What is `hidden[{neuron}]`, the argument of the nonlinearity of neuron {neuron}? Counting starts
at 0.

{_given(x=trace.x, w1=ffn.w1, b1=ffn.b1)}
""",
        terms.value,
        2,
        (terms.value - terms.bias, "missing-bias", "The bias was left out: add b1 once, at the end."),
        (
            terms.value - 2 * terms.bias,
            "wrong-values",
            "The bias was subtracted. It is added, with its sign.",
        ),
        (
            FFN.from_arrays(ffn.w1, ffn.b1, ffn.w2, ffn.b2, layout="in_out").forward(trace.x).hidden[neuron],
            "transposed",
            "A column of w1 was taken. In W @ x neuron j has row j.",
        ),
        (trace.hidden[neuron - 1], "wrong-values", "This is the neuron before: counting starts at 0."),
        (
            sum(abs(term.product) for term in terms.terms) + terms.bias,
            "wrong-values",
            "A minus was lost: a product of one negative and one positive number is negative.",
        ),
    )


def _activated(rng: np.random.Generator) -> NumberTask:
    hidden = -float(rng.integers(3, 19)) / 10
    phi, gelu = float(special.ndtr(hidden)), float(ACTIVATIONS["gelu"](hidden))
    return _task(
        f"""
A neuron has `hidden` = {short_number(hidden)}. What does it fire with, `activated` = GELU(hidden), in the exact form
z · Φ(z)? You may use Φ({short_number(hidden)}) = {phi:.4f}.
""",
        gelu,
        3,
        (0.0, "wrong-activation", "This is ReLU. GELU lets a little of a negative number through."),
        (hidden, "wrong-activation", "This is hidden itself. It has yet to go through GELU."),
        (phi, "wrong-activation", "This is Φ alone. GELU is z times Φ(z)."),
        (hidden - gelu, "wrong-values", "This is z · Φ(−z). Take Φ at z with its sign."),
        (hidden + phi, "wrong-values", "z and Φ(z) were added. They are multiplied."),
        (gelu / 2, "wrong-values", "There is a factor 0.5 too many: Φ has it inside."),
    )


def _contribution(rng: np.random.Generator) -> NumberTask:
    ffn = FFN(w1=np.eye(3), b1=np.zeros(3), w2=_tenths(rng, 3, 3), b2=_tenths(rng, 3), activation="identity")
    trace = ffn.forward(np.abs(_tenths(rng, 3)))
    neuron, coordinate = rng.permutation(3)[:2].tolist()
    strength, added = trace.activated[neuron], trace.contributions(())[neuron, coordinate]
    return _task(
        f"""
Three neurons fire with the strengths `activated`. What does **neuron {neuron}** alone add to **coordinate {coordinate}** of the
output? Counting starts at 0.

{_given(activated=trace.activated, w2=ffn.w2, b2=ffn.b2)}
""",
        added,
        2,
        (
            strength * ffn.w2[neuron, coordinate],
            "transposed",
            "A row of w2 was taken for the value. The value of neuron j is column j of w2.",
        ),
        (
            ffn.w2[coordinate, neuron],
            "wrong-values",
            "This is the value alone. Multiply it by how strongly the neuron fires.",
        ),
        (
            trace.output[coordinate],
            "wrong-values",
            "This is the whole output there. One neuron's part is asked for.",
        ),
        (
            added + ffn.b2[coordinate],
            "wrong-values",
            "b2 was added. It is no neuron's: it is added once, to the sum of all.",
        ),
        (strength, "wrong-values", "This is how strongly the neuron fires. Multiply it by its value."),
    )


def _output(rng: np.random.Generator) -> NumberTask:
    w1, b1, b2, x = (_tenths(rng, *shape) for shape in ((2, 2), (2,), (2,), (2,)))
    w2 = rng.integers(1, 4, (2, 2)) * rng.choice([-1.0, 1.0], (2, 2))
    ffn, coordinate = FFN(w1=w1, b1=b1, w2=w2, b2=b2, activation="relu"), int(rng.integers(2))
    trace = ffn.forward(x)
    wrong = {slip.name: slip.output for slip in dense_slips(trace) if slip.output is not None}
    told = {
        "no-activation": (
            "wrong-activation",
            "There is no ReLU: a neuron whose hidden is below 0 adds nothing.",
        ),
        "missing-b1": ("missing-bias", "b1 was left out: it belongs to hidden, before the ReLU."),
        "missing-b2": ("missing-bias", "b2 was left out: add it once, at the end."),
        "transposed-w1": ("transposed", "w1 was read by its columns. Row j of w1 belongs to neuron j."),
        "transposed-w2": ("transposed", "w2 was read by its columns. Row i of w2 belongs to output i."),
        "clamped-output": (
            "clamped-output",
            "The ReLU was applied to the output as well. The output stays signed.",
        ),
        "residual-added": (
            "wrong-values",
            "x was added: that is what the block passes on. Asked is the FFN's output.",
        ),
    }
    return _task(
        f"""
The whole way: hidden = w1 · x + b1, activated = ReLU(hidden), output = w2 · activated + b2. What is `output[{coordinate}]`?
Counting starts at 0.

{_given(x=x, w1=w1, b1=b1, w2=w2, b2=b2)}
""",
        trace.output[coordinate],
        2,
        *((wrong[name][coordinate], code, text) for name, (code, text) in told.items()),
    )


def _dead(rng: np.random.Generator) -> NumberTask:
    hidden = rng.integers(-9, 10, (3, 6)) / 10
    hidden[:, rng.permutation(6)[: rng.integers(1, 4)]] = -0.5
    activated = ACTIVATIONS["relu"](hidden)
    is_zero = activated == 0
    return _task(
        f"""
Six neurons (columns) at three positions (rows), after ReLU. **How many neurons are dead** here: 0 at every position?

{_given(activated=activated)}
""",
        dead(activated).sum(),
        0,
        (is_zero.sum(), "wrong-values", "These are the zeros. Many zeros alone make no dead neuron."),
        (is_zero.any(axis=0).sum(), "wrong-values", "These are 0 somewhere. A dead neuron is 0 everywhere."),
        ((~is_zero).any(axis=0).sum(), "wrong-values", "These are the ones that fire. The others are dead."),
        (always_on(activated).sum(), "wrong-values", "These fire everywhere. Asked is the opposite."),
        ((~is_zero).sum(), "wrong-values", "These are the numbers above 0. Count columns."),
    )


def _parameters(rng: np.random.Generator) -> NumberTask:
    d = int(rng.integers(3, 17)) * 4
    ffn = FFN(w1=np.zeros((4 * d, d)), b1=np.zeros(4 * d), w2=np.zeros((d, 4 * d)), b2=np.zeros(d))
    w1, b1, w2, b2 = (array.size for array in (ffn.w1, ffn.b1, ffn.w2, ffn.b2))
    return _task(
        f"An FFN has d_model = {d} and d_ff = 4 · d_model, and both its matrices have a bias. How many parameters is that?",
        ffn.n_parameters,
        0,
        (w1 + w2, "missing-bias", "The biases were left out."),
        (w1 + w2 + b1, "missing-bias", "b2 was left out: it has d_model numbers."),
        (w1 + w2 + b2, "missing-bias", "b1 was left out: it has d_ff numbers."),
        (
            w1 + w2 + 2 * b1,
            "wrong-values",
            "b2 is shorter than b1: one number for each of the d_model outputs.",
        ),
        (w1 + w2 + 2 * b2, "wrong-values", "b1 is longer than b2: one number for each of the d_ff neurons."),
        (w1 + b1, "wrong-values", "This is the first matrix and its bias. There is a second."),
        (w1 + b1 + b2, "wrong-values", "Both biases are there, and only one of the two matrices."),
    )


def _gated(rng: np.random.Generator) -> NumberTask:
    gate, up = -abs(float(_tenths(rng))), float(_tenths(rng))
    ffn = GatedFFN(w_gate=[[1, 0]], w_up=[[0, 1]], w_down=[[1], [0]], activation="silu")

    def fires(network: GatedFFN, *x: float) -> float:
        return float(network.forward(x).activated[0])

    def with_gate(activation: str) -> float:
        return fires(
            GatedFFN(w_gate=ffn.w_gate, w_up=ffn.w_up, w_down=ffn.w_down, activation=activation), gate, up
        )

    z, u = short_number(gate), short_number(up)
    silu = ACTIVATIONS["silu"]
    return _task(
        f"""
A neuron of a SwiGLU has `hidden` = {z} at its gate and `up` = {u}. What does it fire with, `activated` = SiLU(hidden) · up?
SiLU(z) is z · σ(z), and you may use σ({z}) = {float(special.expit(gate)):.4f}.
""",
        fires(ffn, gate, up),
        3,
        (
            with_gate("sigmoid"),
            "wrong-activation",
            "This is σ(z) · up. SiLU is z · σ(z): the factor z was lost.",
        ),
        (with_gate("identity"), "wrong-activation", "The gate did not go through SiLU."),
        (with_gate("relu"), "wrong-activation", "This is with ReLU at the gate. Asked is SiLU."),
        (
            fires(ffn, up, gate),
            "wrong-activation",
            "SiLU was applied to up. It belongs to the gate; up stays linear.",
        ),
        (
            float(silu(gate * up)),
            "wrong-activation",
            "SiLU was applied to the product. It belongs to the gate alone.",
        ),
        (float(silu(gate)), "wrong-values", "This is the gate alone. Multiply it by up."),
        (float(silu(gate)) + up, "wrong-values", "Gate and up were added. They are multiplied."),
    )


def _top2(rng: np.random.Generator) -> NumberTask:
    logits = rng.choice(np.arange(-15, 26), 4, replace=False) / 10
    top = route(logits, 2)
    first, second = logits[top.chosen]
    return _task(
        f"""
A router gives four experts these logits. It sends the token to the best two, with the softmax over the two chosen logits as
weights. What is the weight of the **best** one?

{_given(logits=logits)}

You may use exp({short_number(second - first)}) = {float(np.exp(second - first)):.4f}, for the difference of the two.
""",
        top.routing_weights[0],
        3,
        (
            top.probs[top.chosen[0]],
            "wrong-values",
            "This is its share of all four experts. The softmax goes over the two chosen ones only.",
        ),
        (top.routing_weights[1], "wrong-values", "This is the weight of the second one."),
        (0.5, "wrong-values", "The two do not share equally: the greater logit weighs more."),
        (1.0, "wrong-values", "It shares with the second one."),
        (
            float(np.exp(second - first)),
            "wrong-values",
            "This is how the second weighs against the first. Divide 1 by 1 plus it.",
        ),
        (first - second, "wrong-values", "This is the difference of the logits. Their softmax is asked for."),
    )


def _d_ff(rng: np.random.Generator) -> NumberTask:
    d, multiple = int(rng.integers(20, 200)) * 4, int(rng.choice([16, 32, 64]))
    right, unrounded = llama_d_ff(d, multiple_of=multiple), llama_d_ff(d, multiple_of=1)
    return _task(
        f"""
A gated FFN has three matrices where a plain one has two. To keep the parameters level, Llama takes d_ff = 8/3 · d_model
and rounds it **up** to a multiple of {multiple}. What is d_ff for d_model = {d}?
""",
        right,
        0,
        (right - multiple, "wrong-values", "It was rounded down. Llama rounds up."),
        (unrounded, "wrong-values", f"It has yet to be rounded up to a multiple of {multiple}."),
        (
            right + multiple,
            "wrong-values",
            "This is one multiple too far: take the first that is not below 8/3 · d_model.",
        ),
        (4 * d, "wrong-values", "4 · d_model is for the plain FFN, with its two matrices."),
        (
            llama_d_ff(d, 1.5, multiple),
            "wrong-values",
            "This is 4 · d_model, rounded. A gated FFN takes 8/3 · d_model.",
        ),
        (2 * d, "wrong-values", "The factor is 8/3, not 2."),
    )


HIDDEN = _exercise(
    "hidden-by-hand",
    "One hidden value",
    _hidden,
    "Neuron j has row j of w1. Multiply it with x, entry by entry, and add the products.",
    "Then add b1[j].",
    otherwise="Write the three products out, then add them up and b1.",
)
ACTIVATED = _exercise(
    "activated-by-hand",
    "Through GELU",
    _activated,
    "Φ(z) is the share of z that passes. Multiply.",
    "z is negative, so the result is, too.",
    otherwise="Multiply hidden by the Φ that is given.",
)
CONTRIBUTION = _exercise(
    "contribution",
    "What one neuron adds",
    _contribution,
    "The value of neuron j is column j of w2.",
    "The neuron adds activated[j] times its value.",
    otherwise="It is one product: how strongly the neuron fires, times one entry of w2.",
)
OUTPUT = _exercise(
    "output-by-hand",
    "All the way to the output",
    _output,
    "First both hidden values, with their biases. Then cut the negative ones to 0.",
    "Row i of w2 meets activated, and b2[i] is added. The output may be negative.",
    otherwise="Write out both hidden values, then what ReLU leaves of them, and only then the output.",
)
DEAD = _exercise(
    "dead-or-sparse",
    "Dead or sparse?",
    _dead,
    "Go down each column. One number above 0 keeps the neuron alive.",
    otherwise="Count the columns that are 0 in every row.",
)
PARAMETERS = _exercise(
    "parameters",
    "Count the parameters",
    _parameters,
    "w1 has d_ff · d_model numbers, and w2 as many.",
    "b1 has one number for each neuron, b2 one for each output.",
    otherwise="Write down the sizes of w1, b1, w2 and b2, and add the four.",
)
GATED = _exercise(
    "gated-by-hand",
    "A gated neuron",
    _gated,
    "First SiLU of the gate: z times σ(z).",
    "Then times up, with its sign.",
    otherwise="It is a product of three numbers: hidden, the σ that is given, and up.",
)
TOP2 = _exercise(
    "top-2-by-hand",
    "The weight of an expert",
    _top2,
    "The softmax of two numbers a and b gives a the share exp(a) / (exp(a) + exp(b)).",
    "Divide above and below by exp(a): 1 / (1 + exp(b - a)).",
    otherwise="Take the two greatest logits, and of them alone the softmax.",
)
D_FF = _exercise(
    "gated-width",
    "How wide is a gated FFN?",
    _d_ff,
    "8 · d_model / 3 first, then up to the next multiple.",
    otherwise="Work out 8 · d_model / 3, divide it by the multiple, round that up, and multiply again.",
)
