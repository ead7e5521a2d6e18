"""Theorems 5 to 7: from the expected count on a fixed interval to that on the worst one.

The expected number of functions that break on a *fixed* interval is easy to bound; dispersion is about the
*worst* interval. Both theorems here follow from one lemma.

**Lemma.** Let ℓ₁, ..., ℓ_T be independent, and let at most μ of them in expectation break on any fixed set I
of a class. Let the set on which the most functions break be one of at most N candidates, each determined by
at most m of the functions. Then the number D* of functions that break on it satisfies, for every λ > 0,

    E[D*] ≤ m + (ln N + μ·(e^λ − 1))/λ.

*Proof.* Given the m functions that determine a candidate, it is a fixed set, and the others are independent
of it: the number S of them that break there is a sum of independent indicators with E[S] ≤ μ, so that
E[e^(λS)] ≤ exp(μ·(e^λ − 1)). As e^(λ(D* − m)) is at most the sum of e^(λS) over the candidates, its
expectation is at most N·exp(μ·(e^λ − 1)). Jensen's inequality gives the lemma. ∎

At the best λ, where (λ − 1)·e^λ + 1 = ln N/μ, the excess over μ is about √(2·μ·ln N) for large μ; in the
paper it is O(√(T·log(TK))). So if μ is proportional to ε·T, the functions are β-dispersed for every β < 1,
and not only for β = 1/2.
"""

import math

from semibandit import _validate

__all__ = ["segment_patterns", "vc_segments", "worst_interval", "worst_interval_union", "worst_segment"]


def worst_interval(mean: float, T: int, K: int) -> float:
    """Theorem 5: bound the expected number of functions that break on the worst interval of a given length.

    Parameters
    ----------
    mean
        Bound on the expected number of functions that break on any *fixed* closed interval of that length,
        which is positive.
    T, K
        Number of independent functions, and the most discontinuities of one.

    Returns
    -------
    float
        A bound on E[max D], at most T.

    Notes
    -----
    The lemma of the module with m = 1 and N = T·K: moved to the right until it begins at its first
    discontinuity, an interval loses none, and it is then determined by the function of that discontinuity.
    The paper's ball of radius ε is a closed interval of length 2ε.

    Examples
    --------
    >>> round(worst_interval(mean=100.0, T=10_000, K=1))
    147
    """
    mean, T, K = _arguments(mean, T, K)
    return _worst(mean, T, candidates=T * K, m=1)


def worst_interval_union(mean: float, T: int, K: int) -> float:
    """Lemma B.2: the bound of earlier work, for comparison; its error term is K times as large.

    `mean` bounds the expected number of *discontinuities*, not functions, in a fixed interval. Each of the K
    discontinuities of a function is treated separately: E[max D] ≤ mean + Σ_i E[max (D_i − E[D_i])]. Each
    summand is at most 2·√(2·T·ln(2·T + 1)), by symmetrisation and Massart's lemma: a sliding interval
    contains at most 2·T + 1 different subsets of T points.

    >>> worst_interval_union(100.0, 10_000, K=5) > worst_interval(100.0, 10_000, K=5)
    True
    """
    mean, T, K = _arguments(mean, T, K)
    if mean == 0.0:
        return 0.0
    return min(float(T), mean + K * 2.0 * math.sqrt(2.0 * T * math.log(2 * T + 1)))


def segment_patterns(curves: int, degree: int) -> int:
    """Theorem 6: bound the number of subsets of algebraic curves that an axis-aligned segment can hit.

    Consider k curves of degree at most d and the horizontal lines. The order in which the curves cross a
    line changes only at special heights: where two curves meet (at most d² per pair, by Bézout), and where a
    curve turns, crosses itself, contains the line or has it for an asymptote. The latter are zeros of the
    resultant of f and ∂f/∂x, at most d·(d − 1) per curve (one per curve for d = 1). P heights leave 2·P + 1
    kinds of lines, those at the heights and those between them. A line has at most k·d crossing points, of
    which a segment can contain C(kd + 1, 2) + 1 different subsets. Vertical segments double this.

    >>> segment_patterns(1, 1)
    12
    """
    k = _validate.integer("curves", curves, low=0)
    d = _validate.integer("degree", degree, low=1)
    heights = math.comb(k, 2) * d * d + k * max(1, d * (d - 1))
    return 2 * (2 * heights + 1) * (math.comb(k * d + 1, 2) + 1)


def vc_segments(degree: int) -> int:
    """Theorem 6: return a K_d such that axis-aligned segments shatter no K_d curves of degree d.

    It is the smallest k with `segment_patterns(k, degree)` < 2^k.

    >>> [vc_segments(d) for d in (1, 2, 3)]
    [17, 22, 25]
    """
    k = 1
    while segment_patterns(k, degree) >= 2**k:
        k += 1
    return k


def worst_segment(mean: float, T: int, K: int, degree: int) -> float:
    """Theorem 7: bound the expected number of functions that break on the worst axis-aligned segment.

    Parameters
    ----------
    mean
        Bound on the expected number of functions that break on any *fixed* axis-aligned segment of the
        length ε considered, on any line that meets the space.
    T, K, degree
        Number of independent functions; each breaks on at most K algebraic curves of at most this degree.

    Notes
    -----
    The lemma of the module with m = 3. Take a worst horizontal segment, from its first to its last crossing
    point, on the curves a and b, and move it down along these curves. It loses no curve before one of these
    heights: a curve c of the segment turns or has an asymptote, or c meets a or b, or the segment becomes
    longer than ε, or the space ends. So the height is determined by at most two of a, b and c, and the
    segment of length ε that begins on a, at that height or just above it, by at most three. With k = T·K
    curves of degree d there are at most d² heights for each pair of curves that meet, max(1, d·(d − 1)) for
    each curve that turns, and d² for each of k² ordered pairs of curves at distance ε (Bézout). Each line
    has at most k·d crossing points.

    Examples
    --------
    >>> round(worst_segment(100.0, 10_000, K=1, degree=2))
    192
    """
    mean, T, K = _arguments(mean, T, K)
    d = _validate.integer("degree", degree, low=1)
    k = T * K
    heights = (math.comb(k, 2) + k * k) * d * d + k * max(1, d * (d - 1)) + 1
    return _worst(mean, T, candidates=4 * heights * (k * d + 1), m=3)


def _arguments(mean: float, T: int, K: int) -> tuple[float, int, int]:
    mean = _validate.number("mean", mean, low=0.0)
    return mean, _validate.integer("T", T, low=1), _validate.integer("K", K, low=0)


def _worst(mean: float, T: int, candidates: int, m: int) -> float:
    """Apply the lemma of the module. Every λ gives a valid bound, so an inexact minimiser is harmless."""
    # Countably many intervals of positive length cover the line: at mean 0 almost surely no function breaks.
    if mean == 0.0 or candidates == 0:
        return 0.0
    mean, log_n = max(mean, 1e-300), math.log(candidates)
    ratio = log_n / mean
    rate = min(math.sqrt(2.0 * ratio), 1.0 + math.log1p(ratio))  # above the minimiser
    if rate == 0.0:
        return min(float(T), m + mean)
    for _ in range(20):  # Newton's method for (λ − 1)·e^λ + 1 = ln N/μ, which is convex
        rate -= ((rate - 1.0) * math.exp(rate) + 1.0 - ratio) / (rate * math.exp(rate))
    return min(float(T), m + (log_n + mean * math.expm1(rate)) / rate)
