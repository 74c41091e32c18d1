"""The exercises in which a function is written."""

from collections.abc import Callable

from ffn_core.exercises import sheets
from ffn_core.exercises.exercise import CodeExercise, Sheet


def _exercise(
    name: str,
    title: str,
    *,
    signature: str,
    sheet: Callable[[int], Sheet],
    text: str,
    body: str,
    hints: tuple[str, ...],
) -> CodeExercise:
    function = signature.partition("(")[0]
    return CodeExercise(
        name=name,
        title=title,
        statement=lambda seed: text.strip(),
        hints=hints,
        seeded=False,
        function=function,
        signature=signature,
        starter=f"def {signature}:\n{body}",
        sheet=lambda seed: {"function": function, "signature": signature, **sheet(seed)},
    )


_FORWARD = "ffn_forward(x, W1, b1, W2, b2, D, H)"
_FORWARD_BODY = """\
    hidden = []
    # one entry for each of the H neurons

    output = []
    # one entry for each of the D coordinates

    return output
"""

HIDDEN = _exercise(
    "hidden-layer",
    "The first matrix",
    signature="hidden_layer(x, W1, b1, D, H)",
    sheet=sheets.hidden_sheet,
    text="""
Write `hidden_layer(x, W1, b1, D, H)`, which returns **hidden = W1 · x + b1**: a list of H numbers, one for each neuron,
before any nonlinearity.

`x` has D numbers and `b1` has H. `W1` has H rows of D numbers and comes as a **flat row-major list**, one row after the
other: you index it yourself.
""",
    body="    hidden = []\n    # for each neuron: its row of W1 times x, plus its bias\n\n    return hidden\n",
    hints=(
        "Row i starts at W1[i*D]. Its entry j, which meets x[j], is W1[i*D + j].",
        "The inner loop runs over the D inputs and sums. The outer one runs over the H neurons.",
    ),
)

FORWARD = _exercise(
    "ffn-forward",
    "The forward pass, with ReLU",
    signature=_FORWARD,
    sheet=sheets.forward_sheet("relu"),
    text=f"""
Write one forward pass by hand, **y = W2 · relu(W1 · x + b1) + b2**, as `{_FORWARD}`. Return a list of D numbers.

`W1` has H rows of D numbers, `W2` has D rows of H. Both come as **flat row-major lists**, one row after the other, so
that you index them yourself. `x` and `b2` have D numbers, `b1` has H. Leave the lists that you are given as they are.
""",
    body=_FORWARD_BODY,
    hints=(
        "Two loops, one after the other: the first makes the H hidden values, the second the D outputs.",
        "Row i of W1 starts at i*D, because each row has D numbers. How many numbers has a row of W2?",
        "relu(z) is max(0.0, z). It goes between the two matrices, and nowhere else.",
    ),
)

GELU = _exercise(
    "gelu",
    "GELU, the exact form",
    signature="gelu(z)",
    sheet=sheets.gelu_sheet,
    text="""
Write `gelu(z)` for one number z: **z · Φ(z)**, where Φ(z) = 0.5 · (1 + erf(z / √2)) is the share of a normal
distribution that lies below z. Return a number. Python has `math.erf`.

The tanh form, which GPT-2 uses, comes close to this one and is not the same: the two differ by up to 0.0005.
""",
    body="    ...\n",
    hints=(
        "Write `import math` in the first line. Then math.erf and math.sqrt are there.",
        "For a large z it is nearly z, for a very negative one nearly 0.",
    ),
)

FORWARD_GELU = _exercise(
    "ffn-forward-gelu",
    "The forward pass, with GELU",
    signature=_FORWARD,
    sheet=sheets.forward_sheet("gelu"),
    text=f"""
Write the forward pass with another nonlinearity: **y = W2 · gelu(W1 · x + b1) + b2**, as `{_FORWARD}`. Take the exact
form of GELU, gelu(z) = z · 0.5 · (1 + erf(z / √2)). Return a list of D numbers.

`W1` has H rows of D numbers, `W2` has D rows of H, both as **flat row-major lists**. `x` and `b2` have D numbers, `b1`
has H. Leave the lists that you are given as they are.
""",
    body=_FORWARD_BODY,
    hints=(
        "Only the line of the nonlinearity differs from the exercise with ReLU.",
        "math.erf is Python's error function; it needs `import math` in the first line.",
    ),
)

GATED = _exercise(
    "gated-ffn",
    "A gated network, SwiGLU",
    signature="gated_ffn(x, Wgate, Wup, Wdown, D, H)",
    sheet=sheets.gated_sheet,
    text="""
Write `gated_ffn(x, Wgate, Wup, Wdown, D, H)`: **y = Wdown · (silu(Wgate · x) * (Wup · x))**, with silu(z) = z / (1 + exp(-z))
and `*` entry by entry. There are no biases. Return a list of D numbers.

`Wgate` and `Wup` have H rows of D numbers, `Wdown` has D rows of H, all as **flat row-major lists**. Leave the lists that
you are given as they are.
""",
    body="    activated = []\n    # for each of the H neurons: silu(gate) * up\n\n    return []\n",
    hints=(
        "Each neuron has two rows: its row of Wgate gives the gate, its row of Wup gives up.",
        "Only the gate goes through silu. Then the two numbers are multiplied.",
    ),
)

TOP2 = _exercise(
    "top-2",
    "The best two experts",
    signature="top2_weights(logits)",
    sheet=sheets.top2_sheet,
    text="""
A router gives each expert a number, its logit. Write `top2_weights(logits)`, which returns a list with a weight for each
expert: the two with the greatest logits share the weight 1, by the **softmax over these two logits alone**; all others
get 0. Of equal logits the lower index is chosen.

There are at least two experts. Logits can be as large as 1000.
""",
    body="    weights = [0.0] * len(logits)\n\n    return weights\n",
    hints=(
        "Find the index of the greatest logit, then of the greatest among the others.",
        "exp(1000) is too large for a number. Subtract the greatest logit from both first: the softmax stays the same.",
        "Python's sort keeps equals in order: sorted(range(n), key=lambda i: -logits[i]).",
    ),
)

BACKWARD = _exercise(
    "ffn-backward",
    "The backward pass",
    signature="ffn_backward(x, W1, b1, W2, b2, D, H, dy)",
    sheet=sheets.backward_sheet,
    text="""
Write `ffn_backward(x, W1, b1, W2, b2, D, H, dy)` for the network with ReLU. `dy` holds the gradient of a loss with respect
to each of the D outputs. Return the gradients with respect to everything else: `(dx, dW1, db1, dW2, db2)`, five flat
lists, each as long and in the order of what it is the gradient of.

Repeat the forward pass for hidden and activated, then go back step by step:

- db2 = dy, and dW2 at row i, column j is dy[i] · activated[j]
- d_activated[j] is the sum over i of dy[i] · W2 at row i, column j
- d_hidden[j] is d_activated[j] where hidden[j] > 0, and 0 elsewhere
- db1 = d_hidden, and dW1 at row j, column k is d_hidden[j] · x[k]
- dx[k] is the sum over j of d_hidden[j] · W1 at row j, column k
""",
    body="    hidden = []\n    activated = []\n\n    return dx, dW1, db1, dW2, db2\n",
    hints=(
        "Row i of W2 starts at i*H, row j of W1 at j*D, on the way back as on the way forth.",
        "A gradient has the shape of its matrix: dW1 is H rows of D numbers, one row after the other.",
    ),
)
