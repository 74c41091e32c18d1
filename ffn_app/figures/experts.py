"""A mixture of experts: who is sent where, what one output is mixed from, and how evenly the work is shared.

Every function takes a trace over one sequence, x [positions, d_model], and `experts`, a name for each expert.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from ffn_app.board.mixture import ordinal
from ffn_app.board.names import Names
from ffn_app.figures.drawing import Drawing, PlotTrace, bars, layout
from ffn_app.theme import concept, positive_half
from ffn_core.matrix_text import short_number
from ffn_core.moe import MoETrace

MOST_NUMBERED = 8
"""Of more experts than that the cells have no room for their numbers."""
MOST_SHAPES = 64
"""So many marks on the heatmap are shapes, which move without drawing the heatmap again; more are a trace of points."""
MOST_TALL = 16
"""More positions than that get thin rows."""
MOST_TOLD = 16
MOST_COORDINATES = 32

_PAPER = str(positive_half()[0][1])
_TITLE = {"y": 1, "yanchor": "top", "yref": "container", "pad": {"t": 12}}
"""At the top, whatever room the legend below it takes."""
_LIST = {"orientation": "v", "x": 0, "xanchor": "left"}
"""A legend one line a trace, which takes the same room on a phone."""
_PATTERNS = ("", "/", "x", "-", "|", "+", ".", "\\")


def numbered(experts: Sequence[str]) -> list[str]:
    """The experts' numbers, with their names where they are more than a number: "1: nouns", "4"."""
    return [str(e) if name == f"expert {e}" else f"{e}: {name}" for e, name in enumerate(experts)]


def routing(
    trace: MoETrace, words: Sequence[str], experts: Sequence[str], *, position: int, expert: int
) -> Drawing:
    """Router probabilities [positions, n_experts], the chosen experts numbered, those without room crossed out.

    A press chooses the position and the expert.
    """
    probs = trace.router_probs
    n_positions, n_experts = probs.shape
    tall = n_positions <= MOST_TALL
    tokens = [f"{p}: {escape(word)}" for p, word in enumerate(words)]
    hover = "token %{customdata[0]}, expert %{customdata[1]}<br>probability %{z:.4g}<extra></extra>"
    traces: list[PlotTrace] = [
        {
            "type": "heatmap", "z": probs, "zmin": 0, "zmax": 1, "colorscale": positive_half(), "xgap": 1, "ygap": 1,
            "customdata": np.moveaxis(np.indices(probs.shape), 0, -1), "meta": {"press": ["position", "expert"]},
            "hovertemplate": hover,
            "colorbar": {"thickness": 12, "title": {"text": "router probability", "side": "right"}},
        }
    ]  # fmt: skip
    if tall and n_experts <= MOST_NUMBERED:
        # The space keeps the number clear of the mark at the left, also in a phone's narrow cells.
        numbers = [[f"\u2003{short_number(prob)}" for prob in row] for row in probs.tolist()]
        traces[0] |= {"text": numbers, "texttemplate": "%{text}", "showscale": False}
    marks: list[dict[str, Any]] = []
    if trace.chosen.size <= MOST_SHAPES:
        marks = [
            _disc(int(trace.chosen[p, slot]), p, slot, dropped=bool(dropped), small=not tall)
            for (p, slot), dropped in np.ndenumerate(trace.dropped)
        ]
    else:
        for dropped in (False, True):
            at, slots = np.nonzero(trace.dropped == dropped)
            traces.append(_marks(at, slots, trace.chosen[at, slots], dropped=dropped, small=not tall))
    look = layout(
        f"Router probabilities, tokens by experts [{n_positions}, {n_experts}]",
        (110 if marks else 142) + (30 if tall else 16) * n_positions,
        shapes=[
            _frame(-0.5, n_experts - 0.5, position - 0.5, position + 0.5, "solid"),
            _frame(expert - 0.5, expert + 0.5, -0.5, n_positions - 0.5, "dot"),
            *marks,
        ],
        title=_TITLE,
        margin={"t": 44 if marks else 76},
        xaxis=_expert_axis(experts),
        yaxis={
            "title": {"text": "token"}, "tickvals": np.arange(n_positions), "ticktext": tokens,
            "range": [n_positions - 0.5, -0.5], "showgrid": False, "zeroline": False,
        },
    )  # fmt: skip
    told = [f"{word}: {_choices(trace, p, experts)}." for p, word in enumerate(words[:MOST_TOLD])]
    if len(words) > MOST_TOLD:
        told.append(f"And {len(words) - MOST_TOLD} more tokens.")
    return Drawing(
        traces=traces,
        layout=look,
        text=f"Heatmap of router probabilities, tokens by experts [{n_positions}, {n_experts}]. {' '.join(told)}",
        rows=lambda: [
            {
                "position": p,
                "token": words[p],
                **{name: short_number(prob) for name, prob in zip(experts, row, strict=True)},
                "goes to": _choices(trace, p, experts),
            }
            for p, row in enumerate(probs.tolist())
        ],
    )


def _disc(expert: int, position: int, slot: int, *, dropped: bool, small: bool) -> dict[str, Any]:
    """A mark at the left of a chosen expert's cell, as a shape of so many pixels: its place, or a cross if dropped."""
    radius = 7 if small else 10
    return {
        "type": "rect" if dropped else "circle",
        "xsizemode": "pixel", "xanchor": expert - 0.35, "x0": -radius, "x1": radius,
        "ysizemode": "pixel", "yanchor": position, "y0": -radius, "y1": radius,
        "fillcolor": concept("values" if dropped else "output"), "line": {"width": 1.5, "color": _PAPER},
        "label": {"text": "×" if dropped else str(slot + 1), "font": {"color": _PAPER, "size": 9 if small else 12}},
    }  # fmt: skip


def _marks(at: np.ndarray, slots: np.ndarray, chosen: np.ndarray, *, dropped: bool, small: bool) -> PlotTrace:
    """A mark at the left of the cell of each chosen expert: its place among the chosen, or a cross if dropped."""
    name = (
        "chosen, but dropped: the expert had no room"
        if dropped
        else "chosen: 1 is the most probable, 2 the next"
    )
    marker: dict[str, Any] = {
        "size": 13 if small else 19,
        "color": concept("values" if dropped else "output"),
    }
    return {
        "type": "scatter", "mode": "markers" if dropped else "markers+text", "name": name,
        "x": chosen - 0.35, "y": at,
        "marker": marker | {"symbol": "x" if dropped else "circle", "line": {"width": 1.5, "color": _PAPER}},
        "text": [str(slot + 1) for slot in slots.tolist()],
        "textfont": {"color": _PAPER, "size": 9 if small else 12},
        "hovertext": [ordinal(slot) for slot in slots.tolist()],
        "customdata": np.stack([at, chosen], axis=-1), "meta": {"press": ["position", "expert"]},
        "hovertemplate": "token %{customdata[0]} chooses expert %{customdata[1]} %{hovertext}"
        + ("<br>dropped: the expert had no room" if dropped else "") + "<extra></extra>",
        "showlegend": not dropped or bool(len(at)),
    }  # fmt: skip


def _frame(x0: float, x1: float, y0: float, y1: float, dash: str) -> dict[str, Any]:
    line = {"color": concept("keys"), "width": 2.5, "dash": dash}
    return {"type": "rect", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "line": line}


def _choices(trace: MoETrace, position: int, experts: Sequence[str]) -> str:
    """In words where a token goes: "1st nouns with 0.937, 2nd verbs, dropped"."""
    return ", ".join(
        f"{ordinal(slot)} {experts[part.expert]}"
        + (", dropped" if part.dropped else f" with {short_number(part.weight)}")
        for slot, part in enumerate(trace.mix(position))
    )


def mixture(
    trace: MoETrace, words: Sequence[str], experts: Sequence[str], names: Names, *, position: int
) -> Drawing:
    """One token's output [d_model], coordinate by coordinate a stack of weight · output of its experts.

    Of a wide output the coordinates that are largest are shown. A press on a part chooses its expert.
    """
    output, parts = trace.output[position], trace.mix(position)
    shown = np.sort(np.argsort(-np.abs(output), kind="stable")[:MOST_COORDINATES])
    places = np.arange(len(shown))
    traces: list[PlotTrace] = []
    for slot, part in enumerate(parts):
        name = f"{ordinal(slot)} {escape(experts[part.expert])}: {short_number(part.weight)} · its output"
        traces.append(
            {
                "type": "bar", "name": f"{name} (dropped)" if part.dropped else name,
                "x": places, "y": part.weight * part.output[shown],
                "marker": {
                    "color": concept("values"), "opacity": 1 - 0.6 * slot / max(len(parts), 2),
                    "line": {"width": 1, "color": concept("hidden")},
                    "pattern": _pattern(_PATTERNS[slot % len(_PATTERNS)]),
                },
                "text": [f"{short_number(part.weight)} · {short_number(number)}" for number in part.output[shown].tolist()],
                "textposition": "none",
                "customdata": np.full(len(shown), part.expert), "meta": {"press": ["expert"]},
                "hovertemplate": f"{escape(experts[part.expert])}<br>%{{text}} = %{{y:.4g}}<extra></extra>",
            }
        )  # fmt: skip
    traces.append(
        {
            "type": "scatter", "mode": "markers", "x": places, "y": output[shown], "name": "output, their sum",
            "marker": {"symbol": "circle-open", "size": 15, "color": concept("output"), "line": {"width": 3}},
            "hovertemplate": "output %{y:.4g}<extra></extra>",
        }
    )  # fmt: skip
    which = f"the {len(shown)} largest of {len(output)}" if len(shown) < len(output) else str(len(output))
    said = names.features and len(shown) == len(output)
    look = layout(
        f"What the output for “{escape(words[position])}” is mixed from",
        320 + 21 * len(traces),
        barmode="relative",
        title=_TITLE,
        margin={"t": 44 + 21 * len(traces)},
        legend=_LIST,
        xaxis={
            "title": {"text": f"coordinate of the output [d_model = {which}]"},
            "tickvals": places, "showgrid": False, "zeroline": False,
            "ticktext": [f"{i} {names.features[i]}" if said else str(i) for i in shown.tolist()],
        },
        yaxis={"title": {"text": "weight · the expert's output"}},
    )  # fmt: skip
    told = " + ".join(
        f"{short_number(part.weight)} · {experts[part.expert]}" + (" (dropped)" if part.dropped else "")
        for part in parts
    )
    return Drawing(
        traces=traces,
        layout=look,
        text=f"The output for {words[position]} is {told}.",
        rows=lambda: [
            {
                "coordinate": names.feature(i),
                **{
                    f"{short_number(part.weight)} · {experts[part.expert]}": short_number(part.weight * float(part.output[i]))
                    for part in parts
                },
                "output": short_number(float(output[i])),
            }
            for i in range(len(output))
        ],
    )  # fmt: skip


def load(trace: MoETrace, experts: Sequence[str]) -> Drawing:
    """How many tokens each expert was sent, those it computed and those it dropped, beside its importance.

    The height of a bar is the load, in tokens at the left and as a share of all that was sent at the right; importance,
    the mean probability, is on the scale of the right.
    """
    n_experts, most = trace.moe.n_experts, trace.moe.tokens_per_expert(len(trace.x))
    kept, dropped = trace.kept, trace.counts - trace.kept
    even, high = 1 / n_experts, int(trace.counts.max())
    per_share = max(1, trace.chosen.size)
    # A capacity far above all loads is out of sight: the bars are what is to be read.
    top = 1.12 * max(high, min(most or 0, 2 * high), per_share * float(trace.importance.max()), 1)
    traces = [
        _expert_bars(kept, "computed", {"color": concept("output")}),
        _expert_bars(dropped, "dropped, no room", {"color": concept("values"), "pattern": _pattern("x")}),
        {
            "type": "scatter", "mode": "markers", "name": "importance", "yaxis": "y2",
            "x": np.arange(n_experts), "y": trace.importance,
            "marker": {"symbol": "diamond", "size": 13, "color": concept("input"), "line": {"width": 2, "color": _PAPER}},
            "customdata": np.arange(n_experts), "meta": {"press": ["expert"]},
            "hovertemplate": "expert %{x}, importance: %{y:.4g}<extra></extra>",
        },
        _level(even, f"even share {short_number(even)}", n_experts, "dot") | {"yaxis": "y2"},
    ]  # fmt: skip
    if most is not None:
        traces.append(_level(most, f"capacity {most}", n_experts, "dash"))
    look = layout(
        f"Load and importance of each expert [n_experts = {n_experts}]",
        320 + 21 * len(traces),
        barmode="stack",
        title=_TITLE,
        margin={"t": 44 + 21 * len(traces), "r": 60},
        legend=_LIST | {"traceorder": "normal"},
        xaxis=_expert_axis(experts),
        yaxis={"title": {"text": "tokens"}, "range": [0, top]},
        yaxis2={
            "title": {"text": "share of all"}, "range": [0, top / per_share],
            "overlaying": "y", "side": "right", "showgrid": False,
        },
    )  # fmt: skip
    told = ", ".join(
        f"{name} {k}" + (f" and {d} dropped" if d else "")
        for name, k, d in zip(experts, kept.tolist(), dropped.tolist(), strict=True)
    )
    limit = "no limit" if most is None else f"capacity {most}"
    return Drawing(
        traces=traces,
        layout=look,
        text=f"Tokens computed by each expert, {limit}: {told}. Balance loss {short_number(trace.balance_loss)}.",
        rows=lambda: [
            {
                "expert": name,
                "sent": int(trace.counts[e]),
                "computed": int(kept[e]),
                "dropped": int(dropped[e]),
                "load": short_number(float(trace.load[e])),
                "importance": short_number(float(trace.importance[e])),
            }
            for e, name in enumerate(experts)
        ],
    )


def _pattern(shape: str) -> dict[str, Any]:
    """Lines in the colour of the paper over a bar, which tell it apart without its colour."""
    return {"shape": shape, "fillmode": "overlay", "fgcolor": _PAPER, "size": 10, "solidity": 0.25}


def _expert_bars(values: np.ndarray, name: str, marker: dict[str, Any]) -> PlotTrace:
    """A bar an expert; a press chooses it."""
    return bars(
        values,
        name,
        marker["color"],
        f"expert %{{x}}, {name}: %{{y:.4g}}",
        marker=marker,
        customdata=np.arange(len(values)),
        meta={"press": ["expert"]},
    )


def _level(height: float, name: str, n_experts: int, dash: str) -> PlotTrace:
    """A line across all experts, named in the legend: a label beside it would stand on the bars."""
    return {
        "type": "scatter", "mode": "lines", "name": name, "x": [-0.5, n_experts - 0.5], "y": [height, height],
        "line": {"color": concept("keys"), "width": 3, "dash": dash}, "hoverinfo": "skip",
    }  # fmt: skip


def _expert_axis(experts: Sequence[str]) -> dict[str, Any]:
    return {
        "title": {"text": "expert"},
        "tickvals": np.arange(len(experts)),
        "ticktext": list(map(escape, numbered(experts))),
        "range": [-0.5, len(experts) - 0.5],
        "showgrid": False,
        "zeroline": False,
    }


def balance_formula(trace: MoETrace) -> str:
    """The balance loss with its numbers plugged in, a product for each expert."""
    pairs = zip(trace.load.tolist(), trace.importance.tolist(), strict=True)
    terms = " + ".join(f"{short_number(share)}·{short_number(mean)}" for share, mean in pairs)
    return f"{trace.moe.n_experts}·({terms}) = {short_number(trace.balance_loss)}"


def parameter_formulas(trace: MoETrace) -> tuple[str, str]:
    """How many numbers all experts are, and how many of them one token meets, as sums with their numbers plugged in."""
    moe = trace.moe
    router, one = moe.router.size, moe.experts[0].n_parameters
    return (
        f"router + n_experts·expert = {router:,} + {moe.n_experts}·{one:,} = {moe.n_parameters:,}",
        f"router + top_k·expert = {router:,} + {moe.top_k}·{one:,} = {moe.n_active_parameters:,}",
    )
