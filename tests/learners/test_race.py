"""A race without processes: its runs and decisions, whatever the order of the tells."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semibandit as sb
from semibandit.learners.race import Race

SPACE = sb.Interval(0, 1)


def names(n, start=0):
    return [str(i) for i in range(start, start + n)]


def start(n, runs, space=SPACE, **options):
    race = Race(space, **options)
    race.extend(names(n), runs)
    return race


def play(race, loss, rng=None):
    """Make all runs, each stage in a random order; the stages as lists of (value, instance)."""
    stages = []
    while race.upcoming:
        trials = []
        while race.upcoming:
            trials.append(race.ask())
        stages.append([(trial.rho, int(trial.instance)) for trial in trials])
        for i in rng.permutation(len(trials)) if rng is not None else range(len(trials)):
            race.tell(trials[i], loss(*stages[-1][i]))
    return stages


def noisy(seed, best=0.3, noise=0.1):
    def loss(rho, instance):
        rng = np.random.default_rng([seed, instance, round(rho * 1e6)])
        hard = np.random.default_rng([seed, instance]).uniform(0, 5)
        return hard + abs(rho - best) + noise * rng.standard_normal()

    return loss


@pytest.mark.parametrize(
    ("n", "runs"), [(400, 400), (40, 400), (7, 400), (100, 60), (3, 5), (1, 1), (1, 300)]
)
@pytest.mark.parametrize("default", [None, 0.77])
def test_runs_are_distinct_and_within_the_budget(n, runs, default):
    race = start(n, runs, default=default, seed=3)
    stages = play(race, noisy(0))
    made = [run for stage in stages for run in stage]
    assert len(made) == len(set(made)) == race.n_runs <= runs
    assert all(0 <= instance < n and 0 <= rho <= 1 for rho, instance in made)
    if n >= runs >= 50:
        assert len(made) > runs - 10, "nearly all runs are spent"
        for stage in stages:  # the values of a stage meet the same instances
            assert len({frozenset(rho for rho, j in stage if j == i) for _, i in stage}) == 1
    if default is not None and runs >= 60:
        counts = Counter(rho for rho, _ in made)
        assert counts[default] == max(counts.values()), "the default stays to the end"


def test_the_worse_half_by_paired_differences_drops_out():
    """Against an obvious version: the first stage has all values on the same instances."""
    race = start(30, 200, seed=1)
    loss = noisy(4)
    first, second, *_ = play(race, loss)
    values, instances = sorted({rho for rho, _ in first}), {i for _, i in first}
    mean = {rho: np.mean([loss(rho, i) for i in instances]) for rho in values}
    ranked = sorted(values, key=mean.get)
    at = values.index(ranked[0])
    beside = {(ranked[0] + values[i]) / 2 for i in (at - 1, at + 1) if 0 <= i < len(values)}
    assert {rho for rho, _ in second} == {*ranked[:5], *beside}


def test_it_finds_the_best_value_and_compares_the_others_with_it():
    race = start(200, 400, default=0.9)
    loss = noisy(1, noise=0.02)
    play(race, loss)
    best = race.recommend()
    assert best.rho == pytest.approx(0.3, abs=0.06)
    assert best.interval[0] <= best.rho <= best.interval[1]
    leader, *others = race.standings()
    assert (leader.rho, leader.difference) == (best.rho, 0.0)
    assert [row.difference for row in others] == sorted(row.difference for row in others)
    default = next(row for row in others if row.rho == 0.9)
    assert default.difference == pytest.approx(0.9 - best.rho - abs(best.rho - 0.3), abs=0.03)
    assert 0 < default.error < 0.02
    assert default.racing
    assert not next(row for row in others if row.rho == 1.0).racing
    assert sum(row.runs for row in race.standings()) == race.n_told
    assert race.density().mean() == pytest.approx(1.0)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 150))
def test_order_forgetting_and_saving_do_not_change_a_race(seed, n, runs):
    """Also with failures: only the losses decide."""
    loss = noisy(seed)

    def flaky(rho, instance):
        return None if (instance * 7919 + round(rho * 1e4)) % 5 == 0 else loss(rho, instance)

    whole = start(n, runs, seed=seed)
    stages = play(whole, flaky)
    rng = np.random.default_rng(seed)
    other = start(n, runs, seed=seed)
    made, held = [], []
    while other.upcoming or held:
        step = rng.random()
        if other.upcoming and step < 0.5:
            held.append(other.ask())
            continue
        if step > 0.95:
            other = Race.loads(other.dumps())
        if held:
            trial = held.pop(rng.integers(len(held)))
            if step < 0.6:
                other.forget(trial)
            else:
                made.append((trial.rho, int(trial.instance)))
                other.tell(trial, flaky(*made[-1]))
    assert sorted(made) == sorted(run for stage in stages for run in stage)
    assert other.recommend() == whole.recommend()
    assert repr(other.standings()) == repr(whole.standings())


def test_maximize_is_the_same_race_with_the_other_sign():
    down, up = start(60, 200), start(60, 200, maximize=True)
    play(down, noisy(0))
    play(up, lambda *run: -noisy(0)(*run))
    assert down.recommend() == up.recommend()
    assert [row.difference for row in up.standings()] == [-row.difference for row in down.standings()]
    assert up.recommend().evidence.mean == -down.recommend().evidence.mean


def test_an_integer_race_runs_integers_only():
    race = start(100, 300, sb.Interval(1.5 + 1e-9, 32.5 - 1e-9), integer=True, default=6)
    made = [run for stage in play(race, lambda rho, instance: abs(rho - 4) + instance) for run in stage]
    assert {rho for rho, _ in made} <= set(range(2, 33))
    assert race.recommend().rho == 4.0


def test_values_that_always_fail_drop_out():
    def loss(rho, instance):
        return None if rho > 0.6 or instance % 3 == 0 else noisy(2, best=0.8)(rho, instance)

    race = start(90, 300)
    stages = play(race, loss)
    assert 0.4 < race.recommend().rho <= 0.6
    assert {rho for rho, _ in stages[-1] if rho > 0.75} == set()
    nothing = start(90, 300)
    play(nothing, lambda *run: None)
    assert nothing.recommend().interval == (0.0, 1.0)
    assert nothing.standings() == []


def test_more_instances_and_runs_continue_a_race():
    race = start(30, 100, seed=1)
    first = [run for stage in play(race, noisy(3)) for run in stage]
    race.extend(names(30, 30), 200)
    more = [run for stage in play(race, noisy(3)) for run in stage]
    assert set(more).isdisjoint(first)
    assert 150 < len(first) + len(more) <= 200
    assert max(instance for _, instance in more) >= 30
    race.extend((), 200)
    assert race.upcoming is None
    with pytest.raises(ValueError, match="runs must be at least 200"):
        race.extend((), 100)


def test_failed_runs_are_made_again():
    race = start(10, 60)
    play(race, lambda rho, instance: None if instance == 3 else rho)
    failed, n = race.failed, race.n_runs
    assert failed
    assert {instance for _, instance in failed} == {3}
    race.extend((), 60, retry_failed=True)
    assert race.n_runs == n - len(failed)
    again = [run for stage in play(race, lambda rho, instance: rho) for run in stage]
    assert again[: len(failed)] == failed
    assert race.failed == []


def test_bad_input_changes_nothing():
    race = start(30, 100)
    trial, before = race.ask(), race.dumps()
    for act, message in (
        (lambda: race.tell(trial, math.nan), "loss must be finite"),
        (lambda: race.tell(start(3, 9).ask(), 0.5), "must be a pending trial of this race"),
        (lambda: race.ask(probes=1), "probes must be 0"),
        (lambda: race.ask(position=0.123), "position must be"),
        (lambda: race.extend(["0"], 100), "must be new to the race"),
        (lambda: Race(SPACE).extend([], 5), "instances must not be empty"),
        (lambda: Race(SPACE).extend(["a"], 0), "runs must be at least 1"),
        (lambda: Race(SPACE).ask(), "no run is due"),
        (lambda: Race(SPACE, default=2.0), r"default must be in \[0, 1\]"),
        (lambda: Race.loads(b"nonsense", "file"), "file: not a saved race"),
    ):
        with pytest.raises(ValueError, match=message):
            act()
        assert race.dumps() == before
    race.tell(trial, 0.5)
    with pytest.raises(ValueError, match="must be a pending trial"):
        race.tell(trial, 0.5)
