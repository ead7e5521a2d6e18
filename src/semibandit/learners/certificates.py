"""What a learner can prove of its own regret while it runs."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Certificate", "certify"]


class Certificate(NamedTuple):
    """A bound on the expected regret so far, and the terms that it is the sum of.

    `learning` is ln(1/π(B))/λ + Σ gaps, `clips` what clips, averages over cells and joins have added to
    estimates beyond that, and `dispersion` T·L·r + f(T, r), for the radius r that makes the sum least. π(B)
    is what the least likely ball of radius r had to begin with: 2r/|C|, unless there was a prior. Regret is
    never more than the losses paid, which caps `value`.
    """

    value: float
    learning: float
    clips: float
    dispersion: float
    r: float


def certify(
    *,
    length: float,
    handicap: float,
    rounds: int,
    rate: float,
    gaps: float,
    lead: float,
    clips: float,
    paid: float,
    high: float,
    dispersion: Any,
) -> Certificate:
    """The least bound over r, in units of the losses that are told.

    Parameters
    ----------
    length
        The length of the line, |C|.
    handicap
        By how much the logarithm of the prior is below that of an even one, where it is least.
    rounds, rate, gaps, paid
        The number of rounds, the rate after them, the sum of the mixability gaps, and the sum of the losses
        paid; for losses in [0, 1].
    lead
        By how many losses a place is ahead by its weight, and what was added to its estimates: where that is
        more than ln(1/π(B))/λ, the rest counts as added.
    clips
        What clips have added further, less what they have added in the mean.
    high
        The largest loss.
    dispersion
        A `Dispersion`, or None: then r is a hundredth of the line, and the comparator the best ball of this
        radius.
    """
    radii = np.array([0.005 * length]) if dispersion is None else length * np.geomspace(1e-9, 0.25, 41)
    least = None
    for r in radii.tolist():
        learning = (math.log(length / (2.0 * r)) + handicap) / rate
        added = max(max(lead - learning, 0.0) + clips, 0.0)
        learning += gaps
        spread = 0.0
        if dispersion is not None:
            more = max(rounds / dispersion.T, 1.0)
            spread = rounds * dispersion.lipschitz * r / high + more * dispersion.D(2.0 * r)
        value = learning + added + spread
        if least is None or value < least.value:
            least = Certificate(value, learning, added, spread, r)
    assert least is not None
    value, learning, added, spread = (high * term for term in least[:4])
    return Certificate(min(value, high * paid), learning, added, spread, least.r)
