"""Racing against a grid and against Optuna and SMAC3, on the same number of runs of four real programs.

Half of the instances are for tuning, half are held out. A method may make so many runs of the program, and
names a value to deploy; it counts how often that is better than the program's default on the held-out
instances, and what it costs there relative to the default. Runs are looked up in tables that are made once
(which takes an hour) and kept in `build/`.

Needs `apt install minisat flac`, and from PyPI highspy, pyppmd, optuna and smac.

    python benchmarks/racing.py --runs 400 --seeds 100
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import measure
import numpy as np
from programs import PROGRAMS, Table

import semibandit as sb
from semibandit.tuning import Race

PEERS = ("Optuna TPE, 10 instances a value", "Optuna TPE, 20 instances a value", "SMAC3")
SLOW = ("online", *PEERS)


@dataclass
class Bench:
    """A program, its instances for tuning in a random order, and the runs made."""

    table: Table
    tuning: np.ndarray
    runs: int
    seed: int
    made: dict[tuple[int, int], None] = field(default_factory=dict)

    @property
    def space(self) -> sb.Interval:
        program = self.table.program
        edge = 0.499 if program.integer else 0.0
        return sb.Interval(program.lo - edge, program.hi + edge)

    def run(self, instance: int, rho: float) -> float:
        """A run of the program; asked for the same once more, it is not run again."""
        number = int(self.tuning[instance])
        self.made[number, self.table.column(rho)] = None
        assert len(self.made) <= self.runs
        return self.table.loss(number, rho)

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
    """Ten values, from end to end, on the same instances each."""
    program = bench.table.program
    tried = np.linspace(program.lo, program.hi, values)
    n = min(bench.runs // values, len(bench.tuning))
    return float(min(tried, key=lambda rho: bench.mean(rho, n)))


def online(bench: Bench) -> float:
    """One run an instance, with as many passes as there are runs: what `--online --again` does."""
    program = bench.table.program
    learner = sb.Exp3Set(bench.space, high=program.high, seed=bench.seed)
    for t in range(bench.runs):
        trial = learner.ask()
        learner.tell(trial, bench.run(t % len(bench.tuning), trial.rho))
    return float(learner.recommend().rho)


def tpe(bench: Bench, n: int = 10) -> float:
    """Trials whose value is the mean over n instances, always the same ones."""
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


def smac(bench: Bench) -> float:
    """SMAC's own facade for algorithm configuration, which races over instances."""
    import tempfile

    from ConfigSpace import ConfigurationSpace, Float, Integer
    from smac import AlgorithmConfigurationFacade, Scenario
    from smac.acquisition.maximizer import LocalAndSortedRandomSearch

    program = bench.table.program
    ends = (int(program.lo), int(program.hi)) if program.integer else (program.lo, program.hi)
    space = ConfigurationSpace(seed=bench.seed)
    space.add(Integer("rho", ends) if program.integer else Float("rho", ends))
    names = [str(i) for i in range(len(bench.tuning))]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scenario = Scenario(
            space, instances=names, n_trials=bench.runs, deterministic=True, seed=bench.seed,
            output_directory=folder,
        )  # fmt: skip

        def target(config: Any, instance: str, seed: int = 0) -> float:
            return bench.run(int(instance), float(config["rho"])) / program.high

        # One dimension needs no thousands of candidates, over which it would take minutes.
        few = LocalAndSortedRandomSearch(space, challengers=200, local_search_iterations=2, seed=bench.seed)
        facade = AlgorithmConfigurationFacade(
            scenario, target, acquisition_maximizer=few, overwrite=True, logging_level=False
        )
        return float(facade.optimize()["rho"])


METHODS: dict[str, Callable[[Bench], float]] = {
    "race": race,
    "ten values, paired": grid,
    "online": online,
    PEERS[0]: tpe,
    PEERS[1]: lambda bench: tpe(bench, 20),
    PEERS[2]: smac,
}


@dataclass
class Result:
    better: list[bool] = field(default_factory=list)
    ratio: list[float] = field(default_factory=list)

    def share(self) -> float:
        return float(np.mean(self.better))


def play(table: Table, method: Callable[[Bench], float], runs: int, seeds: int) -> Result:
    """The same seeds, and so the same instances, for all methods."""
    result = Result()
    default = table.column(table.program.default)
    for seed in range(seeds):
        order = np.random.default_rng([1000, seed]).permutation(len(table.losses))
        half = len(order) // 2
        rho = method(Bench(table, order[:half], runs, seed))
        held_out = table.losses[order[half:]].mean(axis=0)
        deployed = held_out[table.column(rho)]
        result.better.append(bool(deployed < held_out[default]))
        result.ratio.append(float(deployed / held_out[default]))
    return result


def worse_by(ours: list[Any], theirs: list[Any]) -> float:
    """How many standard errors ours are above theirs, seed by seed; 0 where they do not differ."""
    difference = np.array(ours, float) - np.array(theirs, float)
    error = difference.std(ddof=1) / math.sqrt(len(difference))
    return float(difference.mean() / error) if error > 0 else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument(
        "--slow-seeds",
        type=int,
        default=20,
        help="for all but race and grid",
    )
    parser.add_argument("--smac-seeds", type=int, default=3, help="for SMAC3, which takes minutes")
    parser.add_argument("--programs", nargs="+", default=list(PROGRAMS), choices=list(PROGRAMS))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    options = parser.parse_args()
    cells: dict[str, list[str]] = {method: [] for method in options.methods}
    for name in options.programs:
        table, results = Table.of(name), {}
        for method in options.methods:
            start = perf_counter()
            limit = {**dict.fromkeys(SLOW, options.slow_seeds), "SMAC3": options.smac_seeds}
            seeds = min(options.seeds, limit.get(method, options.seeds))
            found = results[method] = play(table, METHODS[method], options.runs, seeds)
            seconds = (perf_counter() - start) / seeds
            cells[method].append(f"{found.share():.0%}, {np.mean(found.ratio):.4f}")
            measure.say(f"{name:<8} {method:<34} {cells[method][-1]}  ({seeds} seeds, {seconds:.2g} s each)")
        hold(name, results)
    measure.table("racing", ("", *options.programs), ([method, *row] for method, row in cells.items()))
    measure.finish()


def hold(name: str, results: dict[str, Result]) -> None:
    """As often better than the default as the grid, and no dearer than Optuna and SMAC3, up to noise."""
    ours = results.get("race")
    if ours is None:
        return
    if (theirs := results.get("ten values, paired")) is not None:
        z = worse_by(theirs.better, ours.better)
        measure.show(f"{name}: the grid is better more often, standard errors", z, "≤ 2", z <= 2.0)
    for method in PEERS:
        if (theirs := results.get(method)) is not None:
            z = worse_by(ours.ratio[: len(theirs.ratio)], theirs.ratio)
            measure.show(f"{name}: race costs more than {method}, standard errors", z, "≤ 2", z <= 2.0)


if __name__ == "__main__":
    main()
