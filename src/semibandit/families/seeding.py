"""Seeding of k-means by d^α sampling: from uniform over k-means++ to the farthest point first."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._cached import cached_property
from semibandit._validate import FloatArray, IntArray
from semibandit.families.greedy.solution import frozen
from semibandit.families.instance import before_end, interval_or
from semibandit.families.stepwise import Stepwise
from semibandit.spaces.interval import Interval

__all__ = ["Seeding"]


class Seeding(Stepwise):
    """Seeding of k-means: each next centre is drawn with probability ∝ (distance to the centres)^α.

    α = 0 draws uniformly, α = 2 is k-means++, large α takes the farthest point. The uniform numbers of
    the draws are fixed, so the centres are a piecewise constant function of α. The first centre is
    uniform for every α; points that coincide with a centre are never drawn.

    Parameters
    ----------
    points
        The points, an array of shape (n, d).
    n_clusters
        The number of centres; fewer are picked where there are fewer distinct points.
    space
        The exponents α; [0, 20] by default.
    uniforms
        One number in [0, 1) for each centre; drawn with `seed` by default.
    iterations
        Steps of Lloyd's algorithm after the seeding.
    partition
        The feedback sets: the maximal intervals with the same "output", the centres in the order in which
        they are picked, or with the same "loss".
    seed
        The seed of the uniforms.

    Notes
    -----
    The loss is the k-means cost, relative to that of the first centre alone: in [0, 1].

    Ends of intervals are roots of sums of powers, found by Newton's method. Their error is about 1e-14 over
    the slope of a probability in α; where distances differ clearly, a few 1e-16. `loss`, `reveal` and
    `losses` compare α with the same numbers, and so agree with each other.

    Examples
    --------
    >>> problem = Seeding([[0.0], [1.0], [2.0], [7.0]], 2, uniforms=[0.3, 0.7])
    >>> problem.centers(0.0), problem.centers(2.0)
    (array([1, 2]), array([1, 3]))
    >>> problem.losses()
    PiecewiseConstant([0.0, 0.16..., 0.85..., 20.0], [0.68..., 0.97..., 0.05...])
    """

    def __init__(
        self,
        points: npt.ArrayLike,
        n_clusters: int,
        space: Interval | None = None,
        *,
        uniforms: npt.ArrayLike | None = None,
        iterations: int = 0,
        partition: str = "output",
        seed: int = 0,
    ) -> None:
        super().__init__(interval_or((0.0, 20.0), space), partition)
        self.points = _points(points)
        # Only ratios of distances matter; their squares must neither overflow nor underflow.
        self._scaled = np.ldexp(self.points, -math.frexp(float(np.abs(self.points).max()))[1])
        self.n_clusters = _validate.integer("n_clusters", n_clusters, low=1)
        if self.n_clusters > len(self.points):
            raise ValueError(
                f"n_clusters must be at most the number of points, {len(self.points)}, got {n_clusters}"
            )
        if uniforms is None:
            random = np.random.default_rng(_validate.seed("seed", seed))
            uniforms = random.random(self.n_clusters)
        self.uniforms = frozen(_validate.vector("uniforms", uniforms, length=self.n_clusters, low=0.0))
        if not (self.uniforms < 1.0).all():
            raise ValueError(f"uniforms must be below 1, got {self.uniforms}")
        self.iterations = _validate.integer("iterations", iterations, low=0)

    def centers(self, rho: float) -> IntArray:
        """Return the indices of the points picked at α = rho, in order. O(k·n·(log n + d))."""
        return self._seed(before_end(self.space, rho), False)[0]

    def loss(self, rho: float) -> float:
        """Return the loss at rho (bandit feedback): one seeding."""
        return self._loss_of(self.centers(rho))

    def _run(self, rho: float) -> tuple[float, float, float]:
        centers, left, right = self._seed(rho, True)
        return left, right, self._loss_of(centers)

    def _seed(self, rho: float, with_interval: bool) -> tuple[IntArray, float, float]:
        """Return the centres, and the interval on which they are the same."""
        from semibandit.families import _seeding_kernels as k

        ends = (self.space.lo, rho, self.space.hi)
        return k.seed(self._scaled, self.uniforms, ends, with_interval)

    def _loss_of(self, centers: IntArray) -> float:
        if self._single_cost == 0.0:
            return 0.0
        places = self._scaled[centers]
        for _ in range(self.iterations):
            nearest = _squares(self._scaled, places).argmin(axis=1)
            places = np.array(
                [
                    self._scaled[nearest == c].mean(axis=0) if (nearest == c).any() else place
                    for c, place in enumerate(places)
                ]
            )
        cost = float(_squares(self._scaled, places).min(axis=1).sum())
        return min(cost / self._single_cost, 1.0)

    @cached_property
    def _single_cost(self) -> float:
        """Cost with the first centre only."""
        first = min(int(self.uniforms[0] * len(self.points)), len(self.points) - 1)
        return float(_squares(self._scaled, self._scaled[[first]]).sum())

    def __repr__(self) -> str:
        n, d = self.points.shape
        return f"Seeding({n} points in {d} dimensions, {self.n_clusters} clusters, {self.space})"


def _squares(points: FloatArray, places: FloatArray) -> FloatArray:
    """Return the squared distances, one row per point."""
    return np.asarray(((points[:, None, :] - places[None, :, :]) ** 2).sum(axis=2))


def _points(points: npt.ArrayLike) -> FloatArray:
    array = np.array(_validate.floats("points", points, "an array of numbers"), order="C")
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"points must have shape (n, d) with n and d at least 1, got shape {array.shape}")
    if not np.isfinite(array).all():
        where = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise ValueError(f"points must be finite, got points[{where}] = {array[where].tolist()}")
    array.flags.writeable = False
    return array
