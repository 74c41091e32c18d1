"""A session as the board draws it, ready for JSON. Pure functions from ffn_core's objects to plain data."""

from dataclasses import asdict, replace
from typing import Any, Literal

import numpy as np

from ffn_app.board import mixture
from ffn_app.board.arrays import POOL_FROM, Spec, array_spec, arrays_of, spans, wants_zoom, zoom_specs
from ffn_app.board.names import names_of, widths
from ffn_app.board.panel import Panel, panel, steps
from ffn_app.look import VALUES, AnyTrace, Array, Look, array_of, within_expert
from ffn_app.session import Session
from ffn_app.theme import CONCEPTS, DIVERGING
from ffn_core.activations import activation
from ffn_core.dense import Trace
from ffn_core.gated import GatedTrace
from ffn_core.matrix_text import short_number
from ffn_core.memories import contribution_norms
from ffn_core.moe import MoETrace
from ffn_core.scenario import MAX_EDITED, Scenario

Drawn = Literal["hourglass", "neurons", "experts", "expert"]
TURNED = {
    "hourglass": (),
    "neurons": ("x", "w2", "b2", "w_down", "output", "output_other", "residual"),
    "experts": ("x", "output", "residual"),
}
"""The arrays that a layout shows transposed: neuron by neuron, a value is a row of its line."""
COLUMNS: dict[type[AnyTrace], str] = {Trace: "dense", GatedTrace: "gated", MoETrace: "experts"}
"""The table of columns in layout.js that draws each kind of trace."""

KEYS = {"dense": "w1", "gated": "w_gate", "experts": "router"}
"""The array with a row for each line."""


def fits_neuron_lines(scenario: Scenario) -> bool:
    """Whether the network, in a mixture each expert, is small enough to be drawn with one line for each neuron."""
    return all(n <= MAX_EDITED[axis] for axis, n in widths(scenario).items())


def live_board(session: Session, drawn: Drawn = "hourglass") -> dict[str, Any]:
    """The board of the present scenario: every number editable, explained and compared with the start.

    `drawn` is the hourglass from left to right, or neuron by neuron: for each a line with its key under x, hidden, the
    curve, activated, its value as a row, and the length of its contribution. Of a mixture it is "experts", a line for
    each with its row of the router, its routing and its output, or "expert", the network of the one that is chosen.
    """
    scenario, view = session.present, session.view
    position = view.position
    expert = view.expert if drawn == "expert" else None
    trace, other = _traces(scenario, view.compare, expert)
    if isinstance(trace, MoETrace):
        return _experts_board(session, trace)
    layout = _layout(scenario, drawn)
    arrays = arrays_of(trace, other)
    changed = changes(scenario, view.compare, expert)
    scales = _scales(session, expert)
    beside = activation(other_name(scenario)).label
    specs = _specs(arrays, changed, position, scales, live=True, layout=layout, expert=expert)
    for spec in specs:
        if spec["id"].endswith("_other"):
            spec |= {"heading": beside, "label": f"{spec['label']} with {beside}"}
    zoomed = layout == "hourglass" and wants_zoom(trace.ffn)
    zoom = zoom_specs(trace, position, view.neuron or 0, changed, expert) if zoomed else []
    names, look = names_of(scenario), session.look
    if expert is not None:
        specs = [_as_the_experts(spec) for spec in specs if spec["id"] != "residual"]
        names = names.of_expert(expert, trace.ffn.d_ff)
        look = within_expert(look, expert) if look is not None else None
    told = panel(trace, position, view.neuron, look, other=other, names=names)  # type: ignore[arg-type]
    leads = expert is None
    return _common(scenario, trace, arrays, scales) | {
        "drawn": layout,
        "contributions": _contributions(trace, position) if layout == "neurons" else None,
        "log": _log(session),
        "fitted": session.colours_of is not None,
        "compact": False,
        "leads": leads,
        "position": position,
        "can_add": len(trace.x) < MAX_EDITED["positions"],
        "neuron": view.neuron,
        "step": view.step if leads else None,
        "compare": beside if view.compare else None,
        "compare_offer": beside,
        "arrays": [*specs, *zoom],
        "zoom": _zoom(zoom, specs),
        "slim": _slim(trace),
        "curve": _curve(trace, position, view.neuron, other_name(scenario) if view.compare else None),
        "captions": _captions(trace),
        "steps": [asdict(step) for step in steps(trace, position, names)] if leads else [],
        "panel": asdict(_with_strength(scenario, look, told)),
        "note": "" if expert is None else mixture.whether_routed(scenario, expert, position),
        "problem": _problem(session),
    }


def _experts_board(session: Session, trace: MoETrace) -> dict[str, Any]:
    """A line for each expert of the mixture."""
    scenario, view = session.present, session.view
    position, names = view.position, names_of(scenario)
    arrays, scales = arrays_of(trace), _scales(session)
    specs = [
        spec | mixture.marks(trace, position, spec)
        for spec in _specs(arrays, changes(scenario), position, scales, live=True, layout="experts")
    ]
    return _common(scenario, trace, arrays, scales) | {
        "drawn": "experts",
        "follows": "expert",
        "line_labels": mixture.line_labels(trace, position, names),
        "contributions": mixture.contributions(trace, position),
        "log": _log(session),
        "fitted": session.colours_of is not None,
        "compact": False,
        "leads": True,
        "position": position,
        "can_add": len(trace.x) < MAX_EDITED["positions"],
        "expert": view.expert,
        "step": view.step,
        "compare": None,
        "compare_offer": None,
        "arrays": specs,
        "zoom": None,
        "slim": None,
        "curve": None,
        "captions": mixture.CAPTIONS,
        "steps": [asdict(step) for step in mixture.steps(trace, position, names)],
        "panel": asdict(mixture.panel(trace, position, session.look, names)),
        "note": "",
        "problem": _problem(session),
    }


def comparison_board(session: Session, *, difference: bool) -> dict[str, Any]:
    """The starting point, or now minus the starting point on a scale of its own; compact and read only.

    Arrays whose shape has changed have no difference, and are left out of it. Of a mixture it is the drawing "experts".
    """
    scenario = session.present
    trace, _ = _traces(scenario, False)
    arrays = _start_arrays(scenario, False)
    if difference:
        now = arrays_of(trace)
        arrays = {name: now[name] - start for name, start in arrays.items() if now[name].shape == start.shape}
    scales = spans(arrays)
    position = min(
        [session.view.position, *(len(arrays[name]) - 1 for name in ("x", "hidden") if name in arrays)]
    )
    layout = "experts" if isinstance(trace, MoETrace) else "hourglass"
    return _common(scenario, trace, arrays, scales) | {
        "drawn": layout,
        "contributions": None,
        "log": None,
        "compact": True,
        "leads": False,
        "position": position,
        "neuron": None,
        "step": None,
        "compare": None,
        "arrays": _specs(arrays, {}, position, scales, live=False, layout=layout),
        "zoom": None,
        "slim": None,
        "curve": None,
        "captions": dict.fromkeys(_captions(trace), "") | {"add": "" if difference else "+ x"},
        "note": "",
        "problem": None,
    }


def changes(scenario: Scenario, compare: bool = False, expert: int | None = None) -> dict[str, Array | None]:
    """For every array of the board, which entries differ from the starting point; None if its shape does.

    With `expert` those of its own network.
    """
    now = arrays_of(*_traces(scenario, compare, expert))
    start = _start_arrays(scenario, compare, expert)
    return {
        name: array != start[name] if name in start and array.shape == start[name].shape else None
        for name, array in now.items()
    }


def other_name(scenario: Scenario) -> str:
    """The nonlinearity that is shown beside the chosen one: ReLU, or GELU beside ReLU."""
    return "gelu" if scenario.activation == "relu" else "relu"


def _traces(scenario: Scenario, compare: bool, expert: int | None = None) -> tuple[AnyTrace, AnyTrace | None]:
    """The trace of the layer, or of one of its experts over all positions; and the one under another nonlinearity."""
    layer, x = scenario.build()
    network = layer if expert is None else layer.experts[expert]
    trace: AnyTrace = network.forward(x)
    if not compare or isinstance(trace, MoETrace):
        return trace, None
    return trace, replace(network, activation=other_name(scenario)).forward(x)


def _start_arrays(scenario: Scenario, compare: bool, expert: int | None = None) -> dict[str, Array]:
    """The arrays of the starting point: the base without any edit, under the same nonlinearity.

    There are none for an expert that was added since.
    """
    start = scenario.start()
    if expert is not None and expert >= start.build()[0].n_experts:
        return {}
    return arrays_of(*_traces(start, compare, expert))


def _scales(session: Session, expert: int | None = None) -> dict[str, float]:
    """The ranges of the colours: the base's, or those of the moment they were fitted in.

    So while a person edits, colour changes only with value. All experts share theirs.
    """
    trace, _ = _traces(session.colours_of or Scenario(base=session.present.base), False)
    if expert is None or not isinstance(trace, MoETrace):
        return spans(arrays_of(trace))
    return spans({"x": trace.x}, *map(arrays_of, trace.experts))


def _layout(scenario: Scenario, drawn: Drawn) -> str:
    """How layout.js lays it out; one expert that is gated as any gated network."""
    if drawn != "expert":
        return drawn
    return "neurons" if scenario.kind.values == "w_down" and fits_neuron_lines(scenario) else "hourglass"


def _log(session: Session) -> dict[str, Any]:
    return {"client": session.client, "applied": session.applied}


def _problem(session: Session) -> dict[str, Any] | None:
    return {"text": session.problem, "number": session.problem_number} if session.problem else None


def _common(
    scenario: Scenario, trace: AnyTrace, arrays: dict[str, Array], scales: dict[str, float]
) -> dict[str, Any]:
    # A difference leaves out the keys where their shape has changed.
    key = KEYS[COLUMNS[type(trace)]]
    keys = arrays.get(key, array_of(trace, key))
    assert keys is not None
    lines, d_model = keys.shape
    return {
        "columns": COLUMNS[type(trace)],
        "dims": {"d_model": d_model, "lines": lines},
        "follows": "neuron",
        "line_labels": None,
        "positions": list(scenario.words),
        "spans": scales,
        "stops": DIVERGING,
        "concepts": CONCEPTS,
        "legend": {
            name: ["0" if name == "share" else short_number(-span), short_number(span)]
            for name, span in scales.items()
        },
    }


def _specs(
    arrays: dict[str, Array],
    changed: dict[str, Array | None],
    position: int,
    scales: dict[str, float],
    *,
    live: bool,
    layout: str = "hourglass",
    expert: int | None = None,
) -> list[Spec]:
    specs = []
    for name, array in arrays.items():
        spec = array_spec(
            name,
            array,
            position=position,
            scales=scales,
            changed=changed.get(name),
            live=live,
            turned=name in TURNED[layout],
            expert=expert,
        )
        specs.append(spec)
    if layout == "neurons" and "w_up" in arrays:
        # x meets the up keys as well: it is drawn over them once more.
        place = next(at for at, spec in enumerate(specs) if spec["id"] == "w_up")
        specs.insert(place, specs[0] | {"id": "x_again", "label": "x again"})
    return specs


def _as_the_experts(spec: Spec) -> Spec:
    """An expert's output, which is not the mixture's: a name of its own tells them apart."""
    if spec["array"] not in ("output", "output_other"):
        return spec
    return spec | {
        "array": f"expert_{spec['array']}",
        "name": "expert_output",
        "label": f"expert's {spec['label']}",
    }


def _zoom(zoom: list[Spec], specs: list[Spec]) -> dict[str, Any] | None:
    if not zoom:
        return None
    pooled = any("pooled" in spec for spec in specs)
    return {
        "strips": [
            {key: spec[key] for key in ("id", "rows", "columns")} for spec in zoom if spec["id"] != "zoom_b1"
        ],
        "note": "The arrays are larger than the screen: each cell above shows the entry of greatest magnitude in its block."
        if pooled
        else "",
    }


def _slim(trace: AnyTrace) -> list[list[float]] | None:
    """x at every position, where there are several and they are not too wide to be drawn small."""
    positions, d_model = trace.x.shape
    return np.round(trace.x, 6).tolist() if positions > 1 and d_model <= POOL_FROM else None


def _captions(trace: AnyTrace) -> dict[str, str]:
    if isinstance(trace, MoETrace):
        return mixture.CAPTIONS
    d_model, d_ff = trace.ffn.d_model, trace.ffn.d_ff
    label = activation(trace.ffn.activation).label
    shared = {"contribution": "size of what it adds", "activate": label, "add": "+ x"}
    if isinstance(trace, GatedTrace):
        return shared | {
            "match": "opens the gate?",
            "match_up": "what passes through?",
            "meet": f"{label}(hidden) · up",
            "value": "value j, what it writes: column j of W_down, drawn as a row",
            "expand": f"expand {d_model} → {d_ff}: row j is gate key j",
            "expand_up": "row j is up key j",
            "contract": f"contract {d_ff} → {d_model}: column j is value j",
        }
    return shared | {
        "match": "does x match key j?",
        "value": "value j, what it writes: column j of W2, drawn as a row",
        "expand": f"expand {d_model} → {d_ff}: row j is key j",
        "contract": f"contract {d_ff} → {d_model}: column j is value j",
    }


def _with_strength(scenario: Scenario, look: Look | None, told: Panel) -> Panel:
    """Say of a neuron, and of its value's numbers, that an intervention multiplies what it writes.

    What is typed into its value is then not what is shown.
    """
    if told.neuron in scenario.strengths:
        factor = scenario.strengths[told.neuron]
        # In the title as well: below long formulas the remark is out of sight.
        if factor == 0:
            remark = "It is switched off: its key still meets x, but its value is not written."
            return replace(told, title=f"{told.title}, switched off", remark=remark)
        remark = f"{told.remark} An intervention multiplies its value by {factor:g}."
        return replace(told, title=f"{told.title}, strength {factor:g}", remark=remark)
    if look is None or look.array not in VALUES or len(look.index) != 2:
        return told
    strength = scenario.strengths.get(look.index[1])
    if strength is None:
        return told
    note = f"Neuron {look.index[1]} has strength {strength:g}: what you type here is multiplied by it."
    return replace(told, remark=f"{told.remark} {note}".strip())


def _contributions(trace: Trace | GatedTrace, position: int) -> list[float]:
    """The length of each neuron's contribution, with the sign of how it fires."""
    signed = np.sign(trace.activated[position]) * contribution_norms(trace)[position]
    return [float(size) for size in signed]


def _curve(
    trace: Trace | GatedTrace, position: int, neuron: int | None, beside: str | None
) -> dict[str, Any]:
    """The nonlinearity after hidden, and every neuron's point on it (its height), the followed one's as `dot`."""
    hidden = trace.hidden[position]
    heights = (trace.gate if isinstance(trace, GatedTrace) else trace.activated)[position]
    reach = max(2.0, min(6.0, float(np.max(np.abs(hidden)))))
    grid = np.linspace(-reach, reach, 61)
    curve = activation(trace.ffn.activation)(grid)
    return {
        "x": np.round(grid, 4).tolist(),
        "y": np.round(curve, 4).tolist(),
        "other": np.round(activation(beside)(grid), 4).tolist() if beside else None,
        "x_low": -reach,
        "x_high": reach,
        "y_low": min(float(curve.min()), -0.35 * reach),
        "y_high": max(float(curve.max()), 0.6 * reach),
        "heights": heights.tolist() if len(heights) <= MAX_EDITED["d_ff"] else [],
        "dot": None if neuron is None else [float(hidden[neuron]), float(heights[neuron])],
    }
