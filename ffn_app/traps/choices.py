"""Traps of formulas that have two forms: GELU, a router's softmax, and the two halves of a gate."""

import numpy as np
import streamlit as st

from ffn_app.figures.curves import curve_panels
from ffn_app.figures.traps import routed_weights
from ffn_app.live_plot import live_plot
from ffn_app.session import Session
from ffn_app.shell import current, look_at
from ffn_app.traps.form import Question, Trap, chosen, on_the_open_network, side_by_side, sliders
from ffn_core.activations import activation
from ffn_core.curves import greatest_difference
from ffn_core.matrix_text import short_number
from ffn_core.traps import Line, exact_gelu, gate_ways, routings, tanh_gelu

# ---------------------------------------------------------------- two forms of GELU

AT_0, AT_1, AT_2_7, FAR = "at x = 0", "near x = ±1", "near x = ±2.7", "far out, beyond ±5"
_PAIR = ("gelu", "gelu_tanh")
_PLACES = (1.0, -1.0, -3.0)
REACH = 5.0


def _forms(session: Session) -> None:
    exact, tanh = (activation(name) for name in _PAIR)
    st.markdown("**Try other numbers**: move x, here or in the picture.")
    x = _reading()
    right, wrong = (
        [
            Line(
                f"GELU({short_number(at)})",
                f"GELU({short_number(at)}) = {float(form(at)):.6g}",
                float(form(at)),
            )
            for at in dict.fromkeys((*_PLACES, x))
        ]
        for form in (exact, tanh)
    )
    side_by_side("exact, `x · Φ(x)`", right, "the tanh form", wrong)
    gap, value = abs(float(exact(x)) - float(tanh(x))), abs(float(exact(x)))
    share = f", {short_number(100 * gap / value)}% of the value" if value else ""
    place, most = greatest_difference(*_PAIR, 0, REACH)
    st.markdown(
        f"At x = {short_number(x)} they differ by {short_number(gap)}{share}. Nowhere do they differ by more than "
        f"{short_number(most)}, which is at x = ±{short_number(place)}."
    )
    live_plot(curve_panels(_PAIR, low=-REACH, high=REACH, pair=_PAIR, reading=x), key="traps_form_curves")
    on_the_open_network(session, "form", tanh_gelu, exact_gelu)


def _reading() -> float:
    """The x at which the curves are read, which the picture and the page on curves move as well."""
    key = "traps_form_x"
    st.session_state[key] = max(-REACH, min(REACH, current().view.reading))
    return st.slider(
        "x", -REACH, REACH, step=0.1, key=key, on_change=lambda: look_at(reading=st.session_state[key])
    )


FORM = Trap(
    name="form",
    label="tanh form",
    title="The tanh form of GELU taken for the exact one",
    story="GELU is x · Φ(x), where Φ is the area under the bell curve. It has a faster approximation with "
    "tanh. GPT-2 and Google's own BERT use the tanh form, Hugging Face's BERT the exact one; all call it GELU. On the "
    "curve you cannot tell them apart.",
    questions=(
        Question(
            name="form",
            given="            x = 1      x = −1\n"
            "exact       0.841345   −0.158655\n"
            "tanh form   0.841192   −0.158808",
            ask="Where do the two differ **most**?",
            choices=(AT_0, AT_1, AT_2_7, FAR),
            answer=AT_2_7,
            because="There they are 0.000473 apart. At 0 both are 0, and far out both are x, or 0.",
            reveal=_forms,
        ),
    ),
    notice="""
- Compare with a **tolerance below 0.0001**, near x = −3: exact −0.00405, tanh −0.00364, a tenth of the value.
- Two programs whose outputs agree to three digits, and never to six, are often this.
- Look into the model's config: `gelu` is the exact form; `gelu_new` and `gelu_pytorch_tanh` are the tanh form;
  `quick_gelu` is a third, x · sigmoid(1.702 x), which is off by up to 0.02.
""",
)


# ---------------------------------------------------------------- softmax and top-k


def _top_k(_: Session) -> None:
    st.markdown("**Try other numbers**: the router's scores, and how many experts are chosen.")
    logits = sliders("logits", [f"expert {e}" for e in range(4)], (2.0, 1.0, 0.0, -1.0), 4.0, 0.5)
    st.session_state.setdefault("traps_top_k_k", 2)
    top_k = st.slider("Top-k: experts chosen", 1, 4, key="traps_top_k_k", persist_state="session")
    (after, right), (before, wrong) = routings(logits, top_k)
    live_plot(routed_weights(after, before), key="traps_top_k_weights")
    side_by_side(
        "softmax **after** top-k, over the chosen, as Mixtral",
        right,
        "softmax **before** top-k, over all",
        wrong,
    )


_, _ALL = routings(np.array([2.0, 1.0, 0.0, -1.0]), 2)[1]

TOP_K = Trap(
    name="top_k",
    label="Softmax and top-k",
    title="Softmax before or after top-k",
    story="A router scores every expert, and a token goes to the k best. Softmax makes weights of scores. Mixtral "
    "chooses first, and takes the softmax of the chosen scores alone. Somebody takes the softmax of all of them, "
    "and then chooses.",
    questions=(
        Question(
            name="top_k",
            given="scores      2      1      0     −1\n"
            "exp(score)  7.389  2.718  1     0.368\n"
            "top 2       0.731  0.269  -     -",
            ask="After top-k the weights are 7.389 / (7.389 + 2.718) and 2.718 / (7.389 + 2.718). What do the two weights"
            " sum to if the softmax comes **before** top-k, over all four? Two decimals will do.",
            answer=_ALL[-1].value,
            because="0.644 + 0.237: the experts that were not chosen keep their share, and nobody uses it.",
            reveal=_top_k,
        ),
    ),
    notice="""
- **Sum the weights of the chosen.** 1 means after top-k, or divided by their sum, which is the same; less than 1
  means before.
- The experts chosen are the same, and so is the proportion of their weights; the output is only smaller. So it looks
  plausible.
- Neither is wrong by itself: it must be the one that the weights were trained with. With k = 1, softmax after top-k
  is always 1, so the router could not learn from it; Switch takes the softmax before.
- With k equal to the number of experts both are the same: the silent case.
""",
)


# ---------------------------------------------------------------- gate and up

SAME_GATE, CLOSED, OPPOSITE = "−1.46, the same", "−0.238", "1.46"
SWAPPED, PRODUCT = "gate and up swapped", "the SiLU around the product"


def _gate(name: str, start: tuple[float, float]) -> None:
    st.markdown("**Try other numbers.**")
    gate, up = sliders(name, ("gate", "up"), start, 4.0, 0.5).tolist()
    mistake = chosen("The mistake", [SWAPPED, PRODUCT], f"{name}_which")
    ways = gate_ways(gate, up)
    wrong, formula = {
        SWAPPED: (ways.swapped, "`silu(up) * gate`"),
        PRODUCT: (ways.of_the_product, "`silu(gate * up)`"),
    }[mistake]
    side_by_side("`silu(gate) * up`", [ways.as_meant], formula, [wrong])


def _gate_differs(_: Session) -> None:
    _gate("gate_differs", (1.0, -2.0))


def _gate_silent(_: Session) -> None:
    _gate("gate_silent", (-1.0, -1.0))


GATE = Trap(
    name="gate",
    label="Gate and up",
    title="Gate and up swapped",
    story="A gated layer, such as SwiGLU, has two keys for each neuron. The one opens the gate and goes through "
    "the SiLU; the other, called up, is multiplied as it is: activated = SiLU(gate) · up. Files often hold both in "
    "one matrix, one after the other.",
    questions=(
        Question(
            name="gate",
            given="gate = 1      up = −2\nactivated = SiLU(1) · (−2) = 0.731 · (−2) = −1.46",
            ask="What comes out for this neuron if the two are **swapped**?",
            choices=(SAME_GATE, CLOSED, OPPOSITE),
            answer=CLOSED,
            because="SiLU(−2) · 1: the SiLU now nearly closes for the −2 that should have passed as it is.",
            reveal=_gate_differs,
        ),
        Question(
            name="gate_silent",
            given="gate = −1     up = −1\nactivated = SiLU(−1) · (−1) = −0.269 · (−1) = 0.269",
            ask="Now both are −1. What comes out if the two are **swapped**? A number, to two decimals.",
            answer=gate_ways(-1.0, -1.0).swapped.value,
            because="Where gate = up, swapping them changes nothing. The SiLU around the product would give 0.731.",
            reveal=_gate_silent,
        ),
    ),
    notice="""
- **Test with gate ≠ up**, one of them negative: with gate = −4 and up = 2 the right number is near 0, the swapped one
  is not.
- The shapes are the same, so nothing complains. Whether gate or up comes first in a joined matrix differs between
  programs: look it up.
- If every activated number is above −0.28, the SiLU may stand around the product.
""",
)
