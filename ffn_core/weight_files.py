"""Networks in files: JSON and .npz hold weights, x and words; CSV, TSV and text hold one matrix.

Files hold the matrices as Hourglass does, (out, in): w1 [d_ff, d_model], w2 [d_model, d_ff]. A file with w1 and w2
transposed is refused with the shapes that were expected, never turned by guessing.

A file may come from anyone. Sizes are read and compared with the limits before anything is allocated, no pickle
is ever loaded, and every refusal is a FileError that names the file and the member.
"""

import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from pathlib import PurePath
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ffn_core.activations import activation
from ffn_core.dense import FFN, Layout
from ffn_core.matrix_text import MAX_MAGNITUDE, MatrixTextError, format_matrix, parse_matrix
from ffn_core.scenario import ARRAYS, MAX_D_FF, MAX_D_MODEL, MAX_POSITIONS, check_word

Array = npt.NDArray[np.float64]

MAX_FILE = 8_000_000
"""Bytes of a file, and of what it unpacks to."""

_REQUIRED = ("w1", "b1", "w2", "b2")
_MEMBERS = (*ARRAYS, "words", "activation")
_JSON_KEYS = ("format", "version", *_MEMBERS)
_JSON_DEPTH = 3  # the object, a matrix, a row
_MAX_COMMAS = 2 * MAX_D_MODEL * MAX_D_FF + MAX_POSITIONS * MAX_D_MODEL + 10_000
_JSON_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"

# What numpy.save writes before the data: a magic string, the version, the header's length, and a dict.
_NPY_MAGIC = b"\x93NUMPY"
_NPY_HEADER = re.compile(
    rb"\{'descr': '([<>|=]?[A-Za-z][0-9]{0,4})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:[0-9]{1,18}, ?)*(?:[0-9]{1,18})?)\),? ?\}\s*"
)
_MAX_NPY_HEADER = 1000


class FileError(ValueError):
    """A file that cannot be loaded, with its name, the place and the reason."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Loaded:
    """What a network file held.

    x [positions, d_model] and words are None where an .npz file has none; then they stay as they are.
    """

    ffn: FFN
    x: Array | None = None
    words: tuple[str, ...] | None = None


def load(name: str, data: bytes, layout: Layout = "out_in") -> Loaded | Array:
    """A network from .json or .npz; one matrix [rows, columns] from .csv, .tsv or .txt. `name` is the file's.

    `layout` is how the file stores w1 and w2 (see `FFN.from_arrays`): as Hourglass does, unless it is said.
    """
    suffix = PurePath(name).suffix.lower()
    if data.startswith(_LFS_POINTER):
        raise FileError(f"{name}: this is a Git LFS pointer, not the weights; fetch them with git lfs pull")
    if len(data) > MAX_FILE:
        raise FileError(f"{name}: a file has at most {MAX_FILE:,} bytes, got {len(data):,}")
    if suffix == ".json":
        return load_json(name, data, layout)
    if suffix == ".npz":
        return load_npz(name, data, layout)
    if suffix in (".csv", ".tsv", ".txt"):
        return load_csv(name, data)
    raise FileError(
        f"{name}: only .json, .npz, .csv, .tsv and .txt files are read, got {suffix or 'no suffix'!r}"
    )


def save_json(ffn: FFN, x: npt.ArrayLike, words: Iterable[str]) -> str:
    """The network, x [positions, d_model] and words as JSON text that `load_json` reads back bit for bit."""
    arrays = {"x": np.asarray(x), "w1": ffn.w1, "b1": ffn.b1, "w2": ffn.w2, "b2": ffn.b2}
    document: dict[str, Any] = {
        "format": "hourglass",
        "version": 1,
        "activation": ffn.activation,
        "words": list(words),
    }
    document |= {name: array.astype(np.float64).tolist() for name, array in arrays.items()}
    text = json.dumps(document, allow_nan=False, ensure_ascii=False)
    if len(text.encode()) > MAX_FILE:
        raise FileError(f"as JSON this network has more than {MAX_FILE:,} bytes; save it as .npz")
    return text


def save_npz(ffn: FFN, x: npt.ArrayLike, words: Iterable[str]) -> bytes:
    """The network, x [positions, d_model] and words as an .npz file that `load_npz` and `numpy.load` read."""
    file = io.BytesIO()
    np.savez(
        file,
        x=np.asarray(x),
        w1=ffn.w1,
        b1=ffn.b1,
        w2=ffn.w2,
        b2=ffn.b2,
        words=np.array(list(words), dtype=np.str_),
        activation=np.array(ffn.activation),
    )
    return file.getvalue()


def save_csv(array: npt.ArrayLike) -> str:
    """One matrix, or a vector as one row, as CSV text that `load_csv` reads back bit for bit."""
    return format_matrix(array, ",")


def load_csv(name: str, data: bytes) -> Array:
    """The matrix in a text file: commas separate in a .csv that has no tab or semicolon; see `parse_matrix`."""
    text = _text(name, data)
    csv = PurePath(name).suffix.lower() == ".csv" and "\t" not in text and ";" not in text
    try:
        return parse_matrix(text, "," if csv else None)
    except MatrixTextError as error:
        raise FileError(f"{name}: {error}") from error


def load_json(name: str, data: bytes, layout: Layout = "out_in") -> Loaded:
    """A network from the JSON that `save_json` writes; every key of it is needed, and no other is known."""
    text = _text(name, data)
    too_many = FileError(f"{name}: there are more rows or numbers than the largest network has")
    if text.count(",") > _MAX_COMMAS:
        raise too_many
    depth = n_brackets = 0  # counted before the parser makes an object for each
    for match in _JSON_STRUCTURE.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        n_brackets += match[0] in "[{"
        if depth > _JSON_DEPTH:
            raise FileError(f"{name}: the JSON is nested deeper than a matrix, {_JSON_DEPTH} levels")
        if n_brackets > 2 * (MAX_D_MODEL + MAX_D_FF):
            raise too_many
    try:
        document = json.loads(
            text,
            parse_int=float,
            parse_constant=lambda word: _refuse(name, f"numbers must be finite, got {word}"),
            object_pairs_hook=lambda pairs: _unique(name, pairs),
        )
    except json.JSONDecodeError as error:
        raise FileError(f"{name}: this is not JSON: {error}") from None
    if (
        not isinstance(document, dict)
        or document.get("format") != "hourglass"
        or document.get("version") != 1
    ):
        raise FileError(f'{name}: it must hold an object with "format": "hourglass" and "version": 1')
    _check_members(name, document, _JSON_KEYS, _JSON_KEYS)
    arrays = {member: _from_lists(name, member, document[member]) for member in ARRAYS}
    words = document["words"]
    if not isinstance(words, list):
        raise FileError(f"{name}: words must be a list of text")
    return _loaded(name, arrays, words, document["activation"], layout)


def load_npz(name: str, data: bytes, layout: Layout = "out_in") -> Loaded:
    """A network from an .npz file with w1, b1, w2 and b2, and perhaps x, words and activation (gelu_tanh if not)."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
            if len(entries) != len(archive.infolist()):
                raise FileError(f"{name}: a member is there twice")
            _check_members(name, entries, _REQUIRED, _MEMBERS)
            members = {member: _member(name, member, archive, entry) for member, entry in entries.items()}
    except FileError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        OSError,
        RuntimeError,
        ValueError,
    ) as error:
        raise FileError(f"{name}: this is not a sound .npz (zip) file: {error}") from None
    words, act = members.pop("words", None), members.pop("activation", None)
    for member, text, ndim in (("words", words, 1), ("activation", act, 0)):
        if text is not None and (text.dtype.kind != "U" or text.ndim != ndim):
            raise FileError(f"{name}: {member} must be text, got {text.dtype} {list(text.shape)}")
    for member, array in members.items():
        if array.dtype.kind == "U":
            raise FileError(f"{name}: {member} must hold numbers, got text")
    return _loaded(
        name,
        {member: array.astype(np.float64) for member, array in members.items()},
        None if words is None else words.tolist(),
        "gelu_tanh" if act is None else act.item(),
        layout,
    )


def _member(name: str, member: str, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """One array of an .npz file. Its header is read by a pattern of what NumPy writes: nothing is evaluated."""
    place = f"{name}: {member}"
    if entry.flag_bits & 1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FileError(f"{place} is encrypted or packed in an unknown way; save it with numpy.savez")
    limit = 8 * MAX_D_MODEL * MAX_D_FF + _MAX_NPY_HEADER
    if entry.file_size > limit:
        raise FileError(f"{place} unpacks to {entry.file_size:,} bytes, and the largest array has {limit:,}")
    with archive.open(entry) as file:
        data = file.read(limit)  # a bound of its own: what the archive says of its sizes may be wrong
    start, header = _npy_header(data)
    if header is None:
        raise FileError(f"{place} is not an array as numpy.savez writes it")
    descr, shape = header[1].decode(), tuple(map(int, re.findall(rb"[0-9]+", header[3])))
    kind, size = descr.lstrip("<>|=")[0], int(descr.lstrip("<>|=")[1:] or 0)
    if kind == "O":
        raise FileError(f"{place} holds a pickle of Python objects, which is never loaded; save numbers")
    if (kind, size) not in _DTYPES and not (kind == "U" and size):
        raise FileError(f"{place} must hold floats or integers, got dtype {descr!r}")
    if 0 in shape:
        raise FileError(f"{place} is empty, of shape {_shape(shape)}")
    if len(shape) > 2 or max(shape, default=0) > max(MAX_D_FF, MAX_D_MODEL):
        raise FileError(f"{place} declares the shape {_shape(shape)}; an axis has at most {MAX_D_FF} entries")
    n_bytes = prod(shape) * (4 * size if kind == "U" else size)
    if len(data) - start != n_bytes:
        raise FileError(
            f"{place} declares {_shape(shape)}, which is {n_bytes:,} bytes, and holds {len(data) - start:,}"
        )
    if kind == "U":  # NumPy keeps text as UTF-32, and does not check it
        try:
            data[start:].decode("utf-32-be" if descr[0] == ">" else "utf-32-le")
        except UnicodeDecodeError:
            raise FileError(f"{place} holds text that is no Unicode") from None
    array = np.frombuffer(data, dtype=descr, offset=start)
    return array.reshape(shape, order="F" if header[2] == b"True" else "C")


_DTYPES = {("f", 2), ("f", 4), ("f", 8)} | {(kind, size) for kind in "iu" for size in (1, 2, 4, 8)}


def _npy_header(data: bytes) -> tuple[int, re.Match[bytes] | None]:
    """Where the data begins, and the header's parts; None where there is no header of a known form."""
    if data[:6] != _NPY_MAGIC or data[6:7] not in (b"\x01", b"\x02", b"\x03"):
        return 0, None
    width = 2 if data[6] == 1 else 4
    start = 8 + width + int.from_bytes(data[8 : 8 + width], "little")
    if start > min(len(data), _MAX_NPY_HEADER):
        return 0, None
    return start, _NPY_HEADER.fullmatch(data, 8 + width, start)


def _loaded(name: str, arrays: dict[str, Array], words: list[Any] | None, act: Any, layout: Layout) -> Loaded:
    for member, array in arrays.items():
        bad = np.argwhere(~(np.abs(array) <= MAX_MAGNITUDE))
        if len(bad):
            at = tuple(bad[0].tolist())
            raise FileError(
                f"{name}: {member}{list(at)} must be finite, between -1e30 and 1e30, got {array[at]}"
            )
    try:
        weights = {member: arrays[member] for member in _REQUIRED}
        ffn = FFN.from_arrays(**weights, layout=layout, activation=activation(act).name)
        checked = None if words is None else tuple(map(check_word, words))
    except ValueError as error:
        raise FileError(f"{name}: {error}") from None
    if ffn.d_model > MAX_D_MODEL or ffn.d_ff > MAX_D_FF:
        raise FileError(
            f"{name}: d_model can be up to {MAX_D_MODEL} and d_ff up to {MAX_D_FF}, got {ffn.d_model} and {ffn.d_ff}"
        )
    x = arrays.get("x")
    if x is not None:
        if x.ndim != 2 or x.shape[1] != ffn.d_model or not 1 <= len(x) <= MAX_POSITIONS:
            raise FileError(
                f"{name}: x must be [positions, d_model] = [1 to {MAX_POSITIONS}, {ffn.d_model}], got {_shape(x.shape)}"
            )
        x.setflags(write=False)
    if checked is not None and (x is None or len(checked) != len(x)):
        raise FileError(
            f"{name}: words must name each position of x, {0 if x is None else len(x)}, got {len(checked)}"
        )
    return Loaded(ffn=ffn, x=x, words=checked)


def _text(name: str, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"{name}: this is not UTF-8 text ({error.reason} at byte {error.start})") from None


def _check_members(name: str, members: Iterable[str], required: Iterable[str], known: Iterable[str]) -> None:
    members, known = set(members), tuple(known)
    if missing := [member for member in required if member not in members]:
        raise FileError(f"{name}: {', '.join(missing)} missing; the file must hold {', '.join(required)}")
    if unknown := sorted(members.difference(known)):
        raise FileError(
            f"{name}: {len(unknown)} unknown, such as {unknown[0][:40]!r}; a file holds only {', '.join(known)}"
        )


def _from_lists(name: str, member: str, value: Any) -> Array:
    rows = value if isinstance(value, list) and value and isinstance(value[0], list) else [value]
    lengths = {len(row) if isinstance(row, list) else None for row in rows}
    if (
        None in lengths
        or len(lengths) > 1
        or not all(type(number) is float for row in rows for number in row)
    ):
        raise FileError(f"{name}: {member} must be a list of numbers, or of rows of equal length")
    return np.array(value, dtype=np.float64)


def _unique(name: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise FileError(f"{name}: a key is there twice")
    return document


def _refuse(name: str, reason: str) -> NoReturn:
    raise FileError(f"{name}: {reason}")


def _shape(shape: tuple[int, ...]) -> str:
    text = str(list(shape[:4]))
    return text if len(shape) <= 4 else f"{text[:-1]}, ...]"
