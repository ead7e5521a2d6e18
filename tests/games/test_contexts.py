"""Games with contexts."""

import numpy as np
import pytest

import semibandit as sb

SPACE = sb.Interval(0, 1)


def problems(n, seed=0):
    rng = np.random.default_rng(seed)
    kinds = rng.integers(2, size=n)
    edges = np.linspace(0, 1, 21)
    middles = 0.5 * (edges[1:] + edges[:-1])
    return kinds, [
        sb.Explicit(sb.PiecewiseConstant(edges, 0.1 + abs(middles - (0.1, 0.9)[k]) * rng.random()))
        for k in kinds
    ]


def test_regret_is_against_the_best_of_each_group():
    kinds, stream = problems(300)
    contexts = [{"kind": ("a", "b")[k]} for k in kinds]
    learner = sb.Exp3Set(SPACE, context=sb.Context(kind=sb.Choice("a", "b")), seed=0)
    history = sb.play(learner, stream, contexts=contexts)
    assert history.contexts == contexts
    by_kind = history.regret(by="kind")
    assert by_kind.tolist() == history.regret(by=kinds).tolist()
    assert by_kind[-1] > history.regret()[-1]
    best = [sb.best_in_hindsight([p for p, k in zip(stream, kinds, strict=True) if k == j]) for j in range(2)]
    total = sum(best[j].mean_loss * (kinds == j).sum() for j in range(2))
    assert by_kind[-1] == pytest.approx(history.loss.sum() - total)
    pooled = sb.play(sb.Exp3Set(SPACE, seed=0), stream)
    assert by_kind[-1] < 0.5 * pooled.regret(by=kinds)[-1]


def test_contexts_may_be_a_function_of_the_problem():
    _, stream = problems(20)
    learner = sb.Exp3Set(SPACE, context=sb.Context(pieces=sb.Integer(1, 50)), seed=0)
    history = sb.play(learner, stream, contexts=lambda problem: {"pieces": len(problem.losses())})
    assert history.contexts[3] == {"pieces": 20}
    assert "context" not in history.columns


def test_wrong_contexts_are_errors():
    _, stream = problems(5)
    learner = sb.Exp3Set(SPACE, context=sb.Context(kind=sb.Choice("a", "b")), seed=0)
    with pytest.raises(ValueError, match="one for each of 5 problems, got 1"):
        sb.play(learner, stream, contexts=[{}])
    with pytest.raises(ValueError, match="context needs a learner"):
        sb.play(sb.Exp3Set(SPACE, seed=0), stream, contexts=[{}] * 5)
    history = sb.play(learner, stream, contexts=[{}] * 5)
    with pytest.raises(ValueError, match="feature of the contexts, got 'kind'"):
        history.regret(by="kind")
    with pytest.raises(ValueError, match="group for each of 5 rounds"):
        history.regret(by=[1, 2])
    for other in ({"rho": 0.5}, {"alpha": 0.5}, {"blocks": 2}):
        with pytest.raises(ValueError, match="give by without rho, alpha, blocks and values"):
            history.regret(by=[1] * 5, **other)
