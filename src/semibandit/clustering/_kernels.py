"""Compiled parts of the costs of trees. Each pair of points is met once, where the tree joins it."""

import numpy as np

from semibandit._jit import inner, kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.clustering.trees import Layout


@kernel
def lay_out(children: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return leaves, start and end of a `Layout`."""
    n = children.shape[0] + 1
    sizes = np.ones(2 * n - 1, np.int64)
    for t in range(n - 1):
        sizes[n + t] = sizes[children[t, 0]] + sizes[children[t, 1]]
    start = np.zeros(2 * n - 1, np.int64)
    for t in range(n - 2, -1, -1):
        left, right = children[t, 0], children[t, 1]
        start[left] = start[n + t]
        start[right] = start[n + t] + sizes[left]
    leaves = np.empty(n, np.int64)
    for i in range(n):
        leaves[start[i]] = i
    return leaves, start, start + sizes


@kernel
def joined_sums(D: FloatArray, tree: Layout, power: int) -> FloatArray:
    """Return for each merge the sum of the distances, or of their squares, between its two parts."""
    count = tree.children.shape[0]
    out = np.empty(count)
    for t in range(count):
        left, right = tree.children[t, 0], tree.children[t, 1]
        total = 0.0
        for i in range(tree.start[left], tree.end[left]):
            row = D[tree.leaves[i]]
            for j in range(tree.start[right], tree.end[right]):
                d = row[tree.leaves[j]]
                total += d if power == 1 else d * d
        out[t] = total
    return out


@kernel
def sums_within(D: FloatArray, tree: Layout) -> FloatArray:
    """Return for each cluster the sum of the squared distances of its pairs."""
    n = tree.leaves.size
    out = np.zeros(2 * n - 1)
    joined = joined_sums(D, tree, 2)
    for t in range(n - 1):
        out[n + t] = out[tree.children[t, 0]] + out[tree.children[t, 1]] + joined[t]
    return out


@kernel
def medoid_costs(D: FloatArray, tree: Layout) -> FloatArray:
    """Return for each cluster the smallest sum of distances from one of its points to the others."""
    n = tree.leaves.size
    out = np.zeros(2 * n - 1)
    sums = np.zeros(n)  # from a point to its cluster
    for t in range(n - 1):
        left, right = tree.children[t, 0], tree.children[t, 1]
        for i in range(tree.start[left], tree.end[left]):
            p = tree.leaves[i]
            for j in range(tree.start[right], tree.end[right]):
                q = tree.leaves[j]
                sums[p] += D[p, q]
                sums[q] += D[p, q]
        smallest = np.inf
        for i in range(tree.start[n + t], tree.end[n + t]):
            smallest = min(smallest, sums[tree.leaves[i]])
        out[n + t] = smallest
    return out


@kernel
def prune(tree: Layout, costs: FloatArray, k: int) -> tuple[FloatArray, IntArray]:
    """Return best[c, j], the least cost of j clusters that make up c, and split[c, j], those on the left."""
    n = tree.leaves.size
    best = np.full((2 * n - 1, k + 1), np.inf)
    split = np.zeros((2 * n - 1, k + 1), np.int64)
    best[:, 1] = costs
    for t in range(n - 1):
        left, right, c = tree.children[t, 0], tree.children[t, 1], n + t
        in_left = min(k, tree.end[left] - tree.start[left])
        in_right = min(k, tree.end[right] - tree.start[right])
        for i in range(1, in_left + 1):
            for j in range(1, min(in_right, k - i) + 1):
                total = best[left, i] + best[right, j]
                if total < best[c, i + j]:
                    best[c, i + j] = total
                    split[c, i + j] = i
    return best, split


@kernel
def label_counts(tree: Layout, target: IntArray, n_labels: int) -> IntArray:
    """Return the number of points of each label in each cluster."""
    n = tree.leaves.size
    counts = np.zeros((2 * n - 1, n_labels), np.int64)
    for i in range(n):
        counts[i, target[i]] = 1
    for t in range(n - 1):
        left, right = tree.children[t, 0], tree.children[t, 1]
        for label in range(n_labels):
            counts[n + t, label] = counts[left, label] + counts[right, label]
    return counts


@kernel
def match(tree: Layout, counts: IntArray, spare: int) -> IntArray:
    """Return the best matchings of prunings to labels: best[p, s, u] points agree among the first p leaves.

    A pruning cuts the leaves into ranges that are clusters. The ranges before leaf p have the labels in the
    bit set s, one each, and u of them have none; -1 if that is impossible. O(n 2^L L).
    """
    n, n_labels = tree.leaves.size, counts.shape[1]
    best = np.full((n + 1, 1 << n_labels, spare + 1), -1, np.int64)
    best[0, 0, 0] = 0
    # The clusters that begin at a leaf are a linked list.
    first, after = np.full(n, -1, np.int64), np.empty(tree.start.size, np.int64)
    for c in range(tree.start.size):
        after[c], first[tree.start[c]] = first[tree.start[c]], c
    for p in range(n):
        c = first[p]
        while c >= 0:
            _extend(best, p, tree.end[c], counts[c], spare)
            c = after[c]
    return best


@inner
def _extend(best: IntArray, p: int, q: int, counts: IntArray, spare: int) -> None:
    """Update `best` for a cluster of the leaves from p to q."""
    for s in range(best.shape[1]):
        for u in range(spare + 1):
            here = best[p, s, u]
            if here < 0:
                continue
            if u < spare:
                best[q, s, u + 1] = max(best[q, s, u + 1], here)
            for label in range(counts.size):
                if not s >> label & 1:
                    grown = s | 1 << label
                    best[q, grown, u] = max(best[q, grown, u], here + counts[label])
