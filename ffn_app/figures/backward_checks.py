"""Why some neurons get no gradient, and how far a difference quotient is from the right one."""

from collections.abc import Mapping

import numpy as np

from ffn_app.board.arrays import KINDS
from ffn_app.board.names import Names
from ffn_app.figures.curves import LEGEND_ROW, LINES
from ffn_app.figures.drawing import Drawing, PlotTrace, layout, side_by_side
from ffn_app.theme import concept
from ffn_core.activations import Array, activation
from ffn_core.dense import Trace
from ffn_core.explain_backward import blocked
from ffn_core.gradcheck import Checked
from ffn_core.matrix_text import short_number

MOST_LISTED = 200
MANY = 40
"""So many neurons are drawn with large points, and numbered one by one."""


def slopes(trace: Trace, other: Trace, position: int, *, names: Names | None = None) -> Drawing:
    """The slope of the nonlinearity at each neuron's hidden, and of another one beside, on the same weights.

    Left each slope as a curve with the neurons on it, right a point a neuron; neurons where it is exactly 0, so that no
    gradient passes, are crossed out.
    """
    names = names or Names()
    hidden = trace.hidden[position]
    n = hidden.size
    low, high = min(float(hidden.min()), -2.0) - 0.25, max(float(hidden.max()), 2.0) + 0.25
    both = (trace, other)
    traces = [
        drawn for at, each in enumerate(both) for drawn in _slope(each, position, names, at, (low, high))
    ]
    told = [
        f"{_label(each)}: {int(blocked(each)[position].sum())} of {n} neurons are at a slope of exactly 0"
        for each in both
    ]
    left, right = side_by_side(2, 3, spacing=0.09)
    numbers = {"tickvals": np.arange(n), "ticktext": np.arange(n)} if n <= MANY else {}
    return Drawing(
        traces=traces,
        layout=layout(
            f"Slope of the nonlinearity at each neuron, position {position}",
            380,
            dragmode=False,
            legend=LEGEND_ROW["legend"],
            margin={"t": 104},
            xaxis={"domain": left, "title": {"text": f"hidden [d_ff = {n}]"}},
            yaxis={"title": {"text": "slope"}},
            xaxis2={
                "domain": right,
                "anchor": "y2",
                "title": {"text": f"neuron j [d_ff = {n}]"},
                "range": [-0.6, n - 0.4],
                **numbers,
            },
            yaxis2={
                "anchor": "x2",
                "title": {"text": "slope at hidden[j]", "standoff": 4},
                "matches": "y",
                "ticks": "",
                "showticklabels": False,  # the left plot's: on a phone there is no room for both
            },
        ),
        text=f"Slopes at position {position}. {'; '.join(told)}.",
        rows=lambda: [
            {"neuron": j, "hidden": short_number(float(hidden[j]))}
            | {
                f"slope of {_label(each)}": short_number(
                    float(activation(each.ffn.activation).derivative(hidden[j]))
                )
                for each in both
            }
            for j in range(n)
        ],
    )


def _label(trace: Trace) -> str:
    return activation(trace.ffn.activation).label


def _slope(trace: Trace, position: int, names: Names, at: int, reach: tuple[float, float]) -> list[PlotTrace]:
    """One nonlinearity's slope: its curve, the neurons on it, and neuron by neuron; `at` is 0 or 1."""
    curve = activation(trace.ffn.activation)
    hidden, flat = trace.hidden[position], blocked(trace)[position]
    n, slope, aside = hidden.size, curve.derivative(hidden), (at - 0.5) * 0.3
    colour, dash = LINES[curve.name]
    grid = np.linspace(*reach, 401)
    point = {"color": colour, "size": 11 if n <= MANY else 6, "symbol": ("circle", "diamond")[at]}
    cross = {"symbol": "x-thin", "size": 16 if n <= MANY else 9, "line": {"width": 3, "color": colour}}
    dots = {
        "type": "scatter", "mode": "markers", "y": slope, "marker": point, "showlegend": False, "name": curve.label,
        "customdata": np.arange(n), "meta": {"press": ["neuron"]}, "hovertext": [names.neuron(j) for j in range(n)],
        "hovertemplate": f"%{{hovertext}}<br>slope of {curve.label} %{{y:.4~g}}<extra></extra>",
    }  # fmt: skip
    return [
        {
            "type": "scatter", "mode": "lines", "x": grid, "y": curve.derivative(grid), "name": f"slope of {curve.label}",
            "line": {"color": colour, "dash": dash, "width": 3, "simplify": False}, "hoverinfo": "skip",
        },
        dots | {"x": hidden},
        dots | {"x": np.arange(n) + aside, "xaxis": "x2", "yaxis": "y2"},
        {
            "type": "scatter", "mode": "markers", "x": np.flatnonzero(flat) + aside, "y": np.zeros(int(flat.sum())),
            "xaxis": "x2", "yaxis": "y2", "name": f"{curve.label}: exactly 0, no gradient passes",
            "showlegend": bool(flat.any()), "marker": cross, "hoverinfo": "skip",
        },
    ]  # fmt: skip


SMALLEST_DRAWN = 1e-17
"""A log axis has no place for 0: an error of 0 is drawn here."""


def error_curve(steps: Array, errors: Array, h: float) -> Drawing:
    """The greatest relative error against h, both on log axes: a V. `h` is marked, and named below the curve."""
    drawn = np.maximum(errors, SMALLEST_DRAWN)
    low, high = (float(np.log10(end)) for end in (drawn.min(), drawn.max()))
    air = max(0.5, 0.06 * (high - low))
    return Drawing(
        traces=[
            {
                "type": "scatter", "mode": "lines+markers", "x": steps, "y": drawn,
                "line": {"color": concept("output"), "width": 3}, "marker": {"size": 8}, "customdata": errors,
                "hovertemplate": "h %{x:.3~g}<br>relative error %{customdata:.3~g}<extra></extra>",
            }
        ],
        layout=layout(
            "How wrong the difference quotient is, for each h",
            410,
            showlegend=False,
            dragmode=False,
            margin={"t": 88},
            xaxis={"type": "log", "title": {"text": "h, how far a number is moved either way"}, "exponentformat": "power",
                   "range": [float(np.log10(steps.min())) - 0.3, float(np.log10(steps.max())) + 0.3]},
            yaxis={"type": "log", "title": {"text": "greatest relative error"}, "exponentformat": "power",
                   "range": [low - 3 * air, high + air]},
            annotations=[
                {
                    "text": text, "x": x, "y": 1, "xref": "paper", "yref": "paper", "xanchor": anchor, "yanchor": "bottom",
                    "showarrow": False, "align": anchor,
                }
                for text, x, anchor in (
                    ("← rounding: falls<br>as h grows", 0, "left"), ("truncation: grows →<br>with h²", 1, "right"),
                )
            ],
            shapes=[
                {
                    "type": "line", "xref": "x", "yref": "paper", "x0": h, "x1": h, "y0": 0, "y1": 1,
                    "line": {"color": concept("values"), "width": 3},
                    "label": {
                        "text": f"h = {short_number(h)}", "textposition": "start", "textangle": 0, "padding": 6,
                        "xanchor": "left" if h < 1e-3 else "right",
                    },
                }
            ],
        ),
        text=f"The relative error at h from {short_number(float(steps.min()))} to {short_number(float(steps.max()))}: least "
        f"{short_number(float(errors.min()))} at h = {short_number(float(steps[int(np.argmin(errors))]))}.",
        rows=lambda: [
            {"h": short_number(float(step)), "greatest relative error": short_number(float(error))}
            for step, error in zip(steps, errors, strict=True)
        ],
    )  # fmt: skip


def checked_rows(checked: Mapping[str, Checked]) -> list[dict[str, str | int]]:
    """A line for each array: how much of it was compared, and how far the two gradients are apart."""
    return [
        {
            "array": KINDS[name].label,
            "entries compared": f"{int(np.broadcast_to(one.compared, one.analytic.shape).sum())} of {one.analytic.size}",
            "at a corner, skipped": one.n_skipped,
            "greatest relative error": short_number(one.relative_error),
        }
        for name, one in checked.items()
    ]


def entry_rows(checked: Mapping[str, Checked]) -> list[dict[str, str]]:
    """A line for each entry that was tried, of at most MOST_LISTED: both gradients with nine digits, and their distance."""
    tried = (
        (name, one, index)
        for name, one in checked.items()
        for index in zip(*np.nonzero(np.broadcast_to(one.tried, one.analytic.shape)), strict=True)
    )
    rows = []
    for (name, one, index), _ in zip(tried, range(MOST_LISTED), strict=False):
        analytic, numeric = float(one.analytic[index]), float(one.numeric[index])
        skipped = bool(one.skipped[index])
        rows.append(
            {
                "entry": name + "".join(f"[{int(i)}]" for i in index),
                "from the formulas": f"{analytic:.9g}",
                "difference quotient": f"{numeric:.9g}",
                "difference": "skipped: a corner" if skipped else short_number(analytic - numeric),
            }
        )
    return rows
