"""Linkage with two metrics: (ρ, α) for the linkage and for the mix of metrics (appendix C.2, Theorem 14).

`problem` holds the class, `search` finds a tree in other rows, `curves` the critical parameters.
"""

from semibandit.families.metric_linkage.problem import MetricLinkage as MetricLinkage
