"""`semibandit tune`: tune the parameters of a command."""

from __future__ import annotations

import glob
import inspect
import math
import signal
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from semibandit.cli.terminal import console, drawable, plain, progress_bar
from semibandit.cli.tune_report import played, print_csv, print_json, report

if TYPE_CHECKING:
    from semibandit.spaces import Interval, Knobs
    from semibandit.tuning import Command, Tuner

__all__ = ["TuneCommand", "expand", "parse_space", "tune"]

_INTERRUPTED = "Interrupted"
_RACE, _ONLINE = "Race", "Online"  # panels of the help


class LossFrom(StrEnum):
    """Source of the loss of a run."""

    output = "output"
    file = "file"
    exit = "exit"
    time = "time"


class TuneFeedback(StrEnum):
    """Kinds of feedback from a command."""

    bandit = "bandit"
    black_box = "black-box"


@dataclass(kw_only=True)
class Options:
    """Arguments and options of `semibandit tune`."""

    command: Annotated[str, typer.Argument(help='The command, such as "solver --alpha {rho} {instance}".')]
    instances: Annotated[list[str], typer.Argument(help="Files, folders of files, or any other words.")]
    space: Annotated[str | None, typer.Option(metavar="LO:HI", help="Range of ρ.")] = None
    knob: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=RANGE",
            help="Instead of --space, a knob {NAME}: LO:HI[:log|:STEP], LO..HI[:log] or A,B.",
        ),
    ] = None
    integer: Annotated[bool, typer.Option("--integer", help="ρ is an integer, from LO to HI.")] = False
    state: Annotated[Path | None, typer.Option(help="File that keeps all rounds, and is continued.")] = None
    storage: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Instead of --state: sqlite:///path or postgresql://..."),
    ] = None
    study: Annotated[str | None, typer.Option(metavar="NAME", help="Study in --storage.")] = None
    jobs: Annotated[int, typer.Option(min=1, help="Number of commands to run at once.")] = 1
    seed: Annotated[int, typer.Option(min=0, help="Seed of the learner.")] = 0
    shell: Annotated[bool, typer.Option("--shell", help="Run the command in a shell.")] = False
    timeout: Annotated[float | None, typer.Option(help="Seconds after which a run is killed.")] = None
    ok_status: Annotated[
        str, typer.Option(metavar="N,N", help="Exit statuses of success, such as 10,20.")
    ] = "0"
    loss_from: Annotated[
        LossFrom, typer.Option(help="Last line of the output or of --loss-file, exit status, or seconds.")
    ] = LossFrom.output
    loss_file: Annotated[
        str | None, typer.Option(metavar="PATH", help="File with the loss; may hold {rho} and {instance}.")
    ] = None
    maximize: Annotated[bool, typer.Option("--maximize", help="Higher values are better.")] = False
    high: Annotated[
        float | None,
        typer.Option(metavar="LOSS", help="Largest loss, if known; the timeout with --loss-from time."),
    ] = None
    failed: Annotated[
        str, typer.Option(metavar="skip|high|LOSS", help="Loss of a failed run: none, the worst, a number.")
    ] = "skip"
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Make failed runs again.")] = False
    default: Annotated[
        str | None, typer.Option(metavar="ρ", help="Value to compare with: ρ, `middle`, or NAME=VALUE,...")
    ] = None
    png: Annotated[
        Path | None, typer.Option(callback=drawable, help="Draw the mean loss over each knob.")
    ] = None
    json: Annotated[bool, typer.Option("--json", help="Print the answer and the table as JSON.")] = False
    csv: Annotated[bool, typer.Option("--csv", help="Print the table as CSV.")] = False
    race: Annotated[
        bool | None,
        typer.Option("--race/--online", help="Default: race with --state, online with --study."),
    ] = None
    runs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of runs; default 1 per instance, at least 200.", rich_help_panel=_RACE
        ),
    ] = None
    feedback: Annotated[
        TuneFeedback,
        typer.Option(help="black-box: find the interval with the same output.", rich_help_panel=_ONLINE),
    ] = TuneFeedback.bandit
    tolerance: Annotated[
        float | None,
        typer.Option(help="Accuracy of black-box intervals; default width/1000.", rich_help_panel=_ONLINE),
    ] = None
    compare_output: Annotated[
        bool,
        typer.Option(
            "--compare-output/--compare-loss",
            help="Black-box runs are the same if their output is, or their loss.",
            rich_help_panel=_ONLINE,
        ),
    ] = True
    compare_file: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Compare this file instead.", rich_help_panel=_ONLINE),
    ] = None
    probes: Annotated[
        int, typer.Option(min=0, help="Further values to run on each instance.", rich_help_panel=_ONLINE)
    ] = 0
    default_share: Annotated[
        float, typer.Option(help="Share of instances that --default is run on.", rich_help_panel=_ONLINE)
    ] = 0.25
    feature: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=COMMAND",
            help="Feature of an instance: the number or word that a command with {instance} prints.",
            rich_help_panel=_ONLINE,
        ),
    ] = None
    features: Annotated[
        Path | None,
        typer.Option(help="CSV file with a column `instance` and one per feature.", rich_help_panel=_ONLINE),
    ] = None
    again: Annotated[
        bool, typer.Option("--again", help="Run all instances once more.", rich_help_panel=_ONLINE)
    ] = False

    def where(self) -> Interval | Knobs:
        """Return the space of --space or --knob."""
        from semibandit.tuning.knob_syntax import parse_knobs

        if (self.space is None) == (not self.knob):
            raise ValueError("give either --space LO:HI, or --knob NAME=RANGE for each knob of the command")
        if self.space is not None:
            return parse_space(self.space, self.integer)
        if self.integer:
            raise ValueError("--integer goes with --space; an integer knob is --knob NAME=LO..HI")
        return parse_knobs(self.knob or ())

    def runner(self, names: tuple[str, ...]) -> Command:
        """Return the command, with these knobs."""
        from semibandit.tuning import Command

        return Command(
            self.command,
            loss_from=str(self.loss_from),
            loss_file=self.loss_file,
            compare="file" if self.compare_file else "output" if self.compare_output else "loss",
            compare_file=self.compare_file,
            timeout=self.timeout,
            ok_status=parse_numbers("--ok-status", self.ok_status),
            integer=self.integer,
            shell=self.shell,
            names=names or ("rho",),
        )

    def measured(self, instances: list[str]) -> dict[str, Any] | None:
        """Return the features of each instance; None without any."""
        from semibandit.tuning.features import measure, read_csv

        if not self.feature and self.features is None:
            return None
        read = {} if self.features is None else read_csv(self.features, instances)
        found = measure(self.feature or (), instances, self.shell)
        for name, row in found.items():
            if both := {*row} & {*read.get(name, ())}:
                raise ValueError(f"two features are called {min(both)!r}")
        return {name: {**read.get(name, {}), **row} for name, row in found.items()}

    def tuner(self, instances: list[str]) -> Tuner:
        """Return the tuner that all options describe."""
        from semibandit.tuning import Tuner

        space = self.where()
        if self.json and self.csv:
            raise ValueError("give --json or --csv, not both")
        if (self.storage is None) != (self.study is None) or (self.state is None) == (self.storage is None):
            raise ValueError("give either --state, or --storage and --study")
        timed = self.loss_from == LossFrom.time
        shared: dict[str, Any] = {
            "jobs": self.jobs,
            "maximize": self.maximize,
            "default": parse_default(self.default, space, self.integer),
            "high": self.timeout if self.high is None and timed else self.high,
            "failed": parse_loss("--failed", self.failed, "skip", "high"),
            "seed": self.seed,
        }
        storage: Any = self.state or self.storage
        command = self.runner(space.names)
        if self.races():
            return Tuner(command, space, storage, self.study, race=True, runs=self.runs, **shared)
        if self.runs is not None:
            raise ValueError("--runs goes with a race: online each instance is run once")
        return Tuner(
            command, space, storage, self.study, feedback=str(self.feedback), tolerance=self.tolerance,
            probes=self.probes, default_share=self.default_share, features=self.measured(instances), **shared,
        )  # fmt: skip

    def races(self) -> bool:
        """Decide between race and online: as told, as the state was begun, or by the other options."""
        from semibandit.tuning.tuner import learner_of

        featured = bool(self.feature or self.features)
        if self.race and featured:
            raise ValueError(
                "a race goes without --feature and --features: it looks for one configuration for all "
                "instances; `tune online` learns where it should differ"
            )
        online = self.feedback != TuneFeedback.bandit or featured
        online = online or bool(self.probes or self.tolerance or self.again)
        if self.race and online:
            raise ValueError("a race goes without --feedback, --probes, --tolerance and --again")
        if self.race is not None or online or self.state is None:
            return bool(self.race)
        return learner_of(self.state) in ("Race", None)


class TuneCommand(TyperCommand):
    """`tune`, `tune race` and `tune online`: the first word stands for --race or --online."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Replace the first word by its option."""
        if args and args[0] in ("race", "online"):
            args = [f"--{args[0]}", *args[1:]]
        return super().parse_args(ctx, args)


def _with_options(function: Callable[[Options], None]) -> Callable[..., None]:
    """Return a function for typer whose parameters are the fields of `Options`."""

    def command(**given: Any) -> None:
        function(Options(**given))

    hints = get_type_hints(Options, include_extras=True)
    kind = inspect.Parameter.KEYWORD_ONLY
    empty = inspect.Parameter.empty
    parameters = [
        inspect.Parameter(
            field.name, kind, annotation=hints[field.name],
            default=field.default if field.name not in ("command", "instances") else empty,
        )
        for field in fields(Options)
    ]  # fmt: skip
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = hints
    command.__doc__ = function.__doc__
    return command


@_with_options
def tune(options: Options) -> None:
    """Tune the parameters of a command: run it on instances and learn from its loss.

    `tune race` compares values on a fixed set of instances; `tune online` runs each arriving instance once.
    The same command again continues where it stopped.
    """
    names = expand(options.instances)
    with options.tuner(names) as tuner:
        ended = _run(tuner, names, again=options.again, retry_failed=options.retry_failed)
        if options.json:
            print_json(tuner, ended)
        elif options.csv:
            print_csv(tuner)
        else:
            report(tuner, ended)
        if options.png is not None:
            from semibandit.plots.tuning import picture

            picture(tuner, options.png)
        if ended == _INTERRUPTED:
            raise typer.Exit(130)
        if ended or (tuner.finished and all(record.failure is not None for record in tuner.finished)):
            raise typer.Exit(1)


def _run(tuner: Tuner, names: list[str], **which: bool) -> str | None:
    """Run all rounds with a progress bar; return why they ended early, if they did."""
    from semibandit.tuning import StoppedError

    total = tuner.n_todo(names, **which)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with progress_bar(console(stderr=True)) as progress:
            task = progress.add_task("tuning", total=total, note="")
            failed = 0
            for record in tuner.rounds(names, **which):
                failed += record.failure is not None
                note = played(record) + (f", {failed} failed" if failed else "")
                progress.update(task, advance=1, note=note)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except StoppedError as error:
        return plain(f"Stopped: {error}")
    return None


# -- reading options -------------------------------------------------------------------------------


def parse_space(text: str, integer: bool = False) -> Interval:
    """Return the interval "LO:HI"; for integers one whose points, rounded, are LO to HI in equal shares."""
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
    """Return the integers of "10,20"."""
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise ValueError(f"{option} must be integers, such as 10,20, got {text!r}") from None


def parse_loss(option: str, text: str, *words: str) -> float | str:
    """Return a number, or one of the words."""
    if text in words:
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{option} must be a number or {' or '.join(words)}, got {text!r}") from None


def parse_default(text: str | None, space: Any, integer: bool = False) -> Any:
    """Return a value of ρ, the middle of the space (of two, the lower), or the values of all knobs."""
    from semibandit.tuning.knob_syntax import parse_values

    if text is None:
        return None
    if space.names:
        return parse_values(text, space)
    if text == "middle":
        middle = 0.5 * space.lo + 0.5 * space.hi
        return float(math.floor(middle)) if integer else middle
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"--default must be a number or `middle`, got {text!r}") from None
    if integer and not value.is_integer():
        raise ValueError(f"--default must be an integer or `middle`, as --integer is given, got {text!r}")
    return value


def expand(instances: list[str]) -> list[str]:
    """Replace folders by their files, and patterns by the files that they match."""
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
