"""The exercises: all there, each with what it says, and the marking of numbers and of networks that are set."""

import json
import re

import numpy as np
import pytest

from ffn_core.examples import EXAMPLES
from ffn_core.exercises import EXERCISES, CodeExercise, NumberExercise, ScenarioExercise
from ffn_core.exercises.exercise import NumberTask
from ffn_core.exercises.marking import CODES, mark_number
from ffn_core.scenario import Scenario
from tests.solutions import exercise as exercise_called
from tests.solutions import scenarios

NUMBERS = [name for name, exercise in EXERCISES.items() if isinstance(exercise, NumberExercise)]
SEEDS = range(12)


@pytest.mark.parametrize("name", EXERCISES)
def test_an_exercise_says_what_is_asked_and_helps(name):
    exercise = exercise_called(name)
    assert exercise.name == name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name), "typed in a terminal and kept in a browser"
    assert exercise.title
    assert len(exercise.statement(0)) > 60
    assert exercise.hints
    assert (exercise.statement(0) != exercise.statement(1)) == exercise.seeded
    assert exercise.statement(1) == exercise.statement(1)


def test_there_are_exercises_of_every_kind_and_the_lessons_by_its_name():
    kinds = [exercise.kind for exercise in EXERCISES.values()]
    assert len(kinds) >= 14
    assert {kind: kinds.count(kind) for kind in kinds} == {"numbers": 9, "scenario": 7, "code": 7}
    for name in ("ffn-forward", "ffn-forward-gelu"):
        exercise = exercise_called(name)
        assert isinstance(exercise, CodeExercise)
        assert exercise.signature == "ffn_forward(x, W1, b1, W2, b2, D, H)"


@pytest.mark.parametrize("name", [name for name, each in EXERCISES.items() if each.kind == "code"])
def test_a_sheet_is_json_and_the_starter_defines_the_function_without_solving_it(name):
    exercise = exercise_called(name)
    sheet = exercise.sheet(0)
    assert json.loads(json.dumps(sheet, allow_nan=False)) == sheet
    assert (sheet["function"], sheet["signature"]) == (exercise.function, exercise.signature)
    assert exercise.starter.startswith(f"def {exercise.signature}:\n")
    assert exercise.signature in exercise.statement(0)


# Numbers


@pytest.mark.parametrize("name", NUMBERS)
def test_each_slip_in_a_number_gets_its_own_sentence_and_the_right_number_passes(name):
    for seed in SEEDS:
        task = exercise_called(name).ask(seed)
        as_json = json.loads(json.dumps(task.as_json(), allow_nan=False))
        assert mark_number(as_json, repr(task.answer))["passed"]
        assert mark_number(as_json, f"{task.answer:.{task.decimals}f}")["passed"]
        assert len(task.mistakes) >= 5
        for mistake in task.mistakes:
            assert mistake.code in CODES
            verdict = mark_number(as_json, f"{mistake.value:.{task.decimals + 1}f}")
            assert verdict == {"passed": False, "diagnosis": mistake.code, "message": mistake.message}
    assert len({mistake.message for mistake in task.mistakes}) == len(task.mistakes)


def test_with_the_slips_that_all_numbers_share_there_are_eight_refusals_each_with_its_own_sentence():
    shared = ("", "abc", "nan", "-43", "430", "40")
    for name in NUMBERS:
        task = exercise_called(name).ask(0)
        said = [mistake.message for mistake in task.mistakes]
        plain = NumberTask(prompt="", answer=43.0, decimals=0, mistakes=())
        said += [mark_number(plain.as_json(), text)["message"] for text in shared]
        assert len(set(said)) == len(task.mistakes) + len(shared) >= 8


TASK = NumberTask(prompt="", answer=0.43, decimals=2, mistakes=()).as_json()


@pytest.mark.parametrize("text", ["0.43", "0,43", ".43", "+0.430", " 0.4301\n", "43e-2"])
def test_a_number_may_be_written_in_many_ways(text):
    assert mark_number(TASK, text)["passed"]


def test_the_typographic_minus_is_a_minus():
    task = NumberTask(prompt="", answer=-0.5, decimals=2, mistakes=()).as_json()
    assert mark_number(task, "\u22120.5")["passed"]
    assert mark_number(task, "0.5")["message"] == "The sign is wrong: check each minus."


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", "error", "no number yet"),
        ("a half", "error", "not a number"),
        ("0.1*4", "error", "without a unit or a sum"),
        ("1_0", "error", "not a number"),
        ("0.4.3", "error", "not a number"),
        ("nan", "non-finite", "finite"),
        ("-inf", "non-finite", "finite"),
        ("1e999", "non-finite", "finite"),
        ("4.3", "wrong-values", "decimal point"),
        ("0.0043", "wrong-values", "decimal point"),
        ("-0.43", "wrong-values", "sign"),
        ("0.44", "wrong-values", "Close"),
        ("7", "wrong-values", "This is not the number. Go through the hints once more."),
        ("9" * 10_000, "error", "not a number"),
    ],
)
def test_what_is_not_the_number_is_told_apart(text, code, says):
    verdict = mark_number(TASK, text)
    assert (verdict["passed"], verdict["diagnosis"]) == (False, code)
    assert says in verdict["message"]


def test_a_whole_number_must_be_exact():
    task = NumberTask(prompt="", answer=131_712.0, decimals=0, mistakes=()).as_json()
    assert mark_number(task, "131712")["passed"]
    assert not mark_number(task, "131711")["passed"]


@pytest.mark.parametrize(
    "text",
    [
        "25368", "25,368", "25.368", "25 368", "25\u202f368", "25\u00a0368", "25'368", "+25,368",
        " 25,368 ", "25368.0", "25368,0",
    ],
)  # fmt: skip
def test_a_whole_number_may_have_its_thousands_set_apart(text):
    task = NumberTask(prompt="", answer=25_368.0, decimals=0, mistakes=()).as_json()
    assert mark_number(task, text)["passed"]
    assert mark_number(task | {"answer": -25_368.0}, "\u2212" + text.strip().lstrip("+"))["passed"]


@pytest.mark.parametrize(
    "text", ["25,36", "2,5368", "25,368,", "25,368.5", "0,025,368", "25,3 68", "1,025,368"]
)
def test_what_only_looks_like_thousands_is_not_taken_for_them(text):
    task = NumberTask(prompt="", answer=25_368.0, decimals=0, mistakes=()).as_json()
    assert not mark_number(task, text)["passed"]
    assert mark_number(task | {"answer": 1_025_368.0}, "1,025,368")["passed"]


def test_where_decimals_are_asked_for_a_comma_is_a_decimal_one():
    task = NumberTask(prompt="", answer=1.234, decimals=3, mistakes=()).as_json()
    assert mark_number(task, "1,234")["passed"]
    assert not mark_number(task | {"answer": 1234.0}, "1,234")["passed"]


def test_a_number_that_no_slip_gives_gets_a_sentence_of_its_exercise():
    said = set()
    for name in NUMBERS:
        verdict = mark_number(exercise_called(name).ask(0).as_json(), "7654321.9")
        assert verdict["message"].startswith("This is not the number. ")
        said.add(verdict["message"])
    assert len(said) == len(NUMBERS)
    dead = mark_number(exercise_called("dead-or-sparse").ask(0).as_json(), "7654321.9")
    assert dead["message"] == "This is not the number. Count the columns that are 0 in every row."


def numbers_in(prompt, name):
    [block] = re.findall(rf"^{name} *= ((?:.|\n)*?)\n(?:\w+ *=|```)", prompt, flags=re.MULTILINE)
    return np.array(json.loads(block.replace("−", "-")))


def test_the_numbers_that_a_prompt_shows_give_the_answer():
    for seed in SEEDS:
        task = exercise_called("hidden-by-hand").ask(seed)
        neuron = int(re.findall(r"`hidden\[(\d)\]`", task.prompt)[0])
        x, w1, b1 = (numbers_in(task.prompt, name) for name in ("x", "w1", "b1"))
        by_hand = sum(w1[neuron][j] * x[j] for j in range(3)) + b1[neuron]
        assert task.answer == pytest.approx(by_hand, abs=1e-9)

        task = exercise_called("output-by-hand").ask(seed)
        i = int(re.findall(r"`output\[(\d)\]`", task.prompt)[0])
        x, w1, b1, w2, b2 = (numbers_in(task.prompt, name) for name in ("x", "w1", "b1", "w2", "b2"))
        activated = [max(0, w1[j][0] * x[0] + w1[j][1] * x[1] + b1[j]) for j in range(2)]
        assert task.answer == pytest.approx(
            w2[i][0] * activated[0] + w2[i][1] * activated[1] + b2[i], abs=1e-9
        )

        task = exercise_called("contribution").ask(seed)
        j, i = map(int, re.findall(r"\*\*\w+ (\d)\*\*", task.prompt))
        activated, w2 = numbers_in(task.prompt, "activated"), numbers_in(task.prompt, "w2")
        assert task.answer == pytest.approx(activated[j] * w2[i][j], abs=1e-9)

        task = exercise_called("dead-or-sparse").ask(seed)
        columns = zip(*numbers_in(task.prompt, "activated").tolist(), strict=True)
        assert task.answer == sum(not any(column) for column in columns)


def test_numbers_taken_from_the_rounded_help_in_a_prompt_pass():
    for seed in SEEDS:
        task = exercise_called("activated-by-hand").ask(seed)
        z, phi = (
            float(text.replace("−", "-"))
            for text in re.findall(r"Φ\((−[\d.]+)\) = ([\d.]+)\.\n", task.prompt)[0]
        )
        assert mark_number(task.as_json(), f"{z * phi:.3f}")["passed"]

        task = exercise_called("gated-by-hand").ask(seed)
        up = float(re.findall(r"`up` = (\S+)\. ", task.prompt)[0].replace("−", "-"))
        z, sigma = (
            float(text.replace("−", "-"))
            for text in re.findall(r"σ\((−[\d.]+)\) = ([\d.]+)\.\n", task.prompt)[0]
        )
        assert mark_number(task.as_json(), f"{z * sigma * up:.3f}")["passed"]

        task = exercise_called("top-2-by-hand").ask(seed)
        [ratio] = re.findall(r"exp\(.*?\) = ([\d.]+),", task.prompt)
        assert mark_number(task.as_json(), f"{1 / (1 + float(ratio)):.3f}")["passed"]


def test_counts_follow_their_prompts():
    for seed in SEEDS:
        d = int(re.findall(r"d_model = (\d+)", exercise_called("parameters").statement(seed))[0])
        assert exercise_called("parameters").ask(seed).answer == 8 * d * d + 5 * d
        multiple, d = map(
            int,
            re.findall(r"multiple of (\d+).*d_model = (\d+)", exercise_called("gated-width").statement(seed))[
                0
            ],
        )
        answer = exercise_called("gated-width").ask(seed).answer
        assert answer % multiple == 0
        assert answer - multiple < 8 * d // 3 <= answer


# Networks


SET = [name for name, exercise in EXERCISES.items() if isinstance(exercise, ScenarioExercise)]


def test_every_network_to_set_is_held_to_eight_wrong_ones_and_three_right_ones():
    assert set(SET) == set(scenarios.RIGHT) == set(scenarios.WRONG)
    for name in SET:
        assert len(scenarios.RIGHT[name]) >= 3
        assert len({says for _, says in scenarios.WRONG[name]}) >= 8


@pytest.mark.parametrize(
    ("name", "edits"), [(name, edits) for name in SET for edits in scenarios.RIGHT[name]]
)
def test_a_network_that_does_what_was_asked_passes(name, edits):
    exercise = exercise_called(name)
    verdict = exercise.check(exercise.start(0).edit(*edits))
    assert verdict.passed, verdict.message
    assert verdict.message


@pytest.mark.parametrize(
    ("name", "edits", "says"), [(name, *wrong) for name in SET for wrong in scenarios.WRONG[name]]
)
def test_a_network_that_does_not_is_told_what_is_still_wrong(name, edits, says):
    exercise = exercise_called(name)
    verdict = exercise.check(exercise.start(0).edit(*edits))
    assert not verdict.passed
    assert says in verdict.message


@pytest.mark.parametrize("name", SET)
def test_no_example_of_the_library_is_an_answer_as_it_stands(name):
    for base in EXAMPLES:
        for activation in (None, "relu"):
            assert not exercise_called(name).check(Scenario(base=base, activation=activation)).passed, base


def test_an_and_gate_needs_other_numbers_than_the_librarys():
    verdict = exercise_called("and-gate").check(Scenario(base="and_gate"))
    assert verdict.message.startswith("Leave w1 as it was.")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("not-gate", "Without any input the biases give 1, and a takes that away."),
        ("silent-network", "The neurons may fire as they like: their values are 0, and so is b2."),
        ("copy-through-relu", "The neurons work in pairs: where one falls silent its opposite takes over"),
    ],
)
def test_what_is_said_of_a_network_that_passes_is_true_of_each_that_does(name, says):
    exercise = exercise_called(name)
    for edits in scenarios.RIGHT[name]:
        scenario = exercise.start(0).edit(*edits)
        assert exercise.check(scenario).message.startswith(says)
        layer, _ = scenario.build()
        if name == "not-gate":
            assert layer.forward(np.zeros(3)).output[2] == 1
        elif name == "silent-network":
            assert not layer.w2.any()
            assert not layer.b2.any()
        else:
            keys = layer.w1 / np.linalg.norm(layer.w1, axis=1, keepdims=True)
            assert [np.isclose(keys @ key, -1).sum() for key in keys] == [1, 1, 1, 1], "one opposite for each"


def test_no_two_neurons_of_the_network_to_silence_can_undo_one_another():
    keys = exercise_called("silent-network").start(0).arrays["w1"]
    keys = keys / np.linalg.norm(keys, axis=1, keepdims=True)
    alike = np.abs(keys @ keys.T)
    assert (alike[~np.eye(len(keys), dtype=bool)] < 0.999).all()


@pytest.mark.parametrize("name", SET)
@pytest.mark.parametrize(("scenario", "says"), scenarios.OTHER_GROUND)
def test_another_network_is_no_answer(name, scenario, says):
    verdict = exercise_called(name).check(scenario)
    assert not verdict.passed
    assert says in verdict.message


@pytest.mark.parametrize("name", SET)
def test_another_nonlinearity_is_no_answer(name):
    exercise = exercise_called(name)
    for edits in scenarios.RIGHT[name]:
        verdict = exercise.check(exercise.start(0).edit(*edits).with_activation("gelu"))
        assert not verdict.passed
        assert "Leave the nonlinearity as it was, ReLU" in verdict.message


@pytest.mark.parametrize("name", SET)
def test_a_start_fits_a_link_and_is_no_answer_yet(name):
    exercise = exercise_called(name)
    start = exercise.start(0)
    back, losses = Scenario.from_query(start.to_query())
    assert losses == []
    assert not exercise.check(back).passed
    assert exercise.check(back) == exercise.check(start)
