"""No command outlives us: a small process kills what is left running when we die, however we die.

A command has a session of its own, so that signals of the terminal do not reach it, and nobody can act after
a SIGKILL. The guard reads the commands that run from a pipe; the system closes the pipe when we are gone.
What is left open are the microseconds between the start of a command and our telling the guard of it.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

__all__ = ["guarded"]

_SCRIPT = """
live=" "
while read -r verb pid; do
  case $verb in
    start) live="$live$pid " ;;
    end) live="${live%% "$pid" *} ${live#* "$pid" }" ;;
  esac
done
for pid in $live; do kill -s KILL -- "-$pid"; done
"""


class _Guard:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        assert self._process.stdin is not None
        self._pipe = self._process.stdin

    def tell(self, verb: str, pid: int) -> None:
        with suppress(BrokenPipeError):  # somebody has killed the guard
            os.write(self._pipe.fileno(), f"{verb} {pid}\n".encode())

    def close(self) -> None:
        self._pipe.close()
        self._process.wait()

    def forsake(self) -> None:
        """In a fork: it is the parent's guard, and our copy of the pipe would hide the parent's death."""
        self._pipe.close()
        self._process.returncode = 0  # not a child of ours: nothing to wait for


_guard: _Guard | None = None
_lock = threading.Lock()


@contextmanager
def guarded() -> Iterator[Callable[[int], None]]:
    """Inside, processes that are told to the function given are killed, with their groups, when we die."""
    guard = _the_guard()
    watched: list[int] = []

    def watch(pid: int) -> None:
        guard.tell("start", pid)
        watched.append(pid)

    try:
        yield watch
    finally:
        for pid in watched:
            guard.tell("end", pid)


def _the_guard() -> _Guard:
    global _guard
    with _lock:
        if _guard is None:
            _guard = _Guard()
            atexit.register(_close)
        return _guard


def _close() -> None:
    if _guard is not None:
        _guard.close()


def _after_fork() -> None:
    global _guard, _lock
    _lock = threading.Lock()
    if _guard is not None:
        _guard.forsake()
        _guard = None


os.register_at_fork(after_in_child=_after_fork)
