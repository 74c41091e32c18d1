"""The live board: a component that draws named arrays as heat cells and edits them in place."""

from ffn_app.board.component import render_board

__all__ = ["render_board"]
