"""One visitor's session is a value, and each message from the browser turns it into the next.

The browser keeps its actions in a numbered log and sends them again until it hears that they were applied,
so the reducer must take each number once. Nothing in a message can be trusted: it comes from a visitor.
"""

import json
import re
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffn_app.look import Look
from ffn_app.session import (
    EVENTS,
    Session,
    apply,
    family_of,
    link,
    moved,
    open_session,
    placed,
    receive,
    token,
    turned_to,
)
from ffn_app.view import View
from ffn_core import weight_files
from ffn_core.counting import MAX_CONTEXT
from ffn_core.scenario import MAX_LINK, RandomBase, Scenario

Event = dict[str, Any]


def arrays(scenario: Scenario) -> dict[str, np.ndarray]:
    ffn, x = scenario.build()
    return {"x": x, "w1": ffn.w1, "b1": ffn.b1, "w2": ffn.w2, "b2": ffn.b2}


def assert_same(one: Scenario, other: Scenario) -> None:
    for (name, array), expected in zip(arrays(one).items(), arrays(other).values(), strict=True):
        np.testing.assert_array_equal(array, expected, err_msg=name)
    assert (one.words, one.activation) == (other.words, other.activation)


def edit(array: str, index: list[int], value: object, **more: object) -> Event:
    return {"kind": "edit", "array": array, "index": index, "value": value, **more}


def paste(array: str, index: list[int], text: str) -> Event:
    return {"kind": "paste", "array": array, "index": index, "text": text}


def do(session: Session, *events: Event) -> Session:
    """The session after events that the browser numbers on from the last one applied."""
    numbered = [{**event, "seq": session.applied + k} for k, event in enumerate(events, start=1)]
    return receive(session, {"client": "tab", "token": token(session.present), "events": numbered})


def w1_00(session: Session) -> float:
    return float(session.present.build()[0].w1[0, 0])


def opened(address: str) -> Session:
    return open_session(dict(parse_qsl(address)))


# Each action is applied once, in order


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"p": "2"}, ["position '2' makes no sense here: 1 is taken instead."]),
        (
            {"p": "first", "n": "-1"},
            [
                "position 'first' makes no sense here: 0 is taken instead.",
                "neuron '-1' makes no sense here and was left out.",
            ],
        ),
        ({"n": "8"}, ["neuron '8' makes no sense here and was left out."]),
        ({"i": "7"}, ["coordinate '7' makes no sense here: 3 is taken instead."]),
        ({"x": "1e9"}, ["x '1e9' makes no sense here: 100 is taken instead."]),
        ({"t": "0"}, ["context length '0' makes no sense here: 1024 is taken instead."]),
        ({"trap": "mouse"}, ["trap 'mouse' makes no sense here: orientation is taken instead."]),
        ({"y": "1,two"}, ["target '1,two' makes no sense here and was left out."]),
        (
            {"y": "1.5,2.5,3.5,4.5,5.5"},
            ["target '1.5,2.5,3.5,4.5,5.5' makes no sense here: 1.5,2.5,3.5,4.5 is taken instead."],
        ),
        ({"g": "w9" * 15}, [f"entry '{'w9' * 10}…' makes no sense here and was left out."]),
        ({"p": "0", "n": "", "x": "1.0", "t": "1024"}, []),
        ({"p": "1", "n": "7", "x": "-.50", "s": "3"}, []),
    ],
)
def test_a_link_says_what_it_told_of_the_view_in_vain_and_what_is_taken_instead(query, told):
    opened = open_session(query)  # the worked example: two positions, eight neurons, four coordinates
    assert opened.notices == tuple(f"The link's {what}" for what in told)


def test_events_are_applied_in_the_order_of_their_numbers():
    # Both write w1[0][0]; the later one stands, and hidden[0][0] follows: the lesson's 0.43 with 0.1 * 1.0
    # become 0.6 * 1.0.
    session = do(open_session({}), edit("w1", [0, 0], 9.0), edit("w1", [0, 0], 0.6))
    ffn, x = session.present.build()
    assert ffn.forward(x).hidden[0, 0] == pytest.approx(0.93, abs=1e-15)
    assert session.applied == 2


def test_an_event_that_comes_again_is_not_applied_again():
    # The browser sends its whole log while it waits for an answer: here two of three were seen before.
    log = [{**edit("b2", [0], value), "seq": seq} for seq, value in ((1, 1.0), (2, 2.0), (3, 3.0))]
    start = open_session({})
    message = {"client": "tab", "token": token(start.present), "events": log[:2]}
    twice = receive(receive(start, message), {**message, "events": log})
    assert [e.value for e in twice.present.edits] == [1.0, 2.0, 3.0]
    assert receive(twice, {**message, "events": log}) is twice


def test_fifty_edits_in_one_message_are_all_there():
    # Case M7.
    cells = [("w1", [j, i]) for j in range(8) for i in range(4)] + [
        ("w2", [i, j]) for i in range(4) for j in range(8)
    ]
    session = do(
        open_session({}), *(edit(array, index, k + 0.5) for k, (array, index) in enumerate(cells[:50]))
    )
    now = arrays(session.present)
    assert [now[array][tuple(index)] for array, index in cells[:50]] == [k + 0.5 for k in range(50)]


def test_a_refused_event_counts_as_seen_and_those_after_it_are_applied():
    session = do(open_session({}), edit("w1", [99, 0], 1.0), edit("b2", [0], 5.0))
    assert session.applied == 2
    assert arrays(session.present)["b2"][0] == 5.0


def test_a_session_that_does_not_know_the_browser_takes_only_events_meant_for_its_scenario():
    # After a server restart the address gives the scenario. Events that were made on another one (the
    # address was behind) would land on the wrong numbers.
    session = open_session({})
    events = [{**edit("w1", [0, 0], 0.6), "seq": 7}]
    stale = {"client": "tab", "token": token(Scenario(base="cat")), "events": events}
    assert receive(session, stale) is session
    fresh = receive(session, {**stale, "token": token(Scenario())})
    assert (w1_00(fresh), fresh.client, fresh.applied) == (0.6, "tab", 7)


def test_a_known_browser_needs_no_token_since_its_log_runs_ahead_of_the_answers():
    session = do(open_session({}), edit("b2", [0], 1.0))
    behind = {"client": "tab", "token": token(Scenario()), "events": [{**edit("b2", [1], 2.0), "seq": 2}]}
    assert arrays(receive(session, behind).present)["b2"].tolist() == [1.0, 2.0, 0.0, 0.0]


def test_the_token_is_the_same_for_the_same_edits_and_differs_for_others():
    one, same = (Scenario().edit(("b2", (0,), 1.0)) for _ in range(2))
    others = [
        Scenario(),
        Scenario().edit(("b2", (0,), 1.5)),
        Scenario(activation="relu").edit(("b2", (0,), 1.0)),
        Scenario(base="cat").edit(("b2", (0,), 1.0)),
    ]
    assert token(one) == token(same)
    assert len({token(scenario) for scenario in (one, *others)}) == 5


# What is no message changes nothing


@pytest.mark.parametrize(
    "message",
    [
        None, 0, "log", [], {}, {"events": []}, {"client": 1, "events": []}, {"client": "tab"},
        {"client": "tab", "events": {}}, {"client": "x" * 65, "events": []},
        {"client": "", "token": "", "events": [1, None, [], {}, {"seq": 0}, {"seq": "1", "kind": "undo"}]},
    ],
)  # fmt: skip
def test_what_is_no_message_changes_nothing(message):
    session = open_session({})
    assert receive(session, message) is session


@pytest.mark.parametrize(
    "event", [{}, {"kind": None}, {"kind": "drop"}, {"kind": ["edit"]}, {"kind": "__init__"}]
)
def test_an_unknown_action_changes_no_number_and_is_told(event):
    session = apply(open_session({}), event)
    assert_same(session.present, Scenario())
    assert session.problem == "That action could not be read; nothing was changed."


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["w1", "b1", "x", "w2", "b2", "together", "randomize", "d_ff", "hidden", "9" * 5000, "lesson"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
FIELDS = (
    "array",
    "index",
    "value",
    "text",
    "gesture",
    "position",
    "neuron",
    "step",
    "compare",
    "block",
    "name",
    "at",
    "word",
)
EVENT = st.fixed_dictionaries(
    {"kind": st.sampled_from(sorted(EVENTS)), "seq": st.integers(1, 9)},
    optional=dict.fromkeys(FIELDS, JSON),
)
INDEX = st.lists(st.integers(-1, 9), max_size=3)
PLAUSIBLE = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(sorted(EVENTS)),
        "seq": st.integers(1, 9),
        "array": st.sampled_from(
            ["x", "w1", "b1", "w2", "b2", "hidden", "activated_other", "output", "residual"]
        ),
        "index": INDEX,
        "value": st.floats() | st.integers(),
        "text": st.sampled_from(["1 2\n3 4", "1", "", "1\t\t2", "[" * 50, "nan"]),
        "at": st.integers(-2, 5),
        "name": st.sampled_from(["lesson", "cat", "memories", "relu", "gelu", "nothing"]),
        "word": st.text(max_size=30),
    },
    optional={
        "position": st.integers(-1, 9),
        "neuron": st.none() | st.integers(-1, 99),
        "step": st.none() | st.integers(-1, 9),
        "compare": st.booleans(),
        "block": st.lists(st.integers(-3, 9), min_size=3, max_size=5),
        "gesture": st.sampled_from(["a", "b"]),
    },
)


def assert_sound(session: Session) -> None:
    """Whatever came: finite numbers, a view inside the scenario, and a link that gives the scenario back."""
    ffn, x = session.present.build()
    assert all(np.isfinite(array).all() for array in (x, ffn.w1, ffn.b1, ffn.w2, ffn.b2))
    assert 0 <= session.view.position < len(x)
    assert session.view.neuron is None or 0 <= session.view.neuron < ffn.d_ff
    assert session.view.step in (None, 0, 1, 2, 3)
    assert session.view.compare in (True, False)
    query, too_long = link(session)
    assert len(query) < MAX_LINK + 100
    if not too_long:
        again = open_session(dict(parse_qsl(query)))
        assert_same(again.present, session.present)
        assert (again.view, again.notices) == (session.view, ())


@given(JSON)
@settings(max_examples=200, deadline=None)
def test_no_json_at_all_makes_the_session_raise(message):
    assert_sound(receive(open_session({}), message))


@given(st.lists(EVENT | PLAUSIBLE, max_size=6))
@settings(max_examples=150, deadline=None)
def test_no_event_whatever_its_fields_makes_the_session_raise_or_unsound(events):
    start = open_session({})
    session = receive(start, {"client": "tab", "token": token(start.present), "events": events})
    assert_sound(session)
    # What was done can be taken back, all of it.
    for _ in range(len(session.past)):
        session = do(session, {"kind": "undo"})
    assert_same(session.present, Scenario())


# Undo, redo, reset


def test_undo_and_redo_walk_back_and_forward():
    session = do(open_session({}), edit("w1", [0, 0], 0.6), edit("w1", [0, 0], 0.7))
    back = [session := do(session, {"kind": "undo"}) for _ in range(3)]
    assert [w1_00(s) for s in back] == [0.6, 0.1, 0.1]  # the third has nothing left to take back
    forward = [session := do(session, {"kind": "redo"}) for _ in range(3)]
    assert [w1_00(s) for s in forward] == [0.6, 0.7, 0.7]


def test_a_new_edit_forgets_what_could_have_been_redone():
    session = do(
        open_session({}), edit("w1", [0, 0], 0.6), {"kind": "undo"}, edit("b2", [0], 1.0), {"kind": "redo"}
    )
    assert w1_00(session) == 0.1
    assert session.future == ()


def test_a_drag_is_one_undo_however_many_edits_it_made():
    drag = [edit("w1", [0, 0], round(0.1 + k / 100, 2), gesture="drag 1") for k in range(1, 31)]
    session = do(open_session({}), edit("b2", [0], 1.0), *drag)
    assert w1_00(session) == 0.4
    assert len(session.present.edits) == 2, "the cell's ways stay out of the link"
    session = do(session, {"kind": "undo"})
    assert (w1_00(session), arrays(session.present)["b2"][0]) == (0.1, 1.0)


def test_two_drags_are_two_undos_and_so_is_one_drag_with_an_undo_in_it():
    def drag(value: float, name: str) -> Event:
        return edit("w1", [0, 0], value, gesture=name)

    two = do(open_session({}), drag(0.2, "a"), drag(0.3, "b"), {"kind": "undo"})
    assert w1_00(two) == 0.2
    taken_back = [edit("b2", [0], 1.0), drag(0.2, "a"), {"kind": "undo"}]
    broken = do(open_session({}), *taken_back, drag(0.4, "a"))
    assert (w1_00(broken), arrays(broken.present)["b2"][0]) == (0.4, 1.0)
    assert w1_00(do(broken, {"kind": "undo"})) == 0.1


def test_edits_without_end_stay_editable_and_undoable(monkeypatch):
    monkeypatch.setattr("ffn_app.session.MOST_EDITS", 5)
    session = open_session({})
    for k in range(12):
        session = do(session, edit("w1", [k % 8, k % 4], 10.0 + k))
    w1 = session.present.build()[0].w1
    assert len(session.present.edits) <= 6
    assert [w1[k % 8, k % 4] for k in range(4, 12)] == [10.0 + k for k in range(4, 12)]
    session = do(session, *[{"kind": "undo"}] * 12)
    assert session.present.build()[0].w1[0].tolist() == [0.1, 0.2, 0.3, 0.4]


def test_a_paste_is_one_undo():
    session = do(open_session({}), paste("w1", [0, 0], "1 2\n3 4"), {"kind": "undo"})
    assert_same(session.present, Scenario())


def test_reset_goes_back_to_the_start_and_can_be_undone():
    edited = do(open_session({}), edit("w1", [0, 0], 0.6), {"kind": "activation", "name": "relu"})
    reset = do(edited, {"kind": "reset"})
    assert_same(reset.present, Scenario())
    assert_same(do(reset, {"kind": "undo"}).present, edited.present)


def test_choosing_an_example_can_be_undone_with_the_edits_before_it():
    edited = do(open_session({}), edit("w1", [0, 0], 0.6))
    chosen = do(edited, {"kind": "base", "name": "cat"})
    assert chosen.present.words == ("The", "cat", "sat")
    assert w1_00(do(chosen, {"kind": "undo"})) == 0.6


def test_after_a_reload_undo_takes_back_the_last_edit_and_can_be_redone():
    made = do(open_session({}), edit("w1", [0, 0], 0.6), edit("w1", [0, 1], 0.7))
    session = opened(link(made)[0])  # the server knows nothing but the address
    assert_same(session.present, made.present)
    session = do(session, {"kind": "undo"})
    assert arrays(session.present)["w1"][0].tolist() == [0.6, 0.2, 0.3, 0.4]
    assert_same(do(session, {"kind": "redo"}).present, made.present)


# What cannot be done


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (edit("w1", [8, 0], 1.0), r"w1 is \[d_ff, d_model\] = \[8, 4\]"),
        (edit("w1", [0], 1.0), "an index has 2 numbers"),
        (edit("hidden", [0, 0], 1.0), "an edit begins with one of x, w1"),
        (edit("w1", [0, 0], float("nan")), "must be finite"),
        (edit("w1", [0, 0], 1e31), "between -1e30 and 1e30"),
        (edit("w1", [0, 0], "0.5"), "takes a number"),
        (edit("w1", [0, 0], True), "takes a number"),
        ({"kind": "remove", "at": 5}, "must be from 0 to 1"),
        ({"kind": "base", "name": "gpt"}, "no example 'gpt'"),
        ({"kind": "activation", "name": "step"}, "no nonlinearity 'step'"),
        ({"kind": "view", "position": -1}, "position cannot be -1"),
        ({"kind": "view", "position": None}, "position cannot be None"),
        ({"kind": "view", "neuron": 1.5}, "neuron cannot be 1.5"),
        ({"kind": "view", "compare": 1}, "compare cannot be 1"),
    ],
)
def test_what_is_refused_leaves_the_scenario_alone_and_says_why(event, reason):
    before = do(open_session({}), edit("b2", [3], 0.25))
    after = do(before, event)
    assert after.present is before.present
    assert after.view == before.view
    assert (after.past, after.future) == (before.past, before.future)
    assert re.search(reason, str(after.problem))


def test_a_problem_is_numbered_so_that_the_same_one_twice_is_told_twice_and_gone_after_a_good_edit():
    bad = edit("w1", [0, 0], float("inf"))
    first = do(open_session({}), bad)
    second = do(first, bad)
    assert second.problem == first.problem
    assert second.problem_number == first.problem_number + 1
    assert do(second, edit("w1", [0, 0], 1.0)).problem is None


# Pastes


def test_a_paste_fills_from_its_cell_on():
    session = do(open_session({}), paste("w1", [6, 2], "1,5\t2,5\r\n−3\t.07\r\n"))
    assert arrays(session.present)["w1"][6:].tolist() == [[0.3, 0.1, 1.5, 2.5], [0.4, 0.2, -3.0, 0.07]]


def test_a_row_and_a_column_both_fill_a_bias_and_a_column_runs_down_x():
    # On the board x stands as a column, like the column one copies from a spreadsheet.
    row = do(open_session({}), paste("b1", [1], "1\t2\t3"))
    column = do(open_session({}), paste("b1", [1], "1\n2\n3"))
    assert (
        arrays(row.present)["b1"].tolist()
        == arrays(column.present)["b1"].tolist()
        == [0, 1, 2, 3, 0, 0, 0, 0]
    )
    down = do(open_session({}), paste("x", [1, 0], "1\n2\n3\n4"))
    assert arrays(down.present)["x"][1].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("1\t5\t9\n2\t6\t\n3\t7\t10", "row 2, column 3"),  # case M2
        ("1\tnan", "row 1, column 2"),  # case M4, and the next three
        ("1\t2\n-inf\t3", "row 2, column 1"),
        ("1e400\t2", "row 1, column 1"),
        ("1\tabc", "row 1, column 2"),
    ],
)
def test_a_paste_with_a_bad_cell_is_refused_whole_with_the_cell_named(text, cell):
    session = do(open_session({}), paste("w1", [0, 0], text))
    assert_same(session.present, Scenario())
    assert session.problem is not None
    assert cell in session.problem


def test_a_hundred_thousand_brackets_are_refused():
    # Case M5.
    session = do(open_session({}), paste("w1", [0, 0], "[" * 100_000))
    assert_same(session.present, Scenario())
    assert session.problem is not None
    assert len(session.problem) < 300


@pytest.mark.parametrize(
    ("event", "words"),
    [
        # From w1[7][2] on there is one row with two columns.
        (paste("w1", [7, 2], "1 2 3"), ["1 by 3", "w1[7][2]", "room for 1 by 2"]),
        (paste("b2", [3], "1 2"), ["2", "b2[3]", "room for 1"]),
        (paste("b2", [0], "1 2\n3 4"), ["b2 is one line", "2 by 2"]),
    ],
)
def test_a_paste_that_does_not_fit_says_how_much_room_there_is(event, words):
    session = do(open_session({}), event)
    assert_same(session.present, Scenario())
    assert session.problem is not None
    assert [word for word in words if word not in session.problem] == []


def test_a_paste_at_no_cell_of_the_array_is_told_in_the_words_of_the_page():
    # Python's own words, such as "zip() argument 2 is shorter than argument 1", help nobody.
    for index in ([], [0], [0, 0, 0]):
        problem = do(open_session({}), paste("w1", index, "1 2")).problem
        assert problem is not None
        assert "zip()" not in problem


# Positions and words


def test_a_position_is_added_as_zeros_and_becomes_the_large_one():
    session = do(open_session({}), {"kind": "insert", "at": 1})
    assert arrays(session.present)["x"].tolist() == [
        [1.0, 0.5, -0.3, 0.8],
        [0, 0, 0, 0],
        [0.2, -0.4, 0.6, 0.1],
    ]
    assert session.view.position == 1


def test_removing_the_last_position_moves_the_view_to_one_that_there_is():
    session = do(open_session({}), {"kind": "view", "position": 1}, {"kind": "remove", "at": 1})
    assert session.view.position == 0
    session = do(session, {"kind": "remove", "at": 0})
    assert session.problem is not None
    assert "the last position stays" in session.problem


def test_hostile_words_are_kept_as_the_text_they_are():
    for word in ("<img src=x onerror=1>", "'\"&;=#%+", "\U0001d54f \u0301\u202eabc", "猫"):
        session = do(open_session({}), {"kind": "rename", "at": 0, "word": word})
        assert session.present.words[0] == word
        assert opened(link(session)[0]).present.words[0] == word


@pytest.mark.parametrize("word", ["a" * 25, "a\nb", "a\u2028b", "a\0b", "\ud800"])
def test_words_that_would_break_a_label_are_refused(word):
    session = do(open_session({}), {"kind": "rename", "at": 0, "word": word})
    assert session.present.words == ("token 0", "token 1")
    assert session.problem is not None
    assert "a word has" in session.problem


# The view


@pytest.mark.parametrize(
    ("query", "view"),
    [
        ({"p": "1", "n": "7", "s": "3", "c": "1"}, View(position=1, neuron=7, step=3, compare=True)),
        ({"p": "9", "n": "8", "s": "4", "c": "2"}, View(position=1)),
        ({"p": "-1", "n": "1e1", "s": "", "c": "yes"}, View()),
        ({"p": "٣", "n": "9" * 5000, "s": "0x1"}, View()),
    ],
)
def test_a_links_view_is_taken_as_far_as_the_scenario_reaches(query, view):
    assert open_session(query).view == view


@pytest.mark.parametrize(
    ("query", "view"),
    [
        ({"d": "ones"}, View(start="ones")),
        ({"d": "one", "i": "3"}, View(start="one", coordinate=3)),
        ({"y": "1.0,-0.5,0.0,0.25"}, View(target=(1.0, -0.5, 0.0, 0.25))),
        ({"g": "w1.7.3"}, View(entry="w1.7.3")),
        # Of four coordinates: what is beyond them, or no number, or no entry, is dropped.
        ({"d": "two", "i": "9", "y": "1,2,3,4,5"}, View(coordinate=3, target=(1.0, 2.0, 3.0, 4.0))),
        ({"y": "1,x,3"}, View()),
        ({"y": "1e9"}, View()),
        ({"y": "0," * 300}, View()),
        ({"y": "nan"}, View()),
        ({"g": "w1.8.0"}, View()),
        ({"g": "w1.0"}, View()),
        ({"g": "w3.0.0"}, View()),
        ({"g": "w1.0.0.0<b>"}, View()),
    ],
)
def test_a_link_says_where_the_backward_pass_starts_as_far_as_it_makes_sense(query, view):
    assert open_session(query).view == view


@pytest.mark.parametrize(
    "view",
    [
        View(start="one", coordinate=2, entry="hidden.5"),
        View(target=(0.1, 0.0, -1e-7), position=1, entry="w2.3.7"),
        View(start="ones", target=(1000.0,)),
    ],
)
def test_a_link_keeps_where_the_backward_pass_starts_to_the_last_digit(view):
    session = do(open_session({}), {"kind": "seen"})
    query, _ = link(replace(session, view=view))
    assert opened(query).view == view


@pytest.mark.parametrize(
    "fields",
    [
        {"start": "two"}, {"coordinate": -1}, {"target": [1.0]}, {"target": (1e4,)}, {"target": (1,)},
        {"target": (float("nan"),)}, {"entry": 5}, {"entry": "w" * 41},
    ],
)  # fmt: skip
def test_a_start_of_the_backward_pass_that_is_none_is_refused(fields):
    session = do(open_session({}), {"kind": "view", **fields})
    assert session.view == View()
    assert session.problem is not None


def test_an_entry_that_a_smaller_network_does_not_have_is_let_go_and_a_target_is_cut():
    start = opened("y=1,2,3,4&g=w1.7.3&i=3")
    session = do(start, edit("d_ff", [], 4), edit("d_model", [], 2))
    assert session.view == View(target=(1.0, 2.0), coordinate=1)


def test_another_example_keeps_the_kind_of_start_but_not_the_target():
    session = do(opened("d=ones&y=1&g=w1.0.0"), {"kind": "base", "name": "cat"})
    assert session.view == View(start="ones")


def test_a_neuron_that_a_smaller_network_does_not_have_is_let_go():
    session = do(open_session({}), {"kind": "view", "neuron": 7}, edit("d_ff", [], 4))
    assert session.view.neuron is None


@pytest.mark.parametrize(
    ("event", "neuron"),
    [
        ({"array": "hidden", "index": [0, 5]}, 5),
        ({"array": "w1", "index": [3, 1]}, 3),  # row 3 is key 3
        ({"array": "w2", "index": [1, 6]}, 6),  # column 6 is value 6
        ({"array": "b1", "index": [2]}, 2),
        ({"array": "output", "index": [0, 1]}, None),
        ({"array": "w1", "index": [8, 0]}, None),
    ],
)
def test_selecting_a_number_follows_its_neuron(event, neuron):
    assert do(open_session({}), {"kind": "select", **event}).view.neuron == neuron


def test_selecting_a_block_of_a_pooled_array_follows_the_neuron_of_its_greatest_entry():
    # Rows 2 to 4 of the lesson's W1 begin 0.3, 0.4, 0.1: the greatest of that block is w1[3][0] and w1[2][1] = 0.4,
    # and the first in reading order stands for it.
    session = do(open_session({}), {"kind": "select", "array": "w1", "block": [2, 5, 0, 1]})
    assert session.view.neuron == 3
    assert session.look == Look(array="w1", block=(2, 5, 0, 1))


def test_looking_changes_no_number_and_nothing_that_undo_knows():
    before = do(open_session({}), edit("w1", [0, 0], 0.6))
    after = do(before, {"kind": "look", "array": "hidden", "index": [0, 0]})
    assert after.look == Look(array="hidden", index=(0, 0))
    assert (after.present, after.past) == (before.present, before.past)


# Links


def test_the_link_is_short_while_little_was_changed():
    assert link(open_session({})) == ("", False)
    session = do(open_session({}), *(edit("w1", [j, 0], j / 10) for j in range(8)), edit("b2", [0], -1.5))
    query, too_long = link(session)
    assert not too_long
    assert len(query) < 100


def too_much() -> Session:
    """Random weights with 1,200 numbers of no pattern pasted into them: beyond any link."""
    rows = np.random.default_rng(0).standard_normal((60, 20))
    big = Scenario(base=RandomBase(20, 60, 2, 0)).edit(("w1", (0, 0), tuple(map(tuple, rows.tolist()))))
    return moved(open_session({}), big)


def test_what_is_too_long_for_a_link_is_kept_under_a_name_in_it():
    session = too_much()
    query, too_long = link(session)
    assert too_long
    assert dict(parse_qsl(query)) == {"r": "20-60-2-0", "kept": token(session.present)}


def test_the_tabs_copy_brings_back_bit_for_bit_what_the_link_could_not_hold():
    made = too_much()
    query, _ = link(made)
    session = opened(query)
    assert session.wants == token(made.present)
    assert link(session) == (query, True), "until the copy is there, the address goes on naming it"
    ffn, x = made.present.build()
    text = weight_files.save_json(ffn, x, made.present.words)
    session = do(session, {"kind": "kept", "name": session.wants, "text": text})
    assert session.wants is None
    assert_same(session.present, made.present)


def test_a_copy_under_another_name_is_not_taken_and_a_missing_one_is_told():
    session = opened(link(too_much())[0])
    assert do(session, {"kind": "kept", "name": "other", "text": "{}"}).present is session.present
    told = do(session, {"kind": "kept", "name": session.wants, "text": None})
    assert told.present is session.present
    assert told.wants is None
    assert "too many for a link" in told.notices[-1]
    assert do(told, {"kind": "seen"}).notices == ()


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "null", '{"format": "hourglass"}', "\ud800"])
def test_a_damaged_copy_is_refused_with_a_reason(text):
    session = opened(link(too_much())[0])
    after = do(session, {"kind": "kept", "name": session.wants, "text": text})
    assert after.present is session.present
    assert after.problem


def test_a_copy_that_nobody_asked_for_is_not_taken():
    session = open_session({})
    ffn, x = Scenario(base="cat").build()
    text = weight_files.save_json(ffn, x, ("a", "b", "c"))
    assert do(session, {"kind": "kept", "name": "a", "text": text}).present is session.present


@pytest.mark.parametrize("name", ["", "a" * 17, "../x", "<b>", "a b"])
def test_a_name_that_the_app_does_not_give_is_not_asked_for(name):
    assert open_session({"kept": name}).wants is None


def test_a_damaged_link_opens_what_is_sound_and_says_what_it_dropped():
    session = open_session({"ex": "nothing", "act": "step", "e": "!!!", "v": "1", "p": "1"})
    assert_same(session.present, Scenario())
    assert session.view.position == 1
    assert len(session.notices) == 3


@given(
    st.dictionaries(
        st.sampled_from(["ex", "r", "act", "v", "e", "p", "n", "s", "c", "kept", "x"]), st.text(max_size=40)
    )
)
@settings(max_examples=200, deadline=None)
def test_no_address_makes_a_session_raise_or_unsound(query):
    session = open_session(query)
    assert_sound(session)
    json.dumps(session.notices)


# Families: each has a desk of its own


@pytest.mark.parametrize(("family", "array"), [("gated", "w_gate"), ("experts", "w1"), ("dense", "w1")])
def test_a_session_of_any_family_is_edited_undone_and_linked(family, array):
    session = open_session({}, family)
    assert session.present.family == family
    index = [0] * session.present.arrays[array].ndim
    edited_once = do(session, edit(array, index, 0.25))
    assert edited_once.present.arrays[array].ravel()[0] == 0.25
    again = open_session(dict(parse_qsl(link(edited_once)[0])), family)
    assert again.present.arrays[array].tobytes() == edited_once.present.arrays[array].tobytes()
    back = do(edited_once, {"kind": "undo"})
    np.testing.assert_array_equal(back.present.arrays[array], session.present.arrays[array])


def test_a_models_shape_is_edited_undone_and_linked_like_any_other():
    session = do(open_session({}, "shape"), {"kind": "base", "name": "llama-2-7b"})
    assert session.present.build().d_ff == 11008
    wider = do(session, edit("d_ff", [], 16384))
    assert wider.present.build().d_ff == 16384
    again = open_session(dict(parse_qsl(link(wider)[0])), "shape")
    assert (again.present.base, again.present.build().d_ff) == ("llama-2-7b", 16384)
    assert do(wider, {"kind": "undo"}).present.build().d_ff == 11008
    assert do(wider, {"kind": "reset"}).present.build().d_ff == 11008
    refused = do(wider, edit("d_ff", [], -1))
    assert refused.problem
    assert refused.present.build().d_ff == 16384


def test_what_was_made_on_one_familys_page_waits_while_another_is_open_and_undo_stays_with_its_page():
    made = do(open_session({}), edit("w1", [0, 0], 9.0))
    gates = do(turned_to(made, "gated"), edit("w_gate", [0, 0], 5.0), {"kind": "undo"}, {"kind": "undo"})
    assert (gates.family, gates.present.family) == ("gated", "gated")
    back = turned_to(gates, "dense")
    assert w1_00(back) == 9.0
    assert w1_00(do(back, {"kind": "undo"})) == 0.1
    assert turned_to(back, "gated").future, "the other desk keeps its own way forward"


def test_what_was_typed_just_before_another_page_was_opened_lands_on_the_page_where_it_was_typed():
    session = open_session({})
    late = {**edit("w1", [0, 0], 9.0), "family": "dense"}
    session = do(turned_to(session, "gated"), late, {**edit("w_up", [0, 0], 3.0), "family": "gated"})
    assert session.family == "gated"
    assert session.present.arrays["w_up"][0, 0] == 3.0
    assert w1_00(turned_to(session, "dense")) == 9.0
    odd = do(session, {**edit("w_up", [0, 1], 4.0), "family": "no such family"})
    assert odd.present.arrays["w_up"][0, 1] == 4.0


@pytest.mark.parametrize(
    ("query", "page", "there", "base"),
    [
        ({"ex": "experts"}, "dense", "experts", "experts"),
        ({"ex": "experts"}, "shape", "experts", "experts"),
        ({"ex": "lesson"}, "gated", "dense", "lesson"),
        ({"m": "gpt2-xl"}, "dense", "shape", "gpt2-xl"),
    ],
)
def test_a_link_on_another_familys_page_opens_on_its_own_and_says_so(query, page, there, base):
    session = open_session(query, page)
    assert (session.family, session.present.base) == (there, base)
    [notice] = session.notices
    assert notice.endswith(": this is its page.")


@pytest.mark.parametrize("query", [{"e": "garbage"}, {"r": "gated-9999-9999-1-1"}, {"ex": "nothing"}])
@pytest.mark.parametrize(("page", "base"), [("gated", "gates"), ("experts", "experts"), ("dense", "lesson")])
def test_a_damaged_link_opens_the_pages_own_example(query, page, base):
    session = open_session(query, page)
    assert (session.family, session.present.base) == (page, base)
    [notice] = session.notices
    assert page == "dense" or "lesson" not in notice


def test_a_scenario_of_another_family_is_placed_on_its_own_desk():
    session = placed(open_session({}), Scenario(base="gates"))
    assert session.present.base == "lesson"
    assert turned_to(session, "gated").present.base == "gates"
    assert session.notices == (
        "A gated network is open on the page “Gates”: this page shows a dense network.",
    )
    assert placed(session, Scenario(base="cat")).present.base == "cat"


def test_an_example_is_chosen_only_on_the_page_of_its_family():
    session = do(open_session({}), {"kind": "base", "name": "gates"})
    assert session.present.base == "lesson"
    assert "no example" in (session.problem or "")


def test_a_paste_stays_within_its_expert():
    session = open_session({"ex": "experts"}, "experts")
    pasted = do(session, paste("w1", [2, 1, 6], "1 2\n3 4"), paste("b1", [3, 2], "5 6"))
    w1 = pasted.present.arrays["w1"]
    assert w1[2, 1:3, 6:].tolist() == [[1, 2], [3, 4]]
    np.testing.assert_array_equal(
        np.delete(w1, 2, axis=0), np.delete(session.present.arrays["w1"], 2, axis=0)
    )
    assert pasted.present.arrays["b1"][3].tolist() == [0, 0, 5, 6]
    refused = do(session, paste("w1", [2, 3, 6], "1 2\n3 4"))
    assert "room for 1 by 2" in (refused.problem or "")
    assert refused.present is session.present


def test_a_neuron_and_an_expert_that_there_are_can_be_looked_at():
    view = open_session({"ex": "experts", "n": "3", "q": "2"}, "experts").view
    assert (view.neuron, view.expert) == (3, 2)
    view = open_session({"ex": "experts", "n": "4", "q": "9"}, "experts").view
    assert (view.neuron, view.expert) == (None, 3)


def test_the_context_length_and_how_it_is_counted_are_in_the_link():
    for length in (100_000, MAX_CONTEXT):
        session = do(open_session({}, "shape"), {"kind": "view", "length": length, "causal": True})
        again = open_session(dict(parse_qsl(link(session)[0])), "shape")
        assert (again.view.length, again.view.causal) == (length, True)
        assert do(again, {"kind": "view", "length": 0}).view.length == length


@given(
    st.sampled_from(["gated", "experts", "shape"]),
    st.dictionaries(
        st.sampled_from(["ex", "r", "act", "v", "e", "p", "n", "m", "q", "t", "h", "kept"]),
        st.text(max_size=40),
    ),
)
@settings(max_examples=200, deadline=None)
def test_no_address_makes_a_session_of_another_family_raise(family, query):
    session = open_session(query, family)
    assert family_of(session.present) == session.family
    link(session)
    json.dumps(session.notices)
