"""What learning from piecewise linear losses costs, and summing them. Run: python benchmarks/linear.py"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import at_least, at_most, ratio, run_parts

import semibandit as sb


def learner(n: int, *, lines: bool) -> sb.Exp3Set:
    """A learner with n pieces, told either kind of function."""
    rng = np.random.default_rng(0)
    edges = np.concatenate(([0.0], np.sort(rng.random(n - 1)), [1.0]))
    values = rng.random(n)
    learner = sb.Exp3Set(sb.Interval(0, 1), rate=0.01, seed=0)
    seen = sb.PiecewiseLinear(edges, values, values) if lines else sb.PiecewiseConstant(edges, values)
    learner.tell(learner.ask(), seen)
    return learner


def play_lines(learner: sb.Exp3Set) -> None:
    trial = learner.ask()
    lo = 0.9 * trial.rho
    learner.tell(trial, sb.PiecewiseLinear.line(lo, lo + 0.1, 0.3, 0.6))


def play_steps(learner: sb.Exp3Set) -> None:
    trial = learner.ask()
    lo = 0.9 * trial.rho
    learner.tell(trial, sb.PiecewiseConstant.constant(lo, lo + 0.1, 0.45))


def rounds() -> None:
    """A round of the learner: the tree takes O(log P) for steps, lines take O(P)."""
    for n, target in ((100, 10), (1_000, 10), (10_000, 50), (100_000, 500)):
        lines, steps = learner(n, lines=True), learner(n, lines=False)
        cost = ratio(
            functools.partial(play_lines, lines),
            functools.partial(play_steps, steps),
            repeats=min(n // 4, 501),
        )
        at_most(f"a round told a line over one told a step, P = {n:,}", cost, target)
    small, large = (learner(n, lines=True) for n in (10_000, 100_000))
    growth = ratio(functools.partial(play_lines, large), functools.partial(play_lines, small), repeats=101)
    at_most("a round told a line, P = 10,000 to 100,000: growth over that of P", growth / 10, 2)


def sums() -> None:
    """One merge against adding one function after the other."""
    functions = [problem.losses() for problem in sb.streams.posted_price(2_000, buyers=5, seed=0)]

    def one_by_one() -> None:
        total = functions[0]
        for function in functions[1:300]:
            total = total + function

    # 300 of 2,000: pairwise addition is quadratic in their number.
    sped_up = ratio(one_by_one, lambda: sb.PiecewiseLinear.sum(functions), repeats=9) * (2_000 / 300) ** 2
    at_least("summing 2,000 functions one after the other, over one merge", sped_up, 100)


def at_many(problems: list[Any], method: str) -> Callable[[], Any]:
    """A call on the next of many problems at the next of some parameters."""
    cases = itertools.cycle(itertools.product(problems, (0.2, 0.7, 1.3)))

    def call() -> Any:
        problem, rho = next(cases)
        return getattr(problem, method)(rho)

    return call


def families() -> None:
    for adaptive, target in ((False, 3), (True, 30)):
        problems = list(sb.streams.independent_set(20, vertices=100, adaptive=adaptive, seed=1))
        reveal, loss = (at_many(problems, name) for name in ("reveal", "loss"))

        name = "adaptive" if adaptive else "static"
        cost = ratio(reveal, loss, repeats=601)
        at_most(f"independent set, {name}, n = 100: `reveal` over a plain run", cost, target)
    problem = sb.streams.seeding(1, points=1_000, clusters=10, seed=1)[0]
    places = itertools.cycle(np.random.default_rng(3).uniform(0, 20, 101).tolist())
    cost = ratio(lambda: problem.reveal(next(places)), lambda: problem.loss(next(places)), repeats=101)
    at_most("seeding, n = 1,000, k = 10: `reveal` over a plain run", cost, 10)


if __name__ == "__main__":
    run_parts(
        {
            "rounds": rounds,
            "sums": sums,
            "families": families,
        },
        __doc__,
    )
