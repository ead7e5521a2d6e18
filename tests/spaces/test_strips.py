"""Strips: the line, functions on it, and learners on rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import semibandit as sb
from semibandit import PiecewiseConstant
from semibandit.spaces import restore

UNIT = sb.Interval(0, 1)
THREE = sb.Strips(3, UNIT)
ZERO = PiecewiseConstant([0, 1], [0])


def random_function(rng, lo=0.0, hi=1.0, pieces=4):
    edges = np.unique(np.concatenate(([lo], lo + (hi - lo) * rng.random(pieces - 1), [hi])))
    return PiecewiseConstant(edges, rng.random(edges.size - 1))


# -- the space -------------------------------------------------------------------------------------------


def test_rows_are_evenly_spaced_and_reach_both_ends():
    assert sb.Strips(5, UNIT).alphas == (0, 0.25, 0.5, 0.75, 1)
    assert sb.Strips(1, UNIT).alphas == (0.5,)
    space = sb.Strips(2, UNIT, sb.Interval(-3, 7))
    assert space.alphas == (-3, 7)
    assert space.parameters(*space.line.read(space.place(0.25, 7))) == (0.25, 7)
    assert restore(space.to_dict()) == space


@pytest.mark.parametrize("T", [1, 100, 1000, 10_000])
def test_the_default_number_of_rows_leaves_no_point_far_from_a_row(T):
    n_rows = len(sb.Strips(None, UNIT, horizon=T))
    assert 0.5 / (n_rows - 1) <= 1 / np.sqrt(T)
    assert n_rows == 2 or 0.5 / (n_rows - 2) > 1 / np.sqrt(T)


@given(
    st.integers(1, 70),
    st.floats(-5, 5),
    st.floats(0.1, 10),
    st.lists(st.floats(0, 1), min_size=2, max_size=5, unique=True),
    st.data(),
)
def test_lay_rows_keeps_the_values(n_rows, lo, width, marks, data):
    interval = sb.Interval(lo, lo + width)
    space = sb.Strips(n_rows, interval)
    edges = np.unique([min(interval.lo + interval.width * mark, interval.hi) for mark in marks])
    if edges.size < 2:
        return
    row = data.draw(st.integers(0, n_rows - 1))
    function = PiecewiseConstant(edges, np.arange(edges.size - 1) / edges.size)
    laid = space.lay_rows({row: function})
    back = space.row(laid, row)
    wide = function.edges[1:] - function.edges[:-1] > 1e-9
    for a, b, value in zip(edges[:-1][wide], edges[1:][wide], function.values[wide], strict=True):
        middle = 0.5 * (a + b)
        assert laid(space.place(middle, space.alphas[row])) == value
        assert back(middle) == value


def test_the_ends_of_rows_belong_to_their_rows():
    space = sb.Strips(3, UNIT)
    laid = space.lay_rows({row: PiecewiseConstant([0, 1], [row / 10]) for row in range(3)})
    for row, alpha in enumerate(space.alphas):
        for rho in (0.0, 1.0):
            x = space.place(rho, alpha)
            assert laid(x) == row / 10
            assert space.line.read(x)[0] == row
            assert space.line.position(x) == x
            assert space.line.around(laid, x) == (0, 1)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: sb.Strips(3, 5), TypeError, "interval must be an Interval"),
        (lambda: sb.Strips(None, UNIT), ValueError, "give n_rows, or a horizon"),
        (lambda: sb.Strips(0, UNIT), ValueError, "n_rows must be at least 1"),
        (lambda: sb.Strips(3, sb.Interval(0, 1, margin=0.1)), TypeError, "an Interval without a margin"),
        (lambda: sb.Strips(3, sb.Interval(0, 1e308)), ValueError, "do not fit on a line of doubles"),
        (lambda: THREE.place(0.1, 0.4), ValueError, "that of a row, got 0.4; the nearest row has 0.5"),
        (lambda: THREE.lay_rows({3: ZERO}), ValueError, "a row must be in 0 to 2"),
        (lambda: THREE.lay_rows({1: 0.5}), TypeError, r"functions\[1\] must be a PiecewiseConstant"),
        (lambda: THREE.lay_rows({}), ValueError, "at least one row"),
        (lambda: THREE.lay_rows({1: PiecewiseConstant([0, 2], [0])}), ValueError, "0 <= lo < hi <= 1"),
        (lambda: THREE.lay_pieces(*np.array([[1, 1], [0, 0], [1, 1], [0, 0]])), ValueError, "not overlap"),
    ],
)
def test_bad_arguments_are_named(make, error, message):
    with pytest.raises(error, match=message):
        make()


# -- learners --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"baseline": None, "rate": 0.4}, {"max_pieces": 16}])
def test_strips_with_one_row_equal_the_interval(options):
    interval = sb.Interval(-1, 2)
    one, row = (sb.Exp3Set(space, seed=3, **options) for space in (interval, sb.Strips(1, interval)))
    rng = np.random.default_rng(5)
    for t in range(150):
        a, b = one.ask(), row.ask()
        assert (a.rho, a.alpha, b.rho, b.alpha) == (b.rho, None, a.rho, 0.5)
        function = random_function(rng, -1, 2)
        seen = function if t % 5 == 0 else function.piece(a.rho)
        one.tell(a, seen)
        row.tell(b, seen)
        assert one.last_probability == row.last_probability
    assert one.density() == row.density()
    assert one.recommend() == row.recommend()[:2]


def test_feedback_on_several_rows_is_one_set():
    """One step on several rows, against the formula."""
    space = sb.Strips(4, UNIT)
    learner = sb.Exp3Set(space, rate=0.5, baseline=None, seed=0)
    trial = learner.ask()
    row = space.row_of(trial.alpha)
    lo, hi = max(trial.rho - 0.1, 0), min(trial.rho + 0.1, 1)
    functions = {r: PiecewiseConstant([lo, hi], [0.6 + 0.1 * (r == row)]) for r in {row, (row + 1) % 4}}
    learner.tell(trial, space.lay_rows(functions))
    p = 2 * (hi - lo) / 4
    assert learner.last_probability == pytest.approx(p)
    inside = learner.density()(space.place(0.5 * (lo + hi), trial.alpha))
    other = learner.density()(space.place(0.5 * (lo + hi), space.alphas[(row + 1) % 4]))
    outside = learner.density()(space.place(0.5 * (lo + hi), space.alphas[(row + 2) % 4]))
    assert np.log(inside / outside) == pytest.approx(-0.5 * 0.7 / p)
    assert np.log(other / outside) == pytest.approx(-0.5 * 0.6 / p)


# -- the game --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", range(5))
def test_intervals_narrower_than_doubles_stay_in_their_row(row):
    """At the right end of a row the line has no double left: the last one of the row stands for them."""
    space = sb.Strips(5, UNIT)
    below = np.nextafter(1.0, 0.0)
    laid = space.lay_rows({row: PiecewiseConstant([0.5, below, 1.0], [0.75, 0.25])})
    assert [r for r in range(5) if not np.isnan(space.row(laid, r).values).all()] == [row]
    assert space.row(laid, row)(0.6) == 0.75
    alone = space.lay_rows({row: PiecewiseConstant([below, 1.0], [0.25])})
    assert [r for r in range(5) if 0.25 in space.row(alone, r).values] == [row]
