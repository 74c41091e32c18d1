"""The marker of code: every wrong solution gets its own diagnosis, every right one passes, however it is written."""

import json
import math
import re
from functools import cache

import numpy as np
import pytest

from ffn_core.exercises import EXERCISES, CodeExercise
from ffn_core.exercises.marking import CODES, mark, raised, refusal
from tests.solutions import dense, others
from tests.solutions import exercise as exercise_called

EVERY = [
    others.HIDDEN, dense.FORWARD, others.GELU, dense.FORWARD_GELU, others.GATED, others.TOP2, others.BACKWARD,
]  # fmt: skip
RIGHT = [(of.exercise, function) for of in EVERY for function in of.right_ones]
WRONG = [(of.exercise, *wrong) for of in EVERY for wrong in of.wrong_ones]


@cache
def sheet_of(exercise, seed=0):
    # By way of JSON, as it comes to a browser.
    return json.loads(json.dumps(exercise_called(exercise).sheet(seed), allow_nan=False))


def case_id(value):
    return value if isinstance(value, str) else getattr(value, "__name__", None)


@pytest.mark.parametrize("seed", [0, 1, 7])
@pytest.mark.parametrize(("exercise", "function"), RIGHT, ids=case_id)
def test_a_right_solution_passes_however_it_is_written(exercise, function, seed):
    verdict = mark(function, sheet_of(exercise, seed))
    assert verdict["passed"], verdict
    assert verdict["diagnosis"] is None


@pytest.mark.parametrize("seed", [0, 1, 7])
@pytest.mark.parametrize(("exercise", "function", "code", "says"), WRONG, ids=case_id)
def test_a_wrong_solution_is_refused_with_its_own_diagnosis(exercise, function, code, says, seed):
    verdict = mark(function, sheet_of(exercise, seed))
    assert not verdict["passed"]
    assert verdict["diagnosis"] == code, verdict
    assert says in verdict["message"]
    assert verdict["case"] is not None
    json.dumps(verdict, allow_nan=False)


def test_every_code_exercise_is_held_to_eight_wrong_solutions_and_three_right_ones():
    assert {of.exercise for of in EVERY} == {
        name for name, exercise in EXERCISES.items() if isinstance(exercise, CodeExercise)
    }
    for of in EVERY:
        assert len({(wrong.code, wrong.says) for wrong in of.wrong_ones}) >= 8, of.exercise
        assert len(of.right_ones) >= 3, of.exercise


def test_the_lessons_exercise_meets_every_diagnosis_but_those_that_come_from_outside_or_need_gelu():
    met = {wrong.code for wrong in dense.FORWARD.wrong_ones}
    assert met == set(CODES) - {"timeout", "gelu-form"}
    assert {wrong.code for wrong in dense.FORWARD_GELU.wrong_ones} == met | {"gelu-form"}


# To how many decimals each exercise can be rounded and be wrong: sums of tenths end by themselves.
ROUNDED = [
    ("hidden-layer", 1), ("ffn-forward", 1), ("ffn-forward", 2), ("ffn-backward", 1), ("ffn-backward", 2),
    *((name, n) for name in ("gelu", "ffn-forward-gelu", "gated-ffn", "top-2") for n in (1, 2, 3, 4, 5)),
]  # fmt: skip


@pytest.mark.parametrize(("exercise", "decimals"), ROUNDED)
def test_a_result_that_is_only_rounded_is_told_so(exercise, decimals):
    def rounded(value):
        return (
            [rounded(entry) for entry in value]
            if isinstance(value, (list, tuple))
            else round(value, decimals)
        )

    [function, *_] = [function for name, function in RIGHT if name == exercise]
    verdict = mark(lambda *args: rounded(function(*args)), sheet_of(exercise))
    places = "1 decimal" if decimals == 1 else f"{decimals} decimals"
    assert (verdict["passed"], verdict["diagnosis"]) == (False, "wrong-values")
    assert (
        verdict["message"] == f"The numbers are rounded to {places}. Return them as they are: do not round."
    )


def test_zeros_are_not_taken_for_rounded_numbers():
    verdict = answering(lambda output: [0.0] * len(output))
    assert verdict["message"] == "The numbers are not right."


@pytest.mark.parametrize("of", EVERY, ids=lambda of: of.exercise)
def test_a_sentence_speaks_only_of_what_the_exercise_has(of):
    sheet = sheet_of(of.exercise)
    signature = exercise_called(of.exercise).signature
    said = [mistake["message"] for mistake in sheet["mistakes"].values()] + [sheet["lengths"] or ""]
    arguments = ["x", "W1", "W2", "b1", "b2", "dy", "D", "H", "Wgate", "Wup", "Wdown", "logits"]
    has = re.findall(r"\w+", signature.partition("(")[2])
    for sentence in said:
        named = set(re.findall(r"\w+", sentence)) & set(arguments)
        assert named <= set(has), sentence
    if of.exercise == "hidden-layer":
        assert not any("output" in sentence for sentence in said)
    square = [case["square"] for case in sheet["cases"]]
    assert (sheet["lengths"] is None) == (True not in square)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (SystemExit(1), "Your code ended the program. Return the result instead."),
        (EOFError("input"), "Your code waits for input()."),
        (SyntaxError("invalid syntax", ("f", 3, 1, "")), "Python cannot read line 3 of your code: invalid syntax."),
        (SyntaxError("invalid syntax"), "Python cannot read your code: invalid syntax."),
        (SyntaxError(), "Python cannot read your code: it is not Python."),
        (
            IndentationError("unexpected indent", ("f", 2, 1, "")),
            "Python cannot read line 2 of your code: it is indented otherwise than it should be.",
        ),
        (
            IndentationError("expected an indented block after function definition on line 1", ("f", 2, 1, "")),
            "Python cannot read line 2 of your code: the indented lines that belong before it are missing.",
        ),
        (TabError("mixed", ("f", 2, 1, "")), "line 2 of your code: tabs and spaces are mixed before it."),
        (RecursionError("too deep"), "Your function calls itself without end."),
        (Exception("RangeError: Maximum call stack size exceeded"), "Your function calls itself without end."),
        (ModuleNotFoundError("No module named 'torch'", name="torch"), "There is no module torch here. All that"),
        (ModuleNotFoundError("nothing more is known"), "There is no module of that name here."),
        (ImportError("cannot import name 'gelu' from 'math'", name="math"), "An import failed. Of what can"),
        (MemoryError(), "more memory than there is. Look for a list that is huge, or that grows without end."),
        (OverflowError("math range error"), "as 1000 is for exp, or 10**20 for the length of a list."),
        (IndexError("list index out of range"), "beyond the end of a list. Check each index"),
        (NotImplementedError(), "The function is yet to be written"),
        (KeyError("k"), "The last line of the traceback says which."),
    ],
)  # fmt: skip
def test_what_code_raises_has_a_sentence_that_helps(error, says):
    assert says in raised(error)


def test_an_error_that_cannot_be_written_has_one_too():
    class Sly(Exception):
        def __str__(self):
            raise RuntimeError

    assert raised(Sly()).startswith(CODES["error"])


def test_every_mistake_in_a_sheet_has_a_known_code_and_moves_a_number_of_some_case():
    for of in EVERY:
        sheet = sheet_of(of.exercise)
        for name, mistake in sheet["mistakes"].items():
            assert mistake["code"] in CODES
            for case in sheet["cases"]:
                assert name in case["wrong"]
            # Else a right solution would be the mistake, or the mistake could not be seen.
            assert any(
                values is None or not np.allclose(values, flat(case["expected"]), rtol=1e-6, atol=1e-6)
                for case in sheet["cases"]
                for values in case["wrong"][name]
            ), (of.exercise, name)


def flat(expected):
    if not isinstance(expected, list):
        return [expected]
    return [number for entry in expected for number in flat(entry)]


# What is right, from the cases and by hand


def case(exercise, name):
    return next(case for case in sheet_of(exercise)["cases"] if case["name"] == name)


def test_the_lessons_two_memories_give_0_and_2():
    memories = case("ffn-forward", "the lesson's two memories")
    assert memories["args"] == [[1, -1], [1, 1, 1, -1], [0, 0], [1, 0, 0, 1], [0, 0], 2, 2]
    assert memories["expected"] == [0, 2]


def test_an_output_goes_down_as_in_case_s10():
    down = case("ffn-forward", "the output goes down")
    assert down["args"] == [[1, -1], [1, 0, 0, 1], [0, 0], [-1, 2, 1, 1], [0, 0], 2, 2]
    assert down["expected"] == [-1, 1]
    assert [0, 0] in down["wrong"]["activation-last"]


def test_where_every_hidden_value_is_negative_the_output_is_b2():
    silent = case("ffn-forward", "every hidden value is negative")
    assert silent["expected"] == silent["args"][4] == [0.3, -0.4, 1]


def test_the_numbers_of_the_known_cases_are_expected():
    assert case("gelu", "gelu(1)")["expected"] == pytest.approx(0.841344746069, abs=1e-12)  # N1
    assert case("gelu", "gelu(-3)")["expected"] == pytest.approx(-0.004049694095, abs=1e-12)
    assert case("gelu", "gelu(2.7)")["expected"] == pytest.approx(8.071918 / 3, abs=1e-6)  # S6
    assert case("gated-ffn", "a gate of 1 and an up of -2")["expected"][0] == pytest.approx(
        -1.462117, abs=1e-6
    )  # S4
    assert case("top-2", "four experts")["expected"] == pytest.approx(
        [0.731059, 0.268941, 0, 0], abs=1e-6
    )  # S8
    [shares] = case("top-2", "four experts")["wrong"]["not-renormalized"]
    assert shares == pytest.approx([0.643914, 0.236883, 0, 0], abs=1e-6)


@pytest.mark.parametrize("exercise", ["ffn-forward", "ffn-forward-gelu"])
def test_the_cases_are_of_every_kind(exercise):
    cases = sheet_of(exercise)["cases"]
    shapes = {(case["args"][5], case["args"][6]) for case in cases}
    assert any(d < h for d, h in shapes)
    assert any(d > h for d, h in shapes)
    assert any(d == h > 1 for d, h in shapes)
    assert (1, 1) in shapes
    assert any(min(case["expected"]) < -0.1 for case in cases)
    assert all(case["square"] == (case["args"][5] == case["args"][6]) for case in cases)


def test_the_kept_back_cases_come_from_the_seed_and_the_others_do_not():
    one, same, other = (exercise_called("ffn-forward").sheet(seed)["cases"] for seed in (3, 3, 4))
    assert one == same
    for a, b in zip(one, other, strict=True):
        assert (a["args"] == b["args"]) == a["shown"]


# What a function may return


FORWARD = sheet_of("ffn-forward")
right = dense.FORWARD.right_ones[0]


def answering(change):
    return mark(lambda *args: change(right(*args)), FORWARD)


def test_arrays_and_scalars_of_numpy_are_numbers():
    assert answering(np.array)["passed"]
    assert answering(lambda output: list(np.array(output)))["passed"]
    assert answering(lambda output: np.array([output]))["diagnosis"] == "nested"


def test_whole_numbers_and_minus_zero_are_what_they_equal():
    assert answering(lambda output: [-0.0 if y == 0 else y for y in output])["passed"]
    assert answering(lambda output: [int(y) if y == int(y) else y for y in output])["passed"]


@pytest.mark.parametrize("value", [True, "1", None, 1j, {}, {1}, b"1", object()])
def test_what_is_no_number_is_refused(value):
    assert not answering(lambda output: [value] * len(output))["passed"]
    assert not answering(lambda output: value)["passed"]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400])
def test_numbers_that_are_not_finite_are_refused_in_any_place(value):
    verdict = answering(lambda output: [*output[:-1], value])
    assert verdict["diagnosis"] == "non-finite"
    json.dumps(verdict, allow_nan=False)


def test_rounding_passes_and_the_tanh_form_does_not():
    assert answering(lambda output: [y * (1 + 1e-9) for y in output])["passed"]
    assert answering(lambda output: [float(np.float32(y)) for y in output])["passed"]
    assert not answering(lambda output: [y + 1e-5 for y in output])["passed"]
    assert not answering(lambda output: [y - 1e-5 for y in output])["passed"], "two-sided"


def test_true_is_no_1():
    assert 1 in case("ffn-forward", "the output goes down")["expected"]
    assert answering(lambda output: [y == 1 or y for y in output])["diagnosis"] == "wrong-values"


def test_an_index_error_alone_is_not_taken_for_a_wrong_stride():
    def stops_where_there_are_few_neurons(x, *rest):
        d_model, d_ff = rest[-2:]
        return right(x, *rest) if d_ff >= d_model else x[d_model]

    assert mark(stops_where_there_are_few_neurons, FORWARD)["diagnosis"] == "error"


def test_of_mistakes_that_fit_alike_the_first_is_said_and_before_it_the_one_that_fits_more_cases():
    def sheet(*wrong):
        cases = [
            {"name": "1", "args": [1.0], "expected": 1.0, "wrong": dict(zip("abc", wrong, strict=True))},
            {
                "name": "2",
                "args": [2.0],
                "expected": 2.0,
                "wrong": {"a": [[3.0]], "b": [[3.0]], "c": [[3.0]]},
            },
        ]
        return FORWARD | {
            "mistakes": {name: {"code": "stride", "message": name} for name in "abc"},
            "cases": [case | {"shown": True, "square": None} for case in cases],
        }

    def seldom_wrong(x):
        return 3.0 if x == 2 else x

    assert mark(seldom_wrong, sheet([[1.0]], [[1.0]], [[1.0]]))["message"] == "a"
    assert mark(seldom_wrong, sheet([[7.0]], [[1.0]], [[1.0]]))["message"] == "b"
    assert mark(seldom_wrong, sheet([[7.0]], [[7.0]], [[7.0], [1.0]]))["message"] == "c"


def test_the_first_case_that_shows_the_mistake_is_reported_with_its_numbers():
    verdict = mark(dense.FORWARD.wrong_ones[0].function, FORWARD)
    assert (verdict["case"], verdict["where"]) == ("two inputs, three neurons", "result[1]")
    assert (verdict["got"], verdict["expected"]) == ("[2.1, 3.8]", "[2.1, 0.8]")
    assert 0 < verdict["n_passed"] < verdict["n_cases"] == len(FORWARD["cases"])


def test_a_gradient_is_named_where_it_differs():
    def dw1_wrong(*args):
        dx, dw1, *others_ = others.backward_step_by_step(*args)
        return dx, [*dw1[:-1], dw1[-1] + 1], *others_

    assert mark(dw1_wrong, sheet_of("ffn-backward"))["where"] == "dW1[5]"


def test_what_cannot_be_called_is_an_error_that_names_the_signature():
    for nothing in (None, 3):
        verdict = mark(nothing, FORWARD)
        assert verdict["diagnosis"] == "error"
        assert "ffn_forward(x, W1, b1, W2, b2, D, H)" in verdict["message"]


def test_every_case_gets_lists_of_its_own():
    seen = []

    def hoarding(x, W1, *others_):
        seen.append(W1)
        return right(x, W1, *others_)

    assert mark(hoarding, FORWARD)["passed"]
    for given in seen:
        given.clear()
    assert mark(right, FORWARD)["passed"]


def test_what_was_raised_is_traced_while_it_is_handled():
    verdict = mark(lambda *args: 1 / 0, FORWARD, lambda error: f"traced {error}")
    assert verdict["traceback"] == "traced division by zero"
    assert verdict["got"] == "ZeroDivisionError: division by zero"


def test_a_result_that_cannot_even_be_written_is_refused():
    class Sly:
        def __repr__(self):
            raise RuntimeError

    assert answering(lambda output: Sly())["diagnosis"] == "wrong-values"


def test_a_huge_result_is_shown_in_part():
    verdict = answering(lambda output: [1.0] * 1_000_000)
    assert verdict["diagnosis"] == "wrong-length"
    assert len(verdict["got"]) < 500


def test_a_refusal_from_outside_looks_like_any_other():
    timeout = refusal("timeout", None, FORWARD)
    assert timeout.keys() == mark(right, FORWARD).keys()
    assert timeout["message"] == CODES["timeout"]
