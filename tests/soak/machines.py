"""Sequences of calls on learners, studies and functions, drawn and shrunk by hypothesis."""

import math
import pickle
import random
import shutil
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

import semibandit as sb
from reference.study import ReferenceStudy
from semibandit.studies.log import local
from semibandit.studies.log.operations import ForgottenError
from semibandit.studies.log.stores import sqlite
from soak.learners import KINDS, check, feedback
from study_workers import SPACE, bits

SEEDS = st.integers(0, 2**32 - 1)
ANY = st.integers(0, 10**6)  # chooses one of a list, by its remainder
WRONG = st.sampled_from([
    "0.5", object(), math.nan, math.inf, -0.1, 1e9, [], [0.5] * 9, [object()],
    sb.PiecewiseConstant([-9, -8], [0.5]), sb.PiecewiseConstant([0, 1], [math.nan]),
])  # fmt: skip


class LearnerMachine(RuleBasedStateMachine):
    """A learner counts its rounds, refuses bad feedback without a change, and copies exactly."""

    @initialize(kind=st.sampled_from(sorted(KINDS)), seed=SEEDS)
    def create(self, kind, seed):
        self.learner, self.pending = KINDS[kind](seed), []
        self.asked = self.told = self.failed = 0

    def take(self, which):
        return self.pending.pop(which % len(self.pending))

    @rule(probes=st.integers(0, 2))
    def ask(self, probes):
        self.pending.append(self.learner.ask(probes=probes))
        self.asked += 1

    @precondition(lambda self: self.pending)
    @rule(which=ANY, share=st.sampled_from([0.0, 0.25, 1.0]), seed=SEEDS)
    def tell(self, which, share, seed):
        trial = self.take(which)
        loss = share * (self.learner.high or 1.0)
        self.learner.tell(trial, feedback(self.learner, trial, loss, random.Random(seed)))
        self.told += 1

    @precondition(lambda self: self.pending)
    @rule(which=ANY)
    def fail(self, which):
        self.learner.tell(self.take(which), None)
        self.failed += 1

    @precondition(lambda self: self.pending)
    @rule(which=ANY)
    def forget(self, which):
        self.learner.forget(self.take(which))

    @precondition(lambda self: self.pending)
    @rule(which=ANY, wrong=WRONG)
    def tell_wrong(self, which, wrong):
        trial, before = self.pending[which % len(self.pending)], bits(self.learner)
        try:
            self.learner.tell(trial, wrong)
        except (ValueError, TypeError):
            assert bits(self.learner) == before, "a refused tell has changed the learner"
        else:  # losses beyond `high` may be allowed
            self.pending.remove(trial)
            self.told += 1

    @rule(by_pickle=st.booleans())
    def replace_by_a_copy(self, by_pickle):
        if by_pickle:
            other = pickle.loads(pickle.dumps(self.learner))
        else:
            with tempfile.TemporaryDirectory() as folder:
                self.learner.save(f"{folder}/learner")
                other = sb.load(f"{folder}/learner")
        assert bits(other) == bits(self.learner)
        self.learner = other

    @invariant()
    def counts(self):
        if hasattr(self, "learner"):
            counts = self.learner.n_asked, self.learner.n_told, self.learner.n_failed
            assert counts == (self.asked, self.told, self.failed)
            assert sorted(trial.id for trial in self.learner.pending) == sorted(t.id for t in self.pending)

    def teardown(self):
        if hasattr(self, "learner"):
            check(self.learner)


class StudyMachine(RuleBasedStateMachine):
    """Three workers on one study agree with the reference study, also about the past."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.now, self.moments = 1000.0, []
        self.patches = [
            mock.patch("time.time", side_effect=lambda: self.now),
            mock.patch.object(sqlite, "_elapsed", side_effect=lambda: self.now),
            mock.patch.object(local, "snapshot_stride", return_value=16),
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
        seen = None if loss is None else feedback(self.reference.learner, trial, loss, random.Random(seed))
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


GRID = np.arange(65) / 64  # edges are multiples of 1/32; the points between see the pieces
VALUES = st.one_of(st.just(math.nan), st.integers(-8, 8).map(float), st.floats(-1e6, 1e6))
EDGES = st.lists(st.integers(1, 31), max_size=4, unique=True).map(lambda inner: [0, *sorted(inner), 32])


class FunctionMachine(RuleBasedStateMachine):
    """Functions derived from others have the values that a table of points has."""

    pairs = Bundle("pairs")  # a function, and its values at the points (nan: outside, or not seen)

    @rule(target=pairs, edges=EDGES, data=st.data())
    def steps(self, edges, data):
        n = len(edges) - 1
        values = np.array(data.draw(st.lists(VALUES, min_size=n, max_size=n)))
        pieces = np.searchsorted(np.array(edges) / 32, GRID, side="right") - 1
        return sb.PiecewiseConstant(np.array(edges) / 32, values), values[np.minimum(pieces, n - 1)]

    @rule(target=pairs, left=st.integers(-64, 64), right=st.integers(-64, 64))
    def line(self, left, right):
        return sb.PiecewiseLinear([0, 1], [left], [right]), left + (right - left) * GRID

    @rule(target=pairs, one=pairs, other=pairs)
    def add(self, one, other):
        return one[0] + other[0], one[1] + other[1]

    @rule(target=pairs, one=pairs, many=st.lists(pairs, max_size=4))
    def sum(self, one, many):
        every = [one, *many]
        function = sb.PiecewiseLinear.sum([f for f, _ in every])
        return function, np.array([math.fsum(column) for column in zip(*(v for _, v in every), strict=True)])

    @rule(target=pairs, one=pairs, factor=st.sampled_from([-1.0, 0.5, 3.0]), shift=st.integers(-3, 3))
    def scale(self, one, factor, shift):
        return factor * one[0] + shift, factor * one[1] + shift

    @rule(target=pairs, one=pairs)
    def same(self, one):
        function = pickle.loads(pickle.dumps(type(one[0]).from_dict(one[0].to_dict())))
        assert function == one[0]
        return function.compress(), one[1]

    @rule(one=pairs)
    def agree(self, one):
        function, values = one
        scale = 1.0 + np.nanmax(np.abs(values), initial=0.0)
        np.testing.assert_allclose(function(GRID), values, rtol=0, atol=1e-9 * scale)
        if not function.domain:
            return
        assert function.min() <= np.nanmin(values) + 1e-9 * scale
        lo, hi = function.argmin()
        assert (
            function.min() <= function(lo if lo == hi else (lo + hi) / 2) <= np.nanmin(values) + 1e-9 * scale
        )
        part = function.restrict(0.25, 0.75)
        np.testing.assert_allclose(part(GRID[16:48]), function(GRID[16:48]), rtol=0, atol=1e-9 * scale)


MACHINES = {"learner": LearnerMachine, "study": StudyMachine, "functions": FunctionMachine}
