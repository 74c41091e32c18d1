"""What a model's FFNs cost beside the rest of it: where the parameters live, and FLOPs against context length."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ffn_app.figures.drawing import Drawing, PlotTrace, layout
from ffn_app.theme import concept
from ffn_core.count_text import PART_WORDS, short_count, short_share
from ffn_core.counting import MAX_CONTEXT, Flops, ModelShape, crossover

# One colour for each part of a model on both figures; what the head multiplies by is the embeddings, or as large.
COLOURS = {
    "ffn": "hidden",
    "attention": "input",
    "attention_projections": "input",
    "attention_scores": "input",
    "embeddings": "output",
    "head": "output",
    "router": "keys",
    "norms": "activated",
    "pooler": "values",
}
PARTS = ("ffn", "attention", "embeddings", "router", "norms", "pooler")
"""Of a model's parameters, in the order of the bars: the small ones last."""
COSTS = ("ffn", "attention_projections", "attention_scores", "router", "head")
"""Of a token's FLOPs, in the order in which the shares are stacked."""
STEPS = tuple(
    sorted({2**k * quarters // 4 for k in range(2, 21) for quarters in (4, 5, 6, 7)} | {1, 2, 3, 2**21})
)
"""Context lengths from 1 to 2²¹, four to a doubling: where the curves have their points and the slider its stops."""
_DASHES = {"ffn": "solid", "attention_projections": "dash", "attention_scores": "solid", "head": "dashdot"}
# At the foot: on a phone it has many rows, for which Plotly makes room there.
_LEGEND_BELOW = {
    "x": 0,
    "xanchor": "left",
    "y": 0,
    "yanchor": "bottom",
    "yref": "container",
    "traceorder": "normal",
}
_HATCHES = {"attention_projections": "/", "head": "."}


def where_parameters_live(shape: ModelShape) -> Drawing:
    """Bars of one layer of each kind and of the whole model, each divided among its parts, in percent of its total.

    Where there are experts, a second bar holds only what takes part in one token.
    """
    counted = shape.parameters()
    bars: dict[str, tuple[dict[str, int], int]] = {}
    for layer in shape.layers():
        bars[f"one {layer.name}"] = layer.parts, layer.total
        if layer.inactive:
            bars["one layer, for one token"] = _active(layer.parts, layer.inactive), layer.total
    bars["whole model"] = counted.parts, counted.total
    if counted.inactive:
        bars["whole model, for one token"] = _active(counted.parts, counted.inactive), counted.total
    names = list(bars)
    shown = [part for part in PARTS if any(parts.get(part) for parts, _ in bars.values())]
    traces: list[PlotTrace] = []
    for part in shown:
        counts = [parts.get(part, 0) for parts, _ in bars.values()]
        shares = [100 * count / whole for count, (_, whole) in zip(counts, bars.values(), strict=True)]
        label = _label(part)
        traces.append(
            {
                "type": "bar", "orientation": "h", "name": label, "x": shares, "y": names,
                "marker": {"color": concept(COLOURS[part]), "line": {"width": 1}},
                "text": [f"{label}<br>{short_count(count)}" if count else "" for count in counts],
                "textposition": "inside", "insidetextanchor": "middle", "textangle": 0,
                "hovertext": [f"{count:,}" for count in counts],
                "hovertemplate": f"{label}, %{{y}}<br>%{{hovertext}} parameters, %{{x:.3~g}}%<extra></extra>",
            }
        )  # fmt: skip
    look = layout(
        "Where the parameters live",
        150 + 62 * len(bars),
        barmode="stack",
        bargap=0.3,
        dragmode=False,
        uniformtext={"minsize": 11, "mode": "hide"},
        legend=_LEGEND_BELOW,
        xaxis={
            "title": {"text": "share of the layer, or of the model"},
            "range": [0, 100],
            "ticksuffix": "%",
        },
        yaxis={
            "autorange": "reversed",  # the first on top
            "tickvals": names,
            "ticktext": [name.replace(", ", ",<br>") for name in names],
            "showgrid": False,
        },
    )
    told = ", ".join(
        f"{_label(part)} {short_count(counted.parts[part])} ({short_share(counted.shares[part])})"
        for part in shown
        if counted.parts[part]
    )
    active = f" {short_count(counted.active)} of them take part in one token." if counted.inactive else ""
    return Drawing(
        traces=traces,
        layout=look,
        text=f"Where the {short_count(counted.total)} parameters of {shape.title} live: {told}.{active}",
        rows=lambda: [
            {"where": name}
            | {_label(part): f"{parts.get(part, 0):,}" for part in shown}
            | {"all": f"{sum(parts.values()):,}"}
            for name, (parts, _) in bars.items()
        ],
    )


def cost_against_context(shape: ModelShape, *, length: int, causal: bool) -> Drawing:
    """FLOPs of one token against the context length, and below on the same axis how they are shared.

    `length` is the reader's own, a line that moves; a press on a curve puts it there. The two crossovers are marked.
    """
    scores_alone, together = (crossover(shape, projections, causal) for projections in (False, True))
    furthest = max(STEPS[-1], min(MAX_CONTEXT, 4 * scores_alone), length)
    places = [n for n in sorted({*STEPS, furthest, scores_alone, together}) if n <= furthest]
    costs = [shape.flops(n, causal) for n in places]
    parts = [part for part in COSTS if getattr(costs[0], part)]
    here = shape.flops(length, causal)
    lowest = (
        min(here.ffn, here.attention_projections) / 20
    )  # far below it only the scores of a short context go
    ticks = [10**k for k in range(10) if 10**k <= furthest]
    look = layout(
        f"One token's cost: at {length:,} tokens, {short_share(here.ffn_share)} is the FFN",
        600,
        dragmode=False,
        legend=_LEGEND_BELOW,
        xaxis={
            "type": "log",
            "title": {"text": "context length, in tokens [logarithmic]"},
            "range": [0, math.log10(furthest)],
            "tickvals": ticks,
            "ticktext": [_tick(n) for n in ticks],
            "anchor": "y2",
        },
        yaxis={
            "type": "log",
            "title": {"text": "FLOPs a token [logarithmic]"},
            "range": [math.log10(lowest), math.log10(costs[-1].total) + 0.1],
            "domain": [0.4, 1],
            "dtick": 1,
            "exponentformat": "power",
        },
        yaxis2={
            "title": {"text": "share of FLOPs"},
            "domain": [0, 0.34],
            "range": [0, 100],
            "ticksuffix": "%",
            "dtick": 50,
        },
        shapes=[_line_at(length, to_the_left=math.log(length) > 0.6 * math.log(furthest))],
    )
    marks = [
        _crossover_mark(n, costs[0].ffn, *words)
        for n, *words in (
            (scores_alone, "scores", "attention's scores alone cost", "diamond-open"),
            (together, "attention", "attention, with its projections, costs", "square-open"),
        )
        if 1 < n <= furthest  # from the first token on it costs more: no crossing
    ]
    return Drawing(
        traces=[*_curves(costs, parts), *marks, *_shares(costs, parts)],
        layout=look,
        text=f"FLOPs of one token against context length, for {shape.title}. The FFN costs {short_count(here.ffn)} at "
        f"every length. Attention's scores alone reach that at {scores_alone:,} tokens, attention with its projections "
        f"at {together:,}. At {length:,} tokens one token costs {short_count(here.total)}, and "
        f"{short_share(here.ffn_share)} of that is the FFN.",
        rows=lambda: [
            _row(shape.flops(n, causal), parts) for n in sorted({*(2**k for k in range(22)), length})
        ],
    )


def _curves(costs: Sequence[Flops], parts: Sequence[str]) -> list[PlotTrace]:
    """A line for each part, for both of attention's, and for all. The router's, far below, is among the shares only."""
    drawn = [(_label(part), part, COLOURS[part], _DASHES[part]) for part in parts if part != "router"]
    drawn += [
        ("attention, both", "attention", COLOURS["attention"], "dot"),
        ("total", "total", "activated", "longdash"),
    ]
    lines = []
    for name, field, colour, dash in drawn:
        values = [getattr(cost, field) for cost in costs]
        lines.append(
            {
                **_over_lengths(costs), "y": np.array(values, dtype=float), "name": name,
                "line": {"color": concept(colour), "dash": dash, "width": 3, "simplify": False},
                "hovertext": [short_count(value) for value in values],
                "hovertemplate": f"{name}: %{{hovertext}} FLOPs<br>at %{{x:,}} tokens<extra></extra>",
            }
        )  # fmt: skip
    return lines


def _shares(costs: Sequence[Flops], parts: Sequence[str]) -> list[PlotTrace]:
    """Areas over each other, that fill the lower panel."""
    areas: list[PlotTrace] = []
    for part in parts:
        hatch = {"fillpattern": {"shape": _HATCHES[part], "size": 6}} if part in _HATCHES else {}
        areas.append(
            {
                **_over_lengths(costs), "y": np.array([100 * getattr(cost, part) / cost.total for cost in costs]),
                "yaxis": "y2", "stackgroup": "shares", "name": _label(part), "showlegend": part == "router",
                "line": {"color": concept(COLOURS[part]), "width": 1, "simplify": False}, **hatch,
                "hovertemplate": f"{_label(part)}: %{{y:.3~g}}% of the FLOPs<br>at %{{x:,}} tokens<extra></extra>",
            }
        )  # fmt: skip
    return areas


def _over_lengths(costs: Sequence[Flops]) -> PlotTrace:
    lengths = np.array([cost.context_length for cost in costs])
    return {
        "type": "scatter",
        "mode": "lines",
        "x": lengths,
        "customdata": lengths,
        "meta": {"press": ["length"]},
    }


def _crossover_mark(n: int, height: int, name: str, what: str, symbol: str) -> PlotTrace:
    """A mark on the FFN's line; the legend says which and where, because the two stand close to each other."""
    return {
        "type": "scatter", "mode": "markers", "x": [n], "y": [float(height)], "name": f"{name} = FFN at {n:,}",
        "marker": {"symbol": symbol, "size": 13, "color": concept("values"), "line": {"width": 3}},
        "customdata": np.array([n]), "meta": {"press": ["length"]},
        "hovertemplate": f"from {n:,} tokens on {what} at least as much as the FFN<extra></extra>",
    }  # fmt: skip


def _line_at(length: int, *, to_the_left: bool) -> dict[str, Any]:
    """The reader's length as a line through both panels, with a label `to_the_left` where there is no room beside."""
    colour = concept("values")
    return {
        "type": "line", "xref": "x", "yref": "paper", "x0": length, "x1": length, "y0": 0, "y1": 1,
        "line": {"width": 3, "color": colour},
        "label": {
            "text": f"{length:,} tokens", "textposition": "end", "textangle": 0, "yanchor": "top", "padding": 6,
            "xanchor": "right" if to_the_left else "left", "font": {"size": 14, "color": colour},
        },
    }  # fmt: skip


def _active(parts: dict[str, int], inactive: int) -> dict[str, int]:
    return parts | {"ffn": parts["ffn"] - inactive}


def _label(part: str) -> str:
    return PART_WORDS[part].removeprefix("attention's ")


def _tick(n: int) -> str:
    for unit, letter in ((10**9, " G"), (10**6, " M"), (10**3, " k")):
        if n >= unit:
            return f"{n // unit}{letter}"
    return str(n)


def _row(cost: Flops, parts: Sequence[str]) -> dict[str, Any]:
    return (
        {"context length": cost.context_length}
        | {_label(part): f"{getattr(cost, part):,}" for part in parts}
        | {"total": f"{cost.total:,}", "share of the FFN": short_share(cost.ffn_share)}
    )
