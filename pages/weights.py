"""Weights: every number editable, beside what it was at the starting point."""

import streamlit as st

from ffn_app.board.component import render_board
from ffn_app.board.data import comparison_board, live_board
from ffn_app.board.table import change_table
from ffn_app.shell import open_page
from ffn_app.weight_tools import note_size_change, weight_tools

session = open_page("The weights")
weight_tools(session)
render_board(live_board(session), key="board")

st.header("Before and after")
shown = st.segmented_control(
    "Compared with the starting point", ["Difference", "Starting point"], default="Difference", key="compared"
)
if (note := note_size_change(session)) is not None:
    st.caption(note)
render_board(comparison_board(session, difference=shown != "Starting point"), key="comparison")
st.dataframe(change_table(session.present), hide_index=True)
