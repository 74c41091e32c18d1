"""Exercises: by hand, on the live weights, and in code that runs in your own browser."""

from ffn_app import exercises_page as parts
from ffn_app.shell import open_page

session = open_page("Exercises")
parts.shelf(session)
parts.statement(session)
parts.work(session)
parts.hints(session)
