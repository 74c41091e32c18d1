"""One visitor's tab, in the words of the app: cells, arrays, the link. Tests read better with it."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Error, Locator, Page, expect

from ffn_core.scenario import Scenario

LETTERS_OF_LINKS = ",.~-_"


def query(scenario: Scenario, **more: str | int) -> str:
    """The link to a scenario, from the question mark on."""
    return "?" + urlencode(scenario.to_query() | more, safe=LETTERS_OF_LINKS)


class Visitor:
    """A page of one browser context, and what went wrong in it."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.board = page.locator(".board").first  # the Weights page has a second one, which compares
        self.keyboard = page.keyboard

    # ------------------------------------------------------------------ pages

    def open(self, path: str = "/") -> "Visitor":
        self.page.goto(self.address + path)
        return self.ready()

    def ready(self) -> "Visitor":
        """Wait until the board has drawn its last array."""
        expect(self.array("residual")).to_be_visible()
        return self

    @property
    def scenario(self) -> Scenario:
        """What the address bar holds."""
        return decoded(self.page.url)

    def wait_for_link(self, holds: Callable[[Scenario], bool]) -> None:
        """Wait until the address bar holds such a scenario: then Python has applied every edit in it."""
        try:
            self.page.wait_for_url(lambda url: holds(decoded(url)), wait_until="commit")
        except Error as error:
            raise AssertionError(f"the link never got there; its edits are {self.scenario.edits}") from error

    # ------------------------------------------------------------------ arrays

    def array(self, name: str) -> Locator:
        return self.board.locator(f'[data-array="{name}"]').first

    def cells(self, name: str) -> Locator:
        return self.array(name).locator(".cell")

    def cell(self, name: str) -> Locator:
        """A cell by the name of its entry, such as `w1[0][3]`, wherever on the board it is drawn first."""
        return self.board.locator(f'.cell[aria-label*=" {name}: "]').first

    def shows(self, name: str, numbers: str) -> None:
        """Wait until an array's cells show these texts, written with spaces between and a plain minus."""
        expect(self.cells(name)).to_have_text(numbers.replace("-", "−").split())

    def holds(self, name: str, value: str) -> None:
        """Wait until an entry's label, which has all digits, ends in this number."""
        text = re.escape(value.replace("-", "−"))
        expect(self.cell(name)).to_have_attribute("aria-label", re.compile(rf": {text}(, changed)?$"))

    def numbers(self, name: str) -> list[float]:
        """All digits of an array's numbers as they are now, from the labels that a screen reader reads."""
        labels = self.cells(name).evaluate_all("cells => cells.map((c) => c.getAttribute('aria-label'))")
        return [number_in(label) for label in labels]

    def number(self, name: str) -> float:
        return number_in(self.cell(name).get_attribute("aria-label") or "")

    def module(self, name: str) -> str:
        """The address from which the page has loaded a module, such as `board/pool.js`."""
        loaded: list[str] = self.page.evaluate(
            "performance.getEntriesByType('resource').map((entry) => entry.name)"
        )
        return next(address for address in loaded if address.endswith(name))

    # ------------------------------------------------------------------ charts

    def chart(self, title: str | re.Pattern[str]) -> Locator:
        """The chart with this in its title."""
        return self.page.locator(".hourglass-plot", has=self.page.locator(".gtitle", has_text=title))

    def place(self, chart: Locator, x: float, y: float) -> tuple[float, float]:
        """Where on the screen a chart draws the point (x, y) of its first axes."""
        chart.scroll_into_view_if_needed()
        left, top = chart.evaluate(
            """(chart, [x, y]) => {
                const box = chart.getBoundingClientRect(), { xaxis, yaxis } = chart._fullLayout;
                return [box.left + xaxis._offset + xaxis.l2p(x), box.top + yaxis._offset + yaxis.l2p(y)];
            }""",
            [x, y],
        )
        return left, top

    # ------------------------------------------------------------------ access

    def violations(self) -> list[str]:
        """What axe objects to on the page, rule by rule with the elements."""
        response: dict[str, Any] = Axe().run(self.page).response
        return [
            f"{rule['id']}: {rule['help']}: {node['target']} {node['html'][:160]} {node['failureSummary'][:300]}"
            for rule in response["violations"]
            for node in rule["nodes"]
        ]

    # ------------------------------------------------------------------ hands

    @property
    def editor(self) -> Locator:
        """The input that stands over the cell being edited."""
        return self.board.locator("input.editor")

    @property
    def focused(self) -> str:
        """The label (or text) of what has the focus, also inside the components; empty for the page."""
        label: str = self.page.evaluate(
            """() => {
                let at = document.activeElement;
                while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
                return at === document.body ? "" : at.getAttribute("aria-label") ?? at.textContent;
            }"""
        )
        return label

    def edit(self, name: str, text: str) -> None:
        """Click a cell, type over its number, Enter, and Escape from the cell that is opened next."""
        self.cell(name).click()
        self.keyboard.type(text)
        self.keyboard.press("Enter")
        self.keyboard.press("Escape")

    def button(self, name: str | re.Pattern[str]) -> Locator:
        return self.page.get_by_role("button", name=name)

    def undo(self) -> None:
        self.keyboard.press("ControlOrMeta+z")


def decoded(url: str) -> Scenario:
    scenario, _ = Scenario.from_query(dict(parse_qsl(urlsplit(url).query)))
    return scenario


def number_in(label: str) -> float:
    """The number in a cell's label: `W1 row 0, column 0, w1[0][0]: −0.4, changed` gives -0.4."""
    text = label.rpartition(": ")[2].removesuffix(", changed")
    return float(text.replace("−", "-"))


Visit = Callable[..., Visitor]
"""conftest's `visit`: open a page as somebody new."""
