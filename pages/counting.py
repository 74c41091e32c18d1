"""Parameters and cost: what the FFNs of a model weigh and work, beside its attention and embeddings."""

import streamlit as st

from ffn_app import counting_page as parts
from ffn_app.shell import open_page

session = open_page("Parameters and cost", family="shape")
parts.sizes_and_parameters(session)

st.header("What one token costs")
parts.cost(session)

st.header("Counted step by step")
parts.formulas(session)

st.header("Memory")
parts.memory_table(session)

st.header("The models side by side")
parts.comparison(session)
