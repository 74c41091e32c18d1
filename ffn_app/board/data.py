"""A session as the board draws it, ready for JSON. Pure functions from ffn_core's objects to plain data."""

from dataclasses import asdict, replace
from typing import Any, Literal

import numpy as np

from ffn_app.board.arrays import POOL_FROM, Array, Spec, array_spec, arrays_of, spans, wants_zoom, zoom_specs
from ffn_app.board.names import names_of
from ffn_app.board.panel import Panel, panel, steps
from ffn_app.look import Look
from ffn_app.session import Session
from ffn_app.theme import CONCEPTS, DIVERGING
from ffn_core.activations import activation
from ffn_core.dense import FFN, Trace
from ffn_core.matrix_text import short_number
from ffn_core.memories import contribution_norms
from ffn_core.scenario import MAX_EDITED, Scenario

Drawn = Literal["hourglass", "neurons"]
TURNED = {"hourglass": (), "neurons": ("x", "w2", "b2", "output", "residual")}
"""The arrays that a drawing shows transposed: neuron by neuron, a value is a row of its line."""


def fits_neuron_lines(scenario: Scenario) -> bool:
    """Whether the network is small enough to be drawn with one line for each neuron."""
    ffn, _ = scenario.build()
    return bool(ffn.d_model <= MAX_EDITED["d_model"] and ffn.d_ff <= MAX_EDITED["d_ff"])


def live_board(session: Session, drawn: Drawn = "hourglass") -> dict[str, Any]:
    """The board of the present scenario: every number editable, explained and compared with the start.

    `drawn` is the hourglass from left to right, or neuron by neuron: for each a line with its key under x, hidden, the
    curve, activated, its value as a row, and the length of its contribution.
    """
    scenario, view = session.present, session.view
    position = view.position
    trace, other = _traces(scenario, view.compare)
    arrays = arrays_of(trace, other)
    changed = changes(scenario, view.compare)
    # The scales are the base's, or those of the moment they were fitted in, so that while a person edits, colour
    # changes only with value.
    scales = spans(arrays_of(_traces(session.colours_of or Scenario(base=scenario.base), False)[0]))
    specs = _specs(arrays, changed, position, scales, live=True, drawn=drawn)
    for spec in specs:
        if spec["id"].endswith("_other"):
            beside = activation(other_name(scenario)).label
            spec |= {"heading": beside, "label": f"{spec['label']} with {beside}"}
    zoomed = drawn == "hourglass" and wants_zoom(trace.ffn)
    zoom = zoom_specs(trace, position, view.neuron or 0, changed) if zoomed else []
    told = _with_strength(
        scenario,
        session.look,
        panel(trace, position, view.neuron, session.look, other=other, names=names_of(scenario)),
    )
    beside = activation(other_name(scenario)).label
    ffn = trace.ffn
    return _common(scenario, arrays, scales) | {
        "drawn": drawn,
        "contributions": _contributions(trace, position) if drawn == "neurons" else None,
        "log": {"client": session.client, "applied": session.applied},
        "fitted": session.colours_of is not None,
        "compact": False,
        "position": position,
        "can_add": len(trace.x) < MAX_EDITED["positions"],
        "neuron": view.neuron,
        "step": view.step,
        "compare": beside if view.compare else None,
        "compare_offer": beside,
        "arrays": [*specs, *zoom],
        "zoom": _zoom(zoom, specs),
        "slim": np.round(trace.x, 6).tolist() if len(trace.x) > 1 and ffn.d_model <= POOL_FROM else None,
        "curve": _curve(trace, position, view.neuron, other_name(scenario) if view.compare else None),
        "captions": {
            "match": "does x match key j?",
            "value": "value j, what it writes: column j of W2, drawn as a row",
            "contribution": "size of what it adds",
            "expand": f"expand {ffn.d_model} → {ffn.d_ff}: row j is key j",
            "activate": activation(ffn.activation).label,
            "contract": f"contract {ffn.d_ff} → {ffn.d_model}: column j is value j",
            "add": "+ x",
        },
        "steps": [asdict(step) for step in steps(trace, position, names_of(scenario))],
        "panel": asdict(told),
        "problem": {"text": session.problem, "number": session.problem_number} if session.problem else None,
    }


def comparison_board(session: Session, *, difference: bool) -> dict[str, Any]:
    """The starting point, or now minus the starting point on a scale of its own; compact and read only.

    Arrays whose shape has changed have no difference, and are left out of it.
    """
    scenario = session.present
    arrays = _start_arrays(scenario, False)
    if difference:
        now = arrays_of(_traces(scenario, False)[0])
        arrays = {name: now[name] - start for name, start in arrays.items() if now[name].shape == start.shape}
    scales = spans(arrays)
    position = min(
        [session.view.position, *(len(arrays[name]) - 1 for name in ("x", "hidden") if name in arrays)]
    )
    return _common(scenario, arrays, scales) | {
        "drawn": "hourglass",
        "log": None,
        "compact": True,
        "position": position,
        "neuron": None,
        "step": None,
        "compare": None,
        "arrays": _specs(arrays, {}, position, scales, live=False),
        "zoom": None,
        "slim": None,
        "curve": None,
        "captions": {"expand": "", "activate": "", "contract": "", "add": "" if difference else "+ x"},
        "problem": None,
    }


def changes(scenario: Scenario, compare: bool = False) -> dict[str, Array | None]:
    """For every array of the board, which entries differ from the starting point; None if its shape does."""
    now = arrays_of(*_traces(scenario, compare))
    start = _start_arrays(scenario, compare)
    return {
        name: array != start[name] if array.shape == start[name].shape else None
        for name, array in now.items()
    }


def other_name(scenario: Scenario) -> str:
    """The nonlinearity that is shown beside the chosen one: ReLU, or GELU beside ReLU."""
    return "gelu" if scenario.activation == "relu" else "relu"


def _traces(scenario: Scenario, compare: bool) -> tuple[Trace, Trace | None]:
    ffn, x = scenario.build()
    if not compare:
        return ffn.forward(x), None
    beside = FFN(w1=ffn.w1, b1=ffn.b1, w2=ffn.w2, b2=ffn.b2, activation=other_name(scenario))
    return ffn.forward(x), beside.forward(x)


def _start_arrays(scenario: Scenario, compare: bool) -> dict[str, Array]:
    """The arrays of the starting point: the base without any edit, under the same nonlinearity."""
    return arrays_of(*_traces(scenario.start(), compare))


def _common(scenario: Scenario, arrays: dict[str, Array], scales: dict[str, float]) -> dict[str, Any]:
    ffn, _ = scenario.build()
    d_ff, d_model = arrays["w1"].shape if "w1" in arrays else (ffn.d_ff, ffn.d_model)
    return {
        "dims": {"d_model": d_model, "d_ff": d_ff},
        "positions": list(scenario.words),
        "spans": scales,
        "stops": DIVERGING,
        "concepts": CONCEPTS,
        "legend": {name: [short_number(-span), short_number(span)] for name, span in scales.items()},
    }


def _specs(
    arrays: dict[str, Array],
    changed: dict[str, Array | None],
    position: int,
    scales: dict[str, float],
    *,
    live: bool,
    drawn: Drawn = "hourglass",
) -> list[Spec]:
    return [
        array_spec(
            name,
            array,
            position=position,
            scales=scales,
            changed=changed.get(name),
            live=live,
            turned=name in TURNED[drawn],
        )
        for name, array in arrays.items()
    ]


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


def _with_strength(scenario: Scenario, look: Look | None, told: Panel) -> Panel:
    """Say of a number of W2 that an intervention multiplies it: what is typed there is not what is shown."""
    if look is None or look.array != "w2" or len(look.index) != 2:
        return told
    strength = scenario.strengths.get(look.index[1])
    if strength is None:
        return told
    note = f"Neuron {look.index[1]} has strength {strength:g}: what you type here is multiplied by it."
    return replace(told, remark=f"{told.remark} {note}".strip())


def _contributions(trace: Trace, position: int) -> list[float]:
    """The length of each neuron's contribution, with the sign of how it fires."""
    signed = np.sign(trace.activated[position]) * contribution_norms(trace)[position]
    return [float(size) for size in signed]


def _curve(trace: Trace, position: int, neuron: int | None, beside: str | None) -> dict[str, Any]:
    """The nonlinearity between hidden and activated, with the followed neuron as a point on it."""
    hidden = trace.hidden[position]
    reach = max(2.0, min(6.0, float(np.max(np.abs(hidden)))))
    grid = np.linspace(-reach, reach, 61)
    curve = activation(trace.ffn.activation)(grid)
    dot = None if neuron is None else [float(hidden[neuron]), float(trace.activated[position][neuron])]
    return {
        "x": np.round(grid, 4).tolist(),
        "y": np.round(curve, 4).tolist(),
        "other": np.round(activation(beside)(grid), 4).tolist() if beside else None,
        "x_low": -reach,
        "x_high": reach,
        "y_low": min(float(curve.min()), -0.35 * reach),
        "y_high": max(float(curve.max()), 0.6 * reach),
        "dot": dot,
    }
