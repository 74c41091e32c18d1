"""A number of a gradient as its formula: the network of tests/test_gradients.py, worked out by hand, and the lesson's."""

import numpy as np
import pytest

from ffn_core import FFN, example
from ffn_core.descent import Objective
from ffn_core.explain_backward import BACKWARD, STAGES, Entry, blocked, explain_gradient, read_entry, shape_of

# x = [1, -1], hidden [-1, 2]: the first neuron is silent. d_output is [1, 0], then [0, 1].
HAND = FFN(w1=[[1, 1], [1, -1]], b1=[-1, 0], w2=[[1, 2], [3, 4]], b2=[0, 0], activation="relu")


def explained(text, ffn=HAND, x=((1, -1),), **objective):
    trace, start = ffn.forward(x), Objective(**{"start": "ones"} | objective)
    entry = read_entry(text, ffn)
    assert entry is not None
    return explain_gradient(trace, trace.backward(start.d_output(trace)), start, entry)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("output.1", "d_output[0][1] = 1"),
        ("w2.1.1", "dW2[1][1] = 1.0*2.0 = 2"),
        ("w2.1.0", "dW2[1][0] = 1.0*0.0 = 0"),
        ("b2.0", "db2[0] = 1"),
        ("activated.1", "d_activated[0][1] = 1.0*2.0 + 1.0*4.0 = 6"),
        (
            "hidden.1",
            "d_hidden[0][1] = d_activated[0][1]*ReLU'(hidden[0][1]) = 6.0*ReLU'(2.0) = 6.0*1.0 = 6",
        ),
        (
            "hidden.0",
            "d_hidden[0][0] = d_activated[0][0]*ReLU'(hidden[0][0]) = 4.0*ReLU'(-1.0) = 4.0*0.0 = 0",
        ),
        ("w1.1.1", "dW1[1][1] = 6.0*(-1.0) = -6"),
        ("b1.1", "db1[1] = 6"),
        ("x.1", "d_x[0][1] = 0.0*1.0 + 6.0*(-1.0) = -6"),
    ],
)
def test_each_step_back_is_written_with_its_numbers(entry, text):
    assert explained(entry).text == text


def test_the_gradient_of_a_squared_error_says_output_target_and_width():
    # output = [4, 8], so 2 · (8 - 5) / 2.
    told = explained("output.1", start="target", target=(0.0, 5.0))
    assert told.text == "d_output[0][1] = 2*(8.0 - 5.0)/2 = 3"
    assert told.rule == "d_output[p][i] = 2 * (output[p][i] - target[i]) / d_model"
    assert told.sources == {"output": ((1,),)}


def test_one_coordinate_alone_starts_with_a_single_1():
    assert explained("output.1", start="one", coordinate=1).text == "d_output[0][1] = 1"
    assert explained("output.0", start="one", coordinate=1).text == "d_output[0][0] = 0"


def test_a_parameter_adds_up_over_positions_and_the_others_count_for_nothing():
    told = explained("w1.1.0", x=[[1, -1], [5, 2]])
    assert told.text == "dW1[1][0] = 6.0*1.0 + 0.0*5.0 = 6"
    many = explained("w1.1.0", x=[[1, -1]] * 5, position=2)
    assert many.text == "dW1[1][0] = 6.0*1.0 + [4 other positions: 0] = 6"
    assert len(many.terms) == 5


@pytest.mark.parametrize(
    ("entry", "sources"),
    [
        ("w2.1.0", {"d_output": ((1,),), "activated": ((0,),)}),
        ("b2.1", {"d_output": ((1,),)}),
        ("activated.1", {"d_output": ((0,), (1,)), "w2": ((0, 1), (1, 1))}),
        ("hidden.1", {"d_activated": ((1,),), "hidden": ((1,),)}),
        ("w1.1.0", {"d_hidden": ((1,),), "x": ((0,),)}),
        ("x.0", {"d_hidden": ((0,), (1,)), "w1": ((0, 0), (1, 0))}),
    ],
)
def test_each_gradient_says_which_entries_it_is_made_of(entry, sources):
    assert explained(entry, x=[[3, 3], [1, -1]], position=1).sources == sources


@pytest.mark.parametrize("array", BACKWARD)
@pytest.mark.parametrize("name", ["lesson", "cat"])
def test_the_terms_add_up_to_the_number_of_the_gradient(name, array):
    chosen = example(name)
    trace = chosen.ffn.forward(chosen.x)
    start = Objective(position=1, target=(0.5, -1.0))
    d_output = start.d_output(trace)
    gradients = trace.backward(d_output)
    found = vars(gradients) | {"output": d_output}
    for index in np.ndindex(shape_of(trace.ffn, array)):
        told = explain_gradient(trace, gradients, start, Entry(array=array, index=index))
        expected = found[array][(1, *index) if array in STAGES else index]
        assert told.value == expected
        assert sum(term.product for term in told.terms) == pytest.approx(expected, abs=1e-14)


def test_the_tanh_form_of_gelu_is_called_gelu_as_in_the_lesson():
    lesson = example("lesson")
    text = explained("hidden.0", lesson.ffn, lesson.x).text
    assert (
        "*GELU'(0.43) = 0.6*0.8" in text
    )  # a column of w2 is 0.1 + 0.2 + 0.1 + 0.2; the slope at 0.43 is 0.82


# Entries in links


@pytest.mark.parametrize("array", BACKWARD)
def test_an_entry_is_read_as_it_is_written(array):
    entry = Entry(array=array, index=tuple(n - 1 for n in shape_of(HAND, array)))
    assert read_entry(entry.text, HAND) == entry


@pytest.mark.parametrize(
    "text",
    [
        "",
        "w1",
        "w1.0",
        "w1.2.0",
        "w1.0.0.0",
        "x.0.0",
        "b1.-1",
        "w1.0.٣",
        "activation.0",
        "w1.00000.0",
        "W1.0.0",
    ],
)
def test_what_is_no_entry_is_none(text):
    assert read_entry(text, HAND) is None


# Flat slopes


def test_relu_blocks_what_is_not_above_0_and_gelu_nothing():
    x = [[1, -1], [1, 1]]  # hidden [-1, 2] and [1, 0]
    assert blocked(HAND.forward(x)).tolist() == [[True, False], [False, True]]
    gelu = FFN(w1=HAND.w1, b1=HAND.b1, w2=HAND.w2, b2=HAND.b2, activation="gelu")
    assert not blocked(gelu.forward(x)).any()
