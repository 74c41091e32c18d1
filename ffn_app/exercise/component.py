"""The two components of the page: the shelf of exercises, and the place to work on one."""

from functools import cache
from typing import Any

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer

from ffn_app.assets import module_loader


@cache
def _component(name: str) -> ComponentRenderer:
    base_path = str(st.get_option("server.baseUrlPath") or "")
    return st.components.v2.component(f"hourglass_{name}", js=module_loader(f"exercise/{name}.js", base_path))


def render_shelf(data: dict[str, Any]) -> None:
    """Draw the list of exercises; a press on one goes into the visitor's log of actions."""
    _component("shelf")(data={"shelf": data}, key="shelf")


def render_work(data: dict[str, Any]) -> None:
    """Draw the place to work on one exercise, anew for each. Nothing that is typed there comes back."""
    _component("exercise")(data={"work": data}, key=f"work_{data['name']}")
