"""Compiled parts of ρ-linkage, on plain arrays.

A *line* is an array (a0, a1, b0, b1, m): the linkage of a pair of clusters as a function of ρ,
((1 - ρ)·(a0 + a1) + ρ·(b0 + b1)) / m. An average is kept as a sum and a count m, each sum as two doubles,
so that comparisons of lines are exact (see `crossings`).

A *slot* is the place of a cluster: the index of its largest point. Merging x < y empties slot x into y. So
each slot but the last is emptied once, and a tree is four arrays over x: `into[x]` is y, `part[x]` the size
of the cluster in slot x, `size[x]` that of the merged cluster, and `lines[x]` the line of the merge.

`kind` is 0 for single-complete, 1 for average-complete, 2 for single-average.
"""
