"""Clustering instances from files: points and their labels, a CSV file each."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray, IntArray
from semibandit.clustering import TargetDistance
from semibandit.families.linkage.linkage import LINKAGES, PARTITIONS, Linkage
from semibandit.streams.files import InstanceFileError, InstanceFiles, Where, find_files, sound

__all__ = ["read_clusterings"]

_SUFFIXES = (".csv", ".tsv")
METRICS = ("euclidean", "cityblock", "chebyshev", "cosine")


def read_clusterings(
    where: Where,
    *,
    label: str = "label",
    metric: str = "euclidean",
    standardise: bool = False,
    skip_bad: bool = False,
    linkage: str = "single-complete",
    partition: str = "tree",
    cost: Callable[[Any], Any] = TargetDistance,
) -> InstanceFiles[Linkage]:
    """A stream of the clustering instances in files, each of which is read whenever it is asked for.

    A file is a table with a line of names: a column with the label of each point, which may be any text, and
    columns of numbers, its coordinates. Columns are separated by commas, in a `.tsv` file by tabs.

    Parameters
    ----------
    where
        A folder (its `.csv` and `.tsv` files), a glob pattern, a file, or several files; taken by name.
    label
        The name of the column with the labels.
    metric
        How distances are measured: "euclidean", "cityblock", "chebyshev" or "cosine".
    standardise
        Scale each coordinate of a file to variance 1; one that is the same for all points says nothing.
    skip_bad
        Read all files once in advance, and leave out those that cannot be used; they are in `.skipped`.
        Otherwise such a file is an error, which names the line, when it is asked for.
    linkage, partition
        What each `Linkage` gets.
    cost
        Makes the cost of an instance from its labels.
    """
    _validate.choice("metric", metric, METRICS)
    _validate.boolean("standardise", standardise)
    _validate.boolean("skip_bad", skip_bad)
    _validate.choice("linkage", linkage, LINKAGES)
    _validate.choice("partition", partition, PARTITIONS)
    _validate.function("cost", cost)
    if not isinstance(label, str):
        raise TypeError(f"label must be the name of a column, got {label!r}")
    options = {"linkage": linkage, "partition": partition}
    read = partial(_problem, label=label, metric=metric, standardise=standardise, cost=cost, options=options)
    paths = sorted(find_files(where, _SUFFIXES), key=lambda path: path.name)
    skipped: list[InstanceFileError] = []
    if skip_bad:
        usable, skipped = sound(paths, lambda path: bool(read(path)), skip_bad=True)
        paths = [path for path, _ in usable]
    if not paths:
        raise ValueError(f"no usable clustering file in {where!r} ({len(skipped)} skipped)")
    return InstanceFiles(paths, read, skipped)


def _problem(
    path: Path,
    label: str,
    metric: str,
    standardise: bool,
    cost: Callable[[Any], Any],
    options: dict[str, Any],
) -> Linkage:
    from scipy.spatial.distance import pdist

    points, labels = read_points(path, label)
    if standardise:
        spread = points.std(axis=0)
        points = points / np.where(spread > 0.0, spread, 1.0)
    try:
        return Linkage(pdist(points, metric), cost(labels), **options)
    except ValueError as error:
        raise InstanceFileError(path, None, str(error)) from None


def read_points(path: Path, label: str = "label") -> tuple[FloatArray, IntArray]:
    """The coordinates and the labels, numbered from 0, of the points in a file."""
    if path.suffix.lower() not in _SUFFIXES:
        raise InstanceFileError(path, None, f"suffix must be {' or '.join(_SUFFIXES)}, got {path.suffix!r}")
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            rows = csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
            header = [name.strip() for name in next(rows, [])]
            if label not in header:
                raise InstanceFileError(
                    path, 1, f"has no column {label!r}, only {', '.join(header) or 'nothing'}"
                )
            at = header.index(label)
            points, labels = [], []
            for row in rows:
                if any(cell.strip() for cell in row):
                    points.append(_numbers(path, rows.line_num, header, row, at))
                    labels.append(row[at].strip())
    except OSError as error:
        raise InstanceFileError(path, None, f"cannot be read: {error.strerror}") from None
    except csv.Error as error:
        raise InstanceFileError(path, None, f"not readable as a table: {error}") from None
    if len(header) < 2 or not points:
        raise InstanceFileError(path, None, f"has {len(points)} points with {len(header) - 1} coordinates")
    return np.array(points), np.unique(labels, return_inverse=True)[1]


def _numbers(path: Path, line: int, header: list[str], row: list[str], label: int) -> list[float]:
    if len(row) != len(header):
        raise InstanceFileError(path, line, f"{len(header)} columns expected, got {len(row)}")
    numbers = []
    for i, (name, cell) in enumerate(zip(header, row, strict=True)):
        if i == label:
            continue
        try:
            x = float(cell)
        except ValueError:
            x = np.nan
        if not np.isfinite(x):
            raise InstanceFileError(path, line, f"{name} must be a finite number, got {cell.strip()!r}")
        numbers.append(x)
    return numbers
