"""What each kind of feedback is worth on the families' streams, and what `reveal` costs.

Run: python benchmarks/families.py [feedback | costs] [--rounds 1000] [--seeds 3]

The streams are those of `semibandit play`. With 3 probes a game runs the algorithm four times on each
instance. Regret is against the exact best fixed parameter; the last columns are a fixed value without
learning.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import at_most, number, ratio, run_parts, say, table

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
# Feedback, probes, learner.
GAMES: dict[str, tuple[str, int, Any]] = {
    "full information": ("full", 0, sb.Exp3Set),
    "semi-bandit": ("semi-bandit", 0, sb.Exp3Set),
    "single losses": ("bandit", 0, sb.Exp3Set),
    "Exp3Grid": ("bandit", 0, sb.Exp3Grid),
    "semi-bandit, 3 probes": ("semi-bandit", 3, sb.Exp3Set),
    "single losses, 3 probes": ("bandit", 3, sb.Exp3Set),
}


def regrets(case: Case, rounds: int, seed: int) -> list[float]:
    """Return the best parameter, its mean loss, and the regrets of all learners and of the default value."""
    problems = list(case.stream)
    best = sb.best_in_hindsight(problems)
    paid = []
    for feedback, probes, make in GAMES.values():
        learner = make(problems[0].space, horizon=rounds, seed=seed)
        paid.append(sum(row.loss for row in sb.rounds(learner, problems, feedback, probes=probes)))
    paid.append(sum(problem.loss(case.default) for problem in problems))
    return [float(best.rho), best.mean_loss, *(float(total) - rounds * best.mean_loss for total in paid)]


def feedback(rounds: int, seeds: int) -> None:
    rows = []
    for name, make in STREAMS.items():
        cases = [make(rounds=rounds, seed=seed) for seed in range(seeds)]
        rho, loss, *paid = np.mean([regrets(case, rounds, seed) for seed, case in enumerate(cases)], axis=0)
        rows.append((name, f"{rho:.3g}", f"{loss:.3f}", *map(number, paid), f"{cases[0].default:g}"))
        say("  ".join(rows[-1]))
    head = (f"{rounds:,} rounds", "best ρ", "its mean loss", *GAMES, "fixed ρ", "which is")
    table("families", head, rows)


def costs(**_: int) -> None:
    for name, adaptive, target in (("static", False, 3), ("adaptive", True, 30)):
        problems = list(sb.streams.independent_set(20, vertices=100, adaptive=adaptive, seed=1))
        cases = list(itertools.product(problems, (0.2, 0.7, 1.3)))
        at_most(
            f"independent set, {name}, n = 100: `reveal` over a plain run", reveal_over_loss(cases), target
        )
    problem = sb.streams.seeding(1, points=1_000, clusters=10, seed=1)[0]
    cases = [(problem, rho) for rho in np.random.default_rng(3).uniform(0, 20, 101).tolist()]
    at_most("seeding, n = 1,000, k = 10: `reveal` over a plain run", reveal_over_loss(cases), 10)


def reveal_over_loss(cases: list[tuple[Any, float]]) -> float:
    """Return the cost of `reveal` over that of `loss`, on the next case each time."""
    ours, theirs = itertools.cycle(cases), itertools.cycle(cases)

    def call(method: str, where: Any) -> None:
        problem, rho = next(where)
        getattr(problem, method)(rho)

    return ratio(lambda: call("reveal", ours), lambda: call("loss", theirs), repeats=101)


if __name__ == "__main__":
    run_parts({"feedback": feedback, "costs": costs}, __doc__, rounds=1000, seeds=3)
