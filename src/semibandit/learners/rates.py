"""Learning rates."""

from __future__ import annotations

import math
from typing import ClassVar

import msgspec
from msgspec.structs import force_setattr

from semibandit import _validate
from semibandit.dispersion.bounds.regret import step_size

__all__ = ["AdaptiveRate", "FixedRate", "Rate", "TheoremRate"]

_LOG_TERM = 10.0  # without a horizon: ln T for T = 22,000


class FixedRate(msgspec.Struct, frozen=True, tag=True):
    """Constant rate."""

    value: float
    c: ClassVar[float] = 0.0  # the rate does not adapt

    @property
    def theorem(self) -> str:
        """Name of the theorem that bounds the regret."""
        return "Theorem 3"

    def __post_init__(self) -> None:
        force_setattr(self, "value", _validate.number("rate", self.value, low=0.0, open=True))

    def after(self, gap_sum: float, current: float, unit: float = 1.0) -> float:
        """Return the rate of the next round."""
        return self.value


class TheoremRate(msgspec.Struct, frozen=True, tag=True):
    """Rate that minimises the regret bound of Theorem 3.

    The bound is λ/2·T·M + (d/λ)·ln(2R/r) + T·L·r + f(T, r), so λ = √(2·d·ln(2R/r) / (T·M)). The paper states
    it without the factor √2, and with ln(R/r), which requires a minimiser inside the space.

    Parameters
    ----------
    T
        Number of rounds.
    M
        Largest number of feedback sets in a round, or their mean over the rounds.
    R
        Radius of a ball that contains the space: half the length of an interval with its margins.
    r
        Radius of the ball around the best parameter that is nearly as good; R/√T by default.
    d
        Dimension of the space.
    interior
        The best parameter is at least r inside the space, as an `Interval` with a margin of r ensures; then
        ln(R/r) replaces ln(2R/r).

    >>> round(TheoremRate(T=10_000, M=50, R=0.5).after(0.0, 1.0), 5)
    0.0046
    """

    T: int
    M: float
    R: float
    r: float | None = None
    d: int = 1
    interior: bool = False
    c: ClassVar[float] = 0.0  # the rate does not adapt

    def __post_init__(self) -> None:
        _validate.integer("T", self.T, low=1)
        _validate.integer("d", self.d, low=1)
        _validate.boolean("interior", self.interior)
        force_setattr(self, "M", _validate.number("M", self.M, low=1.0))
        force_setattr(self, "R", _validate.number("R", self.R, low=0.0, open=True))
        if self.r is not None:
            force_setattr(self, "r", _validate.number("r", self.r, low=0.0, high=self.R, open=True))

    @property
    def theorem(self) -> str:
        """Name of the theorem that bounds the regret."""
        return "Theorem 3"

    def after(self, gap_sum: float, current: float, unit: float = 1.0) -> float:
        """Return the rate of the next round."""
        # T = 1 counts as 2, which keeps the logarithm and the rate positive.
        r = self.R / math.sqrt(max(self.T, 2)) if self.r is None else self.r
        return step_size(self.T, self.M, self.R, r, d=self.d, interior=self.interior)


class AdaptiveRate(msgspec.Struct, frozen=True, tag=True):
    """Rate λ = c / (1 + Σ δ), in steps, which needs neither T nor M and never rises.

    δ is the mixability gap of a round: the expected estimate minus -ln E exp(-λ·estimate)/λ. The proof of
    Theorem 3 bounds it by λ/2·M; the learner computes it. For one interval δ is at most the loss, so that a
    tiny probability cannot make the rate collapse. c is `log_term`; by default ln T with a horizon, else 10.

    For unbiased estimates, prompt tells, partitions into M sets, and steps down to powers of two,

        E R ≤ (2·ln(|C|/2r)/c)·(1 + √(c·T·M)) + √(c·T·M) + T·L·r + f(T, r).

    Since the rate never rises, Σ⟨p, ℓ̂⟩ is at most the average of Σ ℓ̂ over a ball of radius r, plus
    ln(|C|/2r)/λ_T + Σ δ, and λ_T is more than half of c / (1 + Σ δ). As δ_t ≤ min(1, λ_t/2·⟨p_t, ℓ̂_t²⟩) and
    λ_t ≤ c / (1 + the gaps before), Σ δ ≤ √(c·Σ⟨p, ℓ̂²⟩), and the expectation of ⟨p, ℓ̂²⟩ is at most M.

    A change of the rate can cost O(P). It happens only when the exact value is below the current one, and
    then goes down to a power of two. The default learner uses c / (range + Σ δ), with the range of the losses
    instead of 1, and steps of 3 %.
    """

    horizon: int | None = None
    log_term: float | None = None

    def __post_init__(self) -> None:
        if self.horizon is not None:
            _validate.integer("horizon", self.horizon, low=1)
        if self.log_term is not None:
            force_setattr(self, "log_term", _validate.number("log_term", self.log_term, low=0.0, open=True))

    @property
    def c(self) -> float:
        """Numerator c."""
        if self.log_term is not None:
            return self.log_term
        return _LOG_TERM if self.horizon is None else max(math.log(self.horizon), 1.0)

    @property
    def theorem(self) -> str:
        """Name of the theorem that bounds the regret."""
        return "the theorem of `AdaptiveRate`"

    def after(self, gap_sum: float, current: float, unit: float = 1.0) -> float:
        """Return the rate of the next round, for losses with a range of `unit`."""
        exact = self.c / (unit + gap_sum)
        return current if exact >= current else math.ldexp(0.5, math.frexp(exact * unit)[1]) / unit


Rate = FixedRate | TheoremRate | AdaptiveRate


def as_rate(rate: float | Rate | None, horizon: int | None) -> Rate:
    """Convert a learner's `rate` argument."""
    if rate is None:
        return AdaptiveRate(horizon)
    if isinstance(rate, Rate):
        return rate
    return FixedRate(_validate.number("rate", rate, low=0.0, open=True))
