"""`semibandit dispersion`: measure the dispersion of a stream, and the regret bound that follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semibandit.cli.problems import Case, add_commands
from semibandit.cli.terminal import console as new_console
from semibandit.cli.terminal import drawable, table

if TYPE_CHECKING:
    from semibandit.dispersion.bounds import DispersionFunction
    from semibandit.dispersion.measuring import Dispersion
    from semibandit.spaces.interval import Interval

app = typer.Typer(
    help="Measure the dispersion of a stream, and the regret bound that follows.",
    no_args_is_help=True,
)

Png = Annotated[
    Path | None,
    typer.Option(
        callback=drawable, help="Plot D(T, ε) with its bounds, and a histogram of the discontinuities."
    ),
]


def measure(case: Case, *, png: Png = None) -> None:
    """Measure the stream of a family, and compare it with its theorem if there is one."""
    problems = list(case.stream)
    bound = None if case.bound is None else case.bound(problems)
    report(problems, case.title, png=png, bound=bound, bound_name=case.bound_name)


add_commands(app, measure)


@app.command()
def edges(
    files: Annotated[
        list[Path], typer.Argument(help="Text files with the discontinuities of one function per line.")
    ],
    lo: Annotated[float, typer.Option(help="Lower end of the parameter.")] = 0.0,
    hi: Annotated[float, typer.Option(help="Upper end of the parameter.")] = 1.0,
    png: Png = None,
) -> None:
    """Discontinuities from files: one line per function, numbers separated by blanks or commas."""
    from semibandit.spaces.interval import Interval

    functions = [function for file in files for function in read_edges(file)]
    report(functions, ", ".join(file.name for file in files), png=png, space=Interval(lo, hi))


def read_edges(file: Path) -> Iterator[list[float]]:
    """Yield the discontinuities of each line; an empty line is a function without any, # begins a comment."""
    for number, line in enumerate(file.read_text().splitlines(), start=1):
        if line.lstrip().startswith("#"):
            continue
        try:
            yield [float(word) for word in line.replace(",", " ").split()]
        except ValueError:
            raise ValueError(f"{file}, line {number}: expected numbers, got {line.strip()!r}") from None


# -- the report ------------------------------------------------------------------------------------------


def report(
    problems: Sequence[Any],
    title: str,
    *,
    png: Path | None = None,
    space: Interval | None = None,
    bound: DispersionFunction | None = None,
    bound_name: str = "the theorem",
) -> None:
    """Measure a stream, print the result, and plot it to `png` if given."""
    from rich.progress import track

    from semibandit import dispersion

    console = new_console()
    watched = track(problems, "loss functions", console=console, transient=True)
    result = dispersion.measure(watched, space)
    console.print(_table(result, title, bound, bound_name))
    console.print(result.verdict(), style="bold green" if result.dispersed else "bold red", soft_wrap=True)
    if png is not None:
        result.plot(png, bound=bound, bound_name=bound_name, title=title)
        console.print(f"wrote {png}")


def _table(result: Dispersion, title: str, bound: DispersionFunction | None, bound_name: str) -> Any:
    T, width = result.T, result.space.width
    low, high = result.beta_range
    rows = [
        ("functions", f"{T:,}"),
        ("discontinuities", f"{result.discontinuities:,} ({result.discontinuities / T:.3g} each)"),
        ("β", f"{result.beta:.2f} ({low:.2f} to {high:.2f} over T = {result.prefixes[0]} to {T})"),
    ]
    for share in (T**-0.5, 1.0 / T):
        worst = result.worst(width * share)
        text = "no function breaks"
        if worst.functions:
            text = f"{worst.functions} functions break in [{worst.lo:.6g}, {worst.hi:.6g}]"
        if bound is not None:
            at_most = bound(T, width * share)
            limit = "vacuous: larger than T" if at_most >= T else f"at most {at_most:,.0f} in expectation"
            text += f"\n{bound_name}: {limit}"
        rows.append((f"worst of length {width * share:.3g}", text))
    for rounds in (T, 10 * T):
        bound_on_regret = result.regret(rounds)
        rate = "" if bound_on_regret.vacuous else f", learning rate {bound_on_regret.rate:.2g}"
        rows.append((f"regret, T = {rounds:,}", f"{bound_on_regret}{rate}"))
    return table(rows, title=title)
