"""Why Ward's linkage is not in the family, by computing: docs/linkage.md argues with this."""

from fractions import Fraction
from itertools import combinations

import numpy as np


def squares(points):
    """Exact squared distances."""
    return {
        (i, j): sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(p, q, strict=True))
        for (i, p), (j, q) in combinations(enumerate(points), 2)
    }


def total(q, A, B):
    return sum(q[min(i, j), max(i, j)] for i in A for j in B)


def average(q, A, B):
    return total(q, A, B) / (len(A) * len(B))


def ward(q, A, B):
    """Twice by how much a merge raises the sum of squares: 2|A||B| / (|A| + |B|) times that of the means."""
    a, b = len(A), len(B)
    within = sum(sum(total(q, [i], [j]) for i, j in combinations(C, 2)) / len(C) ** 2 for C in (A, B))
    return 2 * Fraction(a * b, a + b) * (average(q, A, B) - within)


def test_ward_is_the_distance_of_the_means():
    points = [(0, 0), (2, 0), (5, 1), (7, 3), (6, -1)]
    between = np.mean(points[:2], axis=0) - np.mean(points[2:], axis=0)
    assert float(ward(squares(points), [0, 1], [2, 3, 4])) == 2 * 6 / 5 * between @ between


def test_mixed_with_average_it_is_not_reducible():
    """Merging the closest clusters brings a third one closer: the nearest-neighbour chain does not apply."""
    rng = np.random.default_rng(0)
    rho, found = Fraction(3, 10), 0
    for _ in range(300):
        points = rng.integers(-8, 9, size=(9, 2)).tolist()
        q = squares(points)
        A, B, C = [0, 1, 2], [3, 4, 5], [6, 7, 8]

        def mixed(X, Y, q=q):
            return (1 - rho) * average(q, X, Y) + rho * ward(q, X, Y)

        nearest = min(mixed(A, C), mixed(B, C))
        found += mixed(A, B) <= nearest and mixed(A + B, C) < nearest
    assert found > 0


def test_squares_of_doubles_need_more_than_two_doubles():
    """Two pairs whose squared distances, added up, differ by less than two doubles can tell."""
    tiny = 2.0**-60
    exact = Fraction(1.0 + 2.0**-52) ** 2 + Fraction(tiny) ** 2
    bits = exact.numerator.bit_length()
    assert bits > 106
