"""The best parameter of a log of problems, exactly and in parallel, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from semibandit import _validate
from semibandit.confidence import bernstein_radius
from semibandit.functions import Piecewise
from semibandit.games.checking import Check, Checked, Confidence, Range
from semibandit.games.engines import Advance, Engine, engine_for
from semibandit.games.guarantees import uniform_radius
from semibandit.games.hindsight import Hindsight, best_of, mean_of, unwatched
from semibandit.games.log import Log, Reader, Unreadable
from semibandit.games.losses import space_of, whole_loss
from semibandit.games.search import Found, Search, Watch
from semibandit.spaces import Interval, Parameters, Space, call

__all__ = ["Fit", "fit", "watching"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Fit(Hindsight):
    """The best fixed parameter of a log, and how sure that is; made by `fit`.

    Beside what `best_in_hindsight` gives, the interval of best parameters, `rho`, `alpha`, `mean_loss`:

    Attributes
    ----------
    function
        The mean loss; nan where a search in several passes has ruled the minimum out.
    confidence
        What can be said of problems to come.
    count, held_out
        The number of problems that the parameter was chosen by, and of those that it was checked on.
    unreadable
        The problems that were left out as they could not be read, by their place in the log.
    breaks
        How often the loss functions break, all together.
    passes
        How often the log was read to find the parameter.
    maximize
        Whether the losses are utilities.
    space
        Where the parameters live; None for bare functions.
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

    def __repr__(self) -> str:
        lo, hi = self.interval
        values = ", ".join(f"{name}={_shown(value)}" for name, value in self.values.items())
        sure = self.confidence
        gap = "" if sure.gap is None else f", gap to the default {sure.gap}"
        bad = f", {len(self.unreadable)} unreadable" if self.unreadable else ""
        return (
            f"<Fit: {values}; best on [{_shown(lo)}, {_shown(hi)}), mean loss {self.mean_loss:.4g} on "
            f"{self.count:,} problems; {sure.level:.0%} {sure.method}: loss {sure.loss}{gap}{bad}>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        sure = self.confidence
        return {
            "values": self.values,
            "rho": self.rho,
            "interval": list(self.interval),
            "alpha": self.alpha,
            "mean_loss": self.mean_loss,
            "function": self.function.to_dict(),
            "confidence": {
                "level": sure.level,
                "method": sure.method,
                "loss": sure.loss._asdict(),
                "gap": None if sure.gap is None else sure.gap._asdict(),
                "radius": sure.radius,
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
    """The parameter with the smallest mean loss over a log of problems, exactly, and how sure that is.

    It is `best_in_hindsight`, on many cores. Workers add up the functions of their chunks, and these sums
    meet in a tree. They are exact until the end, so the result is the same to the bit for every number of
    workers and size of chunks.

    Parameters
    ----------
    problems
        A stream, a list, files (`streams.read_knapsacks(..., on_demand=True)`, `streams.read_clusterings`),
        or anything to iterate over; problems, or their loss functions. Read chunk by chunk, in the workers
        where it is a stream or files. An iterator is read once, and then `max_pieces` does not hold.
    n_jobs
        The number of processes on this machine, -1 for one per processor; by default all is done here.
    client
        A `dask.distributed.Client`, instead: the work is done by its workers.
    default
        A parameter to compare with, such as the one in use: ρ, or what a problem's methods take, as a tuple
        (ρ, α) or, for `Knobs`, a dict.
    holdout
        The share of problems, evenly spread through the log, by which the parameter is not chosen but
        checked: on these the bounds are narrower. By default it is chosen by all.
    level
        The probability with which each of the bounds holds, for independent problems of one distribution.
    high
        Losses lie in [0, high]. By default what the first problem says, 1 for bare functions; and where the
        log has losses beyond that, the range that it has.
    maximize
        The losses are utilities, and more is better. By default what the first problem says.
    max_pieces
        How many pieces of a sum to hold; a larger one is searched in several passes over the log.
    chunk
        The number of problems that a worker takes at a time.
    unreadable
        "raise" the error of a problem that cannot be read, or "skip" it; see `Fit.unreadable`.
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
        default if default is None or isinstance(default, tuple | dict) else (default,),
        _validate.number("holdout", holdout, low=0.0, high=math.nextafter(1.0, 0.0)),
        _validate.number("level", level, low=0.0, high=1.0, open=True),
        None if high is None else _validate.number("high", high, low=0.0, open=True),
        None if maximize is None else _validate.boolean("maximize", maximize),
        _validate.integer("max_pieces", max_pieces, low=2),
        None if chunk is None else _validate.integer("chunk", chunk, low=1),
    )
    log = Log(problems)
    if holdout and not log.repeatable:
        raise ValueError(f"holdout needs problems that can be read again, got {problems!r}")
    with watching(_validate.boolean("progress", progress)) as watch:
        return _fit(log, options, watch)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, int | float) else repr(value)


@dataclass(frozen=True)
class _Options:
    engine: Engine
    skip: bool
    default: Parameters | None
    holdout: float
    level: float
    high: float | None
    maximize: bool | None
    max_pieces: int
    chunk: int | None


def _fit(log: Log, options: _Options, watch: Watch) -> Fit:
    """Choose, check, and put together what was found."""
    first = log.first(Reader(options.skip))
    maximize = bool(getattr(first, "maximize", False)) if options.maximize is None else options.maximize
    space = space_of(first)
    reader = Reader(options.skip, options.holdout)
    at = _place(first, space, options.default)
    found = Search(log, options.engine, watch, reader, maximize, options.max_pieces, options.chunk, at).run()
    count, bad = found.tally.count, found.tally.bad
    best = best_of(found.function, count, space, maximize)
    checked = None
    if options.holdout:
        checked = _check(
            log, options, watch, Check(replace(reader, held=True), best.parameters, options.default, maximize)
        )
        bad += checked.bad
    return Fit(
        **{each.name: getattr(best, each.name) for each in fields(best)},
        function=mean_of(found.function, count, maximize),
        confidence=_confidence(first, found, best, checked, maximize, options),
        count=count,
        held_out=0 if checked is None else checked.loss.n,
        unreadable=tuple(sorted(bad, key=lambda each: each.index)),
        breaks=found.tally.breaks,
        passes=found.passes,
        maximize=maximize,
        space=space,
    )


def _place(first: Any, space: Any, parameters: Parameters | None) -> float | None:
    """Where on the line a parameter is; an error if it is not in the space."""
    if parameters is None or first is None:
        return None
    if space is None:
        space = Interval(*(float(end) for end in whole_loss(first).edges[[0, -1]]))
    try:
        return float(call(space.place, parameters))
    except (TypeError, ValueError) as error:
        raise type(error)(f"default must be a parameter of {space.describe()}: {error}") from None


def _check(log: Log, options: _Options, watch: Watch, check: Check) -> Checked:
    chunks = log.chunks(options.chunk, options.engine.workers)
    checked: Checked | None = options.engine.reduce(check, chunks, check.merge, watch("checking", log.length))
    if checked is None or checked.loss.n == 0:
        raise ValueError(f"holdout must leave a problem to check on, got {options.holdout!r}")
    return checked


def _confidence(
    first: Any, found: Found, best: Hindsight, checked: Checked | None, maximize: bool, options: _Options
) -> Confidence:
    """By the problems that were held out; or else by a bound that holds for all parameters at once."""
    tally, level = found.tally, options.level
    least, most = tally.least, tally.most
    if checked is not None:
        least, most = min(least, checked.least), max(most, checked.most)
    losses = Range.of(first, options.high, least, most)
    degree = found.function.degree
    radius, wide = (
        uniform_radius(tally.count, tally.breaks, width=losses.width, level=level, gap=gap, degree=degree)
        for gap in (False, True)
    )
    gap = None
    if checked is not None:
        loss, apart = (
            float(bernstein_radius(each.n, each.variance, width=width, alpha=1.0 - level))
            for each, width in ((checked.loss, losses.width), (checked.gap, 2.0 * losses.width))
        )
        if options.default is not None:
            gap = losses.gap(checked.gap.mean, apart)
        return Confidence(level, "held-out", losses.loss(checked.loss.mean, loss), gap, radius)
    if options.default is not None:
        assert found.at is not None
        there = found.at / tally.count
        gap = losses.gap(best.mean_loss - there if maximize else there - best.mean_loss, wide)
    return Confidence(level, "uniform", losses.loss(best.mean_loss, radius), gap, radius)


@contextmanager
def watching(progress: bool) -> Iterator[Watch]:
    """What shows how far the passes over a log are; on request, a bar for each."""
    if not progress:
        yield unwatched
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, transient=True) as bars:

        def watch(what: str, total: int | None) -> Advance:
            return partial(bars.advance, bars.add_task(what, total=total))

        yield watch
