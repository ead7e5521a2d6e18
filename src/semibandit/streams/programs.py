"""Streams of integer programs for branch and bound."""

from __future__ import annotations

from typing import Any

import numpy as np

from semibandit import _validate
from semibandit._extras import needed
from semibandit.families.branching import Branching
from semibandit.spaces.interval import Interval
from semibandit.streams.stream import Stream, pickled_as_call

__all__ = ["branching"]


@pickled_as_call
def branching(
    kind: str = "auction",
    rounds: int = 100,
    *,
    size: int = 30,
    node_limit: int = 100,
    space: Interval | None = None,
    partition: str = "output",
    seed: int = 0,
) -> Stream[Branching]:
    """Return random integer programs. Needs the extra `scip`.

    Parameters
    ----------
    kind
        "set-cover": sets of costs 1 to 10, each element in 8 % of the sets, at least two (as Balas and Ho
        1980). "auction": bids for bundles of goods, at superadditive prices (as the arbitrary bids of
        Leyton-Brown, Pearson and Shoham 2000). "facility": capacitated facility location with points in the
        unit square (as Cornuejols, Sridharan and Thizy 1991).
    rounds
        Number of programs.
    size
        Number of elements, of goods, or of customers; there are 3 · size sets, 4 · size bids, size / 3
        facilities.
    node_limit, space, partition
        Arguments of each `Branching`.
    seed
        Seed of the stream.
    """
    make_model = _KINDS[_validate.choice("kind", kind, tuple(_KINDS))]
    _validate.integer("size", size, low=3)

    def make(t: int, rng: np.random.Generator) -> Branching:
        return Branching(make_model(rng, size), space, node_limit=node_limit, partition=partition)

    return Stream(make, rounds, seed)


def _model() -> Any:
    with needed("streams.branching", "scip"):
        from pyscipopt import Model
    model = Model()
    model.hideOutput()
    return model


def _total(coefficients: Any, variables: list[Any]) -> Any:
    from pyscipopt import quicksum

    return quicksum(float(c) * x for c, x in zip(coefficients, variables, strict=True) if c)


def _set_cover(rng: np.random.Generator, size: int) -> Any:
    model, sets = _model(), 3 * size
    covers = rng.random((size, sets)) < 0.08
    for row in covers:
        row[rng.choice(sets, 2, replace=False)] = True
    costs = rng.integers(1, 11, sets)
    chosen = [model.addVar(f"x{j}", "B", obj=float(cost)) for j, cost in enumerate(costs)]
    for row in covers:
        model.addCons(_total(row, chosen) >= 1)
    return model


def _auction(rng: np.random.Generator, size: int) -> Any:
    model, bids = _model(), 4 * size
    common, compatible = rng.random(size), rng.random((size, size))
    bundles = np.zeros((size, bids))
    prices = np.empty(bids)
    for bid in range(bids):
        bundle = [int(rng.integers(size))]
        while len(bundle) < size - 1 and rng.random() < 0.7:
            likely = compatible[bundle].sum(axis=0)
            likely[bundle] = 0.0
            bundle.append(int(rng.choice(size, p=likely / likely.sum())))
        bundles[bundle, bid] = 1.0
        prices[bid] = (common[bundle] + rng.random(len(bundle))).sum() + len(bundle) ** 1.2
    model.setMaximize()
    won = [model.addVar(f"x{j}", "B", obj=float(price)) for j, price in enumerate(prices)]
    for row in bundles:
        if row.any():
            model.addCons(_total(row, won) <= 1)
    return model


def _facility(rng: np.random.Generator, size: int) -> Any:
    model, sites = _model(), max(size // 3, 2)
    distances = np.linalg.norm(rng.random((size, 1, 2)) - rng.random((sites, 2)), axis=2)
    demands, capacities = rng.integers(5, 36, size), rng.integers(10, 161, sites)
    capacities = capacities * 3.0 * demands.sum() / capacities.sum()
    costs = rng.uniform(100, 110, sites) * np.sqrt(capacities) + rng.uniform(0, 90, sites)
    opened = [model.addVar(f"y{j}", "B", obj=float(cost)) for j, cost in enumerate(costs)]
    shares = [
        [
            model.addVar(f"x{i}_{j}", ub=1.0, obj=float(10 * demand * distance))
            for j, distance in enumerate(row)
        ]
        for i, (demand, row) in enumerate(zip(demands, distances, strict=True))
    ]
    for i, row in enumerate(shares):
        model.addCons(_total(np.ones(sites), row) == 1, f"demand{i}")
        for share, y in zip(row, opened, strict=True):
            model.addCons(share <= y)
    for j, y in enumerate(opened):
        model.addCons(_total(demands, [row[j] for row in shares]) <= float(capacities[j]) * y)
    return model


_KINDS = {"set-cover": _set_cover, "auction": _auction, "facility": _facility}
