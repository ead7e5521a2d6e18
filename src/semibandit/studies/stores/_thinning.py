"""Which snapshots to keep: enough to be near any event, few enough to be small."""

from __future__ import annotations

__all__ = ["superfluous"]

_MOST = 32
_MOST_BYTES = 256_000_000


def superfluous(snapshots: list[tuple[int, int]]) -> list[int]:
    """The events whose snapshots may go, of pairs (event, size) in order. The newest always stays.

    Goes on dropping the one that takes most room for the gap that it would leave, until the rest is small.
    """
    kept = list(snapshots)
    dropped = []
    while len(kept) > 1 and (len(kept) > _MOST or sum(size for _, size in kept) > _MOST_BYTES):
        before = [0, *(event for event, _ in kept)]
        costs = [kept[i][1] / (kept[i + 1][0] - before[i]) for i in range(len(kept) - 1)]
        dropped.append(kept.pop(costs.index(max(costs)))[0])
    return dropped
