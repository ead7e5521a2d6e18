"""Continuous Exp3-SET: the learner for semi-bandit feedback, and Hedge where everything is seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from semibandit._validate import FloatArray
from semibandit.functions.constant import PiecewiseConstant
from semibandit.functions.linear import PiecewiseLinear
from semibandit.learners import _kernels
from semibandit.learners.learner import Learner, Trial
from semibandit.spaces.interval import Interval

__all__ = ["Exp3Set"]


class Exp3Set(Learner):
    """Algorithm 1 of the paper on the interval tree of its appendix A.2: O(log t) a round.

    Told a `PiecewiseLinear`, it learns from that exactly: the logarithm of the density becomes piecewise
    linear. From then on its weights are `LinearPieces` and a round costs O(P) for P pieces; `max_pieces`
    keeps P small.

    Parameters
    ----------
    space
        Where the parameter lives. On `Strips` there are two (or more), and what is told is a function on
        the line of its rows.
    rate
        A number, a `TheoremRate`, or an `AdaptiveRate` (default), which needs neither T nor M.
    horizon
        The number of rounds, where it is known; the default rate uses it.
    high
        The largest possible loss or utility H; values lie in [0, H] (appendix A.1).
    maximize
        Told values are utilities, to be large, instead of losses.
    baseline
        "low" (default): estimates are (loss - b)/p, clipped below at -1/λ, with b half a standard deviation,
        and a fifth at least, below the mean of past losses. Shifting by b leaves the estimates unbiased up
        to a constant and makes them smaller; with the clip there is no regret proof. None: the provable
        configuration.
    exploration
        γ of implicit exploration: estimates divide by p + γ. Off by default.
    max_pieces
        Above this number of pieces, neighbours are joined down to half of it; `join_error` then bounds by how
        much all joins have moved the logarithm of the weight anywhere, and twice that the density's.
    seed
        For the draws.

    Examples
    --------
    >>> from semibandit import Interval
    >>> learner = Exp3Set(Interval(0, 1), seed=0)
    >>> for _ in range(200):
    ...     trial = learner.ask()
    ...     if trial.rho < 0.6:
    ...         learner.tell(trial, PiecewiseConstant([0, 0.6], [0.9]))
    ...     else:
    ...         learner.tell(trial, PiecewiseConstant([0.6, 1], [0.2]))
    >>> learner.recommend()
    Recommendation(rho=0.8, interval=(0.6, 1.0))
    """

    def _read(self, trial: Trial, seen: Any) -> tuple[FloatArray, FloatArray, float, bool]:
        if isinstance(seen, PiecewiseLinear) and isinstance(self.space, Interval):
            return self._read_linear(self.space, trial, seen)
        if not isinstance(seen, PiecewiseConstant):
            raise TypeError(
                f"seen must be a PiecewiseConstant (or, on an Interval, PiecewiseLinear) that covers "
                f"{_named(trial)}, or None for a failed run, got {seen!r}"
            )
        edges, values = self.space.lay(seen)
        # Copies, as numba takes much longer to look at arrays that are read-only.
        edges, values = edges.copy(), values.copy()
        status, value, whole = _kernels.survey(edges, values, self.space.point(trial.position), self.high)
        if status == _kernels.OUT_OF_RANGE:
            raise self._out_of_range(value)
        if status == _kernels.NOT_COVERED:
            raise self._not_covered(trial, seen)
        a, b = self.space.line
        whole = whole and bool(edges[0] == a) and bool(edges[-1] == b)
        return edges, self._scaled(values), float(self._scaled(value)), whole

    def _read_linear(
        self, space: Interval, trial: Trial, seen: PiecewiseLinear
    ) -> tuple[FloatArray, FloatArray, float, bool]:
        edges, ends = space.lay_linear(seen)
        unseen = np.isnan(ends)
        bad = ~(unseen | ((ends >= 0.0) & (ends <= self.high)))
        if bad.any():
            raise self._out_of_range(float(ends[bad][0]))
        if not seen.edges[0] <= trial.rho <= seen.edges[-1]:
            raise self._not_covered(trial, seen)
        value = seen(trial.rho)
        if np.isnan(value):  # the right end of a stretch is closed where no other piece has it
            value = float(np.append(seen.right[seen.edges[1:] == trial.rho], np.nan)[0])
        if np.isnan(value):
            raise self._not_covered(trial, seen)
        whole = not unseen.any() and (edges[0], edges[-1]) == space.line
        return edges, self._scaled(ends), float(self._scaled(value)), whole

    def _out_of_range(self, value: float) -> ValueError:
        return ValueError(f"the values told must be in [0, {self.high:g}], got {value!r}")

    def _not_covered(self, trial: Trial, seen: Any) -> ValueError:
        return ValueError(f"the function told must cover {_named(trial)}, got {seen!r}")


def _named(trial: Trial) -> str:
    return f"rho = {trial.rho!r}" + ("" if trial.alpha is None else f", alpha = {trial.alpha!r}")
