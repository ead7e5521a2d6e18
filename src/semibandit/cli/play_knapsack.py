"""`semibandit play knapsack`: the greedy family on a random stream or on files."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semibandit.cli.play import Csv, Feedback, Kinds, Png, Provable, Seed, app

if TYPE_CHECKING:
    from semibandit.families.knapsack import Knapsack


class Partition(StrEnum):
    """What a run reveals."""

    output = "output"
    order = "order"


class Order(StrEnum):
    """The order in which files arrive."""

    name = "name"
    date = "date"


@app.command()
def knapsack(
    kind: Annotated[
        str, typer.Option(help="Class of random instances: mixed, drifting, uncorrelated, subset-sum, ...")
    ] = "mixed",
    rounds: Annotated[
        int | None,
        typer.Option("--rounds", "-T", min=1, help="Number of instances. [default: 1000, or every file]"),
    ] = None,
    n: Annotated[int, typer.Option(min=3, help="Items of a random instance.")] = 50,
    kappa: Annotated[float, typer.Option(help="Values have noise of this density; 0 for none.")] = 100.0,
    files: Annotated[
        list[str] | None,
        typer.Option(help="Play on files instead: a folder or glob of .kp or Pabulib .pb files; repeatable."),
    ] = None,
    order: Annotated[Order, typer.Option(help="In which order files arrive.")] = Order.name,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Go on past unusable files, counted.")] = False,
    partition: Annotated[Partition, typer.Option(help="What semi-bandit feedback shows.")] = Partition.output,
    rho_max: Annotated[float, typer.Option(help="Parameters are in [0, this].")] = 10.0,
    feedback: Kinds = None,
    provable: Provable = False,
    seed: Seed = 0,
    png: Png = None,
    csv: Csv = None,
) -> None:
    """Greedy knapsack, by decreasing v / s^ρ: what to choose for ρ?"""
    from semibandit.cli.board import Game
    from semibandit.spaces import Interval

    options: dict[str, Any] = {"space": Interval(0.0, rho_max), "partition": partition.value}
    if files:
        problems, title = _from_files(files, order.value, skip_bad, rounds, options)
    else:
        from semibandit.streams.knapsack_instances import knapsack as stream

        problems = stream(kind, rounds or 1000, n, seed, kappa or None, **options)
        title = f"{len(problems)} {kind} knapsacks with {n} items"
    game = Game(problems, default=min(1.0, rho_max), seed=seed, baseline=None if provable else "low")
    game.run(feedback or list(Feedback))
    game.report(png=png, csv=csv, title=title)


def _from_files(
    files: list[str], order: str, skip_bad: bool, rounds: int | None, options: dict[str, Any]
) -> tuple[Sequence[Knapsack], str]:
    from semibandit.streams.knapsack_files import read_knapsacks

    where = files[0] if len(files) == 1 else files
    found = read_knapsacks(where, order=order, skip_bad=skip_bad, **options)
    for bad in found.skipped:
        typer.echo(f"skipped {bad}", err=True)
    problems = found if rounds is None else found[:rounds]
    title = f"{len(problems)} knapsacks from files, by {order}"
    return problems, title + (f" ({len(found.skipped)} bad files skipped)" if skip_bad else "")
