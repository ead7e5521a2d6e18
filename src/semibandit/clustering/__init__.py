"""Cluster trees: best prunings and costs.

A tree is scipy's linkage matrix Z. A k-pruning of it is k of its clusters that hold each point once. A cost
is a callable (distances, Z) -> [0, 1].

>>> import numpy as np, semibandit as sb
>>> from scipy.cluster.hierarchy import complete
>>> from scipy.spatial.distance import pdist, squareform
>>> D = pdist(np.array([[0.0], [1.0], [5.0], [6.0], [20.0]]))
>>> Z = complete(D)
>>> cost = sb.clustering.KMeansCost(n_clusters=3)
>>> round(cost(squareform(D), Z), 4), cost.labels(squareform(D), Z)
(0.0039, array([0, 0, 1, 1, 2]))
"""

from semibandit.clustering.costs import DasguptaCost, KMeansCost, KMedianCost, TreeCost
from semibandit.clustering.prunings import best_pruning, pruning_labels
from semibandit.clustering.target import TargetDistance
from semibandit.clustering.trees import Layout, diameters, layout

__all__ = [
    "DasguptaCost", "KMeansCost", "KMedianCost", "Layout", "TargetDistance", "TreeCost",
    "best_pruning", "diameters", "layout", "pruning_labels",
]  # fmt: skip
