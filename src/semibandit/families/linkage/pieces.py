"""Runs of ρ-linkage, and the intervals of ρ on which they have the same result.

Parameters are multiples of a unit in [0, 1], a power of two; other doubles are rounded down. An interval
[lo, hi) holds the parameters with some property, and both ends are parameters. hi is `END` for an interval
that holds 1. The last parameter below 1 counts as 1, so that the piece of 1 has a width.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from semibandit._cached import cached_property
from semibandit._validate import FloatArray, IntArray
from semibandit.families.linkage._kernels.certificate import (
    mend_order,
    merge_order,
    order_interval,
    refutes,
    tree_interval,
)
from semibandit.families.linkage._kernels.chain import below, chain_on, chain_tree
from semibandit.families.linkage._kernels.crossings import END
from semibandit.families.linkage._kernels.generic import greedy_tree, sequence_interval
from semibandit.families.linkage._kernels.interchange import interchange
from semibandit.families.linkage._kernels.linkage_rows import Rows, TreeArrays, new_rows

__all__ = [
    "END",
    "Engine",
    "Reducible",
    "Run",
    "TreeCertificate",
    "engine",
    "level_piece",
    "maximal_piece",
    "sequence_piece",
    "sequence_pieces",
    "tree_pieces",
]


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
        """Return a copy of the tree that may be changed."""
        return self.into.copy(), self.part.copy(), self.size.copy(), self.lines.copy()

    @cached_property
    def key(self) -> bytes:
        """Bytes that are equal for two runs if and only if their trees are.

        A slot takes in others at ever larger sizes, so the sizes determine the order in which it does.
        """
        return self.into.tobytes() + self.size.tobytes()


class TreeCertificate(NamedTuple):
    """An interval with one tree, and the pairs of clusters that end it on the left and on the right."""

    lo: float
    hi: float
    doubt_lo: FloatArray | None = None
    doubt_hi: FloatArray | None = None


class Engine(ABC):
    """Builds the trees of one matrix of distances. Not thread-safe: runs share working memory.

    Parameters
    ----------
    rows
        The distances and the working memory.
    unit
        The spacing of parameters.
    """

    def __init__(self, rows: Rows, unit: float) -> None:
        self.rows = rows
        self.unit = unit
        self.n_trees = 0  # built so far

    def parameter(self, rho: float) -> float:
        """Return the parameter that rho stands for: rho rounded down; 1 for the last one below 1."""
        return 1.0 if rho >= 1.0 - self.unit else math.floor(rho / self.unit) * self.unit

    def end(self, rho: float) -> float:
        """Return the first parameter at or above rho, as the end of an interval."""
        return END if rho > 1.0 else min(math.ceil(rho / self.unit) * self.unit, 1.0 - self.unit)

    def run(self, rho: float) -> Run:
        """Build the tree at rho."""
        self.n_trees += 1
        return self._build(rho)

    @abstractmethod
    def _build(self, rho: float) -> Run: ...

    @abstractmethod
    def keep_tree(
        self, run: Run, rho: float, lo: float, hi: float, doubt: FloatArray | None = None
    ) -> TreeCertificate | None:
        """Return a certificate around rho in [lo, hi) for this tree; None if rho has another tree.

        `doubt` is the pair that ended the interval next to this one. It may refute the tree at once.
        """

    @abstractmethod
    def certificate(self, run: Run, rho: float, lo: float, hi: float) -> TreeCertificate:
        """Return a certificate around rho in [lo, hi) for a run that was built at rho."""

    def step(
        self, run: Run, doubt: FloatArray | None, rho: float, lo: float, hi: float
    ) -> tuple[Run, TreeCertificate]:
        """Return the tree at rho and its certificate; `doubt` ended that of `run` just before rho."""
        run = self.run(rho)
        return run, self.certificate(run, rho, lo, hi)

    @abstractmethod
    def keep_sequence(self, run: Run, rho: float, lo: float, hi: float) -> tuple[float, float]:
        """Return the interval around rho in [lo, hi) with the merge sequence of a run built at rho."""

    @abstractmethod
    def reorder(self, run: Run, rho: float) -> Run:
        """Return the run at rho, which is known to have the same tree."""

    @abstractmethod
    def keep_order(self, run: Run, rho: float, hi: float) -> float:
        """Return where the order of merges changes, right of rho in a certified [rho, hi); or hi."""


class Reducible(Engine):
    """The nearest-neighbour chain: a tree in O(n²), a certificate in O(n²)."""

    def _build(self, rho: float) -> Run:
        tree = chain_tree(self.rows, rho)
        return Run(*tree, merge_order(tree[0], tree[3], rho))

    def keep_tree(
        self, run: Run, rho: float, lo: float, hi: float, doubt: FloatArray | None = None
    ) -> TreeCertificate | None:
        order = merge_order(run.into, run.lines, rho)
        if doubt is not None and refutes(doubt, run.tree, order, rho):
            return None
        return self._certified(run, order, rho, lo, hi)

    def certificate(self, run: Run, rho: float, lo: float, hi: float) -> TreeCertificate:
        certificate = self._certified(run, run.order, rho, lo, hi)
        assert certificate is not None, "a tree is right where it was built"
        return certificate

    def _certified(
        self, run: Run, order: IntArray, rho: float, lo: float, hi: float
    ) -> TreeCertificate | None:
        right, lo, hi, doubts = tree_interval(self.rows, run.tree, order, rho, lo, hi)
        return TreeCertificate(self.end(lo), self.end(hi), doubts[0], doubts[1]) if right else None

    def step(
        self, run: Run, doubt: FloatArray | None, rho: float, lo: float, hi: float
    ) -> tuple[Run, TreeCertificate]:
        """Guess the next tree, certify it, and build it only if both guesses fail.

        Usually the pair in doubt takes the place of another merge. Otherwise the merges below it stay,
        unless another pair ties there as well.
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
        if found is None:
            run = self._build(rho)
            return run, self.certificate(run, rho, lo, hi)
        return found

    def _if_right(
        self, tree: TreeArrays, order: IntArray, rho: float, lo: float, hi: float
    ) -> tuple[Run, TreeCertificate] | None:
        """Return a guessed tree with its certificate; None if it is wrong. `order` is nearly right."""
        run = Run(*tree, order.copy())
        mend_order(run.into, run.lines, rho, run.order)
        certificate = self._certified(run, run.order, rho, lo, hi)
        return None if certificate is None else (run, certificate)

    def keep_sequence(self, run: Run, rho: float, lo: float, hi: float) -> tuple[float, float]:
        _, lo, hi, _ = tree_interval(self.rows, run.tree, run.order, rho, lo, hi)
        lo, hi = order_interval(run.into, run.lines, run.order, rho, lo, hi)
        return self.end(lo), self.end(hi)

    def reorder(self, run: Run, rho: float) -> Run:
        return Run(*run.tree, merge_order(run.into, run.lines, rho))

    def keep_order(self, run: Run, rho: float, hi: float) -> float:
        return self.end(order_interval(run.into, run.lines, run.order, rho, rho, hi)[1])


class _Generic(Engine):
    """Merge the closest pair repeatedly: for a linkage that is not reducible."""

    def _build(self, rho: float) -> Run:
        tree, order = greedy_tree(self.rows, rho)
        return Run(*tree, order)

    def keep_tree(
        self, run: Run, rho: float, lo: float, hi: float, doubt: FloatArray | None = None
    ) -> TreeCertificate | None:
        here = self.run(rho)
        return self.certificate(here, rho, lo, hi) if here.key == run.key else None

    def certificate(self, run: Run, rho: float, lo: float, hi: float) -> TreeCertificate:
        return TreeCertificate(*self.keep_sequence(run, rho, lo, hi))

    def keep_sequence(self, run: Run, rho: float, lo: float, hi: float) -> tuple[float, float]:
        lo, hi = sequence_interval(self.rows, run.tree, run.order, rho, lo, hi)
        return self.end(lo), self.end(hi)

    def reorder(self, run: Run, rho: float) -> Run:
        return self.run(rho)

    def keep_order(self, run: Run, rho: float, hi: float) -> float:
        return hi  # certificates are for sequences


def engine(D: FloatArray, linkage: str, unit: float) -> Engine:
    """Return the engine for a linkage. Its working memory is at most 1.5 times that of D."""
    kind = ("single-complete", "average-complete", "single-average").index(linkage)
    return (_Generic if kind == 2 else Reducible)(new_rows(D, kind), unit)


def maximal_piece(engine: Engine, run: Run, rho: float) -> tuple[float, float]:
    """Return the maximal interval [lo, hi) around rho with the tree of a run that was built at rho.

    Where a certificate ends, the tree may still be the same; then a further certificate extends it.
    """
    left = right = engine.certificate(run, rho, 0.0, END)
    lo, hi = left.lo, right.hi
    while hi != END:
        rho = engine.parameter(hi)
        further = engine.keep_tree(run, rho, rho, END, right.doubt_hi)
        if further is None:
            break
        hi, right = further.hi, further
    while lo > 0.0:
        further = engine.keep_tree(run, lo - engine.unit, 0.0, lo, left.doubt_lo)
        if further is None:
            break
        lo, left = further.lo, further
    return lo, hi


def level_piece(engine: Engine, run: Run, rho: float, same: Callable[[Run], bool]) -> tuple[float, float]:
    """Return the maximal interval [lo, hi) around rho on which `same` holds for every tree.

    `run` was built at rho. The walk steps from tree to tree, and needs a certificate for each.
    """
    first = certificate = engine.certificate(run, rho, 0.0, END)
    hi, at = first.hi, run
    while hi != END:
        rho = engine.parameter(hi)
        at, certificate = engine.step(at, certificate.doubt_hi, rho, rho, END)
        if not same(at):
            break
        hi = certificate.hi
    lo, at, certificate = first.lo, run, first
    while lo > 0.0:
        at, certificate = engine.step(at, certificate.doubt_lo, lo - engine.unit, 0.0, lo)
        if not same(at):
            break
        lo = certificate.lo
    return lo, hi


def sequence_piece(engine: Engine, run: Run, rho: float) -> tuple[float, float]:
    """Return Algorithm 3's interval: the maximal [lo, hi) around rho with the merge sequence of a run."""
    return engine.keep_sequence(run, rho, 0.0, END)


def tree_pieces(engine: Engine) -> Iterator[tuple[float, Run]]:
    """Yield the maximal pieces with one tree from 0 to 1, each as its left end and its run."""
    lo, run = 0.0, engine.run(0.0)
    certificate = engine.certificate(run, 0.0, 0.0, END)
    yield lo, run
    while (lo := certificate.hi) != END:
        rho, last = engine.parameter(lo), run.key
        run, certificate = engine.step(run, certificate.doubt_hi, rho, rho, END)
        if run.key != last:
            yield lo, run


def sequence_pieces(engine: Engine) -> Iterator[tuple[float, Run]]:
    """Yield the maximal pieces with one merge sequence from 0 to 1, each as its left end and its run.

    A certificate of a tree spans many sequences; inside it only the order is renewed, in O(n log n).
    """
    lo = certified = 0.0
    last = None
    while lo != END:
        rho = engine.parameter(lo)
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
