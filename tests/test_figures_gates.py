"""The figures of the page "Gates": gate, up and product by hand, and counts that others have published."""

import numpy as np
import pytest

from ffn_app.board.names import Names, names_of
from ffn_app.figures.gates import (
    branches,
    gate_curve,
    in_words,
    matched,
    matched_shapes,
    outcome,
    published,
    sign_cases,
    two_keys,
    written,
)
from ffn_app.figures.memories import heatmap, output_sum
from ffn_app.gates_page import kind_rows, width_in_words
from ffn_core import GLU_KINDS, GatedFFN, example
from ffn_core.scenario import Scenario

# The example "gates" at position 1, x = [1, -2, 0, 0]: SiLU of 1, -2 and -1, and up -2 three times. Case S4 is the first.
GATE_1 = [0.7310586, -0.2384058, -0.2689414]
ACTIVATED_1 = [-1.462117, 0.4768117, 0.5378828]
# At position 3, x = [-1, -1, 0, 0], hidden is -1, -1, 1 and up -1 three times. Case S5 is the first.
ACTIVATED_3 = [0.268941, 0.268941, -0.731059]


@pytest.fixture
def gates():
    made = example("gates")
    return made.ffn.forward(made.x)


@pytest.fixture
def big():
    made = example("gated_random")
    return made.ffn.forward(made.x)


def near(values):
    return pytest.approx(list(values), abs=5e-7)


def branch(drawing, axis):
    """The bars of one panel."""
    return next(trace for trace in drawing.figure.data if (trace.yaxis or "y") == axis and trace.hovertext)


def drawn(trace, position=1, **more):
    return branches(trace, position, **{"ordered": False, "neuron": None, "names": Names()} | more)


def marked(drawing):
    [trace] = [trace for trace in drawing.figure.data if trace.name == "fires negatively"]
    return trace


# Both branches


def test_the_three_panels_show_gate_up_and_their_product_over_the_same_neurons(gates):
    drawing = drawn(gates)
    assert branch(drawing, "y").y == near(GATE_1)
    assert branch(drawing, "y2").y.tolist() == [-2, -2, -2]
    assert branch(drawing, "y3").y == near(ACTIVATED_1)
    assert branch(drawn(gates, 3), "y3").y == near(ACTIVATED_3)
    assert all(branch(drawing, axis).x.tolist() == [0, 1, 2] for axis in ("y", "y2", "y3"))


@pytest.mark.parametrize(("name", "product"), [("gelu", 8.071918), ("gelu_tanh", 8.073337)])
def test_the_gate_takes_the_nonlinearity_and_up_does_not(name, product):
    # Case S6.
    ffn = GatedFFN(w_gate=[[2.7]], w_up=[[3]], w_down=[[1]], activation=name)
    drawing = drawn(ffn.forward([[1.0]]), 0)
    assert branch(drawing, "y2").y.tolist() == [3]
    assert branch(drawing, "y3").y == near([product])


@pytest.mark.parametrize(
    ("position", "negative", "title"),
    [
        (0, [2], "Position 0: 1 of 3 products are below 0"),
        (1, [0], "Position 1: 1 of 3 products are below 0"),
        (3, [2], "Position 3: 1 of 3 products are below 0"),
    ],
)
def test_the_neurons_that_fire_negatively_are_marked_and_counted(gates, position, negative, title):
    drawing = drawn(gates, position)
    assert marked(drawing).x.tolist() == negative
    assert drawing.figure.layout.title.text == title
    assert [row["fires"] for row in drawing.table] == [
        "negatively" if j in negative else "positively" for j in range(3)
    ]


def test_largest_first_reorders_all_three_panels_and_a_press_still_follows_its_neuron(gates):
    drawing = drawn(gates, ordered=True, neuron=0)
    assert branch(drawing, "y3").y == near([0.5378828, 0.4768117, -1.462117])
    assert branch(drawing, "y").y == near([-0.2689414, -0.2384058, 0.7310586])
    for axis in ("y", "y2", "y3"):
        assert branch(drawing, axis).customdata.tolist() == [2, 1, 0]
        assert branch(drawing, axis).meta == {"press": ["neuron"]}
    assert marked(drawing).x.tolist() == [2]
    [shape] = drawing.figure.layout.shapes
    assert (shape.x0, shape.x1) == (1.5, 2.5), "neuron 0 stands last"


def test_the_neuron_that_is_followed_is_marked_through_all_panels_by_a_shape_alone(gates):
    followed, plain = drawn(gates, neuron=1), drawn(gates)
    [shape] = followed.figure.layout.shapes
    assert (shape.x0, shape.x1, shape.yref, shape.y0, shape.y1) == (0.5, 1.5, "paper", 0, 1)
    assert followed.figure.data == plain.figure.data, "else Plotly draws all again"


def test_hundreds_of_neurons_are_drawn_as_outlines(big):
    drawing = drawn(big)
    assert [trace.type for trace in drawing.figure.data] == ["scatter"] * 4
    assert len(branch(drawing, "y3").y) == len(drawing.table) == 352
    assert len(drawing.to_json()) < 60_000


# The gate's curve


def test_each_neuron_is_a_point_on_the_gates_curve_whose_mark_says_the_sign_of_up(gates):
    line, above, below = gate_curve(gates, 1, neuron=None, names=Names()).figure.data
    assert len(above.x) == 0
    assert below.x.tolist() == [1, -2, -1]
    assert below.y == near(GATE_1)
    assert below.customdata.tolist() == [0, 1, 2]
    assert above.marker.symbol != below.marker.symbol
    assert float(np.interp(1, line.x, line.y)) == pytest.approx(0.7310586, abs=1e-4)
    _, above, below = gate_curve(gates, 2, neuron=None, names=Names()).figure.data
    assert (len(above.x), len(below.x)) == (3, 0)


def test_the_curve_tells_how_many_gates_are_open_and_where_the_neuron_stands(gates):
    drawing = gate_curve(gates, 1, neuron=0, names=names_of(Scenario(base="gates")))
    assert "1 gates are open" in drawing.text
    assert "Neuron 0 (cue: write the amount): hidden 1, gate 0.731." in drawing.text
    [ring] = drawing.figure.layout.shapes
    assert (ring.xanchor, ring.yanchor) == (1, pytest.approx(0.7310586))


# The four cases


def test_the_four_cases_count_the_neurons_of_a_position(gates):
    def counts(position):
        return [row["neurons here"] for row in sign_cases(gates, position, None)]

    # Open with up above 0, open below, closed above, closed below.
    assert counts(0) == ["2", "0", "1", "0"]
    assert counts(1) == ["0", "1", "0", "2"]
    assert counts(3) == ["0", "1", "0", "2"]


def test_the_case_of_the_followed_neuron_is_pointed_out(gates):
    assert [row["neuron 0"] for row in sign_cases(gates, 1, 0)] == ["", "● here", "", ""]
    assert [row["neuron 1"] for row in sign_cases(gates, 1, 1)] == ["", "", "", "● here"]


@pytest.mark.parametrize(
    ("name", "counts"),
    # Up of 0, and gates at hidden 0: SiLU's and the identity's are 0 there, the sigmoid's is a half, and ReLU is closed.
    [
        ("silu", [1, 0, 0, 0, 2]),
        ("identity", [1, 0, 0, 0, 2]),
        ("sigmoid", [1, 0, 1, 0, 1]),
        ("relu", [1, 0, 1, 0, 1]),
    ],
)
def test_a_neuron_that_is_silent_for_once_is_in_none_of_the_four_cases(name, counts):
    # Hidden 1, 1, 0 and up 1, 0, 1.
    ffn = GatedFFN(w_gate=[[1], [1], [0]], w_up=[[1], [0], [1]], w_down=[[1, 1, 1]], activation=name)
    trace = ffn.forward([[1.0]])
    rows = sign_cases(trace, 0, 1)
    assert [int(row["neurons here"]) for row in rows] == counts
    assert rows[-1]["neuron 1"] == "● here"
    assert in_words(trace, 0, 1) == "Neuron 1 is silent: gate or up is 0, and anything times 0 is 0."


@pytest.mark.parametrize(
    ("name", "up_above_0", "up_below_0"),
    # What passes a gate at hidden = -1: SiLU -0.269, GELU -0.159, ReLU 0, sigmoid 0.269, identity -1.
    [
        ("silu", "fires weakly, negatively", "fires weakly, positively"),
        ("gelu", "fires weakly, negatively", "fires weakly, positively"),
        ("relu", "is silent", "is silent"),
        ("sigmoid", "fires weakly, positively", "fires weakly, negatively"),
        ("identity", "fires negatively", "fires positively"),
    ],
)
def test_what_a_closed_gate_lets_through_depends_on_the_kind(name, up_above_0, up_below_0):
    assert outcome(name, opened=False, upward=True).startswith(up_above_0)
    assert outcome(name, opened=False, upward=False).startswith(up_below_0)


@pytest.mark.parametrize("kind", GLU_KINDS.values(), ids=lambda kind: kind.name)
def test_the_case_says_the_sign_with_which_every_neuron_fires(kind):
    # Hidden 1, 1, -1, -1 and up 2, -2, 2, -2.
    ffn = GatedFFN(
        w_gate=[[1], [1], [-1], [-1]],
        w_up=[[2], [-2], [2], [-2]],
        w_down=[[1] * 4],
        activation=kind.activation,
    )
    trace = ffn.forward([[1.0]])
    for j, activated in enumerate(trace.activated[0]):
        says = in_words(trace, 0, j)
        assert ("positively" in says, "negatively" in says) == (activated > 0, activated < 0)


# One neuron


def test_x_meets_the_two_keys_term_by_term_on_one_scale(gates):
    drawing = two_keys(gates, 1, 0)
    opens, passes = drawing.figure.data
    assert opens.y.tolist() == [1, 0, 0, 0]
    assert passes.y.tolist() == [0, -2, 0, 0]
    assert drawing.figure.layout.yaxis2.matches == "y"
    assert [note.text for note in drawing.figure.layout.annotations] == [
        "gate key · x = 1, so the gate is 0.731",
        "up key · x = −2",
    ]
    assert "hidden[1][0] = " in drawing.text
    assert "up[1][0] = " in drawing.text


def test_what_a_neuron_adds_stands_beside_the_whole_output(gates):
    drawing = written(gates, 1, 0, names_of(Scenario(base="gates")))
    adds, whole = drawing.figure.data
    assert adds.y == near([0, 0, -1.462117, 0])
    # Neuron 2 takes 0.25 * 0.5378828 from feature 1, neuron 1 adds 0.4768117 to feature 3.
    assert whole.y == near([0, -0.1344707, -1.462117, 0.4768117])
    assert "fires negatively" in drawing.text
    assert drawing.table[2] == {
        "coordinate": "coordinate 2 (written)", "x": "0", "gate key": "0", "x · gate key": "0", "up key": "0", "x · up key": "0",
        "value": "1", "adds to output": "−1.46",
    }  # fmt: skip
    assert len(drawing.table) == 4, "also when it is asked for again"


def test_of_many_coordinates_the_smaller_outline_is_in_front(big):
    assert [trace.name for trace in written(big, 0, 5, Names()).figure.data] == [
        "whole output",
        "neuron 5 adds",
    ]


# The same reading as a dense network's


def test_the_heatmap_of_memories_shows_negative_firing(gates):
    cells = heatmap(
        gates, ("a", "b", "c", "d"), measure="activated", order="index", span=2.0, position=0, neuron=None
    )
    assert cells.figure.data[0].z[1] == near(ACTIVATED_1)
    assert cells.figure.data[0].z[3] == near(ACTIVATED_3)


def test_the_sum_of_contributions_is_the_output_and_starts_from_no_bias(gates):
    drawing = output_sum(gates, 1, 3, Names())
    assert "b2" not in [trace.name for trace in drawing.figure.data]
    stacked = sum(trace.y for trace in drawing.figure.data if trace.type == "bar")
    assert stacked == near([0, -0.1344707, -1.462117, 0.4768117])
    assert [row["added last"] for row in drawing.table] == ["none", "Neuron 0", "Neuron 1", "Neuron 2"]


# What it costs


@pytest.mark.parametrize(
    ("d_model", "multiplier", "multiple_of", "d_ff"),
    # Case S7.
    [
        (4096, 1, 256, 11_008),
        (5120, 1, 256, 13_824),
        (8192, 1.3, 4096, 28_672),
        (4096, 1.3, 1024, 14_336),
        (16_384, 1.2, 4096, 53_248),
    ],
)
def test_the_matched_width_is_that_of_llama(d_model, multiplier, multiple_of, d_ff):
    assert matched_shapes(d_model, multiplier, multiple_of)["gated, matched"].d_ff == d_ff
    assert f"d_ff = {d_ff:,}" in width_in_words(d_model, multiplier, multiple_of)


def test_the_counts_are_those_of_llama_2_7b_and_of_the_dense_ffn_beside_it():
    drawing = matched(matched_shapes(4096, 1, 256))
    # Case C5; 2 · 4096 · 16384; and half as many again.
    counts = {row["network"]: row["parameters"] for row in drawing.table}
    assert counts == {
        "dense": 134_217_728,
        "gated, matched": 135_266_304,
        "gated, as wide as dense": 201_326_592,
    }
    assert [sum(lengths) for lengths in zip(*(bar.x for bar in drawing.figure.data), strict=True)] == list(
        counts.values()
    )


def test_each_part_of_a_bar_says_which_matrix_it_is():
    bars = matched(matched_shapes(4, 1, 1)).figure.data
    assert [[(text, size) for text, size in zip(bar.text, bar.x, strict=True)] for bar in bars] == [
        [("", 0), ("w_gate", 40), ("w_gate", 64)],
        [("w1", 64), ("w_up", 40), ("w_up", 64)],
        [("w2", 64), ("w_down", 40), ("w_down", 64)],
    ]


def test_the_largest_network_is_counted_without_being_made():
    shapes = matched_shapes(1_000_000, 10, 65_536)
    # 8/3 · 10⁶ is 2,666,666, times 10 is 26,666,660, and 407 · 65,536 is the next multiple.
    assert shapes["gated, matched"].parameters().ffn == 3 * 1_000_000 * 407 * 65_536


def test_the_steps_to_the_width_are_told_with_their_numbers():
    assert width_in_words(8192, 1.3, 4096) == (
        "8 · 8,192 / 3, without its fraction: 21,845; times 1.3, without its fraction: 28,398; "
        "rounded up to a multiple of 4,096: 28,672. So **d_ff = 28,672**."
    )
    assert width_in_words(4, 1, 1) == "8 · 4 / 3, without its fraction: 10. So **d_ff = 10**."


# What it is worth


def test_the_published_numbers_are_sorted_and_gated_and_plain_are_told_apart():
    # Shazeer 2020, Table 1, as in issue 4.
    gated, plain = published().figure.data
    assert dict(zip(gated.y, gated.x, strict=True)) == {
        "GEGLU": 1.633, "SwiGLU": 1.636, "ReGLU": 1.645, "Bilinear": 1.648, "GLU": 1.663,
    }  # fmt: skip
    assert dict(zip(plain.y, plain.x, strict=True)) == {"ReLU": 1.677, "GELU": 1.679, "Swish": 1.683}
    assert gated.marker.symbol != plain.marker.symbol
    assert [row["network"] for row in published().table] == list(
        published().figure.layout.yaxis.categoryarray
    )
    assert [row["log-perplexity"] for row in published().table] == [
        1.633, 1.636, 1.645, 1.648, 1.663, 1.677, 1.679, 1.683,
    ]  # fmt: skip


def test_every_kind_has_its_formula_and_its_source():
    rows = {row["kind"]: row for row in kind_rows()}
    assert list(rows) == ["SwiGLU", "GeGLU", "ReGLU", "GLU", "bilinear"]
    assert rows["ReGLU"]["act(x)"] == r"$\max(0, x)$"
    assert rows["bilinear"]["act(x)"] == "$x$"
    assert all("Shazeer 2020" in row["source"] for row in rows.values())
    assert "Dauphin" in rows["GLU"]["source"]
