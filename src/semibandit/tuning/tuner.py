"""Tune the parameter of a command on a study."""

from __future__ import annotations

import math
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import msgspec

from semibandit import _validate
from semibandit.learners import Trial
from semibandit.learners.race import CHECK, Standing, check_default
from semibandit.spaces import Context, Interval, Knobs, Real
from semibandit.studies.log.stores import UnknownStudyError, open_store, public
from semibandit.studies.settings import StudySettings, read_context
from semibandit.studies.study import Study
from semibandit.tuning.command import Command, StoppedError
from semibandit.tuning.features import features_of, infer_context
from semibandit.tuning.jobs import play_rounds
from semibandit.tuning.plans import online_plan, race_plan, release_dead
from semibandit.tuning.player import RoundPlayer
from semibandit.tuning.record import MAX_TEXT, RunRecord, printable
from semibandit.tuning.rules import AbortRule, Rules
from semibandit.tuning.verdict import Summary, Verdict, of_race, of_rounds, summarise, tried

__all__ = ["MIN_RUNS", "STUDY", "Tuner", "learner_of", "storage_of"]

MIN_RUNS = 200  # of a race, by default
STUDY = "tune"  # name of the study in a state file


class Tuner:
    """Tune a command: run it on instances, learn from the losses, and keep all rounds in a study.

    A finished round is in the study before it is yielded. A round that is interrupted or killed is run again.
    Several processes may work on the same study; each instance (in a race: each run) is made by one of them.

    Parameters
    ----------
    command
        Run on each instance.
    space
        Range of the parameter, or the `Knobs` of the command by name.
    storage, study
        A state file (an SQLite study), or the address of a store and the name of a study in it. The study is
        created or continued; its settings must be the same. A state file that has learned nothing (all runs
        failed, or none was made) accepts other settings: it is begun again.
    race
        Race configurations on a fixed set of instances (`semibandit.learners.race`), instead of learning
        online with `Exp3Set`.
    runs
        Number of runs of a race; by default one per instance, at least 200. More of them, or more instances,
        continue a race.
    jobs
        Number of commands to run at once.
    feedback
        Online. "bandit": the loss of one run per instance. "black-box": also the interval around the
        parameter with the same output, by bisection (Algorithm 5), which takes more runs.
    maximize
        Higher values are better.
    default, default_share
        A parameter to compare with. Online it is run, too, on this share of the instances, chosen at random;
        in a race it takes part to the end.
    high
        Largest loss, if one is known: a larger one, or a run killed at the timeout, counts as this. By
        default losses are any finite numbers; see `Rules` for runs that are killed.
    failed
        Loss of a run that failed otherwise: "skip" (none), "high", or a number.
    tolerance
        Where the bisection ends, for black-box feedback; by default a thousandth of the width of the space.
    probes
        Online: number of further parameters to run on each instance.
    features
        Online: the values of features for each instance, as texts or numbers (`semibandit.tuning.features`).
        They are the contexts of the rounds. Kinds and ranges are inferred when the study is created.
    seed
        Seed of the learner, and of the choice of instances that the default is run on.

    Examples
    --------
    >>> import tempfile, os
    >>> state = os.path.join(tempfile.mkdtemp(), "knob.db")
    >>> with Tuner(Command("echo sorry # {rho} {instance}", shell=True), Interval(0, 1), state) as tuner:
    ...     for record in tuner.rounds(["a.txt"]):
    ...         print(record.failure)
    the last line of the output is no number: 'sorry'
    >>> command = Command("echo {rho} # {instance}", shell=True)
    >>> with Tuner(command, Interval(0, 1), state + "2", race=True, runs=60) as tuner:
    ...     n = len(list(tuner.rounds([f"{i}.txt" for i in range(10)])))
    ...     print(n, tuner.learner.recommend().rho)
    58 0.0
    """

    def __init__(
        self,
        command: Command,
        space: Interval | Knobs,
        storage: str | PathLike[str],
        study: str | None = None,
        *,
        race: bool = False,
        runs: int | None = None,
        jobs: int = 1,
        feedback: str = "bandit",
        maximize: bool = False,
        default: Any = None,
        default_share: float = 0.25,
        high: float | None = None,
        failed: float | str = "skip",
        tolerance: float | None = None,
        probes: int = 0,
        features: Mapping[str, Mapping[str, Any]] | None = None,
        seed: int = 0,
    ) -> None:
        self.command, self.space, self.race = command, space, race
        self.maximize = _validate.boolean("maximize", maximize)
        self.seed = _validate.integer("seed", seed, low=0)
        self.default = None if default is None else check_default(space, default)
        self.rules = Rules(high, self.maximize, failed)
        self._runs = None if runs is None else _validate.integer("runs", runs, low=1)
        self._jobs = _validate.integer("jobs", jobs, low=1)
        self._probes = _validate.integer("probes", probes, low=0)
        if probes and feedback != "bandit":
            raise ValueError(f"probes go with bandit feedback, got {feedback!r}")
        if race and (probes or feedback != "bandit"):
            raise ValueError("a race goes without probes and black-box feedback")
        if race and features is not None:
            raise ValueError("a race goes without features: it looks for one configuration for all instances")
        self._features = features
        self.context: Context | None = None  # as the study keeps it
        self._player = RoundPlayer(
            command, space, feedback=feedback, tolerance=tolerance, seed=self.seed,
            default=None if race else self.default, default_share=default_share,
        )  # fmt: skip
        self.path = None if study is not None else Path(_validate.path("storage", storage))
        self._storage = str(storage) if self.path is None else storage_of(self.path)
        self._name = STUDY if study is None else study
        self._records: list[RunRecord] = []
        self._next_event = 1
        with self._errors_named():
            joined = self._joined()
        self.study = joined or Study.of_settings(self._storage, self._name, self._settings())
        self._inode = None if self.path is None else os.stat(self.path)

    # -- the study ---------------------------------------------------------------------------------

    def _settings(self) -> StudySettings:
        options: dict[str, Any] = {"maximize": self.maximize}
        if self.rules.high is not None:
            options["high"] = float(self.rules.high)
        if self._features is not None:
            self.context = self.context or infer_context(self._features)
            options["context"] = self.context
        if self.race:
            options |= {"default": self.default, "integer": self.command.integer}
        return StudySettings.of(self.space, "Race" if self.race else "Exp3Set", self.seed, options)

    def _joined(self) -> Study | None:
        """Open the study if it exists; its settings must be the same, unless it has learned nothing."""
        try:
            study = Study(self._storage, self._name)
        except UnknownStudyError:
            return None
        kept = study.settings.options.get("context")
        if kept is not None and {name for row in (self._features or {}).values() for name in row} == {*kept}:
            self.context = read_context(kept)
        if differences := ", ".join(study.settings.differences(self._settings())):
            blank = self.path is not None and _has_learned_nothing(study)
            study.close()
            if blank:
                with closing(open_store(self._storage)) as store:
                    store.delete(study.id)
                return None
            raise ValueError(
                f"{self.where} was begun with other settings: {differences}. "
                "Use the same settings, or another state file"
            )
        return study

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        """Name the state file or study in errors about its content."""
        try:
            yield
        except (sqlite3.DatabaseError, msgspec.DecodeError, LookupError) as error:
            raise ValueError(f"{self.where} is damaged ({type(error).__name__}: {error})") from error
        except ValueError as error:
            if str(self.path or self._name) in str(error):
                raise
            raise ValueError(f"{self.where} cannot be used ({error})") from error

    def _require_file(self) -> None:
        """Stop if the state file was deleted or replaced: further rounds would be lost."""
        if self.path is not None and self._inode is not None:
            found = os.stat(self.path) if self.path.exists() else None
            if found is None or not os.path.samestat(found, self._inode):
                raise OSError(f"{self.path} was deleted or replaced while it was in use")

    @property
    def where(self) -> str:
        """State file, or name and address of the study."""
        return f"the study {self._name!r} in {public(self._storage)}" if self.path is None else str(self.path)

    @property
    def learner(self) -> Any:
        """The learner, or race, after all finished rounds."""
        return self.study.learner

    def close(self) -> None:
        """Close the study."""
        self.study.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- rounds ------------------------------------------------------------------------------------

    def todo(self, instances: Sequence[str], again: bool = False, retry_failed: bool = False) -> list[str]:
        """Return the instances that are still to be run online.

        An instance is run as often as it is given; with `again`, once more than the one run least often so
        far. Failed rounds count as run, unless `retry_failed`.
        """
        done = Counter(r.instance for r in self.finished if not (retry_failed and r.failure is not None))
        given = Counter(instances)
        passes = 1 + min((done[printable(name)] // given[name] for name in given), default=0) if again else 1
        left = {name: passes * count - done[printable(name)] for name, count in given.items()}
        todo = []
        for name in (name for _ in range(passes) for name in instances):
            if left[name] > 0:
                left[name] -= 1
                todo.append(name)
        return todo

    def n_todo(self, instances: Sequence[str], again: bool = False, retry_failed: bool = False) -> int:
        """Return the number of rounds that are still to be made; of a race, at most."""
        if not self.race:
            return len(self.todo(instances, again, retry_failed))
        if again:
            raise ValueError("a race is not run again: give it more runs")
        n_failed = len(self.learner.failed) if retry_failed else 0
        return self._total_runs(self.learner, instances) - int(self.learner.n_runs) + n_failed

    def _total_runs(self, race: Any, instances: Sequence[str]) -> int:
        wanted = self._runs or max(len({*race.instances, *instances}), MIN_RUNS)
        return max(wanted, int(race.runs))

    def rounds(
        self, instances: Sequence[str], again: bool = False, retry_failed: bool = False
    ) -> Iterator[RunRecord]:
        """Run the command and yield each finished round, which is in the study by then.

        Waits for runs that other processes have claimed: should they die, their runs are made here.

        Raises
        ------
        StoppedError
            The command cannot be started, or the first rounds all failed in the same way.
        """
        for name in instances:
            _require_storable(name)
        if not instances:
            return
        earlier = self.finished
        for record in earlier:
            self.rules = self.rules.after(record)
        self.study.do(release_dead)
        if self.race:
            self.n_todo(instances, again)
            runs = self._total_runs(self.learner, instances)
            plan = race_plan(self.study, instances, runs, retry_failed)
        else:
            todo = self.todo(instances, again, retry_failed)
            plan = online_plan(self.study, todo, self._probes, self._contexts(todo))
        abort = AbortRule(self.rules, len(set(instances)), any(row.failure is None for row in earlier))
        with closing(play_rounds(self.study, plan, self._play, self._jobs)) as rounds:
            for record in rounds:
                self._require_file()
                self.rules = self.rules.after(record)
                yield record
                if (reason := abort.reason(record)) is not None:
                    raise StoppedError(reason)

    def _contexts(self, instances: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the context of each instance; without features there are none."""
        if self._features is None or self.context is None:
            return {}
        missing = [name for name in instances if name not in self._features]
        if missing:
            raise ValueError(f"features must hold each instance, got none of {missing[0]!r}")
        return {name: features_of(self.context, name, self._features[name]) for name in instances}

    def _play(self, trial: Trial, instance: str) -> tuple[RunRecord, Any]:
        return self._player.play(trial, instance, self.rules)

    # -- results -----------------------------------------------------------------------------------

    @property
    def finished(self) -> Sequence[RunRecord]:
        """All finished rounds, those of other processes included."""
        with self._errors_named():
            rows = self.study.history(self._next_event)
        for row in rows:
            self._next_event = row.event + 1
            if not row.forgotten:
                self._records.append(RunRecord.of(row, self.space.names, self.command.value))
        return self._records

    def summary(self) -> Summary:
        """Return counts and means of all rounds."""
        return summarise(self.finished)

    def standings(self) -> list[Standing]:
        """Return all configurations, the recommended one first; online with the default, even if never run.

        Online, more than 12 values of one parameter are grouped in 12 equal parts; see `tried`.
        """
        if self.race:
            found: list[Standing] = self.learner.standings()
            return found
        best, names, default = self.learner.recommend(), self.space.names, self.default
        values, along = best.values, best.along or ""
        kind: Any = self.space.knobs.get(along) if isinstance(self.space, Knobs) else Real(*self._ends)
        if not names:
            values = {"rho": self.command.value(best.rho)}
        if default is not None:
            default = {name: default[name] for name in names} if names else {"rho": default}
        coordinate = kind.coordinate if along else float
        return tried(self.finished, values, default, along, coordinate, maximize=self.maximize)

    @property
    def _ends(self) -> tuple[float, float]:
        return self.space.interval.lo, self.space.interval.hi

    def verdict(self) -> Verdict | None:
        """Compare the best configuration found with the default; None without common instances."""
        if self.learner.n_told == 0 or self.default is None:
            return None
        if self.race:
            return of_race(self.learner, self.largest_difference)
        best = self.learner.recommend()
        return of_rounds(self.finished, best, self._ends, self.largest_difference, self.maximize)

    def size_for(self, checks: int) -> tuple[int, int]:
        """Return the numbers of runs and of instances of a race whose check has this number of pairs."""
        return math.ceil(2 * checks / CHECK), 2 * checks

    @property
    def largest_difference(self) -> float:
        """Bound on the differences of losses: `high`, or the range of all losses so far."""
        if self.rules.high is not None:
            return self.rules.high
        found = [loss for each in self.finished for loss in (each.loss, each.default_loss)]
        losses = [loss for loss in found if loss is not None]
        return max(losses) - min(losses) or 1.0 if losses else 1.0


def storage_of(path: str | PathLike[str]) -> str:
    """Return the address of the study in a state file; each commit waits for the disk."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{path}: not a file")
    return f"sqlite:///{quote(os.fspath(path))}?synchronous=full"


def learner_of(path: str | PathLike[str]) -> str | None:
    """Return the kind of learner of a state file; None if there is no file, or it has learned nothing."""
    try:
        with Study(storage_of(path), STUDY) as study:
            return None if _has_learned_nothing(study) else study.settings.learner
    except UnknownStudyError:
        return None


def _has_learned_nothing(study: Study) -> bool:
    """Return whether no run has had a loss, and none is under way."""
    study.do(release_dead)
    return study.learner.n_told == 0 and not study.pending


def _require_storable(name: str) -> None:
    """Refuse names that a study cannot keep or a command cannot be given."""
    if not isinstance(name, str):
        raise TypeError(f"instances must be strings, got {name!r}")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError(f"an instance's name must be UTF-8, got {name!r}") from None
    if "\0" in name:
        raise ValueError(f"an instance's name must not hold a null character, got {name!r}")
    if not 0 < len(printable(name)) <= MAX_TEXT:
        raise ValueError(f"an instance's name must have 1 to {MAX_TEXT} characters, got {name!r}")
