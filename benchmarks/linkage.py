"""What ρ-linkage costs, next to plain clustering and to Algorithm 3. Run: python benchmarks/linkage.py"""

from __future__ import annotations

import math
import statistics
import tracemalloc
from functools import partial
from time import process_time

import fastcluster
import numba
import numpy as np
from measure import at_least, at_most, finish, ratio, seconds
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_digits

import semibandit as sb
from semibandit.families.linkage import pieces

PARAMETERS = (0.1, 0.3, 0.5, 0.7, 0.9)


class Free(sb.clustering.TreeCost):
    """A cost that costs nothing, to time the clustering alone."""

    def of(self, D, tree):
        return 0.0

    def __call__(self, distances, Z):
        return 0.0


@numba.njit(cache=True)
def algorithm_3(D: np.ndarray, rho: float) -> tuple[float, float]:
    """As printed: every pair of clusters against the closest one, in each step. O(n³)."""
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


def points(n: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, 5))


def against_fastcluster(n: int) -> None:
    d = pdist(points(n))
    problem = sb.Linkage(d, Free())
    at_most(
        f"tree(rho), n = {n}, over fastcluster's complete linkage",
        statistics.median(
            ratio(partial(problem.tree, rho), lambda: fastcluster.complete(d)) for rho in PARAMETERS
        ),
        1.5,
    )
    at_most(
        f"reveal(rho), n = {n}, over fastcluster's complete linkage, mean of 5 rho",
        statistics.mean(
            ratio(partial(problem.reveal, rho), lambda: fastcluster.complete(d)) for rho in PARAMETERS
        ),
        6.0,
    )


def against_algorithm_3(n: int) -> None:
    D = squareform(pdist(points(n)))
    problem = sb.Linkage(D, Free())
    at_least(
        f"reveal(rho), n = {n}, against Algorithm 3 as printed",
        1.0 / ratio(lambda: problem.reveal(0.5), lambda: algorithm_3(D, 0.5), repeats=3, calls=(20, 1)),
        100.0,
    )
    sequence = sb.Linkage(D, Free(), partition="sequence")
    at_least(
        f"its own interval, n = {n}, against Algorithm 3 as printed",
        1.0 / ratio(lambda: sequence.reveal(0.5), lambda: algorithm_3(D, 0.5), repeats=3, calls=(20, 1)),
        100.0,
    )
    wider = [problem.reveal(r).widths[0] / np.subtract(*algorithm_3(D, r)[::-1]) for r in PARAMETERS]
    print(f"    the interval of the tree is {statistics.median(wider):.1f} times as wide as Algorithm 3's")


def digits(per_class: int = 80) -> tuple[np.ndarray, np.ndarray]:
    data = load_digits()
    rng = np.random.default_rng(0)
    chosen = [rng.choice(np.flatnonzero(data.target == c), per_class, replace=False) for c in range(5)]
    index = np.concatenate(chosen)
    return pdist(data.data[index]), data.target[index]


def full_information() -> None:
    d, target = digits()
    cost = sb.clustering.TargetDistance(target)
    count = len(sb.Linkage(d, cost).losses())
    quotients, spent = [], []
    for _ in range(3):
        problem = sb.Linkage(d, cost)  # anew, since a problem keeps the costs of its trees
        spent.append(seconds(problem.losses))
        tree = seconds(lambda: [problem.tree(rho) for rho in np.linspace(0.0, 1.0, 50)]) / 50  # noqa: B023
        quotients.append(spent[-1] / (tree * count))
    at_most(f"losses(), 400 digits, {count} trees, over a tree(rho) each", statistics.median(quotients), 3.0)
    sequence = sb.Linkage(d, cost, partition="sequence")
    longer, many = seconds(sequence.losses), len(sequence.losses())
    print(f"    that is {statistics.median(spent):.2f} s; {many} merge sequences {longer:.2f} s")


def level_sets(kind: str, instances: int = 60) -> None:
    """Sets with one loss against sets with one tree and against the whole function."""
    at = np.random.default_rng(0).random(instances).tolist()
    problems = list(sb.streams.clustering(kind, instances, seed=1))
    rows = [level_set(problem, rho) for problem, rho in zip(problems, at, strict=True)]
    width, trees, time = (np.mean([row[i] for row in rows], axis=0) for i in range(3))
    print(f"{kind}: mean of {instances} instances of {len(problems[0].distances)} points")
    print(f"    {'':<12} {'tree':>9} {'loss':>9} {'whole':>9}")
    print(f"    {'width':<12} {width[0]:>9.3f} {width[1]:>9.3f} {1:>9}")
    print(f"    {'trees':<12} {trees[0]:>9.1f} {trees[1]:>9.1f} {trees[2]:>9.1f}")
    print(f"    {'time':<12} {1:>9} {time[1] / time[0]:>9.1f} {time[2] / time[0]:>9.1f}")
    at_least(f"{kind}: width of a set with one loss, over one with one tree", width[1] / width[0], 3.0)
    at_most(f"{kind}: a tree of the walk, over reveal", time[1] / trees[1] / time[0], 1.0)


def level_set(problem: sb.Linkage, rho: float) -> tuple[list[float], list[int], list[float]]:
    """Widths, trees and processor time of reveal by tree and by loss, and of losses.

    On the clock long calls would suffer more from other processes than short ones do. Each time the problem
    is made anew, since it keeps the costs of its trees.
    """
    widths, trees, times = [], [], []
    for partition, whole in (("tree", False), ("loss", False), ("tree", True)):
        spent = []
        for _ in range(5):
            fresh = sb.Linkage(problem.distances, problem.cost, partition=partition)
            start = process_time()
            fresh.losses() if whole else fresh.reveal(rho)
            spent.append(process_time() - start)
        widths.append(1.0 if whole else float(fresh.reveal(rho).widths[0]))
        trees.append(fresh.n_runs // (1 if whole else 2))
        times.append(min(spent))
    return widths, trees, times


def regret_by_sets(kind: str, rounds: int = 500, seeds: int = 4) -> None:
    """The regret of the default learner told sets with one loss, over the same told sets with one tree."""
    by_tree = [problem.losses() for problem in sb.streams.clustering(kind, rounds, seed=0)]
    by_loss = [function.compress() for function in by_tree]
    least = rounds * sb.best_in_hindsight(by_tree).mean_loss
    tree, loss = (
        statistics.mean(total_loss(functions, seed) - least for seed in range(seeds))
        for functions in (by_tree, by_loss)
    )
    print(f"    {kind}, {rounds} rounds, mean of {seeds}: regret {tree:.1f} by tree, {loss:.1f} by loss")
    at_most(f"{kind}: regret by loss, over that by tree", loss / tree, 0.8)


def total_loss(functions: list[sb.PiecewiseConstant], seed: int) -> float:
    learner = sb.Exp3Set(sb.Interval(0, 1), seed=seed)
    total = 0.0
    for i in np.random.default_rng(seed).permutation(len(functions)):
        trial = learner.ask()
        seen = functions[i].piece(trial.rho)
        learner.tell(trial, seen)
        total += float(seen.values[0])
    return total


def memory(n: int) -> None:
    problem = sb.Linkage(pdist(points(n)), Free())
    problem.reveal(0.5)
    pieces.spare.memory = None  # what a thread keeps for its next run counts too
    tracemalloc.start()
    problem.reveal(0.5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    size = problem.distances.nbytes
    at_most(f"memory of reveal, n = {n}, with the distances, over the distances", 1 + peak / size, 3.0)


if __name__ == "__main__":
    for n in (1_000, 3_000):
        against_fastcluster(n)
    against_algorithm_3(1_000)
    full_information()
    for kind in ("elongated", "digits", "iris"):
        level_sets(kind)
        regret_by_sets(kind)
    for n in (1_000, 3_000):
        memory(n)
    finish()
