"""The page "Learning" as Streamlit runs it, without a browser: each run of the script is a picture of a run that goes on."""

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from ffn_app import learning_run
from ffn_app.learning_page import RUN, RUNNING
from ffn_app.learning_run import Run
from ffn_core import TASKS
from tests.test_pages import FRAME, component, labelled, session, undone, visit

SETTINGS = (
    "Task",
    "Nonlinearity",
    "Optimizer",
    "Points a step",
    "Weight decay",
    "Learning rate",
    "Momentum of SGD",
)


def learning(settings: str = "") -> AppTest:
    return visit("learning", {"l": settings} if settings else {})


def press(visitor: AppTest, label: str) -> AppTest:
    labelled(visitor.button, label).click().run()
    return visitor


def chosen(visitor: AppTest, label: str, value: Any) -> AppTest:
    labelled(visitor.selectbox, label).set_value(value).run()
    return visitor


def run_of(visitor: AppTest) -> Run:
    run = visitor.session_state[RUN]
    assert isinstance(run, Run)
    return run


def gauge(visitor: AppTest, label: str) -> str:
    return str(labelled(visitor.metric, label).value)


def told(visitor: AppTest) -> str:
    return "\n".join(text.value for text in visitor.markdown)


@pytest.fixture(autouse=True)
def _a_clock_that_stands(monkeypatch):
    """Then a picture has as many steps as are asked for, on any machine."""
    monkeypatch.setattr("ffn_app.learning_page.CLOCK", lambda: 0.0)


@pytest.mark.parametrize("task", TASKS)
def test_the_page_opens_with_every_task_at_the_initial_weights(task):
    visitor = learning(f"task~{task},beside~True")
    assert [error.value for error in visitor.exception] == []
    assert run_of(visitor).settings.task == task
    assert gauge(visitor, "Step") == "0"
    for key in ("learning_fit", "learning_neurons", "learning_loss", "learning_weights"):
        assert json.loads(component(visitor, key)["figure"])["data"]


# Start, pause, step, reset


def test_start_runs_it_picture_by_picture_and_pause_holds_it():
    visitor = press(learning(), "Start")
    assert gauge(visitor, "Step") == "25"
    assert component(visitor, "learning_fit")["again"] is not None
    visitor.run()
    assert gauge(visitor, "Step") == "50"
    press(visitor, "Pause")
    visitor.run()
    assert gauge(visitor, "Step") == "50"
    assert component(visitor, "learning_fit")["again"] is None
    assert "Paused at step 50." in told(visitor)


def test_nothing_runs_before_start():
    visitor = learning()
    for _ in range(3):
        visitor.run()
    assert gauge(visitor, "Step") == "0"
    assert component(visitor, "learning_fit")["again"] is None


def test_step_is_one_update_and_pauses_what_runs():
    visitor = press(learning(), "Step")
    assert gauge(visitor, "Step") == "1"
    press(press(visitor, "Start"), "Step")
    assert gauge(visitor, "Step") == "27"
    assert labelled(visitor.button, "Start")


def test_reset_goes_back_to_the_same_initial_weights():
    visitor = learning("task~moons,batch_size~32")
    first, weights = gauge(visitor, "Loss"), run_of(visitor).main.state.ffn.w1
    press(press(visitor, "Start"), "Reset")
    assert (gauge(visitor, "Step"), gauge(visitor, "Loss")) == ("0", first)
    assert (run_of(visitor).main.state.ffn.w1 == weights).all()
    visitor.run()
    assert gauge(visitor, "Step") == "0"


def test_the_pace_is_how_many_steps_a_picture_has():
    visitor = learning()
    chosen(visitor, "Steps a picture", 5)
    assert gauge(press(visitor, "Start"), "Step") == "5"


def test_a_picture_takes_no_longer_than_its_time_whatever_the_pace(monkeypatch):
    looks = iter(range(10**6))
    monkeypatch.setattr("ffn_app.learning_page.CLOCK", lambda: next(looks) * learning_run.BUDGET / 3)
    visitor = learning("d_ff~64")
    chosen(visitor, "Steps a picture", 100)
    assert gauge(press(visitor, "Start"), "Step") == "3"


def test_the_last_step_is_told_and_only_reset_is_left(monkeypatch):
    monkeypatch.setattr("ffn_app.learning_run.MOST_STEPS", 40)
    monkeypatch.setattr("ffn_app.learning_page.MOST_STEPS", 40)
    visitor = press(learning(), "Start").run()
    assert gauge(visitor, "Step") == "40"
    assert "All 40 steps are made" in told(visitor)
    assert [labelled(visitor.button, name).disabled for name in ("Start", "Step", "Reset")] == [
        True,
        True,
        False,
    ]
    assert gauge(press(visitor, "Reset"), "Step") == "0"


def test_a_run_that_diverges_says_so_and_cannot_be_opened():
    visitor = learning("task~spiral,d_ff~64,optimizer~sgd,learning_rate~3.0,momentum~0.99,weight_decay~1.0")
    press(visitor, "Start")
    for _ in range(200):
        if not visitor.session_state[RUNNING]:
            break
        visitor.run()
    assert "It diverged at step" in told(visitor)
    assert gauge(visitor, "Dead neurons") == "—", "of a broken network nothing is counted"
    before = session(visitor).present
    press(visitor, "Memories")
    assert session(visitor).present is before
    assert any("no longer finite numbers" in error.value for error in visitor.error)
    assert [error.value for error in visitor.exception] == []


# Settings


def test_a_changed_setting_begins_a_new_run_says_so_and_keeps_the_loss_of_the_run_before():
    visitor = press(press(learning(), "Start"), "Pause")
    loss = gauge(visitor, "Loss")
    chosen(visitor, "Learning rate", 0.1)
    assert gauge(visitor, "Step") == "0"
    expected = "New run: learning rate 0.01 → 0.1. The run before had loss " + loss + " at step 25."
    assert expected in told(visitor)
    assert "the run before" in component(visitor, "learning_loss")["figure"]
    chosen(visitor, "Task", "xor")
    assert "the run before" not in component(visitor, "learning_loss")["figure"], "its loss is another"


def test_a_setting_that_changes_while_it_runs_pauses_the_new_run():
    visitor = chosen(press(learning(), "Start"), "Nonlinearity", "gelu")
    visitor.run()
    assert gauge(visitor, "Step") == "0"
    assert run_of(visitor).main.state.ffn.activation == "gelu"


def test_momentum_counts_for_sgd_alone():
    visitor = press(learning(), "Step")
    chosen(visitor, "Momentum of SGD", 0.5)
    assert gauge(visitor, "Step") == "1", "the run goes on: Adam has no use for it"
    chosen(visitor, "Optimizer", "sgd")
    assert run_of(visitor).settings.momentum == 0.5
    assert gauge(visitor, "Step") == "0"


def test_every_setting_is_a_control_and_d_ff_is_1_to_64():
    visitor = learning()
    for label in SETTINGS:
        assert labelled(visitor.selectbox, label)
    width = labelled(visitor.number_input, "d_ff, neurons")
    assert (width.min, width.max) == (1, 64)
    assert labelled(visitor.number_input, "Seed").value == 0
    width.set_value(64).run()
    assert run_of(visitor).main.state.ffn.d_ff == 64


def test_the_link_holds_the_settings_and_opens_them_again():
    visitor = chosen(learning(), "Task", "circles")
    chosen(visitor, "Points a step", 32)
    query = component(visitor, FRAME)["query"]
    assert query == "l=task~circles,batch_size~32"
    again = learning(query.removeprefix("l="))
    assert run_of(again).settings == run_of(visitor).settings
    assert component(again, FRAME)["query"] == query


@pytest.mark.parametrize(
    "settings", ["task~<script>", "d_ff~65", "seed~-1", "points~nan~1,task~points", "%00", "~" * 3000]
)
def test_a_hostile_link_opens_a_sound_page(settings):
    visitor = learning(settings)
    assert [error.value for error in visitor.exception] == []
    assert gauge(visitor, "Step") == "0"
    [notice] = component(visitor, FRAME)["notices"]
    assert "setting for Learning" in notice


def test_the_frame_has_no_controls_for_a_scenario_that_is_out_of_sight():
    frame = component(learning(), FRAME)
    assert frame["own_network"] is True
    assert frame["activations"] == []
    assert component(visit("memories"), FRAME)["own_network"] is False


# Points of one's own


def test_typed_points_are_learned():
    visitor = chosen(learning(), "Task", "points")
    visitor.text_area[0].set_value("0, 1\n1, 3").run()
    assert run_of(visitor).task.target.tolist() == [1, 3]
    assert "New run: points." in told(visitor)


def test_points_that_cannot_be_read_are_told_and_the_last_good_ones_go_on():
    visitor = chosen(learning(), "Task", "points")
    visitor.text_area[0].set_value("0, 1\n1, 3").run()
    press(visitor, "Step")
    visitor.text_area[0].set_value("0, 1\n1, oops").run()
    [error] = visitor.error
    assert "Row 2, column 2 is not a number: 'oops'" in error.value
    assert run_of(visitor).task.target.tolist() == [1, 3]
    assert gauge(visitor, "Step") == "1"
    assert component(visitor, FRAME)["query"].endswith("points~0~1~1~3"), (
        "the link keeps the good ones as well"
    )


# Identity beside


def test_identity_beside_learns_in_step_and_both_losses_are_shown():
    visitor = learning()
    labelled(visitor.toggle, "Identity beside").set_value(True).run()
    for _ in range(30):
        press(visitor, "Start").run()
        press(visitor, "Pause")
    run = run_of(visitor)
    assert run.beside is not None
    assert run.main.state.step == run.beside.state.step > 300
    # 1/2 - 3/π² is what the best line leaves of a sine.
    assert float(gauge(visitor, "Loss, identity")) == pytest.approx(0.196, abs=0.02)
    assert float(gauge(visitor, "Loss").replace("e−", "e-").replace("−", "-")) < 0.01


def test_beside_identity_itself_there_is_nothing_to_show():
    visitor = learning("activation~identity,beside~True")
    assert run_of(visitor).beside is None


# Onwards, and back


@pytest.mark.parametrize(
    ("button", "title"),
    [("Hourglass", "The hourglass"), ("Weights", "The weights"), ("Memories", "Key-value memories")],
)
def test_a_trained_network_opens_on_another_page_and_undo_brings_back_what_was_there(button, title):
    visitor = press(press(learning("task~xor"), "Start"), "Pause")
    before, trained = session(visitor).present, run_of(visitor).main.state.ffn
    press(visitor, button)
    assert component(visitor, FRAME)["title"] == title
    [notice] = component(visitor, FRAME)["notices"]
    assert "XOR: class 1 where the signs differ, step " in notice, (
        "it is no random network, whatever it stands on"
    )
    ffn, _ = session(visitor).present.build()
    assert (ffn.w1 == trained.w1).all()
    assert (ffn.w2 == trained.w2).all()
    assert session(visitor).present.words[0].endswith("class 0")
    assert component(visitor, FRAME)["can_undo"]
    undone(visitor)
    assert session(visitor).present.to_query() == before.to_query()


def test_a_run_waits_paused_while_another_page_is_open():
    visitor = press(learning("task~moons,d_ff~8"), "Start")
    run, step = run_of(visitor), run_of(visitor).main.state.step
    visitor.switch_page("../pages/memories.py").run()
    visitor.run()
    assert run.main.state.step == step, "nothing runs while another page is open"
    visitor.switch_page("../pages/learning.py").run()
    assert run_of(visitor) is run
    assert gauge(visitor, "Step") == str(step)
    assert labelled(visitor.button, "Start")
    assert labelled(visitor.selectbox, "Task").value == "moons"


def test_a_visitors_run_is_their_own():
    one, other = learning(), learning()
    press(one, "Start")
    assert (gauge(one, "Step"), gauge(other.run(), "Step")) == ("25", "0")
