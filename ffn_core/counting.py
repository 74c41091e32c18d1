"""What a transformer's FFNs cost, in parameters, FLOPs and bytes, beside its attention and its embeddings.

A ModelShape lists its matrices once. Parameters, FLOPs and the formulas of `ffn_core.count_text` are all read off
that list, in Python's integers, which do not overflow. Conventions:

    parameters   all that is trained: matrices, biases, norms, learned positions. `active` leaves out the experts
                 that a token does not use, and nothing else; so it counts every row of the embeddings.
    FLOPs        per token, forward pass, over all layers: 2 for each multiply-add of a matrix. Bias adds and softmax
                 are listed apart and not in `total`; the nonlinearity, a gate's product, norms, residual additions
                 and looking up an embedding are not counted.
    attention    QKᵀ and AV over n keys, n the context length: the last token of a full context. Causal: the mean over the
                 n tokens, of which token i sees i keys, so (n + 1)/2 keys; 4·(n + 1)/2 is an integer, nothing is rounded.
    encoder and decoder (Vaswani et al. 2017)   a token stands for one source and one target token, both sequences of n
                 tokens. In a decoder layer cross-attention is a second attention block with a norm of its own. Causal
                 masks the decoder's self-attention alone.
"""

import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

MAX_CONTEXT = 1_000_000_000
"""Tokens of a context that pages and commands take; `ModelShape.flops` itself takes any number."""
BYTES = {"float32": 4, "float16": 2, "int8": 1}
NORM_VECTORS = {"layernorm": 2, "rmsnorm": 1}
"""Vectors [d_model] of one norm: LayerNorm has a gain and a bias, RMSNorm a gain."""

_FROM_ONE = ("n_layers", "d_model", "d_ff", "n_heads", "n_kv_heads", "d_head", "n_experts", "top_k")
_FROM_ZERO = ("vocab_size", "n_positions", "n_token_types", "n_norms", "n_decoder_layers")
_YES_OR_NO = ("gated", "ffn_bias", "attention_bias", "tied", "final_norm", "embedding_norm", "pooler")

Axis = tuple[tuple[str, int], ...]
"""The length of an axis as its factors: (("n_heads", 12), ("d_head", 64)) is 768."""


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """One matrix [rows, columns] of a model, with a bias [rows] or without."""

    name: str
    rows: Axis
    columns: Axis
    bias: bool = False

    @property
    def weights(self) -> int:
        """Entries of the matrix alone: the multiply-adds of one token."""
        return math.prod(size for _, size in (*self.rows, *self.columns))

    @property
    def biases(self) -> int:
        """Entries of the bias: the bias adds of one token."""
        return math.prod(size for _, size in self.rows) if self.bias else 0


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """How many parameters a model has, and where they live; `_per_layer` is one layer, the rest is the whole model."""

    ffn_per_layer: int
    """One layer's FFN with its biases; all experts, where there are several."""
    ffn_weights_per_layer: int
    """The same without biases."""
    attention_per_layer: int
    """One attention block with its biases: that of a decoder layer's cross-attention is apart, and as large."""
    attention_weights_per_layer: int
    norms_per_layer: int
    router_per_layer: int
    ffn: int
    ffn_weights: int
    attention: int
    """Self-attention of all layers, and cross-attention where there is any."""
    attention_weights: int
    norms: int
    """Those of all layers and the last one; a norm of the embeddings counts among the embeddings."""
    router: int
    embeddings: int
    """Tokens, learned positions, token types, their norm, and the output matrix where it is not tied."""
    pooler: int
    """BERT's last layer on the first token, a matrix and a bias; 0 elsewhere."""
    inactive: int
    """In the experts that one token does not use."""

    @property
    def parts(self) -> dict[str, int]:
        """The parts that make up the total, each parameter in one of them."""
        names = ("ffn", "attention", "norms", "router", "embeddings", "pooler")
        return {name: getattr(self, name) for name in names}

    @property
    def total(self) -> int:
        """All parameters."""
        return sum(self.parts.values())

    @property
    def active(self) -> int:
        """Those that take part in one token."""
        return self.total - self.inactive

    @property
    def shares(self) -> dict[str, float]:
        """Each part over the total; they sum to 1."""
        return {name: count / self.total for name, count in self.parts.items()}

    @property
    def ffn_share(self) -> float:
        """FFN parameters over the total."""
        return self.shares["ffn"]

    @property
    def attention_share(self) -> float:
        """Attention's parameters over the total."""
        return self.shares["attention"]

    @property
    def embeddings_share(self) -> float:
        """The embeddings' parameters over the total."""
        return self.shares["embeddings"]


@dataclass(frozen=True, kw_only=True)
class LayerParameters:
    """The parameters of one layer; an encoder and a decoder have layers of two kinds."""

    name: str
    """layer, encoder layer or decoder layer."""
    n_layers: int
    """Layers of this kind."""
    parts: dict[str, int]
    """FFN, attention (with cross-attention where the layer has it), norms and router."""
    inactive: int
    """In the experts that one token does not use."""

    @property
    def total(self) -> int:
        """All of one layer."""
        return sum(self.parts.values())

    @property
    def active(self) -> int:
        """Those that take part in one token."""
        return self.total - self.inactive


@dataclass(frozen=True, kw_only=True)
class Flops:
    """FLOPs of one token's forward pass through the whole model; the module says what counts."""

    context_length: int
    ffn: int
    """Only the experts that a token uses."""
    router: int
    attention_projections: int
    """Through the matrices w_q, w_k, w_v and w_o."""
    attention_scores: int
    """QKᵀ and AV, the part that grows with the context."""
    head: int
    """From the residual stream to the vocabulary; the same whether that matrix is tied or not."""
    ffn_bias_adds: int
    """Not in the total."""
    attention_bias_adds: int
    """Not in the total."""
    softmax: int
    """Attention's, 4 operations a score: subtract the greatest, exponentiate, sum, divide. Not in the total."""

    @property
    def parts(self) -> dict[str, int]:
        """The parts that make up the total."""
        names = ("ffn", "router", "attention_projections", "attention_scores", "head")
        return {name: getattr(self, name) for name in names}

    @property
    def total(self) -> int:
        """All multiply-adds, 2 FLOPs each."""
        return sum(self.parts.values())

    @property
    def attention(self) -> int:
        """Projections and scores."""
        return self.attention_projections + self.attention_scores

    @property
    def bias_adds(self) -> int:
        """The FFN's and attention's, 1 FLOP each, not in the total."""
        return self.ffn_bias_adds + self.attention_bias_adds

    @property
    def ffn_share(self) -> float:
        """The FFN's FLOPs over the total."""
        return self.ffn / self.total


@dataclass(frozen=True, kw_only=True)
class ModelShape:
    """The sizes of a transformer, all that its counts depend on.

    `n_kv_heads` None stands for n_heads, and `d_head` None for d_model / n_heads; neither is kept as None. Raises
    ValueError for sizes that fit no model. A vocab_size of 0 is a stack of layers alone: no embeddings, no head.
    """

    name: str = "custom"
    title: str = "A shape of one's own"
    source: str = ""
    n_layers: int
    """All layers; of an encoder and a decoder, those of both."""
    d_model: int
    d_ff: int
    """The hidden width; of one expert, where there are several."""
    n_heads: int
    n_kv_heads: int = None  # type: ignore[assignment]  # None is only what is given: __post_init__ replaces it
    """Heads of attention's K and V: n_heads, or fewer that groups of query heads share."""
    d_head: int = None  # type: ignore[assignment]
    vocab_size: int = 0
    n_positions: int = 0
    """Learned position embeddings; 0 for rotary and sinusoidal positions, which have no parameters."""
    n_token_types: int = 0
    """BERT's segment embeddings."""
    gated: bool = False
    """Three matrices w_gate, w_up, w_down in place of w1, w2."""
    ffn_bias: bool = True
    attention_bias: bool = True
    n_experts: int = 1
    """FFNs in each layer, with a router where there are several; 1 is a dense model."""
    top_k: int = 1
    """Experts that each token uses."""
    norm: str = "layernorm"
    """layernorm, a gain and a bias, or rmsnorm, a gain."""
    n_norms: int = 2
    """Norms in each layer; a decoder layer that attends to an encoder has one more, if it has any."""
    final_norm: bool = True
    embedding_norm: bool = False
    tied: bool = True
    """Whether the head multiplies by the token embeddings, or by a matrix of its own."""
    pooler: bool = False
    n_decoder_layers: int = 0
    """Of n_layers, those that attend to an encoder as well; 0 for a model of one stack."""

    def __post_init__(self) -> None:
        """Check every field, and fill in what was left to follow from others."""
        if self.n_kv_heads is None:
            object.__setattr__(self, "n_kv_heads", self.n_heads)
        for field in (*_FROM_ONE, *_FROM_ZERO):
            if field == "d_head" and self.d_head is None:
                object.__setattr__(self, "d_head", self._head_width())
            least = 1 if field in _FROM_ONE else 0
            object.__setattr__(self, field, _whole(field, getattr(self, field), least))
        for field in _YES_OR_NO:
            if not isinstance(value := getattr(self, field), (bool, np.bool_)):
                raise ValueError(f"{field} must be True or False, got {value!r}")
            object.__setattr__(self, field, bool(value))
        if self.norm not in NORM_VECTORS:
            raise ValueError(f"norm must be one of {', '.join(NORM_VECTORS)}, got {self.norm!r}")
        if self.n_heads % self.n_kv_heads:
            raise ValueError(
                f"n_heads must be a multiple of n_kv_heads, got {self.n_heads} and {self.n_kv_heads};"
                " each head of K and V serves equally many query heads, as 8 serve 32: change one of the two"
            )
        if self.top_k > self.n_experts:
            raise ValueError(
                f"top_k must be at most n_experts, got {self.top_k} of {self.n_experts};"
                " choose fewer or have more experts"
            )
        if self.n_decoder_layers > self.n_layers:
            raise ValueError(
                f"n_decoder_layers must be at most n_layers, got {self.n_decoder_layers} of {self.n_layers};"
                " n_layers counts the encoder's and the decoder's together"
            )

    def _head_width(self) -> int:
        if self.d_model % self.n_heads:
            raise ValueError(
                f"d_model must be a multiple of n_heads, got {self.d_model} and {self.n_heads};"
                " or say d_head, the width of a head"
            )
        return self.d_model // self.n_heads

    # The list of matrices: every count and every formula is read off it.

    def ffn_matrices(self) -> tuple[Matrix, ...]:
        """Those of one FFN, or of one expert."""
        bias = self.ffn_bias
        into = [
            self._matrix(name, ("d_ff",), ("d_model",), bias)
            for name in (("w_gate", "w_up") if self.gated else ("w1",))
        ]
        return (*into, self._matrix("w_down" if self.gated else "w2", ("d_model",), ("d_ff",), bias))

    def attention_matrices(self) -> tuple[Matrix, ...]:
        """Those of one attention block."""
        bias, query, shared = self.attention_bias, ("n_heads", "d_head"), ("n_kv_heads", "d_head")
        return (
            self._matrix("w_q", query, ("d_model",), bias),
            self._matrix("w_k", shared, ("d_model",), bias),
            self._matrix("w_v", shared, ("d_model",), bias),
            self._matrix("w_o", ("d_model",), query, bias),
        )

    def router_matrices(self) -> tuple[Matrix, ...]:
        """The router of one layer, or nothing."""
        return (self._matrix("router", ("n_experts",), ("d_model",)),) if self.n_experts > 1 else ()

    def head_matrices(self) -> tuple[Matrix, ...]:
        """What multiplies the last residual stream, or nothing; tied, it is the token embeddings themselves."""
        return (self._matrix("head", ("vocab_size",), ("d_model",)),) if self.vocab_size else ()

    def embedding_matrices(self) -> tuple[Matrix, ...]:
        """The embeddings, and a head of its own where it is not tied."""
        tables = (("tokens", "vocab_size"), ("positions", "n_positions"), ("token types", "n_token_types"))
        found = [self._matrix(name, (size,), ("d_model",)) for name, size in tables if getattr(self, size)]
        return (*found, *(() if self.tied else self.head_matrices()))

    def pooler_matrices(self) -> tuple[Matrix, ...]:
        """BERT's pooler, or nothing."""
        return (self._matrix("pooler", ("d_model",), ("d_model",), True),) if self.pooler else ()

    def _matrix(self, name: str, rows: Iterable[str], columns: Iterable[str], bias: bool = False) -> Matrix:
        row_axis, column_axis = (
            tuple((field, getattr(self, field)) for field in axis) for axis in (rows, columns)
        )
        return Matrix(name=name, rows=row_axis, columns=column_axis, bias=bias)

    @property
    def norm_size(self) -> int:
        """Parameters of one norm."""
        return NORM_VECTORS[self.norm] * self.d_model

    @property
    def n_layer_norms(self) -> int:
        """Norms in all layers, those of cross-attention among them."""
        return self.n_layers * self.n_norms + (self.n_decoder_layers if self.n_norms else 0)

    def attention_blocks(self, causal: bool = False) -> tuple[int, int]:
        """(blocks that see the whole context, blocks that see what came before) in all layers."""
        blocks = self.n_layers + self.n_decoder_layers
        masked = (self.n_decoder_layers or self.n_layers) if causal else 0
        return blocks - masked, masked

    def parameters(self) -> Parameters:
        """Count the parameters, part by part."""
        expert, block = _size(self.ffn_matrices()), _size(self.attention_matrices())
        ffn_weights = self.n_experts * _weights(self.ffn_matrices())
        block_weights = _weights(self.attention_matrices())
        router = _size(self.router_matrices())
        blocks = sum(self.attention_blocks())
        return Parameters(
            ffn_per_layer=self.n_experts * expert,
            ffn_weights_per_layer=ffn_weights,
            attention_per_layer=block,
            attention_weights_per_layer=block_weights,
            norms_per_layer=self.n_norms * self.norm_size,
            router_per_layer=router,
            ffn=self.n_layers * self.n_experts * expert,
            ffn_weights=self.n_layers * ffn_weights,
            attention=blocks * block,
            attention_weights=blocks * block_weights,
            norms=(self.n_layer_norms + self.final_norm) * self.norm_size,
            router=self.n_layers * router,
            embeddings=_size(self.embedding_matrices()) + self.embedding_norm * self.norm_size,
            pooler=_size(self.pooler_matrices()),
            inactive=self.n_layers * (self.n_experts - self.top_k) * expert,
        )

    def layers(self) -> tuple[LayerParameters, ...]:
        """One layer of each kind that the model has, the encoder's first."""
        counted = self.parameters()
        inactive = counted.inactive // self.n_layers
        kinds = [("layer", self.n_layers, 1, 0)]
        if self.n_decoder_layers:
            n_encoder, cross_norm = self.n_layers - self.n_decoder_layers, min(1, self.n_norms)
            kinds = [("decoder layer", self.n_decoder_layers, 2, cross_norm)]
            if n_encoder:
                kinds.insert(0, ("encoder layer", n_encoder, 1, 0))
        return tuple(
            LayerParameters(
                name=name,
                n_layers=n,
                parts={
                    "ffn": counted.ffn_per_layer,
                    "attention": blocks * counted.attention_per_layer,
                    "norms": counted.norms_per_layer + more_norms * self.norm_size,
                    "router": counted.router_per_layer,
                },
                inactive=inactive,
            )
            for name, n, blocks, more_norms in kinds
        )

    def flops(self, context_length: int, causal: bool = False) -> Flops:
        """Count the FLOPs of one token in a context of `context_length` tokens, 1 or more."""
        n = _whole("context_length", context_length, 1)
        ffn, attention = self.ffn_matrices(), self.attention_matrices()
        uses, blocks = self.n_layers * self.top_k, sum(self.attention_blocks())
        return Flops(
            context_length=n,
            ffn=2 * uses * _weights(ffn),
            router=2 * self.n_layers * _weights(self.router_matrices()),
            attention_projections=2 * blocks * _weights(attention),
            # A key costs each head two dot products as long as the head (QKᵀ, AV), 2 FLOPs an entry ...
            attention_scores=2 * self.n_heads * self.d_head * _twice_the_keys(self, n, causal),
            head=2 * _weights(self.head_matrices()),
            ffn_bias_adds=uses * sum(matrix.biases for matrix in ffn),
            attention_bias_adds=blocks * sum(matrix.biases for matrix in attention),
            # ... and 4 operations in softmax.
            softmax=2 * self.n_heads * _twice_the_keys(self, n, causal),
        )


def crossover(shape: ModelShape, projections: bool = False, causal: bool = False) -> int:
    """The smallest context length at which attention's FLOPs per token are at least the FFN's.

    Attention is its scores alone, or with its projections; those may reach the FFN by themselves, and the answer is
    then 1. The FFN is the experts that a token uses, without the router.
    """
    one = shape.flops(1, causal)
    to_reach = one.ffn - (one.attention_projections if projections else 0)
    # The scores are a straight line in the context length; its slope is positive and its height at 1 known.
    slope = shape.flops(2, causal).attention_scores - one.attention_scores
    return max(1, 1 - (one.attention_scores - to_reach) // slope)


def memory(n_parameters: int, dtype: str) -> int:
    """Bytes that the parameters take as `dtype`, one of BYTES; scales of a quantization are not counted."""
    if dtype not in BYTES:
        raise ValueError(f"dtype must be one of {', '.join(BYTES)}, got {dtype!r}")
    return BYTES[dtype] * _whole("n_parameters", n_parameters, 0)


def model(name: str) -> ModelShape:
    """The model of MODELS with this name; raises ValueError that lists the names."""
    if name not in MODELS:
        raise ValueError(f"no model is called {name!r}; there are {', '.join(MODELS)}")
    return MODELS[name]


def _size(matrices: Iterable[Matrix]) -> int:
    return sum(matrix.weights + matrix.biases for matrix in matrices)


def _weights(matrices: Iterable[Matrix]) -> int:
    return sum(matrix.weights for matrix in matrices)


def _twice_the_keys(shape: ModelShape, n: int, causal: bool) -> int:
    """Keys that one token meets in all attention blocks, times 2: the mean of a causal block is a half."""
    whole, masked = shape.attention_blocks(causal)
    return whole * 2 * n + masked * (n + 1)


def _whole(name: str, value: Any, least: int) -> int:
    """`value` as a Python integer, which cannot overflow as NumPy's do."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ValueError(f"{name} must be an integer, got {value!r}")
    number = operator.index(value)
    if number < least:
        raise ValueError(f"{name} must be {least} or more, got {number}")
    return number


def _gpt(**sizes: Any) -> ModelShape:
    return ModelShape(**sizes, vocab_size=50_257)


def _llama(**sizes: Any) -> ModelShape:
    plain: dict[str, Any] = {
        "gated": True,
        "ffn_bias": False,
        "attention_bias": False,
        "norm": "rmsnorm",
        "tied": False,
    }
    return ModelShape(**plain, **sizes)


MODELS: dict[str, ModelShape] = {
    shape.name: shape
    for shape in (
        ModelShape(
            name="lesson",
            title="The lesson's layer, 128 to 512",
            source="lesson 1, Feed-Forward Network: one FFN beside one attention block, without norms and embeddings."
            " It names no heads; one is counted, and more change nothing but softmax",
            n_layers=1,
            d_model=128,
            d_ff=512,
            n_heads=1,
            n_norms=0,
            final_norm=False,
        ),
        ModelShape(
            name="vaswani-base",
            title="Transformer base (2017)",
            source="Vaswani et al. 2017, arXiv:1706.03762: Table 3, base; section 3 (6 encoder and 6 decoder layers,"
            " no bias in attention's projections, embeddings and head shared, sinusoidal positions); section 5.1"
            " (about 37,000 tokens). The paper prints 65 million parameters",
            n_layers=12,
            n_decoder_layers=6,
            d_model=512,
            d_ff=2048,
            n_heads=8,
            vocab_size=37_000,
            attention_bias=False,
            final_norm=False,
        ),
        _gpt(
            name="gpt2-small",
            title="GPT-2 small",
            source="Radford et al. 2019, Table 2; config.json of openai-community/gpt2",
            n_layers=12,
            d_model=768,
            d_ff=3072,
            n_heads=12,
            n_positions=1024,
        ),
        _gpt(
            name="gpt2-xl",
            title="GPT-2 XL",
            source="Radford et al. 2019, Table 2; config.json of openai-community/gpt2-xl",
            n_layers=48,
            d_model=1600,
            d_ff=6400,
            n_heads=25,
            n_positions=1024,
        ),
        _gpt(
            name="gpt3-175b",
            title="GPT-3 175B",
            source="Brown et al. 2020, arXiv:2005.14165, Table 2.1 and section 2.1 (d_ff = 4 d_model, 2048 positions);"
            " vocabulary and biases as in GPT-2",
            n_layers=96,
            d_model=12_288,
            d_ff=49_152,
            n_heads=96,
            n_positions=2048,
        ),
        ModelShape(
            name="bert-base",
            title="BERT base, uncased",
            source="Devlin et al. 2019, arXiv:1810.04805, section 3; config.json of google-bert/bert-base-uncased."
            " With its pooler, without the transform that its masked-word head puts before the tied matrix",
            n_layers=12,
            d_model=768,
            d_ff=3072,
            n_heads=12,
            vocab_size=30_522,
            n_positions=512,
            n_token_types=2,
            embedding_norm=True,
            final_norm=False,
            pooler=True,
        ),
        _llama(
            name="llama-2-7b",
            title="Llama 2 7B",
            source="Touvron et al. 2023, arXiv:2307.09288, Table 1; config.json of meta-llama/Llama-2-7b-hf",
            n_layers=32,
            d_model=4096,
            d_ff=11_008,
            n_heads=32,
            vocab_size=32_000,
        ),
        _llama(
            name="llama-2-13b",
            title="Llama 2 13B",
            source="Touvron et al. 2023, arXiv:2307.09288, Table 1; config.json of meta-llama/Llama-2-13b-hf",
            n_layers=40,
            d_model=5120,
            d_ff=13_824,
            n_heads=40,
            vocab_size=32_000,
        ),
        _llama(
            name="llama-2-70b",
            title="Llama 2 70B",
            source="Touvron et al. 2023, arXiv:2307.09288, Table 1; config.json of meta-llama/Llama-2-70b-hf",
            n_layers=80,
            d_model=8192,
            d_ff=28_672,
            n_heads=64,
            n_kv_heads=8,
            vocab_size=32_000,
        ),
        _llama(
            name="llama-3-8b",
            title="Llama 3 8B",
            source="Grattafiori et al. 2024, arXiv:2407.21783, Table 3; config.json of meta-llama/Meta-Llama-3-8B",
            n_layers=32,
            d_model=4096,
            d_ff=14_336,
            n_heads=32,
            n_kv_heads=8,
            vocab_size=128_256,
        ),
        _llama(
            name="mixtral-8x7b",
            title="Mixtral 8x7B",
            source="Jiang et al. 2024, arXiv:2401.04088, Table 1; config.json of mistralai/Mixtral-8x7B-v0.1",
            n_layers=32,
            d_model=4096,
            d_ff=14_336,
            n_heads=32,
            n_kv_heads=8,
            vocab_size=32_000,
            n_experts=8,
            top_k=2,
        ),
    )
}
