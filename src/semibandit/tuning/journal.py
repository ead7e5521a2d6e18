"""The rounds on disk: one line of JSON each, appended when the round is over.

The first line holds the settings. A line is written by one call and forced to the disk before the next
round begins, so that a crash at any moment can leave at most one torn line, the last; it is cut off when
the file is opened again. Each line ends with a checksum of itself and of all lines before it, so that nothing
else that befalls a file goes unnoticed. The learner is not stored: told the same rounds, it is the same.
"""

from __future__ import annotations

import os
import re
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

__all__ = ["Change", "Journal", "Round", "Settings", "feedback_of"]

# To be raised when rounds are drawn otherwise than before, as a file's rounds are compared with the draws.
VERSION = 3
READABLE = (1, 2, 3)  # format 1 has no checksums, format 2 no changes
MAGIC = b'{"semibandit":"tune","version":'

_FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)
_LOCK_ATTEMPTS = 40
_LOCK_PAUSE = 0.05
_SEAL = re.compile(rb',"crc":"([0-9a-f]{8})"\}$')
_SEAL_INSIDE = re.compile(rb',"crc":"[0-9a-f]{8}"\}.', re.DOTALL)


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="semibandit", tag="tune"):
    """What a state file was begun with. Rounds made with other settings cannot be learned from together."""

    version: int
    lo: float
    hi: float
    feedback: str
    high: float | None  # None: to be learned from the first rounds
    maximize: bool
    seed: int
    n_arms: int | None
    tolerance: float | None
    horizon: int
    margin: float = 0.0  # files of earlier versions do not have these
    probes: int = 0
    integer: bool = False
    knobs: dict[str, Any] | None = None  # the space, where there are several knobs, or with a scale

    def differences(self, other: Settings) -> Iterator[str]:
        """What is not the same, in words; the horizon and the format of the file may differ."""
        for name in self.__struct_fields__:
            ours, theirs = getattr(self, name), getattr(other, name)
            if name not in ("horizon", "version") and ours != theirs:
                theirs, ours = ("auto" if value is None else value for value in (theirs, ours))
                yield f"{name} = {theirs} (it was {ours})"


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What has become known, or was grown, between two rounds: the rounds after it depend on it.

    `instances` and `runs` begin a race, or let it go on with more of them.
    """

    high: float | None = None
    horizon: int | None = None
    instances: tuple[str, ...] = ()
    runs: int | None = None
    default: float | None = None


class Round(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What happened in one round.

    `loss` is what the learner was told, None for nothing; `failure` says why a run failed, `clipped` why the
    loss is the limit. `lo` and `hi` are the ends of the interval that was found around rho. `probed` holds
    the losses that were learned from the probes. `default_loss` is the loss of the default parameter on the
    same instance, where it was run. While the range is not known, losses are as they were read.
    """

    instance: str
    rho: float
    position: float
    seconds: float
    runs: int = 1
    loss: float | None = None
    failure: str | None = None
    clipped: str | None = None
    lo: float | None = None
    hi: float | None = None
    default_loss: float | None = None
    default_failure: str | None = None
    probed: tuple[float | None, ...] | None = None
    values: dict[str, Any] | None = None  # of all knobs, where they have names


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
        self._seal = 0
        self._handle = os.open(self.path, os.O_CREAT | _FLAGS, 0o666)
        try:
            if not stat.S_ISREG(os.fstat(self._handle).st_mode):
                raise ValueError(f"{self.path}: not a file")
            self._lock()
            self.settings, self.records = self._read()
        except BaseException:
            self.close()
            raise

    @property
    def rounds(self) -> list[Round]:
        """The rounds without what has changed between them. O(n)."""
        return [record for record in self.records if isinstance(record, Round)]

    def begin(self, settings: Settings) -> None:
        """Write the first line."""
        if self.settings is not None:
            raise ValueError(f"{self.path}: has begun already")
        self._write(settings)
        _sync_folder(self.path.parent)
        self.settings = settings

    def append(self, record: Round | Change) -> None:
        """Write a round, or a change; it is on the disk when this returns."""
        self.keep()
        self._write(record)
        self.records.append(record)

    def keep(self) -> None:
        """See to it that the file is where it should be: one that was deleted meanwhile is written anew."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            self._restore()
        else:
            if not os.path.samestat(found, os.fstat(self._handle)):
                raise OSError(f"{self.path}: another file has taken its place")

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

    def _restore(self) -> None:
        """Write the content of the deleted file, which our handle keeps alive, to a new one."""
        deleted = self._handle
        self._handle = os.open(self.path, os.O_CREAT | os.O_EXCL | _FLAGS, 0o666)
        try:
            self._lock()
            self._append(_content(deleted))
        except BaseException:
            self.close()
            raise
        finally:
            os.close(deleted)
        _sync_folder(self.path.parent)

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

    # -- lines -----------------------------------------------------------------------------------

    def _read(self) -> tuple[Settings | None, list[Round | Change]]:
        data = _content(self._handle)
        if not (data.startswith(MAGIC) or MAGIC.startswith(data)):
            raise ValueError(f"{self.path}: not a state file of `semibandit tune`")
        *lines, rest = data.split(b"\n")  # which is empty where the file ends with a line's end, as it should
        if _SEAL_INSIDE.search(rest):
            raise ValueError(f"{self.path}: line {len(lines) + 1} is damaged (it has no end)")
        torn = len(rest)
        if not lines:
            os.ftruncate(self._handle, 0)
            return None, []
        version = self._version(lines[0])
        records: list[Any] = []
        for number, line in enumerate(lines, start=1):
            try:
                payload, seal = _unsealed(line, self._seal, required=version > 1)
                records.append(msgspec.json.decode(payload, type=_kind(payload) if records else Settings))
                self._seal = seal
            except (msgspec.DecodeError, ValueError) as error:
                # A torn line has no checksum inside, as two have whose ends were lost.
                if number < max(len(lines), 2) or _SEAL_INSIDE.search(line):
                    raise ValueError(f"{self.path}: line {number} is damaged ({error})") from None
                torn += len(line) + 1  # power failed before all of the last line was on the disk
        if torn:
            os.ftruncate(self._handle, len(data) - torn)
        settings, *rest_of_them = records
        return settings, rest_of_them

    def _version(self, line: bytes) -> int:
        try:
            version = msgspec.json.decode(line[: line.index(b",", len(MAGIC))] + b"}").get("version")
        except (msgspec.DecodeError, ValueError) as error:
            raise ValueError(f"{self.path}: line 1 is damaged ({error})") from None
        if version not in READABLE:
            raise ValueError(
                f"{self.path}: line 1 is of format {version}, this program reads up to {VERSION}"
            )
        return int(version)

    def _write(self, record: Settings | Round | Change) -> None:
        payload = msgspec.json.encode(record)
        seal = zlib.crc32(payload, self._seal)
        self._append(payload[:-1] + b',"crc":"%08x"}\n' % seal)
        self._seal = seal

    def _append(self, data: bytes) -> None:
        """Add to the file, as a whole or not at all."""
        end = os.lseek(self._handle, 0, os.SEEK_END)
        try:
            if os.write(self._handle, data) != len(data):
                raise OSError(f"{self.path}: the disk is full")
            os.fsync(self._handle)
        except BaseException:
            os.ftruncate(self._handle, end)
            raise


def feedback_of(path: str | PathLike[str]) -> str | None:
    """The feedback that a state file was begun with, without opening it; None where that cannot be said."""
    with suppress(OSError, msgspec.DecodeError, ValueError):
        if not os.path.isfile(path):  # a device may have no end
            return None
        with open(path, "rb") as file:
            line = file.readline()
        return msgspec.json.decode(_unsealed(line.rstrip(b"\n"), 0, False)[0], type=Settings).feedback
    return None


def _kind(payload: bytes) -> type[Round | Change]:
    return Round if payload.startswith(b'{"instance":') else Change


def _unsealed(line: bytes, seal: int, required: bool) -> tuple[bytes, int]:
    """A line without its checksum, and the checksum that the next one begins with."""
    match = _SEAL.search(line)
    if match is None:
        if required:
            raise ValueError("its checksum is missing")
        return line, seal
    payload = line[: match.start()] + b"}"
    seal = zlib.crc32(payload, seal)
    if seal != int(match[1], 16):
        raise ValueError("its checksum is another, or a line before it is missing")
    return payload, seal


def _content(handle: int) -> bytes:
    os.lseek(handle, 0, os.SEEK_SET)
    with open(handle, "rb", closefd=False) as file:
        return file.read()


def _sync_folder(folder: Path) -> None:
    """Force the entry of a new file to the disk, where that is possible."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
