"""Generalisation bounds: the distance of the mean loss of a log to its expectation, for all parameters.

For one parameter that does not depend on the problems, `semibandit.confidence` has narrower bounds.
"""

from __future__ import annotations

import math

from semibandit import _validate

__all__ = ["uniform_radius"]


def uniform_radius(
    n: int, breaks: int, *, width: float = 1.0, level: float = 0.95, gap: bool = False, degree: int = 0
) -> float:
    """Return the radius of a confidence band around the mean loss of n problems, for all ρ at once.

        w·(Z + x + √(x² + 2xZ)) / n + c·w·√(x / 2n),   Z = √(2n·ln N),   x = ln(3 / (1 - level)),   c = 1

    The problems must be independent and identically distributed. A radius of `width` or more is vacuous.
    N is the number of different vectors of losses on the log: breaks + 1 for steps, and twice that for lines,
    which are extreme at both ends of a piece (after Balcan, DeBlasio, Dick, Kingsford, Sandholm and Vitercik
    2019). By Massart's lemma, Z bounds the empirical Rademacher average of losses that are centred and scaled
    to [-1, 1]. That average is self-bounding, and so is concentrated about its mean (Boucheron, Lugosi and
    Massart 2000). Twice its mean bounds the expected largest deviation, and by McDiarmid's inequality the
    largest deviation exceeds its mean by at most the last term.

    Parameters
    ----------
    n
        Number of problems.
    breaks
        Number of breaks of all loss functions.
    width
        Length of the range of the losses.
    level
        Probability that the bound holds.
    gap
        Bound the difference to a parameter that was fixed in advance; then c = 2.
    degree
        Degree of the pieces: 0 for steps, 1 for lines.

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
