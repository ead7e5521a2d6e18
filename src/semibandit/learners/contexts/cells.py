"""Cells of contexts: a tree that splits where it pays, and a learner's state for each cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from semibandit._jit import kernel
from semibandit._validate import FloatArray, IntArray
from semibandit.learners.contexts.described import Bound, described
from semibandit.learners.contexts.labels import (
    LEVELS,
    Direction,
    LabelCurves,
    by_label,
    main_direction,
)
from semibandit.learners.contexts.records import CAPACITY, Record, Records
from semibandit.learners.contexts.splits import Looks
from semibandit.learners.statistics import PlayStats
from semibandit.spaces import Context, Point
from semibandit.weights import Beside, Cells, Feedback, Rule, Weights

__all__ = ["Cell", "ContextAtAsk", "ContextCells", "Leaf", "Split"]

MOST_CELLS = 1024
_FIRST_TEST = 16  # rounds in a cell before a split is considered
_NEXT_TEST = 1.25, 1.5  # factors between the rounds at which splits are considered: at first, later on
_EARLY = 256  # rounds with the first factor; a late build costs more and changes less
_ALIKE = 0.95  # share of the rounds that a leaf of a new tree must have in common with a cell to keep it
_REPLAYED = 512  # rounds that a new cell learns at most
_ERRORS = 0.5  # standard errors by which a side of a split must gain, beyond sqrt(2 ln candidates)
_SURPRISE = 6.0  # evidence for a split, beyond the logarithm of the number of columns
_PRICE = 0.25  # a split must save this many times the range of the losses
_TRUST = 4.0  # log-odds of a new cell against all contexts
_STEP = 2.0  # factor of the rate of these odds
_GUARD = 0.1  # both play a share of min(0.1, _GUARD/√n) at least


class Cell:
    """State of a learner for the contexts of a cell.

    `ahead` is the sum of the estimated losses by which the density of all contexts was worse than the own
    one, and `squares` that of their squares.
    """

    def __init__(self, number: int, weights: Weights, stats: PlayStats) -> None:
        self.number = number
        self.weights = weights
        self.stats = stats
        self.n = 0
        self.last = 0  # last round
        self.next_test = float(_FIRST_TEST)
        self.ahead = 0.0
        self.squares = 0.0

    @property
    def known(self) -> tuple[Weights, PlayStats]:
        """The weights and the losses paid."""
        return self.weights, self.stats

    def share(self, reach: float) -> float:
        """Return the share of the own density in the play."""
        least = min(0.5 * _GUARD, _GUARD / math.sqrt(self.n + 1.0))
        scale = math.sqrt(self.squares + reach * reach)
        odds = _TRUST + (_STEP * self.ahead / scale if scale > 0.0 else 0.0)
        return min(max(1.0 / (1.0 + math.exp(-min(max(odds, -50.0), 50.0))), least), 1.0 - least)


class Place(NamedTuple):
    """Coordinates of a context, and its labels."""

    columns: FloatArray
    keys: tuple[str, ...]


class ContextAtAsk(NamedTuple):
    """Context of a pending trial, its coordinates, and the cell that it was drawn from (-1: none)."""

    point: Point
    place: Place
    cell: int = -1
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


class Leaf:
    """A leaf of the tree, with the number of its cell; -1: nothing is known but for all contexts."""

    def __init__(self, cell: int) -> None:
        self.cell = cell


class Split:
    """An inner node: contexts whose coordinate is below `at` are on the left.

    With a direction, the coordinate is the place of the label on it.
    """

    def __init__(self, column: int, at: float, direction: Direction | None = None) -> None:
        self.column, self.at, self.direction = column, at, direction
        self.left: Node
        self.right: Node


Node = Leaf | Split


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
        self.context, self._cells, self.start = context, cells, start
        self.records = Records(cells, len(context.columns), len(context.labels))
        self.curves = [LabelCurves(self.records.coarse.n) for _ in context.labels]
        self.root: Node = Leaf(-1)
        self.cells: dict[int, Cell] = {}
        self.n_made = 0
        self.rounds = 0
        self.next_build = float(_FIRST_TEST)
        self.asked: dict[int, ContextAtAsk] = {}  # pending trials

    # -- finding -----------------------------------------------------------------------------------

    def place(self, point: Point) -> Place:
        """Return the coordinates of a context."""
        return Place(self.context.coordinates(point), self.context.keys(point))

    def find(self, place: Place) -> Cell | None:
        """Return the cell of a context; None while there are no splits."""
        node = self.root
        if isinstance(node, Leaf):
            return None
        while isinstance(node, Split):
            node = node.left if self._is_left(node, *place) else node.right
        return self.cells[node.cell]

    def _is_left(self, split: Split, columns: FloatArray, keys: tuple[str, ...]) -> bool:
        if split.direction is None:
            return bool(columns[split.column] < split.at)
        return self.curves[split.column].place(keys[split.column], split.direction) < split.at

    def ask(self, trial_id: int, point: Point, place: Place, cell: Cell | None, share: float) -> None:
        """Note a pending trial."""
        drawn = () if cell is None else (cell.number, cell.weights, share)
        self.asked[trial_id] = ContextAtAsk(point, place, *drawn)

    def finish(self, trial_id: int) -> None:
        """Drop a pending trial."""
        del self.asked[trial_id]

    # -- learning ----------------------------------------------------------------------------------

    def teach(
        self,
        asked: ContextAtAsk,
        feedback: Feedback,
        at_ask: tuple[Callable[[FloatArray], FloatArray], Weights],
        rule: Rule,
        level: float,
    ) -> None:
        """Learn from a round in its cell.

        `at_ask` is of the time of the ask: a function for the shares between edges in the density that was
        played, and the weights of all contexts. `level` is the mean loss so far.
        """
        cell, (played, pooled) = self.find(asked.place), at_ask
        if cell is None:
            return
        same = asked.cell == cell.number
        known = asked.weights if same and asked.weights is not None else cell.weights

        def shares_at_ask(edges: FloatArray) -> FloatArray:
            shares = known.shares(edges)
            shares[0] = played(edges)
            return shares

        beside = feedback.beside and Beside(pooled, 1.0 - asked.share)
        now = replace(feedback, shares_at_ask=shares_at_ask, beside=beside)
        if same:
            difference = pooled.shares(feedback.edges)[0] - known.shares(feedback.edges)[0]
        # Pending trials, and the weights of all contexts, need the weights as they were.
        update = cell.weights.detached().learn(now, rule)
        cell.weights = update.weights
        if same:
            ahead = advantage(
                difference, feedback.losses, feedback.sets, feedback.looks, np.array(update.p), level
            )
            cell.ahead += ahead
            cell.squares += ahead * ahead
        cell.stats.add(feedback.position, feedback.paid)
        cell.n += 1
        cell.last = self.rounds

    def keep(self, asked: ContextAtAsk, feedback: Feedback, p: tuple[float, ...], rule: Rule) -> None:
        """Keep a round for later splits, and consider one."""
        self.rounds += 1
        cell, (columns, keys) = self.find(asked.place), asked.place
        ids = [curves.id(key) for curves, key in zip(self.curves, keys, strict=True)]
        kept = Record(asked.point, self.records.compact(feedback, p))
        losses = self.records.add(kept, columns, ids, -1 if cell is None else cell.number)
        if self.curves:
            weights, totals = look_weights(losses[None])
            for curves, key in zip(self.curves, keys, strict=True):
                curves.add(key, weights[0], totals[0])
        if rule.stage < 3:
            return
        if self.rounds >= self.next_build and self.rounds <= CAPACITY:
            self.next_build = next_test(self.rounds)
            self._rebuild(rule)
        elif cell is not None and cell.n >= cell.next_test:
            cell.next_test = next_test(cell.n)
            self._consider(cell, rule)

    def spread(self, asked: ContextAtAsk, share: float, kept: float, gaps: float, speed: float) -> None:
        """Mix a share of the prior into the weights of the cell; of all cells if most is forgotten."""
        alarm = kept < 0.5
        cell = self.find(asked.place)
        for each in self.cells.values() if alarm else [] if cell is None else [cell]:
            each.weights = each.weights.detached().spread(share, kept, gaps, speed)
            each.stats.keep(kept)
            each.ahead, each.squares = kept * each.ahead, kept * each.squares
        if alarm:
            self.records.clear()
            for curves in self.curves:
                curves.keep(kept)

    # -- splitting ---------------------------------------------------------------------------------

    def _consider(self, cell: Cell, rule: Rule) -> None:
        """Split a cell if that pays."""
        number = cell.number
        places = self.records.of(number)
        node = self._planned(places, rule)
        if isinstance(node, Split):
            self._replace(number, node)
            self.cells.pop(number, None)
            self._fill(self._leaves(node, places), rule)

    def _rebuild(self, rule: Rule) -> None:
        """Build the tree anew from the rounds that are kept: early splits may be wrong."""
        places = self.records.all
        planned = self._planned(places, rule)
        leaves = self._leaves(planned, places)
        kept = {leaf: self._like(inside) for leaf, inside in leaves}
        before, self.root, self.cells = self.cells, planned, {}
        self.records.cell[places] = -1
        for leaf, inside in leaves:
            number = kept[leaf]
            if number is not None:
                leaf.cell, self.cells[number] = number, before[number]
                before[number].n = inside.size
                self.records.cell[inside] = number
        if isinstance(planned, Split):
            self._fill([each for each in leaves if kept[each[0]] is None], rule)

    def _like(self, inside: IntArray) -> int | None:
        """Return the cell that has these rounds and no others, but for a twentieth; None: there is none."""
        cells, counts = np.unique(self.records.cell[inside], return_counts=True)
        if not cells.size or cells[counts.argmax()] < 0:
            return None
        number = int(cells[counts.argmax()])
        all_of = int((self.records.cell == number).sum())
        return number if counts.max() >= _ALIKE * max(all_of, inside.size) else None

    def _planned(self, places: IntArray, rule: Rule) -> Node:
        """Return the tree for these rounds, without cells."""
        if places.size < _FIRST_TEST:
            return Leaf(-1)
        found = self._best_split(places, rule)
        if found is None:
            return Leaf(-1)
        split, values = found
        below = values < split.at
        split.left, split.right = (self._planned(part, rule) for part in (places[below], places[~below]))
        return split

    def _leaves(self, node: Node, places: IntArray) -> list[tuple[Leaf, IntArray]]:
        """Return the leaves below a node with their rounds."""
        if isinstance(node, Leaf):
            return [(node, places)]
        records = self.records
        below = np.array(
            [
                self._is_left(node, records.columns[i], self.context.keys(records.rounds[i].point))
                for i in places.tolist()
            ],
            np.bool_,
        )
        return self._leaves(node.left, places[below]) + self._leaves(node.right, places[~below])

    def _best_split(self, places: IntArray, rule: Rule) -> tuple[Split, FloatArray] | None:
        losses, weights = self.records.losses[places], self.records.weights[places]
        looks = Looks(losses, weights)
        price = _PRICE * (rule.high - rule.low)
        best = _SURPRISE + math.log(self.records.columns.shape[1] + len(self.curves))
        found = None
        for column in range(self.records.columns.shape[1]):
            values = self.records.columns[places, column]
            cut = looks.best_cut(values, _ERRORS, price)
            if cut is not None and cut.evidence > best:
                best, found = cut.evidence, (Split(column, cut.at), values)
        w, totals = look_weights(losses)
        for i in range(len(self.curves)):
            index, by, sums = by_label(self.records.keys[places, i], w, totals)
            for level in LEVELS:
                direction = main_direction(by, sums, float(np.nansum(w * losses * losses)), level)
                if direction is None:
                    continue
                whole = direction.sums(by, sums)
                others = whole[index] - direction.sums(w, totals)  # without the round itself
                cut = looks.best_cut(direction.places(others)[0], _ERRORS, price)
                if cut is None or cut.evidence <= best:
                    continue
                values = direction.places(whole)[0][index]
                if min((values < cut.at).sum(), (values >= cut.at).sum()) >= _FIRST_TEST // 2:
                    best, found = cut.evidence, (Split(i, cut.at, direction), values)
        return found

    def _fill(self, leaves: list[tuple[Leaf, IntArray]], rule: Rule) -> None:
        """Give new leaves their cells."""
        for leaf, inside in leaves:
            leaf.cell = self._grow(inside, rule)
        while len(self.cells) > MOST_CELLS:
            self._fold()

    def _grow(self, places: IntArray, rule: Rule) -> int:
        """Make a cell that has learned the last of these rounds; return its number."""
        weights, stats = self.start.detached(), PlayStats(self._cells)
        for place in places[-_REPLAYED:].tolist():
            feedback = self.records.rounds[place].feedback
            weights = weights.learn(feedback, rule).weights
        for place in places.tolist():
            feedback = self.records.rounds[place].feedback
            stats.add(feedback.position, feedback.paid)
        cell = Cell(self.n_made, weights, stats)
        self.n_made += 1
        cell.n, cell.last = len(places), self.rounds
        cell.next_test = max(next_test(cell.n), float(_FIRST_TEST))
        self.cells[cell.number] = cell
        self.records.cell[places] = cell.number
        return cell.number

    def _replace(self, number: int, new: Node) -> None:
        """Put a node in the place of the leaf of a cell."""
        if isinstance(self.root, Leaf):
            self.root = new
            return
        for split in self.splits():
            if isinstance(split.left, Leaf) and split.left.cell == number:
                split.left = new
                return
            if isinstance(split.right, Leaf) and split.right.cell == number:
                split.right = new
                return

    def splits(self) -> Iterator[Split]:
        """Yield the inner nodes."""
        open_nodes: list[Node] = [self.root]
        while open_nodes:
            node = open_nodes.pop()
            if isinstance(node, Split):
                yield node
                open_nodes += (node.left, node.right)

    def described(self) -> Iterator[tuple[dict[str, Any], Cell]]:
        """Yield the conditions of each cell, and the cell."""
        open_nodes: list[tuple[Node, tuple[Bound, ...]]] = [(self.root, ())]
        while open_nodes:
            node, path = open_nodes.pop()
            if isinstance(node, Leaf):
                if node.cell in self.cells:
                    yield described(self.context, self.curves, path), self.cells[node.cell]
                continue
            for side, below in ((node.left, True), (node.right, False)):
                bound = Bound(node.column, node.at, below, node.direction)
                open_nodes.append((side, (*path, bound)))

    def _fold(self) -> None:
        """Fold the two sibling cells that were used least into one, which continues the larger one."""

        def used(split: Split) -> int:
            return max(self.cells[side.cell].last for side in (split.left, split.right))  # type: ignore[union-attr]

        pairs = [s for s in self.splits() if isinstance(s.left, Leaf) and isinstance(s.right, Leaf)]
        split = min(pairs, key=used)
        sides = [self.cells[side.cell] for side in (split.left, split.right)]  # type: ignore[union-attr]
        kept, dropped = sorted(sides, key=lambda cell: cell.n, reverse=True)
        self.records.cell[self.records.cell == dropped.number] = kept.number
        del self.cells[dropped.number]
        leaf = Leaf(kept.number)
        if split is self.root:
            self.root = leaf
        for parent in self.splits():
            if parent.left is split:
                parent.left = leaf
            elif parent.right is split:
                parent.right = leaf


def next_test(n: int) -> float:
    """Return the number of rounds at which splits are considered again, after n rounds."""
    return _NEXT_TEST[n >= _EARLY] * n


@kernel
def advantage(difference: Any, losses: Any, sets: Any, looks: Any, p: Any, level: float) -> float:
    """Return the unbiased estimate of the difference of the expected losses of two densities."""
    draws, total = 0, 0.0
    for i in range(looks.size):
        draws += looks[i]
    for j in range(sets.size):
        if sets[j] >= 0:
            total += difference[j] * (losses[j] - level) * looks[sets[j]] / (draws * p[sets[j]])
    return total


def look_weights(losses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weights of the groups that rounds observed, one for each round, and weighted losses."""
    seen = ~np.isnan(losses)
    weights = seen / np.maximum(seen.sum(1, keepdims=True), 1)
    return weights, weights * np.where(seen, losses, 0.0)
