"""Play rounds on a study: claim a trial, run the command, tell the loss; several at once."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from semibandit.learners import Trial
from semibandit.studies.log.operations import ForgottenError
from semibandit.studies.study import Study
from semibandit.tuning.plans import LEASE, Plan
from semibandit.tuning.process import kill_all
from semibandit.tuning.record import MAX_TEXT, RunRecord, printable

__all__ = ["play_rounds"]

_PAUSE = 0.2  # seconds between two looks at runs that other workers have claimed

# Runs the command for a trial on an instance; the record, and the feedback for the learner.
Play = Callable[[Trial, str], tuple[RunRecord, Any]]


def play_rounds(study: Study, plan: Plan, play: Play, jobs: int) -> Generator[RunRecord]:
    """Play all rounds of a plan, `jobs` at once; yield each when it is in the study."""
    return _work(study, plan, play, threading.Event()) if jobs == 1 else _together(study, plan, play, jobs)


def _work(study: Study, plan: Plan, play: Play, stop: threading.Event) -> Generator[RunRecord]:
    while not stop.is_set() and (claim := study.do(plan)) is not None:
        if claim is False:
            stop.wait(_PAUSE)
            continue
        trial, instance = claim
        try:
            with _renewed(study, trial):
                record, feedback = play(trial, instance)
        except BaseException:
            study.forget(trial)
            raise
        if stop.is_set():  # the command was killed
            study.forget(trial)
            return
        failure = None
        if feedback is None and record.failure is not None:
            failure = printable(record.failure)[:MAX_TEXT]
        try:
            study.tell(trial, feedback, failure=failure, info=record.info(told=feedback is not None))
        except ForgottenError:
            continue  # the lease was lost: another worker makes this run
        yield record


def _together(study: Study, plan: Plan, play: Play, jobs: int) -> Generator[RunRecord]:
    """Work in several threads; when interrupted, kill all commands and give their trials back."""
    finished: queue.SimpleQueue[RunRecord | BaseException | None] = queue.SimpleQueue()
    stop = threading.Event()

    def work() -> None:
        try:
            for record in _work(study, plan, play, stop):
                finished.put(record)
            finished.put(None)
        except BaseException as error:
            finished.put(error)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(jobs)]
    try:
        for thread in threads:
            thread.start()
        running = jobs
        while running:
            item = finished.get()
            if isinstance(item, BaseException):
                raise item
            if item is None:
                running -= 1
            else:
                yield item
    finally:
        stop.set()
        kill_all()
        for thread in threads:
            thread.join()


@contextmanager
def _renewed(study: Study, trial: Trial) -> Iterator[None]:
    """Renew the lease of a trial, in a thread, until left."""
    over = threading.Event()

    def renew() -> None:
        while not over.wait(LEASE / 3):
            with suppress(ValueError, OSError):  # `tell` reports a lost lease
                study.renew(trial, lease=LEASE)

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
