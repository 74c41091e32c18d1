"""The pages run as Streamlit runs them, without a browser.

A v2 component is an element that AppTest does not know: its data is read from its message, and what the
browser would send stands in the session state. The browser tests do the same with a real Chromium.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from ffn_app.session import Session, token, turned_to
from ffn_core import weight_files
from ffn_core.examples import EXAMPLES
from ffn_core.scenario import RandomBase, Scenario

MAIN = Path(__file__).parents[1] / "ffn_app" / "main.py"
FRAME = "hourglass_frame"


def visit(
    page: str = "hourglass", query: dict[str, str] | None = None, state: dict[str, Any] | None = None
) -> AppTest:
    """A visitor who opens a page with an address, and whose browser sent that state."""
    visitor = AppTest.from_file(str(MAIN), default_timeout=60)
    for name, value in (query or {}).items():
        visitor.query_params[name] = value
    for name, value in (state or {}).items():
        visitor.session_state[name] = value
    visitor.run()
    return visitor if page == "hourglass" else visitor.switch_page(f"../pages/{page}.py").run()


def session(visitor: AppTest) -> Session:
    found = visitor.session_state["hourglass"]
    assert isinstance(found, Session)
    return found


def component(visitor: AppTest, key: str) -> dict[str, Any]:
    """What a component was given to draw."""
    [proto] = [
        element.proto for element in visitor.get("bidi_component") if f"-{key}-" in f"{element.proto.id}-"
    ]
    [data] = json.loads(proto.json).values()
    assert isinstance(data, dict)
    return data


def labelled(elements: Any, label: str) -> Any:
    """The one widget among them with that label."""
    [element] = [element for element in elements if element.label == label]
    return element


# Both pages open


@pytest.mark.parametrize("page", ["hourglass", "weights"])
@pytest.mark.parametrize(
    "query", [{}, {"ex": "memories"}, {"ex": "cat", "act": "relu", "p": "2"}, {"ex": "random", "n": "511"}]
)
def test_every_page_opens_with_every_example(page, query):
    visitor = visit(page, query)
    assert [error.value for error in visitor.exception] == []
    assert session(visitor).present.base == query.get("ex", "lesson")


def test_the_home_page_draws_the_lessons_output():
    board = component(visit(), "board")
    output = next(spec["values"] for spec in board["arrays"] if spec["id"] == "output")
    assert output == pytest.approx([0.4215, 0.4145, 0.4249, 0.4111], abs=5e-5)


def test_the_address_opens_the_scenario_with_the_view():
    made = Scenario(base="cat").edit(("w1", (0, 2), -0.75)).with_activation("silu")
    visitor = visit(query=made.to_query() | {"p": "2", "n": "5"})
    opened = session(visitor)
    assert opened.present.edits == made.edits
    assert (opened.present.activation, opened.view.position, opened.view.neuron) == ("silu", 2, 5)
    assert component(visitor, FRAME)["activation"] == "silu"


@pytest.mark.parametrize(
    "query",
    [
        {"ex": "nothing"}, {"act": "<script>"}, {"r": "1000000-1000000-1-0"}, {"v": "1", "e": "not an edit"},
        {"v": "99", "e": "AAAA"}, {"v": "1", "e": "A" * 7000}, {"r": "0-0-0-0"}, {"r": "-1"},
    ],
)  # fmt: skip
def test_a_hostile_address_opens_a_sound_scenario_with_a_notice(query):
    visitor = visit(query=query)
    assert [error.value for error in visitor.exception] == []
    assert component(visitor, FRAME)["notices"] != []


@pytest.mark.parametrize(
    "query",
    [{"p": "-1", "n": "1e9", "s": "x", "c": "?"}, {"kept": "../../etc"}, {"__proto__": "1"}, {"embed": "'"}],
)
def test_an_address_with_a_senseless_view_opens_the_default_one(query):
    visitor = visit(query=query)
    assert [error.value for error in visitor.exception] == []
    assert component(visitor, FRAME)["query"] == ""


def test_the_frame_writes_the_link_that_opens_the_same_again():
    made = Scenario(base=RandomBase(8, 32, 3, 7)).edit(("b2", (1,), 0.5))
    visitor = visit(query=made.to_query())
    query = dict(pair.split("=") for pair in component(visitor, FRAME)["query"].split("&"))
    assert query == made.to_query()


# What the browser sends


def sent(scenario: Scenario, *events: dict[str, Any]) -> dict[str, Any]:
    numbered = [{**event, "seq": seq} for seq, event in enumerate(events, start=1)]
    return {FRAME: {"log": {"client": "tab", "token": token(scenario), "events": numbered}}}


@pytest.mark.parametrize("page", ["hourglass", "weights"])
def test_an_edit_in_the_browser_changes_the_scenario_on_both_pages(page):
    edit = {"kind": "edit", "array": "w1", "index": [0, 0], "value": 0.6}
    visitor = visit(page, state=sent(Scenario(), edit))
    board = component(visitor, "board")
    hidden = next(spec["values"] for spec in board["arrays"] if spec["id"] == "hidden")
    assert hidden[0] == pytest.approx(0.93)  # 0.43 with 0.6 * 1.0 in place of 0.1 * 1.0
    assert component(visitor, FRAME)["log"]["applied"] == 1


def test_what_the_browser_sends_is_applied_once_however_often_the_page_runs():
    visitor = visit(state=sent(Scenario(), {"kind": "insert", "at": 2}))
    visitor.run().run()
    assert len(session(visitor).present.words) == 3


def test_an_edit_that_is_refused_is_told_on_the_board_and_changes_nothing():
    visitor = visit(state=sent(Scenario(), {"kind": "edit", "array": "w1", "index": [8, 0], "value": 1.0}))
    assert [error.value for error in visitor.exception] == []
    assert session(visitor).present.edits == ()
    assert "w1 is [d_ff, d_model] = [8, 4]" in component(visitor, "board")["problem"]["text"]


@pytest.mark.parametrize(
    "log", [None, 5, "x", [], {"client": "tab"}, {"client": "tab", "token": "", "events": [{"seq": 1}]}]
)
def test_a_message_that_is_none_shows_the_page_as_it_was(log):
    visitor = visit(state={FRAME: {"log": log}})
    assert [error.value for error in visitor.exception] == []
    assert session(visitor).present.edits == ()


# The Weights page's tools


def test_the_size_boxes_resize_and_keep_what_fits():
    visitor = visit("weights")
    labelled(visitor.number_input, "d_ff, the width of the hidden layer (1 to 64)").set_value(3).run()
    ffn, _ = session(visitor).present.build()
    assert ffn.w1.tolist() == [[0.1, 0.2, 0.3, 0.4], [0.2, 0.1, 0.4, 0.3], [0.3, 0.4, 0.1, 0.2]]
    labelled(visitor.number_input, "d_model, the width of the residual stream (1 to 16)").set_value(5).run()
    ffn, x = session(visitor).present.build()
    assert ffn.w1[0].tolist() == [0.1, 0.2, 0.3, 0.4, 0.0]
    assert x[1].tolist() == [0.2, -0.4, 0.6, 0.1, 0.0]


def test_a_resized_network_says_what_cannot_be_compared():
    visitor = visit("weights")
    labelled(visitor.number_input, "d_ff, the width of the hidden layer (1 to 64)").set_value(3).run()
    [note] = [caption.value for caption in visitor.caption if "cannot be compared" in caption.value]
    assert note.startswith("W1, b1, W2 changed size")


def test_undo_on_the_board_takes_a_tools_change_back():
    visitor = visit("weights", state=sent(Scenario(), {"kind": "seen"}))
    labelled(visitor.number_input, "d_ff, the width of the hidden layer (1 to 64)").set_value(3).run()
    events = [{"kind": "seen", "seq": 1}, {"kind": "undo", "seq": 2}]
    visitor.session_state[FRAME] = {"log": {"client": "tab", "token": "", "events": events}}
    visitor.run()
    assert session(visitor).present.build()[0].d_ff == 8


@pytest.mark.parametrize("array", ["w1", "w2"])
def test_filling_with_zero_writes_every_number_of_the_chosen_array_and_no_other(array):
    visitor = visit("weights", {"ex": "cat"})
    visitor.selectbox("fill_array").set_value(array).run()
    labelled(visitor.button, "All zero").click().run()
    ffn, _ = session(visitor).present.build()
    assert [name for name in ("w1", "w2") if not getattr(ffn, name).any()] == [array]


def test_randomizing_with_the_same_seed_gives_the_same_numbers():
    def randomized(seed: int) -> list[list[float]]:
        visitor = visit("weights")
        visitor.number_input("fill_seed").set_value(seed).run()
        labelled(visitor.button, "Randomize").click().run()
        rows: list[list[float]] = session(visitor).present.build()[0].w1.tolist()
        return rows

    assert randomized(7) == randomized(7)
    assert randomized(7) != randomized(8)


def test_identity_is_offered_for_square_arrays_only():
    visitor = visit("weights")
    assert labelled(visitor.button, "Identity").disabled
    visitor = visit("weights", {"ex": "memories"})
    assert not labelled(visitor.button, "Identity").disabled
    labelled(visitor.button, "Identity").click().run()
    assert session(visitor).present.build()[0].w1.tolist() == [[1, 0], [0, 1]]


def test_random_weights_of_any_size_start_a_scenario():
    visitor = visit("weights", {"act": "relu"})
    for label, value in (("d_model", 128), ("d_ff", 512), ("positions", 4), ("seed", 3)):
        labelled(visitor.number_input, label).set_value(value).run()
    labelled(visitor.button, "Start from these").click().run()
    assert session(visitor).present.base == RandomBase(128, 512, 4, 3)
    assert session(visitor).present.activation == "relu", "the nonlinearity that was chosen stays"


@pytest.mark.parametrize(
    ("box", "button", "expected"),
    [
        ("base_seed", "Start from these", Scenario(base=RandomBase(16, 64, 2, 7))),
        ("fill_seed", "Randomize", Scenario().edit(("randomize", ("w1",), 7))),
    ],
)
def test_a_button_pressed_right_after_typing_takes_what_was_typed(box, button, expected):
    # Leaving the box and pressing the button reach the server together when it is busy: one run sees both.
    visitor = visit("weights")
    visitor.number_input(box).set_value(7)
    labelled(visitor.button, button).click().run()
    assert session(visitor).present.build()[0].w1.tolist() == expected.build()[0].w1.tolist()


def pasted(text: str, array: str = "b2") -> AppTest:
    visitor = visit("weights")
    visitor.selectbox("paste_array").set_value(array)
    visitor.text_area("paste_text").set_value(text).run()
    labelled(visitor.button, "Put it into the array").click().run()
    return visitor


def test_pasted_numbers_replace_an_array():
    visitor = pasted("1,5\t−2\t.5\t1e-3")
    assert session(visitor).present.build()[0].b2.tolist() == [1.5, -2.0, 0.5, 0.001]
    assert [error.value for error in visitor.error] == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1\t2\tx\t4", "row 1, column 3"),
        ("1\t2\t\t4", "row 1, column 3"),
        ("nan\t2\t3\t4", "row 1, column 1"),
        ("1 2 3", "b2 is [d_model] = [4], and these numbers are [3]"),
        ("[" * 100_000, "brackets"),
    ],
)
def test_what_cannot_be_pasted_is_told_beside_the_text_and_changes_nothing(text, reason):
    visitor = pasted(text)
    [error] = visitor.error
    assert reason in error.value
    assert [error.value for error in visitor.exception] == []
    assert session(visitor).present.edits == ()
    assert visitor.text_area("paste_text").value == text, "so that it can be mended"


# Files


def test_a_saved_network_opens_again_with_its_words():
    made = Scenario(base="cat").edit(("w2", (0, 0), 0.123456789012345))
    text = weight_files.save_json(*made.build(), made.words)
    visitor = visit("weights")
    visitor.file_uploader[0].set_value(("made.json", text.encode(), "application/json")).run()
    labelled(visitor.button, "Open it").click().run()
    opened = session(visitor).present
    assert opened.words == ("The", "cat", "sat")
    assert opened.build()[0].w2.tolist() == made.build()[0].w2.tolist()


def test_a_saved_gated_network_opens_on_its_own_page_and_the_weights_page_stays_as_it_is():
    made = Scenario(base="gates").edit(("w_up", (0, 0), 0.123456789012345))
    text = weight_files.save_json(*made.build(), made.words)
    visitor = visit("weights")
    visitor.file_uploader[0].set_value(("made.json", text.encode(), "application/json")).run()
    labelled(visitor.button, "Open it").click().run()
    assert [error.value for error in visitor.exception] == []
    assert session(visitor).present.base == "lesson"
    gates = turned_to(session(visitor), "gated").present
    assert gates.build()[0].w_up.tolist() == made.build()[0].w_up.tolist()
    [notice] = session(visitor).notices
    assert "is open on the page “Gates”" in notice


@pytest.mark.parametrize("base", ["gates", "experts"])
def test_a_link_to_another_familys_scenario_leads_to_its_page(base):
    visitor = visit("hourglass", {"ex": base})
    assert [error.value for error in visitor.exception] == []
    assert session(visitor).present.base == base
    [notice] = session(visitor).notices
    assert notice.startswith("The link holds a")


def test_a_file_that_cannot_be_opened_is_told_where_it_was_chosen():
    visitor = visit("weights")
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"  # case F1
    visitor.file_uploader[0].set_value(("model.npz", pointer, "application/octet-stream")).run()
    [error] = visitor.error
    assert "Git LFS pointer" in error.value
    assert [error.value for error in visitor.exception] == []


# Before and after


def test_before_and_after_shows_the_difference_and_on_choice_the_start():
    edit = {"kind": "edit", "array": "w1", "index": [0, 0], "value": 0.6}
    visitor = visit("weights", state=sent(Scenario(), edit))

    def w1_00() -> float:
        specs = component(visitor, "comparison")["arrays"]
        return float(next(spec["values"] for spec in specs if spec["id"] == "w1")[0])

    assert w1_00() == pytest.approx(0.5)
    visitor.button_group("compared").set_value("Starting point").run()
    assert w1_00() == 0.1


# Memories


@pytest.mark.parametrize("base", EXAMPLES)
@pytest.mark.parametrize("view", [{}, {"p": "1", "n": "0"}, {"n": "511"}])
def test_memories_opens_with_every_example_with_and_without_a_neuron(base, view):
    visitor = visit("memories", {"ex": base} | view)
    assert [error.value for error in visitor.exception] == []
    assert component(visitor, "board")["drawn"] == ("hourglass" if base == "random" else "neurons")
    assert component(visitor, "heatmap")["text"].startswith("Heatmap of activated")
    followed = session(visitor).view.neuron is not None
    assert [head.value for head in visitor.header] == ["Who fires where", "One neuron", "The output is a sum"]
    assert (labelled(visitor.selectbox, "Neuron").value is not None) == followed
    assert len(visitor.slider) == 1 + followed, "without a neuron there is no strength to set"


def follow(neuron: int, base: str = "lesson") -> AppTest:
    return visit("memories", {"ex": base, "n": str(neuron)})


def strengths(visitor: AppTest) -> list[tuple[Any, ...]]:
    return [tuple(edit) for edit in session(visitor).present.edits]


def undone(visitor: AppTest) -> AppTest:
    """The visitor presses Undo."""
    seen = session(visitor).applied
    events = [{"kind": "seen", "seq": seen + 1}, {"kind": "undo", "seq": seen + 2}]
    log = {"client": "tab", "token": token(session(visitor).present), "events": events}
    visitor.session_state[FRAME] = {"log": log}
    return visitor.run()


def test_the_list_follows_a_neuron_and_its_card_shows_it():
    visitor = visit("memories")
    labelled(visitor.selectbox, "Neuron").set_value(5).run()
    assert session(visitor).view.neuron == 5
    assert "hidden[0][5] = " in component(visitor, "card")["text"]
    assert component(visitor, "board")["neuron"] == 5


def test_the_slider_sets_a_strength_and_undo_takes_it_back():
    visitor = follow(2)
    labelled(visitor.slider, "Strength of neuron 2").set_value(0.5).run()
    assert strengths(visitor) == [("strength", (2,), 0.5)]
    assert component(visitor, FRAME)["query"] == "v=1&e=" + session(visitor).present.to_query()["e"] + "&n=2"
    undone(visitor)
    assert strengths(visitor) == []
    assert labelled(visitor.slider, "Strength of neuron 2").value == 1


def test_a_neuron_is_switched_off_and_put_back_by_button():
    visitor = follow(2)
    assert labelled(visitor.button, "As it was").disabled
    labelled(visitor.button, "Switch it off").click().run()
    assert strengths(visitor) == [("strength", (2,), 0.0)]
    assert labelled(visitor.button, "Switch it off").disabled
    assert labelled(visitor.slider, "Strength of neuron 2").value == 0
    # Less 0.4634 * [0.1, 0.2, 0.2, 0.1], of which 0.0927 is the greatest, twice.
    told = component(visitor, "intervention")["text"]
    assert told.startswith("The greatest change is −0.0927, at coordinate ")
    labelled(visitor.button, "As it was").click().run()
    assert session(visitor).present.strengths == {}
    assert "Interventions" not in [head.value for head in visitor.header]


def test_all_interventions_are_taken_back_at_once_and_can_be_undone_at_once():
    query = Scenario().edit(("strength", (2,), 0.0), ("strength", (5,), -1.0)).to_query()
    visitor = visit("memories", query)
    assert "Strengths that are not 1: Neuron 2 at 0; Neuron 5 at -1." in [
        text.value for text in visitor.markdown
    ]
    labelled(visitor.button, "Take all of them back").click().run()
    assert session(visitor).present.strengths == {}
    assert session(visitor).present.undo().strengths == {2: 0.0, 5: -1.0}, "also after a reload: one edit"
    undone(visitor)
    assert session(visitor).present.strengths == {2: 0.0, 5: -1.0}


def test_each_neuron_has_a_strength_of_its_own():
    visitor = follow(2)
    labelled(visitor.button, "Switch it off").click().run()
    labelled(visitor.selectbox, "Neuron").set_value(3).run()
    assert labelled(visitor.slider, "Strength of neuron 3").value == 1
    labelled(visitor.slider, "Strength of neuron 3").set_value(2.0).run()
    assert session(visitor).present.strengths == {2: 0.0, 3: 2.0}


def test_a_strength_from_a_link_beyond_the_slider_holds_until_it_is_moved():
    query = Scenario().edit(("strength", (2,), 50.0)).to_query()
    visitor = visit("memories", query | {"n": "2"})
    assert labelled(visitor.slider, "Strength of neuron 2").value == 2, "as far as it goes"
    assert session(visitor).present.strengths == {2: 50.0}


def gauges(visitor: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in visitor.metric}


def test_sparsity_says_what_it_counts_and_the_reader_sets_the_threshold():
    # Case S13, by six neurons that copy x: of [0, -0, 1e-9, -0.1, 0.5, 2] two are 0 and three within 0.001 of it.
    made = Scenario(activation="identity").edit(
        ("d_model", (), 6), ("d_ff", (), 6), ("identity", ("w1",), 1.0), ("remove_position", (1,), ""),
        ("x", (0, 0), ((0.0, -0.0, 1e-9, -0.1, 0.5, 2.0),)),
    )  # fmt: skip
    visitor = visit("memories", made.to_query())
    assert gauges(visitor)["Exactly zero"] == "33.3%"
    assert gauges(visitor)["Within 0.001 of zero"] == "50.0%"
    visitor.number_input("memories_threshold").set_value(0.1).run()
    assert gauges(visitor)["Within 0.1 of zero"] == "66.7%", "-0.1 is as near to zero as 0.1"
    assert gauges(visitor)["Dead neurons"] == "2 of 6"


def test_the_gauges_count_the_neurons_that_carry_most_of_the_output():
    # The AND gate has one neuron, which is silent at 0 0.
    assert gauges(visit("memories", {"ex": "and_gate", "p": "3"}))["Carry 90% here"] == "1 of 1"
    assert gauges(visit("memories", {"ex": "and_gate", "p": "0"}))["Carry 90% here"] == "0 of 1"


@pytest.mark.parametrize(
    ("kept", "off"),
    # All contributions have the length of their activation times sqrt(0.1); b2 is 0, so that without any the whole
    # output is missing: sqrt(0.4215² + 0.4145² + 0.4249² + 0.4111²) = 0.8361.
    [(0, "0.836"), (8, "0")],
)
def test_the_slider_chooses_how_many_neurons_are_kept(kept, off):
    visitor = visit("memories")
    labelled(visitor.slider, "Neurons kept, largest contribution first").set_value(kept).run()
    told = component(visitor, "sum")["text"]
    assert told == f"With the {kept} largest of 8 contributions the sum is {off} from the output."


def heat(visitor: AppTest) -> dict[str, Any]:
    drawn: dict[str, Any] = json.loads(component(visitor, "heatmap")["figure"])["data"][0]
    return drawn


def test_the_colours_of_the_heatmap_stay_while_a_person_edits_so_that_colour_changes_only_with_value():
    start = heat(visit("memories"))
    assert start["zmax"] == 0.5  # 0.4634 is the greatest, and the next round number 0.5
    query = Scenario().edit(("b1", (0,), 40.0)).to_query()
    assert heat(visit("memories", query))["zmax"] == 0.5


@pytest.mark.parametrize(
    ("shown", "reach"),
    # The greatest are 0.63 and 0.4634 * sqrt(0.1) = 0.1465.
    [("hidden", 1.0), ("contribution", 0.2)],
)
def test_each_measure_has_the_range_that_its_own_numbers_need(shown, reach):
    visitor = visit("memories")
    visitor.button_group("memories_measure").set_value(shown).run()
    assert heat(visitor)["zmax"] == pytest.approx(reach)


def test_the_neurons_of_the_heatmap_can_be_put_in_another_order():
    visitor = visit("memories", state={"heatmap_numbers": True})
    visitor.button_group("memories_order").set_value("strength").run()
    assert "strongest first" in component(visitor, "heatmap")["text"]
    # Neuron 2 fires hardest at the first position, 0.4634, and neuron 1 least, 0.2384.
    [table] = visitor.dataframe
    assert list(table.value["neuron"]) == [2, 5, 3, 4, 7, 0, 6, 1]


# Visitors


def test_two_visitors_see_only_their_own():
    edit = {"kind": "edit", "array": "w1", "index": [0, 0], "value": 0.6}
    one, other = visit(state=sent(Scenario(), edit)), visit()
    one.run()
    assert (len(session(one).present.edits), len(session(other).present.edits)) == (1, 0)


# Memories


def test_the_caption_says_that_w2_is_transposed_only_where_it_is_drawn_so():
    small, large = (visit("memories", {"ex": example}) for example in ("lesson", "random"))
    assert any("transposed" in caption.value for caption in small.caption)
    assert not any("transposed" in caption.value for caption in large.caption)


def test_a_strength_from_a_link_that_the_slider_does_not_reach_is_told_beside_it():
    strong = Scenario().edit(("strength", (2,), 99.0))
    visitor = visit("memories", {**strong.to_query(), "n": "2"})
    assert labelled(visitor.slider, "Strength of neuron 2").value == 2
    assert "Its strength is 99, which the slider does not reach." in [c.value for c in visitor.caption]
