"""The figures of the page "Traps": what a flat list gives, a layer computed two ways, a router's weights two ways."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ffn_app.figures.curves import LEGEND_ROW
from ffn_app.figures.drawing import Drawing, PlotTrace, layout, side_by_side
from ffn_app.theme import concept
from ffn_core.activations import Array
from ffn_core.dense import FFN
from ffn_core.matrix_text import short_number
from ffn_core.moe import Routing
from ffn_core.traps import Layer, Way, as_meant, rows_read, swept

REACH = 3.0
"""As far as a coordinate of x is moved either way."""
_GRID = np.linspace(
    -REACH, REACH, 97
)  # its points are 1/16 apart, so that corners at whole numbers are sharp
_RIGHT, _WRONG = 1, 0
"""The heights of the two lanes of a flat list."""
_THIN = {"color": concept("hidden"), "width": 1}


def flat_reads(name: str, matrix: Array, row: int, stride: int) -> Drawing:
    """The flat list of a row-major matrix twice, and which elements make `row`: truly, and if it began at row·stride."""
    n_rows, width = matrix.shape
    flat = matrix.reshape(-1)
    right, wrong = rows_read(n_rows, width, width), rows_read(n_rows, width, stride)
    end = max(flat.size, int(wrong.max()) + 1)
    numbers = [short_number(float(value)) for value in flat]
    texts = numbers + ["none"] * (end - flat.size)
    places = np.arange(end)
    traces: list[PlotTrace] = [
        {
            "type": "scatter", "mode": "text", "x": places, "y": np.full(end, lane), "text": texts, "showlegend": False,
            "textfont": {"size": 17},
            "hovertemplate": f"{name}[%{{x}}] = %{{text}}<extra></extra>",
        }
        for lane in (_RIGHT, _WRONG)
    ]  # fmt: skip
    rows = [
        _frame(lane, i * width, width, _THIN, label=f"row {i}" if lane == _RIGHT else "")
        for lane in (_RIGHT, _WRONG)
        for i in range(n_rows)
    ]
    taken = [
        _frame(_RIGHT, row * width, width, {"color": concept("output"), "width": 4}, fill=concept("output")),
        _frame(
            _WRONG,
            row * stride,
            width,
            {"color": concept("values"), "width": 4, "dash": "dot"},
            fill=concept("values"),
        ),
    ]
    told = _told(name, right[row].tolist(), wrong[row].tolist(), numbers)
    look = layout(
        f"Row {row} of {name} [{n_rows}, {width}] in its flat list of {flat.size}",
        290,
        margin={"l": 110, "b": 52},
        shapes=[*rows, *taken],
        xaxis={
            "title": {"text": f"element of the flat list [{flat.size}]"}, "range": [-0.6, end - 0.4], "tickvals": places,
            "showgrid": False, "zeroline": False,
        },
        yaxis={
            "range": [-0.55, 1.75], "tickvals": [_WRONG, _RIGHT],
            "ticktext": [f"from {row}·{stride} = {row * stride}", f"right: {row}·{width} = {row * width}"],
            "showgrid": False, "zeroline": False,
        },
    )  # fmt: skip
    return Drawing(
        traces=traces,
        layout=look,
        text=told,
        rows=lambda: [
            {
                "row": i,
                "right elements": _list(right[i].tolist()),
                "right numbers": _numbers(right[i].tolist(), numbers),
                "elements read": _list(wrong[i].tolist()),
                "numbers read": _numbers(wrong[i].tolist(), numbers),
            }
            for i in range(n_rows)
        ],
    )


def _frame(
    lane: int, start: int, width: int, line: dict[str, Any], *, label: str = "", fill: str = ""
) -> dict[str, Any]:
    frame: dict[str, Any] = {
        "type": "rect", "x0": start - 0.46, "x1": start + width - 0.54, "y0": lane - 0.34, "y1": lane + 0.34, "line": line,
    }  # fmt: skip
    if fill:
        frame |= {"fillcolor": fill, "opacity": 0.22, "layer": "below"}
        frame["y0"], frame["y1"] = lane - 0.4, lane + 0.4
    if label:
        frame["label"] = {"text": label, "textposition": "top left", "padding": 3}
    return frame


def _told(name: str, right: list[int], wrong: list[int], numbers: list[str]) -> str:
    same = "The same." if right == wrong else "Not the same."
    return (
        f"Its numbers are elements {_list(right)} of {name}: {_numbers(right, numbers)}. The code reads elements {_list(wrong)}: "
        f"{_numbers(wrong, numbers)}. {same}"
    )


def _list(places: Sequence[int]) -> str:
    return ", ".join(map(str, places))


def _numbers(places: Sequence[int], numbers: Sequence[str]) -> str:
    return ", ".join(numbers[place] if place < len(numbers) else "beyond the end" for place in places)


class Compared(NamedTuple):
    """The wrong way that is drawn beside the right one, its name in the legend, and of what: x + output, or output."""

    layer: Layer
    label: str
    residual: bool


def two_ways(ffn: FFN, x: Array, compared: Compared) -> Drawing:
    """For each of the two coordinates of x [2] a panel: that coordinate of the result, as it alone is moved.

    Right and wrong; where the result is x + output, x itself too, below which it has fallen.
    """
    result, named = ("x + FFN(x)", "(x + FFN(x))") if compared.residual else ("FFN(x)", "FFN(x)")
    drawn: list[tuple[str, str, Layer]] = [
        ("right", "solid", as_meant),
        (compared.label, "dash", compared.layer),
    ]
    traces: list[PlotTrace] = []
    here: list[dict[str, str]] = []
    for i, suffix in enumerate(("", "2")):
        axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        if compared.residual:
            traces.append(
                {
                    "type": "scatter", "mode": "lines", "name": "x itself: below it is a fall", "x": _GRID,
                    "y": _GRID, "line": {"color": concept("input"), "dash": "dot", "width": 2}, "hoverinfo": "skip",
                    "showlegend": i == 0, **axes,
                }
            )  # fmt: skip
        row = {"coordinate": str(i), "x": short_number(float(x[i]))}
        for (label, dash, layer), colour in zip(drawn, ("output", "values"), strict=True):
            values, at = (
                _shown(swept(layer, ffn, x, i, grid), i, compared.residual) for grid in (_GRID, x[[i]])
            )
            row[label] = short_number(float(at[0]))
            line = {"color": concept(colour), "dash": dash, "width": 3}
            hover = f"{label}: %{{y:.4g}} at x[{i}] = %{{x:.3g}}<extra></extra>"
            common = {"name": label, "hovertemplate": hover, **axes}
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "x": _GRID,
                    "y": values,
                    "line": line,
                    "showlegend": i == 0,
                    **common,
                }
            )
            symbol = "circle" if layer is as_meant else "x"
            traces.append(
                {
                    "type": "scatter", "mode": "markers", "x": x[[i]], "y": at, "showlegend": False, "cliponaxis": False,
                    "marker": {"color": concept(colour), "size": 12, "symbol": symbol}, **common,
                }
            )  # fmt: skip
        here.append(row)
    left, right = side_by_side(1, 1, spacing=0.2)
    look = layout(
        f"{result}, as one coordinate of x moves",
        370,
        legend=LEGEND_ROW["legend"],
        margin={"t": 116 if compared.residual else 96},  # on a phone each name in the legend has a row
        title={"y": 1, "yanchor": "top", "pad": {"t": 16}},
        dragmode=False,
        xaxis={"domain": left, "title": {"text": "x[0]; x[1] stays"}, "range": [-REACH, REACH]},
        yaxis={"title": {"text": f"{named}[0]"}},
        xaxis2={
            "domain": right,
            "title": {"text": "x[1]; x[0] stays"},
            "range": [-REACH, REACH],
            "anchor": "y2",
        },
        yaxis2={"title": {"text": f"{named}[1]"}, "anchor": "x2"},
    )
    return Drawing(
        traces=traces,
        layout=look,
        text=" ".join(
            f"Coordinate {row['coordinate']}, where x is {row['x']}: {result} is {row['right']} right, "
            f"{row[compared.label]} with {compared.label}."
            for row in here
        ),
        rows=lambda: here,
    )


def _shown(way: Way, coordinate: int, residual: bool) -> Array:
    return (way.residual if residual else way.output)[:, coordinate]


def routed_weights(after: Routing, before: Routing) -> Drawing:
    """One token's weight of each expert, [n_experts], with softmax after top-k and before; 0 where not chosen."""
    n_experts = after.probs.size
    drawn = []
    for routing, name, colour, pattern in (
        (after, "softmax after top-k", "output", ""),
        (before, "softmax before top-k", "values", "/"),
    ):
        weights = np.zeros(n_experts)
        weights[routing.chosen] = routing.routing_weights
        drawn.append((name, weights, {"color": concept(colour), "pattern": {"shape": pattern}}))
    traces: list[PlotTrace] = [
        {
            "type": "bar", "name": name, "x": np.arange(n_experts), "y": weights, "marker": marker,
            "text": [short_number(value) for value in weights.tolist()], "textposition": "outside", "cliponaxis": False,
            "hovertemplate": f"{name}: %{{y:.4g}} for expert %{{x}}<extra></extra>",
        }
        for name, weights, marker in drawn
    ]  # fmt: skip
    look = layout(
        "What each expert's output is multiplied by",
        300,
        legend=LEGEND_ROW["legend"],
        margin={"t": 96},
        title={"y": 1, "yanchor": "top", "pad": {"t": 16}},
        barmode="group",
        xaxis={"title": {"text": f"expert [{n_experts}]"}, "tickvals": np.arange(n_experts)},
        yaxis={"title": {"text": "weight"}, "range": [0, 1.12]},
    )
    return Drawing(
        traces=traces,
        layout=look,
        text=" ".join(
            f"{name}: {', '.join(f'expert {e} {short_number(value)}' for e, value in enumerate(weights.tolist()) if value)}."
            for name, weights, _ in drawn
        ),
        rows=lambda: [
            {"expert": e} | {name: short_number(float(weights[e])) for name, weights, _ in drawn}
            for e in range(n_experts)
        ],
    )
