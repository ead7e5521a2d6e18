"""What measuring dispersion costs, next to sorting. Run: python benchmarks/dispersion.py"""

from __future__ import annotations

import numpy as np
from measure import at_least, at_most, finish, ratio, seconds

import semibandit as sb
from semibandit.dispersion.breaks import collect

UNIT = sb.Interval(0, 1)
N = 10_000_000


def counters(x: list[float], owner: list[int], T: int, eps: float) -> int:
    """The textbook sliding window, with a counter per function."""
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


def main() -> None:
    table = np.random.default_rng(0).random((N // 100, 100))
    sb.dispersion.measure(table[:100], UNIT)
    breaks = collect(table, UNIT, None).rows[0]
    sort = lambda: np.argsort(table, axis=None)  # noqa: E731
    print(f"{N:,} discontinuities of {N // 100:,} functions; sorting them takes {seconds(sort):.2f} s here")
    at_most(
        "measure, 41 eps and 8 prefixes, from scratch, over sorting",
        ratio(lambda: sb.dispersion.measure(table, UNIT), sort, repeats=3),
        10.0,
    )
    for eps in (1e-6, 1e-4, 0.1):
        at_most(
            f"D(T, eps) for eps = {eps:g} once sorted, over sorting",
            ratio(lambda eps=eps: breaks.worst(eps), sort, repeats=5),
            0.1,
        )
    at_most(
        "largest w for k = 1000 once sorted, over sorting",
        ratio(lambda: breaks.smallest_span(1001), sort, repeats=5),
        0.1,
    )
    small = collect(table[:1000], UNIT, None).rows[0]
    x, owner = small.start.tolist(), small.owner.tolist()
    at_least(
        "sliding window with counters in Python, over ours; N = 100,000",
        1.0 / ratio(lambda: small.worst(1e-4), lambda: counters(x, owner, small.T, 1e-4)),
        50.0,
    )
    few = collect(table[:100_000, :10], UNIT, None).rows[0]
    at_most(
        "growth of one eps from N = 10^6 to 10^7, over 10",
        ratio(lambda: breaks.worst(1e-4), lambda: few.worst(1e-4), repeats=5) / 10.0,
        2.0,
    )


if __name__ == "__main__":
    main()
    finish()
