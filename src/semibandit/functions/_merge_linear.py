"""Kernels that add many piecewise linear functions in one sorted merge."""

from typing import Any

import numpy as np
import numpy.typing as npt

from semibandit import _numerics as dd
from semibandit._jit import kernel
from semibandit.functions._merge import order_of

FloatArray = npt.NDArray[np.float64]

# Arithmetic on slopes above this would overflow; such a piece, narrower than 1e-200 of its rise, is a step.
STEEPEST = 1e200


def add_up(edges: FloatArray, ends: FloatArray, sizes: npt.NDArray[np.int64]) -> Any:
    """The edges and the ends of the pieces of the sum of functions, given end to end.

    `ends` has the columns left and right, a row for each piece; `sizes` are the numbers of edges.
    """
    return sweep(edges, close(edges, ends, sizes), order_of(edges), sizes.size)


@kernel
def close(edges: Any, ends: Any, sizes: Any) -> Any:
    """What begins at each edge: (left, right, slope, its low part) of the piece, nan behind the last one.

    Slopes are double-doubles: adding and later taking away a steep one then leaves nothing behind.
    """
    lines = np.full((edges.size, 4), np.nan)
    at = first = 0
    for size in sizes:
        for i in range(size - 1):
            left, right = ends[first + i, 0], ends[first + i, 1]
            lines[at + i, 0], lines[at + i, 1] = left, right
            rise, rise_low = dd.two_sum(right, -left)
            run, run_low = dd.two_sum(edges[at + i + 1], -edges[at + i])
            if abs(rise) < run * STEEPEST:
                lines[at + i, 2], lines[at + i, 3] = dd.divide(rise, rise_low, run, run_low)
            elif not np.isnan(rise):
                lines[at + i, 1] = left
                lines[at + i, 2], lines[at + i, 3] = 0.0, 0.0
        at += size
        first += size - 1
    return lines


@kernel
def sweep(edges: Any, lines: Any, order: Any, n_functions: int) -> Any:
    """Go through the edges from left to right, carrying the sum and its slope."""
    out_edges = np.empty(order.size)
    out_ends = np.empty((order.size, 2))
    v = v_low = s = s_low = 0.0
    seen = 0
    n = -1
    last = np.nan
    for index in order:
        edge = edges[index]
        if edge != last:
            if n >= 0:
                run, run_low = dd.two_sum(edge, -last)
                rise, rise_low = dd.multiply(s, s_low, run, run_low)
                out_ends[n, 0] = v if seen == n_functions else np.nan
                v, v_low = dd.add(v, v_low, rise, rise_low)
                out_ends[n, 1] = v if seen == n_functions else np.nan
            n += 1
            out_edges[n] = edge
            last = edge
        if index > 0 and not np.isnan(lines[index - 1, 1]):
            v, v_low = dd.add(v, v_low, -lines[index - 1, 1], 0.0)
            s, s_low = dd.add(s, s_low, -lines[index - 1, 2], -lines[index - 1, 3])
            seen -= 1
        if not np.isnan(lines[index, 0]):
            v, v_low = dd.add(v, v_low, lines[index, 0], 0.0)
            s, s_low = dd.add(s, s_low, lines[index, 2], lines[index, 3])
            seen += 1
    return out_edges[: n + 1].copy(), out_ends[:n].copy()
