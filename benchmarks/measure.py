"""How the benchmarks measure: ratios of two things timed in turn, in one process, held against targets.

A script ends with `finish()`, which exits with 1 if any of its targets was missed.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any


def seconds(run: Callable[[], Any], calls: int = 1) -> float:
    start = perf_counter()
    for _ in range(calls):
        run()
    return (perf_counter() - start) / calls


def ratio(
    ours: Callable[[], Any], theirs: Callable[[], Any], *, repeats: int = 7, calls: tuple[int, int] = (1, 1)
) -> float:
    """Time of `ours` over time of `theirs`: the median over repetitions, the two taking turns."""
    ours(), theirs()
    quotients = [seconds(ours, calls[0]) / seconds(theirs, calls[1]) for _ in range(repeats)]
    return statistics.median(quotients)


# What was measured: the figure, its target, and whether that was met.
_targets: dict[str, tuple[float, str, bool]] = {}


def show(what: str, value: float, target: str, holds: bool) -> None:
    """Print a figure beside its target, and remember whether the target was met."""
    _targets[what] = value, target, bool(holds)
    print(f"{what:<68} {value:>10.4g}   target {target:<12} {'OK' if holds else 'MISSED'}", flush=True)


def shown() -> str:
    """All figures so far beside their targets, as a table in Markdown."""
    rows = [
        f"| {what} | {value:.3g} | {target} | {'met' if holds else '**missed**'} |"
        for what, (value, target, holds) in _targets.items()
    ]
    return "\n".join(["| | | target | |", "|---|---|---|---|", *rows])


def finish() -> None:
    """Leave the script, with an error if a target was missed."""
    missed = [what.strip() for what, (*_, holds) in _targets.items() if not holds]
    sys.exit("\n".join([f"{len(missed)} of {len(_targets)} targets missed:", *missed]) if missed else 0)


def at_most(what: str, value: float, target: float) -> None:
    """Print a ratio (ours over theirs) that should be small."""
    show(what, value, f"<= {target:g}x", value <= target)


def at_least(what: str, value: float, target: float) -> None:
    """Print a speed-up (theirs over ours) that should be large."""
    show(what, value, f">= {target:g}x", value >= target)
