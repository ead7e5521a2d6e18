"""What probes, logs, recommendations and certificates are worth.

Run: python benchmarks/features.py [PART ...]

pairs: two looks at an instance cancel what they have in common. Three streams have the same mean loss:
instances differ more than parameters do; they do not; pieces are noisy, and there is nothing in common.
recommend: mean loss above the best fixed value, of the value that `recommend()` gives and of simple
rules, after 30, 100, 300 and 1,000 rounds of the suite's streams, of instances with 400 pieces and of a
loss with two valleys.
warm-start: regret after 200 logged rounds, from scratch, after `learn_from` the logs, with the density
of an older learner as prior, and after logs of another stream.
certificate: the bound that a learner computes while it plays, beside its regret. It bounds the expected
regret.
"""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
from measure import at_most, number, run_parts, say, show, table
from playing import (
    RECIPES,
    SPACE,
    Stream,
    cut_at_random,
    default,
    grid,
    load,
    low,
    no_baseline,
    play,
    total_of_best,
)

import semibandit as sb

# -- pairs ----------------------------------------------------------------------------------------------

PROBES = (0, 1, 4)
PAIRS = {  # spread of instances, noise of pieces, and the most that a probe may leave of the regret
    "easy and hard instances": (0.25, 0.05, 0.75),
    "all alike": (0.0, 0.05, 1.0),
    "noisy pieces": (0.0, 0.15, 1.3),
}


def pairs(seeds: int, rounds: int = 500) -> None:
    rows = []
    for name, (spread, noise, target) in PAIRS.items():
        regrets = dict.fromkeys(PROBES, 0.0)
        for seed in range(seeds):
            rng = np.random.default_rng([seed, 8])
            problems = [
                cut_at_random(lambda x: 0.3 + 0.3 * abs(x - 0.3), 12, spread * rng.uniform(-1, 1), noise, rng)
                for _ in range(rounds)
            ]
            for m in PROBES:
                paid = sum(play(default(rounds, seed), problems, probes=m))
                regrets[m] += (paid - total_of_best(problems)) / seeds
        rows.append((name, *map(number, regrets.values())))
        at_most(f"{name}: regret with 1 probe, over that with none", regrets[1] / regrets[0], target)
    table("pairs", ("regret with", "no probe", "1 probe", "4 probes"), rows)


# -- recommend ------------------------------------------------------------------------------------------

LEARNERS: dict[str, tuple[Any, str]] = {
    "default": (default, "semi-bandit"),
    "single losses": (default, "bandit"),
    'baseline="low"': (low, "semi-bandit"),
    "baseline=None": (no_baseline, "semi-bandit"),
    "Exp3Grid": (grid, "bandit"),
}
LEAST = 1e-3  # an excess of a thousandth of the range counts as none


def recommend(seeds: int, rounds: int = 1000) -> None:
    rng = np.random.default_rng(5)
    valley, hill = (
        lambda x: 0.3 + 0.6 * abs(x - 0.3),
        lambda x: np.where(abs(abs(x - 0.5) - 0.3) < 0.1, 0.3, 0.7),
    )
    made = {"slivers": (valley, 400, 0.25), "two valleys": (hill, 20, 0.4)}
    streams = [load(name, recipe) for name, recipe in RECIPES.items() if name != "drifting"]
    for name, (mean, pieces, noise) in made.items():
        problems = [
            cut_at_random(mean, pieces, 0.5 * noise * rng.normal(), noise, rng) for _ in range(rounds)
        ]
        streams.append(Stream(name, problems, keeps_order=False))
    rows = []
    for name, (make, feedback) in LEARNERS.items():
        excess = [excesses(stream, make, feedback, seeds, rounds) for stream in streams]  # rules × seeds
        ours, middle, top = np.exp(
            np.mean([np.log(np.maximum(x.mean(axis=1), LEAST)) for x in excess], axis=0)
        )
        at_most(f"{name}: excess, recommend() over the median", ours / middle, 1.05)
        at_most(f"{name}: excess, recommend() over the tallest piece", ours / top, 1.0)
        for stream, x in zip(streams, excess, strict=True):
            worse = x[0] - x[1]
            if worse.mean() > LEAST:
                errors = worse.mean() / max(worse.std(ddof=1) / np.sqrt(seeds), 1e-12)
                at_most(f"{name}, {stream.name}: worse than the median, in standard errors", errors, 3.0)
        rows.append((name, *(f"{1e3 * x:.1f}" for x in (ours, middle, top))))
    table("recommend", ("", "`recommend()`", "median of the density", "tallest piece"), rows)


def excesses(stream: Stream, make: Any, feedback: str, seeds: int, rounds: int) -> np.ndarray:
    """Return mean losses above the best of `recommend()`, median and tallest piece: rules × seeds."""
    total = sb.PiecewiseConstant.sum([problem.function for problem in stream.problems])
    result = np.zeros((3, seeds))
    for seed in range(seeds):
        game = stream.game(seed)[:rounds]
        learner = make(len(game), seed)
        at = {30, 100, 300, len(game)}
        for t, _ in enumerate(play(learner, game, feedback), 1):
            if t in at:
                named = learner.recommend().rho, *median_and_mode(learner.density())
                result[:, seed] += [(total(rho) - total.min()) / len(stream) / len(at) for rho in named]
    say(f"{stream.name:<17}" + "".join(f"{1e3 * x:16.2f}" for x in result.mean(axis=1)))
    return result


def median_and_mode(density: sb.PiecewiseConstant) -> tuple[float, float]:
    mass = np.cumsum(density.values * np.diff(density.edges))
    i, top = int(np.searchsorted(mass, 0.5 * mass[-1])), int(np.argmax(density.values))
    lo, before = density.edges[i], mass[i - 1] if i else 0.0
    median = lo + (0.5 * mass[-1] - before) / density.values[i]
    return float(min(median, 1.0)), float(0.5 * (density.edges[top] + density.edges[top + 1]))


# -- warm start -----------------------------------------------------------------------------------------

WARM = ("mixed", "weakly", "synthetic", "iris", "independent-set")
# Starts, and the targets of their regret over that from nothing.
STARTS = {
    "from nothing": 1.0,
    "logs, weight 0.1": 0.9,
    "logs, weight 1": 0.6,
    "prior of an older learner": 0.9,
    "other logs, weight 0.1": 1.5,
}


def started(seed: int, logged: list[sb.Explicit], other: list[sb.Explicit]) -> list[sb.Exp3Set]:
    """Return a learner for each start."""
    older = sb.Exp3Set(SPACE, seed=1000 + seed)
    sum(play(older, logged))
    learners = [sb.Exp3Set(SPACE, seed=seed) for _ in range(4)]
    for learner, log, weight in zip(learners[1:], (logged, logged, other), (0.1, 1.0, 0.1), strict=True):
        learner.learn_from([problem.function for problem in log], weight=weight)
    learners.insert(3, sb.Exp3Set(SPACE, prior=older.density(), seed=seed))
    return learners


def warm_start(seeds: int, logged: int = 200) -> None:
    streams = {name: load(name, RECIPES[name]) for name in WARM}
    regrets = np.zeros((len(STARTS), len(WARM)))
    for column, (name, stream) in enumerate(streams.items()):
        other = streams["weakly" if name == "mixed" else "mixed"]
        for seed in range(seeds):
            game = stream.game(seed)
            rest = game[logged:]
            learners = started(seed, game[:logged], other.game(seed)[:logged])
            regrets[:, column] += [(sum(play(x, rest)) - total_of_best(rest)) / seeds for x in learners]
    table("warm-start", ("regret after the logs", *WARM),
          ((name, *map(number, row)) for name, row in zip(STARTS, regrets, strict=True)))  # fmt: skip
    for (name, target), row in list(zip(STARTS.items(), regrets, strict=True))[1:]:
        at_most(f"regret over that from nothing, {name}", statistics.geometric_mean(row / regrets[0]), target)


# -- certificates ---------------------------------------------------------------------------------------


def certificate(seeds: int) -> None:
    rows = []
    for name, recipe in RECIPES.items():
        stream = load(name, recipe)
        theorem = stream.dispersion.regret().value
        for learner, make in (("default", default), ("baseline=None", no_baseline)):
            means = np.mean([certified(make, stream, seed) for seed in range(seeds)], axis=0).tolist()
            rows.append((name, learner, *map(number, [*means, theorem])))
            what = f"certificate over regret, {name}, {learner}"
            show(what, means[1] / means[0], "≥ 1", means[1] >= means[0])  # regret may be below 0
    head = ["stream", "learner", "regret", "certificate", "learning", "clips and joins", "f", "Theorem 3"]
    table("certificate", head, rows)


def certified(make: Any, stream: Stream, seed: int) -> list[float]:
    """Return the regret of a game, its certificate, and the terms of that."""
    learner = make(len(stream), seed)
    regret = sum(play(learner, stream.game(seed))) - stream.best
    bound = learner.certificate(stream.dispersion)
    return [regret, bound.value, bound.learning, bound.clips, bound.dispersion]


if __name__ == "__main__":
    parts = {"pairs": pairs, "recommend": recommend, "warm-start": warm_start, "certificate": certificate}
    run_parts(parts, __doc__, seeds=5)
