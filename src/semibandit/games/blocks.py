"""The best sequence of blocks in hindsight, each with a parameter of its own, exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray, IntArray
from semibandit.functions import Piecewise
from semibandit.games._block_kernels import NEVER, TOTAL_BITS, add_block
from semibandit.games.hindsight import Hindsight, best_for
from semibandit.games.losses import whole_functions

__all__ = ["BestBlocks", "Block", "best_blocks"]

_NARROWEST_BUCKET = 8


class Block(NamedTuple):
    """The rounds from `start` up to, not including, `stop`, and the best fixed parameter for them."""

    start: int
    stop: int
    best: Hindsight


class BestBlocks(NamedTuple):
    """The best sequences of at most 1, 2, 3, ... blocks: the total loss of each, and its blocks in order.

    It unpacks into two, `totals, sequences = best_blocks(problems)`, and so does a block into three:
    `for start, stop, best in sequences[-1]`.
    """

    totals: tuple[float, ...]
    sequences: tuple[tuple[Block, ...], ...]


def best_blocks(problems: Iterable[Any], blocks: int = 8, *, maximize: bool = False) -> BestBlocks:
    """The sequences of at most 1, 2, ..., `blocks` fixed parameters with the smallest total losses.

    A sequence plays one parameter on each of its blocks of consecutive rounds; it is what a learner is
    compared with when the best parameter changes. One block is `best_in_hindsight`. A further block is used
    only where it makes the total smaller, so a sequence may have fewer blocks than it might.

    Exact to rounding: the blocks are found with losses rounded to 60 - log2 T bits, whose sums are exact;
    parameters and totals are those of the whole functions. O(s·T·√(N·m) + s·N·log N) for s blocks and T step
    functions with N pieces in all, m = N/T a round, in memory for all of them. With a piecewise linear
    function among them, whose sums are lowest at an edge or on the way to one, O(s·T·N).

    Parameters
    ----------
    problems
        Problems, or their loss functions as `PiecewiseConstant` or `PiecewiseLinear`, all on the same span.
    blocks
        The largest number of blocks; it may exceed the number of problems.
    maximize
        The functions are utilities: look for the largest totals.

    Examples
    --------
    >>> from semibandit import PiecewiseConstant
    >>> early, late = PiecewiseConstant([0, 0.5, 1], [0, 1]), PiecewiseConstant([0, 0.5, 1], [1, 0])
    >>> totals, sequences = best_blocks([early] * 30 + [late] * 20, blocks=3)
    >>> totals
    (20.0, 0.0, 0.0)
    >>> [(start, stop, best.interval) for start, stop, best in sequences[-1]]
    [(0, 30, (0.0, 0.5)), (30, 50, (0.5, 1.0))]
    """
    blocks = _validate.integer("blocks", blocks, low=1)
    spaces: list[Any] = []
    _validate.boolean("maximize", maximize)
    functions = list(whole_functions(problems, maximize, spaces))
    _require_one_span(functions)

    @cache
    def best(start: int, stop: int) -> Hindsight:
        return best_for(functions[start:stop], spaces, maximize)

    all_steps = all(function.degree == 0 for function in functions)
    least, began = (_steps if all_steps else _lines)(functions, blocks)
    sequences = []
    for k in range(1, blocks + 1):
        starts = _starts(least, began, k)
        ends = [*starts[1:], len(functions)]
        sequences.append(tuple(Block(*ij, best(*ij)) for ij in zip(starts, ends, strict=True)))
    return BestBlocks(tuple(map(_total, sequences)), tuple(sequences))


def _require_one_span(functions: Sequence[Piecewise]) -> None:
    if not functions:
        raise ValueError("problems must hold at least one problem, got none")
    lo, hi = functions[0].edges[[0, -1]].tolist()
    for i, function in enumerate(functions):
        a, b = function.edges[[0, -1]].tolist()
        if (a, b) != (lo, hi):
            raise ValueError(
                f"all loss functions must be on the span of the first, [{lo!r}, {hi!r}], "
                f"got [{a!r}, {b!r}] for problem {i}"
            )


def _total(sequence: Sequence[Block]) -> float:
    return math.fsum((stop - start) * best.mean_loss for start, stop, best in sequence)


def _starts(least: IntArray, began: IntArray, k: int) -> list[int]:
    """Where the blocks of the best sequence of at most k begin, of equals one with the fewest."""
    while least[k - 1, -1] == least[k, -1]:
        k -= 1
    starts: list[int] = []
    t = least.shape[1] - 1
    for j in range(k, 0, -1):
        t = int(began[j, t])
        starts.append(t)
    return starts[::-1]


def _tables(blocks: int, rounds: int) -> tuple[IntArray, IntArray]:
    """To fill at [k, t]: the least total of t rounds in at most k blocks, and when the last one began."""
    least = np.full((blocks + 1, rounds + 1), NEVER)
    least[1:, 0] = 0
    return least, np.zeros_like(least)


def _steps(functions: Sequence[Piecewise], blocks: int) -> tuple[IntArray, IntArray]:
    """The tables for step functions, by one pass over the rounds for each number of blocks."""
    losses = _scaled(np.concatenate([function.ends[0] for function in functions]), _bits(functions))
    edges, last_cell = np.unique(
        np.concatenate([function.edges[1:] for function in functions]), return_inverse=True
    )
    # Each round passes all buckets and works through the cells of one for each break: make these even.
    width = max(math.isqrt(edges.size * len(functions) // losses.size), _NARROWEST_BUCKET)
    until = last_cell + 1
    until[until == edges.size] = -(-edges.size // width) * width
    least, began = _tables(blocks, len(functions))
    for k in range(1, blocks + 1):
        add_block(until, losses, width, least[k - 1], least[k], began[k])
    return least, began


def _lines(functions: Sequence[Piecewise], blocks: int) -> tuple[IntArray, IntArray]:
    """The tables for any functions: the recursion at both sides of every edge."""
    bits = _bits(functions)
    edges = np.unique(np.concatenate([function.edges for function in functions]))
    least, began = _tables(blocks, len(functions))
    total = np.zeros((blocks, 2 * (edges.size - 1)), np.int64)
    since = np.zeros(total.shape, np.int32)
    each = np.arange(blocks)
    for t, function in enumerate(functions):
        fresh = least[:-1, t, None]
        np.copyto(since, t, where=fresh < total)
        np.minimum(total, fresh, out=total)
        total += _scaled(np.concatenate(function.spread(edges)), bits)
        lowest = total.argmin(axis=1)
        least[1:, t + 1] = total[each, lowest]
        began[1:, t + 1] = since[each, lowest]
    return least, began


def _bits(functions: Sequence[Piecewise]) -> int:
    """The power of two to multiply losses with, so that all their sums fit into TOTAL_BITS."""
    largest = max(float(np.abs(values).max()) for function in functions for values in function.ends)
    return TOTAL_BITS - math.frexp(largest)[1] - len(functions).bit_length()


def _scaled(losses: FloatArray, bits: int) -> npt.NDArray[np.int64]:
    """Losses as integers: sums do not depend on the order, so that no block gains by rounding."""
    return np.rint(np.ldexp(losses, bits)).astype(np.int64)
