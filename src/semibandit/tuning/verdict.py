"""Results of tuning: counts and means, the values tried, and the verdict on the default."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from semibandit._validate import FloatArray
from semibandit.confidence import Bounds, betting_bounds, rules_out
from semibandit.tuning.record import RunRecord

__all__ = [
    "Comparison", "FailureCluster", "Summary", "Tried", "Verdict", "compare", "failure_cluster", "of_default",
    "summarise", "tried",
]  # fmt: skip

_ALPHA = 0.05  # probability that a verdict is wrong
_HALVINGS = 6  # the finest stretch that is compared with the default is a 64th of the space
_MIN_PAIRS = 20  # a stretch with fewer pairs is widened
_MAX_DOUBLINGS = 5  # of the pairs, when looking ahead
_ROWS = 12
_CELLS = 10  # in which failures are counted
_CLUSTER_ALPHA = 0.01  # level of the test for a cluster of failures


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
    losses = [record.loss for record in records if record.loss is not None]
    pairs = _pairs(records)
    comparison = None
    if pairs:
        learner, default = (math.fsum(column) / len(pairs) for column in zip(*pairs, strict=True))
        error = _row(0.0, 0.0, [ours - theirs for ours, theirs in pairs]).error
        comparison = Comparison(len(pairs), learner, default, error)
    return Summary(
        n_rounds=len(records),
        n_runs=sum(record.runs for record in records),
        failures=Counter(record.failure for record in records if record.failure is not None),
        n_skipped=sum(record.failure is not None and record.loss is None for record in records),
        clipped=Counter(
            "over" if record.clipped.startswith("over") else "no end" for record in records if record.clipped
        ),
        mean_loss=math.fsum(losses) / len(losses) if losses else math.nan,
        comparison=comparison,
    )


def _pairs(records: Iterable[RunRecord]) -> list[tuple[float, float]]:
    return [(r.loss, r.default_loss) for r in records if r.loss is not None and r.default_loss is not None]


class Tried(NamedTuple):
    """Runs with values from lo to hi: mean loss, its standard error (nan for one run), and their number."""

    lo: float
    hi: float
    mean: float
    error: float
    runs: int


def tried(records: Sequence[RunRecord], ends: tuple[float, float], rows: int = _ROWS) -> list[Tried]:
    """Return a row for each value tried, or for equal parts of the space if there are more than `rows`."""
    runs = [(record.rho, record.loss) for record in records if record.loss is not None]
    lo, hi = ends
    few = len({rho for rho, _ in runs}) <= rows
    groups: dict[float, list[float]] = defaultdict(list)
    for rho, loss in runs:
        groups[rho if few else min(int(rows * ((rho - lo) / (hi - lo))), rows - 1)].append(loss)
    at = [lo + (hi - lo) * (i / max(rows, 1)) for i in range(rows + 1)]
    return [
        _row(*((key, key) if few else (at[int(key)], at[int(key) + 1])), losses)
        for key, losses in sorted(groups.items())
    ]


def of_default(records: Sequence[RunRecord], default: float) -> Tried | None:
    """Return the row of the default, from its runs beside other values."""
    losses = [record.default_loss for record in records if record.default_loss is not None]
    return _row(default, default, losses) if losses else None


def _row(lo: float, hi: float, losses: Sequence[float]) -> Tried:
    n = len(losses)
    mean = math.fsum(losses) / n
    squares = math.fsum((loss - mean) ** 2 for loss in losses)
    return Tried(lo, hi, mean, math.sqrt(squares / (n - 1) / n) if n > 1 else math.nan, n)


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
    error = _row(lo, hi, differences.tolist()).error
    bounds = betting_bounds(differences, -high, high, alpha=_ALPHA / candidates)
    needed = _needed(differences, high, _ALPHA / candidates)
    return Verdict(lo, hi, len(pairs), ours, theirs, error, bounds, candidates, needed, maximize)


def _needed(differences: FloatArray, high: float, alpha: float) -> int | None:
    """Return after how many pairs, if the same ones came again and again, 0 is excluded."""
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


# -- failures --------------------------------------------------------------------------------------


class FailureCluster(NamedTuple):
    """A range of values in which runs fail more often than elsewhere."""

    lo: float
    hi: float
    failed: int
    runs: int
    failed_elsewhere: int
    runs_elsewhere: int


def failure_cluster(runs: Sequence[tuple[float, bool]], lo: float, hi: float) -> FailureCluster | None:
    """Find the part of [lo, hi] in which failures are significantly more frequent, or return None.

    Fisher's exact test for each union of neighbouring tenths of the interval, at 1 % for all of them.
    `runs` are pairs of a parameter and whether the run failed. O(n).

    >>> failure_cluster([(i / 100, i >= 85) for i in range(100)], 0.0, 1.0)
    FailureCluster(lo=0.8, hi=1.0, failed=15, runs=20, failed_elsewhere=0, runs_elsewhere=80)
    >>> failure_cluster([(i / 100, i % 10 == 0) for i in range(100)], 0.0, 1.0) is None
    True
    """
    counts, bad = [0] * _CELLS, [0] * _CELLS
    for rho, failed in runs:
        cell = min(max(int((rho - lo) / (hi - lo) * _CELLS), 0), _CELLS - 1)
        counts[cell] += 1
        bad[cell] += failed
    n, n_bad = sum(counts), sum(bad)
    spans = list(combinations(range(_CELLS + 1), 2))
    p, i, j = min((_p_value(sum(bad[i:j]), sum(counts[i:j]), n_bad, n), i, j) for i, j in spans)
    if p * len(spans) > _CLUSTER_ALPHA:
        return None
    inside, inside_bad = sum(counts[i:j]), sum(bad[i:j])
    left, right = (lo + (hi - lo) * edge / _CELLS for edge in (i, j))
    return FailureCluster(left, right, inside_bad, inside, n_bad - inside_bad, n - inside)


def _p_value(k: int, drawn: int, bad: int, n: int) -> float:
    """Return the probability of k or more bad ones among `drawn` of n, of which `bad` are bad."""
    ways = sum(
        math.comb(bad, i) * math.comb(n - bad, drawn - i)
        for i in range(k, min(drawn, bad) + 1)
        if drawn - i <= n - bad
    )
    return ways / math.comb(n, drawn)
