"""A sequence going through the FFN: each position a column, the columns side by side."""

import html
from collections.abc import Mapping, Sequence

import numpy as np

from ffn_app.figures.drawing import Drawing, PlotTrace, layout
from ffn_app.theme import concept, diverging_scale, ink_on_scale
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
    followed: int | None = None,
) -> Drawing:
    """One stage of a trace as a heatmap, a column for each position.

    A press on a cell chooses its position.

    Args:
        stage: x, hidden, activated or output.
        values: [positions, d], in the order in which they are drawn.
        words: one for each position, in that order.
        span: the colours run from -span to span.
        differences: for each position [positions] how far it is from where it was; then the columns that changed
            are outlined, and each says its difference below its word.
        title: in place of the stage's name.
        followed: the place of a column that is outlined so that the eye finds it in another order.
    """
    n_positions, width = values.shape
    colour, axis = STAGES.get(stage, ("output", "d_model"))
    pooled = pool(values.T, MOST_ROWS, n_positions)
    rows = len(pooled.values)
    reads, index = ("neuron", "j") if axis == "d_ff" else ("coordinate", "i")
    pooled_note = f"{width} {reads}s in {rows} blocks, each its greatest" if rows < width else ""
    name = title or f"{stage} [{n_positions}, {width}]"
    has_numbers = rows <= _NUMBERS[0] and n_positions <= _NUMBERS[1]
    row = "%{text}" if pooled_note else "%{y}"
    heat: PlotTrace = {
        "type": "heatmap", "z": pooled.values, "x": np.arange(n_positions + 1) - 0.5, "y": pooled.row_edges - 0.5,
        "customdata": pooled.index[1], "zmin": -span, "zmax": span, "colorscale": diverging_scale(), "showscale": False,
        "xgap": 2, "hovertemplate": f"{stage}[%{{customdata}}][{row}] = %{{z:.4g}}<extra></extra>",
        "meta": {"press": ["position"]},
    }  # fmt: skip
    if pooled_note:
        heat["text"] = pooled.index[0]
    outlined = [followed] if differences is None else np.flatnonzero(differences).tolist()
    frames = [
        {
            "type": "rect", "x0": p - 0.48, "x1": p + 0.48, "yref": "paper", "y0": 0, "y1": 1,
            "line": {"color": concept(colour), "width": 3},
        }
        for p in outlined
        if p is not None
    ]  # fmt: skip
    short = differences is None or n_positions <= _UPRIGHT  # what stands below the columns
    plain = {"showgrid": False, "zeroline": False}
    look = layout(
        name + (f"<br><sub>{pooled_note}</sub>" if pooled_note else ""),
        400 if short else 480,
        xaxis={
            "title": {"text": "position"},
            "range": [-0.5, n_positions - 0.5],
            "tickvals": list(range(n_positions)),
            "ticktext": _labels(words, differences),
            "tickangle": None if differences is None else 0 if short else -90,
            **plain,
        },
        yaxis={
            "title": {"text": f"{reads} {index} [{axis} = {width}]"},
            "range": [width - 0.5, -0.5],
            **({"dtick": 1} if width <= _NUMBERS[0] else {}),
            **plain,
        },
        shapes=frames,
    )
    look["margin"] |= {"l": 44, "r": 4, "t": 68 if pooled_note else 54}
    look["title"]["font"]["color"] = concept(colour)
    return Drawing(
        traces=[heat, _numbers(pooled.values, span)] if has_numbers else [heat],
        layout=look,
        text=f"{name}: {width} numbers at each of {n_positions} positions. {pooled_note}".strip(". ")
        + "."
        + (
            ""
            if differences is None
            else f" Greatest difference from the start: {_told(words, differences)}."
        ),
        rows=lambda: [
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


def _numbers(values: Array, span: float) -> PlotTrace:
    """The numbers of a heatmap [rows, columns], each in the ink that can be read on its cell."""
    rows, n = values.shape
    numbers = values.ravel().tolist()
    return {
        "type": "scatter", "mode": "text", "x": np.tile(np.arange(n), rows), "y": np.repeat(np.arange(rows), n),
        "text": [short_number(number) for number in numbers], "hoverinfo": "skip",
        "textfont": {"size": 13, "color": [ink_on_scale(number, span) for number in numbers]}, "showlegend": False,
    }  # fmt: skip


def reach(
    differences: Mapping[str, Array], words: Sequence[str], title: str = "How far the change reaches"
) -> Drawing:
    """How far a change reaches: for each way of computing it, a bar at every position with its difference [positions].

    The first way is drawn in the colour of output, the second in that of input.
    """
    places = list(range(len(words)))
    bars: list[PlotTrace] = [
        {
            "type": "bar", "x": places, "y": values, "name": name,
            "marker": {"color": concept(colour), "line": {"width": 0}},
            "text": [short_number(float(value)) for value in values], "textposition": "outside", "cliponaxis": False,
            "customdata": places, "meta": {"press": ["position"]}, "textangle": 0 if len(words) <= 8 else -90,
            "hovertemplate": f"position %{{x}}<br>{name}: %{{y:.4g}}<extra></extra>",
        }
        for (name, values), colour in zip(differences.items(), ("output", "input"), strict=True)
    ]  # fmt: skip
    look = layout(
        html.escape(title, quote=False),
        320,
        barmode="group",
        xaxis={
            "title": {"text": "position"},
            "tickvals": places,
            "ticktext": _labels(words, None),
            "showgrid": False,
            "zeroline": False,
        },
        yaxis={"title": {"text": "greatest |difference| of output"}, "rangemode": "tozero"},
    )
    look["margin"]["t"] = 84  # room for the title above the legend on a phone
    look["title"] |= {"y": 0.97, "yanchor": "top"}
    return Drawing(
        traces=bars,
        layout=look,
        text=f"Greatest difference of the output. {title}. "
        + " ".join(f"{name}: {_told(words, values)}." for name, values in differences.items()),
        rows=lambda: [
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
    between = "<br>difference<br>" if len(words) <= _UPRIGHT else ": difference "
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
