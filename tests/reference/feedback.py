"""Feedback for tests: random step functions on [0, 1], told in parts."""

import math

import numpy as np

from semibandit import PiecewiseConstant


def random_loss(rng, n_pieces=6, levels=None):
    inner = np.sort(rng.random(n_pieces - 1))
    values = rng.random(n_pieces) if levels is None else rng.choice(levels, n_pieces)
    return PiecewiseConstant(np.concatenate(([0.0], inner, [1.0])), values)


def part(loss, rho, kind):
    """What is seen of a loss from rho: its piece, a union, two pieces with their own losses, or all."""
    if kind == "interval":
        return loss.piece(rho)
    if kind == "all":
        return loss
    values = np.array(loss.values)
    own = int(np.searchsorted(loss.edges, rho, side="right")) - 1
    if kind == "union":  # every other piece, with the loss of the own one
        seen = np.arange(values.size) % 2 == own % 2
        return PiecewiseConstant(loss.edges, np.where(seen, values[own], math.nan))
    seen = np.arange(values.size) // 2 == own // 2
    return PiecewiseConstant(loss.edges, np.where(seen, values, math.nan))
