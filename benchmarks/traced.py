"""Exactness and cost of traced runs. Run: python benchmarks/traced.py [PART ...]"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from measure import at_most, note, ratio, run_parts

import semibandit as sb

FloatArray = np.ndarray[Any, np.dtype[np.float64]]


@sb.traced(sb.Interval(0, 10))
def greedy(rho: float, values: FloatArray, sizes: FloatArray, capacity: float) -> float:
    """The paper's knapsack: items by decreasing v / s^ρ."""
    order = np.argsort(-values / sizes**rho)
    room, gain = capacity, 0.0
    for i in order:
        if sizes[i] <= room:
            room, gain = room - sizes[i], gain + values[i]
    return 1 - gain / values.sum()


@sb.traced(sb.Interval(0, 1))
def clustering(rho: float, distances: FloatArray, cost: Any) -> float:
    """Merge clusters by (1 - ρ) · single linkage + ρ · complete linkage."""
    n = len(distances)
    near, far = distances.copy(), distances.copy()
    alive, names, sizes, merges = np.arange(n), list(range(n)), [1] * n, []
    for step in range(n - 1):
        first, second = np.triu_indices(alive.size, 1)
        first, second = alive[first], alive[second]
        closest = np.argmin((1 - rho) * near[first, second] + rho * far[first, second])
        a, b = first[closest], second[closest]
        merges.append([*sorted((names[a], names[b])), far[a, b], sizes[a] + sizes[b]])
        near[a] = near[:, a] = np.minimum(near[a], near[b])
        far[a] = far[:, a] = np.maximum(far[a], far[b])
        names[a], sizes[a] = n + step, sizes[a] + sizes[b]
        alive = alive[alive != b]
    return float(cost(distances, np.array(merges, dtype=float)))


@sb.traced(sb.Interval(0, 4))
def dispatch(rho: float, processing: FloatArray, weights: FloatArray, due: FloatArray) -> float:
    """Order jobs by their apparent tardiness cost (ATC) with look-ahead 1/ρ; return their tardiness."""
    left, scale, time, cost = np.arange(processing.size), rho / processing.mean(), 0.0, 0.0
    while left.size:
        slack = np.maximum(due[left] - processing[left] - time, 0.0)
        chosen = np.argmax(weights[left] / processing[left] * np.exp(-scale * slack))
        job = left[chosen]
        time += processing[job]
        cost += weights[job] * max(time - due[job], 0.0)
        left = np.delete(left, chosen)
    return cost / (weights.sum() * processing.sum())


def knapsacks(count: int) -> Any:
    """Yield random and tied instances in turn, of 2 to 60 items."""
    rng = np.random.default_rng(0)
    for t in range(count):
        n = int(rng.integers(2, 61))
        values, sizes = rng.integers(1, 9, (2, n)).astype(float) if t % 2 else rng.random((2, n))
        yield values, sizes, sizes.sum() / 3, rng.uniform(0, 10, 3).tolist()


def agreement() -> None:
    """Compare intervals and losses with `Knapsack` and `Linkage`."""
    differ = 0
    for values, sizes, capacity, rhos in knapsacks(2_000):
        problem = greedy(values, sizes, capacity)
        exact = sb.Knapsack(values, sizes, capacity, partition="order")
        differ += any(
            problem.reveal(rho).domain != exact.reveal(rho).domain
            or not np.isclose(problem.loss(rho), 1 - exact.solve(rho)[1] / values.sum(), atol=1e-12)
            for rho in (0.0, *rhos)
        )
    at_most('knapsacks of 2,000 whose intervals differ from `Knapsack(partition="order")`', differ, 0)
    rng, differ, pieces = np.random.default_rng(1), 0, 0
    for _ in range(40):
        points, labels = rng.random((12, 2)), rng.integers(3, size=12)
        distances = np.linalg.norm(points[:, None] - points, axis=2)
        cost = sb.clustering.TargetDistance(labels, n_clusters=3)
        ours = clustering(distances, cost).losses()
        exact = sb.Linkage(distances, cost, partition="sequence").losses()
        pieces += len(exact)
        same = len(ours) == len(exact) and np.allclose(ours.edges, exact.edges, rtol=0, atol=2e-13)
        differ += not (same and np.array_equal(ours.values, exact.values))
    at_most(f"clusterings of 40 ({pieces:,} pieces) that differ from `Linkage`", differ, 0)


def at_many(call: Any, space: sb.Interval) -> Any:
    """Return a call with the next of 101 parameters."""
    parameters = itertools.cycle(np.random.default_rng(1).uniform(*space.span, 101).tolist())
    return lambda: call(next(parameters))


def against_plain(family: Any, *instance: Any) -> float:
    """Return the time of `reveal` over that of a plain call of the function."""
    space = family.options.space
    plain = at_many(lambda rho: family.function(rho, *instance), space)
    return ratio(at_many(family(*instance).reveal, space), plain, repeats=1001)


def costs() -> None:
    rng = np.random.default_rng(2)
    for n, target in ((50, 3), (1_000, 2)):
        values, sizes = rng.random((2, n))
        cost = against_plain(greedy, values, sizes, sizes.sum() / 4)
        at_most(f"greedy knapsack, n = {n:,}: `reveal` over a plain run", cost, target)
    processing, weights = rng.uniform(1, 10, 40), rng.uniform(1, 10, 40)
    due = rng.uniform(0.2, 0.8, 40) * processing.sum()
    cost = against_plain(dispatch, processing, weights, due)
    at_most("ATC dispatching, 40 jobs: `reveal` over a plain run", cost, 2)
    points = rng.random((20, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    cost = against_plain(clustering, distances, sb.clustering.TargetDistance(rng.integers(3, size=20)))
    note("ρ-linkage, 20 points: `reveal` over a plain run", cost)
    values, sizes = rng.random((2, 50))

    def order_of(_: None, rho: float) -> list[int]:
        return np.argsort(-values / sizes**rho).tolist()  # type: ignore[no-any-return]

    box = sb.BlackBox(order_of, None, sb.Interval(0, 10), len, high=50)
    box.reveal(1.0)
    note("runs of `BlackBox.reveal` for the same interval, n = 50", box.n_runs)


if __name__ == "__main__":
    run_parts({"agreement": agreement, "costs": costs}, __doc__)
