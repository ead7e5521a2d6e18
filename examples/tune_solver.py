"""Tune a real solver: how much effort HiGHS should spend on heuristics, on a stream of integer programs.

The solver is a black box: it runs in a process of its own, and all that is known of a run is how much work
it was. As a function of the effort that is piecewise constant, so `BlackBox` finds the interval around each
effort played by bisection, and the learner learns from all of it.

    pip install 'semibandit[solver]'
    python examples/tune_solver.py --rounds 20
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np

import semibandit as sb

EFFORT = sb.Interval(0.0, 1.0)  # HiGHS's option mip_heuristic_effort
DEFAULT = 0.05  # what HiGHS takes if it is not told otherwise


class Program(NamedTuple):
    """Choose items of the largest value that fit into several knapsacks at once."""

    values: tuple[float, ...]
    sizes: tuple[tuple[float, ...], ...]
    capacities: tuple[float, ...]


class Work(NamedTuple):
    """Work of one run of the solver."""

    nodes: int
    iterations: int  # of the simplex method, over all nodes and heuristics


def generate(seed: int, t: int, items: int, knapsacks: int = 5) -> Program:
    """Return a multi-dimensional knapsack whose values follow the sizes, so that items are alike."""
    rng = np.random.default_rng([seed, t])
    sizes = rng.integers(10, 60, (knapsacks, items))
    values = sizes.mean(axis=0) + rng.integers(0, 15, items)
    return Program(tuple(values), tuple(map(tuple, sizes.tolist())), tuple(sizes.sum(axis=1) // 2))


def solve(program: Program, effort: float, **further: int) -> Work:
    """Run HiGHS with one thread and a fixed seed, so that equal options give equal work."""
    import highspy

    n = len(program.values)
    solver = highspy.Highs()
    for option, value in {
        "output_flag": False, "threads": 1, "random_seed": 0, "mip_heuristic_effort": effort,
        **further,
    }.items():  # fmt: skip
        solver.setOptionValue(option, value)
    columns = np.arange(n, dtype=np.int32)
    solver.addVars(n, np.zeros(n), np.ones(n))
    solver.changeColsCost(n, columns, -np.array(program.values))
    solver.changeColsIntegrality(n, columns, np.full(n, highspy.HighsVarType.kInteger))
    for sizes, capacity in zip(program.sizes, program.capacities, strict=True):
        solver.addRow(-highspy.kHighsInf, capacity, n, columns, np.array(sizes, dtype=float))
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise RuntimeError(f"HiGHS stopped with {solver.getModelStatus()}")
    info = solver.getInfo()
    return Work(int(info.mip_node_count), int(info.simplex_iteration_count))


def problem(program: Program, solver: Executor, limit: float, tolerance: float) -> sb.BlackBox:
    """Return the black box of one program; the loss is the work relative to a limit."""

    def run(program: Program, effort: float) -> Work:
        return solver.submit(solve, program, effort).result()

    def loss(work: Work) -> float:
        return min(work.iterations / limit, 1.0)

    return sb.BlackBox(run, program, EFFORT, loss, tolerance=tolerance)


def tune(
    rounds: int, items: int, *, limit: float, tolerance: float, seed: int, say: Callable[[str], Any] = print
) -> sb.Recommendation:
    """Play all rounds, report each, and compare the recommended effort with the default."""
    learner = sb.Exp3Set(EFFORT, horizon=rounds, seed=seed)
    with ProcessPoolExecutor(1, get_context("spawn")) as solver:
        say("round  effort  same work on       iterations  solver runs")
        for t in range(rounds):
            box = problem(generate(seed, t, items), solver, limit, tolerance)
            for row in sb.rounds(learner, [box]):
                say(
                    f"{t:5}  {row.rho:6.3f}  [{row.lo:.3f}, {row.hi:.3f})  {row.loss * limit:11.0f}  "
                    f"{box.n_runs:11}"
                )
        best = learner.recommend()
        fresh = [generate(seed, t, items) for t in range(rounds, 2 * rounds)]
        work = {
            effort: sum(problem(p, solver, limit, tolerance).loss(effort) for p in fresh) * limit / rounds
            for effort in (best.rho, DEFAULT)
        }
    say(f"\nOn {rounds} programs not seen before, iterations on average:")
    say(f"  effort {best.rho:.3f} (learned)  {work[best.rho]:8.0f}")
    say(f"  effort {DEFAULT:.3f} (default)  {work[DEFAULT]:8.0f}")
    return best


def main() -> None:
    """Read the command line and tune."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20, help="programs to learn on")
    parser.add_argument("--items", type=int, default=25, help="items of each program")
    parser.add_argument("--limit", type=float, default=5000.0, help="iterations that count as a loss of 1")
    parser.add_argument("--tolerance", type=float, default=0.01, help="to which ends of intervals are found")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    tune(**vars(options))


if __name__ == "__main__":
    main()
