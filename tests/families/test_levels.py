"""Feedback sets of equal loss: compared with the whole function and with exact references."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import squareform

import semibandit as sb
from reference import linkage as reference
from reference import metric_linkage as reference_rows
from semibandit.families.linkage.linkage import LINKAGES

LAST = reference.LAST


def score(clusters):
    """A loss of a tree that many trees share, and that comes back: its clusters' sizes, jumbled."""
    return sum(len(c) * max(c) for c in clusters) % 3 / 4


def jumbled(distances, Z):
    return score(reference.clusters_of(Z))


def distances(n, seed, largest):
    """Integers up to `largest`, 0 among them: ties everywhere; with largest = 0, real numbers."""
    rng = np.random.default_rng([seed, n, largest])
    size = n * (n - 1) // 2
    return squareform(rng.integers(0, largest + 1, size).astype(float) if largest else rng.random(size))


def probes(losses, rng, count=8):
    """The ends, edges and their neighbours, and points anywhere."""
    edges = losses.edges[rng.integers(0, losses.edges.size, count)].tolist()
    lo, hi = losses.edges[[0, -1]].tolist()
    beside = [math.nextafter(x, side) for x in edges for side in (lo, hi)]
    return [lo, hi, *edges, *beside, *rng.uniform(lo, hi, count).tolist()]


def assert_reveals_the_pieces_of(problem, losses, rng):
    assert problem.losses() == losses
    for rho in probes(losses, rng):
        seen = problem.reveal(rho)
        assert seen == losses.piece(rho)
        assert problem.loss(rho) == seen.values[0]


# -- linkage ---------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(
    n=st.integers(1, 9),
    seed=st.integers(0, 10**6),
    largest=st.sampled_from([0, 1, 2, 4, 9]),
    linkage=st.sampled_from(LINKAGES),
)
def test_linkage_reveals_what_the_reference_joins(n, seed, largest, linkage):
    D = distances(n, seed, largest)
    edges, losses = reference.pieces(D, linkage, lambda merges: score(reference.tree_of(merges)))
    expected = sb.PiecewiseConstant(edges, losses)
    problem = sb.Linkage(D, jumbled, linkage, partition="loss")
    assert problem.losses() == expected
    for rho in probes(expected, np.random.default_rng(seed)):
        assert problem.reveal(rho) == expected.piece(1.0 if rho >= LAST else rho)


# -- two metrics -----------------------------------------------------------------------------------------


def level_components(d0, d1, alphas, linkage, unit):
    """The connected sets of equal loss in exact arithmetic, each a list of (row, lo, hi, loss)."""
    found = []
    for row, alpha in enumerate(alphas):
        D = reference_rows.mixed(d0.tolist(), d1.tolist(), alpha)
        edges, losses = reference.pieces(D, linkage, lambda merges: score(reference.tree_of(merges)), unit)
        found += [(row, *edges[i : i + 2], loss) for i, loss in enumerate(losses)]
    return reference_rows.components(found)


@settings(max_examples=40)
@given(
    n=st.integers(2, 6),
    seed=st.integers(0, 10**6),
    largest=st.sampled_from([0, 2, 5]),
    linkage=st.sampled_from(LINKAGES[:2]),
    n_rows=st.integers(1, 5),
)
def test_metric_linkage_reveals_connected_sets_of_equal_loss(n, seed, largest, linkage, n_rows):
    d0, d1 = distances(n, seed, largest), distances(n, seed + 1, largest)
    space = sb.Strips(n_rows, sb.Interval(0, 1))
    problem = sb.MetricLinkage(d0, d1, jumbled, linkage, space=space, partition="loss")
    rng = np.random.default_rng(seed)
    for part in level_components(d0, d1, space.alphas, linkage, problem.unit):
        rows, lo, hi, losses = (np.array(column) for column in zip(*part, strict=True))
        expected = space.lay_pieces(rows, lo, hi, losses)
        for row, a, b, loss in part:
            for rho in (a, 0.5 * (a + b), float(rng.uniform(a, b)), b - problem.unit):
                if a <= rho <= b - problem.unit:
                    assert problem.reveal(rho, space.alphas[row]) == expected
                    assert problem.loss(rho, space.alphas[row]) == loss


# -- the contract ----------------------------------------------------------------------------------------


def knapsack(seed):
    rng = np.random.default_rng(seed)
    return rng.integers(1, 5, 12), rng.integers(1, 6, 12), 15.0


def graph(seed):
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, 12, (14, 2))
    return rng.integers(1, 4, 12), pairs[pairs[:, 0] != pairs[:, 1]]


def blobs(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(10, 2)) + 3.0 * rng.integers(0, 2, (10, 1))


def stairs(edges, rho):
    """How many edges are at or left of rho: an output that never comes back, though its loss may."""
    return sum(x <= rho for x in edges)


def odd(count):
    return count // 2 % 2 / 2


# -- other families --------------------------------------------------------------------------------------


FAMILIES = [
    lambda seed, **options: sb.Knapsack(*knapsack(seed), **options),
    lambda seed, **options: sb.IndependentSet(*graph(seed), **options),
    lambda seed, **options: sb.IndependentSet(*graph(seed), adaptive=True, **options),
    lambda seed, **options: sb.Seeding(blobs(seed), 2, iterations=5, **options),
]


@pytest.mark.parametrize("make", FAMILIES)
def test_families_join_outputs_of_equal_loss(make):
    joined = 0
    for seed in range(40):
        pieces = make(seed).losses()
        assert_reveals_the_pieces_of(
            make(seed, partition="loss"), pieces.compress(), np.random.default_rng(seed)
        )
        joined += len(pieces) > len(pieces.compress())
    assert joined > 0


# -- black boxes -----------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(edges=st.lists(st.floats(0, 1), max_size=7), at=st.lists(st.floats(0, 1), min_size=1, max_size=4))
def test_a_black_box_joins_outputs_of_equal_loss(edges, at):
    options = {"tolerance": 2.0**-12, "resolution": 2.0**-12}
    box = sb.BlackBox(stairs, edges, sb.Interval(0, 1), odd, partition="loss", **options)
    losses = sb.BlackBox(stairs, edges, sb.Interval(0, 1), odd, **options).losses().compress()
    assert box.losses() == losses
    for rho in at:
        if any(x <= rho < x + 2.0**-11 for x in (*edges, 1.0 - 2.0**-11)):
            continue  # in the cell of an edge the interval begins at rho itself
        assert box.reveal(rho) == losses.piece(rho)
        assert box.loss(rho) == losses(rho)
