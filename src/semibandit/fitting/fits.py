"""Fit: the best parameter of a log of problems, with confidence bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from semibandit import _validate
from semibandit.confidence import bernstein_radius
from semibandit.fitting.best import Hindsight, best_of, mean_of
from semibandit.fitting.checking import Check, Checked, Confidence, LossRange
from semibandit.fitting.engines import Watch, WorkEngine, engine_for, watching
from semibandit.fitting.guarantees import uniform_radius
from semibandit.fitting.log import Log, Reader, Unreadable
from semibandit.fitting.losses import space_of, whole_loss
from semibandit.fitting.partial import Partial
from semibandit.fitting.search import Search, SearchResult, merged_in_tree
from semibandit.functions import Piecewise
from semibandit.spaces import Interval, Parameters, Space, call

__all__ = ["Fit", "fit"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Fit(Hindsight):
    """The best fixed parameter of a log, with confidence bounds; returned by `fit`.

    It has the attributes of `best_in_hindsight` (`interval`, `rho`, `alpha`, `mean_loss`), and:

    Attributes
    ----------
    function
        Mean loss; nan where a search in several passes has ruled the minimum out.
    confidence
        Bounds for future problems.
    count, held_out
        Number of problems that the parameter was chosen by, and of those that it was checked on.
    unreadable
        Problems that could not be read and were skipped.
    breaks
        Number of breaks of all loss functions.
    passes
        Number of times that the log was read to find the parameter.
    maximize
        Whether the losses are utilities.
    space
        Space of the parameters; None for bare functions.
    partial
        Exact sum, which can be added to that of another log; None after several passes.
    """

    function: Piecewise
    confidence: Confidence
    count: int
    held_out: int
    unreadable: tuple[Unreadable, ...]
    breaks: int
    passes: int
    maximize: bool
    space: Space | None
    partial: Partial | None

    @classmethod
    def of(
        cls, partial: Partial, *, default: Any = None, level: float = 0.95, high: float | None = None
    ) -> Fit:
        """Return the fit of the problems of a partial, such as a sum of partials.

        The arguments are those of `fit`. The bounds are uniform ones, as nothing is held out.
        """
        if not isinstance(partial, Partial):
            raise TypeError(f"partial must be a Partial (`Fit.partial`), got {_validate.shown(partial)}")
        if partial.total is None:
            raise ValueError("partial must hold at least one problem, got none")
        options = _Options(default=_parameters(default), level=_level(level), high=_high(high))
        function = partial.total.function().compress()
        at = _position(function, partial.space, options.default)
        there = None if at is None else float(partial.total.at(function.edges[:1] * 0.0 + at)[0])
        return _finished(SearchResult(function, partial, 1, there), None, options)

    def __repr__(self) -> str:
        lo, hi = self.interval
        values = ", ".join(f"{name}={_shown(value)}" for name, value in self.values.items())
        bounds = self.confidence
        gap = "" if bounds.gap is None else f", gap to the default {bounds.gap}"
        bad = f", {len(self.unreadable)} unreadable" if self.unreadable else ""
        return (
            f"<Fit: {values}; best on [{_shown(lo)}, {_shown(hi)}), mean loss {self.mean_loss:.4g} on "
            f"{self.count:,} problems; {bounds.level:.0%} {bounds.method}: loss {bounds.loss}{gap}{bad}>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the partial as plain data, ready for JSON."""
        bounds = self.confidence
        return {
            "values": self.values,
            "rho": self.rho,
            "interval": list(self.interval),
            "alpha": self.alpha,
            "mean_loss": self.mean_loss,
            "function": self.function.to_dict(),
            "confidence": {
                "level": bounds.level,
                "method": bounds.method,
                "loss": bounds.loss._asdict(),
                "gap": None if bounds.gap is None else bounds.gap._asdict(),
                "radius": bounds.radius,
                "vacuous": bounds.vacuous,
            },
            "count": self.count,
            "held_out": self.held_out,
            "unreadable": [{"index": each.index, "reason": each.reason} for each in self.unreadable],
            "breaks": self.breaks,
            "passes": self.passes,
            "maximize": self.maximize,
            "space": None if self.space is None else self.space.to_dict(),
        }


def fit(
    problems: Iterable[Any],
    *,
    n_jobs: int | None = None,
    client: Any = None,
    default: Any = None,
    holdout: float = 0.0,
    level: float = 0.95,
    high: float | None = None,
    maximize: bool | None = None,
    max_pieces: int = 4_000_000,
    chunk: int | None = None,
    unreadable: str = "raise",
    progress: bool = False,
) -> Fit:
    """Return the parameter with the smallest mean loss over a log of problems, with confidence bounds.

    This is `best_in_hindsight` on many cores. Workers add the loss functions of chunks of the log, and the
    sums are added. All sums are exact, and values are rounded once in the end: the result is the same to
    the bit for every number of workers and size of chunks.

    Parameters
    ----------
    problems
        Problems or loss functions: a stream, a list, files (`streams.read_knapsacks(..., on_demand=True)`,
        `streams.read_clusterings`), or any iterable. Workers read streams and files chunk by chunk. An
        iterator is read once, and `max_pieces` does not apply to it.
    n_jobs
        Number of processes on this machine, -1 for one per processor. Default: work in this process.
    client
        A `dask.distributed.Client`, to work on its cluster instead.
    default
        Parameter to compare with, such as the one in use: ρ, a tuple (ρ, α), or a dict for `Knobs`.
    holdout
        Share of the problems, evenly spread through the log, that are used to check the parameter and not
        to choose it. Bounds from these are narrower. Default: none.
    level
        Probability with which each bound holds, for independent problems of one distribution.
    high
        Losses are in [0, high]. Default: the largest bound that a problem states (1 for bare functions),
        extended to the range of the observed losses.
    maximize
        Losses are utilities: higher values are better. Default: as the first problem states.
    max_pieces
        Largest number of pieces of the sum in memory; a larger sum is searched in several passes.
    chunk
        Number of problems per chunk.
    unreadable
        "raise" the error of a problem that cannot be read, or "skip" the problem; see `Fit.unreadable`.
    progress
        Show a progress bar.

    Examples
    --------
    >>> import semibandit as sb
    >>> result = sb.fit(sb.streams.knapsack("mixed", rounds=200, n=10), default=1.0, holdout=0.2)
    >>> result.count, result.held_out, result.confidence.method
    (160, 40, 'held-out')
    """
    _validate.iterable("problems", problems, "a sequence of problems")
    options = _Options(
        engine_for(n_jobs, client),
        _validate.choice("unreadable", unreadable, ("raise", "skip")) == "skip",
        _parameters(default),
        _validate.number("holdout", holdout, low=0.0, high=math.nextafter(1.0, 0.0)),
        _level(level),
        _high(high),
        None if maximize is None else _validate.boolean("maximize", maximize),
        _validate.integer("max_pieces", max_pieces, low=2),
        None if chunk is None else _validate.integer("chunk", chunk, low=1),
    )
    log = Log(problems)
    if holdout and not log.repeatable:
        raise ValueError(f"holdout needs problems that can be read again, got {problems!r}")
    with watching(_validate.boolean("progress", progress)) as watch:
        return _fit(log, options, watch)


@dataclass(frozen=True)
class _Options:
    engine: WorkEngine = field(default_factory=WorkEngine)
    skip: bool = False
    default: Parameters | None = None
    holdout: float = 0.0
    level: float = 0.95
    high: float | None = None
    maximize: bool | None = None
    max_pieces: int = 4_000_000
    chunk: int | None = None


def _parameters(default: Any) -> Parameters | None:
    return default if default is None or isinstance(default, tuple | dict) else (default,)


def _level(level: float) -> float:
    return _validate.number("level", level, low=0.0, high=1.0, open=True)


def _high(high: float | None) -> float | None:
    return None if high is None else _validate.number("high", high, low=0.0, open=True)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, int | float) else repr(value)


def _fit(log: Log, options: _Options, watch: Watch) -> Fit:
    """Find the best parameter, and check it on the problems held out."""
    first = log.first(Reader(options.skip))
    maximize = bool(getattr(first, "maximize", False)) if options.maximize is None else options.maximize
    reader = Reader(options.skip, options.holdout)
    at = None
    if first is not None and options.default is not None:
        at = _position(whole_loss(first), space_of(first), options.default)
    search = Search(log, options.engine, watch, reader, maximize, options.max_pieces, options.chunk, at)
    found = search.run(first)
    checked = None
    if options.holdout:
        best = best_of(found.function, found.partial.count, found.partial.space, maximize)
        check = Check(replace(reader, held_out=True), best.parameters, options.default, maximize)
        checked = _check(log, options, watch, check)
    return _finished(found, checked, options)


def _position(function: Piecewise, space: Any, parameters: Parameters | None) -> float | None:
    """Return the position of a parameter on the line; an error if it is not in the space."""
    if parameters is None:
        return None
    if space is None:
        space = Interval(*(float(end) for end in function.edges[[0, -1]]))
    try:
        return float(call(space.place, parameters))
    except (TypeError, ValueError) as error:
        raise type(error)(f"default must be a parameter of {space.describe()}: {error}") from None


def _check(log: Log, options: _Options, watch: Watch, check: Check) -> Checked:
    chunks = log.chunks(options.chunk, options.engine.workers)
    results = options.engine.map(check, chunks, watch("checking", log.length))
    checked: Checked | None = merged_in_tree(results, check.merge)
    if checked is None or checked.loss.n == 0:
        raise ValueError(f"holdout must leave a problem to check on, got {options.holdout!r}")
    return checked


def _finished(found: SearchResult, checked: Checked | None, options: _Options) -> Fit:
    """Put the parts of a fit together."""
    partial = found.partial
    best = best_of(found.function, partial.count, partial.space, partial.maximize)
    unreadable = partial.unreadable + (() if checked is None else checked.unreadable)
    return Fit(
        **{each.name: getattr(best, each.name) for each in fields(best)},
        function=mean_of(found.function, partial.count),
        confidence=_confidence(found, best, checked, options),
        count=partial.count,
        held_out=0 if checked is None else checked.loss.n,
        unreadable=tuple(sorted(unreadable, key=lambda each: each.index)),
        breaks=partial.breaks,
        passes=found.passes,
        maximize=partial.maximize,
        space=partial.space,
        partial=partial if found.passes == 1 else None,
    )


def _confidence(
    found: SearchResult, best: Hindsight, checked: Checked | None, options: _Options
) -> Confidence:
    """Bound the loss by the problems held out; without these, by a bound uniform over all parameters."""
    partial, level = found.partial, options.level
    least, most = partial.least, partial.most
    if checked is not None:
        least, most = min(least, checked.least), max(most, checked.most)
    losses = LossRange.of(partial.high, options.high, least, most)
    degree = found.function.degree
    radius, gap_radius = (
        uniform_radius(partial.count, partial.breaks, width=losses.width, level=level, gap=gap, degree=degree)
        for gap in (False, True)
    )
    vacuous = radius >= losses.width
    gap = None
    if checked is not None:
        loss_radius, gap_radius = (
            float(bernstein_radius(each.n, each.variance, width=width, alpha=1.0 - level))
            for each, width in ((checked.loss, losses.width), (checked.gap, 2.0 * losses.width))
        )
        if options.default is not None:
            gap = losses.gap(checked.gap.mean, gap_radius)
        loss = losses.loss(checked.loss.mean, loss_radius)
        return Confidence(level, "held-out", loss, gap, radius, vacuous)
    if found.at is not None:
        worse = found.at / partial.count - best.mean_loss
        gap = losses.gap(-worse if partial.maximize else worse, gap_radius)
    return Confidence(level, "uniform", losses.loss(best.mean_loss, radius), gap, radius, vacuous)
