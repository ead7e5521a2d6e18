"""Race: a learner that compares configurations on the same instances."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, ClassVar

import msgspec
import numpy as np

from semibandit import _validate
from semibandit.confidence import mean_and_error
from semibandit.functions import PiecewiseConstant
from semibandit.learners.race.proposals import Configuration, check_default, kinds_of
from semibandit.learners.race.stages import Stages
from semibandit.learners.race.state import Pairs, RaceState, Run, Standing, mean_difference
from semibandit.learners.recommendation import Recommendation
from semibandit.learners.statistics import Evidence
from semibandit.learners.trials import Trial
from semibandit.spaces import Interval, Knobs, restore

__all__ = ["Race", "RaceTrial"]


class RaceTrial(Trial, frozen=True):
    """A run to make: the values `rho` (or `values`) on the instance of this name."""

    instance: str = ""


class Race:
    """Find the best configuration on a fixed set of instances, with a given number of runs.

    A race is a learner: `ask` returns the next run, `tell` takes its loss. Runs of one stage may be made in
    any order and at the same time; the same seed and losses give the same race. It starts with the first
    `extend`, and `upcoming` is None when it is over or the stage waits for pending runs.

    Parameters
    ----------
    space
        `Interval` or `Knobs`.
    default
        Value, or the values of all knobs by name, to compare with. It takes part to the end.
    integer
        Race integers only, on an `Interval`.
    high
        Largest possible loss, if known. The race does not use it; verdicts do.
    maximize
        Higher values are better.
    seed
        Seed of the order of the instances and of the configurations.

    Examples
    --------
    >>> race = Race(Interval(0, 1), seed=0)
    >>> race.extend([str(i) for i in range(50)], runs=200)
    >>> while race.upcoming:
    ...     trial = race.ask()
    ...     race.tell(trial, abs(trial.rho - 0.3) + 0.1 * (int(trial.instance) % 5))
    >>> race.recommend().rho
    0.3
    """

    guarantee = "a race: no bound on the regret"
    last_probabilities: ClassVar[tuple[float, ...]] = (1.0,)  # runs are not drawn at random

    def __init__(
        self,
        space: Interval | Knobs,
        *,
        default: Any = None,
        integer: bool = False,
        high: float | None = None,
        maximize: bool = False,
        seed: int = 0,
    ) -> None:
        if not isinstance(space, Interval | Knobs):
            raise TypeError(f"space must be an Interval or Knobs, got {space!r}")
        self.space = space
        self.integer = _validate.boolean("integer", integer)
        if integer and space.names:
            raise ValueError("integer goes with an Interval; on Knobs, use an Integer")
        self.maximize = _validate.boolean("maximize", maximize)
        self.high = None if high is None else _validate.number("high", high, low=0.0, open=True)
        self._kinds = kinds_of(space, self.integer)
        self.default = None if default is None else check_default(space, default, self.integer)
        self.seed = _validate.integer("seed", seed, low=0)
        self._state = RaceState(uuid.uuid4().hex, -1.0 if self.maximize else 1.0)

    def extend(self, instances: Iterable[str] = (), runs: int = 1, retry_failed: bool = False) -> None:
        """Start the race, or continue it with further instances or runs.

        With new instances it continues with the finals, with more runs alone with the search.

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
        unused = [*state.order[state.n_used :], *range(len(state.instances), len(state.instances) + len(new))]
        if new:
            rng = np.random.default_rng([self.seed, len(state.instances)])
            state.order[state.n_used :] = rng.permutation(unused).tolist()
        state.instances += new
        if new or total > state.runs:
            state.continued = state.continued or self.n_runs > 0
            state.begun, state.runs, state.n_checked = self.n_runs, total, 0
            if state.stage != "design":
                state.stage = "finals" if new else "search"
        if retry_failed:
            failed = self._state.failed
            for number, instance in failed:
                del state.losses[number][instance]
            state.waiting = failed + state.waiting
        self._stages.advance()

    # -- runs --------------------------------------------------------------------------------------

    @property
    def upcoming(self) -> tuple[dict[str, Any], str] | None:
        """Values and instance of the run that `ask` would return; None if there is none now."""
        if not self._state.waiting:
            return None
        number, instance = self._state.waiting[0]
        return self._values(number), self._state.instances[instance]

    def ask(self, *, probes: int = 0, explore: float = 1.0, position: Any = None) -> RaceTrial:
        """Return the next run of this stage; `position` is that of a logged trial, to check the log."""
        state = self._state
        if probes:
            raise ValueError(f"probes must be 0 in a race, got {probes!r}")
        if explore != 1.0:
            raise ValueError(f"explore must be 1 in a race, got {explore!r}")
        if not state.waiting:
            raise ValueError("no run is due: the race is over, or the stage waits for pending runs")
        trial = self._trial(state.n_asked, state.waiting[0])
        if position is not None and list(np.atleast_1d(position)) != list(trial.positions):
            raise ValueError(f"position must be {trial.position!r}, the next run, got {position!r}")
        state.pending[trial.id] = state.waiting.pop(0)
        state.n_asked += 1
        return trial

    def tell(
        self, trial: Trial, seen: float | None, *, predicted: Any = None, probability: Any = None
    ) -> None:
        """Take the loss of a run, None if it failed; the last run of a stage starts the next stage."""
        if predicted is not None:
            raise ValueError(f"a race takes no predictions, got predicted={predicted!r}")
        number, instance = self._run_of(trial)
        loss = None if seen is None else _validate.number("loss", seen)
        del self._state.pending[trial.id]
        self._state.losses[number][instance] = loss
        self._stages.advance()

    def forget(self, trial: Trial) -> None:
        """Give up a pending trial; its run is asked for again."""
        self._state.waiting.insert(0, self._run_of(trial))
        del self._state.pending[trial.id]

    @property
    def pending(self) -> tuple[RaceTrial, ...]:
        """Trials that were asked for and not told."""
        return tuple(self._trial(number, run) for number, run in self._state.pending.items())

    def _trial(self, trial: int, run: Run) -> RaceTrial:
        number, instance = run
        rho, alpha = self._coordinates(number)
        position = float(number) if self.space.names else rho
        return RaceTrial(
            trial, rho, self._state.name, (position,), alpha, names=self.space.names,
            instance=self._state.instances[instance],
        )  # fmt: skip

    def _run_of(self, trial: Trial) -> Run:
        if trial.learner != self._state.name or trial.id not in self._state.pending:
            raise ValueError(f"trial must be a pending trial of this race, got {trial!r}")
        return self._state.pending[trial.id]

    def _values(self, number: int) -> dict[str, Any]:
        return dict(zip(self._kinds, self._state.configurations[number], strict=True))

    def _coordinates(self, number: int) -> tuple[Any, Any]:
        """Return rho and alpha of a configuration."""
        if isinstance(self.space, Knobs):
            return self.space.coordinates(**self._values(number))
        return float(self._state.configurations[number][0]), None

    @property
    def _stages(self) -> Stages:
        default: Configuration | None = None
        if isinstance(self.default, dict):
            default = tuple(self.default[name] for name in self._kinds)
        elif self.default is not None:
            default = (int(self.default) if self.integer else self.default,)
        return Stages(self._state, self._kinds, default, self._settle, self.seed)

    def _settle(self, values: Configuration) -> Configuration:
        """Return the configuration with the lowest value of each knob that has no effect."""
        if not (isinstance(self.space, Knobs) and self.space.conditions):
            return values
        return tuple(self.space.check(**dict(zip(self._kinds, values, strict=True))).values())

    # -- results -----------------------------------------------------------------------------------

    @property
    def instances(self) -> tuple[str, ...]:
        """Names of all instances."""
        return tuple(self._state.instances)

    @property
    def runs(self) -> int:
        """Number of runs to make in all; fewer are made once the best have run on all instances."""
        return self._state.runs

    @property
    def n_asked(self) -> int:
        """Number of trials."""
        return self._state.n_asked

    @property
    def n_runs(self) -> int:
        """Number of runs told, failed ones included."""
        return self._state.n_runs

    @property
    def n_told(self) -> int:
        """Number of runs with a loss."""
        return self.n_runs - len(self.failed)

    @property
    def failed(self) -> list[Run]:
        """Runs that failed: numbers of configurations and of instances."""
        return self._state.failed

    @property
    def n_values(self) -> int:
        """Number of configurations tried."""
        return len(self._state.configurations)

    n_pieces = n_values

    @property
    def is_over(self) -> bool:
        """Whether all stages are finished."""
        return self._state.stage == "over" and not (self._state.waiting or self._state.pending)

    @property
    def is_default_best(self) -> bool:
        """Whether the default is recommended."""
        return self._is_default(self._recommended())

    @property
    def was_continued(self) -> bool:
        """Whether instances or runs were added after the first runs."""
        return self._state.continued

    def recommend(self) -> Recommendation:
        """Return the configuration to deploy. O(runs).

        Of those in the race within one standard error of the leader, the one with most runs, as it is known
        best: the default, if nothing is better. On an `Interval`, it stands for all values from halfway to
        its neighbours. Before any loss it is the default, or the middle of the space.
        """
        best = self._recommended()
        if best is None:
            return self._unknown()
        rho, alpha = self._coordinates(best)
        losses = list(self._state.known()[best].values())
        mean, error = mean_and_error(losses)
        evidence = Evidence(self._state.sign * mean, error, len(losses))
        interval = (rho, rho)
        if not self.space.names:
            tried, edges = self._cells()
            at = tried.index(rho)
            interval = edges[at], edges[at + 1]
        return Recommendation(rho, interval, alpha, self.space.names, evidence)

    def _recommended(self) -> int | None:
        found = self._state.compare(self._state.racing)
        if found is None:
            return None
        (leader, scores), known = found, self._state.known()
        errors = {i: mean_difference(known[i], known[leader])[1] for i in scores}
        near = [i for i, score in scores.items() if i == leader or score <= errors[i]]
        return max(near, key=lambda i: (len(known[i]), -scores[i], -i))

    def _is_default(self, number: int | None) -> bool:
        return self.default is not None and number == 0

    def _unknown(self) -> Recommendation:
        if isinstance(self.space, Knobs):
            line = self.space.line
            values = self.default or self.space.parameters(0, 0.5 * line.lo + 0.5 * line.hi)
            rho, alpha = self.space.coordinates(**values)
            return Recommendation(rho, self.space.interval.span, alpha, self.space.names)
        rho = 0.5 * self.space.lo + 0.5 * self.space.hi if self.default is None else self.default
        return Recommendation(float(round(rho)) if self.integer else rho, self.space.span)

    def standings(self) -> list[Standing]:
        """Return all configurations that have a loss, ordered by their difference to the recommended one."""
        known, best = self._state.known(), self._recommended()
        if best is None:
            return []
        sign, reference = self._state.sign, mean_and_error(list(known[best].values()))[0]
        rows = []
        for number, losses in known.items():
            difference, error = mean_difference(losses, known[best])
            figures = sign * (reference + difference) + 0.0, sign * difference + 0.0, error, len(losses)
            failed = len(self._state.losses[number]) - len(losses)
            flags = number in self._state.racing, number == best, self._is_default(number)
            row = Standing(self._values(number), *figures, failed, *flags)
            rows.append((number != best, difference, number, row))
        return [row for *_, row in sorted(rows, key=lambda entry: entry[:3])]

    def pairs(self) -> Pairs | None:
        """Return the pairs of the recommended configuration and the default; None without a common instance.

        If the default is recommended, those of the best other configuration.
        """
        state, known = self._state, self._state.known()
        found = state.compare([i for i in state.racing if i != 0])
        if self.default is None or found is None or 0 not in known:
            return None
        best = found[0] if self.is_default_best else self._recommended() or found[0]
        checks = set(state.order[state.n_used - state.n_checked : state.n_used])
        common = [j for j in state.order if j in known[best] and j in known[0]]
        if not common:
            return None
        sign, early = state.sign, set(state.order[: state.born[best]])
        return Pairs(
            self._values(best),
            [(sign * known[best][j] + 0.0, sign * known[0][j] + 0.0) for j in common],
            sum(j in early for j in common),
            sum(j in checks for j in common) if self.is_over else 0,
            best,
        )

    def density(self) -> PiecewiseConstant:
        """Return the density of the runs over the line of the space."""
        if not self.n_runs:
            return PiecewiseConstant.constant(*self.space.line.ends, 1.0 / self.space.line.extent)
        tried, edges = self._cells()
        shares = dict.fromkeys(tried, 0.0)
        for number, losses in enumerate(self._state.losses):
            if losses:
                shares[self._place(number)] += len(losses) / self.n_runs
        return PiecewiseConstant(edges, np.array(list(shares.values())) / np.diff(edges))

    def _place(self, number: int) -> float:
        if isinstance(self.space, Knobs):
            return self.space.place(**self._values(number))
        return float(self._state.configurations[number][0])

    def _cells(self) -> tuple[list[float], list[float]]:
        """Return the places of the configurations on the line, and edges halfway between them."""
        lo, hi = self.space.line.ends
        tried = sorted({self._place(number) for number, losses in enumerate(self._state.losses) if losses})
        return tried, [lo, *((a + b) / 2 for a, b in pairwise(tried)), hi]

    def certificate(self, dispersion: Any = None) -> Any:
        """Raise ValueError: a race bounds no regret."""
        raise ValueError("a race gives no certificate, as it bounds no regret")

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
                data, type=tuple[dict[str, Any], dict[str, Any], RaceState]
            )
            race = cls(restore(space), **options)  # type: ignore[arg-type]
        except (ValueError, TypeError, LookupError) as error:
            raise ValueError(f"{path}: not a saved race ({error})") from None
        race._state = state
        return race
