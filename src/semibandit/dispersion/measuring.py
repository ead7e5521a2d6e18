"""Dispersion measured on a stream: D(T, ε), β, (w, k), and whether the guarantee means anything."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.dispersion.bounds.regret import Regret, Table, regret
from semibandit.dispersion.breaks import Breaks, Samples, collect
from semibandit.spaces import Interval, Space

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Dispersion", "Samples", "Worst", "measure"]

GRID = 41  # lengths on the default grid, from where hardly two functions meet to all of the space
SCALE = -0.75  # rates are taken at this power of T, amid the lengths that Definition 1 is about
SLACK = 4.0  # D may be this many times what the highest intensity suggests; logarithms hide in it
DISPERSED = 0.4  # the β from which on the verdict is yes: 1/2 is what smoothed streams are promised
SHORTEST = 1e-15  # of the space: lengths that a regret bound may use
FEWEST = 16  # functions below which no verdict is given


class Worst(NamedTuple):
    """The interval [lo, hi] in which the most functions break, how many do, and the row that it lies in."""

    lo: float
    hi: float
    functions: int
    row: int = 0


@dataclass(frozen=True, eq=False)
class Dispersion:
    """What `measure` found. All counts are of functions, not of discontinuities.

    Attributes
    ----------
    T, space
        The number of functions and where their parameter rho lives.
    rows
        The breaks along each row of the space; an interval is one row. The worst row counts.
    eps, counts
        The grid of lengths, and D(T, ε) on it.
    prefixes, table
        Numbers of rounds, the last one T, and D(T', ε) for each: one row per prefix.
    C
        The constant in D ≤ C·ε·T.
    pieces
        How many pieces a function has on average, the M of the regret bound. Pieces of equal value are as
        many feedback sets as they are given as. Where a feedback set covers several rows this is more than
        the number of sets.
    lipschitz, high
        The L and H of the regret bound: how steep the functions are between breaks, and how large.
    betas, beta
        β for each prefix, and for the whole stream.
    """

    rows: tuple[Breaks, ...]
    space: Interval
    eps: FloatArray
    prefixes: npt.NDArray[np.int64]
    table: npt.NDArray[np.int64]
    C: float
    pieces: float
    lipschitz: float
    high: float

    @property
    def T(self) -> int:  # noqa: N802
        """The number of functions."""
        return self.rows[0].T

    @cached_property
    def breaks(self) -> Breaks:
        """The breaks of all rows together, as they lie in rho."""
        if len(self.rows) == 1:
            return self.rows[0]
        start, end, owner = (
            np.concatenate([getattr(row, name) for row in self.rows]) for name in ("start", "end", "owner")
        )
        order = np.argsort(start)
        return Breaks(start[order], end[order], owner[order], self.T)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """D(T, ε) on the grid."""
        return np.asarray(self.table[-1])

    @property
    def discontinuities(self) -> int:
        """How many discontinuities all functions have inside the space."""
        return sum(map(len, self.rows))

    # -- counts --------------------------------------------------------------------------------------------

    def D(self, eps: float, T: int | None = None) -> int:  # noqa: N802
        """The count for any ε and the first T functions, exactly. O(N)."""
        return self.worst(eps, T).functions

    def worst(self, eps: float, T: int | None = None) -> Worst:
        """The interval of length ε in which most of the first T functions break. O(N)."""
        eps = _validate.number("eps", eps, low=0.0)
        T = self.T if T is None else _validate.integer("T", T, low=1)
        found = [(*row.prefix(T).worst(eps), i) for i, row in enumerate(self.rows)]
        count, lo, i = max(found, key=lambda entry: entry[0])
        return Worst(lo, lo + eps, count, i)

    def k(self, w: float) -> int:
        """The smallest k of (w, k)-dispersion: the most functions that break in a ball of radius w."""
        return self.D(2.0 * _validate.number("w", w, low=0.0, high=1e300))

    def w(self, k: int) -> float:
        """The largest w of (w, k)-dispersion: balls of a smaller radius break at most k functions."""
        return self._smallest_span(_validate.integer("k", k, low=0) + 1)[0] / 2.0

    def _smallest_span(self, k: int) -> tuple[float, float, int]:
        """The shortest interval in which k functions break: its length, where it begins, and its row."""
        found = [(*row.smallest_span(k), i) for i, row in enumerate(self.rows)]
        return min(found, key=lambda entry: entry[0])

    # -- β -------------------------------------------------------------------------------------------------

    @property
    def betas(self) -> FloatArray:
        """β for each prefix: see `measure`. nan for a single function."""
        shares = np.array([self._share(T, row) for T, row in zip(self.prefixes, self.table, strict=True)])
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(-np.log(shares) / np.log(self.prefixes) + 0.0)

    @property
    def beta(self) -> float:
        """β for the whole stream: inf if nothing breaks."""
        return float(self.betas[-1])

    @property
    def beta_range(self) -> tuple[float, float]:
        """The lowest and highest β over the prefixes."""
        return float(self.betas.min()), float(self.betas.max())

    def _share(self, T: int, row: npt.NDArray[np.int64]) -> float:
        """The smallest δ = C·ε on the grid such that D(T, ε) ≤ C·ε·T from there on; 0 if nothing breaks."""
        failing = np.flatnonzero(row > self.C * self.eps * T)
        if row[-1] == 0:
            return 0.0
        first = failing[-1] + 1 if failing.size else 0
        return min(1.0, float(self.C * self.eps[first])) if first < self.eps.size else 1.0

    # -- what it means -------------------------------------------------------------------------------------

    @cached_property
    def f(self) -> Table:
        """The counts as a dispersion function for `bounds.regret`, with shorter lengths than on the grid."""
        shortest = min(self.eps[0], SHORTEST * self.space.width)
        finer = np.zeros(0)
        if 0.0 < shortest < self.eps[0]:
            finer = np.geomspace(shortest, self.eps[0], GRID // 2)[:-1]
        return Table(self.T, np.append(finer, self.eps), np.append(_counts(self.rows, finer), self.counts))

    def regret(
        self,
        T: int | None = None,
        *,
        L: float | None = None,
        H: float | None = None,
        M: float | None = None,
    ) -> Regret:
        """Theorem 3's bound with the measured f, for T rounds: as many as were measured, or more of the same.

        Parameters
        ----------
        T
            The number of rounds; None for as many as were measured.
        L, H
            The Lipschitz constant of the pieces and the upper end of the losses; None for what was measured.
        M
            The average number of feedback sets in a round; None for the pieces of the loss functions.

        Notes
        -----
        N rows are laid end to end on a line N times as long, on which a ball in one row must be found: R is
        N/2 times the width. The comparator is the best parameter in any row.
        """
        return regret(
            self.T if T is None else T,
            self.pieces if M is None else M,
            self.f,
            len(self.rows) * self.space.width / 2.0,
            L=self.lipschitz if L is None else L,
            H=self.high if H is None else H,
        )

    @property
    def dispersed(self) -> bool:
        """Whether β is near the 1/2 that smoothed streams are promised, or better."""
        return self.beta >= DISPERSED

    def verdict(self) -> str:
        """The finding in plain words."""
        if self.discontinuities == 0:
            return f"dispersed: none of {self.T} functions breaks inside the space."
        if self.T < FEWEST:
            return f"too few functions to tell: {self.T}, and at least {FEWEST} are needed."
        return self._yes() if self.dispersed else self._no()

    def _yes(self) -> str:
        low, high = self.beta_range
        eps = self.T**-self.beta / self.C
        text = (
            f"dispersed, the guarantee applies with beta = {self.beta:.2f} ({low:.2f} to {high:.2f} over T): "
            f"at most {self.D(eps)} of {self.T} functions break on an interval of length {eps:.2g}"
            f"{self._in_row()}. "
            f"Regret at most {self.per_round(self.T):.2f} a round now, "
            f"{self.per_round(10 * self.T):.2f} after {10 * self.T:,} rounds."
        )
        if self.beta < high - 0.1:
            text += " But beta falls as T grows: a fixed share of the functions may break at one place."
        return text

    def _no(self) -> str:
        k = math.ceil(0.9 * self.D(self.space.width * self.T**SCALE))
        span, lo, row = self._smallest_span(k)
        bound = self.regret()
        text = f"There is no regret bound below {self.high:g} a round."
        if bound.value < self.T * self.high:
            share = bound.value / self.T
            text = f"The regret is at most {share:.2f} a round, by way of a radius of {bound.r:.1g}."
        return (
            f"not dispersed: {k} of {self.T} functions break within {span:.2g} around "
            f"rho = {lo + span / 2.0:.6g}{self._in_row(row)} (beta = {self.beta:.2f}). {text}"
        )

    def _in_row(self, row: int | None = None) -> str:
        """The place in words, where there are several rows."""
        if len(self.rows) == 1:
            return ""
        return f" of any of {len(self.rows)} rows" if row is None else f" in row {row}"

    def per_round(self, T: int) -> float:
        """The regret bound per round after T rounds, at most H: a loss cannot be larger."""
        T = _validate.integer("T", T, low=1)
        return min(self.high, self.regret(T).value / T)

    def plot(self, path: str | Path | None = None, **options: Any) -> Any:
        """Draw the counts and where the discontinuities lie; options as in `dispersion.plot.plot`."""
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
    prefixes: Iterable[int] | None = None,
    C: float | None = None,
) -> Dispersion:
    """How dispersed the discontinuities of a stream of loss functions are.

    Parameters
    ----------
    functions
        One item per round: a problem (anything with `losses()`), a piecewise constant or linear function,
        `Samples` of any other function, or a plain list of discontinuities. An array with one row of
        discontinuities per function will do, too.
    space
        Only what lies inside counts. None: the smallest interval that contains everything; give the space if
        you pass plain lists, since dispersion is relative to it. Functions on the line of `Strips` are
        measured row by row: the worst row counts, and where one row ends and the next begins nothing breaks.
    lipschitz
        The constant L of Definition 3; None for the largest slope of the functions, which is 0 for steps.
        With L > 0, step functions are counted as in the definition: those that change by more than L times
        the distance between the worst two points. Piecewise linear functions count where they jump, and
        L must not be below their largest slope. `Samples` count where they prove a violation.
    eps
        The lengths ε; None for 41 of them between N^−1.25 of the space (N discontinuities) and all of it.
    prefixes
        The numbers of rounds T' at which to look; None for T, T/2, T/4, ... while there are 16 or more.
    C
        The constant in D ≤ C·ε·T; None for four times the highest number of discontinuities per function and
        unit of length that occurs at the scale T^−3/4 of the space.

    Returns
    -------
    Dispersion
        D(T, ε) as counts and as a function, β, (w, k), the regret bound, a verdict.

    Notes
    -----
    D(T, ε) is the largest number of functions that have a discontinuity in a closed interval of length ε. A
    function with several in the interval counts once; one that jumps up and back again counts. This is the
    count of Theorem 5, and never smaller than that of Definition 3, which compares the values at two points.

    β is measured in units of the length 1/C: it is the largest β such that D(T, ε) ≤ C·ε·T for all ε with
    C·ε ≥ T^−β. So T^(1−β) is what dispersion adds to the regret
    (Theorem 1), β = 0 if one place breaks a fixed share of the functions, and it cannot exceed 1.

    Cost: O(N log N) to sort N discontinuities, then O(N) per ε and prefix. With `lipschitz` > 0 and step
    functions, O(N·W log W) per ε, where W discontinuities lie within ε of one another.

    Examples
    --------
    >>> result = measure([[0.1, 0.2], [0.15], [0.9], []], Interval(0, 1))
    >>> result.D(0.05), result.D(0.0), result.worst(0.1)
    (2, 1, Worst(lo=0.1, hi=0.2, functions=2, row=0))
    >>> import numpy as np
    >>> measure(np.random.default_rng(0).random((10_000, 2)), Interval(0, 1))
    <Dispersion of 10000 functions, 20000 discontinuities in [0, 1]: beta = 0.78>
    """
    if lipschitz is not None:
        lipschitz = _validate.number("lipschitz", lipschitz, low=0.0)
    if space is not None and not isinstance(space, Space):
        raise TypeError(f"space must be an Interval or Strips, got {space!r}")
    found = collect(functions, space, lipschitz)
    rows, width = found.rows, found.space.width
    T = rows[0].T
    lengths = _lengths(eps, width, max(T, *map(len, rows)))
    rounds = _rounds(prefixes, T)
    if C is None:
        scale = width * T**SCALE
        C = SLACK * max(1, *(row.most_breaks(scale) for row in rows)) / (T * scale)
    else:
        C = _validate.number("C", C, low=0.0, open=True)
    table = np.array([_counts([row.prefix(T_) for row in rows], lengths) for T_ in rounds])
    pieces = found.pieces / T
    return Dispersion(
        rows, found.space, lengths, np.array(rounds), table, C, pieces, found.lipschitz, found.high
    )


def _counts(rows: Iterable[Breaks], lengths: FloatArray) -> npt.NDArray[np.int64]:
    """D(T, ε) in the worst row, for increasing ε."""
    return np.asarray(np.max([_counts_along(row, lengths) for row in rows], axis=0))


def _counts_along(row: Breaks, lengths: FloatArray) -> npt.NDArray[np.int64]:
    """D(T, ε) in a row; once every function that breaks at all is counted, no sweep is needed."""
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


def _rounds(prefixes: Iterable[int] | None, T: int) -> list[int]:
    if prefixes is None:
        halves = [T]
        while halves[-1] // 2 >= FEWEST and len(halves) < 8:
            halves.append(halves[-1] // 2)
        return halves[::-1]
    prefixes = _validate.iterable("prefixes", prefixes, "numbers of functions")
    rounds = sorted({_validate.integer("prefixes", T_, low=1) for T_ in prefixes} | {T})
    if rounds[-1] > T:
        raise ValueError(f"prefixes must not exceed the number of functions, {T}, got {rounds[-1]}")
    return rounds
