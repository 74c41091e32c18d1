"""What holds for all tests."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The quick tests first, and those in Chromium last: its driver keeps an event loop running until they are done."""
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)
