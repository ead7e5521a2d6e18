"""Packages that an installation may lack, and what to say then."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["needed"]


@contextmanager
def needed(what: str, extra: str) -> Iterator[None]:
    """Import optional packages inside; where one is not installed, the error names the extra that has it.

    A package that is there and does not load says why itself.

    >>> with needed("to_pandas", "pandas"):
    ...     import no_such_package
    Traceback (most recent call last):
    ImportError: to_pandas needs no_such_package: pip install 'semibandit[pandas]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        raise ImportError(f"{what} needs {package}: pip install 'semibandit[{extra}]'") from None
