"""What a black box costs in runs, and tuning a command beside it. Run: python benchmarks/black_box.py"""

from __future__ import annotations

import itertools
import math
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import at_least, at_most, note, ratio, run_parts, seconds

import semibandit as sb
from semibandit.tuning import Command, Tuner


def knapsack(seed: int, n: int = 50) -> sb.Knapsack:
    values, sizes = np.random.default_rng(seed).random((2, n))
    return sb.Knapsack(values, sizes, sizes.sum() / 4)


def black_box(problem: sb.Knapsack, **options: object) -> sb.BlackBox:
    def run(problem: sb.Knapsack, rho: float) -> object:
        return problem.solve(rho).mask

    return sb.BlackBox(run, problem, problem.space, lambda mask: float(mask.mean()), **options)


def runs_of_reveal() -> None:
    rng = np.random.default_rng(0)
    for tolerance in (1e-3, 1e-6, 1e-9):
        bound = 2 * math.ceil(math.log2(10 / tolerance)) + 1
        boxes = [black_box(knapsack(seed), tolerance=tolerance) for seed in range(200)]
        for box in boxes:
            box.reveal(float(rng.uniform(0, 10)))
        counts = [box.n_runs for box in boxes]
        note(f"runs of `reveal`, 200 knapsacks of 50 items, tolerance {tolerance:g}: mean", np.mean(counts))
        at_most(f"the most of them, over the bound of {bound}", max(counts) / bound, 1)


def price_of_not_knowing() -> None:
    problem = knapsack(0, n=1000)
    rhos = itertools.cycle(np.random.default_rng(1).uniform(0, 10, 101).tolist())
    cost = ratio(
        lambda: black_box(problem).reveal(next(rhos)), lambda: problem.reveal(next(rhos)), repeats=51
    )
    note("`reveal` of a knapsack of 1,000 items as a black box, over the exact one", cost)


def recurring_outputs() -> None:
    """How often the selected set of a knapsack comes back: where bisection may step over a gap."""
    recurring = 0
    for seed in range(200):
        problem = knapsack(seed)
        starts = problem.losses().edges[:-1].tolist()
        masks = [problem.solve(x).mask.tobytes() for x in starts]
        recurring += len(set(masks)) < len(masks)
    note("knapsacks of 50 items whose selected set comes back, of 200", recurring)


def threads() -> None:
    def slow(instance: object, rho: float) -> int:
        time.sleep(0.002)  # as long as a small process takes
        return int(16 * rho)

    def losses(n_jobs: int) -> None:
        sb.BlackBox(slow, None, sb.Interval(0, 1), lambda i: i / 16, n_jobs=n_jobs).losses()

    faster = ratio(lambda: losses(1), lambda: losses(8), repeats=5)
    at_least("`losses()` of a run that waits 2 ms, one thread over eight", faster, 5)


def overhead_of_tuning() -> None:
    names = [str(i) for i in range(100)]
    command = Command("/bin/sh -c 'echo 0.5' {rho} {instance}")

    def tune() -> None:
        with tempfile.TemporaryDirectory() as folder:
            tuner = Tuner(command, sb.Interval(0, 1), Path(folder) / "knob.db")
            for _ in tuner.rounds(names):
                pass
            tuner.close()

    def bare() -> None:
        with tempfile.TemporaryFile(buffering=0) as file:
            for name in names:
                command.run(name, 0.5)
                file.write(
                    b"a line as long as that of a round, which is about a hundred characters, more or less"
                )
                os.fsync(file.fileno())

    cost = ratio(tune, bare, repeats=9)
    at_most("`semibandit tune`, over the runs alone and a line forced to disk after each", cost, 1.5)
    with tempfile.TemporaryFile(buffering=0) as file:
        forced = seconds(lambda: (file.write(b"x" * 100), os.fsync(file.fileno())), calls=100)
    note("of these, milliseconds of a run", 1e3 * seconds(lambda: command.run("0", 0.5), 50))
    note("and to force a line to this disk", 1e3 * forced)


def going_on() -> None:
    """Opening a state file of 10,000 rounds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "knob.db"
        command = Command("echo {rho} {instance}")
        Tuner(command, sb.Interval(0, 1), path).close()
        with sb.Study(f"sqlite:///{path}", "tune") as study:
            for i, loss in enumerate(np.random.default_rng(0).random(10_000).tolist()):
                trial = study.ask(info={"instance": str(i)})
                study.tell(trial, sb.PiecewiseConstant.constant(0.5 * trial.rho, 0.5 * (1 + trial.rho), loss))
        start = time.perf_counter()
        Tuner(command, sb.Interval(0, 1), path).close()
        note("seconds to open a state file of 10,000 rounds", time.perf_counter() - start)


if __name__ == "__main__":
    run_parts(
        {
            "runs": runs_of_reveal,
            "price": price_of_not_knowing,
            "recurring": recurring_outputs,
            "threads": threads,
            "tuning": overhead_of_tuning,
            "opening": going_on,
        },
        __doc__,
    )
