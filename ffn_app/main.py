"""The script that Streamlit runs for every visitor: page titles and navigation."""

import sys
from pathlib import Path

import streamlit as st

ROOT = Path(__file__).parent.parent
# Pages import ffn_core and ffn_app from the checkout, from wherever the server was started.
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

page = st.navigation(
    [
        st.Page(ROOT / "pages/hourglass.py", title="Hourglass", default=True),
        st.Page(ROOT / "pages/weights.py", title="Weights", url_path="weights"),
        st.Page(ROOT / "pages/curves.py", title="GELU and ReLU", url_path="curves"),
        st.Page(ROOT / "pages/memories.py", title="Memories", url_path="memories"),
        st.Page(ROOT / "pages/positions.py", title="One position at a time", url_path="positions"),
        st.Page(ROOT / "pages/gates.py", title="Gates", url_path="gates"),
        st.Page(ROOT / "pages/experts.py", title="Experts", url_path="experts"),
        st.Page(ROOT / "pages/counting.py", title="Counting", url_path="counting"),
        st.Page(ROOT / "pages/backward.py", title="Backward", url_path="backward"),
        st.Page(ROOT / "pages/learning.py", title="Learning", url_path="learning"),
        st.Page(ROOT / "pages/traps.py", title="Traps", url_path="traps"),
        st.Page(ROOT / "pages/exercises.py", title="Exercises", url_path="exercises"),
    ],
    position="top",
)
st.set_page_config(
    page_title="Hourglass" if page.title == "Hourglass" else f"{page.title} · Hourglass",
    page_icon="⏳",
    layout="wide",
    initial_sidebar_state="collapsed",
)
page.run()
