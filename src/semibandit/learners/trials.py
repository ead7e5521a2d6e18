"""Pending trials, and the weights needed for delayed feedback."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from semibandit._validate import FloatArray
from semibandit.functions import PiecewiseConstant
from semibandit.spaces import Alpha, Parameters, parameters_of, values_of
from semibandit.weights import Weights

__all__ = ["Epoch", "Trial"]

Played = Callable[[FloatArray, FloatArray], FloatArray]


class Trial(msgspec.Struct, frozen=True, gc=False):
    """Parameter to play: `rho`, with `alpha` on `Strips`, or `values` by name on `Knobs`.

    On `Knobs`, rho is the knob along the rows and alpha holds the others. `probes` are further parameters to
    evaluate on the same instance without playing them: values of rho, pairs (rho, alpha) on `Strips`, values
    by name on `Knobs`. `positions` are the places on the line, that of the played parameter first. `own`: the
    parameter was given by the user (`ask(values=...)`), not drawn. `context` holds the known features of the
    instance. `explore` is the probability of a draw
    from the density; otherwise the recommended place `home` was played.
    """

    id: int
    rho: int | float
    learner: str
    positions: tuple[float, ...]
    alpha: Alpha | None = None
    probes: tuple[Any, ...] = ()
    names: tuple[str, ...] = ()
    explore: float = 1.0
    home: float | None = None
    own: bool = False
    context: dict[str, Any] | None = None

    @property
    def position(self) -> float:
        """Place on the line of the played parameter."""
        return self.positions[0]

    @property
    def values(self) -> dict[str, Any]:
        """Parameters to play, by name."""
        return values_of(self.names, self.rho, self.alpha)

    @property
    def looks(self) -> tuple[Parameters, ...]:
        """Arguments of a problem's methods for the played parameter and for each probe."""
        bare = self.alpha is None and not self.names
        return (self.parameters, *(((probe,) for probe in self.probes) if bare else self.probes))

    @property
    def parameters(self) -> Parameters:
        """Arguments of a problem's methods: (rho,), (rho, alpha), or the values by name."""
        return parameters_of(self.names, self.rho, self.alpha)

    def named(self, look: int = 0) -> str:
        """Return the parameters of a look as text."""
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
    """Weights, and the updates since the pending trials were asked.

    A late tell needs the probability of its set at the time of the ask. Undoing the updates since then gives
    it without a copy of the old weights.
    """

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.n_updates = 0
        self.updates: list[PiecewiseConstant] = []  # the latest, as log factors on the whole line
        # Pending trial -> number of updates before it; in order of the asks, so that the first has the least.
        self.asked_at: OrderedDict[int, int] = OrderedDict()

    @property
    def offset(self) -> int:
        """Number of updates that are no longer in the list."""
        return self.n_updates - len(self.updates)

    def append(self, edges: FloatArray, factors: FloatArray) -> None:
        """Store an update for the pending trials."""
        lo, hi = self.weights.ends
        if edges[0] > lo:
            edges, factors = np.append(lo, edges), np.append(0.0, factors)
        if edges[-1] < hi:
            edges, factors = np.append(edges, hi), np.append(factors, 0.0)
        self.updates.append(PiecewiseConstant.trusted(np.array(edges), np.array(factors)))
        self.n_updates += 1

    def drop_unneeded(self) -> None:
        """Drop the updates that precede every pending trial."""
        needed = next(iter(self.asked_at.values()), self.n_updates)
        del self.updates[: needed - self.offset]

    def shares_when_asked(
        self, trial_id: int, explore: float, home: float | None, played: Played | None, edges: FloatArray
    ) -> FloatArray:
        """Return `Weights.shares` between edges at the time of the ask. O(k log P) for k updates since.

        The first row is of the distribution that was played: in a context what `played` makes of the edges
        and the shares of the density; with `home` a mixture of this, with probability `explore`, and of one
        place.
        """
        shares = self._shares_of_density(trial_id, edges)
        shares[0] = _mixed(shares[0], explore, home, played, edges)
        return shares

    def _shares_of_density(self, trial_id: int, edges: FloatArray) -> FloatArray:
        missed = self.updates[self.asked_at[trial_id] - self.offset :]
        if not missed:
            return self.weights.shares(edges)
        cells = np.unique(np.concatenate([self.weights.ends, edges, *(update.edges for update in missed)]))
        left = cells[:-1]
        logs = self.weights.log_shares(cells)
        for update in missed:  # one by one: a merge would be slower for few updates
            logs -= update.values[np.searchsorted(update.edges, left, side="right") - 1]
        weights = np.exp(logs - logs.max())
        piece = np.searchsorted(edges, left, side="right") - 1
        inside = (piece >= 0) & (piece < edges.size - 1)
        shares = np.bincount(piece[inside], weights[inside], minlength=edges.size - 1)
        return np.tile(shares / weights.sum(), (3, 1))


def _mixed(
    shares: FloatArray, explore: float, home: float | None, played: Played | None, edges: FloatArray
) -> FloatArray:
    """Return the shares of the distribution that was played, from those of the density."""
    if played is not None:
        shares = played(edges, shares)
    if home is not None:
        shares = explore * shares
        piece = int(np.searchsorted(edges, home, side="right")) - 1
        if 0 <= piece < edges.size - 1:
            shares[piece] += 1.0 - explore
    return shares
