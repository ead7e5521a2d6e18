"""The critical curves of linkage with two metrics, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise, product
from typing import Any, NamedTuple

from semibandit import _validate
from semibandit._validate import FloatArray

__all__ = ["Bilinear", "CriticalCurve"]


class _Line(NamedTuple):
    """A distance as a function of α: a + slope·α."""

    a: Fraction
    slope: Fraction

    def at(self, alpha: Fraction) -> Fraction:
        return self.a + self.slope * alpha


class Bilinear(NamedTuple):
    """q(ρ, α) = constant + rho·ρ + alpha·α + rho_alpha·ρ·α, on lo <= α <= hi.

    Negative where the first pair of clusters is closer than the second.
    """

    lo: Fraction
    hi: Fraction
    constant: Fraction
    rho: Fraction
    alpha: Fraction
    rho_alpha: Fraction

    def __call__(self, rho: float, alpha: float) -> Fraction:
        """Return the exact value."""
        r, a = Fraction(rho), Fraction(alpha)
        return self.constant + self.rho * r + self.alpha * a + self.rho_alpha * r * a


class CriticalCurve:
    """The curve on which two pairs of clusters are equally close (Theorem 14): q(ρ, α) = 0.

    q = d(A, B) - d(C, D), where d is the mix (1 - ρ)·min + ρ·max of the mixed distances. Between the α at
    which the nearest or the farthest points change, q is quadratic, and linear in each of its parameters. All
    is computed in rational numbers, and rounded at the end.

    Parameters
    ----------
    d0, d1
        The distances by either metric.
    first, second
        Two pairs of clusters, (A, B) and (C, D), each cluster a collection of points.

    Examples
    --------
    >>> import numpy as np
    >>> d0 = np.array([[0, 1, 2.0], [1, 0, 4.0], [2, 4, 0]])
    >>> d1 = np.array([[0, 3, 1.0], [3, 0, 2.0], [1, 2, 0]])
    >>> curve = CriticalCurve(d0, d1, ([0], [1]), ([0], [2]))
    >>> curve.along_column(0.5), curve.along_row(0.5)
    ([0.3333333333333333], [])
    >>> curve = CriticalCurve(d0, d1, ([0], [1]), ([0, 1], [2]))
    >>> curve.along_row(0.5), curve(0.5, 0.5)
    ([0.3333333333333333], -0.25)
    """

    def __init__(self, d0: FloatArray, d1: FloatArray, first: Any, second: Any) -> None:
        n = len(d0)
        self.first = _clusters("first", first, n)
        self.second = _clusters("second", second, n)
        ends = [_ends(d0, d1, pair) for pair in (self.first, self.second)]
        cuts = sorted({Fraction(0), Fraction(1)}.union(*(_crossings(lines) for lines in ends)))
        self.pieces = tuple(_bilinear(lo, hi, *ends) for lo, hi in pairwise(cuts))
        """q as a quadratic, from α = 0 to 1."""

    def __repr__(self) -> str:
        return f"CriticalCurve({self.first} against {self.second}, {len(self.pieces)} pieces)"

    def __call__(self, rho: float, alpha: float) -> float:
        """Return q(ρ, α): negative where the first pair is closer."""
        rho = _validate.number("rho", rho, low=0.0, high=1.0)
        return float(self._piece(_validate.number("alpha", alpha, low=0.0, high=1.0))(rho, alpha))

    def along_row(self, alpha: float) -> list[float]:
        """Return the ρ in [0, 1] at which the pairs tie for this α: at most one, none for equal lines."""
        alpha = _validate.number("alpha", alpha, low=0.0, high=1.0)
        q = self._piece(alpha)
        return _floats(_roots(q(0.0, alpha), q(1.0, alpha), Fraction(0), Fraction(1)))

    def along_column(self, rho: float) -> list[float]:
        """Return the α in [0, 1] at which the pairs tie for this ρ, without intervals of ties."""
        rho = _validate.number("rho", rho, low=0.0, high=1.0)
        roots: set[Fraction] = set()
        for q in self.pieces:
            r = Fraction(rho)
            left = q.constant + q.rho * r + (q.alpha + q.rho_alpha * r) * q.lo
            right = q.constant + q.rho * r + (q.alpha + q.rho_alpha * r) * q.hi
            roots.update(_roots(left, right, q.lo, q.hi))
        return _floats(roots)

    def _piece(self, alpha: float) -> Bilinear:
        return next(q for q in self.pieces if Fraction(alpha) <= q.hi)


def _clusters(name: str, pair: Any, n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if len(pair) != 2:
        raise ValueError(f"{name} must be a pair of clusters, got {pair!r}")
    a, b = (tuple(_validate.integer(f"a point of {name}", int(i), low=0) for i in part) for part in pair)
    if not a or not b or set(a) & set(b) or max(*a, *b) >= n:
        raise ValueError(
            f"{name} must be two disjoint clusters of the points 0 to {n - 1}, neither empty, got {pair!r}"
        )
    return a, b


def _ends(d0: FloatArray, d1: FloatArray, pair: tuple[tuple[int, ...], tuple[int, ...]]) -> list[_Line]:
    """Return the distances between two clusters, each as a line in α; equal ones once."""
    lines = set()
    for i, j in product(*pair):
        a, b = Fraction(float(d0[i, j])), Fraction(float(d1[i, j]))
        lines.add(_Line(a, b - a))
    return sorted(lines)


def _crossings(lines: list[_Line]) -> set[Fraction]:
    """Return the α in (0, 1) at which the smallest or the largest of the lines may become another one."""
    found = set()
    for i, p in enumerate(lines):
        for q in lines[:i]:
            if p.slope != q.slope:
                alpha = (q.a - p.a) / (p.slope - q.slope)
                if 0 < alpha < 1:
                    values = [line.at(alpha) for line in lines]
                    if p.at(alpha) in (min(values), max(values)):
                        found.add(alpha)
    return found


def _bilinear(lo: Fraction, hi: Fraction, first: list[_Line], second: list[_Line]) -> Bilinear:
    middle = (lo + hi) / 2
    low, high = (
        [choose(lines, key=lambda line: line.at(middle)) for lines in (first, second)]
        for choose in (min, max)
    )
    near = _Line(low[0].a - low[1].a, low[0].slope - low[1].slope)
    far = _Line(high[0].a - high[1].a, high[0].slope - high[1].slope)
    return Bilinear(lo, hi, near.a, far.a - near.a, near.slope, far.slope - near.slope)


def _roots(left: Fraction, right: Fraction, lo: Fraction, hi: Fraction) -> set[Fraction]:
    """Return the zero of a linear function with these values at lo and hi; none if it is zero throughout."""
    if left == right or left * right > 0:
        return set()
    return {lo + (hi - lo) * left / (left - right)}


def _floats(roots: Iterable[Fraction]) -> list[float]:
    return [float(root) for root in sorted(roots)]
