"""Greedy knapsack against exact arithmetic, and its three kinds of feedback against each other."""

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semibandit as sb
from reference import knapsack as reference
from semibandit.families.greedy.order import critical

SPACE = sb.Interval(0, 10)


def instances():
    """Name -> (values, sizes, capacity): each a way in which comparisons and sums can go wrong."""
    rng = np.random.default_rng(7)
    n = 14
    sizes = rng.integers(1, 30, n)
    small = rng.integers(1, 5, (2, n))
    powers = rng.integers(0, 4, (2, n))
    found = {
        "random": (rng.random(n), rng.random(n), 2.0),
        "integer": (rng.integers(1, 30, n), sizes, 70),
        "few distinct": (small[0], small[1], 12),
        "equal sizes": (rng.random(n), np.full(n, 2.0), 9),
        "equal values": (np.full(n, 3.0), sizes, 60),
        "equal ratios": (sizes * 3, sizes, 61),
        "subset sum": (sizes, sizes, 77),
        "duplicates": (np.repeat(rng.random(7), 2), np.repeat(rng.random(7), 2), 1.7),
        "meeting at log 2 / log 3": (2.0 ** powers[0], 3.0 ** powers[0], 40),
        "meeting at 2 and 1/2": (
            2.0 ** powers[0] * 3.0 ** powers[1],
            4.0 ** powers[0] * 9.0 ** powers[1],
            900,
        ),
        "zero values": (np.where(rng.random(n) < 0.5, 0.0, rng.random(n)), sizes, 60),
        "all worthless": (np.zeros(n), sizes, 60),
        "oversized": (rng.integers(1, 30, n), np.where(rng.random(n) < 0.4, 100, sizes), 50),
        "nothing fits": (rng.random(n), sizes, 0.5),
        "everything fits": (rng.random(n), sizes, 1e4),
        "no capacity": (rng.random(n), sizes, 0),
        "close sizes": (rng.random(n), 1.0 + 1e-9 * rng.random(n), 5.2),
        "far apart": (10.0 ** rng.uniform(-9, 9, n), 10.0 ** rng.uniform(-9, 9, n), 1e5),
        "forty": (rng.random(40), rng.random(40), 6.0),
        "forty correlated": ((size := rng.integers(1, 1000, 40).astype(float)) + 100, size, 5000.0),
        "one": ([3.0], [2.0], 2.0),
        "two": ([3.0, 5.0], [2.0, 3.0], 4.0),
    }
    for k in range(6):
        m = 2 + k * 2
        found[f"small random {k}"] = (
            rng.integers(0, 12, m),
            rng.integers(1, 12, m),
            int(rng.integers(1, 40)),
        )
    return found


INSTANCES = instances()


@pytest.fixture(params=INSTANCES, ids=lambda name: name.replace(" ", "-").replace("/", "over"))
def instance(request):
    return INSTANCES[request.param]


def assert_matches_reference(values, sizes, capacity, partition, space=SPACE):
    problem = sb.Knapsack(values, sizes, capacity, space=space, partition=partition)
    expected = reference.pieces(values, sizes, capacity, space.lo, space.hi, partition)
    losses = problem.losses()
    assert len(losses) == len(expected)
    starts = np.array([float(start) for start, _ in expected])
    np.testing.assert_allclose(losses.edges[:-1], starts, rtol=1e-12, atol=0)
    bound = reference.bound(values, sizes, capacity)
    for rho, loss, (_, chosen) in zip(losses.edges[:-1], losses.values, expected, strict=True):
        assert set(np.flatnonzero(problem.solve(rho).mask)) == chosen
        worth = sum(float(values[i]) for i in chosen)
        assert loss == pytest.approx(1 - worth / float(bound) if bound else 0.0, abs=1e-12)


@pytest.mark.parametrize("partition", ["output", "order"])
def test_losses_are_those_of_exact_arithmetic(instance, partition):
    assert_matches_reference(*instance, partition)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=9),
    st.integers(0, 30),
    st.sampled_from(["output", "order"]),
    st.sampled_from([SPACE, sb.Interval(-3, 2.5)]),
)
def test_losses_are_exact_for_small_integers(items, capacity, partition, space):
    values, sizes = zip(*items, strict=True)
    assert_matches_reference(values, sizes, capacity, partition, space)


def test_critical_values_are_correctly_rounded_to_43_bits():
    rng = np.random.default_rng(11)
    integers = rng.integers(1, 50, (1500, 4)).astype(float)
    uniform = rng.random((1500, 4))
    wide = np.exp(rng.uniform(-700, 700, (500, 4)))
    base = rng.random((500, 2))
    close = np.column_stack((base[:, 0], base[:, 1], base * (1 + 1e-11 * rng.random((500, 2)))))
    powers = 3.0 ** rng.integers(1, 9, (500, 2))
    doubling = np.column_stack((powers[:, 0], powers[:, 0] ** 2, powers[:, 1], powers[:, 1] ** 2))
    for vi, si, vj, sj in np.concatenate((integers, uniform, wide, close, doubling)).tolist():
        if si == sj:
            continue
        exact = reference.critical(vi, si, vj, sj)
        with mp.workprec(43):
            expected = float(+exact)
        assert critical(vi, si, vj, sj) == expected == critical(vj, sj, vi, si)


def nearby(function, rng):
    """Breakpoints, their neighbours to the ulp, both ends, and random points between."""
    edges = function.edges
    inner = edges[1:-1] if edges.size < 60 else rng.choice(edges[1:-1], 60, replace=False)
    beside = [np.nextafter(inner, -math.inf), inner, np.nextafter(inner, math.inf)]
    grid = inner * (1 + 2.0**-43)
    points = np.concatenate((*beside, grid, edges[[0, -1]], rng.uniform(edges[0], edges[-1], 40)))
    return points[(points >= edges[0]) & (points <= edges[-1])].tolist()


@pytest.mark.parametrize("partition", ["output", "order"])
def test_reveal_is_the_piece_of_losses(instance, partition):
    problem = sb.Knapsack(*instance, space=SPACE, partition=partition)
    losses = problem.losses()
    for rho in nearby(losses, np.random.default_rng(1)):
        assert problem.reveal(rho) == losses.piece(rho)
        assert problem.loss(rho) == losses(rho)


@pytest.mark.parametrize(
    ("values", "sizes"),
    [
        (np.random.default_rng(0).random(700), np.random.default_rng(1).random(700)),
        (np.random.default_rng(0).integers(1, 9, 700), np.random.default_rng(1).integers(1, 9, 700)),
        (np.arange(1, 701), np.arange(1, 701)),
        (np.arange(1, 701) ** 2, np.arange(1, 701)),
        (np.arange(1, 701) + 100, np.arange(1, 701)),
    ],
    ids=["random", "tied", "subset sum", "meeting at 2", "correlated"],
)
def test_reveal_is_the_piece_of_losses_for_many_items(values, sizes):
    """Sizes at which sorts merge, bounds are raised often, and all items may meet in one point."""
    problem = sb.Knapsack(values, sizes, float(np.sum(sizes)) / 3)
    losses = problem.losses()
    for rho in nearby(losses, np.random.default_rng(2)):
        piece = losses.piece(rho)
        lo, hi, loss = *piece.edges.tolist(), *piece.values.tolist()
        assert problem.reveal(rho) == sb.PiecewiseConstant.constant(lo, hi, loss)
        fine = problem.reveal(rho, partition="order")
        assert lo <= fine.edges[0] <= rho <= fine.edges[1] <= hi
    masks = [problem.solve(start).mask for start in losses.edges[:-1]]
    assert all((a != b).any() for a, b in itertools.pairwise(masks))


def test_solve_gives_mask_value_and_order():
    problem = sb.Knapsack([0, 6, 5, 0, 4], [1, 5, 4, 1, 3], 8)
    solution = problem.solve(1.0)
    mask, value = solution
    assert mask.tolist() == [True, False, True, False, True] == solution.mask.tolist()
    assert value == 9.0 == solution.value
    assert solution.order.tolist() == [4, 2, 1, 0, 3]
    assert problem.solve(0.0).order.tolist() == [1, 2, 4, 0, 3]


def test_sizes_are_added_exactly():
    """In double precision the sum of three sizes depends on the order, and so would what fits."""
    sizes = [0.1, 0.2, 0.3, 0.6 - 2**-53]
    values = [1.0, 1.1, 1.3, 1.01]
    assert_matches_reference(values, sizes, 0.6, "output")
    assert sb.Knapsack([1.0] * 10, [0.1] * 10, 1.0).solve(1.0).mask.sum() == 9
    assert sb.Knapsack([1.0] * 640, [0.1] * 640, 64).solve(1.0).mask.sum() == 639
    for sizes, capacity in (([0.1, 3], 1e300), ([1e-300, 1.0], 1.0)):
        assert sb.Knapsack([1, 2], sizes, capacity).solve(1.0).mask.all()


def test_losses_of_each_kind():
    values, sizes = [0.9, 0.5, 0.4], [3.0, 2.0, 1.0]
    plain, paper, utility = (
        sb.Knapsack(values, sizes, 3, loss=kind) for kind in ("normalised", "paper", "utility")
    )
    rho = 3.0  # 0.4 + 0.5 are selected; the relaxation takes 0.4 + 2/3 of 0.9
    assert plain.loss(rho) == pytest.approx(0.1)
    assert paper.loss(rho) == pytest.approx(2.1)
    assert utility.loss(rho) == pytest.approx(0.9)
    assert (plain.high, paper.high, utility.high) == (1.0, 3.0, utility.bound)
    assert (plain.maximize, paper.maximize, utility.maximize) == (False, False, True)
    assert utility.losses().edges.tolist() == plain.losses().edges.tolist()
    for problem in (plain, paper, utility):
        sb.testing.check_problem(problem)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"sizes": [1, 0]}, ValueError, r"sizes must be > 0, got sizes\[1\] = 0.0"),
        ({"sizes": [1, math.nan]}, ValueError, r"sizes\[1\] = nan"),
        ({"sizes": [1, math.inf]}, ValueError, r"sizes\[1\] = inf"),
        ({"values": [math.nan, 1]}, ValueError, r"values\[0\] = nan"),
        ({"sizes": [1, 2, 3]}, ValueError, "sizes must have 2 entries, got 3"),
        ({"sizes": [[1, 2]]}, ValueError, "sizes must be one-dimensional"),
        ({"values": [1, -1]}, ValueError, r"values\[1\] = -1.0"),
        ({"values": [1e308, 1e308]}, ValueError, "values must have a finite sum"),
        ({"values": [], "sizes": []}, ValueError, "at least one"),
        ({"capacity": -1}, ValueError, "capacity must be finite and >= 0, got -1.0"),
        ({"space": (0, 10)}, TypeError, "space must be an Interval"),
        ({"loss": "other"}, ValueError, "loss must be one of"),
        ({"partition": "set"}, ValueError, "partition must be one of"),
        ({"loss": "paper", "values": [50, 2]}, ValueError, "loss='paper'"),
    ],
)
def test_bad_arguments_are_refused(change, error, message):
    arguments = {"values": [1, 2], "sizes": [1, 2], "capacity": 3} | change
    with pytest.raises(error, match=message):
        sb.Knapsack(**arguments)


@pytest.mark.parametrize("n", [6, 60])
def test_sums_of_sizes_within_a_last_bit_of_the_capacity_are_exact(n):
    rng = np.random.default_rng(n)
    for trial in range(40):
        sizes = rng.random(n) * 2.0 ** rng.integers(-30, 1, n)
        values = np.arange(n, 0.0, -1.0)
        exact = sum(map(Fraction, sizes[:-1].tolist()))
        for capacity in (float(exact), math.nextafter(float(exact), 0), math.nextafter(float(exact), 9e9)):
            chosen = set(np.flatnonzero(sb.Knapsack(values, sizes, capacity).solve(0.0).mask))
            assert chosen == reference.greedy(sizes, capacity, range(n)), trial


@pytest.mark.parametrize(
    "ends", [(1e10, 1e10 + 1e-5), (1.0, 1.000000000000001), (0.0, 5e-324), (-3.0, -3.0 + 1e-15)]
)
def test_spaces_of_a_few_doubles_can_be_played(ends):
    random = np.random.default_rng(0)
    for _ in range(20):
        values, sizes = random.integers(1, 9, 12), random.integers(1, 9, 12)
        problem = sb.Knapsack(values, sizes, 20, space=sb.Interval(*ends))
        losses = problem.losses()
        assert len(losses) < 50
        for rho in ends:
            assert problem.loss(rho) == losses(rho) == problem.reveal(rho)(rho)


def test_bound_does_not_underflow():
    problem = sb.Knapsack([1e307, 1e-100], [1e200, 1e-200], 1e-200)
    assert problem.bound >= problem.solve(0.0).value == 1e-100
    assert problem.bound >= 1e-94
