"""The hidden layer neuron by neuron."""

import numpy as np
import plotly.graph_objects as go

from ffn_app.figures.drawing import Drawing, layout
from ffn_app.theme import concept
from ffn_core.activations import activation
from ffn_core.dense import Trace
from ffn_core.matrix_text import short_number


def before_and_after(
    trace: Trace, position: int, *, ordered: bool = False, neuron: int | None = None
) -> Drawing:
    """The hidden vector across d_ff as bars, before and after the nonlinearity, sharing one axis.

    `ordered` sorts the neurons by hidden, largest first; `neuron` is marked. A press on a bar follows its neuron.
    """
    hidden, activated = trace.hidden[position], trace.activated[position]
    order = np.argsort(-hidden, kind="stable") if ordered else np.arange(hidden.size)
    label = activation(trace.ffn.activation).label
    place = np.arange(hidden.size)
    bars = [
        go.Bar(
            x=place, y=values[order], name=name, customdata=order, marker_color=concept(colour), marker_line_width=0,
            hovertemplate=f"neuron %{{customdata}}<br>{name} %{{y:.4g}}<extra></extra>", meta={"press": ["neuron"]},
        )
        for name, values, colour in (("hidden", hidden, "hidden"), (f"activated, {label}", activated, "activated"))
    ]  # fmt: skip
    figure = go.Figure(bars)
    axis = f"neuron, {'largest hidden first' if ordered else 'in order'} [d_ff = {hidden.size}]"
    ticks = {"tickvals": place, "ticktext": order} if hidden.size <= 40 else {"showticklabels": not ordered}
    figure.update_layout(
        layout(
            f"Before and after {label}, position {position}", 320, barmode="group", bargap=0.15, bargroupgap=0
        ),
        xaxis={"title": {"text": axis}, **ticks},
        yaxis={"title": {"text": "hidden, activated"}},
    )
    if neuron is not None:
        at = int(np.flatnonzero(order == neuron)[0])
        figure.add_vrect(
            x0=at - 0.5, x1=at + 0.5, fillcolor=concept("values"), opacity=0.25, line_width=0, layer="below"
        )
    n_negative = int(np.sum(hidden < 0))
    return Drawing(
        figure=figure,
        text=f"Bars of hidden and activated for {hidden.size} neurons at position {position}; "
        f"{n_negative} of hidden are negative.",
        table=[
            {
                "neuron": int(j),
                "hidden": short_number(float(hidden[j])),
                "activated": short_number(float(activated[j])),
            }
            for j in order
        ],
    )
