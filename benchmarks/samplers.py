"""Regret of samplers of Optuna on noisy streams: each trial sees another instance.

Run: python benchmarks/samplers.py [--seeds 5] [--rounds 500]

All samplers are told the loss; `Exp3Sampler` also the interval on which a run reveals it, or not. Deployed is
the value that the study recommends at the end: `recommend`, or the parameters of the best trial.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
from measure import at_most, finish, number, options, table

import semibandit as sb
from semibandit.optuna import Exp3Sampler

STREAMS: dict[str, Callable[[int, int], Any]] = {
    "knapsack": lambda rounds, seed: sb.streams.knapsack("mixed", rounds=rounds, n=30, seed=seed),
    "step functions": lambda rounds, seed: sb.streams.synthetic(rounds, seed=seed),
}
SAMPLERS: dict[str, Callable[[int], Any]] = {
    "Exp3Sampler with intervals": lambda seed: Exp3Sampler(seed=seed),
    "Exp3Sampler": lambda seed: Exp3Sampler(seed=seed),
    "TPESampler": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "RandomSampler": lambda seed: optuna.samplers.RandomSampler(seed=seed),
}


def regret(problems: list[Any], sampler: str, seed: int) -> tuple[float, float]:
    """Return the regret, and by how much the deployed value is worse than the best one, in rounds."""
    space = problems[0].space
    study = optuna.create_study(sampler=SAMPLERS[sampler](seed))
    paid = 0.0
    for problem in problems:
        trial = study.ask()
        rho = trial.suggest_float("rho", space.lo, space.hi)
        seen = problem.reveal(rho)
        if sampler.endswith("intervals"):
            trial.set_user_attr("interval", next([lo, hi] for lo, hi in seen.domain if lo <= rho <= hi))
        study.tell(trial, seen(rho))
        paid += seen(rho)
    ours = isinstance(study.sampler, Exp3Sampler)
    best = study.sampler.recommend(study) if ours else study.best_params
    least = sb.best_in_hindsight(problems).mean_loss
    deployed = np.mean([problem.loss(best["rho"]) for problem in problems])
    return paid - len(problems) * least, float(deployed - least) * len(problems)


def main() -> None:
    given = options(__doc__, seeds=5, rounds=500)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rows, means = [], {}
    for stream, make in STREAMS.items():
        streams = [list(make(given.rounds, seed)) for seed in range(given.seeds)]
        for sampler in SAMPLERS:
            games = np.array([regret(problems, sampler, seed) for seed, problems in enumerate(streams)])
            means[stream, sampler] = games.mean(axis=0)
            rows.append((stream, sampler, *map(number, means[stream, sampler]), number(games[:, 0].max())))
    head = ("stream", "sampler", "mean regret", "of the deployed value", "worst seed")
    table("samplers", head, rows)
    for stream in STREAMS:
        for theirs in ("TPESampler", "RandomSampler"):
            quotient = means[stream, "Exp3Sampler with intervals"][0] / means[stream, theirs][0]
            at_most(f"regret with intervals over that of {theirs}, {stream}", quotient, 1)
    finish()


if __name__ == "__main__":
    main()
