"""What each known mistake in a dense forward pass gives, computed by the network itself with that mistake in it.

A slip is a changed network or input whose trace is the mistake's. So there is no second formula here: only weights
read in another way, other biases, another nonlinearity.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ffn_core.activations import ACTIVATIONS, Array
from ffn_core.dense import FFN, Trace

FORMS_OF_GELU = ("gelu", "gelu_tanh", "gelu_quick")

# {name: (code, sentence)}; of two that fit equally well the first is said.
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
        "The output went through the nonlinearity as well. It belongs between the two matrices only: clamp the output "
        "too, and x + FFN(x) can never push a coordinate down.",
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
    "residual-added": (
        "wrong-values",
        "x was added to the output. The block does that afterwards; the function returns FFN(x) alone.",
    ),
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
        yield read("transposed-both", turn(ffn.w1), turn(ffn.w2))
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
    yield Slip("residual-added", None, trace.residual)
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
