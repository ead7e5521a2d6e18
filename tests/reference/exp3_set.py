"""Continuous Exp3-SET (Algorithm 1) on step functions whose edges are all known beforehand."""

import numpy as np


def play(functions, lo, hi, rate, rng):
    """The total loss of one run. `functions` are (edges, values) pairs; each piece is a feedback set."""
    grid = np.unique(np.concatenate([[lo, hi], *(edges for edges, _ in functions)]))
    middle, width = (grid[1:] + grid[:-1]) / 2, np.diff(grid)
    log_weight, total = np.zeros(width.size), 0.0
    for edges, values in functions:
        p = width * np.exp(log_weight - log_weight.max())
        p /= p.sum()
        cell = rng.choice(p.size, p=p)
        piece = np.searchsorted(edges, middle, side="right") - 1
        seen = piece == piece[cell]
        loss = values[piece[cell]]
        total += loss
        log_weight[seen] -= rate * loss / p[seen].sum()
    return total


def best(functions, lo, hi):
    """The total loss of the best fixed parameter."""
    grid = np.unique(np.concatenate([[lo, hi], *(edges for edges, _ in functions)]))
    middle = (grid[1:] + grid[:-1]) / 2
    return sum(values[np.searchsorted(edges, middle, side="right") - 1] for edges, values in functions).min()
