"""Take the README's pictures anew: `python docs/pictures.py`."""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # run from a checkout

from tests.browser.chromium import launch  # noqa: E402
from tests.browser.server import Server  # noqa: E402

PROJECTOR, PHONE = (1280, 720), (390, 844)
ONE_STRIDE = """\
def ffn_forward(x, W1, b1, W2, b2, D, H):
    hidden = []
    for j in range(H):
        z = b1[j] + sum(W1[j * D + i] * x[i] for i in range(D))
        hidden.append(max(0, z))

    output = []
    for i in range(D):
        output.append(b2[i] + sum(W2[i * D + j] * hidden[j] for j in range(H)))
    return output"""


def board(page: Page) -> None:
    """Wait until the board stands, with neuron 2 told in the panel."""
    expect(page.locator('.board [data-array="residual"]').first).to_be_visible()
    expect(page.locator(".panel").first).to_contain_text("Neuron 2")


def backward(page: Page) -> None:
    """Wait for the formula of the chosen entry, and show it at the foot."""
    expect(page.locator(".hourglass-plot .main-svg").nth(3)).to_be_visible()
    formula = page.get_by_text("dW1[2][1] = ").first
    expect(formula).to_be_visible()
    formula.evaluate("element => element.scrollIntoView({ block: 'end' })")


def learning(page: Page) -> None:
    """Let it learn for a while."""
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_test_id("stMetricValue").first).to_have_text(re.compile(r"^[4-9]\d\d$|,"))
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_visible()


def exercise(page: Page) -> None:
    """Hand in one of the lesson's two mistakes."""
    page.get_by_role("textbox", name="Your code").fill(ONE_STRIDE)
    page.get_by_role("button", name="Check", exact=True).click()
    verdict = page.get_by_text("diagnosis").first
    expect(verdict).to_be_visible()
    verdict.evaluate("element => element.scrollIntoView({ block: 'end' })")


@dataclass(frozen=True)
class Picture:
    """A page to take, and what to do or wait for before."""

    path: str
    ready: Callable[[Page], None] = board
    size: tuple[int, int] = PROJECTOR
    scheme: str = "light"


PICTURES = {
    "hourglass.png": Picture("/?p=1&n=2"),
    "weights.png": Picture("/weights?v=1&e=pw2.1_-.6z&p=1&n=2", scheme="dark"),
    "memories.png": Picture("/memories?ex=cat&p=1&n=2"),
    "gates.png": Picture("/gates?ex=cat_gated&p=1&n=2"),
    "backward.png": Picture("/backward?y=1&g=w1.2.1", backward),
    "learning.png": Picture("/learning", learning),
    "exercises.png": Picture("/exercises?task=ffn-forward", exercise),
    "phone.png": Picture("/?p=1&n=2", size=PHONE),
}


def main() -> None:
    """Start the app, and take each picture in a browser of its own."""
    server = Server()
    server.start()
    expect.set_options(timeout=30_000)
    try:
        with sync_playwright() as playwright:
            browser = launch(playwright)
            for name, picture in PICTURES.items():
                width, height = picture.size
                page = browser.new_context(
                    viewport={"width": width, "height": height},
                    color_scheme=picture.scheme,  # type: ignore[arg-type]
                ).new_page()
                page.goto(server.address + picture.path)
                picture.ready(page)
                expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)
                page.screenshot(path=ROOT / "docs" / name)
            browser.close()
    finally:
        server.stop()


if __name__ == "__main__":
    main()
