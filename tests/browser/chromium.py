"""The Chromium of the browser tests, the benchmarks and the README's pictures."""

import os
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, Error, Playwright

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DEBIANS_CHROMIUM = Path("/usr/bin/chromium")


class NoBrowserError(RuntimeError):
    """No Chromium starts here."""


def launch(playwright: Playwright) -> Browser:
    """HOURGLASS_CHROMIUM, else Debian's own, else Playwright's, which is downloaded if need be."""
    path = os.environ.get("HOURGLASS_CHROMIUM") or (DEBIANS_CHROMIUM if DEBIANS_CHROMIUM.exists() else None)
    try:
        return playwright.chromium.launch(executable_path=path, args=FLAGS)
    except Error as error:
        if path is not None:
            raise NoBrowserError(f"{path} does not start: {error}") from error
    install = [sys.executable, "-m", "playwright", "install", "chromium"]
    installed = subprocess.run(install, capture_output=True, text=True, check=False)
    try:
        return playwright.chromium.launch(args=FLAGS)
    except Error as error:
        raise NoBrowserError(f"Playwright's Chromium does not start: {error}\n{installed.stderr}") from error
