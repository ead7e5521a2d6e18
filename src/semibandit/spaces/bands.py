"""Rows of a product of knobs as boxes of values, coarse at first, and their splitting.

A row is a box: for each knob a band [a, b) of the numbers of its values. It plays the value in the middle of
each band, and stands for all of them. The rows are a partition of the product, always.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

__all__ = ["FIRST_ROWS", "MOST_ROWS", "Row", "grid", "middle", "split"]

Band = tuple[int, int]
Row = tuple[Band, ...]

MOST_ROWS = 2000
FIRST_ROWS = 8  # so many to begin with at most, where splitting can make more


def middle(band: Band) -> int:
    """The number of the value that a band plays."""
    return (band[0] + band[1] - 1) // 2


def grid(counts: Sequence[int], ordered: Sequence[bool], most: int) -> tuple[Row, ...]:
    """A product of bands of about the same number for all knobs that are ordered, and at most so many rows.

    A knob with values beyond counting has a power of three of them, as has any part of it that was split.

    >>> len(grid([12, 2], [True, False], 8)), len(grid([3**20, 3**20], [True, True], 2000))
    (8, 729)
    """
    bands = list(counts)
    while math.prod(bands) > most:
        open_axes = [i for i, has_order in enumerate(ordered) if has_order and bands[i] > 1]
        if not open_axes:
            break
        widest = max(open_axes, key=lambda i: bands[i])
        bands[widest] = -(-bands[widest] // 3)
    if math.prod(bands) > MOST_ROWS:
        raise ValueError(f"the choices make {math.prod(bands)} rows; there may be {MOST_ROWS} at most")
    axes = [[(n * k // m, n * (k + 1) // m) for k in range(m)] for n, m in zip(counts, bands, strict=True)]
    return tuple(product(*axes))


def split(row: Row, counts: Sequence[int]) -> list[Row]:
    """The row in parts, halved or by thirds along its widest band; alone where it is a single point.

    The first part plays what the row has played, so that what was learned of it stays true.

    >>> split(((0, 9),), [9])
    [((3, 6),), ((0, 3),), ((6, 9),)]
    >>> split(((4, 6),), [9]), split(((4, 5),), [9])
    ([((4, 5),), ((5, 6),)], [((4, 5),)])
    """
    widest = max(
        range(len(row)), key=lambda i: (row[i][1] - row[i][0] > 1, (row[i][1] - row[i][0]) / counts[i])
    )
    a, b = row[widest]
    third = max(round((b - a) / 3), 1)
    parts = [(a + third, b - third), (a, a + third), (b - third, b)]  # the same middle as [a, b)
    if b - a == 2:
        parts = [(a, a + 1), (a + 1, b)]
    elif b - a == 1:
        parts = [(a, b)]
    return [(*row[:widest], part, *row[widest + 1 :]) for part in parts]
