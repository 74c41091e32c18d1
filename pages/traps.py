"""Traps: predict, then see what goes wrong, and why."""

from ffn_app.shell import open_page

session = open_page("Traps")
