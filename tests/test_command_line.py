"""`python -m ffn_core`: the traces of the app in a terminal."""

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest

from ffn_core import EXAMPLES, FFN, TASKS, VARIANTS, MoE, Scenario, example, explain, fit
from ffn_core.__main__ import main
from ffn_core.counting import MODELS
from ffn_core.scenario import Edit


@pytest.fixture
def run(capsys):
    """Run with arguments and return what was printed."""

    def call(*arguments):
        assert main(arguments) == 0
        return capsys.readouterr()

    return call


@pytest.fixture
def refused(capsys):
    """Run with arguments that are misuse and return the one line that says so."""

    def call(*arguments):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.count("\n") == 1
        return printed.err

    return call


def test_the_module_runs_and_prints_the_worked_example():
    result = subprocess.run(
        [sys.executable, "-m", "ffn_core"], cwd=Path(__file__).parents[1], capture_output=True, check=True
    )
    assert b"hidden[0][0] = 0.1*1.0 + 0.2*0.5 + 0.3*(-0.3) + 0.4*0.8 + 0 = 0.43" in result.stdout
    assert result.stderr == b""


def test_every_number_of_the_worked_example_is_explained(run):
    lines = run().out.splitlines()
    trace = example("lesson").ffn.forward(example("lesson").x)
    for position in range(2):
        for index in range(8):
            assert explain(trace, "hidden", position, index).text in lines
            assert explain(trace, "activated", position, index).text in lines
        for index in range(4):
            assert explain(trace, "output", position, index).text in lines
            assert explain(trace, "residual", position, index).text in lines


def test_the_shapes_and_the_parameters_are_said(run):
    text = run().out
    for said in (
        "w1 [8, 4]",
        "b1 [8]",
        "w2 [4, 8]",
        "x [2, 4]",
        "hidden [2, 8]",
        "output [2, 4]",
        "76 parameters",
    ):
        assert said in text


def test_the_lessons_wrong_numbers_stand_beside_the_right_ones(run):
    text = run().out
    assert "printed 0.17, 0.21, 0.23, 0.19, 0.20, 0.22, 0.29, 0.23" in text
    assert "right   0.1600, 0.2700, -0.0200, 0.0900, 0.0600, -0.0300, 0.2800, 0.1900" in text


@pytest.mark.parametrize("arguments", [("--activation", "gelu"), ("--example", "cat"), ("--link", "")])
def test_no_difference_from_the_lesson_is_claimed_of_anything_else(run, arguments):
    assert "Where the lesson" not in run(*arguments).out


def test_another_activation_changes_the_numbers(run):
    assert "activated[1][2] = ReLU(-0.02) = max(0, -0.02) = 0" in run("--activation", "relu").out
    assert "(gelu_tanh)" in run("--activation", "gelu_new").out


def test_a_big_example_is_summarised(run):
    text = run("--example", "random").out
    assert len(text) < 20_000
    assert "8,192 hidden numbers" in text
    assert "[122 smaller terms: " in text


@pytest.mark.parametrize("name", EXAMPLES)
def test_json_holds_every_number_and_computes_to_the_same(run, name):
    data = json.loads(run("--example", name, "--json").out)
    chosen = example(name)
    ffn = FFN(**{array: data[array] for array in ("w1", "b1", "w2", "b2")}, activation=data["activation"])
    trace = ffn.forward(data["x"])
    for stage in ("hidden", "activated", "output", "residual"):
        np.testing.assert_array_equal(data[stage], getattr(trace, stage))
        assert data["shapes"][stage] == list(getattr(trace, stage).shape)
    np.testing.assert_array_equal(data["w1"], chosen.ffn.w1)
    assert data["n_parameters"] == chosen.ffn.n_parameters
    assert data["words"] == list(chosen.words)


@pytest.mark.parametrize("name", VARIANTS)
def test_json_holds_every_number_of_a_gated_network_or_a_mixture(run, name):
    data = json.loads(run("--example", name, "--json").out)
    chosen = example(name)
    np.testing.assert_array_equal(data["output"], chosen.ffn.forward(chosen.x).output)
    assert data["words"] == list(chosen.words)
    assert data["n_parameters"] == chosen.ffn.n_parameters
    assert data["d_model"] == chosen.ffn.d_model
    if isinstance(chosen.ffn, MoE):
        assert (data["n_experts"], data["top_k"]) == (chosen.ffn.n_experts, chosen.ffn.top_k)
        assert "router" in data


def test_a_gated_network_and_a_mixture_are_written_out(run):
    # Case S4 is the second position of this example.
    assert "activated[1][0] = SiLU(1.0)*(-2.0) = 0.7311*(-2.0) = -1.462" in run("--example", "gates").out
    edited = Scenario(base="experts").edit(("top_k", (), 1), ("router", (0, 0), 5.0))
    text = run("--link", urlencode(edited.to_query()), "--activation", "tanh").out
    assert "4 experts, top 1" in text
    assert "router_logits[0][0] = 5" in text


def test_json_of_infinities_is_still_json(run, monkeypatch):
    huge = FFN(w1=[[1e308, 1e308]], b1=[0], w2=[[1], [-1]], b2=[0, 0], activation="identity")
    monkeypatch.setattr(Scenario, "build", lambda self: (huge, np.ones((1, 2))))

    def not_json(constant):
        raise AssertionError(f"{constant} is not JSON")

    data = json.loads(run("--link", "", "--json").out, parse_constant=not_json)
    assert data["hidden"] == [["inf"]]
    assert np.array(data["output"], float).tolist() == [[np.inf, -np.inf]]


@pytest.mark.parametrize("start", ["https://example.org/weights?", "?", ""])
def test_a_link_is_followed_as_a_url_or_as_its_query(run, start):
    edited = Scenario(base="memories", edits=(Edit("x", (0, 0), 0.5),))
    printed = run("--link", start + urlencode(edited.to_query()))
    assert "hidden[0][0] = 1.0*0.5 + 1.0*(-1.0) + 0 = -0.5" in printed.out
    assert printed.err == ""


def test_a_damaged_link_opens_what_is_sound_and_says_what_it_dropped(run):
    printed = run("--link", "?act=gleu")
    assert "hidden[0][0] = 0.1*1.0" in printed.out
    assert printed.err.startswith("warning: ")
    assert "gleu" in printed.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--example", "dog"), "no example is called 'dog'; there are lesson, memories, cat, random"),
        (("--activation", "gleu"), "no activation is called 'gleu'; there are relu, gelu"),
        (("--exmaple", "cat"), "unrecognized arguments"),
        (("--example", "cat", "--link", ""), "not allowed with"),
        (("--link",), "expected one argument"),
        (("--link", "http://[/?a=1"), "Invalid IPv6 URL"),
    ],
)
def test_misuse_is_one_line_and_status_two(refused, arguments, reason):
    assert reason in refused(*arguments)


# Counting


def test_a_model_is_counted_with_its_formulas(run):
    lines = run("count", "gpt2-small").out.splitlines()
    for line in (
        "GPT-2 small",
        "    w1, b1: d_ff·d_model + d_ff = 3,072·768 + 3,072 = 2,362,368",
        "  FFN: 2·n_layers·(weights of one FFN) = 2·12·(2,359,296 + 2,359,296) = 113,246,208",
        "  attention's scores: 4·n_layers·n_heads·d_head·n = 4·12·12·64·1,024 = 37,748,736",
        "  not in the total: bias adds: 82,944",
    ):
        assert line in lines
    words = [" ".join(line.split()) for line in lines]
    assert "total 124,439,808" in words
    assert "scores alone 3,072" in words
    assert "with projections 1,536" in words
    assert "float16 248,879,616 bytes = 249 MB" in words


def test_experts_are_counted_in_all_and_active(run):
    words = [" ".join(line.split()) for line in run("count", "mixtral-8x7b").out.splitlines()]
    assert "total 46,702,792,704" in words
    assert "active a token 12,879,925,248" in words
    assert "active" not in run("count", "llama-2-7b").out


def test_the_context_and_its_mask_are_said_and_counted(run):
    text = run("count", "gpt2-small", "--context", "2000", "--causal").out
    assert (
        "FLOPs per token in a context of 2,000 tokens: each sees itself and those before it; the mean" in text
    )
    assert "beyond the 1,024 positions that the model has embeddings for" in text
    assert "2·n_layers·n_heads·d_head·(n + 1) = 2·12·12·64·(2,000 + 1)" in text
    assert "beyond" not in run("count", "gpt2-small").out
    assert "beyond" not in run("count", "llama-2-7b", "--context", "100000").out, "its positions are rotary"


def test_a_count_is_machine_readable(run):
    counted = json.loads(run("count", "mixtral-8x7b", "--json").out)
    assert counted["shape"]["n_kv_heads"] == 8
    assert counted["parameters"]["total"] == 46_702_792_704
    assert counted["parameters"]["active"] == 12_879_925_248
    assert counted["parameters"]["ffn_per_layer"] == 8 * 176_160_768
    # By hand: 2 FLOPs, 32 layers, 2 experts of 3 matrices.
    assert counted["flops"]["ffn"] == 2 * 32 * 2 * 3 * 4096 * 14336
    assert counted["flops"]["context_length"] == 1024
    assert counted["memory"]["int8"] == 46_702_792_704
    assert counted["crossover"] == {"scores": 43_008, "with_projections": 37_888}


def test_help_names_the_other_commands_and_theirs_the_models(capsys):
    for arguments, said in (
        (["--help"], "Another command comes first: count, learn"),
        (["count", "--help"], "llama-3-8b"),
        (["learn", "--help"], "spiral"),
    ):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 0
        assert said in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("name", MODELS)
def test_every_model_can_be_counted(run, name):
    assert MODELS[name].title in run("count", name).out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("count", "gpt5"), "no model is called 'gpt5'; there are lesson, vaswani-base, gpt2-small, gpt2-xl"),
        (("count",), "the following arguments are required: NAME"),
        (("cuont", "lesson"), "unrecognized arguments: cuont lesson"),
        (("count", "lesson", "--context", "0"), "--context must be from 1 to 1,000,000,000, got 0"),
        (("count", "lesson", "--context", "many"), "invalid int value: 'many'"),
        (("--example", "cat", "count", "lesson"), "unrecognized arguments: count lesson"),
        (("count", "lesson", "--activation", "relu"), "unrecognized arguments: --activation relu"),
    ],
)
def test_misuse_of_counting_is_one_line_and_status_two(refused, arguments, reason):
    assert reason in refused(*arguments)


# Learning


def test_learning_prints_its_steps_and_losses(run):
    text = run("learn", "xor", "--d-ff", "8", "--steps", "250", "--every", "100").out
    title, setting, empty, *lines = text.splitlines()
    assert title == TASKS["xor"].title
    assert setting == "256 points, d_model 2, d_ff 8, relu, adam, learning rate 0.01, seed 0"
    assert empty == ""
    states = list(fit("xor", d_ff=8, activation="relu", learning_rate=0.01, steps=250, seed=0, every=100))
    assert [line.split()[:4] for line in lines] == [
        ["step", str(state.step), "loss", f"{state.loss:.6g}"] for state in states
    ]
    assert lines[-1].endswith("accuracy 100.0%")
    assert "accuracy" not in run("learn", "sine", "--steps", "1").out


def test_what_was_learned_is_machine_readable_with_its_weights(run):
    learned = json.loads(
        run("learn", "bump", "--activation", "gelu", "--steps", "20", "--every", "10", "--json").out
    )
    assert [state["step"] for state in learned["states"]] == [0, 10, 20]
    ffn = FFN(**{name: learned[name] for name in ("w1", "b1", "w2", "b2")}, activation=learned["activation"])
    assert TASKS["bump"].loss(ffn.forward(TASKS["bump"].x).output)[0] == learned["states"][-1]["loss"]
    assert (learned["task"], learned["d_ff"], learned["seed"], learned["optimizer"]) == (
        "bump",
        16,
        0,
        "adam",
    )


def test_a_fit_that_diverges_says_so_and_is_still_json(run):
    arguments = ("learn", "sine", "--optimizer", "sgd", "--learning-rate", "50")
    assert run(*arguments).out.splitlines()[-1].startswith("It diverged")
    learned = json.loads(run(*arguments, "--json").out, parse_constant=pytest.fail)
    assert learned["states"][-1]["diverged"] is True
    assert learned["states"][-1]["loss"] in ("inf", "nan")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("learn", "cosine"), "no task is called 'cosine'; there are sine, step"),
        (("learn",), "the following arguments are required: TASK"),
        (("learn", "sine", "--d-ff", "0"), "d_ff must be at least 1"),
        (
            ("learn", "sine", "--learning-rate", "nan"),
            "learning_rate must be a finite number above 0, got nan",
        ),
        (("learn", "sine", "--optimizer", "lion"), "no optimizer is called 'lion'"),
    ],
)
def test_misuse_of_learning_is_one_line_and_status_two(refused, arguments, reason):
    assert reason in refused(*arguments)
