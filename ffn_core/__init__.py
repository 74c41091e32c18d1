"""The arithmetic of a transformer's feed-forward network (FFN), on NumPy arrays.

    output = w2 · act(w1 · x + b1) + b2      d_model -> d_ff -> d_model, the same weights at every position

One name has one meaning everywhere:

    d_model     width of the residual stream
    d_ff        width of the hidden layer
    x           the FFN's input                                            [..., d_model]
    w1          the keys: row j is key j, a pattern                        [d_ff, d_model]
    b1          how readily each neuron fires                              [d_ff]
    hidden      w1 · x + b1, the argument of the nonlinearity              [..., d_ff]
    activated   act(hidden), the coefficients on the values                [..., d_ff]
    w2          the values: column j is value j                            [d_model, d_ff]
    b2          added to every output                                      [d_model]
    output      activated @ w2.T + b2, without the residual                [..., d_model]
    residual    x + output, what the block passes on                       [..., d_model]
    contribution   activated_j · value_j, what neuron j adds to one output [d_model]
    strength    a factor on value j, and so on neuron j's contribution: an intervention
    neuron      an index into d_ff
    position    an index into the leading axes of x, for one such axis the sequence

Matrices are [out, in], as in W @ x and `torch.nn.Linear`. Keys and values are those of Geva et al. 2021,
arXiv:2012.14913, and not attention's.
"""

from ffn_core import counting, curves, memories
from ffn_core.activations import ACTIVATIONS, Activation, activation
from ffn_core.counting import MODELS, Flops, ModelShape, Parameters, crossover
from ffn_core.dense import FFN, Gradients, Trace
from ffn_core.examples import EXAMPLES, Example, Printed, example, lesson_differences, random_example
from ffn_core.explain import Explanation, Term, explain
from ffn_core.scenario import Scenario
from ffn_core.shape_scenario import ShapeScenario

__all__ = [
    "ACTIVATIONS",
    "EXAMPLES",
    "FFN",
    "MODELS",
    "Activation",
    "Example",
    "Explanation",
    "Flops",
    "Gradients",
    "ModelShape",
    "Parameters",
    "Printed",
    "Scenario",
    "ShapeScenario",
    "Term",
    "Trace",
    "activation",
    "counting",
    "crossover",
    "curves",
    "example",
    "explain",
    "lesson_differences",
    "memories",
    "random_example",
]
