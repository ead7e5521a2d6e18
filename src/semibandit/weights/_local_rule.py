"""Kernels of the default learning rule: a fast learner with a local baseline, and a safe one beside it.

The one entry point is `learn`. Pieces of the weights lie in an array (see `_pieces`). Statistics of losses
are kept on a binary tree of cells in heap order (1 is the root, 2i and 2i + 1 are the halves of i); `leaf[c]`
is the node of the c-th cell of the line. Every end of a cell is an end of a piece.

In all kernels, `edges`, `losses` and `sets` are the feedback (see `Feedback`), `first[j]` is the piece of the
weights at which the j-th piece of the feedback begins. The rows of `asked` are the shares of the pieces at
the time of the ask: in the mixture that is played, for the fast learner, and for the safe learner.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semibandit._jit import inner, kernel
from semibandit.weights._pieces import (
    COUNT,
    EDGE,
    FAST,
    LOSS,
    MASS,
    OF_FAST,
    OF_SAFE,
    PRIOR,
    SAFE,
    cut,
    dot,
    join,
    last_at,
    mix,
    soft_minimum,
    sum_of,
    weigh,
    weigh_one,
)
from semibandit.weights._tree_rule import SMALLEST_SHARE, count, set_probabilities
from semibandit.weights.cells import HALVINGS

# Numbers of the rule: count, mean and squared deviations of the losses paid (Welford's recurrence); the sums
# of the regression in `look_factors`; rates and gaps of both learners; the factor of the log-term and the
# speed of the drift; the sum of the estimated advantages of the fast learner over the safe one, and of their
# squares; the terms of the certificate; the stage of the range of the losses.
(
    TOLD, MEAN, SQUARES, PRODUCTS, OTHERS, SURPRISE, PAIRED, FAST_RATE, SAFE_RATE, FAST_GAPS, SAFE_GAPS, BOLD,
    SPEED, AHEAD, AHEAD_SQUARES, SOFT_MINIMUM, BOUND, SECOND, CLIPPED, STAGE,
) = range(20)  # fmt: skip
SUMS = 20
KNOWN = 3.0  # stage in which the range of the losses is known
FORGOTTEN = (TOLD, SQUARES, PRODUCTS, OTHERS, SURPRISE, PAIRED, AHEAD, AHEAD_SQUARES)

# Rows of the tree: weighted looks and losses, then number, sum, squares and last round of unweighted looks.
WEIGHT, TOTAL, LOOKS, PLAIN, PLAIN_SQUARES, LAST = range(6)
TREE_ROWS = 6

PLAYED, BY_FAST, BY_SAFE = range(3)  # rows of `asked`

FIRST_SLOPE = 0.8  # prior of the regression slope in `look_factors`
FIRST_LOOKS = 60.0  # its weight, in looks
PARTS = 2**HALVINGS  # of a cell, at most

# Chosen on a few streams; docs/learner.md describes what each constant does.
LOOK = 16.0  # a look with probability p counts min(1/p, LOOK) times in the statistics
FLOOR = 1.0  # the fast learner's density is at least exp(-FLOOR - evidence) times the prior
SURE = 1.5  # factor of the evidence
AGE = 8.0  # evidence is multiplied by (last look / now)^AGE
SAFE_SHARE = 0.05  # the safe learner plays a share of min(0.1, SAFE_SHARE/√t)
MOST_SAFE = 0.1
DOUBT = 3.0  # standard deviations by which the safe learner must be ahead for a restart
KEPT = 0.25  # part of the statistics that a restart keeps
DRIFT_TERM = 15.0  # added to the log-term if the best parameter moves fast
RATE_STEP = 0.97  # rates fall at least by this factor, if they fall


class State(NamedTuple):
    """Arrays that a round changes (pieces, statistics of cells, sums), and the cells of the line."""

    pieces: npt.NDArray[np.float64]
    tree: npt.NDArray[np.float64]
    sums: npt.NDArray[np.float64]
    cell_edges: npt.NDArray[np.float64]
    leaf: npt.NDArray[np.int64]


class Config(NamedTuple):
    """Parameters of the rule in one round."""

    rate: float  # of the fast learner, if it is fixed; else 0
    log_term: float  # else its rate is log_term / (range + gaps)
    low: float  # inner range of the losses told before
    high: float
    explore: float  # implicit exploration of the fast learner: estimates divide by p + explore
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
) -> int:  # fmt: skip
    """One round of both learners on n pieces. O(P).

    The array of pieces must have room for a cut at each edge. `asked` must belong to pieces that are cut
    already, and is empty for a prompt tell. Writes the probabilities of the sets to `p`. Returns the number
    of pieces.
    """
    a, sums = state.pieces, state.sums
    first = np.empty(edges.size, np.int64)
    n = cut(a, n, edges, sets, first)
    begin_rates(a, n, sums, config)
    now = shares_now(a, n)
    if asked.size == 0:
        asked = now
    set_probabilities(sets, shares_of(first, sets, asked[PLAYED]), p)
    reach = config.high - config.low
    deviation = math.sqrt((sums[SQUARES] + 0.5 * reach * reach) / (sums[TOLD] + 2.0))
    starts = begin(a, n, state)
    plain, values = baseline(a, n, starts, state, deviation, config)
    compare(first, losses, sets, looks, p, values, asked, now[BY_SAFE], sums, config)
    teach_safe(a, first, losses, sets, looks, p, asked[BY_SAFE], now[BY_SAFE], sums, config)
    clipped = np.minimum(np.maximum(losses, config.low), config.high)
    expected = dot(asked[BY_FAST], plain, n)
    teach_fast(a, n, first, clipped, sets, looks, p, asked, values, starts, deviation, state, config)
    if config.whole:
        remember_whole(a, first, clipped, state)
    else:
        remember(a, first, clipped, sets, p, state)
    sums[CLIPPED] += max(paid - config.high, 0.0)
    count_paid(sums, min(max(paid, config.low), config.high))
    reweigh(a, n, expected, state, config)
    if n > config.budget:
        rates = (sums[FAST_RATE], sums[SAFE_RATE])
        n, _ = join(a, n, 3 * config.budget // 4, state.cell_edges, rates)
        mix(a, n, safe_share(sums))
    return n


@kernel
def safe_share(sums: Any) -> float:
    """Return the share of the safe learner in the mixture; 1 while the range of the losses is unknown."""
    if 0.0 < sums[STAGE] < KNOWN:
        return 1.0
    return min(MOST_SAFE, SAFE_SHARE / math.sqrt(sums[TOLD] + 1.0))


@inner
def shares_now(a: Any, n: int) -> Any:
    """Return the shares of the pieces in the mixture, for the fast learner and for the safe learner."""
    out = np.empty((3, n))
    for i in range(n):
        out[PLAYED, i] = a[MASS, i] / a[MASS, n]
    for i in range(n):
        out[BY_FAST, i] = a[OF_FAST, i] / a[OF_FAST, n]
    for i in range(n):
        out[BY_SAFE, i] = a[OF_SAFE, i] / a[OF_SAFE, n]
    return out


@inner
def begin_rates(a: Any, n: int, sums: Any, config: Config) -> None:
    """Set the rates when the range of the losses is first known."""
    if sums[SAFE_RATE] == 0.0:
        reach = config.high - config.low
        sums[BOLD] = 1.0
        sums[FAST_RATE] = config.rate if config.rate > 0.0 else config.log_term / reach
        sums[SAFE_RATE] = math.log(2.0) / reach
        weigh(a, n, (sums[FAST_RATE], sums[SAFE_RATE]), safe_share(sums))
        sums[SOFT_MINIMUM] = soft_minimum(a, n, sums[SAFE_RATE])


@inner
def compare(
    first: Any, losses: Any, sets: Any, looks: Any, p: Any, base: Any, asked: Any, safe: Any, sums: Any,
    config: Config,
) -> None:  # fmt: skip
    """Add the unbiased estimates of the differences of expected losses.

    AHEAD: of the safe learner and the fast one, at the time of the ask. SECOND: of the mixture at the time of
    the ask and the safe learner now. The loss at a place is estimated as b + 1{observed}·(loss - b)/p.
    """
    n, draws = base.size, count(looks)
    ahead = dot(asked[BY_SAFE], base, n) - dot(asked[BY_FAST], base, n)
    second = dot(asked[PLAYED], base, n) - dot(safe, base, n)
    for j in range(sets.size):
        if sets[j] >= 0:
            factor = looks[sets[j]] / draws / p[sets[j]]
            loss = min(losses[j], config.high)
            for i in range(first[j], first[j + 1]):
                correction = (loss - base[i]) * factor
                ahead += (asked[BY_SAFE, i] - asked[BY_FAST, i]) * correction
                second += (asked[PLAYED, i] - safe[i]) * correction
    sums[AHEAD] += ahead
    sums[AHEAD_SQUARES] += ahead * ahead
    sums[SECOND] += second


@inner
def teach_safe(
    a: Any, first: Any, losses: Any, sets: Any, looks: Any, p: Any, asked: Any, now: Any, sums: Any,
    config: Config,
) -> None:  # fmt: skip
    """Add the safe learner's estimates (min(loss, high) - low + range/2) / p, which are not clipped below.

    The gap for the rate uses the shares at the ask; a loss in the range has no larger gap than `most`. BOUND
    gets the mean by the shares now, as the certificate needs it.
    """
    reach, rate, draws = config.high - config.low, sums[SAFE_RATE], count(looks)
    mean = mixed = most = 0.0
    for j in range(sets.size):
        if sets[j] >= 0:
            factor = looks[sets[j]] / draws / p[sets[j]]
            estimate = (min(losses[j], config.high) - config.low + 0.5 * reach) * factor
            then, here = 0.0, 0.0
            for i in range(first[j], first[j + 1]):
                a[SAFE, i] += estimate
                then += asked[i]
                here += now[i]
            sums[BOUND] += here * estimate
            mean += then * estimate
            mixed += then * math.expm1(min(-rate * estimate, 600.0))
            most += then * 1.5 * reach * factor
    gap = mean + math.log1p(max(mixed, 2.0**-53 - 1.0)) / rate
    sums[SAFE_GAPS] += min(max(gap, 0.0), most)


@inner
def teach_fast(
    a: Any, n: int, first: Any, losses: Any, sets: Any, looks: Any, p: Any, asked: Any, values: Any,
    starts: Any, deviation: float, state: State, config: Config,
) -> None:  # fmt: skip
    """Add the fast learner's estimates, and its gap."""
    sums, rate = state.sums, state.sums[FAST_RATE]
    surprise = np.zeros(p.size)
    if count(looks) > 1:
        surprise = surprises(first, losses, sets, p.size, values, asked[PLAYED])
    factors = look_factors(surprise, looks, p, config.explore, deviation, sums)
    most = config.coarse * (1.0 + sums[TOLD]) ** (-1.0 / 3.0)
    floor = -math.inf if config.whole else -1.0 / rate
    smooth = Smooth(state.cell_edges, state.leaf, starts, state.tree.shape[1], most, floor)
    estimate(a, n, first, losses, sets, factors, values, asked, smooth)
    gap = dot(asked[BY_FAST], values, n) + log_mixed(values, asked[BY_FAST], rate) / rate
    sums[FAST_GAPS] += max(gap, 0.0)


@inner
def reweigh(a: Any, n: int, expected: float, state: State, config: Config) -> None:
    """Adapt the rates, compute the masses, and restart the fast learner if the safe one is ahead."""
    sums, reach = state.sums, config.high - config.low
    if config.rate <= 0.0:
        bold = max(sums[BOLD] * config.log_term, 1.0) + DRIFT_TERM * sums[SPEED]
        sums[FAST_RATE] = adapted(sums[FAST_RATE], bold / (reach + sums[FAST_GAPS]), sums[SPEED])
    exact = math.log(2.0 + sums[TOLD]) / (reach + sums[SAFE_GAPS])
    sums[SAFE_RATE] = adapted(sums[SAFE_RATE], exact, sums[SPEED])
    sums[SPEED] = 0.0
    weigh_one(a, n, SAFE, OF_SAFE, sums[SAFE_RATE])
    if sums[AHEAD] < -DOUBT * math.sqrt(sums[AHEAD_SQUARES] + reach * reach):
        restart(a, n, state)
    weigh_one(a, n, FAST, OF_FAST, sums[FAST_RATE])
    for i in range(n + 1):  # the least sum is 0, so that small differences are exact
        a[FAST, i] -= a[FAST, n]
    if not config.whole:
        limit_by_evidence(a, n, expected, reach, state)
    mix(a, n, safe_share(sums))
    after = soft_minimum(a, n, sums[SAFE_RATE])
    sums[BOUND] -= after - sums[SOFT_MINIMUM]
    sums[SOFT_MINIMUM] = after


@inner
def adapted(rate: float, exact: float, speed: float) -> float:
    """Return the rate of the next round; it rises only with drift."""
    if exact < RATE_STEP * rate or (speed > 0.0 and exact > rate / RATE_STEP**6):
        return exact
    return rate


@inner
def restart(a: Any, n: int, state: State) -> None:
    """Continue the fast learner from the safe learner's density, with a quarter of the statistics."""
    sums = state.sums
    for i in range(n):
        a[FAST, i] = a[SAFE, i] * (sums[SAFE_RATE] / sums[FAST_RATE])
        a[COUNT, i] *= KEPT
        a[LOSS, i] *= KEPT
    for c in range(state.tree.shape[1]):
        for row in range(LAST):
            state.tree[row, c] *= KEPT
    sums[BOLD] *= 0.5
    sums[AHEAD] = sums[AHEAD_SQUARES] = 0.0


@inner
def limit_by_evidence(a: Any, n: int, expected: float, reach: float, state: State) -> None:
    """Keep the fast learner's density above exp(-FLOOR - evidence) times the prior.

    The evidence against a node with n looks, mean m and variance v is n·g²/(v + range·g), with g the excess
    of m over the loss that the learner expects (Maillard sampling). It fades with the age of the last look.
    That against a place is the largest on its path.
    """
    tree, leaf, rate = state.tree, state.leaf, state.sums[FAST_RATE]
    evidence = np.zeros(tree.shape[1])
    for c in range(1, tree.shape[1]):
        looks = tree[LOOKS, c]
        if looks > 0.0:
            mean = tree[PLAIN, c] / looks
            excess = mean - expected
            if excess > 0.0:
                variance = max(tree[PLAIN_SQUARES, c] / looks - mean * mean, 0.0)
                fresh = min(tree[LAST, c] / state.sums[TOLD], 1.0) ** AGE
                evidence[c] = SURE * looks * fresh * excess * excess / (variance + reach * excess)
        evidence[c] = max(evidence[c], evidence[c >> 1])
    total = a[OF_FAST, n] / sum_of(a[PRIOR], n)
    i = 0
    for c in range(leaf.size):
        limit = FLOOR + evidence[leaf[c]] - math.log(total)
        highest, least = limit / rate, math.exp(-limit)
        while i < n and a[EDGE, i] < state.cell_edges[c + 1]:
            if a[FAST, i] > highest:
                a[FAST, i] = highest
                a[OF_FAST, i] = a[PRIOR, i] * least
            i += 1
    a[OF_FAST, n] = sum_of(a[OF_FAST], n)


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


@inner
def remember(a: Any, first: Any, losses: Any, sets: Any, p: Any, state: State) -> None:
    """Add the losses of the sets to the statistics of their pieces, and once per set to the nodes.

    Wide sets are observed more often than narrow ones; counting a look min(1/p, LOOK) times makes up for it.
    """
    tree, cell_edges, leaf = state.tree, state.cell_edges, state.leaf
    width, total = np.zeros(tree.shape[1]), np.zeros(tree.shape[1])
    for which in range(p.size):
        c, weight = 0, min(1.0 / p[which], LOOK)
        for j in range(sets.size):
            if sets[j] != which:
                continue
            c = last_at(cell_edges, c, leaf.size, a[EDGE, first[j]])
            for i in range(first[j], first[j + 1]):
                a[COUNT, i] += weight
                a[LOSS, i] += weight * losses[j]
                while cell_edges[c + 1] <= a[EDGE, i]:
                    c += 1
                width[leaf[c]] += a[EDGE, i + 1] - a[EDGE, i]
                total[leaf[c]] += (a[EDGE, i + 1] - a[EDGE, i]) * losses[j]
        for node in range(tree.shape[1] - 1, 0, -1):
            if width[node] > 0.0:
                add_look(tree, node, weight, total[node] / width[node], state.sums[TOLD] + 1.0)
                width[node >> 1] += width[node]
                total[node >> 1] += total[node]
                width[node] = total[node] = 0.0


@inner
def add_look(tree: Any, node: int, weight: float, loss: float, now: float) -> None:
    """Add a look to the statistics of a node."""
    tree[WEIGHT, node] += weight
    tree[TOTAL, node] += weight * loss
    tree[LOOKS, node] += 1.0
    tree[PLAIN, node] += loss
    tree[PLAIN_SQUARES, node] += loss * loss
    tree[LAST, node] = now


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
                add_look(tree, node, 1.0, losses[j], state.sums[TOLD] + 1.0)
                node >>= 1
            c += 1


@inner
def estimate(
    a: Any, n: int, first: Any, losses: Any, sets: Any, factors: Any, base: Any, asked: Any, smooth: Smooth
) -> None:
    """Add the estimates b + 1{observed} · (loss - b) / p to the fast sums, relative to the mean of b.

    The rows of `factors` are 1/p and the offset for several looks (see `look_factors`). Corrections are
    averaged over cells, then raised to the floor. Leaves in `base` what was added to the sums.
    """
    leaf, starts = smooth.leaf, smooth.starts
    level = dot(asked[BY_FAST], base, n)
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
    even = averages(a, exact, asked[PLAYED], touched, smooth)
    for c in range(leaf.size):
        if touched[leaf[c]]:
            for i in range(starts[c], starts[c + 1]):
                base[i] += max(even[i], smooth.floor)
    for i in range(n):
        base[i] -= level
        a[FAST, i] += base[i]


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
