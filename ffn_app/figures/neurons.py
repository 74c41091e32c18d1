"""The hidden layer neuron by neuron."""

from typing import Any

import numpy as np

from ffn_app.board.names import Names
from ffn_app.figures.curves import LEGEND_ROW, LINES
from ffn_app.figures.drawing import Drawing, PlotTrace, layout
from ffn_app.theme import concept
from ffn_core.activations import activation
from ffn_core.dense import Trace
from ffn_core.matrix_text import short_number

FEW = 40  # so many neurons have room for their numbers, and for bars of two widths
_POINTS = 401


def neurons_on_curve(
    trace: Trace, position: int, *, neuron: int | None = None, names: Names | None = None
) -> Drawing:
    """Each neuron as a point on the trace's nonlinearity: hidden_j along x, activated_j up.

    ReLU is drawn beside it. `neuron` is marked; a press on a point follows its neuron.
    """
    names = names or Names()
    hidden, activated = trace.hidden[position], trace.activated[position]
    curve = activation(trace.ffn.activation)
    # The bend at 0 is always in sight; the range depends on hidden alone, so that another curve moves points only up.
    low, high = min(float(hidden.min()), -1.0), max(float(hidden.max()), 1.0)
    margin = (high - low) / 20
    x = np.linspace(low - margin, high + margin, _POINTS)
    traces: list[PlotTrace] = [
        {
            "type": "scatter", "mode": "lines", "x": x, "y": activation(name)(x), "name": activation(name).label,
            "line": {"color": LINES[name][0], "dash": LINES[name][1], "width": 3 if name == curve.name else 2, "simplify": False},
            "hoverinfo": "skip",
        }
        for name in dict.fromkeys(["relu", curve.name])
    ]  # fmt: skip
    n = hidden.size
    traces.append(
        {
            "type": "scatter", "mode": "markers", "x": hidden, "y": activated, "name": "neurons", "customdata": np.arange(n),
            "marker": {"size": 11 if n <= FEW else 7, "color": concept("activated"), "opacity": 1 if n <= FEW else 0.6},
            "hovertext": [names.neuron(j) for j in range(n)], "meta": {"press": ["neuron"]},
            "hovertemplate": "%{hovertext}<br>hidden %{x:.10~g}<br>activated %{y:.10~g}<extra></extra>",
        }
    )  # fmt: skip
    look = layout(
        f"The neurons on {curve.label}, position {position}",
        400,
        dragmode=False,
        **LEGEND_ROW,
        xaxis={"title": {"text": f"hidden [d_ff = {n}]"}, "range": [float(x[0]), float(x[-1])]},
        yaxis={"title": {"text": "activated"}},
    )
    followed = ""
    if neuron is not None:
        at = (float(hidden[neuron]), float(activated[neuron]))
        followed = f" {names.neuron(neuron)} goes from {short_number(at[0])} to {short_number(at[1])}."
        look["shapes"] = [ring(at, neuron)]
    return Drawing(
        traces=traces,
        layout=look,
        text=f"{n} neurons at position {position} as points on {curve.label}; {_negative(hidden)}.{followed}",
        rows=lambda: _rows(trace, position, np.arange(n)),
    )


def ring(at: tuple[float, float], neuron: int) -> dict[str, Any]:
    """The mark around the followed neuron's point, with its name.

    A shape with a label, neither a point nor an annotation: those would have Plotly draw all the points again.
    """
    return {
        "type": "circle", "xsizemode": "pixel", "ysizemode": "pixel", "xanchor": at[0], "yanchor": at[1],
        "x0": -12, "x1": 12, "y0": -12, "y1": 12, "line": {"width": 3, "color": concept("values")},
        "label": {"text": f"neuron {neuron}", "textposition": "top center", "yanchor": "bottom", "padding": 14},
    }  # fmt: skip


def before_and_after(
    trace: Trace,
    position: int,
    *,
    ordered: bool = False,
    neuron: int | None = None,
    names: Names | None = None,
) -> Drawing:
    """The hidden vector across d_ff as bars, before and after the nonlinearity, sharing one axis.

    A neuron's activated bar stands in front of its paler hidden bar, so that what is held back is seen beside what
    passes. `ordered` sorts the neurons by hidden, largest first; `neuron` is marked. A press on a bar follows its neuron.
    """
    names = names or Names()
    hidden, activated = trace.hidden[position], trace.activated[position]
    order = np.argsort(-hidden, kind="stable") if ordered else np.arange(hidden.size)
    label = activation(trace.ffn.activation).label
    n = hidden.size
    place = np.arange(n)
    few = n <= FEW
    bars: list[PlotTrace] = [
        {
            "type": "bar", "x": place, "y": values[order], "name": name, "customdata": order, "width": width,
            "opacity": opacity, "marker": {"color": concept(name), "line": {"width": 0}},
            "hovertext": [names.neuron(int(j)) for j in order], "meta": {"press": ["neuron"]},
            "hovertemplate": f"%{{hovertext}}<br>{name} %{{y:.10~g}}<extra></extra>",
        }
        for name, values, width, opacity in (
            ("hidden", hidden, 0.8 if few else 1.0, 0.5),
            ("activated", activated, 0.4 if few else 0.5, 1.0),
        )
    ]  # fmt: skip
    axis = f"neuron, {'largest hidden first' if ordered else 'in order'} [d_ff = {n}]"
    ticks = {"tickvals": place, "ticktext": order} if few else {"showticklabels": not ordered}
    look = layout(
        f"Before and after {label}, position {position}",
        360,
        barmode="overlay",
        **LEGEND_ROW,
        xaxis={"title": {"text": axis}, "range": [-0.6, n - 0.4], "zeroline": False, **ticks},
        yaxis={"title": {"text": "hidden, activated"}, "fixedrange": True},
    )
    if neuron is not None:
        at = int(np.flatnonzero(order == neuron)[0])
        look["shapes"] = [
            {
                "type": "rect", "xref": "x", "yref": "paper", "x0": at - 0.5, "x1": at + 0.5, "y0": 0, "y1": 1,
                "layer": "below", "fillcolor": concept("values"), "opacity": 0.25,
                "line": {"color": concept("values"), "width": 2},
            },
            {
                "type": "line", "xref": "x", "yref": "paper", "x0": at, "x1": at, "y0": 0, "y1": 1, "line": {"width": 0},
                "label": {
                    "text": f"neuron {neuron}", "textposition": "start", "textangle": 0, "yanchor": "bottom",
                    "xanchor": "left" if at < n / 10 else "right" if at >= n * 0.9 else "center",
                },
            },
        ]  # fmt: skip
    return Drawing(
        traces=bars,
        layout=look,
        text=f"Bars of hidden and activated for {hidden.size} neurons at position {position}; {_negative(hidden)}.",
        rows=lambda: _rows(trace, position, order),
    )


def _negative(hidden: np.ndarray) -> str:
    return f"{int(np.sum(hidden < 0))} of hidden are negative"


def _rows(trace: Trace, position: int, order: np.ndarray) -> list[dict[str, int | str]]:
    hidden, activated = trace.hidden[position], trace.activated[position]
    return [
        {
            "neuron": int(j),
            "hidden": short_number(float(hidden[j])),
            "activated": short_number(float(activated[j])),
        }
        for j in order
    ]
