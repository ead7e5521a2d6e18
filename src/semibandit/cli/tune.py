"""`semibandit tune`: learn the knob of a command."""

from __future__ import annotations

import glob
import math
import signal
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semibandit.cli.terminal import console, drawable, plain
from semibandit.cli.verdict import standings_table, values_table, verdict_rows

if TYPE_CHECKING:
    from rich.table import Table

    from semibandit.spaces import Interval, Knobs
    from semibandit.tuning import Command, Summary, Tuner

_INTERRUPTED = "Interrupted"


class LossFrom(StrEnum):
    """Where the loss of a run is read."""

    output = "output"
    file = "file"
    exit = "exit"
    time = "time"


class Feedback(StrEnum):
    """What is learned from an instance."""

    bandit = "bandit"
    black_box = "black-box"


def tune(
    command: Annotated[str, typer.Argument(help='The command, such as "solver --alpha {rho} {instance}".')],
    instances: Annotated[
        list[str], typer.Argument(help="Instances: files, or any other words; a folder stands for its files.")
    ],
    space: Annotated[str | None, typer.Option(metavar="LO:HI", help="Where ρ lives.")] = None,
    knob: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=RANGE",
            help="Instead of --space, a knob {NAME} of the command; may be given several times. LO:HI, "
            "LO:HI:log, LO:HI:STEP, whole numbers LO..HI, LO..HI:log, or choices A,B.",
        ),
    ] = None,
    state: Annotated[
        Path | None, typer.Option(help="File that keeps all rounds; tuning goes on from it.")
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Instead of --state, a store: sqlite:///path, postgresql://... or, for one job, "
            "journal:///path.",
        ),
    ] = None,
    study: Annotated[
        str | None, typer.Option(metavar="NAME", help="The study in the store that keeps all rounds.")
    ] = None,
    race: Annotated[
        bool | None,
        typer.Option(
            "--race/--online",
            help="Race values on the same instances, or learn while the instances come, each run once. If "
            "not given a race, unless there is a study or an option that is for the other alone.",
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Runs of a race; if not given one an instance, at least 200."),
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, help="Commands to run at once; in a race, or with a study.")
    ] = 1,
    feedback: Annotated[
        Feedback,
        typer.Option(
            help="Online; bandit: one run per instance. black-box: also the interval with the same output."
        ),
    ] = Feedback.bandit,
    loss_from: Annotated[
        LossFrom, typer.Option(help="The last line of the output or of --loss-file, exit status, or seconds.")
    ] = LossFrom.output,
    loss_file: Annotated[
        str | None, typer.Option(metavar="PATH", help="File the loss is in; may hold {rho} and {instance}.")
    ] = None,
    compare_output: Annotated[
        bool,
        typer.Option(
            "--compare-output/--compare-loss",
            help="With black-box feedback, what tells two runs apart: all they print, or the loss alone.",
        ),
    ] = True,
    compare_file: Annotated[
        str | None, typer.Option(metavar="PATH", help="Compare this file instead; as --loss-file.")
    ] = None,
    high: Annotated[
        str | None,
        typer.Option(
            metavar="LOSS|auto",
            help="The largest loss, which larger ones and killed runs count as; auto: learned from the first "
            "ten. If not given 1, or the timeout for --loss-from time.",
        ),
    ] = None,
    maximize: Annotated[bool, typer.Option("--maximize", help="What is read is to be large.")] = False,
    timeout: Annotated[float | None, typer.Option(help="Seconds after which a run is killed.")] = None,
    failed: Annotated[
        str,
        typer.Option(
            metavar="skip|high|LOSS",
            help="What is learned from a run that failed: nothing, --high, or a loss.",
        ),
    ] = "skip",
    ok_status: Annotated[
        str, typer.Option(metavar="N,N", help="Exit statuses that are no failure, such as 10,20.")
    ] = "0",
    default: Annotated[
        str | None, typer.Option(metavar="ρ", help="A ρ to compare with, or `middle` for that of the space.")
    ] = None,
    default_share: Annotated[
        float, typer.Option(help="Share of the instances on which --default is run, too.")
    ] = 0.25,
    arms: Annotated[
        int | None,
        typer.Option(
            help="Values of ρ to try with bandit feedback; if not given, the third root of instances."
        ),
    ] = None,
    probes: Annotated[
        int,
        typer.Option(
            min=0, help="Further values of ρ to run on each instance and learn from; needs --state."
        ),
    ] = 0,
    tolerance: Annotated[
        float | None,
        typer.Option(help="To which black-box feedback finds intervals; if not given, 1/1000 of the space."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Run the instances once more.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run instances again that have only failed so far.")
    ] = False,
    integer: Annotated[
        bool, typer.Option("--integer", help="ρ is an integer; the ends of --space are values, too.")
    ] = False,
    shell: Annotated[bool, typer.Option("--shell", help="Let a shell run the command.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the learner.")] = 0,
    png: Annotated[
        Path | None,
        typer.Option(callback=drawable, help="Draw the loss over ρ, the runs, the density and the default."),
    ] = None,
) -> None:
    """Tune a command with a knob: run it on each instance, learn from its loss, go on where it stopped."""
    from semibandit.tuning import Command

    names, where = expand(instances), parse_where(space, knob, integer)
    if png is not None and where.names:
        raise ValueError("--png draws the loss over ρ, and goes with --space")
    if high is None:
        high = repr(timeout) if loss_from == "time" and timeout is not None else "1"
    runner = Command(
        command,
        loss_from=str(loss_from),
        loss_file=loss_file,
        compare="file" if compare_file else "output" if compare_output else "loss",
        compare_file=compare_file,
        timeout=timeout,
        ok_status=parse_numbers("--ok-status", ok_status),
        integer=integer,
        shell=shell,
        names=where.names or ("rho",),
    )
    options: dict[str, Any] = {
        "maximize": maximize,
        "default": parse_default(default, where),
        "high": parse_loss("--high", high, "auto"),
        "failed": parse_loss("--failed", failed, "skip", "high"),
        "seed": seed,
    }
    online = {
        "feedback": str(feedback),
        "default_share": default_share,
        "n_arms": arms,
        "tolerance": tolerance,
        "probes": probes,
        "horizon": len(names),
    }
    given = feedback != Feedback.bandit or probes > 0 or arms is not None or tolerance is not None
    given = given or again or bool(knob)
    if _races(race, state, given):
        options |= {"runs": runs, "jobs": jobs}
    elif runs is not None:
        raise ValueError("--runs is for a race: online each instance is run once")
    else:
        options |= online
    with _tuner(runner, where, state, storage, study, jobs, options) as tuner:
        ended = _run(tuner, names, again=again, retry_failed=retry_failed)
        _report(tuner, ended)
        if png is not None:
            from semibandit.plots.tuning import picture

            picture(tuner, png)
        if ended == _INTERRUPTED:
            raise typer.Exit(130)
        if ended or (tuner.finished and all(record.failure is not None for record in tuner.finished)):
            raise typer.Exit(1)


def _tuner(
    command: Command,
    space: Interval | Knobs,
    state: Path | None,
    storage: str | None,
    study: str | None,
    jobs: int,
    options: dict[str, Any],
) -> Tuner:
    """A race or a tuner with a state file, or one that shares a study."""
    from semibandit.studies.tuner import SharedTuner
    from semibandit.tuning import Racer, Tuner

    if (storage is None) != (study is None) or (state is None) == (storage is None):
        raise ValueError("give either --state, or --storage and --study")
    if state is None:
        if options["probes"]:
            raise ValueError("--probes needs --state: a study has no rounds with probes yet")
        return SharedTuner(command, space, str(storage), str(study), jobs=jobs, **options)
    if "runs" in options:
        return Racer(command, space, state, **options)
    if jobs > 1:
        raise ValueError("with --state one command runs at a time; --jobs needs --storage and --study")
    return Tuner(command, space, state, **options)


def _races(race: bool | None, state: Path | None, for_online: bool) -> bool:
    """Whether values race: as told, as the state file was begun, or where nothing speaks for online."""
    from semibandit.tuning.journal import feedback_of

    if race and (state is None or for_online):
        raise ValueError(
            "a race needs --state and --space, and goes without --feedback, --probes, --arms, --tolerance "
            "and --again"
        )
    begun = None if state is None else feedback_of(state)
    if race is None and begun is not None:
        return begun == "race" and not for_online
    return state is not None and not for_online if race is None else race


def parse_where(space: str | None, knobs: list[str] | None, integer: bool) -> Interval | Knobs:
    """Where the parameters live: --space, or the knobs."""
    from semibandit.tuning.knobs import parse_knobs

    if (space is None) == (not knobs):
        raise ValueError("give either --space LO:HI, or --knob NAME=RANGE for each knob of the command")
    if space is not None:
        return parse_space(space, integer)
    if integer:
        raise ValueError("--integer goes with --space; a whole knob is --knob NAME=LO..HI")
    return parse_knobs(knobs or ())


def parse_space(text: str, integer: bool = False) -> Interval:
    """An interval from "LO:HI"; for integers one whose points, rounded, are LO to HI in equal shares."""
    from semibandit.spaces.interval import Interval

    try:
        lo, hi = map(float, text.split(":"))
    except ValueError:
        raise ValueError(f"--space must be LO:HI, such as 0:1, got {text!r}") from None
    if not integer:
        return Interval(lo, hi)
    if not (lo.is_integer() and hi.is_integer() and lo < hi):
        raise ValueError(f"--space must be two integers, the lower one first, got {text!r}")
    return Interval(math.nextafter(lo - 0.5, lo), math.nextafter(hi + 0.5, hi))


def parse_numbers(option: str, text: str) -> list[int]:
    """Integers from "10,20"."""
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise ValueError(f"{option} must be integers, such as 10,20, got {text!r}") from None


def parse_loss(option: str, text: str, *words: str) -> float | str:
    """A number, or one of the words."""
    if text in words:
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{option} must be a number or {' or '.join(words)}, got {text!r}") from None


def parse_default(text: str | None, space: Any) -> Any:
    """A ρ, or the middle of the space; the values of all knobs."""
    if text is not None and space.names:
        from semibandit.tuning.knobs import parse_values

        return parse_values(text, space)
    if text is None or text == "middle":
        return None if text is None else 0.5 * space.lo + 0.5 * space.hi
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--default must be a number or `middle`, got {text!r}") from None


def expand(instances: list[str]) -> list[str]:
    """Folders become their files, and patterns that the shell has left alone what they match."""
    names: list[str] = []
    for name in instances:
        if not name:
            raise ValueError("an instance must have a name, got ''")
        path = Path(name)
        if path.is_dir():
            found = sorted(str(file) for file in path.iterdir() if file.is_file() and file.name[0] != ".")
        elif glob.has_magic(name) and not path.exists():
            found = sorted(glob.glob(name))
        else:
            found = [name]
        if not found:
            raise ValueError(f"no instances in {name!r}")
        names += found
    return names


def _run(tuner: Tuner, names: list[str], **which: bool) -> str | None:
    """All rounds, with a progress bar; why they ended early, if they did."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from semibandit.tuning import StoppedError

    total = tuner.n_todo(names, **which)
    progress = Progress(
        TextColumn("tuning"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"), console=console(stderr=True), transient=True,
    )  # fmt: skip
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with progress:
            task = progress.add_task("tuning", total=total, note="")
            failed = 0
            for record in tuner.rounds(names, **which):
                failed += record.failure is not None
                note = _played(record) + (f", {failed} failed" if failed else "")
                progress.update(task, advance=1, note=note)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except StoppedError as error:
        return plain(f"Stopped: {error}")
    return None


def _report(tuner: Tuner, ended: str | None) -> None:
    from semibandit.tuning import Racer

    out = console(highlight=False)
    summary = tuner.summary()
    out.print(_table(tuner, summary))
    if tuner.learner.n_told and not tuner.space.names:
        out.print(standings_table(tuner) if isinstance(tuner, Racer) else values_table(tuner))
    for line in _remarks(tuner, summary):
        out.print(plain(line), markup=False, soft_wrap=True)
    if ended:
        out.print(
            f"{ended}. {summary.n_rounds} rounds are in {tuner.where}; the same command goes on from there.",
            markup=False,
            soft_wrap=True,
        )


def _remarks(tuner: Tuner, summary: Summary) -> Iterator[str]:
    """What happened to the rounds of the file: limits, failures, and what was learned from them."""
    from semibandit.tuning.losses import FIRST_ROUNDS, cluster

    settings, high = tuner.settings, tuner.rules.high
    if settings.high is None:
        if high is None:
            yield f"Nothing is learned before {FIRST_ROUNDS} rounds have shown the range of the losses."
        else:
            yield f"Losses are taken to lie in [0, {high:g}], twice the largest of the first {FIRST_ROUNDS}."
    for why, count in summary.clipped.items():
        what = f"over {high:g}" if why == "over" and high is not None else "killed at the timeout"
        yield f"{_times(count, 'round')} {what}: the worst loss was learned."
    for reason, count in summary.failures.most_common(3):
        yield f"failed {_times(count, 'time')}: {reason}"
    if learned := summary.n_failed - summary.n_skipped:
        yield f"From {_times(learned, 'failed round')} a loss was learned."
    if summary.n_skipped:
        skipped = _times(summary.n_skipped, "failed round")
        yield f"From {skipped} nothing was learned; --failed high changes that."
        runs = [(record.rho, record.failure is not None) for record in tuner.finished]
        if tuner.space.names:
            return
        if (found := cluster(runs, settings.lo, settings.hi)) is not None:
            yield (
                f"Warning: of the runs with ρ from {found.lo:.4g} to {found.hi:.4g}, {found.failed} of "
                f"{found.runs} failed, elsewhere {found.failed_elsewhere} of {found.runs_elsewhere}. "
                "If ρ is the reason, --failed high counts that as a loss."
            )


def _times(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def _table(tuner: Tuner, summary: Summary) -> Table:
    from rich import box
    from rich.table import Table

    word = "value" if tuner.settings.maximize else "loss"
    table = Table(box=box.SIMPLE, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    best = summary.recommendation
    runs = f"{summary.n_rounds} rounds, {summary.n_runs} runs"
    if tuner.settings.feedback == "race":
        runs = f"a race, {summary.n_runs} runs"
    table.add_row("done", runs + (f", {summary.n_failed} rounds failed" if summary.n_failed else ""))
    knobs = best.values if best.names else {"ρ": best.rho}
    if tuner.learner.n_told == 0:
        table.add_row(f"{', '.join(knobs)} to deploy", "nothing was learned yet")
        return table
    table.add_row(f"mean {word}", f"{summary.mean_loss:.6g}")
    for name, value in knobs.items():
        table.add_row(f"{name} to deploy", f"[bold]{plain(_shown(value))}[/bold]")
    table.add_row("which stands for", "{:.6g} to {:.6g}".format(*best.interval))
    table.add_row(f"mean {word} there", str(best.evidence))
    if (pair := summary.comparison) is not None:
        difference = f"{pair.learner - pair.default:+.3g} ± {pair.error:.2g}"
        table.add_row("learning minus default", f"{difference} in {pair.n} rounds")
    if not tuner.space.names:
        for row in verdict_rows(tuner):
            table.add_row(*row)
    return table


def _played(record: Any) -> str:
    """What a round was played with, beside the progress bar."""
    if record.values is None:
        return f"ρ = {record.rho:.4g}"
    return ", ".join(f"{name} = {_shown(value)}" for name, value in record.values.items())


def _shown(value: Any) -> str:
    """The value of a knob in a table."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
