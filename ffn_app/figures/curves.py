"""The nonlinearities as curves, the bell curve behind GELU, and the one matrix that is left without any."""

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from ffn_app.figures.drawing import Drawing, PlotTrace, layout
from ffn_app.theme import concept, diverging_scale
from ffn_core.activations import Array, activation, short
from ffn_core.curves import LinearMap, greatest_difference, minimum, properties, steepest
from ffn_core.matrix_text import short_number
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


@lru_cache(maxsize=128)  # every edit of a weight draws the page again, and changes nothing here
def curve_panels(
    names: tuple[str, ...],
    *,
    low: float,
    high: float,
    pair: tuple[str, str] = ("gelu", "gelu_tanh"),
    reading: float | None = None,
) -> Drawing:
    """Three panels on one x axis from `low` to `high`: the activations, their slopes, and the difference of a `pair`.

    Dips, corners, steepest places and the greatest difference are marked. `reading` is an x with a handle to drag; a
    press on a curve puts it there.
    """
    inside = reading is not None and low <= reading <= high
    one, other = (activation(name) for name in pair)
    drawn = []
    for curve in map(activation, names):
        colour, dash = LINES[curve.name]
        line = {"color": colour, "dash": dash, "width": 3, "simplify": False}
        drawn.append(_Drawn("y", curve.label, curve, line, legend=curve.label))
        drawn.append(_Drawn("y2", f"slope of {curve.label}", curve.derivative, line))
    plain = {"color": concept("output"), "width": 3, "simplify": False}
    drawn.append(_Drawn("y3", difference_label(pair), lambda x: one(x) - other(x), plain))
    x = np.linspace(low, high, _POINTS)
    traces = [_line(each, x) for each in drawn]
    if inside and reading is not None:
        traces += [_dot(each, reading) for each in drawn]
    traces += [_marks("y", _of_values(names, low, high)), _marks("y2", _of_slopes(names, low, high))]

    place, most = greatest_difference(*pair, low, high)
    there = abs(one(-place) - other(-place))
    mirrored = place != 0 and low <= -place <= high and math.isclose(there, most, rel_tol=1e-9)
    places = np.array([-place, place] if mirrored else [place])
    greatest = f"greatest: {short_number(most)} at x = {'±' if mirrored else ''}{_number(place)}"
    traces.append(_marks("y3", [(px, float(one(px) - other(px)), greatest) for px in places]))

    more = 20 * max(0, math.ceil(len(names) / 3) - 1)  # on a phone a row of the legend holds three
    look = layout(
        "Curves, their slopes, and a difference",
        500 + more,
        dragmode=False,
        legend=LEGEND_ROW["legend"],
        margin={"t": LEGEND_ROW["margin"]["t"] + more},
        title={"y": 1, "yanchor": "top", "pad": {"t": 16}},
        xaxis={"title": {"text": "x, the input of the nonlinearity"}, "range": [low, high], "anchor": "y3"},
        yaxis={"title": {"text": "f(x)"}, "domain": [0.52, 1]},
        yaxis2={"title": {"text": "slope f′(x)"}, "domain": [0.25, 0.47]},
        yaxis3={"title": {"text": "difference"}, "domain": [0, 0.2], "exponentformat": "e", "nticks": 4},
        annotations=[
            {
                "xref": "paper", "yref": "y3 domain", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom",
                "showarrow": False, "text": f"{difference_label(pair)}, {greatest}",
            }
        ],
    )  # fmt: skip
    if inside and reading is not None:
        look |= _handle(reading)
    shown = ", ".join(activation(name).label for name in names) or "no curve"
    return Drawing(
        traces=traces,
        layout=look,
        text=f"Three panels from x = {_number(low)} to {_number(high)}: {shown}; their slopes; and "
        f"{difference_label(pair)}, {greatest}.",
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
    x, below = np.linspace(-reach, reach, _POINTS), np.linspace(-reach, reading, _POINTS)
    area, gelu = float(special.ndtr(reading)), activation("gelu")
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
            "customdata": np.round(x, 6), "meta": {"press": ["reading"]},
        },
    ]  # fmt: skip
    says = f"Φ({_number(reading)}) = {short_number(area)}"
    product = f"{_number(reading)} × {short_number(area)} = {short_number(float(gelu(reading)))}"
    return Drawing(
        traces=traces,
        layout=layout(
            f"Shaded: {says}, the chance of being below x",
            260,
            dragmode=False,
            xaxis={"title": {"text": "a standard normal number"}, "range": [-reach, reach]},
            yaxis={"title": {"text": "density"}, "rangemode": "tozero", "nticks": 5},
            **_handle(reading),
        ),
        text=f"The bell curve of a standard normal number; the area below x = {_number(reading)} is shaded: {says}, "
        f"so GELU({_number(reading)}) = {product}.",
        rows=lambda: [
            {
                "x": _number(reading),
                "Φ(x), the shaded area": short_number(area),
                "GELU(x) = x · Φ(x)": short_number(float(gelu(reading))),
            }
        ],
    )


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
    """One line of the panels: the panel, what it is called, its function, its looks, and its name in the legend."""

    axis: str
    says: str
    function: Callable[[Array], Array]
    looks: dict[str, Any]
    legend: str = ""


def _line(drawn: _Drawn, x: Array) -> PlotTrace:
    return {
        "type": "scatter", "mode": "lines", "x": x, "y": drawn.function(x), "yaxis": drawn.axis, "line": drawn.looks,
        "name": drawn.legend, "showlegend": bool(drawn.legend), "hovertemplate": _HOVER.format(drawn.says),
        "customdata": np.round(x, 6), "meta": {"press": ["reading"]},
    }  # fmt: skip


def _dot(drawn: _Drawn, reading: float) -> PlotTrace:
    at = np.array([reading])
    return {
        "type": "scatter", "mode": "markers", "x": at, "y": drawn.function(at), "yaxis": drawn.axis, "showlegend": False,
        "marker": {"size": 10, "color": drawn.looks["color"]}, "hovertemplate": _HOVER.format(drawn.says),
    }  # fmt: skip


def _number(value: float) -> str:
    """Four significant digits: a place on the x axis."""
    return short(value).removesuffix(".0").replace("-", "−")


def _density(x: Array) -> Array:
    density: Array = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    return density


def _handle(reading: float) -> dict[str, Any]:
    """A line at the reading, and over it a broad handle to drag; live_plot reports where the first shape goes.

    The handle is a rectangle without width: a line could be turned by its ends, a wide rectangle stretched by its sides.
    """
    line = {"xref": "x", "yref": "paper", "x0": reading, "x1": reading, "y0": 0, "y1": 1}
    colour = concept("values")
    return {
        "shapes": [
            {**line, "type": "rect", "line": {"width": 16, "color": colour}, "opacity": 0.25},
            {**line, "type": "line", "line": {"width": 2, "color": colour}, "layer": "below"},
        ],
        "meta": {"drag": "reading"},
        "editrevision": f"{reading}",  # Plotly forgets how far up or down the handle was dragged
    }


def _marks(axis: str, points: Sequence[tuple[float, float, str]]) -> PlotTrace:
    """Open diamonds at (x, y), each with what it marks."""
    return {
        "type": "scatter", "mode": "markers", "x": [x for x, _, _ in points], "y": [y for _, y, _ in points],
        "hovertext": [text for _, _, text in points], "yaxis": axis, "showlegend": False, "hoverinfo": "text",
        "marker": {"symbol": "diamond-open", "size": 11, "line": {"width": 2}, "color": concept("values")},
    }  # fmt: skip


def _of_values(names: Sequence[str], low: float, high: float) -> list[tuple[float, float, str]]:
    found = []
    for name in names:
        label, (dip, corner, _) = activation(name).label, landmarks(name)
        if dip and low <= dip[0] <= high:
            found.append((*dip, f"{label} is lowest at x = {_number(dip[0])}: {_number(dip[1])}"))
        if corner and low <= corner[0] <= high:
            found.append((*corner, f"{label} has its corner at 0"))
    return found


def _of_slopes(names: Sequence[str], low: float, high: float) -> list[tuple[float, float, str]]:
    return [
        (
            *place,
            f"{activation(name).label} is steepest at x = {_number(place[0])}: slope {_number(place[1])}",
        )
        for name in names
        if (place := landmarks(name).steepest) and low <= place[0] <= high
    ]
