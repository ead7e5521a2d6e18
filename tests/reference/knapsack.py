"""Greedy knapsack the slow, obvious way: every critical value to 60 digits, one run per interval between."""

from fractions import Fraction

import mpmath as mp

mp.mp.dps = 60
SAME = mp.mpf(10) ** -40  # true coincidences are equal to 60 digits; others differ far above this


def critical(vi, si, vj, sj):
    """Where two items of different sizes and of some value swap."""
    return mp.log(mp.mpf(vi) / mp.mpf(vj)) / mp.log(mp.mpf(si) / mp.mpf(sj))


def critical_values(values, sizes, lo, hi):
    """The distinct critical values of all pairs in (lo, hi), in order."""
    items = [(float(v), float(s)) for v, s in zip(values, sizes, strict=True) if v > 0]
    found = sorted(
        critical(vi, si, vj, sj)
        for i, (vi, si) in enumerate(items)
        for vj, sj in items[:i]
        if si != sj and vi != vj
    )
    if any(vi == vj and si != sj for i, (vi, si) in enumerate(items) for vj, sj in items[:i]):
        found = sorted([*found, mp.mpf(0)])
    distinct = []
    for c in found:
        if lo + SAME < c < hi - SAME and (not distinct or c - distinct[-1] > SAME):
            distinct.append(c)
    return distinct


def order(values, sizes, rho):
    """The items by decreasing score at a rho that is no critical value; those without value last."""
    scores = {
        i: mp.log(mp.mpf(float(v))) - rho * mp.log(mp.mpf(float(s)))
        for i, (v, s) in enumerate(zip(values, sizes, strict=True))
        if v > 0
    }
    # Rounded so that items of equal value and size compare equal, and the index decides.
    ranked = sorted(scores, key=lambda i: (-mp.nint(scores[i] * mp.mpf(10) ** 50), i))
    return ranked + [i for i, v in enumerate(values) if v == 0]


def greedy(sizes, capacity, ranked):
    """The set of items that are added in this order, in exact arithmetic."""
    room, chosen = Fraction(float(capacity)), set()
    for i in ranked:
        if Fraction(float(sizes[i])) <= room:
            chosen.add(i)
            room -= Fraction(float(sizes[i]))
    return frozenset(chosen)


def pieces(values, sizes, capacity, lo, hi, partition="output"):
    """[(start, selected set), ...] over [lo, hi]; with "output", equal neighbours are one piece."""
    starts = [mp.mpf(lo), *critical_values(values, sizes, lo, hi)]
    ends = [*starts[1:], mp.mpf(hi)]
    found = []
    for start, end in zip(starts, ends, strict=True):
        chosen = greedy(sizes, capacity, order(values, sizes, (start + end) / 2))
        if partition == "order" or not found or found[-1][1] != chosen:
            found.append((start, chosen))
    return found


def bound(values, sizes, capacity):
    """The value of the fractional relaxation."""
    room, total = Fraction(float(capacity)), Fraction(0)
    items = [(Fraction(float(v)), Fraction(float(s))) for v, s in zip(values, sizes, strict=True)]
    for v, s in sorted(items, key=lambda item: item[0] / item[1], reverse=True):
        part = min(Fraction(1), room / s)
        total += part * v
        room -= part * s
    return total
