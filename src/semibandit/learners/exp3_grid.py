"""Exp3 on a grid: the learner for bandit feedback."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.functions import Piecewise
from semibandit.functions.constant import PiecewiseConstant
from semibandit.learners.learner import Learner, Trial
from semibandit.learners.rates import Rate
from semibandit.spaces.interval import Interval
from semibandit.spaces.strips import Space, Strips
from semibandit.weights.interval_tree import IntervalTree

__all__ = ["Exp3Grid"]


class Exp3Grid(Learner):
    """Exp3 on the midpoints of `n_arms` equal cells, O(log N) a round on the same tree (appendix A.2).

    The parameters that `Exp3Set` has mean the same here.

    Parameters
    ----------
    n_arms
        The number of points; by default T^(1/3) for a horizon of T rounds, which balances the cost of
        learning N arms, √(T·N), with that of being 1/N off, T/N. On `Strips` with R rows a multiple of R,
        by default (T/R)^(1/3) a row.

    Examples
    --------
    >>> learner = Exp3Grid(Interval(0, 1), n_arms=4, seed=0)
    >>> trial = learner.ask()
    >>> trial.rho in {0.125, 0.375, 0.625, 0.875}
    True
    >>> learner.tell(trial, 0.3)
    """

    def __init__(
        self,
        space: Space,
        n_arms: int | None = None,
        *,
        rate: float | Rate | None = None,
        horizon: int | None = None,
        high: float = 1.0,
        maximize: bool = False,
        baseline: str | None = "low",
        exploration: float = 0.0,
        seed: int | None = None,
    ) -> None:
        if n_arms is None:
            if horizon is None:
                raise ValueError("give n_arms, or a horizon to choose it by")
            rows = len(space) if isinstance(space, Strips) else 1
            n_arms = rows * math.ceil((_validate.integer("horizon", horizon, low=1) / rows) ** (1 / 3))
        self.n_arms = _validate.integer("n_arms", n_arms, low=1)
        super().__init__(
            space,
            rate=rate,
            horizon=horizon,
            high=high,
            maximize=maximize,
            baseline=baseline,
            exploration=exploration,
            seed=seed,
        )

    def _lay_out(self, space: Space) -> Space:
        # Cells are [i, i + 1) on a line of their own: their ends are then exact, whatever the space.
        if isinstance(space, Interval):
            return Interval(0, self.n_arms)
        if self.n_arms % len(space):
            raise ValueError(f"n_arms must be a multiple of the {len(space)} rows, got {self.n_arms}")
        return Strips(space.n_rows, Interval(0, self.n_arms // len(space)), space.over)

    def _initial_tree(self) -> IntervalTree:
        return IntervalTree.from_pieces(np.arange(self.n_arms + 1.0), np.zeros(self.n_arms))

    def _parameter(self, position: float) -> float:
        return self._scaled_to_space(self._laid.project(min(int(position), self.n_arms - 1) + 0.5))

    def _to_space(self, lo: float, hi: float) -> tuple[float, float]:
        first, last = self._laid.stretch(lo, hi)
        return self._scaled_to_space(first), self._scaled_to_space(last)

    def _scaled_to_space(self, cells: float) -> float:
        """The parameter after so many cells of a row."""
        row = self.space if isinstance(self.space, Interval) else self.space.interval
        total = self.n_arms if isinstance(self.space, Interval) else self.n_arms // len(self.space)
        return row.project(row.lo + row.width * (cells / total))

    def _read(self, trial: Trial, seen: Any) -> tuple[FloatArray, FloatArray, float, bool]:
        if isinstance(seen, Piecewise):
            seen = seen(self.space.place(*trial.parameters))
        value = _validate.number("the loss told", seen, low=0.0, high=self.high)
        loss = float(self._scaled(value))
        cell = float(min(int(trial.position), self.n_arms - 1))
        return np.array([cell, cell + 1.0]), np.array([loss]), loss, self.n_arms == 1

    def density(self) -> PiecewiseConstant:
        """The probability of each cell, spread evenly over it. O(N)."""
        on_cells = super().density()
        assert isinstance(on_cells, PiecewiseConstant)
        lo, hi = self.space.span
        edges = np.linspace(lo, hi, self.n_arms + 1)
        return PiecewiseConstant(edges, on_cells.values * (self.n_arms / (hi - lo)))

    def _config(self) -> dict[str, Any]:
        config = {"n_arms": self.n_arms} | super()._config()
        del config["max_pieces"]
        return config
