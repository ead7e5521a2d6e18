"""What a learner keeps: a positive function on a line, under Draw, Integrate and Update.

A learner never asks which kind of weights it has: `Weights` is all that it knows of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from semibandit._validate import FloatArray
from semibandit.functions import Piecewise
from semibandit.spaces import Line
from semibandit.weights.cells import COARSE, HALVINGS, Cells, dyadic_cells, n_nodes
from semibandit.weights.drift import Drift
from semibandit.weights.exponential import ExponentialDensity, ExponentialPieces
from semibandit.weights.interval_tree import IntervalTree
from semibandit.weights.local import LocalPieces, WholeSoFar
from semibandit.weights.steps import Learned, Rule, Seen, Step, united

__all__ = [
    "COARSE",
    "HALVINGS",
    "Cells",
    "Drift",
    "ExponentialDensity",
    "ExponentialPieces",
    "IntervalTree",
    "Learned",
    "LocalPieces",
    "Rule",
    "Seen",
    "Step",
    "Weights",
    "WholeSoFar",
    "dyadic_cells",
    "n_nodes",
    "restore",
    "united",
]


class Weights(Protocol):
    """A positive function on a line."""

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the line."""
        ...

    def __len__(self) -> int:
        """The number of pieces."""
        ...

    def draw(self, u: float) -> float:
        """The point that has a share u in [0, 1) of the mass to its left."""
        ...

    def log_shares(self, edges: FloatArray) -> FloatArray:
        """The logarithm of the share of the mass between consecutive edges."""
        ...

    def learn(self, seen: Seen | Step, rule: Rule) -> Learned:
        """One step of Algorithm 1, which may change the weights in place."""
        ...

    def apart(self) -> Weights:
        """Weights whose steps leave these as they are, or can be undone; else a copy."""
        ...

    @property
    def alike(self) -> float:
        """Pieces whose logarithms of the weight are this close to the best count as equally good."""
        ...

    @property
    def finest_rate_step(self) -> float:
        """The rate falls at least by this factor, if it falls; a half where a change is costly."""
        ...

    def raised_to(self, power: float) -> Weights:
        """The function to a positive power, for a change of the learning rate."""
        ...

    def joined(self, n_pieces: int) -> tuple[Weights, float]:
        """At most `n_pieces` pieces, and by how much the logarithm has changed at most."""
        ...

    def split(self, parents: Sequence[int], line: Line, cells: Cells, budget: int) -> Weights:
        """The function on a line with further rows; a parent and its parts share its mass evenly."""
        ...

    def lead(self) -> float:
        """By how many losses a place is ahead in a certificate, at most; 0 where nobody keeps account of it.

        ln(density / prior) / rate, and by how much the sum of its estimates is larger than an unbiased one.
        """
        ...

    def warmed(self, total: Piecewise, count: int, weight: float, rate: float) -> Weights:
        """As if so many whole functions had been seen, given by their sum, each for `weight` rounds."""
        ...

    def log(self) -> Piecewise:
        """The logarithm of the weight, relative to the largest one."""
        ...

    def density(self) -> Any:
        """The function, normalised: it can be called, and integrated between edges."""
        ...

    def state(self) -> npt.NDArray[Any]:
        """An array from which `restore` makes the same weights again, to the bit."""
        ...


def restore(state: npt.NDArray[Any]) -> Weights:
    """The weights with this state; ValueError where it is not one.

    >>> restore(IntervalTree(0, 1).state()).ends
    (0.0, 1.0)
    """
    if state.dtype == np.float64:
        return ExponentialPieces.from_state(state) if state.ndim == 2 else LocalPieces.from_state(state)
    return IntervalTree.from_state(state) if state.ndim == 2 else WholeSoFar.from_state(state)
