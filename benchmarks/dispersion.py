"""What it costs to measure dispersion: N discontinuities in seconds, as multiples of sorting them.

Run: python benchmarks/dispersion.py [N]   (default 10,000,000)
"""

import sys
import time
from statistics import median

import numpy as np

import semibandit as sb
from semibandit.dispersion import measure
from semibandit.dispersion.breaks import collect

REPETITIONS = 5
UNIT = sb.Interval(0, 1)


def seconds(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def main():
    N = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    x = np.random.default_rng(0).random((N // 100, 100))
    measure(x[:100], UNIT)  # compile
    breaks, _ = collect(x, UNIT, 0.0)
    breaks.worst(0.0)
    calls = {
        "sort": lambda: np.argsort(x, axis=None),
        "one eps": lambda: breaks.worst(1e-4),
        "wide eps": lambda: breaks.worst(0.5),
        "w for k": lambda: breaks.smallest_span(1000),
        "loop": lambda: counters(breaks.start[: N // 1000], breaks.owner[: N // 1000], breaks.T, 1e-4),
        "measure": lambda: measure(x, UNIT),
    }
    times = {name: [] for name in calls}
    for _ in range(REPETITIONS):
        for name, call in calls.items():
            times[name].append(seconds(call))
    t = {name: median(values) for name, values in times.items()}
    print(f"{N:,} discontinuities of {N // 100:,} functions, median of {REPETITIONS}\n")
    print(f"  {'what':<44}{'seconds':>9}{'of a sort':>11}   target")
    rows = [
        ("sorting them (numpy argsort)", "sort", ""),
        ("D(T, eps) for one short eps, once sorted", "one eps", "<= 0.2"),
        ("D(T, eps) for one long eps, once sorted", "wide eps", "<= 0.2"),
        ("the largest w for k = 1000, once sorted", "w for k", "<= 0.3"),
        ("measure: 41 eps x 8 prefixes, from scratch", "measure", "<= 15"),
    ]
    for label, name, target in rows:
        print(f"  {label:<44}{t[name]:>9.3f}{t[name] / t['sort']:>11.2f}   {target}")
    print(
        f"\n  a plain Python loop takes {1000 * t['loop'] / t['one eps']:,.0f} times as long for one eps"
        " (timed on a thousandth)"
    )


def counters(x, owner, T, eps):
    """The plain sliding window, on a thousandth of the input."""
    inside, left, distinct, most = [0] * T, 0, 0, 0
    x, owner = x.tolist(), owner.tolist()
    for right in range(len(x)):
        inside[owner[right]] += 1
        distinct += inside[owner[right]] == 1
        while x[right] - x[left] > eps:
            inside[owner[left]] -= 1
            distinct -= inside[owner[left]] == 0
            left += 1
        most = max(most, distinct)
    return most


if __name__ == "__main__":
    main()
