"""A link carries everything a person made, exactly; a damaged one opens what it can, and says what not."""

import base64
import random
import zlib
from urllib.parse import parse_qs, urlencode

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffn_core.activations import ACTIVATIONS
from ffn_core.examples import EXAMPLES
from ffn_core.link import MAX_EDIT_TEXT, decode, encode
from ffn_core.scenario import ARRAYS, MAX_EDITS, MAX_LINK, Edit, EditError, RandomBase, Scenario

repeatable = settings(derandomize=True, deadline=None, max_examples=100)


def opened(query: object) -> Scenario:
    scenario, losses = Scenario.from_query(query)  # type: ignore[arg-type]
    assert losses == []
    return scenario


def assert_equal(one: Scenario, other: Scenario) -> None:
    assert (one.base, one.activation, one.words) == (other.base, other.activation, other.words)
    assert repr(one.edits) == repr(other.edits)  # repr tells every bit of a float
    for array, expected in zip(
        (one.build()[1], *vars(one.build()[0]).values()),
        (other.build()[1], *vars(other.build()[0]).values()),
        strict=True,
    ):
        if isinstance(array, np.ndarray):
            assert array.tobytes() == expected.tobytes()


# What a link says


def test_the_default_scenario_needs_no_parameters():
    assert Scenario().to_query() == {}
    assert_equal(opened({}), Scenario())


@pytest.mark.parametrize(
    ("scenario", "query"),
    [
        (Scenario(base="cat"), {"ex": "cat"}),
        (Scenario(base=RandomBase(128, 512, 16, 0)), {"r": "128-512-16-0"}),
        (Scenario(activation="relu"), {"act": "relu"}),
        (Scenario(base="memories", activation="relu"), {"ex": "memories"}),  # relu is its own
        (Scenario().edit(("w1", (0, 2), 0.5)), {"v": "1", "e": "pw0.2_.5z"}),
        (Scenario().edit(("w1", (), -2.0), ("b2", (3,), 1e-5)), {"v": "1", "e": "pw_-2zc3_1e-5z"}),
        (Scenario().edit(("w2", (1, 2), ((1.0, 2.0), (3.0, 4.0)))), {"v": "1", "e": "pV1.2_1_2~3_4z"}),
        (Scenario().edit(("b1", (5,), (0.25, 1.0))), {"v": "1", "e": "pB5_.25_1z"}),
        (Scenario().edit(("randomize", ("x",), 7)), {"v": "1", "e": "prx_7z"}),
        (
            Scenario(base="memories").edit(("identity", ("w1",), 1.0)),
            {"ex": "memories", "v": "1", "e": "piwz"},
        ),
        (Scenario().edit(("d_model", (), 5), ("d_ff", (), 12)), {"v": "1", "e": "pm5zf12z"}),
        (Scenario().edit(("strength", (3,), 0.5)), {"v": "1", "e": "ps3_.5z"}),
        (Scenario().edit(("strength", (7,), 0.0), ("strength", (7,), -1.0)), {"v": "1", "e": "ps7_0zs7_-1z"}),
        (Scenario().edit(("insert_position", (1,), "cat")), {"v": "1", "e": "pp1_catz"}),
        (Scenario().edit(("remove_position", (1,), "")), {"v": "1", "e": "pq1z"}),
        (Scenario().edit(("word", (0,), "zoé")), {"v": "1", "e": "pn0_-7ao-c3-a9z"}),
        (
            Scenario().edit(("together", (), (("b1", (0,), 1.0), ("d_ff", (), 2)))),
            {"v": "1", "e": "ptzb0_1zf2zuz"},
        ),
    ],
)
def test_the_format_is_what_the_documentation_says(scenario, query):
    # Links live in lesson plans and mails: the format may grow, but these must open for ever.
    assert scenario.to_query() == query
    assert_equal(opened(query), scenario)
    assert_equal(opened(parse_qs(urlencode(query))), scenario)  # values as lists, through a real URL


def test_a_deflated_link_made_once_opens_for_ever():
    scenario = opened({"v": "1", "e": "dA0e_ASQW9YxMIdGhZwoJVj1zU0j4GEK8aQhWYQZmmUJsNgSpAQA"})
    assert scenario.edits == tuple(Edit("w1", (j, 0), j / 4) for j in range(8))


def test_links_are_short():
    rng = random.Random(0)
    shapes = {"w1": (8, 4), "b1": (8,), "w2": (4, 8), "b2": (4,)}
    cells = [(name, index) for name, shape in shapes.items() for index in np.ndindex(shape)]
    assert len(cells) == 76

    edits = [(*cell, round(rng.uniform(-1, 1), 3)) for cell in cells]
    for some, limit in ((edits[:1], 24), (rng.sample(edits, 10), 110), (edits, 450)):
        assert len(urlencode(Scenario().edit(*some).to_query())) <= limit


def test_every_weight_of_16_to_64_to_16_fits_a_link_with_three_digits():
    rng = random.Random(0)
    scenario = Scenario().edit(("d_model", (), 16), ("d_ff", (), 64))
    edits = [
        (name, index, round(rng.uniform(-1, 1), 3))
        for name, shape in {"w1": (64, 16), "b1": (64,), "w2": (16, 64), "b2": (16,)}.items()
        for index in np.ndindex(shape)
    ]
    scenario = scenario.edit(*edits)
    assert len(edits) == 2128
    assert len(urlencode(scenario.to_query())) > MAX_LINK  # every edit in its order is too much ...
    query = scenario.link_query()  # ... and so the link carries the result
    assert query is not None
    assert len(urlencode(query)) <= 7500
    np.testing.assert_array_equal(opened(query).build()[0].w1, scenario.build()[0].w1)


def test_what_fits_no_link_has_none():
    noise = np.random.default_rng(0).standard_normal((64, 16)).tolist()
    scenario = Scenario().edit(("d_model", (), 16), ("d_ff", (), 64), ("w1", (0, 0), noise))
    assert scenario.link_query() is None
    assert_equal(opened(scenario.to_query()), scenario)


def test_a_short_link_keeps_each_edit():
    scenario = Scenario().edit(("b1", (0,), 1.0), ("b1", (0,), 2.0))
    assert scenario.link_query() == scenario.to_query()


# Every scenario comes back exactly

numbers = st.one_of(
    st.floats(min_value=-1e30, max_value=1e30),
    st.integers(-1000, 1000).map(lambda n: n / 1000),
)
words = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=24)
bases = st.one_of(
    st.sampled_from([name for name in EXAMPLES if name != "random"]),
    st.builds(RandomBase, st.integers(1, 5), st.integers(1, 9), st.integers(1, 4), st.integers(0, 2**32 - 1)),
)
edit_of_any_kind = st.one_of(
    st.tuples(
        st.sampled_from(ARRAYS),
        st.lists(st.integers(0, 9), max_size=2).map(tuple),
        st.one_of(
            numbers,
            st.lists(numbers, min_size=1, max_size=3).map(tuple),
            st.lists(st.tuples(numbers, numbers), min_size=1, max_size=3).map(tuple),
        ),
    ),
    st.tuples(st.sampled_from(["b1", "b2"]), st.tuples(st.integers(0, 5)), numbers),
    st.tuples(st.just("randomize"), st.tuples(st.sampled_from(ARRAYS)), st.integers(0, 2**32 - 1)),
    st.tuples(st.just("identity"), st.tuples(st.sampled_from(ARRAYS)), st.just(1.0)),
    st.tuples(st.sampled_from(["d_model", "d_ff"]), st.just(()), st.integers(1, 12)),
    st.tuples(
        st.just("strength"),
        st.tuples(st.integers(0, 12)),
        st.one_of(st.sampled_from([0.0, 1.0]), st.floats(-100, 100)),
    ),
    st.tuples(st.sampled_from(["insert_position", "word"]), st.tuples(st.integers(0, 4)), words),
    st.tuples(st.just("remove_position"), st.tuples(st.integers(0, 4)), st.just("")),
)
gestures = st.tuples(
    st.just("together"), st.just(()), st.lists(edit_of_any_kind, min_size=1, max_size=4).map(tuple)
)


@st.composite
def scenarios(draw):
    """A valid scenario of every kind of edit: those that do not fit are left out."""
    scenario = Scenario(base=draw(bases), activation=draw(st.sampled_from([None, *ACTIVATIONS])))
    for edit in draw(st.lists(st.one_of(edit_of_any_kind, gestures), max_size=8)):
        try:
            scenario = scenario.edit(edit)
        except EditError:
            continue
    return scenario


@given(scenarios())
@repeatable
def test_a_link_opens_exactly_what_it_was_made_from(scenario):
    assert_equal(opened(parse_qs(urlencode(scenario.to_query()))), scenario)


@given(scenarios())
@repeatable
def test_compacting_never_changes_what_is_built(scenario):
    compact = scenario.compact()
    assert compact.words == scenario.words
    assert compact.strengths == scenario.strengths
    np.testing.assert_array_equal(compact.build()[1], scenario.build()[1])
    for name in ("w1", "b1", "w2", "b2"):
        np.testing.assert_array_equal(getattr(compact.build()[0], name), getattr(scenario.build()[0], name))


@given(scenarios())
@repeatable
def test_interventions_scale_the_columns_of_w2_and_nothing_else(scenario):
    plain, (ffn, x) = scenario.without_strengths(), scenario.build()
    assert plain.strengths == {}
    assert (plain.words, plain.activation) == (scenario.words, scenario.activation)
    stored, stored_x = plain.build()
    np.testing.assert_array_equal(stored_x, x)
    for name in ("w1", "b1", "b2"):
        np.testing.assert_array_equal(getattr(stored, name), getattr(ffn, name))
    for neuron in range(ffn.d_ff):
        factor = scenario.strengths.get(neuron, 1.0)
        np.testing.assert_array_equal(ffn.w2[:, neuron], factor * stored.w2[:, neuron])


@given(scenarios())
@repeatable
def test_holding_what_is_built_leaves_no_intervention(scenario):
    held = scenario.holding(*scenario.build())
    assert held.strengths == {}
    np.testing.assert_array_equal(held.build()[0].w2, scenario.build()[0].w2)


# Damage

sound = Scenario(base="cat").edit(*[("w1", (n % 16, n % 8), n / 7) for n in range(40)], ("word", (0,), "A"))


def test_the_example_for_damage_is_deflated():
    assert sound.to_query()["e"].startswith("d")


@pytest.mark.parametrize(
    ("query", "loss"),
    [
        ({"ex": "nonsense"}, "There is no example 'nonsense': the lesson's is used."),
        ({"act": "nonsense"}, "There is no activation 'nonsense': the example's own is used."),
        ({"r": "0-1-1-0"}, "There are no such random weights: d_model must be from 1 to 256, got 0."),
        ({"r": "x"}, "There are no such random weights: r must be d_model-d_ff-positions-seed"),
        ({"v": "2", "e": "pb0_1z"}, "The link was made by another version of Hourglass"),
        ({"e": "pb0_1"}, "The link is cut short: its last edit is lost."),
        ({"e": "p"}, "The link is cut short: its last edit is lost."),
        ({"e": ""}, "The edits in the link cannot be read."),
        ({"e": "?"}, "The edits in the link cannot be read."),
        ({"e": "phelloz"}, "An edit cannot be read: 'hello'."),
        ({"e": "pb8_1z"}, "An edit was dropped: b1 is [d_ff] = [8]; indexes count from 0"),
        ({"e": "pb0_1e31z"}, "An edit was dropped: b1[0] must be finite"),
        ({"e": "ps8_0z"}, "An edit was dropped: the neuron of strength must be from 0 to 7, got 8"),
        ({"e": "ps0_101z"}, "An edit was dropped: a strength must be from -100 to 100, got 101.0"),
        ({"e": "ps0.1_1z"}, "An edit cannot be read: 's0.1_1'."),
        ({"e": "pb0_1e999z"}, "An edit was dropped: b1[0] must be finite"),
        ({"e": "pb0_nanz"}, "An edit cannot be read: 'b0_nan'."),
        ({"e": "pn0_-ffz"}, ""),  # no UTF-8: a replacement character stands for it
    ],
)
def test_a_loss_is_said_and_the_rest_opens(query, loss):
    scenario, losses = Scenario.from_query(query)
    assert (losses[0].startswith(loss) and len(losses) == 1) if loss else losses == []
    np.testing.assert_array_equal(scenario.build()[0].w1, Scenario().build()[0].w1)


def test_one_bad_edit_does_not_take_the_others_along():
    scenario, losses = Scenario.from_query({"e": "pb0_1zb9_1zb1_2z"})
    assert scenario.edits == (Edit("b1", (0,), 1.0), Edit("b1", (1,), 2.0))
    assert len(losses) == 1


def test_one_bad_edit_in_a_gesture_leaves_the_rest_of_the_gesture():
    scenario, losses = Scenario.from_query({"e": "ptzb0_1zb9_1zuz"})
    assert scenario.edits == (Edit("together", (), (Edit("b1", (0,), 1.0),)),)
    assert len(losses) == 1


def test_half_a_number_is_not_taken_for_a_number():
    # `.313` cut to `.31` would be a wrong weight that nobody notices.
    full = Scenario().edit(("b1", (0,), 1.0), ("b1", (1,), 0.313)).to_query()["e"]
    scenario, losses = Scenario.from_query({"e": full[:-2]})
    assert scenario.edits == (Edit("b1", (0,), 1.0),)
    assert losses


def test_a_few_losses_are_named_and_the_others_counted():
    _, losses = Scenario.from_query({"e": "p" + "b9_1z" * 30})
    assert len(losses) == 6
    assert losses[-1] == "And 25 more such losses."


def test_a_gesture_cut_short_keeps_what_came_before_the_cut():
    text = Scenario().edit(("together", (), (("b1", (0,), 1.0), ("b1", (1,), 2.0)))).to_query()["e"]
    scenario, losses = Scenario.from_query({"e": text[: text.index("b1_2")]})
    assert scenario.edits == (Edit("together", (), (Edit("b1", (0,), 1.0),)),)
    assert losses


def test_a_deflated_link_cut_anywhere_keeps_a_beginning_of_the_edits():
    text = sound.to_query()["e"]
    kept = []
    for end in range(len(text)):
        scenario, losses = Scenario.from_query({"ex": "cat", "e": text[:end]})
        assert losses
        assert scenario.edits == sound.edits[: len(scenario.edits)]
        kept.append(len(scenario.edits))
    assert kept == sorted(kept)
    assert kept[-1] >= len(sound.edits) - 2


def test_the_first_of_repeated_parameters_counts_and_the_pages_own_are_left_alone():
    assert opened({"ex": ["cat", "nonsense"], "p": "3", "n": ["x"], "utm_source": "mail"}).base == "cat"


def test_random_weights_go_before_an_example():
    assert opened({"ex": "cat", "r": "2-3-1-0"}).base == RandomBase(2, 3, 1, 0)


def test_a_bomb_is_cut_while_it_unpacks():
    compressor = zlib.compressobj(level=9, wbits=-15)
    packed = compressor.compress(b"b0_1z" * 4_000_000) + compressor.flush()  # 20 MB
    bomb = "d" + base64.urlsafe_b64encode(packed).decode().rstrip("=")
    edits, losses = decode(bomb)
    assert len(edits) <= MAX_EDIT_TEXT // 5
    assert losses[0] == "The link holds more edits than can be read: the last ones are lost."
    scenario, losses = Scenario.from_query({"e": bomb})
    assert len(scenario.edits) == MAX_EDITS
    assert len(losses) == 2


def test_a_gesture_of_too_many_edits_is_cut():
    scenario, losses = Scenario.from_query({"e": "ptz" + "b0_1z" * (MAX_EDITS + 1) + "uzb1_1z"})
    assert len(scenario.edits[0].value) == MAX_EDITS
    assert len(scenario.edits) == 1
    assert losses


def test_a_costly_link_is_cut_to_a_bounded_amount_of_work():
    scenario, losses = Scenario.from_query({"r": "256-1024-64-0", "e": "p" + "rb_1zrb_2z" * 500})
    assert len(scenario.edits) < 30
    assert "take too long to replay" in losses[0]


def assert_opens_something_sound(query: object) -> None:
    scenario, losses = Scenario.from_query(query)  # type: ignore[arg-type]
    ffn, x = scenario.build()
    assert np.isfinite(ffn.forward(x).hidden).all()
    assert len(scenario.words) == len(x)
    assert len(losses) <= 6
    assert all(isinstance(loss, str) and len(loss) < 400 for loss in losses)


anything = st.one_of(st.none(), st.integers(), st.binary(), st.text(), st.lists(st.text(), max_size=2))
statement = st.text("xwbvcXWBVCrimfspqntu0123456789._~-e", max_size=12)
looks_like_edits = st.lists(statement, max_size=10).map(lambda parts: "p" + "z".join(parts))


@given(
    st.dictionaries(
        st.sampled_from(["v", "ex", "r", "act", "e", "q"]),
        st.one_of(anything, looks_like_edits, st.text("0123456789-", max_size=20)),
    )
)
@settings(repeatable, max_examples=300)
def test_no_parameters_break_it(query):
    assert_opens_something_sound(query)


@given(st.binary(max_size=200))
@repeatable
def test_no_packed_bytes_break_it(data):
    assert_opens_something_sound({"e": "d" + base64.urlsafe_b64encode(data).decode().rstrip("=")})


@given(scenarios(), st.data())
@repeatable
def test_no_changed_character_breaks_it(scenario, data):
    query = scenario.to_query()
    if "e" not in query:
        return
    at = data.draw(st.integers(0, len(query["e"]) - 1))
    other = data.draw(st.characters())
    query["e"] = query["e"][:at] + other + query["e"][at + 1 :]
    assert_opens_something_sound(query)


def test_no_flipped_bit_breaks_it():
    packed = base64.urlsafe_b64decode(sound.to_query()["e"][1:] + "===")
    for bit in range(8 * len(packed)):
        damaged = bytearray(packed)
        damaged[bit // 8] ^= 1 << bit % 8
        assert_opens_something_sound({"ex": "cat", "e": "d" + base64.urlsafe_b64encode(damaged).decode()})


def test_encoding_and_decoding_are_inverse_for_plain_tuples():
    edits = [("w1", (0, 2), 0.1), ("b1", (1,), (1.0, -2.5e-7)), ("word", (0,), "~_z-")]
    assert decode(encode(edits)) == (edits, [])
