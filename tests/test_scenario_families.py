"""Gated networks and mixtures of experts are scenarios like any other: edited, undone, compared, sent in a link."""

from typing import Any
from urllib.parse import parse_qs, urlencode

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffn_core import FFN, VARIANTS
from ffn_core.activations import ACTIVATIONS
from ffn_core.families import KINDS
from ffn_core.gated import GatedFFN
from ffn_core.moe import MoE
from ffn_core.positionwise import starting_point
from ffn_core.scenario import ARRAYS, AXES, Edit, EditError, RandomBase, Scenario

repeatable = settings(derandomize=True, deadline=None, max_examples=100)

GATED = Scenario(base="cat_gated")
EXPERTS = Scenario(base="experts")
ONE = Scenario(base="one_expert")
GATED_EXPERTS = Scenario(base=RandomBase(3, 4, 2, 5, kind="experts_gated", n_experts=3))
OF_EACH = pytest.mark.parametrize(
    "start", [Scenario(), GATED, EXPERTS, GATED_EXPERTS], ids=["dense", "gated", "experts", "experts_gated"]
)


def opened(query: object) -> Scenario:
    scenario, losses = Scenario.from_query(query)  # type: ignore[arg-type]
    assert losses == []
    return scenario


def layers_arrays(scenario: Scenario) -> dict[str, np.ndarray]:
    """What the built layer computes with, read from the layer itself."""
    layer, x = scenario.build()
    if scenario.family != "experts":
        return {"x": x} | {name: getattr(layer, name) for name in scenario.arrays if name != "x"}
    names = [name for name in scenario.arrays if name not in ("x", "router")]
    stacks = {name: np.array([getattr(expert, name) for expert in layer.experts]) for name in names}
    return {"x": x, "router": layer.router, **stacks}


def assert_equal(one: Scenario, other: Scenario) -> None:
    assert (one.base, one.activation, one.words, one.options) == (
        other.base,
        other.activation,
        other.words,
        other.options,
    )
    for (name, array), (_, expected) in zip(
        layers_arrays(one).items(), layers_arrays(other).items(), strict=True
    ):
        assert array.shape == expected.shape, name
        assert array.tobytes() == expected.tobytes(), name


# What each family is made of


def test_a_scenario_builds_the_layer_of_its_family():
    assert [
        (scenario.family, type(scenario.build()[0])) for scenario in (Scenario(), GATED, EXPERTS, ONE)
    ] == [("dense", FFN), ("gated", GatedFFN), ("experts", MoE), ("experts", MoE)]
    assert GATED_EXPERTS.family == "experts"
    assert {type(expert) for expert in GATED_EXPERTS.build()[0].experts} == {GatedFFN}


def test_the_arrays_are_named_and_shaped_as_the_design_says():
    assert (ARRAYS, tuple(AXES)) == (("x", "w1", "b1", "w2", "b2"), ARRAYS)
    assert {name: array.shape for name, array in GATED.arrays.items()} == {
        "x": (3, 8),
        "w_gate": (11, 8),
        "w_up": (11, 8),
        "w_down": (8, 11),
    }
    assert {name: array.shape for name, array in EXPERTS.arrays.items()} == {
        "x": (6, 8),
        "router": (4, 8),
        "w1": (4, 4, 8),
        "b1": (4, 4),
        "w2": (4, 8, 4),
        "b2": (4, 8),
    }
    assert list(GATED_EXPERTS.arrays) == ["x", "router", "w_gate", "w_up", "w_down"]
    assert GATED_EXPERTS.arrays["w_down"].shape == (3, 3, 4)


@OF_EACH
def test_the_arrays_are_those_that_the_layer_computes_with_and_read_only(start):
    for name, array in layers_arrays(start).items():
        np.testing.assert_array_equal(start.arrays[name], array)
        with pytest.raises(ValueError, match="read-only"):
            start.arrays[name][...] = 0


def test_options_belong_to_a_mixture_alone():
    assert Scenario().options == GATED.options == {}
    assert EXPERTS.options == {"top_k": 2, "renormalize": 1, "capacity": 0.0}
    assert ONE.options == {"top_k": 1, "renormalize": 1, "capacity": 0.0}
    EXPERTS.options.clear()
    assert EXPERTS.options


def test_an_activation_is_that_of_every_expert():
    assert EXPERTS.activation == "relu"
    layer, _ = EXPERTS.with_activation("tanh").build()
    assert {expert.activation for expert in layer.experts} == {"tanh"}
    assert GATED.with_activation("gelu").build()[0].activation == "gelu"


# Edits


def test_an_experts_entry_has_three_indexes():
    edited = EXPERTS.edit(("w1", (2, 0, 7), 5.0), ("b2", (3, 1), -1.0), ("router", (0, 4), 2.0))
    layer, _ = edited.build()
    assert layer.experts[2].w1[0, 7] == 5
    assert layer.experts[3].b2[1] == -1
    assert layer.router[0, 4] == 2
    changes: dict[str, Any] = edited.changes()
    assert {name: np.argwhere(mask).tolist() for name, mask in changes.items() if mask.any()} == {
        "w1": [[2, 0, 7]],
        "b2": [[3, 1]],
        "router": [[0, 4]],
    }


def test_a_block_lies_within_one_expert_and_in_stacked_biases_across_experts():
    edited = EXPERTS.edit(("w1", (1, 2, 6), ((1, 2), (3, 4))), ("b1", (2, 3), ((7,), (8,))))
    layer, _ = edited.build()
    np.testing.assert_array_equal(layer.experts[1].w1[2:, 6:], [[1, 2], [3, 4]])
    np.testing.assert_array_equal(layer.experts[2].w1, EXPERTS.build()[0].experts[2].w1)
    assert [expert.b1[3] for expert in layer.experts] == [0, 0, 7, 8]


@pytest.mark.parametrize(
    ("start", "edit", "reason"),
    [
        (EXPERTS, ("w1", (0, 0), 1.0), r"w1 is \[n_experts, d_ff, d_model\] = \[4, 4, 8\].*has 3 numbers"),
        (EXPERTS, ("w1", (4, 0, 0), 1.0), "count from 0 and stay below"),
        (EXPERTS, ("w1", (3, 3, 7), ((1.0, 2.0),)), r"has room for \[1, 1\], got \[1, 2\]"),
        (EXPERTS, ("b1", (0, 0), (1.0, 2.0)), "tuple of rows"),
        (EXPERTS, ("w_gate", (0, 0, 0), 1.0), "begins with one of x, router, w1, b1, w2, b2, .*top_k"),
        (EXPERTS, ("identity", ("w1",), 1.0), "the identity is square"),
        (EXPERTS, ("strength", (0,), 0.0), "a mixture of experts has no strengths"),
        (EXPERTS, ("n_experts", (), 17), "n_experts must be from 1 to 16, got 17"),
        (EXPERTS, ("n_experts", (), 0), "from 1 to 16"),
        (EXPERTS, ("n_experts", (0,), 2), "n_experts takes no index"),
        (EXPERTS, ("top_k", (), 5), "top_k must be from 1 to 4, got 5"),
        (EXPERTS, ("top_k", (), 1.0), "top_k must be an integer"),
        (EXPERTS, ("renormalize", (), 2), "from 0 to 1"),
        (EXPERTS, ("renormalize", (), True), "must be an integer"),
        (EXPERTS, ("capacity", (), -1.0), "capacity must be from 0, no limit, to 100"),
        (EXPERTS, ("capacity", (), 101), "to 100, got 101"),
        (EXPERTS, ("capacity", (), float("nan")), "must be finite"),
        (GATED, ("w1", (0, 0), 1.0), "begins with one of x, w_gate, w_up, w_down, randomize, .*got 'w1'"),
        (GATED, ("top_k", (), 1), "top_k is for a mixture of experts, and this network is gated"),
        (GATED, ("n_experts", (), 2), "is for a mixture of experts"),
        (GATED, ("strength", (11,), 0.0), "from 0 to 10"),
        (GATED, ("randomize", ("w2",), 1), r"as in \('randomize', \('w_gate',\), 1\)"),
        (Scenario(), ("capacity", (), 1.0), "is for a mixture of experts, and this network is dense"),
    ],
)
def test_an_edit_that_does_not_fit_the_family_says_the_rule(start, edit, reason):
    with pytest.raises(EditError, match=reason) as caught:
        start.edit(edit)
    assert len(str(caught.value)) < 250


def test_options_change_what_the_mixture_does():
    layer, x = EXPERTS.edit(("top_k", (), 1), ("renormalize", (), 0), ("capacity", (), 0.5)).build()
    assert (layer.top_k, layer.renormalize, layer.capacity) == (1, False, 0.5)
    # 6 tokens, one expert each, 4 experts: 6 / 4 · 0.5 is 0.75, and so one token an expert.
    trace = layer.forward(x)
    assert trace.chosen.ravel().tolist() == [0, 1, 2, 3, 0, 1]
    assert trace.dropped.sum() == 2
    assert EXPERTS.edit(("capacity", (), 0.5), ("capacity", (), 0)).build()[0].capacity is None


def test_fewer_experts_lower_top_k_and_undo_brings_it_back():
    fewer = EXPERTS.edit(("n_experts", (), 1))
    assert fewer.options["top_k"] == 1
    assert fewer.build()[0].top_k == 1
    assert fewer.edit(("n_experts", (), 3)).options["top_k"] == 1
    assert fewer.undo().options["top_k"] == 2


def test_a_new_expert_is_random_and_always_the_same():
    more = EXPERTS.edit(("n_experts", (), 6))
    for name, array in EXPERTS.arrays.items():
        if name != "x":
            np.testing.assert_array_equal(more.arrays[name][:4], array)
            drawn = more.arrays[name][4:]
            assert (drawn != 0).all()
            assert (drawn[0] != drawn[1]).all()
    one_by_one = EXPERTS.edit(("n_experts", (), 5), ("n_experts", (), 2), ("n_experts", (), 6))
    for name in ("router", "w1", "b1", "w2", "b2"):
        np.testing.assert_array_equal(one_by_one.arrays[name][4:], more.arrays[name][4:])
        other = ONE.edit(("d_model", (), 8), ("d_ff", (), 4), ("n_experts", (), 6)).arrays[name][4:]
        assert (other != more.arrays[name][4:]).all(), "another base draws others"


def test_a_new_expert_has_weights_of_the_usual_size():
    base = RandomBase(64, 64, 2, 0, kind="experts", n_experts=1)
    grown = Scenario(base=base).edit(("n_experts", (), 2)).arrays
    assert abs(grown["w1"][1].std() - 1 / 8) < 0.01  # 1/sqrt(fan_in); 4,096 draws vary by 0.0014
    assert abs(grown["w2"][1].std() - 1 / 8) < 0.01


def test_resizing_reaches_every_expert():
    arrays = EXPERTS.edit(("d_model", (), 9), ("d_ff", (), 3)).arrays
    assert {name: array.shape for name, array in arrays.items()} == {
        "x": (6, 9),
        "router": (4, 9),
        "w1": (4, 3, 9),
        "b1": (4, 3),
        "w2": (4, 9, 3),
        "b2": (4, 9),
    }
    np.testing.assert_array_equal(arrays["w1"][:, :, :8], EXPERTS.arrays["w1"][:, :3])
    assert not arrays["w1"][:, :, 8].any()
    assert {name: array.shape for name, array in GATED.edit(("d_ff", (), 12)).arrays.items()} == {
        "x": (3, 8),
        "w_gate": (12, 8),
        "w_up": (12, 8),
        "w_down": (8, 12),
    }


def test_randomize_draws_as_the_layers_own_random_weights():
    gated = GATED.edit(("randomize", ("w_up",), 5)).arrays
    np.testing.assert_array_equal(gated["w_up"], GatedFFN.random(8, 11, seed=5).w_up)
    np.testing.assert_array_equal(gated["w_gate"], GATED.arrays["w_gate"])
    experts = EXPERTS.edit(("randomize", ("router",), 5), ("randomize", ("w2",), 5)).arrays
    drawn = MoE.random(8, 4, 4, 2, seed=5)
    np.testing.assert_array_equal(experts["router"], drawn.router)
    np.testing.assert_array_equal(experts["w2"][3], drawn.experts[3].w2)


def test_the_identity_is_for_a_square_router():
    square = EXPERTS.edit(("n_experts", (), 8), ("identity", ("router",), 1.0))
    np.testing.assert_array_equal(square.arrays["router"], np.eye(8))


def test_a_strength_multiplies_a_gated_neurons_value():
    scenario = GATED.edit(("strength", (2,), -0.5))
    w_down = GATED.arrays["w_down"]
    built = scenario.build()[0].w_down
    np.testing.assert_array_equal(built[:, 2], -0.5 * w_down[:, 2])
    np.testing.assert_array_equal(np.delete(built, 2, axis=1), np.delete(w_down, 2, axis=1))
    np.testing.assert_array_equal(scenario.arrays["w_down"], w_down, "edits write beneath the strength")
    changes: dict[str, Any] = scenario.changes()
    assert changes["w_down"].any(axis=0).tolist() == [j == 2 for j in range(11)]
    assert_equal(scenario.without_strengths(), GATED)
    assert scenario.edit(("strength", (2,), 1.0)).strengths == {}


# Going back, and comparing


@OF_EACH
def test_undo_and_start_bring_everything_back(start):
    last = start.kind.arrays[-1]
    gesture = ("together", (), (("d_ff", (), 2), (last, (), 3.0), ("word", (0,), "new")))
    made = start.edit(gesture)
    if start.family == "experts":
        made = made.edit(("together", (), (("n_experts", (), 2), ("top_k", (), 1), ("capacity", (), 2.0))))
        assert made.options == {"top_k": 1, "renormalize": 1, "capacity": 2.0}
        assert_equal(made.undo(), start.edit(gesture))
    assert_equal(start.edit(gesture).undo(), start)
    assert_equal(made.start(), start)
    assert made.changes()[start.kind.arrays[1]] is None
    assert not any(mask is None or mask.any() for mask in start.changes().values())


def test_positions_before_x_was_edited_keep_the_options_of_a_mixture():
    before = starting_point(EXPERTS.edit(("w1", (0, 0, 0), 9.0), ("x", (), 0.0), ("top_k", (), 1)))
    np.testing.assert_array_equal(before.arrays["w1"], EXPERTS.arrays["w1"])
    np.testing.assert_array_equal(before.arrays["x"], EXPERTS.arrays["x"])
    assert before.options["top_k"] == 1


# Few edits for many


def test_a_scenario_can_be_made_to_hold_a_given_mixture():
    layer = MoE.random(5, 3, 6, 3, seed=2, activation="tanh", renormalize=False, capacity=1.25)
    x = np.arange(10.0).reshape(2, 5)
    held = EXPERTS.edit(("b1", (0, 0), 4.0)).holding(layer, x, ("a", "b"))
    assert held.build()[0].experts[5].w2.tolist() == layer.experts[5].w2.tolist()
    np.testing.assert_array_equal(held.build()[0].forward(x).output, layer.forward(x).output)
    assert held.options == {"top_k": 3, "renormalize": 0, "capacity": 1.25}
    assert (held.activation, held.words) == ("tanh", ("a", "b"))
    assert held.undo().arrays["b1"][0, 0] == 4.0


def test_a_gated_network_is_held_with_its_strengths_taken_back():
    layer = GatedFFN.random(4, 5, seed=1)
    held = GATED.edit(("strength", (0,), 0.0)).holding(layer)
    np.testing.assert_array_equal(held.build()[0].w_down, layer.w_down)
    np.testing.assert_array_equal(held.build()[1], GATED.build()[1][:, :4])
    assert held.strengths == {}


def dense(d_ff: int = 3, activation: str = "relu") -> FFN:
    return FFN.random(4, d_ff, activation=activation)


@pytest.mark.parametrize(
    ("start", "layer", "reason"),
    [
        (GATED, dense(), r"this scenario is gated, and the network dense; start from RandomBase\(4, 3, "),
        (
            Scenario(),
            MoE.random(4, 3, 2, 1),
            "this scenario is dense, .* network experts.*kind='experts', n_experts=2",
        ),
        (EXPERTS, MoE.random(4, 3, 2, 1, gated=True), "network experts_gated"),
        (EXPERTS, MoE.random(4, 70, 2, 1), "d_ff can be edited up to 64 here, and the arrays have 70"),
        (EXPERTS, MoE.random(4, 3, 17, 1), "n_experts can be edited up to 16 here"),
        (EXPERTS, MoE.random(4, 3, 2, 1, shared=True), "no shared expert"),
        (EXPERTS, MoE.random(4, 3, 2, 1, capacity=2), "a factor, as 1.25, got 2 tokens"),
        (EXPERTS, MoE(router=np.zeros((2, 4)), experts=[dense(), dense(5)], top_k=1), "of one d_ff"),
        (
            EXPERTS,
            MoE(router=np.zeros((2, 4)), experts=[dense(), dense(activation="tanh")], top_k=1),
            "and one activation, got FFN 3 relu, FFN 3 tanh",
        ),
        (
            GATED,
            GatedFFN(w_gate=[[1.0]], w_up=[[1.0]], w_down=[[1.0]], b_up=[0.0]),
            "a gated FFN in a scenario has no biases, got b_up",
        ),
    ],
)
def test_what_a_scenario_cannot_hold_is_refused_with_the_reason(start, layer, reason):
    with pytest.raises(EditError, match=reason):
        start.holding(layer)


def test_compacting_leaves_only_what_differs():
    there_and_back = EXPERTS.edit(
        ("n_experts", (), 5), ("n_experts", (), 4), ("top_k", (), 1), ("top_k", (), 2)
    )
    assert there_and_back.compact().edits == ()
    sparse = EXPERTS.edit(
        ("top_k", (), 1), ("w1", (0, 0, 0), 9.0), ("w1", (3, 3, 7), 8.0), ("w1", (0, 0, 0), 7.0)
    )
    expected = (Edit("top_k", (), 1), Edit("w1", (0, 0, 0), 7.0), Edit("w1", (3, 3, 7), 8.0))
    assert sparse.compact().edits == (Edit("together", (), expected),)
    filled = EXPERTS.edit(*[("b2", (e, i), 0.5) for e in range(4) for i in range(8)])
    assert filled.compact().edits[0].value == (Edit("b2", (), 0.5),)
    expert = EXPERTS.edit(*[("w1", (2, j, i), j + i / 8) for j in range(4) for i in range(8)])
    [block] = expert.compact().edits[0].value
    assert (block.array, block.index) == ("w1", (2, 0, 0)), "one block in one expert"


# Bases


@pytest.mark.parametrize(
    ("base", "text"),
    [
        (RandomBase(8, 32, 3, 0), "8-32-3-0"),
        (RandomBase(8, 22, 3, 0, kind="gated"), "gated-8-22-3-0"),
        (RandomBase(8, 32, 3, 0, kind="experts", n_experts=4), "experts-8-32-3-0-4"),
        (RandomBase(8, 32, 3, 0, kind="experts"), "experts-8-32-3-0-8"),
        (RandomBase(8, 32, 3, 7, kind="experts_gated"), "experts_gated-8-32-3-7-8"),
    ],
)
def test_a_random_base_of_each_kind_travels_in_a_link(base, text):
    scenario = Scenario(base=base)
    assert scenario.to_query() == {"r": text}
    assert opened(parse_qs(urlencode({"r": text}))).base == base
    layer, x = scenario.build()
    assert (layer.d_model, x.shape) == (8, (3, 8))
    if base.n_experts:
        assert layer.n_experts == base.n_experts
        assert layer.top_k == 2


def test_a_random_base_is_the_layers_own_draw():
    gated, _ = Scenario(base=RandomBase(8, 22, 3, 4, kind="gated")).build()
    np.testing.assert_array_equal(gated.w_down, GatedFFN.random(8, 22, seed=4).w_down)
    mixture, _ = Scenario(base=RandomBase(8, 5, 3, 4, kind="experts", n_experts=1)).build()
    np.testing.assert_array_equal(mixture.router, MoE.random(8, 5, 1, 1, seed=4).router)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"kind": "nonsense"}, "kind must be one of dense, gated, experts, experts_gated, got 'nonsense'"),
        ({"kind": "experts", "n_experts": 17}, "n_experts must be from 1 to 16, got 17"),
        ({"kind": "experts", "d_ff": 257}, "d_ff must be from 1 to 256, got 257"),
        ({"kind": "experts", "n_experts": -1}, "n_experts must be from 1 to 16"),
        ({"kind": "gated", "n_experts": 2}, "n_experts must be from 0 to 0"),
        ({"kind": "gated", "d_ff": 1025}, "d_ff must be from 1 to 1024"),
    ],
)
def test_a_random_base_of_each_kind_has_limits(changes, reason):
    with pytest.raises(ValueError, match=reason):
        RandomBase(**{"d_model": 8, "d_ff": 32, "n_positions": 3, "seed": 0} | changes)


# Links


@pytest.mark.parametrize(
    ("scenario", "query"),
    [
        (GATED, {"ex": "cat_gated"}),
        (EXPERTS.with_activation("gelu"), {"ex": "experts", "act": "gelu"}),
        (GATED.edit(("w_gate", (0, 2), 0.5)), {"ex": "cat_gated", "v": "1", "e": "pg0.2_.5z"}),
        (GATED.edit(("w_up", (), 1.0)), {"ex": "cat_gated", "v": "1", "e": "ph_1z"}),
        (
            GATED.edit(("w_down", (1, 2), ((1.0, 2.0), (3.0, 4.0)))),
            {"ex": "cat_gated", "v": "1", "e": "pD1.2_1_2~3_4z"},
        ),
        (GATED.edit(("randomize", ("w_up",), 7)), {"ex": "cat_gated", "v": "1", "e": "prh_7z"}),
        (GATED.edit(("strength", (3,), 0.5)), {"ex": "cat_gated", "v": "1", "e": "ps3_.5z"}),
        (EXPERTS.edit(("router", (1, 7), -2.0)), {"ex": "experts", "v": "1", "e": "po1.7_-2z"}),
        (EXPERTS.edit(("w1", (3, 0, 2), 0.5)), {"ex": "experts", "v": "1", "e": "pw3.0.2_.5z"}),
        (
            EXPERTS.edit(("w2", (3, 0, 2), ((1.0, 2.0),))),
            {"ex": "experts", "v": "1", "e": "pV3.0.2_1_2z"},
        ),
        (EXPERTS.edit(("b1", (3, 0), ((1.0, 2.0),))), {"ex": "experts", "v": "1", "e": "pB3.0_1_2z"}),
        (
            EXPERTS.edit(
                ("n_experts", (), 5), ("top_k", (), 3), ("renormalize", (), 0), ("capacity", (), 1.25)
            ),
            {"ex": "experts", "v": "1", "e": "pe5zk3zy0za1.25z"},
        ),
        (
            EXPERTS.edit(("n_experts", (), 8), ("identity", ("router",), 1.0)),
            {"ex": "experts", "v": "1", "e": "pe8zioz"},
        ),
    ],
)
def test_the_format_is_what_the_documentation_says(scenario, query):
    assert scenario.to_query() == query
    assert_equal(opened(query), scenario)
    assert opened(query).edits == scenario.edits
    assert_equal(opened(parse_qs(urlencode(query))), scenario)


@pytest.mark.parametrize(
    ("query", "loss"),
    [
        ({"r": "experts-8-257-3-0-4"}, "There are no such random weights: d_ff must be from 1 to 256"),
        ({"r": "experts-8-32-3-0-17"}, "There are no such random weights: n_experts must be from 1 to 16"),
        ({"r": "mixed-8-32-3-0"}, "There are no such random weights: kind must be one of dense, gated"),
        ({"r": "gated-8-32-3-0-4"}, "There are no such random weights: n_experts must be from 0 to 0"),
        ({"r": "gated-8-32-3"}, "There are no such random weights: r must be d_model-d_ff-positions-seed"),
        ({"e": "pg0.0_1z"}, "An edit was dropped: an edit begins with one of x, w1, b1, w2, b2"),
        ({"e": "pk1z"}, "An edit was dropped: top_k is for a mixture of experts"),
        ({"ex": "experts", "e": "pk9z"}, "An edit was dropped: top_k must be from 1 to 4, got 9"),
        ({"ex": "experts", "e": "pe99z"}, "An edit was dropped: n_experts must be from 1 to 16"),
        ({"ex": "experts", "e": "pa-1z"}, "An edit was dropped: capacity must be from 0, no limit"),
        ({"ex": "experts", "e": "pw0.0.0.0_1z"}, "An edit cannot be read: 'w0.0.0.0_1'."),
        ({"ex": "experts", "e": "py2z"}, "An edit was dropped: renormalize must be from 0 to 1"),
        ({"ex": "experts", "e": "ps0_0z"}, "An edit was dropped: a mixture of experts has no strengths"),
    ],
)
def test_a_loss_is_said_and_the_rest_opens(query, loss):
    scenario, losses = Scenario.from_query(query)
    assert len(losses) == 1
    assert losses[0].startswith(loss)
    assert_equal(scenario, Scenario(base=query.get("ex", "lesson")))


numbers = st.one_of(
    st.floats(min_value=-1e30, max_value=1e30),
    st.integers(-1000, 1000).map(lambda n: n / 1000),
)
small = st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 3), st.integers(0, 2**32 - 1))
bases = st.one_of(
    st.sampled_from([name for name in VARIANTS if name != "gated_random"]),
    small.map(lambda four: RandomBase(*four, kind="gated")),
    st.builds(
        lambda four, kind, n: RandomBase(*four, kind=kind, n_experts=n),
        small,
        st.sampled_from(["experts", "experts_gated"]),
        st.integers(1, 4),
    ),
)
array_names = st.sampled_from(sorted({name for kind in KINDS.values() for name in kind.arrays}))
edit_of_any_kind = st.one_of(
    st.tuples(
        array_names,
        st.lists(st.integers(0, 3), max_size=3).map(tuple),
        st.one_of(numbers, st.lists(st.tuples(numbers, numbers), min_size=1, max_size=3).map(tuple)),
    ),
    st.tuples(st.just("randomize"), st.tuples(array_names), st.integers(0, 2**32 - 1)),
    st.tuples(st.just("identity"), st.tuples(array_names), st.just(1.0)),
    st.tuples(st.sampled_from(["d_model", "d_ff", "n_experts"]), st.just(()), st.integers(1, 6)),
    st.tuples(st.sampled_from(["top_k", "renormalize"]), st.just(()), st.integers(0, 4)),
    st.tuples(st.just("capacity"), st.just(()), st.floats(0, 100)),
    st.tuples(st.just("strength"), st.tuples(st.integers(0, 5)), st.floats(-100, 100)),
    st.tuples(st.sampled_from(["insert_position", "word"]), st.tuples(st.integers(0, 2)), st.just("a z")),
    st.tuples(st.just("remove_position"), st.tuples(st.integers(0, 2)), st.just("")),
)
gestures = st.tuples(
    st.just("together"), st.just(()), st.lists(edit_of_any_kind, min_size=1, max_size=3).map(tuple)
)


@st.composite
def scenarios(draw):
    """A valid scenario of another family than dense: edits that do not fit it are left out."""
    scenario = Scenario(base=draw(bases), activation=draw(st.sampled_from([None, *ACTIVATIONS])))
    for edit in draw(st.lists(st.one_of(edit_of_any_kind, gestures), max_size=14)):
        try:
            scenario = scenario.edit(edit)
        except EditError:
            continue
    return scenario


@given(scenarios())
@repeatable
def test_a_link_opens_exactly_what_it_was_made_from(scenario):
    again = opened(parse_qs(urlencode(scenario.to_query())))
    assert repr(again.edits) == repr(scenario.edits)
    assert_equal(again, scenario)


@given(scenarios())
@repeatable
def test_compacting_never_changes_what_is_built(scenario):
    compact = scenario.compact()
    assert len(compact.edits) <= 1
    assert compact.strengths == scenario.strengths
    for (name, array), (_, expected) in zip(
        layers_arrays(compact).items(), layers_arrays(scenario).items(), strict=True
    ):
        np.testing.assert_array_equal(array, expected, err_msg=name)
    assert (compact.options, compact.words, compact.activation) == (
        scenario.options,
        scenario.words,
        scenario.activation,
    )


@given(scenarios())
@repeatable
def test_holding_what_is_built_changes_nothing_but_interventions(scenario):
    held = scenario.start().holding(*scenario.build(), scenario.words)
    assert held.strengths == {}
    for (name, array), (_, expected) in zip(
        layers_arrays(held).items(), layers_arrays(scenario).items(), strict=True
    ):
        np.testing.assert_array_equal(array, expected, err_msg=name)


@given(scenarios())
@repeatable
def test_every_scenario_computes_without_a_warning(scenario):
    layer, x = scenario.build()
    assert layer.forward(x).output.shape == x.shape
    assert len(scenario.words) == len(x)


statement = st.text("xwbvcghdoXWBVCGHDOrimfspqntueky a0123456789._~-", max_size=10)


@given(
    st.sampled_from(["experts", "gates", "one_expert", "lesson"]),
    st.lists(statement, max_size=10).map(lambda parts: "p" + "z".join(parts)),
)
@settings(repeatable, max_examples=300)
def test_no_edits_in_a_link_break_it(name, text):
    scenario, losses = Scenario.from_query({"ex": name, "e": text})
    layer, x = scenario.build()
    assert np.isfinite(layer.forward(x).output).all() or np.abs(x).max() > 1e9
    assert len(losses) <= 6
    assert all(isinstance(loss, str) and len(loss) < 400 for loss in losses)


@given(st.text("gatedxprs_-0123456789", max_size=24))
@repeatable
def test_no_base_in_a_link_breaks_it(text):
    scenario, _ = Scenario.from_query({"r": text})
    assert len(scenario.words) == len(scenario.build()[1])


@given(scenarios(), st.data())
@repeatable
def test_a_link_cut_anywhere_opens_a_beginning_of_the_edits(scenario, data):
    query = scenario.to_query()
    if "e" not in query:
        return
    query["e"] = query["e"][: data.draw(st.integers(0, len(query["e"]) - 1))]
    opened_cut, losses = Scenario.from_query(query)
    assert losses
    whole = [edit for edit in opened_cut.edits if edit.array != "together"]
    assert all(edit in scenario.edits for edit in whole)


def test_a_costly_link_of_experts_is_cut_to_a_bounded_amount_of_work():
    scenario, losses = Scenario.from_query({"r": "experts-256-256-2-0-1", "e": "p" + "e9ze1z" * 500})
    assert len(scenario.edits) < 30
    assert "take too long to replay" in losses[0]
