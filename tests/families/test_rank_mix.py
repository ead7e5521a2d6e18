"""Rankings by a mix of two scores, against exact arithmetic and plain formulas."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semibandit as sb
from families.pieces import assert_feedback_agrees
from reference import lines as reference

scores = st.one_of(st.integers(0, 3).map(float), st.floats(-5, 5, allow_subnormal=False))


def reference_pieces(problem):
    lines = list(zip(problem.a.tolist(), (problem.b - problem.a).tolist(), strict=True))
    crossings = reference.all_crossings(lines)

    def run(rho):
        return tuple(reference.order(lines, rho)[: problem.k]), crossings

    return reference.pieces(run, problem.space.lo, problem.space.hi)


def reference_loss(ranking, relevance, k, metric):
    gains = [relevance[i] for i in ranking]
    if not any(relevance):
        return 0.0
    if metric == "mrr":
        return 1.0 - max((1.0 / (i + 1) for i, gain in enumerate(gains) if gain > 0), default=0.0)
    if metric == "recall":
        return 1.0 - sum(gain > 0 for gain in gains) / sum(gain > 0 for gain in relevance)
    ideal = sorted(relevance, reverse=True)[:k]
    dcg, best = (sum(g / math.log2(i + 2) for i, g in enumerate(row)) for row in (gains, ideal))
    return 1.0 - dcg / best


@settings(max_examples=60)
@given(
    st.lists(st.tuples(scores, scores, st.sampled_from([0.0, 0.0, 1.0, 3.0])), min_size=1, max_size=7),
    st.integers(1, 4),
    st.sampled_from(["ndcg", "mrr", "recall"]),
    st.sampled_from([None, sb.Interval(-1, 2), sb.Interval(0.25, 0.5)]),
)
def test_losses_are_those_of_exact_arithmetic(documents, k, metric, space):
    a, b, relevance = zip(*documents, strict=True)
    problem = sb.RankMix(a, b, relevance, k, space, metric=metric)
    losses = assert_feedback_agrees(problem)
    expected = reference_pieces(problem)
    assert losses.edges[:-1].tolist() == [start for start, _ in expected]
    for (rho, ranking), loss in zip(expected, losses.values, strict=True):
        assert tuple(problem.ranking(rho)) == ranking
        assert loss == pytest.approx(reference_loss(ranking, relevance, k, metric), abs=1e-12)


def test_the_order_between_edges_is_that_of_the_scores():
    problem = sb.streams.rank_mix(rounds=1, seed=5)[0]
    edges = problem.losses().edges
    for rho in (0.5 * (edges[:-1] + edges[1:]))[np.diff(edges) > 1e-9]:
        mixed = (1 - rho) * problem.a + rho * problem.b
        assert problem.ranking(rho).tolist() == np.argsort(-mixed, kind="stable")[:10].tolist()


def test_ndcg_is_that_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    problem = sb.streams.rank_mix(rounds=1, seed=2)[0]
    mixed = 0.63 * problem.a + 0.37 * problem.b
    theirs = metrics.ndcg_score([problem.relevance], [mixed], k=10, ignore_ties=True)
    assert problem.loss(0.37) == pytest.approx(1 - theirs)


def test_a_click_is_a_single_relevant_document():
    query = [0.9, 0.5, 0.1], [0.0, 0.5, 0.3], [0, 0, 1]
    assert sb.RankMix(*query, k=2, metric="mrr").losses().values.tolist() == [1.0, 1.0, 0.5]
    assert sb.RankMix(*query, k=2, metric="recall", partition="loss").losses().values.tolist() == [1.0, 0.0]


def test_equal_and_extreme_scores_are_ranked():
    assert len(sb.RankMix([1, 1, 1], [2, 2, 2], [0, 1, 0]).losses()) == 1
    problem = sb.RankMix([1e100, -1e100, 0], [-1e100, 1e100, 1e-300], [1, 0, 0], k=1)
    assert_feedback_agrees(problem)
    assert problem.ranking(0)[0] == 0
    assert problem.ranking(1)[0] == 1
    assert sb.RankMix([0, 1], [1, 0], [5e-324, 1e-320]).loss(0.0) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("kind", ["topics", "debian"])
def test_streams_keep_the_contract(kind):
    stream = sb.streams.rank_mix(kind, 3, documents=20, k=3, seed=1)
    try:
        problems = list(stream)
    except ValueError as error:
        pytest.skip(str(error))
    for problem in problems:
        sb.testing.check_problem(problem, n_points=15)
        assert problem.relevance.max() > 0.0
        assert problem.a.max() <= 1.0
        assert problem.b.min() >= 0.0
    assert [problem.losses() for problem in problems] == [problem.losses() for problem in stream]


def test_bad_arguments_are_refused():
    for arguments, message in [
        (([], [], []), "a must have at least one entry"),
        (([1], [1, 2], [1]), "b must have 1 entries, got 2"),
        (([1], [1], [-1]), r"relevance must be finite and >= 0, got relevance\[0\] = -1"),
        (([1e101], [1], [1]), r"a must be in \[-1e\+100, 1e\+100\]"),
        (([1], [1], [1e200]), "relevance must be at most"),
        (([1], [math.nan], [1]), "b must be finite"),
        (([1], [1], [1], 0), "k must be at least 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            sb.RankMix(*arguments)
    with pytest.raises(ValueError, match="metric must be one of 'ndcg', 'mrr', 'recall'"):
        sb.RankMix([1], [1], [1], metric="map")
    with pytest.raises(ValueError, match=r"rho must be in \[0, 1\]"):
        sb.RankMix([1], [1], [1]).reveal(1.5)
