"""Plotly figures that move with edits: one persistent chart around Plotly.react, without remounting."""

from ffn_app.live_plot.component import live_plot

__all__ = ["live_plot"]
