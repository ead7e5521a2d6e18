"""ρ-linkage: agglomerative clustering whose linkage is a mix of two, (1 - ρ)·a + ρ·b (Section 4.2).

`linkage` holds the family of one metric, `metric` that of two, (1 - α)·d0 + α·d1 (appendix C.2). `trees` is
what both share: the trees of one matrix of distances, and their costs. `pieces` finds where a tree stays the
same, `search` finds it in other rows, `curves` computes critical parameters, and `_kernels` does the work.
"""
