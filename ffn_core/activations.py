"""The table of nonlinearities: each one's value, its derivative, its LaTeX and where it was published.

Each works element by element on scalars and arrays of any shape, leaves its argument as it was and computes
in the dtype that `computing_dtype` gives. It holds over the whole line: infinities go to their limits, NaN
stays NaN, what is too small for the dtype becomes 0, and no warning is raised.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import special

Array = NDArray[np.floating[Any]]

# Elements worked on at a time, so that the temporaries of a formula stay in the processor's cache.
_BLOCK = 32_768


def computing_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """The dtype that numbers of `dtype` are computed in: the dtype rule of the whole program.

    float32 stays; float16 and bfloat16 go to float32, because the one ends at 65504 and the other keeps two
    digits; every other float, integers and booleans go to float64. Anything else is a ValueError.
    """
    dtype = np.dtype(dtype)
    if (
        dtype.char in "df" and dtype.isnative
    ):  # most are, and a dtype's name costs as much as adding a short array
        return dtype
    if dtype.name in ("float32", "float16", "bfloat16"):
        return np.dtype(np.float32)
    if dtype.kind in "fiub":
        return np.dtype(np.float64)
    raise ValueError(f"numbers must be real: floats, integers or booleans, got dtype {dtype.name}")


def as_numbers(name: str, value: ArrayLike) -> Array:
    """`value` as an array of its `computing_dtype`, not copied where it is one already.

    A ValueError names the argument when `value` is ragged, or holds text, complex numbers or objects.
    """
    try:
        array = np.asarray(value)
        return array.astype(computing_dtype(array.dtype), copy=False)
    except ValueError as error:
        raise ValueError(f"{name} is not an array of numbers: {error}") from error


def short(value: float) -> str:
    """`value` in at most four significant digits, as Python writes floats: 1.0, -0.3, 0.2865, 1e-05."""
    return repr(float(f"{value:.4g}") + 0.0)  # + 0.0 makes -0.0 a plain 0.0


def factor(value: float) -> str:
    """`value` to stand in a product or a sum: 0.8, (-0.3), in brackets where negative.

    A number that somebody wrote, of up to nine digits, stands as it is; one that was computed as `short` has it.
    """
    text = repr(value + 0.0) if float(f"{value:.9g}") == value else short(value)
    return f"({text})" if value < 0 else text


@dataclass(frozen=True, eq=False, kw_only=True)
class Activation:
    """One nonlinearity; call it on numbers of any shape.

    `latex` is the formula in x, `source` the publication, `aliases` the names in published model configs.
    `steps` writes the formula with a number plugged in, as the lessons do: `0.5*0.43*(1 + tanh(0.3459))`.
    `value` and `slope` are the formulas behind the call and `derivative`; `value(x, out)` writes to `out`, because
    temporaries would cost a sixth of the time. `corners` are the places where the derivative jumps.
    """

    name: str
    label: str
    latex: str
    source: str
    value: Callable[[Array, Array], object]
    slope: Callable[[Array], Array]
    steps: Callable[[float], str]
    aliases: tuple[str, ...] = ()
    corners: tuple[float, ...] = ()

    def __call__(self, x: ArrayLike) -> Array:
        """f(x), of x's shape."""
        return _by_blocks(self.value, as_numbers("x", x))

    def derivative(self, x: ArrayLike) -> Array:
        """f'(x), of x's shape; at a kink, the derivative from the left."""
        return _by_blocks(lambda x, out: np.copyto(out, self.slope(x)), as_numbers("x", x))


def _by_blocks(function: Callable[[Array, Array], object], x: Array) -> Array:
    flat = x.reshape(-1)
    result = np.empty_like(flat)
    # Overflow to inf and underflow to 0 are steps on the way to the right limit.
    with np.errstate(over="ignore", under="ignore"):
        for start in range(0, flat.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            function(flat[block], result[block])
    shaped: Array = result.reshape(x.shape)
    return shaped[()]  # a number for a number


def _relu(x: Array, out: Array) -> None:
    np.maximum(x, 0, out=out)


def _relu_slope(x: Array) -> Array:
    return _nan_where(x, (x > 0).astype(x.dtype))  # np.heaviside takes four times as long


def _nan_where(x: Array, slope: Array) -> Array:
    """`slope`, written to, NaN where x is: np.where on every block would cost as much as the rest of a slope."""
    if np.isnan(x.min()):
        slope[np.isnan(x)] = np.nan
    return slope


def _relu2(x: Array, out: Array) -> None:
    _relu(x, out)
    out *= out


def _over_one_plus_exp(numerator: Array | float, out: Array) -> None:
    """Write numerator / (1 + exp(out)) to `out`: numerator·sigmoid(z) where `out` comes holding -z."""
    np.exp(out, out=out)
    out += 1
    np.divide(numerator, out, out=out)


def _sigmoid(x: Array, out: Array) -> None:
    np.negative(x, out=out)
    _over_one_plus_exp(1.0, out)


def _sigmoid_slope(z: Array) -> Array:
    tail = np.exp(-np.abs(z))
    slope: Array = tail / (1 + tail) ** 2
    return slope


# SiLU, quick GELU and the tanh-form GELU are x·sigmoid(z(x)); the last because 0.5(1 + tanh u) = sigmoid(2u).
# Written so, the negative tail keeps its relative accuracy, where 1 + tanh u cancels to 0.


def _x_sigmoid(x: Array, out: Array) -> None:
    """Write x·sigmoid(z) to `out`, which comes holding -z."""
    if not x.min() > -np.inf:  # -inf/inf would be NaN; clipping every block would cost as much as half an exp
        x = np.maximum(x, np.finfo(x.dtype).min)
    _over_one_plus_exp(x, out)


def _x_sigmoid_slope(x: Array, z: Array, z_slope: Array | float) -> Array:
    sigma, rest = np.empty_like(z), np.empty_like(z)
    _sigmoid(z, sigma)
    _sigmoid(-z, rest)
    slope: Array = sigma * (1 + x * z_slope * rest)
    return slope


def _within(x: Array, bound: float = 800.0) -> Array:
    """`x` clipped to where a slope can still differ from its limit; exp(-800) is 0 in float64."""
    return np.clip(x, -bound, bound)


def _silu(x: Array, out: Array) -> None:
    np.negative(x, out=out)
    _x_sigmoid(x, out)


def _silu_slope(x: Array) -> Array:
    x = _within(x)
    return _x_sigmoid_slope(x, x, 1.0)


def _gelu_quick(x: Array, out: Array) -> None:
    np.multiply(x, -1.702, out=out)
    _x_sigmoid(x, out)


def _gelu_quick_slope(x: Array) -> Array:
    x = _within(x)
    return _x_sigmoid_slope(x, 1.702 * x, 1.702)


# tanh-form GELU: x·sigmoid(2u), u = sqrt(2/pi)·(x + 0.044715 x³)
_LINEAR = 2 * math.sqrt(2 / math.pi)
_CUBIC = 0.044715 * _LINEAR


def _gelu_tanh(x: Array, out: Array) -> None:
    np.multiply(x, x, out=out)
    out *= -_CUBIC
    out -= _LINEAR
    out *= x
    _x_sigmoid(x, out)


def _gelu_tanh_slope(x: Array) -> Array:
    x = _within(x)
    return _x_sigmoid_slope(x, x * (_CUBIC * (x * x) + _LINEAR), 3 * _CUBIC * (x * x) + _LINEAR)


def _gelu(x: Array, out: Array) -> None:
    # ndtr is the normal distribution's Phi, accurate in its tail; Phi(-40) is 0 in float64.
    special.ndtr(x, out=out)
    out *= np.maximum(x, -40)


def _gelu_slope(x: Array) -> Array:
    x = _within(x, 40)
    phi: Array = special.ndtr(x)
    return phi + x * np.exp(-0.5 * (x * x)) / math.sqrt(2 * math.pi)


def _gelu_tanh_steps(x: float) -> str:
    u = x * (_LINEAR + _CUBIC * x * x) / 2
    return f"0.5*{factor(x)}*(1 + tanh({short(u)}))"


def _times_steps(x: float, function: str, argument: str, value: float) -> str:
    return f"{factor(x)}*{function}({argument}) = {factor(x)}*{short(value)}"


_GELU_PAPER = "Hendrycks and Gimpel 2016, Gaussian Error Linear Units, arXiv:1606.08415"

_ALL = (
    Activation(
        name="relu",
        label="ReLU",
        latex=r"\max(0, x)",
        source="Nair and Hinton 2010, Rectified Linear Units Improve Restricted Boltzmann Machines, ICML",
        value=_relu,
        slope=_relu_slope,
        steps=lambda x: f"max(0, {short(x)})",
        corners=(0.0,),
    ),
    Activation(
        name="gelu",
        label="GELU",
        latex=r"x \, \Phi(x)",
        source=_GELU_PAPER,
        value=_gelu,
        slope=_gelu_slope,
        steps=lambda x: _times_steps(x, "Phi", short(x), float(special.ndtr(x))),
        aliases=("gelu_python",),
    ),
    Activation(
        name="gelu_tanh",
        label="GELU tanh",
        latex=r"\tfrac{1}{2} x \left(1 + \tanh\left(\sqrt{2/\pi}\,(x + 0.044715\, x^3)\right)\right)",
        source=f"{_GELU_PAPER}, section 2; the form of GPT-2's code",
        value=_gelu_tanh,
        slope=_gelu_tanh_slope,
        steps=_gelu_tanh_steps,
        aliases=("gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_accurate", "gelu_python_tanh"),
    ),
    Activation(
        name="gelu_quick",
        label="GELU quick",
        latex=r"x \, \sigma(1.702\, x)",
        source=f"{_GELU_PAPER}, section 2; the form of CLIP's code",
        value=_gelu_quick,
        slope=_gelu_quick_slope,
        steps=lambda x: _times_steps(x, "sigmoid", f"1.702*{factor(x)}", float(special.expit(1.702 * x))),
        aliases=("quick_gelu",),
    ),
    Activation(
        name="silu",
        label="SiLU",
        latex=r"x \, \sigma(x)",
        source="Elfwing, Uchibe and Doya 2017, arXiv:1702.03118; as Swish in arXiv:1710.05941",
        value=_silu,
        slope=_silu_slope,
        steps=lambda x: _times_steps(x, "sigmoid", short(x), float(special.expit(x))),
        aliases=("swish",),
    ),
    Activation(
        name="sigmoid",
        label="sigmoid",
        latex=r"\sigma(x) = \frac{1}{1 + e^{-x}}",
        source="Rumelhart, Hinton and Williams 1986, Nature 323, 533-536",
        value=_sigmoid,
        slope=_sigmoid_slope,
        steps=lambda x: f"1/(1 + exp({short(-x)}))",
    ),
    Activation(
        name="tanh",
        label="tanh",
        latex=r"\tanh(x)",
        source="LeCun, Bottou, Orr and Müller 1998, Efficient BackProp",
        value=lambda x, out: np.tanh(x, out=out),
        slope=lambda x: 4 * _sigmoid_slope(2 * x),
        steps=lambda x: f"tanh({short(x)})",
    ),
    Activation(
        name="relu2",
        label="ReLU²",
        latex=r"\max(0, x)^2",
        source="So et al. 2021, Primer, arXiv:2109.08668",
        value=_relu2,
        slope=lambda x: 2 * np.maximum(x, 0),
        steps=lambda x: f"max(0, {short(x)})^2",
        aliases=("relu_squared", "squared_relu"),
    ),
    Activation(
        name="identity",
        label="identity",
        latex="x",
        source="no nonlinearity: W2 (W1 x + b1) + b2 is one linear map",
        value=lambda x, out: np.copyto(out, x),
        slope=lambda x: _nan_where(x, np.ones_like(x)),
        steps=short,
        aliases=("linear",),
    ),
)

ACTIVATIONS: dict[str, Activation] = {entry.name: entry for entry in _ALL}

_BY_ANY_NAME = ACTIVATIONS | {alias: entry for entry in _ALL for alias in entry.aliases}


def activation(name: str) -> Activation:
    """The activation that the table or published configs call `name`: `gelu_new`, `swish`..."""
    try:
        return _BY_ANY_NAME[name]
    except (KeyError, TypeError):
        raise ValueError(f"no activation is called {name!r}; there are {', '.join(_BY_ANY_NAME)}") from None
