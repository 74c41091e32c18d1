"""The board as a Streamlit component: data in, and actions back through the frame's log."""

from functools import cache
from typing import Any

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer

from ffn_app.assets import module_loader


@cache
def _component() -> ComponentRenderer:
    base_path = str(st.get_option("server.baseUrlPath") or "")
    return st.components.v2.component("hourglass_board", js=module_loader("board/board.js", base_path))


def render_board(data: dict[str, Any], *, key: str) -> None:
    """Draw `ffn_app.board.data.board`'s data; `key` keeps the same nodes from run to run."""
    # Under one key: Streamlit looks at every value of the outermost mapping for a dataframe.
    _component()(data={"board": data}, key=key)
