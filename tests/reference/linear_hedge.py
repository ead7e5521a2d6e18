"""Algorithm 1 with piecewise linear losses the obvious way: all updates kept, weights to 40 digits."""

from fractions import Fraction

import mpmath as mp

from reference import linear_functions


class Learner:
    """Keeps the exact piecewise linear logarithm of the weight; nothing is undone or shared."""

    def __init__(self, rate):
        self.rate = Fraction(rate)
        self.log = [(Fraction(0), Fraction(1), Fraction(0), Fraction(0))]

    def probability(self, intervals):
        whole = linear_functions.exponential_integral(self.log, 0, 1)
        return sum(linear_functions.exponential_integral(self.log, a, b) for a, b in intervals) / whole

    def tell(self, seen, p, shift=0.0, floor=None):
        """Multiply by exp(-rate · max((loss - shift) / p, floor)) where the loss was seen."""
        update = []
        for lo, hi, left, right in linear_functions.pieces(seen):
            if left is None:
                update.append((lo, hi, Fraction(0), Fraction(0)))
                continue
            a, b = ((end - Fraction(shift)) / Fraction(p) for end in (left, right))
            update += [(c, d, -self.rate * x, -self.rate * y) for c, d, x, y in _raised(lo, hi, a, b, floor)]
        start, end = update[0][0], update[-1][1]
        if start > 0:
            update.insert(0, (Fraction(0), start, Fraction(0), Fraction(0)))
        if end < 1:
            update.append((end, Fraction(1), Fraction(0), Fraction(0)))
        self.log = linear_functions.total([self.log, update])

    def density(self, x):
        whole = linear_functions.exponential_integral(self.log, 0, 1)
        value = linear_functions.value(self.log, Fraction(x))
        return mp.exp(mp.mpf(value.numerator) / value.denominator) / whole


def _raised(lo, hi, a, b, floor):
    if floor is None or min(a, b) >= floor:
        return [(lo, hi, a, b)]
    floor = Fraction(floor)
    if max(a, b) <= floor:
        return [(lo, hi, floor, floor)]
    kink = lo + (hi - lo) * (floor - a) / (b - a)
    return [(lo, kink, max(a, floor), floor), (kink, hi, floor, max(b, floor))]
