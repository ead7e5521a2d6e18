"""`semibandit tune` on a study: several commands at once, here and on other machines that share the store."""

from __future__ import annotations

import multiprocessing
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from semibandit import _validate
from semibandit.functions import PiecewiseConstant
from semibandit.learners import Learner, Trial
from semibandit.spaces import Interval, Knobs
from semibandit.studies.log import events, history
from semibandit.studies.log.events import Asked, Failed, Forgotten, Told
from semibandit.studies.log.operations import Ask, ForgottenError, tidy
from semibandit.studies.log.replica import Replica
from semibandit.studies.log.stores import Turn, UnknownStudyError, public
from semibandit.studies.settings import StudySettings
from semibandit.studies.study import Study
from semibandit.tuning import Command, Round, Tuner

__all__ = ["SharedTuner"]

_LEASE = 60.0  # seconds; renewed while the command runs, so that only the dead lose theirs
_PAUSE = 0.5  # seconds between looks at instances that others run
_LOOK = 0.1  # seconds between looks at what our own processes have done


class SharedTuner(Tuner):
    """A `Tuner` whose rounds are in a study. Each instance is run by one of those who share it.

    An instance is claimed together with its trial, in one transaction. A worker that dies loses its claim
    when the lease of the trial runs out; one that is interrupted gives it back at once.

    Parameters
    ----------
    command, space, options
        As for `Tuner`, but for the state file.
    storage, name
        Of the study, which is begun or joined.
    jobs
        Commands to run at once, each by a process of its own.
    """

    def __init__(
        self,
        command: Command,
        space: Interval | Knobs,
        storage: str,
        name: str,
        *,
        jobs: int = 1,
        **options: Any,
    ) -> None:
        self.settings = self._configure(command, space, **options)
        if self.settings.high is None or self.settings.feedback == "race":
            raise ValueError("a study must be given high, and has no races: these are for a state file")
        self._jobs = _validate.integer("jobs", jobs, low=1)
        self._again = command, space, storage, name, options  # what another process needs for the same
        self.study = self._open(storage, name)
        self._done: Counter[str] = Counter()
        self._running: dict[int, str] = {}  # pending trial -> its instance
        self._seen = 1  # events that are counted in these

    def _open(self, storage: str, name: str) -> Study:
        """The study; like a state file, it keeps the horizon that it was begun with."""
        file = self.settings
        options: dict[str, Any] = {"horizon": file.horizon, "high": file.high, "maximize": file.maximize}
        kind = "Exp3Grid" if file.feedback == "bandit" and file.knobs is None else "Exp3Set"
        if file.n_arms is not None:
            options["n_arms"] = file.n_arms
        given = StudySettings.of(self.space, kind, file.seed, options)
        with suppress(UnknownStudyError):
            with Study(storage, name) as study:
                options["horizon"] = study.settings.options.get("horizon", file.horizon)
            given = StudySettings.of(self.space, kind, file.seed, options)
        return Study.of_settings(storage, name, given)

    def close(self) -> None:
        """Close the store."""
        self.study.close()

    @property
    def where(self) -> str:
        """Where the rounds are."""
        return f"the study {self.study.name!r} in {public(self.study.storage)}"

    @property
    def learner(self) -> Learner:
        """The learner as all workers have made it."""
        return self.study.learner

    @property
    def finished(self) -> Sequence[Round]:
        """All rounds so far, those of other workers included."""
        return [_record(record) for record in self.study.history() if not record.forgotten]

    def rounds(
        self, instances: Sequence[str], again: bool = False, retry_failed: bool = False
    ) -> Iterator[Round]:
        """Run the command on what nobody has run or is running; a round is stored before it is yielded.

        Waits for the instances that others are running: should they die, it is up to us.
        """
        wanted = Counter(self.todo(instances, again, retry_failed))
        wanted += Counter(record.instance for record in self.finished)
        order = list(dict.fromkeys(instances))
        rounds = self.alone(order, wanted) if self._jobs == 1 else self._together(order, wanted)
        return self._unless_hopeless(rounds)

    def alone(self, order: list[str], wanted: Counter[str]) -> Iterator[Round]:
        """Run the command in this process until each instance was run as often as wanted."""
        while True:
            claimed: tuple[Trial, str] | bool | None = self.study.do(
                lambda replica, turn: self._claim(replica, turn, order, wanted)
            )
            if claimed is None:
                return
            if isinstance(claimed, bool):
                time.sleep(_PAUSE)
                continue
            record = self._run(*claimed)
            if record is not None:
                yield record

    def _together(self, order: list[str], wanted: Counter[str]) -> Iterator[Round]:
        """Have other processes run the commands; the rounds of all who share the study, as they come in."""
        context = multiprocessing.get_context("spawn")
        workers = [
            context.Process(target=_work, args=(*self._again, order, wanted)) for _ in range(self._jobs)
        ]
        since = self.study.n_events + 1
        try:
            for worker in workers:
                worker.start()
            alive = True
            while alive:
                alive = any(worker.is_alive() for worker in workers)
                for record in self.study.history(since):
                    since = record.event + 1
                    if not record.forgotten:
                        yield _record(record)
                time.sleep(_LOOK)
        finally:
            for worker in workers:
                if worker.is_alive():
                    worker.terminate()
            for worker in workers:
                worker.join()
        if any(worker.exitcode for worker in workers):
            raise OSError("a process that ran commands has failed; what it says is above")

    def _claim(
        self, replica: Replica, turn: Turn, order: list[str], wanted: Counter[str]
    ) -> tuple[Trial, str] | bool | None:
        """A trial for the next instance; False while others run all that is left, None when all is done."""
        tidy(replica, turn)
        self._count()
        running = Counter(self._running.values())
        left = [name for name in order if self._done[name] < wanted[name]]
        for name in left:
            if self._done[name] + running[name] < wanted[name]:
                trial = Ask(self.study.worker, _LEASE, info={"instance": name})(replica, turn)
                return trial, name
        return False if left else None

    def _count(self) -> None:
        """Follow the log: which instances are running, and how often each was run."""
        for number, line in self.study.events(self._seen + 1):
            event = events.decode(line)
            if isinstance(event, Asked):
                self._running[event.trial] = str((event.info or {}).get("instance"))
            elif isinstance(event, Told | Failed | Forgotten):
                instance = self._running.pop(event.trial)
                self._done[instance] += not isinstance(event, Forgotten)
            self._seen = number

    def _run(self, trial: Trial, instance: str) -> Round | None:
        """Play a round and tell it; None where the lease was lost all the same."""
        with _renewed(self.study, trial):
            try:
                record = self._play(trial, instance)
            except BaseException:
                self.study.forget(trial)
                raise
        names = ("seconds", "runs", "clipped", "default_loss", "default_failure")
        info = {name: getattr(record, name) for name in names if getattr(record, name) is not None}
        seen: PiecewiseConstant | float | None = record.loss
        if record.loss is not None and record.lo is not None and record.hi is not None:
            seen = PiecewiseConstant.constant(record.lo, record.hi, record.loss)
        failure = record.failure
        if seen is not None and failure is not None:
            info, failure = {**info, "failure": failure[:500]}, None
        try:
            self.study.tell(trial, seen, failure=failure and failure[:500], info=info)
        except ForgottenError:
            return None
        return record


def _work(
    command: Command, space: Interval | Knobs, storage: str, name: str, options: dict[str, Any],
    order: list[str], wanted: Counter[str],
) -> None:  # fmt: skip
    """A process of `SharedTuner` with several jobs. When it is told to stop, it gives its trial back."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), SharedTuner(command, space, storage, name, **options) as tuner:
        for _ in tuner.alone(order, wanted):
            pass


class _renewed:  # noqa: N801
    """Renews the lease of a trial again and again until left."""

    def __init__(self, study: Study, trial: Trial) -> None:
        self._study, self._trial = study, trial
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _renew(self) -> None:
        while not self._over.wait(_LEASE / 3):
            with suppress(ValueError, OSError):  # forgotten already, or the store is away: the tell will say
                self._study.renew(self._trial, lease=_LEASE)


def _record(record: history.StudyRound) -> Round:
    info: dict[str, Any] = dict(record.info or {})
    info.setdefault("instance", "")
    info.setdefault("seconds", record.seconds)
    if record.failure is not None:
        info["failure"] = record.failure
    names = ("instance", "seconds", "runs", "failure", "clipped", "default_loss", "default_failure")
    kept = {name: info[name] for name in names if name in info}
    return Round(rho=record.rho, position=0.0, loss=record.loss, **kept)
