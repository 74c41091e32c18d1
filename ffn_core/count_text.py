"""The counts of `ffn_core.counting` as the lesson prints them: a formula with its numbers plugged in.

w1, b1: d_ff·d_model + d_ff = 512·128 + 512 = 66,048
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from ffn_core.counting import BYTES, NORM_VECTORS, Axis, Matrix, ModelShape, Parameters, crossover, memory
from ffn_core.matrix_text import short_number

PART_WORDS = {
    "ffn": "FFN",
    "attention": "attention",
    "norms": "norms",
    "router": "router",
    "embeddings": "embeddings",
    "pooler": "pooler",
    "attention_projections": "attention's projections",
    "attention_scores": "attention's scores",
    "head": "head",
}
"""What the parts of `Parameters.parts` and `Flops.parts` are called."""
_NORMS = {"layernorm": "LayerNorm", "rmsnorm": "RMSNorm"}


_LARGE = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"))
_DECIMAL = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_BINARY = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def short_count(number: int) -> str:
    """A count in three significant digits: 124 million; below a million all digits, from 10¹⁵ on as 1.2e15."""
    if number < 10**6:
        return f"{number:,}"
    if number >= 0.9995 * 10**15:
        return short_number(number)
    unit, name = _unit(number, _LARGE)
    return f"{short_number(number / unit)} {name}"


def short_share(share: float) -> str:
    """A share in three significant digits: 45.5%, 0.0309%."""
    return f"{short_number(100 * share)}%"


def short_bytes(size: int, *, binary: bool = False) -> str:
    """A size in three significant digits: 1.23 GB, which is 10⁹ bytes; `binary` as 1.15 GiB, which is 2³⁰."""
    unit, name = _unit(size, _BINARY if binary else _DECIMAL)
    return f"{short_number(size / unit)} {name}"


def _unit(number: int, units: tuple[tuple[int, str], ...]) -> tuple[int, str]:
    """The greatest unit of which `number`, rounded to three digits, is at least 1; or the least."""
    return next((unit for unit in units if number >= 0.9995 * unit[0]), units[-1])


def parameter_lines(shape: ModelShape) -> dict[str, list[str]]:
    """For each part that the model has, one line a formula, up to the part's count in the whole model.

    The keys are those of `Parameters.parts`, without the parts that are 0, and `total`.
    """
    counted = shape.parameters()
    lines = {
        "ffn": _ffn(shape, counted),
        "attention": _attention(shape, counted),
        "norms": _norms(shape, counted),
        "router": _router(shape, counted),
        "embeddings": _embeddings(shape, counted),
        "pooler": [_line(matrix) for matrix in shape.pooler_matrices()],
    }
    return {part: lines[part] for part, count in counted.parts.items() if count} | {
        "total": _totals(shape, counted)
    }


def flop_lines(shape: ModelShape, context_length: int, causal: bool = False) -> dict[str, list[str]]:
    """For each part of one token's FLOPs that the model has, its formula in one line; and `total`, and `apart`."""
    counted = shape.flops(context_length, causal)
    blocks = sum(shape.attention_blocks())
    ffn = _sum(matrix.weights for matrix in shape.ffn_matrices())
    attention = _sum(matrix.weights for matrix in shape.attention_matrices())
    used, of_used = (f"·{shape.top_k}", "·top_k") if shape.n_experts > 1 else ("", "")
    one = "one expert" if shape.n_experts > 1 else "one FFN"
    lines = {
        "ffn": f"2·n_layers{of_used}·(weights of {one}) = 2·{shape.n_layers:,}{used}·({ffn})",
        "router": f"2·n_layers·n_experts·d_model = 2·{shape.n_layers:,}·{shape.n_experts:,}·{shape.d_model:,}",
        "attention_projections": f"2·{_blocks(shape)}·(weights of one block) = 2·{blocks:,}·({attention})",
        "attention_scores": _scores(shape, counted.context_length, causal),
        "head": f"2·vocab_size·d_model = 2·{shape.vocab_size:,}·{shape.d_model:,}",
    }
    written = {
        part: [f"{PART_WORDS[part]}: {lines[part]} = {count:,}"]
        for part, count in counted.parts.items()
        if count
    }
    parts = [count for count in counted.parts.values() if count]
    written["total"] = [f"total: {_sum(parts)} = {counted.total:,}"]
    written["apart"] = [f"bias adds: {counted.bias_adds:,}", f"softmax: {counted.softmax:,}"]
    return written


def count_lines(shape: ModelShape, context_length: int, causal: bool = False) -> Iterator[str]:
    """All that is counted of a model, for a terminal."""
    counted, flops = shape.parameters(), shape.flops(context_length, causal)
    yield shape.title
    yield f"Source: {shape.source}"
    yield ""
    yield "Parameters"
    yield from _table(counted.parts, counted.total)
    if counted.active != counted.total:
        yield f"  {'active a token':<24}{counted.active:>18,}"
    for part, lines in parameter_lines(shape).items():
        yield ""
        yield f"  {PART_WORDS.get(part, part)}"
        yield from (f"    {line}" for line in lines)
    yield ""
    keys = "each sees itself and those before it; the mean" if causal else "one that sees them all"
    yield f"FLOPs per token in a context of {flops.context_length:,} tokens: {keys}"
    if 0 < shape.n_positions < flops.context_length:
        yield f"  beyond the {shape.n_positions:,} positions that the model has embeddings for"
    yield from _table(flops.parts, flops.total)
    yield ""
    for part, lines in flop_lines(shape, context_length, causal).items():
        yield from (f"  {'not in the total: ' if part == 'apart' else ''}{line}" for line in lines)
    yield ""
    yield "Context length at which attention costs as much as the FFN"
    yield f"  scores alone             {crossover(shape, causal=causal):>17,}"
    yield f"  with projections         {crossover(shape, projections=True, causal=causal):>17,}"
    yield ""
    yield "Memory of all parameters"
    for dtype in BYTES:
        size = memory(counted.total, dtype)
        yield f"  {dtype:<24}{size:>18,} bytes = {short_bytes(size)}"


def count_json(shape: ModelShape, context_length: int, causal: bool = False) -> dict[str, Any]:
    """The same as plain data."""
    counted, flops = shape.parameters(), shape.flops(context_length, causal)
    return {
        "shape": asdict(shape),
        "parameters": asdict(counted)
        | {"total": counted.total, "active": counted.active, "shares": counted.shares},
        "flops": asdict(flops) | {"causal": causal, "total": flops.total, "bias_adds": flops.bias_adds},
        "crossover": {
            "scores": crossover(shape, causal=causal),
            "with_projections": crossover(shape, projections=True, causal=causal),
        },
        "memory": {dtype: memory(counted.total, dtype) for dtype in BYTES},
    }


def _ffn(shape: ModelShape, counted: Parameters) -> list[str]:
    one, expert = _one("one expert" if shape.n_experts > 1 else "one FFN", shape.ffn_matrices())
    if shape.n_experts > 1:
        one.append(
            f"one layer: n_experts·expert = {shape.n_experts:,}·{expert:,} = {counted.ffn_per_layer:,}"
        )
    return [
        *one,
        f"all layers: n_layers·layer = {shape.n_layers:,}·{counted.ffn_per_layer:,} = {counted.ffn:,}",
    ]


def _attention(shape: ModelShape, counted: Parameters) -> list[str]:
    one, block = _one("one block", shape.attention_matrices())
    blocks = sum(shape.attention_blocks())
    return [*one, f"all blocks: {_blocks(shape)}·block = {blocks:,}·{block:,} = {counted.attention:,}"]


def _norms(shape: ModelShape, counted: Parameters) -> list[str]:
    names, numbers = ["n_layers·n_norms"], [f"{shape.n_layers:,}·{shape.n_norms:,}"]
    if cross := shape.n_layer_norms - shape.n_layers * shape.n_norms:
        names, numbers = [*names, "n_decoder_layers"], [*numbers, f"{cross:,}"]
    if shape.final_norm:
        names, numbers = [*names, "1 at the end"], [*numbers, "1"]
    sums = f"({' + '.join(names)})·norm = ({' + '.join(numbers)})·{shape.norm_size:,}"
    return [_norm_line(f"one {_NORMS[shape.norm]}", shape), f"all: {sums} = {counted.norms:,}"]


def _norm_line(label: str, shape: ModelShape) -> str:
    if NORM_VECTORS[shape.norm] == 1:
        return f"{label}: d_model = {shape.norm_size:,}"
    times = f"{NORM_VECTORS[shape.norm]}·"
    return f"{label}: {times}d_model = {times}{shape.d_model:,} = {shape.norm_size:,}"


def _router(shape: ModelShape, counted: Parameters) -> list[str]:
    lines = [_line(matrix) for matrix in shape.router_matrices()]
    layers = f"{shape.n_layers:,}·{counted.router_per_layer:,}"
    return [*lines, f"all layers: n_layers·router = {layers} = {counted.router:,}"]


def _embeddings(shape: ModelShape, counted: Parameters) -> list[str]:
    lines = [_line(matrix) for matrix in shape.embedding_matrices()]
    terms = [matrix.weights for matrix in shape.embedding_matrices()]
    if shape.embedding_norm:
        lines.append(_norm_line("norm", shape))
        terms.append(shape.norm_size)
    if len(terms) > 1:
        lines.append(f"all: {_sum(terms)} = {counted.embeddings:,}")
    return lines


def _totals(shape: ModelShape, counted: Parameters) -> list[str]:
    parts = {part: count for part, count in counted.parts.items() if count}
    lines = [
        f"all: {' + '.join(map(PART_WORDS.__getitem__, parts))} = {_sum(parts.values())} = {counted.total:,}"
    ]
    if counted.inactive:
        expert = counted.ffn_per_layer // shape.n_experts
        lines.append(
            "active a token: total − n_layers·(n_experts − top_k)·expert ="
            f" {counted.total:,} − {shape.n_layers:,}·({shape.n_experts:,} − {shape.top_k:,})·{expert:,}"
            f" = {counted.active:,}"
        )
    return lines


def _one(what: str, matrices: tuple[Matrix, ...]) -> tuple[list[str], int]:
    """A line for each matrix and one for their sum, and the sum."""
    sizes = [matrix.weights + matrix.biases for matrix in matrices]
    lines = [_line(matrix) for matrix in matrices]
    return [*lines, f"{what}: {_sum(sizes)} = {sum(sizes):,}"], sum(sizes)


def _line(matrix: Matrix) -> str:
    names, numbers = _product(matrix.rows, matrix.columns)
    label = matrix.name
    if matrix.bias:
        bias_names, bias_numbers = _product(matrix.rows)
        names, numbers = f"{names} + {bias_names}", f"{numbers} + {bias_numbers}"
        label = f"{label}, {_bias_name(label)}"
    return f"{label}: {names} = {numbers} = {matrix.weights + matrix.biases:,}"


def _bias_name(matrix: str) -> str:
    """b1 for w1, b_q for w_q; the pooler's has no name of its own."""
    return f"b{matrix[1:]}" if matrix.startswith("w") else "bias"


def _product(*axes: Axis) -> tuple[str, str]:
    factors = [factor for axis in axes for factor in axis]
    return "·".join(name for name, _ in factors), "·".join(f"{size:,}" for _, size in factors)


def _blocks(shape: ModelShape) -> str:
    return "(n_layers + n_decoder_layers)" if shape.n_decoder_layers else "n_layers"


def _scores(shape: ModelShape, n: int, causal: bool) -> str:
    heads = f"{shape.n_heads:,}·{shape.d_head:,}"
    whole, masked = shape.attention_blocks(causal)
    names, numbers = [], []
    if whole:
        names.append(f"4·{'blocks' if shape.n_decoder_layers else 'n_layers'}·n_heads·d_head·n")
        numbers.append(f"4·{whole:,}·{heads}·{n:,}")
    if masked:
        names.append(f"2·{'masked blocks' if whole else 'n_layers'}·n_heads·d_head·(n + 1)")
        numbers.append(f"2·{masked:,}·{heads}·({n:,} + 1)")
    return f"{' + '.join(names)} = {' + '.join(numbers)}"


def _sum(numbers: Iterable[int]) -> str:
    return " + ".join(f"{number:,}" for number in numbers)


def _table(parts: dict[str, int], total: int) -> Iterator[str]:
    for part, count in parts.items():
        if count:
            yield f"  {PART_WORDS[part]:<24}{count:>18,}  {count / total:7.2%}"
    yield f"  {'total':<24}{total:>18,}"
