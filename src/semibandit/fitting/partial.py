"""Sums over parts of a log, which can be added."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from semibandit.fitting.log import Unreadable
from semibandit.functions.exact import ExactSum

__all__ = ["Partial"]


@dataclass(frozen=True, eq=False)
class Partial:
    """Exact sum of the loss functions of a part of a log.

    Partials can be pickled and added. The sum of partials is the same to the bit for every grouping and
    order; `Fit.of(partial)` is the fit of all their problems.

    Attributes
    ----------
    count, breaks
        Number of problems, and of the breaks of all their loss functions.
    least, most, high
        Smallest and largest loss, and the largest bound that a problem states (1 for bare functions).
    maximize, space
        Whether losses are utilities, and the space of the parameters (None for bare functions).
    total
        Sum of the loss functions; None if there are none.
    unreadable
        Problems that were skipped, with their indices in their own log.

    Examples
    --------
    >>> import semibandit as sb
    >>> log = sb.streams.knapsack("mixed", rounds=60, n=10)
    >>> monday, tuesday = sb.fit(log[:40]), sb.fit(log[40:])
    >>> both = sb.Fit.of(monday.partial + tuesday.partial)
    >>> both.to_dict() == sb.fit(log).to_dict()
    True
    """

    count: int = 0
    breaks: int = 0
    least: float = math.inf
    most: float = -math.inf
    high: float = -math.inf
    maximize: bool = False
    space: Any = None
    total: ExactSum | None = None
    unreadable: tuple[Unreadable, ...] = ()

    def __add__(self, other: Partial) -> Partial:
        if not isinstance(other, Partial):
            return NotImplemented
        return self.merge([self, other])

    @staticmethod
    def merge(parts: Sequence[Partial]) -> Partial:
        """Add partials."""
        full = [part for part in parts if part.total is not None]
        spans = {(float(part.total.places[0]), float(part.total.places[-1])) for part in full if part.total}
        if len(spans) > 1:
            raise ValueError(f"problems must be on one space, got the spans {sorted(spans)}")
        if len({part.maximize for part in full}) > 1:
            raise ValueError("partials must all be of losses or all of utilities, got both")
        first = full[0] if full else parts[0]
        return Partial(
            sum(part.count for part in parts),
            sum(part.breaks for part in parts),
            min(part.least for part in parts),
            max(part.most for part in parts),
            max(part.high for part in parts),
            first.maximize,
            first.space,
            ExactSum.merge([part.total for part in full if part.total]) if full else None,
            tuple(each for part in parts for each in part.unreadable),
        )
