"""`semibandit play`: the game on a stream, all kinds of feedback side by side."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Play the game on a stream of instances.", no_args_is_help=True)


class Feedback(StrEnum):
    """The kinds of feedback."""

    full = "full"
    semi_bandit = "semi-bandit"
    bandit = "bandit"


def writable(path: Path | None) -> Path | None:
    """Refuse a file that cannot be written before the game, not after it."""
    if path is not None and path.is_dir():
        raise typer.BadParameter(f"{path} is a folder")
    if path is not None and not path.absolute().parent.is_dir():
        raise typer.BadParameter(f"there is no folder {path.parent}")
    return path


# Options that every game has.
Rounds = Annotated[int, typer.Option("--rounds", "-T", min=1, help="Number of instances.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the stream and of the learners.")]
Kinds = Annotated[
    list[Feedback] | None,
    typer.Option("--feedback", "-f", help="Kind of feedback; may be given several times. [default: all]"),
]
Png = Annotated[
    Path | None,
    typer.Option(callback=writable, help="Draw regret, density, widths and one loss function."),
]
Csv = Annotated[
    Path | None, typer.Option(callback=writable, help="Write one line a round and kind of feedback.")
]
Provable = Annotated[
    bool, typer.Option("--provable", help="No baseline: the configuration with a regret proof.")
]


@app.command()
def synthetic(
    rounds: Rounds = 2000,
    pieces: Annotated[int, typer.Option(min=1, help="Pieces of each loss function.")] = 10,
    gap: Annotated[float, typer.Option(help="How much better the best parameter is, in mean loss.")] = 0.3,
    spread: Annotated[float, typer.Option(help="Discontinuities lie in an interval of this length.")] = 1.0,
    drift: Annotated[bool, typer.Option("--drift", help="The best parameter wanders.")] = False,
    feedback: Kinds = None,
    provable: Provable = False,
    seed: Seed = 0,
    png: Png = None,
    csv: Csv = None,
) -> None:
    """Random step functions on [0, 1] with a dip."""
    from semibandit.cli.board import Game
    from semibandit.streams.step_functions import synthetic

    stream = synthetic(rounds, pieces=pieces, gap=gap, spread=spread, drift=drift, seed=seed)
    game = Game(stream, default=0.5, seed=seed, baseline=None if provable else "low")
    game.run(feedback or list(Feedback))
    game.report(png=png, csv=csv, title=f"{rounds} random step functions with {pieces} pieces")


class Points(StrEnum):
    """The kinds of clustering instances."""

    elongated = "elongated"
    gaussian = "gaussian"
    digits = "digits"
    iris = "iris"
    wine = "wine"
    breast_cancer = "breast-cancer"


class Mix(StrEnum):
    """The linkages that are mixed."""

    single_complete = "single-complete"
    average_complete = "average-complete"
    single_average = "single-average"


@app.command()
def linkage(
    kind: Annotated[Points, typer.Option(help="Where the points come from.")] = Points.elongated,
    rounds: Rounds = 300,
    classes: Annotated[int, typer.Option(min=1, help="Classes of each instance.")] = 3,
    per_class: Annotated[int, typer.Option(min=1, help="Points of each class.")] = 20,
    smooth: Annotated[float, typer.Option(help="Noise on each distance, relative to their mean.")] = 0.0,
    mix: Annotated[Mix, typer.Option("--linkage", help="The linkages at ρ = 0 and ρ = 1.")] = (
        Mix.single_complete
    ),
    feedback: Kinds = None,
    provable: Provable = False,
    seed: Seed = 0,
    png: Png = None,
    csv: Csv = None,
) -> None:
    """Clusterings by ρ-linkage, compared with the classes that the points are of."""
    from semibandit.cli.board import Game
    from semibandit.streams.clustering_instances import clustering

    stream = clustering(
        kind, rounds, n_classes=classes, per_class=per_class, smooth=smooth, linkage=mix, seed=seed
    )
    game = Game(stream, default=1.0, seed=seed, baseline=None if provable else "low")
    game.run(feedback or list(Feedback))
    title = f"{rounds} clusterings of {kind} points, {classes} classes of {per_class}"
    game.report(png=png, csv=csv, title=title, trees=True)
