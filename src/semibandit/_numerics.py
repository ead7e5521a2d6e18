"""Double-double arithmetic (Dekker): a number is an unevaluated sum of two doubles, good for 106 bits."""

from semibandit._jit import inner, kernel


@kernel
def two_sum(a: float, b: float) -> tuple[float, float]:
    """The sum, rounded, and what the rounding lost."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@kernel
def two_product(a: float, b: float) -> tuple[float, float]:
    """The product, rounded, and what the rounding lost."""
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
    """The sum of two numbers."""
    s, e = two_sum(ah, bh)
    t, f = two_sum(al, bl)
    s, e = two_sum(s, e + t)
    return two_sum(s, e + f)


@inner
def multiply(ah: float, al: float, bh: float, bl: float) -> tuple[float, float]:
    """The product of two numbers."""
    p, e = two_product(ah, bh)
    return two_sum(p, e + (ah * bl + al * bh))


@inner
def divide(ah: float, al: float, bh: float, bl: float) -> tuple[float, float]:
    """The quotient of two numbers."""
    q = ah / bh
    ph, pl = multiply(q, 0.0, bh, bl)
    rh, rl = add(ah, al, -ph, -pl)
    r = rh / bh
    ph, pl = multiply(r, 0.0, bh, bl)
    rh, rl = add(rh, rl, -ph, -pl)
    qh, ql = two_sum(q, r)
    return two_sum(qh, ql + rh / bh)
