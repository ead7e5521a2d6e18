"""What all learners share: trials, delayed tells, the step of Algorithm 1, reading off the weights."""

from __future__ import annotations

import functools
import math
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

import numpy as np
from msgspec.structs import replace

from semibandit import _validate
from semibandit.functions import Piecewise
from semibandit.learners import storage
from semibandit.learners.certificates import Certificate, certify
from semibandit.learners.evidence import Evidence, Paid
from semibandit.learners.rates import Rate, as_rate
from semibandit.learners.recommendation import Recommendation, at_the_minimum, by_mass
from semibandit.learners.trials import Epoch, Trial
from semibandit.spaces import Alpha, Boxes, Line, Space, parameters_of
from semibandit.weights import Cells, IntervalTree, Learned, Rule, Seen, Weights, dyadic_cells, united

__all__ = ["Learner"]

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


class Learner:
    """Continuous Exp3-SET (Algorithm 1) on weights that draw and integrate; see the subclasses.

    A learner may be shared by threads: each of its methods runs alone.
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
            trial = self._trial(self.n_asked, positions)
            self.n_asked += 1
            self._pending[trial.id] = trial, self._epoch
            self._epoch.asked_at[trial.id] = self._epoch.n_updates
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
        probes: tuple[Any, ...] = ()
        if len(positions) > 1:
            others = map(self._parameters, positions[1:])
            if names:
                probes = tuple(parameters_of(names, x, a) for x, a in others)
            else:
                probes = tuple(x if a is None else (x, a) for x, a in others)
        return Trial(trial_id, rho, self._name, positions, alpha, probes, names)

    def _parameters(self, position: float) -> tuple[Any, Alpha | None]:
        row, x = self._line.read(self._standing(position))
        return self.space.line.value(self._rho(x)), self.space.alphas[row]

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
                p = np.atleast_1d(_validate.floats("probability", probability))
                p = _validate.vector("probability", p, length=told.chances().size, low=0.0)
                told = replace(told, p=p)
            self._learn(trial, epoch, told)

    def _told(self, trial: Trial, seen: Any) -> Seen | None:
        """What the looks of a trial have shown together; None if all are missing."""
        if not isinstance(seen, list | tuple):
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

    def _read(self, trial: Trial, look: int, home: float, seen: Any) -> Seen:
        """Check what a user has told of a look, and lay it on the line."""
        raise NotImplementedError

    def _in_units(self, evidence: Evidence) -> Evidence:
        """Losses in [0, 1] as what was told: the reverse of `_scaled`."""
        mean = 1.0 - evidence.mean if self.maximize else evidence.mean
        return Evidence(self.high * mean, self.high * evidence.error, evidence.rounds)

    def _scaled(self, values: Any) -> Any:
        """Losses in [0, 1] from losses in [0, H] or utilities (appendix A.1)."""
        if self.maximize:
            return (self.high - values) / self.high
        return values if self.high == 1.0 else values / self.high

    def _learn(self, trial: Trial, epoch: Epoch, seen: Seen) -> None:
        late = epoch is not self._epoch or epoch.n_updates != epoch.asked_at[trial.id]
        if late:
            seen = replace(seen, shares_at_ask=functools.partial(epoch.shares_when_asked, trial.id))
        rule = self._rule(seen.whole)
        weights = self._epoch.weights
        if len(self._epoch.asked_at) > (epoch is self._epoch):  # other trials were asked of these weights
            weights = weights.apart()
        learned = weights.learn(seen, rule)
        self._finish(trial, epoch)
        if learned.weights is not self._epoch.weights:
            self._go_on_with(learned.weights)
        elif self._epoch.asked_at and learned.factors is not None:
            self._epoch.append(seen.edges, learned.factors)
        else:
            self._epoch.offset += 1
        self._count(seen, rule, learned)
        self.n_late += late
        self._adjust(learned.speed)

    def _count(self, seen: Seen, rule: Rule, learned: Learned) -> None:
        """Add a round to the statistics."""
        self.last_probabilities = tuple(learned.p.tolist())
        self.n_told += 1
        self.n_partial += not seen.whole
        self._paid.add(seen.home, seen.paid, learned.remembered)
        self.gap_sum = learned.kept * (self.gap_sum + learned.gap)
        if rule.explore:
            self.explore_sum += rule.explore * seen.paid / (self.last_probabilities[0] + rule.explore)
        self.clip_mean += learned.clipped
        self.clip_most += learned.most_clipped
        delta = seen.paid - self._loss_mean
        self._loss_mean += delta / self.n_told
        self._loss_squares += delta * (seen.paid - self._loss_mean)

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
            return Rule(0.0, 0.0, -math.inf, rate)
        explore = 0.5 * rate if isinstance(self.exploration, str) else self.exploration
        if self.baseline is None:
            return Rule(0.0, explore, -math.inf, rate)
        return Rule(self._low_baseline(), explore, -1.0 / rate, rate)

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
        """Follow a change of the rate, and keep to the limit on pieces; both rebuild the tree."""
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
        """The value to deploy, the interval that it stands for, and what was paid there. O(P).

        The median of the density, where nothing speaks against it: parts of the line that are worse than the
        best by two standard errors, by the losses paid there, are cut out, and of those that are left the one
        with the most weight is taken. (The tallest piece of a density may be a sliver that was never played.)
        Rounds that have all shown whole functions leave nothing to guess: then it is the middle of the widest
        interval with the least loss. On `Strips` together with the alpha of the row.
        """
        choose = by_mass if self.n_partial else at_the_minimum
        row, x, (lo, hi) = choose(self._epoch.weights, self._line, self._paid)
        shift, space = self._line.shift(row), self.space
        rho, interval = space.line.stretch(self._rho(lo), self._rho(hi))
        if self.n_partial:
            rho = space.line.value(self._rho(self._standing(x)))
        evidence = self._in_units(self._paid.between(lo + shift, hi + shift))
        return Recommendation(rho, interval, space.alphas[row], space.names, evidence)

    @property
    def guarantee(self) -> str:
        """What is proved of this configuration, in a sentence."""
        if self.baseline is not None:
            return "no regret proof in advance; `certificate` bounds the expected regret as the game goes on"
        if isinstance(self.exploration, str):
            bound = (
                "with probability 1 - δ a regret of at most ln(|C|/2r)/λ + Σ gaps + ½·Σ λ·loss/(p + λ/2) "
                "+ ln(J/δ)/λ + T·L·r + f(T, r), for J ≤ 2 + log2(1 + T) values of the rate (Neu 2015)"
            )
        elif self.exploration:
            bound = "an expected regret of at most (λ/2 + γ)·T·M + d·ln(2R/r)/λ + T·L·r + f(T, r)"
        else:
            bound = f"an expected regret bounded as in {self.rate.theorem}"
        reservations = [f"against the best of {self._comparator()}", "if the sets told form a partition"]
        if self.n_late:
            reservations.append("up to the delay of late tells, which the theorem does not know")
        if self.join_error:
            reservations.append(f"up to joins, which moved the log-weights by {self.join_error:.2g} at most")
        return f"{bound}, {', '.join(reservations)}"

    @_one_at_a_time
    def certificate(self, dispersion: Any = None) -> Certificate:
        """A bound on the expected regret so far, from what the learner itself has seen. O(P).

        It is the least over r of ln(|C|/2r)/λ + Σ gaps + what clips have added + T·L·r + f(T, r): since the
        rate has never risen, the estimates of what was paid exceed their average over a ball of radius r by
        no more than the first two terms, path by path; they are unbiased but for the clips, which are known.
        With a prior, ln(1/π(B)) for the least likely ball B takes the place of the first; logged instances
        add by how much they favour one place over another, as they may have been misleading.

        Parameters
        ----------
        dispersion
            What `sb.dispersion.measure` has found on the stream, for f and L. Without it the comparator is
            not the best parameter but the best ball of a hundredth of the line.
        """
        if dispersion is not None and not callable(getattr(dispersion, "D", None)):
            raise TypeError(f"dispersion must be what sb.dispersion.measure returns, got {dispersion!r}")
        measured, line = getattr(dispersion, "space", None), self.space.line
        if measured is not None and not self.space.names and (measured.lo, measured.hi) != (line.lo, line.hi):
            raise ValueError(
                f"dispersion must be measured on the learner's space, [{line.lo:g}, {line.hi:g}], "
                f"got one on [{measured.lo:g}, {measured.hi:g}]; measure(problems, space) takes the space"
            )
        if getattr(self, "drift", None) is not None:
            raise ValueError("a learner with drift has no certificate: its rate may rise")
        return certify(
            length=self._line.extent,
            handicap=self._handicap,
            rounds=self.n_told,
            rate=self.current_rate,
            gaps=self.gap_sum + self.explore_sum + self.join_error / self.current_rate + self.head_start,
            clips=max(self._epoch.weights.raised() + self.clip_most - self.clip_mean, 0.0),
            paid=self._loss_mean * self.n_told,
            high=self.high,
            dispersion=dispersion,
        )

    @_one_at_a_time
    def learn_from(self, functions: Iterable[Piecewise], weight: float = 1.0) -> None:
        """Learn from logged instances before the first round: their whole loss functions. O(N log N).

        Parameters
        ----------
        functions
            Whole loss functions (or utilities), as `losses()` of a problem returns them.
        weight
            How many rounds each of them counts for; less than 1 if the logs may be of another kind.
        """
        if self.n_asked:
            raise ValueError(f"learn_from must come before the first round, got {self.n_asked} asked already")
        weight = _validate.number("weight", weight, low=0.0, open=True)
        functions = _validate.iterable("functions", functions, "a sequence of functions")
        laid = [self._whole(i, function) for i, function in enumerate(functions)]
        if not laid:
            raise ValueError("functions must hold at least one function, got none")
        total = Piecewise.total(laid)
        self._epoch = Epoch(self._epoch.weights.warmed(total, len(laid), weight, self.current_rate))
        self.head_start += weight * (float(np.maximum(*total.ends).max()) - total.min())

    def _whole(self, i: int, function: Any) -> Piecewise:
        """A logged function on the line, as losses in [0, 1]."""
        if not isinstance(function, Piecewise | Boxes):
            raise TypeError(f"functions[{i}] must be a piecewise function, got {function!r}")
        laid = self._line.lay(function)
        if not laid.whole or (float(laid.edges[0]), float(laid.edges[-1])) != self._line.ends:
            raise ValueError(f"functions[{i}] must be seen on the whole space, got {function!r}")
        low, high = laid.min(), float(np.maximum(*laid.ends).max())
        if low < 0.0 or high > self.high:
            raise ValueError(
                f"functions[{i}] must have values in [0, {self.high:g}], got {low:g} to {high:g}"
            )
        left, right = laid.ends
        scaled = np.array(self._scaled(left))
        return laid.of_ends(laid.edges, scaled, scaled if left is right else np.array(self._scaled(right)))

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
        defaults = {"rate": as_rate(self._default_rate(), self.horizon), "horizon": None, "high": 1.0}
        defaults |= {"maximize": False, "exploration": 0.0, "max_pieces": None, "drift": None, "prior": None}
        for name, value in self._config().items():
            if name not in defaults or value != defaults[name]:
                yield f"{name}={value!r}"
