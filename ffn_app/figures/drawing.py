"""What every figure function returns, and the layout that all figures share.

A figure is described in Plotly's own terms as plain dicts. Checking each property, as plotly.graph_objects does, takes
longer than all the arithmetic on a page, so it is left to the tests: `Drawing.figure` checks every one.
"""

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.utils import PlotlyJSONEncoder

from ffn_core.activations import Array

PlotTrace = dict[str, Any]
"""One trace of a figure: "type" and the properties of https://plotly.com/javascript/reference."""


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A figure, what it shows in words, and its numbers as rows."""

    traces: Sequence[PlotTrace]
    layout: dict[str, Any]
    text: str
    rows: Callable[[], Sequence[dict[str, Any]]] = tuple
    """Makes the table: few look at it, and for a wide layer it takes longer than the figure."""

    @property
    def table(self) -> list[dict[str, Any]]:
        """The numbers of the figure, a dict for each row."""
        return list(self.rows())

    @cached_property
    def figure(self) -> go.Figure:
        """The figure as Plotly's object; a ValueError names a property that Plotly does not know."""
        return go.Figure(list(self.traces), self.layout)

    def to_json(self) -> str:
        """The figure for Plotly.js: arrays of numbers as its typed arrays, which keep every bit and are short."""
        return json.dumps(
            {"data": _packed(self.traces), "layout": _packed(self.layout)}, cls=PlotlyJSONEncoder
        )


def layout(title: str, height: int, /, **more: Any) -> dict[str, Any]:
    """The layout of a figure: its title and height, room for them, and a legend above the plot.

    Of what is a dict in both, `more` changes only what it names.
    """
    whole: dict[str, Any] = {
        "title": {"text": title, "x": 0, "xanchor": "left", "font": {"size": 15}},
        "height": height,
        "margin": {"l": 60, "r": 16, "t": 54, "b": 48},
        "legend": {"orientation": "h", "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom"},
        "hovermode": "closest",
        "uirevision": "kept",  # a reader's zoom outlives an edit
    }
    for name, value in more.items():
        whole[name] = {**whole[name], **value} if isinstance(whole.get(name), dict) else value
    return whole


MOST_BARS = 40
"""So many bars are drawn one by one; the outline of more takes a browser a tenth of the time."""


def bars(values: Array, name: str, colour: str, hover: str, **more: Any) -> PlotTrace:
    """A bar for each of `values` at 0, 1, 2, ...; for many, one filled outline of them."""
    common = {
        "x": np.arange(len(values)),
        "y": values,
        "name": name,
        "hovertemplate": f"{hover}<extra></extra>",
        **more,
    }
    if len(values) <= MOST_BARS:
        return {"type": "bar", "marker": {"color": colour}, **common}
    line = {"color": colour, "width": 1, "shape": "hvh", "simplify": False}
    return {
        "type": "scatter",
        "mode": "lines",
        "line": line,
        "fill": "tozeroy",
        "fillcolor": colour,
        "opacity": 0.75,
        **common,
    }


def side_by_side(*widths: float, spacing: float = 0.08) -> list[list[float]]:
    """The domains of plots beside each other, as wide as `widths` say, with `spacing` between them."""
    unit = (1 - spacing * (len(widths) - 1)) / sum(widths)
    starts = [sum(widths[:k]) * unit + k * spacing for k in range(len(widths))]
    return [[start, min(1.0, start + width * unit)] for start, width in zip(starts, widths, strict=True)]


def _packed(value: Any) -> Any:
    """`value` with its arrays of numbers as the typed arrays of Plotly.js: {dtype, bdata, shape}."""
    if isinstance(value, dict):
        return {name: _packed(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_packed(item) for item in value]
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iuf" or not value.size:
        return value
    kind = (
        value.dtype
        if value.dtype.kind == "f"
        else np.result_type(*map(np.min_scalar_type, (value.min(), value.max())))
    )
    if kind.itemsize == 8 and kind.kind != "f":
        return value.tolist()  # Plotly.js has no integers of 64 bits
    data = np.ascontiguousarray(value, dtype=kind.newbyteorder("<"))
    packed = {
        "dtype": f"{kind.kind}{kind.itemsize}",
        "bdata": base64.b64encode(data.tobytes()).decode("ascii"),
    }
    return packed | ({"shape": ", ".join(map(str, value.shape))} if value.ndim > 1 else {})
