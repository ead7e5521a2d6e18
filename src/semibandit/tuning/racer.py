"""Race the values of a command's knob on a fixed set of instances, with a state file and several jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from os import PathLike
from time import perf_counter
from typing import Any

import msgspec

from semibandit import _validate
from semibandit.spaces import Interval, Knobs
from semibandit.tuning.command import Command
from semibandit.tuning.journal import Change, Round
from semibandit.tuning.losses import range_of
from semibandit.tuning.process import kill_all
from semibandit.tuning.race import Race, Run
from semibandit.tuning.summary import Summary, summarise
from semibandit.tuning.tuner import Tuner, _require_storable

__all__ = ["FEWEST_RUNS", "Racer"]

FEWEST_RUNS = 200  # that a race has, if not told otherwise


class Racer(Tuner):
    """A `Race` of the values of a command's knob, and a state file that always holds all finished runs.

    Decisions are made between blocks, from all runs of a block: the race is the same for any number of jobs,
    and however often it was interrupted.

    Parameters
    ----------
    command, space, state
        As for `Tuner`.
    runs
        How many runs to spend; by default as many as there are instances, at least 200. More of them later,
        or more instances, let the race go on.
    jobs
        Commands to run at once.
    options
        Of `Tuner`: maximize, high, failed, default (which takes part to the end), seed.

    Examples
    --------
    >>> import tempfile, os
    >>> state = os.path.join(tempfile.mkdtemp(), "knob.json")
    >>> command = Command("echo {rho} # {instance}", shell=True)
    >>> with Racer(command, Interval(0, 1), state, runs=60) as racer:
    ...     n = len(list(racer.rounds([f"{i}.txt" for i in range(10)])))
    ...     print(n, racer.summary().recommendation.rho)
    58 0.0
    """

    def __init__(
        self,
        command: Command,
        space: Interval | Knobs,
        state: str | PathLike[str],
        *,
        runs: int | None = None,
        jobs: int = 1,
        **options: Any,
    ) -> None:
        if not isinstance(space, Interval):
            raise TypeError(f"space must be an Interval: a race has one knob, got {space!r}")
        self._interval = space
        settings = self._configure(command, space, feedback="race", **options)
        self._wanted = None if runs is None else _validate.integer("runs", runs, low=1)
        self._jobs = _validate.integer("jobs", jobs, low=1)
        self._race: Race | None = None
        self._names: list[str] = []
        self._numbers: dict[str, int] = {}  # of the instances in the race
        self._stopping = False
        self._open_file(state, settings)

    @property
    def learner(self) -> Any:
        """The race so far."""
        if self._race is None:
            raise ValueError("a race has not begun before it is given instances")
        return self._race

    @property
    def paired(self) -> Sequence[Round]:
        """All runs but those of the default, each with the loss of the default on the same instance."""
        known = {record.instance: record.loss for record in self.finished if record.rho == self.default}
        return [
            msgspec.structs.replace(record, default_loss=known.get(record.instance))
            for record in self.finished
            if record.rho != self.default
        ]

    def summary(self) -> Summary:
        """Counts, means, and the parameter to deploy."""
        return summarise(self.finished, self.learner.recommend())

    # -- what the file says ----------------------------------------------------------------------

    def _begin(self, high: float | None, horizon: int) -> None:
        self.rules = replace(self.rules, high=high)
        self._held: dict[Run, Round] = {}  # until the range is known

    def _apply(self, change: Change) -> None:
        if change.high is not None:
            held = self._held
            self._begin(change.high, 0)
            for run, record in held.items():
                self.learner.tell(run, self.rules.of(record))
        if change.runs is not None:
            self._names += change.instances
            self._numbers = {name: number for number, name in enumerate(self._names)}
            if self._race is None:
                settings = self.settings
                self._race = Race(
                    self._interval, len(self._names), change.runs, default=change.default,
                    integer=settings.integer, maximize=settings.maximize, seed=settings.seed,
                )  # fmt: skip
            else:
                self._race.extend(len(self._names), change.runs)

    def _relearn(self) -> None:
        super()._relearn()
        if self._race is not None and self._race.default != self._default():
            raise ValueError(
                f"{self.journal.path} was begun with other settings: default = {self.default} "
                f"(it was {self._race.default}). Use the same again, or another state file"
            )

    def _default(self) -> float | None:
        return None if self.default is None else self.command.value(self.default)

    def _trial_of(self, record: Round) -> Any:
        return Run(record.rho, self._numbers[record.instance])

    def _learn(self, trial: Any, record: Round) -> None:
        if self.rules.high is None:
            if trial not in self.learner.ask():
                raise ValueError(f"no run of {record.instance!r} at {record.rho!r} was due")
            self._held[trial] = record
        else:
            self.learner.tell(trial, self.rules.of(record))

    # -- the runs --------------------------------------------------------------------------------

    def _enter(self, instances: Sequence[str]) -> None:
        """Take instances into the race that are new to it, and see to it that it has its runs."""
        for name in instances:
            _require_storable(name)
        new = tuple(name for name in dict.fromkeys(instances) if name not in self._numbers)
        runs = self._wanted or max(len(self._names) + len(new), FEWEST_RUNS)
        so_far = 0 if self._race is None else self._race.runs
        if new or runs > so_far:
            default = self._default() if self._race is None else None
            self._change(Change(instances=new, runs=max(runs, so_far), default=default))

    def n_todo(self, instances: Sequence[str], again: bool = False, retry_failed: bool = False) -> int:
        """How many runs there are still to be, at most; instances that are new enter the race here."""
        if again:
            raise ValueError("a race is not run again: give it more runs")
        self._enter(instances)
        race: Race = self.learner
        return race.runs - race.n_runs - len(self._held) + (len(race.failed) if retry_failed else 0)

    def rounds(
        self, instances: Sequence[str], again: bool = False, retry_failed: bool = False
    ) -> Iterator[Round]:
        """Run what the race asks for; a run is on the disk before it is yielded. Raises as `Tuner.rounds`."""
        self.n_todo(instances, again)
        yield from self._unless_hopeless(self._blocks(retry_failed))
        self.journal.keep()

    def _blocks(self, retry_failed: bool) -> Iterator[Round]:
        if retry_failed:
            yield from self._block(self.learner.failed)
        while block := self.learner.ask():
            yield from self._block([run for run in block if run not in self._held])
            if self.rules.high is None:
                losses = [record.loss for record in self._held.values() if record.loss is not None]
                self._change(Change(high=range_of(losses)))

    def _block(self, runs: list[Run]) -> Iterator[Round]:
        """The runs, each recorded and learned from when it is over."""
        played = map(self._once, runs) if self._jobs == 1 else self._at_once(runs)
        for run, record in played:
            self.journal.append(record)
            self._learn(run, record)
            yield record

    def _at_once(self, runs: list[Run]) -> Iterator[tuple[Run, Round]]:
        """Several at once; when we are interrupted, what runs is killed and what waits is not begun."""
        self._stopping = False
        pool = ThreadPoolExecutor(self._jobs)
        try:
            for future in as_completed([pool.submit(self._once, run) for run in runs]):
                yield future.result()
        except BaseException:
            self._stopping = True
            pool.shutdown(wait=False, cancel_futures=True)
            kill_all()
            raise
        finally:
            pool.shutdown()

    def _once(self, run: Run) -> tuple[Run, Round]:
        if self._stopping:
            raise InterruptedError
        start = perf_counter()
        name = self._names[run.instance]
        outcome = self._run_command(name, run.rho)
        seconds = perf_counter() - start
        return run, Round(
            name, run.rho, run.rho, seconds, 1, outcome.loss, outcome.failure, outcome.clipped
        )  # fmt: skip
