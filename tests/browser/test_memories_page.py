"""Memories: follow a neuron anywhere and see it everywhere, switch it off, and see what is left of the output."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, WebSocketRoute, expect

from ffn_app.theme import CONCEPTS, DIVERGING
from tests.browser.visitor import Visit, Visitor

pytestmark = pytest.mark.browser

EXAMPLES = pytest.mark.parametrize("example", ["lesson", "random"])
ACTIVATED_0 = [0.2865, 0.2384, 0.4634, 0.4079, 0.3544, 0.4447, 0.2542, 0.3371]
LIGHT = 0.26  # opacity of the line that lights up most
HEATMAP, CARD, SUM, INTERVENTION = (
    "Which memories fire",
    "at position 0: hidden",
    "as a sum",
    "What the interventions do",
)
STATES = """chart => ({
    range: Array.from(chart._fullLayout.xaxis.range), z: Array.from(chart._fullData[0].z, (row) => Array.from(row)),
})"""


class MemoriesVisitor(Visitor):
    """A visitor of the page, in the words of its charts."""

    def ready(self) -> "MemoriesVisitor":
        super().ready()
        for title in (HEATMAP, SUM):
            expect(self.chart(title).locator(".main-svg").first).to_be_visible()
        return self

    def press(self, chart: Locator, x: float, y: float) -> None:
        at = self.place(chart, x, y)
        self.page.mouse.move(*at)
        expect(chart.locator(".hoverlayer .hovertext").first).to_be_visible()
        self.page.mouse.click(*at)

    @property
    def listed(self) -> Locator:
        """The list of neurons; for a moment the one that it replaces is there as well, after it."""
        return self.page.get_by_label("Neuron", exact=True).first

    def frame(self) -> list[float]:
        """What the heatmap frames: x0, x1, y0, y1."""
        found: list[float] = self.chart(HEATMAP).evaluate(
            "chart => chart.layout.shapes.map(({ x0, x1, y0, y1 }) => [x0, x1, y0, y1])[0]"
        )
        return found

    def follows(self, neuron: int, position: int) -> None:
        """Wait until the list, the card, the heatmap, the board and the link all follow this neuron at this position."""
        expect(self.listed).to_have_value(re.compile(rf"^Neuron {neuron}\b"))
        expect(self.chart(f"Neuron {neuron} ").locator(".gtitle")).to_contain_text(f"at position {position}:")
        expect(self.page.get_by_role("slider", name=f"Strength of neuron {neuron}")).to_be_visible()
        self.frames(neuron, position)
        if self.lights():
            expect(self.button(f"Follow neuron {neuron}")).to_have_attribute("aria-pressed", "true")
        else:
            expect(self.page.get_by_label("Neuron shown large")).to_have_value(str(neuron))
        self.page.wait_for_url(re.compile(rf"[?&]n={neuron}\b"))
        if position:
            self.page.wait_for_url(re.compile(rf"[?&]p={position}\b"))

    def frames(self, neuron: int, position: int) -> None:
        """Wait until the heatmap frames this cell."""
        self.page.wait_for_function(
            """([x, y]) => [...document.querySelectorAll(".hourglass-plot")].some((chart) => {
                const [shape] = chart.layout?.shapes ?? [];
                return shape && shape.x0 === x - 0.5 && shape.x1 === x + 0.5 && shape.y0 === y - 0.5 && shape.y1 === y + 0.5;
            })""",
            arg=[neuron, position],
        )

    def lights(self) -> list[float]:
        """How brightly the neurons' lines are lit."""
        rects = self.board.locator(".bands g.curve > rect[opacity]")
        found: list[float] = rects.evaluate_all(
            "all => all.map((rect) => Number(rect.getAttribute('opacity')))"
        )
        return found

    def bars(self) -> list[tuple[float, str]]:
        """The bars at the ends of the lines: how wide, and in which colour."""
        rects = self.board.locator(".bands g.curve > rect:not([opacity])")
        return [
            (width, colour)
            for width, colour in rects.evaluate_all(
                "all => all.map((rect) => [Number(rect.getAttribute('width')), rect.getAttribute('fill')])"
            )
        ]


@pytest.fixture
def memories(visit: Visit):
    def open_example(example: str = "lesson", view: str = "", **options: Any) -> MemoriesVisitor:
        plain = visit(None, **options)
        visitor = MemoriesVisitor(plain.page, plain.address)
        visitor.open(f"/memories?ex={example}{view}")
        return visitor

    return open_example


# The drawing


def test_a_line_lights_up_as_its_memory_fires_and_its_bar_is_as_long(memories):
    visitor = memories()
    # All values of the lesson are equally long, so that light and bar go with activated; neuron 2 fires hardest.
    shares = [activated / 0.4634 for activated in ACTIVATED_0]
    assert visitor.lights() == pytest.approx([LIGHT * share for share in shares], abs=1e-3)
    widths = [width for width, _ in visitor.bars()]
    assert [width / max(widths) for width in widths] == pytest.approx(shares, abs=1e-3)


def test_a_memory_that_takes_away_has_a_bar_of_the_other_colour(memories):
    visitor = memories(view="&p=1")
    colours = [colour for _, colour in visitor.bars()]
    # At the second position GELU lets neurons 2 and 5 through as -0.0098 and -0.0146.
    assert [j for j in range(8) if colours[j] != colours[0]] == [2, 5]


def test_every_line_has_its_key_and_its_value_level_with_its_neuron(memories):
    visitor = memories()
    for j in (0, 7):
        rows = [visitor.cell(f"{name}[{j}]").bounding_box()["y"] for name in ("b1",)]
        for name in (f"w1[{j}][0]", f"hidden[0][{j}]", f"activated[0][{j}]", f"w2[0][{j}]", f"w2[3][{j}]"):
            assert visitor.cell(name).bounding_box()["y"] == pytest.approx(rows[0], abs=1), name


def test_a_value_is_edited_in_its_line_and_the_output_follows(memories):
    visitor = memories()
    visitor.edit("w2[2][5]", "1.1")  # 1 more than it was, and neuron 5 fires with 0.4447
    visitor.shows("output", "0.421 0.415 0.87 0.411")
    visitor.wait_for_link(lambda scenario: [tuple(e) for e in scenario.edits] == [("w2", (2, 5), 1.1)])


def test_128_to_512_is_drawn_as_the_hourglass_with_a_neuron_shown_large(memories):
    visitor = memories("random", "&n=300")
    assert visitor.lights() == []
    expect(visitor.cell("w1[300][0]")).to_be_visible()
    expect(visitor.cell("w2[0][300]")).to_be_visible()


# A neuron followed


def test_a_click_on_hidden_follows_its_neuron_everywhere(memories):
    visitor = memories()
    visitor.cell("hidden[0][5]").click()
    visitor.follows(5, 0)


def test_a_second_click_lets_the_neuron_go_everywhere(memories):
    visitor = memories(view="&n=5")
    assert visitor.frame() == [4.5, 5.5, -0.5, 0.5]
    visitor.button("Follow neuron 5").click()
    expect(visitor.page.get_by_text("Choose a neuron here, on the board, or in the heatmap")).to_be_visible()
    expect(visitor.listed).to_have_value("")
    visitor.page.wait_for_url(lambda url: "n=5" not in url)
    heatmap = visitor.chart(HEATMAP).element_handle()
    visitor.page.wait_for_function("chart => !chart.layout.shapes[0].visible", arg=heatmap)


def test_a_press_is_marked_in_the_heatmap_and_on_the_board_before_the_server_answers(visit):
    plain = visit(None)
    visitor = MemoriesVisitor(plain.page, plain.address)
    held: list[bool] = []

    def through(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        socket.on_message(lambda message: None if held else server.send(message))

    visitor.page.route_web_socket(re.compile("_stcore/stream"), through)
    visitor.open("/memories?ex=random&n=2")
    ring = visitor.board.locator(".ring:visible").first
    before = ring.evaluate("ring => ring.offsetTop")
    held.append(True)
    visitor.press(visitor.chart(HEATMAP), 300, 7)
    visitor.frames(300, 7)
    assert ring.evaluate("ring => ring.offsetTop") > before
    column = visitor.chart(HEATMAP).evaluate(
        "chart => { const { x0, x1, y0, y1, visible } = chart.layout.shapes[1]; return [x0, x1, y0, y1, visible]; }"
    )
    assert column == [299.5, 300.5, -0.5, 15.5, True], "the neuron at every position"
    held.clear()
    visitor.follows(300, 7)


@EXAMPLES
def test_a_press_on_a_cell_of_the_heatmap_follows_its_neuron_at_its_position_everywhere(memories, example):
    visitor = memories(example)
    neuron, position = {"lesson": (5, 1), "random": (300, 7)}[example]
    visitor.press(visitor.chart(HEATMAP), neuron, position)
    visitor.follows(neuron, position)
    expect(visitor.chart(SUM).locator(".gtitle")).to_contain_text(f"at position {position} ")


def test_a_press_on_a_sorted_heatmap_follows_the_neuron_that_stands_there(memories):
    visitor = memories()
    visitor.page.get_by_text("strongest first", exact=True).click()
    expect(visitor.chart(HEATMAP).locator(".xtick text").first).to_have_text("2")  # 0.4634
    visitor.press(visitor.chart(HEATMAP), 1, 0)
    visitor.page.wait_for_url("**n=5*")  # 0.4447
    expect(visitor.listed).to_have_value("Neuron 5")
    assert visitor.frame() == [0.5, 1.5, -0.5, 0.5]


@EXAMPLES
def test_the_list_follows_a_neuron_by_keyboard_alone(memories, example):
    visitor = memories(example)
    neuron = {"lesson": 6, "random": 417}[example]
    visitor.listed.focus()
    visitor.keyboard.type(f"Neuron {neuron}")
    expect(visitor.page.get_by_role("option")).to_have_count(1)
    visitor.keyboard.press("Enter")
    visitor.follows(neuron, 0)


def test_a_press_on_a_part_of_the_sum_follows_its_neuron(memories):
    visitor = memories()
    # Upon b2, which is 0, stands the largest: neuron 2 adds 0.0463 to the first coordinate.
    chart = visitor.chart(SUM)
    chart.scroll_into_view_if_needed()
    at = chart.evaluate(
        """chart => {
            const box = chart.getBoundingClientRect(), { xaxis2: x, yaxis2: y } = chart._fullLayout;
            return [box.left + x._offset + x.l2p(0) + 15, box.top + y._offset + y.l2p(0.02)];
        }"""
    )
    visitor.page.mouse.move(*at)
    expect(chart.locator(".hoverlayer")).to_contain_text("Neuron 2 adds")
    visitor.page.mouse.click(*at)
    visitor.follows(2, 0)


def test_the_card_works_the_numbers_out_in_words_for_a_screen_reader(memories):
    visitor = memories(view="&p=1&n=5")
    # 0.2*0.2 + 0.4*(-0.4) + 0.1*0.6 + 0.3*0.1
    expect(visitor.page.get_by_role("figure", name="hidden[1][5] = 0.2*0.2")).to_have_attribute(
        "aria-label", re.compile(r"0\.2\*0\.2 \+ 0\.4\*\(-0\.4\) \+ 0\.1\*0\.6 \+ 0\.3\*0\.1 \+ 0 = -0\.03\.")
    )


# Interventions


@EXAMPLES
def test_a_neuron_that_is_switched_off_is_missing_from_the_output_until_undo(memories, example):
    visitor = memories(example, "&n=2")
    expect(visitor.chart(INTERVENTION)).to_have_count(0)
    visitor.button("Switch it off").click()
    expect(visitor.chart(INTERVENTION)).to_be_visible()
    expect(visitor.page.get_by_text("Neuron 2 at 0.")).to_be_visible()
    visitor.wait_for_link(lambda scenario: scenario.strengths == {2: 0.0})
    before, after, change = visitor.chart(INTERVENTION).evaluate(
        "chart => chart._fullData.map((t) => Array.from(t.y))"
    )
    assert change == pytest.approx([b - a for a, b in zip(before, after, strict=True)], abs=1e-12)
    assert any(change)
    visitor.button("Undo").click()
    visitor.wait_for_link(lambda scenario: scenario.edits == ())
    expect(visitor.chart(INTERVENTION)).to_have_count(0)


def test_the_output_without_a_neuron_lacks_what_it_added(memories):
    visitor = memories(view="&n=2")
    visitor.button("Switch it off").click()
    # Less 0.4634 * [0.1, 0.2, 0.2, 0.1].
    visitor.shows("output", "0.375 0.322 0.332 0.365")
    visitor.shows("activated", "0.287 0.238 0.463 0.408 0.354 0.445 0.254 0.337")  # its key still matches
    assert visitor.lights()[2] == 0, "its line is dark"
    visitor.button("Undo").click()
    visitor.shows("output", "0.421 0.415 0.425 0.411")


def test_the_slider_sets_a_strength_by_keyboard_that_a_reload_keeps(memories):
    visitor = memories(view="&n=2")
    slider = visitor.page.get_by_role("slider", name="Strength of neuron 2")
    slider.focus()
    visitor.keyboard.press("Home")
    # At strength -1 it takes away what it added: less 2 * 0.4634 * [0.1, 0.2, 0.2, 0.1].
    visitor.shows("output", "0.329 0.229 0.24 0.318")
    visitor.wait_for_link(lambda scenario: scenario.strengths == {2: -1.0})
    visitor.page.reload()
    visitor.ready().shows("output", "0.329 0.229 0.24 0.318")
    expect(slider).to_have_value("-1")
    expect(visitor.chart(INTERVENTION)).to_be_visible()
    visitor.button("Take all of them back").click()
    visitor.shows("output", "0.421 0.415 0.425 0.411")
    visitor.wait_for_link(lambda scenario: scenario.strengths == {})


def test_the_and_gate_is_broken_and_mended_by_its_bias(memories):
    visitor = memories("and_gate", "&p=1&n=0")
    expect(visitor.chart("Neuron 0 (fires where a + b > 1)")).to_be_visible()
    visitor.shows("output", "0 0 0")  # 0 and 1 is no
    expect(visitor.page.get_by_text("Every output is as wanted.")).to_be_visible()
    visitor.edit("b1[0]", "0")
    visitor.shows("output", "0 0 1")  # broken: it counts
    expect(visitor.page.get_by_text("1 of 4 outputs are as wanted.")).to_be_visible()
    expect(visitor.chart("Neuron 0 (fires where a + b > 0)")).to_be_visible()
    visitor.edit("b1[0]", "-1")
    visitor.shows("output", "0 0 0")
    expect(visitor.page.get_by_text("Every output is as wanted.")).to_be_visible()
    visitor.button("Position 3: 1 1").click()
    visitor.shows("output", "0 0 1")  # 1 and 1 is yes


# Charts that stay


def test_an_edit_moves_the_charts_and_keeps_the_readers_zoom_and_the_charts_themselves(memories):
    visitor = memories(view="&n=2")
    charts = [visitor.chart(title) for title in (HEATMAP, CARD, SUM)]
    for chart in charts:
        expect(chart.locator(".main-svg").first).to_be_visible()
        chart.evaluate("chart => { chart.known = true; }")
    heatmap = charts[0]
    visitor.page.mouse.move(*visitor.place(heatmap, 1.6, 0.2))
    visitor.page.mouse.down()
    visitor.page.mouse.move(*visitor.place(heatmap, 5.4, 0.2), steps=4)
    visitor.page.mouse.up()
    visitor.page.wait_for_function(
        "chart => chart._fullLayout.xaxis.range[0] > 1.5", arg=heatmap.element_handle()
    )
    zoomed = heatmap.evaluate(STATES)
    visitor.edit("b1[3]", "1")
    visitor.page.wait_for_function(
        "([chart, before]) => chart._fullData[0].z[0][3] > before + 0.5",
        arg=[heatmap.element_handle(), zoomed["z"][0][3]],
    )
    assert heatmap.evaluate(STATES)["range"] == zoomed["range"]
    visitor.button("Switch it off").click()
    expect(visitor.chart(INTERVENTION)).to_be_visible()
    for chart in charts:
        assert chart.evaluate("chart => chart.known === true"), chart


# For everyone


@pytest.mark.parametrize("look", ["light", "dark"])
def test_axe_finds_no_violation(memories, look):
    visitor = memories(view="&n=2", bypass_csp=True, color_scheme=look)
    visitor.button("Switch it off").click()
    expect(visitor.chart(INTERVENTION).locator(".main-svg").first).to_be_visible()
    visitor.page.mouse.move(0, 0)  # Streamlit writes what is pointed at in its own colour
    assert visitor.violations() == []


@pytest.mark.parametrize("look", ["light", "dark"])
def test_charts_have_the_colours_of_the_paper_that_they_are_on(memories, look):
    visitor = memories(view="&n=2", color_scheme=look)
    frame, scale = visitor.chart(HEATMAP).evaluate(
        "chart => [chart.layout.shapes[0].line.color, chart.data[0].colorscale.map(([, colour]) => colour)]"
    )
    assert frame == CONCEPTS["keys"][look == "dark"]
    assert scale == list(DIVERGING[look])


@EXAMPLES
def test_a_phone_shows_the_page_without_sideways_scrolling(memories, example):
    phone = memories(example, "&n=2", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    expect(phone.chart(CARD).locator(".main-svg").first).to_be_visible()
    for chart in phone.page.locator(".hourglass-plot").all():
        box = chart.bounding_box()
        assert 0 <= box["x"] < box["x"] + box["width"] <= 390
    wider = phone.page.evaluate(
        """() => [document.documentElement, document.body, document.querySelector('[data-testid="stMain"]')]
            .map((e) => e.scrollWidth - e.clientWidth)"""
    )
    assert wider == [0, 0, 0]


OVERLAPS = """chart => {
    const shown = [...chart.querySelectorAll(".annotation-text, .xtick text, .xtitle, .gtitle, .legendtext")]
        .filter((text) => text.textContent.trim() && text.getBoundingClientRect().width)
        .map((text) => [text.textContent, text.getBoundingClientRect()]);
    const found = [];
    const [{ left, right }] = [chart.getBoundingClientRect()];
    for (const [name, box] of shown) if (box.left < left - 1 || box.right > right + 1) found.push(`${name} is cut`);
    for (const [i, [one, a]] of shown.entries()) {
        for (const [other, b] of shown.slice(i + 1)) {
            const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (across > 1 && down > 3) found.push(`${one} / ${other}`);
        }
    }
    return found;
}"""


@pytest.mark.parametrize("width", [390, 1024, 1280])
@pytest.mark.parametrize("example", ["lesson", "and_gate", "random"])
def test_no_text_of_the_card_or_of_the_sum_lies_over_another_or_is_cut(memories, example, width):
    neuron = {"lesson": 2, "and_gate": 0, "random": 511}[example]
    phone = {"has_touch": True, "is_mobile": True} if width == 390 else {}
    visitor = memories(example, f"&n={neuron}", viewport={"width": width, "height": 844}, **phone)
    for title in (CARD, SUM):
        chart = visitor.chart(title)
        expect(chart.locator(".xtitle").first).to_be_visible()
        assert chart.evaluate(OVERLAPS) == [], title


def test_the_legend_of_a_heatmap_with_one_kind_of_flag_says_what_that_means(memories):
    phone = memories(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    expect(phone.chart(HEATMAP).locator(".legendtext")).to_have_text(["always on"])


def test_the_threshold_is_asked_for_in_the_words_of_its_gauge_and_with_its_limits(memories):
    visitor = memories()
    threshold = visitor.page.get_by_role("spinbutton", name="Nearly zero: within … of zero, 0 to 1")
    threshold.fill("0.25")
    threshold.press("Enter")
    expect(visitor.page.get_by_text("Within 0.25 of zero")).to_be_visible()
