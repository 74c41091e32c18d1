"""The page "Counting" as Streamlit runs it: sizes are a scenario, refused ones are told, every number is counted."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from ffn_core.counting import MODELS
from ffn_core.shape_scenario import BOUNDS, CHOICES, ShapeScenario
from tests.test_pages import FRAME, MAIN, component, labelled, session

LAYERS, WIDTH, HIDDEN, HEADS = "Layers", "d_model", "d_ff", "Heads"


def counting(query: dict[str, str] | None = None, *events: dict[str, Any]) -> AppTest:
    visitor = AppTest.from_file(str(MAIN), default_timeout=60)
    for name, value in (query or {}).items():
        visitor.query_params[name] = value
    visitor.switch_page("../pages/counting.py").run()
    assert [error.value for error in visitor.exception] == []
    return in_frame(visitor, *events) if events else visitor


def in_frame(visitor: AppTest, *events: dict[str, Any]) -> AppTest:
    """What a visitor does in the frame at the top of the page."""
    log = component(visitor, FRAME)["log"]
    first = log["applied"] + 1
    numbered = [{**event, "family": "shape", "seq": seq} for seq, event in enumerate(events, start=first)]
    visitor.session_state[FRAME] = {"log": {"client": "tab", "token": log["token"], "events": numbered}}
    visitor.run()
    assert [error.value for error in visitor.exception] == []
    return visitor


def box(visitor: AppTest, label: str) -> Any:
    """The box of that label, changed or not."""
    return labelled([*visitor.number_input, *visitor.toggle], label)


def type_in(visitor: AppTest, label: str, value: int) -> AppTest:
    box(visitor, label).set_value(value).run()
    assert [error.value for error in visitor.exception] == []
    return visitor


def shape(visitor: AppTest) -> Any:
    return session(visitor).present.build()


def words(visitor: AppTest) -> str:
    return "\n".join(
        element.value for kind in (visitor.markdown, visitor.caption, visitor.code) for element in kind
    )


def table(visitor: AppTest, column: str) -> list[dict[str, str]]:
    """The rows of the one table that has this column."""
    [found] = [element.value for element in visitor.table if column in element.value.columns]
    rows: list[dict[str, str]] = found.to_dict("records")
    return rows


# Presets


@pytest.mark.parametrize("name", MODELS)
def test_the_page_opens_with_every_model(name):
    visitor = counting({"m": name})
    assert shape(visitor) == MODELS[name]
    assert f"Source: {MODELS[name].source}" in words(visitor)


def test_a_preset_chosen_in_the_frame_is_counted():
    visitor = counting({}, {"kind": "base", "name": "llama-2-7b"})
    assert session(visitor).present == ShapeScenario(base="llama-2-7b")
    assert "**64.2%** of all 6.74 billion parameters are in the FFNs" in words(visitor)  # case C5
    assert "all layers: n_layers·layer = 32·135,266,304 = 4,328,521,728" in words(visitor)
    assert box(visitor, HIDDEN).value == 11_008


def test_experts_are_told_in_all_and_active():
    visitor = counting({"m": "mixtral-8x7b"})
    assert "uses only 2 of 8 experts: **12.9 billion** parameters are active" in words(visitor)  # case C7
    assert (
        "active"
        not in words(counting({"m": "llama-2-7b"})).split("The models side by side")[0].split("Active:")[0]
    )


# Sizes


def test_every_size_of_a_shape_has_a_box():
    visitor = counting()
    keys = {
        element.key.rpartition("_")[0]
        for element in (*visitor.number_input, *visitor.toggle, *visitor.selectbox)
    }
    assert {f"counting_{field}" for field in (*BOUNDS, *CHOICES)} <= keys


def test_a_typed_size_changes_the_shape_the_picture_and_the_formula():
    visitor = type_in(counting(), HIDDEN, 4096)
    assert session(visitor).present == ShapeScenario().edit(("d_ff", (), 4096))
    assert "w1, b1: d_ff·d_model + d_ff = 4,096·768 + 4,096 = 3,149,824" in words(visitor)
    # A layer: 2·768·4,096 weights and 4,096 + 768 biases; 12 layers.
    assert "FFN 75.6 million" in component(visitor, "parameters")["text"]


def test_what_is_changed_is_marked_against_the_preset_and_no_other():
    visitor = type_in(counting(), HIDDEN, 4096)
    changed = [element for element in (*visitor.number_input, *visitor.toggle) if "✎" in element.label]
    assert [element.label for element in changed] == ["**d_ff** ✎"]
    assert "GPT-2 small has 3,072" in changed[0].help
    assert "Changed from GPT-2 small: d_ff 3,072 → **4,096**." in words(visitor)
    assert "✎" not in labelled(type_in(visitor, "**d_ff** ✎", 3072).number_input, HIDDEN).label


def test_a_choice_is_an_edit_as_well():
    visitor = counting()
    labelled(visitor.toggle, "Gated").set_value(True).run()
    labelled(visitor.selectbox, "Norm").set_value("rmsnorm").run()
    assert session(visitor).present == ShapeScenario().edit(("gated", (), True), ("norm", (), "rmsnorm"))
    assert "w_gate, b_gate: d_ff·d_model + d_ff" in words(visitor)
    assert "one RMSNorm: d_model = 768" in words(visitor)


def test_undo_takes_a_size_back_and_the_box_shows_it():
    visitor = type_in(counting({}, {"kind": "seen"}), HIDDEN, 4096)
    in_frame(visitor, {"kind": "undo"})
    assert session(visitor).present == ShapeScenario()
    assert box(visitor, HIDDEN).value == 3072


def test_the_link_that_the_frame_writes_opens_the_same_shape_and_length():
    visitor = type_in(counting({"m": "llama-3-8b", "t": "5000", "h": "1"}), HIDDEN, 4096)
    query = dict(pair.split("=") for pair in component(visitor, FRAME)["query"].split("&"))
    again = counting(query)
    assert (
        session(again).present
        == session(visitor).present
        == ShapeScenario(base="llama-3-8b").edit(("d_ff", (), 4096))
    )
    assert (session(again).view.length, session(again).view.causal) == (5000, True)


# Sizes that do not fit


def test_a_size_that_fits_nothing_is_told_and_the_last_sound_shape_stays():
    visitor = type_in(counting(), WIDTH, 770)
    [error] = visitor.error
    assert error.value == (
        "d_model must be a multiple of n_heads, got 770 and 12; or say d_head, the width of a head. "
        "d_model 768 is still counted."
    )
    assert session(visitor).present == ShapeScenario()
    assert box(visitor, WIDTH).value == 770, "what was typed stays, so that it can be mended"


def test_a_refused_size_is_made_once_another_lets_it_fit_and_both_are_undone_together():
    visitor = type_in(type_in(counting(), WIDTH, 770), HEADS, 14)
    assert visitor.error.values == []
    assert (shape(visitor).d_model, shape(visitor).n_heads) == (770, 14)
    in_frame(visitor, {"kind": "undo"})
    assert session(visitor).present == ShapeScenario()


def test_a_size_that_fits_by_itself_is_made_while_a_refused_one_waits():
    visitor = type_in(type_in(counting(), WIDTH, 770), LAYERS, 3)
    assert (shape(visitor).d_model, shape(visitor).n_layers) == (768, 3)
    assert box(visitor, WIDTH).value == 770
    type_in(visitor, HEADS, 14)
    assert (shape(visitor).d_model, shape(visitor).n_heads, shape(visitor).n_layers) == (770, 14, 3)


def test_of_two_refused_sizes_the_one_that_fits_now_is_made():
    visitor = type_in(type_in(counting(), WIDTH, 770), "Experts a token uses", 2)
    assert len(visitor.error) == 2
    type_in(visitor, "Experts", 8)
    assert (shape(visitor).n_experts, shape(visitor).top_k, shape(visitor).d_model) == (8, 2, 768)
    [error] = visitor.error
    assert error.value.startswith("d_model must be")


def test_a_refused_size_that_is_typed_back_is_forgotten():
    visitor = type_in(type_in(counting(), WIDTH, 770), WIDTH, 768)
    assert visitor.error.values == []
    assert type_in(visitor, HIDDEN, 4096).session_state["hourglass"].present == ShapeScenario().edit(
        ("d_ff", (), 4096)
    )


def test_another_preset_forgets_what_was_refused():
    visitor = in_frame(type_in(counting(), WIDTH, 770), {"kind": "base", "name": "gpt2-xl"})
    assert visitor.error.values == []
    assert box(visitor, WIDTH).value == 1600


def test_more_experts_are_used_only_if_there_are_as_many():
    visitor = type_in(counting(), "Experts a token uses", 2)
    assert "top_k must be at most n_experts, got 2 of 1" in visitor.error[0].value
    type_in(visitor, "Experts", 8)
    assert (shape(visitor).n_experts, shape(visitor).top_k) == (8, 2)


# Cost


def gauge(visitor: AppTest, label: str) -> str:
    text: str = labelled(visitor.metric, label).value
    return text


def test_the_slider_and_the_box_set_the_context_length():
    visitor = counting()
    # 113,246,208 + 56,623,104 + 37,748,736 + 77,194,752, of which the first is the FFN's.
    assert gauge(visitor, "FLOPs for one token") == "285 million"
    assert gauge(visitor, "The FFN's share of the FLOPs") == "39.8%"
    visitor.select_slider[0].set_value(2048).run()
    assert session(visitor).view.length == 2048
    assert gauge(visitor, "FLOPs for one token") == "323 million"  # the third doubled
    type_in(visitor, "or type it", 1000)
    assert session(visitor).view.length == 1000
    assert visitor.select_slider[0].value == 1000, "the slider stands where the box says"
    assert "attention's scores: 4·n_layers·n_heads·d_head·n = 4·12·12·64·1,000 = 36,864,000" in words(visitor)


def test_causal_halves_the_scores_and_says_how_it_counts():
    visitor = counting()
    assert gauge(visitor, "Its scores alone from") == "3,072 tokens"
    assert "every token looks at all n tokens" in words(visitor)
    labelled(visitor.toggle, "Causal").set_value(True).run()
    assert session(visitor).view.causal is True
    assert gauge(visitor, "Its scores alone from") == "6,143 tokens"
    assert gauge(visitor, "Attention costs as much from") == "3,071 tokens"
    assert "the mean over the n tokens, (n + 1)/2" in words(visitor)
    gpt2 = next(row for row in table(visitor, "crossover, scores") if row["model"] == "GPT-2 small")
    assert gpt2["crossover, scores"] == "6,143", "the table counts as the page does"


def test_bias_adds_and_softmax_are_told_apart_from_the_total():
    # A layer of GPT-2 small adds 3,072 + 768 biases in the FFN and 4·768 in attention; softmax has 4 a score, 12 heads.
    told = f"Not in the total: bias adds: {12 * (3840 + 3072):,}; softmax: {12 * 12 * 4 * 1024:,}."
    assert told in words(counting())


def test_a_context_beyond_the_learned_positions_is_told():
    told = "This model has embeddings for 1,024 positions"
    assert told in words(counting({"t": "1025"}))
    assert told not in words(counting({"t": "1024"}))


# Tables


def test_memory_is_told_in_bytes_and_in_units_that_are_named():  # case C9
    visitor = counting({"m": "llama-2-7b"})
    rows = {row["stored as"]: row for row in table(visitor, "stored as")}
    assert rows["float32"]["bytes"] == f"{4 * 6_738_415_616:,}"
    assert [rows[name]["in powers of 1000"] for name in rows] == ["27 GB", "13.5 GB", "6.74 GB"]
    assert [rows[name]["in powers of 1024"] for name in rows] == ["25.1 GiB", "12.6 GiB", "6.28 GiB"]


def test_the_models_stand_side_by_side_with_their_sources():
    visitor = counting()
    rows = {row["model"]: row for row in table(visitor, "crossover, scores")}
    assert list(rows) == [shape.title for shape in MODELS.values()]
    for shape in MODELS.values():
        assert f"- **{shape.title}**: {shape.source}." in words(visitor)
    assert rows["Mixtral 8x7B"]["active"] == "12,879,925,248"
    assert rows["Llama 2 13B"]["all parameters"] == "13,015,864,320"
    assert rows["Llama 3 8B"]["FFN, one layer"] == "176,160,768"
    assert (rows["GPT-2 small"]["crossover, scores"], rows["GPT-2 small"]["with projections"]) == (
        "3,072",
        "1,536",
    )
    assert rows["Llama 2 7B"]["FFN's share"] == "64.2%"


def test_a_changed_shape_stands_beside_the_models():
    [first, *rest] = table(type_in(counting(), HIDDEN, 4096), "crossover, scores")
    assert first["model"] == "GPT-2 small, changed"
    assert first["crossover, scores"] == "4,096"
    assert len(rest) == len(MODELS)


def test_the_lessons_print_stands_beside_its_counts_for_the_lesson_alone():  # case C1
    visitor = counting({"m": "lesson"})
    rows = table(visitor, "the lesson prints")
    assert [row["the lesson prints"] for row in rows] == ["66048", "65664", "131712", "66048", "2"]
    assert [row["counted"] for row in rows] == ["66,048", "65,664", "131,712", "66,048", "1.9942"]
    for other in (counting(), type_in(visitor, HIDDEN, 256)):
        assert not any("the lesson prints" in element.value.columns for element in other.table)
