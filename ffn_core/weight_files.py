"""Networks in files: JSON and .npz hold weights, x and words; CSV, TSV and text hold one matrix.

Files hold the matrices as Hourglass does, (out, in): w1 [d_ff, d_model], w2 [d_model, d_ff]. A file with w1 and w2
transposed is refused with the shapes that were expected, never turned by guessing. A gated network or a mixture of
experts is held by the arrays of its kind (`ffn_core.families`), a mixture with its options beside them.

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
from ffn_core.bases import MAX_D_FF, MAX_D_MODEL, MAX_EXPERT_D_FF, MAX_EXPERTS, MAX_POSITIONS, most_d_ff
from ffn_core.checks import EditError, check_word
from ffn_core.dense import Layout
from ffn_core.families import KINDS, OPTIONS, Kind, Layer, activation_of, check_option, kind_of
from ffn_core.matrix_text import MAX_MAGNITUDE, MatrixTextError, format_matrix, parse_matrix

Array = npt.NDArray[np.float64]

MAX_FILE = 8_000_000
"""Bytes of a file, and of what it unpacks to."""

_JSON_DEPTH = 4  # the object, a stack of matrices, a matrix, a row
_MAX_JSON_BRACKETS = 4 * MAX_EXPERTS * MAX_EXPERT_D_FF
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

    `ffn` is an FFN, a GatedFFN or an MoE; x [positions, d_model] and words are None where an .npz file has none; then
    they stay as they are.
    """

    ffn: Any
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


def save_json(layer: Layer, x: npt.ArrayLike, words: Iterable[str]) -> str:
    """The layer, x [positions, d_model] and words as JSON text that `load_json` reads back bit for bit."""
    kind = _kind_saved(layer)
    document: dict[str, Any] = {"format": "hourglass", "version": 1}
    if kind.name != "dense":  # which the first files were without saying so
        document["family"] = kind.family
    document |= {"activation": activation_of(layer), "words": list(words)} | kind.options(layer)
    arrays = {"x": np.asarray(x), **kind.weights(layer)}
    document |= {name: array.astype(np.float64).tolist() for name, array in arrays.items()}
    text = json.dumps(document, allow_nan=False, ensure_ascii=False)
    if len(text.encode()) > MAX_FILE:
        raise FileError(f"as JSON this network has more than {MAX_FILE:,} bytes; save it as .npz")
    return text


def save_npz(layer: Layer, x: npt.ArrayLike, words: Iterable[str]) -> bytes:
    """The layer, x [positions, d_model] and words as an .npz file that `load_npz` and `numpy.load` read."""
    kind = _kind_saved(layer)
    file = io.BytesIO()
    members: dict[str, npt.NDArray[Any]] = {
        "x": np.asarray(x),
        **kind.weights(layer),
        **{name: np.array(value) for name, value in kind.options(layer).items()},
        "words": np.array(list(words), dtype=np.str_),
        "activation": np.array(activation_of(layer)),
    }
    np.savez(file, allow_pickle=False, **members)
    data = file.getvalue()
    if len(data) > MAX_FILE:
        raise FileError(
            f"this network has more than {MAX_FILE:,} bytes; save a smaller one, or fewer experts"
        )
    return data


def _kind_saved(layer: Layer) -> Kind:
    try:
        return kind_of(layer)
    except EditError as error:
        raise FileError(f"this network cannot be saved: {error}") from None


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
            raise FileError(
                f"{name}: the JSON is nested deeper than a matrix of each expert, {_JSON_DEPTH} levels"
            )
        if n_brackets > _MAX_JSON_BRACKETS:
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
    kind, optional = _kind_among(document), ("family",)
    keys = ("format", "version", *kind.arrays, *_options(kind), "words", "activation")
    if "family" in document and document["family"] != kind.family:
        raise FileError(f"{name}: its arrays are of the family {kind.family}, and it says another")
    _check_members(name, document, keys, (*keys, *optional))
    arrays = {member: _from_lists(name, member, document[member]) for member in kind.arrays}
    options = {member: document[member] for member in _options(kind)}
    words = document["words"]
    if not isinstance(words, list):
        raise FileError(f"{name}: words must be a list of text")
    return _loaded(name, kind, arrays, options, words=words, act=document["activation"], layout=layout)


def load_npz(name: str, data: bytes, layout: Layout = "out_in") -> Loaded:
    """A network from an .npz file with w1, b1, w2 and b2, and perhaps x, words and activation (gelu_tanh if not).

    A gated network has w_gate, w_up and w_down (silu if no activation is there), a mixture router, its experts' stacked
    arrays, top_k, renormalize and capacity.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
            if len(entries) != len(archive.infolist()):
                raise FileError(f"{name}: a member is there twice")
            kind = _kind_among(entries)
            required = (*kind.arrays[1:], *_options(kind))
            _check_members(name, entries, required, ("x", *required, "words", "activation"))
            unpacked = sum(entry.file_size for entry in archive.infolist())
            if unpacked > MAX_FILE + len(entries) * _MAX_NPY_HEADER and kind.mixes:
                raise FileError(
                    f"{name}: it unpacks to {unpacked:,} bytes, and a file has at most {MAX_FILE:,}"
                )
            members = {
                member: _member(name, member, archive, entry, kind.mixes) for member, entry in entries.items()
            }
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
    options = {member: members.pop(member) for member in _options(kind)}
    if any(array.ndim for array in options.values()):
        raise FileError(f"{name}: {', '.join(options)} must each be one number")
    return _loaded(
        name,
        kind,
        {member: array.astype(np.float64) for member, array in members.items()},
        {member: array.item() for member, array in options.items()},
        words=None if words is None else words.tolist(),
        act=kind.activation if act is None else act.item(),
        layout=layout,
    )


def _kind_among(members: Iterable[str]) -> Kind:
    """The kind that the arrays there are name; a file without any is taken for a dense network's."""
    members = set(members)
    mixes, gated = "router" in members, bool(members & set(KINDS["gated"].arrays[1:]))
    return next(kind for kind in KINDS.values() if kind.mixes == mixes and (kind.values == "w_down") == gated)


def _options(kind: Kind) -> tuple[str, ...]:
    return OPTIONS if kind.mixes else ()


def _member(
    name: str, member: str, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, stacked: bool
) -> npt.NDArray[Any]:
    """One array of an .npz file. Its header is read by a pattern of what NumPy writes: nothing is evaluated."""
    place = f"{name}: {member}"
    if entry.flag_bits & 1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FileError(f"{place} is encrypted or packed in an unknown way; save it with numpy.savez")
    largest = MAX_EXPERTS * MAX_EXPERT_D_FF if stacked else MAX_D_FF
    limit = min(MAX_FILE, 8 * MAX_D_MODEL * largest) + _MAX_NPY_HEADER
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
    if len(shape) > (3 if stacked else 2) or max(shape, default=0) > max(MAX_D_FF, MAX_D_MODEL):
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


def _loaded(
    name: str,
    kind: Kind,
    arrays: dict[str, Array],
    options: dict[str, Any],
    *,
    words: list[Any] | None,
    act: Any,
    layout: Layout,
) -> Loaded:
    for member, array in arrays.items():
        bad = np.argwhere(~(np.abs(array) <= MAX_MAGNITUDE))
        if len(bad):
            at = tuple(bad[0].tolist())
            raise FileError(
                f"{name}: {member}{list(at)} must be finite, between -1e30 and 1e30, got {array[at]}"
            )
    try:
        weights = {member: array for member, array in arrays.items() if member != "x"}
        ffn = kind.build(weights, activation(act).name, _checked(options, weights), layout)
        checked = None if words is None else tuple(map(check_word, words))
    except ValueError as error:
        raise FileError(f"{name}: {error}") from None
    sizes = kind.sizes(ffn)
    d_model, d_ff = sizes["d_model"], sizes["d_ff"]
    if d_model > MAX_D_MODEL or d_ff > most_d_ff(kind):
        raise FileError(
            f"{name}: d_model can be up to {MAX_D_MODEL} and d_ff up to {most_d_ff(kind)}, got {d_model} and {d_ff}"
        )
    if sizes.get("n_experts", 0) > MAX_EXPERTS:
        raise FileError(f"{name}: there can be up to {MAX_EXPERTS} experts, got {sizes['n_experts']}")
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


def _checked(options: dict[str, Any], weights: dict[str, Array]) -> dict[str, float | int]:
    """The options as a mixture takes them; a file's numbers are floats, counts among them."""
    n_experts = len(np.atleast_1d(weights["router"])) if options else 0
    return {
        name: check_option(
            name, int(value) if isinstance(value, float) and value.is_integer() else value, n_experts
        )
        for name, value in options.items()
    }


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
    wrong = FileError(f"{name}: {member} must be a list of numbers, or of rows of equal length")
    rows = value if isinstance(value, list) and value and isinstance(value[0], list) else [value]
    if rows is value and rows[0] and isinstance(rows[0][0], list):
        matrices = [_from_lists(name, member, matrix) for matrix in value]
        if len({matrix.shape for matrix in matrices}) > 1:
            raise wrong
        return np.stack(matrices)
    lengths = {len(row) if isinstance(row, list) else None for row in rows}
    if (
        None in lengths
        or len(lengths) > 1
        or not all(type(number) is float for row in rows for number in row)
    ):
        raise wrong
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
