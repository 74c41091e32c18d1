"""A server, a Chromium and visitors. Every visitor is watched: an error of the page, in the console or in the
server's log fails the test, and so does any request that leaves this machine."""

import os
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Playwright,
    expect,
    sync_playwright,
)

from tests.browser.chromium import NoBrowserError, launch
from tests.browser.server import Server
from tests.browser.visitor import Visit, Visitor

HERE = ("127.0.0.1", "localhost")
PATIENCE_MS = 20_000  # a limit for a slow machine; no verdict waits for it to pass


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The server that the tests share."""
    yield from _running_server()


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server of the test's own that nobody has visited, to stop and start at will."""
    yield from _running_server()


def _running_server() -> Iterator[Server]:
    server = Server()
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = _launch(playwright)
        yield browser
        browser.close()


def _launch(playwright: Playwright) -> Browser:
    try:
        return launch(playwright)
    except NoBrowserError as error:
        if os.environ.get("CI"):
            pytest.fail(f"the browser tests must not be skipped here, but {error}")
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def profile(browser: Browser) -> Iterator[BrowserContext]:
    """The browser that most visitors come with; its cache spares them loading the app's files anew."""
    context = _context(browser, {"permissions": ["clipboard-read", "clipboard-write"]})
    yield context
    context.close()


def _context(browser: Browser, options: dict[str, Any]) -> BrowserContext:
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 720}} | options)
    context.set_default_timeout(PATIENCE_MS)
    return context


@pytest.fixture
def visit(browser: Browser, profile: BrowserContext, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """Open a page in a tab of its own: `visit("/weights")`.

    Keyword arguments: `server` to visit another than the shared one; `expected`, a regular expression, for
    console errors that belong to the test; and Playwright's options of a context, for a browser of its own.
    """
    watched: list[Watch] = []
    own: list[BrowserContext] = []

    def visit(
        path: str | None = "/", *, server: Server | None = None, expected: str = "$^", **options: Any
    ) -> Visitor:
        server = server or request.getfixturevalue("server")
        if options:
            own.append(_context(browser, options))
        page = (own[-1] if options else profile).new_page()
        watched.append(Watch(page, server, expected))
        visitor = Visitor(page, server.address)
        return visitor if path is None else visitor.open(path)

    yield visit
    wrong = [fault for watch in watched for fault in watch.finish()]
    for context in own:
        context.close()
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def visitor(visit: Visit) -> Visitor:
    """Somebody who has opened the home page on a projector."""
    return visit("/")


class Watch:
    """Everything that goes wrong in a visitor's tab."""

    def __init__(self, page: Page, server: Server, expected: str) -> None:
        self.page, self.server, self.expected = page, server, re.compile(expected)
        self.faults: list[str] = []
        self.log_before = len(server.log())
        page.on("pageerror", lambda error: self.faults.append(f"error in the page: {error}"))
        page.on("console", self._console)
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self._address(request.url))
        page.on("websocket", lambda socket: self._address(socket.url))

    def finish(self) -> list[str]:
        for trouble in self.page.get_by_test_id("stException").all_inner_texts():
            self.faults.append(f"an exception on the page: {trouble}")
        self.page.close()
        said = self.server.log()[self.log_before :]
        if "Traceback" in said:
            self.faults.append(f"a traceback in the server's log:\n{said}")
        return self.faults

    def _console(self, message: ConsoleMessage) -> None:
        if message.type != "error" or self.expected.search(message.text):
            return
        # On a deep link Streamlit's own page looks for its server under the link's path first.
        address = urlsplit(message.location["url"])
        probe = address.path.endswith(("/_stcore/health", "/_stcore/host-config"))
        if not (probe and "404" in message.text):
            self.faults.append(f"error in the console: {message.text} ({message.location['url']})")

    def _dialog(self, dialog: Dialog) -> None:
        self.faults.append(f"a dialog opened: {dialog.message}")
        dialog.dismiss()

    def _address(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob", "about") and parts.hostname not in HERE:
            self.faults.append(f"a request left the machine: {url}")
