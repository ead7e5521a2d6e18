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
    """A shop in which a free machine takes the waiting job of highest priority.

    Parameters
    ----------
    processing
        Processing time of each job, > 0; or a matrix with a row for each job, the times of its operations in
        their order.
    weights
        Weight of each job's tardiness, > 0.
    due
        Due date of each job. All jobs are available at time 0.
    rule
        Priority of an operation at time t. "atc": w/p · exp(-max(0, slack) / (ρ·p̄)), apparent tardiness cost
        with look-ahead ρ, mean processing time p̄ and slack d - p - t. "wspt": w / p^ρ. "spt-edd": least
        (1 - ρ)·p/w + ρ·d, with p/w and d divided by their mean absolute values. In all, d is the due date
        minus the processing times of the job's later operations.
    space
        The parameters ρ; [0, 10] for "atc", [0, 3] for "wspt", [0, 1] for "spt-edd" by default.
    route
        Station of each operation, 0, 1, ...: a matrix (job shop). Default: operation i at station i (flow
        shop).
    machines
        Number of identical machines at each station.
    partition
        The feedback sets: the maximal intervals with the same "output", the jobs in the order in which their
        operations start, or with the same "loss".

    Notes
    -----
    No machine waits while an operation could start on it. The loss is Σ w·tardiness relative to an upper
    bound for such schedules: at each of its stations, a job waits at most until the machines have done all
    other jobs.

    Up to a transformation that keeps the order, priorities are lines a + b·ρ with coefficients rounded to
    doubles; "atc" is multiplied by ρ·p̄ after taking the logarithm. Crossings of the lines are exact, rounded
    to 43 bits. At a tie the order is the one just right of it, then by index. A run takes O(n) for each
    operation.

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
        route: npt.ArrayLike | None = None,
        machines: int = 1,
        partition: str = "output",
    ) -> None:
        self.rule = _validate.choice("rule", rule, tuple(_SPACES))
        super().__init__(interval_or(_SPACES[self.rule], space), partition)
        if self.rule == "atc" and self.space.lo < 0.0:
            raise ValueError(f"space must hold look-aheads >= 0, got {self.space!r}")
        self.processing = _times(processing)
        n, operations = self.processing.shape
        self.weights = _of_moderate_size("weights", positive("weights", weights, n))
        self.due = _of_moderate_size("due", frozen(_validate.vector("due", due, length=n)), low=0.0)
        self.route = _stations(route, n, operations)
        self.machines = _validate.integer("machines", machines, low=1)
        self.bound = self._tardiness(self._latest_ends())
        self._lines = self._priorities()

    def _latest_ends(self) -> FloatArray:
        """Return upper bounds on the ends of the jobs."""
        n = len(self.processing)
        own = np.zeros((n, int(self.route.max()) + 1))
        np.add.at(own, (np.arange(n)[:, None], self.route), self.processing)
        waits = np.where(own > 0.0, own.sum(axis=0) - own, 0.0) / self.machines
        return np.asarray((own + waits).sum(axis=1))

    def _priorities(self) -> FloatArray:
        """Return a and b of the lines; with "atc", a is the latest start, from which time t is subtracted."""
        p, w = self.processing, self.weights[:, None]
        d = self.due[:, None] - (np.cumsum(p[:, ::-1], axis=1)[:, ::-1] - p)
        if self.rule == "atc":
            lines = d - p, p.mean() * np.log(w / p)
        elif self.rule == "wspt":
            lines = np.broadcast_to(np.log(w), p.shape), -np.log(p)
        else:
            ratio, date = _scaled(p / w), _scaled(d)
            lines = -ratio, ratio - date
        return np.stack(lines)

    def order(self, rho: float) -> IntArray:
        """Return the job of each operation, in the order of their start at rho. O(n) each."""
        return self._schedule(before_end(self.space, rho))[0]

    def tardiness(self, rho: float) -> float:
        """Return the weighted tardiness at rho, Σ w·max(0, end - d)."""
        return self._tardiness(self._schedule(before_end(self.space, rho))[1])

    def _tardiness(self, ends: FloatArray) -> float:
        return float(self.weights @ np.maximum(ends - self.due, 0.0))

    def _schedule(self, rho: float) -> tuple[IntArray, FloatArray, float, float]:
        n, _ = self.processing.shape
        free = np.zeros((int(self.route.max()) + 1, min(self.machines, n)))
        timed = self.rule == "atc"
        return _schedule(
            self._lines, self.processing, self.route, free, timed, rho, self.space.lo, self.space.hi
        )

    def _run(self, rho: float) -> tuple[float, float, float]:
        _, ends, lo, hi = self._schedule(rho)
        # Sums in different orders may differ in the last bit.
        loss = min(1.0, self._tardiness(ends) / self.bound) if self.bound > 0.0 else 0.0
        return lo, hi, loss

    def __repr__(self) -> str:
        n, operations = self.processing.shape
        jobs = f"{n} jobs" if operations == 1 else f"{n} jobs of {operations} operations"
        return f"Dispatch({jobs}, {self.rule!r}, machines={self.machines}, {self.space})"


def _scaled(values: FloatArray) -> FloatArray:
    """Return values divided by their mean absolute value, if it is not 0."""
    return values / (float(np.abs(values).mean()) or 1.0)


@kernel
def _schedule(
    lines: FloatArray,
    processing: FloatArray,
    route: IntArray,
    free: FloatArray,
    timed: bool,
    rho: float,
    lo: float,
    hi: float,
) -> tuple[IntArray, FloatArray, float, float]:
    """Return the order of the jobs, their ends, and the part of [lo, hi) with the same order.

    `free` has a row for each station, the times from which its machines are free.
    """
    n, operations = processing.shape
    done, ends, order = np.zeros(n, np.int64), np.zeros(n), np.empty(n * operations, np.int64)
    a, b, waiting = np.empty(n), np.empty(n), np.empty(n, np.int64)
    for step in range(order.size):
        t, station, count = np.inf, 0, 0
        for j in range(n):
            if done[j] < operations:
                at = route[j, done[j]]
                start = max(ends[j], free[at].min())
                if start < t or (start == t and at < station):
                    t, station, count = start, at, 0
                if start == t and at == station:
                    waiting[count] = j
                    count += 1
        for j in waiting[:count]:
            a[j], b[j] = lines[0, j, done[j]], lines[1, j, done[j]]
            if timed:
                a[j] = -max(0.0, a[j] - t)
        best = waiting[0]
        for j in waiting[1:count]:
            if is_above(a, b, j, best, rho):
                best = j
        for j in waiting[:count]:
            lo, hi = narrow(a, b, best, j, lo, hi)
        order[step], ends[best] = best, t + processing[best, done[best]]
        free[station, free[station].argmin()] = ends[best]
        done[best] += 1
    return order, ends, lo, hi


def _times(processing: npt.ArrayLike) -> FloatArray:
    """Return a frozen matrix of processing times, with a row for each job."""
    times = _validate.floats("processing", processing, "a sequence or matrix of numbers")
    if times.ndim not in (1, 2) or times.size == 0:
        raise ValueError(f"processing must be a sequence or matrix with entries, got shape {times.shape}")
    flat = _of_moderate_size("processing", positive("processing", times.ravel()))
    return frozen(flat.reshape(len(times), -1))


def _of_moderate_size(name: str, values: FloatArray, low: float = 1e-30) -> FloatArray:
    sizes = np.abs(values)
    if not ((sizes >= low) & (sizes <= 1e30)).all():
        raise ValueError(f"{name} must be between {low:g} and 1e30 in size, got {values}")
    return values


def _stations(route: npt.ArrayLike | None, n: int, operations: int) -> IntArray:
    """Return the station of each operation, as a matrix of n rows."""
    if route is None:
        return np.tile(np.arange(operations), (n, 1))
    given = _validate.floats("route", route, "a matrix of integers")
    if given.shape != (n, operations):
        raise ValueError(f"route must be a matrix with {n} rows of {operations}, got shape {given.shape}")
    _, stations = np.unique(given, return_inverse=True)  # any numbers, counted from 0
    if not (np.isfinite(given) & (given >= 0.0) & (given == np.floor(given))).all():
        raise ValueError(f"route must be integers >= 0, got {given.tolist()}")
    return np.asarray(stations, np.int64).reshape(n, operations)
