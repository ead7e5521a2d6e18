"""Measure ratios of two things timed in turn in one process, compare them with targets, and print tables.

Progress goes to the standard error. Results go to the standard output as Markdown tables with names,
from which `tools/figures.py` fills the documentation. `finish()` exits with 1 if a target was missed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter
from typing import Any

_figures: dict[str, tuple[str, str, bool | None]] = {}  # value, target, whether it was met (None: no target)


def seconds(run: Callable[[], Any], calls: int = 1) -> float:
    start = perf_counter()
    for _ in range(calls):
        run()
    return (perf_counter() - start) / calls


def ratio(
    ours: Callable[[], Any], theirs: Callable[[], Any], *, repeats: int = 7, calls: tuple[int, int] = (1, 1)
) -> float:
    """Return the time of `ours` over that of `theirs`: the median over repetitions, the two alternating."""
    ours(), theirs()
    return statistics.median(seconds(ours, calls[0]) / seconds(theirs, calls[1]) for _ in range(repeats))


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def show(what: str, value: float, target: str, holds: bool) -> None:
    """Record a figure with a target."""
    _figures[what] = figure(value), target, bool(holds)
    say(f"{what:<68} {value:>10.4g}   target {target:<12} {'OK' if holds else 'MISSED'}")


def note(what: str, value: float | str) -> None:
    """Record a figure without a target."""
    _figures[what] = value if isinstance(value, str) else figure(value), "", None
    say(f"{what:<68} {_figures[what][0]:>10}")


def at_most(what: str, value: float, target: float) -> None:
    show(what, value, f"≤ {target:g}", value <= target)


def at_least(what: str, value: float, target: float) -> None:
    show(what, value, f"≥ {target:g}", value >= target)


def figure(x: float) -> str:
    return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.3g}"


def number(x: float) -> str:
    """Format a regret."""
    return f"{x:.0f}" if abs(x) >= 100 else f"{x:.1f}"


def table(name: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a Markdown table below its name."""
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    lines.insert(1, "|---" * len(head) + "|")
    print(f"<!-- {name} -->\n", *lines, "", sep="\n", flush=True)


def options(about: str | None, parts: Sequence[str] = (), **defaults: Any) -> argparse.Namespace:
    """Parse the command line: an option per keyword, of the type of its default (a list: several words)."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    if parts:
        parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(parts)}; default: all")
    for name, default in defaults.items():
        flag = f"--{name.replace('_', '-')}"
        if default is False:
            parser.add_argument(flag, action="store_true")
        elif isinstance(default, list):
            parser.add_argument(flag, nargs="+", default=default, choices=default)
        else:
            parser.add_argument(flag, type=str if default is None else type(default), default=default)
    return parser.parse_args()


def choose(names: str | None, known: Iterable[str]) -> list[str]:
    """Return the names of a comma-separated list, or all that are known."""
    known = list(known)
    chosen = known if names is None else names.split(",")
    if unknown := [name for name in chosen if name not in known]:
        sys.exit(f"unknown: {', '.join(unknown)}; choose from {', '.join(known)}")
    return chosen


def run_parts(
    parts: Mapping[str, Callable[..., None]], about: str | None, name: str = "targets", **defaults: Any
) -> None:
    """Run the parts that the command line names, or all, with the options as arguments; then finish."""
    given = vars(options(about, list(parts), **defaults))
    for part in choose(",".join(given.pop("parts")) or None, parts):
        parts[part](**given)
    finish(name)


def finish(name: str = "targets") -> None:
    """Print all figures with their targets, and exit with 1 if one was missed."""
    words = {True: "met", False: "**missed**", None: ""}
    if _figures:
        table(
            name, ("", "", "target", ""), ((what, v, t, words[ok]) for what, (v, t, ok) in _figures.items())
        )
    missed = [what for what, (*_, holds) in _figures.items() if holds is False]
    sys.exit("\n".join([f"{len(missed)} of {len(_figures)} targets missed:", *missed]) if missed else 0)
