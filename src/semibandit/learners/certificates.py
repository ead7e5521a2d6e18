"""Certificate: an upper bound on the expected regret, computed while the learner runs."""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple

import numpy as np

from semibandit.learners.rates import Rate

__all__ = ["Account", "Certificate", "bound_of", "certify"]


class Certificate(NamedTuple):
    """Bound on the expected regret so far, and the terms of the sum.

    `learning` is ln(1/π(B))/λ + Σ gaps, for the default with the estimated excess of its losses over those of
    its safe learner. `clips` is what clips and joins added. `dispersion` is T·L·r + f(T, r), for the radius r
    that minimises the sum. π(B) is the initial mass of the least likely ball of radius r: 2r/|C| without a
    prior. `value` is at most the sum of the losses paid, if losses are known not to be negative. A learner
    without a valid bound has an infinite `value`, and a `reason`.
    """

    value: float
    learning: float
    clips: float
    dispersion: float
    r: float
    reason: str = ""

    @classmethod
    def none(cls, reason: str) -> Certificate:
        """Return the answer of a learner that has no valid finite bound."""
        return cls(math.inf, math.inf, 0.0, 0.0, 0.0, reason)

    def __str__(self) -> str:
        return f"none: {self.reason}" if self.reason else f"{self.value:.4g}"


class Account(NamedTuple):
    """Quantities of a learner that enter its certificate.

    Parameters
    ----------
    length
        Length of the line, |C|.
    handicap
        Largest amount by which the logarithm of the prior is below that of the uniform density.
    rounds, rate, gaps, clips, paid
        Number of rounds, current rate, sum of the gaps, sum of what clips added, sum of the losses paid.
    unit, range
        Factor from losses to the user's units, and the range of the losses.
    """

    length: float
    handicap: float
    rounds: int
    rate: float
    gaps: float
    clips: float
    paid: float
    unit: float
    range: float


def certify(account: Account, dispersion: Any) -> Certificate:
    """Return the least bound over r, in the user's units.

    Without a `Dispersion`, r is 0.005 of the line, and the comparator is the best ball of this radius.
    """
    length, rounds, unit = account.length, account.rounds, account.unit
    radii = np.array([0.005 * length]) if dispersion is None else length * np.geomspace(1e-9, 0.25, 41)
    bounds = []
    for r in radii.tolist():
        learning = (math.log(length / (2.0 * r)) + account.handicap) / account.rate + account.gaps
        spread = 0.0
        if dispersion is not None:
            more = max(rounds / dispersion.T, 1.0)
            spread = rounds * dispersion.lipschitz * r / unit + more * dispersion.D(2.0 * r) * account.range
        bounds.append(Certificate(learning + account.clips + spread, learning, account.clips, spread, r))
    least = min(bounds, key=lambda bound: bound.value)
    value = min(least.value, account.paid)
    value, learning, clips, spread = (min(unit * term, sys.float_info.max) for term in (value, *least[1:4]))
    return Certificate(value, learning, clips, spread, least.r)


def bound_of(exploration: float | str, rate: Rate) -> str:
    """Return the regret bound in advance of a learner without a baseline, as text."""
    if isinstance(exploration, str):
        return (
            "with probability 1 - δ a regret of at most ln(|C|/2r)/λ + Σ gaps + ½·Σ λ·loss/(p + λ/2) "
            "+ ln(J/δ)/λ + T·L·r + f(T, r), for J ≤ 2 + log2(1 + T) values of the rate (Neu 2015)"
        )
    if exploration:
        return "an expected regret of at most (λ/2 + γ)·T·M + d·ln(2R/r)/λ + T·L·r + f(T, r)"
    return f"an expected regret bounded as in {rate.theorem}"
