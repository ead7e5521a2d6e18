"""Two parameters next to one, and Theorem 14 next to a measurement. Run: python benchmarks/metric.py"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import at_least, at_most, figure, note, ratio, run_parts, seconds, table
from scipy.spatial.distance import pdist, squareform

import semibandit as sb
from semibandit.families.linkage.search import MixedDistances, TreeSearch
from semibandit.streams.two_metrics import embedded_digits

ROWS = sb.Strips(64, sb.Interval(0, 1))


def digits(n: int, seed: int) -> sb.MetricLinkage:
    rng = np.random.default_rng(seed)
    pixels, embedded, classes = embedded_digits()
    points = np.concatenate([rng.choice(members, n // 5, replace=False) for members in classes[:5]])
    d0, d1 = (squareform(d / d.mean()) for d in (pdist(pixels[points]), pdist(embedded[points])))
    return sb.MetricLinkage(d0, d1, sb.clustering.TargetDistance(np.repeat(range(5), n // 5)), space=ROWS)


def reveal(n: int, instances: int = 24) -> None:
    """Sets of rows against runs of the family with one metric, at the same points."""
    rng = np.random.default_rng(0)
    ours = theirs = 0.0
    pieces, visits = [], []
    for seed in range(instances):
        problem = digits(n, seed)
        rho, alpha = float(rng.random()), problem.space.alphas[rng.integers(64)]
        one = sb.Linkage(problem.distances(alpha), problem.cost)
        rows = MixedDistances(problem.distances(0.0), problem.distances(1.0), problem.space.alphas)
        search = TreeSearch(rows, 0, problem.unit)
        pieces.append(len(search.connected(problem.space.row_of(alpha), rho)[1]))
        visits.append(pieces[-1] + search.missed)
        ours_here, theirs_here = in_turn(
            lambda problem=problem, at=(rho, alpha): problem.reveal(*at),
            lambda one=one, rho=rho: one.reveal(rho),
        )
        ours += ours_here
        theirs += theirs_here * pieces[-1]
    at_most(
        f"`reveal`, n = {n}, 64 rows: time per interval in the set, over `Linkage.reveal`", ours / theirs, 1.5
    )
    note(f"intervals in a set, mean of {instances} instances of digits", np.mean(pieces))
    note("with the visits of rows that did not have the tree", np.mean(visits))


def level_sets(instances: int = 40, n_rows: int = 24) -> None:
    """Connected sets with one loss against those with one tree, at the same points: width and trees."""
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


def in_turn(ours: Callable[[], Any], theirs: Callable[[], Any], repeats: int = 25) -> tuple[float, float]:
    """Median seconds of each, the two taking turns."""
    ours(), theirs()
    times = [(seconds(ours), seconds(theirs)) for _ in range(repeats)]
    return statistics.median(t for t, _ in times), statistics.median(t for _, t in times)


def learner(intervals: int = 64, rounds: int = 300) -> None:
    """A round of the learner that is told an interval in each row, against one that is told one interval."""
    rng = np.random.default_rng(1)
    ends = np.sort(rng.random((rounds, 2)), axis=1)
    plane, line = sb.Exp3Set(ROWS, seed=0, rate=0.01), sb.Exp3Set(sb.Interval(0, 1), seed=0, rate=0.01)
    rows = np.arange(intervals)
    steps = iter(range(10**9))

    def parts() -> tuple[np.ndarray, np.ndarray]:
        lo, hi = ends[next(steps) % rounds]
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


def dispersion(T: int = 3000, n: int = 4) -> None:
    """Functions that break on the worst axis-aligned segment: Theorem 14 and the count."""
    space = sb.Strips(5, sb.Interval(0, 1))

    def make(t: int) -> sb.MetricLinkage:
        rng = np.random.default_rng([7, t])
        d0, d1 = (squareform(rng.random(n * (n - 1) // 2)) for _ in range(2))
        return sb.MetricLinkage(d0, d1, lambda D, Z: 0.0, space=space)

    problems = [make(t) for t in range(T)]
    whole = [problem.losses() for problem in problems]
    rows = [[space.line.row(function, i).edges[1:-1] for function in whole] for i in range(len(space))]
    columns = [[column_breaks(problem, rho) for problem in problems] for rho in (0.5,)]
    plane = sb.dispersion.measure_plane(rows, columns, sb.Interval(0, 1))
    counts = []
    for eps in (1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3):
        bound = sb.dispersion.bounds.metric_linkage_dispersion(T, eps, n=n, B=1.0, kappa=1.0)
        bounded = f"{bound:.0f}{' (all)' if bound >= T else ''}"
        counts.append((f"{eps:g}", figure(plane.D(eps)), figure(plane.between(eps)), bounded))
    head = ("ε", "most losses that break on a segment of length ε", "along a row and a column", "Theorem 14")
    table("theorem-14", head, counts)
    each = [np.mean([len(breaks) for line in lines for breaks in line]) for lines in (rows, columns)]
    note(f"changes of the tree along a row, mean of {T:,} instances of {n} points", each[0])
    note("along a column", each[1])


def column_breaks(
    problem: sb.MetricLinkage, rho: float, grid: int = 32, tolerance: float = 1e-10
) -> list[float]:
    """Where the tree changes along α, as far as a grid sees it; each place by bisection."""

    def tree(alpha: float) -> frozenset[int]:
        clusters = [1 << i for i in range(len(problem.distances(alpha)))]
        for a, b in problem.tree(rho, alpha)[:, :2].astype(int):
            clusters.append(clusters[a] | clusters[b])
        return frozenset(clusters)

    breaks = []
    alphas = np.linspace(0, 1, grid + 1)
    trees = [tree(alpha) for alpha in alphas]
    for i in np.flatnonzero([a != b for a, b in zip(trees[1:], trees, strict=False)]):
        lo, hi = alphas[i], alphas[i + 1]
        while hi - lo > tolerance:
            middle = 0.5 * (lo + hi)
            lo, hi = (middle, hi) if tree(middle) == trees[i] else (lo, middle)
        breaks.append(float(hi))
    return breaks


if __name__ == "__main__":
    run_parts(
        {
            "reveal": lambda: reveal(100),
            "sets": level_sets,
            "learner": learner,
            "dispersion": dispersion,
        },
        __doc__,
    )
