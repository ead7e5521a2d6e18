"""What all learners share: trials, delayed tells, the step of Algorithm 1, reading off the weights."""

from __future__ import annotations

import functools
import math
import threading
import uuid
from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any, Concatenate, NamedTuple, ParamSpec, Self, TypeVar

import numpy as np

from semibandit import _validate
from semibandit.learners import storage
from semibandit.learners.rates import AdaptiveRate, Rate, as_rate
from semibandit.learners.trials import Epoch, Trial
from semibandit.spaces import Alpha, Line, Space
from semibandit.weights import IntervalTree, Rule, Seen, Weights

__all__ = ["Learner", "Recommendation"]

# Pieces within this distance of the best logarithm of the weight count as equally good.
_EQUALLY_GOOD = 1e-9
_SALT = 0x5E4B1A2D

P = ParamSpec("P")
R = TypeVar("R")
L = TypeVar("L", bound="Learner")


def _one_at_a_time(method: Callable[Concatenate[L, P], R]) -> Callable[Concatenate[L, P], R]:
    """Let one thread at a time into a learner: kernels run without Python's own lock."""

    @functools.wraps(method)
    def locked(self: L, /, *args: P.args, **options: P.kwargs) -> R:
        with self._lock:
            return method(self, *args, **options)

    return locked


def generator(seed: int | None) -> np.random.Generator:
    """What a learner draws from: salted, so that a simulator with the same seed draws something else."""
    return np.random.default_rng(None if seed is None else [seed, _SALT])


class _Deployed(NamedTuple):
    rho: float
    interval: tuple[float, float]


class Recommendation(_Deployed):
    """The value to deploy, and the interval that it stands for; on `Strips` also the `alpha` of its row.

    Unpacks as (rho, interval).
    """

    alpha: Alpha | None

    def __new__(cls, rho: float, interval: tuple[float, float], alpha: Alpha | None = None) -> Self:
        """The pair of rho and interval, with alpha as an attribute."""
        recommendation = super().__new__(cls, rho, interval)
        recommendation.alpha = alpha
        return recommendation

    @property
    def parameters(self) -> tuple[Any, ...]:
        """What a problem's methods take: (rho,), or (rho, alpha)."""
        return (self.rho,) if self.alpha is None else (self.rho, self.alpha)

    def __repr__(self) -> str:
        alpha = "" if self.alpha is None else f", alpha={self.alpha!r}"
        return f"Recommendation(rho={self.rho!r}, interval={self.interval!r}{alpha})"


class Learner:
    """Continuous Exp3-SET (Algorithm 1) on weights that draw and integrate; see the subclasses.

    A learner may be shared by threads: each of its methods runs alone.
    """

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
        if not isinstance(space, Space):
            raise TypeError(f"space must be an Interval or Strips, got {space!r}")
        if baseline not in ("low", None):
            raise ValueError(f"baseline must be 'low' or None, got {baseline!r}")
        self.space = space
        self._line = self._lay_out(space)
        self.horizon = None if horizon is None else _validate.integer("horizon", horizon, low=1)
        self.rate = as_rate(rate, self.horizon)
        self.high = _validate.number("high", high, low=0.0, open=True)
        self.maximize = _validate.boolean("maximize", maximize)
        self.baseline = baseline
        self.exploration = _validate.number("exploration", exploration, low=0.0)
        self.max_pieces = None if max_pieces is None else _validate.integer("max_pieces", max_pieces, low=2)
        if seed is not None:
            _validate.seed("seed", seed)

        self.n_asked = 0
        self.n_told = 0
        self.n_failed = 0
        self.n_late = 0
        self.gap_sum = 0.0
        self.join_error = 0.0
        self.clip_sum = 0.0
        self.last_probabilities: tuple[float, ...] = ()
        self._loss_mean = 0.0
        self._loss_squares = 0.0  # Σ (loss - mean)², by Welford's recurrence
        self._name = uuid.uuid4().hex
        self._random = generator(seed)
        self._lock = threading.RLock()
        self._pending: dict[int, tuple[Trial, Epoch]] = {}
        self._epoch = Epoch(self._initial_weights())
        self.current_rate = self.rate.after(0, 0.0, math.inf)

    def _lay_out(self, space: Space) -> Line:
        """The line that carries the weights."""
        return space.line

    def _initial_weights(self) -> Weights:
        return IntervalTree(*self._line.ends)

    def _rho(self, x: float) -> float:
        """The parameter that a place in a row of the line stands for."""
        return x

    # -- the protocol ----------------------------------------------------------------------------

    @_one_at_a_time
    def ask(self, *, position: float | None = None) -> Trial:
        """Draw a parameter from the current density. O(log P).

        With the `position` of a trial on record, the trial stands there instead of where the draw falls, and
        the draw is used up: told the same again, a learner relearns, and goes on as it would have.
        """
        if position is not None:
            lo, hi = self._line.ends
            position = _validate.number("position", position, low=lo, high=hi)
        drawn = self._epoch.weights.draw(self._random.random())
        return self._asked(drawn if position is None else position)

    def _asked(self, position: float) -> Trial:
        trial = self._trial(self.n_asked, position)
        self.n_asked += 1
        self._pending[trial.id] = trial, self._epoch
        self._epoch.asked_at[trial.id] = self._epoch.n_updates
        return trial

    def _trial(self, trial_id: int, position: float) -> Trial:
        row, x = self._line.read(position)
        return Trial(trial_id, self._rho(x), self._name, position, self.space.alphas[row])

    @_one_at_a_time
    def tell(self, trial: Trial, seen: Any, *, probability: Any = None) -> None:
        """Learn from what a trial has shown; None: the run failed, which is counted and changes nothing else.

        Trials may be told late and in any order: the estimate uses the probability at the time of the ask.
        `probability` is that of a tell on record (`last_probabilities`), to be used again as it was.
        """
        epoch = self._epoch_of(trial)
        if seen is None:
            self.n_failed += 1
            self._finish(trial, epoch)
            return
        told = self._read(trial, seen)
        if probability is not None:
            p = np.atleast_1d(_validate.floats("probability", probability))
            told = told._replace(p=_validate.vector("probability", p, length=told.chances().size, low=0.0))
        self._learn(trial, epoch, told)

    @_one_at_a_time
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

    def _read(self, trial: Trial, seen: Any) -> Seen:
        """Check what a user has told, and lay it on the line."""
        raise NotImplementedError

    def _scaled(self, values: Any) -> Any:
        """Losses in [0, 1] from losses in [0, H] or utilities (appendix A.1)."""
        if self.maximize:
            return (self.high - values) / self.high
        return values if self.high == 1.0 else values / self.high

    def _learn(self, trial: Trial, epoch: Epoch, seen: Seen) -> None:
        late = epoch is not self._epoch or epoch.n_updates != epoch.asked_at[trial.id]
        if late:
            seen = seen._replace(shares_at_ask=functools.partial(epoch.shares_when_asked, trial.id))
        learned = self._epoch.weights.learn(seen, self._rule(seen.whole))
        self._finish(trial, epoch)
        if learned.weights is not self._epoch.weights:  # pending trials keep the old ones
            self._epoch = Epoch(learned.weights)
        elif self._epoch.asked_at and learned.factors is not None:
            self._epoch.append(seen.edges, learned.factors)
        else:
            self._epoch.offset += 1
        self.last_probabilities = tuple(learned.p.tolist())
        self.n_told += 1
        self.n_late += late
        self.gap_sum += learned.gap
        self.clip_sum += learned.clipped
        delta = seen.paid - self._loss_mean
        self._loss_mean += delta / self.n_told
        self._loss_squares += delta * (seen.paid - self._loss_mean)
        self._adjust()

    def _rule(self, whole: bool) -> Rule:
        """How losses become estimates in the next step."""
        # Seen as a whole, p is 1 and a shift changes all weights alike: that is Hedge, with nothing to clip.
        if whole or self.baseline is None:
            return Rule(0.0, self.exploration, -math.inf, self.current_rate)
        return Rule(self._low_baseline(), self.exploration, -1.0 / self.current_rate, self.current_rate)

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

    def _adjust(self) -> None:
        """Follow a change of the rate, and keep to the limit on pieces; both rebuild the tree."""
        rate = self.rate.after(self.n_told, self.gap_sum, self.current_rate)
        if rate != self.current_rate:
            power = rate / self.current_rate
            self._epoch = Epoch(self._epoch.weights.raised_to(power))
            self.join_error *= power
            self.current_rate = rate
        if self.max_pieces is not None and len(self._epoch.weights) > self.max_pieces:
            # Down to half, so that the cost of a join is spread over many rounds.
            weights, error = self._epoch.weights.joined(max(self.max_pieces // 2, 1))
            self._epoch = Epoch(weights)
            self.join_error += error

    # -- reading off the weights -----------------------------------------------------------------

    @property
    def n_pieces(self) -> int:
        """The number of pieces of the density."""
        return len(self._epoch.weights)

    @_one_at_a_time
    def density(self) -> Any:
        """The density that the next parameter is drawn from. O(P).

        A step function; an `ExponentialDensity`, which can be called and integrated as well, once the
        learner has been told a piecewise linear loss.
        """
        return self._epoch.weights.density()

    @_one_at_a_time
    def recommend(self) -> Recommendation:
        """The value to deploy: the middle of the (widest) interval with the least estimated loss. O(P).

        On `Strips` together with the alpha of the row that the interval is in.
        """
        log = self._epoch.weights.log()
        behind = log.of_ends(log.edges, *(np.where(end >= -_EQUALLY_GOOD, 0.0, -end) for end in log.ends))
        row, (lo, hi) = self._line.argmin(behind)
        lo, hi = self._rho(lo), self._rho(hi)
        return Recommendation(0.5 * lo + 0.5 * hi, (lo, hi), self.space.alphas[row])

    @property
    def guarantee(self) -> str:
        """What is proved of this configuration, in a sentence."""
        if self.baseline is not None:
            return "no regret proof (the baseline clips estimates; with baseline=None there is one)"
        if self.exploration:
            bound = "an expected regret of at most (λ/2 + γ)·T·M + d·ln(R/r)/λ + T·L·r + f(T, r)"
        else:
            bound = "an expected regret bounded as in Theorem 3"
        reservations = [f"against the best of {self._comparator()}", "if the sets told form a partition"]
        if self.n_late:
            reservations.append("up to the delay of late tells, which the theorem does not know")
        if self.join_error:
            reservations.append(f"up to joins, which moved the log-weights by {self.join_error:.2g} at most")
        return f"{bound}, {', '.join(reservations)}"

    def _comparator(self) -> str:
        rows = len(self.space.alphas)
        return "all parameters" if rows == 1 else f"all parameters in the {rows} rows"

    # -- saving ----------------------------------------------------------------------------------

    @_one_at_a_time
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

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

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
