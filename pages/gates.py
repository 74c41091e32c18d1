"""Gates."""

from ffn_app.shell import open_page

session = open_page("Gates", family="gated")
