"""Exp3Set: the contract for every baseline, then the default, with all kinds of feedback."""

import copy
import functools
import itertools
import math

import msgspec
import numpy as np
import pytest
import scipy.stats

import semibandit as sb
from reference.exp3 import hedge
from reference.feedback import part, random_loss
from semibandit import Exp3Grid, Exp3Set, Interval, PiecewiseConstant, Strips, TheoremRate, load
from semibandit.learners import reading, storage
from semibandit.learners.learner import generator
from semibandit.weights import LocalPieces

UNIT = Interval(0, 1)
ROWS = Strips(5, Interval(0, 2))


def valley(rng, at=0.7, width=0.2):
    """A step function with a dip around `at`, and noise."""
    edges = np.unique([0.0, *rng.random(6), at - 0.5 * width, at + 0.5 * width, 1.0])
    inside = np.abs(0.5 * (edges[1:] + edges[:-1]) - at) < 0.5 * width
    return PiecewiseConstant(
        edges, np.clip(np.where(inside, 0.2, 0.7) + rng.normal(0, 0.1, inside.size), 0, 1)
    )


def game(learner, functions, feedback="semi-bandit", probes=0):
    history = sb.play(learner, [sb.Explicit(f) for f in functions], feedback, probes=probes)
    return float(history.regret()[-1])


def functions(n, seed=0, **options):
    rng = np.random.default_rng(seed)
    return [valley(rng, **options) for _ in range(n)]


NAN = math.nan


@pytest.fixture(params=["local", "low", None], ids=str)
def make(request):
    """Make learners with each baseline."""
    return functools.partial(Exp3Set, baseline=request.param)


def uniforms(seed, n):
    return generator(seed).random(n)


def trained(make, **options):
    rng = np.random.default_rng(8)
    learner = make(UNIT, seed=2, **options)
    for _ in range(60):
        trial = learner.ask()
        learner.tell(trial, part(random_loss(rng), trial.rho, "interval"))
    return learner


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


def test_full_feedback_is_hedge_on_the_common_refinement(make):
    rng = np.random.default_rng(0)
    T, rate, seed = 120, 0.3, 7
    losses = [random_loss(rng) for _ in range(T)]
    edges = np.unique(np.concatenate([loss.edges for loss in losses]))
    rows = [loss(edges[:-1]) for loss in losses]
    points, density = hedge(edges, rows, rate, uniforms(seed, T))
    learner = make(UNIT, rate=rate, seed=seed)
    for loss, point in zip(losses, points, strict=True):
        trial = learner.ask()
        assert trial.rho == pytest.approx(point, abs=1e-11)
        learner.tell(trial, loss)
        assert learner.last_probability == 1.0
    got = learner.density()
    assert got.edges.tolist() == edges.tolist()
    np.testing.assert_allclose(got.values, density, rtol=1e-11)


def test_scaled_losses_and_utilities_are_the_same_game(make):
    # Losses in [0, H], and utilities, are the same game as losses in [0, 1] (appendix A.1).
    T, seed = 200, 5
    rng = np.random.default_rng(4)
    learners = {
        "losses": (make(UNIT, seed=seed), lambda x: x),
        "high": (make(UNIT, high=4.0, seed=seed), lambda x: 4.0 * x),
        "utilities": (make(UNIT, maximize=True, seed=seed), lambda x: 1.0 - x),
        "both": (make(UNIT, high=4.0, maximize=True, seed=seed), lambda x: 4.0 - 4.0 * x),
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
def test_other_scales_agree_up_to_rounding(make, high):
    rng = np.random.default_rng(4)
    plain, scaled = make(UNIT, seed=1), make(UNIT, high=high, seed=1)
    for _ in range(60):
        loss = random_loss(rng)
        a, b = plain.ask(), scaled.ask()
        assert a.rho == pytest.approx(b.rho, abs=1e-9)
        piece = loss.piece(a.rho)
        lo, hi, value = *piece.edges.tolist(), *piece.values.tolist()
        plain.tell(a, PiecewiseConstant.constant(lo, hi, value))
        scaled.tell(b, PiecewiseConstant.constant(lo, hi, min(value * high, high)))


@pytest.mark.parametrize("baseline", ["low", None])  # the cells of a local one exclude the margin
def test_margin_is_the_projected_game_on_the_enlarged_space(baseline):
    make = functools.partial(Exp3Set, baseline=baseline)
    r0, T, seed = 0.25, 400, 9
    rng = np.random.default_rng(6)
    inner = make(Interval(0, 1, margin=r0), seed=seed)
    outer = make(Interval(-r0, 1 + r0), seed=seed)
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


def test_full_feedback_with_a_margin_is_hedge(make):
    learner = make(Interval(0, 1, margin=0.5), rate=1.0, seed=0)
    learner.tell(learner.ask(), PiecewiseConstant([0, 0.5, 1], [0.0, 1.0]))
    assert learner.last_probability == 1.0
    edges, values = learner.density().edges, learner.density().values
    assert edges.tolist() == [-0.5, 0.5, 1.5]
    np.testing.assert_allclose(values, [1 / (1 + math.exp(-1)), 1 / (1 + math.e)])


@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_draws_follow_the_density(make, margin):
    rng = np.random.default_rng(8)
    learner = make(Interval(0, 1, margin=margin), seed=2)
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


def test_intervals_of_one_float_keep_the_density_finite(make):
    # Feedback of one float in width: the estimate is 10^16 each time.
    learner = make(UNIT, rate=1.0, seed=0)
    for _ in range(300):
        trial = learner.ask()
        learner.tell(trial, PiecewiseConstant.constant(trial.rho, math.nextafter(trial.rho, 2), 1.0))
    learner._epoch.weights._check()
    assert learner.density().integral() == pytest.approx(1.0)
    assert math.isfinite(learner.gap_sum)


@pytest.mark.parametrize("rate", [1e300, 1e20, 1e-300, 5e-324])
@pytest.mark.parametrize("kind", ["interval", "all"])
def test_extreme_rates(make, rate, kind):
    rng = np.random.default_rng(0)
    learner = make(UNIT, rate=rate, seed=0)
    trials = [learner.ask() for _ in range(40)]
    for trial in trials:  # all but the first told late
        learner.tell(trial, part(random_loss(rng), trial.rho, kind))
    learner._epoch.weights._check()
    assert learner.density().integral() == pytest.approx(1.0)
    assert 0.0 <= learner.gap_sum < math.inf


@pytest.mark.parametrize("ends", [(-8e307, 8e307), (1e308, 1.7e308), (-1e-300, 1e-300), (1e15, 1e15 + 4)])
def test_extreme_spaces(make, ends):
    space = Interval(*ends)
    middle = 0.5 * space.lo + 0.5 * space.hi
    learner = make(space, rate=2.0, seed=0)
    for _ in range(30):
        trial = learner.ask()
        assert trial.rho in space
        lo, hi, loss = (space.lo, middle, 0.9) if trial.rho < middle else (middle, space.hi, 0.1)
        learner.tell(trial, PiecewiseConstant.constant(lo, hi, loss))
    assert learner.density().integral() == pytest.approx(1.0, rel=1e-12)
    best = learner.recommend()
    assert best.interval == (middle, space.hi)
    assert middle < best.rho < space.hi


def test_a_place_far_behind_can_lead_again(make):
    learner = make(UNIT, rate=1.0, seed=0)
    worse = PiecewiseConstant([0, 0.5, 1], [1.0, 0.0])
    better = PiecewiseConstant([0, 0.5, 1], [0.0, 1.0])
    for loss in [worse] * 2000 + [better] * 2010:
        learner.tell(learner.ask(), loss)
    assert learner._epoch.weights.share(0, 0.5) == pytest.approx(1 / (1 + math.exp(-10)), rel=1e-12)


@pytest.mark.parametrize("late", [False, True])
def test_bad_feedback_is_refused_and_changes_nothing(make, tmp_path, late):
    learner = trained(make, high=1.0)
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


def test_trials_that_are_not_pending(make, tmp_path):
    learner, other = trained(make), trained(make)
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


def test_a_trial_of_a_copy_is_foreign(make, tmp_path):
    learner = trained(make)
    learner.save(tmp_path / "a")
    copied = load(tmp_path / "a")
    copied.tell(copied.ask(), None)
    learner.tell(learner.ask(), PiecewiseConstant([0, 0.5, 1], [0.0, 1.0]))
    here, there = learner.ask(), copied.ask()
    assert here.id == there.id
    assert here.rho != there.rho
    with pytest.raises(ValueError, match="copy of this learner"):
        learner.tell(there, PiecewiseConstant.constant(0, 1, 0.5))


def test_failed_and_forgotten_runs_change_nothing_but_the_counts(make):
    learner = trained(make)
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
        ({"high": "1"}, TypeError, "high must be"),
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
def test_bad_options_are_refused(make, options, error, message):
    with pytest.raises(error, match=message):
        make(UNIT, **options)
    with pytest.raises(error, match=message):
        Exp3Grid(UNIT, 5, **options) if "max_pieces" not in options else make(UNIT, **options)


@pytest.mark.parametrize("space", [(0, 1), None, 1.0, "unit", [0, 1]])
def test_the_space_must_be_a_space(make, space):
    with pytest.raises(TypeError, match="space must be"):
        make(space)


def test_the_theorem_rate_is_used(make):
    rate = TheoremRate(T=1000, M=10, R=0.5)
    assert make(UNIT, rate=rate).current_rate == rate.after(0, 0.0, 1.0)
    assert "TheoremRate" in repr(make(UNIT, rate=rate))


# -- three kinds of feedback ----------------------------------------------------------------------


def cell_of(learner, x):
    shares = learner._epoch.weights.log_shares
    return reading.cell_around(x, learner._cells, learner._line, learner.n_told, shares)


def cell_around(density, x, told):
    """A 32nd of [0, 1], halved while it has more than 4/t^(1/3) of the mass, six times at most."""
    for width in 0.5 ** np.arange(5, 12):
        lo = width * np.floor(x / width)
        if width == 2.0**-11 or density.between(np.array([lo, lo + width]))[0] <= 4 * (told + 1) ** (-1 / 3):
            return lo, lo + width


@pytest.mark.parametrize("baseline", ["low", None])
def test_a_single_loss_counts_for_its_cell(baseline):
    ours, told = (Exp3Set(UNIT, baseline=baseline, rate=2.0, seed=1) for _ in range(2))
    rng = np.random.default_rng(0)
    widths = set()
    for t in range(200):
        a, b = ours.ask(), told.ask()
        assert a.rho == b.rho
        loss = min(1.0, float(abs(a.rho - 0.3) + 0.2 * rng.random()))
        lo, hi = cell_around(told.density(), b.rho, t)
        widths.add(hi - lo)
        ours.tell(a, loss)
        told.tell(b, PiecewiseConstant([lo, hi], [loss]))
        assert ours.last_probability == told.last_probability
    assert ours.density() == told.density()
    assert len(widths) > 1


def test_cells_of_single_losses_are_a_partition_and_become_fine_where_much_is_played():
    learner = Exp3Set(UNIT, seed=0)
    rng = np.random.default_rng(1)
    for _ in range(1000):
        trial = learner.ask()
        learner.tell(trial, min(1.0, 3 * abs(trial.rho - 0.3) + 0.2 * float(rng.random())))
    cells = sorted({cell_of(learner, x) for x in rng.random(3000)})
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(cells))
    assert max(hi - lo for lo, hi in cells) == 1 / 32
    (fine,) = (hi - lo for lo, hi in cells if lo <= learner.recommend().rho < hi)
    assert fine < 1 / 64


@pytest.mark.parametrize("feedback", ["semi-bandit", "bandit", "full"])
@pytest.mark.parametrize("probes", [0, 3])
def test_regret_is_below_a_third_of_uniform_play_with_every_feedback(feedback, probes):
    if feedback == "full" and probes:
        with pytest.raises(ValueError, match="probes must be 0 with full feedback"):
            game(Exp3Set(UNIT, seed=0), functions(3), feedback, probes)
        return
    played = functions(600)
    regrets = [game(Exp3Set(UNIT, seed=seed), played, feedback, probes) for seed in range(3)]
    uniform = 600 * (np.mean([f.mean() for f in played]) - 0.2)
    assert max(regrets) < 0.35 * uniform


@pytest.mark.slow
def test_regret_is_well_below_that_of_the_scalar_baseline():
    streams = [
        sb.streams.knapsack("mixed", 400, n=30, seed=5),
        sb.streams.synthetic(400, seed=5),
        sb.streams.independent_set(200, seed=5),
    ]
    ratios = []
    for stream in streams:
        problems = list(stream)
        space = problems[0].space
        totals = [
            np.mean([sb.play(Exp3Set(space, baseline=b, seed=s), problems).regret()[-1] for s in range(8)])
            for b in ("local", "low")
        ]
        ratios.append(totals[0] / totals[1])
    assert np.exp(np.mean(np.log(ratios))) < 0.95


@pytest.mark.slow
def test_a_concentrated_optimum_is_found():
    learner = Exp3Set(UNIT, seed=0)
    assert sb.play(learner, sb.streams.concentrated(3000, seed=0)).regret()[-1] <= 150


def test_the_number_of_pieces_is_bounded():
    learner = Exp3Set(UNIT, seed=0)
    sizes = []
    for t, f in enumerate(functions(3000)):
        trial = learner.ask()
        learner.tell(trial, f.piece(trial.rho))
        if t >= 1500:
            sizes.append(learner.n_pieces)
    assert max(sizes) <= 512
    assert isinstance(learner._epoch.weights, LocalPieces)
    learner._epoch.weights._check()


# -- probes ---------------------------------------------------------------------------------------


def test_probes_are_drawn_like_the_parameter_and_sets_count_once():
    learner = Exp3Set(UNIT, seed=3)
    f = PiecewiseConstant([0, 0.3, 0.6, 1], [0.2, 0.9, 0.5])
    for _ in range(50):
        density = learner.density()
        trial = learner.ask(probes=3)
        assert len(trial.probes) == 3
        assert trial.looks == ((trial.rho,), *((rho,) for rho in trial.probes))
        looks = [f.piece(rho) for (rho,) in trial.looks]
        learner.tell(trial, looks)
        sets = list(dict.fromkeys(look.domain[0] for look in looks))
        shares = np.array([density.between(np.array(domain))[0] for domain in sets])
        assert learner.last_probabilities == pytest.approx(shares)


def test_missing_looks():
    learner = Exp3Set(UNIT, seed=3)
    trial = learner.ask(probes=2)
    learner.tell(trial, [0.3, None, 0.4])
    assert (learner.n_told, learner.n_failed) == (1, 0)
    learner.tell(learner.ask(probes=2), [None, None, None])
    assert (learner.n_told, learner.n_failed) == (1, 1)
    trial = learner.ask(probes=1)
    before = learner.density()
    learner.tell(trial, PiecewiseConstant([0, 1], [0.5]))  # of the played parameter alone
    assert learner.last_probability == 1.0
    np.testing.assert_allclose(learner.density()(0.5), before(0.5))
    trial = learner.ask(probes=1)
    with pytest.raises(ValueError, match="feedback of each of 2 looks, got 3"):
        learner.tell(trial, [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="probes must be at least 0"):
        learner.ask(probes=-1)


def test_probes_on_rows_and_on_a_grid():
    learner = Exp3Set(ROWS, seed=0)
    trial = learner.ask(probes=2)
    assert all(rho in ROWS.interval and alpha in ROWS.alphas for rho, alpha in trial.probes)
    learner.tell(trial, [0.2, 0.4, 0.6])
    grid = sb.Exp3Grid(UNIT, 4, seed=0)
    trial = grid.ask(probes=5)
    grid.tell(trial, [rho for (rho,) in trial.looks])
    assert len(grid.last_probabilities) == len({rho for (rho,) in trial.looks})


# -- late tells -----------------------------------------------------------------------------------


@pytest.mark.parametrize("space", [UNIT, ROWS, Interval(0, 1, margin=0.2)], ids=repr)
def test_late_tells_use_the_probability_of_the_ask(space):
    learner = Exp3Set(space, seed=0)
    rng = np.random.default_rng(0)
    waiting = []
    for _ in range(200):
        waiting.append((learner.ask(), learner.density()))
        if len(waiting) > 20:
            trial, density = waiting.pop(int(rng.integers(len(waiting))))
            cell = cell_of(learner, learner._line.position(trial.position))
            learner.tell(trial, float(rng.random()))
            share = density.between(np.array(cell))[0]
            assert learner.last_probability == pytest.approx(share, rel=1e-6)
    assert learner.n_late > 100


def test_gaps_of_a_batch_of_late_tells_are_bounded():
    played = functions(600)
    learner = Exp3Set(UNIT, seed=0)
    for start in range(0, 600, 200):
        trials = [learner.ask() for _ in range(200)]
        for trial, f in zip(trials, played[start : start + 200], strict=True):
            before = learner.gap_sum
            learner.tell(trial, f.piece(trial.rho))
            assert learner.gap_sum - before <= 1.5


# -- drift ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("feedback", "drift"),
    [
        ("full", "auto"),
        ("full", 0.002),
        ("semi-bandit", None),
        ("semi-bandit", "auto"),
        ("semi-bandit", 0.002),
    ],
)
def test_jumps_are_followed(feedback, drift):
    """With partial feedback the default finds them without drift, too."""
    played = functions(800, at=0.2) + functions(800, seed=1, at=0.8)
    paid = [
        sb.play(Exp3Set(UNIT, drift=drift, seed=s), map(sb.Explicit, played), feedback).loss.sum()
        for s in range(2)
    ]
    best_fixed = sb.PiecewiseConstant.sum(played).values.min()
    assert np.mean(paid) < 0.65 * best_fixed


@pytest.mark.parametrize("kind", ["part", "single"])
def test_without_an_alarm_drift_makes_no_difference(kind):
    still, moving = (Exp3Set(UNIT, drift=drift, seed=0) for drift in (None, "auto"))
    for f in functions(300):
        for learner in (still, moving):
            trial = learner.ask()
            learner.tell(trial, f.piece(trial.rho) if kind == "part" else f(trial.rho))
    assert moving._drift.readiness == 0.0
    assert moving.density() == still.density()
    assert moving.ask().rho == still.ask().rho


@pytest.mark.slow
def test_drift_costs_little_where_nothing_moves():
    played = functions(800)
    still, moving = (
        np.mean([game(Exp3Set(UNIT, drift=d, seed=s), played) for s in range(4)]) for d in (None, "auto")
    )
    assert moving < 1.2 * still


def test_jumps_of_the_level_of_whole_functions_do_not_affect_drift_detection():
    still, moving = (Exp3Set(UNIT, drift="auto", seed=0) for _ in range(2))
    for t, f in enumerate(functions(600)):
        still.tell(still.ask(), f * 0.5)
        moving.tell(moving.ask(), f * 0.5 + (0.5 if t // 150 % 2 else 0.0))
        assert moving._drift.state[:2] == still._drift.state[:2]  # readiness, and rounds since an alarm


def test_bad_drift():
    for bad in (0, 1, -0.1, float("nan")):
        with pytest.raises(ValueError, match="drift must be in"):
            Exp3Set(UNIT, drift=bad)
    with pytest.raises(ValueError, match="drift needs baseline='local'"):
        Exp3Set(UNIT, drift=0.1, baseline=None)
    with pytest.raises(
        ValueError, match="drift must be 'auto', a number between 0 and 1, or None, got 'often'"
    ):
        Exp3Set(UNIT, drift="often")
    found = Exp3Set(UNIT, drift="auto").certificate()
    assert found.value == math.inf
    assert "drift" in found.reason


# -- certificates ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"baseline": None}, {"baseline": "low"}, {"baseline": None, "exploration": 0.05}]
)
def test_certificates_lie_between_regret_and_uniform_play(options):
    played = functions(1200, at=0.5, width=0.4)
    problems = [sb.Explicit(f) for f in played]
    measured = sb.dispersion.measure(problems)
    regrets, certificates = [], []
    for seed in range(4):
        learner = Exp3Set(UNIT, seed=seed, **options)
        regrets.append(sb.play(learner, problems).regret()[-1])
        certificate = learner.certificate(measured)
        terms = certificate.learning + certificate.clips + certificate.dispersion
        assert certificate.value <= terms * (1 + 1e-12)
        certificates.append(certificate.value)
    assert np.mean(regrets) <= np.mean(certificates)
    if not options:
        return  # the certificate of the default is valid, and may be vacuous
    # What uniform play pays is well above the certificate: it could not be given to who does not learn.
    uniform = sum(f.mean() for f in played) - 1200 * sb.best_in_hindsight(problems).mean_loss
    assert np.mean(certificates) < 0.95 * uniform


def test_a_certificate_refuses_the_dispersion_of_another_space():
    measured = sb.dispersion.measure([PiecewiseConstant([0, 2, 10], [0.1, 0.2])] * 5)
    with pytest.raises(ValueError, match=r"measured on the learner's space, \[0, 1\], got one on \[0, 10\]"):
        Exp3Set(UNIT).certificate(measured)


def test_a_certificate_scales_with_the_losses():
    small, large = Exp3Set(UNIT, seed=0), Exp3Set(UNIT, high=8.0, seed=0)
    for f in functions(50):
        for learner, factor in ((small, 1.0), (large, 8.0)):
            trial = learner.ask()
            learner.tell(trial, f.piece(trial.rho) * factor)
    assert large.certificate().value == pytest.approx(8.0 * small.certificate().value)


def test_a_grid_is_certified_against_its_best_arm_and_refuses_logs():
    grid = sb.Exp3Grid(Interval(0, 10), 4, rate=0.5, baseline=None, seed=0)
    grid.tell(grid.ask(), 1.0)
    certificate = grid.certificate()
    assert certificate.learning == pytest.approx(np.log(4) / 0.5 + grid.gap_sum)
    assert certificate.value == 1.0  # no more than was paid
    with pytest.raises(ValueError, match="cannot learn from whole functions"):
        grid.learn_from([PiecewiseConstant([0, 10], [0.5])])


def test_priors_and_logs_raise_the_certificate():
    even = Exp3Set(UNIT, rate=0.5, seed=0)
    biased = Exp3Set(UNIT, rate=0.5, prior=PiecewiseConstant([0, 0.5, 1], [0.0, 2.0]), seed=0)
    logged = Exp3Set(UNIT, rate=0.5, seed=0)
    logged.learn_from([PiecewiseConstant([0, 0.5, 1], [0.9, 0.1])] * 10, weight=0.5)
    cost = even.certificate().learning
    assert biased.certificate().learning == pytest.approx(cost + np.log(100) / 0.5)  # a hundredth is even
    assert logged.certificate().learning == pytest.approx(cost + 0.5 * 10 * 0.8)
    for learner in (biased, logged):
        assert storage.loads(storage.dumps(learner)).certificate() == learner.certificate()


# -- priors and warm starts -----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("baseline", ["local", "low", None])
def test_a_prior_and_a_warm_start_save_rounds(baseline):
    logged, played = functions(200, seed=1), functions(300, seed=2)
    old = Exp3Set(UNIT, baseline=baseline, seed=0)
    game(old, logged)
    cold = np.mean([game(Exp3Set(UNIT, baseline=baseline, seed=s), played) for s in range(4)])
    prior = np.mean(
        [game(Exp3Set(UNIT, baseline=baseline, prior=old.density(), seed=s), played) for s in range(4)]
    )
    warm = []
    for seed in range(4):
        learner = Exp3Set(UNIT, baseline=baseline, seed=seed)
        learner.learn_from(logged, weight=0.5)
        warm.append(game(learner, played))
    assert np.mean(warm) < cold
    if baseline == "local":  # elsewhere a falling rate wears a prior off
        assert prior < cold


def test_bad_priors_and_logs():
    for prior, error in (
        (PiecewiseConstant([0, 0.5], [2.0]), ValueError),
        (PiecewiseConstant([0, 0.5, 1], [2.0, np.nan]), ValueError),
        (PiecewiseConstant([0, 0.5, 1], [2.0, -1.0]), ValueError),
        ([1.0], TypeError),
    ):
        with pytest.raises(error, match="prior must be a density"):
            Exp3Set(UNIT, prior=prior)
    learner = Exp3Set(UNIT, seed=0)
    with pytest.raises(ValueError, match="at least one function"):
        learner.learn_from([])
    with pytest.raises(ValueError, match=r"functions\[0\] must be seen on the whole space"):
        learner.learn_from([PiecewiseConstant([0, 0.5], [0.1])])
    with pytest.raises(ValueError, match=r"functions\[1\] must have values in \[0, 1\], got 2 to 2"):
        Exp3Set(UNIT, high=1.0).learn_from(
            [PiecewiseConstant([0, 1], [0.1]), PiecewiseConstant([0, 1], [2.0])]
        )
    with pytest.raises(ValueError, match="weight must be finite and > 0"):
        learner.learn_from(functions(2), weight=0)
    assert learner.density() == Exp3Set(UNIT).density()
    learner.ask()
    with pytest.raises(ValueError, match="before the first round, got 1 asked"):
        learner.learn_from(functions(2))


# -- saving ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{}, {"drift": "auto"}, {"drift": 0.01}, {"prior": PiecewiseConstant([0, 0.5, 1], [0.5, 1.5])}],
    ids=str,
)
@pytest.mark.parametrize("kind", ["part", "single", "whole"])
def test_saved_learners_have_the_same_future(tmp_path, options, kind):
    learner = Exp3Set(UNIT, seed=4, **options)

    def step(learner, trial, f):
        whole = {"part": f.piece(trial.rho), "single": f(trial.rho), "whole": f}[kind]
        learner.tell(trial, [whole, *(f.piece(rho) for rho in trial.probes)])

    played = functions(60, seed=3)
    for f in played[:30]:
        step(learner, learner.ask(probes=1), f)
    pending = learner.ask(probes=2)
    learner.save(tmp_path / "learner")
    again = sb.load(tmp_path / "learner")
    assert again.pending == (pending,)
    for copied in (learner, again):
        step(copied, pending, played[30])
    for f in played[31:]:
        a, b = learner.ask(), again.ask()
        assert a == b
        step(learner, a, f)
        step(again, b, f)
    assert learner.density() == again.density()
    assert repr(learner) == repr(again)


def test_a_recorded_game_is_replayed_to_the_bit():
    learner, again = (Exp3Set(UNIT, seed=5) for _ in range(2))
    for f in functions(80):
        trial = learner.ask(probes=1)
        looks = [f.piece(rho) for (rho,) in trial.looks]
        learner.tell(trial, looks)
        other = again.ask(position=trial.positions)
        again.tell(other, looks, probability=learner.last_probabilities)
    assert again.density() == learner.density()
    assert again.ask().rho == learner.ask().rho
    with pytest.raises(ValueError, match="probability must have 1 entries, got 2"):
        again.tell(again.ask(), 0.5, probability=[0.5, 0.5])
