"""Weights: a positive function on a line, with the operations Draw, Integrate and Update (Algorithm 4).

Learners know weights by the `Weights` protocol only. `IntervalTree` updates in O(log P); `LocalPieces`
estimates losses with a local baseline, in O(P) for a bounded number of pieces P.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy.typing as npt

from semibandit._validate import FloatArray
from semibandit.functions import Piecewise, PiecewiseConstant
from semibandit.weights.cells import HALVINGS, Cells, dyadic_cells, n_nodes
from semibandit.weights.feedback import Beside, Feedback, Rule, Update, combined
from semibandit.weights.interval_tree import IntervalTree
from semibandit.weights.local import LocalPieces
from semibandit.weights.mixture import Mixture

__all__ = [
    "HALVINGS",
    "KINDS",
    "Beside",
    "Cells",
    "Feedback",
    "IntervalTree",
    "LocalPieces",
    "Mixture",
    "Rule",
    "Update",
    "Weights",
    "combined",
    "dyadic_cells",
    "n_nodes",
]


class Weights(Protocol):
    """A positive function on a line."""

    kind: ClassVar[str]  # names the class in saved learners

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of the line."""
        ...

    def __len__(self) -> int:
        """Return the number of pieces."""
        ...

    def draw(self, u: float) -> float:
        """Return the point with a share u in [0, 1) of the mass to its left."""
        ...

    def log_shares(self, edges: FloatArray) -> FloatArray:
        """Return the logarithm of the share of the mass between consecutive edges."""
        ...

    def shares(self, edges: FloatArray) -> FloatArray:
        """Return three rows of shares: of the density played, the fast learner's, and the safe learner's."""
        ...

    def learn(self, feedback: Feedback, rule: Rule) -> Update:
        """Perform one step of Algorithm 1, possibly in place."""
        ...

    def detached(self) -> Weights:
        """Return weights that can be updated without affecting pending trials."""
        ...

    @property
    def tie_tolerance(self) -> float:
        """Pieces whose log-weights are this close to the largest count as equally good."""
        ...

    def raised_to(self, power: float) -> Weights:
        """Return the function to a positive power, for a change of the learning rate."""
        ...

    def joined(self, n_pieces: int) -> tuple[Weights, float]:
        """Return weights with at most `n_pieces` pieces, and the largest change of a log-weight."""
        ...

    def spread(self, share: float, kept: float, gaps: float, speed: float) -> Weights:
        """Return weights with a share of the prior mixed in, for drift at a speed from 0 to 1.

        Statistics are multiplied by `kept`, the gaps that set the rate by `gaps`.
        """
        ...

    def account(self) -> tuple[float, float, float] | None:
        """Return the terms of a certificate: rate, regret beyond ln(1/π(B))/rate, and what clips added.

        None: the learner keeps the account.
        """
        ...

    def with_history(self, total: Piecewise, count: int, weight: float, rule: Rule) -> Weights:
        """Return the weights after `count` whole functions with this sum, each counted `weight` times."""
        ...

    def log(self) -> PiecewiseConstant:
        """Return the logarithm of the weight, relative to the largest one."""
        ...

    def density(self) -> PiecewiseConstant:
        """Return the function, normalised to a density."""
        ...

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return arrays from which `from_state` makes the same weights again, to the bit."""
        ...

    @classmethod
    def from_state(cls, state: dict[str, npt.NDArray[Any]], cells: Cells) -> Weights:
        """Return the weights with this state; ValueError if it is not one."""
        ...


KINDS: dict[str, type[Weights]] = {weights.kind: weights for weights in (IntervalTree, LocalPieces)}
