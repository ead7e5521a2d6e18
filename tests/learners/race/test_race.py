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


KNOBS = sb.Knobs(
    x=sb.Real(1e-3, 1, log=True),
    y=sb.Real(0, 1, step=0.05),
    n=sb.Integer(1, 9),
    mode=sb.Choice("a", "b", "c"),
)
DEFAULT = {"x": 0.5, "y": 0.9, "n": 2, "mode": "a"}


def play_knobs(race, loss, rng=None):
    """Make all runs of a race of knobs, each stage in a random order."""
    while race.upcoming:
        trials = []
        while race.upcoming:
            trials.append(race.ask())
        for i in range(len(trials)) if rng is None else rng.permutation(len(trials)):
            race.tell(trials[i], loss(trials[i].values, int(trials[i].instance)))
    return race


def bowl(values, instance, noise=0.1):
    rng = np.random.default_rng([instance, round(values["x"] * 1e4), round(values["y"] * 100), values["n"]])
    hard = np.random.default_rng(instance).uniform(0, 5)
    away = abs(math.log10(values["x"]) + 1) + abs(values["y"] - 0.2) + abs(values["n"] - 6) / 4
    return hard + away + 0.5 * (values["mode"] != "b") + noise * rng.standard_normal()


@pytest.mark.parametrize("seed", range(3))
def test_knobs_are_raced_and_the_best_is_near_the_optimum(seed):
    race = play_knobs(start(100, 400, KNOBS, default=DEFAULT, seed=seed), bowl)
    best = race.recommend()
    assert best.values["mode"] == "b"
    assert best.values["n"] in (5, 6, 7)
    assert bowl(best.values, 0, 0) - bowl({"x": 0.1, "y": 0.2, "n": 6, "mode": "b"}, 0, 0) < 0.7
    tried = [row.values for row in race.standings()]
    assert all(KNOBS.check(**values) == values for values in tried)
    assert race.n_runs <= 400
    assert race.density().mean() > 0
    assert sum(row.default for row in race.standings()) == sum(row.best for row in race.standings()) == 1
    pairs = race.pairs()
    assert pairs.values == best.values
    assert 50 <= pairs.n_checked <= 55
    other = Race.loads(race.dumps())
    assert repr(other.standings()) == repr(race.standings())


def test_the_order_of_the_runs_of_a_stage_does_not_change_a_race_of_knobs():
    races = [
        play_knobs(start(40, 200, KNOBS, default=DEFAULT, seed=1), bowl, rng)
        for rng in (None, np.random.default_rng(0))
    ]
    assert repr(races[0].standings()) == repr(races[1].standings())


def test_configurations_do_not_differ_in_knobs_without_effect_alone():
    knobs = sb.Knobs(q=sb.When(sb.Integer(1, 9), mode="good"), mode=sb.Choice("fast", "good"))
    race = start(60, 200, knobs, default={"q": 5, "mode": "fast"})
    play_knobs(race, lambda values, i: i % 7 + abs(values["q"] - 4) - 3 * (values["mode"] == "good"))
    assert race.recommend().values == {"q": 4, "mode": "good"}
    assert [row.values for row in race.standings() if row.default] == [{"q": 1, "mode": "fast"}]
    assert race.n_values <= 10


def test_the_model_has_a_part_of_many_configurations(monkeypatch):
    monkeypatch.setattr("semibandit.learners.race.stages._MODELLED", 30)
    knobs = sb.Knobs(x=sb.Real(0, 1), n=sb.Integer(1, 20), mode=sb.Choice("a", "b"))
    race = start(1, 120, knobs)
    play_knobs(race, lambda v, i: abs(v["x"] - 0.3) + abs(v["n"] - 7) / 10 + (v["mode"] == "b"))
    best = race.recommend().values
    assert race.n_values == 120
    assert (best["n"], best["mode"]) == (7, "a")
    assert best["x"] == pytest.approx(0.3, abs=0.05)


def test_a_race_of_choices_alone_tries_each_of_them():
    knobs = sb.Knobs(a=sb.Choice(1, 2, 3), b=sb.Choice("x", "y"))
    race = start(60, 200, knobs, default={"a": 1, "b": "x"})
    play_knobs(race, lambda values, i: i % 7 + values["a"] + (values["b"] == "x") + 0.1 * (i % 3))
    assert race.recommend().values == {"a": 1, "b": "y"}
    assert race.n_values == 6


def test_a_race_with_few_runs_does_not_search_on_a_single_instance():
    """Half of the instances are the same for all values; the first one is, too, in half of the seeds."""
    found = []
    for seed in range(6):
        race = start(50, 60, seed=seed)
        play(race, lambda rho, instance: abs(rho - 0.3) if instance % 2 else 1.0)
        found.append(race.recommend().rho)
    assert found == pytest.approx([0.3] * 6, abs=0.05)


def test_the_check_is_on_instances_that_no_decision_has_used():
    race = start(100, 300, default=0.9, seed=4)
    stages = play(race, noisy(0))
    *before, last = stages
    checked = {i for _, i in last}
    assert checked.isdisjoint(i for stage in before for _, i in stage)
    assert {rho for rho, _ in last} == {0.9, race.recommend().rho}
    pairs = race.pairs()
    assert pairs.n_checked == len(checked) == len(last) // 2
    losses = [(noisy(0)(pairs.values["rho"], i), noisy(0)(0.9, i)) for i in checked]
    assert sorted(pairs.losses[-pairs.n_checked :]) == sorted(losses)


def test_equal_losses_keep_the_default():
    race = start(50, 200, default=0.4)
    play(race, lambda rho, instance: instance % 5)
    assert race.is_default_best
    assert race.recommend().rho == 0.4


def test_table_is_sorted_by_the_adjusted_means():
    race = start(100, 300, default=0.9, seed=2)
    play(race, noisy(3))
    rows = race.standings()
    assert [row.mean for row in rows] == sorted(row.mean for row in rows)
    best = next(row for row in rows if row.best)
    assert all(row.mean == pytest.approx(best.mean + row.difference) for row in rows)


def test_it_finds_the_best_value_and_compares_the_others_with_it():
    race = start(200, 400, default=0.9)
    loss = noisy(1, noise=0.02)
    play(race, loss)
    best = race.recommend()
    assert best.rho == pytest.approx(0.3, abs=0.06)
    assert best.interval[0] <= best.rho <= best.interval[1]
    leader, *others = race.standings()
    assert (leader.values, leader.difference, leader.best) == ({"rho": best.rho}, 0.0, True)
    assert [row.difference for row in others] == sorted(row.difference for row in others)
    default = next(row for row in others if row.default)
    assert default.difference == pytest.approx(0.9 - best.rho - abs(best.rho - 0.3), abs=0.03)
    assert 0 < default.error < 0.02
    assert default.racing
    assert not next(row for row in others if row.values == {"rho": 1.0}).racing
    assert sum(row.runs for row in race.standings()) == race.n_told
    assert race.density().mean() == pytest.approx(1.0)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 120))
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
    race = start(10, 100)
    play(race, lambda *run: None if run[1] == 3 else noisy(0)(*run))
    failed, n = race.failed, race.n_runs
    assert {instance for _, instance in failed} == {3}
    race.extend((), 100, retry_failed=True)
    assert race.n_runs == n - len(failed)
    again = [run for stage in play(race, noisy(0)) for run in stage]
    assert [instance for _, instance in again[: len(failed)]] == [3] * len(failed)
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
