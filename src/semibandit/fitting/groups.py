"""The best parameter of each group of problems, where the log supports a difference between groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.confidence import t_bounds
from semibandit.fitting.best import position
from semibandit.fitting.fits import Fit
from semibandit.fitting.losses import whole_losses
from semibandit.fitting.partial import Partial
from semibandit.functions import Piecewise

__all__ = ["FitCell", "FitGroup", "fit_cells", "fit_groups"]

_BINS = 8  # of a number with more values
_MOST = 32  # words

Rows = list[tuple[Any, Piecewise]]  # problems with their loss functions


class FitGroup(NamedTuple):
    """Problems that share a best parameter.

    Parameters
    ----------
    where
        Range (lo, hi) of a number, with lo <= value < hi, or the words of the group; None is unknown.
    fit
        The exact best parameter of these problems, with its confidence and count.
    """

    where: tuple[Any, ...]
    fit: Fit


def fit_groups(
    problems: Iterable[Any],
    contexts: Sequence[Mapping[str, Any]],
    by: str,
    *,
    default: Any = None,
    level: float = 0.95,
    high: float | None = None,
    maximize: bool | None = None,
) -> list[FitGroup]:
    """Return the best parameter for each group of the values of a feature.

    Groups begin as the single words, or as ranges of a number (eight quantiles, if it has more values), and
    are merged while the log does not support a difference. Two groups differ if problems that did not
    choose the parameters have a smaller mean loss at the parameters of their groups than at a common one:
    each half of both groups chooses for the other half, and a one-sided paired t-test, corrected for the
    number of pairs, exceeds `level`. Of the others, the pair whose best losses a common parameter increases
    least is merged first; ranges merge with their neighbours only. The test is approximate.

    Parameters
    ----------
    problems
        Problems or loss functions; all loss functions are kept in memory.
    contexts
        Features of each problem by name.
    by
        Name of a feature: finite numbers, or up to 32 words (or None, unknown).
    default, level, high, maximize
        As in `fit`. The bounds of each group hold for a group that was fixed in advance.

    Examples
    --------
    >>> import semibandit as sb
    >>> low, high = sb.PiecewiseConstant([0, 0.5, 1], [0, 1]), sb.PiecewiseConstant([0, 0.5, 1], [1, 0])
    >>> contexts = [{"kind": "abc"[i % 3]} for i in range(60)]
    >>> groups = fit_groups([low, high, low] * 20, contexts, "kind")
    >>> [(group.where, group.fit.rho, group.fit.count) for group in groups]
    [(('a', 'c'), 0.25, 40), (('b',), 0.75, 20)]
    """
    level = _validate.number("level", level, low=0.0, high=1.0, open=True)
    rows = list(whole_losses(enumerate(problems)))
    _require_contexts(contexts, rows)
    if all(context.get(by) is None for context in contexts):
        raise ValueError(f"by must be the name of a feature, got {by!r}, which no context has")
    return [
        FitGroup(where, Fit.of(partial, default=default, level=level, high=high))
        for where, _, partial in _supported(rows, contexts, by, level, maximize)
    ]


def _require_contexts(contexts: Any, rows: Rows) -> None:
    if len(contexts) != len(rows) or not rows:
        raise ValueError(f"contexts must have one dict per problem, got {len(contexts)} for {len(rows)}")


def _supported(
    rows: Rows, contexts: Sequence[Mapping[str, Any]], by: str, level: float, maximize: bool | None
) -> list[tuple[tuple[Any, ...], list[int], Partial]]:
    """Return the groups of the values of a feature: condition, problems, and their sum."""
    values = [_value(context, by, i) for i, context in enumerate(contexts)]
    ordered = all(isinstance(value, float) for value in values)
    split = _ranges(np.array(values, np.float64)) if ordered else _words(values)
    groups = [_Group(where, members, rows, maximize) for where, members in split]
    n_pairs = max(len(groups) - 1 if ordered else math.comb(len(groups), 2), 1)
    merged = _merged(groups, pairwise if ordered else _all_pairs, 1.0 - (1.0 - level) / n_pairs, ordered)
    return [(group.where, group.members, group.partial) for group in merged]


class FitCell(NamedTuple):
    """Problems of a cell of contexts.

    Parameters
    ----------
    where
        Condition on each feature that matters, as in `FitGroup`.
    fit
        The exact best parameter of these problems, with its confidence and count. The bounds hold for a cell
        that was fixed in advance.
    """

    where: dict[str, tuple[Any, ...]]
    fit: Fit


def fit_cells(
    problems: Iterable[Any],
    contexts: Sequence[Mapping[str, Any]],
    *,
    level: float = 0.95,
    maximize: bool | None = None,
    **options: Any,
) -> tuple[FitCell, ...]:
    """Return the best parameter for each cell of contexts; one cell if the log supports no difference.

    The log is divided by the feature whose groups (`fit_groups`) lower the best losses most, then each group
    by the other features. The level of the tests is corrected for the number of features.

    >>> import semibandit as sb
    >>> low, high = sb.PiecewiseConstant([0, 0.5, 1], [0, 1]), sb.PiecewiseConstant([0, 0.5, 1], [1, 0])
    >>> log = [high if i % 2 else low for i in range(60)]
    >>> cells = fit_cells(log, [{"kind": "ab"[i % 2], "day": i} for i in range(60)])
    >>> [(cell.where, cell.fit.rho) for cell in cells]
    [({'kind': ('a',)}, 0.25), ({'kind': ('b',)}, 0.75)]
    """
    rows = list(whole_losses(enumerate(problems)))
    _require_contexts(contexts, rows)
    names = sorted({name for context in contexts for name in context})
    tested = 1.0 - (1.0 - level) / max(len(names), 1)

    def divided(members: list[int], where: dict[str, tuple[Any, ...]], left: list[str]) -> list[FitCell]:
        found: list[tuple[float, str, list[tuple[tuple[Any, ...], list[int]]]]] = []
        for by in left:
            inside = [rows[i] for i in members], [contexts[i] for i in members]
            parts = _supported(*inside, by, tested, maximize)
            if len(parts) > 1:
                losses = sum(part.best.mean_loss * part.count for _, _, part in parts)
                sign = -1.0 if parts[0][2].maximize else 1.0
                groups = [(condition, [members[i] for i in indices]) for condition, indices, _ in parts]
                found.append((sign * losses, by, groups))
        if not found:
            partial = Partial.of([rows[i] for i in members], maximize=maximize)
            return [FitCell(where, Fit.of(partial, level=level, **options))]
        _, by, groups = min(found)
        rest = [name for name in left if name != by]
        cells = [divided(indices, {**where, by: condition}, rest) for condition, indices in groups]
        return [cell for each in cells for cell in each]

    return tuple(divided(list(range(len(rows))), {}, names))


class _Group:
    """Problems of a group in two halves, each with the sum of its loss functions."""

    def __init__(self, where: tuple[Any, ...], members: list[int], rows: Rows, maximize: bool | None) -> None:
        self.where, self.members = where, members
        self.halves = [rows[i] for i in members[::2]], [rows[i] for i in members[1::2]]
        self.sums = tuple(Partial.of(half, maximize=maximize) for half in self.halves)

    def merge(self, other: _Group, ordered: bool) -> _Group:
        """Return both groups as one."""
        found = object.__new__(_Group)
        found.where = (self.where[0], other.where[1]) if ordered else self.where + other.where
        found.members = self.members + other.members
        found.halves = self.halves[0] + other.halves[0], self.halves[1] + other.halves[1]
        found.sums = tuple(a + b for a, b in zip(self.sums, other.sums, strict=True))
        return found

    @property
    def partial(self) -> Partial:
        """Sum of all loss functions."""
        return Partial.merge(self.sums)

    def losses(self, chooser: _Group) -> FloatArray:
        """Return the loss of each problem at the parameter that the other half of a group chooses."""
        found = []
        for half, chosen in zip(self.halves, reversed(chooser.sums), strict=True):
            at = position(chosen.best.parameters, chosen.space, chosen.function)
            found += [float(function(at)) for _, function in half]
        return np.array(found)


def _merged(
    groups: list[_Group], pairs: Callable[[Any], Iterable[tuple[Any, Any]]], level: float, ordered: bool
) -> list[_Group]:
    """Merge groups until all pairs differ."""
    known: dict[tuple[_Group, _Group], float] = {}
    while len(groups) > 1:
        gains = {pair: known.get(pair) or _gain(*pair, level, ordered) for pair in pairs(groups)}
        alike = [pair for pair, gain in gains.items() if not gain > 0.0]
        if not alike:
            break
        first, second = min(alike, key=_price)
        both = first.merge(second, ordered)
        groups = [both if group is first else group for group in groups if group is not second]
        known = gains
    return groups


def _price(pair: tuple[_Group, _Group]) -> float:
    """Return by how much a common parameter increases the sum of the losses that chose the parameters."""
    parts = [group.partial for group in pair]
    both = Partial.merge(parts)
    own = sum(part.best.mean_loss * part.count for part in parts)
    return (both.best.mean_loss * both.count - own) * (-1.0 if both.maximize else 1.0)


def _gain(first: _Group, second: _Group, level: float, ordered: bool) -> float:
    """Return a lower bound on the mean gain of two parameters, on problems that did not choose them."""
    groups = first, second
    if any(part.count == 0 for group in groups for part in group.sums):
        return -math.inf
    both = first.merge(second, ordered)
    gains = np.concatenate([group.losses(both) - group.losses(group) for group in groups])
    sign = -1.0 if both.sums[0].maximize else 1.0
    return t_bounds(sign * gains, alpha=2.0 * (1.0 - level)).low


def _all_pairs(groups: list[_Group]) -> Iterable[tuple[_Group, _Group]]:
    return combinations(groups, 2)


def _value(context: Mapping[str, Any], by: str, i: int) -> Any:
    """Return the value of a feature: a float, text, a bool or None."""
    value = context.get(by)
    if value is None or isinstance(value, str | bool):
        return value
    return _validate.number(f"contexts[{i}][{by!r}]", value)


def _words(values: list[Any]) -> list[tuple[tuple[Any, ...], list[int]]]:
    """Return each word with its problems."""
    if any(isinstance(value, float) for value in values):
        raise TypeError("the feature must be a number for all problems or for none, got both")
    words = sorted(set(values), key=lambda word: (word is None, str(word)))
    if len(words) > _MOST:
        raise ValueError(f"the feature must have at most {_MOST} words, got {len(words)}")
    return [((word,), [i for i, value in enumerate(values) if value == word]) for word in words]


def _ranges(values: FloatArray) -> list[tuple[tuple[float, float], list[int]]]:
    """Return each range of a number with its problems."""
    distinct = np.unique(values)
    if distinct.size > _BINS:
        cuts = np.unique(np.quantile(values, np.arange(1, _BINS) / _BINS))
        cuts = cuts[cuts > distinct[0]]
    else:
        cuts = 0.5 * distinct[:-1] + 0.5 * distinct[1:]
    bins = np.searchsorted(cuts, values, side="right")
    edges = [-math.inf, *cuts.tolist(), math.inf]
    return [((edges[k], edges[k + 1]), np.flatnonzero(bins == k).tolist()) for k in range(cuts.size + 1)]
