"""Clustering instances from files: points and their labels, one CSV file each."""

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
from semibandit.streams.files import InstanceFiles, LineError, Where, finite_number, instance_files, opened

__all__ = ["read_clusterings"]

_SUFFIXES = {".csv": ",", ".tsv": "\t"}  # with their separators
_METRICS = ("euclidean", "cityblock", "chebyshev", "cosine")


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
    """Return a stream of the clustering instances in files; each is read when it is needed.

    A file is a table with a header: one column with the label of each point, which may be any text, and
    numeric columns, its coordinates. Columns are separated by commas, in a `.tsv` file by tabs.

    Parameters
    ----------
    where
        A folder (its `.csv` and `.tsv` files), a glob pattern, a file, or several of these; sorted by name.
    label
        Name of the column with the labels.
    metric
        Metric of the distances: "euclidean", "cityblock", "chebyshev" or "cosine".
    standardise
        Scale each coordinate of a file to variance 1; constant coordinates are left as they are.
    skip_bad
        Read all files in advance, and leave out those that cannot be used; their errors are in `.skipped`.
        Otherwise such a file raises an error that names the line when it is needed.
    linkage, partition
        Arguments of each `Linkage`.
    cost
        Function that returns the cost of an instance, given its labels.
    """
    _validate.choice("metric", metric, _METRICS)
    _validate.boolean("standardise", standardise)
    _validate.boolean("skip_bad", skip_bad)
    _validate.choice("linkage", linkage, LINKAGES)
    _validate.choice("partition", partition, PARTITIONS)
    _validate.function("cost", cost)
    if not isinstance(label, str):
        raise TypeError(f"label must be the name of a column, got {label!r}")

    options = {"linkage": linkage, "partition": partition}
    read = partial(_problem, label=label, metric=metric, standardise=standardise, cost=cost, options=options)
    return instance_files(where, _SUFFIXES, read, check=read if skip_bad else None, skip_bad=skip_bad)


def _problem(
    path: Path,
    label: str,
    metric: str,
    standardise: bool,
    cost: Callable[[Any], Any],
    options: dict[str, Any],
) -> Linkage:
    from scipy.spatial.distance import pdist

    with opened(path, _SUFFIXES) as file:
        points, labels = _read_points(csv.reader(file, delimiter=_SUFFIXES[path.suffix.lower()]), label)
        if standardise:
            spread = points.std(axis=0)
            points = points / np.where(spread > 0.0, spread, 1.0)
        return Linkage(pdist(points, metric), cost(labels), **options)


def _read_points(rows: Any, label: str) -> tuple[FloatArray, IntArray]:
    """Return the coordinates and the labels, numbered from 0, of the points in a table."""
    header = [name.strip() for name in next(rows, [])]
    if label not in header:
        raise LineError(1, f"has no column {label!r}, only {', '.join(header) or 'nothing'}")
    points, labels = [], []
    for row in rows:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            raise LineError(rows.line_num, f"{len(header)} columns expected, got {len(row)}")
        cells = list(zip(header, row, strict=True))
        labels.append(cells.pop(header.index(label))[1].strip())
        points.append([finite_number(rows.line_num, *cell) for cell in cells])
    if len(header) < 2 or not points:
        raise LineError(
            None,
            f"needs a point and a coordinate, has {len(points)} points with {len(header) - 1} coordinates",
        )
    return np.array(points), np.unique(labels, return_inverse=True)[1]
