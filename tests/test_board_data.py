"""The board draws what the trace holds: no number on it is computed anywhere else.

The numbers here are the first lesson's, at d_model 4 and d_ff 8, as design.md corrects them.
"""

import base64
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from ffn_app.board.arrays import round_span
from ffn_app.board.data import Drawn, comparison_board, fits_neuron_lines, live_board
from ffn_app.board.panel import Panel, panel, steps
from ffn_app.board.table import change_table
from ffn_app.look import Look
from ffn_app.session import Session, apply
from ffn_app.view import View
from ffn_core.dense import Trace
from ffn_core.scenario import RandomBase, Scenario

Spec = dict[str, Any]

DRAWN: tuple[Drawn, ...] = ("hourglass", "neurons")  # the others are of mixtures
LESSON = Scenario()
BIG = Scenario(base="random")  # 128 to 512, 16 positions
HIDDEN = (
    [0.43, 0.37, 0.63, 0.57, 0.51, 0.61, 0.39, 0.49],
    [0.16, 0.27, -0.02, 0.09, 0.06, -0.03, 0.28, 0.19],
)
ACTIVATED_0 = [0.2865, 0.2384, 0.4634, 0.4079, 0.3544, 0.4447, 0.2542, 0.3371]
OUTPUT = ([0.4215, 0.4145, 0.4249, 0.4111], [0.0896, 0.0872, 0.0908, 0.0860])
HIDDEN_0_0 = "hidden[0][0] = 0.1*1.0 + 0.2*0.5 + 0.3*(-0.3) + 0.4*0.8 + 0 = 0.43"


def live(scenario: Scenario = LESSON, drawn: Drawn = "hourglass", **view: Any) -> dict[str, Any]:
    return live_board(Session(present=scenario, view=View(**view)), drawn)


def comparison(scenario: Scenario, *, difference: bool, **view: Any) -> dict[str, Any]:
    return comparison_board(Session(present=scenario, view=View(**view)), difference=difference)


def spec(board: dict[str, Any], name: str) -> Spec:
    return next(spec for spec in board["arrays"] if spec["id"] == name)


def array(scenario: Scenario, name: str) -> np.ndarray:
    ffn, x = scenario.build()
    return x if name == "x" else np.asarray(getattr(ffn, name))


def close_to_4_digits(values: Iterable[float]) -> Any:
    return pytest.approx(list(values), abs=5e-5)


# The numbers are the trace's


@pytest.mark.parametrize("position", [0, 1])
def test_the_boards_numbers_are_the_lessons(position):
    board = live(position=position)
    assert spec(board, "x")["values"] == [[1.0, 0.5, -0.3, 0.8], [0.2, -0.4, 0.6, 0.1]][position]
    assert spec(board, "w1")["values"][:8] == [0.1, 0.2, 0.3, 0.4, 0.2, 0.1, 0.4, 0.3]
    assert spec(board, "w2")["values"][:8] == [0.1, 0.2, 0.1, 0.2, 0.1, 0.2, 0.1, 0.2]
    assert spec(board, "hidden")["values"] == close_to_4_digits(HIDDEN[position])
    assert spec(board, "output")["values"] == close_to_4_digits(OUTPUT[position])


def test_the_nonlinearity_stands_between_hidden_and_activated():
    assert spec(live(), "activated")["values"] == close_to_4_digits(ACTIVATED_0)


def test_the_residual_is_x_plus_output():
    # 1.0 + 0.4215, 0.5 + 0.4145, -0.3 + 0.4249, 0.8 + 0.4111
    assert spec(live(), "residual")["values"] == close_to_4_digits([1.4215, 0.9145, 0.1249, 1.2111])


def test_the_arrays_come_in_the_order_of_the_computation_with_their_shapes_in_the_headings():
    shapes = [(spec["id"], spec["shape_text"]) for spec in live()["arrays"]]
    assert shapes == [
        ("x", "[4]"), ("w1", "[8, 4]"), ("b1", "[8]"), ("hidden", "[8]"), ("activated", "[8]"),
        ("w2", "[4, 8]"), ("b2", "[4]"), ("output", "[4]"), ("residual", "[4]"),
    ]  # fmt: skip


def test_only_what_a_person_can_choose_is_editable():
    editable = [spec["id"] for spec in live()["arrays"] if spec["editable"]]
    assert editable == ["x", "w1", "b1", "w2", "b2"]


def test_relu_beside_gelu_has_the_same_hidden_and_passes_no_negative():
    board = live(position=1, compare=True)
    fired, relu = spec(board, "activated")["values"], spec(board, "activated_other")["values"]
    # GELU lets -0.02 and -0.03 through as -0.0098 and -0.0146; ReLU passes 0.
    assert [fired[2], fired[5]] == close_to_4_digits([-0.0098, -0.0146])
    assert relu == close_to_4_digits([0.16, 0.27, 0, 0.09, 0.06, 0, 0.28, 0.19])
    assert spec(board, "activated_other")["heading"] == "ReLU"


def test_beside_relu_stands_gelu():
    board = live(LESSON.with_activation("relu"), compare=True)
    assert spec(board, "activated_other")["heading"] == "GELU"
    # 0.43 * Phi(0.43) = 0.43 * 0.66640
    assert spec(board, "activated_other")["values"][0] == pytest.approx(0.28655, abs=1e-5)


def addressed(board_spec: Spec, values: np.ndarray) -> list[float]:
    """The entries that the board's cells stand for, found as grid.js finds them."""
    start, down, right = (np.array(board_spec[key]) for key in ("start", "row_unit", "column_unit"))
    columns = board_spec["columns"]
    cells = [divmod(at, columns) for at in range(len(board_spec["values"]))]
    return [float(values[tuple(start + row * down + column * right)]) for row, column in cells]


@pytest.mark.parametrize("position", [0, 1])
def test_every_cell_is_edited_at_the_entry_that_it_shows(position):
    for name in ("x", "w1", "b1", "w2", "b2"):
        of = spec(live(position=position), name)
        assert len(of["values"]) == of["rows"] * of["columns"]
        assert addressed(of, array(LESSON, name)) == of["values"], name


# Neuron by neuron


@pytest.mark.parametrize(
    "scenario",
    [
        LESSON,
        Scenario(base="and_gate"),
        Scenario(base="cat"),
        LESSON.edit(("d_model", (), 16), ("d_ff", (), 64)),
    ],
)
def test_each_line_holds_its_key_and_its_value_and_edits_go_to_the_entries_that_it_shows(scenario):
    board = live(scenario, "neurons")
    ffn, _ = scenario.build()
    for name, shape in (
        ("x", (1, ffn.d_model)), ("w1", (ffn.d_ff, ffn.d_model)), ("b1", (ffn.d_ff, 1)),
        ("w2", (ffn.d_ff, ffn.d_model)), ("b2", (1, ffn.d_model)),
    ):  # fmt: skip
        of = spec(board, name)
        assert (of["rows"], of["columns"]) == shape, name
        assert addressed(of, array(scenario, name)) == of["values"], name


def test_w2_is_drawn_transposed_so_that_row_j_is_value_j():
    w2 = spec(live(drawn="neurons"), "w2")
    assert w2["values"][:4] == [0.1, 0.2, 0.1, 0.2]  # column 0 of the lesson's W2
    assert w2["values"][4:8] == [0.2, 0.1, 0.1, 0.2]  # column 1
    assert w2["shape_text"] == "[4, 8], transposed", "its shape is still the one that it is stored in"


def test_an_edit_of_w2_is_marked_where_it_is_drawn():
    w2 = spec(live(LESSON.edit(("w2", (3, 5), 9.0)), "neurons"), "w2")
    assert w2["changed"] == [5 * 4 + 3]
    assert w2["values"][5 * 4 + 3] == 9


def test_what_stands_over_and_under_the_lines_lies_across_and_what_stands_in_them_down():
    shapes = {spec["id"]: (spec["rows"], spec["columns"]) for spec in live(drawn="neurons")["arrays"]}
    assert shapes == {
        "x": (1, 4), "w1": (8, 4), "b1": (8, 1), "hidden": (8, 1), "activated": (8, 1), "w2": (8, 4),
        "b2": (1, 4), "output": (1, 4), "residual": (1, 4),
    }  # fmt: skip


@pytest.mark.parametrize("position", [0, 1])
def test_both_drawings_show_the_same_numbers(position):
    board = live(drawn="neurons", position=position)
    assert spec(board, "hidden")["values"] == close_to_4_digits(HIDDEN[position])
    assert spec(board, "output")["values"] == close_to_4_digits(OUTPUT[position])


def test_a_contribution_is_as_long_as_its_activation_times_its_value_and_has_the_sign_of_how_it_fires():
    # Each value of the lesson has two 0.1 and two 0.2: its length is sqrt(0.1).
    at_0 = live(drawn="neurons")["contributions"]
    assert at_0 == close_to_4_digits(a * 0.1**0.5 for a in ACTIVATED_0)
    # Neurons 2 and 5 go negative at the second position, and GELU lets -0.0098 and -0.0146 through.
    at_1 = live(drawn="neurons", position=1)["contributions"]
    assert [j for j, length in enumerate(at_1) if length < 0] == [2, 5]
    assert [at_1[2], at_1[5]] == close_to_4_digits([-0.0098 * 0.1**0.5, -0.0146 * 0.1**0.5])


def test_a_neuron_that_is_switched_off_contributes_nothing_and_its_line_goes_dark():
    board = live(LESSON.edit(("strength", (2,), 0.0)), "neurons")
    assert board["contributions"][2] == 0
    assert spec(board, "activated")["values"] == close_to_4_digits(ACTIVATED_0), "its key still matches"
    assert spec(board, "w2")["changed"] == [8, 9, 10, 11]


def test_of_a_neuron_with_another_strength_the_panel_says_what_becomes_of_its_value():
    off = live(LESSON.edit(("strength", (2,), 0.0)), neuron=2)["panel"]
    assert off["title"] == "Neuron 2, switched off"
    assert off["remark"] == "It is switched off: its key still meets x, but its value is not written."
    doubled = live(LESSON.edit(("strength", (2,), 2.0)), neuron=2)["panel"]
    assert doubled["title"] == "Neuron 2, strength 2"
    assert doubled["remark"].endswith("An intervention multiplies its value by 2.")
    assert "intervention" not in live(LESSON.edit(("strength", (2,), 2.0)), neuron=3)["panel"]["remark"]


def test_the_hourglass_has_no_lines_to_light_up():
    assert live()["contributions"] is None


@pytest.mark.parametrize(
    ("scenario", "fits"),
    [
        (LESSON, True),
        (LESSON.edit(("d_model", (), 16), ("d_ff", (), 64)), True),
        (Scenario(base=RandomBase(17, 64, 1, 0)), False),
        (Scenario(base=RandomBase(16, 65, 1, 0)), False),
        (BIG, False),
    ],
)
def test_a_network_of_any_size_that_can_be_typed_in_has_a_line_for_each_neuron(scenario, fits):
    assert fits_neuron_lines(scenario) is fits


def test_lines_need_no_neuron_shown_large():
    scenario = LESSON.edit(("d_model", (), 16), ("d_ff", (), 64))
    assert live(scenario, "neurons")["zoom"] is None
    assert live(scenario)["zoom"] is not None


# What has changed


def test_an_edit_marks_itself_and_what_follows_from_it():
    board = live(LESSON.edit(("w1", (2, 1), 0.9)))
    marks = {spec["id"]: spec["changed"] for spec in board["arrays"]}
    assert marks == {
        "x": [], "w1": [2 * 4 + 1], "b1": [], "hidden": [2], "activated": [2], "w2": [], "b2": [],
        "output": [0, 1, 2, 3], "residual": [0, 1, 2, 3],
    }  # fmt: skip


def test_positions_do_not_mix_so_an_edit_of_one_marks_nothing_at_the_other():
    # Case S11.
    edited = LESSON.edit(("x", (1, 0), 5.0))
    assert [spec["id"] for spec in live(edited, position=0)["arrays"] if spec["changed"]] == []
    assert spec(live(edited, position=1), "hidden")["changed"] == list(range(8))


def test_an_edit_that_is_typed_back_is_no_change():
    board = live(LESSON.edit(("w1", (0, 0), 0.6)).edit(("w1", (0, 0), 0.1)))
    assert [spec["changed"] for spec in board["arrays"] if spec["changed"]] == []


def test_another_nonlinearity_is_no_edit_and_marks_nothing():
    # The start is replayed under the nonlinearity that is chosen.
    assert [
        spec["changed"] for spec in live(LESSON.with_activation("relu"))["arrays"] if spec["changed"]
    ] == []


def test_an_array_of_another_size_has_no_marks_since_it_cannot_be_compared():
    board = live(LESSON.edit(("d_ff", (), 9)))
    assert spec(board, "w1")["changed"] == []
    assert spec(board, "w1")["shape_text"] == "[9, 4]"


def test_the_table_counts_what_differs_and_where_it_differs_most():
    # 0.6 in place of 0.1 meets x = 1.0 and 0.2: hidden grows by 0.5 and 0.1.
    rows = {row["array"]: row for row in change_table(LESSON.edit(("w1", (0, 0), 0.6)))}
    assert rows["W1"] == {
        "array": "W1", "shape": "8 × 4", "changed": "1 of 32", "greatest change": "0.5", "where": "w1[0][0]",
    }  # fmt: skip
    assert (rows["hidden"]["changed"], rows["hidden"]["where"]) == ("2 of 16", "hidden[0][0]")
    assert (rows["W2"]["changed"], rows["W2"]["where"]) == ("0 of 32", "")


def test_the_table_says_of_a_resized_array_what_its_size_was():
    rows = {row["array"]: row for row in change_table(LESSON.edit(("d_ff", (), 9)))}
    assert (rows["W1"]["changed"], rows["W1"]["shape"]) == ("size", "9 × 4")
    assert rows["W1"]["greatest change"] == "was 8 × 4"
    assert rows["output"]["changed"] == "0 of 8", "a ninth neuron of zeros changes nothing"


# Colour scales


@pytest.mark.parametrize(
    ("greatest", "span"),
    [
        (0.4, 0.5),
        (0.5, 0.5),
        (0.51, 1),
        (1.4215, 2),
        (-3, 5),
        (99, 100),
        (0.1 + 0.2, 0.5),
        (0, 1),
        (3e-9, 5e-9),
    ],
)
def test_a_scale_reaches_to_the_next_round_number(greatest, span):
    assert round_span([np.array([0.0, greatest])]) == pytest.approx(span, rel=1e-12)


def test_the_scales_stay_while_a_person_edits_so_that_colour_changes_only_with_value():
    # 0.4 among the weights; 1.4215 = x + output among the numbers that flow.
    assert live()["spans"] == {"weight": 0.5, "signal": 2.0}
    edited = LESSON.edit(("w1", (0, 0), 40.0)).edit(("x", (0, 0), -1e6))
    assert live(edited)["spans"] == live()["spans"]


def test_the_scales_can_be_fitted_to_the_numbers_as_they_are_and_then_stay_too():
    fitted = apply(Session(present=LESSON.edit(("w1", (0, 0), 40.0))), {"kind": "fit", "on": True})
    # 40 among the weights; hidden[0][0] = 40.33 among the numbers that flow.
    assert live_board(fitted)["spans"] == {"weight": 50.0, "signal": 50.0}
    further = apply(fitted, {"kind": "edit", "array": "w1", "index": [0, 0], "value": 0.1})
    assert live_board(further)["spans"] == {"weight": 50.0, "signal": 50.0}
    assert live_board(apply(further, {"kind": "fit", "on": False}))["spans"] == live()["spans"]


def test_the_difference_has_a_scale_of_its_own():
    small = comparison(LESSON.edit(("b2", (0,), 0.0003)), difference=True)
    assert small["spans"] == {"weight": pytest.approx(0.0005), "signal": pytest.approx(0.0005)}


# Before and after


def test_the_difference_is_now_minus_the_start():
    board = comparison(LESSON.edit(("w1", (0, 0), 0.6)), difference=True)
    assert spec(board, "w1")["values"] == [pytest.approx(0.5), *[0.0] * 31]
    assert spec(board, "hidden")["values"] == [pytest.approx(0.5), *[0.0] * 7]
    assert spec(board, "x")["values"] == [0.0] * 4
    # gelu_tanh(0.93) - gelu_tanh(0.43) = 0.7660 - 0.2865, and value 0 is [0.1, 0.2, 0.1, 0.2].
    assert spec(board, "output")["values"] == close_to_4_digits([0.0479, 0.0959, 0.0479, 0.0959])


def test_the_starting_point_is_shown_as_it_was():
    board = comparison(LESSON.edit(("w1", (0, 0), 0.6)), difference=False)
    assert spec(board, "w1")["values"][0] == 0.1
    assert spec(board, "hidden")["values"] == close_to_4_digits(HIDDEN[0])


def test_a_comparison_cannot_be_edited():
    for difference in (True, False):
        board = comparison(LESSON.edit(("w1", (0, 0), 0.6)), difference=difference)
        assert board["log"] is None
        assert not any(spec["editable"] for spec in board["arrays"])


@pytest.mark.parametrize(
    ("edits", "left"),
    [
        ([("d_ff", (), 9)], ["x", "b2", "output", "residual"]),
        ([("d_model", (), 5)], ["b1", "hidden", "activated"]),
        ([("insert_position", (2,), "new")], ["w1", "b1", "w2", "b2"]),
        ([("d_ff", (), 9), ("d_model", (), 5), ("insert_position", (0,), "new")], []),
    ],
)
def test_arrays_of_another_size_are_left_out_of_the_difference(edits, left):
    edited = LESSON.edit(*edits)
    board = comparison(edited, difference=True, position=len(edited.words) - 1)
    assert [spec["id"] for spec in board["arrays"]] == left


def test_a_position_that_was_not_there_at_the_start_shows_one_that_was():
    edited = LESSON.edit(("insert_position", (2,), "new"))
    board = comparison(edited, difference=False, position=2)
    assert spec(board, "x")["values"] == [0.2, -0.4, 0.6, 0.1]


# Arrays larger than the screen


def blocks(board_spec: Spec) -> np.ndarray:
    pooled = board_spec["pooled"]
    levels = np.frombuffer(base64.b64decode(pooled["data"]), dtype=np.int8)
    return levels.reshape(pooled["rows"], pooled["columns"])


def test_up_to_64_an_array_is_whole_and_above_it_is_pooled():
    whole = live(Scenario(base=RandomBase(64, 64, 1, 0)))
    assert [spec["id"] for spec in whole["arrays"] if "pooled" in spec] == []
    wider = live(Scenario(base=RandomBase(4, 65, 1, 0)))
    assert [spec["id"] for spec in wider["arrays"] if "pooled" in spec] == [
        "w1",
        "b1",
        "hidden",
        "activated",
        "w2",
    ]


def test_a_pooled_array_carries_no_more_than_128_by_128_blocks_in_place_of_its_numbers():
    w1 = spec(live(BIG), "w1")
    assert (w1["rows"], w1["columns"], w1["shape_text"]) == (512, 128, "[512, 128]")
    assert w1["values"] == []
    assert not w1["editable"]
    assert blocks(w1).shape == (128, 128)
    assert w1["pooled"]["row_edges"] == list(range(0, 513, 4))
    assert "each shows its entry of greatest magnitude" in w1["describe"]


def test_a_block_keeps_the_entry_that_stands_out_with_its_sign():
    # Rows 16 to 19 of W1 are block 4; one strongly negative weight in them is not averaged away.
    span = live(BIG)["spans"]["weight"]
    edited = BIG.edit(("w1", (17, 3), -span))
    assert blocks(spec(live(edited), "w1"))[4, 3] == -127
    # Elsewhere: the greatest of four, in steps of a 127th of the scale.
    four = array(BIG, "w1")[20:24, 3]
    standing_out = four[np.argmax(np.abs(four))]
    assert blocks(spec(live(edited), "w1"))[5, 3] / 127 * span == pytest.approx(standing_out, abs=span / 254)


def test_a_weight_beyond_the_scale_is_drawn_in_its_last_colour():
    assert blocks(spec(live(BIG.edit(("w1", (17, 3), 1e30))), "w1"))[4, 3] == 127


@pytest.mark.parametrize(
    ("scenario", "neuron"), [(BIG, 300), (BIG, 0), (Scenario(base=RandomBase(12, 20, 3, 1)), 19)]
)
def test_the_strips_of_the_neuron_shown_large_address_its_own_row_and_column(scenario, neuron):
    board = live(scenario, position=2, neuron=neuron)
    ffn, x = scenario.build()
    for name, expected in (
        ("x", x[2]), ("w1", ffn.w1[neuron]), ("b1", ffn.b1[neuron : neuron + 1]), ("w2", ffn.w2[:, neuron]),
    ):  # fmt: skip
        strip = spec(board, f"zoom_{name}")
        assert strip["array"] == name
        assert strip["editable"]
        assert strip["values"] == expected.tolist()
        assert addressed(strip, array(scenario, name)) == strip["values"], name


def test_a_strip_marks_the_weight_that_was_edited():
    edited = BIG.edit(("w1", (300, 70), 1.0)).edit(("w2", (5, 300), 1.0))
    board = live(edited, neuron=300)
    assert spec(board, "zoom_w1")["changed"] == [70]
    assert spec(board, "zoom_w2")["changed"] == [5]
    assert spec(live(edited, neuron=299), "zoom_w1")["changed"] == []


def test_a_small_network_needs_no_neuron_shown_large():
    assert live()["zoom"] is None
    assert live(Scenario(base="cat"))["zoom"] is None


# Ready for the wire


def extreme(*names: str) -> Scenario:
    return LESSON.edit(*((name, (), 1e30) for name in names))


@pytest.mark.parametrize(
    "scenario",
    [
        LESSON, Scenario(base="memories"), Scenario(base="cat"), BIG,
        Scenario(base=RandomBase(1, 1, 1, 0)), Scenario(base=RandomBase(256, 65, 2, 0)),
        extreme("x", "w1", "w2", "b1", "b2"), extreme("x", "w1", "w2").with_activation("relu2"),
        LESSON.edit(*((name, (), 0.0) for name in ("x", "w1", "b1", "w2", "b2"))),
        LESSON.edit(("x", (), -1e-30)), LESSON.edit(("d_model", (), 1), ("d_ff", (), 1)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("compare", [False, True])
def test_every_board_is_json_without_nan(scenario, compare):
    last = len(scenario.words) - 1
    for drawn in DRAWN:
        json.dumps(live(scenario, drawn, position=last, neuron=0, compare=compare), allow_nan=False)
    for difference in (True, False):
        json.dumps(comparison(scenario, difference=difference, position=last), allow_nan=False)


def test_an_edit_of_a_big_network_sends_no_big_message():
    assert len(json.dumps(live(BIG, neuron=0))) < 100_000


# What the panel says


def told(name: str, *index: int, scenario: Scenario = LESSON, position: int = 0) -> Panel:
    return panel(trace(scenario), position, None, Look(array=name, index=index))


def trace(scenario: Scenario = LESSON) -> Trace:
    ffn, x = scenario.build()
    return ffn.forward(x)


def lines(said: Panel) -> list[str]:
    return [line.text for line in said.lines]


@pytest.mark.parametrize(
    ("name", "index", "line"),
    [
        ("hidden", (0, 0), HIDDEN_0_0),
        ("w1", (0, 2), HIDDEN_0_0),  # a weight of key 0 is met in hidden_0
        ("b1", (0,), HIDDEN_0_0),
        ("activated", (0, 0), "activated[0][0] = GELU(0.43) = 0.5*0.43*(1 + tanh(0.3459)) = 0.2865"),
        ("w2", (1, 3), "activated[0][3] = GELU(0.57) = 0.5*0.57*(1 + tanh(0.4614)) = 0.4079"),
        ("x", (0, 2), "residual[0][2] = -0.3 + 0.4249 = 0.1249"),
        ("residual", (0, 0), "residual[0][0] = 1.0 + 0.4215 = 1.4215"),
    ],
)
def test_a_number_is_explained_in_the_lessons_manner(name, index, line):
    assert line in lines(told(name, *index))


@pytest.mark.parametrize(
    ("name", "index"), [("output", (0, 0)), ("residual", (0, 0)), ("b2", (0,)), ("w2", (0, 5))]
)
def test_an_output_is_explained_as_what_all_neurons_wrote(name, index):
    written = "output[0][0] = 0.1*0.2865 + 0.2*0.2384 + 0.1*0.4634 + 0.2*0.4079 + 0.1*0.3544 + 0.2*0.4447"
    assert any(line.startswith(written) and line.endswith("= 0.4215") for line in lines(told(name, *index)))


def test_a_weight_says_what_it_meets_and_what_it_adds():
    # 0.3 * (-0.3); the page writes the typographic minus.
    title = told("w1", 0, 2).title
    assert [part for part in ("w1[0][2] = 0.3", "x[0][2] = −0.3", "−0.09") if part not in title] == []
    # 0.1 * 0.4079
    title = told("w2", 1, 3).title
    assert [part for part in ("w2[1][3] = 0.1", "0.408", "0.0408", "coordinate 1") if part not in title] == []


def test_a_neuron_that_goes_negative_is_remarked_on_and_so_is_a_silent_one():
    assert "negative" in told("hidden", 1, 2, position=1).remark
    assert "silent" in told("hidden", 1, 2, position=1, scenario=LESSON.with_activation("relu")).remark
    # The second lesson's key [1, 1] meets [1, -1]: 0, which ReLU passes as 0.
    assert "silent" in told("activated", 0, 0, scenario=Scenario(base="memories")).remark


def test_the_neuron_that_contributes_most_is_named():
    # 0.2 * 0.4447 = 0.0889 is the greatest of the eight products in output[0][0].
    remark = told("output", 0, 0).remark
    assert "5" in remark
    assert "0.0889" in remark


def test_the_other_nonlinearitys_numbers_are_explained_with_it():
    ffn, x = LESSON.with_activation("relu").build()
    said = panel(trace(), 1, None, Look(array="activated_other", index=(1, 5)), other=ffn.forward(x))
    assert any(
        line.startswith("activated[1][5] = ReLU(-0.03)") and line.endswith("= 0") for line in lines(said)
    )


def test_without_a_number_the_neuron_that_is_followed_is_explained():
    said = panel(trace(), 1, 5, None)
    assert lines(said)[0] == "hidden[1][5] = 0.2*0.2 + 0.4*(-0.4) + 0.1*0.6 + 0.3*0.1 + 0 = -0.03"


@pytest.mark.parametrize(
    "look",
    [
        Look(array="hidden", index=(0, 8)), Look(array="hidden", index=(2, 0)), Look(array="hidden", index=(0, -1)),
        Look(array="w1", index=(0,)), Look(array="__class__", index=(0,)), Look(array="w1", block=(-8, 2, 0, 1)),
        Look(array="w1", block=(8, 9, 0, 1)),
    ],
)  # fmt: skip
def test_pointing_at_no_number_says_how_to_begin(look):
    assert panel(trace(), 0, None, look) == panel(trace(), 0, None, None)


# The walk


def sentences(scenario: Scenario, position: int) -> list[str]:
    return [step.sentence for step in steps(trace(scenario), position)]


def test_the_walk_has_four_steps_and_tells_how_wide_each_makes_its_numbers():
    expand, _, contract, _ = sentences(LESSON, 0)
    assert "4 numbers become 8" in expand
    assert "8 numbers become 4" in contract


def test_the_walk_counts_the_neurons_that_fire():
    # At position 1 the lesson's hidden has six positive values and -0.02, -0.03; GELU lets -0.0146 through.
    activate = sentences(LESSON, 1)[1]
    assert [part for part in ("6 of 8", "2 are negative", "−0.0146") if part not in activate] == []
    activate = sentences(LESSON.with_activation("relu"), 1)[1]
    assert [part for part in ("6 of 8", "2 neurons pass exactly 0") if part not in activate] == []
    assert "8 of 8" in sentences(LESSON, 0)[1]
    assert "negative" not in sentences(LESSON, 0)[1]


def test_the_walk_names_the_strongest_push_on_the_residual():
    # output[1] is [0.0896, 0.0872, 0.0908, 0.0860].
    push = sentences(LESSON, 1)[3]
    assert [part for part in ("0.0908", "coordinate 2") if part not in push] == []


def test_with_the_identity_the_walk_says_that_all_is_one_linear_map():
    assert "linear" in sentences(LESSON.with_activation("identity"), 0)[1]


# The curve


def test_the_point_on_the_curve_is_the_followed_neurons():
    dot = live(neuron=0)["curve"]["dot"]
    assert dot == close_to_4_digits([0.43, 0.2865])
    assert live()["curve"]["dot"] is None


def test_the_curve_passes_through_the_lessons_table():
    # GELU(-2) = -0.0454, GELU(0) = 0, GELU(2) = 1.9546: the lesson prints -0.045, 0 and 1.955.
    curve = live()["curve"]
    assert (curve["x"][0], curve["x"][30], curve["x"][60]) == (-2, 0, 2)
    assert [curve["y"][0], curve["y"][30], curve["y"][60]] == close_to_4_digits([-0.0454, 0, 1.9546])
