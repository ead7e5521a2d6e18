"""The end of `semibandit tune`: the values tried, and whether to keep the default."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from semibandit.tuning import Race, Racer, Tuner
    from semibandit.tuning.verdict import Tried


def verdict_rows(tuner: Tuner) -> Iterator[tuple[str, str]]:
    """Two columns: what is recommended against the default, and what follows from it."""
    from semibandit.tuning.verdict import verdict

    if tuner.default is None:
        yield "against a default", "--default ρ, or --default middle, compares with one"
        return
    found = verdict(tuner)
    name = f"against ρ = {tuner.default:.6g}"
    if found is None:
        yield name, "cannot tell: they were not run on the same instances yet"
        return
    low, high = found.bounds
    error = "" if math.isnan(found.error) else f" ± {found.error:.2g}"
    values = "" if found.lo == found.hi else f" (ρ from {found.lo:.4g} to {found.hi:.4g})"
    runs = f"{found.pairs} instance{'' if found.pairs == 1 else 's'} run with both{values}"
    yield name, f"[bold]{found.answer}[/bold]"
    yield "difference", f"{found.recommended - found.default:+.3g}{error} on {runs}"
    yield "surely within", f"{low:+.3g} to {high:+.3g} (95 %, whenever one looks)"
    if found.answer != "better":
        yield "so", f"keep the default {tuner.default:.6g}"
    if found.answer == "cannot tell" and found.needed is not None:
        yield "or go on", f"some {found.needed} instances would tell, if like these {found.pairs}"


def values_table(tuner: Tuner) -> Table:
    """The values tried: mean loss, its standard error, runs; the default last."""
    from rich import box
    from rich.table import Table

    from semibandit.tuning.verdict import of_default, tried

    table = Table(box=box.SIMPLE)
    for column in ("ρ", "mean value" if tuner.settings.maximize else "mean loss", "± error", "runs"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in tried(tuner.finished, (tuner.settings.lo, tuner.settings.hi)):
        name = f"{row.lo:.6g}" if row.lo == row.hi else f"{row.lo:.4g} to {row.hi:.4g}"
        table.add_row(name, *_figures(row))
    if tuner.default is not None and (other := of_default(tuner.finished, tuner.default)) is not None:
        table.add_row(f"default {other.lo:.6g}", *_figures(other))
    return table


def _figures(row: Tried) -> tuple[str, str, str]:
    return f"{row.mean:.6g}", "" if math.isnan(row.error) else f"{row.error:.2g}", str(row.runs)


def standings_table(tuner: Racer) -> Table:
    """The values of a race: the mean loss on all instances run, and the difference to the leader."""
    from rich import box
    from rich.table import Table

    word = "value" if tuner.settings.maximize else "loss"
    table = Table(box=box.SIMPLE)
    for column in ("ρ", f"mean {word}", "± to the leader", "runs", ""):
        table.add_column(column, justify="right", no_wrap=True)
    race: Race = tuner.learner
    best = race.recommend().rho
    for row in race.standings():
        names = ["leads"] if row.rho == best else ["to the end"] if row.racing else []
        names += ["default"] if row.rho == race.default else []
        error = "" if math.isnan(row.error) else f"{row.error:.2g}"
        table.add_row(f"{row.rho:.6g}", f"{row.mean:.6g}", error, str(row.runs), ", ".join(names))
    return table
