"""From a typical place to the worst one: uniform convergence with explicit constants.

The expected number of functions that break on a *fixed* interval is easy to bound; dispersion asks for the
expected number on the *worst* interval. The passage, for independent functions ℓ₁, ..., ℓ_T:

1. Let X_t(I) ∈ {0, 1} tell whether ℓ_t breaks on I, D(I) = Σ_t X_t(I), D* = max_I D(I), μ = max_I E[D(I)].
   Symmetrisation with independent random signs σ_t gives E[D*] ≤ μ + 2·E[max_I Σ_t σ_t·X_t(I)], whether or
   not the functions are identically distributed.
2. Given the functions, the vectors (X_t(I))_t take at most N values as I varies, each of norm √D(I) ≤ √D*.
   Massart's lemma bounds the expected maximum by √(2·D*·L) with L = ln N.
3. By Jensen, Z = E[D*] satisfies Z ≤ μ + 2·√(2·Z·L). Solving for Z,

       Z ≤ μ + 4·L + √(16·L² + 8·L·μ).

With Z ≤ T inside the root one has the classical Z ≤ μ + 2·√(2·T·L) instead, which is never smaller. The
excess is of the order of √(μ·L) + L rather than √(T·L), and this says more than the paper: where μ is
proportional to ε·T the functions are β-dispersed for every β < 1, and not just for β = 1/2.
"""

import math

from semibandit import _validate

__all__ = [
    "interval_patterns",
    "segment_patterns",
    "vc_segments",
    "worst_interval",
    "worst_interval_union",
    "worst_segment",
]


def interval_patterns(points: int, *, any_length: bool = False) -> int:
    """How many subsets of `points` points of the line an interval can contain.

    An interval of a fixed length that slides along the line changes its contents at most twice per point,
    when it enters and when it leaves: 2·n + 1 subsets. Intervals of any length give C(n + 1, 2) + 1.

    >>> interval_patterns(3), interval_patterns(3, any_length=True)
    (7, 7)
    """
    n = _validate.integer("points", points, low=0)
    return math.comb(n + 1, 2) + 1 if _validate.boolean("any_length", any_length) else 2 * n + 1


def worst_interval(mean: float, T: int, K: int, *, any_length: bool = False) -> float:
    """Theorem 5: expected number of functions that break on the worst interval of a given length.

    Parameters
    ----------
    mean
        At least the expected number of functions that break on any *fixed* interval of that length.
    T, K
        The number of functions, independent of each other, and of discontinuities of each, at most.
    any_length
        Bound the worst over intervals of all lengths at once (`mean` must then hold for all of them).

    Returns
    -------
    float
        A bound on E[max D], at most T.

    Notes
    -----
    The derivation is that of the module, with the patterns counted by `interval_patterns` on T·K points.
    The paper leaves the constant of its √(T·log(TK)) open. Its ball of radius ε is a closed interval of
    length 2ε.

    Examples
    --------
    >>> round(worst_interval(mean=100.0, T=10_000, K=1))
    237
    """
    mean, T, K = _arguments(mean, T, K)
    return _worst(mean, T, math.log(interval_patterns(T * K, any_length=any_length)))


def worst_interval_union(mean: float, T: int, K: int) -> float:
    """Lemma B.2: the older bound, for comparison; its error term is K times as large.

    Here `mean` bounds the expected number of *discontinuities*, not functions, in a fixed interval. Each of
    the K discontinuities of a function is treated on its own: E[max D] ≤ mean + Σ_i E[max (D_i − E[D_i])],
    and each summand is at most 2·√(2·T·ln(2·T + 1)). The paper prints K·√(T·log(TK)) without its constant;
    taking expectations one by one needs no union bound, hence no K inside the logarithm.

    >>> worst_interval_union(100.0, 10_000, K=5) > worst_interval(100.0, 10_000, K=5)
    True
    """
    mean, T, K = _arguments(mean, T, K)
    if mean == 0.0:
        return 0.0
    return min(float(T), mean + K * 2.0 * math.sqrt(2.0 * T * math.log(interval_patterns(T))))


def segment_patterns(curves: int, degree: int) -> int:
    """Theorem 6's count: the subsets of algebraic curves that an axis-aligned segment can hit, at most.

    Consider k curves of degree at most d and the horizontal lines. Going up, the order in which the curves
    cross a line changes only at special heights: where two curves meet (at most d² per pair, by Bézout), and
    where a curve turns, crosses itself, contains the line or has it for an asymptote. The latter are zeros of
    the resultant of f and ∂f/∂x, at most d·(d − 1) per curve (one per curve for d = 1). P heights leave
    2·P + 1 kinds of lines (the heights themselves and the slabs between them). On each there are at most
    k·d crossing points, and C(kd + 1, 2) + 1 ways for a segment to contain some of them. Vertical segments
    double this.

    The paper counts d + 1 crossings for a line where there are up to k·d, leaves out the lines through the
    special points themselves, and halves the total at the end.

    >>> segment_patterns(1, 1)
    12
    """
    k = _validate.integer("curves", curves, low=0)
    d = _validate.integer("degree", degree, low=1)
    heights = math.comb(k, 2) * d * d + k * max(1, d * (d - 1))
    return 2 * (2 * heights + 1) * (math.comb(k * d + 1, 2) + 1)


def vc_segments(degree: int) -> int:
    """Theorem 6: a K_d such that no K_d curves of degree d are shattered by axis-aligned segments.

    The smallest k with `segment_patterns(k, degree)` < 2^k. The paper's K₂ ≤ 11 rests on a wrong count.

    >>> [vc_segments(d) for d in (1, 2, 3)]
    [17, 22, 25]
    """
    k = 1
    while segment_patterns(k, degree) >= 2**k:
        k += 1
    return k


def worst_segment(mean: float, T: int, K: int, degree: int) -> float:
    """Theorem 7: expected number of functions that break on the worst axis-aligned segment.

    Parameters
    ----------
    mean
        At least the expected number of functions that break on any *fixed* segment that is considered.
    T, K, degree
        The number of functions, independent of each other; each breaks on at most K algebraic curves of at
        most this degree.

    Notes
    -----
    The derivation is that of the module, with the patterns counted by `segment_patterns` on T·K curves.

    Examples
    --------
    >>> round(worst_segment(100.0, 10_000, K=1, degree=2))
    497
    """
    mean, T, K = _arguments(mean, T, K)
    return _worst(mean, T, math.log(segment_patterns(T * K, degree)))


def _arguments(mean: float, T: int, K: int) -> tuple[float, int, int]:
    mean = _validate.number("mean", mean, low=0.0)
    return mean, _validate.integer("T", T, low=1), _validate.integer("K", K, low=0)


def _worst(mean: float, T: int, L: float) -> float:
    """Solve the quadratic of the module's third step."""
    if mean == 0.0:  # countably many intervals cover the line, so almost surely nothing breaks anywhere
        return 0.0
    return min(float(T), mean + 4.0 * L + math.sqrt(16.0 * L * L + 8.0 * L * mean))
