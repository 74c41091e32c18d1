"""The FFN read as memories: who fires where, what one neuron does, what the output is made of."""

import math
from typing import Literal

import numpy as np

from ffn_app.board.names import Names
from ffn_app.figures.curves import LEGEND_ROW
from ffn_app.figures.drawing import MOST_BARS, Drawing, PlotTrace, bars, layout, side_by_side
from ffn_app.theme import concept, diverging_scale
from ffn_core.activations import activation
from ffn_core.dense import Trace
from ffn_core.explain import explain
from ffn_core.matrix_text import short_number
from ffn_core.memories import (
    AnyTrace,
    Order,
    always_on,
    contribution_norms,
    dead,
    neuron_order,
    partial_sums,
    top_neurons,
)
from ffn_core.pooling import pool

Measure = Literal["hidden", "activated", "contribution"]

MOST_COLUMNS = 512
"""Neurons that a screen is wide enough for; more are pooled."""
MOST_STACKED = 12
"""Neurons that are told apart in a stack; what the rest adds is one part."""
MOST_COORDINATES = 16

MEASURES: dict[Measure, str] = {
    "hidden": "hidden",
    "activated": "activated",
    "contribution": "length of the contribution",
}


def measured(trace: AnyTrace, measure: Measure) -> np.ndarray:
    """The numbers of a heatmap, [positions, d_ff]."""
    if measure == "contribution":
        return contribution_norms(trace)
    numbers: np.ndarray = getattr(trace, measure)
    return numbers


def heatmap(
    trace: AnyTrace,
    words: tuple[str, ...],
    *,
    measure: Measure,
    order: Order,
    span: float,
    position: int,
    neuron: int | None,
) -> Drawing:
    """Positions by neurons. A press follows the neuron at that position; dead and always-on neurons are flagged.

    Colours reach from -span, orange, to span, blue; they are full beyond.
    """
    values = measured(trace, measure)
    columns = neuron_order(values, order)
    ordered = values[:, columns]
    pooled = pool(ordered, len(values), MOST_COLUMNS)
    neurons = columns[pooled.index[1]]
    places = np.broadcast_to(np.arange(len(values))[:, np.newaxis], neurons.shape)
    traces: list[PlotTrace] = [
        {
            "type": "heatmap",
            "z": pooled.values.astype(
                np.float32
            ),  # as many digits as the hover text shows, in half the bytes
            "customdata": np.stack([places, neurons], axis=-1),
            "meta": {"press": ["position", "neuron"]},
            "colorscale": diverging_scale(),
            "zmin": -span,
            "zmax": span,
            "hovertemplate": "position %{customdata[0]}, neuron %{customdata[1]}<br>%{z:.4g}<extra></extra>",
            "colorbar": {"thickness": 12, "title": {"text": MEASURES[measure], "side": "right"}},
        }
    ]
    silent, always = dead(trace.activated), always_on(trace.activated)
    column_of = np.empty(len(columns), dtype=np.intp)
    column_of[columns] = np.searchsorted(pooled.column_edges, np.arange(len(columns)), side="right") - 1
    for mask, name, symbol in (
        (silent, "dead: exactly 0 at every position", "x"),
        (always, "always on", "triangle-up"),
    ):
        marked = np.flatnonzero(mask)
        traces.append(
            {
                "type": "scatter", "mode": "markers", "name": name, "cliponaxis": False,
                "x": column_of[marked], "y": np.full(len(marked), len(values) - 0.35),
                "marker": {"symbol": symbol, "size": 8, "color": concept("values" if name == "always on" else "output")},
                "customdata": marked, "meta": {"press": ["neuron"]},
                "hovertemplate": f"neuron %{{customdata}}<br>{name}<extra></extra>",
            }
        )  # fmt: skip
    at = 0 if neuron is None else int(column_of[neuron])
    frame = {
        "type": "rect", "x0": at - 0.5, "x1": at + 0.5, "y0": position - 0.5, "y1": position + 0.5,
        "visible": neuron is not None, "line": {"color": concept("keys"), "width": 3},
    }  # fmt: skip
    per = math.ceil(len(columns) / pooled.values.shape[1])
    said = f", each cell the greatest of up to {per}" if per > 1 else ""
    few = len(columns) <= 40
    places_named = [f"{p}: {word}" for p, word in enumerate(words)]
    look = layout(
        f"Which memories fire: {MEASURES[measure]} by position and neuron",
        150 + min(30 * len(values), 420),
        shapes=[frame],
        meta={"neuron": neuron, "position": position, "columns": column_of.tolist()},
        xaxis={
            "title": {"text": f"neuron, {_ORDERS[order]} [d_ff = {len(columns)}]{said}"},
            "tickvals": np.arange(len(columns)) if few else [],
            "ticktext": columns if few else [],
            "showgrid": False,
            "zeroline": False,
        },
        yaxis={
            "title": {"text": "position"},
            "tickvals": np.arange(len(values)),
            "ticktext": places_named,
            "range": [len(values), -0.5],
            "showgrid": False,
            "zeroline": False,
        },
    )
    return Drawing(
        traces=traces,
        layout=look,
        text=f"Heatmap of {MEASURES[measure]}: {len(values)} positions by {len(columns)} neurons, {_ORDERS[order]}. "
        f"{int(silent.sum())} neurons are dead and {int(always.sum())} always on.",
        # As numbers, which a reader can sort by, and 8192 of which cost no time to write.
        rows=lambda: [
            {"neuron": j, **dict(zip(places_named, numbers, strict=True))}
            for j, numbers in zip(columns.tolist(), ordered.T.tolist(), strict=True)
        ],
    )


_ORDERS: dict[Order, str] = {
    "index": "in order",
    "strength": "strongest first",
    "cluster": "alike side by side",
}


def neuron_card(trace: Trace, position: int, neuron: int, names: Names) -> Drawing:
    """One neuron from key to output: how x meets its key term by term, its point on the curve, what it writes."""
    ffn, j, p = trace.ffn, neuron, position
    match = explain(trace, "hidden", p, j)
    fires = explain(trace, "activated", p, j)
    named, strength = activation(ffn.activation), short_number(fires.value)
    reach = max(2.0, abs(match.value) * 1.25)
    grid = np.linspace(-reach, reach, 201)
    wrote = trace.contributions(p)[j]
    traces: list[PlotTrace] = [
        bars(
            np.array([*(term.product for term in match.terms), match.bias]),
            "x_i · key_i",
            concept("keys"),
            "%{hovertext}: %{y:.4g}",
            hovertext=[*map(str, range(ffn.d_model)), "b1"],
        ),
        {
            "type": "scatter", "mode": "lines", "x": grid, "y": named(grid), "line": {"color": concept("activated")},
            "hoverinfo": "skip", "xaxis": "x2", "yaxis": "y2",
        },
        {
            "type": "scatter", "mode": "markers", "x": [match.value], "y": [fires.value], "xaxis": "x2", "yaxis": "y2",
            "marker": {"size": 12, "color": concept("hidden")},
            "hovertemplate": "hidden %{x:.4g}<br>activated %{y:.4g}<extra></extra>",
        },
    ]  # fmt: skip
    traces += [
        bars(values, name, concept(colour), f"{name} %{{y:.4g}} at coordinate %{{x}}", xaxis="x3", yaxis="y3")
        for values, name, colour in (
            (wrote, f"neuron {j} adds", "values"),
            (trace.output[p], "whole output", "output"),
        )
    ]
    if ffn.d_model > MOST_BARS:
        traces[-2:] = reversed(traces[-2:])  # outlines lie over each other: the smaller one in front
    every = max(1, math.ceil(ffn.d_model / 8))
    ticks = [*range(0, ffn.d_model + 1 - every, every), ffn.d_model]
    domains = side_by_side(0.42, 0.2, 0.38)
    titles = (f"x meets key {j}", named.label, f"activated[{j}] · value {j} in the output")
    look = layout(
        f"{names.neuron(j)} at position {p}: hidden {short_number(match.value)}, activated {strength}",
        330,
        meta={"neuron": neuron, "position": position},
        margin={"t": 76},
        showlegend=False,
        annotations=[
            {
                "text": title, "x": sum(domain) / 2, "y": 1, "xref": "paper", "yref": "paper", "yanchor": "bottom",
                "showarrow": False, "font": {"size": 16},
            }
            for title, domain in zip(titles, domains, strict=True)
        ],
        xaxis={
            "domain": domains[0], "title": {"text": f"coordinate i of x [{ffn.d_model}]"},
            "tickvals": ticks, "ticktext": [*map(str, ticks[:-1]), "b1"], "automargin": False,
        },
        yaxis={"title": {"text": "x_i · key_i"}, "automargin": False},
        xaxis2={"domain": domains[1], "title": {"text": "hidden"}, "anchor": "y2", "automargin": False},
        yaxis2={"anchor": "x2", "automargin": False},
        xaxis3={"domain": domains[2], "title": {"text": f"coordinate [{ffn.d_model}]"}, "anchor": "y3", "automargin": False},
        yaxis3={"anchor": "x3", "automargin": False},
    )  # fmt: skip
    return Drawing(
        traces=traces,
        layout=look,
        text=f"{match.text}. {fires.text}.",
        rows=lambda: [
            {
                "coordinate": names.feature(i),
                "x": short_number(term.factors[1]),
                "key": short_number(term.factors[0]),
                "x · key": short_number(term.product),
                "value": short_number(float(ffn.w2[i, j])),
                "adds to output": short_number(float(wrote[i])),
            }
            for i, term in enumerate(match.terms)
        ],
    )


def output_sum(trace: AnyTrace, position: int, kept: int, names: Names) -> Drawing:
    """The output at a position as a sum of contributions, largest first, with only `kept` of them.

    Left, how far the partial sum is from the output for every number of neurons; right, for small networks, the parts.
    """
    sums = partial_sums(trace, position)
    # From the whole sum, which is the output to rounding: all neurons together are off by 0, not by 1e-16.
    errors = np.linalg.norm(sums - sums[-1], axis=1)
    off = short_number(float(errors[kept]))
    order = top_neurons(trace, position, trace.ffn.d_ff)
    small = trace.ffn.d_model <= MOST_COORDINATES
    traces: list[PlotTrace] = [
        {
            "type": "scatter", "mode": "lines", "x": np.arange(len(errors)), "y": errors, "name": "error",
            "line": {"color": concept("output"), "shape": "hv"}, "showlegend": False,
            "hovertemplate": "%{x} neurons: off by %{y:.4g}<extra></extra>",
        },
        {
            "type": "scatter", "mode": "markers", "x": [kept], "y": [float(errors[kept])], "name": "kept",
            "marker": {"size": 12, "color": concept("values")}, "hoverinfo": "skip", "showlegend": False,
        },
    ]  # fmt: skip
    if small:
        traces += _stack(trace, position, neurons=order[:kept], total=sums[kept], names=names)
    left, *right = side_by_side(1, 1, spacing=0.09) if small else side_by_side(1)
    look = layout(
        f"The output at position {position} as a sum: {kept} of {len(order)} neurons, off by {off}",
        340,
        barmode="relative",
        xaxis={
            "domain": left,
            "title": {"text": f"neurons kept [d_ff = {len(order)}]"},
        },
        yaxis={"title": {"text": "distance from the output"}, "rangemode": "tozero"},
        **LEGEND_ROW,
    )
    if right:
        coordinates = f"coordinate [{trace.ffn.d_model}]"
        look |= {
            "xaxis2": {"domain": right[0], "anchor": "y2", "title": {"text": coordinates}, "dtick": 1},
            "yaxis2": {"anchor": "x2", "title": {"text": "contribution"}},
        }
    return Drawing(
        traces=traces,
        layout=look,
        text=f"With the {kept} largest of {len(order)} contributions the sum is {off} from the output.",
        rows=lambda: [
            {
                "neurons kept": k,
                "added last": name,
                "distance from the output": short_number(float(errors[k])),
            }
            for k, name in enumerate([_before_any(trace), *map(names.neuron, order)])
        ],
    )


def _stack(
    trace: AnyTrace, position: int, *, neurons: tuple[int, ...], total: np.ndarray, names: Names
) -> list[PlotTrace]:
    """The parts of a partial sum, coordinate by coordinate: b2, the first neurons one by one, the rest together."""
    contributions = trace.contributions(position)
    first, rest = neurons[:MOST_STACKED], neurons[MOST_STACKED:]
    parts: list[tuple[str, np.ndarray, int | None]] = []
    if isinstance(trace, Trace):  # a gated network has no bias here
        parts.append(("b2", trace.ffn.b2, None))
    parts += [(names.neuron(j), contributions[j], j) for j in first]
    if rest:
        parts.append((f"{len(rest)} more", contributions[list(rest)].sum(axis=0), None))
    coordinates = np.arange(trace.ffn.d_model)
    place: PlotTrace = {"x": coordinates, "xaxis": "x2", "yaxis": "y2"}
    drawn: list[PlotTrace] = []
    for k, (name, values, j) in enumerate(parts):
        marker = {
            "color": concept("values"),
            "opacity": 1 - 0.75 * k / max(len(parts), 2),
            "line": {"width": 1, "color": concept("hidden")},
        }
        press = (
            {} if j is None else {"customdata": np.full(len(coordinates), j), "meta": {"press": ["neuron"]}}
        )
        drawn.append(
            {
                "type": "bar", **place, "y": values, "name": name, "showlegend": False, "marker": marker, **press,
                "hovertemplate": f"{name} adds %{{y:.4g}} to coordinate %{{x}}<extra></extra>",
            }
        )  # fmt: skip
    for values, name, symbol in (
        (total, "sum of these", "line-ew-open"),
        (trace.output[position], "output", "circle-open"),
    ):
        drawn.append(
            {
                "type": "scatter", "mode": "markers", **place, "y": values, "name": name,
                "marker": {"symbol": symbol, "size": 16, "color": concept("output"), "line": {"width": 3}},
                "hovertemplate": f"{name} %{{y:.4g}}<extra></extra>",
            }
        )  # fmt: skip
    return drawn


def _before_any(trace: AnyTrace) -> str:
    """What the sum starts from."""
    return "b2 alone" if isinstance(trace, Trace) else "none"


def intervention(before: Trace, after: Trace, position: int) -> Drawing:
    """The output with and without the interventions, coordinate by coordinate."""
    coordinates = np.arange(before.ffn.d_model)
    drawn = [
        bars(trace.output[position], name, concept(colour), f"{name} %{{y:.4g}} at coordinate %{{x}}")
        for trace, name, colour in ((before, "before", "input"), (after, "with the interventions", "output"))
    ]
    change = after.output[position] - before.output[position]
    greatest = int(np.argmax(np.abs(change)))
    return Drawing(
        traces=drawn,
        layout=layout(
            f"What the interventions do to the output at position {position}",
            300,
            barmode="group",
            xaxis={"title": {"text": f"coordinate of the output [{len(coordinates)}]"}},
            yaxis={"title": {"text": "output"}},
        ),
        text=f"The greatest change is {short_number(float(change[greatest]))}, at coordinate {greatest}.",
        rows=lambda: [
            {
                "coordinate": i,
                "before": short_number(float(before.output[position][i])),
                "after": short_number(float(after.output[position][i])),
                "change": short_number(float(change[i])),
            }
            for i in range(len(coordinates))
        ],
    )
