"""Streams: sequences of instances that are made on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np

from semibandit import _validate

__all__ = ["Stream"]

P = TypeVar("P")


class Stream(Sequence[P], Generic[P]):
    """Instances made on demand: the t-th one depends on the seed and on t alone.

    So a stream takes no memory, can be played again, and can be asked for any instance.

    Parameters
    ----------
    make
        make(t, rng) returns the t-th instance, with all its randomness from `rng`.
    rounds
        The number of instances.
    seed
        The seed of the whole stream.
    """

    def __init__(self, make: Callable[[int, np.random.Generator], P], rounds: int, seed: int) -> None:
        self._make = make
        self._rounds = _validate.integer("rounds", rounds, low=1)
        self._seed = _validate.integer("seed", seed, low=0)

    def __len__(self) -> int:
        return self._rounds

    @overload
    def __getitem__(self, t: int) -> P: ...
    @overload
    def __getitem__(self, t: slice) -> list[P]: ...
    def __getitem__(self, t: Any) -> Any:
        if isinstance(t, slice):
            return [self[i] for i in range(*t.indices(self._rounds))]
        if not -self._rounds <= t < self._rounds:
            raise IndexError(f"round {t} of a stream of {self._rounds}")
        t %= self._rounds
        # A closing 1, as numpy fills seeds up with zeros: [seed, 0] would be the seed itself.
        return self._make(t, np.random.default_rng([self._seed, t, 1]))

    def __repr__(self) -> str:
        return f"<Stream of {self._rounds} instances, seed {self._seed}>"
