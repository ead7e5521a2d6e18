"""Learners of ten kinds in random sequences of calls, alone and shared by threads.

SEMIBANDIT_SOAK=n makes n times as many calls.
"""

import copy
import itertools
import math
import os
import pickle
import random
import tempfile
import threading

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import semibandit as sb
from study_workers import bits

SCALE = int(os.environ.get("SEMIBANDIT_SOAK", "1"))
UNIT = sb.Interval(0, 1)
PRIOR = sb.PiecewiseConstant([0, 0.5, 1], [1.5, 0.5])
KINDS = {
    "default": lambda seed: sb.Exp3Set(UNIT, seed=seed),
    "no baseline": lambda seed: sb.Exp3Set(UNIT, baseline=None, seed=seed),
    "low baseline": lambda seed: sb.Exp3Set(UNIT, baseline="low", max_pieces=40, seed=seed),
    "drift": lambda seed: sb.Exp3Set(UNIT, drift="auto", seed=seed),
    "prior": lambda seed: sb.Exp3Set(UNIT, drift=0.01, prior=PRIOR, seed=seed),
    "utilities": lambda seed: sb.Exp3Set(sb.Interval(-5, 5, margin=1), maximize=True, high=10, seed=seed),
    "nine doubles": lambda seed: sb.Exp3Set(sb.Interval(1e15, 1e15 + 1), seed=seed),
    "strips": lambda seed: sb.Exp3Set(sb.Strips(4, UNIT), seed=seed),
    "knobs": lambda seed: sb.Exp3Set(sb.Knobs(a=sb.Real(0, 1), b=sb.Integer(1, 4)), seed=seed),
    "grid": lambda seed: sb.Exp3Grid(UNIT, 16, seed=seed),
}


def feedback(learner, trial, loss, random_):
    """Return a number, or a step around the parameter whose width is from one double to the whole space."""
    space = learner.space
    x = trial.rho if isinstance(space, sb.Interval) else trial.positions[0]
    steps = isinstance(space, sb.Interval | sb.Strips) and not isinstance(learner, sb.Exp3Grid)
    if not steps or random_.random() < 0.2:
        return loss
    lo, hi = (space.lo, space.hi) if isinstance(space, sb.Interval) else (math.floor(x), math.floor(x) + 1)
    width = (hi - lo) * 10.0 ** -random_.uniform(0, 17)
    left = max(lo, min(x, math.nextafter(hi, lo)) - width * random_.random())
    right = min(hi, max(x + width * random_.random(), math.nextafter(x, math.inf)))
    return sb.PiecewiseConstant.constant(left, right, loss)


def check(learner):
    """Check what holds after any round."""
    density = learner.density()
    assert abs(density.integral() - 1) < 1e-6, f"the density integrates to {density.integral()}"
    assert density.min() >= 0.0, "the density is negative"
    learner.recommend()


def copy_of(learner, path, random_):
    """Copy a learner in one of three ways."""
    kind = random_.randrange(3)
    if kind == 0:
        return pickle.loads(pickle.dumps(learner))
    if kind == 1:
        return copy.deepcopy(learner)
    learner.save(path)
    return sb.load(path)


def play_against(learner, random_, path, more):
    """Ask, tell late, forget and copy while more(); the adversary punishes what is recommended."""
    asked, told, late, bad = 0, 0, [], None
    while more():
        late.append(learner.ask(probes=random_.choice([0, 0, 2])))
        asked += 1
        if random_.random() < 0.3 and len(late) < 30:
            continue
        trial = late.pop(random_.randrange(len(late)))
        if random_.random() < 0.1:
            learner.forget(trial)
        else:
            loss = random_.choice([0.0, 1.0, random_.random(), float(trial.rho == bad)])
            learner.tell(trial, feedback(learner, trial, (learner.high or 1.0) * loss, random_))
            told += 1
        if random_.random() < 0.01:
            check(learner)
            bad = learner.recommend().rho
            other = copy_of(learner, path, random_)
            trial = other.ask()
            other.tell(trial, feedback(other, trial, 0.5 * (other.high or 1.0), random_))
            check(other)
    return asked, told


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_threads", [1, 8])
def test_no_call_fails_and_no_round_is_lost(kind, n_threads, tmp_path):
    learner, rounds, results = KINDS[kind](0), itertools.count(), []

    def run(number):
        path = tmp_path / f"{number}.sb"
        try:
            random_ = random.Random(number)
            results.append(play_against(learner, random_, path, lambda: next(rounds) < 600 * SCALE))
        except Exception as error:
            results.append(error)

    workers = [threading.Thread(target=run, args=(number,)) for number in range(n_threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [each for each in results if isinstance(each, Exception)] == []
    assert (learner.n_asked, learner.n_told) == tuple(map(sum, zip(*results, strict=True)))


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


TestSequences = LearnerMachine.TestCase
TestSequences.settings = settings(
    max_examples=12 * SCALE, stateful_step_count=30, suppress_health_check=list(HealthCheck)
)
