"""Stages of a race: which runs come next."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from semibandit.learners.race.proposals import Configuration, Kinds, candidates, space_filling
from semibandit.learners.race.state import RaceState
from semibandit.learners.race.surrogate import Surrogate

__all__ = ["CHECK", "Stages"]

_DESIGN = 0.2  # share of the runs for the first design
_STAGE = 0.07  # share of the runs for the new configurations of one stage of the search
_FINALS = 0.1  # share of the runs for the finals
CHECK = 0.4  # largest share of the runs for the check, on at most half of the instances
_DESIGN_PER_KNOB = 10  # configurations of the first design
_BEST = 10  # configurations that run on further instances
_GROWTH = 1.5  # of the number of common instances
_LEADERS = 8  # configurations from which new ones are made
_FINALISTS = 4
_MODELLED = 300  # configurations in the model of them: half are the best


@dataclass(frozen=True)
class Stages:
    """Plans the stages of a race.

    Parameters
    ----------
    state
        State of the race; the plans are made in it.
    kinds
        Knobs by name.
    default
        Configuration that takes part to the end; it has the number 0.
    settle
        Maps configurations that differ in knobs without effect to the same one.
    seed
        Seed of the configurations.
    """

    state: RaceState
    kinds: Kinds
    default: Configuration | None
    settle: Callable[[Configuration], Configuration]
    seed: int

    def advance(self) -> None:
        """Plan the next stage that has runs to make, once all runs of this one were told."""
        plans = {
            "design": self._design, "search": self._search, "finals": self._finals, "check": self._check,
        }  # fmt: skip
        while self.state.stage != "over" and not (self.state.waiting or self.state.pending):
            plans[self.state.stage]()

    @property
    def _left(self) -> int:
        return self.state.runs - self.state.n_runs

    def _share(self, share: float) -> int:
        """Return a share of the runs since the latest `extend`."""
        return int(share * (self.state.runs - self.state.begun))

    @property
    def _n_checks(self) -> int:
        """Number of instances kept for the check: at most half."""
        return 0 if self.default is None else min(self._share(CHECK) // 2, len(self.state.order) // 2)

    @property
    def _n_open(self) -> int:
        """Number of leading instances that search and finals may use."""
        return max(self.state.n_used, len(self.state.order) - self._n_checks)

    def _design(self) -> None:
        """Run configurations that fill the space, on the first instances."""
        n = max(min(_DESIGN_PER_KNOB * len(self.kinds), math.isqrt(self.state.runs)), 2)
        first = [] if self.default is None else [self.default]
        for values in dict.fromkeys(map(self.settle, [*first, *space_filling(self.kinds, n, self.seed)])):
            self.state.add(values, born=0)
        self.state.n_common = max(min(self._share(_DESIGN) // n, self._n_open), 1)
        self._run(range(len(self.state.configurations)), self.state.n_common)
        place = {instance: i for i, instance in enumerate(self.state.order)}
        # The first runs are of many configurations and instances, should one of them be broken.
        self.state.waiting.sort(key=lambda run: (place[run[1]] - run[0]) % self.state.n_common)
        del self.state.waiting[self._left :]
        self.state.stage = "search"

    def _search(self) -> None:
        """Try new configurations on the common instances, or the best ones on further instances."""
        state = self.state
        finals = min(self._share(_FINALS), (_FINALISTS + 1) * (self._n_open - state.n_common))
        spare = self._left - 2 * self._n_checks - finals
        ranked = state.ranked()
        best = self._with_default(ranked[:_BEST]) if ranked else state.racing  # all have failed so far
        target = min(max(state.n_common + 1, int(_GROWTH * state.n_common)), self._n_open)
        target = state.affordable(best, target, spare)
        stuck = target <= state.n_common
        new = self._proposals(ranked, spare) if stuck or state.told_apart(best) else []
        state.racing = best
        if new:
            state.racing = best + [self.state.add(values, state.n_common) for values in new]
            self._run(state.racing, state.n_common)
        elif target > state.n_common:
            state.n_common = target
            self._run(best, target)
        else:
            state.stage = "finals"

    def _proposals(self, ranked: Sequence[int], spare: int) -> list[Configuration]:
        state = self.state
        n = min(max(self._share(_STAGE) // state.n_common, 1), spare // state.n_common)
        if n < 1 or not ranked:
            return []
        leaders = [state.configurations[i] for i in ranked[:_LEADERS]]
        rng = np.random.default_rng([self.seed, len(state.configurations)])
        tried = set(state.configurations)
        drawn = dict.fromkeys(map(self.settle, candidates(self.kinds, leaders, rng)))
        new = [values for values in drawn if values not in tried]
        return self._surrogate().propose(new, n, state.n_common) if new else []

    def _surrogate(self) -> Surrogate:
        """Return a model of all configurations; the scores are normal quantiles of their ranks."""
        state, n = self.state, len(self.state.configurations)
        found = state.compare(range(n))
        differences = found[1] if found else {}
        # Rounded: means of the same losses in another order are ties.
        numbers = sorted(range(n), key=lambda number: (round(differences.get(number, math.inf), 9), number))
        scores = ndtri((np.arange(n) + 0.5) / n)
        half, kept = _MODELLED // 2, np.arange(n)
        if n > _MODELLED:
            kept = np.r_[:half, np.linspace(half, n - 1, half).astype(int)]
        runs = [float(max(len(state.losses[numbers[i]]), 1)) for i in kept]
        tried = [state.configurations[numbers[i]] for i in kept]
        return Surrogate(self.kinds, tried, scores[kept], np.array(runs))

    def _finals(self) -> None:
        """Run the best configurations on further instances."""
        state = self.state
        state.racing = self._with_default(state.ranked()[:_FINALISTS] or state.racing)
        budget = self._left - 2 * self._n_checks
        self._run(state.racing, state.affordable(state.racing, self._n_open, budget))
        state.stage = "check"

    def _check(self) -> None:
        """Run the winner and the default on instances that no decision has used."""
        state = self.state
        state.stage = "over"
        rivals = [i for i in self.state.by_difference(state.racing, state.n_used) if i != 0]
        start = state.n_used
        if self.default is None or not rivals:
            return
        state.racing = self._with_default(rivals[:1])
        state.n_checked = min(self._left // 2, len(state.order) - start)
        state.n_used += state.n_checked
        block = state.order[start : state.n_used]
        state.waiting = [(number, instance) for instance in block for number in state.racing]

    def _run(self, numbers: Iterable[int], n: int) -> None:
        """Plan the missing runs of these configurations on the first n instances."""
        self.state.waiting = self.state.missing(list(numbers), n)
        self.state.n_used = max(self.state.n_used, n)

    def _with_default(self, numbers: Sequence[int]) -> list[int]:
        return [*numbers, *([] if self.default is None or 0 in numbers else [0])]
