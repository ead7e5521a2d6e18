"""Stores keep the logs and snapshots of studies: one protocol, and one module for each kind of store.

| address | |
|---|---|
| `sqlite:///path` | a file, for any number of processes of one machine; needs no server |
| `postgresql://...` | a server, for any number of machines (extra `postgres`) |

A store orders the events of a study. It does not read them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

__all__ = [
    "DEFAULT_TIMEOUT",
    "DamagedStudyError",
    "Entry",
    "Store",
    "Turn",
    "UnknownStudyError",
    "open_store",
    "public",
]

# Seconds to wait for other writers.
DEFAULT_TIMEOUT = 60.0

# Options that may follow a question mark in an address.
_OPTIONS = ("synchronous", "timeout")
_SYNCHRONOUS = ("normal", "full")


class UnknownStudyError(ValueError):
    """The store has no such study, or no longer."""


class DamagedStudyError(ValueError):
    """A store, or the log of a study in it, cannot be read."""


class Entry(NamedTuple):
    """A study in a store: its number, which is never reused, its name, and its number of events."""

    id: int
    name: str
    events: int


class Turn:
    """A transaction in which one process alone writes to a study.

    `rows` are the events from the requested one on, `now` is the time by the clock of the store. Appended
    lines are written when the transaction ends without an exception.
    """

    def __init__(self, now: float, rows: list[tuple[int, str]]) -> None:
        self.now, self.rows = now, rows
        self.lines: list[str] = []

    def append(self, line: str) -> None:
        """Add an event."""
        self.lines.append(line)


class Store(Protocol):
    """An open store. One thread at a time may use it; in a forked process it reconnects.

    Snapshots have a kind: "replica" or "summary".
    """

    def create(self, name: str, line: str) -> int:
        """Create a study with its first event, unless there is one of this name; return its number."""

    def studies(self) -> list[Entry]:
        """Return all studies, by number."""

    def find(self, name: str) -> int | None:
        """Return the number of the study of this name."""

    def delete(self, study: int) -> None:
        """Delete a study with all its events."""

    def turn(self, study: int, since: int) -> AbstractContextManager[Turn]:
        """Wait for other writers, and begin a transaction that has read the events from `since` on."""

    def read(self, study: int, since: int, limit: int | None = None) -> list[tuple[int, str]]:
        """Return the events from number `since` on, without waiting for writers."""

    def save_snapshot(self, study: int, kind: str, event: int, data: bytes) -> None:
        """Keep a snapshot of the study after an event."""

    def snapshots(self, study: int, kind: str, since: int = 1) -> list[bytes]:
        """Return the snapshots from an event on, oldest first."""

    def last_snapshot(self, study: int, kind: str, event: int | None = None) -> bytes | None:
        """Return the last snapshot, or the last at or before an event."""

    def snapshot_sizes(self, study: int, kind: str) -> list[tuple[int, int]]:
        """Return event and size in bytes of each snapshot, oldest first."""

    def drop_snapshots(self, study: int, kind: str, events: list[int]) -> None:
        """Delete the snapshots at these events."""

    def vacuum(self) -> None:
        """Give unused space back to the operating system."""

    def close(self) -> None:
        """Close the connection."""


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
        return float(options.get("timeout", DEFAULT_TIMEOUT))
    except ValueError:
        raise ValueError(f"timeout must be a number of seconds, got {options['timeout']!r}") from None
