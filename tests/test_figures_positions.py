"""The figures of "One position at a time": a column for each position, in its order, on one scale of colours."""

import numpy as np
import pytest

from ffn_app.figures.positions import columns, reach
from ffn_app.theme import DIVERGING, concept, dark_twins, diverging_colour, diverging_scale
from ffn_core.examples import EXAMPLES
from tests.test_theme import contrast

CAT = EXAMPLES["cat"]
TRACE = CAT.ffn.forward(CAT.x)
BIG = EXAMPLES["random"]
BIG_TRACE = BIG.ffn.forward(BIG.x)


def heat(drawing):
    return drawing.figure.data[0]


def numbers(drawing):
    """The numbers that stand on the cells, as rows."""
    trace = drawing.figure.data[1]
    rows: dict[int, list[str]] = {}
    for y, text in zip(trace.y, trace.text, strict=True):
        rows.setdefault(int(y), []).append(text)
    return rows


def test_each_position_is_a_column_and_row_0_is_at_the_top():
    drawing = columns("x", CAT.x, CAT.words, span=2)
    np.testing.assert_array_equal(heat(drawing).z, CAT.x.T)
    assert list(drawing.figure.layout.xaxis.ticktext) == ["The", "cat", "sat"]
    assert drawing.figure.layout.yaxis.range == (7.5, -0.5)
    assert drawing.figure.layout.title.text == "x [3, 8]"
    assert drawing.figure.layout.yaxis.title.text == "coordinate i [d_model = 8]"
    assert (
        columns("hidden", TRACE.hidden, CAT.words, span=2).layout["yaxis"]["title"]["text"]
        == "neuron j [d_ff = 16]"
    )


def test_columns_stand_in_the_order_that_is_given():
    order = [2, 0, 1]
    drawing = columns("output", TRACE.output[order], [CAT.words[p] for p in order], span=2, title="shuffled")
    np.testing.assert_array_equal(heat(drawing).z[:, 0], TRACE.output[2])
    assert list(drawing.figure.layout.xaxis.ticktext) == ["sat", "The", "cat"]
    assert drawing.figure.layout.title.text == "shuffled"


@pytest.mark.parametrize(
    ("stage", "colour"),
    [("x", "input"), ("hidden", "hidden"), ("activated", "activated"), ("output", "output")],
)
def test_colours_are_centred_on_0_with_the_range_that_is_given_and_the_title_has_the_concepts(stage, colour):
    drawing = columns(stage, getattr(TRACE, stage), CAT.words, span=5)
    assert (heat(drawing).zmin, heat(drawing).zmax) == (-5, 5)
    assert [list(stop) for stop in heat(drawing).colorscale] == diverging_scale()
    assert drawing.figure.layout.title.font.color == concept(colour)


def test_small_stages_show_their_numbers_with_three_digits():
    # "The" at the first neuron: the determiner 1, and GELU(1) = 0.8413.
    assert numbers(columns("hidden", TRACE.hidden, CAT.words, span=2))[0][0] == "1"
    assert numbers(columns("activated", TRACE.activated, CAT.words, span=2))[0][0] == "0.841"


def test_the_numbers_stand_on_their_cells_and_leave_hovering_and_pressing_to_them():
    drawing = columns("x", np.array([[1.0, -2.0], [3.0, 4.0], [5.0, 6.0]]), CAT.words, span=2)
    trace = drawing.figure.data[1]
    places = dict(zip(zip(trace.x, trace.y, strict=True), trace.text, strict=True))
    assert places == {(0, 0): "1", (1, 0): "3", (2, 0): "5", (0, 1): "−2", (1, 1): "4", (2, 1): "6"}
    assert (trace.hoverinfo, trace.mode) == ("skip", "text")


@pytest.mark.parametrize("look", ["light", "dark"])
def test_a_number_can_be_read_on_every_colour_of_the_scale(look):
    shares = np.linspace(-1.5, 1.5, 301)
    inks = []
    for some in np.array_split(shares, 20):
        drawing = columns("x", some[np.newaxis], ("one",), span=1)
        inks += list(drawing.figure.data[1].textfont.color)
    assert len(inks) == 301
    for share, ink in zip(shares, inks, strict=True):
        shown = dark_twins()[ink] if look == "dark" else ink
        shown = {"rgb(0,0,0)": "#000000", "rgb(255,255,255)": "#ffffff"}.get(shown, shown)
        assert contrast(shown, diverging_colour(share, 1, DIVERGING[look])) >= 4.5, share


def test_the_column_that_is_followed_is_framed():
    drawing = columns("output", TRACE.output, CAT.words, span=2, followed=2)
    [frame] = drawing.figure.layout.shapes
    assert (frame.x0, frame.x1) == (1.52, 2.48)
    assert not columns("output", TRACE.output, CAT.words, span=2).figure.layout.shapes


def test_each_position_says_its_difference_and_the_changed_ones_are_framed():
    drawing = columns("hidden", TRACE.hidden, CAT.words, span=2, differences=np.array([0, 0.25, 0]))
    assert list(drawing.figure.layout.xaxis.ticktext) == [
        "The<br>difference<br>0",
        "cat<br>difference<br>0.25",
        "sat<br>difference<br>0",
    ]
    [frame] = drawing.figure.layout.shapes
    assert (round(frame.x0), round(frame.x1), frame.line.color) == (1, 1, concept("hidden"))
    assert drawing.text.endswith("Greatest difference from the start: The 0, cat 0.25, sat 0.")


def test_the_differences_of_many_positions_stand_in_one_line():
    drawing = columns("x", BIG.x, BIG.words, span=5, differences=np.linspace(0, 1.5, 16))
    assert drawing.figure.layout.xaxis.ticktext[:2] == ("token 0: difference 0", "token 1: difference 0.1")
    assert drawing.figure.layout.xaxis.tickangle == -90
    assert len(drawing.figure.layout.shapes) == 15


def test_a_lone_firing_neuron_stays_visible_among_512_and_the_figure_says_how():
    values = np.zeros((16, 512))
    values[3, 203] = -4.0  # in block 25 of 64, which holds neurons 200 to 207
    drawing = columns("activated", values, BIG.words, span=5)
    assert heat(drawing).z.shape == (64, 16)
    assert [tuple(place) for place in np.argwhere(heat(drawing).z)] == [(25, 3)]
    assert heat(drawing).z[25, 3] == -4.0
    assert heat(drawing).text[25, 3] == 203, "hovering names the neuron"
    assert heat(drawing).y[[25, 26]].tolist() == [199.5, 207.5]
    assert "512 neurons in 64 blocks, each its greatest" in drawing.figure.layout.title.text
    assert "512 neurons in 64 blocks, each its greatest." in drawing.text
    assert drawing.table[25] == {"neuron": "200 to 207"} | {
        f"{p}: token {p}": -4.0 if p == 3 else 0.0 for p in range(16)
    }


def test_the_table_holds_every_number_of_a_stage_that_is_not_pooled():
    table = columns("x", CAT.x, CAT.words, span=2).table
    assert len(table) == 8
    assert table[3] == {"coordinate": "3", "0: The": 0.0, "1: cat": 0.9, "2: sat": 0.4}


def test_a_press_chooses_the_position_of_the_column():
    drawing = columns("hidden", BIG_TRACE.hidden, BIG.words, span=5)
    assert heat(drawing).meta == {"press": ["position"]}
    np.testing.assert_array_equal(heat(drawing).customdata, np.tile(np.arange(16), (64, 1)))


def test_a_visitors_word_is_shown_as_it_is_and_not_read_as_a_tag():
    drawing = columns("x", CAT.x, ("<b>", "a&b", "sat"), span=2)
    assert list(drawing.figure.layout.xaxis.ticktext) == ["&lt;b&gt;", "a&amp;b", "sat"]


def test_one_position_is_drawn_too():
    drawing = columns("x", np.array([[1.0, -1.0]]), ("alone",), span=2, differences=np.zeros(1))
    assert heat(drawing).z.tolist() == [[1], [-1]]
    assert heat(drawing).x.tolist() == [-0.5, 0.5]


def test_the_reach_of_a_change_is_a_pair_of_bars_at_each_position_with_its_numbers():
    drawing = reach(
        {"FFN alone": np.array([0, 0.5, 0]), "mixed": np.array([0, 0.25, 1 / 6])}, ("The", "cat", "sat")
    )
    alone, mixed = drawing.figure.data
    assert (list(alone.y), list(alone.text)) == ([0, 0.5, 0], ["0", "0.5", "0"])
    assert (list(mixed.y), list(mixed.text)) == ([0, 0.25, 1 / 6], ["0", "0.25", "0.167"])
    assert (alone.name, mixed.name) == ("FFN alone", "mixed")
    assert (alone.marker.color, mixed.marker.color) == (concept("output"), concept("input"))
    assert list(drawing.figure.layout.xaxis.ticktext) == ["The", "cat", "sat"]
    assert drawing.text == (
        "Greatest difference of the output. How far the change reaches. "
        "FFN alone: The 0, cat 0.5, sat 0. mixed: The 0, cat 0.25, sat 0.167."
    )
    assert drawing.table[2] == {"position": "2: sat", "FFN alone": "0", "mixed": "0.167"}


def test_the_reach_has_the_title_that_is_given_and_a_visitors_word_in_it_is_no_tag():
    differences = {"FFN alone": np.zeros(1), "mixed": np.zeros(1)}
    drawing = reach(differences, ("<b>",), "How far adding 1 to “<b>” would reach")
    assert drawing.figure.layout.title.text == "How far adding 1 to “&lt;b&gt;” would reach"
    assert drawing.text.startswith(
        "Greatest difference of the output. How far adding 1 to “<b>” would reach."
    )
