"""Stores keep the logs and snapshots of studies: one protocol, and one module for each kind of store.

| address | |
|---|---|
| `sqlite:///path` | a file, for any number of processes of one machine; needs no server |
| `postgresql://...` | a server, for any number of machines (extra `postgres`) |

A store orders the events of a study. It does not read them.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from semibandit.studies.log.stores.store import DamagedStudyError, Entry, Store, Turn, UnknownStudyError

__all__ = ["DamagedStudyError", "Entry", "Store", "Turn", "UnknownStudyError", "open_store", "public"]

_OPTIONS = ("synchronous", "timeout")  # may follow a question mark in an address
_SYNCHRONOUS = ("normal", "full")
_TIMEOUT = 60.0  # seconds to wait for other writers


def open_store(url: str, create: bool = True) -> Store:
    """Open the store at an address.

    A missing SQLite file is created; with `create=False` it raises FileNotFoundError.
    """
    scheme = _scheme(url)
    if scheme == "sqlite":
        from semibandit.studies.log.stores.sqlite import SQLiteStore

        path, options = _path_and_options(url)
        synchronous, timeout = _synchronous(options), _timeout(options)
        if not create and not Path(path).exists():
            raise FileNotFoundError(f"there is no file {path}")
        return SQLiteStore(path, synchronous, timeout)
    if scheme in ("postgresql", "postgres"):
        from semibandit.studies.log.stores.postgres import PostgresStore

        address, options = _without_options(url)
        return PostgresStore(address, _synchronous(options), _timeout(options))
    raise ValueError(f"storage must be sqlite:///path or postgresql://..., got {url!r}")


def public(url: str) -> str:
    """Return an address with credentials and options removed."""
    scheme, separator, rest = url.partition("?")[0].partition("://")
    return scheme + separator + rest.rpartition("@")[2]


def _scheme(url: str) -> str:
    if not isinstance(url, str):
        raise TypeError(f"storage must be an address such as 'sqlite:///tuning.db', got {url!r}")
    return url.partition("://")[0]


def _path_and_options(url: str) -> tuple[str, dict[str, str]]:
    """Return the path of sqlite:///relative or sqlite:////absolute, and the options."""
    parts = urlsplit(url, allow_fragments=False)
    path = unquote(parts.path)[1:]
    if parts.netloc or not path:
        raise ValueError(f"storage must be {parts.scheme}:///path (four slashes for /path), got {url!r}")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in options:
        if name not in _OPTIONS:
            raise ValueError(f"storage has no option {name!r}, got {url!r}")
    return path, options


def _without_options(url: str) -> tuple[str, dict[str, str]]:
    """Return the address that libpq reads, and our options."""
    address, _, query = url.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    options = {name: value for name, value in pairs if name in _OPTIONS}
    theirs = [(name, value) for name, value in pairs if name not in _OPTIONS]
    return (f"{address}?{urlencode(theirs)}" if theirs else address), options


def _synchronous(options: dict[str, str]) -> str:
    value = options.get("synchronous", "normal").lower()
    if value not in _SYNCHRONOUS:
        raise ValueError(f"synchronous must be one of {', '.join(_SYNCHRONOUS)}, got {value!r}")
    return value


def _timeout(options: dict[str, str]) -> float:
    try:
        return float(options.get("timeout", _TIMEOUT))
    except ValueError:
        raise ValueError(f"timeout must be a number of seconds, got {options['timeout']!r}") from None
