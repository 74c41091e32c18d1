"""Traps: predict, then see what goes wrong, and why."""

import streamlit as st

from ffn_app import traps_page as parts
from ffn_app.shell import open_page

session = open_page("Traps")
st.markdown(parts.WHAT_IT_IS)
parts.choose_trap(session)
parts.open_trap(session)
parts.step_through(session)
