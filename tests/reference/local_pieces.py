"""Weights with a local baseline, with lists and loops: every round looks at everything again."""

import math
from dataclasses import dataclass
from statistics import fmean

NAN = math.nan


@dataclass
class Piece:
    lo: float
    hi: float
    total: float = 0.0  # of the estimates
    raised: float = 0.0  # by clips
    count: float = 0.0
    losses: float = 0.0


class FlatLocal:
    """No joins: pieces only grow. `cells` are pairs ((lo, hi), path): the nodes from the root to the cell."""

    def __init__(self, cells, rate, rows):
        self.cells = cells
        self.rows = rows
        self.rate = rate
        self.pieces = [Piece(lo, hi) for (lo, hi), _ in cells]
        self.seen_in = {}  # node -> losses, one for each round and set that touched it
        self.paid = []
        self.pairs = []  # loss - b in one set, and in others, for each look of each round with several
        self.usual = []  # loss - b, the mean of each such round

    def shares(self):
        least = min(piece.total for piece in self.pieces)
        masses = [(p.hi - p.lo) * math.exp(-self.rate * (p.total - least)) for p in self.pieces]
        return [mass / sum(masses) for mass in masses]

    def cut(self, x):
        for i, p in enumerate(self.pieces):
            if p.lo < x < p.hi:
                self.pieces[i : i + 1] = [
                    Piece(p.lo, x, p.total, p.raised, p.count, p.losses),
                    Piece(x, p.hi, p.total, p.raised, p.count, p.losses),
                ]
                return

    def path(self, piece):
        return next(path for (lo, hi), path in self.cells if lo <= piece.lo < hi)

    def averages(self, exact, shares):
        """The mean over each cell by the shares, or over parts of it where it holds too much of the mass."""
        most = 4.0 * (1.0 + len(self.paid)) ** (-1 / 3)
        out = [0.0] * len(exact)
        for leaf in {path[-1] for _, path in self.cells}:
            stretches = [ends for ends, path in self.cells if path[-1] == leaf]
            if self.held(stretches, shares) <= most:
                self.average(stretches, exact, shares, out)
            else:
                for ends in stretches:
                    for part in self.halved(*ends, shares, most, 6):
                        self.average([part], exact, shares, out)
        return out

    def halved(self, lo, hi, shares, most, times):
        if not times or self.held([(lo, hi)], shares) <= most:
            return [(lo, hi)]
        middle = (lo + hi) / 2
        return [
            part
            for ends in ((lo, middle), (middle, hi))
            for part in self.halved(*ends, shares, most, times - 1)
        ]

    def within(self, stretches):
        """Pieces, and how much of each is in the stretches."""
        for i, p in enumerate(self.pieces):
            inside = sum(max(min(p.hi, hi) - max(p.lo, lo), 0.0) for lo, hi in stretches)
            if inside:
                yield i, inside / (p.hi - p.lo)

    def held(self, stretches, shares):
        return sum(shares[i] * part for i, part in self.within(stretches))

    def average(self, stretches, exact, shares, out):
        held = self.held(stretches, shares)
        total = sum(shares[i] * part * exact[i] for i, part in self.within(stretches))
        for i, part in self.within(stretches):
            out[i] += part * total / held if held else 0.0

    def moments(self):
        """Mean and deviation of what was paid."""
        if not self.paid:
            return 0.0, 0.0
        mean = fmean(self.paid)
        return mean, math.sqrt(fmean((x - mean) ** 2 for x in self.paid))

    def expected(self, piece, single, mean, deviation):
        """The baseline of a piece: means shrunk from the root down, with optimism."""
        b = max(mean - 0.5 * deviation, 0.0)
        for node in self.path(piece):
            seen = self.seen_in.get(node, [])
            k = (8 if single else 4) if self.rows else 5 if single else 2
            b = (sum(seen) + k * b) / (len(seen) + k)
        hope = max(deviation, 0.3 * mean)
        if self.rows:  # statistics of cells alone
            return max(b - (0.5 if single else 0.2) * hope / math.sqrt(len(seen) + 1), 0.0)
        b = (piece.losses + k * b) / (piece.count + k)
        doubt = 1.2 * math.sqrt(max(math.log(len(self.paid) + 1) - 7, 0)) if single else 0.0
        looks = piece.count + 1
        return max(b - hope * max((1.0 if single else 0.6) / looks, doubt / math.sqrt(looks)), 0.0)

    def slope(self):
        """Of the regression of one look on the others; to begin with 0.8, with the weight of 60 looks."""
        prior = 60 * self.moments()[1] ** 2
        products, squares = sum(x * y for x, y in self.pairs), sum(y * y for _, y in self.pairs)
        return min(max((products + 0.8 * prior) / (squares + prior), 0.0), 1.0) if squares + prior else 0.8

    def tell(self, sets, paid, times=(1,), clip=True, single=False):
        """`sets` are lists of (lo, hi, loss), looked at so many times; returns their shares and the gap."""
        for pieces in sets:
            for lo, hi, _ in pieces:
                self.cut(lo)
                self.cut(hi)
        shares = self.shares()
        moments = self.moments()
        base = [self.expected(piece, single, *moments) for piece in self.pieces]
        level = sum(s * b for s, b in zip(shares, base, strict=True))
        estimates = [b - level for b in base]
        draws = sum(times)
        inside = [
            [(i, loss) for i, p in enumerate(self.pieces) for lo, hi, loss in pieces if lo <= p.lo < hi]
            for pieces in sets
        ]
        share = [sum(shares[i] for i, _ in members) for members in inside]
        surprise = [
            sum(shares[i] * (loss - base[i]) for i, loss in members) / q if q else 0.0
            for members, q in zip(inside, share, strict=True)
        ]
        looks = [j for j, n in enumerate(times) for _ in range(n)]
        usual = sum(self.usual) / (len(self.usual) + 1)
        theta = self.slope()
        exact = [0.0] * len(self.pieces)  # the mean over the looks that were made
        for j, members in enumerate(inside):
            touched = {}
            for i, loss in members:
                piece = self.pieces[i]
                for look in range(draws):
                    if looks[look] == j:
                        others = [surprise[k] for k in looks[:look] + looks[look + 1 :]]
                        off = theta * sum(others) / len(others) if others else 0.0
                        exact[i] += (loss - base[i] - off) / share[j] / draws
                piece.count += 1
                piece.losses += loss
                for node in self.path(piece):
                    touched.setdefault(node, []).append((piece.hi - piece.lo, loss))
            for node, parts in touched.items():
                mean = sum(w * loss for w, loss in parts) / sum(w for w, _ in parts)
                self.seen_in.setdefault(node, []).append(mean)
        even = exact if single and not self.rows else self.averages(exact, shares)
        for i, average in enumerate(even):
            clipped = max(average, -1.0 / self.rate) if clip else average
            self.pieces[i].raised += clipped - exact[i]
            estimates[i] += clipped
        if draws > 1:
            for j in looks:
                others = [surprise[k] - usual for k in looks if k != j]
                if others:
                    self.pairs.append((surprise[j] - usual, sum(others) / len(others)))
            self.usual.append(sum(surprise[j] for j in looks) / draws)
        mean = sum(s * e for s, e in zip(shares, estimates, strict=True))
        mixed = sum(s * math.expm1(-self.rate * e) for s, e in zip(shares, estimates, strict=True))
        for piece, e in zip(self.pieces, estimates, strict=True):
            piece.total += e
        self.paid.append(paid)
        return share, mean + math.log1p(mixed) / self.rate
