"""Counters of a study, and its summary at one event."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from semibandit._validate import FloatArray
from semibandit.learners import Learner
from semibandit.learners.drift import PageTest
from semibandit.spaces import call
from semibandit.studies.log.events import Failed, Told

__all__ = ["StudyCounts", "StudySummary", "cell_masses", "summarize"]

_CELLS = 128  # equal cells in which a summary keeps the density
_MAX_FAILURES = 50  # different failures that are counted one by one


class StudyCounts(msgspec.Struct):
    """Sums over the log, and the settings that can be changed."""

    began: float
    at: float
    told: int = 0
    failed: int = 0
    loss: float = 0.0
    n_losses: int = 0
    widths: float = 0.0
    n_widths: int = 0
    defaults: float = 0.0  # losses of the default value, given as `default_loss` in `info`
    n_defaults: int = 0
    paired: float = 0.0  # losses of the rounds that have such a default
    alarms: int = 0  # of a test for drift of the losses
    drift_test: list[float] = []  # its state
    failures: dict[str, int] = {}
    forgotten: set[int] = set()
    expired: int = 0  # of these: leases
    enqueued: set[str] = set()  # keys of the requests
    learner: str = ""  # name of the learner in its trials
    lease: float = 300.0
    note: str = ""
    paused: bool = False  # no trials are given out

    def add_told(self, event: Told) -> None:
        """Count the feedback of a trial."""
        self.told += 1
        if event.loss is not None:
            self.loss += event.loss
            self.n_losses += 1
            test = PageTest()
            if self.drift_test:
                test.state = self.drift_test
            self.alarms += test.update(event.loss)
            self.drift_test = test.state
        if event.width is not None:
            self.widths += event.width
            self.n_widths += 1
        default = (event.info or {}).get("default_loss")
        if isinstance(default, int | float) and event.loss is not None:
            self.n_defaults += 1
            self.defaults += default
            self.paired += event.loss

    def add_failed(self, event: Failed) -> None:
        """Count a failed run by its reason."""
        self.failed += 1
        known = event.failure in self.failures or len(self.failures) < _MAX_FAILURES
        reason = event.failure if known else "other"
        self.failures[reason] = self.failures.get(reason, 0) + 1


class StudySummary(msgspec.Struct):
    """A study after an event, in less than 1 kB whatever the size of the learner."""

    event: int
    counts: StudyCounts
    rho: int | float
    interval: tuple[float, float]
    line: tuple[float, float]  # ends of the line that carries the density
    place: float  # position of the recommended value on that line
    cells: bytes  # share of the density in equal cells of the line, float32
    alpha: float | list[Any] | None = None
    names: list[str] = []

    def masses(self) -> list[float]:
        """Return the share of the density in each cell."""
        return list(np.frombuffer(self.cells, "<f4").astype(float).tolist())


def summarize(event: int, counts: StudyCounts, learner: Learner) -> StudySummary:
    """Return the summary of a learner after an event. O(P)."""
    best, density = learner.recommend(), learner.density()
    alpha = best.alpha
    return StudySummary(
        event=event,
        counts=msgspec.structs.replace(
            counts, failures=dict(counts.failures), forgotten=set(), enqueued=set()
        ),
        rho=best.rho,
        interval=best.interval,
        line=(float(density.edges[0]), float(density.edges[-1])),
        place=call(learner.space.place, best.parameters),
        cells=cell_masses(density).astype("<f4").tobytes(),
        alpha=list(alpha) if isinstance(alpha, tuple) else alpha,
        names=list(learner.space.names),
    )


def cell_masses(density: Any) -> FloatArray:
    """Return the share of a density in each of 128 equal cells of its line."""
    masses: FloatArray = density.between(np.linspace(density.edges[0], density.edges[-1], _CELLS + 1))
    total = float(masses.sum())
    return masses / total
