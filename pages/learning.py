"""Learning: a small FFN learns while you watch."""

from ffn_app import learning_page as parts
from ffn_app.shell import open_page

parts.note_settings()
parts.learning_lab(open_page("Learning", own_network=True))
