"""`semibandit play`: the game on a stream, all kinds of feedback side by side."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from semibandit.cli.problems import Case, add_commands
from semibandit.cli.terminal import drawable, writable

app = typer.Typer(help="Play the game on a stream of instances.", no_args_is_help=True)


class Feedback(StrEnum):
    """The kinds of feedback."""

    full = "full"
    semi_bandit = "semi-bandit"
    bandit = "bandit"


def play(
    case: Case,
    *,
    feedback: Annotated[
        list[Feedback] | None,
        typer.Option("--feedback", "-f", help="Kind of feedback, by default all; repeatable."),
    ] = None,
    provable: Annotated[
        bool, typer.Option("--provable", help="Play the configuration that has a regret proof.")
    ] = False,
    probes: Annotated[
        int,
        typer.Option(min=0, help="Further parameters to look at in each round, each a run of its own."),
    ] = 0,
    drift: Annotated[
        str | None,
        typer.Option(
            metavar="auto|SHARE", help="Follow a best parameter that moves; a share of weight is spread anew."
        ),
    ] = None,
    blocks: Annotated[
        int | None,
        typer.Option(
            min=1, help="Compare with the best of so many blocks, too; 8 where the stream is known to drift."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the stream and of the learners.")] = 0,
    png: Annotated[
        Path | None,
        typer.Option(callback=drawable, help="Draw regret, density, widths and one loss function."),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(callback=writable, help="Write one line per round and kind of feedback."),
    ] = None,
) -> None:
    """Play a family's stream, and show and write what happened."""
    from semibandit.cli.play_report import PlayReport

    report = PlayReport(
        case, provable=provable, seed=seed, probes=probes, drift=parse_drift(drift), blocks=blocks
    )
    report.run([str(kind) for kind in feedback or Feedback])
    report.report(png=png, csv=csv)


def parse_drift(text: str | None) -> float | str | None:
    """What a learner takes for drift, from "auto" or a number."""
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
