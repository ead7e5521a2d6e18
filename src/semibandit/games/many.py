"""Many games at once: several learners, each with several seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.fitting.engines import engine_for
from semibandit.fitting.log import Chunk, Log
from semibandit.games.hindsight import Hindsight, best_in_hindsight
from semibandit.games.rounds import FEEDBACK, rounds
from semibandit.spaces import call

__all__ = ["Games", "play_many"]

_MOST_SEEDS = 1_000_000


class Games:
    """The losses of many games; returned by `play_many`.

    Attributes
    ----------
    losses
        By the name of a learner: an array with a row for each seed and a column for each round.
    seeds
        The seeds, in the order of the rows.
    """

    def __init__(
        self, losses: dict[str, FloatArray], seeds: tuple[int, ...], problems: Callable[[int], Sequence[Any]]
    ) -> None:
        self.losses, self.seeds = losses, seeds
        self._problems = problems
        self._best: dict[int, tuple[Hindsight, FloatArray]] = {}

    def problems(self, seed: int) -> Sequence[Any]:
        """Return the problems of the games with a seed."""
        return self._problems(seed)

    def best(self, seed: int) -> Hindsight:
        """Return the exact best fixed parameter for the problems of a seed."""
        return self._comparator(seed)[0]

    def regret(self) -> dict[str, FloatArray]:
        """Return the cumulative regret against the exact best fixed parameter, in the form of `losses`.

        Computes the whole loss functions of the problems; once if all seeds share the problems.
        """
        fixed = np.array([self._comparator(seed)[1] for seed in self.seeds])
        sign = -1.0 if getattr(self.problems(self.seeds[0])[0], "maximize", False) else 1.0
        return {name: np.cumsum(sign * (paid - fixed), axis=1) for name, paid in self.losses.items()}

    def _comparator(self, seed: int) -> tuple[Hindsight, FloatArray]:
        """Return the best parameter for a seed, and its losses; cached."""
        problems = self.problems(seed)
        key = id(problems) if isinstance(self._problems, _Shared) else seed
        if key not in self._best:
            best = best_in_hindsight(problems, maximize=bool(getattr(problems[0], "maximize", False)))
            paid = [float(call(getattr(p, "fixed", p.loss), best.parameters)) for p in problems]
            self._best[key] = best, np.array(paid)
        return self._best[key]

    def __repr__(self) -> str:
        n = next(iter(self.losses.values())).shape[1]
        means = ", ".join(f"{name} {paid.mean():.4g}" for name, paid in self.losses.items())
        return f"<Games of {n} rounds, {len(self.seeds)} seeds; mean loss: {means}>"


def play_many(
    learners: Mapping[str, Any],
    problems: Sequence[Any] | Callable[[int], Sequence[Any]],
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
        By name: a callable that makes a learner from a seed; or an object with a method
        play(problems, seed) that yields the loss of each round.
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
        if not (callable(learner) or callable(getattr(learner, "play", None))):
            raise TypeError(f"learners[{name!r}] must make a learner from a seed, got {learner!r}")
    if not callable(problems) and not (isinstance(problems, Sequence) and len(problems)):
        raise TypeError(f"problems must be a sequence of problems, or make one from a seed, got {problems!r}")
    numbers = _listed(seeds)
    make = problems if callable(problems) else _Shared(problems)
    games = [(name, seed) for seed in numbers for name in learners]
    log = Log(games, 1, progress=_validate.boolean("progress", progress))
    work = _Play(dict(learners), make, feedback, probes)
    played = engine.reduce(work, _together, log.chunks("games"))
    losses = {name: np.array([played[name, seed] for seed in numbers]) for name in learners}
    return Games(losses, numbers, make)


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
class _Shared:
    """The same problems for every seed."""

    problems: Sequence[Any]

    def __call__(self, seed: int) -> Sequence[Any]:
        return self.problems


@dataclass(frozen=True)
class _Play:
    """Plays a chunk of games."""

    learners: dict[str, Any]
    problems: Callable[[int], Sequence[Any]]
    feedback: str
    probes: int

    def __call__(self, chunk: Chunk) -> dict[tuple[str, int], FloatArray]:
        return {(name, seed): self._losses(self.learners[name], seed) for name, seed in chunk.items}

    def _losses(self, player: Any, seed: int) -> FloatArray:
        problems = self.problems(seed)
        play = getattr(player, "play", None)
        if callable(play):
            return np.array([float(loss) for loss in play(problems, seed)])
        game = rounds(player(seed), problems, self.feedback, probes=self.probes)
        return np.array([row.loss for row in game])


def _together(parts: list[dict[tuple[str, int], FloatArray]]) -> dict[tuple[str, int], FloatArray]:
    return {game: losses for part in parts for game, losses in part.items()}
