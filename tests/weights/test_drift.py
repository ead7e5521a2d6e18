"""What is believed of movement: Page's test where a part is seen, two memories where all of it is."""

import math

import numpy as np
import pytest

from semibandit.spaces import Interval
from semibandit.weights import Drift, LocalPieces, dyadic_cells, n_nodes, restore
from semibandit.weights.drift import PageTest

CELLS = dyadic_cells(Interval(0, 1))


def losses(rng, n, mean, deviation=0.1):
    return np.clip(rng.normal(mean, deviation, n), 0.0, 1.0).tolist()


def alarms(played):
    """The rounds that give an alarm, by the test and by the definition of its sum."""
    test, found, slow = PageTest(), [], []
    since, excess, shortfall = [], 0.0, 0.0
    for t, loss in enumerate(played):
        test = test.after(loss)
        if test.alarm:
            found.append(t)
        if len(since) >= 100 and np.ptp(since) > 0.0:  # the deviation of numbers that are alike is rounding
            deviations = (loss - np.mean(since)) / np.std(since)
            deviations = min(max(deviations, -3.0), 3.0)
            excess = max(excess + deviations - 0.125, 0.0)
            shortfall = max(shortfall - deviations - 1.5, 0.0)
        since.append(loss)
        if len(since) >= 100 and math.exp(0.25 * max(excess, shortfall)) > len(since):
            slow.append(t)
            since, excess, shortfall = [], 0.0, 0.0
    assert found == slow
    return found


@pytest.mark.parametrize("seed", range(5))
def test_losses_that_rise_give_an_alarm_soon(seed):
    rng = np.random.default_rng(seed)
    first, second, *_ = alarms(losses(rng, 400, 0.3) + losses(rng, 300, 0.4) + losses(rng, 300, 0.5))
    assert 400 < first < 450
    assert 700 < second < 750


@pytest.mark.parametrize("seed", range(5))
def test_losses_give_an_alarm_where_they_fall_by_much(seed):
    rng = np.random.default_rng(seed)
    first, *_ = alarms(losses(rng, 400, 0.8) + losses(rng, 100, 0.5))
    assert 400 < first < 440
    assert not [t for t in alarms(losses(rng, 400, 0.8) + losses(rng, 100, 0.7)) if t >= 400]


def test_alarms_without_a_change_are_rare():
    rng = np.random.default_rng(0)
    games = [alarms(losses(rng, 2000, 0.3)) for _ in range(10)]
    assert sum(map(len, games)) <= 3


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_losses_of_nothing_or_all_give_no_alarm(p):
    rng = np.random.default_rng(3)
    assert not alarms((rng.random(2000) < p).astype(float).tolist())


@pytest.mark.parametrize("rounds", [30, 100, 300])
def test_losses_that_are_alike_or_fall_by_learning_give_no_alarm(rounds):
    assert not alarms([0.4] * 500)
    noise = np.random.default_rng(4).normal(0.0, 0.1, 1000)
    assert not alarms((0.3 + 0.4 * np.exp(-np.arange(1000) / rounds) + noise).tolist())


def test_an_alarm_spreads_mass_and_forgets_once():
    drift = Drift.of(None, n_nodes(CELLS))
    rng = np.random.default_rng(1)
    calm = (0.0, 1.0, 1.0, 0.0)  # what is spread, kept of gaps and of statistics, and the speed
    for loss in losses(rng, 300, 0.3):
        drift = drift.told(1, loss, False)
        assert (drift.share, drift.kept, drift.remembered, drift.speed) == calm
    while drift.alarmed == 0.0:
        drift = drift.told(1, 0.8, False)
    assert drift.share > 0.1 > drift.remembered
    assert drift.kept < 0.5
    assert 0.0 < drift.speed < 1.0
    speed = drift.speed
    drift = drift.told(1, 0.8, False)
    assert 0.0 < drift.share < 1e-3
    assert 0.99 < drift.remembered < 1.0
    assert 0.99 * speed < drift.speed < speed
    for loss in losses(rng, 10_000, 0.3):
        drift = drift.told(1, loss, False)
    assert (drift.share, drift.kept, drift.remembered, drift.speed) == calm


def test_states_with_and_without_a_test():
    drift = Drift.of(None, n_nodes(CELLS))
    for loss in losses(np.random.default_rng(2), 120, 0.3):
        drift = drift.told(1, loss, False)
    drift = drift._replace(alarmed=0.125)
    weights = LocalPieces(CELLS, 0.7, 512, drift=drift)
    state = weights.state()
    assert restore(state).state().tobytes() == state.tobytes()
    assert restore(state)._drift.test == drift.test
    # As versions without the test wrote it: another mark, and no numbers of the test before those of pairs.
    older = np.concatenate((state[:-10], state[-4:]))
    older[9] = 1.0
    again = restore(older)._drift
    assert (again.test, again.alarmed) == (PageTest(), 0.0)
    assert (again.memory == drift.memory).all()
    # And as those that tested for rises alone.
    older = np.concatenate((state[:-6], state[-5:]))
    older[9] = 2.0
    again = restore(older)._drift
    assert (again.test, again.alarmed) == (drift.test._replace(shortfall=0.0), 0.125)
