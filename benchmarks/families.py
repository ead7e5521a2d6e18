"""What each kind of feedback is worth on the families' own streams: regret, beside a grid and a fixed value.

Run: python benchmarks/families.py [--rounds 1000] [--seeds 3] [--streams 'posted-price;seeding']

Learners play the streams of `semibandit play`, one game for each seed, which is that of stream and learner.
With probes a game runs the algorithm four times on each instance. Regret is against the exact best fixed
parameter; the last column is what one would have without learning.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import number, say, table

import semibandit as sb
from semibandit.cli.problems import FAMILIES, Case

FAMILY = {family.name: family.make for family in FAMILIES}
STREAMS: dict[str, Callable[..., Case]] = {
    "knapsack, mixed": FAMILY["knapsack"],
    "knapsack, uncorrelated": lambda **options: FAMILY["knapsack"](kind="uncorrelated", **options),
    "linkage": FAMILY["linkage"],
    "posted-price": FAMILY["posted-price"],
    "second-price": FAMILY["second-price"],
    "independent-set": FAMILY["independent-set"],
    "independent-set, adaptive": lambda **options: FAMILY["independent-set"](adaptive=True, **options),
    "seeding": FAMILY["seeding"],
}
# The kind of feedback, further looks, and the learner.
GAMES: dict[str, tuple[str, int, Any]] = {
    "full information": ("full", 0, sb.Exp3Set),
    "semi-bandit": ("semi-bandit", 0, sb.Exp3Set),
    "single losses": ("bandit", 0, sb.Exp3Set),
    "Exp3Grid": ("bandit", 0, sb.Exp3Grid),
    "semi-bandit, 3 probes": ("semi-bandit", 3, sb.Exp3Set),
    "single losses, 3 probes": ("bandit", 3, sb.Exp3Set),
}


def regrets(case: Case, rounds: int, seed: int) -> list[float]:
    """What each learner paid above the best fixed parameter, and what the default value did."""
    problems = list(case.stream)
    best = sb.best_in_hindsight(problems)
    least = rounds * best.mean_loss
    paid = []
    for feedback, probes, make in GAMES.values():
        learner = make(problems[0].space, horizon=rounds, seed=seed)
        paid.append(sum(row.loss for row in sb.rounds(learner, problems, feedback, probes=probes)))
    paid.append(sum(problem.loss(case.default) for problem in problems))
    return [float(best.rho), best.mean_loss, *(float(total) - least for total in paid)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--streams", help="names, separated by semicolons")
    options = parser.parse_args()
    names = list(STREAMS) if options.streams is None else options.streams.split(";")
    if unknown := [name for name in names if name not in STREAMS]:
        sys.exit(f"unknown stream {', '.join(unknown)}: choose from {'; '.join(STREAMS)}")
    rows = []
    for name in names:
        cases = [STREAMS[name](rounds=options.rounds, seed=seed) for seed in range(options.seeds)]
        rho, loss, *paid = np.mean(
            [regrets(case, options.rounds, seed) for seed, case in enumerate(cases)], axis=0
        )
        rows.append((name, f"{rho:.3g}", f"{loss:.3f}", *map(number, paid), f"{cases[0].default:g}"))
        say("  ".join(rows[-1]))
    head = (f"{options.rounds:,} rounds", "best ρ", "its mean loss", *GAMES, "fixed ρ", "which is")
    table("families", head, rows)


if __name__ == "__main__":
    main()
