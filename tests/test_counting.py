"""What an FFN costs beside the rest of its model: counted, built, run, and as published."""

import re
from dataclasses import fields, replace
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import pytest

from ffn_core import FFN
from ffn_core.count_text import flop_lines, parameter_lines, short_bytes, short_count, short_share
from ffn_core.counting import MODELS, ModelShape, crossover, memory, model

DENSE = ModelShape(n_layers=3, d_model=6, d_ff=10, n_heads=2, vocab_size=11, n_positions=7)
PLAIN = replace(DENSE, ffn_bias=False, attention_bias=False, n_positions=0, tied=False)
GATED = replace(PLAIN, gated=True, norm="rmsnorm")
GATED_BIASED = replace(DENSE, gated=True)
GROUPED = ModelShape(
    n_layers=2, d_model=6, d_ff=5, n_heads=4, n_kv_heads=2, d_head=3, vocab_size=9, attention_bias=True
)
EXPERTS = replace(GROUPED, n_experts=4, top_k=2, norm="rmsnorm", tied=False, attention_bias=False)
GATED_EXPERTS = replace(EXPERTS, gated=True, ffn_bias=False, top_k=3)
ENCODER_DECODER = replace(DENSE, n_layers=5, n_decoder_layers=2, attention_bias=False, final_norm=False)
BERT = replace(DENSE, n_token_types=2, embedding_norm=True, pooler=True, final_norm=False)
LAYER = ModelShape(n_layers=1, d_model=4, d_ff=8, n_heads=2, n_norms=0, final_norm=False)
SMALL = {
    "dense": DENSE, "plain": PLAIN, "gated": GATED, "gated with biases": GATED_BIASED, "grouped": GROUPED,
    "experts": EXPERTS, "gated experts": GATED_EXPERTS, "encoder and decoder": ENCODER_DECODER, "bert": BERT,
    "layer": LAYER,
}  # fmt: skip
small = pytest.mark.parametrize("shape", SMALL.values(), ids=SMALL)
every = pytest.mark.parametrize("shape", [*SMALL.values(), *MODELS.values()], ids=[*SMALL, *MODELS])
causal_or_not = pytest.mark.parametrize("causal", [False, True])


# What is published (cases C1 to C10)


def test_the_lessons_layer_counts_as_the_lesson_does():
    counted = model("lesson").parameters()
    assert counted.ffn == counted.ffn_per_layer == 131_712
    assert counted.attention == 4 * (128 * 128 + 128) == 66_048
    assert counted.total == 131_712 + 66_048, "it has nothing else"
    assert parameter_lines(model("lesson"))["ffn"][:3] == [
        "w1, b1: d_ff·d_model + d_ff = 512·128 + 512 = 66,048",
        "w2, b2: d_model·d_ff + d_model = 128·512 + 128 = 65,664",
        "one FFN: 66,048 + 65,664 = 131,712",
    ]


def test_gpt2_small_counts_as_published():
    counted = model("gpt2-small").parameters()
    assert (counted.ffn_per_layer, counted.ffn_weights_per_layer) == (4_722_432, 4_718_592)
    assert (counted.attention_per_layer, counted.norms_per_layer) == (2_362_368, 3_072)
    assert counted.ffn_per_layer + counted.attention_per_layer + counted.norms_per_layer == 7_087_872
    assert counted.total == counted.active == 124_439_808


def test_tying_the_embeddings_changes_parameters_and_not_flops():
    tied = model("gpt2-small")
    untied = replace(tied, tied=False)
    assert untied.parameters().total == 163_037_184
    assert untied.parameters().embeddings - tied.parameters().embeddings == 50_257 * 768
    assert tied.flops(1024) == untied.flops(1024)
    assert tied.flops(1024).head == 77_194_752


def test_the_first_transformers_ffn_counts_as_published():
    counted = model("vaswani-base").parameters()
    assert counted.ffn_per_layer == 2_099_712
    # By hand: 12 FFNs; 6 + 6·2 attention blocks of 4·512·512; 6·2 + 6·3 norms of 2·512; one table of 37,000 rows.
    assert counted.ffn == 12 * 2_099_712
    assert counted.attention == 18 * 4 * 512 * 512
    assert counted.norms == 30 * 1024
    assert counted.embeddings == 37_000 * 512


def test_gpt3_counts_as_published():
    counted = model("gpt3-175b").parameters()
    assert (counted.ffn_weights, counted.attention_weights) == (115_964_116_992, 57_982_058_496)
    assert round(counted.total / 1e6, -2) == 174_600, "Brown et al., Table D.1"


@pytest.mark.parametrize(
    ("name", "total"),
    [
        ("gpt2-xl", 1_557_611_200),
        ("bert-base", 109_482_240),
        ("llama-2-7b", 6_738_415_616),
        ("llama-2-13b", 13_015_864_320),
        ("llama-2-70b", 68_976_648_192),
        ("llama-3-8b", 8_030_261_248),
        ("mixtral-8x7b", 46_702_792_704),
    ],
)
def test_the_total_is_that_of_the_published_weights(name, total):
    assert model(name).parameters().total == total


def test_llamas_ffns_count_as_published():
    counted = model("llama-2-7b").parameters()
    assert counted.ffn_per_layer == 135_266_304
    assert counted.ffn == 4_328_521_728, "more than an int32 holds"
    assert counted.ffn_share == pytest.approx(0.6424, abs=5e-5)
    assert model("llama-3-8b").parameters().ffn_per_layer == 176_160_768


def test_mixtral_counts_as_published():
    counted = model("mixtral-8x7b").parameters()
    assert counted.active == 12_879_925_248
    assert counted.ffn == 45_097_156_608
    assert counted.router == 1_048_576
    assert counted.router_per_layer == 8 * 4096
    assert counted.ffn_per_layer == 8 * 176_160_768


def test_an_ffn_costs_two_flops_for_each_multiply_add():
    flops = replace(model("gpt2-small"), n_layers=1).flops(1)
    assert flops.ffn == 2 * 4_718_592 == 9_437_184
    assert flops.ffn_bias_adds == 3_840
    assert flops.total == flops.ffn + flops.attention + flops.head, "bias adds and softmax are apart"


def test_every_model_of_the_issue_is_there_with_its_source():
    assert list(MODELS) == [
        "lesson", "vaswani-base", "gpt2-small", "gpt2-xl", "gpt3-175b", "bert-base", "llama-2-7b", "llama-2-13b",
        "llama-2-70b", "llama-3-8b", "mixtral-8x7b",
    ]  # fmt: skip
    for name, shape in MODELS.items():
        assert shape.name == name
        assert re.search(r"arXiv:\d{4}\.\d{5}|et al\. 20\d\d|lesson 1", shape.source), name


def test_an_unknown_model_is_an_error_that_lists_the_known_ones():
    with pytest.raises(
        ValueError, match="no model is called 'gpt5'; there are lesson, vaswani-base, gpt2-small"
    ):
        model("gpt5")


# What is really built


def built(shape: ModelShape) -> dict[str, list[np.ndarray]]:
    """Every array of a model of this shape, made the way its papers describe it, by part."""
    d, width, shared = shape.d_model, shape.n_heads * shape.d_head, shape.n_kv_heads * shape.d_head
    parts: dict[str, list[np.ndarray]] = {
        part: [] for part in ("ffn", "attention", "norms", "router", "embeddings", "pooler")
    }

    def linear(part: str, out: int, into: int, bias: bool) -> None:
        parts[part] += [np.empty((out, into))] + ([np.empty(out)] if bias else [])

    def norm(part: str) -> None:
        parts[part] += [np.empty(d)] if shape.norm == "rmsnorm" else [np.empty(d), np.empty(d)]

    def attention() -> None:
        for out, into in ((width, d), (shared, d), (shared, d), (d, width)):
            linear("attention", out, into, shape.attention_bias)

    for layer in range(shape.n_layers):
        attention()
        if layer < shape.n_decoder_layers:
            attention()
            norm("norms")
        for _ in range(shape.n_norms):
            norm("norms")
        for _ in range(shape.n_experts):
            for _ in ("gate", "up") if shape.gated else ("w1",):
                linear("ffn", shape.d_ff, d, shape.ffn_bias)
            linear("ffn", d, shape.d_ff, shape.ffn_bias)
        if shape.n_experts > 1:
            linear("router", shape.n_experts, d, False)
    if shape.final_norm:
        norm("norms")
    for rows in (
        shape.vocab_size,
        shape.n_positions,
        shape.n_token_types,
        0 if shape.tied else shape.vocab_size,
    ):
        linear("embeddings", rows, d, False)
    if shape.embedding_norm:
        norm("embeddings")
    if shape.pooler:
        linear("pooler", d, d, True)
    return parts


def entries(arrays: list[np.ndarray]) -> int:
    return sum(array.size for array in arrays)


@small
def test_every_part_has_as_many_parameters_as_arrays_that_are_built_have_entries(shape):
    arrays, counted = built(shape), shape.parameters()
    assert counted.parts == {part: entries(arrays[part]) for part in arrays}
    assert counted.total == sum(map(entries, arrays.values()))
    weights = {part: [a for a in arrays[part] if a.ndim == 2] for part in arrays}
    assert (counted.ffn_weights, counted.attention_weights) == (
        entries(weights["ffn"]),
        entries(weights["attention"]),
    )


@small
def test_a_layers_parameters_are_those_of_one_layer_more(shape):
    more, counted = replace(shape, n_layers=shape.n_layers + 1).parameters(), shape.parameters()
    assert more.ffn - counted.ffn == counted.ffn_per_layer
    assert more.ffn_weights - counted.ffn_weights == counted.ffn_weights_per_layer
    assert more.attention - counted.attention == counted.attention_per_layer
    assert more.attention_weights - counted.attention_weights == counted.attention_weights_per_layer
    assert more.norms - counted.norms == counted.norms_per_layer
    assert more.router - counted.router == counted.router_per_layer
    assert more.embeddings == counted.embeddings


@small
def test_active_parameters_are_those_of_a_model_with_only_the_experts_that_a_token_uses(shape):
    used = built(replace(shape, n_experts=shape.top_k)) | {"router": built(shape)["router"]}
    assert shape.parameters().active == sum(map(entries, used.values()))


@every
def test_the_layers_and_what_stands_outside_them_make_up_the_model(shape):
    counted, layers = shape.parameters(), shape.layers()
    assert sum(layer.n_layers for layer in layers) == shape.n_layers
    for part in ("ffn", "attention", "router"):
        assert sum(layer.n_layers * layer.parts[part] for layer in layers) == counted.parts[part]
    last_norm = shape.norm_size if shape.final_norm else 0
    assert sum(layer.n_layers * layer.parts["norms"] for layer in layers) == counted.norms - last_norm
    assert sum(layer.n_layers * (layer.total - layer.active) for layer in layers) == counted.inactive


def test_an_encoder_layer_has_one_attention_block_and_two_norms_and_a_decoder_layer_two_and_three():
    encoder, decoder = model("vaswani-base").layers()
    block, norm = 4 * 512 * 512, 2 * 512
    assert (encoder.name, decoder.name) == ("encoder layer", "decoder layer")
    assert encoder.parts == {"ffn": 2_099_712, "attention": block, "norms": 2 * norm, "router": 0}
    assert decoder.parts == {"ffn": 2_099_712, "attention": 2 * block, "norms": 3 * norm, "router": 0}


def test_a_block_of_gpt2_small_is_its_one_kind_of_layer():
    [layer] = model("gpt2-small").layers()
    assert (layer.name, layer.n_layers, layer.total, layer.active) == ("layer", 12, 7_087_872, 7_087_872)


def test_a_layer_of_mixtral_uses_two_of_eight_experts():
    [layer] = model("mixtral-8x7b").layers()
    assert layer.total - layer.active == 6 * 176_160_768


def test_a_dense_layer_counts_as_the_ffn_of_this_program_does():
    assert DENSE.parameters().ffn_per_layer == FFN.random(6, 10).n_parameters


def test_shares_are_of_the_total_and_sum_to_one():
    for shape in (*SMALL.values(), *MODELS.values()):
        counted = shape.parameters()
        assert sum(counted.shares.values()) == pytest.approx(1, abs=1e-12)
        assert counted.attention_share == pytest.approx(counted.attention / counted.total)
        assert counted.embeddings_share == pytest.approx(counted.embeddings / counted.total)


# What is really computed


class Machine:
    """Runs a model of a shape on tokens, one at a time, and counts the multiply-adds and bias adds that it makes."""

    def __init__(self, shape: ModelShape) -> None:
        self.shape = shape
        self.made = dict.fromkeys(
            ("ffn", "router", "attention_projections", "attention_scores", "head", "bias"), 0
        )
        self.scored = 0

    def multiply(self, part: str, matrix: np.ndarray, vector: np.ndarray, bias: bool = False) -> np.ndarray:
        product = matrix * vector
        self.made[part] += product.size
        result: np.ndarray = product.sum(axis=1)
        if bias:
            self.made["bias"] += result.size
        return result

    def attention(self, n_keys: int) -> None:
        shape, d = self.shape, self.shape.d_model
        x, keys, bias = np.ones(d), np.ones((n_keys, shape.d_head)), self.shape.attention_bias
        for heads in (shape.n_heads, shape.n_kv_heads, shape.n_kv_heads):
            self.multiply("attention_projections", np.ones((heads * shape.d_head, d)), x, bias)
        read = []
        for _ in range(shape.n_heads):
            scores = self.multiply("attention_scores", keys, np.ones(shape.d_head))
            self.scored += scores.size
            read.append(self.multiply("attention_scores", keys.T, scores))
        joined = np.concatenate(read)
        self.multiply("attention_projections", np.ones((d, joined.size)), joined, bias)

    def token(self, place: int, n: int, causal: bool) -> None:
        shape, x = self.shape, np.ones(self.shape.d_model)
        for layer in range(shape.n_layers):
            in_decoder = layer < shape.n_decoder_layers
            masked = causal and (in_decoder or not shape.n_decoder_layers)
            self.attention(place + 1 if masked else n)
            if in_decoder:
                self.attention(n)
            if shape.n_experts > 1:
                self.multiply("router", np.ones((shape.n_experts, x.size)), x)
            for _ in range(shape.top_k):
                for _ in range(2 if shape.gated else 1):
                    hidden = self.multiply("ffn", np.ones((shape.d_ff, x.size)), x, shape.ffn_bias)
                self.multiply("ffn", np.ones((x.size, hidden.size)), hidden, shape.ffn_bias)
        self.multiply("head", np.ones((shape.vocab_size, x.size)), x)


@causal_or_not
@small
def test_flops_are_twice_the_multiply_adds_that_a_run_makes(shape, causal):
    n = 5
    machine = Machine(shape)
    tokens = range(n) if causal else [n - 1]
    for place in tokens:
        machine.token(place, n, causal)
    flops = shape.flops(n, causal)
    for part, count in flops.parts.items():
        assert count * len(tokens) == 2 * machine.made[part], part
    assert flops.bias_adds * len(tokens) == machine.made["bias"]
    assert flops.softmax * len(tokens) == 4 * machine.scored


@every
def test_only_scores_and_softmax_grow_with_the_context(shape):
    near, far = shape.flops(10), shape.flops(20)
    assert far.attention_scores == 2 * near.attention_scores
    assert far.softmax == 2 * near.softmax
    assert (
        replace(far, context_length=10, attention_scores=near.attention_scores, softmax=near.softmax) == near
    )


def test_sharing_heads_of_k_and_v_makes_projections_cheaper_and_not_scores():
    shared = model("llama-2-70b")
    own = replace(shared, n_kv_heads=64)
    assert shared.flops(1).attention_scores == own.flops(1).attention_scores
    # By hand: K and V have 8 of 64 heads, 2·(1 - 1/8) of 4 equal matrices less.
    assert 16 * shared.flops(1).attention_projections == 9 * own.flops(1).attention_projections


@pytest.mark.parametrize("length", [0, -1, 1.5, True, "10", None])
def test_a_context_has_one_token_or_more(length):
    with pytest.raises(ValueError, match="context_length must be"):
        DENSE.flops(length)


# The crossover


def test_gpt2s_scores_reach_its_ffn_where_arithmetic_by_hand_says():
    # A layer: FFN 16·d², projections 8·d², scores 4·d·n, or 2·d·(n + 1) as the mean under a mask; d is 768.
    shape = model("gpt2-small")
    assert crossover(shape) == 4 * 768
    assert crossover(shape, projections=True) == 2 * 768
    assert crossover(shape, causal=True) == 8 * 768 - 1
    assert crossover(shape, projections=True, causal=True) == 4 * 768 - 1


@causal_or_not
@pytest.mark.parametrize("projections", [False, True])
@every
def test_at_the_crossover_attention_first_costs_as_much_as_the_ffn(shape, projections, causal):
    def reaches(n):
        flops = shape.flops(n, causal)
        return (flops.attention if projections else flops.attention_scores) >= flops.ffn

    n = crossover(shape, projections, causal)
    assert type(n) is int
    assert reaches(n)
    assert n == 1 or not reaches(n - 1)


def test_projections_alone_may_reach_the_ffn_and_then_every_context_does():
    narrow = replace(DENSE, d_ff=2)
    assert narrow.flops(1).attention_projections > narrow.flops(1).ffn
    assert crossover(narrow, projections=True) == 1


def test_more_experts_move_the_crossover_only_if_a_token_uses_them():
    assert crossover(replace(EXPERTS, n_experts=64)) == crossover(EXPERTS)
    assert crossover(replace(EXPERTS, top_k=4)) == 2 * crossover(EXPERTS)


# Memory


def test_memory_is_bytes_for_each_parameter():
    n = 4_328_521_728
    assert [memory(n, dtype) for dtype in ("float32", "float16", "int8")] == [
        17_314_086_912,
        8_657_043_456,
        n,
    ]


@pytest.mark.parametrize(("n", "dtype"), [(1, "float8"), (-1, "int8"), (1.0, "int8")])
def test_memory_of_nothing_that_is_counted_or_stored_is_an_error(n, dtype):
    with pytest.raises(ValueError, match="must be"):
        memory(n, dtype)


# In words


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"), (131_712, "131,712"), (999_999, "999,999"), (1_000_000, "1 million"), (124_439_808, "124 million"),
        (999_600_000, "1 billion"), (6_738_415_616, "6.74 billion"), (174_604_000_000, "175 billion"),
        (999_600_000_000_000, "1e15"), (2 * 10**20, "2e20"),
    ],
)  # fmt: skip
def test_a_large_count_is_told_in_three_digits(number, text):
    assert short_count(number) == text


def test_a_share_is_told_in_three_digits_also_where_it_is_tiny():
    assert [short_share(share) for share in (1, 0.6424, 0.05, 0.0003086, 0)] == [
        "100%", "64.2%", "5%", "0.0309%", "0%",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("size", "decimal", "binary"),
    [
        (500, "0.5 kB", "0.488 KiB"),
        (497_759_232, "498 MB", "475 MiB"),
        (2**30, "1.07 GB", "1 GiB"),
        (26_953_662_464, "27 GB", "25.1 GiB"),
        (698_000_000_000, "698 GB", "650 GiB"),
        (2**40, "1.1 TB", "1 TiB"),
    ],
)
def test_bytes_are_told_in_powers_of_a_thousand_or_of_1024(size, decimal, binary):
    assert (short_bytes(size), short_bytes(size, binary=True)) == (decimal, binary)


# Integers


@every
def test_every_count_is_a_python_integer(shape):
    for counted in (shape.parameters(), shape.flops(1000), shape.flops(1000, causal=True)):
        assert {type(getattr(counted, field.name)) for field in fields(counted)} == {int}
        assert type(counted.total) is int


def test_numpys_integers_do_not_overflow_here():
    sizes: dict[str, Any] = {"n_layers": np.int32(32), "d_model": np.int32(4096), "d_ff": np.int32(11_008)}
    shape = ModelShape(**sizes | {"n_heads": np.int8(32), "gated": np.True_, "ffn_bias": False})
    assert shape.parameters().ffn == 4_328_521_728
    n: Any = np.int32(2**30)
    assert type(shape.flops(n).attention_scores) is int
    assert memory(n, "float32") == 2**32


# Shapes


def test_what_is_not_said_follows_from_the_rest():
    shape = ModelShape(n_layers=1, d_model=12, d_ff=7, n_heads=3)
    assert (shape.n_kv_heads, shape.d_head) == (3, 4)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"d_model": 0}, "d_model must be 1 or more, got 0"),
        ({"d_ff": -4}, "d_ff must be 1 or more, got -4"),
        ({"n_heads": 0}, "n_heads must be 1 or more, got 0"),
        ({"n_layers": 1.5}, "n_layers must be an integer, got 1.5"),
        ({"n_layers": True}, "n_layers must be an integer, got True"),
        ({"vocab_size": -1}, "vocab_size must be 0 or more, got -1"),
        ({"gated": 1}, "gated must be True or False, got 1"),
        ({"norm": "batchnorm"}, "norm must be one of layernorm, rmsnorm, got 'batchnorm'"),
        ({"n_kv_heads": 4}, "n_heads must be a multiple of n_kv_heads, got 6 and 4;.* change one of the two"),
        ({"top_k": 3, "n_experts": 2}, "top_k must be at most n_experts, got 3 of 2; choose fewer"),
        ({"top_k": 2}, "top_k must be at most n_experts, got 2 of 1"),
        ({"n_decoder_layers": 3}, "n_decoder_layers must be at most n_layers, got 3 of 2"),
        ({"d_model": 13}, "d_model must be a multiple of n_heads, got 13 and 6; or say d_head"),
    ],
)
def test_sizes_that_fit_no_model_are_refused_with_the_way_out(change, reason):
    with pytest.raises(ValueError, match=reason):
        ModelShape(**({"n_layers": 2, "d_model": 12, "d_ff": 8, "n_heads": 6} | change))


def test_heads_may_be_wider_than_their_share_of_the_stream_where_that_is_said():
    assert (
        ModelShape(n_layers=1, d_model=13, d_ff=7, n_heads=6, d_head=5).attention_matrices()[0].weights
        == 30 * 13
    )


# The formulas


def sides(line: str) -> list[int]:
    """The sides of an equation that are numbers, each worked out."""
    numeric = [side for side in line.partition(": ")[2].split(" = ") if re.fullmatch(r"[0-9,·+−() ]+", side)]
    return [eval(side.replace(",", "").replace("·", "*").replace("−", "-")) for side in numeric]


@causal_or_not
@every
def test_every_printed_equation_is_true_and_ends_in_the_count(shape, causal):
    counted, flops = shape.parameters(), shape.flops(1000, causal)
    written = parameter_lines(shape)
    for lines in (*written.values(), *flop_lines(shape, 1000, causal).values()):
        for line in lines:
            values = sides(line)
            assert values, line
            assert all(a == b for a, b in pairwise(values)), line
    for part, count in counted.parts.items():
        assert (part in written) == (count > 0)
        if count:
            assert sides(written[part][-1])[-1] == count
    assert sides(written["total"][0])[-1] == counted.total
    assert sides(written["total"][-1])[-1] == counted.active
    for part, count in flops.parts.items():
        if count:
            assert sides(flop_lines(shape, 1000, causal)[part][0])[-1] == count
    assert sides(flop_lines(shape, 1000, causal)["total"][0])[-1] == flops.total


@every
def test_a_formulas_names_stand_for_its_numbers(shape):
    for part in ("ffn", "attention", "router", "embeddings", "pooler"):
        for line in parameter_lines(shape).get(part, []):
            label, _, equation = line.partition(": ")
            if label.startswith(("one ", "all", "norm")):
                continue
            names, numbers, _ = equation.split(" = ")
            plugged = re.sub(r"[a-z]\w*", lambda name: f"{getattr(shape, name[0]):,}", names)
            assert plugged == numbers


def test_the_active_parameters_of_experts_are_written_out():
    total, active = parameter_lines(model("mixtral-8x7b"))["total"]
    assert total.endswith(" = 46,702,792,704")
    assert (
        "n_layers·(n_experts − top_k)·expert = 46,702,792,704 − 32·(8 − 2)·176,160,768 = 12,879,925,248"
        in active
    )


def test_a_matrix_has_its_shape_in_names_and_numbers():
    query = GROUPED.attention_matrices()[0]
    assert query.rows == (("n_heads", 4), ("d_head", 3))
    assert query.columns == (("d_model", 6),)
    assert query.weights == prod((4, 3, 6))
    assert query.biases == 12
