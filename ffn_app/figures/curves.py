"""The nonlinearities as curves, the bell curve behind GELU, and the one matrix that is left without any."""

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ffn_app.figures.drawing import Drawing, PlotTrace, layout
from ffn_app.theme import concept, diverging_scale
from ffn_core.activations import Array, activation
from ffn_core.curves import (
    FARTHEST,
    LinearMap,
    chance_below,
    greatest_difference,
    minimum,
    properties,
    steepest,
)
from ffn_core.matrix_text import short_number, significant
from ffn_core.pooling import pool

# Colour and dash of each curve, the same on every figure. Colours are of middling lightness, because they stay on
# dark paper as they are; the dash says the same to who does not see the colour.
LINES: dict[str, tuple[str, str]] = {
    "relu": ("#c8641b", "dash"),
    "gelu": ("#2f7fc4", "solid"),
    "gelu_tanh": ("#b0559f", "dot"),
    "gelu_quick": ("#1f8f6f", "dashdot"),
    "silu": ("#8a7415", "longdash"),
    "sigmoid": ("#d14a5a", "longdashdot"),
    "tanh": ("#7d6fd0", "8px,3px"),
    "relu2": ("#3b8a9e", "3px,7px"),
    "identity": ("#808080", "12px,4px,2px,4px"),
}
MOST_CELLS = 64
# A row for the legend below the title: on a phone there is no room for it beside.
LEGEND_ROW: dict[str, Any] = {
    "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom"},
    "margin": {"l": 60, "r": 16, "t": 78, "b": 48},
}
_POINTS = 401
_ROWS = 41
LANDMARK_DIGITS = 5
"""GELU and its tanh form are the same to four digits where they are lowest."""
# What is written into the panels beside GELU's landmarks would stand on other curves than these.
_LIKE_GELU = {"relu", "gelu", "gelu_tanh", "gelu_quick", "silu"}
_ROOM = 0.3  # of the panel's width, for what is written there
_HOVER = "{} %{{y:.10~g}}<br>at x = %{{x:.6~g}}<extra></extra>"


class Landmarks(NamedTuple):
    """What is marked on a curve, each (x, height) or None: its dip, its corner, and on the slope its steepest place."""

    dip: tuple[float, float] | None
    corner: tuple[float, float] | None
    steepest: tuple[float, float] | None


@cache
def landmarks(name: str) -> Landmarks:
    """The landmarks of the activation `name`; they are searched for once."""
    _, smoothness, *_ = properties(name)
    left, right = smoothness.numbers
    corner = None if left == right else (0.0, float(activation(name)(0.0)))
    return Landmarks(minimum(name), corner, steepest(name))


def difference_label(pair: tuple[str, str]) -> str:
    """`GELU − GELU tanh` for the two activations of `pair`."""
    return " − ".join(activation(name).label for name in pair)


def shown_names(names: tuple[str, ...], own: str | None) -> tuple[str, ...]:
    """The curves that are drawn: those chosen, and after them the network's own where it is not among them."""
    return names if own is None or own in names else (*names, own)


def curve_label(name: str, own: str | None) -> str:
    """What a curve is called; the network's own says that it is."""
    return activation(name).label + (" (this network's)" if name == own else "")


@lru_cache(maxsize=128)  # every edit of a weight draws the page again, and changes nothing here
def curve_panels(
    names: tuple[str, ...],
    *,
    low: float,
    high: float,
    pair: tuple[str, str] = ("gelu", "gelu_tanh"),
    reading: float | None = None,
    own: str | None = None,
) -> Drawing:
    """Three panels on one x axis from `low` to `high`: the activations, their slopes, and the difference of a `pair`.

    Dips, corners, steepest places and the greatest difference are marked. `reading` is an x with a handle to drag; a
    press on a curve puts it there. `own`, the network's own activation, is drawn too, and named as such.
    """
    names = shown_names(names, own)
    inside = reading is not None and low <= reading <= high
    one, other = (activation(name) for name in pair)
    drawn = []
    for curve in map(activation, names):
        colour, dash = LINES[curve.name]
        line = {"color": colour, "dash": dash, "width": 3, "simplify": False}
        drawn.append(_Drawn("y", curve.label, curve, line, curve_label(curve.name, own), curve.name == own))
        drawn.append(_Drawn("y2", f"slope of {curve.label}", curve.derivative, line))
    plain = {"color": concept("output"), "width": 3, "simplify": False}
    drawn.append(_Drawn("y3", difference_label(pair), lambda x: one(x) - other(x), plain))
    x = np.linspace(low, high, _POINTS)
    traces = [_line(each, x) for each in drawn]
    if inside and reading is not None:
        panels = dict.fromkeys(each.axis for each in drawn)
        traces += [_dots([each for each in drawn if each.axis == axis], reading) for axis in panels]
    traces += [
        _marks("y", _of_values(names, low, high)),
        _marks("y2", _of_slopes(names, low, high), "bottom right"),
    ]
    apart, places = _greatest(pair, low, high)
    traces.append(_marks("y3", [_Mark(x, float(one(x) - other(x)), apart) for x in places]))

    more = 20 * max(0, math.ceil(len(names) / 3) - 1)  # on a phone a row of the legend holds three
    look = layout(
        "Curves, their slopes, and a difference",
        500 + more,
        dragmode=False,
        legend=LEGEND_ROW["legend"],
        # In the first panel: so long a name would leave a phone's row of the legend no room for another.
        legend2={"x": 0.01, "xanchor": "left", "y": 0.99, "yanchor": "top", "bgcolor": "rgba(0,0,0,0)"},
        margin={"t": LEGEND_ROW["margin"]["t"] + more},
        title={"y": 1, "yanchor": "top", "pad": {"t": 16}},
        xaxis={"title": {"text": "x, the input of the nonlinearity"}, "range": [low, high], "anchor": "y3"},
        yaxis={"title": {"text": "f(x)"}, "domain": [0.52, 1]},
        yaxis2={"title": {"text": "slope f′(x)"}, "domain": [0.25, 0.47]},
        yaxis3={"title": {"text": "difference"}, "domain": [0, 0.2], "exponentformat": "e", "nticks": 4},
        annotations=[
            {
                "xref": "paper", "yref": "y3 domain", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom",
                "showarrow": False, "text": apart,
            }
        ],
    )  # fmt: skip
    if inside and reading is not None:
        look |= _handle(reading, low, high)
    shown = ", ".join(curve_label(name, own) for name in names) or "no curve"
    return Drawing(
        traces=traces,
        layout=look,
        text=f"Three panels from x = {significant(low)} to {significant(high)}: {shown}; their slopes; and {apart}.",
        rows=lambda: [
            {"x": short_number(float(at))}
            | {each.says: short_number(float(each.function(at))) for each in drawn}
            for at in np.linspace(low, high, _ROWS)
        ],
    )


@lru_cache(maxsize=128)
def bell(reading: float) -> Drawing:
    """The standard normal's bell curve, with the part below `reading` shaded: GELU(x) is x times that area."""
    reach = max(4.0, abs(reading) + 0.5)
    edge = min(reach, FARTHEST)
    x, below = np.linspace(-reach, reach, _POINTS), np.linspace(-reach, reading, _POINTS)
    colour = LINES["gelu"][0]
    traces: list[PlotTrace] = [
        {
            "type": "scatter", "mode": "lines", "x": below, "y": _density(below), "line": {"width": 0}, "fill": "tozeroy",
            "fillcolor": f"{colour}80", "hoverinfo": "skip", "showlegend": False,
        },
        {
            "type": "scatter", "mode": "lines", "x": x, "y": _density(x), "showlegend": False,
            "line": {"color": colour, "width": 3, "simplify": False},
            "hovertemplate": "density %{y:.4~g} at %{x:.4~g}<extra></extra>",
            "customdata": _snapped(x, -edge, edge), "meta": {"press": ["reading"]},
        },
    ]  # fmt: skip
    area, gelu = significant(chance_below(reading)), significant(float(activation("gelu")(reading)))
    says = f"Φ({significant(reading)}) = {area}"
    return Drawing(
        traces=traces,
        layout=layout(
            f"Shaded: {says}",
            260,
            dragmode=False,
            xaxis={"title": {"text": "a standard normal number"}, "range": [-reach, reach]},
            yaxis={"title": {"text": "density"}, "rangemode": "tozero", "nticks": 5},
            **_handle(reading, -edge, edge),
        ),
        text=f"The bell curve of a standard normal number; the area below x = {significant(reading)} is shaded: "
        f"{says}, so {gelu_as_product(reading)}.",
        rows=lambda: [{"x": significant(reading), "Φ(x), the shaded area": area, "GELU(x) = x · Φ(x)": gelu}],
    )


def gelu_as_product(x: float) -> str:
    """GELU at x as x times the chance that a standard normal number is below it: `GELU(1) = 1 × 0.8413 = 0.8413`."""
    at, gelu = significant(x), significant(float(activation("gelu")(x)))
    return f"GELU({at}) = {at} × {significant(chance_below(x))} = {gelu}"


def one_matrix(linear: LinearMap) -> Drawing:
    """w2 · w1 [d_model, d_model] as a heatmap: all that is left of both layers without a nonlinearity.

    The colours are centred at 0. More than 64 by 64 is pooled to that, each cell the entry of greatest magnitude of
    its block.
    """
    matrix, _, rank = linear
    d_model = len(matrix)
    pooled = pool(matrix, MOST_CELLS, MOST_CELLS)
    values, (row, column) = pooled.values, pooled.index
    span = float(np.abs(values).max()) or 1.0
    size = f"{d_model} by {d_model}"
    note = f", pooled to {' by '.join(map(str, values.shape))}" if values.shape != matrix.shape else ""
    gap = 1 if len(values) <= 16 else 0
    heat: PlotTrace = {
        "type": "heatmap", "z": values, "zmin": -span, "zmax": span, "colorscale": diverging_scale(),
        "customdata": np.dstack([row, column]), "xgap": gap, "ygap": gap,
        "hovertemplate": "row %{customdata[0]}, column %{customdata[1]}: %{z:.10~g}<extra></extra>",
    }  # fmt: skip
    if len(values) <= 8:
        heat |= {
            "text": [[short_number(float(value)) for value in line] for line in values],
            "texttemplate": "%{text}",
        }
    ticks = {"dtick": 1} if len(values) <= 16 else {"showticklabels": False}
    return Drawing(
        traces=[heat],
        layout=layout(
            f"W2 · W1, {size}{note}",
            380,
            dragmode=False,
            xaxis={"title": {"text": f"from x [d_model = {d_model}]"}, "showgrid": False, **ticks},
            yaxis={
                "title": {"text": f"to output [d_model = {d_model}]"},
                "autorange": "reversed",
                "showgrid": False,
                **ticks,
            },
        ),
        text=f"The product W2 · W1, {size}, of rank {rank}{note}"
        + (", each cell the entry of greatest magnitude of its block." if note else "."),
        rows=lambda: [
            {"row": int(row[i, j]), "column": int(column[i, j]), "W2 · W1": short_number(float(values[i, j]))}
            for i, j in np.ndindex(values.shape)
        ],
    )


class _Drawn(NamedTuple):
    """One line of the panels: the panel, what it is called, its function, its looks, its name in the legend, and whether
    it is the network's own."""

    axis: str
    says: str
    function: Callable[[Array], Array]
    looks: dict[str, Any]
    legend: str = ""
    own: bool = False


def _line(drawn: _Drawn, x: Array) -> PlotTrace:
    return {
        "type": "scatter", "mode": "lines", "x": x, "y": drawn.function(x), "yaxis": drawn.axis, "line": drawn.looks,
        "name": drawn.legend, "showlegend": bool(drawn.legend), "legend": "legend2" if drawn.own else "legend",
        "hovertemplate": _HOVER.format(drawn.says),
        "customdata": _snapped(x, float(x[0]), float(x[-1])), "meta": {"press": ["reading"]},
    }  # fmt: skip


def _dots(drawn: Sequence[_Drawn], reading: float) -> PlotTrace:
    """The lines of one panel at the reading: in one trace, since each takes its time at every step of the reading."""
    return {
        "type": "scatter", "mode": "markers", "x": np.full(len(drawn), reading), "yaxis": drawn[0].axis, "showlegend": False,
        "y": np.array([float(each.function(np.array(reading))) for each in drawn]),
        "marker": {"size": 10, "color": [each.looks["color"] for each in drawn]},
        "hovertext": [each.says for each in drawn], "hovertemplate": _HOVER.format("%{hovertext}"),
    }  # fmt: skip


def _decimals(low: float, high: float) -> int:
    """How many decimals an x has that a hand has set: a hundredth of a range of 1 to 10 is fine enough."""
    return 2 - math.floor(math.log10(high - low))


def _snapped(x: Array, low: float, high: float) -> Array:
    """Each x as a number that a hand would set, within the range."""
    snapped: Array = np.clip(np.round(x, _decimals(low, high)), low, high)
    return snapped


def _greatest(pair: tuple[str, str], low: float, high: float) -> tuple[str, list[float]]:
    """How far the two of a pair are apart from `low` to `high`, in words, and the places where that is."""
    one, other = (activation(name) for name in pair)
    place, most = greatest_difference(*pair, low, high)
    if most == 0:
        where = "" if pair[0] == pair[1] else " in this range"
        return f"{difference_label(pair)}: no difference{where}", []
    there = abs(one(-place) - other(-place))
    mirrored = place != 0 and low <= -place <= high and math.isclose(there, most, rel_tol=1e-9)
    at = f"±{significant(abs(place))}" if mirrored else significant(place)
    return (
        f"greatest |{difference_label(pair)}|: {short_number(most)} at x = {at}",
        [-place, place] if mirrored else [place],
    )


def _density(x: Array) -> Array:
    density: Array = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    return density


def _handle(reading: float, low: float, high: float) -> dict[str, Any]:
    """A line at the reading, and over it a broad handle to drag; live_plot reports where the first shape goes, which is
    from `low` to `high` in steps of a hundredth of so wide a range.

    The handle is a rectangle without width: a line could be turned by its ends, a wide rectangle stretched by its sides.
    """
    line = {"xref": "x", "yref": "paper", "x0": reading, "x1": reading, "y0": 0, "y1": 1}
    colour = concept("values")
    return {
        "shapes": [
            {**line, "type": "rect", "line": {"width": 16, "color": colour}, "opacity": 0.25},
            {**line, "type": "line", "line": {"width": 2, "color": colour}, "layer": "below"},
        ],
        "meta": {"drag": "reading", "step": 10.0 ** -_decimals(low, high), "within": [low, high]},
        "editrevision": f"{reading}",  # Plotly forgets how far up or down the handle was dragged
    }


class _Mark(NamedTuple):
    """A marked place: what it says when pointed at, and what is written beside it."""

    x: float
    y: float
    says: str
    written: str = ""


def _marks(axis: str, marks: Sequence[_Mark], beside: str = "top left") -> PlotTrace:
    """Open diamonds at (x, y); what is written stands at the side `beside` of its mark."""
    return {
        "type": "scatter", "mode": "markers+text", "x": [mark.x for mark in marks], "y": [mark.y for mark in marks],
        "hovertext": [mark.says for mark in marks], "yaxis": axis, "showlegend": False, "hoverinfo": "text",
        "marker": {"symbol": "diamond-open", "size": 11, "line": {"width": 2}, "color": concept("values")},
        "text": [mark.written for mark in marks], "textposition": beside,
    }  # fmt: skip


def _of_values(names: Sequence[str], low: float, high: float) -> list[_Mark]:
    found = []
    for name in names:
        label, (dip, corner, _) = activation(name).label, landmarks(name)
        if dip and low <= dip[0] <= high:
            x, y = (significant(number, LANDMARK_DIGITS) for number in dip)
            # The lines left empty, here and below, keep clear of ReLU, which is just above the dip and below the slope.
            written = f"lowest: {y}<br> " if name == "gelu" and _has_room(names, low, high) else ""
            found.append(_Mark(*dip, f"{label} is lowest at x = {x}: {y}", written))
        if corner and low <= corner[0] <= high:
            found.append(_Mark(*corner, f"{label} has its corner at 0"))
    return found


def _of_slopes(names: Sequence[str], low: float, high: float) -> list[_Mark]:
    found = []
    for name in names:
        place = landmarks(name).steepest
        if place and low <= place[0] <= high:
            x, slope = (significant(number, LANDMARK_DIGITS) for number in place)
            written = f"<br>slope {slope}" if name == "gelu" and _has_room(names, low, high) else ""
            found.append(
                _Mark(*place, f"{activation(name).label} is steepest at x = {x}: slope {slope}", written)
            )
    return found


def _has_room(names: Sequence[str], low: float, high: float) -> bool:
    """Whether there is free paper left of GELU's dip and right of its steepest place, to write on."""
    dip, _, steep = landmarks("gelu")
    room = _ROOM * (high - low)
    inside = dip is not None and steep is not None and low + room <= dip[0] and steep[0] <= high - room
    return inside and set(names) <= _LIKE_GELU
