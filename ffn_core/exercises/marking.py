"""Marks a solution: what went wrong, and not only that it did.

This text runs twice: here, and in the student's own browser under a Python that is written in JavaScript. So it is
plain Python without a single import, and knows nothing of the network: what is right, and what each known mistake
would give, come in the sheet, a JSON object that `ffn_core.exercises` computes.

A sheet of a code exercise:

    function, signature    the name to define, and how it is called
    tolerance              how far a number may be off, absolute and relative
    parts                  the names of the lists to return, None where one list (or one number) is returned
    lengths                what is said of the lists' lengths to code that is right only where d_ff = d_model
    mistakes               {name: {"code": one of CODES, "message": a sentence}}
    cases                  [{"name", "args", "expected", "square", "shown", "wrong"}]; `square` is None where
                           d_ff and d_model have no part, `wrong` is {name of a mistake: alternatives}, each
                           the numbers that it gives in a row, or None for reading beyond the end of a list

A task of a number exercise:

    answer, tolerance      the number, and how far the typed one may be off
    decimals               how many are asked for; with 0 the thousands may be set apart
    mistakes               [{"value", "code", "message"}]
    otherwise              a sentence on any other number
"""

CODES = {
    "error": "Your code stopped with an error.",
    "returned-none": "Your function returned None. Printing a result does not hand it back: end with return.",
    "mutates-input": "Your function changed a list that it was given. The caller still needs it: build a new list.",
    "nested": "The result is a list of lists. Return the numbers in one flat list.",
    "wrong-length": "The result does not have the right number of entries.",
    "non-finite": "The result has a number that is infinite or NaN (not a number).",
    "stride": "A row was read from the wrong place in its flat list.",
    "transposed": "A matrix was read with its rows and columns exchanged.",
    "missing-bias": "A bias was left out.",
    "wrong-activation": "The nonlinearity is not the one asked for, or not where it belongs.",
    "gelu-form": "This is another form of GELU.",
    "clamped-output": "The output went through the nonlinearity. It belongs between the two matrices only.",
    "only-square": "It is right where d_ff = d_model and wrong wherever they differ.",
    "timeout": "Your code was stopped because it took too long. Look for a loop that never ends.",
    "wrong-values": "The numbers are not right.",
}
"""Every diagnosis, with the sentence that is said where there is no better one."""

_BEYOND = "error: index"  # an IndexError, which a wrong stride explains
_IN_ORDER = ("error", "returned-none", "mutates-input", "nested", "non-finite")


def mark(function, sheet, traced=None):
    """Call `function` on copies of every case's args, and say what came of it.

    `traced(error)`, if given, makes the traceback's text of what the function raised, while that is being handled.
    Returns a dict for JSON: passed, diagnosis (one of CODES, None if passed), message, the case that shows it, where
    in the result, got and expected as text, n_passed, n_cases, and the traceback, None where nothing was raised.
    """
    if not callable(function):
        return refusal("error", "Your code does not define the function " + sheet["signature"] + ".", sheet)
    outcomes = [_outcome(function, case, sheet, traced) for case in sheet["cases"]]
    failed = [outcome for outcome in outcomes if outcome["kind"]]
    if not failed:
        text = "All " + str(len(outcomes)) + " cases are right."
        return _verdict(None, text, None, outcomes)
    only_square = _only_square(outcomes)
    for code in _IN_ORDER:
        for outcome in failed:
            if outcome["kind"] == code and not (code == "error" and only_square):
                return _verdict(code, outcome["message"], outcome, outcomes)
    shown = _first(failed, lambda outcome: outcome["case"]["shown"])
    mistake = _explaining(outcomes, sheet)
    if mistake is not None:
        by_numbers = _first(failed, lambda outcome: outcome["kind"] == "wrong-values")
        example = shown if shown["kind"] == "wrong-values" else by_numbers
        return _verdict(mistake["code"], mistake["message"], example, outcomes)
    decimals = _rounded(failed)
    if decimals is not None:
        text = (
            "The numbers are rounded to "
            + _count(decimals, "decimal")
            + ". Return them as they are: do not round."
        )
        return _verdict("wrong-values", text, shown, outcomes)
    if only_square:
        return _verdict("only-square", CODES["only-square"] + " " + sheet["lengths"], shown, outcomes)
    for code in ("wrong-length", _BEYOND):
        for outcome in failed:
            if outcome["kind"] == code:
                return _verdict(code.partition(":")[0], outcome["message"], outcome, outcomes)
    return _verdict("wrong-values", shown["message"], shown, outcomes)


def refusal(code, message, sheet, traceback=None):
    """The verdict on code that could not be called at all, as `mark` gives it; message None is the code's own."""
    return {
        "passed": False,
        "diagnosis": code,
        "message": message or CODES[code],
        "case": None,
        "where": None,
        "got": None,
        "expected": None,
        "n_passed": 0,
        "n_cases": len(sheet["cases"]),
        "traceback": traceback,
    }


def raised(error):
    """A sentence that helps with what the student's code raised, be it while it was read or while it ran."""
    if isinstance(error, SyntaxError):
        return _unreadable(error)
    if isinstance(error, ModuleNotFoundError):
        name = getattr(error, "name", None) or "of that name"
        return (
            "There is no module "
            + str(name)
            + " here. All that is needed is math, and what Python has without an import."
        )
    if isinstance(error, ImportError):
        return "An import failed. Of what can be imported only math is needed here: write `import math`."
    if isinstance(error, SystemExit):
        return "Your code ended the program. Return the result instead."
    if isinstance(error, EOFError):
        return "Your code waits for input(). All that it needs is in the arguments."
    if isinstance(error, MemoryError):
        return "Your code needs more memory than there is. Look for a list that is huge, or that grows without end."
    if isinstance(error, RecursionError) or "call stack size exceeded" in _text(
        str, error
    ):  # as a browser says it
        return "Your function calls itself without end."
    if isinstance(error, NotImplementedError):
        return "The function is yet to be written: it raises NotImplementedError."
    if isinstance(error, OverflowError):
        return (
            "A number is too large for what is done with it, as 1000 is for exp, or 10**20 for the length of a list. In a "
            "softmax, subtract the greatest logit from all before exp."
        )
    if isinstance(error, IndexError):
        return "Your code reads beyond the end of a list. Check each index: in a flat list, where its row starts."
    return CODES["error"] + " The last line of the traceback says which."


def _unreadable(error):
    line = getattr(error, "lineno", None)
    where = "your code" if line is None else "line " + str(line) + " of your code"
    if isinstance(error, TabError):
        why = "tabs and spaces are mixed before it. Indent with spaces only"
    elif isinstance(error, IndentationError) and "expected an indented block" in str(
        getattr(error, "msg", "")
    ):
        why = "the indented lines that belong before it are missing"
    elif isinstance(error, IndentationError):
        why = "it is indented otherwise than it should be. The lines of one block begin with equally many spaces"
    else:
        why = str(getattr(error, "msg", None) or "it is not Python").rstrip(".")
    return "Python cannot read " + where + ": " + why + "."


def mark_number(task, text):
    """Mark the number that `text` spells against a number exercise's task.

    Returns a dict for JSON: passed, diagnosis (one of CODES, None if passed) and message.
    """
    number, problem = _spelled(text if task["decimals"] else _without_separators(text))
    if problem is not None:
        return _number_verdict("error", problem)
    if not _finite(number):
        return _number_verdict("non-finite", "The answer is a finite number.")
    answer, near = task["answer"], task["tolerance"]
    if abs(number - answer) <= near:
        return {"passed": True, "diagnosis": None, "message": "Right."}
    for mistake in task["mistakes"]:
        if abs(number - mistake["value"]) <= near:
            return _number_verdict(mistake["code"], mistake["message"])
    if abs(number + answer) <= near:
        return _number_verdict("wrong-values", "The sign is wrong: check each minus.")
    for shift in (10, 100, 1000):
        if abs(number - answer * shift) <= near * shift or abs(number - answer / shift) <= near / shift:
            return _number_verdict("wrong-values", "The digits are right, the decimal point is not.")
    if abs(number - answer) <= 20 * near:
        return _number_verdict(
            "wrong-values", "Close. Keep more digits on the way, and round only at the end."
        )
    return _number_verdict("wrong-values", "This is not the number. " + task["otherwise"])


_SIGNS = {"\u2212": "-", "\u2012": "-", "\u2013": "-", ",": "."}


def _number_verdict(code, message):
    return {"passed": False, "diagnosis": code, "message": message}


def _without_separators(text):
    """A whole number without what sets its thousands apart: 25,368 and 25.368, 25 368 and 25'368 are 25368.

    A point or comma before three digits is taken for that, and no decimal one: no fraction is asked for.
    """
    text = text.strip()
    for separator in (",", ".", "'", "\u2019", None):  # None are spaces of all kinds
        head, groups = text.split(separator)[:1], text.split(separator)[1:]
        first = "".join(head).lstrip("+-\u2212\u2012\u2013")
        of_three = all(len(group) == 3 and group.isdigit() for group in groups)
        if groups and of_three and first.isdigit() and len(first) <= 3 and first[0] != "0":
            return "".join(head + groups)
    return text


def _spelled(text):
    """(the number, None), or (None, what is wrong with the text)."""
    text = "".join(_SIGNS.get(character, character) for character in text.strip())
    if not text:
        return None, "There is no number yet. Write one such as 0.43 or -2."
    if len(text) <= 40 and text.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        return float("nan"), None
    plain = all(character in "+-.eE0123456789" for character in text)
    try:
        if plain and len(text) <= 40:
            return float(text), None
    except ValueError:
        pass
    return None, "This is not a number. Write one such as 0.43 or -2, without a unit or a sum."


def _outcome(function, case, sheet, traced):
    """What came of one case: kind is "" where it is right, else a code, and numbers the result's, in a row."""
    given = _copy(case["args"])
    outcome = {"kind": "", "case": case, "message": None, "numbers": None, "got": None, "where": None}
    outcome["traceback"] = None
    try:
        result = function(*given)
    except BaseException as error:  # sys.exit() and the like end the marking no more than an Exception
        outcome["kind"] = _BEYOND if isinstance(error, IndexError) else "error"
        outcome["message"] = raised(error)
        outcome["got"] = _name_of(error) + ": " + _text(str, error)
        outcome["traceback"] = None if traced is None else traced(error)
        return outcome
    outcome["got"] = _shown(result)
    if result is None:
        return _failing(outcome, "returned-none", CODES["returned-none"])
    if not _same(given, case["args"]):
        return _failing(outcome, "mutates-input", _mutated(given, case["args"], sheet))
    code, message, numbers = _read(result, case["expected"], sheet["parts"])
    if code:
        return _failing(outcome, code, message)
    outcome["numbers"] = numbers
    expected = _in_a_row(case["expected"])
    off = [i for i in range(len(expected)) if not _near(numbers[i], expected[i], sheet["tolerance"])]
    if not off:
        return outcome
    outcome["where"] = _place(off[0], case["expected"], sheet["parts"])
    nearly = all(_near(numbers[i], expected[i], 1e-3) for i in off)
    advice = " They are close: do not round on the way." if nearly else ""
    return _failing(outcome, "wrong-values", CODES["wrong-values"] + advice)


def _failing(outcome, code, message):
    outcome["kind"], outcome["message"] = code, message
    return outcome


def _verdict(code, message, outcome, outcomes):
    verdict = {
        "passed": code is None,
        "diagnosis": code,
        "message": message,
        "case": None,
        "where": None,
        "got": None,
        "expected": None,
        "n_passed": len([each for each in outcomes if not each["kind"]]),
        "n_cases": len(outcomes),
        "traceback": None,
    }
    if outcome is not None:
        verdict["case"] = outcome["case"]["name"]
        verdict["expected"] = _shown(outcome["case"]["expected"])
        for key in ("where", "got", "traceback"):
            verdict[key] = outcome[key]
    return verdict


def _explaining(outcomes, sheet):
    """The mistake that gives what every failing case gave, and of such the one that fits most cases; None if none."""
    best, most = None, 0
    for name in sheet["mistakes"]:
        fits = [_fits(outcome, outcome["case"]["wrong"][name], sheet["tolerance"]) for outcome in outcomes]
        failing = [(outcome, fit) for outcome, fit in zip(outcomes, fits, strict=True) if outcome["kind"]]
        seen = [outcome for outcome, _ in failing if outcome["numbers"] is not None]
        # An IndexError alone says too little: some numbers must fit as well.
        if seen and all(fit for _, fit in failing) and fits.count(True) > most:
            best, most = sheet["mistakes"][name], fits.count(True)
    return best


def _fits(outcome, alternatives, tolerance):
    """Whether the outcome is one of what a mistake gives."""
    got = outcome["numbers"]
    if got is None:
        return outcome["kind"] == _BEYOND and None in alternatives
    return any(
        values is not None
        and len(values) == len(got)
        and all(_near(number, value, tolerance) for number, value in zip(got, values, strict=True))
        for values in alternatives
    )


def _rounded(failed):
    """To how many decimals, 1 to 6, all that failed is rounded, and right but for that; None if it is not."""
    for decimals in range(1, 7):
        if all(_rounds(outcome, 10.0**decimals) for outcome in failed):
            return decimals
    return None


def _rounds(outcome, unit):
    """Whether every number is a whole number of `unit`ths, and the nearest to what was expected."""
    if outcome["numbers"] is None:
        return False
    pairs = zip(outcome["numbers"], _in_a_row(outcome["case"]["expected"]), strict=True)
    return all(
        abs(got * unit - round(got * unit)) < 1e-6 and abs(got - right) * unit < 0.5 + 1e-6
        for got, right in pairs
    )


def _only_square(outcomes):
    """Whether all square cases are right and all others fail, by their numbers or an error, and not just by length."""
    square = [outcome["kind"] for outcome in outcomes if outcome["case"]["square"] is True]
    others = [outcome["kind"] for outcome in outcomes if outcome["case"]["square"] is False]
    failing = ("error", _BEYOND, "wrong-length", "wrong-values")
    if not square or not others or any(square) or not all(kind in failing for kind in others):
        return False
    return any(kind != "wrong-length" for kind in others)


def _read(result, expected, parts):
    """(code, sentence, None) for a result that has not the form of `expected`, else ("", "", its numbers in a row)."""
    if parts is None:
        return _read_one(result, expected, "The result")
    wanted = str(len(parts)) + " lists: " + ", ".join(parts)
    if not isinstance(result, (list, tuple)):
        return "wrong-length", "Return " + wanted + ". The result is " + _kind_of(result) + ".", None
    if len(result) != len(parts):
        return "wrong-length", "Return " + wanted + ". The result has " + str(len(result)) + " entries.", None
    every, problems = [], {}
    for name, part, numbers in zip(parts, result, expected, strict=True):
        if part is None:
            return "returned-none", name + " is None. Return a list of numbers for it.", None
        code, message, found = _read_one(part, numbers, name)
        if code and code not in problems:
            problems[code] = message
        every += found or []
    for code in ("nested", "wrong-length", "non-finite", "wrong-values"):
        if code in problems:
            return code, problems[code], None
    return "", "", every


def _read_one(result, expected, name):
    """The same for one list of numbers, or for one number."""
    if hasattr(result, "tolist"):  # an array of NumPy, which offline solutions may use
        result = result.tolist()
    if not isinstance(expected, list):
        if isinstance(result, (list, tuple)):
            return "nested", name + " is " + _kind_of(result) + ". Return the number itself.", None
        return _read_one([result], [expected], name)
    if isinstance(result, (int, float)) and not isinstance(result, bool):
        return (
            "wrong-length",
            name + " is one number. Return a list of " + _entries(len(expected)) + ".",
            None,
        )
    if not isinstance(result, (list, tuple)):
        return "wrong-values", name + " is " + _kind_of(result) + ". Return a list of numbers.", None
    if any(hasattr(entry, "__len__") and not isinstance(entry, (str, bytes)) for entry in result):
        return "nested", name + " has lists inside. Return the numbers in one flat list.", None
    if len(result) != len(expected):
        text = name + " has " + _entries(len(result)) + ", and should have " + str(len(expected)) + "."
        return "wrong-length", text, None
    numbers = []
    for i in range(len(result)):
        number = _number(result[i])
        if number is None:
            where = name if len(expected) == 1 else name + ", entry " + str(i) + ","
            return "wrong-values", where + " is " + _kind_of(result[i]) + ", not a number.", None
        numbers.append(number)
    if not all(_finite(number) for number in numbers):
        return "non-finite", name + " has a number that is infinite or NaN (not a number).", None
    return "", "", numbers


def _number(value):
    """`value` as a float, None where it is no number; True and "1" are none."""
    if value is None or isinstance(value, (bool, str, bytes, complex)):
        return None
    try:
        return float(value)
    except OverflowError:  # an integer beyond all floats
        return float("inf")
    except Exception:
        return None


def _near(got, expected, tolerance):
    return abs(got - expected) <= tolerance * (1 + abs(expected))


def _finite(number):
    return number - number == 0  # inf - inf and all with NaN is NaN


def _in_a_row(expected):
    if not isinstance(expected, list):
        return [expected]
    row = []
    for entry in expected:
        row += _in_a_row(entry)
    return row


def _place(at, expected, parts):
    """Where entry `at` of the numbers in a row stands in the result: result[2], dW1[5]."""
    if not isinstance(expected, list):
        return "result"
    if parts is None:
        return "result[" + str(at) + "]"
    for name, numbers in zip(parts, expected, strict=True):
        if at < len(numbers):
            return name + "[" + str(at) + "]"
        at -= len(numbers)
    return None


def _copy(value):
    return [_copy(entry) for entry in value] if isinstance(value, list) else value


def _same(one, other):
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    return isinstance(one, list) == isinstance(other, list) and one == other


def _mutated(given, args, sheet):
    names = sheet["signature"].partition("(")[2].rstrip(")").split(", ")
    changed = [names[i] for i in range(len(args)) if not _same(given[i], args[i])]
    text = "Your function changed " + " and ".join(changed) + ", which the caller still needs."
    return text + " Build a new list instead."


def _name_of(error):
    return type(error).__name__


def _kind_of(value):
    name = type(value).__name__
    if name in ("generator", "map", "filter", "zip", "range", "set", "dict_values"):
        return "a " + name + " (list(...) makes a list of it)"
    return {"NoneType": "None", "str": "text", "bool": "True or False", "int": "an integer"}.get(
        name, "a " + name
    )


def _entries(n):
    return _count(n, "number")


def _count(n, what):
    return "1 " + what if n == 1 else str(n) + " " + what + "s"


def _shown(value):
    """`value` as text of bounded length, numbers in six digits."""
    if isinstance(value, (list, tuple)):
        written = [_shown(entry) for entry in value[:40]] + (["..."] if len(value) > 40 else [])
        text = "[" + ", ".join(written) + "]"
    elif isinstance(value, float):
        text = "%.6g" % (value + 0.0)  # + 0.0 makes -0.0 a plain 0
    else:
        text = _text(repr, value)
    return text if len(text) <= 400 else text[:399] + "\u2026"


def _text(write, value):
    try:
        return write(value)[:400]
    except Exception:  # a student's own class may fail to write itself
        return "a " + type(value).__name__


def _first(outcomes, holds):
    """The first that `holds`, else the first of all."""
    for outcome in outcomes:
        if holds(outcome):
            return outcome
    return outcomes[0]
