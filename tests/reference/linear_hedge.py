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

    def tell(self, seen, p):
        """Multiply by exp(-rate · loss / p) where the loss was observed."""
        update = []
        for lo, hi, left, right in linear_functions.pieces(seen):
            left, right = (0, 0) if left is None else (left, right)
            update.append((lo, hi, *(-self.rate * x / Fraction(p) for x in (left, right))))
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
