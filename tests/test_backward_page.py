"""The page "Backward", run as Streamlit runs it, without a browser."""

import json

import pytest

from ffn_app.backward_page import MOST_HELD, _numbers_held, _ranges
from ffn_app.figures.backward import gradients_of
from ffn_app.session import open_session
from ffn_core.examples import EXAMPLES
from ffn_core.scenario import Edit, Scenario
from tests.test_pages import component, labelled, session, undone, visit

HEADERS = [
    "Forward, and under it backward",
    "One step down",
    "Why ReLU neurons die and GELU's do not",
    "Check it",
]


def backward(**query):
    return visit("backward", query)


def codes(visitor):
    return [block.value for block in visitor.code]


def metric(visitor, label):
    return labelled(visitor.metric, label).value


def cells(visitor, half, name):
    """The numbers in the cells of an array, by the name in their hover texts."""
    data = json.loads(component(visitor, f"backward_{half}")["figure"])["data"]
    [texts] = [trace["text"] for trace in data if trace["hovertext"][0][0].startswith(f"{name}[")]
    return texts


@pytest.mark.parametrize("base", EXAMPLES)
@pytest.mark.parametrize("more", [{}, {"d": "one", "i": "1", "g": "w2.1.1", "act": "relu"}])
def test_the_page_opens_with_every_example_and_start(base, more):
    visitor = backward(ex=base, **more)
    assert [error.value for error in visitor.exception] == []
    assert [error.value for error in visitor.error] == []
    assert session(visitor).present.base == base
    assert [head.value for head in visitor.header] == HEADERS


# Where it starts


def test_all_ones_start_with_1_everywhere_and_send_back_the_sums_of_the_values():
    visitor = backward(d="ones")
    assert cells(visitor, "second", "d_output") == [["1"]] * 4
    assert (
        cells(visitor, "second", "d_activated") == [["0.6"]] * 8
    )  # each value is 0.1, 0.1, 0.2, 0.2 in some order


def test_one_coordinate_sends_back_its_row_of_w2():
    visitor = backward(d="one")
    labelled(visitor.selectbox, "Coordinate of the output").set_value(1).run()
    assert cells(visitor, "second", "d_output") == [["0"], ["1"], ["0"], ["0"]]
    assert cells(visitor, "second", "d_activated") == [[text] for text in cells(visitor, "second", "w2")[1]]
    assert session(visitor).view.coordinate == 1


def test_a_target_that_is_typed_moves_the_loss_and_belongs_to_the_view():
    visitor = backward()
    labelled(visitor.number_input, "target[1]").set_value(1.0).run()
    assert session(visitor).view.target == (0.0, 1.0)
    # (0.4145 - 1) · 2 / 4; design.md, The lessons' numbers.
    assert cells(visitor, "second", "d_output")[1] == ["−0.293"]
    labelled(visitor.number_input, "target[1]").set_value(0.1 + 0.2).run()
    assert session(visitor).view.target == (0.0, 0.3), "as the box shows it"


def test_a_start_that_is_chosen_belongs_to_the_view_and_undo_leaves_it():
    visitor = backward()
    labelled(visitor.button_group, "d_output is the gradient of").set_value("ones").run()
    assert session(visitor).view.start == "ones"
    assert session(visitor).present.edits == ()


@pytest.mark.parametrize(
    ("typed", "reason"),
    [("1 x", "x"), (" ".join(["1"] * 129), "128 numbers"), ("5000", "between -1000 and 1000")],
)
def test_a_wide_networks_target_is_typed_as_a_line_and_a_wrong_one_is_told_and_changes_nothing(typed, reason):
    visitor = backward(ex="random", y="0.5")
    [line] = [box for box in visitor.text_input if box.label.startswith("Target: up to 128 numbers")]
    line.set_value("1 −2 0,25").run()
    assert session(visitor).view.target == (1.0, -2.0, 0.25)
    [line] = [box for box in visitor.text_input if box.label.startswith("Target: up to 128 numbers")]
    line.set_value(typed).run()
    [error] = visitor.error
    assert reason in error.value
    assert session(visitor).view.target == (1.0, -2.0, 0.25)


def test_the_other_positions_get_no_gradient_and_the_page_says_so():
    assert any("The loss looks at position 1 alone" in text.value for text in backward(p="1").caption)


# One entry


def test_an_entry_from_the_lists_is_explained_with_its_numbers():
    visitor = backward(d="ones")
    labelled(visitor.selectbox, "Gradient").set_value("w1").run()
    labelled(visitor.number_input, "row, 0 to 7").set_value(3).run()
    labelled(visitor.number_input, "column, 0 to 3").set_value(2).run()
    assert session(visitor).view.entry == "w1.3.2"
    [code] = codes(visitor)
    assert "dW1[3][2] = " in code
    assert "*(-0.3) + 0.0*0.6 = " in code
    labelled(visitor.selectbox, "Gradient").set_value("x").run()
    assert session(visitor).view.entry == "x.3"
    assert [box.label for box in visitor.number_input if box.label.startswith("entry")] == ["entry, 0 to 3"]


def test_a_link_opens_with_its_entry_explained():
    [code] = codes(backward(d="ones", g="hidden.2", act="relu", p="1"))
    assert code.splitlines() == [
        "d_hidden[p][j] = d_activated[p][j] * ReLU'(hidden[p][j])",
        "d_hidden[1][2] = d_activated[1][2]*ReLU'(hidden[1][2]) = 0.6*ReLU'(-0.02) = 0.6*0.0 = 0",
    ]


def test_strengths_count_in_the_gradients():
    visitor = visit("backward", Scenario().edit(("strength", (0,), 0.5)).to_query() | {"d": "ones"})
    assert cells(visitor, "second", "d_activated")[:2] == [["0.3"], ["0.6"]]
    assert any("Strengths stay" in text.value for text in visitor.caption)


def test_colours_keep_their_range_while_the_weights_change():
    def ranges(scenario):
        opened = open_session(scenario.to_query() | {"d": "ones"})
        ffn, x = opened.present.build()
        trace = ffn.forward(x)
        d_output = opened.view.objective.d_output(trace)
        return _ranges(opened, trace, gradients_of(trace.backward(d_output), d_output))

    assert ranges(Scenario()) == ranges(Scenario().edit(("w2", (), 2.0)))
    assert ranges(Scenario())["hidden"] == 1.0  # 0.6 times slopes up to 0.93, rounded up
    far = ranges(Scenario().edit(("w2", (), 1e28)))
    assert far["weight"] == 1e28, "all in one colour else"
    assert far["activated"] == 5e28  # 4 · 1e28, rounded up
    assert far["w2"] == ranges(Scenario())["w2"]  # activated times 1, as before


# One step


def test_a_step_is_one_edit_that_lowers_the_loss_as_foretold_and_undo_takes_it_back():
    visitor = backward(y="1")
    foretold = metric(visitor, "Loss after the step")
    labelled(visitor.button, "Take the step").click().run()
    assert metric(visitor, "Loss now") == foretold
    assert len(session(visitor).present.edits) == 1
    labelled(visitor.button, "Take the step").click().run()
    assert len(session(visitor).present.edits) == 2
    undone(visitor)
    assert metric(visitor, "Loss now") == foretold
    undone(visitor)
    assert session(visitor).present.edits == ()


def test_only_the_chosen_arrays_move():
    visitor = backward(y="1")
    labelled(visitor.button_group, "Arrays that move").set_value(["b2"]).run()
    labelled(visitor.number_input, "Learning rate").set_value(1.0).run()
    labelled(visitor.button, "Take the step").click().run()
    after, before = session(visitor).present.build()[0], Scenario().build()[0]
    assert after.w1.tolist() == before.w1.tolist()
    # b2 was 0, and its gradient is d_output = 2 · (output - target) / 4.
    assert after.b2.tolist() == pytest.approx([0.2893, -0.2073, -0.2125, -0.2055], abs=1e-4)


@pytest.mark.parametrize("rate", [1e6, 0.0])
def test_a_step_that_cannot_be_taken_is_refused_beside_the_button_and_changes_nothing(rate):
    huge = Scenario().edit(("w1", (), 1e28), ("w2", (), 1e28))
    visitor = visit("backward", huge.to_query() | {"d": "ones"})
    labelled(visitor.number_input, "Learning rate").set_value(rate).run()
    assert labelled(visitor.button, "Take the step").disabled
    assert any("learning rate" in error.value for error in visitor.error)
    assert metric(visitor, "Loss now") not in ("", "–")
    assert [metric(visitor, label) for label in ("Loss after the step", "Change")] == ["–", "–"]
    assert [error.value for error in visitor.exception] == []
    assert session(visitor).present.edits == huge.edits


def test_a_step_past_the_valley_is_warned_of():
    visitor = backward(y="1")
    labelled(visitor.number_input, "Learning rate").set_value(50.0).run()
    assert any("The loss would grow" in warning.value for warning in visitor.warning)


def test_what_descends_without_end_is_told():
    assert any("the steps never end" in text.value for text in backward(d="ones").caption)


def test_the_numbers_that_edits_hold_are_counted_so_that_undo_stays_within_memory():
    block = Edit("w1", (0, 0), ((1.0, 2.0), (3.0, 4.0)))
    assert _numbers_held([Edit("together", (), (block, Edit("b1", (0,), (1.0, 2.0)))), block]) == 10
    assert MOST_HELD > 10 * 131_712, "ten steps of 128 to 512 (case C1)"


# Flat slopes


def test_relus_blocked_neurons_are_named_beside_gelu_which_blocks_none():
    [table] = [table.value for table in backward(p="1", act="relu").table if "nonlinearity" in table.value]
    here = table["slope exactly 0 at position 1"].tolist()
    assert here == ["2 of 8: neuron 2, 5", "none of 8"]  # hidden is -0.02 and -0.03 there
    assert table["nonlinearity"].tolist() == ["ReLU", "GELU"]
    dead = table["slope exactly 0 at every position: dead for this sequence"].tolist()
    assert dead == ["none of 8", "none of 8"]  # at position 0 they are above 0


def test_a_neuron_that_is_switched_off_gets_no_gradient_though_its_slope_is_not_0():
    query = Scenario().edit(("strength", (3,), 0.0)).to_query() | {"d": "ones"}
    [table] = [t.value for t in visit("backward", query).table if "nonlinearity" in t.value]
    assert table["gradient 0 though the slope is not"].tolist()[0] == "1 of 8: neuron 3"


# The check


def checks(visitor):
    [table] = [table.value for table in visitor.table if "entries compared" in table.value]
    return {row["array"]: row for row in table.to_dict("records")}


def test_all_gradients_are_right_at_the_usual_h():
    rows = checks(backward(y="1"))
    assert {name: row["entries compared"] for name, row in rows.items()} == {
        "x": "4 of 4", "W1": "32 of 32", "b1": "8 of 8", "W2": "32 of 32", "b2": "4 of 4",
    }  # fmt: skip
    assert all(float(row["greatest relative error"].replace("−", "-")) < 1e-7 for row in rows.values())


def test_a_larger_h_makes_the_error_larger_and_the_mark_stands_there():
    visitor = backward(y="1")
    visitor.select_slider("backward_h").set_value(0.1).run()
    assert float(checks(visitor)["W1"]["greatest relative error"].replace("−", "-")) > 1e-5
    look = json.loads(component(visitor, "backward_errors")["figure"])["layout"]
    assert look["shapes"][0]["x0"] == 0.1


def test_a_corner_is_skipped_and_told():
    # b1 = 0 and W1 = 0: every hidden is exactly 0, at ReLU's corner (case N7).
    query = Scenario().edit(("w1", (), 0.0)).with_activation("relu").to_query() | {"d": "ones"}
    visitor = visit("backward", query)
    assert checks(visitor)["b1"]["at a corner, skipped"] == 8
    assert any("false alarm" in text.value for text in visitor.caption)


def test_a_large_network_is_checked_at_a_bounded_number_of_entries_and_the_page_says_so():
    visitor = backward(ex="random")
    assert checks(visitor)["W1"]["entries compared"] == "30 of 65536"
    assert any("of a large array 30 entries are tried" in text.value for text in visitor.caption)


def test_one_array_is_checked_alone_entry_by_entry():
    visitor = backward(y="1")
    labelled(visitor.button_group, "Gradient of").set_value("b2").run()
    assert list(checks(visitor)) == ["b2"]
    visitor.session_state["backward_entries"] = True
    visitor.run()
    [table] = [frame.value for frame in visitor.dataframe if "difference quotient" in frame.value]
    assert table["entry"].tolist() == ["b2[0]", "b2[1]", "b2[2]", "b2[3]"]
