"""Dyadic grid: bisections from different starting points probe the same points."""

from __future__ import annotations

import math

__all__ = ["DyadicGrid"]


class DyadicGrid:
    """The points lo + (hi - lo)·i/2^levels, searched coarse ones first.

    A bisection that halves its own bracket probes points that depend on its start. Here the next probe is the
    coarsest grid point inside the bracket. So searches from different starts share their probes and end at
    the same point to the bit. Each probe is finer than the one before; a search takes at most `levels`.

    Parameters
    ----------
    lo, hi
        Ends, lo < hi.
    tolerance
        Largest width of a cell; cells are never narrower than 4 spacings of doubles at the ends, so that grid
        points are distinct.

    Examples
    --------
    >>> grid = DyadicGrid(0, 1, tolerance=0.1)
    >>> grid.levels, grid.between(0, 1), grid.between(0.5, 0.8), grid.between(0.501, 0.56)
    (4, 0.5, 0.75, None)
    """

    def __init__(self, lo: float, hi: float, tolerance: float) -> None:
        self.lo, self.hi = lo, hi
        narrowest = max(tolerance, 8.0 * math.ulp(max(abs(lo), abs(hi))))
        self.levels = max(math.ceil(math.log2((hi - lo) / narrowest)), 0)
        self.n_cells = 1 << self.levels

    def point(self, i: int) -> float:
        """Return the left end of cell i; hi if i is the number of cells."""
        return self.hi if i == self.n_cells else self.lo + (self.hi - self.lo) * (i / self.n_cells)

    def cell(self, x: float) -> int:
        """Return the index of the cell [point(i), point(i + 1)) that contains x; hi is a cell of its own."""
        i = min(max(int((x - self.lo) / (self.hi - self.lo) * self.n_cells), 0), self.n_cells)
        while self.point(i) > x:  # rounding moves the guess by at most one
            i -= 1
        while i < self.n_cells and self.point(i + 1) <= x:
            i += 1
        return i

    def between(self, a: float, b: float) -> float | None:
        """Return the next point to probe strictly between a < b; None at the end of the search."""
        i = self._coarsest(a, b)
        return None if i is None else self.point(i)

    def most_probes(self, a: float, b: float) -> int:
        """Return the largest number of grid points that a search between a < b probes."""
        i = self._coarsest(a, b)
        return 0 if i is None else (i & -i).bit_length()

    def _coarsest(self, a: float, b: float) -> int | None:
        """Return the index in (a, b) with the most trailing zero bits."""
        before, last = self.cell(a), self.cell(b)
        if self.point(last) == b:
            last -= 1
        if last <= before:
            return None
        shift = (before ^ last).bit_length() - 1
        return last >> shift << shift
