"""The two made-up memories that a class can break and mend."""

from typing import Any

from ffn_app.as_wanted import rows, told
from ffn_core.scenario import Scenario

GATE, TWO = Scenario(base="and_gate"), Scenario(base="memories")


def table(scenario: Scenario) -> list[dict[str, Any]]:
    ffn, x = scenario.build()
    return rows(scenario, ffn.forward(x))


def verdicts(scenario: Scenario) -> list[str]:
    return [row[""] for row in table(scenario)]


def test_the_and_gates_table_is_the_truth_table_of_and():
    assert [list(row.values()) for row in table(GATE)] == [
        ["0, 0", "0", "0", "right"],
        ["0, 1", "0", "0", "right"],
        ["1, 0", "0", "0", "right"],
        ["1, 1", "1", "1", "right"],
    ]
    assert list(table(GATE)[0]) == ["a, b", "a and b, wanted", "given now", ""]


def test_it_is_broken_by_its_bias_and_mended_by_its_value():
    counts = GATE.edit(("b1", (0,), 0.0))
    assert verdicts(counts) == ["right", "off by 1", "off by 1", "off by 1"]
    half = GATE.edit(("b1", (0,), -1.5))
    assert verdicts(half) == ["right", "right", "right", "off by 0.5"]
    assert verdicts(half.edit(("w2", (2, 0), 2.0))) == ["right"] * 4
    assert verdicts(GATE.edit(("strength", (0,), 0.0))) == ["right", "right", "right", "off by 1"]


def test_gelu_is_off_by_what_it_lets_through():
    # Case N1: GELU(-1) is -0.1587 and GELU(1) is 0.8413; between them hidden is 0.
    assert verdicts(GATE.with_activation("gelu")) == ["off by 0.159", "right", "right", "off by 0.159"]


def test_writing_to_another_coordinate_is_no_and_gate_either():
    assert verdicts(GATE.edit(("b2", (0,), 3.0))) == ["off by 3"] * 4


def test_a_position_whose_x_was_changed_asks_for_nothing():
    assert [row["a, b"] for row in table(GATE.edit(("x", (1, 0), 5.0)))] == ["0, 0", "1, 0", "1, 1"]
    assert table(GATE.edit(("remove_position", (3,), ""))) == []


def test_a_neuron_more_changes_nothing_of_what_is_wanted():
    assert verdicts(GATE.edit(("d_ff", (), 2))) == ["right"] * 4


def test_the_second_lessons_trace_is_wanted_as_the_lesson_has_it():
    [row] = table(TWO)
    assert (row["x1, x2"], row["x2, wanted"], row[""]) == ("1, −1", "2", "right")
    assert verdicts(TWO.edit(("w1", (1, 1), 1.0))) == ["off by 2"]


def test_other_networks_want_nothing():
    assert [table(Scenario(base=base)) for base in ("lesson", "cat", "random")] == [[], [], []]


def test_what_is_told_counts_the_right_ones():
    assert told(table(GATE)).startswith("Every output is as wanted.")
    assert told(table(GATE.edit(("b1", (0,), 0.0)))).startswith("1 of 4 outputs are as wanted.")
