"""`semibandit fit`: the best parameter of a log of instances, on many cores."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semibandit._extras import needed
from semibandit.cli.problems import Case, add_commands
from semibandit.cli.terminal import console, drawable, plain

if TYPE_CHECKING:
    from semibandit.fitting import Fit

app = typer.Typer(
    help="Find the best fixed parameter of a log of instances, exactly, and how sure that is.",
    no_args_is_help=True,
)

_MOST_NAMED = 20  # of the instances that could not be read


def fit(
    case: Case,
    *,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Processes on this machine; -1 for one per processor.")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Work on the Dask cluster of this scheduler, tcp://..."),
    ] = None,
    default: Annotated[
        float | None, typer.Option(help="The ρ to compare with; by default the usual one of the family.")
    ] = None,
    holdout: Annotated[
        float, typer.Option(help="Choose by all but this share of instances, and check on these.")
    ] = 0.0,
    level: Annotated[float, typer.Option(help="The probability with which each bound holds.")] = 0.95,
    chunk: Annotated[int | None, typer.Option(min=1, help="Instances that a worker takes at a time.")] = None,
    max_pieces: Annotated[
        int, typer.Option(min=2, help="Pieces of a sum to hold; a larger one takes several passes.")
    ] = 4_000_000,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Go on past instances that cannot be read, and count them.")
    ] = False,
    png: Annotated[
        Path | None,
        typer.Option(callback=drawable, help="Draw the mean loss with its confidence band."),
    ] = None,
) -> None:
    """Fit a family's log, and show what was found."""
    from semibandit.fitting import fit as fitted

    default = case.default if default is None else default
    start = perf_counter()
    with _client(scheduler) as client:
        result = fitted(
            case.stream,
            n_jobs=jobs,
            client=client,
            default=default,
            holdout=holdout,
            level=level,
            chunk=chunk,
            max_pieces=max_pieces,
            unreadable="skip" if skip_bad else "raise",
            progress=True,
        )
    _name_bad(result)
    out = console()
    out.print(_table(result, case.title, default, perf_counter() - start))
    if png is not None:
        _draw(result, case.title, default, png)
        out.print(f"wrote {png}")


add_commands(app, fit, on_demand=True)


def _client(scheduler: str | None) -> AbstractContextManager[Any]:
    if scheduler is None:
        return nullcontext()
    with needed("--scheduler", "dask"):
        from distributed import Client
    return Client(scheduler)  # type: ignore[no-any-return]


def _name_bad(result: Fit) -> None:
    for each in result.unreadable[:_MOST_NAMED]:
        typer.echo(f"skipped {plain(str(each))}", err=True)
    if len(result.unreadable) > _MOST_NAMED:
        typer.echo(f"skipped {len(result.unreadable) - _MOST_NAMED} more", err=True)


def _table(result: Fit, title: str, default: float | None, seconds: float) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, show_header=False
    )
    table.add_column(no_wrap=True)
    table.add_column()
    sure = result.confidence
    lo, hi = result.interval
    table.add_row("best ρ", f"{result.rho:.6g}, as is all of [{lo:.6g}, {hi:.6g})")
    if result.alpha is not None:
        table.add_row("with α", f"{result.alpha:g}" if isinstance(result.alpha, float) else str(result.alpha))
    table.add_row("mean loss", f"{result.mean_loss:.6g} over {result.count:,} instances")
    checked = f"on {result.held_out:,} held out" if result.held_out else "uniform; --holdout 0.2 narrows it"
    table.add_row(
        f"expected loss, {sure.level:.0%}", f"{sure.loss.low:.4g} to {sure.loss.high:.4g} ({checked})"
    )
    if sure.gap is not None:
        gap = f"worse by {sure.gap.value:.4g}; to be expected, {sure.gap.low:.4g} to {sure.gap.high:.4g}"
        table.add_row(f"default ρ = {default:g}", gap)
    table.add_row("band", f"the mean loss is within {sure.radius:.4g} of the expected one, everywhere")
    if result.unreadable:
        table.add_row("not read", f"{len(result.unreadable):,} instances")
    table.add_row(
        "breaks", f"{result.breaks:,} ({result.breaks / result.count:.3g} each), passes: {result.passes}"
    )
    table.add_row("time", f"{seconds:.1f} s, {1e3 * seconds / result.count:.3g} ms an instance")
    return table


def _draw(result: Fit, title: str, default: float | None, png: Path) -> None:
    from semibandit import plots
    from semibandit.plots.figures import new_figure

    figure = new_figure(figsize=(9, 5.5), dpi=110)
    plots.fit(result, figure.subplots(), default=default).set_title(title)
    figure.savefig(png)
