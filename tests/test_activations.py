"""The nonlinearities against published values and 60-digit reference values, on the whole line."""

import math

import numpy as np
import pytest

from ffn_core import ACTIVATIONS, activation
from ffn_core.activations import computing_dtype

FLOATS = (np.float32, np.float64)
EVERY = pytest.mark.parametrize("name", ACTIVATIONS)
IN_BOTH = pytest.mark.parametrize("dtype", FLOATS)
# A few rounding errors; an exponential's argument of size 90 carries 90 of them.
CLOSE = {np.float32: 3e-5, np.float64: 2e-13}


# Case N1 and N2, to all their digits; N8 is the derivative.
@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("gelu", 1, 0.841344746069),
        ("gelu", -1, -0.158655253931),
        ("gelu", -3, -0.004049694095),
        ("gelu_tanh", 1, 0.841191990608),
        ("gelu_tanh", -1, -0.158808009392),
        ("gelu_tanh", -3, -0.003637392082),
        ("gelu_quick", 1, 0.845795765933),
        ("gelu_quick", -2, -0.064341376856),
        ("silu", -1, -0.268941421370),
        ("sigmoid", -1, 0.268941421370),
        ("tanh", 1, 0.761594155956),
        ("relu", -3, 0),
        ("relu", 3, 3),
        ("relu2", 3, 9),
        ("identity", -3, -3),
    ],
)
def test_each_form_of_gelu_and_its_relatives_has_its_own_value(name, x, expected):
    assert activation(name)(x) == pytest.approx(expected, abs=6e-13)


@pytest.mark.parametrize(
    ("other", "at", "distance"), [("gelu_tanh", 2.69894, 4.732355e-4), ("gelu_quick", 2.27040, 0.0203349)]
)
def test_the_approximations_of_gelu_are_farthest_from_it_where_the_cases_say(other, at, distance):
    x = np.arange(-6, 6, 1e-5)
    apart = np.abs(activation(other)(x) - activation("gelu")(x))
    assert apart.max() == pytest.approx(distance, rel=1e-5)
    assert abs(x[apart.argmax()]) == pytest.approx(at, abs=2e-4)


@IN_BOTH
@pytest.mark.parametrize("x", [21.657723, 50])
def test_tanh_form_gelu_of_a_large_number_is_that_number(x, dtype):
    # Case N3: tanh written with exponentials gives inf/inf here.
    x = dtype(x)
    assert activation("gelu_tanh")(x) == x


def test_exact_gelu_is_as_accurate_as_erf_to_the_last_digits():
    # Case N5: gelu(x) = x/2 (1 + erf(x/sqrt 2)). Abramowitz and Stegun's polynomial 7.1.26 misses by 1e-7.
    for x, erf in ((0.5, 0.5204998778130465), (1.0, 0.8427007929497149)):
        z = x * math.sqrt(2)
        assert activation("gelu")(z) == pytest.approx(z / 2 * (1 + erf), rel=1e-15)


def test_integers_are_computed_in_float64():
    # Case N6: kept as integers, the results would be truncated to 0, 0, 0, 1.
    gelu = activation("gelu")(np.array([-1, 0, 1, 2]))
    np.testing.assert_allclose(gelu, [-0.15866, 0, 0.84134, 1.95450], atol=5e-6)
    assert gelu.dtype == np.float64


@pytest.mark.parametrize(
    ("name", "low", "at"),
    [
        ("gelu", -0.1699712075, -0.7517915247),
        ("gelu_tanh", -0.1700407506, -0.7524614),
        ("silu", -0.2784645, -1.2784645),
    ],
)
def test_the_smooth_ones_dip_below_zero_and_turn_where_the_cases_say(name, low, at):
    # Case N10: left of the dip the slope is negative, so it is not zero for all x < 0, nor of one sign.
    function = activation(name)
    assert function(at) == pytest.approx(low, abs=6e-8)
    assert function.derivative(at - 1e-3) < 0 < function.derivative(at + 1e-3)
    assert function.derivative(at) == pytest.approx(0, abs=1e-7)


def test_the_slope_of_exact_gelu_exceeds_one_and_is_greatest_at_the_root_of_two():
    # Case N11.
    slope = activation("gelu").derivative
    assert slope(math.sqrt(2)) == pytest.approx(1.128904145, abs=5e-10)
    assert slope(math.sqrt(2)) > max(slope(1.41), slope(1.42))


def test_the_slope_of_tanh_form_gelu_at_one():
    # Case N8.
    assert activation("gelu_tanh").derivative(1.0) == pytest.approx(1.082964084, abs=5e-10)


# Computed with mpmath at 60 digits: name, x, f(x), f'(x).
TAILS = [
    ("gelu", -5, -1.4332578593959696e-6, -7.1469460017922946e-6),
    ("gelu", -10, -7.6198530241605261e-23, -7.6184000964648141e-22),
    ("gelu", -20, -5.5072482372124674e-88, -1.1014360483133464e-86),
    ("gelu", -37, -2.1184613523340934e-298, -7.8382986694185162e-297),
    ("gelu_tanh", -5, -2.291796196629506e-7, -1.5463619875325946e-6),
    ("gelu_tanh", -10, -1.204092348209806e-37, -2.7576380638540316e-36),
    ("gelu_tanh", -20, -3.3754509563109673e-261, -2.9424328724945029e-259),
    ("gelu_quick", -20, -3.2934102413993717e-14, -5.4407137187917529e-14),
    ("gelu_quick", -37, -1.6555451171024469e-26, -2.7729933266839741e-26),
    ("silu", -20, -4.1223072363804072e-8, -3.9161918660646783e-8),
    ("silu", -37, -3.1572276215253041e-15, -3.0718971452678632e-15),
    ("sigmoid", -37, 8.5330476257440651e-17, 8.5330476257440643e-17),
]


@pytest.mark.parametrize(
    ("dtype", "name", "x", "value", "slope"),
    [(dtype, *row) for dtype in FLOATS for row in TAILS if abs(row[2]) > np.finfo(dtype).tiny],
)
def test_the_negative_tail_keeps_its_relative_accuracy(dtype, name, x, value, slope):
    # 1 + tanh(u) and 1 + erf(u) cancel to 0 here.
    function = activation(name)
    np.testing.assert_allclose(function(dtype(x)), value, rtol=CLOSE[dtype])
    np.testing.assert_allclose(function.derivative(dtype(x)), slope, rtol=CLOSE[dtype])


# f(-inf), f(inf), f'(-inf), f'(inf)
LIMITS = {
    "relu": (0, np.inf, 0, 1),
    "gelu": (0, np.inf, 0, 1),
    "gelu_tanh": (0, np.inf, 0, 1),
    "gelu_quick": (0, np.inf, 0, 1),
    "silu": (0, np.inf, 0, 1),
    "sigmoid": (0, 1, 0, 0),
    "tanh": (-1, 1, 0, 0),
    "relu2": (0, np.inf, 0, np.inf),
    "identity": (-np.inf, np.inf, 1, 1),
}


@EVERY
@IN_BOTH
def test_infinities_go_to_the_limits(name, dtype):
    function, ends = activation(name), np.array([-np.inf, np.inf], dtype)
    with np.errstate(all="raise"):
        np.testing.assert_array_equal([*function(ends), *function.derivative(ends)], LIMITS[name])


@EVERY
@IN_BOTH
def test_far_out_every_curve_is_its_asymptote_and_every_slope_finite(name, dtype):
    function, far = activation(name), np.array([-1e20, 1e20], dtype)
    square = 1e40 if dtype is np.float64 else np.inf  # float32 ends at 3e38
    values = {"sigmoid": [0, 1], "tanh": [-1, 1], "identity": far, "relu2": [0, square]}
    slopes = {"sigmoid": [0, 0], "tanh": [0, 0], "identity": [1, 1], "relu2": [0, 2 * far[1]]}
    with np.errstate(all="raise"):
        np.testing.assert_allclose(function(far), np.array(values.get(name, [0, far[1]])), rtol=1e-6)
        np.testing.assert_array_equal(function.derivative(far), slopes.get(name, [0, 1]))


@EVERY
@IN_BOTH
def test_nan_stays_nan_and_spoils_no_neighbour(name, dtype):
    function = activation(name)
    with np.errstate(all="raise"):
        for result in (function(np.array([np.nan, -np.inf, 1], dtype)), function.derivative(dtype(np.nan))):
            assert np.isnan(result.flat[0])
        assert not np.isnan(function(np.array([np.nan, -np.inf, 1], dtype))[1:]).any()


@EVERY
@IN_BOTH
def test_no_size_of_number_raises_a_floating_point_error(name, dtype):
    info = np.finfo(dtype)
    powers = np.ldexp(dtype(1.1), np.arange(info.minexp, info.maxexp))
    sizes = np.array([0, info.smallest_subnormal, *powers, info.max], dtype)
    x = np.concatenate([-sizes, sizes])
    with np.errstate(all="raise"):
        assert not np.isnan(activation(name)(x)).any()
        assert not np.isnan(activation(name).derivative(x)).any()


@EVERY
def test_the_derivative_is_the_limit_of_the_difference_quotient(name):
    # Away from the kink at 0 (case N7), in float64 (in float32 the quotient is noise, case N8).
    function, h = activation(name), 1e-5
    x = np.concatenate([np.linspace(-8, -0.1, 80), np.linspace(0.1, 8, 80)])
    quotient = (function(x + h) - function(x - h)) / (2 * h)
    np.testing.assert_allclose(function.derivative(x), quotient, atol=2e-9)


def test_the_slope_of_relu_at_its_kink_is_zero_by_convention():
    # Case N7: the difference quotient there is 0.5.
    assert activation("relu").derivative([-0.0, 0.0]).tolist() == [0, 0]


@EVERY
def test_the_argument_is_left_as_it_was(name):
    x = np.array([-np.inf, -2.0, 0.0, 3.0, np.nan])
    before = x.copy()
    result = activation(name)(x)
    activation(name).derivative(x)
    np.testing.assert_array_equal(x, before)
    assert not np.shares_memory(result, x)


@EVERY
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 4), (2, 3, 4)])
def test_any_shape_comes_back_and_a_plain_number_gives_a_number(name, shape):
    function = activation(name)
    assert np.shape(function(np.ones(shape))) == np.shape(function.derivative(np.ones(shape))) == shape
    assert isinstance(function(0.5), float)


@EVERY
def test_an_array_larger_than_a_block_is_computed_to_its_end(name):
    function = activation(name)
    x = np.linspace(-3, 3, 100_001)
    np.testing.assert_array_equal(function(x)[::-5000], [function(v) for v in x[::-5000]])
    np.testing.assert_array_equal(function(x.reshape(-1, 1)[::-1]).ravel()[::-1], function(x))


@pytest.mark.parametrize(
    ("given", "computed"),
    [("f2", "f4"), ("f4", "f4"), ("f8", "f8"), ("g", "f8"), ("i1", "f8"), ("u8", "f8"), ("?", "f8")],
)
def test_float32_stays_float16_widens_and_everything_else_becomes_float64(given, computed):
    assert computing_dtype(given) == np.dtype(computed)
    assert activation("gelu_tanh")(np.ones(3, given)).dtype == np.dtype(computed)


@pytest.mark.parametrize("bad", [1j, "1", None, [[1], [1, 2]], object()])
def test_what_is_not_a_real_number_is_refused(bad):
    with pytest.raises(ValueError, match="x is not an array of numbers"):
        activation("relu")(bad)


@pytest.mark.parametrize(
    ("published", "name"),
    [
        ("gelu", "gelu"),
        ("gelu_new", "gelu_tanh"),
        ("gelu_fast", "gelu_tanh"),
        ("gelu_pytorch_tanh", "gelu_tanh"),
        ("quick_gelu", "gelu_quick"),
        ("swish", "silu"),
        ("relu_squared", "relu2"),
        ("linear", "identity"),
    ],
)
def test_names_of_published_configs_find_the_formula_that_they_mean(published, name):
    assert activation(published) is ACTIVATIONS[name]


@pytest.mark.parametrize("unknown", ["gleu", "", None, ["relu"]])
def test_an_unknown_name_is_answered_with_the_known_ones(unknown):
    with pytest.raises(ValueError, match="relu, gelu, gelu_tanh"):
        activation(unknown)


# The lesson's table, to the digits that it prints. Its GELU is the tanh form: exact GELU gives -0.046 at -2.
@pytest.mark.parametrize(
    ("x", "gelu", "relu"),
    [
        (-2.0, -0.045, 0.0),
        (-1.0, -0.159, 0.0),
        (-0.5, -0.154, 0.0),
        (0.0, 0.0, 0.0),
        (0.5, 0.346, 0.5),
        (1.0, 0.841, 1.0),
        (2.0, 1.955, 2.0),
    ],
)
def test_the_lessons_table_of_gelu_beside_relu(x, gelu, relu):
    assert round(float(activation("gelu_tanh")(x)), 3) == gelu
    assert activation("relu")(x) == relu


def test_the_lessons_table_is_of_the_tanh_form():
    assert round(float(activation("gelu")(-2.0)), 3) == -0.046
    assert round(float(activation("gelu")(2.0)), 3) == 1.954
