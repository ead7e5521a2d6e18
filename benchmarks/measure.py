"""How the benchmarks measure: ratios of two things timed in turn, in one process, held against targets.

What a script says while it works goes to the standard error; its results go to the standard output, as tables
in Markdown with names, which `tools/figures.py` puts into the documentation. A script ends with `finish()`,
which prints the table of all figures and exits with 1 if any target was missed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
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


# -- what was measured: the figure, its target, and whether that was met (None: there is no target) -------

_figures: dict[str, tuple[str, str, bool | None]] = {}


def say(text: str) -> None:
    """Tell whoever waits how far it is."""
    print(text, file=sys.stderr, flush=True)


def show(what: str, value: float, target: str, holds: bool) -> None:
    """Note a figure beside its target, and whether the target was met."""
    _figures[what] = figure(value), target, bool(holds)
    say(f"{what:<68} {value:>10.4g}   target {target:<12} {'OK' if holds else 'MISSED'}")


def note(what: str, value: float | str) -> None:
    """Note a figure that has no target."""
    text = value if isinstance(value, str) else figure(value)
    _figures[what] = text, "", None
    say(f"{what:<68} {text:>10}")


def at_most(what: str, value: float, target: float) -> None:
    """A ratio (ours over theirs) that should be small."""
    show(what, value, f"≤ {target:g}", value <= target)


def at_least(what: str, value: float, target: float) -> None:
    """A speed-up (theirs over ours) that should be large."""
    show(what, value, f"≥ {target:g}", value >= target)


# -- results --------------------------------------------------------------------------------------------


def figure(x: float) -> str:
    """A ratio: three digits, or all before the point."""
    return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.3g}"


def number(x: float) -> str:
    """A regret, or another figure of that kind."""
    return f"{x:.0f}" if abs(x) >= 100 else f"{x:.1f}"


def table(name: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table in Markdown under its name."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    print(
        f"<!-- {name} -->\n",
        f"| {' | '.join(head)} |",
        "|---" * len(head) + "|",
        *lines,
        "",
        sep="\n",
        flush=True,
    )


def run_parts(parts: Mapping[str, Callable[[], None]], about: str | None, name: str = "targets") -> None:
    """The parts of a script that the command line names, or all of them; then `finish`."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"of {', '.join(parts)}; all if none is named"
    )
    chosen = parser.parse_args().parts or list(parts)
    if unknown := [part for part in chosen if part not in parts]:
        parser.error(f"there is no part {', '.join(unknown)}: choose from {', '.join(parts)}")
    for part in chosen:
        parts[part]()
    finish(name)


def finish(name: str = "targets") -> None:
    """Print all figures beside their targets under a name, and leave with an error if one was missed."""
    words = {True: "met", False: "**missed**", None: ""}
    rows = [(what, value, target, words[holds]) for what, (value, target, holds) in _figures.items()]
    if rows:
        table(name, ("", "", "target", ""), rows)
    missed = [what for what, (*_, holds) in _figures.items() if holds is False]
    sys.exit("\n".join([f"{len(missed)} of {len(_figures)} targets missed:", *missed]) if missed else 0)
