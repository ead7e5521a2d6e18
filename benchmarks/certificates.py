"""What a certificate is worth: the bound that a learner computes as it plays, beside its regret.

Run: python benchmarks/certificates.py [--seeds 5]

Means over seeds on the streams of benchmarks/suite.py. A certificate bounds the expected regret, so its mean
must not be below the mean regret.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import finish, number, show, table
from playing.players import default, no_baseline
from playing.streams import RECIPES, Stream, load

import semibandit as sb

KEPT = Path(__file__).resolve().parents[1] / "build" / "suite"


def game(make: Callable[[int, int], sb.Learner], stream: Stream, seed: int) -> list[float]:
    """The regret of a game, its certificate, and the terms of that."""
    learner = make(len(stream), seed)
    problems = stream.game(seed)
    paid = 0.0
    for problem in problems:
        trial = learner.ask()
        learner.tell(trial, problem.function.piece(trial.rho))
        paid += problem.function(trial.rho)
    proved = learner.certificate(stream.dispersion)
    terms = proved.learning, proved.clips, proved.dispersion
    return [paid - stream.best(seed, len(stream)), proved.value, *terms]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    head = ["stream", "learner", "regret", "certificate", "learning", "clips and joins", "f", "Theorem 3"]
    rows = []
    for name, recipe in RECIPES.items():
        stream = load(name, recipe, KEPT)
        theorem = stream.dispersion.regret().value
        for learner, make in (("default", default), ("baseline=None", no_baseline)):
            means = np.mean([game(make, stream, seed) for seed in range(options.seeds)], axis=0).tolist()
            rows.append((name, learner, *map(number, [*means, theorem])))
            regret, certificate = means[:2]
            ratio = certificate / regret
            show(f"certificate over regret, {name}, {learner}", ratio, "≥ 1", certificate >= regret)
    table("certificate", head, rows)


if __name__ == "__main__":
    main()
    finish()
