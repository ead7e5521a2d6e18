"""Continuous Exp3-SET: the learner for semi-bandit feedback, and Hedge where everything is seen."""

from __future__ import annotations

from typing import Any

from semibandit._validate import FloatArray
from semibandit.learners import _kernels
from semibandit.learners.base import Learner, Trial
from semibandit.piecewise import PiecewiseConstant

__all__ = ["Exp3Set"]


class Exp3Set(Learner):
    """Algorithm 1 of the paper on the interval tree of its appendix A.2: O(log t) a round.

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
        "low" (default): estimates are (loss - b)/p, clipped below at -1/λ, with b half a standard deviation
        below the mean of past losses. Shifting by b leaves the estimates unbiased up to a constant and makes
        them smaller; with the clip there is no regret proof. None: the provable configuration.
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
        if not isinstance(seen, PiecewiseConstant):
            raise TypeError(
                f"seen must be a PiecewiseConstant that covers {_named(trial)}, "
                f"or None for a failed run, got {seen!r}"
            )
        edges, values = self.space.lay(seen)
        status, value, whole = _kernels.survey(edges, values, self.space.point(trial.position), self.high)
        if status == _kernels.OUT_OF_RANGE:
            raise ValueError(f"the values told must be in [0, {self.high:g}], got {value!r}")
        if status == _kernels.NOT_COVERED:
            raise ValueError(f"the function told must cover {_named(trial)}, got {seen!r}")
        a, b = self.space.line
        whole = whole and bool(edges[0] == a) and bool(edges[-1] == b)
        return edges, self._scaled(values), float(self._scaled(value)), whole


def _named(trial: Trial) -> str:
    return f"rho = {trial.rho!r}" + ("" if trial.alpha is None else f", alpha = {trial.alpha!r}")
