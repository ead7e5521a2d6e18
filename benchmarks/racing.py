"""The race of `semibandit tune` beside other tuners, on equal runs of real programs.

Run: python benchmarks/racing.py [--runs 400] [--seeds 20] [--methods race] [--programs zstd]

Half of the instances are for tuning, half are held out. The table shows how often the configuration that a
method chooses is better than the program's default on the held-out instances, and its mean loss there over
that of the default. The tables of losses are made once, in a few minutes each. Needs `apt install minisat`
and highspy, pyppmd, zstandard, optuna; for SMAC3 also `pip install smac`.
"""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from measure import at_most, finish, options, say, table
from programs import PROGRAMS, Table

import semibandit as sb
from semibandit.learners.race import Race
from semibandit.learners.race.proposals import kinds_of, space_filling

Values = dict[str, Any]


@dataclass
class Bench:
    """A program, its instances for tuning in a random order, and the runs made."""

    table: Table
    tuning: np.ndarray
    runs: int
    seed: int
    made: set[tuple[int, int]] = field(default_factory=set)

    @property
    def knobs(self) -> sb.Knobs:
        return self.table.program.knobs

    @property
    def default(self) -> Values:
        return self.table.program.default

    def run(self, instance: int, values: Values) -> float:
        """Return the loss of a run; repeated runs count once."""
        run = int(self.tuning[instance]), self.table.column(values)
        self.made.add(run)
        assert len(self.made) <= self.runs
        return float(self.table.losses[run])

    def mean(self, values: Values, n: int) -> float:
        return float(np.mean([self.run(instance, values) for instance in range(n)]))

    def paired(self, tried: list[Values]) -> Values:
        """Run configurations on the same instances, and return the best."""
        n = min(self.runs // len(tried), len(self.tuning))
        return min(tried, key=lambda values: self.mean(values, n))


def race(bench: Bench) -> Values:
    found = Race(bench.knobs, default=bench.default, seed=bench.seed)
    found.extend([str(i) for i in range(len(bench.tuning))], bench.runs)
    while found.upcoming:
        trial = found.ask()
        found.tell(trial, bench.run(int(trial.instance), trial.values))
    return found.recommend().values


def sixteen(bench: Bench) -> Values:
    """Try fifteen configurations that fill the space, and the default."""
    knobs = kinds_of(bench.knobs)
    design = space_filling(knobs, 15, bench.seed)
    return bench.paired([bench.default, *(dict(zip(knobs, values, strict=True)) for values in design)])


def grid(bench: Bench) -> Values:
    """Try the default, and every combination of two values of each knob (of one knob, ten)."""
    knobs = bench.knobs.knobs
    n = 10 if len(knobs) == 1 else 2
    each = [kind.spread(n) if kind.ordered else kind.values[:n] for kind in knobs.values()]
    points = np.array(np.meshgrid(*each, indexing="ij"), dtype=object).reshape(len(each), -1).T
    kinds = knobs.items()
    tried = [{name: k.check(name, x) for (name, k), x in zip(kinds, row, strict=True)} for row in points]
    return bench.paired([bench.default, *tried])


def tpe(bench: Bench, n: int) -> Values:
    """Optimise the mean over n instances, always the same, from the default on."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=bench.seed))
    study.enqueue_trial(bench.default)

    def objective(trial: Any) -> float:
        values = {}
        for name, kind in bench.knobs.knobs.items():
            if isinstance(kind, sb.Choice):
                values[name] = trial.suggest_categorical(name, list(kind.values))
            else:
                suggest = trial.suggest_int if isinstance(kind, sb.Integer) else trial.suggest_float
                values[name] = suggest(name, kind.lo, kind.hi, log=kind.log)
        return bench.mean(values, n)

    study.optimize(objective, n_trials=bench.runs // n)
    return dict(study.best_params)


def smac(bench: Bench) -> Values:
    """SMAC3 for algorithm configuration, on the instances for tuning, from the default on."""
    from ConfigSpace import Categorical, ConfigurationSpace, Float, Integer
    from smac import AlgorithmConfigurationFacade, Scenario

    space = ConfigurationSpace(seed=bench.seed)
    for name, kind in bench.knobs.knobs.items():
        first = bench.default[name]
        if isinstance(kind, sb.Choice):
            space.add(Categorical(name, list(kind.values), default=first))
        else:
            make = Integer if isinstance(kind, sb.Integer) else Float
            space.add(make(name, (kind.lo, kind.hi), default=first, log=kind.log))
    names = [str(i) for i in range(len(bench.tuning))]
    features = {name: [float(i)] for i, name in enumerate(names)}

    def objective(configuration: Any, instance: str, seed: int = 0) -> float:
        return bench.run(int(instance), dict(configuration))

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scenario = Scenario(
            space, n_trials=bench.runs, instances=names, instance_features=features, deterministic=True,
            seed=bench.seed, output_directory=folder,
        )  # fmt: skip
        facade = AlgorithmConfigurationFacade(scenario, objective, logging_level=50, overwrite=True)
        return dict(facade.optimize())


TPE = {f"Optuna TPE, {n} instances a value": partial(tpe, n=n) for n in (5, 10, 20)}
METHODS: dict[str, Callable[[Bench], Values]] = {
    "race": race, **TPE, "SMAC3": smac, "sixteen random, paired": sixteen, "grid, paired": grid,
}  # fmt: skip
SEVERAL = ["zstd", "xz", "minisat", "highs"]
ONE = ["ppmd", "minisat.decay", "highs.reliable"]


def play(table: Table, method: str, runs: int, seeds: int) -> np.ndarray:
    """Return the loss of the chosen values over that of the default, on held-out instances, for each seed."""
    ratios = []
    for seed in range(seeds):
        order = np.random.default_rng([2000, seed]).permutation(len(table.losses))
        half = len(order) // 2
        values = METHODS[method](Bench(table, order[:half], runs, seed))
        held_out = table.losses[order[half:]].mean(axis=0)
        ratios.append(held_out[table.column(values)] / held_out[table.column(table.program.default)])
    return np.array(ratios)


def standard_errors(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return by how many standard errors ours is above theirs, paired by seed."""
    difference = np.log(ours) - np.log(theirs)
    error = difference.std(ddof=1) / math.sqrt(len(difference))
    return float(difference.mean() / error) if error > 0 else 0.0


def main() -> None:
    given = options(__doc__, runs=400, seeds=20, programs=[*SEVERAL, *ONE], methods=list(METHODS))
    rows: dict[str, list[str]] = {method: [method] for method in given.methods}
    logs: dict[str, list[float]] = {method: [] for method in given.methods}
    for name in given.programs:
        found = {}
        for method in given.methods:
            ratios = found[method] = play(Table.of(name), method, given.runs, given.seeds)
            rows[method].append(f"{np.mean(ratios < 1):.0%}, {np.exp(np.log(ratios).mean()):.4f}")
            logs[method].append(float(np.log(ratios).mean()))
            say(f"{name:<14} {method:<32} {rows[method][-1]}")
        for method in given.methods:
            if "race" in found and method != "race":
                z = standard_errors(found["race"], found[method])
                at_most(f"{name}: race costs more than {method}, standard errors", z, 2)
    for method in given.methods:
        rows[method].append(f"{math.exp(np.mean(logs[method])):.4f}")
    table("racing", ("", *given.programs, "geometric mean"), rows.values())
    finish()


if __name__ == "__main__":
    assert set(SEVERAL) <= set(PROGRAMS)
    main()
