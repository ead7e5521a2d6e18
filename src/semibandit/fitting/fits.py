"""Fit: the best parameter of a log of problems, with confidence bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from semibandit import _validate
from semibandit.fitting.best import Hindsight
from semibandit.fitting.checking import Check, Confidence, HeldOut, confidence_of
from semibandit.fitting.engines import engine_for
from semibandit.fitting.log import ProblemLog, Reader, Unreadable
from semibandit.fitting.partial import Adder, Checkpoint, Partial
from semibandit.functions import Piecewise
from semibandit.spaces import Parameters, Space

if TYPE_CHECKING:
    from semibandit.fitting.groups import FitCell

__all__ = ["Fit", "fit"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Fit(Hindsight):
    """The best fixed parameter of a log, with confidence bounds; returned by `fit`.

    It has the attributes of `best_in_hindsight` (`interval`, `rho`, `alpha`, `mean_loss`), and:

    Attributes
    ----------
    function
        Mean loss at every parameter.
    confidence
        Bounds for future problems.
    count, held_out
        Number of problems that the parameter was chosen by, and of those that it was checked on.
    unreadable
        Problems that could not be read and were skipped.
    breaks
        Number of breaks of all loss functions.
    maximize
        Whether the losses are utilities.
    space
        Space of the parameters; None for bare functions.
    partial
        Exact sum, which can be added to that of another log.
    cells
        With `contexts`: the cells that the log supports, each with its own fit.
    """

    function: Piecewise
    confidence: Confidence
    count: int
    held_out: int
    unreadable: tuple[Unreadable, ...]
    breaks: int
    maximize: bool
    space: Space | None
    partial: Partial
    cells: tuple[FitCell, ...] = ()

    @classmethod
    def of(
        cls, partial: Partial, *, default: Any = None, level: float = 0.95, high: float | None = None
    ) -> Fit:
        """Return the fit of the problems of a partial, such as a sum of partials.

        The arguments are those of `fit`. The bounds are uniform ones, as nothing is held out.
        """
        if not isinstance(partial, Partial):
            raise TypeError(f"partial must be a Partial (`Fit.partial`), got {_validate.shown(partial)}")
        level, high, parameters = _checked(level, high, default)
        return _fit(partial, confidence_of(partial, default=parameters, level=level, high=high))

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
        estimates = {"loss": bounds.loss._asdict(), "gap": bounds.gap and bounds.gap._asdict()}
        names = ("values", "rho", "alpha", "mean_loss", "count", "held_out", "breaks", "maximize")
        return {name: getattr(self, name) for name in names} | {
            "interval": list(self.interval),
            "function": self.function.to_dict(),
            "confidence": vars(bounds) | estimates,
            "unreadable": [vars(each) for each in self.unreadable],
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
    chunk: int | None = None,
    unreadable: str = "raise",
    progress: bool = False,
    checkpoint: str | PathLike[str] | None = None,
    contexts: Sequence[Mapping[str, Any]] | None = None,
) -> Fit:
    """Return the parameter with the smallest mean loss over a log of problems, with confidence bounds.

    This is `best_in_hindsight` on many cores. Workers add the loss functions of chunks of the log, and the
    sums are added. All sums are exact, and values are rounded once in the end: the result is the same to
    the bit for every number of workers and size of chunks. O(N log N) time for N breaks, beside the loss
    functions, and about 200 bytes of memory per break.

    Parameters
    ----------
    problems
        Problems or loss functions: a stream, a list, files (`streams.read_knapsacks(..., on_demand=True)`,
        `streams.read_clusterings`), or any iterable. Workers read streams and files chunk by chunk.
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
        Losses are utilities: higher values are better. Default: as the problems state.
    chunk
        Number of problems per chunk.
    unreadable
        "raise" the error of a problem that cannot be read, or "skip" the problem; see `Fit.unreadable`.
    progress
        Show a progress bar.
    checkpoint
        File for the sum of the finished chunks, from which the same call continues after a stop. It is a
        pickle: use only your own files. Not with `client`.
    contexts
        Features of each problem by name. The log is divided into cells where it supports a difference (see
        `fit_groups`), and each cell gets the exact best parameter of its problems; `Fit.cells` has them. Loss
        functions are computed a second time for this, in this process, and kept in memory.

    Examples
    --------
    >>> import semibandit as sb
    >>> result = sb.fit(sb.streams.knapsack("mixed", rounds=200, n=10), default=1.0, holdout=0.2)
    >>> result.count, result.held_out, result.confidence.method
    (160, 40, 'held-out')
    """
    level, high, parameters = _checked(level, high, default)
    holdout = _validate.number("holdout", holdout, low=0.0, high=math.nextafter(1.0, 0.0))
    skip = _validate.choice("unreadable", unreadable, ("raise", "skip")) == "skip"
    maximize = None if maximize is None else _validate.boolean("maximize", maximize)
    chunk = None if chunk is None else _validate.integer("chunk", chunk, low=1)
    engine = engine_for(n_jobs, client)
    log = ProblemLog(problems, chunk, engine.workers, _validate.boolean("progress", progress))
    if holdout and isinstance(problems, Iterator):
        raise ValueError(f"holdout needs problems that can be read again, got {problems!r}")
    saved = None
    if checkpoint is not None:
        if client is not None:
            raise ValueError("checkpoint goes without client")
        n = len(problems) if isinstance(problems, Sized) else None
        about = {"problems": n, "chunk": log.cut, "skip": skip, "holdout": holdout, "maximize": maximize}
        saved = Checkpoint(_validate.path("checkpoint", checkpoint), about)
    partial = Adder(Reader(skip, holdout), maximize, parameters).add(log, engine, saved)
    held_out = None
    if holdout:
        check = Check(Reader(skip, holdout, held_out=True), partial.best.parameters, parameters)
        held_out = engine.reduce(check, HeldOut.merge, log.chunks("checking"))
        if not held_out.losses:
            raise ValueError(f"holdout must leave a problem to check on, got {holdout!r}")
    bounds = confidence_of(partial, held_out, default=parameters, level=level, high=high)
    found = _fit(partial, bounds, held_out)
    if contexts is None:
        return found
    from semibandit.fitting.groups import fit_cells

    options = {"default": default, "level": level, "high": high, "maximize": maximize}
    return replace(found, cells=fit_cells(problems, contexts, **options))


def _checked(level: float, high: float | None, default: Any) -> tuple[float, float | None, Parameters | None]:
    """Return the arguments of the bounds, with `default` as parameters."""
    return (
        _validate.number("level", level, low=0.0, high=1.0, open=True),
        None if high is None else _validate.number("high", high, low=0.0, open=True),
        default if default is None or isinstance(default, tuple | dict) else (default,),
    )


def _fit(partial: Partial, bounds: Confidence, held_out: HeldOut | None = None) -> Fit:
    best = partial.best
    unreadable = partial.unreadable + (() if held_out is None else held_out.unreadable)
    return Fit(
        **{each.name: getattr(best, each.name) for each in fields(best)},
        function=partial.mean,
        confidence=bounds,
        count=partial.count,
        held_out=0 if held_out is None else len(held_out.losses),
        unreadable=tuple(sorted(unreadable, key=lambda each: each.index)),
        breaks=partial.breaks,
        maximize=partial.maximize,
        space=partial.space,
        partial=partial,
    )


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, int | float) else repr(value)
