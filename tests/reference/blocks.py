"""The best sequence of blocks the obvious way: every last block is tried, in exact rational arithmetic."""

from fractions import Fraction

from reference import linear_functions


def lowest(functions):
    """The least value, or limit at an edge, of the sum of piecewise linear functions."""
    pieces = linear_functions.total([linear_functions.pieces(function) for function in functions])
    return min(min(left, right) for _, _, left, right in pieces)


def totals(functions, blocks):
    """The least total loss of at most 1, 2, ..., `blocks` fixed parameters on consecutive blocks."""
    T = len(functions)
    cost = {(u, t): lowest(functions[u:t]) for t in range(1, T + 1) for u in range(t)}
    least = [Fraction(0)] + [cost[0, t] for t in range(1, T + 1)]
    result = [least[-1]]
    for _ in range(1, blocks):
        least = [Fraction(0)] + [min(least[u] + cost[u, t] for u in range(t)) for t in range(1, T + 1)]
        result.append(least[-1])
    return result
