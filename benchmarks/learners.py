"""Cost of a round of a learner, over time and beside other methods. Run: python benchmarks/learners.py"""

from __future__ import annotations

import copy
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import reduce
from operator import add
from time import perf_counter

import numpy as np
from measure import at_least, at_most, ratio, run_parts, say, seconds
from playing import SPACE

import semibandit as sb


def grown(n_rounds: int, seed: int = 0, baseline: str = "low") -> sb.Exp3Set:
    """Return a learner after n rounds with intervals of random width."""
    learner = sb.Exp3Set(SPACE, horizon=n_rounds, baseline=baseline, seed=seed)
    play(learner, n_rounds, seed)
    return learner


def play(learner: sb.Exp3Set, n_rounds: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, right, noise = (0.01 * rng.random(n_rounds) + 1e-9, 0.01 * rng.random(n_rounds) + 1e-9,
                          0.2 * rng.random(n_rounds))  # fmt: skip
    for a, b, x in zip(left.tolist(), right.tolist(), noise.tolist(), strict=True):
        trial = learner.ask()
        rho = trial.rho
        seen = sb.PiecewiseConstant.constant(
            max(rho - a, 0.0), min(rho + b, 1.0), 0.3 + 0.4 * abs(rho - 0.4) + x
        )
        learner.tell(trial, seen)


class Direct:
    """The update on flat numpy arrays, O(t) a round."""

    def __init__(self, pieces: int) -> None:
        self.edges = np.linspace(0, 1, pieces + 1)
        self.log_weights = np.zeros(pieces)
        self.rng = np.random.default_rng(0)

    def round(self) -> None:
        weights = np.exp(self.log_weights - self.log_weights.max()) * np.diff(self.edges)
        cumulative = np.cumsum(weights)
        x = self.rng.random() * cumulative[-1]
        i = int(np.searchsorted(cumulative, x))
        rho = self.edges[i]
        lo, hi = np.searchsorted(self.edges, (max(rho - 0.005, 0.0), min(rho + 0.005, 1.0)))
        p = weights[lo:hi].sum() / cumulative[-1]
        self.log_weights[lo:hi] -= 0.01 * 0.5 / p


def against_time(n: int = 2_000) -> None:
    """Rounds may not grow with time, and the default may not cost much more than baseline="low"."""
    young, old = grown(1_000), grown(1_000_000)
    growth = ratio(lambda: play(old, n, 1), on_copies(young, n))
    at_most('baseline="low", a round at t = 10⁶, over the same at t = 10³', growth, 3)
    at_most("the integral of its density, less 1", abs(old.density().integral() - 1.0), 1e-9)
    direct = Direct(old.n_pieces)
    faster = ratio(direct.round, lambda: play(old, n, 2), calls=(3, 1), repeats=5) * n
    at_least('baseline="low", a round at t = 10⁶: direct O(t) update in numpy, over ours', faster, 300)
    first, last = grown(1_000, baseline="local"), grown(1_000_000, baseline="local")
    growth = ratio(on_copies(last, n), on_copies(first, n))
    at_most("default, a round at t = 10⁶, over the same at t = 10³", growth, 1.1)
    ours, theirs = on_copies(last, n), on_copies(old, n)
    ours(), theirs()
    more = statistics.median((seconds(ours) - seconds(theirs)) / n * 1e6 for _ in range(7))
    at_most('a round at t = 10⁶: microseconds of the default minus those of baseline="low"', more, 20)


def on_copies(learner: sb.Exp3Set, n_rounds: int, most: int = 10) -> Callable[[], None]:
    """Return a function that plays rounds with a fresh copy of the learner."""
    copies = [copy.deepcopy(learner) for _ in range(most)]
    return lambda: play(copies.pop(), n_rounds, 1)


def round_costs() -> None:
    """Time of ask and tell: the least of medians over a hundred rounds, against other load on the machine."""
    for baseline, name in (("local", "default"), ("low", 'baseline="low"')):
        cost = 1e6 * min(median_round(grown(1_000, seed, baseline)) for seed in range(3) for _ in range(10))
        at_most(f"{name}, ask + tell at t = 10³, microseconds", cost, 10)


def median_round(learner: sb.Exp3Set) -> float:
    spent = []
    for _ in range(100):
        start = perf_counter()
        trial = learner.ask()
        asked = perf_counter() - start
        rho = trial.rho
        seen = sb.PiecewiseConstant.constant(max(rho - 0.005, 0.0), min(rho + 0.005, 1.0), 0.5 * rho)
        start = perf_counter()
        learner.tell(trial, seen)
        spent.append(asked + perf_counter() - start)
    return statistics.median(spent)


def against_optuna() -> None:
    try:
        import optuna
    except ImportError:
        say("Optuna is not installed: its row is left out (make bench installs it)")
        return
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))

    def their_round() -> None:
        trial = study.ask()
        rho = trial.suggest_float("rho", 0, 1)
        study.tell(trial, abs(rho - 0.4))

    for _ in range(2_000):
        their_round()
    n = 2_000
    faster = ratio(their_round, on_copies(grown(n), n), calls=(10, 1)) * n
    at_least("a round at t = 2,000: Optuna's TPE ask + tell, over ours", faster, 500)


def grid_rounds() -> None:
    few, many = sb.Exp3Grid(SPACE, n_arms=1_000, seed=0), sb.Exp3Grid(SPACE, n_arms=1_000_000, seed=0)

    def rounds(learner: sb.Exp3Grid) -> None:
        for _ in range(2_000):
            trial = learner.ask()
            learner.tell(trial, 0.5 * trial.rho)

    at_most("Exp3Grid round, N = 10⁶ arms over N = 10³", ratio(lambda: rounds(many), lambda: rounds(few)), 3)


def sums() -> None:
    rng = np.random.default_rng(0)
    steps = [
        sb.PiecewiseConstant(np.r_[0, np.sort(rng.random(99)), 1], rng.random(100)) for _ in range(10_000)
    ]
    edges = np.concatenate([f.edges for f in steps])
    cost = ratio(lambda: sb.PiecewiseConstant.sum(steps), lambda: np.sort(edges))
    at_most("sum of 10⁴ functions with 100 pieces, over np.sort of all edges", cost, 5)
    lines = [problem.losses() for problem in sb.streams.posted_price(2_000, buyers=5, seed=0)]
    # 300 of 2,000: pairwise addition is quadratic in their number.
    one_by_one = ratio(lambda: reduce(add, lines[:300]), lambda: sb.PiecewiseLinear.sum(lines), repeats=9)
    at_least(
        "adding 2,000 piecewise linear functions one by one, over their sum", one_by_one * (20 / 3) ** 2, 100
    )


def cold_start() -> None:
    def run(*arguments: str) -> None:
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)

    cost = ratio(lambda: run("-m", "semibandit", "--help"), lambda: run("-c", "import numpy"))
    at_most("cold `semibandit --help`, over `python -c 'import numpy'`", cost, 3)


if __name__ == "__main__":
    parts = {"round": round_costs, "time": against_time, "optuna": against_optuna, "grid": grid_rounds,
             "sums": sums, "cold": cold_start}  # fmt: skip
    run_parts(parts, __doc__)
