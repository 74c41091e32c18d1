"""A sequence going through the FFN: each position a column, the columns side by side."""

import html
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from ffn_app.figures.drawing import Drawing, layout
from ffn_app.theme import concept, diverging_scale
from ffn_core.activations import Array
from ffn_core.matrix_text import short_number
from ffn_core.pooling import pool

MOST_ROWS = 64
"""A column with more numbers than that is pooled to as many blocks."""
STAGES = {"x": ("input", "d_model"), "hidden": ("hidden", "d_ff"), "activated": ("activated", "d_ff")}
"""The colour and the width of a stage; those of output, under any name, are the default."""
_UPRIGHT = 3  # so many columns have room for a word below each
_NUMBERS = (16, 4)  # so many rows and columns have room for their numbers


def columns(
    stage: str,
    values: Array,
    words: Sequence[str],
    *,
    span: float,
    differences: Array | None = None,
    title: str | None = None,
) -> Drawing:
    """One stage of a trace as a heatmap, a column for each position.

    A press on a cell chooses its position, and in hidden and activated its neuron.

    Args:
        stage: x, hidden, activated or output.
        values: [positions, d], in the order in which they are drawn.
        words: one for each position, in that order.
        span: the colours run from -span to span.
        differences: for each position [positions] how far it is from where it was; then the columns that changed
            are outlined, and each says its difference below its word.
        title: in place of the stage's name.
    """
    n_positions, width = values.shape
    colour, axis = STAGES.get(stage, ("output", "d_model"))
    pooled = pool(values.T, MOST_ROWS, n_positions)
    rows = len(pooled.values)
    reads = "neuron" if axis == "d_ff" else "row"
    grouped = f", in {rows} blocks that show their greatest" if rows < width else ""
    places = np.stack([pooled.index[1], pooled.index[0]], axis=-1)  # position and row of each number
    numbers = (
        [[short_number(float(value)) for value in row] for row in pooled.values]
        if rows <= _NUMBERS[0] and n_positions <= _NUMBERS[1]
        else None
    )
    heat = go.Heatmap(
        z=pooled.values, x=np.arange(n_positions + 1) - 0.5, y=pooled.row_edges - 0.5, customdata=places.tolist(),
        zmin=-span, zmax=span, colorscale=diverging_scale(), showscale=False, xgap=2,
        text=numbers, texttemplate=None if numbers is None else "%{text}",
        hovertemplate=f"{stage}[%{{customdata[0]}}][%{{customdata[1]}}] = %{{z:.4g}}<extra></extra>",
        meta={"press": ["position", "neuron"] if axis == "d_ff" else ["position"]},
    )  # fmt: skip
    figure = go.Figure(heat)
    figure.update_layout(
        layout(title or f"{stage} [{n_positions}, {width}]", 400),
        xaxis={
            "title": {
                "text": "position" if differences is None else "position, greatest difference from the start"
            },
            "tickvals": list(range(n_positions)),
            "ticktext": _labels(words, differences),
            "tickangle": 0 if n_positions <= _UPRIGHT else -90,
            "showgrid": False,
            "zeroline": False,
        },
        yaxis={
            "title": {"text": f"{reads} [{axis} = {width}]{grouped}"},
            "range": [width - 0.5, -0.5],
            "showgrid": False,
            "zeroline": False,
            **({"dtick": 1} if width <= 16 else {}),
        },
    )
    figure.update_layout(margin={"l": 44, "r": 4}, title_font_color=concept(colour))
    for position in [] if differences is None else np.flatnonzero(differences):
        figure.add_vrect(x0=position - 0.48, x1=position + 0.48, line={"color": concept(colour), "width": 3})
    return Drawing(
        figure=figure,
        text=f"{title or stage}: {width} numbers at each of {n_positions} positions{grouped}."
        + (
            ""
            if differences is None
            else f" Greatest difference from the start: {_told(words, differences)}."
        ),
        table=[
            {reads: _rows(first, end)}
            | {
                f"{p}: {word}": float(f"{value:.3g}")
                for p, (word, value) in enumerate(zip(words, row, strict=True))
            }
            for first, end, row in zip(
                pooled.row_edges[:-1], pooled.row_edges[1:], pooled.values.tolist(), strict=True
            )
        ],
    )


def reach(differences: Mapping[str, Array], words: Sequence[str]) -> Drawing:
    """How far a change reaches: for each way of computing it, a bar at every position with its difference [positions].

    The first way is drawn in the colour of output, the second in that of input.
    """
    places = list(range(len(words)))
    bars = [
        go.Bar(
            x=places, y=values, name=name, marker_color=concept(colour), marker_line_width=0,
            text=[short_number(float(value)) for value in values], textposition="outside", cliponaxis=False,
            customdata=places, meta={"press": ["position"]}, textangle=0 if len(words) <= 8 else -90,
            hovertemplate=f"position %{{x}}<br>{name}: %{{y:.4g}}<extra></extra>",
        )
        for (name, values), colour in zip(differences.items(), ("output", "input"), strict=True)
    ]  # fmt: skip
    figure = go.Figure(bars)
    figure.update_layout(
        layout("How far the change reaches", 320, barmode="group"),
        xaxis={
            "title": {"text": "position"},
            "tickvals": places,
            "ticktext": _labels(words, None),
            "showgrid": False,
        },
        yaxis={"title": {"text": "greatest |difference| of output"}, "rangemode": "tozero"},
    )
    figure.update_layout(margin={"t": 84}, title={"y": 0.97, "yanchor": "top"})
    return Drawing(
        figure=figure,
        text="Greatest difference of the output from the start. "
        + " ".join(f"{name}: {_told(words, values)}." for name, values in differences.items()),
        table=[
            {"position": f"{p}: {word}"}
            | {name: short_number(float(values[p])) for name, values in differences.items()}
            for p, word in enumerate(words)
        ],
    )


def _labels(words: Sequence[str], differences: Array | None) -> list[str]:
    """What stands below the columns. Plotly reads tags in a label, and the words are visitors'."""
    safe = [html.escape(word, quote=False) for word in words]
    if differences is None:
        return safe
    between = "<br>difference<br>" if len(words) <= _UPRIGHT else ": "
    return [
        f"{word}{between}{short_number(float(difference))}"
        for word, difference in zip(safe, differences, strict=True)
    ]


def _told(words: Sequence[str], differences: Array) -> str:
    return ", ".join(
        f"{word} {short_number(float(difference))}"
        for word, difference in zip(words, differences, strict=True)
    )


def _rows(first: int, end: int) -> str:
    return str(first) if end - first == 1 else f"{first} to {end - 1}"
