from collections.abc import Callable, Mapping
from typing import Any

CODES: dict[str, str]

def mark(
    function: object, sheet: Mapping[str, Any], traced: Callable[[BaseException], str] | None = None
) -> dict[str, Any]: ...
def refusal(
    code: str, message: str | None, sheet: Mapping[str, Any], traceback: str | None = None
) -> dict[str, Any]: ...
def mark_number(task: Mapping[str, Any], text: str) -> dict[str, Any]: ...
