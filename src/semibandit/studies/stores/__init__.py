"""Where the logs of studies are kept: one protocol, and a module for each kind of store.

| address | |
|---|---|
| `sqlite:///path` | a file, for any number of processes of one machine; needs no server |
| `postgresql://...` | a server, for any number of machines (extra `postgres`) |

A store gives events their order. It knows nothing of what is in them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

__all__ = [
    "DEFAULT_TIMEOUT",
    "Entry",
    "Store",
    "Turn",
    "UnknownStudyError",
    "missing",
    "open_store",
    "public",
]

# Seconds to wait for other processes that write.
DEFAULT_TIMEOUT = 60.0

# What may follow a question mark in an address.
_OPTIONS = ("synchronous", "timeout")
_SYNCHRONOUS = ("normal", "full")


class UnknownStudyError(ValueError):
    """There is no such study in the store, or no longer."""


class Entry(NamedTuple):
    """A study in a store: its number, which is never given again, its name, and how many events it has."""

    id: int
    name: str
    events: int


class Turn(Protocol):
    """The time in which one process alone may write to a study.

    `rows` are the events from the given one on, `now` is the time by the store's clock.
    """

    now: float
    rows: list[tuple[int, str]]

    def append(self, line: str) -> None:
        """Write a further event; it is in the log when the turn ends without an exception."""


class Store(Protocol):
    """An open store. One thread at a time may use it; after a fork it opens itself anew."""

    url: str
    keeps_leases: bool  # else trials are pending until they are told

    def create(self, name: str, line: str) -> int:
        """Begin a study with its first event, unless there is one of this name; its number."""

    def studies(self) -> list[Entry]:
        """All studies, by number."""

    def find(self, name: str) -> int | None:
        """The number of the study of this name."""

    def turn(self, study: int, since: int) -> AbstractContextManager[Turn]:
        """Wait for the turn to write; on leaving, what was appended is committed as one transaction."""

    def read(self, study: int, since: int, limit: int | None = None) -> list[tuple[int, str]]:
        """Events from number `since` on. Waits for nobody."""

    def save_portrait(self, study: int, event: int, portrait: bytes) -> None:
        """Keep a picture of the study after an event."""

    def portraits(self, study: int, since: int = 1) -> list[bytes]:
        """The pictures from an event on, oldest first."""

    def save_snapshot(self, study: int, event: int, replica: bytes) -> None:
        """Keep a snapshot; old ones are thinned out."""

    def snapshot(self, study: int, event: int | None = None) -> bytes | None:
        """The newest snapshot, or the newest at or before an event."""

    def prune(self, study: int) -> None:
        """Drop all snapshots but the newest, and give the room back."""

    def delete(self, study: int) -> None:
        """Remove a study with all its events."""

    def close(self) -> None:
        """Close the connection."""


def open_store(url: str) -> Store:
    """The store at an address, which is made if it does not exist."""
    scheme = _scheme(url)
    if scheme == "sqlite":
        from semibandit.studies.stores.sqlite import SQLiteStore

        path, options = _path_and_options(url, *_OPTIONS)
        return SQLiteStore(url, path, _synchronous(options), _timeout(options))
    if scheme in ("postgresql", "postgres"):
        from semibandit.studies.stores.postgres import PostgresStore

        address, options = _without_options(url)
        return PostgresStore(url, address, _synchronous(options), _timeout(options))
    raise ValueError(f"storage must be sqlite:///path or postgresql://..., got {url!r}")


def missing(url: str) -> Path | None:
    """The file of an address if it is not there; None if it is, and for addresses that have none."""
    if _scheme(url) != "sqlite":
        return None
    path = Path(_path_and_options(url, *_OPTIONS)[0])
    return None if path.exists() else path


def public(url: str) -> str:
    """An address without what is nobody's business: user, password, options."""
    scheme, separator, rest = url.partition("?")[0].partition("://")
    return scheme + separator + rest.rpartition("@")[2]


def _scheme(url: str) -> str:
    if not isinstance(url, str):
        raise TypeError(f"storage must be an address such as 'sqlite:///tuning.db', got {url!r}")
    return url.partition("://")[0]


def _path_and_options(url: str, *known: str) -> tuple[str, dict[str, str]]:
    """The path of sqlite:///relative, sqlite:////absolute, and what follows a question mark."""
    parts = urlsplit(url)
    path = unquote(parts.path)[1:]
    if parts.netloc or not path:
        raise ValueError(f"storage must be {parts.scheme}:///path (four slashes for /path), got {url!r}")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in options:
        if name not in known:
            raise ValueError(f"storage has no option {name!r}, got {url!r}")
    return path, options


def _without_options(url: str) -> tuple[str, dict[str, str]]:
    """An address of PostgreSQL without what is ours, and that."""
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
        return float(options.get("timeout", DEFAULT_TIMEOUT))
    except ValueError:
        raise ValueError(f"timeout must be a number of seconds, got {options['timeout']!r}") from None
