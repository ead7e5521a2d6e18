"""ρ-linkage in exact rational arithmetic, slowly and obviously.

The tree is a function of ρ by this rule. A pair of clusters has a line in ρ, (1 - ρ)·a + ρ·b, where a and b
are the two linkages that are mixed. Each step merges the pair that comes first in the order of

1. the value of its line at ρ,
2. the slope of its line: of two lines that cross at ρ, the one that is lower just right of ρ
   (at ρ = 1, where the space ends and its last piece is closed: just left of ρ),
3. the names of its clusters, the smaller first. A cluster is named by its largest point.

Two different pairs never compare equal, so the tree is well defined; by 2 it is right-continuous in ρ. The
name is the *largest* point so that merging never makes a name smaller. With it reducibility holds for the
whole order and not only for the values, and the nearest-neighbour chain must find this very tree under ties.

Parameters are multiples of a unit: a piece starts at the first parameter on which its tree is right. The last
parameter below 1 counts as 1; otherwise a crossing between the two would leave a piece without width.
"""

import math
from fractions import Fraction
from itertools import combinations

UNIT = 2.0**-53
LAST = 1.0 - UNIT  # this double and 1 are one parameter


class Line:
    """(1 - ρ)·a + ρ·b with exact ends."""

    def __init__(self, a, b):
        self.a, self.b = a, b

    def key(self, rho):
        value = (rho.denominator - rho.numerator) * self.a + rho.numerator * self.b
        slope = self.b - self.a
        return (value, slope if rho < 1 else -slope)


def parameter(rho, unit=UNIT):
    """The exact parameter that a double stands for."""
    return Fraction(1) if rho >= 1 - unit else Fraction(math.floor(rho / unit)) * Fraction(unit)


def edge(c, unit=UNIT):
    """The first parameter at or right of c < 1."""
    return min(math.ceil(c / Fraction(unit)) * unit, 1.0 - unit)


def exact(distances):
    """The distances as integers on one scale: doubles are dyadic, so nothing is lost."""
    rows = [[Fraction(float(x)) for x in row] for row in distances]
    scale = max((x.denominator for row in rows for x in row), default=1)
    return [[int(x * scale) for x in row] for row in rows], scale


class Agglomeration:
    """The clusters that are there, by name, and what each pair of them has for min, max and sum."""

    def __init__(self, distances, linkage):
        self.linkage = linkage
        n = len(distances)
        self.members = {i: frozenset([i]) for i in range(n)}
        self.stats = {(i, j): (distances[i][j],) * 3 for i, j in combinations(range(n), 2)}

    def line(self, pair):
        low, high, total = self.stats[pair]
        count = len(self.members[pair[0]]) * len(self.members[pair[1]])
        average = total if count == 1 else Fraction(total, count)
        ends = {"single": low, "complete": high, "average": average}
        a, b = self.linkage.split("-")
        return Line(ends[a], ends[b])

    def merge(self, pair):
        x, y = pair
        for c in self.members:
            if c not in pair:
                one = self.stats.pop((min(x, c), max(x, c)))
                two = self.stats[min(y, c), max(y, c)]
                self.stats[min(y, c), max(y, c)] = (
                    min(one[0], two[0]), max(one[1], two[1]), one[2] + two[2],
                )  # fmt: skip
        del self.stats[pair]
        self.members[y] |= self.members.pop(x)
        return self.members[y]


def run(distances, rho, linkage="single-complete"):
    """Algorithm 3: the merges as (cluster, line) in their order, and the interval [lo, hi) that keeps them.

    `distances` as `exact` returns them, rho a Fraction. hi is 1 where nothing changes before 1. O(n³).
    """
    state = Agglomeration(distances, linkage)
    merges, lo, hi = [], Fraction(0), Fraction(1)
    while len(state.members) > 1:
        lines = {pair: state.line(pair) for pair in state.stats}
        best = min(lines, key=lambda pair: (*lines[pair].key(rho), pair))
        line = lines[best]
        for pair, other in lines.items():
            da, db = other.a - line.a, other.b - line.b
            if pair == best or da == db:
                continue  # parallel lines do not cross
            c = Fraction(da) / (da - db)
            if da < db:  # the other is steeper: it wins left of c
                lo = max(lo, c)
            elif c < 1:
                hi = min(hi, c)
        merges.append((state.merge(best), line))
    return merges, lo, hi


def tree_of(merges):
    """The cluster tree: its set of clusters."""
    return frozenset(cluster for cluster, _ in merges)


def sequence_of(merges):
    """The merge sequence: the clusters in the order in which they arise."""
    return tuple(cluster for cluster, _ in merges)


def pieces(distances, linkage="single-complete", output=tree_of, unit=UNIT):
    """The maximal pieces of [0, 1], in parameters, on which `output` is constant: (edges, outputs)."""
    integers, _ = exact(distances)
    edges, outputs = [], []
    rho = Fraction(0)
    while True:
        merges, lo, hi = run(integers, rho, linkage)
        assert lo <= rho < hi
        out, left = output(merges), edge(rho, unit)
        if edges and edges[-1] == left:  # the piece before holds no parameter
            edges.pop(), outputs.pop()
        if not outputs or outputs[-1] != out:
            edges.append(left), outputs.append(out)
        if hi == 1:
            return [*edges, 1.0], outputs
        rho = hi


def clusters_of(Z):
    """The clusters of scipy's matrix, in the order of its rows."""
    parts = [frozenset([i]) for i in range(len(Z) + 1)]
    for a, b, _, size in Z:
        parts.append(parts[int(a)] | parts[int(b)])
        assert len(parts[-1]) == size
    return parts[len(Z) + 1 :]


def linkage_matrix(distances, rho, linkage="single-complete"):
    """scipy's Z, with exact heights."""
    integers, scale = exact(distances)
    rho = parameter(rho)
    merges, _, _ = run(integers, rho, linkage)
    node = {frozenset([i]): i for i in range(len(integers))}
    top = {i: frozenset([i]) for i in range(len(integers))}
    rows = []
    for cluster, line in merges:
        parts = {top[i] for i in cluster}
        a, b = sorted(node[part] for part in parts)
        height = ((1 - rho) * line.a + rho * line.b) / scale
        rows.append((a, b, height, len(cluster)))
        node[cluster] = len(integers) + len(rows) - 1
        top.update(dict.fromkeys(cluster, cluster))
    return rows
