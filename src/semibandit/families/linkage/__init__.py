"""ρ-linkage: agglomerative clustering whose linkage is a mix of two, (1 - ρ)·a + ρ·b (Section 4.2).

`linkage` is the family with one metric, `metric` that with two, (1 - α)·d0 + α·d1 (appendix C.2). Both use
`rho_trees`: the trees of one matrix of distances, and their costs. `pieces` finds the intervals with one
tree, `connected` finds a tree in other rows. `_kernels` holds the compiled parts.
"""
