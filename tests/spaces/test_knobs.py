"""Knobs: scales, rows, functions of values on the line, errors."""

import math
import tracemalloc
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semibandit as sb
from reference.knobs import rows_in_box, told_of
from semibandit.spaces import restore
from semibandit.tuning import Command

P = sb.PiecewiseConstant
F = P([0.25, 0.5], [0.7])


KNOBS = sb.Knobs(alpha=sb.Real(1e-4, 1, log=True), depth=sb.Integer(1, 12), mode=sb.Choice("fast", "good"))

positive = st.floats(1e-300, 1e300)
whole = st.integers(-(10**6), 10**6)


@st.composite
def smooth_knobs(draw):
    lo, hi = sorted(draw(st.lists(positive, min_size=2, max_size=2)))
    log = draw(st.booleans())
    apart = math.log(lo) < math.log(hi) if log else lo < hi
    return sb.Real(lo, hi, log=log) if apart else sb.Real(lo, 2 * lo + 1, log=log)


@st.composite
def counted_knobs(draw):
    if draw(st.booleans()):
        lo, n, log = draw(whole), draw(st.integers(1, 3000)), draw(st.booleans())
        lo = abs(lo) + 1 if log else lo
        return sb.Integer(lo, lo + n, log=log)
    step, n = draw(st.floats(1e-3, 1e3)), draw(st.integers(1, 300))
    lo = draw(st.floats(-1e3, 1e3))
    return sb.Real(lo, lo + n * step, step=step)


@given(smooth_knobs(), st.floats(0, 1))
def test_place_and_value_of_a_real_scale_are_inverse(kind, u):
    scale, (a, b) = kind.scale, kind.scale.ends
    value = scale.value(a + u * (b - a))
    assert kind.lo <= value <= kind.hi
    assert scale.value(scale.place(value)) == pytest.approx(value, rel=1e-12)
    assert (scale.place(kind.lo), scale.place(kind.hi)) == (a, b)
    assert (scale.value(a), scale.value(b)) == (kind.lo, kind.hi)


@given(counted_knobs(), st.integers(0, 3000))
def test_place_and_value_of_a_discrete_scale_are_inverse(kind, i):
    i %= kind.count
    scale = kind.scale
    value = scale.at(i)
    assert scale.index(scale.place(value)) == i
    assert scale.value(scale.place(value)) == kind.check("knob", value) == value
    cell = scale.edge(i), scale.edge(i + 1)
    assert scale.value(0.5 * sum(cell)) == scale.value(math.nextafter(cell[1], -math.inf)) == value
    assert scale.stretch(*cell) == (value, (value, value))
    assert type(value) is (int if isinstance(kind, sb.Integer) else float)


GRIDS = [
    ("0", "1", "0.1"), ("0", "1", "0.01"), ("-1", "1", "0.05"), ("0.1", "6.1", "0.3"),
    ("1e-7", "3e-5", "1e-7"), ("5", "12.5", "2.5"), ("1.25", "3.05", "0.04"),
]  # fmt: skip


@pytest.mark.parametrize(("lo", "hi", "step"), GRIDS)
def test_steps_are_the_decimal_literals(lo, hi, step):
    kind = sb.Real(float(lo), float(hi), step=float(step))
    literals = [Decimal(lo) + i * Decimal(step) for i in range(kind.count)]
    assert literals[-1] == Decimal(hi)
    assert [kind.scale.at(i) for i in range(kind.count)] == [float(str(x)) for x in literals]
    assert [kind.scale.first(float(x)) for x in literals] == list(range(kind.count))
    written = [
        Command("true {x} {instance}", names=["x"])._fill("{x}", "", {"x": float(x)}) for x in literals
    ]
    assert [Decimal(text) for text in written] == literals


@pytest.mark.parametrize(("lo", "hi", "step"), GRIDS)
def test_told_intervals_contain_exactly_the_steps_in_them(lo, hi, step):
    kind = sb.Real(float(lo), float(hi), step=float(step))
    knobs = sb.Knobs(x=kind)
    literals = [Decimal(lo) + i * Decimal(step) for i in range(kind.count)]
    random = np.random.default_rng(0)
    for _ in range(40):
        i, j = sorted(random.choice(kind.count, 2, replace=False).tolist())
        laid = knobs.line.on_rows(P([float(literals[i]), float(literals[j])], [0.5]))
        seen = [not math.isnan(laid(k + 0.5)) if laid.edges[0] <= k < laid.edges[-1] else False
                for k in range(kind.count)]  # fmt: skip
        last = literals[j] == literals[-1]  # the end of the knob is closed
        assert seen == [literals[i] <= x < literals[j] or (last and x == literals[j]) for x in literals]


@st.composite
def told(draw, kind):
    inner = draw(st.lists(st.floats(0, 1), min_size=2, max_size=12, unique=True))
    edges = {kind.lo + u * (kind.hi - kind.lo) for u in inner}
    if draw(st.booleans()):
        edges |= {kind.lo, kind.hi}
    if draw(st.booleans()) and not math.isinf(kind.scale.size):
        edges |= {float(kind.scale.at(draw(st.integers(0, kind.count - 1)))) for _ in range(3)}
    edges = sorted(edge for edge in edges if kind.lo <= edge <= kind.hi)
    if len(edges) < 2:
        edges = [kind.lo, kind.hi]
    loss, n = st.sampled_from([0.1, 0.5, 0.9, math.nan]), len(edges) - 1
    return P(edges, draw(st.lists(loss, min_size=n, max_size=n)))


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_feedback_on_an_interval_holds_for_every_discrete_value_in_it(data):
    kind = data.draw(counted_knobs().filter(lambda kind: kind.count <= 200))
    function = data.draw(told(kind))
    other = sb.Choice("a", "b", "c")
    knobs = sb.Knobs(n=kind, mode=other)
    expected = [told_of(function, kind.scale.at(i), kind.hi) for i in range(kind.count)]
    row = data.draw(st.integers(0, 2))
    at = knobs.place(n=kind.lo, mode="abc"[row])
    if np.isnan(expected).all():
        with pytest.raises(ValueError, match="must contain a value"):
            knobs.line.on_rows(function, at)
        return
    parts = knobs.line.rows(knobs.line.on_rows(function, at))
    for r, part in enumerate(parts):
        for i in range(kind.count):
            lo, hi = kind.scale.edge(i), kind.scale.edge(i + 1)
            rounding = 1e-9 * (hi - lo)  # of rows that are laid end to end
            seen = part(lo + rounding), part(hi - rounding)
            assert np.array_equal(seen, [expected[i] if r == row else math.nan] * 2, equal_nan=True)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_no_piece_of_a_function_is_lost_on_the_line(data):
    kind = data.draw(smooth_knobs())
    function = data.draw(told(kind))
    if function.unseen.all():
        return
    knobs = sb.Knobs(x=kind, mode=sb.Choice(*range(data.draw(st.integers(1, 40)))))
    row = data.draw(st.integers(0, len(knobs) - 1))
    laid = knobs.line.on_rows(function, knobs.place(x=kind.lo, mode=row))
    for value in function.edges[:-1].tolist():  # each piece is there, from its first value on
        expected = told_of(function, value, kind.hi)
        if not math.isnan(expected):
            at = laid(knobs.place(x=value, mode=row))
            possible = [expected, *_told_beside(function, value, knobs)]
            assert any(np.array_equal(at, each, equal_nan=True) for each in possible)
    if function.whole and (function.edges[0], function.edges[-1]) == (kind.lo, kind.hi):
        assert laid.whole
        assert (laid.edges[0], laid.edges[-1]) == tuple(knobs.line.starts[row : row + 2])


def _told_beside(function, value, knobs):
    """Losses at all values so close that they share a point of the line."""
    kind, near = knobs.knobs["x"], 4 * np.spacing(np.abs(knobs.line.span).max())
    lo, hi = (value * math.exp(s) if kind.log else value + s for s in (-near, near))
    lo, hi = max(lo, kind.lo), min(hi, kind.hi)
    return {told_of(function, v, kind.hi) for v in (lo, hi, *function.edges.tolist()) if lo <= v <= hi}


def test_a_single_real_is_an_interval():
    knobs, interval = sb.Knobs(rho=sb.Real(0, 10)), sb.Interval(0, 10)
    assert knobs.line.on_rows(sb.PiecewiseLinear([1, 4], [0.1], [0.5]))(2.5) == pytest.approx(0.3)
    ours, theirs = sb.Exp3Set(knobs, seed=3), sb.Exp3Set(interval, seed=3)
    steps = P([0, 1, 5, 6, 10], [0.9, 0.2, 0.6, 0.3])
    for _ in range(60):
        a, b = ours.ask(), theirs.ask()
        assert a.rho == b.rho == a.values["rho"] == b.values["rho"]
        ours.tell(a, steps.piece(a.rho))
        theirs.tell(b, steps.piece(b.rho))
    assert ours.recommend() == theirs.recommend()


@given(st.data())
def test_rows_of_a_box_are_those_with_values_in_it(data):
    knobs = sb.Knobs(
        x=sb.Real(0, 1), y=sb.Real(1, 8, log=True), n=sb.Integer(1, 3), mode=sb.Choice("a", "b", None)
    )
    where = {}
    if data.draw(st.booleans()):
        where["y"] = tuple(sorted(data.draw(st.lists(st.floats(1, 8), min_size=2, max_size=2, unique=True))))
    if data.draw(st.booleans()):
        where["n"] = data.draw(st.sampled_from([(1, 2), (1, 3), (2, 3), 2]))
    if data.draw(st.booleans()):
        where["mode"] = data.draw(st.sampled_from(["a", None, ["a", None], ["b"]]))
    rows = rows_in_box(knobs, where)
    assert knobs.rows_in(where) == rows
    if rows:
        laid = knobs.line.on_rows(sb.Boxes([(F, where)]))
        seen = [i for i, part in enumerate(knobs.line.rows(laid)) if not part.unseen.all()]
        assert seen == rows


def test_knobs_and_boxes_come_back_from_plain_data():
    other = sb.Knobs(n=sb.Integer(1, 99, log=True), x=sb.Real(0, 1, step=0.05), along="n")
    for knobs in (KNOBS, other):
        assert restore(knobs.to_dict()) == knobs
    assert repr(other).endswith("along='n')")
    boxes = sb.Boxes([(F, {"depth": (1, 4), "mode": "fast"})])
    assert sb.Boxes.from_dict(boxes.to_dict()) == boxes


# -- rows ----------------------------------------------------------------------------------------------


def test_the_first_real_or_largest_integer_runs_along_the_rows():
    assert sb.Knobs(n=sb.Integer(1, 9), x=sb.Real(0, 1), y=sb.Real(0, 1)).along == "x"
    assert sb.Knobs(n=sb.Integer(1, 9), m=sb.Integer(1, 19)).along == "m"
    assert sb.Knobs(n=sb.Integer(1, 9), x=sb.Real(0, 1), along="n").names == ("n", "x")


def spread_of(knobs, name):
    """The different values of a knob in the rows, in order."""
    return sorted({values[knobs.names.index(name) - 1] for values in knobs.alphas})


@pytest.mark.parametrize(("n_numbers", "n_rows"), [(1, 64), (2, 64), (3, 64), (4, 54), (6, 64), (11, 64)])
def test_the_number_of_rows_is_bounded(n_numbers, n_rows):
    knobs = sb.Knobs(x=sb.Real(0, 1), **{f"y{i}": sb.Real(0, 1) for i in range(n_numbers)})
    assert len(knobs) == len(set(knobs.alphas)) == n_rows
    for i in range(n_numbers):
        assert len(spread_of(knobs, f"y{i}")) >= 2
    for axis in knobs.directions:
        assert ((axis.places >= 0.0) & (axis.places < 1.0)).all()
        assert len(set(axis.places.tolist())) == axis.size


@given(st.data())
def test_values_between_the_rows_belong_to_the_nearest_row(data):
    knobs = sb.Knobs(
        x=sb.Real(0, 1), y=sb.Real(1, 8, log=True), n=sb.Integer(1, 50), mode=sb.Choice("a", "b", "c")
    )
    values = {
        "x": 0.5,
        "y": data.draw(st.floats(1, 8)),
        "n": data.draw(st.integers(1, 50)),
        "mode": data.draw(st.sampled_from("abc")),
    }
    row, _ = knobs.line.read(knobs.place(**values))

    def distance(alpha):
        y, n, mode = alpha
        if mode != values["mode"]:
            return math.inf
        return (math.log(y / values["y"]) / math.log(8)) ** 2 + ((n - values["n"]) / 50) ** 2

    assert distance(knobs.alphas[row]) == pytest.approx(min(map(distance, knobs.alphas)))


@pytest.mark.parametrize(
    "knobs",
    [
        {f"x{i}": sb.Real(0, 1) for i in range(12)},
        {"x": sb.Real(0, 1)} | {f"c{i}": sb.Choice(0, 1) for i in range(10)},
    ],
)
def test_memory_is_bounded_whatever_the_number_of_knobs(knobs):
    tracemalloc.start()
    try:
        learner = sb.Exp3Set(sb.Knobs(**knobs), seed=0)
        for _ in range(50):
            learner.tell(learner.ask(), 0.3)
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


# -- errors --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: sb.Real(0, 1, log=True), ValueError, "lo must be above 0 on a log scale, got lo = 0.0"),
        (lambda: sb.Real(1, 1), ValueError, "lo must be below hi"),
        (lambda: sb.Real(1e-9, math.nextafter(1e-9, 1), log=True), ValueError, "too close"),
        (lambda: sb.Real(0, 1, step=0.3), ValueError, "a whole number of steps"),
        (lambda: sb.Real(1, 2, log=True, step=0.5), ValueError, "log or step, not both"),
        (lambda: sb.Real(0, 1, log=1), TypeError, "log must be True or False"),
        (lambda: sb.Integer(1, 2**53, log=True), ValueError, "hi must be at most 1e.14 on a log scale"),
        (lambda: sb.Integer(1, 2.5), TypeError, "hi must be an integer, got 2.5"),
        (lambda: sb.Choice(), ValueError, "at least one value"),
        (lambda: sb.Choice("a", "a"), ValueError, "must differ"),
        (lambda: sb.Choice([1]), TypeError, "must be text, a number"),
        (lambda: sb.Knobs(), ValueError, "at least one knob"),
        (lambda: sb.Knobs(x=3), TypeError, "x must be a Real, an Integer or a Choice, got 3"),
        (lambda: sb.Knobs(x=sb.Real(0, 1), along="y"), ValueError, r"along must be .* \(x\), got 'y'"),
        (
            lambda: sb.Knobs(x=sb.Real(0, 1), **{f"c{i}": sb.Choice(*range(10)) for i in range(4)}),
            ValueError,
            "the choices must have at most 1024 combinations, got 10000",
        ),
        (lambda: KNOBS.place(alpha=0.1, depth=3), ValueError, "a value is missing for mode"),
        (lambda: KNOBS.place(alpha=0.1, depth=3, mode="fast", x=1), ValueError, "there is no knob 'x'"),
        (lambda: KNOBS.place(alpha=2, depth=3, mode="fast"), ValueError, r"alpha must be in \[0.0001, 1\]"),
        (lambda: KNOBS.place(alpha=0.1, depth=13, mode="fast"), ValueError, "depth must be at most 12"),
        (lambda: KNOBS.place(alpha=0.1, depth=3.5, mode="fast"), TypeError, "depth must be an integer"),
        (lambda: KNOBS.place(alpha=0.1, depth=3, mode="slow"), ValueError, "must be one of 'fast', 'good'"),
        (lambda: sb.Real(0, 1, step=0.25).check("x", 0.3), ValueError, "a whole number of steps of 0.25"),
        (
            lambda: restore({"knobs": [{"name": "a"} | sb.Integer(1, 2).to_dict()] * 2, "along": "a"}),
            ValueError,
            "two knobs are called 'a'",
        ),
    ],
)
def test_bad_knobs_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_knob_without_effect_has_its_lowest_value():
    x, mode = sb.Real(0, 1), sb.Choice("fast", "good")
    knobs = sb.Knobs(x=x, q=sb.When(sb.Integer(2, 4), mode="good"), mode=mode)
    assert knobs.check(x=0.5, q=4, mode="good") == {"x": 0.5, "q": 4, "mode": "good"}
    assert knobs.check(x=0.5, q=4, mode="fast") == knobs.check(x=0.5, mode="fast")
    assert list(knobs.check(mode="fast", x=0.5).items()) == [("x", 0.5), ("q", 2), ("mode", "fast")]
    assert sorted(knobs.alphas) == [(2, "fast"), (2, "good"), (3, "good"), (4, "good")]
    assert knobs.place(x=0.5, q=2, mode="fast") == knobs.place(x=0.5, q=4, mode="fast")
    assert sb.Knobs.from_dict(knobs.to_dict()) == knobs != sb.Knobs(**knobs.knobs)
    assert sb.Knobs(q=sb.When(x, mode=("fast", "good")), n=sb.Integer(0, 3), mode=mode).along == "n"
    for wrong in (sb.When(x, x="good"), sb.When(x, mode="best"), sb.When(x, z=1)):
        with pytest.raises(ValueError, match=r"condition of q|q must depend on a Choice"):
            sb.Knobs(x=x, q=wrong, mode=mode)
    with pytest.raises(ValueError, match="a value is missing for q"):
        knobs.check(x=0.5, mode="good")
    with pytest.raises(ValueError, match="depends on one other knob"):
        sb.When(x, a=1, b=2)
