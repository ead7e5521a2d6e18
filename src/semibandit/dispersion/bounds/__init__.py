"""The theorems as functions, with explicit constants: no O(.) left.

============================  ==========================================================================
`regret`, `step_size`         Theorem 3: what Exp3-SET may lose, minimised over r and λ
`Beta`, `WK`, `Table`         Dispersion functions f(T, ε): Definitions 1 and 3, or measured
`root_density`,               Theorem 4, and appendix B for coefficients that depend on fewer numbers:
`root_probability`,           where the roots of a random polynomial lie
`affine_root_density`
`worst_interval`,             Theorem 5 and the older Lemma B.2: from the typical to the worst interval
`worst_interval_union`
`vc_segments`,                Theorems 6 and 7: the same for segments among curves, in two parameters
`worst_segment`
`knapsack_dispersion`,        Lemma 8 and Corollary 9
`knapsack_regret`
`linkage_dispersion`,         Lemma 11 and Corollary 12
`linkage_regret`
`metric_linkage_dispersion`   Theorem 14
============================  ==========================================================================

>>> f = Beta(0.5)
>>> bound = regret(T=10_000, M=2, f=f, R=0.5)
>>> round(bound.value), round(bound.rate, 4)
(610, 0.0234)
"""

from semibandit.dispersion.bounds.families import (
    knapsack_critical_values,
    knapsack_dispersion,
    knapsack_regret,
    linkage_critical_values,
    linkage_dispersion,
    linkage_regret,
    metric_linkage_critical_values,
    metric_linkage_dispersion,
)
from semibandit.dispersion.bounds.polynomials import affine_root_density, root_density, root_probability
from semibandit.dispersion.bounds.regret import WK, Beta, DispersionFunction, Regret, Table, regret, step_size
from semibandit.dispersion.bounds.uniform import (
    interval_patterns,
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
    "affine_root_density",
    "interval_patterns",
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
