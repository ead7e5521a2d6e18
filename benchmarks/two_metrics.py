"""Two parameters over 2,000 rounds: the regret of the default learner on rows of the square.

Run: python benchmarks/two_metrics.py [--seeds 20]

The instances of `digits_two_metrics` are cut into their feedback sets once, which takes a quarter of an hour
and is kept below build/suite, and then played in a random order for each seed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from measure import finish, note, number, show

import semibandit as sb

KEPT = Path(__file__).resolve().parents[1] / "build" / "suite"
ROUNDS = 2000

Numbers = npt.NDArray[Any]


class Instance(NamedTuple):
    """A loss function on the line of the rows, and the set that each of its pieces belongs to."""

    edges: Numbers
    losses: Numbers
    sets: Numbers

    def at(self, x: float) -> int:
        return int(np.searchsorted(self.edges, x, side="right")) - 1

    def seen(self, x: float) -> sb.PiecewiseConstant:
        """What a run at a point of the line shows."""
        there = self.sets == self.sets[self.at(x)]
        return sb.PiecewiseConstant(self.edges, np.where(there, self.losses, np.nan))


def cut(problem: sb.MetricLinkage) -> Instance:
    """All sets of an instance, by looking wherever nothing has been seen yet."""
    space = problem.space
    pieces: dict[float, tuple[float, float, int]] = {}
    x, n = space.line.ends[0], 0
    while x < space.line.ends[1]:
        if x not in pieces:
            row, rho = space.line.read(x)
            shown = problem.reveal(rho, space.alphas[row])
            for lo, hi, loss in zip(shown.edges[:-1], shown.edges[1:], shown.values, strict=True):
                if not np.isnan(loss):
                    pieces[float(lo)] = float(hi), float(loss), n
            n += 1
        x = pieces[x][0]
    starts = sorted(pieces)
    _, losses, sets = map(np.array, zip(*(pieces[start] for start in starts), strict=True))
    return Instance(np.array([*starts, x]), losses, sets)


def load() -> tuple[sb.Strips, list[Instance]]:
    """The instances, from the folder or cut afresh."""
    stream = sb.streams.digits_two_metrics(ROUNDS, seed=0)
    path = KEPT / f"two-metrics-{ROUNDS}.npz"
    if not path.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        instances = [cut(problem) for problem in stream]
        ends = np.cumsum([0] + [instance.losses.size for instance in instances])
        np.savez(path, ends, *(np.concatenate(parts) for parts in zip(*instances, strict=True)))
    with np.load(path) as kept:
        ends, edges, losses, sets = (kept[name] for name in kept.files)
    spans = enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))
    # An instance has one edge more than pieces.
    return stream[0].space, [
        Instance(edges[a + t : b + t + 1], losses[a:b], sets[a:b]) for t, (a, b) in spans
    ]


def play(space: sb.Strips, instances: list[Instance], seed: int) -> float:
    """The loss paid with semi-bandit feedback, in a random order."""
    learner = sb.Exp3Set(space, seed=seed)
    paid = 0.0
    for t in np.random.default_rng([seed, 77]).permutation(len(instances)).tolist():
        trial, instance = learner.ask(), instances[t]
        paid += float(instance.losses[instance.at(trial.position)])
        learner.tell(trial, instance.seen(trial.position))
    return paid


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    space, instances = load()
    whole = [sb.PiecewiseConstant(instance.edges, instance.losses) for instance in instances]
    best = len(whole) * sb.best_in_hindsight(whole).mean_loss
    regrets = np.array([play(space, instances, seed) - best for seed in range(options.seeds)])
    even = sum(function.mean() for function in whole) - best
    error = regrets.std(ddof=1) / np.sqrt(regrets.size)
    what = f"{len(whole):,} rounds on {len(space.alphas)} rows: regret"
    show(f"{what}, mean of {regrets.size} seeds", regrets.mean(), "≤ 20", bool(regrets.mean() <= 20.0))
    note("its standard error", number(error))
    note("in the worst seed", number(regrets.max()))
    note("of uniform play", number(even))


if __name__ == "__main__":
    main()
    finish("two-metrics")
