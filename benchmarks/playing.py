"""Streams whose loss functions are computed once, and the players of the suite."""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import semibandit as sb

SPACE = sb.Interval(0, 1)
KEPT = Path(__file__).resolve().parents[1] / "build" / "suite"

Play = Callable[[list[sb.Explicit], int], Iterator[float]]  # (problems, seed) -> the loss paid in each round
Make = Callable[[int, int], Any]  # (horizon, seed) -> learner

# -- streams --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recipe:
    """How to make a stream of some length, and whether the order of its rounds matters."""

    make: Callable[[int], Iterable[Any]]
    rounds: int
    keeps_order: bool = False


def knapsacks(kind: str, keeps_order: bool = False) -> Recipe:
    return Recipe(lambda T: sb.streams.knapsack(kind, T, 50, 0), 3000, keeps_order)


def clusterings(kind: str) -> Recipe:
    return Recipe(lambda T: sb.streams.clustering(kind, T, seed=0), 1000)


RECIPES = {
    "mixed": knapsacks("mixed"),
    "uncorrelated": knapsacks("uncorrelated"),
    "weakly": knapsacks("weakly-correlated"),
    "spanner": knapsacks("spanner"),
    "drifting": knapsacks("drifting", keeps_order=True),
    "elongated": clusterings("elongated"),
    "digits": clusterings("digits"),
    "iris": clusterings("iris"),
    "independent-set": Recipe(lambda T: sb.streams.independent_set(T, seed=0), 2000),
    "seeding": Recipe(lambda T: sb.streams.seeding(T, seed=0), 1000),
    "synthetic": Recipe(lambda T: sb.streams.synthetic(T, seed=0), 3000),
    "concentrated": Recipe(lambda T: sb.streams.concentrated(T, seed=0), 3000),
}


def pabulib(folder: str) -> Recipe:
    """Participatory budgets by date. A round has a random 80 % of the projects of a file."""

    def make(T: int) -> Iterator[Any]:
        files = sb.streams.read_knapsacks(folder, order="date", skip_bad=True)
        rng = np.random.default_rng(0)
        for t in range(T):
            whole = files[t * len(files) // T]
            n = whole.values.size
            kept = np.sort(rng.permutation(n)[: max(2, round(0.8 * n))])
            sizes = whole.sizes[kept]
            capacity = max(0.8 * whole.capacity, float(sizes.min()))
            yield sb.Knapsack(whole.values[kept], sizes, capacity, space=whole.space)

    return Recipe(make, 1746, keeps_order=True)


@dataclass
class Stream:
    """The loss functions of a stream, scaled to [0, 1]."""

    name: str
    problems: list[sb.Explicit]
    keeps_order: bool

    def __len__(self) -> int:
        return len(self.problems)

    def game(self, seed: int) -> list[sb.Explicit]:
        """Return the problems in the order of a game: random, unless the order matters."""
        if self.keeps_order:
            return self.problems
        return [self.problems[t] for t in np.random.default_rng([seed, 77]).permutation(len(self))]

    @cached_property
    def best(self) -> float:
        """Total loss of the best fixed parameter."""
        return total_of_best(self.problems)

    @cached_property
    def dispersion(self) -> Any:
        return sb.dispersion.measure(self.problems)


def total_of_best(problems: list[sb.Explicit]) -> float:
    return len(problems) * sb.best_in_hindsight(problems).mean_loss


def load(name: str, recipe: Recipe, folder: Path = KEPT, rounds: int | None = None) -> Stream:
    """Return a stream from the folder, or make it and keep it there."""
    T = min(rounds or recipe.rounds, recipe.rounds)
    path = folder / f"{name}-{T}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        made = [on_unit_interval(problem.losses()) for problem in recipe.make(T)]
        ends = np.cumsum([0] + [values.size for _, values in made])
        np.savez(path, ends, *(np.concatenate(parts) for parts in zip(*made, strict=True)))
    with np.load(path) as kept:
        ends, edges, values = (kept[key] for key in kept.files)
    # A function has one edge more than values.
    functions = [
        sb.PiecewiseConstant(edges[a + t : b + t + 1], values[a:b])
        for t, (a, b) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))
    ]
    return Stream(name, [sb.Explicit(f) for f in functions], recipe.keeps_order)


def on_unit_interval(function: Any) -> tuple[Any, Any]:
    """Return edges and values scaled to [0, 1], without pieces that rounding makes empty."""
    lo, hi = function.edges[0], function.edges[-1]
    edges = (function.edges - lo) / (hi - lo)
    edges[-1] = 1.0
    kept = np.diff(edges) > 0.0
    return np.append(edges[:-1][kept], 1.0), function.values[kept]


def cut_at_random(
    mean: Callable[[Any], Any], pieces: int, level: float, noise: float, rng: Any
) -> sb.Explicit:
    """Return an instance with random pieces: mean loss, plus a level for all of them, plus noise for each."""
    edges = np.concatenate(([0.0], np.sort(rng.random(pieces - 1)), [1.0]))
    values = mean(0.5 * (edges[1:] + edges[:-1])) + level + noise * rng.normal(size=pieces)
    return sb.Explicit(sb.PiecewiseConstant(edges, np.clip(values, 0.0, 1.0)))


# -- players --------------------------------------------------------------------------------------------

SHOWN: dict[str, Callable[[Any, float], Any]] = {
    "semi-bandit": lambda function, rho: function.piece(rho),
    "bandit": lambda function, rho: function(rho),
    "full": lambda function, rho: function,
}


def play(
    learner: Any, problems: list[sb.Explicit], feedback: str = "semi-bandit", probes: int = 0, delay: int = 0
) -> Iterator[float]:
    """Play the problems with feedback that comes some rounds late; yield the losses."""
    waiting: deque[tuple[sb.Trial, list[Any]]] = deque()
    for problem in problems:
        trial = learner.ask(probes=probes)
        looks = [SHOWN[feedback](problem.function, rho) for rho in (trial.rho, *trial.probes)]
        waiting.append((trial, looks))
        if len(waiting) > delay:
            learner.tell(*waiting.popleft())
        yield problem.function(trial.rho)


def default(horizon: int, seed: int) -> sb.Exp3Set:
    return sb.Exp3Set(SPACE, seed=seed)


def low(horizon: int, seed: int) -> sb.Exp3Set:
    return sb.Exp3Set(SPACE, baseline="low", horizon=horizon, seed=seed)


def no_baseline(horizon: int, seed: int) -> sb.Exp3Set:
    return sb.Exp3Set(SPACE, baseline=None, horizon=horizon, seed=seed)


def grid(horizon: int, seed: int) -> sb.Exp3Grid:
    return sb.Exp3Grid(SPACE, horizon=horizon, seed=seed)


def ours(make: Make, feedback: str = "semi-bandit", **options: int) -> Play:
    return lambda problems, seed: play(make(len(problems), seed), problems, feedback, **options)


def knobs_of(space: Any) -> dict[str, Any]:
    """Return the kinds of the knobs by name; an interval is the knob rho."""
    return getattr(space, "knobs", None) or {"rho": sb.Real(*space.span)}


def values_at(space: Any, point: list[float]) -> dict[str, Any]:
    """Return the values at a point of the unit cube."""
    values = {}
    for (name, kind), u in zip(knobs_of(space).items(), point, strict=True):
        if isinstance(kind, sb.Choice):
            values[name] = kind.values[min(int(u * kind.count), kind.count - 1)]
        else:
            lo, hi = kind.scale.ends
            values[name] = kind.scale.value(lo + u * (hi - lo))
    return values


def tree_search(kind: str) -> Play:
    """PyXAB's VHCT or HCT on the unit cube of the knobs with its defaults; it maximises rewards."""

    def play(problems: list[Any], seed: int) -> Iterator[float]:
        from PyXAB.algos import HCT, VHCT
        from PyXAB.partition.BinaryPartition import BinaryPartition

        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - PyXAB draws from it
        cube = [[0.0, 1.0]] * len(knobs_of(problems[0].space))
        algorithm = {"HCT": HCT.HCT, "VHCT": VHCT.VHCT}[kind](domain=cube, partition=BinaryPartition)
        for t, problem in enumerate(problems, 1):
            loss = problem.loss(**values_at(problem.space, list(map(float, algorithm.pull(t)))))
            algorithm.receive_reward(t, 1.0 - loss)
            yield loss

    return play


def suggest(trial: Any, name: str, kind: Any) -> Any:
    if isinstance(kind, sb.Choice):
        return trial.suggest_categorical(name, list(kind.values))
    draw = trial.suggest_int if isinstance(kind, sb.Integer) else trial.suggest_float
    return draw(name, kind.lo, kind.hi, log=kind.log)


Search = Callable[[list[Any], int], Iterator[float]]  # yields losses, returns the values to play


def searches() -> dict[str, Search]:
    """Return tuners that look for one good point."""
    return {
        "TPE (Optuna)": optuna_search("TPESampler"),
        "GP (Optuna)": optuna_search("GPSampler"),
        "SMAC3": smac_search,
    }


def tpe(problems: list[Any], seed: int) -> Iterator[float]:
    """Optuna's TPE in every round, as if all losses came from one function."""
    yield from optuna_search("TPESampler")(problems, seed)


def then_best(search: Search) -> Play:
    """Search in the first tenth of the rounds, then play the best point found."""

    def play(problems: list[Any], seed: int) -> Iterator[float]:
        first = len(problems) // 10
        values: Any = yield from search(problems[:first], seed)  # type: ignore[misc]
        for problem in problems[first:]:
            yield problem.loss(**values)

    return play


def optuna_search(sampler: str) -> Search:
    def search(problems: list[Any], seed: int) -> Iterator[float]:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(sampler=getattr(optuna.samplers, sampler)(seed=seed))
        for problem in problems:
            trial = study.ask()
            loss = problem.loss(
                **{name: suggest(trial, name, x) for name, x in knobs_of(problem.space).items()}
            )
            study.tell(trial, loss)
            yield loss
        return study.best_params  # type: ignore[return-value]

    return search


def smac_search(problems: list[Any], seed: int) -> Iterator[float]:
    from ConfigSpace import Categorical, ConfigurationSpace, Float
    from ConfigSpace import Integer as Whole
    from smac import HyperparameterOptimizationFacade as Facade
    from smac import Scenario
    from smac.runhistory.dataclasses import TrialValue

    space = ConfigurationSpace()
    for name, x in knobs_of(problems[0].space).items():
        if isinstance(x, sb.Choice):
            space.add(Categorical(name, list(x.values)))
        else:
            space.add((Whole if isinstance(x, sb.Integer) else Float)(name, (x.lo, x.hi), log=x.log))
    scenario = Scenario(space, n_trials=len(problems), seed=seed, deterministic=True)
    smac = Facade(scenario, lambda config, seed=0: 0.0, overwrite=True, logging_level=50)
    tried: list[tuple[float, dict[str, Any]]] = []
    for problem in problems:
        info = smac.ask()
        values = dict(info.config)
        tried.append((problem.loss(**values), values))
        smac.tell(info, TrialValue(cost=tried[-1][0]))
        yield tried[-1][0]
    return min(tried, key=lambda each: each[0])[1]  # type: ignore[return-value]


def ucb(problems: list[sb.Explicit], seed: int) -> Iterator[float]:
    """UCB1 on the midpoints of T^(1/3) cells, those of `Exp3Grid`."""
    n = math.ceil(len(problems) ** (1 / 3))
    counts, totals = np.zeros(n), np.zeros(n)
    first = np.random.default_rng(seed).permutation(n)
    for t, problem in enumerate(problems):
        arm = first[t] if t < n else np.argmin(totals / counts - np.sqrt(2.0 * math.log(t) / counts))
        loss = problem.loss((arm + 0.5) / n)
        counts[arm] += 1.0
        totals[arm] += loss
        yield loss


PLAYERS: dict[str, Play] = {
    "default": ours(default),
    'baseline="low"': ours(low),
    "baseline=None": ours(no_baseline),
    "Exp3Grid": ours(grid, "bandit"),
    "full information": ours(default, "full"),
    "1 probe": ours(default, probes=1),
    "4 probes": ours(default, probes=4),
    "single losses": ours(default, "bandit"),
    "VHCT": tree_search("VHCT"),
    "HCT": tree_search("HCT"),
    "TPE": tpe,
    "UCB1": ucb,
    **{f"{delay} late": ours(default, delay=delay) for delay in (1, 10, 100, 1000)},
}
