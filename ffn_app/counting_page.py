"""The parts of the page "Parameters and cost": the sizes of a model, its parameters, its FLOPs, its bytes."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import streamlit as st

from ffn_app.figures.counting import STEPS, cost_against_context, where_parameters_live
from ffn_app.live_plot import live_plot
from ffn_app.session import Session, edited
from ffn_app.shell import current, drawn_first, keep, key_showing, look_at, remember_shown, replaced
from ffn_core.count_text import (
    PART_WORDS,
    flop_lines,
    parameter_lines,
    short_bytes,
    short_count,
    short_share,
)
from ffn_core.counting import BYTES, MAX_CONTEXT, MODELS, ModelShape, crossover, memory, model
from ffn_core.examples import lesson_numbers
from ffn_core.matrix_text import short_number
from ffn_core.scenario import Edit, EditError
from ffn_core.shape_scenario import BOUNDS, CHOICES, ShapeScenario

Rows = list[dict[str, str]]


class Control(NamedTuple):
    """What a size is called on the page, and what it is."""

    label: str
    help: str


FIRST = {
    "n_layers": Control("Layers", "n_layers: blocks of attention and FFN, one after the other."),
    "d_model": Control("d_model", "Width of the residual stream: how many numbers stand for one token."),
    "d_ff": Control("d_ff", "Width of the FFN's hidden layer; of one expert, where there are several."),
    "n_heads": Control("Heads", "n_heads: heads of attention in each layer. d_model is a multiple of it."),
    "vocab_size": Control(
        "Vocabulary", "vocab_size: tokens that the model knows, a row of d_model numbers each."
    ),
}
"""The sizes that are always in sight."""
MORE = {
    "The FFN": {
        "gated": Control("Gated", "Three matrices, w_gate, w_up and w_down, in place of w1 and w2."),
        "ffn_bias": Control("Biases in the FFN", "b1 and b2."),
        "n_experts": Control(
            "Experts", "n_experts: FFNs in each layer, among which a router chooses. 1: no router."
        ),
        "top_k": Control("Experts a token uses", "top_k."),
    },
    "Attention": {
        "n_kv_heads": Control(
            "Heads of K and V", "n_kv_heads: fewer than heads where groups of them share attention's K and V."
        ),
        "d_head": Control("Width of a head", "d_head: d_model / heads, unless it is set here."),
        "attention_bias": Control("Biases in attention", "b_q, b_k, b_v and b_o."),
        "n_decoder_layers": Control(
            "Decoder layers", "n_decoder_layers: of all layers, those that attend to an encoder as well."
        ),
    },
    "Norms and embeddings": {
        "norm": Control("Norm", "LayerNorm has a gain and a bias, RMSNorm a gain."),
        "n_norms": Control("Norms in a layer", "n_norms."),
        "final_norm": Control("Norm at the end", "One more after the last layer."),
        "embedding_norm": Control("Norm of the embeddings", "BERT has one."),
        "tied": Control(
            "Tied embeddings", "The head multiplies by the token embeddings, not by a matrix of its own."
        ),
        "n_positions": Control(
            "Learned positions", "n_positions: rows of the table of positions; 0 for rotary ones."
        ),
        "n_token_types": Control("Token types", "n_token_types: BERT tells two sentences apart."),
        "pooler": Control("Pooler", "BERT's last matrix, d_model by d_model with a bias."),
    },
}
CONTROLS = FIRST | {name: control for group in MORE.values() for name, control in group.items()}
BOX_WIDTH = 156

REFUSED = "counting_refused"


class Refused(NamedTuple):
    """Sizes that were typed and do not fit the shape of `scenario`, by field.

    They stay in their boxes and are tried again with what is typed next: for 770 as d_model the heads must change too.
    """

    scenario: ShapeScenario
    values: dict[str, Any]


def refused(scenario: ShapeScenario) -> dict[str, Any]:
    """The sizes that were refused while this was the scenario."""
    kept = st.session_state.get(REFUSED)
    return kept.values if isinstance(kept, Refused) and kept.scenario == scenario else {}


@drawn_first()
def sizes_and_parameters(session: Session) -> None:
    """The sizes, each to change, and where the parameters live."""
    scenario: ShapeScenario = session.present
    shape, pending = scenario.build(), refused(scenario)
    changed = [name for name, differs in scenario.changes().items() if differs]
    _boxes(FIRST, shape, pending, scenario)
    with st.expander("More sizes: gate, experts, heads of K and V, norms, embeddings", key="counting_more"):
        for title, group in MORE.items():
            st.markdown(f"**{title}**")
            _boxes(group, shape, pending, scenario)
    _what_is_changed(scenario, shape, changed)
    live_plot(where_parameters_live(shape), key="parameters")
    st.write(in_words(shape))


def _boxes(
    group: dict[str, Control], shape: ModelShape, pending: dict[str, Any], scenario: ShapeScenario
) -> None:
    switches = [name for name in group if CHOICES.get(name) == (False, True)]
    for names in ([name for name in group if name not in switches], switches):
        with st.container(horizontal=True):
            for name in names:
                _box(name, group[name], shape, pending, scenario)
    for name in (name for name in group if name in pending):
        try:
            scenario.edit(Edit(name, (), pending[name]))
        except EditError as error:
            st.error(f"{error}. {group[name].label} {_said(getattr(shape, name))} is still counted.")


def _box(
    name: str, control: Control, shape: ModelShape, pending: dict[str, Any], scenario: ShapeScenario
) -> None:
    choices, now = CHOICES.get(name, ()), getattr(shape, name)
    value, start = pending.get(name, now), model(scenario.base)
    label, help = control
    if now != (before := getattr(start, name)):
        label, help = f"**{label}** ✎", f"{help} Changed: {start.title} has {_said(before)}."
    number = choices.index(value) if choices else value
    key = key_showing(f"counting_{name}", number)

    def typed() -> None:
        if replaced(f"counting_{name}", key):
            return
        now = st.session_state[key]
        remember_shown(f"counting_{name}", choices.index(now) if choices else now)
        try_size(name, now)

    if name == "norm":
        st.selectbox(
            label, choices, number, format_func=_said, help=help, key=key, on_change=typed, width=BOX_WIDTH
        )
    elif choices:
        st.toggle(label, value, help=help, key=key, on_change=typed)
    else:
        least, most = BOUNDS[name]
        st.number_input(
            label,
            least,
            most,
            value,
            _step(name, shape),
            help=help,
            key=key,
            on_change=typed,
            width=BOX_WIDTH,
        )


def _step(name: str, shape: ModelShape) -> int:
    """How far the buttons of a box go: for d_model to the next multiple of the heads."""
    return {"d_model": shape.n_heads, "d_ff": 64, "vocab_size": 1000, "n_positions": 256}.get(name, 1)


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else {"layernorm": "LayerNorm", "rmsnorm": "RMSNorm"}[value]


def try_size(name: str, value: Any) -> None:
    """Make an edit of what was typed, together with what was refused before; or of each that fits by itself."""
    session = current()
    waiting = {**refused(session.present), name: value}
    if value == getattr(session.present.build(), name):
        del waiting[name]
    for fields in (tuple(waiting), (name,), *((other,) for other in waiting)):
        edits = tuple(Edit(field, (), waiting[field]) for field in fields if field in waiting)
        if not edits:
            continue
        with suppress(EditError):  # the page says why, beside the box
            session = edited(session, edits[0] if len(edits) == 1 else Edit("together", (), edits))
            waiting = {field: kept for field, kept in waiting.items() if field not in fields}
    keep(session)
    st.session_state[REFUSED] = Refused(session.present, waiting)


def _what_is_changed(scenario: ShapeScenario, shape: ModelShape, changed: Sequence[str]) -> None:
    start = model(scenario.base)
    if not changed:
        st.caption(f"{start.title}. Source: {start.source}.")
        return
    told = ", ".join(
        f"{CONTROLS[name].label} {_said(getattr(start, name))} → **{_said(getattr(shape, name))}**"
        for name in changed
    )
    st.write(f"Changed from {start.title}: {told}.")


def in_words(shape: ModelShape) -> str:
    """The FFN's share of the parameters in a few sentences."""
    counted = shape.parameters()
    layer = shape.layers()[-1]
    told = (
        f"**{short_share(counted.ffn_share)}** of all {short_count(counted.total)} parameters are in the FFNs: "
        f"{short_count(counted.ffn)}, **{short_number(counted.ffn / counted.attention)} times** attention's "
        f"{short_count(counted.attention)}. Within one {layer.name} the FFN has "
        f"{short_share(layer.parts['ffn'] / layer.total)}."
    )
    if counted.inactive:
        told += (
            f" But a token uses only {shape.top_k} of {shape.n_experts} experts: "
            f"**{short_count(counted.active)}** parameters are active, "
            f"{short_share(counted.active / counted.total)} of all."
        )
    return told


@drawn_first(hears="cost")
def cost(session: Session) -> None:
    """FLOPs a token against the context length, read at the reader's own."""
    shape, length, causal = session.present.build(), session.view.length, session.view.causal
    _choose_length(shape, length, causal)
    live_plot(cost_against_context(shape, length=length, causal=causal), key="cost", hears_views=True)
    flops = shape.flops(length, causal)
    gauges = st.columns(4)
    gauges[0].metric(
        "The FFN's share of the FLOPs", short_share(flops.ffn_share), help=f"At {length:,} tokens of context."
    )
    gauges[1].metric(
        "FLOPs for one token", short_count(flops.total),
        help="All layers, forward pass. A multiplication with its addition counts as 2.",
    )  # fmt: skip
    gauges[2].metric(
        "Attention costs as much from", _from(crossover(shape, projections=True, causal=causal)),
        help="Attention with its projections, against the FFN.",
    )  # fmt: skip
    gauges[3].metric(
        "Its scores alone from", _from(crossover(shape, causal=causal)),
        help="QKᵀ and AV, against the FFN.",
    )  # fmt: skip
    lines = flop_lines(shape, length, causal)
    apart = lines.pop("apart")
    st.code("\n".join(line for part in lines.values() for line in part), language=None, wrap_lines=True)
    st.caption(f"n is the context length. Not in the total: {'; '.join(apart)}.")


def _choose_length(shape: ModelShape, length: int, causal: bool) -> None:
    slider, box, mask = (
        key_showing(f"counting_{name}", shown)
        for name, shown in (("slider", length), ("length", length), ("causal", causal))
    )

    def moved() -> None:
        if not replaced("counting_slider", slider):
            remember_shown("counting_slider", st.session_state[slider])
            look_at(length=st.session_state[slider])

    def typed() -> None:
        if not replaced("counting_length", box):
            remember_shown("counting_length", st.session_state[box])
            look_at(length=st.session_state[box])

    def masked() -> None:
        if not replaced("counting_causal", mask):
            remember_shown("counting_causal", st.session_state[mask])
            look_at(causal=st.session_state[mask])

    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.select_slider(
            "Your context length, in tokens",
            sorted({*STEPS, length}),
            length,
            format_func=_said,
            key=slider,
            on_change=moved,
            help="Each step is a quarter of the way to twice the length. Or press on a curve.",
        )
        st.number_input("or type it", 1, MAX_CONTEXT, length, key=box, on_change=typed, width=170)
        st.toggle(
            "Causal", causal, key=mask, on_change=masked,
            help="A token sees only itself and those before it, as in a model that writes.",
        )  # fmt: skip
    told = (
        "Causal: token i looks at itself and the i − 1 before it; counted is the mean over the n tokens, (n + 1)/2 looked at."
        if causal
        else "Not causal: every token looks at all n tokens of the context, as the last one of a full context does."
    )
    if 0 < shape.n_positions < length:
        told += f" This model has embeddings for {shape.n_positions:,} positions: longer contexts are arithmetic only."
    st.caption(told)


def formulas(session: Session) -> None:
    """Every part of the parameters as its formula with the numbers plugged in."""
    for part, lines in parameter_lines(session.present.build()).items():
        name = PART_WORDS.get(part, part)
        st.markdown(f"**{name[0].upper()}{name[1:]}**")
        st.code("\n".join(lines), language=None, wrap_lines=True)
    if session.present == ShapeScenario(base="lesson"):
        st.markdown("**The lesson's print**")
        st.table(lesson_rows(), hide_index=True)


def lesson_rows() -> Rows:
    """What the first lesson prints about parameters, and the same counted here."""
    return [
        {
            "": row.where[0].upper() + row.where[1:],
            "the lesson prints": row.printed[0],
            "counted": f"{int(row.right[0]):,}" if row.right[0].is_integer() else f"{row.right[0]:.4f}",
        }
        for row in lesson_numbers()
        if "parameters" in row.where
    ]


def memory_table(session: Session) -> None:
    """The bytes of all parameters."""
    counted = session.present.build().parameters()
    st.table(memory_rows(counted.total), hide_index=True)
    held = " All experts must be in memory, also those that a token does not use." if counted.inactive else ""
    st.caption(
        f"All {short_count(counted.total)} parameters, and nothing else: no activations, no cache of attention's K and V, "
        f"no scales of the quantization to int8. A GB is 10⁹ bytes, a GiB 2³⁰.{held}"
    )


def memory_rows(n_parameters: int) -> Rows:
    """A row for each type of number."""
    return [
        {
            "stored as": dtype,
            "bytes a parameter": str(each),
            "bytes": f"{(size := memory(n_parameters, dtype)):,}",
            "in powers of 1000": short_bytes(size),
            "in powers of 1024": short_bytes(size, binary=True),
        }
        for dtype, each in BYTES.items()
    ]


def comparison(session: Session) -> None:
    """Every published model, and on top the shape on the page if it is none of them."""
    shape, causal = session.present.build(), session.view.causal
    own = [shape] if shape not in MODELS.values() else []
    st.table(model_rows([*own, *MODELS.values()], causal), hide_index=True)
    st.caption(
        "Active: the parameters that take part in one token. Crossover: the context length at which attention costs as "
        "much as the FFN, its scores alone, or with its projections; "
        + ("causal, as set above." if causal else "not causal, as set above.")
    )
    # Beside the numbers they would make the table a screen high for each model on a phone.
    with st.expander("Where the sizes come from"):
        st.markdown("\n".join(f"- **{shape.title}**: {shape.source}." for shape in MODELS.values()))


def model_rows(shapes: Sequence[ModelShape], causal: bool) -> Rows:
    """A row for each model."""
    rows = []
    for shape in shapes:
        counted = shape.parameters()
        rows.append(
            {
                "model": shape.title,
                "FFN, one layer": f"{counted.ffn_per_layer:,}",
                "all parameters": f"{counted.total:,}",
                "FFN's share": short_share(counted.ffn_share),
                "active": f"{counted.active:,}",
                "crossover, scores": f"{crossover(shape, causal=causal):,}",
                "with projections": f"{crossover(shape, projections=True, causal=causal):,}",
            }
        )
    return rows


def _from(length: int) -> str:
    """The context length of a crossover in words; attention that costs more from the first token on has none."""
    return "the first token on" if length == 1 else f"{length:,} tokens"
