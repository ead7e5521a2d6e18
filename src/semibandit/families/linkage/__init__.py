"""ρ-linkage: agglomerative clustering whose linkage is a mix of two, (1 - ρ)·a + ρ·b (Section 4.2).

`problem` holds the class, `pieces` finds where the tree stays the same, `_kernels` does the work.
"""
