"""A phone held upright: usable with a thumb, and nothing to scroll sideways."""

import pytest
from playwright.sync_api import expect

from tests.browser.visitor import Visit, Visitor

pytestmark = pytest.mark.browser


@pytest.fixture
def phone(visit: Visit) -> Visitor:
    return visit(
        "/", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, device_scale_factor=2
    )


def test_a_phone_shows_the_whole_width(phone: Visitor):
    for path in ("/", "/weights"):
        phone.open(path)
        wider = phone.page.evaluate(
            """() => [document.documentElement, document.body, document.querySelector('[data-testid="stMain"]')]
                .map((e) => e.scrollWidth - e.clientWidth)"""
        )
        assert wider == [0, 0, 0], path
        for name in ("x", "w1", "hidden", "activated", "w2", "output", "residual"):
            box = phone.array(name).bounding_box()
            assert box is not None
            assert 0 <= box["x"] < box["x"] + box["width"] <= 390, (path, name)


def test_a_weight_can_be_tapped_and_changed(phone: Visitor):
    cell = phone.cell("w1[0][0]")
    box = cell.bounding_box()
    assert box is not None
    assert min(box["width"], box["height"]) >= 24, "large enough for a thumb (WCAG 2.5.8)"
    cell.tap()
    expect(phone.editor).to_be_focused()
    font = phone.editor.evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
    assert font >= 16, "below 16 px iOS zooms the page in"
    phone.keyboard.type("0.9")
    phone.keyboard.press("Enter")
    phone.shows("hidden", "1.23 0.37 0.63 0.57 0.51 0.61 0.39 0.49")


def test_the_cell_being_edited_is_in_sight(phone: Visitor):
    phone.cell("w2[3][7]").tap()
    hit = phone.editor.evaluate(
        """(editor) => {
            const box = editor.getBoundingClientRect();
            const top = editor.getRootNode().elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
            return top === editor;
        }"""
    )
    assert hit, "something covers the editor"


def test_a_thumb_drawn_sideways_nudges(phone: Visitor):
    cell = phone.cell("w1[0][0]")
    cell.scroll_into_view_if_needed()
    box = cell.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    screen = phone.page.context.new_cdp_session(phone.page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        screen.send(
            "Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": a, "y": b} for a, b in points]}
        )

    touch("touchStart", (x, y))
    for distance in range(10, 81, 10):
        touch("touchMove", (x + distance, y))
    # 80 pixels are 20 steps of 0.01; x[0] is 1, so hidden[0] = 0.43 follows by the same 0.2 while the thumb is down.
    phone.holds("w1[0][0]", "0.3")
    expect(phone.cells("hidden").first).to_have_text("0.63")
    touch("touchEnd")
    phone.button("Undo").tap()
    phone.holds("w1[0][0]", "0.1")
