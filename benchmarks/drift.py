"""When the best parameter moves: `drift="auto"` against learners that believe that it stays.

Run: python benchmarks/drift.py [--seeds 4] [--streams steps,levels]

On streams that move, the excess is what was paid above the best 8 blocks in hindsight (`sb.best_blocks`), and
"auto" is held against the former default of the package, `Exp3Set(baseline="low", horizon=T)`, told the same;
the ratio to `drift=None` is noted beside. On those that do not, it is what was paid above the best fixed
parameter, held against `drift=None`. A further table says what there is to be had on streams that move: the
excess of fewer blocks in hindsight, and of a learner that begins anew at exactly the borders of the eight.
Whole loss functions are computed once and kept below build/suite.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from measure import at_most, finish, note, number, table
from playing.players import SPACE, low, ours
from playing.streams import RECIPES, Recipe, Stream, load, pabulib

import semibandit as sb

KEPT = Path(__file__).resolve().parents[1] / "build" / "suite"
BLOCKS = 8
FEWER = (1, 2, 4)
KINDS = ("mixed", "uncorrelated", "circle", "weakly-correlated", "mixed", "spanner")
STILL = ("mixed", "iris", "synthetic")


def steps(T: int, seed: int = 2, blocks: int = 6) -> Iterator[sb.Explicit]:
    """Random step functions whose best parameter jumps at random times to random places."""
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
    """Knapsacks of six kinds, one after the other."""
    streams = [sb.streams.knapsack(kind, T, 50, 3 + i) for i, kind in enumerate(KINDS)]
    for t in range(T):
        yield streams[t * len(KINDS) // T][t]


def levels(T: int, seed: int = 5) -> Iterator[sb.Explicit]:
    """Step functions whose level jumps five times by up to 0.3 while the best parameter stays."""
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
LEVELS = {"levels": Recipe(levels, 3000, keeps_order=True)}


def still(horizon: int, seed: int) -> sb.Exp3Set:
    return sb.Exp3Set(SPACE, seed=seed)


def auto(horizon: int, seed: int) -> sb.Exp3Set:
    return sb.Exp3Set(SPACE, drift="auto", seed=seed)


PLAYERS = {"former default": low, "None": still, "auto": auto}


def excess(stream: Stream, best: float, make: Any, feedback: str, seeds: int) -> float:
    """What was paid above the best, in the mean over seeds."""
    play = ours(make, feedback)
    return float(np.mean([sum(play(stream.game(seed), seed)) for seed in range(seeds)])) - best


def compare(name: str, stream: Stream, best: float, moves: bool, seeds: int) -> list[float]:
    """Excesses of all players, with full information and with semi-bandit feedback."""
    figures = []
    for feedback, target in (("full", 0.2), ("semi-bandit", 0.5)):
        paid = {player: excess(stream, best, make, feedback, seeds) for player, make in PLAYERS.items()}
        figures += paid.values()
        former, none = (paid["auto"] / paid[player] for player in ("former default", "None"))
        what = f'{name}, {feedback}: "auto" over'
        if moves:
            at_most(f"{what} the former default", former, target)
            note(f"{what} None", none)
        else:
            at_most(f"{what} None", none, 1.2)
    return figures


def in_hindsight(stream: Stream, blocks: Any, seeds: int) -> list[float]:
    """Excesses of the best 1, 2 and 4 blocks, and of a learner that begins anew where the best 8 do."""
    best = blocks.totals[-1]
    figures = [blocks.totals[n - 1] - best for n in FEWER]
    for feedback in ("full", "semi-bandit"):
        play = ours(still, feedback)
        paid = [
            sum(play(stream.problems[block.start : block.stop], seed))
            for block in blocks.sequences[-1]
            for seed in range(seeds)
        ]
        figures.append(sum(paid) / seeds - best)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=4, help="games of each learner with each feedback")
    parser.add_argument("--streams", help="names, separated by commas")
    parser.add_argument("--pabulib", default=os.environ.get("PABULIB"), help="folder of .pb files ($PABULIB)")
    options = parser.parse_args()
    moving = MOVING | ({"pabulib": pabulib(options.pabulib)} if options.pabulib else {})
    recipes = moving | LEVELS | {name: RECIPES[name] for name in STILL}
    names = list(recipes) if options.streams is None else options.streams.split(",")
    if unknown := [name for name in names if name not in recipes]:
        sys.exit(f"unknown stream {', '.join(unknown)}: choose from {', '.join(recipes)}")
    players = [f"{feedback}, {player}" for feedback in ("full", "semi-bandit") for player in PLAYERS]
    rows, possible = [], []
    for name in names:
        stream = load(name, recipes[name], KEPT)
        if name in moving:
            blocks = sb.best_blocks([problem.function for problem in stream.problems], BLOCKS)
            best, against = blocks.totals[-1], f"{BLOCKS} blocks"
            possible.append((name, *map(number, in_hindsight(stream, blocks, options.seeds))))
        else:
            best, against = stream.best(0, len(stream)), "a fixed parameter"
        figures = compare(name, stream, best, name in moving, options.seeds)
        rows.append((name, against, *map(number, figures)))
    table("drift", ["excess over", "", *players], rows)
    fewer = [f"best {n} block{'s' if n > 1 else ''}" for n in FEWER]
    anew = [f"anew at the borders, {feedback}" for feedback in ("full", "semi-bandit")]
    table("drift-hindsight", [f"excess over {BLOCKS} blocks", *fewer, *anew], possible)


if __name__ == "__main__":
    main()
    finish("drift-targets")
