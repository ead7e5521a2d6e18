"""Measured dispersion against brute force, β, the verdict and the regret."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semibandit as sb
from reference import dispersion as reference
from semibandit.dispersion import Samples, bounds, measure

UNIT = sb.Interval(0, 1)
fixed = settings(derandomize=True, deadline=None, max_examples=100)

# On this grid sums and differences of doubles are exact, and many values are tied.
dyadic = st.integers(1, 63).map(lambda i: i / 64)
lists = st.lists(st.lists(dyadic, max_size=4), min_size=1, max_size=6)
lengths = st.integers(0, 70).map(lambda i: i / 64)


@fixed
@given(lists, lengths)
def test_worst_interval_equals_brute_force(functions, eps):
    result = measure(functions, UNIT)
    exact = [[Fraction(x) for x in function] for function in functions]
    expected = reference.worst_count(exact, Fraction(eps))
    worst = result.worst(eps)
    assert worst.functions == result.D(eps) == expected
    if expected:
        assert worst.hi - worst.lo == eps
        assert sum(any(worst.lo <= x <= worst.hi for x in function) for function in functions) == expected


@fixed
@given(lists, st.integers(1, 6))
def test_w_is_half_the_smallest_span_of_more_than_k_functions(functions, k):
    result = measure(functions, UNIT)
    span = reference.smallest_span(functions, k + 1)
    w = result.w(k)
    assert w == span / 2
    if math.isfinite(w):
        assert result.k(w) > k
        if w > 0:
            assert result.k(np.nextafter(w, 0)) <= k
    else:
        assert result.k(1.0) <= k


@fixed
@given(lists, st.data())
def test_prefixes_are_measurements_of_prefixes(functions, data):
    T = data.draw(st.integers(1, len(functions)))
    eps = [0.0, 0.125, 0.5]
    whole, part = (measure(each, UNIT, eps=eps) for each in (functions, functions[:T]))
    assert part.counts.tolist() == [whole.D(e, T) for e in eps]


@fixed
@given(
    st.lists(
        st.tuples(
            st.lists(dyadic, unique=True, min_size=1, max_size=6).map(sorted),
            st.lists(st.integers(0, 8).map(lambda i: i / 8), min_size=6, max_size=6),
        ).map(lambda pair: (pair[0], pair[1][: len(pair[0])])),
        min_size=1,
        max_size=6,
    ),
    lengths,
    st.sampled_from([0.0, 0.5, 2.0, 8.0]),
)
def test_samples_break_between_neighbours_that_violate_the_lipschitz_condition(functions, eps, lipschitz):
    result = measure([Samples(x, y) for x, y in functions], UNIT, lipschitz)
    places = [
        [
            (a + b) / 2
            for a, b, u, v in zip(x, x[1:], y, y[1:], strict=False)
            if abs(v - u) > lipschitz * (b - a)
        ]
        for x, y in functions
    ]
    assert result.D(eps) == reference.worst_count(places, eps)


def test_a_discontinuity_is_a_change_strictly_inside_the_space():
    f = sb.PiecewiseConstant([0, 0.25, 0.5, 0.75, 1], [1, 1, 0, 0])  # two edges without a change
    assert measure([f]).breaks.x.tolist() == [0.5]
    assert measure([f]).pieces == 4  # but as many feedback sets
    assert measure([f], sb.Interval(0.3, 1)).pieces == 3
    unseen = sb.PiecewiseConstant([0, 0.25, 0.5, 1], [1, math.nan, 0])
    assert measure([unseen]).discontinuities == 0
    assert measure([sb.Explicit(f), f], sb.Interval(0.5, 1)).discontinuities == 0  # at an end of the space
    assert measure([[0.0, 0.5, 1.0]], UNIT).discontinuities == 1  # likewise
    assert measure([[0.0, 0.5, 1.0]]).discontinuities == 3  # no space: the list as it is
    up_and_back = sb.PiecewiseConstant([0, 0.4, 0.41, 1], [0, 1, 0])
    assert measure([up_and_back]).D(0.5) == 1


# -- rows ------------------------------------------------------------------------------------------------


class Laid:
    """A problem on strips whose loss is given row by row."""

    def __init__(self, space, rows):
        self.space, self.rows = space, rows

    def losses(self):
        return self.space.lay_rows(dict(enumerate(self.rows)))


def step(points, seed):
    """Return a step function that jumps at these points, with other values at its ends for each seed."""
    values = seed + np.arange(len(points) + 1) % 2
    return sb.PiecewiseConstant([0.0, *points, 1.0], values / 8)


planes = st.lists(
    st.lists(st.lists(dyadic, unique=True, max_size=3).map(sorted), min_size=3, max_size=3),
    min_size=1,
    max_size=6,
)


@fixed
@given(planes, lengths)
def test_the_worst_row_of_strips_counts_and_ends_of_rows_are_no_breaks(functions, eps):
    space = sb.Strips(3, UNIT)
    problems = [
        Laid(space, [step(row, i + 2 * j) for j, row in enumerate(f)]) for i, f in enumerate(functions)
    ]
    along = [reference.worst_count([f[j] for f in functions], eps) for j in range(3)]
    results = measure(problems), measure([p.losses() for p in problems], space)
    for result in results:
        worst = result.worst(eps)
        assert worst.functions == result.D(eps) == max(along) == along[worst.row]
        assert result.discontinuities == sum(len(row) for f in functions for row in f)
        assert result.pieces == pytest.approx(3 + result.discontinuities / len(functions))
        assert len(result.breaks) == result.discontinuities
        spans = [reference.smallest_span([f[j] for f in functions], 2) for j in range(3)]
        assert result.w(1) == min(spans) / 2


# -- piecewise linear functions --------------------------------------------------------------------------

lines = st.lists(
    st.tuples(
        st.lists(dyadic, unique=True, max_size=4).map(sorted),
        st.lists(st.tuples(*[st.integers(0, 2).map(lambda i: i / 2)] * 2), min_size=5, max_size=5),
    ).map(lambda pair: ([0.0, *pair[0], 1.0], pair[1][: len(pair[0]) + 1])),
    min_size=1,
    max_size=6,
)


@fixed
@given(lines, lengths)
def test_piecewise_linear_functions_count_where_they_jump(functions, eps):
    stream = [sb.PiecewiseLinear(edges, *zip(*ends, strict=True)) for edges, ends in functions]
    jumps = [
        [
            x
            for x, (_, before), (after, _) in zip(edges[1:-1], ends, ends[1:], strict=False)
            if before != after
        ]
        for edges, ends in functions
    ]
    slopes = [
        abs(right - left) / (hi - lo)
        for edges, ends in functions
        for lo, hi, (left, right) in zip(edges, edges[1:], ends, strict=False)
    ]
    result = measure(stream)
    assert result.D(eps) == reference.worst_count(jumps, eps)
    assert result.lipschitz == pytest.approx(max(slopes), rel=1e-6)
    assert result.pieces == sum(len(f) for f in stream) / len(stream)
    # Definition 3 with that L, at pairs of points around all edges: never more than the jumps between them.
    x = np.unique(np.concatenate([f.edges for f in stream]))
    x = np.concatenate([x, x[1:] - 1e-9])
    for a in x:
        for b in x[(x > a) & (x - a <= eps)]:
            broken = sum(abs(f(b) - f(a)) > (result.lipschitz + 1e-6) * (b - a) for f in stream)
            assert broken <= result.D(eps)


def test_slope_and_largest_loss_of_prices_are_in_the_regret_bound():
    stream = sb.streams.posted_price(150, buyers=3, loss="utility", seed=1)
    result = measure(stream)
    values = [problem.values for problem in stream]
    for eps in (0.0, 0.003, 0.1):
        assert result.D(eps) == reference.worst_count(values, eps)
    assert result.lipschitz == pytest.approx(3)  # three buyers pay each cent more
    assert result.high == 3
    assert result.beta > 0.45
    bound = result.regret()
    assert bound.slope == pytest.approx(150 * 3 * bound.r)
    assert bound == sb.dispersion.bounds.regret(150, 4.0, result.f, 0.5, L=result.lipschitz, H=3.0)
    # The reserve only matters above the second bid: the revenue has a kink there, and jumps at the first.
    auctions = sb.streams.second_price(100, seed=1)
    highest = [problem.values[:1] for problem in auctions]
    assert measure(auctions).D(0.01) == reference.worst_count(highest, 0.01)


def test_high_is_stated_by_problems_and_else_the_largest_loss():
    small, large = sb.PiecewiseConstant([0, 0.4, 1], [0.1, 0.2]), sb.PiecewiseConstant([0, 0.6, 1], [-3, 50])
    line = sb.PiecewiseLinear([0, 1], [0], [7])
    stated = sb.streams.posted_price(2, buyers=3, loss="utility", seed=1)
    assert measure([small]).high == measure([[0.5]], UNIT).high == 1.0
    assert measure([small, large]).high == measure([large, small, [0.5]]).high == 50.0
    assert measure([small, line]).high == measure([Samples([0, 1], [7, 0])], UNIT, 10.0).high == 7.0
    assert measure([*stated, stated[0].losses() * 0.1]).high == 3.0
    assert measure([large] * 100).regret(M=2).value > measure([small] * 100).regret(M=2).value


# -- β and the verdict -----------------------------------------------------------------------------------


def test_beta_is_that_of_its_definition():
    result = measure(np.random.default_rng(2).random((500, 2)), UNIT)
    for T, row, beta in zip(result.prefixes, result.table, result.betas, strict=True):
        holds = row <= result.C * result.eps * T
        least = T**-beta / result.C
        assert holds[result.eps >= least * (1 - 1e-12)].all()
        below = np.flatnonzero(result.eps < least * (1 - 1e-12))
        assert not holds[below[-1]]


@pytest.mark.parametrize("T", [40, 400, 4000])
def test_needles_and_halving_are_not_dispersed(T):
    needle = measure(sb.streams.concentrated(T))
    assert needle.beta < 0.05
    assert needle.verdict().startswith(f"not dispersed: {math.ceil(0.9 * T)} of {T} functions break within")
    assert "around rho = 0.37 " in needle.verdict()
    halving = measure(sb.streams.halving(min(T, 48)))
    assert halving.regret().value == min(T, 48)  # no more than every learner has
    assert halving.regret().vacuous
    assert f"Regret bound: vacuous: larger than T = {min(T, 48)}." in halving.verdict()
    assert halving.beta < 0.1
    assert halving.verdict().startswith("not dispersed")


def test_a_fixed_share_at_one_place_shows_as_a_falling_beta():
    rng = np.random.default_rng(4)
    x = rng.random((20_000, 1))
    x[rng.random(20_000) < 0.02] = 0.5
    result = measure(x, UNIT)
    assert result.D(0.0) > 300
    assert result.beta < result.beta_range[1] - 0.1
    assert "not dispersed" in result.verdict() or "beta falls as T grows" in result.verdict()


# -- streams of the families ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["uncorrelated", "weakly-correlated", "mixed", "drifting", "subset-sum"])
@pytest.mark.parametrize("kappa", [2.0, 20.0])
def test_knapsacks_stay_below_lemma_8(kind, kappa):
    T, n = 400, 10
    stream = sb.streams.knapsack(kind, T, n, seed=1, kappa=kappa)
    C = max(problem.sizes.max() / problem.sizes.min() for problem in stream)
    bound = partial(bounds.knapsack_dispersion, n=n, C=C, kappa=kappa)
    result = measure(stream)
    assert all(result.D(eps) <= bound(T, eps) for eps in np.geomspace(1e-8, 10.0, 40))
    assert bound(T, 1e-8) < T / 2
    assert result.beta > 0.45
    assert result.dispersed


def test_unsmoothed_subset_sum_is_not_dispersed():
    result = measure(sb.streams.knapsack("subset-sum", 100, 20, kappa=None))
    assert result.beta < 0.1
    assert "around rho = 1 " in result.verdict()


@pytest.mark.parametrize("kind", ["elongated", "gaussian", "iris"])
def test_linkages_stay_below_lemma_11(kind):
    T, smooth = 500, 1.0
    stream = sb.streams.clustering(kind, T, n_classes=2, per_class=4, smooth=smooth, seed=1)
    # Noise is at most `smooth` times a mean that the noise has then raised to at most 1 + smooth times.
    product = max(p.distances.max() / p.distances.mean() for p in stream) * (1 + smooth) / smooth
    n = max(len(p.distances) for p in stream)
    bound = partial(bounds.linkage_dispersion, n=n, B=1.0, kappa=product)
    result = measure(stream)
    assert all(result.D(eps) <= bound(T, eps) for eps in np.geomspace(1e-14, 1.0, 40))
    assert bound(T, 1e-14) < T / 2
    assert result.beta > 0.45
    assert result.dispersed


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: measure([]), ValueError, "functions must hold at least one function, got none"),
        (lambda: measure(3), TypeError, "functions must be a sequence of functions, got 3"),
        (lambda: measure([0.1, 0.2]), TypeError, r"functions\[0\] must be a problem, .* got 0\.1"),
        (lambda: measure([[0.1], ["x"]]), TypeError, r"functions\[1\] must be"),
        (lambda: measure([[0.1], [math.nan]]), ValueError, r"finite, got nan in functions\[1\]"),
        (lambda: measure([[0.1]], (0, 1)), TypeError, "space must be an Interval or Strips"),
        (lambda: measure([[0.1]], lipschitz=-1), ValueError, "lipschitz must be finite and >= 0, got -1"),
        (lambda: measure([[0.1]], eps=[0.2, 0.1]), ValueError, "eps must be strictly increasing"),
        (lambda: measure([[0.1]]).D(-1), ValueError, "eps must be finite and >= 0"),
        (lambda: Samples([0, 0], [1, 1]), ValueError, "x must be strictly increasing"),
        (
            lambda: measure([sb.PiecewiseLinear([0, 1], [0], [1])], lipschitz=0.5),
            ValueError,
            "lipschitz must be at least the largest slope of the functions, 1, got 0.5",
        ),
        (
            lambda: measure([Laid(sb.Strips(n, UNIT), [step([0.5], 0)] * n) for n in (2, 3)]),
            ValueError,
            r"same number of rows, got 2 in functions\[0\] and 3 in functions\[1\]",
        ),
    ],
)
def test_errors_name_the_argument(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(("first", "second", "eps"), [(-1e-17, 1.0, 1.0), (1e-17, 1.0, 1.0), (0.1, 0.3, 0.2)])
def test_counts_are_exact_if_a_difference_rounds_to_the_length(first, second, eps):
    functions = [[first], [second]]
    exact = [[Fraction(x) for x in function] for function in functions]
    result = measure(functions, sb.Interval(-1, 2))
    assert result.D(eps) == reference.worst_count(exact, Fraction(eps))
    assert result.D(np.nextafter(eps, 0.0)) == reference.worst_count(exact, Fraction(np.nextafter(eps, 0.0)))


@pytest.mark.parametrize("seed", range(4))
def test_counts_of_large_random_inputs_equal_brute_force(seed):
    rng = np.random.default_rng(seed)
    functions = [np.round(rng.beta(2, 5, rng.integers(0, 12)), rng.integers(2, 9)) for _ in range(60)]
    functions = [f[(f > 0) & (f < 1)] for f in functions]
    result = measure(functions, UNIT)
    for eps in (0.0, 0.001, 0.03, 0.4):
        assert result.D(eps) == reference.worst_count(functions, eps)
        assert result.breaks.most_breaks(eps) == reference.worst_points(functions, eps)
