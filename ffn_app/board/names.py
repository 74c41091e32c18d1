"""What the coordinates, neurons and experts of an example stand for, in words."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ffn_core.dense import FFN
from ffn_core.examples import Example
from ffn_core.examples import example as example_called
from ffn_core.memories import detects
from ffn_core.scenario import MAX_EXPERTS, Edit, Scenario


@dataclass(frozen=True, kw_only=True)
class Names:
    """What coordinates, neurons and experts stand for, where an example says so, and what the example is about.

    Where an example names coordinates but no neurons, a neuron is named by what it detects, as the weights are now.
    The neurons of a mixture come expert by expert: `of_expert` gives those of one.
    """

    features: tuple[str, ...] = ()
    neurons: tuple[str, ...] = ()
    experts: tuple[str, ...] = ()
    about: str = ""

    def feature(self, i: int) -> str:
        """Coordinate i in words: "coordinate 3" or "coordinate 3 (animal)"."""
        return f"coordinate {i}" + (f" ({self.features[i]})" if i < len(self.features) else "")

    def neuron(self, j: int) -> str:
        """Neuron j in words: "Neuron 2" or "Neuron 2 (noun, and one was wanted)"."""
        return f"Neuron {j}" + (f" ({self.neurons[j]})" if j < len(self.neurons) else "")

    def expert(self, e: int) -> str:
        """Expert e in words: "Expert 2" or "Expert 2 (verbs)"."""
        return f"Expert {e}" + (f" ({self.experts[e]})" if e < len(self.experts) else "")

    def of_expert(self, e: int, d_ff: int) -> "Names":
        """The same names, with expert e's neurons alone; each expert has d_ff of them."""
        return replace(self, neurons=self.neurons[e * d_ff : (e + 1) * d_ff])


def names_of(scenario: Scenario) -> Names:
    """What the example's coordinates, neurons and experts stand for; nothing once a width was changed.

    A neuron whose weights were changed is said to *have been* what the example calls it. An expert that was added has
    no name, also where another was taken away before.
    """
    if not isinstance(scenario.base, str):
        return Names()
    example = example_called(scenario.base)
    now, then = (widths(one) for one in (scenario, scenario.start()))
    if now != then:
        return Names()
    fewest = min(
        (edit.value for edit in _flat(scenario.edits) if edit.array == "n_experts"), default=MAX_EXPERTS
    )
    return Names(
        features=example.features,
        neurons=_neurons(scenario, example, fewest),
        experts=example.experts[:fewest],
        about=example.description,
    )


def _neurons(scenario: Scenario, example: Example, n_experts: int) -> tuple[str, ...]:
    """What each neuron does, in the order in which `Example.neurons` has them; of a mixture's experts the first ones."""
    if not example.neurons:
        ffn, _ = scenario.without_strengths().build()
        named = example.features and isinstance(ffn, FFN)
        return tuple(detects(ffn, j, example.features) for j in range(ffn.d_ff)) if named else ()
    arrays, start = scenario.arrays, scenario.start().arrays
    differs = []
    for name, axes in scenario.kind.axes.items():
        if "d_ff" in axes:
            now, then = arrays[name], start[name]
            if scenario.kind.mixes:
                n = min(n_experts, len(now), len(then))
                now, then = now[:n], then[:n]
            others = tuple(axis for axis, letter in enumerate(axes) if letter not in ("n_experts", "d_ff"))
            differs.append((now != then).any(axis=others).ravel())
    changed = np.any(differs, axis=0)
    return tuple(f"was: {job}" if c else job for job, c in zip(example.neurons, changed, strict=False))


def _flat(edits: Iterable[Edit]) -> Iterator[Edit]:
    for edit in edits:
        yield from edit.value if edit.array == "together" else (edit,)


def widths(scenario: Scenario) -> dict[str, int]:
    """How wide the network is, in a mixture each expert: d_model and d_ff."""
    arrays = scenario.arrays
    return {
        axis: n
        for name, axes in scenario.kind.axes.items()
        for axis, n in zip(axes, arrays[name].shape, strict=True)
        if axis in ("d_model", "d_ff")
    }
