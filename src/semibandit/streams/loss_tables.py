"""Loss functions from logs: lines of JSON, CSV, Parquet or Arrow, also compressed or on other machines."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, groupby
from pathlib import Path
from typing import Any, BinaryIO

from semibandit._extras import needed
from semibandit.functions import Piecewise, PiecewiseConstant, PiecewiseLinear
from semibandit.streams.files import InstanceFileError, Where, find_files

__all__ = ["LossTables", "read_losses"]

_COLUMNAR = (".parquet", ".arrow", ".feather")
_SUFFIXES = (".jsonl", ".ndjson", ".csv", *_COLUMNAR)
_BATCH = 10_000  # rows


def read_losses(files: Where) -> LossTables:
    r"""Return the loss functions in files. Each iteration reads the files once.

    A row holds a function, with the lists `edges` and `values` (`left` and `right` for piecewise linear
    functions). Or it holds a piece, with `lo`, `hi`, `loss` and `instance`; consecutive rows with the same
    instance form a function.

    Parameters
    ----------
    files
        A file, a folder or a pattern, or several: `.jsonl`, `.csv`, `.parquet`, `.arrow` or `.feather`; the
        text files also with `.gz`. Addresses such as `s3://bucket/log.jsonl` are opened by fsspec. Parquet,
        Arrow and addresses need the extra `arrow`.

    Examples
    --------
    >>> import tempfile, pathlib, semibandit as sb
    >>> log = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = log.write_text("instance,lo,hi,loss\na,0,0.4,1\na,0.4,1,0\nb,0,0.5,0\nb,0.5,1,0.5\n")
    >>> sb.fit(sb.streams.read_losses(log)).interval
    (0.4, 0.5)
    """
    given = [files] if isinstance(files, str | Path) or not isinstance(files, Iterable) else list(files)
    places: list[str | Path] = []
    for each in given:
        if not isinstance(each, str | Path):
            raise TypeError(f"files must be names of files, got {each!r}")
        remote = isinstance(each, str) and "://" in each
        places += [each] if remote else _local(each)
    return LossTables(places)


class LossTables:
    """Loss functions of files, in order; can be iterated several times."""

    def __init__(self, places: list[str | Path]) -> None:
        self.places = places

    def __iter__(self) -> Iterator[Piecewise]:
        return chain.from_iterable(map(_functions, self.places))

    def __repr__(self) -> str:
        return f"LossTables({[str(place) for place in self.places]!r})"


def _local(where: Any) -> list[Path]:
    path = Path(where)
    if path.is_file():
        return [path]
    found = [each for each in find_files(where, (*_SUFFIXES, ".gz")) if _suffix(each) in _SUFFIXES]
    if not found:
        raise ValueError(f"files must end with {', '.join(_SUFFIXES)} (or .gz after it), got {where!r}")
    return found


def _suffix(place: str | Path) -> str:
    return Path(str(place).lower().removesuffix(".gz")).suffix


def _functions(place: str | Path) -> Iterator[Piecewise]:
    """Yield the functions of a file; an error names file and row."""
    rows = enumerate(_rows(place), 1)
    for (_, instance), group in groupby(rows, key=lambda row: _instance(*row)):
        numbered = list(group)
        pieces = [row for _, row in numbered]
        try:
            function = _whole(pieces[0]) if instance is None else _function(pieces)
        except (KeyError, TypeError, ValueError) as error:
            reason = f"there is no {error}" if isinstance(error, KeyError) else str(error)
            raise InstanceFileError(Path(str(place)), numbered[-1][0], reason) from None
        yield function


def _instance(number: int, row: Mapping[str, Any]) -> tuple[int, Any]:
    """Return the key of a function: its own row, or the instance of its pieces."""
    return (number, None) if "edges" in row else (0, row.get("instance", ""))


def _whole(row: Mapping[str, Any]) -> Piecewise:
    kind = PiecewiseLinear if row.get("left") is not None else PiecewiseConstant
    names = ("edges", "left", "right") if kind is PiecewiseLinear else ("edges", "values")
    return kind(*(row[name] for name in names))


def _function(pieces: list[Mapping[str, Any]]) -> PiecewiseConstant:
    lo, hi, loss = ([float(piece[name]) for piece in pieces] for name in ("lo", "hi", "loss"))
    if lo[1:] != hi[:-1]:
        raise ValueError("the pieces of an instance must follow each other, lo at the hi of the one before")
    return PiecewiseConstant([*lo, hi[-1]], loss)


def _rows(place: str | Path) -> Iterator[Mapping[str, Any]]:
    suffix = _suffix(place)
    with _opened(place) as file:
        if suffix in _COLUMNAR:
            yield from _columnar_rows(file, suffix)
            return
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        yield from (
            csv.DictReader(text) if suffix == ".csv" else (json.loads(line) for line in text if line.strip())
        )


def _columnar_rows(file: BinaryIO, suffix: str) -> Iterator[Mapping[str, Any]]:
    with needed(f"a {suffix} file", "arrow"):
        import pyarrow.ipc
        import pyarrow.parquet
    if suffix == ".parquet":
        batches = pyarrow.parquet.ParquetFile(file).iter_batches(_BATCH)
    else:
        reader = pyarrow.ipc.open_file(file)
        batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
    for batch in batches:
        yield from batch.to_pylist()


@contextmanager
def _opened(place: str | Path) -> Iterator[Any]:
    if _suffix(place) not in _SUFFIXES:
        raise ValueError(f"{place}: files must end with {', '.join(_SUFFIXES)} (or .gz after it)")
    if isinstance(place, str):
        with needed("an address of a file", "arrow"):
            import fsspec
        opened = fsspec.open(place, "rb").open()
    else:
        opened = place.open("rb")
    with opened as file:
        if str(place).lower().endswith(".gz"):
            with gzip.open(file) as unpacked:
                yield unpacked
        else:
            yield file
