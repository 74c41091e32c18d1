"""One position at a time: the same weights at every position, and none looks at another."""

import streamlit as st

from ffn_app.board.component import render_board
from ffn_app.board.data import live_board
from ffn_app.positions_page import changed_columns, convolving, mixing, shuffling, suggest_example
from ffn_app.shell import open_page

session = open_page("One position at a time")
suggest_example(session)
render_board(live_board(session), key="board")

st.subheader("Change one position: only its column changes")
changed_columns(session)

if len(session.present.words) > 1:
    st.subheader("What mixing would look like")
    mixing(session)
    st.subheader("Shuffle the positions: the outputs shuffle with them")
    shuffling(session)
    st.subheader("The same as a convolution of kernel 1")
    convolving(session)
