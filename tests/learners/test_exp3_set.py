"""Exp3Set against the algorithms that it reduces to, and against a flat version of itself."""

import copy
import functools
import math

import msgspec
import numpy as np
import pytest
import scipy.stats

import semibandit as sb
from reference.exp3 import exp3, hedge, mixability_gap
from reference.feedback import part, random_loss
from reference.flat_exp3_set import FlatExp3Set
from semibandit import Exp3Grid, Interval, PiecewiseConstant, TheoremRate
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


@pytest.mark.parametrize("baseline", ["low", None])
def test_full_feedback_is_hedge_on_the_common_refinement(baseline):
    rng = np.random.default_rng(0)
    T, rate, seed = 120, 0.3, 7
    losses = [random_loss(rng) for _ in range(T)]
    edges = np.unique(np.concatenate([loss.edges for loss in losses]))
    rows = [loss(edges[:-1]) for loss in losses]
    points, density = hedge(edges, rows, rate, uniforms(seed, T))
    learner = Exp3Set(UNIT, rate=rate, baseline=baseline, seed=seed)
    for loss, point in zip(losses, points, strict=True):
        trial = learner.ask()
        assert trial.rho == pytest.approx(point, abs=1e-11)
        learner.tell(trial, loss)
        assert learner.last_probability == 1.0
    got = learner.density()
    assert got.edges.tolist() == edges.tolist()
    np.testing.assert_allclose(got.values, density, rtol=1e-11)


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


def test_a_repeated_factor_of_two_in_the_scale_changes_nothing():
    # Losses in [0, H], and utilities, are the same game as losses in [0, 1] (appendix A.1).
    T, seed = 200, 5
    rng = np.random.default_rng(4)
    learners = {
        "losses": (Exp3Set(UNIT, seed=seed), lambda x: x),
        "high": (Exp3Set(UNIT, high=4.0, seed=seed), lambda x: 4.0 * x),
        "utilities": (Exp3Set(UNIT, maximize=True, seed=seed), lambda x: 1.0 - x),
        "both": (Exp3Set(UNIT, high=4.0, maximize=True, seed=seed), lambda x: 4.0 - 4.0 * x),
    }
    for _ in range(T):
        # Dyadic losses, so that 1 - x and 4x are exact and the games equal to the bit.
        loss = random_loss(rng, levels=np.arange(65) / 64)
        rhos = set()
        for learner, transform in learners.values():
            trial = learner.ask()
            rhos.add(trial.rho)
            piece = loss.piece(trial.rho)
            lo, hi, value = *piece.edges.tolist(), *piece.values.tolist()
            learner.tell(trial, PiecewiseConstant.constant(lo, hi, transform(value)))
        assert len(rhos) == 1
    densities = {learner.density() for learner, _ in learners.values()}
    assert len(densities) == 1


@pytest.mark.parametrize("high", [10.0, 1e-3, 1e300])
def test_other_scales_agree_up_to_rounding(high):
    rng = np.random.default_rng(4)
    plain, scaled = Exp3Set(UNIT, seed=1), Exp3Set(UNIT, high=high, seed=1)
    for _ in range(60):
        loss = random_loss(rng)
        a, b = plain.ask(), scaled.ask()
        assert a.rho == pytest.approx(b.rho, abs=1e-9)
        piece = loss.piece(a.rho)
        lo, hi, value = *piece.edges.tolist(), *piece.values.tolist()
        plain.tell(a, PiecewiseConstant.constant(lo, hi, value))
        scaled.tell(b, PiecewiseConstant.constant(lo, hi, min(value * high, high)))


def test_margin_is_the_projected_game_on_the_enlarged_space():
    r0, T, seed = 0.25, 400, 9
    rng = np.random.default_rng(6)
    inner = Exp3Set(Interval(0, 1, margin=r0), seed=seed)
    outer = Exp3Set(Interval(-r0, 1 + r0), seed=seed)
    outside = 0
    for _ in range(T):
        loss = random_loss(rng)
        a, b = inner.ask(), outer.ask()
        assert a.rho == min(max(b.rho, 0.0), 1.0)
        outside += b.rho != a.rho
        piece = loss.piece(a.rho)
        lo, hi, value = *piece.edges.tolist(), *piece.values.tolist()
        inner.tell(a, PiecewiseConstant.constant(lo, hi, value))
        lo, hi = (-r0 if lo == 0.0 else lo), (1 + r0 if hi == 1.0 else hi)
        outer.tell(b, PiecewiseConstant.constant(lo, hi, value))
    assert outside > 20
    assert inner.density() == outer.density()
    assert all(0.0 <= x <= 1.0 for x in [inner.recommend().rho, *inner.recommend().interval])


def test_margin_with_everything_seen_is_hedge():
    learner = Exp3Set(Interval(0, 1, margin=0.5), rate=1.0, seed=0)
    learner.tell(learner.ask(), PiecewiseConstant([0, 0.5, 1], [0.0, 1.0]))
    assert learner.last_probability == 1.0
    edges, values = learner.density().edges, learner.density().values
    assert edges.tolist() == [-0.5, 0.5, 1.5]
    np.testing.assert_allclose(values, [1 / (1 + math.exp(-1)), 1 / (1 + math.e)])


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


@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_draws_follow_the_density(margin):
    rng = np.random.default_rng(8)
    learner = Exp3Set(Interval(0, 1, margin=margin), seed=2)
    for _ in range(100):
        trial = learner.ask()
        learner.tell(trial, part(random_loss(rng), trial.rho, "interval"))
    density = learner.density()
    assert density.integral() == pytest.approx(1.0, rel=1e-12)
    assert density.values.max() > 3 * density.values.min()
    steps = np.concatenate(([0.0], np.cumsum(density.values * density.widths)))
    positions = []
    for _ in range(20_000):
        trial = learner.ask()
        assert trial.rho == min(max(trial.position, 0.0), 1.0)
        positions.append(trial.position)
        learner.forget(trial)
    # The distance has p-value 1 in 100 at 0.0115 for this many draws.
    result = scipy.stats.kstest(positions, lambda x: np.interp(x, density.edges, steps))
    assert result.pvalue > 0.01
    assert learner.density() == density


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


# -- extremes -------------------------------------------------------------------------------------


def test_slivers_forever():
    # Feedback of one float in width: the estimate is 10^16 each time.
    learner = Exp3Set(UNIT, rate=1.0, baseline=None, seed=0)
    for _ in range(300):
        trial = learner.ask()
        learner.tell(trial, PiecewiseConstant.constant(trial.rho, math.nextafter(trial.rho, 2), 1.0))
    learner._epoch.weights._check()
    assert learner.density().integral() == pytest.approx(1.0)
    assert math.isfinite(learner.gap_sum)


@pytest.mark.parametrize("rate", [1e300, 1e20, 1e-300, 5e-324])
@pytest.mark.parametrize("kind", ["interval", "all"])
def test_extreme_rates(rate, kind):
    rng = np.random.default_rng(0)
    learner = Exp3Set(UNIT, rate=rate, seed=0)
    trials = [learner.ask() for _ in range(40)]
    for trial in trials:  # all but the first told late
        learner.tell(trial, part(random_loss(rng), trial.rho, kind))
    learner._epoch.weights._check()
    assert learner.density().integral() == pytest.approx(1.0)
    assert 0.0 <= learner.gap_sum < math.inf


@pytest.mark.parametrize("ends", [(-8e307, 8e307), (1e308, 1.7e308), (-1e-300, 1e-300), (1e15, 1e15 + 4)])
def test_extreme_spaces(ends):
    space = Interval(*ends)
    middle = 0.5 * space.lo + 0.5 * space.hi
    learner = Exp3Set(space, rate=2.0, seed=0)
    for _ in range(30):
        trial = learner.ask()
        assert trial.rho in space
        lo, hi, loss = (space.lo, middle, 0.9) if trial.rho < middle else (middle, space.hi, 0.1)
        learner.tell(trial, PiecewiseConstant.constant(lo, hi, loss))
    assert learner.density().integral() == pytest.approx(1.0, rel=1e-12)
    best = learner.recommend()
    assert best.interval == (middle, space.hi)
    assert middle < best.rho < space.hi


def test_the_deepest_valley_can_lead_again():
    learner = Exp3Set(UNIT, rate=1.0, seed=0)
    worse = PiecewiseConstant([0, 0.5, 1], [1.0, 0.0])
    better = PiecewiseConstant([0, 0.5, 1], [0.0, 1.0])
    for loss in [worse] * 2000 + [better] * 2010:
        learner.tell(learner.ask(), loss)
    assert learner._epoch.weights.share(0, 0.5) == pytest.approx(1 / (1 + math.exp(-10)), rel=1e-12)


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


def test_the_theorem_rate_is_used():
    rate = TheoremRate(T=1000, M=10, R=0.5)
    assert Exp3Set(UNIT, rate=rate).current_rate == rate.after(0, 0.0, 1.0)
    assert "TheoremRate" in repr(Exp3Set(UNIT, rate=rate))


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


# -- bad input ------------------------------------------------------------------------------------


def state(learner, tmp_path):
    learner.save(tmp_path / "state")
    return (tmp_path / "state").read_bytes()


def bad_feedback(rho):
    other = (0.0, rho / 2) if rho > 0.5 else (rho + (1 - rho) / 2, 1.0)
    yield NAN, ValueError, r"the loss told must be in \[0, 1\], got nan"
    yield 1.5, ValueError, r"the loss told must be in \[0, 1\], got 1.5"
    yield True, TypeError, "seen must be a PiecewiseConstant .* that covers rho"
    yield "0.5", TypeError, "seen must be a PiecewiseConstant"
    yield [], ValueError, "seen must hold the feedback of each of 1 looks, got 0"
    yield [0.5, 0.5], ValueError, "seen must hold the feedback of each of 1 looks, got 2"
    yield PiecewiseConstant.constant(*other, 0.5), ValueError, "must cover rho"
    yield PiecewiseConstant.constant(0, 1, NAN), ValueError, "must cover rho"
    yield PiecewiseConstant.constant(0, 1, 1.0000001), ValueError, r"values told must be in \[0, 1\]"
    yield PiecewiseConstant.constant(0, 1, -1e-9), ValueError, r"values told must be in \[0, 1\]"
    yield PiecewiseConstant([0, rho / 2, 1], [2.0, 0.5]), ValueError, r"values told must be in \[0, 1\]"
    yield PiecewiseConstant([0, rho / 2, 1], [0.5, NAN]), ValueError, "must cover rho"
    yield PiecewiseConstant.constant(-0.5, 1, 0.5), ValueError, r"must lie inside \[0, 1\]"
    yield PiecewiseConstant.constant(0, 1.5, 0.5), ValueError, r"must lie inside \[0, 1\]"


@pytest.mark.parametrize("late", [False, True])
def test_bad_feedback_is_refused_and_changes_nothing(tmp_path, late):
    learner = trained()
    trial = learner.ask()
    if late:
        for _ in range(5):
            other = learner.ask()
            learner.tell(other, part(random_loss(np.random.default_rng(0)), other.rho, "interval"))
    before = state(learner, tmp_path)
    for seen, error, message in bad_feedback(trial.rho):
        with pytest.raises(error, match=message):
            learner.tell(trial, seen)
        assert state(learner, tmp_path) == before
    learner.tell(trial, PiecewiseConstant.constant(0, 1, 0.5))  # and it is still pending


def test_trials_that_are_not_pending(tmp_path):
    learner, other = trained(), trained()
    fine = PiecewiseConstant.constant(0, 1, 0.5)
    done, dropped, failed, pending = (learner.ask() for _ in range(4))
    learner.tell(done, fine)
    learner.forget(dropped)
    learner.tell(failed, None)
    assert learner.pending == (pending,)
    foreign = [other.ask() for _ in range(10)][-1]
    twin = copy.deepcopy(learner)
    learner.tell(pending, fine)
    mine = learner.ask()
    twins = [twin.ask() for _ in range(2)][-1]
    unknown = msgspec.structs.replace(mine, id=10**6)
    assert twins.id != mine.id or twins != mine
    before = state(learner, tmp_path)
    cases = [
        (done, ValueError, "is finished"),
        (dropped, ValueError, "is finished"),
        (failed, ValueError, "is finished"),
        (foreign, ValueError, "another learner"),
        (unknown, ValueError, "is unknown"),
        (twins, ValueError, "copy of this learner|is unknown"),
        (mine.id, TypeError, "trial must be a Trial"),
        (mine.rho, TypeError, "trial must be a Trial"),
        (None, TypeError, "trial must be a Trial"),
        (NAN, TypeError, "trial must be a Trial"),
    ]
    for trial, error, message in cases:
        for action in (
            lambda trial=trial: learner.tell(trial, fine),
            lambda trial=trial: learner.tell(trial, None),
            lambda trial=trial: learner.forget(trial),
        ):
            with pytest.raises(error, match=message):
                action()
            assert state(learner, tmp_path) == before
    learner.tell(mine, fine)


def test_a_trial_of_a_copy_is_foreign(tmp_path):
    learner = trained()
    learner.save(tmp_path / "a")
    from semibandit import load

    copied = load(tmp_path / "a")
    copied.tell(copied.ask(), None)
    learner.tell(learner.ask(), PiecewiseConstant([0, 0.5, 1], [0.0, 1.0]))
    here, there = learner.ask(), copied.ask()
    assert here.id == there.id
    assert here.rho != there.rho
    with pytest.raises(ValueError, match="copy of this learner"):
        learner.tell(there, PiecewiseConstant.constant(0, 1, 0.5))


def test_failed_and_forgotten_runs_change_nothing_but_the_counts():
    learner = trained()
    density, rate = learner.density(), learner.current_rate
    learner.tell(learner.ask(), None)
    learner.forget(learner.ask())
    assert learner.density() == density
    assert learner.current_rate == rate
    assert (learner.n_asked, learner.n_told, learner.n_failed) == (62, 60, 1)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"rate": 0.0}, ValueError, "rate must be"),
        ({"rate": -1}, ValueError, "rate must be"),
        ({"rate": NAN}, ValueError, "rate must be"),
        ({"rate": math.inf}, ValueError, "rate must be"),
        ({"rate": "1"}, TypeError, "rate must be"),
        ({"rate": []}, TypeError, "rate must be"),
        ({"horizon": 0}, ValueError, "horizon must be at least 1"),
        ({"horizon": 10.0}, TypeError, "horizon must be an integer"),
        ({"horizon": NAN}, TypeError, "horizon must be an integer"),
        ({"horizon": True}, TypeError, "horizon must be an integer"),
        ({"high": 0.0}, ValueError, "high must be"),
        ({"high": -1.0}, ValueError, "high must be"),
        ({"high": NAN}, ValueError, "high must be"),
        ({"high": math.inf}, ValueError, "high must be"),
        ({"high": None}, TypeError, "high must be"),
        ({"baseline": "high"}, ValueError, "baseline must be .*'low' or None"),
        ({"baseline": 0.5}, ValueError, "baseline must be"),
        ({"baseline": NAN}, ValueError, "baseline must be"),
        ({"exploration": -0.1}, ValueError, "exploration must be"),
        ({"exploration": NAN}, ValueError, "exploration must be"),
        ({"exploration": math.inf}, ValueError, "exploration must be"),
        ({"max_pieces": 1}, ValueError, "max_pieces must be at least 2"),
        ({"max_pieces": 0}, ValueError, "max_pieces must be"),
        ({"max_pieces": 1e3}, TypeError, "max_pieces must be an integer"),
        ({"seed": -1}, ValueError, "seed must be"),
        ({"seed": 0.5}, TypeError, "seed must be an integer"),
        ({"seed": NAN}, TypeError, "seed must be an integer"),
        ({"seed": "0"}, TypeError, "seed must be an integer"),
        ({"maximize": "no"}, TypeError, "maximize must be True or False"),
        ({"maximize": NAN}, TypeError, "maximize must be True or False"),
    ],
    ids=str,
)
def test_bad_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        Exp3Set(UNIT, **options)
    with pytest.raises(error, match=message):
        Exp3Grid(UNIT, 5, **options) if "max_pieces" not in options else Exp3Set(UNIT, **options)


@pytest.mark.parametrize("space", [(0, 1), None, 1.0, "unit", [0, 1]])
def test_the_space_must_be_a_space(space):
    with pytest.raises(TypeError, match="space must be"):
        Exp3Set(space)
