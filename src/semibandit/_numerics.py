"""Double-double arithmetic (Dekker): a number is the unevaluated sum of two doubles, with 106 bits."""

from semibandit._jit import inner, kernel


@kernel
def two_sum(a: float, b: float) -> tuple[float, float]:
    """Return the rounded sum and its rounding error."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@kernel
def two_product(a: float, b: float) -> tuple[float, float]:
    """Return the rounded product and its rounding error."""
    p = a * b
    t = 134217729.0 * a
    ah = t - (t - a)
    al = a - ah
    t = 134217729.0 * b
    bh = t - (t - b)
    bl = b - bh
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


@inner
def add(ah: float, al: float, bh: float, bl: float) -> tuple[float, float]:
    """Return the sum of two double-double numbers."""
    s, e = two_sum(ah, bh)
    t, f = two_sum(al, bl)
    s, e = two_sum(s, e + t)
    return two_sum(s, e + f)


@inner
def multiply(ah: float, al: float, bh: float, bl: float) -> tuple[float, float]:
    """Return the product of two double-double numbers."""
    p, e = two_product(ah, bh)
    return two_sum(p, e + (ah * bl + al * bh))


@inner
def divide(ah: float, al: float, bh: float, bl: float) -> tuple[float, float]:
    """Return the quotient of two double-double numbers."""
    q = ah / bh
    ph, pl = multiply(q, 0.0, bh, bl)
    rh, rl = add(ah, al, -ph, -pl)
    r = rh / bh
    ph, pl = multiply(r, 0.0, bh, bl)
    rh, rl = add(rh, rl, -ph, -pl)
    qh, ql = two_sum(q, r)
    return two_sum(qh, ql + rh / bh)
