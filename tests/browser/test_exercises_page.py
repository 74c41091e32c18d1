"""Exercises: Python that runs in the student's own browser is marked, stopped and kept there, and nowhere else."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, WebSocket, expect

from ffn_app.assets import module_loader
from ffn_core import exercises
from ffn_core.scenario import Edit
from tests.browser.visitor import Visit, Visitor, decoded, query

pytestmark = pytest.mark.browser

EXERCISES: dict[str, Any] = dict(exercises.EXERCISES)  # of three kinds, each with functions of its own
STORE = "hourglass-exercises"
RIGHT = """\
def ffn_forward(x, W1, b1, W2, b2, D, H):
    hidden = []
    for j in range(H):
        total = b1[j]
        for i in range(D):
            total += W1[j * D + i] * x[i]
        hidden.append(max(0.0, total))
    return [b2[i] + sum(W2[i * H + j] * hidden[j] for j in range(H)) for i in range(D)]
"""
SIGNATURE = "def ffn_forward(x, W1, b1, W2, b2, D, H):\n"
ONE_STRIDE = RIGHT.replace("W2[i * H", "W2[i * D")
PRINTS = RIGHT.replace("return [b2", "print([b2").replace("range(D)]\n", "range(D)])\n")
ENDLESS = f"{SIGNATURE}    while True:\n        pass\n"


class Student(Visitor):
    """A visitor of the page, in the words of its exercises."""

    def ready(self) -> "Student":
        """Wait until the exercise is there, and the Python that it may need: then the page has loaded."""
        begin = self.page.get_by_role("button", name="Open the exercise's network")
        expect(self.work.or_(begin)).to_be_visible()
        expect(self.page.locator(".loading")).to_have_count(0)
        return self

    @property
    def work(self) -> Locator:
        return self.page.locator(".work")

    @property
    def code(self) -> Locator:
        return self.page.get_by_label(re.compile("^Your code for"))

    @property
    def verdict(self) -> Locator:
        return self.work.get_by_role("status")

    @property
    def printed(self) -> Locator:
        return self.page.get_by_role("region", name="What your code printed")

    @property
    def traceback(self) -> Locator:
        return self.page.get_by_role("region", name="Traceback")

    def check(self, code: str) -> None:
        self.code.fill(code)
        self.press("Check")

    def run(self, code: str) -> None:
        self.code.fill(code)
        self.press("Run")

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def told(self, *texts: str) -> None:
        for text in texts:
            expect(self.verdict).to_contain_text(text)

    def listed(self, name: str) -> Locator:
        return self.page.locator(f'.shelf [data-name="{name}"]')

    def unfold(self) -> None:
        """Open the list of exercises, which is folded where an exercise was chosen."""
        self.page.locator(".shelf details:not([open]) summary").click()

    def kept(self) -> dict[str, Any]:
        """What the browser has stored."""
        text = self.page.evaluate(f"localStorage.getItem('{STORE}')")
        return json.loads(text)["exercises"] if text else {}


@pytest.fixture
def student(visit: Visit):
    def open_exercise(name: str = "ffn-forward", more: str = "", **options: Any) -> Student:
        # A browser of one's own: with nothing kept in it.
        options.setdefault("viewport", {"width": 1280, "height": 900})
        plain = visit(None, **options)
        visitor = Student(plain.page, plain.address if "server" not in options else options["server"].address)
        visitor.open(f"/exercises?task={name}{more}")
        return visitor

    return open_exercise


# Code is marked


def test_a_right_solution_passes_and_the_list_says_so(student):
    visitor = student()
    visitor.check(RIGHT)
    visitor.told("✓ Passed", "All 12 cases are right.")
    expect(visitor.listed("ffn-forward")).to_contain_text("✓ passed")
    expect(visitor.page.get_by_text(f"1 of {len(EXERCISES)} passed")).to_be_visible()


def test_the_mistake_of_the_lesson_is_recognised_with_the_case_that_shows_it(student):
    visitor = student()
    visitor.check(ONE_STRIDE)
    visitor.told("✗ Not yet", "diagnosis: stride", "row i of W2 at i*H", "two inputs, three neurons")
    visitor.told("[2.1, 0.8]")  # what that case expects
    expect(visitor.listed("ffn-forward")).to_contain_text("tried once")


def test_printing_instead_of_returning_is_recognised_and_what_was_printed_is_shown(student):
    visitor = student()
    visitor.check(PRINTS)
    visitor.told("diagnosis: returned-none", "Printing a result does not hand it back")
    expect(visitor.printed).to_contain_text("[2.1, 0.8")


def test_an_error_is_shown_as_python_shows_it_and_its_line_is_marked_until_the_code_changes(student):
    visitor = student()
    visitor.check(f"{SIGNATURE}    y = []\n\n    return y[0] + missing\n")
    visitor.told("diagnosis: error", "reads beyond the end of a list")
    expect(visitor.traceback).to_have_text(
        'Traceback (most recent call last):\n  File "your code", line 4, in ffn_forward\n'
        "    return y[0] + missing\n           ~^^^\nIndexError: list index out of range",
        use_inner_text=True,
    )
    expect(visitor.page.locator(".gutter .wrong")).to_have_text("4")
    expect(visitor.code).to_have_attribute("aria-invalid", "true")
    visitor.press("Go to line 4")
    visitor.keyboard.type("# ")
    expect(visitor.code).to_have_value(re.compile(r"\n    # return y\[0\]"))
    expect(visitor.page.locator(".gutter .wrong")).to_have_count(0)
    assert visitor.code.get_attribute("aria-invalid") is None


def test_a_syntax_error_names_its_line(student):
    visitor = student()
    visitor.check("x = 1\n\ndef ffn_forward(x:\n    return x\n")
    expect(visitor.traceback).to_contain_text("SyntaxError: '(' was never closed")
    expect(visitor.page.locator(".gutter .wrong")).to_have_text("3")


@pytest.mark.parametrize(
    ("code", "line", "error", "sentence"),
    [
        ("x = [1,\ny = 2\n", "1", "SyntaxError: '[' was never closed", "Python cannot read line 1"),
        ("import sys\nsys.exit()\n", "2", "SystemExit", "ended the program"),
        ("n = 1\nm = input()\n", "2", "EOFError", "waits for input()"),
        ("\nimport numpy\n", "2", "ModuleNotFoundError", "no module numpy here. All that is needed is math"),
        # The lines and words of CPython, except where it names a line beyond the text.
        (f"{SIGNATURE}    y = 1\n    if y:\n\treturn y\n", "4", "TabError", "tabs and spaces are mixed"),
        (f"{SIGNATURE}    y = 1\n    \tz = 2\n    return y\n", "3", "IndentationError: unexpected indent", "line 3"),
        (f"{SIGNATURE}    y = 1\n      z = 2\n    return y\n", "3", "IndentationError: unexpected indent", "line 3"),
        (f"{SIGNATURE}    y = (\n1)\n  return y\n", "4", "IndentationError: unindent does not match", "line 4"),
        (f"{SIGNATURE}    # to do\n\n\n", "1", "IndentationError: expected an indented block", "line 1"),
        (f"{SIGNATURE}    for i in x:\n        # to do\n    return x\n", "4", "expected an indented block", "line 4"),
        (f"{SIGNATURE}    y = 'abc\n    return y\n", "2", "SyntaxError: unterminated string literal", "line 2"),
        (f"{SIGNATURE}    h = 1\n    print h\n", "3", "SyntaxError: Missing parentheses in call to 'print'", "line 3"),
    ],
)  # fmt: skip
def test_code_that_cannot_be_read_is_refused_with_a_sentence_and_a_line_that_is_there(
    student, code, line, error, sentence
):
    visitor = student()
    visitor.check(code)
    visitor.told("diagnosis: error", sentence)
    expect(visitor.traceback).to_contain_text(error)
    expect(visitor.page.locator(".gutter .wrong")).to_have_text(line)
    visitor.run(code)
    visitor.told(sentence)


def test_what_python_reads_is_not_taken_for_a_slip(student):
    visitor = student()
    visitor.run(
        'text = """\n\tit\'s\n  print this\n"""\nif text:\n\ta = [1,\n  2]  # it\'s\n\tprint(len(a), text[1:4], "a:"[1:], \\\n'
        "'it\\'s')\nfor i in a:\n    print(i)\n"
    )
    visitor.told("It ran to the end")
    expect(visitor.printed).to_have_text("2 \tit : it's\n1\n2\n", use_inner_text=False)


def test_the_line_that_raised_is_shown_and_not_what_was_worked_out_before_it(student):
    visitor = student()
    visitor.check(
        f"{SIGNATURE}    try:\n        x[99]\n    except IndexError as e:\n        raise ValueError('bad') from e\n"
    )
    expect(visitor.traceback).to_have_text(
        'Traceback (most recent call last):\n  File "your code", line 5, in ffn_forward\n'
        "    raise ValueError('bad') from e\nValueError: bad",
        use_inner_text=True,
    )


@pytest.mark.parametrize(
    "body",
    [
        "return ffn_forward(x, W1, b1, W2, b2, D, H)",
        "return max([x], key=lambda row: ffn_forward(row, W1, b1, W2, b2, D, H))",
        # A call of this takes so much of the browser's own stack that the stack ends first.
        "return sorted(map(lambda a: max(filter(lambda b: ffn_forward(a, W1, b1, W2, b2, D, H), [a])), [x]), key=len)",
    ],
)
def test_a_function_that_calls_itself_without_end_is_told_so_however_deep_the_browser_goes(student, body):
    visitor = student()
    visitor.check(f"{SIGNATURE}    {body}\n")
    visitor.told("diagnosis: error", "calls itself without end")
    expect(visitor.traceback).to_contain_text("RecursionError: maximum recursion depth exceeded")
    assert len((visitor.traceback.text_content() or "").splitlines()) < 60


def test_the_modules_that_the_page_names_can_be_imported(student):
    visitor = student()
    visitor.run(
        "import math, itertools, operator, sys\n"
        "from functools import cache, lru_cache, partial, reduce, wraps\n"
        "from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union, cast\n"
        "def dot(a: List[float], b: Sequence[Union[int, float]], c: Optional[Dict[str, Any]] = None) -> float | None:\n"
        "    return cast(float, sum(map(operator.mul, a, b)))\n"
        "@lru_cache(maxsize=None)\ndef fib(n: int) -> int:\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
        "print(dot([1, 2], [3, 4]), reduce(operator.add, [1, 2, 3], 10), partial(pow, 2)(5), fib(80), fib.__name__)\n"
        "try:\n    reduce(operator.add, [])\nexcept TypeError as error:\n    print(error)\n"
    )
    expect(visitor.printed).to_have_text(
        "11 16 32 23416728348467685 fib\nreduce() of empty iterable with no initial value\n",
        use_inner_text=True,
    )


def test_code_can_be_run_without_being_marked(student):
    visitor = student()
    visitor.run("import math\nprint(7 // 2, math.erf(0.5), [1.0, 2])\n")
    expect(visitor.printed).to_have_text("3 0.5204998778130465 [1.0, 2]\n", use_inner_text=True)  # cases, N5
    visitor.told("It ran to the end")
    assert "attempts" not in visitor.kept()["ffn-forward"]


# Code is stopped


def test_an_endless_loop_is_stopped_while_the_page_stays_usable_and_code_runs_again(student):
    visitor = student()
    visitor.check(ENDLESS)
    expect(visitor.page.get_by_role("button", name="Stop")).to_be_visible()
    visitor.page.get_by_text("Hint 1").click()  # the page answers meanwhile
    expect(visitor.page.get_by_text("Two loops, one after the other")).to_be_visible()
    visitor.told("diagnosis: timeout", "loop that never ends")
    visitor.check(RIGHT)
    visitor.told("✓ Passed")


def test_a_run_can_be_stopped_by_hand(student):
    visitor = student()
    visitor.run("while True:\n    pass\n")
    visitor.press("Stop")
    visitor.told("Stopped.")
    assert visitor.kept()["ffn-forward"].get("attempts") is None


def test_a_flood_of_output_is_cut(student):
    visitor = student()
    visitor.run("n = 0\nwhile n < 200000:\n    print('line', n)\n    n += 1\n")
    expect(visitor.page.get_by_text("only the first 20,000 characters")).to_be_visible()
    visitor.told("It ran to the end")
    shown = visitor.printed.text_content() or ""
    assert len(shown) == 20_000
    assert shown.startswith("line 0\nline 1\n")


def test_an_endless_flood_is_cut_and_stopped(student):
    visitor = student()
    visitor.run("while True:\n    print('x' * 1000)\n")
    visitor.told("stopped after 5 seconds")
    assert len(visitor.printed.text_content() or "") == 20_000


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("x = [0] * 10**9", "OverflowError"),
        ("x = [1]\nwhile True:\n    x = x + x", "MemoryError: a list of more than 10 million entries"),
        ("def f(n):\n    return f(n + 1)\nf(0)", "RecursionError"),
    ],
)
def test_code_that_would_fill_the_memory_ends_with_an_error_and_the_tab_lives_on(student, code, error):
    visitor = student()
    visitor.run(code)
    expect(visitor.traceback).to_contain_text(error)
    visitor.run("print('still here')")
    expect(visitor.printed).to_have_text("still here\n", use_inner_text=True)


def test_nothing_is_left_over_from_the_last_run(student):
    visitor = student()
    visitor.run("import math\nmath.sqrt = None\nimport builtins\nbuiltins.left = 1\nprint('done')")
    expect(visitor.printed).to_contain_text("done")
    visitor.run("import math, builtins\nprint(math.sqrt(4), hasattr(builtins, 'left'))")
    expect(visitor.printed).to_have_text("2.0 False\n", use_inner_text=True)


def test_input_says_that_there_is_none(student):
    visitor = student()
    visitor.run("name = input('Who? ')")
    expect(visitor.traceback).to_contain_text("EOFError: there is no input() here")


# Code reaches nothing


def test_code_reaches_neither_the_network_nor_anything_that_is_stored(student):
    visitor = student()
    names = (
        "fetch WebSocket EventSource WebTransport importScripts Worker SharedWorker indexedDB caches cookieStore "
        "navigator BroadcastChannel postMessage webkitRequestFileSystemSync localStorage"
    )
    visitor.run(
        "from browser import self as world\n"
        f"print([name for name in {names.split()!r} if hasattr(world, name)])\n"
        "try:\n    open('/_stcore/health')\nexcept FileNotFoundError:\n    print('no file')\n"
        "try:\n    import numpy\nexcept ImportError:\n    print('no numpy')\n"
    )
    expect(visitor.printed).to_have_text("[]\nno file\nno numpy\n", use_inner_text=True)


def test_the_workers_own_policy_refuses_every_request_and_the_page_refuses_code_from_text(student):
    visitor = student(expected="Content Security Policy")
    worker = visitor.module("exercise/exercise.js").replace("exercise.js", "worker.js")
    refused = visitor.page.evaluate(
        """async (address) => {
            const text = await (await fetch(address)).text();
            const policy = (await fetch(address)).headers.get("content-security-policy");
            let evaluated = false;
            try { evaluated = (0, eval)("true"); } catch { /* as it should be */ }
            return [policy, evaluated, text.includes("takeAway")];
        }""",
        worker,
    )
    assert refused == ["default-src 'none'; script-src 'unsafe-eval'", False, True]


def test_no_word_of_the_code_goes_to_the_server_and_nothing_is_asked_while_it_runs(student):
    visitor = student("hidden-layer")
    visitor.unfold()
    visitor.listed("ffn-forward").click()
    expect(visitor.code).to_have_attribute("aria-label", re.compile("The forward pass, with ReLU"))
    sent: list[str | bytes] = []
    asked: list[str] = []

    def hear(frame: str | bytes) -> None:  # Playwright takes no method of a list
        sent.append(frame)

    def watch(socket: WebSocket) -> None:
        socket.on("framesent", hear)

    visitor.page.on("websocket", watch)
    visitor.page.reload()  # so that the socket is seen from its beginning
    visitor.ready()
    visitor.page.on("request", lambda request: asked.append(request.url))
    visitor.check(f"# marzipan\n{RIGHT}print('marzipan')\n")
    visitor.told("✓ Passed")
    expect(visitor.printed).to_contain_text("marzipan")
    visitor.unfold()
    visitor.listed("hidden-layer").click()  # which the server does hear
    visitor.page.wait_for_url(re.compile("task=hidden-layer"))
    frames = [frame if isinstance(frame, bytes) else frame.encode() for frame in sent]
    assert any(b"hidden-layer" in frame for frame in frames), "the frames are readable"
    assert not any(b"marzipan" in frame for frame in frames)
    # The next worker is made ready; it comes from the cache or asks for its own script, and for nothing else.
    assert [url for url in asked if "/exercise/worker.js" not in url and "hidden" not in url] == []


# The network is cut


def test_everything_works_with_the_network_cut_after_the_page_has_loaded(student):
    visitor = student()
    visitor.run("print('loaded')")
    expect(visitor.printed).to_contain_text("loaded")
    visitor.page.context.set_offline(True)
    visitor.check(ONE_STRIDE)
    visitor.told("diagnosis: stride")
    visitor.check(ENDLESS)
    visitor.told("diagnosis: timeout")
    visitor.check(RIGHT)
    visitor.told("✓ Passed")
    expect(visitor.listed("ffn-forward")).to_contain_text("✓ passed")
    assert visitor.kept()["ffn-forward"]["solution"] == RIGHT
    visitor.unfold()
    with visitor.page.expect_download() as download:
        visitor.press("Save for a teacher")
    assert "ffn-forward" in Path(download.value.path()).read_text(encoding="utf-8")


def test_a_number_is_marked_with_the_server_gone(visit: Visit, own_server):
    plain = visit(None, server=own_server, expected="WebSocket|ERR_|Failed to load|health|host-config")
    visitor = Student(plain.page, own_server.address)
    visitor.open("/exercises?task=hidden-by-hand")
    own_server.stop()
    visitor.page.get_by_label("Your answer").fill("1234.5")
    visitor.keyboard.press("Enter")
    visitor.told("✗ Not yet", "This is not the number")


# The editor


def test_the_editor_indents_outdents_and_takes_back(student):
    visitor = student()
    visitor.code.fill("")
    visitor.keyboard.type("for i in a:\nx = 1\nif x:\npass\ny = 2")
    expect(visitor.code).to_have_value("for i in a:\n    x = 1\n    if x:\n        pass\n    y = 2")
    visitor.keyboard.press("ControlOrMeta+a")
    visitor.keyboard.press("Tab")
    expect(visitor.code).to_have_value(
        "    for i in a:\n        x = 1\n        if x:\n            pass\n        y = 2"
    )
    visitor.keyboard.press("Shift+Tab")
    visitor.keyboard.press("Shift+Tab")
    outdented = "for i in a:\nx = 1\nif x:\n    pass\ny = 2"
    expect(visitor.code).to_have_value(outdented)
    visitor.keyboard.press("ControlOrMeta+z")
    expect(visitor.code).to_have_value("for i in a:\n    x = 1\n    if x:\n        pass\n    y = 2")
    visitor.keyboard.press("ControlOrMeta+Shift+z")
    expect(visitor.code).to_have_value(outdented)
    expect(visitor.page.locator(".gutter span")).to_have_text(["1", "2", "3", "4", "5"])


def test_backspace_takes_a_whole_step_of_indentation_and_tab_fills_it(student):
    visitor = student()
    visitor.code.fill("")
    visitor.keyboard.type("if a:\n")
    visitor.keyboard.press("Backspace")
    visitor.keyboard.type("b")
    visitor.keyboard.press("Tab")
    visitor.keyboard.type("c")
    expect(visitor.code).to_have_value("if a:\nb   c")
    visitor.keyboard.press("Backspace")
    expect(visitor.code).to_have_value("if a:\nb   ")


def test_start_again_restores_what_was_given_and_undo_brings_the_code_back(student):
    visitor = student()
    visitor.code.fill("mine = 1\n")
    visitor.press("Start again")
    expect(visitor.code).to_have_value(EXERCISES["ffn-forward"].starter)
    visitor.press("Undo")
    expect(visitor.code).to_have_value("mine = 1\n")
    visitor.press("Redo")
    expect(visitor.code).to_have_value(EXERCISES["ffn-forward"].starter)


def test_undo_in_the_editor_leaves_the_network_alone(student):
    visitor = student("ffn-forward", "&ex=lesson&act=relu")
    visitor.code.click()
    visitor.keyboard.type("a")
    visitor.keyboard.press("ControlOrMeta+z")
    expect(visitor.code).to_have_value(EXERCISES["ffn-forward"].starter)
    assert visitor.scenario.activation == "relu"


@pytest.mark.parametrize("size", [1, 1.45])
def test_line_numbers_stand_beside_their_lines_at_any_text_size(student, size):
    visitor = student()
    visitor.page.evaluate(f"localStorage.setItem('hourglass-text-size', '{size}')")
    visitor.page.reload()
    visitor.ready()
    visitor.check("\n" * 30 + "x = 1 / 0\n" + "y = 2\n" * 9)
    expect(visitor.page.locator(".gutter .wrong")).to_have_text("31")
    mark = visitor.page.locator(".editor .mark").bounding_box()
    number = visitor.page.locator(".gutter .wrong").bounding_box()
    scrolled = visitor.code.evaluate("area => [area.scrollTop, area.scrollHeight - area.clientHeight]")
    assert abs(mark["y"] - number["y"]) < 1
    assert scrolled == [0, 0]


# By keyboard


def test_an_exercise_is_chosen_written_checked_and_left_by_keyboard_alone(student):
    visitor = student("hidden-layer")
    summary = visitor.page.locator(".shelf summary")
    summary.focus()
    visitor.keyboard.press("Enter")
    visitor.listed("ffn-forward").focus()
    visitor.keyboard.press("Enter")
    expect(visitor.code).to_have_attribute("aria-label", re.compile("The forward pass, with ReLU"))
    expect(summary).to_be_focused()  # the list is folded, and the exercise is below it
    for _ in range(80):
        if visitor.focused.startswith("Your code"):
            break
        visitor.keyboard.press("Tab")
    assert visitor.focused.startswith("Your code")
    visitor.keyboard.press("ControlOrMeta+a")
    visitor.keyboard.insert_text(PRINTS)
    visitor.keyboard.press("Tab")
    assert visitor.focused.startswith("Your code"), "Tab indents"
    visitor.keyboard.press("ControlOrMeta+z")
    visitor.keyboard.press("ControlOrMeta+Enter")
    visitor.told("diagnosis: returned-none")
    visitor.keyboard.press("ControlOrMeta+a")
    visitor.keyboard.insert_text(RIGHT)
    visitor.keyboard.press("ControlOrMeta+Enter")
    visitor.told("✓ Passed")
    visitor.keyboard.press("Escape")
    visitor.keyboard.press("Tab")
    assert not visitor.focused.startswith("Your code"), "after Escape, Tab leaves"
    visitor.keyboard.press("Shift+Tab")
    assert visitor.focused.startswith("Your code")
    visitor.keyboard.press("Escape")
    visitor.keyboard.press("Shift+Tab")
    assert visitor.focused == "Start again"


# Progress


def test_a_reload_keeps_what_is_passed_and_the_code_as_typed(student):
    visitor = student()
    visitor.check(RIGHT)
    visitor.told("✓ Passed")
    visitor.code.fill("half an idea")
    visitor.page.reload()
    visitor.ready()
    expect(visitor.code).to_have_value("half an idea")
    expect(visitor.listed("ffn-forward")).to_contain_text("✓ passed")


def test_the_file_for_a_teacher_says_what_was_done_and_names_nobody(student):
    visitor = student("ffn-forward", "&class=7")
    visitor.check(PRINTS)
    visitor.told("diagnosis: returned-none")
    visitor.check(RIGHT)
    visitor.told("✓ Passed")
    visitor.unfold()
    with visitor.page.expect_download() as download:
        visitor.press("Save for a teacher")
    assert download.value.suggested_filename == "hourglass-exercises.json"
    file = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert set(file) == {"what", "version", "saved", "class_number", "exercises"}
    assert file["class_number"] == 7
    assert [row["exercise"] for row in file["exercises"]] == list(EXERCISES)
    [row] = [row for row in file["exercises"] if row["attempts"]]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", row.pop("date"))
    assert row == {
        "exercise": "ffn-forward", "title": EXERCISES["ffn-forward"].title, "passed": True, "attempts": 2, "class_number": 7,
        "answer": RIGHT,
    }  # fmt: skip


def test_marks_are_deleted_only_after_asking(student):
    visitor = student()
    visitor.check(RIGHT)
    visitor.told("✓ Passed")
    visitor.unfold()
    visitor.press("Delete all…")
    visitor.press("Keep them")
    expect(visitor.listed("ffn-forward")).to_contain_text("✓ passed")
    visitor.press("Delete all…")
    visitor.press("Delete marks and answers")
    expect(visitor.listed("ffn-forward")).to_contain_text("Python")
    expect(visitor.code).to_have_value(EXERCISES["ffn-forward"].starter)
    assert visitor.kept().get("ffn-forward", {}).get("passed") is None


def test_the_deleted_mark_of_a_network_stays_deleted_until_the_network_is_changed(student):
    # Row 2 of W1 reads only the second coordinate, which the word cat alone has.
    solved = EXERCISES["fires-for-cat"].start(0).edit(Edit("w1", (2, 1), 1.0))
    visitor = student("fires-for-cat", "&" + query(solved)[1:])
    visitor.told("✓ Passed")
    visitor.unfold()
    with visitor.page.expect_download() as download:
        visitor.press("Save for a teacher")
    file = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    [answer] = [row["answer"] for row in file["exercises"] if row["exercise"] == "fires-for-cat"]
    assert decoded(f"?{answer}").to_query() == solved.to_query()
    assert "task=fires-for-cat" in answer
    visitor.press("Delete all…")
    visitor.press("Delete marks and answers")
    visitor.told("The mark of this network was deleted")
    expect(visitor.listed("fires-for-cat")).to_contain_text("network")
    visitor.page.reload()
    visitor.ready()
    visitor.told("The mark of this network was deleted")
    visitor.press("Start again")
    visitor.told("✗ Not yet")
    visitor.edit("w1[2][1]", "1")
    visitor.told("✓ Passed")
    expect(visitor.listed("fires-for-cat")).to_contain_text("✓ passed")


@pytest.mark.parametrize(
    "stored", ["{", "null", "[]", '{"version":1,"exercises":{"ffn-forward":7}}', '{"version":2}']
)
def test_a_damaged_store_is_begun_anew(student, stored):
    visitor = student()
    visitor.page.evaluate("([key, text]) => localStorage.setItem(key, text)", [STORE, stored])
    visitor.page.reload()
    visitor.ready()
    expect(visitor.code).to_have_value(EXERCISES["ffn-forward"].starter)
    visitor.check(RIGHT)
    visitor.told("✓ Passed")
    assert visitor.kept()["ffn-forward"]["passed"] is True


# Numbers


def test_a_number_is_marked_and_belongs_to_its_class_number(student):
    visitor = student("hidden-by-hand", "&class=3")
    answer = EXERCISES["hidden-by-hand"].ask(3).answer
    field = visitor.page.get_by_label("Your answer")
    field.fill("eleven")
    visitor.keyboard.press("Enter")
    visitor.told("This is not a number")
    field.fill(f"{answer:.4f}".replace(".", ","))
    visitor.keyboard.press("Enter")
    visitor.told("✓ Passed")
    visitor.page.get_by_label("Class number", exact=True).fill("4")
    visitor.keyboard.press("Enter")
    visitor.page.wait_for_url(re.compile("class=4"))
    expect(field).to_have_value("")
    expect(visitor.listed("hidden-by-hand")).to_contain_text("✓ passed")


def test_what_was_typed_for_each_class_number_comes_back_with_it(student):
    visitor = student("hidden-by-hand", "&class=3")
    field = visitor.page.get_by_label("Your answer")
    number = visitor.page.get_by_label("Class number", exact=True)
    field.fill("33")
    number.fill("4")
    visitor.keyboard.press("Enter")
    expect(field).to_have_value("")
    field.fill("44")
    number.fill("3")
    visitor.keyboard.press("Enter")
    expect(field).to_have_value("33")
    for seed in range(100, 140):
        visitor.page.evaluate(
            "async ([address, seed]) => (await import(address)).keepTyped('hidden-by-hand', seed, String(seed))",
            [visitor.module("exercise/progress.js"), seed],
        )
    assert visitor.kept()["hidden-by-hand"]["typed"] == [[seed, str(seed)] for seed in range(110, 140)]


@pytest.mark.parametrize("given", ["-1", "abc"])
def test_a_class_number_that_makes_no_sense_is_named_above_the_page(student, given):
    visitor = student("hidden-by-hand", f"&class={given}")
    notice = visitor.page.get_by_text(
        f"The link's class number '{given}' makes no sense here: 0 is taken instead."
    )
    expect(notice).to_be_visible()


# Networks


def test_a_network_is_set_until_it_does_what_was_asked_and_undo_brings_back_what_was_there(student):
    visitor = student("fires-for-cat", "&ex=lesson")
    visitor.press("Open the exercise's network")
    visitor.told("✗ Not yet", "Neuron 2 does not fire for “cat”")
    expect(visitor.cells("x")).to_have_count(8)  # the board has it as well
    # Row 2 of W1: 1 where only the word cat has 1 (the example's second coordinate).
    visitor.edit("w1[2][1]", "1")
    visitor.told("✓ Passed")
    expect(visitor.listed("fires-for-cat")).to_contain_text("✓ passed")
    visitor.edit("b1[2]", "1")
    visitor.told("✗ Not yet")
    expect(visitor.listed("fires-for-cat")).to_contain_text("✓ passed")
    for _ in range(3):
        visitor.page.get_by_role("button", name=re.compile("^Undo")).first.click()
    visitor.wait_for_link(lambda scenario: scenario.base == "lesson")


def test_a_drawing_that_a_newer_one_overtook_ends_nothing_and_leaving_the_page_ends_it(student):
    # Streamlit ends each drawing that is overtaken, at times after the newer one: the frame went, and with it every edit.
    visitor = student("hidden-by-hand")
    left = visitor.page.evaluate(
        """async (loader) => {
            const { default: render } = await import(URL.createObjectURL(new Blob([loader], { type: "text/javascript" })));
            const host = document.body.appendChild(document.createElement("div"));
            const parentElement = host.attachShadow({ mode: "open" });
            const draw = (open) => render({ parentElement, data: { shelf: { exercises: [{ name: "a" }], open, seed: 0 } } });
            const [overtaken, newer] = [draw("a"), draw("b")];
            overtaken();
            const there = parentElement.querySelectorAll("nav").length;
            host.remove();
            newer();
            return [there, parentElement.querySelectorAll("nav").length];
        }""",
        module_loader("exercise/shelf.js", ""),
    )
    assert left == [1, 0]


# For everyone


@pytest.mark.parametrize("look", ["light", "dark"])
@pytest.mark.parametrize("name", ["ffn-forward", "hidden-by-hand", "fires-for-cat"])
def test_axe_finds_no_violation(student, look, name):
    visitor = student(name, bypass_csp=True, color_scheme=look)
    if name == "ffn-forward":
        visitor.check(f"{SIGNATURE}    print(x)\n    return x[99]\n")
        visitor.told("diagnosis: error")
    if name == "fires-for-cat":
        visitor.press("Open the exercise's network")
        visitor.told("✗ Not yet")
    visitor.page.mouse.move(0, 0)
    assert visitor.violations() == []


def test_a_phone_shows_the_page_without_sideways_scrolling(student):
    phone = student(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    phone.check(RIGHT)
    phone.told("✓ Passed")
    wider = phone.page.evaluate(
        """() => [document.documentElement, document.body, document.querySelector('[data-testid="stMain"]')]
            .map((e) => e.scrollWidth - e.clientWidth)"""
    )
    assert wider == [0, 0, 0]
