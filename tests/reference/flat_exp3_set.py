"""Algorithm 1 on a flat list of pieces; late tells look at a copy of the weights made at the ask."""

from __future__ import annotations

import math

import numpy as np

NAN = math.nan


class Flat:
    """Log-weights on the pieces of a line."""

    def __init__(self, edges, logs):
        self.edges, self.logs = list(edges), list(logs)

    def copy(self):
        return Flat(self.edges, self.logs)

    def cut(self, x):
        if x not in self.edges:
            i = next(i for i, edge in enumerate(self.edges) if edge > x)
            self.edges.insert(i, x)
            self.logs.insert(i, self.logs[i - 1])

    def masses(self):
        """The share of each piece."""
        widths = np.diff(self.edges)
        weights = np.exp(np.array(self.logs) - max(self.logs)) * widths
        return weights / weights.sum()

    def draw(self, u):
        for left, right, mass in zip(self.edges[:-1], self.edges[1:], self.masses(), strict=True):
            if u < mass:
                return left + u / mass * (right - left)
            u -= mass
        return math.nextafter(self.edges[-1], -math.inf)

    def seen_share(self, edges, values):
        """The share of where the step function is not nan."""
        other = self.copy()
        for edge in edges:
            other.cut(edge)
        return sum(
            mass
            for left, mass in zip(other.edges[:-1], other.masses(), strict=True)
            if not math.isnan(at(edges, values, left))
        )

    def joined(self, n_pieces):
        """Join neighbours within the smallest range of logarithms that leaves n_pieces."""
        reaches = sorted({abs(a - b) for a in self.logs for b in self.logs})
        groups = next(g for g in (self.groups(reach) for reach in reaches) if len(g) <= n_pieces)
        edges = [self.edges[group[0]] for group in groups] + [self.edges[-1]]
        top = max(self.logs)
        logs = []
        for group in groups:
            mass = sum(math.exp(self.logs[i] - top) * (self.edges[i + 1] - self.edges[i]) for i in group)
            logs.append(top + math.log(mass / (self.edges[group[-1] + 1] - self.edges[group[0]])))
        return Flat(edges, logs)

    def groups(self, reach):
        groups = [[0]]
        for i in range(1, len(self.logs)):
            logs = [self.logs[j] for j in groups[-1]] + [self.logs[i]]
            if max(logs) - min(logs) <= reach:
                groups[-1].append(i)
            else:
                groups.append([i])
        return groups


def at(edges, values, x):
    """The step function at x; nan outside."""
    for left, right, value in zip(edges[:-1], edges[1:], values, strict=True):
        if left <= x < right:
            return value
    return NAN


class FlatExp3Set:
    """The learner, told losses in [0, 1] on the line; `uniforms` are those of the draws.

    rate: a number, or None for log-term / (1 + Σ gaps) rounded down to a power of two.
    """

    def __init__(
        self, line, uniforms, rate=None, horizon=None, baseline="low", exploration=0.0, max_pieces=None
    ):
        self.weights = Flat(line, [0.0])
        self.uniforms = iter(uniforms)
        self.fixed, self.horizon = rate, horizon
        self.baseline, self.exploration, self.max_pieces = baseline, exploration, max_pieces
        self.losses = []
        self.gaps = []
        self.rate = rate or self.power_of_two()
        self.asked = []  # copies of the weights, one for each trial

    def power_of_two(self):
        log_term = max(math.log(self.horizon), 1.0) if self.horizon else 10.0
        exact = log_term / (1.0 + sum(self.gaps))
        if self.losses and self.rate <= exact:
            return self.rate
        return 2.0 ** math.floor(math.log2(exact))

    def ask(self):
        self.asked.append(self.weights.copy())
        return self.weights.draw(next(self.uniforms))

    def tell(self, trial, edges, losses, loss):
        """`loss` is the one that was paid."""
        asked = self.asked[trial]
        p = asked.seen_share(edges, losses)
        whole = edges[0] == self.weights.edges[0] and edges[-1] == self.weights.edges[-1]
        whole = whole and not any(math.isnan(x) for x in losses)
        b, floor, explore = 0.0, -math.inf, 0.0 if whole else self.exploration
        if self.baseline == "low" and not whole:
            mean, deviation = (np.mean(self.losses), np.std(self.losses)) if self.losses else (0.0, 0.0)
            b = max(0.0, min(mean - 0.5 * deviation, 0.8 * mean))
            floor = -1.0 / self.rate
        for lo, hi, x in zip(edges[:-1], edges[1:], losses, strict=True):
            if not math.isnan(x):
                for weights in (self.weights, asked):
                    weights.cut(lo)
                    weights.cut(hi)

        def estimates_on(weights):
            here = [at(edges, losses, left) for left in weights.edges[:-1]]
            return [0.0 if math.isnan(x) else max((x - b) / (p + explore), floor) for x in here]

        shares, estimates = asked.masses(), estimates_on(asked)  # the gap is that of the time of the ask
        mean = sum(s * e for s, e in zip(shares, estimates, strict=True))
        mixed = sum(s * math.expm1(-self.rate * e) for s, e in zip(shares, estimates, strict=True))
        self.gaps.append(max(mean + math.log1p(mixed) / self.rate, 0.0))
        estimates = estimates_on(self.weights)
        self.weights.logs = [log - self.rate * e for log, e in zip(self.weights.logs, estimates, strict=True)]
        self.losses.append(loss)
        self.follow()
        return p

    def follow(self):
        rate = self.fixed or self.power_of_two()
        self.weights.logs = [log * (rate / self.rate) for log in self.weights.logs]
        self.rate = rate
        if self.max_pieces and len(self.weights.logs) > self.max_pieces:
            self.weights = self.weights.joined(max(self.max_pieces // 2, 1))
