"""The marker of code: every wrong solution gets its own diagnosis, every right one passes, however it is written."""

import json
import math
from functools import cache

import numpy as np
import pytest

from ffn_core.exercises import EXERCISES, CodeExercise
from ffn_core.exercises.marking import CODES, mark, refusal
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
