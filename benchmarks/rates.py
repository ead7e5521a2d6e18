"""The learning rate and the baseline: regret of several configurations on the same knapsack streams.

Run: python benchmarks/rates.py [--rounds 5000] [--seeds 5]

Prints mean regret over seeds, and the worst seed in brackets: a default must not lock in on an unlucky one.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from measure import table

import semibandit as sb

ITEMS = 50
# On the needle every loss is 1 but for a sliver of the line: who shifts losses by too much stays put.
STREAMS = ["mixed", "drifting", "uncorrelated", "weakly-correlated", "spanner", "profit-ceiling", "needle"]


def learner(name: str, space: sb.Interval, T: int, seed: int) -> tuple[sb.Exp3Set | sb.Exp3Grid, str, str]:
    """A learner, the kind of feedback and the partition that it plays with."""
    theorem = sb.TheoremRate(T=T, M=ITEMS**2 / 2, R=space.width / 2)
    options = {
        "output sets, rate of Theorem 3": ({"rate": theorem, "baseline": None}, "semi-bandit", "output"),
        "order sets, adaptive rate": ({"baseline": None}, "semi-bandit", "order"),
        "output sets, adaptive rate (provable)": ({"baseline": None}, "semi-bandit", "output"),
        "output sets, adaptive rate, low baseline": ({"baseline": "low"}, "semi-bandit", "output"),
        "output sets, local baseline (default)": ({}, "semi-bandit", "output"),
        "the same, horizon unknown": ({"horizon": None}, "semi-bandit", "output"),
        "the same with implicit exploration 0.01": ({"exploration": 0.01}, "semi-bandit", "output"),
        "full information": ({}, "full", "output"),
        "bandit, Exp3 on T^(1/3) points": ({}, "bandit", "output"),
    }
    arguments, feedback, partition = options[name]
    kind = sb.Exp3Grid if feedback == "bandit" else sb.Exp3Set
    return kind(space, **{"horizon": T, "seed": seed} | arguments), feedback, partition


CONFIGURATIONS = [
    "output sets, rate of Theorem 3",
    "order sets, adaptive rate",
    "output sets, adaptive rate (provable)",
    "output sets, adaptive rate, low baseline",
    "output sets, local baseline (default)",
    "the same, horizon unknown",
    "the same with implicit exploration 0.01",
    "full information",
    "bandit, Exp3 on T^(1/3) points",
]


def one_stream(kind: str, T: int, n_seeds: int) -> dict[str, list[float]]:
    if kind == "needle":
        by_partition = {key: list(sb.streams.concentrated(T, seed=1)) for key in ("output", "order")}
    else:
        by_partition = {
            partition: list(sb.streams.knapsack(kind, rounds=T, n=ITEMS, seed=1, partition=partition))
            for partition in ("output", "order")
        }
    space = by_partition["output"][0].space
    best = sb.best_in_hindsight(by_partition["output"]).mean_loss * T
    regrets: dict[str, list[float]] = {}
    rng = np.random.default_rng(0)
    by_chance = sum(
        problem.loss(rho)
        for problem, rho in zip(by_partition["output"], rng.uniform(space.lo, space.hi, T), strict=True)
    )
    regrets["uniform play"] = [by_chance - best]
    for name in CONFIGURATIONS:
        regrets[name] = []
        for seed in range(n_seeds):
            player, feedback, partition = learner(name, space, T, seed)
            game = sb.rounds(player, by_partition[partition], feedback)
            regrets[name].append(sum(row.loss for row in game) - best)
    return regrets


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5_000)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        job = partial(one_stream, T=options.rounds, n_seeds=options.seeds)
        results = list(pool.map(job, STREAMS))
    rows = []
    for name in ["uniform play", *CONFIGURATIONS]:
        cells = [f"{np.mean(result[name]):.1f} ({max(result[name]):.1f})" for result in results]
        rows.append((name, *cells))
    table("rates", (f"regret after {options.rounds:,} rounds: mean (worst)", *STREAMS), rows)


if __name__ == "__main__":
    main()
