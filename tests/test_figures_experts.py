"""The figures of "Experts": who is sent where, what one output is mixed from, how evenly the work is shared."""

import math
from dataclasses import replace

import numpy as np
import pytest

from ffn_app.board.names import Names
from ffn_app.figures.experts import (
    balance_formula,
    load,
    mixture,
    numbered,
    parameter_formulas,
    routing,
)
from ffn_app.theme import dark_twins
from ffn_core.dense import FFN
from ffn_core.examples import VARIANTS
from ffn_core.moe import MoE, MoETrace

CLASSES = ("determiners", "nouns", "verbs", "prepositions")
EXAMPLE = VARIANTS["experts"]
TRACE = EXAMPLE.ffn.forward(EXAMPLE.x)
RANDOM = VARIANTS["experts_random"]
RANDOM_TRACE = RANDOM.ffn.forward(RANDOM.x)


def s8(renormalize: bool = True, capacity: float | None = None) -> MoETrace:
    """Case S8, two equal tokens of logits [2, 1, 0, -1], top 2. Expert e's output is e + 1 at its only coordinate."""
    experts = [FFN(w1=[[0.0]], b1=[1.0], w2=[[e + 1.0]], b2=[0.0], activation="identity") for e in range(4)]
    moe = MoE(
        router=[[2], [1], [0], [-1]], experts=experts, top_k=2, renormalize=renormalize, capacity=capacity
    )
    return moe.forward([[1.0], [1.0]])


NAMES = ("first", "second", "third", "fourth")
WORDS = ("one", "other")


def routed(trace: MoETrace, words=WORDS, experts=NAMES, position=0, expert=0):
    return routing(trace, words, experts, position=position, expert=expert)


DRAWINGS = {
    "routing": routed(TRACE, EXAMPLE.words, CLASSES),
    "routing with drops": routed(s8(capacity=0.5)),
    "routing of many": routed(RANDOM_TRACE, RANDOM.words, [f"expert {e}" for e in range(8)]),
    "mixture": mixture(TRACE, EXAMPLE.words, CLASSES, Names(features=EXAMPLE.features), position=1),
    "load": load(s8(capacity=0.5), NAMES),
    "load without drops": load(TRACE, CLASSES),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_plotly_knows_every_property_and_every_colour_has_a_dark_twin(name):
    drawing = DRAWINGS[name]
    assert drawing.figure.layout.title.text
    colours = {word for word in drawing.to_json().split('"') if word.startswith("#")}
    assert colours <= set(dark_twins())


def test_experts_without_a_name_are_numbers():
    assert numbered(["nouns", "expert 1", "verbs"]) == ["0: nouns", "1", "2: verbs"]


# Who goes where


def test_the_heatmap_has_a_row_a_token_and_a_column_an_expert():
    heat, *_ = routed(s8()).figure.data
    # Case S8: softmax([2, 1, 0, -1]).
    np.testing.assert_allclose(heat.z, 2 * [[0.643914, 0.236883, 0.087144, 0.032059]], atol=5e-7)
    assert (heat.zmin, heat.zmax) == (0, 1)
    assert [text.strip() for text in heat.text[0]] == ["0.644", "0.237", "0.0871", "0.0321"]
    layout = routed(TRACE, EXAMPLE.words, CLASSES).figure.layout
    assert layout.yaxis.ticktext == ("0: The", "1: cat", "2: sat", "3: on", "4: a", "5: mat")
    assert layout.yaxis.range == (5.5, -0.5), "the first token is at the top"
    assert layout.xaxis.ticktext == ("0: determiners", "1: nouns", "2: verbs", "3: prepositions")


def test_probability_0_is_paper_and_1_the_fullest_blue():
    heat, *_ = routed(s8()).figure.data
    assert heat.colorscale == ((0.0, "#fafafa"), (0.5, "#93b7dc"), (1.0, "#1d5296"))


def marks_of(drawing):
    """The marks that are shapes: {(token, expert): shape}."""
    shapes = [shape for shape in drawing.figure.layout.shapes if shape.xsizemode == "pixel"]
    return {(shape.yanchor, round(shape.xanchor)): shape for shape in shapes}


def test_the_chosen_are_numbered_in_their_order_in_their_cells():
    marks = marks_of(routed(TRACE, EXAMPLE.words, CLASSES))
    # Each word goes to its own class first, and then to the one that tends to follow.
    assert {place: mark.label.text for place, mark in marks.items()} == {
        (0, 0): "1", (0, 1): "2", (1, 1): "1", (1, 2): "2", (2, 2): "1", (2, 3): "2",
        (3, 3): "1", (3, 0): "2", (4, 0): "1", (4, 1): "2", (5, 1): "1", (5, 2): "2",
    }  # fmt: skip


def test_dropped_ones_have_another_sign_another_form_and_another_colour():
    # A capacity of ceil(2 · 2 / 4 · 1) = 1: the second of the two equal tokens is dropped by both experts.
    marks = marks_of(routed(s8(capacity=1.0)))
    assert {place: mark.label.text for place, mark in marks.items()} == {
        (0, 0): "1", (0, 1): "2", (1, 0): "×", (1, 1): "×",
    }  # fmt: skip
    assert (marks[0, 0].type, marks[1, 0].type) == ("circle", "rect")
    assert marks[0, 0].fillcolor != marks[1, 0].fillcolor


def test_another_top_k_moves_marks_and_leaves_the_heatmap_as_it_is():
    moe, before = RANDOM_TRACE.moe, routed(RANDOM_TRACE, RANDOM.words, 8 * ("e",))
    after = routed(replace(moe, top_k=3).forward(RANDOM.x), RANDOM.words, 8 * ("e",))
    assert len(marks_of(after)) == 16 * 3
    assert after.figure.data == before.figure.data


def many(capacity=None):
    """65 tokens that go to two experts each: more marks than are shapes."""
    return replace(s8(capacity=capacity).moe).forward([[1.0]] * 65)


def test_very_many_marks_are_points_with_the_same_signs():
    trace = many(capacity=1.0)  # ceil(65 · 2 / 4) = 33 of the 65 have room
    _heat, chosen, dropped = routed(trace, ["word"] * 65).figure.data
    assert not marks_of(routed(trace, ["word"] * 65))
    assert (len(chosen.x), len(dropped.x)) == (66, 64)
    assert chosen.customdata.tolist()[:2] == [[0, 0], [0, 1]]
    assert chosen.text[:2] == ("1", "2")
    assert (chosen.marker.symbol, dropped.marker.symbol) == ("circle", "x")
    assert chosen.marker.color != dropped.marker.color
    assert "dropped" in dropped.name
    assert not many().dropped.any()
    assert routed(many(), ["word"] * 65).figure.data[2].showlegend is False


def test_a_press_on_a_cell_or_a_point_chooses_token_and_expert():
    for trace in routed(many(capacity=1.0), ["word"] * 65).figure.data:
        assert trace.meta == {"press": ["position", "expert"]}
    heat, *_ = routed(s8()).figure.data
    assert heat.customdata[1][2].tolist() == [1, 2]


def test_the_chosen_token_and_expert_are_framed_by_shapes_so_that_choosing_redraws_nothing():
    one = routed(TRACE, EXAMPLE.words, CLASSES, position=1, expert=2)
    row, column = one.figure.layout.shapes[:2]
    assert (row.y0, row.y1, row.line.dash) == (0.5, 1.5, "solid")
    assert (column.x0, column.x1, column.line.dash) == (1.5, 2.5, "dot")
    assert one.figure.data == DRAWINGS["routing"].figure.data


def test_the_text_says_where_each_token_goes():
    text = routed(s8(capacity=1.0)).text
    assert "one: 1st first with 0.731, 2nd second with 0.269." in text  # case S8, renormalized
    assert "other: 1st first, dropped, 2nd second, dropped." in text
    assert "one: 1st first with 0.644, 2nd second with 0.237." in routed(s8(renormalize=False)).text


def test_the_table_has_a_row_a_token():
    rows = routed(TRACE, EXAMPLE.words, CLASSES).table
    assert [row["token"] for row in rows] == list(EXAMPLE.words)
    assert rows[1]["nouns"] == "0.896"
    assert rows[1]["goes to"] == "1st nouns with 0.937, 2nd verbs with 0.063"


def test_words_are_text_and_no_markup():
    drawing = routed(s8(), words=("<b>one", "other"))
    assert drawing.figure.layout.yaxis.ticktext[0] == "0: &lt;b&gt;one"
    assert (
        "<b>" not in mixture(s8(), ("<b>one", "other"), NAMES, Names(), position=0).figure.layout.title.text
    )


def test_64_tokens_and_16_experts_have_marks_without_numbers():
    many = MoE.random(4, 8, 16, 3).forward(np.random.default_rng(0).standard_normal((64, 4)))
    drawing = routed(many, [f"w{p}" for p in range(64)], [f"expert {e}" for e in range(16)])
    heat, chosen, _ = drawing.figure.data
    assert heat.text is None
    assert len(chosen.x) == 64 * 3
    assert drawing.figure.layout.height < 1300
    assert drawing.text.endswith("And 48 more tokens.")


# One output, mixed


@pytest.mark.parametrize(
    ("renormalize", "first", "second"), [(True, 0.731059, 2 * 0.268941), (False, 0.643914, 2 * 0.236883)]
)
def test_the_parts_of_the_mixture_are_weight_times_output_and_add_up_to_the_output(
    renormalize, first, second
):
    drawing = mixture(s8(renormalize), WORDS, NAMES, Names(), position=0)
    one, other, total = drawing.figure.data
    assert [*one.y, *other.y, *total.y] == pytest.approx([first, second, first + second], abs=2e-6)
    assert drawing.figure.layout.barmode == "relative"
    assert other.text[0] == ("0.269 · 2" if renormalize else "0.237 · 2")


def test_the_parts_are_told_apart_by_a_pattern_and_chosen_by_a_press():
    one, other, _ = mixture(s8(), WORDS, NAMES, Names(), position=0).figure.data
    assert one.marker.pattern.shape != other.marker.pattern.shape
    assert (one.meta, list(one.customdata), list(other.customdata)) == ({"press": ["expert"]}, [0], [1])


def test_a_mixture_names_the_coordinates_where_the_example_does():
    drawing = DRAWINGS["mixture"]
    assert drawing.figure.layout.xaxis.ticktext[0] == f"0 {EXAMPLE.features[0]}"
    assert drawing.text == "The output for cat is 0.937 · nouns + 0.063 · verbs."
    # Nouns write 1 to "wants a verb", and the verbs' expert writes to the same place nothing for a noun.
    assert drawing.table[7]["output"] == drawing.table[7]["0.937 · nouns"] == "0.937"


def test_a_dropped_expert_has_a_part_of_0_and_says_so():
    drawing = mixture(s8(capacity=1.0), WORDS, NAMES, Names(), position=1)
    assert [float(trace.y[0]) for trace in drawing.figure.data] == [0, 0, 0]
    assert drawing.figure.data[0].name == "1st first: 0 · its output (dropped)"
    assert drawing.text == "The output for other is 0 · first (dropped) + 0 · second (dropped)."


def test_of_a_wide_output_the_32_largest_coordinates_are_drawn_in_their_order():
    values = np.zeros((40, 1))
    values[8:, 0] = range(1, 33)
    wide = FFN(w1=np.zeros((1, 40)), b1=[1.0], w2=values, b2=np.zeros(40), activation="identity")
    trace = MoE(router=np.zeros((1, 40)), experts=[wide], top_k=1).forward(np.zeros((1, 40)))
    drawing = mixture(trace, ("w",), ("expert 0",), Names(), position=0)
    assert drawing.figure.layout.xaxis.ticktext == tuple(map(str, range(8, 40)))
    assert list(drawing.figure.data[0].y) == list(range(1, 33))
    assert "32 largest of 40" in drawing.figure.layout.xaxis.title.text
    assert len(drawing.table) == 40


# The load


def test_each_bar_says_how_many_tokens_an_expert_computed_and_how_many_it_dropped():
    kept, dropped, *_ = load(s8(capacity=1.0), NAMES).figure.data
    assert list(kept.y) == [1, 1, 0, 0]
    assert list(dropped.y) == [1, 1, 0, 0]
    assert kept.marker.color != dropped.marker.color
    assert dropped.marker.pattern.shape == "x"


def test_the_capacity_is_a_line_where_there_is_one():
    assert [trace.name for trace in load(s8(), NAMES).figure.data][4:] == []
    line = load(s8(capacity=1.0), NAMES).figure.data[4]
    assert (line.y, line.name, line.yaxis) == ((1, 1), "capacity 1", None)


def test_a_capacity_far_above_all_loads_does_not_flatten_the_bars():
    # Of 2 tokens an expert of 4 gets 2 at most; a factor of 50 gives room for 50.
    drawing = load(s8(capacity=50.0), NAMES)
    assert drawing.figure.data[4].name == "capacity 50"
    assert drawing.figure.layout.yaxis.range[1] < 5


def test_an_expert_that_nobody_chose_has_load_0():
    # Case S9.
    assert [row["load"] for row in load(s8(), NAMES).table] == ["0.5", "0.5", "0", "0"]
    assert "third 0, fourth 0." in load(s8(), NAMES).text


def test_importance_and_the_even_share_stand_on_the_scale_on_which_a_bar_is_its_load():
    _, _, means, even = load(s8(), NAMES).figure.data
    assert list(means.y) == pytest.approx([0.643914, 0.236883, 0.087144, 0.032059], abs=5e-7)
    assert (even.y, even.name) == ((0.25, 0.25), "even share 0.25")
    assert means.yaxis == even.yaxis == "y2"
    layout = load(s8(), NAMES).figure.layout
    # Two tokens, two experts each, make 4 places: a bar of 2 tokens is a load of 0.5.
    assert layout.yaxis.range[1] == pytest.approx(4 * layout.yaxis2.range[1])
    assert layout.yaxis2.range[1] > 0.643914


def test_the_balance_loss_is_written_with_its_numbers():
    # 4 · (0.5 · 0.643914 + 0.5 · 0.236883) = 1.761594
    assert balance_formula(s8()) == "4·(0.5·0.644 + 0.5·0.237 + 0·0.0871 + 0·0.0321) = 1.76"
    assert load(s8(), NAMES).text.endswith("Balance loss 1.76.")


def test_equal_experts_have_a_balance_loss_of_1():
    # Token e goes to expert e of 4 and the probabilities are each other's rotation: the loss is 4 · 4 · (1/4)².
    eye = MoE(router=np.identity(4), experts=[FFN.random(4, 4, seed=e) for e in range(4)], top_k=1)
    formula = balance_formula(eye.forward(np.identity(4)))
    assert formula == "4·(0.25·0.25 + 0.25·0.25 + 0.25·0.25 + 0.25·0.25) = 1"


def test_parameters_are_counted_with_their_numbers():
    # A router of 4 · 8; an expert of 4 · 8 + 4 + 8 · 4 + 8 = 76.
    assert parameter_formulas(TRACE) == (
        "router + n_experts·expert = 32 + 4·76 = 336",
        "router + top_k·expert = 32 + 2·76 = 184",
    )


def test_no_number_of_the_figures_is_nan():
    for drawing in DRAWINGS.values():
        for trace in drawing.figure.data:
            numbers = [*np.ravel(trace.y if trace.y is not None else trace.z)]
            assert all(math.isfinite(number) for number in numbers)
