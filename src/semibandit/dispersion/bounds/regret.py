"""Theorem 3: the regret of continuous Exp3-SET on dispersed losses, as a number."""

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
"""f(T, ε): the expected number of functions among T that break on the worst pair of points ε apart."""

_GRID = 400  # radii tried, evenly in the logarithm; the best one is then refined
_SMALLEST = 1e-15  # of the space: the smallest radius tried
_LEAST_RADIUS = 1e-280  # below, the smallest radius tried would vanish


@dataclass(frozen=True)
class Beta:
    """β-dispersion (Definition 1) as a dispersion function: f(T, ε) = C·(ε·T + T^(1−β)), at most T.

    Above ε = T^−β the definition gives C·ε·T; below, f does not decrease in ε, hence the second term.

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
    """(w, k)-dispersion as a dispersion function: k up to ε = w, T beyond.

    >>> WK(w=0.1, k=7)(100, 0.05), WK(w=0.1, k=7)(100, 0.2)
    (7.0, 100.0)
    """

    w: float
    k: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "w", _validate.number("w", self.w, low=0.0))
        object.__setattr__(self, "k", _validate.number("k", self.k, low=0.0))

    def __call__(self, T: int, eps: float) -> float:
        T, eps = _checked(T, eps)
        return float(min(T, self.k)) if eps <= self.w else float(T)


@dataclass(frozen=True, eq=False)
class Table:
    """A measured dispersion function: the counts of T functions at the lengths `eps`.

    Between two lengths the count of the longer one is used, beyond the last one T. For more rounds than were
    measured, the counts are multiplied by the number of blocks of the measured length: the worst interval of
    all blocks is at most the sum of the worst of each. This takes it that the stream goes on as it was.

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
    """A regret bound, the radius and step size that attain it, and its three parts.

    `value` = `learning` (the price of exploring M sets and of finding a ball of radius r) + `dispersion` (the
    functions that break inside the ball) + `slope` (how much the others change across it).
    """

    value: float
    r: float
    rate: float
    learning: float
    dispersion: float
    slope: float


def _checked(T: int, eps: float) -> tuple[int, float]:
    return _validate.integer("T", T, low=0), _validate.number("eps", eps, low=0.0)


def step_size(T: int, M: float, R: float, r: float, *, d: int = 1, interior: bool = False) -> float:
    """The λ that minimises Theorem 3's bound: √(2·d·ln(2R/r)/(T·M)), for losses in [0, 1].

    The theorem is stated with √(d·ln(R/r)/(T·M)). The bound of its proof is smallest at √2 times that, and
    nothing needs λ ≤ 1. ln(R/r) asks for a minimiser that is at least r inside the space (`interior`).

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
    d: int = 1,
    H: float = 1.0,
    r0: float | None = None,
    rate: float | None = None,
    exploration: float = 0.0,
) -> Regret:
    """Theorem 3's bound on the expected regret, minimised over the radius r and the step size λ.

    For losses in [0, H] and every r and λ it is

        H·((λ/2 + γ)·T·M + d/λ·ln(2R/r) + f(T, r)) + T·L·r      (Theorem 3; appendix A.1 for H).

    Parameters
    ----------
    T
        The number of rounds.
    M
        Feedback sets in a round. The proof adds up their numbers, so their average over the rounds will do.
    f
        The dispersion function f(T, ε) of the losses: `Beta`, `WK`, `Table`, or any callable.
    R
        The radius of a ball that contains the space: half the length of an interval, its margins included.
    L, d, H
        The Lipschitz constant of the pieces, the dimension, and the upper end of the losses.
    r0
        The minimiser is this far inside the space (the `margin` of an `Interval` sees to that): the logarithm
        is then ln(R/r), for r ≤ r0. None: it may lie anywhere in an interval or a box. A ball around a
        corner keeps 2^−d of its volume, hence the 2.
    rate
        A step size that is given; None for the best one.
    exploration
        The γ of implicit exploration, 0 for none. In expectation it only costs; it is there for bounds that
        hold with high probability. The best λ does not depend on it.

    Returns
    -------
    Regret
        Its `rate` is the one to give to a learner, which divides losses by its `high` = H before it applies
        the rate: it is the same whatever H is.

    Notes
    -----
    The paper's proof drops the square of the estimate in λ²/2·ℓ̂² and a factor λ before T·L·r + D_r on the
    way; the bound above is right. Any r gives a valid bound, so that the search over r needs no proof.

    Implicit exploration divides by p + γ instead of p. The estimates are then too small: no harm for the
    parameter compared with, and at most γ·Σ p/(p + γ) ≤ γ·M in a round for the learner.

    Examples
    --------
    >>> bound = regret(T=10_000, M=2, f=Beta(0.5), R=0.5)
    >>> round(bound.value), round(bound.learning), round(bound.dispersion)
    (610, 467, 143)
    """
    T = _validate.integer("T", T, low=1)
    M = _validate.number("M", M, low=1.0)
    R = _validate.number("R", R, low=_LEAST_RADIUS)
    _validate.function("f", f)
    L, H = _validate.number("L", L, low=0.0), _validate.number("H", H, low=0.0, open=True)
    d = _validate.integer("d", d, low=1)
    interior = r0 is not None
    largest = R if r0 is None else min(R, _validate.number("r0", r0, low=_LEAST_RADIUS))
    if rate is not None:
        rate = _validate.number("rate", rate, low=0.0, open=True)
    biased = _validate.number("exploration", exploration, low=0.0) * T * M

    def at(r: float) -> Regret:
        best = step_size(T, M, R, r, d=d, interior=interior)
        step = best if rate is None else rate
        # d·ln(2R/r) is best²/2·T·M. Where r is the whole space there is nothing to learn, and λ = 0 is best.
        learning = H * (biased + (step + best * best / step) / 2.0 * T * M if step > 0.0 else biased)
        dispersion, slope = H * f(T, r), T * L * r
        return Regret(learning + dispersion + slope, r, step, learning, dispersion, slope)

    return _minimise(at, largest, f)


def _minimise(at: Callable[[float], Regret], largest: float, f: DispersionFunction) -> Regret:
    """The best radius: a grid in the logarithm, then golden section between its neighbours."""
    radii = np.geomspace(largest * _SMALLEST, largest, _GRID)
    if isinstance(f, Table):  # a step function of r is best just before a step
        steps = f.eps[(f.eps > 0.0) & (f.eps <= largest)]
        return min((at(float(r)) for r in np.union1d(radii, steps)), key=lambda bound: bound.value)
    bounds = [at(float(r)) for r in radii]
    best = min(range(_GRID), key=lambda i: bounds[i].value)
    lo, hi = math.log(radii[max(best - 1, 0)]), math.log(radii[min(best + 1, _GRID - 1)])
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    candidates = [bounds[best]]
    for _ in range(40):
        left, right = at(math.exp(hi - golden * (hi - lo))), at(math.exp(lo + golden * (hi - lo)))
        candidates += [left, right]
        if left.value <= right.value:
            hi = math.log(right.r)
        else:
            lo = math.log(left.r)
    return min(candidates, key=lambda bound: bound.value)
