"""`drift="auto"` against learners that assume a fixed best parameter.

Run: python benchmarks/drift.py [--seeds 4] [--streams steps,levels]

On streams that move, the excess is the loss paid above that of the best 8 blocks in hindsight
(`sb.best_blocks`), and "auto" is compared with `Exp3Set(baseline="low", horizon=T)`. On the others it is
the regret, compared with that of `drift=None`. The second table shows what is possible on streams that
move: the excess of fewer blocks in hindsight, and of a learner that restarts at the borders of the
eight.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from measure import at_most, choose, finish, note, number, options, table
from playing import RECIPES, SPACE, Recipe, Stream, default, load, low, ours, pabulib

import semibandit as sb

BLOCKS = 8
FEWER = (1, 2, 4)
KINDS = ("mixed", "uncorrelated", "circle", "weakly-correlated", "mixed", "spanner")
TARGETS = {"full": 0.2, "semi-bandit": 0.5}  # "auto" over baseline="low", on streams that move


def steps(T: int, seed: int = 2, blocks: int = 6) -> Iterator[sb.Explicit]:
    """Yield random step functions whose best parameter jumps at random times to random places."""
    rng = np.random.default_rng(seed)
    jumps = np.sort(rng.choice(np.arange(T // 20, T - T // 20), blocks - 1, replace=False))
    places = rng.uniform(0.05, 0.95, blocks)
    for t in range(T):
        edges = np.concatenate(([0.0], np.sort(rng.random(9)), [1.0]))
        away = 0.5 * (edges[1:] + edges[:-1]) - places[np.searchsorted(jumps, t, "right")]
        mean = 0.65 - 0.3 * np.exp(-0.5 * (away / 0.1) ** 2)
        noise = 0.7 * rng.uniform(-1.0, 1.0, mean.size) * np.minimum(mean, 1.0 - mean)
        yield sb.Explicit(sb.PiecewiseConstant(edges, mean + noise))


def classes(T: int) -> Iterator[sb.Knapsack]:
    """Yield knapsacks of six kinds, one kind after the other."""
    streams = [sb.streams.knapsack(kind, T, 50, 3 + i) for i, kind in enumerate(KINDS)]
    for t in range(T):
        yield streams[t * len(KINDS) // T][t]


def levels(T: int, seed: int = 5) -> Iterator[sb.Explicit]:
    """Yield step functions whose level jumps five times by up to 0.3; the best parameter stays."""
    raised = np.random.default_rng(seed).uniform(0.0, 0.3, 6)
    for t, problem in enumerate(sb.streams.synthetic(T, seed=seed)):
        f = problem.losses()
        yield sb.Explicit(sb.PiecewiseConstant(f.edges, 0.7 * f.values + raised[t * raised.size // T]))


MOVING = {
    "drifting": RECIPES["drifting"],
    "classes": Recipe(classes, 3000, keeps_order=True),
    "steps": Recipe(steps, 3000, keeps_order=True),
    "wandering": Recipe(lambda T: sb.streams.synthetic(T, drift=True, seed=4), 3000, keeps_order=True),
}
STILL = {"levels": Recipe(levels, 3000, keeps_order=True)} | {
    s: RECIPES[s] for s in ("mixed", "iris", "synthetic")
}
PLAYERS = {
    'baseline="low"': low,
    "None": default,
    "auto": lambda horizon, seed: sb.Exp3Set(SPACE, drift="auto", seed=seed),
}


def compare(name: str, stream: Stream, best: float, moves: bool, seeds: int) -> list[float]:
    """Return the mean excess of all players, with full information and with semi-bandit feedback."""
    figures: list[float] = []
    for feedback, target in TARGETS.items():
        paid = {}
        for player, make in PLAYERS.items():
            games = [sum(ours(make, feedback)(stream.game(seed), seed)) for seed in range(seeds)]
            paid[player] = float(np.mean(games)) - best
        figures += paid.values()
        against_none = paid["auto"] / paid["None"]
        if moves:
            over = paid["auto"] / paid['baseline="low"']
            at_most(f'{name}, {feedback}: "auto" over baseline="low"', over, target)
            note(f'{name}, {feedback}: "auto" over None', against_none)
        else:
            at_most(f'{name}, {feedback}: "auto" over None', against_none, 1.2)
    return figures


def in_hindsight(stream: Stream, blocks: Any, seeds: int) -> list[float]:
    """Return the excess of the best 1, 2 and 4 blocks, and of a learner that restarts where the best 8 do."""
    best = blocks.totals[-1]
    figures = [blocks.totals[n - 1] - best for n in FEWER]
    for feedback in TARGETS:
        play = ours(default, feedback)
        paid = [
            sum(play(stream.problems[block.start : block.stop], seed))
            for block in blocks.sequences[-1]
            for seed in range(seeds)
        ]
        figures.append(sum(paid) / seeds - best)
    return figures


def main() -> None:
    given = options(__doc__, seeds=4, streams=None)
    folder = os.environ.get("PABULIB")
    moving = MOVING | ({"pabulib": pabulib(folder)} if folder else {})
    recipes = moving | STILL
    rows, possible = [], []
    for name in choose(given.streams, recipes):
        stream = load(name, recipes[name])
        best, against = stream.best, "a fixed parameter"
        if name in moving:
            blocks = sb.best_blocks([problem.function for problem in stream.problems], BLOCKS)
            best, against = blocks.totals[-1], f"{BLOCKS} blocks"
            possible.append((name, *map(number, in_hindsight(stream, blocks, given.seeds))))
        rows.append((name, against, *map(number, compare(name, stream, best, name in moving, given.seeds))))
    table("drift", ["excess over", "", *(f"{feedback}, {p}" for feedback in TARGETS for p in PLAYERS)], rows)
    fewer = [f"best {n} block{'s' if n > 1 else ''}" for n in FEWER]
    restarted = [f"restarted at the borders, {feedback}" for feedback in TARGETS]
    table("drift-hindsight", [f"excess over {BLOCKS} blocks", *fewer, *restarted], possible)
    finish("drift-targets")


if __name__ == "__main__":
    main()
