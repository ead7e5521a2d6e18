"""A command with parameters: run it on an instance and read the loss."""

from __future__ import annotations

import errno
import math
import os
import re
import shlex
import shutil
import stat
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from semibandit import _validate
from semibandit.tuning.process import Finished, Tail, execute

__all__ = ["COMPARE", "LOSS_FROM", "Command", "Outcome", "StoppedError"]

LOSS_FROM = ("output", "file", "exit", "time")
COMPARE = ("output", "loss", "file")

# rho, or the values of named knobs.
Point = float | dict[str, Any]

_QUOTED = re.compile(r"""\\. | '[^']*' | "(?:\\.|[^"\\])*" """, re.VERBOSE | re.DOTALL)

# Seconds before further attempts to start a command, which may just be replaced by an update.
_PAUSES = (0.1, 0.3, 1.0, 3.0)
_SHELL_CANNOT_START = (126, 127)
_SHELL_SIGPIPE = 128 + 13  # status of a shell if SIGPIPE has ended a part of the pipe
_SAT_STATUS = (10, 20)  # satisfiable, unsatisfiable
_MAX_FAILURE = 200


class StoppedError(RuntimeError):
    """Tuning cannot continue. Finished rounds are in the study."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a run: a loss or the reason why there is none, and the output to compare with other runs."""

    loss: float | None
    failure: str | None
    output: bytes | float | None
    seconds: float
    late: str | None = None  # message if the run was killed at the timeout
    clipped: str | None = None  # reason why the loss is the limit

    def same(self, other: Outcome) -> bool:
        """Return whether both have the same output, both failed, or both were killed at the timeout."""
        ours, theirs = ((o.failure is not None, o.late is not None) for o in (self, other))
        return ours == theirs and (any(ours) or self.output == other.output)


class Command:
    """A command template with {rho} and {instance}.

    The template is split into arguments as in a shell, and placeholders are replaced within each argument.
    No shell sees the name of an instance, so spaces in it are harmless.

    Parameters
    ----------
    template
        Must contain {rho} and {instance}; other braces are literal.
    loss_from
        "output": the last line of the standard output that is not blank. "file": that of `loss_file`.
        "exit": the exit status. "time": the seconds from start to end.
    loss_file
        Path with the same placeholders; each run must write it.
    compare
        Two runs are the same if their standard "output", their "loss", or a "file" is the same.
    compare_file
        Path with the same placeholders.
    timeout
        Seconds after which the command is killed with its children.
    ok_status
        Exit statuses of success, such as 10 and 20 of SAT solvers.
    integer
        Round the parameter to an integer.
    names
        Placeholders of the knobs, which the template must contain; by default {rho}.
    shell
        Run the template in a shell. {instance} and knobs must not be inside quotes: the shell gets the name
        as a positional parameter, which it does not expand, and the values quoted. The run fails if any part
        of a pipe fails, except by SIGPIPE (`| head -1`).

    Raises
    ------
    StoppedError
        Raised by `run` if the command still fails to start after retries.

    Examples
    --------
    >>> Command("echo {rho}  # {instance}", shell=True).run("any.txt", 0.25).loss
    0.25
    >>> Command("echo {instance} {rho}").run("any.txt", 0.25).failure
    "the last line of the output is no number: 'any.txt 0.25'"
    """

    def __init__(
        self,
        template: str,
        *,
        loss_from: str = "output",
        loss_file: str | None = None,
        compare: str = "output",
        compare_file: str | None = None,
        timeout: float | None = None,
        ok_status: Iterable[int] = (0,),
        integer: bool = False,
        shell: bool = False,
        names: Iterable[str] = ("rho",),
    ) -> None:
        self.names = tuple(names)
        self._placeholder = re.compile(r"\{(" + "|".join((*map(re.escape, self.names), "instance")) + r")\}")
        for name in (*self.names, "instance"):
            if f"{{{name}}}" not in template:
                raise ValueError(f"the command must contain {{{name}}}, got {template!r}")
        self.template, self.shell = template, bool(shell)
        self.loss_from = _validate.choice("loss_from", loss_from, LOSS_FROM)
        self.compare = _validate.choice("compare", compare, COMPARE)
        self.loss_file = _needed("loss_file", loss_file, self.loss_from == "file")
        self.compare_file = _needed("compare_file", compare_file, self.compare == "file")
        self.timeout = None if timeout is None else _validate.number("timeout", timeout, low=0.0, open=True)
        self.ok_status = frozenset(_validate.integer("ok_status", each, low=0) for each in ok_status)
        self.integer = _validate.boolean("integer", integer)
        self._words = (_for_shell if shell else _split)(template, self._placeholder)

    def run(self, instance: str, rho: Point) -> Outcome:
        """Run the command once, with rho or the values of its knobs."""
        files = [self._fill(path, instance, rho) for path in (self.loss_file, self.compare_file) if path]
        before = {path: _backdated_stamp(path) for path in files}
        words = [self._fill(word, instance, rho, quoted=self.shell) for word in self._words]
        seconds = 0.0
        try:
            done = self._execute(words)
            seconds = done.seconds
            if done.status is None:
                return self._late(seconds)
            self._require_success(done, done.status)
            for path in files:
                if _stamp(path) in (None, before[path]):
                    raise _FailureError(f"the command did not write {path}")
            loss = self._read_loss(done, instance, rho)
            return Outcome(loss, None, self._compared(done.output, loss, instance, rho), seconds)
        except _FailureError as failed:
            return Outcome(None, str(failed)[:_MAX_FAILURE], None, seconds)

    def last_line(self, instance: str) -> str:
        """Run a command without parameters (`names=()`); return the last line of its output.

        StoppedError if there is none, or the command fails.
        """
        try:
            done = self._execute([self._fill(word, instance, {}, quoted=self.shell) for word in self._words])
            if done.status is None:
                raise _FailureError(f"no end after {self.timeout:g} seconds")
            self._require_success(done, done.status)
        except _FailureError as failed:
            raise StoppedError(str(failed)[:_MAX_FAILURE]) from None
        if not done.output.last_line:
            raise StoppedError("the command printed nothing")
        return done.output.last_line

    def value(self, rho: float) -> float:
        """Return the value that the command gets for rho."""
        return float(round(rho)) if self.integer else float(rho)

    def written(self, rho: float) -> str:
        """Return the text for {rho}: all digits of the number, or an integer."""
        return str(round(rho)) if self.integer else repr(float(rho))

    def _fill(self, text: str, instance: str, rho: Point, quoted: bool = False) -> str:
        if isinstance(rho, dict):
            texts = {name: x if isinstance(x, str) else repr(x) for name, x in rho.items()}
            values = {name: shlex.quote(x) if quoted else x for name, x in texts.items()}
        else:
            values = {"rho": self.written(rho)}
        values["instance"] = instance
        return self._placeholder.sub(lambda match: values[match[1]], text)

    def _execute(self, words: list[str]) -> Finished:
        """Run the command; retry if it cannot be started."""
        for pause in (*_PAUSES, None):
            try:
                done = execute(words, timeout=self.timeout)
            except OSError as error:
                if error.errno == errno.E2BIG or words[0] != self._words[0]:
                    raise _FailureError(f"cannot be run: {error}") from None  # because of this instance
                reason = str(error)
            else:
                if not (self.shell and self.loss_from != "exit" and done.status in _SHELL_CANNOT_START):
                    return done
                reason = done.complaints.last_line or f"exit status {done.status}"
            if pause is not None:
                time.sleep(pause)
        raise StoppedError(f"the command cannot be started: {reason[:_MAX_FAILURE]}")

    # -- reading ---------------------------------------------------------------------------------

    def _late(self, seconds: float) -> Outcome:
        """Return the outcome of a run that was killed at the timeout."""
        loss = seconds if self.loss_from == "time" else None
        return Outcome(loss, None, None, seconds, late=f"no end after {self.timeout:g} seconds")

    def _require_success(self, done: Finished, status: int) -> None:
        if status < 0:
            raise _FailureError(f"killed by {done.signal}")
        if self.loss_from == "exit" or status in self.ok_status or (self.shell and status == _SHELL_SIGPIPE):
            return
        last = done.complaints.last_line
        hint = " (a result of SAT solvers: --ok-status 10,20)" if status in _SAT_STATUS else ""
        raise _FailureError(f"exit status {status}{hint}" + (f": {last}" if last else ""))

    def _read_loss(self, done: Finished, instance: str, rho: Point) -> float:
        if self.loss_from == "output":
            return _parse(done.output.last_line, "the output")
        if self.loss_file is not None:
            path = self._fill(self.loss_file, instance, rho)
            return _parse(_tail(path).last_line, path)
        return done.seconds if self.loss_from == "time" else float(done.status or 0)

    def _compared(self, output: Tail, loss: float, instance: str, rho: Point) -> bytes | float:
        if self.compare == "file":
            assert self.compare_file is not None
            return _tail(self._fill(self.compare_file, instance, rho)).digest
        return output.digest if self.compare == "output" else loss


class _FailureError(Exception):
    """The run has no loss."""


def _split(template: str, placeholder: re.Pattern[str]) -> list[str]:
    try:
        words = shlex.split(template)
    except ValueError as error:
        raise ValueError(f"the command cannot be split into arguments ({error}): {template!r}") from None
    if not placeholder.search(words[0]) and shutil.which(words[0]) is None:
        raise ValueError(f"the command {words[0]!r} cannot be found")
    return words


def _for_shell(template: str, placeholder: re.Pattern[str]) -> list[str]:
    """Return the words that run a template in a shell, with the instance as the parameter $1."""
    for quoted in _QUOTED.findall(template):
        for name in placeholder.findall(quoted):
            if name != "rho":  # a number, which is not quoted
                raise ValueError(
                    f"{{{name}}} must not be inside quotes, as it is quoted already, got {quoted}"
                )
    script = template.replace("{instance}", '"$1"')
    return [*_shell(), "-c", script, "/bin/sh", "{instance}"]


@cache
def _shell() -> list[str]:
    """Return a shell with `pipefail`, or /bin/sh if there is none."""
    for shell in ("/bin/sh", shutil.which("bash")):
        if (
            shell
            and subprocess.run([shell, "-o", "pipefail", "-c", ":"], capture_output=True).returncode == 0
        ):
            return [shell, "-o", "pipefail"]
    return ["/bin/sh"]


def _tail(path: str) -> Tail:
    """Return the end of a file, which must be a regular file."""
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _FailureError(f"not a file: {path}")
            return Tail.of(file)
    except OSError as error:
        raise _FailureError(f"cannot be read: {error}") from None


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # opening a FIFO would wait for a writer


def _needed(name: str, path: str | None, needed: bool) -> str | None:
    if needed and not path:
        raise ValueError(f"{name} must be a path, got {path!r}")
    return path if needed else None


def _stamp(path: str) -> tuple[int, int, int] | None:
    """Return a value that changes when the file is written; None without a file."""
    try:
        info = os.stat(path)
    except OSError:
        return None
    return info.st_mtime_ns, info.st_size, info.st_ino


def _backdated_stamp(path: str) -> tuple[int, int, int] | None:
    """Make a file a second older, as its clock may be too coarse for quick runs; return its stamp."""
    with suppress(OSError):
        info = os.stat(path)
        os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns - 1_000_000_000))
    return _stamp(path)


def _parse(line: str, where: str) -> float:
    try:
        loss = float(line)
    except ValueError:
        raise _FailureError(f"the last line of {where} is no number: {line[:80]!r}") from None
    if not math.isfinite(loss):
        raise _FailureError(f"the loss must be finite, got {line[:80]}")
    return loss
