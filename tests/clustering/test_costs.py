"""Costs of trees against all prunings, all matchings and the definitions."""

from itertools import permutations

import numpy as np
import pytest
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist, squareform

from reference.linkage import clusters_of
from semibandit.clustering import (
    DasguptaCost,
    KMeansCost,
    KMedianCost,
    TargetDistance,
    best_pruning,
    diameters,
    layout,
    pruning_labels,
)


def points(n, seed=0):
    return np.random.default_rng([n, seed]).normal(size=(n, 2))


def trees(n):
    for seed in range(3):
        D = squareform(pdist(points(n, seed)))
        for method in ("single", "complete"):
            yield D, hierarchy.linkage(squareform(D), method), seed


def members(Z):
    return [frozenset([i]) for i in range(len(Z) + 1)] + clusters_of(Z)


def all_prunings(Z, cluster=None):
    """Every way to cut the tree, as lists of clusters."""
    n = len(Z) + 1
    cluster = 2 * n - 2 if cluster is None else cluster
    yield [cluster]
    if cluster >= n:
        a, b = (int(c) for c in Z[cluster - n, :2])
        for left in all_prunings(Z, a):
            for right in all_prunings(Z, b):
                yield left + right


def least(Z, k, cost):
    return min(sum(cost(c) for c in cut) for cut in all_prunings(Z) if len(cut) == k)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8])
def test_best_pruning_beats_all_others(k):
    for _, Z, seed in trees(8):
        costs = np.random.default_rng(seed).random(15)
        total, chosen = best_pruning(Z, costs, k)
        assert total == pytest.approx(least(Z, k, lambda c: costs[c]))  # noqa: B023
        assert total == pytest.approx(sum(costs[c] for c in chosen))
        labels = pruning_labels(Z, chosen)
        assert sorted(set(labels)) == list(range(k))
        assert {frozenset(np.flatnonzero(labels == j)) for j in range(k)} == {members(Z)[c] for c in chosen}
        assert np.all(np.diff([labels.tolist().index(j) for j in range(k)]) > 0)


@pytest.mark.parametrize("k", [1, 2, 4, 7])
def test_kmeans_cost_is_the_sum_of_squares_around_the_means(k):
    for D, Z, seed in trees(7):
        X = points(7, seed)

        def around_mean(c, X=X, Z=Z):
            cluster = X[sorted(members(Z)[c])]
            return ((cluster - cluster.mean(axis=0)) ** 2).sum()

        cost = KMeansCost(k)
        assert cost(D, Z) == pytest.approx(least(Z, k, around_mean) / around_mean(12), abs=1e-12)
        labels = cost.labels(D, Z)
        of_labels = sum(((X[labels == j] - X[labels == j].mean(axis=0)) ** 2).sum() for j in range(k))
        assert of_labels / around_mean(12) == pytest.approx(cost(D, Z), abs=1e-12)


@pytest.mark.parametrize("k", [1, 3, 7])
def test_kmedian_cost_is_the_sum_of_distances_to_the_medoids(k):
    for D, Z, _ in trees(7):

        def to_medoid(c, D=D, Z=Z):
            cluster = sorted(members(Z)[c])
            return D[np.ix_(cluster, cluster)].sum(axis=0).min()

        assert KMedianCost(k)(D, Z) == pytest.approx(least(Z, k, to_medoid) / to_medoid(12), abs=1e-12)


def test_dasgupta_cost_is_that_of_its_definition():
    for D, Z, _ in trees(8):
        parts = members(Z)
        worth = sum(
            D[i, j] * min(len(part) for part in parts if {i, j} <= part) for i in range(8) for j in range(i)
        )
        assert DasguptaCost()(D, Z) == pytest.approx(1 - worth / (8 * D.sum() / 2))


def brute_hamming(Z, target, k):
    """Over all prunings and all ways to give distinct labels to clusters."""
    names = list(np.unique(target)) + [None] * k
    best = 0
    for cut in all_prunings(Z):
        if len(cut) == k:
            clusters = [sorted(members(Z)[c]) for c in cut]
            for chosen in set(permutations(names, k)):
                agree = sum(
                    (target[c] == name).sum()
                    for c, name in zip(clusters, chosen, strict=True)
                    if name is not None
                )
                best = max(best, int(agree))
    return 1 - best / len(target)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("n_labels", [1, 2, 3])
def test_hamming_distance_is_the_best_over_prunings_and_matchings(k, n_labels):
    for D, Z, seed in trees(7):
        target = np.random.default_rng([seed, n_labels]).integers(0, n_labels, 7)
        cost = TargetDistance(target, n_clusters=k)
        assert cost(D, Z) == pytest.approx(brute_hamming(Z, target, k))


@pytest.mark.parametrize("k", [1, 2, 4, 7])
def test_majority_distance_is_the_best_over_prunings(k):
    for D, Z, seed in trees(7):
        target = np.random.default_rng([seed, 9]).integers(0, 3, 7)

        def wrong(c, target=target, Z=Z):
            inside = target[sorted(members(Z)[c])]
            return len(inside) - np.bincount(inside).max()

        cost = TargetDistance(target, n_clusters=k, matching="majority")
        assert cost(D, Z) == pytest.approx(least(Z, k, wrong) / 7)


def test_diameters():
    assert diameters(np.ones(6), LARGE)[-1] == 1.0
    for distances in (np.zeros((1, 1)), np.zeros((4, 5)), np.zeros(3)):
        with pytest.raises(ValueError, match="distances must be those of the 4 points"):
            diameters(distances, LARGE)
    for D, Z, _ in trees(8):
        expected = [D[np.ix_(sorted(part), sorted(part))].max() for part in members(Z)]
        assert diameters(D, layout(Z)).tolist() == expected


LARGE = np.array([[0, 1, 1.0, 2], [2, 3, 1.0, 2], [4, 5, 1.0, 4]])
