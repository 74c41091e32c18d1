"""The figures of the page "Learning": every line, tile and mark is what the network makes of x, worked out by hand."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from ffn_app.figures.learning import MOST_MOMENTS, MOST_NEURONS, Curve, fit, loss_curves, neurons, weights
from ffn_app.theme import dark_twins
from ffn_core import FFN, TASKS, Task
from ffn_core.training import FitState
from tests.test_live_plot import COLOUR, texts

# |x| as two neurons, and a third that is silent wherever the points are: 2·relu(x) + 2·relu(-x) + 0 - 1.
ABSOLUTE = FFN(w1=[[1], [-1], [1]], b1=[0, 0, -9], w2=[[2, 2, 5]], b2=[-1], activation="relu")
POINTS = Task.points([(-2, 3), (0, -1), (2, 3)])
# The logit is relu(x0) - relu(x1) + 0.5, with a neuron whose line x0 = 50 is far out: dead on the squares of xor.
PLANE = FFN(
    w1=[[1, 0], [0, 1], [1, 0]], b1=[0, 0, -50], w2=[[1, -1, 3], [0, 0, 0]], b2=[0.5, 0], activation="relu"
)


def state(ffn=ABSOLUTE, step=0, loss=0.25, accuracy=None):
    return FitState(step=step, loss=loss, ffn=ffn, accuracy=accuracy)


def named(drawing, name):
    return [trace for trace in drawing.figure.data if trace.name == name]


def lines_of(trace):
    """The lines that one trace draws with gaps between."""
    x, y = np.asarray(trace.x, dtype=float), np.asarray(trace.y, dtype=float)
    ends = np.flatnonzero(np.isnan(y))
    return [(x[a:b], y[a:b]) for a, b in zip([0, *ends + 1], ends, strict=False)]


FIGURES = [
    fit(POINTS, state(), state(replace(ABSOLUTE, activation="identity"))),
    fit(TASKS["xor"], state(PLANE, accuracy=0.5), state(replace(PLANE, activation="gelu"), accuracy=1)),
    neurons(POINTS, state()),
    neurons(TASKS["xor"], state(PLANE)),
    loss_curves(
        [Curve.of(name, [state(), state(step=1)]) for name in ("ReLU", "identity", "before")], "Loss"
    ),
    weights([state(), state(step=1)]),
]


# All of them


@pytest.mark.parametrize("drawing", FIGURES)
def test_every_colour_has_a_twin_for_dark_paper(drawing):
    colours = [text for text in texts(json.loads(drawing.to_json())) if COLOUR.search(text)]
    assert colours
    assert set(colours) <= set(dark_twins())


@pytest.mark.parametrize("drawing", FIGURES)
def test_plotly_knows_every_property_and_there_are_words_and_numbers(drawing):
    assert drawing.figure.layout.title.text
    assert drawing.text.endswith(".")
    assert drawing.table
    axes = [axis for axis in drawing.figure.select_xaxes() if axis.domain != ()]
    assert all(axis.title.text for axis in axes)


@pytest.mark.parametrize("name", TASKS)
def test_weights_that_have_diverged_are_drawn_as_gaps(name):
    task, width = TASKS[name], TASKS[name].d_model
    wild = FFN(
        w1=np.full((2, width), np.inf), b1=[np.nan, 1e300], w2=np.full((width, 2), -1e300), b2=[np.inf] * width,
        activation="relu",
    )  # fmt: skip
    gone = FitState(step=9, loss=np.nan, ffn=wild, accuracy=None, diverged=True)
    for drawing in (
        fit(task, gone, gone),
        neurons(task, gone),
        loss_curves([Curve.of("a", [gone])], "Loss"),
        weights([gone]),
    ):
        assert "NaN" not in json.dumps(json.loads(drawing.to_json())["layout"])
        assert drawing.table


# The fit


def test_the_fit_goes_through_its_corners_exactly_and_they_are_marked():
    aside = replace(
        ABSOLUTE, b1=np.array([-0.3, 0.3, -9.0])
    )  # 2·|x - 0.3| - 1, and a neuron far out of sight
    drawing = fit(POINTS, state(aside))
    [line], [marks], [target] = (named(drawing, name) for name in ("output", "kink, hidden = 0", "target"))
    np.testing.assert_allclose(line.y, 2 * np.abs(line.x - 0.3) - 1, atol=1e-6)
    assert min(line.y) == -1, "the corner itself is drawn"
    assert list(marks.x) == pytest.approx([0.3, 0.3])
    assert list(marks.y) == pytest.approx([-1, -1])
    assert list(zip(target.x, target.y, strict=True)) == [(-2, 3), (0, -1), (2, 3)]
    assert marks.marker.symbol == "triangle-up"


def test_gelus_bends_are_soft_and_identity_has_none():
    soft = fit(POINTS, state(replace(ABSOLUTE, activation="gelu")))
    assert named(soft, "soft bend, hidden = 0")[0].marker.symbol == "circle-open"
    straight = fit(POINTS, state(replace(ABSOLUTE, activation="identity")))
    assert [trace.name for trace in straight.figure.data] == ["target", "output"]


def test_identity_beside_is_a_panel_on_the_same_scale_with_its_own_loss():
    drawing = fit(POINTS, state(loss=0.001), state(replace(ABSOLUTE, activation="identity"), loss=4.2))
    one, other = named(drawing, "output")
    assert (one.xaxis, other.xaxis) == ("x", "x2")
    np.testing.assert_allclose(np.diff(other.y, 2), 0, atol=1e-5)  # 2x - 2x + 5(x - 9) - 1, straight
    look = drawing.figure.layout
    assert look.yaxis.range == look.yaxis2.range
    assert [note.text for note in look.annotations] == ["ReLU<br>loss 0.001", "identity<br>loss 4.2"]


def test_the_picture_keeps_its_ranges_and_its_size_whatever_the_network_does():
    for task, one in ((POINTS, ABSOLUTE), (TASKS["moons"], PLANE)):
        other = replace(one, w2=one.w2 * 100)
        before, after = (fit(task, state(ffn)).figure.layout for ffn in (one, other))
        assert (before.xaxis.range, before.yaxis.range, before.height) == (
            after.xaxis.range,
            after.yaxis.range,
            after.height,
        )


def test_the_surface_is_the_logit_with_its_cut_at_0():
    drawing = fit(TASKS["xor"], state(PLANE))
    surface, cut = (next(t for t in drawing.figure.data if t.type == kind) for kind in ("heatmap", "contour"))
    x, y, z = np.asarray(surface.x), np.asarray(surface.y), np.asarray(surface.z)
    expected = np.maximum(x, 0) - np.maximum(y, 0)[:, np.newaxis] + 0.5
    np.testing.assert_allclose(z, expected, atol=1e-6)
    assert surface.zmin == -surface.zmax
    assert (cut.contours.start, cut.contours.end) == (0, 0)
    np.testing.assert_array_equal(cut.z, surface.z)


def test_the_colour_bar_names_probabilities_at_their_logits():
    bar = fit(TASKS["xor"], state(PLANE)).figure.data[0].colorbar
    for logit, share in zip(bar.tickvals, bar.ticktext, strict=True):
        assert 100 / (1 + np.exp(-logit)) == pytest.approx(float(share.rstrip("%")))


def test_lines_where_hidden_is_0_cross_the_plane_and_a_dead_neurons_are_dotted():
    near = replace(PLANE, b1=np.array([0, 0, -1.5]))  # x0 = 1.5 is in sight, but beyond all points of xor
    drawing = fit(TASKS["xor"], state(near))
    [alive], [gone] = named(drawing, "kink, hidden = 0"), named(drawing, "the same of a dead neuron")
    upright, level = lines_of(alive)
    assert np.ptp(upright[0]) == np.ptp(level[1]) == 0
    [(x, _)] = lines_of(gone)
    np.testing.assert_allclose(x, 1.5)
    assert (alive.line.dash, gone.line.dash) == ("solid", "dot")


def test_classes_differ_by_symbol_as_well_as_colour():
    drawing = fit(TASKS["moons"], state(PLANE))
    zero, one = (named(drawing, f"class {c}")[0] for c in (0, 1))
    assert zero.marker.symbol != one.marker.symbol
    assert zero.marker.color != one.marker.color
    for c, trace in enumerate((zero, one)):
        np.testing.assert_array_equal(trace.x, TASKS["moons"].x[TASKS["moons"].target == c, 0])


# The neurons


def test_the_neurons_lines_and_b2_add_up_to_the_output():
    drawing = neurons(POINTS, state())
    [each], [b2], [total] = (
        named(drawing, name) for name in ("a neuron's activated_j · value_j", "b2", "their sum: the output")
    )
    right, left, silent = lines_of(each)
    np.testing.assert_allclose(right[1], 2 * np.maximum(right[0], 0), atol=1e-6)
    np.testing.assert_allclose(left[1], 2 * np.maximum(-left[0], 0), atol=1e-6)
    assert not silent[1].any()
    assert set(b2.y) == {-1}
    np.testing.assert_allclose(right[1] + left[1] + silent[1] - 1, total.y, atol=1e-6)
    assert [each.customdata[0], each.customdata[-1]] == [0, 2]


def test_a_dead_neuron_is_counted_named_and_marked_within_sight():
    drawing = neurons(POINTS, state())
    [mark] = named(drawing, "dead neuron")
    assert list(mark.customdata) == [2]
    assert mark.marker.symbol == "x"
    assert drawing.figure.layout.xaxis.range[1] == mark.x[0]  # its kink is at 9
    assert "Dead, 0 at every point: 2." in drawing.text
    assert [row["dead"] for row in drawing.table] == ["no", "no", "yes"]
    assert [row["−b1/w1"] for row in drawing.table] == ["0", "0", "9"]


def test_tiles_show_what_each_neuron_adds_to_the_logit_and_which_is_dead():
    drawing = neurons(TASKS["xor"], state(PLANE))
    tiles, labels = drawing.figure.data
    assert list(labels.text) == ["0", "1", "2 dead"]
    z, owner = np.asarray(tiles.z), np.asarray(tiles.customdata)
    shown = [z[(owner == j) & np.isfinite(z)].reshape(15, 15) for j in range(3)]
    # Neuron 0 adds relu(x0): the more, the further right; neuron 1 takes relu(x1): the more, the higher.
    assert (np.diff(shown[0], axis=0) == 0).all()
    assert shown[0][0, 0] == 0 < shown[0][0, 8] < shown[0][0, -1]
    assert (np.diff(shown[1], axis=1) == 0).all()
    assert shown[1][-1, 0] < shown[1][8, 0] < 0 == shown[1][0, 0]
    assert not shown[2].any()


def test_a_tile_for_each_of_64_neurons_stands_below_its_own_number():
    ffn = FFN(
        w1=np.zeros((64, 2)), b1=np.arange(64), w2=[[1.0] * 64, [0.0] * 64], b2=[0, 0], activation="identity"
    )
    tiles, labels = neurons(TASKS["moons"], state(ffn)).figure.data
    z = np.asarray(tiles.z)
    for j, (x, y) in enumerate(zip(labels.x, labels.y, strict=True)):
        assert z[int(y) - 1, int(np.ceil(x))] == j  # each adds its own number everywhere
    reading = sorted(
        zip(labels.y, labels.x, labels.text, strict=True), key=lambda label: (-label[0], label[1])
    )
    assert [text.split()[0] for *_, text in reading] == [str(j) for j in range(64)], (
        "as one reads: from the left, from the top"
    )


# Over time


def test_losses_are_drawn_over_steps_on_a_log_axis_with_the_run_before_told_apart():
    curves = [
        Curve(name="ReLU", steps=[0, 10], losses=[1.0, 0.01]),
        Curve(name="identity", steps=[0, 10], losses=[1.0, np.inf]),
        Curve(name="the run before", steps=[0, 99], losses=[1.0, 0.0]),
    ]
    drawing = loss_curves(curves, "Mean squared error")
    own, beside, before = drawing.figure.data
    assert (list(own.x), list(own.y)) == ([0, 10], [1.0, 0.01])
    assert np.isnan([beside.y[1], before.y[1]]).all()
    assert len({own.line.dash, beside.line.dash, before.line.dash}) == 3
    assert drawing.figure.layout.yaxis.type == "log"
    assert drawing.text == "The loss of ReLU went from 1 to 0.01 in 10 steps."


def test_a_line_for_each_weight_goes_from_its_first_value_to_its_last():
    later = replace(ABSOLUTE, w1=np.array([[3.0], [-1.0], [1.0]]), b2=np.array([7.0]))
    keys, biases, values = weights([state(), state(later, step=5)]).figure.data
    assert [(list(x), list(y)) for x, y in lines_of(keys)] == [
        ([0, 5], [1, 3]),
        ([0, 5], [-1, -1]),
        ([0, 5], [1, 1]),
    ]
    assert [list(y) for _, y in lines_of(biases)] == [[0, 0], [0, 0], [-9, -9]]
    assert [list(y) for _, y in lines_of(values)] == [[2, 2], [2, 2], [5, 5]]
    assert list(keys.customdata) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_of_many_weights_and_moments_some_are_drawn_and_the_title_says_so():
    wide = FFN.random(2, 64, activation="relu")
    drawing = weights([state(wide, step=k) for k in range(300)])
    keys, biases, _ = drawing.figure.data
    assert len(lines_of(biases)) == MOST_NEURONS
    assert len(lines_of(keys)) == 2 * MOST_NEURONS
    assert len(lines_of(keys)[0][0]) == MOST_MOMENTS
    assert re.search("24 of 64 neurons", drawing.figure.layout.title.text)


@pytest.mark.parametrize(
    ("losses", "low", "high", "ticks"),
    [
        ((0.15,), -1, 0, "D2"),
        ((0.9, 0.15), -1, 0, "D2"),
        ((2.0, 0.5), -1, 1, "D2"),
        ((1.0, 0.0003), -4, 0, 1),
    ],
)
def test_the_losses_axis_shows_whole_decades_with_few_enough_ticks_to_read(losses, low, high, ticks):
    curve = Curve(name="ReLU", steps=tuple(range(len(losses))), losses=losses)
    axis = loss_curves([curve], "loss").figure.layout.yaxis
    assert axis.range == pytest.approx((low - 0.05, high + 0.05))
    assert axis.dtick == ticks
