"""What knapsack feedback costs, next to plain runs, and what it shows. Run: python benchmarks/knapsack.py"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from measure import at_least, at_most, finish, ratio, seconds

import semibandit as sb


def uniform(n: int, seed: int = 0) -> sb.Knapsack:
    """Values and sizes uniform in (0, 1), capacity for a quarter of the sizes."""
    values, sizes = np.random.default_rng(seed).random((2, n))
    return sb.Knapsack(values, sizes, sizes.sum() / 4)


def at_many(call: Callable[[float], object]) -> Callable[[], object]:
    """A call with the next of many parameters; short, so that other load seldom falls into it."""
    parameters = itertools.cycle(np.random.default_rng(1).uniform(0, 10, 101).tolist())
    return lambda: call(next(parameters))


def against_a_plain_run(problem: sb.Knapsack, n: int, target: float) -> None:
    cost = ratio(at_many(problem.reveal), at_many(problem.loss), repeats=1001)
    at_most(f"reveal (output), n = {n:,}, over a plain greedy run", cost, target)
    keys = itertools.cycle([rho * np.log(problem.sizes) - np.log(problem.values) for rho in (0.5, 1.0, 4.0)])
    cost = ratio(at_many(problem.loss), lambda: np.argsort(next(keys)), repeats=1001)
    print(f"    that plain run over numpy's argsort of the scores alone: {cost:.2f}x")


def runs() -> None:
    for n, target in ((1_000, 3), (10_000, 4)):
        against_a_plain_run(uniform(n), n, target)
    problem = uniform(1_000_000)
    keys = 1.3 * np.log(problem.sizes) - np.log(problem.values)
    cost = ratio(lambda: problem.reveal(1.3, partition="order"), lambda: np.argsort(keys), repeats=15)
    at_most("reveal (order), n = 1,000,000, over numpy's argsort of the scores", cost, 2)


def whole_functions() -> None:
    problem = uniform(1_000)
    critical = problem.losses("order").edges[1:-1]
    some = np.random.default_rng(2).choice(critical, 1_000).tolist()

    def one_run_each() -> None:
        for rho in some:
            problem.loss(rho)

    sped_up = ratio(one_run_each, problem.losses) * critical.size / len(some)
    at_least(
        f"losses(), n = 1,000, a run for each of {critical.size:,} critical values over it", sped_up, 300
    )
    small, large = uniform(500), uniform(2_000)
    growth = ratio(large.losses, small.losses, repeats=15, calls=(1, 16))
    model = (2_000**2 * math.log(2_000)) / (500**2 * math.log(500))
    at_most("losses(), n = 500 to 2,000: growth over that of n² log n", growth / model, 1)
    order = seconds(lambda: problem.losses("order")) / seconds(problem.losses)
    print(f"    losses('order') over losses(), n = 1,000: {order:.1f}x, {critical.size + 1:,} pieces")


def widths() -> None:
    print("mean width of what a run reveals (uniform items, ρ uniform on [0, 10]):")
    for n in (100, 1_000):
        rng = np.random.default_rng(3)
        seen = {"output": [], "order": []}
        for seed in range(40):
            problem = uniform(n, seed)
            for rho in rng.uniform(0, 10, 10):
                for partition, found in seen.items():
                    lo, hi = problem.reveal(rho, partition).domain[0]
                    found.append(hi - lo)
        output, order = np.mean(seen["output"]), np.mean(seen["order"])
        print(f"    n = {n:>5,}: output {output:.3g}, order {order:.3g}, {output / order:,.0f} times as wide")


def regrets(rounds: int = 1_000, seeds: int = 5) -> None:
    print(f"regret after {rounds:,} rounds of each partition, mean of {seeds} learners:")
    for kind in ("mixed", "uncorrelated"):
        stream = {name: sb.streams.knapsack(kind, rounds, partition=name) for name in ("output", "order")}
        best = sb.best_in_hindsight(stream["output"])
        paid = {
            name: np.mean(
                [
                    sb.play(sb.Exp3Set(sb.Interval(0, 10), horizon=rounds, seed=seed), problems).loss.sum()
                    for seed in range(seeds)
                ]
            )
            - rounds * best.mean_loss
            for name, problems in stream.items()
        }
        print(f"    {kind:<13} output {paid['output']:5.1f}, order {paid['order']:5.1f}")


if __name__ == "__main__":
    runs()
    whole_functions()
    widths()
    regrets()
    finish()
