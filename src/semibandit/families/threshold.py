"""One threshold: items with a score above it are flagged."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.families.greedy.solution import BoolArray, frozen
from semibandit.families.instance import before_end, interval_or
from semibandit.families.stepwise import Stepwise
from semibandit.functions.constant import PiecewiseConstant
from semibandit.spaces.interval import Interval

__all__ = ["Threshold"]


class Threshold(Stepwise):
    """Items that are flagged if their score exceeds the threshold ρ.

    With one item there are two feedback sets: the thresholds that flag it, and those that do not.

    Parameters
    ----------
    score
        Score of the item, or of each item. An item whose score equals the threshold is not flagged, except at
        the right end of the space.
    if_flagged, if_not
        Loss of an item that is flagged, and of one that is not; in [0, 1].
    space
        The thresholds; [0, 1] by default.
    weights
        Weight of each item, >= 0; equal by default. The loss is the weighted mean over the items.
    expected
        Prediction of `if_flagged` that is made before the label is seen, in [0, 1]. Give it only if `if_not`
        is known without the label, too.
    partition
        The feedback sets: the maximal intervals with the same "output", the flagged items, or with the same
        "loss".

    Notes
    -----
    If a label is seen only for flagged items, let `if_not` be a known constant: subtract the loss of not
    flagging from both losses. That changes no regret. A false alarm of cost p and a miss of cost q give
    if_flagged = 0 for a positive, 1 for a negative, and if_not = q / (p + q).

    With `expected`, the property `predicted` is the loss function that is known before any label is seen:
    `learner.tell(trial, seen, predicted=problem.predicted)` makes estimates less noisy.

    Edges are the scores themselves, so everything is exact. A run takes O(n).

    Examples
    --------
    >>> alarm = Threshold(0.7, if_flagged=0.0, if_not=0.5)
    >>> alarm.losses()
    PiecewiseConstant([0.0, 0.7, 1.0], [0.0, 0.5])
    >>> alarm.reveal(0.9)
    PiecewiseConstant([0.7, 1.0], [0.5])
    >>> Threshold(0.7, if_flagged=0.0, if_not=0.5, expected=0.3).predicted
    PiecewiseConstant([0.0, 0.7, 1.0], [0.3, 0.5])
    """

    def __init__(
        self,
        score: npt.ArrayLike,
        if_flagged: npt.ArrayLike,
        if_not: npt.ArrayLike,
        space: Interval | None = None,
        *,
        weights: npt.ArrayLike | None = None,
        expected: npt.ArrayLike | None = None,
        partition: str = "output",
    ) -> None:
        super().__init__(interval_or((0.0, 1.0), space), partition)
        self.score = frozen(_validate.vector("score", _listed("score", score)))
        n = self.score.size
        if n == 0:
            raise ValueError("score must have at least one entry, got none")
        self.if_flagged = _losses("if_flagged", if_flagged, n)
        self.if_not = _losses("if_not", if_not, n)
        self.expected = None if expected is None else _losses("expected", expected, n)
        weights = np.ones(n) if weights is None else _listed("weights", weights)
        weights = _validate.vector("weights", weights, length=n, low=0.0)
        largest = float(weights.max())
        if not largest > 0.0:
            raise ValueError(f"weights must have a positive entry, got {weights}")
        weights = weights / largest
        self.weights = frozen(weights / weights.sum())

    @property
    def predicted(self) -> PiecewiseConstant | None:
        """The loss function with `expected` in the place of `if_flagged`; None without `expected`."""
        if self.expected is None:
            return None
        expected = self.expected
        return Threshold(self.score, expected, self.if_not, self.space, weights=self.weights).losses()

    def flagged(self, rho: float) -> BoolArray:
        """Return a bool for each item: whether the threshold rho flags it."""
        return np.asarray(self.score > before_end(self.space, rho))

    def _run(self, rho: float) -> tuple[float, float, float]:
        flagged = self.score > rho
        lo = max(self.space.lo, float(self.score[~flagged].max(initial=-np.inf)))
        hi = min(self.space.hi, float(self.score[flagged].min(initial=np.inf)))
        loss = float(self.weights @ np.where(flagged, self.if_flagged, self.if_not))
        return lo, hi, min(1.0, loss)  # weights may sum to 1 and some ulp

    def __repr__(self) -> str:
        return f"Threshold({self.score.size} items, {self.space})"


def _listed(name: str, values: npt.ArrayLike) -> FloatArray:
    """Return an array of floats, with one entry for a number."""
    return np.atleast_1d(_validate.floats(name, values, "a number, or a sequence of numbers"))


def _losses(name: str, values: npt.ArrayLike, n: int) -> FloatArray:
    """Return a frozen array of n losses in [0, 1]; a single number counts for every item."""
    array = _listed(name, values)
    array = np.full(n, array[0]) if array.shape == (1,) else array
    array = _validate.vector(name, array, length=n, low=0.0)
    if array.max() > 1.0:
        raise ValueError(f"{name} must be in [0, 1], got {float(array.max())!r}")
    return frozen(array)
