"""`semibandit play posted-price`, `second-price`, `independent-set` and `seeding`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from semibandit.cli.play import Csv, Feedback, Kinds, Png, Provable, Rounds, Seed, app

Supply = Annotated[int | None, typer.Option(min=1, help="Units for sale.")]


@app.command("posted-price")
def posted_price(
    rounds: Rounds = 1000,
    buyers: Annotated[int, typer.Option(min=1, help="Buyers in each sale.")] = 5,
    supply: Supply = None,
    feedback: Kinds = None,
    provable: Provable = False,
    seed: Seed = 0,
    png: Png = None,
    csv: Csv = None,
) -> None:
    """Sales at a posted price in [0, 1]; revenue is piecewise linear in it."""
    from semibandit.streams.auctions import posted_price

    stream = posted_price(rounds, buyers=buyers, supply=supply, seed=seed)
    title = f"{rounds} sales to {buyers} buyers at a posted price"
    _play(stream, 0.5, feedback, provable, seed, png, csv, title)


@app.command("second-price")
def second_price(
    rounds: Rounds = 1000,
    bidders: Annotated[int, typer.Option(min=1, help="Bidders in each auction.")] = 3,
    supply: Annotated[int, typer.Option(min=1, help="Units for sale.")] = 1,
    feedback: Kinds = None,
    provable: Provable = False,
    seed: Seed = 0,
    png: Png = None,
    csv: Csv = None,
) -> None:
    """Second-price auctions with a reserve in [0, 1]; revenue is piecewise linear in it."""
    from semibandit.streams.auctions import second_price

    stream = second_price(rounds, bidders=bidders, supply=supply, seed=seed)
    title = f"{rounds} auctions with {bidders} bidders and a reserve"
    _play(stream, 0.0, feedback, provable, seed, png, csv, title)


@app.command("independent-set")
def independent_set(
    rounds: Rounds = 1000,
    vertices: Annotated[int, typer.Option("--vertices", "-n", min=1, help="Of each graph.")] = 60,
    density: Annotated[float, typer.Option(help="The probability of an edge, at most 1/4.")] = 0.1,
    adaptive: Annotated[bool, typer.Option("--adaptive", help="Degrees in what is left.")] = False,
    feedback: Kinds = None,
    provable: Provable = False,
    seed: Seed = 0,
    png: Png = None,
    csv: Csv = None,
) -> None:
    """Greedy independent sets by w / (1 + deg)^ρ on random graphs."""
    from semibandit.streams.graphs import independent_set

    stream = independent_set(rounds, vertices=vertices, density=density, adaptive=adaptive, seed=seed)
    title = f"{rounds} graphs with {vertices} vertices"
    _play(stream, 1.0, feedback, provable, seed, png, csv, title)


@app.command("seeding")
def seeding(
    rounds: Rounds = 500,
    points: Annotated[int, typer.Option(min=1, help="Points of each set.")] = 100,
    clusters: Annotated[int, typer.Option("--clusters", "-k", min=1, help="Centres to pick.")] = 5,
    outliers: Annotated[float, typer.Option(help="Share of points far from all clusters.")] = 0.02,
    feedback: Kinds = None,
    provable: Provable = False,
    seed: Seed = 0,
    png: Png = None,
    csv: Csv = None,
) -> None:
    """Seeding of k-means by d^α sampling on random clusters; α = 2 is k-means++."""
    from semibandit.streams.point_sets import seeding

    stream = seeding(rounds, points=points, clusters=clusters, outliers=outliers, seed=seed)
    title = f"{rounds} sets of {points} points, {clusters} centres"
    _play(stream, 2.0, feedback, provable, seed, png, csv, title)


def _play(
    stream: Sequence[Any],
    default: float,
    feedback: list[Feedback] | None,
    provable: bool,
    seed: int,
    png: Path | None,
    csv: Path | None,
    title: str,
) -> None:
    from semibandit.cli.board import Game

    game = Game(stream, default=default, seed=seed, baseline=None if provable else "low")
    game.run(feedback or list(Feedback))
    game.report(png=png, csv=csv, title=title)
