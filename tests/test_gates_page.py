"""The page "Gates", run as Streamlit runs it, without a browser."""

import pytest

from ffn_core.examples import VARIANTS
from ffn_core.families import kind_of
from ffn_core.scenario import Scenario
from tests.test_pages import component, labelled, session, undone, visit

GATED = [name for name, made in VARIANTS.items() if kind_of(made.ffn).family == "gated"]


def gates(**query):
    return visit("gates", {"ex": "gates"} | query)


def texts(visitor):
    return [text.value for text in visitor.markdown]


@pytest.mark.parametrize("base", GATED)
@pytest.mark.parametrize("view", [{}, {"p": "1", "n": "2"}])
def test_the_page_opens_with_every_gated_example_with_and_without_a_neuron(base, view):
    visitor = visit("gates", {"ex": base} | view)
    assert [error.value for error in visitor.exception] == []
    assert session(visitor).present.base == base
    assert component(visitor, "board")["drawn"] == ("hourglass" if base == "gated_random" else "neurons")
    assert "products are below 0" in component(visitor, "branches")["figure"]
    assert [head.value for head in visitor.header] == [
        "Both branches meet",
        "One neuron: two keys, one value",
        "Who fires where",
        "The output is a sum",
        "As many parameters: 8/3 in place of 4",
        "Is it worth it?",
    ]


def test_the_page_opens_with_the_gated_example_when_the_address_says_nothing():
    visitor = visit("gates")
    assert [error.value for error in visitor.exception] == []
    assert session(visitor).present.base == "gates"


# The kinds of gate


@pytest.mark.parametrize(
    ("kind", "activation", "says"),
    [(1, "gelu", "GeGLU"), (2, "relu", "ReGLU"), (3, "sigmoid", "GLU"), (4, "identity", "bilinear")],
)
def test_a_kind_sets_the_nonlinearity_of_the_gate_and_undo_takes_it_back(kind, activation, says):
    visitor = gates()
    labelled(visitor.button_group, "Kind of gate").set_value(kind).run()
    assert session(visitor).present.activation == activation
    assert any(text.startswith(f"**{says}**: gate = ") for text in texts(visitor))
    undone(visitor)
    assert session(visitor).present.activation == "silu"
    assert labelled(visitor.button_group, "Kind of gate").value == 0


def test_a_kind_changes_the_numbers_of_both_figures():
    visitor = gates(p="1", n="0")
    assert "SiLU(1.0)*(-2.0) = 0.7311*(-2.0) = -1.462" in component(visitor, "written")["text"]  # case S4
    labelled(visitor.button_group, "Kind of gate").set_value(2).run()
    assert "ReLU(1.0)*(-2.0) = 1.0*(-2.0) = -2" in component(visitor, "written")["text"]


def test_a_nonlinearity_of_no_kind_is_told_and_none_is_chosen():
    visitor = gates(act="gelu_tanh")
    assert labelled(visitor.button_group, "Kind of gate").value is None
    assert any(text.startswith("None of the five: gate = GELU tanh") for text in texts(visitor))


def test_the_five_formulas_are_one_click_away():
    visitor = gates()
    visitor.session_state["gates_every_kind"] = True
    visitor.run()
    assert any("SwiGLU" in str(table.value) and "bilinear" in str(table.value) for table in visitor.table)


# One neuron


def test_the_list_follows_a_neuron_whose_numbers_are_plugged_in():
    visitor = gates(p="3")
    labelled(visitor.selectbox, "Neuron").set_value(0).run()
    assert session(visitor).view.neuron == 0
    [code] = [block.value for block in visitor.code if "hidden" in block.value]
    lines = code.splitlines()
    assert lines[0].startswith("hidden[3][0] = 1.0*(-1.0) + ")
    assert lines[1].startswith("up[3][0] = 0.0*(-1.0) + 1.0*(-1.0) + ")
    assert lines[2] == "activated[3][0] = SiLU(-1.0)*(-1.0) = (-0.2689)*(-1.0) = 0.2689"  # case S5
    assert (
        "**The gate is closed: hidden is not above 0. Up is below 0. So neuron 0 fires weakly, positively: minus times "
        "minus.**"
    ) in texts(visitor)


def test_an_edit_moves_the_branches():
    query = Scenario(base="gates").edit(("w_up", (0, 1), 3.0)).to_query()
    visitor = visit("gates", query | {"p": "1", "n": "0"})
    assert "= 0.7311*(-6.0) = -4.386" in component(visitor, "written")["text"]


# Matched parameters


def test_the_boxes_start_at_the_readers_width_and_give_llamas():
    visitor = gates()
    assert labelled(visitor.number_input, "d_model").value == 4
    assert (
        "dense, d_ff 16: 128 parameters; gated, matched, d_ff 10: 120"
        in component(visitor, "matched")["text"]
    )
    for label, value in (("d_model", 8192), ("multiplier", 1.3), ("multiple_of", 4096)):
        labelled(visitor.number_input, label).set_value(value).run()
    assert any("**d_ff = 28,672**" in text for text in texts(visitor))  # case S7
    assert "w_gate: d_ff·d_model = 28,672·8,192 = 234,881,024" in "\n".join(
        block.value for block in visitor.code
    )


def test_parameters_that_do_not_match_to_the_last_say_by_how_much():
    visitor = gates()
    # d_model 4: 2·4·16 = 128 dense; gated 3·4·10 = 120, 8 and 6.25% fewer.
    assert any("8 parameters fewer, -6.25%" in text for text in texts(visitor))
    # d_model 3: 8·3/3 = 8 exactly, and 3·3·8 = 72 = 2·3·12.
    labelled(visitor.number_input, "d_model").set_value(3).run()
    assert any("exactly as many parameters" in text for text in texts(visitor))


def test_a_multiplier_stepped_up_by_tenths_counts_as_the_box_shows_it():
    visitor = gates()
    labelled(visitor.number_input, "d_model").set_value(8192).run()
    labelled(visitor.number_input, "multiplier").set_value(sum([0.1] * 8)).run()  # 0.7999999999999999
    assert any("**d_ff = 17,476**" in text for text in texts(visitor))  # 0.8 · 21,845


def test_a_multiplier_that_leaves_no_neuron_is_told():
    visitor = gates()
    labelled(visitor.number_input, "d_model").set_value(1).run()
    labelled(visitor.number_input, "multiplier").set_value(0.1).run()
    [error] = visitor.error
    assert "multiplier must leave a neuron" in error.value
    assert [error.value for error in visitor.exception] == []


def test_the_published_table_has_its_source_and_says_what_it_is():
    visitor = gates()
    assert any(
        "lower is better" in text and "one run each" in text and "arXiv:2002.05202" in text
        for text in texts(visitor)
    )


# What changed


def test_what_changed_since_the_start_is_one_click_away():
    visitor = visit("gates", Scenario(base="gates").edit(("w_gate", (0, 1), 3.0)).to_query())
    visitor.session_state["gates_changed"] = True
    visitor.run()
    [table] = [frame.value for frame in visitor.dataframe if "greatest change" in frame.value]
    [row] = [row for row in table.to_dict("records") if row["where"] == "w_gate[0][1]"]
    assert (row["changed"], row["greatest change"]) == ("1 of 12", "3")
