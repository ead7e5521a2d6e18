"""Theorem 3: the regret of continuous Exp3-SET on dispersed losses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray

__all__ = ["WK", "Beta", "DispersionFunction", "Regret", "Table", "regret", "step_size"]

DispersionFunction = Callable[[int, float], float]
"""f(T, ε): bound on the expected number of T functions that break between the worst two points ε apart."""

_GRID = 400  # number of radii of the search
_SMALLEST = 1e-15  # smallest radius of the search, as a share of the space
_LEAST_RADIUS = 1e-280  # of a space, so that the smallest radius is a positive double


@dataclass(frozen=True)
class Beta:
    """Dispersion function of β-dispersion (Definition 1): f(T, ε) = C·(ε·T + T^(1−β)), at most T.

    From ε = T^−β on the definition gives C·ε·T. The second term covers smaller ε, as D increases in ε.

    >>> Beta(0.5)(10_000, 0.0)
    100.0
    """

    beta: float
    C: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", _validate.number("beta", self.beta, low=0.0))
        object.__setattr__(self, "C", _validate.number("C", self.C, low=0.0))

    def __call__(self, T: int, eps: float) -> float:
        T, eps = _checked(T, eps)
        return min(float(T), self.C * (eps * T + math.pow(T, 1.0 - self.beta)))


@dataclass(frozen=True)
class WK:
    """Dispersion function of (w, k)-dispersion: k up to ε = 2w, T beyond.

    Every closed ball of radius w breaks at most k functions. Two points ε apart lie in the ball of radius ε/2
    around their middle; the paper uses a ball of radius ε around one of them.

    >>> WK(w=0.1, k=7)(100, 0.2), WK(w=0.1, k=7)(100, 0.3)
    (7.0, 100.0)
    """

    w: float
    k: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "w", _validate.number("w", self.w, low=0.0))
        object.__setattr__(self, "k", _validate.number("k", self.k, low=0.0))

    def __call__(self, T: int, eps: float) -> float:
        T, eps = _checked(T, eps)
        return float(min(T, self.k)) if eps <= 2.0 * self.w else float(T)


@dataclass(frozen=True, eq=False)
class Table:
    """Measured dispersion function: the counts of T functions at the lengths `eps`.

    Between two lengths the count of the longer one is used, and T beyond the last. For more than T rounds the
    counts are multiplied by the number of blocks of T rounds, assuming that each block has the same counts.

    >>> f = Table(100, eps=[0.01, 0.1], counts=[3, 12])
    >>> f(100, 0.02), f(100, 0.5), f(200, 0.01)
    (12.0, 100.0, 6.0)
    """

    T: int
    eps: FloatArray
    counts: FloatArray

    def __init__(self, T: int, eps: npt.ArrayLike, counts: npt.ArrayLike) -> None:
        lengths = _validate.vector("eps", eps, low=0.0)
        if lengths.size == 0 or (np.diff(lengths) <= 0.0).any():
            raise ValueError(f"eps must be strictly increasing and not empty, got {eps!r}")
        values = _validate.vector("counts", counts, length=lengths.size, low=0.0)
        if (np.diff(values) < 0.0).any():
            raise ValueError(f"counts must not decrease with eps, got {counts!r}")
        object.__setattr__(self, "T", _validate.integer("T", T, low=1))
        object.__setattr__(self, "eps", lengths)
        object.__setattr__(self, "counts", values)

    def __call__(self, T: int, eps: float) -> float:
        T, eps = _checked(T, eps)
        at = int(np.searchsorted(self.eps, eps, side="left"))
        count = float(self.counts[at]) if at < self.eps.size else float(self.T)
        return min(float(T), count * math.ceil(T / self.T))


@dataclass(frozen=True)
class Regret:
    """Bound on the expected regret, with the radius and the learning rate that minimise it.

    Attributes
    ----------
    value
        The sum of the three terms, at most T·H.
    r, rate
        The radius, and the rate to give to a learner. Learners divide losses by H, so the rate does not
        depend on H.
    learning, dispersion, slope
        The terms of Theorem 3: the cost of exploring M sets and of finding a ball of radius r, that of the
        functions that break inside the ball, and T·L·r.
    T, H
        Number of rounds, and largest loss.
    vacuous
        Whether the sum of the terms is T·H or larger, which every learner attains.
    """

    value: float
    r: float
    rate: float
    learning: float
    dispersion: float
    slope: float
    T: int
    H: float
    vacuous: bool

    def __str__(self) -> str:
        if self.vacuous:
            return f"vacuous: larger than {'T' if self.H == 1.0 else 'T·H'} = {self.T * self.H:,.10g}"
        value = f"{self.value:,.0f}" if self.value >= 100.0 else f"{self.value:.3g}"
        return f"at most {value} ({self.value / self.T:.2g} per round)"


def _checked(T: int, eps: float) -> tuple[int, float]:
    return _validate.integer("T", T, low=0), _validate.number("eps", eps, low=0.0)


def step_size(T: int, M: float, R: float, r: float, *, d: int = 1, interior: bool = False) -> float:
    """Return the λ that minimises the bound of Theorem 3: √(2·d·ln(2R/r)/(T·M)), for losses in [0, 1].

    With `interior`, the best parameter is at least r inside the space, and ln(R/r) takes the place of
    ln(2R/r).

    >>> round(step_size(T=1000, M=10, R=0.5, r=0.001), 4)
    0.0372
    """
    T, d = _validate.integer("T", T, low=1), _validate.integer("d", d, low=1)
    M, R = _validate.number("M", M, low=1.0), _validate.number("R", R, low=0.0, open=True)
    r = _validate.number("r", r, low=0.0, open=True)
    reach = R if _validate.boolean("interior", interior) else 2.0 * R
    if r > reach:
        raise ValueError(f"r must be at most {'R' if interior else '2·R'} = {reach:g}, got {r!r}")
    return math.sqrt(2.0 * d * (math.log(reach) - math.log(r)) / (float(T) * M))


def regret(
    T: int,
    M: float,
    f: DispersionFunction,
    R: float,
    *,
    L: float = 0.0,
    H: float = 1.0,
    r0: float | None = None,
    rate: float | None = None,
) -> Regret:
    """Theorem 3: bound the expected regret of Exp3-SET, minimised over the radius r and the rate λ.

    For losses in [0, H] on an interval, every r and every λ, the bound is (Theorem 3; appendix A.1 for H)

        H·(λ/2·T·M + ln(2R/r)/λ + f(T, r)) + T·L·r.

    Parameters
    ----------
    T
        Number of rounds.
    M
        Average number of feedback sets in a round.
    f
        Dispersion function f(T, ε) of the losses: `Beta`, `WK`, `Table`, or any callable.
    R
        Half the length of the interval, its margins included.
    L, H
        Lipschitz constant of the pieces, and largest loss.
    r0
        Distance of the best parameter from the ends of the space (the `margin` of an `Interval`). The
        logarithm is then ln(R/r), for r ≤ r0. Default: the best parameter may lie anywhere; at an end of the
        space half of the ball is left, hence ln(2R/r).
    rate
        Given λ. Default: the best one.

    Notes
    -----
    Implicit exploration, which divides by p + γ instead of p, adds at most γ·T·M·H in expectation.

    Examples
    --------
    >>> bound = regret(T=10_000, M=2, f=Beta(0.5), R=0.5)
    >>> round(bound.value), round(bound.learning), round(bound.dispersion), round(bound.rate, 4)
    (610, 467, 143, 0.0234)
    """
    T = _validate.integer("T", T, low=1)
    M = _validate.number("M", M, low=1.0)
    R = _validate.number("R", R, low=_LEAST_RADIUS)
    _validate.function("f", f)
    L, H = _validate.number("L", L, low=0.0), _validate.number("H", H, low=0.0, open=True)
    largest = R if r0 is None else min(R, _validate.number("r0", r0, low=_LEAST_RADIUS))
    if rate is not None:
        rate = _validate.number("rate", rate, low=0.0, open=True)

    def at(r: float) -> Regret:
        best = step_size(T, M, R, r, interior=r0 is not None)
        step = best if rate is None else rate
        # ln(2R/r) is best²/2·T·M. If r is the whole space there is nothing to learn, and λ = 0 is best.
        learning = H * (step + best * best / step) / 2.0 * T * M if step > 0.0 else 0.0
        dispersion, slope = H * f(T, r), T * L * r
        total = learning + dispersion + slope
        return Regret(min(total, T * H), r, step, learning, dispersion, slope, T, H, total >= T * H)

    return _minimise(at, largest, np.asarray(getattr(f, "eps", ())))


def _minimise(at: Callable[[float], Regret], largest: float, steps: FloatArray) -> Regret:
    """Return the bound at the best radius: a logarithmic grid, then golden section between its neighbours.

    Every radius gives a valid bound, so the search needs no proof. If f is a step function, the best radius
    is one of its `steps`.
    """

    def total(bound: Regret) -> float:
        return bound.learning + bound.dispersion + bound.slope

    grid = np.geomspace(largest * _SMALLEST, largest, _GRID)
    bounds = [at(float(r)) for r in np.union1d(grid, steps[(steps > 0.0) & (steps <= largest)])]
    best = min(range(len(bounds)), key=lambda i: total(bounds[i]))
    lo, hi = math.log(bounds[max(best - 1, 0)].r), math.log(bounds[min(best + 1, len(bounds) - 1)].r)
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    candidates = [bounds[best]]
    for _ in range(40):
        left, right = at(math.exp(hi - golden * (hi - lo))), at(math.exp(lo + golden * (hi - lo)))
        candidates += [left, right]
        if total(left) <= total(right):
            hi = math.log(right.r)
        else:
            lo = math.log(left.r)
    return min(candidates, key=total)
