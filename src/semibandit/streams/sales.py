"""Streams of sales to buyers whose values have a bounded density."""

from __future__ import annotations

import numpy as np

from semibandit import _validate
from semibandit.families.sales import PostedPrice, SecondPrice
from semibandit.streams.stream import Stream, pickled_as_call

__all__ = ["posted_price", "second_price"]


@pickled_as_call
def posted_price(
    rounds: int = 1000, *, buyers: int = 5, supply: int | None = None, loss: str = "normalised", seed: int = 0
) -> Stream[PostedPrice]:
    """Return a stream of sales at a posted price in [0, 1].

    Parameters
    ----------
    rounds
        Number of sales.
    buyers
        Number of buyers in each sale. Their values are independent Beta(2, 3) variables, of density at most
        1.78: the jumps of the revenue are 1/2-dispersed.
    supply
        Number of units for sale. Default: one per buyer.
    loss
        Loss of each `PostedPrice`.
    seed
        Seed of the stream.

    Examples
    --------
    >>> posted_price(rounds=2, seed=0)[1]
    PostedPrice(5 buyers, supply 5, Interval(0.0, 1.0))
    """
    _validate.integer("buyers", buyers, low=1)

    def make(t: int, rng: np.random.Generator) -> PostedPrice:
        return PostedPrice(rng.beta(2.0, 3.0, buyers), supply=supply, loss=loss)

    return Stream(make, rounds, seed)


@pickled_as_call
def second_price(
    rounds: int = 1000, *, bidders: int = 3, supply: int = 1, loss: str = "normalised", seed: int = 0
) -> Stream[SecondPrice]:
    """Return a stream of second-price auctions with a reserve in [0, 1]; parameters as in `posted_price`.

    Examples
    --------
    >>> second_price(rounds=2, seed=0)[1]
    SecondPrice(3 buyers, supply 1, Interval(0.0, 1.0))
    """
    _validate.integer("bidders", bidders, low=1)

    def make(t: int, rng: np.random.Generator) -> SecondPrice:
        return SecondPrice(rng.beta(2.0, 3.0, bidders), supply=supply, loss=loss)

    return Stream(make, rounds, seed)
