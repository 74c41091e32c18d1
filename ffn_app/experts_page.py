"""The parts of the page "Experts": the router and its settings, one token's mixture, the load, and one expert."""

import numpy as np
import streamlit as st

from ffn_app.board.component import render_board
from ffn_app.board.data import live_board
from ffn_app.board.mixture import ordinal
from ffn_app.board.names import names_of
from ffn_app.board.table import change_table
from ffn_app.figures.experts import (
    balance_formula,
    load,
    mixture,
    numbered,
    parameter_formulas,
    routing,
)
from ffn_app.live_plot import live_plot
from ffn_app.markdown import literal
from ffn_app.session import Session, apply
from ffn_app.shell import (
    change,
    choose_position,
    current,
    drawn_first,
    keep,
    key_showing,
    look_at,
    remember_shown,
    replaced,
)
from ffn_core.examples import VARIANTS
from ffn_core.explain import explain
from ffn_core.matrix_text import short_number
from ffn_core.moe import MoE, MoETrace, expert_capacity, route
from ffn_core.scenario import MAX_EXPERTS, Edit, Scenario

ROUTING = "routing"
ONE_EXPERT = "one_expert"
MOST_FACTOR = 4.0
"""As far as the slider of the capacity goes; a link may hold a greater factor."""
MOST_LINES = 16

WHAT_IT_IS = (
    "A **mixture of experts** keeps several feed-forward networks, the experts, and uses only a few of them for each token. "
    "The **router** scores every expert for the token and chooses the best; their outputs are added, each times its weight. "
    "The others compute nothing for this token."
)


def names_of_experts(scenario: Scenario) -> tuple[str, ...]:
    """What to call each expert: "nouns" where the example names it, else "expert 1"."""
    named = names_of(scenario).experts
    return tuple(named[e] if e < len(named) else f"expert {e}" for e in range(len(scenario.arrays["router"])))


def _traced(session: Session) -> MoETrace:
    moe, x = session.present.build()
    trace: MoETrace = moe.forward(x)
    return trace


# ---------------------------------------------------------------- the router, drawn first


@drawn_first(hears=ROUTING)
def router_lab(session: Session) -> None:
    """The router's settings, and all that follows from them: who goes where, one mixture, the load."""
    trace, experts = _traced(session), names_of_experts(session.present)
    words, position = session.present.words, session.view.position
    settings, who, about_who, one, about_one, shared, about_shared = (st.container() for _ in range(7))
    # The charts are sent first: the browser draws them while the rest is written.
    with who:
        plot = routing(trace, words, experts, position=position, expert=session.view.expert)
        live_plot(plot, key=ROUTING, hears_views=True)
    with one:
        live_plot(mixture(trace, words, experts, names_of(session.present), position=position), key="mixture")
    with shared:
        live_plot(load(trace, experts), key="load")
    with settings:
        st.header("Who goes where")
        _settings(session, trace)
    with about_who:
        st.caption(
            "A row is a token, and its probabilities sum to 1. A numbered mark is an expert that the token goes to: 1 is the "
            "most probable, 2 the next; × is one that it chose in vain: the expert had no room. Solid frame: the chosen "
            "token; dotted: the chosen expert. Press a cell to choose both."
        )
        st.header("One token's output, mixed")
        choose_position(session)
    with about_one:
        _about_one_mixture(trace, position)
        st.header("Is the work shared evenly?")
    with about_shared:
        _about_the_load(trace, experts)


def _settings(session: Session, trace: MoETrace) -> None:
    """Number of experts, top-k, renormalization and capacity: each an edit of the scenario."""
    n_experts, options = trace.moe.n_experts, session.present.options
    most = max(MAX_EXPERTS, session.present.start().build()[0].n_experts)
    many, few, switches, room = st.columns(4)
    with many:
        _slider(
            "n_experts", "Experts", 1, most, n_experts,
            help="How many experts the router chooses from. A new one has random weights; one that is taken away is lost, "
            "and Undo brings it back. With fewer experts than top-k, top-k goes down with them.",
        )  # fmt: skip
    with few:
        _slider(
            "top_k", "Top-k: experts a token goes to", 1, n_experts, int(options["top_k"]),
            help="Each token goes to the top_k experts with the greatest router probability.",
        )  # fmt: skip
    factor = float(options["capacity"])
    with switches:
        _toggle("renormalize", "Weights sum to 1", 1, 0, help=_RENORMALIZE_HELP)
        _toggle("capacity", "Limit tokens per expert", 1.0, 0.0, help=_capacity_help(trace))
    with room:
        shown = min(MOST_FACTOR, max(0.25, factor or 1.0))
        _slider("capacity", "Capacity factor", 0.25, MOST_FACTOR, shown, step=0.25, disabled=not factor)


def _renormalize_help() -> str:
    after, before = (route([2, 1, 0, -1], 2, renormalize).routing_weights for renormalize in (True, False))
    told = [" and ".join(map(short_number, weights.tolist())) for weights in (after, before)]
    return (
        "On: softmax over the chosen experts only, after top-k. Off: softmax over all experts, before top-k, so that "
        f"the weights of the chosen sum to less than 1. For the logits 2, 1, 0, −1 and top 2: on {told[0]}; off {told[1]}, "
        f"which sum to {short_number(float(before.sum()))}."
    )


_RENORMALIZE_HELP = _renormalize_help()


def _capacity_help(trace: MoETrace) -> str:
    here = _capacity_formula(trace, float(trace.moe.capacity or 1.0))
    return (
        "The capacity is the number of tokens that an expert computes at most: ceil(tokens · top_k / n_experts · factor). "
        f"Here that is {here}. A factor of 1 is just enough if the work is shared evenly. Beyond it the least probable "
        "tokens are dropped: the expert adds nothing to them."
    )


def _capacity_formula(trace: MoETrace, factor: float) -> str:
    n_tokens, moe = len(trace.x), trace.moe
    capacity = expert_capacity(n_tokens, moe.n_experts, moe.top_k, factor)
    return f"ceil({n_tokens} · {moe.top_k} / {moe.n_experts} · {factor:g}) = {capacity}"


def _slider(
    option: str,
    label: str,
    low: float,
    high: float,
    value: float,
    *,
    step: float = 1,
    help: str | None = None,
    disabled: bool = False,
) -> None:
    """A slider that edits an option; with nothing to choose from it stands still."""
    name = f"experts_{option}_slider"
    key = key_showing(name, value)

    def moved() -> None:
        if replaced(name, key):
            return
        remember_shown(name, st.session_state[key])
        _set(option, st.session_state[key])

    if low == high:
        high, disabled = high + step, True
    st.slider(label, low, high, value, step, key=key, on_change=moved, help=help, disabled=disabled)


def _toggle(option: str, label: str, on: float, off: float, *, help: str) -> None:
    name = f"experts_{option}_toggle"
    value = bool(current().present.options[option])
    key = key_showing(name, value)

    def moved() -> None:
        if replaced(name, key):
            return
        remember_shown(name, st.session_state[key])
        _set(option, on if st.session_state[key] else off)

    st.toggle(label, value, key=key, on_change=moved, help=help)


def _set(option: str, value: float) -> None:
    change(lambda scenario: scenario.edit(Edit(option, (), value)))


def _about_one_mixture(trace: MoETrace, position: int) -> None:
    """What the weights of the chosen position sum to, and the sum written out."""
    st.write(_sum_of_weights(trace, position))
    worked = st.expander("The same, worked out", key="mixture_worked", on_change="rerun")
    if worked.open:  # of sixteen experts it takes as long as a figure: it is written when it is looked at
        with worked:
            st.code("\n".join(_worked_out(trace, position)), language=None, wrap_lines=True)


def _sum_of_weights(trace: MoETrace, position: int) -> str:
    total = short_number(float(trace.routing_weights[position].sum()))
    if trace.dropped[position].all():
        return "Every expert it chose had no room: the token is dropped everywhere, and its output is 0."
    if trace.dropped[position].any():
        return f"An expert had no room for this token. The other weights do not grow for it: they sum to {total}."
    if not trace.moe.renormalize:
        return f"The weights are the probabilities themselves; they sum to {total}."
    return f"The weights sum to {total}."


def _worked_out(trace: MoETrace, position: int) -> list[str]:
    """The router's logits of the chosen experts, then the output, of a wide one the largest coordinates."""
    largest = np.argsort(-np.abs(trace.output[position]), kind="stable")[:MOST_LINES]
    chosen = trace.chosen[position].tolist()
    return [
        *(explain(trace, "router_logits", position, e).text for e in chosen[:MOST_LINES]),
        *(explain(trace, "output", position, i).text for i in sorted(largest.tolist())),
    ]


def _about_the_load(trace: MoETrace, experts: tuple[str, ...]) -> None:
    """What the load is counted in, who is idle, and the loss that evens it out."""
    moe, loss = trace.moe, trace.balance_loss
    told = (
        f"{len(trace.x)} tokens with top-k {moe.top_k} make {trace.chosen.size} places to share out. "
        f"Dropped: {int(trace.dropped.sum())}."
    )
    if moe.capacity is not None:
        told += f" The capacity is {_capacity_formula(trace, float(moe.capacity))} for each expert."
    if idle := [experts[e] for e in np.flatnonzero(trace.counts == 0)]:
        whose = "Its load is 0, and it adds" if len(idle) == 1 else "Their load is 0, and they add"
        told += f" **Nobody chose {', '.join(idle)}.** {whose} exactly 0 to every output."
    st.write(
        f"{told}\n\n**Load** is an expert's share of all those places, **importance** the mean of its probability over the "
        f"tokens.\n\n**Balance loss** = n_experts · Σ load · importance = {balance_formula(trace)}. Training adds it, times a "
        f"small factor, to what it minimizes. {_what_the_loss_says(moe)}"
    )  # one text: each element of a part costs a few milliseconds to draw again
    st.caption(
        "Load is counted before drops, and sums to 1 for any top_k. Mixtral's code in the library transformers counts it "
        "as a share of the tokens, so that it sums to top_k: there the loss is "
        f"top_k times this, here {moe.top_k} · {short_number(loss)} = {short_number(moe.top_k * loss)}."
    )


# ---------------------------------------------------------------- one expert


def one_expert(session: Session) -> None:
    """The chosen expert: which tokens it got, and its own network."""
    trace, experts = _traced(session), names_of_experts(session.present)
    st.header("One expert")
    _choose_expert(session, experts)
    st.write(_tokens_of(trace, session.present.words, experts, session.view.expert))
    render_board(live_board(session, "expert"), key="expert_board")


def _what_the_loss_says(moe: MoE) -> str:
    if moe.top_k == moe.n_experts:
        return "Here every token goes to every expert, so it is always 1."
    most = f"n_experts / top_k = {moe.n_experts} / {moe.top_k} = {short_number(moe.n_experts / moe.top_k)}"
    return f"It is 1 when all experts get equally much, and at most {most}, when every token goes to the same {moe.top_k}."


def _choose_expert(session: Session, experts: tuple[str, ...]) -> None:
    key = key_showing("choose_expert", session.view.expert)

    def chosen() -> None:
        if replaced("choose_expert", key):
            return
        remember_shown("choose_expert", st.session_state[key])
        look_at(expert=st.session_state[key])

    st.selectbox(
        "Expert",
        range(len(experts)),
        index=session.view.expert,
        format_func=numbered(experts).__getitem__,
        key=key,
        on_change=chosen,
    )


def _tokens_of(trace: MoETrace, words: tuple[str, ...], experts: tuple[str, ...], expert: int) -> str:
    at, slots = np.nonzero(trace.chosen == expert)
    got = [
        f"{literal(words[p])} ({ordinal(slot)}, weight {short_number(float(trace.routing_weights[p, slot]))})"
        for p, slot in zip(at.tolist(), slots.tolist(), strict=True)
        if not trace.dropped[p, slot]
    ]
    dropped = [
        literal(words[p])
        for p, slot in zip(at.tolist(), slots.tolist(), strict=True)
        if trace.dropped[p, slot]
    ]
    if not len(at):
        return f"No token chose **{experts[expert]}**: its load is 0, and it adds exactly 0 to every output."
    told = f"**{experts[expert]}** computes {len(got)} of {len(words)} tokens: {', '.join(got) or 'none'}."
    return told + (f" It had no room for {', '.join(dropped)}." if dropped else "")


# ---------------------------------------------------------------- one expert alone, and counts


def alone_is_dense(session: Session) -> None:
    """The chosen expert as a mixture of one, beside the same network by itself."""
    st.header("One expert alone is a dense FFN")
    moe, x = session.present.build()
    expert, position = session.view.expert, session.view.position
    network = moe.experts[expert]
    alone = MoE(router=moe.router[[expert]], experts=[network], top_k=1).forward(x).output
    dense = network.forward(x).output
    difference = float(np.abs(alone - dense).max())
    name = names_of_experts(session.present)[expert]
    st.write(
        f"Leave the router only **{name}**, with top-k 1: softmax over one number is 1, so every token goes there with "
        f"weight 1. The greatest difference from the same network without a router, over all {len(x)} tokens and "
        f"{moe.d_model} coordinates, is **{short_number(difference)}**."
    )
    numbers = {"mixture of one": alone[position], "the network itself": dense[position]}
    st.dataframe(
        [
            {f"output for “{session.present.words[position]}”": name}
            | {str(i): short_number(value) for i, value in enumerate(values[:MOST_LINES].tolist())}
            for name, values in numbers.items()
        ],
        hide_index=True,
    )
    if session.present.base != ONE_EXPERT:
        title, _, _ = VARIANTS[ONE_EXPERT].title.rpartition(",")
        st.button(
            f"Open “{title}”",
            help="The lesson's worked example as a mixture of one expert: its output is the lesson's.",
            on_click=_open_one_expert,
        )


def _open_one_expert() -> None:
    keep(apply(current(), {"kind": "base", "name": ONE_EXPERT}))


def counts(session: Session) -> None:
    """All parameters against those that one token meets."""
    st.header("Many parameters, few at work")
    trace = _traced(session)
    moe, (every, active) = trace.moe, parameter_formulas(trace)
    whole, used = st.columns(2)
    whole.metric("All parameters", f"{moe.n_parameters:,}")
    whole.caption(every)
    used.metric(
        "Active for one token",
        f"{moe.n_active_parameters:,}",
        f"{moe.n_active_parameters / moe.n_parameters:.1%} of all",
        delta_color="off",
        delta_arrow="off",
    )
    used.caption(active)
    st.caption(
        "More experts add parameters, but not work for a token: that grows with top-k. The page “Counting” does the same for "
        "whole models, Mixtral among them."
    )


def what_changed(session: Session) -> None:
    """Array by array the differences from the starting point, made when they are looked at."""
    part = st.expander("What changed since the start", key="experts_changed", on_change="rerun")
    if part.open:
        with part:
            st.dataframe(change_table(session.present), hide_index=True)
