"""`semibandit play knapsack`: the greedy family on a random stream or on files."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semibandit.cli.play import Csv, Feedback, Kinds, Png, Provable, Seed, app

if TYPE_CHECKING:
    from rich.table import Table

    from semibandit.cli.board import Game
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
    from semibandit.spaces.interval import Interval

    options: dict[str, Any] = {"space": Interval(0.0, rho_max), "partition": partition.value}
    if files:
        problems, title = read_files(files, order.value, skip_bad, rounds, options)
    else:
        from semibandit.streams.knapsack_instances import knapsack as stream

        problems = stream(kind, rounds or 1000, n, seed, kappa or None, **options)
        title = f"{len(problems)} {kind} knapsacks with {n} items"
    game = Game(problems, default=min(1.0, rho_max), seed=seed, baseline=None if provable else "low")
    game.run(feedback or list(Feedback))
    game.report(png=png, csv=csv, title=title)
    game.console.print(_dispersion(game, None if files else n, kappa))


def _dispersion(game: Game, n: int | None, kappa: float) -> Table:
    """What was measured next to what the theory promises, where its conditions are known."""
    from rich import box
    from rich.table import Table

    from semibandit import dispersion

    measured = dispersion.measure(game.problems, game.space)
    eps = len(game.problems) ** -0.5
    lemma = corollary = sharper = "?"  # for files, and without noise
    if n is not None and kappa > 0.0:
        lemma, corollary, sharper = _promises(game, n, kappa, eps, measured.pieces)
    table = Table(title="Dispersion and regret", title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("", "measured", "at most", "by"):
        table.add_column(
            heading, justify="right" if heading in ("measured", "at most") else "left", no_wrap=True
        )
    table.add_row(f"losses that break on one interval of {eps:.2g}", f"{measured.D(eps)}", lemma, "Lemma 8")
    if "semi-bandit" in game.histories:
        regret = game.histories["semi-bandit"].regret()[-1]
        table.add_row("regret, semi-bandit", f"{regret:.1f}", corollary, "Cor. 9")
        table.add_row(f"  with {measured.pieces:.1f} sets, as measured", "", sharper, "Cor. 9")
    table.add_row("β", f"{measured.beta:.2f}")
    return table


def _promises(game: Game, n: int, kappa: float, eps: float, sets: float) -> tuple[str, str, str]:
    """Lemma 8, and Corollary 9 with the number of sets of the proof and as measured."""
    from semibandit.dispersion import bounds

    T = len(game.problems)
    sizes = [(problem.sizes.min(), problem.sizes.max()) for problem in game.problems]
    C = float(max(high for _, high in sizes) / min(low for low, _ in sizes))
    broken = bounds.knapsack_dispersion(T, eps, n=n, C=C, kappa=kappa)
    regrets = [
        bounds.knapsack_regret(T, n=n, C=C, kappa=kappa, R=game.space.hi, H=1.0, M=M) for M in (None, sets)
    ]
    return f"{broken:.0f}", f"{regrets[0].value:.0f}", f"{regrets[1].value:.0f}"


def read_files(
    files: list[str], order: str, skip_bad: bool, rounds: int | None, options: dict[str, Any]
) -> tuple[Sequence[Knapsack], str]:
    """The instances in files, and what to call them; what is skipped is said on the error stream."""
    from semibandit.streams.knapsack_files import read_knapsacks

    where = files[0] if len(files) == 1 else files
    found = read_knapsacks(where, order=order, skip_bad=skip_bad, **options)
    for bad in found.skipped:
        typer.echo(f"skipped {bad}", err=True)
    problems = found if rounds is None else found[:rounds]
    title = f"{len(problems)} knapsacks from files, by {order}"
    return problems, title + (f" ({len(found.skipped)} bad files skipped)" if skip_bad else "")
