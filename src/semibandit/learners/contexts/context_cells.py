"""Cells of contexts: a tree that splits where it pays, and a learner's state for each cell."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from semibandit._validate import FloatArray, IntArray
from semibandit.learners.contexts.cell import FIRST_TEST, Cell, next_test
from semibandit.learners.contexts.labels import LEVELS, LabelCurves, by_label, look_weights, main_direction
from semibandit.learners.contexts.records import CAPACITY, Records
from semibandit.learners.contexts.splits import Looks
from semibandit.learners.contexts.tree import Node, Place, Split, described, leaves, splits
from semibandit.learners.statistics import PlayStats
from semibandit.spaces import Context, Point
from semibandit.weights import Beside, Cells, Feedback, Rule, Weights

__all__ = ["ContextAtAsk", "ContextCells"]

MOST_CELLS = 1024
_DEEPEST = 48  # splits on a path
_ALIKE = 0.95  # share of the rounds that a leaf of a new tree must have in common with a cell to keep it
_REPLAYED = 512  # rounds that a new cell learns at most
_ERRORS = 0.5  # standard errors by which a side of a split must gain
_SURPRISE = 6.0  # evidence for a split, beyond the logarithm of the number of columns
_SEARCHED = 4.0  # further evidence between labels, whose direction was chosen by the losses
_PRICE = 4.0  # a split must save this many times the range of the losses

Plan = Split | IntArray  # a tree whose leaves are the rounds of new cells


class ContextAtAsk(NamedTuple):
    """Context of a pending trial, the cell it was drawn from, and the weights of the cell and their share."""

    place: Place
    cell: Cell | None = None
    weights: Weights | None = None
    share: float = 0.0

    @property
    def beside(self) -> Beside | None:
        """The weights of the cell and their share in the play."""
        return None if self.weights is None else Beside(self.weights, self.share)

    def mixed(self, edges: FloatArray, pooled: FloatArray) -> FloatArray:
        """Return the shares between edges of the density that was played, given those of all contexts."""
        if self.weights is None:
            return pooled
        own = self.weights.shares(edges)[0]
        return np.asarray((1.0 - self.share) * pooled + self.share * own)

    def lead(self, edges: FloatArray, pooled: Weights) -> FloatArray | None:
        """Return by how much the shares of the density of all contexts exceed those of the cell."""
        return None if self.weights is None else pooled.shares(edges)[0] - self.weights.shares(edges)[0]


class ContextCells:
    """Tree of cells over the features of contexts.

    A round learns in the weights of all contexts and in those of its cell. A cell splits when a lower bound
    on what its rounds would have saved is above the price of a split. The cut may be on a number, on one
    value of a choice, or between labels by the losses that they had. New cells learn the recent rounds of
    their contexts, with the probabilities recorded then, so that they do not start cold.

    Parameters
    ----------
    context
        The features.
    cells
        Cells of the line.
    start
        Weights of a cell before its first round.
    """

    def __init__(self, context: Context, cells: Cells, start: Weights) -> None:
        self.context, self.line_cells, self.start = context, cells, start
        self.records = Records(cells, len(context.columns))
        self.curves = [LabelCurves(self.records.coarse.n) for _ in context.labels]
        self.root: Node | None = None  # None: nothing is known but for all contexts
        self.n_made = 0
        self.next_build = float(FIRST_TEST)
        self.asked: dict[int, ContextAtAsk] = {}  # pending trials

    def place(self, point: Point) -> Place:
        """Return a context with its coordinates."""
        return Place.of(self.context, point)

    def find(self, place: Place) -> Cell | None:
        """Return the cell of a context; None while there are no splits."""
        node = self.root
        while isinstance(node, Split):
            node = node.sides[0 if node.is_below(place, self.curves) else 1]
        return node

    def described(self) -> list[tuple[dict[str, Any], Cell]]:
        """Return the conditions of each cell, and the cell."""
        return [(described(self.context, self.curves, path), cell) for cell, path in leaves(self.root)]

    # -- learning ----------------------------------------------------------------------------------

    def learn(
        self, asked: ContextAtAsk, feedback: Feedback, lead: FloatArray | None, rule: Rule, level: float
    ) -> None:
        """Learn from a round in its cell, keep it, and consider a split.

        The feedback has the recorded probabilities, `lead` is `ContextAtAsk.lead`, and `level` is the mean
        loss so far.
        """
        cell, records = self.find(asked.place), self.records
        if cell is not None:
            same = cell is asked.cell
            if same and lead is not None:
                cell.compare(lead, feedback, level)
            cell.learn(feedback, rule, asked.weights if same else None, alone=len(self.asked) == 1)
            cell.n, cell.last = cell.n + 1, records.n
        losses = records.add(feedback, asked.place, -1 if cell is None else cell.number)
        if self.curves:
            weights, totals = look_weights(losses[None])
            for curves, key in zip(self.curves, asked.place.keys, strict=True):
                curves.add(key, weights[0], totals[0])
        if rule.stage < 3:
            return
        if self.next_build <= records.n <= CAPACITY:
            self.next_build = next_test(records.n)
            self._rebuild(rule)
        elif cell is not None and cell.n >= cell.next_test:
            cell.next_test = next_test(cell.n)
            depth = next(len(path) for each, path in leaves(self.root) if each is cell)
            plan = self._plan(records.of(cell.number), rule, depth)
            if isinstance(plan, Split):
                self._replace(cell, self._grown(plan, {}, rule))
                self._fold()

    def spread(self, asked: ContextAtAsk, share: float, kept: float, gaps: float, speed: float) -> None:
        """Mix a share of the prior into the weights of the cell; of all cells if most is forgotten."""
        alarm = kept < 0.5
        here = self.find(asked.place)
        for cell in [each for each, _ in leaves(self.root)] if alarm else [here] if here else []:
            cell.spread(share, kept, gaps, speed)
        if alarm:
            self.records.clear()
            for curves in self.curves:
                curves.keep(kept)

    # -- splitting ---------------------------------------------------------------------------------

    def _rebuild(self, rule: Rule) -> None:
        """Build the tree anew from the rounds that are kept: early splits may be wrong."""
        places = self.records.all
        plan = self._plan(places, rule)
        before = {cell.number: cell for cell, _ in leaves(self.root)}
        self.root = None
        if isinstance(plan, Split):
            self.root = self._grown(plan, before, rule)
            self._fold()
        else:
            self.records.cell[places] = -1

    def _plan(self, places: IntArray, rule: Rule, depth: int = 0) -> Plan:
        """Return the tree for these rounds; its leaves are the rounds."""
        few = places.size < FIRST_TEST or depth == _DEEPEST
        found = None if few else self._best_split(places, rule)
        if found is None:
            return places
        split, values = found
        below = values < split.at
        sides: list[Any] = [self._plan(part, rule, depth + 1) for part in (places[below], places[~below])]
        split.sides = sides
        return split

    def _best_split(self, places: IntArray, rule: Rule) -> tuple[Split, FloatArray] | None:
        """Return the cut with the most evidence, of those that pay, and the coordinates of the rounds."""
        records = self.records
        losses, weights = records.losses[places], records.weights[places]
        looks = Looks(losses, weights)
        price = _PRICE * (rule.high - rule.low)
        best = _SURPRISE + math.log(records.columns.shape[1] + len(self.curves))
        found = None
        for column in range(records.columns.shape[1]):
            values = records.columns[places, column]
            cut = looks.best_cut(values, _ERRORS, price)
            if cut is not None and cut.evidence > best:
                best, found = cut.evidence, (Split(column, cut.at, None, []), values)
        if not self.curves:
            return found
        w, totals = look_weights(losses)
        squares = float(np.nansum(w * losses * losses))
        for i in range(len(self.curves)):
            index, by, sums = by_label([records.places[at].keys[i] for at in places.tolist()], w, totals)
            for level in LEVELS:
                direction = main_direction(by, sums, squares, level)
                if direction is None:
                    continue
                whole = direction.sums(by, sums)
                others = whole[index] - direction.sums(w, totals)  # without the round itself
                cut = looks.best_cut(direction.places(others)[0], _ERRORS, price)
                if cut is None or cut.evidence <= best + _SEARCHED:
                    continue
                values = direction.places(whole)[0][index]
                if min((values < cut.at).sum(), (values >= cut.at).sum()) >= FIRST_TEST // 2:
                    best, found = cut.evidence - _SEARCHED, (Split(i, cut.at, direction, []), values)
        return found

    def _grown(self, plan: Plan, known: dict[int, Cell], rule: Rule) -> Node:
        """Return the tree of a plan: with known cells that have the same rounds, and with new ones."""
        before = self.records.cell.copy()

        def grown(node: Plan) -> Node:
            if isinstance(node, Split):
                node.sides = [grown(side) for side in node.sides]  # type: ignore[arg-type]
                return node
            numbers, counts = np.unique(before[node], return_counts=True)
            most = int(counts.argmax())
            cell = known.get(int(numbers[most]))
            if cell is None or counts[most] < _ALIKE * max((before == cell.number).sum(), node.size):
                cell = self._new_cell(node, rule)
            cell.n = node.size
            self.records.cell[node] = cell.number
            return cell

        return grown(plan)

    def _new_cell(self, places: IntArray, rule: Rule) -> Cell:
        """Return a cell that has learned the last of these rounds."""
        stats = PlayStats(self.line_cells)
        cell = Cell(self.n_made, self.start.detached(), stats, places.size, self.records.n)
        self.n_made += 1
        for at in places[-_REPLAYED:].tolist():
            cell.learn(self.records.feedback[at], rule)
        return cell

    def _replace(self, old: Node, new: Node) -> None:
        """Put a node in the place of another one."""
        if self.root is old:
            self.root = new
        for split in splits(self.root):
            split.sides = [new if side is old else side for side in split.sides]

    def _fold(self) -> None:
        """While there are too many cells, fold the two siblings that were used least into the larger one."""
        for _ in range(sum(1 for _ in leaves(self.root)) - MOST_CELLS):
            pairs = [
                (split, [side for side in split.sides if isinstance(side, Cell)])
                for split in splits(self.root)
            ]
            split, sides = min(
                ((split, sides) for split, sides in pairs if len(sides) == 2),
                key=lambda pair: max(cell.last for cell in pair[1]),
            )
            dropped, kept = sorted(sides, key=lambda cell: cell.n)
            self.records.cell[self.records.cell == dropped.number] = kept.number
            self._replace(split, kept)
