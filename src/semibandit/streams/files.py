"""Instances that are read from files, one file each, when they are asked for."""

from __future__ import annotations

import glob
from collections.abc import Callable, Collection, Iterable, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from semibandit import _validate
from semibandit.streams.stream import Stream

__all__ = ["InstanceFileError", "InstanceFiles", "Where", "find_files", "sound"]

P = TypeVar("P")
Where = str | PathLike[str] | Iterable[str | PathLike[str]]


class InstanceFileError(ValueError):
    """An instance file that cannot be used: says which, where, and why."""

    def __init__(self, path: Path, line: int | None, reason: str) -> None:
        place = f"{path}, line {line}" if line is not None else f"{path}"
        super().__init__(f"{place}: {reason}")
        self.path, self.line, self.reason = path, line, reason

    def __reduce__(self) -> Any:
        """Pickled by its parts: an error in a worker reaches whoever asked for the work."""
        return type(self), (self.path, self.line, self.reason)


class InstanceFiles(Stream[P]):
    """The instances in files, each read whenever it is asked for; nothing is kept.

    Parameters
    ----------
    paths
        The files, in order.
    read
        Makes an instance of a file, or raises an `InstanceFileError`.
    skipped
        The errors of files that were left out before.
    """

    def __init__(
        self, paths: Sequence[Path], read: Callable[[Path], P], skipped: Sequence[InstanceFileError] = ()
    ) -> None:
        def make(t: int, rng: np.random.Generator) -> P:
            return self._instance(t)

        super().__init__(make, len(paths), seed=0)
        self.paths, self.skipped = list(paths), list(skipped)
        self._read = read

    def _instance(self, t: int) -> P:
        return self._read(self.paths[t])

    def part(self, start: int, stop: int) -> InstanceFiles[P]:
        """The instances from `start` up to `stop`: a worker gets their paths, not all of them."""
        return InstanceFiles(self.paths[start:stop], self._read)

    def __reduce__(self) -> Any:
        paths = [path.absolute() for path in self.paths]  # a worker may be at home in another folder
        return InstanceFiles, (paths, self._read, self.skipped)

    def __repr__(self) -> str:
        return f"<{len(self)} instance files, {len(self.skipped)} skipped>"


def find_files(where: Where, suffixes: Collection[str]) -> list[Path]:
    """The files in a folder with one of the suffixes, those that match a pattern, or those that are named."""
    if not isinstance(where, str | PathLike):
        paths = _validate.iterable("where", where, "a path, or a sequence of them")
        return [Path(_validate.path("where", path)) for path in paths]
    root = Path(where)
    if root.is_dir():
        return sorted(path for path in root.iterdir() if path.suffix.lower() in suffixes)
    if root.exists():
        return [root]
    found = sorted(Path(path) for path in glob.glob(fspath(where), recursive=True))
    if not found:
        raise FileNotFoundError(f"no file, folder or match for {fspath(where)!r}")
    return found


def sound(
    paths: Iterable[Path], read: Callable[[Path], P], skip_bad: bool
) -> tuple[list[tuple[Path, P]], list[InstanceFileError]]:
    """What can be read, with its path, and the errors of other files; without `skip_bad` they are raised."""
    entries, skipped = [], []
    for path in paths:
        try:
            entries.append((path, read(path)))
        except InstanceFileError as bad:
            if not skip_bad:
                raise
            skipped.append(bad)
    return entries, skipped
