"""The value to deploy: read off the weights, and off what was paid."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from semibandit._validate import FloatArray
from semibandit.learners.evidence import NOTHING, Evidence, Paid, stretches
from semibandit.spaces import Alpha, Line, Parameters, parameters_of, values_of
from semibandit.weights import Weights

__all__ = ["Recommendation", "at_the_minimum", "by_mass"]

Choice = tuple[int, float, tuple[float, float]]  # a row, a rho in it, and the interval that it stands for


class _Deployed(NamedTuple):
    rho: float
    interval: tuple[float, float]


class Recommendation(_Deployed):
    """The value to deploy, and the interval that it stands for; on `Strips` also the `alpha` of its row.

    On `Knobs` all of it by name is in `values`; the interval is that of the knob along the rows.

    Unpacks as (rho, interval). `evidence` is what was paid in the rounds that were played there (in the cells
    that the interval touches, a 64th of an interval each): the mean, its standard error, and their number.
    """

    alpha: Alpha | None
    names: tuple[str, ...]
    evidence: Evidence

    def __new__(
        cls,
        rho: float,
        interval: tuple[float, float],
        alpha: Alpha | None = None,
        names: tuple[str, ...] = (),
        evidence: Evidence = NOTHING,
    ) -> Self:
        """The pair of rho and interval, with the rest as attributes."""
        recommendation = super().__new__(cls, rho, interval)
        recommendation.alpha = alpha
        recommendation.names = names
        recommendation.evidence = evidence
        return recommendation

    def __getnewargs__(self) -> tuple[Any, ...]:
        return *self, self.alpha, self.names, self.evidence

    @property
    def values(self) -> dict[str, Any]:
        """What to deploy, by name."""
        return values_of(self.names, self.rho, self.alpha)

    @property
    def parameters(self) -> Parameters:
        """What a problem's methods take: (rho,), (rho, alpha), or the values by name."""
        return parameters_of(self.names, self.rho, self.alpha)

    def __repr__(self) -> str:
        alpha = "" if self.alpha is None else f", alpha={self.alpha!r}"
        what = f"rho={self.rho!r}, interval={self.interval!r}{alpha}"
        if self.names:
            what = f"values={self.values!r}, interval={self.interval!r}"
        return f"Recommendation({what}): {self.evidence}"


def at_the_minimum(weights: Weights, line: Line, paid: Paid) -> Choice:
    """The middle of the widest interval with the largest weight, for weights that are exact. O(P)."""
    log = weights.log()
    alike = weights.alike
    behind = log.of_ends(log.edges, *(np.where(end >= -alike, 0.0, -end) for end in log.ends))
    row, (lo, hi) = line.argmin(behind)
    return row, 0.5 * lo + 0.5 * hi, (lo, hi)


def by_mass(weights: Weights, line: Line, paid: Paid) -> Choice:
    """The median of the heaviest stretch of a row that is not known to be worse than others. O(P)."""
    edges = paid.cells.edges
    shares = np.zeros(edges.size - 1)
    shares[np.diff(edges) > 0.0] = np.exp(weights.log_shares(np.unique(edges)))  # floats may be too few
    below = np.append(0.0, np.cumsum(shares))
    ends_of_rows = np.searchsorted(edges, [line.outer(row)[0] for row in range(line.n_rows)])
    parts = stretches(paid.not_worse(), ends_of_rows)
    i, j = max(parts, key=lambda part: below[part[1]] - below[part[0]])
    middle = min(0.5 * float(below[i] + below[j]) / float(below[-1]), np.nextafter(1.0, 0.0))
    x = min(max(weights.draw(middle), float(edges[i])), float(np.nextafter(edges[j], edges[i])))
    row, rho = line.read(x)
    return row, rho, _alike_around(weights, line, row, x)


def _alike_around(weights: Weights, line: Line, row: int, x: float) -> tuple[float, float]:
    """The values of rho around x, in its row, up to where the weight is less than at x and not alike."""
    log, alike = weights.log(), weights.alike
    (left, right), edges, here = log.ends, log.edges, float(log(x))
    i = min(max(int(np.searchsorted(edges, x, side="right")) - 1, 0), left.size - 1)
    hi = _reach(np.append(x, edges[i + 1 :]), np.append(here, left[i + 1 :]), right[i:], here - alike)
    lo = _reach(np.append(x, edges[i::-1]), np.append(here, right[:i][::-1]), left[i::-1], here - alike)
    start, end = line.outer(row)
    shift = line.shift(row)
    lo, hi = (min(max(at - shift, line.lo), line.hi) for at in (max(lo, start), min(hi, end)))
    return lo, hi


def _reach(at: FloatArray, near: FloatArray, far: FloatArray, level: float) -> float:
    """How far one gets from at[0] on pieces that lead from `near` to `far`, never below a level."""
    for i in range(near.size):
        if near[i] < level:
            return float(at[i])
        if far[i] < level:
            return float(at[i] + (at[i + 1] - at[i]) * ((near[i] - level) / (near[i] - far[i])))
    return float(at[-1])
