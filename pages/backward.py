"""Backward: the gradients beside the arrays, checked, and one step down."""

from ffn_app import backward_page as parts
from ffn_app.shell import open_page

session = open_page("Backward")
parts.gradients(session)
parts.one_gradient_step(session)
parts.who_learns(session)
parts.check_it(session)
