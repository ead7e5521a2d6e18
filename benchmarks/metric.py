"""Two parameters beside one, and regret on rows of the square.

Run: python benchmarks/metric.py [PART ...] [--rounds 2000] [--seeds 3]
"""

from __future__ import annotations

import numpy as np
from measure import at_least, at_most, note, number, ratio, run_parts, table
from scipy.spatial.distance import pdist, squareform

import semibandit as sb
from semibandit.streams.two_metrics import embedded_digits

ROWS = sb.Strips(64, sb.Interval(0, 1))


def digits(n: int, seed: int) -> sb.MetricLinkage:
    rng = np.random.default_rng(seed)
    pixels, embedded, classes = embedded_digits()
    points = np.concatenate([rng.choice(members, n // 5, replace=False) for members in classes[:5]])
    d0, d1 = (squareform(d / d.mean()) for d in (pdist(pixels[points]), pdist(embedded[points])))
    return sb.MetricLinkage(d0, d1, sb.clustering.TargetDistance(np.repeat(range(5), n // 5)), space=ROWS)


def reveal(n: int = 100, instances: int = 24, **_: int) -> None:
    """Compare `reveal` with a run of the family with one metric, at the same points."""
    rng = np.random.default_rng(0)
    costs, intervals = [], []
    for seed in range(instances):
        problem = digits(n, seed)
        rho, alpha = float(rng.random()), problem.space.alphas[rng.integers(64)]
        one = sb.Linkage(problem.distances(alpha), problem.cost)
        intervals.append(int(np.sum(~np.isnan(problem.reveal(rho, alpha).values))))
        cost = ratio(
            lambda p=problem, at=(rho, alpha): p.reveal(*at), lambda one=one, rho=rho: one.reveal(rho)
        )
        costs.append(cost)
    what = f"`reveal`, n = {n}, 64 rows: time per interval in the set, over `Linkage.reveal`"
    at_most(what, sum(costs) / sum(intervals), 1.5)
    note(f"intervals in a set, mean of {instances} instances of digits", np.mean(intervals))


def sets(instances: int = 40, n_rows: int = 24, **_: int) -> None:
    """Compare connected sets with one loss and with one tree: share of the rows and trees."""
    shares, rows = {}, []
    for partition in ("tree", "loss"):
        rng = np.random.default_rng(0)
        share, trees = [], []
        for problem in sb.streams.digits_two_metrics(instances, n_rows=n_rows, partition=partition):
            seen = problem.reveal(float(rng.random()), problem.space.alphas[rng.integers(n_rows)])
            share.append(sum(hi - lo for lo, hi in seen.domain) / n_rows)
            trees.append(problem.n_runs)
        shares[partition] = np.mean(share)
        rows.append((f"a set with one {partition}", f"{shares[partition]:.3f}", f"{np.mean(trees):.0f}"))
    problems = list(sb.streams.digits_two_metrics(instances, n_rows=n_rows))
    for problem in problems:
        problem.losses()
    rows.append(("the whole function", "1", f"{np.mean([problem.n_runs for problem in problems]):.0f}"))
    table("sets", ("", "share of the rows", "trees"), rows)
    at_least("width of a set with one loss, over one with one tree", shares["loss"] / shares["tree"], 10.0)


def learner(intervals: int = 64, **_: int) -> None:
    """Compare a round with an interval in each row and a round with one interval."""
    rng = np.random.default_rng(1)
    ends = np.sort(rng.random((300, 2)), axis=1)
    plane, line = sb.Exp3Set(ROWS, seed=0, rate=0.01), sb.Exp3Set(sb.Interval(0, 1), seed=0, rate=0.01)
    rows = np.arange(intervals)
    steps = iter(range(10**9))

    def parts() -> tuple[np.ndarray, np.ndarray]:
        lo, hi = ends[next(steps) % len(ends)]
        return lo * np.ones(intervals), hi * np.ones(intervals)

    def on_plane() -> None:
        lo, hi = parts()
        trial = plane.ask()
        if not lo[0] <= trial.rho < hi[0]:
            lo, hi = (np.zeros(intervals), lo) if trial.rho < lo[0] else (hi, np.ones(intervals))
        plane.tell(trial, ROWS.lay_pieces(rows, lo, hi, np.full(intervals, 0.5)))

    def on_line() -> None:
        lo, hi = parts()
        trial = line.ask()
        a, b = float(lo[0]), float(hi[0])
        if not a <= trial.rho < b:
            a, b = (0.0, a) if trial.rho < a else (b, 1.0)
        line.tell(trial, sb.PiecewiseConstant.constant(a, b, 0.5))

    value = ratio(on_plane, on_line, repeats=9, calls=(30, 30))
    at_most("a round told 64 intervals in 64 rows, over 64 rounds told one", value / intervals, 2.0)


def regret(rounds: int, seeds: int) -> None:
    """Play the default learner on the rows of the square."""
    problems = list(sb.streams.digits_two_metrics(rounds, seed=0))
    games = [sb.play(sb.Exp3Set(problems[0].space, seed=seed), problems) for seed in range(seeds)]
    regrets = np.array([game.regret()[-1] for game in games])
    at_most(f"{rounds:,} rounds: regret, mean of {seeds} seeds", regrets.mean(), 20)
    note("its standard error", number(regrets.std(ddof=1) / np.sqrt(seeds)))
    note("in the worst seed", number(regrets.max()))
    even = sum(problem.losses().mean() for problem in problems) - sum(games[0].loss) + regrets[0]
    note("of uniform play", number(even))


if __name__ == "__main__":
    parts = {"reveal": reveal, "sets": sets, "learner": learner, "regret": regret}
    run_parts(parts, __doc__, rounds=2000, seeds=3)
