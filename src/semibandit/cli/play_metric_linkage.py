"""`semibandit play metric-linkage`: which mix of two metrics, which linkage?"""

from __future__ import annotations

from typing import Annotated

import typer

from semibandit.cli.play import Csv, Feedback, Kinds, Png, Provable, Rounds, Seed, app


@app.command("metric-linkage")
def metric_linkage(
    rounds: Rounds = 1000,
    rows: Annotated[
        int | None, typer.Option(min=1, help="Rows of α. [default: what this many rounds ask for]")
    ] = None,
    sizes: Annotated[str, typer.Option(help="Digits of each class in an instance.")] = "2,4,20",
    kappa: Annotated[float, typer.Option(help="Distances have noise of this density; 0 for none.")] = 100.0,
    feedback: Kinds = None,
    provable: Provable = False,
    seed: Seed = 0,
    png: Png = None,
    csv: Csv = None,
) -> None:
    """Clusterings of digits with two metrics: what to choose for the linkage ρ and the mix of metrics α?"""
    from semibandit.cli.board_plane import PlaneGame
    from semibandit.streams.two_metrics import digits_two_metrics

    try:
        counts = tuple(int(word) for word in sizes.split(","))
    except ValueError:
        raise ValueError(f"--sizes must be integers separated by commas, got {sizes!r}") from None
    stream = digits_two_metrics(rounds, counts, seed, kappa=kappa or None, n_rows=rows)
    game = PlaneGame(stream, seed=seed, baseline=None if provable else "low")
    game.run(feedback or list(Feedback))
    title = f"{rounds} clusterings of {sum(counts)} digits with two metrics, {len(stream[0].space)} rows"
    game.report(png=png, csv=csv, title=title)
