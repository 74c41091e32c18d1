"""The gated network: both branches, its gradients, its neurons as memories, and the widths that Llama gives it."""

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ffn_core import ACTIVATIONS, FFN
from ffn_core.activations import Array
from ffn_core.gated import GLU_KINDS, SHAZEER_2020, GatedFFN, llama_d_ff
from ffn_core.memories import (
    ablate,
    carriers,
    contribution_norms,
    partial_sums,
    scale,
    sparsity,
    top_neurons,
    with_strengths,
)
from tests.differences import central_difference

ARRAYS = ("w_gate", "w_up", "w_down", "b_gate", "b_up", "b_down")

rng = np.random.default_rng(5)


def make(d_model: int = 4, d_ff: int = 8, **changes: Any) -> GatedFFN:
    """A network with all biases."""
    arrays: dict[str, Any] = {
        "w_gate": rng.standard_normal((d_ff, d_model)),
        "w_up": rng.standard_normal((d_ff, d_model)),
        "w_down": rng.standard_normal((d_model, d_ff)),
        "b_gate": rng.standard_normal(d_ff),
        "b_up": rng.standard_normal(d_ff),
        "b_down": rng.standard_normal(d_model),
    }
    return GatedFFN(**arrays | changes)


def single(values: Any) -> Array:
    return np.array(values, np.float32)


def half(values: Any) -> Array:
    return np.array(values, np.float16)


def one_neuron(gate: float, up: float, activation: str) -> float:
    """What a network of one neuron puts out whose two keys match x = 1 so."""
    ffn = GatedFFN(w_gate=[[gate]], w_up=[[up]], w_down=[[1]], activation=activation)
    return float(ffn.forward([1]).output[0])


# Forward


@pytest.mark.parametrize(
    ("gate", "up", "activation", "product"),
    [
        (1, -2, "silu", -1.462117),  # case S4
        (-1, -1, "silu", 0.268941),  # case S5
        (2.7, 3, "gelu_tanh", 8.073337),  # case S6
        (2.7, 3, "gelu", 8.071918),
        (2.7, 3, "silu", 7.589916),
        (-2, 3, "relu", 0),
        (0, 3, "sigmoid", 1.5),
        (-2, 3, "identity", -6),
    ],
)
def test_the_gate_goes_through_the_nonlinearity_and_up_does_not(gate, up, activation, product):
    assert one_neuron(gate, up, activation) == pytest.approx(product, abs=5e-7)


def test_every_stage_of_two_neurons_by_hand():
    ffn = GatedFFN(
        w_gate=[[1, 1], [1, -1]],
        w_up=[[2, 0], [0, 3]],
        w_down=[[1, 2], [3, 4]],
        b_gate=[0, 1],
        b_up=[-1, 0],
        b_down=[10, 20],
        activation="relu",
    )
    trace = ffn.forward([[1, 2], [3, 1]])
    assert trace.hidden.tolist() == [[3, 0], [4, 3]]
    assert trace.gate.tolist() == [[3, 0], [4, 3]]
    assert trace.up.tolist() == [[1, 6], [5, 3]]
    assert trace.activated.tolist() == [[3, 0], [20, 9]]
    assert trace.output.tolist() == [[10 + 3, 20 + 9], [10 + 20 + 18, 20 + 60 + 36]]
    assert trace.residual.tolist() == [[14, 31], [51, 117]]
    assert trace.contributions(1).tolist() == [[20, 60], [18, 36]]


@pytest.mark.parametrize("lead", [(), (1,), (2, 3), (0,), (3, 0)])
def test_leading_axes_come_back_on_every_stage(lead):
    # Case S3 among them.
    trace = make().forward(np.ones((*lead, 4)))
    for stage in ("hidden", "gate", "up", "activated"):
        assert getattr(trace, stage).shape == (*lead, 8)
    assert trace.x.shape == trace.output.shape == trace.residual.shape == (*lead, 4)


def test_a_layer_without_biases_is_the_layer_with_zeros_for_biases():
    with_zeros = make(b_gate=np.zeros(8), b_up=np.zeros(8), b_down=np.zeros(4))
    without = dataclasses.replace(with_zeros, b_gate=None, b_up=None, b_down=None)
    x = rng.standard_normal((3, 4))
    np.testing.assert_array_equal(without.forward(x).output, with_zeros.forward(x).output)
    assert (without.b_gate, without.b_up, without.b_down) == (None, None, None)


def test_positions_do_not_see_each_other():
    ffn, x = make(), rng.standard_normal((3, 4))
    changed = x.copy()
    changed[1] += 1
    before, after = ffn.forward(x).output, ffn.forward(changed).output
    np.testing.assert_array_equal(after[[0, 2]], before[[0, 2]])
    assert (after[1] != before[1]).all()


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_large_values_in_float32_stay_finite(name):
    ffn = GatedFFN(
        w_gate=single([[1], [-1]]),
        w_up=single([[1], [1]]),
        w_down=single([[1, 1]]),
        activation=name,
    )
    x = single([[1e5], [-1e5], [3e12]]) if name == "relu2" else single([[1e5], [-1e5], [1e19]])
    trace = ffn.forward(x)
    gradients = trace.backward(np.ones((3, 1)))
    for holder, names in (
        (trace, ("hidden", "gate", "up", "activated", "output")),
        (gradients, ("x", "hidden")),
    ):
        for array in names:
            assert getattr(holder, array).dtype == np.float32
            assert np.isfinite(getattr(holder, array)).all() or name == "relu2"


def test_a_closed_gate_passes_no_gradient_however_large_the_rest():
    # up times d_activated is beyond float32, and infinity times the slope 0 would be NaN.
    ffn = GatedFFN(w_gate=single([[-1]]), w_up=single([[1e20]]), w_down=single([[1e20]]), activation="relu")
    gradients = ffn.forward(single([1])).backward([1])
    assert gradients.hidden.tolist() == [0]
    assert gradients.x.tolist() == [0]


def test_infinite_weights_run_without_a_warning():
    trace = make(w_gate=np.full((8, 4), np.inf)).forward([[1.0, 1.0, 1.0, 1.0], [0.0, 1.0, -1.0, 2.0]])
    assert np.isposinf(trace.gate[0]).all()
    assert np.isnan(trace.gate[1]).all()
    trace.backward(np.ones((2, 4)))


# What is refused and what is kept


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"w_down": np.ones((8, 4))},
            'w_down must be [d_model, d_ff] = [4, 8], got [8, 4]; weights stored (in, out) load with layout="in_out"',
        ),
        (
            {"w_up": np.ones((4, 8))},
            'w_up must be [d_ff, d_model] = [8, 4], got [4, 8]; weights stored (in, out) load with layout="in_out"',
        ),
        ({"w_up": np.ones((7, 4))}, "w_up must be [d_ff, d_model] = [8, 4], got [7, 4]"),
        # Case S2.
        ({"b_up": np.ones((8, 1))}, "b_up must be [d_ff] = [8], got [8, 1]; b_up.reshape(-1) has that shape"),
        ({"b_down": np.ones(8)}, "b_down must be [d_model] = [4], got [8]"),
        ({"w_gate": np.ones(8)}, "w_gate must be a matrix [d_ff, d_model] without an empty axis, got [8]"),
        ({"b_gate": ["a"] * 8}, "b_gate is not an array of numbers"),
        ({"activation": "gleu"}, "no activation is called 'gleu'"),
    ],
)
def test_weights_that_do_not_fit_are_refused_with_the_shape_that_would(changes, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        make(**changes)
    assert message in str(caught.value)


def test_an_x_of_another_width_and_a_position_that_is_not_there_are_refused():
    with pytest.raises(ValueError, match=r"x must be \[\.\.\., d_model\] = \[\.\.\., 4\], got \[3\]"):
        make().forward(np.ones(3))
    with pytest.raises(ValueError, match=r"position must be one index \(0 to 1\)"):
        make().forward(np.ones((2, 4))).contributions(2)
    with pytest.raises(ValueError, match=r"d_output must have output's shape \[2, 4\], got \[4\]"):
        make().forward(np.ones((2, 4))).backward(np.ones(4))


def test_both_layouts_load_the_same_network():
    ffn = make(activation="gelu")
    stored = GatedFFN.from_arrays(
        ffn.w_gate.T, ffn.w_up.T, ffn.w_down.T,
        b_gate=ffn.b_gate, b_up=ffn.b_up, b_down=ffn.b_down, layout="in_out", activation="gelu",
    )  # fmt: skip
    plain = GatedFFN.from_arrays(ffn.w_gate, ffn.w_up, ffn.w_down, layout="out_in")
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(stored, name), getattr(ffn, name))
    np.testing.assert_array_equal(plain.w_up, ffn.w_up)
    assert (stored.activation, plain.activation, plain.b_up) == ("gelu", "silu", None)
    with pytest.raises(ValueError, match=r"w_down must be \[d_ff, d_model\] = \[8, 4\], got \[4, 8\]"):
        GatedFFN.from_arrays(ffn.w_gate.T, ffn.w_up.T, ffn.w_down, layout="in_out")


def test_nothing_in_a_network_or_a_trace_can_be_written_to():
    ffn = make()
    trace = ffn.forward(np.ones((2, 4)))
    gradients = trace.backward(np.ones((2, 4)))
    for holder in (ffn, trace, gradients):
        for name, value in vars(holder).items():
            if isinstance(value, np.ndarray):
                with pytest.raises(ValueError, match="read-only"):
                    value[...] = 0
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(holder, name, value)


def test_float16_weights_are_computed_in_float32():
    # Case N4.
    weights: dict[str, Any] = {
        name: half(value) for name, value in (("w_gate", [[0]]), ("w_up", [[300]]), ("w_down", [[300]]))
    }
    trace = GatedFFN(**weights, b_gate=half([1]), activation="identity").forward(half([1]))
    assert trace.output.tolist() == [90000]
    assert trace.output.dtype == np.float32


def test_a_random_network_is_the_same_for_the_same_seed_and_matches_the_dense_ones_parameters():
    ffn = GatedFFN.random(6)
    assert (ffn.d_model, ffn.d_ff, ffn.activation, ffn.b_gate) == (6, 16, "silu", None)
    assert ffn.n_parameters == 3 * 6 * 16 == 2 * 6 * 24  # the matrices of a dense network of 4·6
    np.testing.assert_array_equal(ffn.w_up, GatedFFN.random(6, 16, seed=0).w_up)
    assert (ffn.w_gate != ffn.w_up).all()
    assert (ffn.w_gate != GatedFFN.random(6, seed=1).w_gate).all()
    assert GatedFFN.random(6, dtype=np.float32).forward(np.ones(6, np.float32)).output.dtype == np.float32
    with pytest.raises(ValueError, match="d_ff must be at least 1"):
        GatedFFN.random(6, 0)


def test_only_biases_that_there_are_count_as_parameters():
    # Case C5: 135,266,304 a layer of Llama-2-7B, in Python integers.
    assert 3 * 4096 * llama_d_ff(4096) == 135_266_304
    ffn = GatedFFN.random(4, 8)
    assert ffn.n_parameters == 96
    assert dataclasses.replace(ffn, b_up=np.zeros(8)).n_parameters == 104
    assert make().n_parameters == 96 + 8 + 8 + 4
    assert type(ffn.n_parameters) is int


# Backward


def test_one_neuron_backward_by_hand():
    """x = 2, gate 3·2 - 1 = 5, up 4·2 = 8, activated 40, output 120 + 7; every neighbour is a factor."""
    ffn = GatedFFN(w_gate=[[3]], w_up=[[4]], w_down=[[3]], b_gate=[-1], b_down=[7], activation="relu")
    gradients = ffn.forward([[2]]).backward([[10]])
    assert gradients.activated.tolist() == [[30]]
    assert gradients.hidden.tolist() == [[30 * 8]]
    assert gradients.up.tolist() == [[30 * 5]]
    assert gradients.w_gate.tolist() == [[240 * 2]]
    assert gradients.w_up.tolist() == [[150 * 2]]
    assert gradients.w_down.tolist() == [[10 * 40]]
    assert gradients.b_gate is not None
    assert gradients.b_gate.tolist() == [240]
    assert gradients.b_up is None
    assert gradients.b_down is not None
    assert gradients.b_down.tolist() == [10]
    assert gradients.x.tolist() == [[240 * 3 + 150 * 4]]


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("lead", [(), (3,), (2, 2)])
def test_every_gradient_is_a_central_difference_of_the_loss(name, lead):
    local = np.random.default_rng(4)
    ffn = GatedFFN(
        w_gate=local.standard_normal((5, 3)),
        w_up=local.standard_normal((5, 3)),
        w_down=local.standard_normal((3, 5)),
        b_gate=local.standard_normal(5),
        b_up=local.standard_normal(5),
        b_down=local.standard_normal(3),
        activation=name,
    )
    x, d_output = local.standard_normal((*lead, 3)), local.standard_normal((*lead, 3))
    trace = ffn.forward(x)
    assert np.abs(trace.hidden).min() > 1e-3, "a kink within reach of h would be a false alarm (case N7)"

    def loss(network: GatedFFN, argument: Array) -> float:
        return float((network.forward(argument).output * d_output).sum())

    gradients = trace.backward(d_output)
    np.testing.assert_allclose(
        gradients.x, central_difference(lambda a: loss(ffn, a), x), rtol=1e-6, atol=1e-7
    )
    for array in ARRAYS:

        def of_weights(values: Array, array: str = array) -> float:
            changed: dict[str, Any] = {array: values}
            return loss(dataclasses.replace(ffn, **changed), x)

        expected = central_difference(of_weights, getattr(ffn, array))
        np.testing.assert_allclose(getattr(gradients, array), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("lead", [(0,), (3, 0)])
def test_an_empty_sequence_teaches_nothing(lead):
    gradients = make().forward(np.ones((*lead, 4))).backward(np.ones((*lead, 4)))
    assert gradients.x.shape == (*lead, 4)
    for array in ARRAYS:
        assert not getattr(gradients, array).any()


# Its neurons as memories: two keys, one value

# At position 0 gate is [1, 2, 0] and up [1, -3, 9], so activated [1, -6, 0]; the values have the lengths 5, 1 and 2.
THREE = GatedFFN(
    w_gate=[[1, 0], [2, 0], [0, 0]],
    w_up=[[1, 0], [-3, 0], [9, 0]],
    w_down=[[3, 1, 0], [4, 0, 2]],
    b_down=[10, 20],
    activation="relu",
)
FIRED = THREE.forward([[1, 0], [0, 0]])


def test_a_neuron_counts_by_what_it_adds_and_may_fire_negatively():
    assert FIRED.activated[0].tolist() == [1, -6, 0]
    assert contribution_norms(FIRED).tolist() == [[5, 6, 0], [0, 0, 0]]
    assert top_neurons(FIRED, 0, 3) == (1, 0, 2)
    assert carriers(FIRED, 0, 0.5) == (1,)
    assert carriers(FIRED, 0) == (1, 0)


def test_contributions_and_the_bias_add_up_to_the_output():
    assert partial_sums(FIRED, 0).tolist() == [[10, 20], [4, 20], [7, 24], [7, 24]]
    assert FIRED.output[0].tolist() == [7, 24]
    without = dataclasses.replace(THREE, b_down=None)
    assert without.b2.tolist() == [0, 0]
    assert partial_sums(without.forward([1, 0]), ())[-1].tolist() == [-3, 4]


def test_a_neuron_is_switched_off_by_its_value_and_keeps_both_its_keys():
    after = ablate(THREE, 1).forward(FIRED.x)
    assert after.output[0].tolist() == [13, 24]
    np.testing.assert_array_equal(after.activated, FIRED.activated)
    assert scale(THREE, 1, -0.5).forward(FIRED.x).output[0].tolist() == [16, 24]
    assert with_strengths(THREE, {0: 2, 1: 0}).w_down.tolist() == [[6, 0, 0], [8, 0, 2]]
    with pytest.raises(ValueError, match="a neuron is an integer from 0 to 2"):
        ablate(THREE, 3)


def test_a_closed_gate_or_an_up_of_0_makes_a_neuron_silent():
    assert sparsity(FIRED.activated[0]) == 1 / 3
    assert sparsity(FIRED.activated) == 4 / 6


# Kinds, widths, and what is published of them


@pytest.mark.parametrize(
    ("kind", "label", "activation"),
    [
        ("swiglu", "SwiGLU", "silu"),
        ("geglu", "GeGLU", "gelu"),
        ("reglu", "ReGLU", "relu"),
        ("glu", "GLU", "sigmoid"),
        ("bilinear", "bilinear", "identity"),
    ],
)
def test_each_kind_of_glu_is_named_by_its_activation(kind, label, activation):
    entry = GLU_KINDS[kind]
    assert (entry.name, entry.label, entry.activation) == (kind, label, activation)
    assert "2002.05202" in entry.source
    assert GatedFFN.random(2, activation=entry.activation).activation == activation


@pytest.mark.parametrize(
    ("d_model", "multiplier", "multiple_of", "d_ff"),
    [
        # Case S7: Llama 2 7B and 13B, 70B, Llama 3 8B, 405B.
        (4096, None, 256, 11008),
        (5120, None, 256, 13824),
        (8192, 1.3, 4096, 28672),
        (4096, 1.3, 1024, 14336),
        (16384, 1.2, 4096, 53248),
        (96, None, 256, 256),  # 8/3·96 is 256 exactly, which stays
        (97, None, 256, 512),  # cut to 258, and 256 is not enough
        (3, None, 1, 8),
        (1, None, 1, 2),  # 2.67 is cut first, as int() does in Llama's code
        (3, 1.5, 1, 12),
    ],
)
def test_llama_takes_eight_thirds_and_rounds_up(d_model, multiplier, multiple_of, d_ff):
    assert llama_d_ff(d_model, multiplier, multiple_of) == d_ff


def test_no_float_error_decides_a_width():
    # 1.15 times 200 is 230; in floats it is 229.99999999999997.
    assert int(1.15 * 200) == 229
    others: list[Any] = [np.float32(1.15), np.float64(1.15), Fraction(23, 20)]
    for multiplier in (1.15, *others):
        assert llama_d_ff(75, multiplier, 1) == 230
    assert llama_d_ff(3 * 10**20, None, 1) == 8 * 10**20


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ((0,), "d_model must be at least 1"),
        ((2.5,), "d_model must be at least 1 and an integer"),
        ((4, None, 0), "multiple_of must be at least 1"),
        ((4, -1.0), "multiplier must be a finite number, 0 or more"),
        ((4, np.nan), "multiplier must be a finite number"),
        ((4, np.inf), "multiplier must be a finite number"),
        ((4, True), "multiplier must be a finite number"),
        ((4, 0.0), "multiplier must leave a neuron of 10"),
    ],
)
def test_a_width_that_there_is_not_is_refused(arguments, rule):
    with pytest.raises(ValueError, match=rule):
        llama_d_ff(*arguments)


def test_the_published_table_has_every_gated_network_ahead_of_every_dense_one():
    table = dict(SHAZEER_2020)
    assert table == {
        "ReLU": 1.677, "GELU": 1.679, "Swish": 1.683, "GLU": 1.663, "Bilinear": 1.648, "ReGLU": 1.645,
        "SwiGLU": 1.636, "GEGLU": 1.633,
    }  # fmt: skip
    dense = {"ReLU", "GELU", "Swish"}
    assert max(table[name] for name in table.keys() - dense) < min(table[name] for name in dense)


def test_as_many_parameters_as_the_dense_network_of_four_times_the_width():
    dense = FFN.random(96)
    assert GatedFFN.random(96).n_parameters == dense.n_parameters - dense.d_ff - dense.d_model
