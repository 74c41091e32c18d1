"""The page "Experts" as Streamlit runs it, without a browser: each setting is an edit that undo takes back."""

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from ffn_app.experts_page import names_of_experts
from ffn_app.session import token
from ffn_core.scenario import Scenario
from tests.test_pages import FRAME, component, labelled, session, visit

EXPERTS, TOP_K, FACTOR = "Experts", "Top-k: experts a token goes to", "Capacity factor"
SUM_TO_1, LIMIT = "Weights sum to 1", "Limit tokens per expert"


def opened(scenario: Scenario | None = None, **view: str) -> AppTest:
    return visit("experts", (scenario or Scenario(base="experts")).to_query() | view)


def edits(visitor: AppTest) -> list[tuple[Any, ...]]:
    return [tuple(edit) for edit in session(visitor).present.edits]


def undone(visitor: AppTest) -> AppTest:
    """The visitor presses Undo."""
    seen = session(visitor).applied
    # A browser that the server does not know is heard from its second event on.
    events = [{"kind": "seen", "seq": seen + 1}, {"kind": "undo", "seq": seen + 2}]
    log = {"client": "tab", "token": token(session(visitor).present), "events": events}
    visitor.session_state[FRAME] = {"log": log}
    return visitor.run()


def told(visitor: AppTest) -> str:
    return "\n".join(text.value for text in (*visitor.markdown, *visitor.caption))


def errors(visitor: AppTest) -> list[str]:
    return [error.value for error in visitor.exception]


@pytest.mark.parametrize("base", ["experts", "experts_random", "one_expert"])
def test_the_page_opens_with_every_mixture(base):
    visitor = opened(Scenario(base=base))
    assert errors(visitor) == []
    assert session(visitor).present.base == base
    assert [head.value for head in visitor.header] == [
        "Who goes where",
        "One token's output, mixed",
        "Is the work shared evenly?",
        "One expert",
        "One expert alone is a dense FFN",
        "Many parameters, few at work",
    ]
    for key in ("board", "routing", "mixture", "load", "expert_board"):
        assert component(visitor, key)


def test_a_visitor_who_brings_nothing_sees_the_handmade_experts():
    assert session(visit("experts")).present.base == "experts"


# The settings


def test_the_sliders_show_what_the_scenario_has():
    visitor = opened()
    assert [labelled(visitor.slider, label).value for label in (EXPERTS, TOP_K)] == [4, 2]
    assert [labelled(visitor.toggle, label).value for label in (SUM_TO_1, LIMIT)] == [True, False]
    assert labelled(visitor.slider, FACTOR).disabled


@pytest.mark.parametrize(
    ("kind", "label", "value", "edit"),
    [
        ("slider", EXPERTS, 6, ("n_experts", (), 6)),
        ("slider", TOP_K, 3, ("top_k", (), 3)),
        ("toggle", SUM_TO_1, False, ("renormalize", (), 0)),
        ("toggle", LIMIT, True, ("capacity", (), 1.0)),
    ],
)
def test_each_setting_is_an_edit_that_the_link_carries_and_undo_takes_back(kind, label, value, edit):
    visitor = opened()
    before = labelled(getattr(visitor, kind), label).value
    labelled(getattr(visitor, kind), label).set_value(value).run()
    assert edits(visitor) == [edit]
    assert labelled(getattr(visitor, kind), label).value == value
    assert session(visitor).present.to_query()["e"] in component(visitor, FRAME)["query"]
    undone(visitor)
    assert edits(visitor) == []
    assert labelled(getattr(visitor, kind), label).value == before


def test_the_capacity_factor_is_an_edit_too():
    visitor = opened(Scenario(base="experts").edit(("capacity", (), 1.0)))
    labelled(visitor.slider, FACTOR).set_value(0.5).run()
    assert edits(visitor)[-1] == ("capacity", (), 0.5)
    # ceil(6 · 2 / 4 · 0.5) = 2: of 3, 4, 3 and 2 tokens 1, 2, 1 and none are too many.
    text = component(visitor, "load")["text"]
    assert text == (
        "Tokens computed by each expert, capacity 2: determiners 2 and 1 dropped, nouns 2 and 2 dropped, "
        "verbs 2 and 1 dropped, prepositions 2. Balance loss 1.06."
    )
    assert "ceil(6 · 2 / 4 · 0.5) = 2 for each expert" in told(visitor)
    assert "Dropped: 4." in told(visitor)
    labelled(visitor.toggle, LIMIT).set_value(False).run()
    assert session(visitor).present.options["capacity"] == 0
    assert "no limit" in component(visitor, "load")["text"]


def test_a_factor_from_a_link_beyond_the_slider_holds_until_it_is_moved():
    visitor = opened(Scenario(base="experts").edit(("capacity", (), 50.0)))
    assert labelled(visitor.slider, FACTOR).value == 4, "as far as it goes"
    assert session(visitor).present.options["capacity"] == 50


def test_fewer_experts_than_top_k_lower_it_and_one_expert_leaves_nothing_to_choose():
    visitor = opened()
    labelled(visitor.slider, EXPERTS).set_value(1).run()
    assert errors(visitor) == []
    assert session(visitor).present.options["top_k"] == 1
    assert labelled(visitor.slider, TOP_K).disabled
    assert labelled(visitor.slider, TOP_K).value == 1


def test_an_expert_that_is_looked_into_and_taken_away_is_looked_into_no_more():
    visitor = opened(q="3")
    assert labelled(visitor.selectbox, "Expert").value == 3
    labelled(visitor.slider, EXPERTS).set_value(2).run()
    assert errors(visitor) == []
    assert labelled(visitor.selectbox, "Expert").value == 1


def test_new_experts_have_numbers_in_place_of_names():
    visitor = opened(Scenario(base="experts").edit(("n_experts", (), 6)))
    axis = json.loads(component(visitor, "routing")["figure"])["layout"]["xaxis"]
    assert axis["ticktext"] == ["0: determiners", "1: nouns", "2: verbs", "3: prepositions", "4", "5"]


def test_the_help_of_renormalizing_has_both_weights_of_case_s8():
    visitor = opened()
    help_text = labelled(visitor.toggle, SUM_TO_1).help
    assert "on 0.731 and 0.269; off 0.644 and 0.237, which sum to 0.881" in help_text


def test_the_help_of_the_capacity_plugs_in_this_scenarios_numbers():
    visitor = opened(Scenario(base="experts").edit(("top_k", (), 3)))
    assert "ceil(6 · 3 / 4 · 1) = 5" in labelled(visitor.toggle, LIMIT).help


# One token's mixture


def test_the_position_that_is_chosen_is_mixed_and_worked_out():
    visitor = opened()
    visitor.button_group[0].set_value(1).run()
    assert session(visitor).view.position == 1
    assert component(visitor, "mixture")["text"] == "The output for cat is 0.937 · nouns + 0.063 · verbs."
    assert not visitor.code, "it is written when it is looked at"
    visitor.session_state["mixture_worked"] = True
    [code] = [block.value for block in visitor.run().code]
    # Row "nouns" of the router, [1, 3, 0, 0, 0, 0, 1, 0], meets a noun (1) that was wanted (0.7).
    assert "router_logits[1][1] = " in code
    assert "= 3.7\n" in code
    assert "output[1][7] = 0.937*1.0 + 0.06297*0.0 = 0.937" in code
    assert "The weights sum to 1." in told(visitor)


def test_weights_that_are_not_renormalized_say_what_they_sum_to():
    # At "cat" exp(3.7) + exp(1) = 43.165 of 45.165, which has two more logits of 0.
    visitor = opened(Scenario(base="experts").edit(("renormalize", (), 0)), p="1")
    assert "they sum to 0.956" in told(visitor)


def test_a_token_that_is_dropped_everywhere_is_said_to_have_output_0():
    made = Scenario(base="experts").edit(("capacity", (), 0.01))  # one token an expert
    # 'a' is less of a determiner than 'The', and less of a noun than 'mat'.
    assert "dropped everywhere, and its output is 0" in told(opened(made, p="4"))
    assert "An expert had no room for this token" in told(opened(made, p="0"))


# The load


def test_an_expert_that_nobody_chose_is_said_to_have_load_0():
    # Case S9. With top-k 1 each word goes to its class alone; without 'on' no preposition is left.
    made = Scenario(base="experts").edit(("top_k", (), 1), ("remove_position", (3,), ""))
    visitor = opened(made, q="3")
    assert "**Nobody chose prepositions.** Its load is 0, and it adds exactly 0 to every output." in told(
        visitor
    )
    assert "No token chose **prepositions**: its load is 0" in told(visitor)
    assert "prepositions 0." in component(visitor, "load")["text"]
    assert "Nobody chose" not in told(opened())


def test_the_balance_loss_is_told_in_both_conventions():
    # Importance as the heatmap's columns: 4 · (3/12 · 0.29 + 4/12 · 0.357 + 3/12 · 0.187 + 2/12 · 0.166) = 1.06.
    text = told(opened())
    assert "4·(0.25·0.29 + 0.333·0.357 + 0.25·0.187 + 0.167·0.166) = 1.06" in text
    assert "here 2 · 1.06 = 2.13" in text


# One expert


def test_the_list_looks_into_an_expert_and_says_which_tokens_it_got():
    visitor = opened()
    labelled(visitor.selectbox, "Expert").set_value(3).run()
    assert session(visitor).view.expert == 3
    assert "q=3" in component(visitor, FRAME)["query"]
    assert (
        "**prepositions** computes 2 of 6 tokens: sat (2nd, weight 0.0691), on (1st, weight 0.881)." in told(visitor)
    )  # fmt: skip


def test_an_expert_says_for_which_tokens_it_had_no_room():
    visitor = opened(Scenario(base="experts").edit(("capacity", (), 1.0)), q="1")
    # Nouns take 3 of 4: 'The' with 0.11 is the least probable.
    assert "**nouns** computes 3 of 6 tokens: " in told(visitor)
    assert "It had no room for The." in told(visitor)


# One expert alone, and counts


@pytest.mark.parametrize("base", ["experts", "experts_random", "one_expert"])
def test_one_expert_alone_is_the_dense_network(base):
    assert "is **0**." in told(opened(Scenario(base=base)))


def test_the_lessons_network_as_one_expert_gives_the_lessons_output():
    visitor = opened()
    labelled(visitor.button, "Open “One expert, the lesson's network”").click().run()
    assert session(visitor).present.base == "one_expert"
    [table] = [frame.value for frame in visitor.dataframe]
    assert table.iloc[0].tolist()[1:] == ["0.421", "0.415", "0.425", "0.411"]  # design.md
    assert table.iloc[1].tolist()[1:] == table.iloc[0].tolist()[1:]
    assert "Open “One expert, the lesson's network”" not in [button.label for button in visitor.button]


def test_all_parameters_are_told_beside_those_that_a_token_meets():
    visitor = opened()
    gauges = {metric.label: (metric.value, metric.delta) for metric in visitor.metric}
    assert gauges["All parameters"][0] == "336"
    assert gauges["Active for one token"] == ("184", "54.8% of all")
    assert "router + n_experts·expert = 32 + 4·76 = 336" in told(visitor)


def test_what_changed_is_listed_on_demand():
    made = Scenario(base="experts").edit(("router", (2, 0), 0.5))
    visitor = visit("experts", made.to_query(), {"experts_changed": True})
    tables = [frame.value for frame in visitor.dataframe]
    [changed] = [table for table in tables if "greatest change" in table]
    row = changed[changed["where"] == "router[2][0]"]
    assert row["greatest change"].tolist() == ["0.5"]


def test_an_expert_that_was_taken_away_and_came_back_has_neither_its_weights_nor_its_name():
    edits = (("n_experts", (), 2), ("n_experts", (), 4))
    assert names_of_experts(Scenario(base="experts").edit(*edits)) == (
        "determiners",
        "nouns",
        "expert 2",
        "expert 3",
    )


@pytest.mark.parametrize(
    ("top_k", "says"), [(2, "at most n_experts / top_k = 4 / 2 = 2,"), (4, "so it is always 1.")]
)
def test_what_the_balance_loss_can_be_is_told_for_the_present_top_k(top_k, says):
    visitor = visit("experts", Scenario(base="experts").edit(("top_k", (), top_k)).to_query())
    assert says in told(visitor)
