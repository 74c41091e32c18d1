"""The board's few pure functions have twins in Python; here each pair is asked the same questions."""

import math
from typing import Any

import numpy as np
import pytest

from ffn_app.theme import DIVERGING, diverging_colour, ink_on
from ffn_core.matrix_text import full_number, short_number
from ffn_core.pooling import pool
from tests.browser.visitor import Visitor
from tests.number_cases import NUMBER_CASES, SHORT_CASES

pytestmark = pytest.mark.browser


@pytest.fixture
def ask(visit):
    """Call a function of one of the board's modules with each of many lists of arguments."""
    visitor: Visitor = visit("/")

    def ask(module: str, function: str, arguments: list[list[Any]]) -> list[Any]:
        answers: list[Any] = visitor.page.evaluate(
            """async ([module, name, all]) => {
                const { [name]: called } = await import(module);
                return all.map((each) => called(...each));
            }""",
            [visitor.module(f"board/{module}"), function, arguments],
        )
        return answers

    return ask


def test_the_board_reads_typed_numbers_as_python_does(ask):
    answers = ask("numbers.js", "parseNumber", [[text] for text, _ in NUMBER_CASES])
    for (text, value), answer in zip(NUMBER_CASES, answers, strict=True):
        if value is None:
            assert answer.get("problem"), f"{text!r} must be refused, got {answer}"
        else:
            assert answer == {"value": value}, repr(text)
            assert math.copysign(1, answer["value"]) == math.copysign(1, value), repr(text)


def test_the_board_writes_numbers_as_python_does(ask):
    answers = ask("numbers.js", "shortNumber", [[value] for value, _ in SHORT_CASES])
    assert answers == [text for _, text in SHORT_CASES]
    draws = np.random.default_rng(0)
    values = [
        *(draws.standard_normal(2000) * 10.0 ** draws.integers(-9, 9, 2000)).tolist(),
        1e21,
        -1e-7,
        5e-324,
    ]
    assert ask("numbers.js", "shortNumber", [[v] for v in values]) == [short_number(v) for v in values]
    # Written in full the two may differ in form (1e21 and 1e+21), but not in value, and both read back.
    full = ask("numbers.js", "fullNumber", [[v] for v in values])
    assert [
        answer["value"] for answer in ask("numbers.js", "parseNumber", [[text] for text in full])
    ] == values
    read = ask("numbers.js", "parseNumber", [[full_number(v)] for v in values])
    assert [answer["value"] for answer in read] == values


def test_the_board_colours_numbers_as_python_does(ask):
    values = [*np.linspace(-1.2, 1.2, 241).tolist(), -0.0, 1e-300, math.inf, -math.inf, math.nan]
    questions = [
        [v, span, list(stops)] for v in values for span in (1.0, 0.5, 0.0) for stops in DIVERGING.values()
    ]
    colours = ask("colours.js", "divergingColour", questions)
    assert colours == [diverging_colour(*question) for question in questions]
    assert ask("colours.js", "inkOn", [[colour] for colour in colours]) == [
        ink_on(colour) for colour in colours
    ]


def test_the_board_pools_as_python_does(ask):
    draws = np.random.default_rng(1)
    arrays = [draws.standard_normal(shape) for shape in ((1, 1), (1, 7), (7, 1), (5, 8), (64, 3), (37, 41))]
    arrays += [
        np.zeros((6, 6)),
        np.array([[1.0, -1.0, 1.0, -1.0]] * 4),  # equal magnitudes: the first of each block stands for it
        np.array([[0.0, math.nan, -3.0], [math.inf, 2.0, -math.inf]]),
        np.array([[math.nan] * 3] * 3),
    ]
    rooms = [(1, 1), (2, 3), (3, 2), (8, 8), (100, 100)]
    questions = [[a.ravel().tolist(), *a.shape, *room] for a in arrays for room in rooms]
    answers = ask("pool.js", "pool", questions)
    expected = [pool(array, *room) for array in arrays for room in rooms]
    for question, answer, right in zip(questions, answers, expected, strict=True):
        what = f"{question[1]} by {question[2]} to {question[3]} by {question[4]}"
        assert (answer["rows"], answer["columns"]) == right.values.shape, what
        assert answer["rowEdges"] == right.row_edges.tolist(), what
        assert answer["columnEdges"] == right.column_edges.tolist(), what
        assert answer["index"] == (right.index[0] * question[2] + right.index[1]).ravel().tolist(), what
        np.testing.assert_array_equal(np.array(answer["values"]), right.values.ravel(), err_msg=what)


def test_python_beside_the_boards_modules_is_not_served(visit):
    visitor: Visitor = visit("/")
    board = visitor.module("board/board.js")
    get = visitor.page.request.get
    assert get(board).ok
    base = board.removesuffix("board/board.js")
    for hidden in ("board/data.py", "security.py", "board/%2e%2e/session.py"):
        assert get(base + hidden).status == 404, hidden
