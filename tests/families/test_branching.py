"""Branch and bound in SCIP: one run shows the exact interval with the same search."""

import math
import pickle

import numpy as np
import pytest

import semibandit as sb

pyscipopt = pytest.importorskip("pyscipopt")
KINDS = {"set-cover": 40, "auction": 15, "facility": 10}


def stream(kind, **options):
    return sb.streams.branching(kind, **{"rounds": 4, "size": KINDS[kind], "seed": 3} | options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("t", range(3))
def test_search_is_the_same_on_its_interval(kind, t):
    problem = stream(kind)[t]
    for rho in (0.0, 0.4, 0.9, 1.0):
        search = problem.solve(rho)
        lo, hi = search.interval
        assert lo <= min(rho, math.nextafter(1, 0)) < hi
        for inner in (lo, *np.random.default_rng(0).uniform(lo, hi, 3), math.nextafter(hi, 0)):
            assert problem.solve(float(inner)) == search


@pytest.mark.parametrize("kind", KINDS)
def test_branching_keeps_the_contract(kind):
    sb.testing.check_problem(stream(kind)[1], n_points=6)


def test_loss_differs_between_parameters_and_the_optimum_does_not():
    nodes = set()
    for problem in stream("auction"):
        searches = [problem.solve(rho) for rho in (0.0, 0.5, 1.0)]
        assert {search.status for search in searches} == {"optimal"}
        np.testing.assert_allclose([search.objective for search in searches], searches[0].objective)
        nodes.add(tuple(search.nodes for search in searches))
        assert problem.loss(0.5) == min(searches[1].nodes / problem.node_limit, 1.0)
    assert any(len(set(each)) > 1 for each in nodes)


def test_choice_is_the_best_mix_of_both_gains():
    from semibandit.families.branching import _rule

    rule = _rule()(0.4, 0.0, 1.0)
    smaller, larger = np.array([1.0, 3.0, 2.0]), np.array([8.0, 4.0, 2.0])
    assert rule.choose(smaller, larger) == np.argmax(0.4 * smaller + 0.6 * larger) == 0
    assert (rule.lo, rule.hi) == (0.0, pytest.approx(2 / 3))  # 8 - 7ρ = 4 - ρ


def test_nodes_are_limited():
    problem = max(stream("auction"), key=lambda each: each.solve(0.0).nodes)
    limited = sb.Branching(_reloaded(problem), node_limit=3)
    assert limited.loss(0.0) == 1.0
    assert limited.solve(0.0).status == "totalnodelimit"


def _reloaded(problem):
    model = pyscipopt.Model()
    model.hideOutput()
    from semibandit.families.branching import _loaded

    with _loaded(problem._suffix, problem._program) as source:
        model = pyscipopt.Model(sourceModel=source)
    model.hideOutput()
    return model


def test_programs_are_pickled_and_read_from_files(tmp_path):
    problem = stream("auction")[2]
    assert pickle.loads(pickle.dumps(problem)).solve(0.3) == problem.solve(0.3)
    path = tmp_path / "program.cip"
    path.write_bytes(problem._program)
    assert sb.Branching(path, node_limit=100).solve(0.3) == problem.solve(0.3)


def test_bad_input_is_refused(tmp_path):
    with pytest.raises(TypeError, match=r"pyscipopt\.Model or the path"):
        sb.Branching(3)
    with pytest.raises(FileNotFoundError, match=r"missing\.mps"):
        sb.Branching(tmp_path / "missing.mps")
    with pytest.raises(ValueError, match="node_limit"):
        sb.Branching(tmp_path, node_limit=0)


def test_learner_plays_a_stream():
    problems = stream("auction", rounds=6)
    history = sb.play(sb.Exp3Set(problems[0].space, seed=0), problems, feedback="semi-bandit")
    assert len(history.loss) == 6
    assert np.isfinite(history.regret()).all()
