"""Theorem 4 and its generalisation in appendix B: density of the roots of a random polynomial.

A polynomial whose coefficients are affine in random numbers a₁, ..., a_k is

    φ(x) = v(x) + Σ_i a_i·u_i(x)

with fixed polynomials v and u_i. If u_i(x) ≠ 0, it has a root at x for exactly one value of a_i, given the
others; that value moves at the speed |φ'(x)|/|u_i(x)| as x does. By the Kac-Rice formula the expected number
of roots per unit length at x is the joint density of the a_j times this speed, integrated over all a_j but
a_i. There u_i·φ' = W_0 + Σ_j a_j·W_j with W_0 = u_i·v' − u_i'·v and W_j = u_i·u_j' − u_i'·u_j. By Cauchy and
Schwarz its mean absolute value over the cube |a_j| ≤ R is at most √(W_0² + R²/3·Σ_j W_j²). So for a joint
density of at most κ the density of roots at x is at most

    κ·(2R)^(k−1)·min_i √(W_0² + R²/3·Σ_j W_j²)/u_i(x)²      (appendix B),

and 0 where |v(x)| > R·Σ_i |u_i(x)|. It is bounded if no x is a root for all values of the a_i.
"""

import math

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray

__all__ = ["affine_root_density", "root_density", "root_probability"]

_ACCURACY = 1e-3  # relative error of the highest density, upwards
_ALWAYS = "A and b must not give an x that is a root for all coefficients, but x = {:.3g} is one"
_NARROWEST = 2.0**-40  # half the width of the cells at which the search ends


def affine_root_density(
    A: npt.ArrayLike, b: npt.ArrayLike, R: float, kappa: float, at: float | None = None
) -> float:
    """Appendix B: bound the expected number of roots per unit length, for affine coefficients.

    An interval of length ε contains a root with probability at most ε times this.

    Parameters
    ----------
    A, b
        The coefficient of x^j is b[j] + Σ_i A[j, i]·a_i, for j from 0 to the degree.
    R, kappa
        The numbers a_i lie in [−R, R] and have a joint density of at most κ.
    at
        The place x. Default: the highest density on the line.

    Notes
    -----
    The module has the derivation. The highest density is found by dividing [−1, 1], for x and for 1/x, into
    cells until no cell can exceed the highest value found by more than 0.1 %; the result is an upper bound.

    Examples
    --------
    Roots of (1 − x)·a₁ + x·a₂, for uniform a₁ and a₂ in [−1, 1]:

    >>> round(affine_root_density([[1, 0], [-1, 1]], [0, 0], R=1.0, kappa=0.25, at=0.5), 3)
    1.155
    """
    b = _validate.vector("b", b)
    A = np.array(_validate.floats("A", A, "a matrix of numbers"))
    if A.ndim != 2 or A.shape[0] != b.size or A.size == 0 or not np.isfinite(A).all():
        raise ValueError(
            f"A must be a finite matrix with a row for each of the {b.size} entries of b, got {A}"
        )
    R = _validate.number("R", R, low=0.0, high=1e100, open=True)
    kappa = _validate.number("kappa", kappa, low=0.0, open=True)
    polynomials = np.column_stack([b, A])
    used = np.flatnonzero(polynomials.any(axis=1))
    if used.size == 0:
        raise ValueError("A and b must not both be zero: every x is then a root")
    # For |x| > 1 the variable is y = 1/x; the density of roots in x is y² times that in y.
    near, far = polynomials[: used[-1] + 1], polynomials[used[-1] :: -1]
    constant: float = kappa * (2.0 * R) ** (A.shape[1] - 1)
    if at is None:
        return constant * _highest(_Chart(near, R), _Chart(far, R))
    x = _validate.number("at", at)
    chart, y, scale = (near, x, 1.0) if abs(x) <= 1.0 else (far, 1.0 / x, 1.0 / (x * x))
    density = constant * scale * float(_Chart(chart, R).upper(np.array([y]), 0.0)[0])
    if density == math.inf:
        raise ValueError(_ALWAYS.format(x))
    return density


class _Chart:
    """Density of roots on [−1, 1], up to a constant factor."""

    def __init__(self, polynomials: FloatArray, R: float) -> None:
        self.R = R
        self.parts = polynomials.T  # v, u_1, ..., u_k; powers ascending
        v_and_u = [np.polynomial.Polynomial(part) for part in self.parts]
        # One row of Wronskians for each i: u_i with v and with every u_j.
        n = 2 * polynomials.shape[0]
        self.wronskians = np.zeros((len(v_and_u) - 1, len(v_and_u), n))
        for i, u in enumerate(v_and_u[1:]):
            for j, p in enumerate(v_and_u):
                coefficients = (u * p.deriv() - u.deriv() * p).coef
                self.wronskians[i, j, : coefficients.size] = coefficients

    def upper(self, centre: FloatArray, half: float) -> FloatArray:
        """Bound the density within `half` of each centre; inf if there is no bound."""
        value, radius = _around(self.parts, centre, half)
        low, high = np.maximum(np.abs(value) - radius, 0.0), np.abs(value) + radius
        weight = np.full(self.parts.shape[0], self.R**2 / 3.0)
        weight[0] = 1.0
        value, radius = _around(self.wronskians, centre, half)
        speed = np.sqrt(np.einsum("j,ijc->ic", weight, (np.abs(value) + radius) ** 2))
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = np.nan_to_num(speed / low[1:] ** 2, nan=np.inf, posinf=np.inf).min(axis=0)
        return np.where(low[0] > self.R * high[1:].sum(axis=0), 0.0, bound)


def _around(polynomials: FloatArray, centre: FloatArray, half: float) -> tuple[FloatArray, FloatArray]:
    """Return the values at the centres, and how much they can change within `half` (Taylor's series)."""
    value = np.asarray(np.polynomial.polynomial.polyval(centre, np.moveaxis(polynomials, -1, 0)), np.float64)
    radius, derivative = np.zeros_like(value), polynomials
    for order in range(1, polynomials.shape[-1] if half > 0.0 else 1):
        derivative = derivative[..., 1:] * np.arange(1, derivative.shape[-1]) / order
        term = np.polynomial.polynomial.polyval(centre, np.moveaxis(derivative, -1, 0))
        radius += np.abs(term) * half**order
    return value, radius


def _highest(near: _Chart, far: _Chart) -> float:
    """Return the supremum over the line, at most `_ACCURACY` too high."""
    half = 1.0 / 16.0
    cells = {chart: np.arange(-1.0 + half, 1.0, 2.0 * half) for chart in (near, far)}
    best = 0.0
    while any(centre.size for centre in cells.values()):
        for chart, centre in cells.items():
            scale = 1.0 if chart is near else centre**2
            best = max(best, float((scale * chart.upper(centre, 0.0)).max(initial=0.0)))
        for chart, centre in cells.items():
            scale = 1.0 if chart is near else (np.abs(centre) + half) ** 2
            left = centre[scale * chart.upper(centre, half) > best * (1.0 + _ACCURACY)]
            cells[chart] = np.concatenate([left - half / 2.0, left + half / 2.0])
            if half < _NARROWEST and left.size:
                x = left[0] if chart is near else 1.0 / left[0]
                raise ValueError(_ALWAYS.format(x))
        half /= 2.0
    return best * (1.0 + _ACCURACY)


def root_density(degree: int, R: float, kappa: float, at: float | None = None) -> float:
    """Theorem 4: bound the expected number of roots per unit length of a random monic polynomial.

    Parameters
    ----------
    degree
        Degree d of x^d + a_{d−1}·x^{d−1} + ... + a₀.
    R, kappa
        The coefficients lie in [−R, R]^d and have a joint density of at most κ.
    at
        The place x. Default: the highest density on the line.

    Notes
    -----
    This is `affine_root_density` with v = x^d and u_i = x^i. Its terms for i = 0 where |x| ≤ 1, and for
    i = d − 1 beyond, are at most the first of them at |x| = 1, so the density is everywhere at most

        κ·(2R)^(d−1)·√(d² + R²·d(d−1)(2d−1)/18)      (Theorem 4).

    Examples
    --------
    >>> root_density(1, R=1.0, kappa=0.5)
    0.5
    >>> round(root_density(2, R=1.0, kappa=0.25), 3), round(root_density(2, R=1.0, kappa=0.25, at=0.0), 3)
    (1.041, 0.289)
    """
    d = _validate.integer("degree", degree, low=1)
    if at is not None:
        return affine_root_density(np.eye(d + 1, d), np.eye(d + 1)[d], R, kappa, at)
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
