"""Exp3 on N arms and Hedge on a common refinement, as in a textbook: one vector of weights, one pass."""

from __future__ import annotations

import math

import numpy as np


def probabilities(logs):
    weights = np.exp(logs - np.max(logs))
    return weights / weights.sum()


def exp3(n_arms, rate, uniforms, loss):
    """Play; returns the arms and the probability of each when it was chosen. loss(t, arm) is in [0, 1]."""
    logs = np.zeros(n_arms)
    arms, chances = [], []
    for t, u in enumerate(uniforms):
        p = probabilities(logs)
        arm = min(int(np.searchsorted(np.cumsum(p), u, side="right")), n_arms - 1)
        logs[arm] -= rate * loss(t, arm) / p[arm]
        arms.append(arm)
        chances.append(p[arm])
    return arms, chances


def hedge(edges, losses, rate, uniforms):
    """The exponentially weighted forecaster with a density on the cells between edges.

    losses[t, i] is the loss of round t on cell i. Returns the points drawn and the final density.
    """
    widths = np.diff(edges)
    cumulative = np.zeros(widths.size)
    points = []
    for u, row in zip(uniforms, losses, strict=True):
        mass = probabilities(np.log(widths) - rate * cumulative)
        before = np.concatenate(([0.0], np.cumsum(mass)))
        cell = min(int(np.searchsorted(before, u, side="right")) - 1, widths.size - 1)
        points.append(edges[cell] + (u - before[cell]) / mass[cell] * widths[cell])
        cumulative += row
    return points, probabilities(np.log(widths) - rate * cumulative) / widths


def mixability_gap(shares, estimates, rate):
    """The expected estimate minus the mixed one."""
    mixed = -math.log(sum(s * math.exp(-rate * e) for s, e in zip(shares, estimates, strict=True))) / rate
    return sum(s * e for s, e in zip(shares, estimates, strict=True)) - mixed
