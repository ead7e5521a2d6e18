"""What all learners share besides ask and tell: reading off the weights, certificate, warm start, saving."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from os import PathLike
from typing import Any

import numpy as np

from semibandit import _validate
from semibandit.functions import Piecewise
from semibandit.learners import storage
from semibandit.learners.ask_tell import AskTell, one_at_a_time
from semibandit.learners.certificates import Certificate, certify
from semibandit.learners.evidence import Evidence
from semibandit.learners.rates import as_rate
from semibandit.learners.recommendation import Recommendation, at_the_minimum, by_mass
from semibandit.learners.trials import Epoch
from semibandit.spaces import Boxes

__all__ = ["Learner"]


class Learner(AskTell):
    """Continuous Exp3-SET (Algorithm 1); see the subclasses."""

    # -- reading off the weights -----------------------------------------------------------------

    @property
    def n_pieces(self) -> int:
        """The number of pieces of the density."""
        return len(self._epoch.weights)

    @one_at_a_time
    def density(self) -> Any:
        """The density that the next parameter is drawn from. O(P).

        A step function; an `ExponentialDensity`, which can be called and integrated as well, once the
        learner has been told a whole piecewise linear loss, or any without a local baseline.
        """
        return self._epoch.weights.density()

    @one_at_a_time
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

    def _in_units(self, evidence: Evidence) -> Evidence:
        """Losses in [0, 1] as what was told: the reverse of `_scaled`."""
        mean = 1.0 - evidence.mean if self.maximize else evidence.mean
        return Evidence(self.high * mean, self.high * evidence.error, evidence.rounds)

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

    @one_at_a_time
    def certificate(self, dispersion: Any = None) -> Certificate:
        """A bound on the expected regret so far, from what the learner itself has seen. O(P).

        It is the least over r of ln(|C|/2r)/λ + Σ gaps + what clips have added + T·L·r + f(T, r): since the
        rate has never risen, the estimates of what was paid exceed their average over a ball of radius r by
        no more than the first two terms, path by path; they are unbiased but for clips, averages and joins,
        which are known.
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
            lead=self._epoch.weights.lead(),
            clips=self.clip_most - self.clip_mean,
            paid=self._loss_mean * self.n_told,
            high=self.high,
            dispersion=dispersion,
        )

    @one_at_a_time
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

    @one_at_a_time
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
