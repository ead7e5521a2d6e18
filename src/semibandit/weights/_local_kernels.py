"""Kernels of one round with a local baseline: from what was seen to estimates, statistics and weights.

Pieces lie in an array (see `_pieces`). A tree of cells in heap order (1 is the root, 2i and 2i + 1 are the
halves of i) keeps counts and losses: `leaf[c]` is the node of the c-th cell of the line. Ends of cells are
ends of pieces, always. What was told is a function on pieces between `edges`, each in one of the `sets`, or
not seen (-1); `first` says where these begin among the pieces of the weights.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semibandit._jit import inner, kernel
from semibandit.weights import _told
from semibandit.weights._pieces import COUNT, EDGE, LOSS, MASS, RAISED, SUM, cut, dot, join, last_at, weigh
from semibandit.weights.cells import HALVINGS

# What is known of all losses paid: their number, mean and sum of squared deviations (by Welford's
# recurrence), then what looks at one instance have in common, see `paired`.
TOLD, MEAN, SQUARES, PRODUCTS, OTHERS, SURPRISE, PAIRED = range(7)
SUMS = 7

SHARED = 0.8  # the part of what other looks say of the hardness of an instance that is believed at first
FIRST_LOOKS = 60.0  # with the weight of so many looks
LEAST_DEVIATION = 0.3  # of the mean: losses that are all alike must be told from unseen ones
PARTS = 2**HALVINGS  # of a cell, at most


class Cells(NamedTuple):
    """Cells of the line, and their nodes in the tree."""

    edges: npt.NDArray[np.float64]
    leaf: npt.NDArray[np.int64]


class Outlook(NamedTuple):
    """What the baseline is made of: the losses paid so far, and how statistics become expectations."""

    mean: float
    deviation: float
    by_piece: bool  # a piece trusts what was seen of itself, or only its cell
    shrink: float  # a parent's estimate counts as much as so many rounds
    optimism: float  # deviations by which what was never seen looks better than it may be
    doubt: float  # standard errors by which a piece looks better than what was seen of it


class Smooth(NamedTuple):
    """Over what estimates are averaged, and what they are raised to at least."""

    cells: Cells
    starts: npt.NDArray[np.int64]  # the piece that begins each cell
    nodes: int  # of the tree
    most: float  # the share that a cell holds at most, if it is not to be finer; 0: nothing is averaged
    floor: float


@inner
def begin(a: Any, n: int, cells: Cells) -> Any:
    """The piece that begins each cell, and the number of pieces."""
    starts = np.zeros(cells.edges.size, np.int64)
    for c in range(cells.leaf.size):
        start, end = starts[c], cells.edges[c + 1]
        # Many cells are a single piece.
        starts[c + 1] = start + 1 if a[EDGE, start + 1] == end else last_at(a[EDGE], start, n, end)
    return starts


@inner
def baseline(a: Any, n: int, cells: Cells, starts: Any, tree: Any, outlook: Outlook) -> Any:
    """The loss expected of each piece, shrunk to its cell, that to its parent and so on, and lowered."""
    nodes = np.empty(tree.shape[1])
    k = outlook.shrink
    root = max(outlook.mean - 0.5 * outlook.deviation, 0.0)
    nodes[1] = (tree[1, 1] + k * root) / (tree[0, 1] + k)
    for c in range(2, nodes.size):
        nodes[c] = (tree[1, c] + k * nodes[c >> 1]) / (tree[0, c] + k)
    deviation = max(outlook.deviation, LEAST_DEVIATION * outlook.mean)
    hope, doubt = outlook.optimism * deviation, outlook.doubt * deviation
    out = np.empty(n)
    for c in range(cells.leaf.size):
        leaf = cells.leaf[c]
        of_cell = nodes[leaf] if outlook.by_piece else nodes[leaf] - hope / math.sqrt(tree[0, leaf] + 1.0)
        out[starts[c] : starts[c + 1]] = of_cell
    if outlook.by_piece:  # in loops of their own, which the processor works off several pieces at a time
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
def remember(a: Any, first: Any, losses: Any, sets: Any, n_sets: int, cells: Cells, tree: Any) -> None:
    """Count what the sets have shown, on their pieces, and for each set once on the nodes that it touches."""
    width, total = np.zeros(tree.shape[1]), np.zeros(tree.shape[1])
    for which in range(n_sets):
        c = 0
        for j in range(sets.size):
            if sets[j] != which:
                continue
            c = last_at(cells.edges, c, cells.leaf.size, a[EDGE, first[j]])
            for i in range(first[j], first[j + 1]):
                a[COUNT, i] += 1.0
                a[LOSS, i] += losses[j]
                while cells.edges[c + 1] <= a[EDGE, i]:
                    c += 1
                width[cells.leaf[c]] += a[EDGE, i + 1] - a[EDGE, i]
                total[cells.leaf[c]] += (a[EDGE, i + 1] - a[EDGE, i]) * losses[j]
        for node in range(tree.shape[1] - 1, 0, -1):
            if width[node] > 0.0:
                tree[0, node] += 1.0
                tree[1, node] += total[node] / width[node]
                width[node >> 1] += width[node]
                total[node >> 1] += total[node]
                width[node] = total[node] = 0.0


@inner
def remember_whole(a: Any, first: Any, losses: Any, cells: Cells, tree: Any) -> None:
    """Count what a whole function has shown: on every piece, and on the tree by the middles of the cells."""
    c = 0
    for j in range(losses.size):
        for i in range(first[j], first[j + 1]):
            a[COUNT, i] += 1.0
            a[LOSS, i] += losses[j]
        end = a[EDGE, first[j + 1]]
        while c < cells.leaf.size and 0.5 * (cells.edges[c] + cells.edges[c + 1]) < end:
            node = cells.leaf[c]
            while node >= 1:
                tree[0, node] += 1.0
                tree[1, node] += losses[j]
                node >>= 1
            c += 1


@inner
def estimate(
    a: Any, n: int, first: Any, losses: Any, sets: Any, factors: Any, base: Any, asked: Any, smooth: Smooth
) -> tuple[float, float]:
    """Add b + (loss - b) / p to the sums where it was seen, b elsewhere; relative to the mean of b.

    1/p, and what is to be taken off for several looks, are the two rows of `factors`; `asked` are the shares
    at the time of the draw. (loss - b) / p is averaged over cells. Leaves in `base` what was added; returns
    the mean of it, and the mean by which the floor has raised the estimates.
    """
    (edges, leaf), starts = smooth.cells, smooth.starts
    level = dot(asked, base, n)
    exact, touched = np.zeros(n), np.zeros(smooth.nodes, np.bool_)
    for j in range(sets.size):
        if sets[j] >= 0:
            factor, less = factors[0, sets[j]], factors[1, sets[j]]
            for i in range(first[j], first[j + 1]):
                exact[i] = (losses[j] - base[i]) * factor - less
            c = last_at(edges, 0, leaf.size, a[EDGE, first[j]])
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
    """The mean of the estimates over each cell by the shares, as pieces of a cell are much alike.

    A narrow set has a small p, and an estimate that varies as much as 1/p; its mean over a cell varies no
    more than that of a look at the cell. Where much is played cells are finer: one that holds more than the
    share `most` falls into those of single rows, and these are halved. The cells depend on the past alone.
    """
    out = exact.copy()
    if smooth.most <= 0.0:
        return out
    leaf, starts = smooth.cells.leaf, smooth.starts
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
    """Average over the parts of a cell, halved while they hold more than the share `most`.

    An average is that of all within a part; a piece in several parts gets its part of each.
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
                break  # it goes on in the next part
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
    """How much of a piece is between two places; all of it as a rule."""
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
    """The mean of loss - b on each set."""
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
def paired(
    first: Any, losses: Any, sets: Any, base: Any, asked: Any, times: Any, p: Any, explore: float,
    deviation: float, sums: Any,
) -> Any:  # fmt: skip
    """By what to multiply loss - b on each set, and what to take off then; adds the round to `sums`.

    One look divides by its chance p. Of several, each makes an estimate of its own, and the mean counts. The
    others tell it whether the instance is a hard one: θ · (the mean of their loss - b) is taken off, which is
    the same everywhere in expectation, as looks are drawn independently. θ is the slope of the regression of
    loss - b in one set on those in others, in the rounds before: `sums` holds the sums of their products and
    of squares (both less what is usual), of loss - b, and the number of rounds.
    """
    factors = np.zeros((2, p.size))
    draws = _told.looks(times)
    if draws == 1:
        for k in range(p.size):
            factors[0, k] = 1.0 / (p[k] + explore)
        return factors
    surprise = surprises(first, losses, sets, p.size, base, asked)
    usual = sums[SURPRISE] / (sums[PAIRED] + 1.0)
    prior = FIRST_LOOKS * deviation * deviation
    theta = SHARED
    if sums[OTHERS] + prior > 0.0:
        theta = min(max((sums[PRODUCTS] + SHARED * prior) / (sums[OTHERS] + prior), 0.0), 1.0)
    total = 0.0
    for k in range(p.size):
        total += times[k] * surprise[k]
    for k in range(p.size):
        chance = -math.expm1(math.log1p(-p[k]) / draws) if p[k] < 1.0 else 1.0
        factors[0, k] = times[k] / draws / (max(chance, _told.SMALLEST_SHARE) + explore)
        factors[1, k] = factors[0, k] * theta * (total - surprise[k]) / (draws - 1)
        elsewhere = draws - times[k]
        if elsewhere > 0:  # looks at the same set are alike, whatever the instance
            others = (total - times[k] * surprise[k]) / elsewhere - usual
            sums[PRODUCTS] += times[k] * (surprise[k] - usual) * others
            sums[OTHERS] += times[k] * others * others
    sums[SURPRISE] += total / draws
    sums[PAIRED] += 1.0
    return factors


@inner
def log_mixed(values: Any, asked: Any, rate: float) -> float:
    """The logarithm of the mean of exp(-rate · value) by the shares at the time of the draw."""
    mixed = 0.0
    for i in range(values.size):
        mixed += asked[i] * math.expm1(-rate * values[i])
    return math.log1p(max(mixed, 2.0**-53 - 1.0))


@inner
def shares_of(first: Any, sets: Any, asked: Any) -> Any:
    """The share of the mass of each piece that was told."""
    shares = np.zeros(sets.size)
    for j in range(sets.size):
        if sets[j] >= 0:
            shares[j] = sum_between(asked, first[j], first[j + 1])
    return shares


@inner
def count_paid(sums: Any, paid: float) -> None:
    """Add a loss to mean and squares."""
    delta = paid - sums[MEAN]
    sums[TOLD] += 1.0
    sums[MEAN] += delta / sums[TOLD]
    sums[SQUARES] += delta * (paid - sums[MEAN])


@kernel
def learn(
    a: Any,
    n: int,
    lo: float,
    hi: float,
    paid: float,
    told: Any,
    asked: Any,
    cell_edges: Any,
    leaf: Any,
    tree: Any,
    sums: Any,
    by_piece: bool,
    shrink: float,
    optimism: float,
    doubt: float,
    explore: float,
    floor: float,
    rate: float,
    coarse: float,
    whole: bool,
    budget: int,
) -> tuple[int, float, float, float]:
    """One round on the n pieces of `a`, which has room for a cut at each edge. O(P).

    What was seen is in the table `told`, or a step from lo to hi if that is empty. Completes the chances of
    the sets, and adds to the tree and to `sums`. `asked` are shares of the pieces, cut already, at the time
    of the draw, where that is past; with none given, of today. A cell is halved for the averages from a share
    of `coarse`·t^(-1/3) on; 0: nothing is averaged. Returns the number of pieces, the mixability
    gap, the mean by which the floor has raised estimates, and the chance of the first set.
    Takes the numbers of an `Outlook` and of a `Rule` one by one, as named tuples take long to hand over.
    """
    cells = Cells(cell_edges, leaf)
    told = _told.completed(told, lo, hi, paid, whole)
    edges, losses = told[_told.EDGE], told[_told.LOSS, :-1]
    sets, times, p = _told.sets_in(told)
    first = np.empty(edges.size, np.int64)
    n = cut(a, n, edges, sets, first)
    prompt = asked.size == 0
    level, before = a[SUM, n], a[MASS, n]
    if prompt:
        asked = np.empty(n)
        for i in range(n):
            asked[i] = a[MASS, i] / before
    _told.chances(sets, shares_of(first, sets, asked), _told.looks(times), p)
    deviation = math.sqrt(sums[SQUARES] / max(sums[TOLD], 1.0))
    starts = begin(a, n, cells)
    outlook = Outlook(sums[MEAN], deviation, by_piece, shrink, optimism, doubt)
    values = baseline(a, n, cells, starts, tree, outlook)
    factors = paired(first, losses, sets, values, asked, times, p, explore, deviation, sums)
    most = coarse * (1.0 + sums[TOLD]) ** (-1.0 / 3.0)
    smooth = Smooth(cells, starts, tree.shape[1], most, floor)
    expected, raised = estimate(a, n, first, losses, sets, factors, values, asked, smooth)
    if whole:
        remember_whole(a, first, losses, cells, tree)
    else:
        remember(a, first, losses, sets, p.size, cells, tree)
    count_paid(sums, paid)
    weigh(a, n, rate)
    if prompt:  # the totals know it, without further exponentials
        gap = expected + math.log(a[MASS, n] / before) / rate - (a[SUM, n] - level)
    else:
        gap = expected + log_mixed(values, asked, rate) / rate
    if n > budget:
        n, _ = join(a, n, 3 * budget // 4, cells.edges, rate)
    return n, float(max(gap, 0.0)), float(raised), float(p[0])
