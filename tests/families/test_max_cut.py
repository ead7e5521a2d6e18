"""Rounding of the relaxation of maximum cuts: the definition, and the relaxation against a solver."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semibandit as sb
from families.pieces import assert_feedback_agrees
from semibandit.families.max_cut import relaxation


def graph(seed, n, density=0.5):
    rng = np.random.default_rng(seed)
    upper = np.triu((rng.random((n, n)) < density) * rng.random((n, n)), k=1)
    return upper + upper.T


def is_right(problem, rho):
    """The rule as the docs state it."""
    y, q = problem.vectors @ problem.normal, problem.thresholds
    if problem.rounding == "s-linear":
        return np.clip(y / rho, -1.0, 1.0) >= q
    return y * math.cos(rho) - q * math.sin(rho) >= 0.0


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 7),
    st.integers(0, 10**6),
    st.sampled_from(["s-linear", "outward"]),
    st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=7, max_size=7) | st.none(),
    st.booleans(),
)
def test_sides_are_those_of_the_definition(n, seed, rounding, thresholds, is_axis):
    weights = graph(seed, n)
    axes = {"vectors": np.eye(n)[np.arange(n) % 2], "normal": [1.0, -0.5, *[0.0] * n][:n]} if is_axis else {}
    thresholds = None if thresholds is None else thresholds[:n]
    problem = sb.MaxCut(weights, rounding=rounding, thresholds=thresholds, seed=seed, **axes)
    losses = assert_feedback_agrees(problem)
    assert len(losses) <= n + 1
    for lo, hi in itertools.pairwise(losses.edges.tolist()):
        rho = 0.5 * (lo + hi)
        right = is_right(problem, rho)
        assert problem.sides(rho).tolist() == right.tolist()
        cut = sum(weights[i, j] for i in range(n) for j in range(i) if right[i] != right[j])
        assert problem.cut(rho) == pytest.approx(cut)
        total = weights.sum() / 2
        assert losses(rho) == pytest.approx(1 - cut / total if total else 0.0, abs=1e-12)
    sb.testing.check_problem(problem, n_points=9)


@pytest.mark.parametrize("rounding", ["s-linear", "outward"])
def test_the_expected_cut_is_the_mean_over_thresholds(rounding):
    weights = graph(3, 8)
    problem = sb.MaxCut(weights, rounding=rounding, seed=1)
    rng = np.random.default_rng(2)
    known = {"rounding": rounding, "vectors": problem.vectors, "normal": problem.normal}
    for rho in (0.0, 0.4, 1.2):
        cuts = []
        for _ in range(3000):
            q = rng.uniform(-1, 1, 8) if rounding == "s-linear" else rng.standard_normal(8)
            cuts.append(sb.MaxCut(weights, thresholds=q, **known).cut(rho))
        error = 4 * np.std(cuts) / math.sqrt(len(cuts)) + 1e-9
        assert problem.expected_cut(rho) == pytest.approx(np.mean(cuts), abs=error)


def test_a_random_hyperplane_cuts_as_goemans_and_williamson_guarantee():
    weights = graph(5, 14)
    vectors, maximum = relaxation(weights)
    cuts = [sb.MaxCut(weights, vectors=vectors, seed=seed).cut(0.0) for seed in range(2000)]
    error = 4 * np.std(cuts) / math.sqrt(len(cuts))
    assert 0.878 * maximum - error <= np.mean(cuts) <= maximum


def test_the_relaxation_bounds_all_cuts():
    for seed in range(5):
        weights = graph(seed, 9)
        _, maximum = relaxation(weights)
        best = 0.0
        for sides in itertools.product([0, 1], repeat=9):
            right = np.array(sides, bool)
            best = max(best, weights[np.ix_(right, ~right)].sum())
        assert best <= maximum * (1 + 1e-6)
        assert maximum <= 1.2 * best
    assert relaxation([[0, 1e-200], [1e-200, 0]])[1] == pytest.approx(1e-200)
    assert relaxation([[0.0]])[1] == 0.0


@pytest.mark.parametrize(("seed", "n", "density"), [(0, 6, 1.0), (1, 15, 0.4), (2, 25, 0.2), (3, 20, 0.9)])
def test_the_relaxation_is_that_of_an_interior_point_solver(seed, n, density):
    clarabel = pytest.importorskip("clarabel", reason="needs clarabel to solve the semidefinite program")
    from scipy import sparse

    weights = graph(seed, n, density)
    # Minimise ⟨W, X⟩ / 4 over X ⪰ 0 with a diagonal of ones; X is its scaled upper triangle, by columns.
    pairs = [(i, j) for j in range(n) for i in range(j + 1)]
    scale = np.array([1.0 if i == j else math.sqrt(2.0) for i, j in pairs])
    q = np.array([weights[i, j] for i, j in pairs]) * scale / 4
    diagonal = [index for index, (i, j) in enumerate(pairs) if i == j]
    unit = sparse.csc_matrix((np.ones(n), (range(n), diagonal)), shape=(n, len(pairs)))
    A = sparse.vstack([unit, -sparse.identity(len(pairs))]).tocsc()
    b = np.concatenate([np.ones(n), np.zeros(len(pairs))])
    cones = [clarabel.ZeroConeT(n), clarabel.PSDTriangleConeT(n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    P = sparse.csc_matrix((len(pairs), len(pairs)))
    solved = clarabel.DefaultSolver(P, q, A, b, cones, settings).solve()
    assert relaxation(weights)[1] == pytest.approx(weights.sum() / 4 - solved.obj_val, rel=1e-5)


def test_three_groups_are_better_cut_off_the_hyperplane():
    for rounding in ("s-linear", "outward"):
        problems = list(sb.streams.max_cut("groups", 60, rounding=rounding, seed=0))
        at_zero, inside = (
            np.mean([p.expected_cut(rho) / p.cut(0.0) for p in problems]) for rho in (0.0, 0.4)
        )
        assert inside > at_zero


def test_bad_arguments_are_refused():
    square = [[0, 1], [1, 0]]
    for weights, message in [
        ([[0, 1]], "weights must be a square matrix"),
        ([[0, 1], [2, 0]], "weights must be a symmetric matrix with a zero diagonal"),
        ([[1, 0], [0, 1]], "weights must be a symmetric matrix with a zero diagonal"),
        ([[0, -1], [-1, 0]], r"weights must be in \[0, 1e\+100\]"),
        ([[0, math.nan], [math.nan, 0]], r"weights must be in \[0, 1e\+100\]"),
        (np.zeros((0, 0)), "weights must be a square matrix"),
    ]:
        with pytest.raises(ValueError, match=message):
            sb.MaxCut(weights)
    for options, message in [
        ({"space": sb.Interval(-1, 1)}, "space must be in"),
        ({"space": sb.Interval(0, 2), "rounding": "outward"}, r"space must be in \[0, π/2\]"),
        ({"rounding": "cubic"}, "rounding must be one of 's-linear', 'outward'"),
        ({"thresholds": [0, 2]}, r"thresholds must be in \[-1, 1\]"),
        ({"thresholds": [0]}, "thresholds must have 2 entries, got 1"),
        ({"normal": [1] * 7}, "normal must have 2 entries, got 7"),
        ({"vectors": [[1, 1], [1, 0]]}, "vectors must have rows of length 1"),
        ({"vectors": [[1, 0]]}, "vectors must have a row for each of the 2 vertices"),
    ]:
        with pytest.raises(ValueError, match=message):
            sb.MaxCut(square, **options)
    with pytest.raises(ValueError, match="tolerance must be finite and > 0"):
        relaxation(square, tolerance=0)
