"""Kernels that average the corrections of narrow sets over cells."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semibandit._jit import inner
from semibandit.weights._pieces import EDGE
from semibandit.weights.cells import HALVINGS

PARTS = 2**HALVINGS  # of a cell, at most


class Smooth(NamedTuple):
    """Cells over which corrections are averaged, and the lower bound of the averages."""

    cell_edges: npt.NDArray[np.float64]
    leaf: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]  # the piece that begins each cell
    nodes: int  # of the tree
    most: float  # largest share of a cell that is not refined; 0: no averaging
    floor: float


@inner
def averages(a: Any, exact: Any, asked: Any, touched: Any, smooth: Smooth) -> Any:
    """Return the corrections averaged over each cell, weighted by the shares.

    A narrow set has a small p and a correction of order 1/p; the average over a cell has the variance of a
    look at the whole cell. A cell with a share above `most` is refined: it splits into the cells of single
    rows, which are halved. The cells depend on the past only, not on the draw.
    """
    out = exact.copy()
    if smooth.most <= 0.0:
        return out
    leaf, starts = smooth.leaf, smooth.starts
    share, total = np.zeros(smooth.nodes), np.zeros(smooth.nodes)
    for c in range(leaf.size):
        if touched[leaf[c]]:
            for i in range(starts[c], starts[c + 1]):
                share[leaf[c]] += asked[i]
                total[leaf[c]] += asked[i] * exact[i]
    for c in range(leaf.size):
        node = leaf[c]
        if not touched[node]:
            continue
        if share[node] > smooth.most:
            refine(a, starts[c], starts[c + 1], asked, smooth.most, out)
        else:
            mean = total[node] / share[node] if share[node] > 0.0 else 0.0
            for i in range(starts[c], starts[c + 1]):
                out[i] = mean
    return out


@inner
def refine(a: Any, start: int, end: int, asked: Any, most: float, values: Any) -> None:
    """Average over the parts of a cell, which is halved while a part holds more than the share `most`.

    A piece that lies in several parts gets the average of theirs, weighted by overlap.
    """
    ends = np.empty(PARTS + 1)
    for part in range(PARTS):
        ends[part] = a[EDGE, start] + (a[EDGE, end] - a[EDGE, start]) * (part / PARTS)
    ends[PARTS] = a[EDGE, end]
    share, total = np.zeros(PARTS), np.zeros(PARTS)
    i = start
    for part in range(PARTS):
        while i < end:
            inside = asked[i] * overlap(a[EDGE, i], a[EDGE, i + 1], ends[part], ends[part + 1])
            share[part] += inside
            total[part] += inside * values[i]
            if a[EDGE, i + 1] > ends[part + 1]:
                break  # the piece continues in the next part
            i += 1
    part = 0
    while part < PARTS:
        size = PARTS
        while part % size or (size > 1 and sum_between(share, part, part + size) > most):
            size //= 2
        held, sought = sum_between(share, part, part + size), sum_between(total, part, part + size)
        for each in range(part, part + size):
            total[each] = sought / held if held > 0.0 else 0.0
        part += size
    i = start
    for part in range(PARTS):
        while i < end:
            before = 0.0 if a[EDGE, i] >= ends[part] else values[i]
            here = overlap(a[EDGE, i], a[EDGE, i + 1], ends[part], ends[part + 1])
            values[i] = before + here * total[part]
            if a[EDGE, i + 1] > ends[part + 1]:
                break
            i += 1


@inner
def overlap(lo: float, hi: float, left: float, right: float) -> float:
    """Return the fraction of the piece [lo, hi) inside [left, right)."""
    if left <= lo and hi <= right:
        return 1.0
    return (min(hi, right) - max(lo, left)) / (hi - lo)


@inner
def sum_between(x: Any, start: int, end: int) -> float:
    total = 0.0
    for i in range(start, end):
        total += x[i]
    return total
