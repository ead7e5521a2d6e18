"""Easy and hard instances: what two looks at one of them have in common cancels.

Run: python benchmarks/pairs.py [--seeds 10] [--rounds 600]

Three streams with the same mean loss over the parameter. In the first, instances differ by much more than
parameters do; the second is the same without that; in the third pieces are noisy, each on its own, and there
is nothing in common to be found. Prints the regret with no, one and four probes. Targets: a probe takes off
a quarter of the regret where instances differ, adds nothing where they are alike, and little to noise.
"""

from __future__ import annotations

import argparse

import numpy as np
from measure import at_most, finish, say, table
from playing.players import SPACE

import semibandit as sb

STREAMS = {"easy and hard instances": (0.25, 0.05), "all alike": (0.0, 0.05), "noisy pieces": (0.0, 0.15)}
PROBES = (0, 1, 4)
PIECES = 12
TARGETS = (0.75, 1.0, 1.3)


def stream(rounds: int, seed: int, level: float, noise: float) -> list[sb.PiecewiseConstant]:
    """Losses 0.3 + 0.3·|ρ - 0.3|, plus a level for each instance, plus noise for each piece."""
    rng = np.random.default_rng([seed, 8])
    functions = []
    for _ in range(rounds):
        edges = np.concatenate(([0.0], np.sort(rng.random(PIECES - 1)), [1.0]))
        middles = 0.5 * (edges[1:] + edges[:-1])
        hard = level * rng.uniform(-1.0, 1.0)
        values = 0.3 + 0.3 * abs(middles - 0.3) + hard + noise * rng.normal(size=PIECES)
        functions.append(sb.PiecewiseConstant(edges, np.clip(values, 0.0, 1.0)))
    return functions


def regret(functions: list[sb.PiecewiseConstant], probes: int, seed: int) -> float:
    learner = sb.Exp3Set(SPACE, seed=seed)
    paid = 0.0
    for function in functions:
        trial = learner.ask(probes=probes)
        learner.tell(trial, [function.piece(rho) for rho in (trial.rho, *trial.probes)])
        paid += function(trial.rho)
    return paid - sb.PiecewiseConstant.sum(functions).min()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=600)
    options = parser.parse_args()
    rows = []
    means = {}
    for name, shape in STREAMS.items():
        games = [stream(options.rounds, seed, *shape) for seed in range(options.seeds)]
        for m in PROBES:
            means[name, m] = np.mean([regret(game, m, seed) for seed, game in enumerate(games)])
        rows.append((name, *(f"{means[name, m]:.1f}" for m in PROBES)))
        say(", ".join(rows[-1]))
    table("pairs", ("regret with", "no probe", "1 probe", "4 probes"), rows)
    for name, target in zip(STREAMS, TARGETS, strict=True):
        at_most(f"{name}: regret with 1 probe, over that with none", means[name, 1] / means[name, 0], target)
    finish()


if __name__ == "__main__":
    main()
