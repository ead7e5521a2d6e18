"""Random sequences of calls on a study, compared with the reference study.

SEMIBANDIT_SOAK=n makes n times as many.
"""

import math
import os
import random
import shutil
import tempfile
from pathlib import Path
from unittest import mock

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

import semibandit as sb
from reference.study import ReferenceStudy
from semibandit.studies.log import backend
from semibandit.studies.log.operations import ForgottenError
from study_workers import SPACE, bits, seen_around

SEEDS = st.integers(0, 2**32 - 1)
ANY = st.integers(0, 10**6)  # chooses one of a list, by its remainder


class StudyMachine(RuleBasedStateMachine):
    """Three workers on one study agree with the reference study, also about the past."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.now, self.moments = 1000.0, []
        self.patches = [
            mock.patch("time.time", side_effect=lambda: self.now),
            mock.patch("semibandit.studies.log.stores.sqlite._elapsed", side_effect=lambda: self.now),
            mock.patch.object(backend, "snapshot_stride", return_value=16),
        ]
        for patch in self.patches:
            patch.start()
        self.url = f"sqlite:///{self.folder}/studies.db"
        self.workers = [sb.Study(self.url, "knob", space=SPACE, seed=0) for _ in range(3)]
        self.reference = ReferenceStudy(sb.Exp3Set(SPACE, seed=0))
        self.reference.now = self.now

    @rule(worker=st.integers(0, 2), lease=st.sampled_from([None, 5.0, 50.0, math.inf]))
    def ask(self, worker, lease):
        ours, theirs = self.workers[worker].ask(lease=lease), self.reference.ask(lease)
        assert (ours.id, ours.rho, ours.position) == (theirs.id, theirs.rho, theirs.position)

    @precondition(lambda self: self.reference.trials)
    @rule(worker=st.integers(0, 2), which=ANY, loss=st.sampled_from([None, 0.0, 0.3, 1.0]), seed=SEEDS)
    def tell(self, worker, which, loss, seed):
        number = which % len(self.reference.trials)
        trial = self.reference.trials[number][0]
        seen = seen_around(trial.rho, random.Random(seed)) if loss and seed % 5 else loss
        try:
            answer = self.workers[worker].tell(number, seen)
        except ForgottenError:
            answer = "forgotten"
        assert answer == self.reference.tell(number, seen)

    @precondition(lambda self: self.reference.trials)
    @rule(worker=st.integers(0, 2), which=ANY)
    def forget(self, worker, which):
        number = which % len(self.reference.trials)
        assert self.workers[worker].forget(number) == self.reference.forget(number)

    @precondition(lambda self: self.reference.trials)
    @rule(worker=st.integers(0, 2), which=ANY, lease=st.sampled_from([5.0, 20.0]))
    def renew(self, worker, which, lease):
        number = which % len(self.reference.trials)
        try:
            answer = self.workers[worker].renew(number, lease=lease) or True
        except ForgottenError:
            answer = "forgotten"
        except ValueError:
            answer = "finished"
        assert answer == self.reference.renew(number, lease)

    @rule(seconds=st.sampled_from([0.5, 4.0, 30.0]))
    def wait(self, seconds):
        self.now += seconds
        self.reference.now = self.now

    @rule(worker=st.integers(0, 2))
    def reopen(self, worker):
        self.workers[worker].close()
        self.workers[worker] = sb.Study(self.url, "knob")
        self.moments.append((self.workers[worker].n_events, bits(self.workers[worker].learner)))

    def teardown(self):
        pending = self.workers[0].pending
        assert [lease.trial for lease in pending] == self.reference.pending()
        assert [lease.until for lease in pending] == self.reference.ends()
        for worker in self.workers:
            assert worker.density() == self.reference.learner.density()
            assert bits(worker.learner) == bits(self.workers[0].learner)
        for event, learner in self.moments:
            assert bits(self.workers[1].at(event)) == learner
        statuses = {r.trial: "forgotten" if r.forgotten else "told" for r in self.workers[2].history()}
        assert statuses == {e[0].id: e[1] for e in self.reference.trials if e[1] != "pending"}
        for worker in self.workers:
            worker.close()
        for patch in self.patches:
            patch.stop()
        shutil.rmtree(self.folder)


TestSequences = StudyMachine.TestCase
TestSequences.settings = settings(
    max_examples=12 * int(os.environ.get("SEMIBANDIT_SOAK", "1")),
    stateful_step_count=30,
    suppress_health_check=list(HealthCheck),
)
