"""How far the mean loss of a log can be from what is to be expected, at all parameters at once.

For one parameter that does not depend on the problems, `semibandit.confidence` has narrower bounds.
"""

from __future__ import annotations

import math

from semibandit import _validate

__all__ = ["problems_needed", "pseudo_dimension", "uniform_radius"]

_MOST_PROBLEMS = 1 << 62


def pseudo_dimension(breaks: int) -> int:
    """The pseudo-dimension of losses that are step functions of ρ with at most so many breaks each.

    d problems have at most d·k breaks, and so at most d·k + 1 different vectors of losses; to shatter them
    takes 2^d. It is the largest d with 2^d <= d·k + 1, some log2(k): the case of one parameter and constant
    pieces of Balcan, DeBlasio, Dick, Kingsford, Sandholm and Vitercik (2019), with its constant.

    >>> pseudo_dimension(1), pseudo_dimension(100), pseudo_dimension(10_000)
    (1, 9, 17)
    """
    breaks = _validate.integer("breaks", breaks, low=0)
    d = 0
    while 2 ** (d + 1) <= (d + 1) * breaks + 1:
        d += 1
    return d


def uniform_radius(
    n: int, breaks: int, *, width: float = 1.0, level: float = 0.95, gap: bool = False, degree: int = 0
) -> float:
    """With probability `level`, the mean loss of n problems is this near to its expectation, for every ρ.

        w·(Z + x + √(x² + 2xZ)) / n + c·w·√(x / 2n),   Z = √(2n·ln N),   x = ln(3 / (1 - level)),   c = 1

    The problems must be independent and of one distribution. N is the number of different vectors of losses
    that ρ makes: one more than the breaks, and twice that for lines, which are extreme at both ends of a
    piece. It is read off the problems themselves. By Massart's lemma Z bounds their Rademacher average, for
    losses taken from the middle of their range in units of half of it; that is concentrated about its mean as
    a self-bounding variable (Boucheron, Lugosi and Massart 2000), twice which bounds the mean of the largest
    deviation, and by McDiarmid's inequality that exceeds its mean by the last term, on either side.

    Parameters
    ----------
    n
        The number of problems.
    breaks
        The breaks of their loss functions, all together.
    width
        The losses lie in an interval of this length.
    level
        The probability.
    gap
        The bound is for the difference to a parameter that was fixed in advance; then c = 2.
    degree
        Of the pieces: 0 for steps, 1 for lines.

    >>> round(uniform_radius(100_000, 1_000_000), 4)
    0.0224
    """
    n = _validate.integer("n", n, low=1)
    breaks = _validate.integer("breaks", breaks, low=0)
    x = math.log(3.0 / (1.0 - _validate.number("level", level, low=0.0, high=1.0, open=True)))
    vectors = (breaks + 1) * (degree + 1)
    z = math.sqrt(2.0 * n * math.log(vectors))
    chance = (2.0 if gap else 1.0) * math.sqrt(x / (2.0 * n))
    return width * ((z + x + math.sqrt(x * x + 2.0 * x * z)) / n + chance)


def problems_needed(radius: float, breaks: int, *, width: float = 1.0, level: float = 0.95) -> int:
    """The least number of problems, with so many breaks each, for which `uniform_radius` is at most this.

    >>> problems_needed(0.05, 20)
    20064
    """
    radius = _validate.number("radius", radius, low=0.0, open=True)
    breaks = _validate.integer("breaks", breaks, low=0)

    def enough(n: int) -> bool:
        return uniform_radius(n, n * breaks, width=width, level=level) <= radius

    few, many = 0, 1
    while not enough(many):
        few, many = many, 2 * many
        if many > _MOST_PROBLEMS:
            raise ValueError(f"radius must be larger: {radius!r} takes more than 2^62 problems")
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if enough(middle) else (middle, many)
    return many
