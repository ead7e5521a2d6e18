"""Continuous Exp3-SET: the learner for semi-bandit feedback, and Hedge where everything is seen."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from semibandit import _validate
from semibandit.functions import Piecewise, PiecewiseConstant
from semibandit.learners._survey import NOT_COVERED, OUT_OF_RANGE, survey
from semibandit.learners.learner import Learner
from semibandit.learners.rates import AdaptiveRate, Rate
from semibandit.learners.trials import Trial
from semibandit.spaces import Boxes, Space
from semibandit.weights import (
    COARSE,
    HALVINGS,
    Drift,
    IntervalTree,
    LocalPieces,
    Seen,
    Step,
    Weights,
    WholeSoFar,
    n_nodes,
)

__all__ = ["Exp3Set"]

_BUDGET = 512  # pieces with a local baseline: more of them made no stream better


class Exp3Set(Learner):
    """Continuous Exp3-SET (Algorithm 1 of the paper), told whole functions, parts of them, or single losses.

    By default it subtracts from each loss what it expects of the parameter, which makes estimates much less
    noisy (`LocalPieces`); a round costs O(P) for at most some 500 pieces, however many rounds there were.
    Told whole functions only, it is exactly Hedge on exact pieces. With `baseline="low"` or None its weights
    are on the interval tree of appendix A.2, and a round costs O(log t).

    A single loss, `tell(trial, 0.3)`, counts for a cell around the parameter, a 32nd of the space or less
    where much is played: as on any grid, what differs within a cell is averaged. Of a `PiecewiseLinear` seen
    in part the means over pieces count. Told whole ones, or without a local baseline, the learner goes on
    with weights that are exp of a piecewise linear function (`ExponentialPieces`) and the scalar baseline.

    Parameters
    ----------
    space
        Where the parameter lives. On `Strips` there are two (or more), and what is told is a function on
        the line of its rows.
    rate
        A number, a `TheoremRate`, or an `AdaptiveRate` (default), which needs neither T nor M.
    horizon
        The number of rounds, where it is known; without a local baseline the default rate uses it.
    high
        The largest possible loss or utility H; values lie in [0, H] (appendix A.1).
    maximize
        Told values are utilities, to be large, instead of losses.
    baseline
        "local" (default): estimates are b + 1{seen}·(loss - b)/p, where b(ρ) is what is expected at ρ from
        the losses seen there and nearby; the correction is averaged over cells, finer where much is played,
        and clipped below at -1/λ. `certificate` counts what that changes. "low": b is one number, half a
        standard deviation, and a fifth at least, below the mean of past losses. None: no baseline, nothing is
        clipped, and there is a proof in advance.
    drift
        None: the best parameter stays. A number in (0, 1): in each round this share of the weight is spread
        over the space, and the past is forgotten 16 times as fast (fixed share; Balcan, Dick, Sharma 2020).
        "auto": it is found out whether anything moves. Told parts of functions, the learner plays as with
        None until the losses paid have risen beyond chance, and then begins anew with a part of the weight;
        told whole functions, a long and a short memory are compared. Needs the local baseline.
    prior
        A density to start from, such as `density()` of an older learner; one part in a hundred of it is made
        even, so that no place is lost. In a regret bound ln(1/π(B)) takes the place of ln(|C|/2r).
    exploration
        γ of implicit exploration: estimates divide by p + γ. Off by default; "auto" is γ = λ/2, which has a
        bound with high probability (Neu 2015).
    max_pieces
        Above this number of pieces, neighbours are joined. On the interval tree down to half of it, and there
        is no limit by default; `join_error` then bounds by how much all joins have moved the logarithm of the
        weight anywhere, and twice that the density's.
    seed
        For the draws.

    Examples
    --------
    >>> from semibandit import Interval, PiecewiseConstant
    >>> learner = Exp3Set(Interval(0, 1), seed=0)
    >>> for _ in range(200):
    ...     trial = learner.ask()
    ...     if trial.rho < 0.5:
    ...         learner.tell(trial, PiecewiseConstant([0, 0.5], [0.9]))
    ...     else:
    ...         learner.tell(trial, PiecewiseConstant([0.5, 1], [0.2]))
    >>> learner.recommend()
    Recommendation(rho=0.75, interval=(0.5, 1.0)): 0.2 ± 0 in 198 rounds
    """

    baselines = ("local", "low", None)

    def __init__(
        self,
        space: Space,
        *,
        rate: float | Rate | None = None,
        horizon: int | None = None,
        high: float = 1.0,
        maximize: bool = False,
        baseline: str | None = "local",
        drift: float | str | None = None,
        prior: PiecewiseConstant | None = None,
        exploration: float | str = 0.0,
        max_pieces: int | None = None,
        seed: int | None = None,
    ) -> None:
        self.drift = self._checked_drift(drift, baseline)
        self.prior = prior
        if prior is not None and not isinstance(prior, PiecewiseConstant):
            raise TypeError(f"prior must be a density as a PiecewiseConstant, got {prior!r}")
        super().__init__(
            space,
            rate=rate,
            horizon=horizon,
            high=high,
            maximize=maximize,
            baseline=baseline,
            exploration=exploration,
            max_pieces=max_pieces,
            seed=seed,
        )

    def _default_rate(self) -> Rate | None:
        if self.baseline != "local":
            return None
        # Found by experiment; ln T, the usual choice, learns more slowly.
        return AdaptiveRate(log_term=15.0 if len(self.space.alphas) > 1 else 10.0)

    @staticmethod
    def _checked_drift(drift: Any, baseline: str | None) -> float | str | None:
        if drift is None:
            return None
        if not isinstance(baseline, str) or baseline != "local":
            raise ValueError(f"drift needs baseline='local', got baseline={baseline!r}")
        if isinstance(drift, str):
            if drift != "auto":
                raise ValueError(f"drift must be 'auto', a number between 0 and 1, or None, got {drift!r}")
            return drift
        return _validate.number("drift", drift, low=0.0, high=1.0, open=True)

    def _initial_weights(self) -> Weights:
        prior = self._laid_prior()
        if prior is not None:
            self._handicap = -math.log(prior.min() * (self._line.ends[1] - self._line.ends[0]))
        if self.baseline != "local":
            if prior is None:
                return super()._initial_weights()
            return IntervalTree.from_pieces(prior.edges, np.log(prior.values))
        cells, budget = self._cells, self._budget
        if prior is None and self.drift is None:
            return WholeSoFar(cells, budget)
        share = None if isinstance(self.drift, str) else self.drift
        drift = None if self.drift is None else Drift.of(share, n_nodes(cells))
        return LocalPieces(cells, self.current_rate, budget, prior, drift)

    @property
    def _budget(self) -> int:
        return self.max_pieces or _BUDGET + (self._cells.leaf.size if self._cells.along_rows else 0)

    def _laid_prior(self) -> PiecewiseConstant | None:
        """The prior on the line that carries weights, as a density."""
        if self.prior is None:
            return None
        ends = (float(self.prior.edges[0]), float(self.prior.edges[-1]))
        if len(self.space.alphas) > 1 and ends not in (self._line.ends, self._line.span):
            raise ValueError(
                f"prior must be a density on the {len(self.space.alphas)} rows of the space, from "
                f"{self._line.ends[0]:g} to {self._line.ends[1]:g}, got one from {ends[0]:g} to {ends[1]:g}; "
                "that of a learner goes with its own space: Exp3Set(older.space, prior=older.density())"
            )
        laid: Any = self.prior if ends == self._line.ends else self._line.lay(self.prior)
        whole = laid.whole and (float(laid.edges[0]), float(laid.edges[-1])) == self._line.ends
        if not whole or laid.min() < 0.0 or laid.integral() <= 0.0:
            raise ValueError(f"prior must be a density on the whole space, got {self.prior!r}")
        even = 1.0 / (self._line.ends[1] - self._line.ends[0])
        density = 0.99 * (laid.values / laid.integral()) + 0.01 * even
        return PiecewiseConstant(laid.edges, density)

    def _config(self) -> dict[str, Any]:
        return super()._config() | {"drift": self.drift, "prior": self.prior}

    def _read(self, trial: Trial, look: int, home: float, seen: Any) -> Seen | Step:
        line = self._line
        if type(seen) is PiecewiseConstant and seen.values.size == 1 and line.bare:
            # The usual case at the least cost; all others, and what is wrong with them, take the way below.
            (lo, hi), value, (first, last) = seen.edges.tolist(), seen.values.item(), line.ends
            if first <= lo <= home <= hi <= last and 0.0 <= value <= self.high:
                return Step(lo, hi, self._scaled(value), home, lo == first and hi == last)
        if not isinstance(seen, Piecewise | Boxes):
            if isinstance(seen, int | float | np.floating | np.integer) and not isinstance(seen, bool):
                return self._read_point(home, seen)
            raise TypeError(
                f"seen must be a PiecewiseConstant or PiecewiseLinear that covers {trial.named(look)}, "
                f"a single loss, or None for a failed run, got {seen!r}"
            )
        laid = line.lay(seen, home)
        # Copies, as numba takes much longer to look at arrays that are read-only.
        edges, sets = laid.edges.copy(), np.zeros(len(laid), np.int64)
        left, right = (end.copy() for end in laid.ends)
        status, value, whole = survey(edges, left, right, sets, home, self.high, *line.ends)
        if status == OUT_OF_RANGE:
            raise ValueError(f"the values told must be in [0, {self.high:g}], got {float(value)!r}")
        if status == NOT_COVERED:
            raise ValueError(f"the function told must cover {trial.named(look)}, got {seen!r}")
        left, value = self._scaled(left), self._scaled(value)
        right = left if laid.degree == 0 else self._scaled(right)
        return Seen(edges, (left, right), sets, float(value), home, whole)

    def _read_point(self, home: float, seen: Any) -> Step:
        """A single loss stands for the cell around its parameter: cells are a partition as well."""
        loss = float(self._scaled(_validate.number("the loss told", seen, low=0.0, high=self.high)))
        return Step(*self._cell_around(home), loss, home, single=True)

    def _cell_around(self, home: float) -> tuple[float, float]:
        """The cell that a single loss speaks for; it depends on the past alone, not on the draw.

        A 32nd of the line at first, halved while it holds more than a share 4·t^(-1/3) of the mass: fine
        where much is played, coarse elsewhere, where estimates vary more.
        """
        edges = self._cells.edges
        if not self._cells.along_rows and math.isinf(self._line.size):
            edges = edges[::2]
        i = min(max(int(np.searchsorted(edges, home, side="right")) - 1, 0), edges.size - 2)
        lo, hi = float(edges[i]), float(edges[i + 1])
        most = math.log(COARSE) - math.log1p(self.n_told) / 3.0
        if most > 0.0:  # no share is larger
            return lo, hi
        for _ in range(HALVINGS):
            middle = self._line.halfway(lo, hi)
            if not lo < middle < hi or self._epoch.weights.log_shares(np.array([lo, hi]))[0] <= most:
                break
            lo, hi = (middle, hi) if home >= middle else (lo, middle)
        return lo, hi
