"""A run of the page "Learning": what it follows from, how far it goes at a time, what it keeps, where it can be taken."""

from itertools import count, islice

import numpy as np
import pytest

from ffn_app.learning_run import (
    BUDGET,
    MOST_KEPT,
    MOST_LINK,
    Run,
    Settings,
    evenly,
    opened,
    points_of,
    silent,
)
from ffn_core import TASKS, Scenario, fit
from ffn_core.scenario import MAX_LINK


def after(steps, **settings):
    run = Run(Settings(**settings))
    run.advance(steps, budget=np.inf)
    return run


def same_weights(one, other):
    return all((getattr(one, name) == getattr(other, name)).all() for name in ("w1", "b1", "w2", "b2"))


# How far it goes at a time


def test_a_run_makes_as_many_steps_as_it_is_asked_to_and_none_by_itself():
    run = Run(Settings())
    assert run.main.state.step == 0
    run.advance(3, clock=lambda: 0.0)
    assert run.main.state.step == 3


def test_a_run_stops_once_its_time_is_over_however_many_steps_were_asked_for():
    # Each look at the clock is 10 ms later: from 0 on, the looks after steps 1, 2, 3, 4 are at 10, 20, 30, 40 ms.
    ticks = count()
    run = Run(Settings(d_ff=64, beside=True))
    run.advance(10_000, clock=lambda: next(ticks) * 0.01, budget=0.04)
    assert run.main.state.step == 4


def test_a_step_is_made_even_by_a_machine_that_is_too_slow_for_one():
    ticks = count()
    run = Run(Settings())
    run.advance(100, clock=lambda: next(ticks) * 3.0)
    assert run.main.state.step == 1
    assert BUDGET < 0.05


def test_a_run_has_a_last_step_and_then_stays_there(monkeypatch):
    monkeypatch.setattr("ffn_app.learning_run.MOST_STEPS", 7)
    run = after(100, beside=True)
    assert (run.main.state.step, run.beside.state.step, run.ended) == (7, 7, True)
    run.advance(1)
    assert run.main.state.step == 7


def test_a_run_that_diverges_ends_there():
    run = after(
        10_000, optimizer="sgd", learning_rate=3.0, d_ff=64, task="spiral", momentum=0.99, weight_decay=1.0
    )
    assert run.ended
    assert run.main.state.diverged
    with pytest.raises(ValueError, match="no longer finite numbers; press Reset"):
        opened(run)


# What it follows from


@pytest.mark.parametrize("settings", [{}, {"task": "moons", "batch_size": 32, "optimizer": "sgd", "seed": 3}])
def test_the_pace_changes_nothing_and_the_loop_is_the_commands(settings):
    at_once, by_one = after(60, **settings), Run(Settings(**settings))
    for _ in range(60):
        by_one.advance(1)
    asked = {"task": "sine", "optimizer": "adam", "seed": 0} | settings
    states = fit(**asked, d_ff=16, activation="relu", learning_rate=0.01, steps=60, every=60)
    [last] = islice(states, 1, 2)
    for run in (at_once, by_one):
        assert same_weights(run.main.state.ffn, last.ffn)
        assert run.main.state.loss == last.loss
    assert [s.step for s in at_once.main.history] == [s.step for s in by_one.main.history]


def test_the_same_settings_begin_at_the_same_weights_again():
    run = after(40)
    assert same_weights(Run(run.settings).main.state.ffn, Run(Settings()).main.state.ffn)
    assert not same_weights(run.main.state.ffn, Run(Settings()).main.state.ffn)


def test_identity_begins_beside_at_the_same_weights_and_learns_in_step():
    run = Run(Settings(activation="gelu", beside=True))
    assert run.beside is not None
    assert same_weights(run.main.state.ffn, run.beside.state.ffn)
    assert run.beside.state.ffn.activation == "identity"
    run.advance(9, clock=lambda: 0.0)
    assert (run.main.state.step, run.beside.state.step) == (9, 9)


def test_identitys_fit_is_a_straight_line_with_64_neurons_as_with_one():
    run = after(300, d_ff=64, beside=True)
    slopes = np.diff(run.beside.state.ffn.forward(TASKS["sine"].x).output[:, 0])
    np.testing.assert_allclose(slopes, slopes[0], atol=1e-12)
    # The best line through a sine leaves (by its integrals) 1/2 - 3/π² of it, and on 256 points about that.
    assert run.beside.state.loss == pytest.approx(0.5 - 3 / np.pi**2, abs=0.01)
    assert run.main.state.loss < 0.002


def test_settings_that_change_nothing_make_no_other_run():
    first = Settings()
    assert Settings(momentum=0.5, points="3, 4").that_count() == first
    assert Settings(momentum=0.5, optimizer="sgd").that_count() != Settings(optimizer="sgd")
    assert Settings(activation="identity", beside=True).that_count() == Settings(activation="identity")


def test_a_change_is_told_in_words():
    told = Settings().changes(Settings(task="xor", d_ff=32, learning_rate=0.1, batch_size=8, beside=True))
    assert told == (
        "task One period of a sine → XOR: class 1 where the signs differ, d_ff 16 → 32, "
        "learning rate 0.01 → 0.1, points a step all → 8, identity beside off → on"
    )


# Points of one's own


@pytest.mark.parametrize(
    "text",
    [
        "1,2\n3,-4",
        "1, 2\n3, -4\n\n",
        "1\t2\n3\t−4",
        "1;2\n3;-4",
        "1 2\n3 -4",
        "[[1, 2], [3, -4]]",
        "1.0,2\r\n3,-4.0",
    ],
)
def test_points_are_read_as_people_type_and_paste_them(text):
    task = points_of(text)
    assert task.x.tolist() == [[1], [3]]
    assert task.target.tolist() == [2, -4]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no points; write a line for each"),
        (" \n ", "no points"),
        ("1, 2\n3, abc", "row 2, column 2 is not a number"),
        ("1, 2\n3", "row 2 has 1"),
        ("1, 2, 3", r"a table \[n, 2\].*got \[1, 3\]"),
        ("1, nan", "must be a finite number"),
        ("1, 2\n" * 1001, "1 to 1,000 points"),
    ],
)
def test_points_that_cannot_be_read_are_refused_with_the_place(text, reason):
    with pytest.raises(ValueError, match=reason):
        points_of(text)


# In a link


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings(task="xor", activation="gelu_tanh", d_ff=64, optimizer="sgd", learning_rate=3.0, momentum=0.99,
                 batch_size=128, weight_decay=0.001, seed=2**32 - 1, beside=True),
        Settings(task="points", points="0.5, -1.25\n1e-05, 2\n"),
    ],
)  # fmt: skip
def test_a_link_holds_the_settings(settings):
    assert Settings.from_text(settings.text) == settings


def test_a_link_holds_only_what_is_not_the_default():
    assert Settings().text == ""
    assert Settings(task="xor", d_ff=8).text == "task~xor,d_ff~8"


@pytest.mark.parametrize(
    "text",
    ["task~<script>", "d_ff~0", "d_ff~65", "d_ff~-1", "d_ff~²", "seed~99999999999", "learning_rate~1e9", "beside~yes",
     "points~nan~1", "points~1", "nonsense", "~", ",,", "made~1", "task~xor" * 900],
)  # fmt: skip
def test_what_makes_no_sense_in_a_link_is_left_at_the_default(text):
    assert Settings.from_text(text) == Settings()


def test_points_that_are_too_many_for_a_link_are_left_out_of_it():
    text = "".join(f"{k / 7:.6f}, {k / 11:.6f}\n" for k in range(500))
    assert Settings(task="points", points=text, d_ff=8).text == "task~points,d_ff~8"
    assert MOST_LINK < MAX_LINK / 2


# What it keeps


def test_the_history_is_thinned_evenly_and_has_the_first_and_the_present_state():
    track = after(1_001, d_ff=1, task="points").main
    steps = [state.step for state in track.history]
    assert steps == [*range(0, 1_001, 8), 1_001]
    assert len(steps) <= MOST_KEPT + 1


def test_evenly_takes_the_first_the_last_and_none_twice():
    assert evenly(3, 8).tolist() == [0, 1, 2]
    assert evenly(9, 3).tolist() == [0, 4, 8]
    assert evenly(1, 3).tolist() == [0]


def test_dead_neurons_are_those_that_are_0_at_every_point():
    run = Run(Settings(d_ff=64))
    fires = (run.main.state.ffn.forward(TASKS["sine"].x).hidden > 0).any(axis=0)
    assert silent(run).tolist() == (~fires).tolist()
    assert not silent(Run(Settings(d_ff=64, activation="identity"))).any()


# Where it can be taken


def test_a_curves_network_opens_with_points_of_its_range_as_positions():
    run = after(50, d_ff=8)
    scenario = opened(run)
    ffn, x = scenario.build()
    assert same_weights(ffn, run.main.state.ffn)
    assert (ffn.activation, scenario.family) == ("relu", "dense")
    assert x[[0, -1], 0].tolist() == [-np.pi, np.pi]
    assert len(x) == 8
    assert scenario.words[0] == "x = −3.14"


def test_a_networks_classes_are_among_its_positions():
    run = after(200, task="xor", activation="gelu")
    scenario = opened(run)
    ffn, x = scenario.build()
    assert [word[-7:] for word in scenario.words] == ["class 0"] * 4 + ["class 1"] * 4
    assert (ffn.forward(x).output[:, 0] > 0).tolist() == [False] * 4 + [True] * 4
    assert scenario.words[0] == f"({x[0, 0]:.2f}, {x[0, 1]:.2f}) class 0".replace("-", "−")


@pytest.mark.parametrize("task", TASKS)
def test_the_widest_network_of_every_task_fits_a_link(task):
    scenario = opened(after(5, task=task, d_ff=64))
    query = scenario.link_query()
    assert query is not None
    again, lost = Scenario.from_query(query)
    assert lost == []
    assert same_weights(again.build()[0], scenario.build()[0])
