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

A gated network, output = w_down · (act(w_gate · x) * (w_up · x)), has two keys a neuron:

    w_gate      row j is what opens neuron j's gate                        [d_ff, d_model]
    w_up        row j is what passes through it                            [d_ff, d_model]
    w_down      plays w2: column j is value j                              [d_model, d_ff]
    b_gate, b_up, b_down   their biases, None where the layer has none     [d_ff], [d_ff], [d_model]
    hidden      w_gate · x + b_gate, the gate's pre-activation             [..., d_ff]
    gate        act(hidden)                                                [..., d_ff]
    up          w_up · x + b_up, the linear branch                         [..., d_ff]
    activated   gate * up                                                  [..., d_ff]

A mixture of experts sends each position to a few of many such networks:

    expert      one of the networks, an index into them
    router      chooses experts; never called a gate                       [n_experts, d_model]
    router_logits, router_probs   router · x, and its softmax              [..., n_experts]
    chosen      the top_k experts of a position, the most probable first   [..., top_k]
    routing_weights   what each one's output is multiplied by              [..., top_k]
    dropped     chosen, but the expert had no room: the weight is 0        [..., top_k]
    capacity    how many tokens (positions) an expert takes
    load, importance   the share routed to each expert, and its mean probability   [n_experts]

Learning moves the weights against the gradient of a loss:

    d_output    the gradient of the loss with respect to output, where backward starts
    target      what the output, or its first coordinate, is compared with
    step        one update of the weights, against the gradient
    h           how far a number is moved either way for a difference quotient

Matrices are [out, in], as in W @ x and `torch.nn.Linear`. Keys and values are those of Geva et al. 2021,
arXiv:2012.14913, and not attention's.
"""

from ffn_core import counting, curves, gradcheck, losses, memories, training
from ffn_core.activations import ACTIVATIONS, Activation, activation
from ffn_core.counting import MODELS, Flops, ModelShape, Parameters, crossover
from ffn_core.dense import FFN, Gradients, Trace
from ffn_core.examples import (
    EXAMPLES,
    VARIANTS,
    Example,
    Printed,
    example,
    lesson_differences,
    random_example,
)
from ffn_core.explain import Explanation, Term, explain
from ffn_core.gated import (
    GLU_KINDS,
    SHAZEER_2020,
    SHAZEER_2020_SOURCE,
    GatedFFN,
    GatedGradients,
    GatedTrace,
    GLUKind,
    llama_d_ff,
)
from ffn_core.gradcheck import Checked, error_by_step, relative_errors
from ffn_core.moe import MoE, MoEGradients, MoETrace, Routing, expert_capacity, route
from ffn_core.optimizers import gradient_step
from ffn_core.scenario import Scenario
from ffn_core.shape_scenario import ShapeScenario
from ffn_core.training import TASKS, FitState, Task, fit

__all__ = [
    "ACTIVATIONS",
    "EXAMPLES",
    "FFN",
    "GLU_KINDS",
    "MODELS",
    "SHAZEER_2020",
    "SHAZEER_2020_SOURCE",
    "TASKS",
    "VARIANTS",
    "Activation",
    "Checked",
    "Example",
    "Explanation",
    "FitState",
    "Flops",
    "GLUKind",
    "GatedFFN",
    "GatedGradients",
    "GatedTrace",
    "Gradients",
    "MoE",
    "MoEGradients",
    "MoETrace",
    "ModelShape",
    "Parameters",
    "Printed",
    "Routing",
    "Scenario",
    "ShapeScenario",
    "Task",
    "Term",
    "Trace",
    "activation",
    "counting",
    "crossover",
    "curves",
    "error_by_step",
    "example",
    "expert_capacity",
    "explain",
    "fit",
    "gradcheck",
    "gradient_step",
    "lesson_differences",
    "llama_d_ff",
    "losses",
    "memories",
    "random_example",
    "relative_errors",
    "route",
    "training",
]
