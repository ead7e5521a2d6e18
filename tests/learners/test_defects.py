"""Learners under hostile use: threads that copy, forks, extreme spaces and intervals, bad arguments."""

import copy
import itertools
import math
import os
import pickle
import signal
import threading
import time
from collections import Counter
from decimal import Decimal

import numpy as np
import pytest

import semibandit as sb
from semibandit.weights import Feedback, LocalPieces, Rule, dyadic_cells
from semibandit.weights._pieces import SAFE

UNIT = sb.Interval(0, 1)


@pytest.mark.parametrize("n_floats", [1, 2, 3, 8, 40, 60])
@pytest.mark.parametrize("baseline", ["local", "low", None])
def test_spaces_of_few_floats_are_playable(n_floats, baseline):
    space = sb.Interval(1e15, 1e15 + 0.125 * n_floats)
    learner = sb.Exp3Set(space, baseline=baseline, seed=0)
    for t in range(200):
        trial = learner.ask()
        lo, hi = max(trial.rho - 0.125, space.lo), min(trial.rho + 0.125, space.hi)
        loss = (trial.rho - space.lo) / (space.hi - space.lo)
        learner.tell(trial, loss if t % 2 else sb.PiecewiseConstant([lo, hi], [loss]))
    learner._epoch.weights._check()
    assert learner.recommend().rho in space
    assert (np.diff(dyadic_cells(space).edges) > 0.0).all()


def test_spaces_without_a_density_are_refused_and_densities_are_finite():
    with pytest.raises(ValueError, match=r"space must be wider than 2.22507e-308, got Interval\(0.0"):
        sb.Exp3Set(sb.Interval(0, 1e-310))
    for baseline in ("local", "low"):
        learner = sb.Exp3Set(sb.Interval(0, 1e-307), baseline=baseline, seed=0)
        for _ in range(50):
            trial = learner.ask()
            learner.tell(trial, min(1e307 * trial.rho, 1.0))
        assert np.isfinite(learner.density().values).all()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda learner: pickle.loads(pickle.dumps(learner))])
def test_copies_made_while_other_threads_tell_are_sound(copied):
    learner = sb.Exp3Set(UNIT, seed=0)
    stop = threading.Event()

    def work():
        while not stop.is_set():
            trial = learner.ask()
            learner.tell(
                trial, sb.PiecewiseConstant([trial.rho / 2, trial.rho + 1e-3 * (1 - trial.rho)], [0.5])
            )

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            other = copied(learner)
            other._epoch.weights._check()
            other.tell(other.ask(), 0.5)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    again = copied(learner)
    assert again.ask().rho == learner.ask().rho
    assert again.density() == learner.density()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_forked_while_a_thread_holds_the_lock_does_not_hang():
    learner = sb.Exp3Set(UNIT, seed=0)
    learner.tell(learner.ask(), 0.5)
    held = threading.Event()

    def hold():
        with learner._lock:
            held.set()
            time.sleep(0.3)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        learner.tell(learner.ask(), 0.5)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    thread.join()
    assert status == 0
    learner.tell(learner.ask(), 0.5)


@pytest.mark.parametrize("baseline", ["low", None])
def test_intervals_of_one_ulp_with_joins_never_raise(baseline):
    learner = sb.Exp3Set(UNIT, baseline=baseline, rate=1.0, max_pieces=20, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(1000):
        trial = learner.ask()
        seen = sb.PiecewiseConstant.constant(trial.rho, math.nextafter(trial.rho, 2.0), rng.random())
        learner.tell(trial, seen)
    learner._epoch.weights._check()
    assert learner.n_told == 1000


@pytest.mark.parametrize("looks", [2, 5, 20, 54, 60])
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_estimates_of_many_looks_are_unbiased(looks, share):
    """Summed over the number of looks in each of two sets, estimates differ by the difference of losses."""
    rule = Rule(0.0, 0.0, -math.inf, 0.0, 10.0)
    edges, losses = np.array([0.0, share, 1.0]), np.array([0.75, 0.25])
    weights = LocalPieces(dyadic_cells(UNIT), 512)
    difference = 0.0
    for first in range(looks + 1):
        counts = {i: n for i, n in ((0, first), (1, looks - first)) if n}
        sets = np.array([list(counts).index(i) if i in counts else -1 for i in (0, 1)])
        seen = Feedback(edges, losses, sets, 0.5, 0.0, looks=np.array(list(counts.values())))
        unbiased = weights.detached().learn(seen, rule).weights._pieces[SAFE]
        chance = math.comb(looks, first) * share**first * (1.0 - share) ** (looks - first)
        difference += chance * (unbiased[0] - unbiased[-2])
    assert difference == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize("looks", [2, 4])
@pytest.mark.parametrize("baseline", ["low", None])
def test_estimates_of_several_looks_are_unbiased_on_the_tree(looks, baseline):
    edges, losses = np.array([0.0, 0.2, 0.7, 1.0]), np.array([0.9, 0.1, 0.5])
    learner = sb.Exp3Set(UNIT, rate=1e-3, baseline=baseline, seed=0)
    before = learner._epoch.weights.log_shares(edges)
    mean = np.zeros(3)
    for drawn in itertools.product(range(3), repeat=looks):
        other = copy.deepcopy(learner)
        counts = Counter(drawn)
        sets = np.array([list(counts).index(i) if i in counts else -1 for i in range(3)])
        seen = Feedback(edges, losses, sets, 0.5, 0.0, looks=np.array(list(counts.values())))
        update = other._epoch.weights.learn(seen, Rule(0.0, 0.0, -math.inf, 1e-3))
        mean += np.exp(before)[list(drawn)].prod() * update.factors / -1e-3
    np.testing.assert_allclose(mean, losses, rtol=1e-9)


def test_bad_paths_and_decimals_get_clear_errors():
    learner = sb.Exp3Set(UNIT, seed=0)
    for action in (learner.save, sb.load):
        with pytest.raises(ValueError, match=r"path must not contain a null character, got 'a\\x00b'"):
            action("a\0b")
    trial = learner.ask()
    with pytest.raises(TypeError, match=r"seen must be .*, got Decimal\('0.3'\)"):
        learner.tell(trial, Decimal("0.3"))
    with pytest.raises(TypeError, match="prior must be a density"):
        sb.Exp3Set(UNIT, prior=Decimal("0.3"))
    assert sb.Exp3Set(UNIT, rate=Decimal("0.5"), high=Decimal(2), drift=Decimal("0.5")).current_rate == 0.5


def test_a_certificate_of_huge_losses_is_finite():
    learner = sb.Exp3Set(UNIT, high=1e308, seed=0)
    for _ in range(5):
        learner.tell(learner.ask(), sb.PiecewiseConstant([0, 1], [1e308]))
    assert all(map(math.isfinite, learner.certificate()[:5]))
