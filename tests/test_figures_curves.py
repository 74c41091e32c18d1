"""The figures and tables of the page on curves, by the numbers in them."""

import numpy as np
import pytest

from ffn_app import curve_tables
from ffn_app.board.names import names_of
from ffn_app.figures.curves import LINES, MOST_CELLS, bell, curve_panels, gelu_as_product, one_matrix
from ffn_app.figures.neurons import before_and_after, neurons_on_curve
from ffn_core import ACTIVATIONS, FFN, example
from ffn_core.curves import linear_map
from ffn_core.scenario import Scenario

# design.md, The lessons' numbers.
HIDDEN_0 = [0.43, 0.37, 0.63, 0.57, 0.51, 0.61, 0.39, 0.49]
ACTIVATED_0 = [0.2865, 0.2384, 0.4634, 0.4079, 0.3544, 0.4447, 0.2542, 0.3371]
HIDDEN_1 = [0.16, 0.27, -0.02, 0.09, 0.06, -0.03, 0.28, 0.19]


@pytest.fixture
def lesson():
    scenario = example("lesson")
    return scenario.ffn.forward(scenario.x)


@pytest.fixture
def big():
    scenario = example("random")
    return scenario.ffn.forward(scenario.x)


def panels(names=("relu", "gelu"), low=-4, high=4, **more):
    return curve_panels(tuple(names), low=low, high=high, **more)


def lines(drawing, axis):
    return [trace for trace in drawing.figure.data if trace.mode == "lines" and (trace.yaxis or "y") == axis]


def dots(drawing, axis):
    return [
        place
        for trace in drawing.figure.data
        if trace.mode == "markers" and trace.marker.symbol is None and (trace.yaxis or "y") == axis
        for place in zip(trace.x, trace.y, strict=True)
    ]


def marks(drawing, axis):
    [trace] = [
        trace
        for trace in drawing.figure.data
        if trace.marker.symbol == "diamond-open" and (trace.yaxis or "y") == axis
    ]
    return list(zip(trace.x, trace.y, trace.hovertext, strict=True))


def read(line, x):
    return float(np.interp(x, line.x, line.y))


# Three panels


def test_the_curves_go_through_the_values_of_the_cases():
    relu, gelu = lines(panels(), "y")
    # Case N1; each x is a point of the grid.
    assert [read(gelu, x) for x in (1, -1, -3)] == pytest.approx(
        [0.841344746069, -0.158655253931, -0.004049694095], abs=1e-12
    )
    assert [read(relu, x) for x in (-3, 0, 3)] == [0, 0, 3]
    assert (relu.name, gelu.name) == ("ReLU", "GELU")


def test_the_slopes_are_drawn_below_on_the_same_x_axis():
    drawing = panels(["gelu_tanh"])
    [slope] = lines(drawing, "y2")
    assert read(slope, 1) == pytest.approx(1.082964084, abs=1e-9)  # case N8
    assert {trace.xaxis or "x" for trace in drawing.figure.data} == {"x"}
    domains = [drawing.figure.layout[axis].domain for axis in ("yaxis", "yaxis2", "yaxis3")]
    assert domains[0][0] > domains[1][1] > domains[1][0] > domains[2][1]


def test_the_greatest_difference_of_exact_and_tanh_gelu_is_marked_on_both_sides():
    (left, right) = marks(panels(), "y3")
    # Case N1: 4.732355e-4 at abs(x) = 2.69894.
    assert (left[0], right[0]) == pytest.approx((-2.69894, 2.69894), abs=6e-6)
    assert [abs(y) for _, y, _ in (left, right)] == pytest.approx([4.732355e-4] * 2, abs=6e-11)
    assert right[2] == "greatest |GELU − GELU tanh|: 0.000473 at x = ±2.699", (
        "it is below 0: the size is told"
    )
    [written] = panels().figure.layout.annotations
    assert written.text == right[2]


@pytest.mark.parametrize(
    ("pair", "low", "told"),
    [
        (("gelu", "gelu"), -4, "GELU − GELU: no difference"),
        (("relu", "identity"), 0, "ReLU − identity: no difference in this range"),
    ],
)
def test_where_two_do_not_differ_no_place_is_marked(pair, low, told):
    drawing = panels(pair=pair, low=low)
    assert drawing.figure.layout.annotations[0].text == told
    assert marks(drawing, "y3") == []
    assert drawing.text.endswith(f"and {told}.")


def test_the_mark_on_the_other_side_needs_that_side_in_the_range():
    # GELU - ReLU is even; its greatest is at GELU's dip, where ReLU is 0 (case N10), and at +0.75, outside.
    [(x, y, text)] = marks(panels(high=0.5, pair=("gelu", "relu")), "y3")
    assert (x, y) == pytest.approx((-0.7517915247, -0.1699712075), abs=1e-9)
    assert text == "greatest |GELU − ReLU|: 0.17 at x = −0.7518"


def test_dip_corner_and_steepest_place_are_marked_where_the_cases_say():
    drawing = panels()
    (corner, dip) = sorted(marks(drawing, "y"), key=lambda mark: -mark[0])
    assert corner == (0, 0, "ReLU has its corner at 0")
    assert dip[:2] == pytest.approx((-0.7517915247, -0.1699712075), abs=1e-9)  # case N10
    [steepest] = marks(drawing, "y2")
    assert steepest[:2] == pytest.approx((2**0.5, 1.128904145), abs=1e-9)  # case N11


def test_what_lies_outside_the_range_is_neither_drawn_nor_marked():
    drawing = panels(low=0.5, high=1, reading=5.0)
    assert marks(drawing, "y") == []
    assert dots(drawing, "y") == []
    assert drawing.figure.layout.shapes == ()
    assert list(drawing.figure.layout.xaxis.range) == [0.5, 1]


def test_the_reading_is_a_dot_on_every_line_and_the_first_shape():
    drawing = panels(reading=1.0)
    assert dots(drawing, "y") == [(1, 1), (1, pytest.approx(0.841344746069, abs=1e-12))]
    assert dots(drawing, "y2") == [(1, 1), (1, pytest.approx(1.0833154706, abs=1e-10))]  # Phi(1) + phi(1)
    [(x, difference)] = dots(drawing, "y3")
    [colours] = [trace.marker.color for trace in drawing.figure.data if trace.hovertext == ("ReLU", "GELU")]
    assert colours == (LINES["relu"][0], LINES["gelu"][0])
    assert (x, difference) == (1, pytest.approx(0.841344746069 - 0.841191990608, abs=1e-12))
    assert drawing.figure.layout.meta == {"drag": "reading", "step": 0.01, "within": [-4, 4]}
    assert drawing.figure.layout.shapes[0].x0 == 1


@pytest.mark.parametrize(
    ("low", "high", "step"), [(-4, 4, 0.01), (0, 1, 0.01), (0.5, 1, 0.001), (-50, 50, 1), (0, 99, 0.1)]
)
def test_a_drag_goes_in_steps_of_a_hundredth_of_the_ranges_power_of_ten(low, high, step):
    meta = panels(low=low, high=high, reading=0.75).figure.layout.meta
    assert meta["step"] == pytest.approx(step, rel=1e-12)
    assert meta["within"] == [low, high]


def test_a_press_gives_a_number_that_a_hand_would_set_and_never_one_beyond_the_range():
    for line in lines(panels(low=-4.1234, high=3.4567), "y"):
        places = list(line.customdata)
        assert (places[0], places[-1]) == (-4.12, 3.4567)
        assert places[1:-1] == [round(place, 2) for place in places[1:-1]]


# The network's own


def test_the_networks_own_nonlinearity_is_drawn_though_it_was_not_chosen_and_named_as_its():
    *_, own = lines(panels(own="silu"), "y")
    assert own.name == "SiLU (this network's)"
    assert read(own, 1) == pytest.approx(0.731058578630, abs=1e-12)  # the logistic function of 1
    assert len(lines(panels(own="silu"), "y2")) == 3
    assert "SiLU (this network's)" in panels(own="silu").text


def test_the_networks_own_nonlinearity_is_named_once_where_it_was_chosen():
    assert [line.name for line in lines(panels(own="gelu"), "y")] == ["ReLU", "GELU (this network's)"]


# What is written into the panels


def written(drawing, axis):
    [trace] = [
        trace
        for trace in drawing.figure.data
        if trace.marker.symbol == "diamond-open" and (trace.yaxis or "y") == axis
    ]
    return [text.replace("<br>", "").strip() for text in trace.text if text]


def test_gelus_dip_and_steepest_slope_are_written_where_nobody_can_point_at_them():
    assert written(panels(), "y") == ["lowest: −0.16997"]  # case N10
    assert written(panels(), "y2") == ["slope 1.1289"]  # case N11


@pytest.mark.parametrize(
    "more",
    [
        {"names": ("gelu", "sigmoid")},
        {"names": ("relu", "gelu_tanh")},
        {"own": "tanh"},
        {"low": -1},
        {"high": 2},
    ],
)
def test_nothing_is_written_on_other_curves_or_over_the_edge(more):
    drawing = panels(**more)
    assert written(drawing, "y") == written(drawing, "y2") == []


def test_a_press_on_a_curve_reads_it_there():
    for line in lines(panels(), "y"):
        assert line.meta == {"press": ["reading"]}
        assert list(line.customdata) == pytest.approx(list(line.x), abs=1e-6)


@pytest.mark.parametrize("names", [(), tuple(ACTIVATIONS)])
def test_none_and_all_of_the_curves_can_be_drawn(names):
    drawing = panels(names)
    assert [line.name for line in lines(drawing, "y")] == [ACTIVATIONS[name].label for name in names]
    assert all(np.isfinite(trace.y).all() for trace in drawing.figure.data)


def test_every_nonlinearity_has_a_colour_and_a_dash_of_its_own():
    assert set(LINES) == set(ACTIVATIONS)
    assert (
        len({colour for colour, _ in LINES.values()})
        == len({dash for _, dash in LINES.values()})
        == len(LINES)
    )


@pytest.mark.parametrize("paper", ["#ffffff", "#0e1117"])
@pytest.mark.parametrize("name", LINES)
def test_every_curve_can_be_seen_on_light_and_on_dark_paper(name, paper):
    def luminance(colour):
        channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    lighter, darker = sorted((luminance(LINES[name][0]), luminance(paper)), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 3  # WCAG 1.4.11, graphics


def test_the_numbers_of_the_panels_stand_in_their_table():
    table = panels().table
    assert len(table) == 41
    # Case N1 in three digits: 0.8413 and 0.8413447 - 0.8411920.
    [row] = [row for row in table if row["x"] == "1"]
    assert (row["ReLU"], row["GELU"], row["slope of GELU"]) == ("1", "0.841", "1.08")
    assert row["GELU − GELU tanh"] == "0.000153"


# The bell curve


@pytest.mark.parametrize(
    ("x", "share"), [(0.0, 0.5), (1.0, 0.841344746069), (-1.0, 0.158655253931), (-3.0, 0.00134990)]
)
def test_the_shaded_area_is_the_probability_that_gelu_multiplies_by(x, share):
    shade = bell(x).figure.data[0]
    area = np.trapezoid(shade.y, shade.x)
    assert shade.x[-1] == x
    assert area == pytest.approx(share, abs=6e-5)  # what lies beyond -4 is left out


def test_the_bell_curve_says_that_gelu_is_x_times_the_area():
    drawing = bell(-1.0)
    assert "GELU(−1) = −1 × 0.1587 = −0.1587" in drawing.text  # case N1
    assert drawing.figure.layout.title.text == "Shaded: Φ(−1) = 0.1587"
    assert drawing.figure.layout.shapes[0].x0 == -1


@pytest.mark.parametrize("x", [-100.0, 100.0])
def test_a_far_reading_stays_in_sight_on_the_bell_curve(x):
    low, high = bell(x).figure.layout.xaxis.range
    assert low < x < high


def test_gelu_is_worked_out_as_a_product():
    assert gelu_as_product(1.0) == "GELU(1) = 1 × 0.8413 = 0.8413"
    assert gelu_as_product(-0.0) == "GELU(0) = 0 × 0.5 = 0"


def test_a_drag_on_the_bell_curve_stays_where_the_reading_may_be():
    assert bell(1.0).figure.layout.meta["within"] == [-4, 4]
    assert bell(100.0).figure.layout.meta["within"] == [-100, 100]


# Neurons on the curve


def points(drawing):
    [trace] = [trace for trace in drawing.figure.data if trace.name == "neurons"]
    return trace


def test_each_neuron_is_a_point_hidden_across_and_activated_up(lesson):
    trace = points(neurons_on_curve(lesson, 0))
    assert list(trace.x) == pytest.approx(HIDDEN_0, abs=1e-12)
    assert list(trace.y) == pytest.approx(ACTIVATED_0, abs=5e-5)
    assert list(trace.customdata) == list(range(8))
    assert trace.meta == {"press": ["neuron"]}


def test_another_position_puts_the_points_elsewhere(lesson):
    drawing = neurons_on_curve(lesson, 1)
    assert list(points(drawing).x) == pytest.approx(HIDDEN_1, abs=1e-12)
    assert "2 of hidden are negative" in drawing.text


def test_another_nonlinearity_moves_the_points_up_or_down_only(lesson):
    scenario = Scenario(base="lesson").with_activation("relu")
    ffn, x = scenario.build()
    relu, gelu = (neurons_on_curve(trace, 1) for trace in (ffn.forward(x), lesson))
    assert list(points(relu).x) == list(points(gelu).x)
    assert list(points(relu).y) == pytest.approx([max(0, h) for h in HIDDEN_1], abs=1e-12)
    assert relu.figure.layout.xaxis.range == gelu.figure.layout.xaxis.range


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_points_lie_on_the_line_that_is_drawn(big, name):
    ffn, x = Scenario(base="random").with_activation(name).build()
    drawing = neurons_on_curve(ffn.forward(x), 3)
    [line] = [trace for trace in drawing.figure.data if trace.name == ACTIVATIONS[name].label]
    between = np.interp(points(drawing).x, line.x, line.y)  # straight between the grid's points
    assert np.abs(between - points(drawing).y).max() < 0.01


def test_hovering_names_the_neuron_by_its_job_where_the_example_knows_it():
    cat = example("cat")
    drawing = neurons_on_curve(cat.ffn.forward(cat.x), 1, names=names_of(Scenario(base="cat")))
    assert points(drawing).hovertext[2] == "Neuron 2 (noun, and one was wanted)"


def test_the_followed_neuron_is_ringed(lesson):
    [ring] = neurons_on_curve(lesson, 0, neuron=2).figure.layout.shapes
    assert ring.type == "circle"
    assert (ring.xanchor, ring.yanchor) == (pytest.approx(0.63), pytest.approx(0.4634, abs=5e-5))
    assert neurons_on_curve(lesson, 0).figure.layout.shapes == ()


# Before and after


def test_the_bars_stand_before_and_after_the_nonlinearity_on_one_axis(lesson):
    before, after = before_and_after(lesson, 0).figure.data
    assert list(before.y) == pytest.approx(HIDDEN_0, abs=1e-12)
    assert list(after.y) == pytest.approx(ACTIVATED_0, abs=5e-5)
    assert {before.yaxis or "y", after.yaxis or "y"} == {"y"}


def test_sorted_bars_fall_from_left_to_right_and_keep_their_neurons(lesson):
    before, after = before_and_after(lesson, 0, ordered=True).figure.data
    assert list(before.customdata) == [2, 5, 3, 4, 7, 0, 6, 1]
    assert list(before.y) == pytest.approx(sorted(HIDDEN_0, reverse=True), abs=1e-12)
    assert list(after.y) == pytest.approx([ACTIVATED_0[j] for j in before.customdata], abs=5e-5)


def test_the_followed_neuron_is_marked_where_its_bar_stands(lesson):
    shape, name = before_and_after(lesson, 0, ordered=True, neuron=3).figure.layout.shapes
    assert name.label.text == "neuron 3"
    assert (shape.x0, shape.x1) == (1.5, 2.5)  # 0.57 is third of eight


def test_the_bars_of_512_neurons_leave_no_gaps_and_are_all_there(big):
    before, after = before_and_after(big, 0, ordered=True).figure.data
    assert len(before.y) == len(after.y) == 512
    assert before.width == 1
    assert np.all(np.diff(before.y) <= 0)


@pytest.mark.parametrize(("neuron", "anchor"), [(0, "left"), (256, "center"), (511, "right")])
def test_the_name_of_the_followed_neuron_stands_inside_also_at_the_ends(big, neuron, anchor):
    _, name = before_and_after(big, 0, neuron=neuron).figure.layout.shapes
    assert (name.label.text, name.label.xanchor) == (f"neuron {neuron}", anchor)


def test_no_line_runs_through_the_bar_of_neuron_0(lesson):
    assert before_and_after(lesson, 0).figure.layout.xaxis.zeroline is False


# Without a nonlinearity


def test_the_one_matrix_is_the_product_of_both_by_hand():
    ffn = FFN(w1=[[1, 2], [3, 4]], b1=[0, 0], w2=[[0, 1], [1, 1]], b2=[0, 0])
    drawing = one_matrix(linear_map(ffn))
    heat = drawing.figure.data[0]
    assert np.array_equal(heat.z, [[3, 4], [4, 6]])
    assert (heat.zmin, heat.zmax) == (-6, 6)
    assert [row["W2 · W1"] for row in drawing.table] == ["3", "4", "4", "6"]
    assert drawing.figure.layout.yaxis.autorange == "reversed", "row 0 is on top, as in a matrix"


def test_a_big_matrix_is_pooled_to_its_extremes_and_says_so(big):
    drawing = one_matrix(linear_map(big.ffn))
    heat, product = drawing.figure.data[0], big.ffn.w2 @ big.ffn.w1
    assert np.shape(heat.z) == (MOST_CELLS, MOST_CELLS)
    block = product[:2, :2]
    assert heat.z[0][0] == pytest.approx(block.flat[np.abs(block).argmax()], abs=1e-15)
    assert drawing.figure.layout.title.text == "W2 · W1, 128 by 128, pooled to 64 by 64"
    assert "greatest magnitude" in drawing.text


def test_a_network_of_zeros_is_drawn_without_a_colour_range_of_nothing():
    ffn = FFN(w1=np.zeros((3, 2)), b1=np.zeros(3), w2=np.zeros((2, 3)), b2=np.zeros(2))
    assert (one_matrix(linear_map(ffn)).figure.data[0].zmin, linear_map(ffn).rank) == (-1, 0)


@pytest.mark.parametrize("name", ["lesson", "memories", "cat", "and_gate", "random"])
def test_both_ways_give_the_same_output_to_rounding(name):
    scenario = example(name)
    linear = linear_map(scenario.ffn)
    rows = {
        row["without a nonlinearity"]: row["number"]
        for row in curve_tables.without_rows(scenario.ffn, scenario.x, linear)
    }
    apart = float(rows["greatest difference of the outputs, all positions"].replace("−", "-"))
    assert apart < 1e-13 * max(1, float(rows["greatest output, to compare"]))
    outputs = curve_tables.both_ways_rows(scenario.ffn, scenario.x, linear, 0)
    assert len(outputs) == scenario.ffn.d_model


def test_the_lessons_product_has_rank_two_because_its_rows_are_mixtures_of_two():
    lesson = example("lesson")
    linear = linear_map(lesson.ffn)
    # Each row is 0.3 everywhere plus some of [1, 0, 0, -1]; the first: 0.3 + 0.02, 0.3, 0.3, 0.3 - 0.02.
    mixtures = 0.3 + np.outer([0.02, -0.02, 0.04, -0.04], [1, 0, 0, -1])
    assert linear.matrix == pytest.approx(mixtures, abs=1e-15)
    rows = curve_tables.without_rows(lesson.ffn, lesson.x, linear)
    assert rows[2]["number"] == "2 of at most 4"
    assert rows[1]["number"] == "16; W1 and W2 have 64"


# Tables


def test_every_curve_is_read_at_once():
    rows = curve_tables.reading_rows(("relu", "gelu", "gelu_quick"), ("gelu", "gelu_tanh"), -1.0)
    # Cases N1 and N2; quick GELU at -1 is 0.845795765933 - 1, as x·sigmoid(cx) - (-x)·sigmoid(-cx) = x.
    assert [(row["curve"], row["value"]) for row in rows] == [
        ("ReLU", "0"),
        ("GELU", "−0.1587"),
        ("GELU quick", "−0.1542"),
        ("GELU − GELU tanh", "0.0001528"),
    ]
    assert rows[0]["slope"] == "0"


def test_the_networks_own_nonlinearity_is_read_too():
    rows = curve_tables.reading_rows(("relu",), ("gelu", "gelu_tanh"), 1.0, "silu")
    assert (rows[1]["curve"], rows[1]["value"]) == ("SiLU (this network's)", "0.7311")


def test_the_lessons_table_is_right_for_the_tanh_form_and_differs_twice_from_the_exact_one():
    rows = curve_tables.lesson_rows()
    assert [row["x"] for row in rows] == ["−2", "−1", "−0.5", "0", "0.5", "1", "2"]
    assert [row["lesson: GELU"] for row in rows] == [
        "−0.045", "−0.159", "−0.154", "0.0", "0.346", "0.841", "1.955",
    ]  # fmt: skip
    marked = [(row["x"], column, cell) for row in rows for column, cell in row.items() if "≠" in cell]
    assert marked == [("−2", "GELU", "**≠\u00a0−0.04550**"), ("2", "GELU", "**≠\u00a01.954**")]
    assert "GELU(−2) rounds to −0.046, not to −0.045; GELU(2) rounds to 1.954, not to 1.955." in (
        curve_tables.lesson_words()
    )


def test_identity_is_only_offered_where_it_is_not_chosen():
    lesson, plain = (Scenario(activation=name).build()[0] for name in ("gelu", "identity"))
    assert "Choose identity" in curve_tables.without_nonlinearity(lesson)
    assert "Choose identity" not in curve_tables.without_nonlinearity(plain)
    assert curve_tables.without_nonlinearity(plain).endswith("This network is so now.")


def test_a_property_that_the_lesson_puts_too_simply_is_marked_and_explained():
    rows = curve_tables.property_rows()
    assert len(rows) == 8
    for row in rows:
        assert row["the lesson prints"].startswith("*") == bool(row["what the lesson leaves out"])
    marked = [row["property"] for row in rows if row["what the lesson leaves out"]]
    assert "GELU: gradient for x < 0" in marked


def test_the_table_of_landmarks_has_the_cases_numbers():
    relu, gelu, tanh, quick, silu = curve_tables.landmark_rows(
        ("relu", "gelu", "gelu_tanh", "gelu_quick", "silu"), "silu"
    )
    # Cases N10 and N11.
    assert gelu["lowest"] == "−0.16997 at x = −0.75179"
    assert tanh["lowest"] == "−0.17004 at x = −0.75246"
    assert gelu["steepest"] == "slope 1.1289 at x = 1.4142"
    # SiLU's are quick GELU's, 1.702 times farther out: where x·tanh(x/2) = 2, at 2.39936, the slope is 1.09984.
    assert quick["steepest"] == "slope 1.0998 at x = 1.4097"
    assert silu["curve"] == "SiLU (this network's)"
    assert (relu["lowest"], relu["steepest"]) == ("no dip", "at no one place")
    assert relu["at 0"].startswith("a corner at 0")
