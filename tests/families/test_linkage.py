"""ρ-linkage against the exact reference: trees, pieces, ties, and what users may get wrong."""

import math

import numpy as np
import pytest
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist, squareform

import semibandit as sb
from reference import linkage as reference
from semibandit.clustering import KMeansCost, TargetDistance
from semibandit.families.linkage import pieces
from semibandit.families.linkage.distances import Distances
from semibandit.families.linkage.linkage import LINKAGES

LAST = reference.LAST
KINDS = ("euclidean", "grid", "city blocks", "integers", "duplicates", "all equal", "random")


def instance(kind, n, seed=0):
    rng = np.random.default_rng([seed, n, KINDS.index(kind)])
    if kind == "euclidean":
        return squareform(pdist(rng.normal(size=(n, 2))))
    if kind == "grid":
        return squareform(pdist(rng.integers(0, 3, size=(n, 2)).astype(float)))
    if kind == "city blocks":
        return squareform(pdist(rng.integers(0, 5, size=(n, 2)).astype(float), "cityblock"))
    if kind == "duplicates":
        return squareform(pdist(rng.normal(size=(n, 2))[rng.integers(0, max(n // 2, 1), n)]))
    if kind == "all equal":
        return np.full((n, n), 0.3) * (1 - np.eye(n))
    low = 1 if kind == "integers" else 0
    upper = np.triu(rng.integers(low, 5, (n, n)) if kind == "integers" else rng.random((n, n)), 1)
    return (upper + upper.T).astype(float)


class Recorder:
    """A cost that tells trees (or, in order, sequences) apart: their number, scaled."""

    def __init__(self, in_order=False):
        self.seen, self.calls, self.in_order = [], 0, in_order

    def __call__(self, distances, Z):
        self.calls += 1
        clusters = reference.clusters_of(Z)
        self.seen.append(tuple(clusters) if self.in_order else frozenset(clusters))
        assert len(set(self.seen)) == len(self.seen), "the same output twice"
        assert (np.diff(Z[:, 2]) >= 0).all()
        return (len(self.seen) - 1) / 1e6

    def output(self, loss):
        return self.seen[round(loss * 1e6)]


def expected(D, linkage, partition):
    output = reference.tree_of if partition == "tree" else reference.sequence_of
    return reference.pieces(D, linkage, output)


# -- trees -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_tree_is_that_of_the_reference(kind, linkage):
    for n, rhos in [(2, [0.4]), (3, [0.0, 1.0]), (9, [0.0, 0.25, 1 / 3, 0.5, LAST, 1.0]), (26, [0.6])]:
        D = instance(kind, n)
        problem = sb.Linkage(D, KMeansCost(1), linkage)
        for rho in rhos:
            Z = problem.tree(rho)
            rows = reference.linkage_matrix(D, rho, linkage)
            assert [(a, b, size) for a, b, _, size in rows] == [(a, b, s) for a, b, _, s in Z.tolist()]
            np.testing.assert_allclose(Z[:, 2], [float(row[2]) for row in rows], rtol=1e-14)


def test_trees_at_both_ends_are_scipys():
    D = instance("euclidean", 150)
    for linkage in LINKAGES:
        problem = sb.Linkage(D, KMeansCost(2), linkage)
        for rho, method in zip((0.0, 1.0), linkage.split("-"), strict=True):
            theirs = hierarchy.linkage(squareform(D), method)
            ours = problem.tree(rho)
            assert np.array_equal(ours[:, [0, 1, 3]], theirs[:, [0, 1, 3]])
            np.testing.assert_allclose(ours[:, 2], theirs[:, 2], rtol=0 if method != "average" else 1e-13)


# -- pieces ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("partition", ["tree", "sequence"])
@pytest.mark.parametrize("kind", KINDS)
def test_losses_are_the_reference_pieces(kind, partition, linkage):
    for n, seed in [(2, 0), (3, 0), (5, 0), (8, 1), (11, 2), (14, 3)]:
        D = instance(kind, n, seed)
        edges, outputs = expected(D, linkage, partition)
        cost = Recorder(in_order=partition == "sequence")
        losses = sb.Linkage(D, cost, linkage, partition=partition).losses()
        assert losses.edges.tolist() == edges
        assert [cost.output(loss) for loss in losses.values] == outputs


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("partition", ["tree", "sequence"])
@pytest.mark.parametrize("kind", ["euclidean", "grid", "integers"])
def test_reveal_is_the_piece_of_losses(kind, partition, linkage):
    D = instance(kind, 18, seed=5)
    problem = sb.Linkage(D, Recorder(in_order=partition == "sequence"), linkage, partition=partition)
    losses = problem.losses()
    rng = np.random.default_rng(0)
    edges = losses.edges[rng.integers(0, losses.edges.size, 12)].tolist()
    around = [math.nextafter(x, side) for x in edges for side in (0.0, 1.0)]
    for rho in [0.0, LAST, 1.0, *edges, *around, *rng.random(12)]:
        piece = losses.piece(rho)
        lo, hi, value = *piece.edges.tolist(), *piece.values.tolist()
        seen = problem.reveal(rho)
        assert seen == sb.PiecewiseConstant.constant(lo, hi, value)
        assert problem.loss(rho) == value
        inside = float(rng.uniform(lo, hi))
        assert problem.reveal(inside) == seen


# -- where rounding decides wrongly -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_guessed_trees_equal_built_ones(kind, monkeypatch):
    D = instance(kind, 60, seed=3)
    guesses = []

    def watched(*arguments):
        guesses.append(interchange(*arguments))
        return guesses[-1]

    interchange = pieces.interchange
    monkeypatch.setattr(pieces, "interchange", watched)
    guessed = sb.Linkage(D, Recorder()).losses()
    assert kind != "euclidean" or 10 < sum(guesses) < len(guesses)
    monkeypatch.setattr(pieces, "interchange", lambda *arguments: False)
    assert sb.Linkage(D, Recorder()).losses() == guessed


def test_a_crossing_between_the_last_double_and_one_leaves_a_piece_with_width():
    above, below = 4.0 + 2.0**-50, 4.0 - 2.0**-51
    D = np.array([[0, 3, 1, 4], [3, 0, above, below], [1, above, 0, 1], [4, below, 1, 0]])
    edges, outputs = expected(D, "single-complete", "tree")
    assert edges[-2:] == [LAST, 1.0]
    cost = Recorder()
    problem = sb.Linkage(D, cost)
    losses = problem.losses()
    assert losses.edges.tolist() == edges
    assert cost.output(problem.loss(1.0)) == cost.output(losses(LAST)) == outputs[-1] != outputs[-2]


# -- costs, input, output ----------------------------------------------------------------------------


def test_cost_is_computed_once_per_tree():
    problem = sb.Linkage(instance("euclidean", 20), Recorder())
    losses = problem.losses()
    for rho in (0.1, 0.1, 0.5, 0.9):
        problem.loss(rho), problem.reveal(rho)
    problem.losses()
    assert problem.cost.calls == len(problem.cost.seen) <= len(losses)


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("partition", ["tree", "sequence"])
def test_one_point_has_an_empty_tree(linkage, partition):
    for D in ([[0.0]], []):
        problem = sb.Linkage(D, KMeansCost(1), linkage, partition=partition)
        assert problem.tree(0.5).shape == (0, 4)
        assert problem.losses() == problem.reveal(0.3) == sb.PiecewiseConstant([0, 1], [0])


@pytest.mark.parametrize(
    ("distances", "message"),
    [
        ([[0, 1], [2, 0]], r"symmetric, got distances\[0, 1\] = 1.0 and distances\[1, 0\] = 2.0"),
        ([[0, -1], [-1, 0]], r">= 0, got distances\[0, 1\] = -1.0"),
        ([[0, np.nan], [np.nan, 0]], r"finite and >= 0, got distances\[0, 1\] = nan"),
        ([[0, np.inf], [np.inf, 0]], r"finite and >= 0, got distances\[0, 1\] = inf"),
        ([[1, 1], [1, 0]], r"zero on the diagonal, got distances\[0, 0\] = 1.0"),
        ([[0, 1, 2], [1, 0, 2]], r"square matrix or a condensed one, got shape \(2, 3\)"),
        ([1.0, 2.0], r"n\(n - 1\)/2 entries if condensed, got 2"),
        (np.zeros((0, 0)), r"got shape \(0, 0\)"),
    ],
)
def test_bad_distances_are_refused(distances, message):
    with pytest.raises(ValueError, match=message):
        sb.Linkage(distances, KMeansCost(1))


def test_bad_arguments_are_refused():
    D = instance("euclidean", 4)
    with pytest.raises(ValueError, match="n_clusters must be at most the number of points, 4, got 5"):
        sb.Linkage(D, KMeansCost(5))
    with pytest.raises(ValueError, match="one entry for each of the 4 points, got 3"):
        sb.Linkage(D, TargetDistance([0, 1, 1]))
    with pytest.raises(TypeError, match="cost must be a callable"):
        sb.Linkage(D, 0.5)
    with pytest.raises(ValueError, match="linkage must be one of"):
        sb.Linkage(D, KMeansCost(2), "ward")
    with pytest.raises(ValueError, match="partition must be one of"):
        sb.Linkage(D, KMeansCost(2), partition="trees")
    with pytest.raises(ValueError, match=r"rho must be in \[0, 1\], got 1.5"):
        sb.Linkage(D, KMeansCost(2)).tree(1.5)
    with pytest.raises(ValueError, match="the cost of a tree must be finite"):
        sb.Linkage(D, lambda D, Z: math.nan).loss(0.5)
    with pytest.raises(TypeError, match="matrix of numbers"):
        sb.Linkage("abc", KMeansCost(1))


@pytest.mark.parametrize("linkage", ["single-complete", "average-complete"])
def test_distances_too_far_apart_for_exact_comparisons_are_refused(linkage):
    e = 1e-160
    D = np.array([[0, e * 1e-9, e, 1], [e * 1e-9, 0, 1, 1], [e, 1, 0, 2 * e], [1, 1, 2 * e, 0]])
    with pytest.raises(ValueError, match=r"distances must be within a factor of 2\^400"):
        sb.Linkage(D, sb.clustering.DasguptaCost(), linkage)
    with pytest.raises(ValueError, match=r"d0 and d1 must be within a factor of 2\^400"):
        sb.MetricLinkage(D, D, sb.clustering.DasguptaCost(), linkage)


@pytest.mark.parametrize("exponent", [-900, -600, 500, 900])
def test_scale_does_not_matter(exponent):
    D = instance("grid", 14)
    scaled = sb.Linkage(D * 2.0**exponent, Recorder())
    assert scaled.losses() == sb.Linkage(D, Recorder()).losses()
    assert np.array_equal(scaled.tree(0.3)[:, 2], sb.Linkage(D, Recorder()).tree(0.3)[:, 2] * 2.0**exponent)
    assert np.array_equal(scaled.distances, D * 2.0**exponent)


def test_cost_sees_diameters_for_heights():
    D = instance("euclidean", 15)

    def cost(distances, Z):
        assert np.array_equal(distances, D)
        for height, cluster in zip(Z[:, 2], reference.clusters_of(Z), strict=True):
            points = sorted(cluster)
            assert height == D[np.ix_(points, points)].max()
        return 0.5

    assert sb.Linkage(D, cost).losses().compress().values.tolist() == [0.5]


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 70])
def test_condensed_distances_are_unfolded_as_scipy_does_it(n):
    condensed = np.random.default_rng(n).random(n * (n - 1) // 2)
    condensed[::7] = 0.0
    condensed[3:4] = -0.0
    read = Distances.read("distances", condensed)
    assert (read.square == (squareform(condensed) if n > 1 else 0.0)).all()
    positive = condensed[condensed > 0.0]
    assert read.smallest == positive.min(initial=math.inf)
    assert read.largest == positive.max(initial=0.0)


def test_tiny_parameters_are_rounded_down():
    D = instance("grid", 10)
    problem = sb.Linkage(D, Recorder())
    integers, _ = reference.exact(D)
    cost = problem.cost
    for rho in (5e-324, 1e-200, 1e-17, 1e-15):
        merges, _, _ = reference.run(integers, reference.parameter(rho))
        assert cost.output(problem.loss(rho)) == reference.tree_of(merges)
