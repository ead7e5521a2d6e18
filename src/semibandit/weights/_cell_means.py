"""Kernels for the statistics of losses on pieces and cells, for the baseline, and for the test of changes."""

import math
from typing import Any, NamedTuple

import numpy as np

from semibandit._jit import inner
from semibandit.weights._local_state import (
    CHANGE,
    LAST,
    MEAN,
    SINCE,
    TOLD,
    TOTAL,
    TOTAL_SQUARES,
    WEIGHT,
    WEIGHT_SQUARES,
    Config,
    State,
    Told,
)
from semibandit.weights._pieces import COUNT, EDGE, LOSS, last_at


@inner
def begin(a: Any, n: int, state: State) -> Any:
    """Return the piece that begins each cell, and the number of pieces."""
    starts = np.zeros(state.cell_edges.size, np.int64)
    for c in range(state.leaf.size):
        start, end = starts[c], state.cell_edges[c + 1]
        # Many cells are a single piece.
        starts[c + 1] = start + 1 if a[EDGE, start + 1] == end else last_at(a[EDGE], start, n, end)
    return starts


@inner
def baseline(a: Any, n: int, starts: Any, state: State, deviation: float, config: Config) -> tuple[Any, Any]:
    """Return the expected loss of each piece: its mean shrunk to that of its cell, and so on to the root.

    b(child) = (sum of losses + k · b(parent)) / (count + k). The second array is lowered where the count is
    small, but not below the range.
    """
    tree, leaf = state.tree, state.leaf
    nodes = np.empty(tree.shape[1])
    k = config.shrink
    mean = state.sums[MEAN] if state.sums[TOLD] > 0.0 else 0.5 * (config.low + config.high)
    root = mean - 0.5 * deviation
    nodes[1] = (tree[TOTAL, 1] + k * root) / (tree[WEIGHT, 1] + k)
    for c in range(2, nodes.size):
        nodes[c] = (tree[TOTAL, c] + k * nodes[c >> 1]) / (tree[WEIGHT, c] + k)
    hope, doubt = config.optimism * deviation, config.doubt * deviation
    plain, out = np.empty(n), np.empty(n)
    for c in range(leaf.size):
        plain[starts[c] : starts[c + 1]] = nodes[leaf[c]]
        if not config.by_piece:
            lowered = nodes[leaf[c]] - hope / math.sqrt(tree[WEIGHT, leaf[c]] + 1.0)
            out[starts[c] : starts[c + 1]] = lowered
    if config.by_piece:  # in loops of their own, which the compiler vectorises
        for i in range(n):
            plain[i] = (a[LOSS, i] + k * plain[i]) / (a[COUNT, i] + k)
            out[i] = plain[i] - hope / (a[COUNT, i] + 1.0)
        if doubt > 0.0:
            for i in range(n):
                looks = a[COUNT, i] + 1.0
                out[i] -= max(doubt / math.sqrt(looks) - hope / looks, 0.0)
    for i in range(n):
        out[i] = max(out[i], config.low)
    return plain, out


class Expected(NamedTuple):
    """What was expected before a round."""

    paid: float  # the loss at the fast learner's play
    plain: Any  # the loss of each piece
    played: Any  # the share of each piece


class Look(NamedTuple):
    """A look at a set, for the test of changes."""

    weight: float
    loss: float  # mean over the leaf
    seen: float  # mean over the set
    guess: float  # what was expected for the set


@inner
def remember(a: Any, first: Any, told: Told, expected: Expected, state: State, config: Config) -> None:
    """Add the losses of the sets to the statistics of their pieces, and once per set to the nodes.

    Wide sets are observed more often than narrow ones; counting a look min(1/p, look) times makes up for it.
    """
    tree, cell_edges, leaf = state.tree, state.cell_edges, state.leaf
    losses, sets, p = told.losses, told.sets, told.p
    width, total = np.zeros(tree.shape[1]), np.zeros(tree.shape[1])
    now, leaves, reach = state.sums[TOLD] + 1.0, tree.shape[1] >> 1, config.high - config.low
    for which in range(p.size):
        c, weight = 0, min(1.0 / p[which], config.constants.look)
        shares = seen = guess = 0.0
        for j in range(sets.size):
            if sets[j] != which:
                continue
            c = last_at(cell_edges, c, leaf.size, a[EDGE, first[j]])
            for i in range(first[j], first[j + 1]):
                a[COUNT, i] += weight
                a[LOSS, i] += weight * losses[j]
                shares += expected.played[i]
                seen += expected.played[i] * losses[j]
                guess += expected.played[i] * expected.plain[i]
                while cell_edges[c + 1] <= a[EDGE, i]:
                    c += 1
                width[leaf[c]] += a[EDGE, i + 1] - a[EDGE, i]
                total[leaf[c]] += (a[EDGE, i + 1] - a[EDGE, i]) * losses[j]
        seen, guess = seen / max(shares, 1e-300), guess / max(shares, 1e-300)
        rising = False
        for node in range(tree.shape[1] - 1, 0, -1):
            if width[node] > 0.0:
                loss = total[node] / width[node]
                add_look(tree, WEIGHT, node, weight, loss)
                if node >= leaves:
                    look = Look(weight, loss, seen, guess)
                    if has_changed(tree, node, look, expected.paid, reach, now):
                        forget(a, node, state)
                    rising = rising or tree[CHANGE, node] > 1.0
                if not rising:
                    tree[LAST, node] = now
                width[node >> 1] += width[node]
                total[node >> 1] += total[node]
                width[node] = total[node] = 0.0


@inner
def add_look(tree: Any, row: int, node: int, weight: float, loss: float) -> None:
    """Add a look to the four sums that begin with this row."""
    tree[row, node] += weight
    tree[row + 1, node] += weight * loss
    tree[row + 2, node] += weight * loss * loss
    tree[row + 3, node] += weight * weight


@inner
def looks_at(tree: Any, node: int) -> tuple[float, float, float]:
    """Return the number of looks of equal weight that would tell as much, their mean and their variance."""
    weight = tree[WEIGHT, node]
    mean = tree[TOTAL, node] / weight
    variance = max(tree[TOTAL_SQUARES, node] / weight - mean * mean, 0.0)
    return weight * weight / tree[WEIGHT_SQUARES, node], mean, variance


@inner
def has_changed(tree: Any, node: int, look: Look, paid: float, reach: float, now: float) -> bool:
    """Page's test of whether a leaf has become as good as what is played, or is played and has become worse.

    It sums the logarithm of a likelihood ratio, and begins anew below 0. One hypothesis is that the set costs
    its baseline. The other one is that it costs what the fast learner expects to pay; or, if the baseline is
    no more than that, a quarter of the range more than the baseline, with the largest variance that losses in
    the range can have. CHANGE is the sum, with a minus in the second case.
    """
    guess = look.guess
    if guess - paid > 1e-9 * reach:  # by more than rounding
        looks, _, variance = looks_at(tree, node)
        sign, other, variance = 1.0, paid, (looks * variance + reach * reach / 16.0) / (looks + 1.0)
    else:
        sign, other, variance = -1.0, guess + 0.25 * reach, 0.25 * reach * reach
    ratio = (other - guess) * (look.seen - 0.5 * (guess + other)) / variance
    change = max(max(sign * tree[CHANGE, node], 0.0) + ratio, 0.0)
    tree[CHANGE, node] = sign * change
    if change == 0.0:
        tree[SINCE : SINCE + 4, node] = 0.0
        return False
    add_look(tree, SINCE, node, look.weight, look.loss)
    return bool(change > math.log(now + 1.0))


@inner
def forget(a: Any, leaf: int, state: State) -> None:
    """Forget looks at a leaf from before its test began to rise; the nodes around it keep one look."""
    tree, edges = state.tree, state.cell_edges
    for row in range(4):
        tree[WEIGHT + row, leaf] = tree[SINCE + row, leaf]
    tree[CHANGE:, leaf] = 0.0
    node = leaf >> 1
    while node >= 1:
        if tree[WEIGHT, node] > 1.0:
            _, mean, _variance = looks_at(tree, node)
            tree[: WEIGHT_SQUARES + 1, node] = 0.0
            add_look(tree, WEIGHT, node, 1.0, mean)
        node >>= 1
    i = 0
    for c in range(state.leaf.size):
        while a[EDGE, i] < edges[c + 1]:
            if state.leaf[c] == leaf:
                a[COUNT, i] = a[LOSS, i] = 0.0
            i += 1


@inner
def remember_whole(a: Any, first: Any, losses: Any, state: State) -> None:
    """Add a whole function to the statistics of all pieces, and to the nodes by the middles of the cells."""
    tree, cell_edges, leaf = state.tree, state.cell_edges, state.leaf
    c = 0
    for j in range(losses.size):
        for i in range(first[j], first[j + 1]):
            a[COUNT, i] += 1.0
            a[LOSS, i] += losses[j]
        end = a[EDGE, first[j + 1]]
        while c < leaf.size and 0.5 * (cell_edges[c] + cell_edges[c + 1]) < end:
            node = leaf[c]
            while node >= 1:
                add_look(tree, WEIGHT, node, 1.0, losses[j])
                tree[LAST, node] = state.sums[TOLD] + 1.0
                node >>= 1
            c += 1
