"""A scenario is a starting point and all that was done to it: each step can be replayed and undone."""

from typing import Any

import numpy as np
import pytest

from ffn_core.dense import FFN
from ffn_core.scenario import MAX_EDITS, Edit, EditError, RandomBase, Scenario


def arrays(scenario: Scenario) -> dict[str, np.ndarray]:
    ffn, x = scenario.build()
    return {"x": x, "w1": ffn.w1, "b1": ffn.b1, "w2": ffn.w2, "b2": ffn.b2}


def differences(scenario: Scenario) -> dict[str, Any]:
    return dict(scenario.changes())


def assert_same(one: Scenario, other: Scenario) -> None:
    for (name, array), (_, expected) in zip(arrays(one).items(), arrays(other).items(), strict=True):
        np.testing.assert_array_equal(array, expected, err_msg=name)
    assert one.words == other.words
    assert one.activation == other.activation


# A starting point


def test_the_default_is_the_lessons_example():
    ffn, x = Scenario().build()
    assert (ffn.d_model, ffn.d_ff) == (4, 8)
    np.testing.assert_array_equal(x, [[1.0, 0.5, -0.3, 0.8], [0.2, -0.4, 0.6, 0.1]])
    assert Scenario().activation == "gelu_tanh"


def test_a_random_base_is_the_same_for_the_same_numbers():
    base = RandomBase(8, 32, 3, 7)
    assert_same(Scenario(base=base), Scenario(base=RandomBase(8, 32, 3, 7)))
    assert (Scenario(base=base).build()[0].w1 != Scenario(base=RandomBase(8, 32, 3, 8)).build()[0].w1).all()
    assert len({base, RandomBase(8, 32, 3, 7)}) == 1


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        ((257, 1, 1, 0), "d_model must be from 1 to 256, got 257"),
        ((1, 1025, 1, 0), "d_ff must be from 1 to 1024"),
        ((1, 1, 65, 0), "n_positions must be from 1 to 64"),
        ((1, 1, 1, -1), "seed must be from 0 to 4294967295"),
        ((1.5, 1, 1, 0), "d_model must be an integer"),
        ((True, 1, 1, 0), "d_model must be an integer"),
    ],
)
def test_a_random_base_has_limits(numbers, reason):
    with pytest.raises(ValueError, match=reason):
        RandomBase(*numbers)


def test_an_unknown_base_or_activation_is_an_error():
    with pytest.raises(ValueError, match="nonsense"):
        Scenario(base="nonsense")
    with pytest.raises(ValueError, match="nonsense"):
        Scenario(activation="nonsense")


def test_the_activation_is_kept_under_the_tables_own_name():
    scenario = Scenario(activation="gelu_new")
    assert scenario.activation == "gelu_tanh"
    assert scenario.with_activation("relu").build()[0].activation == "relu"


def test_what_is_built_cannot_be_written_to():
    for array in arrays(Scenario().edit(("w1", (0, 0), 9.0))).values():
        assert array.dtype == np.float64
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


# Edits of numbers


def test_an_edit_changes_one_entry_and_leaves_the_scenario_it_was_made_on():
    before = Scenario()
    after = before.edit(("w1", (0, 2), 0.5))
    assert after.build()[0].w1[0, 2] == 0.5
    assert before.build()[0].w1[0, 2] == 0.3
    changes = differences(after)
    assert np.argwhere(changes["w1"]).tolist() == [[0, 2]]
    assert not any(changes[name].any() for name in ("x", "b1", "w2", "b2"))


def test_edits_are_kept_as_plain_numbers_whatever_they_came_as():
    given: Any = [["w1", [np.int64(0), 2], np.float32(0.5)], ("b1", 3, 1), ("x", (), -0.0)]
    scenario = Scenario(edits=given)
    assert scenario.edits == (Edit("w1", (0, 2), 0.5), Edit("b1", (3,), 1.0), Edit("x", (), 0.0))
    assert [type(edit.value) for edit in scenario.edits] == [float, float, float]
    assert not np.signbit(scenario.build()[1]).any()


def test_an_empty_index_fills_the_array():
    ffn, _ = Scenario().edit(("w1", (), 0)).build()
    np.testing.assert_array_equal(ffn.w1, np.zeros((8, 4)))


def test_a_block_is_pasted_with_its_corner_at_the_index():
    ffn, _ = Scenario().edit(("w1", (6, 2), ((1, 2), (3, 4))), ("b1", (5,), (7, 8, 9))).build()
    np.testing.assert_array_equal(ffn.w1[6:, 2:], [[1, 2], [3, 4]])
    np.testing.assert_array_equal(ffn.w1[:, :2], Scenario().build()[0].w1[:, :2])
    np.testing.assert_array_equal(ffn.b1, [0, 0, 0, 0, 0, 7, 8, 9])


def test_fifty_edits_in_a_row_are_all_there_afterwards():
    # Case M7: each in another cell.
    cells = [(j, i) for j in range(8) for i in range(4)] + [(i, j) for i in range(4) for j in range(8)][:18]
    scenario = Scenario()
    for n, cell in enumerate(cells):
        scenario = scenario.edit(("w1" if n < 32 else "w2", cell, 100.0 + n))
    ffn, _ = scenario.build()
    np.testing.assert_array_equal(ffn.w1, 100.0 + np.arange(32).reshape(8, 4))
    np.testing.assert_array_equal(ffn.w2.ravel()[:18], 132.0 + np.arange(18))


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (("w1", (8, 0), 1.0), r"w1 is \[d_ff, d_model\] = \[8, 4\].*got \(8, 0\)"),
        (("w1", (0, -1), 1.0), "count from 0"),
        (("w1", (0,), 1.0), r"an index has 2 numbers, or none for all entries; got \(0,\)"),
        (("w1", (0, 1.0), 1.0), "an index into w1 must be an integer"),
        (("w1", (0, True), 1.0), "an index into w1 must be an integer"),
        (("w1", (0, 0), float("nan")), r"w1\[0, 0\] must be finite.*got nan"),
        (("w1", (0, 0), float("inf")), "must be finite"),
        (("w1", (0, 0), 1.1e30), "between -1e30 and 1e30, got 1.1e"),
        (("w1", (0, 0), 10**5000), "between -1e30 and 1e30, got an integer of more than"),
        (("w1", (0, 0), True), "takes a number, got True"),
        (("w1", (0, 0), "1"), "takes a number, got '1'"),
        (("w1", (7, 3), ((1.0, 2.0),)), r"has room for \[1, 1\], got \[1, 2\]; paste less"),
        (("w1", (0, 0), ((1.0, 2.0), (3.0,))), "equally long"),
        (("w1", (0, 0), (1.0, 2.0)), "tuple of rows"),
        (("w1", (0, 0), ()), "tuple of rows"),
        (("b1", (0,), ()), "at least one number"),
        (("b1", (0,), ((1.0,),)), "takes a number"),
        (("hidden", (0, 0), 1.0), "begins with one of x, w1, b1, w2, b2, .*got 'hidden'"),
        (("w1", (0, 0)), "an edit is"),
        ("w1", "an edit is"),
        (None, "an edit is"),
    ],
)
def test_an_edit_that_does_not_fit_says_the_rule_and_what_came(edit, reason):
    with pytest.raises(EditError, match=reason) as caught:
        Scenario().edit(edit)
    assert len(str(caught.value)) < 250


def test_every_edit_is_checked_against_the_shapes_at_its_turn():
    Scenario().edit(("d_ff", (), 10), ("b1", (9,), 1.0))
    with pytest.raises(EditError):
        Scenario().edit(("b1", (9,), 1.0), ("d_ff", (), 10))


# Edits of whole arrays


def test_randomize_draws_as_the_networks_own_random_weights():
    scenario = Scenario().edit(("randomize", ("w1",), 5), ("randomize", ("b2",), 5))
    drawn = FFN.random(4, 8, seed=5)
    np.testing.assert_array_equal(scenario.build()[0].w1, drawn.w1)
    np.testing.assert_array_equal(scenario.build()[0].b2, drawn.b2)
    np.testing.assert_array_equal(scenario.build()[0].w2, Scenario().build()[0].w2)


def test_a_random_x_is_standard_normal():
    _, x = Scenario(base=RandomBase(256, 1, 64, 0)).edit(("randomize", ("x",), 3)).build()
    assert abs(x.mean()) < 0.05  # 5 standard errors are 0.04 for 16,384 draws
    assert abs(x.std() - 1) < 0.05


def test_the_identity_is_for_square_arrays():
    ffn, _ = Scenario(base="memories").edit(("identity", ("w1",), 1.0)).build()
    np.testing.assert_array_equal(ffn.w1, [[1, 0], [0, 1]])
    with pytest.raises(EditError, match=r"the identity is square, and w1 is \[8, 4\]"):
        Scenario().edit(("identity", ("w1",), 1.0))
    with pytest.raises(EditError, match="square"):
        Scenario().edit(("identity", ("b1",), 1.0))


def test_resizing_keeps_what_fits_and_fills_with_zeros():
    before = arrays(Scenario())
    wider = arrays(Scenario().edit(("d_model", (), 6), ("d_ff", (), 9)))
    assert {name: array.shape for name, array in wider.items()} == {
        "x": (2, 6),
        "w1": (9, 6),
        "b1": (9,),
        "w2": (6, 9),
        "b2": (6,),
    }
    np.testing.assert_array_equal(wider["w1"][:8, :4], before["w1"])
    assert not wider["w1"][8:].any()
    assert not wider["w1"][:, 4:].any()
    narrower = arrays(Scenario().edit(("d_model", (), 3)))
    np.testing.assert_array_equal(narrower["x"], before["x"][:, :3])
    np.testing.assert_array_equal(narrower["w2"], before["w2"][:3])


@pytest.mark.parametrize(
    "edit", [("d_model", (), 17), ("d_model", (), 0), ("d_ff", (), 65), ("d_ff", (), 2.0)]
)
def test_resizing_has_limits(edit):
    with pytest.raises(EditError, match=r"must be (from 1 to (16|64)|an integer)"):
        Scenario().edit(edit)


def test_a_base_beyond_the_limits_may_be_resized_up_to_its_own_size():
    big = Scenario(base=RandomBase(20, 100, 40, 0))
    big.edit(("d_model", (), 19), ("d_model", (), 20), ("d_ff", (), 100))
    with pytest.raises(EditError, match="from 1 to 20"):
        big.edit(("d_model", (), 21))


def test_positions_come_and_go_with_their_words():
    scenario = Scenario(base="cat").edit(("insert_position", (1,), "black"), ("word", (3,), "slept"))
    assert scenario.words == ("The", "black", "cat", "slept")
    assert not scenario.build()[1][1].any()
    np.testing.assert_array_equal(scenario.build()[1][[0, 2, 3]], Scenario(base="cat").build()[1])
    shorter = scenario.edit(("remove_position", (0,), ""))
    assert shorter.words == ("black", "cat", "slept")
    assert len(shorter.build()[1]) == 3


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (("remove_position", (0,), ""), "the last position stays"),
        (("remove_position", (1,), ""), "from 0 to 0"),
        (("insert_position", (2,), "a"), "from 0 to 1"),
        (("insert_position", (), "a"), "takes one position"),
        (("word", (0,), "a" * 25), "at most 24 characters, got 25"),
        (("word", (0,), "a\nb"), "no control characters"),
        (("word", (0,), "a\u2028b"), "no line breaks"),
        (("word", (0,), "\ud800"), "no control characters"),
        (("word", (0,), 1), "must be text"),
    ],
)
def test_positions_and_words_have_rules(edit, reason):
    with pytest.raises(EditError, match=reason):
        Scenario(base="memories").edit(edit)


def test_there_are_at_most_32_positions():
    full = Scenario(base="memories").edit(*[("insert_position", (0,), "")] * 31)
    assert len(full.words) == 32
    with pytest.raises(EditError, match="at most 32 positions"):
        full.edit(("insert_position", (0,), ""))


def test_any_other_text_may_be_a_word():
    word = "<b>🐈‍⬛ naïve</b> z-~"
    assert Scenario().edit(("word", (0,), word)).words[0] == word


# Going back


def test_undo_drops_the_last_edit_and_nothing_is_lost_at_the_start():
    one = Scenario().edit(("b1", (0,), 1.0))
    assert_same(one.edit(("b1", (0,), 2.0)).undo(), one)
    start = Scenario()
    assert start.undo() is start


def test_a_gesture_is_made_and_undone_as_one():
    gesture = ("together", (), (("d_ff", (), 9), ("b1", (8,), 1.0), ("word", (0,), "new")))
    made = Scenario().edit(gesture)
    assert made.build()[0].b1[8] == 1.0
    assert made.words[0] == "new"
    assert_same(made.undo(), Scenario())


def test_a_gesture_with_one_bad_edit_is_refused_whole():
    with pytest.raises(EditError, match="stay below"):
        Scenario().edit(("together", (), (("b1", (0,), 1.0), ("b1", (8,), 1.0))))


@pytest.mark.parametrize("value", [(), 1.0, (("together", (), (("b1", (0,), 1.0),)),)])
def test_a_gesture_is_a_flat_tuple_of_edits(value):
    with pytest.raises(EditError, match="together"):
        Scenario().edit(("together", (), value))


def test_the_start_keeps_base_and_activation():
    scenario = Scenario(base="cat", activation="relu").edit(("b1", (0,), 1.0))
    assert_same(scenario.start(), Scenario(base="cat", activation="relu"))


def test_changes_are_unknown_where_the_shape_differs():
    changes = differences(Scenario().edit(("d_ff", (), 9)))
    assert changes["w1"] is None
    assert changes["b1"] is None
    assert not changes["x"].any()


# Interventions


def test_a_strength_multiplies_a_value_in_what_is_built():
    before, after = arrays(Scenario()), arrays(Scenario().edit(("strength", (2,), -0.5)))
    np.testing.assert_array_equal(after["w2"][:, 2], [-0.05, -0.1, -0.1, -0.05])
    np.testing.assert_array_equal(np.delete(after["w2"], 2, axis=1), np.delete(before["w2"], 2, axis=1))
    for name in ("x", "w1", "b1", "b2"):
        np.testing.assert_array_equal(after[name], before[name])
    changes = differences(Scenario().edit(("strength", (2,), -0.5)))
    assert np.argwhere(changes["w2"]).tolist() == [[0, 2], [1, 2], [2, 2], [3, 2]]


def test_a_neuron_switched_off_still_matches_and_writes_nothing():
    # The second lesson's trace: neuron 1 fires with 2, and is all there is in the output [0, 2].
    ffn, x = Scenario(base="memories").edit(("strength", (1,), 0.0)).build()
    trace = ffn.forward(x)
    assert trace.activated.tolist() == [[0, 2]]
    assert trace.output.tolist() == [[0, 0]]


def test_the_last_strength_of_a_neuron_holds_and_one_takes_it_back():
    scenario = Scenario().edit(("strength", (5,), 0), ("strength", (2,), 3), ("strength", (5,), 0.5))
    assert scenario.strengths == {2: 3.0, 5: 0.5}
    assert list(scenario.strengths) == [2, 5]
    back = scenario.edit(("strength", (5,), 1), ("strength", (2,), 1.0))
    assert back.strengths == {}
    assert_same(back, Scenario())
    assert back.undo().strengths == {2: 3.0}
    assert scenario.edits[0] == Edit("strength", (5,), 0.0)


def test_strengths_handed_out_are_a_copy():
    scenario = Scenario().edit(("strength", (5,), 0))
    scenario.strengths.clear()
    assert scenario.strengths == {5: 0.0}


def test_the_value_under_a_strength_stays_and_can_be_edited():
    scenario = Scenario().edit(("strength", (0,), 0.5), ("w2", (0, 0), 8.0))
    assert scenario.build()[0].w2[0, 0] == 4.0
    assert scenario.without_strengths().build()[0].w2[0, 0] == 8.0
    assert scenario.edit(("strength", (0,), 0.0), ("strength", (0,), 1.0)).build()[0].w2[0, 0] == 8.0


def test_without_strengths_the_other_edits_stay():
    gesture = ("together", (), (("strength", (0,), 0.0), ("b1", (0,), 1.0)))
    only = ("together", (), (("strength", (1,), 0.0),))
    scenario = Scenario(activation="relu").edit(gesture, only, ("strength", (2,), 0.0), ("b2", (0,), 1.0))
    plain = scenario.without_strengths()
    assert plain.edits == (Edit("together", (), (Edit("b1", (0,), 1.0),)), Edit("b2", (0,), 1.0))
    assert plain.activation == "relu"
    assert plain.without_strengths() is plain


def test_a_strength_outlives_what_is_done_to_the_weights():
    scenario = Scenario().edit(("strength", (1,), 0.0), ("randomize", ("w2",), 3), ("d_model", (), 6))
    assert scenario.strengths == {1: 0.0}
    assert not scenario.build()[0].w2[:, 1].any()
    assert scenario.build()[0].w2[0, 0] == FFN.random(4, 8, seed=3).w2[0, 0]


def test_a_neuron_that_is_cut_off_loses_its_strength():
    narrower = Scenario().edit(("strength", (7,), 0.0), ("strength", (6,), 2.0), ("d_ff", (), 7))
    assert narrower.strengths == {6: 2.0}
    assert narrower.edit(("d_ff", (), 8), ("w2", (0, 7), 1.0)).build()[0].w2[0, 7] == 1.0


def test_compacting_keeps_interventions_apart_from_the_weights():
    scenario = Scenario().edit(("strength", (7,), 0.0), ("strength", (7,), 0.25), ("w2", (0, 7), 8.0))
    compact = scenario.compact()
    assert compact.edits == (Edit("together", (), (Edit("w2", (0, 7), 8.0), Edit("strength", (7,), 0.25))),)
    assert_same(compact, scenario)


def test_holding_given_weights_takes_strengths_back():
    ffn = FFN.random(4, 8, seed=2)
    scenario = Scenario().edit(("strength", (1,), 0.0))
    held = scenario.holding(ffn)
    assert held.strengths == {}
    np.testing.assert_array_equal(held.build()[0].w2, ffn.w2)
    assert_same(held.undo().with_activation("gelu_tanh"), scenario)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (("strength", (8,), 0.0), "the neuron of strength must be from 0 to 7, got 8"),
        (("strength", (-1,), 0.0), "from 0 to 7, got -1"),
        (("strength", (1.0,), 0.0), "the neuron of strength must be an integer"),
        (("strength", (), 0.0), "strength takes one neuron"),
        (("strength", (0, 1), 0.0), "strength takes one neuron"),
        (("strength", (0,), 100.5), "a strength must be from -100 to 100, got 100.5; edit w2 for more"),
        (("strength", (0,), float("nan")), "strength must be finite"),
        (("strength", (0,), "off"), "strength takes a number"),
        (("strength", (0,), (1.0, 2.0)), "strength takes a number"),
    ],
)
def test_strengths_have_rules(edit, reason):
    with pytest.raises(EditError, match=reason):
        Scenario().edit(edit)


# Few edits for many


@pytest.mark.parametrize(
    ("base", "edits"),
    [
        ("lesson", ()),
        ("lesson", [("w1", (0, 0), float(n)) for n in range(20)]),
        ("lesson", [("w1", (0, 0), 5.0), ("w1", (7, 3), 5.0), ("b1", (), 0.25), ("w2", (), 0.0)]),
        ("lesson", [("d_model", (), 2), ("d_model", (), 6), ("randomize", ("w1",), 1), ("d_ff", (), 3)]),
        ("cat", [("remove_position", (0,), ""), ("word", (1,), "sits"), ("x", (1, 0), 3.0)]),
        ("cat", [("strength", (3,), 0.0), ("w2", (0, 3), 2.0), ("d_ff", (), 6), ("strength", (5,), 9.0)]),
        ("memories", [("insert_position", (1,), "b"), ("insert_position", (0,), "a"), ("x", (), 1.0)]),
    ],
)
def test_compacting_keeps_the_network_and_the_words_in_one_edit(base, edits):
    scenario = Scenario(base=base, activation="silu", edits=tuple(edits))
    compact = scenario.compact()
    assert_same(compact, scenario)
    assert len(compact.edits) <= 1


def test_compacting_leaves_only_what_differs():
    back_and_forth = Scenario().edit(("b1", (0,), 1.0), ("b1", (0,), 0.0))
    assert back_and_forth.compact().edits == ()
    sparse = Scenario().edit(*[("w1", (0, 0), float(n)) for n in range(9)], ("w1", (7, 3), 1.0))
    assert sparse.compact().edits[0].value == (Edit("w1", (0, 0), 8.0), Edit("w1", (7, 3), 1.0))
    filled = Scenario().edit(*[("b1", (j,), 0.5) for j in range(8)])
    assert filled.compact().edits[0].value == (Edit("b1", (), 0.5),)


def test_too_many_edits_are_refused_and_compacting_is_the_way_out():
    full = Scenario().edit(*(("b1", (n % 8,), float(n)) for n in range(MAX_EDITS)))
    with pytest.raises(EditError, match=r"at most 5,000 edits, got 5,001; compact\(\)"):
        full.edit(("b1", (0,), 1.0))
    assert full.compact().edit(("b1", (0,), 1.0)).build()[0].b1[0] == 1.0


def test_replaying_costs_a_bounded_amount_of_work():
    big = Scenario(base=RandomBase(256, 1024, 64, 0))
    with pytest.raises(EditError, match="take too long to replay"):
        big.edit(*[("randomize", ("b1",), seed) for seed in range(30)])


def test_a_scenario_can_be_made_to_hold_given_arrays():
    ffn = FFN.random(5, 7, seed=2, activation="relu")
    x = np.arange(15.0).reshape(3, 5)
    scenario = Scenario().edit(("b1", (0,), 4.0)).holding(ffn, x, ("a", "b", "c"))
    for name, array in {"x": x, "w1": ffn.w1, "b1": ffn.b1, "w2": ffn.w2, "b2": ffn.b2}.items():
        np.testing.assert_array_equal(arrays(scenario)[name], array)
    assert scenario.words == ("a", "b", "c")
    assert scenario.activation == "relu"
    assert scenario.undo().build()[0].b1[0] == 4.0


def test_holding_weights_alone_keeps_x_as_far_as_it_fits():
    scenario = Scenario(base="cat").holding(FFN.random(4, 7, seed=2))
    np.testing.assert_array_equal(scenario.build()[1], Scenario(base="cat").build()[1][:, :4])
    assert scenario.words == ("The", "cat", "sat")


def test_arrays_beyond_the_limits_name_the_limit_and_the_way_out():
    ffn = FFN.random(32, 100)
    with pytest.raises(
        EditError, match=r"d_model can be edited up to 16 .* have 32; start from RandomBase\(32, 100"
    ):
        Scenario().holding(ffn)
    np.testing.assert_array_equal(Scenario(base=RandomBase(32, 100, 1, 9)).holding(ffn).build()[0].w1, ffn.w1)
    with pytest.raises(EditError, match="at most 32 positions"):
        Scenario().holding(FFN.random(4, 8), np.zeros((33, 4)))
    with pytest.raises(EditError, match="1e30"):
        Scenario().holding(
            FFN(w1=np.full((1, 1), np.nan), b1=np.zeros(1), w2=np.eye(1), b2=np.zeros(1)), [[0.0]]
        )
