"""Kernels of the learning rule with a local baseline: from feedback to estimates, statistics and weights.

The one entry point is `learn`. Pieces of the weights lie in an array (see `_pieces`). Statistics of losses
are kept on a binary tree of cells in heap order (1 is the root, 2i and 2i + 1 are the halves of i); `leaf[c]`
is the node of the c-th cell of the line. Every end of a cell is an end of a piece.

In all kernels, `edges`, `losses` and `sets` are the feedback (see `Feedback`), `first[j]` is the piece of the
weights at which the j-th piece of the feedback begins, and `asked` are the shares of the pieces of the
weights at the time of the ask.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semibandit._jit import inner, kernel
from semibandit.weights._pieces import COUNT, EDGE, LOSS, MASS, RAISED, SUM, cut, dot, join, last_at, weigh
from semibandit.weights._tree_rule import SMALLEST_SHARE, count, set_probabilities
from semibandit.weights.cells import HALVINGS

# Sums over the rounds: number, mean and squared deviations of the losses paid (Welford's recurrence), then
# the sums of the regression in `look_factors`.
TOLD, MEAN, SQUARES, PRODUCTS, OTHERS, SURPRISE, PAIRED = range(7)
SUMS = 7

FIRST_SLOPE = 0.8  # prior of the regression slope in `look_factors`
FIRST_LOOKS = 60.0  # its weight, in looks
LEAST_DEVIATION = 0.3  # lower bound of the standard deviation, relative to the mean
PARTS = 2**HALVINGS  # of a cell, at most


class State(NamedTuple):
    """Arrays that a round changes (pieces, statistics of cells, sums), and the cells of the line."""

    pieces: npt.NDArray[np.float64]
    tree: npt.NDArray[np.float64]  # count and sum of losses × nodes
    sums: npt.NDArray[np.float64]
    cell_edges: npt.NDArray[np.float64]
    leaf: npt.NDArray[np.int64]


class Config(NamedTuple):
    """Parameters of the rule in one round."""

    rate: float
    explore: float  # implicit exploration: estimates divide by p + explore
    floor: float  # lower bound of the correction (loss - b) / p
    coarse: float  # cells with a share above coarse · t^(-1/3) are refined before averaging; 0: no averaging
    by_piece: bool  # the baseline uses statistics of pieces, not only of cells
    shrink: float  # weight of the parent's estimate, in rounds
    optimism: float  # standard deviations by which an unobserved place is lowered
    doubt: float  # standard errors by which an observed place is lowered
    whole: bool  # full information
    budget: int  # maximal number of pieces


class Smooth(NamedTuple):
    """Cells over which corrections are averaged, and the lower bound of the averages."""

    cell_edges: npt.NDArray[np.float64]
    leaf: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]  # the piece that begins each cell
    nodes: int  # of the tree
    most: float  # largest share of a cell that is not refined; 0: no averaging
    floor: float


@kernel
def learn(
    state: State, n: int, edges: Any, losses: Any, sets: Any, looks: Any, p: Any, asked: Any, paid: float,
    config: Config,
) -> tuple[int, float, float]:  # fmt: skip
    """One round of Algorithm 1 on n pieces, with the local baseline b in the estimates. O(P).

    The array of pieces must have room for a cut at each edge. `asked` must belong to pieces that are cut
    already, and is empty for a prompt tell. Writes the probabilities of the sets to `p`. Returns the number
    of pieces, the mixability gap, and the mean amount by which the floor raised estimates.
    """
    a, sums = state.pieces, state.sums
    first = np.empty(edges.size, np.int64)
    n = cut(a, n, edges, sets, first)
    prompt = asked.size == 0
    level, before = a[SUM, n], a[MASS, n]
    if prompt:
        asked = np.empty(n)
        for i in range(n):
            asked[i] = a[MASS, i] / before
    set_probabilities(sets, shares_of(first, sets, asked), p)
    deviation = math.sqrt(sums[SQUARES] / max(sums[TOLD], 1.0))
    starts = begin(a, n, state)
    values = baseline(a, n, starts, state, deviation, config)
    surprise = np.zeros(p.size)
    if count(looks) > 1:
        surprise = surprises(first, losses, sets, p.size, values, asked)
    factors = look_factors(surprise, looks, p, config.explore, deviation, sums)
    most = config.coarse * (1.0 + sums[TOLD]) ** (-1.0 / 3.0)
    smooth = Smooth(state.cell_edges, state.leaf, starts, state.tree.shape[1], most, config.floor)
    expected, raised = estimate(a, n, first, losses, sets, factors, values, asked, smooth)
    if config.whole:
        remember_whole(a, first, losses, state)
    else:
        remember(a, first, losses, sets, p.size, state)
    count_paid(sums, paid)
    weigh(a, n, config.rate)
    if prompt:  # the gap follows from the totals, without further exponentials
        gap = expected + math.log(a[MASS, n] / before) / config.rate - (a[SUM, n] - level)
    else:
        gap = expected + log_mixed(values, asked, config.rate) / config.rate
    if n > config.budget:
        n, _ = join(a, n, 3 * config.budget // 4, state.cell_edges, config.rate)
    return n, float(max(gap, 0.0)), float(raised)


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
def baseline(a: Any, n: int, starts: Any, state: State, deviation: float, config: Config) -> Any:
    """Return b, the expected loss of each piece: its mean shrunk to that of its cell, and so on to the root.

    b(child) = (sum of losses + k · b(parent)) / (count + k). It is lowered where the count is small.
    """
    tree, leaf, mean = state.tree, state.leaf, state.sums[MEAN]
    nodes = np.empty(tree.shape[1])
    k = config.shrink
    root = max(mean - 0.5 * deviation, 0.0)
    nodes[1] = (tree[1, 1] + k * root) / (tree[0, 1] + k)
    for c in range(2, nodes.size):
        nodes[c] = (tree[1, c] + k * nodes[c >> 1]) / (tree[0, c] + k)
    deviation = max(deviation, LEAST_DEVIATION * mean)
    hope, doubt = config.optimism * deviation, config.doubt * deviation
    out = np.empty(n)
    for c in range(leaf.size):
        of_cell = nodes[leaf[c]]
        if not config.by_piece:
            of_cell -= hope / math.sqrt(tree[0, leaf[c]] + 1.0)
        out[starts[c] : starts[c + 1]] = of_cell
    if config.by_piece:  # in loops of their own, which the compiler vectorises
        for i in range(n):
            out[i] = (a[LOSS, i] + k * out[i]) / (a[COUNT, i] + k) - hope / (a[COUNT, i] + 1.0)
        if doubt > 0.0:
            for i in range(n):
                looks = a[COUNT, i] + 1.0
                out[i] -= max(doubt / math.sqrt(looks) - hope / looks, 0.0)
    for i in range(n):
        out[i] = max(out[i], 0.0)
    return out


@inner
def remember(a: Any, first: Any, losses: Any, sets: Any, n_sets: int, state: State) -> None:
    """Add the losses of the sets to the statistics of their pieces, and once per set to the nodes."""
    tree, cell_edges, leaf = state.tree, state.cell_edges, state.leaf
    width, total = np.zeros(tree.shape[1]), np.zeros(tree.shape[1])
    for which in range(n_sets):
        c = 0
        for j in range(sets.size):
            if sets[j] != which:
                continue
            c = last_at(cell_edges, c, leaf.size, a[EDGE, first[j]])
            for i in range(first[j], first[j + 1]):
                a[COUNT, i] += 1.0
                a[LOSS, i] += losses[j]
                while cell_edges[c + 1] <= a[EDGE, i]:
                    c += 1
                width[leaf[c]] += a[EDGE, i + 1] - a[EDGE, i]
                total[leaf[c]] += (a[EDGE, i + 1] - a[EDGE, i]) * losses[j]
        for node in range(tree.shape[1] - 1, 0, -1):
            if width[node] > 0.0:
                tree[0, node] += 1.0
                tree[1, node] += total[node] / width[node]
                width[node >> 1] += width[node]
                total[node >> 1] += total[node]
                width[node] = total[node] = 0.0


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
                tree[0, node] += 1.0
                tree[1, node] += losses[j]
                node >>= 1
            c += 1


@inner
def estimate(
    a: Any, n: int, first: Any, losses: Any, sets: Any, factors: Any, base: Any, asked: Any, smooth: Smooth
) -> tuple[float, float]:
    """Add the estimates b + 1{observed} · (loss - b) / p to the sums, relative to the mean of b.

    The rows of `factors` are 1/p and the offset for several looks (see `look_factors`). Corrections are
    averaged over cells, then raised to the floor. Leaves in `base` what was added to the sums; returns the
    mean of the corrections, and the mean amount by which the floor raised them.
    """
    leaf, starts = smooth.leaf, smooth.starts
    level = dot(asked, base, n)
    exact, touched = np.zeros(n), np.zeros(smooth.nodes, np.bool_)
    for j in range(sets.size):
        if sets[j] >= 0:
            factor, less = factors[0, sets[j]], factors[1, sets[j]]
            for i in range(first[j], first[j + 1]):
                exact[i] = (losses[j] - base[i]) * factor - less
            c = last_at(smooth.cell_edges, 0, leaf.size, a[EDGE, first[j]])
            while c < leaf.size and starts[c] < first[j + 1]:
                touched[leaf[c]] = True
                c += 1
    even = averages(a, exact, asked, touched, smooth)
    mean = raised = 0.0
    for c in range(leaf.size):
        if touched[leaf[c]]:
            for i in range(starts[c], starts[c + 1]):
                added = max(even[i], smooth.floor)
                a[RAISED, i] += added - exact[i]
                raised += asked[i] * (added - even[i])
                mean += asked[i] * added
                base[i] += added
    for i in range(n):
        base[i] -= level
        a[SUM, i] += base[i]
    return mean, raised


@inner
def averages(a: Any, exact: Any, asked: Any, touched: Any, smooth: Smooth) -> Any:
    """Return the corrections averaged over each cell, weighted by the shares.

    A narrow set has a small p and a correction of order 1/p; the average over a cell has the variance of a
    look at the whole cell. A cell with a share above `most` is refined: it splits into the cells of single
    rows, which are halved. The cells depend on the past only, not on the draw.
    """
    out = exact.copy()
    if smooth.most <= 0.0:
        return out
    leaf, starts = smooth.leaf, smooth.starts
    share, total = np.zeros(smooth.nodes), np.zeros(smooth.nodes)
    for c in range(leaf.size):
        if touched[leaf[c]]:
            for i in range(starts[c], starts[c + 1]):
                share[leaf[c]] += asked[i]
                total[leaf[c]] += asked[i] * exact[i]
    for c in range(leaf.size):
        node = leaf[c]
        if not touched[node]:
            continue
        if share[node] > smooth.most:
            refine(a, starts[c], starts[c + 1], asked, smooth.most, out)
        else:
            mean = total[node] / share[node] if share[node] > 0.0 else 0.0
            for i in range(starts[c], starts[c + 1]):
                out[i] = mean
    return out


@inner
def refine(a: Any, start: int, end: int, asked: Any, most: float, values: Any) -> None:
    """Average over the parts of a cell, which is halved while a part holds more than the share `most`.

    A piece that lies in several parts gets the average of theirs, weighted by overlap.
    """
    ends = np.empty(PARTS + 1)
    for part in range(PARTS):
        ends[part] = a[EDGE, start] + (a[EDGE, end] - a[EDGE, start]) * (part / PARTS)
    ends[PARTS] = a[EDGE, end]
    share, total = np.zeros(PARTS), np.zeros(PARTS)
    i = start
    for part in range(PARTS):
        while i < end:
            inside = asked[i] * overlap(a[EDGE, i], a[EDGE, i + 1], ends[part], ends[part + 1])
            share[part] += inside
            total[part] += inside * values[i]
            if a[EDGE, i + 1] > ends[part + 1]:
                break  # the piece continues in the next part
            i += 1
    part = 0
    while part < PARTS:
        size = PARTS
        while part % size or (size > 1 and sum_between(share, part, part + size) > most):
            size //= 2
        held, sought = sum_between(share, part, part + size), sum_between(total, part, part + size)
        for each in range(part, part + size):
            total[each] = sought / held if held > 0.0 else 0.0
        part += size
    i = start
    for part in range(PARTS):
        while i < end:
            before = 0.0 if a[EDGE, i] >= ends[part] else values[i]
            here = overlap(a[EDGE, i], a[EDGE, i + 1], ends[part], ends[part + 1])
            values[i] = before + here * total[part]
            if a[EDGE, i + 1] > ends[part + 1]:
                break
            i += 1


@inner
def overlap(lo: float, hi: float, left: float, right: float) -> float:
    """Return the fraction of the piece [lo, hi) inside [left, right)."""
    if left <= lo and hi <= right:
        return 1.0
    return (min(hi, right) - max(lo, left)) / (hi - lo)


@inner
def sum_between(x: Any, start: int, end: int) -> float:
    total = 0.0
    for i in range(start, end):
        total += x[i]
    return total


@inner
def surprises(first: Any, losses: Any, sets: Any, n_sets: int, base: Any, asked: Any) -> Any:
    """Return the mean of loss - b on each set."""
    total, share = np.zeros(n_sets), np.zeros(n_sets)
    for j in range(sets.size):
        if sets[j] >= 0:
            for i in range(first[j], first[j + 1]):
                total[sets[j]] += asked[i] * (losses[j] - base[i])
                share[sets[j]] += asked[i]
    for k in range(n_sets):
        total[k] = total[k] / share[k] if share[k] > 0.0 else 0.0
    return total


@inner
def look_factors(surprise: Any, looks: Any, p: Any, explore: float, deviation: float, sums: Any) -> Any:
    """Return for each set the factor of loss - b, and the offset to subtract; add the round to `sums`.

    With one look the factor is 1/p and the offset 0. With n looks, each makes an estimate of its own and the
    mean counts. The surprise (loss - b) of the other looks tells whether the instance is a hard one:
    θ · (their mean surprise) is subtracted from each. Looks are drawn independently, so that the expectation
    of that is the same everywhere. θ is the slope of the regression of the surprise in one set on that in
    others, over past rounds; `sums` holds the sums of products, squares and surprises, and the rounds.
    """
    factors = np.zeros((2, p.size))
    draws = count(looks)
    if draws == 1:
        for k in range(p.size):
            factors[0, k] = 1.0 / (p[k] + explore)
        return factors
    usual = sums[SURPRISE] / (sums[PAIRED] + 1.0)
    prior = FIRST_LOOKS * deviation * deviation
    theta = FIRST_SLOPE
    if sums[OTHERS] + prior > 0.0:
        theta = min(max((sums[PRODUCTS] + FIRST_SLOPE * prior) / (sums[OTHERS] + prior), 0.0), 1.0)
    total = 0.0
    for k in range(p.size):
        total += looks[k] * surprise[k]
    for k in range(p.size):
        factors[0, k] = looks[k] / draws / (max(p[k], SMALLEST_SHARE) + explore)
        factors[1, k] = factors[0, k] * theta * (total - surprise[k]) / (draws - 1)
        elsewhere = draws - looks[k]
        if elsewhere > 0:  # looks at the same set agree whatever the instance
            others = (total - looks[k] * surprise[k]) / elsewhere - usual
            sums[PRODUCTS] += looks[k] * (surprise[k] - usual) * others
            sums[OTHERS] += looks[k] * others * others
    sums[SURPRISE] += total / draws
    sums[PAIRED] += 1.0
    return factors


@inner
def log_mixed(values: Any, asked: Any, rate: float) -> float:
    """Return the logarithm of the mean of exp(-rate · value), weighted by the shares at the ask."""
    least = 0.0
    for i in range(values.size):
        least = min(least, values[i])
    shift = least if -rate * least > 700.0 else 0.0  # against overflow
    mixed = 0.0
    for i in range(values.size):
        mixed += asked[i] * math.expm1(-rate * (values[i] - shift))
    return math.log1p(max(mixed, 2.0**-53 - 1.0)) - rate * shift


@inner
def shares_of(first: Any, sets: Any, asked: Any) -> Any:
    """Return the share of each observed piece of the feedback."""
    shares = np.zeros(sets.size)
    for j in range(sets.size):
        if sets[j] >= 0:
            shares[j] = sum_between(asked, first[j], first[j + 1])
    return shares


@inner
def count_paid(sums: Any, paid: float) -> None:
    """Add a loss to the mean and the squared deviations."""
    delta = paid - sums[MEAN]
    sums[TOLD] += 1.0
    sums[MEAN] += delta / sums[TOLD]
    sums[SQUARES] += delta * (paid - sums[MEAN])
