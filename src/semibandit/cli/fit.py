"""`semibandit fit`: find the best parameter of a log of instances, on many cores."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semibandit._extras import needed
from semibandit.cli.problems import Case, add_commands, command_of
from semibandit.cli.terminal import console, drawable, plain, table

if TYPE_CHECKING:
    from semibandit.fitting import Estimate, Fit

app = typer.Typer(
    help="Find the exact best fixed parameter of a log of instances, with confidence bounds.",
    no_args_is_help=True,
)

_MOST_NAMED = 20  # unreadable instances that are listed


def fit(
    case: Case,
    *,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Number of processes; -1 for one per processor.")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Address of a Dask scheduler, tcp://..., to work on its cluster."
        ),
    ] = None,
    default: Annotated[
        float | None, typer.Option(help="ρ to compare with. Default: that of the family.")
    ] = None,
    holdout: Annotated[
        float, typer.Option(help="Share of instances used to check the parameter, not to choose it.")
    ] = 0.0,
    level: Annotated[float, typer.Option(help="Probability with which each bound holds.")] = 0.95,
    chunk: Annotated[int | None, typer.Option(min=1, help="Number of instances per chunk.")] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Skip instances that cannot be read, and count them.")
    ] = False,
    checkpoint: Annotated[
        Path | None, typer.Option(help="File of what is done; the same command continues after a stop.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON instead of a table.")
    ] = False,
    png: Annotated[
        Path | None,
        typer.Option(callback=drawable, help="Draw the mean loss with its confidence band."),
    ] = None,
) -> None:
    """Fit the log of a family, and print the result."""
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
            unreadable="skip" if skip_bad else "raise",
            progress=True,
            checkpoint=checkpoint,
        )
    _name_bad(result)
    out = console()
    if as_json:
        typer.echo(json.dumps(result.to_dict()))
    else:
        out.print(_table(result, case.title, default, perf_counter() - start))
    if png is not None:
        _draw(result, case.title, default, png)
        typer.echo(f"wrote {png}", err=True)


def log(
    files: Annotated[
        list[str], typer.Option("--files", help="Files, folders, patterns or addresses; repeat for several.")
    ],
) -> Case:
    """Loss functions of a log: JSON lines, CSV, Parquet or Arrow, also .gz and on other machines (fsspec)."""
    from semibandit.streams import read_losses

    return Case(read_losses(files), f"log of {', '.join(files)}")


add_commands(app, fit, on_demand=True)
app.command("log")(command_of(log, fit))


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
    bounds = result.confidence
    lo, hi = result.interval
    rows = [("best ρ", f"{result.rho:.6g}, and all of [{lo:.6g}, {hi:.6g})")]
    if result.alpha is not None:
        rows.append(("with α", f"{result.alpha:g}" if isinstance(result.alpha, float) else str(result.alpha)))
    rows.append(("mean loss", f"{result.mean_loss:.6g} over {result.count:,} instances"))
    method = f"{result.held_out:,} held out" if result.held_out else "uniform bound; --holdout 0.2 narrows it"
    rows.append((f"expected loss, {bounds.level:.0%}", f"{_range(bounds.loss)} ({method})"))
    if bounds.gap is not None:
        gap = f"worse by {bounds.gap.value:.4g}; expected: {_range(bounds.gap)}"
        rows.append((f"default ρ = {default:g}", gap))
    band = "vacuous: wider than the range of the losses"
    if not bounds.vacuous:
        band = f"mean loss within {bounds.radius:.4g} of the expected loss, for all ρ"
    rows.append(("band", band))
    if result.unreadable:
        rows.append(("unreadable", f"{len(result.unreadable):,} instances"))
    rows.append(("breaks", f"{result.breaks:,} ({result.breaks / result.count:.3g} per instance)"))
    rows.append(("time", f"{seconds:.1f} s, {1e3 * seconds / result.count:.3g} ms per instance"))
    return table(rows, title=title)


def _range(estimate: Estimate) -> str:
    """Return a confidence interval as text."""
    return "vacuous" if estimate.vacuous else f"{estimate.low:.4g} to {estimate.high:.4g}"


def _draw(result: Fit, title: str, default: float | None, png: Path) -> None:
    from semibandit import plots
    from semibandit.plots.figures import new_figure

    figure = new_figure(figsize=(9, 5.5), dpi=110)
    plots.fit(result, figure.subplots(), default=default).set_title(title)
    figure.savefig(png)
