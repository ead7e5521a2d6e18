"""How often the verdict of a race decides: for a better value, and wrongly where nothing is better.

Run: python benchmarks/verdicts.py [--runs 400] [--seeds 65] [--nulls 400] [--cases minisat]

minisat: two thirds of the recorded instances are for tuning, the others show whether the value is truly
better. The nulls have no better configuration: on an instance, all have the same distribution of losses, or
the same mean, which is always the loss of a steady default. The table has the share of races that say
"deploy", and, for programs, the shares in which the best configuration found is truly better and in which a
configuration that is truly worse is deployed. The second table has the share of wrong "deploy" for a check
with n pairs whose differences have the mean 0 and a given distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from measure import at_least, at_most, finish, options, say, table
from programs import Table

import semibandit as sb
from semibandit.confidence import t_bounds
from semibandit.tuning import Race, Verdict
from semibandit.tuning.verdict import of_race

ONE = sb.Knobs(x=sb.Real(0, 1))
THREE = sb.Knobs(x=sb.Real(0, 1), n=sb.Integer(1, 20), mode=sb.Choice("a", "b", "c"))
DEFAULT: dict[str, Any] = {"x": 0.5, "n": 3, "mode": "a"}
INSTANCES = 200  # of the nulls
Loss = Callable[[dict[str, Any], int], float]


def verdict(knobs: sb.Knobs, default: dict[str, Any], loss: Loss, n: int, runs: int, seed: int) -> Verdict:
    """Return the verdict of a race on n instances."""
    race = Race(knobs, default=default, seed=seed)
    race.extend([str(i) for i in range(n)], runs)
    losses = []
    while race.upcoming:
        trial = race.ask()
        losses.append(loss(trial.values, int(trial.instance)))
        race.tell(trial, losses[-1])
    found = of_race(race, max(losses) - min(losses) or 1.0)
    assert found is not None
    return found


def play_program(name: str, runs: int, seed: int) -> tuple[bool, bool]:
    """Return whether the race says "deploy", and whether the configuration is better on other instances."""
    played = Table.of(name)
    order = np.random.default_rng([3000, seed]).permutation(len(played.losses))
    tuning, others = order[: 2 * len(order) // 3], order[2 * len(order) // 3 :]
    program = played.program

    def loss(values: dict[str, Any], i: int) -> float:
        return float(played.losses[tuning[i], played.column(values)])

    found = verdict(program.knobs, program.default, loss, len(tuning), runs, seed)
    means = played.losses[others].mean(axis=0)
    return found.better, bool(means[played.column(found.values)] < means[played.column(program.default)])


def normal(rng: np.random.Generator, instance: int) -> float:
    return float(rng.standard_normal())


def skewed(rng: np.random.Generator, instance: int) -> float:
    """Return a positive number with mean 1 and standard deviation 1.3."""
    return float(rng.lognormal(-0.5, 1))


def setback(rng: np.random.Generator, instance: int) -> float:
    """Return a number with mean 0: mostly a small gain, in one of twenty cases a large loss."""
    return float((rng.random() < 0.05) - 0.05 + 0.1 * rng.standard_normal())


def shuffled(rng: np.random.Generator, instance: int) -> float:
    """Return the loss of a random configuration of minisat."""
    losses = minisat().losses
    return float(rng.choice(losses[instance % len(losses)]))


@cache
def minisat() -> Table:
    return Table.of("minisat")


# The loss of a configuration on an instance; the loss of a steady default.
DRAWS: dict[str, tuple[Callable[..., float], float | None]] = {
    "normal": (normal, None), "heavy tails": (skewed, None), "minisat's losses": (shuffled, None),
    "heavy tails, steady default": (skewed, 1.0), "rare setbacks, steady default": (setback, 0.0),
}  # fmt: skip
NULLS = {
    f"{what}, {count}": (knobs, *draw)
    for what, draw in DRAWS.items()
    for count, knobs in (("one knob", ONE), ("three knobs", THREE))
}
PROGRAMS = ["minisat", "minisat.first", "minisat.decay"]


def play_null(name: str, runs: int, seed: int) -> bool:
    """Return whether the race says "deploy" on losses that do not depend on the configuration."""
    knobs, draw, steady = NULLS[name]
    default = {key: DEFAULT[key] for key in knobs.names}

    def loss(values: dict[str, Any], i: int) -> float:
        numbers = [round(1e6 * values["x"]), values.get("n", 0), ord(values.get("mode", "a"))]
        level = 5.0 * np.random.default_rng([seed, i]).random()
        if steady is not None and values == default:
            return level + steady
        return level + draw(np.random.default_rng([seed, i, *numbers]), i)

    return verdict(knobs, default, loss, INSTANCES, runs, seed).better


DIFFERENCES: dict[str, tuple[Callable[..., np.ndarray], float]] = {  # draw, mean
    "normal": (lambda rng, size: rng.standard_normal(size), 0.0),
    "Student's t, 2.5 degrees of freedom": (lambda rng, size: rng.standard_t(2.5, size), 0.0),
    "gamma, skewness 3.7": (lambda rng, size: rng.gamma(0.3, size=size), 0.3),
    "Weibull, skewness 6.6": (lambda rng, size: rng.weibull(0.5, size), 2.0),
    "log-normal, skewness 33": (lambda rng, size: rng.lognormal(-1.125, 1.5, size), 1.0),
    "F(2, 6), infinite skewness": (lambda rng, size: rng.f(2, 6, size), 1.5),
    "a loss in one of twenty cases": (lambda rng, size: (rng.random(size) < 0.05) * 1.0, 0.05),
}
SIZES = [10, 20, 40, 80, 160]


def share_below(name: str, n: int) -> float:
    """Return how often the whole interval of n differences is below their mean."""
    draw, mean = DIFFERENCES[name]
    samples = draw(np.random.default_rng(n), (4000, n))
    return float(np.mean([t_bounds(sample, skewed=True).high < mean for sample in samples]))


def main() -> None:
    given = options(__doc__, runs=400, seeds=65, nulls=400, cases=[*PROGRAMS, *NULLS])
    rows = []
    for name in given.cases:
        if name in NULLS:
            wrong = np.mean([play_null(name, given.runs, seed) for seed in range(given.nulls)])
            rows.append([f"nothing is better: {name}", f"{wrong:.1%}", "", ""])
            at_most(f"{name}: share of races that deploy", float(wrong), 0.05)
        else:
            found = np.array([play_program(name, given.runs, seed) for seed in range(given.seeds)])
            deployed, better = found.T
            rows.append([name, *(f"{x.mean():.0%}" for x in (deployed, better, deployed & ~better))])
            if name != "minisat.decay":  # a difference of 0.14 standard deviations: 80 pairs are too few
                at_least(f"{name}: share of races that decide", float((deployed & better).mean()), 0.5)
        say("  ".join(rows[-1]))
    table("verdicts", ("", "deploy", "truly better", "deploy, but worse"), rows)
    lines = [[name, *(f"{share_below(name, n):.1%}" for n in SIZES)] for name in DIFFERENCES]
    table("sizes", ("", *(f"{n} pairs" for n in SIZES)), lines)
    finish()


if __name__ == "__main__":
    main()
