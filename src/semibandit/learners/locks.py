"""Locks of learners: one thread at a time, and usable in forked processes."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar
from weakref import WeakSet

__all__ = ["Locked", "serialized"]

P = ParamSpec("P")
R = TypeVar("R")

_PATIENCE = 10.0  # seconds that a fork waits for a method that runs in another thread


class Locked:
    """Object with a lock that survives forks."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        with _registry:
            _objects.add(self)


class _HasLock(Protocol):
    _lock: threading.RLock


L = TypeVar("L", bound=_HasLock)


def serialized(method: Callable[Concatenate[L, P], R]) -> Callable[Concatenate[L, P], R]:
    """Serialize access to an object: kernels release the GIL."""

    @functools.wraps(method)
    def locked(self: L, /, *args: P.args, **options: P.kwargs) -> R:
        with self._lock:
            return method(self, *args, **options)

    return locked


_objects: WeakSet[Locked] = WeakSet()
_registry = threading.RLock()
_held: list[threading.RLock] = []


def _before_fork() -> None:
    """Wait for running methods, so that the child gets no half-updated object."""
    _registry.acquire()
    locks = [each._lock for each in list(_objects)]
    _held.extend(lock for lock in locks if lock.acquire(timeout=_PATIENCE))


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop().release()
    _registry.release()


def _after_fork_in_child() -> None:
    """Replace all locks: a thread that held one does not exist here."""
    global _registry
    _held.clear()
    _registry = threading.RLock()
    for each in list(_objects):
        each._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
    )
