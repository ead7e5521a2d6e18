"""Page's test against its definition, and the restarts that it triggers."""

import math

import numpy as np
import pytest

from semibandit.learners.drift import Drift, PageTest


def losses(rng, n, mean, deviation=0.1):
    return np.clip(rng.normal(mean, deviation, n), 0.0, 1.0).tolist()


def alarms(played):
    """Return the rounds that raise an alarm; the test must agree with the definition of its sums."""
    test, found, slow = PageTest(), [], []
    since, excess, shortfall = [], 0.0, 0.0
    for t, loss in enumerate(played):
        if test.update(loss):
            found.append(t)
        if len(since) >= 100 and np.ptp(since) > 0.0:  # the deviation of equal numbers is rounding error
            deviations = min(max((loss - np.mean(since)) / np.std(since), -3.0), 3.0)
            excess = max(excess + deviations - 0.125, 0.0)
            shortfall = max(shortfall - deviations - 1.5, 0.0)
        since.append(loss)
        if math.exp(0.25 * max(excess, shortfall)) > len(since):
            slow.append(t)
            since, excess, shortfall = [], 0.0, 0.0
    assert found == slow
    return found


@pytest.mark.parametrize("seed", range(5))
def test_a_rise_of_the_mean_raises_an_alarm(seed):
    rng = np.random.default_rng(seed)
    first, second, *_ = alarms(losses(rng, 400, 0.3) + losses(rng, 300, 0.4) + losses(rng, 300, 0.5))
    assert 400 < first < 450
    assert 700 < second < 750


@pytest.mark.parametrize("seed", range(5))
def test_only_a_large_fall_raises_an_alarm(seed):
    rng = np.random.default_rng(seed)
    first, *_ = alarms(losses(rng, 400, 0.8) + losses(rng, 100, 0.5))
    assert 400 < first < 440
    assert not [t for t in alarms(losses(rng, 400, 0.8) + losses(rng, 100, 0.7)) if t >= 400]


def test_false_alarms_are_rare():
    rng = np.random.default_rng(0)
    games = [alarms(losses(rng, 2000, 0.3)) for _ in range(10)]
    assert sum(map(len, games)) <= 3


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_bernoulli_losses_raise_no_alarm(p):
    rng = np.random.default_rng(3)
    assert not alarms((rng.random(2000) < p).astype(float).tolist())


@pytest.mark.parametrize("rounds", [30, 100, 300])
def test_constant_losses_and_losses_that_fall_by_learning_raise_no_alarm(rounds):
    assert not alarms([0.4] * 500)
    noise = np.random.default_rng(4).normal(0.0, 0.1, 1000)
    assert not alarms((0.3 + 0.4 * np.exp(-np.arange(1000) / rounds) + noise).tolist())


def test_the_state_restores_the_test_and_damage_is_refused():
    test, again = PageTest(), PageTest()
    for loss in losses(np.random.default_rng(2), 150, 0.3):
        test.update(loss)
    again.state = test.state
    assert again.state == test.state
    assert [again.update(0.6) for _ in range(20)] == [test.update(0.6) for _ in range(20)]
    for broken in ([], [1.0] * 4, [math.nan] * 5, [-1.0, 0.0, 0.0, 0.0, 0.0]):
        with pytest.raises(ValueError, match="broken"):
            again.state = broken


def test_restarts_follow_an_alarm_or_come_with_a_fixed_share():
    auto, fixed = Drift(None), Drift(0.01)
    restarts = [auto.after(loss) for loss in losses(np.random.default_rng(1), 300, 0.3)]
    assert {restart.share for restart in restarts} == {0.0}
    restart = next(restart for restart in (auto.after(0.8) for _ in range(50)) if restart.share)
    assert restart.share > 0.1 > restart.statistics
    assert 0.0 < auto.after(0.8).share < 1e-3
    calm = [auto.after(loss) for loss in losses(np.random.default_rng(1), 10_000, 0.5)][-1]
    assert calm == (0.0, 1.0, 1.0, 0.0)
    assert fixed.after(0.3) == (0.01, 1.0 - 0.16, 0.99, 1.0)
