"""The weight between two scores of a ranking: hybrid search, re-rankers, n-best lists."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semibandit import _validate
from semibandit._validate import FloatArray, IntArray
from semibandit.families.greedy.solution import frozen
from semibandit.families.instance import before_end, interval_or
from semibandit.families.lines import LARGEST, top
from semibandit.families.stepwise import Stepwise
from semibandit.spaces.interval import Interval

__all__ = ["RankMix"]


class RankMix(Stepwise):
    """A ranking of documents by decreasing (1 - ρ)·a + ρ·b, cut after k.

    Parameters
    ----------
    a, b
        Two scores of each document, such as keyword and vector similarity. Bring them to one scale first.
    relevance
        Relevance of each document, >= 0.
    k
        Length of the result list.
    space
        The weights ρ; [0, 1] by default.
    metric
        "ndcg": 1 - NDCG@k with gain = relevance. "mrr": 1 - 1 / rank of the first relevant document.
        "recall": 1 - share of the relevant documents that are listed. Without a relevant document the loss is
        0. For a click, let its document be the only relevant one: "mrr" is 1 - 1 / its rank, "recall" is 0 if
        it is listed, else 1.
    partition
        The feedback sets: the maximal intervals with the same "output", the list of k documents in order, or
        with the same "loss".

    Notes
    -----
    The score is the line a + ρ·(b - a), with b - a rounded once. Crossings of lines are exact, rounded to 43
    bits. At a tie the order is the one just right of it, then by index. A run takes O(k·n).

    Examples
    --------
    >>> query = RankMix([0.9, 0.5, 0.1], [0.0, 0.5, 0.3], relevance=[0, 1, 0], k=1)
    >>> query.ranking(0.2), query.ranking(0.6)
    (array([0]), array([1]))
    >>> query.losses()
    PiecewiseConstant([0.0, 0.44..., 1.0], [1.0, 0.0])
    """

    def __init__(
        self,
        a: npt.ArrayLike,
        b: npt.ArrayLike,
        relevance: npt.ArrayLike,
        k: int = 10,
        space: Interval | None = None,
        *,
        metric: str = "ndcg",
        partition: str = "output",
    ) -> None:
        super().__init__(interval_or((0.0, 1.0), space), partition)
        self.a = frozen(_validate.vector("a", a))
        if self.a.size == 0:
            raise ValueError("a must have at least one entry, got none")
        self.b = frozen(_validate.vector("b", b, length=self.a.size))
        for name, score in (("a", self.a), ("b", self.b)):
            if np.abs(score).max() > LARGEST:
                raise ValueError(f"{name} must be in [-{LARGEST:g}, {LARGEST:g}], got {score}")
        self.relevance = frozen(_validate.vector("relevance", relevance, length=self.a.size, low=0.0))
        if self.relevance.max() > LARGEST:
            raise ValueError(f"relevance must be at most {LARGEST:g}, got {self.relevance}")
        self.k = min(_validate.integer("k", k, low=1), self.a.size)
        self.metric = _validate.choice("metric", metric, ("ndcg", "mrr", "recall"))
        self._slopes = self.b - self.a

    def ranking(self, rho: float) -> IntArray:
        """Return the indices of the k documents at rho, the best first. O(k·n)."""
        rho = before_end(self.space, rho)
        return top(self.a, self._slopes, self.k, rho, self.space.lo, self.space.hi)[0]

    def _run(self, rho: float) -> tuple[float, float, float]:
        ranking, lo, hi = top(self.a, self._slopes, self.k, rho, self.space.lo, self.space.hi)
        return lo, hi, self._loss_of(ranking)

    def _loss_of(self, ranking: IntArray) -> float:
        gains = self.relevance[ranking]
        if not self.relevance.any():
            return 0.0
        if self.metric == "mrr":
            found = np.flatnonzero(gains)
            return 1.0 - 1.0 / (1.0 + float(found[0])) if found.size else 1.0
        if self.metric == "recall":
            return 1.0 - np.count_nonzero(gains) / np.count_nonzero(self.relevance)
        ideal = np.sort(self.relevance)[::-1][: self.k]
        return max(0.0, 1.0 - _dcg(gains) / _dcg(ideal))

    def __repr__(self) -> str:
        return f"RankMix({self.a.size} documents, k={self.k}, {self.metric}, {self.space})"


def _dcg(gains: FloatArray) -> float:
    """Return the discounted cumulative gain."""
    largest = float(gains.max())
    scaled = gains / largest if largest > 0.0 else gains  # tiny gains must not underflow
    return largest * float(scaled @ (1.0 / np.log2(np.arange(2.0, gains.size + 2.0))))
