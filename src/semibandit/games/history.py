"""The rounds of a game, as columns."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from os import PathLike
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._extras import needed
from semibandit._validate import FloatArray
from semibandit.games.blocks import BestBlocks, best_blocks
from semibandit.games.hindsight import Hindsight, best_in_hindsight
from semibandit.learners import Learner
from semibandit.spaces import Alpha, Line, Parameters, Space, call, parameters_of, values_of

__all__ = ["GameRound", "History"]

_BINS = 256  # of a density snapshot
_ROW_BINS = 64  # of each row, with several rows
_MOST_SNAPSHOTS = 128


@dataclass(frozen=True, slots=True)
class GameRound:
    """One round of a game; [lo, hi) is the observed interval around rho (on strips: in its row)."""

    t: int
    rho: float
    loss: float
    lo: float
    hi: float
    probability: float
    learner_seconds: float
    feedback_seconds: float
    runs: int = 1
    alpha: Alpha | None = None
    context: dict[str, Any] | None = None


_FIELDS = frozenset(field.name for field in fields(GameRound)) - {"context"}


class History:
    """The rounds of a game, as columns.

    `t`, `rho`, `loss`, `lo`, `hi` (the observed interval), `probability` (of the observed set, at the draw),
    `learner_seconds`, `feedback_seconds` and `runs` (of the algorithm: 1 + probes) are read-only arrays with
    one entry per round; on strips also `alpha`. On knobs, rho, lo and hi are those of the knob along the
    rows, and `values` has all knobs by name.

    Parameters
    ----------
    problems
        The problems of the game, at least one for each round.
    space, maximize
        As for the learner.
    feedback
        As for `play`.
    """

    def __init__(self, problems: Sequence[Any], space: Space, feedback: str, maximize: bool = False) -> None:
        self.space = space
        self.feedback = feedback
        self.maximize = maximize
        self.rows: list[GameRound] = []
        self._problems = problems
        self._known: dict[str, Any] = {}  # columns and comparators, until a round is added
        self._snapshots: dict[int, FloatArray] = {}
        self._stride = 1

    def append(self, row: GameRound, learner: Learner | None = None) -> None:
        """Add a round, and at some rounds a snapshot of the learner's density."""
        self.rows.append(row)
        self._known.clear()
        if learner is not None and row.t % self._stride == 0:
            self._snapshots[row.t] = self._binned(learner.density(), learner.space.line)
            if len(self._snapshots) > _MOST_SNAPSHOTS:
                self._snapshots = dict(list(self._snapshots.items())[::2])
                self._stride *= 2

    def __getattr__(self, name: str) -> FloatArray:
        if name not in _FIELDS or (name == "alpha" and self.space.alphas == (None,)):
            raise AttributeError(f"a history has no {name!r}")
        if name not in self._known:
            column = np.array([getattr(row, name) for row in self.rows])
            column.flags.writeable = False
            self._known[name] = column
        return cast(FloatArray, self._known[name])

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_FIELDS]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        if not self.rows:
            return f"History({self.feedback}, no rounds)"
        return (
            f"History({self.feedback}, {len(self)} rounds, mean loss {math.fsum(self.loss) / len(self):.4g})"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Copy the rounds, and list the problems: streams may hold closures, which cannot be pickled."""
        own = {"rows": list(self.rows), "_problems": list(self.problems), "_known": {}}
        return self.__dict__ | own | {"_snapshots": dict(self._snapshots)}

    # -- rounds ----------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns; on knobs, a column per knob instead of rho and alpha."""
        names = tuple(field.name for field in fields(GameRound) if field.name in _FIELDS)
        if self.space.names:
            return (names[0], *map(_column_of, self.space.names), *names[2:-1])
        return names[:-1] if self.space.alphas == (None,) else names

    @property
    def values(self) -> dict[str, npt.NDArray[Any]]:
        """Arrays of the played parameters, by name."""
        played = [values_of(self.space.names, row.rho, row.alpha) for row in self.rows]
        return {name: np.array([each[name] for each in played]) for name in (played[0] if played else ())}

    @property
    def contexts(self) -> list[dict[str, Any]]:
        """Known features of each instance, by name."""
        return [row.context or {} for row in self.rows]

    @property
    def widths(self) -> FloatArray:
        """Length of the observed interval, per round."""
        return self.hi - self.lo

    @property
    def problems(self) -> Sequence[Any]:
        """The problems played, in order."""
        return self._problems if len(self._problems) == len(self) else self._problems[: len(self)]

    # -- regret ----------------------------------------------------------------------------------

    def best(self) -> Hindsight:
        """Return the exact best fixed parameter in hindsight; cached."""
        if "best" not in self._known:
            self._known["best"] = best_in_hindsight(self.problems, maximize=self.maximize)
        return cast(Hindsight, self._known["best"])

    def best_blocks(self, blocks: int = 8) -> BestBlocks:
        """Return the exact best sequences of at most 1, 2, ..., `blocks` parameters; cached."""
        _validate.integer("blocks", blocks, low=1)
        known: BestBlocks | None = self._known.get("blocks")
        if known is None or len(known.totals) < blocks:
            known = self._known["blocks"] = best_blocks(self.problems, blocks, maximize=self.maximize)
        return BestBlocks(known.totals[:blocks], known.sequences[:blocks])

    def regret(
        self,
        rho: float | None = None,
        alpha: Any = None,
        *,
        blocks: int | None = None,
        values: dict[str, Any] | None = None,
        by: str | Sequence[Any] | None = None,
    ) -> FloatArray:
        """Return the cumulative regret after each round, against the best fixed parameter in hindsight.

        Other comparators, one at a time:

        - `rho` (with `alpha` on strips), or `values` by name on knobs: this parameter.
        - `blocks`: the best sequence of at most so many parameters, each played on a block of consecutive
          rounds.
        - `by`: the best parameter of each group of rounds. `by` is the name of a feature, each value of which
          is a group, or a list with the group of each round.

        Cost: one plain run per round. The best parameters also need the whole loss functions, once.
        `StoredLosses` need no runs.
        """
        runs = [getattr(problem, "fixed", problem.loss) for problem in self.problems]
        if by is None:
            against = self._comparator(rho, alpha, blocks, values)
        elif any(each is not None for each in (rho, alpha, blocks, values)):
            raise ValueError("give by without rho, alpha, blocks and values")
        else:
            against = self._best_of_groups(by)
        fixed = [call(run, parameters) for run, parameters in zip(runs, against, strict=True)]
        paid = self.loss - np.array(fixed)
        return np.cumsum(-paid if self.maximize else paid)

    def _best_of_groups(self, by: str | Sequence[Any]) -> list[Parameters]:
        """Return the best parameter of the group of each round."""
        groups = [context.get(by) for context in self.contexts] if isinstance(by, str) else list(by)
        if len(groups) != len(self):
            raise ValueError(f"by must have a group for each of {len(self)} rounds, got {len(groups)}")
        if isinstance(by, str) and not any(by in context for context in self.contexts):
            raise ValueError(f"by must be a feature of the contexts, got {by!r}")
        members: dict[Any, list[Any]] = {}
        for group, problem in zip(groups, self.problems, strict=True):
            members.setdefault(group, []).append(problem)
        best = {
            group: best_in_hindsight(each, maximize=self.maximize).parameters
            for group, each in members.items()
        }
        return [best[group] for group in groups]

    def _comparator(
        self, rho: float | None, alpha: Any, blocks: int | None, values: dict[str, Any] | None
    ) -> list[Parameters]:
        """Return the comparator of each round."""
        if alpha is not None and rho is None:
            raise ValueError(f"alpha needs rho, got alpha = {alpha!r} alone")
        if rho is not None and values is not None:
            raise ValueError(f"give rho or values, not both, got rho = {rho!r} and values = {values!r}")
        if blocks is not None:
            if rho is not None or values is not None:
                raise ValueError(f"give rho or blocks, not both, got rho = {rho!r} and blocks = {blocks!r}")
            sequence = self.best_blocks(blocks).sequences[-1]
            return [best.parameters for start, stop, best in sequence for _ in range(start, stop)]
        if rho is None and values is None:
            return [self.best().parameters] * len(self)
        if values is not None and not (isinstance(values, dict) and values.keys() == set(self.space.names)):
            raise TypeError(f"values must be a dict of the values of all knobs, got {values!r}")
        against = parameters_of((), rho, alpha) if values is None else values
        call(self.space.place, against)  # raises where that is not in the space
        return [against] * len(self)

    # -- densities -------------------------------------------------------------------------------

    def densities(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the density over time: rounds, bin edges of rho, and the probability in each bin.

        The probabilities have a row for each snapshot; on strips a matrix, with a line for each row of the
        space.
        """
        shares = np.array(list(self._snapshots.values()))
        if self.space.alphas == (None,):
            shares = shares[:, 0]
        return np.array(list(self._snapshots)), self._bins(), shares

    def _bins(self) -> FloatArray:
        n = _BINS if len(self.space.alphas) == 1 else _ROW_BINS
        return np.linspace(self.space.line.lo, self.space.line.hi, n + 1)

    def _binned(self, density: Any, line: Line) -> FloatArray:
        """Return the probability in equal bins of each row; the margins count to the end bins."""
        n_rows, ends = line.n_rows, line.ends
        starts = np.linspace(*ends, n_rows + 1)[:-1, None]
        bins = self._bins()[:-1] + (starts - starts[0])
        bins[:, :1] = starts
        shares: FloatArray = density.between(np.append(bins.ravel(), ends[1]))
        return shares.reshape(n_rows, -1)

    # -- tables ----------------------------------------------------------------------------------

    def table(self) -> Iterator[list[Any]]:
        """Iterate over the rounds, each a list of the entries of the columns."""
        return map(list, zip(*self.to_dict().values(), strict=True))

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns as lists of plain numbers, by name."""
        columns = {name: [getattr(row, name, None) for row in self.rows] for name in self.columns}
        if self.space.names:
            columns |= {_column_of(name): played.tolist() for name, played in self.values.items()}
        return columns

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame with one row per round. Needs pandas."""
        with needed("to_pandas", "pandas"):
            import pandas
        return pandas.DataFrame(self.to_dict()).set_index("t")

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write one line per round."""
        with open(_validate.path("path", path), "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows(self.table())


def _column_of(name: str) -> str:
    """Return the column name of a knob, different from all other columns."""
    return f"knob_{name}" if name in _FIELDS - {"rho", "alpha"} else name
