"""Configurations that a race tries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semibandit as sb
from semibandit.learners.race.proposals import candidates, kinds_of, space_filling
from semibandit.learners.race.surrogate import Surrogate

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


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40))
def test_candidates_are_values_of_the_knobs(seed, n):
    kinds = kinds_of(KNOBS)
    design = space_filling(kinds, n, seed)
    checked(kinds, design)
    assert len(design) == n
    assert design == space_filling(kinds, n, seed)
    new = candidates(kinds, design[:4], np.random.default_rng(seed))
    checked(kinds, dict.fromkeys(new))
    assert new == candidates(kinds, design[:4], np.random.default_rng(seed))


def test_one_number_gets_even_values_with_the_ends():
    assert space_filling(kinds_of(sb.Interval(0, 3)), 4, 0) == [(0.0,), (1.0,), (2.0,), (3.0,)]
    assert space_filling(kinds_of(sb.Interval(1.5, 5.5), integer=True), 10, 0) == [(2,), (3,), (4,), (5,)]


@pytest.mark.parametrize(("lo", "hi"), [(0.0, 5e-324), (1.0, 1.0 + 2**-52), (-1e308, 1e307)])
def test_extreme_ranges_have_candidates_inside(lo, hi):
    kinds = kinds_of(sb.Interval(lo, hi))
    design = space_filling(kinds, 5, 0)
    new = candidates(kinds, design, np.random.default_rng(0))
    assert all(lo <= value <= hi for (value,) in [*design, *new])


def test_half_of_the_candidates_change_one_or_two_knobs_of_a_leader():
    kinds = kinds_of(KNOBS)
    leader = (0.1, 0.0, 0.5, 5, "a")
    new = candidates(kinds, [leader], np.random.default_rng(1))
    assert len(new) == 1000
    near = [values for values in new if sum(a != b for a, b in zip(values, leader, strict=True)) <= 2]
    assert 400 < len(near) < 600


def scores_of(configurations):
    loss = [abs(x - 0.3) + 0.3 * (mode == "b") for x, _, mode in configurations]
    return np.argsort(np.argsort(loss)) / len(loss)


def test_surrogate_learns_which_knobs_matter_and_proposes_near_the_best():
    kinds = kinds_of(sb.Knobs(x=sb.Real(0, 1), y=sb.Real(0, 1), mode=sb.Choice("a", "b")))
    tried = space_filling(kinds, 30, 0)
    scores = scores_of(tried)
    model = Surrogate(kinds, tried, (scores - scores.mean()) / scores.std(), np.full(30, 10.0))
    assert model.lengths[0] < model.lengths[1]
    new = model.propose(space_filling(kinds, 500, 1), 5, 10)
    assert len(set(new)) == 5
    assert all(abs(x - 0.3) < 0.2 and mode == "a" for x, _, mode in new[:3])


def test_surrogate_predicts_scores_without_noise_and_less_surely_with_it():
    kinds = kinds_of(sb.Interval(0, 1))
    tried = [(x / 10,) for x in range(11)]
    scores = np.sin(np.arange(11.0))
    sure, unsure = (Surrogate(kinds, tried, scores, np.full(11, runs)) for runs in (1e9, 1.0))
    assert sure.predict(tried)[0] == pytest.approx(scores, abs=1e-3)
    assert unsure.predict(tried)[1].min() > sure.predict(tried)[1].max()
    assert sure.predict([(0.55,)])[1] > sure.predict([(0.5,)])[1]
