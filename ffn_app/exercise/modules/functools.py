# mypy: ignore-errors
"""What a student's `import functools` gives in the browser. Brython's own loads a dozen other modules."""

_NONE = object()


def reduce(function, values, initial=_NONE):
    """Fold `values` from the left."""
    values = iter(values)
    result = next(values, _NONE) if initial is _NONE else initial
    if result is _NONE:
        raise TypeError("reduce() of empty iterable with no initial value")
    for value in values:
        result = function(result, value)
    return result


def partial(function, *first, **named):
    """`function` with its first and some named arguments given."""
    return lambda *more, **others: function(*first, *more, **{**named, **others})


def wraps(wrapped):
    """A decorator that gives a function the name of another."""

    def named(function):
        function.__name__, function.__doc__ = wrapped.__name__, wrapped.__doc__
        return function

    return named


def cache(function):
    """`function`, which is called once for each choice of arguments."""
    known = {}

    @wraps(function)
    def remembering(*args, **named):
        key = (args, tuple(sorted(named.items())))
        if key not in known:
            known[key] = function(*args, **named)
        return known[key]

    return remembering


def lru_cache(maxsize=128, typed=False):
    """The same; also as `@lru_cache(maxsize=None)`. It forgets nothing."""
    return cache(maxsize) if callable(maxsize) else cache
