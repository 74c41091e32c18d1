"""What the board of a mixture of experts draws beside the arrays, and what it says: a line is an expert."""

from typing import Any

import numpy as np

from ffn_app.board.arrays import Spec
from ffn_app.board.names import Names
from ffn_app.board.panel import Line, Panel, Step, add_back, place, sums
from ffn_app.look import OF_EXPERT, Look, array_of, settle
from ffn_core.explain import explain
from ffn_core.matrix_text import short_number
from ffn_core.moe import Mixed, MoETrace
from ffn_core.scenario import Scenario

CAPTIONS = {
    "match": "does x match the expert's row?",
    "value": "what the expert computes for this position",
    "contribution": "size of what it adds",
}
ORDINALS = ("1st", "2nd", "3rd")


def ordinal(place_: int) -> str:
    """0 as "1st", 3 as "4th"."""
    return ORDINALS[place_] if place_ < len(ORDINALS) else f"{place_ + 1}th"


def _parts(trace: MoETrace, position: int) -> dict[int, tuple[int, Mixed]]:
    """For each expert that is chosen at the position the place at which it is, from 0, and its part in the output."""
    return {part.expert: (slot, part) for slot, part in enumerate(trace.mix(position))}


def _routed(parts: dict[int, tuple[int, Mixed]], expert: int) -> str:
    """In a word or two: "1st", "2nd, dropped", "not chosen"."""
    if expert not in parts:
        return "not chosen"
    slot, part = parts[expert]
    return ordinal(slot) + (", dropped" if part.dropped else "")


def line_labels(trace: MoETrace, position: int, names: Names) -> list[dict[str, str]]:
    """What stands before each expert's line: its name, and how the position is routed to it."""
    parts = _parts(trace, position)
    return [
        {"name": names.experts[e] if e < len(names.experts) else "", "note": _routed(parts, e)}
        for e in range(trace.moe.n_experts)
    ]


def contributions(trace: MoETrace, position: int) -> list[float]:
    """The length of what each expert adds to the output, its weight times its own output; 0 where it adds nothing."""
    parts = _parts(trace, position)
    return [
        float(np.linalg.norm(parts[e][1].weight * parts[e][1].output)) if e in parts else 0.0
        for e in range(trace.moe.n_experts)
    ]


def marks(trace: MoETrace, position: int, spec: Spec) -> dict[str, Any]:
    """What else than its numbers the board shows of an array.

    `notes` has a word for each cell that a reader hears after its number, `signs` what stands before it, `hushed`
    the cells that are greyed and hatched, and `blank` whether those show no number.
    """
    name = spec["id"]
    if name not in ("weight_of_expert", "output_of_expert") or not spec["values"]:
        return {}
    parts = _parts(trace, position)
    across = spec["columns"]
    experts = [at // across for at in range(len(spec["values"]))]
    if name == "output_of_expert":
        idle = [at for at, e in enumerate(experts) if e not in parts or parts[e][1].dropped]
        return {
            "hushed": idle,
            "blank": True,
            "notes": ["not computed" if at in set(idle) else "" for at in range(len(experts))],
        }
    return {
        "hushed": [at for at, e in enumerate(experts) if e not in parts],
        "notes": [_routed(parts, e) for e in experts],
        "signs": ["✕ " if e in parts and parts[e][1].dropped else "" for e in experts],
    }


def whether_routed(scenario: Scenario, expert: int, position: int) -> str:
    """A sentence for the board of one expert: does the router send this position to it?"""
    layer, x = scenario.build()
    parts = _parts(layer.forward(x), position)
    where = f"position {position} ({scenario.words[position]})"
    if expert not in parts:
        return (
            f"The router does not send {where} to this expert: these are the numbers that it would compute."
        )
    slot, part = parts[expert]
    if part.dropped:
        return (
            f"The router chose this expert {ordinal(slot)} for {where}, but it had no room left and dropped it: "
            "these are the numbers that it would compute."
        )
    return (
        f"The router chose this expert {ordinal(slot)} for {where}: its output is multiplied by "
        f"{short_number(part.weight)} and added."
    )


# ---------------------------------------------------------------- the panel


def panel(trace: MoETrace, position: int, look: Look | None, names: Names) -> Panel:
    """What to say about the number that is looked at, else how to begin."""
    found = settle(look, trace, position) if look is not None else None
    if found is None:
        return Panel(
            title="Point at any number to see where it comes from.",
            remark="Click x or the router to type another number, or drag it sideways: tokens may move to other experts. "
            f"Click an expert's line to look into that expert. {names.about}".rstrip(),
            idle=True,
        )
    name, index = found
    array = array_of(trace, name)
    assert array is not None
    here = place(name, index, float(array[index]))
    if name == "x":
        p, i = index
        return Panel(
            title=f"{here}, {names.feature(i)} of the input at position {p}",
            lines=sums(trace, p, i)[1:],
            remark="The router reads it, and so does each expert that is chosen; and it goes past them to be added back.",
        )
    if name in OF_EXPERT:
        return _of_expert(trace, position, found, here, names)
    p, i = index
    return Panel(
        title=f"{here}, {names.feature(i)}", lines=sums(trace, p, i), remark=_most(trace, p, i, names)
    )


def _of_expert(
    trace: MoETrace, position: int, found: tuple[str, tuple[int, ...]], here: str, names: Names
) -> Panel:
    name, index = found
    expert = index[0] if name == "router" else index[1]
    parts = _parts(trace, position)
    logit = explain(trace, "router_logits", position, expert)
    title = f"{names.expert(expert)}: {here}"
    if name == "router":
        term = logit.terms[index[1]]
        met, added = short_number(term.factors[1]), short_number(term.product)
        title += f" meets x[{position}][{index[1]}] = {met} and adds {added} to its logit"
    elif name == "output_of_expert":
        i = index[2]
        if expert not in parts or parts[expert][1].dropped:
            return Panel(
                title=f"{names.expert(expert)} computes nothing for position {position}: {_routed(parts, expert)}.",
                lines=_routing(trace, position, expert, parts, logit.text),
            )
        weight = short_number(parts[expert][1].weight)
        return Panel(
            title=f"{title}, is multiplied by {weight} and added to {names.feature(i)} of the output",
            lines=sums(trace, position, i),
        )
    return Panel(title=title, lines=_routing(trace, position, expert, parts, logit.text))


def _routing(
    trace: MoETrace, position: int, expert: int, parts: dict[int, tuple[int, Mixed]], logit: str
) -> tuple[Line, ...]:
    """How the expert's logit, its probability and its weight came about."""
    moe = trace.moe
    prob = short_number(float(trace.router_probs[position, expert]))
    if expert not in parts:
        said = f"weight 0: it is not among the {moe.top_k} most probable of {moe.n_experts}, and computes nothing here"
    elif parts[expert][1].dropped:
        said = "weight 0: it is chosen, but more probable tokens have taken all of its room"
    else:
        weight = short_number(parts[expert][1].weight)
        how = "its probability over the sum of those chosen" if moe.renormalize else "its probability"
        said = f"weight {weight}: chosen {ordinal(parts[expert][0])}, {how}"
    return (
        Line(concept="keys", text=logit),
        Line(
            concept="hidden",
            text=f"router_probs[{position}][{expert}] = {prob}: exp of its logit over the sum of exp of all {moe.n_experts}",
        ),
        Line(concept="activated", text=said),
    )


def _most(trace: MoETrace, position: int, i: int, names: Names) -> str:
    """Which expert adds most to a coordinate of the output."""
    added = {part.expert: part.weight * float(part.output[i]) for part in trace.mix(position)}
    expert = max(added, key=lambda e: abs(added[e]))
    if added[expert] == 0:
        return "No expert adds anything to this coordinate."
    return f"{names.expert(expert)} contributes most to this coordinate: {short_number(added[expert])}."


# ---------------------------------------------------------------- the walk


def steps(trace: MoETrace, position: int, names: Names) -> tuple[Step, ...]:
    """Score, choose, mix, add back, told for one position."""
    moe, parts = trace.moe, trace.mix(position)
    chosen = " and ".join(f"{names.expert(part.expert)} with {short_number(part.weight)}" for part in parts)
    n_dropped = sum(part.dropped for part in parts)
    dropped = f" {n_dropped} of them had no room and dropped it: weight 0." if n_dropped else ""
    return (
        Step(
            name="Score",
            sentence=f"Each of the router's {moe.n_experts} rows is multiplied with x and summed: one logit for each expert.",
        ),
        Step(
            name="Choose",
            sentence=f"Softmax makes the logits probabilities, and the {moe.top_k} most probable are chosen: {chosen}.{dropped}",
        ),
        Step(
            name="Mix",
            sentence="Only the chosen experts compute. Their outputs are multiplied by their weights and added up.",
        ),
        add_back(trace, position, names),
    )
