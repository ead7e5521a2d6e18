"""What all learners share: trials, delayed tells, the step of Algorithm 1, reading off the weights."""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.functions.constant import PiecewiseConstant
from semibandit.learners import _kernels, _linear, storage
from semibandit.learners.rates import AdaptiveRate, Rate, as_rate
from semibandit.spaces.interval import Interval
from semibandit.spaces.strips import Alpha, Space, Strips
from semibandit.weights.interval_tree import IntervalTree
from semibandit.weights.linear_pieces import Exponential, LinearPieces

__all__ = ["Learner", "Recommendation", "RowRecommendation", "Trial"]

# Pieces within this distance of the best logarithm of the weight count as equally good.
_EQUALLY_GOOD = 1e-9


@dataclass(frozen=True, slots=True)
class Trial:
    """One question: play `rho` (and `alpha`, on `Strips`), then tell the learner what was seen."""

    id: int
    rho: float
    learner: str = field(repr=False)
    position: float = field(repr=False)
    alpha: Alpha | None = None

    @property
    def parameters(self) -> tuple[Any, ...]:
        """What a problem's methods take: (rho,), or (rho, alpha)."""
        return (self.rho,) if self.alpha is None else (self.rho, self.alpha)

    def __repr__(self) -> str:
        alpha = "" if self.alpha is None else f", alpha={self.alpha!r}"
        return f"Trial(id={self.id!r}, rho={self.rho!r}{alpha})"


class Recommendation(NamedTuple):
    """The value to deploy, and the interval that it stands for."""

    rho: float
    interval: tuple[float, float]


class RowRecommendation(NamedTuple):
    """The parameters to deploy, and the interval of rho, in the row of alpha, that they stand for."""

    rho: float
    interval: tuple[float, float]
    alpha: Alpha


class Epoch:
    """The weights between two rebuildings, and the updates that a pending trial has not seen.

    The probability of a set is needed as it was when the trial was asked. Undoing the updates told since
    then gives it back without keeping old weights.
    """

    def __init__(self, tree: IntervalTree | LinearPieces) -> None:
        self.tree = tree
        self.updates: list[PiecewiseConstant] = []  # log factors on the whole line
        self.offset = 0  # updates dropped from the front of the list
        self.asked_at: dict[int, int] = {}  # pending trial -> updates before it

    @property
    def n_updates(self) -> int:
        """Updates so far, dropped ones included."""
        return self.offset + len(self.updates)

    def append(self, edges: FloatArray, factors: FloatArray) -> None:
        """Remember an update, for the pending trials."""
        lo, hi = self.tree.ends
        if edges[0] > lo:
            edges, factors = np.append(lo, edges), np.append(0.0, factors)
        if edges[-1] < hi:
            edges, factors = np.append(edges, hi), np.append(factors, 0.0)
        self.updates.append(PiecewiseConstant(edges, factors))

    def drop_unneeded(self) -> None:
        """Forget the updates that every pending trial has seen."""
        needed = min(self.asked_at.values(), default=self.n_updates)
        del self.updates[: needed - self.offset]
        self.offset = needed

    def share_when_asked(self, trial_id: int, edges: FloatArray, seen: FloatArray) -> float:
        """The probability, at the time of the ask, of the pieces that are not nan. O(k log P)."""
        missed = self.updates[self.asked_at[trial_id] - self.offset :]
        undo = PiecewiseConstant.sum(missed) if missed else PiecewiseConstant(self.tree.ends, [0.0])
        cells = np.union1d(edges, undo.edges)
        left = cells[:-1]
        logs = self.tree.log_shares(cells) - undo(left)
        weights = np.exp(logs - logs.max())
        return float(weights[~np.isnan(_look_up(edges, seen, left, outside=np.nan))].sum() / weights.sum())


class Learner:
    """Continuous Exp3-SET (Algorithm 1) on an interval tree (Algorithm 4); see the subclasses."""

    def __init__(
        self,
        space: Space,
        *,
        rate: float | Rate | None = None,
        horizon: int | None = None,
        high: float = 1.0,
        maximize: bool = False,
        baseline: str | None = "low",
        exploration: float = 0.0,
        max_pieces: int | None = None,
        seed: int | None = None,
    ) -> None:
        if not isinstance(space, Interval | Strips):
            raise TypeError(f"space must be an Interval or Strips, got {space!r}")
        if baseline not in ("low", None):
            raise ValueError(f"baseline must be 'low' or None, got {baseline!r}")
        self.space = space
        self._laid = self._lay_out(space)
        self.horizon = None if horizon is None else _validate.integer("horizon", horizon, low=1)
        self.rate = as_rate(rate, self.horizon)
        self.high = _validate.number("high", high, low=0.0, open=True)
        self.maximize = _validate.boolean("maximize", maximize)
        self.baseline = baseline
        self.exploration = _validate.number("exploration", exploration, low=0.0)
        self.max_pieces = None if max_pieces is None else _validate.integer("max_pieces", max_pieces, low=2)
        if seed is not None:
            _validate.integer("seed", seed, low=0)

        self.n_asked = 0
        self.n_told = 0
        self.n_failed = 0
        self.gap_sum = 0.0
        self.join_error = 0.0
        self.last_probability = math.nan
        self._loss_mean = 0.0
        self._loss_squares = 0.0  # Σ (loss - mean)², by Welford's recurrence
        self._name = uuid.uuid4().hex
        self._random = np.random.default_rng(seed)
        self._pending: dict[int, tuple[Trial, Epoch]] = {}
        self._epoch = Epoch(self._initial_tree())
        self.current_rate = self.rate.after(0, 0.0, math.inf)

    def _lay_out(self, space: Space) -> Space:
        """The space whose line carries the weights."""
        return space

    def _initial_tree(self) -> IntervalTree:
        return IntervalTree(*self._laid.line)

    def _parameter(self, position: float) -> float:
        """The parameter that a point of the line stands for."""
        return self.space.project(position)

    def _to_space(self, lo: float, hi: float) -> tuple[float, float]:
        """The interval of the parameter that [lo, hi) on the line stands for."""
        return self.space.stretch(lo, hi)

    # -- the protocol ----------------------------------------------------------------------------

    def ask(self) -> Trial:
        """Draw a parameter from the current density. O(log P)."""
        return self._asked(self._epoch.tree.draw(self._random.random()))

    def ask_again(self, position: float) -> Trial:
        """The trial of a record, whose draw fell on `position`: told the same again, a learner relearns.

        Uses up the draw, so that those after the last record are the ones that would have come.
        """
        lo, hi = self._epoch.tree.ends
        position = _validate.number("position", position, low=lo, high=hi)
        self._random.random()
        return self._asked(position)

    def _asked(self, position: float) -> Trial:
        alpha = self._laid.alpha_at(position)
        trial = Trial(self.n_asked, self._parameter(position), self._name, position, alpha)
        self.n_asked += 1
        self._pending[trial.id] = trial, self._epoch
        self._epoch.asked_at[trial.id] = self._epoch.n_updates
        return trial

    def tell(self, trial: Trial, seen: Any) -> None:
        """Learn from what a trial has shown; None: the run failed, which is counted and changes nothing else.

        Trials may be told late and in any order: the estimate uses the probability at the time of the ask.
        """
        epoch = self._epoch_of(trial)
        if seen is None:
            self.n_failed += 1
            self._finish(trial, epoch)
            return
        edges, losses, loss, whole = self._read(trial, seen)
        self._learn(trial, epoch, edges, losses, loss, whole)

    def forget(self, trial: Trial) -> None:
        """Give a pending trial up; nothing is learned from it."""
        self._finish(trial, self._epoch_of(trial))

    @property
    def pending(self) -> tuple[Trial, ...]:
        """The trials that were asked and not yet told, oldest first."""
        return tuple(trial for trial, _ in self._pending.values())

    def _epoch_of(self, trial: Trial) -> Epoch:
        if not isinstance(trial, Trial):
            raise TypeError(f"trial must be a Trial from ask(), got {trial!r}")
        if trial.learner != self._name:
            raise ValueError(f"trial {trial.id} was asked of another learner")
        if trial.id not in self._pending:
            if 0 <= trial.id < self.n_asked:
                raise ValueError(f"trial {trial.id} is finished: it was told or forgotten before")
            raise ValueError(f"trial {trial.id} is unknown: this learner has asked {self.n_asked} so far")
        pending, epoch = self._pending[trial.id]
        if trial is not pending and trial != pending:
            raise ValueError(f"trial {trial.id} was asked of a copy of this learner")
        return epoch

    def _finish(self, trial: Trial, epoch: Epoch) -> None:
        del self._pending[trial.id]
        del epoch.asked_at[trial.id]
        if epoch.updates:
            epoch.drop_unneeded()

    # -- one step of Algorithm 1 -----------------------------------------------------------------

    def _read(self, trial: Trial, seen: Any) -> tuple[FloatArray, FloatArray, float, bool]:
        """Edges and losses in [0, 1] on the line, the loss that was paid, and whether all was seen.

        Losses are a value for each piece, or two columns: at the left and at the right end of it.
        """
        raise NotImplementedError

    def _scaled(self, values: Any) -> Any:
        """Losses in [0, 1] from losses in [0, H] or utilities (appendix A.1)."""
        if self.maximize:
            return (self.high - values) / self.high
        return values if self.high == 1.0 else values / self.high

    def _learn(
        self, trial: Trial, epoch: Epoch, edges: FloatArray, losses: FloatArray, loss: float, whole: bool
    ) -> None:
        late = epoch is not self._epoch or epoch.n_updates != epoch.asked_at[trial.id]
        seen = losses if losses.ndim == 1 else losses[:, 0]
        p = 1.0 if whole else epoch.share_when_asked(trial.id, edges, seen) if late else -1.0
        # Seen as a whole, p is 1 and a shift changes all weights alike: that is Hedge, with nothing to clip.
        shifted = self.baseline is not None and not whole
        shift, floor = (self._low_baseline(), -1.0 / self.current_rate) if shifted else (0.0, -math.inf)
        tree = self._epoch.tree
        step = p, shift, self.exploration, floor, self.current_rate
        if isinstance(tree, LinearPieces) or losses.ndim == 2:
            weights, p, gap = _linear.learn(tree, edges, losses, *step)
            self._finish(trial, epoch)
            self._epoch = Epoch(weights)  # these weights never change, so pending trials keep the old ones
        else:
            tree._reserve(losses.size)
            factors = np.zeros(losses.size)
            p, gap = _kernels.learn(tree._nodes, edges, losses, factors, *step)
            self._finish(trial, epoch)
            if self._epoch.asked_at:
                self._epoch.append(edges, factors)
            else:
                self._epoch.offset += 1
        self.last_probability = p
        self.n_told += 1
        self.gap_sum += gap
        delta = loss - self._loss_mean
        self._loss_mean += delta / self.n_told
        self._loss_squares += delta * (loss - self._loss_mean)
        self._adjust()

    def _low_baseline(self) -> float:
        """The b of `baseline="low"`: the smaller of mean - σ/2 and 0.8·mean of the losses paid so far, or 0.

        Without the second, a learner whose losses are all alike would subtract them away and never explore.
        """
        if self.n_told == 0:
            return 0.0
        deviation = math.sqrt(self._loss_squares / self.n_told)
        return max(0.0, min(self._loss_mean - 0.5 * deviation, 0.8 * self._loss_mean))

    def _adjust(self) -> None:
        """Follow a change of the rate, and keep to the limit on pieces; both rebuild the tree."""
        rate = self.rate.after(self.n_told, self.gap_sum, self.current_rate)
        if rate != self.current_rate:
            power = rate / self.current_rate
            self._epoch = Epoch(self._epoch.tree.raised_to(power))
            self.join_error *= power
            self.current_rate = rate
        if self.max_pieces is not None and len(self._epoch.tree) > self.max_pieces:
            # Down to half, so that the cost of a join is spread over many rounds.
            tree, error = self._epoch.tree.joined(max(self.max_pieces // 2, 1))
            self._epoch = Epoch(tree)
            self.join_error += error

    # -- reading off the weights -----------------------------------------------------------------

    @property
    def n_pieces(self) -> int:
        """The number of pieces of the density."""
        return len(self._epoch.tree)

    def density(self) -> PiecewiseConstant | Exponential:
        """The density that the next parameter is drawn from. O(P).

        A step function; an `Exponential`, which can be called and integrated as well, once the learner has
        been told a piecewise linear loss.
        """
        tree = self._epoch.tree
        if isinstance(tree, LinearPieces):
            return Exponential(tree)
        edges, logs = tree.pieces()
        weights = np.exp(logs)
        return PiecewiseConstant(edges, weights / np.dot(weights, np.diff(edges)))

    def recommend(self) -> Recommendation | RowRecommendation:
        """The value to deploy: the middle of the (widest) interval with the least estimated loss. O(P).

        On `Strips` together with the alpha of the row that the interval is in.
        """
        tree = self._epoch.tree
        if isinstance(tree, LinearPieces):
            best = tree.argmax(_EQUALLY_GOOD)
        else:
            edges, logs = tree.pieces()
            best = self._laid.argmin(PiecewiseConstant(edges, np.where(logs >= -_EQUALLY_GOOD, 0.0, 1.0)))
        rho = self._parameter(0.5 * best[0] + 0.5 * best[1])
        alpha = self._laid.alpha_at(best[0])
        if alpha is None:
            return Recommendation(rho, self._to_space(*best))
        return RowRecommendation(rho, self._to_space(*best), alpha)

    @property
    def guarantee(self) -> str:
        """What is proved of this configuration."""
        if self.baseline is not None:
            return "no regret proof (the baseline clips estimates; without it there is one)"
        if self.exploration:
            return "no regret proof in expectation (implicit exploration biases estimates)"
        return "an expected regret bounded as in Theorem 3"

    # -- saving ----------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a file, atomically: `semibandit.load` continues with the same future draws."""
        storage.save(self, path)

    def _config(self) -> dict[str, Any]:
        """The constructor's arguments, for `repr` and for saving."""
        return {
            "rate": self.rate,
            "horizon": self.horizon,
            "high": self.high,
            "maximize": self.maximize,
            "baseline": self.baseline,
            "exploration": self.exploration,
            "max_pieces": self.max_pieces,
        }

    def __repr__(self) -> str:
        shown = [repr(self.space), *self._shown()]
        return (
            f"{type(self).__name__}({', '.join(shown)}): {self.n_told} rounds told, "
            f"{len(self._pending)} pending, {self.n_pieces} pieces, rate {self.current_rate:g}; "
            f"{self.guarantee}"
        )

    def _shown(self) -> Iterator[str]:
        defaults = {"rate": AdaptiveRate(self.horizon), "horizon": None, "high": 1.0, "maximize": False}
        defaults |= {"exploration": 0.0, "max_pieces": None}
        for name, value in self._config().items():
            if name not in defaults or value != defaults[name]:
                yield f"{name}={value!r}"


def _look_up(edges: FloatArray, values: FloatArray, x: FloatArray, outside: float) -> FloatArray:
    """The step function (edges, values) at points x, with a value outside of it."""
    index = np.searchsorted(edges, x, side="right") - 1
    inside = (index >= 0) & (index < values.size)
    return np.where(inside, values[np.where(inside, index, 0)], outside)
