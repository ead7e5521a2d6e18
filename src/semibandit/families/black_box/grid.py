"""Where to probe next in a bisection, so that searches from different places probe the same points."""

from __future__ import annotations

import math
import struct

__all__ = ["DyadicGrid"]


class DyadicGrid:
    """The points lo + (hi - lo)·i/2^levels, searched coarse ones first.

    A bisection that halves its own bracket probes points that depend on where it began. Here the next probe
    is the coarsest grid point inside the bracket: searches from different places share their probes, and end
    at the same point to the bit. Each probe is finer than the one before, so that a search takes at most
    `levels` of them.

    Parameters
    ----------
    lo, hi
        The ends, lo < hi.
    tolerance
        The cells are at most this wide; yet never narrower than 4 spacings of the doubles at the ends, which
        keeps the points apart.
    exact
        Below the grid, go on to halve the number of doubles in the bracket, until there are none.

    Examples
    --------
    >>> grid = DyadicGrid(0, 1, tolerance=0.1)
    >>> grid.levels, grid.between(0, 1), grid.between(0.5, 0.8), grid.between(0.501, 0.56)
    (4, 0.5, 0.75, None)
    """

    def __init__(self, lo: float, hi: float, tolerance: float, exact: bool = False) -> None:
        self.lo, self.hi, self.exact = lo, hi, exact
        spacing = 4.0 * math.ulp(max(abs(lo), abs(hi)))
        cells = (hi - lo) / tolerance
        wanted = math.ceil(math.log2(cells)) if math.isfinite(cells) else 1024
        possible = math.floor(math.log2((hi - lo) / spacing)) if spacing < hi - lo else 0
        self.levels = max(min(wanted, possible), 0)
        self.n_cells = 1 << self.levels

    def point(self, i: int) -> float:
        """The left end of cell i; hi where i is the number of cells."""
        return self.hi if i == self.n_cells else self.lo + (self.hi - self.lo) * (i / self.n_cells)

    def cell(self, x: float) -> int:
        """The cell [point(i), point(i + 1)) that x lies in; hi counts as a cell of its own."""
        i = min(max(int((x - self.lo) / (self.hi - self.lo) * self.n_cells), 0), self.n_cells)
        while self.point(i) > x:  # rounding moves the guess by one, if at all
            i -= 1
        while i < self.n_cells and self.point(i + 1) <= x:
            i += 1
        return i

    def between(self, a: float, b: float) -> float | None:
        """The point to probe next strictly between a < b; None where the search is over."""
        i = self._coarsest(a, b)
        if i is not None:
            return self.point(i)
        if self.exact:
            below, above = _ordinal(a), _ordinal(b)
            if above - below > 1:
                return _from_ordinal((below + above) // 2)
        return None

    def most_probes(self, a: float, b: float) -> int:
        """How many grid points a search between a < b probes at most."""
        i = self._coarsest(a, b)
        return 0 if i is None else (i & -i).bit_length()

    def _coarsest(self, a: float, b: float) -> int | None:
        """The index in (a, b) with the most trailing zero bits."""
        before, last = self.cell(a), self.cell(b)
        if self.point(last) == b:
            last -= 1
        if last <= before:
            return None
        shift = (before ^ last).bit_length() - 1
        return last >> shift << shift


def _ordinal(x: float) -> int:
    """The place of a double among all doubles, 0.0 being 0."""
    (bits,) = struct.unpack("<q", struct.pack("<d", x))
    return int(bits) if bits >= 0 else -int(bits & 0x7FFF_FFFF_FFFF_FFFF)


def _from_ordinal(i: int) -> float:
    """Undo `_ordinal`."""
    (x,) = struct.unpack("<d", struct.pack("<q", abs(i)))
    return math.copysign(x, i)
