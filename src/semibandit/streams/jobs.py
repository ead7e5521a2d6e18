"""Streams of scheduling problems, drawn as in the OR-Library."""

from __future__ import annotations

import numpy as np

from semibandit import _validate
from semibandit.families.dispatch import Dispatch
from semibandit.spaces.interval import Interval
from semibandit.streams.stream import Stream, pickled_as_call

__all__ = ["dispatch"]


@pickled_as_call
def dispatch(
    rounds: int = 1000,
    *,
    jobs: int = 40,
    rule: str = "atc",
    machines: int = 1,
    tardy: float = 0.6,
    spread: float = 0.4,
    space: Interval | None = None,
    partition: str = "output",
    seed: int = 0,
) -> Stream[Dispatch]:
    """Return scheduling problems drawn as the weighted tardiness instances of the OR-Library.

    Processing times are uniform integers in [1, 100], weights in [1, 10], and due dates in
    [P·(1 - tardy - spread/2), P·(1 - tardy + spread/2)], where P is the total processing time per machine.

    Parameters
    ----------
    rounds
        Number of problems.
    jobs
        Number of jobs of each.
    tardy, spread
        Tardiness factor and relative range of due dates, in [0, 1].
    rule, machines, space, partition
        Arguments of each `Dispatch`.
    seed
        Seed of the stream.

    Examples
    --------
    >>> dispatch(rounds=2, seed=0)[1]
    Dispatch(40 jobs, 'atc', machines=1, Interval(lo=0.0, hi=10.0, margin=0.0))
    """
    jobs = _validate.integer("jobs", jobs, low=1)
    tardy = _validate.number("tardy", tardy, low=0.0, high=1.0)
    spread = _validate.number("spread", spread, low=0.0, high=1.0)
    machines = _validate.integer("machines", machines, low=1)

    def make(t: int, rng: np.random.Generator) -> Dispatch:
        processing, weights = rng.integers(1, 101, jobs), rng.integers(1, 11, jobs)
        middle, half = 1.0 - tardy, 0.5 * spread
        total = processing.sum() / machines
        due = np.floor(total * rng.uniform(middle - half, middle + half, jobs))
        return Dispatch(processing, weights, due, rule, space, machines=machines, partition=partition)

    return Stream(make, rounds, seed)
