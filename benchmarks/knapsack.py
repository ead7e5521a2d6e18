"""Cost and width of knapsack feedback. Run: python benchmarks/knapsack.py [PART ...]"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import at_least, at_most, figure, note, number, ratio, run_parts, say, seconds, table

import semibandit as sb

PARTITIONS = ("output", "order")


def uniform(n: int, seed: int = 0) -> sb.Knapsack:
    """Return a knapsack with uniform values and sizes, and capacity for a quarter of them."""
    values, sizes = np.random.default_rng(seed).random((2, n))
    return sb.Knapsack(values, sizes, sizes.sum() / 4)


def at_many(call: Callable[[float], object]) -> Callable[[], object]:
    """Return a call with the next of 101 parameters; single calls seldom meet other load."""
    parameters = itertools.cycle(np.random.default_rng(1).uniform(0, 10, 101).tolist())
    return lambda: call(next(parameters))


def against_a_plain_run(problem: sb.Knapsack, n: int, target: float) -> None:
    cost = ratio(at_many(problem.reveal), at_many(problem.loss), repeats=1001)
    at_most(f"`reveal`, output, n = {n:,}, over a plain greedy run", cost, target)
    keys = itertools.cycle([rho * np.log(problem.sizes) - np.log(problem.values) for rho in (0.5, 1.0, 4.0)])
    cost = ratio(at_many(problem.loss), lambda: np.argsort(next(keys)), repeats=1001)
    note(f"a plain greedy run, n = {n:,}, over numpy's argsort of the scores", cost)


def runs() -> None:
    for n, target in ((1_000, 3), (10_000, 4)):
        against_a_plain_run(uniform(n), n, target)
    problem = uniform(1_000_000)
    keys = 1.3 * np.log(problem.sizes) - np.log(problem.values)
    cost = ratio(lambda: problem.reveal(1.3, partition="order"), lambda: np.argsort(keys), repeats=15)
    at_most("`reveal`, order, n = 1,000,000, over numpy's argsort of the scores", cost, 2)


def whole_functions() -> None:
    problem = uniform(1_000)
    critical = problem.losses("order").edges[1:-1]
    some = np.random.default_rng(2).choice(critical, 1_000).tolist()

    sped_up = ratio(lambda: [problem.loss(rho) for rho in some], problem.losses) * critical.size / len(some)
    at_least(
        f"a run for each of the {critical.size:,} critical values, n = 1,000, over `losses()`", sped_up, 300
    )
    small, large = uniform(500), uniform(2_000)
    growth = ratio(large.losses, small.losses, repeats=15, calls=(1, 16))
    model = (2_000**2 * math.log(2_000)) / (500**2 * math.log(500))
    at_most("growth of `losses()` from n = 500 to 2,000, over that of n² log n", growth / model, 1)
    order = seconds(lambda: problem.losses("order")) / seconds(problem.losses)
    note(f'`losses("order")`, {critical.size + 1:,} pieces, over `losses()`, n = 1,000', order)


def widths(n: int) -> list[float]:
    """Return the mean width of the revealed interval for each partition; ρ is uniform on [0, 10]."""
    rng = np.random.default_rng(3)
    seen: dict[str, list[float]] = {name: [] for name in PARTITIONS}
    for seed in range(40):
        problem = uniform(n, seed)
        for rho in rng.uniform(0, 10, 10):
            for partition, found in seen.items():
                lo, hi = problem.reveal(rho, partition).domain[0]
                found.append(hi - lo)
    return [float(np.mean(found)) for found in seen.values()]


def regrets(kind: str, baseline: str, rounds: int = 1_000, seeds: int = 5) -> list[float]:
    """Return the mean regret with the intervals of each partition."""
    stream = {name: sb.streams.knapsack(kind, rounds, partition=name) for name in PARTITIONS}
    least = rounds * sb.best_in_hindsight(stream["output"]).mean_loss

    def paid(problems: Any, seed: int) -> float:
        learner = sb.Exp3Set(sb.Interval(0, 10), horizon=rounds, baseline=baseline, seed=seed)
        return float(sum(row.loss for row in sb.rounds(learner, problems)))

    return [np.mean([paid(stream[name], seed) for seed in range(seeds)]) - least for name in PARTITIONS]


def sets() -> None:
    """Compare intervals with one output and with one order of the items."""
    rows = [(f"mean width, n = {n:,}", *map(figure, widths(n))) for n in (100, 1_000)]
    for kind in ("mixed", "uncorrelated"):
        for baseline in ("local", "low"):
            found = regrets(kind, baseline)
            say(f"{kind}, {baseline}: {found}")
            rows.append(
                (f'regret after 1,000 rounds, `{kind}`, `baseline="{baseline}"`', *map(number, found))
            )
    table("sets", ("", *PARTITIONS), rows)


if __name__ == "__main__":
    run_parts({"runs": runs, "functions": whole_functions, "sets": sets}, __doc__)
