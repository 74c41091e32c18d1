# mypy: ignore-errors
"""What a student's `from typing import ...` gives in the browser: names for annotations, which nothing there reads.

Brython's own loads a dozen other modules.
"""


class _Name:
    def __getitem__(self, _):
        return self

    def __or__(self, _):
        return self

    __ror__ = __or__

    def __call__(self, *_, **__):
        return self


Any = Callable = Dict = Final = Generator = Iterable = Iterator = List = Literal = Mapping = _Name()
Optional = Sequence = Set = Tuple = Type = TypeAlias = TypeVar = Union = _Name()


def cast(_, value):
    """`value` as it is."""
    return value
