"""Streams of instances that are read from files, one file each, when they are needed."""

from __future__ import annotations

import csv
import glob
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TextIO, TypeVar

import numpy as np

from semibandit import _validate
from semibandit.streams.stream import Stream

__all__ = [
    "InstanceFileError",
    "InstanceFiles",
    "LineError",
    "Where",
    "find_files",
    "finite_number",
    "instance_files",
    "opened",
]

P = TypeVar("P")
Where = str | PathLike[str] | Iterable[str | PathLike[str]]


class InstanceFileError(ValueError):
    """Raised for a file that cannot be used; names the file, the line and the reason."""

    def __init__(self, path: Path, line: int | None, reason: str) -> None:
        place = f"{path}, line {line}" if line is not None else f"{path}"
        super().__init__(f"{place}: {reason}")
        self.path, self.line, self.reason = path, line, reason

    def __reduce__(self) -> Any:
        """Pickle by the arguments, so that errors of worker processes can be passed on."""
        return type(self), (self.path, self.line, self.reason)


class LineError(ValueError):
    """Raised by a parser for a line that cannot be used, or with line None for the whole file."""

    def __init__(self, line: int | None, reason: str) -> None:
        super().__init__(reason)
        self.line = line


@contextmanager
def opened(path: Path, suffixes: Collection[str]) -> Iterator[TextIO]:
    """Open a file, and turn every error of the block into an `InstanceFileError`."""
    if path.suffix.lower() not in suffixes:
        raise InstanceFileError(path, None, f"suffix must be {' or '.join(suffixes)}, got {path.suffix!r}")
    try:
        # Invalid bytes do no harm in names; in numbers they are errors of the line.
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            yield file
    except OSError as error:
        raise InstanceFileError(path, None, f"cannot be read: {error.strerror}") from None
    except csv.Error as error:
        raise InstanceFileError(path, None, f"not readable as a table: {error}") from None
    except ValueError as error:
        raise InstanceFileError(path, getattr(error, "line", None), str(error)) from None


class InstanceFiles(Stream[P]):
    """Instances in files, each read whenever it is needed; nothing is kept in memory.

    Parameters
    ----------
    paths
        The files, in order.
    read
        Makes an instance from a file, or raises an `InstanceFileError`.
    skipped
        The errors of the files that were left out.
    """

    def __init__(
        self, paths: Sequence[Path], read: Callable[[Path], P], skipped: Sequence[InstanceFileError] = ()
    ) -> None:
        def make(t: int, rng: np.random.Generator) -> P:
            return read(self.paths[t])

        super().__init__(make, len(paths), seed=0)
        self.paths, self.skipped = list(paths), list(skipped)
        self._read = read

    def part(self, start: int, stop: int) -> InstanceFiles[P]:
        """Return the instances from `start` up to `stop`, with the paths of these only."""
        return InstanceFiles(self.paths[start:stop], self._read)

    def __reduce__(self) -> Any:
        paths = [path.absolute() for path in self.paths]  # a worker may run in another directory
        return InstanceFiles, (paths, self._read, self.skipped)

    def __repr__(self) -> str:
        return f"<{len(self)} instance files, {len(self.skipped)} skipped>"


def instance_files(
    where: Where,
    suffixes: Collection[str],
    read: Callable[[Path], P],
    *,
    check: Callable[[Path], Any] | None,
    skip_bad: bool,
    order: Callable[[Path], Any] = lambda path: path.name,
) -> InstanceFiles[P]:
    """Return the stream of the files found, sorted by `order`.

    With `check`, each file is passed to it in advance. An `InstanceFileError` that it raises is passed on, or
    with `skip_bad` the file is left out.
    """
    paths, skipped = find_files(where, suffixes), []
    if check is not None:
        usable = []
        for path in paths:
            try:
                check(path)
                usable.append(path)
            except InstanceFileError as bad:
                if not skip_bad:
                    raise
                skipped.append(bad)
        paths = usable
    if not paths:
        raise ValueError(f"no usable instance file in {where!r} ({len(skipped)} skipped)")
    return InstanceFiles(sorted(paths, key=order), read, skipped)


def find_files(where: Where, suffixes: Collection[str]) -> list[Path]:
    """Return the files in a folder with one of the suffixes, the matches of a pattern, or a named file.

    A sequence of these gives the files of all of them.
    """
    if not isinstance(where, str | PathLike):
        several = _validate.iterable("where", where, "a path, or a sequence of them")
        return [path for each in several for path in find_files(_validate.path("where", each), suffixes)]
    root = Path(where)
    if root.is_dir():
        return sorted(path for path in root.iterdir() if path.suffix.lower() in suffixes)
    if root.exists():
        return [root]
    found = sorted(Path(path) for path in glob.glob(fspath(where), recursive=True))
    if not found:
        raise FileNotFoundError(f"no file, folder or match for {fspath(where)!r}")
    return found


def finite_number(line: int, name: str, text: str) -> float:
    """Return the finite number that a cell of a file holds."""
    try:
        x = float(text)
    except ValueError:
        x = np.nan
    if not np.isfinite(x):
        raise LineError(line, f"{name} must be a finite number, got {text.strip()!r}")
    return x
