"""A mixture of experts: a router gives each position to a few of many feed-forward networks.

    output = sum of routing_weight_e · expert_e(x) over the top_k chosen experts e, plus the shared expert's, if any

The router is linear, without a bias: router_logits = router · x, router_probs = softmax(router_logits). Shazeer et al.
2017, arXiv:1701.06538; capacity and the loss that balances the experts as in Fedus et al. 2021, arXiv:2101.03961. A
"token" is a position of x, counted over all of its leading axes.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ffn_core.activations import Array, as_numbers, computing_dtype
from ffn_core.dense import FFN, BlockTrace, Gradients, Position, Trace, check_widths, checked_x, read_only
from ffn_core.gated import GatedFFN, GatedGradients, GatedTrace, as_written
from ffn_core.memories import as_index, greatest_first

Expert = FFN | GatedFFN
ExpertTrace = Trace | GatedTrace
ExpertGradients = Gradients | GatedGradients
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, kw_only=True)
class Routing:
    """Which experts each token goes to: `chosen` [..., top_k], the most probable first, and `routing_weights` of
    that shape, what their outputs are multiplied by; `probs` [..., n_experts] is the softmax of all logits.
    """

    chosen: Indices
    routing_weights: Array
    probs: Array

    def __post_init__(self) -> None:
        """Make every array read-only."""
        for array in vars(self).values():
            array.setflags(write=False)


def route(logits: ArrayLike, top_k: int, renormalize: bool = True) -> Routing:
    """Send each token to the `top_k` experts of the greatest `logits` [..., n_experts], of equals the lower index.

    The weights are the softmax over the chosen logits alone, which is their probabilities divided by their sum; with
    `renormalize=False` they are the probabilities themselves, and sum to less than 1.

    Logits may be infinite or NaN, as in a limit. Of -inf the probability and the weight are 0: an expert may then be
    chosen, to make up `top_k`, and add nothing; where all are -inf, all are 0. Several of +inf share the whole
    probability. NaN counts as the greatest, since it decides the sum: it makes all of its token's probabilities and
    weights NaN.
    """
    logits = as_numbers("logits", logits)
    if not logits.ndim or not logits.shape[-1]:
        raise ValueError(f"logits must be [..., n_experts] with an expert, got {list(logits.shape)}")
    top_k = _checked_top_k(top_k, logits.shape[-1])
    chosen = greatest_first(logits)[..., :top_k].copy()
    probs = _softmax(logits)
    weights = _softmax(_at(logits, chosen)) if renormalize else _at(probs, chosen)
    return Routing(chosen=chosen, routing_weights=weights, probs=probs)


def expert_capacity(n_tokens: int, n_experts: int, top_k: int, factor: float) -> int:
    """How many tokens an expert takes: ceil(n_tokens · top_k / n_experts · factor).

    A factor of 1 is just enough where all experts get equally many. It means the decimal that it is written as, and
    the product is worked out in fractions: 100 tokens, top 1 of 2 experts and 1.1 give 55, where floats give
    55.00000000000001 and so 56.
    """
    if as_index(n_tokens) < 0:
        raise ValueError(f"n_tokens must be an integer, 0 or more, got {n_tokens!r}")
    check_widths(n_experts=n_experts)
    top_k = _checked_top_k(top_k, n_experts)
    return math.ceil(as_written("factor", factor) * int(n_tokens) * top_k / int(n_experts))


@dataclass(frozen=True, eq=False, kw_only=True, init=False)
class MoE:
    """A router and its experts.

    router [n_experts, d_model] is real numbers, kept as a read-only copy; `experts` are dense or gated networks of
    the router's d_model; each token goes to `top_k` of them, from 1 to n_experts. `renormalize` is as in `route`.

    `capacity` is how many tokens an expert takes in one forward pass: None for all, an int for so many, a float for
    the factor of `expert_capacity`; 1 is one token and 1.0 an even share. What is beyond is dropped: the expert does
    not compute it, and its weight is 0, without the token's other weights becoming greater. An expert drops the least
    probable of its tokens, by router_probs, of equals those that come last.

    `shared`, if any, is an expert that every token goes to as well, with the weight 1.
    """

    router: Array
    experts: tuple[Expert, ...]
    top_k: int
    renormalize: bool = True
    capacity: float | None = None
    shared: Expert | None = None

    def __init__(
        self,
        *,
        router: ArrayLike,
        experts: Iterable[Expert],
        top_k: int,
        renormalize: bool = True,
        capacity: float | None = None,
        shared: Expert | None = None,
    ) -> None:
        """Check that all fit together, and keep a read-only copy of the router."""
        router, experts = as_numbers("router", router), tuple(experts)
        if router.ndim != 2 or 0 in router.shape:
            raise ValueError(
                f"router must be a matrix [n_experts, d_model] without an empty axis, got {list(router.shape)}"
            )
        if len(experts) != len(router):
            raise ValueError(
                f"router must have a row for each of the {len(experts)} experts, got {list(router.shape)}"
            )
        _check_experts(experts if shared is None else (*experts, shared), router.shape[1])
        kept = {
            "router": read_only(router),
            "experts": experts,
            "top_k": _checked_top_k(top_k, len(experts)),
            "renormalize": bool(renormalize),
            "capacity": _checked_capacity(capacity),
            "shared": shared,
        }
        for name, value in kept.items():
            object.__setattr__(self, name, value)

    @classmethod
    def random(
        cls,
        d_model: int,
        d_ff: int | None,
        n_experts: int,
        top_k: int,
        seed: int = 0,
        *,
        gated: bool = False,
        activation: str | None = None,
        renormalize: bool = True,
        capacity: float | None = None,
        shared: bool = False,
        dtype: DTypeLike = np.float64,
    ) -> "MoE":
        """Random experts, `FFN.random` or, if `gated`, `GatedFFN.random`; the same for the same arguments.

        `d_ff` None and `activation` None mean what they mean there. The router is normal with standard deviation
        1/sqrt(d_model), so that a standard normal x gives logits of about unit size.
        """
        check_widths(d_model=d_model, n_experts=n_experts)
        kind = GatedFFN if gated else FFN
        named: dict[str, Any] = {} if activation is None else {"activation": activation}
        seeds = np.random.SeedSequence(seed).generate_state(n_experts + 1).tolist()
        every = [kind.random(d_model, d_ff, seed=each, dtype=dtype, **named) for each in seeds]
        router = np.random.default_rng(seed).standard_normal((n_experts, d_model)) / math.sqrt(d_model)
        return cls(
            router=router.astype(computing_dtype(dtype)),
            experts=every[:n_experts],
            top_k=top_k,
            renormalize=renormalize,
            capacity=capacity,
            shared=every[n_experts] if shared else None,
        )

    @property
    def d_model(self) -> int:
        """Width of the residual stream, and so of x and output."""
        return int(self.router.shape[1])

    @property
    def n_experts(self) -> int:
        """How many experts the router chooses from; the shared one is not among them."""
        return len(self.experts)

    @property
    def n_parameters(self) -> int:
        """How many numbers the router and all experts are, the shared one among them."""
        return self._with_router(expert.n_parameters for expert in self.experts)

    @property
    def n_active_parameters(self) -> int:
        """How many of them a token meets: the router, the shared expert, and `top_k` experts, the largest if unequal."""
        largest_first = sorted((expert.n_parameters for expert in self.experts), reverse=True)
        return self._with_router(largest_first[: self.top_k])

    def _with_router(self, experts: Iterable[int]) -> int:
        return self.router.size + (self.shared.n_parameters if self.shared else 0) + sum(experts)

    def tokens_per_expert(self, n_tokens: int) -> int | None:
        """How many of `n_tokens` an expert takes at most; None where there is no limit. See `capacity`."""
        if isinstance(self.capacity, float):
            return expert_capacity(n_tokens, self.n_experts, self.top_k, self.capacity)
        return self.capacity

    def forward(self, x: ArrayLike) -> "MoETrace":
        """The trace for x [..., d_model] with any leading axes, none and empty ones included."""
        x = checked_x(x, self.router)
        rows = x.reshape(-1, self.d_model)
        with np.errstate(all="ignore"):  # weights may be infinite, and then so are the sums
            logits = rows @ self.router.T
            routing = route(logits, self.top_k, self.renormalize)
            dropped = _dropped(routing, self.tokens_per_expert(len(rows)))
            weights = np.where(dropped, 0, routing.routing_weights)
            takes = [(routing.chosen == index) & ~dropped for index in range(self.n_experts)]
            tokens = tuple(np.nonzero(taken)[0] for taken in takes)
            experts = tuple(
                expert.forward(rows[those]) for expert, those in zip(self.experts, tokens, strict=True)
            )
            shared = None if self.shared is None else self.shared.forward(x)
            output = np.zeros(rows.shape, np.result_type(x, *(trace.output for trace in experts)))
            for taken, those, trace in zip(takes, tokens, experts, strict=True):
                output[those] += _weighted(trace.output, weights[taken])
            if shared is not None:
                output = output + shared.output.reshape(rows.shape)
        return MoETrace(
            moe=self,
            x=x,
            router_logits=logits,
            router_probs=routing.probs,
            chosen=routing.chosen,
            routing_weights=weights,
            dropped=dropped,
            experts=experts,
            tokens=tokens,
            shared=shared,
            output=output,
        )


class Mixed(NamedTuple):
    """One chosen expert's part in the output at one position; `output` [d_model] is the expert's own, unweighted."""

    expert: int
    weight: float
    dropped: bool
    output: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class MoETrace(BlockTrace):
    """Every number of one forward pass. Made by `MoE.forward`.

    x and output are [..., d_model], router_logits and router_probs [..., n_experts]. `chosen` [..., top_k] are the
    experts that each position is routed to, the most probable first, `dropped` of the same shape those for which there
    was no room, and `routing_weights`, too, what each one's output is multiplied by, 0 where dropped.

    `experts[e]` is expert e's own trace, over the tokens that it really computed; `tokens[e]` says which those are, in
    ascending order, as indices into the positions in a row, `x.reshape(-1, d_model)`. `shared` is the trace of the
    shared expert over all of x, None where there is none.
    """

    moe: MoE
    router_logits: Array
    router_probs: Array
    chosen: Indices
    routing_weights: Array
    dropped: Flags
    experts: tuple[ExpertTrace, ...]
    tokens: tuple[Indices, ...]
    shared: ExpertTrace | None

    def __post_init__(self) -> None:
        """Give each stage the leading axes of x and make every array read-only."""
        super().__post_init__()
        for those in self.tokens:
            those.setflags(write=False)

    @property
    def counts(self) -> Indices:
        """How many tokens were routed to each expert, those among them that it dropped: [n_experts]."""
        return np.bincount(self.chosen.reshape(-1), minlength=self.moe.n_experts)

    @property
    def kept(self) -> Indices:
        """How many tokens each expert computed: [n_experts]."""
        return np.array([len(those) for those in self.tokens], dtype=np.intp)

    @property
    def load(self) -> Array:
        """Each expert's share of all that was routed, before drops: [n_experts], sums to 1; all 0 without tokens."""
        return self.counts / max(1, self.chosen.size)

    @property
    def importance(self) -> Array:
        """The mean of each expert's probability over the tokens: [n_experts]; all 0 without tokens."""
        probs = self.router_probs.reshape(-1, self.moe.n_experts)
        mean: Array = probs.sum(axis=0) / max(1, len(probs))
        return mean

    @property
    def balance_loss(self) -> float:
        """What is added to a loss to even out the experts: n_experts · sum_e load_e · importance_e.

        It is 1 where all get equally much, and up to n_experts where one gets everything. Here load sums to 1 for any
        top_k. Other code, such as Mixtral's in transformers, lets it sum to top_k, and so has top_k times this.
        """
        return self.moe.n_experts * float((self.load * self.importance).sum())

    def row_of(self, expert: int, position: Position) -> int | None:
        """The row of `experts[expert]` that is `position`; None where that expert did not compute it."""
        at, lead = self.at(position), self.x.shape[:-1]
        token = np.ravel_multi_index(at, lead) if lead else 0
        rows = np.flatnonzero(self.tokens[expert] == token)
        return int(rows[0]) if rows.size else None

    def mix(self, position: Position) -> tuple[Mixed, ...]:
        """What the output at `position` is mixed from, an entry a chosen expert in the order of `chosen`.

        Weight times output adds up to the output there, after the shared expert's, if any. A dropped expert did not
        compute this position: its weight and its output are 0.
        """
        at = self.at(position)
        mixed = []
        for slot, expert in enumerate(self.chosen[at].tolist()):
            row = self.row_of(expert, position)
            output = np.zeros_like(self.output[at]) if row is None else self.experts[expert].output[row]
            weight, dropped = float(self.routing_weights[at][slot]), bool(self.dropped[at][slot])
            mixed.append(Mixed(expert=expert, weight=weight, dropped=dropped, output=output))
        return tuple(mixed)

    def backward(self, d_output: ArrayLike) -> "MoEGradients":
        """The gradients of a loss whose gradient with respect to output is `d_output` [..., d_model].

        They go through the experts and through the routing weights; which experts are chosen and which tokens are
        dropped is constant, as it is for small changes away from ties. Those of the weights are sums over all tokens.
        """
        moe = self.moe
        d_rows = self.checked_d_output(d_output).reshape(-1, moe.d_model)
        rows, logits = self.x.reshape(d_rows.shape), self.router_logits.reshape(-1, moe.n_experts)
        chosen, weights = self.chosen.reshape(-1, moe.top_k), self.routing_weights.reshape(-1, moe.top_k)
        dropped = self.dropped.reshape(chosen.shape)
        d_weights, d_x = np.zeros(chosen.shape, d_rows.dtype), np.zeros_like(d_rows)
        gradients: list[ExpertGradients] = []
        with np.errstate(all="ignore"):
            for index, (those, trace) in enumerate(zip(self.tokens, self.experts, strict=True)):
                taken = (chosen == index) & ~dropped
                weight = weights[taken]
                d_weights[taken] = np.where(weight == 0, 0, (d_rows[those] * trace.output).sum(axis=-1))
                gradients.append(trace.backward(_weighted(d_rows[those], weight)))
                d_x[those] += gradients[-1].x
            if moe.renormalize:
                d_chosen = _softmax_backward(_softmax(_at(logits, chosen)), d_weights)
                d_logits = _spread(d_chosen, chosen, moe.n_experts)
            else:
                probs = self.router_probs.reshape(logits.shape)
                d_logits = _softmax_backward(probs, _spread(d_weights, chosen, moe.n_experts))
            d_x += d_logits @ moe.router
            shared = None if self.shared is None else self.shared.backward(d_output)
            if shared is not None:
                d_x += shared.x.reshape(d_x.shape)
            return MoEGradients(
                x=d_x.reshape(self.x.shape),
                router=d_logits.T @ rows,
                experts=tuple(gradients),
                shared=shared,
                router_logits=d_logits.reshape(self.router_logits.shape),
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class MoEGradients:
    """The gradients of a loss, each named after and shaped like the array that it is the gradient of.

    `experts` are the experts' own gradients, zeros for one that computed nothing; their `x` and inner arrays are over
    the tokens that each one computed. `shared` is None where there is no shared expert.
    """

    x: Array
    router: Array
    experts: tuple[ExpertGradients, ...]
    shared: ExpertGradients | None
    router_logits: Array

    def __post_init__(self) -> None:
        """Make every array read-only."""
        for array in (self.x, self.router, self.router_logits):
            array.setflags(write=False)


def _softmax(logits: Array) -> Array:
    """Softmax over the last axis, at infinities and NaN as `route` says."""
    with np.errstate(all="ignore"):
        greatest = logits.max(axis=-1, keepdims=True)
        powers = np.exp(np.where(logits == greatest, 0, logits - greatest))  # inf - inf would be NaN
        powers = np.where(greatest == -np.inf, 0, powers)
        total = powers.sum(axis=-1, keepdims=True)
        probs: Array = powers / np.where(total == 0, 1, total)
    return probs


def _softmax_backward(probs: Array, d_probs: Array) -> Array:
    """The gradient with respect to the logits from that with respect to their softmax `probs`."""
    gradient: Array = probs * (d_probs - (probs * d_probs).sum(axis=-1, keepdims=True))
    return gradient


def _at(array: Array, chosen: Indices) -> Array:
    """The entries of `array` [..., n_experts] that are `chosen` [..., top_k]."""
    entries: Array = np.take_along_axis(array, chosen, axis=-1)
    return entries


def _spread(entries: Array, chosen: Indices, n_experts: int) -> Array:
    """The array [tokens, n_experts] that is 0 but for `entries` where they are `chosen`: the reverse of `_at`."""
    array = np.zeros((len(entries), n_experts), entries.dtype)
    np.put_along_axis(array, chosen, entries, axis=-1)
    return array


def _weighted(rows: Array, weights: Array) -> Array:
    """Each row times its weight; with the weight 0 it is 0, an infinite one too."""
    weights = weights[:, np.newaxis]
    return np.where(weights == 0, 0, weights * rows)


def _dropped(routing: Routing, most: int | None) -> Flags:
    """Where an expert has no room for a token that chose it, [tokens, top_k]; `most` None is room for all."""
    dropped = np.zeros(routing.chosen.shape, dtype=np.bool_)
    if most is not None:
        for expert in range(routing.probs.shape[-1]):
            tokens, slots = np.nonzero(routing.chosen == expert)
            beyond = greatest_first(routing.probs[tokens, expert])[most:]
            dropped[tokens[beyond], slots[beyond]] = True
    return dropped


def _checked_top_k(top_k: int, n_experts: int) -> int:
    if not 1 <= (number := as_index(top_k)) <= n_experts:
        raise ValueError(f"top_k must be an integer from 1 to n_experts = {n_experts}, got {top_k!r}")
    return number


def _checked_capacity(capacity: float | None) -> float | None:
    if capacity is None:
        return None
    if isinstance(capacity, Integral) and as_index(capacity) >= 0:
        return int(capacity)
    if isinstance(capacity, float | np.floating):
        return float(as_written("capacity", capacity))
    raise ValueError(
        f"capacity must be None for no limit, an integer, 0 or more, for so many tokens, or a float for a factor of "
        f"the even share, got {capacity!r}"
    )


def _check_experts(experts: tuple[Expert, ...], d_model: int) -> None:
    for expert in experts:
        if not isinstance(expert, FFN | GatedFFN):
            raise ValueError(f"an expert must be an FFN or a GatedFFN, got {type(expert).__name__}")
        if expert.d_model != d_model:
            raise ValueError(
                f"every expert must have the router's d_model = {d_model}, got one of {expert.d_model}"
            )
