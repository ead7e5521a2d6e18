"""Rows of `Knobs`: a fixed set of values for the knobs that do not run along the line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from semibandit.spaces.kinds import Kind
from semibandit.spaces.line import Axis

__all__ = ["MAX_ROWS", "Rows", "make_rows"]

MAX_ROWS = 1024
# Chosen by the mean loss on streams with one to seven knobs (benchmarks/knobs.py): few rows are learned
# quickly, but three or more numbers need a finer grid.
_ROWS = 24
_MORE_ROWS = 5  # times as many for each number after the second,
_MOST_ROWS = 256  # but not more
_ROWS_PER_CHOICE = 4  # at least, unless that exceeds MAX_ROWS


class Rows(NamedTuple):
    """Values of the knobs in each row, and the positions of the rows along each axis."""

    values: tuple[tuple[Any, ...], ...]
    axes: tuple[Axis, ...]


class _Factor(NamedTuple):
    """Knobs that vary together, by their index, and the values they take together."""

    knobs: tuple[int, ...]
    values: list[tuple[Any, ...]]
    apart: bool


def make_rows(kinds: Sequence[Kind]) -> Rows:
    """Return the rows for knobs of these kinds, at most 1,024.

    Every combination of choices gets the same set of numbers, so that there are 24 rows in all for up to two
    numbers, 120 for three and 256 for more; or four rows per combination if that is more. This set is a
    product grid that gives each number about the same number of values. If the grid had less than two values
    of a number, it is a Latin hypercube instead: r rows in which every number takes r evenly spread values.

    >>> from semibandit.spaces.kinds import Choice, Integer, Real
    >>> len(make_rows([Integer(1, 12), Choice("a", "b")]).values), len(make_rows([Real(0, 1)] * 12).values)
    (24, 256)
    """
    choices = [i for i, kind in enumerate(kinds) if not kind.ordered]
    numbers = [i for i, kind in enumerate(kinds) if kind.ordered]
    combinations = math.prod(int(kinds[i].count) for i in choices)
    if combinations > MAX_ROWS:
        raise ValueError(
            f"the choices must have at most {MAX_ROWS} combinations, got {combinations}: each takes a row"
        )
    wanted = min(_ROWS * _MORE_ROWS ** max(len(numbers) - 2, 0), _MOST_ROWS)
    budget = min(max(wanted // combinations, _ROWS_PER_CHOICE), MAX_ROWS // combinations)
    if 2 ** len(numbers) <= budget:
        sizes = _even_sizes([kinds[i].count for i in numbers], budget)
        values = {i: kinds[i].spread(n) for i, n in zip(numbers, sizes, strict=True)}
        factors = [_Factor((i,), [(value,) for value in values[i]], False) for i in numbers]
    else:
        factors = [_Factor(tuple(numbers), _latin_hypercube([kinds[i] for i in numbers], budget), True)]
    factors += [_Factor((i,), [(value,) for value in kinds[i].spread(0)], True) for i in choices]
    return _product(sorted(factors, key=lambda factor: factor.knobs), len(kinds))


def _product(factors: list[_Factor], n_knobs: int) -> Rows:
    """Return all combinations of the factors' values; the last factor varies fastest."""
    rows = []
    for parts in product(*(factor.values for factor in factors)):
        row = [None] * n_knobs
        for factor, part in zip(factors, parts, strict=True):
            for i, value in zip(factor.knobs, part, strict=True):
                row[i] = value
        rows.append(tuple(row))
    sizes = [len(factor.values) for factor in factors]
    index = np.indices(sizes).reshape(len(sizes), len(rows))
    axes = [
        Axis(index[k] / size, float(size), factor.apart)
        for k, (size, factor) in enumerate(zip(sizes, factors, strict=True))
    ]
    return Rows(tuple(rows), tuple(axes))


def _even_sizes(counts: Sequence[float], budget: int) -> list[int]:
    """Return how many values each number takes: as even as possible, the product at most `budget`."""
    sizes = [1] * len(counts)
    while True:
        total = math.prod(sizes)
        growing = [i for i, n in enumerate(sizes) if n < counts[i] and total // n * (n + 1) <= budget]
        if not growing:
            return sizes
        sizes[min(growing, key=lambda i: sizes[i])] += 1


def _latin_hypercube(kinds: Sequence[Kind], n: int) -> list[tuple[Any, ...]]:
    """Return n points, each number at n evenly spread values.

    The orders of the values are those of an additive recurrence with the powers of 1/g, where g is the
    positive root of g^(d + 1) = g + 1 (Roberts, 2018): a sequence of low discrepancy. Points that coincide,
    as those of numbers with few values may, are kept once.
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
