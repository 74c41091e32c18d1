"""A Plotly figure as a Streamlit component; presses and drags on it go into the visitor's log of actions."""

from functools import cache
from typing import Any

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer

from ffn_app.assets import module_loader, plotly_address
from ffn_app.figures import Drawing
from ffn_app.theme import dark_twins


@cache
def _component() -> ComponentRenderer:
    base_path = str(st.get_option("server.baseUrlPath") or "")
    return st.components.v2.component(
        "hourglass_plot",
        js=module_loader("live_plot/live_plot.js", base_path),
        isolate_styles=False,  # Plotly puts its styles into the document
    )


def live_plot(drawing: Drawing, *, key: str, hears_views: bool = False, again: float | None = None) -> Any:
    """Draw a figure, with its text alternative, and its numbers one click away.

    Figures are drawn in the theme's colours for light paper; on dark paper the browser puts in their twins.
    `trace.meta = {"press": [...]}` names the view fields that a press on a point sets, from its customdata;
    `layout.meta = {"drag": "reading", "step": 0.01, "within": [-4, 4]}` the one that dragging the first shape sets, in
    steps and within a range. With "neuron" and "position" in `layout.meta` a figure says of which it tells, to all that
    mark them on the page; where there is "columns" as well, the place of every neuron on the x axis, the browser moves
    the first shape as soon as others are chosen.
    `key` is the same from run to run, so that the chart stays. With `hears_views`, changes of the view that a person
    makes anywhere on the page are sent through this chart, and draw again only the fragment that it stands in; returns
    what was sent, for `ffn_app.session.receive`. With `again` the browser asks for the fragment that the chart stands in
    to be run again, so many seconds after it has drawn this figure, which is to be another than the last.
    """
    data = {
        "figure": drawing.to_json(),
        "text": drawing.text,
        "library": plotly_address(str(st.get_option("server.baseUrlPath") or "")),
        "dark_twins": dark_twins(),
        "hears_views": hears_views,
        "again": again,
    }
    result = _component()(
        data={"plot": data}, key=key, on_log_change=lambda: None, on_again_change=lambda: None
    )
    if drawing.rows is not tuple:
        numbers = st.expander("The numbers of this figure", key=f"{key}_numbers", on_change="rerun")
        if numbers.open:  # a long table costs more than the figure: it is sent only when it is looked at
            with numbers:
                st.dataframe(drawing.table, hide_index=True)
    return getattr(result, "log", None)
