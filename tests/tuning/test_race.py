"""A race, without processes: what it asks for, what it makes of losses, and that order does not matter."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semibandit as sb
from semibandit.tuning.race import Race, Run, effects, smoothed

SPACE = sb.Interval(0, 1)


def play(race, loss, rng=None):
    """Run the race, each block in a random order; the blocks."""
    blocks = []
    while block := race.ask():
        blocks.append(block)
        for i in rng.permutation(len(block)) if rng is not None else range(len(block)):
            race.tell(block[i], loss(*block[i]))
    return blocks


def noisy(seed, best=0.3, noise=0.1):
    def loss(rho, instance):
        rng = np.random.default_rng([seed, instance, round(rho * 1e6)])
        hard = np.random.default_rng([seed, instance]).uniform(0, 5)
        return hard + abs(rho - best) + noise * rng.standard_normal()

    return loss


# -- the estimate -------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(1, 6))
def test_effects_are_the_least_squares_fit(seed, n, m):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n, m)) * 10.0 ** rng.integers(-3, 4)
    table[rng.random((n, m)) < 0.3] = np.nan
    table[:, 0] = rng.normal(size=n)  # connects all rows, so that the fit is unique
    rows, columns = np.nonzero(~np.isnan(table))
    design = np.zeros((len(rows), n + m))
    design[np.arange(len(rows)), rows] = 1.0
    design[np.arange(len(rows)), n + columns] = 1.0
    fit = np.linalg.lstsq(design, table[rows, columns], rcond=None)[0]
    expected = np.where(np.isin(np.arange(m), columns), fit[:n].mean() + fit[n:], np.inf)
    np.testing.assert_allclose(effects(table), expected, rtol=1e-6, atol=1e-8 * np.nanmax(np.abs(table)))


@pytest.mark.parametrize("seed", range(10))
def test_smoothing_is_a_walk_fitted_with_the_rows(seed):
    rng = np.random.default_rng(seed)
    n, m = 12, 6
    values = np.sort(rng.random(m))
    table = rng.normal(size=(n, 1)) + np.sin(5 * values) + 0.3 * rng.normal(size=(n, m))
    table[rng.random((n, m)) < 0.3] = np.nan
    rows, columns = np.nonzero(~np.isnan(table))
    design = np.zeros((len(rows), n + m))
    design[np.arange(len(rows)), rows] = design[np.arange(len(rows)), n + columns] = 1.0
    fit = np.linalg.lstsq(design, table[rows, columns], rcond=None)[0]
    noise = np.sum((design @ fit - table[rows, columns]) ** 2) / (len(rows) - n - m + 1)
    rough = np.sum(np.diff(fit[n:]) ** 2) / (values[-1] - values[0])
    walk = np.zeros((m - 1, n + m))
    walk[:, n:] = np.diff(np.eye(m), axis=0) * np.sqrt(noise / (rough * np.diff(values)))[:, None]
    known = np.concatenate([table[rows, columns], np.zeros(m - 1)])
    fit = np.linalg.lstsq(np.vstack([design, walk]), known, rcond=None)[0]
    np.testing.assert_allclose(smoothed(values, table), fit[:n].mean() + fit[n:], rtol=1e-8)


def test_effects_of_whole_and_of_empty_tables():
    table = np.random.default_rng(0).normal(size=(7, 4))
    np.testing.assert_allclose(effects(table), table.mean(axis=0))
    assert effects(np.full((3, 2), np.nan)).tolist() == [math.inf, math.inf]
    assert effects(np.array([[1.0, np.nan], [3.0, np.nan]])).tolist() == [2.0, math.inf]
    for one in (np.full((3, 1), np.nan), np.zeros((3, 1)), np.zeros((3, 4))):  # nothing to smooth
        assert smoothed(np.arange(one.shape[1]), one).tolist() == effects(one).tolist()


# -- the race -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "runs"), [(400, 400), (40, 400), (7, 400), (100, 60), (3, 5), (1, 1), (1, 300)]
)
@pytest.mark.parametrize("default", [None, 0.77])
def test_what_is_run(n, runs, default):
    race = Race(SPACE, n, runs, default=default, seed=3)
    blocks = play(race, noisy(0))
    made = [run for block in blocks for run in block]
    assert len(made) == len(set(made)) == race.n_runs <= runs
    assert all(0 <= run.instance < n and 0 <= run.rho <= 1 for run in made)
    if n >= runs >= 50:
        assert len(made) > runs - 10, "nearly all runs are spent"
        for block in blocks:  # whole rows: the values of a block meet the same instances
            assert len({frozenset(r.rho for r in block if r.instance == i) for _, i in block}) == 1
    if default is not None and runs >= 60:
        assert Counter(run.rho for run in made).most_common(1)[0][1] == sum(r.rho == default for r in made)


def test_it_finds_the_best_value_and_says_how_others_stand():
    race = Race(SPACE, 200, 400, default=0.9)
    play(race, noisy(1, noise=0.02))
    best = race.recommend()
    assert best.rho == pytest.approx(0.3, abs=0.06)
    assert best.interval[0] <= best.rho <= best.interval[1]
    rows = race.standings()
    assert [row.mean for row in rows] == sorted(row.mean for row in rows)
    by_value = {row.rho: row for row in rows}
    leader, default = by_value[best.rho], by_value[0.9]
    assert math.isnan(leader.error)
    assert default.mean - leader.mean == pytest.approx(0.9 - best.rho - abs(best.rho - 0.3), abs=0.03)
    assert 0 < default.error < 0.02
    assert default.racing
    assert not by_value[1.0].racing
    assert sum(row.runs for row in rows) == race.n_told


@pytest.mark.parametrize("seed", range(5))
def test_the_order_in_which_runs_come_in_does_not_matter(seed):
    whole = Race(SPACE, 60, 200, seed=seed)
    blocks = play(whole, noisy(seed))
    other = Race(SPACE, 60, 200, seed=seed)
    assert play(other, noisy(seed), np.random.default_rng(seed)) == blocks
    assert other.recommend() == whole.recommend()
    assert repr(other.standings()) == repr(whole.standings())
    assert play(Race(SPACE, 60, 200, seed=seed + 100), noisy(seed)) != blocks


def test_maximize_is_the_same_race_with_another_sign():
    down, up = Race(SPACE, 60, 200), Race(SPACE, 60, 200, maximize=True)
    play(down, noisy(0))
    play(up, lambda *run: -noisy(0)(*run))
    assert down.recommend() == up.recommend()
    assert [row.mean for row in up.standings()] == [-row.mean for row in down.standings()]


@pytest.mark.parametrize("maximize", [False, True])
def test_a_mean_of_zero_is_zero(maximize):
    """And neither what rounding leaves of it, nor -0, which would be printed."""
    race = Race(SPACE, 40, 200, default=0.0, maximize=maximize, seed=0)
    sign = -1 if maximize else 1
    play(race, lambda rho, instance: sign * rho * (1 + instance / 7))
    best = race.standings()[0]
    assert (best.rho, f"{best.mean:.6g}") == (0.0, "0")


def test_integers():
    race = Race(sb.Interval(1.5 + 1e-9, 32.5 - 1e-9), 100, 300, integer=True, default=6)
    made = [run for block in play(race, lambda rho, instance: abs(rho - 4) + instance) for run in block]
    assert {run.rho for run in made} <= set(range(2, 33))
    assert race.recommend().rho == 4.0


def test_failed_runs_are_missing_and_values_that_always_fail_drop_out():
    def loss(rho, instance):
        return None if rho > 0.6 or instance % 3 == 0 else noisy(2, best=0.8)(rho, instance)

    race = Race(SPACE, 90, 300)
    blocks = play(race, loss)
    assert 0.4 < race.recommend().rho <= 0.6
    assert {run.rho for run in blocks[-1] if run.rho > 0.75} == set()
    nothing = Race(SPACE, 90, 300)
    play(nothing, lambda *run: None)
    assert nothing.recommend().interval == (0.0, 1.0)
    assert nothing.standings() == []


def test_with_more_instances_and_runs_it_goes_on():
    race = Race(SPACE, 30, 100, seed=1)
    first = [run for block in play(race, noisy(3)) for run in block]
    assert race.ask() == []
    race.extend(60, 200)
    more = [run for block in play(race, noisy(3)) for run in block]
    assert set(more).isdisjoint(first)
    assert 150 < len(first) + len(more) <= 200
    assert max(run.instance for run in more) >= 30
    race.extend(60, 200)
    assert race.ask() == []
    with pytest.raises(ValueError, match="runs must be at least 200"):
        race.extend(60, 100)


def test_bad_input():
    race = Race(SPACE, 30, 100)
    run = race.ask()[0]
    with pytest.raises(ValueError, match="must be one that was asked for"):
        race.tell(Run(0.123, 0), 0.5)
    with pytest.raises(ValueError, match="loss must be finite"):
        race.tell(run, math.nan)
    race.tell(run, 0.5)
    with pytest.raises(ValueError, match="not told yet"):
        race.tell(run, 0.5)
    for options, message in (
        ({"n_instances": 0}, "n_instances must be at least 1"),
        ({"runs": 0}, "runs must be at least 1"),
        ({"default": 2.0}, r"default must be in \[0, 1\]"),
    ):
        with pytest.raises(ValueError, match=message):
            Race(**{"space": SPACE, "n_instances": 5, "runs": 5, **options})
