"""The three families: how dispersed smoothed instances are, and what regret that allows.

All three follow one recipe. The critical parameters of an instance are formulas in its κ-smooth numbers, with
a density of at most q (`densities`). An instance has at most N of them, so that an interval of length ε holds
one with probability at most min(1, N·q·ε), and T independent instances have at most T times that many
functions break on a fixed interval. `worst_interval` turns this into a bound for the worst one.
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
    """How often the order of n items by v/s^ρ can change: once for each pair, C(n, 2).

    >>> knapsack_critical_values(10)
    45
    """
    return math.comb(_validate.integer("n", n, low=1), 2)


def knapsack_dispersion(T: int, eps: float, *, n: int, C: float, kappa: float) -> float:
    """Lemma 8: how many of T knapsack losses break on the worst interval of length ε, in expectation.

    Parameters
    ----------
    T, eps
        The number of instances and the length of the interval.
    n, C
        Items in each instance, and the ratio of the largest to the smallest size (the paper has sizes in
        [1, C], with C the capacity).
    kappa
        The values are independent, in [0, 1], with densities of at most κ (so κ ≥ 1).

    Notes
    -----
    Items i and j swap at ρ = ln(v_i/v_j)/ln(s_i/s_j), whose density is at most κ²/2·ln C (`log_ratio`, then
    `rescale` by |ln(s_i/s_j)| ≤ ln C). The mean on a fixed interval is thus at most
    T·min(1, C(n, 2)·ε·κ²·ln(C)/2). The paper has T·ε·n²·κ²·ln C for a ball of radius ε, i.e. a length of
    2ε: twice the number of pairs.

    Examples
    --------
    >>> round(knapsack_dispersion(10_000, 0.001, n=5, C=10.0, kappa=1.0))
    281
    """
    T, eps = _rounds(T, eps)
    density = _knapsack_density(C, kappa)
    pairs = knapsack_critical_values(n)
    return worst_interval(T * min(1.0, pairs * eps * density), T, pairs)


def knapsack_regret(
    T: int, *, n: int, C: float, kappa: float, R: float, H: float | None = None, M: float | None = None
) -> Regret:
    """Corollary 9: the regret of tuning ρ in [0, R], with the best step size.

    Parameters
    ----------
    T, n, C, kappa
        As in `knapsack_dispersion`.
    R
        The largest ρ.
    H
        The upper end of the losses; None for the paper's C minus the value packed, which is in [0, C].
    M
        Feedback sets in a round on average; None for C(n, 2) + 1, one for each order of the items.

    Notes
    -----
    The paper's O(C·n·√(T·log(R·T·n·κ·log C))) with its constant.

    Examples
    --------
    >>> bound = knapsack_regret(1_000_000, n=5, C=10.0, kappa=1.0, R=2.0, H=1.0)
    >>> round(bound.value), round(bound.rate, 5)
    (16198, 0.00139)
    """
    f = partial(knapsack_dispersion, n=n, C=C, kappa=kappa)
    R = _validate.number("R", R, low=0.0, open=True)
    M = knapsack_critical_values(n) + 1 if M is None else M
    return regret(T, M, f, R / 2.0, H=_validate.number("C", C, low=0.0, open=True) if H is None else H)


def _knapsack_density(C: float, kappa: float) -> float:
    C = _validate.number("C", C, low=1.0)
    kappa = _smooth(kappa, 1.0)
    return densities.rescale(densities.log_ratio(kappa**2), math.log(C)) if C > 1.0 else 0.0


# -- ρ-linkage -------------------------------------------------------------------------------------------


def linkage_critical_values(n: int) -> int:
    """How many critical parameters n points can have: about n⁸/32.

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
    """Lemma 11: how many of T linkage losses break on the worst interval of length ε, in expectation.

    Parameters
    ----------
    T, eps
        The number of instances and the length of the interval.
    n, B, kappa
        Points in each instance; the distances are independent, in [0, B], with densities of at most κ
        (so κ·B ≥ 1).

    Notes
    -----
    Two merges tie at c = X/(X + Y), X = d_rr' − d_ii', Y = d_jj' − d_ss', where ii' and jj' are the closest
    and farthest pairs of one merge, rr' and ss' of the other. The differences have densities of at most κ,
    and |X + Y| ≤ 2B, so that c has one of at most 4·(κB)² (`share`). Where a merge has only one pair,
    c = (d_rr' − d_ii')/(d_rr' − d_ss') with a denominator in [−B, B]: at most (κB)² (`shifted_ratio`).

    The paper prints 32·T·ε·n⁸·κ²·M² (M for B) for a ball of radius ε, loses the n⁸ in the proof, takes X and
    Y to be in [−2B, 2B] and counts n⁸ values; a length of ε gives T·ε·N·4·(κB)² with N ≤ n⁸/32.

    Examples
    --------
    >>> round(linkage_dispersion(10_000, 1e-9, n=5, B=1.0, kappa=2.0))
    145
    """
    T, eps = _rounds(T, eps)
    values = linkage_critical_values(n)
    return worst_interval(T * min(1.0, values * eps * _linkage_density(B, kappa)), T, values)


def linkage_regret(
    T: int, *, n: int, B: float, kappa: float, H: float = 1.0, M: float | None = None
) -> Regret:
    """Corollary 12: the regret of tuning ρ in [0, 1], with the best step size.

    M is the average number of feedback sets in a round; None for one more than `linkage_critical_values`,
    which is the paper's O(n⁴·√(T·log(T·n·κ·B))) with its constant and exceeds T for any T that one can play.
    With an M that is measured (hundreds, not n⁸) the bound means something.

    >>> bound = linkage_regret(1_000_000, n=10, B=1.0, kappa=1.0, M=20)
    >>> round(bound.value), bound.value < linkage_regret(1_000_000, n=10, B=1.0, kappa=1.0).value
    (31589, True)
    """
    f = partial(linkage_dispersion, n=n, B=B, kappa=kappa)
    return regret(T, linkage_critical_values(n) + 1 if M is None else M, f, 0.5, H=H)


def _linkage_density(B: float, kappa: float) -> float:
    B = _validate.number("B", B, low=1e-100, high=1e100)
    kappa = _smooth(kappa, B)
    difference = densities.sum(kappa, kappa)
    return max(densities.share(difference, difference, 2.0 * B), densities.shifted_ratio(kappa, kappa, B))


# -- ρ-metric-linkage ------------------------------------------------------------------------------------


def metric_linkage_critical_values(n: int) -> int:
    """How many curves of critical parameters n points can have with two metrics.

    As `linkage_critical_values`, but two merges that have one pair each can now tie as α moves:
    P·(P − 1)²·(P − 2)/2 + P·(P − 1)/2.

    >>> metric_linkage_critical_values(3)
    9
    """
    return linkage_critical_values(n) + math.comb(math.comb(n, 2), 2)


def metric_linkage_dispersion(T: int, eps: float, *, n: int, B: float, kappa: float) -> float:
    """Theorem 14: how many of T losses in (ρ, α) break between the worst two points ε apart, in expectation.

    Parameters
    ----------
    T, eps
        The number of instances and the distance of the two points.
    n, B, kappa
        Points in each instance; the distances in both metrics are independent, in [0, B], with densities of
        at most κ.

    Notes
    -----
    Two merges tie where q(ρ, α) = (1 − ρ)·(d_rr' − d_ii') + ρ·(d_ss' − d_jj') = 0 with d = (1 − α)·d⁰ + α·d¹.
    This is linear in ρ and linear in α, so along an axis it has a single root, a ratio to which the rules for
    densities apply directly (Theorem 4, which the paper uses, asks for a leading coefficient of 1):

    - α fixed: the entries of the mixed matrix have densities of at most κ/max(α, 1 − α) ≤ 2κ, and the root
      in ρ is that of Lemma 11: at most 16·(κB)²;
    - ρ fixed: the root in α is P₀/(P₀ − P₁), where P_k is q in the metric k, in [−B, B] and with a density of
      at most κ/max(ρ, 1 − ρ) ≤ 2κ: at most (2κ)²·(2B)² = 16·(κB)² (`share`).

    Two points ε apart are joined by a path of one segment along each axis, of lengths a and b with
    a² + b² ≤ ε². A segment of length a breaks a function with probability at most min(1, N·16·(κB)²·a);
    `worst_segment` for bilinear curves, whose degree is 2, bounds the worst one. That bound is concave in a,
    so that the sum over both segments is largest for a = b = ε/√2. The paper's
    O(T·n⁸·κ³·ε + √(T·log(Tn))) lacks B, and changes when the distances are measured in other units.

    Examples
    --------
    >>> round(metric_linkage_dispersion(10_000, 1e-9, n=5, B=1.0, kappa=2.0))
    1158
    """
    T, eps = _rounds(T, eps)
    B = _validate.number("B", B, low=1e-100, high=1e100)
    mixed = densities.sum(2.0 * _smooth(kappa, B))
    density = densities.share(mixed, mixed, 2.0 * B)
    curves, length = metric_linkage_critical_values(n), eps / math.sqrt(2.0)
    one_axis = worst_segment(T * min(1.0, curves * length * density), T, curves, degree=2)
    return min(float(T), 2.0 * one_axis)


def _rounds(T: int, eps: float) -> tuple[int, float]:
    return _validate.integer("T", T, low=1), _validate.number("eps", eps, low=0.0)


def _smooth(kappa: float, length: float) -> float:
    """A bound that some density on an interval of this length can have."""
    kappa = _validate.number("kappa", kappa, low=0.0, high=1e100, open=True)
    if kappa * length < 1.0:
        raise ValueError(
            f"kappa must be at least {1.0 / length:g} (no density on an interval of length {length:g} stays "
            f"below that), got {kappa!r}"
        )
    return kappa
