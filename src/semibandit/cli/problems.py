"""The families of the command line: one function each, from its options to a stream.

`FAMILIES` is the one table of them. `play`, `fit` and `dispersion` have a command for each entry, the tests
check the contract of a problem on its small instance, and the docs list its names. A new family is a function
here and a line in the table.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semibandit import dispersion, streams

if TYPE_CHECKING:
    from semibandit.dispersion.bounds import DispersionFunction

__all__ = ["FAMILIES", "Case", "Family", "add_commands", "command_of"]


@dataclass(frozen=True)
class Case:
    """A stream made from the options of a family.

    Attributes
    ----------
    stream, title
        The problems, and their description.
    default
        The ρ to use without learning; None if several parameters are learned.
    bound_name, bound
        The theorem on the dispersion of the stream, and bound(problems), which returns its f(T, ε) for the
        constants of these problems. None if there is no theorem.
    blocks
        Number of blocks of the moving comparator, if the best parameter moves.
    """

    stream: Any
    title: str
    default: float | None = None
    bound_name: str = ""
    bound: Callable[[Sequence[Any]], DispersionFunction] | None = None
    blocks: int | None = None


@dataclass(frozen=True)
class Family:
    """Entry of the table: a function with options, and the options of a small instance."""

    make: Callable[..., Case]
    small: Mapping[str, Any] = field(default_factory=dict)
    needs: str = ""  # an optional package

    @property
    def name(self) -> str:
        """Name of the commands."""
        return self.make.__name__.replace("_", "-")

    def instance(self, seed: int = 0) -> Any:
        """Return a small instance, for tests."""
        return self.make(rounds=1, seed=seed, **self.small).stream[0]


def add_commands(app: typer.Typer, show: Callable[..., None], *, on_demand: bool = False) -> None:
    """Add a command for each family to `app`, with the options of the family and those of `show`.

    The command calls show(case, ...). An option that both declare is passed to both, with the help of `show`.
    With `on_demand`, files are not read before their instances are needed.
    """
    for family in FAMILIES:
        app.command(family.name)(command_of(family.make, show, on_demand))


def command_of(
    make: Callable[..., Case], show: Callable[..., None], on_demand: bool = False
) -> Callable[..., None]:
    """Return a command with the options of both functions."""
    own = dict(inspect.signature(make, eval_str=True).parameters)
    fixed = {"on_demand": on_demand} if own.pop("on_demand", None) else {}
    shared = dict(list(inspect.signature(show, eval_str=True).parameters.items())[1:])

    def command(**options: Any) -> None:
        case = make(**{name: options[name] for name in own}, **fixed)
        show(case, **{name: options[name] for name in shared})

    command.__doc__ = make.__doc__
    parameters = [option.replace(kind=option.KEYWORD_ONLY) for option in {**own, **shared}.values()]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


# -- options ---------------------------------------------------------------------------------------------


def _one_of(*words: str, help: str, name: str | None = None) -> Any:
    """Return an option that takes one of the words."""

    def parse(word: str) -> str:
        if word not in words:
            raise typer.BadParameter(f"{word!r} is not one of {', '.join(words)}")
        return word

    return typer.Option(*([name] if name else []), parser=parse, metavar="|".join(words), help=help)


Rounds = Annotated[int, typer.Option("--rounds", "-T", min=1, help="Number of instances.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the stream.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Skip unusable files, and count them.")]
TreeOrLoss = Annotated[
    str,
    _one_of(
        "tree", "loss", name="--partition", help="Feedback of a run: the interval with one tree, or one loss."
    ),
]

_BLOCKS = 8  # of the moving comparator


# -- families --------------------------------------------------------------------------------------------


def knapsack(
    kind: Annotated[
        str, typer.Option(help="Class of random instances: mixed, drifting, uncorrelated, subset-sum, ...")
    ] = "mixed",
    rounds: Annotated[
        int | None,
        typer.Option("--rounds", "-T", min=1, help="Number of instances; by default 1000, or every file."),
    ] = None,
    n: Annotated[int, typer.Option(min=3, help="Items of a random instance.")] = 50,
    kappa: Annotated[float, typer.Option(help="Density of the noise on values; 0 for no noise.")] = 100.0,
    files: Annotated[
        list[str] | None,
        typer.Option(help="Use files instead: a folder or glob of .kp or Pabulib .pb files; repeatable."),
    ] = None,
    order: Annotated[str, _one_of("name", "date", help="The order in which files arrive.")] = "name",
    skip_bad: SkipBad = False,
    partition: Annotated[
        str, _one_of("output", "order", "loss", help="Feedback of a run: the interval with one of these.")
    ] = "output",
    rho_max: Annotated[float, typer.Option(help="Parameters are in [0, this].")] = 10.0,
    seed: Seed = 0,
    on_demand: bool = False,
) -> Case:
    """Greedy knapsacks by decreasing v / s^ρ, random or from files."""
    from semibandit.spaces.interval import Interval

    options: dict[str, Any] = {"space": Interval(0.0, rho_max), "partition": partition}
    default = min(1.0, rho_max)
    if files:
        if not on_demand:
            options |= {"order": order, "skip_bad": skip_bad}
        found = streams.read_knapsacks(files, on_demand=on_demand, **options)
        return _from_files(found, rounds, f"knapsacks from files, by {order}", default, "Lemma 8")
    stream = streams.knapsack(kind, rounds or 1000, n, seed, kappa or None, **options)
    title = f"{len(stream)} {kind} knapsacks with {n} items"
    bound = partial(_lemma_8, n=n, kappa=kappa) if kappa else None
    return Case(stream, title, default, "Lemma 8", bound, _BLOCKS if kind == "drifting" else None)


def _from_files(found: Any, rounds: int | None, title: str, default: float, bound_name: str = "") -> Case:
    """Return the case of the first files, and name those that were skipped."""
    for bad in found.skipped:
        typer.echo(f"skipped {bad}", err=True)
    n = len(found) if rounds is None else min(rounds, len(found))
    skipped = f" ({len(found.skipped)} bad files skipped)" if found.skipped else ""
    return Case(found.part(0, n), f"{n} {title}{skipped}", default, bound_name)


def _lemma_8(problems: Sequence[Any], n: int, kappa: float) -> DispersionFunction:
    C = max(float(problem.sizes.max() / problem.sizes.min()) for problem in problems)
    return partial(dispersion.bounds.knapsack_dispersion, n=n, C=C, kappa=kappa)


def linkage(
    kind: Annotated[
        str,
        _one_of(
            "elongated", "gaussian", "digits", "iris", "wine", "breast-cancer", help="Source of the points."
        ),
    ] = "elongated",
    rounds: Annotated[
        int | None,
        typer.Option("--rounds", "-T", min=1, help="Number of instances; by default 300, or every file."),
    ] = None,
    classes: Annotated[int, typer.Option(min=1, help="Classes of each instance.")] = 3,
    per_class: Annotated[int, typer.Option(min=1, help="Points of each class.")] = 20,
    smooth: Annotated[
        float, typer.Option(help="Noise on each distance, in mean distances; 0 for none.")
    ] = 0.0,
    mix: Annotated[
        str,
        _one_of(
            "single-complete",
            "average-complete",
            "single-average",
            name="--linkage",
            help="The linkages at ρ = 0 and ρ = 1.",
        ),
    ] = "single-complete",
    partition: TreeOrLoss = "tree",
    files: Annotated[
        list[str] | None,
        typer.Option(help="Use files instead: a folder or glob of .csv files with a header; repeatable."),
    ] = None,
    label: Annotated[str, typer.Option(help="Column of a file with the labels.")] = "label",
    standardise: Annotated[
        bool, typer.Option("--standardise", help="Scale each column of a file to variance 1.")
    ] = False,
    skip_bad: SkipBad = False,
    seed: Seed = 0,
    on_demand: bool = False,
) -> Case:
    """Clusterings by ρ-linkage, compared with the true classes of the points."""
    options: dict[str, Any] = {"linkage": mix, "partition": partition}
    if files:
        options |= {"label": label, "standardise": standardise, "skip_bad": skip_bad and not on_demand}
        found = streams.read_clusterings(files, **options)
        return _from_files(found, rounds, "clusterings from files, by name", 1.0)
    rounds = rounds or 300
    options |= {"n_classes": classes, "per_class": per_class}
    stream = streams.clustering(kind, rounds, smooth=smooth, seed=seed, **options)
    title = f"{rounds} clusterings of {kind} points, {classes} classes of {per_class}"
    proved = smooth > 0.0 and mix == "single-complete"
    return Case(stream, title, 1.0, *("Lemma 11", partial(_lemma_11, smooth=smooth)) if proved else ())


def _lemma_11(problems: Sequence[Any], smooth: float) -> DispersionFunction:
    """Return the lemma for the stream's noise; it depends on the product of κ and the largest distance."""
    # The noise is at most `smooth` times the mean distance before it, and raises that by at most this factor.
    product = max(float(p.distances.max() / p.distances.mean()) for p in problems) * (1.0 + smooth) / smooth
    n = max(len(problem.distances) for problem in problems)
    return partial(dispersion.bounds.linkage_dispersion, n=n, B=1.0, kappa=product)


def metric_linkage(
    rounds: Rounds = 1000,
    rows: Annotated[int | None, typer.Option(min=1, help="Rows of α. Default: from the rounds.")] = None,
    sizes: Annotated[str, typer.Option(help="Digits of each class in an instance.")] = "2,4,20",
    kappa: Annotated[float, typer.Option(help="Density of the noise on distances; 0 for no noise.")] = 100.0,
    partition: TreeOrLoss = "tree",
    seed: Seed = 0,
) -> Case:
    """Clusterings of digits with two metrics: a linkage ρ, and a mix of the metrics α."""
    try:
        counts = tuple(int(word) for word in sizes.split(","))
    except ValueError:
        raise ValueError(f"--sizes must be integers separated by commas, got {sizes!r}") from None
    stream = streams.digits_two_metrics(
        rounds, counts, seed, kappa=kappa or None, n_rows=rows, partition=partition
    )
    n_rows = len(stream[0].space)
    return Case(stream, f"{rounds} clusterings of {sum(counts)} digits with two metrics, {n_rows} rows")


def synthetic(
    rounds: Rounds = 2000,
    pieces: Annotated[int, typer.Option(min=1, help="Pieces of each loss function.")] = 10,
    gap: Annotated[float, typer.Option(help="Gain of the best parameter in mean loss.")] = 0.3,
    spread: Annotated[float, typer.Option(help="Discontinuities lie in an interval of this length.")] = 1.0,
    wander: Annotated[bool, typer.Option("--wander", help="Let the best parameter move.")] = False,
    seed: Seed = 0,
) -> Case:
    """Random step functions on [0, 1] with a dip."""
    stream = streams.synthetic(rounds, pieces=pieces, gap=gap, spread=spread, drift=wander, seed=seed)
    title = f"{rounds} random step functions with {pieces} pieces"
    bound = partial(_theorem_5, pieces=pieces, spread=spread)
    return Case(stream, title, 0.5, "Theorem 5", bound, _BLOCKS if wander else None)


def _theorem_5(problems: Sequence[Any], pieces: int, spread: float) -> DispersionFunction:
    def bound(T: int, eps: float) -> float:
        mean = T * min(1.0, (pieces - 1) * eps / spread)
        return dispersion.bounds.worst_interval(mean, T, pieces - 1)

    return bound


def posted_price(
    rounds: Rounds = 1000,
    buyers: Annotated[int, typer.Option(min=1, help="Buyers in each sale.")] = 5,
    supply: Annotated[int | None, typer.Option(min=1, help="Units for sale. Default: one per buyer.")] = None,
    seed: Seed = 0,
) -> Case:
    """Sales at a posted price in [0, 1], with a revenue that is piecewise linear in it."""
    stream = streams.posted_price(rounds, buyers=buyers, supply=supply, seed=seed)
    return Case(stream, f"{rounds} sales to {buyers} buyers at a posted price", 0.5)


def second_price(
    rounds: Rounds = 1000,
    bidders: Annotated[int, typer.Option(min=1, help="Bidders in each auction.")] = 3,
    supply: Annotated[int, typer.Option(min=1, help="Units for sale.")] = 1,
    seed: Seed = 0,
) -> Case:
    """Second-price auctions with a reserve in [0, 1], with a revenue that is piecewise linear in it."""
    stream = streams.second_price(rounds, bidders=bidders, supply=supply, seed=seed)
    return Case(stream, f"{rounds} auctions with {bidders} bidders and a reserve", 0.0)


def independent_set(
    rounds: Rounds = 1000,
    vertices: Annotated[int, typer.Option("--vertices", "-n", min=1, help="Vertices of each graph.")] = 60,
    density: Annotated[float, typer.Option(help="Probability of an edge, at most 1/4.")] = 0.1,
    adaptive: Annotated[bool, typer.Option("--adaptive", help="Use degrees in the remaining graph.")] = False,
    seed: Seed = 0,
) -> Case:
    """Greedy independent sets by w / (1 + deg)^ρ on random graphs."""
    stream = streams.independent_set(rounds, vertices=vertices, density=density, adaptive=adaptive, seed=seed)
    return Case(stream, f"{rounds} graphs with {vertices} vertices", 1.0)


def seeding(
    rounds: Rounds = 500,
    points: Annotated[int, typer.Option(min=1, help="Points of each set.")] = 100,
    clusters: Annotated[int, typer.Option("--clusters", "-k", min=1, help="Centres to pick.")] = 5,
    outliers: Annotated[float, typer.Option(help="Share of points far from all clusters.")] = 0.02,
    seed: Seed = 0,
) -> Case:
    """Seeding of k-means by d^α sampling on random clusters, where α = 2 is k-means++."""
    stream = streams.seeding(rounds, points=points, clusters=clusters, outliers=outliers, seed=seed)
    return Case(stream, f"{rounds} sets of {points} points, {clusters} centres", 2.0)


def rank_mix(
    kind: Annotated[
        str, _one_of("topics", "debian", help="Generated texts, or descriptions of packages.")
    ] = "topics",
    rounds: Rounds = 500,
    documents: Annotated[int, typer.Option(min=2, help="Generated texts for each query.")] = 80,
    k: Annotated[int, typer.Option(min=1, help="Length of the result list.")] = 10,
    metric: Annotated[str, _one_of("ndcg", "mrr", "recall", help="Measure of a list.")] = "ndcg",
    seed: Seed = 0,
) -> Case:
    """Hybrid search: rankings by (1 - ρ)·keyword score + ρ·vector score."""
    stream = streams.rank_mix(kind, rounds, documents=documents, k=k, metric=metric, seed=seed)
    return Case(stream, f"{rounds} queries with two scores ({kind})", 0.5)


def dispatch(
    kind: Annotated[
        str, _one_of("or-library", "job-shop", help="Generated jobs, or job shops of the literature.")
    ] = "or-library",
    rounds: Rounds = 1000,
    jobs: Annotated[int, typer.Option(min=1, help="Jobs of each problem.")] = 40,
    rule: Annotated[str, _one_of("atc", "wspt", "spt-edd", help="Priority of a job.")] = "atc",
    machines: Annotated[int, typer.Option(min=1, help="Identical machines.")] = 1,
    seed: Seed = 0,
) -> Case:
    """Scheduling by a priority rule with weighted tardiness, such as ATC with look-ahead ρ."""
    stream = streams.dispatch(kind, rounds, jobs=jobs, rule=rule, machines=machines, seed=seed)
    default = {"atc": 2.0, "wspt": 1.0, "spt-edd": 0.5}[rule]
    return Case(stream, f"{rounds} schedules by {rule} ({kind})", default)


def threshold(
    kind: Annotated[
        str, _one_of("normal", "breast-cancer", "phishing", help="Source of the scores.")
    ] = "normal",
    rounds: Rounds = 1000,
    false_alarm: Annotated[float, typer.Option(help="Cost of a flagged negative.")] = 1.0,
    miss: Annotated[float, typer.Option(help="Cost of a positive that is not flagged.")] = 4.0,
    seed: Seed = 0,
) -> Case:
    """Items flagged above a threshold, with labels only for flagged ones."""
    stream = streams.threshold(kind, rounds, false_alarm=false_alarm, miss=miss, seed=seed)
    return Case(stream, f"{rounds} scored items ({kind})", 0.5)


def max_cut(
    kind: Annotated[str, _one_of("random", "groups", help="Random graphs, or three groups.")] = "random",
    rounds: Rounds = 500,
    vertices: Annotated[int, typer.Option("--vertices", "-n", min=1, help="Vertices of each graph.")] = 30,
    density: Annotated[float, typer.Option(help="Probability of an edge of a random graph.")] = 0.3,
    rounding: Annotated[
        str, _one_of("s-linear", "outward", help="Rounding by s, or by an angle.")
    ] = "s-linear",
    seed: Seed = 0,
) -> Case:
    """Cuts by s-linear rounding, or outward rotations, of the Goemans-Williamson relaxation."""
    make = partial(streams.max_cut, kind, rounds, vertices=vertices, density=density)
    stream = make(rounding=rounding, seed=seed)
    return Case(stream, f"{rounds} graphs with {vertices} vertices ({kind})", 0.0)


def branching(
    kind: Annotated[str, _one_of("auction", "set-cover", "facility", help="Kind of programs.")] = "auction",
    rounds: Rounds = 100,
    size: Annotated[int, typer.Option(min=3, help="Goods, elements or customers.")] = 30,
    node_limit: Annotated[int, typer.Option(min=1, help="Nodes after which a search stops.")] = 100,
    seed: Seed = 0,
) -> Case:
    """Branch and bound in SCIP, on the variable with the largest ρ·smaller + (1 - ρ)·larger gain."""
    stream = streams.branching(kind, rounds, size=size, node_limit=node_limit, seed=seed)
    return Case(stream, f"{rounds} integer programs ({kind})", 5 / 6)


def path_tasks(
    kind: Annotated[str, _one_of("pruning", "boosting", help="Trees, or gradient boosting.")] = "pruning",
    rounds: Rounds = 300,
    data: Annotated[
        str, _one_of("generated", "breast-cancer", "wine", "digits", help="Source of the tasks.")
    ] = "generated",
    size: Annotated[int, typer.Option(min=8, help="Rows to train on.")] = 100,
    seed: Seed = 0,
) -> Case:
    """Pruning of decision trees by ccp_alpha, or stages of boosting, over many small tasks."""
    stream = streams.path_tasks(kind, rounds, data=data, size=size, seed=seed)
    return Case(stream, f"{rounds} tasks ({kind}, {data})", 0.0 if kind == "pruning" else 100.0)


def concentrated(
    rounds: Rounds = 2000,
    width: Annotated[float, typer.Option(help="Width of the interval with all discontinuities.")] = 1e-6,
    seed: Seed = 0,
) -> Case:
    """Losses of 1 but for a needle, which are not dispersed."""
    stream = streams.concentrated(rounds, width=width, seed=seed)
    return Case(stream, f"{rounds} needles of width {width:g}", 0.5)


def halving(rounds: Rounds = 48, seed: Seed = 0) -> Case:
    """The adversary on which every learner has linear regret; not dispersed."""
    return Case(streams.halving(rounds, seed=seed), f"{rounds} rounds of the halving adversary", 0.5)


FAMILIES = (
    Family(knapsack, {"n": 8}),
    Family(linkage, {"per_class": 4}),
    Family(metric_linkage, {"rows": 3, "sizes": "2,3,4"}),
    Family(posted_price),
    Family(second_price),
    Family(independent_set, {"vertices": 12, "density": 0.2}),
    Family(seeding, {"points": 25, "clusters": 3}),
    Family(rank_mix, {"documents": 15, "k": 3}),
    Family(dispatch, {"jobs": 8}),
    Family(threshold),
    Family(max_cut, {"vertices": 10}),
    Family(branching, {"size": 10}, "pyscipopt"),
    Family(path_tasks, {"size": 20}, "sklearn"),
    Family(synthetic),
    Family(concentrated),
    Family(halving),
)
