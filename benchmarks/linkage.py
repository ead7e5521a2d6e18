"""Cost of ρ-linkage beside plain clustering and Algorithm 3, and width of its feedback.

Run: python benchmarks/linkage.py [costs | sets]
"""

from __future__ import annotations

import math
import statistics
import threading
import tracemalloc
from functools import partial
from time import process_time

import fastcluster
import numba
import numpy as np
from measure import at_least, at_most, note, number, ratio, run_parts, seconds, table
from scipy.spatial.distance import pdist, squareform

import semibandit as sb

PARAMETERS = (0.1, 0.3, 0.5, 0.7, 0.9)
KINDS = ("elongated", "digits", "iris")


class Free(sb.clustering.TreeCost):
    """A cost that is 0, to time the clustering alone."""

    def _of(self, D, tree):
        return 0.0

    def __call__(self, distances, Z):
        return 0.0


@numba.njit(cache=True)
def algorithm_3(D: np.ndarray, rho: float) -> tuple[float, float]:
    """Return the interval of Algorithm 3 as printed: all pairs of clusters in each step, O(n³)."""
    n = D.shape[0]
    low, high = D.copy(), D.copy()
    alive = np.ones(n, np.bool_)
    rho_min, rho_max = 0.0, 1.0
    for _ in range(n - 1):
        best, p, q = math.inf, 0, 0
        for i in range(n):
            if alive[i]:
                for j in range(i + 1, n):
                    if alive[j]:
                        d = (1.0 - rho) * low[i, j] + rho * high[i, j]
                        if d < best:
                            best, p, q = d, i, j
        for i in range(n):
            if alive[i]:
                for j in range(i + 1, n):
                    if alive[j] and not (i == p and j == q):
                        delta_min = low[i, j] - low[p, q]
                        delta_max = high[i, j] - high[p, q]
                        if delta_min != delta_max:
                            c = delta_min / (delta_min - delta_max)
                            if c > rho:
                                rho_max = min(rho_max, c)
                            else:
                                rho_min = max(rho_min, c)
        alive[p] = False
        for k in range(n):
            low[q, k] = low[k, q] = min(low[p, k], low[q, k])
            high[q, k] = high[k, q] = max(high[p, k], high[q, k])
    return rho_min, rho_max


# -- costs ----------------------------------------------------------------------------------------------


def points(n: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, 5))


def costs() -> None:
    for n in (1_000, 3_000):
        against_fastcluster(n)
    against_algorithm_3(1_000)
    full_information()
    for n in (1_000, 3_000):
        memory(n)


def against_fastcluster(n: int) -> None:
    d = pdist(points(n))
    problem = sb.Linkage(d, Free())
    for name, method, target in (("tree", problem.tree, 1.5), ("reveal", problem.reveal, 6.0)):
        found = [ratio(partial(method, rho), lambda: fastcluster.complete(d)) for rho in PARAMETERS]
        what = f"`{name}`, n = {n:,}, over fastcluster's complete linkage, mean of 5 ρ"
        at_most(what, statistics.mean(found), target)


def against_algorithm_3(n: int) -> None:
    D = squareform(pdist(points(n)))
    for partition in ("tree", "sequence"):
        problem = sb.Linkage(D, Free(), partition=partition)
        cost = ratio(lambda p=problem: p.reveal(0.5), lambda: algorithm_3(D, 0.5), repeats=3, calls=(20, 1))
        at_least(
            f"Algorithm 3 as printed (numba) over `reveal` by {partition}, n = {n:,}, ρ = 0.5",
            1 / cost,
            100.0,
        )
    problem = sb.Linkage(D, Free())
    wider = [problem.reveal(r).widths[0] / np.subtract(*algorithm_3(D, r)[::-1]) for r in PARAMETERS]
    what = f"width of a tree's interval over that of Algorithm 3, n = {n:,}, median of 5 ρ"
    note(what, statistics.median(wider))


def full_information() -> None:
    problem = sb.streams.clustering("digits", 1, per_class=80, n_classes=5, seed=0)[0]
    d, cost = problem.distances, problem.cost
    count, quotients, spent = len(problem.losses()), [], []
    for _ in range(3):
        fresh = sb.Linkage(d, cost)  # a problem keeps the costs of its trees
        spent.append(seconds(fresh.losses))
        tree = seconds(lambda p=fresh: [p.tree(rho) for rho in np.linspace(0.0, 1.0, 50)]) / 50
        quotients.append(spent[-1] / (tree * count))
    what = f"`losses()` on 400 digits, {count:,} trees"
    at_most(f"{what}, over a `tree` each", statistics.median(quotients), 1.1)
    note(f"{what}, seconds", statistics.median(spent))


def memory(n: int) -> None:
    problem = sb.Linkage(pdist(points(n)), Free())
    tracemalloc.start()
    thread = threading.Thread(target=problem.reveal, args=(0.5,))  # a new thread has no spare memory
    thread.start()
    thread.join()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    what = f"memory of `reveal`, n = {n:,}, the distances included, over the distances"
    at_most(what, 1 + peak / problem.distances.nbytes, 3.0)


# -- sets -----------------------------------------------------------------------------------------------

SETS = (
    "width seen, by tree", "width seen, by loss", "trees, by loss", "trees, whole function",
    "time, by loss", "time, whole function",
)  # fmt: skip


def sets() -> None:
    """Compare feedback by tree, by loss and whole functions: means over instances at a random ρ."""
    table("sets", ("", *KINDS), zip(SETS, *map(level_sets, KINDS), strict=True))


def level_sets(kind: str, instances: int = 60) -> list[str]:
    at = np.random.default_rng(0).random(instances).tolist()
    problems = list(sb.streams.clustering(kind, instances, seed=1))
    rows = [level_set(problem, rho) for problem, rho in zip(problems, at, strict=True)]
    width, trees, time = (np.mean([row[i] for row in rows], axis=0) for i in range(3))
    at_least(f"{kind}: width of an interval with one loss, over one with one tree", width[1] / width[0], 3.0)
    at_most(f"{kind}: a tree of the walk, over `reveal`", time[1] / trees[1] / time[0], 1.0)
    return [*(f"{x:.3f}" for x in width[:2]), *map(number, (*trees[1:], *(time[1:] / time[0])))]


def level_set(problem: sb.Linkage, rho: float) -> tuple[list[float], list[int], list[float]]:
    """Return widths, trees and processor time of reveal by tree and by loss, and of losses."""
    widths, trees, times = [], [], []
    for partition, whole in (("tree", False), ("loss", False), ("tree", True)):
        spent = []
        for _ in range(5):
            fresh = sb.Linkage(problem.distances, problem.cost, partition=partition)
            start = process_time()
            fresh.losses() if whole else fresh.reveal(rho)
            spent.append(process_time() - start)
        trees.append(fresh.n_runs)
        widths.append(1.0 if whole else float(fresh.reveal(rho).widths[0]))
        times.append(min(spent))
    return widths, trees, times


if __name__ == "__main__":
    run_parts({"costs": costs, "sets": sets}, __doc__)
