"""Streams: sequences of instances that are made on demand."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np

from semibandit import _validate

__all__ = ["Stream", "pickled_as_call"]

P = TypeVar("P")
F = TypeVar("F", bound=Callable[..., Any])


def pickled_as_call(function: F) -> F:
    """Let the stream that `function` returns be pickled as a call of it with the same arguments."""

    @functools.wraps(function)
    def remembered(*args: Any, **options: Any) -> Any:
        stream = function(*args, **options)
        stream._call = remembered, args, options
        return stream

    return remembered  # type: ignore[return-value]


def _repeat(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return function(*args, **options)


class Stream(Sequence[P], Generic[P]):
    """Instances that are made on demand; the t-th one depends only on the seed and on t.

    A stream needs no memory, can be played repeatedly, and gives access to any instance.

    Parameters
    ----------
    make
        make(t, rng) returns the t-th instance, with all its randomness from `rng`.
    rounds
        Number of instances.
    seed
        Seed of the stream.
    """

    def __init__(self, make: Callable[[int, np.random.Generator], P], rounds: int, seed: int) -> None:
        self._make = _validate.function("make", make)
        self._rounds = _validate.integer("rounds", rounds, low=1)
        self._seed = _validate.seed("seed", seed)
        self._call: tuple[Any, ...] | None = None

    def __len__(self) -> int:
        return self._rounds

    @overload
    def __getitem__(self, t: int) -> P: ...
    @overload
    def __getitem__(self, t: slice) -> list[P]: ...
    def __getitem__(self, t: Any) -> Any:
        if isinstance(t, slice):
            return [self[i] for i in range(*t.indices(self._rounds))]
        try:
            t = range(self._rounds)[t]
        except IndexError:
            raise IndexError(f"round {t} of a stream of {self._rounds}") from None
        # The last entry is 1, as numpy ignores trailing zeros of a seed: [seed, 0] would equal [seed].
        return self._make(t, np.random.default_rng([self._seed, t, 1]))

    def part(self, start: int, stop: int) -> Sequence[P]:
        """Return the instances from `start` up to `stop`, made on demand, for a worker to read."""
        return _StreamPart(self, start, stop)

    def __reduce__(self) -> Any:
        """Pickle as the call that made the stream, if it is known."""
        return super().__reduce__() if self._call is None else (_repeat, self._call)

    def __repr__(self) -> str:
        return f"<Stream of {self._rounds} instances, seed {self._seed}>"


class _StreamPart(Sequence[P]):
    """Consecutive instances of a stream."""

    def __init__(self, stream: Stream[P], start: int, stop: int) -> None:
        self._stream, self._range = stream, range(start, stop)

    def __len__(self) -> int:
        return len(self._range)

    def __getitem__(self, t: Any) -> Any:
        return self._stream[self._range[t]]

    def part(self, start: int, stop: int) -> Sequence[P]:
        """Return the instances from `start` up to `stop` of this part."""
        first = self._range.start
        return _StreamPart(self._stream, first + start, first + stop)
