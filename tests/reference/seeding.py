"""d^α seeding the slow, obvious way: shares to 60 digits, candidates sorted by distance in floats."""

import mpmath as mp
import numpy as np

mp.mp.dps = 60


def centers(points, uniforms, alpha):
    points = np.asarray(points, dtype=float)
    chosen = [min(int(uniforms[0] * len(points)), len(points) - 1)]
    for u in uniforms[1:]:
        squares = np.min([((points - points[c]) ** 2).sum(axis=1) for c in chosen], axis=0)
        candidates = [i for i in np.lexsort((np.arange(len(points)), -squares)) if squares[i] > 0]
        if not candidates:
            break
        masses = [mp.mpf(squares[i]) ** (mp.mpf(alpha) / 2) for i in candidates]
        goal, reached = mp.mpf(u) * mp.fsum(masses), mp.mpf(0)
        for i, mass in zip(candidates, masses, strict=True):
            reached += mass
            if reached > goal:
                chosen.append(int(i))
                break
    return chosen
