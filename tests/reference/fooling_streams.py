"""Streams of two places, one of them quiet, and random step functions."""

import numpy as np

import semibandit as sb


def two_places(kind, rounds, seed):
    """Losses of the left and of the right half; the right one is noisier and better."""
    u = np.random.default_rng([seed, 5]).random((2, rounds))
    constant = np.full(rounds, 0.5)
    return {
        "bernoulli": (constant, (u[1] < 0.4) * 1.0),
        "both": ((u[0] < 0.5) * 1.0, (u[1] < 0.4) * 1.0),
        "uniform": (0.4 + 0.2 * u[0], 0.8 * u[1]),
        "wide": (constant, 0.9 * u[1]),
        "phases": (constant, np.where(np.arange(rounds) < rounds // 11, 1.0, 0.0)),
    }[kind]


def play_places(learner, places, batch=1):
    """Return the regret of a game on two places, told in batches."""
    left, right = places
    paid = 0.0
    for start in range(0, left.size, batch):
        trials = [learner.ask() for _ in left[start : start + batch]]
        for t, trial in enumerate(trials, start):
            first = trial.rho < 0.5
            loss = left[t] if first else right[t]
            paid += loss
            learner.tell(trial, sb.PiecewiseConstant([0, 0.5] if first else [0.5, 1], [loss]))
    return paid - min(left.sum(), right.sum())


def step_functions(rounds, seed):
    """Instances on [0, 1] with 12 random pieces; the best parameter is 0.3."""
    rng = np.random.default_rng([seed, 9])
    cuts = np.sort(rng.random((rounds, 11)), axis=1)
    for inner in cuts:
        edges = np.concatenate(([0.0], inner, [1.0]))
        middles = 0.5 * (edges[1:] + edges[:-1])
        yield sb.PiecewiseConstant(edges, 0.2 + abs(middles - 0.3) + rng.normal(0.0, 0.1, 12))
