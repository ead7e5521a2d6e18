"""Programs in the style of many users: equal to plain runs in each interval, and a partition at its ends."""

import bisect
import functools
import heapq
import math
import statistics
from dataclasses import dataclass

import numpy as np
import pytest

import semibandit as sb
from semibandit.families.tracing import TracingError

SPACE = sb.Interval(0.25, 4)


def greedy_by_ratio(rho, v, w):
    left, gain = 2.0, 0.0
    for i in sorted(range(len(v)), key=lambda i: v[i] / w[i] ** rho, reverse=True):
        if w[i] <= left:
            left, gain = left - w[i], gain + v[i]
    return gain


def list_scheduling(rho, v, w):
    load = np.zeros(3)
    for job in np.argsort(-(v + rho * w), kind="stable"):
        machine = np.argmin(load + rho * load[::-1])
        load[machine] += v[job]
    return load.max()


def loads_that_depend_on_rho(rho, v, w):
    load = np.zeros(3) + 0 * rho
    for job in range(len(v)):
        load[np.argmin(load)] += v[job] + rho * w[job]
    return float(np.argmax(load))


def nearest_neighbours(rho, v, w):
    points = np.stack([v, w], axis=1)
    distances = np.abs(points[:, None] - points) @ np.stack([1.0, rho])
    np.fill_diagonal(distances, np.inf)
    near = np.argsort(distances, axis=1, kind="stable")[:, :2]
    return float(v[near].sum())


def knapsack_of_partition(rho, v, w):
    return v[np.sort(np.argpartition(-(v - rho * w), 3)[:3])].sum()


def queue(rho, v, w):
    heap = [(v[i] + rho * w[i], i) for i in range(4)]
    heapq.heapify(heap)
    order = []
    for i in range(4, len(v)):
        order.append(heapq.heappushpop(heap, (v[i] * rho + w[i], i))[1])
    return float(np.dot(order, v[: len(order)]))


def binary_search(rho, v, w):
    found = [bisect.bisect_left(sorted(v.tolist()), rho * each) for each in w]
    low, high = 0, len(v)
    ordered = np.sort(v)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if ordered[middle] < rho / 4 else (low, middle)
    return float(sum(found) + 0.1 * low)


def bubble_sort(rho, v, w):
    a = v + rho * w
    for _ in range(len(a)):
        for j in range(len(a) - 1):
            if a[j + 1] < a[j]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return float(np.argmin(np.abs(a - 1.0)))


def insertion_into_list(rho, v, w):
    chosen = []
    for x, y in zip(v, w, strict=True):
        bisect.insort(chosen, x - rho * y)
    return float(sum(each > 0 for each in chosen[2:5]))


@dataclass(order=True)
class Job:
    priority: float
    name: int


def dataclasses(rho, v, w):
    jobs = sorted(Job(x / (1 + y) * rho - y, i) for i, (x, y) in enumerate(zip(v, w, strict=True)))
    return float(sum(i * job.name for i, job in enumerate(jobs)))


def nested(rho, v, w):
    scale = rho * 0.5

    def score(i):
        return v[i] * scale - w[i]

    def compared(i, j):
        return int(score(i) > score(j)) - int(score(i) < score(j))

    return float(sorted(range(len(v)), key=functools.cmp_to_key(compared))[2])


def generator(rho, v, w):
    total = 0.0
    for x, y in zip(v, w, strict=True):
        if x * rho > y:
            total += x
        yield total


def in_place(rho, v, w):
    a = np.outer(v, w) * rho
    row, column = a[0], a[:, 1]
    row += v
    column -= 0.3
    a.T[2] *= 2
    a.reshape(-1)[3] = 0.1 * rho
    a[a > 1] = 1.0
    last = a[-1]
    a += 0.01
    np.clip(a, None, 0.9, out=a)
    first = a[0, 0]
    a[0, 0] = 5.0
    return float(np.argmax(a[1:].sum(axis=0)) + 0.1 * np.argmin(last) + 10 * (first < 0.5))


def transposed(rho, v, w):
    a = np.outer(v[:3], w) * rho + v
    b = np.abs(a.T - 0.4)  # in the memory order of its argument: its flat array is a copy
    flat = b.reshape(-1)
    flat[:4] = 7.0
    c = np.where(a.T > 0.5, a.T, 0.5).ravel()
    c[0] = 9.0
    d = np.sort(a, axis=0).reshape(-1)
    d[:5] = -1.0
    return float(np.argmax(b.sum(axis=1)) + 0.1 * np.argmax(c) + 0.01 * np.argmin(d[::-1]))


def window(rho, v, w):
    load, scores = v.copy(), None
    scores = rho * load + w
    load[:] = 0.0
    later = scores * 1.0
    scores[0] = 9.0
    return float(np.argmin(scores) + 0.1 * np.argmin(later))


def images(rho, v, w):
    a, b = (100 * v).astype(np.uint8), (100 * w).astype(np.uint8)
    return float(np.argmax(rho * a - b) + 0.1 * np.argmin(np.int8(3) - a * rho + b))


def thresholds(rho, v, w):
    kept = np.where(rho * v > w, v, 0.0)
    levels = np.floor(3 * rho * v) + np.round(rho * w, 1) + (rho * v) // 0.5 + np.trunc(w - rho * v)
    return float(kept.sum() + levels.sum() + int(10 * rho * v[0]) + math.floor(rho * w[1]) + round(rho, 1))


def cumulative(rho, v, w):
    total = np.cumsum(v - rho * w / 2)
    steps = np.diff(v + rho * w, prepend=0.5, append=1.0)
    return float(np.argmax(total) + 0.1 * np.argmin(steps) + np.sum(v * rho, initial=-2.0).__gt__(0.0))


def products(rho, v, w):
    weights = np.exp(-v * rho) * w**rho / (1 + v)
    costs = np.einsum("i,j->ij", w, v - rho * w) + np.subtract.outer(v, rho * w)
    costs = costs - costs.min(axis=(0, 1), keepdims=True) + costs.max(axis=(1, 0))
    return float(np.argmax(weights) + 0.1 * np.argmin(costs) + 0.01 * np.argmin(weights * weights[::-1]))


def ties(rho, v, w):
    a, b = np.floor(4 * v), np.floor(4 * w)
    order = np.lexsort((a + rho * b, b))
    return float(np.dot(order, np.arange(len(v))) + 0.1 * min(range(len(v)), key=lambda i: (a - rho * b)[i]))


def constants(rho, v, w):
    zero = 0 * rho * v
    none = np.zeros_like(rho * v)
    none[2] = rho
    none[3] = 2.0
    return float(
        np.argmin(zero + v) + (none > 1).sum() + np.argmax(np.full_like(none, 2.0) - v) + (rho == "text")
    )


def tournament(rho, v, w):
    alive = list(range(len(v)))
    while len(alive) > 1:
        pairs = zip(alive[::2], alive[1::2], strict=False)
        alive = [i if v[i] * rho + w[i] >= v[j] + w[j] * rho else j for i, j in pairs] + alive[
            len(alive) & ~1 :
        ]
    return float(alive[0])


def bools(rho, v, w):
    mask = (v < rho * w) & ~(w > 0.8)
    best = max((x * rho - y, i) for i, (x, y) in enumerate(zip(v, w, strict=True)))[1]
    return float(
        mask.sum() + best * any(x > rho for x in v * 4) + np.count_nonzero(np.maximum(v, rho * w) > 0.5)
    )


def top_of_logarithms(rho, v, w):
    scores = np.log(v + 1) - rho * np.log(w + 1) + np.log((v + 2) ** rho)
    kept = np.sort(np.argpartition(-scores, 4)[:4])
    return float(w[kept] @ v[kept]) + 0.1 * np.argmax(np.exp(scores))


def matrix_products(rho, v, w):
    mixed = np.stack([v, w]) + rho * np.stack([w, v[::-1]])
    gram = np.outer(v, w)[:2, :2] @ mixed @ np.outer(w, v)
    return float(np.argmax(gram.sum(axis=0)) + np.argmin(mixed.T @ np.array([1.0, -2.0])))


def spanning_tree(rho, v, w):
    parent, total = list(range(len(v))), 0.0
    edges = [(v[i] * rho + w[j], i, j) for i in range(len(v)) for j in range(i)]

    def root(i):
        return i if parent[i] == i else root(parent[i])

    for _, i, j in sorted(edges):
        if root(i) != root(j):
            parent[root(i)] = root(j)
            total += v[i] * w[j]
    return total


def stable_matching(rho, v, w):
    scores = np.abs(np.subtract.outer(w, rho * v))
    lists, free, partner = np.argsort(-scores, axis=1, kind="stable").tolist(), list(range(len(v))), {}
    while free:
        i = free.pop()
        j = lists[i].pop(0)
        if j not in partner:
            partner[j] = i
        elif scores[i, j] > scores[partner[j], j]:
            free.append(partner[j])
            partner[j] = i
        else:
            free.append(i)
    return float(sum(j * partner[j] for j in partner))


def water_filling(rho, v, w):
    level, steps = 0.0 * rho, 0
    while np.clip(level - w, 0, v).sum() < rho and steps < 20:
        level, steps = level + 0.25 * rho, steps + 1
    return float(steps + np.searchsorted(np.sort(w), level))


def knapsack_table(rho, v, w):
    best, chosen = [0.0] * 9, 0
    for i in range(len(v)):
        for room in range(8, 0, -1):
            size = 1 + i % 3
            if size <= room and best[room - size] + v[i] - 0.2 * rho * w[i] > best[room]:
                best[room], chosen = best[room - size] + v[i] - 0.2 * rho * w[i], chosen + i * room
    return float(chosen)


def learned_tree(rho, v, w):
    nodes = [(0.4 * rho, 1, 2), (rho - 0.5, 3, 4), (1.5 - rho, 5, 6)]
    node = np.zeros(len(v), dtype=int)
    for depth in range(2):
        for i in range(len(v)):
            threshold, left, right = nodes[node[i]]
            node[i] = left if (v, w)[depth][i] <= threshold else right
    return float(node @ np.arange(len(v)))


PROGRAMS = [
    top_of_logarithms, matrix_products, spanning_tree, stable_matching, water_filling, knapsack_table,
    learned_tree,
    greedy_by_ratio, list_scheduling, loads_that_depend_on_rho, nearest_neighbours, knapsack_of_partition,
    queue, binary_search, bubble_sort, insertion_into_list, dataclasses, nested, generator, in_place,
    transposed, window, images, thresholds, cumulative, products, ties, constants, tournament, bools,
]  # fmt: skip


def plain(program, rho, *instance):
    found = program(rho, *instance)
    return found if isinstance(found, float) else list(found)[-1]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("seed", range(4))
def test_program_agrees_with_plain_runs_and_meets_at_edges(program, seed):
    rng = np.random.default_rng(seed)
    v, w = rng.random((2, 8)) if seed % 2 == 0 else rng.integers(1, 8, (2, 8)) / 8
    problem = sb.traced(SPACE, high=1e6)(program)(v, w)
    whole = problem.losses()
    middles = 0.5 * (whole.edges[:-1] + whole.edges[1:])
    for x, value in zip(middles, whole.values, strict=True):
        if np.abs(whole.edges - x).min() > 1e-12:
            assert math.isclose(plain(program, float(x), v.copy(), w.copy()), value, rel_tol=1e-12), x
    for x in rng.uniform(0.25, 4, 200):  # a missing edge lies between two of these
        if np.abs(whole.edges - x).min() > 1e-9:
            assert math.isclose(plain(program, float(x), v.copy(), w.copy()), whole(x), rel_tol=1e-12), x
    for x in rng.permutation(whole.edges[1:-1].tolist())[:20].tolist():
        (left, right), at, after = (
            problem.reveal(y).domain[0] for y in (math.nextafter(x, 0), x, math.nextafter(x, 9))
        )
        assert left < right == x == at[0]
        assert at == after


REFUSED = {
    "set": (lambda r: {r}, "set or the key"),
    "key of a dict": (lambda r: {r: 1}, "set or the key"),
    "text": (lambda r: f"{r:.3f}", "text of a value"),
    "text without format": (lambda r: str(r), "text of a value"),
    "pandas-like": (lambda r: r * np.ma.array([1.0, 2.0], mask=[0, 1]), "MaskedArray"),
    "matrix": (lambda r: r * np.ones((2, 2)).view(np.matrix), "matrix"),
    "integers": (lambda r: np.sum(r * np.ones(2), dtype=int), "cannot become int64"),
    "array of float32": (lambda r: r * np.ones(2, np.float32), "float32"),
    "float32": (lambda r: (r * np.ones(2)).astype(np.float32), "cannot become float32"),
    "plain out": (lambda r: np.sum(r * np.ones((2, 2)), 0, None, np.zeros(2)), "in place"),
    "plain out of take": (lambda r: np.take(r * np.ones(3), [0], out=np.zeros(1)), "in place"),
    "where": (lambda r: np.add(r, 1.0, where=np.array(True)), "option where"),
    "initial": (lambda r: np.max(r * np.ones(2), initial=0.5), "initial"),
    "plain out of dot": (lambda r: np.dot(r * np.ones(2), np.ones(2), np.zeros(())), "in place"),
    "plain diagonal": (lambda r: np.fill_diagonal(np.ones((2, 2)), r), "in place"),
    "huge": (lambda r: np.floor(1e17 * (1.0 + r) - 1e17 * r), "too large"),
    "infinite": (lambda r: np.floor(np.exp(1e3 * (r + 1))), "beyond the range"),
    "complex": (lambda r: complex(r), "plain float"),
    "data frame": (lambda r: pytest.importorskip("pandas").Series([1.0]) * r, "to_numpy"),
    "module of Python": (lambda r: statistics.mean([r, r]), "as_integer_ratio"),
    "swallowed": (lambda r: _swallowed(r), "numpy's functions instead"),
}


def _swallowed(rho):
    try:
        return math.log(rho)
    except TypeError:
        return 0.0


@pytest.mark.parametrize("name", REFUSED)
def test_untraceable_code_is_refused_even_if_errors_are_caught(name):
    operation, message = REFUSED[name]

    @sb.traced(SPACE)
    def run(rho):
        operation(rho)
        return 0.0

    with pytest.raises(TracingError, match=message) as caught:
        run().reveal(1.0)
    assert str(caught.value).startswith("test_programs.py, line ")


def test_errors_of_the_function_keep_their_cause():
    @sb.traced(SPACE)
    def run(rho):
        try:
            return {}["missing"]
        except KeyError as error:
            raise ValueError("no such file") from error

    with pytest.raises(ValueError, match="no such file") as caught:
        run().reveal(1.0)
    assert isinstance(caught.value.__cause__, KeyError)


def test_value_kept_from_another_run_is_refused_where_it_decides():
    kept = []

    @sb.traced(SPACE)
    def run(rho):
        kept.append(rho)
        return float(kept[0] < 0.5)

    problem = run()
    problem.reveal(0.3)
    with pytest.raises(TracingError, match="another run"):
        problem.reveal(1.0)


def test_arguments_cannot_be_changed():
    @sb.traced(SPACE)
    def run(rho, values):
        values[0] = 1.0
        return 0.0

    values = np.zeros(2)
    with pytest.raises(ValueError, match="read-only"):
        run(values).reveal(1.0)
    values[0] = 2.0  # the caller's own array stays as it is
