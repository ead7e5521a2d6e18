"""Optional packages, and the error for those that are not installed."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["needed"]


@contextmanager
def needed(what: str, extra: str) -> Iterator[None]:
    """Import optional packages inside this context; the error for a missing one names the extra to install.

    The error of a package that is installed but fails to import is passed on.

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
