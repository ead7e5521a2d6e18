"""Linkage with two metrics: rows against one metric, sets against a union of pieces."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import semibandit as sb
from reference import metric_linkage as reference
from semibandit.clustering import KMeansCost, TargetDistance
from semibandit.families.linkage.connected import MixedDistances, TreeSearch
from semibandit.families.linkage.metric import LINKAGES

UNIT = 2.0**-49  # that of 9 to 16 rows
KINDS = ("random", "close", "euclidean", "integers", "zeros", "all equal")


def metrics(kind, n, seed=0):
    rng = np.random.default_rng([seed, n, KINDS.index(kind)])
    if kind == "euclidean":
        return tuple(squareform(pdist(rng.normal(size=(n, 2)))) for _ in range(2))
    base = rng.random((n, n))
    draw = {
        "random": lambda: rng.random((n, n)),
        "close": lambda: base + 0.02 * rng.random((n, n)),
        "integers": lambda: rng.integers(1, 6, (n, n)).astype(float),
        "zeros": lambda: rng.integers(0, 3, (n, n)).astype(float),
        "all equal": lambda: np.full((n, n), rng.random()),
    }[kind]
    upper = [np.triu(draw(), 1) for _ in range(2)]
    return tuple(u + u.T for u in upper)


def labels(n, k=3, seed=0):
    return np.random.default_rng(seed).permutation(np.arange(n) % min(k, n))


def rows_of(k):
    return sb.Strips(k, sb.Interval(0, 1))


def point_of(piece, rng):
    """A random ρ of a piece (row, lo, hi, ...)."""
    lo, hi = piece[1], min(piece[2], 1.0)
    rho = lo + rng.random() * (hi - lo)
    return float(rho) if lo <= rho < hi else lo


# -- the revealed set ------------------------------------------------------------------------------------


def search(d0, d1, alphas, kind=0):
    return TreeSearch(MixedDistances(d0, d1, alphas), kind, UNIT)


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_connected_set_is_that_of_the_reference(kind, linkage):
    rng = np.random.default_rng(1)
    for seed, (n, k) in enumerate([(1, 2), (2, 3), (3, 4), (4, 6), (5, 5), (6, 4), (7, 3)]):
        d0, d1 = metrics(kind, n, seed)
        alphas = rows_of(k).alphas
        one = search(d0, d1, alphas, LINKAGES.index(linkage))
        pieces = reference.pieces(d0.tolist(), d1.tolist(), alphas, linkage, UNIT)
        for part in reference.components(pieces):
            start = part[rng.integers(len(part))]
            _, found = one.connected(start[0], point_of(start, rng))
            assert sorted(found) == sorted(piece[:3] for piece in part)


@pytest.mark.parametrize("partition", ["tree", "loss"])
def test_loss_reveal_and_losses_agree_beside_every_edge(partition):
    """Pieces may be narrower than the spacing of doubles on the line of the rows."""
    for seed in range(0, 60, 2):
        rng = np.random.default_rng(seed)
        n, k = int(rng.integers(3, 7)), int(rng.integers(2, 7))
        d0, d1 = (np.triu(rng.integers(1, 6, (n, n)) * 1.0, 1) for _ in range(2))
        target = TargetDistance(rng.integers(0, 2, n))
        problem = sb.MetricLinkage(d0 + d0.T, d1 + d1.T, target, space=rows_of(k), partition=partition)
        space, whole = problem.space, problem.losses()
        for row, alpha in enumerate(space.alphas):
            for edge in space.row(whole, row).edges[:-1].tolist():
                for rho in (edge, math.nextafter(edge, 0), math.nextafter(edge, 1)):
                    at = space.place(rho, alpha)
                    assert problem.reveal(rho, alpha)(at) == whole(at) == problem.loss(rho, alpha)


# -- rows ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("linkage", LINKAGES)
def test_a_row_is_the_family_with_one_metric(linkage):
    rng = np.random.default_rng(6)
    for kind in KINDS:
        d0, d1 = metrics(kind, 10, 2)
        for cost in (TargetDistance(labels(10)), KMeansCost(2)):
            problem = sb.MetricLinkage(d0, d1, cost, linkage, space=rows_of(5))
            whole = problem.losses()
            for row, alpha in enumerate(problem.space.alphas):
                one = sb.Linkage((1 - alpha) * d0 + alpha * d1, cost, linkage)
                plain = problem.space.row(whole, row)
                assert len(plain) == len(one.losses())
                np.testing.assert_allclose(plain.edges, one.losses().edges, atol=1e-12)
                np.testing.assert_allclose(plain.values, one.losses().values, atol=1e-12)
                rho = float(rng.random())
                expected, seen = one.reveal(rho), problem.space.row(problem.reveal(rho, alpha), row)
                around = next(s for s in seen.domain if s[0] <= rho <= s[1])
                np.testing.assert_allclose(around, expected.domain[0], atol=1e-12)
                assert seen(rho) == pytest.approx(expected(rho))
                np.testing.assert_allclose(problem.tree(rho, alpha), one.tree(rho), atol=1e-12)


# -- bad input ----------------------------------------------------------------------------


def test_bad_arguments_are_refused():
    d0, d1 = metrics("random", 4)
    cost = TargetDistance([0, 0, 1, 1])
    with pytest.raises(ValueError, match="d0 and d1 must be distances of the same points"):
        sb.MetricLinkage(d0, d1[:3, :3], cost)
    with pytest.raises(ValueError, match="d1 must be symmetric"):
        sb.MetricLinkage(d0, np.triu(d1), cost)
    with pytest.raises(TypeError, match="cost must be a callable"):
        sb.MetricLinkage(d0, d1, 3)
    with pytest.raises(ValueError, match="linkage must be one of"):
        sb.MetricLinkage(d0, d1, cost, "single-average")
    with pytest.raises(TypeError, match="space must be Strips"):
        sb.MetricLinkage(d0, d1, cost, space=sb.Interval(0, 1))
    with pytest.raises(ValueError, match=r"rows of Interval\(0, 1\)"):
        sb.MetricLinkage(d0, d1, cost, space=sb.Strips(3, sb.Interval(0, 2)))
    with pytest.raises(ValueError, match="alpha in"):
        sb.MetricLinkage(d0, d1, cost, space=sb.Strips(3, sb.Interval(0, 1), sb.Interval(-1, 1)))
    problem = sb.MetricLinkage(d0, d1, cost, space=rows_of(3))
    with pytest.raises(ValueError, match="alpha must be that of a row"):
        problem.reveal(0.5, 0.3)
    with pytest.raises(ValueError, match="alpha must be in"):
        problem.loss(0.5, 1.3)
    with pytest.raises(ValueError, match="rho must be in"):
        problem.reveal(-0.1, 0.5)
    with pytest.raises(ValueError, match="labels must have one entry"):
        sb.MetricLinkage(d0, d1, TargetDistance([0, 1]))


def test_the_ends_of_alpha_are_the_two_metrics():
    d0, d1 = metrics("random", 12, 3)
    problem = sb.MetricLinkage(d0, d1, TargetDistance(labels(12)))
    for alpha, D in ((0.0, d0), (1.0, d1)):
        np.testing.assert_array_equal(problem.distances(alpha), D)
        np.testing.assert_array_equal(problem.tree(0.25, alpha), sb.Linkage(D, problem.cost).tree(0.25))
