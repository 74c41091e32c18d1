"""Editing in place: whatever a hand does to a number, the board follows, and nothing typed is lost."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.visitor import Visitor

pytestmark = pytest.mark.browser

HIDDEN = "0.43 0.37 0.63 0.57 0.51 0.61 0.39 0.49"
MARK_NODES = """(board) => [...board.querySelectorAll('*')].forEach((node, i) => { node.mark = i; })"""
MARKS = """(board) => [...board.querySelectorAll('.stage, .grid, .row, .cell, .panel')].map((node) => node.mark)"""


def test_fifty_edits_typed_without_pause_are_all_there(visitor: Visitor):
    # Tab goes on in reading order: 4 cells of x, 32 of W1, 8 of b1, and the first 6 of W2.
    names = [f"x[0][{i}]" for i in range(4)]
    names += [f"w1[{j}][{i}]" for j in range(8) for i in range(4)]
    names += [f"b1[{j}]" for j in range(8)] + [f"w2[0][{j}]" for j in range(6)]
    values = [f"{'-' if i % 3 == 0 else ''}{0.011 * (i + 1):.3f}" for i in range(50)]
    visitor.cell("x[0][0]").click()
    for value in values:
        visitor.keyboard.type(value, delay=0)
        visitor.keyboard.press("Tab")

    visitor.wait_for_link(lambda scenario: len(scenario.edits) == 50)
    ffn, x = visitor.scenario.build()
    typed = [float(value) for value in values]
    assert [*x[0], *ffn.w1.ravel(), *ffn.b1, *ffn.w2[0, :6]] == typed
    assert [visitor.number(name) for name in names] == typed
    assert (ffn.w2[0, 6], ffn.w2[0, 7]) == (0.1, 0.2)  # the cells after them are untouched


def test_a_number_is_read_the_way_it_was_meant(visitor: Visitor):
    forms = {
        "-0.5": -0.5,
        ".07": 0.07,
        "1e-3": 0.001,
        "1,5": 1.5,
        "\u22120.25": -0.25,
    }  # the last with a true minus
    for text, value in forms.items():
        visitor.edit("w1[0][0]", text)
        # x[0][0] is 1, so hidden[0][0] is 0.43 with 0.1 replaced by the new weight.
        expect(visitor.cells("hidden").first).to_have_text(f"{0.33 + value:.3g}".replace("-", "−"))
        assert visitor.number("w1[0][0]") == value, text
    visitor.wait_for_link(lambda scenario: [edit.value for edit in scenario.edits] == [*forms.values()])


def test_what_is_no_number_is_refused_in_its_cell_and_the_last_good_value_stays(visitor: Visitor):
    message = visitor.board.get_by_role("alert")
    visitor.cell("w1[0][0]").click()
    for text in ("nan", "inf", "1e400", "abc", ""):
        visitor.keyboard.press("ControlOrMeta+a")
        visitor.keyboard.press("Delete")
        visitor.keyboard.type(text)
        visitor.keyboard.press("Enter")
        expect(visitor.editor).to_have_attribute("aria-invalid", "true")
        expect(visitor.editor).to_be_focused()
        expect(message).to_contain_text(text or "empty")
    expect(visitor.editor).to_have_attribute("aria-label", re.compile(r"w1\[0\]\[0\]"))
    visitor.keyboard.press("Escape")
    visitor.holds("w1[0][0]", "0.1")
    visitor.shows("hidden", HIDDEN)
    assert visitor.scenario.edits == ()


def test_leaving_a_refused_cell_says_which_one_keeps_what(visitor: Visitor):
    visitor.cell("w2[3][7]").click()
    visitor.keyboard.type("1.2.3")
    visitor.cell("x[0][1]").click()
    alert = visitor.board.get_by_role("alert").filter(has_text="w2[3][7]")
    expect(alert).to_contain_text("1.2.3")
    expect(alert).to_contain_text("0.1")
    visitor.holds("w2[3][7]", "0.1")


def copy(visitor: Visitor, text: str) -> None:
    visitor.page.evaluate("text => navigator.clipboard.writeText(text)", text)


def test_a_block_from_a_spreadsheet_lands_with_its_corner_at_the_cell(visitor: Visitor):
    copy(visitor, "1,5\t-2\r\n\u22120.25\t3e-1\r\n")  # decimal comma, typographic minus, Windows line ends
    visitor.cell("w1[2][1]").focus()
    visitor.keyboard.press("ControlOrMeta+v")
    visitor.holds("w1[2][1]", "1.5")
    visitor.holds("w1[2][2]", "-2")
    visitor.holds("w1[3][1]", "-0.25")
    visitor.holds("w1[3][2]", "0.3")
    # Row 2 was [0.3, 0.4, 0.1, 0.2]: 0.3*1 + 1.5*0.5 - 2*(-0.3) + 0.2*0.8 = 1.81.
    expect(visitor.cells("hidden").nth(2)).to_have_text("1.81")
    visitor.undo()  # one paste is one step
    visitor.shows("hidden", HIDDEN)


def test_a_block_that_does_not_fit_is_refused_by_name_and_changes_nothing(visitor: Visitor):
    refused = {
        "1\t5\t9\n2\t6\t\n3\t7\t10": "row 2, column 3",  # case M2: an empty cell; nothing shifts
        "1\t2\n3": "row 2",
        "1\tabc": "row 1, column 2",
        "1\t2\t3\t4\t5": "room for",  # W1 is four wide
    }
    for text, reason in refused.items():
        copy(visitor, text)
        visitor.cell("w1[0][0]").focus()
        visitor.keyboard.press("ControlOrMeta+v")
        expect(visitor.board.get_by_role("alert")).to_contain_text(reason)
        visitor.shows("hidden", HIDDEN)
        assert visitor.numbers("w1")[:8] == [0.1, 0.2, 0.3, 0.4, 0.2, 0.1, 0.4, 0.3]
    assert visitor.scenario.edits == ()


def test_a_drag_moves_the_outputs_while_the_button_is_still_down(visitor: Visitor):
    box = visitor.cell("w1[0][0]").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    mouse = visitor.page.mouse
    mouse.move(x, y)
    mouse.down()
    seen = [visitor.number("w1[0][0]")]
    for distance in (20, 40, 80):
        mouse.move(x + distance, y, steps=5)
        weight = visitor.number("w1[0][0]")
        assert weight > seen[-1]
        seen.append(weight)
        expect(visitor.cells("hidden").first).to_have_text(f"{0.33 + weight:.3g}")  # x[0][0] is 1
    assert visitor.number("output[0][0]") > 0.43  # 0.4215 before
    mouse.up()
    visitor.wait_for_link(lambda scenario: scenario.build()[0].w1[0, 0] == seen[-1])
    visitor.undo()
    visitor.holds("w1[0][0]", "0.1")  # the whole drag, not its last pixel
    visitor.shows("hidden", HIDDEN)
    expect(visitor.button("Undo")).to_be_disabled()


def test_alt_with_an_arrow_nudges_and_the_nudges_of_a_cell_are_one_step_of_undo(visitor: Visitor):
    visitor.cell("w1[0][0]").focus()
    for _ in range(3):
        visitor.keyboard.press("Alt+ArrowUp")
    visitor.keyboard.press("Alt+ArrowDown")
    weight = visitor.number("w1[0][0]")
    assert weight > 0.1
    expect(visitor.cells("hidden").first).to_have_text(f"{0.33 + weight:.3g}")
    visitor.undo()
    visitor.shows("hidden", HIDDEN)
    visitor.holds("w1[0][0]", "0.1")


def test_the_keyboard_alone_reaches_edits_and_leaves_the_board(visitor: Visitor):
    press = visitor.keyboard.press

    def tab_until(found) -> None:
        for _ in range(80):
            press("Tab")
            if found(visitor.focused):
                return
        pytest.fail(f"80 times Tab, and the focus is on {visitor.focused!r}")

    tab_until(lambda label: "x[0][0]" in label)
    tab_until(lambda label: "w1[0][0]" in label)
    press("ArrowDown")
    press("ArrowRight")
    assert "w1[1][1]: 0.1" in visitor.focused
    press("Enter")
    expect(visitor.editor).to_be_focused()
    visitor.keyboard.type("0.5")
    press("Enter")  # takes the number and goes on below
    assert "w1[2][1]" in visitor.focused
    press("Escape")
    expect(visitor.editor).to_be_hidden()
    assert visitor.focused.startswith("W1 row 2, column 1")
    visitor.holds("w1[1][1]", "0.5")
    expect(visitor.cells("hidden").nth(1)).to_have_text("0.57")  # 0.37 + 0.4 * 0.5
    press("ControlOrMeta+z")
    visitor.shows("hidden", HIDDEN)
    press("ControlOrMeta+y")
    expect(visitor.cells("hidden").nth(1)).to_have_text("0.57")

    visitor.keyboard.type("7")  # typing on a cell opens it too
    press("Escape")
    visitor.holds("w1[2][1]", "0.4")  # Escape keeps the old number
    expect(visitor.editor).to_be_hidden()
    in_board = "() => Boolean(document.activeElement?.shadowRoot?.querySelector('.board'))"
    passed = []
    for _ in range(40):
        press("Tab")
        if not visitor.page.evaluate(in_board):
            return
        passed.append(visitor.focused)
    pytest.fail(f"the board holds the keyboard: 40 times Tab went to {passed}")


def test_tab_leaves_the_board_from_the_last_cell_while_editing(visitor: Visitor):
    visitor.cell("b2[3]").click()
    visitor.keyboard.type("0.5")
    visitor.keyboard.press("Tab")
    visitor.holds("b2[3]", "0.5")
    expect(visitor.editor).to_be_hidden()
    assert "b2" not in visitor.focused
    visitor.keyboard.press("Shift+Tab")  # and back in again
    assert "b2[3]" in visitor.focused


def test_an_edit_repaints_the_same_nodes(visitor: Visitor):
    visitor.board.evaluate(MARK_NODES)
    before = visitor.board.evaluate(MARKS)
    visitor.edit("x[0][0]", "2")
    # 0.1*2 + 0.2*0.5 + 0.3*(-0.3) + 0.4*0.8: each hidden value grows by its first weight.
    visitor.shows("hidden", "0.53 0.57 0.93 0.97 0.61 0.81 0.69 0.89")
    after = visitor.board.evaluate(MARKS)
    assert None not in after
    assert after == before


def test_nothing_moves_before_during_and_after_an_edit(visitor: Visitor):
    def boxes():
        return visitor.board.evaluate(
            """(board) => [board, ...board.querySelectorAll('.panel, .grid, .heading, .caption:not([hidden])')].map(
                (e) => { const b = e.getBoundingClientRect(); return [e.classList[0], b.x, b.y, b.width, b.height]; })"""
        )

    before = boxes()
    visitor.cell("w1[7][3]").click()
    assert boxes() == before
    visitor.keyboard.type("abc")
    visitor.keyboard.press("Enter")
    expect(visitor.board.get_by_role("alert")).to_be_visible()
    assert boxes() == before
    visitor.keyboard.press("ControlOrMeta+a")
    visitor.keyboard.type("-123.456")
    visitor.keyboard.press("Enter")
    expect(visitor.cells("hidden").nth(7)).to_have_text("−98.4")  # 0.49 - 0.1*0.8 - 123.456*0.8 = -98.35
    expect(visitor.board.locator(".panel")).to_contain_text("w1[7][3]")
    visitor.keyboard.press("Escape")
    assert boxes() == before


def test_undo_redo_and_reset_have_buttons_and_reset_can_be_undone(visitor: Visitor):
    undo, redo, reset = (visitor.button(name) for name in ("Undo", "Redo", "Back to the starting point"))
    for button in (undo, redo, reset):
        expect(button).to_be_disabled()
    visitor.edit("b1[0]", "1")
    visitor.edit("b1[1]", "2")
    visitor.shows("hidden", "1.43 2.37 0.63 0.57 0.51 0.61 0.39 0.49")
    undo.click()
    visitor.shows("hidden", "1.43 0.37 0.63 0.57 0.51 0.61 0.39 0.49")
    undo.click()
    visitor.shows("hidden", HIDDEN)
    redo.click()
    redo.click()
    visitor.shows("hidden", "1.43 2.37 0.63 0.57 0.51 0.61 0.39 0.49")
    reset.click()
    visitor.shows("hidden", HIDDEN)
    expect(reset).to_be_disabled()
    undo.click()
    visitor.shows("hidden", "1.43 2.37 0.63 0.57 0.51 0.61 0.39 0.49")


def test_a_changed_cell_says_so_in_words_and_not_by_colour_alone(visitor: Visitor):
    visitor.edit("w1[0][3]", "0.9")
    expect(visitor.cell("w1[0][3]")).to_have_attribute(
        "aria-label", "W1 row 0, column 3, w1[0][3]: 0.9, changed"
    )
    expect(visitor.cell("hidden[0][0]")).to_have_attribute("aria-label", re.compile(", changed$"))
    expect(visitor.cell("w1[0][2]")).to_have_attribute("aria-label", "W1 row 0, column 2, w1[0][2]: 0.3")
