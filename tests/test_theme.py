"""Colours can be read by everyone: contrast by WCAG 2, and signs that colour-blind people tell apart."""

import itertools
import math
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from ffn_app.theme import CONCEPTS, DIVERGING, diverging_colour, ink_on

CONFIG = tomllib.loads((Path(__file__).parents[1] / ".streamlit" / "config.toml").read_text(encoding="utf-8"))


def paper(look: str, option: str, otherwise: str) -> str:
    colour: str = CONFIG["theme"].get(look, {}).get(option, otherwise)
    return colour


# What Streamlit 1.67 draws on where the configuration does not say otherwise; the explanation stands in a box of the
# secondary colour.
PAPERS = {
    "light": paper("light", "backgroundColor", "#ffffff"),
    "dark": paper("dark", "backgroundColor", "#171614"),
}
BOXES = {
    "light": paper("light", "secondaryBackgroundColor", "#f8f8f7"),
    "dark": paper("dark", "secondaryBackgroundColor", "#2d2b27"),
}
SHARES = [k / 200 for k in range(-200, 201)]

# How linear RGB looks to people without red (protan) and without green (deutan) cones, at full severity.
# Machado, Oliveira and Fernandes 2009, "A Physiologically-based Model for Simulation of Color Vision Deficiency".
SIGHTS = {
    "all cones": np.identity(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}


def linear(colour: str) -> np.ndarray:
    """Linear-light RGB of `#rrggbb`, by the sRGB standard."""
    channels = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    return float(linear(colour) @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def lab(colour: str, sight: np.ndarray) -> np.ndarray:
    """CIE L*a*b* (D65) of a colour as it looks to that sight."""
    rgb = np.clip(sight @ linear(colour), 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ rgb / [0.9505, 1.0, 1.089]
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def difference(one: str, other: str, sight: np.ndarray) -> float:
    """CIE76 distance; about 2 is just seen side by side, above 10 at a glance."""
    return math.dist(lab(one, sight), lab(other, sight))


def test_the_measure_of_contrast_is_wcags():
    # Known pairs: black on white is 21:1, and #767676 is the lightest grey that reaches 4.5:1 on white.
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)


# Concepts


@pytest.mark.parametrize("concept", ["input", "keys", "hidden", "activated", "values", "output"])
@pytest.mark.parametrize("look", ["light", "dark"])
def test_every_concepts_colour_can_be_read_as_text_on_the_page_and_in_the_explanation(concept, look):
    colour = CONCEPTS[concept][["light", "dark"].index(look)]
    assert contrast(colour, PAPERS[look]) >= 4.5
    assert contrast(colour, BOXES[look]) >= 4.5


def test_no_two_concepts_have_the_same_colour():
    for colours in zip(*CONCEPTS.values(), strict=True):
        for one, other in itertools.combinations(colours, 2):
            assert difference(one, other, SIGHTS["all cones"]) > 20


# The scale of signed numbers


@pytest.mark.parametrize("look", ["light", "dark"])
def test_a_cells_number_can_be_read_on_every_colour_of_the_scale(look):
    for share in SHARES:
        colour = diverging_colour(share, 1.0, DIVERGING[look])
        assert contrast(ink_on(colour), colour) >= 4.5, share


def test_ink_is_readable_on_any_colour_at_all():
    # The least favourable grey lies where black and white contrast equally: at sqrt(21) = 4.58 each.
    for levels in itertools.product(range(0, 256, 17), repeat=3):
        colour = "#{:02x}{:02x}{:02x}".format(*levels)
        assert contrast(ink_on(colour), colour) >= 4.5
    assert (ink_on("#ffffff"), ink_on("#000000")) == ("#000000", "#ffffff")


@pytest.mark.parametrize("look", ["light", "dark"])
def test_zero_has_the_middle_colour_whatever_the_span(look):
    stops = DIVERGING[look]
    for span in (1e-9, 0.5, 1e30):
        assert diverging_colour(0.0, span, stops) == diverging_colour(-0.0, span, stops) == stops[2]


@pytest.mark.parametrize("look", ["light", "dark"])
def test_zero_looks_like_the_paper_so_that_strength_reads_as_ink(look):
    assert difference(DIVERGING[look][2], PAPERS[look], SIGHTS["all cones"]) < 10


def test_the_scale_is_straight_between_its_stops_and_full_beyond_the_span():
    stops = ("#000000", "#400000", "#808080", "#0000c0", "#0000ff")
    assert diverging_colour(-2, 2, stops) == diverging_colour(-9, 2, stops) == "#000000"
    assert diverging_colour(1, 2, stops) == "#0000c0"
    assert diverging_colour(0.5, 2, stops) == "#4040a0"  # halfway from grey to #0000c0
    assert diverging_colour(math.inf, 2, stops) == "#0000ff"


def test_a_number_that_is_none_and_a_span_that_is_none_look_like_zero():
    assert diverging_colour(math.nan, 1.0, DIVERGING["light"]) == DIVERGING["light"][2]
    assert diverging_colour(1.0, 0.0, DIVERGING["light"]) == DIVERGING["light"][2]


@pytest.mark.parametrize("look", ["light", "dark"])
def test_lightness_goes_one_way_from_zero_to_each_end(look):
    # A greater number is a stronger colour, also in a grey print.
    for sign in (1, -1):
        lightness = [luminance(diverging_colour(sign * k / 50, 1.0, DIVERGING[look])) for k in range(51)]
        steps = np.diff(lightness) * (-1 if look == "light" else 1)
        assert (steps > 0).all()


@pytest.mark.parametrize("look", ["light", "dark"])
def test_both_signs_are_as_strong_as_each_other(look):
    for share in (0.25, 0.5, 0.75, 1.0):
        minus, plus = (
            lab(diverging_colour(sign * share, 1.0, DIVERGING[look]), SIGHTS["all cones"])[0]
            for sign in (-1, 1)
        )
        assert abs(minus - plus) < 12, "CIE lightness, of 100"


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("look", ["light", "dark"])
def test_plus_and_minus_are_told_apart_with_any_sight_from_a_fifth_of_the_scale_on(look, sight):
    for share in (0.2, 0.5, 1.0):
        plus, minus = (diverging_colour(sign * share, 1.0, DIVERGING[look]) for sign in (1, -1))
        assert difference(plus, minus, SIGHTS[sight]) > 10


def test_every_colour_is_written_as_the_boards_javascript_reads_it():
    colours = [*itertools.chain(*CONCEPTS.values()), *itertools.chain(*DIVERGING.values())]
    assert [colour for colour in colours if not re.fullmatch("#[0-9a-f]{6}", colour)] == []


@pytest.mark.parametrize("look", ["light", "dark"])
def test_white_text_can_be_read_on_the_primary_colour(look):
    # Streamlit writes white on its primary buttons.
    assert contrast(CONFIG["theme"][look]["primaryColor"], "#ffffff") >= 4.5
