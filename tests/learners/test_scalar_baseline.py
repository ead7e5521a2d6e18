"""Exp3Set with a scalar baseline or none: reduction to Exp3, and comparison with a flat version."""

import copy
import functools
import math

import numpy as np
import pytest

import semibandit as sb
from reference.exp3 import exp3, mixability_gap
from reference.feedback import part, random_loss
from reference.flat_exp3_set import FlatExp3Set
from semibandit import Exp3Grid, Interval, PiecewiseConstant
from semibandit.learners.learner import generator

# Here the weights are an interval tree, with a scalar baseline or none.
Exp3Set = functools.partial(sb.Exp3Set, baseline="low")

NAN = math.nan
UNIT = Interval(0, 1)
KINDS = ["interval", "union", "pieces", "all"]


def uniforms(seed, n):
    return generator(seed).random(n)


def assert_same_density(learner, flat, atol=1e-9):
    density = learner.density()
    assert density.edges.tolist() == flat.weights.edges
    np.testing.assert_allclose(density.values * density.widths, flat.weights.masses(), atol=atol)


# -- reductions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_arms", [2, 8, 50])
def test_fixed_cells_are_exp3_on_arms(n_arms):
    T, rate, seed = 600, 0.05, 3
    table = np.random.default_rng(1).random((T, n_arms))
    arms, chances = exp3(n_arms, rate, uniforms(seed, T), lambda t, arm: table[t, arm])
    cells = np.arange(n_arms + 1) / n_arms
    learner = Exp3Set(UNIT, rate=rate, baseline=None, seed=seed)
    grid = Exp3Grid(UNIT, n_arms, rate=rate, baseline=None, seed=seed)
    for t, (arm, chance) in enumerate(zip(arms, chances, strict=True)):
        trial = learner.ask()
        assert np.searchsorted(cells, trial.rho, side="right") - 1 == arm
        learner.tell(trial, PiecewiseConstant.constant(cells[arm], cells[arm + 1], table[t, arm]))
        assert learner.last_probability == pytest.approx(chance, rel=1e-9)
        trial = grid.ask()
        assert trial.rho == pytest.approx((arm + 0.5) / n_arms)
        grid.tell(trial, table[t, arm])
        assert grid.last_probability == pytest.approx(chance, rel=1e-9)
    assert len(set(arms)) > 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"baseline": None},
        {"rate": 0.25},
        {"horizon": 150},
        {"exploration": 0.02},
        {"max_pieces": 24},
        {"rate": 2.0, "baseline": None, "exploration": 0.1, "max_pieces": 9},
    ],
    ids=str,
)
def test_rounds_against_the_flat_version(kind, options):
    if "max_pieces" in options and kind in ("interval", "union"):
        return  # steps up and down are equal then: which of them a join takes is a matter of rounding
    T = 150
    rng = np.random.default_rng(2)
    levels = None if "max_pieces" in options else [0.0, 0.2, 0.5, 1.0]
    learner = Exp3Set(UNIT, **options)
    learner._random = np.random.default_rng(11)  # with joins, other draws meet ties
    flat = FlatExp3Set((0.0, 1.0), np.random.default_rng(11).random(T), **options)
    for t in range(T):
        loss = random_loss(rng, levels=levels if t % 3 else None)
        trial = learner.ask()
        assert trial.rho == pytest.approx(flat.ask(), abs=1e-8)
        seen = part(loss, trial.rho, kind)
        learner.tell(trial, seen)
        p = flat.tell(t, seen.edges.tolist(), seen.values.tolist(), loss(trial.rho))
        assert learner.last_probability == pytest.approx(p, rel=1e-8)
        assert learner.current_rate == flat.rate
        assert learner.gap_sum == pytest.approx(sum(flat.gaps), rel=1e-8, abs=1e-12)
    assert_same_density(learner, flat)
    assert learner.n_told == learner.n_asked == T
    assert learner.pending == ()
    learner._epoch.weights._check()


# -- statistics -----------------------------------------------------------------------------------


def trained(**options):
    rng = np.random.default_rng(8)
    learner = Exp3Set(UNIT, seed=2, **options)
    for _ in range(60):
        trial = learner.ask()
        learner.tell(trial, part(random_loss(rng), trial.rho, "interval"))
    return learner


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS[:3])
@pytest.mark.parametrize("baseline", [None, "low"])
def test_estimates_are_unbiased(kind, baseline):
    """Over many draws from one density, the mean estimate is the loss minus the baseline, within 5 sigma."""
    n, rate = 3000, 1e-3  # too small a rate to clip
    learner = trained(rate=rate, baseline=baseline)
    b = learner._low_baseline() if baseline else 0.0
    assert (b > 0.1) == (baseline == "low")
    loss = PiecewiseConstant([0, 0.1, 0.3, 0.35, 0.6, 0.8, 1], [0.9, 0.1, 0.5, 1.0, 0.0, 0.7])
    cells = list(zip(loss.edges[:-1], loss.edges[1:], strict=True))
    if kind == "union":  # its losses are constant on the two sets
        loss = PiecewiseConstant(loss.edges, [0.9, 0.4, 0.9, 0.4, 0.9, 0.4])
    before = np.array([learner._epoch.weights.integrate(*cell) for cell in cells])
    estimates = np.empty((n, len(cells)))
    for draw in range(n):
        copied = copy.deepcopy(learner)
        copied._random = np.random.default_rng(draw)
        trial = copied.ask()
        copied.tell(trial, part(loss, trial.rho, kind))
        after = [copied._epoch.weights.integrate(*cell) for cell in cells]
        estimates[draw] = (before - after) / rate
    sigma = estimates.std(axis=0) / math.sqrt(n)
    assert (sigma < 0.1).all()
    assert (np.abs(estimates.mean(axis=0) - (loss.values - b)) <= 5 * sigma + 1e-9).all()


def test_gap_of_one_interval_is_the_formula():
    learner = Exp3Set(UNIT, rate=0.7, baseline=None, seed=0)
    trial = learner.ask()
    lo, hi = (0.0, 0.3) if trial.rho < 0.3 else (0.3, 1.0)
    learner.tell(trial, PiecewiseConstant.constant(lo, hi, 0.8))
    p = hi - lo
    estimate = 0.8 / p
    want = p * estimate + math.log(1 - p + p * math.exp(-0.7 * estimate)) / 0.7
    assert learner.gap_sum == pytest.approx(want, rel=1e-12)
    assert want == pytest.approx(mixability_gap([p, 1 - p], [estimate, 0.0], 0.7))
    assert want <= 0.8


@pytest.mark.parametrize("width", [1e-3, 1e-8, 1e-15])
def test_the_gap_stays_below_the_loss_however_small_the_set(width):
    learner = Exp3Set(UNIT, baseline=None, seed=0)
    trial = learner.ask()
    learner.tell(trial, PiecewiseConstant.constant(trial.rho, trial.rho + width, 1.0))
    assert 0.9 < learner.gap_sum <= 1.0
    assert learner.current_rate == 4.0


# -- reading off ----------------------------------------------------------------------------------


def test_recommendation_is_the_best_interval():
    learner = Exp3Set(Interval(0, 10), rate=0.5, seed=0)
    assert learner.recommend() == (5.0, (0.0, 10.0))
    learner.tell(learner.ask(), PiecewiseConstant([0, 2, 3, 6, 7, 10], [0.1, 0.5, 0.1, 0.2, 0.3]))
    assert learner.recommend() == (4.5, (3.0, 6.0))
    # Neighbours that are equally good are one interval.
    learner.tell(learner.ask(), PiecewiseConstant([0, 2, 4, 10], [0.1, 0.2, 0.2]))
    assert learner.recommend() == (1.0, (0.0, 2.0))
    learner.tell(learner.ask(), PiecewiseConstant([0, 2, 10], [0.1, 0.0]))
    assert learner.recommend() == (1.0, (0.0, 2.0)) or learner.recommend().interval == (3.0, 6.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "no regret proof"),
        ({"baseline": None}, "the theorem of `AdaptiveRate`, against the best of all parameters"),
        ({"baseline": None, "exploration": 0.1}, "(λ/2 + γ)·T·M"),
    ],
)
def test_repr_says_what_is_proved(options, words):
    learner = Exp3Set(UNIT, **options)
    learner.ask()
    assert words in repr(learner)
    assert "1 pending" in repr(learner)


# -- joining --------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.05, 0.5])
def test_join_error_bounds_what_joins_have_done(rate):
    """With everything seen, updates do not depend on the weights: only joins make a difference."""
    rng = np.random.default_rng(1)
    free = Exp3Set(UNIT, rate=rate, seed=0)
    capped = Exp3Set(UNIT, rate=rate, max_pieces=40, seed=0)
    rates = set()
    for _ in range(150):
        loss = random_loss(rng)
        rate_before, error_before = capped.current_rate, capped.join_error
        free.tell(free.ask(), loss)
        capped.tell(capped.ask(), loss)
        assert capped.join_error >= error_before * (capped.current_rate / rate_before)
        rates.add(capped.current_rate)
        assert free.current_rate == capped.current_rate
        assert capped.n_pieces <= 40
    assert len(rates) == 1
    assert capped.join_error > 0.0
    a, b = free.density(), capped.density()
    change = np.abs(np.log(a.values) - np.log(b(a.edges[:-1])))
    assert change.max() <= 2 * capped.join_error * (1 + 1e-9)
    assert change.max() > 0.01 * capped.join_error
    assert free.join_error == 0.0
