"""What each known mistake gives, computed by the network itself with that mistake in it.

A slip is a changed network or input whose numbers are the mistake's. So there is no second formula here: only weights
read in another way, other biases, another nonlinearity. A table says each mistake's diagnosis, a code of `marking`,
with a sentence that helps; of two that fit a solution equally well, the first is said.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ffn_core.activations import ACTIVATIONS, Array
from ffn_core.dense import FFN, Gradients, Trace
from ffn_core.gated import GatedFFN, GatedTrace
from ffn_core.moe import route

Mistakes = Mapping[str, tuple[str, str]]
Wrong = tuple[str, Array | None]
"""The name of a mistake, and the numbers that it gives; None where it reads beyond the end of a list."""

FORMS_OF_GELU = ("gelu", "gelu_tanh", "gelu_quick")

DENSE_MISTAKES: dict[str, tuple[str, str]] = {
    "stride-d": (
        "stride",
        "Both matrices were read with rows of D numbers. Row i of W1 starts at i*D, row i of W2 at i*H: a row of W2 "
        "has an entry for each of the H neurons.",
    ),
    "stride-h": (
        "stride",
        "Both matrices were read with rows of H numbers. Row i of W1 starts at i*D, row i of W2 at i*H: a row of W1 "
        "has an entry for each of the D inputs.",
    ),
    "strides-exchanged": (
        "stride",
        "The two strides are exchanged. Row i of W1 starts at i*D, row i of W2 at i*H.",
    ),
    "first-row-only": (
        "stride",
        "Row 0 of a matrix was taken for all of its rows. Row i of W1 starts at i*D, row i of W2 at i*H.",
    ),
    "transposed-w1": (
        "transposed",
        "W1 was read down its columns. Row i of W1 belongs to neuron i: hidden[i] sums W1[i*D + j] * x[j] over j.",
    ),
    "transposed-w2": (
        "transposed",
        "W2 was read down its columns. Row i of W2 belongs to output i: it sums W2[i*H + j] * activated[j] over j.",
    ),
    "transposed-both": (
        "transposed",
        "Both matrices were read down their columns, as in x @ W. Here it is W @ x: a row of the matrix meets the "
        "whole vector.",
    ),
    "missing-b1": ("missing-bias", "b1 was left out: hidden = W1 @ x + b1."),
    "missing-b2": ("missing-bias", "b2 was left out: output = W2 @ activated + b2."),
    "missing-biases": (
        "missing-bias",
        "Both biases were left out: b1 before the nonlinearity, b2 at the end.",
    ),
    "b1-outside": (
        "wrong-activation",
        "b1 was added after the nonlinearity. It belongs inside: act(W1 @ x + b1).",
    ),
    "clamped-output": (
        "clamped-output",
        "The output went through the nonlinearity as well. It belongs between the two matrices only. The output stays "
        "signed, so that it can push a coordinate of x down as well as up.",
    ),
    "activation-last": (
        "clamped-output",
        "The nonlinearity comes after W2 instead of between the matrices. The output stays signed; it is hidden that "
        "goes through the nonlinearity.",
    ),
    "activation-first": (
        "wrong-activation",
        "The nonlinearity was applied to x. It belongs to hidden = W1 @ x + b1.",
    ),
    "no-activation": (
        "wrong-activation",
        "There is no nonlinearity between the matrices, so the two of them are one linear map.",
    ),
    "activation-elsewhere": (
        "wrong-activation",
        "The nonlinearity is not the one asked for, though it stands in the right place.",
    ),
    "residual-added": (
        "wrong-values",
        "x was added to the output. The block does that afterwards; the function returns FFN(x) alone.",
    ),
    "bias-subtracted": ("wrong-values", "A bias was subtracted. It is added, with its sign."),
    "bias-each-term": (
        "wrong-values",
        "A bias was added with each product. Add it once, outside the inner loop.",
    ),
    "sum-not-reset": (
        "wrong-values",
        "Each sum goes on from the one before. Set it back to 0 inside the outer loop.",
    ),
    "last-product-only": (
        "wrong-values",
        "Only the last product of each row counts: write += where = overwrites the sum.",
    ),
    "last-product-lost": (
        "wrong-values",
        "The last product of each row is missing: range(n) ends at n - 1 already.",
    ),
}


HIDDEN_MISTAKES: dict[str, tuple[str, str]] = {
    "stride-h": (
        "stride",
        "W1 was read with rows of H numbers. Row i of W1 starts at i*D: it has an entry for each of the D inputs.",
    ),
    "first-row-only": (
        "stride",
        "Every neuron got row 0 of W1. Row i starts at i*D: leave i*D out, and it is row 0 each time.",
    ),
    "transposed-w1": DENSE_MISTAKES["transposed-w1"],
    "missing-b1": DENSE_MISTAKES["missing-b1"],
    "clamped-output": (
        "wrong-activation",
        "The nonlinearity was applied already. hidden is its argument, what comes before it.",
    ),
    **{name: DENSE_MISTAKES[name] for name in DENSE_MISTAKES if DENSE_MISTAKES[name][0] == "wrong-values"},
}
del HIDDEN_MISTAKES["residual-added"]

GELU_MISTAKES: dict[str, tuple[str, str]] = {
    "factor-lost": (
        "wrong-activation",
        "This is Phi(z), a share between 0 and 1. GELU is that share of z: z * Phi(z).",
    ),
    "half-lost": ("wrong-values", "The factor 0.5 was left out: Phi(z) = 0.5 * (1 + erf(z / sqrt(2)))."),
    "root-lost": (
        "wrong-values",
        "erf was given z. It takes z / sqrt(2): the normal distribution's Phi has that factor inside.",
    ),
    "half-for-root": ("wrong-values", "erf was given z / 2. It takes z / sqrt(2)."),
    "root-times": ("wrong-values", "erf was given z * sqrt(2). It takes z / sqrt(2)."),
    "one-lost": ("wrong-values", "The 1 was left out: Phi(z) = 0.5 * (1 + erf(z / sqrt(2)))."),
    "sign": (
        "wrong-values",
        "The sign is turned somewhere: this is z * Phi(-z), which falls where GELU rises.",
    ),
}

GATED_MISTAKES: dict[str, tuple[str, str]] = {
    "stride-d": (
        "stride",
        "Wdown was read with rows of D numbers. Row i of Wdown starts at i*H: it has an entry for each of the H neurons.",
    ),
    "stride-h": (
        "stride",
        "Wgate and Wup were read with rows of H numbers. Row i starts at i*D: it has an entry for each of the D inputs.",
    ),
    "strides-exchanged": (
        "stride",
        "The strides are exchanged. Row i of Wgate and of Wup starts at i*D, row i of Wdown at i*H.",
    ),
    "transposed-in": (
        "transposed",
        "Wgate and Wup were read down their columns. Row i belongs to neuron i: it sums W[i*D + j] * x[j] over j.",
    ),
    "transposed-out": (
        "transposed",
        "Wdown was read down its columns. Row i belongs to output i: it sums Wdown[i*H + j] * activated[j] over j.",
    ),
    "transposed-all": (
        "transposed",
        "All three matrices were read down their columns, as in x @ W. Here it is W @ x: a row of the matrix meets the "
        "whole vector.",
    ),
    "no-activation": (
        "wrong-activation",
        "The gate did not go through SiLU: activated = silu(Wgate @ x) * (Wup @ x).",
    ),
    "roles-exchanged": (
        "wrong-activation",
        "SiLU was applied to the up branch. It belongs to the gate; up stays linear.",
    ),
    "of-the-product": (
        "wrong-activation",
        "SiLU was applied to the product. It belongs to the gate alone: silu(gate) * up.",
    ),
    "both-activated": (
        "wrong-activation",
        "SiLU was applied to both branches. up stays linear: silu(gate) * up.",
    ),
    "added": ("wrong-values", "The two branches were added. They are multiplied: silu(gate) * up."),
    "up-lost": ("wrong-values", "The up branch has no effect: activated = silu(gate) * up."),
    "gate-lost": ("wrong-values", "The gate has no effect: activated = silu(gate) * up."),
    "clamped-output": (
        "clamped-output",
        "The output went through a nonlinearity as well. Only the gate does.",
    ),
    "residual-added": (
        "wrong-values",
        "x was added to the output. The block does that afterwards; the function returns what the network adds alone.",
    ),
}

TOP2_MISTAKES: dict[str, tuple[str, str]] = {
    "not-renormalized": (
        "wrong-values",
        "The two weights do not sum to 1: they are shares of all experts. Take the softmax over the two chosen "
        "logits only.",
    ),
    "all-experts": (
        "wrong-values",
        "Every expert got a weight. Only the two with the greatest logits do; the others get 0.",
    ),
    "top-1": ("wrong-values", "Only one expert got a weight. Choose the best two."),
    "top-3": ("wrong-values", "Three experts got a weight. Choose the best two."),
    "lowest": ("wrong-values", "The two smallest logits were chosen. Choose the two greatest."),
    "late-tie": (
        "wrong-values",
        "Of equal logits the later one was chosen. Here the lower index goes first.",
    ),
    "exchanged": ("wrong-values", "The two weights are exchanged: the greater logit has the greater weight."),
    "equal-shares": ("wrong-values", "Both weights are 1/2. They are the softmax of the two chosen logits."),
    "no-exp": ("wrong-values", "The logits were divided by their sum. A softmax takes exp of them first."),
    "logits": ("wrong-values", "These are the chosen logits themselves. Their softmax is asked for."),
}

BACKWARD_MISTAKES: dict[str, tuple[str, str]] = {
    "stride-w2": (
        "stride",
        "On the way back W2 was read with rows of D numbers. Row i of W2 starts at i*H: d_activated[j] sums "
        "dy[i] * W2[i*H + j] over i.",
    ),
    "stride-w1": (
        "stride",
        "On the way back W1 was read with rows of H numbers. Row j of W1 starts at j*D: dx[k] sums "
        "d_hidden[j] * W1[j*D + k] over j.",
    ),
    "transposed-w2": (
        "transposed",
        "On the way back W2 was read as if it were H by D. d_activated[j] sums dy[i] * W2[i*H + j] over i.",
    ),
    "transposed-w1": (
        "transposed",
        "On the way back W1 was read as if it were D by H. dx[k] sums d_hidden[j] * W1[j*D + k] over j.",
    ),
    "transposed-gradients": (
        "transposed",
        "A gradient has the shape of its matrix: dW1 is H by D, dW2 is D by H, both row by row.",
    ),
    "b1-lost-forward": ("missing-bias", "The forward pass was repeated without b1: hidden = W1 @ x + b1."),
    "bias-gradient-lost": (
        "missing-bias",
        "The gradient of a bias is missing: db2 is dy, db1 is d_hidden.",
    ),
    "no-mask": (
        "wrong-activation",
        "ReLU has a derivative: where hidden is not above 0, nothing comes back. d_hidden = d_activated * (hidden > 0).",
    ),
    "no-mask-b1": (
        "wrong-activation",
        "db1 was taken before the nonlinearity's derivative: it is d_hidden, not d_activated.",
    ),
    "dw2-of-hidden": (
        "wrong-activation",
        "dW2 was made with hidden. W2 met activated, what comes out of the ReLU: dW2[i*H + j] = dy[i] * activated[j].",
    ),
    "corner": (
        "wrong-activation",
        "At hidden = 0 the derivative of ReLU is taken to be 0: the mask is hidden > 0, not >= 0.",
    ),
    "residual-added": (
        "wrong-values",
        "dy was added to dx. That is the way around the FFN; here only the FFN itself is asked for.",
    ),
    "negated": (
        "wrong-values",
        "Every sign is turned. This is the step that lowers the loss; asked is the gradient.",
    ),
    "last-lost": (
        "wrong-values",
        "dx takes only one neuron: write += where = overwrites the sum.",
    ),
}


# Nonlinearities that a solution may have, and that no network here uses.
_ELSEWHERE: tuple[Callable[[Array], Array], ...] = (
    np.abs,
    lambda z: np.minimum(z, 0),
    lambda z: np.clip(z, 0, 1),
    lambda z: np.where(z > 0, 1.0, 0.0),
    lambda z: np.where(z > 0, z, 0.01 * z),
    lambda z: np.where(z > 0, z, 0.1 * z),
    lambda z: np.where(z > 0, z, np.expm1(np.minimum(z, 0))),
    lambda z: np.logaddexp(z, 0),
)


class Slip(NamedTuple):
    """One way to make the mistake `name`: its trace and what it returns; output None reads beyond a list's end."""

    name: str
    hidden: Array | None
    output: Array | None


def activation_mistakes(right: str) -> dict[str, tuple[str, str]]:
    """The mistakes of taking another nonlinearity than `right`, as in DENSE_MISTAKES."""
    asked = ACTIVATIONS[right].label
    mistakes = {}
    for name, taken in ACTIVATIONS.items():
        if name in (right, "identity"):
            continue
        if {name, right} <= set(FORMS_OF_GELU):
            text = f"This is {_FORM[name]}. Asked is {_FORM[right]}. They differ by up to {_APART[name]}."
            mistakes[name] = ("gelu-form", text)
        else:
            mistakes[name] = (
                "wrong-activation",
                f"The nonlinearity is {taken.label} here, and should be {asked}.",
            )
    return mistakes


_FORM = {
    "gelu": "the exact form of GELU, z * 0.5 * (1 + erf(z / sqrt(2)))",
    "gelu_tanh": "the tanh form of GELU",
    "gelu_quick": "the quick form of GELU, z * sigmoid(1.702 * z)",
}
_APART = {"gelu": "0.0005", "gelu_tanh": "0.0005", "gelu_quick": "0.02"}


def dense_slips(trace: Trace) -> Iterator[Slip]:
    """Every way to get one forward pass of a single x [d_model] wrong that DENSE_MISTAKES and others name."""
    ffn, x = trace.ffn, trace.x
    act = ACTIVATIONS[ffn.activation]

    def slip(name: str, x: Array = x, **changed: object) -> Slip:
        made = _with(ffn, **changed).forward(x)
        return Slip(name, made.hidden, made.output)

    def read(name: str, w1: Array | None, w2: Array | None) -> Slip:
        return Slip(name, None, None) if w1 is None or w2 is None else slip(name, w1=w1, w2=w2)

    d, h = ffn.d_model, ffn.d_ff
    for cut in (False, True):
        short_w1, short_w2 = _strided(ffn.w1, h, cut), _strided(ffn.w2, d, cut)
        yield read("stride-d", ffn.w1, short_w2)
        yield read("stride-h", short_w1, ffn.w2)
        yield read("strides-exchanged", short_w1, short_w2)
    for turn in (_turned, _turned_with_its_stride):
        yield read("transposed-w1", turn(ffn.w1), ffn.w2)
        yield read("transposed-w2", ffn.w1, turn(ffn.w2))
        for other in (_turned, _turned_with_its_stride):
            yield read("transposed-both", turn(ffn.w1), other(ffn.w2))
    none1, none2 = np.zeros(h), np.zeros(d)
    yield slip("missing-b1", b1=none1)
    yield slip("missing-b2", b2=none2)
    yield slip("missing-biases", b1=none1, b2=none2)
    # Added after the nonlinearity, b1 goes through w2 alone: a constant beside b2.
    yield slip("b1-outside", b1=none1, b2=ffn.b2 + ffn.w2 @ ffn.b1)
    linear = _with(ffn, activation="identity").forward(x)
    for clamp in {act.name: act, "relu": ACTIVATIONS["relu"]}.values():
        yield Slip("clamped-output", clamp(trace.hidden), clamp(trace.output))
        yield Slip("activation-last", clamp(trace.hidden), clamp(linear.output))
    yield slip("activation-first", act(x), activation="identity")
    yield Slip("no-activation", linear.hidden, linear.output)
    for other_act in _ELSEWHERE:
        activated = other_act(trace.hidden)
        yield Slip("activation-elsewhere", activated, activated @ ffn.w2.T + ffn.b2)
    yield Slip("residual-added", None, trace.residual)
    first1, first2 = (np.repeat(matrix[:1], len(matrix), axis=0) for matrix in (ffn.w1, ffn.w2))
    yield slip("first-row-only", w1=first1, w2=first2)
    yield slip("first-row-only", w1=first1)
    yield slip("first-row-only", w2=first2)
    yield slip("bias-subtracted", b1=-ffn.b1, b2=-ffn.b2)
    yield slip("bias-subtracted", b1=-ffn.b1)
    yield slip("bias-subtracted", b2=-ffn.b2)
    yield slip("bias-each-term", b1=ffn.b1 * d, b2=ffn.b2 * h)
    yield slip("bias-each-term", b1=ffn.b1 * d)
    yield slip("bias-each-term", b2=ffn.b2 * h)
    w1, b1, w2, b2 = (np.cumsum(array, axis=0) for array in (ffn.w1, ffn.b1, ffn.w2, ffn.b2))
    yield slip("sum-not-reset", w1=w1, w2=w2)
    yield slip("sum-not-reset", w1=w1, b1=b1, w2=w2, b2=b2)
    yield slip("sum-not-reset", w1=w1)
    yield slip("sum-not-reset", w2=w2)
    for name, keep in (("last-product-only", slice(-1, None)), ("last-product-lost", slice(None, -1))):
        w1, w2 = _columns(ffn.w1, keep), _columns(ffn.w2, keep)
        yield slip(name, w1=w1, w2=w2)
        yield slip(name, w1=w1)
        yield slip(name, w2=w2)
    for name in activation_mistakes(ffn.activation):
        yield slip(name, activation=name)


def _with(ffn: FFN, **changed: object) -> FFN:
    parts = {name: getattr(ffn, name) for name in ("w1", "b1", "w2", "b2", "activation")}
    return FFN(**(parts | changed))


def _strided(matrix: Array, stride: int, cut: bool) -> Array | None:
    """`matrix` as its flat list reads with another stride between rows.

    Beyond the end it is None, as indexing raises there, or, if `cut`, 0, as a slice just ends.
    """
    n_rows, n_columns = matrix.shape
    at = np.arange(n_rows)[:, np.newaxis] * stride + np.arange(n_columns)
    if at.max() >= matrix.size and not cut:
        return None
    beyond = at >= matrix.size
    return np.where(beyond, 0, matrix.reshape(-1)[np.where(beyond, 0, at)])


def _turned(matrix: Array) -> Array:
    """`matrix` as its flat list reads to someone who takes it for the transposed one."""
    return matrix.reshape(matrix.shape[::-1]).T


def _turned_with_its_stride(matrix: Array) -> Array | None:
    """The same with the row-major stride kept: entry (i, j) read at j * columns + i."""
    n_rows, n_columns = matrix.shape
    at = np.arange(n_rows)[:, np.newaxis] + np.arange(n_columns) * n_columns
    return None if at.max() >= matrix.size else matrix.reshape(-1)[at]


def _columns(matrix: Array, keep: slice) -> Array:
    """`matrix` with all columns but those of `keep` 0."""
    kept = np.zeros_like(matrix)
    kept[:, keep] = matrix[:, keep]
    return kept


def gelu_slips(z: float) -> Iterator[Wrong]:
    """Every way to get gelu(z) wrong that GELU_MISTAKES and `activation_mistakes` name."""
    gelu, root = ACTIVATIONS["gelu"], np.sqrt(2)
    right = np.asarray(gelu(z))
    yield "factor-lost", np.asarray(special.ndtr(z))
    yield "half-lost", 2 * right
    yield "root-lost", gelu(z * root) / root
    yield "half-for-root", gelu(z / root) * root
    yield "root-times", gelu(z * 2) / 2
    yield "one-lost", right - z / 2
    yield "sign", z - right
    for name in activation_mistakes("gelu"):
        yield name, np.asarray(ACTIVATIONS[name](z))


def gated_slips(trace: GatedTrace) -> Iterator[Wrong]:
    """Every way to get a gated forward pass of a single x [d_model] wrong that GATED_MISTAKES and others name."""
    ffn, x = trace.ffn, trace.x
    d, h = ffn.d_model, ffn.d_ff
    act = ACTIVATIONS[ffn.activation]

    def run(w_gate: Array | None, w_up: Array | None, w_down: Array | None) -> Array | None:
        if w_gate is None or w_up is None or w_down is None:
            return None
        return GatedFFN(w_gate=w_gate, w_up=w_up, w_down=w_down, activation=act.name).forward(x).output

    def write(activated: Array) -> Array:
        written: Array = activated @ ffn.w_down.T
        return written

    for cut in (False, True):
        short_in, short_out = (
            (_strided(ffn.w_gate, h, cut), _strided(ffn.w_up, h, cut)),
            _strided(ffn.w_down, d, cut),
        )
        yield "stride-d", run(ffn.w_gate, ffn.w_up, short_out)
        yield "stride-h", run(*short_in, ffn.w_down)
        yield "strides-exchanged", run(*short_in, short_out)
    for turn in (_turned, _turned_with_its_stride):
        yield "transposed-in", run(turn(ffn.w_gate), turn(ffn.w_up), ffn.w_down)
        yield "transposed-out", run(ffn.w_gate, ffn.w_up, turn(ffn.w_down))
        yield "transposed-all", run(turn(ffn.w_gate), turn(ffn.w_up), turn(ffn.w_down))
    yield "no-activation", write(trace.hidden * trace.up)
    yield "roles-exchanged", run(ffn.w_up, ffn.w_gate, ffn.w_down)
    yield "of-the-product", write(act(trace.hidden * trace.up))
    yield "both-activated", write(trace.gate * act(trace.up))
    yield "added", write(trace.gate + trace.up)
    yield "up-lost", write(trace.gate)
    yield "gate-lost", write(trace.up)
    for clamp in (act, ACTIVATIONS["relu"]):
        yield "clamped-output", clamp(trace.output)
    yield "residual-added", trace.residual
    for name in activation_mistakes(act.name):
        made = GatedFFN(w_gate=ffn.w_gate, w_up=ffn.w_up, w_down=ffn.w_down, activation=name)
        yield name, made.forward(x).output


def weights_of_top(logits: list[float], k: int, renormalize: bool = True) -> Array:
    """The routing weights in the experts' own places, 0 for those that are not chosen: [n_experts]."""
    routing = route(logits, k, renormalize)
    return _placed(routing.routing_weights, routing.chosen, len(logits))


def top2_slips(logits: list[float]) -> Iterator[Wrong]:
    """Every way to get the weights of the best two experts wrong that TOP2_MISTAKES names."""
    n, numbers = len(logits), np.array(logits)
    routing = route(logits, 2)
    weights, chosen, top = routing.routing_weights, routing.chosen, numbers[routing.chosen]
    yield "not-renormalized", weights_of_top(logits, 2, renormalize=False)
    yield "all-experts", routing.probs
    yield "top-1", weights_of_top(logits, 1)
    yield "top-1", weights_of_top(logits, 1, renormalize=False)
    yield "top-3", weights_of_top(logits, min(3, n))
    yield "top-3", weights_of_top(logits, min(3, n), renormalize=False)
    lowest = route(-numbers, 2).chosen
    of_these = route(numbers[lowest], 2)
    yield "lowest", _placed(of_these.routing_weights, lowest[of_these.chosen], n)
    yield "late-tie", weights_of_top(logits[::-1], 2)[::-1]
    yield "exchanged", _placed(weights[::-1], chosen, n)
    yield "equal-shares", _placed(np.full(2, 0.5), chosen, n)
    if top.sum():
        yield "no-exp", _placed(top / top.sum(), chosen, n)
    yield "logits", _placed(top, chosen, n)


def in_order(gradients: Gradients) -> tuple[Array, ...]:
    """What `ffn_backward` returns: dx, dW1, db1, dW2, db2."""
    return gradients.x, gradients.w1, gradients.b1, gradients.w2, gradients.b2


def backward_slips(trace: Trace, d_output: Array) -> Iterator[Wrong]:
    """Every way to get the backward pass of a single x [d_model] wrong that BACKWARD_MISTAKES names."""
    ffn, right = trace.ffn, trace.backward(d_output)

    def row(**changed: Array) -> Array:
        parts = {"x": right.x, "w1": right.w1, "b1": right.b1, "w2": right.w2, "b2": right.b2} | changed
        return np.concatenate([part.reshape(-1) for part in parts.values()])

    def of(**changed: object) -> Array:
        gradients = _with(ffn, **changed).forward(trace.x).backward(d_output)
        return np.concatenate([part.reshape(-1) for part in in_order(gradients)])

    for cut in (False, True):
        w1, w2 = _strided(ffn.w1, ffn.d_ff, cut), _strided(ffn.w2, ffn.d_model, cut)
        yield "stride-w2", None if w2 is None else of(w2=w2)
        yield "stride-w1", None if w1 is None else row(x=right.hidden @ w1)
    yield "transposed-w2", of(w2=_turned(ffn.w2))
    yield "transposed-w1", row(x=right.hidden @ _turned(ffn.w1))
    yield "transposed-gradients", row(w1=right.w1.T, w2=right.w2.T)
    yield "transposed-gradients", row(w1=right.w1.T)
    yield "transposed-gradients", row(w2=right.w2.T)
    yield "b1-lost-forward", of(b1=np.zeros_like(ffn.b1))
    none1, none2 = np.zeros_like(ffn.b1), np.zeros_like(ffn.b2)
    yield "bias-gradient-lost", row(b1=none1, b2=none2)
    yield "bias-gradient-lost", row(b1=none1)
    yield "bias-gradient-lost", row(b2=none2)
    linear = _with(ffn, activation="identity").forward(trace.x).backward(d_output)
    yield "no-mask", row(x=linear.x, w1=linear.w1, b1=linear.b1)
    yield "no-mask", row(x=linear.x, w1=linear.w1, b1=linear.b1, w2=linear.w2)
    yield "no-mask-b1", row(b1=right.activated)
    yield "dw2-of-hidden", row(w2=linear.w2)
    yield "corner", of(b1=ffn.b1 + 1e-9)  # what stands at 0 counts as above it, and nothing else is moved
    yield "residual-added", row(x=right.x + d_output)
    yield "negated", -row()
    yield "last-lost", row(x=right.hidden[-1] * ffn.w1[-1])


def _placed(weights: Array, chosen: NDArray[np.intp], n_experts: int) -> Array:
    """`weights` where they are `chosen`, 0 elsewhere: [n_experts]."""
    placed = np.zeros(n_experts)
    placed[chosen] = weights
    return placed
