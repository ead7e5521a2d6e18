"""Questions that a learner has asked, and what it needs to know when they are answered late."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from semibandit._validate import FloatArray
from semibandit.functions import PiecewiseConstant
from semibandit.spaces import Alpha, Parameters, parameters_of, values_of
from semibandit.weights import Weights

__all__ = ["Epoch", "Trial"]


class Trial(msgspec.Struct, frozen=True, gc=False):
    """One question: play `rho` (and `alpha`, on `Strips`), then tell the learner what was seen.

    On `Knobs` play `values`, which are by name; rho is that of the knob along the rows, alpha those of the
    others. `probes` are further parameters of the same instance to look at without playing them: values of
    rho, pairs (rho, alpha) on `Strips`, values by name on `Knobs`. `positions` are the places on the line,
    the played one first.
    """

    id: int
    rho: int | float
    learner: str
    positions: tuple[float, ...]
    alpha: Alpha | None = None
    probes: tuple[Any, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def position(self) -> float:
        """Where on the line the played parameter was drawn."""
        return self.positions[0]

    @property
    def values(self) -> dict[str, Any]:
        """What to play, by name."""
        return values_of(self.names, self.rho, self.alpha)

    @property
    def looks(self) -> tuple[Parameters, ...]:
        """What a problem's methods take, for the played parameter and for each probe."""
        bare = self.alpha is None and not self.names
        return (self.parameters, *(((probe,) for probe in self.probes) if bare else self.probes))

    @property
    def parameters(self) -> Parameters:
        """What a problem's methods take: (rho,), (rho, alpha), or the values by name."""
        return parameters_of(self.names, self.rho, self.alpha)

    def named(self, look: int = 0) -> str:
        """The parameters of a look, for messages."""
        shown = self.looks[look]
        values = shown if isinstance(shown, dict) else dict(zip(("rho", "alpha"), shown, strict=False))
        return ", ".join(f"{name} = {x!r}" for name, x in values.items())

    def __repr__(self) -> str:
        if self.names:
            probes = f", probes={self.probes!r}" if self.probes else ""
            return f"Trial(id={self.id!r}, values={self.values!r}{probes})"
        alpha = "" if self.alpha is None else f", alpha={self.alpha!r}"
        probes = f", probes={self.probes!r}" if self.probes else ""
        return f"Trial(id={self.id!r}, rho={self.rho!r}{alpha}{probes})"


class Epoch:
    """The weights between two rebuildings, and the updates that a pending trial has not seen.

    The probability of a set is needed as it was when the trial was asked. Undoing the updates told since
    then gives it back without keeping old weights.
    """

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.n_updates = 0
        self.updates: list[PiecewiseConstant] = []  # the last of them, as log factors on the whole line
        # Pending trial -> updates before it. In order of the asks, so that the first has seen the fewest.
        self.asked_at: OrderedDict[int, int] = OrderedDict()

    @property
    def offset(self) -> int:
        """The number of updates that are no longer in the list."""
        return self.n_updates - len(self.updates)

    def append(self, edges: FloatArray, factors: Sequence[float] | FloatArray) -> None:
        """Remember an update, for the pending trials."""
        lo, hi = self.weights.ends
        if edges[0] > lo:
            edges, factors = np.append(lo, edges), np.append(0.0, factors)
        if edges[-1] < hi:
            edges, factors = np.append(edges, hi), np.append(factors, 0.0)
        self.updates.append(PiecewiseConstant.trusted(np.array(edges), np.array(factors)))
        self.n_updates += 1

    def drop_unneeded(self) -> None:
        """Forget the updates that every pending trial has seen."""
        needed = next(iter(self.asked_at.values()), self.n_updates)
        del self.updates[: needed - self.offset]

    def shares_when_asked(self, trial_id: int, edges: FloatArray) -> FloatArray:
        """The probabilities between consecutive edges as they were at the time of the ask. O(k log P)."""
        missed = self.updates[self.asked_at[trial_id] - self.offset :]
        known = np.minimum(edges, self.weights.ends[1])  # rows that came later could not be drawn
        cells = np.unique(np.concatenate([self.weights.ends, known, *(update.edges for update in missed)]))
        left = cells[:-1]
        logs = self.weights.log_shares(cells)
        for update in missed:  # each covers the line; one by one is quicker than a merge of the few there are
            logs -= update.values[np.searchsorted(update.edges, left, side="right") - 1]
        weights = np.exp(logs - logs.max())
        piece = np.searchsorted(edges, left, side="right") - 1
        inside = (piece >= 0) & (piece < edges.size - 1)
        shares = np.bincount(piece[inside], weights[inside], minlength=edges.size - 1)
        return np.asarray(shares / weights.sum())
