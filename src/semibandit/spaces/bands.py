"""Rows of a product of knobs as boxes of values, coarse at first, and their splitting.

A row is a box: for each knob a band [a, b) of the numbers of its values. It plays the value in the middle of
each band, and stands for all of them. The rows are a partition of the product, always. What wide, narrow and
the middle are, a ruler says: values lie at even distances, or at those of their logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Protocol

from semibandit.spaces.scales import Atoms

__all__ = ["FIRST_ROWS", "MOST_ROWS", "Even", "Logs", "Row", "Ruler", "grid", "split"]

Band = tuple[int, int]
Row = tuple[Band, ...]

MOST_ROWS = 2000
FIRST_ROWS = 8  # so many to begin with at most, where splitting can make more


class Ruler(Protocol):
    """How the values of a knob, known by their numbers, lie beside each other."""

    count: int  # of the values

    def place(self, i: int) -> float:
        """Where the i-th value begins, in [0, 1]."""
        ...

    def middle(self, band: Band) -> int:
        """The number of the value that a band plays."""
        ...

    def cut(self, n: int) -> list[Band]:
        """All values in n bands of about the same width, 1 <= n <= count."""
        ...

    def parts(self, band: Band) -> list[Band]:
        """A band of two values or more in two or three parts; the first has the middle of the band."""
        ...


class Even:
    """Values at even distances.

    >>> ruler = Even(9)
    >>> ruler.cut(2), ruler.parts((0, 9)), ruler.parts((4, 6))
    ([(0, 4), (4, 9)], [(3, 6), (0, 3), (6, 9)], [(4, 5), (5, 6)])
    """

    def __init__(self, count: int) -> None:
        self.count = count

    def place(self, i: int) -> float:
        """Where the i-th value begins, in [0, 1]."""
        return i / self.count

    def middle(self, band: Band) -> int:
        """The number of the value that a band plays."""
        return (band[0] + band[1] - 1) // 2

    def cut(self, n: int) -> list[Band]:
        """All values in n bands of about the same width."""
        return [(self.count * k // n, self.count * (k + 1) // n) for k in range(n)]

    def parts(self, band: Band) -> list[Band]:
        """The middle third of a band, and the others."""
        a, b = band
        if b - a == 2:
            return [(a, a + 1), (a + 1, b)]
        third = max(round((b - a) / 3), 1)
        return [(a + third, b - third), (a, a + third), (b - third, b)]


class Logs:
    """Whole numbers lo, ..., hi at the distances of their logarithms, as on a line.

    >>> ruler = Logs(1, 64)
    >>> ruler.cut(4), ruler.middle((0, 64))
    ([(0, 1), (1, 5), (5, 19), (19, 64)], 5)
    >>> ruler.parts((0, 64)), ruler.parts((0, 3))
    ([(2, 12), (0, 2), (12, 64)], [(0, 1), (1, 3)])
    """

    def __init__(self, lo: int, hi: int) -> None:
        self.count = hi - lo + 1
        self._scale = Atoms(lo, hi, self.count, log=True)

    def place(self, i: int) -> float:
        """Where the i-th value begins, in [0, 1]."""
        start, end = self._scale.ends
        return (self._scale.edge(i) - start) / (end - start)

    def middle(self, band: Band) -> int:
        """The number of the value that a band plays."""
        a, b = band
        return min(max(self._scale.index(self._between(band, 0.5)), a), b - 1)

    def cut(self, n: int) -> list[Band]:
        """All values in n bands, of about the same width where they have several values."""
        edges = [0]
        for k in range(1, n):
            wanted = self._nearest(self._between((0, self.count), k / n))
            edges.append(min(max(wanted, edges[-1] + 1), self.count - n + k))
        return list(zip(edges, [*edges[1:], self.count], strict=True))

    def parts(self, band: Band) -> list[Band]:
        """About the middle third of a band, such that its middle stays, and what is left of the others."""
        a, b = band
        middle = self.middle(band)
        if middle == a:
            first, last = a, min(max(self._nearest(self._between(band, 2 / 3)), a + 1), b - 1)
        else:
            first = min(max(self._nearest(self._between(band, 1 / 3)), a + 1), middle)
            opposite = self._scale.edge(a) + self._scale.edge(b) - self._scale.edge(first)
            last = min(max(self._nearest(opposite), middle + 1), b)
        while last < b and self.middle((first, last)) < middle:
            last += 1
        while self.middle((first, last)) > middle:
            last -= 1
        return [part for part in ((first, last), (a, first), (last, b)) if part[0] < part[1]]

    def _between(self, band: Band, share: float) -> float:
        start, end = map(self._scale.edge, band)
        return start + share * (end - start)

    def _nearest(self, x: float) -> int:
        """The number of the value whose beginning is nearest."""
        i = self._scale.index(x)
        return i if self._scale.snap(x) == self._scale.edge(i) else i + 1


def grid(rulers: Sequence[Ruler], ordered: Sequence[bool], most: int) -> tuple[Row, ...]:
    """A product of bands of about the same number for all knobs that are ordered, and at most so many rows.

    A knob with values beyond counting has a power of three of them, as has any part of it that was split.

    >>> len(grid([Even(12), Even(2)], [True, False], 8)), len(grid([Even(3**20)] * 2, [True, True], 2000))
    (8, 729)
    """
    bands = [ruler.count for ruler in rulers]
    while math.prod(bands) > most:
        open_axes = [i for i, has_order in enumerate(ordered) if has_order and bands[i] > 1]
        if not open_axes:
            break
        widest = max(open_axes, key=lambda i: bands[i])
        bands[widest] = -(-bands[widest] // 3)
    if math.prod(bands) > MOST_ROWS:
        raise ValueError(f"the choices make {math.prod(bands)} rows; there may be {MOST_ROWS} at most")
    return tuple(product(*(ruler.cut(n) for ruler, n in zip(rulers, bands, strict=True))))


def split(row: Row, rulers: Sequence[Ruler]) -> list[Row]:
    """The row in parts, halved or by thirds along its widest band; alone where it is a single point.

    The first part plays what the row has played, so that what was learned of it stays true.

    >>> split(((0, 9),), [Even(9)]), split(((4, 5),), [Even(9)])
    ([((3, 6),), ((0, 3),), ((6, 9),)], [((4, 5),)])
    """
    open_axes = [i for i, (a, b) in enumerate(row) if b - a > 1]
    if not open_axes:
        return [row]
    widest = max(open_axes, key=lambda i: rulers[i].place(row[i][1]) - rulers[i].place(row[i][0]))
    return [(*row[:widest], part, *row[widest + 1 :]) for part in rulers[widest].parts(row[widest])]
