"""What the chart component is given: a figure as JSON, in colours that have a twin for dark paper, with words."""

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from ffn_app.board.names import names_of
from ffn_app.figures import Drawing
from ffn_app.figures.memories import heatmap, intervention, neuron_card, output_sum
from ffn_app.theme import CONCEPTS, DIVERGING, dark_twins
from ffn_core.examples import EXAMPLES
from ffn_core.scenario import Scenario

COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b|\b(?:rgba?|hsla?)\(")


def drawings(name: str) -> dict[str, Drawing]:
    """Every figure of "Memories" of an example's last position, with a neuron followed."""
    chosen, names = EXAMPLES[name], names_of(Scenario(base=name))
    trace, last = chosen.ffn.forward(chosen.x), len(chosen.x) - 1
    return {
        "heatmap": heatmap(
            trace, chosen.words, measure="hidden", order="index", span=1, position=last, neuron=0
        ),
        "card": neuron_card(trace, last, 0, names),
        "sum": output_sum(trace, last, 1, names),
        "intervention": intervention(trace, trace, last),
    }


FIGURES = [
    pytest.param(drawing, id=f"{name} {kind}")
    for name in ("lesson", "and_gate", "random")
    for kind, drawing in drawings(name).items()
]


def texts(value: Any) -> Iterator[str]:
    """Every text in a figure, wherever in it that stands."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


@pytest.mark.parametrize("drawing", FIGURES)
def test_every_colour_of_a_figure_has_a_twin_for_dark_paper(drawing):
    colours = [text for text in texts(json.loads(drawing.to_json())) if COLOUR.search(text)]
    assert colours, "a figure without colours would prove nothing"
    assert set(colours) <= set(dark_twins())


def test_a_twin_is_the_same_concept_on_the_other_paper():
    twins = dark_twins()
    assert [twins[light] for light, _ in CONCEPTS.values()] == [dark for _, dark in CONCEPTS.values()]
    assert [twins[light] for light in DIVERGING["light"]] == list(DIVERGING["dark"])
    inks = 4  # black and white, each with either twin
    assert len(twins) == len(CONCEPTS) + len(DIVERGING["light"]) + inks, "no colour stands for two"


@pytest.mark.parametrize("drawing", FIGURES)
def test_a_figure_is_json_that_a_browser_reads(drawing):
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    figure = json.loads(drawing.to_json(), parse_constant=refuse)
    assert figure["layout"]["height"] > 0, "the room is kept while the library loads"
    assert figure["layout"]["title"]["text"]


def test_a_typed_array_holds_every_bit_of_the_numbers_and_what_is_no_number_is_null():
    values = np.array([[0.1, -2.5e-300, np.inf], [3.0, np.nan, 7.0]])
    figure = Drawing(
        traces=[{"type": "heatmap", "z": values, "customdata": np.array([0, 300, -1])}],
        layout={"annotations": [{"x": np.nan}], "height": 10},
        text="",
    )
    told = json.loads(figure.to_json())
    z, custom = told["data"][0]["z"], told["data"][0]["customdata"]
    read = np.frombuffer(base64.b64decode(z["bdata"]), dtype=z["dtype"]).reshape(
        [int(n) for n in z["shape"].split(",")]
    )
    np.testing.assert_array_equal(read, values)
    assert list(np.frombuffer(base64.b64decode(custom["bdata"]), dtype=custom["dtype"])) == [0, 300, -1]
    assert told["layout"]["annotations"] == [{"x": None}]


@pytest.mark.parametrize("drawing", FIGURES)
def test_plotly_knows_every_property_of_a_figure(drawing):
    assert len(drawing.figure.data) == len(drawing.traces)  # a ValueError names one that it does not know


def shown(drawing: Drawing, *, opened: bool = False) -> AppTest:
    """A page with this figure alone, with its numbers opened or not."""

    def page(drawing):  # runs as a script of its own, which knows no names from here
        from ffn_app.live_plot import live_plot

        live_plot(drawing, key="figure")

    visitor = AppTest.from_function(page, default_timeout=60, kwargs={"drawing": drawing})
    visitor.session_state["figure_numbers"] = opened
    return visitor.run()


def handed_over(visitor: AppTest) -> dict[str, Any]:
    [element] = visitor.get("bidi_component")
    data: dict[str, Any] = json.loads(element.proto.json)["plot"]
    return data


def test_the_component_is_given_the_figure_its_words_and_the_colours_for_dark_paper():
    drawing = drawings("lesson")["card"]
    visitor = shown(drawing)
    assert [error.value for error in visitor.exception] == []
    data = handed_over(visitor)
    assert json.loads(data["figure"]) == json.loads(drawing.to_json())
    assert data["dark_twins"] == dark_twins()
    # The text alternative works the number out, at the second position: 0.1*0.2 - 0.2*0.4 + 0.3*0.6 + 0.4*0.1.
    assert data["text"].startswith("hidden[1][0] = 0.1*0.2 + 0.2*(-0.4) + 0.3*0.6 + 0.4*0.1 + 0 = 0.16.")


def test_the_library_comes_from_this_server():
    address = handed_over(shown(drawings("lesson")["sum"]))["library"]
    assert address.startswith("/")
    assert not address.startswith("//")


def test_the_numbers_of_a_figure_are_one_click_away_and_sent_only_then():
    drawing = drawings("and_gate")["intervention"]
    visitor = shown(drawing)
    assert [expander.label for expander in visitor.expander] == ["The numbers of this figure"]
    assert len(visitor.dataframe) == 0
    [table] = shown(drawing, opened=True).dataframe
    assert list(table.value.columns) == ["coordinate", "before", "after", "change"]
    # The gate of 1 and 1 writes 1 to the third coordinate.
    assert list(table.value["after"]) == ["0", "0", "1"]


def test_a_figure_without_a_table_has_nothing_to_open():
    plain = drawings("lesson")["card"]
    assert len(shown(Drawing(traces=plain.traces, layout=plain.layout, text=plain.text)).expander) == 0
