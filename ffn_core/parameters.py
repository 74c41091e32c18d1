"""A layer's parameters by flat names, and its gradients by the same: what is checked, and what steps are taken on.

FFN        w1, b1, w2, b2
GatedFFN   w_gate, w_up, w_down, and of b_gate, b_up, b_down those that it has
MoE        router, then each expert's own names: experts[0].w1 ..., and shared.w1 ... where there is a shared one
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from ffn_core.activations import Array
from ffn_core.dense import FFN, Gradients
from ffn_core.families import Layer
from ffn_core.gated import GatedGradients
from ffn_core.moe import MoE, MoEGradients

AnyLayer = TypeVar("AnyLayer", bound=Layer)
AnyGradients = Gradients | GatedGradients | MoEGradients

_DENSE = ("w1", "b1", "w2", "b2")
_GATED = ("w_gate", "w_up", "w_down", "b_gate", "b_up", "b_down")


def parameters(of: Layer | AnyGradients) -> dict[str, Array]:
    """The parameter arrays of a layer by name, or of a layer's gradients those of the parameters by the same names."""
    if not isinstance(of, MoE | MoEGradients):
        names = _DENSE if isinstance(of, FFN | Gradients) else _GATED
        return {name: array for name in names if (array := getattr(of, name)) is not None}
    return {"router": of.router} | {
        prefix + name: array
        for prefix, network in _networks(of)
        for name, array in parameters(network).items()
    }


def with_parameters(layer: AnyLayer, changed: Mapping[str, ArrayLike]) -> AnyLayer:
    """`layer` with the arrays of `changed` for those of its parameters.

    A ValueError says which name or shape does not fit.
    """
    check_names(changed, parameters(layer))
    if not changed:
        return layer
    named: dict[str, Any] = dict(changed)
    if isinstance(layer, MoE):
        networks = [
            with_parameters(
                network,
                {name: named[full] for name in parameters(network) if (full := prefix + name) in named},
            )
            for prefix, network in _networks(layer)
        ]
        named = {"router": named.get("router", layer.router), "experts": networks[: layer.n_experts]}
        if layer.shared is not None:
            named["shared"] = networks[-1]
    return replace(layer, **named)


def check_names(names: Iterable[str], known: Iterable[str]) -> None:
    """Raise a ValueError that names the first of `names` that is not among `known`."""
    for name in names:
        if name not in known:
            raise ValueError(f"no array is called {name!r}; there are {', '.join(known)}")


def _networks(of: Any) -> list[tuple[str, Any]]:
    """A mixture's networks, or their gradients, each with the prefix of its names."""
    shared = [] if of.shared is None else [("shared.", of.shared)]
    return [(f"experts[{index}].", network) for index, network in enumerate(of.experts)] + shared
