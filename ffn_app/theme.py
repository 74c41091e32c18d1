"""Looks: one colour for each concept, and one zero-centred diverging scale for signed numbers.

Blue is positive and orange negative (a pair that colour-blind people tell apart, and that differs in
no other page); zero is the colour of the paper, so that strength reads as ink.
"""

import math
from collections.abc import Sequence

# For each concept its colour on light paper and on dark; all at least 4.5:1 against the paper.
CONCEPTS: dict[str, tuple[str, str]] = {
    "input": ("#2b568f", "#8db8f2"),
    "keys": ("#0a7265", "#5fcdbb"),
    "hidden": ("#66409c", "#c3a3f5"),
    "activated": ("#95307a", "#f09fd6"),
    "values": ("#9a5200", "#f0b060"),
    "output": ("#2b672b", "#8fd08a"),
}

# Stops of the diverging scale at -1, -0.5, 0, 0.5, 1.
DIVERGING: dict[str, tuple[str, ...]] = {
    "light": ("#93380c", "#dda27f", "#fafafa", "#93b7dc", "#1d5296"),
    "dark": ("#ff9d5c", "#8e5632", "#1c2129", "#35609a", "#7db8ff"),
}


def concept(name: str) -> str:
    """A concept's colour in figures, which are drawn for light paper (see `dark_twins`)."""
    return CONCEPTS[name][0]


def diverging_scale() -> list[list[float | str]]:
    """The diverging scale as Plotly takes it; use it with zmid=0 or a symmetric range."""
    stops = DIVERGING["light"]
    return [[i / (len(stops) - 1), colour] for i, colour in enumerate(stops)]


def positive_half() -> list[list[float | str]]:
    """The diverging scale for numbers from 0 on: each has the same colour as in the whole one. It begins with 0's."""
    return [[2 * float(at) - 1, colour] for at, colour in diverging_scale() if float(at) >= 0.5]


def dark_twins() -> dict[str, str]:
    """For each colour for light paper the one that takes its place on dark paper."""
    diverging = dict(zip(DIVERGING["light"], DIVERGING["dark"], strict=True))
    return dict(CONCEPTS.values()) | diverging | {ink: dark for (_, dark), ink in _INKS.items()}


# A twin is found by the text of a colour alone, so black and white have a text for each twin that they may have.
_INKS = {
    ("#000000", "#000000"): "#000000",
    ("#000000", "#ffffff"): "rgb(0,0,0)",
    ("#ffffff", "#ffffff"): "#ffffff",
    ("#ffffff", "#000000"): "rgb(255,255,255)",
}


def ink_on_scale(value: float, span: float) -> str:
    """Black or white for a number that a figure draws on its colour of the diverging scale; so is its dark twin."""
    light, dark = (ink_on(diverging_colour(value, span, DIVERGING[look])) for look in ("light", "dark"))
    return _INKS[light, dark]


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def diverging_colour(value: float, span: float, stops: Sequence[str]) -> str:
    """The colour of a signed number, as `#rrggbb`: straight between the stops, full beyond ±span.

    board/colours.js holds the same function; a browser test compares the two.
    """
    share = 0.0 if span <= 0 or math.isnan(value) else max(-1.0, min(1.0, value / span))
    place = (share + 1) / 2 * (len(stops) - 1)
    low = min(int(place), len(stops) - 2)
    part = place - low
    pairs = zip(_rgb(stops[low]), _rgb(stops[low + 1]), strict=True)
    return "#" + "".join(f"{int(a + (b - a) * part + 0.5):02x}" for a, b in pairs)


def ink_on(colour: str) -> str:
    """Black or white, whichever contrasts more with the colour (always at least 4.5:1)."""

    def linear(channel: int) -> float:
        c = channel / 255
        return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(channel) for channel in _rgb(colour))
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    # Contrast with white is 1.05 / (L + .05), with black (L + .05) / .05: equal at L + .05 = sqrt(.0525).
    return "#000000" if (luminance + 0.05) ** 2 > 0.0525 else "#ffffff"
