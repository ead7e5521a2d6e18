"""Continuous Exp3-SET (Algorithm 1 of the paper), the learner for semi-bandit feedback."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np
from msgspec.structs import replace

from semibandit import _validate
from semibandit._cached import cached_property
from semibandit.functions import Piecewise, PiecewiseConstant
from semibandit.learners import reading
from semibandit.learners.certified import CertifiedLearner
from semibandit.learners.contexts import Cell, ContextAtAsk, ContextCell, ContextCells, Place
from semibandit.learners.drift import Drift
from semibandit.learners.forecasts import Forecast
from semibandit.learners.locks import serialized
from semibandit.learners.ranges import LossRange
from semibandit.learners.rates import AdaptiveRate, Rate, as_rate
from semibandit.learners.recommendation import Recommendation, at_the_minimum, by_mass
from semibandit.learners.statistics import FEWEST, Evidence, PlayStats
from semibandit.learners.trials import Epoch, Trial
from semibandit.spaces import Choice, Context, Integer, Line, Real, Space, as_space
from semibandit.weights import (
    Cells,
    Feedback,
    IntervalTree,
    LocalPieces,
    Mixture,
    Rule,
    Update,
    Weights,
    dyadic_cells,
)

__all__ = ["Exp3Set"]

_BUDGET = 512  # pieces with a local baseline; more did not lower the regret of any stream
_CELL_BUDGET = 128  # pieces of a cell of contexts; 512 did not lower the regret


class Exp3Set(CertifiedLearner):
    """Continuous Exp3-SET (Algorithm 1) for whole functions, parts of functions, and single losses.

    By default, losses are any finite numbers, and two learners share the play (`LocalPieces`): a fast one,
    whose estimates subtract the loss expected at the parameter, and a safe one with a regret bound. Both use
    the range of the losses told as the unit. Nothing is learned from the first four rounds. A round costs
    O(P) for P pieces, at most about 500. While all feedback is whole functions, the learner is exactly Hedge
    on an interval tree. With `baseline="low"` or None the weights are always an interval tree (appendix A.2),
    and a round costs O(log t).

    A single loss, `tell(trial, 0.3)`, counts for the cell around the parameter: a 32nd of the space, halved
    where the mass is. Of a `PiecewiseLinear`, the means over pieces count; pieces are halved where the mass
    is.

    Parameters
    ----------
    space
        Space of the parameter. On `Strips`, feedback is a function on the line of its rows. A `Real` or an
        `Integer` alone is the knob `rho`, a `Choice` alone the knob `choice` (see `trial.values`).
    rate
        A number, a `TheoremRate`, or an `AdaptiveRate` (default), which needs neither T nor M. Numbers and
        `TheoremRate` are for losses in units of `high` (1 if not given).
    horizon
        Number of rounds T, if known; the default rate uses it unless the baseline is local.
    high
        Bound H on losses or utilities, if one is known: values lie in [0, H] (appendix A.1). With a baseline
        other than "local" the default is 1.
    maximize
        Values are utilities: higher is better.
    baseline
        The b of the estimates b + 1{observed}·(loss - b)/p. "local" (default): a function of the parameter,
        the mean of losses observed nearby. "low": one number, the smaller of mean - σ/2 and 0.8·mean of the
        losses paid, with a clip at -1/λ. None: b = 0 without clips.
    drift
        None: the best parameter is fixed. A number in (0, 1): fixed share (Balcan, Dick, Sharma 2020), which
        mixes this share of the prior into the weights in each round, and forgets statistics 16 times as fast.
        "auto": drift is detected automatically (`PageTest`); an alarm restarts a quarter of the weight.
        Requires the local baseline.
    prior
        Initial density, for instance `density()` of an older learner; 1 % of the uniform density is mixed in.
        In the regret bound ln(1/π(B)) replaces ln(|C|/2r).
    exploration
        γ of implicit exploration: estimates divide by p + γ. "auto": γ = λ/2, for which a bound holds with
        high probability (Neu 2015).
    max_pieces
        Limit on the number of pieces, above which neighbours are joined. On the interval tree (no limit by
        default) they are joined down to half of it; `join_error` bounds the total change of log-weights.
    context
        Features of an instance that are known before the draw (`sb.Context`). Contexts are split into cells
        where the best parameter differs. Requires the local baseline.
    seed
        Seed of the draws.

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
    Recommendation(rho=0.7..., interval=(0.5, 1.0)): 0.2 ± 0 in 193 rounds
    """

    baselines: ClassVar[tuple[str | None, ...]] = ("local", "low", None)

    def __init__(
        self,
        space: Space | Real | Integer | Choice,
        *,
        rate: float | Rate | None = None,
        horizon: int | None = None,
        high: float | None = None,
        maximize: bool = False,
        baseline: str | None = "local",
        drift: float | str | None = None,
        prior: PiecewiseConstant | None = None,
        exploration: float | str = 0.0,
        max_pieces: int | None = None,
        context: Context | None = None,
        seed: int | None = None,
    ) -> None:
        space = as_space(space)
        super().__init__(space, self._lay_out(space), seed)
        self._check_line()
        if not isinstance(baseline, str | None) or baseline not in self.baselines:
            names = ", ".join(map(repr, self.baselines[:-1]))
            raise ValueError(f"baseline must be {names} or {self.baselines[-1]!r}, got {baseline!r}")
        self.baseline = baseline
        self.horizon = None if horizon is None else _validate.integer("horizon", horizon, low=1)
        self.rate = as_rate(self._default_rate() if rate is None else rate, self.horizon)
        free = baseline == "local"
        self.high = (
            None
            if high is None and free
            else _validate.number("high", 1.0 if high is None else high, low=0.0, open=True)
        )
        self.maximize = _validate.boolean("maximize", maximize)
        self._scale = reading.Scale.free(self.high, self.maximize)
        if not free:
            self._scale = reading.Scale.bounded(self.high or 1.0, self.maximize)
        self._losses = LossRange()
        self.exploration: float | str = "auto"
        if not isinstance(exploration, str) or exploration != "auto":
            self.exploration = _validate.number("exploration", exploration, low=0.0)
        self.max_pieces = None if max_pieces is None else _validate.integer("max_pieces", max_pieces, low=2)
        self.drift = _checked_drift(drift, baseline)
        self.prior = prior
        self.context = _checked_context(context, baseline)

        self.n_partial = 0  # rounds without full information
        self.n_logged = 0  # functions of `learn_from`
        self.last_probabilities: tuple[float, ...] = ()
        self._loss_mean = 0.0
        self._loss_squares = 0.0  # Σ (loss - mean)², by Welford's recurrence
        self._stats = PlayStats(self._cells)
        self._forecast = Forecast()
        share = None if isinstance(self.drift, str) else self.drift
        self._drift = None if self.drift is None else Drift(share)
        self.current_rate = self._fixed_rate()
        if baseline != "local":
            self.current_rate = self.rate.after(0.0, math.inf)
        self._epoch = Epoch(self._initial_weights())  # Algorithm 1, step 1: w_1(ρ) = 1
        self._contexts: ContextCells | None = None
        if self.context is not None:
            weights = LocalPieces(self._cells, _CELL_BUDGET, reading.prior(prior, self._line))
            self._contexts = ContextCells(self.context, self._cells, weights)

    def _lay_out(self, space: Space) -> Line:
        """Return the line that carries the weights."""
        return space.line

    def _check_line(self) -> None:
        lo, hi = self._line.ends
        if not math.isfinite(1.0 / (hi - lo)):
            raise ValueError(f"space must be wider than {np.finfo(float).tiny:g}, got {self.space!r}")

    @cached_property
    def _cells(self) -> Cells:
        """Cells of the local baseline and of the play statistics."""
        return dyadic_cells(self.space)

    def _default_rate(self) -> Rate | None:
        if self.baseline != "local":
            return None
        # Found by experiment; ln T, the usual choice, learns more slowly.
        return AdaptiveRate(log_term=15.0 if len(self.space.alphas) > 1 else 10.0)

    def _fixed_rate(self) -> float:
        """Return the rate of a local baseline if it does not adapt; else 0."""
        return 0.0 if self.rate.c else self.rate.after(0.0, math.inf)

    # -- Algorithm 1 -------------------------------------------------------------------------------

    def ask(
        self,
        *,
        probes: int = 0,
        explore: float = 1.0,
        position: Any = None,
        values: Any = None,
        context: Any = None,
    ) -> Trial:
        """Draw a parameter from the current density. O(log P) on a tree, O(P) with a local baseline.

        Parameters
        ----------
        probes
            Number of further parameters, drawn from the same density, to evaluate on the same instance
            (`trial.probes`).
        explore
            Probability of a draw from the density; otherwise the recommended parameter is played. Estimates
            use the probabilities of this mixture. Cannot be combined with probes.
        position
            `positions` of a recorded trial: the trial gets these instead of the draws, which are made and
            dropped. A learner that is told the recorded feedback again continues as the recorded one did.
        values
            A parameter of one's own, by name, instead of a draw (`{"rho": 0.3}`, or a value for each knob).
            Its loss is evidence for `recommend`. The density learns nothing from it, unless it is told a
            whole function, so the estimates stay unbiased.
        context
            Features of the instance, by name. Features that are missing or None are unknown.
        """
        with self._lock:
            place = self._read_context(context)
            cell = self._cell_of(place)
            played = self._played_in(cell)
            if values is not None:
                if probes or position is not None:
                    raise ValueError("values go without probes and position")
                trial = self._own_trial(self.n_asked, values)
            # Algorithm 1, steps 2(a) and 2(b): sample ρ_t from p_t(ρ) = w_t(ρ) / W_t
            elif explore != 1.0:
                trial = self._mixed_trial(probes, explore, position, cell, played)
            else:
                positions = self._draw(probes, played) if position is None else self._recorded(position)
                trial = self._trial(self.n_asked, positions)
            if self._contexts is not None and place is not None:
                trial = replace(trial, context=self._contexts.context.named(place.point))
                drawn = (cell, played.own, played.share) if isinstance(played, Mixture) else ()
                self._contexts.asked[trial.id] = ContextAtAsk(place, *drawn)
            self._register(trial)
            return trial

    def _read_context(self, given: Any) -> Place | None:
        """Check a context; None if the learner has none."""
        if self._contexts is not None:
            return self._contexts.place(self._contexts.context.read(given))
        if given is not None:
            raise ValueError(f"context needs a learner made with context=sb.Context(...), got {given!r}")
        return None

    def _cell_of(self, place: Place | None) -> Cell | None:
        """Return the cell of a context; None if contexts do not differ so far."""
        return None if self._contexts is None or place is None else self._contexts.find(place)

    def _played_in(self, cell: Cell | None) -> Weights | Mixture:
        """Return the density that is played in a cell of contexts."""
        pooled = self._epoch.weights
        if cell is None:
            return pooled
        low, high = self._losses.inner
        return Mixture(pooled, cell.weights, cell.share(high - low))

    def _mixed_trial(
        self, probes: int, explore: float, position: Any, cell: Cell | None, played: Weights | Mixture
    ) -> Trial:
        """Return a trial that plays the recommended parameter, or a draw with probability `explore`."""
        explore = _validate.number("explore", explore, low=0.0, high=1.0)
        if explore == 0.0:
            raise ValueError("explore must be above 0: without draws nothing is learned, got 0.0")
        if probes:
            raise ValueError(f"explore cannot be combined with probes, got probes={probes!r}")
        row, x, best = self._chosen(cell)
        home = self._line.at(row, x if self.n_partial else self._line.scale.place(best.rho))
        if position is not None:
            (at,) = self._recorded(position)
        else:
            u = self._random.random()
            at = played.draw(u / explore) if u < explore else home
        return self._trial(self.n_asked, (at,), explore, home)

    def tell(self, trial: Trial, seen: Any, *, predicted: Any = None, probability: Any = None) -> None:
        """Learn from the feedback of a trial; None: the run failed, which is counted and nothing else.

        Trials may be told late and in any order: estimates use the probability at the time of the ask. On the
        interval tree a late tell costs O(k log P) for k tells in between, with a local baseline O(P). A tell
        that raises an error changes nothing.

        Parameters
        ----------
        trial
            From `ask`.
        seen
            A function that covers the parameter, or a single loss. For a trial with probes a list with the
            feedback of each look, the played parameter first, None for missing ones.
        predicted
            Prediction of the loss of this instance, made without knowledge of the draw: a number, or a
            function, of which the mean by the density counts. θ·(prediction - mean prediction) is subtracted
            from the losses of the round, θ in [0, 1] by regression on past rounds. Estimates of differences
            stay unbiased for every prediction. Requires the local baseline.
        probability
            `last_probabilities` of a recorded tell, to be used again.
        """
        with self._lock:
            epoch = self._epoch_of(trial)
            forecast = None if predicted is None else self._read_forecast(predicted)
            feedback = self._feedback(trial, seen)
            if feedback is None:
                self.n_failed += 1
                self._finish(trial, epoch)
                return
            if trial.own and not feedback.whole:
                self._keep_evidence(trial, epoch, feedback.paid)
                return
            if probability is not None:
                recorded = np.atleast_1d(_validate.floats("probability", probability))
                length = feedback.looks.size
                recorded = _validate.vector("probability", recorded, length=length, low=0.0)
                feedback = replace(feedback, recorded=recorded)
            self._learn(trial, epoch, feedback, forecast)

    def _read_forecast(self, predicted: Any) -> float:
        """Check a prediction; return it as one number in the user's units."""
        if not self.takes_predictions:
            raise ValueError(f"predicted needs baseline='local', got baseline={self.baseline!r}")
        return reading.predicted(predicted, self._line, self._epoch.weights.density)

    @property
    def takes_predictions(self) -> bool:
        """Whether `tell` takes predictions of the loss: with the local baseline."""
        return self.baseline == "local"

    def _feedback(self, trial: Trial, seen: Any) -> Feedback | None:
        """Check the feedback of all looks and lay it on the line; None if all are missing."""
        feedback = self._read_looks(trial, seen)
        if feedback is None or self._losses.rounds or self.n_own or self.baseline != "local":
            return feedback
        self._scale = self._scale._replace(origin=feedback.paid)  # losses are relative to the first one
        return self._read_looks(trial, seen)

    def _keep_evidence(self, trial: Trial, epoch: Epoch, paid: float) -> None:
        """Count the loss of a user's own value as evidence; the weights stay as they are."""
        self._finish(trial, epoch)
        self.n_own += 1
        self.last_probabilities = ()
        self._stats.add_own((trial.rho, trial.alpha), paid)
        if trial.alpha in self.space.alphas:
            self._stats.add(trial.position, paid)

    def _read_looks(self, trial: Trial, seen: Any) -> Feedback | None:
        """Check the feedback of all looks and lay it on the line; None if all are missing."""
        if not isinstance(seen, (list, tuple)):  # faster than a union
            return None if seen is None else self._read(trial, 0, seen)
        return reading.looks(trial.positions, seen, self._line, partial(self._read, trial))

    def _read(self, trial: Trial, look: int, seen: Any) -> Feedback:
        """Check the feedback of one look and lay it on the line."""
        position = self._line.position(trial.positions[look])
        step = reading.step(seen, position, self._line, self._scale)
        if step is not None:
            return step
        if reading.is_number(seen):
            loss = reading.loss(seen, self._scale)
            asked = self._asked(trial)
            cell = self._cell_of(asked.place if asked else None)
            n, share_of = cell.n if cell else self.n_told, self._played_in(cell).log_shares
            return reading.single_loss(loss, position, self._cells, self._line, n, share_of)
        return reading.function(seen, position, self._line, self._scale, lambda: trial.named(look))

    def _learn(self, trial: Trial, epoch: Epoch, feedback: Feedback, forecast: float | None) -> None:
        """Update weights, statistics and learning rate."""
        current = self._epoch
        late = epoch is not current or epoch.n_updates != epoch.asked_at[trial.id]
        asked = self._asked(trial)
        played = None if asked is None or asked.weights is None else asked.mixed
        home = feedback.place_inside(trial.home) if trial.home == trial.position else trial.home
        if late or trial.home is not None or played is not None:
            shares = partial(epoch.shares_when_asked, trial.id, trial.explore, home, played)
            beside = None
            if played is not None and asked is not None and not late and trial.home is None:
                beside = asked.beside
            feedback = replace(feedback, shares_at_ask=shares, beside=beside)
        paid, (low, high), stage = feedback.paid, self._losses.inner, self._losses.stage
        self._losses.add_feedback(feedback)
        if forecast is not None:
            amount = self._forecast.amount(float(self._scale.losses(forecast)), paid)
            feedback, low, high = feedback.minus(amount), low - amount, high - amount
        weights = self._weights_for(feedback)
        if self.baseline == "local" and self._hedges(feedback):
            weights = self._with_hedge_rate(weights)
        pending = len(current.asked_at) > (epoch is current)
        if weights is current.weights and pending:
            weights = weights.detached()  # other trials need them as they are
        # Algorithm 1, steps 2(c) and 2(d): ℓ̂_t(ρ) = 1{ρ ∈ A_t}·ℓ_t(ρ) / p_t(A_t) and
        # w_{t+1}(ρ) = w_t(ρ)·exp(-λ·ℓ̂_t(ρ))
        rule = self._rule(feedback, (low, high, stage))
        lead = None if asked is None else asked.lead(feedback.edges, epoch.weights)
        update = weights.learn(feedback, rule)
        if self._contexts is not None and asked is not None:
            known = replace(feedback, recorded=np.array(update.p), shares_at_ask=None, beside=None)
            self._contexts.learn(asked, known, lead, rule, self._loss_mean)
        self._finish(trial, epoch)
        if update.weights is not current.weights:
            self._replace_weights(update.weights)
        elif current.asked_at and update.edges is not None and update.factors is not None:
            current.append(update.edges, update.factors)
        else:
            current.n_updates += 1
        self.n_late += late
        self.n_mixed += trial.home is not None
        self._count(feedback, paid, rule, update)
        if trial.own:
            self.n_own += 1
        else:  # losses of own values are no sign of drift
            self._restart(feedback, asked)
        self._adjust()

    def _rule(self, feedback: Feedback, inner: tuple[float, float, int]) -> Rule:
        """Return the rule by which losses become estimates; `inner` is the range before the round."""
        rate = self.current_rate
        explore = 0.5 * rate if isinstance(self.exploration, str) else self.exploration
        if self.baseline == "local":
            if self._hedges(feedback):  # before losses differ, any rate will do
                return Rule(0.0, 0.0, -math.inf, rate or 1.0)
            if isinstance(self.exploration, str):
                explore *= inner[1] - inner[0]
            return Rule(0.0, explore, -math.inf, self._fixed_rate(), self.rate.c, *inner)
        if feedback.whole:  # p = 1, and a shift changes all weights alike: Hedge, without clips
            return Rule(0.0, 0.0, -math.inf, rate)
        if self.baseline is None:
            return Rule(0.0, explore, -math.inf, rate)
        return Rule(self._low_baseline(), explore, -1.0 / rate, rate)

    def _hedges(self, feedback: Feedback) -> bool:
        """Return whether the learner with a local baseline is Hedge on an interval tree."""
        informed = self.drift is not None or self.prior is not None or self.n_logged > 0
        informed = informed or self.context is not None
        return feedback.whole and not (self.n_partial or informed)

    def _with_hedge_rate(self, weights: Weights) -> Weights:
        """Adapt the rate of Hedge to the range of losses within a round."""
        unit, before = self._losses.width, self.current_rate
        if not (self.rate.c and unit):
            return weights
        # The second function may show that the first was an outlier: only then the rate can rise.
        rate = self.rate.after(self.gap_sum, math.inf if self.n_told < 2 else before or math.inf, unit)
        if before and rate != before:
            weights = weights.raised_to(rate / before)
            self.join_error *= rate / before
            if rate > before:
                self.head_start += self._losses.span
        self.current_rate = rate
        return weights

    def _low_baseline(self) -> float:
        """Return the b of `baseline="low"`: the smaller of mean - σ/2 and 0.8·mean of the losses paid.

        Without the second, a learner whose losses are all alike would subtract them and never explore.
        """
        if self.n_told == 0:
            return 0.0
        deviation = math.sqrt(self._loss_squares / self.n_told)
        return max(0.0, min(self._loss_mean - 0.5 * deviation, 0.8 * self._loss_mean))

    def _count(self, feedback: Feedback, paid: float, rule: Rule, update: Update) -> None:
        """Add a round to the statistics; `paid` is the loss without the prediction subtracted."""
        mean = self._loss_mean
        self.last_probabilities = update.p
        self.n_told += 1
        self.n_partial += not feedback.whole
        self.n_averaged += feedback.averaged
        self._stats.add(feedback.position, paid)
        self.gap_sum += update.gap
        self.regret_sum += update.regret
        self.clip_most += update.raised
        if update.rate is not None:
            self.current_rate = update.rate
            self.n_unused += rule.stage < 3
        elif rule.explore:
            self.explore_sum += rule.explore * paid / (update.p[0] + rule.explore)
        self._loss_mean = mean + (paid - mean) / self.n_told
        self._loss_squares += (paid - mean) * (paid - self._loss_mean)

    def _restart(self, feedback: Feedback, asked: ContextAtAsk | None) -> None:
        """Restart a share of the weight if the best parameter moves."""
        if self._drift is None:
            return
        # With full information, the mean over the line removes jumps of the level of all losses.
        widths = np.diff(feedback.edges)
        level = float(feedback.losses @ widths / widths.sum()) if feedback.whole else 0.0
        share, statistics, gaps, speed = self._drift.after(feedback.paid - level, feedback.whole)
        if share:
            weights = self._epoch.weights
            if self._epoch.asked_at:
                weights = weights.detached()
            self._replace_weights(weights.spread(share, statistics, gaps, speed))
            self._stats.keep(statistics)
            if self._contexts is not None and asked is not None:
                self._contexts.spread(asked, share, statistics, gaps, speed)

    def _adjust(self) -> None:
        """Update the learning rate, and join pieces above the limit."""
        weights = self._epoch.weights
        rate = self.current_rate
        if self.baseline != "local":
            rate = self.rate.after(self.gap_sum, self.current_rate)
        if rate != self.current_rate:
            power = rate / self.current_rate
            self._replace_weights(weights.raised_to(power))
            self.join_error *= power
            self.current_rate = rate
        if self.max_pieces is not None and len(self._epoch.weights) > self.max_pieces:
            # Down to half, so that the cost of a join is spread over many rounds.
            weights, error = self._epoch.weights.joined(max(self.max_pieces // 2, 1))
            self._replace_weights(weights)
            self.join_error += error

    # -- choice of the weights ---------------------------------------------------------------------

    def _initial_weights(self) -> Weights:
        prior = reading.prior(self.prior, self._line)
        if prior is not None:
            self._handicap = -math.log(prior.min() * (self._line.ends[1] - self._line.ends[0]))
        if self.baseline == "local":
            return LocalPieces(self._cells, self._budget, prior)
        if prior is None:
            return IntervalTree(*self._line.ends)
        return IntervalTree.from_pieces(prior.edges, np.log(prior.values))

    def _weights_for(self, feedback: Feedback) -> Weights:
        """Choose the weights of a local baseline by the feedback.

        An interval tree from the first tell on while all feedback is whole, which is Hedge on exact pieces;
        local pieces from the first partial feedback on.
        """
        weights = self._epoch.weights
        if self.baseline != "local" or self.n_partial:
            return weights
        if self._hedges(feedback):
            return weights if self.n_told else IntervalTree(*self._line.ends)
        if self.n_told == 0 or weights.kind == LocalPieces.kind:
            return weights
        if self.current_rate == 0.0:  # all functions were constant
            return LocalPieces(self._cells, self._budget)
        return LocalPieces.of(weights, self._cells, self.current_rate, self._budget)

    @property
    def _budget(self) -> int:
        return self.max_pieces or _BUDGET + (self._cells.leaf.size if self._cells.along_rows else 0)

    @serialized
    def learn_from(self, functions: Iterable[Piecewise], weight: float = 1.0) -> None:
        """Learn from logged instances before the first round: their whole loss functions. O(N log N).

        With contexts, the density of all contexts learns from them. A new cell does not: it begins because
        its contexts differ.

        Parameters
        ----------
        functions
            Whole loss functions (or utilities), as `losses()` of a problem returns them.
        weight
            Number of rounds that each counts for; below 1 if the logs may be of another kind.
        """
        if self.n_asked:
            raise ValueError(f"learn_from must come before the first round, got {self.n_asked} asked already")
        weight = _validate.number("weight", weight, low=0.0, open=True)
        functions = _validate.iterable("functions", functions, "a sequence of functions")
        laid = [reading.whole_function(i, each, self._line, self._scale) for i, each in enumerate(functions)]
        if not laid:
            raise ValueError("functions must hold at least one function, got none")
        for each in laid:
            self._losses.add(each.min(), float(np.maximum(*each.ends).max()))
        total = Piecewise.total(laid)
        rule = Rule(
            0.0, 0.0, -math.inf, self.current_rate, self.rate.c, *self._losses.inner, self._losses.stage
        )
        self._epoch = Epoch(self._epoch.weights.with_history(total, len(laid), weight, rule))
        self.n_logged += len(laid)
        self.head_start += weight * (float(np.maximum(*total.ends).max()) - total.min())

    # -- results -----------------------------------------------------------------------------------

    @serialized
    def recommend(self, *, context: Any = None) -> Recommendation:
        """Return the parameter to deploy, its interval, and the losses paid there. O(P).

        With a context: the parameter for it. Without one: the best for all contexts.

        The median of the density, after parts of the line whose losses are worse than the best by two
        standard errors are removed, within the remaining part that has the most mass. If all feedback was
        whole functions: the middle of the widest interval with the least cumulative loss. A value of the
        user's own (`ask(values=...)`) is recommended if it is better than this by two standard errors.
        """
        cell = None if context is None else self._cell_of(self._read_context(context))
        if cell is not None:
            return self._chosen(cell)[2]
        own = self._best_own()
        if own is not None and not self.n_told:
            return own
        best = self._chosen()[2]
        if own is None or best.evidence.rounds >= FEWEST:
            reference = best.evidence
        else:
            variance = self._loss_squares / max(self.n_told, 1)
            error = math.sqrt(variance / (self.n_told - 1)) if self.n_told > 1 else math.nan
            reference = self._in_units(Evidence(self._loss_mean, error, self.n_told))
        return own if own is not None and own.evidence.beats(reference, self.maximize) else best

    def _best_own(self) -> Recommendation | None:
        """Return the value of the user's own with the best mean; None if there are none."""
        found = self._stats.best_own()
        if found is None:
            return None
        (rho, alpha), evidence = found
        return Recommendation(rho, (rho, rho), alpha, self.space.names, self._in_units(evidence))

    @serialized
    def contexts(self) -> list[ContextCell]:
        """Return the cells of contexts, that with the most rounds first; a single one if none differ."""
        if self._contexts is None:
            raise ValueError("contexts() needs a learner made with context=sb.Context(...)")
        if self._contexts.root is None:
            return [ContextCell({}, self._chosen()[2], self.n_told, 0.0)]
        low, high = self._losses.inner
        found = [
            ContextCell(where, self._chosen(cell)[2], cell.n, cell.share(high - low))
            for where, cell in self._contexts.described()
        ]
        return sorted(found, key=lambda cell: -cell.rounds)

    def _chosen(self, cell: Cell | None = None) -> tuple[int, float, Recommendation]:
        """Return the row and the place in it of the best drawn parameter, and its recommendation."""
        choose = by_mass if self.n_partial else at_the_minimum
        weights, stats = (self._epoch.weights, self._stats) if cell is None else (cell.weights, cell.stats)
        row, x, (lo, hi) = choose(weights, self._line, stats)
        shift, space = self._line.shift(row), self.space
        rho, interval = space.line.stretch(self._rho(lo), self._rho(hi))
        if self.n_partial:
            rho = space.line.value(self._rho(self._played(x)))
        evidence = self._in_units(stats.between(lo + shift, hi + shift))
        return row, x, Recommendation(rho, interval, space.alphas[row], space.names, evidence)

    def _rho(self, x: float) -> float:
        """Return the parameter at the place x of a row."""
        return x

    def _played(self, position: float) -> float:
        """Return the point of the line that is played for a draw."""
        return position

    def _in_units(self, evidence: Evidence) -> Evidence:
        """Convert losses to the user's units."""
        scale = self._scale
        return Evidence(scale.value(evidence.mean), scale.unit * evidence.error, evidence.rounds)

    @serialized
    def density(self, *, context: Any = None) -> Any:
        """Return the density that the next parameter is drawn from, a step function. O(P).

        With a context, that for an instance with these features; else that of all contexts.
        """
        cell = None if context is None else self._cell_of(self._read_context(context))
        return self._played_in(cell).density()

    def _asked(self, trial: Trial) -> ContextAtAsk | None:
        """Return the context of a pending trial, and the cell that it was asked of."""
        return None if self._contexts is None else self._contexts.asked[trial.id]

    def _finish(self, trial: Trial, epoch: Epoch) -> None:
        super()._finish(trial, epoch)
        if self._contexts is not None:
            del self._contexts.asked[trial.id]

    def _config(self) -> dict[str, Any]:
        names = (
            "rate", "horizon", "high", "maximize", "baseline", "exploration", "max_pieces", "drift", "prior",
            "context",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        shown = [repr(self.space), *self._shown()]
        return (
            f"{type(self).__name__}({', '.join(shown)}): {self.n_told} rounds told, "
            f"{len(self._pending)} pending, {self.n_pieces} pieces, rate {self.current_rate:g}; "
            f"{self.guarantee}"
        )

    def _shown(self) -> Iterator[str]:
        high = None if self.baseline == "local" else 1.0
        defaults = {"rate": as_rate(self._default_rate(), self.horizon), "horizon": None, "high": high}
        defaults |= {"maximize": False, "exploration": 0.0, "max_pieces": None, "drift": None, "prior": None}
        defaults |= {"context": None}
        for name, value in self._config().items():
            if name not in defaults or value != defaults[name]:
                yield f"{name}={value!r}"


def _checked_context(context: Any, baseline: str | None) -> Context | None:
    if context is None or (isinstance(context, Context) and baseline == "local"):
        return context
    if not isinstance(context, Context):
        raise TypeError(f"context must be a Context, such as sb.Context(size=sb.Real(0, 1)), got {context!r}")
    raise ValueError(f"context needs baseline='local', got baseline={baseline!r}")


def _checked_drift(drift: Any, baseline: str | None) -> float | str | None:
    if drift is None:
        return None
    if baseline != "local":
        raise ValueError(f"drift needs baseline='local', got baseline={baseline!r}")
    if not isinstance(drift, str):
        return _validate.number("drift", drift, low=0.0, high=1.0, open=True)
    if drift != "auto":
        raise ValueError(f"drift must be 'auto', a number between 0 and 1, or None, got {drift!r}")
    return drift
