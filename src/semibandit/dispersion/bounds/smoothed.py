"""Dispersion of smoothed instances of three families, and the regret that follows.

The critical parameters of an instance are formulas in its κ-smooth numbers, with a density of at most q
(`densities`). An instance has at most N of them, so an interval of length ε contains one with probability at
most min(1, N·q·ε). T times this bounds the expected number of T independent functions that break on a fixed
interval, and `worst_interval` that on the worst one.
"""

import math
from functools import partial

from semibandit import _validate
from semibandit.dispersion import densities
from semibandit.dispersion.bounds.regret import Regret, regret
from semibandit.dispersion.bounds.uniform import worst_interval, worst_segment

__all__ = [
    "knapsack_critical_values",
    "knapsack_dispersion",
    "knapsack_regret",
    "linkage_critical_values",
    "linkage_dispersion",
    "linkage_regret",
    "metric_linkage_critical_values",
    "metric_linkage_dispersion",
]


# -- greedy knapsack -------------------------------------------------------------------------------------


def knapsack_critical_values(n: int) -> int:
    """Return how often the order of n items by v/s^ρ can change: once for each pair, C(n, 2).

    >>> knapsack_critical_values(10)
    45
    """
    return math.comb(_validate.integer("n", n, low=1), 2)


def knapsack_dispersion(T: int, eps: float, *, n: int, C: float, kappa: float) -> float:
    """Lemma 8: bound the expected number of T knapsack losses that break on the worst interval of length ε.

    Parameters
    ----------
    T, eps
        Number of instances, and length of the interval.
    n, C
        Number of items, and ratio of the largest to the smallest size (in the paper sizes are in [1, C]).
    kappa
        The values are independent, in [0, 1], with densities of at most κ (so κ ≥ 1).

    Notes
    -----
    Items i and j swap at ρ = ln(v_i/v_j)/ln(s_i/s_j), of density at most (κ − 1/2)·ln C
    (`independent_log_ratio`, then `rescale` by |ln(s_i/s_j)| ≤ ln C). The mean on a fixed interval is at most
    T·C(n, 2)·ε·(κ − 1/2)·ln C; in the paper T·n²·ε·κ²·ln(C)/2.

    Examples
    --------
    >>> round(knapsack_dispersion(10_000, 0.001, n=5, C=10.0, kappa=1.0))
    171
    """
    T, eps = _rounds(T, eps)
    C = _validate.number("C", C, low=1.0)
    density = densities.independent_log_ratio(_smooth(kappa, 1.0)) * math.log(C)
    pairs = knapsack_critical_values(n)
    return worst_interval(T * min(1.0, pairs * eps * density), T, pairs)


def knapsack_regret(
    T: int, *, n: int, C: float, kappa: float, R: float, H: float | None = None, M: float | None = None
) -> Regret:
    """Corollary 9: bound the regret of tuning ρ in [0, R], O(C·n·√(T·log(R·T·n·κ·log C))), at the best rate.

    Parameters
    ----------
    T, n, C, kappa
        As in `knapsack_dispersion`.
    R
        The largest ρ.
    H
        Largest loss. Default: C, as in the paper, where it is the capacity and the loss is the capacity minus
        the value packed.
    M
        Average number of feedback sets in a round. Default: C(n, 2) + 1, one for each order of the items.

    Examples
    --------
    >>> print(knapsack_regret(1_000_000, n=5, C=10.0, kappa=1.0, R=2.0, H=1.0))
    at most 15,982 (0.016 per round)
    """
    f = partial(knapsack_dispersion, n=n, C=C, kappa=kappa)
    R = _validate.number("R", R, low=0.0, open=True)
    M = knapsack_critical_values(n) + 1 if M is None else M
    return regret(T, M, f, R / 2.0, H=_validate.number("C", C, low=0.0, open=True) if H is None else H)


# -- ρ-linkage -------------------------------------------------------------------------------------------


def linkage_critical_values(n: int) -> int:
    """Bound the number of critical parameters of n points: about n⁸/32.

    A critical value compares two candidate merges, each given by the closest and the farthest pair of points
    between its two clusters. With P = C(n, 2) pairs of points, no pair belongs to both merges (clusters are
    disjoint, and the merges differ), and at least one merge has two different pairs (else both are constant
    in ρ): P·(P − 1)²·(P − 2)/2 choices, the two merges being exchangeable.

    >>> linkage_critical_values(3), linkage_critical_values(10)
    (6, 1873080)
    """
    P = math.comb(_validate.integer("n", n, low=1), 2)
    return P * (P - 1) ** 2 * (P - 2) // 2 if P > 2 else 0


def linkage_dispersion(T: int, eps: float, *, n: int, B: float, kappa: float) -> float:
    """Lemma 11: bound the expected number of T linkage losses that break on the worst interval of length ε.

    Parameters
    ----------
    T, eps
        Number of instances, and length of the interval.
    n, B, kappa
        Number of points; the distances are independent, in [0, B], with densities of at most κ (κ·B ≥ 1).

    Notes
    -----
    Two merges tie at c = X/(X + Y), X = d_rr' − d_ii', Y = d_jj' − d_ss', where ii' and jj' are the closest
    and farthest pairs of one merge, rr' and ss' of the other. X and Y have densities of at most κ, and
    |X + Y| ≤ 2B, so c has one of at most 4·κB (`share`). If a merge has a single pair,
    c = (d_rr' − d_ii')/(d_rr' − d_ss') with a denominator in [−B, B]: at most κB (`shifted_ratio`). The mean
    on a fixed interval is at most T·N·ε·4·κB with N ≤ n⁸/32; in the paper 16·T·n⁸·ε·(κB)².

    Examples
    --------
    >>> round(linkage_dispersion(10_000, 1e-9, n=5, B=1.0, kappa=2.0))
    8
    """
    T, eps = _rounds(T, eps)
    values, B = linkage_critical_values(n), _length(B)
    density = _merge_density(_smooth(kappa, B), B)
    return worst_interval(T * min(1.0, values * eps * density), T, values)


def linkage_regret(
    T: int, *, n: int, B: float, kappa: float, H: float = 1.0, M: float | None = None
) -> Regret:
    """Corollary 12: bound the regret of tuning ρ in [0, 1], O(n⁴·√(T·log(T·n·κ·B))), at the best rate.

    M is the average number of feedback sets in a round. Its default, one more than
    `linkage_critical_values`, makes the bound vacuous for T below about n⁸; use a measured M.

    >>> print(linkage_regret(1_000_000, n=10, B=1.0, kappa=1.0, M=20))
    at most 31,288 (0.031 per round)
    >>> print(linkage_regret(1_000_000, n=10, B=1.0, kappa=1.0))
    vacuous: larger than T = 1,000,000
    """
    f = partial(linkage_dispersion, n=n, B=B, kappa=kappa)
    return regret(T, linkage_critical_values(n) + 1 if M is None else M, f, 0.5, H=H)


# -- ρ-metric-linkage ------------------------------------------------------------------------------------


def metric_linkage_critical_values(n: int) -> int:
    """Bound the number of critical curves of n points with two metrics.

    As `linkage_critical_values`, but two merges with one pair each can tie as α moves:
    P·(P − 1)²·(P − 2)/2 + P·(P − 1)/2.

    >>> metric_linkage_critical_values(3)
    9
    """
    return linkage_critical_values(n) + math.comb(math.comb(n, 2), 2)


def metric_linkage_dispersion(T: int, eps: float, *, n: int, B: float, kappa: float) -> float:
    """Theorem 14: bound the expected number of T losses in (ρ, α) that break between two points ε apart.

    Parameters
    ----------
    T, eps
        Number of instances, and distance of the two points.
    n, B, kappa
        Number of points; the distances in both metrics are independent, in [0, B], with densities of at
        most κ.

    Notes
    -----
    Two merges tie where q(ρ, α) = (1 − ρ)·(d_rr' − d_ii') + ρ·(d_ss' − d_jj') = 0 with d = (1 − α)·d⁰ + α·d¹.
    This is linear in ρ and in α, so along an axis it has a single root, a ratio:

    - α fixed: the mixed distances have densities of at most κ/max(α, 1 − α) ≤ 2κ, and the root in ρ is that
      of Lemma 11: at most 8·κB;
    - ρ fixed: the root in α is P₀/(P₀ − P₁), where P_k is q in the metric k, in [−B, B] with a density of at
      most κ/max(ρ, 1 − ρ) ≤ 2κ: at most 8·κB (`share`).

    Two points ε apart are joined by one segment along each axis, of lengths a and b with a² + b² ≤ ε². A
    segment of length a breaks a function with probability at most min(1, N·8·κB·a); `worst_segment` for
    bilinear curves, of degree 2, bounds the worst one. This bound is concave in a, so that the sum over both
    segments is largest for a = b = ε/√2. The paper has O(T·n⁸·κ³·ε + √(T·log(Tn))).

    Examples
    --------
    >>> round(metric_linkage_dispersion(10_000, 1e-9, n=5, B=1.0, kappa=2.0))
    44
    """
    T, eps = _rounds(T, eps)
    B = _length(B)
    density = _merge_density(2.0 * _smooth(kappa, B), B)
    curves, length = metric_linkage_critical_values(n), eps / math.sqrt(2.0)
    one_axis = worst_segment(T * min(1.0, curves * length * density), T, curves, degree=2)
    return min(float(T), 2.0 * one_axis)


def _merge_density(kappa: float, B: float) -> float:
    """Bound the density of the ρ at which two merges tie, for distances in [0, B] of densities at most κ."""
    difference = densities.sum(kappa, kappa)
    return max(densities.share(difference, difference, 2.0 * B), densities.shifted_ratio(kappa, kappa, B))


def _rounds(T: int, eps: float) -> tuple[int, float]:
    return _validate.integer("T", T, low=1), _validate.number("eps", eps, low=0.0)


def _length(B: float) -> float:
    return _validate.number("B", B, low=1e-100, high=1e100)


def _smooth(kappa: float, length: float) -> float:
    """Validate a bound on a density on an interval of this length."""
    kappa = _validate.number("kappa", kappa, low=0.0, high=1e100, open=True)
    if kappa * length < 1.0:
        raise ValueError(
            f"kappa must be at least {1.0 / length:g}, as every density on an interval of length {length:g} "
            f"reaches that, got {kappa!r}"
        )
    return kappa
