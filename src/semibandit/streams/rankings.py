"""Streams of queries with two scores of each document."""

from __future__ import annotations

import re
from functools import cache
from importlib import metadata

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray, IntArray
from semibandit.families.rank_mix import RankMix
from semibandit.streams.stream import Stream, pickled_as_call

__all__ = ["rank_mix"]

_WORDS, _TOPICS = 400, 12


@pickled_as_call
def rank_mix(
    kind: str = "topics",
    rounds: int = 500,
    *,
    documents: int = 80,
    k: int = 10,
    metric: str = "ndcg",
    partition: str = "output",
    seed: int = 0,
) -> Stream[RankMix]:
    """Return queries over a collection of texts, with a keyword score and a latent semantic score.

    The first score is BM25, the second the cosine in a space of 16 dimensions (truncated SVD of the
    collection). Both are scaled to [0, 1] for each query.

    Parameters
    ----------
    kind
        "topics": each query has its own collection of generated texts. A text mixes words of one of 12 topics
        with common words; a query has three words of one text. The text is of relevance 3, others of its topic
        1. "packages": the collection is the descriptions of the Python packages that are installed; a query is
        three words of a package's summary, and this package is the only relevant one. It differs from
        machine to machine.
    rounds
        Number of queries.
    documents
        Number of generated texts.
    k, metric, partition
        Arguments of each `RankMix`.
    seed
        Seed of the stream.

    Examples
    --------
    >>> rank_mix(rounds=2, seed=0)[1]
    RankMix(80 documents, k=10, ndcg, Interval(lo=0.0, hi=1.0, margin=0.0))
    """
    _validate.choice("kind", kind, ("topics", "packages"))
    documents = _validate.integer("documents", documents, low=2)

    def make(t: int, rng: np.random.Generator) -> RankMix:
        counts, query, relevance = _topics(rng, documents) if kind == "topics" else _known_item(rng)
        a, b = _unit(_bm25(counts, query)), _unit(_latent(counts, query))
        return RankMix(a, b, relevance, k, metric=metric, partition=partition)

    return Stream(make, rounds, seed)


def _topics(rng: np.random.Generator, n: int) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return word counts of n generated texts, the words of a query, and relevances."""
    common = 1.0 / np.arange(1.0, _WORDS + 1.0)
    topics = rng.dirichlet(np.full(_WORDS, 0.05), _TOPICS)
    topic = rng.integers(_TOPICS, size=n)
    chances = 0.5 * topics[topic] + 0.5 * common / common.sum()
    counts = rng.poisson(chances * rng.integers(20, 80, n)[:, None]).astype(np.float64)
    target = int(rng.integers(n))
    query = rng.choice(_WORDS, 3, replace=False, p=topics[topic[target]] * 0.9 + 0.1 / _WORDS)
    relevance = np.where(topic == topic[target], 1.0, 0.0)
    relevance[target] = 3.0
    return counts, query, relevance


def _known_item(rng: np.random.Generator) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return word counts of the packages' descriptions, words of a summary, and relevances."""
    counts, summaries = _packages()
    target = int(rng.integers(len(summaries)))
    words = summaries[target]
    query = rng.choice(words, min(3, words.size), replace=False)
    relevance = np.zeros(len(summaries))
    relevance[target] = 1.0
    return counts, query, relevance


@cache
def _packages() -> tuple[FloatArray, tuple[IntArray, ...]]:
    """Return word counts of the descriptions, and the known words of the summaries, of installed packages."""
    texts: dict[str, tuple[list[str], list[str]]] = {}
    for package in metadata.distributions():
        about = package.metadata
        body = about.get("Description") or about.get_payload()
        long, short = (re.findall(r"[a-z]{3,}", str(x or "").lower()) for x in (body, about.get("Summary")))
        if long and set(short) & set(long):
            texts[str(about["Name"]).lower()] = long, short
    if len(texts) < 2:
        raise ValueError("kind='packages' needs at least two installed packages with a description")
    bodies, summaries = zip(*(texts[name] for name in sorted(texts)), strict=True)
    number = {word: i for i, word in enumerate(sorted(set().union(*bodies)))}
    counts = np.zeros((len(bodies), len(number)))
    for row, body in zip(counts, bodies, strict=True):
        np.add.at(row, [number[word] for word in body], 1.0)
    known = tuple(np.array(sorted({number[w] for w in short if w in number})) for short in summaries)
    return counts, known


def _idf(counts: FloatArray) -> FloatArray:
    found = (counts > 0.0).sum(axis=0)
    return np.asarray(np.log1p((len(counts) - found + 0.5) / (found + 0.5)))


def _bm25(counts: FloatArray, query: IntArray) -> FloatArray:
    """Return the BM25 score of each text with the usual constants, k1 = 1.2 and b = 0.75."""
    lengths = counts.sum(axis=1, keepdims=True)
    tf = counts[:, query]
    return np.asarray(
        (_idf(counts)[query] * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * lengths / lengths.mean()))).sum(axis=1)
    )


def _latent(counts: FloatArray, query: IntArray) -> FloatArray:
    """Return the cosine of the query and each text in the space of the 16 largest singular values."""
    idf = _idf(counts)
    weighted = np.log1p(counts) * idf
    left, values, right = np.linalg.svd(weighted, full_matrices=False)
    texts, asked = left[:, :16] * values[:16], right[:16, query] @ idf[query]
    norms = np.linalg.norm(texts, axis=1) * np.linalg.norm(asked)
    return np.asarray(np.divide(texts @ asked, norms, out=np.zeros(len(texts)), where=norms > 0.0))


def _unit(scores: FloatArray) -> FloatArray:
    """Scale scores to [0, 1]; equal scores become 0."""
    lo, hi = float(scores.min()), float(scores.max())
    return (scores - lo) / (hi - lo) if hi > lo else np.zeros(scores.size)
