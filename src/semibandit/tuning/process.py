"""Run a command to its end, or to the end of its time."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import IO

__all__ = ["Finished", "execute"]


@dataclass(frozen=True, slots=True)
class Finished:
    """What is left of a process. The status is None where time ran out, and negative after a signal."""

    status: int | None
    output: bytes
    complaints: bytes  # the standard error
    seconds: float

    @property
    def signal(self) -> str:
        """The name of the signal that has killed the process."""
        number = -(self.status or 0)
        try:
            return signal.Signals(number).name
        except ValueError:
            return f"signal {number}"


def execute(words: str | Sequence[str], *, timeout: float | None, shell: bool) -> Finished:
    """Run a command; after `timeout` seconds it is killed, with all that it has started."""
    # Output goes to files, not pipes: something left behind that holds them open cannot make us wait.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = perf_counter()
        # A session of its own lets us kill the command with all that it has started.
        process = subprocess.Popen(
            words, shell=shell, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
        status = _wait(process, timeout)
        seconds = perf_counter() - start
        return Finished(status, _content(out), _content(err), seconds)


def _wait(process: subprocess.Popen[bytes], timeout: float | None) -> int | None:
    """The exit status; None where time ran out."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        _kill(process)

    # Waiting with a timeout polls, which blurs the time that is measured; a timer does not.
    timer = threading.Timer(timeout, stop) if timeout is not None else None
    try:
        if timer is not None:
            timer.start()
        status = process.wait()
    except BaseException:
        _kill(process)
        process.wait()
        raise
    finally:
        if timer is not None:
            timer.cancel()
    return None if late.is_set() else status


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the command's session; on systems without, the command alone."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    except (AttributeError, PermissionError):
        process.kill()


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
