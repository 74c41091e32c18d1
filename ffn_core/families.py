"""The layers that a scenario can hold, each kind with its arrays: one table for edits, links, files and pages.

A layer is an FFN, a GatedFFN or an MoE. The arrays of a mixture are those of its experts, stacked along a first
axis, beside the router; what else it is made of are its options, which are numbers too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ffn_core.activations import Array
from ffn_core.checks import EditError, check_integer, check_number, short
from ffn_core.dense import FFN, Layout
from ffn_core.gated import GatedFFN
from ffn_core.moe import MoE

Layer: TypeAlias = FFN | GatedFFN | MoE
Family = Literal["dense", "gated", "experts"]
Axes = dict[str, tuple[str, ...]]

OPTIONS = ("top_k", "renormalize", "capacity")
MAX_CAPACITY = 100.0

_NETWORK_AXES: dict[type[FFN] | type[GatedFFN], Axes] = {
    FFN: {
        "w1": ("d_ff", "d_model"),
        "b1": ("d_ff",),
        "w2": ("d_model", "d_ff"),
        "b2": ("d_model",),
    },
    GatedFFN: {
        "w_gate": ("d_ff", "d_model"),
        "w_up": ("d_ff", "d_model"),
        "w_down": ("d_model", "d_ff"),
    },
}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What a scenario of one kind holds. `family` is what its layer is, `network` what computes in it."""

    name: str
    family: Family
    network: type[FFN] | type[GatedFFN]

    @property
    def mixes(self) -> bool:
        """Whether the layer is a mixture of experts."""
        return self.family == "experts"

    @cached_property
    def axes(self) -> Axes:
        """The axes of every array by name: x first, then the weights in the order in which they are shown."""
        x: Axes = {"x": ("positions", "d_model")}
        axes = _NETWORK_AXES[self.network]
        if not self.mixes:
            return x | axes
        router: Axes = {"router": ("n_experts", "d_model")}
        return x | router | {name: ("n_experts", *of_one) for name, of_one in axes.items()}

    @property
    def arrays(self) -> tuple[str, ...]:
        """The names of the arrays, x first."""
        return tuple(self.axes)

    @property
    def values(self) -> str:
        """The array whose columns are the neurons' values, in a mixture that of each expert."""
        return "w_down" if self.network is GatedFFN else "w2"

    def weights(self, layer: Layer) -> dict[str, npt.NDArray[Any]]:
        """The layer's weights by name, in the shapes of `axes`."""
        names = _NETWORK_AXES[self.network]
        if not isinstance(layer, MoE):
            return {name: getattr(layer, name) for name in names}
        stacks = {name: np.stack([getattr(expert, name) for expert in layer.experts]) for name in names}
        return {"router": layer.router, **stacks}

    def sizes(self, layer: Layer) -> dict[str, int]:
        """How long each axis of the layer's weights is: d_model, d_ff, and of a mixture n_experts."""
        return {
            axis: n
            for name, array in self.weights(layer).items()
            for axis, n in zip(self.axes[name], array.shape, strict=True)
        }

    @property
    def activation(self) -> str:
        """The nonlinearity of a network that does not say its own."""
        return "silu" if self.network is GatedFFN else "gelu_tanh"

    def options(self, layer: Layer) -> dict[str, float | int]:
        """What the layer is besides its weights: of a mixture top_k, renormalize (0 or 1) and capacity (a factor, 0 for
        no limit).
        """
        if not isinstance(layer, MoE):
            return {}
        capacity = 0.0 if layer.capacity is None else float(layer.capacity)
        return dict(zip(OPTIONS, (layer.top_k, int(layer.renormalize), capacity), strict=True))

    def build(
        self,
        weights: Mapping[str, Array],
        activation: str,
        options: Mapping[str, float | int],
        layout: Layout = "out_in",
    ) -> Layer:
        """The layer of these weights, every array of `axes` but x; a ValueError says which does not fit.

        An activation is that of all experts, a layout (see `FFN.from_arrays`) that of their matrices.
        """
        network: Any = partial(self.network.from_arrays, activation=activation, layout=layout)
        if not self.mixes:
            alone: Layer = network(**weights)
            return alone
        stacks = {name: weights[name] for name in _NETWORK_AXES[self.network]}
        n_experts = len(np.atleast_1d(weights["router"]))
        for name, stack in stacks.items():
            if stack.ndim != len(self.axes[name]) or len(stack) != n_experts:
                raise ValueError(
                    f"{name} must be [{', '.join(self.axes[name])}] with {n_experts} experts, as many as the router "
                    f"has rows, got {list(stack.shape)}"
                )
        experts = [network(**{name: stack[e] for name, stack in stacks.items()}) for e in range(n_experts)]
        return MoE(
            router=weights["router"],
            experts=experts,
            top_k=int(options["top_k"]),
            renormalize=bool(options["renormalize"]),
            capacity=float(options["capacity"]) or None,
        )

    def random(self, d_model: int, d_ff: int, seed: int, n_experts: int = 1) -> Layer:
        """A random layer: `FFN.random`, `GatedFFN.random`, or `MoE.random` with the best two experts, if there are two."""
        if not self.mixes:
            return self.network.random(d_model, d_ff, seed=seed)
        return MoE.random(
            d_model, d_ff, n_experts, min(2, n_experts), seed=seed, gated=self.network is GatedFFN
        )


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(name="dense", family="dense", network=FFN),
        Kind(name="gated", family="gated", network=GatedFFN),
        Kind(name="experts", family="experts", network=FFN),
        Kind(name="experts_gated", family="experts", network=GatedFFN),
    )
}


def check_option(name: str, value: Any, n_experts: int) -> float | int:
    """`value`, if a mixture of so many experts can have it as this one of OPTIONS; an EditError says what it may be."""
    if name != "capacity":
        return check_integer(name, value, *((1, n_experts) if name == "top_k" else (0, 1)))
    factor = check_number(name, value)
    if not 0 <= factor <= MAX_CAPACITY:
        raise EditError(f"{name} must be from 0, no limit, to {MAX_CAPACITY:g}, got {short(value)}")
    return factor


def activation_of(layer: Layer) -> str:
    """The layer's nonlinearity; a mixture's experts share one."""
    return layer.experts[0].activation if isinstance(layer, MoE) else layer.activation


def kind_of(layer: Layer) -> Kind:
    """The kind whose arrays hold all that `layer` is; an EditError says what no scenario can hold."""
    networks = layer.experts if isinstance(layer, MoE) else (layer,)
    if isinstance(layer, MoE):
        if layer.shared is not None:
            raise EditError("a scenario holds no shared expert; leave it out with shared=None")
        if isinstance(layer.capacity, int):
            raise EditError(
                f"a scenario's capacity is a factor, as 1.25, got {layer.capacity} tokens; give a float"
            )
        alike = {(type(expert), expert.d_ff, expert.activation) for expert in networks}
        if len(alike) > 1:
            raise EditError(
                "a scenario's experts are all dense or all gated, of one d_ff and one activation, got "
                + ", ".join(sorted(f"{kind.__name__} {d_ff} {name}" for kind, d_ff, name in alike)[:3])
            )
    for network in networks:
        if isinstance(network, GatedFFN):
            biases = [name for name in ("b_gate", "b_up", "b_down") if getattr(network, name) is not None]
            if biases:
                raise EditError(f"a gated FFN in a scenario has no biases, got {', '.join(biases)}")
    return next(
        kind
        for kind in KINDS.values()
        if kind.mixes == isinstance(layer, MoE) and isinstance(networks[0], kind.network)
    )
