"""Kernels of the default learning rule: a fast learner with a local baseline, and a safe one beside it.

The one entry point is `learn`. `_local_state` describes the arrays, `_cell_means` keeps statistics and makes
the baseline, `_averages` and `_looks` lower the variance of estimates, and `_evidence` keeps the fast learner
from abandoning a place too early.

In all kernels, `first[j]` is the piece of the weights at which the j-th piece of the feedback begins. The
rows of `asked` are the shares of the pieces at the time of the ask: in the mixture that is played, for the
fast learner, and for the safe learner.
"""

import math
from typing import Any

import numpy as np

from semibandit._jit import inner, kernel
from semibandit.weights._averages import Smooth, averages, sum_between
from semibandit.weights._cell_means import Expected, baseline, begin, remember, remember_whole
from semibandit.weights._evidence import evidence_against, limit_by_evidence
from semibandit.weights._local_state import (
    BOUND,
    BY_FAST,
    BY_SAFE,
    CLIPPED,
    FAST_GAPS,
    FAST_RATE,
    KNOWN,
    MEAN,
    PLAYED,
    SAFE_GAPS,
    SAFE_RATE,
    SECOND,
    SOFT_MINIMUM,
    SPEED,
    SQUARES,
    STAGE,
    TOLD,
    Config,
    State,
    Told,
)
from semibandit.weights._looks import look_factors, surprises
from semibandit.weights._pieces import (
    EDGE,
    FAST,
    MASS,
    OF_FAST,
    OF_SAFE,
    SAFE,
    cut,
    dot,
    join,
    last_at,
    mix,
    soft_minimum,
    weigh,
    weigh_one,
)
from semibandit.weights._tree_rule import count, set_probabilities

DRIFT_TERM = 15.0  # added to the log-term if the best parameter moves fast
RATE_STEP = 0.97  # rates fall at least by this factor, if they fall


@kernel
def learn(state: State, n: int, told: Told, asked: Any, paid: float, config: Config) -> int:
    """One round of both learners on n pieces. O(P).

    The array of pieces must have room for a cut at each edge. `asked` must belong to pieces that are cut
    already, and is empty for a prompt tell. Writes the probabilities of the sets. Returns the number of
    pieces.
    """
    a, sums = state.pieces, state.sums
    first = np.empty(told.edges.size, np.int64)
    n = cut(a, n, told.edges, told.sets, first)
    begin_rates(a, n, sums, config)
    now = shares_now(a, n)
    if asked.size == 0:
        asked = now
    set_probabilities(told.sets, shares_of(first, told.sets, asked[PLAYED]), told.p)
    starts = begin(a, n, state)
    plain, values = baseline(a, n, starts, state, deviation_of(sums, config), config)
    compare(first, told, values, asked[PLAYED], now[BY_SAFE], sums, config)
    teach_safe(a, first, told, asked[BY_SAFE], now[BY_SAFE], sums, config)
    inside = clipped(told, config)
    expected = Expected(dot(asked[BY_FAST], plain, n), plain, asked[PLAYED])
    teach_fast(n, first, inside, asked, values, starts, state, config)
    if config.whole:
        remember_whole(a, first, inside.losses, state)
    else:
        remember(a, first, inside, expected, state, config)
    sums[CLIPPED] += max(paid - config.high, 0.0)
    count_paid(sums, min(max(paid, config.low), config.high))
    reweigh(a, n, expected.paid, state, config)
    if n > config.budget:
        rates = (sums[FAST_RATE], sums[SAFE_RATE])
        n, _ = join(a, n, 3 * config.budget // 4, state.cell_edges, rates)
        mix(a, n, safe_share(sums, config.constants.share))
    return n


@kernel
def safe_share(sums: Any, share: float) -> float:
    """Return the share of the safe learner in the mixture; 1 while the range of the losses is unknown."""
    if 0.0 < sums[STAGE] < KNOWN:
        return 1.0
    return share / math.sqrt(sums[TOLD] + 1.0)


@inner
def shares_now(a: Any, n: int) -> Any:
    """Return the shares of the pieces in the mixture, for the fast learner and for the safe learner."""
    out = np.empty((3, n))
    part = 1.0 / a[MASS, n]
    for i in range(n):  # a product is faster than a quotient
        out[PLAYED, i] = a[MASS, i] * part
    part = 1.0 / a[OF_FAST, n]
    for i in range(n):
        out[BY_FAST, i] = a[OF_FAST, i] * part
    part = 1.0 / a[OF_SAFE, n]
    for i in range(n):
        out[BY_SAFE, i] = a[OF_SAFE, i] * part
    return out


@inner
def clipped(told: Told, config: Config) -> Any:
    """Return what was told with losses clipped to the inner range."""
    losses = np.minimum(np.maximum(told.losses, config.low), config.high)
    return Told(told.edges, losses, told.sets, told.looks, told.p)


@inner
def deviation_of(sums: Any, config: Config) -> float:
    """Return the standard deviation of the losses paid, with two more at half of the range from the mean."""
    reach = config.high - config.low
    return math.sqrt((sums[SQUARES] + 0.5 * reach * reach) / (sums[TOLD] + 2.0))


@inner
def begin_rates(a: Any, n: int, sums: Any, config: Config) -> None:
    """Set the rates when the range of the losses is first known."""
    if sums[SAFE_RATE] == 0.0:
        reach = config.high - config.low
        sums[FAST_RATE] = config.rate if config.rate > 0.0 else config.log_term / reach
        sums[SAFE_RATE] = math.log(2.0) / reach
        weigh(a, n, (sums[FAST_RATE], sums[SAFE_RATE]), safe_share(sums, config.constants.share))
        sums[SOFT_MINIMUM] = soft_minimum(a, n, sums[SAFE_RATE])


@inner
def compare(first: Any, told: Told, base: Any, played: Any, safe: Any, sums: Any, config: Config) -> None:
    """Add the unbiased estimate of the expected loss of the play, less that of the safe learner now.

    The loss at a place is estimated as b + 1{observed}·(loss - b)/p.
    """
    sets, n, draws = told.sets, base.size, count(told.looks)
    second = dot(played, base, n) - dot(safe, base, n)
    for j in range(sets.size):
        if sets[j] >= 0:
            factor = told.looks[sets[j]] / draws / told.p[sets[j]]
            loss = min(told.losses[j], config.high)
            for i in range(first[j], first[j + 1]):
                second += (played[i] - safe[i]) * (loss - base[i]) * factor
    sums[SECOND] += second


@inner
def teach_safe(a: Any, first: Any, told: Told, asked: Any, now: Any, sums: Any, config: Config) -> None:
    """Add the safe learner's estimates (min(loss, high) - low + range/2) / p, which are not clipped below.

    The gap for the rate uses the shares at the ask; a loss in the range has no larger gap than `most`. BOUND
    gets the mean by the shares now, as the certificate needs it.
    """
    reach, rate = config.high - config.low, sums[SAFE_RATE]
    sets, draws = told.sets, count(told.looks)
    mean = mixed = most = 0.0
    for j in range(sets.size):
        if sets[j] >= 0:
            factor = told.looks[sets[j]] / draws / told.p[sets[j]]
            estimate = (min(told.losses[j], config.high) - config.low + 0.5 * reach) * factor
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
    n: int, first: Any, told: Told, asked: Any, values: Any, starts: Any, state: State, config: Config
) -> None:
    """Add the fast learner's estimates, and its gap."""
    sums, rate = state.sums, state.sums[FAST_RATE]
    surprise = np.zeros(told.p.size)
    if count(told.looks) > 1:
        surprise = surprises(first, told.losses, told.sets, told.p.size, values, asked[PLAYED])
    deviation = deviation_of(sums, config)
    factors = look_factors(surprise, told.looks, told.p, config.explore, deviation, sums)
    most = config.coarse * (1.0 + sums[TOLD]) ** (-1.0 / 3.0)
    floor = -math.inf if config.whole else -1.0 / rate
    smooth = Smooth(state.cell_edges, state.leaf, starts, state.tree.shape[1], most, floor)
    estimate(state.pieces, n, first, told, factors, values, asked, smooth)
    gap = dot(asked[BY_FAST], values, n) + log_mixed(values, asked[BY_FAST], rate) / rate
    sums[FAST_GAPS] += max(gap, 0.0)


@inner
def reweigh(a: Any, n: int, expected: float, state: State, config: Config) -> None:
    """Adapt the rates and compute the masses."""
    sums, reach = state.sums, config.high - config.low
    if config.rate <= 0.0:
        bold = config.log_term + DRIFT_TERM * sums[SPEED]
        sums[FAST_RATE] = adapted(sums[FAST_RATE], bold / (reach + sums[FAST_GAPS]), sums[SPEED])
    exact = math.log(2.0 + sums[TOLD]) / (reach + sums[SAFE_GAPS])
    sums[SAFE_RATE] = adapted(sums[SAFE_RATE], exact, sums[SPEED])
    sums[SPEED] = 0.0
    weigh_one(a, n, SAFE, OF_SAFE, sums[SAFE_RATE])
    weigh_one(a, n, FAST, OF_FAST, sums[FAST_RATE])
    for i in range(n + 1):  # the least sum is 0, so that small differences are exact
        a[FAST, i] -= a[FAST, n]
    if not config.whole:
        evidence = evidence_against(expected, state, config)
        limit_by_evidence(a, n, evidence, state, config.constants.floor)
    mix(a, n, safe_share(sums, config.constants.share))
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
def estimate(
    a: Any, n: int, first: Any, told: Told, factors: Any, base: Any, asked: Any, smooth: Smooth
) -> None:
    """Add the estimates b + 1{observed} · (loss - b) / p to the fast sums, relative to the mean of b.

    The rows of `factors` are 1/p and the offset for several looks (see `look_factors`). Corrections are
    averaged over cells, then raised to the floor. Leaves in `base` what was added to the sums.
    """
    leaf, starts, sets = smooth.leaf, smooth.starts, told.sets
    level = dot(asked[BY_FAST], base, n)
    exact, touched = np.zeros(n), np.zeros(smooth.nodes, np.bool_)
    for j in range(sets.size):
        if sets[j] >= 0:
            factor, less = factors[0, sets[j]], factors[1, sets[j]]
            for i in range(first[j], first[j + 1]):
                exact[i] = (told.losses[j] - base[i]) * factor - less
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
