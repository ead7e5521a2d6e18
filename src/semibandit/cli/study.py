"""`semibandit study`: list, show, export, import, copy, rename, archive, fold, check and delete studies."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from semibandit.studies.log.stores import Store
    from semibandit.studies.log.summary import StudySummary
    from semibandit.studies.study import Study

_ALL = 2**31
_MAX_REFRESHED = 10  # studies that are opened for one list, because their saved summaries are old
app = typer.Typer(
    help="List, show, export, copy, rename, archive, fold, check and delete studies.", no_args_is_help=True
)

Storage = Annotated[str, typer.Option(help="Address of the store: sqlite:///path or postgresql://...")]
Name = Annotated[str, typer.Argument(help="Name of the study.")]


@app.command("list")
def list_all(
    storage: Storage,
    search: Annotated[str, typer.Option(help="Only names that contain this text.")] = "",
    archived: Annotated[bool, typer.Option("--archived", help="Archived studies instead.")] = False,
) -> None:
    """List the studies of a store."""
    from semibandit.studies.listing import list_studies
    from semibandit.studies.log.stores import open_store
    from semibandit.studies.study import Study

    store, fresh = open_store(storage, create=False), iter(range(_MAX_REFRESHED))

    def summary(number: int, stale: bool) -> StudySummary | None:
        opened = stale and (store.last_snapshot(number, "summary") is None or next(fresh, None) is not None)
        return Study(storage, store.name(number)).summary() if opened else None

    rows: list[tuple[str, ...]] = [("study", "rounds", "failed", "mean loss", "to deploy", "last event")]
    for entry in list_studies(store, summary, search, limit=_ALL, archived=archived):
        deploy = "-" if entry.values is None else ", ".join(map(_shown, entry.values.values()))
        mean = "-" if entry.mean is None else f"{entry.mean:.6g}"
        rows.append((entry.name, str(entry.told), str(entry.failed), mean, deploy, _time(entry.at)))
    store.close()
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
    log: Annotated[
        bool, typer.Option("--log", help="All events, from which `import` makes the study.")
    ] = False,
) -> None:
    """Write the rounds or the events of a study to the standard output."""
    import msgspec

    if as_csv + as_json + log != 1:
        raise ValueError("choose one of --csv, --json and --log")
    if log:
        with _open(storage, name) as study:
            sys.stdout.writelines(f"{line}\n" for _, line in study.events())
        return
    with _open(storage, name) as study:
        rounds = study.history()
    if as_json:
        for record in rounds:
            sys.stdout.write(msgspec.json.encode(record).decode() + "\n")
        return
    table = rounds.columns()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))


@app.command("import")
def import_(
    name: Name,
    file: Annotated[Path, typer.Argument(help="Lines that `study export --log` wrote.")],
    storage: Storage,
) -> None:
    """Create a study from an exported log, with the same learner to the bit."""
    from semibandit.studies.log.stores import open_store

    with file.open(encoding="utf-8") as lines:
        _load(open_store(storage), name, (line.rstrip("\n") for line in lines))


@app.command()
def copy(
    name: Name,
    storage: Storage,
    to: Annotated[str, typer.Option(help="Address of the other store.")],
    new_name: Annotated[str | None, typer.Option(help="Name of the copy. Default: the same.")] = None,
) -> None:
    """Copy a study to another store."""
    from semibandit.studies.log.stores import open_store

    with _open(storage, name) as study:
        _load(open_store(to), new_name or name, (line for _, line in study.events()))


def _load(store: Store, name: str, lines: Iterator[str]) -> None:
    """Create a study from its events and replay it; nothing stays if that fails."""
    from semibandit.studies.log.replica import Replica
    from semibandit.studies.settings import check_name

    text = list(lines)
    if not text:
        raise ValueError("the log is empty")
    last = Replica.after(text).event
    store.load(check_name(name), text, last - len(text) + 1)
    store.close()
    print(f"{len(text)} events")


@app.command()
def rename(name: Name, new_name: Annotated[str, typer.Argument(help="New name.")], storage: Storage) -> None:
    """Give a study another name."""
    from semibandit.studies.settings import check_name

    store, number = _found(storage, name)
    store.rename(number, check_name(new_name))
    store.close()


@app.command()
def archive(
    name: Name,
    storage: Storage,
    undo: Annotated[bool, typer.Option("--undo", help="Show it in lists again.")] = False,
) -> None:
    """Leave a study out of lists; it can be used as before."""
    store, number = _found(storage, name)
    store.archive(number, not undo)
    store.close()


@app.command()
def fold(
    name: Name,
    storage: Storage,
    keep: Annotated[int, typer.Option(min=0, help="Number of the last events to keep.")] = 10_000,
) -> None:
    """Replace the oldest events by a snapshot, so that the study takes less space."""
    with _open(storage, name) as study:
        print(f"{study.fold(keep)} events are left")


@app.command()
def doctor(storage: Storage) -> None:
    """Read every event of every study, compare checksums, and replay the logs."""
    from semibandit.studies.log.replica import Replica
    from semibandit.studies.log.stores import open_store
    from semibandit.studies.study import Study

    store, damaged = open_store(storage, create=False), 0
    for name in store.studies().values():
        try:
            study = Study(storage, name)
            lines = [line for _, line in study.events()]
            replica = Replica.after(lines)
            if replica.dumps() != study.snapshot(replica.event):
                raise ValueError("a replay of the log differs from the snapshot")
            print(f"{name}: {len(lines)} events, whole")
        except ValueError as error:
            damaged += 1
            print(f"{name}: {error}")
    store.close()
    if damaged:
        raise ValueError(f"{damaged} of the studies are damaged; restore a backup")


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
    store, number = _found(storage, name)
    if not yes:
        typer.confirm(f"Delete the study {name!r} with all its events?", abort=True)
    store.delete(number)
    store.close()


def _found(storage: str, name: str) -> tuple[Store, int]:
    """Return a store and the number of a study in it."""
    from semibandit.studies.log.stores import UnknownStudyError, open_store, public

    store = open_store(storage, create=False)
    number = store.find(name)
    if number is None:
        raise UnknownStudyError(f"there is no study {name!r} in {public(storage)}")
    return store, number


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
