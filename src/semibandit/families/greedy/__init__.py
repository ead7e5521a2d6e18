"""Greedy families: take items by decreasing v / s^ρ, as far as they fit (Section 4.1 of the paper).

`order` holds the order and its critical values, `solution` the result of a run; `knapsack` and
`independent_set` hold a family each, with its own kernels.
"""
