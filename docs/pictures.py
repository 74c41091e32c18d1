"""Take the README's pictures anew: `python docs/pictures.py`."""

import sys
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # run from a checkout

from tests.browser.chromium import launch  # noqa: E402
from tests.browser.server import Server  # noqa: E402

PICTURES = {
    "hourglass.png": ("/?p=1&n=2", {"width": 1280, "height": 720}, "light"),
    "weights.png": ("/weights?v=1&e=pw2.1_-.6z&p=1&n=2", {"width": 1280, "height": 720}, "dark"),
    "memories.png": ("/memories?ex=cat&p=1&n=2", {"width": 1280, "height": 720}, "light"),
    "gates.png": ("/gates?ex=cat_gated&p=1&n=2", {"width": 1280, "height": 720}, "light"),
    "phone.png": ("/?p=1&n=2", {"width": 390, "height": 844}, "light"),
}


def main() -> None:
    """Start the app, and take each picture in a browser of its own."""
    server = Server()
    server.start()
    try:
        with sync_playwright() as playwright:
            browser = launch(playwright)
            for name, (path, viewport, scheme) in PICTURES.items():
                page = browser.new_context(viewport=viewport, color_scheme=scheme).new_page()  # type: ignore[arg-type]
                page.goto(server.address + path)
                expect(page.locator('.board [data-array="residual"]').first).to_be_visible(timeout=30_000)
                expect(page.locator(".panel").first).to_contain_text("Neuron 2")
                expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)
                page.screenshot(path=ROOT / "docs" / name)
            browser.close()
    finally:
        server.stop()


if __name__ == "__main__":
    main()
