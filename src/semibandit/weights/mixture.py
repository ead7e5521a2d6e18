"""Mixture of the weights of all contexts and of those of a cell of contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from semibandit._validate import FloatArray
from semibandit.functions import PiecewiseConstant
from semibandit.weights.interval_tree import finite_density

if TYPE_CHECKING:
    from semibandit.weights import Weights

__all__ = ["Mixture"]


class Mixture:
    """Density played in a context: (1 - share) · density of all contexts + share · density of its cell."""

    def __init__(self, pooled: Weights, own: Weights, share: float) -> None:
        self.pooled, self.own, self.share = pooled, own, share

    def draw(self, u: float) -> float:
        """Return a draw for u in [0, 1)."""
        rest = 1.0 - self.share
        if u < rest:
            return self.pooled.draw(min(u / rest, float(np.nextafter(1.0, 0.0))))
        return self.own.draw(min((u - rest) / self.share, float(np.nextafter(1.0, 0.0))))

    def mixed(self, pooled: FloatArray, own: FloatArray) -> FloatArray:
        """Return the shares of the mixture from those of its parts."""
        return (1.0 - self.share) * pooled + self.share * own

    def log_shares(self, edges: FloatArray) -> FloatArray:
        """Return the logarithm of the share of the mass between consecutive edges."""
        parts = (np.exp(part.log_shares(edges)) for part in (self.pooled, self.own))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.mixed(*parts)))

    def density(self) -> PiecewiseConstant:
        """Return the density."""
        a, b = self.pooled.density(), self.own.density()
        edges = np.union1d(a.edges, b.edges)
        mass = self.mixed(a.spread(edges)[0], b.spread(edges)[0]) * np.diff(edges)
        with np.errstate(over="ignore"):
            return finite_density(edges, mass / mass.sum() / np.diff(edges))
