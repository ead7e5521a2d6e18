"""Stores keep the logs and snapshots of studies: one protocol, and one module for each kind of store.

| address | |
|---|---|
| `sqlite:///path` | a file, for any number of processes of one machine; needs no server |
| `postgresql://...` | a server, for any number of machines (extra `postgres`) |

With `?synchronous=full` a commit waits for the disk. A store orders the events of a study; it does not read
them.
"""

from __future__ import annotations

import os
import threading
import weakref
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode

from semibandit.studies.log.stores.address import check_server, public
from semibandit.studies.log.stores.store import (
    CONNECTIONS,
    MAX_LAG,
    DamagedStudyError,
    Store,
    StudyRow,
    Turn,
    UnknownStudyError,
)

__all__ = [
    "CONNECTIONS",
    "MAX_LAG",
    "DamagedStudyError",
    "Store",
    "StudyRow",
    "Turn",
    "UnknownStudyError",
    "open_store",
    "public",
]

_SYNCHRONOUS = ("normal", "full")

# All studies of a process share the few connections of one store.
_open: weakref.WeakValueDictionary[tuple[object, ...], Store] = weakref.WeakValueDictionary()
_opening = threading.Lock()


def open_store(url: str, create: bool = True) -> Store:
    """Open the store at an address, or return the one that this process has open.

    A missing SQLite file is created; with `create=False` it raises FileNotFoundError.
    """
    if not isinstance(url, str):
        raise TypeError(f"storage must be an address such as 'sqlite:///tuning.db', got {url!r}")
    address, _, query = url.partition("?")
    scheme, _, rest = address.partition("://")
    if scheme not in ("sqlite", "postgresql", "postgres"):
        raise ValueError(f"storage must be sqlite:///path or postgresql://..., got {public(url)!r}")
    if scheme != "sqlite":
        check_server(url)
    options = dict(parse_qsl(query, keep_blank_values=True))
    synchronous = options.pop("synchronous", "normal").lower()
    if synchronous not in _SYNCHRONOUS:
        raise ValueError(f"synchronous must be one of {', '.join(_SYNCHRONOUS)}, got {synchronous!r}")
    if scheme == "sqlite":
        return _open_file(url, rest, options, synchronous, create)
    return _open_server(f"{address}?{urlencode(options)}" if options else address, synchronous)


def _open_file(url: str, rest: str, options: dict[str, str], synchronous: str, create: bool) -> Store:
    from semibandit.studies.log.stores.sqlite import SQLiteStore

    if not rest.startswith("/") or rest == "/":
        raise ValueError(f"storage must be sqlite:///path (four slashes for /path), got {public(url)!r}")
    if options:
        raise ValueError(f"storage has no option {next(iter(options))!r}, got {url!r}")
    path = unquote(rest[1:])
    if not create and not Path(path).exists():
        raise FileNotFoundError(f"there is no file {path}")
    with _opening:
        store = _open.get(_identity(path, synchronous))
        if store is None:
            store = SQLiteStore(path, synchronous)
            _open[_identity(path, synchronous)] = store
        return store


def _open_server(address: str, synchronous: str) -> Store:
    from semibandit.studies.log.stores.postgres import PostgresStore

    with _opening:
        store = _open.get((address, synchronous))
        if store is None:
            store = _open[address, synchronous] = PostgresStore(address, synchronous)
        return store


def _identity(path: str, synchronous: str) -> tuple[object, ...]:
    """Identify a file, also after it was replaced by another one of the same name."""
    try:
        file = os.stat(path)
    except (OSError, ValueError):
        return ()
    return path, os.path.abspath(path), file.st_dev, file.st_ino, synchronous


_quiet: list[Store] = []  # while this process forks


def _before_fork() -> None:
    _opening.acquire()
    for store in list(_open.values()):
        store.quiesce()
        _quiet.append(store)


def _after_fork() -> None:
    while _quiet:
        _quiet.pop().resume()
    _opening.release()


# A connection of SQLite that is open during a fork makes both processes believe to hold its locks.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
