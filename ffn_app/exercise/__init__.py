"""Exercises in the browser: what is to do, an editor, a Python that runs there, and the marks that are kept there."""
