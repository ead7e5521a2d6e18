"""Kill running commands when this process dies, for whatever reason.

A command has a session of its own, so that signals of the terminal do not reach it, and a process cannot act
after a SIGKILL. The reaper is a small shell process. It reads the running commands from a pipe, which the
system closes when this process dies; then it kills them. A command is not covered during the microseconds
between its start and the message to the reaper.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

__all__ = ["reaped"]

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


class _Reaper:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        assert self._process.stdin is not None
        self._pipe = self._process.stdin

    def tell(self, verb: str, pid: int) -> None:
        with suppress(BrokenPipeError):  # the reaper was killed
            os.write(self._pipe.fileno(), f"{verb} {pid}\n".encode())

    def close(self) -> None:
        self._pipe.close()
        self._process.wait()

    def detach(self) -> None:
        """Detach in a fork: an open copy of the pipe would hide the death of the parent."""
        self._pipe.close()
        self._process.returncode = 0  # the child of another process: nothing to wait for


_reaper: _Reaper | None = None
_lock = threading.Lock()


@contextmanager
def reaped() -> Iterator[Callable[[int], None]]:
    """Yield a function that registers a process, to be killed with its group if this process dies."""
    reaper = _the_reaper()
    watched: list[int] = []

    def watch(pid: int) -> None:
        reaper.tell("start", pid)
        watched.append(pid)

    try:
        yield watch
    finally:
        for pid in watched:
            reaper.tell("end", pid)


def _the_reaper() -> _Reaper:
    global _reaper
    with _lock:
        if _reaper is None:
            _reaper = _Reaper()
            atexit.register(_close)
        return _reaper


def _close() -> None:
    if _reaper is not None:
        _reaper.close()


def _after_fork() -> None:
    global _reaper, _lock
    _lock = threading.Lock()
    if _reaper is not None:
        _reaper.detach()
        _reaper = None


os.register_at_fork(after_in_child=_after_fork)
