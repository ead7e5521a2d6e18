"""What logs and an older study save: regret on the second part of a stream, knowing the first.

Run: python benchmarks/warm_start.py [--seeds 4] [--logged 200]

The first rounds of a game are logged, and only the others are played, with semi-bandit feedback: from
nothing; after `learn_from` with the whole functions of the logged rounds; or with a prior, the density of a
learner that has played the logged rounds. In "other logs" they come from another stream.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import finish, number, show, table
from playing.players import SPACE
from playing.streams import RECIPES, Stream, load

import semibandit as sb

KEPT = Path(__file__).resolve().parents[1] / "build" / "suite"
STREAMS = ("mixed", "weakly", "synthetic", "iris", "independent-set")
TARGETS = {"logs, weight 1": 0.6, "other logs, weight 0.1": 1.5}  # 0.9 for the others

Logged = list[sb.Explicit]
Start = Callable[[Logged, Logged, int], sb.Exp3Set]


def play(learner: sb.Exp3Set, problems: Logged) -> float:
    """The loss paid with semi-bandit feedback."""
    paid = 0.0
    for problem in problems:
        trial = learner.ask()
        learner.tell(trial, problem.function.piece(trial.rho))
        paid += problem.function(trial.rho)
    return paid


def cold(logged: Logged, other: Logged, seed: int) -> sb.Exp3Set:
    return sb.Exp3Set(SPACE, seed=seed)


def told(weight: float, from_other: bool = False) -> Start:
    def start(logged: Logged, other: Logged, seed: int) -> sb.Exp3Set:
        learner = sb.Exp3Set(SPACE, seed=seed)
        learner.learn_from([p.function for p in (other if from_other else logged)], weight=weight)
        return learner

    return start


def with_prior(logged: Logged, other: Logged, seed: int) -> sb.Exp3Set:
    older = sb.Exp3Set(SPACE, seed=1000 + seed)
    play(older, logged)
    return sb.Exp3Set(SPACE, prior=older.density(), seed=seed)


STARTS: dict[str, Start] = {
    "from nothing": cold,
    "logs, weight 0.1": told(0.1),
    "logs, weight 1": told(1.0),
    "prior of an older learner": with_prior,
    "other logs, weight 0.1": told(0.1, from_other=True),
}


def regrets(stream: Stream, other: Stream, logged: int, seeds: int) -> list[float]:
    """The mean regret of each start on what follows the logged rounds."""
    sums = np.zeros(len(STARTS))
    for seed in range(seeds):
        game = stream.game(seed)
        logs, rest = game[:logged], game[logged:]
        best = len(rest) * sb.best_in_hindsight(rest).mean_loss
        elsewhere = other.game(seed)[:logged]
        sums += [play(start(logs, elsewhere, seed), rest) - best for start in STARTS.values()]
    return [float(total) / seeds for total in sums]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--logged", type=int, default=200)
    options = parser.parse_args()
    streams = {name: load(name, RECIPES[name], KEPT) for name in STREAMS}
    others = {name: streams["weakly" if name == "mixed" else "mixed"] for name in STREAMS}
    columns = [regrets(streams[name], others[name], options.logged, options.seeds) for name in STREAMS]
    rows = []
    for name, row in zip(STARTS, zip(*columns, strict=True), strict=True):
        rows.append((name, *map(number, row)))
        if name != "from nothing":
            ratio = statistics.geometric_mean(x / column[0] for x, column in zip(row, columns, strict=True))
            target = TARGETS.get(name, 0.9)
            show(f"regret over that from nothing, {name}", ratio, f"≤ {target:g}", ratio <= target)
    table("warm-start", ("regret after the logs", *STREAMS), rows)


if __name__ == "__main__":
    main()
    finish("warm-start-targets")
