"""The default rule, a fast and a safe learner, with lists and loops."""

import math
from dataclasses import dataclass, replace
from statistics import fmean


@dataclass
class Piece:
    lo: float
    hi: float
    fast: float = 0.0  # sums of estimates
    safe: float = 0.0
    count: float = 0.0  # weighted looks
    losses: float = 0.0


@dataclass
class Node:
    looks: list  # pairs (weight, loss)
    last: int = 0  # round of the last look that spoke for no improvement
    change: float = 0.0  # statistic of the test for a change; negative: for the worse
    since: list = ()  # looks since it was last 0

    def moments(self):
        """Number of looks of equal weight that would tell as much, their mean and their variance."""
        weight = sum(w for w, _ in self.looks)
        mean = sum(w * x for w, x in self.looks) / weight
        variance = sum(w * (x - mean) ** 2 for w, x in self.looks) / weight
        return weight**2 / sum(w * w for w, _ in self.looks), mean, variance

    def changed(self, seen, guess, paid, reach, now):
        looks, _, spread = self.moments()
        sign, other = 1, paid
        variance = (looks * spread + reach**2 / 16) / (looks + 1)
        if guess - paid <= 1e-9 * reach:
            sign, other, variance = -1, guess + reach / 4, reach**2 / 4
        # log of N(seen; other, variance) / N(seen; guess, variance)
        ratio = ((seen - guess) ** 2 - (seen - other) ** 2) / (2 * variance)
        change = max(max(sign * self.change, 0.0) + ratio, 0.0)
        self.change = sign * change
        self.since = [*self.since, self.looks[-1]] if change else []
        return change > math.log(now + 1)

    def forget(self):
        self.looks, self.change, self.since = self.since, 0.0, []


class FlatLocal:
    """No joins: pieces only grow. `cells` are pairs ((lo, hi), path): the nodes from the root to the cell."""

    def __init__(self, cells, log_term, rows):
        self.cells = cells
        self.rows = rows
        self.log_term = log_term
        self.pieces = [Piece(lo, hi) for (lo, hi), _ in cells]
        self.nodes = {}
        self.paid = []
        self.pairs = []  # loss - b in one set, and in others, for each look of each round with several
        self.usual = []  # loss - b, the mean of each such round
        self.gaps = [0.0, 0.0]
        self.rates = [0.0, 0.0]
        self.second = []
        self.alarms = 0

    def shares(self):
        """Shares of the pieces: played, of the fast learner, of the safe learner."""
        out = []
        for name, rate in zip(("fast", "safe"), self.rates, strict=True):
            sums = [getattr(piece, name) for piece in self.pieces]
            masses = [
                (p.hi - p.lo) * math.exp(-rate * (x - min(sums)))
                for p, x in zip(self.pieces, sums, strict=True)
            ]
            out.append([mass / sum(masses) for mass in masses])
        q = 0.1 / math.sqrt(len(self.paid) + 1)
        return [(1 - q) * f + q * s for f, s in zip(*out, strict=True)], *out

    def cut(self, x):
        for i, p in enumerate(self.pieces):
            if p.lo < x < p.hi:
                self.pieces[i : i + 1] = [replace(p, hi=x), replace(p, lo=x)]
                return

    def path(self, piece):
        return next(path for (lo, hi), path in self.cells if lo <= piece.lo < hi)

    def averages(self, exact, shares):
        """The mean over each cell by the shares, or over parts of it where it holds too much of the mass."""
        most = 1.0 * (1.0 + len(self.paid)) ** (-1 / 3)
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

    def deviation(self, reach):
        """Deviation of what was paid, with two losses half of the range away."""
        n = len(self.paid)
        mean = fmean(self.paid) if n else 0.0
        return math.sqrt((sum((x - mean) ** 2 for x in self.paid) + reach**2 / 2) / (n + 2))

    def expected(self, piece, single, deviation, low, high):
        """The baseline of a piece: means shrunk from the root down; without and with optimism."""
        b = (fmean(self.paid) if self.paid else 0.5 * (low + high)) - 0.5 * deviation
        k = (8 if single else 4) if self.rows else 5 if single else 4
        for name in self.path(piece):
            node = self.nodes.get(name, Node([]))
            total = sum(w * x for w, x in node.looks)
            looks = sum(w for w, _ in node.looks)
            b = (total + k * b) / (looks + k)
        if self.rows:  # statistics of cells alone
            return b, max(b - (0.5 if single else 0.2) * deviation / math.sqrt(looks + 1), low)
        b = (piece.losses + k * b) / (piece.count + k)
        doubt = 1.2 * math.sqrt(max(math.log(len(self.paid) + 1) - 7, 0)) if single else 0.0
        looks = piece.count + 1
        hope = max((1.0 if single else 0.3) / looks, doubt / math.sqrt(looks))
        return b, max(b - deviation * hope, low)

    def slope(self, deviation):
        """Of the regression of one look on the others; to begin with 0.8, with the weight of 60 looks."""
        prior = 60 * deviation**2
        products, squares = sum(x * y for x, y in self.pairs), sum(y * y for _, y in self.pairs)
        return min(max((products + 0.8 * prior) / (squares + prior), 0.0), 1.0)

    def tell(self, sets, paid, times=(1,), single=False, low=0.0, high=1.0):
        """`sets` are lists of (lo, hi, loss), looked at so many times; returns their shares."""
        reach, now = high - low, len(self.paid) + 1
        if not any(self.rates):
            self.rates = [self.log_term / reach, math.log(2) / reach]
        for pieces in sets:
            for lo, hi, _ in pieces:
                self.cut(lo)
                self.cut(hi)
        played, fast, safe = self.shares()
        deviation = self.deviation(reach)
        both = [self.expected(piece, single, deviation, low, high) for piece in self.pieces]
        base = [b for _, b in both]
        expects = sum(f * plain for f, (plain, _) in zip(fast, both, strict=True))
        inside = [
            [(i, loss) for i, p in enumerate(self.pieces) for lo, hi, loss in pieces if lo <= p.lo < hi]
            for pieces in sets
        ]
        share = [sum(played[i] for i, _ in members) for members in inside]
        self.teach_safe(inside, share, times, safe, played, base, low, high)
        inside = [[(i, min(max(loss, low), high)) for i, loss in members] for members in inside]
        exact = self.corrections(inside, share, times, played, base, deviation)
        even = exact if single and not self.rows else self.averages(exact, played)
        level = sum(f * b for f, b in zip(fast, base, strict=True))
        estimates = [b - level + max(e, -1 / self.rates[0]) for b, e in zip(base, even, strict=True)]
        self.gaps[0] += gap(fast, estimates, self.rates[0])
        for piece, e in zip(self.pieces, estimates, strict=True):
            piece.fast += e
        self.remember(inside, share, now, played, [plain for plain, _ in both], expects, reach)
        self.paid.append(min(max(paid, low), high))
        exact_rates = self.log_term / (reach + self.gaps[0]), math.log(now + 2) / (reach + self.gaps[1])
        self.rates = [x if x < 0.97 * old else old for x, old in zip(exact_rates, self.rates, strict=True)]
        self.limit(expects, low, reach)
        return share

    def teach_safe(self, inside, share, times, safe, played, base, low, high):
        estimates = [0.0] * len(self.pieces)
        second = sum((x - s) * b for x, s, b in zip(played, safe, base, strict=True))
        for members, p, n in zip(inside, share, times, strict=True):
            for i, loss in members:
                factor = n / sum(times) / p
                estimates[i] = (min(loss, high) - low + (high - low) / 2) * factor
                second += (played[i] - safe[i]) * (min(loss, high) - base[i]) * factor
        self.second.append(second)
        self.gaps[1] += gap(safe, estimates, self.rates[1])
        for piece, e in zip(self.pieces, estimates, strict=True):
            piece.safe += e

    def corrections(self, inside, share, times, played, base, deviation):
        """(loss - b) / p, the mean over the looks that were made."""
        draws = sum(times)
        surprise = [
            sum(played[i] * (loss - base[i]) for i, loss in members) / q if q else 0.0
            for members, q in zip(inside, share, strict=True)
        ]
        looks = [j for j, n in enumerate(times) for _ in range(n)]
        usual = sum(self.usual) / (len(self.usual) + 1)
        theta = self.slope(deviation)
        exact = [0.0] * len(self.pieces)
        for j, members in enumerate(inside):
            for i, loss in members:
                for look in range(draws):
                    if looks[look] == j:
                        others = [surprise[k] for k in looks[:look] + looks[look + 1 :]]
                        off = theta * sum(others) / len(others) if others else 0.0
                        exact[i] += (loss - base[i] - off) / share[j] / draws
        if draws > 1:
            for j in looks:
                others = [surprise[k] - usual for k in looks if k != j]
                if others:
                    self.pairs.append((surprise[j] - usual, sum(others) / len(others)))
            self.usual.append(sum(surprise[j] for j in looks) / draws)
        return exact

    def remember(self, inside, share, now, played, plain, paid, reach):
        for members, p in zip(inside, share, strict=True):
            touched, weight = {}, min(1 / p, 16)
            seen = sum(played[i] * loss for i, loss in members) / p
            guess = sum(played[i] * plain[i] for i, _ in members) / p
            for i, loss in members:
                piece = self.pieces[i]
                piece.count += weight
                piece.losses += weight * loss
                for name in self.path(piece):
                    touched.setdefault(name, []).append((piece.hi - piece.lo, loss))
            leaves = {path[-1] for _, path in self.cells}
            rising = False
            for name in sorted(touched, reverse=True):  # leaves first
                node = self.nodes.setdefault(name, Node([]))
                loss = sum(w * x for w, x in touched[name]) / sum(w for w, _ in touched[name])
                node.looks.append((weight, loss))
                if name in leaves:
                    if node.changed(seen, guess, paid, reach, now):
                        self.forget(name)
                    rising = rising or node.change > 1
                if not rising:
                    node.last = now

    def forget(self, leaf):
        self.nodes[leaf].forget()
        self.alarms += 1
        around = next(path[:-1] for _, path in self.cells if path[-1] == leaf)
        for piece in self.pieces:
            if self.path(piece)[-1] == leaf:
                piece.count = piece.losses = 0.0
        for node in (self.nodes.get(name) for name in around):
            if node and sum(w for w, _ in node.looks) > 1:
                node.looks = [(1.0, node.moments()[1])]

    def limit(self, expects, low, reach):
        """The fast learner's sums are no larger than the evidence against a place allows."""
        rate, least = self.rates[0], min(piece.fast for piece in self.pieces)
        length = sum(p.hi - p.lo for p in self.pieces)
        z = sum((p.hi - p.lo) / length * math.exp(-rate * (p.fast - least)) for p in self.pieces)
        for piece in self.pieces:
            against = max(
                self.against(name, self.path(piece), expects, low, reach) for name in self.path(piece)
            )
            piece.fast = min(piece.fast, least + (1.0 + against - math.log(z)) / rate)

    def against(self, name, path, expects, low, reach):
        """The evidence of one node of a path, which fades with the last look into the quarter."""
        if name not in self.nodes:
            return 0.0
        t = len(self.paid)
        looks, mean, variance = self.nodes[name].moments()
        quarter = path[min(2, len(path) - 1)]
        kept = self.nodes[quarter].last / t if quarter in self.nodes else 0.0
        least = min(low, expects - reach / 2)
        faded = kept * mean + (1 - kept) * least + 3.0 * reach / math.sqrt(t)
        excess = max(min(mean, faded) - expects, 0.0)
        return looks * excess**2 / (2 * variance + 2 / 3 * reach * excess) if excess else 0.0


def gap(shares, estimates, rate):
    mean = sum(s * e for s, e in zip(shares, estimates, strict=True))
    mixed = sum(s * math.exp(-rate * e) for s, e in zip(shares, estimates, strict=True))
    return max(mean + math.log(mixed) / rate, 0.0)
