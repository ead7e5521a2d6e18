"""Theorem 3: its bound is minimised, right in hand-made cases, and kept by `Exp3Set` because it learns.

The same holds for the bound of `AdaptiveRate`.
"""

import math

import numpy as np
import pytest

import semibandit as sb
from reference.monte_carlo import mean_limits
from semibandit.dispersion import bounds

UNIT = sb.Interval(0, 1)


def formula(T, M, f, spread, r, rate, L=0.0, H=1.0):
    return H * (rate / 2 * T * M + math.log(spread / r) / rate + f(T, r)) + T * L * r


@pytest.mark.parametrize("r0", [None, 0.3, 0.01])
@pytest.mark.parametrize(("L", "H"), [(0.0, 1.0), (2.0, 1.0), (0.5, 5.0)])
def test_the_bound_is_minimised_over_r_and_rate(r0, L, H):
    f, T, M, R = bounds.Beta(0.6, C=2.0), 5000, 4.0, 0.5
    bound = bounds.regret(T, M, f, R, L=L, H=H, r0=r0)
    spread, largest = (2 * R, R) if r0 is None else (R, r0)
    at = formula(T, M, f, spread, bound.r, bound.rate, L, H)
    assert bound.value == pytest.approx(at) == pytest.approx(bound.learning + bound.dispersion + bound.slope)
    assert 0 < bound.r <= largest
    assert sb.TheoremRate(T, M, R, bound.r, interior=r0 is not None).after(0, 0.0, 1.0) == bound.rate
    for r in np.geomspace(1e-9, largest, 40):
        for rate in np.geomspace(bound.rate / 30, bound.rate * 30, 40):
            assert bound.value <= formula(T, M, f, spread, r, rate, L, H) * (1 + 1e-9)
    assert bounds.regret(T, M, f, R, L=L, H=H, r0=r0, rate=bound.rate).value == pytest.approx(bound.value)
    assert bounds.regret(T, M, f, R, L=L, H=H, r0=r0, rate=2 * bound.rate).value > bound.value


def test_table_uses_the_count_of_the_next_length():
    f = bounds.Table(100, [0.01, 0.1, 0.5], [2, 10, 90])
    assert [f(100, e) for e in (0.001, 0.01, 0.011, 0.1, 0.3, 0.6)] == [2, 2, 10, 10, 90, 100]
    assert [f(T, 0.01) for T in (1000, 101, 3)] == [20, 4, 2]
    bound = bounds.regret(100, 1, f, 0.5)
    by_hand = min(2 * math.sqrt(100 * math.log(1 / r) / 2) + f(100, r) for r in (0.01, 0.1, 0.5))
    assert bound.r in (0.01, 0.1, 0.5)
    assert bound.value == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("H", "text"), [(1.0, "vacuous: larger than T = 1,000"), (3.0, "vacuous: larger than T·H = 3,000")]
)
def test_a_vacuous_bound_is_the_largest_regret_and_says_so(H, text):
    bound = bounds.regret(1000, 2, bounds.WK(w=1e-30, k=1), 0.5, H=H)
    assert bound.value == 1000 * H < bound.learning + bound.dispersion
    assert bound.vacuous
    assert str(bound) == text
    assert "vacuous=True" in repr(bound)
    assert not bounds.regret(1000, 2, bounds.Beta(0.5), 0.5).vacuous


def test_w_and_k_of_a_stream_are_its_dispersion_function():
    measured = sb.dispersion.measure(sb.streams.synthetic(100, seed=0))
    for w in (0.001, 0.02, 0.3):
        f = bounds.WK(w, measured.k(w))
        assert f(100, 2 * w) == measured.D(2 * w) >= measured.D(w)
        assert f(100, 2.001 * w) == 100.0


# -- played ----------------------------------------------------------------------------------------------

# Where losses fall from 1 to 0, and the density of that: the best parameter is near the right end.
PLACES = {
    "uniform": (lambda rng, T: 0.4 + 0.5 * rng.random(T), 2.0),
    "two places": (lambda rng, T: np.where(rng.random(T) < 0.5, 0.5, 0.8) + 0.1 * rng.random(T), 5.0),
}


def falling(places, H=1.0):
    return [sb.Explicit(sb.PiecewiseConstant([0, x, 1], [H, 0])) for x in places]


def regret_of(stream, seed, **options):
    learner = sb.Exp3Set(UNIT, baseline=None, seed=seed, **options)
    return sb.play(learner, stream).regret()[-1]


@pytest.mark.parametrize("name", PLACES)
def test_play_keeps_theorem_3(name):
    """Exp3Set with the rate of the bound stays below it; one that hardly learns does not."""
    T, (draw, density) = 600, PLACES[name]

    def f(T, eps):
        return bounds.worst_interval(T * min(1.0, density * eps), T, 1)

    bound = bounds.regret(T, 2, f, 0.5)
    played = {factor: [] for factor in (1.0, 0.02)}
    for seed in range(4):
        stream = falling(draw(np.random.default_rng(seed), T))
        for factor, regrets in played.items():
            regrets.append(regret_of(stream, seed, rate=factor * bound.rate))
    assert mean_limits(played[1.0])[1] <= bound.value
    assert mean_limits(played[0.02])[0] > bound.value


def adaptive_bound(rate, T, M, f):
    """The theorem of `AdaptiveRate` on [0, 1], least over r."""
    gaps = math.sqrt(rate.c * T * M)
    radii = np.geomspace(1e-6, 0.25, 100)
    return min(2 * math.log(1 / (2 * r)) / rate.c * (1 + gaps) + gaps + f(T, r) for r in radii)


@pytest.mark.parametrize("rate", [sb.AdaptiveRate(), sb.AdaptiveRate(600)])
@pytest.mark.parametrize("name", PLACES)
def test_play_keeps_the_theorem_of_the_adaptive_rate(name, rate):
    """The learner keeps to the bound and to the steps of its proof; one that hardly learns does not."""
    T, M, (draw, density) = 600, 2, PLACES[name]

    def f(T, eps):
        return bounds.worst_interval(T * min(1.0, density * eps), T, 1)

    bound = adaptive_bound(rate, T, M, f)
    regrets, stuck, gaps = [], [], []
    for seed in range(4):
        stream = falling(draw(np.random.default_rng(seed), T))
        learner = sb.Exp3Set(UNIT, baseline=None, rate=rate, seed=seed)
        regrets.append(sb.play(learner, stream).regret()[-1])
        gaps.append(learner.gap_sum)
        assert 1.0 <= rate.c / (1.0 + learner.gap_sum) / learner.current_rate < 2.0
        stuck.append(regret_of(stream, seed, rate=1e-4))
    assert mean_limits(gaps)[1] <= math.sqrt(rate.c * T * M)
    assert mean_limits(regrets)[1] <= bound
    assert mean_limits(stuck)[0] > bound
