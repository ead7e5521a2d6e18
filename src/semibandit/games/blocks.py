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
from semibandit.games._block_kernels import NEVER, TOTAL_BITS, add_round

__all__ = ["BestBlocks", "ParameterBlock", "best_blocks"]


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
    are those of the exact functions. O(s·T·N) time for s blocks and T functions with N pieces; O(s·(N + T))
    memory.

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

    least, began = _tables(functions, blocks)
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


def _tables(functions: Sequence[Piecewise], blocks: int) -> tuple[IntArray, IntArray]:
    """Return tables [k, t]: least total of t rounds in at most k blocks, and the start of the last.

    A step function is constant between two neighbouring edges of all functions, its one place there; other
    functions have two places, as they are extreme at both ends.
    """
    bits = _bits(functions)
    steps = all(function.degree == 0 for function in functions)
    edges = np.unique(np.concatenate([function.edges for function in functions]))
    least, began = (np.zeros((blocks + 1, len(functions) + 1), np.int64) for _ in range(2))
    least[0] = NEVER
    total = np.zeros((blocks, (edges.size - 1) * (1 if steps else 2)), np.int64)
    since = np.zeros(total.shape, np.int32)
    for t, function in enumerate(functions):
        if steps:
            first, losses = np.searchsorted(edges, function.edges), function.ends[0]
        else:
            first, losses = np.arange(total.shape[1] + 1), np.concatenate(function.spread(edges))
        add_round(total, since, first, _scaled(losses, bits), t, least, began)
    return least, began


def _bits(functions: Sequence[Piecewise]) -> int:
    """Return the power of two that scales losses so that all sums fit into TOTAL_BITS."""
    largest = max(float(np.abs(values).max()) for function in functions for values in function.ends)
    return TOTAL_BITS - math.frexp(largest)[1] - len(functions).bit_length()


def _scaled(losses: FloatArray, bits: int) -> npt.NDArray[np.int64]:
    """Return losses as integers: their sums do not depend on the order."""
    return np.rint(np.ldexp(losses, bits)).astype(np.int64)
