"""Results of tuning: counts and means, the values tried, and the verdict on the default."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semibandit._validate import FloatArray
from semibandit.confidence import Bounds, betting_bounds, mean_and_error, t_bounds
from semibandit.learners.race import Race, Standing
from semibandit.learners.recommendation import Recommendation
from semibandit.tuning.record import RunRecord

__all__ = [
    "Summary",
    "Verdict",
    "of_race",
    "of_rounds",
    "summarise",
    "tried",
]

_ALPHA = 0.05  # of two-sided intervals: half of it for a wrong "deploy"
_HALVINGS = 6  # the finest stretch that is compared with the default is a 64th of the space
_MIN_PAIRS = 20  # a stretch with fewer pairs is widened
_MIN_CHECKED = 10  # fewer differences miss rare large ones too often
_ROWS = 12  # parts of the parameter along the rows, in a table

Values = dict[str, Any]


# -- counts and means ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Summary:
    """Counts and means of finished rounds; a mean is nan if there is nothing to average."""

    n_rounds: int
    n_runs: int
    failures: Counter[str]
    n_skipped: int  # failed rounds without a loss
    clipped: Counter[str]  # rounds with the largest loss, by reason: "over" or "no end"
    mean_loss: float

    @property
    def n_failed(self) -> int:
        """Number of failed rounds."""
        return self.failures.total()


def summarise(records: Sequence[RunRecord]) -> Summary:
    """Return the summary of finished rounds."""
    return Summary(
        n_rounds=len(records),
        n_runs=sum(record.runs for record in records),
        failures=Counter(record.failure for record in records if record.failure is not None),
        n_skipped=sum(record.failure is not None and record.loss is None for record in records),
        clipped=Counter(
            "over" if record.clipped.startswith("over") else "no end" for record in records if record.clipped
        ),
        mean_loss=mean_and_error([record.loss for record in records if record.loss is not None])[0],
    )


def _pairs(records: Iterable[RunRecord]) -> list[tuple[float, float]]:
    return [(r.loss, r.default_loss) for r in records if r.loss is not None and r.default_loss is not None]


def tried(
    records: Sequence[RunRecord],
    best: Values,
    default: Values | None,
    along: str,
    coordinate: Callable[[Any], float],
    rows: int = _ROWS,
    maximize: bool = False,
) -> list[Standing]:
    """Return the configurations that were run online, the recommended one first, then by their means.

    Configurations with fewer than two losses come last. The recommended one and the default have a row even
    if they were never run.

    Parameters
    ----------
    records
        All rounds.
    best, default
        Values of the recommended configuration and of the default, in the order of `RunRecord.values`.
    along, coordinate
        The parameter along the rows ("" if there is none), and its coordinate in [0, 1]. If it had more than
        `rows` values, those in the same of `rows` equal parts count as one.
    rows, maximize
        Number of parts, and whether higher values are better.
    """
    exact = not along or len({record.rho for record in records}) <= rows

    def group_of(values: Values, exact: bool = exact) -> tuple[Any, ...]:
        part = {} if exact else {along: min(int(rows * coordinate(values[along])), rows - 1)}
        return exact, *(values | part).values()

    groups: dict[Any, list[tuple[Values, float | None, str | None]]] = defaultdict(list)
    best_group, default_group = group_of(best), default and group_of(default, exact=True)
    groups[best_group].append((best, None, None))
    if default is not None:
        groups[default_group].append((default, None, None))
    for record in records:
        values = record.values or {"rho": record.rho}
        groups[group_of(values)].append((values, record.loss, record.failure))
        if default is not None:
            groups[default_group].append((default, record.default_loss, record.default_failure))
    found = []
    for at, group in groups.items():
        losses = [loss for _, loss, _ in group if loss is not None]
        failed = sum(failure is not None for *_, failure in group)
        values, stretch = group[0][0], None
        if not at[0]:
            played = [values[along] for values, *_ in group]
            stretch = min(played), max(played)
            values = values | ({} if at == best_group else {along: 0.5 * stretch[0] + 0.5 * stretch[1]})
        mean, error = mean_and_error(losses)
        flags = len(losses) > 1, at == best_group, at == default_group
        found.append(Standing(values, mean, math.nan, error, len(losses), failed, *flags, stretch))
    sign = -1.0 if maximize else 1.0
    return sorted(found, key=lambda row: (not row.best, not row.racing, not row.runs, sign * row.mean))


# -- the default -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """The best configuration found against the default, on the instances that were run with both.

    `paired` and `anytime` are 95 % confidence intervals for the mean difference, best minus default: that of
    a paired t-test, corrected for skewness, for this moment; and one that is valid at any time, whichever
    configuration leads. The answer rests on the first if the race has ended by itself, else on the second.
    """

    values: dict[str, Any]  # the configuration compared with the default
    stretch: tuple[float, float] | None  # online: values that count as the recommended one
    n_pairs: int
    means: tuple[float, float]  # of the configuration and of the default, over all pairs
    n_paired: int  # pairs of the first interval: in an ended race those that no decision has used
    difference: float  # mean difference of these
    paired: Bounds
    anytime: Bounds
    ended: bool
    default_leads: bool
    maximize: bool = False

    @property
    def better(self) -> bool:
        """Whether to deploy the configuration; otherwise the default is kept."""
        low, high = self.paired if self.ended else self.anytime
        return not self.default_leads and (low > 0.0 if self.maximize else high < 0.0)

    @property
    def n_needed(self) -> int | None:
        """Number of pairs of a check that is expected to decide; None without a gain."""
        gain = self.difference if self.maximize else -self.difference
        if self.default_leads or self.better or not gain > 0.0 or not math.isfinite(self.paired.low):
            return None
        worst = self.paired.low if self.maximize else -self.paired.high
        return max(_MIN_CHECKED, math.ceil(self.n_paired * ((gain - worst) / gain) ** 2))


def of_race(race: Race, high: float) -> Verdict | None:
    """Return the verdict of a race; None without instances that were run with the default.

    The t-test has the pairs of the check, which no decision has used. The other interval has the pairs that
    were unknown when the configuration was proposed; that of the k-th configuration is wrong with
    probability α/(k·(k + 1)), which sums to α.

    Parameters
    ----------
    race
        A race with a default.
    high
        Bound on the differences.
    """
    found = race.pairs()
    if found is None:
        return None
    differences = np.array([ours - theirs for ours, theirs in found.losses])
    ended = race.is_over and not race.was_continued and found.n_checked >= _MIN_CHECKED
    fresh = differences[found.n_selected :]
    sample = differences[len(differences) - found.n_checked :] if ended else fresh
    share = _ALPHA / (found.number * (found.number + 1))
    return _verdict(
        found.values, None, found.losses, sample, fresh, share, high, ended,
        race.is_default_best, race.maximize,
    )  # fmt: skip


def of_rounds(
    records: Iterable[RunRecord], best: Recommendation, ends: tuple[float, float], high: float, maximize: bool
) -> Verdict | None:
    """Compare a recommended value with the default on rounds that were run with both. O(rounds).

    A value is drawn without knowing the instance, so that the differences of the rounds at one value are a
    fair sample. Those count that lie in the smallest of the dyadic stretches around rho (the space, a half,
    ... a 64th) with 20 pairs; each of the 127 stretches has its share of the 5 %.

    Parameters
    ----------
    records
        All rounds; those without a loss of the default, or with other values of the other knobs, do not
        count.
    best
        Recommendation of the learner.
    ends, high, maximize
        Ends of rho, bound on the differences, and whether higher values are better.
    """
    other = {name: value for name, value in best.values.items() if name != best.along}
    known = [
        record
        for record in records
        if record.loss is not None and record.default_loss is not None
        and (record.values is None or other.items() <= record.values.items())
    ]  # fmt: skip
    pairs: list[tuple[float, float]] = []
    for stretch in _around(best.rho, *ends):
        pairs = _pairs(record for record in known if stretch[0] <= record.rho <= stretch[1])
        if len(pairs) >= _MIN_PAIRS:
            break
    if not pairs:
        return None
    differences = np.array([ours - theirs for ours, theirs in pairs])
    share = _ALPHA / (2 ** (_HALVINGS + 1) - 1)
    gain = float(differences.mean()) * (1.0 if maximize else -1.0)
    return _verdict(
        dict(best.values), stretch if best.along else None, pairs, differences, differences, share, high,
        False, gain <= 0.0, maximize,
    )  # fmt: skip


def _verdict(
    values: dict[str, Any],
    stretch: tuple[float, float] | None,
    pairs: Sequence[tuple[float, float]],
    sample: FloatArray,
    fresh: FloatArray,
    share: float,
    high: float,
    *flags: bool,
) -> Verdict:
    ours, theirs = (math.fsum(column) / len(pairs) for column in zip(*pairs, strict=True))
    anytime = betting_bounds(np.clip(fresh, -high, high), -high, high, alpha=share)
    difference = float(sample.mean()) if sample.size else math.nan
    paired = t_bounds(sample, alpha=_ALPHA, skewed=True)
    return Verdict(
        values, stretch, len(pairs), (ours, theirs), sample.size, difference, paired, anytime, *flags
    )


def _around(rho: float, lo: float, hi: float) -> Iterable[tuple[float, float]]:
    """Yield the dyadic stretches that contain rho, from the finest to the whole space."""
    for level in range(_HALVINGS, -1, -1):
        n = 2**level
        i = min(int(n * ((rho - lo) / (hi - lo))), n - 1)
        yield lo + (hi - lo) * (i / n), lo + (hi - lo) * ((i + 1) / n)
