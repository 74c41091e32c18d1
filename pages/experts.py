"""Experts: a router sends each token to a few of many feed-forward networks."""

import streamlit as st

from ffn_app import experts_page as parts
from ffn_app.board.component import render_board
from ffn_app.board.data import live_board
from ffn_app.shell import open_page

session = open_page("Mixture of experts", family="experts")
st.write(parts.WHAT_IT_IS)
render_board(live_board(session, "experts"), key="board")
parts.router_lab(session)
parts.one_expert(session)
parts.alone_is_dense(session)
parts.counts(session)
parts.what_changed(session)
