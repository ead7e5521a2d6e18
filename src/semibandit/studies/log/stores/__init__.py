"""Stores keep the logs and snapshots of studies: one protocol, and one module for each kind of store.

| address | |
|---|---|
| `sqlite:///path` | a file, for any number of processes of one machine; needs no server |
| `postgresql://...` | a server, for any number of machines (extra `postgres`) |

With `?synchronous=full` a commit waits for the disk. A store orders the events of a study; it does not read
them.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode

from semibandit.studies.log.stores.store import DamagedStudyError, Store, Turn, UnknownStudyError

__all__ = ["DamagedStudyError", "Store", "Turn", "UnknownStudyError", "open_store", "public"]

_SYNCHRONOUS = ("normal", "full")


def open_store(url: str, create: bool = True) -> Store:
    """Open the store at an address.

    A missing SQLite file is created; with `create=False` it raises FileNotFoundError.
    """
    if not isinstance(url, str):
        raise TypeError(f"storage must be an address such as 'sqlite:///tuning.db', got {url!r}")
    address, _, query = url.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    synchronous = options.pop("synchronous", "normal").lower()
    if synchronous not in _SYNCHRONOUS:
        raise ValueError(f"synchronous must be one of {', '.join(_SYNCHRONOUS)}, got {synchronous!r}")
    scheme, _, rest = address.partition("://")
    if scheme == "sqlite":
        from semibandit.studies.log.stores.sqlite import SQLiteStore

        if not rest.startswith("/") or rest == "/":
            raise ValueError(f"storage must be sqlite:///path (four slashes for /path), got {url!r}")
        if options:
            raise ValueError(f"storage has no option {next(iter(options))!r}, got {url!r}")
        path = unquote(rest[1:])
        if not create and not Path(path).exists():
            raise FileNotFoundError(f"there is no file {path}")
        return SQLiteStore(path, synchronous)
    if scheme in ("postgresql", "postgres"):
        from semibandit.studies.log.stores.postgres import PostgresStore

        return PostgresStore(f"{address}?{urlencode(options)}" if options else address, synchronous)
    raise ValueError(f"storage must be sqlite:///path or postgresql://..., got {url!r}")


def public(url: str) -> str:
    """Return an address with credentials and options removed."""
    scheme, separator, rest = url.partition("?")[0].partition("://")
    return scheme + separator + rest.rpartition("@")[2]
