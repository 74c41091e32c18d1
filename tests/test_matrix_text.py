"""People type and paste numbers in many ways; what they meant is read, and what is unclear is refused."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ffn_core.matrix_text import (
    MAX_CELLS,
    MAX_TEXT,
    SEPARATORS,
    MatrixTextError,
    format_matrix,
    full_number,
    parse_matrix,
    parse_number,
    short_number,
    significant,
)
from tests.number_cases import NUMBER_CASES, SHORT_CASES

repeatable = settings(derandomize=True, deadline=None, max_examples=200)
finite = st.floats(min_value=-1e30, max_value=1e30)


def refusal(text: str, separator: str | None = None) -> MatrixTextError:
    with pytest.raises(MatrixTextError) as caught:
        parse_matrix(text, separator)
    return caught.value


# One number


@pytest.mark.parametrize(("text", "value"), [case for case in NUMBER_CASES if case[1] is not None])
def test_a_typed_number_is_read(text, value):
    assert struct.pack("d", parse_number(text)) == struct.pack("d", value)


@pytest.mark.parametrize("text", [text for text, value in NUMBER_CASES if value is None])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(ValueError, match=r"^the number (is|must) "):
        parse_number(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ("nan", "must be a finite number, got 'nan'"),
        ("−inf", "must be a finite number, got '−inf'"),
        ("1e400", "must lie between -1e30 and 1e30, got '1e400'"),
        ("1,234.5", "must have one point or one comma, got '1,234.5'"),
        ("abc", "is not a number: 'abc'"),
        ("9" * 1000, "at most 40 characters, got '999999999999999…'"),
    ],
)
def test_a_refusal_says_the_reason_and_quotes_no_more_than_a_prefix(text, reason):
    with pytest.raises(ValueError, match=reason) as caught:
        parse_number(text)
    assert len(str(caught.value)) < 120


def test_the_cases_are_many_and_of_both_kinds():
    assert len(NUMBER_CASES) >= 60
    assert len({text for text, _ in NUMBER_CASES}) == len(NUMBER_CASES)
    assert sum(value is None for _, value in NUMBER_CASES) >= 30


@given(st.text(max_size=50))
@repeatable
def test_any_text_is_a_finite_number_or_a_clear_refusal(text):
    try:
        value = parse_number(text)
    except ValueError:
        return
    assert abs(value) <= 1e30


# Showing a number


@pytest.mark.parametrize(("value", "text"), SHORT_CASES)
def test_a_short_number_keeps_three_true_digits(value, text):
    assert short_number(value) == text


@given(finite)
@repeatable
def test_a_short_number_is_within_half_a_unit_of_its_third_digit(value):
    shown = parse_number(short_number(value))
    assert math.isclose(shown, value, rel_tol=0.00501, abs_tol=1e-323)


@given(finite)
@repeatable
def test_a_full_number_reads_back_exactly(value):
    assert parse_number(full_number(value)) == value
    assert "-" not in full_number(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.0, "2"), (-0.1, "−0.1"), (0.1 + 0.2, "0.30000000000000004"), (-1e-5, "−1e−5"), (1e16, "1e16")],
)
def test_a_full_number_is_the_shortest_that_does(value, text):
    assert full_number(value) == text


# Matrices, as they come from other programs

SQUARE = [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "text",
    [
        "1\t2\n3\t4",
        "1\t2\n3\t4\n",  # one newline at the end is no row
        "1\t2\r\n3\t4\r\n",
        "1\t2\r3\t4",
        "\ufeff1\t2\n3\t4",
        '"1"\t"2"\n"3"\t"4"',
        "1;2\n3;4",
        "1; 2\n3; 4",
        "1 2\n3 4",
        "  1   2 \n 3   4",
        "1, 2\n3, 4",
        "1.0,2\n3,4",
        "[[1, 2], [3, 4]]",
        "[[1,2],[3,4]]",
        "[[1, 2], [3, 4],]",
        "\ufeff[[1, 2], [3, 4]]",
        "[[1., 2.],\n [3., 4.]]\n",
        "[[1. 2.]\n [3. 4.]]",
        "array([[1., 2.],\n       [3., 4.]])",
        "np.array([[1., 2.], [3., 4.]], dtype=float32)",
        "W_1 = [\n[1, 2], # 2 rows\n[3, 4],\n] # Shape: (2, 2)",
    ],
)
def test_the_same_matrix_is_read_from_each_program(text):
    np.testing.assert_array_equal(parse_matrix(text), SQUARE)


def test_a_matrix_is_float64_with_a_row_for_each_line():
    matrix = parse_matrix("1\t2\t3\n4\t5\t6")
    assert matrix.dtype == np.float64
    assert matrix.shape == (2, 3)


def test_decimal_commas_are_never_dropped():
    # Case M1: never 14 and 35.
    np.testing.assert_array_equal(parse_matrix("1,4\t3,5\n5,0\t2"), [[1.4, 3.5], [5, 2]])


@pytest.mark.parametrize(
    ("text", "matrix"),
    [
        ("1,5 2,5\n3,5 4", [[1.5, 2.5], [3.5, 4]]),
        ("1,5; 2", [[1.5, 2]]),
        ('"1,5","2,5"', [[1.5, 2.5]]),
        ('"1,5"\t2', [[1.5, 2]]),
        ('1,"2,5"', [[1, 2.5]]),
        ('"1,5"\n"2,5"', [[1.5], [2.5]]),
        ("1,2,3", [[1, 2, 3]]),
        ("0.1,0.2", [[0.1, 0.2]]),
        ("1,-4", [[1, -4]]),
        ("1,−4", [[1, -4]]),
        ("1, 4", [[1, 4]]),
        (".5,.25", [[0.5, 0.25]]),
    ],
)
def test_a_comma_is_read_as_what_stands_around_it_says(text, matrix):
    np.testing.assert_array_equal(parse_matrix(text), matrix)


@pytest.mark.parametrize("text", ["1,4", "1,4\n2,5", "1,4\n2"])
def test_a_comma_that_could_be_either_is_refused_with_the_way_out(text):
    assert "'1,4' can be one number or two; write a point" in str(refusal(text))


def test_a_csv_file_says_what_its_commas_are():
    np.testing.assert_array_equal(parse_matrix("1,4\n2,5", separator=","), [[1, 4], [2, 5]])


def test_an_empty_cell_is_named_and_no_cell_shifts():
    # Case M2. A parser that drops empty cells would move the 10 into a gap, or call the row ragged.
    error = refusal("1\t5\t9\n2\t6\t\n3\t7\t10")
    assert "row 2, column 3 is empty" in str(error)
    assert (error.row, error.column) == (2, 3)


@pytest.mark.parametrize("text", ["1\t2\t", "1\t2\t\n3\t4\t", "1.5,2.5,\n3,4,"])
def test_a_separator_at_the_end_of_a_row_promises_a_cell(text):
    assert refusal(text).row == 1
    assert refusal(text).column == 3


def test_a_minus_sign_as_typeset_is_a_minus():
    np.testing.assert_array_equal(parse_matrix("−0.5\t1"), [[-0.5, 1]])  # case M3


@pytest.mark.parametrize("bad", ["nan", "inf", "1e400", "abc", "", "1_0", "1e31"])
@pytest.mark.parametrize("layout", ["1\t2\n3\t{}", "1;2\n3;{}", "[[1, 2], [3, {}]]"])
def test_a_bad_cell_is_named(bad, layout):
    # Case M4. (In brackets, `[3, ]` is a trailing comma: the row is then too short.)
    error = refusal(layout.format(bad))
    assert error.row == 2
    if not (bad == "" and layout.startswith("[")):
        assert error.column == 2
        assert "row 2, column 2 " in str(error)


def test_an_empty_place_in_a_list_is_named():
    error = refusal("[[1, , 2]]")
    assert (error.row, error.column) == (1, 2)


def test_a_thousand_separator_does_not_become_two_cells():
    assert refusal("1\u202f234 5").column == 1


@pytest.mark.parametrize("text", ["1\t2\n3", "1 2\n3", "[[1, 2], [3]]", "1;2\n3;4;5"])
def test_a_row_of_another_length_is_named(text):
    error = refusal(text)
    assert error.row == 2
    assert "as many numbers as the first, 2; row 2 has" in str(error)


@pytest.mark.parametrize("text", ["1 2\n\n3 4", "1\t2\n\n3\t4", "1 2\n\n", "[[1], []]"])
def test_an_empty_row_is_named_unless_it_is_the_newline_at_the_end(text):
    error = refusal(text)
    assert error.row == 2
    assert "row 2 is empty" in str(error)


@pytest.mark.parametrize("text", ["", "\n", "  ", "\ufeff", "[]", "[[]]"])
def test_text_without_numbers_is_refused(text):
    assert "no numbers" in str(refusal(text)) or "row 1 is empty" in str(refusal(text))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 100_000, "brackets two deep"),  # case M5: the third bracket ends it
        ("[[[1]]]", "brackets two deep"),
        ("[1, [2]]", "brackets two deep"),
        ("[[1], 2]", "every row needs its own brackets"),
        ("[[1],, [2]]", "row 2 is missing"),
        ("[[1, 2]", "closing bracket is missing after row 1"),
        ("[[1", "closing bracket is missing"),
        ("[[1]] [[2]]", "nothing may follow the last bracket"),
        ("[[1]])", "nothing may follow the last bracket"),
        ('"1"2"\t3', "row 1 has quotes that do not match"),
    ],
)
def test_broken_lists_get_a_short_and_clear_error(text, reason):
    error = refusal(text)
    assert reason in str(error)
    assert len(str(error)) < 200


def test_a_text_beyond_the_limits_is_refused_before_any_work():
    assert f"{MAX_TEXT:,} characters" in str(refusal("1 " * MAX_TEXT))
    assert f"{MAX_CELLS:,} cells" in str(refusal("x " * (MAX_CELLS + 1)))


def test_an_unknown_separator_is_a_mistake_of_the_caller():
    with pytest.raises(ValueError, match="separator must be one of"):
        parse_matrix("1|2", separator="|")


# And back


@given(
    matrix=hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=finite),
    separator=st.sampled_from(SEPARATORS),
)
@repeatable
def test_a_formatted_matrix_reads_back_bit_for_bit(matrix, separator):
    matrix += 0.0  # -0 reads as 0
    assert parse_matrix(format_matrix(matrix, separator), separator).tobytes() == matrix.tobytes()


def test_a_vector_is_written_as_one_row():
    assert format_matrix([1.0, -0.5]) == "1.0\t-0.5\n"


@given(st.text(alphabet='0123456789.,;-+e[]"# \t\n\r\ufeffa−', max_size=60))
@repeatable
def test_any_text_is_a_finite_matrix_or_a_named_error(text):
    try:
        matrix = parse_matrix(text)
    except MatrixTextError:
        return
    assert matrix.ndim == 2
    assert matrix.size > 0
    assert np.isfinite(matrix).all()


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (-0.17004, 4, "−0.1700"),  # rounded: its zeros say how far it is known
        (0.5, 4, "0.5"),  # exact
        (-0.0, 4, "0"), (100.0, 4, "100"), (1.41421356, 5, "1.4142"), (-2.69894, 6, "−2.69894"),
        (12345.6, 4, "1.235e4"), (1.5e-7, 4, "1.5e−7"), (1.50001e-7, 4, "1.500e−7"), (1234.5678, 4, "1235"),
    ],
)  # fmt: skip
def test_a_rounded_number_keeps_its_zeros_and_an_exact_one_has_none(value, digits, text):
    assert significant(value, digits) == text
