"""Counting: choose a model, change a size, move the context length; the picture follows and the link keeps it."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Locator, expect

from ffn_core.shape_scenario import ShapeScenario
from tests.browser.visitor import Visit, Visitor

pytestmark = pytest.mark.browser


class CountingVisitor(Visitor):
    """A visitor of the page, in the words of its boxes and charts."""

    def ready(self) -> "CountingVisitor":
        for title in ("Where the parameters live", "One token's cost"):
            expect(self.chart(title).locator(".main-svg").first).to_be_visible()
        return self

    def box(self, label: str) -> Locator:
        """The box of a size, also when its label says that it is changed."""
        return self.page.get_by_role("spinbutton", name=label)

    def type_in(self, label: str, value: str) -> None:
        self.box(label).fill(value)
        self.box(label).press("Enter")

    @property
    def slider(self) -> Locator:
        return self.page.get_by_role("slider", name="Your context length")

    def wait_for_shape(self, wanted: ShapeScenario) -> None:
        """Wait until the address bar holds this shape."""

        def holds(url: str) -> bool:
            found, _ = ShapeScenario.from_query(dict(parse_qsl(urlsplit(url).query)))
            return found == wanted

        self.page.wait_for_url(holds, wait_until="commit")

    def where_the_line_stands(self) -> float:
        x: float = self.chart("One token's cost").evaluate("chart => chart.layout.shapes[0].x0")
        return x


@pytest.fixture
def counting(visit: Visit):
    def open_page(query: str = "", **options) -> CountingVisitor:
        plain = visit(None, **options)
        visitor = CountingVisitor(plain.page, plain.address)
        visitor.open(f"/counting{query}")
        return visitor

    return open_page


def test_a_model_is_chosen_a_size_changed_the_length_moved_and_a_reload_keeps_all(counting):
    visitor = counting()
    page = visitor.page
    page.get_by_label("Example").select_option("llama-2-7b")
    expect(visitor.box("d_ff")).to_have_value("11008")
    expect(
        page.get_by_text("64.2% of all 6.74 billion parameters are in the FFNs")
    ).to_be_visible()  # case C5

    visitor.type_in("d_ff", "16384")
    wanted = ShapeScenario(base="llama-2-7b").edit(("d_ff", (), 16384))
    visitor.wait_for_shape(wanted)
    expect(page.get_by_text("Changed from Llama 2 7B: d_ff 11,008 → 16,384.")).to_be_visible()
    expect(page.get_by_text("w_gate: d_ff·d_model = 16,384·4,096 = 67,108,864")).to_be_visible()

    visitor.slider.focus()
    visitor.keyboard.press("ArrowRight")
    expect(visitor.chart("at 1,280 tokens")).to_be_visible()
    assert visitor.where_the_line_stands() == 1280
    page.wait_for_url("**t=1280*")
    expect(page.get_by_role("spinbutton", name="or type it")).to_have_value("1280")

    page.reload()
    visitor.ready()
    visitor.wait_for_shape(wanted)
    expect(visitor.box("d_ff")).to_have_value("16384")
    expect(visitor.chart("at 1,280 tokens")).to_be_visible()


def test_undo_takes_the_size_back_and_redo_makes_it_again(counting):
    visitor = counting()
    visitor.type_in("d_ff", "4096")
    visitor.wait_for_shape(ShapeScenario().edit(("d_ff", (), 4096)))
    expect(visitor.box("d_ff")).to_be_focused()  # it is the same box still, though its label now has a mark
    visitor.button("Undo").click()
    visitor.wait_for_shape(ShapeScenario())
    expect(visitor.box("d_ff")).to_have_value("3072")
    visitor.button("Redo").click()
    expect(visitor.box("d_ff")).to_have_value("4096")


def test_a_size_that_does_not_fit_is_told_and_the_picture_stays(counting):
    visitor = counting()
    chart = visitor.page.get_by_role("figure", name="GPT-2 small live: FFN 56.7 million")
    expect(chart).to_be_visible()
    visitor.type_in("d_model", "770")
    expect(visitor.page.get_by_text("d_model must be a multiple of n_heads, got 770 and 12")).to_be_visible()
    expect(chart).to_be_visible()
    visitor.type_in("Heads", "14")
    visitor.wait_for_shape(
        ShapeScenario().edit(("together", (), (("d_model", (), 770), ("n_heads", (), 14))))
    )
    expect(visitor.page.get_by_text("d_model must be")).to_have_count(0)


def test_the_slider_goes_on_with_the_arrow_keys_and_passes_a_typed_length(counting):
    visitor = counting("?t=1000")
    visitor.slider.focus()
    for tokens in ("1,024", "1,280", "1,536"):
        visitor.keyboard.press("ArrowRight")
        expect(visitor.chart(f"at {tokens} tokens")).to_be_visible()
    expect(visitor.slider).to_be_focused()


def test_a_press_on_a_curve_puts_the_length_there(counting):
    visitor = counting()
    chart = visitor.chart("One token's cost")
    chart.scroll_into_view_if_needed()
    x, y = chart.evaluate(
        """chart => {
            const box = chart.getBoundingClientRect(), { xaxis, yaxis } = chart._fullLayout;
            return [box.left + xaxis._offset + xaxis.d2p(65536), box.top + yaxis._offset + yaxis.d2p(12 * 9437184)];
        }"""
    )
    visitor.page.mouse.move(x, y)
    chart.locator(".hoverlayer .hovertext").first.wait_for()
    visitor.page.mouse.click(x, y)
    expect(visitor.chart("at 65,536 tokens")).to_be_visible()
    expect(visitor.page.get_by_role("spinbutton", name="or type it")).to_have_value("65536")


def test_causal_moves_the_crossover(counting):
    visitor = counting()
    expect(visitor.chart("One token's cost").get_by_text("scores = FFN at 3,072")).to_be_visible()
    visitor.page.get_by_text("Causal", exact=True).click()
    expect(visitor.chart("One token's cost").get_by_text("scores = FFN at 6,143")).to_be_visible()
    visitor.page.wait_for_url("**h=1*")


def test_a_phone_shows_the_whole_width_and_nothing_over_another(counting):
    visitor = counting(
        "?m=mixtral-8x7b", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    wider = visitor.page.evaluate(
        """() => [document.documentElement, document.body, document.querySelector('[data-testid="stMain"]')]
            .map((e) => e.scrollWidth - e.clientWidth)"""
    )
    assert wider == [0, 0, 0]
    for title in ("Where the parameters live", "One token's cost"):
        chart = visitor.chart(title)
        edges = {}
        for part in (".gtitle", ".bglayer", ".xtitle", ".legend"):
            box = chart.locator(part).first.bounding_box()
            assert box is not None
            assert box["x"] >= 0, (title, part)
            assert box["x"] + box["width"] <= 390, (title, part)
            edges[part] = (box["y"], box["y"] + box["height"])
        assert edges[".gtitle"][1] <= edges[".bglayer"][0], title
        assert edges[".xtitle"][1] <= edges[".legend"][0] + 2, title
