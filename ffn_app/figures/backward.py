"""The backward pass: each array over its gradient."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ffn_app.board.arrays import KINDS, spans
from ffn_app.figures.drawing import Drawing, PlotTrace, layout, side_by_side
from ffn_app.theme import concept, diverging_scale
from ffn_core.activations import Array
from ffn_core.dense import FFN, Gradients, Trace
from ffn_core.explain_backward import STAGES, Entry, GradientExplanation, gradient_name, shape_of
from ffn_core.matrix_text import short_number
from ffn_core.pooling import Pooled, pool

HALVES = {"first": ("x", "w1", "b1", "hidden"), "second": ("activated", "w2", "b2", "output")}
"""The arrays of each half of the network, from left to right."""
TITLES = {
    "first": "First half: x, W1, hidden → and back ←",
    "second": "Second half: activated, W2, output → and back ←",
}
MOST_WHOLE = 64
"""An array that is longer or wider is pooled."""
POOL = (48, 32)
"""Blocks along d_ff and along d_model of a pooled array."""
ABOVE, BETWEEN, BELOW = 96, 92, 36
"""Pixels for the title and the names of the upper row, for those of the lower one, and for the axes' names."""
MOST_ROWS = 1000
"""Of a larger array the table holds the entries of greatest gradient."""
FEW_COLUMNS = 10
"""So many numbers fit beside each other in a matrix."""

Spans = Mapping[str, float]


def gradients_of(gradients: Gradients, d_output: Array) -> dict[str, Array]:
    """Every gradient by the name of its array, output's among them."""
    return {"output": d_output} | vars(gradients)


class _Pair(NamedTuple):
    """One array of one position beside its gradient, as matrices, and which rows and columns of cells they are cut to."""

    array: str
    forward: Pooled
    gradient: Pooled
    shape: tuple[int, ...]


def _width(shape: tuple[int, ...]) -> float:
    """How wide an array is drawn, in cells: a vector wider than a matrix's column, so that its name has room."""
    if len(shape) == 1:
        return 1.25
    return float(shape[1] if shape[1] <= 16 else 10)


def half_width(ffn: FFN, half: str) -> float:
    """How wide a half of the network is drawn, in cells."""
    return sum(_width(shape_of(ffn, name)) for name in HALVES[half])


def flow(
    trace: Trace,
    gradients: Mapping[str, Array],
    position: int,
    half: str,
    *,
    spans_of: Spans,
    chosen: Entry | None = None,
    explained: GradientExplanation | None = None,
) -> Drawing:
    """One half of the network, forward arrays above and under each its gradient, of the same shape.

    Each gradient's colours reach from -spans_of[array] to its opposite; forward arrays share the board's two scales,
    spans_of["weight"] and spans_of["signal"]. The chosen entry is framed in both rows, and with dots what its gradient
    is made of. A press on a cell chooses its entry, of a block of a pooled array the one that is shown.
    """
    pairs = [_pair(trace, gradients, position, name) for name in HALVES[half]]
    tallest = max(len(pair.forward.values) for pair in pairs)
    traces: list[PlotTrace] = []
    headings: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    marks: list[dict[str, Any]] = []
    sources = explained.sources if explained is not None else {}
    cell = min(30.0, max(4.0, 240 / tallest))
    height = round(2 * tallest * cell) + BETWEEN
    share = tallest * cell / height  # of the height, for each row
    domains = side_by_side(*(_width(pair.shape) for pair in pairs), spacing=0.05)
    number = 0
    for pair, across in zip(pairs, domains, strict=True):
        rows = len(pair.forward.values)
        for top, pooled in ((True, pair.forward), (False, pair.gradient)):
            number += 1
            suffix = "" if number == 1 else str(number)
            name = pair.array if top else gradient_name(pair.array)
            span = spans_of["weight" if top and pair.array not in STAGES else "signal" if top else pair.array]
            low, high = (1 - share, 1.0) if top else (0.0, share)
            room = share * (1 - rows / tallest) / 2
            axes[f"xaxis{suffix}"] = _bare(pair, across, anchor=f"y{suffix}", along="columns")
            axes[f"yaxis{suffix}"] = _bare(pair, [low + room, high - room], anchor=f"x{suffix}", along="rows")
            traces.append(_cells(pair, pooled, name, suffix, span))
            headings.append(_heading(pair, across, high - room, span, forward=top))
            if chosen is not None and chosen.array == pair.array:
                marks.append(_frame(pair, [chosen.index], suffix, dash="solid"))
            if name in sources:
                marks.append(_frame(pair, sources[name], suffix, dash="dot"))
    headings += [
        _arrow((left[1] + right[0]) / 2, height, text)
        for left, right in pairwise(domains)
        for height, text in ((1 - share / 2, "→"), (share / 2, "←"))
    ]
    return Drawing(
        traces=traces,
        layout=layout(
            TITLES[half],
            height + ABOVE + BELOW,
            title={"y": 1, "yanchor": "top", "pad": {"t": 10}},
            margin={"l": 20, "r": 20, "t": ABOVE, "b": BELOW},
            annotations=headings,
            shapes=marks,
            dragmode=False,
            **axes,
        ),
        text=f"{TITLES[half]}: "
        + "; ".join(
            f"{gradient_name(pair.array)} {list(pair.shape)}, greatest {short_number(_greatest(pair.gradient))}"
            for pair in pairs
        )
        + ("." if explained is None else f". {explained.text}."),
        rows=lambda: [
            row
            for name in HALVES[half]
            for row in _rows(trace, gradients, position, name)
        ],
    )  # fmt: skip


def _pair(trace: Trace, gradients: Mapping[str, Array], position: int, array: str) -> _Pair:
    forward, gradient = (
        part[position] if array in STAGES else part for part in (_known(trace, array), gradients[array])
    )
    rooms = [_room(n, trace.ffn.d_ff) for n in forward.shape] + [1] * (2 - forward.ndim)
    return _Pair(array, pool(forward, *rooms), pool(gradient, *rooms), forward.shape)


def _room(length: int, d_ff: int) -> int:
    """How many blocks an axis of that length is drawn with."""
    if length <= MOST_WHOLE:
        return length
    return POOL[0] if length == d_ff else POOL[1]


def _bare(pair: _Pair, domain: Sequence[float], *, anchor: str, along: str) -> dict[str, Any]:
    """An axis without a grid; a matrix's columns are named by what they are, with their number."""
    cells = pair.forward.values.shape[1 if along == "columns" else 0]
    axis: dict[str, Any] = {
        "domain": [max(0.0, domain[0]), min(1.0, domain[1])],
        "anchor": anchor,
        "showgrid": False,
        "zeroline": False,
        "showticklabels": False,
        "ticks": "",
        "fixedrange": True,
        "range": [-0.5, cells - 0.5] if along == "columns" else [cells - 0.5, -0.5],
    }
    if along == "columns" and len(pair.shape) == 2:
        length = "coordinate i, d_model" if pair.array == "w1" else "neuron j, d_ff"
        axis["title"] = {"text": f"{length} = {pair.shape[1]}", "standoff": 4}
    return axis


def _cells(pair: _Pair, pooled: Pooled, name: str, suffix: str, span: float) -> PlotTrace:
    rows, columns = pooled.values.shape
    entries = [
        [(int(pooled.index[0][r, c]), int(pooled.index[1][r, c]))[: len(pair.shape)] for c in range(columns)]
        for r in range(rows)
    ]
    trace: PlotTrace = {
        "type": "heatmap",
        "z": pooled.values,
        "xaxis": f"x{suffix}",
        "yaxis": f"y{suffix}",
        "colorscale": diverging_scale(),
        "zmin": -span,
        "zmax": span,
        "showscale": False,
        "xgap": 1 if max(rows, columns) <= 16 else 0,
        "ygap": 1 if max(rows, columns) <= 16 else 0,
        "customdata": [[Entry(array=pair.array, index=index).text for index in row] for row in entries],
        "meta": {"press": ["entry"]},
        "hovertext": [[name + "".join(f"[{i}]" for i in index) for index in row] for row in entries],
        "hovertemplate": "%{hovertext} = %{z:.10~g}<extra></extra>",
    }
    if columns <= FEW_COLUMNS and rows <= 16:
        trace |= {
            "text": [[short_number(float(value)) for value in row] for row in pooled.values],
            "texttemplate": "%{text}",
            "textfont": {"size": 13},
        }
    return trace


def _heading(
    pair: _Pair, across: Sequence[float], top: float, span: float, *, forward: bool
) -> dict[str, Any]:
    kind = KINDS[pair.array]
    name = kind.label if forward else gradient_name(pair.array)
    shape = f"[{', '.join(map(str, pair.shape))}]"
    return {
        "text": f"<b>{name}</b><br>{shape}<br>±{short_number(span)}",
        "x": sum(across) / 2, "y": top, "xref": "paper", "yref": "paper", "yanchor": "bottom", "xanchor": "center",
        "showarrow": False, "font": {"size": 12, "color": concept(kind.concept)},
    }  # fmt: skip


def _arrow(x: float, y: float, text: str) -> dict[str, Any]:
    return {
        "text": text, "x": x, "y": y, "xref": "paper", "yref": "paper", "xanchor": "center", "yanchor": "middle",
        "showarrow": False, "font": {"size": 16},
    }  # fmt: skip


def _frame(pair: _Pair, entries: Sequence[tuple[int, ...]], suffix: str, *, dash: str) -> dict[str, Any]:
    """A frame around the cells that show these entries, which lie in one row, one column or one block."""
    columns = [index[1] if len(index) == 2 else 0 for index in entries]
    rows = [index[0] for index in entries]
    (top, bottom), (left, right) = (
        np.searchsorted(edges, [min(places), max(places)], side="right") - 1
        for edges, places in ((pair.forward.row_edges, rows), (pair.forward.column_edges, columns))
    )
    return {
        "type": "rect", "xref": f"x{suffix}", "yref": f"y{suffix}",
        "x0": left - 0.5, "x1": right + 0.5, "y0": top - 0.5, "y1": bottom + 0.5,
        "line": {"color": concept("keys" if dash == "solid" else "activated"), "width": 4, "dash": dash},
    }  # fmt: skip


def _greatest(pooled: Pooled) -> float:
    """The entry of greatest magnitude, NaN before all."""
    values = pooled.values
    return float(values.flat[int(np.argmax(np.abs(values)))])


def _rows(trace: Trace, gradients: Mapping[str, Array], position: int, array: str) -> list[dict[str, Any]]:
    forward, gradient = (
        part[position] if array in STAGES else part for part in (_known(trace, array), gradients[array])
    )
    greatest = np.sort(np.argsort(-np.abs(gradient), axis=None, kind="stable")[:MOST_ROWS])
    return [
        {
            "array": array,
            "row": int(index[0]),
            "column": int(index[1]) if len(index) == 2 else None,
            "number": short_number(float(forward[index])),
            "gradient": short_number(float(gradient[index])),
        }
        for index in zip(*np.unravel_index(greatest, forward.shape), strict=True)
    ]


def forward_spans(trace: Trace) -> dict[str, float]:
    """The ranges of the forward arrays' colours: the board's."""
    return spans({name: _known(trace, name) for half in HALVES.values() for name in half})


def _known(trace: Trace, array: str) -> Array:
    whole: Array = getattr(trace if array in STAGES else trace.ffn, array)
    return whole
