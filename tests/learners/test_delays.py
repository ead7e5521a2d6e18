"""Late tells in any order: the probability is the one at the time of the ask."""

import functools
import math

import numpy as np
import pytest

import semibandit as sb
from reference.feedback import part, random_loss
from reference.flat_exp3_set import FlatExp3Set
from semibandit import Exp3Grid, Interval, PiecewiseConstant, load
from semibandit.learners.learner import generator

# Here the weights are an interval tree, with a scalar baseline or none.
Exp3Set = functools.partial(sb.Exp3Set, baseline="low")

UNIT = Interval(0, 1)


def play_late(learner, flat, kinds, n_trials=160, n_pending=30, seed=0, checkpoint=None):
    """Ask and tell in random order; learner and flat must agree all along. Returns the rates seen."""
    rng = np.random.default_rng(seed)
    pending, rates, asked = [], [learner.current_rate], 0
    while asked < n_trials or pending:
        more = len(pending) < n_pending // 3 or (len(pending) < n_pending and rng.random() < 0.55)
        if asked < n_trials and more:
            trial = learner.ask()
            assert trial.rho == pytest.approx(flat.ask(), abs=1e-7)
            pending.append((asked, trial))
            asked += 1
            continue
        number, trial = pending.pop(int(rng.integers(len(pending))))
        loss = random_loss(rng)
        outcome = rng.random()
        if outcome < 0.05:
            learner.forget(trial)
        elif outcome < 0.1:
            learner.tell(trial, None)
        else:
            seen = part(loss, trial.rho, kinds[int(rng.integers(len(kinds)))])
            learner.tell(trial, seen)
            p = flat.tell(number, seen.edges.tolist(), seen.values.tolist(), loss(trial.rho))
            assert learner.last_probability == pytest.approx(p, rel=1e-7)
            assert learner.current_rate == flat.rate
            rates.append(flat.rate)
        if checkpoint is not None and rng.random() < 0.05:
            learner = checkpoint(learner)
            assert set(learner.pending) == {trial for _, trial in pending}
    assert learner.pending == ()
    density = learner.density()
    masses = density.values * density.widths
    assert density.edges.tolist() == flat.weights.edges
    np.testing.assert_allclose(masses, flat.weights.masses(), atol=1e-8)
    learner._epoch.weights._check()
    return rates


@pytest.mark.parametrize(
    ("options", "kinds", "n_rates"),
    [
        ({"rate": 0.1}, ["interval"], 1),
        ({"rate": 0.5, "baseline": None}, ["interval", "union", "pieces", "all"], 1),
        ({}, ["interval", "union", "pieces"], 2),
        ({"horizon": 160, "exploration": 0.05}, ["interval", "union"], 3),
        ({"max_pieces": 30}, ["pieces", "all"], 1),
    ],
    ids=str,
)
def test_late_tells_against_snapshots(options, kinds, n_rates):
    seed = 4
    learner = Exp3Set(UNIT, seed=seed, **options)
    flat = FlatExp3Set((0.0, 1.0), generator(seed).random(300), **options)
    rates = play_late(learner, flat, kinds, n_trials=240)
    assert len(set(rates)) >= n_rates  # with trials pending across the changes
    assert (learner.join_error > 0.0) == ("max_pieces" in options)


def test_late_tells_across_saving(tmp_path):
    def checkpoint(learner):
        learner.save(tmp_path / "late")
        return load(tmp_path / "late")

    learner = Exp3Set(UNIT, seed=4)
    flat = FlatExp3Set((0.0, 1.0), generator(4).random(200))
    play_late(learner, flat, ["interval", "pieces"], checkpoint=checkpoint)


def test_late_tells_with_a_margin():
    r0 = 0.25
    rng = np.random.default_rng(0)
    inner = Exp3Set(Interval(0, 1, margin=r0), seed=1)
    outer = Exp3Set(Interval(-r0, 1 + r0), seed=1)
    for _ in range(20):
        pairs = [(inner.ask(), outer.ask()) for _ in range(8)]
        rng.shuffle(pairs)
        for a, b in pairs:
            piece = random_loss(rng).piece(a.rho)
            lo, hi, value = *piece.edges.tolist(), *piece.values.tolist()
            inner.tell(a, PiecewiseConstant.constant(lo, hi, value))
            lo, hi = (-r0 if lo == 0.0 else lo), (1 + r0 if hi == 1.0 else hi)
            outer.tell(b, PiecewiseConstant.constant(lo, hi, value))
            assert inner.last_probability == outer.last_probability
    assert inner.density() == outer.density()


def test_late_tells_of_a_grid_against_snapshots():
    n, seed = 7, 2
    grid = Exp3Grid(UNIT, n, seed=seed)
    flat = FlatExp3Set(range(n + 1), generator(seed).random(400))
    flat.weights.logs = [0.0] * n
    rng = np.random.default_rng(0)
    pending = []
    for number in range(300):
        trial = grid.ask()
        cell = int(flat.ask())
        assert trial.rho == pytest.approx((cell + 0.5) / n)
        pending.append((number, trial, cell))
        if len(pending) > 20:
            number, trial, cell = pending.pop(int(rng.integers(20)))
            loss = rng.random()
            grid.tell(trial, loss)
            p = flat.tell(number, [cell, cell + 1], [loss], loss)
            assert grid.last_probability == pytest.approx(p, rel=1e-8)
    assert grid.current_rate == flat.rate


def test_the_order_of_asks_and_tells_matters_only_through_probabilities():
    # Two trials asked of the same weights are told in either order: with a fixed rate the result is the same.
    def run(order):
        learner = Exp3Set(UNIT, rate=0.3, baseline=None, seed=6)
        trials = [learner.ask() for _ in range(6)]
        for i in order:
            loss = random_loss(np.random.default_rng(i))
            learner.tell(trials[i], part(loss, trials[i].rho, "interval"))
        return learner.density()

    a, b = run([0, 1, 2, 3, 4, 5]), run([4, 2, 5, 0, 3, 1])
    assert a.edges.tolist() == b.edges.tolist()
    np.testing.assert_allclose(a.values, b.values, rtol=1e-12)


def test_huge_updates_in_between_can_be_undone():
    # A sliver is told with an estimate of 10^12 while the first trial is pending.
    learner = Exp3Set(UNIT, rate=1.0, baseline=None, seed=0)
    first, second = learner.ask(), learner.ask()
    learner.tell(second, PiecewiseConstant.constant(second.rho, math.nextafter(second.rho, 2), 1.0))
    learner.tell(first, PiecewiseConstant.constant(0.0, max(first.rho + 1e-3, 0.5), 0.5))
    assert learner.last_probability == pytest.approx(max(first.rho + 1e-3, 0.5), rel=1e-12)


def test_abandoned_updates_are_dropped():
    learner = Exp3Set(UNIT, seed=0, rate=0.1)
    old = learner.ask()
    for _ in range(50):
        trial = learner.ask()
        learner.tell(trial, PiecewiseConstant([0, 0.5, 1], [0.2, 0.4]))
    assert len(learner._epoch.updates) == 50
    learner.forget(old)
    assert learner._epoch.updates == []
    for _ in range(50):
        learner.tell(learner.ask(), PiecewiseConstant([0, 0.5, 1], [0.2, 0.4]))
    assert learner._epoch.updates == []
