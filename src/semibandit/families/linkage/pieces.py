"""Runs of ρ-linkage, and the intervals of ρ on which they give the same.

All intervals are exact on the doubles in [0, 1]: [lo, hi) holds the doubles for which something is so, and
lo and hi are themselves the smallest doubles of their pieces. hi is END where nothing changes up to 1. The
doubles from 1 - 2^-53 on count as 1, so that the last piece has a width.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from semibandit._validate import FloatArray, IntArray
from semibandit.families.linkage._kernels.certificate import (
    mend_order,
    merge_order,
    order_interval,
    refutes,
    tree_interval,
)
from semibandit.families.linkage._kernels.chain import below, chain_on, chain_tree
from semibandit.families.linkage._kernels.exact import END, LAST
from semibandit.families.linkage._kernels.generic import greedy_tree, sequence_interval
from semibandit.families.linkage._kernels.interchange import interchange
from semibandit.families.linkage._kernels.rows import Rows, TreeArrays, new_rows, pool_size

__all__ = [
    "END",
    "Engine",
    "Reducible",
    "Run",
    "engine",
    "level_piece",
    "maximal_piece",
    "sequence_piece",
    "sequence_pieces",
    "snap",
    "spare",
    "tree_pieces",
]

# Below this no two lines cross: distances are doubles within a factor of 2^400 of each other.
_TINY = 2.0**-500

_MOST_SPARE = 1 << 26
# What a thread keeps for its next engine.
spare = threading.local()


def snap(rho: float) -> float:
    """The parameter that stands for rho: 1 for the double just below 1, 0 for what is too small to matter."""
    return 1.0 if rho >= LAST else 0.0 if rho < _TINY else rho


@dataclass(frozen=True)
class Run:
    """A cluster tree and the order of its merges at some rho (see `_kernels` for the arrays)."""

    into: IntArray
    part: IntArray
    size: IntArray
    lines: FloatArray
    order: IntArray

    @property
    def tree(self) -> TreeArrays:
        """The tree, as the kernels take it."""
        return self.into, self.part, self.size, self.lines

    def copies(self) -> TreeArrays:
        """The tree, to be changed."""
        return self.into.copy(), self.part.copy(), self.size.copy(), self.lines.copy()

    @cached_property
    def key(self) -> bytes:
        """The same for two runs exactly if their trees are the same.

        A slot takes in others at ever larger sizes, so these sizes say in which order it does.
        """
        return self.into.tobytes() + self.size.tobytes()


class Kept(NamedTuple):
    """An interval that keeps a tree, and the pairs of clusters that end it on the left and on the right."""

    lo: float
    hi: float
    doubt_lo: FloatArray | None = None
    doubt_hi: FloatArray | None = None


class Engine(ABC):
    """One way to build trees. Its runs share working memory, so it serves one thread."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.n_trees = 0  # how many were built

    def run(self, rho: float) -> Run:
        """The tree at rho."""
        self.n_trees += 1
        return self._build(rho)

    @abstractmethod
    def _build(self, rho: float) -> Run: ...

    @abstractmethod
    def keep_tree(
        self, run: Run, rho: float, lo: float, hi: float, doubt: FloatArray | None = None
    ) -> Kept | None:
        """Some interval around rho in [lo, hi) with this tree; None if rho has another.

        A doubt, from the interval next to this one, may show at once that there is none.
        """

    @abstractmethod
    def certificate(self, run: Run, rho: float, lo: float, hi: float) -> Kept:
        """Some interval around rho in [lo, hi) with the tree of this run, which was built at rho."""

    def step(self, run: Run, doubt: FloatArray | None, rho: float, lo: float, hi: float) -> tuple[Run, Kept]:
        """The tree at rho, right beyond where a doubt ended an interval of this run, and one of its own."""
        run = self.run(rho)
        return run, self.certificate(run, rho, lo, hi)

    @abstractmethod
    def keep_sequence(self, run: Run, rho: float, lo: float, hi: float) -> tuple[float, float]:
        """The interval around rho in [lo, hi) with the merge sequence of this run, which is one at rho."""

    @abstractmethod
    def reorder(self, run: Run, rho: float) -> Run:
        """The run at rho, where the tree is known to be the same."""

    @abstractmethod
    def keep_order(self, run: Run, rho: float, hi: float) -> float:
        """Where the merges of this run change their order, right of rho in a certified [rho, hi); or hi."""


class Reducible(Engine):
    """The nearest-neighbour chain: a tree in O(n²), a certificate in O(n²)."""

    def _build(self, rho: float) -> Run:
        tree = chain_tree(self.rows, rho)
        return Run(*tree, merge_order(tree[0], tree[3], rho))

    def keep_tree(
        self, run: Run, rho: float, lo: float, hi: float, doubt: FloatArray | None = None
    ) -> Kept | None:
        order = merge_order(run.into, run.lines, rho)
        if doubt is not None and refutes(doubt, run.tree, order, rho):
            return None
        return self._certified(run, order, rho, lo, hi)

    def certificate(self, run: Run, rho: float, lo: float, hi: float) -> Kept:
        kept = self._certified(run, run.order, rho, lo, hi)
        assert kept is not None, "a tree is right where it was built"
        return kept

    def _certified(self, run: Run, order: IntArray, rho: float, lo: float, hi: float) -> Kept | None:
        good, lo, hi, doubts = tree_interval(self.rows, run.tree, order, rho, lo, hi)
        return Kept(lo, hi, doubts[0], doubts[1]) if good else None

    def step(self, run: Run, doubt: FloatArray | None, rho: float, lo: float, hi: float) -> tuple[Run, Kept]:
        """As above. Nearly always the pair that is in doubt takes the place of another.

        Else the merges below it stay, unless another pair ties there as well. The certificate shows it.
        """
        assert doubt is not None, "an interval that ends has a doubt"
        self.n_trees += 1
        guess = run.copies()
        if self.rows.kind == 0 and interchange(self.rows.D, guess, run.order, doubt):
            found = self._if_right(guess, run.order, rho, lo, hi)
            if found is not None:
                return found
        made = below(run.lines, run.order, rho, doubt[4:])
        tree = chain_on(self.rows, rho, run.copies(), made)
        found = self._if_right(tree, run.order, rho, lo, hi)
        return super().step(run, doubt, rho, lo, hi) if found is None else found

    def _if_right(
        self, tree: TreeArrays, order: IntArray, rho: float, lo: float, hi: float
    ) -> tuple[Run, Kept] | None:
        """A tree that may be the one at rho, with its certificate; None if it is not.

        Its merges come nearly in the order of the tree before it.
        """
        run = Run(*tree, order.copy())
        mend_order(run.into, run.lines, rho, run.order)
        kept = self._certified(run, run.order, rho, lo, hi)
        return None if kept is None else (run, kept)

    def keep_sequence(self, run: Run, rho: float, lo: float, hi: float) -> tuple[float, float]:
        _, lo, hi, _ = tree_interval(self.rows, run.tree, run.order, rho, lo, hi)
        return order_interval(run.into, run.lines, run.order, rho, lo, hi)

    def reorder(self, run: Run, rho: float) -> Run:
        return Run(*run.tree, merge_order(run.into, run.lines, rho))

    def keep_order(self, run: Run, rho: float, hi: float) -> float:
        return order_interval(run.into, run.lines, run.order, rho, rho, hi)[1]


class _Generic(Engine):
    """Always the closest pair: for a linkage that is not reducible."""

    def _build(self, rho: float) -> Run:
        tree, order = greedy_tree(self.rows, rho)
        return Run(*tree, order)

    def keep_tree(
        self, run: Run, rho: float, lo: float, hi: float, doubt: FloatArray | None = None
    ) -> Kept | None:
        here = self.run(rho)
        return Kept(*self.keep_sequence(here, rho, lo, hi)) if here.key == run.key else None

    def certificate(self, run: Run, rho: float, lo: float, hi: float) -> Kept:
        return Kept(*self.keep_sequence(run, rho, lo, hi))

    def keep_sequence(self, run: Run, rho: float, lo: float, hi: float) -> tuple[float, float]:
        return sequence_interval(self.rows, run.tree, run.order, rho, lo, hi)

    def reorder(self, run: Run, rho: float) -> Run:
        return self.run(rho)

    def keep_order(self, run: Run, rho: float, hi: float) -> float:
        return hi  # here certificates are for sequences


@contextmanager
def engine(D: FloatArray, linkage: str) -> Iterator[Engine]:
    """The engine for a linkage. Its working memory, at most 1.5 times that of D, comes back at the end.

    Memory fresh from the system costs as much as half a tree, so a thread keeps some for its next engine.
    """
    kind = ("single-complete", "average-complete", "single-average").index(linkage)
    size = pool_size(D.shape[0], kind)
    memory: FloatArray | None = getattr(spare, "memory", None)
    spare.memory = None
    if memory is None or memory.size < size:
        memory = np.empty(size)
    rows = new_rows(D, kind, memory)
    try:
        yield _Generic(rows) if kind == 2 else Reducible(rows)
    finally:
        if memory.nbytes <= _MOST_SPARE:
            spare.memory = memory


def maximal_piece(engine: Engine, run: Run, rho: float) -> tuple[float, float]:
    """The maximal interval [lo, hi) around rho with the tree of this run, which is one at rho.

    A certificate ends at some crossing. If the tree is the same beyond it, a certificate from there leads on.
    """
    left = right = engine.certificate(run, rho, 0.0, END)
    lo, hi = left.lo, right.hi
    while hi != END:
        kept = engine.keep_tree(run, snap(hi), snap(hi), END, right.doubt_hi)
        if kept is None:
            break
        hi, right = kept.hi, kept
    while lo > 0.0:
        kept = engine.keep_tree(run, math.nextafter(lo, 0.0), 0.0, lo, left.doubt_lo)
        if kept is None:
            break
        lo, left = kept.lo, kept
    return lo, hi


def level_piece(engine: Engine, run: Run, rho: float, same: Callable[[Run], bool]) -> tuple[float, float]:
    """The maximal interval [lo, hi) around rho whose trees are all the `same`, as that of this run is.

    From tree to tree: each comes from the one before it, where the certificate of that one ends, and needs
    one of its own in one direction alone.
    """
    first = kept = engine.certificate(run, rho, 0.0, END)
    hi, at = first.hi, run
    while hi != END:
        rho = snap(hi)
        at, kept = engine.step(at, kept.doubt_hi, rho, rho, END)
        if not same(at):
            break
        hi = kept.hi
    lo, at, kept = first.lo, run, first
    while lo > 0.0:
        at, kept = engine.step(at, kept.doubt_lo, math.nextafter(lo, 0.0), 0.0, lo)
        if not same(at):
            break
        lo = kept.lo
    return lo, hi


def sequence_piece(engine: Engine, run: Run, rho: float) -> tuple[float, float]:
    """Algorithm 3's interval: the maximal [lo, hi) around rho with the merge sequence of this run."""
    return engine.keep_sequence(run, rho, 0.0, END)


def tree_pieces(engine: Engine) -> Iterator[tuple[float, Run]]:
    """The maximal pieces with one tree from 0 to 1, each as its left end and its run.

    Nearly every certificate here ends where the tree does, so that what comes next is built at once.
    """
    lo, run = 0.0, engine.run(0.0)
    kept = engine.certificate(run, 0.0, 0.0, END)
    yield lo, run
    while (lo := kept.hi) != END:
        rho, last = snap(lo), run.key
        run, kept = engine.step(run, kept.doubt_hi, rho, rho, END)
        if run.key != last:
            yield lo, run


def sequence_pieces(engine: Engine) -> Iterator[tuple[float, Run]]:
    """The maximal pieces with one merge sequence from 0 to 1, each as its left end and its run.

    A certificate of a tree spans many sequences; inside it only the order is redone, in O(n log n).
    """
    lo = certified = 0.0
    last = None
    while lo != END:
        rho = snap(lo)
        if lo == certified:
            run = engine.run(rho)
            certified = engine.certificate(run, rho, rho, END).hi
        else:
            run = engine.reorder(run, rho)
        sequence = run.key, run.order.tobytes()
        if sequence != last:  # the end of a certificate need not be one of a sequence
            yield lo, run
            last = sequence
        lo = engine.keep_order(run, rho, certified)
