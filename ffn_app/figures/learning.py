"""An FFN that learns: what it has learned so far, what each neuron adds to that, the loss and the weights over time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ffn_app.board.arrays import round_span
from ffn_app.figures.curves import LEGEND_ROW
from ffn_app.figures.drawing import Drawing, PlotTrace, layout, side_by_side
from ffn_app.learning_run import evenly
from ffn_app.theme import concept, diverging_scale, positive_half
from ffn_core.activations import Array, activation
from ffn_core.dense import FFN
from ffn_core.matrix_text import short_number
from ffn_core.memories import dead
from ffn_core.training import FitState, Task, kink_lines, kinks, neuron_curves

MOST_NEURONS = 24
"""Neurons whose weights are drawn over time; of more, so many evenly from the first to the last."""
MOST_MOMENTS = 100
FIT_HEIGHT = 390
_LINE_POINTS = 241
_NEURON_POINTS = 121
_PLANE = 61
_TILE, _ACROSS, _ABOVE = 15, 1, 4  # cells of a neuron's tile, and between tiles, the label's room above
_FAR = 1e6  # numbers are cut off here, where colours and curves have long left the picture, to fit 32 bits
_SHARES = (0.01, 0.1, 0.5, 0.9, 0.99)  # probabilities that the colour bar is marked with
_LOGIT_SPAN = float(special.logit(_SHARES[-1]))
_PAPER = positive_half()[0][1]
_SIDE: dict[str, Any] = {
    "showarrow": False, "xanchor": "center", "xref": "paper", "yref": "paper", "y": 1, "yanchor": "bottom", "font": {"size": 14},
}  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class Curve:
    """A loss over the steps of a run, with what to call it."""

    name: str
    steps: Sequence[int]
    losses: Sequence[float]

    @classmethod
    def of(cls, name: str, history: Sequence[FitState]) -> "Curve":
        """The losses of the states of a run."""
        return cls(name=name, steps=[s.step for s in history], losses=[s.loss for s in history])


def _label(ffn: FFN) -> str:
    return activation(ffn.activation).label


def _bends(ffn: FFN) -> str:
    """What is marked where hidden is 0, in words; none of the identity, which never bends."""
    if ffn.activation == "identity":
        return ""
    sharp = bool(activation(ffn.activation).corners)
    return "kink, hidden = 0" if sharp else "soft bend, hidden = 0"


# ---------------------------------------------------------------- the fit


def fit(task: Task, main: FitState, beside: FitState | None = None) -> Drawing:
    """What the network makes of every x: the curve with its points, or the surface on which classes are decided.

    `beside` is another network on the same task, drawn in a panel of its own on the same scale.
    """
    states = [main, *([beside] if beside else [])]
    panel = _curve_panel if task.kind == "curve" else _plane_panel
    domains = side_by_side(*[1.0] * len(states), spacing=0.1)
    traces: list[PlotTrace] = []
    axes: dict[str, Any] = {}
    for k, (state, domain) in enumerate(zip(states, domains, strict=True)):
        n = "" if k == 0 else str(k + 1)
        drawn, look = panel(task, state.ffn, legend=k == 0)
        traces += [{**trace, "xaxis": f"x{n}", "yaxis": f"y{n}"} for trace in drawn]
        axes[f"xaxis{n}"] = {**look["xaxis"], "domain": domain}
        axes[f"yaxis{n}"] = {"anchor": f"x{n}", **look["yaxis"]}
        if k:  # the first panel has the name of both
            axes[f"yaxis{n}"].pop("title")
        if "scaleanchor" in look["yaxis"]:
            axes[f"yaxis{n}"]["scaleanchor"] = f"x{n}"
    titles = ["<br>".join(_lines(state)) for state in states]
    panels = [{**_SIDE, "text": text, "x": sum(d) / 2} for text, d in zip(titles, domains, strict=True)]
    return Drawing(
        traces=traces,
        layout=layout(
            f"{'The fit' if task.kind == 'curve' else 'Where it decides'} at step {main.step}",
            FIT_HEIGHT,
            title={"y": 0.98, "yanchor": "top"},  # above what stands over the panels
            legend={"orientation": "h", "x": 0, "xanchor": "left", "y": -0.24, "yanchor": "top"},
            margin={"l": 60, "r": 16, "t": 66 if task.kind == "curve" else 88, "b": 84},
            annotations=panels,
            **axes,
        ),
        text=" ".join(_told(task, state) for state in states),
        rows=lambda: _fit_rows(task, states),
    )


def _lines(state: FitState) -> list[str]:
    """What stands above a panel, narrow enough for a phone."""
    right = [] if state.accuracy is None else [f"{state.accuracy:.1%} right"]
    return [_label(state.ffn), *right, f"loss {short_number(state.loss)}"]


def _told(task: Task, state: FitState) -> str:
    label, *rest = _lines(state)
    return f"{task.title}, learned by {state.ffn.d_ff} neurons with {label}: step {state.step}, {', '.join(rest)}."


def _curve_panel(task: Task, ffn: FFN, legend: bool) -> tuple[list[PlotTrace], dict[str, Any]]:
    low, high = _reach(task.x[:, 0], 0.05)
    bends = _bends(ffn)
    corners = kinks(ffn) if bends else np.array([])
    corners = corners[(corners > low) & (corners < high)]
    x = np.union1d(np.linspace(low, high, _LINE_POINTS), corners)  # a corner is drawn where it is
    traces: list[PlotTrace] = [
        {
            "type": "scatter", "mode": "markers", "x": task.x[:, 0], "y": task.target, "name": "target",
            "marker": {"color": concept("input"), "size": 5 if len(task.x) > 40 else 9}, "showlegend": legend,
            "hovertemplate": "target %{y:.3~g} at x = %{x:.3~g}<extra></extra>",
        },
        {
            "type": "scatter", "mode": "lines", "x": x, "y": _output(ffn, x[:, np.newaxis]), "name": "output",
            "line": {"color": concept("output"), "width": 3, "simplify": False}, "showlegend": legend,
            "hovertemplate": "output %{y:.3~g} at x = %{x:.3~g}<extra></extra>",
        },
    ]  # fmt: skip
    if bends:
        traces.append(_kink_marks(corners, _output(ffn, corners[:, np.newaxis]), ffn, legend))
    look = {
        "xaxis": {"title": {"text": "x [1]", "standoff": 4}, "range": [low, high], "zeroline": False},
        "yaxis": {"title": {"text": "output [1]"}, "range": _reach(task.target, 0.35)},
    }
    return traces, look


def _kink_marks(x: Array, y: Array, ffn: FFN, legend: bool) -> PlotTrace:
    sharp = bool(activation(ffn.activation).corners)
    return {
        "type": "scatter", "mode": "markers", "x": x, "y": y, "name": _bends(ffn), "showlegend": legend,
        "marker": {"symbol": "triangle-up" if sharp else "circle-open", "size": 9, "color": concept("hidden")},
        "hovertemplate": "a neuron's hidden is 0 at x = −b1/w1 = %{x:.3~g}<extra></extra>",
    }  # fmt: skip


def _plane_panel(task: Task, ffn: FFN, legend: bool) -> tuple[list[PlotTrace], dict[str, Any]]:
    reach = _plane_reach(task)
    side = np.linspace(-reach, reach, _PLANE)
    logits = _output(ffn, _grid(side)).reshape(_PLANE, _PLANE)
    traces: list[PlotTrace] = [
        {
            "type": "heatmap", "x": side, "y": side, "z": logits, "zsmooth": "best",
            "colorscale": diverging_scale(), "zmin": -_LOGIT_SPAN, "zmax": _LOGIT_SPAN, "showscale": legend,
            "colorbar": {
                "thickness": 12, "title": {"text": "probability of class 1", "side": "right"},
                "tickvals": special.logit(_SHARES), "ticktext": [f"{share:.0%}" for share in _SHARES],
            },
            "hovertemplate": "x (%{x:.3~g}, %{y:.3~g})<br>logit %{z:.3~g}<extra></extra>",
        },
        {
            "type": "contour", "x": side, "y": side, "z": logits, "name": "50%: the cut", "showlegend": legend,
            "contours": {"coloring": "none", "start": 0, "end": 0, "size": 1},
            "line": {"color": concept("output"), "width": 4}, "showscale": False, "hoverinfo": "skip",
        },
    ]  # fmt: skip
    if bends := _bends(ffn):
        silent = dead(ffn.forward(task.x).activated)
        ends = kink_lines(ffn, reach)
        for mask, name, dash in ((~silent, bends, "solid"), (silent, "the same of a dead neuron", "dot")):
            drawn = ends[mask & np.isfinite(ends).all(axis=(1, 2))]
            x, y = (_with_gaps(drawn[:, :, axis]) for axis in (0, 1))
            traces.append(
                {
                    "type": "scatter", "mode": "lines", "x": x, "y": y, "name": name, "hoverinfo": "skip",
                    "line": {"color": concept("hidden"), "width": 1.5, "dash": dash}, "opacity": 1 if ffn.d_ff <= 16 else 0.5,
                    "showlegend": legend and bool(len(drawn)),
                }
            )  # fmt: skip
    for c, symbol, colour in ((0, "circle", "values"), (1, "diamond", "input")):
        points = task.x[task.target == c]
        traces.append(
            {
                "type": "scatter", "mode": "markers", "x": points[:, 0], "y": points[:, 1], "name": f"class {c}",
                "marker": {"symbol": symbol, "size": 7, "color": concept(colour), "line": {"width": 1, "color": _PAPER}},
                "hovertemplate": f"class {c} at (%{{x:.3~g}}, %{{y:.3~g}})<extra></extra>", "showlegend": legend,
            }
        )  # fmt: skip
    square = {"range": [-reach, reach], "zeroline": False, "showgrid": False, "constrain": "domain"}
    return traces, {
        "xaxis": {"title": {"text": "x[0]", "standoff": 4}, **square},
        "yaxis": {"title": {"text": "x[1]"}, **square, "scaleanchor": "x"},
    }


def _fit_rows(task: Task, states: Sequence[FitState]) -> list[dict[str, Any]]:
    what = "output" if task.kind == "curve" else "logit"
    outputs = [state.ffn.forward(task.x).output[:, 0] for state in states]
    columns = {f"{what}, {_label(s.ffn)}": output for s, output in zip(states, outputs, strict=True)}
    names = ["x"] if task.kind == "curve" else ["x[0]", "x[1]"]
    return [
        dict(zip(names, map(short_number, task.x[p]), strict=True))
        | {"target" if task.kind == "curve" else "class": short_number(task.target[p])}
        | {name: short_number(float(output[p])) for name, output in columns.items()}
        for p in range(len(task.x))
    ]


# ---------------------------------------------------------------- the neurons


def neurons(task: Task, state: FitState) -> Drawing:
    """What each neuron adds to the output at every x, for a curve as curves with their sum, for classes as tiles."""
    trace = state.ffn.forward(task.x)
    silent = dead(trace.activated)
    drawn, look = (_neuron_lines if task.kind == "curve" else _neuron_tiles)(task, state.ffn, silent)
    names = ", ".join(map(str, np.flatnonzero(silent)))
    return Drawing(
        traces=drawn,
        layout=look,
        text=f"What each of {state.ffn.d_ff} neurons adds to the {_made(task)} at step {state.step}. "
        + (f"Dead, 0 at every point: {names}." if names else "No neuron is dead."),
        rows=lambda: _neuron_rows(task, state.ffn, silent),
    )


def _made(task: Task) -> str:
    return "output" if task.kind == "curve" else "logit"


def _neuron_lines(task: Task, ffn: FFN, silent: NDArray[np.bool_]) -> tuple[list[PlotTrace], dict[str, Any]]:
    low, high = _reach(task.x[:, 0], 0.05)
    x = np.linspace(low, high, _NEURON_POINTS)
    trace = ffn.forward(x[:, np.newaxis])
    added = _near(neuron_curves(trace)).T
    fitted = _near(trace.output[:, 0])
    traces: list[PlotTrace] = [
        {
            "type": "scatter", "mode": "lines", "name": "a neuron's activated_j · value_j",
            "x": _with_gaps(np.broadcast_to(x, added.shape)), "y": _with_gaps(added),
            "customdata": np.repeat(np.arange(ffn.d_ff), len(x) + 1),
            "line": {"color": concept("values"), "width": 1.5, "simplify": False}, "connectgaps": False,
            "hovertemplate": "neuron %{customdata} adds %{y:.3~g} at x = %{x:.3~g}<extra></extra>",
        },
        {
            "type": "scatter", "mode": "lines", "name": "b2", "x": x[[0, -1]], "y": _near(np.repeat(ffn.b2[0], 2)),
            "line": {"color": concept("keys"), "width": 2, "dash": "dash"},
            "hovertemplate": "b2 adds %{y:.3~g} everywhere<extra></extra>",
        },
        {
            "type": "scatter", "mode": "lines", "name": "their sum: the output", "x": x, "y": fitted,
            "line": {"color": concept("output"), "width": 3, "simplify": False},
            "hovertemplate": "output %{y:.3~g} at x = %{x:.3~g}<extra></extra>",
        },
    ]  # fmt: skip
    if _bends(ffn):
        at = kinks(ffn)
        alive = at[~silent & (at > low) & (at < high)]
        traces.append(_kink_marks(alive, np.zeros(len(alive)), ffn, legend=True))
        # A dead neuron's kink may be far out; its mark stays in sight, at the edge.
        gone = np.clip(np.nan_to_num(at[silent], nan=low), low, high)
        traces.append(
            {
                "type": "scatter", "mode": "markers", "x": gone, "y": np.zeros(len(gone)), "name": "dead neuron",
                "marker": {"symbol": "x", "size": 9, "color": concept("output")}, "cliponaxis": False,
                "customdata": np.flatnonzero(silent),
                "hovertemplate": "neuron %{customdata} is dead: 0 at every point<extra></extra>",
                "showlegend": bool(len(gone)),
            }
        )  # fmt: skip
    span = _steady(float(np.nanmax(np.abs([*added, fitted]), initial=0.0)))
    look = layout(
        "A sum of fired values",
        380,
        **{
            **LEGEND_ROW,
            "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": -0.22, "yanchor": "top"},
        },
        xaxis={"title": {"text": "x [1]", "standoff": 4}, "range": [low, high], "zeroline": False},
        yaxis={"title": {"text": f"what each of {ffn.d_ff} adds"}, "range": [-span, span]},
    )
    look["margin"] = {"l": 60, "r": 16, "t": 44, "b": 104}
    return traces, look


def _neuron_tiles(task: Task, ffn: FFN, silent: NDArray[np.bool_]) -> tuple[list[PlotTrace], dict[str, Any]]:
    """A tile of the plane for each neuron, row by row."""
    reach = _plane_reach(task)
    added = _near(neuron_curves(ffn.forward(_grid(np.linspace(-reach, reach, _TILE))))).T
    columns = min(ffn.d_ff, math.ceil(math.sqrt(4 * ffn.d_ff)))
    rows = math.ceil(ffn.d_ff / columns)
    cells = np.full((rows * (_TILE + _ABOVE), columns * (_TILE + _ACROSS)), np.nan, dtype=np.float32)
    owner = np.zeros(cells.shape, dtype=np.intp)
    corners = []
    for j, tile in enumerate(added):
        # Row 0 of a heatmap is at the bottom, and so is the plane's lowest row in each tile.
        top, left = (rows - 1 - j // columns) * (_TILE + _ABOVE), (j % columns) * (_TILE + _ACROSS)
        place = slice(top, top + _TILE), slice(left, left + _TILE)
        cells[place], owner[place] = tile.reshape(_TILE, _TILE), j
        corners.append((left - 0.5, top + _TILE + 0.3))
    span = round_span([added])
    label_x, label_y = np.array(corners).T
    bare = {"showgrid": False, "zeroline": False, "showticklabels": False, "ticks": "", "constrain": "domain"}
    traces: list[PlotTrace] = [
        {
            "type": "heatmap", "z": cells, "customdata": owner, "hoverongaps": False,
            "colorscale": diverging_scale(), "zmin": -span, "zmax": span,
            "colorbar": {"thickness": 12, "title": {"text": "adds to the logit", "side": "right"}},
            "hovertemplate": "neuron %{customdata} adds %{z:.3~g}<extra></extra>",
        },
        {
            "type": "scatter", "mode": "text", "x": label_x, "y": label_y, "textposition": "top right",
            "text": [f"{j} dead" if gone else str(j) for j, gone in enumerate(silent)], "hoverinfo": "skip",
            "showlegend": False, "cliponaxis": False, "textfont": {"size": 12},
        },
    ]  # fmt: skip
    look = layout(
        "A sum of fired values: what each neuron adds to the logit",
        380,
        margin={"l": 16, "r": 16, "t": 44, "b": 44},
        xaxis={
            **bare,
            "title": {"text": f"a tile for each of {ffn.d_ff} neurons, the plane of x in it"},
            "range": [-1, cells.shape[1]],
        },
        yaxis={**bare, "range": [-1, cells.shape[0] + 1], "scaleanchor": "x"},
    )
    return traces, look


def _neuron_rows(task: Task, ffn: FFN, silent: NDArray[np.bool_]) -> list[dict[str, Any]]:
    corners = kinks(ffn) if task.kind == "curve" else None
    return [
        {"neuron": j}
        | dict(zip(_KEY_NAMES[ffn.d_model], map(short_number, ffn.w1[j]), strict=True))
        | {"b1": short_number(ffn.b1[j])}
        | ({} if corners is None else {"−b1/w1": short_number(corners[j])})
        | {"w2": short_number(ffn.w2[0, j]), "dead": "yes" if silent[j] else "no"}
        for j in range(ffn.d_ff)
    ]


_KEY_NAMES = {1: ["w1"], 2: ["w1 [0]", "w1 [1]"]}


# ---------------------------------------------------------------- over time


def loss_curves(curves: Sequence[Curve], what: str) -> Drawing:
    """Losses over the steps, on an axis of powers of ten; `what` is the loss. The first curve is the network's own."""
    looks = (("output", "solid", 3), ("keys", "dash", 2.5), ("input", "dot", 2.5))
    traces: list[PlotTrace] = [
        {
            "type": "scatter", "mode": "lines+markers" if len(curve.steps) < 3 else "lines", "name": curve.name,
            "x": np.array(curve.steps), "y": _positive(curve.losses),
            "line": {"color": concept(colour), "dash": dash, "width": width},
            "hovertemplate": "%{y:.3~g} at step %{x}<extra></extra>",
        }
        for curve, (colour, dash, width) in zip(curves, looks, strict=False)
    ]  # fmt: skip
    own = curves[0]
    losses = np.concatenate([_positive(curve.losses) for curve in curves])
    powers = np.log10(losses[np.isfinite(losses)])
    low, high = (np.floor(powers.min()), np.ceil(powers.max())) if len(powers) else (-1.0, 0.0)
    high = max(high, low + 1)  # whole decades, so that the ticks between them have room
    return Drawing(
        traces=traces,
        layout=layout(
            "Loss",
            340,
            showlegend=True,
            legend={"orientation": "h", "x": 0, "xanchor": "left", "y": -0.24, "yanchor": "top"},
            margin={"l": 70, "r": 16, "t": 44, "b": 96},
            xaxis={"title": {"text": "step", "standoff": 4}, "rangemode": "tozero"},
            yaxis={
                "title": {"text": what},
                "type": "log",
                "exponentformat": "power",
                "range": [low - 0.05, high + 0.05],
                "dtick": 1 if high - low > 2 else "D2",
            },
        ),
        text=f"The loss of {own.name} went from {short_number(own.losses[0])} to {short_number(own.losses[-1])} "
        f"in {own.steps[-1]} steps.",
        rows=lambda: [
            {"run": curve.name, "step": step, "loss": short_number(loss)}
            for curve in curves
            for step, loss in zip(curve.steps, curve.losses, strict=True)
        ],
    )


def weights(history: Sequence[FitState]) -> Drawing:
    """Keys, their biases, and values over the steps, a line for each number of up to MOST_NEURONS neurons."""
    moments = evenly(len(history), MOST_MOMENTS)
    states = [history[k] for k in moments]
    d_ff = states[0].ffn.d_ff
    shown = evenly(d_ff, MOST_NEURONS)
    steps = np.array([state.step for state in states])
    domains = side_by_side(1, 1, spacing=0.2)
    traces: list[PlotTrace] = []
    for name, colour, dash, panel, lines in (
        ("w1, the keys", "keys", "solid", "", [state.ffn.w1[shown].ravel() for state in states]),
        ("b1", "hidden", "dot", "", [state.ffn.b1[shown] for state in states]),
        ("w2, the values", "values", "solid", "2", [state.ffn.w2[0, shown] for state in states]),
    ):
        numbers = _near(np.array(lines)).T  # a row for each line
        per = len(numbers) // len(shown)
        traces.append(
            {
                "type": "scatter", "mode": "lines", "name": name, "xaxis": f"x{panel}", "yaxis": f"y{panel}",
                "x": _with_gaps(np.broadcast_to(steps.astype(float), numbers.shape)), "y": _with_gaps(numbers),
                "line": {"color": concept(colour), "dash": dash, "width": 1.5}, "connectgaps": False,
                "customdata": np.repeat(shown, per * (len(steps) + 1)),
                "hovertemplate": "neuron %{customdata}: %{y:.3~g} at step %{x}<extra></extra>",
            }
        )  # fmt: skip
    first, last = states[0].ffn, states[-1].ffn
    said = f" of {len(shown)} of {d_ff} neurons" if len(shown) < d_ff else ""
    return Drawing(
        traces=traces,
        layout=layout(
            f"Weights{said}",
            340,
            legend={"orientation": "h", "x": 0, "xanchor": "left", "y": -0.24, "yanchor": "top"},
            margin={"l": 60, "r": 16, "t": 44, "b": 96},
            xaxis={"title": {"text": "step", "standoff": 4}, "domain": domains[0], "rangemode": "tozero"},
            yaxis={"title": {"text": f"w1 [{d_ff}, {first.d_model}], b1 [{d_ff}]"}},
            xaxis2={
                "title": {"text": "step", "standoff": 4},
                "domain": domains[1],
                "anchor": "y2",
                "rangemode": "tozero",
            },
            yaxis2={"title": {"text": f"w2, first row [{d_ff}]"}, "anchor": "x2"},
        ),
        text=f"Keys, biases and values{said} over {states[-1].step} steps.",
        rows=lambda: [
            {
                "neuron": j,
                "w1 at step 0": " ".join(map(short_number, first.w1[j])),
                "w1 now": " ".join(map(short_number, last.w1[j])),
                "b1 at step 0": short_number(first.b1[j]),
                "b1 now": short_number(last.b1[j]),
                "w2 at step 0": short_number(first.w2[0, j]),
                "w2 now": short_number(last.w2[0, j]),
            }
            for j in range(d_ff)
        ],
    )


# ---------------------------------------------------------------- helpers


def _output(ffn: FFN, x: Array) -> Array:
    """The output's first coordinate at each row of x."""
    return _near(ffn.forward(x).output[:, 0])


def _near(numbers: Array) -> NDArray[np.float32]:
    """The numbers within ±_FAR, in half the bytes; those that are not finite become gaps."""
    return np.clip(np.where(np.isfinite(numbers), numbers, np.nan), -_FAR, _FAR).astype(np.float32)


def _positive(numbers: Sequence[float]) -> Array:
    """The numbers that an axis of powers of ten can show, and gaps for the others."""
    array = np.array(numbers)
    return np.where(np.isfinite(array) & (array > 0), array, np.nan)


def _with_gaps(lines: NDArray[Any]) -> NDArray[Any]:
    """Lines [lines, points] one after the other, with a gap after each: one trace draws in a tenth of the time of many."""
    return np.pad(lines.astype(np.float32), ((0, 0), (0, 1)), constant_values=np.nan).ravel()


def _reach(numbers: Array, margin: float) -> list[float]:
    """From the least to the greatest of the numbers, with a margin that is a share of that; of one number, 1 about it."""
    low, high = float(numbers.min()), float(numbers.max())
    room = (high - low) * margin or 1.0
    return [low - room, high + room]


def _steady(greatest: float) -> float:
    """A range that holds `greatest` and seldom changes: the next power of the root of 2."""
    return float(2 ** (math.ceil(2 * math.log2(greatest)) / 2)) if greatest > 0 else 1.0


def _plane_reach(task: Task) -> float:
    return float(np.abs(task.x).max()) * 1.1


def _grid(side: Array) -> Array:
    """The points of a square, [n·n, 2], row by row from the lowest."""
    across, up = np.meshgrid(side, side)
    return np.stack([across.ravel(), up.ravel()], axis=1)
