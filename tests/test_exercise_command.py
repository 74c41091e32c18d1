"""`python -m ffn_core exercise`: a student's own file, marked on the student's own machine, whatever it does."""

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode

import pytest

from ffn_core.__main__ import main
from ffn_core.exercises import EXERCISES
from ffn_core.exercises.marking import CODES
from ffn_core.exercises.offline import MAX_OUTPUT, mark_file
from tests.solutions import exercise as exercise_called
from tests.solutions import scenarios

RIGHT = """
def ffn_forward(x, W1, b1, W2, b2, D, H):
    hidden = [max(0.0, sum(W1[i * D + j] * x[j] for j in range(D)) + b1[i]) for i in range(H)]
    return [sum(W2[i * H + j] * hidden[j] for j in range(H)) + b2[i] for i in range(D)]
"""
ONE_STRIDE = RIGHT.replace("W2[i * H + j]", "W2[i * D + j]")


@pytest.fixture
def run(capsys):
    """Run with arguments and return the exit status and what was printed."""

    def call(*arguments):
        try:
            status = main(["exercise", *map(str, arguments)])
        except SystemExit as misuse:
            return misuse.code, capsys.readouterr().err
        return status, capsys.readouterr().out

    return call


@pytest.fixture
def mark(run, tmp_path):
    """Mark a text as the solution of an exercise."""

    def call(text, name="ffn-forward", *options):
        file = tmp_path / "solution.py"
        file.write_text(text, encoding="utf-8")
        return run("mark", name, file, *options)

    return call


def test_the_list_names_every_exercise_in_teaching_order(run):
    status, text = run("list")
    assert status == 0
    assert [line.split()[0] for line in text.splitlines()] == list(EXERCISES)


@pytest.mark.parametrize("name", EXERCISES)
def test_an_exercise_is_shown_with_the_way_to_mark_it(run, name):
    status, text = run("show", name)
    assert status == 0
    assert exercise_called(name).statement(0) in text
    assert f"python -m ffn_core exercise mark {name} FILE\n" in text
    assert exercise_called(name).hints[0] not in text
    assert exercise_called(name).hints[0] in run("show", name, "--hints")[1]


def test_a_right_solution_passes(mark):
    status, text = mark(RIGHT)
    assert status == 0
    assert (
        text
        == f"Passed: ffn-forward. All {len(exercise_called('ffn-forward').sheet(0)['cases'])} cases are right.\n"
    )


def test_a_wrong_solution_is_refused_with_a_diagnosis_and_a_sentence_of_help(mark):
    status, text = mark(ONE_STRIDE)
    lines = text.splitlines()
    assert status == 1
    at = lines.index("diagnosis: stride")
    assert lines[at + 1].startswith("Both matrices were read with rows of D numbers.")
    assert "case      two inputs, three neurons" in lines
    assert "got       [2.1, 3.8]" in lines
    assert "expected  [2.1, 0.8]" in lines


def test_the_same_holds_in_a_process_of_its_own(tmp_path):
    (tmp_path / "mine.py").write_text(ONE_STRIDE, encoding="utf-8")
    root = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-m", "ffn_core", "exercise", "mark", "ffn-forward", "mine.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": root},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert b"\ndiagnosis: stride\n" in done.stdout
    assert done.stderr == b""
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"], "nothing is left behind"


def test_what_the_file_prints_is_shown(mark):
    status, text = mark(
        "print('at the top é')\n" + RIGHT.replace("    hidden", "    print('called', D, H)\n    hidden")
    )
    assert status == 0
    assert text.startswith("Your code printed:\nat the top é\ncalled 2 3\n")


def test_a_traceback_has_the_right_line_of_the_students_file_and_nothing_of_ours(mark, tmp_path):
    status, text = mark(
        "import math\n\ndef ffn_forward(x, W1, b1, W2, b2, D, H):\n    y = x\n    return math.sqrt(-D)\n"
    )
    assert status == 1
    assert f'  File "{tmp_path / "solution.py"}", line 5, in ffn_forward\n    return math.sqrt(-D)\n' in text
    assert "ValueError" in text
    assert "marking.py" not in text
    assert "runner.py" not in text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def ffn_forward(x:\n", "Python cannot read line 1 of your code"),
        ("def ffn_forward(x):\n\ty = 1\n        z = 2\n", "Python cannot read line 3 of your code"),
        ("if True:\n    y = 1\n\tz = 2\n", "line 3 of your code: tabs and spaces are mixed"),
        ("\0", "diagnosis: error"),
        ("1 / 0", "ZeroDivisionError"),
        ("import no_such_module_anywhere", "There is no module no_such_module_anywhere here. All that is needed is math"),
        ("", "does not define the function ffn_forward(x, W1, b1, W2, b2, D, H)"),
        ("ffn_forward = 3", "does not define the function"),
        ("def ffn_forward(x): return x", "TypeError"),
        ("import sys; sys.exit(0)", "Your code ended the program"),
        ("def ffn_forward(*a): raise SystemExit(0)", "Your code ended the program"),
        ("import os; os._exit(0)", "ended before it could be marked"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended before it could be marked"),
        ("n = input('how many? ')", "Your code waits for input()"),
        ("import os\nwhile True: os.fork()", "starts no other program"),
        ("import subprocess; subprocess.Popen(['sleep', '60'])", "starts no other program"),
        ("import os; os.system('sleep 60')", "starts no other program"),
        ("def ffn_forward(*a): return [0.0] * 10**10", "needs more memory than there is"),
        ("def ffn_forward(*a): return [0.0] * 10**20", "or 10**20 for the length of a list"),
        ("def ffn_forward(*a): return ffn_forward(*a)", "calls itself without end"),
        ("class Mine(BaseException): pass\nraise Mine", "Mine"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_come_to_an_answer_is_an_error_and_not_a_hang(mark, text, says):
    status, printed = mark(text)
    assert status == 1
    assert "\ndiagnosis: error\n" in printed
    assert says in printed


def test_a_file_that_is_not_text_is_an_error(run, tmp_path):
    file = tmp_path / "solution.py"
    file.write_bytes(b"x = '\xff\xfe'\n")
    status, text = run("mark", "ffn-forward", file)
    assert (status, "diagnosis: error" in text) == (1, True)


SHEET = exercise_called("ffn-forward").sheet(0)


@pytest.mark.parametrize(
    "text",
    [
        "while True: pass",
        "def ffn_forward(*a):\n    while True: pass",
        "import time; time.sleep(1000)",
        "import threading\nthreading.Event().wait()",
    ],
)
def test_what_never_ends_is_stopped(tmp_path, text, monkeypatch):
    monkeypatch.setattr("ffn_core.exercises.offline.SECONDS", 1.5)
    file = tmp_path / "solution.py"
    file.write_text(text, encoding="utf-8")
    verdict, printed = mark_file(str(file), SHEET)
    assert verdict["diagnosis"] == "timeout"
    assert verdict["message"] == CODES["timeout"]
    assert printed == ""


def test_a_flood_is_stopped_and_cut(tmp_path):
    file = tmp_path / "solution.py"
    file.write_text("while True: print('flood' * 1000)", encoding="utf-8")
    verdict, printed = mark_file(str(file), SHEET)
    assert verdict["diagnosis"] == "timeout"
    assert printed.startswith("floodflood")
    assert printed.endswith("\n... (the rest is cut)\n")
    assert len(printed) < MAX_OUTPUT + 100


def test_a_timeout_is_said_as_any_refusal(mark, monkeypatch):
    monkeypatch.setattr("ffn_core.exercises.offline.SECONDS", 1.0)
    status, text = mark("while True: pass")
    assert (status, text) == (1, f"Refused: ffn-forward.\ndiagnosis: timeout\n{CODES['timeout']}\n")


def test_a_right_solution_that_prints_much_passes_with_its_output_cut(mark):
    status, text = mark("print('x' * 1_000_000)\n" + RIGHT)
    assert status == 0
    assert len(text) < MAX_OUTPUT + 1000


def test_a_thread_that_goes_on_does_not_hold_up_the_verdict(mark):
    status, _ = mark(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()\n" + RIGHT
    )
    assert status == 0


def test_what_is_said_on_the_way_out_does_not_change_the_verdict(mark):
    status, text = mark("import atexit; atexit.register(print, 'diagnosis: stride')\n" + RIGHT)
    assert status == 0
    assert "stride" not in text


@pytest.mark.parametrize("name", ["numpy", "math", "marking", "json"])
def test_a_file_may_be_called_as_a_module_is(run, tmp_path, name):
    file = tmp_path / f"{name}.py"
    file.write_text("import math, json\n" + RIGHT, encoding="utf-8")
    assert run("mark", "ffn-forward", file)[0] == 0


# Other kinds of exercises


def test_a_number_is_marked_in_a_file(mark):
    answer = exercise_called("hidden-by-hand").ask(3).answer
    status, text = mark(f"{answer:.2f}\n", "hidden-by-hand", "--seed", "3")
    assert (status, text) == (0, "Passed: hidden-by-hand. Right.\n")
    slip = exercise_called("hidden-by-hand").ask(3).mistakes[0]
    status, text = mark(f"{slip.value:.2f}", "hidden-by-hand", "--seed", "3")
    assert (status, text) == (1, f"Refused: hidden-by-hand.\ndiagnosis: {slip.code}\n{slip.message}\n")


def test_a_network_is_marked_by_its_link(mark):
    start = exercise_called("fires-for-cat").start(0)
    link = f"https://host.example/memories?{urlencode(start.edit(*scenarios.RIGHT['fires-for-cat'][0]).to_query())}\n"
    assert mark(link, "fires-for-cat") == (
        0,
        "Passed: fires-for-cat. Neuron 2 fires for “cat” and for no other word.\n",
    )
    status, text = mark(urlencode(start.to_query()), "fires-for-cat")
    assert status == 1
    assert "diagnosis: wrong-values\nNeuron 2 does not fire for “cat” yet" in text


# Misuse


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "required: list | show NAME | mark NAME FILE"),
        (["dance"], "invalid choice"),
        (["show"], "NAME"),
        (["show", "no-such"], "no exercise is called 'no-such'; there are hidden-by-hand, "),
        (["mark", "ffn-forward"], "FILE"),
        (["mark", "no-such", "f.py"], "no exercise is called 'no-such'"),
        (["mark", "ffn-forward", "no/such/file.py"], "there is none at 'no/such/file.py'"),
        (["mark", "ffn-forward", "."], "FILE must be a file"),
        (["mark", "ffn-forward", "a\0b"], "FILE"),
        (["mark", "ffn-forward", "f.py", "--seed", "-1"], "--seed must be 0 or more"),
    ],
)
def test_misuse_is_said_in_one_line(run, arguments, says):
    status, text = run(*arguments)
    assert status == 2
    assert says in text
    assert text.count("\n") == 1


def test_a_file_too_long_to_be_a_solution_is_not_run(run, tmp_path):
    file = tmp_path / "long.py"
    file.write_text("#" * 2_000_000, encoding="utf-8")
    status, text = run("mark", "ffn-forward", file)
    assert status == 2
    assert "at most 1,000,000 bytes" in text
