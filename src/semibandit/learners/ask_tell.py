"""Ask and tell: trials, tells at any time, and the step of Algorithm 1."""

from __future__ import annotations

import functools
import math
import threading
import uuid
from collections.abc import Callable
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

import numpy as np
from msgspec.structs import replace

from semibandit import _validate
from semibandit.learners.evidence import Paid
from semibandit.learners.rates import Rate, as_rate
from semibandit.learners.trials import Epoch, Trial
from semibandit.spaces import Alpha, Line, Space, parameters_of
from semibandit.weights import (
    Cells,
    IntervalTree,
    Learned,
    Rule,
    Seen,
    Step,
    Weights,
    dyadic_cells,
    united,
)

__all__ = ["AskTell", "one_at_a_time"]

_SALT = 0x5E4B1A2D
_SEVERAL = list, tuple  # what the looks of a trial are told in

P = ParamSpec("P")
R = TypeVar("R")
L = TypeVar("L", bound="AskTell")


def one_at_a_time(method: Callable[Concatenate[L, P], R]) -> Callable[Concatenate[L, P], R]:
    """Let one thread at a time into a learner: kernels run without Python's own lock."""

    @functools.wraps(method)
    def locked(self: L, /, *args: P.args, **options: P.kwargs) -> R:
        with self._lock:
            return method(self, *args, **options)

    return locked


def generator(seed: int | None) -> np.random.Generator:
    """What a learner draws from: salted, so that a simulator with the same seed draws something else."""
    return np.random.default_rng(None if seed is None else [seed, _SALT])


def _nothing() -> float:
    """The shift of a learner without a baseline."""
    return 0.0


class AskTell:
    """The rounds of continuous Exp3-SET (Algorithm 1) on weights that draw and integrate.

    Subclasses say what was seen (`_read`) and which weights there are to begin with. Threads may share one:
    each of its methods runs alone.
    """

    baselines: ClassVar[tuple[str | None, ...]] = ("low", None)

    def __init__(
        self,
        space: Space,
        *,
        rate: float | Rate | None = None,
        horizon: int | None = None,
        high: float = 1.0,
        maximize: bool = False,
        baseline: str | None = None,
        exploration: float | str = 0.0,
        max_pieces: int | None = None,
        seed: int | None = None,
    ) -> None:
        if not isinstance(space, Space):
            raise TypeError(f"space must be an Interval, Strips or Knobs, got {space!r}")
        if not isinstance(baseline, str | None) or baseline not in self.baselines:
            names = ", ".join(map(repr, self.baselines[:-1]))
            raise ValueError(f"baseline must be {names} or {self.baselines[-1]!r}, got {baseline!r}")
        self.space = space
        self._line = self._lay_out(space)
        self.horizon = None if horizon is None else _validate.integer("horizon", horizon, low=1)
        self.baseline = baseline
        self.rate = as_rate(self._default_rate() if rate is None else rate, self.horizon)
        self.high = _validate.number("high", high, low=0.0, open=True)
        self.maximize = _validate.boolean("maximize", maximize)
        self.exploration: float | str = "auto"
        if not isinstance(exploration, str) or exploration != "auto":
            self.exploration = _validate.number("exploration", exploration, low=0.0)
        self.max_pieces = None if max_pieces is None else _validate.integer("max_pieces", max_pieces, low=2)
        if seed is not None:
            _validate.seed("seed", seed)

        self.n_asked = 0
        self.n_told = 0
        self.n_failed = 0
        self.n_late = 0
        self.n_partial = 0  # rounds that have not shown the whole function
        self.gap_sum = 0.0
        self.join_error = 0.0
        self.explore_sum = 0.0  # by how much implicit exploration has lowered the estimate of what was paid
        self.clip_mean = 0.0  # by how much clips have raised estimates: in the mean, and at most
        self.clip_most = 0.0
        self.head_start = 0.0  # by how many losses logged instances favour one place over another
        self.last_probabilities: tuple[float, ...] = ()
        self._loss_mean = 0.0
        self._loss_squares = 0.0  # Σ (loss - mean)², by Welford's recurrence
        self._handicap = 0.0  # by how much the logarithm of the prior is below that of an even one, at most
        self._name = uuid.uuid4().hex
        self._random = generator(seed)
        self._lock = threading.RLock()
        self._pending: dict[int, tuple[Trial, Epoch]] = {}
        self._paid = Paid(self._cells)
        self.current_rate = self.rate.after(0, 0.0, math.inf)
        self._epoch = Epoch(self._initial_weights())

    def _lay_out(self, space: Space) -> Line:
        """The line that carries the weights."""
        return space.line

    @functools.cached_property
    def _cells(self) -> Cells:
        """Where neighbours learn from each other, and what was paid is added up."""
        return dyadic_cells(self.space)

    def _default_rate(self) -> Rate | None:
        """What `rate=None` means; None: an `AdaptiveRate` for the horizon."""
        return None

    def _initial_weights(self) -> Weights:
        return IntervalTree(*self._line.ends)

    def _rho(self, x: float) -> float:
        """The parameter that a place in a row of the line stands for."""
        return x

    # -- the protocol ----------------------------------------------------------------------------

    def ask(self, *, probes: int = 0, position: Any = None) -> Trial:
        """Draw a parameter from the current density. O(log P) on a tree, O(P) with a local baseline.

        Parameters
        ----------
        probes
            The number of further parameters, drawn alike, to look at on the same instance (`trial.probes`).
        position
            The `positions` of a trial on record (or its only one): the trial stands there instead of where
            the draws fall, and the draws are used up. Told the same again, a learner relearns, and goes on as
            it would have.
        """
        with self._lock:
            if position is not None:
                positions = self._on_record(position)
            elif type(probes) is int and probes == 0:  # the usual case at the least cost
                positions = (self._epoch.weights.draw(self._random.random()),)
            else:
                probes = _validate.integer("probes", probes, low=0)
                draws = self._random.random(1 + probes).tolist()
                positions = tuple(map(self._epoch.weights.draw, draws))
            trial_id, epoch = self.n_asked, self._epoch
            trial = self._trial(trial_id, positions)
            self.n_asked += 1
            self._pending[trial_id] = trial, epoch
            epoch.asked_at[trial_id] = epoch.n_updates
            return trial

    def _on_record(self, position: Any) -> tuple[float, ...]:
        """The positions of a trial on record; uses up as many draws."""
        lo, hi = self._line.ends
        given = position if isinstance(position, list | tuple) else [position]
        if not given:
            raise ValueError(f"position must hold at least one place, got {position!r}")
        positions = tuple(_validate.number("position", x, low=lo, high=hi) for x in given)
        self._random.random(len(positions))
        return positions

    def _trial(self, trial_id: int, positions: tuple[float, ...]) -> Trial:
        rho, alpha = self._parameters(positions[0])
        names = self.space.names
        if len(positions) == 1:
            return Trial(trial_id, rho, self._name, positions, alpha, (), names)
        others = map(self._parameters, positions[1:])
        if names:
            probes = tuple(parameters_of(names, x, a) for x, a in others)
        else:
            probes = tuple(x if a is None else (x, a) for x, a in others)
        return Trial(trial_id, rho, self._name, positions, alpha, probes, names)

    def _parameters(self, position: float) -> tuple[Any, Alpha | None]:
        """Rho, as its value, and alpha at a place on the line."""
        row, x = self._line.read(position)
        return self._line.value(x), self.space.alphas[row]

    def _standing(self, position: float) -> float:
        """The point of the line that is played for a draw."""
        return position

    def tell(self, trial: Trial, seen: Any, *, probability: Any = None) -> None:
        """Learn from what a trial has shown; None: the run failed, which is counted and changes nothing else.

        Trials may be told late and in any order: the estimate uses the probability at the time of the ask. On
        the interval tree that costs O(k log P) for k tells in between, with a local baseline O(P).

        Parameters
        ----------
        trial
            From `ask`.
        seen
            A function that covers the parameter, or a single loss. For a trial with probes a list of what
            each look has shown, the played parameter first, None for those that are missing.
        probability
            That of a tell on record (`last_probabilities`), to be used again as it was.
        """
        with self._lock:
            epoch = self._epoch_of(trial)
            told = self._told(trial, seen)
            if told is None:
                self.n_failed += 1
                self._finish(trial, epoch)
                return
            if probability is not None:
                told = told.in_arrays()
                p = np.atleast_1d(_validate.floats("probability", probability))
                p = _validate.vector("probability", p, length=told.times.size, low=0.0)
                told = replace(told, p=p)
            self._learn(trial, epoch, told)

    def _told(self, trial: Trial, seen: Any) -> Seen | Step | None:
        """What the looks of a trial have shown together; None if all are missing."""
        if not isinstance(seen, _SEVERAL):
            home = self._line.home(trial.positions[0])
            return None if seen is None else self._read(trial, 0, home, seen)
        if len(seen) > len(trial.positions) or not seen:
            raise ValueError(
                f"seen must be what each of {len(trial.positions)} looks has shown, got {len(seen)} of them"
            )
        looks = []
        for i, one in enumerate(seen):
            if one is not None:
                home = self._line.home(trial.positions[i])
                looks.append((home, self._read(trial, i, home, one)))
        return united(looks) if looks else None

    @one_at_a_time
    def forget(self, trial: Trial) -> None:
        """Give a pending trial up; nothing is learned from it."""
        self._finish(trial, self._epoch_of(trial))

    @property
    def pending(self) -> tuple[Trial, ...]:
        """The trials that were asked and not yet told, oldest first."""
        with self._lock:
            return tuple(trial for trial, _ in self._pending.values())

    def _epoch_of(self, trial: Trial) -> Epoch:
        if not isinstance(trial, Trial):
            raise TypeError(f"trial must be a Trial from ask(), got {trial!r}")
        asked = self._pending.get(trial.id)
        if asked is not None and asked[0] is trial:  # the usual case at the least cost
            return asked[1]
        if trial.learner != self._name:
            raise ValueError(f"trial {trial.id} was asked of another learner")
        if asked is None:
            if 0 <= trial.id < self.n_asked:
                raise ValueError(f"trial {trial.id} is finished: it was told or forgotten before")
            raise ValueError(f"trial {trial.id} is unknown: this learner has asked {self.n_asked} so far")
        if asked[0] != trial:
            raise ValueError(f"trial {trial.id} was asked of a copy of this learner")
        return asked[1]

    def _finish(self, trial: Trial, epoch: Epoch) -> None:
        del self._pending[trial.id]
        del epoch.asked_at[trial.id]
        if epoch.updates:
            epoch.drop_unneeded()

    # -- one step of Algorithm 1 -----------------------------------------------------------------

    def _read(self, trial: Trial, look: int, home: float, seen: Any) -> Seen | Step:
        """Check what a user has told of a look, and lay it on the line."""
        raise NotImplementedError

    def _scaled(self, values: Any) -> Any:
        """Losses in [0, 1] from losses in [0, H] or utilities (appendix A.1)."""
        if self.maximize:
            return (self.high - values) / self.high
        return values if self.high == 1.0 else values / self.high

    def _learn(self, trial: Trial, epoch: Epoch, seen: Seen | Step) -> None:
        current = self._epoch
        late = epoch is not current or epoch.n_updates != epoch.asked_at[trial.id]
        if late:
            shares = functools.partial(epoch.shares_when_asked, trial.id)
            seen = replace(seen.in_arrays(), shares_at_ask=shares)
        rule = self._rule(seen.whole)
        weights = current.weights
        if len(current.asked_at) > (epoch is current):  # other trials were asked of these weights
            weights = weights.apart()
        learned = weights.learn(seen, rule)
        self._finish(trial, epoch)
        if learned.weights is not current.weights:
            self._go_on_with(learned.weights)
        elif current.asked_at and learned.factors is not None:
            current.append(seen.edges, learned.factors)
        else:
            current.n_updates += 1
        self.n_late += late
        self._count(seen, rule.explore, learned)
        self._adjust(learned.speed)

    def _count(self, seen: Seen | Step, explore: float, learned: Learned) -> None:
        """Add a round to the statistics."""
        paid, mean = seen.paid, self._loss_mean
        self.last_probabilities = learned.p
        self.n_told += 1
        self.n_partial += not seen.whole
        self._paid.add(seen.home, paid, learned.remembered)
        self.gap_sum = learned.kept * (self.gap_sum + learned.gap)
        if explore:
            self.explore_sum += explore * paid / (learned.p[0] + explore)
        self.clip_mean += learned.clipped
        self.clip_most += learned.most_clipped
        self._loss_mean = mean + (paid - mean) / self.n_told
        self._loss_squares += (paid - mean) * (paid - self._loss_mean)

    def _go_on_with(self, weights: Weights) -> None:
        """Replace the weights; pending trials keep the old ones."""
        if self._epoch.asked_at:
            self._epoch = Epoch(weights)
        else:
            self._epoch.weights = weights

    def _rule(self, whole: bool) -> Rule:
        """How losses become estimates in the next step."""
        rate = self.current_rate
        if whole:  # p is 1 and a shift changes all weights alike: that is Hedge, with nothing to clip
            return Rule(_nothing, 0.0, -math.inf, rate)
        explore = 0.5 * rate if isinstance(self.exploration, str) else self.exploration
        if self.baseline is None:
            return Rule(_nothing, explore, -math.inf, rate)
        return Rule(self._low_baseline, explore, -1.0 / rate, rate)

    @property
    def last_probability(self) -> float:
        """The probability that the parameter played in the last round was seen; nan before the first."""
        return self.last_probabilities[0] if self.last_probabilities else math.nan

    def _low_baseline(self) -> float:
        """The b of `baseline="low"`: the smaller of mean - σ/2 and 0.8·mean of the losses paid so far, or 0.

        Without the second, a learner whose losses are all alike would subtract them away and never explore.
        """
        if self.n_told == 0:
            return 0.0
        deviation = math.sqrt(self._loss_squares / self.n_told)
        return max(0.0, min(self._loss_mean - 0.5 * deviation, 0.8 * self._loss_mean))

    def _adjust(self, speed: float) -> None:
        """Follow a change of the rate, and keep to the limit on pieces, which both rebuild a tree."""
        weights = self._epoch.weights
        rate = self.rate.after(self.n_told, self.gap_sum, self.current_rate, weights.finest_rate_step, speed)
        if rate != self.current_rate:
            power = rate / self.current_rate
            self._go_on_with(weights.raised_to(power))
            self.join_error *= power
            self.current_rate = rate
        if self.max_pieces is not None and len(self._epoch.weights) > self.max_pieces:
            # Down to half, so that the cost of a join is spread over many rounds.
            weights, error = self._epoch.weights.joined(max(self.max_pieces // 2, 1))
            self._go_on_with(weights)
            self.join_error += error
