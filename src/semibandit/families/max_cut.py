"""Maximum cuts by rounding the relaxation of Goemans and Williamson."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.families.greedy.solution import BoolArray, frozen
from semibandit.families.instance import before_end, interval_or
from semibandit.families.stepwise import Stepwise
from semibandit.spaces.interval import Interval

__all__ = ["MaxCut", "relaxation"]

_SWEEPS = 10_000


class MaxCut(Stepwise):
    """A cut of a graph by s-linear rounding: ρ is the slope parameter s.

    The relaxation gives a unit vector u for each vertex. With a random normal vector Z and a threshold Q in
    [-1, 1] for each vertex, a vertex is on the right side where clip(⟨Z, u⟩ / s, -1, 1) >= Q. For s near 0 this
    is the rounding of Goemans and Williamson by a random hyperplane. Z and Q are part of the instance, so a
    run is deterministic, and a vertex changes sides at s = ⟨Z, u⟩ / Q.

    Parameters
    ----------
    weights
        Weights of the edges, >= 0: a symmetric matrix with a zero diagonal.
    space
        The parameters s > 0; [0.01, 4] by default.
    vectors
        Unit vectors, one row for each vertex; by default those of `relaxation`.
    normal, thresholds
        Z and Q; drawn with `seed` by default.
    partition
        The feedback sets: the maximal intervals with the same "output", the cut, or with the same "loss".
    seed
        Seed of Z and Q.

    Notes
    -----
    The loss is the share of the weight that is not cut. A run takes O(n²), the relaxation is solved once.
    Balcan, Nagarajan, Vitercik and White (2017) analyse this family.

    Examples
    --------
    >>> triangle = MaxCut([[0, 1, 1], [1, 0, 1], [1, 1, 0]], normal=[1, 0, 0], vectors=np.eye(3),
    ...     thresholds=[0.5, -0.5, 0.5])
    >>> triangle.sides(1.0), triangle.sides(3.0)
    (array([ True,  True, False]), array([False,  True, False]))
    >>> triangle.losses()
    PiecewiseConstant([0.01, 2.0, 4.0], [0.33..., 0.33...])
    """

    def __init__(
        self,
        weights: npt.ArrayLike,
        space: Interval | None = None,
        *,
        vectors: npt.ArrayLike | None = None,
        normal: npt.ArrayLike | None = None,
        thresholds: npt.ArrayLike | None = None,
        partition: str = "output",
        seed: int = 0,
    ) -> None:
        super().__init__(interval_or((0.01, 4.0), space), partition)
        if self.space.lo <= 0.0:
            raise ValueError(f"space must hold parameters s > 0, got {self.space!r}")
        self.weights = _graph(weights)
        n = len(self.weights)
        self.vectors = relaxation(self.weights)[0] if vectors is None else _unit_rows(vectors, n)
        random = np.random.default_rng(_validate.seed("seed", seed))
        drawn = random.standard_normal(self.vectors.shape[1]), random.uniform(-1.0, 1.0, n)
        self.normal = drawn[0] if normal is None else _validate.vector("normal", normal)
        if self.normal.shape != drawn[0].shape:
            raise ValueError(f"normal must have {drawn[0].size} entries, got {self.normal.size}")
        if np.abs(self.normal).max() > 1e100:
            raise ValueError(f"normal must be in [-1e100, 1e100], got {self.normal}")
        thresholds = drawn[1] if thresholds is None else thresholds
        self.thresholds = frozen(_validate.vector("thresholds", thresholds, length=n, low=-1.0))
        if self.thresholds.max() > 1.0:
            raise ValueError(f"thresholds must be in [-1, 1], got {float(self.thresholds.max())!r}")
        self._projections = self.vectors @ self.normal
        self._total = float(np.triu(self.weights).sum())
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            self._changes = self._projections / self.thresholds
        # Elsewhere the vertex is on the side of its projection for every s.
        self._changes[~(np.isfinite(self._changes) & (self._changes > 0.0))] = math.inf

    def sides(self, rho: float) -> BoolArray:
        """Return a bool for each vertex: whether it is on the right side at s = rho. O(n)."""
        return self._sides(before_end(self.space, rho))

    def _sides(self, rho: float) -> BoolArray:
        """Return the sides; at its change a vertex is already on the side of larger s."""
        y, q = self._projections, self.thresholds
        small = np.where(y == 0.0, q <= 0.0, y > 0.0)
        return np.asarray(np.where(rho >= self._changes, q < 0.0, small))

    def cut(self, rho: float) -> float:
        """Return the weight of the edges between the sides at s = rho. O(n²)."""
        return self._cut(self.sides(rho))

    def _cut(self, sides: BoolArray) -> float:
        return float(self.weights[np.ix_(sides, ~sides)].sum())

    def _run(self, rho: float) -> tuple[float, float, float]:
        before = self._changes <= rho
        lo = max(self.space.lo, float(self._changes[before].max(initial=-math.inf)))
        hi = min(self.space.hi, float(self._changes[~before].min(initial=math.inf)))
        cut = self._cut(self._sides(rho))
        return lo, hi, max(0.0, 1.0 - cut / self._total) if self._total > 0.0 else 0.0

    def __repr__(self) -> str:
        return f"MaxCut({len(self.weights)} vertices, {self.space})"


def relaxation(weights: npt.ArrayLike, tolerance: float = 1e-9) -> tuple[FloatArray, float]:
    """Solve the relaxation: unit vectors u that maximise Σ w_ij·(1 - ⟨u_i, u_j⟩) / 2, and the maximum.

    Low-rank factors (Burer and Monteiro) of rank r with r(r + 1)/2 > n, for which critical points of almost
    all graphs are global maxima. Each step sets u_i to the direction of -Σ_j w_ij·u_j; a sweep takes O(n²·r).
    Sweeps end when the maximum grows by less than `tolerance`, relatively.

    >>> _, maximum = relaxation([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> round(maximum, 6)  # three vectors at 120 degrees
    2.25
    """
    w = _graph(weights)
    tolerance = _validate.number("tolerance", tolerance, low=0.0, open=True)
    n = len(w)
    rank = min(n, math.isqrt(2 * n) + 1)
    u = np.random.default_rng(0).standard_normal((n, rank))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    total = float(w.sum())
    value = 0.0
    for _ in range(_SWEEPS):
        for i in range(n):
            pull = w[i] @ u
            if (norm := float(np.linalg.norm(pull))) > 0.0:
                u[i] = pull / -norm
        last, value = value, 0.25 * (total - float(np.einsum("ij,ij->", w @ u, u)))
        if value - last <= tolerance * value:
            break
    return frozen(u), value


def _graph(weights: npt.ArrayLike) -> FloatArray:
    w = _validate.floats("weights", weights, "a matrix of numbers")
    if w.ndim != 2 or w.shape[0] != w.shape[1] or w.shape[0] == 0:
        raise ValueError(f"weights must be a square matrix, got shape {w.shape}")
    if not ((w >= 0.0) & (w <= 1e100)).all():
        raise ValueError(f"weights must be in [0, 1e100], got {w}")
    if (w != w.T).any() or w.diagonal().any():
        raise ValueError("weights must be a symmetric matrix with a zero diagonal")
    return frozen(w)


def _unit_rows(vectors: npt.ArrayLike, n: int) -> FloatArray:
    u = _validate.floats("vectors", vectors, "a matrix of numbers")
    if u.ndim != 2 or len(u) != n or u.shape[1] == 0:
        raise ValueError(f"vectors must have a row for each of the {n} vertices, got shape {u.shape}")
    if not (np.abs(np.linalg.norm(u, axis=1) - 1.0) <= 1e-6).all():
        raise ValueError("vectors must have rows of length 1")
    return frozen(u)
