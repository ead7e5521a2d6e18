"""Play one round: run a command on an instance, with its probes, its search and the default."""

from __future__ import annotations

import random
from time import perf_counter
from typing import Any

from semibandit import _validate
from semibandit.families import BlackBox
from semibandit.functions import PiecewiseConstant
from semibandit.learners import Trial
from semibandit.spaces import Interval, Knobs, Parameters, call
from semibandit.tuning.command import Command, Outcome
from semibandit.tuning.record import RunRecord
from semibandit.tuning.rules import Rules

__all__ = ["FEEDBACK", "RoundPlayer"]

FEEDBACK = ("bandit", "black-box")

_TOLERANCE = 1e-3  # default tolerance of the bisection, as a share of the width: about 20 runs


class RoundPlayer:
    """Runs the command for a trial; see `Tuner` for the parameters."""

    def __init__(
        self,
        command: Command,
        space: Interval | Knobs,
        *,
        feedback: str = "bandit",
        tolerance: float | None = None,
        default: Any = None,
        default_share: float = 0.25,
        seed: int = 0,
    ) -> None:
        self.command, self.space, self.seed = command, space, seed
        self.feedback = _validate.choice("feedback", feedback, FEEDBACK)
        self.default = default
        self.default_share = _validate.number("default_share", default_share, low=0.0, high=1.0)
        width = space.line.hi - space.line.lo
        if tolerance is not None and feedback != "black-box":
            raise ValueError(f"tolerance goes with black-box feedback, got {feedback!r}")
        if tolerance is not None:
            _validate.number("tolerance", tolerance, low=0.0, high=width, open=True)
        self.tolerance = tolerance or _TOLERANCE * width

    def play(self, trial: Trial, instance: str, rules: Rules) -> tuple[RunRecord, Any]:
        """Return the record of the round, and the feedback for the learner (None if there is none)."""
        start = perf_counter()
        played = trial.values if trial.names else trial.rho

        def run(rho: Any = None, **values: Any) -> Outcome:
            return rules.judge(self.command.run(instance, values or rho))

        feedback: Any
        if self.feedback == "bandit":
            outcome, n_runs = run(played), 1
            feedback = outcome.loss
        else:
            outcome, feedback, n_runs = self._search(run, trial.parameters)
        if trial.probes:
            losses = [run(probe).loss for probe in trial.probes]
            n_runs += len(losses)
            feedback = [feedback, *losses] if any(x is not None for x in (feedback, *losses)) else None
        other: dict[str, Any] = {}
        if self._default_is_due(trial.id):
            beside = run(self.default)
            other = {"default_loss": beside.loss, "default_failure": beside.failure}
            n_runs += 1
        rho = trial.rho if trial.names else self.command.value(trial.rho)
        return RunRecord(
            instance, rho, outcome.loss, perf_counter() - start, n_runs, outcome.failure, outcome.clipped,
            values=trial.values if trial.names else None, **other,
        ), feedback  # fmt: skip

    def _search(self, run: Any, parameters: Parameters) -> tuple[Outcome, PiecewiseConstant | None, int]:
        """Find the interval with the same outcome by bisection (Algorithm 5), unless the run has no loss."""
        box = BlackBox(
            lambda _, *point, **values: run(*point, **values), None, self.space,
            lambda outcome: outcome.loss or 0.0, self.tolerance, equal=Outcome.same,
        )  # fmt: skip
        outcome: Outcome = call(box.output, parameters)
        if outcome.loss is None:
            return outcome, None, box.n_runs
        ((lo, hi),) = call(box.reveal, parameters).domain
        return outcome, PiecewiseConstant.constant(lo, hi, outcome.loss), box.n_runs

    def _default_is_due(self, number: int) -> bool:
        """Decide at random, but reproducibly for a trial, whether the default is run too."""
        if self.default is None:
            return False
        return random.Random(f"{self.seed} {number}").random() < self.default_share
