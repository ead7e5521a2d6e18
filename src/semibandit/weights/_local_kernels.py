"""Kernels of weights with a local baseline: pieces in flat arrays, statistics on a tree of cells.

Row by row, a column for each piece, and one more for the end of the line:

    EDGE      where the piece begins
    PRIOR     its mass before anything was learned
    SUM       the sum of the estimates of its loss; its weight is prior · exp(-rate · sum)
    RAISED    by how much clips and joins have made SUM larger than an unbiased estimate
    COUNT     the number of rounds that have seen the piece
    LOSS      the sum of the losses that they have seen there
    MASS      prior · exp(-rate · (sum - level)); the level, the least sum, stands behind the last sum, and
              the total behind the last mass

A tree of cells in heap order (1 is the root, 2i and 2i + 1 are the halves of i) keeps counts and losses as
well: `leaf[c]` is the node of the c-th cell of the line. Ends of cells are ends of pieces, always.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semibandit._jit import inner, kernel

EDGE, PRIOR, SUM, RAISED, COUNT, LOSS, MASS = range(7)
ROWS = 7

SHARED = 0.8  # the part of what other looks say of the hardness of an instance that is believed at first
FIRST_LOOKS = 60.0  # with the weight of so many looks
LEAST_DEVIATION = 0.3  # of the mean: losses that are all alike must be told from unseen ones
SMALLEST_SHARE = 2.0**-64


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


@kernel
def weigh(a: Any, n: int, rate: float) -> None:
    """Compute all masses. O(P)."""
    least = a[SUM, 0]
    for i in range(1, n):
        least = min(least, a[SUM, i])
    total = 0.0
    for i in range(n):
        a[MASS, i] = a[PRIOR, i] * math.exp(-rate * (a[SUM, i] - least))
        total += a[MASS, i]
    a[SUM, n], a[MASS, n] = least, total


@inner
def dot(x: Any, y: Any) -> float:
    """The sum of the products, in four strands: one addition need not wait for the other."""
    n = x.size
    s0 = s1 = s2 = s3 = 0.0
    for i in range(0, n - 3, 4):
        s0 += x[i] * y[i]
        s1 += x[i + 1] * y[i + 1]
        s2 += x[i + 2] * y[i + 2]
        s3 += x[i + 3] * y[i + 3]
    for i in range(n - n % 4, n):
        s0 += x[i] * y[i]
    return (s0 + s1) + (s2 + s3)


@kernel
def draw(a: Any, u: float) -> float:
    """The point below which there is a share u of the mass. O(P)."""
    n = a.shape[1] - 1
    rest = u * a[MASS, n]
    chosen, part, inside = 0, 1.0, 0.0
    for i in range(n):
        if a[MASS, i] > 0.0:
            chosen, part, inside = i, a[MASS, i], rest
            if rest < a[MASS, i]:
                break
            rest -= a[MASS, i]
    lo, hi = a[EDGE, chosen], a[EDGE, chosen + 1]
    x = lo + (hi - lo) * min(inside / part, 1.0)
    return float(min(x, np.nextafter(hi, lo)))


@kernel
def shares(a: Any, edges: Any) -> Any:
    """The share of the mass between consecutive edges. O(P + edges)."""
    n = a.shape[1] - 1
    out = np.zeros(edges.size - 1)
    total = a[MASS, n]
    i = 0
    for j in range(out.size):
        while i > 0 and a[EDGE, i] > edges[j]:
            i -= 1
        while i < n - 1 and a[EDGE, i + 1] <= edges[j]:
            i += 1
        while i < n and a[EDGE, i] < edges[j + 1]:
            lo, hi = max(a[EDGE, i], edges[j]), min(a[EDGE, i + 1], edges[j + 1])
            out[j] += a[MASS, i] * ((hi - lo) / (a[EDGE, i + 1] - a[EDGE, i]))
            i += 1
        i = max(i - 1, 0)
        out[j] = out[j] / total
    return out


@kernel
def refine(a: Any, edges: Any, sets: Any, b: Any, told: Any) -> int:
    """Copy the pieces to b, cut at the ends of what was seen; return their number.

    Writes to `told` which piece of what was seen each of them lies in, -1 where nothing was seen. Both must
    have room for a cut at each edge. O(P + edges · log P).
    """
    at = i = 0
    x = a[EDGE, 0]
    for j in range(sets.size):
        if sets[j] >= 0:
            i, at = copy_between(a, i, x, edges[j], b, at, told, -1)
            i, at = copy_between(a, i, edges[j], edges[j + 1], b, at, told, j)
            x = edges[j + 1]
    n = a.shape[1] - 1
    i, at = copy_between(a, i, x, a[EDGE, n], b, at, told, -1)
    for row in range(ROWS):
        b[row, at] = a[row, n]
    return at


@inner
def copy_between(
    a: Any, i: int, lo: float, hi: float, b: Any, at: int, told: Any, label: int
) -> tuple[int, int]:
    """Copy what lies between lo, in piece i, and hi; return the piece that holds hi, and the next column."""
    if not lo < hi:
        return i, at
    first, beyond = i, a.shape[1] - 1
    while beyond - i > 1:  # the last piece that begins before hi
        middle = (i + beyond) // 2
        if a[EDGE, middle] < hi:
            i = middle
        else:
            beyond = middle
    m = i - first + 1
    for row in range(ROWS):
        source, target = a[row, first:], b[row, at:]
        for j in range(m):  # assigning slices takes seconds to compile, for the sake of an error message
            target[j] = source[j]
    labels = told[at:]
    for j in range(m):
        labels[j] = label
    keep_part(a, first, b, at, lo, min(hi, a[EDGE, first + 1]))
    if m > 1:
        keep_part(a, i, b, at + m - 1, a[EDGE, i], min(hi, a[EDGE, i + 1]))
    return (i if hi < a[EDGE, i + 1] else i + 1), at + m


@inner
def keep_part(a: Any, i: int, b: Any, at: int, lo: float, hi: float) -> None:
    """Of the copy of piece i only [lo, hi): it inherits all but prior and mass, which are split by width."""
    part = (hi - lo) / (a[EDGE, i + 1] - a[EDGE, i])
    b[EDGE, at] = lo
    b[PRIOR, at] *= part
    b[MASS, at] *= part


@inner
def baseline(a: Any, n: int, cells: Cells, tree: Any, outlook: Outlook) -> Any:
    """The loss expected of each piece, shrunk to its cell, that to its parent and so on, and lowered."""
    nodes = np.empty(tree.shape[1])
    k = outlook.shrink
    root = max(outlook.mean - 0.5 * outlook.deviation, 0.0)
    nodes[1] = (tree[1, 1] + k * root) / (tree[0, 1] + k)
    for c in range(2, nodes.size):
        nodes[c] = (tree[1, c] + k * nodes[c >> 1]) / (tree[0, c] + k)
    hope = outlook.optimism * max(outlook.deviation, LEAST_DEVIATION * outlook.mean)
    out = np.empty(n)
    c = 0
    for i in range(n):
        while cells.edges[c + 1] <= a[EDGE, i]:
            c += 1
        leaf = cells.leaf[c]
        out[i] = nodes[leaf] if outlook.by_piece else nodes[leaf] - hope / math.sqrt(tree[0, leaf] + 1.0)
    if outlook.by_piece:  # in a loop of its own, which the processor works off several pieces at a time
        for i in range(n):
            out[i] = (a[LOSS, i] + k * out[i]) / (a[COUNT, i] + k) - hope / (a[COUNT, i] + 1.0)
    for i in range(n):
        out[i] = max(out[i], 0.0)
    return out


@inner
def remember(
    a: Any, n: int, told: Any, losses: Any, sets: Any, which: int, cells: Cells, tree: Any, stamp: Any
) -> None:
    """Count what one set has shown, on its pieces and once on each node of the tree that it touches. O(P)."""
    c = 0
    for i in range(n):
        if told[i] < 0 or sets[told[i]] != which:
            continue
        loss = losses[told[i]]
        a[COUNT, i] += 1.0
        a[LOSS, i] += loss
        while cells.edges[c + 1] <= a[EDGE, i]:
            c += 1
        node = cells.leaf[c]
        while node >= 1 and stamp[node] != which:
            stamp[node] = which
            tree[0, node] += 1.0
            tree[1, node] += loss
            node >>= 1


@inner
def remember_whole(a: Any, n: int, told: Any, losses: Any, cells: Cells, tree: Any) -> None:
    """Count what a whole function has shown: on every piece, and on the tree by the middles of the cells."""
    c = 0
    for i in range(n):
        loss = losses[told[i]]
        a[COUNT, i] += 1.0
        a[LOSS, i] += loss
        while c < cells.leaf.size and 0.5 * (cells.edges[c] + cells.edges[c + 1]) < a[EDGE, i + 1]:
            node = cells.leaf[c]
            while node >= 1:
                tree[0, node] += 1.0
                tree[1, node] += loss
                node >>= 1
            c += 1


@kernel
def spread(a: Any, n: int, share: float, rate: float) -> None:
    """Fixed share: move a share of the mass to where the prior has it (Balcan, Dick, Sharma 2020). O(P)."""
    prior = 0.0
    for i in range(n):
        prior += a[PRIOR, i]
    even = share * a[MASS, n] / prior
    level = a[SUM, n]
    for i in range(n):
        if a[PRIOR, i] > 0.0:
            weight = (1.0 - share) * math.exp(-rate * (a[SUM, i] - level)) + even
            a[SUM, i] = level - math.log(weight) / rate
            a[MASS, i] = a[PRIOR, i] * weight


@inner
def estimate(
    a: Any, n: int, told: Any, losses: Any, sets: Any, factors: Any, base: Any, asked: Any, floor: float
) -> tuple[float, float]:
    """Add b + (loss - b) / p to the sums where it was seen, b elsewhere; relative to the mean of b.

    1/p, and what is to be taken off for several looks, are the two rows of `factors`; `asked` are the shares
    at the time of the draw. Leaves in `base` what was added; returns the mean of it, and the mean by which
    the floor has raised the estimates.
    """
    level = dot(asked, base)
    mean = raised = 0.0
    for i in range(n):
        value = base[i] - level
        if told[i] >= 0:
            which = sets[told[i]]
            exact = (losses[told[i]] - base[i]) * factors[0, which] - factors[1, which]
            clipped = max(exact, floor)
            a[RAISED, i] += clipped - exact
            raised += asked[i] * (clipped - exact)
            value += clipped
        a[SUM, i] += value
        mean += asked[i] * value
        base[i] = value
    return mean, raised


@inner
def surprises(n: int, told: Any, losses: Any, sets: Any, n_sets: int, base: Any, asked: Any) -> Any:
    """The mean of loss - b on each set."""
    total, share = np.zeros(n_sets), np.zeros(n_sets)
    for i in range(n):
        if told[i] >= 0:
            which = sets[told[i]]
            total[which] += asked[i] * (losses[told[i]] - base[i])
            share[which] += asked[i]
    for k in range(n_sets):
        total[k] = total[k] / share[k] if share[k] > 0.0 else 0.0
    return total


@inner
def paired(surprise: Any, times: Any, p: Any, explore: float, deviation: float, link: Any) -> Any:
    """By what to multiply loss - b on each set, and what to take off then; adds the round to `link`.

    One look divides by its chance p. Of several, each makes an estimate of its own, and the mean counts. The
    others tell it whether the instance is a hard one: θ · (the mean of their loss - b) is taken off, which is
    the same everywhere in expectation, as looks are drawn independently. θ is the slope of the regression of
    loss - b in one set on those in others, in the rounds before: `link` holds the sums of their products and
    of squares (both less what is usual), of loss - b, and the number of rounds.
    """
    factors = np.zeros((2, p.size))
    draws = times.sum()
    if draws == 1:
        for k in range(p.size):
            factors[0, k] = 1.0 / (p[k] + explore)
        return factors
    usual = link[2] / (link[3] + 1.0)
    prior = FIRST_LOOKS * deviation * deviation
    theta = SHARED
    if link[1] + prior > 0.0:
        theta = min(max((link[0] + SHARED * prior) / (link[1] + prior), 0.0), 1.0)
    total = 0.0
    for k in range(p.size):
        total += times[k] * surprise[k]
    for k in range(p.size):
        chance = -math.expm1(math.log1p(-p[k]) / draws) if p[k] < 1.0 else 1.0
        factors[0, k] = times[k] / draws / (max(chance, SMALLEST_SHARE) + explore)
        factors[1, k] = factors[0, k] * theta * (total - surprise[k]) / (draws - 1)
        elsewhere = draws - times[k]
        if elsewhere > 0:  # looks at the same set are alike, whatever the instance
            others = (total - times[k] * surprise[k]) / elsewhere - usual
            link[0] += times[k] * (surprise[k] - usual) * others
            link[1] += times[k] * others * others
    link[2] += total / draws
    link[3] += 1.0
    return factors


@inner
def log_mixed(values: Any, asked: Any, rate: float) -> float:
    """The logarithm of the mean of exp(-rate · value) by the shares at the time of the draw."""
    mixed = 0.0
    for i in range(values.size):
        mixed += asked[i] * math.expm1(-rate * values[i])
    return math.log1p(max(mixed, 2.0**-53 - 1.0))


@kernel
def join(a: Any, n: int, target: int, cell_edges: Any, rate: float) -> tuple[int, float]:
    """Join neighbours within a cell, those first that move the least mass, in passes over disjoint pairs.

    Masses are kept. Returns the number of pieces, and by how much the logarithm of a weight has moved.
    """
    moved = 0.0
    while n > target:
        score = scores(a, n, cell_edges)
        limit = kth_smallest(score.copy(), n - target)
        before = n
        at = i = 0
        while i < n:
            if score[i] <= limit and score[i] < math.inf:
                moved = max(moved, rate * merge(a, i, at, rate))
                i += 2
            else:
                for row in range(ROWS):
                    a[row, at] = a[row, i]
                i += 1
            at += 1
        for row in range(ROWS):
            a[row, at] = a[row, n]
        n = at
        if n == before:
            break
    return n, moved


@kernel
def kth_smallest(x: Any, k: int) -> float:
    """The k-th smallest entry, k from 0; `x` is reordered. O(n) in the mean (Hoare's selection).

    As np.partition would, which takes ten seconds to compile.
    """
    lo, hi = 0, x.size - 1
    while lo < hi:
        pivot = x[(lo + hi) >> 1]
        i, j = lo, hi
        while i <= j:
            while x[i] < pivot:
                i += 1
            while x[j] > pivot:
                j -= 1
            if i <= j:
                x[i], x[j] = x[j], x[i]
                i += 1
                j -= 1
        if k <= j:
            hi = j
        elif k >= i:
            lo = i
        else:
            break
    return float(x[k])


@inner
def scores(a: Any, n: int, cell_edges: Any) -> Any:
    """The mass that moves if a piece is joined with the next; infinite across the end of a cell."""
    score = np.full(n, math.inf)
    c = 0
    for i in range(n - 1):
        while cell_edges[c] < a[EDGE, i + 1]:
            c += 1
        if cell_edges[c] != a[EDGE, i + 1]:
            both = a[PRIOR, i] + a[PRIOR, i + 1]
            part = a[PRIOR, i] / both if both > 0.0 else 0.5
            score[i] = abs(a[MASS, i] - part * (a[MASS, i] + a[MASS, i + 1]))
    return score


@inner
def merge(a: Any, i: int, at: int, rate: float) -> float:
    """Write pieces i and i + 1 as one to column `at`; return the largest change of a sum."""
    both = a[PRIOR, i] + a[PRIOR, i + 1]
    part = a[PRIOR, i] / both if both > 0.0 else 0.5
    s, s2 = a[SUM, i], a[SUM, i + 1]
    least = min(s, s2)
    # The sum that keeps the mass: exp(-rate · sum) is the mean of both.
    joined = (
        least
        - math.log(part * math.exp(-rate * (s - least)) + (1.0 - part) * math.exp(-rate * (s2 - least)))
        / rate
    )
    # At no point of the joined piece may sum - raised be more than an unbiased sum.
    unbiased = min(s - a[RAISED, i], s2 - a[RAISED, i + 1])
    for row in (COUNT, LOSS):
        a[row, at] = part * a[row, i] + (1.0 - part) * a[row, i + 1]
    mass = a[MASS, i] + a[MASS, i + 1]
    a[EDGE, at], a[PRIOR, at], a[MASS, at] = a[EDGE, i], both, mass
    a[SUM, at], a[RAISED, at] = joined, joined - unbiased
    return float(max(abs(s - joined), abs(s2 - joined)))


@inner
def complete(p: Any, draws: int, n: int, told: Any, sets: Any, asked: Any) -> None:
    """Write the chances that the sets are seen by one of several draws; what is not negative stays."""
    for k in range(p.size):
        if p[k] < 0.0:
            share = 0.0
            for i in range(n):
                if told[i] >= 0 and sets[told[i]] == k:
                    share += asked[i]
            share = min(share, 1.0)
            p[k] = share if draws == 1 or share == 1.0 else -math.expm1(draws * math.log1p(-share))
        p[k] = max(p[k], SMALLEST_SHARE)


@kernel
def learn(
    old: Any,
    a: Any,
    edges: Any,
    losses: Any,
    sets: Any,
    asked: Any,
    times: Any,
    p: Any,
    cell_edges: Any,
    leaf: Any,
    tree: Any,
    mean: float,
    deviation: float,
    by_piece: bool,
    shrink: float,
    optimism: float,
    explore: float,
    floor: float,
    rate: float,
    whole: bool,
    budget: int,
    link: Any,
) -> tuple[int, float, float]:
    """One round: from the old pieces to `a`, which has room for a cut at each edge. O(P).

    Completes `p`, the chances of the sets, and adds to the tree and to `link` (see `paired`). `asked` are
    shares of the refined pieces at the time of the draw, where that is past; with none given, of today.
    Returns the number of pieces, the mixability gap, and the mean by which the floor has raised estimates.
    Takes the numbers of an `Outlook` and of a `Rule` one by one, as named tuples take long to hand over.
    """
    cells = Cells(cell_edges, leaf)
    told = np.empty(a.shape[1], np.int64)
    n = refine(old, edges, sets, a, told)
    prompt = asked.size == 0
    level, before = a[SUM, n], a[MASS, n]
    if prompt:
        asked = a[MASS, :n] / before
    complete(p, times.sum(), n, told, sets, asked)
    values = baseline(a, n, cells, tree, Outlook(mean, deviation, by_piece, shrink, optimism))
    surprise = surprises(n, told, losses, sets, p.size, values, asked)
    factors = paired(surprise, times, p, explore, deviation, link)
    expected, raised = estimate(a, n, told, losses, sets, factors, values, asked, floor)
    if whole:
        remember_whole(a, n, told, losses, cells, tree)
    else:
        stamp = np.full(tree.shape[1], -1, np.int64)
        for k in range(p.size):
            remember(a, n, told, losses, sets, k, cells, tree, stamp)
    weigh(a, n, rate)
    if prompt:  # the totals know it, without further exponentials
        gap = expected + math.log(a[MASS, n] / before) / rate - (a[SUM, n] - level)
    else:
        gap = expected + log_mixed(values, asked, rate) / rate
    if n > budget:
        n, _ = join(a, n, 3 * budget // 4, cells.edges, rate)
    return n, max(gap, 0.0), raised
