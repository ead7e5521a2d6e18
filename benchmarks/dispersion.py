"""Cost of measuring dispersion, beside sorting, and the β of random knapsacks.

Run: python benchmarks/dispersion.py [PART ...]
"""

from __future__ import annotations

import numpy as np
from measure import at_least, at_most, note, ratio, run_parts, seconds, table

import semibandit as sb
from semibandit.dispersion.breaks import collect
from semibandit.streams.knapsack_instances import KINDS

UNIT = sb.Interval(0, 1)
N = 10_000_000


def counters(x: list[float], owner: list[int], T: int, eps: float) -> int:
    """Count with a sliding window and a counter per function, in plain Python."""
    inside, left, distinct, most = [0] * T, 0, 0, 0
    for right in range(len(x)):
        inside[owner[right]] += 1
        distinct += inside[owner[right]] == 1
        while x[right] - x[left] > eps:
            inside[owner[left]] -= 1
            distinct -= inside[owner[left]] == 0
            left += 1
        most = max(most, distinct)
    return most


def sorting() -> None:
    breaks_of_all = np.random.default_rng(0).random((N // 100, 100))
    sb.dispersion.measure(breaks_of_all[:100], UNIT)
    breaks = collect(breaks_of_all, UNIT, None).rows[0]
    sort = lambda: np.argsort(breaks_of_all, axis=None)  # noqa: E731
    note(f"seconds to sort {N:,} discontinuities of {N // 100:,} functions", seconds(sort))
    at_most(
        "`measure`, 41 ε and 8 prefixes, from scratch, over sorting",
        ratio(lambda: sb.dispersion.measure(breaks_of_all, UNIT), sort, repeats=3),
        10.0,
    )
    for eps in (1e-6, 1e-4, 0.1):
        at_most(
            f"D(T, ε) for ε = {eps:g} once sorted, over sorting",
            ratio(lambda eps=eps: breaks.worst(eps), sort, repeats=5),
            0.1,
        )
    at_most(
        "largest w for k = 1000 once sorted, over sorting",
        ratio(lambda: breaks.smallest_span(1001), sort, repeats=5),
        0.1,
    )
    small = collect(breaks_of_all[:1000], UNIT, None).rows[0]
    x, owner = small.x.tolist(), small.owner.tolist()
    at_least(
        "the textbook sliding window in Python over ours, for one ε of 100,000 discontinuities",
        1.0 / ratio(lambda: small.worst(1e-4), lambda: counters(x, owner, small.T, 1e-4)),
        50.0,
    )
    few = collect(breaks_of_all[:100_000, :10], UNIT, None).rows[0]
    at_most(
        "growth of one ε from N = 10⁶ to 10⁷, over 10",
        ratio(lambda: breaks.worst(1e-4), lambda: few.worst(1e-4), repeats=5) / 10.0,
        2.0,
    )


def kinds(T: int = 1000) -> None:
    """Fit β for each kind of random knapsacks: with few items and a smooth density, and by default."""
    sizes = ((10, 10.0), (50, 100.0))
    rows = []
    for kind in KINDS:
        betas = [
            sb.dispersion.measure(sb.streams.knapsack(kind, T, n, kappa=kappa)).beta for n, kappa in sizes
        ]
        rows.append((kind, *(f"{beta:.2f}" for beta in betas)))
    table("kinds", (f"β, T = {T:,}", *(f"n = {n}, κ = {kappa:g}" for n, kappa in sizes)), rows)


if __name__ == "__main__":
    run_parts({"sorting": sorting, "kinds": kinds}, __doc__)
