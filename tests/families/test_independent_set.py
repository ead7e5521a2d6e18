"""Greedy independent sets against exact arithmetic, and their three kinds of feedback against each other."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semibandit as sb
from reference import independent_set as reference

SPACE = sb.Interval(0, 2)


def random_graph(rng, n, p):
    return [(i, j) for i in range(n) for j in range(i) if rng.random() < p]


def instances():
    """Name -> (weights, edges): each a way in which comparisons can go wrong."""
    rng = np.random.default_rng(5)
    graph = random_graph(rng, 9, 0.4)
    star = [(0, i) for i in range(1, 8)]
    return {
        "random": (rng.random(9) + 0.1, graph),
        "integer": (rng.integers(1, 9, 9), graph),
        "equal weights": (np.full(9, 2.0), graph),
        "powers of two": (2.0 ** rng.integers(0, 3, 9), graph),
        "star": ([5.0, 1, 1, 1, 1, 1, 1, 2], star),
        "path": ([2, 3, 2, 3, 2, 4], [(i, i + 1) for i in range(5)]),
        "cycle": ([1, 2, 3, 1, 2, 3], [(i, (i + 1) % 6) for i in range(6)]),
        "complete": (rng.random(6) + 0.5, list(itertools.combinations(range(6), 2))),
        "no edges": (rng.random(4) + 0.5, []),
        "one vertex": ([3.0], []),
        "far apart": (10.0 ** rng.uniform(-5, 5, 9), graph),
        "weights as degrees": (1.0 + np.bincount(np.ravel(graph), minlength=9), graph),
    }


INSTANCES = instances()


@pytest.fixture(params=INSTANCES, ids=lambda name: name.replace(" ", "-"))
def instance(request):
    return INSTANCES[request.param]


@pytest.fixture(params=[False, True], ids=["static", "adaptive"])
def adaptive(request):
    return request.param


def assert_matches_reference(weights, edges, adaptive, space=SPACE):
    problem = sb.IndependentSet(weights, edges, space, adaptive=adaptive)
    expected = reference.pieces(weights, edges, space.lo, space.hi, adaptive)
    losses = problem.losses()
    assert len(losses) == len(expected)
    np.testing.assert_allclose(losses.edges[:-1], [float(start) for start, _ in expected], rtol=1e-12)
    for rho, loss, (_, taken) in zip(losses.edges[:-1], losses.values, expected, strict=True):
        solution = problem.solve(rho)
        assert set(np.flatnonzero(solution.mask)) == taken == set(solution.order)
        weight = math.fsum(float(weights[v]) for v in taken)
        assert solution.value == pytest.approx(weight)
        assert loss == pytest.approx(1 - weight / problem.bound, abs=1e-12)
        # The piece, from both of its ends.
        lo, hi = losses.piece(rho).edges
        assert problem.reveal(rho).domain == ((lo, hi),)
        assert problem.reveal(math.nextafter(hi, -math.inf)).domain == ((lo, hi),)


def test_losses_are_those_of_exact_arithmetic(instance, adaptive):
    assert_matches_reference(*instance, adaptive)


@settings(max_examples=25, derandomize=True, deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12),
    st.booleans(),
    st.sampled_from([SPACE, sb.Interval(-1.5, 1)]),
)
def test_losses_are_exact_for_small_graphs(weights, pairs, adaptive, space):
    n = len(weights)
    edges = [(a, b) for a, b in pairs if a != b and a < n and b < n]
    assert_matches_reference(weights, edges, adaptive, space)


def test_no_independent_set_exceeds_the_bound():
    rng = np.random.default_rng(9)
    for _ in range(20):
        n = 9
        edges = random_graph(rng, n, 0.35)
        problem = sb.IndependentSet(rng.random(n) + 0.01, edges)
        near = reference.neighbours(n, edges)
        best = max(
            sum(problem.weights[list(chosen)])
            for size in range(n + 1)
            for chosen in itertools.combinations(range(n), size)
            if not any(near[v] & set(chosen) for v in chosen)
        )
        assert best <= problem.bound + 1e-12 <= problem.weights.sum() + 2e-12
