"""Networks are saved and loaded bit for bit, and a file from anyone can do no harm."""

import io
import json
import pickle
import struct
import zipfile
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffn_core.dense import FFN
from ffn_core.gated import GatedFFN
from ffn_core.moe import MoE
from ffn_core.scenario import RandomBase, Scenario
from ffn_core.weight_files import MAX_FILE, FileError, Loaded, load, save_csv, save_json, save_npz

repeatable = settings(derandomize=True, deadline=None, max_examples=150)

WORDS = ("The", "naïve 🐈", "", "sat")
FFN_4_8 = FFN.random(4, 8, seed=3, activation="silu")
X = np.random.default_rng(0).standard_normal((4, 4))

JSON = save_json(FFN_4_8, X, WORDS)
NPZ = save_npz(FFN_4_8, X, WORDS)


def loaded(name: str, data: bytes) -> Loaded:
    result = load(name, data)
    assert isinstance(result, Loaded)
    return result


def refusal(name: str, data: bytes) -> str:
    with pytest.raises(FileError) as caught:
        load(name, data)
    message = str(caught.value)
    assert message.startswith(f"{name}: ")
    assert len(message) < 300
    return message


def json_with(**changes: Any) -> bytes:
    return json.dumps(json.loads(JSON) | changes).encode()


def npz_with(**changes: Any) -> bytes:
    members = dict(np.load(io.BytesIO(NPZ))) | changes
    file = io.BytesIO()
    np.savez(file, **{name: value for name, value in members.items() if value is not None})
    return file.getvalue()


def npz_of(member: bytes, name: str = "w1.npy", compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An .npz with this member instead of its w1."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(NPZ)) as old, zipfile.ZipFile(file, "w", compression) as new:
        for entry in old.infolist():
            if entry.filename != name:
                new.writestr(entry.filename, old.read(entry))
        new.writestr(name, member)
    return file.getvalue()


def npy(header: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    text = header.encode()
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + data


# There and back


@pytest.mark.parametrize(("name", "data"), [("net.json", JSON.encode()), ("NET.NPZ", NPZ)])
def test_a_saved_network_comes_back_bit_for_bit(name, data):
    result = loaded(name, data)
    for array in ("w1", "b1", "w2", "b2"):
        assert getattr(result.ffn, array).tobytes() == getattr(FFN_4_8, array).tobytes()
    assert result.ffn.activation == "silu"
    assert result.x is not None
    assert result.x.tobytes() == X.tobytes()
    assert result.words == WORDS


def test_the_largest_network_fits_an_npz_file_and_says_so_where_json_is_too_long():
    ffn, x = Scenario(base=RandomBase(256, 1024, 64, 0)).build()
    assert loaded("a.npz", save_npz(ffn, x, ["w"] * 64)).ffn.w2.tobytes() == ffn.w2.tobytes()
    with pytest.raises(FileError, match=r"more than 8,000,000 bytes; save it as \.npz"):
        save_json(ffn, x, ["w"] * 64)


def test_128_to_512_fits_json():
    ffn, x = Scenario(base=RandomBase(128, 512, 16, 0)).build()
    assert loaded("a.json", save_json(ffn, x, ["w"] * 16).encode()).ffn.w1.tobytes() == ffn.w1.tobytes()


@pytest.mark.parametrize(
    "matrix", [FFN_4_8.w1, FFN_4_8.b1, np.array([[1.0], [2.0]]), np.array([[1e16, 2e16]])]
)
def test_a_matrix_comes_back_from_csv_bit_for_bit(matrix):
    result = load("w1.csv", save_csv(matrix).encode())
    assert isinstance(result, np.ndarray)
    assert result.tobytes() == matrix.tobytes()
    assert result.shape == np.atleast_2d(matrix).shape


@pytest.mark.parametrize(
    ("name", "text", "matrix"),
    [
        ("a.csv", "1,4\n2,5\n", [[1, 4], [2, 5]]),
        ("a.csv", "1,4;2\n", [[1.4, 2]]),  # as spreadsheets write CSV where the comma is decimal
        ("a.tsv", "1,4\t2\n", [[1.4, 2]]),
        ("a.txt", "1.0e+00 2.0e+00\n", [[1, 2]]),  # numpy.savetxt
        ("a.CSV", "\ufeff1,2\r\n", [[1, 2]]),
    ],
)
def test_text_files_are_read_as_the_program_that_wrote_them_meant(name, text, matrix):
    np.testing.assert_array_equal(load(name, text.encode()), matrix)


def test_an_npz_may_hold_the_weights_alone():
    file = io.BytesIO()
    np.savez_compressed(
        file, w1=np.ones((3, 2), np.float32), b1=np.zeros(3, int), w2=np.ones((2, 3)), b2=np.zeros(2)
    )
    result = loaded("a.npz", file.getvalue())
    assert result.x is None
    assert result.words is None
    assert result.ffn.w1.dtype == np.float64
    assert result.ffn.activation == "gelu_tanh"


def test_arrays_in_fortran_order_and_of_the_other_byte_order_keep_their_entries():
    data = npz_with(w1=np.asfortranarray(FFN_4_8.w1), w2=FFN_4_8.w2.astype(">f8"))
    np.testing.assert_array_equal(loaded("a.npz", data).ffn.w1, FFN_4_8.w1)
    np.testing.assert_array_equal(loaded("a.npz", data).ffn.w2, FFN_4_8.w2)


# What is refused in either format


@pytest.mark.parametrize("suffix", ["json", "npz"])
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"w2": FFN_4_8.w2.T}, "w2 must be"),
        ({"w1": FFN_4_8.w1.T, "w2": FFN_4_8.w2.T}, "stored (in, out)"),
        ({"w1": np.where(np.eye(8, 4) == 1, 1.1e30, 0.0)}, "w1[0, 0] must be finite, between -1e30 and 1e30"),
        ({"b1": np.zeros(7)}, "b1 must be"),
        ({"x": np.zeros((4, 5))}, "x must be [positions, d_model] = [1 to 64, 4], got [4, 5]"),
        ({"x": np.zeros((65, 4)), "words": ["w"] * 65}, "x must be [positions, d_model]"),
        ({"x": np.zeros(4)}, "x must be [positions, d_model]"),
        ({"words": ["only", "three", "words"]}, "words must name each position of x, 4, got 3"),
        ({"words": ["a" * 25, "", "", ""]}, "a word has at most 24 characters"),
        ({"words": ["a\nb", "", "", ""]}, "no control characters"),
        ({"activation": "nonsense"}, "nonsense"),
        ({"w3": np.zeros(1)}, "1 unknown, such as 'w3'; a file holds only"),
        (
            {
                "w1": np.zeros((2, 257)),
                "b1": np.zeros(2),
                "w2": np.zeros((257, 2)),
                "b2": np.zeros(257),
                "x": np.zeros((4, 257)),
            },
            "d_model can be up to 256 and d_ff up to 1024, got 257 and 2",
        ),
    ],
)
def test_a_network_that_is_not_sound_is_refused(suffix, changes, reason):
    if suffix == "json":
        data = json_with(**{k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in changes.items()})
    else:
        data = npz_with(**{k: np.array(v) for k, v in changes.items()})
    assert reason in refusal(f"net.{suffix}", data)


@pytest.mark.parametrize("name", ["model.safetensors", "w1.csv", "net.npz"])
def test_a_git_lfs_pointer_is_called_one(name):
    # Case F1.
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"
    assert "this is a Git LFS pointer, not the weights" in refusal(name, pointer)


def test_other_kinds_of_file_and_too_large_ones_are_refused():
    assert "only .json, .npz, .csv, .tsv and .txt files are read, got '.pt'" in refusal("model.pt", b"")
    assert "got 'no suffix'" in refusal("model", b"")
    assert f"at most {MAX_FILE:,} bytes" in refusal("a.csv", b" " * (MAX_FILE + 1))


# JSON


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "this is not JSON"),
        (b"{", "this is not JSON"),
        (b"\xff", "this is not UTF-8 text"),
        (b"[1]", "must hold an object"),
        (b'{"format": "other"}', '"format": "hourglass"'),
        (json_with(version=2), '"version": 1'),
        (b'{"format": "hourglass", "version": 1}', "x, w1, b1, w2, b2, words, activation missing"),
        (json_with(w1=None), "w1 must be a list of numbers"),
        (json_with(w1=[[1.0, 2.0], [3.0]]), "w1 must be a list of numbers, or of rows of equal length"),
        (json_with(w1=[[True, 1.0]]), "w1 must be a list of numbers"),
        (json_with(w1=["1"]), "w1 must be a list of numbers"),
        (json_with(w1=[]), "w1 must be a matrix"),
        (json_with(words="abcd"), "words must be a list"),
        (json_with(words=[1, 2, 3, 4]), "a word must be text"),
        (json_with(words=["\ud800", "", "", ""]), "no control characters"),
        (json_with(activation=[1]), "no activation is called"),
        (JSON.replace("[", "[NaN, ", 1).encode(), "numbers must be finite, got NaN"),
        (JSON.replace('"w1": [[', '"w1": [[1e400, ').encode(), "w1 must be a list of numbers"),
        (JSON.replace('"b2": [', '"b2": [1e400, ').encode(), "b2[0] must be finite"),
        (JSON.replace('"b2": [', f'"b2": [{"9" * 5000}, ').encode(), "b2[0] must be finite"),
        (JSON.replace("{", '{"b2": [], ', 1).encode(), "a key is there twice"),
        (b"[" * 100_000, "nested deeper than a matrix"),
        (b'{"a":' * 100_000, "nested deeper"),
        (b"[" + b"[]," * 100_000 + b"[]]", "more rows or numbers than the largest network"),
        (b"[" + b"0," * 2_000_000 + b"0]", "more rows or numbers than the largest network"),
        (b'"' + b'\\"' * 1_000_000, "this is not JSON"),
    ],
)
def test_json_that_is_not_sound_is_refused_before_it_costs_anything(data, reason):
    assert reason in refusal("net.json", data)


# .npz


def test_an_npz_that_declares_ten_million_square_is_refused_unallocated():
    # Case F5: a few hundred bytes that would be 800 TB.
    member = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (10000000, 10000000), }\n")
    message = refusal("a.npz", npz_of(member))
    assert "w1 declares the shape [10000000, 10000000]; an axis has at most 1024" in message


def test_a_pickle_is_never_loaded(tmp_path):
    # Case F5: unpickling this would create the file.
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    assert "holds a pickle" in refusal("a.npz", npz_with(w1=np.array([Trap()], dtype=object)))
    assert "not an array" in refusal("a.npz", npz_of(pickle.dumps(Trap())))
    assert not (tmp_path / "sprung").exists()


F8 = "{'descr': '<f8', 'fortran_order': False, 'shape': (8, 4), }\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a sound .npz"),
        (NPZ[:-30], "not a sound .npz"),
        (npz_of(b""), "w1 is not an array"),
        (npz_of(b"\x93NUMPY\x01\x00"), "w1 is not an array"),
        (npz_of(npy(F8, bytes(256), version=b"\x09\x00")), "w1 is not an array"),
        (npz_of(npy(F8, bytes(255))), "w1 declares [8, 4], which is 256 bytes, and holds 255"),
        (npz_of(npy(F8, bytes(264))), "w1 declares [8, 4], which is 256 bytes, and holds 264"),
        (npz_of(npy(F8, bytes(3_000_000))), "w1 unpacks to 3,000"),  # deflated to 3 kB
        (npz_of(npy(F8.replace("(8, 4)", "(8, 2, 2)"), bytes(256))), "w1 declares the shape [8, 2, 2]"),
        (npz_of(npy(F8.replace("(8, 4)", "(-8, -4)"), bytes(256))), "w1 is not an array"),
        (npz_of(npy(F8.replace("(8, 4)", "(8, 0)"))), "w1 is empty"),
        (npz_of(npy(F8.replace("'<f8'", "[('a', '<f8')]"), bytes(256))), "w1 is not an array"),
        (npz_of(npy(F8.replace("False", "__import__('os')"), bytes(256))), "w1 is not an array"),
        (npz_of(npy("-" * 900 + "1", bytes(256))), "w1 is not an array"),
        (npz_with(w1=np.ones((8, 4), complex)), "w1 must hold floats or integers, got dtype '<c16'"),
        (npz_with(w1=np.ones((8, 4), bool)), "w1 must hold floats or integers"),
        (npz_with(w1=np.full((8, 4), "1")), "w1 must hold numbers, got text"),
        (npz_with(w1=np.full((8, 4), np.nan)), "w1[0, 0] must be finite, between -1e30 and 1e30, got nan"),
        (npz_with(words=np.zeros(4)), "words must be text"),
        (npz_with(activation=np.array(["relu"])), "activation must be text"),
        (npz_with(b1=None, b2=None), "b1, b2 missing"),
        (npz_with(x=None), "words must name each position of x, 0, got 4"),
        (npz_of(b"hello", name="readme.txt"), "1 unknown, such as 'readme.txt'"),
        (npz_of(b"hello", name="../w1.npy"), "unknown, such as '../w1'"),
        (npz_of(npy(F8, bytes(256)), compression=zipfile.ZIP_BZIP2), "packed in an unknown way"),
        (
            npz_of(
                npy("{'descr': '<U1', 'fortran_order': False, 'shape': (4,), }\n", b"\xff" * 16), "words.npy"
            ),
            "words holds text that is no Unicode",
        ),
    ],
)
def test_an_npz_that_is_not_sound_is_refused(data, reason):
    assert reason in refusal("a.npz", data)


def test_a_member_that_is_there_twice_is_refused():
    file = io.BytesIO(NPZ)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("w1", b"another")
    assert "a member is there twice" in refusal("a.npz", file.getvalue())


@given(st.integers(0, 8 * len(NPZ) - 1))
@repeatable
def test_no_flipped_bit_in_an_npz_does_more_than_refuse_it(bit):
    data = bytearray(NPZ)
    data[bit // 8] ^= 1 << bit % 8
    try:
        result = loaded("a.npz", bytes(data))
    except FileError:
        return
    assert result.ffn.w1.tobytes() == FFN_4_8.w1.tobytes()  # the bit was in a date, or the like


@given(st.sampled_from(["a.json", "a.npz", "a.csv", "a.tsv", "a.txt"]), st.binary(max_size=200))
@repeatable
def test_no_bytes_do_more_than_be_refused(name, data):
    try:
        load(name, data)
    except FileError:
        return


def test_a_loaded_network_goes_into_a_scenario():
    result = loaded("net.npz", NPZ)
    scenario = Scenario().holding(result.ffn, result.x, result.words)
    assert scenario.words == WORDS
    np.testing.assert_array_equal(scenario.build()[0].w1, FFN_4_8.w1)


def test_a_file_that_stores_in_out_opens_when_that_is_said():
    ffn = FFN.random(3, 5, seed=1)
    stored = io.BytesIO()
    np.savez(stored, w1=ffn.w1.T, b1=ffn.b1, w2=ffn.w2.T, b2=ffn.b2)
    with pytest.raises(FileError, match="b1"):
        load("gpt2.npz", stored.getvalue())
    loaded = load("gpt2.npz", stored.getvalue(), "in_out")
    assert isinstance(loaded, Loaded)
    assert loaded.ffn.w1.tolist() == ffn.w1.tolist()
    assert loaded.ffn.w2.tolist() == ffn.w2.tolist()


# Gated networks and mixtures of experts

GATED = GatedFFN.random(4, 3, seed=1, activation="gelu")
EXPERTS = MoE.random(4, 3, 5, 2, seed=2, activation="relu", renormalize=False, capacity=1.25)
GATED_EXPERTS = MoE.random(4, 3, 5, 2, seed=2, gated=True)


def saved(layer, suffix: str) -> bytes:
    return save_json(layer, X, WORDS).encode() if suffix == "json" else save_npz(layer, X, WORDS)


@pytest.mark.parametrize("suffix", ["json", "npz"])
@pytest.mark.parametrize("layer", [GATED, EXPERTS, GATED_EXPERTS], ids=["gated", "experts", "experts_gated"])
def test_a_layer_of_another_family_comes_back_bit_for_bit(layer, suffix):
    result = loaded(f"net.{suffix}", saved(layer, suffix))
    assert type(result.ffn) is type(layer)
    assert (result.words, result.x is not None and result.x.tobytes()) == (WORDS, X.tobytes())
    pairs = [(result.ffn, layer)]
    if isinstance(layer, MoE):
        for name in ("top_k", "renormalize", "capacity"):
            assert getattr(result.ffn, name) == getattr(layer, name)
        assert result.ffn.router.tobytes() == layer.router.tobytes()
        pairs = list(zip(result.ffn.experts, layer.experts, strict=True))
    for one, other in pairs:
        assert one.activation == other.activation
        for name in ("w1", "b1", "w2", "b2", "w_gate", "w_up", "w_down"):
            if name in vars(other):
                assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
    scenario = Scenario(base={GATED: "gates", EXPERTS: "experts"}.get(layer, "experts_random"))
    held = scenario.holding(result.ffn, result.x, result.words)
    np.testing.assert_array_equal(held.build()[0].forward(X).output, layer.forward(X).output)


def test_a_json_file_says_its_family_and_a_dense_one_is_as_it_always_was():
    assert json.loads(saved(GATED, "json"))["family"] == "gated"
    assert json.loads(saved(GATED_EXPERTS, "json"))["family"] == "experts"
    assert list(json.loads(JSON)) == [
        "format", "version", "activation", "words", "x", "w1", "b1", "w2", "b2",
    ]  # fmt: skip


def test_experts_that_are_stored_in_out_open_when_that_is_said():
    document = json.loads(saved(EXPERTS, "json"))
    for name in ("w1", "w2"):
        document[name] = np.swapaxes(document[name], 1, 2).tolist()
    data = json.dumps(document).encode()
    with pytest.raises(FileError, match="in_out"):
        load("net.json", data)
    result = load("net.json", data, "in_out")
    assert isinstance(result, Loaded)
    np.testing.assert_array_equal(result.ffn.experts[4].w2, EXPERTS.experts[4].w2)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"top_k": 6}, "top_k must be from 1 to 5, got 6"),
        ({"top_k": 1.5}, "top_k must be an integer, got 1.5"),
        ({"renormalize": 2}, "renormalize must be from 0 to 1"),
        ({"capacity": -1}, "capacity must be from 0, no limit, to 100"),
        ({"capacity": []}, "capacity takes a number"),
        ({"capacity": None}, "capacity takes a number"),
        ({"family": "gated"}, "its arrays are of the family experts, and it says another"),
        ({"router": [[0.0] * 4] * 4}, "with 4 experts, as many as the router has rows, got [5, 3, 4]"),
        ({"router": 1.0}, "must be a list of numbers"),
        ({"router": [1.0] * 5}, "router must be a matrix [n_experts, d_model]"),
        ({"w1": [[0.0] * 4] * 3}, "w1 must be [n_experts, d_ff, d_model]"),
        ({"w1": [[[0.0] * 4] * 3] * 4 + [[[0.0] * 4] * 2]}, "rows of equal length"),
        ({"w1": [[[[0.0]]]]}, "nested deeper"),
        ({"w_gate": [[[0.0]]]}, "missing; the file must hold"),
        ({"b2": [[0.0] * 3] * 5}, "b2 must be [d_model] = [4], got [3]"),
    ],
)
def test_a_mixture_that_is_not_sound_is_refused(changes, reason):
    document = json.loads(saved(EXPERTS, "json")) | changes
    assert reason in refusal("net.json", json.dumps(document).encode())


def test_more_experts_than_the_limit_are_refused():
    document = saved(MoE.random(4, 3, 17, 2), "json")
    assert "up to 16 experts, got 17" in refusal("net.json", document)
    wide = saved(MoE.random(4, 257, 1, 1), "npz")
    assert "d_ff up to 256, got 4 and 257" in refusal("net.npz", wide)


def test_an_npz_of_experts_that_unpacks_to_too_much_is_refused():
    file = io.BytesIO()
    zeros = np.zeros((16, 256, 200))
    np.savez_compressed(
        file, router=np.zeros((16, 200)), w_gate=zeros, w_up=zeros, w_down=np.swapaxes(zeros, 1, 2).copy(),
        top_k=1, renormalize=1, capacity=0.0,
    )  # fmt: skip
    assert len(file.getvalue()) < 100_000
    assert "unpacks to 19," in refusal("net.npz", file.getvalue())


def test_what_no_file_holds_is_refused_when_it_is_saved():
    with pytest.raises(FileError, match="cannot be saved: a scenario holds no shared expert"):
        save_json(MoE.random(4, 3, 2, 1, shared=True), X, WORDS)
    with pytest.raises(FileError, match="more than 8,000,000 bytes; save a smaller one"):
        save_npz(MoE.random(256, 256, 8, 1), np.zeros((1, 256)), ["w"])
