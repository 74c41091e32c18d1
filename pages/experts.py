"""Experts."""

from ffn_app.shell import open_page

session = open_page("Experts", family="experts")
