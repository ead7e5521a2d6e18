"""Certificates and guarantees of `Exp3Set`: the sums that enter them, and the sentence that states them."""

from __future__ import annotations

import math
from typing import Any

from semibandit.learners.certificates import Account, Certificate, bound_of, certify
from semibandit.learners.learner import Learner
from semibandit.learners.locks import serialized
from semibandit.learners.ranges import LossRange
from semibandit.learners.rates import Rate
from semibandit.learners.reading import Scale
from semibandit.spaces import Line, Space

__all__ = ["CertifiedLearner"]


class CertifiedLearner(Learner):
    """Base of `Exp3Set`: keeps the account of a certificate while the game goes on."""

    baseline: str | None
    rate: Rate
    exploration: float | str
    drift: float | str | None
    _scale: Scale
    _losses: LossRange
    _loss_mean: float

    def __init__(self, space: Space, line: Line, seed: int | None) -> None:
        super().__init__(space, line, seed)
        self.n_told = 0
        self.n_late = 0
        self.n_own = 0  # rounds with values of the user's own; in n_told only with full information
        self.n_unused = 0  # rounds before the range of the losses is known
        self.n_mixed = 0  # rounds asked with `explore` below 1
        self.n_averaged = 0  # rounds with a single loss that stands for several parameters
        self.gap_sum = 0.0  # of the mixability gaps at the asks, for the rate
        self.regret_sum = 0.0  # of `Update.regret`, for the certificate
        self.join_error = 0.0
        self.explore_sum = 0.0  # amount by which implicit exploration lowered the estimates of losses paid
        self.clip_most = 0.0  # amounts by which clips raised estimates at most
        self.head_start = 0.0  # largest advantage of one place over another by `learn_from`, in losses
        self._handicap = 0.0  # largest amount by which ln(prior) is below that of the uniform density

    @serialized
    def certificate(self, dispersion: Any = None) -> Certificate:
        """Return a bound on the expected regret so far, from the learner's own observations. O(P).

        The least over r of ln(|C|/2r)/λ + Σ gaps + clips + T·L·r + f(T, r); docs/theory/safe-learner.md has
        the theorem for the default, in which λ and the gaps are those of the safe learner. With a prior,
        ln(1/π(B)) for the least likely ball B replaces the first logarithm. Logged instances add their
        largest advantage of one place over another. Late tells are covered if delays do not depend on the
        parameters drawn. With drift, and after single losses that stand for a cell of parameters, there is no
        valid bound: `value` is infinite, and `reason` says why.

        Parameters
        ----------
        dispersion
            Result of `sb.dispersion.measure` on the stream, for f and L. Without it the comparator is the
            best ball of a hundredth of the line, not the best parameter.
        """
        if dispersion is not None and not callable(getattr(dispersion, "D", None)):
            raise TypeError(f"dispersion must be the result of sb.dispersion.measure, got {dispersion!r}")
        measured, line = getattr(dispersion, "space", None), self.space.line
        if measured is not None and not self.space.names and (measured.lo, measured.hi) != (line.lo, line.hi):
            raise ValueError(
                f"dispersion must be measured on the learner's space, [{line.lo:g}, {line.hi:g}], "
                f"got one on [{measured.lo:g}, {measured.hi:g}]; measure(problems, space) takes the space"
            )
        if self._uncertified:
            return Certificate.none(self._uncertified)
        rate, regret, clips = self.current_rate, 0.0, self.clip_most
        own = self._epoch.weights.account()
        if own is not None:
            rate, regret, clips = own[0], own[1], clips + own[2]
        if rate == 0.0:  # nothing is learned yet
            rate = math.inf
        regret += self.regret_sum + self.explore_sum + self.join_error / rate + self.head_start
        account = Account(
            length=self._line.extent,
            handicap=self._handicap,
            rounds=self.n_told,
            rate=rate,
            gaps=regret + self.n_unused * self._losses.span,
            clips=clips,
            paid=self._paid(),
            unit=self._scale.unit,
            range=self._losses.span if self.high is None else 1.0,
        )
        return certify(account, dispersion)

    @property
    def _uncertified(self) -> str:
        """Reason why there is no valid bound on the expected regret; empty if there is one."""
        if self.drift is not None:
            return "drift moves weight without estimates"
        if self.n_averaged:
            return "a single loss is taken for all of its cell"
        return ""

    def _paid(self) -> float:
        """Return the sum of the losses paid, if the least possible loss is known to be 0; else inf."""
        if self.n_own:
            return math.inf
        if self.baseline != "local":
            return self._loss_mean * self.n_told
        if self.high is None:
            return math.inf
        return self.n_told * (self._loss_mean + self._scale.origin + self.maximize)

    @property
    def guarantee(self) -> str:
        """Regret bound of this configuration, in a sentence."""
        if self._uncertified:
            return f"no regret proof, and no certificate: {self._uncertified}"
        if self.baseline is not None:
            return "no regret proof in advance; `certificate` bounds the expected regret as the game goes on"
        reservations = [f"against the best of {self._comparator()}", "if the sets told form a partition"]
        if self.n_late:
            reservations.append("up to the delay of late tells, which the theorem does not cover")
        if self.n_mixed:
            reservations.append("up to the rounds asked with `explore`, which the theorem does not cover")
        if self.join_error:
            reservations.append(f"up to joins, which moved the log-weights by {self.join_error:.2g} at most")
        return f"{bound_of(self.exploration, self.rate)}, {', '.join(reservations)}"

    def _comparator(self) -> str:
        rows = len(self.space.alphas)
        return "all parameters" if rows == 1 else f"all parameters in the {rows} rows"
