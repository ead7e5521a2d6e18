"""Selling with one price: a posted price, or the reserve of a second-price auction.

Revenue as a function of the price ρ is piecewise linear: while the same buyers buy, it rises with the
price; where a buyer drops out, it falls. So feedback here is a `PiecewiseLinear`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.families.instance import Valued, before_end, interval_or
from semibandit.functions.linear import PiecewiseLinear
from semibandit.spaces.interval import Interval

__all__ = ["PostedPrice", "SecondPrice"]


class _Sale(Valued):
    """What both have in common: buyers with values, `supply` units, one price, and the loss."""

    def __init__(
        self,
        values: npt.ArrayLike,
        supply: int,
        space: Interval | None,
        loss: str,
        name: str,
    ) -> None:
        super().__init__(interval_or((0.0, 1.0), space), loss)
        self.values = np.sort(_validate.vector(name, values, low=0.0))[::-1].copy()
        self.values.flags.writeable = False
        if self.values.size == 0:
            raise ValueError(f"{name} must have at least one entry, got none")
        self.supply = _validate.integer("supply", supply, low=1)
        if self.space.lo < 0.0:
            raise ValueError(f"space must hold prices >= 0, got {self.space!r}")

    @cached_property
    def bound(self) -> float:
        """The revenue if every unit that can be sold were sold at the highest price or value."""
        return min(self.supply, self.values.size) * max(self.space.hi, float(self.values[0]))

    # -- feedback --------------------------------------------------------------------------------

    def sold(self, rho: float) -> int:
        """How many units are sold at the price rho: to the highest values above it."""
        # At the right end, which belongs to the last piece, who has exactly this value buys.
        point = before_end(self.space, rho)
        return min(int((self.values > point).sum()), self.supply)

    def revenue(self, rho: float) -> float:
        """What the sale brings in at the price rho. O(n)."""
        return self.sold(rho) * self._pays(self.space.check(rho))

    def loss(self, rho: float) -> float:
        """The loss at rho (bandit feedback): one sale. O(n)."""
        return self.loss_of(self.revenue(rho))

    def reveal(self, rho: float) -> PiecewiseLinear:
        """The loss on the interval around rho where as many are sold (semi-bandit feedback). O(log n)."""
        return self._function.piece(self.space.check(rho))

    def losses(self) -> PiecewiseLinear:
        """The loss at every price (full information). O(n log n)."""
        return self._function

    # -- inside ----------------------------------------------------------------------------------

    @cached_property
    def _function(self) -> PiecewiseLinear:
        lo, hi = self.space.lo, self.space.hi
        inner = np.unique(self._kinks())
        edges = np.concatenate(([lo], inner[(inner > lo) & (inner < hi)], [hi]))
        sold = np.minimum(np.searchsorted(-self.values, -edges[:-1], side="left"), self.supply)
        left, right = (
            [self.loss_of(n * self._pays(x)) for n, x in zip(sold.tolist(), ends.tolist(), strict=True)]
            for ends in (edges[:-1], edges[1:])
        )
        return PiecewiseLinear(edges, left, right)

    def _kinks(self) -> FloatArray:
        """The prices where the number sold, or what a buyer pays for, changes."""
        raise NotImplementedError

    def _pays(self, price: float) -> float:
        """What a buyer who gets a unit pays."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.values.size} buyers, supply {self.supply}, {self.space})"


class PostedPrice(_Sale):
    """Buyers come to a posted price ρ; those who value a unit above it buy, while there are any.

    A buyer whose value equals the price does not buy, except at the right end of the space.

    Parameters
    ----------
    values
        What a unit is worth to each buyer, >= 0.
    space
        The prices; [0, 1] by default.
    supply
        How many units there are; as many as buyers by default.
    loss
        "normalised": 1 - revenue / bound in [0, 1], where the bound is the highest price (or value) times
        the units that can be sold; "utility": the revenue itself, to be maximised.

    Examples
    --------
    >>> sale = PostedPrice([0.9, 0.5, 0.2], loss="utility")
    >>> sale.revenue(0.4)
    0.8
    >>> sale.reveal(0.4)
    PiecewiseLinear([0.2, 0.5], [0.4], [1.0])
    >>> sale.losses()
    PiecewiseLinear([0.0, 0.2, 0.5, 0.9, 1.0], [0.0, 0.4, 0.5, 0.0], [0.6..., 1.0, 0.9, 0.0])
    """

    def __init__(
        self,
        values: npt.ArrayLike,
        space: Interval | None = None,
        *,
        supply: int | None = None,
        loss: str = "normalised",
    ) -> None:
        n = np.size(values) if supply is None else supply
        super().__init__(values, max(n, 1) if supply is None else n, space, loss, "values")

    def _kinks(self) -> FloatArray:
        # With fewer units than buyers, it is only the values of the highest ones that matter.
        return self.values[: self.supply]

    def _pays(self, price: float) -> float:
        return price


class SecondPrice(_Sale):
    """An auction of `supply` units with a reserve ρ: winners pay the highest losing bid or the reserve.

    With one unit this is the second-price auction. Bids must exceed the reserve to take part, except at the
    right end of the space.

    Parameters
    ----------
    bids
        What each bidder offers for a unit, >= 0.
    space
        The reserves; [0, 1] by default.
    supply
        How many units there are; a bidder gets at most one.
    loss
        The loss, as in `PostedPrice`.

    Examples
    --------
    >>> auction = SecondPrice([0.3, 0.8, 0.1], loss="utility")
    >>> auction.revenue(0.0), auction.revenue(0.7), auction.revenue(0.9)
    (0.3, 0.7, 0.0)
    >>> auction.losses()
    PiecewiseLinear([0.0, 0.3, 0.8, 1.0], [0.3, 0.3, 0.0], [0.3, 0.8, 0.0])
    """

    def __init__(
        self,
        bids: npt.ArrayLike,
        space: Interval | None = None,
        *,
        supply: int = 1,
        loss: str = "normalised",
    ) -> None:
        super().__init__(bids, supply, space, loss, "bids")

    def _kinks(self) -> FloatArray:
        return self.values[: self.supply + 1]

    def _pays(self, price: float) -> float:
        losing = float(self.values[self.supply]) if self.supply < self.values.size else 0.0
        return max(price, losing)
