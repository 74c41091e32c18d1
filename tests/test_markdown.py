"""What visitors type is shown as they typed it."""

import string

import pytest

from ffn_app.markdown import literal


def test_every_sign_that_markdown_may_read_is_escaped_and_letters_stay():
    assert literal("The cat, é 日本 1") == "The cat\\, é 日本 1"
    for sign in string.punctuation:
        assert literal(f"a{sign}b").startswith(f"a\\{sign}")


@pytest.mark.parametrize("address", ["https://e.vl/a", "www.e.vl", "a@e.vl"])
def test_an_address_is_broken_by_what_takes_no_room(address):
    shown = literal(address).replace("\\", "")
    assert address not in shown
    assert shown.replace("\u2060", "") == address
