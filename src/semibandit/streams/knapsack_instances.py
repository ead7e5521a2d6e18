"""Random knapsack instances: the classical classes, and two made for learning."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.families.greedy.knapsack import Knapsack
from semibandit.spaces.interval import Interval
from semibandit.streams.stream import Stream, pickled_as_call

__all__ = ["KINDS", "knapsack"]

Items = tuple[FloatArray, FloatArray]  # values, sizes

_FILL = 0.25  # capacity of the classical classes, as a share of the sum of sizes
_CAPACITY = 100.0  # of the instances made for learning


@pickled_as_call
def knapsack(
    kind: str = "mixed",
    rounds: int = 1000,
    n: int = 50,
    seed: int = 0,
    kappa: float | None = 100.0,
    *,
    space: Interval | None = None,
    loss: str = "normalised",
    partition: str = "output",
) -> Stream[Knapsack]:
    """Return a stream of random knapsack instances.

    Parameters
    ----------
    kind
        A class of the knapsack literature: "uncorrelated", "weakly-correlated", "strongly-correlated",
        "inverse-strongly-correlated", "almost-strongly-correlated", "subset-sum", "similar-weights",
        "spanner", "multiple-strongly-correlated", "profit-ceiling", "circle". Or "mixed", with a best
        parameter near 2.3 and a mean loss that is 0.08 higher at ρ = 1. Or "drifting", the same with a best
        parameter that moves from about 1.3 to 3.3.
    rounds, seed
        Number of instances, and seed of the stream.
    n
        Number of items of each instance, at least 3.
    kappa
        Density of the noise on values: the stream is κ-smooth, as Lemma 8 requires. Values are scaled to
        [0, 1 - 1/kappa] and get independent uniform noise of width 1/kappa. Sizes are at least 1. None: no
        noise; values are integers except for "circle".
    space, loss, partition
        Arguments of each `Knapsack`.

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

    def make(t: int, rng: np.random.Generator) -> Knapsack:
        if kind in _CLASSICAL:
            values, sizes = _CLASSICAL[kind](_uniform(rng, 2 if kind == "spanner" else n), rng, n)
            capacity = max(np.floor(_FILL * sizes.sum()), sizes.max())
        else:
            centre = 1.5 + 2.0 * t / rounds if kind == "drifting" else 2.5
            values, sizes = _two_sided(rng, n, centre)
            capacity = _CAPACITY
        if kappa is not None:
            values = values / values.max() * (1.0 - 1.0 / kappa) + rng.uniform(0.0, 1.0 / kappa, n)
        return Knapsack(values, sizes, capacity, space, loss=loss, partition=partition)

    return Stream(make, rounds, seed)


def _two_sided(rng: np.random.Generator, n: int, centre: float) -> Items:
    """Return an instance on which ρ should be above, or below, a random c.

    Values are s^c, so that all items swap near ρ = c. In one kind a large item leaves no room for a second
    good one, and two medium items are better: ρ must be above c, which is drawn below the centre. In the
    other two small items leave no room for a large one, and a large and a small item are better: ρ must be
    below c, which is drawn above the centre.
    """
    if rng.random() < 0.5:
        c = centre - rng.uniform(0.2, 1.0)
        third = n // 3
        ranges = ((52.0, 58.0, third), (48.2, 50.0, third), (36.0, 42.0, n - 2 * third))
        sizes = np.concatenate([rng.uniform(*each) for each in ranges])
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
    return rng.integers(1, 1000, n, endpoint=True).astype(np.float64)


def _around(rng: np.random.Generator, x: FloatArray, reach: int) -> FloatArray:
    return x + rng.integers(-reach, reach, x.size, endpoint=True)


def _spanner(x: FloatArray, rng: np.random.Generator, n: int) -> Items:
    """Return multiples, by 1 to 10, of two strongly correlated items that are scaled to stay in range."""
    values, sizes = np.ceil((x + 100) / 11), np.ceil(x / 11)
    which, times = rng.integers(2, size=n), rng.integers(1, 10, n, endpoint=True)
    return values[which] * times, sizes[which] * times


# Values and sizes from x, n uniform numbers (two for the spanner).
_CLASSICAL: dict[str, Callable[[FloatArray, np.random.Generator, int], Items]] = {
    "uncorrelated": lambda x, rng, n: (x, _uniform(rng, n)),
    "weakly-correlated": lambda x, rng, n: (np.maximum(_around(rng, x, 100), 1.0), x),
    "strongly-correlated": lambda x, rng, n: (x + 100, x),
    "inverse-strongly-correlated": lambda x, rng, n: (x, x + 100),
    "almost-strongly-correlated": lambda x, rng, n: (_around(rng, x + 100, 2), x),
    "subset-sum": lambda x, rng, n: (x.copy(), x),
    "similar-weights": lambda x, rng, n: (x, rng.integers(100_000, 100_101, n).astype(np.float64)),
    "spanner": _spanner,
    "multiple-strongly-correlated": lambda x, rng, n: (x + np.where(x % 6 == 0, 300, 200), x),
    "profit-ceiling": lambda x, rng, n: (3.0 * np.ceil(x / 3.0), x),
    "circle": lambda x, rng, n: (2.0 / 3.0 * np.sqrt(4e6 - (x - 2000.0) ** 2), x),
}
KINDS = (*_CLASSICAL, "mixed", "drifting")
