"""Home: the whole FFN as an hourglass, every number live."""

from ffn_app.board.component import render_board
from ffn_app.board.data import live_board
from ffn_app.lesson import lesson_notes, worked_out
from ffn_app.shell import open_page

session = open_page("The hourglass")
render_board(live_board(session), key="board")
worked_out(session.present)
lesson_notes(session.present)
