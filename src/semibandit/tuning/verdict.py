"""Results of tuning: counts and means, the values tried, and the verdict on the default."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from semibandit._validate import FloatArray
from semibandit.confidence import Bounds, betting_bounds, mean_and_error, rules_out
from semibandit.tuning.record import RunRecord

__all__ = ["Comparison", "Summary", "Tried", "Verdict", "compare", "of_default", "summarise", "tried"]

_ALPHA = 0.05  # probability that a verdict is wrong
_HALVINGS = 6  # the finest stretch that is compared with the default is a 64th of the space
_MIN_PAIRS = 20  # a stretch with fewer pairs is widened
_MAX_DOUBLINGS = 5  # of the pairs, when looking ahead
_ROWS = 12


# -- counts and means ------------------------------------------------------------------------------


class Comparison(NamedTuple):
    """Mean losses of the learner and of the default on common instances; error of their difference."""

    n: int
    learner: float
    default: float
    error: float  # standard error; nan for n = 1


@dataclass(frozen=True)
class Summary:
    """Counts and means of finished rounds; a mean is nan if there is nothing to average."""

    n_rounds: int
    n_runs: int
    failures: Counter[str]
    n_skipped: int  # failed rounds without a loss
    clipped: Counter[str]  # rounds with the largest loss, by reason: "over" or "no end"
    mean_loss: float
    comparison: Comparison | None

    @property
    def n_failed(self) -> int:
        """Number of failed rounds."""
        return self.failures.total()


def summarise(records: Sequence[RunRecord]) -> Summary:
    """Return the summary of finished rounds."""
    pairs = _pairs(records)
    comparison = None
    if pairs:
        learner, default = (math.fsum(column) / len(pairs) for column in zip(*pairs, strict=True))
        comparison = Comparison(len(pairs), learner, default, _error_of_difference(pairs))
    return Summary(
        n_rounds=len(records),
        n_runs=sum(record.runs for record in records),
        failures=Counter(record.failure for record in records if record.failure is not None),
        n_skipped=sum(record.failure is not None and record.loss is None for record in records),
        clipped=Counter(
            "over" if record.clipped.startswith("over") else "no end" for record in records if record.clipped
        ),
        mean_loss=mean_and_error([record.loss for record in records if record.loss is not None])[0],
        comparison=comparison,
    )


def _pairs(records: Iterable[RunRecord]) -> list[tuple[float, float]]:
    return [(r.loss, r.default_loss) for r in records if r.loss is not None and r.default_loss is not None]


def _error_of_difference(pairs: Sequence[tuple[float, float]]) -> float:
    return mean_and_error([ours - theirs for ours, theirs in pairs])[1]


class Tried(NamedTuple):
    """Runs with values from lo to hi: mean loss, its standard error, runs with a loss, and failed runs."""

    lo: float
    hi: float
    mean: float  # nan without a loss
    error: float  # nan for fewer than two losses
    runs: int
    failed: int = 0


def tried(records: Sequence[RunRecord], ends: tuple[float, float], rows: int = _ROWS) -> list[Tried]:
    """Return a row for each value tried, or for equal parts of the space if there are more than `rows`."""
    lo, hi = ends
    few = len({record.rho for record in records}) <= rows
    groups: dict[float, list[RunRecord]] = defaultdict(list)
    for record in records:
        part = min(int(rows * ((record.rho - lo) / (hi - lo))), rows - 1)
        groups[record.rho if few else part].append(record)
    found = []
    for key, group in sorted(groups.items()):
        losses = [record.loss for record in group if record.loss is not None]
        failed = sum(record.failure is not None for record in group)
        left, right = (key, key) if few else (lo + (hi - lo) * (i / rows) for i in (key, key + 1))
        found.append(Tried(left, right, *mean_and_error(losses), len(losses), failed))
    return found


def of_default(records: Sequence[RunRecord], default: float) -> Tried | None:
    """Return the row of the default, from its runs beside other values."""
    losses = [record.default_loss for record in records if record.default_loss is not None]
    failed = sum(record.default_failure is not None for record in records)
    return Tried(default, default, *mean_and_error(losses), len(losses), failed) if losses else None


# -- the default -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """The recommended value against the default, on the instances that were run with both.

    `bounds` is a 95 % confidence interval for the mean difference, recommended minus default. It is valid at
    any time and for whichever of the `candidates` is recommended (each has its share of the 5 %).
    """

    lo: float  # the values that count as the recommended one
    hi: float
    pairs: int
    recommended: float  # mean losses over the pairs
    default: float
    error: float  # standard error of the mean difference; nan for one pair
    bounds: Bounds
    candidates: int
    # Pairs needed for a decision if further differences are like these; None: more than 32 times as many.
    needed: int | None
    maximize: bool = False

    @property
    def answer(self) -> str:
        """One of "better", "worse" and "cannot tell"."""
        if self.bounds.low <= 0.0 <= self.bounds.high:
            return "cannot tell"
        return "better" if (self.bounds.low > 0.0) == self.maximize else "worse"


def compare(
    records: Sequence[RunRecord],
    rho: float,
    ends: tuple[float, float],
    high: float,
    maximize: bool = False,
    values: int | None = None,
) -> Verdict | None:
    """Compare rho with the default on the instances that were run with both. O(rounds).

    A value is chosen without knowing the instance, so that the differences of the runs at one value are a
    fair sample. They lie in [-high, high]. Returns None if there are no such instances.

    Parameters
    ----------
    records
        All rounds; those without a loss of the default do not count.
    rho
        The recommended value.
    ends, high, maximize
        Ends of the space, the largest loss, and whether higher values are better.
    values
        Number of values in a race. None: values are drawn from the whole space, and those count that lie in
        the smallest of the dyadic stretches around rho (the space, a half, ... a 64th) with 20 pairs.
    """
    known = [record for record in records if record.loss is not None and record.default_loss is not None]
    slack = 1e-9 * (ends[1] - ends[0])
    stretches = _around(rho, *ends) if values is None else [(rho - slack, rho + slack)]
    pairs: list[tuple[float, float]] = []
    for lo, hi in stretches:
        pairs = _pairs(record for record in known if lo <= record.rho <= hi)
        if len(pairs) >= _MIN_PAIRS:
            break
    if not pairs:
        return None
    candidates = 2 ** (_HALVINGS + 1) - 1
    if values is not None:
        candidates, lo, hi = max(values, len({record.rho for record in known})), rho, rho
    differences = np.clip([ours - theirs for ours, theirs in pairs], -high, high)
    ours, theirs = (math.fsum(column) / len(pairs) for column in zip(*pairs, strict=True))
    error = _error_of_difference(pairs)
    bounds = betting_bounds(differences, -high, high, alpha=_ALPHA / candidates)
    needed = _needed(differences, high, _ALPHA / candidates)
    return Verdict(lo, hi, len(pairs), ours, theirs, error, bounds, candidates, needed, maximize)


def _needed(differences: FloatArray, high: float, alpha: float) -> int | None:
    """Return the number of pairs at which 0 is excluded if the same pairs are repeated."""
    for n in range(_MAX_DOUBLINGS + 1):
        times: int = 2**n
        if rules_out(0.0, np.tile(differences, times), -high, high, alpha=alpha):
            return len(differences) * times
    return None


def _around(rho: float, lo: float, hi: float) -> Iterable[tuple[float, float]]:
    """Yield the dyadic stretches that contain rho, from the finest to the whole space."""
    for level in range(_HALVINGS, -1, -1):
        n = 2**level
        i = min(int(n * ((rho - lo) / (hi - lo))), n - 1)
        yield lo + (hi - lo) * (i / n), lo + (hi - lo) * ((i + 1) / n)
