"""Upper bounds on the density of simple functions of random variables (appendix D).

A critical parameter of an algorithm family is a formula in the numbers of the instance. If those numbers are
κ-smooth (their densities are at most κ), these rules bound the density of the critical parameter, as a
dispersion analysis requires. Each takes bounds on densities and returns one.

>>> rescale(independent_log_ratio(2.0), 3.0)  # ln(v₁/v₂)/3, values in (0, 1] with densities of at most 2
4.5
"""

import math

from semibandit import _validate

__all__ = ["independent_log_ratio", "log_ratio", "ratio", "rescale", "share", "shifted_ratio", "sum"]

_LARGEST = 1e100  # so that products and squares of bounds are finite


def sum(kappa_x: float, kappa_y: float = math.inf) -> float:
    """Bound the density of X + Y, for independent X and Y: min(κ_X, κ_Y).

    The density is the convolution ∫ f_X(u − y)·f_Y(y) dy ≤ κ_X·∫ f_Y = κ_X, and likewise with the roles
    exchanged. The default `kappa_y` is for any independent Y. The bound holds for X − Y, too.

    >>> sum(3.0, 2.0)
    2.0
    """
    kappa_x = _bound("kappa_x", kappa_x)
    unknown = isinstance(kappa_y, float) and kappa_y == math.inf
    return kappa_x if unknown else min(kappa_x, _bound("kappa_y", kappa_y))


def ratio(kappa: float, M: float) -> float:
    """Bound the density of X/Y, for a joint density of at most κ and |Y| ≤ M: κ·M².

    With U = X/Y and V = Y the Jacobian is |v|, so that f_U(u) = ∫ |v|·f(uv, v) dv ≤ κ·∫_{−M}^{M} |v| dv.
    Independent variables have the joint bound κ_X·κ_Y.

    >>> ratio(0.25, 2.0)
    1.0
    """
    return _bound("kappa", kappa) * _bound("M", M) ** 2


def share(kappa_x: float, kappa_y: float, M: float) -> float:
    """Bound the density of X/(X + Y), for independent X and Y with |X + Y| ≤ M.

    The bound is min(κ_X·κ_Y·M², (κ_X + κ_Y)·M). The first is `ratio`: (x, y) → (x, x + y) preserves areas.
    For the second, the density at u is ∫ |v|·f_X(uv)·f_Y((1 − u)v) dv ≤ M·min(κ_X/|1 − u|, κ_Y/|u|), which is
    largest at u = κ_Y/(κ_X + κ_Y). The paper has the first, for |X|, |Y| ≤ M/2.

    >>> share(1.0, 1.0, M=1.0), share(3.0, 3.0, M=1.0)
    (1.0, 6.0)
    """
    kappa_x, kappa_y, M = _bound("kappa_x", kappa_x), _bound("kappa_y", kappa_y), _bound("M", M)
    return min(kappa_x * kappa_y * M * M, (kappa_x + kappa_y) * M)


def shifted_ratio(kappa_x: float, kappa_z: float, M: float) -> float:
    """Bound the density of (X + Y)/(Z + Y), for independent X, Y, Z with |Z + Y| ≤ M.

    The bound is min(κ_X·κ_Z·M², κ_X·M), for any Y. Given Y = y, the density at u is
    ∫ |v|·f_X(uv − y)·f_Z(v − y) dv. The first bound is `ratio`; the second uses |v| ≤ M and ∫ f_Z = 1. The
    paper has the first, for |Y|, |Z| ≤ M/2.

    >>> shifted_ratio(2.0, 2.0, M=1.0)
    2.0
    """
    kappa_x, kappa_z, M = _bound("kappa_x", kappa_x), _bound("kappa_z", kappa_z), _bound("M", M)
    return min(kappa_x * kappa_z * M * M, kappa_x * M)


def log_ratio(kappa: float, B: float = 1.0) -> float:
    """Bound the density of ln(X/Y), for X, Y in (0, B] with a joint density of at most κ: κ·B²/2.

    At z it is ∫ y·e^z·f(y·e^z, y) dy over 0 < y ≤ B·min(1, e^−z), at most κ·B²/2·e^−|z|. Uniform variables
    attain it at z = 0.

    >>> log_ratio(4.0)
    2.0
    """
    return _bound("kappa", kappa) * _bound("B", B) ** 2 / 2.0


def independent_log_ratio(kappa: float, B: float = 1.0) -> float:
    """Bound the density of ln(X/Y), for independent X, Y in (0, B] with densities of at most κ: κ·B − 1/2.

    At z ≥ 0 it is e^−z·∫ x·f_X(x)·f_Y(x·e^−z) dx ≤ κ·E[X], and E[X] is at most that of the uniform
    distribution on [B − 1/κ, B], B − 1/(2κ). Two such variables attain it at z = 0.

    >>> independent_log_ratio(4.0)
    3.5
    """
    kappa, B = _bound("kappa", kappa), _bound("B", B)
    if kappa * B < 1.0:
        raise ValueError(f"kappa must be at least 1/B = {1.0 / B:g}, got {kappa!r}")
    return kappa * B - 0.5


def rescale(kappa: float, c: float) -> float:
    """Bound the density of X/c: |c|·κ.

    >>> rescale(2.0, -3.0)
    6.0
    """
    c = _validate.number("c", c)
    if c == 0.0:
        raise ValueError("c must not be zero: X/c is not defined")
    return abs(c) * _bound("kappa", kappa)


def _bound(name: str, value: float) -> float:
    return _validate.number(name, value, low=0.0, high=_LARGEST, open=True)
