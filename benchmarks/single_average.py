"""What `reveal` costs with single-average linkage, which is not reducible, in trees."""

import statistics
from time import process_time

import numpy as np
from measure import table
from scipy.spatial.distance import pdist

import semibandit as sb


def seconds(run):
    start = process_time()
    run()
    return process_time() - start


def ratios(n):
    """Time of `reveal` over that of `tree`, construction included, on three sets of points at five rho."""
    for seed in range(3):
        distances = pdist(np.random.default_rng(seed).random((n, 2)))

        def problem(distances=distances):
            return sb.Linkage(distances, sb.clustering.DasguptaCost(), "single-average")

        problem().reveal(0.5)  # compiles
        for rho in (0.1, 0.3, 0.5, 0.7, 0.9):
            tree = min(seconds(lambda rho=rho: problem().tree(rho)) for _ in range(3))
            yield seconds(lambda rho=rho: problem().reveal(rho)) / tree


if __name__ == "__main__":
    rows = []
    for n in (60, 120, 250):
        found = list(ratios(n))
        rows.append((f"{n}", f"{min(found):.0f}", f"{statistics.median(found):.0f}", f"{max(found):.0f}"))
    table("single-average", ("points", "least", "median", "most"), rows)
