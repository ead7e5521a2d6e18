"""The streams of the suite: their whole loss functions, computed once and kept below build/."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import semibandit as sb

PABULIB_ROUNDS = 1746


@dataclass(frozen=True)
class Recipe:
    """How to make a stream of some length, and whether the order of its rounds means something."""

    make: Callable[[int], Iterable[Any]]
    rounds: int
    keeps_order: bool = False


def knapsacks(kind: str) -> Callable[[int], Iterable[Any]]:
    return lambda T: sb.streams.knapsack(kind, T, 50, 0)


def clusterings(kind: str) -> Callable[[int], Iterable[Any]]:
    return lambda T: sb.streams.clustering(kind, T, seed=0)


RECIPES = {
    "mixed": Recipe(knapsacks("mixed"), 3000),
    "uncorrelated": Recipe(knapsacks("uncorrelated"), 3000),
    "weakly": Recipe(knapsacks("weakly-correlated"), 3000),
    "spanner": Recipe(knapsacks("spanner"), 3000),
    "drifting": Recipe(knapsacks("drifting"), 3000, keeps_order=True),
    "elongated": Recipe(clusterings("elongated"), 1000),
    "digits": Recipe(clusterings("digits"), 1000),
    "iris": Recipe(clusterings("iris"), 1000),
    "independent-set": Recipe(lambda T: sb.streams.independent_set(T, seed=0), 2000),
    "seeding": Recipe(lambda T: sb.streams.seeding(T, seed=0), 1000),
    "synthetic": Recipe(lambda T: sb.streams.synthetic(T, seed=0), 3000),
    "concentrated": Recipe(lambda T: sb.streams.concentrated(T, seed=0), 3000),
}


def pabulib(folder: str) -> Recipe:
    """Participatory budgets in order of date; each round a random 80 % of the projects of one file.

    Few files thus make many rounds of the same kind.
    """

    def make(T: int) -> Iterator[Any]:
        files = sb.streams.read_knapsacks(folder, order="date", skip_bad=True)
        rng = np.random.default_rng(0)
        for t in range(T):
            whole = files[t * len(files) // T]
            n = whole.values.size
            kept = np.sort(rng.permutation(n)[: max(2, round(0.8 * n))])
            sizes = whole.sizes[kept]
            capacity = max(0.8 * whole.capacity, float(sizes.min()))
            yield sb.Knapsack(whole.values[kept], sizes, capacity, space=whole.space)

    return Recipe(make, PABULIB_ROUNDS, keeps_order=True)


@dataclass
class Stream:
    """The loss functions of a stream, laid on [0, 1]."""

    name: str
    problems: list[sb.Explicit]
    keeps_order: bool
    _best: dict[tuple[int, int], float] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.problems)

    def order(self, seed: int) -> list[int]:
        """The order of the rounds in a game."""
        if self.keeps_order:
            return list(range(len(self)))
        return [int(t) for t in np.random.default_rng([seed, 77]).permutation(len(self))]

    def game(self, seed: int) -> list[sb.Explicit]:
        """The problems in the order of a game."""
        return [self.problems[t] for t in self.order(seed)]

    def best(self, seed: int, rounds: int) -> float:
        """The total loss of the best fixed parameter over the first rounds of a game."""
        key = (0 if self.keeps_order or rounds == len(self) else seed, rounds)
        if key not in self._best:
            self._best[key] = rounds * sb.best_in_hindsight(self.game(seed)[:rounds]).mean_loss
        return self._best[key]

    @cached_property
    def dispersion(self) -> Any:
        """The dispersion of the stream, measured."""
        return sb.dispersion.measure(self.problems)


def load(name: str, recipe: Recipe, folder: Path, rounds: int | None = None) -> Stream:
    """A stream from the folder, or made afresh and kept there."""
    T = recipe.rounds if rounds is None else min(rounds, recipe.rounds)
    path = folder / f"{name}-{T}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _keep(path, [_on_unit_interval(problem.losses()) for problem in recipe.make(T)])
    with np.load(path) as kept:
        offsets, edges, values = kept["offsets"], kept["edges"], kept["values"]
    # Function t has the values from offsets[t] on, and one edge more than values.
    functions = [
        sb.PiecewiseConstant(edges[a + t : b + t + 1], values[a:b])
        for t, (a, b) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True))
    ]
    return Stream(name, [sb.Explicit(f) for f in functions], recipe.keeps_order)


def _keep(path: Path, functions: list[tuple[Any, Any]]) -> None:
    np.savez(
        path,
        offsets=np.cumsum([0] + [values.size for _, values in functions]),
        edges=np.concatenate([edges for edges, _ in functions]),
        values=np.concatenate([values for _, values in functions]),
    )


def _on_unit_interval(function: Any) -> tuple[Any, Any]:
    """Edges and values with the space scaled to [0, 1]; pieces that rounding makes empty are dropped."""
    lo, hi = function.edges[0], function.edges[-1]
    edges = (function.edges - lo) / (hi - lo)
    edges[-1] = 1.0
    there = np.diff(edges) > 0.0
    return np.append(edges[:-1][there], 1.0), function.values[there]
