"""Run a command to its end, or until a timeout.

The command runs in a session of its own, so that it can be killed together with its children. Its output is
read as it comes; only the end and a digest are kept, whatever its size.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from time import perf_counter
from typing import BinaryIO

from semibandit.tuning.reaper import reaped

__all__ = ["Finished", "Tail", "execute", "kill_all"]

KEPT = 1 << 16  # bytes kept of the end of an output; also the size of a read
_PIPE = 1 << 20  # upper bound on the capacity of a pipe
_LONGEST_WAIT = 86_400.0  # seconds; the system may not accept longer waits


class Tail:
    r"""The end of a byte stream, and a digest of the whole stream.

    >>> tail = Tail(b"some chatter")
    >>> tail.feed(b"\n0.25\n\n")
    >>> tail.last_line
    '0.25'
    """

    def __init__(self, data: bytes = b"") -> None:
        self._kept, self._hash, self._cut = bytearray(), blake2b(digest_size=16), False
        self.feed(data)

    @classmethod
    def of(cls, file: BinaryIO) -> Tail:
        """Return the tail of a file."""
        tail = cls()
        while data := file.read(KEPT):
            tail.feed(data)
        return tail

    def feed(self, data: bytes) -> None:
        """Append bytes."""
        self._hash.update(data)
        self._kept += data
        self._cut = self._cut or len(self._kept) > KEPT
        del self._kept[:-KEPT]

    @property
    def digest(self) -> bytes:
        """BLAKE2b digest of the stream."""
        return self._hash.digest()

    @property
    def last_line(self) -> str:
        """Last line that is not blank; empty if it is longer than the part kept."""
        whole = self._kept.partition(b"\n")[2] if self._cut else self._kept
        lines = whole.strip().splitlines()
        return lines[-1].decode(errors="replace").strip() if lines else ""


@dataclass(frozen=True, slots=True)
class Finished:
    """Result of a process. The status is None after a timeout, and negative after a signal."""

    status: int | None
    output: Tail
    complaints: Tail  # the standard error
    seconds: float

    @property
    def signal(self) -> str:
        """Name of the signal that killed the process."""
        number = -(self.status or 0)
        try:
            return signal.Signals(number).name
        except ValueError:
            return f"signal {number}"


def execute(words: Sequence[str], *, timeout: float | None) -> Finished:
    """Run a command; after `timeout` seconds kill it with its children."""
    job = _Job(words)
    output, complaints = Tail(), Tail()
    try:
        _running.add(job)
        job.start()
        in_time = _collect({job.output: output, job.complaints: complaints}, job.over, timeout)
        if not in_time:
            job.kill()
        job.join()
    except BaseException:
        job.kill()
        job.join()
        raise
    finally:
        _running.discard(job)
        job.close()
    if job.error is not None:
        raise job.error
    return Finished(job.status if in_time else None, output, complaints, job.seconds)


def kill_all() -> None:
    """Kill the commands that run in any thread."""
    for job in tuple(_running):
        job.kill()


class _Job(threading.Thread):
    """Thread that starts a command and waits for its end.

    Signals raise exceptions in the main thread only. In this thread none can come between the start of the
    process and the moment its number is known.
    """

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__(daemon=True)
        self._words = words
        self._under_way = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self.error: BaseException | None = None
        self.status: int | None = None
        self.seconds = 0.0
        self.output, self._output = os.pipe()
        self.complaints, self._complaints = os.pipe()
        self.over, self._over = os.pipe()  # at end of file when the command has ended

    def run(self) -> None:
        """Start the command and wait for it."""
        try:
            with reaped() as watch:
                start = perf_counter()
                self._process = self._launch()
                watch(self._process.pid)
                self._under_way.set()
                self.status = self._process.wait()
                self.seconds = perf_counter() - start
        except BaseException as error:
            self.error = error
        finally:
            self._under_way.set()
            os.close(self._over)

    def _launch(self) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self._words, stdin=subprocess.DEVNULL, stdout=self._output, stderr=self._complaints,
                start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(self._output)
            os.close(self._complaints)

    def kill(self) -> None:
        """Kill the command with its children."""
        self._under_way.wait(10.0)
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Close the pipes."""
        for handle in (self.output, self.complaints, self.over):
            os.close(handle)


_running: set[_Job] = set()


def _collect(tails: dict[int, Tail], over: int, timeout: float | None) -> bool:
    """Read until the command has ended; return False after a timeout."""
    deadline = None if timeout is None else perf_counter() + timeout
    with selectors.DefaultSelector() as selector:
        for handle in (*tails, over):
            selector.register(handle, selectors.EVENT_READ)
        while True:
            left = _LONGEST_WAIT if deadline is None else deadline - perf_counter()
            if left <= 0.0:
                return False
            ready = [key.fd for key, _ in selector.select(min(left, _LONGEST_WAIT))]
            if over in ready:
                break
            for handle in ready:
                if data := os.read(handle, KEPT):
                    tails[handle].feed(data)
                else:
                    selector.unregister(handle)
    for handle, tail in tails.items():
        _drain(handle, tail)
    return True


def _drain(handle: int, tail: Tail) -> None:
    """Read the rest of a pipe, without waiting for children that hold it open."""
    os.set_blocking(handle, False)
    with suppress(BlockingIOError):
        for _ in range(0, _PIPE, KEPT):
            if not (data := os.read(handle, KEPT)):
                return
            tail.feed(data)
