"""The figures of the page "Backward": cells, frames, crosses and the V, against numbers worked out by hand."""

from typing import Any

import numpy as np
import pytest

from ffn_app.figures.backward import (
    HALVES,
    MOST_ROWS,
    POOL,
    flow,
    forward_spans,
    gradients_of,
    half_width,
)
from ffn_app.figures.backward_checks import MOST_LISTED, checked_rows, entry_rows, error_curve, slopes
from ffn_app.theme import concept, diverging_scale
from ffn_core import FFN
from ffn_core.descent import Objective
from ffn_core.explain_backward import Entry, explain_gradient, gradient_name, read_entry
from ffn_core.gradcheck import check

# tests/test_gradients.py: x = [1, -1] and d_output = [1, 1], at a second position that the loss does not look at 0.
HAND = FFN(w1=[[1, 1], [1, -1]], b1=[-1, 0], w2=[[1, 2], [3, 4]], b2=[0, 0], activation="relu")
TRACE = HAND.forward([[1, -1], [7, 7]])
START = Objective(start="ones")
FOUND = TRACE.backward(START.d_output(TRACE))
NAMED = gradients_of(FOUND, START.d_output(TRACE))
SPANS = forward_spans(TRACE) | dict.fromkeys(NAMED, 10.0) | {"hidden": 5.0}


def drawn(half, entry=None, position=0):
    chosen = read_entry(entry, HAND) if entry else None
    told = explain_gradient(TRACE, FOUND, START, chosen) if chosen else None
    return flow(TRACE, NAMED, position, half, spans_of=SPANS, chosen=chosen, explained=told)


def cells(drawing):
    """Each heatmap's numbers by the name of what it shows, taken from its hover text."""
    return {trace.hovertext[0][0].partition("[")[0]: np.array(trace.z) for trace in drawing.figure.data}


def test_every_array_stands_over_its_gradient_of_the_same_shape():
    first, second = cells(drawn("first")), cells(drawn("second"))
    assert list(first) == ["x", "d_x", "w1", "dW1", "b1", "db1", "hidden", "d_hidden"]
    assert list(second) == ["activated", "d_activated", "w2", "dW2", "b2", "db2", "output", "d_output"]
    both = list((first | second).values())
    assert [above.shape for above in both[::2]] == [below.shape for below in both[1::2]]
    assert first["d_hidden"].tolist() == [[0], [6]]
    assert first["dW1"].tolist() == [[0, 0], [6, -6]]
    assert first["d_x"].tolist() == [[6], [-6]]
    assert second["d_activated"].tolist() == [[4], [6]]
    assert second["dW2"].tolist() == [[0, 2], [0, 2]]
    assert second["d_output"].tolist() == [[1], [1]]


def test_each_gradient_has_a_scale_of_its_own_around_0():
    data = {trace.hovertext[0][0].partition("[")[0]: trace for trace in drawn("first").figure.data}
    assert (data["dW1"].zmin, data["dW1"].zmax) == (-10, 10)
    assert (data["d_hidden"].zmin, data["d_hidden"].zmax) == (-5, 5)
    assert (data["w1"].zmin, data["w1"].zmax) == (-SPANS["weight"], SPANS["weight"])
    assert [list(stop) for stop in data["dW1"].colorscale] == diverging_scale()
    texts = [note.text for note in drawn("first").figure.layout.annotations]
    assert "<b>dW1</b><br>[2, 2]<br>±10" in texts
    assert "<b>d_hidden</b><br>[2]<br>±5" in texts


def test_a_gradient_and_its_array_are_drawn_at_the_same_width_one_under_the_other():
    look = drawn("first").figure.layout
    assert look.xaxis3.domain == look.xaxis4.domain  # W1 and dW1
    assert look.yaxis3.domain[0] > look.yaxis4.domain[1]


@pytest.mark.parametrize("half", HALVES)
def test_a_press_on_a_cell_chooses_the_entry_that_it_shows(half):
    for trace in drawn(half).figure.data:
        assert trace.meta == {"press": ["entry"]}
        for row, (texts, names) in enumerate(zip(trace.customdata, trace.hovertext, strict=True)):
            for column, text in enumerate(texts):
                entry = read_entry(text, HAND)
                assert entry is not None
                name, _, index = names[column].partition("[")
                assert name in (entry.array, gradient_name(entry.array))
                assert f"[{index}" == "".join(f"[{i}]" for i in entry.index)
                assert entry.index == (row, column)[: len(entry.index)]


def frames(drawing):
    return {
        (shape.xref, shape.line.dash): (shape.x0, shape.x1, shape.y0, shape.y1)
        for shape in drawing.figure.layout.shapes
    }


def test_the_chosen_entry_is_framed_in_both_rows_and_what_it_is_made_of_with_dots():
    # dW1[1][0] = d_hidden[1] · x[0]: axes 1, 2 are x and d_x, 3, 4 W1 and dW1, 7, 8 hidden and d_hidden.
    assert frames(drawn("first", "w1.1.0")) == {
        ("x3", "solid"): (-0.5, 0.5, 0.5, 1.5), ("x4", "solid"): (-0.5, 0.5, 0.5, 1.5),
        ("x", "dot"): (-0.5, 0.5, -0.5, 0.5), ("x8", "dot"): (-0.5, 0.5, 0.5, 1.5),
    }  # fmt: skip
    assert frames(drawn("second", "w1.1.0")) == {}
    # d_activated[1] is made of column 1 of W2 and of all of d_output.
    assert frames(drawn("second", "activated.1")) == {
        ("x", "solid"): (-0.5, 0.5, 0.5, 1.5), ("x2", "solid"): (-0.5, 0.5, 0.5, 1.5),
        ("x3", "dot"): (0.5, 1.5, -0.5, 1.5), ("x8", "dot"): (-0.5, 0.5, -0.5, 1.5),
    }  # fmt: skip
    assert "d_activated[0][1] = 1.0*2.0 + 1.0*4.0 = 6" in drawn("second", "activated.1").text


def test_another_choice_changes_frames_alone_so_that_no_number_is_drawn_again():
    one, other = drawn("first", "w1.1.0"), drawn("first", "x.1")
    assert one.to_json().partition('"layout"')[0] == other.to_json().partition('"layout"')[0]


def test_small_numbers_stand_in_their_cells():
    data = {trace.hovertext[0][0].partition("[")[0]: trace for trace in drawn("first").figure.data}
    assert [list(row) for row in data["dW1"].text] == [["0", "0"], ["6", "−6"]]


def test_the_table_has_every_number_beside_its_gradient():
    rows = drawn("first").table
    assert len(rows) == 2 + 4 + 2 + 2
    assert {"array": "w1", "row": 1, "column": 1, "number": "−1", "gradient": "−6"} in rows


def test_gradients_are_named_as_in_the_lessons():
    assert [gradient_name(name) for name in ("w1", "b2", "hidden", "x")] == ["dW1", "db2", "d_hidden", "d_x"]


# Larger than the screen


def large():
    ffn = FFN.random(128, 512, seed=3)
    trace = ffn.forward(np.random.default_rng(1).standard_normal((1, 128)))
    found = gradients_of(trace.backward(np.ones((1, 128))), np.ones((1, 128)))
    return trace, found, forward_spans(trace) | dict.fromkeys(found, 1.0)


def test_a_large_array_is_pooled_to_its_greatest_entries_and_a_press_means_the_one_that_is_seen():
    trace, found, spans = large()
    [w1] = [
        each
        for each in flow(trace, found, 0, "first", spans_of=spans).figure.data
        if each.hovertext[0][0].startswith("dW1")
    ]
    assert np.array(w1.z).shape == POOL
    assert np.abs(w1.z).max() == np.abs(found["w1"]).max()
    for row, column in ((0, 0), (20, 7), (47, 31)):
        entry = read_entry(w1.customdata[row][column], trace.ffn)
        assert entry is not None
        assert found["w1"][entry.index] == w1.z[row][column]


def test_the_frame_of_a_pooled_entry_is_around_its_block():
    trace, found, spans = large()
    drawing = flow(trace, found, 0, "first", spans_of=spans, chosen=Entry(array="w1", index=(511, 127)))
    shape = drawing.figure.layout.shapes[1]
    assert (shape.x0, shape.x1, shape.y0, shape.y1) == (30.5, 31.5, 46.5, 47.5)


def test_the_table_of_a_large_array_holds_its_greatest_gradients():
    trace, found, spans = large()
    rows = [row for row in flow(trace, found, 0, "first", spans_of=spans).table if row["array"] == "w1"]
    assert len(rows) == MOST_ROWS
    greatest = np.unravel_index(int(np.argmax(np.abs(found["w1"]))), (512, 128))
    assert any((row["row"], row["column"]) == greatest for row in rows)


def test_the_wider_half_has_more_room():
    assert half_width(HAND, "first") == 2 + 3 * 1.25
    wide = FFN.random(4, 8)
    assert half_width(wide, "second") - half_width(wide, "first") == 8 - 4


# Flat slopes


def test_neurons_at_a_slope_of_exactly_0_are_crossed_out_and_no_others():
    gelu = FFN(w1=HAND.w1, b1=HAND.b1, w2=HAND.w2, b2=HAND.b2, activation="gelu").forward(TRACE.x)
    drawing = slopes(TRACE, gelu, 0)
    crosses = {t.name: list(t.x) for t in drawing.figure.data if t.marker.symbol == "x-thin"}
    assert crosses == {
        "ReLU: exactly 0, no gradient passes": [-0.15],  # neuron 0, a little aside
        "GELU: exactly 0, no gradient passes": [],
    }
    assert "ReLU: 1 of 2 neurons are at a slope of exactly 0; GELU: 0 of 2" in drawing.text
    # GELU's slope at -1 is Phi(-1) - phi(1) = 0.158655 - 0.241971.
    assert drawing.table[0] == {
        "neuron": 0, "hidden": "−1", "slope of ReLU": "0", "slope of GELU": "−0.0833",
    }  # fmt: skip


# The check


def test_the_curve_marks_h_and_has_a_place_for_an_error_of_0():
    steps, errors = np.array([1e-6, 1e-3, 1e-1]), np.array([1e-9, 0.0, 1e-2])
    drawing = error_curve(steps, errors, 1e-3)
    [curve] = drawing.figure.data
    assert list(curve.y) == [1e-9, 1e-17, 1e-2]
    [mark] = drawing.figure.layout.shapes
    assert (mark.x0, mark.x1, mark.label.text) == (1e-3, 1e-3, "h = 0.001")
    assert mark.line.color == concept("values")
    assert (drawing.figure.layout.xaxis.type, drawing.figure.layout.yaxis.type) == ("log", "log")


@pytest.mark.parametrize("errors", [[1e-4, 1e-11, 1e-3], [1e-3, 1e-9, 1e-13], [0.0, 0.0, 0.0]])
def test_what_is_written_into_the_curves_chart_stands_where_no_curve_is(errors):
    drawing = error_curve(np.array([1e-12, 1e-6, 1e-1]), np.array(errors), 1e-1)
    low, high = drawing.figure.layout.yaxis.range
    drawn = np.log10(drawing.traces[0]["y"])
    assert (drawn.min() - low) / (high - low) > 0.12, "room for the name of h, below all points"
    assert drawn.max() < high
    assert drawing.figure.layout.shapes[0].label.xanchor == "right", (
        "to the left of a line near the right edge"
    )
    assert {(note.y, note.yanchor) for note in drawing.figure.layout.annotations} == {(1, "bottom")}, (
        "above all"
    )


def test_another_h_moves_the_mark_alone():
    steps, errors = np.array([1e-6, 1e-1]), np.array([1e-9, 1e-2])
    one, other = (error_curve(steps, errors, h) for h in (1e-6, 1e-1))
    assert one.traces[0].keys() == other.traces[0].keys()
    assert one.to_json().partition('"layout"')[0] == other.to_json().partition('"layout"')[0]


def corner() -> dict[str, Any]:
    """Hidden is [0, 1]: moving b1[0] crosses ReLU's corner, moving b1[1] does not (case N7)."""
    ffn = FFN(w1=[[0, 0], [0, 0]], b1=[0, 1], w2=[[1, 2], [3, 4]], b2=[0, 0], activation="relu")
    return check(ffn, [1.0, 1.0], [1.0, 0.0], 1e-3, ["b1", "b2"])


def test_the_check_counts_what_it_compared_and_what_it_skipped():
    assert [
        (row["array"], row["entries compared"], row["at a corner, skipped"]) for row in checked_rows(corner())
    ] == [("b1", "1 of 2", 1), ("b2", "2 of 2", 0)]


def test_each_entry_has_both_gradients_and_a_corner_no_verdict():
    rows = entry_rows(corner())
    assert [row["entry"] for row in rows] == ["b1[0]", "b1[1]", "b2[0]", "b2[1]"]
    assert rows[0]["from the formulas"] == "0"
    assert rows[0]["difference quotient"] == "0.5"  # half of w2[0][0] = 1
    assert rows[0]["difference"] == "skipped: a corner"
    assert rows[1]["from the formulas"] == "2"
    assert abs(float(rows[1]["difference"].replace("−", "-"))) < 1e-9


def test_the_list_of_entries_is_bounded():
    ffn = FFN.random(16, 64, seed=1)
    assert len(entry_rows(check(ffn, np.ones(16), np.ones(16), 1e-6, ["w1"], most=300))) == MOST_LISTED
