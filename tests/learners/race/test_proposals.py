"""Configurations that a race tries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semibandit as sb
from semibandit.learners.race.proposals import kinds_of, propose, space_filling

KNOBS = sb.Knobs(
    x=sb.Real(1e-3, 1, log=True),
    y=sb.Real(-1e6, 1e6),
    z=sb.Real(0, 1, step=0.1),
    n=sb.Integer(1, 9),
    mode=sb.Choice("a", "b", "c"),
)


def checked(kinds, configurations):
    for values in configurations:
        named = dict(zip(kinds, values, strict=True))
        assert {name: kinds[name].check(name, value) for name, value in named.items()} == named
    assert len(set(configurations)) == len(configurations)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40), st.floats(0, 1))
def test_proposals_are_new_values_of_the_knobs(seed, n, progress):
    kinds = kinds_of(KNOBS)
    design = space_filling(kinds, n, seed)
    checked(kinds, design)
    assert len(design) == n
    assert design == space_filling(kinds, n, seed)
    new = propose(kinds, design[:4], set(design), n, progress, np.random.default_rng(seed))
    checked(kinds, new)
    assert set(new).isdisjoint(design)
    assert len(new) <= n
    assert new == propose(kinds, design[:4], set(design), n, progress, np.random.default_rng(seed))


def test_one_number_gets_even_values_with_the_ends():
    assert space_filling(kinds_of(sb.Interval(0, 3)), 4, 0) == [(0.0,), (1.0,), (2.0,), (3.0,)]
    assert space_filling(kinds_of(sb.Interval(1.5, 5.5), integer=True), 10, 0) == [(2,), (3,), (4,), (5,)]


@pytest.mark.parametrize(("lo", "hi"), [(0.0, 5e-324), (1.0, 1.0 + 2**-52), (-1e308, 1e307)])
def test_extreme_ranges_have_proposals_inside(lo, hi):
    kinds = kinds_of(sb.Interval(lo, hi))
    design = space_filling(kinds, 5, 0)
    new = propose(kinds, design, set(), 5, 0.5, np.random.default_rng(0))
    assert all(lo <= value <= hi for (value,) in [*design, *new])


def test_a_space_that_was_tried_completely_has_no_proposals():
    kinds = kinds_of(sb.Knobs(n=sb.Integer(1, 3)))
    tried = {(1,), (2,), (3,)}
    assert propose(kinds, [(1,)], tried, 5, 0.0, np.random.default_rng(0)) == []


def test_most_proposals_change_one_or_two_knobs_of_a_leader():
    kinds = kinds_of(KNOBS)
    leader, other = (0.1, 0.0, 0.5, 5, "a"), (0.9, 9e5, 0.9, 9, "c")
    new = propose(kinds, [leader], set(), 200, 1.0, np.random.default_rng(1))
    near = [values for values in new if sum(a != b for a, b in zip(values, leader, strict=True)) <= 2]
    assert len(near) > 150
    new = propose(kinds, [leader, other], set(), 200, 1.0, np.random.default_rng(1))
    for each in (leader, other):
        assert sum(sum(a == b for a, b in zip(values, each, strict=True)) >= 3 for values in new) > 30
