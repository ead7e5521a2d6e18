"""What ρ-linkage costs, next to plain clustering and to Algorithm 3. Run: python benchmarks/linkage.py"""

from __future__ import annotations

import math
import statistics
import tracemalloc
from functools import partial
from time import process_time
from typing import Any

import fastcluster
import numba
import numpy as np
from measure import at_least, at_most, note, number, ratio, run_parts, say, seconds, table
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_digits

import semibandit as sb

PARAMETERS = (0.1, 0.3, 0.5, 0.7, 0.9)


class Free(sb.clustering.TreeCost):
    """A cost that costs nothing, to time the clustering alone."""

    def _of(self, D, tree):
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
        f"`tree`, n = {n:,}, over fastcluster's complete linkage",
        statistics.median(
            ratio(partial(problem.tree, rho), lambda: fastcluster.complete(d)) for rho in PARAMETERS
        ),
        1.5,
    )
    at_most(
        f"`reveal`, n = {n:,}, over fastcluster's complete linkage, mean of 5 ρ",
        statistics.mean(
            ratio(partial(problem.reveal, rho), lambda: fastcluster.complete(d)) for rho in PARAMETERS
        ),
        6.0,
    )


def against_algorithm_3(n: int) -> None:
    D = squareform(pdist(points(n)))
    problem = sb.Linkage(D, Free())
    at_least(
        f"Algorithm 3 as printed (numba) over `reveal`, n = {n:,}, ρ = 0.5",
        1.0 / ratio(lambda: problem.reveal(0.5), lambda: algorithm_3(D, 0.5), repeats=3, calls=(20, 1)),
        100.0,
    )
    sequence = sb.Linkage(D, Free(), partition="sequence")
    at_least(
        f'the same over its own interval, `partition="sequence"`, n = {n:,}',
        1.0 / ratio(lambda: sequence.reveal(0.5), lambda: algorithm_3(D, 0.5), repeats=3, calls=(20, 1)),
        100.0,
    )
    wider = [problem.reveal(r).widths[0] / np.subtract(*algorithm_3(D, r)[::-1]) for r in PARAMETERS]
    note(
        f"width of a tree's interval over that of Algorithm 3, n = {n:,}, median of 5 ρ",
        statistics.median(wider),
    )


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
    at_most(
        f"`losses()` on 400 digits, {count:,} trees, over a `tree` each", statistics.median(quotients), 1.1
    )
    sequence = sb.Linkage(d, cost, partition="sequence")
    longer, many = seconds(sequence.losses), len(sequence.losses())
    note(f"seconds of `losses()` on 400 digits, {count:,} trees", statistics.median(spent))
    note(f"the same for its {many:,} merge sequences", longer)


KINDS = ("elongated", "digits", "iris")
SETS = (
    "width seen, by tree", "width seen, by loss", "trees, by loss", "trees, whole function",
    "time, by loss", "time, whole function",
)  # fmt: skip


def sets() -> None:
    """Sets with one loss, with one tree, and whole functions: means over instances at a random ρ."""
    columns = [level_sets(kind) for kind in KINDS]
    table("sets", ("", *KINDS), zip(SETS, *columns, strict=True))


def level_sets(kind: str, instances: int = 60) -> list[str]:
    """What a run shows on a stream, and what it costs in processor time; `reveal` by tree is 1."""
    at = np.random.default_rng(0).random(instances).tolist()
    problems = list(sb.streams.clustering(kind, instances, seed=1))
    rows = [level_set(problem, rho) for problem, rho in zip(problems, at, strict=True)]
    width, trees, time = (np.mean([row[i] for row in rows], axis=0) for i in range(3))
    at_least(f"{kind}: width of a set with one loss, over one with one tree", width[1] / width[0], 3.0)
    at_most(f"{kind}: a tree of the walk, over `reveal`", time[1] / trees[1] / time[0], 1.0)
    return [
        *(f"{x:.3f}" for x in width[:2]),
        *map(number, trees[1:]),
        *map(number, (time[1] / time[0], time[2] / time[0])),
    ]


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


GAMES = ("one tree", "one loss", "whole functions", "single losses")


def regret(rounds: int = 1000, seeds: int = 3) -> None:
    """Regret by what is shown, and the trees that it takes: those of a set, and one beyond either end."""
    rows, after = [], []
    for kind in KINDS:
        functions = [problem.losses() for problem in sb.streams.clustering(kind, rounds, seed=0)]
        least = np.array([sb.best_in_hindsight(functions).mean_loss] * rounds)
        paid, trees = {}, {}
        for name in GAMES:
            games = np.mean([play(functions, name, seed) for seed in range(seeds)], axis=0)
            paid[name], trees[name] = np.cumsum(games[:, 0] - least), np.cumsum(games[:, 1])
            rows.append((kind, name, number(paid[name][-1]), f"{trees[name][-1]:,.0f}"))
            say("  ".join(rows[-1]))
        at_most(
            f"{kind}: regret by loss, over that by tree", paid["one loss"][-1] / paid["one tree"][-1], 0.8
        )
        for budget in (rounds, 3 * rounds, 10 * rounds):
            after.append((kind, f"{budget:,}", *(by_runs(paid[name], trees[name], budget) for name in GAMES)))
    table("regret", ("stream", "told", "regret", "trees"), rows)
    table("runs", ("stream", "trees", *GAMES), after)


def play(functions: list[sb.PiecewiseConstant], told: str, seed: int) -> np.ndarray:
    """The loss paid and the trees built in each round, with the instances in a random order."""
    learner = sb.Exp3Set(sb.Interval(0, 1), seed=seed)
    game = []
    for i in np.random.default_rng(seed).permutation(len(functions)):
        trial, whole = learner.ask(), functions[i]
        seen: Any = whole.piece(trial.rho)
        loss, trees = float(seen.values[0]), 1
        if told == "one loss":
            seen = whole.compress().piece(trial.rho)
            lo, hi = seen.domain[0]
            trees = int(np.sum((whole.edges[:-1] >= lo) & (whole.edges[:-1] < hi))) + (lo > 0) + (hi < 1)
        elif told == "whole functions":
            seen, trees = whole, len(whole)
        elif told == "single losses":
            seen = loss
        learner.tell(trial, seen)
        game.append((loss, trees))
    return np.array(game)


def by_runs(paid: np.ndarray, trees: np.ndarray, budget: int) -> str:
    """The regret a round, in thousandths, of the rounds that so many trees allow, and their number."""
    played = int(np.searchsorted(trees, budget, side="right"))
    return f"{1e3 * paid[played - 1] / played:.1f} in {played:,} rounds"


def memory(n: int) -> None:
    problem = sb.Linkage(pdist(points(n)), Free())
    problem.reveal(0.5)
    tracemalloc.start()
    problem.reveal(0.5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    size = problem.distances.nbytes
    at_most(
        f"memory of `reveal`, n = {n:,}, the distances included, over the distances", 1 + peak / size, 3.0
    )


def fastcluster_and_algorithm_3() -> None:
    for n in (1_000, 3_000):
        against_fastcluster(n)
    against_algorithm_3(1_000)
    full_information()
    for n in (1_000, 3_000):
        memory(n)


if __name__ == "__main__":
    run_parts({"costs": fastcluster_and_algorithm_3, "sets": sets, "regret": regret}, __doc__)
