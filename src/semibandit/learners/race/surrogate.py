"""Model of the configurations: a Gaussian process of their scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtr

from semibandit._validate import FloatArray
from semibandit.learners.race.proposals import Configuration, Kinds

__all__ = ["Surrogate"]

_LENGTHS = 0.1 * 2.0 ** np.arange(6)  # candidates for the length scale of each knob
_NOISES = 0.03 * 3.0 ** np.arange(6)  # candidates for the variance of one run over that of the scores
_JITTER = 1e-6
_PRIOR = 0.1  # loss of likelihood for each step away from the middle of these grids, squared
_DIGITS = 9  # equal gains must stay equal on any machine


class Surrogate:
    """Gaussian process with a Matérn 5/2 kernel, and a length scale for each knob.

    The length scales and the noise of a run are those on a grid with the highest likelihood, found knob by
    knob. The noise of a score is that of a run over its number of runs. O(n³) for n configurations.

    Parameters
    ----------
    kinds
        Knobs by name.
    configurations, scores, runs
        Configurations, their scores (low is good; variance 1), and the number of runs behind each.

    Attributes
    ----------
    lengths
        Length scale of each knob: the share of its scale on which scores change.
    """

    def __init__(
        self, kinds: Kinds, configurations: list[Configuration], scores: FloatArray, runs: FloatArray
    ) -> None:
        self._kinds: list[Any] = list(kinds.values())
        self._unordered = [not kind.ordered for kind in self._kinds]
        self._points = self._coordinates(configurations)
        self._scores, self._runs = scores, runs
        self._fit(self._most_likely())

    def propose(self, candidates: list[Configuration], n: int, runs: int) -> list[Configuration]:
        """Return up to n candidates, each with the largest expected improvement over the best mean so far.

        After each one, its expected score is added as if it had been observed in this number of runs.
        """
        points, found = self._coordinates(candidates), []
        best = self._predict(self._points)[0].min()
        free = np.ones(len(points), bool)
        for _ in range(min(n, len(points))):
            mean, deviation = self._predict(points)
            z = (best - mean) / deviation
            gain = deviation * (z * ndtr(z) + np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi))
            at = int(np.where(free, gain.round(_DIGITS), -1.0).argmax())
            free[at] = False
            found.append(candidates[at])
            self._points = np.vstack([self._points, points[at]])
            self._scores, self._runs = np.append(self._scores, mean[at]), np.append(self._runs, runs)
            self._fit(self._chosen)
        return found

    def _coordinates(self, configurations: list[Configuration]) -> FloatArray:
        """Return points of the unit cube; choices are numbered."""
        columns = [
            [kind.coordinate(x) if kind.ordered else kind.values.index(x) for x in column]
            for kind, column in zip(self._kinds, zip(*configurations, strict=True), strict=True)
        ]
        return np.array(columns, float).T

    def _kernel(self, a: FloatArray, b: FloatArray) -> FloatArray:
        squares = (a[:, None] - b) ** 2
        squares[..., self._unordered] = 0.25 * (squares[..., self._unordered] > 0.0)
        r = np.sqrt(5.0 * squares @ self.lengths**-2.0)
        return np.asarray((1.0 + r + r**2 / 3.0) * np.exp(-r))

    def _most_likely(self) -> list[int]:
        """Return indices into the grids: of the length scale of each knob, and of the noise."""
        chosen = [2] * (len(self._kinds) + 1)
        best, last = self._fit(chosen), None
        while chosen != last:
            last = list(chosen)
            for i in range(len(chosen)):
                for step in (-1, 1):
                    while 0 <= chosen[i] + step < len(_LENGTHS):
                        other = [*chosen[:i], chosen[i] + step, *chosen[i + 1 :]]
                        likelihood = self._fit(other)
                        if likelihood <= best + 10.0**-_DIGITS:
                            break
                        best, chosen = likelihood, other
        return chosen

    def _fit(self, chosen: list[int]) -> float:
        """Condition on the scores; return the log likelihood, with the variance that maximises it."""
        self._chosen, self.lengths = chosen, _LENGTHS[chosen[:-1]]
        n = len(self._scores)
        kernel = self._kernel(self._points, self._points)
        kernel[np.diag_indices(n)] += _NOISES[chosen[-1]] / self._runs + _JITTER
        self._factor: Any = cho_factor(kernel, lower=True)
        ones, scores = cho_solve(self._factor, np.column_stack([np.ones(n), self._scores])).T
        self._mean = scores.sum() / ones.sum()
        self._weights = scores - self._mean * ones
        self._variance = max(float((self._scores - self._mean) @ self._weights) / n, _JITTER)
        likelihood = -0.5 * n * np.log(self._variance) - np.log(np.diag(self._factor[0])).sum()
        return float(likelihood - _PRIOR * sum((i - 2.5) ** 2 for i in chosen))

    def predict(self, configurations: list[Configuration]) -> tuple[FloatArray, FloatArray]:
        """Return the mean and the standard deviation of the scores of configurations."""
        return self._predict(self._coordinates(configurations))

    def _predict(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        kernel = self._kernel(points, self._points)
        explained = (kernel * cho_solve(self._factor, kernel.T).T).sum(axis=1)
        variance = self._variance * np.maximum(1.0 - explained, _JITTER)
        return self._mean + kernel @ self._weights, np.sqrt(variance)
