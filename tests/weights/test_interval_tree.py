"""The interval tree against flat, exact weights."""

import copy
import math
import pickle
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from reference.flat_weights import FlatWeights, mp
from semibandit.weights import _tree_kernels as kernels
from semibandit.weights.interval_tree import IntervalTree

NAN = math.nan


def mass(tree, lo, hi):
    """The integral to the bit, as an mpmath number."""
    m, e = kernels.integrate(tree._nodes, lo, hi)
    return mpmath.ldexp(mpmath.mpf(m), e)


def total(tree):
    m, e = kernels.grand_total(tree._nodes)
    return mpmath.ldexp(mpmath.mpf(m), e)


def relative_error(got, want):
    return abs(got / want - 1)


def random_interval(rng, points=None):
    while True:
        ends = rng.choice(points, 2) if points is not None and rng.random() < 0.5 else rng.random(2)
        lo, hi = sorted(ends.tolist())
        if rng.random() < 0.1:
            lo = 0.0
        if rng.random() < 0.1:
            hi = 1.0
        if lo < hi:
            return lo, hi


def grown(n_updates, seed, scale=1.0):
    """A tree with some hundreds of pieces, and the arguments of its updates."""
    rng = np.random.default_rng(seed)
    tree = IntervalTree(0, 1)
    updates = [(*random_interval(rng), scale * rng.normal()) for _ in range(n_updates)]
    for update in updates:
        tree.update(*update)
    return tree, updates


# -- against the flat version ---------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "scale"), [(0, 1.0), (1, 1000.0), (2, 1e-9), (3, 1e6)])
def test_all_operations_against_flat_weights(seed, scale):
    rng = np.random.default_rng(seed)
    tree, flat = IntervalTree(0, 1), FlatWeights(0, 1)
    points = rng.random(6)  # shared ends: pieces that are cut before, intervals that touch
    for step in range(120):
        lo, hi = random_interval(rng, points)
        log_factor = scale * rng.normal()
        tree.update(lo, hi, log_factor)
        flat.update(lo, hi, log_factor)
        if step % 10 == 9:
            tree._check()
            assert relative_error(total(tree), flat.total()) < 1e-13
            for _ in range(3):
                a, b = random_interval(rng, points)
                want = flat.mass(a, b)
                assert relative_error(mass(tree, a, b), want) < 1e-13
                assert tree.integrate(a, b) == pytest.approx(float(mpmath.log(want)), rel=1e-14, abs=1e-13)
                assert tree.share(a, b) == pytest.approx(float(want / flat.total()), rel=1e-13, abs=5e-324)
    assert len(tree) == len(flat.logs)
    edges, logs = tree.pieces()
    assert [Fraction(x) for x in edges.tolist()] == flat.edges
    top = max(flat.logs)
    np.testing.assert_allclose(logs, [float(log - top) for log in flat.logs], rtol=1e-14, atol=1e-13)


@pytest.mark.parametrize("scale", [0.5, 30.0])
def test_draw_against_flat_weights(scale):
    tree, updates = grown(60, 5, scale)
    flat = FlatWeights(0, 1)
    for update in updates:
        flat.update(*update)
    for u in [0.0, 0.25, 1 - 2.0**-53, *np.random.default_rng(0).random(25).tolist()]:
        x = tree.draw(u)
        assert 0.0 <= x < 1.0
        # In mass, not in distance: across nearly weightless stretches u does not determine x.
        share = flat.mass(0, x) / flat.total() if x > 0 else 0
        step = flat.mass(x, math.nextafter(x, 2)) / flat.total()
        assert abs(share - u) <= 1e-14 + step


def test_draw_at_the_ends():
    tree = IntervalTree(2, 3)
    assert tree.draw(0.0) == 2.0
    assert tree.draw(1 - 2.0**-53) < 3.0
    tree.update(2, 2.5, -1000)  # out of reach
    assert tree.draw(0.0) == 2.5
    tree.update(2.5, 3, -2000)
    assert tree.draw(1 - 2.0**-53) < 2.5


def test_draw_stays_inside_the_narrowest_pieces():
    lo = 1.0
    hi = math.nextafter(lo, 2)
    tree = IntervalTree(0, 2)
    tree.update(lo, hi, 800)
    assert all(tree.draw(u) == lo for u in (0.0, 0.5, 1 - 2.0**-53))


def test_unions_in_one_call():
    rng = np.random.default_rng(3)
    tree, flat = IntervalTree(0, 1), FlatWeights(0, 1)
    for n in (1, 2, 7, 40, 300):
        ends = np.sort(rng.random(2 * n))
        ends[n] = ends[n - 1] if n > 1 and n % 2 == 0 else ends[n]  # two that touch
        lo, hi = ends[::2], ends[1::2]
        factors = rng.normal(size=n)
        tree.update(lo, hi, factors)
        for interval in zip(lo.tolist(), hi.tolist(), factors.tolist(), strict=True):
            flat.update(*interval)
        tree.update(lo, hi, -0.5)  # one factor for all
        for interval in zip(lo.tolist(), hi.tolist(), strict=True):
            flat.update(*interval, -0.5)
        tree._check()
        want = flat.union(zip(lo.tolist(), hi.tolist(), strict=True))
        assert tree.integrate(lo, hi) == pytest.approx(float(mpmath.log(want)), abs=1e-13)
        assert tree.share(lo, hi) == pytest.approx(float(want / flat.total()), rel=1e-13)


def test_the_empty_union():
    tree = IntervalTree(0, 1)
    tree.update([], [], [])
    assert tree.integrate([], []) == -math.inf
    assert tree.share([], []) == 0.0
    assert len(tree) == 1


def test_log_shares_partition_the_line():
    tree, updates = grown(60, 1, 20.0)
    flat = FlatWeights(0, 1)
    for update in updates:
        flat.update(*update)
    edges = np.linspace(0, 1, 30)
    got = tree.log_shares(edges)
    for log, lo, hi in zip(got.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        assert log == pytest.approx(float(mpmath.log(flat.mass(lo, hi) / flat.total())), rel=1e-14, abs=1e-13)


# -- extremes -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_many_updates_with_logs_down_to_minus_1e5():
    """Right to 1e-13 relative, at the heights of the weights and in their deepest valleys.

    Log factors are multiples of 2^-40, so that the exact logarithm of every one of the 800,000 pieces is an
    int64 after one sort; mpmath then integrates over probes of some pieces each, and over all that matters
    for the total.
    """
    n = 400_000
    unit = 2.0**-40
    rng = np.random.default_rng(1)
    ends = np.sort(rng.random((n, 2)), axis=1)
    lo, hi = np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1])
    steps = -rng.integers(0, 2**41, n)
    tree = IntervalTree(0, 1)
    for block in np.array_split(np.arange(n), 100):
        tree._reserve(block.size)
        kernels.update_all(tree._nodes, lo[block], hi[block], steps[block] * unit)
    tree._check()

    at = np.concatenate((lo, hi))
    order = np.argsort(at)
    edges = np.concatenate(([0.0], at[order], [1.0]))
    logs = np.concatenate(([0], np.cumsum(np.concatenate((steps, -steps))[order])))
    assert (np.diff(edges) > 0).all()
    assert len(tree) == logs.size
    assert logs.min() * unit < -1e5
    with mpmath.workdps(40):

        def exact(pieces):
            return mpmath.fsum(
                (mpmath.mpf(edges[i + 1]) - mpmath.mpf(edges[i]))
                * mpmath.exp(mpmath.mpf(int(logs[i])) * unit)
                for i in pieces
            )

        near_top = np.flatnonzero((logs - logs.max()) * unit > -60)
        assert relative_error(total(tree), exact(near_top)) < 1e-13
        probes = [*rng.integers(0, logs.size - 60, 60), int(logs.argmin()), 0, logs.size - 60]
        for first in probes:
            pieces = range(first, first + int(rng.integers(1, 60)))
            got = mass(tree, edges[pieces[0]], edges[pieces[-1] + 1])
            assert relative_error(got, exact(pieces)) < 1e-13
        middle = tree.share(edges[1], edges[40])
        assert middle == pytest.approx(float(exact(range(1, 40)) / exact(near_top)), rel=1e-13)
        # Logarithms as floats cannot be better than their own last digit.
        _, got = tree.pieces()
        np.testing.assert_allclose(got, (logs - logs.max()) * unit, rtol=1e-14, atol=1e-12)


@pytest.mark.parametrize("cells", [1, 100])  # the factors end up in pieces, and in tags
@pytest.mark.parametrize("factor", [-0.1, -(2.0**-10), 0.5])
def test_the_same_factor_many_times(factor, cells):
    """The rounding error of the factor is the same each time, but does not add up; nothing drifts apart."""
    n = 400_000
    edges = np.arange(cells + 1) / cells
    tree, flat = IntervalTree(0, 1), FlatWeights(0, 1)
    tree.update(edges[:-1], edges[1:], np.zeros(cells))
    kernels.update_all(tree._nodes, np.zeros(n), np.full(n, 0.75), np.full(n, factor))
    flat.update(0, 0.75, Fraction(factor) * n)
    assert relative_error(mass(tree, 0.0, 0.5), flat.mass(0, 0.5)) < 1e-14
    assert relative_error(mass(tree, 0.7, 0.75), flat.mass(0.7, 0.75)) < 1e-14
    tree._check()  # to the bit
    assert IntervalTree.from_state(tree.state()).log_total() == tree.log_total()


def test_nothing_is_flushed_to_zero():
    tree = IntervalTree(0, 1)
    tree.update(0, 0.5, -1e9)
    assert tree.share(0, 0.5) == 0.0  # as a float
    assert tree.integrate(0, 0.5) == pytest.approx(-1e9 - math.log(2), rel=1e-15)
    tree.update(0.25, 0.5, -2.0)
    tree.update(0.5, 1, -1e9 - 1.0)
    # What was out of reach leads again, and differences made below survived.
    assert tree.share(0, 0.25) == pytest.approx(
        0.25 / (0.25 + 0.25 * math.exp(-2) + 0.5 * math.exp(-1)), rel=1e-14
    )


@pytest.mark.parametrize("size", [1e3, 1e6, 2.0**40])
def test_the_largest_factors(size):
    for log_factor in (size, -size):
        tree = IntervalTree(0, 1)
        for _ in range(1000):
            tree.update(0.25, 0.75, log_factor)
        tree._check()
        assert tree.integrate(0.25, 0.5) == pytest.approx(1000 * log_factor + math.log(0.25), rel=1e-14)
        _, logs = tree.pieces()
        assert np.ptp(logs) == pytest.approx(1000 * size, rel=1e-14)
        flat = FlatWeights(0, 1)
        flat.update(0.25, 0.75, Fraction(1000) * Fraction(log_factor))
        assert relative_error(mass(tree, 0.25, 0.5), flat.mass(0.25, 0.5)) < 1e-14


@pytest.mark.parametrize(
    "ends",
    [(0.0, 5e-324), (0.0, 1.5e-323), (0.0, 1.23456e-315), (0.0, 1e-300), (1e-310, 1.1e-310), (5e-324, 1.0)],
)
def test_pieces_narrower_than_floats_divide(ends):
    lo, hi = ends
    tree, flat = IntervalTree(0, 1), FlatWeights(0, 1)
    tree.update(lo, hi, 1.5)
    flat.update(lo, hi, 1.5)
    tree._check()
    for a, b in [ends, (0.0, hi), (lo, 1.0), (0.0, 1.0)]:
        assert relative_error(mass(tree, a, b), flat.mass(a, b)) < 1e-15
        assert math.isfinite(tree.integrate(a, b))
    squared = tree.raised_to(2.0)
    assert relative_error(mass(squared, lo, hi), mp(Fraction(hi) - Fraction(lo)) * mpmath.exp(3)) < 1e-15
    edges, logs = tree.pieces()
    again = IntervalTree.from_pieces(edges, logs)
    assert relative_error(mass(again, lo, hi) / total(again), flat.mass(lo, hi) / flat.total()) < 1e-14


def test_a_sliver_of_a_heavy_piece_does_not_hide_the_rest():
    tree, flat = IntervalTree(-1, 1), FlatWeights(-1, 1)
    tree.update(0, 1, 690)
    flat.update(0, 1, 690)
    assert relative_error(mass(tree, -1, 1e-300), flat.mass(-1, 1e-300)) < 1e-14
    tree.update(-1, 0, 1380)
    flat.update(-1, 0, 1380)
    assert relative_error(mass(tree, -5e-301, 1), flat.mass(-5e-301, 1)) < 1e-14
    union = [(-1e-300, -5e-301), (0.5, 1.0)]
    lo, hi = np.transpose(union)
    assert tree.integrate(lo, hi) == pytest.approx(float(mpmath.log(flat.union(union))), rel=1e-14)


@pytest.mark.parametrize("ends", [(-8.9e307, 8.9e307), (1e308, 1.7e308), (-5e-324, 5e-324), (1e15, 1e15 + 1)])
def test_extreme_lines(ends):
    lo, hi = ends
    middle = 0.5 * lo + 0.5 * hi
    tree = IntervalTree(lo, hi)
    assert tree.log_total() == pytest.approx(math.log(hi - lo), rel=1e-15)
    tree.update(lo, middle, -1.0)
    tree._check()
    assert tree.share(lo, middle) == pytest.approx(1 / (1 + math.e), rel=1e-12)
    assert all(lo <= tree.draw(u) < hi for u in (0.0, 0.3, 1 - 2.0**-53))


# -- structure ------------------------------------------------------------------------------------


def fingerprint(tree):
    return tree.state()["nodes"].tobytes()


@pytest.mark.parametrize("seed", range(3))
def test_stress(seed):
    """Seeded random operations, every invariant checked; weights against plain log-domain arrays."""
    rng = np.random.default_rng(seed)
    grid = np.arange(513) / 512
    logs = np.zeros(512)
    tree = IntervalTree(0, 1)
    for step in range(1500):
        kind = rng.random()
        i, j = sorted(rng.choice(513, 2, replace=False))
        if kind < 0.85:
            factor = rng.normal() * (50 if rng.random() < 0.05 else 1)
            tree.update(grid[i], grid[j], factor)
            logs[i:j] += factor
        elif kind < 0.87:
            power = float(rng.choice([0.5, 2.0, 0.75]))
            tree = tree.raised_to(power)
            logs *= power
        elif kind < 0.9:
            tree = IntervalTree.from_state(tree.state())
        else:
            weights = np.exp(logs - logs.max())
            want = weights[i:j].sum() / weights.sum()
            assert tree.share(grid[i], grid[j]) == pytest.approx(want, rel=1e-10, abs=1e-300)
            left = tree.draw(rng.random())
            assert weights[int(left * 512)] > 0.0
        if step % 25 == 0:
            tree._check()
    tree._check()
    edges, got = tree.pieces()
    np.testing.assert_allclose(
        got, (logs - logs.max())[(edges[:-1] * 512).astype(int)], rtol=1e-12, atol=1e-11
    )


@pytest.mark.parametrize("order", ["rising", "falling", "alternating"])
def test_growth_in_adverse_order(order):
    cuts = np.linspace(0, 1, 5001)[1:-1]
    if order == "falling":
        cuts = cuts[::-1]
    if order == "alternating":
        cuts = np.stack((cuts, cuts[::-1]), axis=1).ravel()[: cuts.size]
    tree = IntervalTree(0, 1)
    for x in cuts:
        tree.update(0, x, -1e-3)
    tree._check()
    assert len(tree) == 5000
    left = np.arange(2500, 5000)  # of the pieces in the right half; piece i is cut off 4999 - i times
    assert tree.integrate(0.5, 1) == pytest.approx(
        math.log((np.exp(-1e-3 * (4999 - left)) / 5000).sum()), abs=1e-13
    )


@pytest.mark.parametrize("n", [1, 2, 20, 21, 22, 42, 43, 441, 442, 443, 9261, 9262])
def test_built_trees_of_every_height(n):
    rng = np.random.default_rng(n)
    edges = np.concatenate(([0.0], np.cumsum(rng.random(n) + 0.01)))
    logs = rng.normal(size=n) * 100
    tree = IntervalTree.from_pieces(edges, logs)
    tree._check()
    got_edges, got = tree.pieces()
    assert got_edges.tolist() == edges.tolist()
    np.testing.assert_allclose(got, logs - logs.max(), rtol=1e-14, atol=1e-12)
    weights = np.exp(logs - logs.max()) * np.diff(edges)
    assert tree.share(edges[0], edges[n // 2 + 1]) == pytest.approx(
        weights[: n // 2 + 1].sum() / weights.sum(), rel=1e-12
    )
    for _ in range(200):  # and they go on growing
        lo, hi = np.sort(rng.uniform(0, edges[-1], 2))
        tree.update(lo, hi, rng.normal())
    tree._check()


def test_memory_is_linear_in_the_pieces():
    n = 20_000
    edges = np.linspace(0, 1, n + 1)
    tree = IntervalTree(0, 1)
    tree.update(edges[:-1], edges[1:], np.zeros(n))  # one call, which must not reserve for the worst
    tree._check()
    assert tree.nbytes < 300 * n
    few = IntervalTree(0, 1)
    for i in range(0, n, 10):
        few.update(edges[i], edges[i + 5], -1.0)
    assert few.nbytes < 300 * len(few)


# -- derived trees --------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [0.5, 2.0, 0.125, 0.7, 1.0])
def test_raised_to(power):
    tree, updates = grown(80, 2, 10.0)
    flat = FlatWeights(0, 1)
    for update in updates:
        flat.update(*update)
    before = fingerprint(tree)
    flat.raise_to(power)
    raised = tree.raised_to(power)
    raised._check()
    for lo, hi in [(0.0, 1.0), (0.1, 0.2), (0.5, 0.50001)]:
        assert relative_error(mass(raised, lo, hi), flat.mass(lo, hi)) < 1e-12
    assert fingerprint(tree) == before


def test_raising_by_powers_of_two_keeps_precision_at_depth():
    tree, flat = IntervalTree(0, 1), FlatWeights(0, 1)
    for lo, hi, log_factor in [(0.1, 0.6, -1e5), (0.3, 0.8, -1e4), (0.5, 0.55, -77777.7)]:
        tree.update(lo, hi, log_factor)
        flat.update(lo, hi, log_factor)
    for power in (0.5, 0.5, 2.0, 0.25):
        tree = tree.raised_to(power)
        flat.raise_to(power)
    for lo, hi in [(0.1, 0.3), (0.3, 0.5), (0.5, 0.55), (0.6, 0.8), (0.8, 1.0)]:
        assert relative_error(mass(tree, lo, hi), flat.mass(lo, hi)) < 1e-12


@pytest.mark.parametrize("n_pieces", [1, 2, 5, 50, 119, 10_000])
def test_joining_keeps_masses_within_the_stated_error(n_pieces):
    tree, _ = grown(60, 8, 0.3)
    before = fingerprint(tree)
    joined, error = tree.joined(n_pieces)
    joined._check()
    assert fingerprint(tree) == before
    assert len(joined) <= max(n_pieces, 1)
    edges, _ = tree.pieces()
    change = joined.log_shares(edges) - tree.log_shares(edges)
    assert np.abs(change).max() <= error + 1e-12
    assert np.abs(change).max() >= error - 1e-12  # and not stated too large
    own, _ = joined.pieces()
    assert set(own.tolist()) <= set(edges.tolist())
    np.testing.assert_allclose(joined.log_shares(own), tree.log_shares(own), atol=1e-12)
    if n_pieces >= len(tree):
        assert error == 0.0
        assert fingerprint(joined) == before


def test_joining_spends_its_error_where_it_is_cheap():
    # Nearly equal neighbours go first; the step of 100 stays.
    tree = IntervalTree.from_pieces(np.arange(7.0), np.array([0.0, 1e-3, 2e-3, 100.0, 100.001, 100.0]))
    joined, error = tree.joined(2)
    assert error < 2e-3
    assert joined.pieces()[0].tolist() == [0.0, 3.0, 6.0]
    assert tree.joined(1)[1] == pytest.approx(100 - math.log(2), abs=0.01)


def test_state_restores_to_the_bit():
    tree, _ = grown(300, 4, 5.0)
    again = IntervalTree.from_state(tree.state())
    assert fingerprint(again) == fingerprint(tree)
    rng = np.random.default_rng(0)
    for _ in range(300):
        lo, hi = random_interval(rng)
        u, factor = rng.random(), rng.normal()
        assert tree.draw(u) == again.draw(u)
        assert tree.integrate(lo, hi) == again.integrate(lo, hi)
        tree.update(lo, hi, factor)
        again.update(lo, hi, factor)
    assert fingerprint(again) == fingerprint(tree)


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))])
def test_copies_are_independent(clone):
    tree, _ = grown(100, 4)
    before = fingerprint(tree)
    copied = clone(tree)
    assert fingerprint(copied) == before
    for _ in range(100):
        copied.update(*random_interval(np.random.default_rng(0)), -1.0)
    copied._check()
    assert fingerprint(tree) == before
    assert fingerprint(copied) != before


def test_equal_histories_have_equal_states():
    # Nothing of what happened to be in memory before gets into a state, and so into a file.
    rubbish = [np.full(100_000, 7.0) for _ in range(5)]
    del rubbish
    assert fingerprint(grown(50, 1)[0]) == fingerprint(grown(50, 1)[0])


COLUMNS = {
    "key": range(kernels.KEY, kernels.KEY + kernels.FANOUT),
    "mass": range(kernels.MANT, kernels.MANT + kernels.FANOUT),
    "exponent": range(kernels.EXPO, kernels.EXPO + kernels.FANOUT),
    "child or tail": range(kernels.CHILD, kernels.CHILD + kernels.FANOUT),
    "used": [kernels.USED],
    "tag": [kernels.TAG_MANT],
    "tag's tail": [kernels.TAG_TAIL],
    "tag's exponent": [kernels.TAG_EXPO],
    "sum": [kernels.SUM_MANT],
    "sum's exponent": [kernels.SUM_EXPO],
}


@pytest.mark.parametrize("word", [-1, 1, 2**62, -(2**63), np.float64(NAN).view(np.int64)])
@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
def test_damaged_states_are_refused(columns, word):
    if columns == [kernels.TAG_TAIL] and word in (1, -(2**63)):
        return  # these are 5e-324 and -0.0, and any small number is a tail
    state = grown(400, 6)[0].state()["nodes"]
    state[1:, columns] = word
    with pytest.raises(ValueError, match="interval tree is broken"):
        IntervalTree.from_state({"nodes": state})


@pytest.mark.parametrize("value", [-1, 0, 10**6, 2**61, np.float64(NAN).view(np.int64)])
@pytest.mark.parametrize("position", range(6))
def test_damaged_heads_are_refused(position, value):
    state = grown(400, 6)[0].state()["nodes"]
    if state[kernels.HEAD, position] == value:
        return
    state[kernels.HEAD, position] = value
    with pytest.raises(ValueError, match="interval tree is broken"):
        IntervalTree.from_state({"nodes": state})


@pytest.mark.parametrize(
    "damage",
    [
        lambda state: state[:-1],
        lambda state: state[:1],
        lambda state: state[:0],
        lambda state: state[:, :-1],
        lambda state: state.ravel(),
        lambda state: state.astype(np.float64),
        lambda state: state[::-1],
        lambda state: np.concatenate((state, state[-1:])),
        lambda state: state[:, ::-1],
    ],
)
def test_states_of_another_form_are_refused(damage):
    with pytest.raises(ValueError, match="interval tree is broken"):
        IntervalTree.from_state({"nodes": damage(grown(400, 6)[0].state()["nodes"])})


# -- bad input ------------------------------------------------------------------------------------

BAD_INTERVALS = [
    ((0.5, 0.5), ValueError, "lo and hi must satisfy"),
    ((0.6, 0.5), ValueError, "lo and hi must satisfy"),
    ((-0.1, 0.5), ValueError, "lo and hi must satisfy 0 <= lo < hi <= 1"),
    ((0.5, 1.1), ValueError, "lo and hi must satisfy"),
    ((NAN, 0.5), ValueError, "lo and hi must satisfy"),
    ((0.5, NAN), ValueError, "lo and hi must satisfy"),
    ((-math.inf, math.inf), ValueError, "lo and hi must satisfy"),
    (([0.1, 0.5], [0.2]), ValueError, "lo and hi must have the same length"),
    (([[0.1]], [[0.2]]), ValueError, "lo and hi must have the same length"),
    (([0.5, 0.1], [0.6, 0.2]), ValueError, "disjoint"),
    (([0.1, 0.2], [0.3, 0.4]), ValueError, "disjoint"),
    (([0.1, NAN], [0.3, 0.4]), ValueError, "lo and hi must satisfy"),
    (("0.1", 0.5), TypeError, "lo must be a number"),
    ((0.1, "0.5"), TypeError, "hi must be a number"),
    ((None, 0.5), TypeError, "lo must be a number"),
]


@pytest.mark.parametrize(("ends", "error", "message"), BAD_INTERVALS)
def test_bad_intervals_are_refused_and_change_nothing(ends, error, message):
    tree, _ = grown(20, 0)
    before = fingerprint(tree)
    for operation in (tree.integrate, tree.share, lambda lo, hi: tree.update(lo, hi, -1.0)):
        with pytest.raises(error, match=message):
            operation(*ends)
    assert fingerprint(tree) == before


@pytest.mark.parametrize(
    ("factor", "error"),
    [
        (NAN, ValueError),
        (math.inf, ValueError),
        (-math.inf, ValueError),
        (1e300, ValueError),
        (-1e13, ValueError),
        ([1.0, 2.0], ValueError),
        ([], ValueError),
        ("1", TypeError),
        (None, TypeError),
    ],
)
def test_bad_factors_are_refused_and_change_nothing(factor, error):
    tree, _ = grown(20, 0)
    before = fingerprint(tree)
    with pytest.raises(error, match="log_factor must be"):
        tree.update(0.111, 0.222, factor)
    assert fingerprint(tree) == before


@pytest.mark.parametrize(
    ("u", "error"),
    [
        (-0.1, ValueError),
        (1.0, ValueError),
        (NAN, ValueError),
        (math.inf, ValueError),
        ("0.5", TypeError),
        (None, TypeError),
    ],
)
def test_bad_uniforms_are_refused(u, error):
    with pytest.raises(error, match="u must be"):
        IntervalTree(0, 1).draw(u)


@pytest.mark.parametrize(
    ("ends", "error"),
    [
        ((1, 0), ValueError),
        ((0, 0), ValueError),
        ((NAN, 1), ValueError),
        ((0, math.inf), ValueError),
        ((-1.7e308, 1.7e308), ValueError),
        (("0", 1), TypeError),
    ],
)
def test_bad_lines_are_refused(ends, error):
    with pytest.raises(error, match=r"lo|hi"):
        IntervalTree(*ends)


@pytest.mark.parametrize(
    ("edges", "logs", "message"),
    [
        ([0, 1], [NAN], "log_weights"),
        ([0, 1], [math.inf], "log_weights"),
        ([0, 1], [1e300], "log_weights"),
        ([0, 1], [1, 2], "log_weights must have 1 entries"),
        ([0, 1, 1], [1, 2], "edges must be strictly increasing"),
        ([1, 0], [1], "edges must be strictly increasing"),
        ([0], [], "edges must be strictly increasing"),
        ([], [], "edges must be strictly increasing"),
        ([0, NAN], [1], "edges must be finite"),
        ([-1.7e308, 1.7e308], [1], "edges must be a finite distance apart"),
    ],
)
def test_bad_pieces_are_refused(edges, logs, message):
    with pytest.raises(ValueError, match=message):
        IntervalTree.from_pieces(edges, logs)


@pytest.mark.parametrize("power", [0.0, -1.0, NAN, math.inf, "2"])
def test_bad_powers_are_refused(power):
    with pytest.raises((ValueError, TypeError), match="power must be"):
        IntervalTree(0, 1).raised_to(power)


@pytest.mark.parametrize("n_pieces", [0, -1, 1.5, NAN, True, None])
def test_bad_limits_are_refused(n_pieces):
    with pytest.raises((ValueError, TypeError), match="n_pieces must be"):
        IntervalTree(0, 1).joined(n_pieces)


@pytest.mark.parametrize("edges", [[0.5, 0.2], [0, 2], [0, NAN], [[0, 1]]])
def test_bad_edges_for_log_shares(edges):
    with pytest.raises(ValueError, match="must"):
        IntervalTree(0, 1).log_shares(edges)
