"""A gated FFN's two branches and their product, one neuron's two keys, and what such a network costs and is worth."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ffn_app.board.names import Names
from ffn_app.figures.curves import LEGEND_ROW
from ffn_app.figures.drawing import MOST_BARS, Drawing, PlotTrace, bars, layout
from ffn_app.figures.neurons import ring
from ffn_app.theme import concept
from ffn_core.activations import Array, activation
from ffn_core.counting import ModelShape
from ffn_core.explain import explain
from ffn_core.gated import GLU_KINDS, SHAZEER_2020, SHAZEER_2020_SOURCE, GatedTrace, llama_d_ff
from ffn_core.matrix_text import short_number

FEW = 8
"""So many bars have room for their numbers."""
_POINTS = 401
_PANELS = ([0.72, 1.0], [0.38, 0.66], [0.0, 0.32])
_UPWARD, _DOWNWARD = ("circle", "activated"), ("triangle-down", "values")
"""How what is 0 or more, and what is below 0, is marked: the symbol and the colour."""


def gate_curve(trace: GatedTrace, position: int, *, neuron: int | None, names: Names) -> Drawing:
    """Each neuron as a point on the gate's curve: hidden_j along x, gate_j up; its mark says the sign of up_j.

    `neuron` is ringed; a press on a point follows its neuron.
    """
    hidden, gate, up = (array[position] for array in (trace.hidden, trace.gate, trace.up))
    curve = activation(trace.ffn.activation)
    # The bend at 0 is always in sight; the range depends on hidden alone, so that another curve moves points only up.
    low, high = min(float(hidden.min()), -2.0), max(float(hidden.max()), 2.0)
    margin = (high - low) / 8  # room for a label at a point at the end
    x = np.linspace(low - margin, high + margin, _POINTS)
    few = hidden.size <= MOST_BARS
    traces: list[PlotTrace] = [
        {
            "type": "scatter", "mode": "lines", "x": x, "y": curve(x), "hoverinfo": "skip", "showlegend": False,
            "line": {"color": concept("hidden"), "width": 3, "simplify": False},
        }
    ]  # fmt: skip
    for (symbol, colour), those, name in (
        (_UPWARD, np.flatnonzero(~(up < 0)), "up is 0 or more"),
        (_DOWNWARD, np.flatnonzero(up < 0), "up is below 0"),
    ):
        traces.append(
            {
                "type": "scatter", "mode": "markers", "x": hidden[those], "y": gate[those], "name": name, "customdata": those,
                "marker": {"symbol": symbol, "size": 13 if few else 8, "color": concept(colour), "opacity": 1 if few else 0.6},
                "hovertext": [f"{names.neuron(j)}<br>up {up[j]:.4g}" for j in those.tolist()], "meta": {"press": ["neuron"]},
                "hovertemplate": "%{hovertext}<br>hidden %{x:.4g}<br>gate %{y:.4g}<extra></extra>",
            }
        )  # fmt: skip
    look = layout(
        f"How far each gate opens: {curve.label}, position {position}",
        430,
        dragmode=False,
        **LEGEND_ROW,
        xaxis={"title": {"text": f"hidden = gate key · x [d_ff = {hidden.size}]"}, "range": [x[0], x[-1]]},
        yaxis={"title": {"text": f"gate = {curve.label}(hidden)"}},
    )
    followed = ""
    if neuron is not None:
        at = (float(hidden[neuron]), float(gate[neuron]))
        followed = f" {names.neuron(neuron)}: hidden {short_number(at[0])}, gate {short_number(at[1])}."
        look["shapes"] = [ring(at, neuron)]
    return Drawing(
        traces=traces,
        layout=look,
        text=f"{hidden.size} neurons at position {position} as points on {curve.label}: {int(np.sum(hidden > 0))} gates are "
        f"open, which is where hidden is above 0.{followed}",
    )


def branches(trace: GatedTrace, position: int, *, ordered: bool, neuron: int | None, names: Names) -> Drawing:
    """Gate, up and their product as bars over the same neurons, one below the other; what fires negatively is marked.

    `ordered` puts the greatest product first. `neuron` is marked through all three; a press on a bar follows its neuron.
    """
    activated = trace.activated[position]
    n = activated.size
    order = np.argsort(-activated, kind="stable") if ordered else np.arange(n)
    label = activation(trace.ffn.activation).label
    traces: list[PlotTrace] = []
    panels: dict[str, tuple[str, Array, str]] = {
        "y": ("gate", trace.gate[position], "hidden"),
        "y2": ("up", trace.up[position], "keys"),
        "y3": ("activated", activated, "activated"),
    }
    for axis, (name, values, colour) in panels.items():
        hover = f"%{{hovertext}}<br>{name} %{{y:.4g}}"
        more: dict[str, Any] = {
            "hovertext": [names.neuron(j) for j in order.tolist()],
            "customdata": order,
            "yaxis": axis,
            "meta": {"press": ["neuron"]},
            "showlegend": False,
        }
        if n <= FEW:
            numbers = [short_number(number) for number in values[order].tolist()]
            more |= {"text": numbers, "textposition": "outside", "cliponaxis": False}
        traces.append(bars(values[order], name, concept(colour), hover, **more))
    below = np.flatnonzero(activated[order] < 0)
    symbol, colour = _DOWNWARD
    # Few bars have their numbers at their ends: the marks go where these bars are not, on the other side of 0.
    ends = activated[order][below] if n > FEW else np.full(below.size, 0.12 * np.abs(activated).max())
    traces.append(
        {
            "type": "scatter", "mode": "markers", "x": below, "y": ends,
            "yaxis": "y3", "name": "fires negatively",
            "marker": {"symbol": symbol, "size": 12 if n <= MOST_BARS else 6, "color": concept(colour)},
            "hoverinfo": "skip", "cliponaxis": False,
        }
    )  # fmt: skip
    said = "largest product first" if ordered else "in order"
    ticks = (
        {"tickvals": np.arange(n), "ticktext": order} if n <= MOST_BARS else {"showticklabels": not ordered}
    )
    look = layout(
        f"Position {position}: {below.size} of {n} products are below 0",
        430,
        meta={"neuron": neuron, "position": position},
        dragmode=False,
        # Wherever one points in a panel, the neuron above or below is meant: 352 bars are 2 pixels wide.
        hovermode="x",
        **LEGEND_ROW,
        xaxis={
            "title": {"text": f"neuron, {said} [d_ff = {n}]"}, "range": [-0.6, n - 0.4], "anchor": "y3", **ticks,
        },
        yaxis={"title": {"text": "gate"}, "domain": _PANELS[0], "nticks": 4, "fixedrange": True},
        yaxis2={"title": {"text": "up"}, "domain": _PANELS[1], "nticks": 4, "fixedrange": True},
        yaxis3={"title": {"text": "gate · up"}, "domain": _PANELS[2], "nticks": 4, "fixedrange": True},
    )  # fmt: skip
    if neuron is not None:
        at = int(np.flatnonzero(order == neuron)[0])
        look["shapes"] = [
            {
                "type": "rect", "xref": "x", "yref": "paper", "x0": at - 0.5, "x1": at + 0.5, "y0": 0, "y1": 1,
                "layer": "below", "fillcolor": concept("values"), "opacity": 0.25,
                "line": {"color": concept("values"), "width": 2},
            }
        ]  # fmt: skip
    return Drawing(
        traces=traces,
        layout=look,
        text=f"Bars of gate = {label}(hidden), up, and activated = gate · up for {n} neurons at position {position}. "
        f"{below.size} of them fire negatively.",
        rows=lambda: [
            {
                "neuron": j,
                "hidden": short_number(float(trace.hidden[position][j])),
                "gate": short_number(float(trace.gate[position][j])),
                "up": short_number(float(trace.up[position][j])),
                "activated": short_number(float(activated[j])),
                "fires": firing(float(activated[j])),
            }
            for j in order.tolist()
        ],
    )


def firing(activated: float) -> str:
    """How a neuron fires, by the sign of its activated."""
    return "negatively" if activated < 0 else "positively" if activated > 0 else "not"


class Case(NamedTuple):
    """A case of gate and up, in words, what comes of it, and which neurons are in it."""

    gate: str
    up: str
    comes: str
    those: Array


SILENT = "is silent: gate or up is 0, and anything times 0 is 0"


def cases(trace: GatedTrace, position: int) -> list[Case]:
    """The four cases of an open or closed gate and of up's sign; every neuron is in one.

    A gate is open where hidden is above 0. A fifth case is of neurons whose gate or up is exactly 0, if there are any:
    not of those that a closed gate of ReLU keeps silent, which is a case of the four.
    """
    name, up, opened = trace.ffn.activation, trace.up[position], trace.hidden[position] > 0
    shuts = outcome(name, opened=False, upward=True) == outcome(name, opened=False, upward=False)
    silent = (trace.activated[position] == 0) & ~(shuts & ~opened & (up != 0))
    # Without a nonlinearity nothing opens or closes: the gate is hidden itself.
    gates = (
        (("above 0", True), ("not above 0", False))
        if name == "identity"
        else (("open: hidden is above 0", True), ("closed: hidden is not above 0", False))
    )
    found = [
        Case(
            gate, sign, outcome(name, opened=is_open, upward=is_above), (opened == is_open) & there & ~silent
        )
        for gate, is_open in gates
        for sign, is_above, there in (("above 0", True, ~(up < 0)), ("below 0", False, up < 0))
    ]
    return [*found, Case("any", "any", SILENT, silent)] if silent.any() else found


def sign_cases(trace: GatedTrace, position: int, neuron: int | None) -> list[dict[str, str]]:
    """The `cases` as rows: what comes of each, how many neurons are in it, and whether `neuron` is."""
    return [
        {
            "gate": case.gate,
            "up": case.up,
            "then the neuron": case.comes,
            "neurons here": str(int(case.those.sum())),
            **({} if neuron is None else {f"neuron {neuron}": "● here" if case.those[neuron] else ""}),
        }
        for case in cases(trace, position)
    ]


def in_words(trace: GatedTrace, position: int, neuron: int) -> str:
    """The case that a neuron is in, as sentences."""
    case = next(case for case in cases(trace, position) if case.those[neuron])
    if case.comes == SILENT:
        return f"Neuron {neuron} {case.comes}."
    return f"The gate is {case.gate}. Up is {case.up}. So neuron {neuron} {case.comes}."


def outcome(name: str, *, opened: bool, upward: bool) -> str:
    """What comes of a gate, open or closed, of the nonlinearity `name`, and an up above or below 0."""
    shut, wide = activation(name)(np.array([-1.0, 1.0])).tolist()
    if opened:
        return "fires positively: adds its value" if upward else "fires negatively: takes its value away"
    if shut == 0:
        return "is silent: the gate is exactly 0"
    weakly = "weakly, " if abs(shut) < wide else ""
    if shut > 0:
        return f"fires {weakly}{'positively' if upward else 'negatively'}: the gate leaks"
    return f"fires {weakly}" + (
        "negatively: the gate is below 0" if upward else "positively: minus times minus"
    )


def two_keys(trace: GatedTrace, position: int, neuron: int) -> Drawing:
    """How x meets a neuron's gate key, above, and its up key, below, term by term over the same coordinates."""
    gate, up = (explain(trace, stage, position, neuron) for stage in ("hidden", "up"))
    opens = short_number(float(trace.gate[position][neuron]))
    traces = [
        bars(
            np.array([term.product for term in match.terms]),
            name,
            concept(colour),
            f"coordinate %{{x}}<br>{name} %{{y:.4g}}",
            yaxis=axis,
        )
        for axis, name, match, colour in (
            ("y", "x_i · gate key_i", gate, "hidden"),
            ("y2", "x_i · up key_i", up, "keys"),
        )
    ]
    d_model = trace.ffn.d_model
    says = (
        f"gate key · x = {short_number(gate.value)}, so the gate is {opens}",
        f"up key · x = {short_number(up.value)}",
    )
    return Drawing(
        traces=traces,
        layout=layout(
            f"Neuron {neuron} asks x two questions, position {position}",
            400,
            dragmode=False,
            showlegend=False,
            margin={"t": 76},
            hovermode="x",
            annotations=[
                {
                    "text": text, "xref": "paper", "yref": f"{axis} domain", "x": 0, "y": 1, "xanchor": "left",
                    "yanchor": "bottom", "showarrow": False, "font": {"size": 14},
                }
                for text, axis in zip(says, ("y", "y2"), strict=True)
            ],
            xaxis={
                "title": {"text": f"coordinate i of x [d_model = {d_model}]"}, "anchor": "y2",
                **({"dtick": 1} if d_model <= MOST_BARS else {}),
            },
            yaxis={"title": {"text": "x_i · gate key_i"}, "domain": [0.58, 1], "nticks": 5},
            # One scale, so that the two matches can be compared.
            yaxis2={"title": {"text": "x_i · up key_i"}, "domain": [0, 0.42], "nticks": 5, "matches": "y"},
        ),
        text=f"{gate.text}. {up.text}.",
    )  # fmt: skip


def written(trace: GatedTrace, position: int, neuron: int, names: Names) -> Drawing:
    """What a neuron adds to the output, activated_j · value_j, beside the whole output."""
    ffn, activated = trace.ffn, explain(trace, "activated", position, neuron)
    adds = trace.contributions(position)[neuron]
    traces = [
        bars(values, name, concept(colour), f"coordinate %{{x}}<br>{name} %{{y:.4g}}")
        for values, name, colour in (
            (adds, f"neuron {neuron} adds", "values"),
            (trace.output[position], "whole output", "output"),
        )
    ]
    if ffn.d_model > MOST_BARS:
        traces.reverse()  # outlines lie over each other: the smaller one in front
    return Drawing(
        traces=traces,
        layout=layout(
            f"activated {short_number(activated.value)} times value {neuron}",
            400,
            dragmode=False,
            **LEGEND_ROW,
            xaxis={
                "title": {"text": f"coordinate of the output [d_model = {ffn.d_model}]"},
                **({"dtick": 1} if ffn.d_model <= MOST_BARS else {}),
            },
            yaxis={"title": {"text": "added to the output"}},
        ),
        text=f"{activated.text}: neuron {neuron} fires {firing(activated.value)}.",
        rows=lambda: _of_one_neuron(trace, position, neuron, names),
    )


def _of_one_neuron(trace: GatedTrace, position: int, neuron: int, names: Names) -> list[dict[str, str]]:
    """A row for each coordinate: how x meets both keys there, and what the neuron adds."""
    gate, up = (explain(trace, stage, position, neuron).terms for stage in ("hidden", "up"))
    value, adds = trace.ffn.w2[:, neuron].tolist(), trace.contributions(position)[neuron].tolist()
    return [
        {
            "coordinate": names.feature(i),
            "x": short_number(opens.factors[1]),
            "gate key": short_number(opens.factors[0]),
            "x · gate key": short_number(opens.product),
            "up key": short_number(passes.factors[0]),
            "x · up key": short_number(passes.product),
            "value": short_number(writes),
            "adds to output": short_number(added),
        }
        for i, (opens, passes, writes, added) in enumerate(zip(gate, up, value, adds, strict=True))
    ]


def matched_shapes(d_model: int, multiplier: float, multiple_of: int) -> dict[str, ModelShape]:
    """The dense FFN of 4·d_model, the gated one of Llama's rule, and a gated one of 4·d_model; all without biases.

    Each as a model of that one layer, so that `ffn_core.counting` counts it.
    """

    def layer(d_ff: int, *, gated: bool) -> ModelShape:
        return ModelShape(n_layers=1, n_heads=1, d_model=d_model, d_ff=d_ff, gated=gated, ffn_bias=False)

    return {
        "dense": layer(4 * d_model, gated=False),
        "gated, matched": layer(llama_d_ff(d_model, multiplier, multiple_of), gated=True),
        "gated, as wide as dense": layer(4 * d_model, gated=True),
    }


def matched(shapes: dict[str, ModelShape]) -> Drawing:
    """The parameters of each network as a bar, a part for each matrix."""
    counts = {name: shape.parameters().ffn for name, shape in shapes.items()}
    wide = list(shapes)
    traces: list[PlotTrace] = []
    for matrix, of_dense, colour in (
        ("w_gate", "", "hidden"),
        ("w_up", "w1", "keys"),
        ("w_down", "w2", "values"),
    ):
        sizes = {
            name: {part.name: part.weights for part in shape.ffn_matrices()} for name, shape in shapes.items()
        }
        called = {name: matrix if matrix in parts else of_dense for name, parts in sizes.items()}
        traces.append(
            {
                "type": "bar", "orientation": "h", "y": wide, "x": [sizes[name].get(called[name], 0) for name in wide],
                "name": matrix, "text": [called[name] for name in wide], "textposition": "inside", "insidetextanchor": "middle",
                "marker": {"color": concept(colour)}, "showlegend": False,
                "hovertemplate": "%{y}<br>%{text}: %{x:,} parameters<extra></extra>",
            }
        )  # fmt: skip
    return Drawing(
        traces=traces,
        layout=layout(
            "Parameters of one FFN, matrix by matrix",
            260,
            dragmode=False,
            barmode="stack",
            xaxis={"title": {"text": "parameters"}, "rangemode": "tozero", "nticks": 6},
            yaxis={
                "autorange": "reversed",
                "tickvals": wide,
                "ticktext": [f"{name}<br>d_ff = {shape.d_ff:,}" for name, shape in shapes.items()],
            },
        ),
        text="; ".join(f"{name}, d_ff {shapes[name].d_ff:,}: {count:,} parameters" for name, count in counts.items()) + ".",
        rows=lambda: [
            {
                "network": name,
                "d_model": shape.d_model,
                "d_ff": shape.d_ff,
                **{f"matrix {k}": part.weights for k, part in enumerate(shape.ffn_matrices(), 1)},
                "parameters": counts[name],
            }
            for name, shape in shapes.items()
        ],
    )  # fmt: skip


@cache
def published() -> Drawing:
    """The log-perplexity of each network of Shazeer 2020, the best at the top; gated and plain told apart."""
    best_first = sorted(SHAZEER_2020, key=lambda row: row[1])
    gated = [name.lower() in GLU_KINDS for name, _ in best_first]
    traces: list[PlotTrace] = [
        {
            "type": "scatter", "mode": "markers+text", "name": name, "cliponaxis": False,
            "y": [row[0] for row, is_gated in zip(best_first, gated, strict=True) if is_gated == wanted],
            "x": [row[1] for row, is_gated in zip(best_first, gated, strict=True) if is_gated == wanted],
            "marker": {"symbol": symbol, "size": 13, "color": concept(colour), "line": {"width": line}},
            "texttemplate": " %{x:.3f}", "textposition": "middle right",
            "hovertemplate": "%{y}: log-perplexity %{x:.3f}<extra></extra>",
        }
        for name, wanted, symbol, line, colour in (
            ("gated", True, "diamond", 0, "activated"),
            ("plain: two matrices", False, "circle-open", 3, "hidden"),
        )
    ]  # fmt: skip
    return Drawing(
        traces=traces,
        layout=layout(
            "Published quality: lower is better",
            380,
            dragmode=False,
            **LEGEND_ROW,
            xaxis={"title": {"text": "log-perplexity on held-out text"}, "range": [1.625, 1.695]},
            yaxis={
                "categoryorder": "array",
                "categoryarray": [name for name, _ in best_first],
                "autorange": "reversed",
            },
        ),
        text=f"{SHAZEER_2020_SOURCE}. The best is {best_first[0][0]} with {best_first[0][1]}, the last "
        f"{best_first[-1][0]} with {best_first[-1][1]}. Every gated network is better than every plain one.",
        rows=lambda: [
            {"network": name, "kind": "gated" if is_gated else "plain", "log-perplexity": value}
            for (name, value), is_gated in zip(best_first, gated, strict=True)
        ],
    )
