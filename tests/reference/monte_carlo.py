"""Confidence limits for Monte Carlo checks of upper bounds."""

import math

import numpy as np

Z = 4.0  # standard errors: a true bound fails one such check in 30,000


def mean_limits(samples):
    """Return (lower, upper) confidence limits of the expectation of independent `samples`."""
    samples = np.asarray(samples, dtype=float)
    error = Z * samples.std(ddof=1) / math.sqrt(samples.size)
    return samples.mean() - error, samples.mean() + error


def proportion_limits(hits, n):
    """Return Wilson's confidence limits of a probability; valid also for few hits."""
    p, z2 = np.asarray(hits) / n, Z * Z / n
    centre = (p + z2 / 2) / (1 + z2)
    half = np.sqrt(z2 * (p * (1 - p) + z2 / 4)) / (1 + z2)
    return centre - half, centre + half


def peak_density_limits(samples, width):
    """Return confidence limits of the largest mean density over the cells of a grid of the given width."""
    samples = np.asarray(samples, dtype=float)
    cells = np.floor(samples[np.abs(samples) < 1e6 * width] / width)
    _, counts = np.unique(cells, return_counts=True)
    lower, upper = proportion_limits(counts.max(), samples.size)
    return lower / width, upper / width


def most_in_a_window(points, eps):
    """Return the most points in a closed window of length eps."""
    points = np.sort(points, axis=None)
    return (np.searchsorted(points, points + eps, side="right") - np.arange(points.size)).max()
