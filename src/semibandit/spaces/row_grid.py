"""Rows of `Knobs`: a fixed set of values for the knobs that do not run along the line."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import chain, product
from typing import Any

import numpy as np

from semibandit.spaces.kinds import Choice, Kind, Number
from semibandit.spaces.line import Axis

__all__ = ["make_rows"]

_ROWS = 64
_ROWS_PER_CHOICE = 4  # at least, so that numbers can be tuned next to many choices
_MAX_ROWS = 1024


Row = tuple[Any, ...]


def make_rows(
    kinds: Sequence[Kind], settled: Callable[[Row], Row] = lambda row: row
) -> tuple[tuple[Row, ...], tuple[Axis, ...]]:
    """Return the values of the knobs in each row, and the positions of the rows along each axis.

    Every combination of choices gets the same set of numbers. There are up to 64 rows in all, or four per
    combination if that is more, up to 1,024 rows. This set is a product grid with about the same number
    of values for each number. If the grid had less than two values of a number, it is a Latin hypercube.
    Rows that `settled` maps to the same one are kept once; no rows are neighbours then.

    >>> from semibandit.spaces.kinds import Integer, Real
    >>> len(make_rows([Integer(1, 12), Choice("a", "b")])[0]), len(make_rows([Real(0, 1)] * 12)[0])
    (24, 64)
    """
    choices = {i: kind for i, kind in enumerate(kinds) if isinstance(kind, Choice)}
    numbers = {i: kind for i, kind in enumerate(kinds) if isinstance(kind, Number)}
    combinations = math.prod(kind.count for kind in choices.values())
    if combinations > _MAX_ROWS:
        raise ValueError(
            f"the choices must have at most {_MAX_ROWS} combinations, got {combinations}: each takes a row"
        )
    budget = min(max(_ROWS // combinations, _ROWS_PER_CHOICE), _MAX_ROWS // combinations)
    # Factors of the grid: indices of knobs that vary together, and the values they take together.
    factors: list[tuple[tuple[int, ...], list[tuple[Any, ...]]]] = [
        ((i,), [(value,) for value in kind.values]) for i, kind in choices.items()
    ]
    if 2 ** len(numbers) <= budget:
        sizes = _even_sizes([kind.count for kind in numbers.values()], budget)
        for (i, kind), n in zip(numbers.items(), sizes, strict=True):
            factors.append(((i,), [(value,) for value in kind.spread(n)]))
    else:
        factors.append((tuple(numbers), _latin_hypercube(list(numbers.values()), budget)))
    factors.sort(key=lambda factor: factor[0])
    order = np.argsort([i for knobs, _ in factors for i in knobs]).tolist()
    combined = [tuple(chain.from_iterable(parts)) for parts in product(*(values for _, values in factors))]
    shape = [len(values) for _, values in factors]
    index = np.indices(shape).reshape(len(shape), len(combined))
    axes = [
        Axis(index[k] / shape[k], float(shape[k]), detached=len(knobs) > 1 or knobs[0] in choices)
        for k, (knobs, _) in enumerate(factors)
    ]
    rows = [settled(tuple(row[i] for i in order)) for row in combined]
    if (n := len(set(rows))) < len(rows):
        return tuple(dict.fromkeys(rows)), (Axis(np.arange(n) / n, float(n), detached=True),)
    return tuple(rows), tuple(axes)


def _even_sizes(counts: Sequence[float], budget: int) -> list[int]:
    """Return how many values each number takes: as even as possible, the product at most `budget`."""
    sizes = [1] * len(counts)
    while True:
        total = math.prod(sizes)
        growing = [i for i, n in enumerate(sizes) if n < counts[i] and total // n * (n + 1) <= budget]
        if not growing:
            return sizes
        sizes[min(growing, key=lambda i: sizes[i])] += 1


def _latin_hypercube(kinds: Sequence[Number], n: int) -> list[tuple[Any, ...]]:
    """Return n points, each number at n evenly spread values; equal points are kept once.

    The orders of the values are those of an additive recurrence with the powers of 1/g, where g is the
    positive root of g^(d + 1) = g + 1 (Roberts, 2018): a sequence of low discrepancy.
    """
    root = 2.0
    for _ in range(64):
        root = (1.0 + root) ** (1.0 / (len(kinds) + 1))
    columns = []
    for k, kind in enumerate(kinds):
        ranks = np.argsort(np.argsort(np.arange(n) * root ** -(k + 1.0) % 1.0, kind="stable"))
        values = kind.spread(n)
        columns.append([values[rank * len(values) // n] for rank in ranks.tolist()])
    return list(dict.fromkeys(zip(*columns, strict=True)))
