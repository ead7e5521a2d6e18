"""Theorem 4: density of the roots of a random monic polynomial x^d + Σ_i a_i·x^i.

It has a root at x for exactly one value of a_i, given the other coefficients; that value moves at the
speed |φ'(x)|/|x^i| as x does. By the Kac-Rice formula the expected number of roots per unit length at x is
the joint density of the coefficients times this speed, integrated over all coefficients but a_i. By Cauchy
and Schwarz the mean speed over the cube |a_j| ≤ R is at most √(W_0² + R²/3·Σ_j W_j²)/x^2i, with
W_0 = (d − i)·x^(d+i−1) and W_j = (j − i)·x^(j+i−1). For i = 0 where |x| ≤ 1, and for i = d − 1 beyond, this
is at most its value for i = 0 at |x| = 1.
"""

import math

from semibandit import _validate

__all__ = ["root_density", "root_probability"]


def root_density(degree: int, R: float, kappa: float) -> float:
    """Theorem 4: bound the expected number of roots per unit length of a random monic polynomial.

    Everywhere on the line it is at most

        κ·(2R)^(d−1)·√(d² + R²·d(d−1)(2d−1)/18).

    Parameters
    ----------
    degree
        Degree d of x^d + a_{d−1}·x^{d−1} + ... + a₀.
    R, kappa
        The coefficients lie in [−R, R]^d and have a joint density of at most κ.

    Examples
    --------
    >>> root_density(1, R=1.0, kappa=0.5)
    0.5
    >>> round(root_density(2, R=1.0, kappa=0.25), 3)
    1.041
    """
    d = _validate.integer("degree", degree, low=1)
    R = _validate.number("R", R, low=0.0, open=True)
    kappa = _validate.number("kappa", kappa, low=0.0, open=True)
    speed = math.sqrt(d * d + R * R * d * (d - 1) * (2 * d - 1) / 18.0)
    return kappa * (2.0 * R) ** (d - 1) * speed


def root_probability(eps: float, degree: int, R: float, kappa: float) -> float:
    """Theorem 4: bound the probability of a root in a fixed interval of length ε by ε·`root_density`.

    >>> round(root_probability(0.01, 2, R=1.0, kappa=0.25), 4)
    0.0104
    """
    eps = _validate.number("eps", eps, low=0.0)
    return min(1.0, eps * root_density(degree, R, kappa))
