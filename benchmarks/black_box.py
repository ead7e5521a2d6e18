"""Runs that a black box takes, and bisection beside probes.

Run: python benchmarks/black_box.py [PART ...]

probes: two learners see the same instances and run the algorithm equally often. One finds an interval by
bisection, the other looks at as many further parameters.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import at_least, at_most, note, number, ratio, run_parts, table

import semibandit as sb


def knapsack(seed: int, n: int = 50) -> sb.Knapsack:
    values, sizes = np.random.default_rng(seed).random((2, n))
    return sb.Knapsack(values, sizes, sizes.sum() / 4)


def black_box(problem: sb.Knapsack, **options: float) -> sb.BlackBox:
    return sb.BlackBox(
        lambda p, rho: p.solve(rho).mask, problem, problem.space, lambda m: float(m.mean()), **options
    )


def runs_of_reveal(**_: int) -> None:
    rng = np.random.default_rng(0)
    for tolerance in (1e-3, 1e-6, 1e-9):
        bound = 2 * math.ceil(math.log2(10 / tolerance)) + 1
        boxes = [black_box(knapsack(seed), tolerance=tolerance) for seed in range(200)]
        for box in boxes:
            box.reveal(float(rng.uniform(0, 10)))
        counts = [box.n_runs for box in boxes]
        note(f"runs of `reveal`, 200 knapsacks of 50 items, tolerance {tolerance:g}: mean", np.mean(counts))
        at_most(f"the most of them, over the bound of {bound}", max(counts) / bound, 1)
    problem = knapsack(0, n=1000)
    rhos = itertools.cycle(np.random.default_rng(1).uniform(0, 10, 101).tolist())
    cost = ratio(
        lambda: black_box(problem).reveal(next(rhos)), lambda: problem.reveal(next(rhos)), repeats=51
    )
    note("`reveal` of a knapsack of 1,000 items as a black box, over the exact one", cost)


def threads(**_: int) -> None:
    def slow(instance: object, rho: float) -> int:
        time.sleep(0.002)  # as long as a small process takes
        return int(16 * rho)

    def losses(n_jobs: int) -> None:
        sb.BlackBox(slow, None, sb.Interval(0, 1), lambda i: i / 16, n_jobs=n_jobs).losses()

    faster = ratio(lambda: losses(1), lambda: losses(8), repeats=5)
    at_least("`losses()` of a run that waits 2 ms, one thread over eight", faster, 5)


# -- probes ---------------------------------------------------------------------------------------------


class Boxed:
    """A problem that is known by its runs; its loss function serves to compute the regret."""

    def __init__(self, problem: Any, run: Callable[[Any, float], Any]) -> None:
        self.space, self.losses = problem.space, problem.losses
        tolerance = 1e-3 * self.space.width
        self.box = sb.BlackBox(run, problem, self.space, lambda output: output[1], tolerance)
        self.loss, self.reveal = self.box.loss, self.box.reveal


def compare(name: str, make: Callable[[], list[Boxed]], seeds: int) -> tuple[str, ...]:
    """Return a row: runs per round, and the regret of bisection, of as many probes and of single runs."""
    results = []
    for seed in range(seeds):
        problems = make()
        space, T = problems[0].space, len(problems)
        searched = sb.play(sb.Exp3Set(space, horizon=T, seed=seed), problems)
        runs = sum(problem.box.n_runs for problem in problems) / T
        games = [searched]
        for probes in (round(runs) - 1, 0):
            games.append(sb.play(sb.Exp3Set(space, horizon=T, seed=seed), make(), "bandit", probes=probes))
        results.append([runs, *(float(game.regret()[-1]) for game in games)])
    return (name, str(T), str(seeds), *map(number, np.mean(results, axis=0)))


def probes(rounds: int, seeds: int) -> None:
    items, points = (
        sb.streams.knapsack("mixed", rounds, seed=0),
        sb.streams.clustering("elongated", rounds, per_class=10),
    )

    def knapsacks() -> list[Boxed]:
        return [Boxed(p, lambda p, rho: (p.solve(rho)[0].tobytes(), p.loss(rho))) for p in items]

    def clusterings() -> list[Boxed]:
        return [Boxed(p, lambda p, rho: (p.tree(rho)[:, :2].tobytes(), p.loss(rho))) for p in points]

    rows = [compare("knapsack", knapsacks, seeds), compare("linkage", clusterings, seeds)]
    head = (
        "regret",
        "rounds",
        "seeds",
        "runs a round",
        "bisection",
        "probes, as many runs",
        "one run a round",
    )
    table("probes", head, rows)


if __name__ == "__main__":
    parts = {"runs": runs_of_reveal, "threads": threads, "probes": probes}
    run_parts(parts, __doc__, rounds=200, seeds=3)
