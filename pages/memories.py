"""Memories: the FFN as keys that match and values that are written."""

import streamlit as st

from ffn_app import as_wanted
from ffn_app import memories_page as parts
from ffn_app.board.component import render_board
from ffn_app.board.data import fits_neuron_lines, live_board
from ffn_app.shell import open_page

session = open_page("Key-value memories")
ffn, x = session.present.build()
trace = ffn.forward(x)

in_lines = fits_neuron_lines(session.present)
render_board(live_board(session, "neurons" if in_lines else "hourglass"), key="board")
drawn = (
    "W2 is drawn transposed here, so that each line is one memory: a line that lights up fires."
    if in_lines
    else "So many neurons have no line each: the hourglass is drawn, and the heatmap below shows which fire."
)
st.caption(
    "Row j of W1 is key j, a pattern that x is compared with; column j of W2 is value j, what is written when it matches. "
    f"{drawn}"
)
with st.container():  # keeps its place, also when it is empty, so that the charts below are not made anew
    if found := as_wanted.rows(session.present, trace):
        st.table(found, hide_index=True, width="content")
        st.caption(as_wanted.told(found))
parts.who_fires(session, trace)
parts.in_detail(session)
