"""Which snapshots to keep: enough to be near any event, few enough to be small."""

from __future__ import annotations

__all__ = ["superfluous"]

_MOST = 32
_MOST_BYTES = 64_000_000


def superfluous(snapshots: list[tuple[int, int]]) -> list[int]:
    """The events whose snapshots may go, of pairs (event, size) in order. The newest always stays.

    Goes on dropping the one whose neighbours are closest until the rest is small.
    """
    kept = list(snapshots)
    dropped = []
    while len(kept) > 1 and (len(kept) > _MOST or sum(size for _, size in kept) > _MOST_BYTES):
        gaps = [kept[i + 1][0] - (kept[i - 1][0] if i else 0) for i in range(len(kept) - 1)]
        dropped.append(kept.pop(gaps.index(min(gaps)))[0])
    return dropped
