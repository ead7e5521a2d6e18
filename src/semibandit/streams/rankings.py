"""Streams of queries with two scores of each document."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray, IntArray
from semibandit.families.rank_mix import RankMix
from semibandit.streams.stream import Stream, pickled_as_call

__all__ = ["rank_mix"]

_WORDS, _TOPICS = 400, 12
_MOST_TEXTS = 1000
_DIMENSIONS = 16


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
        with common words; a query has three words of one text. This text has the relevance 3, others of its
        topic 1. "debian": descriptions of up to 1,000 Debian packages, from `apt-cache dumpavail`;
        the stream depends on the machine. A query is three words of the title of one package; relevance
        is the share of common tags, if it is at least 1/2.
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
    RankMix(80 documents, k=10, ndcg, Interval(0.0, 1.0))
    """
    _validate.choice("kind", kind, ("topics", "debian"))
    documents = _validate.integer("documents", documents, low=2)

    def make(t: int, rng: np.random.Generator) -> RankMix:
        index, query, relevance = _topics(rng, documents) if kind == "topics" else _similar(rng)
        return RankMix(*index.scores(query), relevance, k, metric=metric, partition=partition)

    return Stream(make, rounds, seed)


def _topics(rng: np.random.Generator, n: int) -> tuple[_Index, IntArray, FloatArray]:
    """Return n generated texts, the words of a query, and relevances."""
    common = 1.0 / np.arange(1.0, _WORDS + 1.0)
    topics = rng.dirichlet(np.full(_WORDS, 0.05), _TOPICS)
    topic = rng.integers(_TOPICS, size=n)
    chances = 0.5 * topics[topic] + 0.5 * common / common.sum()
    counts = rng.poisson(chances * rng.integers(20, 80, n)[:, None]).astype(np.float64)
    target = int(rng.integers(n))
    query = rng.choice(_WORDS, 3, replace=False, p=topics[topic[target]] * 0.9 + 0.1 / _WORDS)
    relevance = np.where(topic == topic[target], 1.0, 0.0)
    relevance[target] = 3.0
    return _Index(counts), query, relevance


def _similar(rng: np.random.Generator) -> tuple[_Index, IntArray, FloatArray]:
    """Return a collection, words of a title, and the relevance of each text by common tags."""
    index, titles, tags = _collection()
    target = int(rng.integers(len(titles)))
    query = rng.choice(titles[target], min(3, titles[target].size), replace=False)
    common = np.array([len(x & tags[target]) / len(x | tags[target]) for x in tags])
    return index, query, np.where(common >= 0.5, common, 0.0)


class _Text(NamedTuple):
    title: str
    body: str
    tags: frozenset[str]


def _debian() -> Iterator[_Text]:
    """Yield the packages that apt knows, with a text and tags."""
    try:
        listed = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise ValueError(f"kind='debian' needs apt-cache with package lists: {error}") from None
    for paragraph in listed.decode(errors="replace").split("\n\n"):
        fields = dict(re.findall(r"^([\w-]+): ((?:.|\n )*)$", paragraph, re.M))
        if {"Package", "Description", "Tag"} <= fields.keys():
            tags = frozenset(re.split(r",\s*", fields["Tag"]))
            yield _Text(fields["Description"], f"{fields['Package']} {fields['Description']}", tags)


@cache
def _collection() -> tuple[_Index, Sequence[IntArray], Sequence[frozenset[str]]]:
    """Return the descriptions of packages, the words of each title as numbers, and the tags."""
    texts = sorted({x.body: x for x in _debian() if _words(x.title)}.values())
    texts = texts[:: -(-len(texts) // _MOST_TEXTS) or 1]
    if len(texts) < 2:
        raise ValueError(f"kind='debian' needs at least two packages with a description, got {len(texts)}")
    bodies = [_words(x.body) for x in texts]
    number = {word: i for i, word in enumerate(sorted(set().union(*bodies)))}
    counts = np.zeros((len(bodies), len(number)))
    for row, body in zip(counts, bodies, strict=True):
        np.add.at(row, [number[word] for word in body], 1.0)
    titles = [np.array(sorted({number[word] for word in _words(x.title)})) for x in texts]
    return _Index(counts), titles, [x.tags for x in texts]


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]{3,}", text.lower())


class _Index:
    """A collection of texts, given by word counts, with two scores of a query."""

    def __init__(self, counts: FloatArray) -> None:
        self._counts = counts
        found = (counts > 0.0).sum(axis=0)
        self._idf = np.log1p((len(counts) - found + 0.5) / (found + 0.5))
        weighted = np.log1p(counts) * self._idf
        # The eigenvectors of the small matrix are the left singular vectors.
        values, left = np.linalg.eigh(weighted @ weighted.T)
        self._latent = left[:, -_DIMENSIONS:]
        self._words = self._latent.T @ weighted / np.sqrt(np.maximum(values[-_DIMENSIONS:], 1e-12))[:, None]
        self._latent = self._latent * np.sqrt(np.maximum(values[-_DIMENSIONS:], 0.0))

    def scores(self, query: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the keyword score and the latent score of each text, each scaled to [0, 1]."""
        return _unit(self._bm25(query)), _unit(self._cosine(query))

    def _bm25(self, query: IntArray) -> FloatArray:
        """Return the BM25 scores with the usual constants, k1 = 1.2 and b = 0.75."""
        lengths = self._counts.sum(axis=1, keepdims=True)
        tf = self._counts[:, query]
        saturated = tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * lengths / lengths.mean()))
        return np.asarray(saturated @ self._idf[query])

    def _cosine(self, query: IntArray) -> FloatArray:
        """Return the cosines in the space of the largest singular values."""
        asked = self._words[:, query] @ self._idf[query]
        norms = np.linalg.norm(self._latent, axis=1) * np.linalg.norm(asked)
        return np.asarray(np.divide(self._latent @ asked, norms, out=np.zeros(norms.size), where=norms > 0.0))


def _unit(scores: FloatArray) -> FloatArray:
    """Scale scores to [0, 1]; equal scores become 0."""
    lo, hi = float(scores.min()), float(scores.max())
    return (scores - lo) / (hi - lo) if hi > lo else np.zeros(scores.size)
