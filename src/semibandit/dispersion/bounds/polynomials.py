"""Theorem 4: the roots of a random polynomial have a bounded density, with its constant."""

from semibandit import _validate

__all__ = ["root_density", "root_probability"]


def root_density(degree: int, R: float, kappa: float, at: float | None = None) -> float:
    """Expected number of roots per unit length of a random monic polynomial, at most.

    Parameters
    ----------
    degree
        The degree d of x^d + a_{d−1}·x^{d−1} + ... + a₀.
    R, kappa
        The coefficients lie in [−R, R]^d and have a joint density of at most κ.
    at
        The place; None for the highest density anywhere.

    Notes
    -----
    Fix all coefficients but a_j. The polynomial φ has a root at x ≠ 0 exactly when a_j takes one value,
    a_j(x), and |da_j/dx| = |φ'(x)|/|x|^j there. Integrating the joint density along that curve, and over the
    cube of the other coefficients (this is the Kac-Rice formula), the density of roots at x is at most

        κ·(2R)^(d−1)·max|φ'(x)|/|x|^j   with   |φ'(x)| ≤ d·|x|^(d−1) + R·Σ_{i=1}^{d−1} i·|x|^(i−1).

    Take j = 0 where |x| ≤ 1 and j = d − 1 where |x| > 1: the bound is largest at |x| = 1, where it is
    κ·(2R)^(d−1)·(d + R·d(d−1)/2). The paper leaves its constant open. With j = 0 everywhere, and the roots
    in |x| ≤ 1 + R by Cauchy's bound, it would carry a further factor that grows like (1 + R)^(d−1).

    Examples
    --------
    >>> root_density(1, R=1.0, kappa=0.5)
    0.5
    >>> root_density(2, R=1.0, kappa=0.25), root_density(2, R=1.0, kappa=0.25, at=0.0)
    (1.5, 0.5)
    """
    d = _validate.integer("degree", degree, low=1)
    R = _validate.number("R", R, low=0.0, open=True)
    kappa = _validate.number("kappa", kappa, low=0.0, open=True)
    x = 1.0 if at is None else abs(_validate.number("at", at))
    if x > 1.0 + R:
        return 0.0  # Cauchy: no root lies there
    slope = d * x ** (d - 1) + R * sum(i * x ** (i - 1) for i in range(1, d))
    return kappa * (2.0 * R) ** (d - 1) * slope / max(1.0, x) ** (d - 1)


def root_probability(eps: float, degree: int, R: float, kappa: float) -> float:
    """Theorem 4: the probability that a given interval of length ε holds a root, at most.

    It is at most the expected number of roots there, ε times `root_density`.

    >>> root_probability(0.01, 2, R=1.0, kappa=0.25)
    0.015
    """
    eps = _validate.number("eps", eps, low=0.0)
    return min(1.0, eps * root_density(degree, R, kappa))
