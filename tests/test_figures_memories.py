"""The figures of the page "Memories": every bar, cell and mark is a number that can be worked out by hand."""

from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

from ffn_app.board.names import Names, names_of
from ffn_app.figures.memories import (
    MOST_COLUMNS,
    MOST_STACKED,
    heatmap,
    intervention,
    neuron_card,
    output_sum,
)
from ffn_app.theme import concept, diverging_scale
from ffn_core import FFN, example
from ffn_core.memories import Order, ablate
from ffn_core.scenario import Scenario

# design.md, The lessons' numbers.
HIDDEN = [
    [0.43, 0.37, 0.63, 0.57, 0.51, 0.61, 0.39, 0.49],
    [0.16, 0.27, -0.02, 0.09, 0.06, -0.03, 0.28, 0.19],
]
ACTIVATED_0 = [0.2865, 0.2384, 0.4634, 0.4079, 0.3544, 0.4447, 0.2542, 0.3371]
OUTPUT_0 = [0.4215, 0.4145, 0.4249, 0.4111]

# Four neurons that copy x: activated is x itself. Values of length 5, 1, 2 and 0.
FOUR = FFN(
    w1=np.identity(4),
    b1=np.zeros(4),
    w2=[[3, 1, 0, 0], [4, 0, 2, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
    b2=[10, 20, 30, 40],
    activation="identity",
)
# They add [3, 4, 0, 0], [-4, 0, 0, 0], [0, 6, 0, 0] and nothing: lengths 5, 4, 6, 0.
TRACE = FOUR.forward([[1, -4, 3, 9]])


@pytest.fixture
def lesson():
    worked = example("lesson")
    return worked.ffn.forward(worked.x)


def copying(activated):
    """A trace whose activated is this: as many neurons as coordinates, each copying its own."""
    width = len(activated[0])
    ffn = FFN(w1=np.identity(width), b1=np.zeros(width), w2=np.identity(width), b2=np.zeros(width))
    return replace(ffn, activation="identity").forward(activated)


def fires(trace, **more):
    asked: dict[str, Any] = {
        "measure": "activated",
        "order": "index",
        "span": 1.0,
        "position": 0,
        "neuron": None,
    } | more
    words = tuple(f"word {p}" for p in range(len(trace.x)))
    return heatmap(trace, words, **asked)


def cells(drawing):
    return drawing.figure.data[0]


def named(drawing, name):
    [found] = [trace for trace in drawing.figure.data if (trace.name or "").startswith(name)]
    return found


def near(values):
    """To the four digits that the lessons' numbers are given in."""
    return pytest.approx(list(values), abs=5e-5)


# Who fires where


def test_each_position_is_a_row_and_each_neuron_a_column(lesson):
    assert np.array(cells(fires(lesson, measure="hidden")).z) == pytest.approx(np.array(HIDDEN))
    assert cells(fires(lesson)).z[0] == near(ACTIVATED_0)


def test_the_length_of_a_contribution_is_how_hard_it_fires_times_the_length_of_its_value(lesson):
    # Each value has two 0.1 and two 0.2: its length is sqrt(0.1).
    lengths = [a * 0.1**0.5 for a in ACTIVATED_0]
    assert cells(fires(lesson, measure="contribution")).z[0] == near(lengths)
    assert cells(fires(TRACE, measure="contribution")).z[0].tolist() == [5, 4, 6, 0]


def test_a_negative_activation_has_a_contribution_of_positive_length(lesson):
    # GELU(-0.03) = -0.0146 at the second position, times sqrt(0.1).
    drawn = cells(fires(lesson, measure="contribution")).z[1][5]
    assert drawn == pytest.approx(0.0046, abs=5e-5)


def test_position_0_is_at_the_top_with_its_word(lesson):
    axis = fires(lesson).figure.layout.yaxis
    assert axis.range[0] > axis.range[1]
    assert list(axis.ticktext) == ["0: word 0", "1: word 1"]


def test_strongest_first_sorts_the_columns_by_the_greatest_magnitude_and_names_them(lesson):
    drawing = fires(lesson, measure="hidden", order="strength")
    # 0.63 0.61 0.57 0.51 0.49 0.43 0.39 0.37 are neurons ...
    strongest = [2, 5, 3, 4, 7, 0, 6, 1]
    assert list(drawing.figure.layout.xaxis.ticktext) == strongest
    assert cells(drawing).z[0] == pytest.approx([HIDDEN[0][j] for j in strongest])
    assert cells(drawing).z[1] == pytest.approx([HIDDEN[1][j] for j in strongest])
    assert [row["neuron"] for row in drawing.table] == strongest


def test_clustering_puts_neurons_that_fire_alike_side_by_side():
    trace = copying([[1.0, 0.0, 1.1, 0.0], [0.0, 2.0, 0.0, 2.1]])
    columns = list(fires(trace, order="cluster").figure.layout.xaxis.ticktext)
    assert {frozenset(columns[:2]), frozenset(columns[2:])} == {frozenset({0, 2}), frozenset({1, 3})}


@pytest.mark.parametrize("order", get_args(Order))
def test_a_press_on_a_cell_follows_its_neuron_at_its_position_in_every_order(lesson, order):
    heat = cells(fires(lesson, measure="hidden", order=order))
    assert heat.meta == {"press": ["position", "neuron"]}
    for row in range(2):
        for column in range(8):
            position, neuron = heat.customdata[row][column]
            assert position == row
            assert heat.z[row][column] == pytest.approx(HIDDEN[position][neuron])


@pytest.mark.parametrize("measure", ["hidden", "activated"])
def test_the_colours_reach_as_far_down_as_up_so_that_zero_is_the_colour_of_the_paper(lesson, measure):
    heat = cells(fires(lesson, measure=measure, span=0.5))
    assert (heat.zmin, heat.zmax) == (-0.5, 0.5)
    assert [list(stop) for stop in heat.colorscale] == diverging_scale()


def test_a_length_is_never_negative_so_its_colours_begin_at_0_and_are_those_of_positive_numbers_elsewhere(
    lesson,
):
    heat = cells(fires(lesson, measure="contribution", span=0.5))
    assert (heat.zmin, heat.zmax) == (0, 0.5)
    (_, paper), (_, half), (_, full) = diverging_scale()[2:]
    assert [list(stop) for stop in heat.colorscale] == [[0, paper], [0.5, half], [1, full]]


def test_dead_is_not_sparse():
    # Case S12: two thirds of the entries are 0, and one neuron of three is dead.
    drawing = fires(copying([[0.0, 0.0, 1.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]]))
    assert list(named(drawing, "dead").customdata) == [0]
    assert list(named(drawing, "always on").customdata) == []
    assert drawing.text.endswith("1 neurons are dead and 0 always on.")


def test_a_neuron_that_fires_at_every_position_is_flagged_by_another_shape_and_a_negative_one_is_not():
    drawing = fires(copying([[0.5, -1.0, 0.0], [2.0, -1.0, 1.0]]))
    dead, always = named(drawing, "dead"), named(drawing, "always on")
    assert list(always.customdata) == [0]
    assert list(dead.customdata) == []
    assert dead.marker.symbol != always.marker.symbol, "nothing is said by colour alone"


@pytest.mark.parametrize(
    ("activated", "dead", "always"),
    [
        ([1.0, -1.0], False, True),
        ([0.0, -1.0], True, False),
        ([0.0, 1.0], True, True),
        ([-1.0, -1.0], False, False),
    ],
)
def test_the_legend_says_what_the_flags_mean_that_occur_and_no_others(activated, dead, always):
    drawing = fires(copying([activated]))
    shown = (named(drawing, "dead").showlegend, named(drawing, "always on").showlegend)
    assert shown == (dead, always)


def test_the_flags_stand_over_their_columns_and_a_press_on_one_follows_its_neuron():
    trace = copying([[0.0, 5.0, -1.0, 2.0]])
    drawing = fires(trace, order="strength")
    assert list(drawing.figure.layout.xaxis.ticktext) == [1, 3, 2, 0]
    assert (list(named(drawing, "dead").x), list(named(drawing, "dead").customdata)) == ([3], [0])
    flags = named(drawing, "always on")
    assert sorted(zip(flags.x, flags.customdata, strict=True)) == [(0, 1), (1, 3)]
    assert flags.meta == {"press": ["neuron"]}


def test_the_followed_neuron_is_framed_at_its_position_wherever_the_order_puts_it(lesson):
    drawing = fires(lesson, measure="hidden", order="strength", position=1, neuron=3)
    frame, column = drawing.figure.layout.shapes
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (1.5, 2.5, 0.5, 1.5)  # third, at 0.57
    assert (column.x0, column.x1, column.y0, column.y1) == (1.5, 2.5, -0.5, 1.5), "at every position"
    assert column.name == "neuron", "by which the browser knows that it moves as well"
    assert column.fillcolor is None, "a tint would change what the cells' colours say"
    assert not any(shape.visible for shape in fires(lesson).figure.layout.shapes)


def test_the_browser_is_told_the_column_of_every_neuron_so_that_it_can_move_the_frame_by_itself(lesson):
    drawing = fires(lesson, measure="hidden", order="strength", position=1, neuron=3)
    assert drawing.layout["meta"]["columns"][3] == 2, "the third, as above"
    assert sorted(drawing.layout["meta"]["columns"]) == list(range(8))


def test_a_word_with_tags_is_shown_as_it_stands(lesson):
    words = ("<a href='//e.vl'>x</a>", "a&b")
    drawing = heatmap(lesson, words, measure="hidden", order="index", span=1.0, position=0, neuron=None)
    shown = drawing.figure.layout.yaxis.ticktext
    assert list(shown) == ["0: &lt;a href='//e.vl'&gt;x&lt;/a&gt;", "1: a&amp;b"]
    assert "0: <a href='//e.vl'>x</a>" in drawing.table[0], "a table knows no tags"


def test_neurons_are_counted_in_whole_numbers_on_the_axis_of_the_sum():
    gate = example("and_gate")
    assert output_sum(gate.ffn.forward(gate.x), 3, 1, Names()).figure.layout.xaxis.dtick == 1


def test_512_neurons_have_a_column_each():
    network = example("random")
    drawing = fires(network.ffn.forward(network.x))
    assert np.shape(cells(drawing).z) == (16, 512)
    assert drawing.figure.layout.xaxis.title.text == "neuron, in order [d_ff = 512]"


def ticks(drawing, axis="xaxis"):
    shown = drawing.figure.layout[axis]
    return dict(zip(map(float, shown.tickvals), map(str, shown.ticktext), strict=True))


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (41, {0: "0", 10: "10", 20: "20", 30: "30", 40: "40"}),
        (512, {0: "0", 100: "100", 200: "200", 300: "300", 400: "400", 500: "500"}),
        # Pooled by two, neuron 200 stands in column 100.
        (1024, {0: "0", 100: "200", 200: "400", 300: "600", 400: "800", 500: "1000"}),
    ],
)
def test_of_many_neurons_in_order_the_round_numbers_stand_below_their_columns(width, shown):
    assert ticks(fires(copying(np.ones((1, width))))) == shown


def test_of_many_neurons_in_another_order_the_axis_says_how_they_are_ordered():
    trace = copying(np.ones((1, 1024)))
    assert ticks(fires(trace, order="strength")) == {0: "strongest", 511: "weakest"}
    assert list(ticks(fires(trace, order="cluster")).values()) == ["by likeness, not by number"]


@pytest.mark.parametrize("lone", [0, 400, 401, 1023])
def test_above_that_they_are_pooled_and_a_lone_firing_neuron_stays_visible(lone):
    activated = np.zeros((2, 2 * MOST_COLUMNS))
    activated[1, lone] = -3.0
    drawing = fires(copying(activated), position=1, neuron=lone)
    heat = cells(drawing)
    assert np.shape(heat.z) == (2, MOST_COLUMNS)
    block = lone // 2
    assert [tuple(place) for place in np.argwhere(heat.z)] == [(1, block)]
    assert heat.z[1][block] == -3.0, "the extreme, with its sign"
    assert list(heat.customdata[1][block]) == [1, lone], "a press follows the one that fires"
    frame, _ = drawing.figure.layout.shapes
    assert (frame.x0, frame.x1) == (block - 0.5, block + 0.5), "the frame is around the block it is in"
    assert "each cell the greatest of up to 2" in drawing.figure.layout.xaxis.title.text


def test_in_any_order_the_flags_of_pooled_neurons_stand_over_the_block_they_are_in():
    activated = np.full((1, 2 * MOST_COLUMNS), -1.0)
    activated[0, 7], activated[0, 901] = 0.0, 2.0
    drawing = fires(copying(activated), order="strength")
    assert list(named(drawing, "always on").x) == [0]
    assert list(named(drawing, "dead").x) == [MOST_COLUMNS - 1]


def test_the_table_of_the_heatmap_has_every_neuron_as_numbers_in_the_order_of_its_columns(lesson):
    table = fires(lesson, measure="hidden", order="strength").table
    assert len(table) == 8
    assert table[0] == {"neuron": 2, "0: word 0": pytest.approx(0.63), "1: word 1": pytest.approx(-0.02)}


# One neuron


def bars(drawing, axis):
    return [trace for trace in drawing.figure.data if trace.type == "bar" and (trace.xaxis or "x") == axis]


def test_the_cards_terms_are_the_lessons_and_add_up_to_hidden(lesson):
    drawing = neuron_card(lesson, 0, 0, Names())
    terms, total = bars(drawing, "x")
    # hidden[0][0] = 0.1*1.0 + 0.2*0.5 + 0.3*(-0.3) + 0.4*0.8 + 0 = 0.43
    assert list(terms.y) == pytest.approx([0.1, 0.1, -0.09, 0.32, 0])
    assert list(terms.hovertext) == ["0", "1", "2", "3", "b1"]
    assert sum(terms.y) == pytest.approx(0.43)
    assert list(total.y) == pytest.approx([0.43])
    assert total.marker.color == concept("hidden") != terms.marker.color
    assert total.x[0] - total.width[0] / 2 > 4.4, "beside the bar of b1, which is 0.8 wide"
    assert ticks(drawing) == {0: "0", 1: "1", 2: "2", 3: "3", 4: "b1", total.x[0]: "<br>hidden"}
    assert "hidden[0][0] = 0.1*1.0 + 0.2*0.5 + 0.3*(-0.3) + 0.4*0.8 + 0 = 0.43" in drawing.text
    assert "activated[0][0] = GELU(0.43) = 0.5*0.43*(1 + tanh(0.3459)) = 0.2865" in drawing.text


def test_the_bias_is_a_term_of_its_own():
    gate = example("and_gate")
    terms, total = bars(neuron_card(gate.ffn.forward(gate.x), 3, 0, Names()), "x")
    assert list(total.y) == [1]
    assert dict(zip(terms.hovertext, terms.y, strict=True)) == {"0": 1, "1": 1, "2": 0, "b1": -1}


def test_the_table_of_the_card_ends_with_the_bias_and_the_sum():
    gate = example("and_gate")
    table = neuron_card(gate.ffn.forward(gate.x), 3, 0, Names()).table
    assert [(row["coordinate"], row["x · key"]) for row in table] == [
        ("coordinate 0", "1"), ("coordinate 1", "1"), ("coordinate 2", "0"), ("b1", "−1"), ("hidden, their sum", "1"),
    ]  # fmt: skip


def test_of_128_terms_few_have_a_number_and_the_sum_is_no_hair():
    network = example("random")
    drawing = neuron_card(network.ffn.forward(network.x), 0, 2, Names())
    [total] = bars(drawing, "x")
    assert list(ticks(drawing).values()) == ["0", "32", "64", "96", "b1", "<br>hidden"]
    assert total.width[0] > 5
    assert total.x[0] - total.width[0] / 2 > 128


def on_curve(drawing):
    """The curve of the card and the neuron's point on it."""
    return [trace for trace in drawing.figure.data if trace.xaxis == "x2"]


@pytest.mark.parametrize(
    ("position", "neuron", "hidden", "activated"), [(0, 2, 0.63, 0.4634), (1, 5, -0.03, -0.0146)]
)
def test_the_neuron_is_a_point_on_the_curve(lesson, position, neuron, hidden, activated):
    curve, point = on_curve(neuron_card(lesson, position, neuron, Names()))
    assert (point.x[0], point.y[0]) == (
        pytest.approx(hidden, abs=1e-12),
        pytest.approx(activated, abs=5e-5),
    )
    # The drawn line is straight between its points, 0.02 apart.
    assert np.interp(hidden, curve.x, curve.y) == pytest.approx(activated, abs=2e-4)


@pytest.mark.parametrize("strong", [50.0, -50.0])
def test_a_neuron_far_out_is_still_on_the_curve_that_is_drawn(strong):
    curve, point = on_curve(neuron_card(copying([[strong]]), 0, 0, Names()))
    assert curve.x[0] < point.x[0] < curve.x[-1]


def test_what_the_neuron_adds_is_its_value_times_how_hard_it_fires_beside_the_whole_output(lesson):
    drawing = neuron_card(lesson, 0, 2, Names())
    adds, output = bars(drawing, "x3")
    assert list(adds.y) == near(0.4634 * value for value in (0.1, 0.2, 0.2, 0.1))
    assert list(output.y) == near(OUTPUT_0)
    assert [row["value"] for row in drawing.table[:4]] == ["0.1", "0.2", "0.2", "0.1"]
    assert [row["adds to output"] for row in drawing.table[:4]] == ["0.0463", "0.0927", "0.0927", "0.0463"]


def test_the_legend_names_what_the_neuron_adds_the_whole_output_and_the_value(lesson):
    drawing = neuron_card(lesson, 0, 2, Names())
    legend = [trace.name for trace in drawing.figure.data if trace.showlegend is not False]
    assert legend == ["0.463 · value 2", "output", "value 2"]
    assert list(named(drawing, "value 2").y) == [0.1, 0.2, 0.2, 0.1]


def test_of_many_coordinates_the_value_is_read_by_pointing_at_what_it_adds():
    network = example("random")
    drawing = neuron_card(network.ffn.forward(network.x), 0, 2, Names())
    legend = [trace.name for trace in drawing.figure.data if trace.showlegend is not False]
    assert legend == ["output", "0.0513 · value 2"]
    adds = named(drawing, "0.0513")
    assert list(adds.customdata) == list(network.ffn.w2[:, 2])
    assert "0.0513 · value %{customdata:.4g} = %{y:.4g}" in adds.hovertemplate


def test_what_all_neurons_add_is_the_output_since_b2_is_0(lesson):
    added = [bars(neuron_card(lesson, 1, j, Names()), "x3")[0].y for j in range(8)]
    assert np.sum(added, axis=0) == pytest.approx([0.0896, 0.0872, 0.0908, 0.0860], abs=5e-5)


def test_the_card_names_the_neuron_and_its_coordinates_as_the_example_does():
    gate = example("and_gate")
    drawing = neuron_card(gate.ffn.forward(gate.x), 3, 0, names_of(Scenario(base="and_gate")))
    title = "Neuron 0 (fires where a + b > 1) <br>at position 3: hidden 1, activated 1"
    assert drawing.figure.layout.title.text == title
    assert [row["coordinate"] for row in drawing.table][2] == "coordinate 2 (a and b)"


def test_the_card_says_which_nonlinearity_it_draws(lesson):
    titles = [note.text for note in neuron_card(lesson, 0, 3, Names()).figure.layout.annotations]
    assert titles == ["x meets key 3", "GELU tanh", "in the output"]


# The output as a sum


def parts_of(drawing):
    return {trace.name: list(trace.y) for trace in drawing.figure.data if trace.type == "bar"}


def test_the_error_starts_at_what_the_neurons_add_together_and_ends_at_0():
    errors = named(output_sum(TRACE, 0, 2, Names()), "error")
    # The output is b2 + [-1, 10, 0, 0]. The largest is neuron 2, then 0, then 1; neuron 3 adds nothing.
    assert list(errors.x) == [0, 1, 2, 3, 4]
    assert list(errors.y) == pytest.approx([101**0.5, 17**0.5, 4, 0, 0], abs=1e-12)


@pytest.mark.parametrize("name", ["lesson", "cat", "random"])
def test_all_neurons_together_are_off_by_0_and_not_by_a_rounding(name):
    chosen = example(name)
    trace = chosen.ffn.forward(chosen.x)
    drawing = output_sum(trace, 0, trace.ffn.d_ff, Names())
    assert named(drawing, "error").y[-1] == 0
    assert drawing.text.endswith("the sum is 0 from the output.")
    assert drawing.table[-1]["distance from the output"] == "0"


def test_the_number_that_is_kept_is_marked_on_the_line_of_errors():
    drawing = output_sum(TRACE, 0, 2, Names())
    kept = named(drawing, "kept")
    assert (list(kept.x), list(kept.y)) == ([2], [4])
    assert (
        drawing.figure.layout.title.text == "The output at position 0 as a sum: <br>2 of 4 neurons, off by 4"
    )
    assert drawing.text == "With the 2 largest of 4 contributions the sum is 4 from the output."


def test_the_parts_are_b2_and_the_largest_contributions_in_order():
    assert list(parts_of(output_sum(TRACE, 0, 2, Names())).items()) == [
        ("b2", [10, 20, 30, 40]),
        ("Neuron 2", [0, 6, 0, 0]),
        ("Neuron 0", [3, 4, 0, 0]),
    ]


@pytest.mark.parametrize(
    ("kept", "total"),
    [(0, [10, 20, 30, 40]), (1, [10, 26, 30, 40]), (2, [13, 30, 30, 40]), (4, [9, 30, 30, 40])],
)
def test_the_parts_add_up_to_the_partial_sum_that_is_marked(kept, total):
    drawing = output_sum(TRACE, 0, kept, Names())
    assert np.sum(list(parts_of(drawing).values()), axis=0).tolist() == total
    assert list(named(drawing, "sum of these").y) == total
    assert list(named(drawing, "output").y) == [9, 30, 30, 40]


def test_negative_parts_are_stacked_downwards():
    assert output_sum(TRACE, 0, 4, Names()).figure.layout.barmode == "relative"


def test_a_press_on_a_part_follows_its_neuron_and_b2_is_none():
    drawing = output_sum(TRACE, 0, 1, Names())
    part = named(drawing, "Neuron 2")
    assert (list(part.customdata), part.meta) == ([2, 2, 2, 2], {"press": ["neuron"]})
    assert named(drawing, "b2").meta is None


def test_after_the_first_dozen_the_rest_is_one_part():
    many = MOST_STACKED + 2
    # Neuron j copies x, which is 1, and adds many - j to the only coordinate: 14, 13, ... 2, 1.
    ffn = FFN(
        w1=np.ones((many, 1)), b1=np.zeros(many), w2=[range(many, 0, -1)], b2=[0], activation="identity"
    )
    parts = parts_of(output_sum(ffn.forward([[1.0]]), 0, many, Names()))
    assert list(parts) == ["b2", *(f"Neuron {j}" for j in range(MOST_STACKED)), "2 more"]
    assert parts["2 more"] == [2 + 1]


def test_the_chosen_neurons_part_has_the_outline_that_it_has_in_the_heatmap_and_b2_and_the_rest_look_otherwise():
    drawing = output_sum(TRACE, 0, 2, Names(), neuron=0)
    b2, other, chosen = (named(drawing, name).marker for name in ("b2", "Neuron 2", "Neuron 0"))
    assert (chosen.line.color, chosen.line.width) == (concept("keys"), 4)
    assert concept("keys") not in (b2.line.color, other.line.color)
    assert b2.color != other.color == chosen.color
    unchosen = output_sum(TRACE, 0, 2, Names())
    assert named(unchosen, "Neuron 0").marker == other
    many = copying([[1.0] * (MOST_STACKED + 1)])
    assert named(output_sum(many, 0, MOST_STACKED + 1, Names()), "1 more").marker.pattern.shape == "/"


def test_b2_and_the_rest_are_named_in_the_legend_and_a_neuron_by_its_number_in_its_longest_bar():
    drawing = output_sum(TRACE, 0, 2, Names())
    legend = [trace.name for trace in drawing.figure.data if trace.showlegend is not False]
    assert legend == ["b2", "sum of these", "output"]
    assert list(named(drawing, "Neuron 2").text) == ["", "2", "", ""]
    assert list(named(drawing, "Neuron 0").text) == ["", "0", "", ""], "it adds 3 and 4"
    assert drawing.figure.layout.uniformtext.mode == "hide", "a number that has no room is not drawn tiny"


def wide():
    """20 neurons copy the 20 coordinates of x; b2 is 1 everywhere. Output 3 .. 18 is 2 or less, the others are listed."""
    x = np.ones(20)
    x[[0, 1, 2, 19, 8, 9]] = [4, -6, 5, -7, 9, 3]
    ffn = FFN(w1=np.identity(20), b1=np.zeros(20), w2=np.identity(20), b2=np.ones(20), activation="identity")
    return ffn.forward([x])


def test_of_128_to_512_every_error_is_drawn():
    network = example("random")
    drawing = output_sum(network.ffn.forward(network.x), 5, 100, Names())
    errors = named(drawing, "error").y
    assert len(errors) == 513
    assert errors[-1] == pytest.approx(0, abs=1e-12)


def test_the_table_of_the_sum_says_what_each_step_adds():
    names = Names(neurons=("first", "second"))
    table = output_sum(TRACE, 0, 2, names).table
    assert [row["added last"] for row in table] == [
        "b2 alone", "Neuron 2", "Neuron 0 (first)", "Neuron 1 (second)", "Neuron 3",
    ]  # fmt: skip
    assert [row["distance from the output"] for row in table] == ["10", "4.12", "4", "0", "0"]


# Interventions


def test_without_a_neuron_the_output_lacks_exactly_what_it_added(lesson):
    off = ablate(lesson.ffn, 2).forward(lesson.x)
    drawing = intervention(lesson, off, 0)
    before, after, change = drawing.figure.data
    assert list(before.y) == near(OUTPUT_0)
    # Less 0.4634 * [0.1, 0.2, 0.2, 0.1]; each of the two numbers is good to four digits.
    assert list(after.y) == pytest.approx([0.3752, 0.3218, 0.3322, 0.3648], abs=1e-4)
    assert (before.name, after.name) == ("before", "with the interventions")
    assert list(change.y) == near(-0.4634 * value for value in (0.1, 0.2, 0.2, 0.1))
    assert (change.yaxis, before.yaxis) == ("y2", None), "it has a scale of its own"
    assert drawing.figure.layout.barmode == "group"


def test_the_greatest_change_is_named_with_its_coordinate_and_sign():
    # Without neuron 1 the first coordinate is higher by 4.
    drawing = intervention(TRACE, ablate(FOUR, 1).forward(TRACE.x), 0)
    assert drawing.text == "The greatest change is 4, at coordinate 0."
    assert drawing.table[0] == {"coordinate": 0, "before": "9", "after": "13", "change": "4"}
    assert drawing.table[1] == {"coordinate": 1, "before": "30", "after": "30", "change": "0"}


def test_before_is_an_output_as_well_in_its_colour_but_paler(lesson):
    before, after, _ = intervention(lesson, ablate(lesson.ffn, 2).forward(lesson.x), 0).figure.data
    assert before.marker.color == after.marker.color == concept("output")
    assert before.opacity < (after.opacity or 1)


def test_of_many_coordinates_before_is_hatched_and_after_its_edge_so_that_neither_hides_the_other():
    network = example("random")
    trace = network.ffn.forward(network.x)
    before, after, _ = intervention(trace, ablate(network.ffn, 2).forward(network.x), 0).figure.data
    assert before.fillpattern.shape == "/"
    assert (before.line.width, after.fill) == (0, "none")


@pytest.mark.parametrize(
    ("position", "off", "told"),
    [
        # Each neuron copies a coordinate; at position 1 neurons 1 and 2 are silent.
        (0, [1], "the greatest change is −2, at coordinate 1"),
        (1, [1], "no change at this position, where the neuron is silent"),
        (1, [1, 2], "no change at this position, where the neurons are silent"),
        (1, [], "no change at this position"),
    ],
)
def test_what_the_interventions_change_is_said_and_why_where_it_is_nothing(position, off, told):
    ffn = FFN(w1=np.identity(3), b1=np.zeros(3), w2=np.identity(3), b2=np.zeros(3), activation="relu")
    x = [[1, 2, 3], [1, -1, -1]]
    drawing = intervention(ffn.forward(x), ablate(ffn, off).forward(x), position)
    title = f"What the interventions do to the output at position {position}: <br>{told}"
    assert drawing.figure.layout.title.text == title
    assert drawing.text.lower() == f"{told}."


def test_coordinates_have_the_words_that_an_example_gives_them_on_every_axis():
    gate = example("and_gate")
    trace, names = gate.ffn.forward(gate.x), names_of(Scenario(base="and_gate"))
    card = neuron_card(trace, 3, 0, names)
    words = ["a", "b", "a and b"]
    assert list(ticks(card).values()) == [*words, "b1", "hidden"]
    assert list(ticks(card, "xaxis3").values()) == words
    assert list(ticks(output_sum(trace, 3, 1, names), "xaxis2").values()) == words
    assert list(ticks(intervention(trace, trace, 3, names)).values()) == words
    odd = Names(features=("x < y", "b", "c"))
    assert ticks(intervention(trace, trace, 3, odd))[0] == "x &lt; y"


# All of them


@pytest.mark.parametrize("name", ["lesson", "memories", "cat", "and_gate", "random"])
def test_every_figure_has_a_title_named_axes_words_and_a_table(name):
    chosen = example(name)
    trace = chosen.ffn.forward(chosen.x)
    names = names_of(Scenario(base=name))
    last = len(chosen.x) - 1
    for drawing in (
        heatmap(
            trace, chosen.words, measure="contribution", order="cluster", span=1.0, position=last, neuron=0
        ),
        neuron_card(trace, last, 0, names),
        output_sum(trace, last, 1, names),
        intervention(trace, trace, last),
    ):
        layout = drawing.figure.layout
        assert layout.title.text
        assert all(layout[axis].title.text for axis in layout if axis.startswith("xaxis"))
        assert layout.uirevision == "kept", "a reader's zoom outlives an edit"
        assert drawing.text.endswith(".")
        assert drawing.table


def test_of_a_wide_network_only_the_distance_is_drawn_which_is_quick_enough_to_follow_a_press():
    network = example("random")
    drawing = output_sum(network.ffn.forward(network.x), 0, 3, Names())
    assert [trace.name for trace in drawing.figure.data] == ["error", "kept"]
