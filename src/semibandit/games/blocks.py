"""The best sequence of parameters in hindsight, each played on a block of rounds, found exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray, IntArray
from semibandit.fitting.best import Hindsight, best_of
from semibandit.fitting.losses import space_of, whole_losses
from semibandit.functions import Piecewise
from semibandit.functions.exact import ExactSum
from semibandit.games._block_kernels import NEVER, TOTAL_BITS, add_block

__all__ = ["BestBlocks", "ParameterBlock", "best_blocks"]

_NARROWEST_BUCKET = 8


class ParameterBlock(NamedTuple):
    """Rounds start, ..., stop - 1, and the best fixed parameter for them."""

    start: int
    stop: int
    best: Hindsight


class BestBlocks(NamedTuple):
    """The best sequences of at most 1, 2, 3, ... blocks: their total losses, and their blocks in order.

    `totals, sequences = best_blocks(problems)`; `for start, stop, best in sequences[-1]`.
    """

    totals: tuple[float, ...]
    sequences: tuple[tuple[ParameterBlock, ...], ...]


def best_blocks(problems: Iterable[Any], blocks: int = 8, *, maximize: bool = False) -> BestBlocks:
    """Return the sequences of at most 1, 2, ..., `blocks` fixed parameters with the smallest total losses.

    A sequence plays one parameter on each of its blocks of consecutive rounds. It is the comparator for
    streams whose best parameter changes. One block is `best_in_hindsight`. A further block is used only if
    it makes the total smaller, so a sequence may have fewer than `blocks` blocks.

    Blocks are found with losses rounded to 60 - log2 T bits, whose sums are exact; parameters and totals
    are those of the exact functions. O(s·T·√(N·m) + s·N·log N) for s blocks and T step functions with N
    pieces, m = N/T per round; O(s·T·N) if one of them is piecewise linear. Memory: O(N + s·T).

    Parameters
    ----------
    problems
        Problems, or their loss functions as `PiecewiseConstant` or `PiecewiseLinear`, all on the same span.
    blocks
        Largest number of blocks; it may exceed the number of problems.
    maximize
        The functions are utilities: higher values are better.

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
    sign = -1.0 if _validate.boolean("maximize", maximize) else 1.0
    problems = list(_validate.iterable("problems", problems, "a sequence of problems"))
    if not problems:
        raise ValueError("problems must hold at least one problem, got none")
    space = space_of(problems[0])
    functions = [sign * function for _, function in whole_losses(enumerate(problems))]

    @cache
    def best(start: int, stop: int) -> Hindsight:
        total = sign * ExactSum.of(functions[start:stop]).function()
        return best_of(total, stop - start, space, maximize)

    all_steps = all(function.degree == 0 for function in functions)
    least, began = (_steps if all_steps else _lines)(functions, blocks)
    sequences = []
    for k in range(1, blocks + 1):
        starts = _starts(least, began, k)
        ends = [*starts[1:], len(functions)]
        sequences.append(tuple(ParameterBlock(*ij, best(*ij)) for ij in zip(starts, ends, strict=True)))
    return BestBlocks(tuple(map(_total, sequences)), tuple(sequences))


def _total(sequence: Sequence[ParameterBlock]) -> float:
    return math.fsum((stop - start) * best.mean_loss for start, stop, best in sequence)


def _starts(least: IntArray, began: IntArray, k: int) -> list[int]:
    """Return where the blocks of the best sequence of at most k begin; with the fewest blocks, of equals."""
    while least[k - 1, -1] == least[k, -1]:
        k -= 1
    starts: list[int] = []
    t = least.shape[1] - 1
    for j in range(k, 0, -1):
        t = int(began[j, t])
        starts.append(t)
    return starts[::-1]


def _tables(blocks: int, rounds: int) -> tuple[IntArray, IntArray]:
    """Return tables [k, t]: least total of t rounds in at most k blocks, and the start of the last."""
    least = np.full((blocks + 1, rounds + 1), NEVER)
    least[1:, 0] = 0
    return least, np.zeros_like(least)


def _steps(functions: Sequence[Piecewise], blocks: int) -> tuple[IntArray, IntArray]:
    """Fill the tables for step functions: one pass over the rounds for each number of blocks."""
    losses = _scaled(np.concatenate([function.ends[0] for function in functions]), _bits(functions))
    edges, last_cell = np.unique(
        np.concatenate([function.edges[1:] for function in functions]), return_inverse=True
    )
    # A round visits all buckets, and all cells of one bucket per break: balance the two.
    width = max(math.isqrt(edges.size * len(functions) // losses.size), _NARROWEST_BUCKET)
    until = last_cell + 1
    until[until == edges.size] = -(-edges.size // width) * width
    least, began = _tables(blocks, len(functions))
    for k in range(1, blocks + 1):
        add_block(until, losses, width, least[k - 1], least[k], began[k])
    return least, began


def _lines(functions: Sequence[Piecewise], blocks: int) -> tuple[IntArray, IntArray]:
    """Fill the tables for any functions: the recursion at both sides of every edge."""
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
    """Return the power of two that scales losses so that all sums fit into TOTAL_BITS."""
    largest = max(float(np.abs(values).max()) for function in functions for values in function.ends)
    return TOTAL_BITS - math.frexp(largest)[1] - len(functions).bit_length()


def _scaled(losses: FloatArray, bits: int) -> npt.NDArray[np.int64]:
    """Return losses as integers: their sums do not depend on the order."""
    return np.rint(np.ldexp(losses, bits)).astype(np.int64)
