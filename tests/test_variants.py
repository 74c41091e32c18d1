"""The gated examples and the mixtures do what their descriptions say; expected values are worked out by hand."""

import numpy as np
import pytest

from ffn_core import EXAMPLES, VARIANTS, example
from ffn_core.gated import GatedFFN
from ffn_core.moe import MoE


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_fits_together(name):
    chosen = example(name)
    layer = chosen.ffn
    assert chosen.name == name
    assert chosen.x.shape == (len(chosen.words), layer.d_model)
    assert chosen.title
    assert chosen.description
    assert chosen.source
    assert len(chosen.features) in (0, layer.d_model)
    n_neurons = sum(expert.d_ff for expert in layer.experts) if isinstance(layer, MoE) else layer.d_ff
    assert len(chosen.neurons) in (0, n_neurons)
    assert len(chosen.experts) in (0, layer.n_experts if isinstance(layer, MoE) else 0)
    np.testing.assert_array_equal(layer.forward(chosen.x).output.shape, chosen.x.shape)


def test_no_name_is_both_an_example_and_a_variant():
    assert list(VARIANTS) == ["gates", "cat_gated", "gated_random", "experts", "experts_random", "one_expert"]
    assert not set(EXAMPLES) & set(VARIANTS)
    with pytest.raises(ValueError, match=r"random, and_gate, gates, cat_gated, .*one_expert"):
        example("dog")


# Two keys, one value


def test_two_keys_and_one_value_give_each_sign():
    chosen = example("gates")
    trace = chosen.ffn.forward(chosen.x)
    assert chosen.words == ("cue, up", "cue, down", "no cue", "both below 0")
    # SiLU(1) = 0.731059, SiLU(-1) = -0.268941 (cases S4 and S5), SiLU(-4) = -0.071945, SiLU(4) = 3.928055.
    np.testing.assert_allclose(trace.activated[:, 0], [1.462117, -1.462117, -0.143890, 0.268941], atol=1e-6)
    written = trace.output[:, chosen.features.index("written")]
    np.testing.assert_allclose(written, [1.46, -1.46, -0.14, 0.27], atol=5e-3)
    assert trace.hidden[:, 0].tolist() == [1, 1, -4, -1], "the gate of 'cue, down' is as far open"
    assert trace.up[:, 0].tolist() == [2, -2, 2, -1]


def test_where_the_cue_is_missing_the_opposite_gate_takes_the_amount_away():
    chosen = example("gates")
    trace = chosen.ffn.forward(chosen.x)
    np.testing.assert_allclose(trace.activated[2, 2], 7.856110, atol=1e-6)
    assert abs(trace.activated[2, 2]) > 50 * abs(trace.activated[2, 0])
    amount = trace.residual[:, chosen.features.index("amount")]
    assert abs(amount[2]) < 0.05 < abs(chosen.x[2, 1])


def test_a_neuron_with_one_key_twice_never_fires_negatively():
    chosen = example("gates")
    np.testing.assert_array_equal(chosen.ffn.w_gate[1], chosen.ffn.w_up[1])
    x = np.zeros((201, 4))
    x[:, chosen.features.index("amount")] = np.linspace(-10, 10, 201)
    assert (chosen.ffn.forward(x).activated[:, 1] >= 0).all()
    others = chosen.ffn.forward(chosen.x).activated[:, [0, 2]]
    assert (others.min(axis=0) < 0).all()


# The cat sat, gated


def test_the_gated_cat_reads_as_its_neurons_are_named():
    chosen, dense = example("cat_gated"), example("cat")
    assert (chosen.words, chosen.features) == (dense.words, dense.features)
    np.testing.assert_array_equal(chosen.x, dense.x)
    trace = chosen.ffn.forward(chosen.x)
    firing = [{chosen.neurons[j] for j in np.flatnonzero(row > 0.5)} for row in trace.activated]
    assert firing[0] == {
        "determiner: noun follows",
        "determiner: how definite it is",
        "determiner or noun, so no verb",
    }
    assert firing[1] == {
        "noun: verb follows",
        "noun: as far as one was wanted",
        "animal: it is a noun",
        "noun: how definite it is",
        "determiner or noun, so no verb",
    }
    assert firing[2] == {
        "verb: as far as one was wanted",
        "verb: how past it is",
        "verb of an animal: lives",
        "verb: place may follow",
    }
    # As in the dense one 'The' makes a noun wanted, 'cat' meets that and wants a verb, 'sat' meets that.
    wants_noun, wants_verb = (
        trace.output[:, chosen.features.index(f"wants a {what}")] for what in ("noun", "verb")
    )
    assert wants_noun[0] > 0.5 > -0.5 > wants_noun[1]
    assert wants_verb[1] > 0.5 > -0.5 > wants_verb[2]


def test_one_gated_neuron_does_what_the_dense_network_has_two_for():
    chosen, dense = example("cat_gated"), example("cat")
    past = chosen.features.index("past")
    neuron = chosen.neurons.index("verb: how past it is")
    present = chosen.x.copy()
    present[2, past] = -0.8
    was = chosen.ffn.forward(chosen.x).contributions(2)[neuron, past]
    is_now = chosen.ffn.forward(present).contributions(2)[neuron, past]
    assert was == -is_now > 0
    pair = [dense.neurons.index(name) for name in ("past verb: tells a story", "present verb")]
    signs = np.sign(dense.ffn.w2[past, pair])
    assert signs.tolist() == [1, -1]


def test_the_gated_cat_has_two_thirds_of_the_neurons_and_about_as_many_numbers():
    gated, dense = example("cat_gated").ffn, example("cat").ffn
    assert (gated.d_ff, dense.d_ff) == (round(2 / 3 * 16), 16)
    assert (gated.n_parameters, dense.n_parameters) == (264, 280)


def test_the_random_gated_network_is_as_large_as_the_random_dense_one():
    gated, dense = example("gated_random"), EXAMPLES["random"]
    assert (gated.ffn.d_model, gated.ffn.d_ff, len(gated.x)) == (128, 352, 16)  # 8/3 · 128 = 341.3, in 16s
    assert abs(gated.ffn.n_parameters / dense.ffn.n_parameters - 1) < 0.03


# Experts


def test_a_word_goes_to_the_expert_of_its_class_and_then_to_the_next_one():
    chosen = example("experts")
    trace = chosen.ffn.forward(chosen.x)
    sent = {
        word: [chosen.experts[e] for e in experts]
        for word, experts in zip(chosen.words, trace.chosen.tolist(), strict=True)
    }
    assert sent == {
        "The": ["determiners", "nouns"],
        "cat": ["nouns", "verbs"],
        "sat": ["verbs", "prepositions"],
        "on": ["prepositions", "determiners"],
        "a": ["determiners", "nouns"],
        "mat": ["nouns", "verbs"],
    }
    # 'cat': logits 3 + 0.7 and 1, so 1 / (1 + exp(-2.7)) = 0.937
    np.testing.assert_allclose(trace.routing_weights[1], [0.937027, 0.062973], atol=1e-6)
    assert trace.counts.tolist() == [3, 4, 3, 2]
    assert trace.counts.sum() == 12


def test_an_experts_first_three_neurons_serve_its_own_class_and_the_fourth_the_class_before():
    chosen = example("experts")
    definite = np.eye(8)[:4]  # a word of each class, of which all is true ...
    definite[:, 4:] = 0.9
    indefinite = definite.copy()  # ... and one that is indefinite
    indefinite[:, chosen.features.index("definite")] = -0.9
    for e, expert in enumerate(chosen.ffn.experts):
        fires = (expert.forward(definite).activated > 0) | (expert.forward(indefinite).activated > 0)
        assert fires[:, 3].nonzero()[0].tolist() == [(e - 1) % 4]
        assert fires[:, :3].any(axis=1).nonzero()[0].tolist() == [e]
        assert fires[e, :3].all()


def test_the_experts_write_what_their_neurons_are_named_after():
    chosen = example("experts")
    trace = chosen.ffn.forward(chosen.x)
    output = {
        (word, feature): trace.output[p, i]
        for p, word in enumerate(chosen.words)
        for i, feature in enumerate(chosen.features)
    }
    assert output["The", "wants a noun"] > 0.5
    assert output["cat", "wants a noun"] < -0.5
    assert output["cat", "wants a verb"] > 0.5
    assert output["sat", "wants a verb"] < -0.5
    assert output["sat", "preposition"] > 0.5
    assert output["on", "wants a noun"] > 0.5
    assert output["The", "definite"] > 0.3
    assert output["a", "definite"] < -0.1
    assert output["cat", "animal"] > 0.3
    assert output["mat", "animal"] == 0
    assert chosen.neurons[7] == "nouns: determiner: one is next"
    assert output["The", "noun"] > 0


def test_the_random_experts_are_gated_and_two_of_eight():
    layer = example("experts_random").ffn
    assert (layer.d_model, layer.n_experts, layer.top_k) == (16, 8, 2)
    assert {(type(expert), expert.d_ff) for expert in layer.experts} == {(GatedFFN, 32)}
    assert len(example("experts_random").x) == 16


def test_one_expert_is_the_lessons_network():
    one, lesson = example("one_expert"), EXAMPLES["lesson"]
    trace = one.ffn.forward(one.x)
    np.testing.assert_array_equal(trace.output, lesson.ffn.forward(lesson.x).output)
    assert trace.routing_weights.tolist() == [[1], [1]]
    other = MoE(router=np.full((1, 4), 7.0), experts=one.ffn.experts, top_k=1)
    np.testing.assert_array_equal(other.forward(one.x).output, trace.output)


def test_hand_made_numbers_have_one_or_two_digits():
    for name in ("gates", "cat_gated", "experts"):
        chosen = example(name)
        experts = chosen.ffn.experts if isinstance(chosen.ffn, MoE) else [chosen.ffn]
        weights = [value for expert in experts for value in vars(expert).values()]
        for array in (chosen.x, *(value for value in weights if isinstance(value, np.ndarray))):
            np.testing.assert_array_equal(array, array.round(2))
