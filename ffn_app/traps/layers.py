"""Traps of a whole layer: the nonlinearity in the wrong place, or nowhere, and biases that are forgotten."""

from collections.abc import Callable

import numpy as np
import streamlit as st

from ffn_app.figures.traps import REACH, Compared, two_ways
from ffn_app.live_plot import live_plot
from ffn_app.session import Session
from ffn_app.traps.form import Question, Trap, chosen, on_the_open_network, side_by_side, sliders
from ffn_core.curves import linear_map
from ffn_core.dense import FFN
from ffn_core.matrix_text import short_number
from ffn_core.traps import (
    Layer,
    activation_after,
    activation_before,
    activation_twice,
    as_meant,
    no_activation,
    without_b1,
    without_b2,
    without_biases,
)

RIGHT = "`x + W2 @ relu(W1 @ x + b1) + b2`"

FALLS = FFN(w1=np.identity(2), b1=np.zeros(2), w2=[[-1, 2], [1, 1]], b2=np.zeros(2), activation="relu")
DISTANCE = FFN(w1=[[1, -1], [-1, 1]], b1=np.zeros(2), w2=[[1, 1], [1, -1]], b2=np.zeros(2), activation="relu")
OPPOSED = FFN(w1=[[1, 1], [1, -1]], b1=np.zeros(2), w2=np.identity(2), b2=np.zeros(2), activation="relu")
BOTH_ON = FFN(w1=[[1, 1]], b1=[-1], w2=[[0], [1]], b2=[0.5, 0], activation="relu")


def _tried(
    name: str,
    ffn: FFN,
    start: tuple[float, float],
    wrongs: dict[str, tuple[Layer, str]],
    *,
    asks: str = "",
    residual: bool = False,
) -> Callable[[Session], None]:
    """What is shown of a layer: x on two sliders, both ways line by line, the picture, and the open network.

    `wrongs` are the ways to go wrong, of which one is chosen if there are more, each with the formula it computes.
    """

    def reveal(session: Session) -> None:
        st.markdown("**Try other numbers**: move x, and watch both ways.")
        x = sliders(name, ("x[0]", "x[1]"), start, REACH)
        label = chosen(asks, list(wrongs), f"{name}_which") if len(wrongs) > 1 else next(iter(wrongs))
        wrong, formula = wrongs[label]
        live_plot(two_ways(ffn, x, Compared(wrong, label, residual)), key=f"traps_{name}_ways")
        side_by_side(RIGHT, as_meant(ffn, x).lines, formula, wrong(ffn, x).lines)
        on_the_open_network(session, name, wrong)

    return reveal


# ---------------------------------------------------------------- after W2

AFTER = Trap(
    name="after",
    label="After W2",
    title="An activation after W2",
    story="The block adds what the FFN gives: x + FFN(x). An activation belongs between the two matrices. Somebody "
    "puts the ReLU after W2, where it makes every number of FFN(x) 0 or more.",
    questions=(
        Question(
            name="after",
            given="x  = [1, −1]\n"
            "W1 = [[1, 0], [0, 1]]\n"
            "W2 = [[−1, 2], [1, 1]]\n"
            "hidden     = W1 @ x         = [1, −1]\n"
            "activated  = relu(hidden)   = [1, 0]\n"
            "FFN(x)     = W2 @ activated = [−1, 1]\n"
            "x + FFN(x)                  = [0, 0]",
            ask="With the ReLU between the two, coordinate 0 falls from 1 to 0. With the ReLU **after W2 instead**, what "
            "is coordinate 0 of x + FFN(x)?",
            answer=float(activation_after(FALLS, [1.0, -1.0]).residual[0]),
            because="W2 · x = [−3, 0], the ReLU makes [0, 0] of it, and x stays where it was.",
            reveal=_tried(
                "after",
                FALLS,
                (1.0, -1.0),
                {
                    "the ReLU after W2 instead": (activation_after, "`x + relu(W2 @ (W1 @ x + b1) + b2)`"),
                    "the ReLU after W2 as well": (
                        activation_twice,
                        "`x + relu(W2 @ relu(W1 @ x + b1) + b2)`",
                    ),
                },
                asks="The mistake",
                residual=True,
            ),
        ),
    ),
    notice="""
- **Look for a minus sign in FFN(x).** If no output is ever below 0, over many inputs, something clamps it.
- In the picture the wrong way never goes below the dotted line: x + FFN(x) is never less than x, **whatever the
  weights**. Block after block a coordinate can only climb.
- A test whose right outputs are all positive cannot see a ReLU too many: take one with a negative output.
- With GELU instead of ReLU it is nearly as bad: no output is below −0.17.
""",
)


# ---------------------------------------------------------------- none


def _none(session: Session) -> None:
    one = linear_map(DISTANCE)
    matrix = "; ".join(" ".join(short_number(value) for value in row) for row in one.matrix.tolist())
    st.markdown(
        f"**Two matrices, but one is enough.** W2 · W1 = [{matrix}] (rows, with ; between them) gives the same as "
        f"the layer without its ReLU, for every x. Its rank is {one.rank} of 2. The layer that is meant cannot be "
        "written as one matrix."
    )
    _none_tried(session)


_none_tried = _tried(
    "none", DISTANCE, (3.0, 1.0), {"no activation": (no_activation, "`x + W2 @ (W1 @ x + b1) + b2`")}
)

NONE = Trap(
    name="none",
    label="No activation",
    title="No activation at all",
    story="Forget the ReLU, and the program still runs: W2 @ (W1 @ x). But two matrices, one after the other, are "
    "one matrix.",
    questions=(
        Question(
            name="none",
            given="x  = [3, 1]\n"
            "W1 = [[1, −1], [−1, 1]]\n"
            "W2 = [[1, 1], [1, −1]]\n"
            "hidden     = W1 @ x         = [2, −2]\n"
            "activated  = relu(hidden)   = [2, 0]\n"
            "FFN(x)     = W2 @ activated = [2, 2]",
            ask="Coordinate 0 of FFN(x) is the distance of the two numbers of x. **Without the ReLU**, what is FFN(x)[0]?",
            answer=float(no_activation(DISTANCE, [3.0, 1.0]).output[0]),
            because="2 + (−2): the two neurons cancel, for every x. No single matrix can take the distance of two "
            "numbers.",
            reveal=_none,
        ),
    ),
    notice="""
- **Turn x round.** Without biases, −x then gives exactly the opposite of x, in every coordinate. Behind a ReLU it does not: the
  distance above stays what it is.
- **Add two inputs.** FFN(x + y) is then FFN(x) + FFN(y): no pattern in both of them together is ever found.
- In the picture each coordinate is a straight line: no bend anywhere.
- Shapes, parameter counts and speed are all as they should be. Training runs too, but a stack of such blocks learns
  no more than one matrix could.
""",
)


# ---------------------------------------------------------------- before W1

APART, ALIKE, NEITHER = "[0, 2]", "[1, 1]", "[0, 0]"

BEFORE = Trap(
    name="before",
    label="Before W1",
    title="An activation before W1",
    story="The keys, rows of W1, look for patterns in x, and x has negative numbers. Somebody applies the ReLU to "
    "x first, and not to hidden.",
    questions=(
        Question(
            name="before",
            given="x  = [1, −1]\n"
            "W1 = [[1, 1], [1, −1]]\n"
            "W2 = [[1, 0], [0, 1]]\n"
            "hidden     = W1 @ x         = [0, 2]\n"
            "activated  = relu(hidden)   = [0, 2]\n"
            "FFN(x)     = W2 @ activated = [0, 2]",
            ask="Key 1 is [1, −1]: it fires, because the two numbers of x oppose each other. What is FFN(x) with the ReLU"
            " **before W1** instead?",
            choices=(APART, ALIKE, NEITHER),
            answer=ALIKE,
            because="relu(x) = [1, 0]: the −1 is gone before any key has seen it, and both keys read 1.",
            reveal=_tried(
                "before",
                OPPOSED,
                (1.0, -1.0),
                {"the ReLU before W1": (activation_before, "`x + W2 @ (W1 @ relu(x) + b1) + b2`")},
            ),
        ),
    ),
    notice="""
- **Change only a negative number of x**, from −1 to −2. If the output stays the same, something threw it away: in the
  picture the wrong way is flat left of 0.
- Behind the ReLU all is linear, so neurons can have negative `activated`: with ReLU in its place there are none.
- If the input of the layer is never negative the trap is silent; after a layer norm about half of the numbers are.
""",
)


# ---------------------------------------------------------------- biases

BIAS = Trap(
    name="bias",
    label="Bias forgotten",
    title="A bias forgotten",
    story="b1 says how much of its pattern a neuron asks for before it fires; b2 is added to every output. Each is "
    "one small `+ b` in the code.",
    questions=(
        Question(
            name="bias",
            given="x  = [1, 0]\n"
            "W1 = [[1, 1]]       b1 = [−1]\n"
            "W2 = [[0], [1]]     b2 = [0.5, 0]\n"
            "hidden    = W1 @ x + b1    = [0]\n"
            "activated = relu(hidden)   = [0]\n"
            "FFN(x)    = W2 @ activated + b2\n"
            "          = [0.5, 0]",
            ask="One neuron that fires only if both numbers of x are 1. **b1 is forgotten**: what is FFN(x)[1]?",
            answer=float(without_b1(BOTH_ON, [1.0, 0.0]).output[1]),
            because="Without the −1, hidden is 1: one input is enough, and AND has become a count.",
            reveal=_tried(
                "bias",
                BOTH_ON,
                (1.0, 0.0),
                {
                    "b1 forgotten": (without_b1, "`x + W2 @ relu(W1 @ x) + b2`"),
                    "b2 forgotten": (without_b2, "`x + W2 @ relu(W1 @ x + b1)`"),
                    "both forgotten": (without_biases, "`x + W2 @ relu(W1 @ x)`"),
                },
                asks="The mistake",
            ),
        ),
    ),
    notice="""
- **Feed x = 0.** Then hidden is b1 and nothing else, and the output W2 · act(b1) + b2. Without biases all of it is 0.
- **b2 forgotten:** every output is off by the same numbers, whatever x is. Subtract: the difference is b2.
- **b1 forgotten:** the difference changes with x, and other neurons fire.
- Fresh biases are often 0, and then the trap is silent: it waits for the first trained weights. Test with biases that
  are not 0.
""",
)
