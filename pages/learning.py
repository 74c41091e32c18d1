"""Learning: a small FFN learns while you watch."""

from ffn_app.shell import open_page

session = open_page("Learning")
