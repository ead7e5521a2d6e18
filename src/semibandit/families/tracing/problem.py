"""`traced`: a function of ρ and an instance becomes a family with exact feedback."""

from __future__ import annotations

import copy
import functools
import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from semibandit import _validate
from semibandit.families.black_box.outputs import same_output
from semibandit.families.tracing.errors import TracingError, not_swallowed
from semibandit.families.tracing.values import Traced, Tracer, plain
from semibandit.functions import Piecewise, PiecewiseConstant, PiecewiseLinear
from semibandit.spaces import Boxes, Interval, Knobs, parameters_of

__all__ = ["TracedFamily", "TracedProblem", "traced"]

_PARTITIONS = ("decisions", "output")


class TraceOptions(NamedTuple):
    """Options of `traced`."""

    space: Interval | Knobs
    partition: str
    high: float
    maximize: bool
    predicted: Callable[..., Any] | None


def traced(
    space: Interval | Knobs,
    *,
    partition: str = "decisions",
    high: float = 1.0,
    maximize: bool = False,
    predicted: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], TracedFamily]:
    """Turn a function of ρ and an instance into a family with exact feedback.

    The decorated function takes an instance and returns a problem. `problem.loss(rho)` calls the function
    with a plain float. `problem.reveal(rho)` calls it once with a traced number: each comparison shrinks the
    interval to the ρ with the same result, so that one run gives the exact interval.

    Decisions must compare values that are lines in ρ, or products of powers such as c**ρ and exp(cρ). Other
    operations raise a `TracingError` that names the line. The function returns the loss: a number that is
    constant on the interval, or a line in ρ, which gives a `PiecewiseLinear`. It may return a tuple
    (loss, output).

    Parameters
    ----------
    space
        Range of ρ, the first argument of the function. With `Knobs` the function takes the knobs by name; it
        is traced along the knob `along`, the others are plain. That knob must be a `Real` without a step.
    partition
        "decisions": the interval on which every comparison has the same result. "output": neighbouring
        intervals with the same loss and output are joined, with one run for each of them.
    high, maximize
        Largest loss, and whether losses are utilities: for the learner that plays the problem.
    predicted
        Prediction of the loss before the draw, called with the instance: a number or a function of ρ, which
        `problem.predicted` holds.

    Notes
    -----
    The function must depend on ρ and the instance only, and must not change its arguments. An argument that
    is a numpy random generator is copied for each run, so that all runs draw the same numbers. Iterators are
    kept as lists.

    A crossing of two values is correctly rounded to 43 significant bits. Intervals are half-open: a tie is
    decided as just right of it, but a plain run may decide otherwise. Ties are frequent at both ends of the
    space, so `loss` traces there.

    Examples
    --------
    >>> @traced(Interval(0, 10))
    ... def greedy(rho, values, sizes, capacity):
    ...     gain = 0.0
    ...     for i in np.argsort(-values / sizes**rho):
    ...         if sizes[i] <= capacity:
    ...             capacity, gain = capacity - sizes[i], gain + values[i]
    ...     return 1 - gain / values.sum()
    >>> problem = greedy(np.array([6.0, 4.0, 4.0]), np.array([4.0, 1.0, 2.0]), 4.0)
    >>> problem.losses()
    PiecewiseConstant([0.0, 0.292481250360..., 10.0], [0.571428571428..., 0.4285714285714...])
    >>> problem.reveal(2.0).domain == problem.losses().piece(2.0).domain
    True
    """
    if not isinstance(space, Interval | Knobs):
        hint = "; write @sb.traced(sb.Interval(lo, hi)) above the function" if callable(space) else ""
        raise TypeError(f"space must be an Interval or Knobs, got {space!r}{hint}")
    if math.isfinite(space.line.size):
        raise ValueError(f"the knob along the rows must be a Real without a step, got {space!r}")
    options = TraceOptions(
        space,
        _validate.choice("partition", partition, _PARTITIONS),
        _validate.number("high", high, low=0.0, open=True),
        _validate.boolean("maximize", maximize),
        None if predicted is None else _validate.function("predicted", predicted),
    )
    return lambda function: TracedFamily(_validate.function("function", function), options)


class TracedFamily:
    """A family made by `traced`: called with an instance, it returns a problem."""

    def __init__(
        self, function: Callable[..., Any], options: TraceOptions, owner: tuple[Any, ...] = ()
    ) -> None:
        functools.update_wrapper(self, function)
        self.function, self.options, self._owner = function, options, owner

    def __call__(self, *args: Any, **keywords: Any) -> TracedProblem:
        """Return the problem of an instance."""
        return TracedProblem(self, tuple(map(_kept, args)), {n: _kept(v) for n, v in keywords.items()})

    def __get__(self, owner: Any, kind: Any = None) -> TracedFamily:
        """Bind a method to its object."""
        return self if owner is None else TracedFamily(self.function, self.options, (owner,))

    def run(self, parameters: Any, args: Any, keywords: dict[str, Any]) -> Any:
        """Call the function with values of the parameters; of a generator, return the last yield."""
        args, keywords = _fresh(args), dict(zip(keywords, _fresh(keywords.values()), strict=True))
        if isinstance(parameters, dict):
            output = self.function(*self._owner, *args, **parameters, **keywords)
        else:
            output = self.function(*self._owner, *parameters, *args, **keywords)
        if isinstance(output, Iterator):
            *_, output = output
        return output

    def stream(self, instances: Any, read: Callable[[Any], Any] | None = None) -> TracedStream:
        """Return the problems of many instances, made on demand.

        Parameters
        ----------
        instances
            Instances: tuples of arguments, or dicts of keyword arguments; with `read`, such as paths.
        read
            Reader of one entry: returns the tuple or dict.
        """
        entries = list(_validate.iterable("instances", instances, "a sequence of instances"))
        return TracedStream(self, entries, None if read is None else _validate.function("read", read))

    def __reduce__(self) -> Any:
        """Pickle the function as the attribute `function` of the family that has its name."""
        name = getattr(self.function, "__qualname__", "").removesuffix(".function")
        found: Any = sys.modules.get(self.function.__module__)
        for part in name.split("."):
            found = getattr(found, part, None)
        if isinstance(found, TracedFamily) and found.function is self.function:
            self.function.__qualname__ = f"{name}.function"
        return TracedFamily, (self.function, self.options, self._owner)

    def __repr__(self) -> str:
        return f"<traced {getattr(self, '__name__', 'function')} on {self.options.space!r}>"


class TracedStream(Sequence[Any]):
    """Problems of a traced function, made on demand."""

    def __init__(self, family: TracedFamily, entries: list[Any], read: Any) -> None:
        self._family, self._entries, self._read = family, entries, read

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, t: Any) -> Any:
        if isinstance(t, slice):
            return TracedStream(self._family, self._entries[t], self._read)
        entry = self._entries[t] if self._read is None else self._read(self._entries[t])
        if isinstance(entry, dict):
            return self._family(**entry)
        if not isinstance(entry, tuple | list):
            raise TypeError(f"an instance must be a tuple or a dict of arguments, got {entry!r}")
        return self._family(*entry)


class _Run(NamedTuple):
    """One traced run: its interval, the loss as a line (constant, slope), and the output."""

    lo: float
    hi: float
    loss: tuple[float, float]
    output: Any

    def joins(self, other: _Run) -> bool:
        """Return whether loss and output are the same."""
        return self.loss == other.loss and same_output(self.output, other.output)


class TracedProblem:
    """One instance of a traced function, with the three kinds of feedback."""

    def __init__(self, family: TracedFamily, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self.family, self.args, self.keywords = family, args, keywords
        self.space, self.partition, self.high, self.maximize, predicted = family.options
        self.predicted = None if predicted is None else predicted(*args, **keywords)

    def loss(self, *args: Any, **values: Any) -> float:
        """Return the loss of one plain run (bandit feedback); at both ends of the space, of a traced one."""
        value, alpha = self.space.coordinates(*args, **values)
        if value in self.space.interval.span:
            constant, slope = self._run(value, alpha).loss
            return constant + slope * value
        output = self._call(value, alpha)
        return self._number(output[0] if isinstance(output, tuple) else output)

    def reveal(self, *args: Any, **values: Any) -> Piecewise:
        """Return the loss on the exact interval around rho (semi-bandit feedback), from one run.

        With partition="output", neighbours with the same loss and output are joined, with one run for each.
        """
        value, alpha = self.space.coordinates(*args, **values)
        run = self._run(value, alpha)
        if self.partition == "output":
            start, end = self.space.interval.span
            while run.hi < end and (beyond := self._run(run.hi, alpha)).joins(run):
                run = run._replace(hi=beyond.hi)
            while run.lo > start:
                before = self._run(math.nextafter(run.lo, -math.inf), alpha)
                if not before.joins(run):
                    break
                run = run._replace(lo=before.lo)
        return _function([run])

    def losses(self) -> Piecewise | Boxes:
        """Return the loss everywhere (full information): one traced run for each interval."""
        return self.space.from_rows([_function(self._row(alpha)) for alpha in self.space.alphas])

    def _row(self, alpha: Any) -> list[_Run]:
        """Return the runs along a row, from end to end."""
        start, end = self.space.interval.span
        runs: list[_Run] = []
        while start < end:
            run = self._run(start, alpha)
            if run.lo != start:
                raise ValueError(
                    f"the run at rho = {start!r} makes the decisions of [{run.lo!r}, {run.hi!r}): a traced "
                    f"function must depend on rho and the instance only, and must not change its arguments"
                )
            if self.partition == "output" and runs and runs[-1].joins(run):
                runs[-1] = runs[-1]._replace(hi=run.hi)
            else:
                runs.append(run)
            start = run.hi
        return runs

    def _call(self, value: Any, alpha: Any) -> Any:
        return self.family.run(parameters_of(self.space.names, value, alpha), self.args, self.keywords)

    def _run(self, value: float, alpha: Any) -> _Run:
        """Run once with a traced number; the right end of the space belongs to the last interval."""
        lo, hi = self.space.interval.span
        tracer = Tracer(min(float(value), math.nextafter(hi, -math.inf)), lo, hi)
        with not_swallowed():
            returned = self._call(Traced(tracer, (0.0, 1.0), ()), alpha)
        lo, hi = tracer.close()
        loss, *output = returned if isinstance(returned, tuple) else (returned,)
        loss = plain(loss)
        if not isinstance(loss, Traced):
            line = self._number(loss), 0.0
        elif loss.shape or not loss.affine:
            raise TracingError(
                f"a traced function must return a number or a line in rho, got {loss!r}: use sb.BlackBox for "
                f"a loss that is another function of rho",
                self.family.function,
            )
        else:
            constant, slope = loss.terms()
            line = float(constant), float(slope)
        return _Run(lo, hi, line, _detached(output) if self.partition == "output" else ())

    def _number(self, loss: Any) -> float:
        name = getattr(self.family.function, "__name__", "the function")
        return _validate.number(f"the loss returned by {name}", loss)

    def __repr__(self) -> str:
        return f"<problem of {self.family!r}>"


def _function(runs: list[_Run]) -> Piecewise:
    """Return the function of consecutive runs: constant if all losses are."""
    if len(runs) == 1 and runs[0].loss[1] == 0.0:
        return PiecewiseConstant.constant(runs[0].lo, runs[0].hi, runs[0].loss[0])
    edges = [runs[0].lo, *(run.hi for run in runs)]
    if all(run.loss[1] == 0.0 for run in runs):
        return PiecewiseConstant(edges, [run.loss[0] for run in runs])
    left, right = ([a + b * x for (_, _, (a, b), _), x in zip(runs, ends, strict=True)]
                   for ends in (edges[:-1], edges[1:]))  # fmt: skip
    return PiecewiseLinear(edges, left, right)


def _detached(output: Any) -> Any:
    """Return an output without traced values: their coefficients stand for them."""
    if isinstance(output, Traced):
        found = plain(output)
        return (len(output.parts), output.full().tolist()) if isinstance(found, Traced) else found
    if isinstance(output, list | tuple):
        return [_detached(each) for each in output]
    if isinstance(output, dict):
        return {key: _detached(value) for key, value in output.items()}
    return copy.deepcopy(output)


def _kept(value: Any) -> Any:
    """Return an argument for several runs: an iterator as a list, an array as a read-only view."""
    if type(value) is np.ndarray:
        value = value.view()
        value.flags.writeable = False
    return list(value) if isinstance(value, Iterator) else value


def _fresh(values: Any) -> list[Any]:
    """Return arguments with copies of random generators, so that all runs draw the same numbers."""
    kinds = (np.random.Generator, np.random.RandomState, random.Random)
    return [copy.deepcopy(value) if isinstance(value, kinds) else value for value in values]
