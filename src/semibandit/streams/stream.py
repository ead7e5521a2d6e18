"""Streams: sequences of instances that are made on demand."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np

from semibandit import _validate

__all__ = ["Stream", "remade"]

P = TypeVar("P")


def _index(t: Any) -> int:
    try:
        return operator.index(t)
    except TypeError:
        raise TypeError(f"a round must be an integer or a slice, got {t!r}") from None


F = TypeVar("F", bound=Callable[..., Any])


def remade(function: F) -> F:
    """Let what a function returns, a stream, be pickled as a call of the function with the same arguments."""

    @functools.wraps(function)
    def with_recipe(*args: Any, **options: Any) -> Any:
        stream = function(*args, **options)
        stream._recipe = with_recipe, args, options
        return stream

    return with_recipe  # type: ignore[return-value]


def _remake(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return function(*args, **options)


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
        self._make = _validate.function("make", make)
        self._rounds = _validate.integer("rounds", rounds, low=1)
        self._seed = _validate.seed("seed", seed)
        self._recipe: tuple[Any, ...] | None = None

    def __len__(self) -> int:
        return self._rounds

    @overload
    def __getitem__(self, t: int) -> P: ...
    @overload
    def __getitem__(self, t: slice) -> list[P]: ...
    def __getitem__(self, t: Any) -> Any:
        if isinstance(t, slice):
            return [self[i] for i in range(*t.indices(self._rounds))]
        t = _index(t)
        if not -self._rounds <= t < self._rounds:
            raise IndexError(f"round {t} of a stream of {self._rounds}")
        t %= self._rounds
        # A closing 1, as numpy fills seeds up with zeros: [seed, 0] would be the seed itself.
        return self._make(t, np.random.default_rng([self._seed, t, 1]))

    def part(self, start: int, stop: int) -> Sequence[P]:
        """The instances from `start` up to `stop`, made on demand: what a worker is given to read."""
        return _Part(self, start, stop)

    def __reduce__(self) -> Any:
        """Pickled as what it was made from, where `remade` knows that."""
        return super().__reduce__() if self._recipe is None else (_remake, self._recipe)

    def __repr__(self) -> str:
        return f"<Stream of {self._rounds} instances, seed {self._seed}>"


class _Part(Sequence[P]):
    """Some consecutive instances of a stream."""

    def __init__(self, stream: Stream[P], start: int, stop: int) -> None:
        self._stream, self._range = stream, range(start, stop)

    def __len__(self) -> int:
        return len(self._range)

    def __getitem__(self, t: Any) -> Any:
        return self._stream[self._range[t]]
