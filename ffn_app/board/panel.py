"""What the board says about the number that is pointed at, and about each step of the walk.

Every formula is `ffn_core.explain`'s; here are only the sentences around them.
"""

from dataclasses import dataclass

import numpy as np

from ffn_app.board.names import Names
from ffn_app.look import VALUES, WEIGHTS, AnyTrace, Look, array_of, settle
from ffn_core.activations import activation
from ffn_core.dense import Trace
from ffn_core.explain import Stage, explain
from ffn_core.gated import GatedTrace
from ffn_core.matrix_text import full_number, short_number

KEYS: dict[str, Stage] = {"w1": "hidden", "w_gate": "hidden", "w_up": "up"}
"""What the rows of each matrix that meets x make."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One formula, in the colour of a concept."""

    concept: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A title, formulas below it, and a remark in words."""

    title: str
    lines: tuple[Line, ...] = ()
    remark: str = ""
    idle: bool = False
    """Whether it only says how to begin."""
    neuron: int | None = None
    """The neuron that it follows from key to value."""


def panel(
    trace: Trace | GatedTrace,
    position: int,
    neuron: int | None,
    look: Look | None,
    *,
    other: Trace | GatedTrace | None = None,
    names: Names | None = None,
) -> Panel:
    """What to say: about the number looked at, else the neuron followed, else how to begin.

    `other` is the trace that is drawn beside, under another nonlinearity.
    """
    names = names or Names()
    if look is not None and look.array.endswith("_other") and other is not None:
        trace = other
    found = settle(look, trace, position) if look is not None else None
    if found is not None:
        return _about(trace, position, *found, names)
    if neuron is not None:
        return _neuron(trace, position, neuron, names.neuron(neuron))
    return Panel(
        title="Point at any number to see where it comes from.",
        remark="Click x or any weight to type another value, or drag it sideways: every number after it follows. "
        f"Click a number of hidden to follow that neuron through. {names.about}".rstrip(),
        idle=True,
    )


def _about(
    trace: Trace | GatedTrace, position: int, name: str, index: tuple[int, ...], names: Names
) -> Panel:
    array = array_of(trace, name)
    assert array is not None
    here = place(name, index, float(array[index]))
    if name in ("hidden", "up", "activated"):
        return _neuron(trace, index[0], index[1], f"{names.neuron(index[1])}: {here}")
    if name in ("output", "residual"):
        p, i = index
        return Panel(
            title=f"{here}, {names.feature(i)}",
            lines=sums(trace, p, i),
            remark=_sum_remark(trace, p, i, names),
        )
    if name == "b1":
        j = index[0]
        return _neuron(trace, position, j, f"{names.neuron(j)}: {here} is added to every match of its key")
    if name == "b2":
        i = index[0]
        return Panel(
            title=f"{here} is added to {names.feature(i)} of every output", lines=sums(trace, position, i)
        )
    if name in KEYS:
        j, i = index
        term = explain(trace, KEYS[name], position, j).terms[i]
        met, added = short_number(term.factors[1]), short_number(term.product)
        title = f"{names.neuron(j)}: {here} meets x[{position}][{i}] = {met} and adds {added} to {KEYS[name]}"
        return _neuron(trace, position, j, title)
    if name in VALUES:
        i, j = index
        term = explain(trace, "output", position, i).terms[j]
        fires, writes = short_number(term.factors[1]), short_number(term.product)
        return Panel(
            title=f"{names.neuron(j)}: {here}, fires at {fires} and so writes {writes} to {names.feature(i)}",
            lines=(_fires(trace, position, j), *sums(trace, position, i)[:1]),
        )
    p, i = index
    matrices = "W_gate and of W_up" if isinstance(trace, GatedTrace) else "W1"
    return Panel(
        title=f"{here}, {names.feature(i)} of the input at position {p}",
        lines=sums(trace, p, i)[1:],
        remark=f"Every key reads it with its weight in column {i} of {matrices}, and it goes past the FFN to be added back.",
    )


def place(name: str, index: tuple[int, ...], value: float) -> str:
    """An entry and its number: "w1[0][2] = 0.3".

    All digits of what was typed; 12 of what was computed, since the last ones are what rounding left there.
    """
    typed = name == "x" or name in WEIGHTS
    number = full_number(value if typed else float(f"{value:.12g}"))
    return f"{name}{''.join(f'[{i}]' for i in index)} = {number}"


def _fires(trace: Trace | GatedTrace, position: int, j: int) -> Line:
    return Line(concept="activated", text=explain(trace, "activated", position, j).text)


def _neuron(trace: Trace | GatedTrace, position: int, j: int, title: str) -> Panel:
    hidden, fires = explain(trace, "hidden", position, j), explain(trace, "activated", position, j)
    up = (
        (Line(concept="hidden", text=explain(trace, "up", position, j).text),)
        if isinstance(trace, GatedTrace)
        else ()
    )
    value = trace.ffn.w2[:, j]
    shown = ", ".join(short_number(float(v)) for v in value[:8]) + (", ..." if len(value) > 8 else "")
    strength = short_number(fires.value)
    return Panel(
        title=title,
        lines=(
            Line(concept="hidden", text=hidden.text),
            *up,
            Line(concept="activated", text=fires.text),
            Line(
                concept="values",
                text=f"adds {strength} · value {j} = {strength} · [{shown}] to output[{position}]",
            ),
        ),
        remark=_gated_remark(trace, position, j)
        if isinstance(trace, GatedTrace)
        else _neuron_remark(trace, hidden.value, fires.value),
        neuron=j,
    )


def _gated_remark(trace: GatedTrace, position: int, j: int) -> str:
    gate, up, fires = (float(stage[position, j]) for stage in (trace.gate, trace.up, trace.activated))
    label = activation(trace.ffn.activation).label
    if fires == 0:
        closed = f"{label} closes the gate" if gate == 0 else "its up key finds nothing"
        return f"Here {closed}: this neuron is silent and adds nothing to the output."
    met = f"gate {short_number(gate)} times up {short_number(up)}"
    if fires < 0:
        return f"It fires negatively ({met}): its value is written backwards."
    if gate < 0:
        return f"Gate and up are both negative ({met}), and so it fires positively."
    return f"The gate lets up through ({met}): its value is written in proportion."


def _neuron_remark(trace: Trace, hidden: float, fires: float) -> str:
    label = activation(trace.ffn.activation).label
    if trace.ffn.activation == "identity":
        return (
            "No nonlinearity: what the key finds is passed on as it is, so two linear maps in a row are one."
        )
    if fires == 0:
        return f"{label} passes nothing here: this neuron is silent and adds nothing to the output."
    if hidden < 0 and fires < 0:
        return f"A negative hidden value: {label} lets a little through, so its value is written backwards. ReLU would pass 0."
    return f"The key matches x: {label} lets it fire, and its value is written in proportion."


def sums(trace: AnyTrace, position: int, i: int) -> tuple[Line, ...]:
    """How coordinate i of output and of x + output came about."""
    output, residual = explain(trace, "output", position, i), explain(trace, "residual", position, i)
    return Line(concept="output", text=output.text), Line(concept="output", text=residual.text)


def _sum_remark(trace: Trace | GatedTrace, position: int, i: int, names: Names) -> str:
    terms = explain(trace, "output", position, i).terms
    j = max(range(len(terms)), key=lambda k: abs(terms[k].product))
    return f"{names.neuron(j)} contributes most to this coordinate: {short_number(terms[j].product)}."


# ---------------------------------------------------------------- the walk


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of the walk through the FFN: its name and one sentence with the numbers at hand."""

    name: str
    sentence: str


def steps(trace: Trace | GatedTrace, position: int, names: Names | None = None) -> tuple[Step, ...]:
    """Expand, activate or gate, contract, add back, told for one position."""
    gated = isinstance(trace, GatedTrace)
    return (
        Step(name="Expand", sentence=_expand(trace)),
        Step(name="Gate" if gated else "Activate", sentence=_activate(trace, position)),
        Step(name="Contract", sentence=_contract(trace)),
        add_back(trace, position, names or Names()),
    )


def add_back(trace: AnyTrace, position: int, names: Names) -> Step:
    """The last step, which all networks share."""
    output = trace.output[position]
    i = int(np.argmax(np.abs(output)))
    push = short_number(float(output[i]))
    return Step(
        name="Add back",
        sentence="The output is added to x, not put in its place: "
        f"the FFN's strongest push here is {push} on {names.feature(i)}.",
    )


def _expand(trace: Trace | GatedTrace) -> str:
    d_model, d_ff = trace.ffn.d_model, trace.ffn.d_ff
    if isinstance(trace, GatedTrace):
        return (
            f"Each of the {d_ff} neurons has two keys, a row of W_gate and a row of W_up, and x meets both: "
            f"{d_model} numbers become {d_ff} for the gates (hidden) and {d_ff} to pass through them (up)."
        )
    return (
        f"Each of the {d_ff} keys (the rows of W1) is multiplied with x and summed, plus its bias: "
        f"{d_model} numbers become {d_ff} scores, one for each neuron."
    )


def _contract(trace: Trace | GatedTrace) -> str:
    matrix, bias = ("W_down", "") if isinstance(trace, GatedTrace) else ("W2", ", and b2 is added")
    return (
        f"Every neuron adds its value (its column of {matrix}) as strongly as it fires{bias}: "
        f"{trace.ffn.d_ff} numbers become {trace.ffn.d_model} again, the shape of x."
    )


def _activate(trace: Trace | GatedTrace, position: int) -> str:
    d_ff = trace.ffn.d_ff
    hidden, fired = trace.hidden[position], trace.activated[position]
    label = activation(trace.ffn.activation).label
    silent = int(np.sum(fired == 0))
    if isinstance(trace, GatedTrace):
        opens = (
            "The gate has no nonlinearity: hidden itself is multiplied with up"
            if trace.ffn.activation == "identity"
            else f"{label} of hidden says how far each gate opens, and is multiplied with up"
        )
        backwards = int(np.sum(fired < 0))
        return (
            f"{opens}: {d_ff - silent - backwards} of {d_ff} neurons fire positively, {backwards} negatively, "
            f"and {silent} not at all."
        )
    if trace.ffn.activation == "identity":
        return f"No nonlinearity is chosen, so all {d_ff} scores pass unchanged and the whole FFN is one linear map."
    n_positive = int(np.sum(hidden > 0))
    negative = hidden < 0
    through = float(np.min(fired[negative])) if negative.any() else 0.0
    kept = (
        f"the lowest comes out as {short_number(through)}"
        if through < 0
        else f"{silent} neurons pass exactly 0"
    )
    return (
        f"{label} decides, neuron by neuron, how hard each one fires: {n_positive} of {d_ff} scores are positive"
        + (f"; {int(negative.sum())} are negative, and {kept}." if negative.any() else ".")
    )
