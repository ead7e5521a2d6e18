"""Several knobs: the mean loss of the default learner beside TPE, random search and VHCT.

Run: python benchmarks/knobs.py [--rounds 500] [--seeds 2]

Every player runs the algorithm once on each instance. Target: with single losses and with pieces of a
row, the default pays no more than random search and TPE in the mean of the streams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from measure import at_most, finish, options, say, table
from playing import searches, then_best, tpe, tree_search, values_at

import semibandit as sb

# -- streams --------------------------------------------------------------------------------------------


class Valley:
    """A loss that grows with the distance from a valley, with noise and random pieces along the rows."""

    def __init__(
        self, space: sb.Knobs, unit: Callable[..., list[float]], best: list[float], seed: int
    ) -> None:
        rng = np.random.default_rng(seed)
        self.space, self._unit, self._best = space, unit, np.array(best)
        self._inner = np.sort(rng.random(6))
        self._noise = 0.15 * rng.standard_normal(7)
        self._hard = 0.2 * rng.random()
        self._shift = 0.05 * rng.standard_normal(len(best))

    def _row(self, **values: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of the pieces of a row, scaled to [0, 1], and their losses."""
        ends = np.concatenate(([0.0], self._inner, [1.0]))
        point = np.tile(self._unit(**values), (7, 1))
        point[:, 0] = 0.5 * (ends[1:] + ends[:-1])
        far = np.linalg.norm(point - self._best - self._shift, axis=1)
        return ends, np.clip(self._hard + 0.9 * far + self._noise, 0.0, 1.0)

    def loss(self, **values: Any) -> float:
        ends, losses = self._row(**values)
        piece = np.searchsorted(ends, self._unit(**values)[0], side="right") - 1
        return float(losses[min(piece, losses.size - 1)])

    def reveal(self, **values: Any) -> sb.PiecewiseConstant:
        ends, losses = self._row(**values)
        kind: Any = self.space.knobs[self.space.along]
        lo, hi = kind.scale.ends
        places = [kind.scale.value(lo + u * (hi - lo)) for u in ends.tolist()]
        return sb.PiecewiseConstant(places, losses).piece(values[self.space.along])


class Descent:
    """Gradient descent with momentum on a random quadratic: the remaining error on a log scale."""

    space = sb.Knobs(
        rate=sb.Real(1e-3, 10, log=True), momentum=sb.Real(0, 0.99), nesterov=sb.Choice(False, True)
    )

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._curvature = np.exp(rng.uniform(np.log(0.05), np.log(2.0), 10))
        self._start = rng.standard_normal(10)

    def loss(self, rate: float, momentum: float, nesterov: bool) -> float:
        x, v = self._start.copy(), np.zeros(10)
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(30):
                ahead = x + momentum * v if nesterov else x
                v = momentum * v - rate * self._curvature * ahead
                x = x + v
            left = float(self._curvature @ x**2) / float(self._curvature @ self._start**2)
        return float(np.clip(1.0 + np.log10(left + 1e-6) / 6.0, 0.0, 1.0)) if left < 1.0 else 1.0


TWO = sb.Knobs(alpha=sb.Real(1e-4, 1, log=True), beta=sb.Real(0, 1))
MIXED = sb.Knobs(alpha=sb.Real(1e-4, 1, log=True), depth=sb.Integer(1, 12), mode=sb.Choice("fast", "good"))
THREE = sb.Knobs(alpha=sb.Real(1e-4, 1, log=True), beta=sb.Real(0, 1), size=sb.Integer(1, 256, log=True))


def _log(alpha: float) -> float:
    return 1.0 + np.log10(alpha) / 4.0


def two(alpha: float, beta: float) -> list[float]:
    return [_log(alpha), beta]


def mixed(alpha: float, depth: int, mode: str) -> list[float]:
    return [_log(alpha), depth / 12, 0.3 * (mode == "good")]


def three(alpha: float, beta: float, size: int) -> list[float]:
    return [_log(alpha), beta, np.log2(size) / 8]


STREAMS: dict[str, Callable[[int], Any]] = {
    "two: real, real": lambda seed: Valley(TWO, two, [0.62, 0.23], seed),
    "three: real, integer, choice": lambda seed: Valley(MIXED, mixed, [0.3, 0.7, 0.3], seed),
    "three: real, real, integer": lambda seed: Valley(THREE, three, [0.4, 0.8, 0.3], seed),
    "gradient descent": Descent,
}

# -- players --------------------------------------------------------------------------------------------


def default(feedback: str) -> Callable[[list[Any], int], Iterator[float]]:
    def play(problems: list[Any], seed: int) -> Iterator[float]:
        learner = sb.Exp3Set(problems[0].space, seed=seed)
        for problem in problems:
            trial = learner.ask()
            loss = problem.loss(**trial.values)
            learner.tell(trial, loss if feedback == "loss" else problem.reveal(**trial.values))
            yield loss

    return play


def random_search(problems: list[Any], seed: int) -> Iterator[float]:
    """Draw the knobs anew for each instance."""
    rng = np.random.default_rng(seed)
    for problem in problems:
        yield problem.loss(**values_at(problem.space, rng.random(len(problem.space.knobs)).tolist()))


PLAYERS = {
    "pieces": default("piece"),
    "single losses": default("loss"),
    "random": random_search,
    "TPE": tpe,
    "VHCT": tree_search("VHCT"),
    **{f"{name} then its best": then_best(search) for name, search in searches().items()},
}


def main() -> None:
    given = options(__doc__, rounds=500, seeds=2, players=list(PLAYERS))
    rows, means = [], []
    for stream, make in STREAMS.items():
        games = [[make(1000 * seed + t) for t in range(given.rounds)] for seed in range(given.seeds)]
        shown = [name for name in given.players if name != "pieces" or hasattr(games[0][0], "reveal")]
        paid = {name: mean_loss(PLAYERS[name], games) for name in shown}
        means.append(paid)
        rows.append((stream, *(f"{paid[name]:.4f}" if name in paid else "" for name in given.players)))
        say("  ".join(rows[-1]))
    table("knobs", (f"mean loss of {given.rounds} rounds, {given.seeds} seeds", *given.players), rows)
    for ours in ("pieces", "single losses"):
        for theirs in ("random", "TPE"):
            if more := [paid[ours] - paid[theirs] for paid in means if ours in paid and theirs in paid]:
                at_most(
                    f"mean loss of {ours} minus that of {theirs}, mean of streams", float(np.mean(more)), 0
                )
    finish()


def mean_loss(play: Callable[[list[Any], int], Iterator[float]], games: list[list[Any]]) -> float:
    return float(np.mean([np.mean(list(play(game, seed))) for seed, game in enumerate(games)]))


if __name__ == "__main__":
    main()
