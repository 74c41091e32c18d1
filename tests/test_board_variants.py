"""The boards of gated networks and of mixtures draw what their traces hold, and edits reach what a cell shows.

The numbers are worked out by hand from the examples "gates" and "experts"; SiLU(1) = 0.731059, SiLU(2) = 1.761594,
SiLU(-1) = -0.268941.
"""

import json
from math import exp
from typing import Any

import numpy as np
import pytest

from ffn_app.board.data import Drawn, comparison_board, fits_neuron_lines, live_board
from ffn_app.board.names import names_of
from ffn_app.board.table import change_table
from ffn_app.look import Look
from ffn_app.session import Session, apply
from ffn_app.view import View
from ffn_core.scenario import RandomBase, Scenario

Spec = dict[str, Any]

GATES = Scenario(base="gates")  # x[0] is [1, 2, 0, 0]
CAT_GATED = Scenario(base="cat_gated")
BIG_GATES = Scenario(base="gated_random")  # 128 to 352
EXPERTS = Scenario(base="experts")
GATED_EXPERTS = Scenario(base="experts_random")
CAT = 1  # the position of "cat" in EXPERTS
NOUNS, VERBS = 1, 2
# The router's rows meet [0, 1, 0, 0, 0.9, 0.6, 0.7, 0]: 0, 3 + 0.7, 1, 0.
CAT_LOGITS = [0, 3.7, 1, 0]
CAT_PROBS = [exp(logit) / (exp(3.7) + exp(1) + 2) for logit in CAT_LOGITS]
CAT_NOUNS = 1 / (1 + exp(1 - 3.7))
"""The weight of the first of the two chosen, 0.937."""
# 1 that a verb follows, 1 + 0.7 - 1 that a noun was wanted, half of 1 + 0.9 - 1 that it is an animal.
FROM_NOUNS = [0, 0, 0, 0, 0.45, 0, -0.7, 1]
FROM_VERBS = [0, 0, 0.5, 0, 0, 0, 0, 0]


def live(scenario: Scenario, drawn: Drawn, look: Look | None = None, **view: Any) -> dict[str, Any]:
    return live_board(Session(present=scenario, view=View(**view), look=look), drawn)


def spec(board: dict[str, Any], name: str) -> Spec:
    return next(spec for spec in board["arrays"] if spec["id"] == name)


def values(board: dict[str, Any], name: str) -> list[float]:
    found: list[float] = spec(board, name)["values"]
    return found


def near(numbers: list[float]) -> Any:
    return pytest.approx(numbers, abs=1e-5)


def entry(of: Spec, cell: int) -> list[int]:
    """The index that a cell is edited at, found as grid.js finds it."""
    row, column = divmod(cell, of["columns"])
    return [
        first + row * down + column * right
        for first, down, right in zip(of["start"], of["row_unit"], of["column_unit"], strict=True)
    ]


# Gated networks


def test_a_line_holds_two_keys_what_each_finds_and_one_value():
    board = live(GATES, "neurons")
    assert values(board, "x") == values(board, "x_again") == [1, 2, 0, 0]
    assert values(board, "w_gate") == [1, 0, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0]
    assert values(board, "hidden") == [1, 2, -1]
    assert values(board, "w_up") == [0, 1, 0, 0] * 3
    assert values(board, "up") == [2, 2, 2]
    assert values(board, "activated") == near([2 * 0.731059, 2 * 1.761594, 2 * -0.268941])
    assert values(board, "w_down") == [0, 0, 1, 0, 0, 0, 0, 1, 0, -0.25, 0, 0], "row j is value j"
    assert values(board, "output") == near([0, -0.25 * 2 * -0.268941, 2 * 0.731059, 2 * 1.761594])


def test_the_point_on_the_curve_is_the_gate_and_not_the_product():
    curve = live(GATES, "neurons", neuron=1)["curve"]
    assert curve["heights"] == near([0.731059, 1.761594, -0.268941])
    assert curve["dot"] == near([2, 1.761594])


def test_a_neuron_that_fires_negatively_contributes_with_that_sign():
    # Each value has one number: 1, 1 and -0.25, of length 0.25.
    assert live(GATES, "neurons")["contributions"] == near([2 * 0.731059, 2 * 1.761594, -0.25 * 2 * 0.268941])


def test_the_two_keys_have_the_same_colour_and_are_told_apart_by_name():
    board = live(GATES, "neurons")
    headings = {name: spec(board, name)["heading"] for name in ("w_gate", "w_up", "w_down")}
    assert headings == {
        "w_gate": "W_gate · gate keys",
        "w_up": "W_up · up keys",
        "w_down": "W_down · values",
    }
    assert {spec(board, name)["concept"] for name in ("w_gate", "w_up")} == {"keys"}


@pytest.mark.parametrize("drawn", ["neurons", "hourglass"])
def test_both_drawings_of_a_gated_network_come_in_the_order_of_the_computation(drawn):
    order = [s["id"] for s in live(GATES, drawn)["arrays"] if s["id"] != "x_again"]
    assert order == ["x", "w_gate", "hidden", "w_up", "up", "activated", "w_down", "output", "residual"]


def test_relu_beside_silu_closes_the_gate_that_is_below_zero():
    board = live(GATES, "neurons", compare=True)
    assert values(board, "activated_other") == [2, 4, 0]
    assert values(board, "output_other") == [0, 0, 2, 4]
    assert live(GATES, "neurons")["compare"] is None


@pytest.mark.parametrize(
    ("scenario", "fits"), [(GATES, True), (CAT_GATED, True), (BIG_GATES, False), (GATED_EXPERTS, True)]
)
def test_what_fits_neuron_lines_is_a_matter_of_width_for_every_family(scenario, fits):
    assert fits_neuron_lines(scenario) is fits


def test_of_a_large_gated_network_one_neuron_is_shown_large_with_both_keys():
    board = live(BIG_GATES, "hourglass", neuron=300, position=2)
    ffn, x = BIG_GATES.build()
    assert spec(board, "w_gate")["pooled"]
    for name, expected in (
        ("x", x[2]), ("w_gate", ffn.w_gate[300]), ("w_up", ffn.w_up[300]), ("w_down", ffn.w_down[:, 300]),
    ):  # fmt: skip
        assert values(board, f"zoom_{name}") == expected.tolist(), name
        assert spec(board, f"zoom_{name}")["editable"], name


def test_the_panel_plugs_numbers_into_the_gate_and_says_what_the_signs_do():
    told = live(GATES, "neurons", Look(array="activated", index=(0, 2)))["panel"]
    lines = [line["text"] for line in told["lines"]]
    assert lines[0].startswith("hidden[0][2] = ")
    assert lines[1].startswith("up[0][2] = ")
    assert lines[2] == "activated[0][2] = SiLU(-1.0)*2.0 = (-0.2689)*2.0 = -0.5379"
    assert "backwards" in told["remark"]
    # A row of W_up feeds up, not hidden.
    assert "adds 2 to up" in live(GATES, "neurons", Look(array="w_up", index=(0, 1)))["panel"]["title"]


def test_both_below_zero_fire_positively():
    below = GATES.edit(("x", (0, 1), -2.0))
    told = live(below, "neurons", Look(array="hidden", index=(0, 2)))["panel"]["remark"]
    assert "both negative" in told
    assert "positively" in told


def test_the_walk_through_a_gated_network_counts_who_fires_backwards():
    steps = live(GATES, "neurons")["steps"]
    assert [step["name"] for step in steps] == ["Expand", "Gate", "Contract", "Add back"]
    assert "2 of 3 neurons fire positively, 1 negatively, and 0 not at all" in steps[1]["sentence"]


# Experts


def test_a_line_of_the_mixture_follows_an_expert_from_its_row_of_the_router_to_its_output():
    board = live(EXPERTS, "experts", position=CAT)
    assert values(board, "router")[8:16] == [1, 3, 0, 0, 0, 0, 1, 0]
    assert values(board, "router_logits") == near(CAT_LOGITS)
    assert values(board, "router_probs") == near(CAT_PROBS)
    assert values(board, "weight_of_expert") == near([0, CAT_NOUNS, 1 - CAT_NOUNS, 0])
    assert values(board, "output_of_expert") == near([*[0] * 8, *FROM_NOUNS, *FROM_VERBS, *[0] * 8])
    mixed = CAT_NOUNS * np.array(FROM_NOUNS) + (1 - CAT_NOUNS) * np.array(FROM_VERBS)
    assert values(board, "output") == near(mixed.tolist())
    assert values(board, "residual") == near((EXPERTS.arrays["x"][CAT] + mixed).tolist())


def test_an_expert_that_is_not_chosen_is_greyed_says_so_and_shows_no_output():
    board = live(EXPERTS, "experts", position=CAT)
    weight, output = spec(board, "weight_of_expert"), spec(board, "output_of_expert")
    assert weight["hushed"] == [0, 3]
    assert weight["notes"] == ["not chosen", "1st", "2nd", "not chosen"]
    assert output["blank"]
    assert output["hushed"] == [*range(8), *range(24, 32)]
    assert [label["note"] for label in board["line_labels"]] == weight["notes"]


def test_an_expert_without_room_is_marked_as_dropped():
    # Nouns have room for ceil(6 · 2 / 4 · 1) = 3; of The, cat, a and mat the least probable is The, with 0.11.
    board = live(EXPERTS.edit(("capacity", (), 1.0)), "experts", position=0)
    weight = spec(board, "weight_of_expert")
    assert (weight["notes"][NOUNS], weight["signs"][NOUNS], weight["values"][NOUNS]) == (
        "2nd, dropped",
        "✕ ",
        0,
    )
    assert set(range(8, 16)) <= set(spec(board, "output_of_expert")["hushed"])
    assert board["contributions"][NOUNS] == 0


def test_only_x_and_the_router_are_edited_on_the_mixtures_board():
    board = live(EXPERTS, "experts")
    assert [s["id"] for s in board["arrays"] if s["editable"]] == ["x", "router"]


def test_an_experts_contribution_is_as_long_as_its_weight_times_its_output():
    length = np.sqrt(0.45**2 + 0.7**2 + 1)
    assert live(EXPERTS, "experts", position=CAT)["contributions"] == near(
        [0, CAT_NOUNS * length, (1 - CAT_NOUNS) * 0.5, 0]
    )


def test_a_press_on_a_line_chooses_an_expert_and_one_is_always_chosen():
    board = live(EXPERTS, "experts", expert=VERBS)
    assert (board["follows"], board["expert"]) == ("expert", VERBS)
    assert board["line_labels"][VERBS]["name"] == "verbs"


@pytest.mark.parametrize(
    ("name", "index", "said"),
    [
        ("router", (NOUNS, 6), "adds 0.7 to its logit"),
        ("router_probs", (CAT, NOUNS), "chosen 1st"),
        ("weight_of_expert", (CAT, 0), "not among the 2 most probable of 4"),
        ("output_of_expert", (CAT, 3, 0), "computes nothing"),
        ("output_of_expert", (CAT, NOUNS, 4), "is multiplied by 0.937"),
        ("output", (CAT, 4), "Expert 1 (nouns) contributes most"),
        ("residual", (CAT, 0), "No expert adds anything"),
    ],
)
def test_a_number_of_the_mixture_is_explained(name, index, said):
    told = live(EXPERTS, "experts", Look(array=name, index=index), position=CAT)["panel"]
    assert said in json.dumps(told, ensure_ascii=False)


def test_the_walk_through_a_mixture_names_who_is_chosen():
    choose = live(EXPERTS, "experts", position=CAT)["steps"][1]["sentence"]
    assert "Expert 1 (nouns) with 0.937 and Expert 2 (verbs) with 0.063" in choose


# One expert


def test_one_experts_board_is_its_own_network_at_the_present_position():
    board = live(EXPERTS, "expert", expert=NOUNS, position=CAT)
    assert values(board, "hidden") == near([1, 0.7, 0.9, 0])
    assert values(board, "output") == near(FROM_NOUNS)
    assert "residual" not in [s["id"] for s in board["arrays"]], (
        "x is added to the mixture, not to one expert"
    )
    assert "chose this expert 1st" in board["note"]


def test_an_expert_that_the_position_is_not_sent_to_shows_what_it_would_compute_and_says_so():
    board = live(EXPERTS, "expert", expert=0, position=CAT)
    assert "does not send position 1 (cat)" in board["note"]
    # Its last neuron waits for a preposition, the others for a determiner: only the first two biases are below 0.
    assert values(board, "hidden") == near([0, 0.6 - 1, -0.6 - 1, 0])


def test_an_experts_numbers_are_explained_by_its_own_trace_and_its_neurons_have_their_names():
    look = Look(array="w1", index=(NOUNS, 2, 4))
    told = live(EXPERTS, "expert", look, expert=NOUNS, position=CAT)["panel"]
    assert "nouns: an animal" in told["title"]
    assert "adds 0.9 to hidden" in told["title"]
    # What is pointed at on another expert's board, or in the mixture, is not in it.
    for other in (Look(array="w1", index=(VERBS, 2, 4)), Look(array="output", index=(CAT, 4))):
        assert live(EXPERTS, "expert", other, expert=NOUNS, position=CAT)["panel"]["idle"]


def test_a_small_gated_expert_is_drawn_as_lines_like_any_gated_network():
    board = live(GATED_EXPERTS, "expert", expert=3)
    assert (board["drawn"], board["columns"]) == ("neurons", "gated")
    assert values(board, "w_gate") == GATED_EXPERTS.build()[0].experts[3].w_gate.ravel().tolist()
    assert live(EXPERTS, "expert")["drawn"] == "hourglass"


def test_one_expert_leads_no_page_so_that_position_steps_and_fit_are_there_once():
    board = live(EXPERTS, "expert", step=2)
    assert (board["leads"], board["step"], board["steps"]) == (False, None, [])
    assert live(EXPERTS, "experts")["leads"]


# Edits


@pytest.mark.parametrize(
    ("scenario", "drawn", "expert"),
    [
        (GATES, "neurons", 0),
        (GATES, "hourglass", 0),
        (BIG_GATES, "hourglass", 0),
        (EXPERTS, "experts", 0),
        (EXPERTS, "expert", 3),
        (GATED_EXPERTS, "expert", 5),
        (Scenario(base=RandomBase(20, 100, 2, 0, kind="experts_gated", n_experts=3)), "expert", 2),
        (Scenario(base=RandomBase(20, 24, 2, 0, kind="experts", n_experts=3)), "expert", 1),
    ],
)
def test_a_number_typed_into_a_cell_reaches_the_entry_that_it_shows_and_is_marked_there(
    scenario, drawn, expert
):
    session = Session(present=scenario, view=View(position=1, neuron=1, expert=expert))
    editable = [s for s in live_board(session, drawn)["arrays"] if s["editable"]]
    assert {s["array"] for s in editable} >= {"x"}
    for of in editable:
        cell = len(of["values"]) - 1
        index = entry(of, cell)
        assert scenario.arrays[of["array"]][tuple(index)] == of["values"][cell], of["id"]
        after = apply(session, {"kind": "edit", "array": of["array"], "index": index, "value": 7.5})
        assert after.problem is None
        assert after.present.arrays[of["array"]][tuple(index)] == 7.5
        shown = spec(live_board(after, drawn), of["id"])
        assert (shown["values"][cell], shown["changed"]) == (7.5, [cell]), of["id"]


@pytest.mark.parametrize("text", ["7\n8", "7\t8"])
def test_a_line_pasted_into_an_experts_bias_stays_in_that_expert(text):
    after = apply(Session(present=EXPERTS), {"kind": "paste", "array": "b1", "index": [1, 1], "text": text})
    b1 = after.present.arrays["b1"]
    assert b1[1].tolist() == [0, 7, 8, 0]
    assert b1[2].tolist() == EXPERTS.arrays["b1"][2].tolist()


@pytest.mark.parametrize(
    ("scenario", "event", "chosen"),
    [
        (BIG_GATES, {"array": "w_gate", "block": [9, 10, 0, 128]}, {"neuron": 9}),
        (BIG_GATES, {"array": "w_up", "index": [9, 3]}, {"neuron": 9}),
        (BIG_GATES, {"array": "w_down", "index": [3, 9]}, {"neuron": 9}),
        (BIG_GATES, {"array": "up", "index": [0, 9]}, {"neuron": 9}),
        (EXPERTS, {"array": "router", "index": [3, 0]}, {"expert": 3}),
        (EXPERTS, {"array": "output_of_expert", "index": [0, 3, 1]}, {"expert": 3}),
        (EXPERTS, {"array": "hidden", "index": [0, 2]}, {"neuron": 2}),
        (EXPERTS, {"array": "w1", "index": [0, 2, 5]}, {"neuron": 2}),
        (EXPERTS, {"array": "expert_output", "index": [0, 2]}, {}),
        (EXPERTS, {"array": "output", "index": [0, 2]}, {}),
    ],
)
def test_a_press_chooses_the_neuron_or_the_expert_that_a_number_is_of(scenario, event, chosen):
    before = Session(present=scenario)
    after = apply(before, {"kind": "select", **event})
    seen = {"neuron": after.view.neuron, "expert": after.view.expert}
    assert seen == {"neuron": None, "expert": 0} | chosen


# Before and after


@pytest.mark.parametrize(
    ("scenario", "edit", "array", "moved"),
    [
        (GATES, ("w_up", (1, 1), 2.0), "W_up", {"hidden": 0, "up": 1}),
        (EXPERTS, ("router", (0, 1), 9.0), "router", {"router_logits": 1}),
        (EXPERTS, ("w1", (1, 0, 1), 2.0), "W1", {"router_logits": 0}),
    ],
)
def test_the_table_of_changes_covers_every_array_of_every_family(scenario, edit, array, moved):
    rows = {row["array"]: row for row in change_table(scenario.edit(edit))}
    assert rows[array]["changed"].startswith("1 of ")
    assert rows[array]["where"] == edit[0] + "".join(f"[{i}]" for i in edit[1])
    for name, some in moved.items():
        assert (rows[name]["where"] != "") is bool(some), name
    assert rows["x"]["where"] == ""


def test_the_table_says_that_experts_were_added():
    rows = {row["array"]: row for row in change_table(EXPERTS.edit(("n_experts", (), 5)))}
    assert rows["W1"]["greatest change"] == "was 4 × 4 × 8"
    assert rows["output"]["changed"] != "size"


def test_the_comparison_of_a_gated_network_is_now_minus_the_start():
    session = Session(present=GATES.edit(("w_up", (1, 1), 2.0)))
    board = comparison_board(session, difference=True)
    assert values(board, "up") == [0, 2, 0]
    assert values(board, "output") == near([0, 0, 0, 2 * 1.761594])


def test_a_comparison_without_an_array_that_was_resized_still_draws_the_rest():
    session = Session(present=EXPERTS.edit(("n_experts", (), 5)))
    board = comparison_board(session, difference=True)
    assert [s["id"] for s in board["arrays"]] == ["x", "output", "residual"]


def test_an_expert_that_was_added_has_no_marks_and_no_name():
    added = EXPERTS.edit(("n_experts", (), 5))
    assert spec(live(added, "expert", expert=4), "w1")["changed"] == []
    names = names_of(added)
    assert (names.expert(1), names.expert(4)) == ("Expert 1 (nouns)", "Expert 4")


def test_the_names_of_an_example_go_when_its_width_is_changed():
    assert names_of(EXPERTS.edit(("d_ff", (), 5))).experts == ()
    assert names_of(CAT_GATED).neurons[0] == "determiner: noun follows"


def test_a_memory_that_was_broken_is_named_by_what_it_matches_now():
    gate = Scenario(base="and_gate")
    assert names_of(gate).neuron(0) == "Neuron 0 (fires where a + b > 1)"
    assert names_of(gate.edit(("b1", (0,), 0.0))).neuron(0) == "Neuron 0 (fires where a + b > 0)"
    two = Scenario(base="memories").edit(("w1", (1, 1), 0.5))
    assert names_of(two).neurons == ("fires where x1 + x2 > 0", "fires where x1 + 0.5·x2 > 0")
    assert names_of(gate.edit(("strength", (0,), 0.0))).neuron(0) == "Neuron 0 (fires where a + b > 1)", (
        "its key still does"
    )


def test_a_neuron_with_a_job_is_said_to_have_had_it_once_one_of_its_weights_was_changed():
    cat = Scenario(base="cat")
    for edit in (("w1", (0, 3), 1.0), ("b1", (0,), -0.5), ("w2", (7, 0), 1.0)):
        first, second, *_ = names_of(cat.edit(edit)).neurons
        assert (first, second) == ("was: determiner: noun follows", "noun: verb follows")
    assert names_of(cat.edit(("x", (0, 0), 3.0), ("b2", (0,), 1.0))).neurons == names_of(cat).neurons
    once = EXPERTS.edit(("w2", (1, 0, 2), 9.0))
    of_one = names_of(EXPERTS).neurons
    changed = [j for j, job in enumerate(names_of(once).neurons) if job != of_one[j]]
    assert changed == [len(of_one) // 4 + 2], "neuron 2 of the second of four experts"


EVERY = (GATES, CAT_GATED, BIG_GATES, EXPERTS, GATED_EXPERTS, Scenario(base="one_expert"))


@pytest.mark.parametrize(
    "scenario", [*EVERY, GATES.edit(("x", (), 1e30), ("w_gate", (), 1e30), ("w_up", (), 1e30))]
)
@pytest.mark.parametrize("compare", [False, True])
def test_every_board_of_every_family_is_json_without_nan(scenario, compare):
    drawings: tuple[Drawn, ...] = ("experts", "expert") if scenario.kind.mixes else ("hourglass", "neurons")
    for drawn in drawings:
        json.dumps(live(scenario, drawn, neuron=0, compare=compare), allow_nan=False)
    for difference in (True, False):
        json.dumps(comparison_board(Session(present=scenario), difference=difference), allow_nan=False)
