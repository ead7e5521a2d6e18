"""The race of `semibandit tune` beside a grid, TPE and online tuning, on equal runs of four programs.

Run: python benchmarks/racing.py [--runs 400] [--seeds 100] [--methods race online] [--programs ppmd]

Half of the instances are for tuning, half are held out. The table shows how often the value that a
method chooses is better than the program's default on the held-out instances, and its loss there over
that of the default. The tables of losses are made once, which takes an hour. Needs `apt install minisat
flac`, and highspy, pyppmd, optuna.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from measure import at_most, finish, options, say, table
from programs import PROGRAMS, Table

import semibandit as sb
from semibandit.tuning import Race

GRID = "ten values, paired"
PEERS = ("Optuna TPE, 10 instances a value", "Optuna TPE, 20 instances a value")


@dataclass
class Bench:
    """A program, its instances for tuning in a random order, and the runs made."""

    table: Table
    tuning: np.ndarray
    runs: int
    seed: int
    made: set[tuple[int, int]] = field(default_factory=set)

    @property
    def space(self) -> sb.Interval:
        program = self.table.program
        margin = 0.499 if program.integer else 0.0
        return sb.Interval(program.lo - margin, program.hi + margin)

    def run(self, instance: int, rho: float) -> float:
        """Return the loss of a run; repeated runs count once."""
        run = int(self.tuning[instance]), self.table.column(rho)
        self.made.add(run)
        assert len(self.made) <= self.runs
        return float(self.table.losses[run])

    def mean(self, rho: float, n: int) -> float:
        return float(np.mean([self.run(instance, rho) for instance in range(n)]))


def race(bench: Bench) -> float:
    program = bench.table.program
    found = Race(bench.space, integer=program.integer, seed=bench.seed)
    found.extend([str(i) for i in range(len(bench.tuning))], bench.runs)
    while found.upcoming:
        trial = found.ask()
        found.tell(trial, bench.run(int(trial.instance), trial.rho))
    return found.recommend().rho


def grid(bench: Bench, values: int = 10) -> float:
    """Try ten values on the same instances."""
    program = bench.table.program
    tried = np.linspace(program.lo, program.hi, values)
    n = min(bench.runs // values, len(bench.tuning))
    return float(min(tried, key=lambda rho: bench.mean(rho, n)))


def online(bench: Bench) -> float:
    """Learn from single losses, one run per instance, in as many passes as there are runs."""
    learner = sb.Exp3Set(bench.space, high=bench.table.program.high, seed=bench.seed)
    for t in range(bench.runs):
        trial = learner.ask()
        learner.tell(trial, bench.run(t % len(bench.tuning), trial.rho))
    return float(learner.recommend().rho)


def tpe(bench: Bench, n: int = 10) -> float:
    """Optimise the mean over n instances, always the same."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    program = bench.table.program
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=bench.seed))
    kind = "suggest_int" if program.integer else "suggest_float"

    def objective(trial: Any) -> float:
        lo, hi = (int(end) if program.integer else end for end in (program.lo, program.hi))
        return bench.mean(getattr(trial, kind)("rho", lo, hi), n)

    study.optimize(objective, n_trials=bench.runs // n)
    return float(study.best_params["rho"])


METHODS: dict[str, Callable[[Bench], float]] = {
    "race": race,
    GRID: grid,
    "online": online,
    PEERS[0]: tpe,
    PEERS[1]: lambda bench: tpe(bench, 20),
}


def play(table: Table, method: str, runs: int, seeds: int) -> np.ndarray:
    """Return the loss of the chosen value over that of the default, on held-out instances, for each seed."""
    ratios = []
    for seed in range(seeds):
        order = np.random.default_rng([1000, seed]).permutation(len(table.losses))
        half = len(order) // 2
        rho = METHODS[method](Bench(table, order[:half], runs, seed))
        held_out = table.losses[order[half:]].mean(axis=0)
        ratios.append(held_out[table.column(rho)] / held_out[table.column(table.program.default)])
    return np.array(ratios)


def standard_errors(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return by how many standard errors ours is above theirs, paired by seed."""
    n = min(len(ours), len(theirs))
    difference = ours[:n].astype(float) - theirs[:n]
    error = difference.std(ddof=1) / math.sqrt(n)
    return float(difference.mean() / error) if error > 0 else 0.0


def judge(name: str, found: dict[str, np.ndarray]) -> None:
    """Check that the race beats the default as often as the grid does, at a loss not above that of TPE."""
    if "race" in found and GRID in found:
        z = standard_errors(found[GRID] < 1, found["race"] < 1)
        at_most(f"{name}: the grid is better more often, standard errors", z, 2)
    for peer in PEERS:
        if "race" in found and peer in found:
            z = standard_errors(found["race"], found[peer])
            at_most(f"{name}: race costs more than {peer}, standard errors", z, 2)


def main() -> None:
    given = options(
        __doc__, runs=400, seeds=100, slow_seeds=20, programs=list(PROGRAMS), methods=list(METHODS)
    )
    rows: dict[str, list[str]] = {method: [method] for method in given.methods}
    for name in given.programs:
        found = {}
        for method in given.methods:
            seeds = given.seeds if method in ("race", GRID) else min(given.seeds, given.slow_seeds)
            found[method] = play(Table.of(name), method, given.runs, seeds)
            rows[method].append(f"{np.mean(found[method] < 1):.0%}, {np.mean(found[method]):.4f}")
            say(f"{name:<8} {method:<34} {rows[method][-1]}  ({seeds} seeds)")
        judge(name, found)
    table("racing", ("", *given.programs), rows.values())
    finish()


if __name__ == "__main__":
    main()
