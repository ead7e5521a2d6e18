"""Greedy independent sets the slow, obvious way: all critical values to 60 digits, a run between each two."""

import mpmath as mp

from reference import knapsack

mp.mp.dps = 60


def neighbours(n, edges):
    near = [set() for _ in range(n)]
    for a, b in edges:
        near[a].add(b)
        near[b].add(a)
    return near


def critical_values(weights, near, lo, hi, adaptive):
    """Every pair of vertices with every pair of sizes that they may come to have."""
    sizes = [range(1, len(x) + 2) if adaptive else [len(x) + 1] for x in near]
    found = set()
    for i in range(len(weights)):
        for j in range(i):
            for a in sizes[i]:
                for b in sizes[j]:
                    if a != b:
                        c = knapsack.critical(weights[i], a, weights[j], b)
                        if lo + knapsack.SAME < c < hi - knapsack.SAME:
                            found.add(mp.nstr(c, 45))  # true coincidences become one
    return sorted(map(mp.mpf, found))


def greedy(weights, near, rho, adaptive):
    """The set taken at a rho that is no critical value."""
    alive, taken = set(range(len(weights))), set()
    full = [len(x) for x in near]

    def score(v):
        degree = len(near[v] & alive) if adaptive else full[v]
        return -mp.nint((mp.log(weights[v]) - rho * mp.log(1 + degree)) * mp.mpf(10) ** 40), v

    while alive:
        best = min(alive, key=score)
        taken.add(best)
        alive -= near[best] | {best}
    return frozenset(taken)


def pieces(weights, edges, lo, hi, adaptive):
    """[(start, set), ...] over [lo, hi], equal neighbours joined."""
    weights = [mp.mpf(float(w)) for w in weights]
    near = neighbours(len(weights), edges)
    starts = [mp.mpf(lo), *critical_values(weights, near, lo, hi, adaptive)]
    found = []
    for start, end in zip(starts, [*starts[1:], mp.mpf(hi)], strict=True):
        taken = greedy(weights, near, (start + end) / 2, adaptive)
        if not found or found[-1][1] != taken:
            found.append((start, taken))
    return found
