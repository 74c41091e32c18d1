"""A model's shape is a scenario like any other: changed, undone, compared, and carried by a link."""

from urllib.parse import parse_qs, urlencode

import numpy as np
import pytest

from ffn_core.counting import MODELS, model
from ffn_core.scenario import MAX_LINK, Edit, EditError
from ffn_core.shape_scenario import BOUNDS, CHOICES, FIELDS, MAX_EDITS, ShapeScenario

GPT2 = ShapeScenario()
LLAMA = ShapeScenario(base="llama-2-70b")


def changed(scenario: ShapeScenario) -> set[str]:
    return {field for field, differs in scenario.changes().items() if differs}


def followed(scenario: ShapeScenario) -> ShapeScenario:
    """The scenario that its link opens, without a loss."""
    opened, losses = ShapeScenario.from_query(parse_qs(urlencode(scenario.to_query())))
    assert losses == []
    return opened


# Editing


def test_the_default_is_gpt2_small_as_published():
    assert GPT2.build() == model("gpt2-small")
    assert changed(GPT2) == set()


def test_every_model_is_a_starting_point():
    for name in MODELS:
        assert ShapeScenario(base=name).build() == MODELS[name]
    with pytest.raises(ValueError, match="no model is called 'gpt5'"):
        ShapeScenario(base="gpt5")


def test_an_edit_changes_one_size_and_leaves_the_scenario_it_was_made_on():
    after = GPT2.edit(("d_ff", (), 4096))
    assert after.build().d_ff == 4096
    assert GPT2.build().d_ff == 3072
    assert changed(after) == {"d_ff"}


def test_undo_drops_the_last_edit_and_start_drops_all():
    two = GPT2.edit(("d_ff", (), 4096), Edit("n_layers", (), 3))
    assert two.undo() == GPT2.edit(("d_ff", (), 4096))
    assert two.undo().undo().undo() == GPT2
    assert two.start() == GPT2


def test_edits_made_together_are_undone_together():
    both = GPT2.edit(("together", (), (("n_experts", (), 8), ("top_k", (), 2))))
    assert (both.build().n_experts, both.build().top_k) == (8, 2)
    assert both.undo() == GPT2


def test_what_is_changed_back_is_the_published_model_again():
    back = GPT2.edit(("d_ff", (), 4096), ("d_ff", (), 3072))
    assert back.build() == model("gpt2-small")
    assert changed(back) == set()
    assert back != GPT2, "and yet has two edits to undo"


def test_a_changed_shape_does_not_pass_for_the_published_one():
    shape = GPT2.edit(("d_ff", (), 4096)).build()
    assert shape.title == "GPT-2 small, changed"
    assert shape.source.startswith("Changed from: Radford et al.")


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_can_be_edited_and_travels(field):
    values = {
        "d_model": 999_996,
        "n_heads": 6,
        "n_kv_heads": 4,
        "n_experts": 4,
        "top_k": 1,
        "n_decoder_layers": 6,
    }
    value = values.get(field, BOUNDS[field][1] if field in BOUNDS else CHOICES[field][-1])
    scenario = GPT2.edit((field, (), value))
    assert getattr(scenario.build(), field) == value
    assert followed(scenario) == scenario


def test_heads_of_k_and_v_follow_the_heads_until_they_are_set():
    assert GPT2.edit(("n_heads", (), 16)).build().n_kv_heads == 16
    assert changed(GPT2.edit(("n_heads", (), 16))) == {"n_heads", "n_kv_heads", "d_head"}
    grouped = GPT2.edit(("n_kv_heads", (), 4), ("n_heads", (), 16))
    assert grouped.build().n_kv_heads == 4
    assert LLAMA.edit(("n_heads", (), 128)).build().n_kv_heads == 8, "its 8 never were as many as its heads"


def test_heads_share_the_stream_until_their_width_is_set():
    assert GPT2.edit(("d_model", (), 1200)).build().d_head == 100
    wide = GPT2.edit(("d_head", (), 128), ("d_model", (), 1200))
    assert wide.build().d_head == 128


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (("d_model", (), 0), "d_model must be from 1 to 1,000,000, got 0"),
        (("d_model", (), 1_000_001), "d_model must be from 1 to 1,000,000, got 1000001"),
        (("d_model", (), 10**5000), "got an integer of more than 30 digits"),
        (("d_model", (), 800.0), "d_model must be an integer, got 800.0"),
        (("n_layers", (), True), "n_layers must be an integer, got True"),
        (("d_model", (), 770), "d_model must be a multiple of n_heads, got 770 and 12; or say d_head"),
        (("n_kv_heads", (), 5), "n_heads must be a multiple of n_kv_heads.*change one of the two"),
        (("top_k", (), 2), "top_k must be at most n_experts, got 2 of 1"),
        (("gated", (), 1), "gated must be False or True, got 1"),
        (("norm", (), "batchnorm"), "norm must be layernorm or rmsnorm, got 'batchnorm'"),
        (("norm", (), []), r"norm must be layernorm or rmsnorm, got \[\]"),
        (("title", (), "mine"), "an edit begins with one of n_layers, .*; got 'title'"),
        (("d_ff", (0,), 8), r"takes no index, as in \('d_ff', \(\), 4096\)"),
        (("d_ff", 8), r"an edit is \(field, \(\), value\)"),
        ("d_ff", r"an edit is \(field, \(\), value\)"),
        (("together", (), ()), "edits made together are"),
        (("together", (), (("together", (), (("d_ff", (), 8),)),)), "cannot hold others made together"),
    ],
)
def test_what_gives_no_sound_shape_is_refused_with_the_way_out(edit, reason):
    with pytest.raises(EditError, match=reason):
        GPT2.edit(edit)


def test_the_way_out_of_sizes_that_must_fit_each_other_is_to_change_them_together():
    with pytest.raises(EditError, match="multiple of n_kv_heads"):
        LLAMA.edit(("n_heads", (), 4))
    both = LLAMA.edit(("together", (), [["n_heads", [], 4], ("n_kv_heads", (), 2)]))
    assert (both.build().n_heads, both.build().n_kv_heads) == (4, 2)


def test_edits_are_kept_as_plain_values_whatever_they_came_as():
    scenario = ShapeScenario(edits=(["d_ff", [], np.int16(4096)], ("gated", (), np.True_)))  # type: ignore[arg-type]
    assert scenario.edits == (Edit("d_ff", (), 4096), Edit("gated", (), True))
    assert [type(edit.value) for edit in scenario.edits] == [int, bool]


def test_edits_have_a_limit_and_compact_makes_room():
    full = GPT2.edit(*(("d_ff", (), 1 + i) for i in range(MAX_EDITS)))
    with pytest.raises(EditError, match=r"at most 1,000 edits, got 1,001; compact\(\) it first"):
        full.edit(("n_layers", (), 3))
    assert full.compact().edit(("n_layers", (), 3)).build().d_ff == MAX_EDITS


def test_compact_is_the_same_shape_and_what_was_set_stays_set():
    scenario = GPT2.edit(
        ("d_ff", (), 8), ("d_head", (), 64), ("d_ff", (), 16), ("n_experts", (), 4), ("top_k", (), 3)
    )
    compact = scenario.compact()
    assert len(compact.edits) == 1
    assert compact.build() == scenario.build()
    assert compact.edit(("d_model", (), 1200)).build().d_head == 64
    assert GPT2.compact() == GPT2


# Links


def test_a_link_carries_the_model_and_the_edits():
    assert GPT2.to_query() == {}
    scenario = LLAMA.edit(
        ("d_ff", (), 4096),
        ("together", (), (("n_layers", (), 3), ("gated", (), False))),
        ("norm", (), "layernorm"),
    )
    assert scenario.to_query() == {
        "m": "llama-2-70b",
        "e": "d_ff.4096~t~n_layers.3~gated.0~u~norm.layernorm~",
    }
    assert "%" not in urlencode(scenario.to_query()), "it needs no escaping"
    assert followed(scenario) == scenario


def test_a_link_that_would_be_too_long_holds_the_same_shape_in_fewer_edits():
    scenario = GPT2.edit(*(("vocab_size", (), 1000 + i) for i in range(MAX_EDITS)))
    assert len(urlencode(scenario.to_query())) > MAX_LINK
    opened, losses = ShapeScenario.from_query(scenario.link_query())
    assert losses == []
    assert opened.build() == scenario.build()
    assert len(urlencode(scenario.link_query())) < 100
    assert GPT2.edit(("d_ff", (), 8)).link_query() == {"e": "d_ff.8~"}


@pytest.mark.parametrize(
    ("query", "edits", "loss"),
    [
        ({"m": "gpt5"}, (), "There is no model 'gpt5': GPT-2 small is used"),
        ({"e": "d_ff.8~n_layers.3"}, (Edit("d_ff", (), 8),), "cut short: its last edit is lost"),
        ({"e": "d_ff.8~d_model.0~"}, (Edit("d_ff", (), 8),), "dropped: d_model must be from 1"),
        ({"e": "what~d_ff.8~"}, (Edit("d_ff", (), 8),), "cannot be read: 'what'"),
        ({"e": "depth.8~d_ff.8~"}, (Edit("d_ff", (), 8),), "dropped: an edit begins with one of"),
        ({"e": "d_ff.eight~d_ff.8~"}, (Edit("d_ff", (), 8),), "cannot be read: 'd_ff.eight'"),
        ({"e": "gated.2~d_ff.8~"}, (Edit("d_ff", (), 8),), "gated must be False or True, got 2"),
        ({"e": "top_k.2~d_ff.8~"}, (Edit("d_ff", (), 8),), "top_k must be at most n_experts"),
        (
            {"e": "t~d_ff.8~top_k.0~u~"},
            (Edit("together", (), (Edit("d_ff", (), 8),)),),
            "top_k must be from 1",
        ),
        ({"e": "t~d_ff.8~"}, (Edit("together", (), (Edit("d_ff", (), 8),)),), "within a group"),
        ({"e": "t~d_ff.4~top_k.2~u~d_ff.8~"}, (Edit("d_ff", (), 8),), "top_k must be at most n_experts"),
        ({"e": "pw0.2_.5z"}, (), "cut short"),
    ],
)
def test_a_damaged_link_opens_what_is_sound_and_says_what_it_dropped(query, edits, loss):
    scenario, losses = ShapeScenario.from_query(query)
    assert scenario == ShapeScenario(edits=edits)
    assert len(losses) == 1
    assert loss in losses[0]


def test_no_query_raises():
    rng = np.random.default_rng(0)
    whole = LLAMA.edit(
        ("together", (), (("n_layers", (), 3), ("gated", (), False))), ("norm", (), "layernorm")
    )
    text = whole.to_query()["e"]
    for _ in range(300):
        letters = list(text[: rng.integers(len(text) + 1)])
        for place in rng.integers(len(letters) or 1, size=rng.integers(3)):
            letters[place:place] = [chr(rng.integers(32, 0x3000))]
        scenario, losses = ShapeScenario.from_query({"m": "llama-2-70b", "e": "".join(letters)})
        assert len(losses) <= 6
        assert followed(scenario) == scenario
    for odd in (None, 3, [], [None], {"a": 1}, "", "~" * 200_000, "d_ff.8~" * 20_000, "t~" * 30_000):
        scenario, losses = ShapeScenario.from_query({"m": odd, "e": odd})
        assert len(losses) <= 6
        assert followed(scenario) == scenario


def test_the_edits_beyond_the_limit_are_dropped_and_said():
    scenario, losses = ShapeScenario.from_query({"e": "d_ff.8~" * (MAX_EDITS + 1)})
    assert len(scenario.edits) == MAX_EDITS
    assert losses == ["A scenario has at most 1,000 edits: those after them are dropped."]
