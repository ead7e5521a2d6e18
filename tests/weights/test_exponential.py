"""Piecewise exponential weights against integrals to 60 digits."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import linear_functions as reference
from semibandit import PiecewiseLinear
from semibandit.weights import _exponential_kernels as k
from semibandit.weights.exponential import ExponentialDensity, ExponentialPieces

# From flat over nearly flat to steep, and far below and above each other.
LOGS = [0.0, 1e-17, 1e-12, 1e-9, 1e-7, 1e-3, 0.5, 1.0, 3.0, 40.0, 745.0, 1e4, -1e-10, -2.0, -800.0, -1e5]
levels = st.one_of(st.sampled_from(LOGS), st.floats(-50, 50))


@st.composite
def weights(draw):
    edges = sorted(draw(st.sets(st.integers(0, 64).map(lambda i: i / 64), min_size=2, max_size=8)))
    n = len(edges) - 1
    ends = [draw(st.lists(levels, min_size=n, max_size=n)) for _ in range(2)]
    return ExponentialPieces(edges, *ends), reference.pieces(PiecewiseLinear(edges, *ends))


def near(got, want, tolerance=1e-12):
    return abs(got - want) <= tolerance * max(1, abs(want))


@settings(max_examples=200, derandomize=True, deadline=None)
@given(weights(), st.floats(0, 1), st.floats(0, 1))
def test_integrals(pair, a, b):
    w, exact = pair
    lo, hi = (w.ends[0] + s * (w.ends[1] - w.ends[0]) for s in sorted((a, b)))
    whole = reference.exponential_integral(exact, *w.ends)
    assert near(w.log_total(), mp.log(whole))
    if hi - lo < 1e-3:
        return
    part = reference.exponential_integral(exact, lo, hi)
    assert near(w.integrate(lo, hi), mp.log(part), 1e-11)
    # Where logarithms are large, a float's worth of the place is many ulp of the weight.
    assert w.share(lo, hi) == pytest.approx(float(part / whole), rel=1e-9, abs=1e-300)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(weights(), st.one_of(st.floats(0, 1, exclude_max=True), st.sampled_from([0.0, 1e-300, 1 - 2**-53])))
def test_draws(pair, u):
    w, exact = pair
    x = w.draw(u)
    assert w.ends[0] <= x < w.ends[1]
    whole = reference.exponential_integral(exact, *w.ends)
    steepest = max(abs(float(b - a)) / float(hi - lo) for lo, hi, a, b in exact)
    # The share to the left of x is u, up to what one rounding of x makes.
    slack = 1e-12 + 4e-16 * steepest
    left = float(reference.exponential_integral(exact, w.ends[0], x) / whole) if x > w.ends[0] else 0.0
    peak = float(mp.exp(max(max(a, b) for _, _, a, b in exact)) / whole)
    assert left == pytest.approx(u, abs=slack + 4e-16 * peak)


def test_draws_follow_the_density():
    w = ExponentialPieces([0, 0.25, 0.5, 1], [0, 3, -1], [2, 3, 1e-11])
    draws = np.array([w.draw(u) for u in (np.arange(20_000) + 0.5) / 20_000])
    assert (np.diff(draws) > 0).all()
    edges = np.linspace(0, 1, 33)
    shares = np.histogram(draws, edges)[0] / draws.size
    np.testing.assert_allclose(shares, np.exp(w.log_shares(edges)), atol=1.01 / 20_000)


@pytest.mark.parametrize("d", [*LOGS, -0.01, 0.01, 0.0099999, 0.99999, 1.0000001, 700.0, 1e300, -1e300])
def test_closed_forms_of_one_piece(d):
    with mp.workdps(700):
        D = mp.mpf(d)
        if d == 0:
            mean = mp.mpf(1) / 2
        elif abs(d) < 1e6:
            mean = 1 / (1 - mp.exp(-D)) - 1 / D
        else:
            mean = (1 if d > 0 else 0) - 1 / D
    assert k.mean_place(d) == pytest.approx(float(mean), abs=3e-14)
    previous = -1.0
    for u in (0.0, 1e-300, 1e-20, 1e-5, 0.3, 0.5, 0.999, 1 - 2**-53, 1.0):
        s = k.quantile(u, d)
        assert 0.0 <= s <= 1.0
        assert s >= previous
        previous = s
        if 1e-14 < abs(d) < 1500:
            with mp.workdps(700):
                want = mp.log1p(mp.mpf(u) * mp.expm1(D)) / D
            assert s == pytest.approx(float(want), rel=1e-12, abs=1e-15)


def test_learning_multiplies_the_weights():
    rng = np.random.default_rng(2)
    w = ExponentialPieces([0, 1], [0], [0])
    total = PiecewiseLinear([0, 1], [0], [0])
    for _ in range(60):
        edges = np.unique(rng.integers(0, 33, 5) / 32)
        if edges.size < 2:
            continue
        ends = rng.uniform(-1, 5, (edges.size - 1, 2))
        ends[rng.random(edges.size - 1) < 0.3] = np.nan
        before = w
        pieces, mean = k.learn(w._pieces, edges, ends, 0.7)
        w = ExponentialPieces._of(pieces)
        # The mean by fine quadrature of the weights before.
        grid = np.linspace(0, 1, 4097)
        shares = np.exp(before.log_shares(grid))
        middles = 0.5 * (grid[1:] + grid[:-1])
        estimate = PiecewiseLinear(edges, ends[:, 0], ends[:, 1])
        inside = (middles > edges[0]) & (middles < edges[-1])
        seen = np.nan_to_num(np.where(inside, estimate(np.clip(middles, edges[0], edges[-1])), 0.0))
        assert mean == pytest.approx(shares @ seen, abs=1e-5)
        whole = np.unique([0.0, *edges, 1.0])
        spread = (-0.7 * np.nan_to_num(side) for side in estimate.spread(whole))
        total = total + PiecewiseLinear(whole, *spread)
    exact = reference.pieces(total)
    norm = reference.exponential_integral(exact, 0, 1)
    for lo, hi in itertools.pairwise(np.linspace(0, 1, 20)):
        part = reference.exponential_integral(exact, lo, hi)
        assert w.share(lo, hi) == pytest.approx(float(part / norm), rel=1e-11)


@pytest.mark.parametrize("n", [1, 2, 7, 40, 100])
def test_joining_keeps_masses_and_states_its_error(n):
    rng = np.random.default_rng(3)
    edges = np.concatenate(([0], np.sort(rng.random(120)), [1]))
    logs = -40 * (edges - 0.3) ** 2 + rng.normal(0, 0.05, edges.size)
    w = ExponentialPieces(edges, logs[:-1], logs[1:] + rng.normal(0, 0.02, 121))
    joined, error = w.joined(n)
    assert len(joined) <= n
    groups = joined.log().edges
    np.testing.assert_allclose(joined.log_shares(groups), w.log_shares(groups), atol=1e-9)
    x = np.concatenate((rng.random(2000), edges[:-1], np.nextafter(edges[1:], 0)))
    difference = np.abs(ExponentialDensity(joined).log(x) - ExponentialDensity(w).log(x)).max()
    assert difference <= error + 1e-9
    assert error <= 1.05 * difference + 1e-9  # sharp: at the ends of pieces


def test_joining_what_is_one_line_loses_nothing():
    edges = np.linspace(0, 1, 33)
    w = ExponentialPieces(edges, 5 * edges[:-1], 5 * edges[1:])
    joined, error = w.joined(1)
    assert len(joined) == 1
    assert error < 1e-9


def test_powers_state_and_ends():
    w = ExponentialPieces([0, 0.5, 1], [0, -3], [1, 2])
    squared = w.raised_to(2.0)
    exact = reference.pieces(PiecewiseLinear([0, 0.5, 1], [0, -6], [2, 4]))
    share = reference.exponential_integral(exact, 0, 0.5) / reference.exponential_integral(exact, 0, 1)
    assert squared.share(0, 0.5) == pytest.approx(float(share), rel=1e-14)
    again = ExponentialPieces.from_state(w.state())
    assert [again.draw(u) for u in (0, 0.3, 0.9)] == [w.draw(u) for u in (0, 0.3, 0.9)]
    with pytest.raises(ValueError, match="broken"):
        ExponentialPieces.from_state(w.state()[:2])
    with pytest.raises(ValueError, match="strictly increasing"):
        ExponentialPieces.from_state(w.state()[:, ::-1].copy())
    with pytest.raises(ValueError, match=r"u must be in \[0, 1\), got 1.0"):
        w.draw(1.0)
    with pytest.raises(ValueError, match="intervals must satisfy"):
        w.share(0.5, 2)


def test_density():
    w = ExponentialPieces([0, 0.5, 1], [700, -900], [800, 0])
    density = ExponentialDensity(w)
    assert density.integral() == 1.0
    assert density.integral(0.5, 1) == 0.0
    assert density(0.5) == pytest.approx(math.exp(density.log(0.5)))
    fine = np.linspace(0, 1, 100_001)
    assert density.between(fine).sum() == pytest.approx(1.0, abs=1e-12)
    assert len(density) == 2
