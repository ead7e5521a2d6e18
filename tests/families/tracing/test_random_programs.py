"""Random programs on lines and powers: intervals agree with plain runs, which are exact on dyadic numbers."""

import heapq
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import semibandit as sb

N = 6
M = np.arange(-8, 28).reshape(N, N) % 5 - 2.0
FACTORS = np.random.default_rng(1).uniform(0.5, 1.5, (5, N))  # no two powers are equal but for rounding


def heap(x):
    entries = [(value, i) for i, value in enumerate(x)]
    heapq.heapify(entries)
    return [heapq.heappop(entries)[1] for _ in range(N)]


def quicksort(x, items=range(N)):
    if not items:
        return []
    first, *others = items
    below = [i for i in others if x[i] < x[first]]
    return [*quicksort(x, below), first, *quicksort(x, [i for i in others if x[i] >= x[first]])]


def shortest_path(x, y):
    distance, queue, done = {0: 0.0}, [(0.0, 0)], []
    while queue:
        d, u = heapq.heappop(queue)
        if u in done:
            continue
        done.append(u)
        for z in ((u + 1) % N, (2 * u + 3) % N):
            new = d + abs(x[z]) + np.maximum(y[u], 0)
            if z not in distance or new < distance[z]:
                distance[z] = new
                heapq.heappush(queue, (new, z))
    return done


def least_loaded(x, y):
    load, machines = [0.0] * 3, []
    for a, b in zip(x, y, strict=True):
        machine = min(range(3), key=lambda j: load[j])
        load[machine] = load[machine] + max(a, b)
        machines.append(machine)
    return machines


def filled(x, y):
    z = x * 1.0
    z[y > 0] = 0.5
    z[1:] -= y[:-1]
    z.reshape(2, 3)[1] += 1
    return z


VALUES = [
    lambda x, y: np.minimum(x, y),
    lambda x, y: np.maximum(x, 0.5 * y),
    lambda x, y: np.where(x > y, x, 2 * y),
    lambda x, y: np.sort(x),
    lambda x, y: x[np.argsort(y, kind="stable")],
    lambda x, y: np.abs(x),
    lambda x, y: np.clip(x, 0.25, 2),
    lambda x, y: np.sort(np.stack([x, y]), axis=0)[1],
    lambda x, y: np.concatenate([x[:2], y[2:]])[::-1],
    lambda x, y: np.partition(x, 2)[2] * np.ones(N) * (1 + (y > x)),
    lambda x, y: np.stack(sorted(x)),
]
LINES = [
    lambda x, y: x + y,
    lambda x, y: 0.5 * x - y,
    lambda x, y: x - np.min(y),
    lambda x, y: M @ x / 4,
    lambda x, y: np.cumsum(x) - np.floor(y),
    lambda x, y: np.diff(x, prepend=0.5) % 4,
    lambda x, y: np.median(x) - y,
    filled,
]
POWERS = [
    lambda x, y: x * y,
    lambda x, y: 1 / x,
    lambda x, y: x / y[::-1],
    lambda x, y: np.sqrt(x) * 1.3,
    lambda x, y: x * np.max(y),
]
DECISIONS = [
    lambda x, y: np.argsort(x, kind="stable"),
    lambda x, y: np.argsort(-x, kind="stable"),
    lambda x, y: x > y,
    lambda x, y: np.floor(x),
    lambda x, y: np.searchsorted(np.sort(x), y, side="right"),
    lambda x, y: (np.argmin(x), np.argmax(y)),
    lambda x, y: np.argmin(np.stack([x, y]), axis=0),
    lambda x, y: heap(x),
    lambda x, y: quicksort(y),
    lambda x, y: sorted(range(N), key=lambda i: (x[i], y[i]), reverse=True),
    lambda x, y: np.lexsort((x, y)),
]
OF_LINES = [lambda x, y: x // 0.5, lambda x, y: np.rint(x - y), shortest_path, least_loaded]

steps = st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))


def program(rho, lines, a, b, instructions):
    """Apply operations to the latest arrays and decide after each; return a number for all decisions."""
    values = [a + rho * b, b - rho * a] if lines else [a * b**rho, b / a**rho]
    operations = VALUES + (LINES if lines else POWERS)
    decisions = DECISIONS + (OF_LINES if lines else [])
    found = 0.0
    for (operation, decision, i, j), factors in zip(instructions, FACTORS, strict=False):
        x, y = values[-1 - i % min(3, len(values))], values[-1 - j % len(values)]
        values.append(operations[operation % len(operations)](x, y) * (1.0 if lines else factors))
        outcome = np.ravel(np.asarray(decisions[decision % len(decisions)](values[-1], y), dtype=float))
        found = 0.75 * found + float(np.dot(outcome, np.arange(1, outcome.size + 1)))
    return found


@settings(max_examples=60)
@given(st.booleans(), st.integers(0, 2**32 - 1), st.lists(steps, min_size=1, max_size=5))
def test_random_program_agrees_with_plain_runs_and_meets_at_edges(lines, seed, instructions):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-8, 9, (2, N)) / 8 if lines else rng.uniform(0.3, 3, (2, N))
    problem = sb.traced(sb.Interval(-1, 3), high=1e9)(program)(lines, a, b, instructions)
    whole = problem.losses()
    middles = np.round(2**19 * (whole.edges[:-1] + whole.edges[1:])) / 2**20
    for x in (*rng.integers(-1023, 3072, 40) / 1024, *rng.permutation(middles)[:20]):
        if np.abs(whole.edges - x).min() > 1e-7:  # a plain run is rounded
            expected = program(float(x), lines, a, b, instructions)
            assert math.isclose(whole(x), expected, rel_tol=1e-9), x
    for x in rng.permutation(whole.edges[1:-1].tolist())[:5].tolist():
        before, at, after = (
            problem.reveal(y).domain[0] for y in (math.nextafter(x, -9), x, math.nextafter(x, 9))
        )
        assert before[1] == x == at[0]
        assert at == after
