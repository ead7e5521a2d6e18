"""The rounds on disk: one line of JSON each, appended when the round is over.

The first line holds the settings. A line is written by one call and forced to the disk before the next
round begins, so that a crash at any moment can leave at most one torn line, the last; it is cut off when
the file is opened again. The learner is not stored: told the same rounds again, it is the same learner.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from os import PathLike
from pathlib import Path
from types import TracebackType

import msgspec

__all__ = ["Journal", "Round", "Settings"]

VERSION = 1
MAGIC = b'{"semibandit":"tune","version":'

_LOCK_ATTEMPTS = 40
_LOCK_PAUSE = 0.05


class Settings(msgspec.Struct, frozen=True, tag_field="semibandit", tag="tune"):
    """What a state file was begun with. Rounds made with other settings cannot be learned from together."""

    version: int
    lo: float
    hi: float
    feedback: str
    high: float
    maximize: bool
    seed: int
    n_arms: int | None
    tolerance: float | None
    horizon: int
    margin: float = 0.0  # files of earlier versions do not have it

    def differences(self, other: Settings) -> Iterator[str]:
        """What is not the same, in words; the horizon may differ."""
        for name in self.__struct_fields__:
            ours, theirs = getattr(self, name), getattr(other, name)
            if name != "horizon" and ours != theirs:
                yield f"{name} = {theirs} (it was {ours})"


class Round(msgspec.Struct, frozen=True, omit_defaults=True):
    """What happened in one round.

    `loss` is what the learner was told, None for nothing; `failure` says why a run failed. `lo` and `hi` are
    the ends of the interval that was found around rho. `default_loss` is the loss of the default parameter
    on the same instance, where it was run.
    """

    instance: str
    rho: float
    position: float
    seconds: float
    runs: int = 1
    loss: float | None = None
    failure: str | None = None
    lo: float | None = None
    hi: float | None = None
    default_loss: float | None = None
    default_failure: str | None = None


class Journal:
    """An open state file, which no other process can open meanwhile.

    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "knob.json")
    >>> settings = Settings(VERSION, 0.0, 1.0, "bandit", 1.0, False, 0, None, None, 100)
    >>> with Journal(path) as journal:
    ...     journal.begin(settings)
    ...     journal.append(Round("a.txt", 0.25, 0.25, 1.5, loss=0.5))
    >>> with Journal(path) as journal:
    ...     journal.settings == settings, journal.rounds[0].loss
    (True, 0.5)
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._handle = os.open(self.path, flags, 0o666)
        try:
            self._lock()
            self.settings, self.rounds = self._read()
        except BaseException:
            self.close()
            raise

    def begin(self, settings: Settings) -> None:
        """Write the first line."""
        if self.settings is not None:
            raise ValueError(f"{self.path}: has begun already")
        self._write(settings)
        _sync_folder(self.path.parent)
        self.settings = settings

    def append(self, record: Round) -> None:
        """Write a round; it is on the disk when this returns."""
        self._write(record)
        self.rounds.append(record)

    def close(self) -> None:
        """Let other processes open the file."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # not on Windows, where there is nothing as simple
            return
        # A command that a killed process was just starting holds the lock until it is under way.
        for _ in range(_LOCK_ATTEMPTS):
            with suppress(BlockingIOError):
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            time.sleep(_LOCK_PAUSE)
        raise ValueError(f"{self.path}: in use by another process")

    def _read(self) -> tuple[Settings | None, list[Round]]:
        with open(self._handle, "rb", closefd=False) as file:
            data = file.read()
        if not (data.startswith(MAGIC) or MAGIC.startswith(data)):
            raise ValueError(f"{self.path}: not a state file of `semibandit tune`")
        lines = data.split(b"\n")
        torn = len(lines.pop())  # empty where the file ends with a line's end, as it should
        if not lines:
            os.ftruncate(self._handle, 0)
            return None, []
        settings = self._decode_settings(lines[0])
        rounds = []
        for number, line in enumerate(lines[1:], start=2):
            try:
                rounds.append(msgspec.json.decode(line, type=Round))
            except msgspec.DecodeError as error:
                if number < len(lines):
                    raise ValueError(f"{self.path}: line {number} is damaged ({error})") from None
                torn += len(line) + 1  # power failed before all of the last line was on the disk
        if torn:
            os.ftruncate(self._handle, len(data) - torn)
        return settings, rounds

    def _decode_settings(self, line: bytes) -> Settings:
        version = msgspec.json.decode(line[: line.index(b",", len(MAGIC))] + b"}").get("version")
        if version != VERSION:
            raise ValueError(f"{self.path}: written in format {version}, this program reads format {VERSION}")
        try:
            return msgspec.json.decode(line, type=Settings)
        except msgspec.DecodeError as error:
            raise ValueError(f"{self.path}: line 1 is damaged ({error})") from None

    def _write(self, record: Settings | Round) -> None:
        line = msgspec.json.encode(record) + b"\n"
        end = os.lseek(self._handle, 0, os.SEEK_END)
        try:
            if os.write(self._handle, line) != len(line):
                raise OSError(f"{self.path}: the disk is full")
            os.fsync(self._handle)
        except BaseException:
            os.ftruncate(self._handle, end)
            raise


def _sync_folder(folder: Path) -> None:
    """Force the entry of a new file to the disk, where that is possible."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
