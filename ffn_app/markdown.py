"""Visitors' words inside of what Streamlit reads as Markdown."""

import re

_JOINER = "\u2060"
"""It takes no room; behind a dot, a colon or an at sign it keeps an address from becoming a link."""


def literal(text: str) -> str:
    """`text` so that Markdown shows it as it stands: no link, no picture, no icon, no formula, no bold."""
    return re.sub(r"[!-/:-@\[-`{-~]", lambda sign: f"\\{sign[0]}" + _JOINER * (sign[0] in ".:@"), text)
