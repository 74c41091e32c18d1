"""What the coordinates and neurons of an example stand for, in words."""

from dataclasses import dataclass

from ffn_core.examples import example as example_called
from ffn_core.scenario import Scenario


@dataclass(frozen=True, kw_only=True)
class Names:
    """What coordinates and neurons stand for, where an example says so, and what the example is about."""

    features: tuple[str, ...] = ()
    neurons: tuple[str, ...] = ()
    about: str = ""

    def feature(self, i: int) -> str:
        """Coordinate i in words: "coordinate 3" or "coordinate 3 (animal)"."""
        return f"coordinate {i}" + (f" ({self.features[i]})" if i < len(self.features) else "")

    def neuron(self, j: int) -> str:
        """Neuron j in words: "Neuron 2" or "Neuron 2 (noun, and one was wanted)"."""
        return f"Neuron {j}" + (f" ({self.neurons[j]})" if j < len(self.neurons) else "")


def names_of(scenario: Scenario) -> Names:
    """What the example's coordinates and neurons stand for; nothing once a width was changed."""
    if not isinstance(scenario.base, str):
        return Names()
    example = example_called(scenario.base)
    ffn, _ = scenario.build()
    if (ffn.d_model, ffn.d_ff) != (example.ffn.d_model, example.ffn.d_ff):
        return Names()
    return Names(features=example.features, neurons=example.neurons, about=example.description)
