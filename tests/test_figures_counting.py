"""The figures of the page "Counting": published counts, and crossovers by hand."""

import json
import math
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from ffn_app.figures.counting import STEPS, cost_against_context, where_parameters_live
from ffn_app.theme import dark_twins
from ffn_core.counting import MODELS, model

every = pytest.mark.parametrize("shape", MODELS.values(), ids=MODELS)


def bars(drawing, row):
    """The numbers of one bar, as its hover text says them, by part."""
    found = {}
    for trace in drawing.figure.data:
        count = trace.hovertext[list(trace.y).index(row)]
        if count != "0":
            found[trace.name] = count
    return found


def width(drawing, row):
    """How far a bar reaches, in percent."""
    return sum(trace.x[list(trace.y).index(row)] for trace in drawing.figure.data)


def curve(drawing, name, axis="y"):
    [found] = [
        trace
        for trace in drawing.figure.data
        if trace.name == name and trace.mode == "lines" and (trace.yaxis or "y") == axis
    ]
    return dict(zip(map(int, found.x), found.y, strict=True))


def marks(drawing):
    return {trace.name: (trace.x[0], trace.y[0]) for trace in drawing.figure.data if trace.mode == "markers"}


# Where the parameters live


def test_gpt2_smalls_bars_are_its_published_counts():  # case C2
    drawing = where_parameters_live(model("gpt2-small"))
    assert bars(drawing, "one layer") == {"FFN": "4,722,432", "attention": "2,362,368", "norms": "3,072"}
    assert bars(drawing, "whole model") == {
        "FFN": "56,669,184",  # 12 times 4,722,432
        "attention": "28,348,416",
        "embeddings": "39,383,808",  # (50,257 + 1,024) times 768
        "norms": "38,400",
    }


def test_the_lessons_layer_is_the_ffn_and_attention_alone():  # case C1
    drawing = where_parameters_live(model("lesson"))
    assert (
        bars(drawing, "one layer")
        == bars(drawing, "whole model")
        == {"FFN": "131,712", "attention": "66,048"}
    )


def test_a_bar_is_as_long_as_its_share():  # case C5
    drawing = where_parameters_live(model("llama-2-7b"))
    [ffn] = [trace for trace in drawing.figure.data if trace.name == "FFN"]
    assert ffn.x[list(ffn.y).index("whole model")] == pytest.approx(64.24, abs=0.005)
    assert "FFN 4.33 billion (64.2%)" in drawing.text


@every
def test_all_parts_of_a_layer_and_of_a_model_fill_their_bar(shape):
    drawing = where_parameters_live(shape)
    for row in drawing.figure.data[0].y:
        if "for one token" not in row:
            assert width(drawing, row) == pytest.approx(100)


def test_experts_have_a_second_bar_with_what_takes_part_in_one_token():  # case C7
    drawing = where_parameters_live(model("mixtral-8x7b"))
    assert list(drawing.figure.data[0].y) == [
        "one layer", "one layer, for one token", "whole model", "whole model, for one token",
    ]  # fmt: skip
    assert bars(drawing, "whole model")["FFN"] == "45,097,156,608"
    assert bars(drawing, "whole model")["router"] == "1,048,576"
    assert bars(drawing, "one layer, for one token")["FFN"] == f"{2 * 176_160_768:,}"
    reached = 100 * 12_879_925_248 / 46_702_792_704
    assert width(drawing, "whole model, for one token") == pytest.approx(reached)
    assert "12.9 billion of them take part in one token" in drawing.text


def test_a_dense_model_has_no_bar_for_one_token():
    assert list(where_parameters_live(model("llama-3-8b")).figure.data[0].y) == ["one layer", "whole model"]


def test_an_encoder_and_a_decoder_have_a_bar_each():  # case C3
    drawing = where_parameters_live(model("vaswani-base"))
    assert (
        bars(drawing, "one encoder layer")["FFN"] == bars(drawing, "one decoder layer")["FFN"] == "2,099,712"
    )
    assert bars(drawing, "one decoder layer")["attention"] == f"{8 * 512 * 512:,}"


def test_the_table_of_the_bars_has_every_count_in_full():
    [layer, whole] = where_parameters_live(model("llama-2-7b")).table
    assert (layer["where"], layer["FFN"]) == ("one layer", "135,266,304")
    assert (whole["FFN"], whole["all"]) == ("4,328,521,728", "6,738,415,616")


# What one token costs


def costs(shape, length=2048, causal=False):
    return cost_against_context(shape, length=length, causal=causal)


def test_gpt2s_curves_are_arithmetic_by_hand():  # cases C8 and C10
    drawing = costs(model("gpt2-small"))
    ffn, projections, scores = (curve(drawing, name) for name in ("FFN", "projections", "scores"))
    assert set(ffn.values()) == {12 * 9_437_184}
    assert set(projections.values()) == {12 * 2 * 4 * 768 * 768}
    assert scores[1024] == 12 * 4 * 768 * 1024
    assert curve(drawing, "head")[64] == 77_194_752
    assert curve(drawing, "attention, both")[1024] == projections[1024] + scores[1024]
    assert curve(drawing, "total")[1024] == ffn[1024] + projections[1024] + scores[1024] + 77_194_752


def test_gpt2s_crossovers_are_marked_on_its_ffns_line():
    # A layer: FFN 16·d², projections 8·d², scores 4·d·n, or 2·d·(n + 1) as the mean under a mask; d is 768.
    height = 12 * 9_437_184
    assert marks(costs(model("gpt2-small"))) == {
        "scores = FFN at 3,072": (3072, height),
        "attention = FFN at 1,536": (1536, height),
    }
    assert marks(costs(model("gpt2-small"), causal=True)) == {
        "scores = FFN at 6,143": (6143, height),
        "attention = FFN at 3,071": (3071, height),
    }


@pytest.mark.parametrize("causal", [False, True])
@every
def test_the_curves_meet_where_they_are_marked(shape, causal):
    drawing = costs(shape, causal=causal)
    ffn = next(iter(curve(drawing, "FFN").values()))
    by_name = {name.split(" = ")[0]: place[0] for name, place in marks(drawing).items()}
    for name, line in (("scores", "scores"), ("attention", "attention, both")):
        values = curve(drawing, line)
        assert values[by_name[name]] >= ffn
        assert all(value < ffn for n, value in values.items() if n < by_name[name])


@every
def test_the_shares_of_a_token_fill_the_panel_at_every_length(shape):
    stacked = [np.array(trace.y) for trace in costs(shape).figure.data if trace.stackgroup]
    assert sum(stacked) == pytest.approx(np.full(len(stacked[0]), 100.0))


def test_the_share_of_the_ffn_at_the_readers_length_is_in_the_title_and_the_words():
    # By hand, a token of GPT-2 small at 1,024: 113,246,208 of 113,246,208 + 56,623,104 + 37,748,736 + 77,194,752.
    drawing = costs(model("gpt2-small"), length=1024)
    assert drawing.figure.layout.title.text == "One token's cost: at 1,024 tokens, 39.8% is the FFN"
    assert "At 1,024 tokens one token costs 285 million, and 39.8% of that is the FFN." in drawing.text
    assert curve(drawing, "FFN", "y2")[1024] == pytest.approx(39.76, abs=0.005)


def test_the_readers_length_is_a_line_over_curves_that_stay():
    one, other = (json.loads(costs(model("gpt2-small"), length=n).to_json()) for n in (1024, 100_000))
    assert one["data"] == other["data"], "so that only a shape moves"
    moved = {name for name in one["layout"] if one["layout"][name] != other["layout"][name]}
    assert moved == {"shapes", "title"}
    [line] = other["layout"]["shapes"]
    assert (line["x0"], line["x1"], line["label"]["text"]) == (100_000, 100_000, "100,000 tokens")


def test_a_length_beyond_the_curves_is_still_in_sight():
    drawing = costs(model("lesson"), length=50_000_000)
    assert math.log10(50_000_000) <= drawing.figure.layout.xaxis.range[1]
    assert 50_000_000 in curve(drawing, "scores")


def test_a_press_on_a_curve_is_a_whole_number_of_tokens():
    for trace in costs(model("mixtral-8x7b")).figure.data:
        assert trace.meta == {"press": ["length"]}
        assert [int(n) for n in trace.customdata] == [int(n) for n in trace.x]


def test_a_crossover_beyond_the_curves_is_told_and_not_drawn():
    wide = replace(model("lesson"), d_ff=4_000_000_000_000)
    assert marks(costs(wide)) == {}
    assert "at 4,000,000,000,000 tokens" in costs(wide).text


def test_the_table_of_the_costs_has_the_readers_length_and_every_count_in_full():
    rows = {row["context length"]: row for row in costs(model("gpt2-small"), length=1000).table}
    assert rows[1024]["scores"] == "37,748,736"
    assert rows[1000]["total"] == f"{113_246_208 + 56_623_104 + 36_864_000 + 77_194_752:,}"
    assert rows[1024]["share of the FFN"] == "39.8%"


def test_the_sliders_steps_are_whole_and_near_each_other():
    assert STEPS[0] == 1
    assert {512, 1024, 2048, 4096, 131_072, 2_097_152} <= set(STEPS)
    assert all(type(step) is int for step in STEPS)
    assert all(after <= 2 * before for before, after in pairwise(STEPS))
    assert all(after <= 1.25 * before for before, after in pairwise(STEPS) if before >= 4)


# Looks


@every
def test_both_figures_are_sound_for_every_model(shape):
    for drawing in (where_parameters_live(shape), costs(shape)):
        assert len(drawing.figure.data) == len(drawing.traces)
        colours = set(re.findall(r"#[0-9a-fA-F]{6}\b", drawing.to_json()))
        assert colours
        assert colours <= set(dark_twins())


def test_no_two_curves_of_one_colour_have_the_same_dash():
    lines = [trace.line for trace in costs(model("mixtral-8x7b")).figure.data if trace.line.dash]
    assert len({(line.color, line.dash) for line in lines}) == len(lines)
