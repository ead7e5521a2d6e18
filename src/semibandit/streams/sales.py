"""Streams of sales: buyers whose values have a bounded density."""

from __future__ import annotations

import numpy as np

from semibandit import _validate
from semibandit.families.sales import PostedPrice, SecondPrice
from semibandit.streams.stream import Stream, remade

__all__ = ["posted_price", "second_price"]


@remade
def posted_price(
    rounds: int = 1000, *, buyers: int = 5, supply: int | None = None, loss: str = "normalised", seed: int = 0
) -> Stream[PostedPrice]:
    """Sales at a posted price in [0, 1].

    Parameters
    ----------
    rounds
        The number of sales.
    buyers
        The number of buyers in each sale. Their values are independent with the density of a Beta(2, 3)
        variable, at most 1.78: the jumps of the revenue are 1/2-dispersed.
    supply
        The number of units for sale; as many as buyers by default.
    loss
        The loss of each `PostedPrice`.
    seed
        The seed of the stream.

    Examples
    --------
    >>> posted_price(rounds=2, seed=0)[1]
    PostedPrice(5 buyers, supply 5, Interval(lo=0.0, hi=1.0, margin=0.0))
    """
    _validate.integer("buyers", buyers, low=1)

    def make(t: int, rng: np.random.Generator) -> PostedPrice:
        return PostedPrice(rng.beta(2.0, 3.0, buyers), supply=supply, loss=loss)

    return Stream(make, rounds, seed)


@remade
def second_price(
    rounds: int = 1000, *, bidders: int = 3, supply: int = 1, loss: str = "normalised", seed: int = 0
) -> Stream[SecondPrice]:
    """Second-price auctions with a reserve in [0, 1]; parameters as in `posted_price`.

    Examples
    --------
    >>> second_price(rounds=2, seed=0)[1]
    SecondPrice(3 buyers, supply 1, Interval(lo=0.0, hi=1.0, margin=0.0))
    """
    _validate.integer("bidders", bidders, low=1)

    def make(t: int, rng: np.random.Generator) -> SecondPrice:
        return SecondPrice(rng.beta(2.0, 3.0, bidders), supply=supply, loss=loss)

    return Stream(make, rounds, seed)
