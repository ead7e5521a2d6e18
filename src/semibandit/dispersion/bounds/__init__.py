"""The theorems as functions, with explicit constants instead of O(.).

============================  ==========================================================================
`regret`, `step_size`         Theorem 3: regret of Exp3-SET, minimised over r and λ
`Beta`, `WK`, `Table`         dispersion functions f(T, ε): Definitions 1 and 3, or measured
`root_density`,               Theorem 4: roots of a random polynomial
`root_probability`
`worst_interval`,             Theorem 5 and the older Lemma B.2: from a fixed interval to the worst one
`worst_interval_union`
`vc_segments`,                Theorems 6 and 7: segments among curves, for two parameters
`segment_patterns`,
`worst_segment`
`knapsack_dispersion`,        Lemma 8 and Corollary 9
`knapsack_regret`
`linkage_dispersion`,         Lemma 11 and Corollary 12
`linkage_regret`
`metric_linkage_dispersion`   Theorem 14
============================  ==========================================================================

A bound on a count is at most T, and a bound on the regret at most H·T: there it is vacuous.

>>> bound = regret(T=10_000, M=2, f=Beta(0.5), R=0.5)
>>> print(bound)
at most 610 (0.061 per round)
>>> print(regret(T=20, M=9, f=Beta(0.5), R=0.5))
vacuous: larger than T = 20
"""

from semibandit.dispersion.bounds.polynomials import root_density, root_probability
from semibandit.dispersion.bounds.regret import WK, Beta, DispersionFunction, Regret, Table, regret, step_size
from semibandit.dispersion.bounds.smoothed import (
    knapsack_critical_values,
    knapsack_dispersion,
    knapsack_regret,
    linkage_critical_values,
    linkage_dispersion,
    linkage_regret,
    metric_linkage_critical_values,
    metric_linkage_dispersion,
)
from semibandit.dispersion.bounds.uniform import (
    segment_patterns,
    vc_segments,
    worst_interval,
    worst_interval_union,
    worst_segment,
)

__all__ = [
    "WK",
    "Beta",
    "DispersionFunction",
    "Regret",
    "Table",
    "knapsack_critical_values",
    "knapsack_dispersion",
    "knapsack_regret",
    "linkage_critical_values",
    "linkage_dispersion",
    "linkage_regret",
    "metric_linkage_critical_values",
    "metric_linkage_dispersion",
    "regret",
    "root_density",
    "root_probability",
    "segment_patterns",
    "step_size",
    "vc_segments",
    "worst_interval",
    "worst_interval_union",
    "worst_segment",
]
