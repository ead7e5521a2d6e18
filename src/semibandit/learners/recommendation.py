"""Recommendation: the parameter to deploy, by the weights and the losses paid."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from semibandit.learners.statistics import NOTHING, Evidence, PlayStats, stretches
from semibandit.spaces import Alpha, Line, Parameters, name_along, parameters_of, values_of
from semibandit.weights import Weights

__all__ = ["Recommendation", "at_the_minimum", "by_mass"]

Choice = tuple[int, float, tuple[float, float]]  # row, rho, and the interval around it


class _Deployed(NamedTuple):
    rho: float
    interval: tuple[float, float]


class Recommendation(_Deployed):
    """Parameter to deploy, and the interval of equally good ones; on `Strips` also the `alpha` of its row.

    On `Knobs`, `values` holds all parameters by name, and the interval is that of the knob along the rows.
    Unpacks as (rho, interval). `evidence` holds the mean, standard error and number of the losses paid in the
    cells that intersect the interval (each 1/64 of the space).
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
        """Make the pair (rho, interval), with the rest as attributes."""
        recommendation = super().__new__(cls, rho, interval)
        recommendation.alpha = alpha
        recommendation.names = names
        recommendation.evidence = evidence
        return recommendation

    def __getnewargs__(self) -> tuple[Any, ...]:
        return *self, self.alpha, self.names, self.evidence

    @property
    def values(self) -> dict[str, Any]:
        """Parameters to deploy, by name."""
        return values_of(self.names, self.rho, self.alpha)

    @property
    def parameters(self) -> Parameters:
        """Arguments of a problem's methods: (rho,), (rho, alpha), or the values by name."""
        return parameters_of(self.names, self.rho, self.alpha)

    @property
    def along(self) -> str | None:
        """Name of the parameter of the interval; None if all knobs are choices."""
        return name_along(self.names, self.alpha)

    def __repr__(self) -> str:
        alpha = "" if self.alpha is None else f", alpha={self.alpha!r}"
        what = f"rho={self.rho!r}, interval={self.interval!r}{alpha}"
        if self.names:
            interval = f", interval={self.interval!r}" if self.along else ""
            what = f"values={self.values!r}{interval}"
        return f"Recommendation({what}): {self.evidence}"


def at_the_minimum(weights: Weights, line: Line, stats: PlayStats) -> Choice:
    """Choose the middle of the widest interval with the largest weight, for exact weights. O(P)."""
    log = weights.log()
    tolerance = weights.tie_tolerance
    behind = log.of_ends(log.edges, *(np.where(end >= -tolerance, 0.0, -end) for end in log.ends))
    row, (lo, hi) = line.argmin(behind)
    return row, 0.5 * lo + 0.5 * hi, (lo, hi)


def by_mass(weights: Weights, line: Line, stats: PlayStats) -> Choice:
    """Choose the median of the heaviest stretch of a row that is not known to be worse. O(P)."""
    edges = stats.cells.edges
    shares = np.exp(weights.log_shares(edges))
    below = np.append(0.0, np.cumsum(shares))
    ends_of_rows = np.searchsorted(edges, [line.outer(row)[0] for row in range(line.n_rows)])
    parts = stretches(stats.not_worse(), ends_of_rows)
    i, j = max(parts, key=lambda part: below[part[1]] - below[part[0]])
    middle = min(0.5 * float(below[i] + below[j]) / float(below[-1]), np.nextafter(1.0, 0.0))
    x = min(max(weights.draw(middle), float(edges[i])), float(np.nextafter(edges[j], edges[i])))
    row, rho = line.read(x)
    return row, rho, _tied_around(weights, line, row, x)


def _tied_around(weights: Weights, line: Line, row: int, x: float) -> tuple[float, float]:
    """Return the rhos around x, in its row, whose weight is not below that at x by more than a tie."""
    log = weights.log()
    values, edges, least = log.values, log.edges, float(log(x)) - weights.tie_tolerance
    i = min(max(int(np.searchsorted(edges, x, side="right")) - 1, 0), values.size - 1)
    below = np.flatnonzero(values < least)
    after = below[below > i]
    before = below[below < i]
    hi = edges[after[0]] if after.size else edges[-1]
    lo = edges[before[-1] + 1] if before.size else edges[0]
    start, end = line.outer(row)
    shift = line.shift(row)
    lo, hi = (min(max(float(at) - shift, line.lo), line.hi) for at in (max(lo, start), min(hi, end)))
    return lo, hi
