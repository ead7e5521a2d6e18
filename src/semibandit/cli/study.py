"""`semibandit study`: list, show, export, prune and delete studies."""

from __future__ import annotations

import csv
import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from semibandit.studies.history import Round
    from semibandit.studies.study import Study

app = typer.Typer(help="Look after studies: knobs that are tuned in production.", no_args_is_help=True)

Storage = Annotated[
    str, typer.Option(help="Where the studies are: sqlite:///path, postgresql://... or journal:///path.")
]
Name = Annotated[str, typer.Argument(help="The name of the study.")]


@app.command("list")
def list_studies(storage: Storage) -> None:
    """List all studies of a store."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from semibandit.studies.stores import open_store

    table = Table(box=None, pad_edge=False)
    for column in ("study", "rounds", "failed", "pending", "ρ to deploy", "last event"):
        table.add_column(column, justify="left" if column == "study" else "right")
    store = open_store(storage)
    names = [entry.name for entry in store.studies()]
    store.close()
    for name in names:
        with _open(storage, name) as study:
            tally = study.portrait().tally
            rho = f"{study.recommend().rho:.6g}" if tally.told else "-"
            counts = map(str, (tally.told, tally.failed, len(study.pending)))
            table.add_row(Text(name), *counts, rho, _time(tally.at))
    Console().print(table)


@app.command()
def show(name: Name, storage: Storage) -> None:
    """Show where a study stands."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    with _open(storage, name) as study:
        tally, settings = study.portrait().tally, study.settings
        best = study.recommend()
        table.add_row("study", Text(study.name))
        table.add_row("begun", _time(tally.began))
        table.add_row("last event", f"{_time(tally.at)}, number {study.n_events}")
        table.add_row(
            "learner", Text(f"{settings.learner}, seed {settings.seed}, {settings.options or 'defaults'}")
        )
        table.add_row("space", Text(str(settings.space)))
        table.add_row("rounds", f"{tally.told} told, {tally.failed} failed, {len(study.pending)} pending")
        if tally.n_losses:
            table.add_row("mean loss", f"{tally.loss / tally.n_losses:.6g}")
            table.add_row(
                "ρ to deploy",
                f"{best.rho:.6g}, which stands for {best.interval[0]:.6g} to {best.interval[1]:.6g}",
            )
        for failure, count in sorted(tally.failures.items(), key=lambda item: -item[1])[:5]:
            table.add_row("failed", Text(f"{count} times: {failure}"))
        for lease in study.pending[:10]:
            table.add_row(
                "pending",
                Text(f"trial {lease.trial}, ρ = {lease.rho:.6g}, {lease.worker}, since {_time(lease.since)}"),
            )
        if tally.note:
            table.add_row("note", Text(tally.note))
    Console(highlight=False).print(table)


@app.command()
def export(
    name: Name,
    storage: Storage,
    as_csv: Annotated[bool, typer.Option("--csv", help="Rounds as comma-separated values.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Rounds as one JSON object per line.")] = False,
) -> None:
    """Write the rounds of a study to the standard output."""
    import msgspec

    if as_csv == as_json:
        raise ValueError("choose one of --csv and --json")
    with _open(storage, name) as study:
        rounds = study.history()
    if as_json:
        for record in rounds:
            sys.stdout.write(msgspec.json.encode(record).decode() + "\n")
        return
    columns = (
        "event",
        "trial",
        "at",
        "seconds",
        "worker",
        "rho",
        "alpha",
        "loss",
        "width",
        "probability",
        "failure",
    )
    extra = sorted({key for record in rounds for key in record.info or {}})
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*columns, *extra])
    for record in rounds:
        writer.writerow(_row(record, columns) + [(record.info or {}).get(key) for key in extra])


@app.command()
def prune(name: Name, storage: Storage) -> None:
    """Forget trials whose lease has run out, and drop snapshots that are not needed; no event is lost."""
    with _open(storage, name) as study:
        print(f"{study.prune()} trials were overdue")


@app.command()
def delete(
    name: Name,
    storage: Storage,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a study with all its events."""
    from semibandit.studies.stores import UnknownStudyError, open_store, public

    store = open_store(storage)
    number = store.find(name)
    if number is None:
        raise UnknownStudyError(f"there is no study {name!r} in {public(storage)}")
    if not yes:
        typer.confirm(f"Delete the study {name!r} with all its events?", abort=True)
    store.delete(number)
    store.close()


def _open(storage: str, name: str) -> Study:
    from semibandit.studies.study import Study

    return Study(storage, name)


def _row(record: Round, columns: tuple[str, ...]) -> list[object]:
    return [getattr(record, column) for column in columns]


def _time(seconds: float) -> str:
    from datetime import datetime

    return datetime.fromtimestamp(seconds).astimezone().isoformat(" ", "seconds")
