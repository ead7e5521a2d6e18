"""Upper bounds on the density of simple functions of random variables (appendix D).

A critical parameter of an algorithm family is a formula in the numbers of the instance. When those numbers
are κ-smooth (their density is at most κ), these rules bound the density of the critical parameter, which is
all that a dispersion analysis needs. Each takes bounds on densities and returns one.

>>> rescale(log_ratio(2.0**2), 3.0)  # ln(v₁/v₂)/3 for independent values in (0, 1] with densities <= 2
6.0
"""

import math

from semibandit import _validate

__all__ = ["log_ratio", "ratio", "rescale", "share", "shifted_ratio", "sum"]

_LARGEST = 1e100  # bounds and their products and squares stay finite


def sum(kappa_x: float, kappa_y: float = math.inf) -> float:
    """Density of X + Y, for independent X and Y: at most the smaller of the two bounds.

    The density is the convolution ∫ f_X(u − y)·f_Y(y) dy ≤ κ_X·∫ f_Y = κ_X, and likewise with the roles
    exchanged. An infinite `kappa_y` stands for a Y of which nothing is known but its independence; a
    difference X − Y obeys the same bound.

    >>> sum(3.0, 2.0)
    2.0
    """
    kappa_x = _bound("kappa_x", kappa_x)
    unknown = isinstance(kappa_y, float) and kappa_y == math.inf
    return kappa_x if unknown else min(kappa_x, _bound("kappa_y", kappa_y))


def ratio(kappa: float, M: float) -> float:
    """Density of X/Y, for a joint density of at most κ and |Y| ≤ M: at most κ·M².

    With U = X/Y and V = Y the Jacobian is |v|, so that f_U(u) = ∫ |v|·f(uv, v) dv ≤ κ·∫_{−M}^{M} |v| dv.
    Independent variables with bounds κ_X and κ_Y have the joint bound κ_X·κ_Y.

    >>> ratio(0.25, 2.0)
    1.0
    """
    return _bound("kappa", kappa) * _bound("M", M) ** 2


def share(kappa_x: float, kappa_y: float, M: float) -> float:
    """Density of X/(X + Y), for independent X and Y with |X + Y| ≤ M: at most κ_X·κ_Y·M².

    The map (x, y) → (x, x + y) keeps areas, so that (X, X + Y) has a joint density of at most κ_X·κ_Y;
    then `ratio`. The paper states it for |X|, |Y| ≤ M' as 4·κ²·M'², which is the case M = 2·M'.

    >>> share(1.0, 1.0, M=2.0)
    4.0
    """
    return ratio(_bound("kappa_x", kappa_x) * _bound("kappa_y", kappa_y), M)


def shifted_ratio(kappa_x: float, kappa_z: float, M: float) -> float:
    """Density of (X + Y)/(Z + Y), for independent X, Y, Z with |Z + Y| ≤ M: at most κ_X·κ_Z·M².

    Given Y = y the pair (X + y, Z + y) has a joint density of at most κ_X·κ_Z, hence also on average over
    any Y, smooth or not; then `ratio`. The paper asks for |Y|, |Z| ≤ M' and states 4·κ²·M'², the case
    M = 2·M'; where Y = −Y' with Y', Z ≥ 0 the range of Z + Y is only half of that.

    >>> shifted_ratio(1.0, 1.0, M=1.0)
    1.0
    """
    return ratio(_bound("kappa_x", kappa_x) * _bound("kappa_z", kappa_z), M)


def log_ratio(kappa: float, B: float = 1.0) -> float:
    """Density of ln(X/Y), for X, Y in (0, B] with a joint density of at most κ: at most κ·B²/2.

    At z it is ∫ y·e^z·f(y·e^z, y) dy over 0 < y ≤ B·min(1, e^−z), at most κ·B²/2·e^−|z|. The paper has
    B = 1. Uniform variables attain it at z = 0.

    >>> log_ratio(4.0)
    2.0
    """
    return _bound("kappa", kappa) * _bound("B", B) ** 2 / 2.0


def rescale(kappa: float, c: float) -> float:
    """Density of X/c: at most |c|·κ.

    The paper prints c·κ, which for a negative c is no bound at all.

    >>> rescale(2.0, -3.0)
    6.0
    """
    c = _validate.number("c", c)
    if c == 0.0:
        raise ValueError("c must not be zero: X/c is not defined")
    return abs(c) * _bound("kappa", kappa)


def _bound(name: str, value: float) -> float:
    return _validate.number(name, value, low=0.0, high=_LARGEST, open=True)
