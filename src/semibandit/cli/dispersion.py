"""`semibandit dispersion`: does the regret guarantee mean anything for a stream?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semibandit.cli.play import Rounds, writable
from semibandit.cli.play_knapsack import Order, Partition, read_files

if TYPE_CHECKING:
    from semibandit.dispersion.bounds import DispersionFunction
    from semibandit.dispersion.measuring import Dispersion
    from semibandit.spaces.interval import Interval

app = typer.Typer(
    help="Measure how dispersed the discontinuities of a stream are, and what regret that allows.",
    no_args_is_help=True,
)

Seed = Annotated[int, typer.Option(min=0, help="Seed of the stream.")]
Png = Annotated[
    Path | None,
    typer.Option(callback=writable, help="Draw D(T, ε) with the bounds, and where discontinuities lie."),
]


@app.command()
def synthetic(
    rounds: Rounds = 2000,
    pieces: Annotated[int, typer.Option(min=1, help="Pieces of each loss function.")] = 10,
    spread: Annotated[float, typer.Option(help="Discontinuities lie in an interval of this length.")] = 1.0,
    seed: Seed = 0,
    png: Png = None,
) -> None:
    """Random step functions on [0, 1]: dispersed."""
    from semibandit.dispersion.bounds import worst_interval
    from semibandit.streams.step_functions import synthetic

    def theorem(T: int, eps: float) -> float:
        return worst_interval(T * min(1.0, (pieces - 1) * eps / spread), T, pieces - 1)

    stream = synthetic(rounds, pieces=pieces, spread=spread, seed=seed)
    title = f"{rounds} random step functions with {pieces} pieces"
    report(stream, title, png=png, bound=theorem, bound_name="Theorem 5")


@app.command()
def knapsack(
    kind: Annotated[str, typer.Option(help="Class of random instances, as in `play knapsack`.")] = "mixed",
    rounds: Annotated[
        int | None,
        typer.Option("--rounds", "-T", min=1, help="Number of instances. [default: 1000, or every file]"),
    ] = None,
    n: Annotated[int, typer.Option(min=3, help="Items of a random instance.")] = 50,
    kappa: Annotated[float, typer.Option(help="Values have noise of this density; 0 for none.")] = 100.0,
    files: Annotated[
        list[str] | None,
        typer.Option(help="Measure files instead: a folder or glob of .kp or Pabulib .pb files; repeatable."),
    ] = None,
    order: Annotated[Order, typer.Option(help="In which order files arrive.")] = Order.name,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Go on past unusable files, counted.")] = False,
    partition: Annotated[Partition, typer.Option(help="What a feedback set is.")] = Partition.output,
    rho_max: Annotated[float, typer.Option(help="Parameters are in [0, this].")] = 10.0,
    seed: Seed = 0,
    png: Png = None,
) -> None:
    """Greedy knapsack, on random instances (beside Lemma 8 if they are smooth) or on files."""
    from semibandit.spaces.interval import Interval

    options: dict[str, Any] = {"space": Interval(0.0, rho_max), "partition": partition.value}
    if files:
        problems, title = read_files(files, order.value, skip_bad, rounds, options)
        report(problems, title, png=png)
        return
    from semibandit.streams.knapsack_instances import knapsack as stream

    found = stream(kind, rounds or 1000, n, seed, kappa or None, **options)
    title = f"{len(found)} {kind} knapsacks with {n} items"
    report(found, title, png=png, bound=_lemma_8(found, n, kappa) if kappa else None, bound_name="Lemma 8")


def _lemma_8(problems: Sequence[Any], n: int, kappa: float) -> DispersionFunction:
    from semibandit.dispersion.bounds import knapsack_dispersion

    C = max(float(problem.sizes.max() / problem.sizes.min()) for problem in problems)
    return partial(knapsack_dispersion, n=n, C=C, kappa=kappa)


@app.command()
def linkage(
    kind: Annotated[str, typer.Option(help="Kind of instances, as in `play linkage`.")] = "elongated",
    rounds: Rounds = 200,
    classes: Annotated[int, typer.Option(min=1, help="Classes in an instance.")] = 3,
    per_class: Annotated[int, typer.Option(min=1, help="Points of each class.")] = 20,
    smooth: Annotated[
        float, typer.Option(help="Noise on each distance, in mean distances; 0 for none.")
    ] = 0.0,
    seed: Seed = 0,
    png: Png = None,
) -> None:
    """Linkage clustering between single and complete (beside Lemma 11 if the distances are smooth)."""
    from semibandit.streams.clustering_instances import clustering

    stream = clustering(kind, rounds, n_classes=classes, per_class=per_class, smooth=smooth, seed=seed)
    title = f"{rounds} clusterings of {kind} points, {classes} classes of {per_class}"
    bound = _lemma_11(stream, smooth) if smooth else None
    report(stream, title, png=png, bound=bound, bound_name="Lemma 11")


def _lemma_11(problems: Sequence[Any], smooth: float) -> DispersionFunction:
    """The lemma for the stream's noise: only the product of κ and the largest distance matters to it."""
    from semibandit.dispersion.bounds import linkage_dispersion

    # The noise is at most `smooth` times a mean that it has then raised to at most 1 + smooth times.
    product = max(float(p.distances.max() / p.distances.mean()) for p in problems) * (1.0 + smooth) / smooth
    n = max(len(problem.distances) for problem in problems)
    return partial(linkage_dispersion, n=n, B=1.0, kappa=product)


@app.command()
def concentrated(
    rounds: Rounds = 2000,
    width: Annotated[
        float, typer.Option(help="All discontinuities lie in an interval of this width.")
    ] = 1e-6,
    seed: Seed = 0,
    png: Png = None,
) -> None:
    """Losses of 1 but for a needle: not dispersed."""
    from semibandit.streams.adversarial import concentrated

    report(concentrated(rounds, width=width, seed=seed), f"{rounds} needles of width {width:g}", png=png)


@app.command()
def halving(rounds: Rounds = 48, seed: Seed = 0, png: Png = None) -> None:
    """The adversary on which every learner has linear regret: not dispersed."""
    from semibandit.streams.adversarial import halving

    report(halving(rounds, seed=seed), f"{rounds} rounds of the halving adversary", png=png)


@app.command()
def edges(
    files: Annotated[list[Path], typer.Argument(help="Text files, a line of discontinuities per function.")],
    lo: Annotated[float, typer.Option(help="The lower end of the parameter.")] = 0.0,
    hi: Annotated[float, typer.Option(help="The upper end of the parameter.")] = 1.0,
    png: Png = None,
) -> None:
    """Discontinuities from files: one line per function, numbers separated by blanks or commas."""
    from semibandit.spaces.interval import Interval

    functions = [function for file in files for function in read_edges(file)]
    report(functions, ", ".join(file.name for file in files), png=png, space=Interval(lo, hi))


def read_edges(file: Path) -> Iterator[list[float]]:
    """The discontinuities of each function; an empty line is a function without any, # begins a comment."""
    for number, line in enumerate(file.read_text().splitlines(), start=1):
        if line.lstrip().startswith("#"):
            continue
        try:
            yield [float(word) for word in line.replace(",", " ").split()]
        except ValueError:
            raise ValueError(f"{file}, line {number}: expected numbers, got {line.strip()!r}") from None


# -- the report ------------------------------------------------------------------------------------------


def report(
    problems: Sequence[Any],
    title: str,
    *,
    png: Path | None = None,
    space: Interval | None = None,
    bound: DispersionFunction | None = None,
    bound_name: str = "the theorem",
) -> None:
    """Measure a stream, show what was found, and draw it if asked to."""
    from rich.console import Console
    from rich.progress import track

    from semibandit.dispersion.measuring import measure

    console = Console()
    watched = track(problems, "loss functions", console=console, transient=True)
    result = measure(watched, space)
    console.print(_table(result, title, bound, bound_name))
    console.print(result.verdict(), style="bold green" if result.dispersed else "bold red", soft_wrap=True)
    if png is not None:
        result.plot(png, bound=bound, bound_name=bound_name, title=title)
        console.print(f"wrote {png}")


def _table(result: Dispersion, title: str, bound: DispersionFunction | None, bound_name: str) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, show_header=False
    )
    table.add_column(no_wrap=True)
    table.add_column()
    T, width = result.T, result.space.width
    low, high = result.beta_range
    table.add_row("functions", f"{T:,}")
    table.add_row("discontinuities", f"{result.discontinuities:,} ({result.discontinuities / T:.3g} each)")
    table.add_row("β", f"{result.beta:.2f} ({low:.2f} to {high:.2f} over T = {result.prefixes[0]} to {T})")
    for share in (T**-0.5, 1.0 / T):
        worst = result.worst(width * share)
        text = "no function breaks"
        if worst.functions:
            text = f"{worst.functions} functions break in [{worst.lo:.6g}, {worst.hi:.6g}]"
        if bound is not None:
            text += f"\n{bound_name}: at most {bound(T, width * share):,.0f} in expectation"
        table.add_row(f"worst of length {width * share:.3g}", text)
    for rounds in (T, 10 * T):
        best = result.regret(rounds)
        text = f"at most {best.value:,.0f} ({best.value / rounds:.2g} a round), step size {best.rate:.2g}"
        table.add_row(f"regret, T = {rounds:,}", text if best.value < rounds else "no bound below T")
    return table
