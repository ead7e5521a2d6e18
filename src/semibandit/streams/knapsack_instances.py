"""Knapsack instances: the classical classes, and two made for learning."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.families.greedy.knapsack import Knapsack
from semibandit.spaces.interval import Interval
from semibandit.streams.stream import Stream, remade

__all__ = ["KINDS", "knapsack"]

Items = tuple[FloatArray, FloatArray]  # values, sizes

_RANGE = 1000
_ROOM = 100.0  # the capacity of the instances made for learning


@remade
def knapsack(
    kind: str = "mixed",
    rounds: int = 1000,
    n: int = 50,
    seed: int = 0,
    kappa: float | None = 100.0,
    *,
    fill: float = 0.25,
    space: Interval | None = None,
    loss: str = "normalised",
    partition: str = "output",
) -> Stream[Knapsack]:
    """A stream of random knapsack instances.

    Parameters
    ----------
    kind
        One of the classes that the knapsack literature tests with: "uncorrelated", "weakly-correlated",
        "strongly-correlated", "inverse-strongly-correlated", "almost-strongly-correlated", "subset-sum",
        "similar-weights", "spanner", "multiple-strongly-correlated", "profit-ceiling", "circle"; or
        "mixed", whose best parameter lies near 2.3, with mean losses some 8 points higher at ρ = 1 and more
        elsewhere; or "drifting", the same with a best parameter that wanders from about 1.3 to 3.3.
    rounds, seed
        The number of instances, and the seed of the stream.
    n
        The number of items of each instance, at least 3.
    kappa
        The stream is κ-smooth: given anything else, the value of each item has a density of at most kappa
        (the value of the class, scaled to [0, 1 - 1/kappa], plus independent uniform noise of width
        1/kappa), which is what dispersion (Lemma 8) asks for. Sizes are at least 1 and values at most 1.
        None: the class as it is, with integer values except for "circle".
    fill
        The capacity as a share of all sizes, for the classical classes; at least the largest item fits.
    space, loss, partition
        What each `Knapsack` gets.

    Examples
    --------
    >>> stream = knapsack("subset-sum", rounds=10, n=20, kappa=None)
    >>> stream[3].losses().edges
    array([ 0.,  1., 10.])
    """
    _validate.choice("kind", kind, KINDS)
    _validate.integer("n", n, low=3)
    _validate.integer("rounds", rounds, low=1)
    if kappa is not None:
        _validate.number("kappa", kappa, low=1.0)
    _validate.number("fill", fill, low=0.0, high=1.0)

    def make(t: int, rng: np.random.Generator) -> Knapsack:
        if kind in _CLASSICAL:
            values, sizes = _CLASSICAL[kind](rng, n)
            capacity = max(np.floor(fill * sizes.sum()), sizes.max())
        else:
            centre = 1.5 + 2.0 * t / rounds if kind == "drifting" else 2.5
            values, sizes = _two_sided(rng, n, centre)
            capacity = _ROOM
        if kappa is not None:
            values = values / values.max() * (1.0 - 1.0 / kappa) + rng.uniform(0.0, 1.0 / kappa, n)
        return Knapsack(values, sizes, capacity, space, loss=loss, partition=partition)

    return Stream(make, rounds, seed)


def _two_sided(rng: np.random.Generator, n: int, centre: float) -> Items:
    """An instance on which the smaller, or the larger, items should come first: ρ above, or below, a c.

    Values are s^c, so that all items swap near ρ = c. Where a large item leaves no room for a second of good
    value, two middle ones are better: ρ must be above c, which is drawn below the centre. Where two small
    ones leave no room for a large one, large and small is better: ρ must be below c, drawn above it.
    """
    if rng.random() < 0.5:
        c = centre - rng.uniform(0.2, 1.0)
        third = n // 3
        sizes = np.concatenate(
            (
                rng.uniform(52.0, 58.0, third),
                rng.uniform(48.2, 50.0, third),
                rng.uniform(36.0, 42.0, n - 2 * third),
            )
        )
        values = sizes**c
        values[2 * third :] *= 0.3
    else:
        c = centre + rng.uniform(0.2, 1.0)
        half = n // 2
        sizes = np.concatenate((rng.uniform(52.0, 55.0, half), rng.uniform(42.0, 45.0, n - half)))
        values = sizes**c
    return values / values.max(), sizes


# -- the classical classes, with data in [1, 1000] -------------------------------------------------------


def _uniform(rng: np.random.Generator, n: int) -> FloatArray:
    return rng.integers(1, _RANGE, n, endpoint=True).astype(np.float64)


def _uncorrelated(rng: np.random.Generator, n: int) -> Items:
    return _uniform(rng, n), _uniform(rng, n)


def _weak(rng: np.random.Generator, n: int) -> Items:
    sizes = _uniform(rng, n)
    reach = _RANGE // 10
    return np.maximum(sizes + rng.integers(-reach, reach, n, endpoint=True), 1.0), sizes


def _strong(rng: np.random.Generator, n: int) -> Items:
    sizes = _uniform(rng, n)
    return sizes + _RANGE // 10, sizes


def _inverse_strong(rng: np.random.Generator, n: int) -> Items:
    values = _uniform(rng, n)
    return values, values + _RANGE // 10


def _almost_strong(rng: np.random.Generator, n: int) -> Items:
    sizes = _uniform(rng, n)
    reach = _RANGE // 500
    return sizes + _RANGE // 10 + rng.integers(-reach, reach, n, endpoint=True), sizes


def _subset_sum(rng: np.random.Generator, n: int) -> Items:
    sizes = _uniform(rng, n)
    return sizes.copy(), sizes


def _similar_weights(rng: np.random.Generator, n: int) -> Items:
    return _uniform(rng, n), rng.integers(100_000, 100_100, n, endpoint=True).astype(np.float64)


def _spanner(rng: np.random.Generator, n: int, base: int = 2, most: int = 10) -> Items:
    """Multiples of a few items: strongly correlated ones, shrunk so that the multiples are in range."""
    values, sizes = (np.ceil(x / (most + 1)) for x in _strong(rng, base))
    which, times = rng.integers(base, size=n), rng.integers(1, most, n, endpoint=True)
    return values[which] * times, sizes[which] * times


def _multiple_strong(rng: np.random.Generator, n: int) -> Items:
    sizes = _uniform(rng, n)
    return sizes + np.where(sizes % 6 == 0, 3 * _RANGE // 10, 2 * _RANGE // 10), sizes


def _profit_ceiling(rng: np.random.Generator, n: int) -> Items:
    sizes = _uniform(rng, n)
    return 3.0 * np.ceil(sizes / 3.0), sizes


def _circle(rng: np.random.Generator, n: int) -> Items:
    sizes = _uniform(rng, n)
    return 2.0 / 3.0 * np.sqrt(4.0 * _RANGE**2 - (sizes - 2.0 * _RANGE) ** 2), sizes


_CLASSICAL: dict[str, Callable[[np.random.Generator, int], Items]] = {
    "uncorrelated": _uncorrelated,
    "weakly-correlated": _weak,
    "strongly-correlated": _strong,
    "inverse-strongly-correlated": _inverse_strong,
    "almost-strongly-correlated": _almost_strong,
    "subset-sum": _subset_sum,
    "similar-weights": _similar_weights,
    "spanner": _spanner,
    "multiple-strongly-correlated": _multiple_strong,
    "profit-ceiling": _profit_ceiling,
    "circle": _circle,
}
KINDS = (*_CLASSICAL, "mixed", "drifting")
