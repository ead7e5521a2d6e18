"""Learning rates against their formulas."""

import functools
import math

import numpy as np
import pytest

import semibandit as sb
from reference.feedback import part, random_loss
from semibandit import AdaptiveRate, FixedRate, Interval, TheoremRate

# Here the weights are an interval tree, with a scalar baseline or none.
Exp3Set = functools.partial(sb.Exp3Set, baseline="low")

NAN = math.nan


def bound(rate, T, M, R, r, d):
    """The part of Theorem 3's bound that depends on the rate."""
    return 0.5 * rate * T * M + d / rate * math.log(2 * R / r)


@pytest.mark.parametrize(
    ("T", "M", "R", "r", "d"), [(1000, 10, 0.5, 0.01, 1), (10**6, 5000.0, 5.0, 1e-4, 2), (1, 1, 1.0, 0.1, 1)]
)
def test_theorem_rate_minimises_the_bound(T, M, R, r, d):
    rate = TheoremRate(T=T, M=M, R=R, r=r, d=d).after(0.0, 1.0)
    assert rate == pytest.approx(math.sqrt(2 * d * math.log(2 * R / r) / (T * M)), rel=1e-14)
    for other in (0.9 * rate, 1.1 * rate):
        assert bound(other, T, M, R, r, d) > bound(rate, T, M, R, r, d)


def test_theorem_rate_takes_the_root_of_time_for_the_radius():
    T = 10_000
    default = TheoremRate(T=T, M=50, R=0.5)
    explicit = TheoremRate(T=T, M=50, R=0.5, r=0.5 / math.sqrt(T))
    assert default.after(0.0, 1.0) == pytest.approx(explicit.after(0.0, 1.0), rel=1e-14)
    for interior in (False, True):
        assert TheoremRate(T=1, M=1, R=1.0, interior=interior).after(0.0, 1.0) > 0.0
    assert default.after(3.0, 0.1) == default.after(0.0, 1.0)


def test_fixed_rate_stays():
    assert FixedRate(0.3).after(5.0, 0.1) == 0.3


@pytest.mark.parametrize("horizon", [None, 1, 2, 1000])
def test_adaptive_rate_is_the_formula_rounded_down(horizon):
    rate = AdaptiveRate(horizon)
    rng = np.random.default_rng(0)
    for t in [0, 1, 2, *rng.integers(3, 10**7, 200).tolist()]:
        gaps = float(rng.exponential() * math.sqrt(t))
        log_term = max(math.log(horizon), 1.0) if horizon else 10.0
        exact = log_term / (1.0 + gaps)
        got = rate.after(gaps, math.inf)
        assert math.frexp(got)[0] == 0.5  # a power of two
        assert got <= exact < 2 * got
        for current in (got / 4, got / 2, got, 2 * got):
            kept = current <= exact  # it never rises
            assert rate.after(gaps, current) == (current if kept else got)


def test_adaptive_rate_is_in_units_of_the_range():
    rate = AdaptiveRate(log_term=10.0)
    for gaps in (0.0, 1.0, 7.3):
        assert rate.after(100.0 * gaps, math.inf, 100.0) == rate.after(gaps, math.inf) / 100.0
    with pytest.raises(ValueError, match="log_term must be finite and > 0"):
        AdaptiveRate(log_term=0.0)


def test_adaptive_rate_changes_with_the_logarithm_of_time():
    # Gaps that grow like the root of time, as those of a learner do.
    rate, changes, T = AdaptiveRate(), [math.inf], 200_000
    for t in range(T):
        now = rate.after(math.sqrt(t), changes[-1])
        if now != changes[-1]:
            changes.append(now)
    assert len(changes) <= 3 + 0.5 * math.log2(T)
    assert changes[1:] == sorted(changes[1:], reverse=True)


def test_the_rate_of_a_learner_changes_rarely_and_follows_its_gaps():
    rng = np.random.default_rng(0)
    learner = Exp3Set(Interval(0, 1), seed=0)
    changes, T = 0, 3000
    for _ in range(T):
        before = learner.current_rate
        trial = learner.ask()
        learner.tell(trial, part(random_loss(rng), trial.rho, "interval"))
        changes += learner.current_rate != before
        assert learner.current_rate == AdaptiveRate().after(learner.gap_sum, before)
    assert 3 <= changes <= 2 * math.log2(T)


@pytest.mark.parametrize("value", [0, -1, NAN, math.inf, "1", None])
def test_bad_fixed_rates(value):
    with pytest.raises((ValueError, TypeError), match="rate must be"):
        FixedRate(value)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"T": 0}, "T"),
        ({"T": 10.0}, "T"),
        ({"T": NAN}, "T"),
        ({"T": -5}, "T"),
        ({"M": 0.5}, "M"),
        ({"M": NAN}, "M"),
        ({"M": math.inf}, "M"),
        ({"R": 0.0}, "R"),
        ({"R": -1.0}, "R"),
        ({"R": NAN}, "R"),
        ({"R": math.inf}, "R"),
        ({"r": 0.0}, "r"),
        ({"r": 1.0}, "r"),
        ({"r": 2.0}, "r"),
        ({"r": NAN}, "r"),
        ({"d": 0}, "d"),
        ({"d": 1.5}, "d"),
        ({"interior": 1}, "interior"),
        ({"T": "10"}, "T"),
        ({"M": "10"}, "M"),
    ],
    ids=str,
)
def test_bad_theorem_rates(options, name):
    with pytest.raises((ValueError, TypeError), match=f"^{name} must be"):
        TheoremRate(**({"T": 100, "M": 10, "R": 1.0} | options))


@pytest.mark.parametrize("horizon", [0, -1, 1.5, NAN, math.inf, "10", True])
def test_bad_adaptive_rates(horizon):
    with pytest.raises((ValueError, TypeError), match="horizon must be"):
        AdaptiveRate(horizon)
