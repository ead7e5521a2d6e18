"""Ten million rounds in one process: no drift, memory linear in the pieces, and the cap on pieces.

Run: python benchmarks/endurance.py [--rounds 10000000]
"""

from __future__ import annotations

import argparse
from time import perf_counter

from measure import at_most, finish, say

import semibandit as sb
from learners import SPACE, play


def endure(n_rounds: int, max_pieces: int | None) -> None:
    learner = sb.Exp3Set(SPACE, horizon=n_rounds, max_pieces=max_pieces, seed=0)
    say(f"{n_rounds:,} rounds, " + (f"at most {max_pieces:,} pieces" if max_pieces else "no limit on pieces"))
    first = None
    for part in range(10):
        start = perf_counter()
        play(learner, n_rounds // 10, part)
        spent = perf_counter() - start
        first = first or spent
        tree = learner._epoch.weights
        say(
            f"  t = {learner.n_told:>11,}  {len(tree):>11,} pieces  {tree.nbytes / len(tree):6.1f} bytes each"
            f"  a round costs {spent / first:.2f} of the first ones  join error {learner.join_error:.3g}"
        )
    tree._check()
    size = f"{max_pieces:,} pieces at most" if max_pieces else "any number of pieces"
    at_most(f"{size}: the last rounds, over the first ones", spent / first, 5)
    at_most(f"{size}: the integral of the density, less 1", abs(learner.density().integral() - 1), 1e-9)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10_000_000)
    options = parser.parse_args()
    play(sb.Exp3Set(SPACE, seed=0), 10, 0)  # compiles
    endure(options.rounds, None)
    endure(options.rounds, 100_000)
    finish()
