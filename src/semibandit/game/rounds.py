"""The game of the paper: the learner picks a parameter, an instance arrives, some of its loss is seen."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, fields
from os import PathLike
from time import perf_counter
from typing import Any

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.functions import Piecewise, PiecewiseLinear
from semibandit.functions.constant import PiecewiseConstant
from semibandit.game.hindsight import Hindsight, RowHindsight, best_in_hindsight
from semibandit.learners.exp3_grid import Exp3Grid
from semibandit.learners.learner import Learner
from semibandit.learners.trials import Trial
from semibandit.spaces import Alpha, Space, Strips
from semibandit.spaces.interval import Interval

__all__ = ["FEEDBACK", "History", "Round", "play", "rounds"]

FEEDBACK = ("full", "semi-bandit", "bandit")

_SNAPSHOT_BINS = 256
_ROW_BINS = 64  # of each row, on strips
_MOST_SNAPSHOTS = 128


@dataclass(frozen=True, slots=True)
class Round:
    """What happened in one round; [lo, hi) is where the loss was seen around rho (on strips: in its row)."""

    t: int
    rho: float
    loss: float
    lo: float
    hi: float
    probability: float
    learner_seconds: float
    feedback_seconds: float
    alpha: Alpha | None = None


def rounds(learner: Learner, problems: Iterable[Any], feedback: str = "semi-bandit") -> Iterator[Round]:
    """Play the game and yield each round as it is over; `play` collects them.

    >>> import semibandit as sb
    >>> learner = sb.Exp3Set(sb.Interval(0, 1), seed=0)
    >>> problem = sb.Explicit(sb.PiecewiseConstant([0, 0.5, 1], [0.9, 0.1]))
    >>> [row.loss for row in rounds(learner, [problem] * 3)]
    [0.1, 0.9, 0.9]
    """
    _validate.choice("feedback", feedback, FEEDBACK)
    _require_learner(learner)
    if feedback == "bandit" and not isinstance(learner, Exp3Grid):
        raise TypeError(f"bandit feedback needs a learner on points (Exp3Grid), got {learner!r}")
    return _rounds(learner, problems, feedback)


def _require_learner(learner: Any) -> None:
    if not isinstance(learner, Learner):
        raise TypeError(f"learner must be a learner such as Exp3Set, got {learner!r}")


def _rounds(learner: Learner, problems: Iterable[Any], feedback: str) -> Iterator[Round]:
    for t, problem in enumerate(problems):
        _require_same_space(learner.space, problem, t)
        start = perf_counter()
        trial = learner.ask()
        asked = perf_counter()
        try:
            seen, loss, interval = _look(learner.space, problem, trial, feedback)
        except BaseException:
            learner.forget(trial)
            raise
        shown = perf_counter()
        learner.tell(trial, seen)
        told = perf_counter()
        yield Round(
            t,
            trial.rho,
            loss,
            *interval,
            learner.last_probability,
            (asked - start) + (told - shown),
            shown - asked,
            trial.alpha,
        )


def _require_same_space(space: Space, problem: Any, t: int) -> None:
    theirs = getattr(problem, "space", None)
    if isinstance(theirs, Space) and theirs.describe() != space.describe():
        raise ValueError(f"problem {t} lives on {theirs.describe()}, the learner on {space.describe()}")


def _look(space: Space, problem: Any, trial: Trial, feedback: str) -> tuple[Any, float, tuple[float, float]]:
    """Run the problem: what the learner is told, the loss paid, and the interval around rho that was seen."""
    method = {"bandit": "loss", "full": "losses", "semi-bandit": "reveal"}[feedback]
    if not callable(getattr(problem, method, None)):
        raise TypeError(f"{feedback} feedback needs problems with a method `{method}`, got {problem!r}")
    if feedback == "bandit":
        loss = float(problem.loss(*trial.parameters))
        return loss, loss, (trial.rho, trial.rho)
    seen: Piecewise = problem.losses() if feedback == "full" else problem.reveal(*trial.parameters)
    if not isinstance(seen, PiecewiseConstant | PiecewiseLinear):
        raise TypeError(
            f"{method} must return the loss around rho as a PiecewiseConstant (or a PiecewiseLinear), "
            f"got {seen!r}"
        )
    x = space.place(*trial.parameters)
    return seen, seen(x), space.line.around(seen, x)


def play(
    learner: Learner, problems: Iterable[Any], feedback: str = "semi-bandit", *, progress: bool = False
) -> History:
    """Play a learner against a stream of problems.

    Parameters
    ----------
    learner
        Goes on from where it stands.
    problems
        Instances of an algorithm family; see `Problem`.
    feedback
        "semi-bandit" (the interval around the parameter), "full" (the whole function: Hedge), or "bandit"
        (the loss alone; needs an `Exp3Grid`).
    progress
        Show a progress bar.

    Returns
    -------
    History
        One entry a round, with the regret; `semibandit.plots` draws it.
    """
    _require_learner(learner)
    history = History(problems, learner.space, feedback, learner.maximize)
    game: Iterable[Round] = rounds(learner, history.remember(problems), feedback)
    if progress:
        from rich.progress import track

        game = track(game, feedback, total=len(problems) if isinstance(problems, Sized) else None)
    for row in game:
        history.append(row, learner)
    return history


class History:
    """The rounds of a game, as columns.

    `rho`, `loss`, `lo`, `hi` (the interval seen), `probability` (of the set seen, when it was drawn),
    `learner_seconds` and `feedback_seconds` are arrays with an entry a round; on strips `alpha`, too.
    """

    rho: FloatArray
    loss: FloatArray
    lo: FloatArray
    hi: FloatArray
    probability: FloatArray
    learner_seconds: FloatArray
    feedback_seconds: FloatArray
    alpha: FloatArray

    def __init__(self, problems: Iterable[Any], space: Space, feedback: str, maximize: bool = False) -> None:
        self.space = space
        self.feedback = feedback
        self.maximize = maximize
        self.rows: list[Round] = []
        # A stream that makes its instances on demand is kept as it is; what passes only once is collected.
        self._stream = problems if isinstance(problems, Sequence) else None
        self._collected: list[Any] = []
        self._best: Hindsight | RowHindsight | None = None
        self._snapshot_rounds: list[int] = []
        self._snapshots: list[FloatArray] = []
        self._stride = 1

    def remember(self, problems: Iterable[Any]) -> Iterator[Any]:
        """Pass problems through, keeping those that could not be had again."""
        for problem in problems:
            if self._stream is None:
                self._collected.append(problem)
            yield problem

    def append(self, row: Round, learner: Learner | None = None) -> None:
        """Add a round, and now and then a picture of the learner's density."""
        self.rows.append(row)
        self._best = None
        for name in self.columns:
            self.__dict__.pop(name, None)
        if learner is not None and row.t % self._stride == 0:
            self._snapshot_rounds.append(row.t)
            self._snapshots.append(_binned(learner.density(), self.space))
            if len(self._snapshots) > _MOST_SNAPSHOTS:
                del self._snapshot_rounds[1::2], self._snapshots[1::2]
                self._stride *= 2

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        names = tuple(field.name for field in fields(Round))
        return names if isinstance(self.space, Strips) else names[:-1]

    def __getattr__(self, name: str) -> FloatArray:
        if name != "space" and name in self.columns:
            column = np.array([getattr(row, name) for row in self.rows])
            column.flags.writeable = False
            self.__dict__[name] = column  # until the next round is appended
            return column
        raise AttributeError(f"History has no attribute {name!r}")

    @property
    def widths(self) -> FloatArray:
        """The length of the interval seen, a round each."""
        return self.hi - self.lo

    @property
    def problems(self) -> Sequence[Any]:
        """The problems played, in order."""
        if self._stream is None:
            return self._collected
        return self._stream if len(self._stream) == len(self) else self._stream[: len(self)]

    def best(self) -> Hindsight | RowHindsight:
        """The exact best fixed parameter in hindsight; computed once."""
        if self._best is None:
            self._best = best_in_hindsight(self.problems, maximize=self.maximize)
        return self._best

    def regret(self, rho: float | None = None, alpha: Any = None) -> FloatArray:
        """The cumulative regret after each round, against the best fixed parameter in hindsight.

        With `rho` (and `alpha`, on strips), against that fixed parameter instead. Costs one plain run per
        round, and the whole loss functions once where the best parameter is not known yet.
        """
        if rho is None:
            against = self.best().parameters
        else:
            against = (self.space.check(rho),) if isinstance(self.space, Interval) else (rho, alpha)
        fixed = np.array([problem.loss(*against) for problem in self.problems])
        paid = self.loss - fixed
        return np.cumsum(-paid if self.maximize else paid)

    def densities(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The density through time: rounds, bin edges of rho, and probability per bin (a row each snapshot).

        On strips a snapshot is itself a matrix, with a line for each row of the space.
        """
        return np.array(self._snapshot_rounds), _bins(self.space), np.array(self._snapshots)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write a line a round."""
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows(self.table())

    def table(self) -> Iterator[list[Any]]:
        """The entries of the columns, a list each round."""
        columns = self.columns
        return ([getattr(row, name) for name in columns] for row in self.rows)

    def __repr__(self) -> str:
        if not self.rows:
            return f"History({self.feedback}, no rounds)"
        return (
            f"History({self.feedback}, {len(self)} rounds, mean loss {math.fsum(self.loss) / len(self):.4g})"
        )


def _bins(space: Space) -> FloatArray:
    if isinstance(space, Interval):
        return np.linspace(space.interval.lo, space.interval.hi, _SNAPSHOT_BINS + 1)
    return np.linspace(space.interval.lo, space.interval.hi, _ROW_BINS + 1)


def _binned(density: Any, space: Space) -> FloatArray:
    """The probability in each of equal bins of the space; what lies in a margin counts to the end bins."""
    if isinstance(space, Strips):
        return np.array([_binned_row(space.row(density, i), _bins(space)) for i in range(len(space))])
    return _binned_row(density, _bins(space))


def _binned_row(density: Any, edges: FloatArray) -> FloatArray:
    edges[0], edges[-1] = density.edges[0], density.edges[-1]
    return np.asarray(density.between(edges))
