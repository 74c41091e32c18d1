"""GELU and ReLU: why a smooth curve is not a corner, on the scenario's own neurons."""

from ffn_app.figures.neurons import before_and_after
from ffn_app.live_plot import live_plot
from ffn_app.shell import open_page

session = open_page("GELU and ReLU")
ffn, x = session.present.build()
trace = ffn.forward(x)
live_plot(before_and_after(trace, session.view.position, neuron=session.view.neuron), key="bars")
