"""Exp3 on a grid, a learner for bandit feedback."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from semibandit import _validate
from semibandit._cached import cached_property
from semibandit.functions import Piecewise, PiecewiseConstant
from semibandit.learners import reading
from semibandit.learners.certificates import Certificate
from semibandit.learners.exp3_set import Exp3Set
from semibandit.learners.rates import Rate
from semibandit.learners.trials import Trial
from semibandit.spaces import Alpha, Boxes, Choice, Integer, Line, Real, Space, as_space, call
from semibandit.weights import Cells, Feedback, IntervalTree

__all__ = ["Exp3Grid"]

_MOST_CELLS = 4096


class Exp3Grid(Exp3Set):
    """Exp3 on the midpoints of `n_arms` equal cells: Exp3-SET with these cells as feedback sets.

    A round costs O(log N) on the interval tree (appendix A.2). See `Exp3Set` for the other parameters.

    Parameters
    ----------
    n_arms
        Number of points N. Default: T^(1/3) for a horizon of T rounds, which balances the regret of N arms,
        √(T·N), with the discretisation error T/N. On `Strips` with R rows a multiple of R, by default
        (T/R)^(1/3) per row.

    Examples
    --------
    >>> from semibandit import Interval
    >>> learner = Exp3Grid(Interval(0, 1), n_arms=4, seed=0)
    >>> trial = learner.ask()
    >>> trial.rho in {0.125, 0.375, 0.625, 0.875}
    True
    >>> learner.tell(trial, 0.3)
    """

    baselines = ("low", None)

    def __init__(
        self,
        space: Space | Real | Integer | Choice,
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
        space = as_space(space)
        if n_arms is None:
            if horizon is None:
                raise ValueError("give n_arms, or a horizon to choose it by")
            rows = len(space.alphas)
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

    def _lay_out(self, space: Space) -> Line:
        # Cells are [i, i + 1) on a line of their own, so that their ends are exact for any space.
        rows = len(space.alphas)
        if self.n_arms % rows:
            raise ValueError(f"n_arms must be a multiple of the {rows} rows, got {self.n_arms}")
        return Line(0.0, float(self.n_arms // rows), n_rows=rows)

    @cached_property
    def _cells(self) -> Cells:
        """The arms; groups of neighbours in a row if there are more than 4096."""
        rows = self._line.n_rows
        parts = min(self.n_arms // rows, max(_MOST_CELLS // rows, 1))
        inner = np.round(np.linspace(0.0, self._line.hi, parts + 1))[:-1]
        edges = np.append((self._line.starts[:-1, None] + inner).ravel(), self.n_arms)
        leaf = (1 << (rows * parts - 1).bit_length()) + np.arange(rows * parts)
        return Cells(edges, leaf, rows > 1)

    def _initial_weights(self) -> IntervalTree:
        return IntervalTree.from_pieces(np.arange(self.n_arms + 1.0), np.zeros(self.n_arms))

    def _parameters(self, position: float) -> tuple[Any, Alpha | None]:
        row, x = self._line.read(self._played(position))
        return self.space.line.value(self._rho(x)), self.space.alphas[row]

    def _rho(self, x: float) -> float:
        line = self.space.line
        rho = line.lo + (line.hi - line.lo) * (x / self._line.hi)
        return min(max(rho, line.lo), line.hi)

    def _own_position(self, x: float) -> float:
        line = self.space.line
        row, rho = line.read(x)
        return self._line.at(row, (rho - line.lo) / (line.hi - line.lo) * self._line.hi)

    def _cell(self, position: float) -> float:
        """Return the left end of the cell of a point of the line."""
        return float(min(int(position), self.n_arms - 1))

    def _played(self, position: float) -> float:
        return self._cell(position) + 0.5

    def _read(self, trial: Trial, look: int, seen: Any) -> Feedback:
        if isinstance(seen, Piecewise | Boxes):
            x = call(self.space.place, trial.looks[look])
            seen = self.space.line.on_rows(seen, x)(x)
        loss = reading.loss(seen, self._scale)
        cell = self._cell(trial.positions[look])
        return Feedback.step(cell, cell + 1.0, loss, cell, whole=self.n_arms == 1)

    def density(self, *, context: Any = None) -> PiecewiseConstant:
        """Return the density that spreads the probability of each arm over its cell. O(N)."""
        lo, hi = self.space.line.span
        shares = super().density(context=context).values
        edges = np.linspace(lo, hi, self.n_arms + 1)
        return PiecewiseConstant(edges, shares * (self.n_arms / (hi - lo)))

    def certificate(self, dispersion: Any = None) -> Certificate:
        """Return a bound on the expected regret so far against the best arm; `dispersion` is not used."""
        one_arm = super().certificate()
        learning = (
            one_arm.learning
            + (math.log(self.n_arms) - math.log(100.0)) * self._scale.unit / self.current_rate
        )
        paid = self._scale.unit * self._loss_mean * self.n_told
        return Certificate(min(learning + one_arm.clips, paid), learning, one_arm.clips, 0.0, 0.5)

    def learn_from(self, functions: Any, weight: float = 1.0) -> None:
        """Raise an error: a grid learns from single losses only."""
        raise ValueError("an Exp3Grid cannot learn from whole functions; an Exp3Set can")

    def _comparator(self) -> str:
        return f"the {self.n_arms} arms"

    def _config(self) -> dict[str, Any]:
        config = {"n_arms": self.n_arms} | super()._config()
        return {
            name: value
            for name, value in config.items()
            if name not in ("max_pieces", "drift", "prior", "context")
        }
