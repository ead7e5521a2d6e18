"""State of a race, its results, and comparisons of configurations on common instances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import msgspec

from semibandit.confidence import mean_and_error
from semibandit.learners.race.proposals import Configuration

__all__ = ["Losses", "Pairs", "RaceState", "Run", "Standing", "mean_difference"]

_TOLD_APART = 2.0  # standard errors of the median difference between the best ones and the leader

Run = tuple[int, int]  # the numbers of a configuration and of an instance
Losses = dict[int, float]  # by instance


@dataclass(frozen=True)
class Standing:
    """A configuration of a race, compared with the recommended one on the instances that both have run.

    `mean` is the mean loss of the recommended configuration plus `difference`, the mean difference to it on
    the common instances; `error` is its standard error. They are not finite without enough common instances.
    `runs` counts the runs that did not fail; `best` is the recommended one.

    Online, configurations run on different instances: `mean` and `error` are those of its own runs, the
    difference is unknown (nan), and `racing` means that it has run twice. If neighbouring values of rho, or
    of the knob along the rows, count as one, `stretch` has the lowest and the highest of them.
    """

    values: dict[str, Any]
    mean: float
    difference: float
    error: float
    runs: int
    failed: int
    racing: bool
    best: bool
    default: bool
    stretch: tuple[float, float] | None = None


@dataclass(frozen=True)
class Pairs:
    """Losses of a configuration and of the default on the same instances, in the order of the instances.

    The first `n_selected` pairs were known when the configuration was proposed; the last `n_checked` were
    used by no decision. `number` is that of the configuration, in the order in which they were tried.
    """

    values: dict[str, Any]
    losses: list[tuple[float, float]]
    n_selected: int
    n_checked: int
    number: int


class RaceState(msgspec.Struct):
    """Everything that changes during a race."""

    name: str
    sign: float = 1.0  # -1.0 if higher values are better
    instances: list[str] = []
    order: list[int] = []  # random order in which the instances are used
    stage: str = "design"  # the next one: design, search, finals, check, over
    runs: int = 0
    begun: int = 0  # runs that were made before the latest `extend`
    continued: bool = False  # `extend` was called after runs were made
    n_common: int = 0  # leading instances of the order on which all tried configurations run
    n_used: int = 0  # leading instances of the order that a stage has used
    n_checked: int = 0  # the last instances used, if they are those of the check
    configurations: list[Configuration] = []
    born: list[int] = []  # number of instances whose losses a configuration was proposed from
    losses: list[dict[int, float | None]] = []  # by configuration and instance; None for a failed run
    racing: list[int] = []
    waiting: list[Run] = []  # runs of this stage that were not asked for yet
    pending: dict[int, Run] = {}  # runs under way, by trial
    n_asked: int = 0

    @property
    def n_runs(self) -> int:
        """Number of runs told, failed ones included."""
        return sum(map(len, self.losses))

    @property
    def failed(self) -> list[Run]:
        """Runs that failed."""
        columns = enumerate(self.losses)
        return sorted((i, j) for i, losses in columns for j, loss in losses.items() if loss is None)

    def add(self, values: Configuration, born: int) -> int:
        """Add a configuration and return its number."""
        self.configurations.append(values)
        self.born.append(born)
        self.losses.append({})
        self.racing = [*self.racing, len(self.losses) - 1]
        return len(self.losses) - 1

    def missing(self, numbers: Sequence[int], n: int) -> list[Run]:
        losses = self.losses
        return [(i, instance) for instance in self.order[:n] for i in numbers if instance not in losses[i]]

    def affordable(self, numbers: Sequence[int], most: int, budget: int) -> int:
        """Return the largest n up to `most` for which the missing runs are within the budget."""
        missing = self.missing(numbers, most)
        if len(missing) <= budget:
            return most
        return self.order.index(missing[max(budget, 0)][1])

    def ranked(self) -> list[int]:
        """Return the configurations that have run on all common instances, the best first."""
        n = self.n_common
        complete = [i for i in range(len(self.losses)) if not self.missing([i], n)]
        return self.by_difference(complete, n)

    def told_apart(self, best: Sequence[int]) -> bool:
        """Return whether most of the best configurations are worse than the first by two standard errors."""
        known, scores = self.known(self.n_common), []
        others = [number for number in best[1:] if {number, best[0]} <= known.keys()]
        for number in others:
            difference, error = mean_difference(known[number], known[best[0]])
            # The same difference on all instances tells them apart, one on a single instance (nan) does not.
            scores.append(difference / error if error > 0.0 else math.inf if error == 0.0 else 0.0)
        tied = all(known[number] == known[best[0]] for number in others)
        return not others or (not tied and median(scores) >= _TOLD_APART)

    def by_difference(self, among: Sequence[int], n: int) -> list[int]:
        """Return configurations by their mean difference to the best of them on the first n instances."""
        found = self.compare(among, n)
        if found is None:
            return []
        leader, scores = found
        return sorted(scores, key=lambda number: (number != leader, scores[number], number))

    def compare(self, among: Sequence[int], n: int | None = None) -> tuple[int, dict[int, float]] | None:
        """Return the best configuration, and the mean difference of each to it on common instances.

        Start with the one that has most losses, and pass the lead on to the best challenger until none is
        better than the leader in their direct comparison, or until one would lead again.
        """
        known = {number: losses for number, losses in self.known(n).items() if number in among}
        if not known:
            return None
        best = max(known, key=lambda number: (len(known[number]), -number))
        led: set[int] = set()
        while best not in led:
            led.add(leader := best)
            scores = {number: mean_difference(losses, known[leader])[0] for number, losses in known.items()}
            best = min(known, key=lambda number: (scores[number], number))
        return leader, scores

    def known(self, n: int | None = None) -> dict[int, Losses]:
        """Losses on the first n instances without failed runs, with the sign that makes low values good."""
        sign, order = self.sign, self.order[:n]
        columns = (
            (i, {j: sign * losses[j] for j in order if losses.get(j) is not None})  # type: ignore[operator]
            for i, losses in enumerate(self.losses)
        )
        return {number: losses for number, losses in columns if losses}


def mean_difference(losses: Losses, reference: Losses) -> tuple[float, float]:
    """Return the mean difference on common instances and its standard error; inf, nan without any."""
    pairs = [loss - reference[i] for i, loss in losses.items() if i in reference]
    return mean_and_error(pairs) if pairs else (math.inf, math.nan)
