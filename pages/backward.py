"""Backward: the gradients beside the arrays, checked, and one step down."""

from ffn_app.shell import open_page

session = open_page("Backward")
