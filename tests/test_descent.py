"""What the backward pass starts from, and one step on a scenario: by hand on the smallest networks."""

import numpy as np
import pytest

from ffn_core import FFN
from ffn_core.descent import Objective, one_step, padded
from ffn_core.scenario import Scenario

# output = 2·x at each of two coordinates: [[2, 6], [0, -2]].
TRACE = FFN(w1=np.eye(2), b1=[0, 0], w2=2 * np.eye(2), b2=[0, 0], activation="identity").forward(
    [[1, 3], [0, -1]]
)


@pytest.mark.parametrize(
    ("objective", "loss", "d_output"),
    [
        # (2 - 1)² and (6 - 3)², and their mean's gradient: 2 · 1 / 2 and 2 · 3 / 2.
        (Objective(target=(1.0, 3.0)), 5.0, [[1, 3], [0, 0]]),
        (Objective(target=(1.0,)), 18.5, [[1, 6], [0, 0]]),
        (Objective(), 20.0, [[2, 6], [0, 0]]),
        (Objective(position=1), 2.0, [[0, 0], [0, -2]]),
        (Objective(start="ones"), 8.0, [[1, 1], [0, 0]]),
        (Objective(start="ones", position=1), -2.0, [[0, 0], [1, 1]]),
        (Objective(start="one", coordinate=1), 6.0, [[0, 1], [0, 0]]),
    ],
)
def test_an_objective_looks_at_one_position_and_says_how_its_output_counts(objective, loss, d_output):
    assert objective.loss(TRACE) == loss
    assert objective.d_output(TRACE).tolist() == d_output


def test_missing_numbers_of_a_target_are_0_and_more_than_there_are_coordinates_do_not_count():
    assert padded((1.0,), 3) == (1.0, 0.0, 0.0)
    assert padded((1.0, 2.0, 3.0), 2) == (1.0, 2.0)


def line(**edits):
    """x = 3 into one neuron of the identity: output = w2 · (w1 · 3 + b1) + b2 with w1 = 2, w2 = 5."""
    scenario = Scenario(base="memories", activation="identity").edit(
        ("d_model", (), 1), ("d_ff", (), 1), ("x", (), 3.0), ("b1", (), 0.0), ("b2", (), 0.0),
        ("w1", (0, 0), 2.0), ("w2", (0, 0), 5.0),
    )  # fmt: skip
    return scenario.edit(*edits.get("more", ()))


def test_a_step_takes_learning_rate_times_gradient_off_every_array():
    # d_output 1: d_activated 5, d_w2 = 6, d_w1 = 5 · 3, d_b1 = 5, d_b2 = 1.
    step = one_step(line(), Objective(start="ones"), 0.1)
    assert {name: array.item() for name, array in step.arrays.items()} == pytest.approx(
        {"w1": 2 - 1.5, "b1": -0.5, "w2": 5 - 0.6, "b2": -0.1}
    )
    assert step.before == 30
    assert step.after == pytest.approx(4.4 * (0.5 * 3 - 0.5) - 0.1)
    assert step.change == pytest.approx(4.3 - 30)
    assert step.predicted == pytest.approx(-0.1 * (15**2 + 5**2 + 6**2 + 1**2))


def test_arrays_that_are_not_chosen_stay():
    step = one_step(line(), Objective(start="ones"), 0.1, ["b2"])
    assert list(step.arrays) == ["b2"]
    assert step.before == 30
    assert (step.after, step.predicted) == pytest.approx((29.9, -0.1))


def test_the_promise_of_the_gradient_comes_true_for_a_small_step():
    step = one_step(Scenario(base="cat"), Objective(position=1, target=(1.0, -1.0)), 1e-5)
    assert step.change == pytest.approx(step.predicted, rel=1e-3)
    assert step.change < 0


def test_the_edit_makes_the_scenario_whose_loss_was_foretold_and_one_undo_takes_it_back():
    scenario, objective = Scenario(), Objective(target=(1.0,))
    step = one_step(scenario, objective, 0.5)
    after = scenario.edit(step.edit())
    ffn, x = after.build()
    assert objective.loss(ffn.forward(x)) == step.after < step.before
    assert len(after.edits) == 1
    assert after.undo().build()[0].w1.tolist() == scenario.build()[0].w1.tolist()
    opened, lost = Scenario.from_query(after.to_query())
    assert lost == []
    assert opened.build()[0].w2.tolist() == ffn.w2.tolist(), "a link carries the step"


def test_an_interventions_factor_stays_and_moves_its_value_by_strength_times_the_gradient():
    # Strength 2: output = 10 · 6. The gradient of w2 as edited is 2 · 6.
    scenario = line(more=[("strength", (0,), 2.0)])
    step = one_step(scenario, Objective(start="ones"), 0.1, ["w2"])
    assert step.arrays["w2"].item() == pytest.approx(5 - 0.1 * 12)
    assert step.after == pytest.approx(2 * 3.8 * 6)
    assert scenario.edit(step.edit()).strengths == {0: 2.0}


def test_the_value_of_a_neuron_that_is_switched_off_does_not_move():
    step = one_step(line(more=[("strength", (0,), 0.0)]), Objective(start="ones"), 0.1)
    assert step.arrays["w2"].item() == 5
    assert step.arrays["w1"].item() == 2


def test_a_step_beyond_the_largest_number_is_refused_with_the_way_out():
    with pytest.raises(ValueError, match=r"would take w1 beyond ±1e\+30.*smaller learning rate"):
        one_step(line(), Objective(start="ones"), 1e30)


@pytest.mark.parametrize("rate", [0.0, -1.0, np.nan, np.inf])
def test_a_learning_rate_that_is_none_is_refused(rate):
    with pytest.raises(ValueError, match="learning_rate must be"):
        one_step(Scenario(), Objective(), rate)
