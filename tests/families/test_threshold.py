"""One threshold on scores: compared with the definition at every point that matters."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semibandit as sb
from families.pieces import assert_feedback_agrees

numbers = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(-0.5, 1.5))
unit = st.floats(0, 1)


@settings(max_examples=100)
@given(st.lists(st.tuples(numbers, unit, unit, st.floats(0.1, 3)), min_size=1, max_size=6))
def test_losses_are_the_weighted_mean_of_the_definition(items):
    score, flagged, quiet, weights = (np.array(column) for column in zip(*items, strict=True))
    problem = sb.Threshold(score, flagged, quiet, weights=weights)
    losses = assert_feedback_agrees(problem)
    assert losses.edges[1:-1].tolist() == sorted({s for s in score.tolist() if 0.0 < s < 1.0})
    for rho in losses.edges[:-1]:
        expected = np.average(np.where(score > rho, flagged, quiet), weights=weights)
        assert losses(rho) == pytest.approx(expected)
        assert problem.flagged(rho).tolist() == (score > rho).tolist()
    sb.testing.check_problem(problem, n_points=12)


def test_one_item_has_two_feedback_sets():
    for label in (0.0, 1.0):
        problem = sb.Threshold(0.3, label, 0.6)
        assert problem.losses() == sb.PiecewiseConstant([0, 0.3, 1], [label, 0.6])
    assert len(sb.Threshold(1.5, 0, 1).losses()) == len(sb.Threshold(0.0, 0, 1).losses()) == 1


def test_the_constant_for_misses_keeps_differences_of_cost():
    rng = np.random.default_rng(0)
    score, positive = rng.random(40), rng.random(40) < 0.5
    false_alarm, miss = 2.0, 3.0
    known = sb.Threshold(score, 1.0 - positive, miss / (false_alarm + miss)).losses()
    for rho, other in rng.random((20, 2)):
        costs = [
            np.mean(np.where(score > x, false_alarm * ~positive, miss * positive)) / (false_alarm + miss)
            for x in (rho, other)
        ]
        assert known(rho) - known(other) == pytest.approx(costs[0] - costs[1], abs=1e-12)


def test_the_prediction_needs_no_label():
    predictions = {
        sb.Threshold(0.3, label, 0.6, expected=0.2).predicted.to_dict().__repr__() for label in (0, 1)
    }
    assert len(predictions) == 1
    problem = sb.Threshold([0.3, 0.5], [0, 1], 0.6, expected=[0.2, 0.9], weights=[1, 3])
    assert problem.predicted == sb.Threshold([0.3, 0.5], [0.2, 0.9], 0.6, weights=[1, 3]).losses()
    assert sb.Threshold(0.3, 0, 0.6).predicted is None


@pytest.mark.parametrize("kind", ["normal", "breast-cancer", "phishing"])
def test_streams_show_labels_of_flagged_items_only(kind):
    if kind != "normal":
        pytest.importorskip("sklearn" if kind == "breast-cancer" else "river")
    stream = sb.streams.threshold(kind, 200, false_alarm=1, miss=4, seed=1)
    assert {float(problem.if_not[0]) for problem in stream} == {0.8}
    assert {float(problem.if_flagged[0]) for problem in stream} == {0.0, 1.0}
    positive, negative = ([p.score[0] for p in stream if p.if_flagged[0] == label] for label in (0.0, 1.0))
    assert np.mean(positive) > np.mean(negative) + 0.1


def test_bad_arguments_are_refused():
    for arguments, message in [
        (([], 0, 1), "score must have at least one entry"),
        ((math.nan, 0, 1), "score must be finite"),
        ((0.5, 1.5, 1), r"if_flagged must be in \[0, 1\], got 1.5"),
        ((0.5, 0, -1), "if_not must be finite and >= 0"),
        (([0.5, 0.6], [0, 1, 0], 1), "if_flagged must have 2 entries, got 3"),
    ]:
        with pytest.raises(ValueError, match=message):
            sb.Threshold(*arguments)
    for options, message in [
        ({"weights": [0, 0]}, "weights must have a positive entry"),
        ({"weights": [1]}, "weights must have 2 entries"),
        ({"expected": 2}, r"expected must be in \[0, 1\]"),
    ]:
        with pytest.raises(ValueError, match=message):
            sb.Threshold([0.5, 0.6], 0, 1, **options)
    with pytest.raises(TypeError, match="score must be a number, or a sequence of numbers"):
        sb.Threshold("a", 0, 1)
