"""The weights of Algorithm 4 as a flat list of pieces: exact logarithms, mpmath for everything else."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from fractions import Fraction

import mpmath

mpmath.mp.dps = 50


def mp(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


class FlatWeights:
    """exp(logs[i]) on [edges[i], edges[i + 1]); every operation looks at every piece."""

    def __init__(self, lo: float, hi: float) -> None:
        self.edges = [Fraction(lo), Fraction(hi)]
        self.logs = [Fraction(0)]

    def copy(self) -> FlatWeights:
        other = FlatWeights(0, 1)
        other.edges, other.logs = list(self.edges), list(self.logs)
        return other

    def _cut(self, x: Fraction) -> None:
        i = bisect.bisect_left(self.edges, x)
        if self.edges[i] != x:
            self.edges.insert(i, x)
            self.logs.insert(i, self.logs[i - 1])

    def update(self, lo: float, hi: float, log_factor: float | Fraction) -> None:
        lo, hi, log = Fraction(lo), Fraction(hi), Fraction(log_factor)
        self._cut(lo)
        self._cut(hi)
        for i, left in enumerate(self.edges[:-1]):
            if lo <= left < hi:
                self.logs[i] += log

    def raise_to(self, power: float) -> None:
        self.logs = [log * Fraction(power) for log in self.logs]

    def mass(self, lo: float | Fraction, hi: float | Fraction) -> mpmath.mpf:
        lo, hi = Fraction(lo), Fraction(hi)
        total = mpmath.mpf(0)
        for i, log in enumerate(self.logs):
            if self.edges[i] < hi and lo < self.edges[i + 1]:
                width = min(hi, self.edges[i + 1]) - max(lo, self.edges[i])
                total += mp(width) * mpmath.exp(mp(log))
        return total

    def union(self, intervals: Iterable[tuple[float, float]]) -> mpmath.mpf:
        return mpmath.fsum(self.mass(lo, hi) for lo, hi in intervals)

    def total(self) -> mpmath.mpf:
        return self.mass(self.edges[0], self.edges[-1])

    def draw(self, u: float) -> mpmath.mpf:
        """The point that has a share u of the mass to its left."""
        rest = self.total() * mpmath.mpf(u)
        for i, log in enumerate(self.logs):
            density = mpmath.exp(mp(log))
            mass = mp(self.edges[i + 1] - self.edges[i]) * density
            if rest < mass:
                return mp(self.edges[i]) + rest / density
            rest -= mass
        return mp(self.edges[-1])
