"""`semibandit study`: list, show, export, prune and delete studies."""

from __future__ import annotations

import csv
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from semibandit.studies.log.history import StudyRound
    from semibandit.studies.study import Study

app = typer.Typer(help="List, show, export, prune and delete studies.", no_args_is_help=True)

Storage = Annotated[str, typer.Option(help="Address of the store: sqlite:///path or postgresql://...")]
Name = Annotated[str, typer.Argument(help="Name of the study.")]


@app.command("list")
def list_studies(storage: Storage) -> None:
    """List all studies of a store."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from semibandit.studies.log.stores import open_store

    table = Table(box=None, pad_edge=False)
    for column in ("study", "rounds", "failed", "pending", "to deploy", "last event"):
        table.add_column(column, justify="left" if column == "study" else "right")
    store = open_store(storage, create=False)
    names = list(store.studies().values())
    store.close()
    for name in names:
        with _open(storage, name) as study:
            counts = study.summary().counts
            best = study.recommend()
            deploy = ", ".join(map(_shown, best.values.values())) if counts.told else "-"
            numbers = map(str, (counts.told, counts.failed, len(study.pending)))
            table.add_row(Text(name), *numbers, Text(deploy), _time(counts.at))
    Console().print(table)


@app.command()
def show(name: Name, storage: Storage) -> None:
    """Show the state of a study."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from semibandit.studies.settings import read_space

    table = Table(box=None, show_header=False, pad_edge=False)
    with _open(storage, name) as study:
        counts, settings = study.summary().counts, study.settings
        best = study.recommend()
        table.add_row("study", Text(study.name))
        table.add_row("created", _time(counts.began))
        table.add_row("last event", f"{_time(counts.at)}, number {study.n_events}")
        table.add_row(
            "learner", Text(f"{settings.learner}, seed {settings.seed}, {settings.options or 'defaults'}")
        )
        table.add_row("space", Text(read_space(settings.space).describe()))
        table.add_row("rounds", f"{counts.told} told, {counts.failed} failed, {len(study.pending)} pending")
        if counts.n_losses:
            table.add_row("mean loss", f"{counts.loss / counts.n_losses:.6g}")
            for i, (knob, value) in enumerate(zip(best.names or "ρα", best.values.values(), strict=False)):
                interval = " (interval {:.6g} to {:.6g})".format(*best.interval) if i == 0 else ""
                table.add_row(Text(f"{knob} to deploy"), Text(_shown(value) + interval))
        for failure, count in sorted(counts.failures.items(), key=lambda item: -item[1])[:5]:
            table.add_row("failed", Text(f"{count} times: {failure}"))
        for lease in study.pending[:10]:
            table.add_row(
                "pending",
                Text(f"trial {lease.trial}, ρ = {lease.rho:.6g}, {lease.worker}, since {_time(lease.at)}"),
            )
        if counts.note:
            table.add_row("note", Text(counts.note))
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

    from semibandit.spaces import values_of
    from semibandit.studies.settings import read_space

    if as_csv == as_json:
        raise ValueError("choose one of --csv and --json")
    with _open(storage, name) as study:
        rounds, names = study.history(), read_space(study.settings.space).names
    if as_json:
        for record in rounds:
            sys.stdout.write(msgspec.json.encode(record).decode() + "\n")
        return
    before = ("event", "trial", "at", "seconds", "worker")
    after = ("loss", "width", "probability", "failure")
    knobs = names or ("rho", "alpha")
    extra = sorted({key for record in rounds for key in record.info or {}})
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*before, *knobs, *after, *extra])
    for record in rounds:
        values = values_of(names, record.rho, record.alpha)
        played = [values.get(knob) for knob in knobs]
        info = [(record.info or {}).get(key) for key in extra]
        writer.writerow([*_row(record, before), *played, *_row(record, after), *info])


@app.command()
def prune(name: Name, storage: Storage) -> None:
    """Forget the trials whose lease has expired."""
    with _open(storage, name) as study:
        print(f"{study.prune()} trials were overdue")


@app.command()
def delete(
    name: Name,
    storage: Storage,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Delete a study with all its events."""
    from semibandit.studies.log.stores import UnknownStudyError, open_store, public

    store = open_store(storage, create=False)
    number = store.find(name)
    if number is None:
        raise UnknownStudyError(f"there is no study {name!r} in {public(storage)}")
    if not yes:
        typer.confirm(f"Delete the study {name!r} with all its events?", abort=True)
    store.delete(number)
    store.close()


def _open(storage: str, name: str) -> Study:
    from semibandit.studies.log.stores import UnknownStudyError, open_store, public
    from semibandit.studies.study import Study

    open_store(storage, create=False).close()  # a missing file raises FileNotFoundError
    try:
        return Study(storage, name)
    except UnknownStudyError:
        known = "`semibandit study list` shows all studies"
        raise UnknownStudyError(f"there is no study {name!r} in {public(storage)}; {known}") from None


def _shown(value: Any) -> str:
    """Return the value of a knob for a table."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _row(record: StudyRound, columns: tuple[str, ...]) -> list[object]:
    return [getattr(record, column) for column in columns]


def _time(seconds: float) -> str:
    from datetime import datetime

    return datetime.fromtimestamp(seconds).astimezone().isoformat(" ", "seconds")
