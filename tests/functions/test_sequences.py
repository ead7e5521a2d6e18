"""Functions derived from others in random sequences. SEMIBANDIT_SOAK=n makes n times as many."""

import math
import os
import pickle

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, rule

import semibandit as sb

GRID = np.arange(65) / 64  # edges are multiples of 1/32; the points between see the pieces
VALUES = st.one_of(st.just(math.nan), st.integers(-8, 8).map(float), st.floats(-1e6, 1e6))
EDGES = st.lists(st.integers(1, 31), max_size=4, unique=True).map(lambda inner: [0, *sorted(inner), 32])


class FunctionMachine(RuleBasedStateMachine):
    """Functions derived from others have the values that a table of points has."""

    pairs = Bundle("pairs")  # a function, and its values at the points (nan: outside, or not seen)

    @rule(target=pairs, edges=EDGES, data=st.data())
    def steps(self, edges, data):
        n = len(edges) - 1
        values = np.array(data.draw(st.lists(VALUES, min_size=n, max_size=n)))
        pieces = np.searchsorted(np.array(edges) / 32, GRID, side="right") - 1
        return sb.PiecewiseConstant(np.array(edges) / 32, values), values[np.minimum(pieces, n - 1)]

    @rule(target=pairs, left=st.integers(-64, 64), right=st.integers(-64, 64))
    def line(self, left, right):
        return sb.PiecewiseLinear([0, 1], [left], [right]), left + (right - left) * GRID

    @rule(target=pairs, one=pairs, other=pairs)
    def add(self, one, other):
        return one[0] + other[0], one[1] + other[1]

    @rule(target=pairs, one=pairs, many=st.lists(pairs, max_size=4))
    def sum(self, one, many):
        every = [one, *many]
        function = sb.PiecewiseLinear.sum([f for f, _ in every])
        return function, np.array([math.fsum(column) for column in zip(*(v for _, v in every), strict=True)])

    @rule(target=pairs, one=pairs, factor=st.sampled_from([-1.0, 0.5, 3.0]), shift=st.integers(-3, 3))
    def scale(self, one, factor, shift):
        return factor * one[0] + shift, factor * one[1] + shift

    @rule(target=pairs, one=pairs)
    def same(self, one):
        function = pickle.loads(pickle.dumps(type(one[0]).from_dict(one[0].to_dict())))
        assert function == one[0]
        return function.compress(), one[1]

    @rule(one=pairs)
    def agree(self, one):
        function, values = one
        scale = 1.0 + np.nanmax(np.abs(values), initial=0.0)
        np.testing.assert_allclose(function(GRID), values, rtol=0, atol=1e-9 * scale)
        if not function.domain:
            return
        assert function.min() <= np.nanmin(values) + 1e-9 * scale
        lo, hi = function.argmin()
        assert (
            function.min() <= function(lo if lo == hi else (lo + hi) / 2) <= np.nanmin(values) + 1e-9 * scale
        )
        part = function.restrict(0.25, 0.75)
        np.testing.assert_allclose(part(GRID[16:48]), function(GRID[16:48]), rtol=0, atol=1e-9 * scale)


TestSequences = FunctionMachine.TestCase
TestSequences.settings = settings(
    max_examples=12 * int(os.environ.get("SEMIBANDIT_SOAK", "1")),
    stateful_step_count=30,
    suppress_health_check=list(HealthCheck),
)
