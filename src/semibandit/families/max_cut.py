"""Maximum cuts by rounding the relaxation of Goemans and Williamson."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._jit import kernel
from semibandit._validate import FloatArray
from semibandit.families.greedy.solution import BoolArray, frozen
from semibandit.families.instance import before_end, interval_or
from semibandit.families.stepwise import Stepwise
from semibandit.spaces.interval import Interval

__all__ = ["MaxCut", "relaxation"]

_SWEEPS = 10_000
_LARGEST = 1e100
_SPACES = {"s-linear": (0.0, 4.0), "outward": (0.0, math.pi / 2)}


class MaxCut(Stepwise):
    """A cut of a graph by rounding the relaxation of Goemans and Williamson.

    The relaxation gives a unit vector u for each vertex. Its projection y = ⟨Z, u⟩ on a random normal vector
    Z, a random number q for the vertex, and ρ determine its side. Z and q are part of the instance, so a run
    is deterministic, and a vertex changes sides at most once.

    Parameters
    ----------
    weights
        Weights of the edges, >= 0: a symmetric matrix with a zero diagonal.
    space
        The parameters ρ >= 0; [0, 4] for "s-linear", [0, π/2] for "outward" by default. At ρ = 0 both are the
        rounding by a random hyperplane, the side of y.
    rounding
        "s-linear": ρ is s; right where clip(y/s, -1, 1) >= q. A vertex changes sides at s = y/q. "outward"
        rotations: ρ is the angle γ by which u is turned towards a coordinate of its own, in which -q is the
        random normal number; right where y·cos γ - q·sin γ >= 0. A vertex changes sides at γ = atan(y/q).
    vectors
        Unit vectors, one row for each vertex; by default those of `relaxation`.
    normal, thresholds
        Z and q; drawn with `seed` by default. For "s-linear", q is uniform in [-1, 1]; for "outward", normal.
    partition
        The feedback sets: the maximal intervals with the same "output", the sides of the vertices, or with
        the same "loss".
    seed
        Seed of Z and q.

    Notes
    -----
    The loss is the share of the weight that is not cut. A run takes O(n²); the relaxation is solved once.
    Balcan, Nagarajan, Vitercik and White (2017) analyse both families.

    Examples
    --------
    >>> triangle = MaxCut([[0, 1, 1], [1, 0, 1], [1, 1, 0]], normal=[1, 0, 0], vectors=np.eye(3),
    ...     thresholds=[0.5, -0.5, 0.5])
    >>> triangle.sides(1.0), triangle.sides(3.0)
    (array([ True,  True, False]), array([False,  True, False]))
    >>> triangle.losses()
    PiecewiseConstant([0.0, 2.0, 4.0], [0.33..., 0.33...])
    """

    def __init__(
        self,
        weights: npt.ArrayLike,
        space: Interval | None = None,
        *,
        rounding: str = "s-linear",
        vectors: npt.ArrayLike | None = None,
        normal: npt.ArrayLike | None = None,
        thresholds: npt.ArrayLike | None = None,
        partition: str = "output",
        seed: int = 0,
    ) -> None:
        self.rounding = _validate.choice("rounding", rounding, tuple(_SPACES))
        default = _SPACES[self.rounding]
        super().__init__(interval_or(default, space), partition)
        if self.space.lo < 0.0 or (self.rounding == "outward" and self.space.hi > default[1]):
            limit = "[0, π/2]" if self.rounding == "outward" else "[0, inf)"
            raise ValueError(f"space must be in {limit}, got {self.space!r}")
        self.weights = _graph(weights)
        n = len(self.weights)
        self.vectors = relaxation(self.weights)[0] if vectors is None else _unit_rows(vectors, n)
        random = np.random.default_rng(_validate.seed("seed", seed))
        z = random.standard_normal(self.vectors.shape[1:])
        q = random.uniform(-1.0, 1.0, n) if self.rounding == "s-linear" else random.standard_normal((n,))
        largest = 1.0 if self.rounding == "s-linear" else _LARGEST
        self.normal = _bounded("normal", z if normal is None else normal, z.size, _LARGEST)
        self.thresholds = _bounded("thresholds", q if thresholds is None else thresholds, n, largest)
        self._projections = self.vectors @ self.normal
        self._total = float(np.triu(self.weights).sum())
        self._changes = self._change_points()

    def _change_points(self) -> FloatArray:
        """Return the ρ at which each vertex changes sides; inf if it does not."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratios = self._projections / self.thresholds
        changes = ratios if self.rounding == "s-linear" else np.arctan(ratios)
        always = (self.thresholds == -1.0) & (self.rounding == "s-linear")  # clip(y/s) is at least -1
        return np.where((ratios > 0.0) & np.isfinite(ratios) & ~always, changes, math.inf)

    def sides(self, rho: float) -> BoolArray:
        """Return a bool for each vertex: whether it is on the right side at rho. O(n)."""
        return self._sides(before_end(self.space, rho))

    def _sides(self, rho: float) -> BoolArray:
        """Return the sides; at its change a vertex is already on the side of larger ρ."""
        y, q = self._projections, self.thresholds
        first = np.where(y == 0.0, q <= 0.0, y > 0.0) | ((q == -1.0) & (self.rounding == "s-linear"))
        return np.asarray(np.where(rho >= self._changes, q < 0.0, first))

    def cut(self, rho: float) -> float:
        """Return the weight of the edges between the sides at rho. O(n²)."""
        return self._cut(self.sides(rho))

    def _cut(self, sides: BoolArray) -> float:
        return float(self.weights[np.ix_(sides, ~sides)].sum())

    def expected_cut(self, rho: float) -> float:
        """Return the expectation of the cut at rho over the random numbers q, for the given Z. O(n²).

        A vertex is on the right side with a mean sign m, and Σ w_ij·(1 - m_i·m_j) / 2 is cut. For "s-linear",
        m = clip(y/s, -1, 1): between two |y| the expectation is a quadratic function of 1/s, not one of the
        piecewise functions of this package.

        >>> edge = MaxCut([[0, 1], [1, 0]], vectors=[[1], [1]], normal=[1])
        >>> edge.expected_cut(0.5), edge.expected_cut(2)
        (0.0, 0.375)
        """
        rho, y = self.space.check(rho), self._projections
        scale = rho if self.rounding == "s-linear" else math.tan(rho)
        signs = np.sign(y)
        if scale > 0.0:
            with np.errstate(over="ignore"):
                scaled = y / scale
            signs = np.clip(scaled, -1.0, 1.0) if self.rounding == "s-linear" else _mean_sign(scaled)
        return 0.5 * (self._total - float(signs @ np.triu(self.weights) @ signs))

    def _run(self, rho: float) -> tuple[float, float, float]:
        before = self._changes <= rho
        lo = max(self.space.lo, float(self._changes[before].max(initial=-math.inf)))
        hi = min(self.space.hi, float(self._changes[~before].min(initial=math.inf)))
        cut = self._cut(self._sides(rho))
        return lo, hi, max(0.0, 1.0 - cut / self._total) if self._total > 0.0 else 0.0

    def __repr__(self) -> str:
        return f"MaxCut({len(self.weights)} vertices, {self.rounding!r}, {self.space})"


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
    n, unit = len(w), float(w.max()) or 1.0
    rank = min(n, math.isqrt(2 * n) + 1)
    u = np.random.default_rng(0).standard_normal((n, rank))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    value = unit * _ascend(w / unit, u, tolerance)
    return frozen(u), value


@kernel
def _ascend(w: FloatArray, u: FloatArray, tolerance: float) -> float:
    """Improve the vectors u in place; return the value of the relaxation."""
    n, rank = u.shape
    pull, total, value = np.empty(rank), w.sum(), 0.0
    for _ in range(_SWEEPS):
        inner = 0.0
        for i in range(n):
            pull[:] = 0.0
            for j in range(n):
                if w[i, j] > 0.0:
                    pull += w[i, j] * u[j]
            norm = math.sqrt(np.sum(pull * pull))
            if norm > 0.0:
                u[i] = pull / -norm
        for i in range(n):
            for j in range(n):
                inner += w[i, j] * np.sum(u[i] * u[j])
        last, value = value, 0.25 * (total - inner)
        if value - last <= tolerance * value:
            break
    return value


def _graph(weights: npt.ArrayLike) -> FloatArray:
    w = _validate.floats("weights", weights, "a matrix of numbers")
    if w.ndim != 2 or w.shape[0] != w.shape[1] or w.shape[0] == 0:
        raise ValueError(f"weights must be a square matrix, got shape {w.shape}")
    if not ((w >= 0.0) & (w <= _LARGEST)).all():
        raise ValueError(f"weights must be in [0, {_LARGEST:g}], got {w}")
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


def _bounded(name: str, values: npt.ArrayLike, length: int, limit: float) -> FloatArray:
    array = frozen(_validate.vector(name, values, length=length))
    if np.abs(array).max() > limit:
        raise ValueError(f"{name} must be in [-{limit:g}, {limit:g}], got {array}")
    return array


def _mean_sign(x: FloatArray) -> FloatArray:
    """Return 2·Φ(x) - 1."""
    from scipy.special import erf

    return np.asarray(erf(x / math.sqrt(2.0)))
