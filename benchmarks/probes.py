"""What to do with the runs of an instance: find one interval by bisection, or look at further parameters?

Both learners meet the same instances, and run the algorithm equally often: as many looks a round as bisection
needs runs. `semibandit tune --feedback black-box` does the first. Prints regrets, means over seeds; for the
solver (`--solver`, which takes minutes) sums of losses, as its best effort in hindsight would take too long.

    python benchmarks/probes.py --rounds 300 --seeds 3
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from measure import number, say, table

import semibandit as sb

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

TOLERANCE = 1e-3  # of the width of the space, as for `semibandit tune`


class Boxed:
    """A problem that is known by its runs alone; its whole loss function serves to find the regret."""

    def __init__(self, problem: Any, run: Callable[[Any, float], Any]) -> None:
        self.problem, self.space = problem, problem.space
        self.box = sb.BlackBox(
            run, problem, self.space, lambda output: output[1], TOLERANCE * self.space.width
        )

    def loss(self, rho: float) -> float:
        return self.box.loss(rho)

    def reveal(self, rho: float) -> sb.PiecewiseConstant:
        return self.box.reveal(rho)

    def losses(self) -> Any:
        return self.problem.losses()


def knapsack(problem: Any, rho: float) -> tuple[bytes, float]:
    """The items packed."""
    return problem.solve(rho)[0].tobytes(), problem.loss(rho)


def linkage(problem: Any, rho: float) -> tuple[bytes, float]:
    """The sequence of merges, which does not come back."""
    return problem.tree(rho)[:, :2].tobytes(), problem.loss(rho)


def compare(
    name: str, make: Callable[[], Sequence[Any]], paid: Callable[[Any], float], seeds: int
) -> tuple[str, ...]:
    """Play bisection, then probes with as many runs, on the same instances; a row of what was paid."""
    results = []
    for seed in range(seeds):
        problems = make()
        space, T = problems[0].space, len(problems)
        searched = sb.play(sb.Exp3Set(space, horizon=T, seed=seed), problems)
        runs = sum(problem.box.n_runs for problem in problems) / T
        looks = round(runs)
        probed = sb.play(sb.Exp3Set(space, horizon=T, seed=seed), make(), "bandit", probes=looks - 1)
        single = sb.play(sb.Exp3Set(space, horizon=T, seed=seed), make(), "bandit")
        results.append((runs, looks, paid(searched), paid(probed), paid(single)))
    runs, looks, *means = np.mean(results, axis=0)
    row = (name, str(T), str(seeds), number(runs), *map(number, means))
    say("  ".join(row))
    return row


def solver_problems(rounds: int, solver: Any) -> list[Boxed]:
    """Programs like those of examples/tune_solver.py, smaller, so that a run takes a quarter of a second."""
    from tune_solver import EFFORT, generate, solve

    class Program:
        space = EFFORT

        def __init__(self, t: int) -> None:
            self.program = generate(0, t, 16)

    def run(problem: Program, effort: float) -> tuple[Any, float]:
        work = solver.submit(solve, problem.program, effort).result()
        return work, min(work.iterations / 2000.0, 1.0)

    return [Boxed(Program(t), run) for t in range(rounds)]


def main() -> None:
    """Read the command line and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--solver", type=int, default=0, metavar="ROUNDS", help="also on so many programs")
    options = parser.parse_args()
    T = options.rounds

    def regret(history: Any) -> float:
        return float(history.regret()[-1])

    def boxes(stream: Sequence[Any], run: Callable[[Any, float], Any]) -> Callable[[], list[Boxed]]:
        return lambda: [Boxed(problem, run) for problem in stream]

    rows = [
        compare("knapsack", boxes(sb.streams.knapsack("mixed", T, seed=0), knapsack), regret, options.seeds)
    ]
    points = sb.streams.clustering("elongated", T, per_class=10, seed=0)
    rows.append(compare("linkage", boxes(points, linkage), regret, options.seeds))
    if options.solver:
        with ProcessPoolExecutor(1, get_context("spawn")) as solver:
            rows.append(
                compare(
                    "HiGHS: sum of losses",
                    lambda: solver_problems(options.solver, solver),
                    lambda history: float(history.loss.sum()),
                    1,
                )
            )
    head = (
        "regret",
        "rounds",
        "seeds",
        "runs a round",
        "bisection",
        "probes, as many runs",
        "one run a round",
    )
    table("probes", head, rows)


if __name__ == "__main__":
    main()
