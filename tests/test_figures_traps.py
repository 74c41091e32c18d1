"""The figures of the page "Traps": what is framed is what is read, and the curves go where the cases say."""

import numpy as np
import pytest

from ffn_app.figures.traps import Compared, flat_reads, routed_weights, two_ways
from ffn_core import FFN, route
from ffn_core.traps import activation_after, counted_layer, no_activation

S10 = FFN(w1=np.identity(2), b1=[0, 0], w2=[[-1, 2], [1, 1]], b2=[0, 0], activation="relu")


def frames(drawing):
    """The elements within the frame of the right row, and of what is read."""
    *_, right, wrong = drawing.figure.layout.shapes
    return [[i for i in range(20) if frame.x0 < i < frame.x1] for frame in (right, wrong)]


def curve(drawing, name, axis="x"):
    [found] = [t for t in drawing.figure.data if t.mode == "lines" and t.name == name and t.xaxis == axis]
    return dict(zip(found.x, found.y, strict=True))


# The flat list


@pytest.mark.parametrize(
    ("name", "row", "stride", "read"),
    [
        ("W2", 0, 2, ([0, 1, 2], [0, 1, 2])),
        ("W2", 1, 2, ([3, 4, 5], [2, 3, 4])),
        ("W1", 1, 3, ([2, 3], [3, 4])),
        ("W1", 2, 3, ([4, 5], [6, 7])),
    ],
)
def test_the_frames_hold_the_elements_that_are_meant_and_those_that_are_read(name, row, stride, read):
    ffn = counted_layer(2, 3)
    drawing = flat_reads(name, ffn.w1 if name == "W1" else ffn.w2, row, stride)
    assert tuple(frames(drawing)) == read


def test_what_lies_beyond_the_end_has_no_number():
    drawing = flat_reads("W1", counted_layer(2, 3).w1, 2, 3)
    assert list(drawing.figure.data[0].text) == ["1", "2", "3", "4", "5", "6", "none", "none"]
    assert "elements 6, 7: beyond the end, beyond the end. Not the same." in drawing.text
    assert drawing.table[2]["numbers read"] == "beyond the end, beyond the end"


def test_a_square_list_says_that_both_are_the_same():
    assert flat_reads("W2", counted_layer(2, 2).w2, 1, 2).text == (
        "Its numbers are elements 2, 3 of W2: 3, 4. The code reads elements 2, 3: 3, 4. The same."
    )


def test_another_row_moves_marks_alone():
    one, other = (flat_reads("W2", counted_layer(2, 3).w2, row, 2) for row in (0, 1))
    assert one.figure.data == other.figure.data


# Two ways


def test_the_wrong_way_never_goes_below_x_and_the_right_one_does():
    drawing = two_ways(S10, np.array([1.0, -1.0]), Compared(activation_after, "after", residual=True))
    right, wrong, itself = (
        curve(drawing, name) for name in ("right", "after", "x itself: below it is a fall")
    )
    assert (right[1.0], wrong[1.0]) == (0, 1)  # case S10
    assert all(wrong[x] >= itself[x] for x in itself)
    assert any(right[x] < itself[x] for x in itself)


def test_the_second_panel_moves_the_second_coordinate():
    drawing = two_ways(S10, np.array([1.0, -1.0]), Compared(activation_after, "after", residual=True))
    assert (curve(drawing, "right", "x2")[-1.0], curve(drawing, "after", "x2")[-1.0]) == (0, -1)


def test_the_marks_stand_at_the_present_x():
    drawing = two_ways(S10, np.array([1.0, -1.0]), Compared(activation_after, "after", residual=True))
    marks = [(t.name, t.x[0], t.y[0], t.marker.symbol) for t in drawing.figure.data if t.mode == "markers"]
    assert marks == [
        ("right", 1, 0, "circle"), ("after", 1, 1, "x"), ("right", -1, 0, "circle"), ("after", -1, -1, "x"),
    ]  # fmt: skip
    assert drawing.table == [
        {"coordinate": "0", "x": "1", "right": "0", "after": "1"},
        {"coordinate": "1", "x": "−1", "right": "0", "after": "−1"},
    ]


def test_without_the_residual_it_is_the_output():
    drawing = two_ways(S10, np.array([1.0, -1.0]), Compared(no_activation, "none", residual=False))
    assert (curve(drawing, "right")[1.0], curve(drawing, "none")[1.0]) == (-1, -3)
    assert "x itself: below it is a fall" not in {trace.name for trace in drawing.figure.data}


# A router's weights


def test_the_bars_are_the_weights_of_the_case():
    drawing = routed_weights(route([2, 1, 0, -1], 2), route([2, 1, 0, -1], 2, renormalize=False))  # case S8
    after, before = drawing.figure.data
    assert list(after.y) == pytest.approx([0.731059, 0.268941, 0, 0], abs=1e-6)
    assert list(before.y) == pytest.approx([0.643914, 0.236883, 0, 0], abs=1e-6)
    assert after.marker.pattern.shape != before.marker.pattern.shape
    assert "softmax before top-k: expert 0 0.644, expert 1 0.237." in drawing.text


@pytest.mark.parametrize(
    "drawing",
    [
        flat_reads("W2", counted_layer(2, 3).w2, 1, 2),
        two_ways(S10, np.zeros(2), Compared(no_activation, "none", residual=False)),
        routed_weights(route([2, 1], 1), route([2, 1], 1, renormalize=False)),
    ],
)
def test_every_figure_has_a_title_axis_names_a_text_and_a_table(drawing):
    look = drawing.figure.layout
    assert look.title.text
    assert look.xaxis.title.text
    assert drawing.text
    assert drawing.table
