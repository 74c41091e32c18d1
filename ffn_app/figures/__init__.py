"""Pure functions from ffn_core's objects to Plotly figures; no Streamlit here.

Each returns a `Drawing`: the figure, a text alternative, and a table of its numbers. Colours are the theme's for
light paper; the browser puts in their twins on dark paper.
"""

from ffn_app.figures.drawing import Drawing

__all__ = ["Drawing"]
