"""Operations on traced values: equal to plain runs inside of each interval, which is as wide as it can be."""

import heapq
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semibandit as sb
from semibandit.families.tracing import TracingError

LO, HI = 0.25, 4.0
I = np.array([3, 0, 2, 1])
M = np.array([[1.0, -2.0], [0.5, 3.0]])


def ranks(values):
    """Positions of the sorted values, for a list of numbers."""
    return sorted(range(len(values)), key=lambda i: values[i])


def heap(values):
    """Positions in the order in which a heap of pairs returns them."""
    entries = [(value, i) for i, value in enumerate(values)]
    heapq.heapify(entries)
    return [heapq.heappop(entries)[1] for _ in range(len(values))]


def in_place(x):
    x = x.copy()
    x[1:] += 1.0
    x[0] = x[2] * 0.5
    x[x > 1.0] = 1.0
    return x


def stored(x):
    array = np.zeros(4) + 0 * x
    for i in range(4):
        array[i] = 2 * x[i]
    return array


def diagonal(x):
    x = np.outer(x, [1.0, 2.0, 3.0, 4.0])
    np.fill_diagonal(x, np.inf)
    return np.argmin(x, axis=1)


# Functions of (lines, powers, v): arrays of 4 traced values each, and 4 plain numbers.
ARITHMETIC = {
    "add": lambda x, y, v: (x + v) + (1 - x) + 2,
    "subtract": lambda x, y, v: v - x - v[0],
    "multiply": lambda x, y, v: v * x * 0.5,
    "divide": lambda x, y, v: x / 4 / (abs(v) + 1),
    "negative": lambda x, y, v: -(+x),
    "products of powers": lambda x, y, v: np.log(y * y / (v * v + 1)),
    "quotient of powers": lambda x, y, v: np.log(y[::-1] / y),
    "constant over power": lambda x, y, v: np.log(3.0 / y),
    "powers of powers": lambda x, y, v: np.log(np.sqrt(y) * y**2),
    "exponential": lambda x, y, v: np.log(np.exp(x) * np.exp2(-x)) + np.log2(y) - np.log10(y),
    "base and exponent": lambda x, y, v: np.log(2.0 ** (1 - x[0]) * 3.0**x),
    "negative powers": lambda x, y, v: np.log(-1 * -y),
    "sum": lambda x, y, v: x.sum() + np.sum(x, keepdims=True)[0] + sum(x) + np.add.reduce(x),
    "mean": lambda x, y, v: x.mean(),
    "cumsum": lambda x, y, v: np.cumsum(x) + np.append(0, v[1:]),
    "diff": lambda x, y, v: np.diff(x),
    "dot": lambda x, y, v: x @ v + v @ x + np.dot(x, v) + x.dot(v),
    "matmul": lambda x, y, v: (M @ x.reshape(2, 2)) @ M,
    "outer": lambda x, y, v: np.outer(x, v) + np.einsum("i,j->ij", v, x),
    "index": lambda x, y, v: x[I] + x[1] + x[-2:].sum() + x[v > 0].sum(),
    "two indices": lambda x, y, v: x.reshape(2, 2)[np.ix_([1, 0], [0, 1])] + x.reshape(2, 2)[0, 1],
    "reshape": lambda x, y, v: x.reshape(2, -1).T.ravel() + np.reshape(x, (4,)) + x.reshape((2, 2)).flatten(),
    "stack": lambda x, y, v: np.stack([x, v, x[::-1]]) + np.vstack([x, x, v]),
    "concatenate": lambda x, y, v: np.concatenate([v, x, [1.0]]) + np.hstack((x, x, 0.0)),
    "moves": lambda x, y, v: np.roll(np.flip(x), 1) + np.tile(x[:2], 2) + np.repeat(x[:2], 2) + np.take(x, I),
    "split": lambda x, y, v: np.split(x, 2)[0] + np.array_split(x, 2)[1],
    "broadcast": lambda x, y, v: x[:, None] + v + np.expand_dims(x, 0),
    "stored": lambda x, y, v: stored(x),
}  # fmt: skip
DECISIONS = {
    "less": lambda x, y, v: (x < x[::-1]) | (x <= v) | (v > x),
    "equal": lambda x, y, v: (x == x[0], x != v[0]),
    "powers below": lambda x, y, v: (y < y[::-1]) & (y >= 1.5),
    "negative powers below": lambda x, y, v: -y < -y[::-1],
    "quotients of equal powers": lambda x, y, v: (np.floor(y / y), y / y.max() >= 1.0),
    "signs of powers": lambda x, y, v: np.argsort(y * v, kind="stable"),
    "where": lambda x, y, v: np.where(x > v, x, v) + np.where(v > 0, x, 1.0),
    "minimum": lambda x, y, v: np.minimum(x, v) + np.maximum(x[::-1], x) + np.fmin(x, 0.5),
    "minimum of powers": lambda x, y, v: np.log(np.minimum(y, y[::-1]) * np.maximum(y, 2.0)),
    "clip": lambda x, y, v: np.clip(x, -1, 1) + x.clip(0.0, None) + np.clip(x, a_min=None, a_max=v),
    "abs": lambda x, y, v: abs(x) + np.abs(x - v) + np.sign(x),
    "sort": lambda x, y, v: np.sort(x) + np.sort(x.reshape(2, 2), axis=0).ravel() + np.sort(x, axis=None),
    "argsort": lambda x, y, v: (np.argsort(x, kind="stable"), (-y).argsort(kind="stable")),
    "argsort of rows": lambda x, y, v: np.argsort(np.stack([x, x[::-1], v]), axis=1, kind="stable"),
    "lexsort": lambda x, y, v: np.lexsort((x, np.floor(v))),
    "argmin": lambda x, y, v: (np.argmin(x), x.argmax(), np.argmin(y), np.argmax(x.reshape(2, 2), axis=0)),
    "min": lambda x, y, v: x.min() + np.max(x) + min(x) + max(x) + np.maximum.reduce(x),
    "min of rows": lambda x, y, v: np.outer(x, v).min(axis=1) + np.max(np.outer(v, x), axis=0, keepdims=True),
    "partition": lambda x, y, v: np.partition(x, 1)[1] + np.sort(np.partition(x, 2)[:2]),
    "argpartition": lambda x, y, v: (
        x[np.argpartition(x, 1)[:1]] + np.sort(np.log(y[np.argpartition(-y, 2)[:2]]))
    ),
    "median": lambda x, y, v: np.median(x) + np.median(x[:3]),
    "searchsorted": lambda x, y, v: (np.searchsorted(np.sort(v), x), np.searchsorted(np.sort(x), v, "right")),
    "search a number": lambda x, y, v: np.searchsorted(np.sort(v), x[0]),
    "rounding": lambda x, y, v: (np.floor(x), np.ceil(x), np.trunc(x), np.round(x), np.rint(-x)),
    "rounding of powers": lambda x, y, v: (np.floor(y), np.ceil(y), np.round(y)),
    "digits": lambda x, y, v: np.round(x, 1) + round(x[0], 1),
    "int": lambda x, y, v: [(int(a), round(a), math.floor(a), math.ceil(a), math.trunc(-a)) for a in x],
    "floor division": lambda x, y, v: (x // 0.5) + x % 2 + divmod(x, 3)[1],
    "bool": lambda x, y, v: [bool(a) for a in x] + [a > 0 and a < 1 for a in x],
    "any": lambda x, y, v: (np.any(x), np.all(x > 0), np.count_nonzero(x), np.flatnonzero(x < v)),
    "sorted": lambda x, y, v: (ranks(x), ranks(-y), ranks([(a, i) for i, a in enumerate(x)])),
    "heap": lambda x, y, v: (heap(x), heap(y)),
    "in place": lambda x, y, v: in_place(x),
    "diagonal": lambda x, y, v: diagonal(x),
    "indices from decisions": lambda x, y, v: v[np.argmin(x)] + x[np.argsort(y, kind="stable")],
}  # fmt: skip


def values_of(rho, a, b, k, s):
    return a + rho * b, k * s**rho, a


def plain_output(output):
    parts = output if isinstance(output, tuple | list) else [output]
    return [np.asarray(part, dtype=float) for part in parts]


def check(operation, a, b, k, s, rho):
    """Compare with plain runs at inner points; check the partition at both ends to the ulp."""
    lines, found = [], None

    @sb.traced(sb.Interval(LO, HI), high=1e9)
    def run(rho):
        nonlocal found
        output = operation(*values_of(rho, a, b, k, s))
        found = output if isinstance(output, tuple | list) else [output]
        lines.append(found)
        return 0.0

    problem = run()
    lo, hi = problem.reveal(rho).domain[0]
    assert LO <= lo <= rho < hi <= HI
    for inner in [rho, *(lo + (hi - lo) * np.array([0.01, 0.3, 0.5, 0.8, 0.99]))]:
        if min(inner - lo, hi - inner) < 1e-9:  # a plain run is rounded
            continue
        expected = plain_output(operation(*values_of(inner, a, b, k, s)))
        for ours, theirs in zip(lines[0], expected, strict=True):
            value = at(ours, inner)
            np.testing.assert_allclose(value, theirs, rtol=1e-9, atol=1e-9)
    for edge in (lo, math.nextafter(hi, 0.0), hi):
        if edge < HI:
            ours = problem.reveal(edge).domain[0]
            assert ours == ((lo, hi) if edge < hi else (hi, ours[1]))
    if lo > LO:
        assert problem.reveal(math.nextafter(lo, 0.0)).domain[0][1] == lo


def at(value, rho):
    """Value at rho of something that may be traced."""
    from semibandit.families.tracing.values import Traced

    if isinstance(value, list | tuple):
        return np.array([at(each, rho) for each in value], dtype=float)
    if isinstance(value, Traced):
        full = value.full()
        if value.affine:
            return full[0] + rho * full[1]
        return full[0] * np.exp(full[3] + rho * (full[4] + np.log(full[1]) - np.log(full[2])))
    return np.asarray(value, dtype=float)


numbers = st.one_of(st.integers(-3, 3).map(float), st.floats(-3, 3).map(lambda x: round(x, 6)))
positive = st.one_of(st.integers(1, 4).map(float), st.floats(0.1, 4).map(lambda x: round(x, 6)))
four = lambda of: st.lists(of, min_size=4, max_size=4).map(np.array)  # noqa: E731
rhos = st.one_of(st.sampled_from([LO, 0.5, 1.0, 2.0, 3.0]), st.floats(LO, HI, exclude_max=True))


@pytest.mark.parametrize("name", ARITHMETIC | DECISIONS)
@settings(max_examples=40)
@given(a=four(numbers), b=four(numbers), k=four(positive), s=four(positive), rho=rhos)
def test_operation_agrees_with_plain_runs(name, a, b, k, s, rho):
    check((ARITHMETIC | DECISIONS)[name], a, b, k, s, rho)


@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_decides_nothing(name):
    a, b, k, s = np.random.default_rng(0).random((4, 4)) + 0.5

    @sb.traced(sb.Interval(LO, HI))
    def run(rho):
        ARITHMETIC[name](*values_of(rho, a, b, k, s))
        return 0.0

    assert run().reveal(1.0).domain == ((LO, HI),)


@pytest.mark.parametrize("n", [1, 2, 300])
def test_many_equal_values_are_sorted_stably(n):
    rng = np.random.default_rng(n)
    a, b = rng.integers(0, 4, (2, n)).astype(float)
    orders = []

    @sb.traced(sb.Interval(0, 4))
    def run(rho):
        orders.append(np.argsort(a + rho * b))
        return 0.0

    lo, hi = run().reveal(1.0).domain[0]
    np.testing.assert_array_equal(orders[0], np.argsort(a + 0.5 * (lo + hi) * b, kind="stable"))


WRONG = {
    "sum of powers": (lambda r: 2**r + 3**r, "sum of powers"),
    "power plus one": (lambda r: 2**r + 1, "sum of powers"),
    "square": (lambda r: r * r, "product of two values"),
    "power of a line": (lambda r: r**2, "power of a line"),
    "inverse": (lambda r: 1 / r, "quotient by a value"),
    "line times power": (lambda r: r * 2**r, "product of two values"),
    "line against power": (lambda r: r < 2**r, "a line and a power"),
    "rho to the rho": (lambda r: r**r, "base and exponent"),
    "logarithm of a line": (lambda r: np.log(r + 1), "compare the values themselves"),
    "double exponential": (lambda r: np.exp(np.exp(r)), "exponential of a power"),
    "sine": (lambda r: np.sin(r), r"np\.sin .* is not traced"),
    "math": (lambda r: math.exp(r), "numpy's functions instead"),
    "array": (lambda r: np.array([r, 1.0]), "np.stack"),
    "list": (lambda r: np.argmin([r, 1.0]), "np.stack"),
    "assignment": (lambda r: np.zeros(2).__setitem__(0, r), r"array \+ 0 \* rho"),
    "in place": (lambda r: np.zeros(2).__iadd__(r), "cannot be changed in place"),
    "zero base": (lambda r: np.array([0.0, 1.0]) ** r, "positive base"),
    "nan": (lambda r: np.argsort(np.array([np.nan, 1.0]) + r), "nan"),
    "infinite slope": (lambda r: np.array([np.inf, 1.0]) * r < 1.0, "infinite slope"),
    "unknown function": (lambda r: np.linalg.norm(np.ones(2) * r), "not traced"),
    "text": (lambda r: r + "a", "only bools, integers, floats"),
    "unknown attribute": (lambda r: r.imag, "attribute 'imag'"),
    "returned power": (lambda r: 2.0**r, "must return a number or a line"),
    "returned array": (lambda r: np.ones(2) * r, "must return a number or a line"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_say_what_to_do(name):
    operation, message = WRONG[name]

    @sb.traced(sb.Interval(LO, HI))
    def run(rho):
        return operation(rho)

    with pytest.raises(TracingError, match=message) as caught:
        run().reveal(1.0)
    if "must return" not in message:
        assert str(caught.value).startswith("test_operations.py, line ")


def test_value_of_another_run_is_refused():
    kept = []

    @sb.traced(sb.Interval(0, 1))
    def run(rho):
        kept.append(rho)
        return float(kept[0] < rho + 0.5)

    problem = run()
    problem.reveal(0.5)
    with pytest.raises(TracingError, match="another run"):
        problem.reveal(0.6)
