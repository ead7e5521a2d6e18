"""Dispersion measured on a stream: D(T, ε), β, (w, k), and the regret bound that follows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._cached import cached_property
from semibandit._validate import FloatArray, IntArray
from semibandit.dispersion.bounds.regret import Regret, Table, regret
from semibandit.dispersion.breaks import Breaks, Samples, collect
from semibandit.spaces import Interval, Space

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Dispersion", "Samples", "Worst", "measure"]

GRID = 41  # lengths on the default grid
SCALE = -0.75  # C is measured at this power of T, in the middle of the lengths of Definition 1
SLACK = 4.0  # C over the measured rate of discontinuities; covers the logarithms of Definition 1
DISPERSED = 0.4  # the least β of a dispersed stream; smoothed streams are promised 1/2
SHORTEST = 1e-15  # shortest length of a regret bound, as a share of the space
FEWEST = 16  # functions needed for a verdict
_MOST_PREFIXES = 8


class Worst(NamedTuple):
    """Interval [lo, hi] in which the most functions break, their number, and the row of the interval."""

    lo: float
    hi: float
    functions: int
    row: int = 0


@dataclass(frozen=True, eq=False)
class Dispersion:
    """Result of `measure`. All counts are of functions, not of discontinuities.

    Attributes
    ----------
    T, space
        Number of functions, and the range of their parameter ρ.
    rows
        Breaks along each row of the space; an interval is one row. The worst row counts.
    eps, counts
        Grid of lengths, and D(T, ε) on it.
    prefixes, table
        Numbers of rounds, ..., T/4, T/2, T, while there are 16 or more, and D(T', ε) for each in a row.
    C
        Constant in D ≤ C·ε·T: four times the highest number of discontinuities per function and unit of
        length, at the scale T^−3/4 of the space.
    pieces
        Average number of pieces of a function, the M of the regret bound. Neighbouring pieces of equal value
        count separately, and so do the parts of a feedback set that lie in different rows.
    lipschitz, high
        L and H of the regret bound: the largest slope between breaks, and the largest `high` that a problem
        states. Functions that state none count as 1, or as their largest loss if that is larger.
    betas, beta
        β for each prefix, and for the whole stream.
    """

    rows: tuple[Breaks, ...]
    space: Interval
    eps: FloatArray
    prefixes: IntArray
    table: IntArray
    C: float
    pieces: float
    lipschitz: float
    high: float

    @property
    def T(self) -> int:  # noqa: N802
        """Number of functions."""
        return self.rows[0].T

    @cached_property
    def breaks(self) -> Breaks:
        """Breaks of all rows together, in the order of ρ."""
        if len(self.rows) == 1:
            return self.rows[0]
        x, owner = (np.concatenate([getattr(row, name) for row in self.rows]) for name in ("x", "owner"))
        order = np.argsort(x)
        return Breaks(x[order], owner[order], self.T)

    @property
    def counts(self) -> IntArray:
        """D(T, ε) on the grid."""
        return np.asarray(self.table[-1])

    @property
    def discontinuities(self) -> int:
        """Number of discontinuities of all functions inside the space."""
        return sum(map(len, self.rows))

    # -- counts --------------------------------------------------------------------------------------------

    def D(self, eps: float, T: int | None = None) -> int:  # noqa: N802
        """Return the exact count for any ε and the first T functions. O(N)."""
        return self.worst(eps, T).functions

    def worst(self, eps: float, T: int | None = None) -> Worst:
        """Return the interval of length ε in which the most of the first T functions break. O(N)."""
        eps = _validate.number("eps", eps, low=0.0)
        T = self.T if T is None else _validate.integer("T", T, low=1)
        found = [(*row.prefix(T).worst(eps), i) for i, row in enumerate(self.rows)]
        count, lo, i = max(found, key=lambda entry: entry[0])
        return Worst(lo, lo + eps, count, i)

    def k(self, w: float) -> int:
        """Return the smallest k of (w, k)-dispersion: the most functions that break in a ball of radius w."""
        return self.D(2.0 * _validate.number("w", w, low=0.0, high=1e300))

    def w(self, k: int) -> float:
        """Return the largest w of (w, k)-dispersion: smaller balls break at most k functions."""
        return self._smallest_span(_validate.integer("k", k, low=0) + 1)[0] / 2.0

    def _smallest_span(self, k: int) -> tuple[float, float, int]:
        """Return the length, left end and row of the shortest interval in which k functions break."""
        found = [(*row.smallest_span(k), i) for i, row in enumerate(self.rows)]
        return min(found, key=lambda entry: entry[0])

    # -- β -------------------------------------------------------------------------------------------------

    @property
    def betas(self) -> FloatArray:
        """β for each prefix, as defined in `measure`; nan for a single function."""
        shares = np.array([self._share(T, row) for T, row in zip(self.prefixes, self.table, strict=True)])
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(-np.log(shares) / np.log(self.prefixes) + 0.0)

    @property
    def beta(self) -> float:
        """β for the whole stream; inf if nothing breaks."""
        return float(self.betas[-1])

    @property
    def beta_range(self) -> tuple[float, float]:
        """Lowest and highest β over the prefixes."""
        return float(self.betas.min()), float(self.betas.max())

    def _share(self, T: int, row: IntArray) -> float:
        """Return the least δ = C·ε on the grid with D(T, ε) ≤ C·ε·T from there on; 0 if nothing breaks."""
        if row[-1] == 0:
            return 0.0
        failing = np.flatnonzero(row > self.C * self.eps * T)
        first = failing[-1] + 1 if failing.size else 0
        return min(1.0, float(self.C * self.eps[first])) if first < self.eps.size else 1.0

    # -- regret and verdict --------------------------------------------------------------------------------

    @cached_property
    def f(self) -> Table:
        """Counts as a dispersion function for `bounds.regret`, also at lengths below those of the grid."""
        shortest = min(self.eps[0], SHORTEST * self.space.width)
        finer = np.zeros(0)
        if 0.0 < shortest < self.eps[0]:
            finer = np.geomspace(shortest, self.eps[0], GRID // 2)[:-1]
        return Table(self.T, np.append(finer, self.eps), np.append(_counts(self.rows, finer), self.counts))

    def regret(self, T: int | None = None, *, M: float | None = None) -> Regret:
        """Return the bound of Theorem 3 with the measured f, L and H, for T rounds of the same kind.

        Parameters
        ----------
        T
            Number of rounds. Default: as many as were measured.
        M
            Average number of feedback sets in a round. Default: the average number of pieces.

        Notes
        -----
        N rows form a line of N times the width, on which the ball around the best parameter lies in one row:
        R is N/2 times the width. The comparator is the best parameter in any row.
        """
        T, M = self.T if T is None else T, self.pieces if M is None else M
        R = len(self.rows) * self.space.width / 2.0
        return regret(T, M, self.f, R, L=self.lipschitz, H=self.high)

    @property
    def dispersed(self) -> bool:
        """Whether β is at least 0.4; smoothed streams are promised 1/2."""
        return self.beta >= DISPERSED

    def verdict(self) -> str:
        """Return the result in a few sentences: dispersed or not, where the worst place is, the regret."""
        if self.discontinuities == 0:
            return f"dispersed: none of {self.T} functions breaks inside the space."
        if self.T < FEWEST:
            return f"too few functions for a verdict: {self.T}, and at least {FEWEST} are needed."
        return self._dispersed() if self.dispersed else self._not_dispersed()

    def _dispersed(self) -> str:
        low, high = self.beta_range
        eps = self.T**-self.beta / self.C
        where = f" of any of {len(self.rows)} rows" if len(self.rows) > 1 else ""
        text = (
            f"dispersed, the guarantee applies with beta = {self.beta:.2f} ({low:.2f} to {high:.2f} over T): "
            f"at most {self.D(eps)} of {self.T} functions break on an interval of length {eps:.2g}{where}. "
            f"Regret bound: {self.regret()}; after {10 * self.T:,} rounds: {self.regret(10 * self.T)}."
        )
        if self.beta < high - 0.1:
            text += " But beta falls as T grows: a fixed share of the functions may break at one place."
        return text

    def _not_dispersed(self) -> str:
        k = math.ceil(0.9 * self.D(self.space.width * self.T**SCALE))
        span, lo, row = self._smallest_span(k)
        where = f" in row {row}" if len(self.rows) > 1 else ""
        bound = self.regret()
        radius = "" if bound.vacuous else f", by a radius of {bound.r:.1g}"
        return (
            f"not dispersed: {k} of {self.T} functions break within {span:.2g} around "
            f"rho = {lo + span / 2.0:.6g}{where} (beta = {self.beta:.2f}). Regret bound: {bound}{radius}."
        )

    def plot(self, path: str | Path | None = None, **options: Any) -> Any:
        """Draw the counts and a histogram of the discontinuities; options as in `plots.dispersion.plot`."""
        from semibandit.plots.dispersion import plot

        return plot(self, path, **options)

    def __repr__(self) -> str:
        return (
            f"<Dispersion of {self.T} functions, {self.discontinuities} discontinuities in "
            f"[{self.space.lo:g}, {self.space.hi:g}]"
            f"{f', {len(self.rows)} rows' if len(self.rows) > 1 else ''}: beta = {self.beta:.2f}>"
        )


def measure(
    functions: Any,
    space: Space | None = None,
    lipschitz: float | None = None,
    *,
    eps: npt.ArrayLike | None = None,
) -> Dispersion:
    """Measure how dispersed the discontinuities of a stream of loss functions are.

    Parameters
    ----------
    functions
        One item per round: a problem (anything with `losses()`), a piecewise constant or linear function,
        `Samples` of any other function, or a list of discontinuities. Or an array with one row of
        discontinuities per function.
    space
        Only discontinuities strictly inside count. Default: the smallest interval that contains everything.
        Give the space with lists, since dispersion is relative to it. Functions on `Strips` are measured row
        by row, and the worst row counts; the end of a row is no discontinuity.
    lipschitz
        Constant L of Definition 3, at least the largest slope of the functions, which is the default (0 for
        steps). `Samples` break where neighbours differ by more than L times their distance.
    eps
        Lengths ε. Default: 41 of them between N^−1.25 of the space (N discontinuities) and all of it.

    Notes
    -----
    D(T, ε) is the largest number of functions that have a discontinuity in a closed interval of length ε. A
    function with several in the interval counts once; one that jumps up and back again counts. This is the
    count of Theorem 5. It is at least that of Definition 3, which compares the values at two points.

    β is the largest number such that D(T, ε) ≤ C·ε·T for all ε with C·ε ≥ T^−β. So dispersion adds T^(1−β)
    to the regret (Theorem 1), β = 0 if a fixed share of the functions breaks at one place, and β ≤ 1.

    Cost: O(N log N) to sort N discontinuities, then O(N) per ε and prefix.

    Examples
    --------
    >>> result = measure([[0.1, 0.2], [0.15], [0.9], []], Interval(0, 1))
    >>> result.D(0.05), result.D(0.0), result.worst(0.1)
    (2, 1, Worst(lo=0.1, hi=0.2, functions=2, row=0))
    >>> import numpy as np
    >>> measure(np.random.default_rng(0).random((10_000, 2)), Interval(0, 1))
    <Dispersion of 10000 functions, 20000 discontinuities in [0, 1]: beta = 0.78>
    """
    found = collect(functions, space, lipschitz)
    rows, width = found.rows, found.space.width
    T = rows[0].T
    lengths = _lengths(eps, width, max(T, *map(len, rows)))
    rounds = [T]
    while rounds[0] // 2 >= FEWEST and len(rounds) < _MOST_PREFIXES:
        rounds.insert(0, rounds[0] // 2)
    scale = width * T**SCALE
    C = SLACK * max(1, *(row.most_breaks(scale) for row in rows)) / (T * scale)
    table = np.array([_counts([row.prefix(T_) for row in rows], lengths) for T_ in rounds])
    pieces = found.pieces / T
    return Dispersion(
        rows, found.space, lengths, np.array(rounds), table, C, pieces, found.lipschitz, found.high
    )


def _counts(rows: Iterable[Breaks], lengths: FloatArray) -> IntArray:
    """Return D(T, ε) in the worst row, for increasing ε."""
    return np.asarray(np.max([_counts_along(row, lengths) for row in rows], axis=0))


def _counts_along(row: Breaks, lengths: FloatArray) -> IntArray:
    """Return D(T, ε) in a row, without further sweeps once all functions that break are counted."""
    most = row.functions
    counts: list[int] = []
    for eps in lengths:
        counts.append(most if counts and counts[-1] == most else row.worst(float(eps))[0])
    return np.array(counts, dtype=np.int64)


def _lengths(eps: npt.ArrayLike | None, width: float, N: int) -> FloatArray:
    if eps is None:
        return np.geomspace(width * min(0.01, N**-1.25), width, GRID)
    lengths = _validate.vector("eps", eps, low=0.0)
    if lengths.size == 0 or (np.diff(lengths) <= 0.0).any():
        raise ValueError(f"eps must be strictly increasing and not empty, got {eps!r}")
    return lengths
