"""Greedy families: take items by decreasing v / s^ρ, as far as they fit (Section 4.1 of the paper).

`order` holds the order and its critical values, `solution` what runs return; `knapsack` and `independent_set`
hold a family each, with kernels of its own.
"""
