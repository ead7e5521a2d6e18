"""Exp3 on a grid: its cells, its default size, and what it accepts."""

import functools
import math

import numpy as np
import pytest
import scipy.stats

import semibandit as sb
from semibandit import Exp3Grid, Interval, PiecewiseConstant

# Here the weights are an interval tree, with a scalar baseline or none.
Exp3Set = functools.partial(sb.Exp3Set, baseline="low")

NAN = math.nan
UNIT = Interval(0, 1)


def test_arms_are_the_middles_of_cells():
    grid = Exp3Grid(Interval(-1, 3), 4, seed=0)
    seen = {grid.ask().rho for _ in range(100)}
    assert seen == {-0.5, 0.5, 1.5, 2.5}


@pytest.mark.parametrize("base", [2, 3, 10, 37, 100, 215, 1000])
def test_the_default_number_of_arms_is_the_cube_root_of_the_horizon(base):
    assert Exp3Grid(UNIT, horizon=base**3).n_arms == base
    assert Exp3Grid(UNIT, horizon=base**3 + 1).n_arms == base + 1
    assert Exp3Grid(UNIT, horizon=base**3, n_arms=5).n_arms == 5


def test_a_grid_is_exp3_set_with_one_cell_told():
    """With all options: the same uniforms, the same rates, the same choices."""
    n, rng = 10, np.random.default_rng(0)
    cells = np.arange(n + 1) / n
    for options in ({}, {"baseline": None}, {"horizon": 500}, {"rate": 0.2, "exploration": 0.1}):
        grid, learner = Exp3Grid(UNIT, n, seed=1, **options), Exp3Set(UNIT, seed=1, **options)
        # The first cut of Exp3Set into cells, which the grid starts with.
        learner._epoch.weights.update(cells[:-1], cells[1:], np.zeros(n))
        for _ in range(300):
            a, b = grid.ask(), learner.ask()
            i = int(np.searchsorted(cells, b.rho, side="right")) - 1
            assert a.rho == pytest.approx((i + 0.5) / n)
            loss = rng.random() * (0.2 if i == 3 else 1.0)
            grid.tell(a, loss)
            learner.tell(b, PiecewiseConstant.constant(cells[i], cells[i + 1], loss))
            assert grid.current_rate == learner.current_rate
        assert grid.recommend().interval == pytest.approx(learner.recommend().interval)
        assert grid.recommend().rho == pytest.approx(sum(grid.recommend().interval) / 2)


def test_density_and_draws():
    grid = Exp3Grid(Interval(2, 4), 8, seed=3)
    rng = np.random.default_rng(0)
    for _ in range(100):
        trial = grid.ask()
        grid.tell(trial, rng.random())
    density = grid.density()
    assert density.edges.tolist() == np.linspace(2, 4, 9).tolist()
    assert density.integral() == pytest.approx(1.0, rel=1e-12)
    expected = density.values * density.widths
    counts = np.zeros(8)
    for _ in range(20_000):
        trial = grid.ask()
        counts[int((trial.rho - 2) * 4)] += 1
        grid.forget(trial)
    assert scipy.stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue > 0.01
    best = grid.recommend()
    assert best.interval[0] < best.rho < best.interval[1]
    assert density(best.rho) == density.values.max()


def test_high_and_maximize():
    rng = np.random.default_rng(0)
    plain = Exp3Grid(UNIT, 5, seed=1)
    scaled = Exp3Grid(UNIT, 5, seed=1, high=8.0, maximize=True)
    for _ in range(200):
        a, b = plain.ask(), scaled.ask()
        assert a.rho == b.rho
        loss = float(rng.integers(0, 65)) / 64
        plain.tell(a, loss)
        scaled.tell(b, 8.0 * (1.0 - loss))
    assert plain.density() == scaled.density()


def test_a_function_is_read_at_the_arm():
    a, b = Exp3Grid(UNIT, 5, seed=1), Exp3Grid(UNIT, 5, seed=1)
    f = PiecewiseConstant([0, 0.4, 1], [0.25, 0.75])
    for _ in range(20):
        trial = a.ask()
        a.tell(trial, f)
        b.tell(b.ask(), f(trial.rho))
    assert a.density() == b.density()


def test_one_arm_never_changes():
    grid = Exp3Grid(UNIT, 1, seed=0)
    for loss in (0, 1, 0.5):
        trial = grid.ask()
        assert trial.rho == 0.5
        grid.tell(trial, loss)
    assert grid.density() == PiecewiseConstant([0, 1], [1])


def test_many_arms():
    n = 1_000_000
    grid = Exp3Grid(UNIT, n, rate=1e-3, baseline=None, seed=0)
    for _ in range(50):
        trial = grid.ask()
        assert (trial.rho * n) % 1 == pytest.approx(0.5, abs=1e-6)
        grid.tell(trial, 0.5)
    grid._epoch.weights._check()
    assert grid.n_pieces == n


@pytest.mark.parametrize(
    ("seen", "error", "message"),
    [
        (1.5, ValueError, r"the loss told must be in \[0, 1\], got 1.5"),
        (-0.1, ValueError, r"the loss told must be in \[0, 1\]"),
        (NAN, ValueError, r"the loss told must be in \[0, 1\]"),
        (math.inf, ValueError, r"the loss told must be in \[0, 1\]"),
        ("0.5", TypeError, "the loss told must be a number"),
        ([0.5, 0.5], ValueError, "seen must hold the feedback of each of 1 looks, got 2"),
        ([[0.5]], TypeError, "the loss told must be a number"),
        ({}, TypeError, "the loss told must be a number"),
        (PiecewiseConstant([0, 1], [NAN]), ValueError, r"the loss told must be in \[0, 1\], got nan"),
        (PiecewiseConstant([0, 1], [2]), ValueError, r"the loss told must be in \[0, 1\]"),
        (PiecewiseConstant([2, 3], [0.5]), ValueError, r"x must be in \[2.0, 3.0\]"),
    ],
)
def test_bad_losses_change_nothing(tmp_path, seen, error, message):
    grid = Exp3Grid(UNIT, 5, seed=1)
    grid.tell(grid.ask(), 0.5)
    trial = grid.ask()
    grid.save(tmp_path / "before")
    with pytest.raises(error, match=message):
        grid.tell(trial, seen)
    grid.save(tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()
    grid.tell(trial, 0.5)


@pytest.mark.parametrize(
    ("n_arms", "options", "error", "message"),
    [
        (None, {}, ValueError, "n_arms"),
        (0, {}, ValueError, "n_arms must be at least 1"),
        (-3, {}, ValueError, "n_arms must be at least 1"),
        (2.5, {}, TypeError, "n_arms must be an integer"),
        (NAN, {}, TypeError, "n_arms must be an integer"),
        (math.inf, {}, TypeError, "n_arms must be an integer"),
        ("5", {}, TypeError, "n_arms must be an integer"),
        (True, {}, TypeError, "n_arms must be an integer"),
        (None, {"horizon": NAN}, TypeError, "horizon must be an integer"),
        (None, {"horizon": 0}, ValueError, "horizon must be at least 1"),
        (5, {"max_pieces": 3}, TypeError, "max_pieces"),
    ],
)
def test_bad_grids_are_refused(n_arms, options, error, message):
    with pytest.raises(error, match=message):
        Exp3Grid(UNIT, n_arms, **options)


@pytest.mark.parametrize("space", [(0, 1), None, 1.0])
def test_the_space_must_be_a_space(space):
    with pytest.raises(TypeError, match="space must be"):
        Exp3Grid(space, 5)
