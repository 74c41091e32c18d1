"""The page "Traps" as Streamlit runs it, without a browser: nothing is revealed before a prediction, and then it is."""

import pytest
from streamlit.testing.v1 import AppTest

from ffn_app.traps.form import Trap
from ffn_app.traps_page import TRAPS
from ffn_core.scenario import Scenario
from ffn_core.traps import NAMES
from tests.test_pages import FRAME, component, labelled, sent, session, visit

EVERY_TRAP = pytest.mark.parametrize("trap", TRAPS.values(), ids=lambda trap: trap.name)


def opened(name: str, **query: str) -> AppTest:
    return visit("traps", {"trap": name, **query})


def predict(visitor: AppTest, question: str, answer: str) -> AppTest:
    key = f"traps_{question}_guess"
    if any(radio.key == key for radio in visitor.radio):
        visitor.radio(key=key).set_value(answer)
    else:
        visitor.text_input(key=key).set_value(answer)
    return visitor.button(key=f"traps_{question}_check").click().run()


def just_shown(visitor: AppTest, trap: Trap) -> AppTest:
    for question in trap.questions:
        visitor.button(key=f"traps_{question.name}_show").click().run()
    assert errors(visitor) == []
    return visitor


def errors(visitor: AppTest) -> list[str]:
    return [error.value for error in visitor.exception]


def told(visitor: AppTest) -> str:
    parts = (*visitor.markdown, *visitor.code, *visitor.info, *visitor.success, *visitor.caption)
    return "\n".join(part.value for part in parts)


def blocks(visitor: AppTest) -> list[str]:
    return [block.value for block in visitor.code]


# Predict first


def test_the_page_has_a_trap_for_every_name_that_a_link_may_hold():
    assert tuple(TRAPS) == NAMES


@EVERY_TRAP
def test_nothing_is_revealed_before_a_prediction(trap):
    visitor = opened(trap.name)
    assert errors(visitor) == []
    first = trap.questions[0]
    assert blocks(visitor) == [first.given]
    assert first.because not in told(visitor)
    assert trap.notice not in told(visitor)
    assert [head.value for head in visitor.header] == [trap.title]
    assert visitor.get("bidi_component")[1:] == []  # the frame alone


@EVERY_TRAP
def test_just_show_me_reveals_one_experiment_after_the_other(trap):
    visitor = opened(trap.name)
    for number, question in enumerate(trap.questions, start=1):
        assert trap.notice not in told(visitor)
        visitor.button(key=f"traps_{question.name}_show").click().run()
        assert errors(visitor) == []
        assert visitor.info[number - 1].value.startswith("The answer: **")
        assert question.because in told(visitor)
    assert trap.notice in told(visitor)


@pytest.mark.parametrize(
    ("trap", "question", "answer"),
    [
        ("orientation", "orientation_square", "Other numbers come out, and nothing complains"),
        ("stride", "stride_square", "None"),
        ("after", "after", "1"),
        ("none", "none", "0"),
        ("before", "before", "[1, 1]"),
        ("bias", "bias", "1"),
        ("column", "column_square", "Other numbers come out, and nothing complains"),
        ("form", "form", "near x = ±2.7"),
        ("top_k", "top_k", "0,88"),
        ("gate", "gate", "−0.238"),
    ],
)
def test_a_right_prediction_is_said_to_be_right(trap, question, answer):
    visitor = predict(opened(trap), question, answer)
    assert errors(visitor) == []
    [verdict] = visitor.success
    assert verdict.value.startswith("You predicted **")
    assert "and that is right" in verdict.value


@pytest.mark.parametrize(
    ("trap", "question", "answer", "verdict"),
    [
        ("after", "after", "0", "You predicted **0**; it is **1**."),
        ("top_k", "top_k", "0.87", "You predicted **0.87**; it is **0.881**."),
        ("before", "before", "[0, 2]", "You predicted **[0, 2]**; it is **[1, 1]**."),
    ],
)
def test_another_prediction_is_kept_beside_the_answer(trap, question, answer, verdict):
    visitor = predict(opened(trap), question, answer)
    assert [info.value.startswith(verdict) for info in visitor.info] == [True]
    assert not visitor.success


@pytest.mark.parametrize(
    ("question", "second", "answer"),
    [
        ("orientation", "orientation_oblong", "NumPy raises an error"),
        ("stride", "stride_oblong", "3, 4, 5"),
        ("column", "column_single", "2"),
        ("gate", "gate_silent", "0.27"),
    ],
)
def test_the_second_experiment_is_marked_like_the_first(question, second, answer):
    visitor = opened(question)
    visitor.button(key=f"traps_{TRAPS[question].questions[0].name}_show").click().run()
    assert "that is right" in predict(visitor, second, answer).success[0].value


@pytest.mark.parametrize(
    ("trap", "question", "text"),
    [("after", "after", "many"), ("after", "after", ""), ("after", "after", "nan")],
)
def test_what_is_no_number_is_no_prediction(trap, question, text):
    visitor = predict(opened(trap), question, text)
    assert visitor.warning[0].value.startswith("There is no prediction yet: the number ")
    assert blocks(visitor) == [TRAPS[trap].questions[0].given]


def test_no_choice_is_no_prediction():
    visitor = opened("before")
    visitor.button(key="traps_before_check").click().run()
    assert "choose one of the answers" in visitor.warning[0].value
    assert len(blocks(visitor)) == 1


def test_predictions_are_remembered_from_trap_to_trap_and_counted():
    visitor = predict(opened("after"), "after", "1")
    labelled(visitor.button, "Next trap").click().run()
    predict(visitor, "none", "5")
    assert "answered 2 of 14 experiments, 1 of them as you predicted" in told(visitor)
    labelled(visitor.button, "Previous trap").click().run()
    assert "You predicted **1**" in visitor.success[0].value


def test_answers_can_be_hidden_for_the_next_class():
    visitor = just_shown(opened("orientation"), TRAPS["orientation"])
    visitor.button(key="traps_orientation_again").click().run()
    assert blocks(visitor) == [TRAPS["orientation"].questions[0].given]
    assert "answered 0 of 14" in told(visitor)


# What is revealed


def shown(name: str) -> str:
    return "\n".join(blocks(just_shown(opened(name), TRAPS[name])))


@pytest.mark.parametrize(
    ("trap", "lines"),
    [
        # Cases S1, S10, S2, N1, S8, S4 and S5; the others by hand.
        ("orientation", ["hidden[1] = 3.0*1.0 + 4.0*2.0 + 0 = 11", "≠ hidden[1] = 2.0*1.0 + 4.0*2.0 + 0 = 10"]),
        ("orientation", ["hidden[2] = 5.0*1.0 + 6.0*2.0 + 0 = 17", "≠ ValueError: matmul", "size 3 is different from 2"]),
        ("stride", ["  output[1] = 3.0*3.0 + 4.0*7.0 + 0 = 37"]),
        ("stride", ["= 4.0*3.0 + 5.0*7.0 + 6.0*11.0 + 0 = 113", "≠ output[1] = 3.0*3.0 + 4.0*7.0 + 5.0*11.0 + 0 = 92"]),
        ("after", ["residual[0] = 1.0 + (-1.0) = 0", "+ ReLU(output)[0] = ReLU(-3.0)", "≠ residual[0] = 1.0 + 0.0 = 1"]),
        ("none", ["output[0] = 1.0*2.0 + 1.0*0.0 + 0 = 2", "≠ output[0] = 1.0*2.0 + 1.0*(-2.0) + 0 = 0"]),
        ("before", ["output[1] = 0.0*0.0 + 1.0*2.0 + 0 = 2", "≠ output[1] = 0.0*1.0 + 1.0*1.0 + 0 = 1"]),
        ("bias", ["activated[0] = ReLU(0.0)", "≠ activated[0] = ReLU(1.0) = max(0, 1.0) = 1"]),
        ("column", ["position 1: [13, 24]", "≠ position 0: [11, 12]\n≠ position 1: [23, 24]"]),
        ("column", ["≠ position 0: [11, 12]\n≠ position 1: [21, 22]", "b1 must be [d_ff] = [2], got [2, 1]"]),
        ("form", ["GELU(−3) = -0.00404969", "≠ GELU(−3) = -0.00363739", "≠ GELU(1) = 0.841192"]),
        ("top_k", ["= 0.7311", "= 0.2689", "≠ sum = 0.6439 + 0.2369 = 0.8808"]),
        ("gate", ["= -1.462", "≠ activated[0] = SiLU(-2.0)*1.0 = (-0.2384)*1.0 = -0.2384"]),
        ("gate", ["  activated[0] = SiLU(-1.0)*(-1.0) = (-0.2689)*(-1.0) = 0.2689"]),
    ],
)  # fmt: skip
def test_right_and_wrong_stand_side_by_side_with_their_numbers(trap, lines):
    text = shown(trap)
    assert [line for line in lines if line not in text] == []


def test_what_differs_is_said_in_digits_that_differ():
    visitor = just_shown(opened("form"), TRAPS["form"])
    assert "GELU(1) is 0.841192, not 0.841345; GELU(−1) is −0.158808, not −0.158655" in told(visitor)


def test_where_nothing_differs_the_trap_is_said_to_be_silent():
    visitor = just_shown(opened("gate"), TRAPS["gate"])
    assert "The trap is silent here." in told(visitor)


# Other numbers


def test_another_matrix_is_multiplied_both_ways():
    visitor = just_shown(opened("orientation"), TRAPS["orientation"])
    visitor.text_area(key="traps_square_w").set_value("0 1\n2 0").run()
    assert "hidden[0] is 4, not 2; hidden[1] is 1, not 2" in told(visitor)  # [2, 2] and [4, 1]
    visitor.text_area(key="traps_square_w").set_value("1 2 3\n4 5 6").run()
    assert "Here x @ W is the one that runs" in told(visitor)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1 2\n3 a", "row 2, column 2 is not a number"),
        ("1 2\n3", "row 2 has 1"),
        ("1 2 3 4 5 6 7", "up to 6 by 6, got 1 by 7"),
        ("1 nan\n2 3", "row 1, column 2"),
    ],
)
def test_a_matrix_that_cannot_be_read_is_refused_and_the_last_good_one_stays(text, reason):
    visitor = just_shown(opened("orientation"), TRAPS["orientation"])
    visitor.text_area(key="traps_square_w").set_value("0 1\n2 0").run()
    visitor.text_area(key="traps_square_w").set_value(text).run()
    assert errors(visitor) == []
    assert reason in visitor.error[0].value
    assert "hidden[0] is 4, not 2" in told(visitor)


def test_a_bias_of_another_length_is_refused():
    visitor = just_shown(opened("column"), TRAPS["column"])
    visitor.text_input(key="traps_column_square_b").set_value("1 2 3").run()
    assert errors(visitor) == []
    assert "a number for each of the 2 columns, got 3" in visitor.error[0].value


def test_three_positions_and_a_column_of_two_are_told_to_fail():
    visitor = just_shown(opened("column"), TRAPS["column"])
    visitor.text_area(key="traps_column_square_z").set_value("1 2\n3 4\n5 6").run()
    assert "operands could not be broadcast together with shapes (3,2) (2,1)" in "\n".join(blocks(visitor))


def test_the_other_stride_runs_off_the_end_of_w1():
    visitor = just_shown(opened("stride"), TRAPS["stride"])
    visitor.button_group(key="traps_stride_oblong_by").set_value("H").run()
    assert "IndexError: list index out of range" in "\n".join(blocks(visitor))
    assert errors(visitor) == []


def test_every_size_and_row_of_the_flat_lists_can_be_looked_at():
    visitor = just_shown(opened("stride"), TRAPS["stride"])
    for d_model, d_ff, by in ((1, 4, "H"), (4, 1, "D"), (3, 2, "D"), (1, 1, "H")):
        visitor.number_input(key="traps_stride_oblong_d").set_value(d_model)
        visitor.number_input(key="traps_stride_oblong_h").set_value(d_ff)
        visitor.button_group(key="traps_stride_oblong_by").set_value(by).run()
        assert errors(visitor) == []
        assert component(visitor, "traps_stride_oblong_reads")["text"]


def test_sliders_move_x_and_a_coordinate_cannot_go_down():
    visitor = just_shown(opened("after"), TRAPS["after"])
    visitor.slider(key="traps_after_0").set_value(2.0).run()
    # Right: activated [2, 0], output [-2, 2]. Wrong: W2 · x = [-4, 1].
    assert "residual[0] = 2.0 + (-2.0) = 0" in "\n".join(blocks(visitor))
    assert "≠ residual[0] = 2.0 + 0.0 = 2" in "\n".join(blocks(visitor))
    assert (
        "x + FFN(x) is 0 right, 2 with the ReLU after W2 instead"
        in component(visitor, "traps_after_ways")["text"]
    )


def test_the_other_mistake_can_be_chosen():
    visitor = just_shown(opened("after"), TRAPS["after"])
    visitor.button_group(key="traps_after_which").set_value("the ReLU after W2 as well").run()
    assert "+ ReLU(output)[1] = ReLU(1.0) = max(0, 1.0) = 1" in "\n".join(blocks(visitor))


def test_no_choice_of_top_k_is_beyond_the_page():
    visitor = just_shown(opened("top_k"), TRAPS["top_k"])
    visitor.slider(key="traps_top_k_k").set_value(4).run()
    assert errors(visitor) == []
    assert "The trap is silent here." in told(visitor)


def test_the_two_gelus_are_read_where_the_page_on_curves_is():
    visitor = just_shown(opened("form", x="-3"), TRAPS["form"])
    assert "At x = −3 they differ by 0.000412, 10.2% of the value." in told(visitor)
    visitor.slider(key="traps_form_x").set_value(2.0).run()
    assert session(visitor).view.reading == 2


@pytest.mark.parametrize("trap", ["after", "none", "before", "bias", "form"])
@pytest.mark.parametrize("base", ["lesson", "random"])
def test_the_same_mistake_is_made_on_the_open_network(trap, base):
    visitor = visit("traps", {"trap": trap, "ex": base}, {f"traps_{trap}_open": True})
    just_shown(visitor, TRAPS[trap])
    [table] = visitor.dataframe
    assert list(table.value["output"]) == ["right", "the trap", "the trap minus right"]
    if base == "lesson":
        # design.md, The lessons' numbers; its GELU is the tanh form.
        assert list(table.value.iloc[1 if trap == "form" else 0])[1:] == ["0.421", "0.415", "0.425", "0.411"]


# The link


def test_the_link_keeps_the_open_trap_and_an_example_leaves_it_open():
    visitor = visit("traps")
    assert session(visitor).view.trap == "orientation"
    labelled(visitor.button, "Next trap").click().run()
    assert component(visitor, FRAME)["query"] == "trap=stride"
    chosen = sent(Scenario(), {"kind": "base", "name": "cat"})
    there = session(visit("traps", {"trap": "stride"}, chosen))
    assert (there.present.base, there.view.trap) == ("cat", "stride")


@pytest.mark.parametrize("name", ["", "nothing", "<b>", "../stride"])
def test_a_trap_that_is_none_opens_the_first(name):
    visitor = opened(name)
    assert errors(visitor) == []
    assert visitor.header[0].value == "W @ x or x @ W?"


def test_the_first_trap_has_none_before_it_and_the_last_none_after():
    assert labelled(opened("orientation").button, "Previous trap").disabled
    assert labelled(opened("gate").button, "Next trap").disabled
