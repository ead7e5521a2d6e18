"""`semibandit play`: play a stream with each kind of feedback."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from semibandit.cli.problems import Case, add_commands
from semibandit.cli.terminal import drawable, writable

app = typer.Typer(help="Play the game on a stream of instances.", no_args_is_help=True)


class FeedbackKind(StrEnum):
    """The kinds of feedback."""

    full = "full"
    semi_bandit = "semi-bandit"
    bandit = "bandit"


def play(
    case: Case,
    *,
    feedback: Annotated[
        list[FeedbackKind] | None,
        typer.Option("--feedback", "-f", help="Kind of feedback; repeatable. Default: all."),
    ] = None,
    provable: Annotated[
        bool, typer.Option("--provable", help="Use the learner with a regret proof.")
    ] = False,
    probes: Annotated[
        int,
        typer.Option(min=0, help="Number of further parameters to observe per round; each is one run."),
    ] = 0,
    drift: Annotated[
        str | None,
        typer.Option(metavar="auto|SHARE", help="Adapt to drift: detected automatically, or a fixed share."),
    ] = None,
    blocks: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Also compare with the best sequence of this many blocks. Default: 8 if the stream drifts.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the stream and the learners.")] = 0,
    png: Annotated[
        Path | None,
        typer.Option(
            callback=drawable, help="Write a plot of regret, density, widths and one loss function."
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(callback=writable, help="Write a table with one line per round and kind of feedback."),
    ] = None,
) -> None:
    """Play a family's stream, print the report, and write the files."""
    from semibandit.cli.play_report import PlayReport

    report = PlayReport(
        case, provable=provable, seed=seed, probes=probes, drift=parse_drift(drift), blocks=blocks
    )
    report.run([str(kind) for kind in feedback or FeedbackKind])
    report.report(png=png, csv=csv)


def parse_drift(text: str | None) -> float | str | None:
    """Return the argument `drift` of a learner, from "auto" or a number."""
    if text is None or text == "auto":
        return text
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0.0 < share < 1.0:
        raise ValueError(f"--drift must be auto or a share between 0 and 1, got {text!r}")
    return share


add_commands(app, play)
