"""GELU and ReLU: read the curves anywhere, and see the network's own neurons on them."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.visitor import Visit, Visitor

pytestmark = pytest.mark.browser

EXAMPLES = pytest.mark.parametrize("example", ["lesson", "random"])


class CurvesVisitor(Visitor):
    """A visitor of the page, in the words of its charts."""

    def ready(self) -> "CurvesVisitor":
        for title in ("Curves", "Shaded", "The neurons", "Before and after"):
            expect(self.chart(title).locator(".main-svg").first).to_be_visible()
        return self

    def neurons(self) -> list[tuple[float, float]]:
        """The points (hidden, activated) as the chart draws them."""
        found: list[tuple[float, float]] = self.chart("The neurons").evaluate(
            """chart => {
                const { x, y } = chart._fullData.find((trace) => trace.name === "neurons");
                return Array.from(x, (value, j) => [value, y[j]]);
            }"""
        )
        return found

    @property
    def readings(self) -> Locator:
        """The table of all curves at one x."""
        return self.page.get_by_test_id("stTable").first

    def row(self, curve: str) -> Locator:
        return self.readings.locator("tr", has=self.page.get_by_role("cell", name=curve, exact=True))


@pytest.fixture
def curves(visit: Visit):
    def open_example(example: str, **more: str) -> CurvesVisitor:
        plain = visit(None)
        visitor = CurvesVisitor(plain.page, plain.address)
        visitor.open(f"/curves?ex={example}" + "".join(f"&{name}={value}" for name, value in more.items()))
        return visitor

    return open_example


@EXAMPLES
def test_choosing_another_nonlinearity_moves_the_points_with_the_same_weights(curves, example):
    visitor = curves(example)
    before = visitor.neurons()
    visitor.page.get_by_role("button", name="ReLU", exact=True).click()
    expect(visitor.chart("The neurons on ReLU, position 0")).to_be_visible()
    after = visitor.neurons()
    assert [hidden for hidden, _ in after] == [hidden for hidden, _ in before]
    assert [activated for _, activated in after] == [max(0, hidden) for hidden, _ in before]
    assert after != before


def test_the_points_of_the_worked_example_are_its_hidden_and_activated_values(curves):
    hidden, activated = zip(*curves("lesson").neurons(), strict=True)
    assert hidden == pytest.approx([0.43, 0.37, 0.63, 0.57, 0.51, 0.61, 0.39, 0.49])
    assert activated == pytest.approx(
        [0.2865, 0.2384, 0.4634, 0.4079, 0.3544, 0.4447, 0.2542, 0.3371], abs=5e-5
    )


@EXAMPLES
def test_a_typed_x_reads_every_curve_at_once(curves, example):
    visitor = curves(example)
    typed = visitor.page.get_by_label("Read at x =")
    typed.fill("-1")
    typed.press("Enter")
    # Case N1.
    expect(visitor.row("GELU")).to_contain_text("−0.1587")
    expect(visitor.row("ReLU")).to_contain_text("0")
    expect(visitor.row("GELU − GELU tanh")).to_contain_text("0.0001528")
    expect(visitor.chart("Shaded: Φ(−1) = 0.1587")).to_be_visible()
    visitor.page.wait_for_url("**x=-1*")


@EXAMPLES
def test_dragging_the_handle_reads_the_curves_where_it_is_let_go(curves, example):
    visitor = curves(example)
    chart = visitor.chart("Curves")
    start, end = visitor.place(chart, 1, 2.5), visitor.place(chart, -2, 2)
    visitor.page.mouse.move(*start)
    visitor.page.mouse.down()
    visitor.page.mouse.move(*end, steps=4)
    visitor.page.mouse.up()
    expect(visitor.row("GELU")).to_contain_text("−0.04")
    visitor.page.wait_for_url("**x=-*")
    [reading] = parse_qs(urlsplit(visitor.page.url).query)["x"]
    assert float(reading) == pytest.approx(-2, abs=0.05)
    assert len(reading.partition(".")[2]) <= 2, "no more digits than a hand would set"
    expect(visitor.page.get_by_label("Read at x =")).to_have_value(reading)
    top, bottom = chart.evaluate("chart => [chart.layout.shapes[0].y0, chart.layout.shapes[0].y1]")
    assert (top, bottom) == (0, 1), "a handle dragged downwards is put straight again"


def drag(visitor: CurvesVisitor, x: float, to: float) -> None:
    """Drag the handle from its place at x to another, which may lie beyond the plot."""
    chart = visitor.chart("Curves")
    start, end = visitor.place(chart, x, 2.5), visitor.place(chart, to, 2)
    visitor.page.mouse.move(*start)
    visitor.page.mouse.down()
    visitor.page.mouse.move(*end, steps=4)
    visitor.page.mouse.up()


def handle(visitor: CurvesVisitor) -> float:
    x: float = visitor.chart("Curves").evaluate("chart => chart._fullLayout.shapes[0].x0")
    return x


def test_a_drag_beyond_the_edge_ends_at_the_edge(curves):
    visitor = curves("lesson")
    for start in (1, 4):  # the second time that is no news to Python, and the handle comes back all the same
        drag(visitor, start, 4.4)
        visitor.page.wait_for_url("**x=4*")
        expect(visitor.row("ReLU")).to_contain_text("4")
        assert handle(visitor) == 4


def test_an_emptied_field_keeps_its_last_number(curves):
    visitor = curves("lesson", x="1.5", a="-2,3")
    for label, number in (("Read at x =", "1.5"), ("x from", "-2"), ("to", "3")):
        field = visitor.page.get_by_label(label, exact=True)
        field.fill("")
        field.press("Enter")
        expect(field).to_have_value(number)
    typed = visitor.page.get_by_label("Read at x =")
    typed.fill("2")
    typed.press("Enter")
    visitor.page.wait_for_url("**x=2&a=-2,3*")


def test_what_is_set_is_still_there_after_a_reload(curves):
    visitor = curves("lesson")
    visitor.page.get_by_role("combobox", name="Curves").fill("SiLU")
    visitor.page.get_by_role("option", name="SiLU").click()
    visitor.keyboard.press("Escape")
    visitor.page.wait_for_url("**f=relu,gelu,silu*")
    end = visitor.page.get_by_label("to", exact=True)
    end.fill("6")
    end.press("Enter")
    visitor.page.wait_for_url("**a=-4,6*")
    visitor.page.get_by_text("largest first", exact=True).click()
    visitor.page.wait_for_url("**b=1*")
    visitor.page.reload()
    visitor.ready()
    expect(visitor.row("SiLU")).to_be_visible()
    expect(visitor.page.get_by_label("to", exact=True)).to_have_value("6")
    expect(visitor.page.get_by_role("radio", name="largest first")).to_be_checked()


def test_another_nonlinearity_of_the_network_is_drawn_and_read_in_sight_of_the_header(curves):
    visitor = curves("lesson")
    expect(visitor.row("GELU tanh (this network's)")).to_be_in_viewport()
    visitor.page.get_by_role("button", name="SiLU", exact=True).click()
    expect(visitor.row("SiLU (this network's)")).to_be_in_viewport()
    legend = visitor.chart("Curves").locator(".legend2text", has_text="SiLU (this network's)")
    expect(legend).to_be_in_viewport()


@pytest.mark.parametrize("width", [1280, 1024])
def test_the_names_of_all_chosen_curves_and_the_bells_title_are_whole(curves, width):
    visitor = curves(
        "lesson", f="relu,gelu,gelu_tanh,gelu_quick,silu,sigmoid,tanh,relu2,identity", x="-2.345"
    )
    visitor.page.set_viewport_size({"width": width, "height": 768})
    last = visitor.page.get_by_test_id("stMultiSelect").locator("[data-tag]", has_text="identity")
    expect(last).to_be_in_viewport(ratio=1)
    title = visitor.chart("Shaded")
    over = title.evaluate(
        """chart => chart.querySelector(".gtitle").getBoundingClientRect().right - chart.getBoundingClientRect().right"""
    )
    assert over <= 0


@pytest.mark.parametrize("neuron", [0, 2, 511])
def test_the_followed_neurons_name_is_whole_wherever_its_bar_stands(curves, neuron):
    visitor = curves("random", n=str(neuron))
    outside = visitor.chart("Before and after").evaluate(
        """chart => {
            const name = chart.querySelector(".shape-label").getBoundingClientRect();
            const plot = chart.querySelector(".bglayer").ownerSVGElement.getBoundingClientRect();
            const { xaxis } = chart._fullLayout, left = plot.left + xaxis._offset;
            return [left - name.left, name.right - (left + xaxis._length)];
        }"""
    )
    assert max(outside) <= 2


def test_a_press_on_a_curve_reads_it_there(curves):
    visitor = curves("lesson")
    at = visitor.place(visitor.chart("Curves"), 3, 3)
    visitor.page.mouse.move(*at)
    visitor.page.mouse.click(*at)
    expect(visitor.row("ReLU")).to_contain_text("3")
    visitor.page.wait_for_url("**x=3*")


@EXAMPLES
def test_a_press_on_a_point_follows_its_neuron(curves, example):
    visitor = curves(example)
    points = visitor.neurons()
    neuron = points.index(max(points))  # the rightmost stands alone
    at = visitor.place(visitor.chart("The neurons"), *points[neuron])
    visitor.page.mouse.move(*at)
    expect(visitor.chart("The neurons").locator(".hoverlayer")).to_contain_text(f"Neuron {neuron}")
    visitor.page.mouse.click(*at)
    visitor.page.wait_for_url(f"**n={neuron}*")
    for title in ("The neurons", "Before and after"):
        expect(visitor.chart(title).locator(".shape-label")).to_have_text(f"neuron {neuron}")
    expect(visitor.page.get_by_label("Neuron", exact=True).first).to_have_value(f"Neuron {neuron}")


def test_bars_can_be_sorted_and_stay_sorted_when_another_page_was_open(curves):
    visitor = curves("random")
    visitor.page.get_by_text("largest first", exact=True).click()
    falling = """() => {
        const chart = [...document.querySelectorAll(".js-plotly-plot")].find((c) => c._fullData?.[0]?.type === "bar");
        const y = Array.from(chart?._fullData[0].y ?? []);
        return y.length === 512 && y.every((value, i) => i === 0 || value <= y[i - 1]);
    }"""
    visitor.page.wait_for_function(falling)
    visitor.page.get_by_role("link", name="Hourglass").click()
    expect(visitor.cell("w1[0][0]")).to_be_visible()
    visitor.page.get_by_role("link", name="GELU and ReLU").click()
    visitor.ready()
    visitor.page.wait_for_function(falling)


def test_more_curves_can_be_chosen_and_are_read_too(curves):
    visitor = curves("lesson")
    visitor.page.get_by_role("combobox", name="Curves").fill("SiLU")
    visitor.page.get_by_role("option", name="SiLU").click()
    visitor.keyboard.press("Escape")  # the list
    expect(visitor.row("SiLU")).to_contain_text("0.7311")  # 1 times the logistic function of 1
    expect(visitor.chart("Curves").locator(".legendtext", has_text="SiLU")).to_be_visible()


def test_a_range_from_right_to_left_is_refused_beside_its_cause_and_the_last_one_stays(curves):
    visitor = curves("lesson")
    panels = visitor.page.get_by_role("figure", name="Three panels")
    start = visitor.page.get_by_label("x from")
    start.fill("-2")
    start.press("Enter")
    expect(panels).to_have_attribute("aria-label", re.compile("from x = −2 to 4"))
    start.fill("5")
    start.press("Enter")
    expect(visitor.page.get_by_role("alert")).to_contain_text("−2 to 4 is still drawn")
    expect(panels).to_have_attribute("aria-label", re.compile("from x = −2 to 4"))


@EXAMPLES
def test_with_identity_the_page_shows_the_one_matrix_that_is_left(curves, example):
    visitor = curves(example, act="identity")
    expect(visitor.chart("W2 · W1")).to_be_visible()
    rank = {"lesson": "2 of at most 4", "random": "128 of at most 128"}[example]
    expect(visitor.page.get_by_role("cell", name=rank)).to_be_visible()


def test_the_page_explains_the_one_matrix_also_while_there_is_a_nonlinearity(curves):
    visitor = curves("lesson")
    visitor.page.get_by_text("What if there were no nonlinearity?").click()
    expect(visitor.chart("W2 · W1, 4 by 4")).to_be_visible()
    expect(visitor.chart("W2 · W1").locator(".heatmap-label, .hm text").first).to_be_attached()
