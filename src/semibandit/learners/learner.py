"""Parts of a learner that do not depend on its algorithm: pending trials, locking, saving."""

from __future__ import annotations

import math
import uuid
from os import PathLike
from typing import Any

import numpy as np

from semibandit import _validate
from semibandit.learners import storage
from semibandit.learners.certificates import Certificate
from semibandit.learners.locks import Locked, serialized
from semibandit.learners.recommendation import Recommendation
from semibandit.learners.trials import Epoch, Trial
from semibandit.spaces import Line, Space, parameters_of
from semibandit.weights import Mixture, Weights

__all__ = ["Learner", "generator"]

_SALT = 0x5E4B1A2D


def generator(seed: int | None) -> np.random.Generator:
    """Return a learner's random generator, salted: a simulator with the same seed draws other numbers."""
    return np.random.default_rng(None if seed is None else [seed, _SALT])


class Learner(Locked):
    """Base of `Exp3Set` and `Exp3Grid`. Threads may share a learner: its methods run one at a time."""

    space: Space
    high: float | None
    maximize: bool
    n_told: int
    current_rate: float
    last_probabilities: tuple[float, ...]

    def __init__(self, space: Space, line: Line, seed: int | None) -> None:
        super().__init__()
        self.space, self._line = space, line
        if seed is not None:
            _validate.seed("seed", seed)
        self.n_asked = 0
        self.n_failed = 0
        self._name = uuid.uuid4().hex
        self._random = generator(seed)
        self._pending: dict[int, tuple[Trial, Epoch]] = {}
        self._epoch: Epoch

    # -- implemented by the algorithm ----------------------------------------------------------------

    def ask(
        self,
        *,
        probes: int = 0,
        explore: float = 1.0,
        position: Any = None,
        values: Any = None,
        context: Any = None,
    ) -> Trial:
        """Draw a parameter."""
        raise NotImplementedError

    def tell(self, trial: Trial, seen: Any, *, predicted: Any = None, probability: Any = None) -> None:
        """Learn from the feedback of a trial."""
        raise NotImplementedError

    def recommend(self, *, context: Any = None) -> Recommendation:
        """Return the parameter to deploy."""
        raise NotImplementedError

    def certificate(self, dispersion: Any = None) -> Certificate:
        """Return a bound on the expected regret so far."""
        raise NotImplementedError

    @property
    def guarantee(self) -> str:
        """Regret bound of this configuration, in a sentence."""
        raise NotImplementedError

    @property
    def takes_predictions(self) -> bool:
        """Whether `tell` takes predictions of the loss."""
        return False

    @property
    def last_probability(self) -> float:
        """Probability that one draw falls into the set of the last parameter; nan before the first tell."""
        return self.last_probabilities[0] if self.last_probabilities else math.nan

    # -- trials ------------------------------------------------------------------------------------

    @serialized
    def forget(self, trial: Trial) -> None:
        """Drop a pending trial; nothing is learned from it."""
        self._finish(trial, self._epoch_of(trial))

    @property
    def pending(self) -> tuple[Trial, ...]:
        """Trials that were asked and not yet told, oldest first."""
        with self._lock:
            return tuple(trial for trial, _ in self._pending.values())

    def _draw(self, probes: int, played: Weights | Mixture) -> tuple[float, ...]:
        """Draw the positions of a trial."""
        if type(probes) is int and probes == 0:  # the common case first
            return (played.draw(self._random.random()),)
        draws = self._random.random(1 + _validate.integer("probes", probes, low=0))
        return tuple(map(played.draw, draws.tolist()))

    def _recorded(self, position: Any) -> tuple[float, ...]:
        """Return the positions of a recorded trial; advances the generator as the draws did."""
        lo, hi = self._line.ends
        given = position if isinstance(position, list | tuple) else [position]
        if not given:
            raise ValueError(f"position must hold at least one place, got {position!r}")
        positions = tuple(_validate.number("position", x, low=lo, high=hi) for x in given)
        self._random.random(len(positions))
        return positions

    def _trial(
        self, trial_id: int, positions: tuple[float, ...], explore: float = 1.0, home: float | None = None
    ) -> Trial:
        rho, alpha = self._parameters(positions[0])
        names = self.space.names
        if len(positions) == 1:
            return Trial(trial_id, rho, self._name, positions, alpha, (), names, explore, home)
        others = [self._parameters(position) for position in positions[1:]]
        if names:
            probes = tuple(parameters_of(names, x, a) for x, a in others)
        else:
            probes = tuple(x if a is None else (x, a) for x, a in others)
        return Trial(trial_id, rho, self._name, positions, alpha, probes, names)

    def own_values(self, values: Any) -> dict[str, Any]:
        """Return a parameter of the user's own by name, checked, each value in its own type."""
        return self._own_trial(-1, values).values

    def _own_trial(self, trial_id: int, values: Any) -> Trial:
        """Return the trial of a parameter of the user's own, at the nearest place of the line."""
        space = self.space
        names = space.names or ("rho", "alpha")[: 1 + (space.alphas != (None,))]
        if not isinstance(values, dict):
            raise TypeError(f"values must be a dict with a value for {', '.join(names)}, got {values!r}")
        if values.keys() != set(names):
            got = ", ".join(map(str, values)) or "none"
            raise ValueError(f"values must have a value for {', '.join(names)} each, got {got}")
        at = space.place(**values)
        rho, alpha = space.coordinates(**values)
        return Trial(trial_id, rho, self._name, (self._own_position(at),), alpha, (), space.names, own=True)

    def _own_position(self, x: float) -> float:
        """Return the point of the line of weights for a point of the space's line."""
        return x

    def _parameters(self, position: float) -> tuple[Any, Any]:
        """Return rho, as its value, and alpha at a place of the line."""
        row, x = self._line.read(position)
        return self._line.value(x), self.space.alphas[row]

    def _register(self, trial: Trial) -> None:
        self.n_asked += 1
        self._pending[trial.id] = trial, self._epoch
        self._epoch.asked_at[trial.id] = self._epoch.n_updates

    def _epoch_of(self, trial: Trial) -> Epoch:
        """Return the epoch in which a pending trial was asked; an error for any other trial."""
        if not isinstance(trial, Trial):
            raise TypeError(f"trial must be a Trial from ask(), got {trial!r}")
        asked = self._pending.get(trial.id)
        if asked is not None and asked[0] is trial:  # the common case first
            return asked[1]
        if trial.learner != self._name:
            raise ValueError(f"trial {trial.id} was asked of another learner")
        if asked is None:
            if 0 <= trial.id < self.n_asked:
                raise ValueError(f"trial {trial.id} is finished: it was told or forgotten before")
            raise ValueError(f"trial {trial.id} is unknown: this learner has asked {self.n_asked} so far")
        if asked[0] != trial:
            raise ValueError(f"trial {trial.id} was asked of a copy of this learner")
        return asked[1]

    def _finish(self, trial: Trial, epoch: Epoch) -> None:
        del self._pending[trial.id]
        del epoch.asked_at[trial.id]
        if epoch.updates:
            epoch.drop_unneeded()

    def _replace_weights(self, weights: Weights) -> None:
        """Continue with other weights; pending trials keep the old ones."""
        if self._epoch.asked_at:
            self._epoch = Epoch(weights)
        else:
            self._epoch.weights = weights

    # -- weights -----------------------------------------------------------------------------------

    @property
    def n_pieces(self) -> int:
        """Number of pieces of the density."""
        return len(self._epoch.weights)

    @serialized
    def density(self, *, context: Any = None) -> Any:
        """Return the density that the next parameter is drawn from, a step function. O(P)."""
        return self._epoch.weights.density()

    # -- saving ------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a file, atomically: `semibandit.load` continues with the same future draws."""
        storage.save(self, path)

    def __reduce__(self) -> tuple[Any, ...]:
        return storage.loads, (storage.dumps(self), "a pickled learner")

    def _config(self) -> dict[str, Any]:
        """Return the constructor's arguments except space and seed, for `repr` and for saving."""
        raise NotImplementedError
