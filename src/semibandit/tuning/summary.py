"""Where tuning stands: counts, means, and the comparison with a default parameter."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from semibandit.learners import Recommendation
from semibandit.tuning.journal import Round

__all__ = ["Comparison", "Summary", "summarise"]


@dataclass(frozen=True)
class Comparison:
    """The learner against a default parameter, on the instances on which both were run."""

    n: int
    learner: float
    default: float
    error: float  # standard error of the difference of the means


@dataclass(frozen=True)
class Summary:
    """Where tuning stands; means are nan where there is nothing to average."""

    n_rounds: int
    n_runs: int
    failures: Counter[str]
    n_skipped: int  # failed rounds from which nothing was learned
    clipped: Counter[str]  # why the loss was the limit: "over", or "no end"
    mean_loss: float
    recommendation: Recommendation
    comparison: Comparison | None

    @property
    def n_failed(self) -> int:
        """How many rounds failed."""
        return self.failures.total()


def summarise(finished: Sequence[Round], recommendation: Recommendation) -> Summary:
    """The summary of finished rounds."""
    losses = [record.loss for record in finished if record.loss is not None]
    return Summary(
        n_rounds=len(finished),
        n_runs=sum(record.runs for record in finished),
        failures=Counter(record.failure for record in finished if record.failure is not None),
        n_skipped=sum(record.failure is not None and record.loss is None for record in finished),
        clipped=Counter(_why(record.clipped) for record in finished if record.clipped is not None),
        mean_loss=math.fsum(losses) / len(losses) if losses else math.nan,
        recommendation=recommendation,
        comparison=_comparison(finished),
    )


def _why(clipped: str) -> str:
    return "over" if clipped.startswith("over") else "no end"


def _comparison(finished: Sequence[Round]) -> Comparison | None:
    pairs = [
        (record.loss, record.default_loss)
        for record in finished
        if record.loss is not None and record.default_loss is not None
    ]
    if not pairs:
        return None
    n = len(pairs)
    learner, default = (math.fsum(column) / n for column in zip(*pairs, strict=True))
    squares = math.fsum((ours - theirs - (learner - default)) ** 2 for ours, theirs in pairs)
    return Comparison(n, learner, default, math.sqrt(squares / (n - 1) / n) if n > 1 else math.nan)
