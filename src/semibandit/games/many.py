"""Many games at once: several learners, each with several seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from semibandit import _validate
from semibandit._cached import cached_property
from semibandit._validate import FloatArray
from semibandit.fitting.engines import engine_for
from semibandit.fitting.log import Chunk, ProblemLog
from semibandit.games.hindsight import Hindsight, best_in_hindsight
from semibandit.games.rounds import FEEDBACK, rounds
from semibandit.spaces import call

__all__ = ["Games", "play_many"]

_MOST_SEEDS = 1_000_000

ProblemSource = Sequence[Any] | Callable[[int], Sequence[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class Games:
    """The losses of many games; returned by `play_many`.

    Attributes
    ----------
    losses
        By the name of a learner: an array with a row for each seed and a column for each round.
    seeds
        The seeds, in the order of the rows.
    problems
        The problems, or the callable that makes them from a seed.
    """

    losses: dict[str, FloatArray]
    seeds: tuple[int, ...]
    problems: ProblemSource

    def best(self, seed: int) -> Hindsight:
        """Return the exact best fixed parameter for the problems of a seed."""
        return self._comparators[seed][0]

    def regret(self) -> dict[str, FloatArray]:
        """Return the cumulative regret against the exact best fixed parameter, in the form of `losses`.

        Computes the whole loss functions of the problems; once if all seeds share the problems.
        """
        fixed = np.array([self._comparators[seed][1] for seed in self.seeds])
        sign = -1.0 if _maximize(_problems(self.problems, self.seeds[0])) else 1.0
        return {name: np.cumsum(sign * (paid - fixed), axis=1) for name, paid in self.losses.items()}

    @cached_property
    def _comparators(self) -> dict[int, tuple[Hindsight, FloatArray]]:
        """The best parameter for each seed, and its losses."""
        if not callable(self.problems):
            return dict.fromkeys(self.seeds, _comparator(self.problems))
        return {seed: _comparator(self.problems(seed)) for seed in self.seeds}

    def __repr__(self) -> str:
        n = next(iter(self.losses.values())).shape[1]
        means = ", ".join(f"{name} {paid.mean():.4g}" for name, paid in self.losses.items())
        return f"<Games of {n} rounds, {len(self.seeds)} seeds; mean loss: {means}>"


def _problems(source: ProblemSource, seed: int) -> Sequence[Any]:
    return source(seed) if callable(source) else source


def _maximize(problems: Sequence[Any]) -> bool:
    return bool(getattr(problems[0], "maximize", False))


def _comparator(problems: Sequence[Any]) -> tuple[Hindsight, FloatArray]:
    best = best_in_hindsight(problems, maximize=_maximize(problems))
    return best, np.array([float(call(problem.loss, best.parameters)) for problem in problems])


def play_many(
    learners: Mapping[str, Any],
    problems: ProblemSource,
    seeds: int | Iterable[int] = 10,
    *,
    feedback: str = "semi-bandit",
    probes: int = 0,
    n_jobs: int | None = None,
    client: Any = None,
    progress: bool = False,
) -> Games:
    """Play several learners against a stream of problems, each with several seeds, on many cores.

    Each game is one task. Its result depends only on learner, problems and seed, not on the worker.

    Parameters
    ----------
    learners
        By name: a callable that makes a learner from a seed.
    problems
        Problems that all learners play, such as a stream; or a callable that makes them from a seed.
    seeds
        Seeds, or their number n for the seeds 0, ..., n - 1; at most a million.
    feedback, probes
        As for `play`.
    n_jobs, client
        Processes on this machine, or a `dask.distributed.Client`; as for `fit`.
    progress
        Show a progress bar.

    Examples
    --------
    >>> import semibandit as sb
    >>> def default(seed):
    ...     return sb.Exp3Set(sb.Interval(0, 1), seed=seed)
    >>> games = sb.play_many({"default": default}, sb.streams.synthetic(20), seeds=3)
    >>> games.regret()["default"].shape
    (3, 20)
    """
    engine = engine_for(n_jobs, client)
    _validate.choice("feedback", feedback, FEEDBACK)
    _validate.integer("probes", probes, low=0)
    if not isinstance(learners, Mapping) or not learners:
        raise TypeError(f"learners must be a dict of names and learner factories, got {learners!r}")
    for name, learner in learners.items():
        if not callable(learner):
            raise TypeError(f"learners[{name!r}] must make a learner from a seed, got {learner!r}")
    if not callable(problems) and not (isinstance(problems, Sequence) and len(problems)):
        raise TypeError(f"problems must be a sequence of problems, or make one from a seed, got {problems!r}")
    numbers = _listed(seeds)
    games = [(name, seed) for seed in numbers for name in learners]
    log = ProblemLog(games, 1, progress=_validate.boolean("progress", progress))
    work = _Play(dict(learners), problems, feedback, probes)
    played = engine.reduce(work, _together, log.chunks("games"))
    losses = {name: np.array([played[name, seed] for seed in numbers]) for name in learners}
    return Games(losses, numbers, problems)


def _listed(seeds: Any) -> tuple[int, ...]:
    """Return the seeds, checked."""
    if isinstance(seeds, int):
        return tuple(range(_validate.integer("seeds", seeds, low=1, high=_MOST_SEEDS)))
    listed = list(islice(_validate.iterable("seeds", seeds, "integers or their number"), _MOST_SEEDS + 1))
    if not listed:
        raise ValueError("seeds must hold at least one seed, got none")
    if len(listed) > _MOST_SEEDS:
        raise ValueError(f"seeds must hold at most {_MOST_SEEDS:,} seeds, got more")
    return tuple(_validate.seed("a seed", seed) for seed in listed)


@dataclass(frozen=True)
class _Play:
    """Plays a chunk of games."""

    learners: dict[str, Any]
    problems: ProblemSource
    feedback: str
    probes: int

    def __call__(self, chunk: Chunk) -> dict[tuple[str, int], FloatArray]:
        return {(name, seed): self._losses(self.learners[name](seed), seed) for name, seed in chunk.items}

    def _losses(self, learner: Any, seed: int) -> FloatArray:
        game = rounds(learner, _problems(self.problems, seed), self.feedback, probes=self.probes)
        return np.array([row.loss for row in game])


def _together(parts: list[dict[tuple[str, int], FloatArray]]) -> dict[tuple[str, int], FloatArray]:
    return {game: losses for part in parts for game, losses in part.items()}
