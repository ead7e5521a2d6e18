"""The corollary of docs/theory/contexts.md, by play."""

import math

import numpy as np
import pytest

import semibandit as sb

SLOPE, HOLDER = 0.6, 0.3  # the best parameter is 0.2 + SLOPE · x; losses change by HOLDER · |x - x'| at most
NOISE = 0.1


def instance(x, rng):
    """Return steps of a valley; given x, the mean loss changes with x by half of the change of the best."""
    edges = np.concatenate(([0.0], np.sort(rng.random(7)), [1.0]))
    middles = 0.5 * (edges[1:] + edges[:-1])
    return sb.PiecewiseConstant(
        edges, 0.5 * abs(middles - 0.2 - SLOPE * x) + NOISE * rng.random(middles.size)
    )


def game(rounds, parts, seed):
    """Return the contextual regret of a learner in each cell, and the bound of the corollary."""
    rng = np.random.default_rng([seed, 3])
    learners = [sb.Exp3Set(sb.Interval(0, 1), baseline=None, seed=1000 * seed + k) for k in range(parts)]
    told = [[] for _ in range(parts)]
    regret = 0.0
    for x in rng.random(rounds):
        function = instance(x, rng)
        cell = min(int(x * parts), parts - 1)
        trial = learners[cell].ask()
        i = min(int(np.searchsorted(function.edges, trial.rho, side="right")) - 1, function.values.size - 1)
        learners[cell].tell(
            trial, sb.PiecewiseConstant(function.edges[i : i + 2], function.values[i : i + 1])
        )
        regret += float(function(trial.rho)) - float(function(0.2 + SLOPE * x))
        told[cell].append(function)
    return regret, bound(rounds, parts, told, learners[0].rate.c)


def bound(rounds, parts, told, c, pieces=8):
    """Return the least value of the right side over r."""
    best = math.inf
    for r in (0.001, 0.003, 0.01, 0.03):
        breaks = sum(worst_ball([f.edges[1:-1] for f in functions], r) for functions in told if functions)
        root = math.sqrt(c * parts * rounds * pieces)
        learning = 2 * math.log(1 / (2 * r)) / c * (parts + root) + root
        best = min(best, learning + breaks + 2 * HOLDER * rounds / parts)
    return best


def worst_ball(edges, r):
    """Return the number of functions that break within r of a point, for the worst point."""
    centres = np.linspace(0, 1, 101)  # every point is within 0.005 of one
    return max(sum(bool((abs(e - x) <= r + 0.005).any()) for e in edges) for x in centres)


def test_losses_are_hoelder_in_the_context():
    grid = np.linspace(0, 1, 50)
    for x, y in ((0.1, 0.15), (0.2, 0.8), (0.0, 1.0)):
        a, b = (instance(z, np.random.default_rng(4)) for z in (x, y))
        assert max(abs(a(g) - b(g)) for g in grid) <= HOLDER * abs(x - y) + 1e-12


@pytest.mark.parametrize("parts", [1, 4])
def test_contextual_regret_is_below_the_bound(parts):
    played = [game(400, parts, seed) for seed in range(4)]
    regret, limit = np.mean(played, axis=0)
    assert 0.0 < regret < limit


def test_more_cells_lower_the_regret_in_long_games():
    one, four = (np.mean([game(2000, parts, seed)[0] for seed in range(2)]) for parts in (1, 4))
    assert four < 0.9 * one
