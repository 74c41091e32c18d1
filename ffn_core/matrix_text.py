"""Text to numbers and matrices, and back.

People type `-0.5`, `.07`, `1e-3`, `1,5` and `−0.5`; they paste rows from spreadsheets, CSV files,
NumPy and JSON. `parse_number` and `parse_matrix` take all of these, guess nothing that could be read in
two ways, and refuse the rest with an error that names the cell. The board's `numbers.js` has the same
grammar and the same display format; tests/number_cases.py holds what both must agree on.
"""

import csv
import math
import re
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np
import numpy.typing as npt

MAX_MAGNITUDE = 1e30  # far beyond any weight, and its square still fits a float64 with room to spare
MAX_NUMBER_LENGTH = 40
MAX_TEXT = 1_000_000
MAX_CELLS = 200_000
SEPARATORS = ("\t", ";", ",", " ")

# What JavaScript's trim() drops; spelled out, because Python's strip() drops a slightly different set.
_SPACES = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_MINUSES = "\u2212\u2012\u2013\ufe63\uff0d"
_SIGN = f"[-+{_MINUSES}]?"
_NUMBER = re.compile(rf"{_SIGN}(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE]{_SIGN}[0-9]+)?")
_GROUPED = re.compile(rf"{_SIGN}[0-9]*(?:[.,][0-9]*){{2,}}")
_NON_FINITE = re.compile(rf"{_SIGN}(?:nan|inf|infinity|∞)", re.IGNORECASE)
_TO_ASCII = str.maketrans(dict.fromkeys(_MINUSES, "-") | {",": "."})

# `[[1, 2], [3, 4]]`, `array([[1., 2.]])` and `W_1 = [[0.1, 0.2]]`, as lessons and consoles print them.
_BRACKETS_BEFORE = re.compile(r"\s*(?:[A-Za-z_]\w*\s*=\s*)?((?:(?:np|numpy)\.)?array\(\s*)?(?=\[)")
_ARRAY_END = re.compile(r"(?:,\s*dtype=[\w.'<>=]+\s*)?\)\s*")
_BRACKET_TOKEN = re.compile(r"#[^\n]*|[\[\],]|[^\[\],\s#]+")


class MatrixTextError(ValueError):
    """Text that is no matrix; `row` and `column` name the cell."""

    def __init__(self, message: str, row: int | None = None, column: int | None = None) -> None:
        """`row` and `column` count from 1; None where the fault is not in one row or one cell."""
        super().__init__(message)
        self.row = row
        self.column = column


def parse_number(text: str) -> float:
    """The finite number that `text` spells, with a point or one comma before the decimals.

    White space around it is dropped, the typographic minus signs count as minus, and -0 becomes 0.
    Raises ValueError for anything else: empty text, words, nan and inf, magnitudes above MAX_MAGNITUDE,
    separators of thousands, and more than MAX_NUMBER_LENGTH characters.
    """
    value, problem = _read_number(text)
    if problem:
        raise ValueError(f"the number {problem}")
    return value


def short_number(value: float) -> str:
    """`value` for a small cell: three significant digits, no trailing zeros, and U+2212 as the minus.

    Fixed point from 1e-4 up to 9999, otherwise `1.23e5`. From 1000 to 9999 all four digits of the integer
    are shown: `1235` is shorter than `1.23e3`, and `1230` would claim a digit that is wrong. Halves round
    away from zero, as JavaScript's toPrecision does, and on the exact binary value: 1.005 is stored as a
    little less than it looks, so it shows as 1.
    """
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "−inf" if value < 0 else "inf"
    sign = "−" if value < 0 else ""
    magnitude = Decimal(abs(float(value)))
    if magnitude == 0:
        return "0"
    if Decimal("999.5") <= magnitude < Decimal("9999.5"):
        return f"{sign}{magnitude.to_integral_value(ROUND_HALF_UP)}"
    rounded = Context(prec=3, rounding=ROUND_HALF_UP).plus(magnitude).normalize()
    if Decimal("1e-4") <= magnitude < 1000:
        return f"{sign}{rounded:f}"
    exponent = rounded.adjusted()
    return f"{sign}{rounded.scaleb(-exponent):f}e{exponent}".replace("-", "−")


def full_number(value: float) -> str:
    """The shortest text that `parse_number` reads back as exactly `value`, with U+2212 as the minus."""
    mantissa, _, exponent = repr(float(value)).partition("e")
    text = mantissa.removesuffix(".0") + (f"e{int(exponent)}" if exponent else "")
    return text.replace("-", "−")


def significant(value: float, digits: int = 4) -> str:
    """`value` in so many significant digits, with U+2212 as the minus.

    A number that was rounded keeps its zeros, `−0.1700`, which say how far it is known; one that needs fewer digits is
    exact without them, `0.5`.
    """
    value = value + 0.0  # which makes -0.0 a plain 0.0
    if float(f"{value:.{digits}g}") == value:
        return full_number(value)
    mantissa, _, exponent = f"{value:#.{digits}g}".partition("e")
    return (mantissa.removesuffix(".") + (f"e{int(exponent)}" if exponent else "")).replace("-", "−")


def parse_matrix(text: str, separator: str | None = None) -> npt.NDArray[np.float64]:
    """The matrix [rows, columns] that `text` spells, one line a row.

    Cells are separated by tabs if there is a tab, else by semicolons if there is one; else by commas where
    these cannot be decimal commas (next to a space or a sign, beside decimal points, several in one word);
    else by spaces, and the commas are decimal commas. `1,4` alone on each line could be one number or two:
    refused, unless `separator` (one of SEPARATORS) says so, as for a .csv file. Cells may stand in double
    quotes. Python, NumPy and JSON lists in brackets are taken too, with commas or spaces between numbers.

    One newline at the end is no row. An empty cell is an error, never skipped: the cells after it would
    shift. Raises MatrixTextError, which names the cell; at most MAX_TEXT characters and MAX_CELLS cells.
    """
    if separator is not None and separator not in SEPARATORS:
        raise ValueError(f"separator must be one of {SEPARATORS} or None, got {_quoted(separator)}")
    if len(text) > MAX_TEXT:
        raise MatrixTextError(
            f"a matrix is read from at most {MAX_TEXT:,} characters, got {len(text):,}; use an .npz file"
        )
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
    if not text.strip(_SPACES):
        raise MatrixTextError("there are no numbers in the text; write one row a line, as in 0.1 0.2")
    if before := _BRACKETS_BEFORE.match(text):
        rows = _bracketed_rows(text, before.end(), in_array=before[1] is not None)
    else:
        rows = _table_rows(text, separator or _guess_separator(text))
    return _matrix(rows)


def format_matrix(array: npt.ArrayLike, separator: str = "\t") -> str:
    """Text that `parse_matrix(text, separator)` reads back bit for bit (-0 as 0); 1-d arrays are one row."""
    rows = np.atleast_2d(np.asarray(array, dtype=np.float64))
    return "".join(separator.join(map(repr, row)) + "\n" for row in rows.tolist())


def _read_number(text: str) -> tuple[float, str]:
    """(the number, "") or (0, what is wrong with it: a phrase that follows the name of the cell)."""
    text = text.strip(_SPACES)
    if not text:
        return 0.0, "is empty; write a number such as 0 or -0.5"
    if len(text) > MAX_NUMBER_LENGTH:
        return 0.0, f"must have at most {MAX_NUMBER_LENGTH} characters, got {_quoted(text)}"
    if _NUMBER.fullmatch(text):
        value = float(text.translate(_TO_ASCII))
        if abs(value) > MAX_MAGNITUDE:
            return 0.0, f"must lie between -1e30 and 1e30, got {_quoted(text)}"
        return value + 0.0, ""  # -0.0 + 0.0 is 0.0
    if _NON_FINITE.fullmatch(text):
        return 0.0, f"must be a finite number, got {_quoted(text)}"
    if _GROUPED.fullmatch(text):
        return 0.0, f"must have one point or one comma, got {_quoted(text)}; write thousands as in 1234.5"
    return 0.0, f"is not a number: {_quoted(text)}; write one like -0.5, .07, 5 or 1e-3"


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 16 else text[:15] + "…")


def _guess_separator(text: str) -> str:
    has_quotes = '"' in text
    outside_quotes = re.sub(r'"[^"\n]*"', "0", text) if has_quotes else text
    for separator in "\t;":
        if separator in outside_quotes:
            return separator
    if has_quotes:  # where a cell has to be quoted, the commas outside the quotes separate
        return ","
    if "," not in text:
        return " "
    words = text.split()
    if "." in text or re.search(r",(?![0-9])|(?<![0-9]),", text) or any(w.count(",") > 1 for w in words):
        return ","
    if all(len(line.split()) == 1 for line in text.split("\n")):
        word = next(word for word in words if "," in word)
        raise MatrixTextError(
            f"{_quoted(word)} can be one number or two; write a point for the decimals (1.5),"
            " or separate the numbers by tabs or semicolons"
        )
    return " "


def _table_rows(text: str, separator: str) -> Iterator[list[str]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if separator == " ":
            # Only the plain space: a no-break space inside a number separates thousands.
            yield re.split(" +", line.strip(" "))
        elif '"' in line:
            try:
                yield next(csv.reader([line], delimiter=separator, skipinitialspace=True, strict=True))
            except csv.Error as error:
                raise MatrixTextError(f"row {number} has quotes that do not match: {error}", number) from None
        else:
            yield line.split(separator)


def _bracketed_rows(text: str, start: int, in_array: bool) -> Iterator[list[str]]:
    """The rows of a list in brackets; a counter holds the depth, so deep nesting costs nothing."""
    tokens = _BRACKET_TOKEN.finditer(text, start)
    row: list[str] = []
    nested: bool | None = None  # whether the rows have brackets of their own; unknown until the second token
    depth = n_rows = 0
    after_comma = True  # whether a number (in a row) or a row (between rows) may be missing here
    for match in tokens:
        token = match[0]
        if token[0] == "#":
            continue
        if nested is None and depth == 1:
            nested = token == "["
        in_row = depth == (2 if nested else 1)
        if token == "[":
            depth += 1
            if depth > 2 or (depth == 2 and not nested):
                raise MatrixTextError(
                    "a matrix has brackets two deep, one pair a row, as in [[1, 2], [3, 4]]", n_rows + 1
                )
            after_comma = True
        elif token == "]":
            depth -= 1
            if in_row:
                n_rows += 1
                yield row
                row = []
            after_comma = False
            if depth == 0:
                rest = re.sub(r"#[^\n]*", "", text[match.end() :]).strip(_SPACES)
                if rest and not (in_array and _ARRAY_END.fullmatch(rest)):
                    raise MatrixTextError(f"nothing may follow the last bracket, got {_quoted(rest)}", n_rows)
                return
        elif token == ",":
            if after_comma:
                if in_row:
                    row.append("")
                else:
                    raise MatrixTextError(f"row {n_rows + 1} is missing between two commas", n_rows + 1)
            after_comma = True
        elif not in_row:
            raise MatrixTextError(
                f"every row needs its own brackets, as in [[1, 2], [3, 4]]; got {_quoted(token)} outside",
                n_rows + 1,
            )
        else:
            row.append(token)
            after_comma = False
    raise MatrixTextError(f"a closing bracket is missing after row {n_rows}", n_rows or None)


def _matrix(rows: Iterator[list[str]]) -> npt.NDArray[np.float64]:
    cells: list[list[str]] = []
    n_cells = 0
    for number, row in enumerate(rows, start=1):
        n_cells += len(row)
        if n_cells > MAX_CELLS:
            raise MatrixTextError(f"a matrix is read from at most {MAX_CELLS:,} cells; use an .npz file")
        if not row or (len(row) == 1 and not row[0].strip(_SPACES)):
            raise MatrixTextError(f"row {number} is empty; leave out the row, or write its numbers", number)
        if cells and len(row) != len(cells[0]):
            raise MatrixTextError(
                f"every row needs as many numbers as the first, {len(cells[0])}; row {number} has {len(row)}",
                number,
            )
        cells.append(row)
    matrix = np.empty((len(cells), len(cells[0])), dtype=np.float64)
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            matrix[i, j], problem = _read_number(cell)
            if problem:
                raise MatrixTextError(f"row {i + 1}, column {j + 1} {problem}", i + 1, j + 1)
    return matrix
