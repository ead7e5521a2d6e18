"""Compiled parts of ρ-linkage, on plain arrays.

A *line* is an array (a0, a1, b0, b1, m): the linkage of a pair of clusters as a function of ρ,
((1 - ρ)·(a0 + a1) + ρ·(b0 + b1)) / m. An average is kept as a sum and a count m, each sum as two doubles,
so that a line is exact wherever it matters (see `exact`).

A *slot* is the place of a cluster: the index of its largest point. Merging x < y empties slot x into y. So
each point but the last is emptied once, and a tree is four arrays over x: `into[x]`, `part[x]` and
`size[x]` (the sizes of what slot x held and of what came out), `lines[x]`.

`kind` is 0 for single-complete, 1 for average-complete, 2 for single-average.
"""
