"""Race the values of a parameter on a fixed set of instances.

Instances differ more than values do, so values are compared on the same instances (paired differences). A
race spends a given number of runs in stages, by successive halving (Karnin, Koren and Somekh 2013) with
refinement: in each stage all racing values run on the next instances, the worse half drops out, and two new
values enter, halfway between the leader and its neighbours.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, ClassVar

import msgspec
import numpy as np

from semibandit import _validate
from semibandit.confidence import mean_and_error
from semibandit.functions import PiecewiseConstant
from semibandit.learners.recommendation import Recommendation
from semibandit.learners.statistics import Evidence
from semibandit.learners.trials import Trial
from semibandit.spaces import Interval

__all__ = ["Race", "RaceTrial", "Standing"]

_FIRST_VALUES = 10  # values of the first stage
_RUNS_PER_VALUE = 5  # with fewer runs than this for each, the first stage has fewer values
_STAGE_ENDS = (0.5, 0.75, 1.0)  # share of the runs that is spent at the end of each stage
_EXTENSION_ENDS = (0.5, 1.0)  # the same for runs that are added later
_MIN_SURVIVORS = 3

Run = tuple[float, int]  # a value, and the number of an instance
Losses = dict[int, float]  # by instance


class RaceTrial(Trial, frozen=True):
    """A run to make: the value `rho` on the instance of this name."""

    instance: str = ""


@dataclass(frozen=True)
class Standing:
    """A value of a race, compared with the recommended one on the instances that both have run.

    `mean` is the mean loss of its `runs` that did not fail. `difference` is the mean loss minus that of the
    recommended value over the common instances, and `error` its standard error; both are nan without enough
    common instances.
    """

    rho: float
    mean: float
    difference: float
    error: float
    runs: int
    failed: int
    racing: bool


class _State(msgspec.Struct):
    """Everything that changes during a race."""

    name: str
    instances: list[str] = []
    order: list[int] = []  # random order in which the instances are used
    n_used: int = 0  # leading part of the order that was planned so far
    runs: int = 0
    stage_ends: list[int] = []  # numbers of runs at which the coming stages end
    racing: list[float] = []
    waiting: list[Run] = []  # runs of this stage that were not asked for yet
    pending: dict[int, Run] = {}  # runs under way, by trial
    losses: dict[float, dict[int, float | None]] = {}  # by value and instance; None for a failed run
    n_asked: int = 0


class Race:
    """Find the best value on a fixed set of instances, with a given number of runs.

    A race is a learner: `ask` returns the next run, `tell` takes its loss. Runs of one stage may be made in
    any order and at the same time; the same seed and losses give the same race. It starts with the first
    `extend`, and `upcoming` is None when it is over or the stage waits for pending runs.

    Parameters
    ----------
    space
        Range of the parameter.
    default
        A value that takes part to the end, for comparison.
    integer
        Race integers only.
    high
        Largest possible loss, if known. The race does not use it; verdicts do.
    maximize
        Higher values are better.
    seed
        Seed of the order of the instances.

    Examples
    --------
    >>> race = Race(Interval(0, 1), seed=0)
    >>> race.extend([str(i) for i in range(50)], runs=200)
    >>> while race.upcoming:
    ...     trial = race.ask()
    ...     race.tell(trial, abs(trial.rho - 0.3) + 0.1 * (int(trial.instance) % 5))
    >>> race.recommend().rho
    0.3055555555555556
    """

    guarantee = "a race: no bound on the regret"
    last_probabilities: ClassVar[tuple[float, ...]] = (1.0,)  # runs are not drawn at random

    def __init__(
        self,
        space: Interval,
        *,
        default: float | None = None,
        integer: bool = False,
        high: float | None = None,
        maximize: bool = False,
        seed: int = 0,
    ) -> None:
        if not isinstance(space, Interval):
            raise TypeError(f"space must be an Interval, as a race has one parameter, got {space!r}")
        self.space = space
        self.integer = _validate.boolean("integer", integer)
        self.maximize = _validate.boolean("maximize", maximize)
        self.high = None if high is None else _validate.number("high", high, low=0.0, open=True)
        self.default = None if default is None else self._value(space.check(default, "default"))
        self.seed = _validate.integer("seed", seed, low=0)
        self._state = _State(uuid.uuid4().hex)

    def extend(self, instances: Iterable[str] = (), runs: int = 1, retry_failed: bool = False) -> None:
        """Start the race, or continue it with further instances or runs.

        Parameters
        ----------
        instances
            Names of instances that are new to the race.
        runs
            Number of runs in all, at least as many as before.
        retry_failed
            Make failed runs again. Decisions that were taken without them stay.
        """
        state, new = self._state, list(instances)
        if not all(isinstance(name, str) for name in new):
            raise TypeError(f"instances must be strings, got {new!r}")
        if len({*state.instances, *new}) < len(state.instances) + len(new):
            raise ValueError("instances must be new to the race, and each given once")
        if not (new or state.instances):
            raise ValueError("instances must not be empty, as a race needs at least one")
        total = _validate.integer("runs", runs, low=max(1, state.runs))
        if not state.runs:
            n_values = min(_FIRST_VALUES, max(2, total // _RUNS_PER_VALUE))
            state.racing = self._with_default(np.linspace(self.space.lo, self.space.hi, n_values).tolist())
        ends = _EXTENSION_ENDS if state.runs else _STAGE_ENDS
        if new or total > state.runs:
            state.stage_ends += [state.runs + int(end * (total - state.runs)) for end in ends]
        n_old = len(state.instances)
        permutation = np.random.default_rng([self.seed, n_old]).permutation(len(new))
        state.order += (n_old + permutation).tolist()
        state.instances += new
        state.runs = total
        if retry_failed:
            failed = self.failed
            for rho, instance in failed:
                del state.losses[rho][instance]
            state.waiting = failed + state.waiting
        self._advance()

    # -- runs --------------------------------------------------------------------------------------

    @property
    def upcoming(self) -> tuple[float, str] | None:
        """Value and instance of the run that `ask` would return; None if there is none now."""
        if not self._state.waiting:
            return None
        rho, instance = self._state.waiting[0]
        return rho, self._state.instances[instance]

    def ask(self, *, probes: int = 0, explore: float = 1.0, position: Any = None) -> RaceTrial:
        """Return the next run of this stage; `position` is that of a logged trial, to check the log."""
        state = self._state
        if probes:
            raise ValueError(f"probes must be 0 in a race, got {probes!r}")
        if explore != 1.0:
            raise ValueError(f"explore must be 1 in a race, got {explore!r}")
        if not state.waiting:
            raise ValueError("no run is due: the race is over, or the stage waits for pending runs")
        if position is not None and list(np.atleast_1d(position)) != [state.waiting[0][0]]:
            raise ValueError(f"position must be {state.waiting[0][0]!r}, the next run, got {position!r}")
        run = state.waiting.pop(0)
        state.pending[state.n_asked] = run
        state.n_asked += 1
        return self._trial(state.n_asked - 1, run)

    def tell(
        self, trial: Trial, seen: float | None, *, predicted: Any = None, probability: Any = None
    ) -> None:
        """Take the loss of a run, None if it failed; the last run of a stage starts the next stage."""
        if predicted is not None:
            raise ValueError(f"a race takes no predictions, got predicted={predicted!r}")
        rho, instance = self._run_of(trial)
        loss = None if seen is None else _validate.number("loss", seen)
        del self._state.pending[trial.id]
        self._state.losses.setdefault(rho, {})[instance] = loss
        self._advance()

    def forget(self, trial: Trial) -> None:
        """Give up a pending trial; its run is asked for again."""
        self._state.waiting.insert(0, self._run_of(trial))
        del self._state.pending[trial.id]

    @property
    def pending(self) -> tuple[RaceTrial, ...]:
        """Trials that were asked for and not told."""
        return tuple(self._trial(number, run) for number, run in self._state.pending.items())

    def _trial(self, number: int, run: Run) -> RaceTrial:
        rho, instance = run
        return RaceTrial(number, rho, self._state.name, (rho,), instance=self._state.instances[instance])

    def _run_of(self, trial: Trial) -> Run:
        if trial.learner != self._state.name or trial.id not in self._state.pending:
            raise ValueError(f"trial must be a pending trial of this race, got {trial!r}")
        return self._state.pending[trial.id]

    # -- stages ------------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Start the next stage that has runs to make, once all runs of this one were told."""
        state = self._state
        while state.stage_ends and not (state.waiting or state.pending):
            if state.losses.keys() >= set(state.racing):
                state.racing = self._survivors()
            self._plan()

    def _plan(self) -> None:
        """Plan a stage: new instances for all racing values, then those that some values have missed."""
        state = self._state
        budget = state.stage_ends.pop(0) - self.n_runs
        n_new = max(min(budget // len(state.racing), len(state.order) - state.n_used), 0)
        block = state.order[state.n_used : state.n_used + n_new]
        state.n_used += n_new
        state.waiting = [(rho, instance) for instance in block for rho in state.racing]
        if state.n_used == len(state.order):
            made = {(rho, i) for rho, losses in state.losses.items() for i in losses} | {*state.waiting}
            grid = ((rho, instance) for instance in state.order for rho in state.racing)
            left = max(budget - len(state.waiting), 0)
            state.waiting += islice((run for run in grid if run not in made), left)

    def _survivors(self) -> list[float]:
        """Return the better half, with two new values beside the leader."""
        racing = self._state.racing
        leader, scores = self._compare() or (racing[0], {})
        ranked = sorted(racing, key=lambda rho: (rho != leader, scores.get(rho, math.inf), rho))
        half = ranked[: max(_MIN_SURVIVORS, math.ceil(len(ranked) / 2))]
        tried = sorted(self._state.losses)
        at = tried.index(leader)
        beside = [(tried[at] + tried[i]) / 2 for i in (at - 1, at + 1) if 0 <= i < len(tried)]
        return self._with_default([*half, *beside])

    def _compare(self) -> tuple[float, dict[float, float]] | None:
        """Return the leader, and the mean difference of each value to it on common instances.

        Start with the racing value that has most losses, and pass the lead on to the best challenger until
        no value is better than the leader in their direct comparison, or until a value would lead again.
        """
        known = self._known()
        if not known:
            return None
        candidates = [rho for rho in known if rho in self._state.racing] or list(known)
        best = max(candidates, key=lambda rho: (len(known[rho]), -rho))
        led: set[float] = set()
        while best not in led:
            led.add(leader := best)
            scores = {rho: _difference(losses, known[leader])[0] for rho, losses in known.items()}
            best = min(candidates, key=lambda rho: (scores[rho], rho))
        return leader, scores

    def _known(self) -> dict[float, Losses]:
        """Losses of the runs that did not fail, with the sign that makes low values good."""
        sign = -1.0 if self.maximize else 1.0
        columns = (
            (rho, {i: sign * losses[i] for i in sorted(losses) if losses[i] is not None})  # type: ignore[operator]
            for rho, losses in sorted(self._state.losses.items())
        )
        return {rho: losses for rho, losses in columns if losses}

    def _with_default(self, values: Iterable[float]) -> list[float]:
        extra = [] if self.default is None else [self.default]
        return sorted({*map(self._value, values), *extra})

    def _value(self, rho: float) -> float:
        return float(round(rho)) if self.integer else float(rho)

    # -- results -----------------------------------------------------------------------------------

    @property
    def instances(self) -> tuple[str, ...]:
        """Names of all instances."""
        return tuple(self._state.instances)

    @property
    def runs(self) -> int:
        """Number of runs to make in all; fewer are made once all values have run on all instances."""
        return self._state.runs

    @property
    def n_asked(self) -> int:
        """Number of trials."""
        return self._state.n_asked

    @property
    def n_runs(self) -> int:
        """Number of runs told, failed ones included."""
        return sum(map(len, self._state.losses.values()))

    @property
    def n_told(self) -> int:
        """Number of runs with a loss."""
        return self.n_runs - len(self.failed)

    @property
    def failed(self) -> list[Run]:
        """Runs that failed: values, and numbers of instances."""
        columns = self._state.losses.items()
        return sorted((rho, i) for rho, losses in columns for i, loss in losses.items() if loss is None)

    @property
    def n_values(self) -> int:
        """Number of values that were run."""
        return len(self._state.losses)

    n_pieces = n_values

    def recommend(self) -> Recommendation:
        """Return the value to deploy, for all values from halfway to its neighbours. O(runs).

        Of the racing values within one standard error of the leader, the one with most runs, as it is known
        best. Before any loss the middle of the space.
        """
        known, found = self._known(), self._compare()
        if found is None:
            middle = self._value(0.5 * self.space.lo + 0.5 * self.space.hi)
            return Recommendation(middle, (self.space.lo, self.space.hi))
        leader, scores = found
        near = [leader]
        for rho in set(self._state.racing) & known.keys():
            difference, error = _difference(known[rho], known[leader])
            near += [rho] if difference <= error else []
        best = max(near, key=lambda rho: (len(known[rho]), -scores[rho], -rho))
        tried = sorted(self._state.losses)
        edges, at = self._edges(tried), tried.index(best)
        mean, error = mean_and_error(list(known[best].values()))
        evidence = Evidence(-mean if self.maximize else mean, error, len(known[best]))
        return Recommendation(best, (edges[at], edges[at + 1]), evidence=evidence)

    def standings(self) -> list[Standing]:
        """Return all values that have a loss, ordered by their difference to the recommended one."""
        known = self._known()
        if not known:
            return []
        best, sign = self.recommend().rho, -1.0 if self.maximize else 1.0
        rows = []
        for rho, losses in known.items():
            difference, error = _difference(losses, known[best])
            mean = sign * math.fsum(losses.values()) / len(losses)
            failed = len(self._state.losses[rho]) - len(losses)
            figures = mean + 0.0, sign * difference + 0.0, error, len(losses), failed
            rows.append((rho != best, difference, Standing(rho, *figures, rho in self._state.racing)))
        return [row for *_, row in sorted(rows, key=lambda entry: (*entry[:2], entry[2].rho))]

    def density(self) -> PiecewiseConstant:
        """Return the density of the runs over the space."""
        tried = sorted(self._state.losses)
        if not self.n_runs:
            return PiecewiseConstant.constant(self.space.lo, self.space.hi, 1.0 / self.space.width)
        edges = np.array(self._edges(tried))
        shares = np.array([len(self._state.losses[rho]) for rho in tried]) / self.n_runs
        return PiecewiseConstant(edges, shares / np.diff(edges))

    def certificate(self, dispersion: Any = None) -> Any:
        """Raise ValueError: a race bounds no regret."""
        raise ValueError("a race gives no certificate, as it bounds no regret")

    def _edges(self, tried: Sequence[float]) -> list[float]:
        return [self.space.lo, *((a + b) / 2 for a, b in pairwise(tried)), self.space.hi]

    # -- saving ------------------------------------------------------------------------------------

    def dumps(self) -> bytes:
        """Return the race as bytes, for `loads`."""
        names = ("default", "integer", "high", "maximize", "seed")
        options = {name: getattr(self, name) for name in names}
        return msgspec.msgpack.encode([self.space.to_dict(), options, self._state])

    @classmethod
    def loads(cls, data: bytes, path: str = "these bytes") -> Race:
        """Return the race that `dumps` has saved, with its pending trials; `path` names it in errors."""
        try:
            space, options, state = msgspec.msgpack.decode(
                data, type=tuple[dict[str, Any], dict[str, Any], _State]
            )
            race = cls(Interval(**space), **options)
        except (ValueError, TypeError, LookupError) as error:
            raise ValueError(f"{path}: not a saved race ({error})") from None
        race._state = state
        return race


def _difference(losses: Losses, reference: Losses) -> tuple[float, float]:
    """Return the mean difference on common instances and its standard error; inf, nan without any."""
    pairs = [loss - reference[i] for i, loss in losses.items() if i in reference]
    return mean_and_error(pairs) if pairs else (math.inf, math.nan)
