"""A scenario's edits as text short enough for a link, and back.

The text is a row of statements, each closed by `z`, so that a link cut short shows where. It needs no
escaping in a URL. Arrays have one letter (x, w = w1, b = b1, v = w2, c = b2, g = w_gate, h = w_up, d = w_down,
o = router), numbers are the shortest that read back bit for bit, without the 0 before the point:

    w0.2_.5z              w1[0, 2] = 0.5
    w3.0.2_.5z            w1[3, 0, 2] = 0.5, where w1 is a stack of experts' arrays
    w_0z                  every entry of w1 = 0
    W0.2_1_2~3_4z         rows 1 2 and 3 4 pasted into w1 with the corner at [0, 2]
    rw_7z                 w1 randomized with seed 7
    iwz                   w1 = the identity
    m5z  f12z             d_model = 5, d_ff = 12
    e4z k2z               n_experts = 4, top_k = 2
    y0z a1.25z            renormalize = 0, capacity = 1.25
    s3_.5z                the strength of neuron 3 = 0.5
    p1_catz  q1z  n0_az   position 1 inserted with the word "cat"; position 1 removed; position 0 named "a"
    tz ... uz             the statements between are one gesture

In words every byte of UTF-8 but digits and ASCII letters other than z is written -hh. `encode` puts a `p`
before the plain text; or, where that is shorter, a `d` before the text deflated (raw, with a preset
dictionary) and in base64url. Edits here are plain tuples (array, index, value) in the forms of
`ffn_core.scenario.Edit`; whether they fit any array is not known here.
"""

import base64
import re
import zlib
from collections.abc import Iterable
from typing import Any

MAX_EDIT_TEXT = 400_000
"""Characters of edits that `decode` reads, packed or not: a few thousand can unpack to millions."""

# What deflate may refer to before the text has said it; ten edits get a tenth shorter. It is a part of the
# format: links made with another dictionary cannot be read.
_DICTIONARY = "".join(f"z{array}{i}.{j}_-." for array in "vw" for i in range(8) for j in range(8)).encode()

RawEdit = tuple[str, tuple[Any, ...], Any]

_LETTER_OF = {
    "x": "x",
    "w1": "w",
    "b1": "b",
    "w2": "v",
    "b2": "c",
    "w_gate": "g",
    "w_up": "h",
    "w_down": "d",
    "router": "o",
}
_ARRAY_OF = {letter: array for array, letter in _LETTER_OF.items()}
_COUNT_OF = {"m": "d_model", "f": "d_ff", "e": "n_experts", "k": "top_k", "y": "renormalize"}
_POSITION_EDIT_OF = {"p": "insert_position", "q": "remove_position", "n": "word"}
_LETTER_OF_EDIT = {edit: letter for letter, edit in (_COUNT_OF | _POSITION_EDIT_OF).items()}

_INT = r"[0-9]{1,10}"
_NUMBER = r"-?(?:[0-9]{1,20}(?:\.[0-9]{0,24})?|\.[0-9]{1,24})(?:e-?[0-9]{1,3})?"
_PLACE = rf"({_INT}(?:\.{_INT}){{0,2}})?"
_LETTERS = "".join(_ARRAY_OF)
_ENTRY = re.compile(rf"([{_LETTERS}]){_PLACE}_({_NUMBER})")
_BLOCK = re.compile(rf"([{_LETTERS.upper()}]){_PLACE}_({_NUMBER}(?:[_~]{_NUMBER})*)")
_RANDOMIZE = re.compile(rf"r([{_LETTERS}])_({_INT})")
_IDENTITY = re.compile(rf"i([{_LETTERS}])")
_COUNT = re.compile(rf"([{''.join(_COUNT_OF)}])({_INT})")
_CAPACITY = re.compile(rf"a({_NUMBER})")
_STRENGTH = re.compile(rf"s({_INT})_({_NUMBER})")
_POSITION = re.compile(rf"([pn])({_INT})_((?:[A-Za-y0-9]|-[0-9a-f]{{2}})*)|(q)({_INT})")


def plain_text(edits: Iterable[RawEdit]) -> str:
    """The statements of the edits, before packing; `decode` reads at most MAX_EDIT_TEXT of it."""
    return "".join(map(_statement, edits))


def encode(edits: Iterable[RawEdit]) -> str:
    """The edits as the value of a link's `e`; `decode` gives them back, numbers bit for bit."""
    text = plain_text(edits)
    compressor = zlib.compressobj(level=9, wbits=-15, zdict=_DICTIONARY)
    packed = compressor.compress(text.encode("ascii")) + compressor.flush()
    deflated = base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")
    return f"p{text}" if len(text) <= len(deflated) else f"d{deflated}"


def decode(text: str) -> tuple[list[RawEdit], list[str]]:
    """The edits that can be read from `encode`'s text, and a sentence for each loss. Never raises.

    What a damaged text still holds is kept; of a text that is cut short the statement at the cut is lost,
    since half a number is another number.
    """
    plain, losses = _unpack(text)
    *statements, rest = plain.split("z")
    if rest or (not losses and not statements):
        losses.append("The link is cut short: its last edit is lost.")
    edits: list[RawEdit] = []
    gesture: list[RawEdit] | None = None
    for statement in statements:
        if statement == "t":
            if gesture is None:
                gesture = []
                continue
        elif statement == "u":
            if gesture is not None:
                edits.append(("together", (), tuple(gesture)))
                gesture = None
                continue
        elif (edit := _edit(statement)) is not None:
            (edits if gesture is None else gesture).append(edit)
            continue
        losses.append(f"An edit cannot be read: {statement[:20]!r}.")
    if gesture is not None:
        edits.append(("together", (), tuple(gesture)))
        losses.append("The link is cut short within a group of edits: the rest of the group is lost.")
    return edits, losses


def _statement(edit: RawEdit) -> str:
    array, index, value = edit
    if array in _LETTER_OF:
        letter, place = _LETTER_OF[array], ".".join(map(str, index))
        if not isinstance(value, tuple):
            return f"{letter}{place}_{_shortest(value)}z"
        rows = value if isinstance(value[0], tuple) else (value,)
        return f"{letter.upper()}{place}_{'~'.join('_'.join(map(_shortest, row)) for row in rows)}z"
    if array == "together":
        return f"tz{''.join(map(_statement, value))}uz"
    if array == "randomize":
        return f"r{_LETTER_OF[index[0]]}_{value}z"
    if array == "identity":
        return f"i{_LETTER_OF[index[0]]}z"
    if array in _COUNT_OF.values():
        return f"{_LETTER_OF_EDIT[array]}{value}z"
    if array == "capacity":
        return f"a{_shortest(value)}z"
    if array == "strength":
        return f"s{index[0]}_{_shortest(value)}z"
    word = "" if array == "remove_position" else f"_{_escaped(value)}"
    return f"{_LETTER_OF_EDIT[array]}{index[0]}{word}z"


def _edit(statement: str) -> RawEdit | None:
    if match := _ENTRY.fullmatch(statement):
        return _ARRAY_OF[match[1]], _index(match[2]), float(match[3])
    if match := _BLOCK.fullmatch(statement):
        index = _index(match[2])
        rows = tuple(tuple(map(float, row.split("_"))) for row in match[3].split("~"))
        return _ARRAY_OF[match[1].lower()], index, rows[0] if len(index) == 1 and len(rows) == 1 else rows
    if match := _RANDOMIZE.fullmatch(statement):
        return "randomize", (_ARRAY_OF[match[1]],), int(match[2])
    if match := _IDENTITY.fullmatch(statement):
        return "identity", (_ARRAY_OF[match[1]],), 1.0
    if match := _COUNT.fullmatch(statement):
        return _COUNT_OF[match[1]], (), int(match[2])
    if match := _CAPACITY.fullmatch(statement):
        return "capacity", (), float(match[1])
    if match := _STRENGTH.fullmatch(statement):
        return "strength", (int(match[1]),), float(match[2])
    if match := _POSITION.fullmatch(statement):
        if match[4]:
            return "remove_position", (int(match[5]),), ""
        return _POSITION_EDIT_OF[match[1]], (int(match[2]),), _unescaped(match[3])
    return None


def _index(text: str | None) -> tuple[int, ...]:
    return tuple(map(int, text.split("."))) if text else ()


def _shortest(value: float) -> str:
    mantissa, _, exponent = repr(value).partition("e")
    mantissa = mantissa.removesuffix(".0")
    if mantissa.startswith(("0.", "-0.")):
        mantissa = mantissa.replace("0.", ".", 1)
    return mantissa + (f"e{int(exponent)}" if exponent else "")


def _escaped(word: str) -> str:
    return re.sub(rb"[^A-Za-y0-9]", lambda byte: b"-" + byte[0].hex().encode(), word.encode()).decode("ascii")


def _unescaped(text: str) -> str:
    raw = re.sub(rb"-(..)", lambda escape: bytes([int(escape[1], 16)]), text.encode("ascii"))
    return raw.decode(errors="replace")


def _unpack(text: str) -> tuple[str, list[str]]:
    """The statements in `text`, plain, as far as they can be had; and what was lost."""
    too_long = ["The link holds more edits than can be read: the last ones are lost."]
    if len(text) > MAX_EDIT_TEXT:
        text, losses = text[:MAX_EDIT_TEXT], list(too_long)
    else:
        losses = []
    if text[:1] == "p":
        return text[1:], losses
    if text[:1] != "d":
        return "", ["The edits in the link cannot be read."]
    readable = re.match(r"[A-Za-z0-9_-]*", text[1:])
    digits = readable[0] if readable else ""
    if len(digits) % 4 == 1:
        digits = digits[:-1]
    packed = base64.urlsafe_b64decode(digits + "=" * (-len(digits) % 4))
    decompressor = zlib.decompressobj(wbits=-15, zdict=_DICTIONARY)
    plain = bytearray()
    try:
        # A few bytes at a time: what came before a damaged byte is kept, and a bomb is noticed as it grows.
        for start in range(0, len(packed), 16):
            plain += decompressor.decompress(packed[start : start + 16])
            if len(plain) > MAX_EDIT_TEXT:
                del plain[MAX_EDIT_TEXT:]
                return plain.decode("ascii", errors="replace"), too_long
    except zlib.error:
        losses.append("The link is damaged: the edits after the damage are lost.")
    else:
        if len(digits) < len(text) - 1 or not decompressor.eof:
            losses.append("The link is cut short or damaged: the edits at its end are lost.")
    return plain.decode("ascii", errors="replace"), losses
