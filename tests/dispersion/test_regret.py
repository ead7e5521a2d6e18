"""Theorem 3: its bound is minimised, valid for simulated learners, and right in hand-made cases."""

import math

import numpy as np
import pytest

from reference import exp3_set
from reference.monte_carlo import mean_limits
from semibandit.dispersion import bounds


def formula(T, M, f, spread, r, rate, L=0.0, d=1, H=1.0):
    return rate / 2 * T * M * H * H + d / rate * math.log(spread / r) + T * L * r + H * f(T, r)


@pytest.mark.parametrize("r0", [None, 0.3, 0.01])
@pytest.mark.parametrize(("L", "d", "H"), [(0.0, 1, 1.0), (2.0, 2, 1.0), (0.5, 1, 5.0)])
def test_minimised_over_r_and_rate(r0, L, d, H):
    f, T, M, R = bounds.Beta(0.6, C=2.0), 5000, 4.0, 0.5
    bound = bounds.regret(T, M, f, R, L=L, d=d, H=H, r0=r0)
    spread, largest = (2 * R, R) if r0 is None else (R, r0)
    at = formula(T, M, f, spread, bound.r, bound.rate, L, d, H)
    assert bound.value == pytest.approx(at) == pytest.approx(bound.learning + bound.dispersion + bound.slope)
    assert 0 < bound.r <= largest
    for r in np.geomspace(1e-9, largest, 40):
        for rate in np.geomspace(bound.rate / 30, bound.rate * 30, 40):
            assert bound.value <= formula(T, M, f, spread, r, rate, L, d, H) * (1 + 1e-9)


def test_given_rate():
    f = bounds.Beta(0.5)
    free = bounds.regret(1000, 3, f, 0.5)
    given = bounds.regret(1000, 3, f, 0.5, rate=free.rate)
    assert given.value == pytest.approx(free.value)
    assert bounds.regret(1000, 3, f, 0.5, rate=2 * free.rate).value > free.value


def test_step_size_is_the_minimiser():
    T, M, R, r = 1000, 7.0, 0.5, 0.01
    rate = bounds.step_size(T, M, R, r, H=3.0)
    best = formula(T, M, bounds.WK(1.0, 0), R, r, rate, H=3.0)
    assert all(formula(T, M, bounds.WK(1.0, 0), R, r, rate * q, H=3.0) > best for q in (0.9, 0.99, 1.01, 1.1))


def test_table_uses_the_count_of_the_next_length():
    f = bounds.Table(100, [0.01, 0.1, 0.5], [2, 10, 90])
    assert [f(100, e) for e in (0.001, 0.01, 0.011, 0.1, 0.3, 0.6)] == [2, 2, 10, 10, 90, 100]
    assert f(1000, 0.01) == 20
    assert f(101, 0.01) == 4
    assert f(3, 0.01) == 2
    bound = bounds.regret(100, 1, f, 0.5)
    assert bound.r in (0.01, 0.1, 0.5)
    by_hand = min(2 * math.sqrt(100 * math.log(1 / r) / 2) + f(100, r) for r in (0.01, 0.1, 0.5))
    assert bound.value == pytest.approx(by_hand)


def test_undispersed_losses_get_no_guarantee():
    assert bounds.regret(1000, 2, bounds.WK(w=1e-30, k=1), 0.5).value >= 1000


STEPS = {
    "uniform": lambda rng, T: rng.random(T),
    "triangular": lambda rng, T: rng.triangular(0, 0.4, 1, T),
    "two places": lambda rng, T: np.where(rng.random(T) < 0.5, 0.2, 0.7) + 0.1 * rng.random(T),
}
DENSITY = {"uniform": 1.0, "triangular": 2.0, "two places": 5.0}


@pytest.mark.parametrize("name", STEPS)
def test_theorem_3_on_simulated_play(name):
    """Losses low between two random points: Exp3-SET with the rate of the bound stays below it."""
    T, rng = 300, np.random.default_rng(9)
    mean = T * 2 * DENSITY[name]
    bound = bounds.regret(T, 3, lambda T, eps: bounds.worst_interval(min(T, mean * eps), T, 2), 0.5)
    regrets = []
    for _ in range(20):
        lo, hi = np.sort([STEPS[name](rng, T), STEPS[name](rng, T)], axis=0)
        functions = [
            (np.array([0.0, a, b, 1.0]), np.array([rng.random(), 0.1, rng.random()]))
            for a, b in zip(lo, hi, strict=True)
        ]
        played = exp3_set.play(functions, 0.0, 1.0, bound.rate, rng)
        regrets.append(played - exp3_set.best(functions, 0.0, 1.0))
    lower, upper = mean_limits(regrets)
    assert lower > 0
    assert upper <= bound.value


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.regret(0, 1, bounds.Beta(0.5), 1.0), "T must be at least 1, got 0"),
        (lambda: bounds.regret(10, 0.5, bounds.Beta(0.5), 1.0), "M must be finite and >= 1, got 0.5"),
        (lambda: bounds.regret(10, 1, bounds.Beta(0.5), 0.0), "R must be finite and > 0, got 0.0"),
        (lambda: bounds.Table(10, [0.1, 0.1], [1, 2]), "eps must be strictly increasing"),
        (lambda: bounds.Table(10, [0.1, 0.2], [2, 1]), "counts must not decrease"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
