"""Streams of two places, one of them quiet, that fool learners with a baseline.

Run: python benchmarks/fooled.py [PART ...]

places: mean and worst regret of the default over seeds, and the mean of the best other learner. One place
(A) is quiet, the other (B) is noisier and better. On `phases`, A costs 0.5, and B costs 1 in the first
eleventh of the rounds and 0 afterwards. Variants: places exchanged, 11 pieces, an integer knob.
growth: regret at 500, 2,000 and 8,000 rounds, and the exponent of its growth.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from measure import at_most, number, run_parts, say, table

import semibandit as sb

UNIT = sb.Interval(0, 1)
KNOB = sb.Knobs(x=sb.Integer(0, 1))
OTHERS = {
    'baseline="low"': lambda seed: sb.Exp3Set(UNIT, baseline="low", seed=seed),
    "baseline=None": lambda seed: sb.Exp3Set(UNIT, baseline=None, seed=seed),
    "Exp3Grid(20)": lambda seed: sb.Exp3Grid(UNIT, 20, seed=seed),
}
KINDS = (
    "A 0.5, B Bernoulli 0.4",
    "A 0.3, B Bernoulli 0.2",
    "both Bernoulli",
    "both uniform",
    "A 0.5, B uniform",
)
PHASES = "phases"


def losses(kind: str, rounds: int, seed: int) -> tuple[Any, Any]:
    """Return the losses of both places."""
    u = np.random.default_rng([seed, 5]).random((2, rounds))
    half = np.full(rounds, 0.5)
    return {
        KINDS[0]: (half, (u[1] < 0.4) * 1.0),
        KINDS[1]: (np.full(rounds, 0.3), (u[1] < 0.2) * 1.0),
        KINDS[2]: ((u[0] < 0.5) * 1.0, (u[1] < 0.4) * 1.0),
        KINDS[3]: (0.4 + 0.2 * u[0], 0.8 * u[1]),
        KINDS[4]: (half, 0.9 * u[1]),
        PHASES: (half, np.where(np.arange(rounds) < rounds // 11, 1.0, 0.0)),
    }[kind]


def regret(learner: Any, places: tuple[Any, Any], pieces: int = 2) -> float:
    """Play a game: the left half of the pieces is the first place."""
    paid, border = 0.0, pieces // 2 / pieces if pieces > 2 else 0.5
    for pair in zip(*places, strict=True):
        trial = learner.ask()
        loss = float(pair[trial.rho >= border])
        paid += loss
        if learner.space is KNOB:
            learner.tell(trial, loss)
            continue
        i = min(int(trial.rho * pieces), pieces - 1)
        learner.tell(trial, sb.PiecewiseConstant([i / pieces, (i + 1) / pieces], [loss]))
    return paid - min(float(place.sum()) for place in places)


def places(seeds: int, rounds: int = 2000) -> None:
    rows = []
    for kind in (*KINDS, PHASES):
        n = 550 if kind == PHASES else rounds
        games = [losses(kind, n, seed) for seed in range(seeds)]
        best = min(np.mean([regret(make(s), g) for s, g in enumerate(games)]) for make in OTHERS.values())
        variants = {
            "": [regret(sb.Exp3Set(UNIT, seed=s), g) for s, g in enumerate(games)],
            ", exchanged": [regret(sb.Exp3Set(UNIT, seed=s), g[::-1]) for s, g in enumerate(games)],
            ", 11 pieces": [regret(sb.Exp3Set(UNIT, seed=s), g, 11) for s, g in enumerate(games)],
            ", knob": [regret(sb.Exp3Set(KNOB, seed=s), g) for s, g in enumerate(games)],
        }
        for variant, regrets in variants.items():
            mean, worst = float(np.mean(regrets)), max(regrets)
            at_most(f"{kind}{variant}: mean", mean, round(1.5 * max(best, 0.0), 1))
            at_most(f"{kind}{variant}: worst", worst, round(3.0 * mean + 20.0, 1))
            rows.append([kind + variant, number(mean), number(worst), number(best)])
    table("fooled", ["stream", "mean", "worst", "best other, mean"], rows)


def growth(seeds: int) -> None:
    rows = []
    for kind in KINDS:
        means = []
        for rounds in (500, 2000, 8000):
            say(f"{kind}, {rounds} rounds")
            games = [losses(kind, rounds, seed) for seed in range(seeds)]
            means.append(float(np.mean([regret(sb.Exp3Set(UNIT, seed=s), g) for s, g in enumerate(games)])))
        exponent = math.log(means[2] / means[0]) / math.log(16.0)
        at_most(f"{kind}: exponent of growth", exponent, 0.65)
        rows.append([kind, *map(number, means), f"{exponent:.2f}"])
    table("fooled-growth", ["stream", "500 rounds", "2,000", "8,000", "exponent"], rows)


if __name__ == "__main__":
    run_parts({"places": places, "growth": growth}, __doc__, "fooled-targets", seeds=20)
