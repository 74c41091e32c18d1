"""Numbers of gated networks and of mixtures of experts as formulas, and their whole traces as text."""

from typing import Any

import numpy as np
import pytest

from ffn_core import FFN, GatedFFN, MoE, explain
from ffn_core.trace_text import arrays_of, trace_lines

GATED = GatedFFN(
    w_gate=[[1, 0], [0, 1]], w_up=[[-2.0, 0.0], [0.5, 0.0]], w_down=[[1.0, 0.3], [2.0, 0.0]], b_up=[0, 1]
).forward([[1, -1]])

# The logits are x; the experts put out [0.4, 0], [-0.1, 2] and [7, 7], the shared one [0.5, 1].
EXPERTS = [FFN(w1=[[0, 0]], b1=[0], w2=[[0], [0]], b2=b2) for b2 in ([0.4, 0], [-0.1, 2], [7, 7], [0.5, 1])]


def mixed(x, **options):
    given: dict[str, Any] = {"router": [[1, 0], [0, 1], [-9, -9]], "experts": EXPERTS[:3], "top_k": 2}
    return MoE(**given | options).forward(x)


@pytest.mark.parametrize(
    ("stage", "index", "text"),
    [
        ("hidden", 0, "hidden[0][0] = 1.0*1.0 + 0.0*(-1.0) = 1"),
        ("up", 0, "up[0][0] = (-2.0)*1.0 + 0.0*(-1.0) + 0 = -2"),
        ("up", 1, "up[0][1] = 0.5*1.0 + 0.0*(-1.0) + 1 = 1.5"),
        # Case S4.
        ("activated", 0, "activated[0][0] = SiLU(1.0)*(-2.0) = 0.7311*(-2.0) = -1.462"),
        ("activated", 1, "activated[0][1] = SiLU(-1.0)*1.5 = (-0.2689)*1.5 = -0.4034"),
        ("output", 0, "output[0][0] = 1.0*(-1.462) + 0.3*(-0.4034) = -1.583"),
        ("residual", 1, "residual[0][1] = -1.0 + (-2.924) = -3.924"),
    ],
)
def test_a_gated_networks_numbers_show_biases_only_where_there_are_any(stage, index, text):
    assert explain(GATED, stage, 0, index).text == text


@pytest.mark.parametrize(
    ("stage", "labels"),
    [
        ("hidden", [("w_gate[0][0]", "x[0][0]"), ("w_gate[0][1]", "x[0][1]")]),
        ("up", [("w_up[0][0]", "x[0][0]"), ("w_up[0][1]", "x[0][1]")]),
        ("activated", [("gate[0][0]", "up[0][0]")]),
        ("output", [("w_down[0][0]", "activated[0][0]"), ("w_down[0][1]", "activated[0][1]")]),
        ("residual", [("x[0][0]",), ("output[0][0]",)]),
    ],
)
def test_a_gated_networks_terms_say_where_they_stand_and_add_up(stage, labels):
    explanation = explain(GATED, stage, 0, 0)
    assert [term.labels for term in explanation.terms] == labels
    total = sum(term.product for term in explanation.terms) + explanation.bias
    assert total == pytest.approx(explanation.value)
    assert explanation.value == getattr(GATED, stage)[0, 0]


def test_latex_of_a_gated_network():
    assert explain(GATED, "activated", 0, 0).latex == (
        r"\mathrm{activated}_{0,0} = \text{SiLU}(1.0) \cdot (-2.0) = 0.7311 \cdot (-2.0) = -1.462"
    )


def test_a_mixtures_output_is_a_term_for_each_expert():
    trace = mixed([[0, 0], [2, 1]])
    explanation = explain(trace, "output", 1, 0)
    assert explanation.text == "output[1][0] = 0.7311*0.4 + 0.2689*(-0.1) = 0.2655"
    assert [term.labels for term in explanation.terms] == [
        ("routing_weights[1][0]", "experts[0].output[1][0]"),
        ("routing_weights[1][1]", "experts[1].output[1][0]"),
    ]
    assert explain(trace, "router_logits", 1, 2).text == "router_logits[1][2] = (-9.0)*2.0 + (-9.0)*1.0 = -27"
    assert explain(trace, "residual", 1, 0).text == "residual[1][0] = 2.0 + 0.2655 = 2.2655"


def test_an_expert_is_named_with_the_row_of_its_own_trace():
    # Only the second position goes to expert 1, as the first of its trace.
    trace = mixed([[2, 1], [1, 2]], top_k=1)
    [term] = explain(trace, "output", 1, 1).terms
    assert term.labels == ("routing_weights[1][0]", "experts[1].output[0][1]")
    assert term.factors == (1, 2)


def test_a_dropped_expert_has_no_term_and_the_shared_one_has_its_own():
    x = [[2, 1], [1, 1]]  # of both, expert 0 keeps the first; expert 1 the second
    shared = mixed(x, capacity=1, shared=EXPERTS[3])
    assert explain(shared, "output", 0, 0).text == "output[0][0] = 0.7311*0.4 + 0.5 = 0.7924"
    assert explain(shared, "output", 1, 0).text == "output[1][0] = 0.5*(-0.1) + 0.5 = 0.45"
    assert explain(shared, "output", 0, 0).terms[1].labels == ("shared.output[0][0]",)
    assert explain(mixed(x, capacity=0, shared=EXPERTS[3]), "output", 1, 1).text == "output[1][1] = 1"
    assert explain(mixed(x, capacity=0), "output", 0, 0).text == "output[0][0] = 0"


def test_the_number_that_adds_nothing_is_0_even_from_an_infinite_expert():
    infinite = FFN(w1=[[0, 0]], b1=[0], w2=[[0], [0]], b2=[np.inf, 1])
    trace = mixed(
        [[1, 1]], router=[[1, 1], [-np.inf, 0], [-np.inf, 0]], experts=[*EXPERTS[:2], infinite], top_k=3
    )
    explanation = explain(trace, "output", 0, 0)
    assert explanation.terms[2].factors == (0, np.inf)
    assert sum(term.product for term in explanation.terms) == explanation.value == 0.4


@pytest.mark.parametrize(
    ("trace", "stage", "stages"),
    [
        (GATED, "gate", "hidden, up, activated, output, residual"),
        (GATED, "router_logits", "hidden, up, activated, output, residual"),
        (mixed([[0, 0]]), "hidden", "router_logits, output, residual"),
        (EXPERTS[0].forward([[0, 0]]), "up", "hidden, activated, output, residual"),
    ],
)
def test_a_stage_of_another_kind_of_network_is_answered_with_those_that_there_are(trace, stage, stages):
    with pytest.raises(ValueError, match=f"stage must be one of {stages}, got '{stage}'"):
        explain(trace, stage, 0, 0)


def test_an_index_of_a_mixture_is_checked_for_its_stage():
    with pytest.raises(ValueError, match="index must be an integer from 0 to 2 for router_logits, got 3"):
        explain(mixed([[0, 0]]), "router_logits", 0, 3)
    with pytest.raises(ValueError, match=r"position must be one index \(0 to 0\)"):
        explain(mixed([[0, 0]]), "output", 1, 0)


# Whole traces


def test_a_gated_trace_is_written_with_the_weights_that_it_has_and_every_number_explained():
    lines = list(trace_lines(GATED, ["cat"]))
    assert lines[0].endswith("act = SiLU (silu)")
    assert lines[1] == "d_model = 2, d_ff = 2, 14 parameters"
    assert {"w_gate [2, 2]", "b_up [2]", "w_down [2, 2]", "gate [1, 2]", "activated [1, 2]"} <= set(lines)
    assert not any(line.startswith(("b_gate", "b_down")) for line in lines)
    for stage in ("hidden", "up", "activated", "output", "residual"):
        for index in range(2):
            assert explain(GATED, stage, 0, index).text in lines


def test_a_mixtures_trace_is_written_with_its_experts_and_its_routing():
    trace = mixed([[0, 0], [2, 1]], shared=EXPERTS[3])
    lines = list(trace_lines(trace, ["cat", "sat"]))
    assert lines[1] == "d_model = 2, 3 experts, top 2, 27 active of 34 parameters"  # 7 an expert, router 6
    assert {
        "router [3, 2]",
        "experts[2].w1 [1, 2]",
        "shared.b2 [2]",
        "chosen [2, 2]",
        "dropped [2, 2]",
    } <= set(lines)
    assert "output[1][0] = 0.7311*0.4 + 0.2689*(-0.1) + 0.5 = 0.7655" in lines


def test_a_large_mixture_is_summarised():
    moe = MoE.random(8, 16, 64, 2)
    lines = list(trace_lines(moe.forward(np.ones((4, 8))), ["a", "b", "c", "d"]))
    assert "There are 256 router_logits numbers; here is the first of each stage." in lines
    assert sum(line.startswith("router_logits[") for line in lines) == 1


def test_the_arrays_of_a_trace_are_its_own_by_name():
    arrays = arrays_of(GATED)
    assert arrays["w_down"] is GATED.ffn.w_down
    assert arrays["gate"] is GATED.gate
    assert "b_gate" not in arrays
    trace = mixed([[0, 0]])
    assert arrays_of(trace)["experts[1].b2"].tolist() == [-0.1, 2]
    assert arrays_of(trace)["chosen"].tolist() == [[0, 1]]
