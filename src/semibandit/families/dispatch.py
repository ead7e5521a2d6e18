"""Priority rules of scheduling with a parameter, and weighted tardiness."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._jit import kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.families.greedy.solution import frozen, positive
from semibandit.families.instance import before_end, interval_or
from semibandit.families.lines import is_above, narrow
from semibandit.families.stepwise import Stepwise
from semibandit.spaces.interval import Interval

__all__ = ["Dispatch"]

_SPACES = {"atc": (0.0, 10.0), "wspt": (0.0, 3.0), "spt-edd": (0.0, 1.0)}


class Dispatch(Stepwise):
    """Jobs on identical machines: whenever one is free, it takes the job of highest priority.

    Parameters
    ----------
    processing
        Processing time of each job, > 0.
    weights
        Weight of each job's tardiness, > 0.
    due
        Due date of each job. All jobs are available at time 0.
    rule
        Priority of a job at time t. "atc": w/p · exp(-max(0, d - p - t) / (ρ·p̄)), apparent tardiness cost
        with look-ahead ρ and the mean processing time p̄. "wspt": w / p^ρ. "spt-edd": least
        (1 - ρ)·p/w + ρ·d.
    machines
        Number of machines.
    space
        The parameters ρ; [0, 10] for "atc", [0, 3] for "wspt", [0, 1] for "spt-edd" by default.
    partition
        The feedback sets: the maximal intervals with the same "output", the jobs in the order of their start,
        or with the same "loss".

    Notes
    -----
    The loss is Σ w·tardiness relative to a bound: every job ends after the total processing time.

    Up to a transformation that keeps the order, priorities are lines a + b·ρ with coefficients rounded to
    doubles; "atc" is multiplied by ρ after taking the logarithm. Crossings of the lines are exact, rounded to
    43 bits. At a tie the order is the one just right of it, then by index. A run takes O(n²).

    Examples
    --------
    >>> shop = Dispatch([4, 2, 3], weights=[1, 1, 2], due=[5, 9, 6])
    >>> shop.order(0.5), shop.tardiness(0.5)
    (array([0, 2, 1]), 2.0)
    >>> shop.losses()
    PiecewiseConstant([0.0, 0.67..., 1.92..., 10.0], [0.2, 0.2, 0.4])
    """

    def __init__(
        self,
        processing: npt.ArrayLike,
        weights: npt.ArrayLike,
        due: npt.ArrayLike,
        rule: str = "atc",
        space: Interval | None = None,
        *,
        machines: int = 1,
        partition: str = "output",
    ) -> None:
        self.rule = _validate.choice("rule", rule, tuple(_SPACES))
        super().__init__(interval_or(_SPACES[self.rule], space), partition)
        if self.rule == "atc" and self.space.lo < 0.0:
            raise ValueError(f"space must hold look-aheads >= 0, got {self.space!r}")
        self.processing = positive("processing", processing)
        if self.processing.size == 0:
            raise ValueError("processing must have at least one entry, got none")
        self.weights = positive("weights", weights, self.processing.size)
        self.due = frozen(_validate.vector("due", due, length=self.processing.size))
        for name in ("processing", "weights", "due"):
            sizes = np.abs(getattr(self, name))
            if not ((sizes <= 1e30) & ((sizes >= 1e-30) | (name == "due"))).all():
                raise ValueError(f"{name} must be between 1e-30 and 1e30 in size, got {getattr(self, name)}")
        self.machines = _validate.integer("machines", machines, low=1)
        self.bound = self._tardiness(np.full(self.processing.size, self.processing.sum()))
        p, w, d = self.processing, self.weights, self.due
        lines = {
            "atc": (d - p, np.log(w / p)),
            "wspt": (np.log(w), -np.log(p)),
            "spt-edd": (-p / w, p / w - d),
        }
        self._a, self._b = lines[self.rule]

    def order(self, rho: float) -> IntArray:
        """Return the jobs in the order of their start at rho. O(n²)."""
        return self._schedule(before_end(self.space, rho))[0]

    def tardiness(self, rho: float) -> float:
        """Return the weighted tardiness at rho, Σ w·max(0, end - d)."""
        return self._tardiness(self._schedule(before_end(self.space, rho))[1])

    def _tardiness(self, ends: FloatArray) -> float:
        return float(self.weights @ np.maximum(ends - self.due, 0.0))

    def _schedule(self, rho: float) -> tuple[IntArray, FloatArray, float, float]:
        mean = float(self.processing.mean()) if self.rule == "atc" else 0.0
        free = np.zeros(min(self.machines, self.processing.size))
        return _schedule(self._a, self._b, self.processing, free, mean, rho, self.space.lo, self.space.hi)

    def _run(self, rho: float) -> tuple[float, float, float]:
        _, ends, lo, hi = self._schedule(rho)
        # Sums in different orders may differ in the last bit.
        loss = min(1.0, self._tardiness(ends) / self.bound) if self.bound > 0.0 else 0.0
        return lo, hi, loss

    def __repr__(self) -> str:
        return f"Dispatch({self.processing.size} jobs, {self.rule!r}, machines={self.machines}, {self.space})"


@kernel
def _schedule(
    a: FloatArray,
    b: FloatArray,
    processing: FloatArray,
    free: FloatArray,
    mean: float,
    rho: float,
    lo: float,
    hi: float,
) -> tuple[IntArray, FloatArray, float, float]:
    """Return the order of the jobs, their ends, and the part of [lo, hi) with the same order.

    With mean > 0, `a` holds the latest starts d - p, and the line of a job at time t is
    -max(0, a - t) / mean + b·ρ.
    """
    n = a.size
    left, ends = np.arange(n), np.empty(n)
    now = a.copy()
    for p in range(n):
        machine = np.argmin(free)
        t = free[machine]
        if mean > 0.0:
            for q in range(p, n):
                now[left[q]] = -max(0.0, a[left[q]] - t) / mean
        best = p
        for q in range(p + 1, n):
            if is_above(now, b, left[q], left[best], rho):
                best = q
        left[p], left[best] = left[best], left[p]
        for q in range(p + 1, n):
            lo, hi = narrow(now, b, left[p], left[q], lo, hi)
        free[machine] = t + processing[left[p]]
        ends[left[p]] = free[machine]
    return left, ends, lo, hi
