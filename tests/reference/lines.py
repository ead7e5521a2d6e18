"""Scores a + b·ρ in exact arithmetic: the order of lines at ρ, and the pieces of a run that sorts by it."""

import functools
from fractions import Fraction

BITS = 43


def rounded(x):
    """A rational number, rounded to 43 significant bits; halves go down."""
    if x == 0:
        return 0.0
    exponent, size = 0, abs(x)
    while size >= 2**BITS:
        exponent, size = exponent + 1, size / 2
    while size < 2 ** (BITS - 1):
        exponent, size = exponent - 1, size * 2
    scaled = x / Fraction(2) ** exponent
    below = scaled.numerator // scaled.denominator
    return float((below + (scaled - below > Fraction(1, 2))) * Fraction(2) ** exponent)


def crossing(i, j):
    """The rounded ρ at which two lines (a, b) cross; None for parallel ones."""
    (ai, bi), (aj, bj) = (tuple(map(Fraction, line)) for line in (i, j))
    return None if bi == bj else rounded((aj - ai) / (bi - bj))


def compare(lines, rho):
    """-1 where the first of two indices has the higher line just right of rho, else 1."""

    def before(i, j):
        c = crossing(lines[i], lines[j])
        if c is None:
            return -1 if (-lines[i][0], i) < (-lines[j][0], j) else 1
        return -1 if (lines[i][1] > lines[j][1]) == (rho >= c) else 1

    return before


def order(lines, rho):
    """The indices by decreasing line just right of rho, then by index."""
    return sorted(range(len(lines)), key=functools.cmp_to_key(compare(lines, rho)))


def pieces(run, lo, hi):
    """[(start, output), ...]: run(rho) returns an output and the crossings at which it may change."""
    found, rho = [], lo
    while rho < hi:
        output, crossings = run(rho)
        if not found or found[-1][1] != output:
            found.append((rho, output))
        rho = min((c for c in crossings if c > rho), default=hi)
    return found


def all_crossings(lines):
    every = (crossing(i, j) for i in lines for j in lines)
    return [c for c in every if c is not None]
