"""`semibandit study`: list, show, export, prune and delete studies."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from semibandit.studies.study import Study

app = typer.Typer(help="List, show, export, prune and delete studies.", no_args_is_help=True)

Storage = Annotated[str, typer.Option(help="Address of the store: sqlite:///path or postgresql://...")]
Name = Annotated[str, typer.Argument(help="Name of the study.")]


@app.command("list")
def list_studies(storage: Storage) -> None:
    """List all studies of a store."""
    from semibandit.studies.log.stores import open_store

    store = open_store(storage, create=False)
    names = store.studies().values()
    store.close()
    rows: list[tuple[str, ...]] = [("study", "rounds", "failed", "pending", "to deploy", "last event")]
    for name in names:
        with _open(storage, name) as study:
            counts = study.summary().counts
            deploy = ", ".join(map(_shown, study.recommend().values.values())) if counts.told else "-"
            numbers = map(str, (counts.told, counts.failed, len(study.pending)))
            rows.append((name, *numbers, deploy, _time(counts.at)))
    _print(rows, header=True)


@app.command()
def show(name: Name, storage: Storage) -> None:
    """Show the state of a study."""
    from semibandit.spaces import values_of
    from semibandit.studies.settings import read_space

    with _open(storage, name) as study:
        counts, settings, pending = study.summary().counts, study.settings, study.pending
        best, n_events = study.recommend(), study.n_events
    rows = [
        ("study", name),
        ("created", _time(counts.began)),
        ("last event", f"{_time(counts.at)}, number {n_events}"),
        ("learner", f"{settings.learner}, seed {settings.seed}, {settings.options or 'defaults'}"),
        ("space", read_space(settings.space).describe()),
        ("rounds", f"{counts.told} told, {counts.failed} failed, {len(pending)} pending"),
    ]
    if counts.n_losses:
        rows.append(("mean loss", f"{counts.loss / counts.n_losses:.6g}"))
        for i, (knob, value) in enumerate(zip(best.names or "ρα", best.values.values(), strict=False)):
            interval = " (interval {:.6g} to {:.6g})".format(*best.interval) if i == 0 and best.along else ""
            rows.append((f"{knob} to deploy", _shown(value) + interval))
    for failure, count in sorted(counts.failures.items(), key=lambda item: -item[1])[:5]:
        rows.append(("failed", f"{count} times: {failure}"))
    for lease in pending[:10]:
        values = zip(best.names or "ρα", values_of(best.names, lease.rho, lease.alpha).values(), strict=False)
        played = ", ".join(f"{knob} = {_shown(value)}" for knob, value in values)
        what = f"trial {lease.trial}, {played}, {lease.worker}, since {_time(lease.at)}"
        rows.append(("pending", what))
    _print([*rows, ("note", counts.note)] if counts.note else rows)


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
    before, knobs = ("event", "trial", "at", "seconds", "worker"), names or ("rho", "alpha")
    after = ("loss", "width", "probability", "failure")
    extra = sorted({key for record in rounds for key in record.info or {}})
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*before, *knobs, *after, *extra])
    for record in rounds:
        row, info = msgspec.structs.asdict(record), record.info or {}
        groups = (
            (row, before),
            (values_of(names, record.rho, record.alpha), knobs),
            (row, after),
            (info, extra),
        )
        writer.writerow([values.get(column) for values, columns in groups for column in columns])


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
    from semibandit.studies.log.stores import open_store
    from semibandit.studies.study import Study

    open_store(storage, create=False).close()  # a missing file raises FileNotFoundError
    return Study(storage, name)


def _print(rows: Sequence[Sequence[str]], header: bool = False) -> None:
    """Print a table; markup in its texts is not interpreted."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=header)
    for i, title in enumerate(rows[0]):
        table.add_column(title, justify="right" if header and i else "left")
    for row in rows[1:] if header else rows:
        table.add_row(*map(Text, row))
    Console(highlight=header).print(table)


def _shown(value: Any) -> str:
    """Return the value of a knob for a table."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _time(seconds: float) -> str:
    from datetime import datetime

    return datetime.fromtimestamp(seconds).astimezone().isoformat(" ", "seconds")
