"""A number of a trace as its formula, as the lesson writes it."""

import numpy as np
import pytest

from ffn_core import FFN, Trace, example, explain


def of(name: str) -> Trace:
    chosen = example(name)
    return chosen.ffn.forward(chosen.x)


@pytest.mark.parametrize(
    ("stage", "position", "index", "text"),
    [
        ("hidden", 0, 0, "hidden[0][0] = 0.1*1.0 + 0.2*0.5 + 0.3*(-0.3) + 0.4*0.8 + 0 = 0.43"),
        ("hidden", 1, 2, "hidden[1][2] = 0.3*0.2 + 0.4*(-0.4) + 0.1*0.6 + 0.2*0.1 + 0 = -0.02"),
        ("activated", 0, 0, "activated[0][0] = GELU(0.43) = 0.5*0.43*(1 + tanh(0.3459)) = 0.2865"),
        (
            "output",
            0,
            0,
            "output[0][0] = 0.1*0.2865 + 0.2*0.2384 + 0.1*0.4634 + 0.2*0.4079 + 0.1*0.3544 + 0.2*0.4447"
            " + 0.1*0.2542 + 0.2*0.3371 + 0 = 0.4215",
        ),
        ("residual", 0, 0, "residual[0][0] = 1.0 + 0.4215 = 1.4215"),
        ("residual", 0, 2, "residual[0][2] = -0.3 + 0.4249 = 0.1249"),
    ],
)
def test_a_line_reads_as_in_the_lesson(stage, position, index, text):
    assert explain(of("lesson"), stage, position, index).text == text


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("relu", "activated[0] = ReLU(0.43) = max(0, 0.43) = 0.43"),
        ("gelu", "activated[0] = GELU(0.43) = 0.43*Phi(0.43) = 0.43*0.6664 = 0.2866"),
        ("gelu_tanh", "activated[0] = GELU(0.43) = 0.5*0.43*(1 + tanh(0.3459)) = 0.2865"),
        ("gelu_quick", "activated[0] = GELU(0.43) = 0.43*sigmoid(1.702*0.43) = 0.43*0.6752 = 0.2903"),
        ("silu", "activated[0] = SiLU(0.43) = 0.43*sigmoid(0.43) = 0.43*0.6059 = 0.2605"),
        ("sigmoid", "activated[0] = sigmoid(0.43) = 1/(1 + exp(-0.43)) = 0.6059"),
        ("tanh", "activated[0] = tanh(0.43) = 0.4053"),
        ("relu2", "activated[0] = ReLU²(0.43) = max(0, 0.43)^2 = 0.1849"),
        ("identity", "activated[0] = identity(0.43) = 0.43"),
    ],
)
def test_each_nonlinearity_shows_its_own_formula(name, line):
    ffn = FFN(w1=[[1]], b1=[0], w2=[[1]], b2=[0], activation=name)
    assert explain(ffn.forward([0.43]), "activated", (), 0).text == line


def test_a_bias_stands_last_and_a_negative_number_in_brackets():
    ffn = FFN(w1=[[-1.25]], b1=[-0.5], w2=[[2]], b2=[1.5], activation="identity")
    trace = ffn.forward([[2]])
    assert explain(trace, "hidden", 0, 0).text == "hidden[0][0] = (-1.25)*2.0 + (-0.5) = -3"
    assert explain(trace, "output", 0, 0).text == "output[0][0] = 2.0*(-3.0) + 1.5 = -4.5"


def test_what_was_typed_stands_as_typed_and_what_was_computed_has_four_digits():
    ffn = FFN(w1=[[-123.456789]], b1=[0.5], w2=[[1]], b2=[0], activation="identity")
    trace = ffn.forward([1 / 7])
    assert explain(trace, "hidden", (), 0).text == "hidden[0] = (-123.456789)*0.1429 + 0.5 = -17.14"
    assert explain(trace, "output", (), 0).text == "output[0] = 1.0*(-17.14) + 0 = -17.14"


def test_a_small_number_is_not_shown_as_zero():
    ffn = FFN(w1=[[1 / 7]], b1=[0], w2=[[0.00001]], b2=[0], activation="identity")
    assert explain(ffn.forward([1]), "output", (), 0).text == "output[0] = 1e-05*0.1429 + 0 = 1.429e-06"


def test_a_negative_zero_is_shown_as_zero():
    ffn = FFN(w1=[[1]], b1=[0], w2=[[1]], b2=[0], activation="gelu")
    trace = ffn.forward([-1e20])
    assert explain(trace, "output", (), 0).text == "output[0] = 1.0*0.0 + 0 = 0"


def test_a_nan_is_never_among_the_smaller_terms():
    ffn = FFN(w1=np.ones((1, 20)), b1=[0], w2=np.ones((20, 1)), b2=np.zeros(20))
    text = explain(ffn.forward([*np.arange(19), np.nan]), "hidden", (), 0).text
    assert "1.0*nan + [14 smaller terms: 91.0]" in text  # 0 to 13, beside 14 to 18


def test_each_factor_says_where_it_stands():
    first, *_, last = explain(of("lesson"), "hidden", 1, 3).terms
    assert (first.labels, first.factors) == (("w1[3][0]", "x[1][0]"), (0.4, 0.2))
    assert last.labels == ("w1[3][3]", "x[1][3]")
    assert explain(of("lesson"), "output", 1, 2).terms[7].labels == ("w2[2][7]", "activated[1][7]")
    assert explain(of("lesson"), "activated", 1, 2).terms[0].labels == ("hidden[1][2]",)
    assert [t.labels for t in explain(of("lesson"), "residual", 1, 2).terms] == [
        ("x[1][2]",),
        ("output[1][2]",),
    ]


@pytest.mark.parametrize("name", ["lesson", "memories", "cat", "random"])
@pytest.mark.parametrize("stage", ["hidden", "activated", "output", "residual"])
def test_the_terms_and_the_bias_add_up_to_the_number_of_the_trace(name, stage):
    trace = of(name)
    for position in range(min(3, len(trace.x))):
        for index in range(2):
            explanation = explain(trace, stage, position, index)
            assert explanation.value == getattr(trace, stage)[position, index]
            total = sum(term.product for term in explanation.terms) + explanation.bias
            assert total == pytest.approx(explanation.value, abs=1e-12)


def test_a_long_sum_shows_its_six_greatest_terms_and_what_the_others_add_up_to():
    # 20 terms: 1, 2, ... 20 in a shuffled order; 15 to 20 stay, 1 to 14 add up to 105.
    x = [7, 20, 3, 15, 1, 2, 16, 4, 5, 6, 17, 8, 9, 10, 18, 11, 12, 13, 14, 19]
    ffn = FFN(w1=np.ones((1, 20)), b1=[0.5], w2=np.ones((20, 1)), b2=np.zeros(20), activation="identity")
    explanation = explain(ffn.forward([x]), "hidden", 0, 0)
    assert explanation.text == (
        "hidden[0][0] = 1.0*20.0 + 1.0*15.0 + 1.0*16.0 + 1.0*17.0 + 1.0*18.0 + 1.0*19.0"
        " + [14 smaller terms: 105.0] + 0.5 = 210.5"
    )
    assert [term.product for term in explanation.terms] == x


def test_sixteen_terms_are_all_shown():
    ffn = FFN(w1=np.ones((1, 16)), b1=[0], w2=np.ones((16, 1)), b2=np.zeros(16))
    assert explain(ffn.forward(np.ones(16)), "hidden", (), 0).text.count("1.0*1.0") == 16


def test_latex_says_the_same_in_mathematics():
    latex = explain(of("lesson"), "activated", 0, 0).latex
    assert latex == (
        r"\mathrm{activated}_{0,0} = \text{GELU}(0.43) = 0.5 \cdot 0.43 \cdot (1 + \tanh(0.3459)) = 0.2865"
    )
    ffn = FFN(w1=[[1e-6]], b1=[0], w2=[[1]], b2=[0], activation="gelu")
    assert (
        r"1 \cdot 10^{-6} \cdot \Phi(1 \cdot 10^{-6})" in explain(ffn.forward([1]), "activated", (), 0).latex
    )


def test_a_name_has_an_index_for_each_axis():
    ffn = example("lesson").ffn
    assert explain(ffn.forward(np.ones((2, 3, 4))), "output", (1, 2), 3).name == "output[1][2][3]"
    assert explain(ffn.forward(np.ones(4)), "output", (), 3).name == "output[3]"


def test_infinities_and_nan_are_shown_as_what_they_are():
    ffn = FFN(w1=np.ones((1, 20)), b1=[0], w2=np.ones((20, 1)), b2=np.zeros(20))
    trace = ffn.forward([np.inf, -np.inf, *np.ones(18)])
    assert explain(trace, "hidden", (), 0).text.startswith("hidden[0] = 1.0*inf + 1.0*(-inf) + ")
    assert explain(trace, "hidden", (), 0).text.endswith(" = nan")
    assert explain(trace, "residual", (), 0).text == "residual[0] = inf + nan = nan"


@pytest.mark.parametrize("stage", ["hidden", "activated", "output", "residual"])
@pytest.mark.parametrize("huge", [1e308, -1e308, 1e-320])
@pytest.mark.parametrize("name", ["gelu_tanh", "sigmoid"])
def test_a_huge_or_tiny_number_has_a_line_as_well(stage, huge, name):
    ffn = FFN(w1=[[1, 1]], b1=[0], w2=[[1], [1]], b2=[0, 0], activation=name)
    assert explain(ffn.forward([[huge, 0]]), stage, 0, 0).text


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (("x", 0, 0), "stage must be one of hidden, activated, output, residual, got 'x'"),
        (("hidden", 2, 0), r"position must be one index \(0 to 1\)"),
        (("hidden", 0, 8), "index must be an integer from 0 to 7 for hidden, got 8"),
        (("output", 0, 4), "index must be an integer from 0 to 3 for output, got 4"),
        (("output", 0, -1), "index must be an integer from 0 to 3"),
        (("output", 0, 1.5), "index must be an integer from 0 to 3"),
    ],
)
def test_what_there_is_not_is_answered_with_what_there_is(arguments, rule):
    with pytest.raises(ValueError, match=rule):
        explain(of("lesson"), *arguments)
