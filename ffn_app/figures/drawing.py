"""What every figure function returns, and the layout that all figures share."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import plotly.graph_objects as go


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A figure, what it shows in words, and its numbers as rows."""

    figure: go.Figure
    text: str
    table: Sequence[dict[str, Any]] = field(default=())


def layout(title: str, height: int, **more: Any) -> dict[str, Any]:
    """The layout of a figure: its title and height, room for them, and a legend above the plot."""
    return {
        "title": {"text": title, "x": 0, "xanchor": "left", "font": {"size": 15}},
        "height": height,
        "margin": {"l": 60, "r": 16, "t": 54, "b": 48},
        "legend": {"orientation": "h", "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom"},
        "hovermode": "closest",
        "uirevision": "kept",  # a reader's zoom outlives an edit
        "template": "none",
        **more,
    }
