"""The frame of every page: title, example, nonlinearity, undo, share; and the visitor's log of actions."""

from functools import cache
from typing import Any

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer

from ffn_app.assets import module_loader

KEY = "hourglass_frame"


@cache
def _component() -> ComponentRenderer:
    base_path = str(st.get_option("server.baseUrlPath") or "")
    return st.components.v2.component("hourglass_frame", js=module_loader("frame/frame.js", base_path))


def render_frame(data: dict[str, Any]) -> Any:
    """Draw the frame; returns the last message that the browser sent, or None."""
    result = _component()(data={"frame": data}, key=KEY, on_log_change=lambda: None)
    return getattr(result, "log", None)
