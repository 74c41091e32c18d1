"""The FFN read as memories: who fires where, what one neuron does, what the output is made of."""

import html
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ffn_app.board.names import Names
from ffn_app.figures.drawing import MOST_BARS, Drawing, PlotTrace, bars, layout, side_by_side
from ffn_app.theme import concept, diverging_scale, positive_half
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
"""So many coordinates have room for a word each, and for a stack each."""
MOST_NAMED = 40
"""So many neurons have room for their number each."""

NAMELESS = Names()

_UNDER_THE_TITLE: dict[str, Any] = {"title": {"y": 1, "yanchor": "top", "pad": {"t": 18}}}
"""The title at the very top: on a phone the legend below it needs two rows of the margin."""

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

    Colours reach from -span, orange, to span, blue, of lengths from 0; they are full beyond.
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
            "colorscale": positive_half() if measure == "contribution" else diverging_scale(),
            "zmin": 0 if measure == "contribution" else -span,
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
                "type": "scatter", "mode": "markers", "name": name, "cliponaxis": False, "showlegend": bool(marked.size),
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
    # An outline: a tint would change the cells' colours, which are numbers.
    column = {
        **frame, "name": "neuron", "y0": -0.5, "y1": len(values) - 0.5, "opacity": 0.5,
        "line": {"color": concept("keys"), "width": 1},
    }  # fmt: skip
    per = math.ceil(len(columns) / pooled.values.shape[1])
    said = f"<br>each cell the greatest of up to {per}" if per > 1 else ""
    places_named = [f"{p}: {word}" for p, word in enumerate(words)]
    look = layout(
        f"Which memories fire: {MEASURES[measure]}",
        170 + min(30 * len(values), 420),
        **_UNDER_THE_TITLE,
        legend={"x": 0, "xanchor": "left", "y": 1},
        margin={"t": 74},
        shapes=[frame, column],
        meta={"neuron": neuron, "position": position, "columns": column_of.tolist()},
        xaxis={
            "title": {"text": f"neuron, {_ORDERS[order]} [d_ff = {len(columns)}]{said}"},
            **_neuron_ticks(columns, column_of, order),
            "showgrid": False,
            "zeroline": False,
        },
        yaxis={
            "title": {"text": "position"},
            "tickvals": np.arange(len(values)),
            "ticktext": [html.escape(place, quote=False) for place in places_named],
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


def _neuron_ticks(columns: np.ndarray, column_of: np.ndarray, order: Order) -> dict[str, Any]:
    """Every neuron's number where there is room, round ones in their order, else where the order begins and ends.

    `columns` are the neurons in the order in which they are drawn, and `column_of` is the place of each, both [d_ff].
    """
    if len(columns) <= MOST_NAMED:
        return {"tickvals": np.arange(len(columns)), "ticktext": columns}
    if order == "index":
        steps = (digit * 10**power for power in range(1, 10) for digit in (1, 2, 5))
        numbers = np.arange(0, len(columns), next(step for step in steps if len(columns) <= 7 * step))
        return {"tickvals": column_of[numbers], "ticktext": numbers}
    last = int(column_of[columns[-1]])
    if order == "strength":
        return {"tickvals": [0, last], "ticktext": ["strongest", "weakest"]}
    return {"tickvals": [last / 2], "ticktext": ["by likeness, not by number"]}


def _in_words(names: Names, coordinates: Sequence[int]) -> dict[str, Any]:
    """The ticks of an axis of few coordinates that an example has words for, where it has any.

    Long words are turned by the browser where they would overlap, for which they get room.
    """
    if not names.features or len(coordinates) > MOST_COORDINATES:
        return {}
    words = [html.escape(names.features[i]) if i < len(names.features) else str(i) for i in coordinates]
    # Turned to the left, the last word does not leave the figure.
    turned = [0, -30, 90]
    return {
        "tickvals": np.arange(len(words)),
        "ticktext": words,
        "automargin": True,
        "autotickangles": turned,
    }


def neuron_card(trace: Trace, position: int, neuron: int, names: Names) -> Drawing:
    """One neuron from key to output: how x meets its key term by term, its point on the curve, what it writes."""
    ffn, j, p = trace.ffn, neuron, position
    match = explain(trace, "hidden", p, j)
    fires = explain(trace, "activated", p, j)
    named, strength = activation(ffn.activation), short_number(fires.value)
    reach = max(2.0, abs(match.value) * 1.25)
    grid = np.linspace(-reach, reach, 201)
    wrote, value = trace.contributions(p)[j], ffn.w2[:, j]
    ticks, summed = _term_ticks(names, ffn.d_model)
    traces: list[PlotTrace] = [
        bars(
            np.array([*(term.product for term in match.terms), match.bias]),
            "x_i · key_i",
            concept("keys"),
            "%{hovertext}: %{y:.4g}",
            hovertext=[*map(str, range(ffn.d_model)), "b1"],
            showlegend=False,
        ),
        {
            "type": "bar", "x": [summed], "y": [match.value], "width": [_sum_width(ffn.d_model)], "name": "hidden",
            "marker": {"color": concept("hidden")}, "showlegend": False,
            "hovertemplate": "hidden, the sum of all these: %{y:.4g}<extra></extra>",
        },
        {
            "type": "scatter", "mode": "lines", "x": grid, "y": named(grid), "line": {"color": concept("activated")},
            "hoverinfo": "skip", "showlegend": False, "xaxis": "x2", "yaxis": "y2",
        },
        {
            "type": "scatter", "mode": "markers", "x": [match.value], "y": [fires.value], "xaxis": "x2", "yaxis": "y2",
            "marker": {"size": 12, "color": concept("hidden")}, "showlegend": False,
            "hovertemplate": "hidden %{x:.4g}<br>activated %{y:.4g}<extra></extra>",
        },
    ]  # fmt: skip
    adds = f"{strength} · value {j}"
    beside: list[PlotTrace] = [
        bars(
            numbers, name, concept(colour), f"{hover} %{{y:.4g}} at coordinate %{{x}}", xaxis="x3", yaxis="y3",
            showlegend=True, customdata=value,
        )
        for numbers, name, colour, hover in (
            (wrote, adds, "values", f"{strength} · value %{{customdata:.4g}} ="),
            (trace.output[p], "output", "output", "output"),
        )
    ]  # fmt: skip
    if ffn.d_model > MOST_BARS:
        beside.reverse()  # outlines lie over each other: the smaller one in front
    traces += beside
    if ffn.d_model <= MOST_COORDINATES:
        traces.append(
            {
                "type": "scatter", "mode": "markers", "x": np.arange(ffn.d_model) - 0.2, "y": value, "name": f"value {j}",
                "marker": {"symbol": "diamond-open", "size": 9, "color": concept("values"), "line": {"width": 2}},
                "hovertemplate": "value %{y:.4g}<extra></extra>", "xaxis": "x3", "yaxis": "y3",
            }
        )  # fmt: skip
    domains = side_by_side(0.42, 0.2, 0.38, spacing=0.1)
    titles = (f"x meets key {j}", named.label, "in the output")
    broken, more = (
        (" <br>", 20) if names.neurons else (" ", 0)
    )  # a long name and the numbers have a line each
    height = 346 + more
    look = layout(
        f"{names.neuron(j)}{broken}at position {p}: hidden {short_number(match.value)}, activated {strength}",
        height,
        **_UNDER_THE_TITLE,
        legend={"yref": "container", "y": 1 - (36 + more) / height, "yanchor": "top"},
        meta={"neuron": neuron, "position": position},
        margin={"l": 72, "t": 102 + more, "b": 64},
        annotations=[
            {
                "text": title, "x": sum(domain) / 2, "y": 1, "xref": "paper", "yref": "paper", "xanchor": "center",
                "yanchor": "bottom", "showarrow": False, "font": {"size": 15},
            }
            for title, domain in zip(titles, domains, strict=True)
        ],
        xaxis={
            "domain": domains[0], "title": {"text": f"coordinate i of x [{ffn.d_model}]", "standoff": 4},
            "automargin": False, **ticks,
        },
        yaxis={"title": {"text": "x_i · key_i", "standoff": 4}, "automargin": False},
        xaxis2={
            "domain": domains[1], "title": {"text": "hidden", "standoff": 4}, "anchor": "y2", "automargin": False, "nticks": 4,
        },
        yaxis2={"anchor": "x2", "automargin": False, "nticks": 4},
        xaxis3={
            "domain": domains[2], "title": {"text": f"coordinate [{ffn.d_model}]", "standoff": 4}, "anchor": "y3",
            "automargin": False, "nticks": 6, **_in_words(names, range(ffn.d_model)),
        },
        yaxis3={"anchor": "x3", "automargin": False, "nticks": 5},
    )  # fmt: skip
    return Drawing(
        traces=traces,
        layout=look,
        text=f"{match.text}. {fires.text}.",
        rows=lambda: (
            [
                {
                    "coordinate": names.feature(i),
                    "x": short_number(term.factors[1]),
                    "key": short_number(term.factors[0]),
                    "x · key": short_number(term.product),
                    "value": short_number(float(ffn.w2[i, j])),
                    "adds to output": short_number(float(wrote[i])),
                }
                for i, term in enumerate(match.terms)
            ]
            + [
                {
                    "coordinate": name,
                    "x": "",
                    "key": "",
                    "x · key": short_number(number),
                    "value": "",
                    "adds to output": "",
                }
                for name, number in (("b1", match.bias), ("hidden, their sum", match.value))
            ]
        ),
    )


def _sum_width(d_model: int) -> float:
    """How wide the bar of the sum is among d_model + 1 terms: never a hair."""
    return max(0.8, d_model / 20)


def _term_ticks(names: Names, d_model: int) -> tuple[dict[str, Any], float]:
    """The ticks below the terms of hidden, their sum among them, and where that stands: after b1, which is at d_model."""
    summed = d_model + 0.6 + _sum_width(d_model) / 2
    if worded := _in_words(names, range(d_model)):
        return {
            **worded,
            "tickvals": [*range(d_model), d_model, summed],
            "ticktext": [*worded["ticktext"], "b1", "hidden"],
        }, summed
    every = 2 ** math.ceil(math.log2(max(1, d_model / 4)))
    numbers = range(0, d_model + 1 - every, every)
    # The long word has a line of its own, so that it is level and beside nothing, also on a phone.
    return {
        "tickvals": [*numbers, d_model, summed],
        "ticktext": [*map(str, numbers), "b1", "<br>hidden"],
        "tickangle": 0,
    }, summed


def output_sum(
    trace: AnyTrace, position: int, kept: int, names: Names, *, neuron: int | None = None
) -> Drawing:
    """The output at a position as a sum of contributions, largest first, with only `kept` of them.

    Left, how far the partial sum is from the output for every number of neurons; right, for small networks, the parts.
    The part of `neuron` is outlined.
    """
    sums = partial_sums(trace, position)
    # From the whole sum, which is the output to rounding: all neurons together are off by 0, not by 1e-16.
    errors = np.linalg.norm(sums - sums[-1], axis=1)
    off = short_number(float(errors[kept]))
    order = top_neurons(trace, position, trace.ffn.d_ff)
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
    # Drawn anew, the parts of a wide network take so long that the page would follow a press only after 0.3 s.
    small = trace.ffn.d_model <= MOST_COORDINATES
    if small:
        traces += _stack(trace, position, neurons=order[:kept], total=sums[kept], names=names, neuron=neuron)
    left, *right = side_by_side(1, 1, spacing=0.16) if small else side_by_side(1)
    d_model = trace.ffn.d_model
    # Small and level, three digits each have room on a phone.
    numbered = {
        "tickvals": np.arange(d_model), "tickangle": 0, "tickfont": {"size": 11}, "automargin": False,
    }  # fmt: skip
    look = layout(
        f"The output at position {position} as a sum: <br>{kept} of {len(order)} neurons, off by {off}",
        392,
        barmode="relative",
        **_UNDER_THE_TITLE,
        legend={"x": 0, "xanchor": "left", "y": 1},
        margin={"l": 72, "t": 92, "b": 76},
        xaxis={
            "domain": left,
            "title": {"text": f"neurons kept [d_ff = {len(order)}]", "standoff": 4},
            "automargin": False,
            **({"dtick": 1} if len(order) <= MOST_COORDINATES else {}),  # no half neurons
        },
        yaxis={
            "title": {"text": "distance from the output", "standoff": 4},
            "rangemode": "tozero",
            "automargin": False,
        },
    )
    if right:
        look |= {
            "uniformtext": {"minsize": 11, "mode": "hide"},  # a part too thin for its number has none
            "xaxis2": {
                "domain": right[0], "anchor": "y2", "title": {"text": f"coordinate [{d_model}]", "standoff": 4},
                **(_in_words(names, range(d_model)) or numbered),
            },
            "yaxis2": {"anchor": "x2", "title": {"text": "neurons’ contributions", "standoff": 2}, "automargin": False},
        }  # fmt: skip
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
    trace: AnyTrace,
    position: int,
    *,
    neurons: tuple[int, ...],
    total: np.ndarray,
    names: Names,
    neuron: int | None,
) -> list[PlotTrace]:
    """The parts of a partial sum, coordinate by coordinate: b2, the first neurons one by one, the rest together.

    b2 is hollow and the rest hatched, both named in the legend; a neuron has its number on its longest bar.
    """
    contributions = trace.contributions(position)
    first, rest = neurons[:MOST_STACKED], neurons[MOST_STACKED:]
    d_model = trace.ffn.d_model
    paper = positive_half()[0][1]  # the colour of 0
    hollow = {"color": paper, "line": {"width": 2, "color": concept("values")}}
    solid = {"color": concept("values"), "line": {"width": 1, "color": paper}}
    chosen = {"color": concept("values"), "line": {"width": 4, "color": concept("keys")}}
    hatched = {**hollow, "color": concept("values"), "pattern": {"shape": "/"}}
    place: PlotTrace = {"x": np.arange(d_model), "xaxis": "x2", "yaxis": "y2"}
    coordinates = list(map(names.feature, range(d_model)))

    def part(name: str, values: np.ndarray, marker: dict[str, Any], **more: Any) -> PlotTrace:
        return {
            "type": "bar", **place, "y": values, "name": name, "marker": marker, "hovertext": coordinates,
            "hovertemplate": f"{html.escape(name)} adds %{{y:.4g}} to %{{hovertext}}<extra></extra>", **more,
        }  # fmt: skip

    drawn: list[PlotTrace] = []
    if isinstance(trace, Trace):  # a gated network has no bias here
        drawn.append(part("b2", trace.ffn.b2, hollow))
    for j in first:
        press = {"customdata": np.full(d_model, j), "meta": {"press": ["neuron"]}}
        label = _label(str(j), contributions[j])
        marker = chosen if j == neuron else solid
        drawn.append(part(names.neuron(j), contributions[j], marker, showlegend=False, **press, **label))
    if rest:
        drawn.append(part(f"{len(rest)} more", contributions[list(rest)].sum(axis=0), hatched))
    for values, name, symbol in (
        (total, "sum of these", "line-ew-open"),
        (trace.output[position], "output", "circle-open"),
    ):
        drawn.append(
            {
                "type": "scatter", "mode": "markers", **place, "y": values, "name": name, "hovertext": coordinates,
                "marker": {"symbol": symbol, "size": 16, "color": concept("output"), "line": {"width": 3}},
                "hovertemplate": f"{name} %{{y:.4g}} at %{{hovertext}}<extra></extra>",
            }
        )  # fmt: skip
    return drawn


def _label(text: str, values: np.ndarray) -> dict[str, Any]:
    """A text in the longest of the bars of `values`."""
    longest = int(np.argmax(np.abs(values)))
    texts = [text if k == longest else "" for k in range(len(values))]
    return {"text": texts, "textposition": "inside", "textangle": 0, "insidetextanchor": "middle"}


def _before_any(trace: AnyTrace) -> str:
    """What the sum starts from."""
    return "b2 alone" if isinstance(trace, Trace) else "none"


def intervention(before: Trace, after: Trace, position: int, names: Names = NAMELESS) -> Drawing:
    """The output with and without the interventions, coordinate by coordinate, and below it the change on its own scale."""
    d_model = before.ffn.d_model
    then, now = before.output[position], after.output[position]
    change = now - then
    told = _change_in_words(before, after, position)
    pale: dict[str, Any] = {"opacity": 0.4}
    full: dict[str, Any] = {}
    if d_model > MOST_BARS:  # outlines lie over each other: what was is hatched, what is now is its edge
        pale = {"fillpattern": {"shape": "/", "size": 5}, "line": {"width": 0, "shape": "hvh"}}
        full = {"fill": "none"}
    drawn = [
        bars(numbers, name, concept(colour), f"{name} %{{y:.4g}} at coordinate %{{x}}", **more)
        for numbers, name, colour, more in (
            (then, "before", "output", pale),
            (now, "with the interventions", "output", full),
            (change, "change", "values", {"xaxis": "x", "yaxis": "y2", "showlegend": False}),
        )
    ]
    return Drawing(
        traces=drawn,
        layout=layout(
            f"What the interventions do to the output at position {position}: <br>{told}",
            420,
            barmode="group",
            **_UNDER_THE_TITLE,
            legend={"x": 0, "xanchor": "left", "y": 1},
            margin={"t": 84},
            xaxis={
                "title": {"text": f"coordinate of the output [{d_model}]"}, "anchor": "y2",
                **_in_words(names, range(d_model)),
            },
            yaxis={"title": {"text": "output"}, "domain": [0.48, 1]},
            yaxis2={"title": {"text": "change"}, "domain": [0, 0.4], "nticks": 5},
        ),
        text=f"{told[0].upper()}{told[1:]}.",
        rows=lambda: [
            {
                "coordinate": i,
                "before": short_number(float(then[i])),
                "after": short_number(float(now[i])),
                "change": short_number(float(change[i])),
            }
            for i in range(d_model)
        ],
    )  # fmt: skip


def _change_in_words(before: Trace, after: Trace, position: int) -> str:
    """The greatest change of the output, or why there is none."""
    change = after.output[position] - before.output[position]
    greatest = int(np.argmax(np.abs(change)))
    if change[greatest] != 0:  # NaN is a change, too
        return f"the greatest change is {short_number(float(change[greatest]))}, at coordinate {greatest}"
    differ = np.flatnonzero((before.ffn.w2 != after.ffn.w2).any(axis=0))
    silent = differ.size and not before.activated[position][differ].any()
    they = "the neuron is" if differ.size == 1 else "the neurons are"
    return "no change at this position" + (f", where {they} silent" if silent else "")
