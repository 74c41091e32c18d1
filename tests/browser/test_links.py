"""Everything a person made is in the link: it survives what happens to tabs and servers, and is nobody else's."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from ffn_core.scenario import Scenario
from tests.browser.server import Server
from tests.browser.visitor import Visitor, query

pytestmark = pytest.mark.browser

EDITED = Scenario(edits=(("w1", (0, 0), 0.9), ("b1", (1,), -1.0)))  # type: ignore[arg-type]
EDITED_HIDDEN = "1.23 -0.63 0.63 0.57 0.51 0.61 0.39 0.49"  # 0.43 + 0.8 * 1 and 0.37 - 1
HOSTILE_WORD = "<img src=x onerror=a()>"  # 23 characters: one fewer than a word may have


def test_a_deep_link_opens_right_on_a_server_that_nobody_has_visited(visit, own_server: Server):
    visitor = visit("/weights" + query(EDITED), server=own_server)
    visitor.shows("hidden", EDITED_HIDDEN)
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("The weights")
    expect(visitor.page).to_have_title(re.compile("Weights"))
    expect(visitor.page.get_by_role("link", name="Hourglass")).to_be_visible()
    visitor.holds("w1[0][0]", "0.9")


def test_two_browsers_editing_at_once_see_only_their_own(visit):
    ann, bob = visit("/", locale="en-GB"), visit("/", locale="de-DE")
    assert ann.page.context != bob.page.context
    ann.cell("b1[0]").click()
    bob.cell("b1[0]").click()
    for i in range(4):  # turn about, so that both are under way at the same time
        ann.keyboard.type(f"{i + 1}")
        bob.keyboard.type(f"-{i + 1}")
        ann.keyboard.press("Tab")
        bob.keyboard.press("Tab")
    ann.shows("hidden", "1.43 2.37 3.63 4.57 0.51 0.61 0.39 0.49")
    bob.shows("hidden", "-0.57 -1.63 -2.37 -3.43 0.51 0.61 0.39 0.49")
    for who, sign in ((ann, 1), (bob, -1)):
        who.wait_for_link(lambda scenario: len(scenario.edits) == 4)
        assert list(who.scenario.build()[0].b1[:4]) == [sign, 2 * sign, 3 * sign, 4 * sign]


def test_a_reload_keeps_the_edits_also_the_one_typed_just_before_it(visitor: Visitor):
    visitor.edit("w1[0][0]", "0.9")
    visitor.shows("hidden", "1.23 0.37 0.63 0.57 0.51 0.61 0.39 0.49")
    visitor.edit("b1[1]", "-1")
    visitor.page.reload()
    visitor.ready().shows("hidden", EDITED_HIDDEN)
    visitor.wait_for_link(lambda scenario: len(scenario.edits) == 2)
    visitor.button("Undo").click()  # the history goes on, too
    visitor.shows("hidden", "1.23 0.37 0.63 0.57 0.51 0.61 0.39 0.49")


def test_an_edit_applied_after_a_reload_has_begun_is_not_lost_but_an_older_link_opens_as_it_is(
    visitor: Visitor,
):
    visitor.edit("w1[0][0]", "0.9")
    visitor.wait_for_link(lambda scenario: len(scenario.edits) == 1)
    older = visitor.page.url
    visitor.edit("b1[1]", "-1")
    visitor.wait_for_link(lambda scenario: len(scenario.edits) == 2)
    # The reload opens the address of the moment in which it began, when the second edit was not in it yet.
    visitor.page.evaluate("(older) => { history.replaceState(null, '', older); location.reload(); }", older)
    visitor.ready().shows("hidden", EDITED_HIDDEN)
    visitor.wait_for_link(lambda scenario: len(scenario.edits) == 2)
    visitor.page.goto(older)
    visitor.ready().shows("hidden", "1.23 0.37 0.63 0.57 0.51 0.61 0.39 0.49")


def test_a_page_change_keeps_the_edits_and_the_link(visitor: Visitor):
    visitor.edit("w1[0][0]", "0.9")
    visitor.edit("b1[1]", "-1")
    visitor.page.get_by_role("link", name="Weights").click()
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("The weights")
    visitor.shows("hidden", EDITED_HIDDEN)
    visitor.page.wait_for_url(f"**/weights{query(visitor.scenario)}")
    visitor.wait_for_link(lambda scenario: len(scenario.edits) == 2)
    visitor.edit("b1[1]", "-2")
    visitor.page.get_by_role("link", name="Hourglass").click()
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("The hourglass")
    visitor.shows("hidden", "1.23 -1.63 0.63 0.57 0.51 0.61 0.39 0.49")
    visitor.wait_for_link(lambda scenario: len(scenario.edits) == 3)


def test_what_the_board_has_still_to_send_does_not_lose_the_press_on_another_page(visitor: Visitor):
    # Anything sent for the old page between the press and the new page asks for the old page again.
    for k, (page, title) in enumerate([("Weights", "The weights"), ("Hourglass", "The hourglass")] * 2):
        visitor.edit(f"w1[{k}][0]", "0.9")
        visitor.cell("hidden[0][3]").hover()  # asks for an explanation, a moment later
        visitor.page.get_by_role("link", name=page).click()
        for x in range(300, 600, 50):
            visitor.page.mouse.move(x, 320)
        expect(visitor.page.get_by_role("heading", level=1)).to_have_text(title)
        visitor.ready()
    visitor.wait_for_link(lambda scenario: len(scenario.edits) == 4)


def test_a_server_restart_keeps_the_edits_also_those_typed_meanwhile(visit, own_server: Server):
    # While the server is away the browser itself complains in the console.
    complaints = (
        "WebSocket|ERR_CONNECTION|disconnected from server|reaching server endpoint|server is not responding"
    )
    visitor = visit("/", server=own_server, expected=complaints)
    visitor.edit("w1[0][0]", "0.9")
    visitor.wait_for_link(lambda scenario: len(scenario.edits) == 1)
    own_server.stop()
    visitor.edit("b1[1]", "-1")
    visitor.edit("b1[2]", "2")
    own_server.start()
    visitor.page.set_default_timeout(60_000)  # Streamlit waits longer and longer before it tries again
    visitor.wait_for_link(lambda scenario: len(scenario.edits) == 3)
    visitor.shows("hidden", "1.23 -0.63 2.63 0.57 0.51 0.61 0.39 0.49")
    visitor.edit("b1[3]", "1")
    visitor.shows("hidden", "1.23 -0.63 2.63 1.57 0.51 0.61 0.39 0.49")


def test_sharing_shows_the_link_and_says_that_it_is_a_copy(visitor: Visitor, visit):
    visitor.edit("w1[0][0]", "0.9")
    visitor.edit("b1[1]", "-1")
    visitor.wait_for_link(lambda scenario: len(scenario.edits) == 2)
    visitor.button("Share").click()
    link = visitor.page.get_by_role("textbox", name="Link")
    expect(link).to_have_value(visitor.page.url)
    other = visit(None)
    other.page.goto(link.input_value())
    other.ready().shows("hidden", EDITED_HIDDEN)


def test_what_is_too_long_for_a_link_is_kept_by_the_tab_and_offered_as_a_file(visit):
    # A W1 of 1,024 numbers with 17 digits each: far beyond 8,000 characters.
    many = Scenario(edits=tuple((axis, (), size) for axis, size in (("d_model", 16), ("d_ff", 64))))  # type: ignore[misc]
    visitor = visit("/weights" + query(many))
    visitor.page.evaluate(
        "text => navigator.clipboard.writeText(text)",
        "\n".join("\t".join(str((i * 16 + j) / 7919) for j in range(16)) for i in range(64)),
    )
    visitor.cell("w1[0][0]").focus()
    visitor.keyboard.press("ControlOrMeta+v")
    visitor.holds("w1[0][1]", str(1 / 7919))
    visitor.page.wait_for_url("**/weights?*kept=*")
    visitor.page.wait_for_function("() => sessionStorage.getItem('hourglass-kept')")
    visitor.page.reload()
    visitor.ready().holds("w1[0][1]", str(1 / 7919))
    visitor.button("Share").click()
    with visitor.page.expect_download() as download:
        visitor.button("Save as a file").click()
    assert download.value.suggested_filename == "hourglass.json"


@pytest.mark.parametrize(
    "link",
    [
        "?v=1&e=%00%ff!!!",
        "?v=1&e=dAAAA",
        "?v=1&e=p" + "w0.0_1z" * 3000 + "w99.99_1z",
        "?v=1&e=pw0.0_1e999zw99.0_1zb0_.5z",
        "?v=9&e=pw0.0_1z",
        "?ex=nothing",
        "?ex=" + quote(HOSTILE_WORD),
        "?r=99999-99999-99999-1",
        "?act=" + quote(HOSTILE_WORD),
        "?kept=0123456789abcdef",
    ],
    ids=lambda link: link[:16],
)
def test_a_damaged_or_hostile_link_opens_the_page_with_a_notice(visit, link: str):
    visitor = visit("/" + link)
    notices = visitor.page.locator(".notices")
    expect(notices.locator("p").first).to_be_visible()
    notices.get_by_role("button", name="Dismiss").click()
    expect(notices.locator("p")).to_have_count(0)
    visitor.edit("x[0][0]", "2")
    visitor.holds("x[0][0]", "2")


def test_a_view_out_of_bounds_opens_the_nearest_there_is(visit):
    visitor = visit("/?p=99999&n=99999&s=77&c=x")
    visitor.shows("hidden", "0.16 0.27 -0.02 0.09 0.06 -0.03 0.28 0.19")  # the last position
    expect(visitor.board.locator(".panel .sentence")).to_have_count(0)


@pytest.mark.parametrize("through", ["link", "rename"])
def test_a_word_that_looks_like_html_is_shown_as_text(visit, through: str):
    if through == "link":
        visitor = visit("/" + query(Scenario(edits=(("word", (0,), HOSTILE_WORD),))))  # type: ignore[arg-type]
    else:
        visitor = visit("/")
        visitor.button("Position 0: token 0").click()
        visitor.board.locator("input.rename").fill(HOSTILE_WORD)
        visitor.button("Position 1: token 1").focus()  # leaving the field takes the word
    expect(visitor.board.locator(".chip").first).to_have_text(HOSTILE_WORD)
    visitor.wait_for_link(lambda scenario: scenario.words[0] == HOSTILE_WORD)
    for name in ("x[0][0]", "hidden[0][0]", "output[0][0]"):
        visitor.cell(name).hover()
        expect(visitor.board.locator(".panel-title")).to_contain_text(name)
    assert visitor.page.locator("img[src='x'], [onerror]").count() == 0


@pytest.mark.parametrize(
    ("opened", "page"),
    [
        ("/?ex=gates&p=1", "/gates"),
        ("/counting?ex=gates&p=1", "/gates"),
        ("/weights?ex=experts&p=1", "/experts"),
    ],
)
def test_a_link_opened_on_another_familys_page_leads_to_its_own_and_a_reload_stays_there(visit, opened, page):
    visitor = visit(opened)
    visitor.page.wait_for_url(re.compile(rf"{page}\?ex=\w+&p=1$"))
    expect(visitor.page.get_by_role("status").get_by_text("this is its page")).to_be_visible()
    visitor.page.reload()
    visitor.ready()
    expect(visitor.page).to_have_url(re.compile(rf"{page}\?ex=\w+&p=1$"))


def test_a_reset_is_undone_by_keyboard_at_once_though_its_button_has_lost_the_focus(visitor: Visitor):
    visitor.edit("w1[0][0]", "0.9")
    visitor.wait_for_link(lambda scenario: len(scenario.edits) == 1)
    visitor.button("Back to the starting point").click()
    visitor.wait_for_link(lambda scenario: not scenario.edits)
    visitor.undo()
    visitor.wait_for_link(lambda scenario: len(scenario.edits) == 1)
    visitor.holds("w1[0][0]", "0.9")
