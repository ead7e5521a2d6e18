"""Kernels of piecewise exponential weights: exp of a piecewise linear function, in plain arrays.

A piece on [edges[i], edges[i + 1]) has the weight exp(l) with l going from left[i] to right[i] in a line.
Its mass has a closed form and is kept as a scaled number m·2^e (see `_scaled`), so that logarithms may lie
any distance apart.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from semibandit._jit import kernel
from semibandit._numerics import two_product
from semibandit.weights._scaled import DEEPEST, LN2, LN2_TAIL, POWERS, normal, ratio

FloatArray = npt.NDArray[np.float64]

# Logarithms stay above this, so that exponents fit into 64 bits.
LOWEST = -(2.0**60)


class Pieces(NamedTuple):
    """Edges, the logarithm of the weight at both ends of each piece, and the masses."""

    edges: FloatArray
    left: FloatArray
    right: FloatArray
    mant: FloatArray
    expo: npt.NDArray[np.int64]


# -- one piece ------------------------------------------------------------------------------------


@kernel
def scaled_exp(x: float) -> tuple[float, int]:
    """exp(x) as a scaled number, for x above LOWEST; its relative error is that of x."""
    e = math.floor(x / LN2)
    high, low = two_product(e, LN2)
    return math.exp((x - high) - low - e * LN2_TAIL), int(e)


@kernel
def mass(width: float, left: float, right: float) -> tuple[float, int]:
    """∫ exp(line) over a piece: width · exp(the higher end) · (1 - exp(-d)) / d, d the rise or fall."""
    d = abs(right - left)
    shape = 1.0 - 0.5 * d if d < 1e-8 else -math.expm1(-d) / d
    m, e = scaled_exp(max(left, right))
    m2, e2 = math.frexp(width)
    return normal(m * m2 * shape, e + e2)


@kernel
def quantile(u: float, d: float) -> float:
    """The s in [0, 1] with ∫₀ˢ exp(d·x) dx a share u of ∫₀¹."""
    if abs(d) < 1e-15:
        s = u
    elif d < 1.0:
        s = math.log1p(u * math.expm1(d)) / d
    elif d < 700.0:  # from the right, where the mass is
        s = 1.0 + math.log(u + (1.0 - u) * math.exp(-d)) / d
    else:  # exp(-d) underflows
        log_u = math.log(u) if u > 0.0 else -math.inf
        s = 1.0 + (max(log_u, -d) + math.log1p(math.exp(-abs(log_u + d)))) / d
    return min(max(s, 0.0), 1.0)


@kernel
def mean_place(d: float) -> float:
    """The mean of s in [0, 1] under a density proportional to exp(d·s)."""
    if abs(d) < 0.01:
        return 0.5 + d / 12.0 - d**3 / 720.0
    if d > 0.0:
        return -1.0 / math.expm1(-d) - 1.0 / d
    return 1.0 + 1.0 / math.expm1(d) - 1.0 / d


@kernel
def between(lo: float, hi: float, left: float, right: float, x: float) -> float:
    """The line at x, exact at both ends."""
    s = (x - lo) / (hi - lo)
    return min(max(left * (1.0 - s) + right * s, min(left, right)), max(left, right))


# -- all pieces -----------------------------------------------------------------------------------


@kernel
def weigh(p: Pieces) -> None:
    """Compute all masses. O(P)."""
    for i in range(p.left.size):
        p.mant[i], p.expo[i] = mass(p.edges[i + 1] - p.edges[i], p.left[i], p.right[i])


@kernel
def total(mant: Any, expo: Any) -> tuple[float, int]:
    """The sum of scaled numbers; zero for none."""
    if mant.size == 0:
        return 0.0, 0
    top = expo.max()
    s = 0.0
    for i in range(mant.size):
        depth = top - expo[i]
        if depth < DEEPEST:
            s += mant[i] * POWERS[depth]
    return s, top


@kernel
def draw(p: Pieces, u: float) -> float:
    """The point that has a share u of the mass to its left. O(P)."""
    s, top = total(p.mant, p.expo)
    goal = u * s
    chosen = 0
    part = start = before = 0.0
    for i in range(p.mant.size):
        depth = top - p.expo[i]
        here = p.mant[i] * POWERS[depth] if depth < DEEPEST else 0.0
        if here > 0.0:
            chosen, part, start = i, here, before
        before += here
        if before > goal:
            break
    inside = min(max((goal - start) / part, 0.0), 1.0)
    lo, hi = p.edges[chosen], p.edges[chosen + 1]
    x = lo + (hi - lo) * quantile(inside, p.right[chosen] - p.left[chosen])
    return float(min(max(x, lo), np.nextafter(hi, lo)))


@kernel
def find(edges: Any, x: float) -> int:
    """The piece that holds x; the last one for its right end."""
    return int(min(np.searchsorted(edges, x, side="right") - 1, edges.size - 2))


@kernel
def integrate(p: Pieces, lo: float, hi: float) -> tuple[float, int]:
    """The mass of [lo, hi). O(log P + pieces between)."""
    first = find(p.edges, lo)
    last = find(p.edges, hi)
    if p.edges[last] == hi:
        last -= 1
    mant = p.mant[first : last + 1].copy()
    expo = p.expo[first : last + 1].copy()
    for i in (first, last):
        a, b = p.edges[i], p.edges[i + 1]
        c, d = max(a, lo), min(b, hi)
        if c > a or d < b:
            mant[i - first], expo[i - first] = mass(
                d - c,
                between(a, b, p.left[i], p.right[i], c),
                between(a, b, p.left[i], p.right[i], d),
            )
    return total(mant, expo)


@kernel
def integrate_all(p: Pieces, lo: Any, hi: Any) -> tuple[Any, Any]:
    """The masses of many intervals."""
    mant = np.empty(lo.size)
    expo = np.empty(lo.size, np.int64)
    for i in range(lo.size):
        mant[i], expo[i] = integrate(p, lo[i], hi[i])
    return mant, expo


@kernel
def ratios(mant: Any, expo: Any, m: float, e: int) -> Any:
    """Scaled numbers over another one, at most 1."""
    out = np.empty(mant.size)
    for i in range(mant.size):
        out[i] = min(ratio(mant[i], expo[i], m, e), 1.0)
    return out


@kernel
def refine(p: Pieces, cuts: Any) -> Pieces:
    """The same function, cut at increasing points inside its span. O(P + cuts)."""
    n = p.left.size + cuts.size
    edges = np.empty(n + 1)
    left, right, mant = np.empty(n), np.empty(n), np.empty(n)
    expo = np.empty(n, np.int64)
    at = c = 0
    for i in range(p.left.size):
        a, b = p.edges[i], p.edges[i + 1]
        while c < cuts.size and cuts[c] <= a:
            c += 1
        start, level = a, p.left[i]
        whole = True
        while c < cuts.size and cuts[c] < b:
            if cuts[c] > start:
                there = between(a, b, p.left[i], p.right[i], cuts[c])
                edges[at], left[at], right[at] = start, level, there
                mant[at], expo[at] = mass(cuts[c] - start, level, there)
                start, level = cuts[c], there
                whole = False
                at += 1
            c += 1
        edges[at], left[at], right[at] = start, level, p.right[i]
        if whole:
            mant[at], expo[at] = p.mant[i], p.expo[i]
        else:
            mant[at], expo[at] = mass(b - start, level, p.right[i])
        at += 1
    edges[at] = p.edges[p.left.size]
    return Pieces(edges[: at + 1], left[:at], right[:at], mant[:at], expo[:at])


@kernel
def learn(p: Pieces, edges: Any, estimates: Any, rate: float) -> tuple[Pieces, float]:
    """Multiply by exp(-rate · estimate) where there is one; also the mean of the estimate before that.

    `estimates` has two columns, the ends of its pieces on `edges`, nan where nothing was seen. O(P).
    """
    m0, e0 = total(p.mant, p.expo)
    new = refine(p, edges)
    mean = 0.0
    j = -1
    for i in range(new.left.size):
        while j + 1 < estimates.shape[0] and edges[j + 1] <= new.edges[i]:
            j += 1
        if j < 0 or new.edges[i] >= edges[estimates.shape[0]] or math.isnan(estimates[j, 0]):
            continue
        a, b = new.edges[i], new.edges[i + 1]
        first = between(edges[j], edges[j + 1], estimates[j, 0], estimates[j, 1], a)
        last = between(edges[j], edges[j + 1], estimates[j, 0], estimates[j, 1], b)
        share = ratio(new.mant[i], new.expo[i], m0, e0)
        mean += share * (first + (last - first) * mean_place(new.right[i] - new.left[i]))
        new.left[i] = max(new.left[i] - rate * first, LOWEST)
        new.right[i] = max(new.right[i] - rate * last, LOWEST)
        new.mant[i], new.expo[i] = mass(b - a, new.left[i], new.right[i])
    return new, mean


# -- fewer pieces ---------------------------------------------------------------------------------


@kernel
def fit(p: Pieces, reach: float) -> tuple[Any, Any]:
    """Group pieces from the left, each group within `reach` of a line that starts where the group does.

    Returns the first piece of each group (and the number of pieces), and the slopes of the lines. The
    slopes that will do form an interval, which shrinks with every point: O(P).
    """
    n = p.left.size
    first = np.empty(n + 1, np.int64)
    slope = np.empty(n)
    groups = 0
    low, high = -math.inf, math.inf
    for i in range(n):
        if i > 0:
            x0, y0 = p.edges[first[groups - 1]], p.left[first[groups - 1]]
            near, far = p.edges[i] - x0, p.edges[i + 1] - x0
            low2 = max(low, (p.left[i] - reach - y0) / near, (p.right[i] - reach - y0) / far)
            high2 = min(high, (p.left[i] + reach - y0) / near, (p.right[i] + reach - y0) / far)
        if i == 0 or low2 > high2:
            first[groups] = i
            groups += 1
            x0, y0 = p.edges[i], p.left[i]
            far = p.edges[i + 1] - x0
            low2, high2 = (p.right[i] - reach - y0) / far, (p.right[i] + reach - y0) / far
        low, high = low2, high2
        slope[groups - 1] = min(max((p.right[i] - y0) / far, low), high)
    first[groups] = n
    return first[: groups + 1].copy(), slope[:groups].copy()
