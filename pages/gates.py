"""Gates: a gated FFN, in which each neuron has two keys and one value."""

import streamlit as st

from ffn_app import gates_page as parts
from ffn_app.board.component import render_board
from ffn_app.board.data import fits_neuron_lines, live_board
from ffn_app.memories_page import as_a_sum, who_fires
from ffn_app.shell import open_page

session = open_page("Gates", family="gated")
ffn, x = session.present.build()
trace = ffn.forward(x)

render_board(
    live_board(session, "neurons" if fits_neuron_lines(session.present) else "hourglass"), key="board"
)
st.write(parts.TWO_QUESTIONS)
parts.gates_at_work(session)
who_fires(session, trace)
as_a_sum(session, trace)
parts.matched_parameters(session)
parts.published_quality()
parts.what_changed(session)
