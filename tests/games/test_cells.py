"""Bounds on sums in cells of the line, against the functions themselves."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import semibandit as sb
from semibandit.functions.exact import ExactSum
from semibandit.games.cells import Cells, Outline, _bounds

GRID = st.lists(st.integers(1, 31).map(lambda k: k / 32), max_size=6, unique=True).map(sorted)


@st.composite
def steps(draw):
    edges = [0.0, *draw(GRID), 1.0]
    return sb.PiecewiseConstant(edges, [draw(st.integers(-8, 8)) / 8 for _ in edges[1:]])


@st.composite
def lines(draw):
    edges = [0.0, *draw(GRID), 1.0]
    left, right = ([draw(st.floats(-1, 1)) for _ in edges[1:]] for _ in range(2))
    return sb.PiecewiseLinear(edges, left, right)


CELLS = GRID.map(lambda inner: Cells.between(np.array([0.0, *inner, 1.0])))


@given(st.lists(steps(), min_size=1, max_size=6), CELLS)
def test_steps_at_once_are_as_one_by_one(functions, cells):
    at_once = Outline.of(functions, cells)
    breaks = np.zeros(cells.open.size, np.int64)
    low, reach = zip(*(_bounds(f, cells.edges, breaks) for f in functions), strict=True)
    assert at_once.low.function().compress() == ExactSum.of(low).function().compress()
    assert at_once.reach.function().compress() == ExactSum.of(reach).function().compress()
    assert (at_once.breaks == breaks).all()
    assert at_once.breaks.sum() == sum(len(f) - 1 for f in functions)


@given(st.lists(st.one_of(steps(), lines()), min_size=1, max_size=5), CELLS)
def test_bounds_bound_and_no_minimum_is_left_out(functions, cells):
    outline = Outline.of(functions, cells)
    total = sb.PiecewiseLinear.sum(functions)
    low, reach = outline.low.function(), outline.reach.function()
    places = np.unique(np.concatenate((np.linspace(0, 1, 65)[:-1], total.edges[:-1])))
    assert (low(places) <= total(places) + 1e-12).all()
    starts = cells.edges[:-1]
    assert (reach(starts) >= total(starts) - 1e-12).all()
    possible = outline.possible(cells)
    lowest = places[np.argmin(total(places))]
    assert total(lowest) > total.min() + 1e-9 or possible[np.searchsorted(cells.edges, lowest, "right") - 1]


@given(CELLS, st.integers(2, 40), st.data())
def test_finer_cells_cover_the_line_and_stay_open_where_they_were(cells, n, data):
    size = cells.open.size
    which = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    kept = cells.keep(which)
    breaks = np.array(data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size)))
    for other in (kept.refined(breaks, n), kept.joined()):
        assert (other.edges[0], other.edges[-1]) == (0.0, 1.0)
        assert (np.diff(other.edges) > 0).all()
        middles = np.linspace(0, 1, 257)[:-1] + 1 / 512
        states = [c.open[np.searchsorted(c.edges, middles, "right") - 1] for c in (kept, other)]
        assert (states[0] == states[1]).all()


def test_a_function_within_cells():
    cells = Cells(np.array([0.0, 0.25, 0.5, 1.0]), np.array([False, True, False]))
    function = sb.PiecewiseConstant([0, 0.3, 0.7, 1], [1.0, 2.0, 3.0])
    assert cells.restrict(function).compress() == sb.PiecewiseConstant([0, 0.25, 0.3, 0.5, 1], [0, 1, 2, 0])
    assert cells.mask().domain == ((0.25, 0.5),)
