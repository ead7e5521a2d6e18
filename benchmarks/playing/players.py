"""Who plays in the suite: the package's learners, and peers that learn from single losses."""

from __future__ import annotations

import hashlib
import math
import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import semibandit as sb

SPACE = sb.Interval(0, 1)
SHOWN: dict[str, Callable[[Any, float], Any]] = {
    "semi-bandit": lambda function, rho: function.piece(rho),
    "bandit": lambda function, rho: function(rho),
    "full": lambda function, rho: function,
}


@dataclass(frozen=True)
class Player:
    """Plays problems with a seed and yields the loss paid in each round; `package` is whose code it runs."""

    name: str
    play: Callable[[list[sb.Explicit], int], Iterator[float]]
    package: str = "semibandit"
    seeds: int | None = None  # at most so many, as some take long

    @property
    def version(self) -> str:
        """Changes whenever another game might come out."""
        if self.package != "semibandit":
            return f"{self.package} {metadata.version(self.package)}"
        home = Path(sb.__file__).parent
        digest = hashlib.sha256()
        for part in ("functions", "learners", "spaces", "weights"):
            for path in sorted((home / part).glob("*.py")):
                digest.update(path.read_bytes())
        return digest.hexdigest()[:12]


def ours(
    make: Callable[[int, int], sb.Learner], feedback: str = "semi-bandit", probes: int = 0, delay: int = 0
) -> Callable[[list[sb.Explicit], int], Iterator[float]]:
    """A learner made for a horizon and a seed, told what its looks show so many rounds late."""

    def play(problems: list[sb.Explicit], seed: int) -> Iterator[float]:
        learner = make(len(problems), seed)
        waiting: deque[tuple[sb.Trial, list[Any]]] = deque()
        for problem in problems:
            trial = learner.ask(probes=probes)
            looks = [SHOWN[feedback](problem.function, rho) for rho in (trial.rho, *trial.probes)]
            waiting.append((trial, looks))
            if len(waiting) > delay:
                learner.tell(*waiting.popleft())
            yield problem.function(trial.rho)

    return play


def default(horizon: int, seed: int) -> sb.Learner:
    return sb.Exp3Set(SPACE, seed=seed)


def low(horizon: int, seed: int) -> sb.Learner:
    return sb.Exp3Set(SPACE, baseline="low", horizon=horizon, seed=seed)


def no_baseline(horizon: int, seed: int) -> sb.Learner:
    return sb.Exp3Set(SPACE, baseline=None, horizon=horizon, seed=seed)


def grid(horizon: int, seed: int) -> sb.Learner:
    return sb.Exp3Grid(SPACE, horizon=horizon, seed=seed)


def tree_search(kind: str) -> Callable[[list[sb.Explicit], int], Iterator[float]]:
    """PyXAB's VHCT or HCT on halved intervals, with its own defaults; it maximises rewards."""

    def play(problems: list[sb.Explicit], seed: int) -> Iterator[float]:
        from PyXAB.algos import HCT, VHCT
        from PyXAB.partition.BinaryPartition import BinaryPartition

        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - it is what the package draws from
        algorithm = {"HCT": HCT.HCT, "VHCT": VHCT.VHCT}[kind](domain=[[0.0, 1.0]], partition=BinaryPartition)
        for t, problem in enumerate(problems, 1):
            loss = problem.loss(float(algorithm.pull(t)[0]))
            algorithm.receive_reward(t, 1.0 - loss)
            yield loss

    return play


def tpe(problems: list[sb.Explicit], seed: int) -> Iterator[float]:
    """Optuna's TPE with its defaults, as if all losses came from one function."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    for problem in problems:
        trial = study.ask()
        loss = problem.loss(trial.suggest_float("rho", 0.0, 1.0))
        study.tell(trial, loss)
        yield loss


def ucb(problems: list[sb.Explicit], seed: int) -> Iterator[float]:
    """UCB1 on the midpoints of T^(1/3) cells, the same as those of `Exp3Grid`; each is played once first."""
    n = math.ceil(len(problems) ** (1 / 3))
    counts, totals = np.zeros(n), np.zeros(n)
    first = np.random.default_rng(seed).permutation(n)
    for t, problem in enumerate(problems):
        if t < n:
            arm = int(first[t])
        else:
            arm = int(np.argmin(totals / counts - np.sqrt(2.0 * math.log(t) / counts)))
        loss = problem.loss((arm + 0.5) / n)
        counts[arm] += 1.0
        totals[arm] += loss
        yield loss


PLAYERS = [
    Player("default", ours(default)),
    Player('baseline="low"', ours(low)),
    Player("baseline=None", ours(no_baseline)),
    Player("Exp3Grid", ours(grid, "bandit")),
    Player("full information", ours(default, "full")),
    Player("1 probe", ours(default, probes=1)),
    Player("4 probes", ours(default, probes=4)),
    Player("single losses", ours(default, "bandit")),
    Player("VHCT", tree_search("VHCT"), "PyXAB", 3),
    Player("HCT", tree_search("HCT"), "PyXAB", 3),
    Player("TPE", tpe, "optuna", 1),
    Player("UCB1", ucb, "numpy"),
]
LATE = [Player(f"{delay} late", ours(default, delay=delay), seeds=5) for delay in (1, 10, 100, 1000)]
