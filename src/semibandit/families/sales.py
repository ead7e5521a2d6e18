"""Selling with one price: a posted price, or the reserve of a second-price auction.

Revenue is piecewise linear in the price ρ: it rises while the same buyers buy, and falls where a buyer drops
out. So feedback is a `PiecewiseLinear`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._cached import cached_property
from semibandit._validate import FloatArray
from semibandit.families.instance import Valued, before_end, interval_or
from semibandit.functions.linear import PiecewiseLinear
from semibandit.spaces.interval import Interval

__all__ = ["PostedPrice", "SecondPrice"]


class _Sale(Valued):
    """Buyers with values, `supply` units, one price, and the loss."""

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

    def sold(self, rho: float) -> int:
        """Return the number of units sold at the price rho: to the highest values above it."""
        # The right end belongs to the last piece: a buyer with exactly this value buys.
        point = before_end(self.space, rho)
        return min(int((self.values > point).sum()), self.supply)

    def revenue(self, rho: float) -> float:
        """Return the revenue at the price rho. O(n)."""
        return self.sold(rho) * max(self.space.check(rho), self._least)

    def loss(self, rho: float) -> float:
        """Return the loss at rho (bandit feedback): one sale. O(n)."""
        return self.loss_of(self.revenue(rho))

    def reveal(self, rho: float) -> PiecewiseLinear:
        """Return the loss on the interval around rho with the same number sold (semi-bandit feedback)."""
        drops = self._drops
        k = int(np.searchsorted(drops, before_end(self.space, rho), side="right"))
        return self.losses().restrict(drops[k - 1], drops[k])

    def losses(self) -> PiecewiseLinear:
        """Return the loss at every price (full information). O(n log n)."""
        return self._function

    @cached_property
    def _drops(self) -> FloatArray:
        """The prices at which the number sold falls, between the ends of the space."""
        lo, hi = self.space.lo, self.space.hi
        inner = np.unique(self.values[: self.supply])
        return np.concatenate(([lo], inner[(inner > lo) & (inner < hi)], [hi]))

    @cached_property
    def _function(self) -> PiecewiseLinear:
        edges = self._drops
        if self.space.lo < self._least < self.space.hi:  # a kink
            edges = np.union1d(edges, [self._least])
        sold = np.minimum(np.searchsorted(-self.values, -edges[:-1], side="left"), self.supply)
        left, right = (
            [self.loss_of(n * max(x, self._least)) for n, x in zip(sold.tolist(), ends.tolist(), strict=True)]
            for ends in (edges[:-1], edges[1:])
        )
        return PiecewiseLinear(edges, left, right)

    @property
    def _least(self) -> float:
        """Lowest price of a unit: the highest losing bid of an auction, else 0."""
        return 0.0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.values.size} buyers, supply {self.supply}, {self.space})"


class PostedPrice(_Sale):
    """A sale at a posted price ρ: buyers who value a unit above it buy, as long as there are units.

    A buyer whose value equals the price does not buy, except at the right end of the space.

    Parameters
    ----------
    values
        The value of a unit to each buyer, >= 0.
    space
        The prices; [0, 1] by default.
    supply
        The number of units; as many as buyers by default.
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


class SecondPrice(_Sale):
    """An auction of `supply` units with a reserve ρ: winners pay the highest losing bid or the reserve.

    With one unit this is the second-price auction. Bids must exceed the reserve to take part, except at the
    right end of the space.

    Parameters
    ----------
    bids
        The offer of each bidder for a unit, >= 0.
    space
        The reserves; [0, 1] by default.
    supply
        The number of units; a bidder gets at most one.
    loss
        The loss, as in `PostedPrice`.

    Examples
    --------
    >>> auction = SecondPrice([0.3, 0.8, 0.1], loss="utility")
    >>> auction.revenue(0.0), auction.revenue(0.7), auction.revenue(0.9)
    (0.3, 0.7, 0.0)
    >>> auction.losses()
    PiecewiseLinear([0.0, 0.3, 0.8, 1.0], [0.3, 0.3, 0.0], [0.3, 0.8, 0.0])
    >>> auction.reveal(0.5)
    PiecewiseLinear([0.0, 0.3, 0.8], [0.3, 0.3], [0.3, 0.8])
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

    @property
    def _least(self) -> float:
        return float(self.values[self.supply]) if self.supply < self.values.size else 0.0
