"""Confidence limits for Monte Carlo checks of upper bounds."""

import math

import numpy as np

# Distributions on [0, 1]: (sampler of a number of points, or of a shape; bound of the density).
SMOOTH = {
    "uniform": (lambda rng, shape: rng.random(shape), 1.0),
    "triangular": (lambda rng, shape: rng.triangular(0.0, 0.7, 1.0, shape), 2.0),
    "narrow": (lambda rng, shape: 0.6 + 0.25 * rng.random(shape), 4.0),
    "two heaps": (
        lambda rng, shape: np.where(rng.random(shape) < 0.5, 0.1, 0.8) + 0.2 * rng.random(shape),
        2.5,
    ),
}
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
