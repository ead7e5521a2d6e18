"""How the benchmarks measure: ratios of two things timed in turn, in one process."""

from __future__ import annotations

import statistics
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


def show(what: str, value: float, target: str, holds: bool) -> None:
    print(f"{what:<68} {value:>10.4g}   target {target:<12} {'ok' if holds else 'MISSED'}", flush=True)


def at_most(what: str, value: float, target: float) -> None:
    """Print a ratio (ours over theirs) that should be small."""
    show(what, value, f"<= {target:g}x", value <= target)


def at_least(what: str, value: float, target: float) -> None:
    """Print a speed-up (theirs over ours) that should be large."""
    show(what, value, f">= {target:g}x", value >= target)
