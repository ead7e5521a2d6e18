"""Linkage with two metrics, slowly and obviously: every row in exact arithmetic, then a union of pieces."""

from __future__ import annotations

from reference import linkage

END = 2.0  # an interval that holds 1, too


def mixed(d0, d1, alpha):
    """The distances at alpha, rounded as documented: a step from the nearer metric towards the other."""

    def mix(a, b):
        return a + alpha * (b - a) if alpha < 0.5 else b + (1 - alpha) * (a - b)

    return [[mix(a, b) for a, b in zip(*rows, strict=True)] for rows in zip(d0, d1, strict=True)]


def pieces(d0, d1, alphas, kind, unit):
    """The maximal pieces with one tree in each row, as (row, lo, hi, tree)."""
    found = []
    for row, alpha in enumerate(alphas):
        edges, trees = linkage.pieces(mixed(d0, d1, alpha), kind, unit=unit)
        edges[-1] = END
        found += [(row, *edges[i : i + 2], tree) for i, tree in enumerate(trees)]
    return found


def components(found):
    """Pieces of neighbouring rows with one tree belong together where they overlap; closed under that."""
    group = list(range(len(found)))
    for i, (row, lo, hi, tree) in enumerate(found):
        for j, (other, a, b, same) in enumerate(found):
            if other == row + 1 and same == tree and max(lo, a) < min(hi, b):
                old, new = group[j], group[i]
                group = [new if g == old else g for g in group]
    names = dict.fromkeys(group)
    return [[piece for piece, g in zip(found, group, strict=True) if g == name] for name in names]
