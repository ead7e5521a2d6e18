"""The hedged capital process as it is written: a grid of means, one number and one bet after the other."""

import math


def surviving_means(values, alpha, most, n_means=400):
    """The means in (0, 1) on a grid against which no bettor has ever become 2/α times as rich."""
    surviving = []
    for i in range(1, n_means):
        m = i / n_means
        richest = 0.0
        on_more = on_less = 1.0
        total, squares, variance = 0.5, 0.25, 0.25
        for t, x in enumerate(values, start=1):
            bet = math.sqrt(2.0 * math.log(2.0 / alpha) / (variance * t * math.log(t + 1.0)))
            on_more *= 1.0 + min(bet, most / m) * (x - m)
            on_less *= 1.0 - min(bet, most / (1.0 - m)) * (x - m)
            richest = max(richest, on_more, on_less)
            total += x
            squares += (x - total / (t + 1.0)) ** 2
            variance = squares / (t + 1.0)
        if richest < 2.0 / alpha:
            surviving.append(m)
    return surviving
