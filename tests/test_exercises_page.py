"""The page "Exercises" as Streamlit runs it: what is open, what is asked, and what the browser is given to mark it with."""

import json
from typing import Any

import pytest

from ffn_app.view import View
from ffn_core import exercises
from ffn_core.exercises import marking
from ffn_core.scenario import Edit, Scenario
from tests.test_pages import component, labelled, session, visit

EXERCISES: dict[str, Any] = dict(exercises.EXERCISES)  # of three kinds, each with functions of its own
NAMES = list(EXERCISES)
FIRST = NAMES[0]
OF_KIND = {
    kind: [name for name, each in EXERCISES.items() if each.kind == kind]
    for kind in ("numbers", "scenario", "code")
}


def open_exercise(name: str = FIRST, **query: str):
    return visit("exercises", {"task": name} | query)


def work(visitor, name: str):
    return component(visitor, f"work_{name}")


@pytest.mark.parametrize("name", NAMES)
def test_every_exercise_opens_with_what_it_asks(name):
    visitor = open_exercise(name)
    assert [error.value for error in visitor.exception] == []
    exercise = EXERCISES[name]
    assert visitor.header[0].value == f"{NAMES.index(name) + 1}. {exercise.title}"
    assert visitor.markdown[0].value == exercise.statement(0)
    assert [expander.label for expander in visitor.expander] == [
        f"Hint {number}" for number in range(1, len(exercise.hints) + 1)
    ]


def test_without_a_link_the_first_is_open_and_the_shelf_lists_all():
    visitor = visit("exercises")
    shelf = component(visitor, "shelf")
    assert shelf["open"] == FIRST
    assert [row["name"] for row in shelf["exercises"]] == NAMES
    assert {row["kind"] for row in shelf["exercises"]} == {"by hand", "network", "Python"}


# The link


@pytest.mark.parametrize("name", NAMES)
def test_a_link_says_which_exercise_and_class_number(name):
    view = View(exercise=name, seed=41)
    assert View.from_query(view.to_query()) == view


@pytest.mark.parametrize(
    ("query", "seed"), [({"class": "-1"}, 0), ({"class": "1e3"}, 0), ({"class": "99999999"}, 9999), ({"task": "none"}, 0)]
)  # fmt: skip
def test_a_senseless_link_opens_the_first_exercise(query, seed):
    view = View.from_query(query)
    assert (view.exercise, view.seed) == (FIRST, seed)


def test_choosing_another_example_keeps_the_exercise_open():
    visitor = open_exercise("and-gate", **{"class": "5"})
    visitor.button(key="start_and-gate").click().run()
    assert (session(visitor).view.exercise, session(visitor).view.seed) == ("and-gate", 5)


# By hand


@pytest.mark.parametrize("name", OF_KIND["numbers"])
def test_the_browser_is_given_what_marks_the_number(name):
    visitor = open_exercise(name, **{"class": "12"})
    task = json.loads(work(visitor, name)["task"])
    answer = EXERCISES[name].ask(12).answer
    assert marking.mark_number(task, repr(answer))["passed"]
    for mistake in EXERCISES[name].ask(12).mistakes:
        assert marking.mark_number(task, repr(mistake.value))["message"] == mistake.message


def test_another_class_number_asks_for_other_numbers():
    visitor = open_exercise("hidden-by-hand")
    before = visitor.markdown[0].value
    labelled(visitor.number_input, "Class number").set_value(8).run()
    assert session(visitor).view.seed == 8
    assert visitor.markdown[0].value == EXERCISES["hidden-by-hand"].statement(8) != before


# Code


@pytest.mark.parametrize("name", OF_KIND["code"])
def test_the_browser_is_given_the_sheet_that_the_command_line_marks_with(name):
    given = work(open_exercise(name, **{"class": "3"}), name)
    assert json.loads(given["sheet"]) == json.loads(json.dumps(EXERCISES[name].sheet(3)))
    assert given["starter"] == EXERCISES[name].starter
    assert given["timeout"]["diagnosis"] == "timeout"


def test_numbers_with_a_point_keep_it_in_the_sheet():
    # The text is read by Python in the browser, where 1.0 and 1 differ, as here.
    sheet = json.loads(work(open_exercise("ffn-forward"), "ffn-forward")["sheet"])
    x, *_, width, neurons = sheet["cases"][0]["args"]
    assert {type(number) for number in x} == {float}
    assert (type(width), type(neurons)) == (int, int)


# Networks


@pytest.mark.parametrize("name", OF_KIND["scenario"])
def test_an_exercise_opens_its_own_network_undoably_and_is_checked_there(name):
    visitor = open_exercise(name, ex="memories", act="tanh")
    before = session(visitor).present
    visitor.button(key=f"start_{name}").click().run()
    assert [error.value for error in visitor.exception] == []
    start = EXERCISES[name].start(0)
    assert session(visitor).present.to_query() == start.to_query()
    given = work(visitor, name)
    assert given["edited"] is False
    assert given["verdict"] == {"passed": False, "message": EXERCISES[name].check(start).message}
    assert session(visitor).past[-1].scenario().to_query() == before.to_query()


def test_each_edit_is_checked():
    start = EXERCISES["fires-for-cat"].start(0)
    # Row 2 of W1 reads only the second coordinate, which the word cat alone has.
    done = start.edit(Edit("w1", (2, 1), 1.0))
    given = work(open_exercise("fires-for-cat", **done.to_query()), "fires-for-cat")
    assert given["edited"] is True
    assert given["verdict"]["passed"] is True
    undone = done.edit(Edit("b1", (2,), 5.0))
    given = work(open_exercise("fires-for-cat", **undone.to_query()), "fires-for-cat")
    assert given["verdict"]["passed"] is False


def test_the_board_shows_the_network_that_is_set():
    visitor = open_exercise("fires-for-cat", **EXERCISES["fires-for-cat"].start(0).to_query())
    board = component(visitor, "board")
    assert {spec["id"] for spec in board["arrays"]} >= {"w1", "b1", "w2"}


def test_an_exercise_in_code_leaves_the_network_as_it_is():
    made = Scenario(base="cat").edit(Edit("b1", (0,), 0.5))
    visitor = open_exercise("ffn-forward", **made.to_query())
    assert session(visitor).present.to_query() == made.to_query()
