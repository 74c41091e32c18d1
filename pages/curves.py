"""GELU and ReLU: why a smooth curve is not a corner, on the scenario's own neurons."""

import streamlit as st

from ffn_app import curve_tables as tables
from ffn_app.curves_page import curve_lab, neurons_of_the_network
from ffn_app.figures.curves import one_matrix
from ffn_app.live_plot import live_plot
from ffn_app.shell import open_page
from ffn_core.curves import linear_map

session = open_page("GELU and ReLU")
ffn, x = session.present.build()
curve_lab(session)

st.header("This network's neurons on the curve")
neurons_of_the_network(session)

st.header("The lesson's tables beside the computed numbers")
st.table(tables.lesson_rows(), hide_index=True)
st.caption(tables.lesson_words())
st.table(tables.property_rows(), hide_index=True)

none = st.expander(
    "What if there were no nonlinearity?", expanded=ffn.activation == "identity", on_change="rerun"
)
if none.open:
    with none:
        st.write(tables.without_nonlinearity(ffn))
        linear = linear_map(ffn)
        matrix, words = st.columns(2)
        with matrix:
            live_plot(one_matrix(linear), key="one_matrix")
        with words:
            st.table(tables.without_rows(ffn, x, linear), hide_index=True)
            st.dataframe(tables.both_ways_rows(ffn, x, linear, session.view.position), hide_index=True)
